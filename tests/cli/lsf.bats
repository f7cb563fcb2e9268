#!/usr/bin/env bats
# The words of LSF: what DTU's and Satori's guides and their users' scripts say (spec/guides.md 0.4 and 0.5, spec/dialects.md), on virtual nodes shaped like theirs.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<'END'
ClusterName=dcc
KillWait=1
LsfReservePer=slot
NodeName=n[1-2] CPUs=32 RealMemory=384000 Gres=gpu:v100:2 Feature=gpu32gb,XeonGold6226R Virtual=YES
NodeName=satori[1-2] CPUs=160 RealMemory=1100000 Gres=gpu:4 Virtual=YES
PartitionName=hpc Nodes=n[1-2] Default=YES MaxTime=1-00:00:00
PartitionName=gpuv100 Nodes=n[1-2] MaxTime=1-00:00:00
PartitionName=normal Nodes=satori[1-2]
PartitionName=normalx Nodes=satori[1-2]
END
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

setup() { cd "$WORK" || exit 1; }

on_terminal() { script -qec "$1" /dev/null < /dev/null; }
id_of() { grep -o 'Job <[0-9]*>' <<< "$1" | tr -dc 0-9; }
not() { ! "$@"; }
reported() { grep -qs 'above this job summary' "$1"; }
# Runs bsub with these words; its job is $id.
submitted() {
    run -0 --separate-stderr bsub "$@"
    id=$(id_of "$output")
}

@test "DTU's script of a GPU job, word for word: the job it becomes, its variables, its files, the report" {
    cp "$BATS_TEST_DIRNAME/guides/dtu_gpu.sh" .
    run -0 --separate-stderr bsub < dtu_gpu.sh
    [[ "$output" =~ ^Job\ \<[0-9]+\>\ is\ submitted\ to\ queue\ \<gpuv100\>\.$ ]]
    id=$(id_of "$output")
    eventually reported "gpu_$id.out"
    [ "$(squeue -h -t all -j "$id" -o '%P %j %C %l %m %D')" = "gpuv100 testjob 4 1:00:00 5G 1" ]
    grep -qx "CUDA 0" "gpu_$id.out"
    grep -qx "LSB $id 0 testjob gpuv100 4 n1 n1 n1 n1 n1 4 $WORK" "gpu_$id.out"
    [ "$(grep -cx n1 "gpu_$id.out")" = 4 ]
    grep -qx "to stderr" "gpu_$id.err"
    grep -qx "Subject: Job $id: <testjob> in cluster <dcc> Done" "gpu_$id.out"
    grep -qx "    Total Requested Memory :                     20480.00 MB" "gpu_$id.out"
    # Programs look two lines above it.
    [ "$(grep -B2 '^Resource usage summary:$' "gpu_$id.out" | head -1)" = "Successfully completed." ]
    grep -qx "Read file <gpu_$id.err> for stderr output of this job." "gpu_$id.out"
}

@test "Satori: bsub -Ip and -Is with a terminal, the GPUs, and the status of the shell" {
    run on_terminal 'bsub -W 3:00 -q normal -gpu "num=4" -R "select[type==any]" -Ip bash -c "tty; echo gpus \$CUDA_VISIBLE_DEVICES; exit 4"'
    [ "$status" = 4 ]
    [[ "$output" == *"is submitted to queue <normal>."*"<<Waiting for dispatch ...>>"*"<<Starting on satori1>>"*"/dev/pts/"*"gpus 0,1,2,3"* ]]
    run on_terminal 'bsub -W 3:00 -x -q normalx -gpu "num=4:mode=exclusive_process" -Is /bin/bash -c "echo job \$LSB_JOBID in \$LSB_QUEUE, \$LSB_INTERACTIVE, exclusive \$(squeue -h -j \$LSB_JOBID -o %C)"'
    [ "$status" = 0 ]
    [[ "$output" =~ job\ [0-9]+\ in\ normalx,\ Y,\ exclusive\ 160 ]]
}

@test "bsub -I runs the command once, however many slots there are" {
    run -3 --separate-stderr bsub -I -n 4 'echo once; exit 3'
    [[ "$output" == "Job <"*"> is submitted to default queue <hpc>."$'\n'"once" ]]
    run -255 --separate-stderr bsub -I < /dev/null
    [ "$stderr" = "No command is specified. Job not submitted." ]
}

@test "Satori's directives: -L, -o x.%J, -n 16, span[ptile=4]" {
    printf '%s\n' '#BSUB -L /bin/bash' '#BSUB -J "x"' '#BSUB -o "x_o.%J"' '#BSUB -n 8' '#BSUB -R "span[ptile=4]"' '#BSUB -gpu "num=4"' '#BSUB -q "normal"' \
        'echo "$LSB_MCPU_HOSTS on $SLURM_JOB_NUM_NODES"' > s.lsf
    submitted < s.lsf
    eventually reported "x_o.$id"
    grep -qx "satori1 4 satori2 4 on 2" "x_o.$id"
    grep -qx "Job was executed on host(s) <4\*satori1>" "x_o.$id"
    grep -qx "                            <4\*satori2>, in queue <normal>, as user <$(id -un)> in cluster <dcc> at .*" "x_o.$id"
}

