#!/usr/bin/env bats
# The disk of the state directory is full: as the cluster runs, as its daemons are killed and start again, as a job ends with nobody there. Nothing acknowledged is lost, what
# reads is served, and all goes on by itself when there is room. Needs to mount a small file system.
bats_require_minimum_version 1.5.0
load common

setup() {
    export DISK="$BATS_TEST_TMPDIR/disk" WORK="$BATS_TEST_TMPDIR/work"
    export REMUDA_STATE="$DISK/state"
    mkdir -p "$DISK" "$WORK"
    mount -t tmpfs -o size=16m tmpfs "$DISK" 2>/dev/null || skip "no small file system can be mounted here"
    remuda up -q --nodes 1 --cpus 2 --mem 2000 --name fulldisk 3>&-
}

teardown() {
    mountpoint -q "$DISK" || return 0
    rm -f "$DISK/fill"
    scancel -u "$(id -un)" 2>/dev/null || true
    remuda down || true
    umount -l "$DISK"
}

fill() { cat /dev/zero > "$DISK/fill" 2>/dev/null || true; }
room() { rm "$DISK/fill"; }

is() { [ "$(squeue -h -t all -j "$1" -o %T 2>/dev/null)" = "$2" ]; }
submits() { sbatch --parsable -n1 -o /dev/null --wrap true > "$WORK/submitted" 2> "$WORK/refused"; }
away() { remuda status | grep -q "trouble: the store is away: $REMUDA_STATE/remuda.db has no room"; }
shepherds_are_there() { pgrep -f "^[^ ]*remuda-shepherd $REMUDA_STATE" > /dev/null; }
shepherds_are_gone() { ! shepherds_are_there; }
log_has() { grep -q "$1" "$REMUDA_STATE/log/controller.log"; }

@test "the end of a job on a full disk, with the node daemon and the controller away, is told later; it ran once" {
    id=$(sbatch --parsable -n1 -o /dev/null --wrap "echo run >> $WORK/ran; until [ -e $WORK/go ]; do sleep 0.1; done; exit 3")
    eventually test -e "$WORK/ran"
    eventually is "$id" RUNNING
    fill
    kill -9 "$(remuda status --pid 'node[node1]')" "$(remuda status --pid controller)"
    shepherds_are_there
    touch "$WORK/go"
    eventually shepherds_are_gone
    # both start though the disk is full
    remuda up -q 3>&-
    eventually away
    is "$id" RUNNING
    room
    eventually is "$id" FAILED
    [ "$(sacct -X -n -P -j "$id" -o State,ExitCode)" = "FAILED|3:0" ]
    [ "$(grep -c run "$WORK/ran")" = 1 ]
}

@test "a controller starts on a full disk, serves what reads, refuses the rest with the reason, and goes on by itself" {
    id=$(sbatch --parsable -n1 -o /dev/null --wrap "until [ -e $WORK/go ]; do sleep 0.1; done")
    eventually is "$id" RUNNING
    for end in kill down; do
        if [ "$end" = kill ]; then kill -9 "$(remuda status --pid controller)"; else remuda down; fi
        fill
        remuda up -q 3>&-
        eventually away
        is "$id" RUNNING
        sinfo -h -N | grep -q node1
        scontrol show job "$id" | grep -q JobState=RUNNING
        scontrol show node node1 | grep -q NodeName=node1
        [ "$(sacct -X -n -P -j "$id" -o State)" = RUNNING ]
        remuda why "$id" | grep -q "is RUNNING"
        run ! submits
        grep -q "has no room (.* of 16.0 MiB are free there" "$WORK/refused"
        grep -q "goes on by itself" "$WORK/refused"
        run -1 scontrol hold "$id"
        room
        eventually submits
        eventually is "$(cat "$WORK/submitted")" COMPLETED
        log_has "the store is back"
    done
    touch "$WORK/go"
    eventually is "$id" COMPLETED
}

@test "a disk that fills under a running cluster: what was acknowledged is there afterwards, and the log says what it misses" {
    submits
    first=$(cat "$WORK/submitted")
    eventually is "$first" COMPLETED
    fill
    # one that waits may find room in the log of the store yet
    for _ in $(seq 60); do submits || break; cat "$WORK/submitted" >> "$WORK/acknowledged"; done
    grep -q "has no room" "$WORK/refused"
    eventually away
    kill -9 "$(remuda status --pid controller)"
    remuda up -q 3>&-
    room
    eventually submits
    cat "$WORK/submitted" >> "$WORK/acknowledged"
    while read -r id; do eventually is "$id" COMPLETED; done < "$WORK/acknowledged"
    log_has "the store is back"
}

