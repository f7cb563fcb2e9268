#!/usr/bin/env bats
# Other machines: network namespaces with a veth between them and host names of their own. What is made here is removed here; nothing leaves this machine.
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

# Most tests need the host that the second one makes: each can be run alone, too. Its certificate then holds, as it does from the one that renews it on.
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

@test "no port is open before the first token" {
    run ! on "$FAR_NS" far timeout 2 bash -c 'exec 9<>/dev/tcp/10.99.0.1/6817'
    run ! far1 remuda join 10.99.0.1 remuda1.t0.0.0000000000000000000000000000000000000000000000000000000000000000
    [[ "$output" =~ "refused" ]]
}

@test "a machine joins with a token, and its node is there" {
    # Root's cluster: what is believed of a machine is said with the token.
    run ! head1 remuda token
    [[ "$output" =~ "speaks for one user".*"--host trusted".*"--host login" ]]
    # One that is refused opens no port.
    run ! on "$FAR_NS" far timeout 2 bash -c 'exec 9<>/dev/tcp/10.99.0.1/6817'
    token=$(head1 remuda token --host trusted)
    [[ "$token" =~ ^remuda1\.t[0-9a-f]{8}\.[0-9a-f]{32}\.[0-9a-f]{64}$ ]]
    run -0 far1 remuda join 10.99.0.1 <<<"$token"
    [[ "$output" =~ "node far" && "$output" =~ "trusted" && ! "$output" =~ "warning" ]]
    until_is 10 "idle" head1 sinfo -h -n far -o %t
    run -0 head1 remuda hosts
    [[ "$output" =~ far.*node.*far.*"all users".*10.99.0.2 ]]
    # Used up; the key stays with the host.
    [ "$(head1 remuda token list | wc -l)" = 1 ]
    [ "$(stat -c %a "$SHARED/far/tls/host.key" "$SHARED/head/tls/authority.key" | sort -u)" = 600 ]
    run ! on "$FAR_NS" third env REMUDA_STATE="$SHARED/third" remuda join 10.99.0.1 "$token"
    [[ "$output" =~ "used up" ]]
}

@test "commands there reach the controller, as whoever runs them" {
    id=$(far1 sbatch --parsable -w far -o far.out --wrap 'hostname; id -un; squeue -h -j $SLURM_JOB_ID -o %T')
    until_is 15 "" head1 squeue -h -j "$id"
    [ "$(cat far.out)" = $'far\nroot\nRUNNING' ]
    [ "$(head1 sacct -n -P -X -j "$id" -o State,NodeList)" = "COMPLETED|far" ]
    chmod 777 "$SHARED"
    run -0 far1 setpriv --reuid=nobody --regid=nogroup --clear-groups sbatch --parsable -w far -o nobody.out --wrap 'id -un'
    id=$output
    [ "$(head1 squeue -h -a -j "$id" -o %u)" = nobody ] || [ "$(head1 sacct -n -P -X -j "$id" -o User)" = nobody ]
    run ! far1 setpriv --reuid=nobody --regid=nogroup --clear-groups scontrol update NodeName=far State=DRAIN Reason=x
    until_is 15 "" head1 squeue -h -j "$id"
    [ "$(cat nobody.out)" = nobody ]
}

@test "a step runs over both machines, its streams between them" {
    run -0 head1 timeout 30 srun -N2 -w node1,far --mem=50 hostname
    [ "$(sort <<<"$output")" = $'far\nhead' ]
    run -0 far1 timeout 30 srun -n1 -w node1 --mem=50 hostname
    [ "$output" = head ]
}

# Says whether WORD passes the wire in the clear while COMMAND runs on the head (or by $by).
overheard() { # overheard WORD COMMAND…
    local word=$1 ready="$SHARED/sniffing"
    shift
    rm -f "$ready"
    on "$FAR_NS" far python3 "$BATS_TEST_DIRNAME/hosts_sniff.py" "$FAR_NS" 4 "$word" "$ready" >"$SHARED/overheard" &
    local sniffer=$!
    for _ in $(seq 50); do [ -e "$ready" ] && break; sleep 0.1; done
    "${by:-head1}" timeout 30 "$@" >"$SHARED/said" 2>&1
    wait "$sniffer"
    cat "$SHARED/overheard"
}

@test "streams between hosts are encrypted, unless the site says otherwise" {
    word=$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')
    run -0 overheard "$word" srun -n1 -w far --mem=50 sh -c "for i in 1 2 3 4 5 6 7 8 9; do echo $word; done"
    [ "$output" = "not seen" ]
    [ "$(sort -u "$SHARED/said")" = "$word" ]
    # Nothing is left of what spoke TLS for srun.
    until_is 5 "0" sh -c 'ip netns pids "$HEAD_NS" | xargs ps -o args= -p | grep -c "remudad seal" || true'
    echo 'StreamTLS=NO' >>"$SHARED/head/remuda.conf"
    run -0 overheard "$word" srun -n1 -w far --mem=50 sh -c "for i in 1 2 3 4 5 6 7 8 9; do echo $word; done"
    sed -i '/^StreamTLS/d' "$SHARED/head/remuda.conf"
    [ "$output" = "seen" ]
    [ "$(sort -u "$SHARED/said")" = "$word" ]
}

