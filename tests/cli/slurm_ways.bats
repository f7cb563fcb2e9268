#!/usr/bin/env bats
# What was otherwise than in Slurm and is as there (decision 81): what a step of --exclusive has, jobs that are stopped, a limit beyond its
# reservation; and small words of scontrol, sshare, sbcast, and --json without a controller.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<'END'
ClusterName=ways
NodeName=n[1-2] CPUs=4 Sockets=1 CoresPerSocket=4 RealMemory=1000 Virtual=YES
PartitionName=main Nodes=ALL Default=YES
END
    eventually nodes_there
}

nodes_there() { [ "$(sinfo -h -r -o %D)" = 2 ]; }

teardown_file() { remuda down; }

says() { # says TEXT COMMAND…
    local text=$1
    shift
    [ "$("$@")" = "$text" ]
}

# A job whose step runs; its number in $id.
job_with_step() {
    id=$(sbatch --parsable -o /dev/null --wrap 'srun sleep 600')
    wait_state "$id" RUNNING
    eventually says "$id.0" sh -c "squeue -h -s -j $id -o %i | grep -x $id.0"
}

@test "srun --exclusive: with a number of tasks their CPUs, without one the node's" {
    cpus() { srun -Q "$@" sh -c 'echo $SLURM_CPUS_ON_NODE' | sort -u; }
    [ "$(cpus --exclusive -n1)" = 1 ]
    [ "$(cpus --exclusive -n3)" = 3 ]
    [ "$(cpus --exclusive -N2 -n4)" = 2 ]
    [ "$(cpus --exclusive --ntasks-per-node=2)" = 2 ]
    [ "$(cpus --exclusive)" = 4 ]
    [ "$(cpus --exclusive --exact -N1)" = 4 ]
    [ "$(cpus --exclusive -c2 -n1)" = 2 ]
    [ "$(srun -Q --exclusive -n1 sh -c 'echo $SLURM_JOB_CPUS_PER_NODE')" = 4 ]
    [ "$(salloc -Q -n4 srun --exclusive=user -n1 sh -c 'echo $SLURM_CPUS_ON_NODE')" = 4 ]
    [ "$(salloc -Q -n4 srun --exclusive -n1 sh -c 'echo $SLURM_CPUS_ON_NODE')" = 1 ]
    [ "$(salloc -Q -n4 srun --whole -n1 sh -c 'echo $SLURM_CPUS_ON_NODE')" = 4 ]
    run -1 --separate-stderr srun --exclusive --whole -n1 true
    [ "${stderr_lines[0]}" = "srun: error: --exact and --whole are mutually exclusive." ]
    run -1 --separate-stderr srun --exclusive --overlap -n1 true
    [ "${stderr_lines[0]}" = "srun: error: --exclusive and --overlap are mutually exclusive" ]
}

@test "a job that SIGSTOP stopped is STOPPED until SIGCONT: whole, its script, its steps; not for one step, nor SIGTSTP" {
    job_with_step
    for how in "" -b -f; do
        scancel $how -s STOP "$id"
        eventually says "ST STOPPED" squeue -h -j "$id" -o '%t %T'
        [ -z "$(squeue -h -t R -j "$id")" ]
        [ "$(squeue -h -t ST -j "$id" -o %T)" = STOPPED ]
        [ "$(squeue -h -t stopped,PD -j "$id" -o %T)" = STOPPED ]
        [ "$(squeue -h -t all -j "$id" -o %T)" = STOPPED ]
        scontrol show job "$id" | grep -q 'JobState=STOPPED '
        squeue --json -j "$id" | jq -e '.jobs[0].job_state == ["RUNNING", "STOPPED"]' >/dev/null
        [ "$(sacct -X -n -P -j "$id" -o state)" = RUNNING ]
        scancel $how -s CONT "$id"
        eventually says "R RUNNING" squeue -h -j "$id" -o '%t %T'
    done
    scancel -s STOP "$id.0"
    [ "$(squeue -h -j "$id" -o %T)" = RUNNING ]
    scancel -s CONT "$id.0"
    scancel -s TSTP "$id"
    [ "$(squeue -h -j "$id" -o %T)" = RUNNING ]
    scancel -s STOP "$id"
    scancel -t STOPPED "$id"
    wait_state "$id" CANCELLED
}

