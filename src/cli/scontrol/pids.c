/* scontrol pidinfo, listpids, listjobs, liststeps: processes of jobs on this host, known by the
 * variables their environment was made with; who may not read a process's environment does not see
 * it. A step's tasks are the processes with a task's number whose parent has none. */
#include "base/duration.h"
#include "base/vec.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/localtime.h"
#include "cli/program/room.h"
#include "cli/record/columns_job.h"
#include "cli/scontrol/scontrol.h"
#include "cli/table/columns.h"
#include "model/job/job.h"

#include "base/alloc.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ENVIRON_MAX (1u << 20)

struct process {
    int32_t pid, parent;
    const char *job, *step, *local, *global, *node; /* NULL: it is in no job */
};

struct pids_processes {
    struct scontrol *s;
    VEC(struct process) p;
};

static const char *file_text(struct scontrol *s, int32_t pid, const char *name, size_t *ret_len)
{
    char path[64];
    struct str text = STR_INIT;
    char block[4096];
    size_t n;
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    FILE *from = file_if_there(path);
    while (from && text.len < ENVIRON_MAX && (n = fread(block, 1, sizeof block, from)) > 0)
        str_addn(&text, block, n);
    if (from)
        fclose(from);
    const char *copy = arena_dup(s->a, str_text(&text), text.len + 1);
    *ret_len = text.len;
    str_done(&text);
    return copy;
}

/* What is said there if it is a number, else NULL: who made a process says what is in its
 * environment, in any bytes, and they are shown to others. */
static const char *number_said(struct span env, const char *name)
{
    const char *said = text_value(env, name);
    uint64_t number;
    return text_to_u64(said, INT64_MAX, &number) ? said : NULL;
}

static bool step_word(const char *word)
{
    return (*word && !word[strspn(word, "0123456789")]) || text_is(word, "batch") ||
           text_is(word, "extern") || text_is(word, "interactive");
}

static int32_t parent_of(struct scontrol *s, int32_t pid)
{
    size_t len;
    const char *stat = file_text(s, pid, "stat", &len), *close = strrchr(stat, ')');
    int64_t parent = 0;
    return close && sscanf(close + 1, " %*c %ld", &parent) == 1 ? (int32_t)parent : 0;
}

static void process_read(struct scontrol *s, int32_t pid, struct process *p)
{
    size_t len;
    const char *text = file_text(s, pid, "environ", &len);
    struct span env = {text, len + 1}; /* its owner may have cut its last byte off */
    *p = (struct process){.pid = pid,
                          .parent = parent_of(s, pid),
                          .job = number_said(env, "SLURM_JOB_ID"),
                          .step = text_value(env, "SLURM_STEP_ID"),
                          .local = number_said(env, "SLURM_LOCALID"),
                          .global = number_said(env, "SLURM_PROCID"),
                          .node = text_value(env, "SLURMD_NODENAME")};
    const char *conf = text_value(env, "SLURM_CONF"), *dir = state_dir_find(NULL, s->a);
    size_t n = conf && dir ? strlen(dir) : 0;
    if (n && (strncmp(conf, dir, n) != 0 || conf[n] != '/'))
        p->job = NULL; /* of another cluster on this host */
    if (p->job && !p->step)
        p->step = "batch";
    if (p->step && !step_word(p->step))
        p->job = NULL;
    if (!p->node)
        p->job = NULL; /* of an interactive allocation's shell, which is on no node */
}

static void processes_find(struct pids_processes *all)
{
    DIR *dir = dir_if_there("/proc");
    struct dirent *entry;
    int64_t pid;
    while (dir && (entry = readdir(dir)))
        if (text_to_i64(entry->d_name, 1, INT32_MAX, &pid)) {
            struct process p;
            process_read(all->s, (int32_t)pid, &p);
            if (p.job)
                vec_push(&all->p, p);
        }
    if (dir)
        closedir(dir);
}

static bool same_step(const struct process *a, const struct process *b)
{
    return text_is(a->job, b->job) && text_is(a->step, b->step) && text_is(a->node, b->node);
}

/* The first process of a task, not what it started. */
static bool is_task(const struct pids_processes *all, const struct process *p)
{
    for (size_t i = 0; i < all->p.n; i++)
        if (all->p.v[i].pid == p->parent)
            return !same_step(&all->p.v[i], p);
    return true;
}

/* ---- listpids ------------------------------------------------------------------------------- */

static bool process_wanted(const struct process *p, const char *job, const char *step,
                           const char *node)
{
    return (!job || text_is(p->job, job)) && (!step || text_is(p->step, step)) &&
           (!node || text_is(p->node, node));
}

