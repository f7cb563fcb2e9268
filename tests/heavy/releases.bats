#!/usr/bin/env bats
# Today's daemons over what those of an older release left, which were killed as they worked; both releases beside each other; and the way back. REMUDA_OLDER is the older one's stage
# (tools/stage of a build of an older commit); skipped without.
bats_require_minimum_version 1.5.0
load ../cli/common

setup() {
    [ -x "${REMUDA_OLDER:-}/remudad" ] || skip "REMUDA_OLDER names no stage of an older release"
    NEW_PATH=$PATH OLD_PATH="$REMUDA_OLDER/bin:$REMUDA_OLDER:$PATH" PIDS=
    BATS_FILE_TMPDIR="$BATS_TEST_TMPDIR"
    export REMUDA_STATE="$BATS_TEST_TMPDIR/state" WORK="$BATS_TEST_TMPDIR/work"
    mkdir -p "$WORK" "$REMUDA_STATE"
    cd "$WORK"
    cat >"$REMUDA_STATE/remuda.conf" <<C
ClusterName=older
MinJobAge=3600
NodeName=o[1-2] CPUs=16 RealMemory=4000 Virtual=YES
PartitionName=main Nodes=ALL Default=YES
C
    by_old remuda up -q 3>&-
}

teardown() {
    [ -n "${NEW_PATH:-}" ] || return 0
    PATH=$NEW_PATH
    touch "$WORK/go"
    scancel -u "$(id -un)" 2>/dev/null || true
    remuda down || true
    pkill -9 -f "^[^ ]*remuda[^ ]* .*$REMUDA_STATE" || true
}

by_old() { PATH=$OLD_PATH "$@"; }
daemons_kill() { # daemons_kill [shepherds too]
    pkill -9 -f "^[^ ]*remudad .*$REMUDA_STATE" || true
    [ -z "${1:-}" ] || pkill -9 -f "^[^ ]*remuda-shepherd .*$REMUDA_STATE" || true
    [ -z "${1:-}" ] || for pid in $(cat pids); do kill -9 "$pid" 2>/dev/null || true; done
}

# What runs until it is told to go, and leaves a line for each start and each end.
TICK='echo "$SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0}" >>started; echo $$ >>pids; until [ -e go ]; do sleep 0.1; done; echo "$SLURM_JOB_ID" >>ended'

# All kinds at once, in what state they are named by.
jobs_begin() {
    plain=$(by_old sbatch --parsable -n1 --mem=10 -o /dev/null --wrap "$TICK")
    once=$(by_old sbatch --parsable -n1 --mem=10 --no-requeue -o /dev/null --wrap "$TICK")
    steps=$(by_old sbatch --parsable -N2 -n2 --mem=10 -o steps.out --wrap "echo \$\$ >>pids; srun -Q --mem=5 sh -c 'echo \$\$ >>pids; echo \$SLURM_JOB_ID \${SLURM_RESTART_COUNT:-0} \$SLURM_PROCID >>stepped; until [ -e go ]; do sleep 0.1; done'; echo \"step \$?\"")
    array=$(by_old sbatch --parsable -n1 --mem=10 --array=1-4%2 -o /dev/null --wrap "$TICK")
    het=$(by_old sbatch --parsable -n1 --mem=10 -o /dev/null : -n1 --mem=10 --wrap "$TICK")
    held=$(by_old sbatch --parsable -H -n1 --mem=10 -o /dev/null --wrap "$TICK")
    after=$(by_old sbatch --parsable -d "afterok:$plain" -n1 --mem=10 -o /dev/null --wrap "$TICK")
    all="$plain $once $steps $array $het $held $after"
    for one in "$plain" "$once" "$steps" "$het"; do old_runs "$one"; done
    eventually has_lines stepped 2
    eventually has_lines started 5
}
old_runs() { eventually old_is "$1" RUNNING; }
old_is() { [ "$(by_old squeue -h -t R -j "$1" -o %T | sort -u)" = "$2" ]; }
has_lines() { [ -e "$1" ] && [ "$(wc -l <"$1")" -ge "$2" ]; }
all_over() { [ -z "$(squeue -h -j "$(echo $all | tr ' ' ,)" -t PD,R,CG,S,CF -o %A 2>/dev/null)" ]; }
ended_as() { sacct -X -n -P -j "$1" -o State | cut -d' ' -f1 | sort | uniq -c | xargs; }