@test "-o continues a file, -oo begins it anew; %I of a job that is no element is 0; both are opened alike" {
    echo before > o.0; echo before > oo
    submitted -o o.%I echo one
    eventually reported o.0
    [ "$(head -2 o.0)" = "before"$'\n'"one" ]
    submitted -oo oo echo two
    eventually reported oo
    [ "$(head -1 oo)" = "two" ]
    echo old | tee mixed.o > mixed.e
    submitted -oo mixed.o -e mixed.e 'echo new; echo new >&2'
    eventually reported mixed.o
    [ "$(head -1 mixed.o)" = new ]
    [ "$(cat mixed.e)" = "old"$'\n'"new" ]
    mkdir -p dir
    submitted -o dir -e dir 'echo out; echo err >&2'
    eventually reported "dir/$id.out"
    [ "$(cat "dir/$id.err")" = err ]
}

@test "an array: indexes, names, %J the array's number, one line from bsub" {
    submitted -J 'arr[1-3:2]%1' -o 'a.%J.%I' 'echo "$LSB_JOBID $LSB_JOBINDEX $LSB_JOBINDEX_END $LSB_JOBNAME"'
    [ "$(wc -l <<< "$output")" = 1 ]
    eventually reported "a.$id.1"
    eventually reported "a.$id.3"
    [ "$(head -1 "a.$id.3")" = "$id 3 3 arr[3]" ]
    grep -qx "Subject: Job $id\[3\]: <arr\[3\]> in cluster <dcc> Done" "a.$id.3"
}

@test "-w: by number, by name, by the beginning of a name; a job that there is not is refused" {
    submitted -H -J first -o /dev/null true
    first=$id
    submitted -w 'done("first")' -o /dev/null true
    [ "$(squeue -h -j "$id" -o %E)" = "afterok:$first(unfulfilled)" ]
    submitted -w "ended(fir*) && started($first)" -o /dev/null true
    [[ "$(squeue -h -j "$id" -o %E)" == "afterany:$first(unfulfilled),after:$first"*"(unfulfilled)" ]]
    run -255 --separate-stderr bsub -w 'done(999)' true
    [ "$stderr" = "999: No matching job found. Job not submitted." ]
    run -255 --separate-stderr bsub -w 'external(1, "x")' true
    [[ "$stderr" == "-w external() is not supported: "* ]]
    scancel "$first" "$id" "$((id - 1))"
}

@test "-w by name: all that have it, or with LSB_JOB_DEP_LAST_SUB=1 the newest alone" {
    submitted -H -J twin -o /dev/null true
    first=$id
    submitted -H -J twin -o /dev/null true
    second=$id
    submitted -w 'done(twin)' -o /dev/null true
    [ "$(squeue -h -j "$id" -o %E)" = "afterok:$first(unfulfilled),afterok:$second(unfulfilled)" ]
    bkill "$id"
    export LSB_JOB_DEP_LAST_SUB=1
    submitted -w 'done(twin)' -o /dev/null true
    [ "$(squeue -h -j "$id" -o %E)" = "afterok:$second(unfulfilled)" ]
    bkill "$id" "$first" "$second"
}

@test "-w: any expression, exit codes, counts of elements, element for element" {
    submitted -H -J "dep_a[1-3]" -o /dev/null true
    arr=$id
    submitted -H -J dep_c -o /dev/null 'exit 5'
    code=$id
    submitted -w "(done($arr) || exit(dep_c,>4)) && !ended(\"dep_a\")" -o /dev/null true
    either=$id
    [ "$(squeue -h -j "$id" -o %E)" = "(afterok:${arr}_*(unfulfilled)?exit:$code>4(unfulfilled)),!afterany:${arr}_*(unfulfilled)" ]
    run -0 bjobs -l "$id"
    flat=$(tr -d '\n ' <<< "$output")
    [[ "$flat" == *"DependencyCondition<(done($arr)||exit($code,>4))&&!ended($arr)>"* ]]
    [[ "$flat" == *"waitsfor(job${arr}toendwell,orjob${code}tofailwithanexitcodeabove4),andjob${arr}nottohaveended;"* ]]
    submitted -w "numdone($arr,*) || numhold($arr,<3)" -o /dev/null true
    counted=$id
    submitted -w "exit($code,3)" -o /dev/null true
    never=$id
    submitted -J "dep_p[1-3]" -w "done(dep_a[*])" -o /dev/null true
    pair=$id
    run -255 --separate-stderr bsub -J "odd[1-2]" -w "done($arr[*])" true
    [[ "$stderr" == *"Dependent arrays do not have the same size"* ]]
    run -0 remuda why "$counted"
    [[ "$output" == *"all elements of job $arr to have ended well, or fewer than 3 elements of job $arr to be held"* ]]
    bresume "$code"
    wait_state "$either" COMPLETED
    eventually eval '[ "$(squeue -h -j '"$never"' -o %r)" = DependencyNeverSatisfied ]'
    run -0 bjobs -l "$never"
    [[ "$(tr -d '\n ' <<< "$output")" == *"Dependencyconditioninvalidorneversatisfied"* ]]
    bresume "$arr[2]"
    wait_state "${pair}_2" COMPLETED
    wait_state "$counted" COMPLETED
    [ "$(squeue -h -r -j "$pair" -t pending -o %K | sort | tr '\n' ' ')" = "1 3 " ]
    scancel "$arr" "$pair" "$never"
}

