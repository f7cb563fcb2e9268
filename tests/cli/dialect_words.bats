#!/usr/bin/env bats
# Rows of spec/dialects.md 7 to 9 that no client reads: words, variables and statuses of LSF and PBS, each typed.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<'END'
ClusterName=head
KillWait=1
PreemptType=preempt/partition_prio
PreemptMode=SUSPEND,GANG
NodeName=n[1-2] CPUs=16 RealMemory=64000 Gres=gpu:2 Feature=bigmem Virtual=YES
PartitionName=workq Nodes=n[1-2] Default=YES MaxTime=1-00:00:00 DefMemPerCPU=100
PartitionName=urgent Nodes=n1 PriorityTier=10 DefMemPerCPU=100
END
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

setup() { cd "$WORK" || exit 1; }

held() {
    run -0 --separate-stderr bsub -H -o /dev/null "$@" sleep 100
    id=$(grep -o 'Job <[0-9]*>' <<< "$output" | tr -dc 0-9)
}

@test "bpeek of what waits; bjobs -sum, -l, -UF, -A, LSB_BJOBS_FORMAT; nothing found is said and ends with 0" {
    run -0 --separate-stderr bjobs -a -u nobody
    [ "$stderr" = "No job found" ]
    [ "$output" = "" ]
    held -J waits
    run -255 --separate-stderr bpeek "$id"
    [ "$stderr" = "Job <$id> : Not yet started." ]
    run -0 bjobs -sum
    [ "$(tr -s ' ' <<< "${lines[0]}")" = "RUN SSUSP USUSP UNKNOWN PEND FWD_PEND" ]
    [ "$(tr -s ' ' <<< "${lines[1]}")" = "0 0 0 0 1 0" ]
    LSB_BJOBS_FORMAT="jobid stat:-8 job_name:3" run -0 bjobs "$id"
    [ "${lines[0]}" = "JOBID     STAT *ME" ]
    [ "${lines[1]}" = "$(printf '%s %8s %s' "$id" PSUSP '*ts')" ]
    run -0 bjobs -UF "$id"
    [[ "$output" == *"Job <$id>, Job Name <waits>, User <$(id -un)>, Project <default>, Status <PSUSP>, Queue <workq>, Command <sleep 100>"* ]]
    run -0 --separate-stderr bjobs -p "$id"
    [ "$stderr" = "No pending job found" ]
    run -0 --separate-stderr bacct
    [[ "$output" == *"Accounting information about jobs that are: "*"SUMMARY:      ( time unit: second )"*"Total number of done jobs:"* ]]
    BSUB_STDERR=Y run -0 --separate-stderr bsub -H -o /dev/null true
    [ "$output" = "" ]
    [[ "$stderr" == "Job <"*"> is submitted to default queue <workq>." ]]
    run -0 --separate-stderr bstat -C
    [ "$stderr" = "No unfinished job found" ]
    bkill 0
}

@test "how jobs of LSF end: a signal, memory, the time limit, in the report and by bsub -K" {
    bsub -K -o limit.o -W 1 'sleep 100' > limit.out 2>&1 &
    local pid=$!
    local status=0 id
    running() { id=$(sed -n 's/^Job <\([0-9]*\)>.*/\1/p' limit.out) && [ -n "$id" ] && has_state "$id" RUNNING; }
    eventually running
    scontrol update JobId="$id" TimeLimit=0:03 # the minute of -W is the shortest there is, and long
    run -137 --separate-stderr bsub -K -o killed.o 'kill -9 $$'
    eventually grep -q "Exited by signal 9." killed.o
    run -137 --separate-stderr bsub -K -o mem.o -R 'rusage[mem=20]' 'python3 -c "x = bytearray(200 << 20); import time; time.sleep(9)"'
    eventually grep -q "^TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.$" mem.o
    grep -q "^Exited with exit code 137.$" mem.o
    run -7 bsub -I 'exit 7'
    wait "$pid" || status=$?
    [ "$status" = 140 ]
    eventually grep -q "^TERM_RUNLIMIT: job killed after reaching LSF run time limit.$" limit.o
    grep -q "^Exited with exit code 140.$" limit.o
}

@test "PBS_DPREFIX and -C; an empty qstat -F json has Jobs; at a terminal the script is asked for" {
    printf '#X -N viaprefix\n#PBS -N viapbs\ntrue\n' > prefix.sh
    local id
    name() { qstat -f "$1" | sed -n 's/ *Job_Name = //p'; }
    id=$(PBS_DPREFIX='#X' qsub -h prefix.sh)
    [ "$(name "$id")" = viaprefix ]
    qdel "$id"
    id=$(PBS_DPREFIX='#X' qsub -h -C '#PBS' prefix.sh)
    [ "$(name "$id")" = viapbs ]
    qdel "$id"
    id=$(qsub -h -C '' prefix.sh)
    [ "$(name "$id")" = prefix.sh ]
    qdel "$id"
    qstat -f -F json | python3 -c 'import json,sys; assert json.load(sys.stdin)["Jobs"] == {}'
    printf 'true\n\004' | timeout 20 script -qc "qsub -h" /dev/null | grep -q "Job script will be read from standard input. Submit with CTRL+D."
    printf 'true\n\004' | timeout 20 script -qc "bsub -H -o /dev/null" /dev/null | grep -q "bsub> "
    bkill 0
}

@test "Torque in the job: PBS_NUM_NODES, PBS_NUM_PPN, PBS_NP, PBS_WALLTIME, PBS_ARRAYID; power_state of pbsnodes" {
    sed -i '1i PbsFlavour=torque' "$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    printf 'echo $PBS_NUM_NODES $PBS_NUM_PPN $PBS_NP $PBS_WALLTIME $PBS_VERSION $PBS_SERVER $(wc -l < $PBS_NODEFILE) $PBS_ARRAYID\n' > vars.sh
    qsub -S /bin/sh -l nodes=2:ppn=2,walltime=100 -j oe -o vars.o vars.sh
    qsub -S /bin/sh -t 3 -j oe -o els.o vars.sh
    pbsnodes n1 | grep -qx "     power_state = Running"
    # The shell is a login shell: what the machine's profile does may take its time, and says what it likes.
    eventually grep -qE "^2 2 4 100 TORQUE-[^ ]* head 4 ?$" vars.o
    eventually grep -qE " 1 3$" els.o-3
    sed -i '/^PbsFlavour/d' "$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
}

@test "bqueues and bhosts: who suspended what, the system or a person" {
    run -0 bsub -n 16 -m n1 -o /dev/null sleep 600
    local gave_way by_hand
    gave_way=$(grep -o 'Job <[0-9]*>' <<< "$output" | tr -dc 0-9)
    run -0 bsub -n 3 -m n2 -o /dev/null sleep 600
    by_hand=$(grep -o 'Job <[0-9]*>' <<< "$output" | tr -dc 0-9)
    wait_state "$gave_way" RUNNING
    wait_state "$by_hand" RUNNING
    run -0 bsub -n 16 -q urgent -o /dev/null sleep 600
    eventually has_state "$gave_way" SUSPENDED
    bstop "$by_hand"
    [ "$(bqueues -noheader -o 'njobs pend run susp ssusp ususp' workq)" = "19 0 0 19 16 3" ]
    bqueues -l workq | grep -qE ' 19 +0 +0 +16 +3 +0$'
    [ "$(bhosts -noheader -o 'ssusp ususp' n1 n2)" = $'16 0\n0 3' ]
    bkill 0
}
