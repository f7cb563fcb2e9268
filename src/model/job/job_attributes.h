/* Attributes of a job that are free text, mean nothing to placement and are shown as they are. One
 * row each, beside that of the field in JOB_SPEC_FIELDS (model/job/job.h): the options of sbatch,
 * salloc and srun, squeue, sacct, scontrol show and update, and --json walk over these rows, and
 * scontrol update may change them at any time. Whatever is computed, or stands at a place of its
 * own, has a row of its own in the listing. */
#ifndef REMUDA_MODEL_JOB_ATTRIBUTES_H
#define REMUDA_MODEL_JOB_ATTRIBUTES_H

/* X(member of struct job_spec, name in squeue -O, sacct --format, scontrol show and update; letter
 * of squeue -o, 0 = none; header of squeue, which also ends the option's variables (SBATCH_WCKEY);
 * width in sacct; key in JSON, which is also the option's name; what --help shows in place of its
 * value; what --help says of it) */
// clang-format off
#define JOB_ATTRIBUTES(X)                                                                                    \
    X(wckey, "WCKey", 'w', "WCKEY", 10, "wckey", "key", "workload characterisation key kept with the job")
// clang-format on

#endif
