#!/usr/bin/env bats
# kill -9 of the controller, of node daemons, of both, dozens of times under load: then the books are checked. No acknowledged submission is lost, no job runs
# twice, running jobs go on and their results arrive.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    export REMUDA_STATE="$BATS_FILE_TMPDIR/state" WORK="$BATS_FILE_TMPDIR/work"
    mkdir -p "$WORK"
    remuda up -q --nodes 2 --cpus 8 --mem 4000 --name crashtest
    cat > "$WORK/job.sh" <<'END'
#!/bin/bash
# Each start leaves a line that no other start can leave: a second one would show.
echo "$SLURM_JOB_ID $SLURM_RESTART_COUNT" >> "$WORK/started"
sleep 0.$((RANDOM % 4))
echo "$SLURM_JOB_ID" >> "$WORK/ended"
END
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

kill9() {
    local pid
    pid=$(remuda status --pid "$1" 2>/dev/null) || return 0
    kill -9 "$pid" 2>/dev/null || true
}

# Submits until told to stop; an acknowledged id goes to the list, a failure is tried again with the next.
submitter() {
    local id
    while [ ! -e "$WORK/stop" ]; do
        if id=$(sbatch --parsable --export=ALL --mem=10 -o /dev/null "$WORK/job.sh" 2>/dev/null); then echo "$id" >> "$WORK/acknowledged"; fi
        sleep 0.02
    done
}

all_over() {
    for _ in $(seq 600); do
        [ -z "$(squeue -h 2>/dev/null)" ] && return 0
        sleep 0.1
    done
    squeue
    return 1
}

@test "two dozen kills under load, then every acknowledged job ended exactly once" {
    submitter 3>&- &
    local submitter=$!
    for i in $(seq 24); do
        sleep 0.15
        case $((i % 4)) in
        0) kill9 controller ;;
        1) kill9 "node[node1]" ;;
        2) kill9 "node[node2]"; kill9 controller ;;
        3) kill9 "node[node1]"; kill9 "node[node2]"; kill9 controller ;;
        esac
        remuda up -q 3>&-
    done
    eventually eval '[ "$(wc -l < "$WORK/acknowledged")" -gt 40 ]'
    touch "$WORK/stop"
    wait "$submitter"
    all_over

    local acknowledged
    acknowledged=$(wc -l < "$WORK/acknowledged")
    echo "acknowledged: $acknowledged"
    # none is lost, and each has one row, COMPLETED
    sacct -X -n -P -a -S 1970-01-01 -o JobIDRaw,State | sort -n > "$WORK/books"
    sort -n "$WORK/acknowledged" | while read -r id; do
        [ "$(grep -c "^$id|" "$WORK/books")" = 1 ] || { echo "job $id: $(grep "^$id|" "$WORK/books")"; exit 1; }
    done
    run -0 bash -c "cut -d'|' -f2 '$WORK/books' | sort | uniq -c"
    echo "$output"
    [ -z "$(grep -v '|COMPLETED$' "$WORK/books")" ]
    # none started twice, none ended twice
    [ -z "$(sort "$WORK/started" | uniq -d)" ]
    [ -z "$(sort "$WORK/ended" | uniq -d)" ]
    [ "$(wc -l < "$WORK/books")" = "$(wc -l < "$WORK/ended")" ]
}

@test "a job runs on while controller and node daemon are away, and its result arrives" {
    id=$(sbatch --parsable -o "$WORK/long.out" --wrap 'echo begun; until [ -e "$WORK/away" ]; do sleep 0.1; done; echo done; exit 7')
    eventually grep -qs begun "$WORK/long.out"
    kill9 controller
    kill9 "node[node1]"
    kill9 "node[node2]"
    touch "$WORK/away"
    eventually grep -q done "$WORK/long.out"
    [ "$(cat "$WORK/long.out")" = $'begun\ndone' ]
    remuda up -q 3>&-
    all_over
    [ "$(sacct -n -P -X -j "$id" -o State,ExitCode)" = "FAILED|7:0" ]
}