@test "a host that joined has no configuration of its own: commands there go by the cluster's" {
    word=$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')
    said="for i in 1 2 3 4 5 6 7 8 9; do echo $word; done"
    by=far1
    run -0 overheard "$word" srun -n1 -w node1 --mem=50 sh -c "$said"
    [ "$output" = "not seen" ]
    printf 'StreamTLS=NO\nWaitTime=7\n' >>"$SHARED/head/remuda.conf"
    run -0 far1 scontrol reconfigure # asks the controller to read its own
    run -0 overheard "$word" srun -n1 -w node1 --mem=50 sh -c "$said"
    sed -i '/^StreamTLS/d; /^WaitTime/d' "$SHARED/head/remuda.conf"
    run -0 far1 scontrol reconfigure
    [ "$(sort -u "$SHARED/said")" = "$word" ]
    run -0 cat "$SHARED/overheard"
    [ "$output" = "seen" ]
    run -0 far1 sbatch -M all --test-only -n1 --wrap true
    run ! far1 sbatch -M elsewhere --wrap true
    [[ "$output" == *"This cluster is "* ]]
}

@test "a name service that does not answer holds nobody up" {
    on "$HEAD_NS" head python3 -c 'import socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("10.99.0.1", 53)); open("deaf.ready", "w"); time.sleep(60)' &
    local silent=$! began=$SECONDS
    printf 'nameserver 10.99.0.1\noptions timeout:30 attempts:3\n' >"$SHARED/resolv.conf"
    mkdir "$SHARED/deaf"
    cp -r "$SHARED/far/tls" "$SHARED/deaf/"
    sed 's/^Controller=.*/Controller=controller.example/' "$SHARED/far/host.conf" >"$SHARED/deaf/host.conf"
    deaf() { on "$FAR_NS" far unshare --mount sh -c 'mount --bind "$0" /etc/resolv.conf; exec "$@"' "$SHARED/resolv.conf" env REMUDA_STATE="$SHARED/deaf" "$@"; }
    deaf remudad relay --foreground --state "$SHARED/deaf" 2>/dev/null &
    local relay=$!
    for _ in $(seq 100); do [ -S "$SHARED/deaf/controller.sock" ] && [ -e deaf.ready ] && break; sleep 0.1; done
    began=$SECONDS
    run ! deaf srun -n1 true
    echo "$output"
    [[ "$output" =~ "the controller at controller.example cannot be reached: cannot find the address of controller.example: the name service has not answered within 5 s" ]]
    [ $((SECONDS - began)) -le 24 ] # a command waits MessageTimeout for a controller that is away
    began=$SECONDS
    run ! deaf env REMUDA_STATE="$SHARED/deaf2" remuda join controller.example "$(head1 remuda token --host trusted)"
    echo "$output"
    [[ "$output" =~ "the name service has not answered within 10 s" ]]
    [ $((SECONDS - began)) -le 14 ]
    kill "$relay" "$silent"
    head1 remuda token list | awk 'NR > 1 {print $1}' | while read -r id; do head1 remuda token revoke "$id"; done
}

@test "much goes through an encrypted stream, both ways, and a slow reader loses nothing" {
    head -c 30000000 /dev/urandom >big
    run -0 head1 timeout 60 sh -c 'srun -n1 -w far --mem=50 cat <big | { sleep 6; sha256sum; }'
    [ "$output" = "$(sha256sum <big)" ]
    rm big
}

@test "who does not know the secret of a step gets nowhere near it" {
    head1 timeout 30 srun -n1 -w far --mem=50 sleep 8 &
    sleep 3
    port=$(on "$HEAD_NS" head ss -Hltnp | awk '/remudad/ && !/:6817/ {sub(/.*:/, "", $4); print $4; exit}')
    [ -n "$port" ]
    # Neither plain words nor TLS without the key.
    on "$FAR_NS" stranger timeout 5 bash -c "exec 9<>/dev/tcp/10.99.0.1/$port; printf '\0\0\0\2\0\0\0\0{}' >&9; [ \"\$(head -c 1 <&9 | wc -c)\" = 0 ] || true"
    run ! on "$FAR_NS" stranger timeout 5 openssl s_client -connect "10.99.0.1:$port" -tls1_3 </dev/null
    wait
}

