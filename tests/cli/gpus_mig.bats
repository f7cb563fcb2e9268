#!/usr/bin/env bats
# Instances of a GPU as devices of their own: types, capability files, what CUDA is told. The GPU's own file is shared by its instances; what keeps them apart are the files of
# nvidia-caps, for which device files with a number that no driver here has stand.
bats_require_minimum_version 1.5.0
load devices

setup_file() {
    export WHY_NOT=
    [ "$(id -u)" = 0 ] || { WHY_NOT="needs root to hide devices"; return 0; }
    TOP=$(mktemp -d /tmp/remuda-mig-XXXXXX)
    export TOP REMUDA_STATE="$TOP/state" REMUDA_NVML="$TOP/nvml.so" REMUDA_FAKE_GPUS="$TOP/gpus" REMUDA_PROC="$TOP/proc" REMUDA_GPU_PERCENT=20
    chmod 755 "$TOP"
    cc -shared -fPIC -o "$TOP/nvml.so" "$BATS_TEST_DIRNAME"/../fake/nvml*.c
    echo "machine a100mig" >"$TOP/gpus"
    # GPU 0 has the file nvidia1, GPU 1 nvidia0; instances 2, 9 and 10 of GPU 0 have capabilities 21 22, 91 92 and 101 102.
    mkdir -p "$TOP/proc"
    printf '195 nvidia\n241 nvidia-caps\n' >"$TOP/proc/devices"
    for gi in 2 9 10; do
        dir="$TOP/proc/driver/nvidia/capabilities/gpu1/mig/gi$gi"
        mkdir -p "$dir/ci0"
        echo "DeviceFileMinor: ${gi}1" >"$dir/access"
        echo "DeviceFileMinor: ${gi}2" >"$dir/ci0/access"
        mknod -m 666 "$TOP/cap${gi}1" c 241 "${gi}1" 2>/dev/null || { WHY_NOT="device files cannot be made here"; return 0; }
        mknod -m 666 "$TOP/cap${gi}2" c 241 "${gi}2"
    done
    mknod -m 666 "$TOP/nvidia0" c 195 0
    mknod -m 666 "$TOP/nvidia1" c 195 1
    cat >"$TOP/seen" <<'S'
#!/bin/sh
# The files that can be opened: no driver answers, but they are not forbidden.
for file in nvidia0 nvidia1 cap21 cap22 cap91 cap92 cap101 cap102; do
    (: <"$(dirname "$0")/$file") 2>&1 | grep -q "No such device or address" && printf '%s ' "$file"
done
echo "| $CUDA_VISIBLE_DEVICES | $SLURM_JOB_GPUS"
S
    devices_up
}

@test "each profile is a type of GPU" {
    [ "$(sinfo -h -o %G)" = "gpu:a100_3g.20gb:1,gpu:a100_1g.5gb:2,gpu:a100:1" ]
}

@test "a job opens the capabilities of its own instance and the file of its GPU, and CUDA is told the instance's name" {
    id=$(sbatch --parsable --mem=100 -c1 --gres=gpu:a100_1g.5gb:1 -o one.out --wrap './seen')
    over "$id"
    [ "$(cat one.out)" = "nvidia1 cap91 cap92 | MIG-102 | 1" ]
}

@test "two jobs on one GPU see each their own instance" {
    first=$(sbatch --parsable --mem=100 -c1 --gres=gpu:a100_3g.20gb:1 -o first.out --wrap './seen; sleep 30')
    for _ in $(seq 300); do [ -s first.out ] && break; sleep 0.1; done
    second=$(sbatch --parsable --mem=100 -c1 --gres=gpu:a100_1g.5gb:2 -o second.out --wrap './seen')
    over "$second"
    scancel "$first"
    [ "$(head -1 first.out)" = "nvidia1 cap21 cap22 | MIG-101 | 0" ]
    [ "$(cat second.out)" = "nvidia1 cap91 cap92 cap101 cap102 | MIG-102,MIG-103 | 1,2" ]
    over "$first"
}

@test "a whole GPU is a number, and opens no instance" {
    id=$(sbatch --parsable --mem=100 -c1 --gres=gpu:a100:1 -o whole.out --wrap './seen')
    over "$id"
    [ "$(cat whole.out)" = "nvidia0 | 0 | 3" ]
}

@test "tasks get their instances by name" {
    id=$(sbatch --parsable --mem=100 -c2 -n1 --gres=gpu:a100_1g.5gb:2 -o tasks.out --wrap 'srun -n2 -c1 --mem=50 --overcommit --gpu-bind=single:1 sh -c "echo \$SLURM_PROCID \$CUDA_VISIBLE_DEVICES"')
    over "$id"
    [ "$(sort tasks.out)" = "$(printf '0 MIG-102\n1 MIG-103')" ]
}

@test "an instance whose memory does not come back is out, the others of its GPU are not" {
    echo "used 101 3000" >>gpus
    id=$(sbatch --parsable --mem=100 -c1 --gres=gpu:a100_1g.5gb:1 --wrap 'true')
    over "$id"
    for _ in $(seq 300); do scontrol show node | grep -q "DeviceOut=gpu:1 NOT_CLEAN" && break; sleep 0.1; done
    id=$(sbatch --parsable --mem=100 -c1 --gres=gpu:a100_1g.5gb:1 -o other.out --wrap './seen')
    over "$id"
    [ "$(cat other.out)" = "nvidia1 cap101 cap102 | MIG-103 | 2" ]
    echo "machine a100mig" >gpus
}
