#!/usr/bin/env bats
# What all listing commands do alike (cli/table/listing_command.c): help, version, repetition, JSON and YAML, mistakes.
bats_require_minimum_version 1.5.0

setup_file() {
    export REMUDA_STATE="$BATS_FILE_TMPDIR/state"
    unset SLURM_CONF SQUEUE_FORMAT SINFO_FORMAT SPRIO_FORMAT SACCT_FORMAT
    remuda up -q --nodes 1 --cpus 2 --mem 1G
    cd "$BATS_FILE_TMPDIR" || exit 1
    J=$(sbatch --parsable -J sleeper -o /dev/null --wrap 'sleep 600')
    export J
    for _ in $(seq 300); do [ "$(squeue -h -o %t -j "$J")" = R ] && break; sleep 0.1; done
}

teardown_file() {
    scancel "$J" || true
    remuda down
}

LISTINGS="squeue sinfo sacct sprio sshare sdiag sstat"

@test "the controller is away: each says so and fails" {
    for c in $LISTINGS; do
        jobs=()
        status_away=1
        [ "$c" = sstat ] && jobs=(-j "$J") status_away=0 # as Slurm's
        [[ "$c" =~ ^(sprio|sshare|sdiag)$ ]] && status_away=255 # as Slurm's
        run -"$status_away" --separate-stderr env REMUDA_STATE=/nonexistent "$c" "${jobs[@]}"
        [[ "$stderr" == *"Unable to contact slurm controller"* || "$stderr" == *"couldn't get steps for job"* ]]
        [ "$c" = sstat ] || [ -z "$output" ] # its heads come first, in Slurm, too
    done
}

# The same keys in the same order, the same texts; numbers may have gone on between two calls, by which sdiag sorts. Texts that hold a time may, too: asked thrice.
same_as_json() {
    for _ in 1 2 3; do forms_agree "$@" && return 0; done
    return 1
}

forms_agree() {
    local json=$BATS_FILE_TMPDIR/form.json yaml=$BATS_FILE_TMPDIR/form.yaml
    "$@" --json > "$json" && "$@" --json > "$json" && "$@" --yaml > "$yaml" || return 1
    python3 - "$json" "$yaml" "$*" <<'END'
import json, sys
try:
    import yaml
except ImportError:
    sys.exit(0 if open(sys.argv[2]).read().startswith("---\n") else 1)
def shape(v):
    if isinstance(v, dict):
        return [(k, shape(x)) for k, x in v.items()]
    if isinstance(v, list):
        return sorted((shape(x) for x in v), key=repr)
    return "number" if isinstance(v, (int, float)) and not isinstance(v, bool) else v
a, b = json.load(open(sys.argv[1])), yaml.safe_load(open(sys.argv[2]))
if shape(a) != shape(b):
    sys.exit(f"{sys.argv[3]}: --yaml is another tree than --json")
END
}

@test "--json and --yaml where Slurm has them, the same tree; a refusal by name where not" {
    for c in squeue sinfo sacct sshare sdiag "scontrol show job" "scontrol show node" "scontrol show partition" "scontrol show reservation" \
        "scontrol show licenses" "scontrol show step" "scontrol ping" "sacctmgr show user" "sacctmgr show account" "sacctmgr show assoc" "sacctmgr show qos"; do
        # shellcheck disable=SC2086 # words
        same_as_json $c
    done
    for c in sprio sstat; do
        for o in --json --yaml; do
            run -1 "$c" $o
            [[ "$output" == "$c: error: $o: not supported: Slurm's $c has no such output"* ]]
        done
    done
}

keys() { "${@:2}" | python3 "$BATS_TEST_DIRNAME/json_keys.py" "$1"; }

