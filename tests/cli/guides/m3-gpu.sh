#!/bin/bash
#SBATCH --job-name=gpu_job   
#SBATCH --account=vf68 
#SBATCH --nodes=1
#SBATCH --ntasks=6 
#SBATCH --cpus-per-task=1
#SBATCH --gres=gpu:P4:1  
#SBATCH --mem=55G
#SBATCH --partition=desktop
#SBATCH --qos=desktopq   

module load pytorch/1.6-cuda10
export EPOCHS=1 ; python3 -c 'import os; print("epochs", os.environ["EPOCHS"], "gpu", os.environ["CUDA_VISIBLE_DEVICES"], "asked", os.environ["ASKED"])'
