# What drawn lines may call (tests/compare/draw), on both sides, beside helpers.bash.

# Letters of squeue, an item each.
DRAWN_LETTERS='a=%a|A=%A|c=%c|C=%C|d=%d|D=%D|f=%f|F=%F|g=%g|h=%h|H=%H|i=%i|I=%I|j=%j|J=%J|k=%k|K=%K|l=%l|m=%m|n=%n|N=%N|o=%o|O=%O|P=%P|q=%q|r=%r|s=%s|t=%t|T=%T|u=%u|U=%U|v=%v|w=%w|W=%W|x=%x|X=%X|y=%y|Y=%Y|z=%z|Z=%Z|b=%b'

# drawn COMMAND…: runs what submits; then what the jobs it named became, and they are cancelled.
drawn() {
    local id status
    "$@" >drawn.out 2>drawn.err
    status=$?
    cat drawn.out
    cat drawn.err >&2
    for id in $(grep -ohE '\b7[0-9]{4}\b' drawn.out | sort -u); do
        [ "$id" != "$H" ] || continue
        became "$id"
        scancel -Q "$id" 2>/dev/null
    done
    return $status
}

# became ID: the record, a Key=Value a line, and the letters of squeue.
became() {
    scontrol show job -d "$1" 2>&1 | sed -E 's/ +$//' | sed -E 's/ ([A-Za-z/:.]+=)/\n\1/g' | grep -aE '^ *[A-Za-z/:.]+=' | sed 's/^ *//'
    squeue -h -t all -j "$1" -o "$DRAWN_LETTERS" 2>&1 | tr '|' '\n'
}

# fresh: a job H that waits, K another one, an array Y, a heterogeneous job T; D has ended.
fresh() {
    H=$(sbatch --parsable -H -J wait -o /dev/null --wrap 'exit 0')
    K=$(sbatch --parsable -H -J wait2 -n2 -o /dev/null --wrap 'exit 0')
    Y=$(sbatch --parsable -H -J arr -a 1-3 -o /dev/null --wrap 'exit 0')
    T=$(sbatch --parsable -H -J het -n1 -o /dev/null : -n2 --wrap 'exit 0')
    R=$K
}

# drawn_job COMMAND…: what changes fresh jobs; then what they became.
drawn_job() {
    local id status
    "$@"
    status=$?
    for id in $H $Y; do
        became "$id"
    done
    squeue -h -t all -j "$K,$T" -o '%i|%t|%r|%Q|%j|%k|%E' | sort
    scancel -Q "$H" "$K" "$Y" "$T" ${B:+"$B"} 2>/dev/null
    return $status
}

drawn_node() {
    local status
    "$@"
    status=$?
    scontrol show node n3 | grep -aoE '(State|Reason|Weight|AvailableFeatures|ActiveFeatures|Comment|Extra|Gres)=.*' | sed 's/ \[.*//'
    sinfo -h -N -n n3,n4 -o '%N %T %E %w %f %b %G'
    scontrol update nodename=n[3-4] state=resume 2>/dev/null
    scontrol update nodename=n[3-4] state=idle 2>/dev/null
    scontrol update nodename=n[3-4] weight=2 features=common,new activefeatures=common,new comment= extra= gres= reason= cpubind=none 2>/dev/null
    return $status
}

drawn_part() {
    local status
    scontrol create partitionname=p1 nodes=n3 2>/dev/null
    "$@"
    status=$?
    scontrol show partition p1 2>&1
    scontrol show partition p2 2>/dev/null
    scontrol delete partitionname=p1 2>/dev/null
    scontrol delete partitionname=p2 2>/dev/null
    scontrol update partitionname=main default=yes 2>/dev/null
    return $status
}

drawn_res() {
    local status
    [ "$3" = create ] || [ "$2" = create ] || scontrol create reservationname=r1 starttime=now+2hours duration=30 users=root nodes=n1 >/dev/null 2>&1
    "$@"
    status=$?
    scontrol show reservation 2>&1
    scontrol delete reservationname=r1 2>/dev/null
    return $status
}

drawn_book() {
    local status kind=$1 name=$2
    shift 2
    "$@"
    status=$?
    sacctmgr -n -P show "$kind" "$name" 2>&1
    [ "$kind" = qos ] || sacctmgr -n -P show assoc where "$kind=$name" format=cluster,account,user,fairshare,grpjobs,grpsubmit,grptres,grpwall,grptresmins,grptresrunmins,maxjobs,maxsubmit,maxtres,maxwall,maxtresmins,qos,defaultqos,priority,parentname 2>&1
    sacctmgr -i delete "$kind" "$name" >/dev/null 2>&1
    return $status
}

