#!/usr/bin/env bats
# sinfo with real daemons: layouts, grouping, filters, columns. The default layouts were compared with slurm 22.05 on the same nodes and partitions.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<'END'
ClusterName=look
NodeName=n[1-2] CPUs=2 RealMemory=1000 Feature=fast,ib Weight=1 Virtual=YES
NodeName=big1 CPUs=4 RealMemory=2000 Weight=5 Gres=gpu:v100:2 Virtual=YES
NodeName=big2 CPUs=4 RealMemory=4096 TmpDisk=100 Weight=7 Virtual=YES
PartitionName=debug Nodes=n[1-2] Default=YES MaxTime=1:00:00
PartitionName=batch Nodes=ALL MaxTime=INFINITE DefaultTime=30 MaxNodes=3 OverSubscribe=FORCE:4
PartitionName=hid Nodes=big[1-2] Hidden=YES RootOnly=YES PriorityTier=5
END
    for _ in $(seq 300); do
        [ "$(sinfo -h -r -o %D)" = 4 ] && break
        sleep 0.1
    done
}

teardown_file() { remuda down; }

setup() { unset SINFO_FORMAT SINFO_PARTITION SINFO_SORT SINFO_ALL SLURM_TIME_FORMAT; }

same() {
    if [ "$1" != "$2" ]; then
        printf 'expected:\n%s\ngot:\n%s\n' "$2" "$1"
        return 1
    fi
}

@test "the default layout" {
    same "$(sinfo)" "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
debug*       up    1:00:00      2   idle n[1-2]
batch        up   infinite      4   idle big[1-2],n[1-2]"
}

@test "-s, -N, and -N -l" {
    same "$(sinfo -as)" "PARTITION AVAIL  TIMELIMIT   NODES(A/I/O/T) NODELIST
debug*       up    1:00:00          0/2/0/2 n[1-2]
batch        up   infinite          0/4/0/4 big[1-2],n[1-2]
hid          up   infinite          0/2/0/2 big[1-2]"
    same "$(sinfo -N -n n1,big1)" "NODELIST   NODES PARTITION STATE 
big1           1     batch idle  
n1             1    debug* idle  
n1             1     batch idle  "
    same "$(sinfo -hNl -p debug)" "n1             1    debug*        idle 2       2:1:1   1000        0      1  fast,ib none                
n2             1    debug*        idle 2       2:1:1   1000        0      1  fast,ib none                "
}

@test "-l: a date, then sizes, shares and groups" {
    run -0 sinfo -l -p batch
    [[ "${lines[0]}" =~ ^[A-Z][a-z]{2}\ [A-Z][a-z]{2}\ .*20[0-9]{2}$ ]]
    [[ "${lines[2]}" =~ ^batch\ +up\ +infinite\ +1-3\ +no\ +FORCE:4\ +all\ +4\ +idle\ +big ]]
}

@test "nodes share a line until a column or --exact tells them apart" {
    same "$(sinfo -h -o '%N %D %c %m')" "big[1-2],n[1-2] 4 2+ 1000+"
    same "$(sinfo -h --exact -o '%N %D %c %m' | sort)" "big1 1 4 2000
big2 1 4 4096
n[1-2] 2 2 1000"
    same "$(sinfo -h -o '%f %N' | sort)" "(null) big[1-2]
fast,ib n[1-2]"
    same "$(sinfo -h -o '%R,%C')" "debug,0/4/0/4
batch,0/12/0/12"
    same "$(sinfo -h -o %C)" "0/12/0/12"
    same "$(sinfo -o '%P,%m' --noconvert)" "PARTITION,MEMORY
debug*,1000
batch,1000+"
}

@test "hidden partitions: -a, -p, SINFO_ALL" {
    same "$(sinfo -h -o %R)" "debug
batch"
    same "$(sinfo -ah -o %R)" "debug
batch
hid"
    same "$(sinfo -h -p hid -o '%R %p %r')" "hid 5 yes"
    same "$(SINFO_ALL=1 sinfo -h -o %R | tail -1)" "hid"
}

@test "filters that nothing fits: lines with zeros where the partition is shown" {
    same "$(sinfo -t fail)" "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
debug*       up    1:00:00      0    n/a 
batch        up   infinite      0    n/a "
    same "$(sinfo -h -t fail -o %N)" ""
    same "$(sinfo -p nope)" "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST"
    same "$(sinfo -h -t fail -N)" ""
}

