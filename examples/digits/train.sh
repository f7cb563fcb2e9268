#!/bin/bash
#SBATCH --job-name=digits
#SBATCH --output=%x_%j.out
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=500M
#SBATCH --time=00:10:00          # (HH:MM:SS)
#SBATCH --signal=B:USR1@60       # a minute before the limit: save and stop

# Trains a small network on the UCI handwritten digits. Submit it again and it goes on from its checkpoint.
#   sbatch train.sh [further options of train.py]
trap 'kill -USR1 "$training"; wait "$training"' USR1

# A batch script runs from a copy; the submit directory and this file's own place are where to look.
here=${SLURM_SUBMIT_DIR:-.}
[ -f "$here/train.py" ] || here=$here/examples/digits

# A python3 of the user's own (conda, pyenv) may lack numpy; Debian's python3-numpy belongs to /usr/bin/python3.
python=python3
"$python" -c 'import numpy' 2>/dev/null || python=/usr/bin/python3

echo "Job $SLURM_JOB_ID on $SLURM_JOB_NODELIST, $SLURM_CPUS_ON_NODE CPUs, start $((${SLURM_RESTART_COUNT:-0} + 1))"
export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1}
"$python" -u "$here/train.py" --data "$here/digits.txt" --checkpoint "${CHECKPOINT:-$here/checkpoint.npz}" "$@" &
training=$!
wait "$training"
