/* File name patterns of --output and friends: %A %a %J %j %N %n %s %t %u %x %b %%, with widths
 * (%4j, up to 10 digits, zero-padded); a backslash in the pattern turns replacement off, as
 * sbatch(1) says. */
#ifndef REMUDA_MODEL_PATTERN_H
#define REMUDA_MODEL_PATTERN_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* No name is longer. One that would be is cut here, and open(2) takes none of that length
 * (PATH_MAX): so a cut name is never that of another file, and no job's text grows into megabytes
 * for whoever shows, mails or opens it. */
#define PATTERN_NAME_MAX 4096u

struct pattern_env {
    uint64_t job_id, array_job_id;      /* array_job_id 0: no array, %A is the job id */
    uint32_t array_task_id;             /* NO_TASK: %a becomes 4294967294 as Slurm's does */
    int64_t step_id;                    /* STEP_BATCH: %J is the job id alone */
    int32_t node_index, task;           /* %n, %t */
    const char *node, *user, *job_name; /* NULL = not known: the letter gives nothing */
};

struct job;
/* Of the script of a job: its own file names. Borrows the record's texts. */
struct pattern_env pattern_env_of_job(const struct job *j);

/* Appends the name, PATTERN_NAME_MAX bytes at most; what is no known letter stays as it is. A
 * backslash anywhere turns replacement off. */
void pattern_expand(const char *pattern, const struct pattern_env *env, struct str *out);

/* Appends to a pattern what stands for itself there, as the name of a directory. */
void pattern_add_name(struct str *pattern, const char *name);

#endif
