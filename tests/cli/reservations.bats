#!/usr/bin/env bats
# Reservations with real daemons: scontrol's words, listings, who may, jobs inside and outside.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<'END'
ClusterName=resv
Licenses=sim:4
NodeName=n[1-3] CPUs=2 RealMemory=1000 Feature=fast Virtual=YES
PartitionName=main Nodes=ALL Default=YES
END
    for _ in $(seq 300); do
        [ "$(sinfo -h -r -o %D)" = 3 ] && break
        sleep 0.1
    done
}

teardown_file() { remuda down; }

@test "none at first" {
    [ "$(scontrol show reservation)" = "No reservations in the system" ]
    [ "$(sinfo -T)" = "No reservations in the system" ]
    run -1 scontrol show reservation nothing
    [ "$output" = "Reservation nothing not found" ]
}

@test "update: where a job is named, in any of Slurm's words, the reservation is what it is to have" {
    me=$(id -un)
    scontrol create reservation theirs StartTime=now+1day Duration=30 Users="$me" Nodes=n1
    id=$(sbatch --parsable --hold -J mine --wrap true)
    for words in "job=$id reservation=theirs" "job $id ReservationName=theirs" "JOBID $id Reservation=theirs" "reservation=theirs job=$id" \
        "JobId=$id ReservationName=theirs" "jobname=mine reservationname=theirs"; do
        scontrol update $words
        [ "$(squeue -h -j "$id" -O Reservation:10 | tr -d ' ')" = theirs ]
        scontrol update JobId="$id" ReservationName=
        [ "$(squeue -h -j "$id" -O Reservation:10 | tr -d ' ')" = "(null)" ]
    done
    scancel "$id"
    scontrol delete ReservationName=theirs
}

@test "create, show, list, delete" {
    me=$(id -un)
    run -0 scontrol create reservation class StartTime=now+1hour Duration=30 Users="$me" Nodes=n[1-2] Flags=DAILY
    [ "$output" = "Reservation created: class" ]
    run -0 scontrol show reservation class
    [[ "${lines[0]}" =~ ^ReservationName=class\ StartTime=20.*\ EndTime=20.*\ Duration=00:30:00$ ]]
    [ "${lines[1]}" = "   Nodes=n[1-2] NodeCnt=2 CoreCnt=4 Features=(null) PartitionName=(null) Flags=DAILY,SPEC_NODES" ]
    [ "${lines[2]}" = "   TRES=cpu=4" ]
    [ "${lines[3]}" = "   Users=$me Groups=(null) Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null)" ]
    # clustershell and reframe
    [[ "$(scontrol -o show reservation class)" =~ ^ReservationName=class\ .*\ Nodes=n\[1-2\]\ NodeCnt=2\ .*Flags=DAILY,SPEC_NODES ]]
    [ "$(scontrol -a show -o reservations class | wc -l)" = 1 ]
    run -0 sinfo -T
    [[ "${lines[0]}" =~ ^RESV_NAME\ +STATE\ +START_TIME\ +END_TIME\ +DURATION\ +NODELIST$ ]]
    [[ "${lines[1]}" =~ ^class\ +INACTIVE\ .*\ 00:30:00\ +n\[1-2\]$ ]]
    scontrol show reservation --json | python3 -c 'import json,sys; r=json.load(sys.stdin)["reservations"][0]; assert r["node_list"]=="n[1-2]" and r["flags"]==["DAILY","SPEC_NODES"] and r["start_time"]["set"], r'
    scontrol update ReservationName=class Duration+=10 Users+=root Flags-=DAILY
    [[ "$(scontrol -o show reservation class)" =~ Duration=00:40:00.*Flags=SPEC_NODES.*Users=$me,root ]] || [ "$me" = root ]
    [[ "$(scontrol -o show reservation class)" =~ Duration=00:40:00.*Flags=SPEC_NODES ]]
    run -1 scontrol create reservation other StartTime=now+1hour Duration=30 Users="$me" Nodes=n2
    [ "${lines[0]}" = "Error creating the reservation: Requested reservation overlaps with another reservation" ]
    [[ "$output" == *"n2 is in use or reserved in that time"* ]]
    run -1 scontrol create reservation class StartTime=now Duration=30 Users="$me" Nodes=n3
    [[ "$output" == *"Duplicate reservation name"* ]]
    run -1 scontrol create reservation x StartTime=now Duration=30 Users="$me" Nodes=n3 Flags=TIME_FLOAT
    [[ "$output" == *"TIME_FLOAT is not supported: a reservation begins at a fixed time"* ]]
    scontrol delete ReservationName=class
    [ "$(scontrol show reservation)" = "No reservations in the system" ]
}

