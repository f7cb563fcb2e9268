#!/usr/bin/env bats
# GPUs of one machine, as a fake NVML tells of them: who gets which, and that nobody can open another's. Device files with NVIDIA's numbers stand for the GPUs: opening one
# that is allowed finds no driver (ENXIO), one that is hidden is not permitted (EPERM).
bats_require_minimum_version 1.5.0
load devices

setup_file() {
    export WHY_NOT=
    [ "$(id -u)" = 0 ] || { WHY_NOT="needs root to hide devices"; return 0; }
    TOP=$(mktemp -d /tmp/remuda-gpus-XXXXXX)
    export TOP REMUDA_STATE="$TOP/state" REMUDA_GPU_PERCENT=20 REMUDA_NVML="$TOP/nvml.so" REMUDA_FAKE_GPUS="$TOP/gpus"
    chmod 755 "$TOP"
    for minor in 0 1 2 3; do
        mknod -m 666 "$TOP/nvidia$minor" c 195 "$minor" 2>/dev/null || { WHY_NOT="device files cannot be made here"; return 0; }
    done
    # What the driver itself lists: of a GPU that does not answer there is nothing else.
    for gpu in 0 1 2 3; do
        mkdir -p "$TOP/proc/driver/nvidia/gpus/0000:1$gpu:00.0"
        printf 'Model: \t\t NVIDIA A100-SXM4-40GB\nIRQ:   \t\t 28\nGPU UUID: \t GPU-????????-????\nDevice Minor: \t %s\n' $((3 - gpu)) >"$TOP/proc/driver/nvidia/gpus/0000:1$gpu:00.0/information"
    done
    export REMUDA_PROC="$TOP/proc"
    # The files' numbers run against the GPUs' own, as they may on real machines.
    cc -shared -fPIC -o "$TOP/nvml.so" "$BATS_TEST_DIRNAME"/../fake/nvml*.c
    echo "machine a100x4" >"$TOP/gpus"
    cat >"$TOP/seen" <<'S'
#!/bin/sh
# Numbers of the GPUs whose files can be opened, by their own numbers.
for gpu in 0 1 2 3; do
    (: <"$(dirname "$0")/nvidia$((3 - gpu))") 2>&1 | grep -q "No such device or address" && printf '%s ' "$gpu"
done
echo "| $CUDA_VISIBLE_DEVICES | $SLURM_JOB_GPUS"
S
    devices_up
}

@test "the GPUs are found, and all are of one type" {
    [ "$(sinfo -h -o %G)" = "gpu:a100:4" ]
}

@test "a job opens its own GPUs, counted from 0, and no others" {
    first=$(sbatch --parsable --mem=100 -c1 --gres=gpu:2 -o first.out --wrap './seen; sleep 30')
    for _ in $(seq 300); do [ -s first.out ] && break; sleep 0.1; done
    second=$(sbatch --parsable --mem=100 -c1 --gpus=1 -o second.out --wrap './seen')
    over "$second"
    scancel "$first"
    [ "$(cat first.out | head -1)" = "0 3 | 0,1 | 0,3" ] # these two are linked
    [ "$(cat second.out)" = "1 | 0 | 1" ]
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
    [ "$(sed -n 1p step.out)" = "0 | 0 | 0,1,3" ]
    [ "$(sed -n 2p step.out)" = "0 1 3 | 0,1,2 | 0,1,3" ]
}

@test "a step that names GPUs is not held to those that its job's variables name" {
    run salloc -Q --mem=100 -c1 --gpus=2 sh -c 'for o in --gres=gpu:1 --gpus=1 --gpus-per-node=1 --mem=50 --gres=none; do srun -n1 --mem=50 $o printenv CUDA_VISIBLE_DEVICES; done'
    [ "$(echo $output)" = "0 0 0 0,1 NoDevFiles" ]
    run salloc -Q --mem=100 -c1 --gpus-per-node=2 sh -c 'for o in --gpus=1 --gres=gpu:1 --mem=50; do srun -n1 --mem=50 $o printenv CUDA_VISIBLE_DEVICES; done'
    [ "$(echo $output)" = "0 0 0,1" ]
}

