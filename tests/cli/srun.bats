#!/usr/bin/env bats
# srun with real daemons on four virtual nodes: steps, streams, ends, environment, terminals, and what the guides tell people to type.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<'END'
ClusterName=steps
KillWait=1
AttachGrace=2
NodeName=n[1-4] CPUs=4 RealMemory=8000 Gres=gpu:p100:4 Virtual=YES
PartitionName=gpu_gce Nodes=ALL Default=YES MaxTime=UNLIMITED
END
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

setup() { cd "$WORK" || exit 1; }

jobs_left() { squeue -h -o %i | wc -l; }
none_left() {
    for _ in $(seq 300); do
        [ "$(jobs_left)" = 0 ] && return 0
        sleep 0.1
    done
    squeue
    return 1
}

# ---- the simplest -----------------------------------------------------------------------------------------------------------

@test "a command runs, its output and its exit status come back, the job is over" {
    run --separate-stderr srun sh -c 'echo hello; echo trouble >&2; exit 3'
    [ "$status" = 3 ]
    [ "$output" = hello ]
    [[ "$stderr" == *trouble* ]]
    [[ "$stderr" =~ "srun: error: n1: task 0: Exited with exit code 3" ]]
    none_left
    id=$(sacct -n -X -P -o JobID | tail -n 1)
    [ "$(sacct -n -P -j "$id" -o JobID,State,ExitCode | tr '\n' ' ')" = "$id|FAILED|3:0 $id.0|FAILED|3:0 " ]
}

@test "a signal is 128 and its number" {
    run --separate-stderr srun sh -c 'kill -TERM $$'
    [ "$status" = 143 ]
    [[ "$stderr" =~ "srun: error: n1: task 0: Terminated" ]]
}

@test "a program that is not there" {
    run --separate-stderr srun /no/such/program
    [ "$status" = 2 ]
    [[ "$stderr" =~ "slurmstepd: error: execve(): /no/such/program: No such file or directory" ]]
}

@test "many tasks on many nodes, each with its numbers; labels" {
    srun -N2 -n4 -l sh -c 'echo $SLURM_PROCID $SLURM_NTASKS $SLURM_NNODES $SLURMD_NODENAME' | sort > out
    [ "$(cut -d' ' -f1-4 out | tr '\n' ';')" = "0: 0 4 2;1: 1 4 2;2: 2 4 2;3: 3 4 2;" ]
    [ "$(awk '{print $5}' out | sort | uniq -c | awk '{print $1}' | tr '\n' ' ')" = "2 2 " ]
}

@test "more tasks than ten: labels line up" {
    srun -n12 -N4 -c1 -l --overcommit true
    [ "$(srun -N4 -n12 -l echo x | sort | head -n 1)" = " 0: x" ]
}

@test "the highest exit status wins; which tasks failed is said" {
    run --separate-stderr srun -n4 -N4 sh -c 'exit $SLURM_PROCID'
    [ "$status" = 3 ]
    [[ "$stderr" =~ "task 1: Exited with exit code 1" ]]
    [[ "$stderr" =~ "task 3: Exited with exit code 3" ]]
}

# ---- streams ----------------------------------------------------------------------------------------------------------------

@test "standard input goes to all tasks, or to one, or to none" {
    [ "$(echo ping | srun -n2 cat | tr '\n' ' ')" = "ping ping " ]
    [ "$(echo ping | srun -n2 -i1 -l cat)" = "1: ping" ]
    [ "$(echo ping | srun -n2 --input none cat)" = "" ]
    echo from a file > in
    [ "$(srun -n1 -i in cat)" = "from a file" ]
}

@test "output to files: one, one for each task, none" {
    srun -n2 -o all_%j.txt sh -c 'echo $SLURM_PROCID'
    [ "$(sort all_*.txt | tr '\n' ' ')" = "0 1 " ]
    srun -n2 -o task_%t.txt -e task_%t.err sh -c 'echo out $SLURM_PROCID; echo err >&2'
    [ "$(cat task_1.txt task_1.err | tr '\n' ' ')" = "out 1 err " ]
    [ "$(srun -o none echo x)" = "" ]
    [ "$(srun -n3 -o 2 sh -c 'echo $SLURM_PROCID')" = 2 ]
}

