/* A store with jobs and what goes with them. */
#ifndef REMUDA_TESTS_STORE_SALVAGE_HELP_H
#define REMUDA_TESTS_STORE_SALVAGE_HELP_H

#include "scratch.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "base/str.h"
#include "store/file/pages.h"
#include "store/file/salvage.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define JOBS 400u
#define PAGE 4096

static char dir[64];

static inline char *in_dir(const char *name)
{
    return xasprintf("%s/%s", dir, name);
}

static inline void copy(const char *from, const char *to)
{
    char *command = xasprintf("cp %s %s", from, to);
    assert_int_equal(system(command), 0);
    free(command);
}

/* ---- the store ---- */

static inline struct job job_of(uint64_t id, bool over, struct arena *a)
{
    struct job j = {.id = id,
                    .user_id = 1000 + (uint32_t)(id % 7),
                    .submit_us = 1700000000000000 + (int64_t)id};
    j.spec.name = arena_printf(a, "job number %llu", (unsigned long long)id);
    j.array_task_id = NO_TASK;
    if (over) {
        j.state = JOB_COMPLETED;
        j.attempt = 1;
        j.start_us = j.submit_us + 5;
        j.end_us = j.start_us + 1000000;
    }
    return j;
}

static inline size_t script_len(uint64_t id)
{
    return 20 + (id % 5) * 3000;
}

static inline void payload_put(struct batch *b, uint64_t id, struct arena *a)
{
    size_t len = script_len(id);
    char *script = arena_alloc(a, len);
    memset(script, 'a' + (int)(id % 26), len);
    batch_add(b, ROW_PUT, TABLE_PAYLOAD, &(struct payload){.job_id = id, .script = {script, len}});
}

static inline void step_put(struct batch *b, uint64_t id)
{
    batch_add(b, ROW_PUT, TABLE_STEP,
              &(struct step){.job_id = id,
                             .attempt = 1,
                             .step_id = -1,
                             .step_name = "batch",
                             .state = JOB_COMPLETED});
}

static inline void jobs_commit(struct store *s, uint64_t epoch, uint64_t *seq, uint64_t first,
                               uint64_t last, bool over)
{
    struct arena *a = arena_new();
    struct batch *b = batch_new();
    for (uint64_t id = first; id <= last; id++) {
        struct job j = job_of(id, over, a);
        batch_add(b, ROW_PUT, TABLE_JOB, &j);
        if (over)
            step_put(b, id);
        else
            payload_put(b, id, a);
    }
    b->seq = ++*seq;
    b->epoch = epoch;
    batch_add(b, ROW_PUT, TABLE_META,
              &(struct meta){"next_job_id", arena_printf(a, "%llu", (unsigned long long)last + 1)});
    batch_add(b, ROW_PUT, TABLE_HOST, &(struct host){.id = "h1", .name = "other"});
    struct err e = {0};
    if (!store_commit(s, b, &e))
        fail_msg("%s", e.text);
    batch_free(b);
    arena_free(a);
}

/* `path` and, as of a machine that lost its power, its log: the last hundred jobs are in the log
 * alone. */
static inline void store_make(const char *path, uint64_t jobs)
{
    char *live = xasprintf("%s.live", path), *live_log = xasprintf("%s.live-wal", path),
         *log = xasprintf("%s-wal", path);
    struct store *s = store_open_sqlite(live, false, NULL);
    uint64_t epoch, seq;
    assert_true(store_take_epoch(s, &epoch, &seq, NULL));
    for (int over = 0; over < 2; over++)
        for (uint64_t id = 1; id <= jobs - 100; id += 100)
            jobs_commit(s, epoch, &seq, id, id + 99, over);
    store_close(s);
    s = store_open_sqlite(live, false, NULL);
    assert_true(store_take_epoch(s, &epoch, &seq, NULL));
    for (int over = 0; over < 2; over++)
        for (uint64_t id = jobs - 99; id <= jobs; id += 10)
            jobs_commit(s, epoch, &seq, id, id + 9, over);
    copy(live, path);
    copy(live_log, log);
    store_close(s);
    free(live);
    free(live_log);
    free(log);
}

/* ---- harms ---- */

