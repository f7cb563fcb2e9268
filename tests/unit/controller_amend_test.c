/* What is said of jobs afterwards: what is read of the store for it, how much, and as whose
 * reading. The reader, the store and the machine are stand-ins. */
#include "io_help.h"

#include "controller/past.h"
#include "controller/reads.h"
#include "controller/session/amend.h"
#include "controller/session/session.h"
#include "controller/turn.h"
#include "model/stored.h"
#include "store/store.h"

static struct {
    void (*run)(void *ctx, struct reader *r); /* of the reading at hand; NULL = there is none */
    loop_fn done;
    void *ctx;
    bool apart; /* the reading is nobody's */
    size_t readings, steps, rows, answered, refused;
    size_t in_store; /* rows of as many jobs */
    uint64_t turns;
} note;

/* ---- stand-ins ---- */

bool reads_add(struct reads *all, const struct peer *peer, void (*run)(void *ctx, struct reader *r),
               loop_fn done, void *ctx)
{
    (void)all;
    assert_null(note.run);
    note.run = run;
    note.done = done;
    note.ctx = ctx;
    note.apart = !peer;
    note.readings++;
    return true;
}

struct store *reader_begin(struct reader *r, struct err *ret_err)
{
    static char there;
    (void)r, (void)ret_err;
    return (struct store *)&there;
}

void reader_end(struct reader *r)
{
    (void)r;
}

/* Each job with a former part of it before, as the store has them. */
bool store_query_jobs(struct store *s, const struct msg_query *q, store_row_fn fn, void *ctx,
                      struct err *ret_err)
{
    (void)s, (void)ret_err;
    assert_true(q->exact);
    for (size_t i = 1; i <= note.in_store; i++) {
        fn(ctx, &(struct job){.id = i, .spec.comment = "former"});
        fn(ctx, &(struct job){.id = i, .spec.comment = "last"});
    }
    return true;
}

uint64_t past_runs(const struct past *p)
{
    (void)p;
    return 0;
}

bool session_is_there(const struct sessions *s, uint64_t id)
{
    (void)s, (void)id;
    return true;
}

void session_answered(struct sessions *s, uint64_t id, const struct str *frames)
{
    (void)s, (void)id;
    note.answered++;
    note.refused += frames != NULL;
}

bool turns_admit(struct turns *t, bool from_node)
{
    (void)t, (void)from_node;
    return true;
}

bool turns_idle(const struct turns *t)
{
    (void)t;
    return true;
}

uint64_t turns_count(const struct turns *t)
{
    (void)t;
    return note.turns;
}

void turns_step(struct turns *t, const struct event *ev)
{
    (void)t;
    note.steps++;
    note.rows = ev->rows->n;
    const struct job *row = ev->rows->v;
    for (size_t i = 0; i < ev->rows->n; i++) {
        assert_int_equal(row[i].id, i + 1);
        assert_string_equal(row[i].spec.comment, "last");
    }
}

/* ---- the world ---- */

struct asked {
    struct world *world;
    struct controller c;
    struct amends *amends;
};

static int begin(void **state)
{
    struct asked *a = xcalloc(1, sizeof *a);
    world_make((void **)&a->world);
    memset(&note, 0, sizeof note);
    a->c.loop = a->world->loop;
    a->amends = amends_new(&a->c);
    *state = a;
    return 0;
}

static int end(void **state)
{
    struct asked *a = *state;
    amends_free(a->amends);
    world_end((void **)&a->world);
    free(a);
    return 0;
}

static void ask(struct asked *a, uint32_t uid, const char *ids)
{
    struct msg_amend_jobs amend = {.ids = ids};
    struct message m = {.kind = MSG_AMEND_JOBS, .seq = 1, .body = &amend};
    amend_ask(a->amends, uid, &m, &(struct peer){.uid = uid, .user = "somebody"});
}

static void reading_ends(void)
{
    void (*run)(void *, struct reader *) = note.run;
    assert_non_null(run);
    run(note.ctx, NULL);
    note.run = NULL;
    note.done(note.ctx);
}

static void stop(void *ctx)
{
    loop_stop(ctx);
}

static void wait_us(struct asked *a, int64_t us)
{
    struct timer *t = timer_new(a->c.loop, stop, a->c.loop);
    timer_set(t, us);
    loop_run(a->c.loop);
    timer_free(t);
}

