# What the tests of GPUs share: a cluster in $TOP whose jobs see device files, or $WHY_NOT, the reason they are skipped.

# Last in setup_file, once $TOP/seen, which jobs run, is written.
devices_up() {
    chmod 755 "$TOP/seen"
    remuda up -q 3>&-
    grep -q "devices of other jobs are not hidden" "$REMUDA_STATE"/log/node-*.log && WHY_NOT="no devices control group can be written here"
    return 0
}

teardown_file() {
    [ -n "${TOP:-}" ] || return 0
    scancel -u root || true
    remuda down || true
    rm -rf "$TOP"
}

setup() {
    [ -z "$WHY_NOT" ] || skip "$WHY_NOT"
    cd "$TOP" || exit 1
}

over() {
    for _ in $(seq 300); do [ -z "$(squeue -h -j "$1" 2>/dev/null)" ] && return 0; sleep 0.1; done
    squeue
    return 1
}

# until_true COMMAND…: within half a minute
until_true() {
    for _ in $(seq 300); do "$@" && return 0; sleep 0.1; done
    scontrol show node; tail -n 5 "$REMUDA_STATE"/log/*.log
    return 1
}

# The same within a minute: of what is looked at only every ten seconds.
until_late() {
    until_true "$@" >/dev/null 2>&1 || until_true "$@"
}

shows() { scontrol show node | grep -qE "$1"; }
shows_not() { ! scontrol show node | grep -qE "$1"; }

# searches: how often devices were looked for anew, and found as before; found_anew N: once more than N times
searches() { grep -c "looked for anew" "$REMUDA_STATE"/log/node-*.log || true; }
found_anew() { [ "$(searches)" -gt "$1" ]; }

# and_found COMMAND…, which has the devices looked for: until they are found, so that the search does not meet what comes next.
and_found() {
    local n
    n=$(searches)
    "$@"
    until_true found_anew "$n"
}
