#!/usr/bin/env bats
# scontrol: host lists and options need no controller; the rest runs against real daemons.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<'END'
ClusterName=control
Licenses=matlab:4,ansys:2
KillWait=1
NodeName=n[1-2] CPUs=4 RealMemory=4000 Gres=gpu:v100:2 Feature=fast Virtual=YES
PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED
PartitionName=short Nodes=n1 MaxTime=30 DefaultTime=1
PartitionName=secret Nodes=n2 Hidden=YES
END
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

setup() { cd "$WORK" || exit 1; }

# A field of a record in its one-line form.
field() { tr ' ' '\n' | sed -n "s|^$1=||p"; }
job() { scontrol show job "$1" -o | field "$2"; }
held() { sbatch --parsable --hold -o /dev/null "$@" --wrap 'sleep 30'; }

# ---- without a controller ----

@test "CpuBind of nodes and partitions, Extra of nodes" {
    node=$(sinfo -h -N -o %N | head -n 1)
    partition=$(sinfo -h -o %R | head -n 1)
    scontrol update NodeName="$node" CpuBind=thread Extra="rack 7"
    [[ "$(scontrol show node "$node")" == *" CpuBind=threads "*"   Extra=rack 7"* ]]
    [ "$(sinfo -h -N -n "$node" -O Extra:.8 | sort -u | tr -d ' ')" = rack7 ]
    scontrol show node "$node" --json | python3 -c 'import json,sys; n=json.load(sys.stdin)["nodes"][0]; assert n["extra"]=="rack 7", n'
    run -1 scontrol update NodeName="$node" CpuBind=knee
    [ "${lines[0]}" = "scontrol: error: Invalid input CpuBind=knee" ]
    [[ "$output" == *"none, socket, ldom, core, thread or off is expected"* ]]
    scontrol update NodeName="$node" CpuBind=off Extra=
    [[ "$(scontrol show node "$node")" != *CpuBind* ]]
    [[ "$(scontrol show node "$node")" != *Extra* ]]
    scontrol update PartitionName="$partition" CpuBind=core
    [[ "$(scontrol show partition "$partition")" == *" CpuBind=cores "* ]]
    scontrol update PartitionName="$partition" CpuBind=off
    [[ "$(scontrol show partition "$partition")" != *CpuBind* ]]
}

@test "hostnames, hostlist, hostlistsorted" {
    export REMUDA_STATE=/nonexistent
    [ "$(scontrol show hostnames 'a[1-3],b' | tr '\n' ' ')" = "a1 a2 a3 b " ]
    [ "$(scontrol show hostname=q[09-10] | tr '\n' ' ')" = "q09 q10 " ]
    [ "$(scontrol show hostlist a1,a2,b,a2)" = "a[1-2],b,a2" ]
    [ "$(scontrol show hostlistsorted a2,a1,b,a2)" = "a[1-2,2],b" ]
    [ "$(SLURM_JOB_NODELIST=z[3-4] scontrol show hostnames | head -n 1)" = z3 ]
    [ "$(env -u SLURM_JOB_NODELIST SLURM_NODELIST=z5 scontrol show hostname)" = z5 ]
    printf 'm1\nm2,m7\n' > names
    [ "$(scontrol show hostlist "$WORK/names")" = "m[1-2,7]" ]
    run -1 env -u SLURM_JOB_NODELIST -u SLURM_NODELIST scontrol show hostlist
    [ "${lines[0]}" = "invalid encode argument" ]
    # A launcher's empty list is no mistake: no hosts.
    run -0 env SLURM_JOB_NODELIST=z1 scontrol show hostnames ''
    [ -z "$output" ]
    run -0 --separate-stderr scontrol show hostlist ''
    [ -z "$output$stderr" ]
    run -1 env -u SLURM_JOB_NODELIST -u SLURM_NODELIST scontrol show hostnames
    [[ "$output" == *"host list is empty"* ]]
    run -1 scontrol show hostnames 'a[1-'
}

