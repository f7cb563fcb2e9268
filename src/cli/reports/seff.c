/* seff: how much of what a job had it used, in the words of Slurm's script of that name. */
#include "base/alloc.h"
#include "base/duration.h"
#include "base/str.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/localtime.h"
#include "cli/program/program.h"
#include "cli/reports/efficiency.h"
#include "cli/reports/report_job.h"
#include "cli/reports/seen.h"

#include <stdio.h>

#define FEW 16 /* elements: of more, only those that ran for long are looked at */

struct seff_line {
    const char *job;
};

static bool job_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    return report_job_read(&((struct seff_line *)to)->job, word, a, ret_err);
}

static const struct option_row rows[] = {
    OPT_NO_EFFECT("debug", 'd', ARG_NONE, "say more (there is no more)"),
    OPT_NO_EFFECT("force", 'f', ARG_NONE, "of running jobs too, as always"),
    OPT_ACCEPTED("help", 'h', ARG_NONE, "this text"),
    OPT_ACCEPTED("version", 'v', ARG_NONE, "version"),
};
OPTION_TABLE(seff_options, rows, .usage = "seff [Options] <Jobid>",
             .about = "  How much CPU, memory and GPU a job used of what it had: 42, 42_7 of an "
                      "array, 42+1 of a heterogeneous job.\n",
             .words = WORDS_MIXED, .word = job_take, .variables_as_are = true);

/* ---- words ---------------------------------------------------------------------------------- */

static const char *clock_words(int64_t s, char text[40])
{
    long long days = (long long)(s / 86400), hours = (long long)(s / 3600 % 24);
    int n = days ? snprintf(text, 40, "%lld-", days) : 0;
    snprintf(text + n, (size_t)(40 - n), "%02lld:%02lld:%02lld", hours, (long long)(s / 60 % 60),
             (long long)(s % 60));
    return text;
}

static const char *size_words(double bytes, char text[40])
{
    static const char *const unit[] = {"KB", "MB", "GB", "TB", "PB", "EB"};
    size_t u = 0;
    double n = bytes / 1024;
    for (; n >= 1024 && u + 1 < ARRAY_LEN(unit); u++)
        n /= 1024;
    snprintf(text, 40, "%.2f %s", n, unit[u]);
    return text;
}

/* ---- a job ---------------------------------------------------------------------------------- */

static void who_print(const struct job *j, const char *cluster)
{
    struct str label = STR_INIT;
    job_label(j, &label);
    printf("Job ID: %llu\n", (unsigned long long)j->id);
    if (j->array_job_id && j->array_task_id != NO_TASK)
        printf("Array Job ID: %s\n", str_text(&label));
    if (j->het_job_id)
        printf("Het Job ID: %s\n", str_text(&label));
    printf("Cluster: %s\n", cluster);
    printf("User/Group: %s/%s\n", j->user_name ? j->user_name : "",
           j->group_name ? j->group_name : "");
    if (job_state_over((enum job_state)j->state))
        printf("State: %s (exit code %d)\n", enum_name(&job_state_names, j->state),
               status_code(j->exit_status));
    else
        printf("State: %s\n", enum_name(&job_state_names, j->state));
    str_done(&label);
}

static void memory_print(const struct job *j, const struct efficiency *e)
{
    char used[40], had[40], each[40];
    bool per_core = j->spec.req.mem_per_cpu_mib > 0;
    int32_t of = per_core ? j->alloc_cpus : j->alloc_nodes;
    printf("Memory Utilized: %s%s\n", size_words((double)e->mem_bytes, used),
           e->mem_estimated ? " (estimated maximum)" : "");
    printf("Memory Efficiency: %.2f%% of %s (%s/%s)\n",
           efficiency_percent(e->mem_bytes, e->mem_had), size_words((double)e->mem_had, had),
           size_words((double)e->mem_had / (of > 0 ? of : 1), each), per_core ? "core" : "node");
}

