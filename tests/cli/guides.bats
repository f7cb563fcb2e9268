#!/usr/bin/env bats
# What five published guides tell people to type, word for word (spec/guides.md 0.1 to 0.4), on virtual nodes shaped like the guides' own: Wilson's, Alvis', M3's
# and Satori's. The scripts stand in tests/cli/guides/ as the guides print them. Accounts and QOS are kept and shown, not yet checked; mpirun and torchrun
# themselves run in tests/heavy/launchers.bats. `module` and `apptainer` are stand-ins that show what they were given.
bats_require_minimum_version 1.5.0

setup_file() {
    export REMUDA_STATE="$BATS_FILE_TMPDIR/state" WORK="$BATS_FILE_TMPDIR/work" SCRIPTS="$BATS_TEST_DIRNAME/guides"
    mkdir -p "$WORK/bin" "$REMUDA_STATE"
    cat > "$REMUDA_STATE/remuda.conf" <<'END'
ClusterName=guides
KillWait=1
NodeName=wgpu1 CPUs=64 RealMemory=512000 Gres=gpu:a100:4 Feature=ampere Virtual=YES
NodeName=wgpu2 CPUs=40 RealMemory=188000 Gres=gpu:v100:2 Virtual=YES
NodeName=wgpu[3-4] CPUs=16 RealMemory=768000 Gres=gpu:p100:8 Virtual=YES
NodeName=wc[1-2] CPUs=16 RealMemory=64000 Virtual=YES
NodeName=alvis[1-2] CPUs=32 RealMemory=384000 Gres=gpu:V100:4 Feature=skylake Virtual=YES
NodeName=m3a CPUs=18 RealMemory=110000 Gres=gpu:P4:2 Virtual=YES
NodeName=satori[1-2] CPUs=160 RealMemory=1100000 Gres=gpu:4 Virtual=YES
PartitionName=gpu_gce Nodes=wgpu[1-4] MaxTime=1-00:00:00 DefaultTime=8:00:00
PartitionName=cpu_gce Nodes=wc[1-2] MaxNodes=50 MaxTime=1-00:00:00 DefaultTime=8:00:00 OverSubscribe=EXCLUSIVE
PartitionName=cpu_gce_test Nodes=wc[1-2] MaxNodes=1 MaxTime=4:00:00 DefaultTime=1:00:00 OverSubscribe=EXCLUSIVE
PartitionName=alvis Nodes=alvis[1-2] Default=YES MaxTime=7-00:00:00
PartitionName=desktop Nodes=m3a
PartitionName=sched_system_all Nodes=satori[1-2] MaxTime=1-00:00:00
END
    cat > "$WORK/bin/apptainer" <<'END'
#!/bin/sh
echo "apptainer $* [gpus $CUDA_VISIBLE_DEVICES]"
[ "$1" = exec ] || exit 0
while [ $# -gt 0 ] && [ "${1%.sif}" = "$1" ]; do shift; done
shift
exec "$@"
END
    chmod +x "$WORK/bin/apptainer"
    export PATH="$WORK/bin:$PATH"
    remuda up -q
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

setup() { cd "$WORK" || exit 1; }

on_terminal() { script -qec "$1" /dev/null < /dev/null; }
none_left() {
    for _ in $(seq 300); do
        [ "$(squeue -h -o %i | wc -l)" = 0 ] && return 0
        sleep 0.1
    done
    squeue
    return 1
}

# ---- Wilson (Fermilab) ------------------------------------------------------------------------------------------------------------

@test "Wilson: squeue, sbatch, scancel, salloc, srun: salloc starts a shell, plain srun in it starts steps there" {
    for c in squeue sbatch scancel salloc srun; do command -v "$c"; done
    run --separate-stderr env SHELL=/bin/bash salloc -p gpu_gce -n2 < <(echo 'srun echo "step $SLURM_JOB_ID"; exit 5')
    [ "$status" = 5 ]
    id=$(grep -o 'Granted job allocation [0-9]*' <<< "$stderr" | tail -c +24)
    [ "$output" = "step $id"$'\n'"step $id" ]
    [[ "$stderr" == *"salloc: Relinquishing job allocation $id"* ]]
}

@test "Wilson: srun --unbuffered --pty … /bin/bash: a terminal, the GPU as number 0, the shell's status" {
    run on_terminal "srun --unbuffered --pty --partition=gpu_gce --gres=gpu:p100:1 --nodes=1 --ntasks-per-node=1 --cpus-per-task=2 --time=00:10:00 /bin/bash -c 'tty; echo gpu \$CUDA_VISIBLE_DEVICES cpus \$SLURM_CPUS_PER_TASK; exit 4'"
    [ "$status" = 4 ]
    [[ "$output" == *"/dev/pts/"* ]]
    [[ "$output" == *"gpu 0 cpus 2"* ]]
    run on_terminal "srun --unbuffered --pty -A wc_test --qos=regular --partition=gpu_gce --gres=gpu:p100:1 --nodes=1 --ntasks-per-node=4 --time=00:10:00 /bin/bash -c 'echo once of \$SLURM_NTASKS by \$SLURM_JOB_ACCOUNT \$SLURM_JOB_QOS'"
    [ "$status" = 0 ]
    [ "$(grep -c 'once of 4 by wc_test regular' <<< "$output")" = 1 ]
}

@test "Wilson: --gres=gpu:1, gpu:p100:1, gpu:v100:2, gpu:v100:2 --nodes=2 on sbatch, salloc and srun" {
    [ "$(srun -p gpu_gce --gres=gpu:1 sh -c 'echo $CUDA_VISIBLE_DEVICES')" = 0 ]
    [ "$(srun -p gpu_gce --gres=gpu:p100:1 sh -c 'echo $SLURMD_NODENAME $SLURM_GPUS_ON_NODE')" = "wgpu3 1" ]
    [ "$(salloc -Q -p gpu_gce --gres=gpu:v100:2 srun sh -c 'echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES')" = "wgpu2 0,1" ]
    [ "$(srun -p gpu_gce --gres=gpu:p100:2 --nodes=2 -l sh -c 'echo $SLURM_GPUS_ON_NODE' | sort | tr '\n' ';')" = "0: 2;1: 2;" ]
    run srun -p gpu_gce --gres=gpu:v100:2 --nodes=2 true
    [ "$status" != 0 ]
    [[ "$output" == *"v100"* ]]
    sbatch -Q -W -p gpu_gce --gres=gpu:v100:2 -o v100.out --wrap 'echo "$SLURM_JOB_GPUS on $SLURMD_NODENAME"' > /dev/null
    [ "$(cat v100.out)" = "0,1 on wgpu2" ]
}

@test "Wilson: no type given: a free GPU of any type, never two types in one job; partly filled nodes are shared, GPUs are not" {
    first=$(sbatch --parsable -p gpu_gce --gres=gpu:v100:1 --wrap 'sleep 30')
    second=$(sbatch --parsable -p gpu_gce --gres=gpu:v100:1 --wrap 'sleep 30')
    third=$(sbatch --parsable -p gpu_gce --gres=gpu:v100:1 --wrap 'sleep 30')
    sleep 0.3
    [ "$(squeue -h -j "$first,$second,$third" -o '%t %N' --sort=i | tr '\n' ';')" = "R wgpu2;R wgpu2;PD ;" ]
    [ "$(scontrol show job -d "$first" | grep -o 'IDX:[0-9]')" != "$(scontrol show job -d "$second" | grep -o 'IDX:[0-9]')" ]
    scancel "$first" "$second" "$third"
    sbatch -Q -W -p gpu_gce --gres=gpu:8 --nodes=2 -o any.out --wrap 'scontrol show hostnames' > /dev/null
    [ "$(tr '\n' ' ' < any.out)" = "wgpu3 wgpu4 " ]
    run srun -p gpu_gce --gres=gpu:4 --nodes=4 true
    [ "$status" != 0 ]
    none_left
}

@test "Wilson: the script: '#! /bin/bash', --mail-type=NONE, job_%x_%A.out, --tasks-per-node, module load, apptainer exec --nv" {
    module() { echo "module $*"; }
    export -f module
    cp "$SCRIPTS/wilson-simple.sh" simple.sh
    run --separate-stderr sbatch simple.sh
    [ "$status" = 0 ]
    [[ "$output" =~ ^"Submitted batch job "([0-9]+)$ ]]
    [ -z "$stderr" ]
    id=${BASH_REMATCH[1]}
    none_left
    cat "job_simple_$id.out"
    [ "$(sed -n 1p "job_simple_$id.out")" = "module load apptainer" ]
    [ "$(sed -n 2p "job_simple_$id.out")" = "gpus 0 cpus 2 node wgpu3" ]
    [ "$(sed -n 3p "job_simple_$id.out")" = "apptainer exec --home=$WORK --nv pytorch-23.02-py3.sif echo trained [gpus 0]" ]
    [ "$(sed -n 4p "job_simple_$id.out")" = trained ]
    [ "$(sacct -nXP -j "$id" -o account,qos,partition,state)" = "wc_test|regular|gpu_gce|COMPLETED" ]
}

@test "Wilson: partitions: no --time means the default, more nodes or time than allowed is said with the limit, whole nodes" {
    id=$(sbatch --parsable -p cpu_gce_test --wrap 'sleep 30')
    sleep 0.2
    [ "$(squeue -h -j "$id" -o '%l %C')" = "1:00:00 16" ]
    scancel "$id"
    run sbatch -p cpu_gce_test -N 5 --wrap true
    [ "$status" = 1 ]
    [[ "$output" == *"Node count specification invalid"*"cpu_gce_test"* ]]
    run sbatch -p cpu_gce_test -t 5:00:00 --wrap true
    [ "$status" = 1 ]
    [[ "$output" == *"sbatch: error: Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)"* ]]
    [[ "$output" == *"4:00:00"* ]]
    [ "$(sinfo -h -p cpu_gce_test -o '%P %l %L %h %s')" = "cpu_gce_test 4:00:00 1:00:00 EXCLUSIVE 1" ]
}

# ---- Alvis and HPC2N ----------------------------------------------------------------------------------------------------------------

@test "Alvis: salloc  --account <p> --nodes=1 --ntasks-per-node=4 --time=1:30:00, then srun --ntasks 2 python program.py" {
    cp "$SCRIPTS/alvis-program.py" program.py
    run --separate-stderr env SHELL=/bin/bash salloc  --account NAISS2024-22-1234 --nodes=1 --ntasks-per-node=4 --time=1:30:00 --gpus-per-node=V100:1 < <(echo 'srun --ntasks 2 python3 program.py; squeue -h -j $SLURM_JOB_ID -o "%a %l"')
    [ "$status" = 0 ]
    [ "$(grep -c 'rank [01] local [01] of 2 on alvis1 gpus 0' <<< "$output")" = 2 ]
    [[ "$output" == *"NAISS2024-22-1234 1:30:00"* ]]
}

@test "Alvis: the job script: comments behind values, %J, typed GPUs, a rank a node, the same rendezvous for all" {
    module() { echo "module $*"; }
    export -f module
    cp "$SCRIPTS/alvis-job.sh" job.sh
    cp "$SCRIPTS/alvis-program.py" program.py
    id=$(sbatch --parsable job.sh)
    run squeue -u "$(id -un)" -j "$id"
    [ "$status" = 0 ]
    [[ "$(scontrol show job "$id")" == *"JobName=my_job_name"*"TimeLimit=00:15:00"* ]]
    none_left
    cat "job.$id.out" "job.$id.err"
    [ "$(sed -n 1p "job.$id.out")" = "module load PyTorch/2.1.2-foss-2023a-CUDA-12.1.1" ]
    [ "$(grep -o 'rank . local . of 2 on alvis. gpus 0' "job.$id.out" | sort | tr '\n' ';')" = "rank 0 local 0 of 2 on alvis1 gpus 0;rank 1 local 0 of 2 on alvis2 gpus 0;" ]
    [ "$(grep -o 'master .*' "job.$id.out" | sort -u | wc -l)" = 1 ]
    [ ! -s "job.$id.err" ]
    [[ "$(scontrol show job "$id")" == *"JobState=COMPLETED"* ]]
}

@test "Alvis: torchrun --standalone --nnodes=1 --nproc_per_node=2 in one task sees both GPUs; no RANK in the batch shell" {
    printf '#!/bin/bash\necho "torchrun $* gpus $CUDA_VISIBLE_DEVICES rank=$RANK world=$WORLD_SIZE"\n' > bin/torchrun
    chmod +x bin/torchrun
    sbatch -Q -W "$SCRIPTS/alvis-torchrun.sh" > /dev/null
    rm bin/torchrun
    [ "$(cat torchrun.out)" = "torchrun --standalone --nnodes=1 --nproc_per_node=2 program.py gpus 0,1 rank= world=" ]
}

@test "Alvis: a deploy script compares host names to find its node_rank" {
    cp "$SCRIPTS/job.deploy.sh" .
    sbatch -Q -W "$SCRIPTS/alvis-deploy.sh" > /dev/null
    [ "$(sort deploy.out | grep -o 'node_rank=.*')" = "node_rank=0 --rdzv_id=123 --rdzv_backend=c10d --rdzv_endpoint=alvis1:12345
node_rank=1 --rdzv_id=123 --rdzv_backend=c10d --rdzv_endpoint=alvis1:12345" ]
}

@test "Alvis: a snippet without #! is refused with what to do" {
    run sbatch "$SCRIPTS/alvis-no-shebang.sh"
    [ "$status" = 1 ]
    [[ "$output" == *"This does not look like a batch script"* ]]
    [[ "$output" == *"#!/bin/bash"* ]]
}

@test "Alvis: --exclusive takes the whole node; --constraint with & and |; scancel of a waiting and of a running job" {
    one=$(sbatch --parsable --exclusive --nodes=2 --time=100:00:00 --constraint='skylake&skylake' --wrap 'sleep 30')
    two=$(sbatch --parsable --constraint='skylake|ampere' --wrap 'sleep 30')
    sleep 0.3
    [ "$(squeue -h -j "$one" -o '%t %C %l')" = "R 64 4-04:00:00" ]
    [ "$(squeue -h -j "$two" -o '%t %r')" = "PD Resources" ]
    scancel "$two"
    scancel "$one"
    none_left
    [ "$(sacct -nXP -j "$one,$two" -o state | cut -d' ' -f1 | sort -u)" = CANCELLED ]
    run sbatch --constraint=nosuch --wrap true
    [ "$status" = 1 ]
    [[ "$output" == *"Invalid feature specification"* ]]
}

# ---- MASSIVE M3 -----------------------------------------------------------------------------------------------------------------------

@test "M3: the GPU script with trailing blanks, slurm-N.out, the environment of the submitter" {
    module() { echo "module $*"; }
    export -f module
    export ASKED=yes
    id=$(sbatch "$SCRIPTS/m3-gpu.sh" | grep -o '[0-9]*')
    none_left
    [ "$(cat "slurm-$id.out")" = "module load pytorch/1.6-cuda10"$'\n'"epochs 1 gpu 0 asked yes" ]
    [ "$(sacct -nXP -j "$id" -o account,qos,reqmem,alloccpus)" = "vf68|desktopq|55G|6" ]
}

@test "M3: squeue -u \$\$USER is an invalid user, no crash" {
    run squeue -u "$$USER"
    [ "$status" = 0 ] # as Slurm 22.05: said, and nobody's jobs are listed
    [[ "$output" == *"Invalid user: $$USER"* ]]
}

@test "M3: sacct in all its forms after a job" {
    id=$(sbatch --parsable -W -p desktop -c 6 --mem=1G --wrap 'sleep 1.2')
    [ "$(sacct -n -P -j "$id" -o jobid | tr '\n' ' ')" = "$id $id.batch " ]
    sacct -l -j "$id" > long
    [ "$(wc -l < long)" = 4 ]
    run sacct --format=User,JobID,Jobname,partition,state,time,start,end,elapsed,MaxRss,MaxVMSize,nnodes,ncpus,nodelist,CPUTime -j  "$id"
    [ "$status" = 0 ]
    [[ "${lines[0]}" == *"User"*"JobID"*"JobName"*"Partition"*"State"*"Timelimit"*"Start"*"End"*"Elapsed"*"MaxRSS"*"MaxVMSize"*"NNodes"*"NCPUS"*"NodeList"*"CPUTime"* ]]
    [[ "${lines[2]}" == *"m3a"* ]]
    elapsed=$(sacct -nXP -j "$id" -o elapsedraw) cpu=$(sacct -nXP --format=CPUTimeRAW -j "$id")
    [ "$elapsed" -ge 1 ]
    [ "$cpu" = $((6 * elapsed)) ]
    [ -n "$(sacct -n --format=start,end,CPUTime -j "$id")" ]
    run sbatch -p dekstop --wrap true
    [ "$status" = 1 ]
    [[ "$output" == *"desktop"* ]]
}

@test "M3: exceed your time and the job dies, and says which limit it was" {
    id=$(sbatch --parsable -p desktop -t 0:01 -o limit.out --wrap 'sleep 60')
    none_left
    [ "$(sacct -nXP -j "$id" -o state)" = TIMEOUT ]
    grep -q 'CANCELLED AT .* DUE TO TIME LIMIT' limit.out
}

# ---- MIT Satori -------------------------------------------------------------------------------------------------------------------------

@test "Satori: srun --gres=gpu:4 -N 1 --mem=1T --time 1:00:00 -I --pty /bin/bash, also --exclusive; busy: it gives up at once" {
    run on_terminal "srun -p sched_system_all --gres=gpu:4 -N 1 --mem=1T --time 1:00:00 -I --pty /bin/bash -c 'echo gpus \$CUDA_VISIBLE_DEVICES'"
    [ "$status" = 0 ]
    [[ "$output" == *"gpus 0,1,2,3"* ]]
    run on_terminal "srun -p sched_system_all --gres=gpu:4 -N 1 --exclusive --mem=1T --time 1:00:00 -I --pty /bin/bash -c 'echo cpus \$SLURM_CPUS_ON_NODE'"
    [[ "$output" == *"cpus 160"* ]]
    id=$(sbatch --parsable -p sched_system_all -N2 --exclusive --wrap 'sleep 30')
    sleep 0.3
    begin=$SECONDS
    run srun -p sched_system_all --gres=gpu:4 -N 1 --mem=1T --time 1:00:00 -I --pty /bin/bash
    [ "$status" = 1 ]
    [[ "$output" == *"Unable to allocate resources"* ]]
    [ $((SECONDS - begin)) -le 5 ]
    [ "$(squeue -h -o %i)" = "$id" ]
    scancel "$id"
    none_left
}

@test "Satori: the job script: --gres and --gpus-per-node agree, --mem=0, ulimit -s unlimited, srun -l | sort -k 2 -u" {
    cp "$SCRIPTS/satori.slurm" myjob.slurm
    id=$(sbatch --parsable myjob.slurm)
    none_left
    cat "myjob_4GPUs_$id.out" "myjob_4GPUs_$id.err"
    [ "$(sed -n 1p "myjob_4GPUs_$id.out")" = "nodes satori1 1 gpus 0,1,2,3 per node 4 tasks per node 4 tasks 4" ]
    [ "$(sed -n 2p "myjob_4GPUs_$id.out")" = "$(hostname):4" ]
    [ ! -s "myjob_4GPUs_$id.err" ]
    [ "$(sacct -nXP -j "$id" -o alloctres | grep -o 'gres/gpu=[0-9]*')" = "gres/gpu=4" ]
    [ "$(sacct -nXP -j "$id" -o alloccpus)" = 160 ]
}

@test "Satori: the command line beats the directives: sbatch --gres=gpu:4 -N 1 --exclusive --mem=1T --time 1:00:00 foo.slurm" {
    printf '#!/bin/bash\n#SBATCH --gres=gpu:2\n#SBATCH --time=2:00:00\n#SBATCH --mem=4G\necho $SLURM_GPUS_ON_NODE\n' > foo.slurm
    id=$(sbatch --parsable -W -p sched_system_all --gres=gpu:4 -N 1 --exclusive --mem=1T --time 1:00:00 foo.slurm)
    [ "$(cat "slurm-$id.out")" = 4 ]
    [ "$(sacct -nXP -j "$id" -o timelimit,reqmem)" = "01:00:00|1T" ]
}

@test "Satori: a job submits the next one, afterok of itself, while it runs" {
    cp "$SCRIPTS/satori-chain.sh" .
    first=$(sbatch --parsable satori-chain.sh)
    none_left
    [ "$(cat "chain_$first.out" "chain_$((first + 1)).out" "chain_$((first + 2)).out" | grep link | tr '\n' ';')" = "link 1;link 2;link 3;" ]
}

@test "Satori: --gres times nodes; two jobs share a node, never a GPU; squeue, scontrol show job, live output, scancel" {
    [ "$(srun -p sched_system_all -N2 --gres=gpu:4 sh -c 'echo $SLURM_GPUS_ON_NODE' | paste -sd+ | bc)" = 8 ]
    a=$(sbatch --parsable -p sched_system_all --gres=gpu:2 -o live.out --wrap 'echo started; sleep 30')
    b=$(sbatch --parsable -p sched_system_all --gres=gpu:2 --wrap 'sleep 30')
    sleep 0.5
    [ "$(squeue -h -j "$a,$b" -o '%t %N' | sort -u)" = "R satori1" ]
    [ "$(cat live.out)" = started ]
    [ "$(for j in $a $b; do scontrol show job -d "$j" | grep -o 'IDX:[0-9,-]*'; done | sort -u | wc -l)" = 2 ]
    scancel "$a" "$b"
    none_left
}

# ---- the traps of 0.6 ---------------------------------------------------------------------------------------------------------------------

@test "traps: optional arguments never swallow the next word; options after the first command are said, not taken" {
    [ "$(srun -p gpu_gce -I echo 5)" = 5 ]
    [ "$(srun -p gpu_gce --exclusive echo user)" = user ]
    [ "$(srun -p gpu_gce -k echo off)" = off ]
    printf '#!/bin/bash\necho first\n#SBATCH --nosuch\n#SBATCH -t 1\nsqueue -h -j $SLURM_JOB_ID -o %%l\n' > late.sh
    run sbatch -W -o late.out -p gpu_gce late.sh
    [ "$status" = 0 ]
    [[ "$output" == *"line 3"* ]]
    [ "$(sed -n 2p late.out)" = "8:00:00" ]
}

@test "traps: --time in six spellings" {
    for spelling in 90=1:30:00 90:00=1:30:00 1:30:00=1:30:00 0-1=1:00:00 0-1:30=1:30:00 0-1:30:00=1:30:00; do
        id=$(sbatch -H --parsable -t "${spelling%%=*}" --wrap true)
        [ "$(squeue -h -j "$id" -o %l)" = "${spelling#*=}" ]
        scancel "$id"
    done
}

@test "traps: GPU counts that agree merge, others are refused with both" {
    id=$(sbatch -H --parsable -p sched_system_all -N2 --gres=gpu:2 --gpus=4 --gpus-per-node=2 --wrap true)
    [[ "$(scontrol show job "$id")" == *"gres/gpu=4"* ]]
    scancel "$id"
    run sbatch -p sched_system_all -N1 --gres=gpu:2 --gpus-per-node=3 --wrap true
    [ "$status" = 1 ]
    [[ "$output" == *2*3* ]]
    [ "$(srun -p sched_system_all --ntasks-per-gpu=2 --gpus=2 sh -c 'echo $SLURM_NTASKS' | sort -u)" = 4 ]
}

@test "traps: what is forked or daemonised inside a step ends with the job" {
    sbatch -Q -W -p gpu_gce --wrap 'setsid sh -c "sleep 1234.5 & sleep 1234.5" > /dev/null 2>&1 & srun sh -c "nohup sleep 1234.5 > /dev/null 2>&1 &"' > /dev/null
    sleep 0.5
    run pgrep -f 'sleep 1234.5'
    [ "$status" = 1 ]
}
