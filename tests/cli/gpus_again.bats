#!/usr/bin/env bats
# The devices of a machine change while the node's daemon runs: instances are made of a GPU, a driver is unloaded and loaded again, a GPU is exchanged or missing. Jobs keep what they have, numbers stay,
# the controller plans with what is there, and `remuda gpus` says how each is.
bats_require_minimum_version 1.5.0
load devices

setup_file() {
    export WHY_NOT=
    [ "$(id -u)" = 0 ] || { WHY_NOT="needs root to hide devices"; return 0; }
    TOP=$(mktemp -d /tmp/remuda-again-XXXXXX)
    export TOP REMUDA_STATE="$TOP/state" REMUDA_NVML="$TOP/nvml.so" REMUDA_FAKE_GPUS="$TOP/gpus" REMUDA_PROC="$TOP/proc" REMUDA_GPU_PERCENT=5
    chmod 755 "$TOP"
    cc -shared -fPIC -o "$TOP/nvml.so" "$BATS_TEST_DIRNAME"/../fake/nvml*.c
    echo "machine a100x2" >"$TOP/gpus"
    mkdir -p "$TOP/proc"
    printf '195 nvidia\n241 nvidia-caps\n' >"$TOP/proc/devices"
    for gi in 2 9 10; do
        dir="$TOP/proc/driver/nvidia/capabilities/gpu1/mig/gi$gi"
        mkdir -p "$dir/ci0"
        echo "DeviceFileMinor: ${gi}1" >"$dir/access"
        echo "DeviceFileMinor: ${gi}2" >"$dir/ci0/access"
    done
    printf '#!/bin/sh\n' >"$TOP/seen"
    devices_up
}

happens() {
    printf '%s\n' "$@" >"$TOP/gpus.new"
    mv "$TOP/gpus.new" "$TOP/gpus"
}
gres_is() { [ "$(sinfo -h -o %G)" = "$1" ]; }
says() { remuda gpus | grep -qE "$1"; }
says_not() { ! says "$1"; }

@test "instances that are made while the daemon has let go are there when it takes them up again; a running job keeps its GPU, and the numbers stay" {
    gres_is "gpu:a100:2"
    until_true says "gpu 0 .*: clean since"
    id=$(sbatch --parsable --mem=100 -c1 --gpus=2 -o keep.out --wrap 'while ! test -e first; do sleep 0.1; done')
    until_true says "gpu 0 .*: in use since 20[0-9T:-]*: job $id; given to job $id of root"
    remuda gpus release
    happens "machine a100mig" # of GPU 0
    remuda gpus resume
    until_true gres_is "gpu:a100_3g.20gb:1,gpu:a100_1g.5gb:2,gpu:a100:2"
    # The GPU that the job has keeps its number, though there is no such device any more; the instances have numbers of their own.
    until_true says "gpu 0 .* a100, .*: in use since .*; given to job $id of root"
    until_true says "gpu 1 .* a100, .*: in use since"
    until_true says "gpu 2 .* a100_3g.20gb, .*MIG-101, an instance of the GPU at PCI 0000:10:00.0: clean since"
    one=$(sbatch --parsable --mem=100 -c1 --gpus=a100_1g.5gb:1 -o one.out --wrap 'echo "$CUDA_VISIBLE_DEVICES | $SLURM_JOB_GPUS"')
    over "$one"
    [ "$(cat one.out)" = "MIG-102 | 3" ]
    [ "$(squeue -h -j "$id" -o %t)" = R ]
    touch first
    over "$id"
    until_true gres_is "gpu:a100_3g.20gb:1,gpu:a100_1g.5gb:2,gpu:a100:1" # nobody has it: it leaves the list
    until_true says_not "gpu 0 "
}

@test "a restart of the daemon while a job goes on does not give its number to another device" {
    id=$(sbatch --parsable --mem=100 -c1 --gpus=a100_1g.5gb:2 -o over.out --wrap 'while ! test -e second; do sleep 0.1; done')
    until_true says "gpu 4 .*: in use"
    kill -9 "$(cat "$REMUDA_STATE"/nodes/*/node.pid)"
    happens "machine a100mig" "gone 101" # one of them is destroyed meanwhile
    remuda up -q 3>&-
    until_true says "gpu 4 .*MIG-103.*: in use since .*given to job $id of root"
    until_true says_not "gpu 3 "
    [ "$(squeue -h -j "$id" -o %t)" = R ]
    touch second
    over "$id"
    happens "machine a100x2"
    scontrol update nodename=ALL state=resume
    until_true gres_is "gpu:a100:2"
}

