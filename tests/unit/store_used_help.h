/* Jobs that a store hears of, and what they used counted by hand beside its sums. */
#ifndef REMUDA_TESTS_STORE_USED_HELP_H
#define REMUDA_TESTS_STORE_USED_HELP_H

#include "store_help.h"
#include "wire_random.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define HOUR   (INT64_C(3600) * USEC_PER_SEC)
#define NOW_S  INT64_C(1796000000) /* end of November 2026 */
#define NOW_US (NOW_S * USEC_PER_SEC)
#define JOBS   25
#define ASKED  15

static const char *const zones[] = {"UTC",
                                    "Europe/Berlin",
                                    "Asia/Kolkata",
                                    "America/New_York",
                                    "America/St_Johns",
                                    "Pacific/Chatham"};
static const char *const accounts[] = {"physics", "chem'istry", NULL};
static const char *const names[] = {"ann", "bob", "eve"};
static const char *const gres[] = {NULL, "gpu:v100=2,nic=1", "gpu:a100=1", "gpu=4"};
#define PICK(r, list) ((list)[rng_below((r), ARRAY_LEN(list))])

struct both {
    struct world sql, twin;
    struct batch *batch[2];
    struct rng *r, rng;
    VEC(struct job) job;
};

static inline void zone_set(const char *zone)
{
    setenv("TZ", zone, 1);
    tzset();
}

static inline void both_commit(struct both *b)
{
    struct err e;
    for (int i = 0; i < 2; i++) {
        struct world *w = i ? &b->twin : &b->sql;
        if (b->batch[i] && !world_commit(w, b->batch[i], &e))
            fail_msg("%s", e.text);
        b->batch[i] = NULL;
    }
}

/* Some rows are committed together: one job may be there more than once. */
static inline void both_put(struct both *b, enum store_table table, const void *record)
{
    for (int i = 0; i < 2; i++) {
        if (!b->batch[i])
            b->batch[i] = world_batch(i ? &b->twin : &b->sql);
        batch_add(b->batch[i], ROW_PUT, table, record);
    }
    if (b->batch[0]->n > 20)
        both_commit(b);
}

static inline struct job job_new(struct rng *r, uint64_t id)
{
    struct job j = {.id = id, .attempt = 1, .array_task_id = NO_TASK, .state = JOB_PENDING};
    j.user_id = (uint32_t)rng_below(r, 3);
    j.user_name = rng_chance(r, 900) ? names[j.user_id] : NULL;
    j.spec.req.account = PICK(r, accounts);
    j.spec.wckey = rng_chance(r, 200) ? "w1" : NULL;
    j.spec.req.qos = rng_chance(r, 500) ? "normal" : "long";
    j.submit_us = NOW_US - rng_range(r, 0, 400 * 24) * HOUR - rng_range(r, 0, HOUR);
    j.eligible_us = j.submit_us + rng_range(r, 0, HOUR);
    return j;
}

static inline void job_begin(struct rng *r, struct job *j, int64_t not_before)
{
    j->state = JOB_RUNNING;
    j->start_us =
        not_before + (rng_chance(r, 500) ? rng_range(r, 0, HOUR) : rng_range(r, 0, 90 * HOUR));
    j->end_us = j->start_us + 48 * HOUR; /* its limit */
    j->suspended_us = 0;
    j->resize_us = 0;
    j->run_partition = rng_chance(r, 500) ? "gpu" : "cpu";
    j->alloc_nodes = (int32_t)rng_below(r, 4) + 1;
    j->alloc_cpus = j->alloc_nodes * ((int32_t)rng_below(r, 8) + 1);
    j->alloc_mem_mib = rng_range(r, 0, 1 << 20);
    j->alloc_gres = PICK(r, gres);
    j->billing_plus1 = rng_range(r, 0, 100);
}

static inline void job_end(struct rng *r, struct job *j)
{
    int64_t from = j->resize_us ? j->resize_us : j->start_us;
    j->state = rng_chance(r, 500) ? JOB_COMPLETED : JOB_TIMEOUT;
    j->end_us =
        from + (rng_chance(r, 800) ? rng_range(r, 0, 30 * HOUR) : rng_range(r, 0, 900 * HOUR));
    j->suspended_us = rng_chance(r, 300) ? rng_range(r, 0, 5 * HOUR) : 0;
}

/* Nodes given back: the part until then is a row. */
static inline void job_shrink(struct both *b, struct job *j)
{
    struct job part = *j;
    part.state = JOB_RESIZING;
    part.end_us = part.start_us + rng_range(b->r, 1, 20 * HOUR);
    both_put(b, TABLE_JOB_PART, &part);
    j->resize_us = part.end_us;
    j->alloc_nodes = 1;
    j->alloc_cpus = 1;
}