@test "jobs inside and outside, node states, the environment" {
    me=$(id -un)
    scontrol create reservation in StartTime=now Duration=60 Users="$me" NodeCnt=2
    [ "$(sinfo -h -N -n n1,n2 -o %T | sort -u)" = reserved ]
    [ "$(sinfo -h -o '%i|%N' | sort | tr '\n' ' ')" = "in|n[1-2] |n3 " ]
    [[ "$(scontrol -o show node n1)" == *" ReservationName=in"* ]]
    [[ "$(scontrol -o show node n3)" != *ReservationName* ]]
    scontrol show node n2 --json | python3 -c 'import json,sys; n=json.load(sys.stdin)["nodes"][0]; assert n["reservation"]=="in" and "RESERVED" in n["state"], n'
    out="$BATS_TEST_TMPDIR/out"
    inside=$(sbatch --parsable --reservation=in -o "$out" --wrap='echo $SLURM_JOB_RESERVATION $SLURM_JOB_NODELIST')
    wait_state "$inside" COMPLETED
    [ "$(cat "$out")" = "in n1" ]
    outside=$(sbatch --parsable -o /dev/null --wrap='sleep 0')
    wait_state "$outside" COMPLETED
    [ "$(squeue -h -t all -j "$outside" -o %N)" = n3 ]
    wide=$(sbatch --parsable -N2 -o /dev/null --wrap=true)
    wait_state "$wide" PENDING
    sleep 0.5
    [ "$(squeue -h -j "$wide" -o %T)" = PENDING ]
    run -1 sbatch --reservation=inn --wrap=true
    [[ "$output" == *"Requested reservation is invalid"* ]]
    [[ "$output" == *"did you mean in?"* ]]
    run -1 sbatch --reservation=in -t 3:00:00 --time-min=2:00:00 --wrap=true
    [[ "$output" == *"lasts 01:00:00"* ]]
    run -0 sbatch --parsable --reservation=in -t 2:00:00 -o /dev/null --wrap=true # decision 81
    [[ "$output" == *"lasts 01:00:00 and its jobs end with it"* ]]
    wait_state "$(grep -oxE '[0-9]+' <<<"$output")" COMPLETED
    scontrol delete reservation in
    wait_state "$wide" COMPLETED
}

@test "a magnetic one draws jobs that did not ask for it" {
    me=$(id -un)
    scontrol create reservation mag StartTime=now Duration=60 Users="$me" Nodes=n3 Flags=MAGNETIC
    [[ "$(scontrol -o show reservation mag)" == *" Flags=SPEC_NODES,MAGNETIC "* ]]
    drawn=$(sbatch --parsable -t 5 -o "$BATS_TEST_TMPDIR/out" --wrap='echo $SLURM_JOB_RESERVATION; sleep 60')
    wait_state "$drawn" RUNNING
    [ "$(squeue -h -R mag -o '%i %N %v')" = "$drawn n3 mag" ]
    [[ "$(scontrol show job "$drawn")" == *"Reservation=mag"* ]]
    [ "$(sacct -n -X -P -j "$drawn" -o reservation)" = mag ]
    [ "$(squeue -h -j "$drawn" --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["jobs"][0]["resv_name"])')" = mag ]
    long=$(sbatch --parsable -t 2:00:00 -o /dev/null --wrap='sleep 60')
    wait_state "$long" RUNNING
    [ "$(squeue -h -j "$long" -o %v)" = "(null)" ]
    scancel -R mag
    wait_state "$drawn" CANCELLED
    [ "$(squeue -h -j "$long" -o %T)" = RUNNING ]
    scancel "$long"
    scontrol update ReservationName=mag Flags-=MAGNETIC
    [[ "$(scontrol -o show reservation mag)" == *" Flags=SPEC_NODES "* ]]
    scontrol delete ReservationName=mag
}

