#!/usr/bin/env bats
# The words of LSF: what DTU's and Satori's guides and their users' scripts say (spec/guides.md 0.4 and 0.5, spec/dialects.md), on virtual nodes shaped like theirs.
bats_require_minimum_version 1.5.0
load common
load lsf

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
    ! grep -E "salloc|srun|Starting" kept.err inter.err || false
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

@test "a job that is named by its first command: what is cut of it ends with a whole character" {
    for before in "" a; do
        printf 'echo %s%s\n' "$before" "$(printf 'ä%.0s' {1..400})" > job.sh
        submitted -H < job.sh
        bjobs -UF "$id" | iconv -f UTF-8 -t UTF-8 > said
        grep -q "Job Name <.*ää>" said
        bkill "$id"
    done
}
