/* kill -9 in the middle of commits, again and again over the same files: every batch that was
 * acknowledged is there, and every batch is there as a whole or not at all, with its sums of use. */
#include "store_help.h"

#include "store/file/log.h"

#include "base/rng.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 20
#define ROWS   15

/* Of each job: two days and a bit, over the end of a month. */
#define CPUS     2
#define RAN_S    INT64_C(180000)
#define START_US (INT64_C(1795996800) * USEC_PER_SEC)

static uint64_t job_of(uint64_t seq, uint64_t i)
{
    return seq * ROWS + i;
}

static struct batch *batch_of(uint64_t epoch, uint64_t seq)
{
    static char script[5000]; /* longer than a page */
    struct batch *b = batch_new();
    b->epoch = epoch;
    b->seq = seq;
    memset(script, 'x', sizeof script);
    for (uint64_t i = 0; i < ROWS; i++) {
        batch_add(b, ROW_PUT, TABLE_JOB,
                  &(struct job){.id = job_of(seq, i),
                                .priority = seq,
                                .spec.name = "train",
                                .state = JOB_COMPLETED,
                                .alloc_cpus = CPUS,
                                .start_us = START_US,
                                .end_us = START_US + RAN_S * USEC_PER_SEC});
        batch_add(b, ROW_PUT, TABLE_PAYLOAD,
                  &(struct payload){.job_id = job_of(seq, i), .script = {script, sizeof script}});
    }
    if (seq % 3 == 0) /* and the batch before the last goes */
        for (uint64_t i = 0; i < ROWS; i++)
            batch_add(b, ROW_DELETE, TABLE_JOB, &(struct job){.id = job_of(seq - 2, i)});
    return b;
}

/* The writer: commits until it is killed, and tells the number of each batch once it is durable. */
static _Noreturn void write_for_ever(const char *path, int out)
{
    uint64_t epoch = 0, seq = 0;
    struct store *s = store_open_sqlite(path, false, NULL);
    if (!s || !store_take_epoch(s, &epoch, &seq, NULL))
        _exit(1);
    for (;;) {
        struct batch *b = batch_of(epoch, ++seq);
        if (!store_commit(s, b, NULL))
            _exit(1);
        if (write(out, &seq, sizeof seq) != sizeof seq)
            _exit(1);
        batch_free(b);
    }
}

/* Returns the last number acknowledged, or `before` if none was. */
static uint64_t run_and_kill(const char *path, uint64_t before, struct rng *r)
{
    int ends[2], status = 0;
    uint64_t seq, last = before;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        write_for_ever(path, ends[1]);
    close(ends[1]);
    struct timespec wait = {.tv_nsec = (long)rng_range(r, 1000000, 30000000)};
    if (read(ends[0], &seq, sizeof seq) == sizeof seq) /* it has begun */
        last = seq;
    nanosleep(&wait, NULL);
    kill(pid, SIGKILL);
    while (read(ends[0], &seq, sizeof seq) == sizeof seq)
        last = seq;
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return last;
}

struct count {
    uint64_t of[1u << 16];
    uint64_t max;
};

static void count_job(void *ctx, const void *record)
{
    struct count *c = ctx;
    const struct job *j = record;
    assert_true(j->priority < ARRAY_LEN(c->of) && j->id / ROWS == j->priority);
    c->of[j->priority]++;
    c->max = j->priority;
}

static bool is_deleted(uint64_t seq, uint64_t last)
{
    return (seq + 2) % 3 == 0 && seq + 2 <= last;
}

static void used_take(void *ctx, const void *record)
{
    *(struct used *)ctx = *(const struct used *)record;
}

/* What was used by all jobs that ever ended, those that are gone since among them. */
static void check_sums(struct world *w)
{
    const int64_t hour = INT64_C(3600) * USEC_PER_SEC;
    struct used_query q = {.from_us = START_US - 100 * hour, .to_us = START_US + 100 * hour};
    struct used u = {0};
    assert_true(store_query_used(w->store, &q, used_take, &u, NULL));
    assert_int_equal(u.jobs, ROWS * w->seq);
    assert_int_equal(u.cpu_s, (int64_t)(ROWS * w->seq) * CPUS * RAN_S);
}

static void check_books(struct world *w, uint64_t acknowledged)
{
    struct count *c = xcalloc(1, sizeof *c);
    struct payload p;
    assert_true(w->seq >= acknowledged);
    /* One more may be durable whose word did not get out. */
    assert_true(w->seq <= acknowledged + 1);
    assert_true(store_load(w->store, TABLE_JOB, false, 0, count_job, c, NULL));
    assert_true(c->max == w->seq);
    for (uint64_t seq = 1; seq <= w->seq; seq++)
        assert_int_equal(c->of[seq], is_deleted(seq, w->seq) ? 0 : ROWS);
    assert_true(store_payload(w->store, job_of(w->seq, ROWS - 1), w->arena, &p, NULL));
    assert_int_equal(p.script.len, 5000);
    check_sums(w);
    free(c);
}

static void test_what_was_acknowledged_is_there(void **state)
{
    struct world w;
    struct rng r = {5};
    world_open_sqlite(&w);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t before = w.seq;
        store_close(w.store);
        w.store = NULL;
        uint64_t last = run_and_kill(w.path, before, &r);
        struct err e = {0};
        if (!store_file_check(w.path, last, &e)) /* a kill is no damage */
            fail_msg("%s", e.text);
        w.store = store_open_sqlite(w.path, false, NULL);
        assert_non_null(w.store);
        assert_true(store_take_epoch(w.store, &w.epoch, &w.seq, NULL));
        assert_true(last > before);
        check_books(&w, last);
    }
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_was_acknowledged_is_there)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