@test "mistakes on the command line are named" {
    export REMUDA_STATE=/nonexistent
    run -1 scontrol --frob
    [[ "$output" == *"--frob"* ]]
    run -1 scontrol holdd 1
    [[ "$output" == *"did you mean hold"* ]]
    run -1 scontrol show frob
    [[ "$output" == *"invalid entity:frob"* ]]
    run -1 scontrol show
    [[ "$output" == *"too few arguments for keyword:show"* ]]
    for word in reboot takeover token power; do
        run -1 scontrol "$word" 1
        [[ "$output" == *"$word: not supported yet"* ]]
    done
    run -1 scontrol update frob=1
    [[ "$output" == *"No valid entity in update command"* ]]
    run -1 scontrol update JobId=1 TimeLimt=5
    [[ "$output" == *"did you mean TimeLimit"* ]]
    run -1 scontrol update JobId=1 BurstBuffer=x
    [[ "$output" == *"BurstBuffer: not supported yet"* ]]
    run -1 scontrol update JobId=1
    [[ "$output" == *"No changes specified"* ]]
    run -1 scontrol show node
    [[ "$output" == *"Unable to contact slurm controller"* ]]
    [ "$(scontrol version)" = "slurm 25.05.0" ]
    [ "$(scontrol -V)" = "slurm 25.05.0" ]
}

# ---- show ----

@test "show partition: a first line of its own; in one line every token has a value" {
    run -0 scontrol show partition
    [ "${lines[0]}" = "PartitionName=main" ]
    [[ "$output" != *secret* ]]
    for token in $(scontrol -a show part -o); do
        [[ "$token" == ?*=?* ]] || { echo "token $token"; return 1; }
    done
    [ "$(scontrol show part main -o | field Default)" = YES ]
    [ "$(scontrol show part short -o | field DefaultTime)" = 00:01:00 ]
    [ "$(scontrol show part secret -o | field Hidden)" = YES ]
    [ "$(scontrol -a show -o partitions | wc -l)" = 3 ]
    run -1 scontrol show part nope
    [ "$output" = "Partition nope not found" ]
    [ "$(scontrol show part --json | jq -r '.partitions[0].nodes.total')" = 2 ]
}

@test "show node: one, several, unknown ones, one line, -d, JSON" {
    [ "$(scontrol show node n1 | head -n 1 | cut -d' ' -f1)" = "NodeName=n1" ]
    [ "$(scontrol -a show -o nodes 'n[1-2]' | wc -l)" = 2 ]
    [ "$(scontrol show node=n2 -o -M control | field NodeAddr)" = n2 ]
    scontrol show node n1 -d | grep -q '^   GresUsed=gpu:v100:0(IDX:N/A)$'
    scontrol show node n1 --oneliner | grep -q ' CfgTRES=cpu=4,mem=4000M,billing=4,gres/gpu=2,gres/gpu:v100=2 '
    run -1 scontrol show node n1,nope -o
    [[ "$output" == *"Node nope not found"* && "$output" == *"NodeName=n1 "* ]]
    [ "$(scontrol show nodes --json | jq -r '.nodes[0].state[0]')" = IDLE ]
}

@test "licences: what one job names twice, or its components together, is counted together" {
    for ask in "-L matlab:3,matlab:2 --wrap true" "-n1 -L matlab:3 --wrap true : -n1 -L matlab:2"; do
        eval "run -1 --separate-stderr sbatch $ask"
        [ "${stderr_lines[0]}" = "sbatch: error: Batch job submission failed: Invalid license specification" ]
        [[ "${stderr_lines[1]}" =~ "5 of the licence matlab were asked for; there are 4 in all" ]]
    done
    id=$(sbatch --parsable -n1 -L matlab:2 -o /dev/null --wrap true : -n1 -L matlab:2)
    eventually eval '[ -z "$(squeue -h -j "$id")" ]'
}

