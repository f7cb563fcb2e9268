#!/usr/bin/env bats
# Each behaviour of tests/fake/nvml_behaviours.h through real daemons. It begins while a job has all GPUs, and stands when the job is over: then `remuda gpus` shows what the row says of the
# devices 0 and 1, and a job that wants all of them waits if one of the two is not clean. Once all is well, which an operator has to say of what is broken or lost for good, it runs. What does not
# depend on processes or on finding the devices is there when the node's daemon starts, too.
bats_require_minimum_version 1.5.0
load ../cli/devices

setup() { :; }
teardown() {
    scancel -u "$(id -un)" || true
    remuda down || true
    kill "$OTHER" "$LEFT" 2>/dev/null || true
    rm -rf "$TOP"
}

# begin MACHINE: a node that has it, and the table in $TOP/rows: name, lines (with |), and the words of device 0 and device 1
begin() {
    TOP=$(mktemp -d /tmp/remuda-behaviours-XXXXXX)
    export TOP REMUDA_STATE="$TOP/state" REMUDA_NVML="$TOP/nvml.so" REMUDA_FAKE_GPUS="$TOP/gpus" REMUDA_PROC="$TOP/proc" REMUDA_GPU_PERCENT=5
    machine=$1
    for gpu in 0 1 2 3; do # the driver's own list
        mkdir -p "$TOP/proc/driver/nvidia/gpus/0000:1$gpu:00.0"
        printf 'Model: \t\t NVIDIA A100-SXM4-40GB\nGPU UUID: \t GPU-????????-????\nDevice Minor: \t %s\n' $gpu >"$TOP/proc/driver/nvidia/gpus/0000:1$gpu:00.0/information"
    done
    cd "$TOP" || exit 1
    cc -shared -fPIC -o nvml.so "$BATS_TEST_DIRNAME"/../fake/nvml*.c
    { echo '#include <stdio.h>'; echo "#include \"$BATS_TEST_DIRNAME/../fake/nvml_behaviours.h\""
      echo '#define X(name, lines, first, second, source) puts(#name "\t" lines "\t" first "\t" second "\f");'
      echo 'int main(void) { NVML_BEHAVIOURS(X) return 0; }'; } | cc -o rows.bin -x c -
    ./rows.bin | tr '\n\f' '|\n' | sed -e 's/^|//' -e 's/|\t/\t/' | grep "machine $machine" >rows
    echo "machine $machine" >gpus
    sleep 3600 3>&- & OTHER=$!
    LEFT=
    remuda up -q 3>&-
    well_again
}

happens() {
    printf '%s\n' "$@" >gpus.new
    mv gpus.new gpus
}
# What a sign makes of a device, as remuda gpus calls it.
word_of() {
    case $1 in
    clean | held) echo "$1" ;;
    doubt) echo suspect ;;
    blind) echo unknown ;;
    reset | broken) echo broken ;;
    lost | absent) echo gone ;;
    esac
}
are() { remuda gpus >now && grep -qE "gpu 0 .*: $1 since" now && grep -qE "gpu 1 .*: $2 since" now; }
shown() { until_late are "$(word_of "$1")" "$(word_of "$2")" || { echo "$name: not $1 and $2"; cat now; return 1; }; }
runs() { [ "$(squeue -h -j "$1" -o %t)" = R ]; }
is_over() { [ -z "$(squeue -h -j "$1" 2>/dev/null)" ]; }

well_again() {
    happens "machine $machine" "action 0 0"
    if grep -qE ": (broken|gone) since" now 2>/dev/null; then scontrol update nodename=ALL state=resume; fi
    until_late are clean clean
}