# bound OPTION…: the GPUs that each of two tasks of a step with two GPUs is told of
# (once those of the step before are looked at, so that it is the same two)
bound() {
    until_true shows_not DeviceOut
    srun -n2 --mem=100 "$@" sh -c 'echo "$SLURM_PROCID:$CUDA_VISIBLE_DEVICES:$ROCR_VISIBLE_DEVICES:$GPU_DEVICE_ORDINAL:$SLURM_STEP_GPUS"' | sort | tr '\n' ' '
}

@test "each task is told of its own GPUs, counted from 0 within its step" {
    [ "$(bound --gres=gpu:2)" = "0:0,1:0,1:0,1:0,3 1:0,1:0,1:0,1:0,3 " ]
    [ "$(bound --gpus-per-task=1)" = "0:0:0:0:0,3 1:1:1:1:0,3 " ]
    [ "$(bound --gres=gpu:2 --gpu-bind=single:1)" = "0:0:0:0:0,3 1:1:1:1:0,3 " ]
    [ "$(bound --gres=gpu:2 --gpu-bind=single:2)" = "0:0:0:0:0,3 1:0:0:0:0,3 " ]
    [ "$(bound --gres=gpu:2 --gpu-bind=map_gpu:1,0)" = "0:1:1:1:0,3 1:0:0:0:0,3 " ]
    [ "$(bound --gres=gpu:2 --gpu-bind=mask_gpu:3,2)" = "0:0,1:0,1:0,1:0,3 1:1:1:1:0,3 " ]
    [ "$(bound --gpus-per-task=1 --gpu-bind=none)" = "0:0,1:0,1:0,1:0,3 1:0,1:0,1:0,1:0,3 " ]
    [ "$(bound --gpus=2 --ntasks-per-gpu=1)" = "0:0:0:0:0,3 1:1:1:1:0,3 " ]
}

# What happens to the machine from now on: one line each.
happens() {
    { echo "machine a100x4"; printf '%s\n' "$@"; } >"$TOP/gpus.new"
    mv "$TOP/gpus.new" "$TOP/gpus"
}

@test "a GPU whose memory does not come back is out of use, the node is not, and it comes back by itself" {
    happens
    all_clean() { [ "$(remuda gpus | grep -c ": clean since")" = 4 ]; }
    until_true all_clean # of those before, so that this job has the first
    id=$(sbatch --parsable --mem=100 -c1 --gpus=2 -o stuck.out --wrap 'echo "used 0 9000" >>gpus; sleep 1')
    over "$id"
    until_true shows "DeviceOut=gpu:0 NOT_CLEAN since .*9000 MiB of its memory are in use"
    remuda status | grep -q "gpu 0 is not used: 9000 MiB"
    shows "State=IDLE"
    id=$(sbatch --parsable --mem=100 -c1 --gpus=3 -o rest.out --wrap './seen')
    over "$id"
    [ "$(cat rest.out)" = "1 2 3 | 0,1,2 | 1,2,3" ]
    id=$(sbatch --parsable --mem=100 -c1 --gpus=4 -o all.out --wrap './seen')
    sleep 1
    [ "$(squeue -h -j "$id" -o %t)" = PD ]
    run -0 remuda why "$id"
    [[ "$output" == *"out of use since "*": gpu 0 of "*" is not clean (9000 MiB of its memory are in use, though no process is known to hold them); it is used again by itself as soon as it is"* ]]
    [[ "$output" == *"promised: its nodes are kept for it; a device there has yet to be found clean"* ]]
    happens
    over "$id"
    [ "$(cat all.out)" = "0 1 2 3 | 0,1,2,3 | 0,1,2,3" ]
    shows_not DeviceOut
}

