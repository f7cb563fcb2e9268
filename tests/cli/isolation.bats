#!/usr/bin/env bats
# What a job is held to on its node, and that nothing of it stays behind. What a machine cannot do is skipped with the node's own words for it.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    export TOP REMUDA_STATE
    TOP=$(mktemp -d /tmp/isolation-bats-XXXXXX)
    chmod 755 "$TOP"
    REMUDA_STATE="$TOP/state"
    remuda up -q --nodes 1 --cpus 4 --mem 4000 --name isolation 3>&-
    printf 'KillWait=1\nPidsMax=60\nHeartbeatInterval=2\n' >>"$REMUDA_STATE/remuda.conf"
    remuda down
    remuda up -q 3>&-
    # A fork bomb that nothing stops must not take the machine with it.
    cat >"$TOP/bomb.py" <<'P'
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
refused = 0
def fork():
    global refused
    try:
        return os.fork()
    except OSError:
        refused += 1
        return -1
for i in range(300):
    if fork() == 0:
        os.setsid()
        while True:
            if fork() == 0:
                os.setsid()
            time.sleep(0.05)
print("refused", refused > 0, flush=True)
time.sleep(300)
P
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
    rm -rf "$TOP"
}

setup() {
    WORK="$TOP/$BATS_TEST_NUMBER"
    mkdir -m 777 "$WORK"
    cd "$WORK" || exit 1
}

# The node's version 2 group; it is put back to where groups can be made in it.
base_v2() { sed -n 's/^unified[^=]*=//p' "$REMUDA_STATE/nodes/node1/cgroups"; }
teardown() {
    local base
    base=$(base_v2)
    [ ! -w "$base/cgroup.max.descendants" ] || echo max >"$base/cgroup.max.descendants"
}

needs() {
    local said
    said=$(remuda status | grep '^isolation')
    [[ "${said%%;*not*}" == *"$1"* ]] || skip "not here: $said"
}
state() { sacct -X -n -P -o State -j "$1"; }
is() { [[ $(state "$1") == $2 ]]; }
gone() { [[ ! -e /proc/$1 || $(awk '/^State/ {print $2}' "/proc/$1/status") == Z ]]; }
groups_of() { find /sys/fs/cgroup -type d -path "*/remuda.node1.$KEY/*" 2>/dev/null; }
no_groups() { [ -z "$(groups_of)" ]; }
key() { sed -n 's|.*/remuda\.node1\.||p' "$REMUDA_STATE/nodes/node1/cgroups" | head -1; }

@test "the node says what jobs are held to, and what they are not, in remuda status and in its log" {
    run remuda status
    [[ "$output" =~ isolation\ +node1:\ .*memory ]]
    grep -Eq "enforced by cgroup v[12]|memory is not limited by the kernel" "$REMUDA_STATE/log/node-node1.log"
}

@test "out of memory: the state, and who was ended at what, with a size to ask for, in the output and in the job's records" {
    id=$(sbatch --parsable --no-requeue -o out -e err --mem=60 --wrap 'python3 -c "x = bytearray(300 << 20); import time; time.sleep(30)"; exit 3')
    eventually is "$id" OUT_OF_ME*
    cat err
    grep -Eq "^slurmstepd: error: StepId=$id.batch exceeded its memory limit: [0-9]+ MiB in use of 60 MiB" err
    grep -Eq "exceeded.*memory limit" err # as aiida-core looks for it
    grep -Eq "ask for more, for example --mem=[1-9]00M$" err
    scontrol show job "$id" | grep -q "exceeded its memory limit"
    remuda why "$id" | grep -q "exceeded its memory limit"
}

@test "out of memory in a step of srun: said at the terminal, the job is OUT_OF_MEMORY" {
    run srun -n1 --mem=60 python3 -c 'x = bytearray(300 << 20); import time; time.sleep(30)'
    [ "$status" -ne 0 ]
    [[ "$output" =~ "exceeded its memory limit" ]]
    id=$(squeue -h -t all -o %A --sort=-i | head -1)
    eventually is "$id" OUT_OF_ME*
}

@test "the process that was ended is named" {
    needs memory
    [ -r /dev/kmsg ] || skip "the kernel's log cannot be read here"
    id=$(sbatch --parsable --no-requeue -o out -e err --mem=60 --wrap 'python3 -c "x = bytearray(300 << 20)"')
    eventually is "$id" OUT_OF_ME*
    grep -Eq "process [0-9]+ \(python3, [3-9][0-9] MiB\) was ended" err
}

