#!/usr/bin/env bats
# srun --async: steps without a command behind them. They have a number at once, wait for room and for each other, write files, and end with their job.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<'END'
ClusterName=async
KillWait=2
AttachGrace=2
NodeName=n[1-2] CPUs=4 RealMemory=8000 Virtual=YES
PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED
END
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

setup() {
    mkdir -p "$WORK/$BATS_TEST_NUMBER"
    cd "$WORK/$BATS_TEST_NUMBER" || exit 1
}

teardown() {
    scancel -u "$(id -un)" || true
}

until_true() {
    local i
    for i in {1..300}; do
        "$@" > /dev/null 2>&1 && return
        sleep 0.1
    done
    echo "never true: $*"
    squeue
    squeue -s
    return 1
}

state_is() { [ "$(sacct -n -P -o state -j "$1" | head -1 | cut -d' ' -f1)" = "$2" ]; }
step_is() { until_true state_is "$@"; }
# A job that waits, so that steps can be queued in it from here.
holding_job() { sbatch --parsable -o /dev/null "$@" --wrap 'sleep 300'; }
running() { until_true sh -c "squeue -h -t R -j $1 | grep -q ."; }
async() { srun --async --parsable --jobid="$@"; }

@test "a script queues steps, goes on at once, and waits for them with a step" {
    cat > job.sh <<'END'
#!/bin/bash
a=$(srun --async --parsable -n2 sh -c 'echo $SLURM_PROCID of $SLURM_NTASKS; sleep 1')
b=$(srun --async --parsable -n1 -d afterok:$a -o second.%j.%s.%t sh -c 'echo $SLURM_STEP_ID; exit 3')
c=$(srun --async --parsable -n1 -d afternotok:$b sh -c 'echo bad >&2')
d=$(srun --async --parsable -n1 -d afterok:$b true)
echo $a $b $c $d
srun -n1 -d afterany:$c true
END
    J=$(sbatch --parsable -n4 -o out job.sh)
    until_true state_is "$J" COMPLETED
    [ "$(head -1 out)" = "$J.0 $J.1 $J.2 $J.3" ]
    [ "$(sort "slurm-$J.0.out" | tr '\n' ' ')" = "0 of 2 1 of 2 " ]
    [ "$(cat "second.$J.1.0")" = 1 ]
    [ "$(cat "slurm-$J.2.out")" = bad ]
    state_is "$J.1" FAILED
    state_is "$J.2" COMPLETED
    state_is "$J.3" CANCELLED
    [ ! -e "slurm-$J.3.out" ]
}

@test "what it prints; -i, -e, --chdir, --export reach the tasks; sattach and squeue -s see it" {
    J=$(holding_job)
    running "$J"
    [ "$(srun --async --jobid="$J" -n1 --exact sleep 100)" = "Submitted job step $J.0" ]
    echo hello > in
    mkdir there
    A=$(async "$J" -n1 --overlap -D "$PWD/there" -i "$PWD/in" -o o -e e --export=ALL,COLOUR=red \
        sh -c 'cat; echo $COLOUR; echo wrong >&2')
    step_is "$A" COMPLETED
    [ "$(tr '\n' ' ' < there/o)" = "hello red " ]
    [ "$(cat there/e)" = wrong ]
    squeue -h -s -o '%i %j' | grep -q "^$J.0 sleep"
    scancel "$J.0"
    step_is "$J.0" CANCELLED
    run -1 timeout 20 sattach "$J.0"
}

@test "waiting steps: shown, cancelled by number, over when what they wait for cannot be" {
    J=$(holding_job -n4)
    running "$J"
    A=$(async "$J" -n4 sleep 100)
    B=$(async "$J" -n4 touch "$PWD/ran")
    C=$(async "$J" -n1 -d "afterok:$B" true)
    D=$(async "$J" -n1 --overlap -d "after:$A" touch "$PWD/after")
    [ "$(squeue -h -s -j "$J" -o '%i %M' | grep "^$B ")" = "$B 0:00" ]
    [[ "$(scontrol show step "$B")" == *State=PENDING* ]]
    state_is "$B" PENDING
    step_is "$D" COMPLETED
    run -228 scancel -s USR1 "$B"
    scancel "$B"
    step_is "$B" CANCELLED
    step_is "$C" CANCELLED
    scancel "$A"
    step_is "$A" CANCELLED
    [ ! -e ran ]
    [ "$(squeue -h -j "$J" -o %T)" = RUNNING ]
}

