#!/usr/bin/env bats
# sreport, seff and remuda report: what was used.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    unset SLURM_CONF
    export TZ=UTC
    cluster <<CONF
ClusterName=wilson
NodeName=v[1-2] CPUs=4 RealMemory=2000 Virtual=YES
PartitionName=main Nodes=v[1-2] Default=YES
CONF
    cd "$WORK"
    ME=$(id -un)
    export ME
    sacctmgr -i -Q add account physics,biology description=x organization=x
    sacctmgr -i -Q add account optics parent=physics description=x organization=x
    sacctmgr -i -Q add user "$ME" account=physics,optics,biology
    J=$(sbatch --parsable -A physics -n2 --mem=200 -o /dev/null --wrap 'sleep 3')
    K=$(sbatch --parsable -A optics --wckey=w1 -n1 --mem=100 -o /dev/null --wrap 'sleep 2')
    A=$(sbatch --parsable -A biology -a 1-2 -n4 -o /dev/null --wrap 'sleep 1')
    export J K A
    wait_state "$J" COMPLETED
    wait_state "$K" COMPLETED
    wait_state "$A" COMPLETED
    # Whole hours: the one in which all this was, and the next.
    export TIMES="start=$(date -d '-1 hour' +%Y-%m-%dT%H:00:00) end=$(date -d '+2 hours' +%Y-%m-%dT%H:00:00)"
}

teardown_file() {
    remuda down
}

# seconds ACCOUNT: CPU-seconds of its jobs as sacct has them.
seconds() { sacct -n -X -P -a -A "$1" -S now-1days -o CPUTimeRAW | awk '{ s += $1 } END { print s + 0 }'; }

@test "reports say what sacct says" {
    run -0 sreport -n -P -t seconds cluster AccountUtilizationByUser $TIMES
    P=$(seconds physics) O=$(seconds optics) B=$(seconds biology)
    [ "$P" -ge 4 ]
    [ "$O" -ge 1 ]
    [ "$B" -ge 4 ]
    grep -qx "wilson|root|||$((P + O + B))|0" <<<"$output"
    grep -qx "wilson|physics|||$((P + O))|0" <<<"$output"
    grep -q "^wilson|physics|$ME|.*|$P|0$" <<<"$output"
    grep -q "^wilson|optics|$ME|.*|$O|0$" <<<"$output"
    grep -q "^wilson|biology|$ME|.*|$B|0$" <<<"$output"
    run -0 sreport -n -P -t seconds cluster AccountUtilizationByUser tree accounts=physics $TIMES
    [ "${#lines[@]}" -eq 4 ]
    [ "${lines[0]}" = "wilson|physics|||$((P + O))|0" ]
    [[ "${lines[2]}" == "wilson| optics|||$O|0" ]]
    run -0 sreport -n -P -t seconds user top group $TIMES
    [[ "${lines[0]}" == "wilson|$ME|"*"|biology, optics, physics|$((P + O + B))|0" ]]
    run -0 sreport -n -P -t seconds cluster UserUtilizationByWckey $TIMES
    [[ "$output" == "wilson|$ME|"*"|w1|$O" ]]
    run -0 sreport -n -P -t seconds cluster WCKeyUtilizationByUser $TIMES
    [ "${lines[0]}" = "wilson|w1|||$O" ]
}

@test "a report of some jobs alone is counted from them" {
    local of
    of=$(sacct -n -X -P -j "$J" -o CPUTimeRAW)
    run -0 sreport -n -P -t seconds job SizesByAccount flatview jobs="$J" $TIMES
    [ "$output" = "wilson|physics|$of|0|0|0|0|100.00%" ]
    run -0 sreport -n -P job SizesByAccount printjobcount jobs="$A" $TIMES
    [ "$output" = "wilson|root|2|0|0|0|0|100.00%" ]
    run -0 sreport -n -P job SizesByAccount printjobcount "nodes=v[1-2]" $TIMES
    [ "$output" = "wilson|root|4|0|0|0|0|100.00%" ]
    run -0 sreport -n -P job SizesByAccount jobs=4000000 $TIMES
    [ -z "$output" ]
    run sreport job SizesByAccount nodes='v[1-' $TIMES
    [ "$status" -ne 0 ]
    [[ "$output" == *bracket* ]]
}

@test "resources stand in the order in which they are asked for" {
    run -0 sreport -n -P -T node,cpu,mem user top $TIMES
    [[ "${lines[0]}" == *"|node|"* && "${lines[1]}" == *"|cpu|"* && "${lines[2]}" == *"|mem|"* ]]
}

@test "sizes of jobs, and their count" {
    run -0 sreport -n -P job SizesByAccount printjobcount grouping=2,4 $TIMES
    [ "$output" = "wilson|root|1|1|2|100.00%" ]
    run -0 sreport -n -P job SizesByAccount flatview printjobcount grouping=2,4 $TIMES
    grep -qx 'wilson|biology|0|0|2|50.00%' <<<"$output"
    run -0 sreport -n -P job SizesByAccount acctasparent printjobcount grouping=individual $TIMES
    grep -qx 'wilson|physics|1|1|0|50.00%' <<<"$output"
    run -0 sreport job SizesByAccount
    [ "${lines[4]}" = "  Cluster   Account     0-49 CPUs   50-249 CPUs  250-499 CPUs  500-999 CPUs  >= 1000 CPUs % of cluster " ]
}