@test "down and up lose nothing: what waits still waits, what runs runs on" {
    held=$(sbatch --parsable -H -o /dev/null --wrap true)
    running=$(sbatch --parsable -o /dev/null --wrap 'until [ -e "$WORK/seen" ]; do sleep 0.1; done')
    wait_state "$running" RUNNING
    remuda down
    run remuda status
    [ "$status" -eq 1 ]
    run ! squeue
    remuda up -q 3>&-
    [ "$(squeue -h -j "$held" -o '%T %r')" = "PENDING JobHeldUser" ]
    [ "$(squeue -h -j "$running" -o %T)" = RUNNING ]
    touch "$WORK/seen"
    scontrol release "$held"
    all_over
    [ "$(sacct -n -P -X -j "$held,$running" -o State | sort -u)" = COMPLETED ]
}

@test "a daemon that ends by a fault of its own says so in its log" {
    local role log pid
    for role in controller "node[$(sinfo -h -N -o %N | head -1)]"; do
        log="$REMUDA_STATE/log/$(echo "$role" | tr '[' - | tr -d ']').log"
        pid=$(remuda status --pid "$role")
        kill -ABRT "$pid"
        for _ in $(seq 300); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
        tail -1 "$log" | grep -qx "error: remudad ${role%%[*} is ended by SIGABRT"
        remuda up -q 3>&-
    done
    srun -Q -n1 true
}

@test "a shepherd that is killed takes its job along: reported, not run again" {
    id=$(sbatch --parsable --no-requeue -o /dev/null --wrap 'sleep 60.75')
    eventually pgrep -f "^sleep 60.75$"
    child=$(pgrep -f "^sleep 60.75$" | tail -1)
    shepherd=$(ps -o ppid= -p "$(ps -o ppid= -p "$child" | tr -d ' ')" | tr -d ' ')
    kill -9 "$shepherd"
    all_over
    [ "$(sacct -n -P -X -j "$id" -o State)" = NODE_FAIL ]
    dead() { ! kill -0 "$child" 2>/dev/null; }
    eventually dead
}

# Its output is a pipe that nobody reads: the script has not begun. As with Slurm's stepd.
@test "a shepherd that is killed before its job begins: NODE_FAIL where it may not run again" {
    mkfifo "$BATS_TEST_TMPDIR/pipe"
    id=$(sbatch --parsable --no-requeue -o "$BATS_TEST_TMPDIR/pipe" --wrap true)
    begun() { grep -qs . "$REMUDA_STATE"/nodes/*/steps/"$id".1.batch/state; }
    eventually begun
    # Of this cluster: other clusters of the machine have jobs of that number, too.
    read -r _ job _ _ shepherd _ < <(tr '\0' '\n' < "$(echo "$REMUDA_STATE"/nodes/*/steps/"$id".1.batch/state)")
    [ "$job" = "$id" ]
    kill -9 "$shepherd"
    all_over
    [ "$(sacct -n -P -X -j "$id" -o State)" = NODE_FAIL ]
}

# A command line that must not fail, however often the controller does.
must() {
    local said
    said=$("$@" 2>&1) || echo "$?: $*: $said" >> "$WORK/failed"
}

@test "no command fails because the controller is killed and started again meanwhile" {
    : > "$WORK/failed"
    printf '#!/bin/bash\nfor i in 1 2 3; do srun -Q --mem=10 true || echo "srun in $SLURM_JOB_ID: $?" >> "%s/failed"; done\n' "$WORK" > "$WORK/steps.sh"
    (until [ -e "$WORK/halt" ]; do must sbatch -J steps -n1 --mem=20 -o /dev/null "$WORK/steps.sh"; done) 3>&- &
    (until [ -e "$WORK/halt" ]; do must squeue; must sinfo -N; must sacct; done) 3>&- &
    (until [ -e "$WORK/halt" ]; do must srun -n1 --mem=10 true; done) 3>&- &
    (until [ -e "$WORK/halt" ]; do
        id=$(sbatch --parsable -J gone -n1 --mem=10 -o /dev/null --wrap 'sleep 60' 2>> "$WORK/failed") || echo sbatch >> "$WORK/failed"
        must scancel "$id"
    done) 3>&- &
    for _ in $(seq 12); do
        sleep 0.4
        kill9 controller
        remuda up -q 3>&-
    done
    touch "$WORK/halt"
    wait
    cat "$WORK/failed"
    [ ! -s "$WORK/failed" ]
    all_over
    run -0 bash -c "sacct -X -n -P -a -S 1970-01-01 --name=steps,true,gone -o JobName,State | sort | uniq -c"
    echo "$output"
    [[ ! "$output" =~ FAILED|NODE_FAIL ]]
}

