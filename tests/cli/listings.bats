#!/usr/bin/env bats
# What all listing commands do alike (cli/listing_command.c): help, version, repetition, JSON and YAML, mistakes.
bats_require_minimum_version 1.5.0

setup_file() {
    export REMUDA_STATE="$BATS_FILE_TMPDIR/state"
    unset SLURM_CONF SQUEUE_FORMAT SINFO_FORMAT SPRIO_FORMAT SACCT_FORMAT
    remuda up -q --nodes 1 --cpus 2 --mem 1G
    cd "$BATS_FILE_TMPDIR" || exit 1
    J=$(sbatch --parsable -J sleeper -o /dev/null --wrap 'sleep 60')
    export J
    for _ in $(seq 100); do [ "$(squeue -h -o %t -j "$J")" = R ] && break; sleep 0.1; done
}

teardown_file() {
    scancel "$J" || true
    remuda down
}

LISTINGS="squeue sinfo sacct sprio sshare sdiag sstat"

@test "--help, --usage, --version, unknown options" {
    for c in $LISTINGS; do
        run -0 --separate-stderr "$c" --help
        [[ "${lines[0]}" == "Usage: $c [OPTIONS]"* ]]
        [ "$("$c" --usage)" = "$output" ]
        [ "$("$c" -V)" = "slurm 25.05.0" ]
        run -1 --separate-stderr "$c" --frobnicate
        [[ "$stderr" == "$c: error: unrecognized option '--frobnicate'"* ]]
    done
}

@test "the controller is away: each says so and fails" {
    for c in $LISTINGS; do
        jobs=()
        [ "$c" = sstat ] && jobs=(-j "$J")
        run -1 --separate-stderr env REMUDA_STATE=/nonexistent "$c" "${jobs[@]}"
        [[ "$stderr" == *"Unable to contact slurm controller"* ]]
        [ -z "$output" ]
    done
}

@test "--json where Slurm has it, a refusal by name where not; --yaml nowhere" {
    for c in squeue sinfo sacct sshare sdiag; do
        "$c" --json | python3 -c 'import json,sys; json.load(sys.stdin)'
        run -1 "$c" --yaml
        [[ "$output" == *"--yaml: not supported yet; --json has the same data"* ]]
    done
    for c in sprio sstat; do
        for o in --json --yaml; do
            run -1 "$c" $o
            [[ "$output" == "$c: error: $o: not supported: Slurm's $c has no such output"* ]]
        done
    done
}

@test "--json wins over -s of squeue and -T of sinfo" {
    [ "$(squeue --json -s | python3 -c 'import json,sys; print(json.load(sys.stdin)["jobs"][0]["name"])')" = sleeper ]
    sinfo -T --json | python3 -c 'import json,sys; assert json.load(sys.stdin)["sinfo"]'
}

@test "-i: a date above each listing, an empty line after it" {
    run --separate-stderr timeout 1.7 squeue -h -i 1 -o %j
    [[ "${lines[0]}" =~ ^[A-Z][a-z]{2}\ [A-Z][a-z]{2}\ .*\ 20[0-9]{2}$ ]]
    [ "${lines[1]}" = sleeper ]
    [[ "${lines[2]}" =~ \ 20[0-9]{2}$ ]]
    [ "${lines[3]}" = sleeper ]
    [ "$(timeout 1.7 sinfo -h -i 1 -o x%D | grep -c '^x1$')" = 2 ]
    [ "$(timeout 1.7 sinfo -T -i 1 | grep -c "No reservations")" = 2 ]
    run -1 squeue -i 0
    [[ "$output" == *"--iterate=0; it needs a number of seconds"* ]]
}

@test "-o and -O: the last one counts; --only-job-state is ids and states" {
    [ "$(squeue -h -O Name:10 -o %T)" = RUNNING ]
    [ "$(squeue -h -o %T -O JobID:0,Name:.10)" = "$(squeue -h -O JobID:0,Name:.10)" ]
    [ "$(squeue -h --only-job-state | tr -s ' ')" = " $J RUNNING" ]
}

@test "-p, -P and --delimiter: cells as they are" {
    [ "$(sacct -n -X -P -o jobid,jobname -j "$J")" = "$J|sleeper" ]
    [ "$(sacct -n -X -p --delimiter=: -o jobid,jobname -j "$J")" = "$J:sleeper:" ]
    [ "$(sstat -n -P -o jobid -j "$J" --delimiter=:)" = "$J.batch" ]
    [ "$(sshare -n -U -p -o rawshares)" = "1|" ]
}