@test "a hundred megabytes arrive whole; a reader that stops early ends the step" {
    [ "$(srun head -c 100000000 /dev/zero | wc -c)" = 100000000 ]
    run --separate-stderr bash -c 'set -o pipefail; srun yes | head -n 1'
    [ "$output" = y ]
    [ "$status" = 0 ]
    [ -z "$stderr" ]
    run --separate-stderr bash -c 'set -o pipefail; srun -n2 sh -c "[ \$SLURM_PROCID = 0 ] && exit 4; sleep 1; exec yes" | head -n 1'
    [ "$output" = y ]
    [ "$status" = 4 ]
    none_left
}

@test "input of ten megabytes arrives whole" {
    head -c 10000000 /dev/urandom > big
    [ "$(srun md5sum < big | cut -d' ' -f1)" = "$(md5sum < big | cut -d' ' -f1)" ]
}

@test "--pty: a terminal of the right size, keys, the shell's exit status" {
    cat > type.exp <<'END'
import os, pty, sys, time, select
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "dumb"
    os.execvp("srun", ["srun", "--begin=now+2", "--pty", "bash", "--norc"])
import fcntl, termios, struct
time.sleep(1) # it waits, and the window is made larger
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 101, 0, 0))
out = b""
def until(what):
    global out
    end = time.time() + 20
    while what not in out and time.time() < end:
        if select.select([fd], [], [], 0.2)[0]:
            try: out += os.read(fd, 4096)
            except OSError: break
    if what not in out: print(out); sys.exit("no " + repr(what))
time.sleep(0.5)
os.write(fd, b"PS1='ready> '\n"); until(b"\nready> ")
os.write(fd, b"stty size; tty\n"); until(b"33 101"); until(b"/dev/pts/")
os.write(fd, b"sleep 100\n"); time.sleep(0.5); os.write(fd, b"\x03"); until(b"^C")
os.write(fd, b"echo still $((40+2)) here\n"); until(b"still 42 here")
os.write(fd, b"exit 7\n")
_, status = os.waitpid(pid, 0)
sys.exit(0 if os.WEXITSTATUS(status) == 7 else "exit %d" % os.WEXITSTATUS(status))
END
    python3 type.exp
    none_left
}

# ---- steps in an allocation --------------------------------------------------------------------------------------------------

@test "salloc, and steps in it: part of it, all of it, several at once" {
    salloc -N2 --ntasks-per-node=4 --time=1:30:00 bash -c '
        srun --ntasks 2 sh -c "echo \$SLURM_STEP_ID.\$SLURM_PROCID" | sort
        srun hostname | wc -l
        srun --nodes=1 --ntasks=1 -w n2 --exact sh -c "echo on \$SLURMD_NODENAME" &
        srun --nodes=1 --ntasks=1 -w n1 --exact sh -c "echo on \$SLURMD_NODENAME" &
        wait' > out 2> err
    [ "$(head -n 3 out | tr '\n' ' ')" = "0.0 0.1 8 " ]
    [ "$(tail -n 2 out | sort | tr '\n' ' ')" = "on n1 on n2 " ]
    grep -q "salloc: Granted job allocation" err
    grep -q "salloc: Relinquishing job allocation" err
}

@test "a step waits for the resources of another, and says so; --overlap does not" {
    salloc -n1 bash -c '
        srun sh -c "sleep 2" &
        sleep 0.7
        srun --overlap echo beside
        srun echo after
        wait' > out 2> err
    [ "$(tr '\n' ' ' < out)" = "beside after " ]
    grep -Eq "srun: Job [0-9]+ step creation temporarily disabled, retrying \(Requested nodes are busy\)" err
}

