#!/usr/bin/env bats
# What jobs did with their GPUs: samples of NVML (and ROCm SMI), per step, in sacct and sstat.
bats_require_minimum_version 1.5.0
load common
load devices

setup_file() {
    export WHY_NOT=
    [ "$(id -u)" = 0 ] || { WHY_NOT="needs root to hide devices"; return 0; }
    TOP=$(mktemp -d /tmp/remuda-used-XXXXXX)
    export TOP REMUDA_STATE="$TOP/state" REMUDA_NVML="$TOP/nvml.so" REMUDA_FAKE_GPUS="$TOP/gpus"
    chmod 755 "$TOP"
    cc -shared -fPIC -o "$TOP/nvml.so" "$BATS_TEST_DIRNAME"/../fake/nvml*.c
    echo "machine a100x4" >"$TOP/gpus"
    cat >"$TOP/seen" <<'S'
#!/bin/sh
# seen GPU MIB [PERCENT]: as if this process computed there, until it has been seen
echo "process $1 $$ $2" >>gpus
[ -z "$3" ] || echo "busy $1 $$ $3" >>gpus
until [ -e enough ]; do sleep 0.1; done
sed -i "/ $$ /d" gpus
S
    devices_up
    echo "JobAcctGatherFrequency=1" >>"$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
}

# fresh [FACT…]: nobody computes, this is so, and no GPU is out of use for what the test before left
fresh() {
    rm -f enough enough.1
    printf '%s\n' "machine a100x4" "$@" >gpus.new
    mv gpus.new gpus
    eventually shows_not DeviceOut
}
# So busy is each GPU as a whole, whichever the job has.
fresh_rate() {
    local gpu facts=()
    for gpu in 0 1 2 3; do facts+=("nosamples $gpu" "rate $gpu $1"); done
    fresh "${facts[@]}"
}
# sampled STEP WORDS: sstat says so by now
sampled() { sstat -n -P -j "$1" -o tresusageinmax 2>/dev/null | grep -q "$2"; }
mean() { sstat -n -P -j "$1" -o tresusageinave | sed -n 's/.*gpuutil=\([0-9]*\).*/\1/p'; }
mean_above() { [ "$(mean "$1")" -gt "$2" ]; }
rows() { remuda plot "$1" --csv=nounits 2>/dev/null | grep -c ", *${2:-}"; } # of its curve; with that number
rows_of() { [ "$(rows "$1" "${3:-}")" -ge "$2" ]; }
# of JOB.STEP COLUMN
of() { sacct -n -P -j "$1" -o "jobid,$2" | sed -n "s/^$1|//p"; }

