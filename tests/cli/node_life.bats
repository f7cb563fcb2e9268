#!/usr/bin/env bats
# A node that comes back as another: its machine was started anew, or the directory of its daemon is gone. What it had is over in the books, nothing of it goes on beside its next run, and
# the log says which of the two it was.
bats_require_minimum_version 1.5.0
load common

setup() {
    BATS_FILE_TMPDIR="$BATS_TEST_TMPDIR"
    cluster --nodes 2 --cpus 8 --mem 2000 --name life
    cd "$WORK"
}

teardown() {
    scancel -u "$(id -un)" 2>/dev/null || true
    remuda down || true
    for pid in $(cat "$WORK"/pids 2>/dev/null); do kill -9 "$pid" 2>/dev/null || true; done
}

node_pid() { cat "$REMUDA_STATE/nodes/$1/node.pid"; }
log_has() { grep -q "$1" "$REMUDA_STATE/log/controller.log"; }
is_over() { [ "$(sacct -X -n -P -j "$1" -o State | tail -1)" = "$2" ]; }

# start_node NAME [BOOT]: its daemon, as after a boot of that name
start_node() {
    local run=(remudad node --state "$REMUDA_STATE" --name "$1" --virtual)
    if [ -n "${2:-}" ]; then
        echo "$2" > boot
        run=(unshare -m sh -c "mount --bind '$WORK/boot' /proc/sys/kernel/random/boot_id && exec \"\$@\"" sh "${run[@]}")
    fi
    (cd / && setsid "${run[@]}" > /dev/null 2>&1 < /dev/null 3>&- &)
    eventually connected "$1"
}
connected() { scontrol show node "$1" 2>/dev/null | grep -q "State=\(IDLE\|MIXED\|ALLOCATED\)" && kill -0 "$(node_pid "$1")" 2>/dev/null; }
runs_named() { [ -n "$(squeue -h -n "$1" -t R -o %A)" ]; }

# What runs and says so by the clock, and which run of the job it is.
TICKS='echo "start ${SLURM_RESTART_COUNT:-0}" >> ran; echo $$ >> pids; while sleep 0.2; do echo "${SLURM_RESTART_COUNT:-0}" >> ticks; done'

ticks_of() { grep -c "^$1$" ticks; }
ticks_again() { [ -e ticks ] && [ "$(ticks_of 1)" -gt 3 ]; }

@test "a directory that is removed while its jobs run: they are lost, run again where they may, and never beside their former run" {
    grep -q "the end of all processes" "$REMUDA_STATE/log/node-node1.log" || skip "no control groups here: nothing finds what a lost directory left"
    again=$(sbatch --parsable --requeue -w node1 -o /dev/null --wrap "$TICKS")
    once=$(sbatch --parsable --no-requeue -w node1 -o /dev/null --wrap 'echo $$ >> pids; sleep 300; echo once >> ran')
    other=$(sbatch --parsable --no-requeue -w node2 -o /dev/null --wrap 'sleep 300')
    eventually test -s ticks
    wait_state "$once" RUNNING
    remuda status | grep -q node1
    for round in 1 2; do
        kill -9 "$(node_pid node1)"
        rm -rf "$REMUDA_STATE/nodes/node1"
        start_node node1
        [ "$round" = 1 ] || continue
        eventually is_over "$once" NODE_FAIL
        eventually ticks_again
        before=$(ticks_of 0)
        sleep 2
        [ "$(ticks_of 0)" = "$before" ]
        [ "$(grep -c start ran)" = 2 ]
    done
    eventually grep -q "start 2" ran
    sleep 1
    before="$(ticks_of 0) $(ticks_of 1)"
    sleep 1
    [ "$(ticks_of 0) $(ticks_of 1)" = "$before" ]
    log_has "node node1 is not what it was: the directory of its daemon was lost or replaced"
    has_state "$other" RUNNING
    run ! grep once ran
}

@test "a machine that was started anew while the controller was away: allocations and jobs are over, what was not on it goes on" {
    unshare -m mount --bind /proc/version /proc/sys/kernel/random/boot_id 2>/dev/null || skip "no name of a boot can be made up here"
    salloc -Q -w node1 -n1 -J kept sleep 300 2> salloc.said 3>&- &
    again=$(sbatch --parsable --requeue -w node1 -o /dev/null --wrap "$TICKS")
    other=$(sbatch --parsable --no-requeue -w node2 -o /dev/null --wrap 'sleep 300')
    eventually test -s ticks
    eventually runs_named kept
    alloc=$(squeue -h -n kept -o %A)
    wait_state "$other" RUNNING
    kill -9 "$(remuda status --pid controller)" "$(node_pid node1)"
    kill -9 $(pgrep -f "^[^ ]*remuda-shepherd $REMUDA_STATE/nodes/node1") 2>/dev/null || true
    for pid in $(cat pids); do kill -9 "$pid" 2>/dev/null || true; done
    (cd / && setsid remudad controller --state "$REMUDA_STATE" > /dev/null 2>&1 < /dev/null 3>&- &)
    eventually squeue -h
    has_state "$alloc" RUNNING
    start_node node1 11111111-2222-3333-4444-555555555555
    eventually is_over "$alloc" NODE_FAIL
    log_has "node node1 is not what it was: its machine was started anew, or is another"
    eventually grep -q "start 1" ran
    has_state "$other" RUNNING
    # the same life again takes nothing away
    kill -9 "$(node_pid node1)"
    start_node node1 11111111-2222-3333-4444-555555555555
    has_state "$again" RUNNING
    [ "$(grep -c "is not what it was" "$REMUDA_STATE/log/controller.log")" = 1 ]
}

