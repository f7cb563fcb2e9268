#!/usr/bin/env bats
# Rows of spec/dialects.md 1 to 8 of LSF, tried one by one with the commands: what each option becomes, what is said, and what it ends with.
bats_require_minimum_version 1.5.0
load common
load dialect_rows

@test "bsub: what has no effect is said once on stderr, and the job runs without it" {
    local row
    for row in "-We 10" "-sp 5" "-sla gold" "-Lp x" "-a esub" "-v 100" "-R order[ut]" "-R select[r1m<1]" "-gpu num=1:glink=yes"; do
        # shellcheck disable=SC2086 # words
        held $row
        [[ "$stderr" == "bsub: without effect: "* ]] || { echo "$row: $stderr"; false; }
        [ "$(grep -c "without effect" <<< "$stderr")" = 1 ]
    done
    held -n 2
    [ "$stderr" = "" ]
    # Of a job that there will not be nothing else is said.
    run -255 --separate-stderr bsub -H -We 10 -n 5000 true
    [[ "$stderr" != *"without effect"* ]]
    run ! --separate-stderr qsub -h -p 5 -l select=5000:ncpus=16 <<< true
    [[ "$stderr" != *"without effect"* ]]
}

@test "bsub -b and -t say when; -t is the end, whatever -W says" {
    held -b 2030:01:02:10:00
    [ "$stderr" = "Job will be scheduled after Wed Jan  2 10:00:00 2030" ]
    held -t 2030:01:02:10:00 -W 10
    [ "$stderr" = "Job will be terminated by Wed Jan  2 10:00:00 2030" ]
    [ "$(scontrol show job "$id" | grep -o 'Deadline=[^ ]*')" = "Deadline=2030-01-02T10:00:00" ]
    held -b 1:2:3:4:5
    [ "$stderr" = "Job will be scheduled after Thu Jan  1 00:00:01 1970" ]
    queued -a 190001010000 # both have passed, as in Slurm
    qdel "$id"
    run -255 --separate-stderr bsub -t 25:00 true
    [[ "$stderr" == *"[[[year:]month:]day:]hour:minute is needed"* ]]
}

@test "bsub -C -S -D -F are limits of the job, -env ~NAME leaves a variable out, -cwd takes %U and %P" {
    export LEFT_OUT=1 KEPT=2
    run -255 --separate-stderr bhist 987654
    [ "$stderr" = "No matching job found" ]
    run -0 --separate-stderr bsub -K -o /dev/null -cwd "$WORK/a/b/c" 'pwd > here'
    [ "$(cat "$WORK/a/b/c/here")" = "$WORK/a/b/c" ]
    run -0 --separate-stderr bsub -K -o "$WORK/limits.o" -P proj -C 0 -F 1MB -env 'all,~LEFT_OUT' -cwd "$WORK/%U-%P" 'ulimit -c; ulimit -f; echo "${LEFT_OUT-none} $KEPT"; pwd'
    eventually grep -q "^$WORK/" limits.o
    # dash and bash count files in blocks of 512 and 1024 bytes.
    [[ "$(head -4 limits.o | tr '\n' ' ')" =~ ^0\ (1024|2048)\ none\ 2\ $WORK/$(id -un)-proj\ $ ]]
    run -255 --separate-stderr bsub -cwd "$WORK/%J" true
    [[ "$stderr" == "-cwd $WORK/%J: %J and %I are not known before the job is submitted"* ]]
    [ ! -e "$WORK/%J" ]
    run -255 --separate-stderr bsub -p 10 true
    [[ "$stderr" == "-p is not supported: "* ]]
}

