#!/usr/bin/env bats
# Tasks of MPI programs find each other (srun --mpi): the words of PMI by mpi_client.py, which needs no MPI. Real programs: tests/heavy/mpi.bats.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    CLIENT="$BATS_TEST_DIRNAME/mpi_client.py"
    export CLIENT
    cluster --nodes 3 --cpus 64 --mem 8G
}
teardown_file() { remuda down; }
setup() { cd "$WORK" || exit 1; }
lines_are() { [ "$(grep -c "$2" "$1")" = "$3" ]; }

# all_met FILE N VERSION: each of N ranks saw what each had put, at both meetings.
all_met() {
    python3 - "$@" <<'END'
import sys
got, n, mark = open(sys.argv[1]).read().splitlines(), int(sys.argv[2]), ";" if sys.argv[3] == "2" else ","
names = {line.split()[5] for line in got}
assert len(names) == 1, names
name = names.pop()
want = [f"rank {r} of {n} in {name} " + " ".join(f"at-{o}{mark}{turn}" for o in range(n)) for r in range(n) for turn in range(2)]
assert sorted(got) == sorted(want), got
END
}

@test "--mpi=list; what is not there is refused by name" {
    [ "$(srun --mpi=list)" = "$(printf 'MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix')" ]
    run -1 srun --mpi=foo true
    [[ "$output" =~ "Invalid MPI type 'foo', --mpi=list for acceptable types" ]]
}

@test "version 1 and 2 over three nodes: each task reads what each has put, twice" {
    for version in 1 2; do
        timeout 60 srun -Q -N3 -n7 --mpi=pmi2 python3 "$CLIENT" $version > out
        all_met out 7 $version
    done
}

@test "64 tasks of a node, and tasks of one node alone" {
    timeout 60 srun -Q -N2 -n128 --mpi=pmi2 python3 "$CLIENT" 1 > out
    all_met out 128 1
    timeout 60 srun -Q -N1 -n2 --mpi=pmi2 python3 "$CLIENT" 2 > out
    all_met out 2 2
}

@test "where tasks are, in blocks and in turn" {
    [ "$(timeout 60 srun -Q -N2 -n6 --ntasks-per-node=3 --mpi=pmi2 python3 "$CLIENT" 1 map | grep ^map)" = "map (vector,(0,2,3))" ]
    [ "$(timeout 60 srun -Q -N2 -n4 -m cyclic --mpi=pmi2 python3 "$CLIENT" 2 map | grep ^map)" = "map (vector,(0,2,1),(0,2,1))" ]
}

@test "tasks of a node wait for its attribute; starting others is refused" {
    timeout 60 srun -Q -N2 -n4 --mpi=pmi2 python3 "$CLIENT" 2 attribute > out
    [ "$(grep ^attribute out | sort | tr '\n' ';')" = "attribute 0 /of-node1;attribute 1 /of-node1;attribute 2 /of-node2;attribute 3 /of-node2;" ]
    [ "$(timeout 60 srun -Q -n1 --mpi=pmi2 python3 "$CLIENT" 1 spawn | head -1)" = "spawn -1" ]
    [ "$(timeout 60 srun -Q -n1 --mpi=pmi2 python3 "$CLIENT" 2 spawn | head -1)" = "spawn 1" ]
}

@test "abort ends the step with its code, everywhere" {
    run -42 timeout 60 srun -N2 -n4 --mpi=pmi2 python3 "$CLIENT" 1 abort=42
    [[ "$output" =~ "task 0 ends its program with code 42" ]]
    run -1 timeout 60 srun -N2 -n4 --mpi=pmi2 python3 "$CLIENT" 2 abort=9
    [[ "$output" =~ "with code 1: enough" ]]
    printf '#!/bin/bash\nsrun -N2 -n4 --mpi=pmi2 python3 "$CLIENT" 1 abort=7\necho "srun $?"\n' > job.sh
    id=$(sbatch --parsable -W -N2 -n4 -o job.out job.sh)
    grep -qx "srun 7" job.out
    [ "$(sacct -nPX -j "$id" -o State)" = COMPLETED ]
    [ "$(sacct -nP -j "$id.0" -o State,ExitCode)" = "FAILED|7:0" ]
}

