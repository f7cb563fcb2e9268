#!/usr/bin/env bats
# What is said of a job (remuda report JOB, seff), and the pictures of jobs that ran twice, of arrays and of het jobs: samples of hours, written by
# `remuda-sim series` as nodes send them.
bats_require_minimum_version 1.5.0
load common
load samples

setup_file() {
    cluster --nodes 2
    cd "$WORK"
}

setup() { cd "$WORK"; }

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down || true
}

run_job() { # OPTION…: its number, when it is over and its own samples are there
    local id
    id=$(sbatch --parsable --mem=10000 -c1 "$@" 2>/dev/null || sbatch --parsable -c1 "$@")
    wait_state "$id" COMPLETED
    echo "$id"
}

@test "the guide's exercise without a line of user code: what its users found is said" {
    id=$(run_job --wrap true)
    samples guide "$id" 1
    remuda report "$id" >said
    grep -q "it had 2 phases: .* its GPUs 44 % busy, .* 39 % busy" said
    tr '\n' ' ' <said | tr -s ' ' >flat
    grep -qE "GPU 0 was never above 50 % \(49 % at most, 4[12] % in the mean\); in phase 2 \([0-9:]+ to [0-9:]+\) it fell to 3 % every 2 min 42 s for 20 s, 10 times: input stalls between epochs" flat
    grep -q "full meanwhile: ask for more CPUs (-c) or more loader workers" flat
    seff "$id" | tr '\n' ' ' | tr -s ' ' | grep -q "Seen while it ran (remuda report $id): it had 2 phases"
    remuda report "$id" --json | python3 -c '
import json, sys
j = json.load(sys.stdin)["jobs"][0]
kinds = [f["kind"] for f in j["findings"]]
assert kinds[:2] == ["phases", "gpu-low"], kinds
assert "more loader workers" in j["findings"][1]["next"]'
}

@test "phases are shaded in pictures, light and dark, and named; a job of one has no shade" {
    id=$(run_job --wrap true)
    samples guide "$id" 1
    for theme in light dark; do
        remuda plot "$id" --value util,cpu --svg=$theme >p.svg
        python3 - <<'P'
import xml.etree.ElementTree as E
S = "{http://www.w3.org/2000/svg}"
root = E.parse("p.svg").getroot()
shades = [r for r in root.iter(S + "rect") if r.get("class") == "shade"]
words = {t.text: float(t.get("x")) for t in root.iter(S + "text") if t.text.startswith("phase")}
assert len(shades) == 1 and sorted(words) == ["phase 1", "phase 2"], (len(shades), words)
x, w, y, h = (float(shades[0].get(k)) for k in ("x", "width", "y", "height"))
assert 400 < x < 600 and words["phase 1"] < x < words["phase 2"] < x + w <= 937, (x, w, words)
assert y + h < float(root.get("height")) and y < 60
order = [e.get("class") for e in root.iter() if e.get("class")]
assert order.index("shade") < min(i for i, c in enumerate(order) if c and c.startswith("band")) # behind the curves
P
    done
    flat=$(run_job --wrap true)
    samples flat "$flat" 1
    ! remuda plot "$flat" --svg | grep -q 'class="shade"' || false
}

@test "a hang: drawn by what its processors had to do, as the duty cycle shows nothing; how much memory there is stands beside it" {
    id=$(run_job --wrap true)
    samples hang "$id" 1
    COLUMNS=100 remuda report "$id" >said
    grep -q '^[^ ]* GPU 0 sm  *30 % ' said
    run ! grep -q '^[^ ]* GPU 0 util ' said
    tr '\n' ' ' <said | tr -s ' ' | grep -q "GPUs 0,1 were busy 100 % of the time from .* their processors had work in 0.4 % of it: they waited, as in a collective that hangs: see which rank"
    COLUMNS=100 remuda plot "$id" --height 3 >drawn
    grep -q '^[^ ]* GPU 1 mem: mean 29 GiB, of 80 GiB$' drawn
    grep -q '^[^ ]* cpu: mean 200 %, of 100 %$' drawn
    remuda plot "$id" --svg | grep -q '>of 80 GiB<'
}

