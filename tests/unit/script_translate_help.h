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

/* ---- random scripts: values for the rows of the tables ---- */

/* `values`: parted by '\n'; "" is the flag. A row that has none is left out, and `why` says why. */
struct pool {
    const char *option, *values, *why;
};

// clang-format off
static const struct pool slurm_pool[] = {
    {"account", "physics\nchem-1", NULL}, {"array", "1-9\n0-5\n3\n1,4,7\n1-20:2\n2-8%3\n1-4,9%2", NULL},
    {"begin", "2026-12-24T10:00:00\nnow+1hour\n2027-01-01T00:00:30", NULL}, {"chdir", "/tmp/x\nrel/dir", NULL},
    {"comment", "a comment\nit's\nplain", NULL}, {"constraint", "a\na&b\na|b|c\n[a*2&b*1]\nskylake&ib", NULL},
    {"cpus-per-task", "1\n2\n8", NULL}, {"dependency", "afterok:12\nafterany:12:13\nafterok:1,afternotok:2\nafterok:3?afterany:4\nsingleton\nafterok:7_3\naftercorr:9\nafter:5+10", NULL},
    {"distribution", "cyclic\nblock\nplane=2", NULL}, {"error", "e.%j\ne.%A_%a\n/dev/null", NULL}, {"exclude", "n1\nn[1-3]", NULL},
    {"exclusive", "\nuser", NULL}, {"export", "ALL\nNONE\nA,B=1\nALL,A=1\nNIL", NULL}, {"get-user-env", "", NULL},
    {"gpu-mem", "16G", NULL}, {"gpus", "2\nv100:4", NULL}, {"gpus-per-node", "2\na100:4", NULL}, {"gpus-per-task", "1\nv100:1", NULL},
    {"gres", "gpu:2\ngpu:a100:1\nnic:1\ngpu:1,nic:2", NULL}, {"hold", "", NULL}, {"input", "in.txt\nin.%a", NULL}, {"job-name", "a\nmy job\nx[1]\nit's \"so\"", NULL},
    {"kill-on-invalid-dep", "yes\nno", NULL}, {"licenses", "matlab\nmatlab:2,x:1\na@b:1", NULL}, {"mail-type", "END\nFAIL\nBEGIN,END,FAIL\nALL\nNONE\nEND,FAIL,TIME_LIMIT", NULL},
    {"mail-user", "a@b.org", NULL}, {"mem", "4G\n500\n0", NULL}, {"mem-per-cpu", "1G\n700", NULL}, {"mincpus", "4", NULL}, {"nice", "10\n2000", NULL},
    {"no-kill", "", NULL}, {"no-requeue", "", NULL}, {"nodelist", "n1\nn[1-2]", NULL}, {"nodes", "1\n2\n4\n2-4", NULL}, {"ntasks", "1\n4\n5\n8", NULL}, {"ntasks-per-node", "1\n2\n4", NULL},
    {"open-mode", "append\ntruncate", NULL}, {"output", "o.%j\n%x-%A_%a.out\no.txt\n%x.o%j\nd/%u\na%%b", NULL}, {"partition", "gpu\na,b", NULL}, {"qos", "high", NULL},
    {"requeue", "", NULL}, {"reservation", "r1", NULL}, {"signal", "B:USR1@120\nUSR2@90\nB:TERM", NULL}, {"switches", "1\n2@10", NULL}, {"time", "90\n1:30:00\n2-0\n0:45\nUNLIMITED", NULL},
    {"time-min", "10", NULL}, {"tmp", "10G\n300", NULL}, {"wait", "", NULL}, {"contiguous", "", NULL}, {"ntasks-per-core", "1", NULL}, {"wckey", "k", NULL}, {"hint", "nomultithread", NULL},
};
static const struct pool lsf_pool[] = {
    {"B", "", NULL}, {"G", "grp", NULL}, {"H", "", NULL}, {"J", "a\nb[1-9]\nc[2-8:2,20]%3\n[4-5]", NULL}, {"Jd", "some text", NULL}, {"K", "", NULL}, {"L", "/bin/bash", NULL},
    {"M", "4GB\n500MB", NULL}, {"N", "", NULL}, {"Ne", "", NULL}, {"P", "proj", NULL},
    {"R", "span[hosts=1]\nspan[ptile=2]\nspan[ptile=4] rusage[mem=4GB]\nrusage[mem=2GB/task]\nrusage[mem=16GB/job]\nselect[a && b]\nselect[(a || b)]\naffinity[core(4)]\nrusage[matlab=2:mem=1GB/host]\ncu[maxcus=2]\nspan[stripe]\nselect[tmp>=300MB && ncpus>=4 && hname!='n1']\nselect[mem>1GB && !a]\nspan[block=2]\nspan[ptile=2:stripe]\nsame[type]\nrusage[mem=1GB:tmp=2GB] select[a]", NULL},
    {"U", "resv", NULL}, {"W", "90\n24:00\n1:30", NULL}, {"b", "2026:12:24:10:00", NULL}, {"cwd", "/tmp/d", NULL}, {"e", "e.%J\ne.%J.%I\nd/", NULL}, {"env", "all\nnone\nA,B=1", NULL}, {"eo", "e.%J", NULL},
    {"gpu", "num=2\nnum=1:gmodel=V100\nnum=1/task\nnum=2:gmodel=A100-40G\nnum=2:gtile=1\n-", NULL}, {"g", "/a\n/a/b", NULL}, {"t", "2026:12:24:10:00", NULL}, {"i", "in", NULL}, {"is", "in2", NULL}, {"n", "1\n4\n5\n8\n2,4", NULL}, {"nnodes", "2", NULL}, {"notify", "done\nstart exit", NULL},
    {"o", "o.%J\nout\nd/", NULL}, {"oo", "o.%J.%I\no", NULL}, {"q", "hpc\na b", NULL}, {"r", "", NULL}, {"rn", "", NULL}, {"ti", "", NULL}, {"u", "x@y", NULL},
    {"w", "done(12)\ndone(12) && ended(13)\nexit(4) || started(5)\ndone(3[2])\ndone(8[*])\ndone(3[1-2,5])\nexit(3[1-2],>2) || done(9)\n!ended(4) && (done(5) || exit(6,3))\nnumdone(7,>=3)\nnumended(7,*)", NULL}, {"wa", "USR1", NULL}, {"wt", "5", NULL}, {"x", "", NULL}, {"outdir", "out", NULL},
    {"I", NULL, "not of scripts"}, {"IS", NULL, "the same"}, {"ISp", NULL, "the same"}, {"ISs", NULL, "the same"}, {"Ip", NULL, "the same"}, {"Is", NULL, "the same"}, {"tty", NULL, "the same"},
    {"C", NULL, "limits of the process that submits"}, {"D", NULL, "the same"}, {"F", NULL, "the same"}, {"S", NULL, "the same"},
    {"V", NULL, "of the command"}, {"Zs", NULL, "always so"}, {"h", NULL, "of the command"}, {"hl", NULL, "always so"}, {"lint", NULL, "of the command"}, {"m", NULL, "hosts of the cluster"}, {"ul", NULL, "always so"},
};
static const struct pool pbs_pool[] = {
    {"A", "acct", NULL}, {"J", "0-9\n1-9:2%2", NULL}, {"M", "a@b,c@d", NULL}, {"N", "job\nx-1", NULL}, {"P", "proj", NULL}, {"R", "oe\ne", NULL}, {"S", "/bin/bash", NULL}, {"V", "", NULL},
    {"W", "depend=afterok:12.srv:13\numask=77\nblock=true\nx=advres:r1\ndepend=after:3,afterany:4[2]\ndepend=afternotok:5:6,on:2\ndepend=afterokarray:7[][3]\ngroup_list=root\numask=022,depend=afterany:9", NULL}, {"a", "202612241000.30\n2359", NULL}, {"d", "/tmp/x", NULL}, {"e", "err\n/dev/null", NULL}, {"h", "", NULL},
    {"f", "", NULL}, {"j", "oe\neo\nn", NULL},
    {"l", "select=2:ncpus=4:mem=8gb\nselect=1:ncpus=8:mpiprocs=4:ngpus=2\nselect=4:ncpus=2:mpiprocs=2:mem=4gb,place=scatter\nselect=3:ncpus=1:ngpus=1:a=true,place=scatter:excl\nnodes=2:ppn=4\nnodes=1:ppn=8:gpus=2,mem=16gb\nprocs=6,pmem=1gb\nncpus=4,mem=4gb\nwalltime=1:30:00\nwalltime=90\nncpus=2,pmem=500mb\nselect=1:ncpus=2:host=n3\nfile=3gb\nsoftware=matlab:2\nqos=high\nncpus=4,mpiprocs=2\nhost=n1,ncpus=2\nselect=1:ncpus=2:arch=linux\nnodes=n1:ppn=2+n2:ppn=2\nfeature=a,walltime=10\nselect=4:ncpus=1:mem=1gb,place=pack\nselect=2:ncpus=2,place=free:group=switch", NULL},
    {"m", "abe\nn\na\nbej", NULL}, {"n", "", NULL}, {"o", "out\nd/\no.^array_index^\n/dev/null", NULL}, {"p", "-10\n-1024", NULL}, {"q", "work\nq@srv", NULL}, {"r", "y\nn", NULL}, {"t", "1,5\n3\n1-8%2", NULL}, {"v", "A,B=1", NULL},
    {"C", NULL, "of the command line"}, {"D", NULL, "as -d"}, {"F", NULL, "arguments"}, {"I", NULL, "not of scripts"}, {"b", NULL, "of the command"}, {"k", NULL, "always so"}, {"help", NULL, "of the command"}, {"lint", NULL, "of the command"}, {"u", NULL, "oneself"}, {"version", NULL, "of the command"}, {"w", NULL, "as -d"}, {"z", NULL, "of the command"},
};
// clang-format on

static const struct pool *pool_of(enum dialect d, size_t i)
{
    switch (d) {
    case DIALECT_SLURM: return i < ARRAY_LEN(slurm_pool) ? &slurm_pool[i] : NULL;
    case DIALECT_LSF: return i < ARRAY_LEN(lsf_pool) ? &lsf_pool[i] : NULL;
    case DIALECT_PBS: return i < ARRAY_LEN(pbs_pool) ? &pbs_pool[i] : NULL;
    }
    return NULL;
}

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