@test "--json: every member of Slurm 25.05's parser, of its type: jobs that run, wait, ended, elements, components; nodes, partitions, reservations" {
    cd "$BATS_FILE_TMPDIR" || exit 1
    keys running squeue -j "$J" --json
    keys running scontrol show job "$J" --json
    waits=$(sbatch --parsable -H --wckey=w1 --mail-type=END,FAIL -o 'x.%j' --wrap true)
    array=$(sbatch --parsable -H -a 0-3%2 -o /dev/null --wrap true)
    het=$(sbatch --parsable -H -n1 -o /dev/null --wrap true : -n1)
    for j in "$waits" "$array" "$het"; do
        keys jobs squeue -j "$j" --json
        keys jobs scontrol show job "$j" --json
        keys acct sacct -j "$j" --json
    done
    squeue -j "$waits" --json | python3 -c '
import json, os, sys
j = json.load(sys.stdin)["jobs"][0]
assert j["wckey"] == "w1" and j["mail_type"] == ["END", "FAIL"] and j["cluster"], j
assert j["stdout_expanded"].endswith("/x." + str(j["job_id"])), j["stdout_expanded"]'
    sacct -j "$waits" --json | python3 -c '
import json, sys
j = json.load(sys.stdin)["jobs"][0]
assert j["wckey"]["wckey"] == "w1" and j["association"]["user"] == j["user"] and j["hold"] is True, j
assert j["stdout"].endswith("x.%j") and j["stdout_expanded"].endswith("/x." + str(j["job_id"])), j["stdout"]'
    later=$(sbatch --parsable --begin=now+1hour -o /dev/null --wrap true) # waits, and nobody holds it
    sacct -j "$later" --json | python3 -c 'import json, sys; assert json.load(sys.stdin)["jobs"][0]["hold"] is False'
    scancel "$later"
    scancel "$waits" "$array" "$het"
    keys ran sacct -j "$J" --json
    keys acct sacct -j "$waits" --json
    keys nodes scontrol show nodes --json
    keys partitions scontrol show partition --json
    keys sinfo sinfo --json
    run -0 scontrol create reservation reservationname=keys starttime=now+1hour duration=5 users=root nodes=ALL flags=ignore_jobs
    keys reservations scontrol show reservation --json
    scontrol delete reservationname=keys
}

@test "remuda's own commands: --yaml is the tree of --json" {
    cd "$BATS_FILE_TMPDIR" || exit 1
    printf '#!/bin/sh\n#SBATCH -t 5\n#SBATCH -c 1\ntrue\n' > own.sh
    held=$(sbatch --parsable -H own.sh)
    for c in "why" "why $held" may "report $J" "report --idle" "report --all" "lint own.sh" "config check"; do
        # shellcheck disable=SC2086 # words
        same_as_json remuda $c
    done
    same_as_json sh -c 'remuda extend --dry-run "$J" +1m "$@" || test $? = 1' sh # it has no limit to extend
    scancel "$held"
    [ "$(remuda why --yaml | head -2)" = "---
schema: \"remuda.why/1\"" ]
    run -2 remuda may --yaml=v0.0.43
}