@test "refused by name: no job, a terminal, other jobs' steps, steps that do not exist, too many tasks" {
    run -1 --separate-stderr srun --async true
    [[ "$stderr" == *"--async: not supported with no allocation"*"sbatch --wrap"* ]]
    J=$(holding_job)
    running "$J"
    for o in --kill-on-bad-exit --wait=5 --prolog=/bin/true --test-only; do
        run -1 --separate-stderr srun --async --jobid="$J" $o true
        [[ "$stderr" == *"--async: not supported with"* ]]
    done
    run -1 --separate-stderr srun --async --jobid="$J" true : true
    for d in "afterok:$J.9" "afterok:1234567.0" "afterok:$J"; do
        run -1 --separate-stderr srun --async --jobid="$J" -d "$d" true
        [[ "$stderr" == *"step"* ]]
    done
    run -1 srun -d afterok:1.0 true
    [[ "$output" == *"steps wait for steps in an allocation"* ]]
    run srun --async --jobid="$J" -d 'afterok:1.0?afterok:1.1' true
    [ "$status" -ne 0 ]
    run -1 srun --async --jobid="$J" -n100 true
    [[ "$output" == *"More processors requested than permitted"* ]]
    async "$J" -n1 sleep 100
    run -1 srun --async --immediate --jobid="$J" -n1 true
    [[ "$output" == *"Requested nodes are busy"* ]]
}

@test "kill -9 of the controller: waiting and running steps go on, none runs twice, none is lost" {
    J=$(holding_job -n4)
    running "$J"
    A=$(async "$J" -n4 sh -c 'echo first >> log; until [ -e go ]; do sleep 0.1; done')
    B=$(async "$J" -n1 -d "afterok:$A" sh -c 'echo second >> log')
    C=$(async "$J" -n1 -d "afterany:$B" sh -c 'echo third >> log')
    kill -9 "$(cat "$REMUDA_STATE/controller.pid")"
    sleep 1
    remuda up -q
    squeue -h -s -j "$J" -o %i | grep -qx "$B"
    touch go
    step_is "$C" COMPLETED
    state_is "$A" COMPLETED
    [ "$(sort log | uniq -c | tr -s ' ' | tr '\n' ';')" = " 4 first; 1 second; 1 third;" ]
    [ "$(sqlite3 "$REMUDA_STATE/remuda.db" 'select count(*) from queued_step' 2> /dev/null || echo 0)" = 0 ]
}

@test "kill -9 of the controller while dozens are queued: each that was told of runs exactly once" {
    J=$(holding_job -n4)
    running "$J"
    for i in {1..24}; do
        # What is not answered is asked again: only until the job is found, then srun does that itself.
        until async "$J" -n1 --exact sh -c "echo $i >> log" >> told 2>> errors; do sleep 0.5; done &
        [ $((i % 8)) -ne 0 ] || { kill -9 "$(cat "$REMUDA_STATE/controller.pid")"; sleep 0.3; remuda up -q; }
    done
    wait
    [ "$(sort -u told | wc -l)" -eq 24 ]
    for s in $(cat told); do step_is "$s" COMPLETED; done
    [ "$(sort -n log | uniq -c | awk '$1 != 1' | wc -l)" -eq 0 ]
    [ "$(wc -l < log)" -eq 24 ]
}

@test "they end with their job, are gone after a requeue, and stand still while it is suspended" {
    J=$(sbatch --parsable -n4 --requeue -o /dev/null --wrap 'sleep 300')
    running "$J"
    A=$(async "$J" -n4 sh -c 'sleep 300')
    B=$(async "$J" -n4 touch "$PWD/never")
    scontrol suspend "$J"
    scancel "$A"
    sleep 1
    [ ! -e never ]
    state_is "$B" PENDING
    scontrol requeue "$J"
    until_true sh -c "[ \"\$(scontrol show job $J | grep -o 'Restarts=[0-9]*')\" = Restarts=1 ]"
    scontrol release "$J" # who was suspended comes back held
    running "$J"
    [ -z "$(squeue -h -s -j "$J" -o %i | grep -v batch)" ]
    B=$(async "$J" -n4 sleep 300)
    [ "$B" = "$J.0" ]
    C=$(async "$J" -n4 touch "$PWD/never")
    scancel "$J"
    step_is "$C" CANCELLED
    [ ! -e never ]
}

@test "in elements of an array and components of a heterogeneous job" {
    cat > job.sh <<'END'
#!/bin/bash
a=$(srun --async --parsable -n1 sh -c 'echo element $SLURM_ARRAY_TASK_ID')
srun -n1 -d afterok:$a true
echo $a $SLURM_JOB_ID > told.$SLURM_ARRAY_TASK_ID
END
    J=$(sbatch --parsable -n2 -a 0-2 -o /dev/null job.sh)
    until_true sh -c '[ "$(ls told.* | wc -l)" -eq 3 ]'
    for i in 0 1 2; do
        read -r step id < "told.$i"
        [ "$step" = "$id.0" ]
        [ "$(cat "slurm-$id.0.out")" = "element $i" ]
    done
    printf '#!/bin/sh\nsrun --async --het-group=1 -n1 -o het hostname\nsleep 100\n' > het.sh
    H=$(sbatch --parsable -o /dev/null -n1 : -n1 het.sh)
    until_true test -s het
    scancel "$H"
}
