#!/usr/bin/env bats
# Shepherds, or the process that starts them, that stand still: what they stand over is ended all the same, and nobody waits without a word.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    export REMUDA_STATE="$BATS_FILE_TMPDIR/state"
    mkdir "$REMUDA_STATE"
    cat >"$REMUDA_STATE/remuda.conf" <<'C'
ClusterName=stops
UnkillableStepTimeout=1
KillWait=1
NodeName=n1 CPUs=4 RealMemory=2000 Virtual=YES
PartitionName=main Nodes=n1 Default=YES
C
    remuda up -q 3>&-
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down || true
}

setup() { cd "$BATS_TEST_TMPDIR" || exit 1; }

# The process that holds the lock on the state file of job $1's script.
shepherd() { python3 -c 'import fcntl, struct, sys; f = open(sys.argv[1]); print(struct.unpack("hhqqi", fcntl.fcntl(f, fcntl.F_GETLK, struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, 0, 0)))[4])' "$REMUDA_STATE/nodes/n1/steps/$1.1.batch/state"; }
runs() { sbatch --parsable -n1 --mem=100 -o "$1.out" --wrap "echo \$\$ >$1; sleep 1000"; }
over() { [ -z "$(squeue -h -j "$1")" ]; }
dead() { ! kill -0 "$1" 2>/dev/null; }

@test "a shepherd that was stopped goes on when its step is to end" {
    local id
    id=$(runs pid)
    eventually test -s pid
    kill -STOP "$(shepherd "$id")"
    scancel "$id"
    eventually over "$id"
    eventually dead "$(cat pid)"
    [ "$(sacct -n -X -P -j "$id" -o state%20)" = "CANCELLED by $(id -u)" ]
}

@test "a shepherd that stands still is named, and its step is ended without it" {
    local id pid
    id=$(runs pid)
    eventually test -s pid
    pid=$(shepherd "$id")
    stands_still "$pid"
    scancel "$id"
    eventually bash -c "scontrol show node n1 | grep -q 'Unkillable=process:$pid since .*: job $id step batch: its shepherd, process $pid, stands still, in state t'"
    eventually over "$id"
    eventually dead "$(cat pid)"
    grep -q "its shepherd, process $pid, stands still, in state t, and was killed" "$REMUDA_STATE/log/node-n1.log"
    kill "$STILL" || true
    sacct -n -X -P -j "$id" -o state%20 | grep -q CANCELLED
    ! scontrol show node n1 | grep Unkillable || false
}

@test "who starts shepherds and was stopped goes on when one is to be started" {
    local id parent
    id=$(runs first)
    eventually test -s first
    parent=$(ps -o ppid= -p "$(shepherd "$id")")
    kill -STOP "$parent"
    id=$(runs second)
    eventually test -s second
    scancel -u "$(id -un)"
    eventually over "$id"
}
