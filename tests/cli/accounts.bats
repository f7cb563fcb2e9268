#!/usr/bin/env bats
# sacctmgr: the lines of the guides, adding, changing, deleting, showing, dumping and loading.
bats_require_minimum_version 1.5.0
load common

setup() {
    export REMUDA_STATE="$BATS_TEST_TMPDIR/state"
    unset SLURM_CONF
    mkdir -p "$REMUDA_STATE"
    cat >"$REMUDA_STATE/remuda.conf" <<EOF
ClusterName=wilson
NodeName=v1 CPUs=4 RealMemory=2000 Virtual=YES
PartitionName=main Nodes=v1 Default=YES
EOF
    remuda up -q
    cd "$BATS_TEST_TMPDIR"
}

nothing_runs() {
    [ -z "$(squeue -h -t R,S,CG -o %i)" ]
}

# Jobs outlive their cluster: what a test leaves would sleep on beside those that follow.
teardown() {
    scancel -u "$(id -un)" || true
    eventually nothing_runs || true
    remuda down
}

@test "the lines of the guides" {
    sacctmgr -i -Q add qos opp maxwall=8:00:00 maxsubmitjobsperuser=50
    sacctmgr -i add account wc_test Description="Wilson test" Organization=fnal GrpTRES=cpu=10,mem=100 GrpJobs=7
    sacctmgr -i add account nova
    sacctmgr -i add user alice account=wc_test,nova DefaultAccount=wc_test
    sacctmgr -i modify user alice set qos+=opp defaultqos=opp
    run -0 sacctmgr list user name=alice
    [ "${lines[0]}" = "      User   Def Acct     Admin " ]
    [ "${lines[1]}" = "---------- ---------- --------- " ]
    [ "${lines[2]}" = "     alice    wc_test      None " ]
    run -0 sacctmgr list user WithAssoc Format=User,Account,QOS,DefaultQOS name=alice
    [ "${lines[0]}" = "      User    Account                  QOS   Def QOS " ]
    [ "${lines[2]}" = "     alice       nova           normal,opp       opp " ]
    [ "${lines[3]}" = "     alice    wc_test           normal,opp       opp " ]
    run -0 sacctmgr -nP show users withassoc format=account,qos where user=alice cluster=wilson
    [ "$output" = "nova|normal,opp"$'\n'"wc_test|normal,opp" ]
    run -0 sacctmgr -n -s list user alice format=account%256
    [ "${#lines[0]}" -eq 257 ]
    run -0 sacctmgr show assoc format=User,Account,GrpCPU,GrpMem,GrpJobs,GrpSubmit --noheader --parsable2
    [ "${lines[-1]}" = "alice|wc_test||||" ]
    [[ "$output" == *"|wc_test|10|100|7|"* ]]
    run -0 sacctmgr list Association format=account -P -n user=alice
    [ "$output" = "nova"$'\n'"wc_test" ]
}

@test "a dump in which root is in an account of his own is loaded anew" {
    sacctmgr -i -Q add account top,other
    sacctmgr -i -Q add user root account=top,other defaultaccount=top
    sacctmgr -i -Q modify user root where account=top set MaxJobs=3
    sacctmgr -Q dump wilson file=one.cfg
    run -0 sacctmgr -i load one.cfg clean
    run -0 sacctmgr -i load one.cfg
    sacctmgr -Q dump wilson file=two.cfg
    diff one.cfg two.cfg
}

@test "what is said, and how it ends" {
    run -0 sacctmgr -i add account nova
    [ "${lines[0]}" = " Adding Account(s)" ]
    run -1 sacctmgr -i add account nova
    [ "$output" = " Nothing new added." ]
    run -1 sacctmgr -i add account q parent=nosuch
    [[ "$output" == *" Parent account 'nosuch' doesn't exist on cluster wilson"* ]]
    run -1 sacctmgr -i modify account nosuch set maxjobs=3
    [ "$output" = " Nothing modified" ]
    run -1 sacctmgr -i delete user nosuch
    [ "$output" = " Nothing deleted" ]
    run -1 sacctmgr -i modify account nova set foo=3
    [ "${lines[0]}" = " Unknown option: foo=3" ]
    run -1 sacctmgr show account foo=3
    [ "${lines[0]}" = " Unknown condition: foo=3" ]
    run -1 sacctmgr show user format=foo
    [ "${lines[0]}" = "Unknown field 'foo'" ]
    run -1 sacctmgr foo
    [ "${lines[0]}" = "invalid keyword: foo" ]
    run -1 sacctmgr -i -r add account other
    [ "${lines[0]}" = "Can't run this command in readonly mode." ]
    run -1 sacctmgr -i modify account nova set grptres=gres/unicorn=2
    [[ "$output" == *unicorn* ]]
}

