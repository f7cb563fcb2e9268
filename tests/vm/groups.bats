#!/usr/bin/env bats
# In a virtual machine with version 2 control groups: what jobs are held to, looked at from inside and in the kernel's own files. The node is the machine itself.
bats_require_minimum_version 1.5.0

setup_file() {
    export TOP REMUDA_STATE REMUDA_NVML REMUDA_FAKE_GPUS
    TOP=$(mktemp -d /tmp/groups-bats-XXXXXX)
    chmod 755 "$TOP"
    REMUDA_STATE="$TOP/state" REMUDA_NVML=/vm/share/nvml.so REMUDA_FAKE_GPUS="$TOP/gpus"
    echo "machine a100x4" >"$TOP/gpus"
    for minor in 0 1 2 3; do mknod -m 666 "$TOP/nvidia$minor" c 195 "$minor"; done
    # Which GPUs' files can be opened, by the GPUs' own numbers: no driver (ENXIO) is allowed, EPERM is not.
    cat >"$TOP/seen" <<'S'
#!/bin/bash
for gpu in 0 1 2 3; do
    why=$( (: <"$(dirname "$0")/nvidia$((3 - gpu))") 2>&1)
    case $why in
    *"No such device or address"*) printf '%s ' $gpu ;;
    *"Operation not permitted"*) ;;
    *) printf '?%s? ' "$why" ;;
    esac
done
echo
S
    # The group it is in, and what stands in a file there: value FILE; of the job: job_value FILE.
    cat >"$TOP/group" <<'S'
group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
value() { cat "$group/$1"; }
job_value() { cat "$group/../$1"; }
S
    chmod 755 "$TOP/seen"
    echo 256M >/sys/block/zram0/disksize
    mkswap -q /dev/zram0
    swapon /dev/zram0
    remuda up -q 3>&-
    printf 'KillWait=1\nPidsMax=60\nHeartbeatInterval=2\nJobAcctGatherFrequency=1\n' >>"$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
}

teardown_file() {
    scancel -u root || true
    remuda down
    swapoff /dev/zram0
    echo 1 >/sys/block/zram0/reset
    rm -rf "$TOP"
}

setup() {
    WORK="$TOP/$BATS_TEST_NUMBER"
    mkdir -m 777 "$WORK"
    cd "$WORK" || exit 1
}

# A test that failed shall not hold what the next needs.
teardown() { scancel -u root || true; }

eventually() {
    local until=$((SECONDS + 60))
    until "$@"; do
        ((SECONDS < until)) || return 1
        sleep 0.1
    done
}
state() { sacct -X -n -P -o State -j "$1"; }
is() { [[ $(state "$1") == $2 ]]; }
# ran OPTION… SCRIPT: submits it (its output in the file "out") and waits for its end; $id.
ran() {
    id=$(sbatch -W --parsable --no-requeue -o out -e err "${@:1:$#-1}" --wrap ". $TOP/group; ${*: -1}") || true
    cat out err
}
begun() { # begun OPTION… SCRIPT: the same, when it runs; its process writes "pid"
    id=$(sbatch --parsable --no-requeue -o out -e err "${@:1:$#-1}" --wrap ". $TOP/group; echo \$\$ >pid; ${*: -1}")
    eventually test -s pid
}
gone() { [[ ! -e /proc/$1 || $(awk '/^State/ {print $2}' "/proc/$1/status") == Z ]]; }
groups() { find /sys/fs/cgroup -mindepth 2 -type d -path '*/remuda.*/*'; }
no_groups() { [ -z "$(groups)" ]; }

@test "everything is enforced, by version 2 alone" {
    [[ "$(remuda status | grep '^isolation')" =~ "enforced by cgroup v2: cores, memory, swap, devices, number of processes, the end of all processes"$ ]]
    [ "$(grep -c ' cgroup ' /proc/self/mounts)" = 0 ]
}

@test "a job has its cores, and cannot take others" {
    begun -c1 --mem=50 'value cpuset.cpus.effective; taskset -pc 0-1 $$ >/dev/null; grep Cpus_allowed_list /proc/$$/status | cut -f2; sleep 600'
    first=$id
    eventually grep -q . out
    mkdir second
    cd second
    ran -c1 --mem=50 'value cpuset.cpus.effective; nproc'
    [ "$(sed -n 1p ../out)" = "$(sed -n 2p ../out)" ]
    [ "$(sed -n 2p out)" = 1 ]
    [ "$(cat ../out out | sed '2d;$d' | sort | tr '\n' ' ')" = "0 1 " ]
    scancel "$first"
}