@test "select[]: what no option of a job says is asked of each host; bhosts -R and lsload -R say which are so" {
    held -R "select[mem>100GB]"
    [ "$(shown ExcNodes)" = "n[1-2]" ]
    held -R "select[!bigmem && ngpus>3]"
    [ "$(shown ExcNodes)" = "n[1-2]" ]
    held -R "select[power9 || mem<100GB] rusage[mem=10]"
    [ "$(shown ExcNodes)" = "" ]
    held -R "select[bigmem && hname!='n1']"
    [ "$(shown ExcNodes) $(shown Feature)" = "n1 bigmem" ]
    run -255 --separate-stderr bsub -R "select[mem>9TB]" true
    [[ "$stderr" == *"none of the 3 hosts is so; bhosts -R shows which are. Job not submitted." ]]
    run -255 --separate-stderr bsub -R "select[frob!=1 || mem>1]" true
    [[ "$stderr" == *'"frob": no such resource'* ]]
    [ "$(bhosts -noheader -o hname -R "select[mem>100GB || hname==n2] order[ut]" | tr '\n' ' ')" = "n2 s1 " ]
    [ "$(lsload -noheader -R '!bigmem' | awk '{print $1}')" = s1 ]
    run -255 --separate-stderr bhosts -R "mem>9TB"
    [ "$stderr" = "No host is so: select[(mem>9TB)]" ]
    run -255 --separate-stderr bhosts -R "select[mem>"
    [[ "$stderr" == *"a bracket is not closed"* ]]
}

@test "job groups: bsub -g, bjobs -g, bkill -g; a group has those below it" {
    held -g /g/one
    local one=$id
    held -g /g/two
    local two=$id
    held -g /gg
    [ "$(bjobs -noheader -o jobid -g /g | tr '\n' ' ')" = "$one $two " ]
    [ "$(bjobs -noheader -o 'jobid job_group' -g /g/two)" = "$two /g/two" ]
    [ "$(bjobs -noheader -o jobid -g / | tr '\n' ' ')" = "$one $two $id " ]
    run -0 --separate-stderr bjobs -app none
    [ "$stderr" = "No unfinished job found" ]
    run -0 bkill -g /g 0
    [ "$output" = "Job <$one> is being terminated"$'\n'"Job <$two> is being terminated" ]
    wait_state "$two" CANCELLED
    [ "$(bjobs -noheader -o stat "$id")" = PSUSP ]
}

@test "what waits is PEND in every listing, what is held PSUSP" {
    run -0 --separate-stderr bsub -J 'w[1-3]%1' -o /dev/null sleep 100
    id=$(grep -o 'Job <[0-9]*>' <<< "$output" | tr -dc 0-9)
    eventually has_state "$id" RUNNING
    [ "$(bjobs -noheader -o stat "$id" | tr '\n' ' ')" = "RUN PEND PEND " ]
    [ "$(bjobs -a -J 'w*' -noheader -o stat | tr '\n' ' ')" = "RUN PEND PEND " ]
    [ "$(bjobs -A "$id" | awk 'NR == 2 {print $4, $5, $7, $11}')" = "3 2 1 0" ]
    bkill "$id"
}

@test "bqueues -u: the queues a user may use; showstart: when what waits is planned to start" {
    if [ "$(id -u)" = 0 ]; then
        [ "$(bqueues -u nobody -noheader | awk '{print $1}' | tr '\n' ' ')" = "workq endless " ]
    fi
    bqueues -u "$(id -un)" -noheader | grep -q '^workq '
    [ "$(bqueues -u all -noheader | wc -l)" = 3 ]
    run -255 --separate-stderr bqueues -u nobody-of-that-name
    [ "$stderr" = "nobody-of-that-name: No such user" ]
    held -J later
    run -0 --separate-stderr showstart "$id"
    [ "${lines[0]}" = "JOBID      USER    QUEUE      SUBMIT_TIME  ESTIMATED_SIM_START_T JOB_NAME" ]
    [[ "${lines[1]}" =~ ^$id\ .*\ workq\ .*\ later$ ]]
    run -0 --separate-stderr showstart 987654
    [ "$stderr" = "Job <987654> is not found" ]
}

