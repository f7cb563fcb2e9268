#!/usr/bin/env bats
# A node with GPUs of two types: a job that asks for more than there are of one, without a type, has some of each.
bats_require_minimum_version 1.5.0
load devices

setup_file() {
    export WHY_NOT=
    [ "$(id -u)" = 0 ] || { WHY_NOT="needs root to hide devices"; return 0; }
    TOP=$(mktemp -d /tmp/remuda-mixed-XXXXXX)
    export TOP REMUDA_STATE="$TOP/state" REMUDA_NVML="$TOP/nvml.so" REMUDA_FAKE_GPUS="$TOP/gpus" REMUDA_PROC="$TOP/proc"
    chmod 755 "$TOP"
    for gpu in 0 1 2 3; do
        mknod -m 666 "$TOP/nvidia$gpu" c 195 "$gpu" 2>/dev/null || { WHY_NOT="device files cannot be made here"; return 0; }
        mkdir -p "$TOP/proc/driver/nvidia/gpus/0000:1$gpu:00.0"
        printf 'GPU UUID: \t GPU-????????-????\nDevice Minor: \t %s\n' $((3 - gpu)) >"$TOP/proc/driver/nvidia/gpus/0000:1$gpu:00.0/information"
    done
    # The files' numbers run against the GPUs' own, as they may on real machines.
    cc -shared -fPIC -o "$TOP/nvml.so" "$BATS_TEST_DIRNAME"/../fake/nvml*.c
    echo "machine mixed" >"$TOP/gpus"
    cat >"$TOP/seen" <<'S'
#!/bin/sh
# Numbers of the GPUs whose files can be opened; what CUDA is told; those of the job, of the step.
for gpu in 0 1 2 3; do
    (: <"$(dirname "$0")/nvidia$((3 - gpu))") 2>&1 | grep -q "No such device or address" && printf '%s ' "$gpu"
done
echo "| $CUDA_VISIBLE_DEVICES | $SLURM_JOB_GPUS | $SLURM_STEP_GPUS"
S
    mkdir -p "$REMUDA_STATE"
    devices_up
    {
        echo AccountingStorageEnforce=limits,qos
        echo PreemptType=preempt/partition_prio
        echo PreemptMode=REQUEUE
        echo "PartitionName=low Nodes=ALL PriorityTier=0 PreemptMode=REQUEUE MaxTime=UNLIMITED"
    } >>"$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    sacctmgr -i -Q add account lab >/dev/null
    for qos in "few GrpTRES=gres/gpu:t4=1" "none GrpTRES=gres/gpu:t4=1,gres/gpu:v100=1"; do sacctmgr -i -Q add qos $qos >/dev/null; done
    sacctmgr -i -Q add user root account=lab qos=normal,few,none DefaultQOS=normal DefaultAccount=lab >/dev/null
}

# job OPTION…: what such a job opens, and is told of
job() {
    id=$(sbatch --parsable --mem=100 -o job.out "$@" --wrap ./seen) && over "$id" && cat job.out
}
running() { [ "$(squeue -h -j "$1" -o %T)" = RUNNING ]; }
waits_for() { [ "$(squeue -h -j "$1" -o '%T %r')" = "PENDING $2" ]; }

@test "however it is asked for, it has some of each type, and sees them in the order of their numbers" {
    three="0 2 3 | 0,1,2 | 0,2,3 | "
    for o in --gres=gpu:3 --gpus=3 --gpus-per-node=3 --gpus-per-task=3; do
        [ "$(job -n1 $o)" = "$three" ] || { echo "$o: $(cat job.out)"; return 1; }
    done
    [ "$(job -n3 -O --gpus-per-task=1)" = "$three" ]
    [ "$(job --gres=gpu:4)" = "0 1 2 3 | 0,1,2,3 | 0,1,2,3 | " ]
    [ "$(job --gres=gpu:2)" = "2 3 | 0,1 | 2,3 | " ] # of one type, where one has enough
    [ "$(job --array=0-1 --gres=gpu:3)" = "$three" ]
}

@test "it is shown and accounted by type" {
    id=$(sbatch --parsable --mem=100 --gres=gpu:3 --wrap 'scontrol show job -d $SLURM_JOB_ID >shown')
    over "$id"
    grep -q " AllocTRES=cpu=1,mem=100M,node=1,billing=1,gres/gpu=3,gres/gpu:t4=2,gres/gpu:v100=1$" shown
    grep -q " JOB_GRES=gpu:t4:2,gpu:v100:1$" shown
    grep -q " Nodes=[^ ]* CPU_IDs=0 Mem=100 GRES=gpu:t4:2(IDX:2-3),gpu:v100:1(IDX:0)$" shown
    [ "$(sacct -nXPj "$id" -o reqtres,alloctres)" = "billing=1,cpu=1,gres/gpu=3,mem=100M,node=1|billing=1,cpu=1,gres/gpu:t4=2,gres/gpu:v100=1,gres/gpu=3,mem=100M,node=1" ]
}