@test "-K waits and exits as the job did; limits end it as LSF does" {
    run -7 --separate-stderr bsub -K -o k exit 7
    [[ "$stderr" == *"<<Waiting for dispatch ...>>"*"<<Job is finished>>"* ]]
    grep -qx "Exited with exit code 7." k
    submitted -o killed 'sleep 100'
    wait_state "$id" RUNNING
    scancel "$id"
    eventually reported killed
    grep -qx "TERM_OWNER: job killed by owner." killed
    grep -qx "Exited with exit code 130." killed
}

@test "-K says where the job starts; -K and -I of a job that is killed while it waits end with 130, in LSF's words" {
    run -3 --separate-stderr bsub -K -o /dev/null 'exit 3'
    [[ "$stderr" =~ "<<Waiting for dispatch ...>>"$'\n'"<<Starting on "[a-z0-9]*">>"$'\n'"<<Job is finished>>"$ ]]
    bsub -K -b 2030:1:1:1:1 -J kept -o /dev/null true 2> kept.err &
    local pid=$!
    bsub -I -b 2030:1:1:1:1 -J inter true 2> inter.err &
    local second=$!
    both_wait() { [ "$(squeue -h -n kept,inter | wc -l)" = 2 ]; }
    eventually both_wait
    bkill -J kept
    bkill -J inter
    local status=0
    wait "$pid" || status=$?
    [ "$status" = 130 ]
    status=0
    wait "$second" || status=$?
    [ "$status" = 130 ]
    grep -qx "<<Terminated while pending>>" inter.err
    ! grep -E "salloc|srun|Starting" kept.err inter.err
    # a command that fails is said by its exit code alone, as in LSF
    run -7 --separate-stderr bsub -I 'exit 7'
    [[ "$stderr" != *srun* ]]
}

@test "without -o the output has a file, and that is said; BSUB_QUIET and LSB_DEFAULTQUEUE" {
    submitted echo mine
    [[ "$stderr" == "bsub: without -o the output goes to ID.out in the directory of the job" ]]
    eventually reported "$id.out"
    BSUB_QUIET=1 run -0 --separate-stderr bsub -o /dev/null true
    [ -z "$output" ]
    LSB_DEFAULTQUEUE=gpuv100 run -0 --separate-stderr bsub -o /dev/null true
    [[ "$output" == *"is submitted to default queue <gpuv100>." ]]
}

@test "a file that is run as a command: its #BSUB lines are not read, unless the user says so" {
    printf '#!/bin/sh\n#BSUB -n 3 -o f.%%J\necho slots $LSB_DJOB_NUMPROC $1\n' > f.sh
    chmod +x f.sh
    submitted -o plain.%J ./f.sh
    [[ "$stderr" == *"the #BSUB lines of ./f.sh are not read"*"bsub < ./f.sh"* ]]
    eventually reported "plain.$id"
    [ "$(head -1 "plain.$id")" = "slots 1" ]
    LSB_BSUB_PARSE_SCRIPT=Y submitted f.sh word
    eventually reported "f.$id"
    [ "$(head -1 "f.$id")" = "slots 3 word" ]
}

@test "-m: any of these hosts; select of a property, of a host" {
    submitted -m "n2 nowhere" -o m.%J 'hostname >&2; echo $LSB_HOSTS'
    eventually reported "m.$id"
    [ "$(grep -x 'n[12]' "m.$id")" = n2 ]
    submitted -R "select[gpu32gb && hname!='n1']" -o m.%J 'echo $LSB_HOSTS'
    eventually reported "m.$id"
    [ "$(head -1 "m.$id")" = n2 ]
    run -255 --separate-stderr bsub -m nowhere true
    [[ "$stderr" == "nowhere: Bad host name"*" Job not submitted." ]]
}