@test "show config: padded keys, units, sorted; show licenses; ping; show reservation" {
    run -0 scontrol show config
    [[ "${lines[0]}" == "Configuration data as of "20* ]]
    grep -q '^MinJobAge               = 300 sec$' <<< "$output"
    grep -Eq '^MaxArraySize            = [0-9]+$' <<< "$output"
    grep -q '^SchedulerTimeSlice      = 30 sec$' <<< "$output"
    grep -q '^AcctGatherNodeFreq      = 0 sec$' <<< "$output"
    grep -Eq '^SlurmctldHost\[0\] +  *= .' <<< "$output"
    [[ "${lines[-1]}" == "Slurmctld(primary) at "*" is UP" ]]
    keys=$(sed -n 's/ *= .*//p' <<< "$output" | tr '[:upper:]' '[:lower:]')
    [ "$keys" = "$(LC_ALL=C sort <<< "$keys")" ]
    [[ "$(scontrol ping)" == "Slurmctld(primary) at "*" is UP" ]]
    [ "$(scontrol show lic -o | head -n 1)" = "LicenseName=matlab Total=4 Used=0 Free=4 Reserved=0 Remote=no" ]
    [ "$(scontrol show lic --json | jq -r '.licenses | length')" = 2 ]
    [ "$(scontrol -o show reservation)" = "No reservations in the system" ]
    run -1 scontrol show reservation R
}

@test "show job: fields, unknown ids, JSON, arrays, details" {
    id=$(sbatch --parsable -J demo --comment "two words" -c 2 -t 10 --gres=gpu:1 -o 'out.%j' --wrap 'sleep 30')
    scontrol wait_job "$id"
    run -0 scontrol show job "$id"
    [ "${lines[0]}" = "JobId=$id JobName=demo" ]
    [[ "$output" == *"JobState=RUNNING Reason=None Dependency=(null)"* ]]
    [[ "$output" == *"   Comment=two words"* ]]
    [ "$(job "$id" TimeLimit)" = 00:10:00 ]
    [ "$(job "$id" StdOut)" = "$WORK/out.$id" ]
    [[ "$(job "$id" AllocTRES)" == cpu=2,*node=1,*gres/gpu* ]]
    [[ "$(scontrol show jobid -dd "$id")" == *"     Nodes=n"*" CPU_IDs="*"GRES=gpu:v100:1(IDX:"* ]]
    [ "$(scontrol show job "$id" --json | jq -r '.jobs[].current_working_directory')" = "$WORK" ]
    [[ "$(scontrol show step "$id")" == "StepId=$id.batch "* ]]
    [ "$(scontrol show step "$id" --json | jq -r '.steps[0].id')" = "$id.batch" ]
    run -1 scontrol show job "$id" 99999
    [ "${lines[0]}" = "too many arguments for keyword:show" ]
    [[ "${lines[1]}" == *"scontrol show job $id,99999" ]]
    scancel "$id"
    run -1 scontrol show job 99999
    [ "$output" = "slurm_load_jobs error: Invalid job id specified" ]
    run -1 scontrol show step 99999
    scontrol show steps --json | jq -e '.steps | type == "array"'
    array=$(sbatch --parsable --hold --array=1-4%2 -o /dev/null --wrap true)
    [ "$(job "$array" ArrayTaskId)" = "1-4%2" ]
    [ "$(job "$array" ArrayTaskThrottle)" = 2 ]
    scancel "$array"
}

@test "jobs in hidden partitions: with -a, or by id" {
    id=$(held -p secret)
    run -0 scontrol show job -o
    [[ "$output" != *"JobId=$id "* ]]
    run -0 scontrol show job -o -a
    [[ "$output" == *"JobId=$id "* ]]
    [ "$(job "$id" Partition)" = secret ]
    scancel "$id"
}

# ---- actions ----

