#!/usr/bin/env bats
# remuda why on crafted queues: each advice that is printed is carried out, on the queue made anew for each, and the job must start then. What needs a
# new submission is submitted anew with the option changed; commands in the sentences (`scontrol release …`) are carried out, too.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<'END'
ClusterName=advice
KillWait=1
Licenses=matlab:2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=v[1-3] CPUs=4 RealMemory=4000 Gres=gpu:v100:2 Feature=intel Virtual=YES
NodeName=a[1-2] CPUs=4 RealMemory=8000 Gres=gpu:a100:2 Feature=amd Virtual=YES
NodeName=s1 CPUs=2 RealMemory=2000 Virtual=YES
PartitionName=main Nodes=v[1-3],a[1-2] Default=YES MaxTime=UNLIMITED PreemptMode=OFF
PartitionName=v Nodes=v[1-3] MaxTime=UNLIMITED PreemptMode=OFF
PartitionName=low Nodes=s1 PriorityTier=0 PreemptMode=REQUEUE
PartitionName=high Nodes=s1 PriorityTier=9 PreemptMode=OFF
PartitionName=small Nodes=s1 MaxTime=30 DefaultTime=1 PreemptMode=OFF
END
    for _ in $(seq 300); do
        [ "$(sinfo -h -t idle -o %D | awk '{n += $1} END {print n}')" -ge 6 ] && break
        sleep 0.1
    done
}

teardown_file() { remuda down; }

setup() { cd "$WORK" || exit 1; }
teardown() {
    scontrol update NodeName=v3,a1 State=RESUME > /dev/null 2>&1 || true
    clear_queue
    scontrol delete ReservationName=later > /dev/null 2>&1 || true
}

clear_queue() {
    scancel -u "$(id -un)" || true
    for _ in $(seq 300); do
        [ -z "$(squeue -h)" ] && return 0
        sleep 0.05
    done
    squeue
    return 1
}

state() { squeue -h -t all -j "$1" -o %T | sort | uniq -c | sort -rn | awk 'NR == 1 {print $2}'; }
batch() { sbatch --parsable -o /dev/null "$@" --wrap 'sleep 600'; }
# A job that runs, of those that fill the cluster.
runs() {
    local id
    id=$(batch "$@")
    wait_state "$id" RUNNING "$*"
    last=$id
}
# The job in question: its words are kept for a new submission.
waits() {
    words=("$@")
    job=$(batch "$@")
    [ "$(state "$job")" = PENDING ]
}

# The words with what an advice changes: `with --x=1 --y=2` replaces, `without --x=1` takes away.
changed_words() {
    local how=$1 word name
    shift
    for word in "$@"; do
        name=${word%%=*}
        local kept=()
        for old in "${words[@]}"; do [ "${old%%=*}" = "$name" ] || kept+=("$old"); done
        words=("${kept[@]}")
        [ "$how" = without ] || words+=("$word")
    done
}

advices() { remuda why "$job" | grep -E '^  (with|without) .* it starts now'; }

