#!/usr/bin/env bats
# Joins and leaves that are cut off, on either side: nothing stays half done, and the same command does what is left. A token is used up by a host that is in.
load hosts

third() { on "$FAR_NS" third env REMUDA_STATE="$SHARED/third" "$@"; }
hosts_of() { head1 remuda hosts | awk -v name="$1" '$2 == name { print $1 }'; }
nodes_of() { head1 sinfo -h -N -o %N -n "$1"; }

# A file cannot be written where a directory has the name of what is to take its place.
block() { mkdir -p "$1.new" && touch "$1.new/x"; }
unblock() { rm -r "$1.new"; }

teardown() { umount -l "$SHARED/small" 2>/dev/null || true; } # of a test that failed

third_is_gone() {
    third remuda leave || true
    for id in $(hosts_of third); do head1 remuda hosts remove "$id"; done
    rm -rf "$SHARED/third"
    until_is 20 "" nodes_of third
}

@test "a machine that was let in and cannot write that down joins with the same command: the token is used up once" {
    token=$(head1 remuda token --host trusted)
    mkdir -p "$SHARED/third/tls"
    # Not even the key: nothing was asked.
    block "$SHARED/third/tls/joining.key"
    run ! third remuda join 10.99.0.1 <<<"$token"
    [ -z "$(hosts_of third)" ]
    unblock "$SHARED/third/tls/joining.key"
    for file in tls/host.key tls/host.crt host.conf; do
        block "$SHARED/third/$file"
        run ! third remuda join 10.99.0.1 <<<"$token"
        echo "$output"
        [[ "$output" =~ "/$file".*"let this machine in: the same command, with the same token, finishes it" ]]
        unblock "$SHARED/third/$file"
    done
    id=$(hosts_of third)
    [ "$(wc -w <<<"$id")" = 1 ]
    # It is good for that machine alone, and for what it joined as.
    run ! on "$FAR_NS" fourth env REMUDA_STATE="$SHARED/fourth" remuda join 10.99.0.1 <<<"$token"
    [[ "$output" =~ "used up" ]]
    run ! third remuda join --name fourth 10.99.0.1 <<<"$token"
    [[ "$output" =~ "joined with that token already, by uid 0 as node third" ]]
    run -0 third remuda join 10.99.0.1 <<<"$token"
    [[ "$output" =~ "trusted) $id, node third" ]]
    until_is 20 "idle" head1 sinfo -h -n third -o %t
    [ "$(hosts_of third)" = "$id" ]
    [ ! -e "$SHARED/third/tls/joining.key" ]
    [ "$(head1 remuda token list | wc -l)" = 1 ]
    run ! third remuda join 10.99.0.1 <<<"$token"
    [[ "$output" =~ "remuda up" ]]
    # Shut out, it is out: neither the key nor the token helps.
    head1 remuda hosts remove "$id"
    (
        cd "$SHARED/third"
        { awk -F. '{ print $2 }' <<<"$token" && cat tls/host.key; } >tls/joining.key
        mv host.conf host.conf.of-then
    )
    run ! third remuda join 10.99.0.1 <<<"$token"
    [[ "$output" =~ "used up" ]]
    mv "$SHARED/third/host.conf.of-then" "$SHARED/third/host.conf"
    third_is_gone
}

# cut_off MS COMMAND… on the third machine: killed after so long, with what it has started.
cut_off() {
    local ms=$1 group
    shift
    rm -f "$SHARED/group"
    third setsid sh -c 'echo $$ >"$0.new" && mv "$0.new" "$0" && exec "$@"' "$SHARED/group" "$@" <"$SHARED/token" >/dev/null 2>&1 &
    until [ -e "$SHARED/group" ]; do sleep 0.01; done
    sleep "$(printf '0.%03d' "$ms")"
    group=$(cat "$SHARED/group")
    kill -9 -- "-$group" || true
    wait $! || true
}

@test "killed anywhere, a join is done by the same command, and a leave too" {
    for ms in 0 10 30 60 120; do
        head1 remuda token --host trusted >"$SHARED/token"
        cut_off "$ms" remuda join 10.99.0.1
        if [ -e "$SHARED/third/host.conf" ]; then third remuda up; else third remuda join 10.99.0.1 <"$SHARED/token"; fi
        [ "$(hosts_of third | wc -l)" = 1 ]
        until_is 20 "idle" head1 sinfo -h -n third -o %t
        cut_off "$ms" remuda leave
        [ ! -e "$SHARED/third/host.conf" ] || third remuda leave
        [ -z "$(hosts_of third)" ]
        [ ! -e "$SHARED/third/tls" ]
        until_is 20 "" nodes_of third
        run ! grep third "$SHARED/head/joined.conf"
    done
}

