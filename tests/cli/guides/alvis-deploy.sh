#!/bin/bash
#SBATCH --ntasks 2
#SBATCH --nodes 2
#SBATCH --gpus-per-node=V100:4
#SBATCH --output=deploy.out

MASTER=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
export MASTER
srun bash job.deploy.sh
