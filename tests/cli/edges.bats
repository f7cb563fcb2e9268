#!/usr/bin/env bats
# The sharp edges of spec/clients.md: what 41 tools depend on, in their words.
bats_require_minimum_version 1.5.0

setup_file() {
    export REMUDA_STATE="$BATS_FILE_TMPDIR/state"
    remuda up -q --nodes 3 --cpus 4 --mem 4G --gres gpu:v100:2
    cd "$BATS_FILE_TMPDIR" || exit 1
    A=$(sbatch --parsable -J many -a 0-9%4 -o /dev/null --wrap 'sleep 60')
    B=$(sbatch --parsable -J quick -o /dev/null --wrap true)
    export A B
    for _ in $(seq 300); do [ "$(squeue -h -j "$A" -t R | wc -l)" = 4 ] && [ -z "$(squeue -h -j "$B")" ] && break; sleep 0.1; done
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

@test "1: %% in a short format is %" {
    run --separate-stderr squeue -h -j "$A" -o '%%i|%%T|%%N|%%r'
    [ "${lines[0]}" = "${A}_[4-9%4]|PENDING||JobArrayTaskLimit" ]
    [[ "${lines[1]}" =~ ^${A}_0\|RUNNING\|node[1-3]\|None$ ]]
    [ -z "$stderr" ]
}

@test "2: text before the first % is on every line" {
    [ "$(sinfo -aho %F/%C)" = "1/2/0/3/4/8/0/12" ]
    [[ "$(squeue -h -o '{"id": %A}' -j "$A" | head -1)" = "{\"id\": $A}" ]]
}

@test "3: -O name:suffix has no width, a bare name has 20, a trailing comma is fine" {
    run squeue -t all -O 'JobID:#,State:#,Name:|,' -j "$B"
    [ "${lines[0]}" = 'JOBID#STATE#NAME|' ]
    [ "${lines[1]}" = "$B#COMPLETED#quick|" ]
    [ "$(squeue -h -t all -O JobArrayID,StateCompact -j "$B" | wc -c)" = 41 ]
}

@test "4, 5: bundled letters, attached values, prefixes of long options" {
    [ "$(squeue -ht all -o%i -j"$B")" = "$B" ]
    [ "$(squeue --noh --state=all --job="$B" --form=%T)" = COMPLETED ]
    sacct -nu"$(id -un)" -S1970-01-01-00:00:01 -oJobID > /dev/null
    sinfo -ahNO NodeList > /dev/null
}

@test "7: one unknown id is an error with Slurm's words, two are not" {
    run --separate-stderr -1 squeue -h -j 99999
    [ -z "$output" ]
    [ "$stderr" = "slurm_load_jobs error: Invalid job id specified" ]
    run --separate-stderr -0 squeue -h -j 99999,99999
    [ -z "$output" ]
    [ -z "$stderr" ]
    run --separate-stderr -0 squeue -h -j "$B"
    [ -z "$output" ]
    [ -z "$stderr" ]
}

@test "8, 9: sacct of an unknown id shows the header; stray words are errors" {
    run --separate-stderr -0 sacct -j 99999
    [ "${#lines[@]}" = 2 ]
    [[ "${lines[0]}" =~ ^JobID ]]
    run -1 sacct -nu "$(id -un)" -o Account%256 '|' tail -1
}

@test "10, 11, 12: -P and -p, cut columns end in +, SLURM_TIME_FORMAT" {
    [ "$(sacct -nXPj "$B" -o jobid,state)" = "$B|COMPLETED" ]
    [ "$(sacct -nXpj "$B" -o jobid,state)" = "$B|COMPLETED|" ]
    [ "$(sacct -nXj "$B" -o state%5)" = "COMP+ " ]
    [[ "$(SLURM_TIME_FORMAT=%s sacct -nXPj "$B" -o end)" =~ ^[0-9]{10}$ ]]
    [[ "$(SLURM_TIME_FORMAT=%s sacct -nXPj "${A}_0" -o end)" = Unknown ]]
    [[ "$(SLURM_TIME_FORMAT=standard squeue -h -j "$A" -t R -o %S | head -1)" =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}T ]]
}

