#!/usr/bin/env bats
# Output files on a file system that does not answer: whoever opens one or writes to it stays in the kernel, beyond SIGKILL. Who may stand still is the job's
# process; not the shepherd, the node's daemon, the controller or another job.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    TOP=$(mktemp -d /tmp/remuda-hung-XXXXXX)
    export WHY_NOT= TOP REMUDA_STATE="$TOP/state"
    mkdir "$REMUDA_STATE" "$TOP/files"
    python3 "$BATS_TEST_DIRNAME/hung_files.py" "$TOP/files" "$TOP/stop" >"$TOP/why_not" 2>&1 3>&- &
    echo $! >"$TOP/pid"
    eventually grep -q " $TOP/files fuse" /proc/mounts || { WHY_NOT="no file system can be made here: $(cat "$TOP/why_not")"; return 0; }
    cat >"$REMUDA_STATE/remuda.conf" <<C
ClusterName=hung
UnkillableStepTimeout=1
KillWait=1
NodeName=n[1-2] CPUs=8 RealMemory=2000 Virtual=YES
PartitionName=main Nodes=ALL Default=YES
C
    remuda up -q 3>&-
}

teardown_file() {
    kill "$(cat "$TOP/pid")" || true
    if [ -z "$WHY_NOT" ]; then
        scancel -u "$(id -un)" || true
        remuda down || true
    fi
    umount -l "$TOP/files" || true
    rm -rf "$TOP"
}

setup() {
    [ -z "$WHY_NOT" ] || skip "$WHY_NOT"
    cd "$TOP" || exit 1
}

others_run() {
    for node in n1 n2; do [ "$(timeout 60 srun -w $node -c1 --mem=10 echo runs)" = runs ]; done
    [ "$(timeout 60 sbatch --parsable -H -o /dev/null --wrap true)" ]
}
unkillable() { scontrol show node n1 | grep -q "Unkillable=.*: job $1 step $2: process .* outlives SIGKILL"; }
state_is() { sacct -n -P -X -j "$1" -o state | grep -q "^$2"; }
nobody_is_named() { [ -z "$(sinfo -h -R)" ]; }

@test "a file that tasks share is emptied once, by the first of them" {
    for more in "" "-e shared.%N" "-e errors.%t"; do
        for i in 1 2 3; do
            echo old >shared.n1
            timeout 60 srun -n8 -w n1 --mem=100 -o shared.%N $more sh -c 'echo out; echo err >&2'
            [ "$(grep -c out shared.n1)" = 8 ]
            [ "$(grep -c old shared.n1)" = 0 ]
        done
    done
    [ "$(cat errors.7)" = err ]
    timeout 60 srun -n8 -w n1 --mem=100 --open-mode=append -o shared.%N echo more
    [ "$(grep -c out shared.n1)" = 8 ]
    [ "$(grep -c more shared.n1)" = 8 ]
    # Who waits for a first that fails does not wait for ever.
    mkdir -p taken.n1
    run ! timeout 60 srun -n3 -w n1 --mem=100 -o taken.%N true
    echo "$output"
    [[ "$output" =~ "cannot open the output file".*"Is a directory" ]]
}

@test "files that cannot be opened or written to: the others run, who stands still is named, and it ends when the file system does" {
    batch=$(sbatch --parsable -w n1 --mem=10 -o files/never.1 --wrap 'echo x')
    each=$(sbatch --parsable -w n1 --mem=10 -o /dev/null --wrap "srun --mem=5 -o $TOP/files/never.%t echo x")
    shared=$(sbatch --parsable -w n1 -n2 --mem=10 -o /dev/null --wrap "srun --mem=5 -o $TOP/files/never.%N echo x")
    writes=$(sbatch --parsable -w n1 --mem=10 -o files/begun --wrap 'while :; do echo x; sleep 0.1; done')
    for id in $batch $each $shared $writes; do wait_state "$id" RUNNING; done
    others_run
    touch stop
    others_run
    scancel "$batch" "$each" "$shared" "$writes"
    eventually unkillable "$batch" batch
    eventually unkillable "$each" 0
    eventually unkillable "$shared" 0
    sinfo -h -R -o "%E|%N" | grep -q "outlives SIGKILL.*|n1$"
    remuda why "$each" | grep -q "its end waits for what cannot be ended on n1"
    others_run
    rm stop
    kill "$(cat pid)"
    for id in $batch $each $shared $writes; do eventually state_is "$id" CANCELLED; done
    eventually nobody_is_named
    others_run
}
