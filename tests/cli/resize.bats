#!/usr/bin/env bats
# A running job gives nodes back: what its steps see, who gets the nodes, what the accounting says, what a restart of the controller leaves.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<'END'
ClusterName=resize
KillWait=1
NodeName=n[1-4] CPUs=2 RealMemory=2000 Gres=gpu:v100:1 Virtual=YES
PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED
END
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

setup() { cd "$WORK" || exit 1; }
teardown() {
    scancel -u "$(id -un)" || true
    for _ in $(seq 300); do [ -z "$(squeue -h)" ] && return; sleep 0.1; done
}

field() { tr ' ' '\n' | sed -n "s|^$1=||p"; }
job() { scontrol show job "$1" -o | field "$2"; }
started() { wait_true "[ \"\$(job $1 JobState)\" = RUNNING ]"; }
wait_true() {
    for _ in $(seq 300); do
        eval "$1" && return 0
        sleep 0.1
    done
    echo "never true: $1"
    scontrol show job
    return 1
}
big() { sbatch --parsable -N4 -n8 --gpus-per-node=1 -o "$1" --wrap "$2"; }

@test "NumNodes keeps the first nodes; the others go to who waits" {
    id=$(big /dev/null 'sleep 60')
    started "$id"
    next=$(sbatch --parsable -w n4 --exclusive --gpus-per-node=1 -o /dev/null --wrap 'sleep 60')
    scontrol update JobId="$id" NumNodes=2
    [ "$(job "$id" NodeList)" = 'n[1-2]' ]
    [ "$(job "$id" NumNodes)$(job "$id" NumCPUs)" = 24 ]
    [[ "$(job "$id" AllocTRES)" == cpu=4,*node=2*gres/gpu=2* ]]
    started "$next"
    [ "$(job "$next" NodeList)" = n4 ]
    [ "$(sinfo -h -n n3 -o %t)" = idle ]
}

@test "NodeList says which stay; what is not the job's, and more than it has, is refused" {
    id=$(big /dev/null 'sleep 60')
    started "$id"
    scontrol update JobId="$id" NodeList=n1,n3
    [ "$(job "$id" NodeList)" = 'n[1,3]' ]
    run -1 scontrol update JobId="$id" NodeList=n1,n2
    [[ "$output" == "Invalid node name specified for job $id"* && "$output" == *"n2 is none of its nodes"* ]]
    run -1 scontrol update JobId="$id" NodeList=n3
    [[ "$output" == "Invalid node name specified for job $id"* && "$output" == *"batch script runs on n1"* ]]
    run -1 scontrol update JobId="$id" NumNodes=3
    [[ "$output" == "Requested operation not supported on this system for job $id"* ]]
    scontrol update JobId="$id" NumNodes=ALL
    scontrol update JobId="$id" NumNodes=2
    [ "$(job "$id" NodeList)" = 'n[1,3]' ]
    scontrol update JobId="$id" ReqNodeList=n1
    [ "$(job "$id" NodeList)" = n1 ]
}