@test "steps have of either type what they ask for, and tasks their own" {
    cat >steps.sh <<'S'
#!/bin/sh
for o in "-n1 --gres=gpu:1" "-n1 --gres=gpu:v100:1" "-n1 --gres=gpu:t4:2" "-n1 --gres=gpu:t4:1,gpu:v100:1" "-n1 --gpus=3" "-n3 --gpus-per-task=1" "-n3 --gpu-bind=map_gpu:2,0,1"; do
    srun -O --mem=50 $o sh -c 'echo "$SLURM_PROCID: $(./seen)"' | sort
done
srun -n1 --mem=50 --gres=gpu:v100:2 true
S
    id=$(sbatch --parsable --mem=100 -n3 -O --gres=gpu:3 -o steps.out steps.sh)
    over "$id"
    sed "s/job $id/job ID/" steps.out | diff /dev/fd/3 - 3<<'S'
0: 2 | 0 | 0,2,3 | 2
0: 0 | 0 | 0,2,3 | 0
0: 2 3 | 0,1 | 0,2,3 | 2,3
0: 0 2 | 0,1 | 0,2,3 | 0,2
0: 0 2 3 | 0,1,2 | 0,2,3 | 0,2,3
0: 0 2 3 | 0 | 0,2,3 | 0,2,3
1: 0 2 3 | 1 | 0,2,3 | 0,2,3
2: 0 2 3 | 2 | 0,2,3 | 0,2,3
0: 0 2 3 | 2 | 0,2,3 | 0,2,3
1: 0 2 3 | 0 | 0,2,3 | 0,2,3
2: 0 2 3 | 1 | 0,2,3 | 0,2,3
srun: error: Unable to create step for job ID: Invalid generic resource (gres) specification
srun: error: job ID has 1 of the generic resources the step asks for on a node, which needs 2
S
}

@test "what no node has of all types is refused, and says how many there are" {
    run -1 sbatch --mem=100 --gres=gpu:5 --wrap true
    [[ "$output" == *"it needs 1 node with 1 CPU, 5 gpu and 100 MiB of memory; partition main has no such node: the nearest is "*" with 4 gpu (5 asked)"* ]]
    run -1 sbatch --mem=100 --gres=gpu:t4:3 --wrap true
    [[ "$output" == *" with 2 gpu:t4 (3 asked)"* ]]
}

@test "a limit on one type chooses the mix, and who has none waits for the limit" {
    [ "$(job -q few --gres=gpu:3)" = "0 1 2 | 0,1,2 | 0,1,2 | " ]
    id=$(sbatch --parsable -q none --mem=100 --gres=gpu:3 --wrap true)
    until_true waits_for "$id" QOSGrpGRES
    remuda why "$id" | grep -q "GrpTRES=gres/gpu:.*=1 of QOS none: 0 of 1 is in use, it needs 2"
    remuda why "$id" | grep -q "needs 1 node with 1 CPU, 3 gpu and 100 MiB of memory"
    scancel "$id"
}

@test "it keeps them over a kill -9 of the controller, and gets as many after it was requeued" {
    id=$(sbatch --parsable --requeue --mem=100 --gres=gpu:3 -o kept.out --wrap './seen; test "$SLURM_RESTART_COUNT" || sleep 100')
    until_true running "$id"
    kill -9 "$(cat "$REMUDA_STATE/controller.pid")"
    remuda up -q 3>&-
    next=$(sbatch --parsable --mem=100 --gres=gpu:3 -o next.out --wrap ./seen)
    one=$(sbatch --parsable --mem=100 --gres=gpu:1 -o one.out --wrap ./seen)
    over "$one"
    [ "$(cat one.out)" = "1 | 0 | 1 | " ]
    until_true waits_for "$next" Resources
    remuda why "$next" | grep -q "too few free gpu"
    scontrol requeue "$id"
    over "$next"
    [ "$(cat next.out)" = "0 2 3 | 0,1,2 | 0,2,3 | " ]
    over "$id"
    [ "$(sacct -nXPj "$id" -o alloctres)" = "billing=1,cpu=1,gres/gpu:t4=2,gres/gpu:v100=1,gres/gpu=3,mem=100M,node=1" ]
}

@test "work gives way for a mix, and one that has a mix gives way" {
    low=$(sbatch --parsable -p low --requeue --mem=100 --gres=gpu:v100:1 --wrap 'sleep 100')
    until_true running "$low"
    [ "$(job --gres=gpu:4)" = "0 1 2 3 | 0,1,2,3 | 0,1,2,3 | " ]
    scancel "$low"
    low=$(sbatch --parsable -p low --requeue --mem=100 --gres=gpu:3 --wrap 'sleep 100')
    until_true running "$low"
    [ "$(job --gres=gpu:v100:2)" = "0 1 | 0,1 | 0,1 | " ]
    scancel "$low"
}

@test "it runs inside a reservation that keeps such a mix" {
    scontrol create reservation reservationname=r starttime=now duration=60 users=root nodes=ALL tres=gres/gpu:t4=2,gres/gpu:v100=1
    [ "$(job --reservation=r --gres=gpu:3)" = "0 2 3 | 0,1,2 | 0,2,3 | " ]
    id=$(sbatch --parsable --mem=100 --gres=gpu:3 --wrap true)
    sleep 1
    [ "$(squeue -h -j "$id" -o %T)" = PENDING ]
    scancel "$id"
    scontrol delete reservationname=r
}