@test "a wrong token, a wrong authority and a stranger are turned away" {
    token=$(head1 remuda token --host trusted)
    run ! on "$FAR_NS" third env REMUDA_STATE="$SHARED/third" remuda join 10.99.0.1 "${token%.*.*}.00000000000000000000000000000000.${token##*.}"
    [[ "$output" =~ "not known" ]]
    run ! on "$FAR_NS" third env REMUDA_STATE="$SHARED/third" remuda join 10.99.0.1 "${token%.*}.0000000000000000000000000000000000000000000000000000000000000000"
    [[ "$output" =~ "certificate" ]]
    # The node of another host cannot be had.
    run ! on "$FAR_NS" third env REMUDA_STATE="$SHARED/third" remuda join --name far 10.99.0.1 "$token"
    [[ "$output" =~ "belongs to host" ]]
    run ! on "$FAR_NS" third env REMUDA_STATE="$SHARED/third" remuda join --name node1 10.99.0.1 "$token"
    [[ "$output" =~ "is there already" ]]
    id=$(head1 remuda token list | awk 'NR==2 {print $1}')
    head1 remuda token revoke "$id"
    run ! on "$FAR_NS" third env REMUDA_STATE="$SHARED/third" remuda join 10.99.0.1 "$token"
    [[ "$output" =~ "not known" ]]
    # Each mistake has its sentence.
    third() { on "$FAR_NS" third env REMUDA_STATE="$SHARED/third" remuda join "$@"; }
    run ! third 10.99.0.1 "${token%?????}"
    [[ "$output" =~ "is no whole token" ]]
    run ! third 10.99.0.1:99999 "$token"
    [[ "$output" =~ "names no port from 1 to 65535" ]]
    run ! third 10.99.0.1:7 "$token"
    [[ "$output" =~ "the controller at 10.99.0.1:7: Connection refused. Is it the host of the controller" ]]
    run ! third no-such-host.invalid "$token"
    [[ "$output" =~ "cannot find the address of no-such-host.invalid" ]]
    run ! third 10.99.0.1 "${token%.*}.$(printf '%064d' 7)"
    [[ "$output" =~ "not of the cluster whose token this is: another cluster's controller answers there" ]]
    brief=$(head1 remuda token --host trusted --for 0:01)
    sleep 1.2
    run ! third 10.99.0.1 "$brief"
    [[ "$output" =~ "expired" || "$output" =~ "not known" ]]
    [ ! -e "$SHARED/third/host.conf" ]
    # What is no TLS at all does no harm.
    on "$FAR_NS" third bash -c 'exec 9<>/dev/tcp/10.99.0.1/6817; head -c 4096 /dev/urandom >&9' || true
    head1 scontrol ping
}

@test "what a machine that joins says of itself cannot keep the controller from starting again" {
    command -v openssl >/dev/null || skip "needs openssl"
    token=$(head1 remuda token --host untrusted --user nobody --uses 20)
    forged() { on "$FAR_NS" third python3 "$BATS_TEST_DIRNAME/hosts_join.py" 10.99.0.1 "$token" "$1" "$(id -u nobody)" "$2"; }
    for line in "NodeName=evil CPUs=99999999999" "NodeName=evil Gres=gpu:1::::" "NodeName=evil State=UP" "NodeName=evil CPUs=1 Virtual=YES" \
        $'NodeName=evil CPUs=1\nSlurmUser=nobody' "NodeName=evil[1-9]" "NodeName=evil "; do
        run -0 forged evil "$line"
        echo "$line: $output"
        [[ "$line" = "NodeName=evil " || "$output" =~ "done ACCESS_DENIED " ]]
    done
    run -0 forged DEFAULT "NodeName=DEFAULT State=DOWN"
    [[ "$output" =~ "done ACCESS_DENIED " ]]
    # An older release let such lines in: the one is left out, and said.
    printf 'NodeName=evil2 CPUs=99999999999\nNodeName=evil3 CPUs=1 Virtual=YES\n' >>"$SHARED/head/joined.conf"
    head1 remuda down
    run -0 head1 remuda up
    [[ "$output" =~ "the line is left out: joined.conf:" ]]
    head1 scontrol ping
    [ -z "$(head1 sinfo -h -N -n evil2,evil3 -o %N)" ]
    sed -i '/evil[23]/d' "$SHARED/head/joined.conf"
    head1 remuda hosts remove evil || true
    head1 scontrol reconfigure
}

@test "whoever joins twice in one breath gets nothing of the one join into the other" {
    command -v openssl >/dev/null || skip "needs openssl"
    token=$(head1 remuda token --host trusted)
    run on "$FAR_NS" third python3 "$BATS_TEST_DIRNAME/hosts_join.py" 10.99.0.1 "$token" twice 0 "NodeName=twice CPUs=1 RealMemory=10" slipped "NodeName=slipped CPUs=64"
    echo "$output"
    head1 remuda hosts
    run ! grep -q slipped "$SHARED/head/joined.conf"
    head1 remuda hosts remove twice || true
    head1 remuda token list | awk 'NR > 1 {print $1}' | while read -r id; do head1 remuda token revoke "$id"; done
    head1 scontrol reconfigure
}