@test "--json=VERSION: those there are, list names them, others are refused" {
    for c in squeue "scontrol show node" "sacctmgr show user"; do
        for v in v0.0.40 v0.0.43 latest data_parser/v0.0.42 v0.0.41+fast; do
            # shellcheck disable=SC2086 # words
            $c --json=$v | python3 -c 'import json,sys; json.load(sys.stdin)'
        done
        # shellcheck disable=SC2086 # words
        [ "$($c --yaml=list)" = "Possible data_parser plugins:
data_parser/v0.0.40
data_parser/v0.0.41
data_parser/v0.0.42
data_parser/v0.0.43" ]
        # shellcheck disable=SC2086 # words
        run -1 $c --json=v9
        [[ "$output" == *"--json=v9: there is no such data parser; v0.0.40 to v0.0.43, latest and list are allowed"* ]]
    done
}

@test "--json wins over -s of squeue and -T of sinfo" {
    [ "$(squeue --json -s | python3 -c 'import json,sys; print(json.load(sys.stdin)["jobs"][0]["name"])')" = sleeper ]
    sinfo -T --json | python3 -c 'import json,sys; assert json.load(sys.stdin)["sinfo"]'
}

@test "-i: a date above each listing, an empty line after it" {
    run --separate-stderr timeout 1.7 squeue -i 1 -o %j
    [[ "${lines[0]}" =~ ^[A-Z][a-z]{2}\ [A-Z][a-z]{2}\ .*\ 20[0-9]{2}$ ]]
    [ "${lines[2]}" = sleeper ]
    [[ "${lines[3]}" =~ \ 20[0-9]{2}$ ]]
    [ "${lines[5]}" = sleeper ]
    [ "$(timeout 1.7 sinfo -h -i 1 -o x%D | grep -c '^x1$')" = 2 ]
    [ "$(timeout 1.7 sinfo -T -i 1 | grep -c "No reservations")" = 2 ]
    [ "$(sinfo -T -l | wc -l)" = 2 ]
    [ "$(sinfo -h -T -l | wc -l)" = 1 ]
    run -1 squeue -i 0
    [[ "$output" == *"error: --iterate=0"*"a number of seconds is needed"* ]]
}

@test "-o and -O of squeue exclude each other; --only-job-state is ids and states" {
    run -1 squeue -h -O Name:10 -o %T
    [ "$output" = "squeue: error: -o (--format) is incompatible with -O (--Format)" ]
    run -1 squeue -h -o %T -O JobID
    [ "$output" = "squeue: error: -O (--Format) is incompatible with -o (--format)" ]
    [ "$(squeue -h --only-job-state | tr -s ' ')" = " $J RUNNING" ]
}

@test "-p, -P and --delimiter: cells as they are" {
    [ "$(sacct -n -X -P -o jobid,jobname -j "$J")" = "$J|sleeper" ]
    [ "$(sacct -n -X -p --delimiter=: -o jobid,jobname -j "$J")" = "$J:sleeper:" ]
    [ "$(sstat -n -P -o jobid -a -j "$J" --delimiter=:)" = "$J.batch" ]
    [ "$(sshare -n -U -p -o rawshares)" = "1|" ]
}

@test "squeue: unknown nodes and ids are named, empty lists choose nothing, elements of an array are shown alone" {
    run -1 squeue -w nosuch
    [ "$output" = "squeue: error: Invalid node name nosuch" ]
    run -1 squeue -w "n[1-1000000]"
    [ "$output" = "squeue: error: Invalid node name n[1-1000000]: a host list names at most 131072 hosts" ]
    run -1 squeue -j frob
    [ "$output" = "squeue: error: Invalid job id: frob" ]
    [ -z "$(squeue -h -u '')" ]
    [ -z "$(squeue -h -t '')" ]
    [ -z "$(squeue -h -j '')" ]
    A=$(sbatch --parsable -H -a 0-9:3%2 -o /dev/null --wrap true)
    [ "$(squeue -h -j "$A" -o %i)" = "${A}_[0,3,6,9%2]" ]
    [ "$(squeue -h -j "${A}_3" -o %i)" = "${A}_3" ]
    [ "$(squeue -j -h -o %i "${A}_3")" = "${A}_3" ]
    [ "$(squeue -h -j "${A}_0,${A}_6" -o %i)" = "${A}_[0,6]" ]
    [ "$(squeue -h -j "${A}_[1-2147483646:2]" -o %i)" = "${A}_[3,9]" ]
    [ "$(squeue -h -j "${A}_[0-2147483646:2],${A}_3,${A}_0" -o %i)" = "${A}_[0,3,6]" ]
    [ -z "$(squeue -h -j "${A}_4")" ]
    [ "$(squeue -h -r -j "$A" -o %i | wc -l)" = 4 ]
    scancel "$A"
}

@test "squeue -r of an array without end is cut short, and says so" {
    A=$(sbatch --parsable -H -a 0-100000000 -o /dev/null --wrap true)
    run -0 --separate-stderr bash -c "squeue -h -r -j $A -o %i | tail -n 1"
    [ "$output" = "${A}_999999" ]
    [[ "$stderr" == *"99000001 further elements of $A wait and are not listed"* ]]
    scancel "$A"
}

@test "a cluster that is not this one is an error; the JSON has this one's name; what is not allocated is null there" {
    run -1 squeue -M nosuch
    [[ "${lines[0]}" == "squeue: error: No cluster 'nosuch' known by database." ]]
    squeue --json | python3 -c 'import json,sys; d = json.load(sys.stdin); assert d["meta"]["slurm"]["cluster"] == "remuda", d["meta"]'
    H=$(sbatch --parsable -H -n 2 -o /dev/null --wrap true)
    squeue --json -j "$H" | python3 -c 'import json,sys; j = json.load(sys.stdin)["jobs"][0]; assert j["job_resources"] is None, j'
    scancel "$H"
}

@test "-O with a field that is none: named, the others shown" {
    run -0 --separate-stderr squeue -h -j "$J" -O JobID:10,nosuch,Nam:5
    [ "${lines[0]}" = "$(printf '%-10s' "$J")" ]
    [[ "$stderr" == *"Invalid job format specification: nosuch"*"Invalid job format specification: Nam"*"did you mean Name?"* ]]
}

@test "a width below 0 is one to the left, one beyond all is said; so is a SLURM_TIME_FORMAT that is none" {
    [ "$(squeue -h -j "$J" -O JobID:-9,JobID:+9,JobID:.-9x)" = "$(printf '%-9s%-9s%-9sx' "$J" "$J" "$J")" ]
    run -0 --separate-stderr squeue -h -j "$J" -O JobID:99999999999
    [ "$output" = "$J" ]
    [ "$stderr" = "squeue: error: JobID:99999999999: no column is wider than 100000" ]
    run -0 --separate-stderr sinfo -h -o '%99999999999R'
    [ -n "$output" ]
    [ "${#output}" -lt 1000 ]
    [[ "$stderr" == *"99999999999R: no column is wider than 100000" ]]
    for command in "squeue -h -j $J -o %V" "scontrol show job $J"; do
        SLURM_TIME_FORMAT=frob run -0 --separate-stderr $command
        [ "$stderr" = "${command%% *}: error: invalid SLURM_TIME_FORMAT = 'frob'" ]
        [[ "$output" =~ 20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]T ]]
        SLURM_TIME_FORMAT=%A run -0 --separate-stderr $command
        [ -z "$stderr" ]
    done
    [[ "$(SLURM_TIME_FORMAT='%A %I %p' squeue -h -j "$J" -o %V)" =~ day\ [01][0-9]\ [AP]M$ ]]
}