@test "maintenance, licences, cores; it survives the controller" {
    me=$(id -un)
    scontrol create reservation ReservationName=work StartTime=now Duration=60 Users="$me" Nodes=ALL Flags=MAINT,IGNORE_JOBS
    [ "$(sinfo -h -o %T | sort -u)" = maint ]
    kill -9 "$(remuda status --pid controller)"
    remuda up -q
    for _ in $(seq 300); do
        [ "$(sinfo -h -o %T 2> /dev/null | sort -u)" = maint ] && break
        sleep 0.1
    done
    [[ "$(scontrol -o show reservation)" =~ ReservationName=work.*Flags=MAINT,IGNORE_JOBS,ALL_NODES,SPEC_NODES.*State=ACTIVE ]]
    scontrol delete reservation=work
    scontrol create reservation lic StartTime=now Duration=60 Users="$me" TRES=license/sim=3 Flags=LICENSE_ONLY
    two=$(sbatch --parsable -L sim:2 -o /dev/null --wrap=true)
    ours=$(sbatch --parsable -L sim:2 --reservation=lic -o /dev/null --wrap=true)
    wait_state "$ours" COMPLETED
    [ "$(squeue -h -j "$two" -o %T)" = PENDING ]
    [[ "$(scontrol -o show licenses sim)" =~ Total=4\ Used=0\ Free=4\ Reserved=3 ]]
    scontrol show licenses --json | python3 -c 'import json,sys; l=json.load(sys.stdin)["licenses"][0]; assert l["Reserved"]==3, l'
    scontrol delete reservation lic
    wait_state "$two" COMPLETED
    scontrol create reservation part StartTime=now Duration=60 Users="$me" Nodes=n1 CoreCnt=1
    [[ "$(scontrol -o show res part)" =~ CoreCnt=1\ .*TRES=cpu=1 ]]
    scontrol delete reservation part
}

