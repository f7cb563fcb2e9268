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
    [ "$(sort "joined.o$id")" = $'err\nout' ] && [ ! -e "joined.e$id" ]
    submitted -o here -e "$WORK/there" <<< "echo x"
    eventually over "$id"
    [ "$(cat here)" = x ] && [ -e there ]
    submitted -- /bin/echo "two words"
    eventually over "$id"
    [ "$(cat "echo.o$id")" = "two words" ]
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

@test "-W depend with server names, -W block, refusals by name" {
    submitted -h -N first <<< true
    first=$id
    submitted -W depend=afterok:"$first".head <<< true
    [ "$(squeue -h -j "$id" -o %E)" = "afterok:$first(unfulfilled)" ]
    [ "$(qstat "$id" | tail -1 | awk '{print $5}')" = H ]
    qdel "$id" "$first"
    run -7 --separate-stderr qsub -W block=true <<< 'exit 7'
    run -170 --separate-stderr qsub -q nope <<< true
    [ "${stderr_lines[0]}" = "qsub: Unknown queue" ]
    run --separate-stderr qsub -l foo=1 <<< true
    [ "$status" -ne 0 ] && [ "$stderr" = "qsub: Unknown resource Resource_List.foo" ]
    printf '#PBS -N a # note\ntrue\n' > bad.sh
    run -1 --separate-stderr qsub bad.sh
    [[ "$stderr" == "qsub: line 1: directive error: -N a # note" ]]
    run -2 --separate-stderr qsub -y
    [ "${stderr_lines[0]}" = "qsub: unrecognized option '-y'" ]
}

@test "sbatch of a script with #PBS lines alone reads them and says what they became" {
    printf '#!/bin/sh\n#PBS -l nodes=1:ppn=4,walltime=90\n#PBS -N both\ntrue\n' > p.sh
    run -0 --separate-stderr sbatch -H p.sh
    [ "$stderr" = "sbatch: p.sh: read as PBS's, for it has #PBS lines and no #SBATCH: --job-name=both --requeue --time=0:01:30 --nodes=1 --ntasks=4 --ntasks-per-node=4" ]
    [ "$(squeue -h -j "${output##* }" -o '%j %l %C')" = "both 1:30 4" ]
    scancel "${output##* }"
}
