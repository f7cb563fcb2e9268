#!/usr/bin/env bats
# Two centres set up from nothing as their guides have them (spec/guides.md 0.1 and 0.4): partitions, accounts, QOS, limits; and used as the guides say.
bats_require_minimum_version 1.5.0
load common

teardown() {
    scancel -u root,nobody 2>/dev/null || true
    remuda down
    [[ "$BATS_TEST_TMPDIR" != /tmp/remuda-satori-* ]] || rm -rf "$BATS_TEST_TMPDIR"
}

site() {
    export REMUDA_STATE="$BATS_TEST_TMPDIR/state"
    unset SLURM_CONF
    mkdir -p "$REMUDA_STATE"
    cat >"$REMUDA_STATE/remuda.conf"
    remuda up -q 3>&-
    cd "$BATS_TEST_TMPDIR" || exit 1
    me=$(id -un)
}

waits_for() { [ "$(squeue -h -j "$1" -o %r)" = "$2" ]; }

@test "Wilson: six accounts, four QOS, CPU and GPU partitions; the whole guide" {
    site <<'EOF2'
ClusterName=wilson
AccountingStorageEnforce=associations,limits,qos
PriorityType=priority/multifactor
PriorityWeightQOS=1000
EnforcePartLimits=ALL
GresTypes=gpu
NodeName=wcwn[001-003] CPUs=4 RealMemory=2000 Virtual=YES
NodeName=wcgpu01 CPUs=8 RealMemory=4000 Gres=gpu:p100:2 Virtual=YES
NodeName=wcgpu02 CPUs=8 RealMemory=4000 Gres=gpu:v100:2 Virtual=YES
PartitionName=cpu_gce Nodes=wcwn[001-003] Default=YES MaxNodes=2 MaxTime=1-0 DefaultTime=8:00:00 OverSubscribe=EXCLUSIVE
PartitionName=cpu_gce_test Nodes=wcwn003 MaxNodes=1 MaxTime=4:00:00 DefaultTime=1:00:00 OverSubscribe=EXCLUSIVE
PartitionName=gpu_gce Nodes=wcgpu[01-02] MaxTime=1-0 DefaultTime=8:00:00
EOF2
    sacctmgr -i -Q add qos opp Priority=0 MaxWall=8:00:00 MaxSubmitJobsPerUser=50
    sacctmgr -i -Q add qos regular Priority=25 MaxWall=1-00:00:00
    sacctmgr -i -Q add qos test Priority=75 MaxWall=4:00:00 MaxJobsPerUser=1 MaxSubmitJobsPerUser=3
    sacctmgr -i -Q add qos admin Priority=100
    sacctmgr -i -Q add account fnal QOS=opp,regular,test DefaultQOS=opp MaxTRESPerJob=gres/gpu:v100=1
    sacctmgr -i -Q add account wc_test,nova,dune,mu2e,cms parent=fnal
    sacctmgr -i -Q add user "$me" account=wc_test,nova,dune,mu2e,cms,fnal DefaultAccount=wc_test
    sacctmgr -i -Q modify user "$me" set DefaultAccount=wc_test || true # root has one already
    # as the guide looks at it
    run -0 sacctmgr list user name="$me"
    [ "${lines[0]}" = "      User   Def Acct     Admin " ]
    run -0 sacctmgr list user WithAssoc Format=User,Account,QOS,DefaultQOS name="$me"
    for a in wc_test nova dune mu2e cms fnal; do [[ "$output" == *" $a "*"opp,regular,test"*"opp "* ]]; done
    run -0 sinfo -h -p cpu_gce,cpu_gce_test -o '%P %D %l %L %s'
    [[ "$output" == *"cpu_gce* 3 1-00:00:00 8:00:00 1-2"* && "$output" == *"cpu_gce_test 1 4:00:00 1:00:00 1"* ]]
    # defaults; more nodes than allowed; the fifty-first; an account and a QOS that are not his
    held=$(sbatch --parsable -H --wrap true)
    [ "$(squeue -h -j "$held" -o '%a %q %P %l')" = "wc_test opp cpu_gce 8:00:00" ]
    run ! sbatch -N 3 --wrap true
    [[ "$output" == *"Node count specification invalid"* ]]
    sbatch -Q -H --array=1-49 --wrap true
    run -1 sbatch -H --wrap true
    [[ "$output" == *"MaxSubmitJobsPerUser=50 of QOS opp: 50 jobs are there, 1 more would be too many"* ]]
    run -1 sbatch --qos=admin --wrap true
    [[ "$output" == *"you may use: opp,regular,test"* ]]
    run -1 sbatch -A bio --wrap true
    [[ "$output" == *"your accounts: wc_test (default)"* ]]
    scancel -u "$me"
    # test: one runs, three are there; its priority counts
    one=$(sbatch --parsable --qos=test -p gpu_gce --gres=gpu:p100:1 --wrap 'sleep 300')
    wait_state "$one" RUNNING
    two=$(sbatch --parsable --qos=test -p gpu_gce --gres=gpu:1 --wrap 'sleep 300')
    eventually waits_for "$two" QOSMaxJobsPerUserLimit
    sbatch -Q --qos=test -p gpu_gce --wrap 'sleep 300'
    run -1 sbatch --qos=test -p gpu_gce --wrap true
    [[ "$output" == *"MaxSubmitJobsPerUser=3 of QOS test"* ]]
    run -0 sprio -h -j "$two" -o %Q
    [ "$(tr -d ' ' <<<"$output")" = 750 ]
    # GPUs by their type
    many=$(sbatch --parsable --qos=regular -p gpu_gce --gres=gpu:v100:2 --wrap true 2>/dev/null)
    eventually waits_for "$many" AssocMaxGRESPerJob
    run -0 remuda may
    [[ "$output" == *"gpu_gce: up to 1-00:00:00; 2 nodes up; free GPUs: p100 1 of 2, v100 2 of 2"* ]]
    [[ "$output" == *"accounts wc_test*, cms, dune, fnal, mu2e, nova, QOS opp*: up to 08:00:00"* ]]
    [[ "$output" == *"MaxJobsPerUser: 0 left of 1, of QOS test"* ]]
    run -0 remuda why "$two"
    [[ "$output" == *"MaxJobsPerUser=1 of QOS test"* ]]
}

