# What the tests in a virtual machine under systemd share: a cluster of the machine itself in /var/lib/remuda, started by the units.

setup_file() {
    export TOP REMUDA_STATE=/var/lib/remuda
    TOP=$(mktemp -d /tmp/systemd-bats-XXXXXX)
    chmod 777 "$TOP"
    for unit in controller node; do
        sed 's|@BINDIR@|/vm/stage|' "$BATS_TEST_DIRNAME/../../units/remuda-$unit.service.in" >"/etc/systemd/system/remuda-$unit.service"
    done
    systemctl daemon-reload
    mkdir -p "$REMUDA_STATE/log"
    remuda up -q 3>&- # writes the configuration
    remuda down
    printf 'HeartbeatInterval=2\nKillWait=1\n' >>"$REMUDA_STATE/remuda.conf"
    systemctl start remuda-controller remuda-node
}

teardown_file() {
    scancel -u root || true
    systemctl stop remuda-node remuda-controller
    rm -rf "$TOP"
}

setup() {
    WORK="$TOP/$BATS_TEST_NUMBER"
    mkdir -m 777 "$WORK"
    cd "$WORK" || exit 1
}

eventually() {
    local until=$((SECONDS + 60))
    until "$@"; do
        ((SECONDS < until)) || return 1
        sleep 0.2
    done
}
is() { [[ $(sacct -X -n -P -o State -j "$1") == $2 ]]; }
answers() { [[ $(sinfo -h -o %t) =~ ^(idle|mix|alloc)$ ]]; }
idle() { [ "$(sinfo -h -o %t)" = idle ]; }
begun() { # begun OPTION… SCRIPT
    id=$(sbatch --parsable --no-requeue -o out -e err "${@:1:$#-1}" --wrap "echo \$\$ >pid; ${*: -1}")
    eventually test -s pid
}