static void process_print(const struct pids_processes *all, const struct process *p)
{
    bool task = is_task(all, p);
    printf("%-8d %-8s %-8s %-7s %-8s\n", (int)p->pid, p->job, p->step,
           task && p->local ? p->local : "-", task && p->global ? p->global : "-");
}

void scontrol_listpids(struct scontrol *s, int n, char **word)
{
    struct pids_processes all = {.s = s};
    const char *dot = n ? strchr(word[0], '.') : NULL, *node = n > 1 ? word[1] : NULL;
    const char *job = !n    ? NULL
                      : dot ? arena_strndup(s->a, word[0], (size_t)(dot - word[0]))
                            : word[0];
    size_t shown = 0;
    if (dot && !step_word(dot + 1)) {
        scontrol_refuse(s, "\"%s\" does not look like a stepid", word[0]);
        scontrol_fail(s, "a step's number is needed, or batch, extern or interactive");
        return;
    }
    if (job && (text_is(job, "*") || text_is(job, "")))
        job = NULL;
    if (job && job[strspn(job, "0123456789")]) {
        scontrol_refuse(s, "\"%s\" does not look like a jobid", job);
        return;
    }
    processes_find(&all);
    puts("PID      JOBID    STEPID   LOCALID GLOBALID");
    for (size_t i = 0; i < all.p.n; i++)
        if (process_wanted(&all.p.v[i], job, dot ? dot + 1 : NULL, node)) {
            process_print(&all, &all.p.v[i]);
            shown++;
        }
    if (!shown && !job)
        scontrol_refuse(s, "No job steps exist on this node.");
    else if (!shown)
        scontrol_refuse(s,
                        dot       ? "StepId=%s does not exist on node %s."
                        : all.p.n ? "There are no steps for job %s on node %s."
                                  : "JobId=%s does not exist on node %s.",
                        word[0], node ? node : "(null)");
    vec_done(&all.p);
}

/* ---- listjobs, liststeps -------------------------------------------------------------------- */

static bool first_of(const struct pids_processes *all, size_t at, bool steps)
{
    ASSERT(at < all->p.n);
    const struct process *p = &all->p.v[at];
    for (size_t i = 0; i < at; i++)
        if (text_is(all->p.v[i].job, p->job) && (!steps || text_is(all->p.v[i].step, p->step)))
            return false;
    return true;
}

static void ids_list(struct scontrol *s, const char *node, bool steps)
{
    struct pids_processes all = {.s = s};
    size_t shown = 0;
    processes_find(&all);
    puts(steps ? "JOBID    STEPID" : "JOBID");
    for (size_t i = 0; i < all.p.n; i++) {
        const struct process *p = &all.p.v[i];
        if ((node && !text_is(p->node, node)) || !first_of(&all, i, steps))
            continue;
        printf(steps ? "%-8s %s\n" : "%s\n", p->job, p->step);
        shown++;
    }
    if (!shown)
        scontrol_refuse(s, "No job steps exist on this node.");
    vec_done(&all.p);
}

void scontrol_listjobs(struct scontrol *s, int n, char **word)
{
    ids_list(s, n ? word[0] : NULL, false);
}

void scontrol_liststeps(struct scontrol *s, int n, char **word)
{
    ids_list(s, n ? word[0] : NULL, true);
}

/* ---- pidinfo -------------------------------------------------------------------------------- */

static void job_times(void *ctx, const void *record)
{
    int64_t *end = ctx;
    *end = ((const struct job *)record)->end_us;
}

void scontrol_pidinfo(struct scontrol *s, int n, char **word)
{
    struct process p = {0};
    int64_t pid, end = 0, now = time_now_us();
    (void)n;
    if (text_to_i64(word[0], 1, INT32_MAX, &pid))
        process_read(s, (int32_t)pid, &p);
    struct msg_query q = {.what = QUERY_JOBS, .ids = p.job, .states = "all"};
    struct msg_done done = {0};
    struct err err = {0};
    if (!p.job) {
        scontrol_refuse(s, "Failed to locate job for requested pid");
        return;
    }
    struct client *c = scontrol_connect(s, "slurm_load_jobs error");
    if (!c)
        return;
    if (!client_query(c, &q, &job_fields, s->a, job_times, &end, &done, &err)) {
        scontrol_fail(s, "slurm_load_jobs error: %s", err.text);
        return;
    }
    char text[64] = "Unknown\n";
    time_t seconds = (time_t)(end / USEC_PER_SEC);
    printf("Slurm JobId=%s ends at %s", p.job, end ? ctime_r(&seconds, text) : text);
    printf("Job remaining time is %lld seconds\n",
           end > now ? (long long)((end - now) / USEC_PER_SEC) : 0LL);
}