@test "a change is asked about, and nobody's answer is no" {
    run -0 bash -c 'echo n | sacctmgr add account nova'
    [[ "$output" == *"Would you like to commit changes? (You have 30 seconds to decide)"* ]]
    [[ "$output" == *" Changes Discarded"* ]]
    run -0 sacctmgr -nP show account format=account
    [ "$output" = root ]
    run -0 bash -c 'echo y | sacctmgr add account nova'
    run -0 sacctmgr -nP show account format=account
    [ "$output" = nova$'\n'root ]
}

@test "limits are set, shown, inherited and taken back" {
    sacctmgr -i add account nova MaxJobs=5 MaxTRES=cpu=4,mem=10G GrpWall=100
    sacctmgr -i add user alice account=nova MaxWall=1-00:00:00
    run -0 sacctmgr -nP show assoc user=alice format=maxjobs,maxtres,maxwall,grpwall
    [ "$output" = "5|cpu=4,mem=10G|1-00:00:00|" ]
    run -0 sacctmgr -nP show assoc user=alice woplimits format=maxjobs,maxtres,maxwall
    [ "$output" = "||1-00:00:00" ]
    sacctmgr -i modify account nova set MaxJobs=-1 MaxTRES=cpu=-1
    run -0 sacctmgr -nP show assoc account=nova format=user,maxjobs,maxtres,grpwall
    [ "${lines[0]}" = "||mem=10G|01:40:00" ]
}

@test "a file of accounts is loaded, and dumped equal" {
    sacctmgr -i add qos opp,test
    cat >site.cfg <<'EOF'
Cluster - 'wilson':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'top':Description='top: dept`s':Organization='o':Fairshare=2
Account - 'z8':Description='hello':Organization='org2':Fairshare=2
Parent - 'top'
User - 'ann':DefaultAccount='top':Fairshare=1:QOS='-normal'
User - 'ben':DefaultAccount='sub':AdminLevel='Operator':Coordinator='top':Fairshare=2147483647:QOS='+test'
Account - 'sub':Description='sub':Organization='top':DefaultQOS='opp':Fairshare=2:GrpTRESMins=cpu=1000:GrpTRESRunMins=cpu=500:GrpTRES=cpu=8:GrpJobs=9:GrpJobsAccrue=4:GrpSubmitJobs=20:GrpWall=300:MaxTRESMinsPerJob=cpu=100:MaxTRESPerJob=cpu=4,mem=10G,node=2:MaxTRESPerNode=cpu=2:MaxJobs=3:MaxJobsAccrue=2:MaxSubmitJobs=7:MaxWallDurationPerJob=1440:Priority=10:QOS='normal,opp'
Parent - 'sub'
User - 'ann':Partition='debug':DefaultAccount='top':Fairshare=1:MaxJobs=1:QOS='+test'
User - 'ben':DefaultAccount='sub':AdminLevel='Operator':Coordinator='top':Fairshare=2147483647:QOS='+test'
EOF
    run -0 sacctmgr -i load site.cfg
    run -0 sacctmgr -Q dump wilson file=out.cfg
    diff <(grep -v '^#' out.cfg) site.cfg
    run -0 sacctmgr -i load out.cfg clean
    run -0 sacctmgr -Q dump wilson file=again.cfg
    diff out.cfg again.cfg
    run -1 sacctmgr -i load /nonexistent
    [ "${lines[0]}" = ' Unable to read "/nonexistent": No such file or directory' ]
    printf "Cluster - 'wilson'\0\nAccount - 'lost'\n" >half.cfg
    run -1 sacctmgr -i load half.cfg clean
    [[ "$output" == *"half.cfg:1: a zero byte"* ]]
    # What cannot be read, and what is of no cluster, takes nothing away.
    mkdir -p dir.cfg
    run -1 sacctmgr -i load dir.cfg clean
    [ "${lines[0]}" = ' Unable to read "dir.cfg": Is a directory' ]
    mkfifo pipe.cfg
    run -1 timeout 20 sacctmgr -i load pipe.cfg clean
    [[ "$output" == *"pipe.cfg is a named pipe"* ]]
    run -0 sacctmgr -i load <(cat out.cfg) clean
    # By a name that others can foresee nothing is written through their link.
    ln -s "$PWD/elsewhere" wilson.cfg
    run -1 sacctmgr -Q dump wilson
    [[ "$output" == *"File exists"* ]]
    [ ! -e elsewhere ]
    rm wilson.cfg
    run -0 sacctmgr -Q dump wilson
    diff out.cfg wilson.cfg
    for empty in /dev/null comment.cfg; do
        echo '# nothing' >comment.cfg
        run -1 sacctmgr -i load $empty clean
        [[ "$output" == *"$empty has no line Cluster - 'NAME': with clean"* ]]
    done
    run -0 sacctmgr -Q dump wilson file=after.cfg
    diff again.cfg after.cfg
}

