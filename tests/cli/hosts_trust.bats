#!/usr/bin/env bats
# How far a machine that joined is believed, by what its token said; and how it leaves.
load hosts

@test "what a machine that joins says of itself cannot keep the controller from starting again" {
    command -v openssl >/dev/null || skip "needs openssl"
    token=$(head1 remuda token --host untrusted --user nobody --uses 20)
    forged() { on "$FAR_NS" third python3 "$BATS_TEST_DIRNAME/hosts_join.py" 10.99.0.1 "$token" "$1" "$(id -u nobody)" "$2"; }
    for line in "NodeName=evil CPUs=99999999999" "NodeName=evil Gres=gpu:1::::" "NodeName=evil State=UP" "NodeName=evil CPUs=1 Virtual=YES" \
        "NodeName=evil CPUs=1048576" "NodeName=evil Sockets=1024 CoresPerSocket=1024" \
        $'NodeName=evil CPUs=1\nSlurmUser=nobody' "NodeName=evil[1-9]" "NodeName=evil " \
        "NodeName=evil CPUs=2 Gres=gpu:a:2 Devices=gpu:a:0:::;gpu:a:0:::"; do
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

@test "another port in the configuration is said to count from the next start on" {
    says() { grep -c "SlurmctldPort and SlurmctldAddr count from" "$SHARED/head/log/controller.log" || true; }
    cp "$SHARED/head/remuda.conf" "$BATS_TEST_TMPDIR/conf"
    head1 scontrol reconfigure
    [ "$(says)" = 0 ]
    echo "SlurmctldPort=16817" >>"$SHARED/head/remuda.conf"
    head1 scontrol reconfigure
    [ "$(says)" = 1 ]
    cp "$BATS_TEST_TMPDIR/conf" "$SHARED/head/remuda.conf"
    head1 scontrol reconfigure
    [ "$(says)" = 1 ]
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
    rm "$SHARED/crowd.in" "$SHARED/crowd.out"
    # What is counted by user counts them as one.
    run -0 head1 sdiag
    echo "$output"
    [[ ! "$output" =~ 30000[0-9][0-9] && "$output" =~ 4294967294 ]]
    run -0 door remuda leave
    run ! door sinfo
    run -0 head1 remuda hosts
    [[ ! "$output" =~ door ]]
}

@test "users whom those of a trusted host make up by user namespaces are one user, and take nothing from those who have a name" {
    mkfifo "$SHARED/crowd.in"
    (ulimit -n 8192; far1 python3 "$BATS_TEST_DIRNAME/hosts_crowd.py" "$SHARED/far" 10.99.0.1 1100 <"$SHARED/crowd.in" >"$SHARED/crowd.out") &
    crowd=$!
    exec 7>"$SHARED/crowd.in"
    until_is 240 1 sh -c "wc -l <'$SHARED/crowd.out'"
    cat "$SHARED/crowd.out"
    grep -q "^1024 users whom the name services do not know (uid 3001[0-9]* is one) have" "$SHARED/crowd.out"
    run -0 head1 setpriv --reuid=nobody --regid=nogroup --clear-groups sinfo -h
    run -0 far1 setpriv --reuid=daemon --regid=daemon --clear-groups sinfo -h
    exec 7>&-
    wait "$crowd"
    rm "$SHARED/crowd.in" "$SHARED/crowd.out"
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

@test "a node that says small things without pause has a tenth of the controller's time, with what follows from them" {
    pid=$(head1 remuda status --pid controller)
    before=$(loop_ns "$pid")
    run -0 forged "$SHARED/far" 0 0 words
    echo "$output words in 8 s, $((($(loop_ns "$pid") - before) / 1000000)) ms of the controller's"
    [ "$output" -ge 1000 ]
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
    for _ in $(seq 300); do [[ "$(head1 remuda hosts)" =~ door ]] || break; sleep 0.2; done
    [[ ! "$(head1 remuda hosts)" =~ door ]]
    for _ in $(seq 25); do [ -e "$SHARED/door/host.conf" ] || break; sleep 0.2; done
    [ ! -e "$SHARED/door/host.conf" ]
    [ ! -e "$SHARED/door/tls" ]
}

@test "a host that was shut out leaves at once, and is told so" {
    token=$(head1 remuda token --host login --uses 2)
    door() { on "$FAR_NS" door env REMUDA_STATE="$SHARED/door" "$@"; }
    run -0 door remuda join 10.99.0.1 <<<"$token"
    run -0 head1 remuda hosts remove door
    run -0 door remuda leave
    echo "$output"
    [[ "$output" =~ "has shut this host out already" && ! "$output" =~ "cannot be reached" ]]
    run -0 door remuda join 10.99.0.1 <<<"$token"
    run -0 door remuda leave
}

@test "a host that the configuration names already joins as that node; others leave nothing behind" {
    cp "$SHARED/head/remuda.conf" "$SHARED/remuda.conf.before"
    echo 'NodeName=named CPUs=1 RealMemory=300 Weight=77' >>"$SHARED/head/remuda.conf"
    head1 scontrol reconfigure
    token=$(head1 remuda token --host trusted --uses 2)
    named() { on "$FAR_NS" named env REMUDA_STATE="$SHARED/named" "$@"; }
    brief() { on "$FAR_NS" brief env REMUDA_STATE="$SHARED/brief" "$@"; }
    printf 'NodeName=handy CPUs=1' >>"$SHARED/head/joined.conf" # an editor's last line, left open
    run -0 named remuda join 10.99.0.1 <<<"$token"
    run -0 brief remuda join 10.99.0.1 <<<"$token"
    until_is 20 "idle" head1 sinfo -h -n named -o %t
    until_is 20 "idle" head1 sinfo -h -n brief -o %t
    # The site's own line counts.
    [ "$(head1 sinfo -h -n named -o '%c %m %w')" = "1 300 77" ]
    grep -q '^NodeName=brief ' "$SHARED/head/joined.conf"
    grep -qx 'NodeName=handy CPUs=1' "$SHARED/head/joined.conf"
    sed -i '/^NodeName=handy/d' "$SHARED/head/joined.conf"
    head1 scontrol reconfigure
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
    # Its node asks now and then whether it is in again, and neither fills its log nor keeps the controller busy.
    until_is 10 1 sh -c "grep -c 'refuses this node.*was shut out' '$SHARED/far/log/node-far.log'"
    sleep 3
    [ "$(grep -c "refuses this node.*was shut out" "$SHARED/far/log/node-far.log")" = 1 ]
}
