#!/usr/bin/env bats
# sbatch with a real cluster: what a job gets is what was asked, from wherever it was asked.
bats_require_minimum_version 1.5.0

setup_file() {
    export REMUDA_STATE="$BATS_FILE_TMPDIR/state"
    remuda up --nodes 2 --cpus 2 --mem 2000 --name sbatchtest
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
}

# Writes job.sh: the directives given, then a body that shows what it got.
script() {
    { echo '#!/bin/bash'; printf '#SBATCH %s\n' "$@"; cat; } > job.sh
}

# A job's field as scontrol shows it.
field() {
    scontrol show job "$1" -o | tr ' ' '\n' | sed -n "s/^$2=//p"
}

@test "Submitted batch job N, output in slurm-N.out, nothing on stderr" {
    script "-n 1" <<< 'echo "hello from $SLURM_JOB_ID in $PWD"'
    run --separate-stderr sbatch -W job.sh
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [[ "$output" =~ ^Submitted\ batch\ job\ ([0-9]+)$ ]]
    [ "$(cat "slurm-${BASH_REMATCH[1]}.out")" = "hello from ${BASH_REMATCH[1]} in $PWD" ]
}

# /etc/profile begins PATH anew; the commands of the cluster are there all the same.
@test "a script that is a login shell finds the commands of its cluster" {
    printf '%s\n' '#!/bin/bash -l' 'command -v srun' 'echo "[${BASH_ENV-gone}]"' 'srun -n1 bash -lc "command -v srun"' > login.sh
    sbatch -W -n 1 -o out login.sh
    [ "$(cat out)" = "$(printf '%s\n' "$(command -v srun)" '[gone]' "$(command -v srun)")" ]
    printf '%s\n' '#!/bin/bash -l' 'command -v srun' > step.sh
    chmod +x step.sh
    [ "$(srun -n 1 ./step.sh)" = "$(command -v srun)" ]
    # Whoever has a BASH_ENV keeps it.
    echo 'MINE=yes' > mine
    printf '%s\n' '#!/bin/bash -l' 'echo "$MINE $BASH_ENV"' > login.sh
    BASH_ENV=$PWD/mine sbatch -W -n 1 -o out login.sh
    [ "$(cat out)" = "yes $PWD/mine" ]
}

@test "arguments of the script arrive as they were typed" {
    script "-o out" <<< 'printf "[%s]" "$@"'
    sbatch -W job.sh 'two words' '' 'a\nb' $'line\nbreak' '*'
    [ "$(cat out)" = "[two words][][a\\nb][line
break][*]" ]
}

@test "--wrap is a command: no directives are read from it, and it is not judged as a script" {
    sbatch -Q -W -o wrapped.out --wrap $'#SBATCH -n 2\n#BSUB -J lsf\n#PBS -N pbs\necho ${SLURM_NTASKS-none} $SLURM_JOB_NAME'
    [ "$(cat wrapped.out)" = "none wrap" ]
    sbatch -W -o wrapped.out --wrap $'#SBATCH --no-such-option\necho ran'
    [ "$(cat wrapped.out)" = ran ]
    sbatch -W -o wrapped.out --wrap $'echo dos\r'
    [ "$(tr -d '\r' < wrapped.out)" = dos ]
    sbatch -W -n1 -o wrapped.out --wrap $'#SBATCH hetjob\necho ${SLURM_HET_SIZE-one}' : -n1
    [ "$(cat wrapped.out)" = 2 ]
}

