#!/usr/bin/env bats
# Every number of remuda.conf at its ends: the file is refused in words that name the key, or a cluster starts with it, runs a step and a job,
# loses no node, cancels the job, and goes down. What a setting is for (no memory, one job) is left out by name.
bats_require_minimum_version 1.5.0

setup_file() {
    export REMUDA_STATE="$BATS_FILE_TMPDIR/state"
    cd "$BATS_FILE_TMPDIR" || return 1
    remuda up -q --nodes 2 --cpus 2 --mem 500
    cp "$REMUDA_STATE/remuda.conf" base.conf
    # "KillWait                = 30 sec"; TRES and lists of numbers are no numbers.
    scontrol show config | sed -nE 's/^([A-Za-z]+) *= (-?[0-9]+( (sec|min|percent|MB))?|UNLIMITED|INFINITE|[0-9-]+:[0-9:]+)$/\1/p' | sort -u >keys
    remuda down
}

teardown_file() { remuda down || true; }

runs() { [ "$(squeue -h -j "$1" -o %T)" = RUNNING ]; }
within() { # within SECONDS COMMAND…
    local until=$((SECONDS + $1))
    until "${@:2}"; do
        ((SECONDS < until)) || return 1
        sleep 0.2
    done
}
nothing() { [ -z "$(squeue -h)" ]; }

lives() {
    local id
    remuda up -q 3>&- || return 1
    timeout 60 srun -Q -n2 -t1 true || return 1
    id=$(sbatch --parsable -t5 -o none --wrap 'sleep 300') && within 60 runs "$id" || return 1
    sleep 1.5
    runs "$id" && [ "$(sinfo -h -N -o %T | grep -cE 'down|unk|\*')" = 0 ] || return 1
    scancel "$id" && within 60 nothing && remuda down
}

one() { # one KEY VALUE
    local said
    { cat base.conf; echo "$1=$2"; } >"$REMUDA_STATE/remuda.conf"
    if said=$(remuda config check "$REMUDA_STATE/remuda.conf" 2>&1); then
        lives >said 2>&1
    else
        grep -qi "$1" <<<"$said"
    fi
}

all_at() {
    local key failed=()
    cd "$BATS_FILE_TMPDIR" || return 1
    (($(wc -l <keys) > 40))
    while read -r key; do
        case $key in MaxJobCount | PidsMax | *Mem*) continue ;; esac
        one "$key" "$1" </dev/null || {
            failed+=("$key=$1: $(tail -n 3 said)")
            remuda down || true
        }
    done <keys
    printf '%s\n' "${failed[@]}"
    [ ${#failed[@]} = 0 ]
}

@test "every number is 0" { all_at 0; }
@test "every number is 1" { all_at 1; }
@test "every number is the largest" { all_at 2147483647; }
@test "every number is INFINITE" { all_at INFINITE; }
