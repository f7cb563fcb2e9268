#!/usr/bin/env bats
# Jobs with steps inside: who gets which signal and how often, requeueing under a running srun, numbers of arrays and of their elements.
bats_require_minimum_version 1.5.0

setup_file() {
    export REMUDA_STATE="$BATS_FILE_TMPDIR/state" WORK="$BATS_FILE_TMPDIR/work"
    mkdir -p "$WORK" "$REMUDA_STATE"
    cat > "$REMUDA_STATE/remuda.conf" <<'END'
ClusterName=inside
KillWait=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=n[1-4] CPUs=4 RealMemory=8000 Virtual=YES
PartitionName=main Nodes=n[1-3] Default=YES MaxTime=UNLIMITED
PartitionName=low Nodes=n4 PriorityTier=1 GraceTime=3
PartitionName=high Nodes=n4 PriorityTier=9
END
    # Counts the signals it gets, each as it comes, until the test is over: ./count NAME
    cat > "$WORK/count" <<'END'
#!/usr/bin/env python3
import os, signal, sys, time
log = os.open(f"{os.environ['D']}/{sys.argv[1]}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
for s in "USR1", "USR2", "TERM", "INT", "HUP":
    signal.signal(getattr(signal, "SIG" + s), lambda n, f: os.write(log, signal.Signals(n).name[3:].encode() + b" "))
os.write(log, b"up ")
end = time.time() + 120
while time.time() < end and not os.path.exists(f"{os.environ['D']}/over"): time.sleep(0.05)
os.write(log, b"end ")
END
    # A script with a monitor beside it, a step, and a step that writes through a pipe.
    cat > "$WORK/job" <<'END'
#!/bin/bash
mkdir -p "$D"
for s in USR1 USR2 TERM HUP; do trap "echo -n '$s ' >> $D/script" $s; done
echo -n "up " >> $D/script
./count monitor &
srun -n1 --overlap ./count step0 &
srun -n1 --overlap ./count step1 2>&1 | ./count tee &
for i in 1 2 3 4 5 6 7 8; do wait; [ -z "$(jobs -r)" ] && break; done
echo -n "end " >> $D/script
END
    chmod +x "$WORK/count"
    remuda up -q 3>&-
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

setup() {
    cd "$WORK" || exit 1
}
teardown() { scancel -u "$(id -un)" || true; }

within() { # SECONDS COMMAND…
    for _ in $(seq "$(($1 * 10))"); do "${@:2}" && return 0; sleep 0.1; done
    tail -n +1 "${D:-.}"/* ./*.out
    squeue
    return 1
}
state_is() { [ "$(sacct -n -X -P -j "$1" -o State | tail -n 1)" = "$2" ]; }
says() { [ "$(cat "$D/$1" 2>/dev/null)" = "$2" ]; }
up() { for who in script monitor step0 step1 tee; do grep -q up "$D/$who" 2>/dev/null || return 1; done; }
# begun NAME [OPTION…]: the job runs, and everybody in it
begun() {
    export D="$WORK/$1"
    mkdir -p "$D"
    id=$(sbatch --parsable -n1 --mem=100 -o "$1.out" "${@:2}" job)
    within 20 up
}
has() { [[ "$(cat "$D/$1")" == "$2"* ]]; }
came() { has script "up $1" && has monitor "up $2" && has tee "up $2" && has step0 "up $3" && has step1 "up $3"; }
# heard SCRIPT MONITOR STEPS: what each wrote between its first word and its last; a second more is for what should not come
heard() {
    within 30 came "$@"
    sleep 1
    touch "$D/over"
    within 30 state_is "$id" COMPLETED
    tail -n +1 "$D"/*
    says script "up $1end " && says monitor "up $2end " && says tee "up $2end " && says step0 "up $3end " && says step1 "up $3end "
}

# ---- signals ----------------------------------------------------------------------------------------------------------------

@test "scancel -s: the tasks of the steps, once; not the script, nor what it runs beside" {
    begun plain
    scancel -s USR1 "$id"
    heard "" "" "USR1 "
}

@test "scancel -s TERM ends nothing by itself" {
    begun term
    scancel -s TERM "$id"
    heard "" "" "TERM "
}

@test "scancel -b: the script alone" {
    begun batch
    scancel -b -s USR1 "$id"
    heard "USR1 " "" ""
}

@test "scancel --full: everybody once, though srun passes signals on" {
    begun full
    scancel --full -s USR2 "$id"
    heard "USR2 " "USR2 " "USR2 "
}

@test "scancel -s USR1 JOB.0: that step" {
    begun onestep
    scancel -v -s USR1 "$id.0" 2> words
    [ "$(cat words)" = "scancel: Signal 10 to step $id.0" ]
    within 30 grep -q USR1 "$D/step0" "$D/step1"
    sleep 1
    touch "$D/over"
    within 30 state_is "$id" COMPLETED
    [ "$(cat "$D"/step? | tr ' ' '\n' | grep -c USR1)" = 1 ]
    says monitor "up end "
    says script "up end "
}

@test "--signal=USR1@T: the steps once; B: the script" {
    begun warned -t 1:00 --signal=USR1@54
    local steps=$id
    begun warnedb -t 1:00 --signal=B:USR1@54
    heard "USR1 " "" ""
    D="$WORK/warned" id=$steps
    heard "" "" "USR1 "
}

@test "the grace of a preemption: SIGTERM to the tasks, time to save, then sent back" {
    begun grace -p low
    other=$(sbatch --parsable -p high --exclusive -o /dev/null --wrap 'sleep 3')
    within 10 grep -q TERM "$D/step0"
    sleep 1
    says step0 "up TERM "
    says step1 "up TERM "
    says script "up "
    says monitor "up "
    says tee "up "
    within 20 state_is "$other" COMPLETED
    touch "$D/over"
    within 40 state_is "$id" COMPLETED
    [ "$(sacct -n -X -P -j "$id" -o Restarts)" = 1 ]
}

@test "scancel: everybody SIGTERM once, srun too; srun does not cancel its step beside" {
    begun ended
    scancel "$id"
    within 10 state_is "$id" "CANCELLED by $(id -u)"
    for who in monitor tee step0 step1; do says $who "up TERM "; done
    grep -q "^srun: Job step aborted: Waiting up to 4 seconds for job step to finish.$" ended.out
}

@test "scancel JOB.0: SIGKILL at once, the job goes on; lists of steps too; -v and -i in Slurm's words" {
    id=$(sbatch --parsable -n1 --mem=100 -o steps.out --wrap 'for i in 1 2 3; do srun -n1 --overlap sh -c "touch up.\$SLURM_STEP_ID; exec sleep 60" & done; wait; echo after')
    within 20 [ -f up.0 -a -f up.1 -a -f up.2 ]
    sleep 0.5
    run scancel -v "$id.0"
    [ "$output" = "scancel: Terminating step $id.0" ]
    echo y | scancel -i "$id.1" > asked
    grep -q "^Cancel step_id=$id.1 name=wrap partition=main \[y/n\]? " asked
    echo n | scancel -i "$id.2" > asked
    sleep 0.5
    state_is "$id" RUNNING
    scancel "$id.2,$id.2"
    within 10 state_is "$id" COMPLETED
    grep -q after steps.out
    [ "$(grep -c "^srun: Job step aborted: Waiting up to 4 seconds" steps.out)" = 3 ]
    [ "$(grep -c "task 0: Killed" steps.out)" = 3 ]
    [ "$(sacct -n -P -j "$id" -o State | grep -c "CANCELLED by $(id -u)")" = 3 ]
}

@test "srun told to end: its tasks are killed, 137" {
    run --separate-stderr timeout -s TERM 2 srun --mem=100 -n1 sleep 30
    [ "$status" = 124 ]
    srun --mem=100 -n1 sh -c 'touch told.up; exec sleep 30' 2> told.err &
    within 20 test -f told.up
    sleep 0.3
    kill -TERM $!
    status=0
    wait $! || status=$?
    cat told.err
    [ "$status" = 137 ]
    grep -q "task 0: Killed" told.err
}

@test "a script that ends: its steps hear SIGTERM and have KillWait" {
    rm -f up saved
    cat > save <<'END'
#!/bin/bash
trap 'touch saved; exit 0' TERM
touch up
while :; do sleep 0.1; done
END
    chmod +x save
    id=$(sbatch --parsable -n1 --mem=100 -o /dev/null --wrap 'srun -n1 --overlap ./save & until [ -e up ]; do sleep 0.1; done')
    within 20 state_is "$id" COMPLETED
    [ -e saved ]
    [ "$(sacct -n -P -j "$id.0" -o State,ExitCode)" = "COMPLETED|0:0" ]
}

@test "a step or a script that a signal ended by itself is CANCELLED, its job FAILED" {
    id=$(sbatch --parsable -n1 --mem=100 -o /dev/null --wrap 'srun -n1 --overlap sh -c "kill -SEGV \$\$"; srun -n1 --overlap sh -c "exit 3"; kill -KILL $$')
    within 20 state_is "$id" FAILED
    [ "$(sacct -n -P -j "$id" -o State,ExitCode | tr '\n' ' ')" = "FAILED|0:9 CANCELLED|0:9 CANCELLED|0:11 FAILED|3:0 " ]
}

@test "an srun that waits and is told to end says so and ends with 1; --jobid of a job that does not run" {
    id=$(sbatch --parsable -n1 --mem=100 -o waits.out --wrap 'srun -n1 --exact sleep 60 & until squeue -h -s -j $SLURM_JOB_ID -o %i | grep -q "\.0"; do sleep 0.1; done
srun -n1 --exact true 2> waits.err & until grep -q retrying waits.err; do sleep 0.1; done
kill $!; wait $!; echo rc $?; scancel $SLURM_JOB_ID.0; wait')
    within 20 state_is "$id" COMPLETED
    grep -qx "rc 1" waits.out || { cat waits.out waits.err; false; }
    [ "$(tail -2 waits.err)" = "srun: Cancelled pending job step with signal 15
srun: error: Unable to create step for job $id: Job/step already completing or completed" ]
    run -1 srun --jobid="$id" true
    [[ "$output" == "srun: error: Slurm job $id has expired"*"Check SLURM_JOB_ID environment variable. Expired or invalid job $id" ]]
    id=$(sbatch --parsable -H --wrap true)
    run -1 srun -Q --jobid="$id" true
    [[ "$output" == "srun: error: Unable to confirm allocation for job $id: Job is pending execution"* ]]
    scancel "$id"
}

# ---- requeueing under a running srun ---------------------------------------------------------------------------------------

# again OPTIONS…: first run waits in an srun (and evaluates $INSIDE), the second ends
again() {
    cat > requeued <<'END'
#!/bin/bash
[ -n "$SLURM_RESTART_COUNT" ] && { srun -n1 --overlap echo second; exit 0; }
srun -n1 --overlap sleep 60 &
eval "$INSIDE"
wait
END
    sbatch --parsable -n1 --mem=100 --open-mode=append -o "again.%j.out" "$@" requeued
}
runs() { [ "$(squeue -h -s -j "$1" | grep -vc batch)" -ge 1 ]; }
came_back() {
    within 20 state_is "$1" COMPLETED
    [ "$(sacct -n -X -P -D -j "$1" -o State,Restarts | tr '\n' ' ')" = "REQUEUED|0 COMPLETED|1 " ]
}

@test "scontrol requeue from outside, five at once" {
    ids=
    for _ in 1 2 3 4 5; do ids="$ids $(again)"; done
    for id in $ids; do within 20 runs "$id"; scontrol requeue "$id"; done
    for id in $ids; do came_back "$id"; grep -q second "again.$id.out"; done
}

@test "scontrol requeue from a task: it hears the answer" {
    id=$(INSIDE='srun -n1 --overlap sh -c "trap : TERM; scontrol requeue $SLURM_JOB_ID; echo answer \$? > answer"' again)
    came_back "$id"
    [ "$(cat answer)" = "answer 0" ]
}

@test "scontrol requeue from the script, of an element that carries the array's number too" {
    id=$(INSIDE='sleep 1; scontrol requeue $SLURM_JOB_ID' again)
    came_back "$id"
    id=$(INSIDE='[ $SLURM_ARRAY_JOB_ID != $SLURM_JOB_ID ] || scontrol requeue ${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID; sleep 2; scancel ${SLURM_ARRAY_JOB_ID}_1' again --array=1-2)
    within 20 sh -c "sacct -n -X -P -j $id -o State,Restarts | grep -q 'COMPLETED|1'"
}

@test "requeuehold; a step cancelled meanwhile cancels no job" {
    id=$(again)
    within 20 runs "$id"
    scontrol requeuehold "$id"
    run scancel "$id.0" # 1: it is gone already
    [ "$status" = 0 ] || [ "$status" = 1 ]
    within 10 sh -c "[ \"\$(squeue -h -j $id -o %T,%r)\" = 'PENDING,job requeued in held state' ]"
    run scancel "$id.0" "$id.batch"
    [ "$status" = 0 ] || [ "$status" = 1 ]
    [ "$(squeue -h -j "$id" -o %T)" = PENDING ]
    scontrol release "$id"
    came_back "$id"
}

@test "--no-requeue is refused" {
    id=$(again --no-requeue)
    within 20 runs "$id"
    run scontrol requeue "$id"
    [ "$status" = 1 ]
    [[ "$output" == *"Requested operation is presently disabled"* ]]
    run ! scontrol requeuehold "$id"
    state_is "$id" RUNNING
    scontrol update JobId="$id" Requeue=1
    scontrol requeue "$id"
    came_back "$id"
}

# ---- numbers ----------------------------------------------------------------------------------------------------------------

@test "a step goes to the element it is in, also to the one with the array's number" {
    id=$(sbatch --parsable -n1 --mem=100 --array=1-4 -o el.%a.out --wrap 'srun -n1 --overlap sh -c "echo in \$SLURM_ARRAY_TASK_ID of \$SLURM_JOB_ID"; [ $SLURM_ARRAY_JOB_ID != $SLURM_JOB_ID ] || echo carrier $SLURM_ARRAY_TASK_ID')
    within 20 sh -c "[ \$(sacct -n -X -P -j $id -o State | grep -c COMPLETED) = 4 ]"
    for i in 1 2 3 4; do grep -q "^in $i of " el.$i.out; done
    [ "$(cat el.*.out | grep -c carrier)" = 1 ]
    [ "$(sacct -n -P -j "$id" -o JobID | grep -c '\.0$')" = 4 ]
}

@test "srun --jobid, sattach, sstat, sbcast and scancel N.0 take a number for that very element; squeue and scancel N for the array" {
    id=$(sbatch --parsable -n1 --mem=100 --array=1-3 -o /dev/null --wrap 'srun -n1 --overlap sleep 60; sleep 60')
    within 20 sh -c "[ \$(squeue -h -s -j $id | grep -vc batch) = 3 ]"
    own=$(squeue -h -j "$id" -o '%A %K' | awk -v n="$id" '$1 == n {print $2}')
    [ "$(srun --overlap --mem=10 --jobid="$id" printenv SLURM_ARRAY_TASK_ID)" = "$own" ]
    [ "$(sstat -n -P -o JobID -j "$id.0")" = "${id}_$own.0" ]
    run --separate-stderr sstat -n -P -o JobID -j "${id}_1.0"
    [ "$output" = "${id}_1.0" ]
    [ -z "$stderr" ]
    sattach --layout "$id.0"
    echo hello > from
    sbcast -f --jobid="$id" from "$WORK/to"
    sbcast -f -j "${id}_1" from "$WORK/to1"
    [ -f to ]
    [ -f to1 ]
    [ "$(squeue -h -j "$id" | wc -l)" = 3 ]
    scancel "$id.0"
    within 10 sh -c "[ \$(squeue -h -s -j $id | grep -vc batch) = 2 ]"
    [ "$(squeue -h -j "$id" -t R | wc -l)" = 3 ]
    scancel "$id"
    within 10 sh -c "[ -z \"\$(squeue -h -j $id)\" ]"
}

@test "an element cancelled while it waited is not listed any more; sacct knows it" {
    id=$(sbatch --parsable -H --array=1-4 --wrap true)
    scancel "${id}_2"
    [ "$(squeue -h -r -t all -j "$id" -o '%K %T' | tr '\n' ' ')" = "1 PENDING 3 PENDING 4 PENDING " ]
    [[ "$(sacct -n -X -P -j "${id}_2" -o State)" == CANCELLED* ]]
    scancel "$id"
}