@test "steps together never exceed the job's memory" {
    needs memory
    id=$(sbatch --parsable --no-requeue -o out -e err -c 4 --mem=150 --wrap 'for i in 1 2 3; do
        srun --overlap -n1 --mem=100 python3 -c "x = bytearray(75 << 20); import time; time.sleep(4)" & done; wait; exit 1')
    eventually is "$id" "@(FAILED|OUT_OF_ME*)"
    cat err
    [[ "$(sacct -n -P -o State -j "$id")" =~ OUT_OF_MEMORY ]]
    grep -q "exceeded its job's memory limit" err
}

@test "page cache does not count: a job reads and writes more than its memory" {
    id=$(sbatch --parsable -o out --mem=60 --wrap 'dd if=/dev/zero of=big bs=1M count=300 2>/dev/null && cat big >/dev/null && rm big')
    eventually is "$id" COMPLETED
}

@test "swap is limited with memory, as cgroup.conf says" {
    needs swap
    printf 'AllowedSwapSpace=50\nConstrainSwapSpace=yes\nCgroupPlugin=autodetect\n' >"$REMUDA_STATE/cgroup.conf"
    scontrol reconfigure
    [[ "$(scontrol show config)" =~ AllowedSwapSpace\ *=\ 50.00% ]]
    id=$(sbatch --parsable -o out --mem=100 --wrap 'd=/sys/fs/cgroup; m=$d/memory$(sed -n s/.*:memory://p /proc/self/cgroup); u=$(sed -n s/^0:://p /proc/self/cgroup)
        cat $m/memory.memsw.limit_in_bytes 2>/dev/null || cat $d$u/memory.swap.max')
    rm "$REMUDA_STATE/cgroup.conf"
    eventually is "$id" COMPLETED
    scontrol reconfigure
    [ "$(cat out)" = $((150 << 20)) ] || [ "$(cat out)" = $((50 << 20)) ]
}

@test "keys of cgroup.conf without effect are named" {
    printf 'CgroupMountpoint=/somewhere\nConstrainKmemSpace=yes\n' >"$REMUDA_STATE/cgroup.conf"
    run scontrol reconfigure
    rm "$REMUDA_STATE/cgroup.conf"
    scontrol reconfigure
    grep -q "CgroupMountpoint is known to Slurm but has no effect" <(echo "$output"; cat "$REMUDA_STATE"/log/controller.log)
    grep -q "ConstrainKmemSpace is known to Slurm but has no effect" <(echo "$output"; cat "$REMUDA_STATE"/log/controller.log)
}

@test "a fork bomb meets PidsMax and ends with its job" {
    needs "number of processes"
    id=$(sbatch --parsable --no-requeue -o out --wrap "echo \$\$ >pid; exec python3 $TOP/bomb.py")
    eventually grep -q "refused True" out
    scancel "$id"
    eventually is "$id" CANCELLED*
    eventually gone "$(cat pid)"
    eventually test -z "$(pgrep -f "^python3 $TOP/bomb.py")"
}

@test "a step of more tasks than PidsMax has no more of them, wherever they are born" {
    needs "number of processes"
    run srun -Q -O -n200 sh -c 'echo $$ >>tasks; exec sleep 3'
    [ "$status" -ne 0 ]
    [[ "$output" == *"Resource temporarily unavailable"* ]]
    [ "$(wc -l <tasks)" -le 60 ]
    [ "$(wc -l <tasks)" -gt 0 ]
}

@test "all jobs of a node together leave processes for others" {
    needs processes
    while IFS='=' read -r controllers dir; do
        [[ "$controllers" == *pids* ]] && limit=$(cat "$dir/pids.max")
    done <"$REMUDA_STATE/nodes/node1/cgroups"
    [ "$limit" -gt 60 ]
    [ "$limit" -lt "$(cat /proc/sys/kernel/pid_max)" ]
}

@test "a suspended job stands still, whatever signals its owner sends to its processes, and goes on when it may" {
    needs "the end of all processes"
    id=$(sbatch --parsable -o out --wrap 'echo $$ >pid; while :; do echo >>ticks; sleep 0.05; done')
    eventually test -s ticks
    scontrol suspend "$id"
    stopped() { # in the middle of that it may do one thing more
        [ "$(awk '/^State/ {print $2}' "/proc/$(cat pid)/status")" = T ] || grep -qs 1 "$v2/cgroup.freeze" || grep -qs FROZEN "$v1/freezer.state"
    }
    v2=$(base_v2)$(sed -n 's,^0::.*/remuda\.[^/]*,,p' "/proc/$(cat pid)/cgroup")
    v1=/sys/fs/cgroup/freezer$(sed -n 's,^[0-9]*:freezer:,,p' "/proc/$(cat pid)/cgroup")
    eventually stopped
    srun -Q -n1 true
    before=$(wc -c <ticks)
    kill -CONT "$(cat pid)" $(pgrep -P "$(cat pid)")
    for _ in 1 2 3; do srun -Q -n1 true; done # so long it could run
    [ "$(wc -c <ticks)" = "$before" ]
    scontrol resume "$id"
    goes_on() { [ "$(wc -c <ticks)" -gt "$before" ]; }
    eventually goes_on
    # One that ends while it is suspended leaves no groups behind in which nobody moves.
    scontrol suspend "$id"
    eventually is "$id" SUSPENDED
    kill -KILL "$(cat pid)"
    eventually is "$id" FAILED
    [ "$(srun -Q -n1 echo moves)" = moves ]
}

@test "a control group for which the kernel has no room is waited for, and nothing runs without it" {
    base=$(base_v2)
    [ -w "$base/cgroup.max.descendants" ] || skip "there are no groups of version 2 here"
    echo 0 >"$base/cgroup.max.descendants"
    id=$(sbatch --parsable -o out --mem=71 --wrap 'echo ran')
    eventually is "$id" RUNNING
    sleep 1
    [ ! -s out ]
    echo max >"$base/cgroup.max.descendants"
    eventually is "$id" COMPLETED
    [ "$(cat out)" = ran ]
    [ "$(sacct -nXPj "$id" -o Restarts)" = 0 ]
    echo 0 >"$base/cgroup.max.descendants"
    id=$(sbatch --parsable --no-requeue -o none --mem=72 --wrap 'echo ran')
    eventually is "$id" CANCELLED
    [[ "$(scontrol show job "$id")" == *"cannot make the step's control groups on node1: "* ]]
    [ ! -e none ]
}

@test "daemons that left their session, forked twice and ignore SIGTERM end with the job" {
    id=$(sbatch --parsable --no-requeue -o out --wrap 'for i in 1 2 3; do (setsid bash -c "trap \"\" TERM HUP; (setsid bash -c \"trap \\\"\\\" TERM HUP; echo \\\$\\\$ >>pids; while :; do sleep 1; done\" &) ; exit 0" &); done; until [ -e pids ] && [ "$(wc -l <pids)" = 3 ]; do sleep 0.1; done')
    eventually is "$id" COMPLETED
    [ "$(wc -l <pids)" = 3 ]
    for pid in $(cat pids); do gone "$pid"; done
}

# in_group NAME COMMAND [OPTION…]: a job that writes its groups, then does that; $group is what it wrote.
in_group() {
    sbatch -W --no-requeue -o "$1" "${@:3}" --wrap "grep -o 'remuda\\.node1\\..*' /proc/self/cgroup | sort -u; $2" >/dev/null || true
    group=$(grep -a ^remuda "$1")
}

# Bytes of files and processes that are charged to the job of the group $1, which is kept for some seconds; nothing if it is gone.
charged() {
    local controllers dir job
    job=$(head -1 <<<"$1" | grep -o '/g[0-9]*' | head -1)
    while IFS='=' read -r controllers dir; do
        [[ ",$controllers," == *,memory,* ]] || continue
        awk '$1 ~ /^(total_cache|total_rss|file|anon)$/ { n += $2 } END { print n }' "$dir$job/memory.stat" 2>/dev/null
    done <"$REMUDA_STATE/nodes/node1/cgroups"
}

# The same again until a job has the groups of the one before it. What a job is the first to read stays in the page cache, charged to its
# groups, and they are rightly not handed on: how many jobs that takes depends on what the kernel has in memory. Of many in vain it is a fault if
# nothing was charged to the groups that were not handed on.
handed_on() {
    local before="" i left taken=0
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
        in_group "$@"
        [ "$group" != "$before" ] || return 0
        before=$group
        left=$(charged "$group")
        echo "job $i: ${group%%$'\n'*}: ${left:-no} bytes left"
        [ "${left:-0}" -le 500000 ] || taken=$((taken + 1))
    done
    echo "of twelve jobs one after another no two had the same groups: $*"
    [ "$taken" -lt 6 ] || skip "what jobs read is not in the page cache here, and is charged to each anew: $taken of 12 times"
    return 1
}

@test "groups that a step handed back serve one with the same limits, as if they were new; others do not" {
    needs memory
    local used='m=/sys/fs/cgroup/memory$(sed -n s/.*:memory://p /proc/self/cgroup); u=/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup)
        cat $m/memory.limit_in_bytes 2>/dev/null || cat $u/memory.max; cat $m/memory.max_usage_in_bytes 2>/dev/null || echo 0'
    handed_on again "$used" --mem=60
    first=$group
    [ "$(sed -n '/^remuda/d; p' again | head -1)" = $((60 << 20)) ]
    [ "$(tail -1 again)" -lt $((20 << 20)) ]
    in_group more true --mem=61
    [ "$group" != "$first" ]
    # what the former job used at most is not this one's
    handed_on much 'python3 -c "x = bytearray(40 << 20)"' --mem=60
    in_group little "$used" --mem=60
    [ "$(tail -1 little)" -lt $((20 << 20)) ]
    # memory that outlives the job is charged to its group
    handed_on again true --mem=60
    in_group left "head -c 20M /dev/zero >/dev/shm/left.$$" --mem=60
    first=$group
    in_group after "rm /dev/shm/left.$$" --mem=60
    [ "$group" != "$first" ]
    # a process was killed for memory, or had to be killed at the end
    handed_on again true --mem=60
    in_group killed 'python3 -c "x = bytearray(300 << 20)"; exit 3' --mem=60
    first=$group
    in_group next true --mem=60
    [ "$group" != "$first" ]
    is "$(sacct -n -X -P -o JobID | tail -1)" COMPLETED
}

@test "steps one after another have the same groups; beside each other, and after kill -9 of the daemon, each its own" {
    needs memory
    cat >where <<'S'
grep -o 'remuda\.node1\..*' /proc/self/cgroup | sort -u | tr '\n' ' '; echo
S
    # the first ones may be charged for pages that nobody had read before, as above
    id=$(sbatch -W --parsable -o out --mem=60 --wrap 'for i in 1 2 3 4 5 6 7 8 9 10; do srun bash where; done')
    cat out
    [ "$(wc -l <out)" = 10 ]
    [ "$(uniq -c out | sort -n | tail -1 | awk '{ print $1 }')" -ge 3 ]
    id=$(sbatch --parsable --no-requeue -c2 -o out2 --mem=60 --wrap 'bash where; srun --overlap bash -c "bash where; echo a >>begun; until [ -e go ]; do sleep 0.1; done" & until [ -e begun ]; do sleep 0.1; done
        until [ -e up ]; do sleep 0.1; done; srun --overlap bash where; touch go; wait')
    eventually test -e begun
    kill -9 "$(cat "$REMUDA_STATE/nodes/node1/node.pid")"
    remuda up -q 3>&-
    touch up
    eventually is "$id" COMPLETED
    cat out2
    [ "$(sort -u out2 | wc -l)" = 3 ] # of one job, three of their own
    [ "$(grep -o '/g[0-9]*/' out2 | sort -u | wc -l)" = 1 ]
}

@test "an ordinary user: limits and the end of all processes without any control group" {
    [ "$(id -u)" = 0 ] || skip "needs root to become another user"
    id nobody >/dev/null 2>&1 || skip "there is no user nobody here"
    mkdir -m 777 "$WORK/own"
    cat >as_user <<'S'
cd own && export REMUDA_STATE=$PWD/state
remuda up -q --nodes 1 --cpus 2 --mem 2000 --name own 3>&-
trap "remuda down" EXIT
remuda status | grep ^isolation
id=$(sbatch --parsable --no-requeue -o out -e err --mem=60 --wrap 'python3 -c "x = bytearray(300 << 20); import time; time.sleep(30)"')
id2=$(sbatch --parsable --no-requeue -o out2 --mem=60 --wrap '(setsid bash -c "trap \"\" TERM; echo \$\$ >daemon; while :; do sleep 1; done" &); sleep 0.5')
for i in $(seq 300); do [ -z "$(squeue -h)" ] && break; sleep 0.1; done
sacct -X -n -P -o State
cat err
kill -0 "$(cat daemon)" 2>/dev/null && echo "the daemon lives"
true
S
    run setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups env HOME="$WORK/own" PATH="$PATH" bash as_user
    echo "$output"
    [[ "$output" =~ "memory is not limited by the kernel" ]] || skip "control groups are delegated to ordinary users here"
    [[ "$output" =~ OUT_OF_MEMORY ]]
    [[ "$output" =~ "exceeded its memory limit" ]]
    [[ ! "$output" =~ "the daemon lives" ]]
}

@test "nothing leaks: no group of a step is left; those of killed clusters go at the next start" {
    KEY=$(key)
    [ -n "$KEY" ] || skip "no control group can be written here"
    id=$(sbatch --parsable -o out --wrap 'srun true; srun true')
    eventually is "$id" COMPLETED
    eventually no_groups
    node=$(cat "$REMUDA_STATE/nodes/node1/node.pid")
    id=$(sbatch --parsable --no-requeue -o out --wrap 'echo $$ >pid; sleep 300')
    eventually test -s pid
    shepherd=$(ps -o ppid= -p "$(cat pid)" | tr -d ' ')
    kill -9 "$node" "$shepherd" "$(cat pid)"
    [ -n "$(groups_of)" ]
    remuda up -q 3>&-
    eventually is "$id" "@(NODE_FAIL|FAILED|CANCELLED*)"
    eventually no_groups
}
