#!/usr/bin/env bats
# Rows of spec/dialects.md 1 to 8, tried one by one with the commands: what each option becomes, what is said, and what it ends with.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster <<'END'
ClusterName=head
KillWait=1
NodeName=n[1-2] CPUs=16 RealMemory=64000 Gres=gpu:2 Feature=bigmem,XeonA Virtual=YES
NodeName=s1 CPUs=32 Sockets=2 CoresPerSocket=16 RealMemory=256000 Gres=gpu:4 Feature=power9 Virtual=YES
PartitionName=workq Nodes=n[1-2],s1 Default=YES MaxTime=1-00:00:00
PartitionName=endless Nodes=s1
PartitionName=closed Nodes=s1 AllowGroups=nobody-is-in-it
END
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

setup() { cd "$WORK" || exit 1; }

# Runs bsub with these words, held; its job is $id.
held() {
    run -0 --separate-stderr bsub -H -o /dev/null "$@" sleep 100
    id=$(grep -o 'Job <[0-9]*>' <<< "$output" | tr -dc 0-9)
}
shown() { squeue -h -j "$id" -O "$1:100" | sed 's/ *$//'; }
queued() {
    run -0 --separate-stderr qsub -h "$@" <<< 'sleep 100'
    id=${output%%[.[]*}
}
over() { [ "$(qstat -x "$1" | tail -1 | awk '{print $5}')" = F ]; }

@test "bsub: what has no effect is said once on stderr, and the job runs without it" {
    local row
    for row in "-We 10" "-sp 5" "-sla gold" "-Lp x" "-a esub" "-v 100" "-R order[ut]" "-R select[r1m<1]" "-gpu num=1:glink=yes"; do
        # shellcheck disable=SC2086 # words
        held $row
        [[ "$stderr" == "bsub: without effect: "* ]] || { echo "$row: $stderr"; false; }
        [ "$(grep -c "without effect" <<< "$stderr")" = 1 ]
    done
    held -n 2
    [ "$stderr" = "" ]
    # Of a job that there will not be nothing else is said.
    run -255 --separate-stderr bsub -H -We 10 -n 5000 true
    [[ "$stderr" != *"without effect"* ]]
    run ! --separate-stderr qsub -h -p 5 -l select=5000:ncpus=16 <<< true
    [[ "$stderr" != *"without effect"* ]]
}

@test "bsub -b and -t say when; -t is the end, whatever -W says" {
    held -b 2030:01:02:10:00
    [ "$stderr" = "Job will be scheduled after Wed Jan  2 10:00:00 2030" ]
    held -t 2030:01:02:10:00 -W 10
    [ "$stderr" = "Job will be terminated by Wed Jan  2 10:00:00 2030" ]
    [ "$(scontrol show job "$id" | grep -o 'Deadline=[^ ]*')" = "Deadline=2030-01-02T10:00:00" ]
    held -b 1:2:3:4:5
    [ "$stderr" = "Job will be scheduled after Thu Jan  1 00:00:01 1970" ]
    queued -a 190001010000 # both have passed, as in Slurm
    qdel "$id"
    run -255 --separate-stderr bsub -t 25:00 true
    [[ "$stderr" == *"[[[year:]month:]day:]hour:minute is needed"* ]]
}

@test "bsub -C -S -D -F are limits of the job, -env ~NAME leaves a variable out, -cwd takes %U and %P" {
    export LEFT_OUT=1 KEPT=2
    run -255 --separate-stderr bhist 987654
    [ "$stderr" = "No matching job found" ]
    run -0 --separate-stderr bsub -K -o /dev/null -cwd "$WORK/a/b/c" 'pwd > here'
    [ "$(cat "$WORK/a/b/c/here")" = "$WORK/a/b/c" ]
    run -0 --separate-stderr bsub -K -o "$WORK/limits.o" -P proj -C 0 -F 1MB -env 'all,~LEFT_OUT' -cwd "$WORK/%U-%P" 'ulimit -c; ulimit -f; echo "${LEFT_OUT-none} $KEPT"; pwd'
    eventually grep -q "^$WORK/" limits.o
    # dash and bash count files in blocks of 512 and 1024 bytes.
    [[ "$(head -4 limits.o | tr '\n' ' ')" =~ ^0\ (1024|2048)\ none\ 2\ $WORK/$(id -un)-proj\ $ ]]
    run -255 --separate-stderr bsub -cwd "$WORK/%J" true
    [[ "$stderr" == "-cwd $WORK/%J: %J and %I are not known before the job is submitted"* ]]
    [ ! -e "$WORK/%J" ]
    run -255 --separate-stderr bsub -p 10 true
    [[ "$stderr" == "-p is not supported: "* ]]
}

@test "select[]: what no option of a job says is asked of each host; bhosts -R and lsload -R say which are so" {
    held -R "select[mem>100GB]"
    [ "$(shown ExcNodes)" = "n[1-2]" ]
    held -R "select[!bigmem && ngpus>3]"
    [ "$(shown ExcNodes)" = "n[1-2]" ]
    held -R "select[power9 || mem<100GB] rusage[mem=10]"
    [ "$(shown ExcNodes)" = "" ]
    held -R "select[bigmem && hname!='n1']"
    [ "$(shown ExcNodes) $(shown Feature)" = "n1 bigmem" ]
    run -255 --separate-stderr bsub -R "select[mem>9TB]" true
    [[ "$stderr" == *"none of the 3 hosts is so; bhosts -R shows which are. Job not submitted." ]]
    run -255 --separate-stderr bsub -R "select[frob!=1 || mem>1]" true
    [[ "$stderr" == *'"frob": no such resource'* ]]
    [ "$(bhosts -noheader -o hname -R "select[mem>100GB || hname==n2] order[ut]" | tr '\n' ' ')" = "n2 s1 " ]
    [ "$(lsload -noheader -R '!bigmem' | awk '{print $1}')" = s1 ]
    run -255 --separate-stderr bhosts -R "mem>9TB"
    [ "$stderr" = "No host is so: select[(mem>9TB)]" ]
    run -255 --separate-stderr bhosts -R "select[mem>"
    [[ "$stderr" == *"a bracket is not closed"* ]]
}

@test "job groups: bsub -g, bjobs -g, bkill -g; a group has those below it" {
    held -g /g/one
    local one=$id
    held -g /g/two
    local two=$id
    held -g /gg
    [ "$(bjobs -noheader -o jobid -g /g | tr '\n' ' ')" = "$one $two " ]
    [ "$(bjobs -noheader -o 'jobid job_group' -g /g/two)" = "$two /g/two" ]
    [ "$(bjobs -noheader -o jobid -g / | tr '\n' ' ')" = "$one $two $id " ]
    run -0 --separate-stderr bjobs -app none
    [ "$stderr" = "No unfinished job found" ]
    run -0 bkill -g /g 0
    [ "$output" = "Job <$one> is being terminated"$'\n'"Job <$two> is being terminated" ]
    wait_state "$two" CANCELLED
    [ "$(bjobs -noheader -o stat "$id")" = PSUSP ]
}

@test "what waits is PEND in every listing, what is held PSUSP" {
    run -0 --separate-stderr bsub -J 'w[1-3]%1' -o /dev/null sleep 100
    id=$(grep -o 'Job <[0-9]*>' <<< "$output" | tr -dc 0-9)
    eventually has_state "$id" RUNNING
    [ "$(bjobs -noheader -o stat "$id" | tr '\n' ' ')" = "RUN PEND PEND " ]
    [ "$(bjobs -a -J 'w*' -noheader -o stat | tr '\n' ' ')" = "RUN PEND PEND " ]
    [ "$(bjobs -A "$id" | awk 'NR == 2 {print $4, $5, $7, $11}')" = "3 2 1 0" ]
    bkill "$id"
}

@test "bqueues -u: the queues a user may use; showstart: when what waits is planned to start" {
    if [ "$(id -u)" = 0 ]; then
        [ "$(bqueues -u nobody -noheader | awk '{print $1}' | tr '\n' ' ')" = "workq endless " ]
    fi
    bqueues -u "$(id -un)" -noheader | grep -q '^workq '
    [ "$(bqueues -u all -noheader | wc -l)" = 3 ]
    run -255 --separate-stderr bqueues -u nobody-of-that-name
    [ "$stderr" = "nobody-of-that-name: No such user" ]
    held -J later
    run -0 --separate-stderr showstart "$id"
    [ "${lines[0]}" = "JOBID      USER    QUEUE      SUBMIT_TIME  ESTIMATED_SIM_START_T JOB_NAME" ]
    [[ "${lines[1]}" =~ ^$id\ .*\ workq\ .*\ later$ ]]
    run -0 --separate-stderr showstart 987654
    [ "$stderr" = "Job <987654> is not found" ]
}

@test "qsub: rows that are refused by name, each with its status" {
    local row status_wanted says
    while IFS='|' read -r row status_wanted says; do
        # shellcheck disable=SC2086 # words
        run --separate-stderr qsub -h $row <<< true
        [[ "$status" = "$status_wanted" && "$stderr" == "qsub: "*"$says"* ]] || { echo "qsub $row: $status $stderr"; false; }
    done <<'END'
-q workq@other|188|-q @other is not supported: this server is head
-q @other|188|this server is head
-l foo=1|187|Unknown resource Resource_List.foo
-q nosuch|170|Unknown queue
-J 1-3 -r n|1|cannot submit non-rerunable Array Job
-u somebody|188|-u with another user is not supported
-D /|188|-D is not supported
-W sandbox=PRIVATE|188|-W sandbox is not supported
-W depend=syncwith:1|188|-W depend=syncwith is not supported
-l place=pack|1|Cannot have "place" without "select"
-l cput=9|188|-l cput is not supported
END
}

@test "qsub: @server of ours, -u oneself, -w, nodes named one by one, threads of a chunk; what has no effect is said" {
    queued -q workq@head -u "$(id -un)"
    queued -l nodes=n1:ppn=2+n2:ppn=2
    [ "$(shown NumNodes) $(shown NumTasks) $(shown ReqNodes)" = "2 4 n[1-2]" ] || [ "$(shown ReqNodes)" = "n1,n2" ]
    queued -l nodes=1:gpus=1:reseterr
    queued -k oe
    [ "$stderr" = "qsub: without effect: -k: output is written to its file directly" ]
    run -0 --separate-stderr qsub -W block=true -w "$WORK" -j oe -o threads.o -l select=1:ncpus=4:mpiprocs=2:ompthreads=3 <<< 'echo $NCPUS $OMP_NUM_THREADS $PBS_O_WORKDIR; pwd; wc -l < $PBS_NODEFILE'
    eventually test -s threads.o
    [ "$(tr '\n' ' ' < threads.o)" = "4 3 $WORK $WORK 2 " ]
    run -0 --separate-stderr qsub -W block=true -j oe -o told.o -v OMP_NUM_THREADS=7 -l select=1:ncpus=4 <<< 'echo $NCPUS $OMP_NUM_THREADS'
    eventually test -s told.o
    [ "$(cat told.o)" = "4 7" ]
}

@test "a reservation is a queue of qsub, too" {
    [ "$(id -u)" = 0 ] || skip "only operators make reservations"
    scontrol create reservation ReservationName=res1 StartTime=now Duration=60 Nodes=n2 Users="$(id -un)"
    queued -q res1
    [ "$(scontrol show job "$id" | grep -o 'Reservation=[^ ]*')" = "Reservation=res1" ]
    scancel "$id"
    scontrol delete ReservationName=res1
}

@test "qsig and qrerun of what waits, qhold -h, qdel -x: PBS' words and statuses" {
    queued -N waits
    run -168 --separate-stderr qsig -s USR1 "$id"
    [ "$stderr" = "qsig: Request invalid for state of job $id.head" ]
    run -168 --separate-stderr qrerun "$id.head"
    [ "$stderr" = "qrerun: Request invalid for state of job $id.head" ]
    run -2 --separate-stderr qsig -s NOPE "$id"
    [ "$stderr" = "qsig: unknown signal name NOPE $id.head" ]
    run -2 --separate-stderr qhold -h x "$id"
    [[ "$stderr" == *"illegal -h value: x"* ]]
    qrls -h n "$id"
    [ "$(qstat "$id" | awk 'NR == 3 {print $5}')" = H ]
    qdel "$id"
    eventually over "$id"
    run -35 --separate-stderr qdel "$id"
    run -0 --separate-stderr qdel -x "$id"
    [ "$stderr" = "qdel: -x: the history is kept of $id.head" ]
}

@test "qmsg: to the error file, to the output, to both" {
    run -0 qsub -N told -o "$WORK/told.o" -e "$WORK/told.e" <<< 'echo begun; sleep 100'
    id=${output%%.*}
    wait_state "$id" RUNNING
    qmsg 'first line' "$id"
    eventually grep -q "first line" told.e
    qmsg -O 'second line' "$id"
    eventually grep -qx "second line" told.o
    qmsg -E -O 'third line' "$id"
    eventually grep -qx "third line" told.o
    eventually grep -q "third line" told.e
    [ "$(grep -c line told.o)" = 2 ]
    [ "$(grep -c line told.e)" = 2 ]
    qdel "$id"
}

@test "qalter -h -R -t, and what it cannot change is refused by name" {
    queued -J 0-9%2
    qalter -t %5 "$id[]"
    [ "$(scontrol show job "$id" | grep -o 'ArrayTaskThrottle=[0-9]*')" = "ArrayTaskThrottle=5" ]
    queued -N one
    qalter -R oe "$id"
    [ "$(shown StdOut) $(shown StdErr)" = "/dev/null /dev/null" ]
    qalter -h n "$id"
    wait_state "$id" RUNNING
    qdel "$id"
    queued -N two
    run -188 --separate-stderr qalter -W umask=22 "$id"
    [[ "$stderr" == "qalter: -W umask is not supported: it is of the submission"* ]]
    run -2 --separate-stderr qalter -t x "$id"
    [[ "$stderr" == *"illegal -t value: x"* ]]
    qdel "$id"
}

@test "qdel, qhold, qrls and qalter -t of Torque: these elements of an array, the others stay" {
    queued -J 0-9
    states() { squeue -h -r -j "$id" -o '%K %r' | sort -n | awk '{print $1 ($2 == "JobHeldUser" ? "h" : "")}' | tr '\n' ' '; }
    qdel -t 7-9 "$id[]"
    eventually [ "$(qstat -t "$id[]" | tail -n +4 | wc -l)" = 7 ]
    qrls -t 1,3-4 "$id[].head"
    [ "$(states)" = "0h 1 2h 3 4 5h 6h " ]
    qhold -t 5 "$id"
    qalter -t 5,6 -N other -l walltime=10:00 "$id[]"
    [ "$(squeue -h -r -j "$id" -o '%K %j %l' | sort -n | tr '\n' ';')" = "0 STDIN 1-00:00:00;1 STDIN 1-00:00:00;2 STDIN 1-00:00:00;3 STDIN 1-00:00:00;4 STDIN 1-00:00:00;5 other 10:00;6 other 10:00;" ]
    run -2 --separate-stderr qdel -t x "$id[]"
    [ "$stderr" = "qdel: illegal -t value: x; elements are needed: 1-3,7" ]
    run -153 --separate-stderr qdel -t 77 "$id[]"
    qdel "$id[]"
}

@test "qstat -f: a chunk has a place of its own, with what it has; properties; chunks of one host stay there" {
    lines() { qstat -f "$id" | tr -d '\n\t' | sed 's/    /\n/g' | sed -n "s/^$1 = //p"; }
    starts() {
        id=$(qsub "$@" <<< 'sleep 100')
        id=${id%%[.[]*}
        wait_state "$id" RUNNING
    }
    starts -l select=2:ncpus=4:mem=1gb:ngpus=1:bigmem=True
    [[ "$(lines exec_host)" =~ ^(n[12])/0\*4\+n[12]/[01]\*4$ ]]
    [[ "$(lines exec_vnode)" == "(n"[12]":ncpus=4:mem=1048576kb:ngpus=1)+(n"[12]":ncpus=4:mem=1048576kb:ngpus=1)" ]]
    [ "$(lines Resource_List.select)" = "2:ncpus=4:mem=1gb:ngpus=1:bigmem=True" ]
    qdel "$id"
    starts -l nodes=2:ppn=2:bigmem:gpus=1
    [ "$(lines exec_host)" = "n1/0*2+n2/0*2" ]
    [ "$(lines Resource_List.select)" = "2:ncpus=2:mpiprocs=2:ngpus=1:bigmem=True" ]
    qdel "$id"
    starts -l select=1:ncpus=4:host=n1+2:ncpus=2:host=n1
    [ "$(lines exec_host)" = "n1/0*4+n1/1*4" ]
    qdel "$id"
    starts -l select=2:ncpus=4:mpiprocs=2:host=s1
    [[ "$(lines exec_host)" != *n* ]]
    [ "$(shown NumNodes) $(shown NumTasks)" = "1 4" ]
    qdel "$id"
    run ! --separate-stderr qsub -l select=2:host=s1,place=scatter <<< true
    [[ "$stderr" == *"2 chunks of host=s1 cannot have a node each"* ]]
    sed -i '1i PbsFlavour=torque' "$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    starts -l nodes=2:ppn=2:bigmem:gpus=1
    [ "$(lines Resource_List.nodes)" = "2:ppn=2:gpus=1:bigmem" ]
    [ "$(lines exec_host)" = "n1/0-1+n2/0-1" ]
    sed -i '/^PbsFlavour/d' "$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    qdel "$id"
}

@test "qalter -v and -S while it waits: over what qsub said, of an array, too; after a restart" {
    run -0 --separate-stderr qsub -h -v A=1,B=2 -j oe -o later.o <<< 'echo "$A $B $C $D ${BASH_VERSION:+bash}"'
    id=${output%%.*}
    qalter -v 'B=3,C="u,v"' "$id"
    D=4 qalter -v B=5,D -S /bin/bash@head "$id"
    qstat -f "$id" | tr -d '\n\t' | grep -qF 'A=1,B=5,C=u,v'
    remuda down
    remuda up -q 3>&-
    qrls "$id"
    eventually test -s later.o
    [ "$(tail -n 1 later.o)" = "1 5 u,v 4 bash" ] || { cat later.o; qstat -xf "$id"; false; }
    eventually over "$id"
    run -0 --separate-stderr qsub -h -J 1-2 -j oe -o els.o^array_index^ <<< 'echo $W'
    id=${output%%[*}
    qalter -v W=all "$id[]"
    qalter -v W=second "$id[2]"
    qrls "$id[]"
    eventually test -s els.o2
    eventually test -s els.o1
    [ "$(tail -qn 1 els.o1 els.o2 | tr '\n' ' ')" = "all second " ]
    run -0 --separate-stderr qsub <<< 'sleep 100'
    id=${output%%.*}
    wait_state "$id" RUNNING
    run ! --separate-stderr qalter -v A=1 "$id"
    [[ "$stderr" == "qalter: "*"the job has started"* ]]
    run -1 --separate-stderr qalter -v =1 "$id"
    [[ "$stderr" == "qalter: "*"a value without a name"* ]]
    qdel "$id"
}

@test "qalter -l: select and nodes as a whole; of parts all of them again, or what they have alike" {
    queued -l select=1:ncpus=4:ngpus=1:mem=1gb
    qalter -l select=2:ncpus=2 "$id"
    [ "$(shown NumTasks) $(shown cpus-per-task) $(shown tres-per-task) $(shown MinMemory)" = "2 2 N/A 0" ] ||
        [ "$(shown NumTasks) $(shown cpus-per-task) $(scontrol show job "$id" | grep -c 'gpu')" = "2 2 0" ]
    queued -l select=1:ncpus=4+2:ncpus=2:ngpus=1
    qalter -l select=1:ncpus=8+3:ncpus=1,walltime=30:00 "$id"
    [ "$(squeue -h -j "$id" -O HetJobOffset:3,NumTasks:5,NumCPUs:5,TimeLimit:8 | sort | tr -s ' ' | tr '\n' ';')" = "0 1 8 30:00 ;1 3 3 30:00 ;" ]
    ! scontrol show job "$id" | grep -q 'gpu'
    qalter -l walltime=10:00 -N renamed "$id"
    [ "$(squeue -h -j "$id" -o '%C %l' | sort | tr '\n' ';')" = "3 10:00;8 10:00;" ]
    [ "$(qstat -f "$id" | sed -n 's/ *Job_Name = //p')" = renamed ]
    run -188 --separate-stderr qalter -l select=1:ncpus=8 "$id"
    [[ "$stderr" == "qalter: -l select is not supported: the job has 2 parts that differ"* ]]
    run -188 --separate-stderr qalter -l mem=1gb "$id"
    [[ "$stderr" == "qalter: -l is not supported: the parts of the job differ"* ]]
    # The second part can never run: the first stays as it was, too.
    run -168 --separate-stderr qalter -l select=2:ncpus=2+3:ncpus=2000 "$id"
    [[ "$stderr" == *"part 2: "*"2000 CPUs"* ]]
    [ "$(squeue -h -j "$id" -O HetJobOffset:3,NumTasks:5,NumCPUs:5 | sort | tr -s ' ' | tr '\n' ';')" = "0 1 8 ;1 3 3 ;" ]
    qdel "$id"
}

@test "bmod of a job of parts: all of them together or none; -R says each of them again, or what all have" {
    held -n 6 -R "2*{select[bigmem]}+4*{rusage[mem=100]}" -W 60
    parts() { squeue -h -j "$id" -o '%C %l %m %f %j' | sort | tr '\n' ';'; }
    bmod -W 30 -J renamed "$id"
    [ "$(parts)" = "2 30:00 0 bigmem renamed;4 30:00 100M (null) renamed;" ]
    bmod -R "4*{select[power9]}+2*{rusage[mem=70]}" "$id"
    [ "$(parts)" = "2 30:00 70M (null) renamed;4 30:00 0 power9 renamed;" ]
    run -255 --separate-stderr bmod -R "3*{select[bigmem]}+2000*{rusage[mem=70]}" "$id"
    [[ "$stderr" == *"part 2: "*"2000 tasks"* ]]
    [ "$(parts)" = "2 30:00 70M (null) renamed;4 30:00 0 power9 renamed;" ]
    run -255 --separate-stderr bmod -R "3*{select[bigmem]}" "$id"
    [[ "$stderr" == *"-R with {} is not supported: the job has 2 parts, and so many stay"* ]]
    bmod -R "rusage[mem=33]" "$id"
    [ "$(parts)" = "2 30:00 33M (null) renamed;4 30:00 33M power9 renamed;" ]
    held true
    first=$id
    held -n 2 -R "1*{select[bigmem]}+1*{select[power9]}"
    bmod -w "done($first)" "$id"
    [ "$(squeue -h -j "$id" -o %E | sort | tr '\n' ';')" = "(null);afterok:${first}(unfulfilled);" ] # the first waits for them all
    bmod -wn "$id"
    [ "$(squeue -h -j "$id" -o %E | sort -u)" = "(null)" ]
    bkill "$first" "$id"
}

@test "qstat -Q and -B count a job of parts once; a name has no blanks; -f" {
    local before
    before=$(qstat -Q workq | awk 'NR == 3 {print $3, $8}')
    queued -l select=1:ncpus=4+2:ncpus=2
    [ "$(qstat -Q workq | awk 'NR == 3 {print $3 - 1, $8 - 1}')" = "$before" ]
    qdel "$id"
    run -2 --separate-stderr qsub -h -N 'a b' <<< true
    [ "$stderr" = "qsub: -N a b: a name of PBS has no blanks" ]
    queued -f
    [ "$stderr" = "" ]
    [ "$(remuda translate --to slurm --pbs=torque <<< $'#!/bin/sh\n#PBS -f\ntrue' | grep -c -- '--no-kill')" = 1 ]
    [ "$(remuda translate -q --to pbs --pbs=torque <<< $'#!/bin/sh\n#SBATCH --no-kill\ntrue' | grep -c '^#PBS -f')" = 1 ]
    remuda translate -q --to pbs <<< $'#!/bin/sh\n#SBATCH -J "a b"\ntrue' > blanks.sh || true
    grep -qx '#PBS -N a_b' blanks.sh
}

@test "qselect -a -p -r -t" {
    queued -N early -a 204001021000 -p -7 -r n
    local early=$id
    queued -N late -a 204101021000
    local late=$id
    [ "$(qselect -a.gt.203506010000 -a.lt.204006010000)" = "$early.head" ]
    [ "$(qselect -a .gt.204006010000)" = "$late.head" ]
    [ "$(qselect -p.eq.-7)" = "$early.head" ]
    [ "$(qselect -r n -N early)" = "$early.head" ]
    [ "$(qselect -r y -N early)" = "" ]
    [ "$(qselect -ta.ge.204101021000)" = "$late.head" ]
    [ "$(qselect -tq.gt.204001010000)" = "" ]
    [ "$(qselect -N late -tq.lt.204001010000)" = "$late.head" ]
    [ "$(qselect -N late -ts.gt.202001010000)" = "" ]
    run -2 --separate-stderr qselect -tm.gt.204001010000
    [[ "$stderr" == *"a, c, e, q, s and t are known"* ]]
    # A job without a limit has no walltime: nothing holds of it.
    local none
    none=$(qsub -h -q endless -N none <<< true)
    [ "$(qselect -N none -l walltime.gt.1:00:00)$(qselect -N none -l walltime.lt.1:00:00)" = "" ]
    [ "$(qselect -N none -l ncpus.ge.1)" = "$none" ]
    qdel "$none"
    run -2 --separate-stderr qselect -p many
    [[ "$stderr" == *"-1024 to 1023 is allowed"* ]]
    qdel "$early" "$late"
}

@test "qsub: chunks and parts that differ are one job: its hosts, CPUs and GPUs in every listing, its lines in PBS_NODEFILE" {
    cat > parts.sh <<'END'
#PBS -N parts -j oe -o parts.o
#PBS -l select=2:ncpus=8:mem=1gb+1:ncpus=2:mpiprocs=2:ngpus=1,walltime=60
wc -l < $PBS_NODEFILE
pbsdsh -- sh -c 'echo line $PBS_VNODENUM' | sort
pbsdsh -n 3 -- sh -c 'echo gpu $CUDA_VISIBLE_DEVICES of $SLURM_HET_SIZE'
sleep 1
END
    run -0 --separate-stderr qsub -W block=true parts.sh
    id=${output%%.*}
    eventually test -s parts.o
    [ "$(tr '\n' ' ' < parts.o)" = "4 line 0 line 1 line 2 line 3 gpu 0 of 2 " ]
    [ "$(qstat -x | grep -c parts)" = 1 ]
    qstat -xf "$id" > parts.f
    grep -q 'Resource_List.select = 2:ncpus=8:mem=1gb+1:ncpus=2:mpiprocs=2:ngpus=1$' parts.f
    grep -q 'Resource_List.ncpus = 18' parts.f
    grep -q 'Resource_List.ngpus = 1' parts.f
    [ "$(bjobs -a -noheader -o slots "$id")" = 4 ]
    run -0 --separate-stderr qsub -h -l nodes=1:ppn=4+2:ppn=2 -W depend=afterany:"$id" <<< 'sleep 100'
    id=${output%%.*}
    qstat -f "$id" > parts.f
    grep -q 'Resource_List.nodect = 3' parts.f
    grep -q 'Resource_List.ncpus = 8' parts.f
    [ "$(squeue -h -j "$id" | wc -l)" = 2 ]
    qrls "$id"
    wait_state "$id+1" RUNNING
    qdel "$id"
    eventually over "$id"
    run -188 --separate-stderr qsub -J 1-3 -l select=1:ncpus=4+2:ncpus=2 <<< true
    [[ "$stderr" == *"an array of jobs whose parts differ is not supported"* ]]
    # sbatch reads such lines, too.
    printf '#!/bin/sh\n#PBS -l select=1:ncpus=4+2:ncpus=2\necho $SLURM_HET_SIZE\n' > foreign.sh
    run -0 --separate-stderr sbatch -W -o foreign.o foreign.sh
    [ "$(cat foreign.o)" = 2 ]
}

@test "bsub -R of parts that differ is one job: its hosts in LSB_MCPU_HOSTS, the report and every listing; bsub -I and qsub -I of it" {
    run -0 --separate-stderr bsub -K -o "$WORK/parts.%J" -R '2*{select[bigmem] span[hosts=1]} + 3*{select[power9] rusage[ngpus_physical=1]}' \
        'echo $LSB_MCPU_HOSTS $LSB_DJOB_NUMPROC; wc -l < $LSB_DJOB_HOSTFILE'
    id=$(grep -o 'Job <[0-9]*>' <<< "$output" | tr -dc 0-9)
    eventually grep -q "Successfully completed" "parts.$id"
    grep -qxE 'n[12] 2 s1 3 5' "parts.$id"
    grep -qx 5 "parts.$id"
    grep -qxE 'Job was executed on host\(s\) <2\*n[12]>' "parts.$id"
    grep -qx ' *<3\*s1>, in queue <workq>, as user .*' "parts.$id"
    [ "$(bjobs -a -noheader -o 'slots nexec_host' "$id")" = "5 2" ]
    # Alternatives within a part are of its hosts; parts that are alternatives of each other are refused.
    held -R '2*{select[bigmem || power9]}+3*{power9}'
    [ "$(squeue -h -j "$id" -o '%C %f' | sort | tr '\n' ';')" = "2 bigmem|power9;3 power9;" ]
    run -255 --separate-stderr bsub -R '2*{bigmem} || 3*{power9}' true
    [[ "$stderr" == "-R {…} || {…} is not supported: hosts of either kind are select[a || b]; "* ]]
    bkill "$id"
    held -n 5 -R '2*{bigmem}+{power9}'
    [ "$(squeue -h -j "$id" -o '%C %f' | sort | tr '\n' ';')" = "2 bigmem;3 power9;" ]
    bkill "$id"
    run -0 --separate-stderr bsub -I -P proj -env 'all,B=1 2' -R '1*{bigmem}+2*{power9}' \
        'echo "$LSB_QUEUE $LSB_PROJECT_NAME $LSB_INTERACTIVE $B: $LSB_MCPU_HOSTS,$(tr "\n" " " < $LSB_DJOB_HOSTFILE)"'
    [[ "${lines[-1]}" =~ ^"workq proj Y 1 2: n"[12]" 1 s1 2,n"[12]" s1 s1 "$ ]]
    [[ "$stderr" =~ "<<Starting on n"[12]">>" ]]
    LEFT_OUT=1 run -0 --separate-stderr bsub -I -C 0 -o x -L /bin/bash -env 'all,~LEFT_OUT' 'echo ${LEFT_OUT-none} $LS_SUBCWD $LSF_VERSION'
    [ "${lines[-1]}" = "none $WORK 34" ]
    [[ "${stderr_lines[0]}" == "bsub: without effect: -o, -e and -i with -I: "*"; -C, -S, -D and -F with -I: "*"; -L with -I: "* ]]
    run -0 --separate-stderr bsub -I -n 2 -R 'span[ptile=1] select[bigmem]' true
    [[ "$stderr" == *"<<Starting on n1>>" ]] # the first of n[1-2]
    run -3 qsub -I -N mine -v 'A=1,C="x,y"' -l select=1:ncpus=2:ompthreads=1+2:ncpus=1:host=s1 <<'END'
echo "$PBS_QUEUE $PBS_JOBNAME $PBS_ENVIRONMENT $A $C $NCPUS $OMP_NUM_THREADS in $PBS_O_WORKDIR: $(tail -n 2 $PBS_NODEFILE | tr "\n" " ")"
pbsdsh -s -- sh -c 'echo line' < /dev/null
exit 3
END
    [[ "$output" == *"workq mine PBS_INTERACTIVE 1 x,y 2 1 in $WORK: s1 s1 "* ]]
    [ "$(grep -c '^line$' <<< "$output")" = 3 ]
    printf '#!/bin/sh\n#BSUB -R "2*{bigmem}+1*{power9}"\necho $SLURM_HET_SIZE\n' > foreign.sh
    run -0 --separate-stderr sbatch -W -o foreign.o foreign.sh
    [ "$(cat foreign.o)" = 2 ]
    [[ "$stderr" == *"--ntasks=2 --constraint=bigmem : --ntasks=1 --constraint=power9"* ]]
}

@test "qstat: ids and queues beside each other; a queue that is not there ends with 170" {
    queued -N byid
    local one=$id
    queued -N byqueue -q workq
    local two=$id
    run -0 --separate-stderr qstat "$one" workq
    [ "$(awk '{print $1}' <<< "$output" | grep -c "^$one.head")" = 1 ]
    grep -q "^$two.head" <<< "$output"
    run -0 --separate-stderr qstat "$one" closed
    [ "$(tail -n +3 <<< "$output" | awk '{print $1}')" = "$one.head" ]
    run -170 --separate-stderr qstat nosuch
    [ "$stderr" = "qstat: Unknown queue nosuch" ]
    run -170 --separate-stderr qstat "$one" nosuch
    grep -q "^$one.head" <<< "$output"
    qdel "$one" "$two"
}

@test "an array's step and end in LSB_JOBINDEX_STEP and _END, whatever follows the step" {
    run -0 --separate-stderr bsub -J 'a[2-8:3]%2' -o "$WORK/step.%I" 'echo $LSB_JOBINDEX_STEP $LSB_JOBINDEX_END'
    eventually test -s step.8
    [ "$(head -1 step.8)" = "3 8" ]
    run -0 --separate-stderr bsub -K -o dir/ -e dir/ 'echo out; echo err >&2'
}

@test "bsub: what LSF has and this does not is refused by name; numbers that contradict each other, too" {
    local row
    for row in "-ar" "-datachk" "-eptl 5" "-ext x" "-extsched x" "-jobaff x" "-jsm y" "-rcacct x" "-rnc x" "-smt 4"; do
        # shellcheck disable=SC2086 # words
        run -255 --separate-stderr bsub $row true
        [[ "$stderr" == "${row%% *} is not supported: "*" Job not submitted." ]] || { echo "$row: $stderr"; false; }
    done
    run -255 --separate-stderr bsub -n 4,2 true
    [[ "$stderr" == "-n 4,2: a number of slots is needed"* ]]
    held -mig 10 -hl
    [ "$stderr" = "bsub: without effect: -mig: a job stays on its hosts; brequeue 12 lets it go" ]
}

@test "bsub -D and -S: less than bsub itself needs are limits of the job" {
    # Held: what a build with sanitizers starts cannot live in so little, either.
    held -D 4096 -S 512
    scancel "$id"
    run -0 --separate-stderr bsub -K -oo "$WORK/small.o" -S 4096 'ulimit -s'
    eventually grep -q '^4096$' small.o
}

@test "same[model] is a constraint over the models there are; span[block=N] a plane; what is lacking is named" {
    held -n 2 -R "same[model]"
    [ "$(shown Feature)" = "[bigmem|power9]" ]
    held -n 2 -R "same[type:model] select[XeonA || power9]"
    [ "$(shown Feature)" = "(XeonA|power9)&[bigmem|power9]" ]
    held -n 2 -R "same[type]"
    [ "$(shown Feature)" = "(null)" ]
    held -n 4 -R "span[block=2]"
    run -255 --separate-stderr bsub -R "same[rack]" true
    [[ "$stderr" == *"same[type], same[model] and same[hname] are taken. Job not submitted." ]]
    run -255 --separate-stderr bsub -R "rusage[tmp=5GB]" true
    [[ "$stderr" == *"with 5120 MiB of temporary disk; "*"the nearest are "*" with 0 MiB of temporary disk (5120 asked)"* ]]
    run -1 --separate-stderr sbatch --sockets-per-node=99 --wrap true
    [[ "$stderr" == *"with 99 sockets; "*" sockets (99 asked)"* ]]
}

@test "bsub -w of several elements; bkill says a line for each element" {
    run -0 --separate-stderr bsub -H -J 'els[1-5]' -o /dev/null sleep 100
    local array
    array=$(grep -o 'Job <[0-9]*>' <<< "$output" | tr -dc 0-9)
    held -w "done($array[1-2,5])"
    [ "$(shown Dependency | sed 's/([a-z]*)//g')" = "afterok:${array}_1,afterok:${array}_2,afterok:${array}_5" ] ||
        [ "$(shown Dependency | sed 's/([a-z]*)//g')" = "afterok:${array}_1:${array}_2:${array}_5" ]
    held -w "exit($array[1-2],>2) || done($array)"
    [[ "$(shown Dependency)" == *"exit:${array}_1>2"*"exit:${array}_2>2"* ]]
    run -0 bkill "$array[2-3]"
    [ "$output" = "Job <$array[2]> is being terminated"$'\n'"Job <$array[3]> is being terminated" ]
    run -0 bkill "$array"
    [ "$output" = "Job <$array> is being terminated" ]
}

@test "bsub -I and qsub -I: the number is told at once, before the wait; numbers come before remarks" {
    held -x -m n1
    bresume "$id"
    wait_state "$id" RUNNING
    bsub -I -m n1 -x -J waits true > waits.out 2> waits.err &
    local pid=$!
    eventually grep -q "Job <[0-9]*> is submitted to default queue <workq>." waits.out
    eventually grep -q "<<Waiting for dispatch ...>>" waits.err
    [ "$(squeue -h -n waits -o %T)" = PENDING ]
    qsub -I -l nodes=n1 -n -N waits_too < /dev/null > waits_too.out 2>&1 &
    local second=$!
    eventually grep -q "qsub: waiting for job [0-9]*.head to start" waits_too.out
    bkill "$id"
    wait "$pid"
    grep -q "<<Starting on n1>>" waits.err
    wait "$second"
    grep -q "qsub: job [0-9]*.head ready" waits_too.out
    qsub -I -a 203001010000 -N doomed < /dev/null > doomed.out 2>&1 &
    pid=$!
    eventually grep -q "qsub: waiting for job" doomed.out
    qdel "$(squeue -h -n doomed -o %i)"
    local status=0
    wait "$pid" || status=$?
    [ "$status" = 1 ]
    grep -qE "^qsub: job [0-9]+.head apparently deleted$" doomed.out
    ! grep -qE "salloc|srun" doomed.out
    run -0 bsub -H -We 10 -o /dev/null true
    [[ "${lines[0]}" == "Job <"* ]]
    run -0 qsub -h -p 5 <<< true
    [[ "${lines[0]}" == *.head ]]
}

@test "bparams, lsadmin, lsid: what programs ask of a site" {
    bparams -a | grep -q '	RESOURCE_RESERVE_PER_TASK = N'
    [ "$(bparams | head -1)" = "Default Queues:  workq" ]
    lsadmin showconf lim | grep -q '	LSF_UNIT_FOR_LIMITS = KB'
    run -255 --separate-stderr lsadmin limlock
    [[ "$stderr" == *"lsadmin limlock is not there; scontrol update"* ]]
    lsid | grep -q '^IBM Spectrum LSF Standard 10\.1\.0\.13, '
}

@test "qsub: values that are none are errors of use; -k, -l of a job without chunks" {
    local row
    for row in "-j x" "-k zz" "-R x" "-p 2000" "-a 9999" "-m z" "-l walltime=x" "-l select=1,place=nowhere"; do
        # shellcheck disable=SC2086 # words
        run -2 --separate-stderr qsub -h $row <<< true
        [[ "$stderr" == "qsub: -${row:1:1}"* ]] || { echo "$row: $stderr"; false; }
    done
    run -1 --separate-stderr qsub -h <<< $'#PBS -j x\ntrue'
    queued -l ncpus=4,mpiprocs=2
    [ "$(shown NumNodes) $(shown NumTasks) $(shown cpus-per-task)" = "1 2 2" ]
    queued -l host=n2
    [ "$(shown ReqNodes)" = n2 ]
    queued -l select=1:ncpus=2:arch=linux
    [[ "$stderr" == "qsub: without effect: -l arch: "* ]]
    queued -l pvmem=1gb,nice=5
    [[ "$stderr" == "qsub: without effect: -l pvmem: memory is what mem, pmem and vmem say; -l nice: "* ]]
    run --separate-stderr qsub -h -t x <<< true
    [[ "$stderr" == "qsub: -t: "* ]]
}

@test "qsub in Grid Engine's words is refused by name, never read letter by letter" {
    local row
    for row in "-cwd" "-pe smp 4" "-hold_jid 1" "-sync y" "-terse" "-now no" "-tc 2" "-notify" "-binding linear:1" "-wd /tmp" "-soft" "-shell y"; do
        # shellcheck disable=SC2086 # words
        run -188 --separate-stderr qsub $row <<< true
        [[ "$stderr" == "qsub: ${row%% *} is not supported: it is Grid Engine's, and this qsub takes the words of PBS; "* ]] || { echo "$row: $stderr"; false; }
    done
    run -188 --separate-stderr qsub -l h_rt=1:00:00,h_vmem=4G <<< true
    [[ "$stderr" == "qsub: -l h_rt is not supported: it is Grid Engine's, and this qsub takes the words of PBS: walltime=" ]]
    run -2 --separate-stderr qsub -b y sleep 1
    [[ "$stderr" == *'-b y of Grid Engine is "qsub -- COMMAND" here'* ]]
    run -2 --separate-stderr qsub -j y <<< true
    [[ "$stderr" == *'-j y of Grid Engine is -j oe'* ]]
    run -0 --separate-stderr qsub -h <<< $'#$ -cwd\ntrue'
    [ "$stderr" = "qsub: line 1: #\$ (Grid Engine's) lines are not read; qsub reads #PBS" ]
}

@test "bsub -w of what is not there, and of arrays of other sizes: LSF's words" {
    run -255 --separate-stderr bsub -w 'done(999999)' true
    [ "${stderr_lines[0]}" = "999999: No matching job found. Job not submitted." ]
    run -0 --separate-stderr bsub -H -J 'five[1-5]' -o /dev/null true
    run -255 --separate-stderr bsub -J 'four[1-4]' -w 'done(five[*])' true
    [ "${stderr_lines[0]}" = "Dependent arrays do not have the same size. Job not submitted." ]
    bkill -J five 0
}

@test "bjobs, bswitch, btop, bkill: words, reasons and positions as LSF has them" {
    run -0 --separate-stderr bjobs -q closed
    [ "$stderr" = "No unfinished job found in queue <closed>" ]
    held -J moved
    run -255 --separate-stderr bswitch nosuch "$id"
    [ "${stderr_lines[0]}" = "Job <$id>: No such queue" ]
    run -0 btop "$id" 1
    [ "$output" = "Job <$id> has been moved to position 1 from top." ]
    run -255 --separate-stderr bbot "$id" 3
    [[ "$stderr" == *"position 3 is not supported: a job goes before or behind all of one's others"* ]]
    bkill "$id"
    wait_state "$id" CANCELLED
    [ "$(bjobs -a -noheader -o 'exit_reason' "$id")" = "TERM_OWNER: job killed by owner" ]
    # What a filter finds ended is not killed again.
    run -255 --separate-stderr bkill -J moved 0
    [ "$stderr" = "No matching job found" ]
}

@test "-gpu mig: the type of instance that hosts have; several or none are named" {
    export REMUDA_STATE="$BATS_TEST_TMPDIR/mig"
    mkdir -p "$REMUDA_STATE"
    cat > "$REMUDA_STATE/remuda.conf" <<'END'
NodeName=m1 CPUs=4 RealMemory=8000 Gres=gpu:a100_1g.5gb:2,gpu:a100_3g.20gb:1,gpu:a100_2c.3g.20gb:1,gpu:h100_1g.10gb:1 Virtual=YES
PartitionName=mig Nodes=m1 Default=YES
END
    remuda up -q 3>&-
    held -q mig -gpu num=1:mig=3
    [ "$(squeue -h -j "$id" -o %b)" = "gres/gpu:a100_3g.20gb:1" ]
    held -q mig -gpu num=1:mig=3/2
    [ "$(squeue -h -j "$id" -o %b)" = "gres/gpu:a100_2c.3g.20gb:1" ]
    held -q mig -gpu num=2:mig=1:gmodel=A100
    [ "$(squeue -h -j "$id" -o %b)" = "gres/gpu:a100_1g.5gb:2" ]
    run -255 --separate-stderr bsub -q mig -gpu num=1:mig=1 -o x true
    [[ "$stderr" == *"hosts have several such instances: a100_1g.5gb,h100_1g.10gb; gmodel= says of which"* ]]
    run -255 --separate-stderr bsub -q mig -gpu num=1:mig=4 -o x true
    [[ "$stderr" == *"no host has such an instance; there are: a100_1g.5gb,a100_3g.20gb,a100_2c.3g.20gb,h100_1g.10gb"* ]]
    run -255 --separate-stderr bsub -q mig -gpu num=1:mig=x -o x true
    [[ "$stderr" == *"slices of an instance are needed: 3, or 3/2"* ]]
    bkill 0
    remuda down -q
}

@test "-gpu gtile='!' and gvendor have no effect, each for a reason of its own" {
    held -gpu "num=2:gtile='!':gvendor=nvidia"
    [ "$stderr" = "bsub: without effect: -gpu gtile='!': gtile=N says how many GPUs of each socket; -gpu gvendor: the model says it: gmodel=TYPE" ]
}

@test "qsub -o HOST:PATH of another host is said; PBS_O_QUEUE is the queue it came to" {
    queued -o elsewhere.example:/tmp/x.o -e "$(hostname):$WORK/x.e"
    [ "$stderr" = "qsub: without effect: -o elsewhere.example:: files are written where the job runs, not copied" ]
    [ "$(shown StdErr)" = "$WORK/x.e" ]
    run -0 --separate-stderr qsub -W block=true -j oe -o queue.o <<< 'echo $PBS_O_QUEUE $PBS_QUEUE'
    eventually test -s queue.o
    [ "$(cat queue.o)" = "workq workq" ]
    run -0 --separate-stderr qsub -W block=true -j oe -o queue2.o -v PBS_O_QUEUE=mine <<< 'echo $PBS_O_QUEUE'
    eventually test -s queue2.o
    [ "$(cat queue2.o)" = "mine" ]
}

@test "qstat: comments in PBS' words, files of a whole array, -H as -a; Torque numbers the names of elements" {
    queued -J 1-3 -N whole
    [[ "$(qstat -f "$id[]")" == *"comment = Job held by $(id -un)"* ]]
    qstat -f "$id[]" | tr -d '\n\t' | grep -q "Output_Path = .*/whole.o$id.^array_index^"
    qdel "$id[]"
    eventually over "$id[]"
    run -0 qstat -H "$id[]"
    [[ "$output" == *"Req'd  Req'd   Elap"* ]]
    sed -i '1i PbsFlavour=torque' "$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    queued -t 1-2 -N named
    [ "$(qstat -t "$id[2]" | awk 'END {print $2}')" = named-2 ]
    qdel "$id[]"
    sed -i '/^PbsFlavour/d' "$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
}

@test "GPUs with more memory than any has: the nearest are named with what theirs have" {
    run -255 --separate-stderr bsub -gpu num=1:gmem=16G true
    [[ "$stderr" == *"of GPUs with at least 16384 MiB; partition workq has no such node: the nearest are n[1-2],s1 with GPUs of unknown memory (16384 MiB asked)"* ]]
}

@test "what waits says why with -t, -x and -a, too, which are answered from the history; qsub -- is STDIN; tracejob of a run that went back" {
    queued
    local first=$id after begin
    after=$(qsub -W depend=afterok:"$first" <<< true)
    begin=$(qsub -a 204012312359 -J 1-2 <<< true)
    states() { qstat "$@" | awk 'NR > 2 {print $1, $5}' | grep -E "^(${first}\.|${after}|${begin%%\[*}\[\]\.)" | tr '\n' ';'; }
    plain="$first.head H;$after H;$begin W;"
    [ "$(states)" = "$plain" ]
    [ "$(states -t)" = "$plain" ]
    [ "$(states -x)" = "$plain" ]
    [ "$(qstat -xf "$after" | sed -n 's/ *comment = //p')" = "Job dependency condition not satisfied: waits for job $first to end well" ]
    [[ "$(bjobs -a -noheader -o 'jobid pend_reason' | grep "^${after%%.*} ")" == *"waits for job $first to end well" ]]
    qdel "$after" "$begin" "$first"
    id=$(qsub -- /bin/true)
    eventually over "$id"
    [ "$(qstat -x "$id" | awk 'NR == 3 {print $2}')" = STDIN ] && [ -e "STDIN.o${id%%.*}" ]
    id=$(qsub -N back <<< 'sleep 100')
    wait_state "${id%%.*}" RUNNING
    qhold "$id"
    qrerun "$id"
    wait_state "${id%%.*}" PENDING
    qdel "$id"
    eventually over "$id"
    run -0 tracejob "$id"
    [[ "$output" == *"Job Queued at"*"Job Run at request of Scheduler@head on exec_vnode ("*"Job requeued"*"Exit_status=271"* ]]
}
