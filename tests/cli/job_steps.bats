#!/usr/bin/env bats
# Steps inside jobs that are array elements, heterogeneous, requeued or killed: what srun says and leaves behind, each compared with the real one.
bats_require_minimum_version 1.5.0

setup_file() {
    export REMUDA_STATE="$BATS_FILE_TMPDIR/state" WORK="$BATS_FILE_TMPDIR/work"
    mkdir -p "$WORK" "$REMUDA_STATE"
    cat > "$REMUDA_STATE/remuda.conf" <<'END'
ClusterName=jobsteps
KillWait=2
AttachGrace=2
JobAcctGatherFrequency=1
NodeName=n[1-2] CPUs=4 RealMemory=8000 Feature=common,old Gres=gpu:p100:4 Virtual=YES
NodeName=n[3-4] CPUs=4 RealMemory=8000 Feature=common,new Virtual=YES
PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED
END
    # What the shell has open must not be open in anybody's task.
    echo secret > "$WORK/private"
    exec 37< "$WORK/private"
    remuda up -q
    exec 37<&-
}

teardown_file() {
    scancel -Q -u "$(id -un)" || true
    remuda down
}

setup() {
    mkdir -p "$WORK/$BATS_TEST_NUMBER"
    cd "$WORK/$BATS_TEST_NUMBER" || exit 1
}

script() {
    { echo '#!/bin/bash'; cat; } > "$1"
    chmod +x "$1"
}

wait_for() {
    for _ in $(seq 300); do
        eval "$1" && return 0
        sleep 0.1
    done
    echo "never: $1"
    return 1
}

# ---- streams -------------------------------------------------------------------------------------------------------------------

@test "every pattern of srun's -o, -e and -i in an array's elements" {
    script j.sh <<'END'
echo one > "in.$SLURM_ARRAY_TASK_ID"
echo two > "in.$SLURM_ARRAY_JOB_ID.$SLURM_ARRAY_TASK_ID"
[ "$SLURM_ARRAY_TASK_ID" = 20 ] && exit
srun -n1 --overlap -o 'o_%A_%a_%3a_%b_%x_%u' -e 'e_%A_%a' sh -c 'echo out; echo err >&2'
srun -n1 --overlap -o 'n_%A_%a_%b_%t_%n_%N' echo node
srun -n1 --overlap -i 'in.%a' cat
srun -n1 --overlap -i 'in.%A.%a' cat
srun -n2 -O --overlap -i 'in.%A.%a' -o 'i_%A_%a_%t' cat
END
    id=$(sbatch --parsable -W --array=3,12,20 -J nm -o 'b_%A_%a_%3a_%b_%x_%u' j.sh)
    for a in 3 12; do
        [ "$(cat o_${id}_${a}_$(printf %03d $a)_$((a % 10))_nm_"$(id -un)")" = out ]
        [ "$(cat e_${id}_$a)" = err ]
        [ "$(cat n_${id}_${a}_$((a % 10))_0_0_n*)" = node ]
        [ "$(cat i_${id}_${a}_[01])" = "two"$'\n'"two" ]
        [ "$(cat b_${id}_${a}_$(printf %03d $a)_$((a % 10))_nm_"$(id -un)")" = "one"$'\n'"two" ]
    done
    run ls
    [[ ! "$output" =~ 4294967294 ]]
}

