/* bpeek, and what DTU has beside LSF: bstat, showstart, classstat. */
#include "base/alloc.h"
#include "base/list.h"
#include "cli/lsf/bjobs.h"
#include "cli/lsf/jobs.h"
#include "cli/program/commands.h"
#include "cli/program/give_out.h"
#include "cli/program/localtime.h"
#include "cli/program/room.h"
#include "cli/record/columns_job.h"
#include "cli/reports/efficiency.h"
#include "cli/table/listing.h"
#include "model/job/job_counts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct site_command {
    struct lsf_filter filter; /* first: lsf_id_take fills it */
    bool efficiency, memory, follow;
    struct arena *a;
    struct client *client;
    struct lsf_job_list jobs;
    struct past_jobs past; /* bstat -M: what steps used */
    VEC(const struct partition *) queue;
    VEC(const struct node *) node;
    const char *queues; /* classstat: those asked for */
    struct str out;
};

static bool queue_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct site_command *s = to;
    s->queues = listing_join(s->queues, word, a);
    return true;
}

#define AT(member) offsetof(struct site_command, member)
#define HELP                                                                                       \
    OPT_ACCEPTED("V", 0, ARG_NONE, "show the version"),                                            \
    {                                                                                              \
        .name = "h", .alias = "help", .doc = "show this help", .set = set_nothing                  \
    }
static const struct option_row peek_rows[] = {
    HELP,
    {.name = "f", .doc = "go on until the job is over", .set = set_flag, .at = AT(follow)},
    {.name = "J",
     .arg = ARG_REQUIRED,
     .metavar = "name",
     .doc = "the last job of this name",
     .set = set_text,
     .at = AT(filter.name)},
    {.name = "q",
     .arg = ARG_REQUIRED,
     .metavar = "queue",
     .doc = "the last job in this queue",
     .set = set_text,
     .at = AT(filter.queue)},
};
static const struct option_row stat_rows[] = {
    HELP,
    {.name = "C",
     .doc = "CPU time used of what the slots had",
     .set = set_flag,
     .at = AT(efficiency)},
    {.name = "M",
     .doc = "memory: now, the most, the average (unknown), what a host gives",
     .set = set_flag,
     .at = AT(memory)},
    {.name = "q",
     .arg = ARG_REQUIRED,
     .metavar = "queue",
     .doc = "jobs in this queue",
     .set = set_text,
     .at = AT(filter.queue)},
    {.name = "u",
     .arg = ARG_REQUIRED,
     .metavar = "user",
     .doc = "jobs of this user; all",
     .set = set_text,
     .at = AT(filter.users)},
    OPT_ACCEPTED("v", 0, ARG_NONE, "say more (there is no more)"),
};
static const struct option_row class_rows[] = {HELP};
static const struct option_row start_rows[] = {
    HELP,
    {.name = "u",
     .arg = ARG_REQUIRED,
     .metavar = "user",
     .doc = "jobs of this user; all",
     .set = set_text,
     .at = AT(filter.users)},
};
OPTION_TABLE(showstart_options, start_rows, .usage = "showstart [OPTIONS] [job_ID …]",
             .words = WORDS_MIXED, .word = lsf_id_take, .one_dash = true);
OPTION_TABLE(bpeek_options, peek_rows, .usage = "bpeek [OPTIONS] [job_ID | \"job_ID[index]\"]",
             .words = WORDS_MIXED, .word = lsf_id_take, .one_dash = true);
OPTION_TABLE(bstat_options, stat_rows, .usage = "bstat [OPTIONS] [job_ID …]", .words = WORDS_MIXED,
             .word = lsf_id_take, .one_dash = true);
OPTION_TABLE(classstat_options, class_rows, .usage = "classstat [OPTIONS] [queue …]",
             .words = WORDS_MIXED, .word = queue_take, .one_dash = true);

/* ---- bpeek ---- */

