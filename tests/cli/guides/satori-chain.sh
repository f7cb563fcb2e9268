#!/bin/bash
#SBATCH -o chain_%j.out
#SBATCH -p sched_system_all
#SBATCH --time=5
n=${1:-1}
[ "$n" -lt 3 ] && (cd "$SLURM_SUBMIT_DIR"; sbatch --dependency=afterok:${SLURM_JOB_ID} satori-chain.sh $((n + 1)))
echo "link $n"