@test "hold, uhold, release; jobname=; several ids, an unknown one among them" {
    a=$(sbatch --parsable --begin=now+1hour -J these -o /dev/null --wrap true)
    b=$(sbatch --parsable --begin=now+1hour -J these -o /dev/null --wrap true)
    scontrol hold jobname=these
    [ "$(job "$a" Reason)$(job "$b" Reason)" = JobHeldUserJobHeldUser ]
    scontrol release "$a,$b"
    [ "$(job "$a" Reason)" != JobHeldUser ]
    scontrol uhold "$a"
    [ "$(job "$a" Priority)" = 0 ]
    scontrol release "$a"
    run -1 scontrol hold "$a" 99999
    [[ "$output" == *"Invalid job id specified"* ]]
    [ "$(job "$a" Reason)" = JobHeldUser ]
    run -1 scontrol hold
    [[ "$output" == *"too few arguments for keyword:hold"* ]]
    scancel "$a" "$b"
}

@test "requeue, Incomplete, requeuehold State=SpecialExit, suspend and resume" {
    a=$(sbatch --parsable --requeue -o /dev/null --wrap 'sleep 30')
    b=$(held)
    scontrol wait_job "$a"
    scontrol suspend "$a"
    [ "$(job "$a" JobState)" = SUSPENDED ]
    scontrol suspend "$a" # it is as was asked
    scontrol resume "$a"
    [ "$(job "$a" JobState)" = RUNNING ]
    scontrol requeue Incomplete "$a,$b"
    for _ in $(seq 100); do
        [ "$(job "$a" Restarts)" = 1 ] && break
        sleep 0.1
    done
    [ "$(job "$a" Restarts)" = 1 ]
    [ "$(job "$b" JobState)" = PENDING ]
    scontrol requeuehold State=SpecialExit "$a"
    wait_state "$a" SPECIAL_EXIT
    run -1 scontrol requeuehold State=frob "$a"
    scancel "$a" "$b"
}

@test "wait_job does not wait for the end, and tells jobs that never ran" {
    id=$(sbatch --parsable -o /dev/null --wrap 'sleep 30')
    timeout 10 scontrol wait_job "$id"
    [ "$(job "$id" JobState)" = RUNNING ]
    scancel "$id"
    held=$(held)
    scancel "$held"
    run -1 scontrol wait_job "$held"
    [ "$output" = "scontrol: Job $held no longer running" ]
    run -1 scontrol wait_job 99999
    [ "$output" = "scontrol: Problem running job 99999" ]
}

@test "write batch_script: to stdout, to the file it names, to another" {
    printf '#!/bin/sh\n#SBATCH --hold\necho hello\n' > script.sh
    id=$(sbatch --parsable script.sh)
    [ "$(scontrol write batch_script "$id" -)" = "$(cat script.sh)" ]
    [ "$(scontrol write batch_script "$id")" = "batch script for job $id written to slurm-$id.sh" ]
    cmp script.sh "slurm-$id.sh"
    scontrol write batch "$id" other.sh
    cmp script.sh other.sh
    run -1 scontrol write batch_script "$id" /nonexistent/x
    run -1 scontrol write batch_script 99999
    scancel "$id"
}

# ---- update ----

