/* What the tests of script_translate share. */
#ifndef REMUDA_TESTS_SCRIPT_TRANSLATE_HELP_H
#define REMUDA_TESTS_SCRIPT_TRANSLATE_HELP_H

#include "script_help.h"

#include "base/hostlist.h"
#include "base/rng.h"
#include "model/grammar/gres.h"
#include "model/job/array.h"
#include "model/job/dependency.h"
#include "script/lines.h"
#include "script/lint/lint.h"
#include "script/translate.h"
#include "wire/record.h"

#include <stdio.h>

/* ---- there, and back ---- */

static inline bool translated(struct world *w, const char *text, enum dialect from, enum dialect to,
                              struct translation *t)
{
    memset(&w->err, 0, sizeof w->err);
    return script_translate(text, strlen(text), from, to, &w->env, "job", w->a, t, &w->err);
}

/* ---- the lines ---- */

static const struct {
    enum dialect from, to;
    const char *text, *becomes;
} lines[] = {
    {DIALECT_SLURM, DIALECT_LSF,
     "#!/bin/bash\n# a comment $SLURM_JOB_ID\n#SBATCH -n 2 # two\n#SBATCH -t 60\n#SBATCH -o "
     "x.%j\nsrun a $SLURM_JOB_ID\n",
     "#!/bin/bash\n# a comment $SLURM_JOB_ID\n#BSUB -W 1:00\n#BSUB -n 2\n#BSUB -oo x.%J\nsrun a "
     "$LSB_JOBID\n"},
    {DIALECT_SLURM, DIALECT_PBS,
     "#!/bin/bash\n#SBATCH -n 1 -o x -e y\n#PBS -q old\ncd ${SLURM_SUBMIT_DIR}\ncat "
     "<<E\n$SLURM_SUBMIT_DIR\nE\n",
     "#!/bin/bash\n#PBS -V\n#PBS -e y\n#PBS -l select=1:ncpus=1\n#PBS -o x\n# was not read: #PBS "
     "-q old\ncd \"$PBS_O_WORKDIR\"\ncd ${PBS_O_WORKDIR}\ncat <<E\n$SLURM_SUBMIT_DIR\nE\n"},
    {DIALECT_SLURM, DIALECT_PBS,
     "#!/bin/sh\n#SBATCH -n 1 -o x -e y\n#SBATCH --chdir=\"/it's'; touch x; '\"\nls\n",
     "#!/bin/sh\n#PBS -V\n#PBS -e y\n#PBS -l select=1:ncpus=1\n#PBS -o x\ncd \"$PBS_O_WORKDIR\" && "
     "cd '/it'\\''s'\\''; touch x; '\\'''\nls\n"},
    {DIALECT_LSF, DIALECT_SLURM, "#BSUB -n 2 -oo x.%J \\\n#BSUB -W 10\nls\n#BSUB -q late\n",
     "#!/bin/sh\n#SBATCH --partition=late\n#SBATCH --time=10\n#SBATCH --ntasks=2\n#SBATCH "
     "--open-mode=truncate\n#SBATCH --output=x.%A\nls\n"},
    {DIALECT_LSF, DIALECT_PBS, "#!/bin/bash\r\n#BSUB -n 2 \\\n -q q\r\n#BSUB -oo x\r\nls\r\n",
     "#!/bin/bash\n#PBS -V\n#PBS -j oe\n#PBS -l select=2:ncpus=1\n#PBS -o x\n#PBS -q q\ncd "
     "\"$PBS_O_WORKDIR\"\nls\n"},
    {DIALECT_PBS, DIALECT_SLURM,
     "#PBS -l select=1:ncpus=4+2:ngpus=1 -l walltime=60 -N a -V -j oe\ncd $PBS_O_WORKDIR\n",
     "#!/bin/sh\n#SBATCH --job-name=a\n#SBATCH --requeue\n#SBATCH --time=0:01:00\n#SBATCH "
     "--cpus-per-task=4\n#SBATCH --nodes=1\n#SBATCH --ntasks=1\n#SBATCH --export=ALL\n#SBATCH "
     "--output=%x.o%A\n#SBATCH hetjob\n#SBATCH --requeue\n#SBATCH --time=0:01:00\n#SBATCH "
     "--ntasks=2\n#SBATCH --gpus-per-task=1\ncd $SLURM_SUBMIT_DIR\n"},
    {DIALECT_LSF, DIALECT_SLURM, "#BSUB -R \"2*{a}+1*{b}\" -W 5 -oo x\nls\n",
     "#!/bin/sh\n#SBATCH --time=5\n#SBATCH --ntasks=2\n#SBATCH --constraint=a\n#SBATCH "
     "--open-mode=truncate\n#SBATCH --output=x\n#SBATCH hetjob\n#SBATCH --time=5\n#SBATCH "
     "--ntasks=1\n#SBATCH --constraint=b\nls\n"},
    {DIALECT_PBS, DIALECT_SLURM,
     "#!/usr/bin/env bash\n#PBS -l ncpus=2 -j oe -V\n./a $PBS_O_WORKDIR\n",
     "#!/usr/bin/env bash\n#SBATCH --requeue\n#SBATCH --cpus-per-task=2\n#SBATCH "
     "--nodes=1\n#SBATCH --ntasks=1\n#SBATCH --export=ALL\n#SBATCH --output=%x.o%A\ncd "
     "\"$HOME\"\n./a $SLURM_SUBMIT_DIR\n"},
    {DIALECT_PBS, DIALECT_LSF,
     "#PBS -S /bin/zsh\n#PBS -l walltime=60 -o o -j oe -V\ncd $PBS_O_WORKDIR\n",
     "#!/bin/zsh\n#BSUB -R \"span[hosts=1]\"\n#BSUB -W 0:01\n#BSUB -env all\n#BSUB -n 1\n#BSUB -oo "
     "o\n#BSUB -r\ncd $LS_SUBCWD\n"},
};