@test "the ways to write times, users and amounts" {
    me=$(id -un)
    end_of() { scontrol -o show res "$1" | sed -E 's/.* Duration=([^ ]+) .*/\1/'; }
    scontrol create reservation a StartTime=tomorrow Duration=UNLIMITED Users=-root,-daemon NodeCnt=1,1
    [[ "$(scontrol -o show res a)" =~ StartTime=[0-9-]+T00:00:00\ .*NodeCnt=2\ .*Users=-root,-daemon ]]
    [ "$(end_of a)" = 365-00:00:00 ]
    scontrol create reservation b StartTime=now+30minutes EndTime=now+2hours Accounts=physics Nodes=n3 Flags=HOURLY,PURGE_COMP=00:02:00 2> "$BATS_TEST_TMPDIR/err" && false
    [[ "$(cat "$BATS_TEST_TMPDIR/err")" == *"longer than the time until it comes again"* ]]
    scontrol create reservation b StartTime=now+30minutes EndTime=now+1hour Accounts=physics Nodes=n3 Flags=HOURLY,PURGE_COMP=00:02:00
    [[ "$(scontrol -o show res b)" =~ Flags=HOURLY,PURGE_COMP=00:02:00,SPEC_NODES.*Accounts=physics ]]
    first=$(date -d "$(scontrol -o show res b | sed -E 's/.*StartTime=([^ ]+) .*/\1/')" +%s)
    scontrol update ReservationName=b Skip
    second=$(date -d "$(scontrol -o show res b | sed -E 's/.*StartTime=([^ ]+) .*/\1/')" +%s)
    [ $((second - first)) = 3600 ]
    scontrol delete res a
    scontrol delete res b
    for flags in WEEKDAY WEEKEND WEEKLY FLEX,DAILY REPLACE REPLACE_DOWN STATIC; do
        scontrol create reservation c StartTime=now+1hour Duration=10 Users="$me" NodeCnt=1 Flags=$flags
        [[ "$(scontrol -o show res c)" == *" Flags="*"${flags##*,}"* ]]
        scontrol delete res c
    done
    scontrol create reservation p StartTime=now+1hour Duration=10 Users="$me" PartitionName=main Nodes=ALL Flags=PART_NODES
    [[ "$(scontrol -o show res p)" =~ Nodes=n\[1-3\]\ .*PartitionName=main\ .*PART_NODES ]]
    scontrol delete res p
    run -1 scontrol create reservation d StartTime=now Duration=10 Users="$me" Nodes=n1 Flags=TIME_FLOAT
    [[ "$output" == *"TIME_FLOAT is not supported"* ]]
    for many in 9223372036854775807,9223372036854775807,3 65536,65536,1 65537; do # also sums that come round to a small number
        run -1 scontrol create reservation d StartTime=now+1hour Duration=10 Users="$me" NodeCnt=$many
        [[ "$output" == *"a number of nodes is expected, not \"$many\""* ]]
    done
    run -1 scontrol create reservation d StartTime=now Duration=10 Users="$me" Nodes=n1 BurstBuffer=x
    [[ "$output" == *"not supported"* ]]
}

@test "lists that name nobody, and features that no node has, are refused in Slurm's words" {
    new() { run -1 scontrol create reservation=nobody StartTime=now+1hour Duration=5 NodeCnt=1 "$@"; }
    for list in , ,, - ' ,'; do
        new Users="$list"
        [ "${lines[0]}" = "Error creating the reservation: Invalid user id" ]
        new Groups="$list"
        [ "${lines[0]}" = "Error creating the reservation: Invalid group id" ]
        new Accounts="$list"
        [[ "${lines[0]}" == "Error creating the reservation: Invalid account or account/partition"* ]]
    done
    new Groups=nosuchgroup
    [ "${lines[0]}" = "Error creating the reservation: Invalid group id" ]
    new Users=root Features=nosuch
    [ "${lines[0]}" = "Error creating the reservation: Invalid feature specification" ]
    [[ "$output" == *"no node has the feature nosuch"* ]]
    [ "$(scontrol show reservation)" = "No reservations in the system" ]
    scontrol create reservation=some StartTime=now+1hour Duration=5 NodeCnt=1 Users=root Features=fast
    run -1 scontrol update reservation=some Users=,
    [ "${lines[0]}" = "Error updating the reservation: Invalid user id" ]
    [[ "$(scontrol show reservation some)" == *Users=root* ]]
    scontrol delete reservation=some
}

