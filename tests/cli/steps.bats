#!/usr/bin/env bats
# Steps as Slurm's own srun, salloc, sattach, sbcast and sstat make them: each test was run against both.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<'END'
ClusterName=steps
KillWait=2
AttachGrace=2
NodeName=n[1-2] CPUs=4 RealMemory=8000 Feature=common,old Gres=gpu:p100:4 Virtual=YES
NodeName=n3 CPUs=4 RealMemory=8000 Feature=common,new Virtual=YES
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

program() {
    printf '#!/bin/sh\n%s\n' "$2" > "$1"
    chmod +x "$1"
}

# ---- which nodes ---------------------------------------------------------------------------------------------------------------

@test "--constraint: of the job when srun makes one, of the step's nodes inside it" {
    [ "$(srun -C new sh -c 'echo $SLURMD_NODENAME')" = n3 ]
    [ "$(SLURM_CONSTRAINT=new srun sh -c 'echo $SLURMD_NODENAME')" = n3 ]
    [ "$(salloc -Q -N3 srun -N1 -n1 -C new sh -c 'echo $SLURMD_NODENAME')" = n3 ]
    [ "$(salloc -Q -N3 srun -N2 -n2 -C 'common&old' sh -c 'echo $SLURMD_NODENAME' | sort | tr '\n' ' ')" = "n1 n2 " ]
    run salloc -Q -N2 -w 'n[1-2]' srun -n1 -N1 -C new true
    [ "$status" = 1 ]
    [[ "$output" =~ "Invalid feature specification" ]]
    [[ "$output" =~ "no node of job" ]]
}

@test "--ntasks-per-node that the number of tasks contradicts is said to be ignored" {
    run --separate-stderr srun -N2 -n4 --ntasks-per-node=1 sh -c 'echo "[$SLURM_NTASKS_PER_NODE]"'
    [ "$status" = 0 ]
    [ "$(sort -u <<< "$output")" = "[]" ]
    [[ "$stderr" =~ "can't honor --ntasks-per-node set to 1 which doesn't match the requested tasks 4 with the number of requested nodes 2" ]]
}

@test "GPUs of a node and of a task: told twice, held once" {
    [ "$(srun --gpus-per-node=2 --gpus-per-task=1 -N1 -n2 sh -c 'echo $SLURM_PROCID:$CUDA_VISIBLE_DEVICES' | sort | xargs)" = "0:0 1:1" ]
    [ "$(srun --gpus-per-node=p100:2 --gpus-per-task=1 -N2 -n4 sh -c 'echo $SLURM_PROCID' | sort | xargs)" = "0 1 2 3" ]
    [ "$(srun --gres=gpu:4 --gpus-per-task=2 -N1 -n2 sh -c 'echo $CUDA_VISIBLE_DEVICES' | sort | xargs)" = "0,1 2,3" ]
    run srun --gpus-per-node=2 --gpus-per-task=1 -N1 true
    [ "$status" = 1 ]
    [ "${lines[0]}" = "srun: error: Unable to allocate resources: Requested node configuration is not available" ]
    [[ "${lines[1]}" =~ "more tasks than there are" ]]
}

@test "a step asks for GPUs with their types or without, by whatever options; what the job asked for is not that" {
    printf '%s\n' '#!/bin/bash' 'for g in "--gres=gpu:p100:1 --gpus=1" "--gpus=1 --gpus-per-task=p100:1"; do srun -Q -n1 $g true; echo $?; done' \
        'srun -Q -n1 --gpus-per-task=1 true; echo $?; srun -Q -n1 --gres=gpu:p100:1 true; echo $?' >types.sh
    sbatch -W -n1 --gpus=p100:2 -o types.out types.sh
    [ "$(grep -c '^srun: error: Invalid GRES specification (with and without type identification)$' types.out)" = 2 ]
    [ "$(grep -x '[0-9]' types.out | xargs)" = "1 1 0 0" ]
}