@test "more than the allocation has is refused" {
    run salloc -n1 srun -n64 hostname
    [ "$status" != 0 ]
    [[ "$output" =~ "More processors requested than permitted" ]]
    run salloc -N1 srun -N3 hostname
    [ "$status" != 0 ]
}

@test "in a batch script: steps with rows of their own in sacct" {
    id=$(sbatch --parsable -W -N2 --ntasks-per-node=1 -o batch.out --wrap 'srun -l sh -c "echo \$SLURM_NODEID"; srun -N1 -n1 false; srun -n2 true')
    [ "$(sort batch.out | grep '^[01]: ' | tr '\n' ' ')" = "0: 0 1: 1 " ]
    [ "$(sacct -n -P -j "$id" -o JobID,State,NNodes | tr '\n' ' ')" = "$id|COMPLETED|2 $id.batch|COMPLETED|1 $id.0|COMPLETED|2 $id.1|FAILED|1 $id.2|COMPLETED|2 " ]
    [ "$(sacct -n -X -P -j "$id" -o DerivedExitCode)" = 1:0 ]
    [ "$(sacct -n -P -j "$id" -o JobName | tail -n 3 | tr '\n' ' ')" = "sh false true " ]
}

@test "scontrol show step: limits, and what the step and the script hold of the job" {
    sbatch -W -Q -N2 -n4 --gres=gpu:p100:2 --mem=2G -t 5 -o shown.out --wrap 'srun -n1 -N1 -c1 --gres=gpu:1 --mem=500M -t 2 scontrol show step $SLURM_JOB_ID.0 -o; scontrol show step $SLURM_JOB_ID.batch -o' > /dev/null
    cat shown.out
    grep -q 'StepId=[0-9]*\.0 .*TimeLimit=00:02:00 State=RUNNING .*Nodes=1 CPUs=1 Tasks=1 Name=scontrol Network=(null) TRES=cpu=1,gres/gpu=1,gres/gpu:p100=1,mem=500M,node=1 ResvPorts=(null) CPUFreqReq=Default Dist=Cyclic SrunHost:Pid=[^ ]*:[1-9][0-9]* TresPerNode=gres/gpu:1' shown.out
    grep -q 'StepId=[0-9]*\.batch .*Nodes=1 CPUs=2 Tasks=1 Name=batch Network=(null) TRES=cpu=2,gres/gpu=2,gres/gpu:p100=2,node=1 ' shown.out
}

@test "use_interactive_step: salloc's shell is on the node, and steps have the whole allocation beside it" {
    printf 'LaunchParameters=use_interactive_step\n' >> "$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    run script -qec 'SHELL=/bin/sh salloc -Q -N1 -n4 -w n3' /dev/null <<< 'echo on $SLURMD_NODENAME step $SLURM_STEP_ID; srun -n4 echo beside; exit 6'
    sed -i /LaunchParameters/d "$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    [ "$status" = 6 ]
    [[ "$output" == *"on n3 step "* ]]
    [ "$(grep -c '^beside' <<< "$output")" = 4 ]
    none_left
}

@test "--multi-prog, --distribution, --relative" {
    printf '0 echo first %%t %%o\n1-3 echo other %%t %%o\n' > progs
    [ "$(srun -n4 --multi-prog progs | sort | tr '\n' ';')" = "first 0 0;other 1 0;other 2 1;other 3 2;" ]
    [ "$(srun -N2 -n4 -m cyclic -l sh -c 'echo $SLURM_NODEID' | sort | tr '\n' ' ')" = "0: 0 1: 1 2: 0 3: 1 " ]
    [ "$(srun -N2 -n6 -O -m cyclic -l sh -c 'echo $SLURM_NODEID' | sort | tr '\n' ' ')" = "0: 0 1: 1 2: 0 3: 1 4: 0 5: 1 " ]
    [ "$(srun -N2 -n4 -m block -l sh -c 'echo $SLURM_NODEID' | sort | tr '\n' ' ')" = "0: 0 1: 0 2: 1 3: 1 " ]
    [ "$(salloc -Q -N3 srun -N1 -n1 -r 2 sh -c 'echo $SLURMD_NODENAME')" = n3 ]
}