static const struct {
    enum dialect from, to;
    const char *text, *note;
} notes[] = {
    {DIALECT_SLURM, DIALECT_LSF, "#!/bin/sh\n#SBATCH -c 4 -o x\nA=$SLURM_CPUS_PER_TASK\n",
     "line 3: $SLURM_CPUS_PER_TASK has no equivalent there; of this job it is 4"},
    {DIALECT_SLURM, DIALECT_PBS, "#!/bin/sh\n#SBATCH -c 4 -o x -n 1\nA=$SLURM_CPUS_PER_TASK\n",
     "line 3: $SLURM_CPUS_PER_TASK stays; there it is $NCPUS, but that has the CPUs of a chunk; of "
     "this job it is 4"},
    {DIALECT_PBS, DIALECT_SLURM, "#PBS -l ncpus=1\ncat $PBS_GPUFILE\n",
     "line 2: $PBS_GPUFILE has no equivalent there"},
    {DIALECT_SLURM, DIALECT_LSF, "#!/bin/sh\n#SBATCH -n 2 -o x\nX=1 exec srun -n 1 a\nsrun b\n",
     "line 3: srun is a command of Slurm; there: mpirun, or blaunch"},
    {DIALECT_SLURM, DIALECT_PBS,
     "#!/bin/sh\n#SBATCH -n 2 -o x\nh=\"$(scontrol show hostnames)\" # srun\necho srun\n",
     "line 3: scontrol is a command of Slurm; there: of its hosts sort -u $PBS_NODEFILE, of jobs "
     "qstat -f, qrerun, qalter"},
    {DIALECT_LSF, DIALECT_PBS, "#BSUB -n 1 -oo x\na && bkill 3; echo bsub\n",
     "line 2: bkill is a command of LSF; there: qdel"},
    {DIALECT_PBS, DIALECT_SLURM, "#PBS -l ncpus=1\nif ! pbsdsh a; then b; fi\n",
     "line 2: pbsdsh is a command of PBS; there: srun"},
    {DIALECT_PBS, DIALECT_SLURM, "#PBS -t 1-3\ncat <<E\n$PBS_ARRAYID\nE\n",
     "line 3: $PBS_ARRAYID stands in a here-document and stays; there it is $SLURM_ARRAY_TASK_ID"},
    {DIALECT_SLURM, DIALECT_PBS,
     "#!/bin/sh\n#SBATCH -a 0-8:2 -o x -n 1\nA=$SLURM_ARRAY_TASK_COUNT\n",
     "line 3: $SLURM_ARRAY_TASK_COUNT has no equivalent there; of this job it is 5"},
    {DIALECT_SLURM, DIALECT_LSF, "#!/bin/sh\n#SBATCH -a 0-8 -o x -n 1\nls\n",
     "--array=0-8 is left out: indexes of LSF's arrays begin at 1; add one to each"},
    {DIALECT_LSF, DIALECT_SLURM, "#BSUB -n 1 -oo x -W 1:2:3\nls\n",
     "line 1 is wrong, and taken as far as it could be read: "},
};

#endif
