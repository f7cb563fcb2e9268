#!/usr/bin/env bats
# Each sentence of "My GPUs do not show up" in docs/gpus.md is printed by the program itself, in the situation that it is about: here are the situations, and at the end the page is read.
bats_require_minimum_version 1.5.0
load devices

setup_file() {
    export WHY_NOT=
    TOP=$(mktemp -d /tmp/remuda-page-XXXXXX)
    chmod 755 "$TOP"
    export TOP REMUDA_STATE="$TOP/state" REMUDA_NVML="$TOP/nvml.so" REMUDA_FAKE_GPUS="$TOP/gpus" REMUDA_FAKE_AMD="$TOP/amd"
    export REMUDA_PROC="$TOP/proc" REMUDA_SYS="$TOP/sys" REMUDA_KFD=/nowhere/kfd REMUDA_GPU_PERCENT=5 REMUDA_GPU_ANSWER_MS=500
    cc -shared -fPIC -o "$TOP/nvml.so" "$BATS_TEST_DIRNAME"/../fake/nvml*.c
    cc -shared -fPIC -o "$TOP/rsmi.so" "$BATS_TEST_DIRNAME/../fake/rsmi.c"
    echo "int nothing;" | cc -shared -fPIC -o "$TOP/lacks.so" -x c -
    mkdir "$TOP/proc" "$TOP/sys"
    touch "$TOP/amd"
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down || true
    rm -rf "$TOP"
}

happens() {
    printf '%s\n' "$@" >"$TOP/gpus.new"
    mv "$TOP/gpus.new" "$TOP/gpus"
}
# asked VARIABLE=VALUE…: what the node says when it is asked what it has, kept
asked() { env "$@" remudad node --print-config --state "$TOP/conf" >>"$TOP/said" 2>&1; }
# log_says PATTERN: the same of the node's log, of what may be over before anybody asks
log_says() { grep -h "$1" "$REMUDA_STATE"/log/node-*.log >"$TOP/now" && cat "$TOP/now" >>"$TOP/said"; }
# cluster_says PATTERN: the same of remuda gpus
cluster_says() { remuda gpus >"$TOP/now" && grep -q "$1" "$TOP/now" && cat "$TOP/now" >>"$TOP/said"; }

@test "NVIDIA's: no library, no driver, no device" {
    asked REMUDA_NVML=/nowhere.so
    mkdir -p "$TOP/bus/bus/pci/devices/0000:10:00.0"
    echo 0x10de >"$TOP/bus/bus/pci/devices/0000:10:00.0/vendor"
    echo 0x030200 >"$TOP/bus/bus/pci/devices/0000:10:00.0/class"
    asked REMUDA_NVML=/nowhere.so REMUDA_SYS="$TOP/bus"
    asked REMUDA_NVML="$TOP/lacks.so"
    happens "machine a100x2" "answer:init 0 9"
    asked
    happens "machine a100x2" "answer:count 0 999"
    asked
    happens "machine none"
    asked
    happens "machine a100x2" "answer:index 1 6"
    asked
}

@test "AMD's: no driver, no list, nothing in it, none that may be used, no second source" {
    list="$TOP/amd-sys/class/kfd/kfd/topology/nodes/0"
    asked REMUDA_KFD=/nowhere/kfd
    export REMUDA_KFD=/dev/null REMUDA_NVML=/nowhere.so
    asked REMUDA_RSMI=/nowhere.so
    mkdir -p "$list"
    echo 0 >"$list/gpu_id"
    asked REMUDA_RSMI="$TOP/lacks.so" REMUDA_SYS="$TOP/amd-sys"
    echo "rsmi_init 0 8" >"$TOP/amd"
    asked REMUDA_RSMI="$TOP/rsmi.so" REMUDA_SYS="$TOP/amd-sys"
    echo "rsmi_init 0 9999" >"$TOP/amd"
    asked REMUDA_RSMI="$TOP/rsmi.so" REMUDA_SYS="$TOP/amd-sys" REMUDA_AMD_WAIT_MS=50
    echo 5 >"$list/gpu_id"
    mkdir "$list/properties" # nothing can be read of it
    asked REMUDA_RSMI=/nowhere.so REMUDA_SYS="$TOP/amd-sys"
    rmdir "$list/properties"
    install -m 000 /dev/null "$list/properties"
    kept_out=""
    [ "$(id -u)" = 0 ] && kept_out="setpriv --bounding-set -dac_override,-dac_read_search"
    REMUDA_RSMI=/nowhere.so REMUDA_SYS="$TOP/amd-sys" $kept_out remudad node --print-config >>"$TOP/said" 2>&1
}

