#!/usr/bin/env bats
# A machine whose name changes, while its cluster runs or between two starts: nothing of it is left behind, and who starts it again hears what to do.
bats_require_minimum_version 1.5.0
load common

setup() {
    [ "$(id -u)" = 0 ] && unshare --uts true 2>/dev/null || skip "needs root and a host name of its own"
    export REMUDA_STATE="$BATS_TEST_TMPDIR/state"
}

teardown() { [ ! -e "$REMUDA_STATE" ] || unshare --uts sh -c 'hostname beta; scancel -u root; remuda down' || true; }

@test "a machine that has another name: its daemons are stopped, and its node runs again as its line says" {
    cat >"$BATS_TEST_TMPDIR/alpha" <<'END'
hostname alpha
remuda up -q
sbatch -n1 -o /dev/null --wrap 'sleep 300'
until [ "$(squeue -h -o %T)" = RUNNING ]; do sleep 0.1; done
hostname beta
srun -Q -n1 true
node=$(remuda status --pid "node[alpha]")
remuda down
while kill -0 "$node" 2>/dev/null; do sleep 0.1; ((++waited < 100)) || { echo "the node runs"; exit 1; }; done
remuda up -q 2>&1
sed -i 's/^NodeName=alpha /&NodeHostname=beta /' "$REMUDA_STATE/remuda.conf"
remuda up
srun -Q -n1 true
squeue -h -o '%T %N'
END
    run -0 unshare --uts bash -e "$BATS_TEST_TMPDIR/alpha" 3>&-
    echo "$output"
    [[ "$output" == *"warning: node alpha ran here while this machine was called alpha, which is beta now: NodeHostname=beta on its line of"* ]]
    [[ "$output" == *"1 of 1 node ready"*"RUNNING alpha" ]]
}
