#!/usr/bin/env bats
# GPUs of one machine, as a fake NVML tells of them: who gets which, and that nobody can open another's. Device files with NVIDIA's numbers stand for the GPUs: opening one
# that is allowed finds no driver (ENXIO), one that is hidden is not permitted (EPERM).
bats_require_minimum_version 1.5.0

setup_file() {
    export WHY_NOT=
    [ "$(id -u)" = 0 ] || { WHY_NOT="needs root to hide devices"; return 0; }
    TOP=$(mktemp -d /tmp/remuda-gpus-XXXXXX)
    export TOP REMUDA_STATE="$TOP/state" REMUDA_NVML="$TOP/nvml.so"
    chmod 755 "$TOP"
    for minor in 0 1 2 3; do
        mknod -m 666 "$TOP/nvidia$minor" c 195 "$minor" 2>/dev/null || { WHY_NOT="device files cannot be made here"; return 0; }
    done
    # The files' numbers run against the GPUs' own, as they may on real machines.
    cat >"$TOP/nvml.c" <<'C'
#include <stdint.h>
#include <stdio.h>
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 4; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = (void *) (uintptr_t) (i + 1); return 0; }
int nvmlDeviceGetName(void *d, char *to, unsigned n) { snprintf(to, n, "NVIDIA A100-SXM4-40GB"); return 0; }
int nvmlDeviceGetUUID(void *d, char *to, unsigned n) { snprintf(to, n, "GPU-%d", (int) (uintptr_t) d); return 0; }
int nvmlDeviceGetMemoryInfo(void *d, unsigned long long *m) { m[0] = 40ull << 30; return 0; }
int nvmlDeviceGetCpuAffinity(void *d, unsigned n, unsigned long *set) { set[0] = 3; return 0; }
int nvmlDeviceGetMinorNumber(void *d, unsigned *minor) { *minor = 4 - (unsigned) (uintptr_t) d; return 0; }
C
    cc -shared -fPIC -o "$TOP/nvml.so" "$TOP/nvml.c"
    cat >"$TOP/seen" <<'S'
#!/bin/sh
# Numbers of the GPUs whose files can be opened, by their own numbers.
for gpu in 0 1 2 3; do
    (: <"$(dirname "$0")/nvidia$((3 - gpu))") 2>&1 | grep -q "No such device or address" && printf '%s ' "$gpu"
done
echo "| $CUDA_VISIBLE_DEVICES | $SLURM_JOB_GPUS"
S
    chmod 755 "$TOP/seen"
    remuda up -q 3>&-
    grep -q "devices of other jobs are not hidden" "$REMUDA_STATE"/log/node-*.log && WHY_NOT="no devices control group can be written here"
    return 0
}

teardown_file() {
    [ -n "${TOP:-}" ] || return 0
    scancel -u root || true
    remuda down || true
    rm -rf "$TOP"
}

setup() {
    [ -z "$WHY_NOT" ] || skip "$WHY_NOT"
    cd "$TOP" || exit 1
}

over() {
    for _ in $(seq 100); do [ -z "$(squeue -h -j "$1" 2>/dev/null)" ] && return 0; sleep 0.1; done
    squeue
    return 1
}

@test "the GPUs are found, and all are of one type" {
    [ "$(sinfo -h -o %G)" = "gpu:a100:4" ]
}

@test "a job opens its own GPUs, counted from 0, and no others" {
    first=$(sbatch --parsable --mem=100 -c1 --gres=gpu:2 -o first.out --wrap './seen; sleep 30')
    for _ in $(seq 100); do [ -s first.out ] && break; sleep 0.1; done
    second=$(sbatch --parsable --mem=100 -c1 --gpus=1 -o second.out --wrap './seen')
    over "$second"
    scancel "$first"
    [ "$(cat first.out | head -1)" = "0 1 | 0,1 | 0,1" ]
    [ "$(cat second.out)" = "2 | 0 | 2" ]
    over "$first"
}

@test "a job without GPUs opens none" {
    id=$(sbatch --parsable --mem=100 -c1 -o none.out --wrap './seen')
    over "$id"
    [ "$(cat none.out)" = "| NoDevFiles | " ]
}

@test "a step holds what it asked for of its job's GPUs" {
    id=$(sbatch --parsable --mem=100 -c1 --gres=gpu:3 -o step.out --wrap 'srun -n1 --mem=50 --gres=gpu:1 ./seen; srun -n1 --mem=50 ./seen')
    over "$id"
    [ "$(sed -n 1p step.out)" = "0 | 0 | 0,1,2" ]
    [ "$(sed -n 2p step.out)" = "0 1 2 | 0,1,2 | 0,1,2" ]
}