@test "a dump brings back what a description holds: TABs, other letters, bytes that are none" {
    sacctmgr -i add account odd description=$'a\tTAB, \u00e4\u202e \xff\\n \e[1m' organization='back\slash'
    sacctmgr -i add user ann account=odd
    sacctmgr -i modify user ann account=odd set comment=$'a\tTAB \xfe'
    before=$(sacctmgr -nP show account odd format=account,description,organization; sacctmgr -nP show assoc user=ann format=user,comment)
    for json in '' --json; do
        run -0 sacctmgr $json -Q dump wilson file=odd.cfg
        run -0 sacctmgr -i load odd.cfg clean
        after=$(sacctmgr -nP show account odd format=account,description,organization; sacctmgr -nP show assoc user=ann format=user,comment)
        [ "$before" = "$after" ]
    done
    sacctmgr -i modify account odd set description=$'two\nlines'
    run -0 sacctmgr -Q dump wilson file=odd.cfg
    grep -q "Description='two lines'" odd.cfg
}

@test "a dump has GPUs by their type as Slurm writes them, without quotes, and is read back" {
    sed -i 's/^NodeName=.*/& Gres=gpu:a100:4/; 1a GresTypes=gpu' "$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    cat >gpus.cfg <<'EOF'
Cluster - 'wilson':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'ai':Description='gres/gpu: a100':Organization='o':Fairshare=1:GrpTRESMins=gres/gpu:a100=9000:GrpTRES=cpu=8,gres/gpu=4,gres/gpu:a100=2:GrpJobs=9:MaxTRESPerJob=gres/gpu:a100=1:MaxJobs=3
Parent - 'ai'
User - 'ann':DefaultAccount='ai':Fairshare=1:MaxTRESPerJob=gres/gpu:a100=1
EOF
    run -0 sacctmgr -i load gpus.cfg
    run -0 sacctmgr -nP show assoc account=ai user= format=grptres,grptresmins,grpjobs,maxtres,maxjobs
    [ "$output" = "cpu=8,gres/gpu=4,gres/gpu:a100=2|gres/gpu:a100=9000|9|gres/gpu:a100=1|3" ]
    run -0 sacctmgr -Q dump wilson file=gpus.out
    diff <(grep -v '^#' gpus.out) gpus.cfg
}

@test "what is of a user or an account itself is changed of those that are named, as in Slurm" {
    sacctmgr -i add account wheia wheib
    sacctmgr -i add user wone account=wheia
    sacctmgr -i add user wtwo account=wheib
    levels() { sacctmgr -n -P show user format=user,admin | grep '^w\(one\|two\)\|^root' | tr '\n' ' '; }
    for condition in account=wheia partition=main; do
        run -1 sacctmgr -i modify user where $condition set adminlevel=operator
        [ "${lines[0]}" = " There was a problem with your 'where' options." ]
    done
    run -1 sacctmgr -i modify account where parent=root set description=x
    [ "$(levels)" = "root|Administrator wone|None wtwo|None " ]
    run -0 sacctmgr -i modify user where defaultaccount=wheib set adminlevel=operator
    [ "$(levels)" = "root|Administrator wone|None wtwo|Operator " ]
    run -0 sacctmgr -i modify user where adminlevel=operator set adminlevel=none
    run -0 sacctmgr -i modify user where name=wone account=wheib set adminlevel=operator
    [ "$(levels)" = "root|Administrator wone|Operator wtwo|None " ]
    run -1 sacctmgr -i modify user where adminlevel=operator set maxjobs=3
    [ -z "$(sacctmgr -n -P show assoc where user=wone,wtwo format=maxjobs | tr -d '\n')" ]
    sacctmgr -i delete user wone,wtwo
    sacctmgr -i delete account wheia,wheib
}

