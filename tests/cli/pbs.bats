#!/usr/bin/env bats
# The words of PBS: scripts and commands of PBS Pro as its users and their programs have them (spec/dialects.md 5 to 10), on virtual nodes.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<'END'
ClusterName=head
KillWait=1
NodeName=n[1-2] CPUs=16 RealMemory=64000 Gres=gpu:2 Feature=bigmem Virtual=YES
PartitionName=workq Nodes=n[1-2] Default=YES MaxTime=1-00:00:00
PartitionName=long Nodes=n[1-2]
END
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

setup() { cd "$WORK" || exit 1; }

# Runs qsub with these words; its job is $id (a number).
submitted() {
    run -0 --separate-stderr qsub "$@"
    id=${output%%[.[]*}
}
over() { [ "$(qstat -x "$1" | tail -1 | awk '{print $5}')" = F ]; }

@test "qsub FILE: one line with the id, the job it becomes, name.oID and name.eID, the home directory, PBS_* and a nodefile" {
    cat > job.sh <<'END'
#!/bin/bash
#PBS -N example
#PBS -q workq
#PBS -l select=2:ncpus=4:mem=8gb -l place=scatter
#PBS -l walltime=90
#PBS -v GREETING=hello
echo "$PBS_JOBID $PBS_JOBNAME $PBS_QUEUE $PBS_ENVIRONMENT $PBS_O_WORKDIR $NCPUS $GREETING ${UNNAMED-unset}"
pwd
cat "$PBS_NODEFILE"
echo problem >&2
END
    UNNAMED=1 run -0 --separate-stderr qsub job.sh
    [[ "$output" =~ ^[0-9]+\.head$ ]]
    id=${output%.head}
    eventually over "$id"
    [ "$(squeue -h -t all -j "$id" -o '%P %j %C %l %m %D')" = "workq example 8 1:30 8G 2" ]
    [ "$(cat "example.o$id")" = "$id.head example workq PBS_BATCH $WORK 4 hello unset
$(getent passwd "$(id -un)" | cut -d: -f6)
n1
n2" ]
    [ "$(cat "example.e$id")" = problem ]
}

@test "-j oe, -o and -e, -k; standard input, -- command, -S; -z" {
    submitted -N joined -j oe <<< $'echo out\necho err >&2'
    eventually over "$id"
    [ "$(sort "joined.o$id")" = $'err\nout' ]
    [ ! -e "joined.e$id" ]
    submitted -o here -e "$WORK/there" <<< "echo x"
    eventually over "$id"
    [ "$(cat here)" = x ]
    [ -e there ]
    submitted -- /bin/echo "two words"
    eventually over "$id"
    [ "$(cat "STDIN.o$id")" = "two words" ]
    submitted -S /usr/bin/python3 -N py <<< 'print(6 * 7)'
    eventually over "$id"
    [ "$(cat "py.o$id")" = 42 ]
    run -0 --separate-stderr qsub -z -h <<< true
    [ -z "$output" ]
}

@test "an array: ID[].server, files of elements, PBS_ARRAY_INDEX, qstat of the whole and of elements" {
    submitted -N arr -J 0-2 <<< 'echo "$PBS_ARRAY_INDEX $PBS_JOBID $PBS_ARRAY_ID"'
    [ "$output" = "$id[].head" ]
    eventually over "$id[]"
    [ "$(cat "arr.o$id.1")" = "1 $id[1].head $id[].head" ]
    [ "$(qstat -x -t "$id[]" | tail -n +3 | awk '{print $1, $5}')" = "$id[].head F
$id[0].head X
$id[1].head X
$id[2].head X" ]
}

@test "qstat: the layout, -f, -F json, -x, ended and unknown jobs with PBS' status" {
    submitted -h -N waits -l ncpus=2,walltime=1:00:00 <<< true
    run -0 qstat "$id"
    [ "${lines[0]}" = "Job id            Name             User              Time Use S Queue" ]
    [ "${lines[1]}" = "----------------  ---------------- ----------------  -------- - -----" ]
    [[ "${lines[2]}" =~ ^$id\.head\ +waits\ +$(id -un)\ +0\ H\ workq\ *$ ]]
    run -0 qstat -f "$id.head"
    [ "${lines[0]}" = "Job Id: $id.head" ]
    grep -qx "    Job_Name = waits" <<< "$output"
    grep -qx "    job_state = H" <<< "$output"
    grep -qx "    Resource_List.walltime = 01:00:00" <<< "$output"
    run -0 qstat -f -F json "$id"
    [ "$(python3 -c 'import json,sys; j = json.load(sys.stdin)["Jobs"]; k, v = j.popitem(); print(k, v["job_state"], v["Resource_List"]["ncpus"])' <<< "$output")" = "$id.head H 2" ]
    run -0 qrls "$id"
    eventually over "$id"
    run -35 --separate-stderr qstat -f "$id"
    [ "$stderr" = "qstat: $id.head Job has finished, use -x or -H to obtain historical job information" ]
    run -0 qstat -xf "$id"
    grep -qx "    Exit_status = 0" <<< "$output"
    run -153 --separate-stderr qstat 987654
    [ "$stderr" = "qstat: Unknown Job Id 987654.head" ]
    run -153 --separate-stderr qstat -f -F json 987654
    [ "$(python3 -c 'import json,sys; print(json.load(sys.stdin)["Jobs"])' <<< "$output")" = "{}" ]
    qstat -Q | grep -qE '^workq +0 +[0-9]+ yes yes'
}

@test "qdel, qhold, qrls, qsig, qrerun, qmove: silent; what is refused has PBS' status" {
    submitted -N long <<< 'sleep 600'
    wait_state "$id" RUNNING
    run -0 qsig -s CONT "$id"
    [ -z "$output" ]
    run -0 qrerun "$id.head"
    wait_state "$id" RUNNING
    run -0 qdel "$id"
    [ -z "$output" ]
    eventually over "$id"
    run -35 --separate-stderr qdel "$id"
    [ "$stderr" = "qdel: Job has finished $id.head" ]
    run -153 --separate-stderr qdel 987654
    [ "$stderr" = "qdel: Unknown Job Id 987654.head" ]
    submitted <<< true
    submitted -h <<< true
    run -0 qmove long "$id"
    [ "$(squeue -h -j "$id" -o %P)" = long ]
    run -170 --separate-stderr qmove nowhere "$id"
    run -0 qdel "$id"
}

@test "qstat -f whole, -F dsv, -a, -n -1, -s, -p, -w; -B, -Q, -q; an unknown queue" {
    submitted -N whole -l select=2:ncpus=4:mem=1gb -l place=scatter -l walltime=3600 -v A=1,B=two <<< 'sleep 600'
    wait_state "$id" RUNNING
    run -0 qstat -f -1 "$id"
    grep -qx "    exec_host = n1/0\*4+n2/0\*4" <<< "$output"
    grep -qx "    exec_vnode = (n1:ncpus=4:mem=1048576kb)+(n2:ncpus=4:mem=1048576kb)" <<< "$output"
    grep -qx "    Resource_List.select = 2:ncpus=4:mpiprocs=1:mem=1gb" <<< "$output"
    grep -qx "    Variable_List = PBS_O_LOGNAME=$(id -un),PBS_O_HOST=.*,PBS_O_QUEUE=workq,A=1,B=two" <<< "$output"
    grep -qE "^    comment = Job run at .* on \(n1:ncpus=4:mem=1048576kb\)\+\(n2:ncpus=4:mem=1048576kb\)$" <<< "$output"
    [ "$(qstat -f -F json "$id" | python3 -c 'import json,sys; j = list(json.load(sys.stdin)["Jobs"].values())[0]; print(j["Variable_List"]["A"], j["Variable_List"]["B"], j["Resource_List"]["place"])')" = "1 two scatter" ]
    [[ "$(qstat -f -F dsv -D ';' "$id")" == "Job Id: $id.head;Job_Name=whole;"*";job_state=R;"* ]]
    run -0 qstat -n -1 "$id"
    [ "${lines[0]}" = "head: " ]
    [ "${lines[2]}" = "Job ID          Username Queue    Jobname    SessID NDS TSK Memory Time  S Time" ]
    [[ "${lines[4]}" =~ ^$id\.head\ +[^\ ]+\ +workq\ +whole\ +--\ +2\ +8\ 2048mb\ 01:00\ R\ 00:0[0-9]\ n1/0\*4\+n2/0\*4$ ]]
    [ "$(qstat -n "$id" | tail -1)" = "   n1/0*4+n2/0*4" ]
    qstat -s "$id" | tail -1 | grep -qE "^   Job run at "
    [ "$(qstat -w "$id" | sed -n 2p)" = "------------------------------ --------------- ---------------  -------- - ---------------" ]
    qstat -p "$id" | grep -q "  % done S Queue$"
    [ "$(qstat -B -f | head -1)" = "Server: head" ]
    [ "$(qstat -f @head | grep -c '^Job Id: ')" -ge 1 ]
    [ "$(qstat -Q -f -F json workq | python3 -c 'import json,sys; print(json.load(sys.stdin)["Queue"]["workq"]["resources_max"]["walltime"])')" = "24:00:00" ]
    qstat -q | grep -qE "^workq +-- +-- +24:00:00 +-- +1 +[0-9]+ +--  E R$"
    run -170 --separate-stderr qstat -Q nope
    [ "$stderr" = "qstat: Unknown queue nope" ]
    run -170 --separate-stderr qstat nope
    [ "$stderr" = "qstat: Unknown queue nope" ]
    [ -z "$output" ]
    run -170 --separate-stderr qstat nope@head workq # the rest of it is shown
    [ "$stderr" = "qstat: Unknown queue nope" ]
    [[ "$output" == *whole* ]]
    run -0 qstat workq
    [[ "$output" == *whole* ]]
    qdel "$id"
}

@test "qselect, tracejob, qalter, pbsdsh" {
    submitted -N sel -l select=2:ncpus=2 -l place=scatter <<< 'pbsdsh -- sh -c "echo task \$PBS_TASKNUM"; pbsdsh -n 1 -- sh -c "echo on \$SLURMD_NODENAME"; sleep 600'
    local first=$id
    wait_state "$id" RUNNING
    eventually grep -qs "on n2" "sel.o$id"
    [ "$(sort "sel.o$id")" = $'on n2\ntask 1\ntask 2' ]
    submitted -h -N hel -l walltime=90 <<< true
    [ "$(qselect -N sel)" = "$first.head" ]
    [ "$(qselect -s H -u "$(id -un)" | tail -1)" = "$id.head" ]
    [ "$(qselect -N sel -l ncpus.ge.4)" = "$first.head" ]
    [ "$(qselect -N hel -l walltime.lt.0:02:00,ncpus.eq.1)" = "$id.head" ]
    [ -z "$(qselect -N hel -l walltime.gt.0:02:00)" ]
    run -2 --separate-stderr qselect -l frob.eq.1
    [[ "$stderr" == "qselect: illegal -l value: frob.eq.1; "* ]]
    run -0 qalter -N new -l walltime=0:30:00,mem=2gb -W depend=afterok:"$first".head -o there "$id.head"
    [ -z "$output" ]
    run -0 qstat -f -1 "$id"
    grep -qx "    Job_Name = new" <<< "$output"
    grep -qx "    Resource_List.walltime = 00:30:00" <<< "$output"
    grep -qx "    depend = afterok:$first.head@head" <<< "$output"
    grep -qE "^    Output_Path = .*:$WORK/there$" <<< "$output"
    [ "$(squeue -h -j "$id" -o %m)" = 2G ]
    run -2 --separate-stderr qalter -l cput=3 "$id"
    run -2 --separate-stderr qalter -q long "$id"
    [[ "$stderr" == *"-q"*"qmove"* ]]
    run -153 --separate-stderr qalter -N x 987654
    [ "$stderr" = "qalter: Unknown Job Id 987654.head" ]
    qdel "$id" "$first"
    eventually over "$first"
    run -0 tracejob "$first"
    [ "${lines[0]}" = "Job: $first.head" ]
    grep -qE "^[0-9/]+ [0-9:]+  S    Job Queued at request of $(id -un)@.*, job name = sel, queue = workq$" <<< "$output"
    grep -qE "  S    Job Run at request of Scheduler@head on exec_vnode \(n1:ncpus=2.*\)$" <<< "$output"
    grep -qE "  S    Exit_status=271 resources_used.cput=" <<< "$output"
    run -1 --separate-stderr tracejob 987654
    [ "$stderr" = "tracejob: Couldn't find Job Id 987654 in logs" ]
}

@test "pbsnodes: everything, a line each, JSON, out and back" {
    submitted -N on -l ncpus=2 -l walltime=600 <<< 'sleep 600'
    wait_state "$id" RUNNING
    run -0 pbsnodes n1
    [ "${lines[0]}" = n1 ]
    grep -qx "     state = free" <<< "$output"
    grep -qx "     jobs = $id.head/0, $id.head/1" <<< "$output"
    grep -qx "     resources_available.ncpus = 16" <<< "$output"
    grep -qx "     resources_assigned.ncpus = 2" <<< "$output"
    [ "$(pbsnodes -aSj -F json | python3 -c 'import json,sys; n = json.load(sys.stdin)["nodes"]; print(n["n1"]["state"], n["n1"]["ncpus f/t"], n["n1"]["ngpus f/t"], n["n1"]["jobs"], n["n2"]["ncpus f/t"])')" = "free 14/16 2/2 ['$id.head'] 16/16" ]
    pbsnodes -aSj | grep -qE "^n2 +free +0 +0 +0 +62gb/62gb +16/16 +0/0 +2/2 --$"
    run -0 pbsnodes -o -C "being mended" n2
    [ "$(pbsnodes -l | tr -s ' ')" = "n2 offline being mended" ]
    run -0 pbsnodes -C "nearly done" n2
    [ "$(pbsnodes -l | tr -s ' ')" = "n2 offline nearly done" ]
    run -0 pbsnodes -r n2
    [ -z "$(pbsnodes -l)" ]
    run -0 --separate-stderr pbsnodes -C "a new fan" n2
    [ -z "$output$stderr" ]
    pbsnodes n2 | grep -qx "     comment = a new fan"
    run -2 --separate-stderr pbsnodes -C "of all" -a
    [ "$stderr" = "pbsnodes: -o, -r and -C need names of nodes" ]
    run -0 pbsnodes -C "" n2
    [ -z "$(pbsnodes n2 | grep comment)" ]
    run -1 --separate-stderr pbsnodes nowhere
    [ "$stderr" = "pbsnodes: Unknown node nowhere" ]
    qdel "$id"
}

@test "Torque: its columns, -x as XML, C of what ended, pbsnodes" {
    sed -i '1i PbsFlavour=torque' "$REMUDA_STATE/remuda.conf"
    submitted -N tq -l nodes=2:ppn=2 -o "$WORK/tq.out" -j oe <<< 'exit 3'
    eventually sh -c "qstat $id | tail -1 | awk '{print \$5}' | grep -qx C"
    [ "$(qstat "$id" | head -1)" = "Job ID                    Name             User            Time Use S Queue" ]
    [ "$(qstat -f -x "$id" | python3 -c 'import sys, xml.etree.ElementTree as E; j = E.fromstring(sys.stdin.read()).find("Job"); print(*[j.find(k).text for k in ("Job_Id", "job_state", "exit_status", "exec_host")], j.find("Resource_List").find("nodes").text)')" = "$id.head C 3 n1/0-1+n2/0-1 2:ppn=2" ]
    [ "$(qstat -f -F json -x "$id" | python3 -c 'import json,sys; j = json.load(sys.stdin)["Jobs"]; print(*[(k, v["job_state"], v["Exit_status"]) for k, v in j.items()])')" = "('$id.head', 'F', 3)" ]
    [ "$(pbsnodes | grep -c '^     np = 16$')" = 2 ]
    [ "$(qstat -a | sed -n 4p)" = "Job ID                  Username    Queue    Jobname          SessID  NDS   TSK   Memory      Time    S   Time" ] || [ -z "$(qstat -a)" ]
    sed -i 1d "$REMUDA_STATE/remuda.conf"
}

@test "run_count: how often it began, also of one that went back and waits" {
    run_count() { qstat -fx "$id" | sed -n 's/^    run_count = //p'; }
    submitted <<< 'sleep 100'
    eventually eval '[ "$(squeue -h -j '"$id"' -o %T)" = RUNNING ]'
    [ "$(run_count)" = 1 ]
    scontrol requeuehold "$id"
    eventually eval '[ "$(squeue -h -j '"$id"' -o %T)" = PENDING ]'
    [ "$(run_count)" = 1 ]
    scontrol release "$id"
    eventually eval '[ "$(squeue -h -j '"$id"' -o %T)" = RUNNING ]'
    [ "$(run_count)" = 2 ]
    scontrol requeuehold "$id"
    eventually eval '[ "$(squeue -h -j '"$id"' -o %T)" = PENDING ]'
    qdel "$id"
    [ "$(run_count)" = 2 ]
    submitted -h <<< true
    [ -z "$(run_count)" ]
    qdel "$id"
    [ -z "$(run_count)" ]
}

@test "-W depend with server names, -W block, refusals by name" {
    submitted -h -N first <<< true
    first=$id
    submitted -W depend=afterok:"$first".head <<< true
    [ "$(squeue -h -j "$id" -o %E)" = "afterok:$first(unfulfilled)" ]
    [ "$(qstat "$id" | tail -1 | awk '{print $5}')" = H ]
    [[ "$(qstat -f "$id")" == *"    depend = afterok:$first.head@head"$'\n'* ]]
    [[ "$(qstat -f "$id" | tr -d '\n\t')" == *"comment = Job dependency condition not satisfied: waits for job $first to end well"* ]]
    qdel "$id" "$first"
    run -7 --separate-stderr qsub -W block=true <<< 'exit 7'
    run -170 --separate-stderr qsub -q nope <<< true
    [ "${stderr_lines[0]}" = "qsub: Unknown queue" ]
    run --separate-stderr qsub -l foo=1 <<< true
    [ "$status" -ne 0 ]
    [ "$stderr" = "qsub: Unknown resource Resource_List.foo" ]
    printf '#PBS -N a # note\ntrue\n' > bad.sh
    run -1 --separate-stderr qsub bad.sh
    [[ "$stderr" == "qsub: line 1: directive error: -N a # note" ]]
    run -2 --separate-stderr qsub -y
    [ "${stderr_lines[0]}" = "qsub: unrecognized option '-y'" ]
}

@test "-W depend: on and before, counts of Torque, what can never be" {
    submitted -W depend=on:2 -N last <<< true
    last=$id
    [[ "$(qstat -f "$last")" == *"    depend = on:2"$'\n'* ]]
    submitted -W depend=beforeok:"$last".head -h <<< true
    one=$id
    [ "$(squeue -h -j "$last" -o %E)" = "on:1(unfulfilled),afterok:$one(unfulfilled)" ]
    submitted -W depend=beforeany:"$last" <<< false
    two=$id
    eventually over "$two"
    [ "$(squeue -h -j "$last" -o %E)" = "afterok:$one(unfulfilled)" ]
    run --separate-stderr qsub -W depend=before:"$last" <<< true
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"does not wait for (more) jobs that name it"* ]]
    qrls "$one"
    eventually over "$last"
    submitted -h -J 1-3 <<< true
    arr=$id
    submitted -W depend=afterokarray:"$arr"[][1] <<< true
    counted=$id
    submitted -W depend=afternotok:"$arr"[] <<< true
    never=$id
    scontrol release "${arr}_2"
    eventually over "$counted"
    scontrol release "${arr}_1,${arr}_3"
    eventually eval '[ "$(squeue -h -j '"$never"' -o %r)" = DependencyNeverSatisfied ]'
    qdel "$never"
}

@test "sbatch of a script with #PBS lines alone reads them and says what they became" {
    printf '#!/bin/sh\n#PBS -l nodes=1:ppn=4,walltime=90\n#PBS -N both\ntrue\n' > p.sh
    run -0 --separate-stderr sbatch -H p.sh
    [ "$stderr" = "sbatch: p.sh: read as PBS's, for it has #PBS lines and no #SBATCH: --job-name=both --requeue --time=0:01:30 --nodes=1 --ntasks=4 --ntasks-per-node=4" ]
    [ "$(squeue -h -j "${output##* }" -o '%j %l %C')" = "both 1:30 4" ]
    scancel "${output##* }"
}

@test "qsub -W umask=: in a job, too, whose own is another, and of -I" {
    printf 'umask\n' > job.sh
    SLURM_UMASK=0022 submitted -W umask=027 -j oe -o out job.sh
    eventually over "$id"
    [ "$(cat out)" = 0027 ]
    run -0 sh -c "echo umask | SLURM_UMASK=0022 qsub -I -W umask=037"
    [[ "$output" == *0037* ]]
}

@test "qsub -I -S: the shell that is asked for" {
    printf '#!/bin/sh\necho "shell $*"\n' > mine.sh
    chmod +x mine.sh
    run -0 sh -c "qsub -I -S '$WORK/mine.sh@n1,/bin/sh' < /dev/null"
    [[ "$output" == *"shell -l"* ]]
}

@test "names in letters of several bytes: each column has whole ones, and is as wide as ever" {
    name=$(printf 'ä%.0s' {1..40})
    submitted -h -N "$name" -- /bin/true
    for command in "qstat" "qstat -a" "qstat -w" "qstat -f $id" "bjobs" "bjobs -w" "bjobs -l $id" "bjobs -UF $id" "bhist $id" "bjobs -o name:7"; do
        $command > said
        iconv -f UTF-8 -t UTF-8 said > /dev/null || { echo "$command"; cat said; false; }
    done
    [ "$(qstat "$id" | sed -n 3p | PYTHONUTF8=1 python3 -c 'l = input(); w = l.split(); print(len(w[1]), l.index(w[2]))')" = "16 35" ]
    qdel "$id"
    name=$(printf 'ä%.0s' {1..8})
    submitted -h -N "$name" -- /bin/true
    next_column() { "$@" | PYTHONUTF8=1 NAME=$name python3 -c 'import os, sys; name = os.environ["NAME"]; rest = sys.stdin.read().splitlines()[-1].partition(name)[2]; print(len(name) + len(rest) - len(rest.lstrip()))'; }
    [ "$(next_column qstat -w "$id")" = 16 ]
    [ "$(next_column qstat -aw "$id")" = 22 ]
    [ "$(next_column bjobs -w "$id")" = 11 ]
    [ "$(next_column bhist -w "$id")" = 10 ]
    name=$(printf 'ä%.0s' {1..40})
    qdel "$id"
    submitted -h -N "$name" -- /bin/true
    [ "$(bjobs -noheader -o 'name:-6' "$id")" = "*äääää" ]
    qdel "$id"
}
