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

@test "a file at its limit (ulimit -f) is a failed write: a command says so, a daemon goes on" {
    pid=$(remuda status --pid 'node[n1]')
    prlimit --pid "$pid" --fsize=10:
    kill -9 "$(remuda status --pid controller)" # it has something to write to its log
    remuda up -q 3>&-
    [ "$(remuda status --pid 'node[n1]')" = "$pid" ]
    prlimit --pid "$pid" --fsize=unlimited:
    wait_state "$(sbatch --parsable -w n1 -o /dev/null --wrap true)" COMPLETED
    said="sinfo: error: cannot write all of the output: File too large 1"
    [ "$(bash -c '(ulimit -f 0; sinfo > list; echo " $?" >&2) 2>&1 | cat' | tr -d '\n')" = "$said" ] # standard error is a file here
    [ "$(bash -c '(ulimit -S -f 0; salloc -Q sh -c "sinfo > list"; echo " $?" >&2) 2>&1 | cat' | tr -d '\n')" = "$said" ]
    [ "$(srun -Q bash -c 'ulimit -f 0; head -c 10 /dev/zero > ten; echo $?')" = 153 ] # who is a program of the user's has the signal as ever
}
