# What lines of the tables may call, on both sides. Everything here is Slurm's own command line.

# wait_state ID STATE: until squeue, or once it is gone from there scontrol, says so. At most 20 s.
wait_state() {
    local i
    for i in $(seq 200); do
        [ "$(squeue -h -t all -j "$1" -o %T 2>/dev/null | head -n 1)" = "$2" ] && return 0
        scontrol show job "$1" 2>/dev/null | grep -q "JobState=$2" && return 0
        sleep 0.1
    done
    return 1
}

# wait_over ID: until the job has ended and its accounting row has, too.
wait_over() {
    local i
    for i in $(seq 200); do
        [ -z "$(squeue -h -j "$1" -o %i 2>/dev/null)" ] && break
        sleep 0.1
    done
    for i in $(seq 100); do
        [ -n "$(sacct -n -X -j "$1" -o State 2>/dev/null | grep -vE 'RUNNING|PENDING|COMPLETING')" ] && return 0
        sleep 0.1
    done
}

# until_said TEXT COMMAND…: until the command's output has the text. At most 20 s.
until_said() {
    local i text=$1
    shift
    for i in $(seq 200); do
        "$@" 2>&1 | grep -qF -- "$text" && return 0
        sleep 0.1
    done
    return 1
}

# as USER COMMAND…: as an ordinary user of this machine (nobody, daemon, …).
as() {
    local user=$1
    shift
    setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups env HOME=/ USER="$user" "$@"
}

# script LINE…: a script of these lines in ./job.sh
script() {
    printf '%s\n' '#!/bin/bash' "$@" >job.sh
    chmod +x job.sh
}

# job_fields OPTION…: submits a job that waits for tomorrow with these options of sbatch; prints what the options decide of its
# record, in a fixed order, without what every job has. Resources are written as Slurm writes them since 23.11.
job_fields() {
    local id status
    id=$(sbatch --parsable --begin=now+1day --wrap true "$@")
    status=$?
    [ -n "$id" ] || return $status
    scontrol show job -d "${id%%;*}" | grep -v SubmitLine | grep -oE '[A-Za-z/:.]+=[^ ]*( |$)' | sed -E 's/ +$//; s/=gres:/=gres\//; s/,gres:/,gres\//g; s/=gpu:/=gres\/gpu:/; s/^ReqTRES/TRES/; s/mem=[^,]*,?//; s/,gres.gpu:p100=[0-9]*//; s/NumNodes=([0-9]+)-\1$/NumNodes=\1/' |
        grep -E '^(AdminComment|ArrayTaskId|ArrayTaskThrottle|CPUs.Task|Comment|Contiguous|CoreSpec|CpusPerTres|Deadline|DelayBoot|Dependency|ExcNodeList|Features|KillOInInvalidDependent|Licenses|MailType|MailUser|MemPerTres|MinCPUsNode|MinMemoryCPU|MinTmpDiskNode|Nice|NtasksPerN:B:S:C|NtasksPerTRES|NumCPUs|NumNodes|NumTasks|OverSubscribe|Partition|Prefer|ReqB:S:C:T|ReqNodeList|Reservation|Socks.Node|SpreadJob|Switches|TRES|TimeLimit|TimeMin|TresBind|TresPer[A-Za-z]*)=' |
        grep -vE '^(Contiguous=0|CoreSpec=\*|Deadline=N/A|DelayBoot=00:00:00|Dependency=.null.|ExcNodeList=.null.|Features=.null.|Licenses=.null.|MinCPUsNode=1|MinTmpDiskNode=0|Nice=0|NtasksPerN:B:S:C=0:0:\*:\*|OverSubscribe=OK|Partition=main|ReqB:S:C:T=0:0:\*:\*|ReqNodeList=.null.|Socks.Node=\*|TimeMin=N/A|TimeLimit=(UNLIMITED|Partition_Limit))$' | sort | tr '\n' ' '
    echo
    scancel "${id%%;*}"
}

# each_value OPTION= VALUE…: what sbatch says first of each value, in a line that has it. "-N ": the value is a word of its own.
each_value() {
    local option=$1 value said
    shift
    for value in "$@"; do
        if [ "${option% }" = "$option" ]; then
            said=$(sbatch -H "$option$value" --wrap true 2>&1)
        else
            said=$(sbatch -H "${option% }" "$value" --wrap true 2>&1)
        fi
        printf '[%s] %s\n' "$value" "$(head -n 1 <<<"$said" | sed 's/job [0-9]*$/job/')"
    done
}

