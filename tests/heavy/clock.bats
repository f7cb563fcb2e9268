#!/usr/bin/env bats
# Real daemons by a clock that somebody sets, forward and back by hours, while they run: limits, begin times, tokens, certificates, liveness, books. Needs faketime (its library alone);
# the clock that is never set (CLOCK_MONOTONIC) stays the kernel's, as it does when root sets the time.
bats_require_minimum_version 1.5.0

library() {
    local one
    for one in /usr/lib/*/faketime/libfaketimeMT.so.1 /usr/lib*/faketime/libfaketimeMT.so.1; do
        [ -e "$one" ] && echo "$one" && return
    done
    return 1
}

setup() {
    FAKE=$(library) || skip "needs faketime"
    export REMUDA_STATE="$BATS_TEST_TMPDIR/state"
    export FAKETIME_TIMESTAMP_FILE="$BATS_TEST_TMPDIR/offset" FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1 NO_FAKE_STAT=1
    cd "$BATS_TEST_TMPDIR" || return 1
    clock +0
    by_clock remuda up -q --nodes 2 --cpus 4 --mem 500
    printf 'SlurmdTimeout=10\nHeartbeatInterval=2\nMinJobAge=2\n' >>"$REMUDA_STATE/remuda.conf"
    by_clock scontrol reconfigure
}

teardown() {
    [ -z "${FAKE:-}" ] || by_clock remuda down
}

clock() { # clock OFFSET: everything that goes by it sees it at once
    echo "$1" >"$FAKETIME_TIMESTAMP_FILE.new"
    mv "$FAKETIME_TIMESTAMP_FILE.new" "$FAKETIME_TIMESTAMP_FILE"
}

by_clock() { LD_PRELOAD="$FAKE" "$@"; }
jobs_are() { by_clock squeue -h -a -t all -o "%i=%T" "$@" | sort | tr '\n' ' '; }
state_of() { by_clock sacct -n -X -P -j "$1" -o State | head -1; }

eventually() {
    for _ in $(seq 600); do
        "$@" && return
        sleep 0.1
    done
    echo "never: $*: $(by_clock squeue -a -t all; by_clock sinfo -N)"
    return 1
}
is_over() { [[ "$(state_of "$1")" != RUNNING && "$(state_of "$1")" != PENDING && -n "$(state_of "$1")" ]]; }
runs() { [ -n "$(by_clock squeue -h -t R "$@" -o %i)" ]; }
seconds_run() { by_clock sacct -n -X -P -j "$1" -o ElapsedRaw; }
nodes_up() { [ "$(by_clock sinfo -h -N -t idle,mix,alloc -o %N | sort -u | grep -c .)" = 2 ]; }

@test "limits count seconds that pass, however the clock is set meanwhile" {
    limited=$(by_clock sbatch --parsable -t 1 --wrap 'sleep 600')
    steps=$(by_clock sbatch --parsable -t 10 --wrap 'srun -t 1 sleep 600; echo $? >step-ended')
    eventually runs -j "$limited"
    for offset in +3h -7h +400d -400d +0 -1h; do
        clock "$offset"
        sleep 3
        [ "$(by_clock squeue -h -j "$limited" -o %T)" = RUNNING ]
        left=$(by_clock squeue -h -j "$limited" -O TimeLeft:20 | tr -d ' ')
        [[ "$left" =~ ^0:[0-5][0-9]$ ]]
        nodes_up
    done
    eventually is_over "$limited"
    [ "$(state_of "$limited")" = TIMEOUT ]
    [ "$(seconds_run "$limited")" -ge 55 ]
    [ "$(seconds_run "$limited")" -le 120 ]
    eventually is_over "$steps"
    [ "$(state_of "$steps")" = COMPLETED ]
    [ "$(cat step-ended)" != 0 ]
    [ "$(seconds_run "$steps")" -le 120 ]
}

@test "a begin time is a time of people: it has come when the clock says so, and has not when the clock is set back" {
    later=$(by_clock sbatch --parsable --begin=now+1hour --wrap 'true')
    sleep 1
    [ "$(by_clock squeue -h -j "$later" -o '%T %r')" = "PENDING BeginTime" ]
    clock -2h
    sleep 2
    [ "$(by_clock squeue -h -j "$later" -o '%T %r')" = "PENDING BeginTime" ]
    clock +2h
    eventually is_over "$later"
    [ "$(state_of "$later")" = COMPLETED ]
    clock +0
    # What came in the future runs now: nothing waits for a moment that was.
    for offset in +5h -5h +0; do
        clock "$offset"
        now=$(by_clock sbatch --parsable --wrap 'true')
        eventually is_over "$now"
        [ "$(state_of "$now")" = COMPLETED ]
        [ "$(seconds_run "$now")" -le 30 ]
    done
}