@test "a driver that fails when the daemon starts does not take the numbers by which a job goes" {
    happens "machine a100x2"
    scontrol update nodename=ALL state=resume
    until_true gres_is "gpu:a100:2"
    id=$(sbatch --parsable --mem=100 -c1 --gpus=2 --wrap 'while ! test -e fourth; do sleep 0.1; done')
    until_true says "gpu 0 .*given to job $id of root"
    remuda gpus release
    happens "machine a100mig"
    remuda gpus resume
    until_true says "gpu 3 .*MIG-102.*: clean since" # as the job has 0 and 1
    one=$(sbatch --parsable --mem=100 -c1 --gpus=a100_1g.5gb:2 --wrap 'while ! test -e fifth; do sleep 0.1; done')
    until_true says "gpu 3 .*given to job $one of root"
    touch fourth
    over "$id"
    for _ in 1 2; do # nor does the next
        kill -9 "$(cat "$REMUDA_STATE"/nodes/*/node.pid)"
        happens "machine a100mig" "answer:init 0 9"
        remuda up -q 3>&- || true
        until_true says "NVML_ERROR_DRIVER_NOT_LOADED"
    done
    happens "machine a100mig"
    scontrol reconfigure
    until_true says "gpu 3 .*MIG-102.*given to job $one of root"
    touch fifth
    over "$one"
    happens "machine a100x2"
    scontrol update nodename=ALL state=resume
    until_true gres_is "gpu:a100:2"
}

@test "without its driver a node has no GPU that it gives to anybody, says why, and has them back when it is asked again" {
    happens "machine a100x2" "answer:init 0 9" "answer:memory 0 9" "answer:memory 1 9"
    until_true says ": unknown since .*NVML_ERROR_DRIVER_NOT_LOADED"
    before=$(grep -c "is not there any more" "$REMUDA_STATE"/log/node-*.log || true)
    scontrol reconfigure
    until_true says ": 0 GPUs$"
    says "NVIDIA's management library could not be started: NVML_ERROR_DRIVER_NOT_LOADED"
    sinfo -h -R -o %E | grep -q "NVML_ERROR_DRIVER_NOT_LOADED"
    [ "$(sinfo -h -o %G)" = "(null)" ]
    [ "$(grep -c "is not there any more" "$REMUDA_STATE"/log/node-*.log)" -gt "$before" ]
    happens "machine a100x2"
    scontrol reconfigure
    until_true gres_is "gpu:a100:2"
    until_true says ": clean since"
    [ -z "$(sinfo -h -R)" ]
}

@test "what contradicts the configuration is said" {
    name=$(sinfo -h -o %n)
    sed -i "s/^NodeName=$name .*/& Gres=gpu:a100:2/" "$REMUDA_STATE/remuda.conf"
    grep -q "Gres=gpu:a100:2" "$REMUDA_STATE/remuda.conf"
    happens "machine a100mig"
    scontrol reconfigure
    until_true says "$name has 1 gpu:a100, configured are 2: it works with what it has"
    sinfo -h -R -o %E | grep -q "$name has 1 gpu:a100, configured are 2"
    # The one that is configured and there, not an instance in its place.
    id=$(sbatch --parsable --mem=100 -c1 --gpus=1 -o conf.out --wrap 'echo "$SLURM_JOB_GPUS"')
    over "$id"
    says "gpu $(cat conf.out) .*GPU-2, PCI"
    echo "Name=gpu File=/dev/null-and-void" >"$REMUDA_STATE/gres.conf"
    scontrol reconfigure
    until_true says "gres.conf:1: File=/dev/null-and-void is no device file on this machine"
    says "gpu . .*GPU-2, PCI" # they are as they were
    rm "$REMUDA_STATE/gres.conf"
    sed -i "s/ Gres=gpu:a100:2$//" "$REMUDA_STATE/remuda.conf"
    happens "machine a100x2"
    scontrol reconfigure
    until_true says ": 2 GPUs, found through NVML"
}

@test "a GPU that is not there any more is missed, also by the next daemon, until it is there or an operator resumes the node" {
    until_true gres_is "gpu:a100:2"
    happens "machine a100x2" "answer:index 1 6"
    kill -9 "$(cat "$REMUDA_STATE"/nodes/*/node.pid)"
    remuda up -q 3>&-
    until_true says "the GPU at 0000:11:00.0 .a100. was here before and is not there now"
    sinfo -h -R -o %E | grep -q "the GPU at 0000:11:00.0 .a100. was here before"
    until_true gres_is "gpu:a100:1"
    happens "machine a100x2" # nobody has to say so
    until_late gres_is "gpu:a100:2"
    until_true says_not "was here before"
    # The look that an operator causes finds it missing: nobody had told him.
    happens "machine a100x2" "answer:index 1 6"
    scontrol update nodename=ALL state=resume
    until_true says "the GPU at 0000:11:00.0 .a100. was here before"
    gres_is "gpu:a100:1"
    scontrol update nodename=ALL state=resume
    until_true says_not "was here before"
    gres_is "gpu:a100:1"
    grep -q "the GPU at 0000:11:00.0 (a100) is not missed any more, as an operator resumed the node" "$REMUDA_STATE"/log/node-*.log
    # What he gave up is used again when it is there, whoever says so, and by the next daemon, too.
    kill -9 "$(cat "$REMUDA_STATE"/nodes/*/node.pid)"
    remuda up -q 3>&-
    until_true gres_is "gpu:a100:1"
    says_not "was here before"
    happens "machine a100x2"
    until_late gres_is "gpu:a100:2" || until_late gres_is "gpu:a100:2"
    says_not "was here before"
}