@test "a process of a job that computes on its GPU after the job's end is named" {
    setsid sh -c 'REMUDA_STEP_DIR=/x SLURM_JOB_ID=77 exec sleep 60' 3>&- &
    pid=$!
    happens "process 3 $pid 100"
    id=$(sbatch --parsable --mem=100 -c1 --gpus=2 --wrap 'true')
    over "$id"
    until_true shows "DeviceOut=gpu:3 NOT_CLEAN since .*process $pid .sleep. of job 77 still holds it"
    kill "$pid"
    happens
    until_true shows_not DeviceOut
}

@test "a process that a step leaves on its GPU keeps the next step of the job from it; another GPU of the job serves, the batch script's own process is no hindrance" {
    happens
    rm -f left go held
    cat >left.sh <<'S'
#!/bin/sh
echo "process 0 $$ 100" >>gpus # the script itself computes
srun -n1 --exact --mem=20 --gres=gpu:1 sh -c 'echo "$REMUDA_STEP_DIR" >left; while ! test -e go; do sleep 0.1; done'
while ! test -e held; do sleep 0.1; done
srun -n1 --exact --mem=20 --gres=gpu:1 ./seen
srun -n1 --exact --mem=20 --gres=gpu:2 ./seen
S
    id=$(sbatch --parsable --mem=100 -c1 --gres=gpu:2 -o left.out left.sh)
    until_true test -s left
    # It has the step's environment, but is none of its processes: as one that cannot be killed.
    setsid env REMUDA_STEP_DIR="$(cat left)" SLURM_JOB_ID="$id" sleep 60 3>&- &
    pid=$!
    script=$(sed -n 's/^process 0 \([0-9]*\) .*/\1/p' gpus)
    happens "process 0 $script 100" "process 0 $pid 50"
    touch go
    until_true shows "DeviceOut=gpu:0 NOT_CLEAN since .*process $pid .sleep. of job $id still holds it"
    touch held
    until_true grep -q "3 | 0 | 0,3" left.out
    until_true grep -q "step creation temporarily disabled.*gpu 0 of .* is not clean: process $pid" left.out
    kill "$pid"
    happens "process 0 $script 100"
    over "$id"
    [ "$(tail -1 left.out)" = "0 3 | 0,1 | 0,3" ]
    happens
    until_true shows_not DeviceOut
}

@test "neither node daemon nor controller forget a GPU that is not clean" {
    happens "used 3 5000"
    id=$(sbatch --parsable --mem=100 -c1 --gpus=3 --wrap 'true')
    over "$id"
    until_true shows "DeviceOut=gpu:3 NOT_CLEAN"
    kill -9 "$(cat "$REMUDA_STATE"/nodes/*/node.pid)" "$(remuda status --pid controller)"
    remuda up -q 3>&-
    until_true shows "DeviceOut=gpu:3 NOT_CLEAN"
    id=$(sbatch --parsable --mem=100 -c1 --gpus=3 -o after.out --wrap './seen')
    over "$id"
    [ "$(cat after.out)" = "0 1 2 | 0,1,2 | 0,1,2" ]
    happens
    until_true shows_not DeviceOut
}

# Every listing names GPU 0, that it is broken, and why.
everything_says_lost() {
    local name
    name=$(sinfo -h -o %n)
    scontrol -o show node | grep -q "DeviceOut=gpu:0 BROKEN since .*IS_LOST"
    scontrol -d show node | grep -q "GresDrain=gpu:a100:1(IDX:0)"
    [ "$(sinfo -h -R -o "%E|%u|%N")" = "gpu:0 broken: GPU GPU-1 is lost: NVML_ERROR_GPU_IS_LOST|remuda|$name" ]
    [ "$(sinfo -h -N -o "%T %E")" = "mixed gpu:0 broken: GPU GPU-1 is lost: NVML_ERROR_GPU_IS_LOST" ]
    [ "$(sinfo -h -O gres:20,gresdrain:20,gresused:20 | tr -s ' ')" = "gpu:a100:4 gpu:a100:1(IDX:0) gpu:a100:1(IDX:0) " ]
    scontrol show node --json | python3 -c '
import json, sys
n = json.load(sys.stdin)["nodes"][0]
assert n["gres_drained"] == "gpu:a100:1(IDX:0)", n["gres_drained"]
assert n["reason"] == "gpu:0 broken: GPU GPU-1 is lost: NVML_ERROR_GPU_IS_LOST", n["reason"]
d = n["devices_out"][0]
assert (d["kind"], d["index"], d["state"]) == ("gpu", 0, "BROKEN") and "IS_LOST" in d["reason"], d
assert d["since"]["number"] == n["reason_changed_at"]["number"] > 0'
    sinfo --json | python3 -c '
import json, sys
r = json.load(sys.stdin)["sinfo"][0]
assert r["gres"]["drained"] == "gpu:a100:1(IDX:0)", r["gres"]
assert "IS_LOST" in r["reason"]["description"] and "IS_LOST" in r["devices_out"][0]["reason"]'
}