@test "inside the job: the files that set the variables anew, and the steps after it" {
    id=$(big inside 'scontrol update JobId=$SLURM_JOB_ID NumNodes=3
        . ./slurm_job_${SLURM_JOB_ID}_resize.sh
        echo "nodes $SLURM_JOB_NODELIST $SLURM_NNODES $SLURM_JOB_CPUS_PER_NODE ${SLURM_NTASKS-none}"
        srun --ntasks-per-node=1 sh -c "echo on \$SLURMD_NODENAME"
        srun -w n4 true || echo "n4 refused"')
    wait_true "[ \"\$(job $id JobState)\" = COMPLETED ]"
    grep -q '^To reset Slurm environment variables, execute$' inside
    grep -qF 'nodes n[1-3] 3 2(x3) none' inside
    [ "$(grep '^on ' inside | sort | tr '\n' ' ')" = 'on n1 on n2 on n3 ' ]
    grep -q '^n4 refused$' inside
    grep -qx 'export SLURM_NNODES=3' "slurm_job_${id}_resize.sh"
    grep -qx 'setenv SLURM_JOB_NODELIST "n\[1-3\]"' "slurm_job_${id}_resize.csh"
}

@test "a step over nodes that go and nodes that stay goes on with what stays, and so does the job" {
    id=$(big over 'srun --exact -N4 -n4 --gpus=0 sh -c "echo up; echo \$\$ >pid.\$SLURM_PROCID; trap \"echo term \$SLURM_PROCID; exit 3\" TERM; while [ ! -e over.go ]; do sleep 0.1; done; echo bye \$SLURM_PROCID"
        echo "srun $?"; srun --exact -N1 -n1 --gpus=0 echo next')
    wait_true '[ "$(grep -c "^up$" over)" = 4 ]'
    wait_true '[ -s pid.0 ] && [ -s pid.1 ] && [ -s pid.2 ] && [ -s pid.3 ]'
    sleep 0.2 # until each has its trap
    scontrol update JobId="$id" NumNodes=2
    for task in 2 3; do wait_true "! kill -0 $(cat "pid.$task") 2>/dev/null"; done
    [ "$(squeue -hs -j "$id" | grep -vc batch)" = 1 ]
    kill -0 "$(cat pid.0)"
    touch over.go
    wait_true "[ \"\$(job $id JobState)\" = COMPLETED ]"
    [ "$(grep -E '^(bye|term|srun [0-9]|next)' over | sort | paste -sd,)" = 'bye 0,bye 1,next,srun 3,term 2,term 3' ]
}

@test "steps there end; those elsewhere go on" {
    id=$(big /dev/null 'srun --exact -N1 -n1 -w n4 --gpus=0 sh -c "echo \$\$ > gone.pid; exec sleep 60" & srun --exact -N1 -n1 -w n1 --gpus=0 sleep 60 & srun --overlap --exact -N4 -n4 --gpus=0 sleep 60 & wait')
    started "$id"
    wait_true "[ \"\$(squeue -hs -j $id | grep -vc batch)\" = 3 ]"
    wait_true '[ -s gone.pid ]'
    scontrol update JobId="$id" NumNodes=3
    wait_true "[ \"\$(squeue -hs -j $id | grep -vc batch)\" = 2 ]"
    wait_true '! kill -0 "$(cat gone.pid)" 2>/dev/null'
    wait_true '[ "$(sinfo -h -n n4 -o %t)" = idle ]'
    [ "$(job "$id" JobState)" = RUNNING ]
}

@test "the accounting has each part with its size" {
    id=$(big /dev/null 'sleep 60')
    started "$id"
    sleep 1.1
    scontrol update JobId="$id" NumNodes=3
    sleep 1.1
    scontrol update JobId="$id" NumNodes=1
    scancel "$id"
    wait_true "[ \"\$(job $id JobState)\" = CANCELLED ]"
    [ "$(sacct -nPX -j "$id" -o NNodes,NCPUS,NodeList,State | sed 's/ by.*//' | tr '\n' ' ')" = \
        '4|8|n[1-4]|RESIZING 3|6|n[1-3]|RESIZING 1|2|n1|CANCELLED ' ]
    [ "$(sacct -nP -j "$id" -o JobID | grep -c batch)" = 1 ]
    sacct -j "$id" --json | grep -q RESIZING
}

@test "a controller that is killed knows the smaller job, and ends what a node still has of it" {
    id=$(big /dev/null 'srun --exact -N1 -n1 -w n4 --gpus=0 sh -c "trap : TERM; echo \$\$ > stubborn.pid; while :; do sleep 1; done" & sleep 60')
    started "$id"
    wait_true '[ -s stubborn.pid ]'
    scontrol update JobId="$id" NumNodes=2
    kill -9 "$(cat "$REMUDA_STATE/controller.pid" 2>/dev/null || pgrep -f "remudad controller --state $REMUDA_STATE")"
    remuda up -q
    wait_true "[ \"\$(job $id NodeList)\" = 'n[1-2]' ]"
    wait_true '! kill -0 "$(cat stubborn.pid)" 2>/dev/null'
    next=$(sbatch --parsable -N2 --exclusive -w 'n[3-4]' -o /dev/null --wrap 'sleep 60')
    started "$next"
    [ "$(job "$id" JobState)" = RUNNING ]
    scancel "$id"
    wait_true "[ \"\$(job $id JobState)\" = CANCELLED ]"
}

@test "an array's element alone may, an array and a heterogeneous job may not" {
    id=$(sbatch --parsable --array=0-1 -N2 -n2 -o /dev/null --wrap 'sleep 60')
    started "${id}_0"
    run -1 scontrol update JobId="$id" NumNodes=1
    [[ "$output" == *"Job resizing not supported for job arrays"* ]]
    scontrol update JobId="${id}_0" NumNodes=1
    [ "$(job "${id}_0" NumNodes)" = 1 ]
    [ "$(job "${id}_1" NumNodes)" = 2 ]
    scancel "$id"
    het=$(sbatch --parsable -N2 -o /dev/null --wrap 'sleep 60' : -N2 | cut -d';' -f1)
    wait_true "[ \"\$(squeue -h -j $het -t R | wc -l)\" = 2 ]"
    run -1 scontrol update JobId="$het" NumNodes=1
    [[ "$output" == *"Job resizing not supported"* ]]
    run -1 scontrol update JobId="$het+1" NumNodes=1
    [[ "$output" == *"components of heterogeneous jobs keep their nodes"* ]]
}

@test "a waiting job: NodeList and NumNodes are what it asks for; requeued it has its size again" {
    id=$(sbatch --parsable --hold -N1 -o /dev/null --wrap 'sleep 60')
    scontrol update JobId="$id" NodeList=n2
    [ "$(job "$id" ReqNodeList)" = n2 ]
    scontrol update JobId="$id" NodeList= NumNodes=2-3
    [ "$(job "$id" NumNodes)" = 2-3 ]
    run -1 scontrol update JobId="$id" NumNodes=0
    [[ "$output" == *"Node count specification invalid"* ]]
    scancel "$id"
    id=$(big /dev/null 'sleep 60')
    started "$id"
    scontrol update JobId="$id" NumNodes=2
    scontrol requeue "$id"
    wait_true "[ \"\$(job $id Restarts)\" = 1 ]"
    started "$id"
    [ "$(job "$id" NumNodes)" = 4 ]
}

@test "the node of an allocation without a script may go, too; one that is lost later ends nothing" {
    salloc -Q -N3 sh -c 'echo $SLURM_JOB_ID > alloc.id; sleep 8' &
    wait_true '[ -s alloc.id ]'
    id=$(cat alloc.id)
    scontrol update JobId="$id" NodeList=n2,n3
    [ "$(job "$id" NodeList)" = 'n[2-3]' ]
    [ "$(SLURM_JOB_ID=$id srun --jobid="$id" -N2 -n2 sh -c 'echo $SLURMD_NODENAME' | sort | tr '\n' ' ')" = 'n2 n3 ' ]
    scancel "$id"
    wait
}
