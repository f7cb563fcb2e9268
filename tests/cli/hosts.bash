# What the hosts*.bats have in common: other machines, which are network namespaces with a veth between them and host names of their own. What is made here is
# removed here; nothing leaves this machine. Each file has a head with a cluster of its own, and a machine beside it that joins (far).
bats_require_minimum_version 1.5.0

NS1="rm$$a"
NS2="rm$$b"

# in NAMESPACE HOSTNAME COMMAND…: on that machine. Each has its own abstract sockets, network and host name.
on() {
    local ns=$1 name=$2
    shift 2
    ip netns exec "$ns" unshare --uts sh -c 'hostname "$0"; exec "$@"' "$name" "$@" 3>&-
}
head1() { on "$HEAD_NS" head env REMUDA_STATE="$SHARED/head" "$@"; }
far1() { on "$FAR_NS" far env REMUDA_STATE="$SHARED/far" "$@"; }

can_namespaces() {
    [ "$(id -u)" = 0 ] || { echo "needs root to make network namespaces"; return 1; }
    command -v ip >/dev/null || { echo "needs iproute2"; return 1; }
    ip netns add "$1" 2>/dev/null || { echo "network namespaces cannot be made here"; return 1; }
    ip netns del "$1"
}

setup_file() {
    export HEAD_NS="$NS1" FAR_NS="$NS2" WHY_NOT=
    WHY_NOT=$(can_namespaces "$NS1") || { export WHY_NOT; return 0; }
    SHARED=$(mktemp -d /tmp/remuda-hosts-XXXXXX)
    export SHARED
    chmod 755 "$SHARED"
    mkdir -m 777 "$SHARED/home"
    ip netns add "$HEAD_NS"
    ip netns add "$FAR_NS"
    ip link add "$HEAD_NS" netns "$HEAD_NS" type veth peer name "$FAR_NS" netns "$FAR_NS"
    ip -n "$HEAD_NS" addr add 10.99.0.1/24 dev "$HEAD_NS"
    ip -n "$FAR_NS" addr add 10.99.0.2/24 dev "$FAR_NS"
    for ns in "$HEAD_NS" "$FAR_NS"; do
        ip -n "$ns" link set lo up
        ip -n "$ns" link set "$ns" up
    done
    head1 remuda up -q --nodes 1 --cpus 1 --mem 500
    printf 'SlurmdTimeout=8\nHeartbeatInterval=2\nHostCertificateLife=6\n' >>"$SHARED/head/remuda.conf"
    head1 scontrol reconfigure
}

teardown_file() {
    [ -z "$WHY_NOT" ] || return 0
    head1 scancel -u root,nobody || true
    far1 remuda down || true
    head1 remuda down || true
    for ns in "$FAR_NS" "$HEAD_NS"; do
        ip netns pids "$ns" | xargs -r kill # what a test that failed has left
        ip netns del "$ns"
    done
    rm -rf "$SHARED"
}

# Most tests need the host that the second one of hosts.bats makes: each file, and each test, can be run alone, too. Its certificate then holds, as it does from the one that renews it on.
far_is_there() {
    [ -d "$SHARED/far/tls" ] && return 0
    sed -i 's/^HostCertificateLife=.*/HostCertificateLife=3600/' "$SHARED/head/remuda.conf"
    head1 scontrol reconfigure
    head1 remuda token --host trusted | far1 remuda join 10.99.0.1
    until_is 10 "idle" head1 sinfo -h -n far -o %t
}

setup() {
    [ -z "$WHY_NOT" ] || skip "$WHY_NOT"
    cd "$SHARED/home" || exit 1
    case $BATS_TEST_DESCRIPTION in
    "no port is open"* | "a machine joins with a token"*) ;;
    "the certificate renews itself") [ -d "$SHARED/far/tls" ] || skip "needs the host whose certificate is short: run the second test, too" ;;
    *) far_is_there ;;
    esac
}

until_is() { # until_is SECONDS WANTED COMMAND…
    local left=$(($1 * 5)) wanted=$2
    shift 2
    while [ "$("$@" 2>&1)" != "$wanted" ]; do
        [ $((left--)) -gt 0 ] || { echo "still: $("$@" 2>&1)"; return 1; }
        sleep 0.2
    done
}

cut() { ip -n "$FAR_NS" link set "$FAR_NS" down; }
mend() { ip -n "$FAR_NS" link set "$FAR_NS" up; }
far_runs() { ip netns pids "$FAR_NS" | xargs ps -o args= -p | grep -c "^$1" || true; } # far_runs ARGS: how many processes there

# forged STATE UID GID REQUEST…: what the controller says to a host that says what it likes.
forged() { local dir=$1; shift; on "$FAR_NS" forger timeout 60 python3 "$BATS_TEST_DIRNAME/hosts_forge.py" "$dir" 10.99.0.1 "$@"; }
