#!/usr/bin/env bats
# Real launchers in real allocations: Open MPI's and MPICH's mpirun, torchrun. Needs openmpi-bin libopenmpi-dev mpich libmpich-dev python3-torch; what is not there is skipped by name.
# The nodes are virtual, on one host: Open MPI's shared memory takes them for one and is left out.
bats_require_minimum_version 1.5.0

setup_file() {
    export REMUDA_STATE="$BATS_FILE_TMPDIR/state" WORK="$BATS_FILE_TMPDIR/work" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    mkdir -p "$WORK"
    remuda up -q --nodes 2 --cpus 4 --mem 8G --gres gpu:v100:4
    cat > "$WORK/hello.c" <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int rank, size, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d of %d sum %d on %s\n", rank, size, sum, getenv("SLURMD_NODENAME"));
    fflush(stdout);
    if (argc > 1)
        sleep(1);
    MPI_Finalize();
    return 0;
}
END
}

teardown_file() { remuda down; }
setup() { cd "$WORK" || exit 1; }
need() { command -v "$1" > /dev/null || skip "$1 is not installed"; }

@test "Open MPI: mpirun in an allocation of two nodes starts its daemons through srun; all ranks meet" {
    need mpirun.openmpi
    need mpicc.openmpi
    mpicc.openmpi hello.c -o hello.ompi
    timeout 60 salloc -Q -N2 --ntasks-per-node=2 mpirun.openmpi --mca btl tcp,self ./hello.ompi > out
    [ "$(sed 's/ on .*//' out | sort | tr '\n' ';')" = "rank 0 of 4 sum 6;rank 1 of 4 sum 6;rank 2 of 4 sum 6;rank 3 of 4 sum 6;" ]
    [ "$(awk '{print $NF}' out | sort | uniq -c | awk '{print $1, $2}' | tr '\n' ';')" = "2 node1;2 node2;" ]
}

@test "Alvis: --ntasks 2 --nodes 2, mpirun -np 2 bash job.deploy.sh" {
    need mpirun.openmpi
    cat > job.deploy.sh <<'END'
MASTER=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
[ "$SLURMD_NODENAME" = "$MASTER" ] && RANK=0 || RANK=1
echo "node_rank $RANK of $SLURM_NNODES, master $MASTER, gpus $CUDA_VISIBLE_DEVICES"
END
    printf '#!/bin/bash\n#SBATCH --ntasks 2\n#SBATCH --nodes 2\n#SBATCH --gpus-per-node=V100:4\nmpirun.openmpi -np 2 bash job.deploy.sh\n' > alvis.sh
    timeout 60 sbatch -W -Q -o alvis.out alvis.sh
    [ "$(sort alvis.out | tr '\n' ';')" = "node_rank 0 of 2, master node1, gpus 0,1,2,3;node_rank 1 of 2, master node1, gpus 0,1,2,3;" ]
}

@test "MPICH: mpirun (hydra) in an allocation of two nodes" {
    need mpirun.mpich
    need mpicc.mpich
    mpicc.mpich hello.c -o hello.mpich
    timeout 60 salloc -Q -N2 --ntasks-per-node=2 mpirun.mpich ./hello.mpich > out
    [ "$(sed 's/ on .*//' out | sort | tr '\n' ';')" = "rank 0 of 4 sum 6;rank 1 of 4 sum 6;rank 2 of 4 sum 6;rank 3 of 4 sum 6;" ]
}

@test "MPI programs started by srun alone are worlds of their own: that is said" {
    need mpicc.mpich
    mpicc.mpich hello.c -o hello.mpich
    run --separate-stderr srun -n2 ./hello.mpich wait
    [ "$(sort <<< "$output" | uniq -c | awk '{$1=$1};1' | sed 's/ on .*//')" = "2 rank 0 of 1 sum 0" ]
    [[ "$stderr" =~ "each is rank 0 of 1" ]]
}

# Debian's Python: that is where its torch is.
PYTHON=/usr/bin/python3
torch_here() { $PYTHON -c 'import torch.distributed' 2> /dev/null || skip "python3-torch is not installed"; }

# Debian 12's torchrun takes its own default for --redirects for nothing under Python 3.11 (AttributeError in to_map): it is given one that works.
STREAMS="--redirects 1 --tee 1"
ranks() { sed 's/^.*rank /rank /' "$1" | grep '^rank' | sort | tr '\n' ';'; }

torch_program() {
    cat > sum.py <<'END'
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
t = torch.tensor([float(dist.get_rank())])
dist.all_reduce(t)
print(f"rank {dist.get_rank()} of {dist.get_world_size()} sum {t.item()}", flush=True)
dist.barrier()
dist.destroy_process_group()
END
}

@test "PyTorch started by srun itself: MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE are there" {
    torch_here
    torch_program
    timeout 200 srun -N2 -n4 $PYTHON sum.py > out
    [ "$(sort out | tr '\n' ';')" = "rank 0 of 4 sum 6.0;rank 1 of 4 sum 6.0;rank 2 of 4 sum 6.0;rank 3 of 4 sum 6.0;" ]
}

@test "torchrun --standalone on one node" {
    torch_here
    torch_program
    timeout 200 srun -n1 -c2 $PYTHON -m torch.distributed.run $STREAMS --standalone --nnodes=1 --nproc_per_node=2 sum.py > out
    [ "$(ranks out)" = "rank 0 of 2 sum 1.0;rank 1 of 2 sum 1.0;" ]
}

@test "torchrun on two nodes meets by c10d at MASTER_ADDR:MASTER_PORT" {
    torch_here
    torch_program
    timeout 300 srun -N2 --ntasks-per-node=1 bash -c '/usr/bin/python3 -m torch.distributed.run '"$STREAMS"' --nnodes=$SLURM_NNODES --node_rank=$SLURM_NODEID --nproc_per_node=1 --rdzv_id=$SLURM_JOB_ID --rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT sum.py' > out
    [ "$(ranks out)" = "rank 0 of 2 sum 1.0;rank 1 of 2 sum 1.0;" ]
}