@test "script on standard input, --wrap, --parsable, -M" {
    run sbatch --parsable -W -o in.out <<< $'#!/bin/sh\necho "$SLURM_JOB_NAME"'
    [[ "$output" =~ ^[0-9]+$ ]]
    [ "$(cat in.out)" = sbatch ]
    run sbatch -M sbatchtest --parsable -W -o wrap.out --wrap='echo "$SLURM_JOB_NAME"; echo done'
    [[ "$output" =~ ^[0-9]+\;sbatchtest$ ]]
    [ "$(cat wrap.out)" = "wrap
done" ]
    run sbatch -M elsewhere --wrap=true
    [ "$status" -eq 1 ]
    [[ "$output" == *"can't be reached now, or it is an invalid entry for --cluster"* ]]
}

@test "command line beats environment beats script" {
    script "-J script" "--comment=script" "-o out" "--time=3" <<< 'true'
    id=$(SBATCH_JOB_NAME=env SBATCH_TIMELIMIT=4 sbatch --parsable -H --time=5 job.sh)
    [ "$(field "$id" JobName)" = env ]
    [ "$(field "$id" TimeLimit)" = 00:05:00 ]
    [ "$(field "$id" Comment)" = script ]
    [ "$(field "$id" JobState)" = PENDING ]
    scancel "$id"
}

@test "--export in every form" {
    export KEEP=kept OTHER=other
    script "-o out" <<< 'echo "$KEEP|$OTHER|$MADE|$SLURM_SUBMIT_DIR"'
    sbatch -W job.sh
    [ "$(cat out)" = "kept|other||$PWD" ]
    sbatch -W --export=NIL job.sh
    [ "$(cat out)" = "|||$PWD" ]
    sbatch -W --export="KEEP,MADE=a 'b' c" job.sh
    [ "$(cat out)" = "kept||a 'b' c|$PWD" ]
    sbatch -W --export="ALL,KEEP=new,MADE='x,y'" job.sh
    [ "$(cat out)" = "new|other|x,y|$PWD" ]
}

@test "--wait gives the job's exit code, of an array the highest" {
    run sbatch -W --wrap='exit 3'
    [ "$status" -eq 3 ]
    run sbatch -W -a 1-3 --wrap='exit $SLURM_ARRAY_TASK_ID'
    [ "$status" -eq 3 ]
    run sbatch -W --wrap='kill -USR1 $$'
    [ "$status" -eq 1 ]
}

@test "--test-only says when and where, and submits nothing" {
    before=$(squeue -h -t all | wc -l)
    run --separate-stderr sbatch --test-only -n 2 --wrap=true
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    [[ "$stderr" =~ Job\ [0-9]+\ to\ start\ at\ [0-9T:-]+\ using\ [0-9]+\ processors\ on\ nodes\ .+\ in\ partition ]]
    [ "$(squeue -h -t all | wc -l)" -eq "$before" ]
}

@test "a refusal: Slurm's line, then the sentence, status 1" {
    run --separate-stderr sbatch -p nowhere --wrap=true
    [ "$status" -eq 1 ]
    [ -z "$output" ]
    [ "${stderr_lines[0]}" = "sbatch: error: invalid partition specified: nowhere" ]
    [ "${stderr_lines[1]}" = "sbatch: error: Batch job submission failed: Invalid partition name specified" ]
    [[ "${stderr_lines[2]}" == *nowhere* ]]
}

@test "the script is taken at submission" {
    script "-o out" "--begin=now+2" <<< 'echo first'
    sbatch -W job.sh &
    waiter=$!
    sleep 1
    echo 'broken' > job.sh
    rm job.sh
    wait "$waiter"
    [ "$(cat out)" = first ]
}

@test "a job submitted from a job is not taken for its element" {
    script "-o inner.out" <<< 'echo "${SLURM_ARRAY_TASK_ID-none} ${SLURM_JOB_NAME}"'
    mv job.sh inner.sh
    sbatch -W -a 5 -o outer.out --wrap="sbatch -W -J inner $PWD/inner.sh"
    [ "$(cat inner.out)" = "none inner" ]
}

@test "what has no effect is said in SystemComment" {
    id=$(sbatch --parsable -H --gres-flags=enforce-binding --wrap=true)
    scontrol show job "$id" | grep -q 'SystemComment=.*--gres-flags'
    scancel "$id"
}

@test "--chdir, umask and soft limits" {
    mkdir there
    (umask 027; ulimit -S -c 0; ulimit -S -n 300; sbatch -W -D there -o out --wrap='pwd; umask; ulimit -n')
    [ "$(cat there/out)" = "$PWD/there
0027
300" ]
}

@test "a file of nodes names nodes, and no other file" {
    echo /etc/passwd >"$BATS_TEST_TMPDIR/names"
    for option in --exclude --nodelist --nodefile; do
        run sbatch $option="$BATS_TEST_TMPDIR/names" --wrap true
        [ "$status" != 0 ]
        [[ "$output" == *"names: names of nodes have no '/': one file names no other"* ]] || { echo "$option: $output"; false; }
    done
}

@test "a file of nodes that the script names is not looked at where the command line names nodes; the last -w counts" {
    local node id
    node=$(sinfo -hN -o %N | head -1)
    echo "$node" > hosts
    for file in ./hosts ./nosuch; do
        script "-w $file" <<< true
        id=$(sbatch --parsable -H -w "$node" job.sh)
        [ "$(squeue -h -j "$id" -O ReqNodes | tr -d ' ')" = "$node" ]
        id=$(sbatch --parsable -H -w "$file" -w "$node" --wrap true)
        [ "$(squeue -h -j "$id" -O ReqNodes | tr -d ' ')" = "$node" ]
    done
    script "-w $node" <<< true
    run ! sbatch -H -w ./nosuch job.sh
    scancel -u "$(id -un)"
}

@test "a list of nodes, or an environment, that is too long to be read is refused, not cut" {
    for ((i = 0; i < 9000; i++)); do echo "node$i"; done > hosts
    for option in --exclude=./hosts --nodelist=./hosts --nodefile=./hosts; do
        run sbatch "$option" --wrap true
        [ "$status" != 0 ]
        [[ "$output" == *"./hosts: a list of nodes has at most 64 KiB"* ]] || { echo "$option: $output"; false; }
    done
    SLURM_HOSTFILE=./hosts run srun -n1 -m arbitrary true
    [ "$status" != 0 ]
    [[ "$output" == *"SLURM_HOSTFILE ./hosts: a list of nodes has at most 64 KiB"* ]]
    head -c 9000000 /dev/zero | tr '\0' a > long
    run sbatch --export-file=./long --wrap true
    [ "$status" != 0 ]
    [[ "$output" == *"--export-file=./long: an environment has at most "* ]]
    { echo '0 true'; yes '# a comment' | head -c 1100000; } > programs
    run srun -n1 --multi-prog ./programs
    [ "$status" != 0 ]
    [[ "$output" == *"./programs has more than "* ]]
}

@test "a command line that is shown cut ends with a whole character" {
    local long
    long=$(printf 'ä%.0s' {1..5000})
    for before in "" a; do
        printf '#!/bin/sh\n' > job.sh
        sbatch -H job.sh "$before$long"
    done
    scontrol show job -o | grep -q 'Command=.*äää\.\.\.'
    scontrol show job -o | iconv -f UTF-8 -t UTF-8 > /dev/null
    scancel -u "$(id -un)"
}

@test "a node that is not there cannot be excluded: a misspelt name would exclude nothing" {
    run sbatch --exclude='nosuch[1-2]' --wrap true
    [ "$status" = 1 ]
    [[ "$output" == *"Invalid node name specified"* ]]
    [[ "$output" == *"there is no node nosuch1"* ]]
    [ -z "$(squeue -h)" ]
}

@test "a number that could not be written is said on the other stream; where that is full too, the status says it" {
    run --separate-stderr bash -c 'sbatch --parsable -H -n1 --wrap true > /dev/full'
    [ "$status" -ne 0 ]
    [[ "$stderr" =~ "sbatch: error: job "([0-9]+)" was submitted" ]]
    [ "$(squeue -h -j "${BASH_REMATCH[1]}" -o %A)" = "${BASH_REMATCH[1]}" ]
    scancel "${BASH_REMATCH[1]}"
    run ! bash -c 'sbatch -H -n1 --wrap true > /dev/full 2> /dev/full'
    run ! bash -c 'salloc --no-shell -n1 2> /dev/full'
    scancel -u "$(id -un)"
}