@test "Satori: one job a user, priority queues with caps of GPUs, access granted by a coordinator" {
    site <<'EOF2'
ClusterName=satori
AccountingStorageEnforce=limits,qos
GresTypes=gpu
NodeName=node[0001-0003] CPUs=8 RealMemory=4000 Gres=gpu:4 Virtual=YES
PartitionName=sched_system_all Nodes=node[0001-0003] Default=YES MaxTime=12:00:00 QOS=default_queue
PartitionName=sched_1node Nodes=node[0001-0003] MaxNodes=1 MaxTime=1-0 AllowQos=prio1 QOS=prio1
PartitionName=sched_2nodes Nodes=node[0001-0003] MaxNodes=2 MaxTime=1-0 AllowQos=prio2 QOS=prio2
EOF2
    sacctmgr -i -Q add qos default_queue MaxJobsPerUser=1
    sacctmgr -i -Q add qos prio1 MaxJobsPerUser=2 MaxTRESPerJob=gres/gpu=4
    sacctmgr -i -Q add qos prio2 MaxJobsPerUser=2 MaxTRESPerJob=gres/gpu=8
    scontrol reconfigure
    sacctmgr -i -Q add account mit QOS=normal,prio1,prio2
    sacctmgr -i -Q add user "$me" account=mit QOS=normal
    sacctmgr -i -Q modify user "$me" where account=mit set QOS=normal
    sacctmgr -i -Q modify user "$me" set DefaultAccount=mit
    # the default queue: the second waits, and is not refused
    one=$(sbatch --parsable --gres=gpu:4 -N1 --time=1:00:00 --wrap 'sleep 300')
    wait_state "$one" RUNNING
    two=$(sbatch --parsable --gres=gpu:4 -N1 --time=1:00:00 --wrap 'sleep 300')
    eventually waits_for "$two" QOSMaxJobsPerUserLimit
    run -0 remuda why "$two"
    [[ "$output" == *"MaxJobsPerUser=1 of QOS default_queue"* ]]
    # the priority queues are for who was let in
    run -1 sbatch -p sched_1node --qos=prio1 --gres=gpu:4 -N1 --wrap true
    [[ "$output" == *"Invalid qos specification"* ]]
    sacctmgr -i -Q modify user "$me" where account=mit set QOS+=prio1
    wide=$(sbatch --parsable -p sched_1node --qos=prio1 --gres=gpu:4 -N1 --time=20:00:00 --wrap 'sleep 300')
    wait_state "$wide" RUNNING
    run -1 sbatch -p sched_2nodes --qos=prio2 --gres=gpu:4 -N2 --wrap true
    sacctmgr -i -Q modify user "$me" where account=mit set QOS+=prio2
    big=$(sbatch --parsable -p sched_2nodes --qos=prio2 --gres=gpu:4 -N2 --time=20:00:00 --wrap 'sleep 300')
    [ -n "$big" ]
    # ended, the next comes by itself
    scancel "$one" "$wide"
    wait_state "$two" RUNNING
    run -0 remuda may --json
    [[ "$output" == *'"of": "QOS prio2"'* ]]
}