@test "a stop of the steps alone is not told again to a node's daemon that comes back" {
    job_with_step
    scancel -s STOP "$id"
    eventually says STOPPED squeue -h -j "$id" -o %T
    node=$(squeue -h -j "$id" -o %N)
    kill -9 "$(remuda status --pid "node[$node]")" "$(remuda status --pid controller)"
    remuda up -q 3>&-
    eventually nodes_there
    eventually says STOPPED squeue -h -j "$id" -o %T
    scancel -s CONT "$id"
    eventually says RUNNING squeue -h -j "$id" -o %T
    scancel "$id.0" # the script is not stopped: it goes on and ends
    eventually sh -c "! squeue -h -t R,ST,CG -j $id -o %i | grep -q ."
}

@test "a limit beyond the reservation's end is cut, which is said; --time-min is kept" {
    scontrol create reservation=class StartTime=now Duration=30 Users="$(id -un)" Nodes=n2 >/dev/null
    run -0 --separate-stderr sbatch --parsable --reservation=class -t 4:00:00 -o /dev/null --wrap 'sleep 600'
    id=$output
    [[ "$stderr" == *"the reservation class lasts 00:30:00 and its jobs end with it"* ]]
    wait_state "$id" RUNNING
    limit=$(scontrol show job "$id" | grep -o 'TimeLimit=[^ ]*')
    [[ "$limit" == TimeLimit=00:[23]?:* ]]
    scancel "$id"
    run -1 --separate-stderr sbatch --reservation=class -t 4:00:00 --time-min=1:00:00 -o /dev/null --wrap true
    [[ "$stderr" == *"more was asked for at least"* ]]
    run -0 --separate-stderr sbatch --parsable -H --reservation=class -t 20 -o /dev/null --wrap true
    [ -z "$stderr" ]
    scancel "$output"
    eventually scontrol delete reservation=class
}

@test "SLURM_PRIO_PROCESS is the nice value that the command had" {
    [ "$(nice -n 7 srun -Q sh -c 'echo $SLURM_PRIO_PROCESS')" = "$(nice -n 7 nice)" ]
    nice -n 6 sbatch -W -o "$WORK/prio" --wrap 'echo $SLURM_PRIO_PROCESS' >/dev/null
    [ "$(cat "$WORK/prio")" = "$(nice -n 6 nice)" ]
}

@test "scontrol: another cluster's name, flags that are taken away, what listpids cannot find; sshare -h" {
    run -1 --separate-stderr scontrol cluster elsewhere
    [ "${stderr_lines[0]}" = "scontrol: error: No cluster 'elsewhere' known by database." ]
    run -0 scontrol cluster ways
    run --separate-stderr scontrol setdebugflags -Backfill
    [[ "$stderr" != *"invalid option"* ]]
    run -1 --separate-stderr scontrol create partition
    [ "${stderr_lines[0]}" = "scontrol: error: Invalid input: partition  Request aborted" ]
    job_with_step
    run -1 --separate-stderr scontrol listpids "$id.9"
    [ "${stderr_lines[0]}" = "StepId=$id.9 does not exist on node (null)." ]
    run -1 --separate-stderr scontrol listpids "$id.frob"
    [ "${stderr_lines[0]}" = "\"$id.frob\" does not look like a stepid" ]
    run -1 --separate-stderr scontrol listpids 99999
    [ "${stderr_lines[0]}" = "There are no steps for job 99999 on node (null)." ]
    scancel "$id"
    run -0 sshare -h
    [[ "$output" != *Account* && "$output" != *Usage* ]]
}

