#!/usr/bin/env bats
# The life of a job with real daemons: limits, signals, requeue, arrays, dependencies, memory, mail.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<'END'
ClusterName=life
KillWait=1
NodeName=n[1-2] CPUs=4 RealMemory=4000 Gres=gpu:v100:2 Virtual=YES
PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED
PartitionName=short Nodes=n1 MaxTime=5 DefaultTime=1
END
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

setup() { cd "$WORK" || exit 1; }

ended() { sacct -n -P -X -j "$1" -o State,ExitCode; }

@test "time limit: TIMEOUT, Slurm's line in the output, and nobody survives, not even who ignores SIGTERM and daemonises" {
    id=$(sbatch --parsable -t 0:02 -o limit.out --wrap 'trap "" TERM; setsid sleep 61.25 & setsid bash -c "trap \"\" TERM; sleep 61.25; sleep 61.25" & sleep 61.25; sleep 61.25')
    wait_state "$id" TIMEOUT
    grep -Eq "slurmstepd: error: \*\*\* JOB $id ON n[12] CANCELLED AT [0-9T:-]+ DUE TO TIME LIMIT \*\*\*" limit.out
    run ! pgrep -f "sleep 61.25"
    [[ "$(ended "$id")" =~ ^TIMEOUT ]]
}

@test "scancel: CANCELLED by UID, everything of the job is gone" {
    id=$(sbatch --parsable -o /dev/null --wrap 'sleep 62.5 & setsid sleep 62.5 & wait')
    wait_state "$id" RUNNING
    sleep 0.3
    scancel "$id"
    wait_state "$id" CANCELLED
    [[ "$(ended "$id")" =~ ^CANCELLED\ by\ $(id -u) ]]
    run ! pgrep -f "sleep 62.5"
}

@test "exit code and signal as code:signal" {
    a=$(sbatch --parsable -o /dev/null --wrap 'exit 3')
    b=$(sbatch --parsable -o /dev/null --wrap 'kill -USR1 $$')
    wait_state "$a" FAILED
    wait_state "$b" FAILED
    [ "$(ended "$a")" = "FAILED|3:0" ]
    [ "$(ended "$b")" = "FAILED|0:10" ]
}

@test "--signal=B:USR1@N warns the batch shell before the limit" {
    id=$(sbatch --parsable -t 0:06 --signal=B:USR1@2 -o warned.out --wrap 'trap "echo warned; exit 0" USR1; while :; do sleep 0.1; done')
    wait_state "$id" COMPLETED
    grep -q warned warned.out
}

@test "scancel --signal reaches the steps, --batch the shell" {
    id=$(sbatch --parsable -o sig.out --wrap 'trap "echo shell" USR1; echo listens; while :; do sleep 0.05; done')
    eventually grep -qs listens sig.out
    scancel --signal=USR1 --batch "$id"
    eventually grep -q shell sig.out
    scancel "$id"
}

@test "requeue from inside, then exit 255: pending again, SLURM_RESTART_COUNT grows, --open-mode=append keeps the log" {
    id=$(sbatch --parsable --requeue --open-mode=append -o again.out --wrap 'echo "start ${SLURM_RESTART_COUNT:-0}"; if [ -z "$SLURM_RESTART_COUNT" ]; then scontrol requeue $SLURM_JOB_ID; sleep 5; exit 255; fi; exit 0')
    wait_state "$id" COMPLETED
    [ "$(grep start again.out)" = $'start 0\nstart 1' ]
    [ "$(sacct -n -P -X -j "$id" -o State,Restarts)" = "COMPLETED|1" ]
    [ "$(sacct -n -P -X -D -j "$id" -o State | wc -l)" -eq 2 ]
}

@test "hold, release, requeuehold, suspend, resume" {
    id=$(sbatch --parsable -H -o /dev/null --wrap 'sleep 30')
    [ "$(squeue -h -j "$id" -o '%T %r')" = "PENDING JobHeldUser" ]
    scontrol release "$id"
    wait_state "$id" RUNNING
    scontrol suspend "$id"
    [ "$(state "$id")" = SUSPENDED ]
    scontrol resume "$id"
    [ "$(state "$id")" = RUNNING ]
    scontrol requeuehold "$id"
    wait_state "$id" PENDING
    [ "$(squeue -h -j "$id" -o %r)" = "job requeued in held state" ]
    scancel "$id"
}

@test "array: one line while pending, elements, % limit, an element cancelled" {
    rm -f array_goes_on
    id=$(sbatch --parsable -a 0-9:3,20%2 -o 'a_%A_%a.out' --wrap 'echo $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT; while [ ! -e array_goes_on ]; do sleep 0.1; done')
    eventually eval '[ "$(squeue -h -t R -j "$id" | wc -l)" -eq 2 ]'
    sleep 0.3
    [ "$(squeue -h -t R -j "$id" | wc -l)" -eq 2 ]
    scancel "${id}_20"
    touch array_goes_on
    for _ in $(seq 300); do [ -z "$(squeue -h -j "$id")" ] && break; sleep 0.1; done
    [ "$(cat a_"$id"_*.out | sort -n | head -1)" = "0 of 5" ]
    [ "$(sacct -n -P -X -j "$id" -o State | sort | uniq -c | tr -s ' ' | sed 's/ by.*//')" = $' 1 CANCELLED\n 4 COMPLETED' ]
}