@test "the kernel ends who uses too much memory: OUT_OF_MEMORY, with the process, the limit, the peak and a size to ask for" {
    ran --mem=60 'job_value memory.max; python3 -c "x = bytearray(300 << 20)"; exit 3'
    [ "$(head -1 out)" = $((60 << 20)) ]
    is "$id" OUT_OF_ME*
    grep -Eq "exceeded its memory limit: [56][0-9] MiB in use of 60 MiB; process [0-9]+ \(python3, [3-6][0-9] MiB\) was ended; ask for more, for example --mem=100M$" err
    scontrol show job "$id" | grep -q "exceeded its memory limit"
}

@test "the machine runs out of memory: not the job's fault, and so it is said" {
    begun --mem=200 'echo 1000 >/proc/self/oom_score_adj; python3 -c "import time; x = bytearray(b\"x\") * (30 << 20); print(\"there\", flush=True); time.sleep(600)"; exit 3'
    eventually grep -q there out
    echo f >/proc/sysrq-trigger # the kernel's killer of processes, as if nothing were free
    eventually is "$id" OUT_OF_ME*
    cat err
    grep -Eq "was within its memory limit, but the machine ran out of memory: [3-5][0-9] MiB in use of 200 MiB; process [0-9]+ \(python3, [3-5][0-9] MiB\) was ended" err
    [[ ! "$(cat err)" =~ "ask for more" ]]
}

@test "steps together never exceed the job's memory" {
    ran -c2 --mem=150 'for i in 1 2; do srun --overlap -n1 --mem=100 python3 -c "x = bytearray(85 << 20); import time; time.sleep(4)" & done; wait; exit 1'
    [[ "$(sacct -n -P -o State -j "$id")" =~ OUT_OF_MEMORY ]]
    grep -q "exceeded its job's memory limit" err
}

@test "the page cache does not count: a file larger than the memory is written and read" {
    [ "$(stat -f -c %T .)" != tmpfs ]
    ran --mem=60 'dd if=/dev/zero of=big bs=1M count=200 status=none && cat big >/dev/null && rm big && value memory.events | grep "^oom_kill "'
    is "$id" COMPLETED
    [ "$(cat out)" = "oom_kill 0" ]
}

