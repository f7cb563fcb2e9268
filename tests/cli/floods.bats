#!/usr/bin/env bats
# While users flood the controller everything else goes on: others' jobs run and end, their steps start, operators are answered; over a restart, too. How much slower
# it is, is the bench's to say (BENCH=floods).
bats_require_minimum_version 1.5.0
load common

FLOODER=$(id -u daemon) # with names: those without have one share
SECOND=$(id -u bin)

as_nobody() { setpriv --reuid=nobody --regid=nogroup --clear-groups --reset-env env PATH="$PATH" HOME="$SHARED" REMUDA_STATE="$REMUDA_STATE" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$@"; }

setup() {
    [ "$(id -u)" = 0 ] || skip "needs root to be several users"
    SHARED=$(mktemp -d /tmp/remuda-floods-XXXXXX)
    export SHARED REMUDA_STATE="$SHARED/state"
    chmod 755 "$SHARED"
    as_nobody remuda version >/dev/null 2>&1 || skip "the programs are not readable for other users here"
    remuda up -q --nodes 1 --cpus 4 --mem 2000
    cd / || exit 1
}

teardown() {
    [ "$(id -u)" = 0 ] || return 0
    if [ -n "${STORM:-}" ]; then
        kill "$STORM" || true
        wait "$STORM" || true
    fi
    remuda down || true
    rm -rf "$SHARED"
}

storm() {
    python3 "$BATS_TEST_DIRNAME/controller_frames.py" "$REMUDA_STATE" storm "$FLOODER" "$SECOND" 3>&- &
    STORM=$!
}

# Both floods are answered: their users have asked for something since the counters were reset.
flooded() { sdiag | grep -c "^[[:space:]]*\(daemon\|bin\) *(" | grep -qx 2; }

@test "two users flood: a job of another runs, its step starts, it ends; an operator is answered; over a restart, too" {
    storm
    eventually flooded
    as_nobody sbatch -W -o /dev/null --wrap 'srun true'
    scontrol ping
    run sdiag
    [[ "$output" =~ "Longest round:" ]]
    kill -9 "$(remuda status --pid controller)"
    remuda up -q
    eventually flooded
    as_nobody sbatch -W -o /dev/null --wrap 'srun true'
    as_nobody srun true
}