@test "--kill-on-bad-exit ends the others; --wait, too" {
    run --separate-stderr timeout 20 srun -n2 -K sh -c '[ $SLURM_PROCID = 0 ] && exit 5; sleep 1000'
    [ "$status" -ge 5 ]
    [[ "$stderr" =~ "Terminating StepId=" ]]
    run --separate-stderr timeout 20 srun -n2 -W 1 sh -c '[ $SLURM_PROCID = 0 ] && exit 0; sleep 1000'
    [ "$status" != 124 ]
    none_left
}

@test "time limit of a step; the job goes on" {
    salloc -n1 bash -c 'srun -t 0:01 sleep 1000; echo status $?; srun echo next' > out 2> err
    grep -Eq 'status [1-9]' out
    grep -q next out
    grep -q "DUE TO TIME LIMIT" err
}

@test "srun that is killed takes its step and its job along" {
    srun sleep 4711 & pid=$!
    for _ in $(seq 300); do pgrep -f '^sleep 4711' > /dev/null && break; sleep 0.1; done
    kill -9 $pid
    for _ in $(seq 300); do pgrep -f '^sleep 4711' > /dev/null || break; sleep 0.1; done
    run ! pgrep -f '^sleep 4711'
    none_left
}

@test "scancel of a step leaves the job; scancel of the job ends srun" {
    salloc -n1 bash -c 'srun sleep 1000 & sleep 1; scancel $SLURM_JOB_ID.0; wait; srun echo alive' > out 2> err
    grep -q alive out
    srun sleep 1000 2> err & pid=$!
    for _ in $(seq 300); do [ "$(jobs_left)" = 1 ] && break; sleep 0.1; done
    sleep 0.5
    scancel -u "$(id -un)"
    run wait $pid
    grep -q "CANCELLED AT" err
    none_left
}

@test "Ctrl-C: the first tells, the second ends" {
    setsid srun -n2 sleep 1000.75 2> err & pid=$!
    for _ in $(seq 300); do [ "$(pgrep -fc '^sleep 1000.75')" -ge 2 ] && break; sleep 0.1; done
    srunpid=$(pgrep -nf '^srun -n2 sleep 1000.75')
    kill -INT "$srunpid"; sleep 0.3; kill -INT "$srunpid"
    wait $pid || true
    grep -q "srun: interrupt (one more within 1 sec to abort)" err
    grep -Eq "srun: StepId=[0-9]+\.0 tasks 0-1: running" err
    none_left
}

@test "the controller is killed under a running step: nothing is lost" {
    srun sh -c 'for i in 1 2 3 4 5 6; do echo $i; sleep 0.5; done' > out & pid=$!
    sleep 1
    kill -9 "$(cat "$REMUDA_STATE/controller.pid")"
    remuda up -q
    wait $pid
    [ "$(tr '\n' ' ' < out)" = "1 2 3 4 5 6 " ]
    none_left
}

# ---- environment ------------------------------------------------------------------------------------------------------------

@test "what frameworks read" {
    srun -N2 --ntasks-per-node=2 --gpus-per-node=p100:2 -l sh -c 'echo $SLURM_JOB_ID,$SLURM_STEP_NODELIST,$SLURM_NTASKS,$SLURM_PROCID,$SLURM_LOCALID,$SLURM_NODEID,$SLURM_NNODES,$SLURM_NTASKS_PER_NODE,$SLURM_JOB_NAME,$SLURM_TASKS_PER_NODE,$SLURM_GPUS_ON_NODE,$CUDA_VISIBLE_DEVICES,$RANK,$WORLD_SIZE,$LOCAL_RANK,$LOCAL_WORLD_SIZE' | sort > out
    id=$(sed -n '1s/^0: \([0-9]*\),.*/\1/p' out)
    [ "$(sed -n 4p out)" = "3: $id,n[1-2],4,3,1,1,2,2,sh,2(x2),2,0,1,3,4,1,2" ]
}