@test "the cluster's hours add up" {
    run -0 sreport -n -P -t seconds cluster Utilization $TIMES
    IFS='|' read -r name alloc down planned_down idle planned reported <<<"$output"
    [ "$name" = wilson ]
    [ "$alloc" -eq $(($(seconds physics) + $(seconds optics) + $(seconds biology))) ]
    [ "$reported" -eq $((alloc + down + planned_down + idle + planned)) ]
    scontrol update nodename=v2 state=drain reason=test
    sleep 1.1
    scontrol update nodename=v2 state=resume
    sleep 1.1
    run -0 sacctmgr -n -P show event nodes=v2 format=nodename,state,reason,user
    [ "$output" = "v2|DRAIN|test|$ME($(id -u))" ]
    run -0 sacctmgr show event
    [ "${lines[0]}" = "   Cluster NodeName                  TimeStart             TimeEnd  State                         Reason       User " ]
    run -0 sacctmgr -n show event states=drain
    [ "$output" = "" ]
    run -0 sreport -n -P -t seconds cluster Utilization format=down $TIMES
    [ "$output" -ge 4 ]
    run -0 sreport -n -t hourper -T cpu,mem cluster Utilization $TIMES
    [ "${#lines[@]}" -eq 2 ]
}

@test "sums outlive kill -9, and a controller that starts again" {
    run -0 sreport -n -P -t seconds user top $TIMES
    before=$output
    kill -9 "$(cat "$REMUDA_STATE/controller.pid")"
    remuda up -q 3>&-
    eventually sinfo -h
    run -0 sreport -n -P -t seconds user top $TIMES
    [ "$output" = "$before" ]
}

@test "what running jobs have used so far counts" {
    L=$(sbatch --parsable -A biology -n1 -o /dev/null --wrap 'sleep 60')
    wait_state "$L" RUNNING
    before=$(seconds biology)
    running() { [ "$(sreport -n -P -t seconds user top accounts=biology format=used $TIMES)" -gt "$1" ]; }
    eventually running "$before"
    run -0 seff "$L"
    [[ "$output" == *"State: RUNNING"*"WARNING: Efficiency statistics may be misleading for RUNNING jobs."* ]]
    scancel "$L"
    wait_state "$L" CANCELLED
}

@test "what is wrong is said in Slurm's words" {
    run -1 --separate-stderr sreport cluster nosuch
    [[ "$stderr" == "Not valid report nosuch"$'\n'"Valid cluster reports are, \"AccountUtilizationByUser\","* ]]
    run -1 --separate-stderr sreport clutser util
    [ "${stderr_lines[0]}" = "invalid keyword: clutser" ]
    [[ "$stderr" == *"did you mean cluster?"* ]]
    run -1 --separate-stderr sreport cluster
    [ "$stderr" = "too few arguments for keyword:cluster" ]
    run -1 --separate-stderr sreport -T nosuch user top
    [ "${stderr_lines[0]}" = "sreport: fatal: No valid TRES given" ]
    run -1 --separate-stderr sreport job sizes -T cpu,mem
    [[ "$stderr" == *"Job report only supports a single --tres type."* ]]
    run -1 --separate-stderr sreport user top format=nosuch
    [[ "$stderr" == *"Unknown field 'nosuch'" ]]
    run -0 bash -c "printf 'time hours\nuser top\n!!\nquit\n' | sreport -n"
}

@test "seff: Slurm's lines" {
    run -0 seff "$J"
    [ "${lines[0]}" = "Job ID: $J" ]
    [ "${lines[1]}" = "Cluster: wilson" ]
    [ "${lines[2]}" = "User/Group: $ME/$(id -gn)" ]
    [ "${lines[3]}" = "State: COMPLETED (exit code 0)" ]
    [ "${lines[4]}" = "Nodes: 1" ]
    [ "${lines[5]}" = "Cores per node: 2" ]
    [[ "${lines[6]}" =~ ^"CPU Utilized: 00:00:0"[0-9]$ ]]
    [[ "${lines[7]}" =~ ^"CPU Efficiency: "[0-9]+\.[0-9][0-9]"% of 00:00:"[0-9][0-9]" core-walltime"$ ]]
    [[ "${lines[8]}" =~ ^"Job Wall-clock time: 00:00:"[0-9][0-9]$ ]]
    [[ "${lines[9]}" =~ ^"Memory Utilized: "[0-9.]+" "[KM]B$ ]]
    [[ "${lines[10]}" =~ ^"Memory Efficiency: "[0-9.]+"% of 200.00 MB (200.00 MB/node)"$ ]]
    run -0 seff "$K"
    [[ "$output" == *$'\n'"Cores: 1"$'\n'* ]]
    run -0 seff "${A}_2"
    [[ "$output" == *"Array Job ID: ${A}_2"* ]]
    H=$(sbatch --parsable --hold -A physics -o /dev/null --wrap true)
    run -0 seff "$H"
    [ "${lines[-1]}" = "Efficiency not available for jobs in the PENDING state." ]
    scancel "$H"
    run -2 seff 99999
    [ "$output" = "Job not found." ]
}