@test "sbcast into a folder that is not there says Slurm's line" {
    run --separate-stderr salloc -Q -n1 sbcast /etc/hostname /nosuch/folder/x
    [ "$status" != 0 ]
    [ "${stderr_lines[0]}" = "sbcast: error: REQUEST_FILE_BCAST(n1): No such file or directory" ]
    cd "$WORK"
    run -0 salloc -Q -n1 sbcast -f /etc/hostname here
    # A pipe cannot be mapped, and need not have another end.
    mkfifo sbcast.pipe
    run -255 timeout 20 salloc -Q -n1 sbcast -f sbcast.pipe here
    [[ "$output" == *"Can't mmap file \`sbcast.pipe\`, No such device."* ]]
    cmp /etc/hostname "$WORK/here"
    # A device has no length, as Slurm sees it; read, it filled the disk.
    run -0 timeout 20 salloc -Q -n1 sbcast -f /dev/zero none
    [[ "$output" == *"Warning: file \`/dev/zero\` is empty." ]]
    [ -e "$WORK/none" ]
    [ ! -s "$WORK/none" ]
}

@test "sbcast: half of a file is nobody else's to read, and nothing is written through a link that somebody made by a name he foresaw" {
    cd "$WORK"
    truncate -s 300M large
    chmod 600 large
    : >stop.not
    while [ -e stop.not ]; do stat -c %a copied.sbcast.* 2>/dev/null || true; done | sort -u >modes 3>&- &
    run -0 salloc -Q -n1 sbcast -f large copied
    rm stop.not
    wait
    [ "$(cat modes)" = 600 ]
    [ "$(stat -c %a copied)" = 600 ]
    echo precious >precious
    python3 -c '
import os
last = int(open("/proc/loadavg").read().split()[4])
for i in range(1500):
    os.symlink("precious", f"got.sbcast.n1.{last + i}")'
    run -0 salloc -Q -n1 sbcast -f /etc/hostname got
    [ "$(cat precious)" = precious ]
    cmp got /etc/hostname
    [ ! -L got ]
    rm -f large copied got*
}

@test "sbcast: -f replaces files, and nothing is put into a folder that has the name, or gets it meanwhile; a file that grows has an end" {
    cd "$WORK"
    mkdir folder
    ln -s folder link
    mkfifo pipe.there
    truncate -s 64M grows
    for to in folder link; do
        run -21 salloc -Q -n1 sbcast -f /etc/hostname "$to"
        [[ "$output" == *"REQUEST_FILE_BCAST(n1): Is a directory"* ]]
    done
    run -17 salloc -Q -n1 sbcast -f /etc/hostname pipe.there
    [ -p pipe.there ]
    [ -L link ]
    [ -z "$(ls folder)" ]
    # Somebody is quicker: the name is his folder's when the file is whole. Where he is not, once more.
    copying() { compgen -G 'meanwhile.sbcast.*' >/dev/null || ! kill -0 "$pid" 2>/dev/null; }
    for _ in 1 2 3 4 5 6 7 8; do
        rm -rf meanwhile
        salloc -Q -n1 sbcast -f grows meanwhile >out 2>&1 3>&- &
        pid=$!
        until copying; do :; done
        made=0
        mkdir -m 777 meanwhile 2>/dev/null && made=1
        copied=0
        wait "$pid" && copied=1
        [ "$made" = 0 ] || break
    done
    [ "$made" = 1 ]
    [ "$copied" = 0 ]
    [ -z "$(ls meanwhile)" ]
    ! compgen -G 'meanwhile.sbcast.*' || false
    # The folder gets another name: the file is where it began.
    mkdir into
    salloc -Q -n1 sbcast -f grows into/got 3>&- &
    pid=$!
    begun() { compgen -G 'into/got*' >/dev/null; }
    eventually begun
    mv into moved
    wait "$pid"
    [ "$(ls moved)" = got ]
    cmp grows moved/got
    # Another adds to it, for as long as it is read.
    salloc -Q -n1 sbcast -f grows copied 3>&- &
    pid=$!
    grown() { compgen -G 'copied.sbcast.*' >/dev/null || [ -e copied ]; }
    eventually grown
    for _ in 1 2 3 4 5 6 7 8; do head -c 8M /dev/zero >>grows; done
    wait "$pid"
    [ "$(stat -c %s copied)" = $((64 << 20)) ]
    rm -rf folder link pipe.there grows meanwhile moved copied
}

