#!/usr/bin/env bats
# Standard streams that are closed, full or not read. A job's number that got lost would be a job that nobody knows of; a listing that is cut would be believed.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<'END'
ClusterName=streams
JobAcctGatherFrequency=1
NodeName=n[1-2] CPUs=4 RealMemory=4000 Virtual=YES
PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED DefaultTime=10
END
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

setup() { cd "$WORK" || exit 1; }

@test "whatever a command could not write is said, and it ends with an error; whose reader is gone ends without a word" {
    run python3 "$BATS_TEST_DIRNAME/streams.py" "$WORK"
    echo "$output"
    [ "$status" = 0 ]
    [ -z "$output" ]
}