@test "bmod of a job of parts: all of them together or none; -R says each of them again, or what all have" {
    held -n 6 -R "2*{select[bigmem]}+4*{rusage[mem=100]}" -W 60
    parts() { squeue -h -j "$id" -o '%C %l %m %f %j' | sort | tr '\n' ';'; }
    bmod -W 30 -J renamed "$id"
    [ "$(parts)" = "2 30:00 0 bigmem renamed;4 30:00 100M (null) renamed;" ]
    bmod -R "4*{select[power9]}+2*{rusage[mem=70]}" "$id"
    [ "$(parts)" = "2 30:00 70M (null) renamed;4 30:00 0 power9 renamed;" ]
    run -255 --separate-stderr bmod -R "3*{select[bigmem]}+2000*{rusage[mem=70]}" "$id"
    [[ "$stderr" == *"part 2: "*"2000 tasks"* ]]
    [ "$(parts)" = "2 30:00 70M (null) renamed;4 30:00 0 power9 renamed;" ]
    run -255 --separate-stderr bmod -R "3*{select[bigmem]}" "$id"
    [[ "$stderr" == *"-R with {} is not supported: the job has 2 parts, and so many stay"* ]]
    bmod -R "rusage[mem=33]" "$id"
    [ "$(parts)" = "2 30:00 33M (null) renamed;4 30:00 33M power9 renamed;" ]
    held true
    first=$id
    held -n 2 -R "1*{select[bigmem]}+1*{select[power9]}"
    bmod -w "done($first)" "$id"
    [ "$(squeue -h -j "$id" -o %E | sort | tr '\n' ';')" = "(null);afterok:${first}(unfulfilled);" ] # the first waits for them all
    bmod -wn "$id"
    [ "$(squeue -h -j "$id" -o %E | sort -u)" = "(null)" ]
    bkill "$first" "$id"
}

@test "bsub -R of parts that differ is one job: its hosts in LSB_MCPU_HOSTS, the report and every listing; bsub -I and qsub -I of it" {
    run -0 --separate-stderr bsub -K -o "$WORK/parts.%J" -R '2*{select[bigmem] span[hosts=1]} + 3*{select[power9] rusage[ngpus_physical=1]}' \
        'echo $LSB_MCPU_HOSTS $LSB_DJOB_NUMPROC; wc -l < $LSB_DJOB_HOSTFILE'
    id=$(grep -o 'Job <[0-9]*>' <<< "$output" | tr -dc 0-9)
    eventually grep -q "Successfully completed" "parts.$id"
    grep -qxE 'n[12] 2 s1 3 5' "parts.$id"
    grep -qx 5 "parts.$id"
    grep -qxE 'Job was executed on host\(s\) <2\*n[12]>' "parts.$id"
    grep -qx ' *<3\*s1>, in queue <workq>, as user .*' "parts.$id"
    [ "$(bjobs -a -noheader -o 'slots nexec_host' "$id")" = "5 2" ]
    # Alternatives within a part are of its hosts; parts that are alternatives of each other are refused.
    held -R '2*{select[bigmem || power9]}+3*{power9}'
    [ "$(squeue -h -j "$id" -o '%C %f' | sort | tr '\n' ';')" = "2 bigmem|power9;3 power9;" ]
    run -255 --separate-stderr bsub -R '2*{bigmem} || 3*{power9}' true
    [[ "$stderr" == "-R {…} || {…} is not supported: hosts of either kind are select[a || b]; "* ]]
    bkill "$id"
    held -n 5 -R '2*{bigmem}+{power9}'
    [ "$(squeue -h -j "$id" -o '%C %f' | sort | tr '\n' ';')" = "2 bigmem;3 power9;" ]
    bkill "$id"
    run -0 --separate-stderr bsub -I -P proj -env 'all,B=1 2' -R '1*{bigmem}+2*{power9}' \
        'echo "$LSB_QUEUE $LSB_PROJECT_NAME $LSB_INTERACTIVE $B: $LSB_MCPU_HOSTS,$(tr "\n" " " < $LSB_DJOB_HOSTFILE)"'
    [[ "${lines[-1]}" =~ ^"workq proj Y 1 2: n"[12]" 1 s1 2,n"[12]" s1 s1 "$ ]]
    [[ "$stderr" =~ "<<Starting on n"[12]">>" ]]
    LEFT_OUT=1 run -0 --separate-stderr bsub -I -C 0 -o x -L /bin/bash -env 'all,~LEFT_OUT' 'echo ${LEFT_OUT-none} $LS_SUBCWD $LSF_VERSION'
    [ "${lines[-1]}" = "none $WORK 34" ]
    [[ "${stderr_lines[0]}" == "bsub: without effect: -o, -e and -i with -I: "*"; -C, -S, -D and -F with -I: "*"; -L with -I: "* ]]
    run -0 --separate-stderr bsub -I -env none true
    [[ "${stderr_lines[0]}" == "bsub: without effect: -env without all, with -I: "* ]]
    run -0 --separate-stderr bsub -I -n 2 -R 'span[ptile=1] select[bigmem]' true
    [[ "$stderr" == *"<<Starting on n1>>" ]] # the first of n[1-2]
    run -3 qsub -I -N mine -v 'A=1,C="x,y"' -l select=1:ncpus=2:ompthreads=1+2:ncpus=1:host=s1 <<'END'
echo "$PBS_QUEUE $PBS_JOBNAME $PBS_ENVIRONMENT $A $C $NCPUS $OMP_NUM_THREADS in $PBS_O_WORKDIR: $(tail -n 2 $PBS_NODEFILE | tr "\n" " ")"
pbsdsh -s -- sh -c 'echo line' < /dev/null
exit 3
END
    [[ "$output" == *"workq mine PBS_INTERACTIVE 1 x,y 2 1 in $WORK: s1 s1 "* ]]
    [ "$(grep -c '^line$' <<< "$output")" = 3 ]
    printf '#!/bin/sh\n#BSUB -R "2*{bigmem}+1*{power9}"\necho $SLURM_HET_SIZE\n' > foreign.sh
    run -0 --separate-stderr sbatch -W -o foreign.o foreign.sh
    [ "$(cat foreign.o)" = 2 ]
    [[ "$stderr" == *"--ntasks=2 --constraint=bigmem : --ntasks=1 --constraint=power9"* ]]
}

