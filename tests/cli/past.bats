#!/usr/bin/env bats
# What is old is written to files and removed, and comes back: sacctmgr archive, PurgeJobAfter= and its kin.
bats_require_minimum_version 1.5.0
load common

setup() {
    export REMUDA_STATE="$BATS_TEST_TMPDIR/state"
    unset SLURM_CONF
    mkdir -p "$REMUDA_STATE" "$BATS_TEST_TMPDIR/files"
    cat >"$REMUDA_STATE/remuda.conf" <<EOF
ClusterName=old
MinJobAge=1
NodeName=v1 CPUs=4 RealMemory=2000 Virtual=YES
PartitionName=main Nodes=v1 Default=YES
EOF
    remuda up -q 3>&-
    cd "$BATS_TEST_TMPDIR"
}

teardown() { remuda down; }

over() { [ "$(sacct -X -n -P -j "$1" -o State)" = COMPLETED ]; }

# Two jobs that ended two days ago; a third waits.
past_make() {
    one=$(sbatch --parsable -n1 -J first -o /dev/null --wrap "srun true")
    two=$(sbatch --parsable -n2 -J second -o /dev/null --wrap true)
    eventually over "$one"
    eventually over "$two"
    waits=$(sbatch --parsable -n1 -H -o /dev/null --wrap true)
    remuda down
    two_days_ago
    remuda up -q 3>&-
}

two_days_ago() {
    python3 - "$REMUDA_STATE/remuda.db" <<'PY'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
day = 2 * 86400 * 1000000
for table in "job", "step", "job_run":
    times = [c[1] for c in db.execute(f"PRAGMA table_info({table})") if c[1] in ("submit_us", "eligible_us", "start_us", "end_us")]
    over = "WHERE state='COMPLETED'" if table == "job" else ""
    db.execute(f"UPDATE {table} SET " + ", ".join(f"{t}={t}-{day}" for t in times) + f" {over}")
db.commit()
PY
}

has() { [[ "$output" == *"$1"* ]] || { echo "not said: $1"; echo "$output"; return 1; }; }
jobs() { sacct -a -n -P -S 2020-01-01 -o JobID,JobName,State,Start,End,AllocTRES,ExitCode "$@"; }

@test "jobs go into a file that people can read, and come back as they were, once" {
    past_make
    before=$(jobs)
    used=$(sreport -n -P cluster AccountUtilizationByUser start=2020-01-01 end=now -t seconds)
    run -0 sacctmgr -i archive dump Jobs PurgeJobAfter=24hours Directory="$PWD/files"
    has "jobs: 2 removed, written to $PWD/files/old_jobs_archive_"
    has "MiB are free for new rows"
    [ "$(jobs)" = "" ]
    run -0 sacct -n -j "$one"
    [ "$output" = "" ]
    [ "$(squeue -h -t PD -o %A)" = "$waits" ]
    [ "$(sreport -n -P cluster AccountUtilizationByUser start=2020-01-01 end=now -t seconds)" = "$used" ]
    file=$(echo files/old_jobs_archive_*)
    [ "$(stat -c %a "$file")" = 600 ]
    [ "$(head -1 "$file" | cut -c1-20)" = '{"remuda_archive":1,' ]
    python3 -c 'import json,sys; rows=[json.loads(l) for l in open(sys.argv[1])]; assert rows[-1]=={"end":len(rows)-2}; assert sum("job" in r for r in rows)==2' "$file"
    ! grep -q "$PATH" "$file" || false # what was exported stays out
    # again: there is nothing left
    run -0 sacctmgr -i archive dump Jobs PurgeJobAfter=24hours Directory="$PWD/files"
    [[ "$output" != *removed* ]]
    for twice in "2 added, 0 were there" "0 added, 2 were there"; do
        run -0 sacctmgr archive load file="$file"
        has "jobs: $twice"
        [ "$(jobs)" = "$before" ]
        [ "$(sreport -n -P cluster AccountUtilizationByUser start=2020-01-01 end=now -t seconds)" = "$used" ]
    done
    scontrol write batch_script "$one" script.sh
    grep -q "srun true" script.sh
    # half a file is known as such
    head -n -1 "$file" >files/half
    run -1 sacctmgr archive load file=files/half
    has "the file ends before its end"
    # what does not end, and what is no file
    mkfifo files/pipe
    run -1 timeout 20 sacctmgr archive load file=files/pipe
    [[ "$output" == *"files/pipe is a named pipe"* ]]
    run -1 timeout 50 sacctmgr archive load file=/dev/zero
    has "/dev/zero:1: a line of more than 67108864 bytes"
    run -1 sacctmgr archive load file=files
    has "files:1: Is a directory"
    printf '{"remuda_archive":1}\n{"job":{"id":-5}}\n' >files/odd
    run -1 sacctmgr archive load file=files/odd
    has "files/odd:2: "
    printf 'JobID|User\n1|root\n' >files/odd
    run -1 sacctmgr archive load file=files/odd
    has "files/odd:1: "
}

