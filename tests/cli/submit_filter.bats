#!/usr/bin/env bats
# SubmitFilter= (docs/submit-filter.md): what is asked, what an answer does, and what happens when there is none.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    export REMUDA_STATE="$BATS_FILE_TMPDIR/state" WORK="$BATS_FILE_TMPDIR/work"
    mkdir -p "$WORK" "$REMUDA_STATE"
    cat > "$WORK/filter" <<'P'
#!/usr/bin/env python3
import json, os, sys, time
q = json.load(sys.stdin)
jobs = q["jobs"]
name = jobs[0].get("name", "") if jobs else ""
with open(os.environ["REMUDA_STATE"] + "/asked", "a") as f:
    f.write(q["request"] + " " + q["user"] + " " + " ".join(j.get("name", "-") for j in jobs) + "\n")
def answer(**a):
    print(json.dumps(a))
    sys.exit(0)
if q["request"] == "update" and "time_limit_us" in q["fields"]:
    answer(refuse="limits are changed by the desk")
if q["request"] == "extend" and q["add_us"] > 600000000 and not jobs:
    answer(refuse="more than ten minutes are the desk's to give")
if name == "refused":
    answer(refuse="not here: \x1b[31mred\x1b[0m")
if name == "closed":
    print("we are closed")
    sys.exit(3)
if name == "broken":
    sys.exit("a trace for the administrators")
if name == "loud":
    for i in range(int(q["jobs"][0]["comment"])):
        sys.stderr.write("\x1b[31m" + "loud " * 200000 + "\n")
if name == "slow":
    time.sleep(60)
if name == "blanks":
    print(" " * (1 << 20))
    answer(refuse="behind the blanks")
if name == "junk":
    print("{{")
    sys.exit(0)
if name == "changed":
    answer(jobs=[{"comment": "by the filter", "time_limit_us": 600000000, "partition": "other"}], message="ten minutes, and in other")
if name == "first":
    answer(jobs=[{"comment": "one"}, {"comment": "two"}])
if "forbidden" in q.get("script", ""):
    answer(refuse="the script has the word")
if q["request"] == "crontab":
    answer(jobs=[{"comment": "cron"} for j in jobs])
P
    chmod 755 "$WORK/filter"
    cat > "$REMUDA_STATE/remuda.conf" <<END
ClusterName=filtered
SubmitFilter=$WORK/filter
NodeName=n[1-2] CPUs=4 RealMemory=4000 Virtual=YES
PartitionName=main Nodes=n[1-2] Default=YES
PartitionName=other Nodes=n[1-2]
END
    remuda up -q 3>&-
}
teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}
setup() { cd "$WORK" || exit 1; }
shown() { scontrol show job "$1" | grep -oE " ?$2=[^ ]*.*" | head -1 | sed "s/^ *$2=//"; }
refused() {
    local says="$1"
    shift
    run -1 --separate-stderr "$@"
    [ "${stderr_lines[1]}" = "$says" ] || { echo "$stderr"; false; }
    [ -z "$output" ]
}
n_jobs() { squeue -h -t all | wc -l; }

@test "a submission goes on as the filter says: refused in its words, changed, with a remark, or as it was" {
    local before
    before=$(n_jobs)
    refused 'sbatch: error: not here: \x1b[31mred\x1b[0m' sbatch -J refused --wrap true
    [ "${stderr_lines[0]}" = "sbatch: error: Batch job submission failed: Unspecified error" ]
    refused "sbatch: error: we are closed" sbatch -J closed --wrap true
    refused "sbatch: error: the script has the word" sbatch --wrap 'echo forbidden'
    [ "$(n_jobs)" = "$before" ]
    run -0 --separate-stderr sbatch -H -J changed --parsable --wrap true
    [ "$stderr" = "sbatch: ten minutes, and in other" ]
    [ "$(squeue -h -j "$output" -o '%l %P %k')" = "10:00 other by the filter" ]
    run -0 --separate-stderr sbatch -H -J plain --parsable --wrap true
    [ "$stderr" = "" ]
    [ "$(squeue -h -j "$output" -o '%l %P %k')" = "UNLIMITED main (null)" ]
    # Another dialect is the same request.
    run -255 --separate-stderr bsub -J refused true
    [[ "$stderr" == *"not here: "* ]]
}

@test "what never gets an answer is refused, and the administrators know why" {
    refused "sbatch: error: the site's submit filter is broken (exited with 1): nothing was changed; tell the administrators, or try again later" sbatch -J broken --wrap true
    grep -q "a trace for the administrators" "$REMUDA_STATE/log/submit-filter.log"
    grep -q "SubmitFilter=$WORK/filter: exited with 1" "$REMUDA_STATE/log/controller.log"
    run -1 --separate-stderr sbatch -J junk --wrap true
    [[ "${stderr_lines[1]}" == "sbatch: error: the site's submit filter is broken (its answer: "* ]]
    # What of it was read would say that all stays as it is.
    run -1 --separate-stderr sbatch -J blanks --wrap true
    [[ "${stderr_lines[1]}" == *"(its answer: more than a MiB)"* ]]
    run -1 --separate-stderr sbatch -J slow --wrap true
    [[ "${stderr_lines[1]}" == *"(it did not answer within 10 seconds)"* ]]
}