@test "rendezvous: one address and port for all tasks, none of two steps alike, off when asked, the user's own stays" {
    [ "$(srun -N2 -n2 sh -c 'echo $MASTER_ADDR:$MASTER_PORT' | sort -u | wc -l)" = 1 ]
    salloc -Q -n2 bash -c 'srun --exact -n1 sh -c "echo \$MASTER_PORT; sleep 0.5" & srun --exact -n1 sh -c "echo \$MASTER_PORT; sleep 0.5" & wait' | sort -u > ports
    [ "$(wc -l < ports)" = 2 ]
    [ "$(srun --no-rendezvous sh -c 'echo -$MASTER_ADDR$RANK-')" = "--" ]
    [ "$(MASTER_PORT=12345 srun sh -c 'echo $MASTER_PORT')" = 12345 ]
    [ "$(sbatch -W -Q -o /dev/stdout --wrap 'true' 2>&1; sbatch -W -o rdv.out --wrap 'echo "-$RANK$WORLD_SIZE-"' > /dev/null; cat rdv.out)" = "--" ]
}

@test "--export: a list, none" {
    [ "$(A=1 B=2 srun --export=A sh -c 'echo $A-$B-$SLURM_PROCID')" = "1--0" ]
    [ "$(A=1 srun --export=ALL,C=3 sh -c 'echo $A-$C')" = "1-3" ]
    [ "$(A=1 srun --export=NONE sh -c 'echo -$A-$SLURM_PROCID')" = "--0" ]
}

@test "GPUs of a step and of a task" {
    salloc -Q -n2 --gres=gpu:p100:4 bash -c '
        srun -n1 sh -c "echo all \$CUDA_VISIBLE_DEVICES"
        srun -n2 --gpus-per-task=1 sh -c "echo one \$CUDA_VISIBLE_DEVICES" | sort
        srun -n1 --gres=gpu:2 --exact sh -c "echo two \$CUDA_VISIBLE_DEVICES"' > out
    [ "$(tr '\n' ';' < out)" = "all 0,1,2,3;one 0;one 1;two 0,1;" ]
}

# ---- what the guides say ------------------------------------------------------------------------------------------------------

@test "Wilson: srun --unbuffered --pty --partition=gpu_gce --gres=gpu:p100:1 … /bin/bash" {
    run script -qec 'srun --unbuffered --pty --partition=gpu_gce --gres=gpu:p100:1 --nodes=1 --ntasks-per-node=1 --cpus-per-task=2 --time=00:10:00 /bin/bash -c "echo gpu \$CUDA_VISIBLE_DEVICES; exit 4"' /dev/null
    [ "$status" = 4 ]
    [[ "$output" =~ "gpu 0" ]]
    run script -qec 'srun --unbuffered --pty --partition=gpu_gce --gres=gpu:p100:1 --nodes=1 --ntasks-per-node=4 --time=00:10:00 /bin/bash -c "echo tasks \$SLURM_NTASKS"' /dev/null
    [[ "$output" =~ "tasks 4" ]]
}

@test "Satori: -I gives up at once when it cannot start; srun -l bash -c hostname | sort -k 2 -u" {
    run srun --gres=gpu:4 -N 1 --mem=1T --time 1:00:00 -I --pty /bin/bash
    [ "$status" != 0 ]
    salloc -Q -N4 --exclusive bash -c 'timeout 20 srun -J inner true; env -u SLURM_JOB_ID -u SLURM_JOBID srun -I -N1 true' 2> err || true
    grep -q "srun: error: Unable to allocate resources: Requested nodes are busy" err
    [ "$(srun -N2 -l bash -c 'hostname' | sort -k 2 -u | awk '{print NF}')" = 2 ]
}

@test "Alvis: salloc  --account p --nodes=1 --ntasks-per-node=4 --time=1:30:00, then srun --ntasks 2" {
    [ "$(salloc  -Q --account p --nodes=1 --ntasks-per-node=4 --time=1:30:00 srun --ntasks 2 echo x | wc -l)" = 2 ]
}

