#!/usr/bin/env bats
# The same rows as in dialect_rows.bats, of PBS.
bats_require_minimum_version 1.5.0
load common
load dialect_rows

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

@test "qalter: what takes back, and defaults, are changes as any; what has no effect is said" {
    queued -j oe -N back -m abe -M a@example.org -p -100 -l ncpus=4 -o "$WORK/"
    [ "$(shown Nice) $(shown NumCPUs)" = "100 4" ]
    qalter -M b@example.org "$id"
    [[ "$(scontrol show job "$id")" == *"MailUser=b@example.org MailType=BEGIN,END,FAIL"* ]]
    qalter -m n "$id"
    [[ "$(scontrol show job "$id")" != *MailType=* ]]
    qalter -p 0 "$id"
    [ "$(shown Nice)" = 0 ]
    qalter -p -7 "$id"
    run -0 --separate-stderr qalter -p 50 "$id"
    [ "$stderr" = "qalter: without effect: -p above 0: users cannot raise a priority" ]
    [ "$(shown Nice)" = 0 ]
    qalter -l ncpus=1 "$id"
    [ "$(shown NumCPUs)" = 1 ]
    [ "$(shown StdErr)" = "$(shown StdOut)" ]
    qalter -j n "$id"
    [ "$(shown StdErr)" = "$WORK/back.e$id" ]
    qalter -j oe "$id"
    [ "$(shown StdErr)" = "$(shown StdOut)" ]
    qdel "$id"
}

@test "qalter -j, -o: what looks like a pattern in the name of a directory stands for itself" {
    mkdir -p "50%x"
    cd "50%x" || exit 1
    queued -w "$PWD" -j oe -o /dev/null -N cent
    qalter -j n "$id"
    [ "$(shown StdErr)" = "$WORK/50%x/cent.e$id" ]
    qalter -o "a%x" "$id"
    [ "$(shown StdOut)" = "$WORK/50%x/a%x" ]
    qdel "$id"
}

@test "qalter -l: what has no effect on the job, or beside the rest, is said as qsub says it; GPUs of several nodes go" {
    queued -l nodes=2:ppn=2
    run -0 --separate-stderr qalter -l nodes=2:ppn=1 -l procs=8 "$id"
    [ "$stderr" = "qalter: without effect: -l procs: processes beside nodes= are nodes=N:ppn=P" ]
    run -0 --separate-stderr qalter -l mem=4gb,vmem=8gb "$id"
    [ "$stderr" = "qalter: without effect: -l vmem: mem is the memory of the job" ]
    local said
    for said in ncpus=4 procs=8 mpiprocs=2; do # beside the nodes that it has
        run -0 --separate-stderr qalter -l "$said" "$id"
        [[ "$stderr" == "qalter: without effect: -l ${said%=*}: "*" beside nodes= are nodes=N:ppn=P" ]]
        [ "$(shown NumNodes) $(shown NumTasks)" = "2 2" ]
    done
    qalter -l gpus=1 "$id"
    gpus() { scontrol show job "$id" | grep -c gres/gpu; }
    [ "$(gpus)" -gt 0 ]
    run -0 --separate-stderr qalter -l gpus=0 "$id"
    [ "$stderr $(gpus)" = " 0" ]
    qdel "$id"
    queued -l select=2:ncpus=1:ngpus=1
    [ "$(gpus)" -gt 0 ]
    qalter -l ngpus=0 "$id"
    [ "$(gpus)" = 0 ]
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

@test "qhold, qrls and qrerun of an array of which some are over or wait: what is done to the others is no failure" {
    queued -a 12312359 -J 1-3
    qdel "$id[1]"
    run -0 --separate-stderr qrls "$id[]"
    [ -z "$output$stderr" ]
    [ "$(squeue -h -r -j "$id" -o '%K %r' | sort -n)" = $'2 BeginTime\n3 BeginTime' ]
    run -0 --separate-stderr qhold "$id[]"
    [ -z "$output$stderr" ]
    [ "$(squeue -h -r -j "$id" -o '%K %r' | sort -n)" = $'2 JobHeldUser\n3 JobHeldUser' ]
    qdel "$id[]"
    run -0 --separate-stderr qsub -J 1-3%1 <<< 'sleep 100'
    id=${output%%[*}
    wait_state "${id}_1" RUNNING
    run -0 --separate-stderr qrerun "$id[]"
    [ -z "$output$stderr" ]
    runs_again() { [ "$(squeue -h -r -j "$id" -O RestartCnt | awk '{ n += $1 } END { print n }')" = 1 ]; }
    eventually runs_again
    run -168 --separate-stderr qrerun "$id[3]" # alone it is what was asked for
    qdel "$id[]"
}

@test "qsig -s resume of an array of which some run: what was done to the others is no failure" {
    [ "$(id -u)" = 0 ] || skip "only operators suspend"
    run -0 --separate-stderr qsub -J 1-2 <<< 'sleep 100'
    id=${output%%[*}
    wait_state "${id}_1" RUNNING
    wait_state "${id}_2" RUNNING
    qsig -s suspend "$id[1]"
    wait_state "${id}_1" SUSPENDED
    run -0 --separate-stderr qsig -s resume "$id[]"
    [ -z "$output$stderr" ]
    wait_state "${id}_1" RUNNING
    run -168 --separate-stderr qsig -s resume "$id[]" # of none it is what was asked for
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
    ! scontrol show job "$id" | grep -q 'gres/gpu' || false
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
    [ "$(qstat -x "$id" | awk 'NR == 3 {print $2}')" = STDIN ]
    [ -e "STDIN.o${id%%.*}" ]
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