@test "who did what" {
    sacctmgr -i add account nova
    run -0 sacctmgr -nP show transaction format=action,actor,where
    [[ "$output" == *"Add Accounts|$(id -un)|nova"* ]]
    # from when, and until when
    sleep 1.1
    since=$(date +%Y-%m-%dT%H:%M:%S)
    sacctmgr -i add account dune
    run -0 sacctmgr -nP show txn start="$since" format=action,where
    [ "$output" = "Add Accounts|dune"$'\n'"Add Associations|dune" ]
    run -0 sacctmgr -nP show txn end="$since" format=where
    [[ "$output" == *nova* && "$output" != *dune* ]]
    run -0 sacctmgr -nP show txn start=2030-01-01
    [ -z "$output" ]
}

@test "what in the tree does nothing for anybody" {
    run -0 sacctmgr -nP show problem
    [ -z "$output" ]
    sacctmgr -i -Q add account upper
    sacctmgr -i -Q add account lower parent=upper
    sacctmgr -i -Q add account peopled
    sacctmgr -i -Q add user root,no-such-user account=peopled
    run -0 sacctmgr -nP show problem
    [ "$output" = "wilson|lower||Account has no users"$'\n'"||no-such-user|User does not have a uid" ]
    run -0 sacctmgr -nP show problem user=no-such-user format=user
    [ "$output" = "no-such-user" ]
    sacctmgr -i -Q delete account lower
    run -0 sacctmgr -nP show problem account=upper format=account,problem
    [ "${lines[0]}" = "upper|Account has no users" ]
}

@test "one who asks is answered line by line" {
    run -0 bash -c 'printf "add account nova\ny\nlist account format=account\nquit\n" | sacctmgr'
    [[ "$output" == *"      nova "* ]]
}

# Fermilab's cluster, as its guide has it: the QOS opp, regular, test and admin.
wilson() {
    echo "AccountingStorageEnforce=associations,limits,qos" >>"$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    me=$(id -un)
    sacctmgr -i -Q add qos opp Priority=0 MaxWall=8:00:00 MaxSubmitJobsPerUser=5
    sacctmgr -i -Q add qos test Priority=75 MaxWall=4:00:00 MaxJobsPerUser=1 MaxSubmitJobsPerUser=3
    sacctmgr -i -Q add qos admin Priority=100
    sacctmgr -i -Q add account wc_test,nova QOS=opp,test DefaultQOS=opp
    sacctmgr -i -Q add user "$me" account=wc_test,nova DefaultAccount=wc_test
    sacctmgr -i -Q modify user "$me" set DefaultAccount=wc_test
}

reason_of() {
    squeue -h -j "$1" -o %r
}
waits_for() {
    [ "$(reason_of "$1")" = "$2" ]
}

@test "a user has defaults, and what he may not have is refused with what he may" {
    wilson
    id=$(sbatch --parsable --wrap 'sleep 60')
    [ "$(squeue -h -j "$id" -o '%a %q')" = "wc_test opp" ]
    run -1 sbatch -A dune --wrap true
    [[ "$output" == *"Invalid account or account/partition combination specified"* ]]
    [[ "$output" == *"your accounts: wc_test (default)"*nova* ]]
    run -1 sbatch --qos=admin --wrap true
    [[ "$output" == *"Invalid qos specification"* ]]
    [[ "$output" == *"opp,test"* ]]
}

@test "maxrun waits, maxsubmit refuses, and a change holds at once" {
    wilson
    first=$(sbatch --parsable --qos=test --wrap 'sleep 60')
    second=$(sbatch --parsable --qos=test --wrap 'sleep 60')
    eventually waits_for "$second" QOSMaxJobsPerUserLimit
    sbatch --qos=test --wrap true
    run -1 sbatch --qos=test --wrap true
    [[ "$output" == *"Job violates accounting/QOS policy"* ]]
    [[ "$output" == *"MaxSubmitJobsPerUser=3 of QOS test: 3 jobs are there"* ]]
    run -0 remuda why "$second"
    [[ "$output" == *"MaxJobsPerUser=1 of QOS test"* ]]
    kill -9 "$(cat "$REMUDA_STATE/controller.pid")"
    remuda up -q
    eventually waits_for "$second" QOSMaxJobsPerUserLimit
    sacctmgr -i modify qos test set MaxJobsPerUser=2
    wait_state "$second" RUNNING
    scancel "$first"
}

