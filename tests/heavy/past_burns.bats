#!/usr/bin/env bats
# What is old of every kind (jobs, steps, events, reservations, transactions, sums) is written to files and removed while the controller is killed, and where the files cannot be written:
# nothing is lost, and what is loaded is there once. Needs faketime.
bats_require_minimum_version 1.5.0
load ../cli/common

setup() {
    command -v faketime >/dev/null || skip "needs faketime"
    export REMUDA_STATE="$BATS_TEST_TMPDIR/state" TZ=UTC
    FILES="$BATS_TEST_TMPDIR/files"
    mkdir -p "$REMUDA_STATE" "$FILES"
    cd "$BATS_TEST_TMPDIR"
    cat >"$REMUDA_STATE/remuda.conf" <<C
ClusterName=burns
MinJobAge=1
NodeName=b[1-2] CPUs=4 RealMemory=2000 Virtual=YES
PartitionName=main Nodes=ALL Default=YES
C
    long_ago remuda up -q 3>&-
    for i in 1 2 3 4 5 6; do long_ago sacctmgr -Qi add account "acc$i"; done
    long_ago sbatch -QW -n1 --mem=10 --array=1-20 -o /dev/null --wrap 'srun -Q --mem=5 true; srun -Q --mem=5 true'
    for i in 1 2 3; do
        long_ago scontrol update NodeName=b2 State=DRAIN Reason="old $i"
        sleep 1.1
        long_ago scontrol update NodeName=b2 State=RESUME
        sleep 1.1
        long_ago scontrol create ReservationName="old$i" StartTime=now Duration=1 Nodes=b1 Users=root Flags=OVERLAP >/dev/null
        long_ago scontrol delete ReservationName="old$i"
    done
    long_ago remuda down
    remuda up -q 3>&-
}

teardown() {
    chattr -i "$FILES" 2>/dev/null || true
    [ -z "${FILES:-}" ] || ! mountpoint -q "$FILES" || umount "$FILES"
    remuda down || true
}

long_ago() { faketime -f "@2024-02-29 22:59:50" "$@" >/dev/null; }

ALL="Jobs Steps Events Resvs TXN Usage"
AGES="PurgeJobAfter=1days PurgeStepAfter=1days PurgeEventAfter=1days PurgeResvAfter=1days PurgeTXNAfter=1days PurgeUsageAfter=1days"
dump() { sacctmgr -i archive dump $ALL $AGES Directory="$FILES"; }