# each_step LINE…: what srun with these words says first, and how it ends, in the allocation that it is called in.
each_step() {
    local line
    for line in "$@"; do
        timeout 20 srun $line >step.out 2>&1 </dev/null
        printf '[%s] %s %s\n' "$line" "$?" "$(head -n 1 step.out | sed -E "s/${SLURM_JOB_ID:-none}/ID/g; s/StepId=ID\.[0-9]+/StepId=ID.N/")"
    done
}

# each_update KEY=VALUE…: what scontrol says first of each, of a held job of its own.
each_update() {
    local id word
    for word in "$@"; do
        id=$(sbatch --parsable -H -t 10 --wrap true)
        printf '[%s] %s\n' "$word" "$(scontrol update jobid="$id" "$word" 2>&1 | head -n 1 | sed "s/$id/ID/")"
        scancel "$id"
    done
}

# each_line COMMAND WORDS…: of the command with each of the words: how it ends, its first line of output and what it says first on stderr.
each_line() {
    local command=$1 words
    shift
    for words in "$@"; do
        eval "timeout 10 $command $words" >line.out 2>line.err </dev/null
        printf '[%s] %s %s | %s\n' "$words" "$?" "$(head -n 1 line.out)" "$(head -n 1 line.err)"
    done
}

# each_control LINE…: what scontrol says first of each, and how it ends.
each_control() {
    local line
    for line in "$@"; do
        timeout 10 scontrol $line >control.out 2>&1 </dev/null
        printf '[%s] %s %s\n' "$line" "$?" "$(head -n 1 control.out)"
    done
}

# job_record ID: the record of a job, a Key=Value a line, without what tells when and which it is; resources as Slurm writes them since 23.11.
job_record() {
    scontrol show job -d "$1" | sed -E 's/ +$//' | grep -oE '[A-Za-z/:.]+=.*' | sed -E 's/ ([A-Za-z/:.]+=)/\n\1/g' |
        grep -vE '^(JobId|SubmitTime|EligibleTime|AccrueTime|StartTime|EndTime|LastSchedEval|SuspendTime|PreemptEligibleTime|PreemptTime|RunTime|SubmitLine|Command|WorkDir|AllocNode:Sid|Priority|Scheduler|Reason|BatchHost|JOB_GRES|Nodes|SecsPreSuspend|Mem|GRES|AllocTRES|TRES|ReqTRES)=' |
        sed -E "s/$1/ID/g; s/=gres:/=gres\//; s/,gres:/,gres\//g; s/=gpu:/=gres\/gpu:/; s/mem=[^,]*,?//; s/NumNodes=([0-9]+)-\1$/NumNodes=\1/; s/=Partition_Limit$/=UNLIMITED/" | sort
}

# job_baseline: of a job that waits for tomorrow, for job_changed. alloc_baseline and step_baseline: of one that runs, for theirs.
job_baseline() {
    job_baseline_id=$(sbatch --parsable --begin=now+1day --wrap true)
    job_record "$job_baseline_id" >baseline
    scancel "$job_baseline_id"
}
alloc_baseline() { salloc -Q bash -c 'job_record $SLURM_JOB_ID' >baseline; }
step_baseline() { { srun -Q bash -c 'job_record $SLURM_JOB_ID; env | env_of'; printf 'SLURM_DISTRIBUTION=%s\n' block cyclic; } >baseline; } # see task_env

# changed: what standard input has that the baseline has not.
changed() { grep -vxF -f baseline; }

# job_changed OPTION…: what options and environment change of the record of a job that waits for tomorrow. job_changed_script: with a script of its own.
job_changed() { job_changed_script "$@" --wrap true; }
job_changed_script() {
    local id status
    id=$(sbatch --parsable --begin=now+1day "$@")
    status=$?
    [ -n "$id" ] || return $status
    job_record "${id%%;*}" | changed
    scancel "${id%%;*}"
}

# alloc_changed OPTION…, step_changed OPTION…: of one that runs; of a step its environment, too.
alloc_changed() { until_free; timeout 20 salloc -Q "$@" bash -c 'job_record $SLURM_JOB_ID' | changed; return "${PIPESTATUS[0]}"; }
step_changed() { until_free; timeout 20 srun "$@" bash -c '[ "$SLURM_PROCID" != 0 ] || { job_record $SLURM_JOB_ID; env | env_of; }' | changed; return "${PIPESTATUS[0]}"; }

# job_name_of SCRIPT: the name of the job that it becomes.
job_name_of() {
    local id
    id=$(sbatch --parsable -H "$1") || return
    squeue -h -j "$id" -o %j
    scancel "$id"
}

