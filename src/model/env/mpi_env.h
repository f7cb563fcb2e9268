/* The variables by which a task of an MPI program finds the others are its own: what it starts by
 * srun, sbatch or salloc is another program. MPI_NAMES_VARIABLE says which they are,
 * comma-separated; the commands leave these and itself behind. */
#ifndef REMUDA_MODEL_MPI_ENV_H
#define REMUDA_MODEL_MPI_ENV_H

#define MPI_NAMES_VARIABLE "REMUDA_MPI_NAMES"

#endif
