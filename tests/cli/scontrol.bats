#!/usr/bin/env bats
# scontrol: host lists and options need no controller; what is there and what happens to jobs runs against real daemons.
bats_require_minimum_version 1.5.0
load common
load scontrol

# ---- without a controller ----

@test "CpuBind of nodes and partitions, Extra of nodes" {
    node=$(sinfo -h -N -o %N | head -n 1)
    partition=$(sinfo -h -o %R | head -n 1)
    scontrol update NodeName="$node" CpuBind=thread Extra="rack 7"
    [[ "$(scontrol show node "$node")" == *" CpuBind=threads "*"   Extra=rack 7"* ]]
    [ "$(sinfo -h -N -n "$node" -O Extra:.8 | sort -u | tr -d ' ')" = rack7 ]
    scontrol show node "$node" --json | python3 -c 'import json,sys; n=json.load(sys.stdin)["nodes"][0]; assert n["extra"]=="rack 7", n'
    run -1 scontrol update NodeName="$node" CpuBind=knee
    [ "${lines[0]}" = "scontrol: error: Invalid input CpuBind=knee" ]
    [[ "$output" == *"none, socket, ldom, core, thread or off is expected"* ]]
    scontrol update NodeName="$node" CpuBind=off Extra=
    [[ "$(scontrol show node "$node")" != *CpuBind* ]]
    [[ "$(scontrol show node "$node")" != *Extra* ]]
    scontrol update PartitionName="$partition" CpuBind=core
    [[ "$(scontrol show partition "$partition")" == *" CpuBind=cores "* ]]
    scontrol update PartitionName="$partition" CpuBind=off
    [[ "$(scontrol show partition "$partition")" != *CpuBind* ]]
}

@test "hostnames, hostlist, hostlistsorted" {
    export REMUDA_STATE=/nonexistent
    [ "$(scontrol show hostnames 'a[1-3],b' | tr '\n' ' ')" = "a1 a2 a3 b " ]
    [ "$(scontrol show hostname=q[09-10] | tr '\n' ' ')" = "q09 q10 " ]
    [ "$(scontrol show hostlist a1,a2,b,a2)" = "a[1-2],b,a2" ]
    [ "$(scontrol show hostlistsorted a2,a1,b,a2)" = "a[1-2,2],b" ]
    [ "$(SLURM_JOB_NODELIST=z[3-4] scontrol show hostnames | head -n 1)" = z3 ]
    [ "$(env -u SLURM_JOB_NODELIST SLURM_NODELIST=z5 scontrol show hostname)" = z5 ]
    printf 'm1\nm2,m7\n' > names
    [ "$(scontrol show hostlist "$WORK/names")" = "m[1-2,7]" ]
    run -1 env -u SLURM_JOB_NODELIST -u SLURM_NODELIST scontrol show hostlist
    [ "${lines[0]}" = "invalid encode argument" ]
    # A launcher's empty list is no mistake: no hosts.
    run -0 env SLURM_JOB_NODELIST=z1 scontrol show hostnames ''
    [ -z "$output" ]
    run -0 --separate-stderr scontrol show hostlist ''
    [ -z "$output$stderr" ]
    run -1 env -u SLURM_JOB_NODELIST -u SLURM_NODELIST scontrol show hostnames
    [[ "$output" == *"host list is empty"* ]]
    run -1 scontrol show hostnames 'a[1-'
}

@test "mistakes on the command line are named" {
    export REMUDA_STATE=/nonexistent
    run -1 scontrol --frob
    [[ "$output" == *"--frob"* ]]
    run -1 scontrol holdd 1
    [[ "$output" == *"did you mean hold"* ]]
    run -1 scontrol show frob
    [[ "$output" == *"invalid entity:frob"* ]]
    run -1 scontrol show
    [[ "$output" == *"too few arguments for keyword:show"* ]]
    for word in reboot takeover token power; do
        run -1 scontrol "$word" 1
        [[ "$output" == *"$word: not supported yet"* ]]
    done
    run -1 scontrol update frob=1
    [[ "$output" == *"No valid entity in update command"* ]]
    run -1 scontrol update JobId=1 TimeLimt=5
    [[ "$output" == *"did you mean TimeLimit"* ]]
    run -1 scontrol update JobId=1 BurstBuffer=x
    [[ "$output" == *"BurstBuffer: not supported yet"* ]]
    run -1 scontrol update JobId=1
    [[ "$output" == *"No changes specified"* ]]
    run -1 scontrol show node
    [[ "$output" == *"Unable to contact slurm controller"* ]]
    [ "$(scontrol version)" = "slurm 25.05.0" ]
    [ "$(scontrol -V)" = "slurm 25.05.0" ]
}

# ---- show ----