@test "update job: what it changes is shown" {
    id=$(held -t 10)
    scontrol update JobId="$id" JobName=new Comment="a b" Nice=3 MailType=END,FAIL NumTasks=2 MinMemoryCPU=100 Features=fast \
        Gres=gpu:1 ExcNodeList=n1 StartTime=now+1hour Requeue=0 StdOut=/tmp/q.out TasksPerNode=2 Partition=main Account=ai
    run -0 scontrol show job "$id"
    for want in JobName=new "Comment=a b" Nice=3 NumTasks=2 MinMemoryCPU=100M Features=fast ExcNodeList=n1 Requeue=0 StdOut=/tmp/q.out \
        TresPerNode=gres/gpu:1 MailType=END,FAIL NtasksPerN:B:S:C=2 Account=ai; do
        [[ "$output" == *"$want"* ]] || { echo "missing $want in:"; echo "$output"; return 1; }
    done
    scontrol update job "$id" MinMemoryNode=500
    [ "$(job "$id" MinMemoryNode)" = 500M ]
    scontrol update JobId="$id" TimeLimit=1:00:00
    scontrol update JobId="$id" TimeLimit+=30
    [ "$(job "$id" TimeLimit)" = 01:30:00 ]
    scontrol update JobId="$id" TimeLimit-=60
    [ "$(job "$id" TimeLimit)" = 00:30:00 ]
    scontrol update JobName=new UserID="$(id -un)" AdminComment=seen
    [ "$(job "$id" AdminComment)" = seen ]
    scontrol update JobId="$id" Comment= Features=
    [ "$(job "$id" Features)" = "(null)" ]
    [ -z "$(job "$id" Comment)" ]
    scancel "$id"
}

@test "update job: priority, throttle, refusals with Slurm's line and a sentence" {
    id=$(sbatch --parsable --begin=now+1hour --array=1-4 -o /dev/null --wrap true)
    scontrol update JobId="$id" ArrayTaskThrottle=1
    [ "$(job "$id" ArrayTaskThrottle)" = 1 ]
    scontrol update JobId="$id" Priority=0
    [ "$(job "$id" Priority)" = 0 ]
    run -1 scontrol update JobId="$id" Partition=nope
    [[ "$output" == "Invalid partition name specified for job $id"* ]]
    run -1 scontrol update JobId="$id" StartTime=whenever
    [[ "$output" == *StartTime* ]]
    run -1 scontrol update JobId="$id" MailType=frob
    [[ "$output" == *"Invalid MailType: frob"* ]]
    run -1 scontrol update JobId=99999 TimeLimit=5
    [ "$output" = "Invalid job id specified for job 99999" ]
    run -1 scontrol update JobName=nobody-has-this UserID="$(id -un)" Comment=x
    [[ "$output" == *"No jobs with name 'nobody-has-this'"* ]]
    scancel "$id"
}

@test "update node: state with its reason, weight, features, comment" {
    run -1 scontrol update NodeName=n1 State=DRAIN
    [[ "$output" == "You must specify a reason when DOWNING or DRAINING a node. Request denied" ]]
    scontrol update NodeName=n1 State=DRAIN Reason="bad disk"
    [ "$(scontrol show node n1 -o | field State)" = IDLE+DRAIN ]
    scontrol show node n1 | grep -Eq '^   Reason=bad disk \['
    scontrol update node 'n[1-2]' State=RESUME Weight=9 Comment="rack 7" Features=fast,new
    [ "$(scontrol show node n1 -o | field State)" = IDLE ]
    [ "$(scontrol show node n2 -o | field Weight)" = 9 ]
    [ "$(scontrol show node n2 -o | field AvailableFeatures)" = fast,new ]
    run -1 scontrol update NodeName=n1 State=frob
    run -1 scontrol update NodeName=nope State=RESUME
    [[ "$output" == *"slurm_update error: Invalid node name specified"* ]]
    run -1 scontrol update NodeName=n1 InstanceId=x
    [[ "$output" == *"InstanceId: not supported yet"* ]]
}

@test "create, update and delete a partition" {
    scontrol create PartitionName=made Nodes=n1 MaxTime=10
    [ "$(scontrol show part made -o | field MaxTime)" = 00:10:00 ]
    scontrol update PartitionName=made State=DRAIN MaxNodes=2 Nodes='n[1-2]'
    [ "$(scontrol show part made -o | field State)$(scontrol show part made -o | field TotalNodes)" = DRAIN2 ]
    run -1 scontrol create PartitionName=made Nodes=n1
    run -1 scontrol update PartitionName=made State=frob
    [[ "$output" == *"UP, DOWN, DRAIN or INACTIVE"* ]]
    scontrol delete PartitionName=made
    run -1 scontrol delete PartitionName=made
    [[ "$output" == *"Invalid partition name specified"* ]]
}