# during ALL ROW…: it begins while a job has the GPUs that the options ALL ask for
during() {
    local all=$1 lines=$2 id
    shift 2
    rm -f went go
    id=$(sbatch --parsable --mem=50 -c1 $all -o job.out --wrap 'echo "$REMUDA_STEP_DIR" >went.new; mv went.new went; while ! test -e go; do sleep 0.05; done')
    until_late runs "$id"
    until_late test -s went
    setsid env REMUDA_STEP_DIR="$(cat went)" SLURM_JOB_ID="$id" sleep 600 3>&- & LEFT=$!
    lines=${lines//PID/$LEFT}
    IFS='|' read -ra line <<<"${lines//OTHER/$OTHER}"
    happens "${line[@]}"
    touch go
    until_late is_over "$id"
    shown "$@"
}

# given_or_not ALL FIRST SECOND: a job gets them all only if both are clean
given_or_not() {
    local all=$1 id other
    id=$(sbatch --parsable --mem=50 -c1 $all -o /dev/null --wrap true)
    other=$(sbatch --parsable --mem=50 -c1 -o /dev/null --wrap true)
    until_late is_over "$other"
    if [ "$2 $3" != "clean clean" ]; then
        [ "$(squeue -h -j "$id" -o %t)" = PD ] || { echo "$name: given out"; return 1; }
        kill "$LEFT" 2>/dev/null || true
        well_again
    fi
    until_late is_over "$id"
    kill "$LEFT" 2>/dev/null || true
    [ "$(sacct -nX -j "$id" -o state%20 | tr -d ' ')" = COMPLETED ]
}

# at_start ROW…: it is there when the daemon starts
at_start() {
    local lines=$1
    IFS='|' read -ra line <<<"$lines"
    happens "${line[@]}"
    local pid
    pid=$(cat "$REMUDA_STATE"/nodes/*/node.pid)
    kill -9 "$pid"
    while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done # else `up` finds it there
    remuda up -q 3>&- || true
    if [[ "$lines" =~ init ]]; then # it has none, says why, and has them again when the library starts
        until_late sh -c "remuda gpus | grep -q \"NVIDIA's management library could not be started: NVML_ERROR\""
        remuda gpus | grep -q ": 0 GPUs$"
    else
        shown "$2" "$3"
    fi
}

all_rows() {
    local n=0
    while IFS=$'\t' read -r name lines first second; do
        n=$((n + 1))
        if [[ "$lines" =~ answer:memory ]] || ! [[ "$lines" =~ uuid_of|init ]]; then # those are asked at the start alone
            during "$1" "$lines" "$first" "$second"
            given_or_not "$1" "$first" "$second"
            well_again
        fi
        [[ "$lines" =~ PID|OTHER|gone|many ]] || [[ "$lines" =~ a100mig.*lost ]] && continue
        at_start "$lines" "$first" "$second"
        [[ "$lines" =~ init ]] || given_or_not "$1" "$first" "$second"
        well_again
    done <rows
    [ "$n" -ge "$2" ]
}

@test "whole GPUs: each behaviour, while a job has them, after it, and at the start" {
    begin a100x4
    all_rows --gpus=4 20
}

@test "instances: each behaviour" {
    begin a100mig
    all_rows --gres=gpu:a100_3g.20gb:1,gpu:a100_1g.5gb:2 3
}

@test "eight GPUs without persistence mode take half a minute to start: unknown meanwhile and nobody's, clean then, and nothing is ended for it" {
    TOP=$(mktemp -d /tmp/remuda-behaviours-XXXXXX)
    export TOP REMUDA_STATE="$TOP/state" REMUDA_NVML="$TOP/nvml.so" REMUDA_FAKE_GPUS="$TOP/gpus" REMUDA_PROC="$TOP"
    OTHER="" LEFT=""
    cd "$TOP" || exit 1
    cc -shared -fPIC -o nvml.so "$BATS_TEST_DIRNAME"/../fake/nvml*.c
    { echo "machine a100x8"; for gpu in 0 1 2 3 4 5 6 7; do echo "slow $gpu 3500"; done; } >gpus
    remuda up -q 3>&- || true
    until_late sh -c 'remuda gpus | grep -q ": 8 GPUs"'
    until_late sh -c '[ "$(remuda gpus | grep -c ": unknown since .*still starting the GPUs")" = 8 ]'
    id=$(sbatch --parsable --mem=50 -c1 --gpus=8 -o eight.out --wrap 'echo "$SLURM_JOB_GPUS"')
    [ "$(squeue -h -j "$id" -o %t)" = PD ]
    until_late is_over "$id" || until_late is_over "$id"
    [ "$(cat eight.out)" = 0,1,2,3,4,5,6,7 ]
    run -1 grep -E "started again|do not answer" "$REMUDA_STATE"/log/node-*.log
}