@test "a cluster that was taken down is not waited for" {
    remuda down
    run -1 timeout 8 squeue
    [[ "$output" =~ "controller not running" ]]
    remuda up -q 3>&-
    squeue
}

# Everything of this cluster on this machine: daemons, shepherds, and all that descends from them.
everything() {
    local pids
    pids=$(pgrep -f "^[^ ]*remudad? .*$REMUDA_STATE|^[^ ]*remuda-shepherd $REMUDA_STATE" | tr '\n' ' ')
    while [ -n "$pids" ]; do
        echo "$pids"
        pids=$(pgrep -P "$(tr ' ' ',' <<< "${pids% }")" | tr '\n' ' ')
    done
}

power_fails() {
    local victims
    victims=$(everything)
    [ -n "$victims" ]
    # shellcheck disable=SC2086
    kill -9 $victims 2>/dev/null || true
    remuda up -q 3>&-
}

running() { [ "$(squeue -h -j "$1" -o %T | sort -u)" = RUNNING ]; }
ended() { [ -z "$(squeue -h -j "$1")" ]; }

@test "after a power failure, with no process left, jobs run again; one that may not ends NODE_FAIL, and both say why" {
    again=$(sbatch --parsable -o "$WORK/again.out" --open-mode=append --wrap 'echo "run $SLURM_RESTART_COUNT"; [ -n "$SLURM_RESTART_COUNT" ] || sleep 300')
    tasks=$(sbatch --parsable --array=1-2 -o /dev/null --wrap '[ -n "$SLURM_RESTART_COUNT" ] || sleep 300')
    once=$(sbatch --parsable --no-requeue -o /dev/null --wrap 'sleep 300')
    eventually running "$again,$tasks,$once"
    eventually grep -q run "$WORK/again.out"
    power_fails
    eventually ended "$again,$tasks,$once"
    [ "$(sacct -n -P -X -D -j "$again" -o State)" = $'NODE_FAIL\nCOMPLETED' ]
    [ "$(sacct -n -P -X -j "$again,$tasks" -o State | sort -u)" = COMPLETED ]
    [ "$(sacct -n -P -X -j "$once" -o State)" = NODE_FAIL ]
    [ "$(tail -1 "$WORK/again.out")" = "run 1" ]
    [[ "$(scontrol show job "$once")" == *"were lost: the machine went down, or remuda-shepherd was killed"* ]]
}

parent_of() { pgrep -o -f "remuda-shepherd $REMUDA_STATE/nodes/$1\$"; }
runs_step() { squeue -h -s -n "$1" -o %i | grep -q '\.0$'; }

@test "tasks whose launch was lost with controller, node daemon and the shepherds' parent are launched again, once" {
    parent=$(parent_of node1)
    stands_still "$parent"
    srun -w node1 -n2 -J unbegun sh -c 'echo "$SLURM_PROCID" >> "$WORK/unbegun"' 2> "$WORK/unbegun.err" 3>&- &
    local srun=$!
    eventually runs_step unbegun
    kill9 controller
    kill9 "node[node1]"
    kill -9 "$parent"
    kill "$STILL"
    remuda up -q 3>&-
    for _ in $(seq 600); do kill -0 "$srun" 2>/dev/null || break; sleep 0.1; done
    wait "$srun" || { cat "$WORK/unbegun.err"; return 1; }
    [ "$(sort "$WORK/unbegun")" = $'0\n1' ]
    [ "$(sacct -n -P -X --name=unbegun -o State)" = COMPLETED ]
}

@test "a job whose shepherd alone is killed runs again" {
    id=$(sbatch --parsable -o /dev/null --wrap '[ -n "$SLURM_RESTART_COUNT" ] || sleep 60.85')
    eventually pgrep -f "^sleep 60.85$"
    child=$(pgrep -f "^sleep 60.85$" | tail -1)
    shepherd=$(ps -o ppid= -p "$(ps -o ppid= -p "$child" | tr -d ' ')" | tr -d ' ')
    kill -9 "$shepherd"
    eventually ended "$id"
    [ "$(sacct -n -P -X -D -j "$id" -o State)" = $'NODE_FAIL\nCOMPLETED' ]
    dead() { ! kill -0 "$child" 2>/dev/null; }
    eventually dead
}