@test "partitions: Slurm's line first, keys with a warning, lists emptied, no change asked" {
    scontrol create PartitionName=other Nodes=n1
    [ "$(scontrol show part other -o | field MinNodes)" = 1 ]
    run -1 scontrol create partition=other nodes=n1
    [ "${lines[0]}" = "Error creating the partition: Invalid partition name specified" ]
    run -1 scontrol update PartitionName=other
    [ "$output" = "scontrol: error: No changes specified" ]
    run -0 scontrol update PartitionName=other QOS=normal
    [ -z "$output" ]
    [ "$(scontrol show part other -o | field QoS)" = normal ]
    scontrol update PartitionName=other DenyAccounts=a,b MaxCPUsPerSocket=2 TRESBillingWeights=CPU=-1.0,Mem=0.25G
    [ "$(scontrol show part other -o | field DenyAccounts)" = a,b ]
    [ "$(scontrol show part other -o | field MaxCPUsPerSocket)" = 2 ]
    [ "$(scontrol show part other -o | field TRESBillingWeights)" = CPU=-1.0,Mem=0.25G ]
    scontrol update PartitionName=other DenyAccounts= TRESBillingWeights= MaxCPUsPerSocket=UNLIMITED
    [ "$(scontrol show part other -o | field AllowAccounts)" = ALL ]
    [ -z "$(scontrol show part other -o | field TRESBillingWeights)" ]
    [ "$(scontrol show part other -o | field MaxCPUsPerSocket)" = UNLIMITED ]
    for wrong in frob=1:'scontrol: error: Update of this parameter is not supported: frob=1' \
        frob:'scontrol: error: Invalid input: frob  Request aborted' MaxTime=x:'scontrol: error: Invalid input MaxTime=x' \
        Hidden=x:'scontrol: error: Invalid input: Hidden=x' GraceTime=x:'scontrol: error: Invalid GraceTime value: x' \
        MaxNodes=x:'scontrol: error: Invalid numeric value "x" for MaxNodes.'; do
        run -1 scontrol update PartitionName=other "${wrong%%:*}"
        [ "${lines[0]}" = "${wrong#*:}" ]
        [[ "$output" != *"scontrol:1"* ]]
    done
    scontrol delete PartitionName=other
}

@test "a waiting job is not requeued; updates judged as Slurm judges them" {
    id=$(held -n2 --mem=10)
    run -1 scontrol requeuehold "$id"
    [ "${lines[0]}" = "Job is pending execution for job $id" ]
    run -1 scontrol update JobId="$id" ExcNodeList=n9
    [ "${lines[0]}" = "Invalid node name specified for job $id" ]
    scontrol update JobId="$id" NumTasks=1
    scontrol update JobId="$id" NumNodes=2
    [ "$(job "$id" NumTasks)" = 2 ]
    run -1 scontrol update JobId="$id" NumNodes=9
    [ "$(job "$id" NumNodes)" = 2 ]
    run -1 scontrol update JobId="$id" Time=7
    [ "${lines[0]}" = "Update of this parameter is not supported: Time=7" ]
    run -1 scontrol update JobId="$id" TimeMin=x
    [ "${lines[0]}" = "scontrol: error: Invalid TimeMin value" ]
    run -1 scontrol update JobId="$id" MinCPUsNode=x
    [ "${lines[0]}" = "scontrol: error: Invalid MinCPUsNode value: x" ]
    run -1 scontrol update JobId="$id" StartTime=x
    [ "${lines[0]}" = "Invalid time specification (pos=0): x" ]
    run -1 scontrol update JobId="$id" MailType=x
    [ "${lines[0]}" = "Invalid MailType: x" ]
    run -1 scontrol update JobName=nosuch Comment=x
    [ "${lines[0]}" = "scontrol: error: No jobs with name 'nosuch'" ]
    scontrol update JobId="$id" ResetAccrueTime
    run -0 scontrol update JobId="$id" UserID=0 Comment=both
    [ "$(job "$id" Comment)" = both ]
    scancel "$id"
    id=$(sbatch --parsable -o /dev/null --wrap 'sleep 30')
    wait_state "$id" RUNNING
    scontrol update JobId="$id" DelayBoot=1
    run -1 scontrol update JobId="$id" ResetAccrueTime
    [ "${lines[0]}" = "Job is no longer pending execution for job $id" ]
    scancel "$id"
}