@test "of two counts of one resource in a list the last counts" {
    for asked in --gres=gpu:1,gpu:2 --gres=gpu:p100:1,gpu:p100:2 --gpus=1,2 --gpus-per-node=p100:1,p100:2; do
        [ "$(srun -n1 $asked sh -c 'echo $CUDA_VISIBLE_DEVICES')" = "0,1" ]
    done
    id=$(sbatch --parsable -H --gres=gpu:1 -o /dev/null --wrap true)
    scontrol update jobid="$id" gres=gpu:3,gpu:1
    [ "$(squeue -h -j "$id" -o %b)" = "gres/gpu:1" ]
    scancel "$id"
}

@test "scancel -v: filters that nothing matches are said" {
    run scancel -v -n nothing -p main -u "$(id -un)" -t R
    [ "$status" = 0 ]
    [ "$output" = "scancel: error: No active jobs match ALL job filters, including: job_name=nothing partition=main state=RUNNING user_name=$(id -un) " ]
}

@test "a range of nodes: as many as there are" {
    [ "$(srun -N1-3 sh -c 'echo $SLURM_NTASKS $SLURM_NNODES' | sort | uniq -c | xargs)" = "3 3 3" ]
    [ "$(salloc -Q -N3 srun -N1-2 sh -c 'echo $SLURM_NTASKS $SLURM_NNODES' | sort | uniq -c | xargs)" = "2 2 2" ]
    [ "$(salloc -Q -N2 srun -N1-9 sh -c 'echo $SLURM_NTASKS $SLURM_NNODES' | sort | uniq -c | xargs)" = "2 2 2" ]
    [ "$(srun -N1-3 --use-min-nodes sh -c 'echo $SLURM_NTASKS $SLURM_NNODES')" = "1 1" ]
}

@test "a list of numbers of nodes: the largest that there is; of a step, the largest its job has" {
    [ "$(salloc -Q -N1-3:2 sh -c 'echo $SLURM_NNODES; srun -N1,2,5 sh -c "echo \$SLURM_NNODES"' | sort -u | tr '\n' ' ')" = "2 3 " ]
    [ "$(srun -N2,7 sh -c 'echo $SLURM_NNODES' | sort -u)" = 2 ]
    run -1 sbatch -N5,7 --wrap true
    [[ "$output" == *"sbatch: error: Batch job submission failed: Requested node configuration is not available"* ]]
    run -255 sbatch -N3-1,2 --wrap true
    [ "${lines[0]}" = 'sbatch: error: "3-1,2" is not a valid node count' ]
    [[ "$output" == *"the smaller number comes first"* ]]
}

@test "--gres=none: a step without its job's GPUs" {
    [ "$(salloc -Q -N1 -n1 --gres=gpu:2 sh -c 'srun sh -c "echo [\$CUDA_VISIBLE_DEVICES]"; srun --gres=none sh -c "echo [\$CUDA_VISIBLE_DEVICES]"; SLURM_STEP_GRES=none srun sh -c "echo [\$CUDA_VISIBLE_DEVICES]"' | tr '\n' ' ')" = "[0,1] [] [] " ]
    [ "$(salloc -Q -N1 -n1 --gpus=2 srun --gres=none sh -c 'echo [$CUDA_VISIBLE_DEVICES]')" = "[]" ]
}