@test "sstat: the batch step has to be named, unknown jobs and words are said" {
    [ -z "$(sstat -n -P -o jobid -j "$J" 2>/dev/null)" ]
    [ "$(sstat -n -P -o jobid -j "$J.batch")" = "$J.batch" ]
    run -1 sstat -j frob
    [ "$output" = "sstat: fatal: Bad job/step specified: frob" ]
}

@test "sacct: no window that ends before it begins; what may not run yet is shown by its id alone" {
    run -1 sacct -S now+1hour
    [[ "$output" == "sacct: error: Start time ("*") requested is after end time ("*")." ]]
    run -1 sacct -S frob
    [[ "${lines[0]}" == "Invalid time specification (pos=0): frob" ]]
    H=$(sbatch --parsable -H -J never -o /dev/null --wrap true)
    [ -z "$(sacct -n -X -S now-1hour -o jobname%10 | grep never)" ]
    [ "$(sacct -n -X -P -j "$H" -o jobname)" = never ]
    scancel "$H"
}

@test "sshare -U has the accounts that were used, not what somebody wrote once" {
    H=$(sbatch --parsable -H -A mistyped -o /dev/null --wrap true)
    scancel "$H"
    [ -z "$(sshare -U -n -P -o account | grep mistyped)" ]
    sbatch -W -A used -o /dev/null --wrap 'sleep 1.2'
    for _ in $(seq 300); do sshare -U -n -P -o account | grep -q used && break; sleep 0.1; done
    [ "$(sshare -U -n -P -o account | grep -c used)" = 1 ]
}

@test "sprio -j takes its id as the next word, too; sinfo shows Slurm's release" {
    W=$(sbatch --parsable -n 2 -d "afterany:$J" -o /dev/null --wrap true)
    X=$(sbatch --parsable -n 2 --mem=1G --exclusive -o /dev/null --wrap true)
    for _ in $(seq 300); do [ -n "$(sprio -h -j "$X")" ] && break; sleep 0.1; done
    [ "$(sprio -h -j "$X" -o %i)" = "$X" ]
    [ "$(sprio -h -j 99999)" = "Unable to find jobs matching user/id(s) specified" ]
    [ "$(sinfo -h -O version:0)" = 25.05.0 ]
    scancel "$W" "$X"
}