@test "strangers at the port have a few places of their own: neither users nor hosts notice them" {
    cat >"$SHARED/strangers.py" <<'EOF'
import select, socket, sys
held = []
for _ in range(400):
    s = socket.create_connection(("10.99.0.1", int(sys.argv[1])))
    held.append(s)
# Those above the limit of an address are closed at once: they become readable, and are at their end.
closed = set()
while len(closed) < 300:
    for s in select.select([s for s in held if s not in closed], [], [], 10)[0] or sys.exit(f"{len(closed)} closed"):
        closed.add(s)
print("away")
sys.stdin.read()
EOF
    mkfifo "$SHARED/strangers.in"
    far1 python3 "$SHARED/strangers.py" 6817 <"$SHARED/strangers.in" >"$SHARED/strangers.out" &
    strangers=$!
    exec 7>"$SHARED/strangers.in"
    for _ in $(seq 200); do
        grep -q away "$SHARED/strangers.out" && break
        sleep 0.1
    done
    grep -q away "$SHARED/strangers.out"
    run head1 sinfo -h
    [ "$status" -eq 0 ]
    run far1 sinfo -h
    [ "$status" -eq 0 ]
    exec 7>&-
    wait "$strangers"
}

@test "strangers from many addresses: so many in all; who says nothing goes after a while, who begins to say much at once" {
    cat >"$SHARED/crowd.py" <<'EOF'
import select, socket, ssl, struct, time

def stranger(address):
    s = socket.socket()
    s.bind((address, 0))
    s.connect(("10.99.0.1", 6817))
    return s

context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
with context.wrap_socket(stranger("10.99.0.10")) as s:
    s.settimeout(10)
    s.sendall(struct.pack(">II", 100000, 0) + b"{")
    print("sent away" if s.recv(1 << 16) and not s.recv(1 << 16) else "heard on")
held = {stranger(f"10.99.0.{10 + k % 8}") for k in range(320)}

def closed_within(seconds):
    gone, end = set(), time.monotonic() + seconds
    while held - gone and (left := end - time.monotonic()) > 0:
        gone |= set(select.select(held - gone, [], [], left)[0])
    return gone

early = len(closed_within(3))
print("too many" if 64 <= early < 100 else f"{early} at once")
print(f"{len(closed_within(40))} after a while")
EOF
    for k in 0 1 2 3 4 5 6 7; do ip -n "$FAR_NS" addr add "10.99.0.1$k/24" dev "$FAR_NS"; done
    run far1 timeout 90 python3 "$SHARED/crowd.py"
    for k in 0 1 2 3 4 5 6 7; do ip -n "$FAR_NS" addr del "10.99.0.1$k/24" dev "$FAR_NS"; done
    [ "$output" = $'sent away\ntoo many\n320 after a while' ]
    run far1 sinfo -h
    [ "$status" -eq 0 ]
}

@test "a user of a host that joined does not take its relay from the others; it has nothing of root's but its files" {
    cat >"$SHARED/relay.py" <<'EOF'
import os, select, socket, struct, sys

os.setgroups([])
os.setgid(65534)
os.setuid(65534)

def connect():
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    return s

held = []

def answers(patience):
    """What those say that are about to be closed; the others say nothing."""
    for s in select.select(held, [], [], patience)[0]:
        try:
            text = s.recv(65536)
        except OSError:
            text = b""
        held.remove(s)
        s.close()
        yield text

# More connections than he may have …
for _ in range(2000):
    if any(b"256 connections" in text for text in answers(0.01)):
        break
    held.append(connect())
else:
    sys.exit("he may have as many as he likes")
print("away", flush=True)
sys.stdin.readline()
for s in held:
    s.close()
# … and halves of messages: 96 MiB of them. Who is sent away takes no more.
held = [connect() for _ in range(8)]
for s in held:
    try:
        s.sendall(struct.pack(">II", 20 << 20, 0) + b"{" * (12 << 20))
    except OSError:
        pass
list(answers(60)) or sys.exit("nobody was sent away")
print("halves", flush=True)
EOF
    mkfifo "$SHARED/relay.in"
    far1 python3 "$SHARED/relay.py" "$SHARED/far/controller.sock" <"$SHARED/relay.in" >"$SHARED/relay.out" &
    floods=$!
    exec 7>"$SHARED/relay.in"
    for _ in $(seq 300); do
        grep -q away "$SHARED/relay.out" && break
        sleep 0.1
    done
    grep -q away "$SHARED/relay.out"
    run far1 setpriv --reuid=daemon --regid=daemon --clear-groups sinfo -h
    [ "$status" -eq 0 ]
    run far1 setpriv --reuid=nobody --regid=nogroup --clear-groups sinfo -h
    [[ "$status" -ne 0 && "$output" =~ "256 connections" ]]
    echo >&7
    exec 7>&-
    wait "$floods"
    grep -q halves "$SHARED/relay.out"
    until_is 10 0 sh -c "ip netns exec $FAR_NS env REMUDA_STATE=$SHARED/far setpriv --reuid=nobody --regid=nogroup --clear-groups sinfo -h >/dev/null; echo \$?"
    relay=$(cat "$SHARED/far/relay.pid")
    grep -q '^Seccomp:.*0' "/proc/$relay/status" && skip "this kernel does not filter system calls"
    [ "$(awk '/^(CapEff|CapPrm|CapBnd|CapInh|NoNewPrivs|Seccomp):/ { print $1 $2 }' "/proc/$relay/status" | tr '\n' ' ')" = \
        "CapInh:0000000000000000 CapPrm:0000000000000000 CapEff:0000000000000000 CapBnd:0000000000000000 NoNewPrivs:1 Seccomp:2 " ]
}

