'''
Job Script Example file
'''
#SBATCH --account X
srun python program.py