@test "--distribution=arbitrary: a node for each task, from --nodelist or SLURM_HOSTFILE, in a job and in one of its own" {
    where='echo $SLURM_PROCID $SLURMD_NODENAME'
    [ "$(salloc -Q -N2 -w 'n[1-2]' --exclusive srun -m arbitrary -w n2,n1,n2 sh -c "$where" | sort | tr '\n' ';')" = "0 n2;1 n1;2 n2;" ]
    [ "$(srun -m arbitrary -w n3,n2,n3,n3 sh -c "$where" | sort | tr '\n' ';')" = "0 n3;1 n2;2 n3;3 n3;" ]
    printf 'n2\nn1\nn2\n' > hosts
    [ "$(SLURM_HOSTFILE=hosts srun sh -c "$where" | sort | tr '\n' ';')" = "0 n2;1 n1;2 n2;" ]
    [ "$(SLURM_HOSTFILE=hosts srun -m arbitrary -n2 sh -c "$where" | sort | tr '\n' ';')" = "0 n2;1 n1;" ]
    run srun -m arbitrary true
    [ "$status" = 1 ]
    [[ "$output" =~ "needs --nodelist or SLURM_HOSTFILE" ]]
}

@test "SLURM_DISTRIBUTION: what was asked for or what comes of the numbers, the plane's size beside it, read back" {
    [ "$(srun -N2 -n2 sh -c 'echo "[$SLURM_DISTRIBUTION]"' | sort -u)" = "[cyclic]" ]
    [ "$(salloc -Q -n3 srun sh -c 'echo "[$SLURM_DISTRIBUTION]"' | sort -u)" = "[block]" ]
    [ "$(salloc -Q -m plane=2 -N2 -n8 -w 'n[1-2]' --exclusive srun -n8 sh -c 'echo $SLURM_PROCID $SLURM_NODEID $SLURM_DISTRIBUTION $SLURM_DIST_PLANESIZE' | sort | tr '\n' ';')" = "0 0 plane 2;1 0 plane 2;2 1 plane 2;3 1 plane 2;4 0 plane 2;5 0 plane 2;6 1 plane 2;7 1 plane 2;" ]
    [ "$(srun -n1 -N1 --exclusive -m cyclic srun --overlap -n1 sh -c 'echo $SLURM_DISTRIBUTION')" = cyclic ]
}

# ---- --multi-prog ----------------------------------------------------------------------------------------------------------------

@test "--multi-prog: what is wrong with the file is said before anything starts" {
    bad() {
        printf "$1" > progs
        run srun -n2 --multi-prog progs
        [ "$status" = 1 ]
        [[ "$output" =~ $2 ]]
    }
    before=$(sacct -n -X | wc -l)
    bad '0 echo a\n' "Configuration file progs invalid, no record for task id 1"
    bad '' "no record for task id 0"
    bad '0-5 echo a\n' "Invalid task id, 2 >= ntasks: line 1 of configuration file progs invalid"
    bad '# x\n0 echo a\n0,1 echo b\n' "Duplicate record for task 0: line 3"
    bad 'x echo a\n' "Invalid task range specification \(x\)"
    bad '0\n* echo\n' "line 1 of configuration file progs invalid"
    run srun -n2 --multi-prog nowhere
    [ "$status" = 1 ]
    [[ "$output" =~ "error: Could not open multi_prog config file nowhere" ]]
    [ "$(sacct -n -X | wc -l)" = "$before" ]
}

@test "--multi-prog: lines that go on, quotes, words of srun's own line" {
    printf "0 echo first \\\\\n  line\n* echo '%%t  %%o' %%t %%o a\\\\ b\n" > progs
    [ "$(srun -n2 --multi-prog progs more words | sort | tr '\n' ';')" = "%t  %o 1 1 a b more words;first line more words;" ]
}

# ---- streams ------------------------------------------------------------------------------------------------------------------------

@test "a number that is no task's is a file" {
    srun -n2 -o 7 -e 9 sh -c 'echo out $SLURM_PROCID; echo err $SLURM_PROCID >&2'
    [ "$(sort 7 9 | tr '\n' ';')" = "err 0;err 1;out 0;out 1;" ]
    [ "$(srun -n2 -i 7 cat | sort -u | tr '\n' ';')" = "out 0;out 1;" ]
    [ "$(srun -n8 -N2 -o 7 sh -c 'echo $SLURM_PROCID')" = 7 ]
    run srun -n2 -i 8 cat
    [ "$status" = 1 ]
    [[ "$output" =~ "Could not open stdin file: No such file or directory" && "$output" =~ "8: No such file" ]]
    run srun -e /nowhere/x true
    [ "$status" = 1 ]
    [[ "$output" =~ "error: Could not open stderr file: No such file or directory" && "$output" =~ "/nowhere/x: No such" ]]
}