# env_of: what Slurm has put into the environment that is read; names alone where the value is the machine's or the moment's. What may differ in
# every environment is left out here:
#   JOB_GROUP, JOB_START_TIME, JOB_END_TIME, UMASK    22.05 does not know them yet
#   PACK_GROUP, NODE_ALIASES, WORKING_CLUSTER          25.05 has them no longer
#   JOB_ACCOUNT, JOB_QOS                               accounts and QOS wait for sacctmgr
#   MEM_PER_NODE                                       a job that asks no memory has its share by CPUs (decisions/0006)
#   CPU_BIND*, JOB_GPUS, STEP_GPUS                     this Slurm leaves them to the machine (TaskPlugin=task/none, files for GPUs)
#   SBATCH_MEM_BIND*                                   sbatch's manual page names them, 22.05 forgets them
#   SLURMD_TRES_*                                      from slurmd to slurmstepd, in no manual page
env_of() {
    grep -aE '^(SLURM|SLURMD|SBATCH|SALLOC|SRUN|TMPDIR|MPI|PMI|PMIX|OMP)[A-Z_0-9]*=' |
        grep -vE '^SLURM_(CONF|JOB_(GROUP|START_TIME|END_TIME|ACCOUNT|QOS|GPUS)(_HET_GROUP_.)?|UMASK|NODE_ALIASES(_HET_GROUP_.)?|WORKING_CLUSTER|STEP_GPUS|CPU_BIND[A-Z_]*|MEM_PER_NODE(_HET_GROUP_.)?|[A-Z_]*PACK_(GROUP_.|SIZE))=|^SBATCH_MEM_BIND|^SLURMD_TRES_' |
        sed -E 's/^(SLURM_(TASK_PID|LAUNCH_NODE_IPADDR|SRUN_COMM_HOST|SRUN_COMM_PORT|STEP_LAUNCHER_PORT|SUBMIT_HOST|STEP_RESV_PORTS|GTIDS))=.*/\1/' | sort
}

# until_free: until nothing runs or completes, so that both sides begin at the same node. At most 20 s.
until_free() {
    local i
    for i in $(seq 200); do
        [ -z "$(squeue -h -t R,CG -o %i)" ] && return
        sleep 0.1
    done
}

# The environment that the script of a batch job, the command of an allocation, a task of srun, a task of srun in an allocation finds.
batch_env() {
    local id i out
    out=$(mktemp -p "$PWD" -u env.XXXXXX)
    until_free
    id=$(sbatch --parsable -o "$out" --wrap 'env; echo END' "$@") || return
    for i in $(seq 400); do
        grep -q END "$out" 2>/dev/null && break
        sleep 0.1
    done
    env_of <"$out"
    scancel "${id%%;*}" 2>/dev/null
}
alloc_env() { until_free; timeout 20 salloc -Q -J inside "$@" env | env_of; }
inner_env() { until_free; timeout 20 salloc -Q -J inside "$@" srun bash -c 'if [ "$SLURM_PROCID" = 0 ]; then env; fi' | env_of; }
# inner_of "OPTION…" COMMAND…: what COMMAND, run in an allocation with these options, prints of its environment.
inner_of() { until_free; local options=$1; shift; timeout 20 salloc -Q -J inside $options "$@" | env_of; }
# Of a job of its own 22.05 sets SLURM_DISTRIBUTION with --mem alone; here it is always set.
task_env() {
    until_free
    case " $* " in
    *' -m '*) task_env_whole "$@" ;;
    *) task_env_whole "$@" | grep -vE '^SLURM_DISTRIBUTION=(block|cyclic)$' ;;
    esac
}
task_env_whole() { timeout 20 srun "$@" bash -c 'if [ "$SLURM_PROCID" = 0 ]; then env; fi' | env_of; }

# cancel_one: a job is submitted and scancel is told to cancel it; its state then.
cancel_one() {
    local id
    id=$(sbatch --parsable -H -o /dev/null --wrap true)
    scancel "$id" </dev/null
    echo "$?"
    squeue -h -t all -j "$id" -o %t
    SCANCEL_CTLD='' env -u SCANCEL_ACCOUNT -u SCANCEL_NAME -u SCANCEL_PARTITION -u SCANCEL_QOS -u SCANCEL_STATE -u SCANCEL_USER -u SCANCEL_WCKEY -u SCANCEL_INTERACTIVE scancel "$id"
}

# cast_one: a file is sent to the nodes of an allocation.
cast_one() {
    timeout 20 salloc -Q bash -c 'rm -f cast.to; sbcast /etc/hostname "$PWD/cast.to"; echo $?; cmp /etc/hostname cast.to'
}
