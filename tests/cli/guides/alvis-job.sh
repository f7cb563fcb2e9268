#!/bin/bash
#SBATCH --account NAISS2024-22-1234     # project
#SBATCH --job-name my_job_name  # name of the job
#SBATCH --time=00:15:00   # (HHH:MM:SS)
#SBATCH --error=job.%J.err
#SBATCH --output=job.%J.out
#SBATCH --ntasks 2
#SBATCH --nodes 2
#SBATCH --gpus-per-node=V100:1
#SBATCH --constraint=skylake  # HPC2N

module load PyTorch/2.1.2-foss-2023a-CUDA-12.1.1
srun python3 program.py
