#!/usr/bin/env bats
# The node daemon and its shepherds with a real cluster: what goes on when daemons die, how jobs are ended, the site's programs, discovery.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    export TOP REMUDA_STATE
    TOP=$(mktemp -d /tmp/node-bats-XXXXXX)
    chmod 755 "$TOP"
    REMUDA_STATE="$TOP/state"
    remuda up -q --nodes 1 --cpus 8 --mem 4000 --name nodetest 3>&-
    printf 'KillWait=2\nSlurmctldHost=localhost\nHeartbeatInterval=2\nMailProg=/nonexistent/mailer\n' >> "$REMUDA_STATE/remuda.conf"
    remuda down
    remuda up -q 3>&-
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

# Writes job.sh with the body on stdin and submits it with the options given; prints the id.
submit() {
    { echo '#!/bin/bash'; cat; } > job.sh
    chmod 755 job.sh
    sbatch --parsable -o out -e err --mem=100 "$@" job.sh
}
state() { sacct -X -n -P -o State -j "$1"; }
field() { sacct -n -P -o "$2" -j "$1"; }
is() { [[ $(state "$1") == $2 ]]; }
node_pid() { cat "$REMUDA_STATE/nodes/node1/node.pid"; }
parent_pid() { pgrep -P "$(node_pid)" -f "remuda-shepherd $REMUDA_STATE/nodes/node1"; }
gone() { [[ ! -e /proc/$1 || $(awk "/^State/ {print \$2}" "/proc/$1/status") == Z ]]; }

@test "kill -9 of the node daemon: the job runs on, its end arrives once" {
    id=$(submit <<< 'echo start >> log; until [ -e ends ]; do sleep 0.1; done; echo end >> log; exit 5')
    eventually test -s log
    kill -9 "$(node_pid)"
    sleep 0.2
    remuda up -q 3>&-
    is "$id" RUNNING
    touch ends
    eventually is "$id" FAILED
    [ "$(field "$id.batch" ExitCode)" = 5:0 ]
    [ "$(cat log)" = "$(printf 'start\nend')" ]
}

@test "a job that ends while no node daemon runs is reported by the next one" {
    id=$(submit <<< 'echo start > log; until [ -e ends6 ]; do sleep 0.1; done; echo end >> log; exit 6')
    eventually test -s log
    daemon=$(node_pid)
    kill -TERM "$daemon"
    eventually gone "$daemon"
    touch ends6
    eventually grep -q end log
    sleep 0.5
    remuda up -q 3>&-
    eventually is "$id" FAILED
    [ "$(field "$id.batch" ExitCode)" = 6:0 ]
    eventually test -z "$(ls "$REMUDA_STATE/nodes/node1/steps")"
}

@test "the shepherds' parent dies: what runs goes on, what comes starts" {
    id=$(submit <<< 'echo start > log; sleep 1.5')
    eventually test -s log
    kill -9 "$(parent_pid)"
    sleep 0.1
    next=$(submit <<< 'true')
    eventually is "$id" COMPLETED
    eventually is "$next" COMPLETED
}

@test "a shepherd that is killed: the rest of its job is killed, the job is requeued or failed, and does not run beside itself" {
    id=$(submit --no-requeue <<< 'sleep 300 & echo $! > child; setsid sleep 301 & echo $! > daemon; touch up; wait')
    eventually test -e up
    kill -9 "$(ps -o ppid= -p "$(ps -o ppid= -p "$(cat child)" | tr -d ' ')" | tr -d ' ')"
    eventually is "$id" NODE_FAIL
    [ "$(sacct -nXP -j "$id" -o FailedNode)" = node1 ]
    [ "$(sacct -j "$id" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["jobs"][0]["failed_node"])')" = node1 ]
    gone "$(cat child)"
    gone "$(cat daemon)"
}

@test "scancel: SIGTERM, the grace of KillWait, SIGKILL to everybody, and the line in the error file" {
    id=$(submit <<< 'trap "echo got term" TERM; setsid bash -c "trap \"\" TERM; echo \$\$ > daemon; sleep 300 & wait" & sleep 300 & while :; do wait; done')
    eventually test -s daemon
    scancel "$id"
    eventually is "$id" "CANCELLED*"
    eventually gone "$(cat daemon)"
    grep -qx 'got term' out
    grep -Eqx "slurmstepd: error: \*\*\* JOB $id ON node1 CANCELLED AT 20[0-9-]+T[0-9:]+ \*\*\*" err
}