@test "refusals in LSF's words, with ours behind them" {
    run -255 --separate-stderr bsub < <(printf '#BSUB -n 1\n#BSUB -zz\nls\n') # without a #! line, too, lines are those of the script
    [[ "$stderr" == *"line 2: "*"-zz"* ]]
    run -255 --separate-stderr bsub -q nope -o x true
    [ "${stderr_lines[0]}" = "nope: No such queue. Job not submitted." ]
    run -255 --separate-stderr bsub -W 30:00 -o x true
    [ "${stderr_lines[0]}" = "RUNLIMIT: Cannot exceed queue's hard limit(s). Job not submitted." ]
    run -255 --separate-stderr bsub -n 1000 -o x true
    [ "${stderr_lines[0]}" = "Too many processors requested. Job not submitted." ]
    [[ "${stderr_lines[1]}" == "bsub: "*"1000"* ]]
    run -255 --separate-stderr bsub -n 1 -R "span[hosts=1] affinity[core(64)]" -o x true
    [ "${stderr_lines[0]}" = "Too many processors requested. Job not submitted." ]
    run -255 --separate-stderr bsub -gpu num=9 -o x true
    [ "${stderr_lines[0]}" = "Bad resource requirement syntax. Job not submitted." ]
    run -255 --separate-stderr bsub -R "rusage[mem=9000GB]" -o x true
    [ "${stderr_lines[0]}" = "MEMLIMIT: Cannot exceed queue's hard limit(s). Job not submitted." ]
    run -255 --separate-stderr bsub -app x true
    [ "$stderr" = "-app is not supported: there are no application profiles; write its options out. Job not submitted." ]
    run -255 --separate-stderr bsub -frobnicate true
    [ "$stderr" = "unrecognized option '-frobnicate'. Job not submitted." ]
}