as() { # USER COMMAND…: as one who has no rights of his own
    local user=$1
    shift
    (cd / && setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups --reset-env env PATH="$PATH" HOME=/ REMUDA_STATE="$REMUDA_STATE" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$@")
}

@test "Satori: a coordinator lets people of his account in, and no further; a limit of some hours ends with them" {
    [ "$(id -u)" = 0 ] || skip "needs root to be several users"
    as nobody remuda version >/dev/null 2>&1 || skip "the programs are not readable for other users here"
    BATS_TEST_TMPDIR=$(mktemp -d /tmp/remuda-satori-XXXXXX)
    chmod 755 "$BATS_TEST_TMPDIR"
    site <<'EOF2'
ClusterName=satori
AccountingStorageEnforce=associations,limits,qos
GresTypes=gpu
NodeName=node[0001-0004] CPUs=8 RealMemory=4000 Gres=gpu:4 Virtual=YES
PartitionName=sched_system_all Nodes=node[0001-0004] Default=YES MaxTime=12:00:00
PartitionName=sched_2nodes Nodes=node[0001-0004] MaxNodes=2 MaxTime=1-0 AllowQos=prio2 QOS=prio2
EOF2
    sacctmgr -i -Q add qos prio2 MaxTRESPerJob=gres/gpu=8 "MaxJobsPerUser=1@mon-sun:0-24"
    sacctmgr -i -Q add qos other
    sacctmgr -i -Q add account mit QOS=normal,prio2
    sacctmgr -i -Q add account harvard
    sacctmgr -i -Q add user games,nobody account=mit QOS=normal
    sacctmgr -i -Q add coordinator account=mit names=games
    scontrol reconfigure
    # he waits to be let in; the coordinator does it, and only he
    run -1 as nobody sbatch -o /dev/null -p sched_2nodes --qos=prio2 --gres=gpu:4 -N2 --wrap true
    [[ "$output" == *"Invalid qos specification"*"you may use: normal"* ]]
    run -1 as nobody sacctmgr -i modify user nobody where account=mit set QOS+=prio2
    run -0 as games sacctmgr -i modify user nobody where account=mit set QOS+=prio2
    one=$(as nobody sbatch --parsable -o /dev/null -p sched_2nodes --qos=prio2 --gres=gpu:4 -N2 --time=20:00:00 --wrap 'sleep 300')
    wait_state "$one" RUNNING
    # no further: what the account has not, other accounts, QOS themselves, levels
    run -1 as games sacctmgr -i modify user nobody where account=mit set QOS+=other
    [[ "$output" == *"a coordinator gives only QOS that the account has"* ]]
    run -1 as games sacctmgr -i add user nobody account=harvard
    run -1 as games sacctmgr -i modify qos prio2 set MaxJobsPerUser=9
    run -1 as games sacctmgr -i modify user nobody set AdminLevel=Operator
    # the limit of these hours holds, says which they are, and ends with them
    two=$(as nobody sbatch --parsable -o /dev/null -p sched_2nodes --qos=prio2 --gres=gpu:4 -N2 --time=20:00:00 --wrap 'sleep 300')
    eventually waits_for "$two" QOSMaxJobsPerUserLimit
    run -0 as nobody remuda why "$two"
    [[ "$output" == *"MaxJobsPerUser=1 at mon-sun 00:00-24:00 of QOS prio2"* ]]
    hour=$(date +%-H)
    sacctmgr -i -Q modify qos prio2 set MaxJobsPerUser=-1
    wait_state "$two" RUNNING
    three=$(as nobody sbatch --parsable -H -o /dev/null -p sched_2nodes --qos=prio2 --gres=gpu:1 -N1 --wrap true)
    sacctmgr -i -Q modify qos prio2 set "MaxJobsPerUser=1@mon-sun:$(((hour + 3) % 24))-$(((hour + 4) % 24))"
    scontrol release "$three"
    scancel "$one"
    wait_state "$three" COMPLETED
    # his jobs are the coordinator's, too, and nobody else's
    run ! as daemon scancel "$two"
    run -0 as games scancel "$two"
    # who is in his accounts alone goes with all he has; who is elsewhere, too, does not
    run -0 as games sacctmgr -i add user daemon account=mit
    sacctmgr -i -Q add user bin account=mit,harvard
    run -0 as games sacctmgr -i delete user daemon
    run -1 as games sacctmgr -i delete user bin
    run -0 sacctmgr -nP show transactions format=actor,action,where user=nobody
    [[ "$output" == *"games|Modify Associations|nobody"* ]]
}