@test "a picture of eight GPUs names each, its times are full minutes of the viewer's clock" {
    id=$(run_job --wrap true)
    samples node8 "$id" 1
    for zone in UTC Asia/Kolkata; do
        TZ=$zone remuda plot "$id" --value util --svg >p.svg
        python3 - <<'P'
import re, xml.etree.ElementTree as E
texts = [t.text for t in E.parse("p.svg").iter("{http://www.w3.org/2000/svg}text")]
names = [t for t in texts if re.fullmatch(r"\S+ GPU 0|[1-7]", t)]
assert len(names) == 8 and "utilization.gpu" in texts, texts
times = [t for t in texts if re.fullmatch(r"\d\d:\d\d", t)]
assert 4 <= len(times) <= 7 and all(t[3:] in ("00", "10", "20", "30", "40", "50") for t in times), texts
P
    done
}

@test "what a node says of a job that it never had is nobody's picture of it" {
    id=$(run_job --wrap true)
    python3 "$BATS_TEST_DIRNAME/profiles.py" flat "$id" 1 elsewhere "$(($(date +%s) - 3300))" >lies
    mkdir -p -m 700 "$REMUDA_STATE/series"
    remuda-sim series "$REMUDA_STATE/series" <lies
    ! remuda plot "$id" 2>&1 | grep elsewhere || false
    samples flat "$id" 1
    remuda plot "$id" --value util | grep -q "util: mean 93 %"
    ! remuda plot "$id" --csv | grep elsewhere || false
}

@test "a job that is well, one that is too short, one that never was" {
    id=$(run_job --wrap true)
    samples flat "$id" 1
    remuda report "$id" >said
    ! grep -qE "never|phases|ask for|waited" said || false
    short=$(run_job --wrap true)
    remuda report "$short" | grep -qE "Nothing was sampled|too few"
    run ! remuda report 99999
    [[ "$output" == *"no job 99999"* || "$output" == *"nvalid job id"* ]]
    run ! remuda report 1 2
    [[ "$output" == *"one job is looked at"* ]]
    waits=$(sbatch --parsable --hold --wrap true)
    run ! remuda report "$waits"
    [[ "$output" == *"has not run yet"* ]]
    scancel "$waits"
}

@test "60 columns, letters alone" {
    id=$(run_job --wrap true)
    samples node8 "$id" 1
    COLUMNS=60 LC_ALL=C remuda report "$id" >said
    [ "$(tail -n +2 said | awk '{ if (length($0) > most) most = length($0) } END { print most }')" -le 60 ]
    ! LC_ALL=C grep -q '[^ -~]' said || false
    grep -q "GPU 3 was busy 56 % in the mean, the others 94 %" said
}

@test "a job that was sent back to the queue and waits: its runs have ended, and can be read" {
    id=$(sbatch --parsable -c1 --requeue -o /dev/null --wrap 'sleep 60')
    wait_state "$id" RUNNING
    scontrol requeuehold "$id"
    wait_state "$id" PENDING
    samples flat "$id" 1
    sacct -n -X -D -P -j "$id" -o State,Start,End,ElapsedRaw,CPUTimeRAW | grep '^REQUEUED' >ended
    IFS='|' read -r _ start end elapsed cpu <ended
    [[ "$end" == 20* ]]
    [ "$((start = $(date -d "$start" +%s), $(date -d "$end" +%s) - start))" = "$elapsed" ]
    [ "$cpu" = "$elapsed" ]
    sleep 2
    sacct -n -X -D -P -j "$id" -o State,Start,End,ElapsedRaw,CPUTimeRAW | grep '^REQUEUED' | diff ended -
    sacct -X -D -j "$id" --json | jq -e '.jobs[0].time | .end > 0 and .end - .start == .elapsed'
    # Nothing of a run that ended changes because the job waits for the next one.
    remuda report "$id" >said
    grep -qE "^Job $id .*: REQUEUED, run 1 \(now PENDING\), 00:00:0[0-9] on [a-z0-9]+, 1 CPU" said || { head -1 said; false; }
    remuda report "$id" --run 1 | diff said -
    remuda report "$id" --run 1 | grep -q "util"
    run ! remuda report "$id" --run 2
    [[ "$output" == *"job $id has had 1 run, no run 2"* ]]
    scancel "$id"
}