@test "output and errors in one file: both are there" {
    srun -o both -e ./both sh -c 'echo a; echo b >&2; echo c'
    [ "$(sort both | tr '\n' ' ')" = "a b c " ]
    srun -n1 -o both.%t -e both.%t sh -c 'echo a; echo b >&2; echo c'
    [ "$(sort both.0 | tr '\n' ' ')" = "a b c " ]
}

@test "a full disk is said, and ends the step" {
    run timeout 20 srun -o /dev/full yes
    [ "$status" -gt 0 ]
    [ "$status" != 124 ]
    [[ "$output" =~ "cannot write the tasks' output: No space left on device" ]]
    run timeout 20 srun -o /dev/full echo x
    [ "$status" = 1 ]
    run timeout 20 srun -e /dev/full sh -c 'while :; do echo x >&2; done'
    [ "$status" -gt 0 ]
    [ "$status" != 124 ]
    [[ "$output" =~ "No space left on device" ]]
}

@test "descriptors that the caller closed" {
    timeout 20 srun cat <&-
    timeout 20 srun echo x >&-
    timeout 20 srun sh -c 'echo x >&2' 2>&-
    [ "$(timeout 20 srun echo x <&-)" = x ]
}

@test "--pty without a terminal: all tasks run, without one" {
    run --separate-stderr srun --pty -n2 sh -c 'echo $SLURM_PROCID; tty > /dev/null || echo none'
    [ "$(sort <<< "$output" | tr '\n' ' ')" = "0 1 none none " ]
    [[ "$stderr" =~ "Not using a pseudo-terminal, disregarding --pty option" ]]
}

@test "where srun is: an address and a port" {
    srun env > env
    grep -Eq '^SLURM_LAUNCH_NODE_IPADDR=[0-9a-f.:]+$' env
    grep -Eq '^SLURM_SRUN_COMM_PORT=[0-9]+$' env
    grep -Eq '^SLURM_STEP_LAUNCHER_PORT=[0-9]+$' env
    grep -q '^SRUN_DEBUG=3$' env
}

# ---- programs around the step -------------------------------------------------------------------------------------------------------

@test "a task prolog that fails is the task's end; a task epilog's failure is said" {
    run --separate-stderr srun --task-prolog=/bin/false echo x
    [ "$status" = 1 ]
    [ "$output" = "" ]
    [[ "$stderr" =~ "--task-prolog failed status=1" ]]
    run --separate-stderr srun --task-prolog=/no/such echo x
    [ "$status" = 1 ]
    [[ "$stderr" =~ "--task-prolog can not be executed (/no/such) No such file or directory" ]]
    program after 'echo $SLURM_PROCID > after.$SLURM_PROCID; exit 3'
    run --separate-stderr srun --task-epilog="$PWD/after" sh -c 'echo x; exit 4'
    [ "$status" = 4 ]
    [ "$output" = x ]
    [[ "$stderr" =~ "TaskEpilog failed status=768" ]]
    [ "$(cat after.0)" = 0 ]
}

@test "srun's own prolog knows the step, and ends it when it fails; its epilog's failure is said" {
    program before 'echo $SLURM_STEP_ID $SLURM_NTASKS $SLURM_STEP_NODELIST $((SLURM_JOB_ID > 0)) > knows'
    srun -n2 -N2 -w 'n[1-2]' --prolog="$PWD/before" true
    [ "$(cat knows)" = "0 2 n[1-2] 1" ]
    program before 'exit 3'
    run srun --prolog="$PWD/before" touch ran
    [ "$status" = 1 ]
    [[ "$output" =~ "srun prolog failed rc = 3. Aborting step." ]]
    [ ! -e ran ]
    run srun --epilog="$PWD/before" sh -c 'exit 4'
    [ "$status" = 4 ]
    [[ "$output" =~ "srun epilog failed status=3" ]]
}