@test "whom it is for: += and -= of lists that admit and that deny, numbers, signs of their own" {
    for kind in Users Accounts; do
        of() { scontrol -o show reservation whom | sed "s/.* $kind=\([^ ]*\).*/\1/"; }
        other=Accounts=a
        [ "$kind" = Users ] || other=Users=root
        scontrol create reservation=whom StartTime=now+1hour Duration=5 Nodes=n1 "$kind=-bin" "$other"
        for change in -=daemon:-bin,-daemon =-sys:-bin,-daemon,-sys +=bin:-daemon,-sys =+sys:-daemon -=daemon:-daemon +=daemon:'(null)' \
            -=sys:-sys =root,bin:root,bin -=bin,sys:root +=sys:root,sys +=root:sys,root =-sys:root =+bin:root,bin; do
            scontrol update reservation=whom "$kind${change%%:*}"
            [ "$(of)" = "${change#*:}" ] || { echo "$kind${change%%:*}: $(of)"; return 1; }
        done
        scontrol update reservation=whom "$kind-=bin" "$kind+=sys"
        [ "$(of)" = root,sys ]
        for wrong in =root,-bin -=-bin +=-bin =+bin,-sys; do
            run -1 scontrol update reservation=whom "$kind$wrong"
            [[ "${lines[0]}" == "Error updating the reservation: Invalid "* ]]
        done
        [ "$(of)" = root,sys ]
        scontrol delete reservation=whom
    done
    # Numbers are names, with which jobs are known; who has none is nobody.
    scontrol create reservation=whom StartTime=now+1hour Duration=5 Nodes=n1 Users=-1,-"$(id -u nobody)" Accounts=1
    shown=$(scontrol -o show reservation whom)
    [[ "$shown" == *" Users=-$(id -nu 1),-nobody "*" Accounts=1 "* ]]
    scontrol update reservation=whom Users+=1
    [[ "$(scontrol -o show reservation whom)" == *" Users=-nobody "* ]]
    scontrol update reservation=whom Users= Groups=root,"$(id -g nobody)"
    [[ "$(scontrol -o show reservation whom)" == *" Groups=root,$(id -gn nobody) "* ]]
    for wrong in Users=4000000000 Groups=4000000000 Groups-=4000000000; do
        run -1 scontrol update reservation=whom "$wrong"
        [[ "${lines[0]}" == "Error updating the reservation: Invalid "*" id" ]]
    done
    scontrol delete reservation=whom
    for wrong in Users=+root Groups=-root Groups-=root Accounts=+a; do
        run -1 scontrol create reservation=whom StartTime=now+1hour Duration=5 Nodes=n1 "$wrong"
        [[ "${lines[0]}" == "Error creating the reservation: Invalid "* ]]
    done
}

@test "amounts that do not fit: nodes by TRES, a length without end, cores of a job" {
    for wrong in node=4294967297 node=65537 node=65536,1; do
        run -1 scontrol create reservation=much StartTime=now+1hour Duration=5 Users=root TRES="$wrong"
        [[ "$output" == *"there are at most 65536 nodes"* ]]
    done
    scontrol create reservation=much StartTime=now+1hour Duration=5 Users=root TRES=node=1
    scontrol update reservation=much Duration+=UNLIMITED
    [[ "$(scontrol -o show reservation much)" == *" Duration=365-00:00:00 "* ]]
    run -1 scontrol update reservation=much Duration-=UNLIMITED
    scontrol delete reservation=much
    id=$(sbatch --parsable --hold --wrap true)
    run -1 scontrol update JobId="$id" CoreSpec=2147483647
    [ "${lines[0]}" = "scontrol: error: Invalid CoreSpec value: 2147483647" ]
    scancel "$id"
}

@test "one of several, and both parts of a heterogeneous job" {
    me=$(id -un)
    scontrol create reservation early StartTime=now Duration=60 Users="$me" Nodes=n1
    scontrol create reservation late StartTime=now+1hour Duration=60 Users="$me" Nodes=n2
    out="$BATS_TEST_TMPDIR/out"
    either=$(sbatch --parsable --reservation=late,early -o "$out" --wrap='echo $SLURM_JOB_NODELIST')
    wait_state "$either" COMPLETED
    [ "$(cat "$out")" = n1 ]
    [ "$(squeue -h -t all -j "$either" -o %v)" = late,early ]
    pair=$(sbatch --parsable --reservation=early -n1 -o /dev/null --wrap=true : --reservation=late -n1)
    sleep 0.5
    [ "$(squeue -h -j "$pair" -o '%T %v' | sort | tr '\n' ' ')" = "PENDING early PENDING late " ]
    scancel "$pair"
    scontrol delete res early
    scontrol delete res late
}
