/* The turn: nothing is let out before it is committed, the order stays, and a store that fails
 * loses nothing. The core is a stand-in that notes the events it is fed; the store is the memory
 * twin. */
#include "controller_turn_help.h"

static void nothing_is_let_out_before_the_commit(void **state)
{
    struct shell s;
    shell_make(&s, state);
    int had = meta_rows(&s);
    store_effect(turns_effects(s.c.turns), "a");
    reply_effect(&s, 1);
    assert_false(turns_idle(s.c.turns));
    assert_int_equal(note.nsent, 0);
    shell_until(&s, &note.nsent, 1);
    assert_int_equal(note.nsent, 1);
    assert_int_equal(meta_rows(&s), had + 1);
    assert_true(turns_idle(s.c.turns));
    assert_int_equal(turns_count(s.c.turns), 1);
    shell_end(&s);
}

static void order_stays_over_turns(void **state)
{
    struct shell s;
    shell_make(&s, state);
    for (uint64_t i = 1; i <= 10; i++) {
        if (i % 3 == 0)
            store_effect(turns_effects(s.c.turns), "a");
        reply_effect(&s, i);
        shell_run(&s, 0);
    }
    shell_until(&s, &note.nsent, 10);
    assert_int_equal(note.nsent, 10);
    for (uint64_t i = 0; i < 10; i++)
        assert_int_equal(note.sent[i], i + 1);
    shell_end(&s);
}

static void a_payload_is_kept_at_hand(void **state)
{
    struct shell s;
    shell_make(&s, state);
    struct effects *fx = turns_effects(s.c.turns);
    struct payload p = {.job_id = 7};
    struct effect *e = effect_add(fx, FX_STORE);
    e->table = TABLE_PAYLOAD;
    e->record = arena_dup(fx->arena, &p, sizeof p);
    shell_until(&s, &note.payloads, 1);
    assert_int_equal(note.payloads, 1);
    shell_end(&s);
}

static void the_wake_comes_when_it_is_due(void **state)
{
    struct shell s;
    shell_make(&s, state);
    int64_t due = clock_now_us() + 50000;
    note.wake_us = due;
    shell_until(&s, &note.nfed, 1);
    assert_true(clock_now_us() >= due);
    assert_int_equal(note.nfed, 1);
    assert_int_equal(note.fed[0], EV_WAKE);
    assert_true(turns_idle(s.c.turns));
    shell_end(&s);
}

/* Two readings of the clocks lie apart as often as not. */
static void a_machine_that_stands_still_is_no_clock_that_was_set(void **state)
{
    struct shell s;
    shell_make(&s, state);
    for (stall.every = 5; stall.every < 15; stall.every++) {
        stall.us = 2000000;
        shell_run(&s, 1000);
    }
    stall.every = 0;
    assert_true(stall.stood_us > 0);
    assert_int_equal(note.nfed, 0);
    shell_end(&s);
}

static void a_failing_store_loses_nothing(void **state)
{
    struct shell s;
    const char *why;
    shell_make(&s, state);
    store_memory_fail(s.store, 2);
    store_effect(turns_effects(s.c.turns), "a");
    reply_effect(&s, 1);
    shell_until(&s, &note.nfed, 1);
    assert_int_equal(note.nsent, 0);
    assert_true(turns_store_away(s.c.turns, &why));
    assert_true(strlen(why) > 0);
    assert_int_equal(note.fed[0], EV_STORE_AWAY);
    assert_true(turns_admit(s.c.turns, false));
    reply_effect(&s, 2);
    /* Tried again after a second, which fails, and after another. */
    shell_until(&s, &note.nsent, 2);
    assert_false(turns_store_away(s.c.turns, NULL));
    assert_int_equal(note.fed[1], EV_STORE_BACK);
    assert_int_equal(note.nsent, 2);
    assert_int_equal(note.sent[0], 1);
    assert_int_equal(note.sent[1], 2);
    shell_end(&s);
}

static void after_some_seconds_those_who_wait_are_told(void **state)
{
    struct shell s;
    shell_make(&s, state);
    store_memory_fail(s.store, 6);
    store_effect(turns_effects(s.c.turns), "a");
    reply_effect(&s, 1);
    shell_run(&s, 100000);
    reply_effect(&s, 2);
    shell_until(&s, &note.nsent, 2);
    assert_int_equal(note.nsent, 2);
    assert_int_equal(note.refusal[0], REFUSE_STORE);
    assert_int_equal(note.refusal[1], REFUSE_STORE);
    assert_false(turns_admit(s.c.turns, false));
    assert_true(turns_admit(s.c.turns, true));
    shell_until(&s, &note.nfed, 2);
    assert_false(turns_store_away(s.c.turns, NULL));
    assert_true(turns_admit(s.c.turns, false));
    assert_int_equal(note.nsent, 2); /* answered once */
    shell_end(&s);
}