@test "a leave that was cut off after its key was gone is finished" {
    third remuda join 10.99.0.1 < <(head1 remuda token --host login)
    head1 remuda hosts remove third
    rm "$SHARED/third/tls/host.key"
    run -0 third remuda leave
    echo "$output"
    [[ "$output" =~ "The key of this host is gone".*"remuda hosts remove h" ]]
    [ ! -e "$SHARED/third/host.conf" ]
    [ ! -e "$SHARED/third/tls" ]
}

@test "the controller is killed while a machine joins or leaves: the same command does the rest" {
    for ms in 0 20 60; do
        head1 remuda token --host trusted >"$SHARED/token"
        third remuda join 10.99.0.1 <"$SHARED/token" >/dev/null 2>&1 &
        sleep "$(printf '0.%03d' "$ms")"
        kill -9 "$(cat "$SHARED/head/controller.pid")"
        wait $! || true
        head1 remuda up -q
        if [ -e "$SHARED/third/host.conf" ]; then third remuda up; else third remuda join 10.99.0.1 <"$SHARED/token"; fi
        [ "$(hosts_of third | wc -l)" = 1 ]
        until_is 30 "idle" head1 sinfo -h -n third -o %t
        third remuda leave >/dev/null 2>&1 &
        sleep "$(printf '0.%03d' "$ms")"
        kill -9 "$(cat "$SHARED/head/controller.pid")"
        wait $! || true
        head1 remuda up -q
        until_is 30 "" hosts_of third
        until_is 30 "" nodes_of third
        run ! grep third "$SHARED/head/joined.conf"
        until_is 30 gone sh -c "[ -e '$SHARED/third/tls' ] || echo gone"
    done
}

@test "joined.conf cannot be written: who joins is told, and the node is there once it can" {
    block "$SHARED/head/joined.conf"
    run -0 third remuda join 10.99.0.1 < <(head1 remuda token --host trusted)
    echo "$output"
    [[ "$output" =~ "warning: node third is not there yet: on the controller's host, ".*joined.conf ]]
    [ -z "$(nodes_of third)" ]
    # It is not forgotten, and is tried again; first in vain.
    head1 scontrol reconfigure
    [ -z "$(nodes_of third)" ]
    unblock "$SHARED/head/joined.conf"
    head1 scontrol reconfigure
    until_is 30 "idle" head1 sinfo -h -n third -o %t
    run -0 grep -c "^NodeName=third .* # host $(hosts_of third)$" "$SHARED/head/joined.conf"
    # Who leaves is told that its line stays, and so is who shuts it out.
    block "$SHARED/head/joined.conf"
    run -0 third remuda leave
    echo "$output"
    [[ "$output" =~ "remuda leave: warning: ".*joined.conf ]]
    unblock "$SHARED/head/joined.conf"
    run -0 third remuda join 10.99.0.1 < <(head1 remuda token --host trusted)
    until_is 30 "idle" head1 sinfo -h -n third -o %t
    block "$SHARED/head/joined.conf"
    run -0 head1 remuda hosts remove third
    echo "$output"
    [[ "$output" =~ "warning: ".*joined.conf ]]
    [ "$(nodes_of third)" = third ]
    unblock "$SHARED/head/joined.conf"
    head1 scontrol reconfigure
    until_is 20 "" nodes_of third
    third_is_gone
}

@test "while the controller's disk is full, who joins or leaves is told so at once, and it can be done later" {
    mkdir "$SHARED/small"
    mount -t tmpfs -o size=16m tmpfs "$SHARED/small" 2>/dev/null || skip "no small file system can be mounted here"
    small1() { on "$HEAD_NS" head env REMUDA_STATE="$SHARED/small/state" "$@"; }
    full() { cat /dev/zero >"$SHARED/small/fill" 2>/dev/null || true; until_is 40 1 sh -c "ip netns exec $HEAD_NS env REMUDA_STATE=$SHARED/small/state sbatch -H --wrap true 2>&1 | grep -c 'store is away'"; }
    room() { rm "$SHARED/small/fill"; until_is 40 0 sh -c "ip netns exec $HEAD_NS env REMUDA_STATE=$SHARED/small/state sbatch -H --wrap true >/dev/null 2>&1; echo \$?"; }
    mkdir "$SHARED/small/state"
    printf 'ClusterName=small\nSlurmctldPort=6818\nNodeName=node1 CPUs=1 RealMemory=500 Virtual=YES\nPartitionName=main Nodes=ALL Default=YES\n' >"$SHARED/small/state/remuda.conf"
    small1 remuda up -q
    token=$(small1 remuda token --host login)
    full
    run ! third remuda join 10.99.0.1:6818 <<<"$token"
    echo "$output"
    [[ "$output" =~ "the store is away: ".*"Nothing was changed" ]]
    room
    [ "$(small1 remuda hosts | wc -l)" = 1 ]
    run -0 third remuda join 10.99.0.1:6818 <<<"$token"
    full
    run -0 third remuda leave
    echo "$output"
    [[ "$output" =~ "the store is away" && "$output" =~ "is leaving cluster" ]]
    room
    until_is 30 1 sh -c "ip netns exec $HEAD_NS env REMUDA_STATE=$SHARED/small/state remuda hosts | wc -l"
    until_is 30 gone sh -c "[ -e '$SHARED/third/host.conf' ] || echo gone"
    small1 remuda down
    umount "$SHARED/small"
}