@test "ml-engineering and accelerate: srun --wait=60 --kill-on-bad-exit=1 --jobid \$SLURM_JOB_ID bash -c" {
    sbatch -W -Q -N2 --ntasks-per-node=1 -o ml.out --wrap 'H=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1); srun --nodes=1 --ntasks=1 -w $H hostname; srun --wait=60 --kill-on-bad-exit=1 --jobid $SLURM_JOB_ID bash -c "echo rank \$SLURM_PROCID of \$SLURM_NTASKS"' > /dev/null
    [ "$(grep rank ml.out | sort | tr '\n' ';')" = "rank 0 of 2;rank 1 of 2;" ]
}

@test "Open MPI's and MPICH's argv" {
    salloc -Q -N2 --ntasks-per-node=1 bash -c '
        SLURM_CPU_BIND=none srun --ntasks-per-node=1 --kill-on-bad-exit --mpi=none --nodes=2 --nodelist=n1,n2 --ntasks=2 echo -mca ess "\"slurm\""
        srun --nodelist n1,n2 -N 2 -n 2 --input none echo --proxy-id -1' > out
    [ "$(sort out | uniq -c | awk '{$1=$1};1' | tr '\n' ';')" = '2 --proxy-id -1;2 -mca ess "slurm";' ]
}

# ---- the other commands --------------------------------------------------------------------------------------------------------

@test "sattach shows a step's output; sstat what it uses; remuda shell enters the job" {
    srun -J watched sh -c 'while :; do echo tick; sleep 0.2; done' > /dev/null & pid=$!
    for _ in $(seq 300); do [ "$(squeue -h -t R -o %i | wc -l)" = 1 ] && break; sleep 0.1; done
    id=$(squeue -h -o %i)
    sleep 0.5
    [ "$(timeout 20 sattach "$id.0" | head -n 1)" = tick ]
    sattach --layout "$id.0" | grep -q 'Node 0 (n1), 1 task(s): 0'
    [ "$(sstat -n -P -j "$id" -o JobID,NTasks)" = "$id.0|1" ]
    [ "$(remuda shell "$id" -- sh -c 'echo $SLURM_JOB_ID' < /dev/null)" = "$id" ]
    kill -0 $pid
    scancel "$id"
    wait $pid || true
}

@test "sbcast copies to all nodes; srun --bcast runs the copy" {
    echo payload > file
    salloc -Q -N2 bash -c "sbcast -f file $WORK/copy_\$SLURM_JOB_ID && cat $WORK/copy_\$SLURM_JOB_ID" > out
    [ "$(cat out)" = payload ]
    [ "$(srun --bcast=/tmp/remuda-test-bcast-$$ echo copied)" = copied ]
    rm -f /tmp/remuda-test-bcast-$$
}

@test "--test-only, --mpi=list, refused options by name" {
    run srun --test-only -N2 true
    [ "$status" = 0 ]
    [[ "$output" =~ "srun: Job "[0-9]+" to start at " ]]
    [[ "$(srun --mpi=list)" =~ none ]]
    run srun --mpi=cray_shasta true
    [ "$status" != 0 ]
    [[ "$output" =~ "cray_shasta" ]]
    run srun -Z true
    [[ "$output" =~ "not supported" ]]
    run srun
    [[ "$output" =~ "No command given to execute" ]]
}

@test "heterogeneous: components with programs of their own" {
    srun -n1 echo one : -n2 echo two > out
    [ "$(sort out | tr '\n' ' ')" = "one two two " ]
    salloc -Q -n1 : -n2 bash -c 'echo $SLURM_HET_SIZE $SLURM_NTASKS_HET_GROUP_1; srun --het-group=1 echo second; srun --het-group=0,1 -l echo all' > out
    [ "$(head -n 3 out | tr '\n' ' ')" = "2 2 second second " ]
    [ "$(tail -n 3 out | sort | tr '\n' ';')" = "0: all;1: all;2: all;" ]
}