@test "--json without a controller: a document that says so, and status 1" {
    mkdir -p "$WORK/away"
    for c in squeue sinfo sacct; do
        run -1 --separate-stderr env REMUDA_STATE="$WORK/away" "$c" --json
        jq -e '.errors[0].error_number == 1800 and (.jobs // .sinfo) == []' <<<"$output"
        [[ "$stderr" == *"Unable to contact slurm controller"* ]]
    done
}

@test "what drawn lines found: nodes shown in order, an array of one in brackets, words of sacct, sprio and sstat" {
    id=$(sbatch --parsable -H -w n2,n1,n2 -N2 --ntasks-per-node=2 --wrap true)
    [ "$(squeue -h -j "$id" -o '%n %c')" = "n[1-2] 2" ]
    scontrol show job "$id" | grep -q 'ReqNodeList=n\[1-2\] '
    one=$(sbatch --parsable -H -a 7 --wrap true)
    [ "$(squeue -h -j "$one" -o %i)" = "${one}_[7]" ]
    two=$(sbatch --parsable -H -a 1-2 --wrap true)
    scontrol update jobid="${two}_1" nice=5
    [ "$(squeue -h -j "$two" -o %i | sort | paste -sd' ')" = "${two}_1 ${two}_2" ]
    run -1 --separate-stderr sacct -q nosuch
    [ "${stderr_lines[0]}" = "sacct: error: You gave a bad qos 'nosuch'. Valid QOS's are normal" ]
    run -1 --separate-stderr sacct --reason=Foo
    [ "${stderr_lines[0]}" = "sacct: fatal: unrecognized job reason value 'Foo'" ]
    run -1 --separate-stderr sacct --flags=Foo
    [ "${stderr_lines[0]}" = "sacct: error: str_2_job_flags: Invalid job flag Foo" ]
    run -1 --separate-stderr sacct foo bar
    [ "$stderr" = $'sacct: error: Unknown arguments:\nsacct: error:  foo\nsacct: error:  bar' ]
    run -0 --separate-stderr sstat -n -j "$id"
    [ "$stderr" = "sstat: error: No steps running for job $id" ]
    [ "$(sprio -j "$id" -w)" = "Unable to find jobs matching user/id(s) specified" ]
    run -1 sprio -l -o %i
    scancel "$id" "$one" "$two"
}

