#!/usr/bin/env bats
# Jobs of scrontab by the real clock: two minutes begin.
bats_require_minimum_version 1.5.0
load ../cli/common

setup() {
    cluster --nodes 1 --cpus 2
    cd "$WORK"
}

teardown() { remuda down; }

lines() { [ "$(wc -l < runs 2>/dev/null)" -ge "$1" ]; }
patiently() { eventually "$@" || eventually "$@" || eventually "$@"; }

@test "an entry runs when its minute begins, and again with the next; kill -9 between" {
    cat > table <<EOF
DIR=$WORK
#SCRON -D $WORK -o out.%j --open-mode=append -t 1
* * * * * date +%s >> \$DIR/runs; echo run \$SLURM_JOB_ID in \$PWD
EOF
    scrontab table
    id=$(squeue -h -o %i)
    patiently lines 1
    wait_state "$id" PENDING
    kill -9 "$(cat "$REMUDA_STATE/controller.pid")"
    remuda up -q 3>&-
    patiently lines 2
    wait_state "$id" PENDING
    # on the minute, or later; never twice in one
    [ "$(while read -r at; do echo $((at / 60)); done < runs | sort -u | wc -l)" = "$(wc -l < runs)" ]
    grep -qx "run $id in $WORK" "out.$id"
    [ "$(sacct -D -n -X -j "$id" -o State | grep -c COMPLETED)" -ge 2 ]
    [ "$(scontrol show job "$id" | grep -oE 'Restarts=[0-9]+')" != Restarts=0 ]
    scrontab -r
    wait_state "$id" CANCELLED
}
