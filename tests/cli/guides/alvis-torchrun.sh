#!/bin/bash
#SBATCH --ntasks 1
#SBATCH --nodes 1
#SBATCH --gpus-per-node=V100:2
#SBATCH --output=torchrun.out

torchrun --standalone --nnodes=1 --nproc_per_node=2 program.py