@test "files of the nodes: emptied once, labelled with -l, errors apart from them where -e says so" {
    for _ in 1 2 3; do
        srun -N1 -n4 -o 'g_%n' echo hi
        [ "$(wc -l < g_0)" = 4 ]
    done
    run --separate-stderr srun -N2 -n4 -l -o 'f_%t' sh -c 'echo hi; echo err >&2; printf part'
    [ "$status" = 0 ]
    [ -z "$stderr$output" ]
    for t in 0 1 2 3; do
        [ "$(sort f_$t)" = "$t: err"$'\n'"$t: hi"$'\n'"$t: part" ]
    done
    srun -N1 -n4 -l -o 'h_%n' -e 'i_%n' sh -c 'echo hi; echo err >&2'
    [ "$(sort h_0 | tr '\n' ,)" = "0: hi,1: hi,2: hi,3: hi," ]
    [ "$(sort i_0 | tr '\n' ,)" = "0: err,1: err,2: err,3: err," ]
    srun -N2 -n4 -o 'j_%t' -e errors sh -c 'echo hi; echo err >&2'
    [ "$(cat j_0 j_1 j_2 j_3 | tr '\n' ,)" = "hi,hi,hi,hi," ]
    [ "$(tr '\n' , < errors)" = "err,err,err,err," ]
    # In a later component of a heterogeneous step the tasks count on.
    srun -l -n2 -o 'k_%t' echo hi : -n1 echo ho
    [ "$(cat k_0 k_1 k_2 | tr '\n' ,)" = "0: hi,1: hi,2: ho," ]
    # The owner's umask, the owner's file; one more time with --open-mode=append.
    (umask 077; srun -n1 -l -o 'l_%t' echo hi)
    [ "$(stat -c %a l_0)" = 600 ]
    srun -n1 -l --open-mode=append -o 'l_%t' echo ho
    [ "$(tr '\n' , < l_0)" = "0: hi,0: ho," ]
    run srun -N1 -n1 -l -o 'nowhere/../../../../../../../../../../../../proc/no/%t' true
    [ "$status" != 0 ]
    [[ "$output" =~ "cannot open the output file" ]]
}

@test "a file that srun names itself (%s) is one file, however many nodes" {
    srun -N4 -n4 -o 'o_%s' sh -c 'echo $SLURM_PROCID'
    [ "$(sort o_0 | tr '\n' ,)" = "0,1,2,3," ]
}