@test "a filter that says very much, as what a user sends may make it, does not fill the disk" {
    log="$REMUDA_STATE/log/submit-filter.log"
    sbatch -H -J loud --comment=100 --wrap true
    [ "$(wc -c < "$log")" -lt 100000 ]
    run ! grep -q $'\x1b' "$log"
    truncate -s 17M "$log"
    sbatch -H -J loud --comment=1 --wrap true
    [ "$(wc -c < "$log")" -lt 100000 ]
    [ "$(stat -c %s "$log.old")" = $((17 << 20)) ]
}

@test "a long script, which is longer still as a question, is written down beside the loop" {
    { echo '#!/bin/sh'; head -c 4000000 /dev/zero | tr '\0' '\1'; } > long.sh
    before=$(long_rounds)
    sbatch -H -J long long.sh
    [ "$(long_rounds)" = "$before" ]
    { echo '#!/bin/bash'; echo :; printf '\0\necho forbidden\n'; } > hidden.sh
    run -1 python3 "$BATS_TEST_DIRNAME/controller_frames.py" "$REMUDA_STATE" submit_file hidden.sh
    [[ "$output" == "done SCRIPT the script has a NUL byte in it"* ]]
}

@test "srun, salloc and --test-only are asked about, too; other requests of a connection go on" {
    [ "$(srun -J changed bash -c 'echo $SLURM_JOB_PARTITION' 2>err)" = other ]
    [ "$(cat err)" = "srun: ten minutes, and in other" ]
    run -1 --separate-stderr srun -J refused true
    [ "${stderr_lines[0]}" = "srun: error: Unable to allocate resources: Unspecified error" ]
    run -1 --separate-stderr salloc -J closed true
    [[ "$stderr" == *"we are closed"* ]]
    run -1 --separate-stderr sbatch --test-only -J refused --wrap true
    [[ "$stderr" == *"not here"* ]]
    run -0 --separate-stderr sbatch --test-only -J plain --wrap true
    [[ "$stderr" == *"to start at"* ]]
}

@test "components, arrays, and jobs of a job: each submission once" {
    : > "$REMUDA_STATE/asked"
    run -0 sbatch -H --parsable -J first -n1 : -J second -n1 <<< $'#!/bin/sh\ntrue'
    [ "$(squeue -h -j "$output" -o %k | sort | tr '\n' ' ')" = "one two " ]
    run -0 sbatch -H --parsable -a 0-9 -J many --wrap true
    run -0 sbatch -W -J outer -o /dev/null --wrap 'sbatch -H -J inner --wrap true'
    [ "$(cut -d' ' -f1,3- "$REMUDA_STATE/asked" | sort | tr '\n' ';')" = "submit first second;submit inner;submit many;submit outer;" ]
}

@test "a change of a job and a table of scrontab are shown to it" {
    id=$(sbatch -H --parsable -J plain --wrap true)
    run -1 --separate-stderr scontrol update JobId="$id" TimeLimit=5
    [[ "$stderr" == *"limits are changed by the desk"* ]]
    for ways in TimeLimit+=5 TimeLimit-=5 EndTime=now+1day; do
        run -1 --separate-stderr scontrol update JobId="$id" "$ways"
        [[ "$stderr" == *"limits are changed by the desk"* ]]
    done
    run -0 scontrol update JobId="$id" Comment=mine
    [ "$(squeue -h -j "$id" -o '%l %k')" = "UNLIMITED mine" ]
    echo '0 0 1 1 * true' | scrontab -
    [ "$(squeue -h -u "$(id -un)" -o '%k' | grep -c '^cron$')" = 1 ]
    run -1 --separate-stderr scrontab - <<< $'0 0 1 1 * true\n0 0 1 1 * echo forbidden'
    [[ "$stderr" == *"the script has the word"* ]]
    [ "$(scrontab -l)" = "0 0 1 1 * true" ]
    scrontab -r
}

@test "an extension of a job that runs is shown to it; a step in a job is not" {
    id=$(sbatch --parsable -t 30 -J plain -o steps.out --wrap 'srun -J refused echo in; sleep 60')
    eventually grep -q in steps.out
    run -1 --separate-stderr remuda extend "$id" +1h
    [[ "$stderr" == *"more than ten minutes are the desk's to give"* ]]
    run -0 --separate-stderr remuda extend "$id" +5m
    [ "$(squeue -h -j "$id" -o %l)" = 35:00 ]
    scancel "$id"
}

@test "a flood waits for the filter without holding others up, and nothing is lost" {
    local i n=40
    for i in $(seq $n); do sbatch -H -J flood --wrap true >/dev/null & done
    squeue -h >/dev/null
    wait
    [ "$(squeue -h -n flood | wc -l)" = $n ]
}

@test "a filter that cannot be run is said at once, and refuses; none asks nobody" {
    sed -i "s|^SubmitFilter=.*|SubmitFilter=$WORK/none|" "$REMUDA_STATE/remuda.conf"
    run -0 scontrol reconfigure
    [[ "$output" == *"SubmitFilter=$WORK/none: No such file or directory. Until it can be run all submissions are refused"* ]]
    run -1 --separate-stderr sbatch --wrap true
    [[ "${stderr_lines[1]}" == *"the site's submit filter is broken"* ]]
    sed -i '/^SubmitFilter=/d' "$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    run -0 sbatch -H -J refused --wrap true
}