@test "a node whose driver fails when its daemon starts is planned with no GPU; who wants one waits, and gets it when the driver is there" {
    name=$(sinfo -h -o %n)
    sed -i "s/^NodeName=$name .*/& Gres=gpu:2/" "$REMUDA_STATE/remuda.conf"
    happens "machine a100x2" "answer:init 0 9"
    kill -9 "$(cat "$REMUDA_STATE"/nodes/*/node.pid)"
    scontrol reconfigure
    remuda up -q 3>&- || true
    until_true says "$name has 0 gpu, configured are 2: it works with what it has"
    sinfo -h -R -o %E | grep -q "$name has 0 gpu, configured are 2"
    sinfo -h -R -o %E | grep -q NVML_ERROR_DRIVER_NOT_LOADED
    id=$(sbatch --parsable --mem=100 -c1 --gpus=1 -o late.out --wrap 'echo "$SLURM_JOB_GPUS"')
    other=$(sbatch --parsable --mem=100 -c1 --wrap true)
    over "$other"
    [ "$(squeue -h -j "$id" -o %t)" = PD ]
    remuda why "$id" | grep -q "gpu is configured and not there: NVIDIA's management library could not be started"
    happens "machine a100x2" # it is tried again by itself
    until_late sh -c "[ -z \"\$(squeue -h -j $id)\" ]"
    grep -qE '^[01]$' late.out
    sed -i "s/ Gres=gpu:2$//" "$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    until_true says ": 2 GPUs, found through NVML"
}

@test "a GPU that is not there any more stays for the job that has it, and what is only counted stays anyhow" {
    echo "Name=nic Count=2" >"$REMUDA_STATE/gres.conf"
    scontrol reconfigure
    until_true gres_is "gpu:a100:2,nic:2"
    until_true says "gpu 1 .*: clean"
    id=$(sbatch --parsable --mem=100 -c1 --gpus=2 -o stays.out --wrap 'while ! test -e third; do sleep 0.1; done')
    until_true says "gpu 1 .*: in use since .*; given to job $id of root"
    happens "machine a100x2" "answer:index 1 6"
    scontrol reconfigure
    until_true says "an NVIDIA device does not answer and is not used"
    gres_is "gpu:a100:2,nic:2"
    says "gpu 1 .*given to job $id of root"
    touch third
    over "$id"
    until_true gres_is "gpu:a100:1,nic:2"
    until_true says "the GPU at 0000:11:00.0 .a100. was here before"
    rm "$REMUDA_STATE/gres.conf"
    happens "machine a100x2"
    scontrol reconfigure
    until_true gres_is "gpu:a100:2"
}

@test "lines of gres.conf that change while jobs go on give no number to another device, nor does a restart" {
    first=/dev/full second=/dev/tty # which these jobs can do without
    begins() { grep -q "^gpu:a100:$1:" "$REMUDA_STATE"/nodes/*/devices; }
    printf '%s\n' AutoDetect=off "Name=gpu Type=a100 File=$first" "Name=gpu Type=a100 File=$second" >"$REMUDA_STATE/gres.conf"
    scontrol reconfigure
    until_true grep -q "2=1:7,3=5:0" "$REMUDA_STATE"/nodes/*/devices # others than the two before
    one=$(sbatch --parsable --mem=100 -c1 --gpus=1 --wrap 'while ! test -e sixth; do sleep 0.1; done')
    until_true says "gpu 2 .*given to job $one of root"
    other=$(sbatch --parsable --mem=100 -c1 --gpus=1 --wrap 'while ! test -e seventh; do sleep 0.1; done')
    until_true says "gpu 3 .*given to job $other of root"
    printf '%s\n' AutoDetect=off "Name=gpu Type=a100 File=$second" >"$REMUDA_STATE/gres.conf"
    scontrol reconfigure
    until_true begins 3
    says "gpu 2 .*given to job $one of root"
    touch sixth
    over "$one"
    until_true gres_is "gpu:a100:1" # it was the second's number by then
    says_not "gpu 2 "
    kill -9 "$(cat "$REMUDA_STATE"/nodes/*/node.pid)"
    remuda up -q 3>&-
    until_true says "gpu 3 .*given to job $other of root"
    says_not "gpu 2 "
    touch seventh
    over "$other"
    rm "$REMUDA_STATE/gres.conf"
    scontrol update nodename=ALL state=resume
    until_true gres_is "gpu:a100:2"
}

@test "a node without GPUs says what was looked for" {
    REMUDA_NVML=/nowhere.so REMUDA_KFD=/nowhere run -0 --separate-stderr remudad node --print-config
    [[ "$output" == *"# no GPUs: NVIDIA: no device of NVIDIA's is on the PCI bus, and there is no library (NVIDIA's management library cannot be opened: /nowhere.so"*"; AMD: there is no /nowhere: the driver amdgpu is not loaded, or a container was not given it"* ]]
    happens "machine none"
    scontrol reconfigure
    until_true says "NVIDIA: NVML 12.560.35.03, driver 560.35.03 lists no GPU that jobs can have .*; AMD: there is no /dev/kfd"
    says ": 0 GPUs$"
}