@test "an array's step and end in LSB_JOBINDEX_STEP and _END, whatever follows the step" {
    run -0 --separate-stderr bsub -J 'a[2-8:3]%2' -o "$WORK/step.%I" 'echo $LSB_JOBINDEX_STEP $LSB_JOBINDEX_END'
    eventually test -s step.8
    [ "$(head -1 step.8)" = "3 8" ]
    run -0 --separate-stderr bsub -K -o dir/ -e dir/ 'echo out; echo err >&2'
}

@test "bsub: what LSF has and this does not is refused by name; numbers that contradict each other, too" {
    local row
    for row in "-ar" "-datachk" "-eptl 5" "-ext x" "-extsched x" "-jobaff x" "-jsm y" "-rcacct x" "-rnc x" "-smt 4"; do
        # shellcheck disable=SC2086 # words
        run -255 --separate-stderr bsub $row true
        [[ "$stderr" == "${row%% *} is not supported: "*" Job not submitted." ]] || { echo "$row: $stderr"; false; }
    done
    run -255 --separate-stderr bsub -n 4,2 true
    [[ "$stderr" == "-n 4,2: a number of slots is needed"* ]]
    held -mig 10 -hl
    [ "$stderr" = "bsub: without effect: -mig: a job stays on its hosts; brequeue 12 lets it go" ]
}

@test "bsub -D and -S: less than bsub itself needs are limits of the job" {
    # Held: what a build with sanitizers starts cannot live in so little, either.
    held -D 4096 -S 512
    scancel "$id"
    run -0 --separate-stderr bsub -K -oo "$WORK/small.o" -S 4096 'ulimit -s'
    eventually grep -q '^4096$' small.o
}