@test "13: two words, a numeric version" {
    for command in sbatch squeue sinfo sacct scancel scontrol; do
        [[ "$($command --version)" =~ ^slurm\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
    done
    [[ "$(sacct -V)" =~ ^slurm\ 25\.05\.0$ ]]
}

@test "14: a pending array is one line, -r expands it, JobIDRaw is each element's own" {
    [ "$(squeue -h -t PD -j "$A" -o %i)" = "${A}_[4-9%4]" ]
    [ "$(squeue -h -r -t PD -j "$A" -o %i | wc -l)" = 6 ]
    [ "$(sacct -nXPj "${A}_2" -o jobid)" = "${A}_2" ]
    [[ "$(sacct -nXPj "${A}_2" -o jobidraw)" =~ ^[0-9]+$ ]]
}

@test "6: scontrol takes options anywhere and abbreviates" {
    [ "$(scontrol show hostname 'n[1-2]' | tr '\n' ' ')" = "n1 n2 " ]
    [ "$(scontrol show hostnames='n[1-2]' | tail -1)" = n2 ]
    [ "$(SLURM_NODELIST='x[7-8]' scontrol show hostnames | head -1)" = x7 ]
    [ "$(scontrol -a show -o nodes | wc -l)" = 3 ]
    [[ "$(scontrol show node=node1)" =~ NodeAddr=node1 ]]
    scontrol show jobid -dd "$B" | grep -q JobState=COMPLETED
    scontrol show job "$B" --json | jq -e '.jobs[0].current_working_directory' > /dev/null
}

@test "24: one-line partitions are Key=Value words, none empty" {
    for word in $(scontrol show part -o); do
        [[ "$word" =~ ^[^=]+=.+$ ]] || { echo "$word"; false; }
    done
    [ "$(scontrol show partition | head -1)" = "PartitionName=main" ]
}

@test "25: config lines that snakemake, toil and canu read" {
    scontrol show config | grep -Eq '^MinJobAge +=  ?300 sec$'
    scontrol show config | grep -Eq '^MaxArraySize +=  ?[0-9]+$'
    scontrol show config | grep -Eq '^SchedulerTimeSlice +=  ?30 sec$'
    scontrol show config | grep -Eq '^AcctGatherNodeFreq +=  ?0 sec$'
}

@test "23: scancel of an unknown or finished job is silent, the option may follow the id" {
    run --separate-stderr -0 scancel 99999 "$B"
    [ -z "$output" ]
    [ -z "$stderr" ]
    run --separate-stderr -0 scancel "${A}_1" --signal SIGCONT
    [ -z "$output" ]
    [ -z "$stderr" ]
}

@test "variables of scancel choose among the jobs that are named, an empty filter means none" {
    local id
    id=$(sbatch --parsable -H -o /dev/null --wrap true)
    SCANCEL_STATE=RUNNING scancel "$id"
    SCANCEL_USER=nobody scancel "$id"
    SCANCEL_NAME='' scancel "$id"
    scancel --reservation= "$id"
    scancel --account=
    run --separate-stderr -1 env SCANCEL_STATE=foo scancel "$id"
    [ "${stderr_lines[0]}" = "Unrecognized SCANCEL_STATE value: foo" ]
    run --separate-stderr -1 env SCANCEL_USER=nosuchuser scancel "$id"
    [ "$stderr" = "scancel: error: Invalid user name: nosuchuser" ]
    run --separate-stderr -1 env SLURM_CLUSTERS=nosuch scancel "$id"
    [ "${stderr_lines[0]}" = "scancel: error: No cluster 'nosuch' known by database." ]
    run --separate-stderr -1 scancel -M nosuch "$id"
    run --separate-stderr -1 env SLURM_CLUSTERS=nosuch scontrol update jobid="$id" priority=7
    [ "${stderr_lines[0]}" = "scontrol: error: No cluster 'nosuch' known by database." ]
    [ "$(squeue -h -j "$id" -o '%t %Q')" = 'PD 0' ]
    run --separate-stderr -0 env SCANCEL_INTERACTIVE=yes SCANCEL_VERBOSE=t scancel "$id"
    [ "${stderr_lines[0]}" = "scancel: error: Unrecognized SCANCEL_INTERACTIVE value: yes" ]
    [[ "${stderr_lines[1]}" = "scancel: Terminating job $id" ]]
    [ "$(squeue -h -t all -j "$id" -o %t)" = CA ]
}

@test "SLURM_EXIT_ERROR as Slurm reads it, SLURM_BITSTR_LEN, variables of sbcast, and times that are none" {
    run --separate-stderr -7 env SLURM_EXIT_ERROR=7 sattach 99999.0
    run --separate-stderr -44 env SLURM_EXIT_ERROR=300 sbatch -p nosuch --wrap true
    run --separate-stderr -1 env SLURM_EXIT_ERROR=x sbatch -p nosuch --wrap true
    [ "${stderr_lines[0]}" = "sbatch: error: SLURM_EXIT_ERROR has zero value" ]
    local id
    id=$(sbatch --parsable -H -a 1-9,13,17 -o /dev/null --wrap true)
    [ "$(SLURM_BITSTR_LEN=9 squeue -h -j "$id" -o %i)" = "${id}_[1-9,1...]" ]
    [ "$(SLURM_BITSTR_LEN=4 squeue -h -j "$id" -o %i)" = "${id}_[...]" ]
    scancel "$id"
    run --separate-stderr env SBCAST_SIZE=x SBCAST_COMPRESS=foo sbcast /nosuch /tmp/x
    [ "${stderr_lines[0]}" = "sbcast: error: Compression type 'foo' unknown, disabling compression support." ]
    [ "${stderr_lines[1]}" = "size specification is invalid, ignored" ]
    run --separate-stderr -255 sbatch --begin=10pm --wrap true
    [ "${stderr_lines[0]}" = "Invalid time specification (pos=2): 10pm" ]
    [ "${stderr_lines[1]}" = "sbatch: error: Invalid --begin specification" ]
    run --separate-stderr -1 sacct -S 2020-13-01
    [ "${stderr_lines[0]}" = "Invalid time specification (pos=5): 2020-13-01" ]
    run --separate-stderr -1 scontrol update jobid="$A" starttime=12:00x
    [ "${stderr_lines[0]}" = "Invalid time specification (pos=5): 12:00x" ]
    run --separate-stderr -1 scontrol create reservation starttime=now+5x duration=5 users=root nodes=node1
    [ "${stderr_lines[0]}" = "Invalid time specification (pos=4): now+5x" ]
}

@test "26: the new family of JSON" {
    squeue --json -j "$A" | jq -e '.jobs[] | select(.job_state == ["RUNNING"]) | .job_resources.nodes.allocation[0].name' > /dev/null
    squeue --json -j "$A" | jq -e '.jobs[0].time_limit | has("set") and has("infinite") and has("number")' > /dev/null
    sacct --json -j "$B" | jq -e '.jobs[0].state.current == ["COMPLETED"] and (.jobs[0].steps | length) == 1' > /dev/null
    sinfo --json | jq -e '.errors == []' > /dev/null
}

@test "sacct --json: each list of resources is what ReqTRES and AllocTRES say, of the job and of its steps" {
    id=$(sbatch --parsable -W -N2 -n4 --mem=300 --gres=gpu:v100:1 -o /dev/null --wrap 'srun -n4 true; srun -N1 -n1 true')
    run -0 sacct -n -P -j "$id" -o JobID,AllocTRES
    [ "${lines[1]}" = "$id.batch|cpu=2,gres/gpu:v100=1,gres/gpu=1,mem=300M,node=1" ] # one node's share, as everywhere a step has less than its job
    [[ "${lines[2]}" = "$id.0|"*",mem=600M,node=2" ]]
    [[ "${lines[3]}" = "$id.1|"*",mem=300M,node=1" ]]
    W=$(sbatch --parsable -H -N2 --mem=2G -G2 -o /dev/null --wrap true)
    python3 - <(sacct -j "$id,$W" --json) <(sacct -n -P -j "$id,$W" -o JobID,ReqTRES,AllocTRES) <<'END'
import json, sys
def said(items):
    name = lambda t: t["type"] + ("/" + t["name"] if t["name"] else "")
    assert len({t["id"] for t in items}) == len(items), items
    return {name(t): t["count"] for t in items}
def meant(text):
    size = lambda v: int(v[:-1]) * {"M": 1, "G": 1024}[v[-1]] if v[-1] in "MG" else int(v)
    return {k: size(v) for k, v in (p.split("=") for p in text.split(",") if p)}
rows = {r[0]: r[1:] for r in (line.rstrip("\n").split("|") for line in open(sys.argv[2]))}
shown = {}
for j in json.load(open(sys.argv[1]))["jobs"]:
    shown[str(j["job_id"])] = (said(j["tres"]["requested"]), said(j["tres"]["allocated"]))
    shown.update({s["step"]["id"]: ({}, said(s["tres"]["allocated"])) for s in j["steps"]})
assert {k: (meant(a), meant(b)) for k, (a, b) in rows.items()} == shown, (rows, shown)
END
    scancel "$W"
}

@test "snakemake: sacct by name in a window that ends now" {
    [ "$(sacct -X --parsable2 --clusters all --noheader --format=JobIdRaw,State --starttime now-1hour --endtime now --name quick)" = "$B|COMPLETED" ]
}

@test "aiida: fourteen fields; every field of helpformat, header and row of equal counts" {
    run squeue --noheader -o '%i^^^%t^^^%r^^^%B^^^%u^^^%D^^^%C^^^%R^^^%P^^^%l^^^%M^^^%S^^^%j^^^%V' --jobs="$A,$A"
    [ "$(head -1 <<< "$output" | awk -F '\\^\\^\\^' '{print NF}')" = 14 ]
    all=$(sacct --helpformat | tr -s ' \n' ',' | sed 's/,$//')
    [ "$(sacct --format="$all" --parsable --jobs="$B" | awk -F'|' '{print NF}' | sort -u | wc -l)" = 1 ]
}

@test "M3: sacct --format with any case and prefixes; time is Timelimit" {
    run sacct --format=User,JobID,Jobname,partition,state,time,start,end,elapsed,MaxRss,MaxVMSize,nnodes,ncpus,nodelist,CPUTime -j "$B"
    [ "$status" -eq 0 ]
    [[ "${lines[0]}" =~ Timelimit ]]
    [[ "${lines[0]}" =~ MaxRSS ]]
    run squeue -u '1234USER'
    [ "$status" -eq 0 ]
    [[ "$output" =~ "Invalid user: 1234USER" ]]
}

@test "no controller: each command's first line and exit status are Slurm's, then where it should be" {
    export REMUDA_STATE="$BATS_TEST_TMPDIR/none"
    away="Unable to contact slurm controller (connect failure)"
    while IFS='|' read -r status first command; do
        run -"$status" $command < /dev/null
        if [[ $first == *%* ]]; then first=${first/\%/$away}; else first="$first: $away"; fi
        [ "${lines[0]}" = "$first" ] || { echo "$command: ${lines[0]}"; false; }
        [[ "${lines[1]}" == *"start it with: remuda up"* ]]
    done <<'END'
1|slurm_load_jobs error|squeue
1|slurm_get_job_steps error|squeue -s
1|slurm_load_partitions|sinfo
1|slurm_load_reservations|sinfo -T
8|scancel: error: Kill job error on job id 1|scancel 1
1|slurm_load_jobs error|scancel 1.0
1|slurm_load_jobs error|scancel -n x
1|slurm_load_jobs error|scancel -s USR1 1
1|sacct: error: Problem talking to the database|sacct
1|sacctmgr: error: Problem talking to the database|sacctmgr show qos
1|slurm_load_jobs error|scontrol show job 1
1|slurm_get_job_steps error|scontrol show step
1|slurm_load_node error|scontrol show node n1
1|slurm_load_partitions error|scontrol show partition
1|slurm_load_reservations error|scontrol show reservation
1|slurm_load_ctl_conf error|scontrol show config
1|slurm_load_license error|scontrol show licenses
1|slurm_load_assoc_mgr_info error|scontrol show assoc_mgr
1|slurm_load_burst_buffer_info error|scontrol show burstbuffer
1|slurm_reconfigure error|scontrol reconfigure
1|slurm_shutdown error|scontrol shutdown
1|job notify failure|scontrol notify 1 hi
1|job script retrieval failed|scontrol write batch_script 1
1|slurm_load_jobs error|scontrol completing
1|slurm_update error|scontrol update nodename=n1 state=drain reason=x
1|slurm_update error|scontrol update partition=main state=down
1|slurm_update error|scontrol update stepid=1.0 timelimit=1
1|Error updating the reservation|scontrol update reservation=x duration=10
1|Error creating the partition|scontrol create partition=x nodes=n1
1|delete_reservation reservation=x|scontrol delete reservation=x
1|delete_partition partition=x|scontrol delete partition=x
1|% for job 1|scontrol top 1
1|% for job 1|scontrol requeue 1
1|% for job 1|scontrol update jobid=1 priority=1
255|sbcast: error: Slurm job 1 lookup error|sbcast -j 1 /etc/passwd /tmp/x
1|srun: error: Unable to confirm allocation for job 1|srun --jobid=1 true
1|allocation failure|sbatch --test-only --wrap true
255|slurm_reset_statistics|sdiag -r
255|Couldn't get priority factors from controller|sprio
255|Couldn't get shares from controller|sshare
255|slurm_get_statistics|sdiag
1|sbatch: error: Batch job submission failed|sbatch --wrap true
1|salloc: error: Job submit/allocate failed|salloc true
1|srun: error: Unable to allocate resources|srun true
1|sattach: error: Could not get job step info|sattach 1.0
END
    run -0 --separate-stderr sstat -j 1.0,2 -o jobid
    [ "${lines[0]}" = "JobID        " ]
    [ "${stderr_lines[0]}" = "sstat: error: couldn't get steps for job 1" ]
    [ "${stderr_lines[1]}" = "sstat: error: couldn't get steps for job 2" ]
    [[ "$stderr" == *"start it with: remuda up"* ]]
}

@test "-M and SLURM_CLUSTERS head a listing; SLURM_BITSTR_LEN, 64 where nothing is said; -Q with -v; what a cancelled job waited for" {
    name=$(scontrol show config | sed -n 's/^ClusterName *= //p')
    for listing in squeue sinfo; do
        [ "$(SLURM_CLUSTERS=$name $listing | head -n 1)" = "CLUSTER: $name" ]
        [ "$($listing -M all | head -n 1)" = "CLUSTER: $name" ]
        [ "$(SLURM_CLUSTERS=$name $listing -h | grep -c CLUSTER)" = 0 ]
    done
    [ "$(sshare -n -M "$name" | head -n 1)" = "CLUSTER: $name" ]
    run -0 env SLURM_CLUSTERS=elsewhere sshare
    run ! squeue -M local
    A=$(sbatch --parsable -H -a 1-100:3,101-199:7 --wrap true)
    all=$(seq -s, 1 3 97),100-101,$(seq -s, 108 7 199)
    [ "$(squeue -h -j "$A" -o %i)" = "${A}_[${all:0:60}...]" ]
    [ "$(SLURM_BITSTR_LEN=0 squeue -h -j "$A" -o %i)" = "${A}_[$all]" ]
    [ "$(scontrol show job "$A" | grep -o 'ArrayTaskId=[^ ]*')" = "ArrayTaskId=${all:0:60}..." ]
    [ "$(SLURM_BITSTR_LEN=9 sacct -nXP -j "$A" -o jobid)" = "${A}_[${all:0:5}...]" ]
    scancel "$A"
    [[ "$(scontrol show job "$A" | grep -m 1 JobState=)" =~ "JobState=CANCELLED Reason=JobHeldUser" ]]
    for command in "sbatch -Q -v -H --wrap true" "salloc -Q -v true" "srun -Q -v true"; do
        run -1 $command
        [[ "$output" =~ "error: don't specify both --verbose (-v) and --quiet (-Q)" ]]
    done
}

@test "nodes of other machines: up says that they have not reported, and how a machine joins" {
    export REMUDA_STATE="$BATS_TEST_TMPDIR/far"
    mkdir -p "$REMUDA_STATE"
    printf '%s\n' 'ClusterName=far' 'NodeName=far[1-6] CPUs=16 RealMemory=64000' 'PartitionName=main Nodes=ALL Default=YES' > "$REMUDA_STATE/remuda.conf"
    run -0 remuda up 3>&-
    remuda down
    [[ "${lines[0]}" == 'Cluster "far" is up: 0 of 6 nodes ready.'* ]]
    [[ "${lines[1]}" == "6 nodes of other machines have not reported (far[1-6])."*"remuda token --host trusted"*"remuda join $(hostname)"* ]]
}