static const char *numbers(struct asked *a, size_t n)
{
    struct str ids = STR_INIT;
    for (size_t i = 1; i <= n; i++)
        str_addf(&ids, ",%zu,", i); /* what is empty names nothing */
    const char *kept = arena_strdup(a->world->arena, str_text(&ids));
    str_done(&ids);
    return kept;
}

/* ---- tests ---- */

/* All wait for one reading: it is of a thousand jobs at most, by their own numbers. */
static void what_is_read_is_named_and_a_thousand_at_most(void **state)
{
    struct asked *a = *state;
    const struct {
        const char *ids;
        bool is_read;
    } cases[] = {{numbers(a, AMENDED_AT_ONCE), true},
                 {numbers(a, AMENDED_AT_ONCE + 1), false},
                 {numbers(a, 20000), false},
                 {"7", true},
                 {"007,7", true},
                 {"", false},
                 {",,", false},
                 {NULL, false},
                 {"7_[0-2147483646]", false},
                 {"7_3", false},
                 {"7+1", false},
                 {"7,-1", false},
                 {"7, 8", false},
                 {"all", false}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        note.readings = note.steps = 0;
        ask(a, 1000, cases[i].ids);
        assert_int_equal(note.readings, cases[i].is_read);
        if (cases[i].is_read)
            reading_ends();
        assert_int_equal(note.steps, 1); /* the core says what is wrong with it */
        assert_int_equal(note.rows, 0);
        wait_us(a, 20000);
    }
    assert_int_equal(note.answered, ARRAY_LEN(cases));
}

/* More than was named comes of no store; of what comes all the same one is kept beyond the bound.
 * A job's former parts make room for it. */
static void rows_are_kept_up_to_the_bound(void **state)
{
    struct asked *a = *state;
    const struct {
        size_t in_store, kept;
    } cases[] = {{0, 0}, {3, 3}, {AMENDED_AT_ONCE, AMENDED_AT_ONCE}, {5000, AMENDED_AT_ONCE + 1}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        note.in_store = cases[i].in_store;
        ask(a, 1000, "1");
        reading_ends();
        assert_int_equal(note.rows, cases[i].kept);
        wait_us(a, 20000);
    }
}

/* Whose user reads years at the same time, or waits for 64 such readings, is not in the way: the
 * reading is nobody's that asks for others. */
static void the_reading_is_not_its_users(void **state)
{
    struct asked *a = *state;
    const uint32_t uids[] = {0, 1000, UINT32_MAX - 1};
    for (size_t i = 0; i < ARRAY_LEN(uids); i++) {
        ask(a, uids[i], "1");
        assert_true(note.apart);
        reading_ends();
        wait_us(a, 20000);
    }
}

/* A row is stored as a whole: the next one is read when the one before is stored. Users in turn. */
static void one_is_read_at_a_time_and_users_take_turns(void **state)
{
    struct asked *a = *state;
    note.turns = 1;
    for (int i = 0; i < 3; i++)
        ask(a, 1000, "1");
    ask(a, 1001, "1");
    assert_int_equal(note.readings, 1);
    note.in_store = 1;
    reading_ends();
    assert_int_equal(note.steps, 1);
    assert_int_equal(note.readings, 1); /* not before it is stored */
    for (size_t i = 2; i <= 4; i++) {
        wait_us(a, 20000);
        assert_int_equal(note.readings, i);
        reading_ends();
    }
    assert_int_equal(note.answered, 4);
    assert_int_equal(note.refused, 0);
}

static void sixty_four_of_a_user_wait(void **state)
{
    struct asked *a = *state;
    for (int i = 0; i < 65; i++) /* one is at hand */
        ask(a, 1000, "1");
    assert_int_equal(note.refused, 0);
    ask(a, 1000, "1");
    assert_int_equal(note.refused, 1);
    ask(a, 1001, "1");
    assert_int_equal(note.refused, 1);
    note.run = NULL;
}

#define TEST_AMEND(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_AMEND(what_is_read_is_named_and_a_thousand_at_most),
        TEST_AMEND(rows_are_kept_up_to_the_bound),
        TEST_AMEND(the_reading_is_not_its_users),
        TEST_AMEND(one_is_read_at_a_time_and_users_take_turns),
        TEST_AMEND(sixty_four_of_a_user_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