@test "same[model] is a constraint over the models there are; span[block=N] a plane; what is lacking is named" {
    held -n 2 -R "same[model]"
    [ "$(shown Feature)" = "[bigmem|power9]" ]
    held -n 2 -R "same[type:model] select[XeonA || power9]"
    [ "$(shown Feature)" = "(XeonA|power9)&[bigmem|power9]" ]
    held -n 2 -R "same[type]"
    [ "$(shown Feature)" = "(null)" ]
    held -n 4 -R "span[block=2]"
    run -255 --separate-stderr bsub -R "same[rack]" true
    [[ "$stderr" == *"same[type], same[model] and same[hname] are taken. Job not submitted." ]]
    run -255 --separate-stderr bsub -R "rusage[tmp=5GB]" true
    [[ "$stderr" == *"with 5120 MiB of temporary disk; "*"the nearest are "*" with 0 MiB of temporary disk (5120 asked)"* ]]
    run -1 --separate-stderr sbatch --sockets-per-node=99 --wrap true
    [[ "$stderr" == *"with 99 sockets; "*" sockets (99 asked)"* ]]
}

@test "bsub -w of several elements; bkill says a line for each element" {
    run -0 --separate-stderr bsub -H -J 'els[1-5]' -o /dev/null sleep 100
    local array
    array=$(grep -o 'Job <[0-9]*>' <<< "$output" | tr -dc 0-9)
    held -w "done($array[1-2,5])"
    [ "$(shown Dependency | sed 's/([a-z]*)//g')" = "afterok:${array}_1,afterok:${array}_2,afterok:${array}_5" ] ||
        [ "$(shown Dependency | sed 's/([a-z]*)//g')" = "afterok:${array}_1:${array}_2:${array}_5" ]
    held -w "exit($array[1-2],>2) || done($array)"
    [[ "$(shown Dependency)" == *"exit:${array}_1>2"*"exit:${array}_2>2"* ]]
    run -0 bkill "$array[2-3]"
    [ "$output" = "Job <$array[2]> is being terminated"$'\n'"Job <$array[3]> is being terminated" ]
    run -0 bkill "$array"
    [ "$output" = "Job <$array> is being terminated" ]
}

@test "bsub -I and qsub -I: the number is told at once, before the wait; numbers come before remarks" {
    held -x -m n1
    bresume "$id"
    wait_state "$id" RUNNING
    bsub -I -m n1 -x -J waits true > waits.out 2> waits.err &
    local pid=$!
    eventually grep -q "Job <[0-9]*> is submitted to default queue <workq>." waits.out
    eventually grep -q "<<Waiting for dispatch ...>>" waits.err
    [ "$(squeue -h -n waits -o %T)" = PENDING ]
    qsub -I -l nodes=n1 -n -N waits_too < /dev/null > waits_too.out 2>&1 &
    local second=$!
    eventually grep -q "qsub: waiting for job [0-9]*.head to start" waits_too.out
    bkill "$id"
    wait "$pid"
    grep -q "<<Starting on n1>>" waits.err
    wait "$second"
    grep -q "qsub: job [0-9]*.head ready" waits_too.out
    qsub -I -a 203001010000 -N doomed < /dev/null > doomed.out 2>&1 &
    pid=$!
    eventually grep -q "qsub: waiting for job" doomed.out
    qdel "$(squeue -h -n doomed -o %i)"
    local status=0
    wait "$pid" || status=$?
    [ "$status" = 1 ]
    grep -qE "^qsub: job [0-9]+.head apparently deleted$" doomed.out
    ! grep -qE "salloc|srun" doomed.out || false
    run -0 bsub -H -We 10 -o /dev/null true
    [[ "${lines[0]}" == "Job <"* ]]
    run -0 qsub -h -p 5 <<< true
    [[ "${lines[0]}" == *.head ]]
}

@test "bparams, lsadmin, lsid: what programs ask of a site" {
    bparams -a | grep -q '	RESOURCE_RESERVE_PER_TASK = N'
    [ "$(bparams | head -1)" = "Default Queues:  workq" ]
    lsadmin showconf lim | grep -q '	LSF_UNIT_FOR_LIMITS = KB'
    run -255 --separate-stderr lsadmin limlock
    [[ "$stderr" == *"lsadmin limlock is not there; scontrol update"* ]]
    lsid | grep -q '^IBM Spectrum LSF Standard 10\.1\.0\.13, '
}

