#!/usr/bin/env bats
# A machine with AMD's driver whose GPUs cannot be used says so: to who starts it, in the log, in remuda status, in sinfo and scontrol.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    export TOP="$BATS_FILE_TMPDIR" REMUDA_STATE="$BATS_FILE_TMPDIR/state"
    export REMUDA_RSMI=/nowhere/librocm_smi64.so REMUDA_KFD=/dev/null REMUDA_SYS="$TOP/sys"
    mkdir -p "$TOP/sys/class/kfd/kfd/topology/nodes/0"
    echo 0 >"$TOP/sys/class/kfd/kfd/topology/nodes/0/gpu_id"
}
teardown_file() { remuda down; }

SENTENCE="/dev/null is there, but no AMD GPU can be used: the kernel's list, .*/sys/class/kfd/kfd/topology/nodes, has none .is one bound to the driver amdgpu..; ROCm SMI is not there ./nowhere/librocm_smi64.so, as REMUDA_RSMI says."

told() { sinfo -h -R -o %E | grep -q "$SENTENCE"; }

@test "a node whose GPUs cannot be used says why" {
    run -0 --separate-stderr remudad node --print-config
    [[ "$stderr" =~ $SENTENCE ]]
    remuda up -q 2>"$TOP/up" 3>&-
    eventually told
    remuda status | grep -q "^devices *[^ ]*: $SENTENCE"
    scontrol show node | grep -q "DeviceTrouble=$SENTENCE"
    grep -q "$SENTENCE" "$REMUDA_STATE"/log/node-*.log
    grep -q "warning: node [^ ]*: $SENTENCE" "$TOP/up"
    sinfo --json | grep -q "ROCm SMI is not there"
    [ "$(sinfo -h -o %T)" = idle ]
}

@test "with its GPUs listed it has them, and nothing is said" {
    cc -DAMD_TREE_PROGRAM -o "$TOP/tree" "$BATS_TEST_DIRNAME/../fake/amd_tree.c"
    "$TOP/tree" "$TOP/sys" mi300x mi300x mi210
    run -0 --separate-stderr remudad node --print-config
    [[ "$output" == *"Gres=gpu:mi300x:2,gpu:mi210:1"* ]]
    [[ "$output" == *"# gpu 0: mi300x, 196608 MiB, GPU-000000000000abc0, PCI 0000:41:00.0, NUMA node 0, near CPUs 0, linked with 1"* ]]
    [[ "$stderr" != *AMD* ]]
}
