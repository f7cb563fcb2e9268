/* A store of very many jobs that are over, and what is asked of it: rows history-* of make bench.
 *
 * history FILE JOBS makes FILE with jobs of two years, 500 users in 100 accounts, each with the step
 * of its script, and prints lines "name | figure unit | goal"; FILE goes. Times are CPU time of this
 * process: the answers as the controller's readers make them, without the wire. */
#include "base/alloc.h"
#include "base/rng.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define USERS    500
#define ACCOUNTS 100
#define BATCH    1000
#define YEARS    2
#define YEAR_S   INT64_C(31536000)
#define END_S    INT64_C(1795305600) /* 2026-11-22 */
#define ASKED    20

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void die_of(const struct err *e)
{
    fprintf(stderr, "history: %s\n", e->text);
    exit(1);
}

/* ---- making --------------------------------------------------------------------------------- */

struct texts {
    char user[USERS][16], account[ACCOUNTS][16], node[64], dir[64], line[128];
};

static void job_make(struct rng *r, struct texts *t, uint64_t id, int64_t end_s, struct job *j,
                     struct step *st)
{
    static const int32_t sizes[] = {1, 1, 1, 4, 4, 16, 64};
    uint32_t user = (uint32_t)rng_below(r, USERS);
    int64_t ran_s = rng_range(r, 60, 1800) << rng_below(r, 6);
    snprintf(t->node, sizeof t->node, "node%03d", (int)rng_below(r, 400));
    snprintf(t->dir, sizeof t->dir, "/home/%s/run%d", t->user[user], (int)rng_below(r, 100));
    snprintf(t->line, sizeof t->line, "sbatch --time=8:00:00 train%d.sh", (int)rng_below(r, 50));
    *j = (struct job){.id = id,
                      .attempt = 1,
                      .array_task_id = NO_TASK,
                      .state = rng_chance(r, 900) ? JOB_COMPLETED : JOB_FAILED,
                      .user_id = 1000 + user,
                      .group_id = 1000,
                      .user_name = t->user[user],
                      .group_name = "users",
                      .alloc_cpus = sizes[rng_below(r, ARRAY_LEN(sizes))],
                      .alloc_nodes = 1,
                      .alloc_tasks = 1,
                      .nodes = t->node,
                      .batch_host = t->node,
                      .run_partition = user % 3 ? "cpu" : "gpu",
                      .limit_us = INT64_C(8) * 3600 * USEC_PER_SEC};
    j->end_us = end_s * USEC_PER_SEC;
    j->start_us = j->end_us - ran_s * USEC_PER_SEC;
    j->eligible_us = j->submit_us = j->start_us - rng_range(r, 0, 3600) * USEC_PER_SEC;
    j->alloc_mem_mib = j->alloc_cpus * INT64_C(2000);
    j->alloc_gres = user % 3 ? NULL : "gpu:a100=1";
    j->cpu_user_us = ran_s * USEC_PER_SEC / 2;
    j->priority = 1000;
    j->billing_plus1 = j->alloc_cpus + 1;
    j->changed_us = j->end_us;
    j->alloc = t->node;
    j->spec.name = "train";
    j->spec.batch = true;
    j->spec.work_dir = t->dir;
    j->spec.command = "train.sh";
    j->spec.submit_line = t->line;
    j->spec.req.account = t->account[user % ACCOUNTS];
    j->spec.req.qos = "normal";
    j->spec.req.partition = j->run_partition;
    j->spec.req.ntasks = 1;
    *st = (struct step){.job_id = id,
                        .attempt = 1,
                        .step_id = STEP_BATCH,
                        .step_name = "batch",
                        .state = JOB_COMPLETED,
                        .nodes = t->node,
                        .node_count = 1,
                        .ntasks = 1,
                        .cpus = j->alloc_cpus,
                        .start_us = j->start_us,
                        .end_us = j->end_us,
                        .cpu_user_us = j->cpu_user_us,
                        .max_rss_bytes = INT64_C(1) << 30,
                        .ave_rss_bytes = INT64_C(1) << 30,
                        .max_rss_node = t->node};
}

static void fill(const char *path, uint64_t jobs)
{
    struct err e = {0};
    struct rng r = {15200900};
    struct texts *t = xcalloc(1, sizeof *t);
    uint64_t epoch, seq;
    double began = cpu_ms();
    struct store *s = store_open_sqlite(path, false, &e);
    if (!s || !store_take_epoch(s, &epoch, &seq, &e))
        die_of(&e);
    for (int i = 0; i < USERS; i++)
        snprintf(t->user[i], sizeof t->user[i], "user%03d", i);
    for (int i = 0; i < ACCOUNTS; i++)
        snprintf(t->account[i], sizeof t->account[i], "account%02d", i);
    for (uint64_t id = 1; id <= jobs;) {
        struct batch *b = batch_new();
        for (int i = 0; i < BATCH && id <= jobs; i++, id++) {
            struct job j;
            struct step st;
            int64_t back = (int64_t)((double)(jobs - id) / (double)jobs * YEARS * (double)YEAR_S);
            job_make(&r, t, id, END_S - back, &j, &st);
            batch_add(b, ROW_PUT, TABLE_JOB, &j);
            batch_add(b, ROW_PUT, TABLE_STEP, &st);
        }
        b->epoch = epoch;
        b->seq = ++seq;
        if (!store_commit(s, b, &e))
            die_of(&e);
        batch_free(b);
    }
    store_close(s);
    free(t);
    printf("history-fill | %.2f us/job | \n", (cpu_ms() - began) * 1e3 / (double)jobs);
}