static inline void bytes_set(const char *path, off_t at, size_t len, struct rng *r)
{
    int fd = open(path, O_WRONLY);
    uint8_t *noise = xcalloc(1, len);
    for (size_t i = 0; r && i < len; i++)
        noise[i] = (uint8_t)rng_next(r);
    assert_int_equal(pwrite(fd, noise, len, at), (ssize_t)len);
    free(noise);
    close(fd);
}

static inline off_t size_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static inline void page_is_zero(const char *path, struct rng *r)
{
    bytes_set(path, (off_t)rng_below(r, (uint64_t)size_of(path) / PAGE) * PAGE, PAGE, NULL);
}

static inline void head_is_lost(const char *path, struct rng *r)
{
    bytes_set(path, 0, 100, r);
}

static inline void first_page_is_lost(const char *path, struct rng *r)
{
    (void)r;
    bytes_set(path, 0, PAGE, NULL);
}

static inline void many_pages_are_zero(const char *path, struct rng *r)
{
    for (int i = 0; i < 20; i++)
        page_is_zero(path, r);
}

static inline void bytes_are_noise(const char *path, struct rng *r)
{
    for (int i = 0; i < 20; i++)
        bytes_set(path, (off_t)rng_below(r, (uint64_t)size_of(path) - 64), 64, r);
}

static inline void end_is_cut(const char *path, struct rng *r)
{
    assert_int_equal(truncate(path, size_of(path) / 2 + (off_t)rng_below(r, 1000)), 0);
}

static inline char *log_of(const char *path)
{
    return xasprintf("%s-wal", path);
}

static inline void log_is_lost(const char *path, struct rng *r)
{
    char *log = log_of(path);
    assert_int_equal(unlink(log), 0);
    free(log);
    page_is_zero(path, r);
}

static inline void log_is_torn(const char *path, struct rng *r)
{
    char *log = log_of(path);
    bytes_set(log, (off_t)rng_below(r, (uint64_t)size_of(log) - 100), 100, r);
    page_is_zero(path, r);
    free(log);
}

static inline void head_of_log_is_lost(const char *path, struct rng *r)
{
    char *log = log_of(path);
    bytes_set(log, 0, 32, r);
    page_is_zero(path, r);
    free(log);
}

static inline void log_is_anothers(const char *path, struct rng *r)
{
    char *other = in_dir("other"), *others_log = log_of(other), *log = log_of(path);
    (void)r;
    store_make(other, 300);
    copy(others_log, log);
    free(other);
    free(others_log);
    free(log);
}

static inline void sql_on(const char *path, const char *text)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static inline void table_is_dropped(const char *path, struct rng *r)
{
    (void)r;
    sql_on(path, "DROP TABLE job");
}

/* exact: what is kept is as it was written; a byte of noise in a text nobody can tell from the
 * text. */
static const struct {
    const char *name;
    void (*harm)(const char *path, struct rng *r);
    int times;
    unsigned jobs, steps, scripts; /* that are there afterwards, at least */
    bool exact;
} harms[] = {
    {"a page is zero", page_is_zero, 8, JOBS - 40, JOBS - 200, JOBS - 200, true},
    {"twenty pages are zero", many_pages_are_zero, 3, JOBS - 300, 0, JOBS - 300, true},
    {"the head is lost", head_is_lost, 2, JOBS, JOBS, JOBS, true},
    {"the first page is lost", first_page_is_lost, 1, JOBS, JOBS, JOBS, true},
    {"noise", bytes_are_noise, 6, JOBS - 300, 0, JOBS - 300, false},
    {"the end is cut", end_is_cut, 2, 20, 0, 20, true},
    {"the log is lost", log_is_lost, 2, JOBS - 140, JOBS - 300, JOBS - 300, true},
    {"the log is torn", log_is_torn, 4, JOBS - 140, JOBS - 300, JOBS - 300, true},
    {"the head of the log is lost", head_of_log_is_lost, 2, JOBS - 140, JOBS - 300, JOBS - 300,
     true},
    {"the log is of another store", log_is_anothers, 1, JOBS - 200, JOBS - 300, JOBS - 300, true},
    {"the jobs' table was dropped", table_is_dropped, 1, 0, JOBS, JOBS, true},
};

#endif