static void who_only_asks_does_not_wait_for_the_store(void **state)
{
    struct shell s;
    static const struct msg_wait_job ask;
    struct message m = {.kind = MSG_WAIT_JOB, .body = &ask};
    const struct event ev = {.kind = EV_MESSAGE, .msg = &m};
    shell_make(&s, state);
    store_memory_fail(s.store, 2);
    store_effect(turns_effects(s.c.turns), "a");
    reply_effect(&s, 1);
    shell_until(&s, &note.nfed, 1);
    assert_true(turns_store_away(s.c.turns, NULL));
    note.answer = 7;
    turns_step_reading(s.c.turns, &ev);
    note.answer = 0;
    assert_int_equal(note.nsent, 1);
    assert_int_equal(note.sent[0], 7);
    shell_until(&s, &note.nsent, 2);
    assert_int_equal(note.nsent, 2);
    assert_int_equal(note.sent[1], 1);
    shell_end(&s);
}

/* As on a disk that was full when the controller started. */
static void a_store_that_opens_late(void **state)
{
    struct shell s;
    uint64_t epoch, seq;
    struct err why = {.code = ERR_UNAVAILABLE, .text = "no room"};
    shell_make(&s, state);
    turns_end(s.c.turns);
    turns_free(s.c.turns);
    const char *path = arena_printf(s.world->arena, "%s/remuda.db", s.world->dir);
    s.store = store_open_sqlite(path, false, NULL);
    assert_true(store_take_epoch(s.store, &epoch, &seq, NULL));
    store_close(s.store);
    s.c.turns = turns_new(&s.c, writer_new(path), seq, &let_out);
    reply_effect(&s, 1);
    turns_begin_away(s.c.turns, &why);
    assert_false(turns_admit(s.c.turns, false));
    assert_true(turns_store_away(s.c.turns, NULL));
    shell_until(&s, &note.nsent, 1);
    shell_until(&s, &note.nfed, 2);
    assert_false(turns_store_away(s.c.turns, NULL));
    assert_int_equal(note.fed[0], EV_STORE_AWAY);
    assert_int_equal(note.fed[1], EV_STORE_BACK);
    assert_int_equal(note.nsent, 1);
    shell_end(&s);
}

static uint64_t given_seq(const struct shell *s)
{
    struct given g = {0};
    assert_true(given_read(arena_printf(s->world->arena, "%s/given", s->world->dir), &g, NULL));
    return g.seq;
}

/* What finds out that such a store is back says nothing of it yet: whoever was killed between would
 * not find at the next start that it is an older one, whose jobs are to be held. */
static void an_older_store_that_opens_late_is_older_until_its_rows_are_there(void **state)
{
    struct shell s;
    uint64_t epoch, seq;
    struct err why = {.code = ERR_UNAVAILABLE, .text = "no room"};
    struct given before = {.seq = 100, .next_job_id = 7};
    shell_make(&s, state);
    turns_end(s.c.turns);
    turns_free(s.c.turns);
    const char *path = arena_printf(s.world->arena, "%s/remuda.db", s.world->dir);
    s.store = store_open_sqlite(path, false, NULL);
    assert_true(store_take_epoch(s.store, &epoch, &seq, NULL));
    store_close(s.store);
    s.c.turns = turns_new(&s.c, writer_new(path), seq, &let_out);
    int fd = given_open(arena_printf(s.world->arena, "%s/given", s.world->dir), NULL);
    assert_true(fd >= 0 && given_write(fd, &before));
    turns_number_beyond(s.c.turns, before.seq);
    turns_write_given(s.c.turns, fd, &before);
    turns_begin_away(s.c.turns, &why);
    shell_until(&s, &note.nfed, 2);
    assert_false(turns_store_away(s.c.turns, NULL));
    s.store = store_open_still(path, NULL);
    assert_true(store_last(s.store, &seq, NULL));
    assert_int_equal(seq, 0);
    assert_int_equal(given_seq(&s), 100);
    store_close(s.store);
    for (size_t i = 1; i < 3; i++) {
        store_effect(turns_effects(s.c.turns), "a");
        reply_effect(&s, i);
        shell_until(&s, &note.nsent, i);
        assert_int_equal(given_seq(&s), 100 + i);
    }
    shell_end(&s);
}

