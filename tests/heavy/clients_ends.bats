#!/usr/bin/env bats
# What fourteen tools that read the command line make of each kind of job at each of its ends (clients/ends.py): two minutes.
bats_require_minimum_version 1.5.0

setup_file() {
    export REMUDA_STATE="$BATS_FILE_TMPDIR/state" WORK="$BATS_FILE_TMPDIR/work"
    mkdir -p "$WORK" "$REMUDA_STATE"
    cat > "$REMUDA_STATE/remuda.conf" <<'END'
ClusterName=ends
KillWait=1
MinJobAge=3000
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=n[1-4] CPUs=4 RealMemory=4000 Virtual=YES
PartitionName=main Nodes=ALL Default=YES PriorityTier=5 PreemptMode=OFF
PartitionName=low Nodes=ALL PreemptMode=CANCEL
PartitionName=back Nodes=ALL PreemptMode=REQUEUE
PartitionName=high Nodes=ALL PriorityTier=9 PreemptMode=OFF
END
    remuda up -q
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

@test "each tool sees each kind of job live, well over or badly over, as it is" {
    cd "$WORK" || exit 1
    timeout 500 python3 "$BATS_TEST_DIRNAME/clients/ends.py" | tee said
    [ "$(tail -n 1 said)" = "seen 1036, differ 0" ]
}