/* The exit status. Another's output may be anything by now: an ordinary file is opened. */
static int file_show(const struct job *j, const char *pattern)
{
    struct str path = STR_INIT;
    job_cell_path(j, pattern, &path);
    bool own = j->user_id == getuid();
    int fd = own ? open(str_text(&path), O_RDONLY | O_CLOEXEC) : foreign_open(str_text(&path));
    int why = fd < 0 ? errno : 0;
    if (fd < 0)
        room_check(str_text(&path));
    bool ok = fd >= 0 && file_out(fd, own, &why);
    if (why) {
        fflush(stdout);
        plain_line("bpeek: %s cannot be read: %s", str_text(&path), strerror(why));
    }
    if (fd >= 0)
        close(fd);
    str_done(&path);
    return ok ? 0 : LSF_EXIT;
}

static int follow(struct site_command *s, const struct job *j)
{
    struct str label = STR_INIT;
    job_label(j, &label);
    char *argv[] = {arena_strdup(s->a, "logs"), arena_strdup(s->a, "-f"),
                    arena_strdup(s->a, str_text(&label)), NULL};
    str_done(&label);
    fflush(stdout);
    return cmd_logs(3, argv);
}

static int peek(struct site_command *s)
{
    if (s->jobs.missing.n) {
        fprintf(stderr, "Job <%s> is not found\n", s->jobs.missing.v[0]);
        return LSF_EXIT;
    }
    if (!s->jobs.job.n) {
        fputs("No unfinished job found\n", stderr);
        return LSF_EXIT;
    }
    const struct job *j = s->jobs.job.v[s->jobs.job.n - 1];
    const char *id = lsf_job_id(j, s->a);
    if (lsf_job_is_pending(j) || lsf_job_is_over(j)) {
        fprintf(stderr, "Job <%s> : %s\n", id,
                lsf_job_is_over(j) ? "Already finished." : "Not yet started.");
        return LSF_EXIT;
    }
    puts("<< output from stdout >>");
    if (s->follow)
        return follow(s, j);
    int status = file_show(j, j->spec.std_out);
    if (j->spec.std_err) {
        puts("<< output from stderr >>");
        int errors = file_show(j, j->spec.std_err);
        status = status ? status : errors;
    }
    return status;
}

/* ---- bstat ---- */

/* In its first second it has had one. */
static const char *efficiency(const struct job *j, int64_t elapsed, struct arena *a)
{
    int64_t us = lsf_job_is_pending(j) || elapsed > USEC_PER_SEC ? elapsed : USEC_PER_SEC;
    double had = (double)us * lsf_job_slots(j);
    double used = (double)(j->cpu_user_us + j->cpu_system_us);
    return had > 0 ? arena_printf(a, "%.1f%%", 100 * used / had) : "-";
}

static void stat_add(struct site_command *s, const struct job *j)
{
    bool pending = lsf_job_is_pending(j);
    int64_t elapsed = pending ? 0 : job_elapsed_us(j, time_now_us());
    long long sec = elapsed / USEC_PER_SEC;
    const char *clock =
        arena_printf(s->a, "%lld:%02lld:%02lld", sec / 3600, sec / 60 % 60, sec % 60);
    str_addf(&s->out, "%-10llu %-7.7s %-10.10s %-10s %6d %-5s %-12s %10s",
             (unsigned long long)lsf_job_number(j), j->user_name, job_partition(j),
             lsf_cut(lsf_job_name(j, s->a), 10, s->a), pending ? 0 : lsf_job_slots(j),
             lsf_job_state(j), pending ? "     -" : lsf_time(j->start_us, s->a), clock);
    if (s->efficiency)
        str_addf(&s->out, " %7s", efficiency(j, elapsed, s->a));
    str_addc(&s->out, '\n');
}

