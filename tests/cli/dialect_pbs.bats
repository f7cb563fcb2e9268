#!/usr/bin/env bats
# Programs that submit to PBS Pro and Torque, replayed: their command lines and their parsers (dialect_pbs.py), from the submission to the end, against
# real daemons.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<'CONF'
ClusterName=clients
KillWait=1
NodeName=n[1-2] CPUs=16 RealMemory=64000 Gres=gpu:2 Virtual=YES
PartitionName=workq Nodes=n[1-2] Default=YES MaxTime=1-00:00:00
CONF
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

replay() {
    mkdir -p "$WORK/$1"
    cd "$WORK/$1" || exit 1
    PYTHONDONTWRITEBYTECODE=1 python3 "$BATS_TEST_DIRNAME/dialect_pbs.py" "$1"
}

# Which flavour it is, the commands read with each call.
torque() {
    sed -i '/^PbsFlavour/d' "$REMUDA_STATE/remuda.conf"
    sed -i '1i PbsFlavour=torque' "$REMUDA_STATE/remuda.conf"
}

teardown() {
    sed -i '/^PbsFlavour/d' "$REMUDA_STATE/remuda.conf"
    scancel -u "$(id -un)" || true
    eventually sh -c '[ -z "$(squeue -h)" ]'
}

@test "nextflow for PBS Pro: qstat -f of the server that qstat -B names, an array, qdel" { replay nextflow_pro; }
@test "PSI/J for PBS Pro: JSON with history, the name with its sign, refusals" { replay psij_pro; }
@test "parsl for PBS Pro" { replay parsl_pro; }
@test "dask-jobqueue for PBS: files in directories" { replay dask; }
@test "Open OnDemand for PBS Pro: elements, holds, nodes, words of what has ended" { replay ondemand; }
@test "ReFrame for PBS Pro: statuses 35 and 153, then -x" { replay reframe; }
@test "batchspawner for PBS" { replay batchspawner; }
@test "AiiDA for PBS Pro" { replay aiida; }
@test "what all meet: ids that are not there, deleted while it waits, elements that end differently" { replay ends; }
@test "Torque: nextflow's array" { torque; replay torque_nextflow; }
@test "Torque: snakemake's profile reads XML" { torque; replay torque_snakemake; }
@test "Torque: parsl reads columns" { torque; replay torque_parsl; }
@test "Torque: batchspawner reads XML" { torque; replay torque_batchspawner; }
@test "Torque: PSI/J reads JSON there, too" { torque; replay torque_psij; }