# ---- ends ---------------------------------------------------------------------------------------------------------------------------

# Without job control a shell's background commands ignore SIGINT, and so would the tasks.
start() {
    python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execvp(sys.argv[1], sys.argv[1:])' "$@" > out 2> err &
    pid=$!
    for _ in $(seq 300); do [ -e started ] && break; sleep 0.05; done
}

@test "Ctrl-C twice: the tasks get SIGINT and may clean up" {
    start srun -n2 sh -c 'trap "echo cleaning; exit 3" INT; touch started; while :; do sleep 0.05; done'
    sleep 0.2
    kill -INT "$pid"; sleep 0.2; kill -INT "$pid"
    code=0; wait "$pid" || code=$?
    [ "$code" = 3 ]
    [ "$(grep -c cleaning out)" = 2 ]
    grep -q "sending Ctrl-C to StepId=" err
    grep -q "Job step aborted: Waiting up to 4 seconds for job step to finish." err
}

@test "Ctrl-C a third time: at once; -X: the first goes to the tasks and ends nothing" {
    start srun sh -c 'trap "" INT TERM; touch started; while :; do sleep 0.05; done'
    kill -INT "$pid"; sleep 0.1; kill -INT "$pid"; sleep 0.2; kill -INT "$pid"
    code=0; wait "$pid" || code=$?
    [ "$code" = 137 ]
    grep -q "forcing job termination" err
    rm started
    start srun -X sh -c 'trap "echo once" INT; touch started; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 0.05; done'
    kill -INT "$pid"
    code=0; wait "$pid" || code=$?
    [ "$code" = 0 ]
    [ "$(cat out)" = once ]
    run ! grep -q aborted err
}