@test "a lost GPU is out until it is asked back, its job is told, the others work on" {
    happens
    id=$(sbatch --parsable --mem=100 -c1 --gpus=1 -o lost.out --wrap 'sleep 60')
    for _ in $(seq 300); do [ "$(squeue -h -j "$id" -o %t)" = R ] && break; sleep 0.1; done
    until_true test -e lost.out
    happens "lost 0"
    until_true grep -q "slurmstepd: error: GPU 0 of .*, which this job uses, is broken: GPU GPU-1 is lost: NVML_ERROR_GPU_IS_LOST" lost.out
    until_true shows "DeviceOut=gpu:0 BROKEN since .*NVML_ERROR_GPU_IS_LOST"
    everything_says_lost
    [ "$(squeue -h -j "$id" -o %t)" = R ]
    scancel "$id"
    over "$id"
    id=$(sbatch --parsable --mem=100 -c1 --gpus=3 -o others.out --wrap './seen')
    over "$id"
    [ "$(cat others.out)" = "1 2 3 | 0,1,2 | 1,2,3" ]
    id=$(sbatch --parsable --exclusive --mem=100 -o whole.out --wrap './seen')
    over "$id"
    [ "$(cat whole.out)" = "1 2 3 | 0,1,2 | 1,2,3" ]
    kill -9 "$(cat "$REMUDA_STATE"/nodes/*/node.pid)"
    remuda up -q 3>&-
    until_true shows "DeviceOut=gpu:0 BROKEN"
    scontrol update nodename=ALL state=resume
    until_true shows "DeviceOut=gpu:0 BROKEN" # still lost
    id=$(sbatch --parsable --mem=100 -c1 --gpus=4 -o back.out --wrap './seen')
    until_true sh -c "remuda why $id | grep -q 'gpu 0 of .* is broken (GPU at 0000:10:00.0 is lost: NVML_ERROR_GPU_IS_LOST); when it is mended, .scontrol update nodename=.* state=resume. has it looked at again'"
    happens
    scontrol update nodename=ALL state=resume
    until_true shows_not DeviceOut
    over "$id"
    [ "$(cat back.out)" = "0 1 2 3 | 0,1,2,3 | 0,1,2,3" ]
    until_true sh -c "[ -z \"\$(sinfo -h -R)\" ]" # what the node complained of goes with its next word
    until_true sh -c "[ \"\$(sinfo -h -O gresdrain | tr -d ' ')\" = N/A ]"
}

@test "the command of a step is told, too, and the step goes on" {
    happens
    srun -n1 --mem=100 --gpus=1 sh -c 'echo go; while ! test -e told; do sleep 0.1; done; echo end' >srun.out 2>srun.err 3>&- &
    pid=$!
    until_true grep -q go srun.out
    happens "xid 0 95"
    until_true grep -q "slurmstepd: error: GPU 0 of .*, which this job uses, is broken: GPU GPU-1 reports XID 95: uncontained memory error" srun.err
    touch told
    wait "$pid"
    [ "$(tail -1 srun.out)" = end ]
    happens
    scontrol update nodename=ALL state=resume
    until_true shows_not DeviceOut
}

