# What the tests of real daemons share. `load common` at the head of a file.

# cluster OPTION…, or cluster < CONFIGURATION: the file's own cluster, made by `remuda up` with these options or of this configuration; and a
# directory to work in, $WORK.
cluster() {
    export REMUDA_STATE="$BATS_FILE_TMPDIR/state" WORK="$BATS_FILE_TMPDIR/work"
    mkdir -p "$WORK" "$REMUDA_STATE"
    [ $# -gt 0 ] || cat > "$REMUDA_STATE/remuda.conf"
    remuda up -q "$@" 3>&-
}

# state JOB: as squeue says it, a line for each element or component.
state() { squeue -h -t all -j "$1" -o %T; }

has_state() { state "$1" | grep -qx "$2"; }

# eventually COMMAND…: true within a minute. Machines that others use are slow; whoever is not waiting for that loses nothing by the patience. Who has waited for
# a second asks less often: the questions of many files at once are what slows them.
eventually() {
    local until=$((SECONDS + 60)) asked=0
    until "$@"; do
        if ((SECONDS > until)); then
            echo "never: $*"
            return 1
        fi
        sleep "0.$((asked++ < 10 ? 1 : 3))"
    done
}

# wait_state JOB STATE: the job, or an element of it, comes to that state.
wait_state() {
    eventually has_state "$1" "$2" && return 0
    scontrol show job "$1"
    squeue -a
    return 1
}

# long_rounds: how many rounds of the controller's loop took more than 100 ms of its processor, in which nobody else was heard.
long_rounds() { sdiag | awk '$1 ~ /^(200ms|500ms|1s|longer)$/ { n += $2 } END { print n + 0 }'; }

# Process $1 stands still, whoever sends it SIGCONT, until process $STILL is killed.
stands_still() {
    rm -f "$BATS_TEST_TMPDIR/still"
    python3 "$BATS_TEST_DIRNAME/stand_still.py" "$1" "$BATS_TEST_TMPDIR/still" 3>&- &
    STILL=$!
    eventually test -s "$BATS_TEST_TMPDIR/still" || skip "processes cannot be traced here"
}
