#!/usr/bin/env bats
# scontrol update, and its prompt.
bats_require_minimum_version 1.5.0
load common
load scontrol

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
    for key in MinMemoryNode MinMemoryCPU; do # 0 is all memory, as --mem=0
        scontrol update job "$id" "$key=0"
        [ "$(squeue -h -j "$id" -o %m)" = "$(squeue -h -j "$(held --mem=0)" -o %m)" ]
        scontrol update job "$id" MinMemoryCPU=100
        [ "$(job "$id" MinMemoryCPU)" = 100M ]
    done
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
    [ "${lines[0]}" = "${id}_1-4: Invalid partition name specified" ]
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

@test "partitions: DEFAULT is none, and a word neither ends its line nor begins a comment" {
    scontrol create PartitionName=words Nodes=n1
    for name in DEFAULT default 'a#' '#' words,main; do
        run -1 scontrol update PartitionName="$name" MaxTime=5
        [ "${lines[0]}" = "slurm_update error: Invalid partition name specified" ]
        run -1 scontrol create PartitionName="$name" Nodes=n1 MaxTime=5
        [ "${lines[0]}" = "Error creating the partition: Invalid partition name specified" ]
    done
    for wrong in $'MaxTime=5\nPartitionName=main' $'Alternate="main"\nPartitionName=main' $'Max\nTime=5' 'Max#Time=5' 'MaxTime=5#' 'MaxTime=5 # minutes'; do
        run -1 scontrol update PartitionName=words "$wrong"
        [[ "${lines[0]}" == "scontrol: error: Invalid "* ]]
    done
    run -1 scontrol update PartitionName=words $'MaxNodes=1 \n#'
    scontrol update PartitionName=words AllowAccounts='a#1,b' DenyAccounts= MaxTime=7
    [ "$(scontrol show part words -o | field AllowAccounts) $(scontrol show part words -o | field MaxTime)" = "a#1,b 00:07:00" ]
    scontrol delete PartitionName=words
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
    scontrol update JobId="$id" TimeLimit=5
    run -1 scontrol update JobId="$id" TimeMin=6
    [ "${lines[0]}" = "Invalid time-min specification (exceeds job's time or other limits) for job $id" ]
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

@test "+= and -= of nodes of reservations and partitions, and of nothing that has no list" {
    nodes() { scontrol show "$1" "$2" -o | field Nodes; }
    scontrol create reservation=r1 starttime=now+1hour duration=60 users=root nodes='n[1-2]'
    scontrol update reservationname=r1 nodes-=n1
    [ "$(nodes reservation r1)" = n2 ]
    scontrol update reservationname=r1 nodes+=n1
    [ "$(nodes reservation r1)" = 'n[1-2]' ]
    run -1 scontrol update reservationname=r1 nodes-='n[1-2]'
    [[ "$output" == *"none would be left of n[1-2]; "* ]]
    run -1 scontrol update reservationname=r1 nodes-=n7
    [[ "$output" == *"n7 is not among n[1-2]"* ]]
    run -1 scontrol update reservationname=r1 comment+=x
    [[ "$output" == *"Comment=VALUE says what it becomes"* ]]
    run -1 scontrol update reservationname=r1 users-=no-such-user
    [ "${lines[0]}" = "Error updating the reservation: Invalid user id" ]
    [ "$(nodes reservation r1)" = 'n[1-2]' ]
    scontrol delete reservation=r1
    scontrol create PartitionName=grows Nodes=n1
    scontrol update PartitionName=grows Nodes+=n2 MaxTime=5
    [ "$(nodes partition grows)$(scontrol show part grows -o | field MaxTime)" = 'n[1-2]00:05:00' ]
    scontrol update PartitionName=grows nodes-=n1
    [ "$(nodes partition grows)" = n2 ]
    run -1 scontrol update PartitionName=grows Nodes-=n1
    [ "${lines[0]}" = "slurm_update error: Invalid node name specified" ]
    scontrol delete PartitionName=grows
    run -1 scontrol update PartitionName=grows Nodes+=n1
    [ "${lines[0]}" = "slurm_update error: Invalid partition name specified" ]
    run -1 scontrol update NodeName=n1 Comment+=x
    [ "${lines[0]}" = "Update of this parameter is not supported: Comment+=x" ]
    id=$(held)
    run -1 scontrol update JobId="$id" TimeLimit=5 Comment+=x
    [ "${lines[0]}" = "scontrol: error: Option Comment+=x does not accept [+|-]= syntax" ]
    [ -z "$(job "$id" Comment)" ]
    scancel "$id"
}

@test "Gres= of a node: no new kind by a slip of the pen; none, and back again" {
    of() { scontrol show node n2 -o | field Gres; }
    run -1 scontrol update NodeName=n2 Gres=gpuu:0
    [ "${lines[0]}" = "slurm_update error: Invalid generic resource (gres) specification" ]
    [[ "$output" == *'there is no kind "gpuu": GresTypes=gpu, and no node has it'* ]]
    [ "$(of)" = gpu:v100:2 ]
    scontrol update NodeName=n2 Gres=gpu:0
    [ "$(of)" = gpu:0 ]
    run -1 scontrol update NodeName=n2 Gres=gpu:2
    [[ "$output" == *"scontrol reconfigure"* ]]
    scontrol reconfigure
    [ "$(of)" = gpu:v100:2 ]
}

@test "spans of a partition: none, without end, and none below 0; written so that they are read again" {
    scontrol create PartitionName=spans Nodes=n1
    of() { scontrol show part spans -o | field "$1"; }
    [ "$(of OverTimeLimit)$(of GraceTime)" = NONE0 ]
    scontrol update PartitionName=spans OverTimeLimit=0
    [ "$(of OverTimeLimit)" = 0 ]
    scontrol write config "$WORK/spans"
    grep -q '^PartitionName=spans .*OverTimeLimit=0' spans.2*
    scontrol update PartitionName=spans OverTimeLimit=UNLIMITED GraceTime=UNLIMITED
    [ "$(of OverTimeLimit)$(of GraceTime)" = UNLIMITEDUNLIMITED ]
    rm spans.2*
    scontrol write config "$WORK/spans"
    grep -q '^PartitionName=spans .*OverTimeLimit=UNLIMITED' spans.2*
    grep -q '^PartitionName=spans .*GraceTime=UNLIMITED' spans.2*
    remuda config check spans.2*
    for key in OverTimeLimit GraceTime; do
        run -1 scontrol update PartitionName=spans $key=-1
        [ "${lines[0]}" = "scontrol: error: Invalid $key value: -1" ]
    done
    scontrol delete PartitionName=spans
}

@test "NumCPUs= counts CPUs, however many a task has; WorkDir= is meant from here, and is some directory" {
    id=$(held -n2 -c2)
    scontrol update JobId="$id" NumCPUs=8
    [ "$(job "$id" NumTasks)/$(job "$id" NumCPUs)" = 4/8 ]
    run -1 scontrol update JobId="$id" NumCPUs=5
    [ "$output" = "scontrol: error: Invalid NumCPUs value: 5; each of its tasks has 2 CPUs: 4 is the nearest" ]
    run -1 scontrol update JobId="$id" NumCPUs=4-2
    [ "${lines[0]}" = "scontrol: error: Invalid NumCPUs value: 4-2" ]
    run -0 scontrol update JobId="$id" NumCPUs=6-8
    [ "$output" = "scontrol: NumCPUs=6-8: it asks for 6; the larger number has no effect" ]
    scontrol update JobId="$id" CPUsPerTask=1 NumCPUs=3
    [ "$(job "$id" NumTasks)/$(job "$id" NumCPUs)" = 3/3 ]
    mkdir -p there
    scontrol update JobId="$id" WorkDir=there
    [ "$(job "$id" WorkDir)" = "$PWD/there" ]
    run -1 scontrol update JobId="$id" WorkDir=
    [ "${lines[0]}" = "Invalid working directory for job $id" ]
    [ "$(job "$id" WorkDir)" = "$PWD/there" ]
    scancel "$id"
}

# ---- the prompt ----

@test "update of a step's limit; a line for a running job; processes and their job" {
    id=$(sbatch --parsable -t5 -o noted --wrap 'srun -n1 sh -c "scontrol pidinfo \$\$ > info; scontrol listpids \$SLURM_JOB_ID > pids; touch up; sleep 30"')
    for _ in $(seq 300); do [ -e up ] && break; sleep 0.1; done
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
    for _ in $(seq 300); do grep -q two noted && break; sleep 0.1; done
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
    [ "$(job "$id" JobState)$(job "$id" Reason)$(job "$id" Priority)" = RUNNINGJobHeldUser0 ]
    scontrol requeue "$id"
    for _ in $(seq 300); do [ "$(job "$id" JobState)" = PENDING ] && break; sleep 0.1; done
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
    mkdir -p again
    cp conf.2* again/remuda.conf
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
