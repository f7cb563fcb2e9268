/* The log of a store, which grows while readers need it: a disk that it has filled, and readings
 * that overlap without a gap. */
#include "store_help.h"

#include "base/alloc.h"
#include "controller/disk/reader.h"
#include "controller/disk/writer.h"
#include "controller/reads.h"

#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* A limit on the size of files stands for a full disk: writes fail in the same place. */
static void disk_of(rlim_t bytes)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

struct full {
    struct world w;
    sqlite3 *reader;
    const char *small;
};

static int open_world(void **state)
{
    struct full *f = *state = xcalloc(1, sizeof *f);
    world_open_sqlite(&f->w);
    for (uint64_t id = 1; id < 60; id++)
        world_put_job(&f->w, &(struct job){.id = id});
    assert_int_equal(sqlite3_open(f->w.path, &f->reader), SQLITE_OK);
    return 0;
}

static int close_world(void **state)
{
    struct full *f = *state;
    disk_of(RLIM_INFINITY);
    sqlite3_close(f->reader);
    world_close(&f->w);
    free(f);
    return 0;
}

static void reader_says(struct full *f, const char *sql)
{
    assert_int_equal(sqlite3_exec(f->reader, sql, NULL, NULL, NULL), SQLITE_OK);
}

static struct batch *small(struct world *w, uint64_t id)
{
    struct batch *b = world_batch(w);
    batch_add(b, ROW_PUT, TABLE_JOB, &(struct job){.id = id});
    return b;
}

/* Commits while a reader holds the log, until it has filled the disk. */
static void fill(struct full *f)
{
    struct err e;
    uint64_t n = 0;
    reader_says(f, "BEGIN; SELECT count(*) FROM job");
    disk_of(4u << 20);
    while (world_commit(&f->w, small(&f->w, n++ % 50 + 1), &e))
        assert_true(n < 10000);
    assert_int_equal(e.code, ERR_UNAVAILABLE);
    assert_false(world_commit(&f->w, small(&f->w, 1), &e));
}

/* It was copied after a commit that worked alone: there was none any more, though nobody read. */
static void test_a_disk_that_the_log_filled_heals_when_the_reader_ends(void **state)
{
    struct full *f = *state;
    struct err e;
    for (int again = 0; again < 3; again++) {
        fill(f);
        reader_says(f, "COMMIT");
        world_commit(&f->w, small(&f->w, 1), &e); /* it is found that it may be copied */
        assert_true(world_commit(&f->w, small(&f->w, 2), &e));
        assert_in_range(store_log_pages(f->w.store), 1, 50);
    }
}

/* Nor at another start: the store could be read alone, for ever. Only what was read is copied. */
static void heals_after_a_restart(struct full *f, const char *before)
{
    struct err e;
    uint64_t seq;
    reader_says(f, before);
    fill(f);
    while (store_take_epoch(f->w.store, &f->w.epoch, &seq, &e))
        continue; /* there may be room for so little */
    store_close(f->w.store);
    f->w.store = store_open_memory(); /* for world_close to close */
    struct writer *writer = writer_new(f->w.path);
    assert_false(writer_open(writer, &seq, &e));
    assert_false(writer_holds(writer));
    struct batch *b = batch_new();
    b->seq = f->w.seq + 2; /* as of a controller that has read another */
    reader_says(f, "COMMIT");
    for (int i = 0; i < 3; i++)
        assert_false(writer_commit(writer, b, &e));
    b->seq = f->w.seq + 1;
    writer_commit(writer, b, &e);
    assert_true(writer_commit(writer, b, &e));
    batch_free(b);
    writer_free(writer);
}

static void test_so_it_does_after_a_restart(void **state)
{
    heals_after_a_restart(*state, "");
}

/* What holds readings was the open store's alone: before it was open they overlapped for ever. */
static void test_readings_wait_for_a_store_that_is_not_open(void **state)
{
    struct full *f = *state;
    struct err e;
    uint64_t seq;
    fill(f);
    while (store_take_epoch(f->w.store, &f->w.epoch, &seq, &e))
        continue;
    store_close(f->w.store);
    f->w.store = store_open_memory();
    struct writer *writer = writer_new(f->w.path);
    struct batch *b = batch_new();
    b->seq = f->w.seq + 1;
    assert_false(writer_commit(writer, b, &e));
    assert_true(writer_holds(writer));
    reader_says(f, "COMMIT");
    writer_shorten(writer);
    assert_false(writer_holds(writer));
    assert_true(writer_commit(writer, b, &e));
    batch_free(b);
    writer_free(writer);
}

