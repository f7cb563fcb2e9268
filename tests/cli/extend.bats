#!/usr/bin/env bats
# remuda extend: more time for a running job, as much as delays nobody. So many nodes are configured that a copy of the controller works it out.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<EOF2
ClusterName=site
NodeName=v[1-2] CPUs=2 RealMemory=2000 Virtual=YES
NodeName=far[1-220] CPUs=2 RealMemory=2000
PartitionName=main Nodes=v[1-2] Default=YES MaxTime=1-0
PartitionName=far Nodes=far[1-220]
EOF2
}

teardown_file() { remuda down; }

setup() { cd "$WORK" || exit 1; }

teardown() {
    scancel -u "$(id -un)" || true
    eventually none_left
}

none_left() { [ -z "$(squeue -h)" ]; }

started() { # OPTION…: a job that runs
    local id
    id=$(sbatch --parsable "$@" --wrap 'sleep 600')
    wait_state "$id" RUNNING >&2
    echo "$id"
}

@test "granted, recorded, and there after kill -9" {
    id=$(started -n1 -t1:00:00)
    run -0 remuda extend "$id" +2h
    [ "$output" = "job $id: 2 h granted" ]
    run -0 remuda extend "$id" 30m
    run -0 scontrol show job "$id"
    [[ "$output" == *"TimeLimit=03:30:00"* ]]
    [[ "$output" == *"ExtendedBy=02:30:00 Extensions=$(id -un)("*",+02:00:00),$(id -un)("*",+00:30:00)"* ]]
    [[ "$(squeue -h -j "$id" -o %l)" == 3:30:00 ]]
    [[ "$(sacct -n -X -P -j "$id" -o SystemComment)" == "time limit extended: "*"+02:00:00"* ]]
    [[ "$(remuda why "$id")" == *"its time limit was raised by 2 h 30 min"* ]]
    kill -9 "$(cat "$REMUDA_STATE/controller.pid")"
    remuda up -q 3>&-
    wait_state "$id" RUNNING
    [[ "$(squeue -h -j "$id" -o %l)" == 3:30:00 ]]
    run -0 remuda extend "$id" +10
    [[ "$(squeue -h -j "$id" -o %l)" == 3:40:00 ]]
}

@test "as much as delays nobody, and whom more would delay" {
    a=$(started -N1 --exclusive -t1:00:00)
    b=$(started -N1 --exclusive -t2:00:00)
    c=$(sbatch --parsable -N2 --exclusive -t1:00:00 --wrap true)
    run -3 remuda extend --dry-run "$a" +3h
    [[ "$output" =~ ^"job $a: 1 h"(' 1 min')?" would be granted; 3 h would delay job $c by "(1|2)' h' ]]
    run -1 remuda extend --all "$a" +3h
    [[ "$output" == *"nothing granted; 3 h would delay job $c by "* ]]
    [[ "$(squeue -h -j "$a" -o %l)" == 1:00:00 ]]
    run -1 remuda extend "$b" +1h
    [[ "$output" == *"nothing granted; 1 h would delay job $c by 1 h"* ]]
    run -3 remuda extend --json "$a" +3h
    python3 - "$a" <<EOF2
import json, sys
m = json.loads(r'''$output''')
assert m["schema"] == "remuda.extend/1" and m["job"] == sys.argv[1] and m["asked_seconds"] == 10800, m
assert m["granted_seconds"] in (3600, 3660) and m["changed"] and m["refusal"] == "" and "would delay job" in m["text"], m
EOF2
    [[ "$(squeue -h -j "$a" -o %l)" == 2:0[01]:00 ]]
}

@test "a partition's MaxTime, and what cannot be extended" {
    id=$(started -n1 -t20:00:00)
    run -3 remuda extend "$id" +1d
    [[ "$output" == "job $id: 4 h granted; of 1 d at most 4 h: MaxTime of partition main allows no more" ]]
    waits=$(sbatch --parsable -H -n1 -t10 --wrap true)
    run -1 remuda extend "$waits" +1h
    [[ "$output" == *"Job is not running: it waits: "* ]]
    run -1 remuda extend 999999 +1h
    [[ "$output" == *"Invalid job id specified"* ]]
    for wrong in "" "$id" "$id +2x" "$id 0" "$id UNLIMITED" "$id +99999999d" "$id +1h more"; do
        run -2 remuda extend $wrong
        [[ "$output" == *"remuda extend --help"* ]]
    done
    scancel "$waits"
}