@test "a job that ran twice: its last run, or the one that is asked for" {
    # The second run is another node's or the same one's, as the planner likes.
    id=$(sbatch --parsable -c1 --requeue --wrap 'test "${SLURM_RESTART_COUNT:-0}" -gt 0 || sleep 60')
    wait_state "$id" RUNNING
    scontrol requeue "$id"
    wait_state "$id" COMPLETED
    samples flat "$id" 1
    samples guide "$id" 2
    remuda report "$id" | grep -q "it had 2 phases"
    ! remuda report "$id" --run 1 | grep -q "it had 2 phases" || false
    # The head is that run's: its state, time and node, and what it had.
    remuda report "$id" | head -1 | grep -E "COMPLETED, run 2, "
    remuda report "$id" --run 1 | head -1 | grep -E "REQUEUED, run 1 \(now COMPLETED\), "
    ran=$(sacct -n -X -D -P -j "$id" -o State,Elapsed,NodeList | sed -n 's/^REQUEUED|//p' | tr '|' ' ')
    remuda report "$id" --run 1 | head -1 | grep -F ", ${ran% *} on ${ran#* }, 1 CPU"
    remuda report "$id" --run 1 --json | jq -e '.jobs | length == 1 and (.[0] | .run == 1 and .state == "REQUEUED")'
    remuda report "$id" --json | jq -e '.jobs | length == 1 and (.[0] | .run == 2 and .state == "COMPLETED")'
    remuda plot "$id" --value util | grep -q "util: mean 42 %"
    remuda plot "$id" --run 2 --value util | grep -q "util: mean 42 %"
    remuda plot "$id" --run 1 --value util | grep -q "util: mean 93 %"
    remuda plot "$id" --run 1 --value util --csv | grep -q " 93 %"
    run ! remuda plot "$id" --run 3
    [[ "$output" == *"no such job"* || "$output" == *"nvalid job id"* || "$output" == *"no samples"* || "$output" == *"ran"* ]]
}

@test "an array: each element has its own picture, and the whole says how to name one" {
    id=$(sbatch --parsable -c1 --array=1-3 --wrap true)
    done_all() { [ "$(state "$1" | grep -cx COMPLETED)" = 3 ]; }
    eventually done_all "$id"
    raw=$(sacct -X -n -j "${id}_2" -o jobidraw | tr -d ' ')
    samples guide "$raw" 1 "${id}_2"
    remuda plot "${id}_2" --value util | grep -q "util: mean 42 %"
    remuda plot "${id}_2" --value util | grep -q "Job ${id}_2 COMPLETED"
    remuda report "${id}_2" | grep -q "it had 2 phases"
    run ! remuda plot "$id"
    [[ "$output" == *"$id is 3 jobs: name one, as ${id}_"* ]]
    remuda report "$id" >all
    [ "$(grep -c "^Job ${id}_[123] " all)" = 3 ]
    [ "$(grep -c "it had 2 phases" all)" = 1 ]
}

@test "a het job: its components" {
    id=$(sbatch --parsable -c1 : -c1 --wrap true)
    eventually has_state "$id" COMPLETED
    second=$((id + 1))
    wait_state "$second" COMPLETED
    samples guide "$second" 1
    remuda plot "$id+1" --value util | grep -q "util: mean 42 %"
    remuda plot "$id+1" --value util | grep -q "Job $id+1 COMPLETED"
    run ! remuda plot "$id"
    [[ "$output" == *"$id is 2 jobs: name one"* ]]
    remuda report "$id" >all
    grep -q "^Job $id+0 " all
    grep -q "^Job $id+1 " all
}