@test "a step whose shepherd stands still: srun ends when its time is over, and says which node it was" {
    start srun -n1 -w n2 sh -c 'echo $PPID >shepherd; touch started; sleep 300'
    stands_still "$(cat shepherd)"
    kill -TERM "$pid"
    eventually grep -q "Timed out" err || kill -9 "$pid"
    kill "$STILL"
    code=0; wait "$pid" || code=$?
    [ "$code" = 1 ]
    [ "$(tail -n 2 err)" = "srun: error: Timed out waiting for job step to complete
srun: error: node n2 does not say that its tasks have ended" ]
    gone() { [ -z "$(squeue -h)" ]; }
    eventually gone
}

@test "--wait: tasks that go on are killed, however they feel about SIGTERM" {
    run timeout 20 srun -n2 -W1 sh -c '[ $SLURM_PROCID = 0 ] && exit 0; trap "" TERM; sleep 30; sleep 30'
    [ "$status" = 137 ]
    [[ "$output" =~ "First task exited 1s ago" ]]
    [[ "$output" =~ StepId=[0-9]+.0\ task\ 1:\ running ]]
    [[ "$output" =~ StepId=[0-9]+.0\ task\ 0:\ exited ]]
}

@test "tasks that end alike at about the same time are told of in one line; SLURM_SRUN_REDUCE_TASK_EXIT_MSG: in one for all nodes" {
    run srun -N2 -n8 false
    [ "$status" = 1 ]
    [ "$(wc -l <<< "$output")" -le 4 ]
    [[ "$output" =~ n[1-3]:\ tasks\ [0-9,-]+:\ Exited\ with\ exit\ code\ 1 ]]
    SLURM_SRUN_REDUCE_TASK_EXIT_MSG=1 run srun -N2 -n8 false
    [ "$(wc -l <<< "$output")" = 1 ]
    # One that ended alone is told of while the others go on.
    SECONDS=0
    run timeout 20 srun -n2 -K sh -c '[ $SLURM_PROCID = 1 ] && exit 5; sleep 15'
    [[ "$output" =~ "task 1: Exited with exit code 5" ]]
    [ "$SECONDS" -lt 8 ]
}

@test "--verbose says how the step goes" {
    run --separate-stderr srun -v -n2 -N2 -w 'n[1-2]' true
    [ "$status" = 0 ]
    [ "$output" = "" ]
    [[ "$stderr" =~ "srun: jobid "[0-9]+": nodes(2):\`n[1-2]', cpu counts: 1(x2)" ]]
    [[ "$stderr" =~ launching\ StepId=[0-9]+.0\ on\ host\ n2,\ 1\ tasks:\ 1 ]]
    [[ "$stderr" =~ "Node n2, tasks started: 1" ]]
    [[ "$stderr" =~ Received\ task\ exit\ notification\ for\ tasks\ 1\ of\ StepId=[0-9]+.0\ on\ n2\ \(status=0x0000\) ]]
}

# ---- heterogeneous steps ---------------------------------------------------------------------------------------------------------------

@test "components that one srun starts are one program: ranks, nodes, rendezvous" {
    salloc -Q -n1 : -n2 srun --het-group=0-1 -l sh -c 'echo $SLURM_PROCID/$SLURM_NTASKS $RANK/$WORLD_SIZE $SLURM_NODEID/$SLURM_NNODES $SLURM_GTIDS $SLURM_TASKS_PER_NODE $SLURM_STEP_NUM_TASKS' | sort > out
    [ "$(tr '\n' ';' < out)" = "0: 0/3 0/3 0/2 0 1,2 3;1: 1/3 1/3 1/2 1,2 1,2 3;2: 2/3 2/3 1/2 1,2 1,2 3;" ]
    [ "$(salloc -Q -n1 : -n2 srun --het-group=0-1 sh -c 'echo $SLURM_JOB_ID $MASTER_ADDR:$MASTER_PORT' | sort -u | wc -l)" = 1 ]
    [ "$(srun -n1 sh -c 'echo $SLURM_PROCID $SLURM_HET_SIZE $SLURM_NTASKS_HET_GROUP_1' : -n2 sh -c 'echo $SLURM_PROCID $SLURM_HET_SIZE $SLURM_NTASKS_HET_GROUP_1' | sort | tr '\n' ';')" = "0 2 2;1 2 2;2 2 2;" ]
    srun -n1 -o file.%t.%n echo a : -n2 echo b
    [ "$(cat file.0.0 file.1.1 file.2.1 | tr '\n' ' ')" = "a b b " ]
}

@test "each component of the line may name its own of the job" {
    [ "$(salloc -Q -n1 : -n2 srun --het-group=1 echo a : --het-group=0 echo b | sort | tr '\n' ' ')" = "a a b " ]
    run salloc -Q -n1 : -n2 srun --het-group=0 true : -n1 true
    [ "$status" = 1 ]
    [[ "$output" =~ "--het-group is given for 1 of 2 components" ]]
    run salloc -Q -n1 : -n2 srun --het-group=2 true
    [[ "$output" =~ "the job's components are 0 to 1" ]]
}

# ---- allocations --------------------------------------------------------------------------------------------------------------------------

@test "--immediate: not called queued, SLURM_EXIT_IMMEDIATE is its exit code, in a job too" {
    salloc -Q -N3 --exclusive sleep 6 &
    for _ in $(seq 300); do [ -n "$(squeue -h -t R)" ] && break; sleep 0.05; done
    SLURM_EXIT_IMMEDIATE=66 run srun -I -N1 true
    [ "$status" = 66 ]
    [ "$output" = "srun: error: Unable to allocate resources: Requested nodes are busy" ]
    run salloc -I2 -N1 true
    [ "$status" = 1 ]
    [[ "$output" =~ "queued and waiting for resources" ]]
    scancel -u "$(id -un)"
    wait
    SLURM_EXIT_IMMEDIATE=67 run salloc -Q -n1 sh -c 'srun sleep 3 & sleep 1; srun -I true; echo code $?; kill %1; wait'
    [[ "$output" =~ "code 67" ]]
}

@test "salloc: a directory or a command that is not there" {
    run salloc -D /no/such true
    [ "$status" = 1 ]
    [ "$output" = "salloc: error: chdir(/no/such): No such file or directory" ]
    run salloc -n1 no-such-command
    [ "$status" = 1 ]
    [[ "$output" =~ 'Unable to find command "no-such-command"' ]]
    mkdir there
    [ "$(salloc -Q -D there pwd)" = "$PWD/there" ]
}

@test "--test-only asks when and where a job would start, in a job too" {
    run salloc -Q -n2 srun --test-only -n2 true
    [ "$status" = 0 ]
    [[ "$output" =~ "srun: Job "[0-9]+" to start at " ]]
    run salloc -Q -n2 srun --test-only -n64 true
    [ "$status" = 1 ]
    [[ "$output" =~ "allocation failure: Requested node configuration is not available" ]]
}

# ---- sattach, sbcast, sstat -------------------------------------------------------------------------------------------------------------------

@test "sattach ends with the exit code of the tasks it saw; what it cannot attach to is said as Slurm does" {
    salloc -Q -n1 sh -c 'srun sh -c "sleep 2; exit 5" 2> /dev/null & sleep 1; sattach $SLURM_JOB_ID.0; echo code $?; wait' > out 2> err || true
    grep -q "code 5" out
    grep -q "sattach: error: n[1-3]: task 0: Exited with exit code 5" err
    run sattach nonsense
    [ "$status" = 1 ]
    [[ "$output" =~ "Failed to parse stepid from command line options" ]]
    run sattach 999999.0
    [ "$status" = 1 ]
    [[ "$output" =~ "Could not get job step info: Invalid job id specified" ]]
}

@test "sattach --input-filter: one task reads it, and has its end" {
    mkfifo held
    salloc -Q -n2 sh -c 'srun -n2 -l cat < held > got & exec 3> held; sleep 1; printf "a\nb\n" | sattach --input-filter=1 $SLURM_JOB_ID.0 > /dev/null 3>&- & sleep 1; echo all >&3; exec 3>&-; wait'
    [ "$(sort got | tr '\n' ';')" = "0: all;1: a;1: b;" ]
}

@test "sbcast: directories are refused, empty files said, options without effect still read" {
    copy() { salloc -Q -n1 sbcast "$@"; }
    run copy /etc "$PWD/to"
    [ "$status" = 255 ]
    [[ "$output" =~ "it is a directory" ]]
    touch empty
    run copy empty "$PWD/to"
    [ "$status" = 0 ]
    [[ "$output" =~ "file \`empty\` is empty" ]]
    for bad in --size=x --fanout=x --timeout=x --compress=rar; do
        run copy "$bad" empty "$PWD/bad"
        [ "$status" = 1 ]
        [ ! -e bad ]
    done
    run copy --send-libs /bin/true "$PWD/true"
    [ "$status" = 0 ]
    [[ "$output" =~ "--send-libs has no effect" ]]
}

@test "sstat: its own fields, whole seconds, a step that does not run" {
    salloc -Q -n1 sh -c 'srun sleep 3 & sleep 1; sstat -n -P -o JobID,AveCPU,MinCPU $SLURM_JOB_ID | cut -d"|" -f2-; sstat -n $SLURM_JOB_ID.7; wait' > out 2> err
    [ "$(cat out)" = "00:00:00|00:00:00" ]
    grep -Eq "sstat: error: StepId=[0-9]+.7 not found running." err
    [ "$(sstat -e | head -n 1 | xargs)" = "AveCPU AveCPUFreq AveDiskRead AveDiskWrite" ]
    run ! grep -q Account <(sstat -e)
}
