#!/usr/bin/env bats
# remuda may and remuda accounts: what a user may use, and who is in what.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<EOF2
ClusterName=site
NodeName=v1 CPUs=4 RealMemory=2000 Gres=gpu:v100:2 Virtual=YES
PartitionName=main Nodes=v1 Default=YES MaxTime=2:00:00
PartitionName=secret Nodes=v1 AllowGroups=nosuchgroup
PartitionName=closed Nodes=v1 State=INACTIVE
AccountingStorageEnforce=limits,qos
EOF2
    me=$(id -un)
    sacctmgr -i -Q add qos test MaxJobsPerUser=1 MaxSubmitJobsPerUser=3 MaxWall=1:00:00 Priority=75
    sacctmgr -i -Q add account physics GrpTRES=gres/gpu=2,mem=1G QOS=normal,test
    sacctmgr -i -Q add account nova parent=physics Description="x"
    sacctmgr -i -Q add user "$me" account=physics,nova DefaultAccount=physics || true # root is in the account root
    sacctmgr -i -Q modify user "$me" set DefaultAccount=physics || true
    sacctmgr -i -Q add coordinator account=nova names="$me"
}

teardown_file() { remuda down; }

setup() { cd "$WORK" || exit 1; }

teardown() { scancel -u "$(id -un)" || true; }

@test "people are told what they may use, what is left, and which GPUs are free" {
    run -0 remuda may
    [[ "${lines[0]}" == "$(id -un): default account physics; coordinator of nova" ]]
    [[ "$output" == *"main*: up to 02:00:00; 1 node up; free GPUs: v100 2 of 2"* ]]
    [[ "$output" == *"accounts physics*, nova, QOS normal*: up to 02:00:00"* ]]
    [[ "$output" == *"MaxJobsPerUser: 1 left of 1, of QOS test"* ]]
    [[ "$output" == *"GrpTRES gres/gpu: 2 left of 2, of account physics"* ]]
    [[ "$output" == *"GrpTRES mem: 1G left of 1G, of account physics"* ]]
    [[ "$output" == *"closed: no: "*inactive* ]]
    id=$(sbatch --parsable --qos=test --gres=gpu:1 --mem=10 -n1 -t10 --wrap 'sleep 300')
    wait_state "$id" RUNNING
    run -0 remuda may
    [[ "$output" == *"free GPUs: v100 1 of 2"* ]]
    [[ "$output" == *"MaxJobsPerUser: 0 left of 1, of QOS test"* ]]
    [[ "$output" == *"GrpTRES gres/gpu: 1 left of 2, of account physics"* ]]
}

@test "programs are told the same, as docs/may.md promises" {
    run -0 remuda may --json
    python3 - "$(id -un)" <<EOF2
import json, sys
m = json.loads(r'''$output''')
assert m["schema"] == "remuda.may/1" and m["user"] == sys.argv[1] and m["default_account"] == "physics", m
assert m["accounts_needed"] and m["limits_hold"] and m["coordinator_of"] == ["nova"]
assert [p["name"] for p in m["partitions"]] == ["main", "secret", "closed"]
main, secret, closed = m["partitions"]
assert main["default"] and main["usable"] and main["max_time_minutes"] == 120 and main["refusal"] is None
assert main["gpus"] == [{"type": "v100", "total": 2, "free": 2}]
assert not closed["usable"] and closed["refusal"] == "PARTITION_DOWN"
c = {(c["account"], c["qos"]): c for c in main["choices"]}
assert set(c) - {("root", "normal")} == {(a, q) for a in ("physics", "nova") for q in ("normal", "test")}, set(c)
t = c["physics", "test"]
assert t["max_time_minutes"] == 60 and t["max_time_of"] == "QOS test" and not t["qos_default"] and t["account_default"]
l = {(l["limit"], l["tres"]): l for l in t["limits"]}
assert l["MaxJobsPerUser", None]["left"] == 1 and l["MaxJobsPerUser", None]["of"] == "QOS test"
assert l["GrpTRES", "mem"]["unit"] == "MiB" and l["GrpTRES", "mem"]["value"] == 1024
assert l["MaxWallDurationPerJob", None]["used"] is None and l["MaxWallDurationPerJob", None]["unit"] == "minutes"
EOF2
    run -0 remuda may --json --user nosuchuser
    [[ "$output" == *'"choices": []'* ]]
    run -2 remuda may --nosuch
}

@test "the tree: who is in what, and how much of it is used" {
    me=$(id -un)
    id=$(sbatch --parsable --qos=test -A nova --gres=gpu:1 --mem=10 -n1 -t10 --wrap 'sleep 300')
    wait_state "$id" RUNNING
    run -0 env COLUMNS=200 remuda accounts
    [[ "${lines[0]}" == root* ]]
    [[ "$output" == *"  physics"*"QOS normal,test, GrpTRES gres/gpu 1 of 2, GrpTRES mem 10M of 1G"* ]]
    [[ "$output" == *$'\n'"    nova "*"coordinators $me"* ]]
    [[ "$output" == *$'\n'"    $me*"* ]]
    [[ "$output" == *"QOS test"*"priority 75"*"MaxJobsPerUser 1: $me 1"* ]]
    run -0 env COLUMNS=40 remuda accounts physics
    for l in "${lines[@]}"; do [ "${#l}" -le 40 ]; done
    [[ "${lines[0]}" == "  physics"* ]]
    run -1 remuda accounts physic
    [[ "$output" == *"there is no account physic; did you mean physics?"* ]]
    run -0 remuda accounts --user nosuch
    [[ "$output" != *physics* ]]
}