/* bstat -M. */
static void memory_add(struct site_command *s, const struct job *j)
{
    struct efficiency e;
    int64_t nodes = j->alloc_nodes > 1 ? j->alloc_nodes : 1;
    bool pending = lsf_job_is_pending(j);
    efficiency_of(&s->past, j, time_now_us(), &e);
    const char *most = e.mem_bytes > 0 ? lsf_size(e.mem_bytes, s->a) : "-";
    const char *limit =
        j->alloc_mem_mib > 0 ? lsf_size(j->alloc_mem_mib / nodes * (1 << 20), s->a) : "-";
    str_addf(&s->out, "%-10llu %-7.7s %-10.10s %-10s %6d %12s %12s %5s %12s\n",
             (unsigned long long)lsf_job_number(j), j->user_name, job_partition(j),
             lsf_cut(lsf_job_name(j, s->a), 10, s->a), pending ? 0 : lsf_job_slots(j), most, most,
             "-", limit);
}

static bool stat_head_add(struct site_command *s)
{
    struct err e = {0};
    if (!s->memory) {
        str_addf(&s->out,
                 "JOBID      USER    QUEUE      JOB_NAME   NALLOC STAT  START_TIME      "
                 "ELAPSED%s\n",
                 s->efficiency ? "   EFFIC" : "");
        return true;
    }
    str_add(&s->out, "JOBID      USER    QUEUE      JOB_NAME   NALLOC          MEM          MAX   "
                     "AVG          LIM\n");
    return lsf_past_read(s->client, &s->jobs, s->a, &s->past, &e) ||
           lsf_line_failed("bstat", &e) == 0;
}

static int stat_show(struct site_command *s)
{
    size_t shown = 0;
    for (size_t i = 0; i < s->jobs.job.n; i++) {
        const struct job *j = s->jobs.job.v[i];
        if ((s->efficiency || s->memory) && !text_is(lsf_job_state(j), "RUN"))
            continue;
        if (shown++ == 0 && !stat_head_add(s))
            return LSF_EXIT;
        if (s->memory)
            memory_add(s, j);
        else
            stat_add(s, j);
    }
    for (size_t i = 0; i < s->jobs.missing.n; i++)
        fprintf(stderr, "Job <%s> is not found\n", s->jobs.missing.v[i]);
    if (!shown && !s->jobs.missing.n)
        fputs("No unfinished job found\n", stderr);
    listing_flush(&s->out);
    return 0;
}

/* ---- showstart ---- */

static int start_show(struct site_command *s)
{
    size_t shown = 0;
    for (size_t i = 0; i < s->jobs.job.n; i++) {
        const struct job *j = s->jobs.job.v[i];
        if (!lsf_job_is_pending(j)) {
            if (s->filter.ids.n)
                fprintf(stderr, "Job <%s> : %s\n", lsf_job_id(j, s->a),
                        lsf_job_is_over(j) ? "Already finished." : "Already started.");
            continue;
        }
        if (shown++ == 0)
            str_add(&s->out,
                    "JOBID      USER    QUEUE      SUBMIT_TIME  ESTIMATED_SIM_START_T JOB_NAME\n");
        str_addf(&s->out, "%-10s %-7.7s %-10.10s %-12s %-21s %s\n", lsf_job_id(j, s->a),
                 j->user_name, job_partition(j), lsf_time(job_first_submit_us(j), s->a),
                 lsf_time(j->planned_us, s->a), lsf_job_name(j, s->a));
    }
    for (size_t i = 0; i < s->jobs.missing.n; i++)
        fprintf(stderr, "Job <%s> is not found\n", s->jobs.missing.v[i]);
    if (!shown && !s->jobs.job.n && !s->jobs.missing.n)
        fputs("No pending job found\n", stderr);
    listing_flush(&s->out);
    return 0;
}

/* ---- classstat ---- */

static void queue_keep(void *ctx, const void *record)
{
    struct site_command *s = ctx;
    vec_push(&s->queue,
             (const struct partition *)arena_dup(s->a, record, sizeof(struct partition)));
}

static void node_keep(void *ctx, const void *record)
{
    struct site_command *s = ctx;
    vec_push(&s->node, (const struct node *)arena_dup(s->a, record, sizeof(struct node)));
}