/* Neither a store that is put back later nor the one that took its place is the other's later self:
 * numbers of commits are given once. */
static void commits_of_an_older_store_are_numbered_behind_the_later_one(void **state)
{
    struct shell s;
    uint64_t seq;
    shell_make(&s, state);
    turns_number_beyond(s.c.turns, 1000);
    for (size_t i = 1; i < 4; i++) {
        store_effect(turns_effects(s.c.turns), "a");
        reply_effect(&s, i);
        shell_until(&s, &note.nsent, i);
        assert_true(store_last(s.store, &seq, NULL));
        assert_int_equal(seq, 1000 + i);
    }
    shell_end(&s);
}

/* Sessions that are closed keep the loop running for a while; what effects need is gone by then. */
static void once_it_ends_nothing_is_let_out(void **state)
{
    struct shell s;
    shell_make(&s, state);
    store_memory_fail(s.store, 1);
    store_effect(turns_effects(s.c.turns), "a");
    reply_effect(&s, 1);
    shell_until(&s, &note.nfed, 1);
    assert_true(turns_store_away(s.c.turns, NULL));
    turns_end(s.c.turns);
    shell_run(&s, 1500000); /* when it would have been tried again */
    assert_int_equal(note.nsent, 0);
    shell_free(&s);
}

/* Its answer is of a commit that was made: who asked hears of it. */
static void what_is_being_written_as_it_ends_is_let_out(void **state)
{
    struct shell s;
    shell_make(&s, state);
    store_effect(turns_effects(s.c.turns), "a");
    reply_effect(&s, 1);
    turns_close(s.c.turns);
    assert_int_equal(note.nsent, 0);
    turns_end(s.c.turns);
    assert_int_equal(note.nsent, 1);
    shell_free(&s);
}

static void a_deposed_controller_lets_nothing_out(void **state)
{
    struct shell s;
    uint64_t epoch, seq;
    shell_make(&s, state);
    assert_true(store_take_epoch(s.store, &epoch, &seq, NULL)); /* another takes over */
    store_effect(turns_effects(s.c.turns), "a");
    reply_effect(&s, 1);
    loop_run(s.world->loop); /* ends by itself */
    assert_int_equal(note.nsent, 0);
    shell_end(&s);
}

static void other_effects_are_carried_out(void **state)
{
    struct shell s;
    shell_make(&s, state);
    struct effect *e = effect_add(turns_effects(s.c.turns), FX_LOG);
    e->level = LEVEL_WARNING;
    e->text = "watch out";
    effect_add(turns_effects(s.c.turns), FX_STOP);
    effect_add(turns_effects(s.c.turns), FX_CLOSE);
    shell_until(&s, &note.closes, 1);
    assert_int_equal(note.stops, 1);
    assert_int_equal(note.closes, 1);
    const char *log = file_read_text(arena_printf(s.world->arena, "%s/log", s.world->dir), 10000,
                                     s.world->arena, NULL);
    assert_non_null(strstr(log, "warning: watch out"));
    shell_end(&s);
}

static bool was_charged(uint32_t uid)
{
    for (size_t i = 0; i < note.ncaused; i++)
        if (note.caused[i] == uid)
            return true;
    return false;
}

/* However slow the machine is. */
static void run_until_charged(struct shell *s, uint32_t uid)
{
    for (int i = 0; i < 1000 && !was_charged(uid); i++)
        shell_run(s, 10000);
    assert_true(was_charged(uid));
}

/* The commit, and the plan that comes of it, are of those who asked; a wake that ends somebody's
 * many jobs is that user's. */
static void commits_and_plans_are_charged_to_who_made_them_necessary(void **state)
{
    struct shell s;
    struct message m = {.kind = MSG_SUBMIT};
    struct peer ann = {.uid = 7}, ben = {.uid = 8};
    shell_make(&s, state);
    turns_step(s.c.turns, &(struct event){.kind = EV_MESSAGE, .peer = &ann, .msg = &m});
    run_until_charged(&s, 7);
    note.ncaused = 0;
    note.wake_us = 0;
    run_until_charged(&s, 7); /* the plan */
    note.ncaused = 0;
    note.wake_us = 0;
    shell_run(&s, 20000);
    assert_int_equal(note.ncaused, 0); /* nobody asked */
    turns_step(s.c.turns, &(struct event){.kind = EV_MESSAGE, .peer = &ben, .msg = &m});
    note.wake_us = 0;
    note.sweeper = 9;
    run_until_charged(&s, 8);
    run_until_charged(&s, 9);
    assert_false(was_charged(7));
    shell_end(&s);
}

