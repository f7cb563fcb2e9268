#!/usr/bin/env bats
# Output files on a file system that does not answer: whoever opens one or writes to it stays in the kernel, beyond SIGKILL. Who may stand still is the job's
# process; not the shepherd, the node's daemon, the controller or another job.
bats_require_minimum_version 1.5.0
load common

files_mount() {
    python3 "$BATS_TEST_DIRNAME/hung_files.py" "$TOP/files" "$TOP/stop" >"$TOP/why_not" 2>&1 3>&- &
    echo $! >"$TOP/pid"
    eventually grep -q " $TOP/files fuse" /proc/mounts
}

setup_file() {
    TOP=$(mktemp -d /tmp/remuda-hung-XXXXXX)
    export WHY_NOT= TOP REMUDA_STATE="$TOP/state"
    mkdir "$REMUDA_STATE" "$TOP/files"
    files_mount || { WHY_NOT="no file system can be made here: $(cat "$TOP/why_not")"; return 0; }
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
    # The test before ended it.
    kill -0 "$(cat pid)" 2>/dev/null || { umount -l files; files_mount; }
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

@test "labelled files that cannot be opened or written to: the step hears signals, its limit and scancel, and what comes out is labelled" {
    timeout 60 srun -l -n4 -w n1 --mem=100 -o labelled.%t sh -c 'seq 50000; echo err >&2'
    [ "$(sed 's/^2: //' labelled.2 | grep -v err | sha256sum)" = "$(seq 50000 | sha256sum)" ]
    # A pipe without a reader: the program begins when there is one, signals arrive until then.
    mkfifo pipe.0 pipe.1
    piped=$(sbatch --parsable -w n1 -n2 --mem=10 -o piped.out --wrap "srun -l --mem=5 -o $TOP/pipe.%t echo x; echo over \$?")
    wait_state "$piped" RUNNING
    eventually sh -c "squeue -h -s -j $piped | grep -q '$piped.0'"
    timeout 20 cat pipe.0 >read.0 3>&- &
    timeout 20 cat pipe.1 >read.1
    wait $!
    [ "$(cat read.0 read.1 | tr '\n' ,)" = "0: x,1: x," ]
    eventually grep -q "over 0" piped.out
    timed=$(sbatch --parsable -w n1 --mem=10 -o timed.out --wrap "srun -l -t 0:3 --mem=5 -o $TOP/pipe.%t sleep 60; echo over \$?")
    # One whose reader reads nothing, when the tasks are over: 10 s.
    mkfifo full.0
    sleep 600 <>full.0 3>&- &
    stuffed=$(sbatch --parsable -w n1 --mem=10 -o stuffed.out --wrap "srun -l --mem=5 -o $TOP/full.%t seq 30000; echo over \$?")
    eventually grep -q "over [1-9]" timed.out
    eventually state_is "$stuffed" COMPLETED
    kill $!
    # A file system that does not answer.
    writes=$(sbatch --parsable -w n1 --mem=10 -o traps.out --wrap "srun -l --mem=5 -o $TOP/files/traps.%t bash -c 'trap \"touch $TOP/heard\" USR1; touch $TOP/traps; while :; do echo x; sleep 0.1; done'")
    eventually test -e traps
    opens=$(sbatch --parsable -w n1 --mem=10 -o /dev/null --wrap "srun -l --mem=5 -o $TOP/files/never.l%t echo x")
    wait_state "$opens" RUNNING
    others_run
    touch stop
    others_run
    scancel -s USR1 "$writes"
    eventually test -e heard
    scancel "$opens" "$writes"
    eventually unkillable "$opens" 0
    eventually unkillable "$writes" 0
    others_run
    rm stop
    kill "$(cat pid)"
    for id in $opens $writes; do eventually state_is "$id" CANCELLED; done
    eventually nobody_is_named
    others_run
}

@test "mail about jobs whose output is on a file system that hangs: each goes without the lines, and few processes stand still" {
    jobs=$(for i in 1 2 3 4 5 6 7; do sbatch --parsable --mem=10 -o "files/mailed.$i" --wrap "echo of $i"; done)
    for id in $jobs; do eventually state_is "$id" COMPLETED; done
    touch stop
    asked=
    for id in $jobs; do
        (timeout 60 remuda report --mail "$id" >"mailed.$id"; echo "status $?" >>"mailed.$id") 3>&- &
        asked+=" $!"
    done
    wait $asked
    for id in $jobs; do
        grep -q "^status 0$" "mailed.$id"
    done
    still=$(ps -eo args | grep -c '[r]emuda report --mail')
    [ "$still" -ge 1 ]
    [ "$still" -le 4 ]
    others_run
    rm stop
    kill "$(cat pid)"
    no_reader() { ! ps -eo args | grep -q '[r]emuda report --mail'; }
    eventually no_reader
}
