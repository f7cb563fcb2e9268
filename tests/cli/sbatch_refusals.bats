#!/usr/bin/env bats
# What sbatch says without a cluster: mistakes in options and scripts are told before anybody is asked.
bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    export REMUDA_STATE="$BATS_TEST_TMPDIR/no-cluster"
    printf '#!/bin/bash\ntrue\n' > job.sh
}

# The command must fail with status 1 (unreadable: 255) and an empty stdout, and say something.
unreadable() { fails 255 "$@"; }
refused() { fails 1 "$@"; }
fails() {
    local code="$1" says="$2"
    shift 2
    run --separate-stderr "$@"
    [ "$status" -eq "$code" ]
    [ -z "$output" ]
    [[ "$stderr" == *"$says"* ]] || { echo "$stderr"; false; }
}

@test "no controller: Slurm's line, and how to start one" {
    refused "Unable to contact slurm controller" sbatch job.sh
    [[ "$stderr" == *"controller not running in $REMUDA_STATE; start it with: remuda up"* ]]
}

@test "--version, --usage and --help need no cluster" {
    run --separate-stderr sbatch --version
    [ "$status" -eq 0 ]
    [ "$output" = "slurm 25.05.0" ]
    [ -z "$stderr" ]
    run sbatch -V
    [ "$output" = "slurm 25.05.0" ]
    run sbatch --usage
    [[ "$output" == "Usage: sbatch "* ]]
    run sbatch --help
    [ "$status" -eq 0 ]
    [[ "$output" == *"-J, --job-name=name"* ]]
}

@test "a script that is not there, a directory, an unreadable option file" {
    refused "sbatch: error: Unable to open file nofile.sh
sbatch: error: nofile.sh: No such file or directory" sbatch nofile.sh
    refused "sbatch: error: Unable to open file .
sbatch: error: .: Is a directory" sbatch .
    refused "Could not open user environment file /nope" sbatch --export-file=/nope job.sh
    unreadable "Unable to read the list of nodes /nope" sbatch -F /nope job.sh
}

@test "what is no script is refused with a hint" {
    : > empty.sh
    refused "Batch script is empty!" sbatch empty.sh
    printf '\n \n' > blank.sh
    refused "only whitespace" sbatch blank.sh
    echo 'echo hi' > bare.sh
    refused "This does not look like a batch script" sbatch bare.sh
    printf "'''\nJob Script\n'''\n#SBATCH -n1\n" > alvis.sh
    refused "Python docstring" sbatch alvis.sh
    printf '#!/bin/sh\r\ntrue\r\n' > dos.sh
    refused "sed -i 's/\\r\$//' dos.sh" sbatch dos.sh
    printf '#!/bin/sh\n\0' > nul.sh
    refused "NULL character" sbatch nul.sh
    { echo '#!/bin/sh'; head -c 4194304 /dev/zero | tr '\0' '#'; } > big.sh
    refused "a batch script has at most 4194304" sbatch big.sh
    refused "Batch script is empty!" sbatch < /dev/null
}

# What stands behind a NUL byte would be lost, whoever reads the script.
@test "a NULL character in a script: none of the three commands submits half of it" {
    local first of says
    for first in '#!/bin/sh\n' ''; do
        for of in SBATCH BSUB PBS; do
            printf "$first#$of -J a\\0b\\ntrue\\n" > nul.sh
            says="a NULL character in it, as programs have"
            fails 255 "$says" bsub < nul.sh
            refused "$says" qsub nul.sh
            [ -z "$first" ] || refused "$says" sbatch nul.sh
            run remuda lint nul.sh
            [ "$status" -eq 2 ]
            [ "$of" = SBATCH ] && [ -z "$first" ] || [[ "$output" == *"$says"* ]]
        done
        printf "$first#BSUB -J a\\0b\\ntrue\\n" > nul.sh
        fails 2 "it has $says" remuda translate --from lsf --to slurm nul.sh
        printf "$first#PBS -N a\\0b\\ntrue\\n" > nul.sh
        fails 2 "it has $says" remuda translate --from pbs --to slurm nul.sh
    done
}