@test "a limit beyond what a job asks keeps it waiting" {
    wilson
    id=$(sbatch --parsable -t 5:00:00 --qos=test --wrap true 2>/dev/null)
    [ "$(reason_of "$id")" = QOSMaxWallDurationPerJobLimit ]
    sacctmgr -i modify qos test set flags=DenyOnLimit
    run -1 sbatch -t 5:00:00 --qos=test --wrap true
    [[ "$output" == *"MaxWallDurationPerJob=04:00:00 of QOS test"* ]]
    scontrol update JobId="$id" TimeLimit=3:00:00
    wait_state "$id" COMPLETED
}

@test "hours of a limit, and whom a QOS may stop: shown, dumped, loaded" {
    sacctmgr -i -Q add qos opp
    sacctmgr -i -Q add qos regular preempt=opp MaxJobsPerUser=10,2@Mon-Fri:8-18 GrpTRES=cpu=4@daily:22-6,cpu=8
    run -0 sacctmgr -nP show qos regular format=name,preempt,maxjobspu,grptres
    [ "$output" = "regular|opp|10,2@mon-fri:08:00-18:00|cpu=8,cpu=4@daily:22:00-06:00" ]
    run -1 sacctmgr -i modify qos regular set MaxSubmitJobsPerUser=2@mon-fri:8-18
    [[ "$output" == *"holds at all hours"* ]]
    run -1 sacctmgr -i modify qos regular set MaxJobsPerUser=2@8-18
    [[ "$output" == *"mon-fri:8-18"* ]]
    sacctmgr -i -Q add account nova MaxJobs=3,1@weekend:0-24
    sacctmgr dump wilson file=w.cfg
    sacctmgr -i -Q delete account nova
    sacctmgr -i load w.cfg
    run -0 sacctmgr -nP show assoc account=nova format=maxjobs
    [ "$output" = "3,1@weekend:00:00-24:00" ]
    sacctmgr -i -Q modify qos regular set MaxJobsPerUser=-1@mon-fri:8-18
    run -0 sacctmgr -nP show qos regular format=maxjobspu
    [ "$output" = "10" ]
}

@test "who gains by age, whose use a limit is, and all of it at once" {
    sacctmgr -i -Q add account lab
    sacctmgr -i -Q add user "$(id -un)" account=lab MaxJobsAccrue=1 GrpTRES=cpu=3 DefaultAccount=lab
    sacctmgr -i modify user where name="$(id -un)" set DefaultAccount=lab
    echo 'AccountingStorageEnforce=limits' >>"$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    first=$(sbatch --parsable -n3 -t 60 -o /dev/null --wrap 'sleep 600')
    eventually eval '[ "$(squeue -h -j $first -o %T)" = RUNNING ]'
    second=$(sbatch --parsable -n2 -t 60 -o /dev/null --wrap 'true')
    third=$(sbatch --parsable -n1 -t 60 -o /dev/null --wrap 'true')
    run -0 scontrol show job "$second"
    [[ "$output" =~ AccrueTime=20 ]]
    run -0 scontrol show job "$third"
    [[ "$output" == *"AccrueTime=Unknown"* ]]
    run -0 remuda why "$second"
    [[ "$output" == *"GrpTRES=cpu=3 of $(id -un) in account lab: 3 of 3 are in use; it is used by job $first of $(id -un); enough is expected to be free at "* ]]
    run -0 scontrol show assoc_mgr flags=assoc accounts=lab users="$(id -un)"
    [ "$(grep -c "Association Records" <<<"$output")" -eq 1 ]
    [[ "$output" == *"GrpTRES=cpu=3(3),mem="* ]]
    [[ "$output" == *"GrpJobs=N(1) GrpJobsAccrue=N(1)"* ]]
    [[ "$output" == *"MaxJobsAccrue=1(1)"* ]]
    scancel "$second"
    eventually eval 'scontrol show job $third | grep -q AccrueTime=20'
    # Of a whole QOS in percents: 50 of 4 CPUs.
    sacctmgr -i -Q add qos half flags=Relative GrpTRES=cpu=50
    sacctmgr -i -Q modify user "$(id -un)" where account=lab set qos+=half GrpTRES=cpu=-1
    eventually eval '[ -z "$(squeue -h -t PD -j $third -o %i)" ]'
    fourth=$(sbatch --parsable -q half -n3 -t 60 -o /dev/null --wrap true 2>said)
    grep -q "it will wait: GrpTRES=cpu=2 of QOS half (50 % of what there is), the job asks for 3" said
    scancel "$first"
    eventually eval '[ "$(squeue -h -j $fourth -o %r)" = QOSGrpCpuLimit ]'
}