@test "the certificate renews itself" {
    before=$(sha256sum <"$SHARED/far/tls/host.crt")
    for _ in $(seq 60); do [ "$(sha256sum <"$SHARED/far/tls/host.crt")" != "$before" ] && break; sleep 0.2; done
    [ "$(sha256sum <"$SHARED/far/tls/host.crt")" != "$before" ]
    far1 scontrol ping
    # From here on they hold: a host that is cut off longer than its certificate holds has to join again.
    sed -i 's/^HostCertificateLife=.*/HostCertificateLife=3600/' "$SHARED/head/remuda.conf"
    head1 scontrol reconfigure
    for _ in $(seq 60); do openssl x509 -in "$SHARED/far/tls/host.crt" -noout -checkend 600 && break; sleep 0.2; done
    openssl x509 -in "$SHARED/far/tls/host.crt" -noout -checkend 600
}

cut() { ip -n "$FAR_NS" link set "$FAR_NS" down; }
mend() { ip -n "$FAR_NS" link set "$FAR_NS" up; }
far_runs() { ip netns pids "$FAR_NS" | xargs ps -o args= -p | grep -c "^$1" || true; } # far_runs ARGS: how many processes there

@test "a cut shorter than the timeout loses nothing" {
    id=$(head1 sbatch --parsable -w far -o cut.out --wrap 'sleep 3; echo over')
    # What this step says while the link is down arrives afterwards.
    head1 timeout 60 srun --overlap -n1 -w far --mem=50 sh -c 'for i in 1 2 3 4 5 6 7 8; do echo line $i; sleep 0.7; done' >step.out 2>step.err &
    step=$!
    until_is 10 "RUNNING" head1 squeue -h -j "$id" -o %T
    until_is 20 "line 1" head -n 1 step.out
    cut
    sleep 4
    mend
    until_is 30 "" head1 squeue -h -j "$id"
    [ "$(head1 sacct -n -P -X -j "$id" -o State)" = COMPLETED ]
    [ "$(cat cut.out)" = over ]
    wait "$step"
    [ "$(cat step.out)" = "$(for i in 1 2 3 4 5 6 7 8; do echo "line $i"; done)" ]
    until_is 20 "idle" head1 sinfo -h -n far -o %t
}

@test "a short cut at srun's end: its step goes on, and its output comes" {
    far1 timeout 60 srun -n1 -w node1 --mem=50 sh -c 'echo begun; sleep 4; echo over; exit 3' >step.out 2>step.err &
    step=$!
    until_is 20 "begun" cat step.out
    cut
    sleep 5
    mend
    code=0
    wait "$step" || code=$?
    [ "$code" = 3 ]
    [ "$(cat step.out)" = $'begun\nover' ]
}

@test "a longer cut: the job is lost, the node comes back and the books agree" {
    id=$(head1 sbatch --parsable --no-requeue -w far -o lost.out --wrap 'sleep 601')
    until_is 10 "RUNNING" head1 squeue -h -j "$id" -o %T
    until_is 10 "1" far_runs "sleep 601"
    cut
    until_is 25 "NODE_FAIL" head1 sacct -n -P -X -j "$id" -o State
    [[ "$(head1 sinfo -h -n far -o %t)" =~ down ]]
    mend
    for _ in $(seq 200); do [[ "$(head1 sinfo -h -n far -o %t)" =~ ^(idle|mix|alloc)$ ]] && break; sleep 0.2; done
    until_is 20 "idle" head1 sinfo -h -n far -o %t
    until_is 10 "0" far_runs "sleep 601"
    [[ "$(head1 scontrol show node far)" =~ CPUAlloc=0 ]]
    [[ "$(head1 scontrol show node far)" =~ AllocMem=0 ]]
    [ "$(head1 sacct -n -P -j "$id.batch" -o State)" = NODE_FAIL ]
    [[ "$(head1 sacct -n -P -X -j "$id" -o ExitCode,End)" != *Unknown* ]]
}