@test "show partition: a first line of its own; in one line every token has a value" {
    run -0 scontrol show partition
    [ "${lines[0]}" = "PartitionName=main" ]
    [[ "$output" != *secret* ]]
    for token in $(scontrol -a show part -o); do
        [[ "$token" == ?*=?* ]] || { echo "token $token"; return 1; }
    done
    [ "$(scontrol show part main -o | field Default)" = YES ]
    [ "$(scontrol show part short -o | field DefaultTime)" = 00:01:00 ]
    [ "$(scontrol show part secret -o | field Hidden)" = YES ]
    [ "$(scontrol -a show -o partitions | wc -l)" = 3 ]
    run -1 scontrol show part nope
    [ "$output" = "Partition nope not found" ]
    [ "$(scontrol show part --json | jq -r '.partitions[0].nodes.total')" = 2 ]
}

@test "show node: one, several, unknown ones, one line, -d, JSON" {
    [ "$(scontrol show node n1 | head -n 1 | cut -d' ' -f1)" = "NodeName=n1" ]
    [ "$(scontrol -a show -o nodes 'n[1-2]' | wc -l)" = 2 ]
    [ "$(scontrol show node=n2 -o -M control | field NodeAddr)" = n2 ]
    scontrol show node n1 -d | grep -q '^   GresUsed=gpu:v100:0(IDX:N/A)$'
    scontrol show node n1 --oneliner | grep -q ' CfgTRES=cpu=4,mem=4000M,billing=4,gres/gpu=2,gres/gpu:v100=2 '
    run -1 scontrol show node n1,nope -o
    [[ "$output" == *"Node nope not found"* && "$output" == *"NodeName=n1 "* ]]
    [ "$(scontrol show nodes --json | jq -r '.nodes[0].state[0]')" = IDLE ]
}

@test "show job: several, and those that are not there" {
    id=$(sbatch --parsable -H -o /dev/null --wrap true) array=$(sbatch --parsable -H -a 1-9 -o /dev/null --wrap true)
    het=$(sbatch --parsable -H -o /dev/null --wrap true : -n1)
    run -1 scontrol -o show job "99999,$id,${array}_3,${array}_12,$het+1,$het+5"
    [[ "$output" == *"JobId=$id "*"ArrayJobId=$array "*"JobId=$((het + 1)) "* ]]
    [ "$(grep -c 'not found' <<< "$output")" = 3 ]
    for word in 99999 "${array}_12" "$het+5"; do
        grep -Fqx "Job $word not found" <<< "$output"
    done
    run -0 scontrol -o show job "$id,${array}_[1,3,5],$het"
    [[ "$output" != *"not found"* ]]
    run -1 --separate-stderr scontrol show job 99999
    [ "${stderr_lines[0]}" = "slurm_load_jobs error: Invalid job id specified" ]
    scancel "$id" "$array" "$het"
}

@test "licences: what one job names twice, or its components together, is counted together" {
    for ask in "-L matlab:3,matlab:2 --wrap true" "-n1 -L matlab:3 --wrap true : -n1 -L matlab:2"; do
        eval "run -1 --separate-stderr sbatch $ask"
        [ "${stderr_lines[0]}" = "sbatch: error: Batch job submission failed: Invalid license specification" ]
        [[ "${stderr_lines[1]}" =~ "5 of the licence matlab were asked for; there are 4 in all" ]]
    done
    id=$(sbatch --parsable -n1 -L matlab:2 -o /dev/null --wrap true : -n1 -L matlab:2)
    eventually eval '[ -z "$(squeue -h -j "$id")" ]'
}

@test "show config: padded keys, units, sorted; show licenses; ping; show reservation" {
    run -0 scontrol show config
    [[ "${lines[0]}" == "Configuration data as of "20* ]]
    grep -q '^MinJobAge               = 300 sec$' <<< "$output"
    grep -Eq '^MaxArraySize            = [0-9]+$' <<< "$output"
    grep -q '^SchedulerTimeSlice      = 30 sec$' <<< "$output"
    grep -q '^AcctGatherNodeFreq      = 0 sec$' <<< "$output"
    grep -Eq '^SlurmctldHost\[0\] +  *= .' <<< "$output"
    [[ "${lines[-1]}" == "Slurmctld(primary) at "*" is UP" ]]
    keys=$(sed -n 's/ *= .*//p' <<< "$output" | tr '[:upper:]' '[:lower:]')
    [ "$keys" = "$(LC_ALL=C sort <<< "$keys")" ]
    [[ "$(scontrol ping)" == "Slurmctld(primary) at "*" is UP" ]]
    [ "$(scontrol show lic -o | head -n 1)" = "LicenseName=matlab Total=4 Used=0 Free=4 Reserved=0 Remote=no" ]
    [ "$(scontrol show lic --json | jq -r '.licenses | length')" = 2 ]
    [ "$(scontrol -o show reservation)" = "No reservations in the system" ]
    run -1 scontrol show reservation R
}