/* Slots that wait in a queue; a job that may go to several waits in each. */
static long class_pending(const struct site_command *s, const char *queue)
{
    const struct lsf_job_list *l = &s->jobs;
    long pending = 0;
    for (size_t i = 0; i < l->job.n; i++)
        if (text_is(lsf_job_state(l->job.v[i]), "PEND") && job_in_partitions(l->job.v[i], queue))
            pending += lsf_job_slots(l->job.v[i]);
    for (size_t i = 0; i < l->more.n; i++)
        if (text_is(lsf_job_state(l->more.v[i].job), "PEND") &&
            job_in_partitions(l->more.v[i].job, queue))
            pending += (long)l->more.v[i].n * lsf_job_slots(l->more.v[i].job);
    return pending;
}

static void class_add(struct site_command *s, const struct partition *p)
{
    long total = 0, used = 0;
    for (size_t i = 0; i < s->node.n; i++)
        if (list_has(s->node.v[i]->partitions, p->name)) {
            total += s->node.v[i]->cpus;
            used += s->node.v[i]->alloc_cpus;
        }
    str_addf(&s->out, "%-20s %5ld %5ld %5ld %5ld   0     0  \n", p->name, total, used, total - used,
             class_pending(s, p->name));
}

/* Says which of the queues asked for are none. */
static bool queues_known(const struct site_command *s)
{
    struct span rest = span_of(s->queues ? s->queues : ""), one;
    bool known = true;
    while (span_next(&rest, ',', &one)) {
        bool found = !one.len;
        for (size_t i = 0; i < s->queue.n; i++)
            found = found || span_is(one, s->queue.v[i]->name);
        if (!found)
            plain_line("%.*s: No such queue", (int)one.len, one.data);
        known = known && found;
    }
    return known;
}

static int class_show(struct site_command *s)
{
    struct msg_query queues = {.what = QUERY_PARTITIONS}, nodes = {.what = QUERY_NODES};
    struct msg_done done;
    struct err e = {0};
    if (!client_query(s->client, &queues, &partition_fields, s->a, queue_keep, s, &done, &e) ||
        !client_query(s->client, &nodes, &node_fields, s->a, node_keep, s, &done, &e))
        return lsf_line_failed("classstat", &e);
    str_add(&s->out, "queue                total  used avail  pend j-mig j-abs\n"
                     "--------------------------------------------------------\n");
    for (size_t i = 0; i < s->queue.n; i++)
        if (!s->queues || list_has(s->queues, s->queue.v[i]->name))
            class_add(s, s->queue.v[i]);
    listing_flush(&s->out);
    return queues_known(s) ? 0 : LSF_EXIT;
}

/* ---- the commands ---- */

static int command_run(const char *name, const struct option_table *t, bool everybody,
                       int (*show)(struct site_command *s), int argc, char **argv)
{
    struct site_command s = {.a = arena_new()};
    struct err e = {0};
    int status;
    if (lsf_line_read(name, t, &s, s.a, argc, argv, &status)) {
        if (everybody)
            s.filter.users = "all";
        s.client = lsf_connect(name, state_dir_find(NULL, s.a));
        if (!s.client)
            status = LSF_EXIT;
        else if (!lsf_jobs_read(s.client, &s.filter, s.a, &s.jobs, &e))
            status = lsf_line_failed(name, &e);
        else
            status = show(&s);
    }
    if (s.client)
        client_close(s.client);
    lsf_filter_done(&s.filter);
    lsf_job_list_done(&s.jobs);
    past_done(&s.past);
    vec_done(&s.queue);
    vec_done(&s.node);
    str_done(&s.out);
    arena_free(s.a);
    return status;
}

#define COMMAND(name, everybody, show)                                                             \
    int cmd_##name(int argc, char **argv)                                                          \
    {                                                                                              \
        return command_run(#name, &name##_options, everybody, show, argc, argv);                   \
    }
COMMAND(bpeek, false, peek)
COMMAND(bstat, false, stat_show)
COMMAND(classstat, true, class_show)
COMMAND(showstart, false, start_show)