@test "a fatal XID and uncorrectable memory errors take a GPU out; an XID of a program does not" {
    happens "xid 1 13" "xid 1 31" "xid 2 79" "ecc 3 2"
    until_true shows "DeviceOut=gpu:2 BROKEN .*XID 79: it has fallen off the bus"
    until_true shows "DeviceOut=gpu:3 BROKEN .*2 new uncorrectable memory errors"
    shows_not "DeviceOut=gpu:1"
    # XIDs are said once: a new daemon of the node learns of it from the controller.
    kill -9 "$(cat "$REMUDA_STATE"/nodes/*/node.pid)"
    happens "ecc 3 2"
    remuda up -q 3>&-
    until_true shows "DeviceOut=gpu:2 BROKEN"
    id=$(sbatch --parsable --mem=100 -c1 --gpus=2 -o xid.out --wrap './seen')
    over "$id"
    [ "$(cat xid.out)" = "0 1 | 0,1 | 0,1" ]
    scontrol update nodename=ALL state=resume
    until_true shows_not DeviceOut
}

@test "devices are described when the configuration is asked for" {
    happens
    run -0 --separate-stderr remudad node --print-config
    [[ "$output" == *"Gres=gpu:a100:4"* ]]
    [[ "$output" == *"# gpu 0: a100, 40960 MiB, GPU-1, PCI 0000:10:00.0,"*"linked with 3"* ]]
    [[ "$output" == *"# gpu 1: a100, 40960 MiB, GPU-2, PCI 0000:11:00.0,"*"linked with 2"* ]]
    echo "machine a100x8" >gpus
    run -0 --separate-stderr remudad node --print-config
    [[ "$output" == *"# gpu 7: a100,"*"linked with 0+1+2+3+4+5+6"* ]]
    echo "machine mixed" >gpus
    run -0 --separate-stderr remudad node --print-config
    [[ "$output" == *"Gres=gpu:v100:2,gpu:t4:2"* ]]
    [[ "$output" == *"# gpu 2: t4, 15360 MiB, GPU-3"* ]]
    happens
}

@test "a library that hangs, crashes or talks nonsense keeps no node daemon from starting" {
    happens "count 0 4294967295"
    run -0 --separate-stderr remudad node --print-config
    [[ "$stderr" == *"does not say how many devices there are; none are used"* ]]
    [[ "$output" == *"CPUs="* && "$output" != *"Gres="* ]]
    happens "crash 0"
    run -0 --separate-stderr remudad node --print-config
    [[ "$stderr" == *"a library ended the process that did it"* ]]
    [[ "$output" == *"CPUs="* ]]
    happens "hang 2"
    REMUDA_DISCOVER_MS=700 run -0 --separate-stderr remudad node --print-config
    [[ "$stderr" == *"a library of their maker does not answer; they are not used"* ]]
    [[ "$output" == *"CPUs="* && "$output" != *"Gres="* ]]
    happens
    REMUDA_NVML=/nowhere.so run -0 --separate-stderr remudad node --print-config
    [[ "$output" == *"CPUs="* && "$output" != *"Gres="* && -z "$stderr" ]]
}

# asks STATE_DIR: what the node would be, with that directory's gres.conf
asks() {
    run --separate-stderr remudad node --print-config --state "$1" --name n2
}

@test "gres.conf says what is found anew, and what is wrong with it" {
    mkdir -p conf
    cat >conf/gres.conf <<C
NodeName=n1 Name=gpu Type=other File=$TOP/nvidia0
NodeName=n2 Name=gpu Type=fast File=$TOP/nvidia[2-3] Cores=1
Name=gpu Type=slow File=$TOP/nvidia0 Links=0,16,-1
Name=nic Count=2
C
    asks conf
    [ "$status" = 0 ]
    [[ "$output" == *"Gres=gpu:fast:2,gpu:slow:1,nic:2"* ]]
    # The file nvidia2 is that of the GPU that NVML calls the second.
    [[ "$output" == *"# gpu 0: fast, 40960 MiB, GPU-2, PCI 0000:11:00.0, near CPUs 1"* ]]
    [[ "$output" == *"# gpu 2: slow, 40960 MiB, GPU-4, PCI 0000:13:00.0, "*"linked with 1"* ]]
    echo "AutoDetect=off" >>conf/gres.conf
    asks conf
    [[ "$output" == *"# gpu 0: fast, near CPUs 1"* ]]
    echo "Name=gpu File=/dev/null-and-void" >>conf/gres.conf
    asks conf
    [ "$status" = 1 ]
    [ "$stderr" = "remudad node: conf/gres.conf:6: File=/dev/null-and-void is no device file on this machine" ]
    echo "Name=gpu Fiel=x" >conf/gres.conf
    asks conf
    [ "$status" = 1 ]
    [[ "$stderr" == *"conf/gres.conf:1: unknown key Fiel"* ]]
    run remudad node --state conf --name n2 --foreground
    [ "$status" = 1 ]
    [[ "$output" == *"gres.conf:1: unknown key Fiel"* ]]
}