@test "a job that was requeued runs once: what goes on beyond the cut is killed when it is mended" {
    id=$(head1 sbatch --parsable --requeue -n1 --mem=50 -w far -o requeued.out --open-mode=append --wrap 'echo run $SLURM_RESTART_COUNT on $(hostname); sleep 602')
    until_is 10 "RUNNING" head1 squeue -h -j "$id" -o %T
    until_is 10 "1" far_runs "sleep 602"
    cut
    until_is 25 "PENDING" head1 squeue -h -j "$id" -o %T
    [ "$(far_runs "sleep 602")" = 1 ] # nobody can tell it there
    head1 scontrol update JobId="$id" ReqNodeList=node1
    until_is 90 "RUNNING" head1 squeue -h -j "$id" -o %T
    [ "$(head1 squeue -h -j "$id" -o %N)" = node1 ]
    mend
    until_is 30 "0" far_runs "sleep 602"
    [ "$(head1 squeue -h -j "$id" -o '%T %N')" = "RUNNING node1" ]
    until_is 20 "idle" head1 sinfo -h -n far -o %t
    [ "$(head1 sacct -n -P -X -D -j "$id" -o State,NodeList)" = $'NODE_FAIL|far\nRUNNING|node1' ]
    head1 scancel "$id"
    until_is 20 "" head1 squeue -h -j "$id"
    [ "$(grep -c ^run requeued.out)" = 2 ]
}

@test "--no-kill: the allocation goes on without the node that is gone, and gives it back" {
    head1 salloc --no-shell --no-kill -N2 -w node1,far --mem=50 -n2 2>salloc.err
    id=$(grep -o '[0-9]*$' salloc.err | head -n 1)
    cut
    for _ in $(seq 125); do [[ "$(head1 sinfo -h -n far -o %t)" =~ down ]] && break; sleep 0.2; done
    [ "$(head1 squeue -h -j "$id" -o %T)" = RUNNING ]
    run -0 head1 timeout 20 srun --jobid="$id" -n1 -N1 -w node1 hostname
    [ "$output" = head ]
    mend
    until_is 40 "idle" head1 sinfo -h -n far -o %t
    [[ "$(head1 scontrol show node far)" =~ CPUAlloc=0 ]]
    [ "$(head1 squeue -h -j "$id" -o %T)" = RUNNING ]
    head1 scancel "$id"
}

@test "delay and loss: slower, and nothing else" {
    tc -n "$FAR_NS" qdisc add dev "$FAR_NS" root netem delay 40ms 20ms loss 5% 2>"$SHARED/tc" || skip "this kernel has no netem: $(cat "$SHARED/tc")"
    for i in 1 2 3; do
        run -0 head1 timeout 60 srun -N2 -w node1,far --mem=50 hostname
        [ "$(sort <<<"$output")" = $'far\nhead' ]
    done
    id=$(far1 sbatch --parsable -w far -o slow.out --wrap 'echo slow')
    until_is 30 "" head1 squeue -h -j "$id"
    tc -n "$FAR_NS" qdisc del dev "$FAR_NS" root
    [ "$(cat slow.out)" = slow ]
    [ "$(head1 sinfo -h -n far -o %t)" = idle ]
}