/* ---- asking --------------------------------------------------------------------------------- */

static void count(void *ctx, const void *record)
{
    (void)record;
    ++*(uint64_t *)ctx;
}

struct ids {
    uint64_t *v;
    size_t n;
};

static void id_keep(void *ctx, const void *record)
{
    struct ids *ids = ctx;
    ids->v = xrealloc(ids->v, (ids->n + 1) * sizeof *ids->v);
    ids->v[ids->n++] = ((const struct job *)record)->id;
}

/* The jobs, then the steps of each, as sacct asks for them. */
static void sacct(struct store *s, const struct msg_query *q)
{
    struct err e = {0};
    struct ids ids = {0};
    uint64_t steps = 0;
    if (!store_query_jobs(s, q, id_keep, &ids, &e))
        die_of(&e);
    for (size_t i = 0; i < ids.n; i++)
        if (!store_query_steps(s, ids.v[i], 1, count, &steps, &e))
            die_of(&e);
    if (!ids.n || steps != ids.n) {
        fprintf(stderr, "history: %zu jobs and %llu steps were found\n", ids.n,
                (unsigned long long)steps);
        exit(1);
    }
    free(ids.v);
}

static double sacct_ids_ms(struct store *s, struct rng *r, uint64_t jobs)
{
    double began = cpu_ms();
    for (int i = 0; i < ASKED; i++) {
        char id[24];
        snprintf(id, sizeof id, "%llu", (unsigned long long)(1 + rng_below(r, jobs)));
        sacct(s, &(struct msg_query){.ids = id});
    }
    return (cpu_ms() - began) / ASKED;
}

static double sacct_month_ms(struct store *s, struct rng *r)
{
    double began = cpu_ms();
    for (int i = 0; i < ASKED; i++) {
        char uid[24];
        int64_t to_s = END_S - rng_range(r, 0, 22) * 30 * 86400;
        snprintf(uid, sizeof uid, "%u", 1000 + (unsigned)rng_below(r, USERS));
        sacct(s, &(struct msg_query){.uids = uid,
                                     .from_us = (to_s - INT64_C(30) * 86400) * USEC_PER_SEC,
                                     .to_us = to_s * USEC_PER_SEC});
    }
    return (cpu_ms() - began) / ASKED;
}

static double used_ms(struct store *s, unsigned by, bool each_hour)
{
    struct err e = {0};
    uint64_t rows = 0;
    struct used_query q = {.from_us = (END_S - YEAR_S) * USEC_PER_SEC,
                           .to_us = END_S * USEC_PER_SEC,
                           .now_us = END_S * USEC_PER_SEC,
                           .by = by,
                           .each_hour = each_hour};
    double began = cpu_ms();
    if (!store_query_used(s, &q, count, &rows, &e))
        die_of(&e);
    if (!rows) {
        fputs("history: nothing was used\n", stderr);
        exit(1);
    }
    return cpu_ms() - began;
}

static void ask(const char *path, uint64_t jobs)
{
    struct err e = {0};
    struct stat st;
    struct rng r = {15200901};
    struct store *s = store_open_sqlite(path, true, &e);
    if (!s)
        die_of(&e);
    printf("history-sacct-job | %.3f ms | <= 20\n", sacct_ids_ms(s, &r, jobs));
    printf("history-sacct-month | %.3f ms | <= 200\n", sacct_month_ms(s, &r));
    printf("history-year-by-user | %.3f ms | <= 300\n",
           used_ms(s, USED_BY_ACCOUNT | USED_BY_USER, false));
    printf("history-year-sizes | %.3f ms | <= 300\n",
           used_ms(s, USED_BY_ACCOUNT | USED_BY_JOB_CPUS, false));
    printf("history-year-hours | %.3f ms | <= 300\n", used_ms(s, 0, true));
    store_close(s);
    if (stat(path, &st) == 0)
        printf("history-size | %.0f bytes/job | \n", (double)st.st_size / (double)jobs);
}

int main(int argc, char **argv)
{
    char *end = NULL;
    unsigned long long jobs = argc == 3 ? strtoull(argv[2], &end, 10) : 0;
    if (!jobs || *end) {
        fputs("usage: remuda-history FILE JOBS\n", stderr);
        return 2;
    }
    fill(argv[1], jobs);
    ask(argv[1], jobs);
    const char *const ends[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        char *path = xasprintf("%s%s", argv[1], ends[i]);
        unlink(path);
        free(path);
    }
    return 0;
}