@test "remuda gpus says what was found, through which library, how each is, and who has it" {
    echo "machine a100x4" >"$TOP/gpus"
    until_true shows_not DeviceOut
    id=$(sbatch --parsable --mem=100 -c1 --gpus=1 -o gpus.out --wrap 'sleep 60')
    for _ in $(seq 300); do [ "$(squeue -h -j "$id" -o %t)" = R ] && break; sleep 0.1; done
    happens "used 3 5000" "answer:memory 2 17"
    other=$(sbatch --parsable --mem=100 -c1 --gpus=1 --wrap 'true')
    until_true sh -c "remuda gpus | grep -q 'gpu 2 .*unknown since .*NVML_ERROR_OPERATING_SYSTEM (17): the operating system keeps'"
    remuda gpus >said
    grep -q ": 4 GPUs, found through NVML 12.560.35.03, driver 560.35.03" said
    grep -q "gpu . .*, PCI 0000:1.:00.0, linked with .: in use since 20[0-9T:-]*: job $id; given to job $id of " said
    run -1 remuda gpus nowhere
    [[ "$output" == *"there is no node nowhere"* ]]
    happens
    scancel "$id" "$other"
    until_true shows_not DeviceOut
    all_clean() { [ "$(remuda gpus | grep -c ": clean since 20[0-9T:-]*$")" = 4 ]; }
    until_true all_clean
}

@test "the node's daemon lets go of the GPUs when it is told to, also over its restart, and takes them up again" {
    happens
    until_true shows_not DeviceOut
    run -0 remuda gpus release
    [[ "$output" == *"has let go of the GPUs"* ]]
    until_true shows "DeviceOut=gpu:3 NOT_CLEAN since .*released by root at .*, .remuda gpus resume. on that node takes them up again"
    kill -9 "$(cat "$REMUDA_STATE"/nodes/*/node.pid)"
    remuda up -q 3>&-
    until_true shows "DeviceOut=gpu:0 NOT_CLEAN since .*released by root"
    remuda gpus resume
    until_true shows_not DeviceOut
    id=$(sbatch --parsable --mem=100 -c1 --gpus=4 -o released.out --wrap './seen')
    over "$id"
    [ "$(cat released.out)" = "0 1 2 3 | 0,1,2,3 | 0,1,2,3" ]
    run -1 remuda gpus resume
    [[ "$output" == *"were not released here"* ]]
}

@test "release and resume are refused by number where the daemon would be ended by them" {
    happens
    pid=$(cat "$REMUDA_STATE"/nodes/*/node.pid)
    file=$(echo "$REMUDA_STATE"/nodes/*/protocol)
    mv "$file" "$file.away" # as of a release that does not know of it
    run -1 remuda gpus release
    [[ "$output" == *"(process $pid) is of an earlier release, which this would end"*"protocol 1"* ]]
    [ ! -e "$(dirname "$file")/gpus-released" ]
    echo "1 1" >"$file" # another process's
    run -1 remuda gpus release
    mv "$file.away" "$file"
    kill -0 "$pid"
    remuda gpus release
    remuda gpus resume
    kill -0 "$pid"
    until_true shows_not DeviceOut
}