# What a command asks again of the next controller is refused while its store is away: it goes on asking, else it never hears of the end, and an allocation that it holds ends.
@test "commands that hold steps and allocations over a restart on a full disk hear of their ends, however long it takes" {
    printf 'AttachGrace=3\n' >> "$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    batch=$(sbatch --parsable -n1 --mem=50 -o "$WORK/batch.out" --wrap "srun --mem=20 sh -c 'echo begun; until [ -e $WORK/go ]; do sleep 0.1; done; exit 3'; echo step \$?")
    salloc -Q -n1 --mem=50 -J held sh -c "echo \$SLURM_JOB_ID > $WORK/held; until [ -e $WORK/go ]; do sleep 0.1; done; srun --mem=20 echo inside" > "$WORK/held.out" 2>&1 3>&- &
    held=$!
    eventually grep -q begun "$WORK/batch.out"
    eventually test -s "$WORK/held"
    fill
    for end in kill down; do
        if [ "$end" = kill ]; then kill -9 "$(remuda status --pid controller)"; else remuda down; fi
        remuda up -q 3>&-
        eventually away
        sleep 6
        is "$batch" RUNNING
        is "$(cat "$WORK/held")" RUNNING
    done
    room
    eventually submits
    touch "$WORK/go"
    eventually grep -q "step 3" "$WORK/batch.out"
    eventually is "$batch" COMPLETED
    wait "$held"
    [ "$(cat "$WORK/held.out")" = inside ]
    eventually is "$(cat "$WORK/held")" COMPLETED
}

# Nothing can be written, not even who holds the lock: a sentence, at once, and nothing is changed. Afterwards all goes on.
# Else it would take and fail all that waits, faster than any other node ends a job: each was sent back six times within 0.2 s, and held.
@test "a node that has no room for any job is drained, with the reason; what waits is not held, and runs when it is resumed" {
    remuda down
    mount -t tmpfs -o size=8m,nr_inodes=16 tmpfs "$REMUDA_STATE/nodes/node1"
    remuda up -q 3>&-
    srun -Q -n1 true
    n=0
    while mkdir "$REMUDA_STATE/nodes/node1/steps/fill$n" 2>/dev/null; do n=$((n + 1)); done
    [ "$n" -gt 0 ]
    id=$(sbatch --parsable -n1 -o /dev/null --wrap "echo run >> $WORK/ran")
    eventually log_has "node node1 is drained: 3 launches failed"
    [[ "$(sinfo -h -R -o %E)" == "batch job complete failure: cannot make the step's directory on node1: No space left on device"* ]]
    is "$id" PENDING
    [[ "$(squeue -h -j "$id" -o %r)" != JobHoldMaxRequeue ]]
    rmdir "$REMUDA_STATE"/nodes/node1/steps/fill*
    scontrol update NodeName=node1 State=RESUME
    eventually is "$id" COMPLETED
    [ "$(grep -c run "$WORK/ran")" = 1 ]
    remuda down
    umount -l "$REMUDA_STATE/nodes/node1"
}

# An empty file, left by the first, would be a cluster that is there already.
@test "a cluster that is to be made on a full disk is made when there is room" {
    fill
    new="$DISK/new"
    mkdir "$new"
    run remuda up -q --state "$new" --nodes 1 --name other
    [ "$status" -eq 1 ]
    [[ "$output" == *"$new/remuda.conf: No space left on device"* ]]
    room
    remuda up -q --state "$new" --nodes 1 --name other 3>&-
    remuda down --state "$new"
}

@test "daemons on a file system that is read-only do not start, and say so; when it is not any more, nothing is lost" {
    id=$(sbatch --parsable -n1 -H -o /dev/null --wrap true)
    remuda down
    mount -o remount,ro "$DISK"
    run remuda up 3>&-
    [ "$status" != 0 ]
    [[ "$output" =~ Read-only\ file\ system|read-only ]]
    run remudad controller --state "$REMUDA_STATE" --foreground 3>&-
    [ "$status" = 1 ]
    [[ "$output" =~ "remudad controller: error: " ]]
    [[ "$output" =~ Read-only\ file\ system|read-only ]]
    run remudad node --state "$REMUDA_STATE" --name node1 --foreground 3>&-
    [ "$status" != 0 ]
    [[ "$output" =~ Read-only\ file\ system|read-only ]]
    mount -o remount,rw "$DISK"
    remuda up -q 3>&-
    is "$id" PENDING
    scontrol release "$id"
    eventually is "$id" COMPLETED
}
