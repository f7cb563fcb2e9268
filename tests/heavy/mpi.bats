#!/usr/bin/env bats
# Real programs of MPI that srun starts: MPICH's (srun --mpi=pmi2) and Open MPI's (srun --mpi=pmix). Needs mpich libmpich-dev openmpi-bin libopenmpi-dev, and
# libpmix-dev when Remuda was built; what is not there is skipped by name. The nodes are virtual, on one host, where the shared memory of Open MPI takes tasks
# of both for one: it is left out.
bats_require_minimum_version 1.5.0

setup_file() {
    export REMUDA_STATE="$BATS_FILE_TMPDIR/state" WORK="$BATS_FILE_TMPDIR/work" OMPI_MCA_btl=tcp,self
    mkdir -p "$WORK"
    remuda up -q --nodes 2 --cpus 64 --mem 16G
    cat > "$WORK/meet.c" <<'END'
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* Sums the ranks, passes its own on, then does as it is told: abort, hold=FILE, or rank 1 is gone before (die). */
int main(int argc, char **argv)
{
    const char *say = argc > 1 ? argv[1] : "";
    int rank, size, sum, got = -1;
    if (!strcmp(say, "die") && atoi(getenv("SLURM_PROCID")) == 1)
        return 3;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank %d of %d sum %d from %d on %s\n", rank, size, sum, got, getenv("SLURMD_NODENAME"));
    fflush(stdout);
    if (!strcmp(say, "abort") && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 42);
    if (!strcmp(say, "leave") && rank == 1)
        _exit(0);
    if (!strcmp(say, "crash") && rank == 1)
        raise(SIGSEGV);
    while (!strncmp(say, "hold=", 5) && access(say + 5, F_OK) != 0)
        usleep(100000);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
END
    cd "$WORK" || return 1
    for kind in mpich openmpi; do
        ! command -v "mpicc.$kind" > /dev/null || "mpicc.$kind" meet.c -o "meet.$kind"
    done
}

teardown_file() { remuda down; }
setup() { cd "$WORK" || exit 1; }

# each KIND TYPE…: what to run for it; skips what is not there.
need() {
    [ -x "meet.$1" ] || skip "mpicc.$1 is not installed"
    [ "$1" = mpich ] || [ -x "$(dirname "$(readlink -f "$(command -v remuda)")")/remuda-pmix" ] || skip "built without libpmix-dev"
}

# met FILE NODES EACH: the lines of all ranks, in blocks.
met() {
    local n=$(($2 * $3)) rank
    for ((rank = 0; rank < n; rank++)); do
        grep -qx "rank $rank of $n sum $((n * (n - 1) / 2)) from $(((rank + n - 1) % n)) on node$((rank / $3 + 1))" "$1" || return 1
    done
    [ "$(grep -c ^rank "$1")" = "$n" ]
}

several_nodes() {
    timeout 120 srun -Q -N2 -n6 --mpi="$2" "./meet.$1" > out
    met out 2 3
    timeout 120 srun -Q -N1 -n4 --mpi="$2" "./meet.$1" > out
    met out 1 4
    timeout 120 srun -Q -n1 --mpi="$2" "./meet.$1" > out
    met out 1 1
}
@test "MPICH over two nodes, on one, alone" { need mpich; several_nodes mpich pmi2; }
@test "Open MPI over two nodes, on one, alone" { need openmpi; several_nodes openmpi pmix; }

aborts() {
    run -42 timeout 120 srun -N2 -n4 --mpi="$2" "./meet.$1" abort
    [[ "$output" =~ "task 1 ends its program with code 42" ]]
}
@test "MPI_Abort of MPICH ends the step with its code" { need mpich; aborts mpich pmi2; }
@test "MPI_Abort of Open MPI ends the step with its code" { need openmpi; aborts openmpi pmix; }

dies() {
    run timeout 120 srun -K -N2 -n4 --mpi="$2" "./meet.$1" die
    ((status != 0 && status != 124))
    [[ "$output" =~ "task 1: Exited with exit code 3" ]]
}
@test "a rank of MPICH that dies before it meets the others ends the step (-K)" { need mpich; dies mpich pmi2; }
@test "a rank of Open MPI that dies before it meets the others ends the step (-K)" { need openmpi; dies openmpi pmix; }

# Without -K, which srun has by default neither here nor in Slurm: the others would wait in MPI_Barrier for ever.
@test "a rank of Open MPI that leaves in the middle, beside others of its node and elsewhere, ends the step" {
    need openmpi
    for nodes in 1 2; do
        run -137 timeout 120 srun -N$nodes -n4 --mpi=pmix ./meet.openmpi leave
        [[ "$output" =~ "task 1 left without MPI_Finalize: the others are ended" ]]
        run -139 timeout 120 srun -N$nodes -n4 --mpi=pmix ./meet.openmpi crash
        [[ "$output" =~ "task 1: Segmentation fault" ]]
    done
    timeout 120 sbatch -W -Q -n4 -N2 -o leave.out --wrap 'srun --mpi=pmix ./meet.openmpi leave; echo $?'
    tail -1 leave.out | grep -qx 137
}

kills() {
    rm -f go
    timeout 300 srun -Q -N2 -n4 --mpi="$2" "./meet.$1" hold=go > out 2> err &
    local srun=$!
    for _ in $(seq 600); do [ "$(grep -c ^rank out)" = 4 ] && break; sleep 0.2; done
    kill -9 "$(remuda status --pid controller)" "$(remuda status --pid "node[node2]")"
    remuda up -q 3>&-
    touch go
    wait $srun
    met out 2 2
}
@test "MPICH goes on without the controller and a node's daemon" { need mpich; kills mpich pmi2; }
@test "Open MPI goes on without the controller and a node's daemon" { need openmpi; kills openmpi pmix; }

products() {
    timeout 200 sbatch -Q -W --array=0-1 -N2 --ntasks-per-node=2 -o "$1.%a" --wrap "srun --mpi=$2 ./meet.$1"
    met "$1.0" 2 2
    met "$1.1" 2 2
    rm -f go
    local id
    id=$(sbatch --parsable --requeue -N2 --ntasks-per-node=2 -o "$1.again" --open-mode=truncate --wrap "srun --mpi=$2 ./meet.$1 hold=go.$1")
    for _ in $(seq 600); do grep -q "^rank 3" "$1.again" 2> /dev/null && break; sleep 0.2; done
    scontrol requeue "$id"
    touch "go.$1"
    for _ in $(seq 300); do [ "$(squeue -h -t all -j "$id" -o %T)" = COMPLETED ] && break; sleep 0.5; done
    met "$1.again" 2 2
}
@test "MPICH in elements of an array, and in a job that is requeued" { need mpich; products mpich pmi2; }
@test "Open MPI in elements of an array, and in a job that is requeued" { need openmpi; products openmpi pmix; }

components() {
    timeout 120 srun -Q -n2 --mpi="$2" "./meet.$1" : -n2 "./meet.$1" > out
    [ "$(sed 's/ on .*//' out | sort | tr '\n' ';')" = "rank 0 of 4 sum 6 from 3;rank 1 of 4 sum 6 from 0;rank 2 of 4 sum 6 from 1;rank 3 of 4 sum 6 from 2;" ]
}
@test "components are one program of MPICH" { need mpich; components mpich pmi2; }
@test "components are one program of Open MPI" { need openmpi; components openmpi pmix; }

@test "their mpirun in a job, and in a task of MPI" {
    need mpich
    timeout 120 salloc -Q -N2 --ntasks-per-node=2 mpirun.mpich ./meet.mpich > out
    [ "$(grep -c "of 4 sum 6" out)" = 4 ]
    timeout 120 srun -Q -N1 -n1 -c2 --mpi=pmi2 mpirun.mpich -launcher fork -np 2 ./meet.mpich > out
    [ "$(grep -c "of 2 sum 1" out)" = 2 ]
}

@test "no files are left in /tmp" {
    need openmpi
    run ! compgen -G '/tmp/remuda-pmix.*'
}