# ---- the prompt ----

@test "update of a step's limit; a line for a running job; processes and their job" {
    id=$(sbatch --parsable -t5 -o noted --wrap 'srun -n1 sh -c "scontrol pidinfo \$\$ > info; scontrol listpids \$SLURM_JOB_ID > pids; touch up; sleep 30"')
    for _ in $(seq 100); do [ -e up ] && break; sleep 0.1; done
    grep -q "^Slurm JobId=$id ends at " info
    grep -Eq '^Job remaining time is [0-9]+ seconds$' info
    grep -Eq "^[0-9]+ +$id +batch +0 +0 +\$" pids
    grep -Eq "^[0-9]+ +$id +0 +0 +0 +\$" pids
    run -1 scontrol pidinfo 1
    [ "$output" = "Failed to locate job for requested pid" ]
    run -1 scontrol update StepId="$id.7" TimeLimit=1
    [ "$output" = "slurm_update error: Invalid job id specified" ]
    run -1 scontrol update StepId="$id.batch" TimeLimit=1
    [ "$output" = "slurm_update error: Invalid job id specified" ]
    scontrol update StepId="$id.0" TimeLimit=2
    [ "$(scontrol show step "$id.0" -o | field TimeLimit)" = 00:02:00 ]
    scontrol notify "$id" two $'wor\ads'
    for _ in $(seq 100); do grep -q two noted && break; sleep 0.1; done
    grep -qxF 'slurmstepd: error: two wor\x07ds' noted
    run -1 scontrol notify 99999 x
    [ "$output" = "job notify failure: Invalid job id specified" ]
    scontrol update StepId="$id.0" TimeLimit=0:01
    wait_state "$id" FAILED
}

