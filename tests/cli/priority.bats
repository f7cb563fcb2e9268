#!/usr/bin/env bats
# sprio, sshare and sdiag: columns, filters, and the labels that monitoring reads.
bats_require_minimum_version 1.5.0

setup_file() {
    export REMUDA_STATE="$BATS_FILE_TMPDIR/state"
    unset SLURM_CONF SPRIO_FORMAT
    mkdir -p "$REMUDA_STATE"
    cat >"$REMUDA_STATE/remuda.conf" <<EOF
ClusterName=prio
PriorityWeightAge=100
PriorityWeightJobSize=1000
PriorityWeightPartition=500
PriorityWeightFairshare=2000
PriorityWeightTRES=CPU=4000
NodeName=v1 CPUs=4 RealMemory=2000 Virtual=YES
PartitionName=main Nodes=v1 Default=YES PriorityJobFactor=10
PartitionName=low Nodes=v1 PriorityJobFactor=5
EOF
    remuda up -q
    for _ in $(seq 300); do
        [ "$(sinfo -h -r -o %D | head -1)" = 1 ] && break
        sleep 0.1
    done
    export first second
    first="$(cd "$BATS_FILE_TMPDIR" && sbatch --parsable -n4 --wrap 'sleep 60')"
    for _ in $(seq 300); do
        [ "$(squeue -h -o %t -j "$first")" = R ] && break
        sleep 0.1
    done
    second="$(cd "$BATS_FILE_TMPDIR" && sbatch --parsable -n2 --nice=3 --wrap 'sleep 1')"
}

teardown_file() {
    scancel "$first" "$second" || true
    remuda down
}

@test "sprio shows the parts of waiting jobs only" {
    run sprio
    [ "$status" -eq 0 ]
    [ "$(echo "${lines[0]}" | tr -s ' ')" = " JOBID PARTITION PRIORITY SITE AGE FAIRSHARE JOBSIZE PARTITION TRES " ]
    [ "${#lines[@]}" -eq 2 ]
    run sprio -h -o "%i %J %P %T %N %F"
    [ "$output" = "$second 750 500 cpu=2000 3 2000" ]
    [ "$(sprio -h -o %Y)" -ge $((750 + 500 + 2000 + 2000 - 3)) ]
}

@test "sprio: factors, weights, filters, sorting" {
    [ "$(sprio -h -n -o '%j %p %f')" = "0.7500000 1.0000000 1.0000000" ]
    run sprio -w
    [ "$(echo "${lines[1]}" | tr -s ' ')" = " Weights 1 100 2000 1000 500 CPU=4000 " ]
    [ -z "$(sprio -h -p low)" ]
    [ "$(sprio -h -o %i "-j$second")" = "$second" ]
    [ "$(sprio -h -u "$(id -un)" -S -y -o %i)" = "$second" ]
    run ! sprio -S x
    run -0 sprio -o %Z
    [[ "$output" == *"Invalid job format specification: Z"* ]]
}

@test "sshare: the tree, and what exporters ask for" {
    run sshare
    [ "${lines[0]}" = "Account                    User  RawShares  NormShares    RawUsage  EffectvUsage  FairShare " ]
    run sshare -n -P -o account,user,fairshare
    [ "${lines[0]}" = "root||" ]
    [ "${lines[1]}" = " root|$(id -un)|1.000000" ]
    [ "$(sshare -U -n -P -o user,rawshares)" = "$(id -un)|1" ]
    sshare --json | python3 -c 'import json,sys; d=json.load(sys.stdin); assert d["shares"]["shares"][0]["name"] == "root"'
}

@test "sdiag has the labels that monitoring reads" {
    run sdiag
    for label in 'Server thread count' 'Agent queue size' 'DBD Agent queue size' 'Last cycle' 'Mean cycle' 'Cycles per minute' 'Depth Mean' 'Total backfilled jobs (since last slurm start)' 'Total backfilled heterogeneous job components'; do
        echo "$output" | grep -q "$label"
    done
    [ "$(echo "$output" | grep -c 'Mean cycle:')" -eq 2 ]
    echo "$output" | grep -q '^Jobs submitted: 2$'
    sdiag --json | python3 -c 'import json,sys; d=json.load(sys.stdin)["statistics"]; assert d["jobs_started"] == 1 and d["jobs_running"] == 1'
    # As vpenso's exporter reads them.
    echo "$output" | grep -Eq '^	REQUEST_SUBMIT_BATCH_JOB +\( 4003\) count:2 +ave_time:[0-9]+ +total_time:[0-9]+$'
    echo "$output" | grep -Eq "^	$(id -un) +\( +$(id -u)\) count:[0-9]+ +ave_time:[0-9]+ +total_time:[0-9]+\$"
    [[ "$output" == *"Remote Procedure Call statistics by message type"*"Remote Procedure Call statistics by user"*"Pending RPC statistics"* ]]
    sdiag --json | python3 -c 'import json,sys; d=json.load(sys.stdin)["statistics"]["rpcs_by_message_type"]; assert [r for r in d if r["message_type"] == "REQUEST_SUBMIT_BATCH_JOB" and r["type_id"] == 4003 and r["count"] == 2], d'
    run -0 sdiag -i
    [ "$(echo "$output" | grep -o '^	[A-Z_]* *([ 0-9]*)' | tr -d '()' | awk '{print $2}')" = "$(echo "$output" | grep -o '^	[A-Z_]* *([ 0-9]*)' | tr -d '()' | awk '{print $2}' | sort -n)" ]
    sdiag -r
    sdiag | grep -q '^Jobs submitted: 0$'
}

@test "scontrol show config tells the priority settings" {
    run scontrol show config
    for line in 'PriorityMaxAge *= 7-00:00:00' 'PriorityDecayHalfLife *= 7-00:00:00' 'PriorityCalcPeriod *= 00:05:00' 'PriorityWeightTRES *= CPU=4000' 'PreemptExemptTime *= 00:00:00' 'PriorityFavorSmall *= No'; do
        echo "$output" | grep -q "$line"
    done
}
