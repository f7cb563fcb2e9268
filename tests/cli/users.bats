#!/usr/bin/env bats
# Who may what: with root the cluster serves many users, each job runs as its owner; without root it serves its owner alone.
bats_require_minimum_version 1.5.0

# An ordinary user of the machine that every Debian has.
as_nobody() { setpriv --reuid=nobody --regid=nogroup --clear-groups --reset-env env PATH="$PATH" HOME="$SHARED/home" REMUDA_STATE="${STATE:-$REMUDA_STATE}" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$@"; }

setup_file() {
    [ "$(id -u)" = 0 ] || return 0
    SHARED=$(mktemp -d /tmp/remuda-users-XXXXXX)
    export SHARED REMUDA_STATE="$SHARED/state"
    chmod 755 "$SHARED"
    mkdir -m 777 "$SHARED/home"
    remuda up -q --nodes 1 --cpus 2 --mem 2000
}

teardown_file() {
    [ "$(id -u)" = 0 ] || return 0
    scancel -u root,nobody || true
    remuda down
    rm -rf "$SHARED"
}

setup() {
    [ "$(id -u)" = 0 ] || skip "needs root to be several users"
    as_nobody remuda version >/dev/null 2>&1 || skip "the programs are not readable for other users here"
    cd "$SHARED/home" || exit 1
}

wait_over() {
    for _ in $(seq 300); do
        [ -z "$(squeue -h -j "$1" 2>/dev/null)" ] && return 0
        sleep 0.1
    done
    squeue
    return 1
}

@test "a job of a user without a name is listed by his number, and ends nobody's command" {
    run -0 setpriv --reuid=64101 --regid=nogroup --clear-groups --reset-env env PATH="$PATH" HOME=/ REMUDA_STATE="$REMUDA_STATE" ASAN_OPTIONS="${ASAN_OPTIONS:-}" sbatch --parsable -H -D / --wrap true
    id=$output
    for command in "squeue -l" "squeue --json" "sacct -a" "sprio" "scontrol show job $id" "remuda why $id" "remuda status" "qstat" "qstat -f" "qstat -a" "qstat -w" "qstat -s" "qselect" \
        "tracejob $id" "bjobs -u all" "bjobs -l -u all" "bjobs -W -u all" "bjobs -json -o jobid -u all" "bhist -u all" "bhist -l $id" "bacct -u all" "busers all" "showq" "checkjob $id" "bjdepinfo $id"; do
        run timeout 20 $command
        echo "$command: $status $output"
        [ "$status" -lt 124 ] || [ "$status" = 255 ] || [ "$status" = 153 ]
    done
    [[ "$(qstat)" =~ $id.*64101 && "$(bjobs -u all)" =~ $id.*64101 ]]
    scancel "$id"
}

@test "a job of an ordinary user runs as that user, in their directory, and its files are theirs" {
    id=$(as_nobody sbatch --parsable --wrap 'id -un; pwd; umask; touch mine')
    wait_over "$id"
    [ "$(sed -n 1,2p "slurm-$id.out")" = $'nobody\n'"$SHARED/home" ]
    [ "$(stat -c %U mine "slurm-$id.out" | sort -u)" = nobody ]
    [ "$(sacct -n -P -X -j "$id" -o User,State)" = "nobody|COMPLETED" ]
}

@test "users may not touch each other's jobs, nor nodes, nor set priorities" {
    id=$(sbatch --parsable -H --wrap true)
    # Slurm's numbers, of which an exit status is the low byte.
    run -210 as_nobody scancel "$id"
    [[ "$output" =~ "Access/permission denied" ]]
    run -228 scancel -s USR1 "$id"
    # Whoever names a user means all of his jobs; other filters choose among one's own.
    run -210 as_nobody scancel -u root
    [ "$output" = "scancel: error: Kill job error on job id $id: Access/permission denied" ]
    run -0 as_nobody scancel -t PENDING
    [ -z "$output" ]
    run ! as_nobody scontrol release "$id"
    run ! as_nobody scontrol update JobId="$id" TimeLimit=1
    run ! as_nobody scontrol write batch_script "$id" -
    run ! as_nobody scontrol update NodeName=node1 State=DRAIN Reason=x
    [[ "$output" =~ operators ]]
    run ! as_nobody scontrol reconfigure
    own=$(as_nobody sbatch --parsable -H --wrap true)
    run ! as_nobody scontrol update JobId="$own" Priority=100000
    as_nobody scancel "$own"
    [ "$(squeue -h -j "$id" -o %T)" = PENDING ]
    scancel "$id"
}

@test "rootless: an ordinary user's own cluster, all of it" {
    export STATE="$SHARED/home/own"
    as_nobody remuda up -q --cpus 1 --mem 500 3>&-
    id=$(as_nobody sbatch --parsable -o own.out --wrap 'id -un; exit 5')
    for _ in $(seq 300); do as_nobody sacct -n -P -X -j "$id" -o State | grep -q FAILED && break; sleep 0.1; done
    [ "$(as_nobody sacct -n -P -X -j "$id" -o State,ExitCode)" = "FAILED|5:0" ]
    [ "$(cat own.out)" = nobody ]
    as_nobody remuda down
}

@test "a cluster of somebody else that does not run: who starts it is said, at once, and nobody is told to start it" {
    export STATE="$SHARED/stopped"
    REMUDA_STATE=$STATE remuda up -q --nodes 1 --cpus 1 --mem 500 3>&-
    run -1 as_nobody remuda down
    [ "$output" = "remuda down: error: the cluster in $STATE is root's, who alone may stop it" ]
    kill "$(REMUDA_STATE=$STATE remuda status --pid controller)"
    # Its node's daemon runs on: nobody waits for it in vain.
    run -1 as_nobody remuda down
    [ "$output" = "remuda down: error: the cluster in $STATE is root's, who alone may stop it" ]
    run -1 as_nobody remuda up
    [[ "$output" == "remuda up: error: the cluster in $STATE is root's, who alone may start it; choose another directory"* ]]
    REMUDA_STATE=$STATE remuda down
    run -1 as_nobody squeue
    [[ "$output" == *"controller not running in $STATE; root, whose it is, starts it"* ]]
    [[ "$output" != *"remuda up"* ]]
}

@test "srun as an ordinary user: the tasks are theirs, so is their terminal; another's job is closed to them" {
    [ "$(as_nobody srun -n2 sh -c 'id -un; touch "task_$SLURM_PROCID"' | sort -u)" = nobody ]
    [ "$(stat -c %U task_0 task_1 | sort -u)" = nobody ]
    [[ "$(as_nobody env SHELL=/bin/sh script -qec 'srun --pty sh -c "stat -c owner=%U \$(tty)"' /dev/null < /dev/null)" == *owner=nobody* ]]
    srun sleep 60 & pid=$!
    for _ in $(seq 300); do id=$(squeue -h -u root -t R -o %i); [ -n "$id" ] && break; sleep 0.1; done
    run as_nobody srun --jobid="$id" --overlap true
    [ "$status" != 0 ]
    [[ "$output" == *"Access/permission denied"* ]]
    run as_nobody sattach "$id.0"
    [ "$status" != 0 ]
    run -218 as_nobody scancel "$id.0"
    run -210 as_nobody scancel "$id"
    run -255 as_nobody sbcast -j "$id" /etc/hostname "$PWD/cast"
    [ "$output" = "sbcast: error: Slurm job $id lookup error: Access/permission denied" ]
    scancel "$id"
    wait $pid || true
}

@test "PBS's qmgr and qstop by a user: Unauthorized, and nothing happens" {
    run -2 as_nobody qmgr -c "set queue main enabled=False"
    [[ "$output" == "qmgr: Unauthorized Request"* ]]
    run -2 as_nobody qmgr -c "set node node1 state=offline"
    run -159 as_nobody qstop main
    [ "$(scontrol show partition main | grep -o 'State=[A-Z]*')" = State=UP ]
    [ -z "$(pbsnodes -l)" ]
    as_nobody qmgr -c 'list queue main enabled' | grep -qx '    enabled = True'
}