@test "a token is not to be seen in the list of processes" {
    token=$(head1 remuda token --host login)
    # A controller that says nothing, so that the join lasts.
    on "$HEAD_NS" head python3 -c 'import socket, time; s = socket.create_server(("10.99.0.1", 6999)); open("dumb.ready", "w"); time.sleep(60)' 3>&- &
    local dumb=$!
    for _ in $(seq 100); do [ -e dumb.ready ] && break; sleep 0.1; done
    echo "$token" >token
    chmod 600 token
    on "$FAR_NS" seen env REMUDA_STATE="$SHARED/seen" remuda join --token-file token 10.99.0.1:6999 3>&- &
    local one=$!
    on "$FAR_NS" seen env REMUDA_STATE="$SHARED/seen2" remuda join 10.99.0.1:6999 "$token" 2>warned 3>&- &
    local two=$!
    for _ in $(seq 200); do [ "$(ps -eo args | grep -c "[r]emudad join.*seen")" = 2 ] && break; sleep 0.1; done
    run ps -eo args
    ps -eo pid,args | awk '/remudad join.*seen/ {print $1}' | xargs -r kill || true
    kill "$dumb"
    wait "$one" "$two" "$dumb" || true
    [[ "$output" =~ "remudad join" ]]
    [[ ! "$output" =~ ${token#remuda1.*.} ]]
    grep -q "every user of this machine could read the token" warned
    id=${token#remuda1.}
    head1 remuda token revoke "${id%%.*}"
    run ! on "$FAR_NS" seen env REMUDA_STATE="$SHARED/seen" remuda join 10.99.0.1 </dev/null
    [[ "$output" =~ "the input has no token" ]]
}

# forged STATE UID GID REQUEST…: what the controller says to a host that says what it likes.
forged() { local dir=$1; shift; on "$FAR_NS" forger timeout 60 python3 "$BATS_TEST_DIRNAME/hosts_forge.py" "$dir" 10.99.0.1 "$@"; }

@test "a login host: commands of its users, but no jobs and no powers" {
    token=$(head1 remuda token --role login --uses 2 --for 10)
    run -0 on "$FAR_NS" door env REMUDA_STATE="$SHARED/door" remuda join 10.99.0.1 <<<"$token"
    [[ "$output" =~ "login host" ]]
    door() { on "$FAR_NS" door env REMUDA_STATE="$SHARED/door" "$@"; }
    [ "$(door sinfo -h -n node1 -o %t)" = idle ]
    [[ "$(head1 remuda hosts)" =~ door.*login.*users ]]
    # Root there may look, and no more.
    run ! door sbatch --wrap true
    [[ "$output" =~ "speaks for its users, not for administrators" ]]
    run ! door scontrol update NodeName=node1 State=DRAIN Reason=x
    # A user submits, in a group that the controller's host knows the user to be in.
    id=$(door setpriv --reuid=nobody --regid=0 --clear-groups sbatch --parsable -H --wrap true)
    run -0 head1 scontrol show job "$id"
    echo "$output"
    [[ "$output" =~ "GroupId=nogroup(65534)" ]]
    head1 scancel "$id"
    # And with its key: nothing that is not a user's.
    run -0 forged "$SHARED/door" 65534 42 query submit token drain shutdown expel hello report
    echo "$output"
    [[ "$output" =~ "query done"[[:space:]]*$'\n' ]]
    [ "$(grep -c ' submitted ' <<<"$output")" = 1 ]
    [ "$(grep -c 'done ACCESS_DENIED' <<<"$output")" = 6 ]
    [[ "$(head1 scontrol show job "$(awk '/^submit/ {print $3}' <<<"$output")")" =~ "GroupId=nogroup(65534)" ]]
    run -0 forged "$SHARED/door" 0 0 submit token drain shutdown expel cancel hello
    echo "$output"
    [ "$(grep -c 'done ACCESS_DENIED' <<<"$output")" = 7 ]
    run -0 forged "$SHARED/door" 4711 0 submit
    [[ "$output" =~ "knows no user of uid 4711" ]]
    head1 scancel -u nobody
    # Every request that there is, each empty: what is not for a user is refused to a user there, to root there all that changes something, and to who has no
    # certificate everything.
    run -0 forged "$SHARED/door" 65534 65534 every
    echo "$output"
    [ "${#lines[@]}" -gt 60 ]
    [ -z "$(grep -E '^[a-z_]+ (OPERATOR|ADMIN|NODE) ' <<<"$output" | grep -v 'done ACCESS_DENIED')" ]
    [ -z "$(grep -E '^[a-z_]+ (CONTROLLER|STREAM) ' <<<"$output" | grep -v ' nothing\|done [A-Z]')" ]
    run -0 forged "$SHARED/door" 0 0 every
    echo "$output"
    [ -z "$(grep -E '^[a-z_]+ (OPERATOR|ADMIN|NODE|OWNER) |^(submit|set_crontab|set_trigger) ' <<<"$output" | grep -v 'done [A-Z]')" ]
    run -0 forged - 0 0 every
    echo "$output"
    [ -z "$(grep -v ' nothing\|done ACCESS_DENIED' <<<"$output")" ]
    head1 sinfo
    # As many users as its root likes to make up are no reason to send others away.
    mkfifo "$SHARED/crowd.in"
    (ulimit -n 8192; door python3 "$BATS_TEST_DIRNAME/hosts_crowd.py" "$SHARED/door" 10.99.0.1 5000 <"$SHARED/crowd.in" >"$SHARED/crowd.out") &
    crowd=$!
    exec 7>"$SHARED/crowd.in"
    until_is 90 1 sh -c "wc -l <'$SHARED/crowd.out'"
    grep -q "host door has 1[0-9]* connections" "$SHARED/crowd.out"
    run -0 head1 setpriv --reuid=nobody --regid=nogroup --clear-groups sinfo -h
    run -0 far1 setpriv --reuid=nobody --regid=nogroup --clear-groups sinfo -h
    run ! door setpriv --reuid=nobody --regid=nogroup --clear-groups sinfo -h
    [[ "$output" =~ "host door has 1" ]]
    exec 7>&-
    wait "$crowd"
    # What is counted by user counts them as one.
    run -0 head1 sdiag
    echo "$output"
    [[ ! "$output" =~ 30000[0-9][0-9] && "$output" =~ 4294967294 ]]
    run -0 door remuda leave
    run ! door sinfo
    run -0 head1 remuda hosts
    [[ ! "$output" =~ door ]]
}

loop_ns() { awk "{ print \$1 }" "/proc/$1/task/$1/schedstat"; } # of the controller's one thread that hears everybody

@test "a node that says hello without pause has a tenth of the controller's time, and is there afterwards" {
    pid=$(head1 remuda status --pid controller)
    before=$(loop_ns "$pid")
    run -0 forged "$SHARED/far" 0 0 hellos
    echo "$output times in 8 s, $((($(loop_ns "$pid") - before) / 1000000)) ms of the controller's"
    [ "$output" -ge 3 ]
    [ $((($(loop_ns "$pid") - before) / 1000000)) -le 2000 ]
    until_is 20 "idle" head1 sinfo -h -n far -o %t
}

@test "an untrusted host speaks for its one user, whatever it says" {
    mkdir "$SHARED/mine"
    chown nobody "$SHARED/mine"
    mine() { on "$FAR_NS" mine setpriv --reuid=nobody --regid=nogroup --clear-groups env REMUDA_STATE="$SHARED/mine" "$@"; }
    token=$(head1 remuda token --user nobody)
    run ! on "$FAR_NS" mine env REMUDA_STATE="$SHARED/other" remuda join 10.99.0.1 <<<"$token"
    [[ "$output" =~ "joined by uid 0" ]]
    run -0 mine remuda join 10.99.0.1 <<<"$token"
    id=$(mine sbatch --parsable -H --wrap true)
    [ "$(head1 squeue -h -j "$id" -o '%u %g')" = "nobody nogroup" ]
    run -0 forged "$SHARED/mine" 65534 0 submit token drain shutdown expel hello
    echo "$output"
    [ "$(grep -c ' submitted ' <<<"$output")" = 1 ]
    [ "$(grep -c 'done ACCESS_DENIED' <<<"$output")" = 5 ]
    [ "$(head1 squeue -h -u nobody -o %g | sort -u)" = nogroup ]
    for uid in 0 1; do
        run -0 forged "$SHARED/mine" "$uid" 0 query submit token
        echo "$output"
        [ "$(grep -c 'may not vouch' <<<"$output")" = 3 ]
    done
    head1 scancel -u nobody
    mine remuda leave
}

@test "a host that leaves while the controller is away has left when it is back" {
    token=$(head1 remuda token --host login)
    run -0 on "$FAR_NS" door env REMUDA_STATE="$SHARED/door" remuda join 10.99.0.1 <<<"$token"
    cut
    run -0 on "$FAR_NS" door env REMUDA_STATE="$SHARED/door" timeout 60 remuda leave
    [[ "$output" =~ "cannot be reached" && "$output" =~ "remuda hosts remove" ]]
    run ! on "$FAR_NS" door env REMUDA_STATE="$SHARED/door" remuda up
    [[ "$output" =~ "is leaving" ]]
    [[ "$(head1 remuda hosts)" =~ door ]]
    mend
    for _ in $(seq 200); do [[ "$(head1 remuda hosts)" =~ door ]] || break; sleep 0.2; done
    [[ ! "$(head1 remuda hosts)" =~ door ]]
    for _ in $(seq 25); do [ -e "$SHARED/door/host.conf" ] || break; sleep 0.2; done
    [ ! -e "$SHARED/door/host.conf" ] && [ ! -e "$SHARED/door/tls" ]
}

@test "a host that the configuration names already joins as that node; others leave nothing behind" {
    cp "$SHARED/head/remuda.conf" "$SHARED/remuda.conf.before"
    echo 'NodeName=named CPUs=1 RealMemory=300 Weight=77' >>"$SHARED/head/remuda.conf"
    head1 scontrol reconfigure
    token=$(head1 remuda token --host trusted --uses 2)
    named() { on "$FAR_NS" named env REMUDA_STATE="$SHARED/named" "$@"; }
    brief() { on "$FAR_NS" brief env REMUDA_STATE="$SHARED/brief" "$@"; }
    run -0 named remuda join 10.99.0.1 <<<"$token"
    run -0 brief remuda join 10.99.0.1 <<<"$token"
    until_is 20 "idle" head1 sinfo -h -n named -o %t
    until_is 20 "idle" head1 sinfo -h -n brief -o %t
    # The site's own line counts.
    [ "$(head1 sinfo -h -n named -o '%c %m %w')" = "1 300 77" ]
    grep -q 'NodeName=brief ' "$SHARED/head/joined.conf"
    run ! grep named "$SHARED/head/joined.conf"
    # Described by both: as many a real slurm.conf is, that got its line later. The cluster starts and stops.
    echo 'NodeName=brief CPUs=1 RealMemory=300' >>"$SHARED/head/remuda.conf"
    run -0 head1 scontrol reconfigure
    run -0 head1 remuda down
    run -0 head1 remuda up
    sed -i '/^NodeName=brief/d' "$SHARED/head/remuda.conf"
    run -0 head1 scontrol reconfigure
    # A host that leaves takes its line, and its node, with it; a node of the site's stays.
    run -0 brief remuda leave
    run -0 named remuda leave
    until_is 20 "" head1 sinfo -h -N -n brief -o %N
    run ! grep brief "$SHARED/head/joined.conf"
    run ! head1 scontrol show node brief
    run -0 head1 scontrol show node named
    cp "$SHARED/remuda.conf.before" "$SHARED/head/remuda.conf"
    head1 scontrol reconfigure
    until_is 20 "" head1 sinfo -h -N -n named -o %N
    [[ ! "$(head1 remuda status)" =~ named|brief ]]
}

@test "a host that is shut out is out at once, and its certificate is worth nothing" {
    far1 scontrol ping
    head1 remuda hosts remove far
    until_is 20 "" head1 sinfo -h -N -n far -o %N # it takes its line of joined.conf with it
    run ! far1 squeue
    echo "$output"
    [[ "$output" =~ "shut out" ]]
}
