#!/usr/bin/env bats
# remuda why: blockers, order, plan and advice of jobs that wait; what jobs waited for once they ran.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<'END'
ClusterName=reasons
KillWait=1
NodeName=v[1-3] CPUs=4 RealMemory=4000 Gres=gpu:v100:2 Virtual=YES
NodeName=a[1-2] CPUs=4 RealMemory=4000 Gres=gpu:a100:2 Virtual=YES
PartitionName=main Nodes=v[1-3],a1 Default=YES MaxTime=UNLIMITED
PartitionName=short Nodes=a2 MaxTime=30 DefaultTime=1
END
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

setup() { cd "$WORK" || exit 1; }

teardown() {
    scancel -u "$(id -un)" || true
    for _ in $(seq 300); do
        [ -z "$(squeue -h)" ] && return 0
        sleep 0.1
    done
}

batch() { sbatch --parsable -o /dev/null "$@" --wrap 'sleep 60'; }

@test "a wait for GPUs: who has them, what is drained and why, and another type that would do now" {
    one=$(batch -t 60 -N2 --gpus-per-node=v100:2)
    wait_state "$one" RUNNING
    scontrol update NodeName=v3 State=DRAIN Reason="bad fan"
    two=$(batch -t 60 --gpus-per-node=v100:2)
    run -0 remuda why "$two"
    scontrol update NodeName=v3 State=RESUME
    [[ "$output" == *"waits: Resources"* ]]
    [[ "$output" == *"1 gpu"* || "$output" == *"2 gpu:v100"* ]]
    [[ "$output" == *"2 are busy until"*"too few free gpu:v100; job $one"* ]]
    [[ "$output" == *"1 is away, drained: bad fan [v3]"* ]]
    [[ "$output" == *"1 could not hold it even empty with no gpu:v100 (2 asked) [a1]"* ]]
    [[ "$output" == *"place 1 of 1"* ]]
    [[ "$output" == *"planned start"*"promised"* ]]
    [[ "$output" == *"with --gpus-per-node='v100|a100:2' it starts now"* ]]
}

@test "an advice that is followed starts the job" {
    one=$(batch -t 60 -N3 --exclusive -w 'v[1-3]')
    wait_state "$one" RUNNING
    wide=$(batch -t 60 -N4 --exclusive)
    late=$(batch -t 300 -N1 --exclusive)
    run -0 remuda why "$late"
    [[ "$output" == *"ahead of it: $wide"* ]]
    [[ "$output" == *"kept for job $wide"* ]]
    line=$(grep -- 'with --time=' <<< "$output" | head -n 1)
    [[ "$line" == *"it starts now: scontrol update JobId=$late TimeLimit="* ]]
    eval "${line#*now: }"
    wait_state "$late" RUNNING
    [ "$(state "$wide")" = PENDING ]
}

@test "holds, dependencies and begin times say what to do; all own jobs in short; JSON" {
    one=$(batch -t 60)
    held=$(batch --hold)
    after=$(batch -d "afterok:$one")
    [[ "$(remuda why "$held")" == *"scontrol release $held"* ]]
    [[ "$(remuda why "$after")" == *"afterok:$one"*"job $one is "* ]]
    run -0 remuda why
    [[ "$output" == *"JobHeldUser"* && "$output" == *"Dependency"* ]]
    remuda why --json "$held" | python3 -c 'import json, sys; d = json.load(sys.stdin); j = d["jobs"][0]; assert d["schema"] == "remuda.why/1" and j["reason"] == "JobHeldUser", d'
    run -1 remuda why 999999
    [[ "$output" == *"Invalid job id"* ]]
    run -2 remuda why --frob
}

@test "what a job waited for is kept" {
    held=$(batch --hold)
    sleep 2.2
    scontrol release "$held"
    wait_state "$held" RUNNING
    [[ "$(remuda why "$held")" == *"is RUNNING"*"waited for JobHeldUser 0:0"* ]]
    scancel "$held"
    wait_state "$held" CANCELLED
    [[ "$(remuda why "$held")" == *"waited for JobHeldUser 0:0"* ]]
}

# The copy that works the answer out is a process of its own: what it says is what the loop would say, and it is gone.
@test "where there are many jobs questions are answered by a copy of the controller" {
    held=$(batch -H -n1)
    many=$(batch -H -a 0-219)
    scontrol hold "${many}_[0-219]" # each a job of its own
    run -0 remuda why "$held"
    [[ "$output" == *"scontrol release $held"* ]]
    run -0 remuda why "$held" "${many}_7"
    [[ "$output" == *"scontrol release $held"*"its user holds it"* ]]
    run -0 remuda why
    [[ "$output" == *"$held"* ]]
    run -1 remuda why 4711
    [[ "$output" == *"4711"* ]]
    run -0 sbatch --test-only -N2 --wrap true
    [[ "$output" == *"to start at"* ]]
    run -1 sbatch --test-only -N9 --wrap true
    [ "$(squeue -h -r | wc -l)" = 221 ]
    for _ in $(seq 4); do remuda why "$held" > /dev/null & done
    wait
    [ -z "$(ps -o pid= --ppid "$(remuda status --pid controller)")" ]
}

@test "what such jobs ran stands for the limit in the order, and why says it" {
    done=$(sbatch --parsable -o /dev/null -t 7:00:00 --wrap true)
    wait_state "$done" COMPLETED
    held=$(batch -t 7:00:00 --hold)
    run -0 remuda why "$held"
    [[ $output == *"expected to run "*" s of the 7 h asked, as such jobs of $(id -un) did last"* ]]
    run -0 remuda why --json "$held"
    [ "$(jq -r '.jobs[0].limit_us' <<<"$output")" = 25200000000 ]
    [ "$(jq -r '.jobs[0].expected_us > 0 and .jobs[0].expected_us < 600000000' <<<"$output")" = true ]
    # Known at once, and by the next controller.
    expected=$(jq '.jobs[0].expected_us' <<<"$output")
    kill -9 "$(remuda status --pid controller)"
    remuda up -q 3>&-
    run -0 remuda why --json "$held"
    [ "$(jq '.jobs[0].expected_us' <<<"$output")" = "$expected" ]
    other=$(batch -t 6:00:00 --hold)
    run -0 remuda why "$other"
    [[ $output != *"expected to run"* ]]
}
