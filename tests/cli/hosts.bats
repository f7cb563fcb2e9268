#!/usr/bin/env bats
# A machine joins: commands, steps and streams there, its certificate, and what strangers at the port get.
load hosts

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
    for _ in $(seq 300); do [ -e "$ready" ] && break; sleep 0.1; done
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
    for _ in $(seq 300); do [ -S "$SHARED/deaf/controller.sock" ] && [ -e deaf.ready ] && break; sleep 0.1; done
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
    for _ in $(seq 300); do
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
    for _ in $(seq 300); do [ "$(sha256sum <"$SHARED/far/tls/host.crt")" != "$before" ] && break; sleep 0.2; done
    [ "$(sha256sum <"$SHARED/far/tls/host.crt")" != "$before" ]
    far1 scontrol ping
    # From here on they hold: a host that is cut off longer than its certificate holds has to join again.
    sed -i 's/^HostCertificateLife=.*/HostCertificateLife=3600/' "$SHARED/head/remuda.conf"
    head1 scontrol reconfigure
    for _ in $(seq 300); do openssl x509 -in "$SHARED/far/tls/host.crt" -noout -checkend 600 && break; sleep 0.2; done
    openssl x509 -in "$SHARED/far/tls/host.crt" -noout -checkend 600
}

@test "a token is not to be seen in the list of processes" {
    token=$(head1 remuda token --host login)
    # A controller that says nothing, so that the join lasts.
    on "$HEAD_NS" head python3 -c 'import socket, time; s = socket.create_server(("10.99.0.1", 6999)); open("dumb.ready", "w"); time.sleep(60)' 3>&- &
    local dumb=$!
    for _ in $(seq 300); do [ -e dumb.ready ] && break; sleep 0.1; done
    echo "$token" >token
    chmod 600 token
    on "$FAR_NS" seen env REMUDA_STATE="$SHARED/seen" remuda join --token-file token 10.99.0.1:6999 3>&- &
    local one=$!
    on "$FAR_NS" seen env REMUDA_STATE="$SHARED/seen2" remuda join 10.99.0.1:6999 "$token" 2>warned 3>&- &
    local two=$!
    for _ in $(seq 300); do [ "$(ps -eo args | grep -c "[r]emudad join.*seen")" = 2 ] && break; sleep 0.1; done
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