@test "sbatch of a script with #BSUB lines alone reads them and says what they became; of one with both #SBATCH counts" {
    printf '#!/bin/sh\n#BSUB -W 24:00\n#BSUB -n 2 -R "rusage[mem=2GB]"\n#BSUB -J both\ntrue\n' > b.sh
    run -0 --separate-stderr sbatch -H b.sh
    [ "$stderr" = "sbatch: b.sh: read as LSF's, for it has #BSUB lines and no #SBATCH: --job-name=both --time=1440 --mem-per-cpu=2048M --ntasks=2" ]
    [ "$(squeue -h -j "${output##* }" -o '%j %l %C %m')" = "both 1-00:00:00 2 2G" ]
    scancel "${output##* }"
    printf '#!/bin/sh\n#SBATCH -n 3\n#BSUB -n 2\n#BSUB -o x\ntrue\n' > b.sh
    run -0 --separate-stderr sbatch -H b.sh
    [ "$(squeue -h -j "${output##* }" -o '%C')" = 3 ]
    scancel "${output##* }"
    submitted -H < b.sh
    [[ "$stderr" == *"line 2: #SBATCH lines are not read; bsub reads #BSUB"* ]]
    [ "$(squeue -h -j "$id" -o '%C')" = 2 ]
    scancel "$id"
}

# ---- listing and controlling --------------------------------------------------------------------------------------------------------

@test "bjobs: the standard layout, -w, -o with widths and a delimiter, -json, one id that there is not" {
    submitted -H -J a_long_name_of_a_job -P proj -n 2 -W 1:30 -o /dev/null true
    run -0 --separate-stderr bjobs "$id"
    [ "${lines[0]}" = "JOBID   USER    STAT  QUEUE      FROM_HOST   EXEC_HOST   JOB_NAME   SUBMIT_TIME" ]
    [[ "${lines[1]}" =~ ^$id\ +$(id -un | cut -c1-7)\ +PSUSP\ hpc\ .*\ \*_of_a_job\ [A-Z][a-z][a-z]\ [\ 0-9][0-9]\ [0-9][0-9]:[0-9][0-9]$ ]]
    [[ "$(bjobs -w "$id" | tail -1)" == *" -           a_long_name_of_a_job "* ]]
    [ "$(bjobs -o 'jobid stat: queue:-6 name:8 proj slots delimiter="|"' "$id")" = "JOBID|STAT|QUEUE|JOB_NAME|PROJ_NAME|SLOTS
$id|PSUSP|hpc|a_long_name_of_a_job|proj|2" ]
    [ "$(bjobs -noheader -o 'stat: queue:-6 name:8 runtimelimit' "$id")" = "PSUSP    hpc *f_a_job 90.0" ]
    run -0 --separate-stderr bjobs -o "JOBID STAT EXIT_REASON" -json "$id" 987654
    [ "$(python3 -c 'import json,sys; d = json.load(sys.stdin); print(d["COMMAND"], d["JOBS"], d["RECORDS"])' <<< "$output")" = "bjobs 2 [{'JOBID': '$id', 'STAT': 'PSUSP', 'EXIT_REASON': ''}, {'JOBID': '987654', 'ERROR': 'Job <987654> is not found'}]" ]
    run -0 --separate-stderr bjobs 987654
    [ "$stderr" = "Job <987654> is not found" ] && [ -z "$output" ]
    LSB_BJOBS_CONSISTENT_EXIT_CODE=Y run -255 --separate-stderr bjobs 987654
    run -255 --separate-stderr bjobs -o 'jobid frob'
    [ "$stderr" = "bjobs: <frob> in the format string is not a valid field name." ]
    run -255 --separate-stderr bjobs -o "slots:10:G"
    [ "$stderr" = "bjobs: <slots:10:G> in the format string asks for a unit, which only sizes have." ]
    run -255 --separate-stderr bjobs -o "mem:10:Gb mem:10:X"
    [[ "$stderr" == "bjobs: <mem:10:X> in the format string is not a valid unit: "* ]]
    run -0 --separate-stderr bjobs -p
    [ "$stderr" = "No pending job found" ]
    bjobs -l "$id" | grep -q "^Job <$id>, Job Name <a_long_name_of_a_job>, User <$(id -un)>, Project <proj>"
    run -0 bkill "$id"
    [ "$output" = "Job <$id> is being terminated" ]
}

@test "bjobs of arrays: a line for each element; -A, -sum; what ended shows with -a and -d, with its exit code" {
    submitted -H -J 'arr[1-3]' -o /dev/null true
    [ "$(bjobs -noheader -o 'jobid jobindex name' "$id")" = "$id 1 arr[1]
$id 2 arr[2]
$id 3 arr[3]" ]
    [ "$(bjobs -noheader -o name "$id[2]")" = "arr[2]" ]
    [ "$(bjobs -noheader -o name -J 'arr[3]')" = "arr[3]" ]
    [ "$(bjobs -A "$id" | tail -1 | awk '{print $1, $2, $4, $11}')" = "$id arr[1-3] 3 3" ]
    run -0 bkill "$id[2]"
    [ "$output" = "Job <$id[2]> is being terminated" ]
    [ "$(bjobs -noheader -o 'stat exit_code exit_reason' "$id[2]")" = "EXIT 130 TERM_OWNER: job killed by owner" ]
    # What ended counts in the line of the array.
    [ "$(bjobs -A "$id" | tail -1 | awk '{print $4, $8, $11}')" = "3 1 2" ]
    bkill "$id"
    submitted -J coded -o /dev/null exit 5
    wait_state "$id" FAILED
    [ "$(bjobs -d -noheader -o 'stat exit_code' -J coded)" = "EXIT 5" ]
    [ "$(bjobs -noheader -o stat "$id")" = EXIT ]
    run -0 --separate-stderr bjobs -J coded
    [ "$stderr" = "No unfinished job found" ]
}

@test "bjobs of a running job: hosts with slots, the condensed form, time left; bstop, bresume, brequeue, bswitch, btop" {
    submitted -n 6 -R "span[ptile=3]" -W 60 -o /dev/null sleep 6131
    wait_state "$id" RUNNING
    [ "$(bjobs -noheader -o 'stat exec_host first_host nexec_host' "$id")" = "RUN 3*n1:3*n2 n1 2" ]
    [ "$(bjobs "$id" | sed -n 3p)" = "                                             3*n2" ]
    [[ "$(bjobs -noheader -o 'time_left delimiter=","' "$id")" =~ ^(0:5[89]|1:0)\ L$ ]]
    run -0 bstop "$id"
    [ "$output" = "Job <$id> is being stopped" ]
    [ "$(bjobs -noheader -o 'stat suspend_reason' "$id")" = "USUSP The job was suspended by the user" ]
    # By a signal to its processes: it keeps what it holds, for the cluster it runs.
    [ "$(state "$id")" = STOPPED ]
    stopped() { grep -qs '^State:.T' /proc/"$(pgrep -f "^sleep 613[1]$" | head -1)"/status; }
    eventually stopped
    bhosts -w n1 | grep -qE " 3 +0 +0 +3 +0 $"
    run -0 bresume "$id"
    [ "$output" = "Job <$id> is being resumed" ]
    [ "$(bjobs -noheader -o stat "$id")" = RUN ]
    eventually not stopped
    run -0 scontrol suspend "$id"
    [ "$(bjobs -noheader -o stat "$id")" = USUSP ]
    run -0 bresume "$id"
    [ "$(state "$id")" = RUNNING ]
    run -0 brequeue "$id"
    [ "$output" = "Job <$id> is being requeued " ]
    wait_state "$id" RUNNING
    run -0 bkill -s KILL "$id"
    [ "$output" = "Job <$id> is being signaled" ]
    wait_state "$id" CANCELLED
    submitted -H -o /dev/null true
    run -0 bswitch normal "$id"
    [ "$output" = "Job <$id> is switched to queue <normal>" ]
    [ "$(bjobs -noheader -o queue "$id")" = normal ]
    run -0 bresume "$id"
    [ "$output" = "Job <$id> is being resumed" ]
    wait_state "$id" COMPLETED
    run -255 --separate-stderr bkill "$id"
    [ "$stderr" = "Job <$id>: Job has already finished" ]
    run -255 --separate-stderr bkill 987654
    [ "$stderr" = "Job <987654>: No matching job found" ]
    run -255 --separate-stderr bkill
    [[ "$stderr" == "Job ID or one of "* ]]
}

@test "bstop and bresume of an array: to each element what fits it" {
    submitted -J 'many[1-3]%1' -x -m n1 -o /dev/null sleep 700
    wait_state "${id}_1" RUNNING
    run -0 bstop "$id"
    [ "$output" = "Job <$id> is being stopped" ]
    [ "$(bjobs -noheader -o 'jobindex stat' "$id")" = $'1 USUSP\n2 PSUSP\n3 PSUSP' ]
    run -0 bresume "$id[1]"
    [ "$(bjobs -noheader -o 'jobindex stat' "$id")" = $'1 RUN\n2 PSUSP\n3 PSUSP' ]
    run -0 bresume "$id"
    [ "$(bjobs -noheader -o 'jobindex stat' "$id")" = $'1 RUN\n2 PEND\n3 PEND' ]
    bkill "$id"
    wait_state "${id}_1" CANCELLED
}

@test "btop and bbot: before and behind one's others of the queue, by Nice" {
    local ids=()
    submitted -x -q gpuv100 -m n1 -o /dev/null sleep 600
    local first=$id
    submitted -x -q gpuv100 -m n2 -o /dev/null sleep 600
    wait_state "$id" RUNNING
    wait_state "$first" RUNNING
    local second=$id
    for name in one two three; do
        submitted -x -q gpuv100 -m n1 -J "$name" -o /dev/null sleep 600
        ids+=("$id")
    done
    run -0 btop "${ids[2]}"
    [ "$output" = "Job <${ids[2]}> has been moved to position 1 from top." ]
    run -0 bbot "${ids[0]}"
    [ "$output" = "Job <${ids[0]}> has been moved to position 1 from bottom." ]
    bkill "$first"
    wait_state "${ids[2]}" RUNNING
    [ "$(state "${ids[0]}") $(state "${ids[1]}")" = "PENDING PENDING" ]
    bkill "${ids[2]}"
    wait_state "${ids[1]}" RUNNING
    [ "$(state "${ids[0]}")" = PENDING ]
    run -255 --separate-stderr btop "$second"
    [ "$stderr" = "Job <$second>: Job has already started" ]
    bkill -q gpuv100 0
    wait_state "$second" CANCELLED
}

@test "bkill 0 and -J, -q: all of mine that are meant" {
    submitted -H -J one -o /dev/null true
    local one=$id
    submitted -H -J two -q gpuv100 -o /dev/null true
    run -0 bkill -J one 0
    [ "$output" = "Job <$one> is being terminated" ]
    run -0 bkill -q gpuv100
    [ "$output" = "Job <$id> is being terminated" ]
    run -255 --separate-stderr bkill 0
    [ "$stderr" = "No matching job found" ]
}

@test "bqueues, bhosts, lsid" {
    run -0 bqueues
    [ "${lines[0]}" = "QUEUE_NAME      PRIO STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN  SUSP " ]
    grep -qE '^hpc +1  Open:Active +- +- +- +- +0 +0 +0 +0$' <<< "$output"
    bqueues -l hpc | grep -qx "  -- This is the default queue."
    run -255 --separate-stderr bqueues nope
    [ "$stderr" = "nope: No such queue" ]
    run -0 bhosts n1
    [ "${lines[0]}" = "HOST_NAME          STATUS       JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV " ]
    [[ "${lines[1]}" =~ ^n1\ +ok\ +-\ +32\ +0\ +0\ +0\ +0\ +0\ $ ]]
    lsid | grep -qx "My cluster name is dcc"
}

@test "bjobs -o: sizes in the unit that is asked for" {
    submitted -M 1GB -W 5 -o /dev/null sleep 100
    wait_state "$id" RUNNING
    [ "$(bjobs -noheader -o 'memlimit memlimit::M memlimit:-16:gb memlimit:16:K delimiter="|"' "$id")" = "1G|1024.0 Mbytes|1.0 Gbytes|1048576.0 Kbytes" ]
    [ "$(bjobs -noheader -o 'memlimit:-12:G stat' "$id")" = "  1.0 Gbytes RUN" ]
    [ "$(bjobs -o 'memlimit:12:T' -json "$id" | jq -r '.RECORDS[0].MEMLIMIT')" = "0.0 Tbytes" ]
    bkill "$id"
}

@test "bjobs -l: what was asked for, what it holds, memory; -UF does not break lines; max_mem is known" {
    submitted -n 2 -R "span[hosts=1] rusage[mem=1GB]" -J talk -W 60 -Jd "a word" -o out.%J 'sleep 600'
    wait_state "$id" RUNNING
    eventually sh -c "bjobs -noheader -o max_mem $id | grep -q Mbytes"
    run -0 bjobs -UF "$id"
    grep -qx "Job <$id>, Job Name <talk>, User <$(id -un)>, Project <default>, Status <RUN>, Queue <hpc>, Command <sleep 600>, Share group charged </$(id -un)>, Job Description <a word>" <<< "$output"
    grep -qE ": Submitted from host <.*>, CWD <$WORK>, Output File <$WORK/out.$id>, 2 Task\(s\), Requested Resources <rusage\[mem=1024.00/task\] span\[hosts=1\]>;$" <<< "$output"
    grep -qE ": Started 2 Task\(s\) on Host\(s\) <2\*n1>, Allocated 2 Slot\(s\) on Host\(s\) <2\*n1>, Execution Home <.*>, Execution CWD <$WORK>;$" <<< "$output"
    grep -qx " 60.0 min" <<< "$output"
    grep -qx "   2.0 G " <<< "$output"
    grep -qE "^ MAX MEM: [0-9]+ Mbytes$" <<< "$output"
    grep -qx " Combined: rusage\[mem=1024.00/task\] span\[hosts=1\]" <<< "$output"
    [ "$(bjobs -l "$id" | awk 'length > 80')" = "" ]
    bkill "$id"
}

@test "bhist and bacct: how long in which state, what happened, sums, times; -C, -t and what is no time" {
    submitted -H -J past -o /dev/null 'exit 3'
    eventually sh -c "[ \$(bhist $id | tail -1 | awk '{print \$5}') -ge 2 ]"
    bresume "$id"
    wait_state "$id" FAILED
    run -0 bhist "$id"
    [ "${lines[0]}" = "Summary of time in seconds spent in various states:" ]
    [ "${lines[1]}" = "JOBID   USER    JOB_NAME  PEND    PSUSP   RUN     USUSP   SSUSP   UNKWN   TOTAL" ]
    [[ "${lines[2]}" =~ ^$id\ +[^\ ]+\ +past\ +[0-9]+\ +[1-9][0-9]*\ +[0-9]+\ +0\ +0\ +0\ +[1-9][0-9]*\ *$ ]]
    run -0 bhist -l "$id"
    grep -qE ": Exited with exit code 3\. The CPU time used is [0-9.]+ seconds\.$" <<< "$output"
    grep -qE "^Summary of time in seconds spent in various states by  [A-Z][a-z][a-z] [A-Z][a-z][a-z] " <<< "$output"
    bhist -a | grep -qE "^$id "
    bhist -t .-1, -J past | grep -qE "^$id "
    run -255 --separate-stderr bhist -C 2001/1/1,2001/2/1
    [ "$stderr" = "No matching job found" ]
    run -255 --separate-stderr bhist -t yesterday
    [[ "$stderr" == "bhist: yesterday: Illegal time interval: "* ]]
    run -0 bacct "$id"
    grep -qx " Total number of done jobs:       0      Total number of exited jobs:     1" <<< "$output"
    bacct -l "$id" | grep -qx "     CPU_T     WAIT     TURNAROUND   STATUS     HOG_FACTOR    MEM    SWAP"
    bacct -e -J past | grep -qx " Total number of done jobs:       0      Total number of exited jobs:     1"
    bacct -C 2001/1/1,2001/2/1 | grep -qx " Total number of done jobs:       0      Total number of exited jobs:     0"
}

@test "bhist of a requeued job: each of its runs, the first one, too, and the time of all" {
    submitted -n 4 -R "span[ptile=2]" -J again -o /dev/null -r sleep 6141
    wait_state "$id" RUNNING
    sleep 1.1
    run -0 brequeue "$id"
    wait_state "$id" RUNNING
    eventually sh -c "bhist -l $id | grep -q requeued"
    run -0 bhist -UF -l "$id"
    [ "$(grep -c ': Dispatched 4 Task(s) on Host(s) <2\*n1> <2\*n2>,' <<< "$output")" = 2 ]
    [ "$(grep -oE ': Dispatched|: Running with|requeued' <<< "$output" | tr -d '\n ')" = ":Dispatched:Runningwithrequeued:Dispatched:Runningwith" ]
    [ "$(bhist "$id" | awk -v j="$id" '$1 == j { print $6 >= 1 }')" = 1 ]
    bkill "$id"
}

@test "bmod: what is given changes, what stands behind an n goes back, the rest stays" {
    submitted -H -J old -n 4 -R "rusage[mem=1GB] span[ptile=2]" -W 60 -o /dev/null true
    run -0 bmod -W 2:00 -J new "$id"
    [ "$output" = "Parameters of job <$id> are being changed" ]
    [ "$(squeue -h -j "$id" -o '%j %l %C %m')" = "new 2:00:00 4 1G" ]
    run -0 bmod -R "rusage[mem=2GB]" -q gpuv100 -w "done($id)" "$id" && false
    [[ "$output" == *"Job <$id>: "* ]]
    run -0 bmod -R "rusage[mem=2GB]" -q gpuv100 -b 2040:1:2:3:04 "$id"
    [ "$(squeue -h -j "$id" -o '%P %j %l %C %m')" = "gpuv100 new 2:00:00 4 2G" ]
    [ "$(bjobs -noheader -o specified_start_time "$id")" = "Jan  2 03:04" ]
    run -0 bmod -bn -n 3 "$id"
    [ "$(bjobs -noheader -o 'specified_start_time slots' "$id")" = "- 3" ]
    run -255 --separate-stderr bmod "$id"
    [[ "$stderr" == "Job <$id>: No parameter is given "* ]]
    run -255 --separate-stderr bmod -sp 3 "$id"
    [[ "$stderr" == *"-sp"*"btop"* ]]
    bkill "$id"
    run -255 --separate-stderr bmod -W 1 "$id"
    [[ "$stderr" == "Job <$id>: "* ]]
}

@test "bhosts -o, -json, -gpu, -l; lsload; nodestat; bqueues -m and -o" {
    submitted -n 2 -gpu num=1 -o /dev/null sleep 600
    wait_state "$id" RUNNING
    [ "$(bhosts -noheader -o 'hname max ng' n1 satori1)" = "n1 32 2
satori1 160 4" ]
    [ "$(bhosts -o 'name status ng ngpus_avail' -json n1 | python3 -c 'import json,sys; d = json.load(sys.stdin); print(d["HOSTS"], d["RECORDS"])')" = "1 [{'HOST_NAME': 'n1', 'STATUS': 'ok', 'NGPUS': '2', 'NGPUS_AVAIL': '1'}]" ]
    [ "$(bhosts -gpu n1 | awk '{print $1, $2, $(NF-3)}')" = "HOST_NAME GPU_ID NJOBS
n1 0 1
1 v100 0" ]
    bhosts -l n1 | grep -qE "^ok +1.00 +- +32 +2 +2 +0 +0 +0 +-$"
    [ "$(lsload n1 | head -1)" = "HOST_NAME       status  r15s   r1m  r15m   ut    pg  ls    it   tmp   swp   mem" ]
    lsload n1 | grep -qE "^n1 +ok +- +[0-9.]+ "
    [ "$(nodestat -F hpc | awk 'NR > 1 {print $1, $2, $3, $5, $7}')" = "n1 Running 30:32 gpu32gb gpu32gb,XeonGold6226R
n2 Idle 32:32 gpu32gb gpu32gb,XeonGold6226R" ]
    nodestat -g hpc | grep -qE "^n1 .* 1:2"
    run -255 --separate-stderr nodestat nowhere
    [ "$stderr" = "nowhere: No such queue" ]
    [ "$(bqueues -m satori1 -o 'qname pend run' -noheader)" = "normal 0 0
normalx 0 0" ]
    bkill "$id"
}

@test "DTU: bstat, classstat; bpeek" {
    submitted -n 4 -J a_long_name -W 10 -e peek.err -o peek.%J 'echo now; echo trouble >&2; sleep 600'
    wait_state "$id" RUNNING
    eventually grep -q now "peek.$id"
    run -0 bstat "$id"
    [ "${lines[0]}" = "JOBID      USER    QUEUE      JOB_NAME   NALLOC STAT  START_TIME      ELAPSED" ]
    [[ "${lines[1]}" =~ ^$id\ +[^\ ]+\ +hpc\ +\*long_name\ +4\ RUN\ +[A-Z][a-z][a-z]\ [\ 0-9][0-9]\ [0-9][0-9]:[0-9][0-9]\ +0:0[01]:[0-9][0-9]$ ]]
    bstat -C | grep -qE "^$id .*%$"
    run -0 bstat -M "$id"
    [ "${lines[0]}" = "JOBID      USER    QUEUE      JOB_NAME   NALLOC          MEM          MAX   AVG          LIM" ]
    [[ "${lines[1]}" =~ ^$id\ +[^\ ]+\ +hpc\ +\*long_name\ +4\ .*\ -\ +[0-9.]+\ [MG]bytes$ ]]
    run -0 classstat hpc
    [ "${lines[0]}" = "queue                total  used avail  pend j-mig j-abs" ]
    [ "${lines[2]}" = "hpc                     64     4    60     0   0     0  " ]
    run -0 bpeek "$id"
    [ "$output" = $'<< output from stdout >>\nnow\n<< output from stderr >>\ntrouble' ]
    bkill "$id"
    wait_state "$id" CANCELLED
    run -255 --separate-stderr bpeek "$id"
    [ "$stderr" = "Job <$id> : Already finished." ]
}