@test "of both: not asked, hanging, crashing, without files" {
    mkdir "$TOP/conf"
    echo "AutoDetect=off" >"$TOP/conf/gres.conf"
    asked
    rm "$TOP/conf/gres.conf"
    happens "machine a100x2" "hang 1"
    asked REMUDA_DISCOVER_MS=700
    happens "machine a100x2" "crash 0"
    asked
    happens "machine a100mig"
    asked
}

@test "while the daemon runs: starting, missed, without an answer, hanging" {
    happens "machine a100x2" "slow 0 2000"
    remuda up -q 3>&-
    until_late cluster_says "still starting the GPUs"
    happens "machine a100x2"
    until_late cluster_says "gpu 1 .*: clean"
    happens "machine a100x2" "answer:index 1 6"
    scontrol reconfigure
    until_late cluster_says "was here before and is not there now"
    happens "machine a100x2"
    scontrol reconfigure
    until_late cluster_says "gpu 1 .*: clean"
    happens "machine a100x2" "answer:memory 1 17"
    until_late cluster_says "cannot be asked for: NVML_ERROR_OPERATING_SYSTEM (17)"
    happens "machine a100x2" "hang 0"
    sbatch --mem=100 -c1 --gpus=a100:1 -o /dev/null --wrap true
    until_late log_says "the library of its maker does not answer"
    until_late cluster_says "its library hung twice"
}

# There are 63 numbers: one more GPU of other lines would get the one that a job has.
@test "lines of gres.conf that leave a GPU of a job no number" {
    for n in $(seq 0 62); do
        mknod "$TOP/card$n" c 60 "$n" || ln -s "/dev/tty$n" "$TOP/card$n"
        [ -c "$TOP/card$n" ] || { echo "which a step has, to another" >"$TOP/unsaid"; skip "no 63 device files can be made here"; }
    done
    happens "machine a100x2"
    cluster_says "gpu 0" || remuda up -q 3>&-
    printf '%s\n' AutoDetect=off "Name=gpu Type=a100 File=/dev/full" >"$REMUDA_STATE/gres.conf"
    scontrol reconfigure
    until_late cluster_says ": 1 GPU"
    id=$(sbatch --parsable --mem=100 -c1 --gpus=1 -o /dev/null --wrap "while ! test -e '$TOP/end'; do sleep 0.1; done")
    until_late cluster_says "given to job $id of"
    printf '%s\n' AutoDetect=off "Name=gpu Type=a100 File=$TOP/card[0-62]" >"$REMUDA_STATE/gres.conf"
    scontrol reconfigure
    until_late cluster_says "all stay as they were until it has ended"
    cluster_says "given to job $id of"
    touch "$TOP/end"
    until_late cluster_says ": 63 GPUs"
}

@test "each row of the page was said" {
    rows=0
    while read -r row; do
        rows=$((rows + 1))
        [ -e "$TOP/unsaid" ] && [[ "$row" == *"$(cat "$TOP/unsaid")"* ]] && continue
        grep -qE "$row" "$TOP/said" || { echo "nothing says: $row"; missing=1; }
    done < <(sed -n '/^| it says | then |$/,/^$/p' "$BATS_TEST_DIRNAME/../../docs/gpus.md" | grep '^|' | grep -v -e '^| it says' -e '^|--' |
        sed -e 's/^| \([^|]*\) | .*/\1/' -e 's/[][\\.*^$(){}+?]/\\&/g' -e 's/…/.*/g')
    [ -z "${missing:-}" ]
    [ "$rows" -ge 26 ]
}