@test "a deadline and a reservation go by the clock, too" {
    deadline=$(by_clock sbatch --parsable --hold --deadline=now+2hours -t 10 --wrap 'true')
    by_clock scontrol create ReservationName=window Users="$(id -un)" Nodes=node1 StartTime=now+1hour Duration=60
    inside=$(by_clock sbatch --parsable --reservation=window -t 5 --wrap 'true')
    sleep 2
    [ "$(by_clock squeue -h -j "$inside" -o %T)" = PENDING ]
    clock +90m
    eventually is_over "$inside"
    [ "$(state_of "$inside")" = COMPLETED ]
    clock +3h
    eventually is_over "$deadline"
    [ "$(state_of "$deadline")" = DEADLINE ]
    [ -z "$(by_clock scontrol -o show reservation 2>/dev/null | grep 'State=ACTIVE')" ]
}

@test "daemons that start again while the clock is set: nothing runs twice, nothing is lost" {
    for offset in +0 +6h -6h +0; do
        clock "$offset"
        ids=()
        for i in 1 2 3; do
            ids+=("$(by_clock sbatch --parsable -n1 --mem=10 --wrap "echo run >>ran.\$SLURM_JOB_ID; sleep 4")")
        done
        eventually runs
        kill -9 "$(by_clock remuda status | awk '$1 == "controller" {print $3}')"
        clock "${offset/+6h/-3h}"
        by_clock remuda up -q
        by_clock remuda down
        clock "${offset/-6h/+9h}"
        by_clock remuda up -q
        for id in "${ids[@]}"; do
            eventually is_over "$id"
            [ "$(state_of "$id")" = COMPLETED ]
            [ "$(wc -l <"ran.$id")" = 1 ]
        done
        nodes_up
    done
    # Ids go up, whatever the clock said.
    [ "$(by_clock sacct -n -X -P -S 1970-01-01 -E now+2days -o JobIDRaw | sort -n | uniq -d | grep -c .)" = 0 ]
}

far() { by_clock env REMUDA_STATE="$BATS_TEST_TMPDIR/far" "$@"; }
far_is() { [ "$(by_clock sinfo -h -N -n far -o %T)" = "$1" ]; }
on_far() { by_clock srun -w far -n1 sh -c 'echo $SLURMD_NODENAME'; }

@test "a token is good for its time however the clock is set, and a host's certificate outlives a clock that was wrong for a while" {
    [ "$(id -u)" = 0 ] || skip "needs root"
    by_clock remuda token --host trusted --for 30 >token
    clock +2h
    by_clock remuda token --host trusted --for 0:02 >short
    sleep 3
    clock +1h # which was over does not come back
    run -1 far remuda join --name far 127.0.0.1 <short
    [[ "$output" =~ expired|"not known" ]]
    clock +2h # half an hour has not passed
    by_clock env REMUDA_STATE="$BATS_TEST_TMPDIR/other" remuda join --name other 127.0.0.1 <token
    by_clock env REMUDA_STATE="$BATS_TEST_TMPDIR/other" remuda down
    clock +0
    by_clock remuda hosts remove other
    by_clock remuda token --host trusted >token
    far remuda join --name far 127.0.0.1 <token
    far remuda up -q
    eventually far_is idle
    [ "$(on_far)" = far ]
    for offset in +2h -2h +800d -800d +0; do
        clock "$offset"
        sleep 3
    done
    eventually far_is idle
    [ "$(on_far)" = far ]
    far remuda down
    far remuda up -q
    eventually far_is idle
    [ "$(on_far)" = far ]
    far remuda down
}

@test "a cluster that began by a clock years ahead, and one behind: hosts come when it is right" {
    [ "$(id -u)" = 0 ] || skip "needs root"
    for offset in +5000d -5000d; do
        by_clock remuda down
        clock "$offset" # the authority is made, and the controller's certificate
        by_clock remuda up -q
        by_clock remuda token --host trusted >token
        clock +0
        by_clock remuda token --host trusted >token
        far remuda join --name far 127.0.0.1 <token
        far remuda up -q
        eventually far_is idle
        [ "$(on_far)" = far ]
        far remuda leave
        rm -r "$REMUDA_STATE/tls"
    done
}
