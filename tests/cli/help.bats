#!/usr/bin/env bats
# The shape of help, usage, version and of what is said of a command line that cannot be read: as Slurm's, for all commands.
bats_require_minimum_version 1.5.0

setup() {
    export REMUDA_STATE="$BATS_TEST_TMPDIR/no-cluster"
}

SUBMITS="sbatch salloc srun"
LISTINGS="squeue sinfo sacct sprio sshare sdiag sstat"
OTHERS="scancel scontrol sattach sbcast strigger"
OWN="up down status why extend plot top report may accounts config lint translate import gpus token join leave hosts backup restore repair env logs adopt version docs"
WITH_HELP_OPTIONS="squeue sinfo sprio sdiag scancel sattach sbcast strigger"

# stderr's first two lines and the status of a command line that cannot be read.
unreadable() {
    local code=1 says="$2" name="$1"
    [[ " $SUBMITS " == *" $1 "* ]] && code=255
    shift 2
    run --separate-stderr "$name" "$@"
    [ "$status" -eq $code ] || { echo "$name $*: $status"; false; }
    [ "${stderr_lines[0]}" = "$name: $says" ] || { echo "$stderr"; false; }
    [ "${stderr_lines[1]}" = "Try \"$name --help\" for more information" ]
    [ -z "$output" ]
}

@test "--version of every command, with no cluster" {
    for c in $SUBMITS $LISTINGS $OTHERS; do
        [ "$($c -V)" = "slurm 25.05.0" ]
        [ "$($c --version)" = "slurm 25.05.0" ]
    done
}

@test "--help has Slurm's headings, --usage a few lines" {
    for c in $SUBMITS; do
        run -0 --separate-stderr "$c" --help
        [[ "${lines[0]}" == "Usage: $c [OPTIONS(0)...] [ : [OPTIONS(N)...]]"* ]]
        for heading in "Parallel run" "Constraint" "Consumable resources related" "GPU scheduling" Help Other; do
            grep -qx "$heading options:" <<< "$output"
        done
        [ "$(grep -A2 '^Other options' <<< "$output" | sed -n 2p | cut -c1-17)" = "  -V, --version  " ]
    done
    for c in $WITH_HELP_OPTIONS; do
        run -0 --separate-stderr "$c" --help
        [[ "${lines[0]}" == "Usage: $c ["*"]"* ]]
        grep -qx "Help options:" <<< "$output"
        [[ "${lines[-1]}" == *"--usage"* ]]
    done
    for c in sacct sstat scontrol; do
        run -0 --separate-stderr "$c" --help
        [[ "${lines[0]}" == "$c [<OPTION>]"* ]]
        grep -qx " *Valid <OPTION> values are:" <<< "$output"
    done
    for c in $SUBMITS $LISTINGS scancel sattach sbcast strigger; do
        run -0 --separate-stderr "$c" --usage
        [[ "${lines[0]}" == "Usage: $c ["* ]]
        [ "$(awk 'length > 79' <<< "$output")" = "" ]
    done
}

@test "an option that does not exist, is cut too short, lacks its value or has one too many" {
    for c in $SUBMITS $LISTINGS $OTHERS; do
        unreadable "$c" "unrecognized option '--frobnicate'" --frobnicate
        unreadable "$c" "unrecognized option '--frobnicate=x'" --frobnicate=x
        unreadable "$c" "invalid option -- '%'" -%
        unreadable "$c" "option '--help' doesn't allow an argument" --help=x
    done
    for c in squeue sinfo sacct sprio sshare scancel scontrol strigger $SUBMITS; do
        unreadable "$c" "option '--ver' is ambiguous; possibilities: '--verbose' '--version'" --ver
    done
    unreadable squeue "option '--partition' requires an argument" --part
    unreadable squeue "option requires an argument -- 'p'" -p
    unreadable sbatch "option '--ntasks' requires an argument" --ntasks
    unreadable srun "option requires an argument -- 'n'" -n
    unreadable sinfo "unrecognized option '--stats'" --stats
    [ "${stderr_lines[2]}" = "sinfo: error: did you mean '--states'?" ]
}