# Standard error is a socket that keeps what is written together.
lines_in_one_piece() {
    python3 - "$@" <<'END'
import socket, subprocess, sys
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
subprocess.run(sys.argv[1:], stderr=theirs.fileno(), stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
theirs.close()
pieces = []
ours.settimeout(1)
while True:
    try:
        pieces.append(ours.recv(4096).decode())
    except (socket.timeout, ConnectionResetError):
        break
assert len(pieces) >= 2, pieces
assert all(p.endswith("\n") and p.count("\n") == 1 for p in pieces), pieces
END
}

@test "what commands say at the same time stays whole: each line is written in one piece" {
    lines_in_one_piece salloc -n1 true
    lines_in_one_piece srun -n2 sh -c 'exit $((SLURM_PROCID + 1))'
}

@test "SLURM_JOB_NAME of tasks is what -J of their step says, else what srun has; a shell in a job has the job's" {
    printf '%s\n' '#!/bin/bash' "say='printenv SLURM_JOB_NAME'" 'srun -Q -n1 -J step $say; srun -Q -n1 $say; SLURM_JOB_NAME=own srun -Q -n1 $say' \
        'srun -Q -n1 -J step true : -n1 -J other $say; unset SLURM_JOB_NAME; srun -Q -n1 $say' >"$BATS_TEST_TMPDIR/job.sh"
    sbatch -W -J named -N2 --ntasks-per-node=1 -o "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/job.sh"
    [ "$(grep -v ^srun: "$BATS_TEST_TMPDIR/out" | tr '\n' ' ')" = "step named own other named " ] || { cat "$BATS_TEST_TMPDIR/out"; false; }
    [ "$(SLURM_JOB_NAME=env srun -Q -J line printenv SLURM_JOB_NAME)" = line ]
    [ "$(SLURM_JOB_NAME=env srun -Q printenv SLURM_JOB_NAME)" = env ]
    id=$(sbatch --parsable -J named -o /dev/null --wrap 'sleep 600')
    wait_state "$id" RUNNING
    [ "$(SLURM_JOB_NAME=env remuda shell "$id" printenv SLURM_JOB_NAME)" = named ]
    scancel "$id"
    [ "$(SLURM_JOB_NAME=env salloc -Q -J here srun -Q printenv SLURM_JOB_NAME)" = here ]
}

@test "sacct: TRES in the unit asked for; what was not measured yet is empty; a script that could not begin never ran" {
    id=$(sbatch --parsable --mem=500 -o /dev/null --wrap 'sleep 600')
    wait_state "$id" RUNNING
    [ "$(sacct -n -P -X -j "$id" --units=K -o ReqTRES,AllocTRES)" = "billing=1,cpu=1,mem=512000K,node=1|billing=1,cpu=1,mem=512000K,node=1" ]
    [ "$(sacct -n -P -X -j "$id" --units=G -o ReqTRES)" = "billing=1,cpu=1,mem=0.49G,node=1" ]
    [ "$(sacct -n -P -X -j "$id" --noconvert -o AllocTRES)" = "billing=1,cpu=1,mem=500M,node=1" ]
    scancel "$id"

    id=$(sbatch --parsable --acctg-freq=0 -o /dev/null --wrap 'sleep 600')
    wait_state "$id" RUNNING
    [ "$(sacct -n -P -j "$id.batch" -o JobID,MaxRSS,MaxRSSNode,MaxRSSTask,AveCPU,MaxPages,NTasks,TRESUsageInMax,TRESUsageOutTot)" = "$id.batch||||||1||" ]
    scancel "$id"
    eventually says CANCELLED sh -c "sacct -n -P -X -j $id -o State | cut -d' ' -f1"
    [ -n "$(sacct -n -P -j "$id.batch" -o MaxRSSNode)" ]

    id=$(sbatch --parsable -i /nowhere/at/all -o /dev/null --wrap true)
    eventually says "$id|FAILED|0:53 $id.batch|CANCELLED|0:53 " sh -c "sacct -n -P -j $id -o JobID,State,ExitCode | tr '\n' ' '"
}

@test "plane=N must reach every node of a job; processors that are asked for beside nodes are tasks" {
    run ! sbatch -N2 -n2 -m plane=2 --wrap true
    [[ "$output" == *"error: Too few processes for the requested {plane,node} distribution"*"plane=2: 2 tasks do not reach 2 nodes"* ]]
    run ! salloc -Q -N2 -m plane=2,Pack true
    srun -Q -N2 -n2 -m plane=2 true
    id=$(sbatch --parsable -H -N2 -n3 -m plane=2 --wrap true)
    tasks() { squeue -h -j "$(sbatch --parsable -H "$@" --wrap true)" -O NumTasks | tr -d ' '; }
    [ "$(tasks --cores-per-socket=2 -w n1)" = 2 ]
    [ "$(tasks --cores-per-socket=2 -N2)" = 4 ]
    [ "$(tasks --cores-per-socket=2 -N1-2)" = 1 ]
    [ "$(tasks --cores-per-socket=2)" = 1 ]
    [ "$(tasks --cores-per-socket=2 -N1 -n1)" = 1 ]
    scancel -u "$(id -un)"
}