# Carries out one line.
follow() {
    local line=$1 how options
    if [[ "$line" == *"it starts now: "* ]]; then
        eval "${line#*it starts now: }"
        wait_state "$job" RUNNING "$line"
        return
    fi
    how=$(awk '{print $1}' <<< "$line")
    options=${line#*"$how "}
    eval "changed_words $how ${options% it starts now*}"
    scancel "$job"
    wait_state "$job" CANCELLED "$line"
    job=$(batch "${words[@]}")
    wait_state "$job" RUNNING "$line"
}

# each QUEUE WANTED...: every advice of the queue is followed; the wanted beginnings must be among them.
each() {
    local queue=$1 i=0 lines wanted
    shift
    $queue
    mapfile -t lines < <(advices)
    for wanted in "$@"; do
        printf '%s\n' "${lines[@]}" | grep -qF -- "$wanted" || {
            echo "no advice \"$wanted\":"
            remuda why "$job"
            return 1
        }
    done
    [ "${#lines[@]}" -gt 0 ]
    for ((i = 0; i < ${#lines[@]}; i++)); do
        if [ $i -gt 0 ]; then
            clear_queue
            $queue
        fi
        follow "$(sed "s/JobId=[0-9]*/JobId=$job/" <<< "${lines[i]}")"
    done
}

# The commands between backticks.
follow_sentence() {
    local command
    command=$(remuda why "$job" | grep -o '`scontrol [^`]*`' | head -n 1 | tr -d '`')
    [ -n "$command" ]
    eval "$command"
}

gpu_types() {
    runs --time=60 --nodes=3 --gpus-per-node=v100:2
    waits --time=60 --nodes=1 --gpus-per-node=v100:2
}
@test "other types of GPU are idle" {
    each gpu_types "with --gpus-per-node='v100|a100:2'"
}

fewer_gpus() {
    runs --time=60 --nodes=3 --gpus-per-node=v100:1
    waits --time=60 --gres=gpu:v100:2
}
@test "fewer GPUs, or another type" {
    each fewer_gpus "with --gres=gpu:v100:1" "with --gres='gpu:v100|a100:2'"
}

drained() {
    scontrol update NodeName=v3 State=DRAIN Reason="bad fan"
    waits --time=60 --nodelist=v3
}
@test "a node that is named is drained" {
    each drained "without --nodelist=v3"
    clear_queue
    drained
    [[ "$(remuda why "$job")" == *"1 is away, drained: bad fan [v3]"* ]]
}

constraint() {
    runs --time=60 --nodes=3 --exclusive --constraint=intel
    waits --time=60 --constraint=intel
}
@test "a constraint keeps it from idle nodes" {
    each constraint "without --constraint=intel"
}

excluded() {
    runs --time=60 --nodes=3 --exclusive --constraint=intel
    waits --time=60 --exclude='a[1-2]'
}
@test "so does --exclude" {
    each excluded "without --exclude=a[1-2]"
}

licences() {
    runs --time=60 --licenses=matlab:2
    waits --time=60 --licenses=matlab:1
}
@test "licences are all in use" {
    each licences "without --licenses=matlab:1"
    clear_queue
    licences
    [[ "$(remuda why "$job")" == *"needs 1 of the licence matlab: 0 of 2 are free"* ]]
}

reserved() {
    scontrol show reservation later > /dev/null 2>&1 ||
        scontrol create reservation ReservationName=later Nodes=ALL StartTime=now+2hours Duration=60 Users=daemon > /dev/null
    waits --time=300 --nodes=1
}
@test "a reservation begins before its time limit ends" {
    each reserved "with --time=1:5"
}

promise() {
    runs --time=60 --nodes=4 --exclusive
    batch --time=60 --nodes=5 --exclusive
    waits --time=300 --nodes=1
}
@test "a promised start is before its time limit ends" {
    each promise "with --time="
}

memory() {
    runs --time=60 --nodes=3 --mem=3000 --partition=v
    waits --time=60 --partition=v --mem=2000
}
@test "memory is short" {
    each memory "with --mem=" "with --partition="
}

partition() {
    runs --time=10 --partition=small --ntasks=2
    waits --time=10 --partition=small --ntasks=1
}
@test "its partition is full, another is not" {
    each partition "with --partition=main" "with --partition=v"
}

long_in_main() {
    runs --time=60 --nodes=5 --exclusive
    waits --time=300 --ntasks=1
}
@test "another partition would do, with its time limit" {
    each long_in_main "with --partition=small --time=30:00"
}

wide() {
    runs --time=60 --nodes=2 --exclusive
    waits --time=60 --nodes=4 --exclusive
}
@test "fewer nodes, or shared ones" {
    each wide "with --nodes=3"
}

cpus() {
    runs --time=60 --nodes=5 --ntasks-per-node=2
    waits --time=60 --nodes=1 --ntasks=1 --cpus-per-task=4
}
@test "fewer CPUs for its task" {
    each cpus "with --cpus-per-task=2"
}

contiguous() {
    runs --time=60 --nodelist=v2 --exclusive
    runs --time=60 --nodelist=a2 --exclusive
    waits --time=60 --nodes=3 --contiguous --exclusive
}
@test "neighbours are not free" {
    each contiguous "without --contiguous"
}

array() {
    runs --time=60 --nodes=5 --ntasks-per-node=3
    waits --time=60 --array=1-3 --cpus-per-task=2
}
@test "an array" {
    each array "with --cpus-per-task=1"
}

aside() {
    runs --time=60 --nodes=5 --ntasks-per-node=3
    batch --time=60 --nodes=5 --exclusive
    waits --time=600 --nodes=2 --ntasks-per-node=1
}
@test "who is behind others in the order" {
    each aside "with --time="
}

together() {
    runs --time=60 --nodes=3 --exclusive
    cat > het.sh <<'END'
#!/bin/bash
#SBATCH --time=60 --nodes=2 --exclusive --output=/dev/null
#SBATCH hetjob
#SBATCH --time=60 --nodes=1 --exclusive
sleep 600
END
    job=$(sbatch --parsable het.sh)
    [ "$(state "$job")" = PENDING ]
}
@test "a component of a heterogeneous job" {
    together
    line=$(remuda why "$job" | grep -F 'with --nodes=1 it starts now: ')
    eval "${line#*it starts now: }"
    wait_state "$job" RUNNING "$line"
    [ "$(squeue -h -t R -j "$job" | wc -l)" = 2 ]
}

stopping() {
    runs --time=60 --partition=low --ntasks=2
    waits --time=60 --partition=low --ntasks=1
}
@test "work that would have to give way" {
    stopping
    line=$(remuda why "$job" | grep -F 'with --partition=high it starts now')
    [[ "$line" == *", and job $last is requeued: scontrol update"* ]]
    eval "${line#*requeued: }"
    wait_state "$job" RUNNING "$line"
    [ "$(state "$last")" = PENDING ]
}

@test "held by its user" {
    job=$(batch --hold)
    follow_sentence
    wait_state "$job" RUNNING release
}

@test "a begin time" {
    job=$(batch --begin=now+1hour)
    [ "$(squeue -h --start -j "$job" -o %S)" != N/A ]
    follow_sentence
    wait_state "$job" RUNNING "StartTime=now"
}

@test "a dependency on work that runs, and one that never comes true" {
    runs --time=60
    job=$(batch --dependency="afterok:$last")
    follow_sentence
    wait_state "$job" RUNNING "Dependency="
    clear_queue
    runs --time=60
    job=$(batch --dependency="afterok:$last")
    scancel "$last"
    for _ in $(seq 300); do
        [ "$(squeue -h -j "$job" -o %r)" = DependencyNeverSatisfied ] && break
        sleep 0.1
    done
    follow_sentence
    wait_state "$job" RUNNING "Dependency="
}

@test "the limit of an array's running tasks" {
    job=$(batch --array=1-4%2)
    wait_state "$job" RUNNING start
    [ "$(squeue -h -r -t R -j "$job" | wc -l)" = 2 ]
    [[ "$(remuda why "$job")" == *"as many as its limit %2 allows"* ]]
    follow_sentence
    for _ in $(seq 300); do
        [ "$(squeue -h -r -t R -j "$job" | wc -l)" = 4 ] && return 0
        sleep 0.1
    done
    return 1
}