@test "a line that stayed when its host left goes with the next start, and one of the site's own does not" {
    printf 'NodeName=ghost CPUs=1 # host h00000000\nNodeName=handy CPUs=1 # of ours\n' >>"$SHARED/head/joined.conf"
    head1 remuda down
    run -0 head1 remuda up
    run ! grep ghost "$SHARED/head/joined.conf"
    [ -z "$(nodes_of ghost)" ]
    [ "$(nodes_of handy)" = handy ]
    [ "$(nodes_of far)" = far ]
    sed -i /handy/d "$SHARED/head/joined.conf"
    head1 scontrol reconfigure
}

@test "a machine joins by the name of one that left long ago: its node is used" {
    third remuda join 10.99.0.1 < <(head1 remuda token --host trusted)
    until_is 30 "idle" head1 sinfo -h -n third -o %t
    down() { grep -c 'node third has not been heard of' "$SHARED/head/log/controller.log" || true; }
    before=$(down)
    third remuda leave
    # SlurmdTimeout=8 goes by.
    until_is 60 "$((before + 1))" down
    third remuda join 10.99.0.1 < <(head1 remuda token --host trusted)
    until_is 30 "idle" head1 sinfo -h -n third -o %t
    third_is_gone
}

@test "nobody leaves while jobs run there, but --force ends them" {
    third remuda join 10.99.0.1 < <(head1 remuda token --host trusted)
    until_is 30 "idle" head1 sinfo -h -n third -o %t
    id=$(head1 sbatch --parsable --no-requeue -w third --mem=50 -o /dev/null --wrap 'sleep 605')
    until_is 20 "1" far_runs "sleep 605"
    run -1 third remuda leave
    [[ "$output" =~ "jobs $id run here".*"nodename=third state=drain" ]]
    [ "$(head1 squeue -h -j "$id" -o %T)" = RUNNING ]
    run -0 third remuda leave --force
    [[ "$output" =~ "ending what runs here of jobs $id" ]]
    [ "$(far_runs "sleep 605")" = 0 ]
    until_is 40 "NODE_FAIL" head1 sacct -n -P -X -j "$id" -o State
    third_is_gone
}

@test "a controller that was started anew knows of jobs on a host that left" {
    third remuda join 10.99.0.1 < <(head1 remuda token --host trusted)
    until_is 30 "idle" head1 sinfo -h -n third -o %t
    id=$(head1 sbatch --parsable --requeue -w third --mem=50 -o /dev/null --wrap 'sleep 607')
    until_is 20 "1" far_runs "sleep 607"
    third remuda leave --force
    head1 remuda down
    run -0 head1 remuda up
    run ! grep 'NodeName=third' "$SHARED/head/joined.conf"
    until_is 60 PENDING head1 squeue -h -j "$id" -o %T
    head1 scancel "$id"
    third_is_gone
}

@test "what runs on a host that was shut out is ended there before it may run elsewhere" {
    third remuda join 10.99.0.1 < <(head1 remuda token --host trusted)
    until_is 30 "idle" head1 sinfo -h -n third -o %t
    id=$(head1 sbatch --parsable --requeue -w third --mem=50 -o /dev/null --wrap 'sleep 606')
    until_is 20 "1" far_runs "sleep 606"
    head1 remuda hosts remove third
    until_is 20 "0" far_runs "sleep 606"
    [ "$(head1 squeue -h -j "$id" -o %T)" = RUNNING ] # as far as the controller knows, until SlurmdTimeout
    grep -q "was shut out of the cluster: what jobs run here is ended in [0-9] s, unless it joins again before" "$SHARED/third/log/node-third.log"
    until_is 40 PENDING head1 squeue -h -j "$id" -o %T
    head1 scancel "$id"
    third remuda leave
    third_is_gone
}

@test "tokens that are over are in no list" {
    id=$(head1 remuda token --host login --for 0:01 | awk -F. '{ print $2 }')
    until_is 10 "" sh -c "ip netns exec $HEAD_NS env REMUDA_STATE=$SHARED/head remuda token list | grep '$id'"
}