@test "remuda's own commands: help, usage, prefixes, and what cannot be read, from the same tables" {
    for c in $OWN; do
        run -0 --separate-stderr remuda "$c" --help
        [[ "${lines[0]}" == "Usage: remuda $c [OPTIONS]"* ]]
        grep -qx "Help options:" <<< "$output"
        [ "$(remuda "$c" -h)" = "$output" ]
        [ "$(remuda "$c" --hel)" = "$output" ]
        run -0 --separate-stderr remuda "$c" --usage
        [[ "${lines[0]}" == "Usage: remuda $c ["* ]]
        [ "$(awk 'length > 79' <<< "$output")" = "" ]
        run -2 --separate-stderr remuda "$c" --frobnicate
        [ "$stderr" = "remuda $c: error: unrecognized option '--frobnicate'; \`remuda $c --help\` lists the options" ]
        run -2 --separate-stderr remuda "$c" --hlep
        [[ "$stderr" == *"(did you mean '--help'?)"* ]]
    done
    for c in up down status why report gpus token join leave hosts backup restore repair env logs; do
        run -2 --separate-stderr remuda "$c" --sate=x
        [[ "$stderr" == "remuda $c: error: unrecognized option '--sate=x' (did you mean '--state'?)"* ]]
        run -2 --separate-stderr remuda "$c" --state
        [[ "$stderr" == "remuda $c: error: option '--state' requires an argument"* ]]
    done
    for c in up down status leave repair env version; do
        run -2 --separate-stderr remuda "$c" extra
        [ "$stderr" = "remuda $c: error: unknown word \"extra\"; \`remuda $c --help\` lists the options" ]
    done
    run -2 --separate-stderr remuda up --nod 0
    [ "$stderr" = "remuda up: error: --nodes must be a number from 1 to 4096, not \"0\"" ]
    run -2 --separate-stderr remuda up --mem=many
    [[ "$stderr" == "remuda up: error: --mem=many: "* ]]
    run -2 --separate-stderr remuda logs
    [[ "$stderr" == "remuda logs: error: which job?"* ]]
    run -2 --separate-stderr remuda token --host=friend
    [[ "$stderr" == *"untrusted, login or trusted, not \"friend\""* ]]
}

@test "words that are too many or too few" {
    run -1 --separate-stderr squeue foo
    [ "$stderr" = "squeue: error: Unrecognized option: foo" ]
    run -1 --separate-stderr sattach
    [ "${stderr_lines[0]}" = "sattach: error: too many parameters" ]
    [ "$output" = "Usage: sattach [options] <jobid.stepid>" ]
    run -1 --separate-stderr sattach foo
    [ "${stderr_lines[0]}" = "sattach: error: Failed to parse stepid from command line options" ]
    for words in "" a "a b c"; do
        run -1 --separate-stderr sbcast $words
        [ "${stderr_lines[0]}" = "Need two file names, have $(wc -w <<< "$words") names" ]
    done
    run -1 --separate-stderr scancel
    [ "$stderr" = "scancel: error: No job identification provided" ]
}

@test "=help lists the values of an option" {
    run -0 srun --cpu-bind=help
    [ "${lines[0]}" = "CPU bind options:" ]
    [[ "$output" == *"map_cpu:<list>"* ]]
    run -0 srun --mem-bind=help
    [ "${lines[0]}" = "Memory bind options:" ]
    run -0 sbatch --hint=help
    [ "${lines[0]}" = "Application hint options:" ]
    run -0 salloc --gres=help
    [ "${lines[0]}" = "Valid gres options are:" ]
    [ "${lines[1]}" = "gpu[[:type]:count]" ]
    run -0 srun --mpi=list
    [ "${lines[0]}" = "MPI plugin types are..." ]
}

@test "-v of the submitting commands shows the options in force, in the order of their names" {
    run -1 --separate-stderr sbatch -v -v -t5 --comment=x -n2 --hold --wrap true
    [ "$(head -10 <<< "$stderr")" = "sbatch: defined options
sbatch: -------------------- --------------------
sbatch: comment             : x
sbatch: hold                : set
sbatch: ntasks              : 2
sbatch: time                : 5
sbatch: verbose             : 2
sbatch: wrap                : true
sbatch: -------------------- --------------------
sbatch: end of defined options" ]
}

@test "events of strigger that cannot be are refused by name, with what tells of the same" {
    for c in backup_slurmctld_failure burst_buffer primary_slurmctld_acct_buffer_full front_end; do
        run -1 --separate-stderr strigger --set --$c -p /bin/true
        [[ "$stderr" == "strigger: error: --$c: "*"; "* ]]
    done
    run -1 --separate-stderr strigger --node
    [ "${stderr_lines[0]}" = "strigger: error: You must use exactly one of the following options: --set, --get or --clear" ]
}

@test "docs/options.md has every option of every command, each with what it means, and why where nothing comes of it" {
    remuda docs "$BATS_TEST_TMPDIR/docs"
    local page="$BATS_TEST_TMPDIR/docs/options.md"
    section() { # COMMAND: its table
        awk -v c="## $1" '/^## / { on = $0 == c } on && /^\| `--/' "$page"
    }
    local own=$(printf 'remuda %s\n' $OWN shell)
    while read -r c; do
        section "$c" > "$BATS_TEST_TMPDIR/rows"
        [ -s "$BATS_TEST_TMPDIR/rows" ] || { echo "no section of $c"; false; }
        # option | works | variables | meaning
        ! grep -vE '^\| .* \| (yes|differs|no effect|refused) \| .* \| .+ \|$' "$BATS_TEST_TMPDIR/rows" || false
        # No spelling twice.
        [ "$(grep -oE '`--?[A-Za-z][A-Za-z0-9_-]*' "$BATS_TEST_TMPDIR/rows" | sort | uniq -d)" = "" ]
        # What --help shows is there.
        local shown
        shown=$($c --help)
        for name in $(grep -oE '^ +(-., )?--[A-Za-z_0-9-]+' <<< "$shown" | grep -oE '[-]-[A-Za-z].*'); do
            grep -qE "\`$name[\`=[]" "$BATS_TEST_TMPDIR/rows" || { echo "$c $name"; false; }
        done
    done <<< "$(printf '%s\n' $LISTINGS $OTHERS)
$own"
}