@test "show job: fields, unknown ids, JSON, arrays, details" {
    id=$(sbatch --parsable -J demo --comment "two words" -c 2 -t 10 --gres=gpu:1 -o 'out.%j' --wrap 'sleep 30')
    scontrol wait_job "$id"
    run -0 scontrol show job "$id"
    [ "${lines[0]}" = "JobId=$id JobName=demo" ]
    [[ "$output" == *"JobState=RUNNING Reason=None Dependency=(null)"* ]]
    [[ "$output" == *"   Comment=two words"* ]]
    [ "$(job "$id" TimeLimit)" = 00:10:00 ]
    [ "$(job "$id" StdOut)" = "$WORK/out.$id" ]
    [[ "$(job "$id" AllocTRES)" == cpu=2,*node=1,*gres/gpu* ]]
    [[ "$(scontrol show jobid -dd "$id")" == *"     Nodes=n"*" CPU_IDs="*"GRES=gpu:v100:1(IDX:"* ]]
    [ "$(scontrol show job "$id" --json | jq -r '.jobs[].current_working_directory')" = "$WORK" ]
    [[ "$(scontrol show step "$id")" == "StepId=$id.batch "* ]]
    [ "$(scontrol show step "$id" --json | jq -r '.steps[0].id')" = "$id.batch" ]
    run -1 scontrol show job "$id" 99999
    [ "${lines[0]}" = "too many arguments for keyword:show" ]
    [[ "${lines[1]}" == *"scontrol show job $id,99999" ]]
    scancel "$id"
    run -1 scontrol show job 99999
    [ "$output" = "slurm_load_jobs error: Invalid job id specified" ]
    run -1 scontrol show step 99999
    scontrol show steps --json | jq -e '.steps | type == "array"'
    array=$(sbatch --parsable --hold --array=1-4%2 -o /dev/null --wrap true)
    [ "$(job "$array" ArrayTaskId)" = "1-4%2" ]
    [ "$(job "$array" ArrayTaskThrottle)" = 2 ]
    scancel "$array"
}

@test "jobs in hidden partitions: with -a, or by id" {
    id=$(held -p secret)
    run -0 scontrol show job -o
    [[ "$output" != *"JobId=$id "* ]]
    run -0 scontrol show job -o -a
    [[ "$output" == *"JobId=$id "* ]]
    [ "$(job "$id" Partition)" = secret ]
    scancel "$id"
}

# ---- actions ----

@test "hold, uhold, release; jobname=; several ids, an unknown one among them" {
    a=$(sbatch --parsable --begin=now+1hour -J these -o /dev/null --wrap true)
    b=$(sbatch --parsable --begin=now+1hour -J these -o /dev/null --wrap true)
    scontrol hold jobname=these
    [ "$(job "$a" Reason)$(job "$b" Reason)" = JobHeldUserJobHeldUser ]
    scontrol release "$a,$b"
    [ "$(job "$a" Reason)" != JobHeldUser ]
    scontrol uhold "$a"
    [ "$(job "$a" Priority)" = 0 ]
    scontrol release "$a"
    run -1 scontrol hold "$a" 99999
    [[ "$output" == *"Invalid job id specified"* ]]
    [ "$(job "$a" Reason)" = JobHeldUser ]
    run -1 scontrol hold
    [[ "$output" == *"too few arguments for keyword:hold"* ]]
    scancel "$a" "$b"
}

@test "requeue, Incomplete, requeuehold State=SpecialExit, suspend and resume" {
    a=$(sbatch --parsable --requeue -o /dev/null --wrap 'sleep 30')
    b=$(held)
    scontrol wait_job "$a"
    scontrol suspend "$a"
    [ "$(job "$a" JobState)" = SUSPENDED ]
    scontrol suspend "$a" # it is as was asked
    scontrol resume "$a"
    [ "$(job "$a" JobState)" = RUNNING ]
    scontrol requeue Incomplete "$a,$b"
    for _ in $(seq 300); do
        [ "$(job "$a" Restarts)" = 1 ] && break
        sleep 0.1
    done
    [ "$(job "$a" Restarts)" = 1 ]
    [ "$(job "$b" JobState)" = PENDING ]
    scontrol requeuehold State=SpecialExit "$a"
    wait_state "$a" SPECIAL_EXIT
    run -1 scontrol requeuehold State=frob "$a"
    scancel "$a" "$b"
}

@test "wait_job does not wait for the end, and tells jobs that never ran" {
    id=$(sbatch --parsable -o /dev/null --wrap 'sleep 30')
    timeout 10 scontrol wait_job "$id"
    [ "$(job "$id" JobState)" = RUNNING ]
    scancel "$id"
    held=$(held)
    scancel "$held"
    run -1 scontrol wait_job "$held"
    [ "$output" = "scontrol: Job $held no longer running" ]
    run -1 scontrol wait_job 99999
    [ "$output" = "scontrol: Problem running job 99999" ]
}

@test "write batch_script: to stdout, to the file it names, to another" {
    printf '#!/bin/sh\n#SBATCH --hold\necho hello\n' > script.sh
    id=$(sbatch --parsable script.sh)
    [ "$(scontrol write batch_script "$id" -)" = "$(cat script.sh)" ]
    [ "$(scontrol write batch_script "$id")" = "batch script for job $id written to slurm-$id.sh" ]
    cmp script.sh "slurm-$id.sh"
    scontrol write batch "$id" other.sh
    cmp script.sh other.sh
    run -1 scontrol write batch_script "$id" /nonexistent/x
    run -1 scontrol write batch_script 99999
    scancel "$id"
}
