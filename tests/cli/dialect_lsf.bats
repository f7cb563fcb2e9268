#!/usr/bin/env bats
# Programs that submit to LSF, replayed: their command lines and their parsers (dialect_lsf.py), from the submission to the end, against real daemons.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<'CONF'
ClusterName=clients
KillWait=1
NodeName=n[1-2] CPUs=16 RealMemory=64000 Gres=gpu:2 Virtual=YES
PartitionName=hpc Nodes=n[1-2] Default=YES MaxTime=1-00:00:00
CONF
    export XDG_CACHE_HOME="$BATS_FILE_TMPDIR/cache"
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

replay() {
    mkdir -p "$WORK/$1"
    cd "$WORK/$1" || exit 1
    PYTHONDONTWRITEBYTECODE=1 python3 "$BATS_TEST_DIRNAME/dialect_lsf.py" "$1"
}

teardown() { scancel -u "$(id -un)" || true; }

@test "nextflow: its script's options, bjobs -w by its headings, an array, bkill" { replay nextflow; }
@test "snakemake's profile: the state word, the report, bkill" { replay snakemake; }
@test "snakemake's executor for LSF: badmin, lsclusters, bjobs -aJ, bhist" { replay snakemake_plugin; }
@test "parsl: id and state in pairs; what is missing has ended" { replay parsl; }
@test "dask-jobqueue: the first digits of the answer" { replay dask; }
@test "Open OnDemand: fifteen headings, names with blanks, held jobs, arrays" { replay ondemand; }
@test "PSI/J: JSON by id, and the words of refusals" { replay psij; }
@test "ReFrame: whole hosts, a format of its own" { replay reframe; }
@test "batchspawner: remarks behind options, state and host" { replay batchspawner; }
@test "AiiDA: columns with a delimiter, dates" { replay aiida; }
@test "what all meet: ids that are not there, killed while it waits, elements that end differently" { replay ends; }
@test "TorchX: GPUs of hosts, one job after another has started" { replay torchx; }