@test "the time limit ends a job and says so" {
    id=$(submit <<< 'touch runs; sleep 300')
    eventually test -e runs
    scontrol update JobId="$id" TimeLimit=0:01
    eventually is "$id" TIMEOUT
    eventually grep -Eq "CANCELLED AT 20[0-9-]+T[0-9:]+ DUE TO TIME LIMIT \*\*\*" err
}

@test "more memory than allocated: OUT_OF_MEMORY, and the error file says why" {
    grep -q 'memory is not limited by the kernel' "$REMUDA_STATE/log/node-node1.log" && skip "no memory control group can be written here"
    id=$(submit <<< 'python3 -c "x = bytearray(300 << 20)"; echo after')
    eventually is "$id" OUT_OF_ME*
    grep -q "Detected 1 oom_kill event in StepId=$id.batch" err
}

@test "a missing input file fails the job with the reason" {
    id=$(submit --no-requeue -i /nonexistent/input <<< 'echo never')
    eventually is "$id" FAILED
    grep -q "cannot open the input file /nonexistent/input" err
    [ ! -s out ]
}

@test "figures of what a job used" {
    id=$(submit <<< 'python3 -c "
x = bytearray(50 << 20)
import time
while time.process_time() < 1: pass"')
    eventually is "$id" COMPLETED
    IFS='|' read -r rss vm cpu <<< "$(field "$id.batch" MaxRSS,MaxVMSize,TotalCPU)"
    [[ $rss =~ ^([5-9][0-9]{4}K|[5-9][0-9]M)$ ]] || { echo "MaxRSS $rss"; false; }
    [[ $vm =~ ^([0-9]{5,}K|[0-9]+M)$ ]] || { echo "MaxVMSize $vm"; false; }
    [[ $cpu =~ ^00:0[12]\. ]] || { echo "TotalCPU $cpu"; false; }
}

@test "--get-user-env takes the login environment, whatever start-up files print" {
    export HOME="$WORK"
    echo 'echo noise; export FROM_LOGIN=yes' > "$WORK/.bash_profile"
    SHELL=/bin/bash id=$(submit --export=NONE <<< 'echo "$FROM_LOGIN $SLURM_JOB_ID"; command -v sbatch')
    eventually is "$id" COMPLETED
    # The home directory is the one of the user database: only what every login has can be asked for.
    [ "$(wc -l < out)" -eq 2 ]
    grep -q " $id\$" out
    [ "$(tail -n 1 out)" = "$(command -v sbatch)" ]
}

@test "as root a job runs as its owner, with the owner's groups, umask and limits" {
    [ "$(id -u)" -eq 0 ] || skip "not root"
    script='#!/bin/bash
id -un; id -Gn; umask; ulimit -Sn; cat "$0" > /dev/null && echo readable'
    chmod 755 "$WORK"/..
    su -s /bin/bash nobody -c "cd $WORK && umask 027 && ulimit -Sn 99 && REMUDA_STATE=$REMUDA_STATE PATH=$PATH sbatch -W --mem=100 -o out <<< '$script'"
    [ "$(cat out)" = "$(printf 'nobody\n%s\n0027\n99\nreadable' "$(id -Gn nobody)")" ]
    [ "$(stat -c %U:%a out)" = nobody:640 ]
}

@test "prolog and epilog run around a job with its variables; a failing prolog sends it back" {
    cat > prolog <<< '#!/bin/bash
echo "$SLURM_SCRIPT_CONTEXT $SLURM_JOB_ID $SLURM_JOB_USER $SLURMD_NODENAME" >> '"$WORK/trace"'
[ ! -e '"$WORK/bad"' ] || { echo sorry; exit 3; }'
    sed 's/trace/trace2/' prolog > epilog
    chmod 755 prolog epilog
    cp "$REMUDA_STATE/remuda.conf" conf.before
    printf 'Prolog=%s/prolog\nEpilog=%s/epilog\n' "$WORK" "$WORK" >> "$REMUDA_STATE/remuda.conf"
    remuda down
    remuda up -q 3>&-
    id=$(submit <<< 'test -s trace && test ! -e trace2 && echo in between')
    eventually is "$id" COMPLETED
    [ "$(cat out)" = "in between" ]
    [ "$(cat trace)" = "prolog_slurmd $id $(id -un) node1" ]
    eventually grep -qx "epilog_slurmd $id $(id -un) node1" trace2
    touch bad
    id=$(submit --no-requeue <<< 'echo never')
    eventually is "$id" CANCELLED
    [ "$(sinfo -h -o '%T %E')" = "drained Prolog error" ]
    grep -q "prolog $WORK/prolog exited with 3.*sorry" "$REMUDA_STATE/log/node-node1.log"
    cp conf.before "$REMUDA_STATE/remuda.conf"
    remuda down
    remuda up -q 3>&-
    scontrol update NodeName=node1 State=RESUME
}

wakes() { awk '/^voluntary_ctxt/ {print $2}' "/proc/$1/status"; }
wakes_rarely() { # PID SECONDS MOST
    local before
    before=$(wakes "$1")
    sleep "$2"
    [ $(($(wakes "$1") - before)) -le "$3" ] || { echo "more than $3 wake-ups in $2 s"; false; }
}

@test "an idle node daemon is small and sleeps between heartbeats" {
    sleep 1
    rss=$(awk '/^VmRSS/ {print $2}' "/proc/$(node_pid)/status")
    [ -n "${ASAN_OPTIONS:-}" ] || [ "$rss" -le 15360 ]
    # Again, where what the test before began is not over yet.
    eventually wakes_rarely "$(node_pid)" 4.2 6
    eventually wakes_rarely "$(parent_pid)" 1 0
}

@test "this machine as a configuration line" {
    run --separate-stderr remudad node --print-config
    [ "$status" -eq 0 ]
    [[ "$output" =~ ^NodeName=[^\ ]+\ CPUs=$(nproc)\ Sockets=[0-9]+\ CoresPerSocket=[0-9]+\ ThreadsPerCore=[0-9]+\ RealMemory=[0-9]+ ]]
}

@test "NVIDIA devices through a library with NVML's symbols: types from names, and a library that crashes" {
    cat > nvml.c <<'C'
#include <stdio.h>
#include <stdlib.h>
static const char *names[] = {"NVIDIA A100-SXM4-40GB", "Tesla V100-SXM2-16GB", "NVIDIA GeForce RTX 3090", "NVIDIA H200", "Tesla T4", "NVIDIA H200"};
int nvmlInit_v2(void) { if (getenv("CRASH")) abort(); return getenv("NO_DRIVER") ? 9 : 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 6; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = &names[i]; return 0; }
int nvmlDeviceGetName(void *d, char *to, unsigned n) { snprintf(to, n, "%s", *(const char **) d); return 0; }
int nvmlDeviceGetUUID(void *d, char *to, unsigned n) { snprintf(to, n, "GPU-%d", (int) ((const char **) d - names)); return 0; }
int nvmlDeviceGetMemoryInfo(void *d, unsigned long long *m) { m[0] = 16ull << 30; return 0; }
int nvmlDeviceGetCpuAffinity(void *d, unsigned n, unsigned long *set) { set[0] = 3; return 0; }
C
    cc -shared -fPIC -o nvml.so nvml.c
    export REMUDA_NVML="$WORK/nvml.so"
    [[ "$(remudad node --print-config)" == *" Gres=gpu:a100:1,gpu:v100:1,gpu:rtx3090:1,gpu:h200:2,gpu:t4:1"$'\n'* ]]
    NO_DRIVER=1 run remudad node --print-config
    [ "$status" -eq 0 ]
    [[ "$output" != *Gres=* && "$output" == *"could not be started"* ]]
    CRASH=1 run remudad node --print-config
    [ "$status" -eq 0 ]
    [[ "$output" == *RealMemory=* && "$output" != *Gres=* && "$output" == *"a library ended the process"* ]]
}

@test "bad options are refused with what is missing" {
    run remudad node
    [ "$status" -eq 2 ]
    [[ "$output" == *"--state DIR is missing"* ]]
    run remudad node --state "$WORK" --name ../x
    [ "$status" -eq 2 ]
    [[ "$output" == *"--name NAME is missing"* ]]
    run remudad node --state "$WORK" --name
    [ "$status" -eq 2 ]
    [[ "$output" == *"--name needs a value"* ]]
    run remudad node --state "$REMUDA_STATE" --name node1
    [ "$status" -eq 1 ]
    [[ "$output" == *"runs already"* ]]
}

@test "a work directory that is not there fails the job, as in Slurm, where its files were to be in it; else it runs in /tmp and its records say so" {
    touch before
    id=$(sbatch --parsable -D /nonexistent/dir --wrap 'echo ran')
    eventually is "$id" FAILED
    [ "$(sacct -n -P -X -j "$id" -o ExitCode)" = 0:53 ]
    [[ "$(scontrol show job "$id")" == *"JobState=FAILED Reason=JobLaunchFailure"*"couldn't chdir to \`/nonexistent/dir': No such file or directory on node1, where the output file slurm-$id.out was to be"* ]]
    [ -z "$(find /tmp -maxdepth 1 -name "slurm-$id.out" -newer before)" ] # of others there may be one
    id=$(sbatch --parsable -D /nonexistent/dir -o "$PWD/out" --wrap pwd)
    eventually is "$id" COMPLETED
    [ "$(cat out)" = "slurmstepd: error: couldn't chdir to \`/nonexistent/dir': No such file or directory: going to /tmp instead"$'\n/tmp' ]
    [[ "$(scontrol show job "$id")" == *"it ran in /tmp there"* ]]
}

@test "who asks for mail where none can be sent is told at submission" {
    run -0 --separate-stderr sbatch --parsable --mail-type=END -o /dev/null --wrap true
    [ "$stderr" = "sbatch: no mail will come of this job: /nonexistent/mailer: No such file or directory; MailProg or SmtpServer in remuda.conf names what sends it" ]
    [[ "$output" =~ ^[0-9]+$ ]]
    run -0 --separate-stderr sbatch --parsable --mail-type=NONE -o /dev/null --wrap true
    [ -z "$stderr" ]
}

@test "what is removed of its place is there again: no second daemon, what runs ends, what comes runs" {
    id=$(submit <<< 'echo start > log; until [ -e go ]; do sleep 0.1; done; exit 7')
    eventually test -s log
    pid=$(node_pid)
    rm -rf "$REMUDA_STATE/nodes/node1/node.pid" "$REMUDA_STATE/nodes/node1/steps"
    srun -Q -n1 --mem=100 true
    second=$(sbatch --parsable -o /dev/null --mem=100 --wrap 'exit 3')
    eventually is "$second" FAILED
    eventually test -s "$REMUDA_STATE/nodes/node1/node.pid"
    [ "$(node_pid)" = "$pid" ]
    remuda up -q 3>&-
    [ "$(pgrep -fc "^[^ ]*remudad node --state $REMUDA_STATE ")" = 1 ]
    touch go
    eventually is "$id" FAILED
    [ "$(field "$id.batch" ExitCode)" = 7:0 ]
    grep -q "nodes/node1/steps was removed: it is there again" "$REMUDA_STATE/log/node-node1.log"
}

@test "where nothing is left of its place the daemon ends, and says so; up makes both anew" {
    pid=$(node_pid)
    rm -rf "$REMUDA_STATE/nodes/node1"
    eventually gone "$pid"
    grep -q "the node's directory was removed" "$REMUDA_STATE/log/node-node1.log"
    remuda up -q 3>&-
    srun -Q -n1 --mem=100 true
}

two_are_said() { sinfo -R -h -o %E | grep -q 'two daemons say that they are node1'; }
one_is_said() { ! two_are_said; }
hellos() { sdiag | awk '/MESSAGE_NODE_REGISTRATION_STATUS/ {print $4}' | tr -dc 0-9; }

@test "a second daemon by the name of a node waits: the first stays, with its job, and both are said" {
    mkdir two
    ln -s "$REMUDA_STATE/controller.sock" two/controller.sock
    id=$(submit <<< 'sleep 60')
    eventually is "$id" RUNNING
    before=$(hellos)
    "$REMUDA_STAGE/remudad" node --state "$PWD/two" --name node1 --foreground 2> two.err 3>&- &
    second=$!
    eventually two_are_said
    remuda status | grep -q "pid $second waits until that one is gone"
    sleep 2
    [ "$(hellos)" -le $((before + 1)) ] # it was seventeen a second
    is "$id" RUNNING
    kill "$second"
    wait "$second" || true
    eventually one_is_said
    is "$id" RUNNING
    scancel "$id"
}