# All that is told of that time. What brings it back is told of transactions, too, with a time of today.
told() {
    sacct -a -n -P -D -S 2020-01-01 -E 2024-06-01 -o JobIDRaw,JobID,State,Submit,Start,End,AllocTRES,ExitCode | sort
    sacctmgr -nP show event all_time Start=2024-01-01 End=2024-06-01 format=nodename,start,end,reason,state | grep old | sort
    sacctmgr -nP show transaction Start=2024-01-01 End=2024-06-01 format=time,action,actor,where | sort
    sreport -nP reservation utilization Start=2024-01-01 End=2024-06-01 | sort
    sreport -nP cluster AccountUtilizationByUser Start=2024-01-01 End=2024-06-01 -t seconds | sort
}
files_load() { for f in "$FILES"/*; do [ ! -f "$f" ] || sacctmgr -Q archive load file="$f"; done; }

@test "killed at any moment, every kind: nothing is lost, and nothing is there twice" {
    told >before
    [ "$(grep -c '|COMPLETED|' before)" -ge 60 ]
    for after in 0 0.002 0.005 0.01 0.02 0.03 0.05 0.08 0.12 0.2 0.4; do
        dump >/dev/null 2>&1 3>&- &
        sleep "$after"
        kill -9 "$(remuda status --pid controller)"
        wait || true
        remuda up -q 3>&-
        files_load
        told >now
        diff before now
        files_load
        told >now
        diff before now
    done
    run -0 dump
    echo "$output"
    [ -z "$(sacct -a -n -P -X -S 2020-01-01 -E 2024-06-01)" ]
    files_load
    told >now
    diff before now
}

@test "by itself, by the settings, killed as it begins: the same" {
    told >before
    printf '%s\n' $AGES ArchiveJobs=yes ArchiveSteps=yes ArchiveEvents=yes ArchiveResvs=yes ArchiveTXN=yes ArchiveUsage=yes "ArchiveDir=$FILES" >>"$REMUDA_STATE/remuda.conf"
    remuda down
    for round in 1 2 3; do
        remuda up -q 3>&-
        dump >/dev/null 2>&1 3>&- &
        dump >/dev/null 2>&1 3>&- & # two at once
        sleep "0.0$round"
        kill -9 "$(remuda status --pid controller)"
        wait || true
    done
    remuda up -q 3>&-
    files_load
    told >now
    diff before now
}

# past_write FROM TO: jobs of another cluster, as its sacct printed them.
past_write() {
    echo "JobID|JobIDRaw|JobName|User|Account|Partition|Submit|Start|End|State|ExitCode|AllocTRES|NodeList"
    for ((i = $1; i < $2; i++)); do
        echo "$i|$i|old|root|root|main|2023-03-01T01:00:00|2023-03-01T01:00:10|2023-03-01T01:20:30|COMPLETED|0:0|cpu=1,mem=10M,node=1|b1"
    done
}

@test "two of it at once, killed: backup, archive, its loading, import, accounts loaded and dumped" {
    past_write 100000 100600 >jobs.txt
    sacctmgr dump burns File=accounts >/dev/null
    for i in $(seq 100); do echo "Account - 'many$i':Description='d':Organization='o':MaxJobs=$i"; done | { echo "Parent - 'root'"; cat; } >>accounts
    all_told() { told; sacctmgr -nP show assoc format=account,user,maxjobs | sort; }
    do_backup() { rm -f copy; remuda backup copy; }
    do_import() { TZ=UTC remuda import slurm --jobs jobs.txt; }
    do_accounts() { sacctmgr -i load accounts; }
    do_dump() { sacctmgr dump burns File="dumped.$BASHPID"; }
    do_import >/dev/null
    do_accounts >/dev/null
    all_told >before
    [ "$(grep -c '^1005..|' before)" = 100 ]
    round=0
    for pair in "backup import" "dump import" "import import" "backup accounts" "dump files_load" "import accounts" "accounts accounts" "backup files_load" "import files_load"; do
        dump >/dev/null # imported jobs, too: they are in files, and come again from there or by the import
        for one in $pair; do
            case $one in dump | files_load) $one ;; *) "do_$one" ;; esac >/dev/null 2>&1 3>&- &
        done
        sleep "0.$((round++ % 4))2"
        kill -9 "$(remuda status --pid controller)"
        remuda up -q 3>&-
        wait || true
        for file in now restored; do
            files_load
            do_import >/dev/null
            do_accounts >/dev/null
            all_told >$file
            diff before $file
            [ "$file" = now ] && [ -s copy ] || break
            remuda down
            REMUDA_STATE="$BATS_TEST_TMPDIR/copy$round" remuda restore "$PWD/copy" >/dev/null
            mv "$REMUDA_STATE" "$REMUDA_STATE.former$round"
            mv "$BATS_TEST_TMPDIR/copy$round" "$REMUDA_STATE"
            rm copy
            remuda up -q 3>&-
        done
    done
}

# nothing is removed, the reason is told, and it goes when it can
keeps_all() {
    told >now
    diff before now
    remuda status | grep -q "trouble: the past is kept though it should go"
}

@test "a directory that is missing, read-only, full, or has something by the file's name already: everything stays, with the reason, and goes later" {
    told >before
    rmdir "$FILES"
    run -1 dump
    [[ "$output" == *"$FILES"* ]]
    told >now
    diff before now
    mkdir "$FILES"
    mount -t tmpfs -o ro,size=1m tmpfs "$FILES"
    run -1 dump
    echo "$output"
    [[ "$output" == *"Read-only file system"* ]]
    keeps_all
    umount "$FILES"
    mount -t tmpfs -o size=8k tmpfs "$FILES"
    run -1 dump
    echo "$output"
    [[ "$output" == *"No space left on device"* ]]
    umount "$FILES"
    mount -t tmpfs -o nr_inodes=1 tmpfs "$FILES"
    run -1 dump
    [[ "$output" == *"No space left on device"* ]]
    keeps_all
    umount "$FILES"
    # Files of somebody else by the names that it would take: they stay as they are.
    run -0 sacctmgr -i archive dump Jobs PurgeJobAfter=1days Directory="$FILES"
    taken=("$FILES"/*)
    [ "${#taken[@]}" -ge 1 ]
    files_load
    told >now
    diff before now
    for f in "${taken[@]}"; do
        rm "$f"
        ln -s "$BATS_TEST_TMPDIR/not-there" "$f"
    done
    run dump
    echo "$output"
    [ ! -e not-there ]
    for f in "${taken[@]}"; do
        [ -L "$f" ]
        rm "$f"
        echo theirs >"$f"
        chown nobody "$f"
    done
    files_all() { for f in "$FILES"/*; do [ "$(cat "$f")" = theirs ] || sacctmgr -Q archive load file="$f"; done; }
    files_all
    told >now
    diff before now
    run dump
    for f in "${taken[@]}"; do [ "$(cat "$f")" = theirs ]; done
    files_all
    told >now
    diff before now
    run -0 remuda status
}