static int64_t charged_ns(uint32_t uid)
{
    int64_t ns = 0;
    for (size_t i = 0; i < note.ncaused; i++)
        ns += note.caused[i] == uid ? note.cost_ns[i] : 0;
    return ns;
}

/* A request about many jobs that is refused for each of them stores nothing: its slice is its
 * user's all the same, and not of who submitted meanwhile. */
static void a_slice_that_stores_nothing_is_its_users(void **state)
{
    struct shell s;
    struct message m = {.kind = MSG_SUBMIT};
    struct peer ben = {.uid = 8};
    const int64_t hour = INT64_C(3600) * 1000000000;
    shell_make(&s, state);
    note.sweeper = 9;
    note.ends_none = true;
    note.slice_s = 3600;
    turns_step(s.c.turns, &(struct event){.kind = EV_MESSAGE, .peer = &ben, .msg = &m});
    note.wake_us = 0;
    run_until_charged(&s, 9);
    run_until_charged(&s, 8);
    assert_true(charged_ns(9) >= hour);
    assert_true(charged_ns(8) < hour);
    note.sweeper = 0;
    shell_end(&s);
}

/* All that is there is moved to the new time by the next step: not by one that somebody pays. */
static void no_slice_is_made_when_the_clock_was_set(void **state)
{
    struct shell s;
    shell_make(&s, state);
    note.sweeper = 9;
    note.ends_none = true;
    stall.set_s = 7200;
    shell_until(&s, &note.nfed, 1);
    assert_int_equal(note.nfed, 1);
    assert_false(was_charged(9));
    note.wake_us = 0;
    run_until_charged(&s, 9);
    note.sweeper = 0;
    stall.set_s = 0;
    shell_end(&s);
}

/* What a host's node says of jobs is what the cluster is for, and charged to no host; what it says
 * of itself is, by whatever message. */
static void what_a_node_says_of_jobs_is_charged_to_no_host(void **state)
{
    static const enum store_table of_node[] = {TABLE_NODE}, of_job[] = {TABLE_JOB},
                                  both[] = {TABLE_NODE, TABLE_JOB},
                                  turned[] = {TABLE_JOB, TABLE_NODE};
    static const struct {
        enum message_kind kind;
        const enum store_table *stored;
        size_t n;
        uint64_t from;
    } cases[] = {
        {MSG_REPORT, of_node, 1, 5}, {MSG_REPORT, of_job, 1, 0},  {MSG_REPORT, both, 2, 0},
        {MSG_REPORT, turned, 2, 0},  {MSG_HEARTBEAT, both, 2, 5}, {MSG_NODE_HELLO, both, 2, 5},
        {MSG_SUBMIT, of_job, 1, 5},  {MSG_SUBMIT, of_node, 1, 5},
    };
    struct peer host = {.uid = 7};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct shell s;
        struct message m = {.kind = cases[i].kind};
        shell_make(&s, state);
        note.answer = 1; /* an effect that stores nothing */
        note.stored = cases[i].stored;
        note.nstored = cases[i].n;
        turns_step(s.c.turns,
                   &(struct event){.kind = EV_MESSAGE, .conn = 5, .peer = &host, .msg = &m});
        run_until_charged(&s, 7);
        assert_int_equal(note.from[0], cases[i].from);
        shell_end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_let_out_before_the_commit),
        TEST(order_stays_over_turns),
        TEST(a_payload_is_kept_at_hand),
        TEST(the_wake_comes_when_it_is_due),
        TEST(a_machine_that_stands_still_is_no_clock_that_was_set),
        TEST(a_failing_store_loses_nothing),
        TEST(after_some_seconds_those_who_wait_are_told),
        TEST(who_only_asks_does_not_wait_for_the_store),
        TEST(a_store_that_opens_late),
        TEST(an_older_store_that_opens_late_is_older_until_its_rows_are_there),
        TEST(commits_of_an_older_store_are_numbered_behind_the_later_one),
        TEST(once_it_ends_nothing_is_let_out),
        TEST(what_is_being_written_as_it_ends_is_let_out),
        TEST(a_deposed_controller_lets_nothing_out),
        TEST(other_effects_are_carried_out),
        TEST(commits_and_plans_are_charged_to_who_made_them_necessary),
        TEST(a_slice_that_stores_nothing_is_its_users),
        TEST(no_slice_is_made_when_the_clock_was_set),
        TEST(what_a_node_says_of_jobs_is_charged_to_no_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