/* Which has an index to make, for which there is no room either. */
static void test_so_it_does_after_an_upgrade(void **state)
{
    heals_after_a_restart(*state, "DROP INDEX job_by_cron");
}

/* Who reads a log that he may not change keeps those of his process from writing: one reading after
 * another kept the store away, though there was room again. It is opened while all are held. */
static void test_the_store_is_opened_while_nobody_reads(void **state)
{
    struct full *f = *state;
    struct err e;
    reader_says(f, "BEGIN; SELECT count(*) FROM job");
    for (uint64_t id = 1; id < 20; id++)
        assert_true(world_commit(&f->w, small(&f->w, id), &e));
    store_close(f->w.store);
    f->w.store = store_open_memory();
    reader_says(f, "COMMIT");
    assert_int_equal(sqlite3_db_config(f->reader, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL), 0);
    sqlite3_close(f->reader);
    f->reader = NULL;
    struct writer *writer = writer_new(f->w.path);
    struct reader reader = {.path = f->w.path, .writer = writer};
    struct batch *b = batch_new();
    b->seq = f->w.seq + 1;
    assert_non_null(reader_begin(&reader, &e));
    for (int again = 0; again < 3; again++)
        assert_false(writer_commit(writer, b, &e));
    assert_true(writer_holds(writer));
    reader_end(&reader);
    writer_shorten(writer);
    assert_true(writer_is_open(writer));
    assert_true(writer_commit(writer, b, &e));
    reader_done(&reader);
    batch_free(b);
    writer_free(writer);
}

/* One that nobody writes to is read without a lock: what was copied into it meanwhile was read as
 * rows that never were, or taken for damage. It is opened when nobody reads it so. */
static void test_a_store_that_is_read_as_it_stands_is_not_written_to(void **state)
{
    struct full *f = *state;
    struct err e;
    struct stat st;
    assert_int_equal(sqlite3_close(f->reader), SQLITE_OK);
    f->reader = NULL;
    store_close(f->w.store);
    f->w.store = store_open_memory();
    assert_int_not_equal(stat(arena_printf(f->w.arena, "%s-wal", f->w.path), &st), 0);
    struct writer *writer = writer_new(f->w.path);
    struct reader reader = {.path = f->w.path, .writer = writer}, none = reader;
    struct batch *b = small(&f->w, 7);
    assert_non_null(reader_begin(&reader, &e));
    for (int again = 0; again < 5; again++, writer_shorten(writer)) /* and no minute each between */
        while (!writer_holds(writer))                               /* no other reading begins */
            assert_false(writer_commit(writer, b, &e));
    assert_int_equal(e.code, ERR_UNAVAILABLE);
    assert_false(writer_is_open(writer));
    none.path = "/nowhere/remuda.db";
    assert_null(reader_begin(&none, &e));
    reader_end(&none);
    reader_end(&reader);
    writer_shorten(writer);
    assert_true(writer_is_open(writer));
    assert_true(writer_commit(writer, b, &e));
    assert_non_null(reader_begin(&reader, &e)); /* from now on beside the writer */
    reader_end(&reader);
    reader_done(&reader);
    batch_free(b);
    writer_free(writer);
}

/* A writer that can commit nothing yet knows that there is something to cut off. */
static void test_the_log_of_a_life_before_counts(void **state)
{
    struct full *f = *state;
    struct err e;
    uint64_t seq, epoch;
    reader_says(f, "BEGIN; SELECT count(*) FROM job");
    for (uint64_t id = 1; id < 100; id++)
        assert_true(world_commit(&f->w, small(&f->w, id), &e));
    size_t pages = store_log_pages(f->w.store);
    store_close(f->w.store);
    f->w.store = store_open_sqlite(f->w.path, false, &e);
    assert_non_null(f->w.store);
    assert_in_range(store_log_pages(f->w.store), pages, 2 * pages);
    struct batch *b = small(&f->w, 1);
    struct writer *w = writer_of(f->w.store, f->w.epoch);
    struct stat st;
    assert_int_equal(stat(arena_printf(f->w.arena, "%s-wal", f->w.path), &st), 0);
    disk_of((rlim_t)st.st_size);
    while (store_take_epoch(f->w.store, &epoch, &seq, &e))
        continue;
    assert_false(writer_commit(w, b, &e));
    assert_true(writer_holds(w));
    batch_free(b);
    writer_free(w);
    f->w.store = NULL;
}

/* ---- readings that overlap ---- */

struct hall {
    struct full *f;
    struct loop *loop;
    struct reads *reads;
    struct writer *writer;
    atomic_int at_work, open;
    int alone, done;
};

