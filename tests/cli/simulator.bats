#!/usr/bin/env bats
# remuda-sim on a real cluster: its live queue through squeue and its own configuration, and its accounting through sacct.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<'END'
ClusterName=sim
NodeName=n[1-2] CPUs=2 RealMemory=1000 Gres=gpu:v100:1 Virtual=YES
PartitionName=debug Nodes=ALL Default=YES MaxTime=4:00:00
END
    for _ in $(seq 300); do
        [ "$(sinfo -h -o %D -t idle)" = 2 ] && break
        sleep 0.1
    done
    cd "$BATS_FILE_TMPDIR"
    long=$(sbatch --parsable -n 2 -N 1 -t 60 --mem 100 --wrap 'sleep 300')
    short=$(sbatch --parsable -n 1 -N 1 -t 10 --mem 100 --gpus-per-node 1 --wrap 'true')
    sbatch -N 2 --ntasks 4 -t 30 --mem 100 --wrap 'true' >/dev/null
    sbatch --array 1-2 -n 1 -t 5 -H --wrap 'true' >/dev/null
    export long short
    for _ in $(seq 300); do
        [ "$(squeue -h -j "$long" -o %T)" = RUNNING ] && [ -z "$(squeue -h -j "$short" -o %T)" ] && break
        sleep 0.1
    done
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

@test "when would everything start" {
    run -0 remuda-sim run --from-live
    [[ "$output" == *"2 jobs on 4 CPUs and 2 GPUs; left out: 2 held"* ]]
    [[ "$(grep '^  3 ' <<<"$output")" =~ 3\ +$(id -un)\ +debug\ +4\ +2\ +30:00\ .*\ (59:[0-9]+|1:00:00)$ ]]
}

@test "with another configuration" {
    sed 's/n\[1-2\]/n[1-3]/' "$REMUDA_STATE/remuda.conf" > "$BATS_TEST_TMPDIR/larger.conf"
    run -0 remuda-sim compare --from-live --b "$BATS_TEST_TMPDIR/larger.conf" --config "$REMUDA_STATE/remuda.conf"
    [[ "$(grep '^  3 ' <<<"$output")" =~ \ -(59:[0-9]+|1:00:00)$ ]]
}

@test "the cluster's accounting, with dates and with seconds" {
    columns=JobID,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,ReqCPUS,ReqNodes,ReqMem,ReqTRES,User,Account,Partition,State
    SLURM_TIME_FORMAT=%s sacct -aXP -S today --format=$columns > seconds
    sacct -aXP -S today --format=$columns > dates
    sed 's/|0|10|/|7|10|/' -i seconds dates # `true` may take no second
    run -0 remuda-sim run --untimed --from-sacct seconds --config "$REMUDA_STATE/remuda.conf" --json
    with_seconds=$output
    [[ "$output" == *'"jobs": 1, '*'"still": '[1-9]* ]]
    run -0 remuda-sim run --untimed --from-sacct dates --config "$REMUDA_STATE/remuda.conf" --json
    [ "${output/dates/seconds}" = "$with_seconds" ]
}