@test "the settings: by themselves, without a file, sums too, and what cannot be" {
    past_make
    run -1 sacctmgr -i archive dump PurgeJobAfter=5weeks
    has "Invalid purge unit 'weeks', valid options are hours, days, or months"
    run -1 sacctmgr -i archive dump Directory=/nonexistent
    has "dump: Failed to stat /nonexistent"
    run -1 sacctmgr -i archive dump Colour
    has "Unknown option: Colour"
    run -1 sacctmgr archive
    has 'Input line must include, "Dump", or "load"'
    run -0 sacctmgr -i archive dump
    has "Nothing goes"
    printf 'PurgeJobAfter=1days\nPurgeUsageAfter=1days\nArchiveUsage=yes\nPurgeTXNAfter=24hours\n' >>"$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    run -0 sacctmgr -i archive dump
    has "jobs: 2 removed"
    [ "$(jobs)" = "" ]
    [ "$(squeue -h -t PD -o %A)" = "$waits" ]
    [ -z "$(ls "$REMUDA_STATE/archive" | grep jobs)" ]
    printf 'PurgeJobAfter=3fortnights\n' >>"$REMUDA_STATE/remuda.conf"
    run scontrol reconfigure
    has "Invalid purge unit 'fortnights'"
    sed -i '$d' "$REMUDA_STATE/remuda.conf"
}

# Sums are counted anew, as of a store of an older release.
sums_count() {
    python3 - "$REMUDA_STATE/remuda.db" <<'PY'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for table in "used", "used_gres":
    db.execute(f"DELETE FROM {table}")
db.execute("UPDATE used_fact SET value=0 WHERE key='counted_to'")
db.commit()
PY
}

used() { sreport -n -P cluster AccountUtilizationByUser start="$(date -d '4 days ago' +%F)" end=now -t seconds; }
is_counted() { [ "$(sqlite3 -readonly "$REMUDA_STATE/remuda.db" "SELECT value FROM used_fact WHERE key='counted_to'")" -gt 1000000 ]; }

@test "sums that were removed come back, once, where they are missing" {
    past_make
    remuda down
    sums_count
    remuda up -q 3>&-
    sbatch -n1 -H -o /dev/null --wrap true
    eventually is_counted
    before=$(used)
    [[ "$before" == *root* ]]
    run -0 sacctmgr -i archive dump Usage PurgeUsageAfter=24hours Directory="$PWD/files"
    has "removed, written to $PWD/files/old_usage_archive_"
    gone=$(used)
    [ "$gone" != "$before" ]
    file=$(echo files/old_usage_archive_*)
    for _ in once twice; do
        run -0 sacctmgr archive load file="$file"
        has "sums of hours: reports have them where there are none of the cluster's own"
        [ "$(used)" = "$before" ]
    done
    remuda down
    remuda up -q 3>&-
    [ "$(used)" = "$before" ]
    rm -f "$file"
    run -0 sacctmgr -i archive dump Usage PurgeUsageAfter=24hours Directory="$PWD/files"
    [ "$(used)" = "$gone" ]
    run -0 sacctmgr archive load file="$(echo files/old_usage_archive_*)"
    [ "$(used)" = "$before" ]
    sed 's/"from_us":[0-9]*/"from_us":4102444800000000/' files/old_usage_archive_* >files/odd
    run -1 sacctmgr archive load file=files/odd
    has "a sum that cannot be"
}

@test "a directory without room, or a program that fails, keeps everything where it is and says why" {
    past_make
    before=$(jobs)
    printf '#!/bin/sh\nenv >%s/env\nexit ${REMUDA_TEST_EXIT:-3}\n' "$PWD" >keep
    chmod +x keep
    run -1 sacctmgr -i archive dump Jobs PurgeJobAfter=1days Script="$PWD/keep"
    has "exited with 3"
    grep -q SLURM_ARCHIVE_JOBS=1 env
    grep -q SLURM_ARCHIVE_LAST_JOB=1 env
    [ "$(jobs)" = "$before" ]
    run -0 remuda status
    has "trouble: the past is kept though it should go"
    sed -i 's/:-3/:-0/' keep
    run -0 sacctmgr -i archive dump Jobs PurgeJobAfter=1days Script="$PWD/keep"
    has "keep has kept it"
    has "jobs: 2 removed"
    run -0 remuda status
    [[ "$output" != *trouble* ]]
}

