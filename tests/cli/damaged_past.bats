#!/usr/bin/env bats
# Pages of the store that only the past is read from are damaged: the cluster starts and works, and whoever asks for what stood there is told that it is damaged and what to do. Nobody takes
# what cannot be read for what is not there.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<X
ClusterName=damagedpast
MinJobAge=2
NodeName=node1 CPUs=4 RealMemory=2000 Virtual=YES State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED State=UP
X
    local long
    long=$(printf 'x%.0s' $(seq 300))
    for _ in $(seq 30); do sbatch -Q --parsable -n1 --mem=10 -o /dev/null -J "$long" --wrap "srun -n1 true" > "$WORK/last"; done
    eventually nothing_is_there
    [ "$(sacct -n -X -S 2020-01-01 -o jobid | wc -l)" = 30 ]
    remuda down
    cp "$REMUDA_STATE/remuda.db" "$WORK/whole.db"
    cp "$REMUDA_STATE/given" "$WORK/given"
}

teardown_file() { remuda down || true; }
nothing_is_there() { [ -z "$(squeue -h -t all)" ]; }

# begin_with TABLE HOW: of a leaf in the middle of its tree: noise, or nothing.
begin_with() {
    remuda down || true
    cp "$WORK/whole.db" "$REMUDA_STATE/remuda.db"
    cp "$WORK/given" "$REMUDA_STATE/given"
    rm -f "$REMUDA_STATE"/remuda.db-*
    : > "$REMUDA_STATE/log/controller.log"
    python3 - "$REMUDA_STATE/remuda.db" "$1" "$2" <<'X'
import os, sqlite3, struct, sys
path, table, how = sys.argv[1:]
page = sqlite3.connect(path).execute("select rootpage from sqlite_master where name=?", (table,)).fetchone()[0]
with open(path, "r+b") as f:
    size = 4096
    f.seek((page - 1) * size)
    root = f.read(size)
    if root[0] in (5, 2):  # of two levels: a child in the middle
        n = struct.unpack(">H", root[3:5])[0]
        cell = struct.unpack(">H", root[12 + 2 * (n // 2):14 + 2 * (n // 2)])[0]
        page = struct.unpack(">I", root[cell:cell + 4])[0]
    f.seek((page - 1) * size)
    f.write(os.urandom(size) if how == "noise" else bytes(size))
X
    remuda up -q 3>&-
}

# Nothing in its output, a sentence in its errors, and it has failed.
says_damaged() {
    run --separate-stderr "$@"
    echo "$*: $status: $output: $stderr"
    [ "$status" != 0 ]
    [ -z "$(grep -E '^ *[0-9]' <<< "$output")" ]
    [[ "$stderr" == *"remuda.db is damaged"*"remuda repair"* ]]
    [[ "$stderr" != *"Unable to write"* ]]
    [[ "$stderr" != *"there is no job"* ]]
}

who_runs_it_is_told() {
    grep -q "error: the past cannot be read: .*remuda.db is damaged" "$REMUDA_STATE/log/controller.log"
    [ "$(grep -c "the past cannot be read" "$REMUDA_STATE/log/controller.log")" = 1 ]
    remuda status | grep -q "trouble: the past cannot be read: .*remuda repair"
}

@test "jobs: sacct, seff, remuda why, logs and report say so, the controller's log once, and work goes on" {
    for how in noise nothing; do
        begin_with job "$how"
        run ! grep -q "the past cannot be read" "$REMUDA_STATE/log/controller.log"
        says_damaged sacct -n -X -S 2020-01-01 -o jobid
        says_damaged sacct -n -S 2020-01-01 -o jobid,state
        for lost in $(seq 30); do run sacct -n -j "$lost"; [ "$status" = 0 ] || break; done
        [ "$status" != 0 ]
        says_damaged sacct -n -j "$lost"
        says_damaged remuda why "$lost"
        says_damaged remuda logs "$lost"
        says_damaged seff "$lost"
        who_runs_it_is_told
        id=$(sbatch --parsable -n1 --mem=10 -o /dev/null --wrap true)
        eventually ended "$id"
    done
}
ended() { [ "$(sacct -X -n -P -j "$1" -o State)" = COMPLETED ]; }

@test "steps: sacct shows no job without them" {
    for how in noise nothing; do
        begin_with step "$how"
        says_damaged sacct -n -S 2020-01-01 -o jobid
        who_runs_it_is_told
        # who asks for none is told all
        [ "$(sacct -n -X -S 2020-01-01 -o jobid | wc -l)" = 30 ]
    done
}

@test "sums and transactions: sreport and sacctmgr say so" {
    begin_with account_transaction noise
    says_damaged sacctmgr -n show transaction
    begin_with used noise
    says_damaged sreport -n -P user top start=2020-01-01
}

@test "remuda repair makes it whole but for what stood there" {
    begin_with job noise
    remuda down
    remuda repair
    remuda up -q 3>&-
    [ "$(sacct -n -X -S 2020-01-01 -o jobid | wc -l)" -ge 15 ]
    run ! grep -q "trouble: the past" <<< "$(remuda status)"
}
