/* What scontrol leaves behind inside a job that gave nodes back: slurm_job_ID_resize.sh and .csh,
 * which set the variables that describe the allocation anew. Slurm's unset SLURM_TASKS_PER_NODE,
 * without which mpirun does not start. */
#include "cli/program/give_out.h"
#include "cli/scontrol/scontrol.h"
#include "cli/table/listing.h"
#include "model/env/job_env.h"
#include "model/job/alloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct resize_found {
    struct arena *a;
    struct job *job;
};

static void job_keep(void *ctx, const void *record)
{
    struct resize_found *f = ctx;
    const struct job *j = record;
    if (!f->job && j->state == JOB_RUNNING)
        f->job = arena_dup(f->a, j, sizeof *j);
}

static const char *value_of(const struct str *env, const char *name)
{
    const char *value = text_value((struct span){env->data, env->len}, name);
    return value ? value : "";
}

static void script_write(struct scontrol *s, const struct job *j, const struct str *env, bool csh)
{
    static const char *const set[] = {
        "SLURM_NODELIST",      "SLURM_JOB_NODELIST",      "SLURM_NNODES",
        "SLURM_JOB_NUM_NODES", "SLURM_JOB_CPUS_PER_NODE", "SLURM_TASKS_PER_NODE"};
    static const char *const gone[] = {"SLURM_NPROCS", "SLURM_NTASKS"};
    const char *path = arena_printf(s->a, "slurm_job_%llu_resize.%s", (unsigned long long)j->id,
                                    csh ? "csh" : "sh");
    FILE *to = foreseen_file(path);
    if (!to) {
        scontrol_fail(s, "cannot write %s: %s", path, strerror(errno));
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(set); i++) {
        const char *quote = strstr(set[i], "NUM_NODES") || strstr(set[i], "NNODES") ? "" : "\"";
        fprintf(to, "%s%s%s%s%s%s\n", csh ? "setenv " : "export ", set[i], csh ? " " : "=", quote,
                value_of(env, set[i]), quote);
    }
    for (size_t i = 0; i < ARRAY_LEN(gone); i++)
        fprintf(to, "%s %s\n", csh ? "unsetenv" : "unset", gone[i]);
    if (fclose(to) != 0)
        scontrol_fail(s, "cannot write %s: %s", path, strerror(errno));
}

void scontrol_resize_files(struct scontrol *s, const char *ids)
{
    struct resize_found f = {.a = s->a};
    struct msg_query q = {.what = QUERY_JOBS, .ids = ids, .states = "all"};
    struct msg_done done = {0};
    struct client *c = getenv("SLURM_JOB_ID") ? scontrol_connect(s, "slurm_load_jobs error") : NULL;
    struct alloc al = {0};
    if (!c || !client_query(c, &q, &job_fields, s->a, job_keep, &f, &done, NULL) || !f.job ||
        !alloc_parse(f.job->alloc, s->a, &al, NULL))
        return;
    struct str env = STR_INIT;
    job_env_allocation(&(struct job_env){.job = f.job, .alloc = &al}, &env);
    script_write(s, f.job, &env, false);
    script_write(s, f.job, &env, true);
    printf("To reset Slurm environment variables, execute\n"
           "  For bash or sh shells:  . ./slurm_job_%llu_resize.sh\n"
           "  For csh shells:         source ./slurm_job_%llu_resize.csh\n",
           (unsigned long long)f.job->id, (unsigned long long)f.job->id);
    str_done(&env);
}