@test "swap: none beyond the memory, unless AllowedSwapSpace gives it, and then so much" {
    ran --mem=80 'job_value memory.swap.max; python3 -c "x = bytearray(b\"x\") * (100 << 20)"; exit 3'
    [ "$(head -1 out)" = 0 ]
    is "$id" OUT_OF_ME*
    printf 'AllowedSwapSpace=50\n' >"$REMUDA_STATE/cgroup.conf"
    scontrol reconfigure
    ran --mem=80 'job_value memory.swap.max; python3 -c "
x = bytearray(b\"x\") * (100 << 20)
print(open(\"$group/memory.swap.current\").read())"'
    is "$id" COMPLETED
    [ "$(sed -n 1p out)" = $((40 << 20)) ]
    [ "$(sed -n 2p out)" -gt $((10 << 20)) ]
    ran --mem=80 'python3 -c "x = bytearray(b\"x\") * (150 << 20)"; exit 3'
    is "$id" OUT_OF_ME*
    rm "$REMUDA_STATE/cgroup.conf"
    scontrol reconfigure
}

@test "a fork bomb stays in its job and ends with it" {
    cat >bomb.py <<'P'
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
refused = False
for i in range(100):
    try:
        if os.fork() == 0:
            os.setsid()
            while True:
                try:
                    os.fork()
                except OSError:
                    time.sleep(2)
    except OSError:
        refused = True
print("refused", refused, flush=True)
time.sleep(300)
P
    begun --mem=500 'job_value pids.max; exec python3 bomb.py'
    eventually grep -q "refused True" out
    [ "$(head -1 out)" = 60 ]
    srun -n1 --mem=50 --overlap true # others are not hurt
    scancel "$id"
    eventually is "$id" CANCELLED*
    eventually no_groups
    [ -z "$(pgrep -f '^python3 bomb.py')" ]
}

@test "a job opens its own GPUs' files and no others, a step its own of these" {
    ran --mem=50 "$TOP/seen"
    [ "$(cat out)" = "" ]
    ran --mem=50 --gres=gpu:2 "$TOP/seen; srun -n1 --mem=20 --gres=gpu:1 $TOP/seen; srun -n1 --mem=20 $TOP/seen"
    [ "$(sed 's/ *$//' out | tr '\n' ';')" = "0 3;0;0 3;" ]
    begun --mem=50 -c1 --gres=gpu:2 "$TOP/seen; sleep 600"
    first=$id
    mkdir second
    cd second
    ran --mem=50 -c1 --gres=gpu:2 "$TOP/seen"
    [ "$(cat out ../out | tr -s ' \n' ' ')" = "1 2 0 3 " ]
    scancel "$first"
    eventually no_groups
}

@test "what left its session and ignores signals ends with the job, and no group is left" {
    ran --mem=50 'for i in 1 2 3; do (setsid bash -c "trap \"\" TERM HUP; echo \$\$ >>pids; while :; do sleep 1; done" &); done; until [ "$(grep -c . pids)" = 3 ]; do sleep 0.1; done'
    is "$id" COMPLETED
    [ "$(wc -l <pids)" = 3 ]
    for pid in $(cat pids); do gone "$pid"; done
    eventually no_groups
}

@test "what was used is measured: memory at its peak, processor time" {
    begun --mem=200 'python3 -c "
import time
x = bytearray(b\"x\") * (100 << 20)
time.sleep(2)
del x
until = time.process_time() + 2
while time.process_time() < until: pass
print(\"idle\", flush=True)
time.sleep(6)"'
    eventually grep -q idle out
    sleep 2
    run -0 sstat -n -P -j "$id.batch" -o MaxRSS,AveCPU
    echo "sstat: $output"
    [[ "$output" =~ ^1[01][0-9]{4}K\|00:0(0:0)?[2-9] ]]
    eventually is "$id" COMPLETED
    run -0 sacct -n -P -j "$id.batch" -o MaxRSS,AveCPU
    echo "sacct: $output"
    [[ "$output" =~ ^1[01][0-9]{4}K\|00:0(0:0)?[2-9] ]]
}

@test "a node daemon that is killed and comes back: the job's limits hold" {
    begun --mem=60 -c1 'until [ -e go ]; do sleep 0.1; done; value cpuset.cpus.effective; job_value memory.max; srun -n1 --mem=30 bash -c ". $TOP/group; value memory.max; job_value memory.max"; python3 -c "x = bytearray(300 << 20)"; exit 3'
    kill -9 "$(cat "$REMUDA_STATE/nodes/vm/node.pid")"
    remuda up -q 3>&-
    groups | grep -Eq '/g[0-9]+/g[0-9]+\.1$'
    touch go
    eventually is "$id" OUT_OF_ME*
    cat out err
    [[ "$(sed -n 1p out)" =~ ^[01]$ ]]
    [ "$(sed 1d out | tr '\n' ' ')" = "$((60 << 20)) $((30 << 20)) $((60 << 20)) " ]
    eventually no_groups
}

# A container's root: a group of its own as the top of what it sees, with processes in it.
@test "in a container, the daemons' own group is rearranged, and jobs are held as anywhere" {
    mkdir /sys/fs/cgroup/container
    cat >inside <<'S'
echo $$ >/sys/fs/cgroup/container/cgroup.procs
exec unshare --cgroup --mount bash -c '
    umount /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup
    export REMUDA_STATE=$PWD/state
    remuda up -q --nodes 1 --cpus 2 --mem 1000 3>&-
    remuda status | grep ^isolation
    sbatch -W -o out -e err --mem=60 --wrap "cat /proc/self/cgroup; python3 -c \"x = bytearray(300 << 20)\"; exit 3"
    sacct -X -n -P -o State
    remuda down
    true'
S
    run bash inside
    echo "$output"
    cat out err
    [[ "$output" =~ "enforced by cgroup v2: cores, memory, swap, devices, number of processes, the end of all processes"($'\n'|$) ]]
    [[ "$output" =~ OUT_OF_MEMORY ]]
    [[ "$(cat out)" =~ ^0::/remuda\. ]]
    [[ ! "$(cat err)" =~ "cannot enter" ]]
}
