#!/usr/bin/env bats
# kill -9 of the controller while limits hold waiting jobs and sacctmgr changes them: the tree is the old or the new one, what was acknowledged stands, and nobody
# ever runs beyond the limit that holds.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<'END'
ClusterName=limited
MinJobAge=300
AccountingStorageEnforce=safe,qos
PriorityDecayHalfLife=0
NodeName=v1 CPUs=16 RealMemory=4000 Virtual=YES
PartitionName=main Nodes=v1 Default=YES MaxTime=2:00:00 State=UP
END
    sacctmgr -i -Q add account held
    sacctmgr -i -Q add user "$(id -un)" account=held
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

setup() { cd "$WORK" || return; }

teardown() {
    scancel -u "$(id -un)"
    eventually nothing_left
    sacctmgr -i -Q modify account held set GrpTRES=cpu=-1 MaxJobs=-1 MaxSubmitJobs=-1 GrpTRESMins=cpu=-1 RawUsage=0 || true
}

nothing_left() { [ -z "$(squeue -h)" ]; }

# A controller that is killed while requests come; up again, and the requests with it.
killed() {
    local pid
    pid=$(remuda status --pid controller)
    kill -9 "$pid"
    remuda up -q 3>&-
}

# many N [OPTION…]: so many jobs of one CPU.
many() {
    local n=$1 i
    shift
    for ((i = 0; i < n; i++)); do
        sbatch -Q -A held -n1 --mem=10 -t 10 -o /dev/null "$@" --wrap 'sleep 60' || return
    done
}

running() { squeue -h -t R | wc -l; }
set_to() { sacctmgr -n -P show assoc account=held user= format="$1"; }

# changes LIMIT FROM TO: sets it to these in turn until told to stop; writes down what was acknowledged.
changes() {
    local value
    while [ ! -e stop ]; do
        for value in $(seq "$2" "$3"); do
            if sacctmgr -i -Q modify account held set "${1/@/$value}" >/dev/null 2>&1; then echo "$value" >>acknowledged; fi
        done
    done
}

# through_kills LIMIT FROM TO MOST: sets the limit to these in turn in the course of eight kills; never more run than the largest lets.
through_kills() {
    rm -f stop acknowledged
    changes "$1" "$2" "$3" 3>&- &
    local by=$! i n
    for i in $(seq 8); do
        sleep 0.3
        killed
        n=$(running)
        [ "$n" -le "$4" ] || { touch stop; echo "$n run after kill $i"; squeue; return 1; }
    done
    touch stop
    wait "$by"
    [ "$(wc -l <acknowledged)" -gt 0 ]
}

runs() { [ "$(running)" = "$1" ]; }

# What is set last, and acknowledged, stands after a kill at once.
stands() {
    sacctmgr -i -Q modify account held set "$1"
    killed
    [ "$(set_to "$2")" = "$3" ] || { echo "$2 is $(set_to "$2"), not $3"; return 1; }
}

@test "GrpTRES" {
    sacctmgr -i -Q modify account held set GrpTRES=cpu=2
    many 8
    eventually runs 2
    through_kills GrpTRES=cpu=@ 1 3 3
    stands GrpTRES=cpu=5 GrpTRES cpu=5
    eventually runs 5
    stands GrpTRES=cpu=1 GrpTRES cpu=1
    scancel -t R -u "$(id -un)"
    eventually runs 1
    sleep 1
    runs 1
    [ "$(squeue -h -t PD -o %r | sort -u)" = AssocGrpCpuLimit ]
}

@test "MaxJobs" {
    sacctmgr -i -Q modify account held set MaxJobs=2
    many 8
    eventually runs 2
    through_kills MaxJobs=@ 1 3 3
    stands MaxJobs=4 MaxJobs 4
    eventually runs 4
    [ "$(squeue -h -t PD -o %r | sort -u)" = AssocMaxJobsLimit ]
}

@test "MaxSubmitJobs: what was taken before a kill counts after it" {
    sacctmgr -i -Q modify account held set MaxSubmitJobs=4
    many 4 -H
    for _ in 1 2 3; do
        killed
        run -1 many 1
    done
    stands MaxSubmitJobs=6 MaxSubmit 6
    many 2 -H
    run -1 many 1
    [ "$(squeue -h | wc -l)" = 6 ]
}

@test "GrpTRESMins: with safe each takes its whole time, also after a kill" {
    sacctmgr -i -Q modify account held set GrpTRESMins=cpu=25
    many 6
    eventually runs 2
    through_kills GrpTRESMins=cpu=@ 24 26 2
    runs 2
    stands GrpTRESMins=cpu=35 GrpTRESMins cpu=35
    eventually runs 3
    [ "$(squeue -h -t PD -o %r | sort -u)" = AssocGrpCPUMinutesLimit ]
}
