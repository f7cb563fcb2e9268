#!/usr/bin/env bats
# The command lines of tools built on Slurm, and what they read from the answers (spec/clients.md section 2, edges in edges.bats). Lines that call sacctmgr
# are not here: it comes with accounts.
bats_require_minimum_version 1.5.0

setup_file() {
    export REMUDA_STATE="$BATS_FILE_TMPDIR/state" WORK="$BATS_FILE_TMPDIR/work"
    mkdir -p "$WORK/log" "$REMUDA_STATE"
    cat > "$REMUDA_STATE/remuda.conf" <<'END'
ClusterName=clients
KillWait=1
NodeName=n[1-3] CPUs=8 RealMemory=16000 Gres=gpu:v100:4 Feature=fast Virtual=YES
PartitionName=main Nodes=ALL Default=YES MaxTime=7-00:00:00
PartitionName=short Nodes=n1 MaxTime=1:00:00
END
    remuda up -q
    cd "$WORK"
    export USER_NAME; USER_NAME=$(id -un)
    export DONE FAILED RUNS WAITS ARRAY
    DONE=$(sbatch --parsable -W -n2 -J uuid-1 -o log/%j.log --comment=rule -A group --wrap 'echo out; srun -n2 true')
    FAILED=$(sbatch --parsable -W -J uuid-2 -o log/%j.log --wrap 'exit 3') || true
    RUNS=$(sbatch --parsable -J runs -o log/%j.log -t 1:00:00 --gres=gpu:v100:2 --mem=1G --wrap 'sleep 300')
    WAITS=$(sbatch --parsable -J waits -d "afterany:$RUNS" -N3 --exclusive -t 2:00:00 -o log/%j.log --wrap 'sleep 300')
    ARRAY=$(sbatch --parsable -J array -d "afterany:$RUNS" -N3 --exclusive --array=0-9%4 -o log/%A_%a.log --wrap true)
    sleep 0.5
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

setup() { cd "$WORK" || exit 1; }

# No byte on stderr and status 0; standard output in $output.
quietly() {
    run --separate-stderr "$@"
    [ "$status" = 0 ] || { echo "$stderr"; return 1; }
    [ -z "$stderr" ] || { echo "$stderr"; return 1; }
}
ended() {
    for _ in $(seq 300); do
        [ -z "$(squeue -h -j "$1,$1" -o %i)" ] && return 0
        sleep 0.1
    done
    return 1
}

# ---- submitters -----------------------------------------------------------------------------------------------------------------------

@test "submitit: directives, srun with files for each task, sacct -o JobID,State,NodeList --parsable2 with -j several times, requeue" {
    mkdir -p sub
    cat > submission.sh <<END
#!/bin/bash
#SBATCH --cpus-per-task=2
#SBATCH --error=$WORK/sub/%j_0_log.err
#SBATCH --gpus-per-node=1
#SBATCH --job-name=submitit
#SBATCH --mem=1GB
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH --open-mode=append
#SBATCH --output=$WORK/sub/%j_0_log.out
#SBATCH --partition=main
#SBATCH --signal=USR2@90
#SBATCH --time=5
#SBATCH --wckey=submitit
srun --unbuffered --output $WORK/sub/%j_%t_log.out --error $WORK/sub/%j_%t_log.err sh -c 'echo \$SLURM_JOB_ID \$SLURM_NTASKS \$SLURM_JOB_NUM_NODES \$SLURM_NODEID \$SLURM_PROCID \$SLURM_LOCALID'
END
    quietly sbatch submission.sh
    [[ "$output" =~ ^"Submitted batch job "([0-9]+)$ ]]
    id=${BASH_REMATCH[1]}
    mv submission.sh "$id.sh"
    ended "$id"
    [ "$(cat "sub/${id}_0_log.out")$(cat "sub/${id}_1_log.out")" = "$id 2 1 0 0 0$id 2 1 0 1 1" ]
    quietly sacct -o JobID,State,NodeList --parsable2 -j "$id" -j "$RUNS" -j "$ARRAY"
    [ "${lines[0]}" = "JobID|State|NodeList" ]
    grep -qx "$id|COMPLETED|n[123]" <<< "$output"
    grep -qx "$RUNS|RUNNING|n1" <<< "$output"
    grep -qx "${ARRAY}_\[0-9%4\]|PENDING|None assigned" <<< "$output"
    quietly scancel "$id"
    quietly scontrol requeue "$RUNS"
    for _ in $(seq 300); do [ "$(squeue -h -j "$RUNS" -o %t)" = R ] && break; scontrol release "$RUNS" 2> /dev/null || true; sleep 0.1; done
    [ "$(squeue -h -j "$RUNS" -o '%t')" = R ]
}

@test "snakemake: sbatch --wrap, sacct by name, squeue by name, config, partitions, steps on stdin" {
    quietly sbatch --parsable --job-name 1d3f --output "log/%j.log" --export=ALL --comment rule_a -p main -t 5 --mem 500 --ntasks=1 --cpus-per-task=2 -D "$WORK" --wrap="srun -n1 --cpu-bind=q --cpus-per-task=2 echo ran"
    id=$output
    ended "$id"
    [ "$(cat "log/$id.log")" = ran ]
    quietly sacct -X --parsable2 --clusters all --noheader --format=JobIdRaw,State --starttime "$(date -d '1 hour ago' +%Y-%m-%dT%H:%M)" --endtime now --name 1d3f
    [ "$output" = "$id|COMPLETED" ]
    quietly squeue '--format=%i|%T' --states=all --noheader --name 1d3f
    [ "$output" = "$id|COMPLETED" ]
    quietly sinfo -o %P
    [ "$output" = "PARTITION"$'\n'"main*"$'\n'"short" ]
    scontrol show config | grep -qE '^MinJobAge +=\s[0-9]+ sec$'
    scontrol show partition | grep -qx 'PartitionName=main'
    quietly sacct -j "$id.batch" --format=Reason --noheader
    quietly sacct -j "$RUNS" -n -X -o 'nodelist%-256'
    [ "$(tr -d ' ' <<< "$output")" = n1 ]
    run sacct -nu "$USER_NAME" -o Account%256 '|' tail -1
    [ "$status" = 1 ]
    [ "$(echo 'echo from stdin' | srun -n1 --cpu-bind=q sh -s)" = "from stdin" ]
    quietly scancel "$id" "$DONE" --clusters=all
}

@test "snakemake 7.21: the last word of sbatch, sacct -P -n, scontrol show jobid -dd, an account without a header" {
    out=$(sbatch -J j -o log/%j.log --export=ALL -p main -t 5 --mem 100 --cpus-per-task=1 -D "$WORK" --wrap='true' 2>&1)
    ended "${out##* }"
    quietly sacct -P -n --format=JobIdRaw,State -j "${out##* }"
    [ "${lines[0]}" = "${out##* }|COMPLETED" ]
    [[ "$(scontrol show jobid -dd "$RUNS")" =~ JobState=RUNNING ]]
    quietly sacct -nu "$USER_NAME" -o Account%20
    [[ "$output" != *Account* ]]
}

@test "nextflow: directives, squeue --noheader -o '%i %t' -t all: two words a line" {
    cat > .command.run <<'END'
#!/bin/bash
#SBATCH -J nf-task
#SBATCH -o "log/.command.log"
#SBATCH --no-requeue
#SBATCH --signal B:USR2@30
#SBATCH -c 2
#SBATCH -t 00:10:00
#SBATCH --mem 100M
#SBATCH -p main
echo task
END
    [[ "$(sbatch .command.run 2>&1)" =~ "Submitted batch job "([0-9]+) ]]
    quietly squeue --noheader -o '%i %t' -t all -p main -u "$USER_NAME"
    ! grep -qvE '^[0-9_%,[:space:]-]*[][0-9_%,-]* (PD|R|CA|CF|CG|CD|F|TO|NF|S|ST|PR|BF)$' <<< "$output" || false
    grep -q "^$RUNS R$" <<< "$output"
    quietly squeue --noheader -o '%i %t' -t all -u "$USER_NAME" --only-job-state
    grep -q "^$FAILED F$" <<< "$output"
}

@test "dask-jobqueue: the first number of sbatch's answer; sinfo -o %C with its header" {
    cat > dask.sh <<'END'
#!/usr/bin/env bash
#SBATCH -J dask-worker
#SBATCH -e log/dask-%J.err
#SBATCH -o log/dask-%J.out
#SBATCH -p main
#SBATCH -n 1
#SBATCH -N 1
#SBATCH --cpus-per-task=2
#SBATCH --mem=954M
#SBATCH -t 00:30:00
echo worker
END
    id=$(sbatch dask.sh | grep -oE '[0-9]+' | head -n 1)
    rm dask.sh
    ended "$id"
    [ "$(cat "log/dask-$id.out")" = worker ]
    quietly sinfo -o %C
    [ "${lines[0]}" = "CPUS(A/I/O/T)" ]
    [[ "${lines[1]}" =~ ^[0-9]+/[0-9]+/[0-9]+/24$ ]]
}

@test "parsl: sacct -X as a probe, two words a line from sacct and squeue, --job for several ids" {
    sacct -X > /dev/null
    quietly sacct -X --noheader --format=jobid,state%20 --job "$DONE,$RUNS"
    [ "$(awk '{print $1, $2}' <<< "$output" | tr '\n' ';')" = "$DONE COMPLETED;$RUNS RUNNING;" ]
    quietly squeue --noheader --format='%i %t' --job "$RUNS,$WAITS"
    [ "$(sort -n <<< "$output" | tr '\n' ';')" = "$RUNS R;$WAITS PD;" ]
    [ "$(salloc -Q -n2 bash -c 'srun --ntasks 2 -l echo x; scontrol show hostname $SLURM_NODELIST; echo nodes $SLURM_JOB_NUM_NODES' | sort | head -n 2 | tr '\n' ';')" = "0: x;1: x;" ]
}

@test "ood_core: script on stdin with --parsable, fifty fields with a separator of its own, sacct with 0x1F, node lists" {
    quietly sbatch -H --no-requeue -D "$WORK" -J ood -o log/ood.out -p main --priority 5 --begin "$(date -d tomorrow +%Y-%m-%dT%H:%M:%S)" -A group -t 00:10:00 --export NONE --parsable <<< '#!/bin/bash
true'
    id=${output%%;*}
    [[ "$id" =~ ^[0-9]+$ ]]
    us=$'\x1f'
    fields=$(for f in Account JobID BatchHost MinCpus NumCPUs MinTmpDisk NumNodes EndTime Dependency Feature ArrayJobID GroupName GroupID OverSubscribe Sockets JobArrayID Cores Name Threads Comment ArrayTaskID TimeLimit TimeLeft MinMemory TimeUsed ReqNodes NodeList Command Contiguous QOS Partition PriorityLong Reason StartTime StateCompact State UserName UserID Reservation SubmitTime WCKey Licenses ExcNodes CoreSpec Nice SchedNodes SCT WorkDir tres-alloc tres-per-node; do printf '%s:%s,' "$f" "$us"; done)
    quietly squeue --all --states=all --noconvert -O "$fields" -j "$RUNS"
    [ "$(sed -n 1p <<< "$output" | tr -cd "$us" | wc -c)" = 50 ]
    [ "$(sed -n 2p <<< "$output" | tr -cd "$us" | wc -c)" = 50 ]
    [[ "$(sed -n 2p <<< "$output" | cut -d "$us" -f 49)" == *mem=1G,* ]]
    [[ "$(sed -n 2p <<< "$output" | cut -d "$us" -f 50)" == *gpu*:2 ]]
    quietly sacct -P --delimiter "$us" -n --units G --allocations -o User,Group,JobId,JobName,Elapsed,ReqMem,AllocCPUS,ReqCPUS,Timelimit,State,TotalCPU,MaxRSS,Partition,Submit,Start,End,ReqTRES -j "$DONE"
    [ "$(awk -F "$us" '{print NF, $3, $10}' <<< "$output")" = "17 $DONE COMPLETED" ]
    [[ "$(sinfo -aho %F/%C)" =~ ^" "?[0-9]+/[0-9]+/[0-9]+/[0-9]+/[0-9]+/[0-9]+/[0-9]+/[0-9]+ ]]
    quietly sinfo -ahNO nodehost:100,gres:512,gresused:512,statelong
    [[ "${lines[0]}" =~ ^n1\ +gpu:v100:4 ]]
    quietly sinfo -ho $'\x1e%c\x1f%n\x1f%f'
    ! scontrol show part -o | tr ' ' '\n' | grep -v '^$' | grep -qvE '^[A-Za-z]+=.+$' || false
    quietly scontrol release "$id"
    quietly scontrol hold "$id"
    quietly scancel "$id"
    run scontrol hold 999999
    [[ "$output" == *"Invalid job id specified"* ]]
}

@test "batchspawner: squeue -h -j ID -o '%T %B'" {
    [[ "$(sbatch --parsable <<< '#!/bin/bash
#SBATCH --output=log/jupyterhub_slurmspawner_%j.log
#SBATCH --job-name=spawner-jupyterhub
#SBATCH --chdir=.
#SBATCH --export=PATH,HOME
#SBATCH --get-user-env=L
#SBATCH --mem=100
srun true' | tail -n 1)" =~ ^[0-9]+ ]]
    [[ "$(squeue -h -j "$RUNS" -o '%T %B')" =~ ^(RUNNING|COMPLETING)\ +n1$ ]]
    [[ "$(squeue -h -j "$WAITS" -o '%T %B')" =~ ^(PENDING|CONFIGURING) ]]
    run squeue -h -j 999999 -o '%T %B'
    [ "$status" = 1 ]
    [ "$output" = "slurm_load_jobs error: Invalid job id specified" ]
}

@test "torchx: heterogeneous roles, squeue --json, sacct's default columns, sinfo --format %P,%m --noconvert" {
    cat > roles.sh <<'END'
#!/bin/bash
#SBATCH --job-name=trainer-0 --requeue --ntasks-per-node=1 --cpus-per-task=1 --mem=100 --time=5 --output=log/torchx.out
#SBATCH hetjob
#SBATCH --job-name=trainer-1 --requeue --ntasks-per-node=1 --cpus-per-task=1 --mem=100 --time=5
set -evx
export PYTHONUNBUFFERED=1
srun --output=log/torchx-0.out --error=log/torchx-0.err --wait=60 --kill-on-bad-exit=1 --export=ALL,ROLE=0 sh -c 'echo $ROLE $SLURM_JOB_NODELIST_HET_GROUP_0' : --output=log/torchx-1.out --error=log/torchx-1.err --wait=60 --kill-on-bad-exit=1 --export=ALL,ROLE=1 sh -c 'echo $ROLE'
END
    quietly sbatch --parsable --chdir="$WORK" roles.sh
    id=$output
    [[ "$id" =~ ^[0-9]+$ ]]
    ended "$id"
    cat log/torchx.out log/torchx-0.err
    [[ "$(cat log/torchx-0.out)" =~ ^"0 n"[123]$ ]]
    [ "$(cat log/torchx-1.out)" = 1 ]
    quietly sacct --parsable2 -j "$id"
    [ "$(cut -d'|' -f1 <<< "${lines[0]}")" = JobID ]
    grep -q "^$id+1|trainer-1|" <<< "$output"
    squeue --json -j "$RUNS" | python3 -c '
import json, sys
job, = json.load(sys.stdin)["jobs"]
assert job["job_state"] == ["RUNNING"], job["job_state"]
assert job["job_resources"]["nodes"]["allocation"][0]["name"] == "n1"
assert set(job["het_job_id"]) == {"set", "infinite", "number"}
assert job["current_working_directory"]'
    sacct --json -S1970-01-01-00:00:01 | python3 -c 'import json, sys; assert len(json.load(sys.stdin)["jobs"]) > 3'
    quietly sinfo --format %P,%m --noconvert
    [ "$output" = "PARTITION,MEMORY"$'\n'"main*,16000"$'\n'"short,16000" ]
    [ "$(sinfo --version)" = "slurm 25.05.0" ]
}

@test "NeMo-Run: hostnames, head node address, overlap and exact steps, JSON of a job, state words" {
    cat > nemo.sh <<'END'
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --time=00:10:00
#SBATCH --gpus-per-node=2
#SBATCH --output=log/nemo.out
#SBATCH --open-mode=append
nodes=( $( scontrol show hostnames $SLURM_JOB_NODELIST ) )
head_node_ip=$(srun --nodes=1 --ntasks=1 -w "${nodes[0]}" hostname --ip-address)
echo "head $head_node_ip"
srun --output log/nemo_%j.out --wait=60 --kill-on-bad-exit=1 --overlap --gpus=0 echo "none [$CUDA_VISIBLE_DEVICES]"
srun --exact -n1 -N1 echo exact
END
    quietly sbatch --requeue --parsable --dependency=afterok:"$DONE" nemo.sh
    id=$output
    ended "$id"
    cat log/nemo.out
    grep -q '^head [0-9.]' log/nemo.out
    grep -qx exact log/nemo.out
    [ "$(grep -c none "log/nemo_$id.out")" = 2 ]
    scontrol show job "$RUNS" --json | python3 -c 'import json, sys; assert json.load(sys.stdin)["jobs"][0]["current_working_directory"]'
    quietly squeue -n runs -h -o %A
    [ "$output" = "$RUNS" ]
    quietly squeue -j "$RUNS" -h -o %T
    [ "$output" = RUNNING ]
    quietly sacct -j "$DONE" --format=State --noheader --parsable2
    [ "$(sort -u <<< "$output")" = COMPLETED ]
    if [ -x "$REMUDA_STAGE/remuda-pmix" ]; then
        run -0 srun --mpi=pmix echo runs
        [[ "$output" == *runs* ]]
    else
        run -1 srun --mpi=pmix true
        [[ "$output" == *"remuda-pmix is not there"* ]]
    fi
}

@test "reframe: the version, epoch times, the literal %%, node and partition records on one line, --test-only" {
    [[ "$(srun --version)" =~ ^slurm(-wlm)?\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
    quietly env SLURM_TIME_FORMAT=%s sacct -S "$(date +%Y-%m-%d)" -P -j "$DONE,$FAILED" -o jobid,state,exitcode,end,nodelist
    grep -qE "^$DONE\|COMPLETED\|0:0\|[0-9]+\|n[123]$" <<< "$output"
    grep -qE "^$FAILED\|FAILED\|3:0\|[0-9]+\|n[123]$" <<< "$output"
    quietly squeue -h -j "$WAITS,$RUNS" -o '%A|%r'
    grep -qx "$RUNS|None" <<< "$output"
    quietly squeue -h -j "$WAITS,$RUNS" -o '%%i|%%T|%%N|%%r'
    [ "$(sort -n <<< "$output" | head -n 1)" = "$RUNS|RUNNING|n1|None" ]
    quietly scontrol -a show -o nodes n1
    [[ "$output" =~ NodeName=n1.*ActiveFeatures=fast.*State=[A-Z+]+.*Partitions=main,short ]]
    [ "$(scontrol -a show -o partitions | wc -l)" = 2 ]
    run srun -p main --test-only true
    [ "$status" = 0 ]
    [[ "$output" =~ "using 1 processors on nodes "n[123]" in partition main" ]]
}

@test "SkyPilot: squeue --me with lower-case states, %b of a node's jobs, sinfo with its own separator, node addresses" {
    quietly squeue --me -h -o "%i" --states running,pending --name runs
    [ "$output" = "$RUNS" ]
    quietly squeue -h --only-job-state --jobs "$RUNS" -o "%T"
    [ "$output" = RUNNING ]
    quietly squeue -h --jobs "$RUNS" --states all -o "%r"
    [ "$output" = None ]
    quietly squeue -h --nodelist n1 -o "%b"
    [[ "$output" == *gpu:v100:2* ]]
    quietly sinfo -h --Node -o '%N\x1f%t\x1f%G\x1f%c\x1f%m\x1f%P'
    [[ "${lines[0]}" == 'n1\x1f'*'\x1fgpu:v100:4\x1f8\x1f16000\x1f'* ]]
    [[ "$(scontrol show node=n1)" =~ NodeAddr=[^\ ]+ ]]
    id=$(sbatch --partition=main -H -J sky <<< $'#!/bin/bash\ntrue' | grep -o '[0-9]*')
    quietly scancel --name sky
    [ -z "$(squeue -h -n sky -o %i)" ]
    [[ "$id" =~ ^[0-9]+$ ]]
}

@test "aiida: fourteen fields separated by ^^^, all of sacct's fields in rows of equal length" {
    quietly env SLURM_TIME_FORMAT=standard squeue --noheader -o '%i^^^%t^^^%r^^^%B^^^%u^^^%D^^^%C^^^%R^^^%P^^^%l^^^%M^^^%S^^^%j^^^%V' "-u$USER_NAME" "--jobs=$RUNS,$RUNS"
    [ "$(awk -F '\\^\\^\\^' '{print NF}' <<< "$output")" = 14 ]
    quietly sacct --format="$(sacct --helpformat | tr -s ' \n' ',' | sed 's/,$//')" --parsable --jobs="$DONE"
    [ "$(awk -F'|' '{print NF}' <<< "$output" | sort -u | wc -l)" = 1 ]
}

@test "cromwell, nipype, ipyparallel, batchtools, JUBE, rslurm, psij" {
    [[ "$(sbatch -J cromwell -D "$WORK" -o log/o -e log/e -t 10 -p main -n 1 -c 1 --mem-per-cpu=100 --wrap "true")" =~ "Submitted batch job "([0-9]+) ]]
    squeue -j "$RUNS" > /dev/null
    run squeue -j 999999
    [ "$status" = 1 ]
    [[ "$output" == *"Invalid job id"* ]]
    quietly scancel -s URG "$RUNS"
    quietly squeue --user="$USER_NAME" --states=PD --noheader --format=%i -r
    grep -qx "${ARRAY}_3" <<< "$output"
    quietly squeue --user="$USER_NAME" --states=R,S,CG --noheader --format=%i -r
    [ "$output" = "$RUNS" ]
    quietly squeue -O JobArrayID,StateCompact,Reason -t all --me
    ! awk 'NF != 3' <<< "$output" | grep -q . || false
    quietly squeue --me -o %i -h -r -t all
    quietly scancel -Q "$DONE"
    [ "$(sbatch -H --array=0-3%2 --dependency=afterany:"$RUNS" -J last --wrap true | awk '{print NF}')" = 4 ]
    scancel -n last
}

@test "toil: squeue with elapsed times, sacct from 1970, scontrol show job, config values" {
    quietly squeue -h --format '%i %t %M'
    ! awk 'NF != 3' <<< "$output" | grep -q . || false
    quietly sacct -n -j "$DONE,$FAILED" --format JobIDRaw,State,ExitCode -P -S 1970-01-01
    grep -qx "$FAILED|FAILED|3:0" <<< "$output"
    scontrol show job | awk 'BEGIN{RS=""} END{exit !(NR > 3)}'
    scontrol show config | grep -qE '^SchedulerTimeSlice +=\s[0-9]+ sec$'
    scontrol show config | grep -qE '^AcctGatherNodeFreq +=\s0 sec$'
}

@test "canu: %F and %i by name, sinfo --exact with its header" {
    quietly squeue -h -o%F -n array
    [ "$(sort -u <<< "$output")" = "$ARRAY" ]
    quietly squeue -h -o%i -n runs
    [ "$output" = "$RUNS" ]
    quietly sinfo --exact -o '%N %D %c %m'
    [ "${lines[0]}" = "NODELIST NODES CPUS MEMORY" ]
    [[ "$(scontrol show config)" =~ MaxArraySize\ +=\ [0-9]+ ]]
}

@test "nordugrid-arc: keyword lines of squeue and sinfo, sacct of a batch step, an emptied environment" {
    [[ "$(env -i PATH="$PATH" REMUDA_STATE="$REMUDA_STATE" ASAN_OPTIONS="${ASAN_OPTIONS-}" sbatch -H -J arc --wrap true)" =~ "Submitted batch job "[0-9]+ ]]
    scancel -n arc
    quietly squeue -a -h -o "%i:%T" -t all -j "$RUNS,$DONE"
    grep -qx "$RUNS:RUNNING" <<< "$output"
    quietly squeue -a -h -t all -o "JobId=%i TimeUsed=%M Partition=%P JobState=%T UserId=%u NodeList=%N" -j "$RUNS"
    [[ "$output" =~ ^"JobId=$RUNS TimeUsed="[0-9:-]+" Partition=main JobState=RUNNING UserId=$USER_NAME NodeList=n1"$ ]]
    quietly sinfo -a -h -o "PartitionName=%P TotalCPUs=%C TotalNodes=%D MaxTime=%l DefTime=%L NodeNames=%N"
    [[ "$output" == *"PartitionName=short TotalCPUs="*" TotalNodes=1 MaxTime=1:00:00 DefTime="*" NodeNames=n1"* ]]
    quietly sacct -j "$FAILED" -o ExitCode -P -n
    [ "${lines[0]}" = "3:0" ]
    quietly sacct -j "$DONE.batch" -o NCPUS,Start,End,UserCPU,SystemCPU -P -n
    [ "$(awk -F'|' '{print NF}' <<< "$output")" = 5 ]
    [ "$(scontrol -o show job "$RUNS" | wc -l)" = 1 ]
    [ "$(scontrol show node --oneliner | wc -l)" = 3 ]
}

# ---- inside jobs ----------------------------------------------------------------------------------------------------------------------

@test "JAX, Lightning, TensorFlow, accelerate: what they read in the environment of a task" {
    cat > frames.sh <<'END'
#!/bin/bash
#SBATCH -N2 --ntasks-per-node=2 --gpus-per-node=2 -J train -o log/frames.out -t 5
srun sh -c 'for v in SLURM_JOB_ID SLURM_STEP_NODELIST SLURM_NTASKS SLURM_PROCID SLURM_LOCALID SLURM_NODEID SLURM_NODELIST SLURM_JOB_NAME SLURM_NNODES SLURM_NTASKS_PER_NODE SLURM_NPROCS SLURM_GPUS_ON_NODE; do eval "printf \"%s \" \"$v=\$$v\""; done; echo'
srun -N1 -n1 sh -c 'scontrol show hostname'
END
    id=$(sbatch --parsable frames.sh)
    ended "$id"
    cat log/frames.out
    [ "$(grep -cE "SLURM_JOB_ID=$id SLURM_STEP_NODELIST=n\[[123,-]+\] SLURM_NTASKS=4 SLURM_PROCID=[0-3] SLURM_LOCALID=[01] SLURM_NODEID=[01] SLURM_NODELIST=n\[[123,-]+\] SLURM_JOB_NAME=train SLURM_NNODES=2 SLURM_NTASKS_PER_NODE=2 SLURM_NPROCS=4 SLURM_GPUS_ON_NODE=2" log/frames.out)" = 4 ]
    [ "$(tail -n 2 log/frames.out | grep -c '^n[123]$')" = 2 ]
}

@test "DeepSpeed, Ray, ml-engineering: srun lines in one allocation, several at once" {
    cat > ray.sh <<'END'
#!/bin/bash
#SBATCH --nodes=2 --tasks-per-node=1 --cpus-per-task=2 --gpus-per-task=1 -o log/ray-%x.%j.out -D .
nodes_array=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
srun --nodes=1 --ntasks=1 -w "${nodes_array[0]}" sh -c 'echo head; sleep 1' &
srun --nodes=1 --ntasks=1 -w "${nodes_array[1]}" sh -c 'echo worker; sleep 1' &
wait
srun -n 2 --nodes 2 --gpus 2 --export=ALL,NCCL_DEBUG=INFO sh -c 'echo $NCCL_DEBUG'
srun --wait=60 --kill-on-bad-exit=1 --jobid $SLURM_JOB_ID bash -c "echo \$SLURM_PROCID of \$SLURM_NPROCS with $SLURM_CPUS_PER_TASK $SLURM_GPUS_PER_TASK"
END
    id=$(sbatch --parsable -J ray ray.sh)
    ended "$id"
    cat "log/ray-ray.$id.out"
    [ "$(sort "log/ray-ray.$id.out" | tr '\n' ';')" = "0 of 2 with 2 1;1 of 2 with 2 1;INFO;INFO;head;worker;" ]
}

# ---- monitors -------------------------------------------------------------------------------------------------------------------------

@test "vpenso's exporter: counts of jobs, CPUs, nodes and GPUs; sshare; every label of sdiag" {
    quietly squeue -a -r -h -o "%A,%T,%r" --states=all
    grep -qx "$RUNS,RUNNING,None" <<< "$output"
    quietly squeue -a -r -h -o " %A|%a|%T|%C"
    [[ "${lines[0]}" == " "* ]]
    [[ "$(sinfo -h -o %C)" =~ ^[0-9]+/[0-9]+/[0-9]+/24$ ]]
    quietly sinfo -h -o %D,%T
    quietly sinfo -h -o%R,%C
    [[ "${lines[0]}" =~ ^main, ]]
    quietly sinfo -h -o "%n %G"
    [ "${lines[0]}" = "n1 gpu:v100:4" ]
    quietly sinfo -h -N -O NodeList,AllocMem,Memory,CPUsState,StateLong
    [ "$(awk 'NF != 5' <<< "$output")" = "" ]
    quietly sacct -a -X --format=Allocgres --state=RUNNING --noheader --parsable2
    quietly sshare -n -P -o account,fairshare
    quietly sdiag
    for label in 'Server thread count' 'Agent queue size' 'DBD Agent queue size' 'Last cycle' 'Mean cycle' 'Cycles per minute' 'Depth Mean' 'Total backfilled jobs (since last slurm start)' 'Total backfilled jobs (since last stats cycle start)' 'Total backfilled heterogeneous job components' 'Remote Procedure Call statistics by message type' 'Remote Procedure Call statistics by user'; do
        grep -qF "$label" <<< "$output" || { echo "no $label"; return 1; }
    done
    [ "$(grep -c 'Last cycle:' <<< "$output")" = 2 ]
}

@test "rivos' exporter: lines that are JSON, silent stderr, sdiag and licences as JSON" {
    quietly squeue --states=all -h -r -o '{"a": "%a", "id": %A, "end_time": "%e", "u": "%u", "state": "%T", "p": "%P", "cpu": %C, "mem": "%m", "array_id": "%K", "r": "%R"}'
    python3 -c 'import json, sys; [json.loads(l) for l in sys.stdin]' <<< "$output"
    quietly sinfo -h -o '{"s": "%T", "mem": %m, "n": "%n", "l": "%O", "p": "%R", "fmem": "%e", "cstate": "%C", "w": %w}'
    python3 -c 'import json, sys; [json.loads(l) for l in sys.stdin]' <<< "$output"
    sdiag --json | python3 -c 'import json, sys; s = json.load(sys.stdin)["statistics"]; s["server_thread_count"], s["rpcs_by_user"], s["rpcs_by_message_type"], s["bf_depth_mean"]'
    scontrol show lic --json | python3 -c 'import json, sys; json.load(sys.stdin)["licenses"]'
}

@test "turm: eighteen fields between its own marks, N/A and None, patterns of paths" {
    m='###turm###'
    format=$(for f in jobid name state username timeused StartTime tres-alloc partition nodelist stdout stderr command statecompact reason ArrayJobID ArrayTaskID NodeList WorkDir; do printf '%s:%s,' "$f" "$m"; done)
    quietly squeue --array --noheader --Format "${format%,}"
    [ "$(awk -F "$m" '{print NF - 1}' <<< "$output" | sort -u)" = 18 ]
}

@test "clustershell, reportseff, jobstats" {
    quietly sinfo -h -o "%N" -p main
    [ "$output" = "n[1-3]" ]
    quietly sinfo -h -N -o "%R" -n n1
    [ "$(sort <<< "$output" | tr '\n' ' ')" = "main short " ]
    quietly squeue -h -j "$RUNS" -o "%N"
    [ "$output" = n1 ]
    quietly squeue -h -o "%i" -t R -w n1
    [ "$output" = "$RUNS" ]
    scontrol -o show reservation | grep -q "No reservations in the system"
    quietly sacct --parsable -n '--delimiter=^|^' --format=AdminComment,AllocCPUS,Elapsed,JobID,JobIDRaw,MaxRSS,NNodes,NTasks,ReqMem,State,Timelimit,TotalCPU "--jobs=$DONE" --starttime="$(date +%m%d%y)"
    [ "$(awk -F '\\^\\|\\^' '{print NF}' <<< "$output" | sort -u)" = 13 ]
    [ -n "$(awk -F '\\^\\|\\^' '{print $12}' <<< "${lines[0]}")" ]
    [ "$(sacct -V)" = "slurm 25.05.0" ]
    quietly sacct -P -X -o jobidraw,start,end,cluster,alloctres,admincomment,user,account,state,nnodes,ncpus,reqmem,qos,partition,timelimitraw,jobname -j "$DONE"
    [ "${lines[0]}" = "JobIDRaw|Start|End|Cluster|AllocTRES|AdminComment|User|Account|State|NNodes|NCPUS|ReqMem|QOS|Partition|TimelimitRaw|JobName" ]
}