@test "--open-mode=append: a requeue keeps the former log, of the script and of its steps" {
    script j.sh <<'END'
echo "run ${SLURM_RESTART_COUNT:-0} $SLURM_OPEN_MODE"
srun -n1 -o s.out sh -c 'echo step ${SLURM_RESTART_COUNT:-0}'
srun -n1 -o 's_%t.out' sh -c 'echo step ${SLURM_RESTART_COUNT:-0}'
echo done >> done
[ -n "$SLURM_RESTART_COUNT" ] || sleep 30
END
    for mode in append truncate; do
        rm -f done ./*.out
        id=$(sbatch --parsable --requeue --open-mode=$mode -o o.out j.sh)
        wait_for '[ -s done ]'
        scontrol requeue "$id"
        wait_for '[ "$(sacct -nXj '"$id"' -o State%12 | xargs)" = COMPLETED ]'
        [ "$mode" = append ] && all=2 || all=1
        [ "$(grep -c ^run o.out)" = $all ]
        [ "$(grep -c ^step s.out)" = $all ]
        [ "$(grep -c ^step s_0.out)" = $all ]
        grep -q "^run 1 ${mode:0:1}$" o.out
    done
    [ -z "$(sbatch -W -o p.out --wrap 'echo $SLURM_OPEN_MODE' > /dev/null; cat p.out)" ]
}

@test "SLURM_ACCTG_FREQ, SLURM_CPU_FREQ_REQ, SLURM_NETWORK of jobs; what they cannot be" {
    vars='env | grep -E "^SLURM_(ACCTG_FREQ|CPU_FREQ_REQ|NETWORK)=" | sort | tr "\n" " "'
    all="SLURM_ACCTG_FREQ=task=9,energy=5 SLURM_CPU_FREQ_REQ=Low-High:OnDemand SLURM_NETWORK=ib "
    for how in "$vars" "srun sh -c '$vars'"; do
        sbatch -Q -W --acctg-freq=task=9,energy=5 --cpu-freq=LOW-high:ondemand --network=ib -o o.out --wrap "$how"
        [ "$(cat o.out)" = "$all" ]
    done
    [ "$(salloc -Q --acctg-freq=task=9,energy=5 --cpu-freq=low-high:ondemand --network=ib sh -c "$vars")" = "$all" ]
    [ "$(srun --acctg-freq=3 --cpu-freq=2400000 --network=ib sh -c "$vars")" = "SLURM_CPU_FREQ_REQ=2400000 " ]
    # A job of another job has its own.
    [ "$(SBATCH_CPU_FREQ_REQ= salloc -Q --cpu-freq=high sh -c "sbatch -Q -W -o i.out --wrap '$vars'; cat i.out")" = "" ]
    for bad in bad low: low:ondemand "" -1 performance-low; do
        run srun --cpu-freq="$bad" true
        [ "$status" != 0 ]
        [[ "$output" =~ "srun: error: Invalid --cpu-freq argument" ]]
    done
    for bad in bogus task=x foo=3 task=; do
        run sbatch --acctg-freq="$bad" --wrap true
        [ "$status" != 0 ]
        [[ "$output" =~ "sbatch: error: Invalid --acctg-freq specification: $bad" ]]
    done
}

@test "SRUN_INPUT, SRUN_OUTPUT, SRUN_ERROR and SLURM_STDINMODE, SLURM_STDOUTMODE, SLURM_STDERRMODE" {
    echo in > in
    for v in "SRUN_INPUT SRUN_OUTPUT SRUN_ERROR" "SLURM_STDINMODE SLURM_STDOUTMODE SLURM_STDERRMODE"; do
        read -r i o e <<< "$v"
        env "$i=in" "$o=out" "$e=err" srun sh -c 'cat; echo oops >&2'
        [ "$(cat out)" = in ]
        [ "$(cat err)" = oops ]
        [ "$(env "$o=out" srun -o two echo second; cat two)" = second ]
        rm out err
    done
}

@test 'the four characters \x1f pass through every -o' {
    id=$(sbatch --parsable -H --wrap true)
    [ "$(squeue -h -j "$id" -o '%A\x1f%T\x1f')" = "$id\\x1fPENDING\\x1f" ]
    [ "$(squeue -j "$id" -o '%A\x1f%T' | head -n1)" = 'JOBID\x1fSTATE' ]
    [ "$(sinfo -h -o '%P\x1f%D')" = 'main*\x1f4' ]
    scancel "$id"
}

# ---- what daemons hand on ------------------------------------------------------------------------------------------------------

@test "descriptors of the shell that started the cluster are open in nobody's task" {
    show='for f in /proc/$$/fd/*; do echo "${f##*/} $(readlink $f)"; done'
    run srun sh -c "$show"
    [ "$status" = 0 ]
    [[ ! "$output" =~ private ]]
    [ "$(sed 's/ .*//' <<< "$output" | sort -n | tail -n1)" -le 10 ]
    sbatch -Q -W -o o.out --wrap "$show"
    ! grep private o.out || false
    for pid in $(cat "$REMUDA_STATE"/controller.pid "$REMUDA_STATE"/nodes/*/node.pid); do
        ! ls -l "/proc/$pid/fd" | grep private || false
    done
}

# ---- heterogeneous ---------------------------------------------------------------------------------------------------------------

@test "sbatch: the script, --wrap and its files may be named in any component" {
    timeout 20 sbatch -Q -W -N1 : -N1 -o w.out --wrap 'echo wrapped $SLURM_HET_SIZE' < /dev/zero
    [ "$(cat w.out)" = "wrapped 2" ]
    timeout 20 sbatch -Q -W -N1 -o a.out --wrap 'echo first; echo oops >&2' : -N1 -o b.out -e e.out < /dev/zero
    [ "$(cat a.out)" = first ]
    [ "$(cat e.out)" = oops ]
    script sc.sh <<< 'echo script $1 $SLURM_HET_SIZE'
    timeout 20 sbatch -Q -W -N1 -o s.out : -N1 sc.sh arg < /dev/zero
    [ "$(cat s.out)" = "script arg 2" ]
}

@test "a component is not asked for what the environment says of the first" {
    [ "$(salloc -Q --gpus=2 : -n1 srun --het-group=0,1 -l sh -c 'echo $CUDA_VISIBLE_DEVICES' | sort | tr '\n' ';')" = "0: 0,1;1: ;" ]
    [ "$(salloc -Q --gpus-per-node=p100:1 --mem=2000 -c2 : -n1 --mem=100 srun --het-group=0,1 -l sh -c 'echo $CUDA_VISIBLE_DEVICES $SLURM_CPUS_ON_NODE' | sort | tr '\n' ';')" = "0: 0 2;1: 1;" ]
    [ "$(salloc -Q --gpus=1 : -n1 srun -n1 -l echo A : -n1 -l echo B | sort | tr '\n' ';')" = "0: A;1: B;" ]
}

@test "tasks are numbered in the order of the job's components; files named by the job are each component's own" {
    [ "$(salloc -Q -n2 : -n3 srun --het-group=1 -l echo B : --het-group=0 -l echo A | sort | tr '\n' ';')" = "0: A;1: A;2: B;3: B;4: B;" ]
    [ "$(salloc -Q -n2 : -n3 srun --het-group=1,0 -l sh -c 'echo $SLURM_PROCID' | sort | tr '\n' ';')" = "0: 0;1: 1;2: 2;3: 3;4: 4;" ]
    salloc -Q -n1 : -n1 srun --het-group=0,1 -l -o 'o_%j' echo hi
    [ "$(ls o_* | wc -l)" = 2 ]
    [ "$(cat o_* | sort | tr '\n' ';')" = "0: hi;1: hi;" ]
    salloc -Q -n1 : -n1 srun --het-group=1 -o 'B_%j' echo B : --het-group=0 -o 'A_%j' echo A
    [ "$(cat A_*)" = A ]
    [ "$(cat B_*)" = B ]
    run salloc -Q -n1 : -n1 srun --het-group=0 true : --het-group=0 true
    [ "$status" = 1 ]
    [[ "$output" =~ "Duplicate het groups in single srun not supported" ]]
    run salloc -Q -n1 : -n1 srun --het-group=2 true
    [ "${lines[0]}" = "srun: error: Requested het-group offset exceeds highest hetjob index (2 > 1)" ]
}

@test "steps of a heterogeneous job are counted as one job's: a step of both components has one number" {
    script count.sh <<'END'
for group in 0 1 0,1; do srun --het-group=$group sh -c 'echo "$SLURM_STEP_ID $SLURM_STEPID"'; done
srun -n1 sh -c 'echo A $SLURM_STEP_ID' : -n1 sh -c 'echo B $SLURM_STEP_ID'
srun --async --parsable --het-group=1 -o /dev/null true
END
    id=$(sbatch --parsable -W -n1 -o count.out : -n1 count.sh)
    id=${id%;*}
    [ "$(head -n 4 count.out | tr '\n' ';')" = "0 0;1 1;2 2;2 2;" ]
    [ "$(sed -n 5,6p count.out | sort | tr '\n' ';')" = "A 3;B 3;" ]
    [ "$(tail -n 1 count.out)" = "$((id + 1)).4" ]
    [ "$(sacct -n -P -j "$id" -o jobid | grep '\.[0-9]' | tr '\n' ';')" = "$id+0.0;$id+0.2;$id+0.3;$id+1.1;$id+1.2;$id+1.3;$id+1.4;" ]
}

@test "srun A : B in an ordinary allocation: each component has nodes of its own" {
    [ "$(salloc -Q -n4 -N2 srun -l -n1 sh -c 'echo A $SLURM_NTASKS $SLURMD_NODENAME' : -n2 sh -c 'echo B $SLURM_NTASKS $SLURMD_NODENAME' | sort | sed 's/ n[0-9]//' | tr '\n' ';')" = "0: A 3;1: B 3;2: B 3;" ]
    [ "$(salloc -Q -n4 -N2 srun -n1 sh -c 'echo $SLURMD_NODENAME' : -n1 sh -c 'echo $SLURMD_NODENAME' | sort -u | wc -l)" = 2 ]
    [ "$(salloc -Q -N3 srun -N2 sh -c 'echo A' : -N1 sh -c 'echo B' | sort | tr '\n' ';')" = "A;A;B;" ]
    run salloc -Q -N1 -n4 srun -n1 true : -n1 true
    [ "$status" = 1 ]
    [[ "$output" =~ "Allocation failure of 1 nodes: job size of 1, already allocated 1 nodes to previous components." ]]
}

# ---- usage -----------------------------------------------------------------------------------------------------------------------

@test "usage is the tasks' own: most, least and mean, and whose" {
    cat > t.py <<'END'
import os, time
t = int(os.environ["SLURM_PROCID"])
a = bytearray((20 + 60 * t) << 20)
for i in range(0, len(a), 4096): a[i] = 1
if t == 1:
    with open("written", "wb") as f: f.write(b"x" * (30 << 20))
if t == 2:
    open("big", "rb").read()
until = time.time() + (1.2 if t == 0 else 0.3)
while time.process_time() < (1.2 if t == 0 else 0.3): pass
time.sleep(2.5)
END
    head -c 20M /dev/zero > big
    script j.sh <<'END'
srun -N2 -n4 python3 t.py &
sleep 3
sstat -n -P -j $SLURM_JOB_ID.0 -o MaxRSSTask,MaxRSS,AveRSS > sstat.out
wait
END
    id=$(sbatch --parsable -W -N2 -n4 -o o j.sh)
    get() { sacct -nP --noconvert -j "$id.0" -o "$1"; }
    layout=$(sacct -nP -j "$id.0" -o NodeList)
    last=$(scontrol show hostnames "$layout" | tail -n1) first=$(scontrol show hostnames "$layout" | head -n1)
    [ "$(get MaxRSSTask,MaxRSSNode,MaxVMSizeTask,MaxVMSizeNode)" = "3|$last|3|$last" ]
    [ "$(get MaxRSS)" -gt $((200 << 20)) ]
    [ "$(get MaxRSS)" -lt $((230 << 20)) ]
    [ "$(get AveRSS)" -gt $((110 << 20)) ]
    [ "$(get AveRSS)" -lt $((150 << 20)) ]
    [ "$(get MaxDiskWriteTask,MaxDiskWriteNode)" = "1|$(get MaxDiskWriteNode)" ]
    [ "$(get MaxDiskWrite)" -ge $((30 << 20)) ]
    [ "$(get MaxDiskWrite)" -lt $((32 << 20)) ]
    [ "$(get MaxDiskReadTask)" = 2 ]
    [ "$(get MaxDiskRead)" -ge $((20 << 20)) ]
    [ "$(get AveDiskRead)" -lt $((12 << 20)) ]
    [ "$(get MinCPUTask)" != 0 ]
    [ "$(get MinCPU)" = 00:00:00 ]
    [[ "$(get TRESUsageInMaxTask)" =~ ^fs/disk=2,mem=3,pages=[0-3],vmem=3$ ]]
    [[ "$(get TRESUsageInMaxNode)" =~ mem=$last,.*vmem=$last$ ]]
    [ "$(get TRESUsageOutMaxTask)" = fs/disk=1 ]
    IFS='|' read -r task most mean < sstat.out
    [ "$task" = 3 ]
    [ "$most" != "$mean" ]
    [ -n "$first" ]
}

# ---- how they end ------------------------------------------------------------------------------------------------------------------

@test "out of memory is 0:125, srun says Out Of Memory and exits with 253" {
    run srun -n1 --mem=60 python3 -c 'x = bytearray(300 << 20); import time; time.sleep(30)'
    [ "$status" = 253 ]
    [[ "$output" =~ "task 0: Out Of Memory" ]]
    id=$(sacct -nPX -o JobID | tail -n1)
    wait_for '[ "$(sacct -nP -j '"$id"' -o State,ExitCode | sort -u)" = "OUT_OF_MEMORY|0:125" ]'
    id=$(sbatch --parsable --no-requeue -o o --mem=60 --wrap 'python3 -c "x = bytearray(300 << 20); import time; time.sleep(30)"; exit 3')
    wait_for '[ "$(sacct -nP -j '"$id"' -o State,ExitCode | sort -u)" = "OUT_OF_MEMORY|0:125" ]'
    scontrol show job "$id" | grep -q "ExitCode=0:125"
}

@test "OverTimeLimit holds for srun's own step too" {
    scontrol update PartitionName=main OverTimeLimit=1
    srun -t 0:01 sleep 3
    run srun -n1 sh -c 'srun --overlap -t 0:01 sleep 3'
    scontrol update PartitionName=main OverTimeLimit=0
    [ "$status" = 0 ]
    run srun -t 0:01 sleep 30
    [ "$status" != 0 ]
    [[ "$output" =~ "DUE TO TIME LIMIT" ]]
}

@test "a step that is ended from outside: Job step aborted, once" {
    srun -N2 -J ended sleep 60 2> err &
    pid=$!
    wait_for '[ -n "$(squeue -h -s -n ended -o %i 2>/dev/null || squeue -h -n ended -t R -o %i)" ]'
    sleep 0.5
    scancel -n ended
    wait "$pid" || true
    [ "$(grep -c 'srun: Job step aborted: Waiting up to 4 seconds for job step to finish.' err)" = 1 ]
    grep -q 'CANCELLED AT' err
    srun --quit-on-interrupt sleep 60 2> err2 &
    pid=$!
    sleep 1
    kill -INT "$pid"
    code=0
    wait "$pid" || code=$?
    [ "$code" = 130 ]
    [ "$(sed 's/=[0-9]*[.][0-9]*$/=STEP/' err2)" = "srun: sending Ctrl-C to StepId=STEP
srun: forcing job termination
srun: Job step aborted: Waiting up to 4 seconds for job step to finish." ]
}

@test "a task epilog has five seconds" {
    script te <<< 'sleep 60 & sleep 60'
    from=$SECONDS
    run srun --task-epilog="$PWD/te" echo hi
    [ $((SECONDS - from)) -lt 12 ]
    [ "$status" = 0 ]
    [[ "$output" =~ "hi" ]]
    [[ "$output" =~ "failed status=9" ]]
    script quick <<< 'echo done > quick.out'
    srun --task-epilog="$PWD/quick" true
    [ "$(cat quick.out)" = done ]
}

@test "--wait-for-children: the step ends with the last process of its tasks" {
    srun sh -c '(sleep 1.5; echo late > without) & exit 0' || true
    srun --wait-for-children sh -c '(sleep 1.5; echo late > with) & exit 3' || [ $? = 3 ]
    [ "$(cat with)" = late ]
    [ ! -e without ]
    SLURM_WAIT_FOR_CHILDREN=1 srun -n2 sh -c 'setsid sh -c "sleep 1; echo late > with.$SLURM_PROCID" & exit 0'
    [ "$(cat with.0 with.1)" = "late"$'\n'"late" ]
    # And it can be ended.
    run timeout -s INT 2 srun --wait-for-children --quit-on-interrupt sh -c 'sleep 60 & exit 0'
    [ "$status" = 124 ]
}

@test "a process that cannot be waited for by its task is still counted to it" {
    srun -n2 sh -c '[ $SLURM_PROCID = 0 ] || { (head -c 60M /dev/zero > "big"; sleep 2) & sleep 0.2; }; sleep 2.5'
    id=$(sacct -nPX -o JobID | tail -n1)
    [ "$(sacct -nP -j "$id.0" -o MaxDiskWriteTask)" = 1 ]
}

@test "sattach shows what came before" {
    srun -n2 sh -c 'echo before $SLURM_PROCID; echo oops >&2; until [ -e attached ]; do sleep 0.1; done; echo after' > said 2>&1 3>&- &
    wait_for '[ "$(grep -c . said)" = 4 ]'
    sattach -l "$(squeue -h -s -o %i | grep '\.0$' | tail -n1)" > shown 2>&1 3>&- &
    wait_for '[ "$(grep -c . shown)" = 4 ]'
    touch attached
    wait
    [ "$(sort shown | tr '\n' ';')" = "0: after;0: before 0;0: oops;1: after;1: before 1;1: oops;" ]
    # Of much output the last.
    srun sh -c 'seq 200000; until [ -e attached_again ]; do sleep 0.1; done' > said 3>&- &
    wait_for '[ "$(tail -n1 said)" = 200000 ]'
    sattach "$(squeue -h -s -o %i | grep '\.0$' | tail -n1)" > much 3>&- &
    wait_for '[ "$(tail -n1 much)" = 200000 ]'
    touch attached_again
    wait
    [ "$(tail -n1 much)" = 200000 ]
    [ "$(wc -c < much)" -gt 100000 ]
    [ "$(wc -c < much)" -le 262144 ]
}

# ---- smaller things ------------------------------------------------------------------------------------------------------------------

@test "-c without -n: as many tasks as the CPUs of the step's nodes allow" {
    count() { "$@" echo x | wc -l; }
    [ "$(count srun -N1 -c1 --exclusive)" = 4 ]
    [ "$(count srun -N2 -c2 --exclusive)" = 4 ]
    [ "$(count srun -N2 -c2)" = 2 ]
    [ "$(count salloc -Q -N1 -c4 srun -c2)" = 2 ]
    [ "$(count salloc -Q -N1 -c4 srun)" = 1 ]
    [ "$(count salloc -Q -N2 -c4 srun -c2)" = 4 ]
    [ "$(count salloc -Q -N1 -n2 -c2 srun -c1)" = 2 ]
    [ "$(count salloc -Q -N1 -n1 -c4 srun -c2)" = 1 ]
    [ "$(count salloc -Q -N1 --exclusive srun -c3 --exact)" = 1 ]
}

@test "sbcast -j: a job, a step, an element; what is none" {
    echo hi > f
    id=$(sbatch --parsable -N2 -o o --wrap 'srun -N1 -n1 sleep 60')
    wait_for '[ -n "$(squeue -h -s -o %i | grep "'"$id"'\.0$")" ]'
    sbcast -f -j "$id" f "$PWD/all"
    [ "$(cat all)" = hi ]
    sbcast -j "$id.0" f "$PWD/step"
    [ "$(cat step)" = hi ]
    run sbcast -j "$id.7" f "$PWD/none"
    [ "$status" = 255 ]
    [[ "$output" =~ "sbcast: error: Slurm job $id.7 lookup error: Invalid job id specified" ]]
    run sbcast -j x f "$PWD/none"
    [ "$status" = 255 ]
    scancel "$id"
    id=$(sbatch --parsable --array=4,9 -o o --wrap 'sleep 60')
    wait_for '[ "$(squeue -h -t R -j '"$id"' | wc -l)" = 2 ]'
    sbcast -j "${id}_9" f "$PWD/element"
    [ "$(cat element)" = hi ]
    scancel "$id"
    run sbcast f g
    [ "$status" = 1 ]
    [[ "$output" =~ "Need a job id to run this command.  Run from within a Slurm job or use the --jobid option." ]]
}

# Half of a file has no name that anybody would look for, and nothing is left beside it; where the step was killed, the next copy takes it away.
@test "sbcast that is killed or interrupted: neither half of the file nor what it was written to is left" {
    truncate -s 1G big
    echo hi > f
    id=$(sbatch --parsable -N1 -o o --wrap 'sleep 300')
    wait_for '[ "$(squeue -h -t R -j '"$id"' | wc -l)" = 1 ]'
    for signal in KILL INT TERM; do
        env --default-signal=INT sbcast -f -j "$id" big "$PWD/to.$signal" 3>&- &
        pid=$!
        wait_for 'ls to.'"$signal"'.sbcast.* 2>/dev/null'
        kill -"$signal" "$pid"
        wait "$pid" || true
        wait_for '! squeue -h -s -j '"$id"' | grep -q sbcast'
        [ ! -e "to.$signal" ]
        [ "$signal" = TERM ] || wait_for '[ -z "$(ls to.'"$signal"'* 2>/dev/null)" ]'
    done
    sbcast -j "$id" f "$PWD/to.TERM"
    [ "$(ls to.TERM*)" = to.TERM ]
    rm big
    scancel "$id"
}

@test "--wait-all-nodes is honoured: 0 and 1, nothing else" {
    sbatch -Q -W -N2 --wait-all-nodes=1 -o o --wrap 'srun hostname | wc -l'
    [ "$(cat o)" = 2 ]
    sbatch -Q -W -N2 --wait-all-nodes=0 -o o --wrap 'true'
    run sbatch --wait-all-nodes=2 --wrap true
    [ "$status" != 0 ]
    id=$(sacct -nPX -o JobID | tail -n1)
    [[ ! "$(scontrol show job "$id")" =~ "wait-all-nodes (" ]]
}

@test "a failing Prolog: the job is requeued and held at once, its node drained" {
    script prolog.sh <<< "[ ! -e $PWD/bad ] || { echo broken; exit 3; }"
    touch bad
    echo "Prolog=$PWD/prolog.sh" >> "$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    id=$(sbatch --parsable -w n1 -o o --wrap 'echo hi')
    wait_for '[ "$(squeue -h -j '"$id"' -o "%T %r")" = "PENDING launch failed requeued held" ]'
    wait_for '[ "$(sinfo -h -N -n n1 -o "%T %E")" = "drained Prolog error" ]'
    no=$(sbatch --parsable -w n2 --no-requeue -o o2 --wrap 'echo hi')
    wait_for '[ "$(sacct -nPX -j '"$no"' -o State)" = CANCELLED ]'
    wait_for '[ "$(sinfo -h -N -n n2 -o "%T %E")" = "drained Prolog error" ]'
    run srun -w n3 hostname
    [ "$status" != 0 ]
    [[ "$output" =~ "rolog" ]]
    wait_for '[ "$(sinfo -h -N -n n3 -o "%T %E")" = "drained Prolog error" ]'
    sed -i '/^Prolog=/d' "$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    scontrol update NodeName=n1,n2,n3 State=RESUME
    scontrol release "$id"
    wait_for '[ "$(sacct -nPX -j '"$id"' -o State)" = COMPLETED ]'
    [ "$(cat o)" = hi ]
}
