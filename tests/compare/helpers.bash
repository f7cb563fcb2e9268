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