@test "formats clients use: text first, literal backslashes, -aho and -ahNO, long suffixes" {
    same "$(sinfo -aho %F/%C)" "0/4/0/4/0/12/0/12"
    same "$(sinfo -h --Node -p debug -n n1 -o '%N\x1f%t\x1f%G\x1f%c\x1f%m\x1f%P')" 'n1\x1fidle\x1f(null)\x1f2\x1f1000\x1fdebug*'
    same "$(sinfo -ahNO nodehost:8,gres:12,gresused:24,statelong -n big1 -p batch)" "big1    gpu:v100:2  gpu:v100:0(IDX:N/A)     idle                "
    same "$(sinfo -a -h -n n1 -p debug -o 'PartitionName=%P TotalCPUs=%C MaxTime=%l DefTime=%L')" "PartitionName=debug* TotalCPUs=0/2/0/2 MaxTime=1:00:00 DefTime=n/a"
    same "$(sinfo -O nodelist:#,nodes -n n1 -p debug)" "NODELIST#NODES               
n1#1                   "
}

@test "-O and -o know every name and letter of the manual" {
    names=AllocMem,AllocNodes,Available,Cluster,Comment,Cores,CPUs,CPUsLoad,CPUsState,DefaultTime,Disk,Extra,Features,features_act,FreeMem,Gres,GresUsed,Groups,MaxCPUsPerNode,Memory,NodeAddr,NodeAI,NodeAIOT,NodeHost,NodeList,Nodes,OverSubscribe,Partition,PartitionName,Port,PreemptMode,PriorityJobFactor,PriorityTier,Priority,Reason,Root,Size,SocketCoreThread,Sockets,StateCompact,StateLong,StateComplete,Threads,Time,TimeStamp,User,UserLong,Version,Weight
    run -0 sinfo -O "$names"
    [ "${#lines[@]}" -gt 1 ]
    for letter in a A b B c C d D e E f F g G h H I l L m M n N o O p P r R s S t T u U v V w X Y z Z; do
        run -0 sinfo -o "%$letter"
    done
    run -0 sinfo -O All
    run -0 sinfo -o %all
}

@test "drained and down nodes: states, -R, -t, counts, sorting" {
    scontrol update NodeName=n1 State=DRAIN Reason="bad disk"
    scontrol update NodeName=big2 State=DOWN Reason=hw
    same "$(sinfo -h -o '%R %t %N')" "debug drain n1
debug idle n2
batch drain n1
batch idle big1,n2
batch down big2"
    same "$(sinfo -h -R -o '%E|%u|%N' | sort)" "bad disk|$(id -un)|n1
hw|$(id -un)|big2"
    same "$(sinfo -h -t drained -o %N)" n1
    same "$(sinfo -h -t 'idle' -o %N)" "big1,n[1-2]"
    same "$(sinfo -h -t '~down' -o %N)" "big1,n[1-2]"
    same "$(sinfo -h -t 'drain,down' -o %N | sort)" "big2,n1"
    same "$(sinfo -h -p batch -o %F)" "0/2/2/4"
    [[ "$(SLURM_TIME_FORMAT=%s sinfo -h -R -o %H | head -1)" =~ ^[0-9]{10}$ ]]
    scontrol update NodeName=n1,big2 State=RESUME
    same "$(sinfo -h -S -m -N -p batch -o '%N %m')" "big2 4096
big1 2000
n1 1000
n2 1000"
}

@test "environment: SINFO_FORMAT, SINFO_PARTITION" {
    same "$(SINFO_FORMAT='%R %D' SINFO_PARTITION=debug sinfo -h)" "debug 2"
    same "$(SINFO_FORMAT='%R' sinfo -h -o %D -p debug)" 2
}

@test "json: the lines as Slurm's data parser has them" {
    sinfo --json > "$BATS_TEST_TMPDIR/out.json"
    [ "$(jq -r '[.sinfo[].nodes.total] | add' "$BATS_TEST_TMPDIR/out.json")" -ge 4 ]
    [ "$(jq -r '.sinfo[0].partition.name' "$BATS_TEST_TMPDIR/out.json")" = debug ]
    [ "$(jq -r '.sinfo[0].node.state[0]' "$BATS_TEST_TMPDIR/out.json")" = IDLE ]
    [ "$(jq -r '.errors | length' "$BATS_TEST_TMPDIR/out.json")" = 0 ]
}

@test "mistakes are named" {
    run -1 sinfo -t frob
    [[ "$output" == *'Bad state string: "frob"'* ]]
    run -0 --separate-stderr sinfo -h -o %q
    [ "$stderr" = "Invalid node format specification: q" ]
    [ "${lines[0]}" = "%q" ]
    run -0 sinfo -O nodelits
    [[ "$output" == *"Invalid job format specification: nodelits"*"did you mean NodeList?"* ]]
    run -1 sinfo -S q
    run -1 sinfo -i x
    run -1 sinfo --frob
    run -1 env REMUDA_STATE=/nonexistent sinfo
    [[ "$output" == *"Unable to contact slurm controller"* ]]
    same "$(sinfo --version)" "slurm 25.05.0"
    same "$(sinfo -T)" "No reservations in the system"
}