static void nothing(void *ctx)
{
    (void)ctx;
}

static void read_slowly(void *ctx, struct reader *reader)
{
    struct hall *h = ctx;
    atomic_fetch_add(&h->at_work, 1);
    while (!atomic_load(&h->open))
        usleep(1000);
    atomic_fetch_sub(&h->at_work, 1);
}

#define EARLY 2
#define LATE  5

static void was_read(void *ctx)
{
    struct hall *h = ctx;
    if (++h->done == EARLY + LATE)
        loop_stop(h->loop);
}

static const struct peer *user_number(uid_t uid)
{
    static struct peer one;
    one = (struct peer){.uid = uid, .user = "somebody"};
    return &one;
}

static void look(void *ctx)
{
    reads_look(((struct hall *)ctx)->reads);
}

/* As the writer's thread does it. */
static void are_alone(void *ctx)
{
    struct hall *h = ctx;
    assert_int_equal(atomic_load(&h->at_work), 0);
    assert_int_equal(h->done, EARLY);
    h->alone++;
    reader_says(h->f, "COMMIT");
    writer_shorten(h->writer);
    assert_false(writer_holds(h->writer));
    loop_post(h->loop, look, h);
}

/* Somebody's reading began before the one before it had ended, for ever. */
static void test_readings_let_the_log_be_cut_off(void **state)
{
    struct full *f = *state;
    struct err e;
    struct hall h = {.f = f, .loop = loop_new(NULL), .writer = writer_of(f->w.store, f->w.epoch)};
    h.reads = reads_new(h.loop, f->w.path, h.writer);
    reads_on_hold(h.reads, are_alone, &h);
    for (uid_t uid = 0; uid < EARLY; uid++)
        assert_true(reads_add(h.reads, user_number(uid), read_slowly, was_read, &h));
    while (atomic_load(&h.at_work) < EARLY)
        usleep(1000);
    assert_false(writer_holds(h.writer));
    fill(f);
    struct batch *b = small(&f->w, 1);
    assert_false(writer_commit(h.writer, b, &e));
    assert_true(writer_holds(h.writer));
    for (uid_t uid = 0; uid < LATE; uid++)
        assert_true(reads_add(h.reads, user_number(EARLY + uid), read_slowly, was_read, &h));
    atomic_store(&h.open, 1);
    loop_run(h.loop);
    assert_int_equal(h.alone, 1);
    assert_int_equal(h.done, EARLY + LATE);
    assert_true(writer_commit(h.writer, b, &e));
    assert_false(writer_holds(h.writer));
    batch_free(b);
    reads_free(h.reads);
    writer_free(h.writer);
    f->w.store = NULL;
    loop_free(h.loop);
}

#define BIG_BYTES (8u << 20)

static bool big_commit(struct full *f, struct writer *w)
{
    static char script[BIG_BYTES];
    struct err e;
    struct batch *b = world_batch(&f->w);
    batch_add(b, ROW_PUT, TABLE_PAYLOAD,
              &(struct payload){.job_id = 1, .script = {script, sizeof script}});
    bool done = writer_commit(w, b, &e);
    f->w.seq += done;
    batch_free(b);
    return done;
}

/* Where the disk has room it is the length that counts; who needs the log for long, beside the
 * readings, does not keep them from beginning. */
static void test_a_log_is_asked_for_where_it_is_long_and_then_seldom(void **state)
{
    struct full *f = *state;
    struct writer *w = writer_of(f->w.store, f->w.epoch);
    reader_says(f, "BEGIN; SELECT count(*) FROM job");
    size_t long_pages = 0, n = 0;
    for (; !writer_holds(w) && n < 30; n++)
        assert_true(big_commit(f, w));
    long_pages = store_log_pages(f->w.store);
    assert_in_range(long_pages, 20000, 50000);
    writer_shorten(w);
    assert_int_equal(store_log_pages(f->w.store), long_pages);
    assert_true(big_commit(f, w));
    assert_false(writer_holds(w));
    reader_says(f, "COMMIT");
    writer_shorten(w);
    assert_int_equal(store_log_pages(f->w.store), 0);
    reader_says(f, "BEGIN; SELECT count(*) FROM job");
    for (n = 0; store_log_pages(f->w.store) < 2 * long_pages; n++)
        assert_true(n < 60 && big_commit(f, w));
    assert_false(writer_holds(w)); /* who reads long, again and again */
    reader_says(f, "COMMIT");
    writer_free(w);
    f->w.store = NULL;
}