@test "bsub -w of what is not there, and of arrays of other sizes: LSF's words" {
    run -255 --separate-stderr bsub -w 'done(999999)' true
    [ "${stderr_lines[0]}" = "999999: No matching job found. Job not submitted." ]
    run -0 --separate-stderr bsub -H -J 'five[1-5]' -o /dev/null true
    run -255 --separate-stderr bsub -J 'four[1-4]' -w 'done(five[*])' true
    [ "${stderr_lines[0]}" = "Dependent arrays do not have the same size. Job not submitted." ]
    bkill -J five 0
}

@test "bjobs, bswitch, btop, bkill: words, reasons and positions as LSF has them" {
    run -0 --separate-stderr bjobs -q closed
    [ "$stderr" = "No unfinished job found in queue <closed>" ]
    held -J moved
    run -255 --separate-stderr bswitch nosuch "$id"
    [ "${stderr_lines[0]}" = "Job <$id>: No such queue" ]
    run -0 btop "$id" 1
    [ "$output" = "Job <$id> has been moved to position 1 from top." ]
    run -255 --separate-stderr bbot "$id" 3
    [[ "$stderr" == *"position 3 is not supported: a job goes before or behind all of one's others"* ]]
    bkill "$id"
    wait_state "$id" CANCELLED
    [ "$(bjobs -a -noheader -o 'exit_reason' "$id")" = "TERM_OWNER: job killed by owner" ]
    # What a filter finds ended is not killed again.
    run -255 --separate-stderr bkill -J moved 0
    [ "$stderr" = "No matching job found" ]
}

@test "-gpu mig: the type of instance that hosts have; several or none are named" {
    export REMUDA_STATE="$BATS_TEST_TMPDIR/mig"
    mkdir -p "$REMUDA_STATE"
    cat > "$REMUDA_STATE/remuda.conf" <<'END'
NodeName=m1 CPUs=4 RealMemory=8000 Gres=gpu:a100_1g.5gb:2,gpu:a100_3g.20gb:1,gpu:a100_2c.3g.20gb:1,gpu:h100_1g.10gb:1 Virtual=YES
PartitionName=mig Nodes=m1 Default=YES
END
    remuda up -q 3>&-
    held -q mig -gpu num=1:mig=3
    [ "$(squeue -h -j "$id" -o %b)" = "gres/gpu:a100_3g.20gb:1" ]
    held -q mig -gpu num=1:mig=3/2
    [ "$(squeue -h -j "$id" -o %b)" = "gres/gpu:a100_2c.3g.20gb:1" ]
    held -q mig -gpu num=2:mig=1:gmodel=A100
    [ "$(squeue -h -j "$id" -o %b)" = "gres/gpu:a100_1g.5gb:2" ]
    run -255 --separate-stderr bsub -q mig -gpu num=1:mig=1 -o x true
    [[ "$stderr" == *"hosts have several such instances: a100_1g.5gb,h100_1g.10gb; gmodel= says of which"* ]]
    run -255 --separate-stderr bsub -q mig -gpu num=1:mig=4 -o x true
    [[ "$stderr" == *"no host has such an instance; there are: a100_1g.5gb,a100_3g.20gb,a100_2c.3g.20gb,h100_1g.10gb"* ]]
    run -255 --separate-stderr bsub -q mig -gpu num=1:mig=x -o x true
    [[ "$stderr" == *"slices of an instance are needed: 3, or 3/2"* ]]
    bkill 0
    remuda down -q
}

@test "-gpu gtile='!' and gvendor have no effect, each for a reason of its own" {
    held -gpu "num=2:gtile='!':gvendor=nvidia"
    [ "$stderr" = "bsub: without effect: -gpu gtile='!': gtile=N says how many GPUs of each socket; -gpu gvendor: the model says it: gmodel=TYPE" ]
}

@test "GPUs with more memory than any has: the nearest are named with what theirs have" {
    run -255 --separate-stderr bsub -gpu num=1:gmem=16G true
    [[ "$stderr" == *"of GPUs with at least 16384 MiB; partition workq has no such node: the nearest are n[1-2],s1 with GPUs of unknown memory (16384 MiB asked)"* ]]
}