@test "mistakes in directives name script and line" {
    printf '#!/bin/sh\n#SBATCH --ndoes=2\n' > typo.sh
    run --separate-stderr sbatch typo.sh
    [ "$status" -eq 255 ]
    [ "${stderr_lines[0]}" = "sbatch: unrecognized option '--ndoes=2'" ]
    [ "${stderr_lines[1]}" = "sbatch: error: typo.sh: line 2: unrecognized option '--ndoes=2' (did you mean '--nodes'?)" ]
    printf '#!/bin/sh\n\n#SBATCH -t soon\n' > time.sh
    unreadable "time.sh: line 3: --time=soon" sbatch time.sh
    [ "${stderr_lines[0]}" = "sbatch: error: Invalid --time specification" ]
    unreadable "time.sh: line 3: --time=soon" sbatch -t 5 time.sh # a value that the command line overrides is read all the same
    printf '#!/bin/sh\n#SBATCH --comment="x\n' > quote.sh
    refused "sbatch: fatal: quote.sh: line 2: Unmatched" sbatch ./quote.sh
    refused "sbatch: fatal: stdin: line 2: Unmatched" sbatch < quote.sh
    printf '#!/bin/sh\n#PBS -l cput=1\n' > pbs.sh
    refused "-l cput is not supported: walltime limits the run" sbatch pbs.sh
    refused "Unable to contact slurm controller" sbatch --ignore-pbs pbs.sh
}

@test "mistakes on the command line and in the environment" {
    unreadable 'Try "sbatch --help"' sbatch --foo job.sh
    unreadable "is ambiguous; possibilities: '--ntasks'" sbatch --ntas=2 job.sh
    unreadable "option requires an argument -- 't'" sbatch -t
    refused "Script arguments not permitted with --wrap option" sbatch --wrap=true job.sh
    refused "mutually exclusive" sbatch --mem=1G --mem-per-cpu=1G job.sh
    refused "not supported yet: --bb" sbatch --bb=x job.sh
    unreadable "environment variable SBATCH_TIMELIMIT" env SBATCH_TIMELIMIT=soon sbatch job.sh
    refused "ALL and NONE or NIL are not in one list" sbatch --export=ALL,NONE,A=1 job.sh
}

@test "SLURM_EXIT_ERROR chooses the status of what is no mistake in the command line" {
    run env SLURM_EXIT_ERROR=9 sbatch nofile.sh
    [ "$status" -eq 9 ]
    run env SLURM_EXIT_ERROR=9 sbatch --foo job.sh
    [ "$status" -eq 255 ]
}

@test "Slurm's own words stand on a line of their own, ours behind them" {
    run --separate-stderr sbatch --mem=1 --mem-per-cpu=1 job.sh
    [ "$status" -eq 1 ]
    [ "${stderr_lines[0]}" = "sbatch: fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive." ]
    run --separate-stderr sbatch --gpus=8 --gpus-per-node=3 job.sh
    [ "$status" -eq 1 ]
    [ "${stderr_lines[0]}" = "sbatch: error: Failed to validate job spec, --gpus is not multiple of --gres=gpu/--gpus-per-node" ]
    [ "${stderr_lines[1]}" = "sbatch: error: Invalid generic resource (gres) specification" ]
    run --separate-stderr sbatch -a 3-1 job.sh
    [ "$status" -eq 1 ]
    [ "${stderr_lines[0]}" = "sbatch: error: Batch job submission failed: Invalid job array specification" ]
    run --separate-stderr salloc -d foo:1 true
    [ "${stderr_lines[0]}" = "salloc: error: Job submit/allocate failed: Job dependency problem" ]
    run --separate-stderr srun -w 'n[1' true
    [ "${stderr_lines[0]}" = "srun: error: Unable to allocate resources: Invalid node name specified" ]
    refused "--gpus=2 in --gpus-per-task=1 are 2 tasks, not 4" sbatch -n4 --gpus-per-task=1 --gpus=2 job.sh
    refused "are 6 tasks, not 3: each node has one unless" sbatch -N3 --gpus-per-task=1 --gpus=6 job.sh
}

@test "directives behind the first command are told, here-documents are not" {
    printf '#!/bin/sh\ntrue\n#SBATCH -n4\n' > late.sh
    refused "late.sh: line 3: ignored, because it stands after the first command: #SBATCH -n4" sbatch late.sh
    refused "Unable to contact" sbatch -Q late.sh
    [[ "$stderr" != *ignored* ]]
    printf '#!/bin/sh\ncat > x <<EOF\n#SBATCH -n4\nEOF\n' > writes.sh
    refused "Unable to contact" sbatch writes.sh
    [[ "$stderr" != *ignored* ]]
}