/* A run that ended, or one that is over and goes back. */
static inline void job_requeue(struct both *b, struct job *j)
{
    struct job former = *j;
    if (!job_state_over((enum job_state)former.state))
        job_end(b->r, &former);
    former.state = JOB_REQUEUED;
    both_put(b, TABLE_JOB_RUN, &former);
    *j = (struct job){.id = j->id,
                      .attempt = j->attempt + 1,
                      .user_id = j->user_id,
                      .user_name = j->user_name,
                      .spec = j->spec,
                      .array_task_id = NO_TASK,
                      .submit_us = j->submit_us,
                      .eligible_us = former.end_us + rng_range(b->r, 0, HOUR)};
}

static inline void job_live_on(struct both *b, struct job *j)
{
    struct rng *r = b->r;
    if (j->state == JOB_PENDING)
        job_begin(r, j, j->eligible_us);
    else if (j->state == JOB_RUNNING && rng_chance(r, 150) && !j->resize_us)
        job_shrink(b, j);
    else if (rng_chance(r, 120))
        job_requeue(b, j);
    else if (j->state == JOB_RUNNING)
        job_end(r, j);
    else if (rng_chance(r, 300))
        j->end_us += rng_range(r, 0, HOUR); /* told late */
    else
        j->admin_comment = rng_chance(r, 500) ? "looked at" : NULL;
    both_put(b, TABLE_JOB, j);
}

static inline void history_make(struct both *b, uint64_t first)
{
    size_t from = b->job.n;
    for (uint64_t i = 0; i < JOBS; i++)
        vec_push(&b->job, job_new(b->r, first + i));
    for (int i = 0; i < 5 * JOBS; i++)
        job_live_on(b, &b->job.v[from + rng_below(b->r, JOBS)]);
}

static inline int64_t local_us(int month, int day, int hour)
{
    struct tm tm = {
        .tm_year = 125, .tm_mon = month, .tm_mday = day, .tm_hour = hour, .tm_isdst = -1};
    return (int64_t)mktime(&tm) * USEC_PER_SEC;
}

/* Days, months, years and hours of local time, changes of clocks among them. */
static inline struct used_query query_random(struct rng *r)
{
    int month = (int)rng_range(r, 10, 23), day = rng_chance(r, 500) ? 1 : (int)rng_range(r, 1, 28),
        hour = rng_chance(r, 700) ? 0 : (int)rng_range(r, 0, 23);
    struct used_query q = {.from_us = local_us(month, day, hour), .now_us = NOW_US};
    q.by = (unsigned)rng_below(r, 128);
    q.each_hour = rng_chance(r, 200);
    if (q.each_hour || rng_chance(r, 300))
        q.to_us = local_us(month, day + (int)rng_range(r, 0, 3), hour + (int)rng_range(r, 0, 30));
    else
        q.to_us = local_us(month + (int)rng_range(r, 0, 13), 1, 0);
    return q;
}

typedef bool (*reading)(struct store *s, const struct used_query *q, store_row_fn fn, void *ctx,
                        struct err *ret_err);

static inline struct rows rows_read(struct world *w, const struct used_query *q, reading read)
{
    struct rows rows = {.world = w, .t = &used_fields};
    struct err e;
    if (!read(w->store, q, rows_add, &rows, &e))
        fail_msg("%s", e.text);
    return rows;
}

static inline void rows_same(struct rows *a, struct rows *b, const char *what)
{
    if (a->v.n != b->v.n)
        fail_msg("%s: %zu rows and %zu", what, a->v.n, b->v.n);
    for (size_t i = 0; i < a->v.n; i++)
        if (!record_equal(&used_fields, a->v.v[i], b->v.v[i])) {
            const struct used *u = a->v.v[i], *v = b->v.v[i];
            fail_msg("%s: row %zu: %lld and %lld cpu, %llu and %llu jobs, %lld and %lld planned, "
                     "%s and %s",
                     what, i, (long long)u->cpu_s, (long long)v->cpu_s, (unsigned long long)u->jobs,
                     (unsigned long long)v->jobs, (long long)u->planned_cpu_s,
                     (long long)v->planned_cpu_s, u->gres, v->gres);
        }
}

/* The sums are what the twin counts from all the jobs that there ever were. */
static inline size_t ask(struct both *b, bool purged)
{
    size_t found = 0;
    both_commit(b);
    for (int i = 0; i < ASKED; i++) {
        struct used_query q = query_random(b->r);
        struct rows kept = rows_read(&b->sql, &q, store_query_used),
                    counted = rows_read(&b->twin, &q, store_query_used);
        rows_same(&kept, &counted, "sums and count");
        found += kept.v.n;
        vec_done(&kept.v);
        if (!purged) {
            kept = rows_read(&b->sql, &q, store_query_used);
            struct rows again = rows_read(&b->sql, &q, store_recount_used);
            rows_same(&kept, &again, "sums and recount");
            vec_done(&kept.v);
            vec_done(&again.v);
        }
        vec_done(&counted.v);
    }
    return found;
}

static inline void both_open(struct both *b, uint64_t seed)
{
    *b = (struct both){.rng = {seed}};
    b->r = &b->rng;
    world_open_sqlite(&b->sql);
    world_open_memory(&b->twin);
}

static inline void both_close(struct both *b)
{
    world_close(&b->sql);
    world_close(&b->twin);
    vec_done(&b->job);
}

#endif