@test "killed as they worked: what runs is taken over, what waits waits, numbers go on, nothing runs twice" {
    jobs_begin
    before=$(by_old sacct -a -X -n -P -S 1970-01-01 -o JobID,JobName,State,Submit | grep -v PENDING | sort)
    daemons_kill
    remuda up -q 3>&-
    [ "$(sacct -a -X -n -P -S 1970-01-01 -o JobID,JobName,State,Submit | grep -v PENDING | sort)" = "$before" ]
    next=$(sbatch --parsable -n1 --mem=10 -o /dev/null --wrap true)
    [ "$next" -gt "$after" ]
    wait_state "$next" COMPLETED
    scontrol release "$held"
    touch go
    eventually all_over
    for one in $plain $once $steps $held $after; do echo "$one"; [ "$(ended_as "$one")" = "1 COMPLETED" ]; done
    [ "$(ended_as "$array")" = "4 COMPLETED" ]
    [ "$(ended_as "$het")" = "2 COMPLETED" ]
    [ "$(sort started | uniq -d)" = "" ]
    [ "$(wc -l <started)" = 9 ]
    [ "$(wc -l <ended)" = 9 ]
    [ "$(wc -l <stepped)" = 2 ]
    grep -q "step 0" steps.out
    [ "$(sacct -n -P -j "$steps.0" -o State)" = COMPLETED ]
    eventually nothing_left || { ls -laR "$REMUDA_STATE"/nodes/*/steps; cat "$REMUDA_STATE"/log/*; false; }
}

@test "killed with all that ran: jobs come again where they may, once, and the reason is told" {
    jobs_begin
    daemons_kill all
    rm -f pids
    remuda up -q 3>&-
    touch go
    scontrol release "$held"
    eventually all_over
    for one in $plain $steps $held; do echo "$one"; [ "$(ended_as "$one")" = "1 COMPLETED" ]; done
    [ "$(ended_as "$once")" = "1 NODE_FAIL" ]
    [ "$(ended_as "$array")" = "4 COMPLETED" ]
    [ "$(ended_as "$het")" = "2 COMPLETED" ]
    [ "$(ended_as "$after")" = "1 COMPLETED" ]
    [ "$(sort started | uniq -d)" = "" ]
    [ "$(sort ended | uniq -d)" = "" ]
    scontrol show job "$once" | grep -q "its processes on node o[12] were lost\|Reason="
}

node_restart() { # node_restart NAME, by what is in PATH
    kill -9 "$(cat "$REMUDA_STATE/nodes/$1/node.pid")"
    (cd / && setsid remudad node --state "$REMUDA_STATE" --name "$1" --virtual >/dev/null 2>&1 </dev/null 3>&- &)
}
up_on() { sinfo -h -N -n "$1" -o %T | grep -q "idle\|mixed\|alloc"; }
runs_on() { [ "$(srun -Q -w "$1" -n1 --mem=10 sh -c 'echo $SLURMD_NODENAME')" = "$1" ]; }
is_spoken_with() { # what an older node does with us: it works, or the log says why it does not
    up_on "$1" && runs_on "$1" || grep -q "node $1" "$REMUDA_STATE/log/controller.log"
}

@test "one after the other: today's controller with older nodes, then the nodes, jobs going on all the way" {
    jobs_begin
    kill -9 "$(by_old remuda status --pid controller)"
    (cd / && setsid remudad controller --state "$REMUDA_STATE" >/dev/null 2>&1 </dev/null 3>&- &)
    eventually squeue -h
    eventually up_on o1
    eventually up_on o2
    runs_on o1
    [ "$(by_old srun -Q -w o2 -n1 --mem=10 echo said)" = said ]
    node_restart o1
    eventually runs_on o1
    runs_on o2
    node_restart o2
    eventually runs_on o2
    scontrol release "$held"
    touch go
    eventually all_over
    for one in $plain $once $steps $held $after; do echo "$one"; [ "$(ended_as "$one")" = "1 COMPLETED" ]; done
    [ "$(wc -l <started)" = 9 ]
    [ "$(wc -l <stepped)" = 2 ]
}

@test "the nodes first: today's daemons and an older controller" {
    jobs_begin
    for node in o1 o2; do node_restart $node; done
    eventually old_up
    [ "$(by_old srun -Q -w o1 -n1 --mem=10 echo said)" = said ]
    old_runs "$plain"
    by_old scontrol release "$held"
    touch go
    eventually all_over
    for one in $plain $once $steps $held $after; do echo "$one"; [ "$(ended_as "$one")" = "1 COMPLETED" ]; done
    [ "$(wc -l <started)" = 9 ]
    [ "$(wc -l <stepped)" = 2 ]
}
nothing_left() { [ -z "$(find "$REMUDA_STATE"/nodes/*/steps -mindepth 1 -not -path "*/.s*" | tee left)" ]; }
old_up() { [ "$(by_old sinfo -h -N -t idle,mix,alloc -o %N | wc -l)" = 2 ]; }

@test "the way back: an older controller over today's store works with it or says what it wants, and nothing is lost" {
    remuda down
    remuda up -q 3>&-
    id=$(sbatch --parsable -n1 --mem=10 -o /dev/null --wrap "$TICK")
    wait_state "$id" RUNNING
    eventually has_lines started 1
    daemons_kill
    if ! by_old remuda up -q >said 2>&1 3>&-; then
        cat said
        grep -q "newer\|release" said
        remuda up -q 3>&-
    fi
    touch go
    eventually over_once "$id"
    [ "$(wc -l <started)" = 1 ]
    by_old remuda down || true
    remuda up -q 3>&-
    [ "$(ended_as "$id")" = "1 COMPLETED" ]
}
over_once() { [ "$(by_old sacct -X -n -P -j "$1" -o State)" = COMPLETED ]; }