@test "dependencies: afterok runs, afternotok of a success never does" {
    rm -f goes_on
    a=$(sbatch --parsable -o /dev/null --wrap 'while [ ! -e goes_on ]; do sleep 0.1; done')
    b=$(sbatch --parsable -d "afterok:$a" -o /dev/null --wrap true)
    c=$(sbatch --parsable -d "afternotok:$a" -o /dev/null --wrap true)
    d=$(sbatch --parsable -d "afternotok:$a" --kill-on-invalid-dep=yes -o /dev/null --wrap true)
    [ "$(squeue -h -j "$b" -o %r)" = Dependency ]
    touch goes_on
    wait_state "$b" COMPLETED
    [ "$(squeue -h -j "$c" -o %r)" = DependencyNeverSatisfied ]
    [[ "$(ended "$d")" =~ ^CANCELLED ]]
    scancel "$c"
}

@test "GPUs: two jobs on one node never share a device, and the third waits" {
    for _ in 1 2 3; do sbatch -w n1 --gres=gpu:v100:1 -o 'gpu_%j.out' --wrap 'echo $CUDA_VISIBLE_DEVICES $SLURM_JOB_GPUS; sleep 100'; done
    eventually eval '[ "$(cat gpu_*.out | wc -l)" = 2 ]'
    [ "$(cat gpu_*.out | sort)" = $'0 0\n0 1' ] || [ "$(cat gpu_*.out | sort)" = $'0 0\n1 1' ]
    [ "$(squeue -h -t PD -o %r)" = Resources ]
    scancel -u "$(id -un)"
}

@test "limits of a partition: refused with the limit and what would work" {
    run ! sbatch -p short -t 10 --wrap true
    [[ "$output" =~ "Requested time limit is invalid" ]]
    [[ "$output" =~ "short" ]]
    run ! sbatch -N 5 --wrap true
    [[ "$output" =~ "Requested node configuration is not available" || "$output" =~ "Node count specification invalid" ]]
    run ! sbatch -p shrot --wrap true
    [[ "$output" =~ "Invalid partition name specified" ]]
    [[ "$output" =~ short ]]
}

@test "a drained node takes no new jobs and says why" {
    scontrol update NodeName=n2 State=DRAIN Reason="a fan"
    [ "$(sinfo -h -n n2 -o %T | head -1)" = drained ]
    run ! sbatch --test-only -w n2 --wrap true
    id=$(sbatch --parsable -w n2 -o /dev/null --wrap true)
    [[ "$(squeue -h -j "$id" -o %r)" =~ ReqNodeNotAvail ]]
    scontrol update NodeName=n2 State=RESUME
    wait_state "$id" COMPLETED
}

@test "usage is measured: CPU time and resident memory of the batch step" {
    id=$(sbatch --parsable -o /dev/null --mem=600M --wrap "python3 -c 'x = bytearray(150 << 20); s = sum(range(9000000))'")
    wait_state "$id" COMPLETED
    rss=$(sacct -n -P -j "$id.batch" --units=M -o MaxRSS)
    [ "${rss%%[.M]*}" -ge 140 ]
    [ "${rss%%[.M]*}" -le 400 ]
    [[ ! "$(sacct -n -P -X -j "$id" -o TotalCPU)" =~ ^00:00.0 ]]
}

@test "beyond its memory: OUT_OF_MEMORY, where cgroups hold jobs to it" {
    id=$(sbatch --parsable -o oom.out --mem=60M --wrap "python3 -c 'x = bytearray(300 << 20)'; sleep 0.2")
    for _ in $(seq 300); do [ -z "$(squeue -h -j "$id" 2>/dev/null)" ] && break; sleep 0.1; done
    if ! grep -rq memory "$REMUDA_STATE"/log/node-n1.log && [[ ! "$(ended "$id")" =~ ^OUT_OF_MEMORY ]]; then
        skip "no writable memory cgroup here"
    fi
    [[ "$(ended "$id")" =~ ^OUT_OF_MEMORY ]]
}

@test "the script is spooled: it may be deleted as soon as sbatch returns" {
    printf '#!/bin/bash\nsleep 0.3\necho spooled\n' > gone.sh
    id=$(sbatch --parsable -o gone.out gone.sh)
    rm gone.sh
    wait_state "$id" COMPLETED
    grep -q spooled gone.out
    [ "$(scontrol write batch_script "$id" - | tail -1)" = "echo spooled" ]
}

@test "directories of output paths are made, patterns expanded" {
    id=$(sbatch --parsable -J named -o 'logs/%x/%j/out_%5j_%u.txt' --wrap 'echo here')
    wait_state "$id" COMPLETED
    grep -q here "logs/named/$id/out_$(printf %05d "$id")_$(id -un).txt"
}