@test "a name of the directory that cannot be read takes nothing away; one that is no text is a name" {
    life="$REMUDA_STATE/nodes/node1/life"
    salloc -Q -w node1 -n1 -J kept sleep 300 2> salloc.said 3>&- &
    eventually runs_named kept
    alloc=$(squeue -h -n kept -o %A)
    cp "$life" was
    again() {
        kill -9 "$(node_pid node1)"
        cp "$1" "$life"
        start_node node1
    }
    head -c 200 /dev/zero | tr '\0' x > long # longer than any: it is not replaced
    again long
    srun -Q --jobid="$alloc" -n1 true
    cmp long "$life"
    grep -q "a directory that is lost would not be noticed: .*life is longer" "$REMUDA_STATE/log/node-node1.log"
    again was
    srun -Q --jobid="$alloc" -n1 true
    run ! log_has "is not what it was"
    printf '\377\001\n' > strange
    again strange
    eventually is_over "$alloc" NODE_FAIL
}

# Two faults at once: the machine starts anew, and its disk fails as the daemon reads what it is called. The kernel's word is enough.
@test "a machine that starts anew while the name of its directory cannot be read or written: what ran is over, once, and not beside its next run" {
    unshare -m mount --bind /proc/version /proc/sys/kernel/random/boot_id 2>/dev/null || skip "no name of a boot can be made up here"
    node_dir="$REMUDA_STATE/nodes/node1" n=0
    for fault in long missing empty; do
        n=$((n + 1))
        rm -f ran ticks
        salloc -Q -w node1 -n1 -J kept sleep 300 2> salloc.said 3>&- &
        again=$(sbatch --parsable --requeue -w node1 -o /dev/null --wrap "$TICKS")
        eventually grep -qx 0 ticks # and not what the one before wrote as it ended
        eventually runs_named kept
        alloc=$(squeue -h -n kept -o %A)
        kill -9 "$(node_pid node1)"
        kill -9 $(pgrep -f "^[^ ]*remuda-shepherd $node_dir") 2>/dev/null || true
        for pid in $(cat pids); do kill -9 "$pid" 2>/dev/null || true; done
        rm -rf "$node_dir/steps" # with what it had on memory disks
        mkdir -p "$node_dir/life.new" # nothing can be put in its place
        case "$fault" in
        long) head -c 200 /dev/zero | tr '\0' x > "$node_dir/life" ;;
        missing) rm "$node_dir/life" ;;
        empty) : > "$node_dir/life" ;;
        esac
        start_node node1 "1111111$n-2222-3333-4444-555555555555"
        eventually is_over "$alloc" NODE_FAIL
        eventually grep -q "start 1" ran
        grep -q "a directory that is lost would not be noticed" "$REMUDA_STATE/log/node-node1.log"
        log_has "node node1 is not what it was: its machine was started anew"
        eventually has_state "$again" RUNNING
        before="$(ticks_of 0)"
        sleep 1
        [ "$(ticks_of 0)" = "$before" ]
        [ "$(grep -c start ran)" = 2 ]
        # when it can be written again nothing more is lost
        kill -9 "$(node_pid node1)"
        rm -rf "$node_dir/life.new"
        start_node node1 "1111111$n-2222-3333-4444-555555555555"
        has_state "$again" RUNNING
        scancel "$again"
        eventually is_over "$again" "CANCELLED by $(id -u)"
    done
}

other_waits() { kill -0 "$1" && ! sinfo -h -N -n node1 -o %T | grep -q "idle\|mix"; }
is_heard() { remuda status | grep -q "^node1 .*pid $1 "; }

@test "two daemons of one name and a controller that starts: the one that has what runs is heard, though the other comes first" {
    mkdir -p two/nodes/node1
    ln -s "$REMUDA_STATE/controller.sock" two/controller.sock
    cp "$REMUDA_STATE/nodes/node1/life" two/nodes/node1/ # a copy is not the directory
    id=$(sbatch --parsable --no-requeue -w node1 -o /dev/null --wrap 'echo $$ >> pids; sleep 300')
    wait_state "$id" RUNNING
    first=$(node_pid node1)
    (cd / && setsid remudad node --state "$WORK/two" --name node1 --virtual > /dev/null 2>&1 < /dev/null 3>&- &)
    eventually test -s two/nodes/node1/node.pid
    second=$(cat two/nodes/node1/node.pid)
    for cut in controller daemon; do
        kill -STOP "$first"
        [ "$cut" = daemon ] || { kill -9 "$(remuda status --pid controller)"
            (cd / && setsid remudad controller --state "$REMUDA_STATE" > /dev/null 2>&1 < /dev/null 3>&- &)
            eventually squeue -h; }
        sleep 2
        other_waits "$second" || [ "$cut" = daemon ]
        kill -CONT "$first"
        eventually is_heard "$first"
        has_state "$id" RUNNING
    done
    # Gone for good: the other is heard, and what ran is over.
    kill -9 "$first"
    eventually is_heard "$second"
    eventually is_over "$id" NODE_FAIL
    kill "$second"
}