@test "remuda report: people, jobs, what to ask for next time" {
    run -0 remuda report --all
    [[ "${lines[0]}" == "USER "*"JOBS "*"CPU-HOURS "*"CPU "*"MEMORY "*"GPU" ]]
    [[ "${lines[1]}" == "$ME "*[.#]*%* ]]
    [[ "$output" == *"next time: "* ]]
    [[ "$output" != *$'\e'* ]]
    run -0 remuda report --json -A physics
    [ "$(python3 -c 'import json,sys; d=json.load(sys.stdin); print(len(d["jobs"]), d["users"][0]["user"])' <<<"$output")" = "1 $ME" ]
    run -1 remuda report -u nosuchuser
    [[ "$output" == *"there is no user nosuchuser"* ]]
    run -0 remuda report -S 2001-01-01 -E 2001-01-02
    [ "$output" = "no job ran in that time (-S begins earlier, --all shows everybody's)" ]
}

# summary JOB: as its readers take it: what stands in AdminComment, unpacked
summary() {
    sacct -n -P -X -j "$1" -o AdminComment | python3 -c '
import base64, gzip, json, sys
text = sys.stdin.read().strip()
assert text.startswith("JS1:"), text
print(json.dumps(json.loads(gzip.decompress(base64.b64decode(text[4:])))))'
}

@test "sacct shows what an ended job used as jobstats writes it, where it has no AdminComment" {
    # Long enough to be measured; two nodes, of which each gets its part.
    id=$(sbatch --parsable -N2 -n2 --mem=100 -o /dev/null --wrap 'srun sh -c "timeout 2 sh -c \"while :; do :; done\"; true"; sleep 0.5')
    wait_state "$id" COMPLETED
    measured() { [ -n "$(sacct -n -P -j "$id.0" -o MaxRSS)" ]; }
    eventually measured
    summary "$id" >js
    cat js
    [ "$(jq -c '.nodes | keys' js)" = '["v1","v2"]' ]
    [ "$(jq '.gpus' js)" = 0 ]
    elapsed=$(sacct -n -P -X -j "$id" -o ElapsedRaw)
    jq -e --argjson elapsed "$elapsed" '.total_time - $elapsed | fabs <= 1' js
    jq -e 'all(.nodes[]; .cpus == 1 and .total_memory == 104857600 and .used_memory > 0 and .used_memory < .total_memory and .total_time > 0)' js
    # Its steps have none; with -X they are not shown.
    [ "$(sacct -n -P -j "$id" -o JobID,AdminComment | grep -c JS1:)" = 1 ]
    [ "$(sacct -n -P -X -j "$id" -o JobID,AdminComment | wc -l)" = 1 ]
    [ "$(sacct -n -X -j "$id" --json | jq -r '.jobs[0].comment.administrator')" = "" ]
    # An administrator's is shown as it is.
    said=$(sbatch --parsable -n1 -o /dev/null --wrap 'sleep 1')
    scontrol update "JobId=$said" AdminComment="see ticket 7"
    wait_state "$said" COMPLETED
    [ "$(sacct -n -P -X -j "$said" -o AdminComment)" = "see ticket 7" ]
    # Who has not ended, or has not begun, has none.
    waits=$(sbatch --parsable --hold -n1 -o /dev/null --wrap true)
    [ -z "$(sacct -n -P -X -j "$waits" -o AdminComment)" ]
    scancel "$waits"
    [ -z "$(sacct -n -P -X -j "$waits" -o AdminComment)" ]
    echo JobstatsComment=NO >>"$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    [ -z "$(sacct -n -P -X -j "$J" -o AdminComment)" ]
    sed -i '/^JobstatsComment/d' "$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
}

@test "sacct tells the numbers of association and QOS, and the priority of who waits" {
    local id
    id=$(sacctmgr -nP show assoc where account=physics user="$ME" format=id)
    [ "$(sacct -nXP -j "$J" -o AssocID,QOSRAW)" = "$id|$(sacctmgr -nP show qos where name=normal format=id)" ]
    [ "$(sacct -nP -j "$J" -o AssocID | sort -u)" = "$id" ]
    id=$(sbatch --parsable -A physics -n8 --begin=now -w v1,v2 --exclusive -o /dev/null --wrap 'sleep 30')
    local next
    next=$(sbatch --parsable -A physics -n8 -w v1,v2 --exclusive -o /dev/null --wrap true)
    local shown
    shown=$(squeue -h -j "$next" -o %Q)
    [ "$shown" -gt 0 ]
    [ "$(sacct -nXP -j "$next" -o Priority)" -gt 0 ]
    scancel "$next" "$id"
}