static void gpus_print(const struct efficiency *e)
{
    char text[40];
    if (!e->gpus)
        return;
    printf("GPUs: %d\n", e->gpus);
    if (e->gpu_known)
        printf("GPU Efficiency: %.2f%% of %s GPU-walltime\n",
               e->gpu_had_s ? (double)e->gpu_percent_s / (double)e->gpu_had_s : 0.0,
               clock_words(e->gpu_had_s, text));
    if (e->gpu_mem_bytes)
        printf("GPU Memory Utilized: %s\n", size_words((double)e->gpu_mem_bytes, text));
    if (!e->gpu_known && !e->gpu_mem_bytes)
        puts("GPU Efficiency: not known (its GPUs were not sampled)");
}

/* A controller that keeps no series, or is of an earlier release, has nothing to say. */
static void seen_print(struct client *c, const struct job *j)
{
    struct seen seen;
    seen_read(&seen, c, j, 0);
    if (seen.reading.found.n)
        printf("Seen while it ran (remuda report %llu):\n", (unsigned long long)j->id);
    seen_print_lines(&seen, 2);
    seen_done(&seen);
}

static void job_print(const struct past_jobs *p, const struct job *j, const char *cluster)
{
    struct efficiency e;
    char used[40], had[40];
    who_print(j, cluster);
    if (!j->start_us || j->state == JOB_PENDING) {
        printf("Efficiency not available for jobs in the %s state.\n",
               enum_name(&job_state_names, j->state));
        return;
    }
    efficiency_of(p, j, time_now_us(), &e);
    if (j->alloc_cpus == 1)
        puts("Cores: 1");
    else
        printf("Nodes: %d\nCores per node: %d\n", j->alloc_nodes,
               j->alloc_nodes ? j->alloc_cpus / j->alloc_nodes : 0);
    printf("CPU Utilized: %s\n", clock_words(e.cpu_s, used));
    printf("CPU Efficiency: %.2f%% of %s core-walltime\n", efficiency_percent(e.cpu_s, e.cpu_had_s),
           clock_words(e.cpu_had_s, had));
    printf("Job Wall-clock time: %s\n", clock_words(e.ran_s, used));
    memory_print(j, &e);
    gpus_print(&e);
    if (!job_state_over((enum job_state)j->state))
        printf("WARNING: Efficiency statistics may be misleading for %s jobs.\n",
               enum_name(&job_state_names, j->state));
}

static int job_show(const struct seff_line *l, struct arena *a)
{
    struct past_jobs p = {0};
    struct err e = {0};
    struct msg_query q = {.ids = l->job};
    const char *dir = state_dir_find(NULL, a);
    struct client *c = program_connect("seff", dir);
    if (!c)
        return 1;
    bool ok = past_read(c, &q, a, &p, &e);
    for (size_t i = 0; ok && i < p.job.n; i++) {
        if (i)
            putchar('\n');
        job_print(&p, p.job.v[i], cluster_name(dir, a));
        if (p.job.n <= FEW || seen_is_worth(p.job.v[i]))
            seen_print(c, p.job.v[i]);
    }
    if (!ok)
        program_error("seff", "%s", e.text);
    else if (!p.job.n)
        fputs("Job not found.\n", stderr);
    int status = ok && p.job.n ? 0 : ok ? 2 : 1;
    past_done(&p);
    client_close(c);
    return status;
}

int cmd_seff(int argc, char **argv)
{
    struct arena *a = arena_new();
    struct seff_line l = {0};
    struct option_line line = {.table = &seff_options, .to = &l, .a = a};
    struct err err = {0};
    struct str text = STR_INIT;
    int status = 0;
    if (!option_line_read(&line, argc, argv, &err)) {
        program_usage_error("seff", &err);
        status = 1;
    } else if (option_line_has(&line, "version")) {
        puts("seff Version 2.1, of " SLURM_VERSION_TEXT);
    } else if (option_line_has(&line, "help") || !l.job) {
        option_table_write_help(&seff_options, &text);
        fputs(str_text(&text), stdout);
    } else {
        status = job_show(&l, a);
    }
    str_done(&text);
    arena_free(a);
    return status;
}