@test "show stats: how often the controller was asked, in Slurm's layout; clear stats counts anew" {
    sacctmgr -n show qos >/dev/null
    run -0 sacctmgr show stats
    [[ "${lines[1]}" =~ ^"sacctmgr show stats output at "[A-Z][a-z]{2}\ .*\ \([0-9]+\)$ ]]
    [[ "${lines[2]}" =~ ^"Data since                    "[A-Z][a-z]{2}\ .*\ \([0-9]+\)$ ]]
    [[ "$output" != *rollup* ]]
    [[ "$output" =~ $'\nRemote Procedure Call statistics by message type\n\t'[A-Z_]+\ *\(\ *[0-9]+\)\ count:[0-9]+\ +ave_time:[0-9]+\ +total_time:[0-9]+ ]]
    [[ "$output" =~ $'\nRemote Procedure Call statistics by user\n\t'"root                (         0) count:"([0-9]+) ]]
    before=${BASH_REMATCH[1]}
    [ "$before" -gt 2 ]
    run -0 sacctmgr clear stats
    [ -z "$output" ]
    run -0 sacctmgr show stats
    [[ ! "$output" =~ "root                (         0) count:"([0-9]+) || ${BASH_REMATCH[1]} -lt $before ]]
    run -1 sacctmgr clear jobs
    [ "${lines[0]}" = "No valid entity in list command" ]
}