static void file_say(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_true(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

/* Mounts of one's own, as oneself; false = this user may not have them. */
static bool mounts_own(struct arena *a)
{
    unsigned u = (unsigned)getuid(), g = (unsigned)getgid();
    if (unshare(CLONE_NEWNS) == 0)
        return true;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return false;
    file_say("/proc/self/setgroups", "deny");
    file_say("/proc/self/uid_map", arena_printf(a, "%u %u 1", u, u));
    file_say("/proc/self/gid_map", arena_printf(a, "%u %u 1", g, g));
    return true;
}

/* Somewhere with 24 MiB of room. */
static bool on_small_disk(struct full *f)
{
    char *at = arena_printf(f->w.arena, "%s/small", f->w.dir);
    if (!mounts_own(f->w.arena))
        return false;
    assert_int_equal(mkdir(at, 0700), 0);
    assert_int_equal(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    assert_int_equal(mount("none", at, "tmpfs", 0, "size=24m"), 0);
    f->small = arena_printf(f->w.arena, "%s/remuda.db", at);
    return true;
}

#define SCRIPT_BYTES (256u << 10)

/* What a log holds that is as long as the room that is left can be copied nowhere once the disk is
 * full of it: no commit would free anything any more. */
static void test_a_log_is_asked_for_before_what_it_holds_has_no_room(void **state)
{
    static char script[SCRIPT_BYTES];
    struct full *f = *state;
    struct err e;
    struct writer *w;
    uint64_t seq, id = 0;
    if (!on_small_disk(f))
        skip(); /* no mounts here, not even in a namespace of one's own */
    w = writer_new(f->small);
    assert_true(writer_open(w, &seq, &e));
    sqlite3_close(f->reader);
    assert_int_equal(sqlite3_open(f->small, &f->reader), SQLITE_OK);
    for (int again = 0; again < 2; again++) {
        reader_says(f, "BEGIN; SELECT count(*) FROM job");
        while (!writer_holds(w)) {
            struct batch *b = batch_new();
            b->seq = ++seq;
            batch_add(b, ROW_PUT, TABLE_PAYLOAD,
                      &(struct payload){.job_id = ++id, .script = {script, sizeof script}});
            assert_true(writer_commit(w, b, &e));
            batch_free(b);
        }
        assert_in_range(store_log_pages(writer_store(w)), 1000, 4000);
        reader_says(f, "COMMIT");
        writer_shorten(w);
        assert_int_equal(store_log_pages(writer_store(w)), 0);
    }
    writer_free(w);
    sqlite3_close(f->reader);
    f->reader = NULL;
    assert_int_equal(umount(arena_printf(f->w.arena, "%s/small", f->w.dir)), 0);
    assert_int_equal(rmdir(arena_printf(f->w.arena, "%s/small", f->w.dir)), 0);
}

/* Nor do they wait for a log that cannot be cut off while a daemon ends. */
static void test_the_end_waits_for_no_log(void **state)
{
    struct full *f = *state;
    struct err e;
    struct hall h = {.f = f, .loop = loop_new(NULL), .open = 1};
    h.writer = writer_of(f->w.store, f->w.epoch);
    h.reads = reads_new(h.loop, f->w.path, h.writer);
    reads_on_hold(h.reads, nothing, NULL);
    fill(f);
    struct batch *b = small(&f->w, 1);
    assert_false(writer_commit(h.writer, b, &e));
    for (uid_t uid = 0; uid < LATE; uid++)
        assert_true(reads_add(h.reads, user_number(uid), read_slowly, was_read, &h));
    assert_int_equal(h.done, 0);
    reads_free(h.reads);
    assert_int_equal(h.done, LATE);
    batch_free(b);
    writer_free(h.writer);
    f->w.store = NULL;
    loop_free(h.loop);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, open_world, close_world)
    const struct CMUnitTest tests[] = {
        TEST(a_disk_that_the_log_filled_heals_when_the_reader_ends),
        TEST(so_it_does_after_a_restart),
        TEST(so_it_does_after_an_upgrade),
        TEST(readings_wait_for_a_store_that_is_not_open),
        TEST(the_store_is_opened_while_nobody_reads),
        TEST(a_store_that_is_read_as_it_stands_is_not_written_to),
        TEST(the_log_of_a_life_before_counts),
        TEST(readings_let_the_log_be_cut_off),
        TEST(a_log_is_asked_for_where_it_is_long_and_then_seldom),
        TEST(the_end_waits_for_no_log),
        TEST(a_log_is_asked_for_before_what_it_holds_has_no_room), /* it leaves the mounts */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