@test "an srun whose cluster was taken down ends with SIGTERM, and its tasks with it; one that waits, too" {
    srun sleep 61.75 2> "$WORK/runs.err" &
    local runs=$!
    srun --begin=now+1hour sleep 61.76 2> "$WORK/waits.err" &
    local waits=$! status=0
    eventually pgrep -f "^sleep 61.75$"
    eventually grep -q "queued and waiting" "$WORK/waits.err"
    run -0 remuda down -q
    [ -z "$output" ]
    sleep 1
    kill -TERM "$runs" "$waits"
    over() { ! kill -0 "$1" 2>/dev/null; }
    eventually over "$runs"
    eventually over "$waits"
    wait "$runs" || status=$?
    [ "$status" = 137 ] || [ "$status" = 143 ]
    grep -q "the controller is away: it ends the job when it is back" "$WORK/runs.err"
    none() { ! pgrep -f "^sleep 61.75$"; }
    eventually none
    # How long allocations wait for those who had them: as long as eventually does, if it is not said.
    echo "AttachGrace=2" >> "$REMUDA_STATE/remuda.conf"
    remuda up -q 3>&-
    gone() { [ -z "$(squeue -h -n sleep -o %i)" ]; }
    eventually gone
    sed -i '/^AttachGrace/d' "$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
}

@test "a controller that dies while up waits for a node is started again" {
    node=$(remuda status --pid "$(sinfo -h -N -o 'node[%N]' | head -1)")
    kill -STOP "$node"
    kill9 controller
    remuda up -q 3>&- &
    up=$!
    squeue -h # answered by the next one
    sleep 0.2
    kill9 controller
    kill -CONT "$node"
    wait "$up"
    srun -Q -n1 true
}

# Of four that begin at the same moment one starts each daemon; the others find it there, and have nothing to say of it.
@test "who brings a cluster up while another does finds it up" {
    local one pid
    for one in down down nodes nodes nodes all; do
        case $one in
        down) remuda down ;;
        nodes) pkill -9 -f "remudad node --state $REMUDA_STATE" ;;
        all) pkill -9 -f "remudad [a-z]* --state $REMUDA_STATE" ;;
        esac
        for pid in 1 2 3 4; do remuda up -q 2>> "$WORK/up.err" 3>&- & done
        for pid in $(jobs -p); do wait "$pid" || echo "one failed" >> "$WORK/up.err"; done
        cat "$WORK/up.err"
        [ ! -s "$WORK/up.err" ]
        [ "$(pgrep -fc "remudad controller --state $REMUDA_STATE")" = 1 ]
        [ "$(pgrep -fc "remudad node --state $REMUDA_STATE")" = 2 ]
        [ "$(sinfo -h -N -t idle,mix -o %N | sort -u | wc -l)" = 2 ]
    done
}

@test "who has no descriptors says so: daemons as they start, and who asks whether one answers" {
    local own="$BATS_TEST_TMPDIR/own" n log
    mkdir -p "$own"
    printf 'NodeName=n1 CPUs=1 RealMemory=100\nPartitionName=main Nodes=ALL Default=YES\n' >"$own/remuda.conf"
    for n in 8 12 16 20 24; do
        run bash -c "ulimit -n $n; exec remuda up -q --state '$own' 3>&-"
        [ "$status" = 0 ] || [[ "${output,,}" == *"too many open files"* ]]
        remuda down -q --state "$own" || true
    done
    for log in "$own"/log/*.log; do ! grep -q SIGABRT "$log" || false; done
    cat >"$BATS_TEST_TMPDIR/none.c" <<'END'
#include <errno.h>
int socket(int a, int b, int c) { (void)a, (void)b, (void)c; return errno = EMFILE, -1; }
END
    cc -shared -fPIC -o "$BATS_TEST_TMPDIR/none.so" "$BATS_TEST_TMPDIR/none.c"
    run -1 env ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" LD_PRELOAD="$BATS_TEST_TMPDIR/none.so" scontrol ping
    [ "$output" = "scontrol: error: cannot read whether the controller answers: Too many open files" ]
}
