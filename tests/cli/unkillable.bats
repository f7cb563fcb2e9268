#!/usr/bin/env bats
# A process that outlives SIGKILL: its job keeps its part of the node, people are told which process it is, and the rest of the node works on. A group of the freezer (version 1 of
# control groups) that is frozen stands for a device that does not answer: what is in it does not die before it is thawed.
bats_require_minimum_version 1.5.0

setup_file() {
    export WHY_NOT= FREEZER=/sys/fs/cgroup/freezer/remuda-unkillable-$$
    [ "$(id -u)" = 0 ] && mkdir "$FREEZER" 2>/dev/null || { WHY_NOT="no freezer group can be made here"; return 0; }
    [ -e "$FREEZER/freezer.state" ] || { WHY_NOT="there is no freezer controller here"; return 0; }
    TOP=$(mktemp -d /tmp/remuda-unkillable-XXXXXX)
    export TOP REMUDA_STATE="$TOP/state"
    mkdir "$REMUDA_STATE"
    cat >"$REMUDA_STATE/remuda.conf" <<C
ClusterName=stuck
UnkillableStepTimeout=1
KillWait=1
NodeName=n1 CPUs=4 RealMemory=2000 Virtual=YES
PartitionName=main Nodes=n1 Default=YES
C
    remuda up -q 3>&-
}

teardown_file() {
    echo THAWED >"$FREEZER/freezer.state" || true
    if [ -n "${TOP:-}" ]; then
        scancel -u root || true
        remuda down || true
        rm -rf "$TOP"
    fi
    for _ in $(seq 300); do rmdir "$FREEZER" 2>/dev/null && break; sleep 0.1; done
}

setup() {
    [ -z "$WHY_NOT" ] || skip "$WHY_NOT"
    cd "$TOP" || exit 1
}

until_true() {
    for _ in $(seq 300); do "$@" && return 0; sleep 0.1; done
    scontrol show node; squeue; tail -n 8 "$REMUDA_STATE"/log/*.log
    return 1
}
shows() { scontrol show node n1 | grep -qE "$1"; }
gone() { ! shows "Unkillable"; }

@test "a process that cannot be killed is named everywhere, its job stays COMPLETING, others run, and a new daemon still knows" {
    id=$(sbatch --parsable -c1 --mem=100 -o stuck.out --wrap "sleep 1000 & echo \$! >pid; wait")
    until_true test -s pid
    pid=$(cat pid)
    echo "$pid" >"$FREEZER/cgroup.procs"
    echo FROZEN >"$FREEZER/freezer.state"
    scancel "$id"
    until_true shows "Unkillable=process:$pid since .*: job $id step batch: process $pid .sleep. outlives SIGKILL, in state .*the job keeps its part of the node"
    [ "$(squeue -h -j "$id" -o %t)" = CG ]
    remuda why "$id" | grep -q "its end waits for what cannot be ended on n1: job $id step batch: process $pid .sleep. outlives SIGKILL"
    sinfo -h -R -o "%E|%N" | grep -q "^process:$pid unkillable: job $id step batch: process $pid .sleep. outlives SIGKILL.*|n1$"
    remuda status | grep -q "process $pid cannot be killed: job $id"
    scontrol show node n1 --json | python3 -c 'import json,sys; d = json.load(sys.stdin)["nodes"][0]["devices_out"]; assert d[0]["state"] == "UNKILLABLE", d'
    grep -q "n1: a process cannot be killed: job $id step batch" "$REMUDA_STATE/log/controller.log"
    # The node is not drained: what is left of it serves.
    shows "State=MIXED"
    srun -n1 -c3 --mem=100 true
    kill -9 "$(cat "$REMUDA_STATE/nodes/n1/node.pid")"
    remuda up -q 3>&-
    until_true shows "Unkillable=process:$pid"
    echo THAWED >"$FREEZER/freezer.state"
    until_true gone
    until_true sh -c "[ -z \"\$(squeue -h -j $id)\" ]"
    sacct -n -X -j "$id" -o state%30 | grep -q CANCELLED
    [ -z "$(sinfo -h -R)" ]
}