@test "--json and --yaml: every member of Slurm's data parser, what is limited in its tree, and no table in their place" {
    sacctmgr -i -Q add account physics GrpTRES=cpu=10,mem=100 GrpJobs=7 MaxWall=1-0
    sacctmgr -i -Q add account theory parent=physics
    sacctmgr -i -Q add user alice account=theory MaxJobs=3
    sacctmgr -i -Q add qos urgent GrpTRES=cpu=4 MaxTRESPerUser=cpu=2 flags=DenyOnLimit preempt=normal UsageFactor=1.5 MaxWall=60 GraceTime=30
    sacctmgr -i -Q add coordinator account=physics names=alice
    sacctmgr -i -Q add wckey chess user=alice
    local pair
    for pair in associations:assoc qos:qos accounts:account users:user clusters:cluster TRES:tres wckeys:wckey; do
        kind=$(tr T t <<<"${pair%%:*}" | sed 's/tRES/tres/')
        run -0 bash -c "sacctmgr --json show ${pair##*:} | python3 '$BATS_TEST_DIRNAME/json_keys.py' $kind"
        diff <(sacctmgr --json show "${pair##*:}" | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d[sys.argv[1]])' "${pair%%:*}") \
            <(sacctmgr --yaml show "${pair##*:}" | python3 -c 'import sys, yaml; d = yaml.safe_load(sys.stdin); print(d[sys.argv[1]])' "${pair%%:*}")
    done
    run -0 bash -c "sshare --json -a | python3 '$BATS_TEST_DIRNAME/json_keys.py' shares"
    run -0 bash -c "sacctmgr --json ping | python3 '$BATS_TEST_DIRNAME/json_keys.py' pings"
    # said KIND PATH…: what stands there, in the last of them.
    said() { sacctmgr --json show "${@:3}" | python3 -c 'import json, sys; v = json.load(sys.stdin)[sys.argv[1]][-1]; print(json.dumps(eval(sys.argv[2])))' "$1" "$2"; }
    [ "$(said associations 'v["lineage"], v["is_default"], v["shares_raw"]' assoc users=alice)" = '["/physics/theory/0-alice/", true, 1]' ]
    [ "$(said associations 'v["max"]["jobs"]["active"]["number"], v["max"]["jobs"]["per"]["wall_clock"]["number"]' assoc users=alice)" = '[3, 1440]' ] # inherited
    [ "$(said associations 'v["max"]["tres"]["total"]' assoc account=physics)" = \
        '[{"type": "cpu", "name": "", "id": 1, "count": 10}, {"type": "mem", "name": "", "id": 2, "count": 100}]' ]
    [ "$(said associations 'v["max"]["jobs"]["per"]["count"]' assoc account=physics)" = '{"set": true, "infinite": false, "number": 7}' ]
    [ "$(said qos 'v["flags"], v["preempt"]["list"], v["usage_factor"]["number"], v["limits"]["grace_time"]' qos urgent)" = '[["DENY_LIMIT"], ["normal"], 1.5, 30]' ]
    [ "$(said qos 'v["limits"]["max"]["tres"]["per"]["user"][0]["count"], v["limits"]["max"]["wall_clock"]["per"]["job"]["number"]' qos urgent)" = '[2, 60]' ]
    [ "$(said accounts 'v["coordinators"], v["associations"][0]["account"]' account physics withassoc)" = '[[{"name": "alice", "direct": true}], "physics"]' ]
    [ "$(said users 'v["coordinators"], v["wckeys"][0]["name"], v["default"]["account"]' user alice withcoord)" = \
        '[[{"name": "physics", "direct": true}, {"name": "theory", "direct": true}], "chess", "theory"]' ]
    [ "$(said clusters 'v["name"], v["nodes"], v["rpc_version"]' cluster)" = '["wilson", "v1", 11008]' ]
    for pair in event transaction runawayjobs configuration reservation; do
        run -1 --separate-stderr sacctmgr --json show "$pair"
        [[ -z "$output" && "$stderr" == *"$pair: no --json"*"account, association, cluster"* ]]
    done
    for pair in config topology assoc_mgr; do
        run -1 --separate-stderr scontrol --yaml show "$pair"
        [[ -z "$output" && "$stderr" == *"show $pair: no --json"* ]]
    done
}

@test "modify job: what is said of a job when it is over, and the controller has forgotten it" {
    echo "MinJobAge=2" >>"$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    id=$(sbatch --parsable --comment=first -o /dev/null --wrap true)
    held=$(sbatch --parsable -H -o /dev/null --wrap true)
    forgotten() { ! scontrol show job "$id" >/dev/null 2>&1; }
    eventually forgotten
    at=$(sacct -nP -X -j "$id" -o submit)
    run -0 sacctmgr -i modify job where jobid="$id" set comment=second derivedexitcode=9 extra=x
    [ "$output" = " Modified jobs..."$'\n'"  $id submitted at $at" ]
    [ "$(sacct -nP -X -j "$id" -o comment,extra,derivedexitcode,state)" = "second|x|0:9|COMPLETED" ]
    run -0 sacctmgr -i modify job user=root set admincomment=seen
    [ "${#lines[@]}" -eq 3 ]
    [ "$(sacct -nP -X -j "$id,$held" -o admincomment)" = "seen"$'\n'"seen" ]
    [ "$(squeue -h -j "$held" -O admin_comment)" ]
    run -0 sacctmgr -i modify job jobid="$id" set newwckey=w
    [ "$(sacct -nP -X -j "$id" -o wckey)" = w ]
    run -0 sacctmgr -i modify job oldwckey=w set comment=
    [ "$output" = " Modified jobs..."$'\n'"  $id submitted at $at" ]
    [ "$(sacct -nP -X -j "$id" -o comment)" = "" ]
    run -1 sacctmgr -i modify job jobid="$held" set newwckey=w
    [[ "$output" == *"job $held is not over: scontrol update JobId=$held WCKey="* ]]
    run -1 sacctmgr -i modify job jobid=999 set comment=x
    [ "$output" = " Nothing modified" ]
    [ "$(sacctmgr -nP show transaction action="Modify Job" format=actor,where | sort -u)" = "root|$id"$'\n'"root|$held" ]
    remuda down -q
    remuda up -q
    [ "$(sacct -nP -X -j "$id" -o extra,derivedexitcode,wckey,admincomment)" = "x|0:9|w|seen" ]
}