@test "who ended before a meeting is not waited for, with -K and without" {
    run timeout 60 srun -K -N2 -n4 --mpi=pmi2 python3 "$CLIENT" 1 die=1
    ((status != 0 && status != 124))
    [[ "$output" =~ "task 1: Exited with exit code 3" ]]
    run timeout 60 srun -K0 -N2 -n4 --mpi=pmi2 python3 "$CLIENT" 2 leave=3
    ((status != 0 && status != 124))
    [[ "$output" =~ "task 3 has ended, and others wait to meet it" ]]
}

# A cluster whose nodes lack remuda-pmix, whether or not this one has it.
without_pmix() {
    mkdir -p "$WORK/without/bin"
    cp "$REMUDA_STAGE"/remuda "$REMUDA_STAGE"/remudad "$REMUDA_STAGE"/remuda-shepherd "$WORK/without"
    cp -P "$REMUDA_STAGE"/bin/* "$WORK/without/bin"
}

@test "--mpi=pmix where a node has no PMIx: no task starts, and it is said; as the site's default it is a warning" {
    without_pmix
    export REMUDA_STATE="$WORK/without/state" PATH="$WORK/without/bin:$PATH"
    remuda up -q --nodes 2 --cpus 4 --mem 2G 3>&-
    run -1 timeout 60 srun -N2 -n2 --mpi=pmix touch started
    [[ "$output" =~ "srun: error: node"[12]": --mpi=pmix: remuda-pmix is not there: it is built where libpmix is" ]]
    [ ! -e started ]
    id=$(sbatch --parsable -W -N2 -n2 -o /dev/null --wrap 'srun --mpi=pmix touch started; srun true')
    [ "$(sacct -nP -j "$id.0" -o State,ExitCode)" = "FAILED|1:0" ]
    [ "$(sacct -nPX -j "$id" -o State)" = COMPLETED ]
    echo "MpiDefault=pmix" >> "$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    run -0 timeout 60 srun -Q -N2 -n2 bash -c 'echo "task $SLURM_PROCID ${PMIX_RANK-without}"'
    [[ "$output" =~ "MpiDefault=pmix: remuda-pmix is not there" ]]
    [[ "$output" =~ "task 0 without" ]]
    [[ "$output" =~ "task 1 without" ]]
    remuda down
}

@test "--mpi=pmix: another user who connects and says nothing holds nobody up" {
    [ -x "$REMUDA_STAGE/remuda-pmix" ] || skip "built without libpmix-dev"
    [ "$(id -u)" = 0 ] || skip "needs root to be several users"
    cat > silent.py <<'END'
# Connects to the port, as user UID, and says nothing; prints whether the other end closes within a second. Usage: silent.py PORT UID
import os, socket, sys
os.setresuid(*[int(sys.argv[2])] * 3)
s = socket.socket()
s.settimeout(1)
s.connect(("127.0.0.1", int(sys.argv[1])))
try:
    print("closed" if s.recv(1) == b"" else "spoken to")
except socket.timeout:
    print("heard")
END
    timeout 60 srun -Q -n1 --mpi=pmix bash -c 'echo "${PMIX_SERVER_URI41##*:}" > port; until [ -e go ]; do sleep 0.1; done' 3>&- &
    step=$!
    eventually test -s port
    python3 silent.py "$(cat port)" 65534 > stranger
    python3 silent.py "$(cat port)" 0 > owner
    touch go
    wait "$step"
    [ "$(cat owner)" = heard ]
    [ "$(cat stranger)" = closed ]
}

@test "--mpi=pmix: what is no program of MPI runs as without; the variables are each task's, and no files are left" {
    [ -x "$REMUDA_STAGE/remuda-pmix" ] || skip "built without libpmix-dev"
    [ "$(timeout 60 srun -Q -N2 -n4 --mpi=pmix bash -c 'echo $SLURM_PROCID $PMIX_RANK' | sort | tr '\n' ',')" = "0 0,1 1,2 2,3 3," ]
    [ "$(printf 'a\nb\n' | timeout 60 srun -Q -n1 --mpi=pmix_v4 cat | tr '\n' ' ')" = "a b " ]
    run -5 timeout 60 srun -Q -n2 --mpi=pmix bash -c 'exit 5'
    [ "$(timeout 60 srun -Q -n1 --overlap --mpi=pmix srun -Q -n1 --overlap --mpi=none bash -c 'env | grep -E "^(PMIX_|REMUDA_MPI)" ; echo none')" = none ]
    timeout 60 srun -Q -n2 --wait-for-children --mpi=pmix bash -c 'sleep 1 & echo ended' > out
    [ "$(cat out | tr '\n' ' ')" = "ended ended " ]
    timeout 60 srun -Q -n1 -J ended --mpi=pmix bash -c 'touch runs; sleep 30' &
    eventually test -e runs
    scancel -n ended
    wait || true
    run ! compgen -G "/tmp/remuda-pmix.*"
}

@test "programs that are none of MPI run as without it" {
    [ "$(srun -Q -N2 -n4 --mpi=pmi2 bash -c 'echo $SLURM_PROCID' | sort | tr '\n' ' ')" = "0 1 2 3 " ]
    [ "$(printf 'a\nb\n' | srun -Q -n1 --mpi=pmi2 cat | tr '\n' ' ')" = "a b " ]
    run -5 srun -Q -n2 --mpi=pmi2 bash -c 'exit 5'
}

@test "variables are each program's own: not of sbatch, salloc and srun in it" {
    inner='env | grep -E "^(PMI_|REMUDA_MPI)" ; echo none'
    [ "$(srun -Q -n1 --overlap --mpi=pmi2 srun -Q -n1 --overlap --mpi=none bash -c "$inner")" = none ]
    [ "$(srun -Q -n1 --mpi=pmi2 bash -c 'echo $SLURM_MPI_TYPE')" = pmi2 ]
    [ "$(srun -Q -n1 --mpi=none bash -c 'echo ${SLURM_MPI_TYPE-none}')" = none ]
    [ "$(srun -Q -n1 --mpi=pmi2 bash -c 'salloc -Q -n1 bash -c "$0"' "$inner")" = none ]
    srun -Q -n1 --mpi=pmi2 bash -c 'sbatch -Q -W -o batch.out --wrap "$0"' "$inner"
    [ "$(cat batch.out)" = none ]
    srun -Q -n1 -c2 --mpi=pmi2 srun -Q -n2 -c1 --overlap --mpi=pmi2 python3 "$CLIENT" 1 > out
    all_met out 2 1
}

@test "--multi-prog, labels, files of tasks, a terminal" {
    printf '0 python3 %s 1\n1-3 python3 %s 2\n' "$CLIENT" "$CLIENT" > multi
    timeout 60 srun -Q -N2 -n4 --mpi=pmi2 --multi-prog multi > out
    [ "$(wc -l < out)" = 8 ]
    timeout 60 srun -Q -N2 -n4 -l -o 'task.%t' --mpi=pmi2 python3 "$CLIENT" 1
    cat task.0 task.1 task.2 task.3 | sed 's/^[0-3]: //' > out
    all_met out 4 1
    timeout 60 script -qec "srun -Q -n2 --pty --mpi=pmi2 python3 $CLIENT 1" /dev/null < /dev/null | grep "rank 0 of 2"
}

@test "components are one program" {
    timeout 60 srun -Q -n2 --mpi=pmi2 python3 "$CLIENT" 1 : -n3 python3 "$CLIENT" 1 > out
    all_met out 5 1
    printf '#!/bin/bash\n#SBATCH -n2\n#SBATCH hetjob\n#SBATCH -n2\nsrun --het-group=0,1 --mpi=pmi2 python3 "$CLIENT" 2\nsrun --het-group=1 --mpi=pmi2 python3 "$CLIENT" 2 > one\n' > het.sh
    sbatch -Q -W -o het.out het.sh
    all_met het.out 4 2
    all_met one 2 2
}

@test "elements of an array, and a job that is requeued, meet their own" {
    sbatch -Q -W --array=0-3 -N2 -n2 -o 'element.%a' --wrap 'srun --mpi=pmi2 python3 "$CLIENT" 1'
    for i in 0 1 2 3; do all_met "element.$i" 2 1; done
    [ "$(cat element.? | cut -d' ' -f6 | sort -u | wc -l)" = 4 ]
    id=$(sbatch --parsable --requeue -N2 -n2 -o again.out --open-mode=truncate --wrap 'srun --mpi=pmi2 python3 "$CLIENT" 1 hold=go.$SLURM_RESTART_COUNT')
    eventually grep -q "rank 0" again.out
    scontrol requeue "$id"
    touch go.1
    wait_state "$id" COMPLETED
    all_met again.out 2 1
}

@test "a step of its own (--overlap) beside it, and sattach" {
    timeout 60 srun -Q -N2 -n2 --mpi=pmi2 python3 "$CLIENT" 1 hold=seen > out &
    eventually grep -q "rank 1" out
    id=$(squeue -h -o %A -t R | head -1)
    timeout 60 srun -Q --jobid="$id" --overlap -N2 -n2 --mpi=pmi2 python3 "$CLIENT" 2 > beside
    all_met beside 2 2
    timeout 60 sattach "$id.0" > attached &
    eventually grep -q rank attached # what came before
    touch seen
    wait
    all_met out 2 1
    grep -q "rank 0 of 2" attached
}

@test "a step of --async: on one node its tasks meet; over several it is refused" {
    printf '#!/bin/bash\nsrun -Q --async -N1 -n2 -o async.out --mpi=pmi2 python3 "$CLIENT" 1\nsrun --async -N2 -n2 --mpi=pmi2 true 2> refused\nfor i in $(seq 300); do [ "$(grep -c rank async.out)" = 4 ] && break; sleep 0.2; done\n' > async.sh
    sbatch -Q -W -N2 -n4 -o async.job async.sh
    lines_are async.out rank 4
    all_met async.out 2 1
    grep -q -- "--async: not supported with --mpi=pmi2 on several nodes" refused
}

@test "kill -9 of the node's daemon and of the controller between two meetings" {
    timeout 120 srun -Q -N2 -n4 --mpi=pmi2 python3 "$CLIENT" 1 hold=up > out 2> err &
    srun=$!
    eventually lines_are out rank 4
    kill -9 "$(remuda status --pid controller)" "$(remuda status --pid "node[node1]")"
    remuda up -q 3>&-
    touch up
    wait $srun
    all_met out 4 1
}

@test "MpiDefault and SLURM_MPI_TYPE; --mpi says otherwise" {
    [ "$(SLURM_MPI_TYPE=pmi2 srun -Q -n1 bash -c 'echo ${PMI_SIZE-none}')" = 1 ]
    [ "$(SLURM_MPI_TYPE=pmi2 srun -Q -n1 --mpi=none bash -c 'echo ${PMI_SIZE-none}')" = none ]
    echo "MpiDefault=pmi2" >> "$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    [ "$(scontrol show config | awk '$1 == "MpiDefault" {print $3}')" = pmi2 ]
    [ "$(srun -Q -n1 bash -c 'echo ${PMI_SIZE-none}')" = 1 ]
    [ "$(srun -Q -n1 --mpi=none bash -c 'echo ${PMI_SIZE-none}')" = none ]
}