@test "what each step used of the GPUs is in sacct: the most, the mean, and that one did nothing" {
    fresh
    id=$(sbatch --parsable -c1 --mem=100 --gres=gpu:2 -o used.out --wrap 'srun -n1 --mem=50 --gres=gpu:2 sh -c "./seen 0 2048 80 & ./seen 1 1024 40 & wait; echo machine a100x4 >gpus"
srun -n1 --mem=50 --gres=gpu:1 sh -c "until [ -e enough.1 ]; do sleep 0.1; done"')
    eventually sampled "$id.0" 'gres/gpumem=3G,gres/gpuutil=120'
    eventually mean_above "$id.0" 40
    touch enough
    eventually sampled "$id.1" 'gres/gpumem=0,gres/gpuutil=0'
    touch enough.1
    wait_state "$id" COMPLETED
    [[ "$(of "$id.0" tresusageinmax)" == *",gres/gpumem=3G,gres/gpuutil=120,mem="* ]]
    [[ "$(of "$id.0" tresusageintot)" == *",gres/gpumem=3G,"* ]]
    ave=$(of "$id.0" tresusageinave | sed 's/.*gpuutil=\([0-9]*\).*/\1/')
    [ "$ave" -gt 40 ]
    [ "$ave" -le 120 ]
    # The second held a GPU and did nothing with it; of the batch script's own there was nothing either.
    [[ "$(of "$id.1" tresusageinmax)" == *",gres/gpumem=0,gres/gpuutil=0,mem="* ]]
    [[ "$(of "$id.batch" tresusageinmax)" == *",gres/gpumem=0,gres/gpuutil=0,mem="* ]]
    [[ "$(of "$id.0" tresusageinmin)" == *",gres/gpumem=3G,gres/gpuutil="* ]]
    sacct -j "$id" --json | python3 -c '
import json, sys
s = {x["step"]["id"]: x["statistics"] for x in json.load(sys.stdin)["jobs"][0]["steps"]}
used = s["'"$id"'.0"]
assert used["gpu_mem_max_bytes"] == 3 << 30 and used["gpu_util_max_percent"] == 120, used'
}

@test "the summary for jobstats has each GPU of the job, with its memory" {
    fresh_rate 66
    id=$(sbatch --parsable -c1 --mem=100 --gres=gpu:1 -o js.out --wrap './seen "$SLURM_JOB_GPUS" 512')
    eventually rows_of "$id" 6 66
    touch enough
    wait_state "$id" COMPLETED
    # The mean is over all its seconds, those without a sample among them: how many these are is the machine's.
    sacct -n -P -X -j "$id" -o AdminComment | ELAPSED=$(sacct -n -X -P -j "$id" -o ElapsedRaw) python3 -c '
import base64, gzip, json, os, sys
text = sys.stdin.read().strip()
assert text.startswith("JS1:"), text
d = json.loads(gzip.decompress(base64.b64decode(text[4:])))
assert d["gpus"] == 1, d
(node,) = d["nodes"].values()
(index,) = node["gpu_utilization"]
assert min(60, 66 * 4 / int(os.environ["ELAPSED"])) <= node["gpu_utilization"][index] <= 66.5 and node["gpu_used_memory"] == {index: 512 << 20}, d
assert node["gpu_total_memory"][index] >= 39 << 30, d'
}

@test "without samples of processes the device's own figure counts" {
    fresh_rate 66
    id=$(sbatch --parsable -c1 --mem=100 --gres=gpu:1 -o rate.out --wrap './seen "$SLURM_JOB_GPUS" 512')
    eventually sampled "$id.batch" 'gres/gpumem=512M,gres/gpuutil=66'
    touch enough
    wait_state "$id" COMPLETED
    [[ "$(of "$id.batch" tresusageinmax)" == *",gres/gpumem=512M,gres/gpuutil=66,mem="* ]]
}

@test "a job without GPUs has no such figures" {
    fresh
    id=$(sbatch --parsable -c1 --mem=100 -o none.out --wrap 'sleep 1.5')
    wait_state "$id" COMPLETED
    [[ "$(of "$id.batch" tresusageinmax)" == *mem=* ]]
    [[ "$(of "$id.batch" tresusageinmax)" != *gres* ]]
}

as_nobody() { setpriv --reuid=nobody --regid=nogroup --clear-groups --reset-env env PATH="$PATH" HOME=/ REMUDA_STATE="$REMUDA_STATE" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$@"; }
more_samples() { eventually rows_of "$mine" $(($(rows "$mine") + 3)); }
# a_stranger STEP_DIR: a job of nobody's on one GPU, a process of which says that it is of that step, and works 90 % with 4 GiB of GPU 1; $pid.
a_stranger() {
    fresh
    rm -f /tmp/used-stranger.$$
    stranger=$(as_nobody sbatch --parsable -c1 --mem=50 --gres=gpu:1 -o /dev/null --export="ALL,SAYS=$1" --wrap "export REMUDA_STEP_DIR=\"\$SAYS\"; sh -c 'echo \$\$ >/tmp/used-stranger.$$; exec sleep 600'")
    eventually test -s /tmp/used-stranger.$$
    pid=$(cat /tmp/used-stranger.$$)
    rm -f /tmp/used-stranger.$$
    printf 'machine a100x4\nprocess 1 %s 4096\nbusy 1 %s 90\n' "$pid" "$pid" >gpus.new
    mv gpus.new gpus
}

@test "what a process says of its step is its owner's word: another user's step has nothing of it, nor are its lines the watcher's" {
    as_nobody remuda version >/dev/null 2>&1 || skip "the programs are not readable for other users here"
    fresh
    mine=$(sbatch --parsable -c1 --mem=50 --gres=gpu:1 -o /dev/null --wrap 'sleep 600')
    wait_state "$mine" RUNNING
    a_stranger "/x/steps/$mine.1.batch"
    more_samples
    scancel "$stranger"
    wait_state "$stranger" CANCELLED
    a_stranger $'/x/\nsign 0 lost it is lost\nsign 2 lost too'
    more_samples
    shows_not 'is lost'
    shows_not 'State=.*DRAIN'
    scancel "$stranger" "$mine"
    wait_state "$stranger" CANCELLED
    wait_state "$mine" CANCELLED
    fresh
    [[ "$(of "$mine.batch" tresusageinmax)" == *",gres/gpumem=0,gres/gpuutil=0,mem="* ]]
}

@test "a file that does not answer, which a process has open, keeps no device from the next job" {
    fresh
    mkdir -p files
    python3 "$BATS_TEST_DIRNAME/hung_files.py" "$TOP/files" "$TOP/stop" >why_not 2>&1 3>&- &
    echo $! >served
    eventually grep -q " $TOP/files fuse" /proc/mounts || skip "no file system can be made here: $(cat why_not)"
    sh -c 'exec 8>files/open; exec sleep 600' 3>&- &
    holder=$!
    eventually test -e files/open
    touch stop
    for _ in 1 2; do
        id=$(sbatch --parsable -c1 --mem=50 --gres=gpu:4 -o /dev/null --wrap true)
        wait_state "$id" COMPLETED
    done
    shows_not 'State=.*DRAIN'
    rm stop
    kill "$holder"
}

teardown() {
    [ -e served ] || return 0
    kill "$(cat served)" || true
    umount -l files || true
    rm served
}