@test "update of a step's limit: of the element that is named, and no other" {
    id=$(sbatch --parsable -a0-2 -o /dev/null --wrap 'srun -n1 sh -c "touch up.\$SLURM_ARRAY_TASK_ID; sleep 60"')
    for i in 0 1 2; do eventually test -e up.$i; done
    scontrol update StepId="${id}_0.0" TimeLimit=3
    [ "$(scontrol show step "${id}_0.0" -o | field TimeLimit)" = 00:03:00 ]
    scontrol update StepId="${id}_1.0" TimeLimit=0:01
    wait_state "${id}_1" FAILED
    [ "$(squeue -h -r -j "$id" -o '%i %T' | sort)" = "${id}_0 RUNNING
${id}_2 RUNNING" ]
    scancel "$id"
}

@test "hold and Priority of a running job count when it comes back; circles of dependencies" {
    id=$(sbatch --parsable -o /dev/null --wrap 'sleep 60')
    wait_state "$id" RUNNING
    scontrol hold "$id"
    [ "$(job "$id" JobState)" = RUNNING ]
    scontrol requeue "$id"
    for _ in $(seq 100); do [ "$(job "$id" Reason)" = JobHeldUser ] && break; sleep 0.1; done
    [ "$(job "$id" JobState)$(job "$id" Reason)" = PENDINGJobHeldUser ]
    scontrol release "$id"
    wait_state "$id" RUNNING
    scontrol update JobId="$id" Priority=77
    [ "$(job "$id" Priority)" = 77 ]
    scancel "$id"
    a=$(held) b=$(held -d afterok:"$a") c=$(held -d afterany:"$b")
    run -1 scontrol update JobId="$a" Dependency=afterok:"$c"
    [[ "$output" == "Circular job dependency for job $a"* ]]
    scontrol update JobId="$c" Dependency=afterok:"$a"
    scancel "$a" "$b" "$c"
    run -1 scontrol release "$a"
    [[ "$output" == "Job has already finished for job $a"* ]]
}

@test "partitions by any of Slurm's words; write config can be read again; ping in JSON" {
    scontrol create partition=p1 Nodes=n1
    scontrol create partition p2 Nodes=n1
    [ "$(scontrol show partitionname=p1 | head -1)" = PartitionName=p1 ]
    [ "$(scontrol show partitionname p2 | head -1)" = PartitionName=p2 ]
    scontrol update partition=p1 MaxTime=7
    scontrol write config "$WORK/conf"
    mkdir -p again && cp conf.2* again/remuda.conf
    grep -q '^PartitionName=p1 .*MaxTime=00:07:00' again/remuda.conf
    grep -q '^NodeName=n2 .*Gres=gpu:v100:2' again/remuda.conf
    grep -q '^Licenses=matlab:4,ansys:2$' again/remuda.conf
    run -1 scontrol delete partition=nope
    [[ "$output" == "delete_partition partition=nope: Invalid partition name specified"* ]]
    scontrol delete partition=p1
    scontrol delete partition p2
    run -1 scontrol show partition=p1
    scontrol --json ping | python3 -c 'import json, sys; assert json.load(sys.stdin)["pings"][0]["pinged"] == "UP"'
}

@test "show config: what tools look for, as Slurm writes it" {
    scontrol show config > config
    grep -Eq '^SlurmUser +=  ?[a-z_][^(]*\([0-9]+\)$' config
    grep -Eq '^SlurmdUser +=  ?[a-z_][^(]*\([0-9]+\)$' config
    grep -q "^SLURM_CONF              = $REMUDA_STATE/remuda.conf$" config
    grep -q '^MaxArraySize            = 4000001$' config
    grep -q '^SelectTypeParameters    = CR_CORE_MEMORY$' config
    grep -q '^MaxTasksPerNode         = 65533$' config
    grep -q '^JobRequeue              = 1$' config
    [ -z "$(cut -d= -f1 config | grep -v '^$' | sort | uniq -d)" ]
}

@test "the prompt: commands, !!, quotes, switches, quit" {
    run -0 scontrol <<< $'show hostnames a[1-2]\n!!\noneliner\nshow part short\nquit\nshow hostnames never'
    [ "${lines[0]}${lines[1]}${lines[2]}${lines[3]}" = a1a2a1a2 ]
    [[ "${lines[4]}" == "PartitionName=short "*" State=UP "* ]]
    [[ "$output" != *never* ]]
    run -0 scontrol <<< 'update NodeName=n2 State=DRAIN Reason="two words"'
    scontrol show node n2 | grep -Eq 'Reason=two words \['
    scontrol update NodeName=n2 State=RESUME
    run -1 scontrol <<< frob
}

@test "a reservation in the past, one that ends before it begins, one with nothing to skip" {
    run -1 scontrol create reservation=r1 starttime=now-1hour duration=60 users=root nodes=n1
    [ "${lines[0]}" = "Error creating the reservation: Invalid time specified" ]
    scontrol create reservation=r1 starttime=now+1hour duration=60 users=root nodes=n1
    run -1 scontrol update reservationname=r1 endtime=now
    [ "${lines[0]}" = "Error updating the reservation: Invalid time specified" ]
    run -1 scontrol update reservationname=r1 skip
    [ "${lines[0]}" = "Error updating the reservation: Reservation given is not skipable, try deleting instead" ]
    scontrol delete reservation=r1
}