# shown COMMAND…: a listing of Key=Value, one a line.
shown() {
    local status
    "$@" >shown.out
    status=$?
    sed -E 's/^ +//; s/ +$//; s/ ([A-Za-z/:.]+=)/\n\1/g' shown.out
    return $status
}

# Keys of a record and variables of a task that follow from what was asked.
record_here() {
    scontrol show job -d "$SLURM_JOB_ID" | sed -E 's/ +$//; s/ ([A-Za-z/:.]+=)/\n\1/g' | sed 's/^ *//' |
        grep -E '^(NumNodes|NumCPUs|NumTasks|CPUs.Task|ReqB:S:C:T|NtasksPerN:B:S:C|MinCPUsNode|Features|OverSubscribe|Contiguous|Licenses|TresPer[A-Za-z]*|CpusPerTres|MemPerTres|NtasksPerTRES|TimeLimit|NodeList|ReqNodeList|ExcNodeList|Partition|Comment|CoreSpec)='
    env | env_of | grep -E "$ASKED_FOR"
}
ASKED_FOR='^SLURM_(NTASKS[A-Z_]*|NPROCS|STEP_NUM_[A-Z]*|STEP_NODELIST|STEP_TASKS_PER_NODE|TASKS_PER_NODE|CPUS_PER_[A-Z]*|CPUS_ON_NODE|TRES_PER_TASK|GPUS[A-Z_]*|THREADS_PER_CORE|MEM_PER_(CPU|GPU)|OVERCOMMIT|KILL_BAD_EXIT|HINT|LABELIO|WAIT)='
record_task() { [ "$SLURM_PROCID" != 0 ] || env | env_of | grep -E "$ASKED_FOR"; }

# tree_change COMMAND…: a small tree of its own; what is changed of it; what it became.
tree_change() {
    local status
    {
        sacctmgr -i add account t1 parent=phys description=d organization=o grpjobs=7 maxjobs=2
        sacctmgr -i add account t2 parent=t1 description=d organization=o fairshare=3
        sacctmgr -i add user games account=t1,t2 defaultaccount=t1 maxwall=50
        sacctmgr -i add qos tq description=t priority=2 flags=DenyOnLimit
    } >/dev/null 2>&1
    "$@"
    status=$?
    tree_told
    sacctmgr -i delete user games >/dev/null 2>&1
    sacctmgr -i delete account t2 t3 t1 >/dev/null 2>&1
    sacctmgr -i delete qos tq t3 >/dev/null 2>&1
    return $status
}

tree_told() {
    sacctmgr -n -P show assoc where account=t1,t2,t3 format=account,user,partition,fairshare,parentname,priority,qos,defaultqos 2>&1 | sort
    sacctmgr -n -P show assoc where account=t1,t2,t3 format=account,user,grpjobs,grpjobsaccrue,grpsubmit,grptres,grptresmins,grptresrunmins,grpwall 2>&1 | sort
    sacctmgr -n -P show assoc where account=t1,t2,t3 format=account,user,maxjobs,maxjobsaccrue,maxsubmit,maxtres,maxtrespernode,maxtresmins,maxwall 2>&1 | sort
    sacctmgr -n -P show qos where name=tq,t3 format=name,priority,gracetime,preempt,preemptmode,preemptexempt,flags,usagethres,usagefactor,limitfactor,grptres,grptresmins,grptresrunmins,grpjobs,grpsubmit,grpwall,maxtres,maxtrespernode,maxtresmins,maxwall,maxtrespu,maxjobspu,maxsubmitpu,maxtrespa,maxjobspa,maxsubmitpa,mintres,description 2>&1
    sacctmgr -n -P show user games format=user,defaultaccount,adminlevel 2>&1
    sacctmgr -n -P show account where name=t1,t2,t3 format=account,description,organization 2>&1
}

# tree_job COMMAND…: what submits; which account, QOS and limit the job has got.
tree_job() {
    local id status
    "$@" >drawn.out 2>drawn.err
    status=$?
    sed 's/7[0-9][0-9]*/ID/' drawn.out
    cat drawn.err >&2
    for id in $(grep -ohE '\b7[0-9]{4}\b' drawn.out | sort -u); do
        squeue -h -t all -j "$id" -o '%a|%q|%P|%l|%C' 2>&1 | head -n 1
        scancel -Q "$id" 2>/dev/null
    done
    return $status
}