@test "killed at any moment nothing is lost and nothing counted twice" {
    past_make
    before=$(jobs)
    used=$(sreport -n -P cluster AccountUtilizationByUser start=2020-01-01 end=now -t seconds)
    for after in 0 0.005 0.01 0.02 0.05 0.1; do
        sacctmgr -i archive dump Jobs PurgeJobAfter=24hours Directory="$PWD/files" >/dev/null 2>&1 3>&- &
        sleep "$after"
        kill -9 "$(remuda status --pid controller)"
        kill $! 2>/dev/null || true # it would look for the controller, which is started below
        wait || true
        remuda up -q 3>&-
        for f in files/*; do [ ! -e "$f" ] || sacctmgr -Q archive load file="$f"; done
        [ "$(jobs)" = "$before" ]
        [ "$(sreport -n -P cluster AccountUtilizationByUser start=2020-01-01 end=now -t seconds)" = "$used" ]
    done
}

@test "a full disk: nothing is removed, and the reason is told" {
    disk="$BATS_TEST_TMPDIR/disk"
    mkdir "$disk"
    mount -t tmpfs -o size=8k tmpfs "$disk" 2>/dev/null || skip "no small file system can be mounted here"
    cat /dev/zero >"$disk/fill" 2>/dev/null || true
    past_make
    before=$(jobs)
    run sacctmgr -i archive dump Jobs PurgeJobAfter=24hours Directory="$disk"
    umount "$disk"
    [ "$status" -eq 1 ]
    has "No space left on device"
    [ "$(jobs)" = "$before" ]
    run -0 remuda status
    has "No space left on device"
    run -0 sacctmgr -i archive dump Jobs PurgeJobAfter=24hours Directory="$disk"
    has "jobs: 2 removed"
    run -0 remuda status
    [[ "$output" != *trouble* ]]
}

@test "a job that comes again: its former runs go by when they ended, and come back" {
    job=$(sbatch --parsable -n1 -J again -o /dev/null --wrap "srun true; sleep 1000")
    step_ended() { [[ "$(sacct -n -P -j "$job" -o JobID,State)" == *".0|COMPLETED"* ]]; }
    eventually step_ended
    scontrol requeuehold "$job"
    waits() { [ "$(squeue -h -j "$job" -o %T)" = PENDING ]; }
    eventually waits
    [ "$(sacct -D -X -n -P -j "$job" -o State | sort | tr '\n' ' ')" = "PENDING REQUEUED " ]
    remuda down
    two_days_ago
    remuda up -q 3>&-
    before=$(sacct -D -n -P -S 2020-01-01 -j "$job" -o JobID,State,Start,End)
    used=$(sreport -n -P cluster AccountUtilizationByUser start=2020-01-01 end=now -t seconds)
    run -0 sacctmgr -i archive dump Jobs PurgeJobAfter=24hours Directory="$PWD/files"
    has "jobs: 1 removed, written to $PWD/files/old_jobs_archive_"
    [ "$(sacct -D -n -P -S 2020-01-01 -j "$job" -o State)" = PENDING ]
    waits
    run -0 sacctmgr -i archive dump Jobs PurgeJobAfter=24hours Directory="$PWD/files"
    [[ "$output" != *removed* ]]
    run -0 sacctmgr -i archive load file="$(ls "$PWD"/files/old_jobs_archive_*)"
    [ "$(sacct -D -n -P -S 2020-01-01 -j "$job" -o JobID,State,Start,End)" = "$before" ]
    [ "$(sreport -n -P cluster AccountUtilizationByUser start=2020-01-01 end=now -t seconds)" = "$used" ]
}

@test "what a job waits for counts after a restart too, however long ago that ended" {
    well=$(sbatch --parsable -n1 -H -o /dev/null --wrap true)
    badly=$(sbatch --parsable -n1 -H -a 0-1 -o /dev/null --wrap 'exit $SLURM_ARRAY_TASK_ID')
    later=$(sbatch --parsable -n1 -o /dev/null -d "after:$well+600" --wrap true)
    never=$(sbatch --parsable -n1 -o /dev/null -d "exit:$badly>0?after:$well+600" --wrap true)
    scontrol release "$well" "$badly"
    eventually over "$well"
    ended() { [ "$(sacct -X -n -P -j "$badly" -o State | sort -u | xargs)" = "COMPLETED FAILED" ]; }
    eventually ended
    kill -9 "$(remuda status --pid controller)"
    sleep 2.5
    remuda up -q 3>&-
    run -0 squeue -h -o "%i %T %E"
    has "$later PENDING after:$well+600(unfulfilled)"
    has "$never PENDING exit:${badly}_*>0(failed)?after:$well+600(unfulfilled)"
}
