/* Questions that are answered by copies: one at a time, and where others ask for something no more
 * than a fifth of a processor. The copies are stand-ins that say what they took. */
#include "io_help.h"

#include "controller/session/kept_request.h"
#include "controller/session/questions.h"
#include "controller/session/session.h"
#include "controller/turn.h"
#include "io/process/aside.h"
#include "wire/frame.h"

#define TOOK_US  20000
#define NAMELESS 100000u /* and beyond */

static struct {
    void (*done)(void *ctx, const struct str *answer,
                 int64_t cpu_us); /* of the copy at work; NULL = none is */
    void *ctx;
    size_t copies, answered, here;
    bool others, no_room, away, gone;
    uint64_t granted; /* as the machine was told that a copy found it */
    size_t done_here;
} note;

/* ---- stand-ins ---- */

struct aside *aside_start(struct loop *l, void (*work)(void *ctx, struct str *out),
                          void (*done)(void *ctx, const struct str *answer, int64_t cpu_us),
                          void *ctx, size_t most_bytes, struct err *ret_err)
{
    static char copy;
    (void)l, (void)work, (void)most_bytes;
    if (note.no_room) {
        err_set(ret_err, ERR_UNAVAILABLE, "no room");
        return NULL;
    }
    assert_null(note.done);
    note.done = done;
    note.ctx = ctx;
    note.copies++;
    return (struct aside *)&copy;
}

void aside_free(struct aside *a)
{
    (void)a;
}

bool session_is_there(const struct sessions *s, uint64_t id)
{
    (void)s, (void)id;
    return !note.gone;
}

bool session_hurry(const struct sessions *s, uint64_t id)
{
    (void)s, (void)id;
    return note.others;
}

int64_t session_spent(struct sessions *s, uint64_t id, int64_t ns)
{
    (void)s, (void)id, (void)ns;
    return 0;
}

void session_answered(struct sessions *s, uint64_t id, const struct str *frames)
{
    (void)s, (void)id, (void)frames;
    note.answered++;
}

void turns_step_reading(struct turns *t, const struct event *ev)
{
    (void)t;
    assert_true(ev->hurry);
    note.here++;
}

void turns_step(struct turns *t, const struct event *ev)
{
    (void)t;
    assert_int_equal(ev->msg->kind, MSG_EXTEND);
    note.granted = ev->worked ? ev->worked->count : 0;
    note.done_here++;
}

bool turns_admit(struct turns *t, bool from_node)
{
    (void)t;
    assert_false(from_node);
    return !note.away;
}

void core_step(struct core *c, const struct event *ev, struct effects *fx)
{
    (void)c, (void)ev, (void)fx;
}

void effects_init(struct effects *fx)
{
    (void)fx;
}

void effects_done(struct effects *fx)
{
    (void)fx;
}

/* ---- the world ---- */

struct asked {
    struct world *world;
    struct controller c;
};

static int begin(void **state)
{
    struct asked *a = xcalloc(1, sizeof *a);
    world_make((void **)&a->world);
    memset(&note, 0, sizeof note);
    a->c.loop = a->world->loop;
    a->c.log = log_open(NULL, LOG_IS_ERROR, NULL);
    a->c.questions = questions_new(&a->c);
    *state = a;
    return 0;
}

static int end(void **state)
{
    struct asked *a = *state;
    questions_free(a->c.questions);
    log_close(a->c.log);
    a->world->passed = true; /* nothing is left on its loop */
    world_end((void **)&a->world);
    free(a);
    return 0;
}

static void ask(struct asked *a, uint32_t uid)
{
    struct msg_why why = {.ids = "1"};
    struct message m = {.kind = MSG_WHY, .seq = 1, .body = &why};
    struct peer p = {.uid = uid, .user = "somebody"};
    question_ask(a->c.questions, uid, &m, &p);
}

static void copy_answers(const struct str *answer)
{
    void (*done)(void *, const struct str *, int64_t) = note.done;
    note.done = NULL;
    done(note.ctx, answer, TOOK_US);
}

/* What changes something is done by the machine itself, with what the copy found. */
static void what_a_copy_found_is_done(void **state)
{
    struct asked *a = *state;
    struct msg_extend extend = {.id = "1", .add_us = 60};
    struct message m = {.kind = MSG_EXTEND, .seq = 1, .body = &extend};
    struct msg_done found = {.detail = "some", .count = 7200};
    struct peer p = {.uid = 1};
    struct str answer = STR_INIT;
    wire_encode(&(struct message){.kind = MSG_DONE, .seq = 1, .body = &found}, &answer);
    for (int away = 0; away < 2; away++) {
        note.away = away;
        note.done_here = note.answered = 0;
        question_ask(a->c.questions, 1, &m, &p);
        copy_answers(&answer);
        assert_int_equal(note.done_here, !away);
        assert_int_equal(note.answered, 1);
        assert_int_equal(note.granted, 7200);
    }
    note.away = false;
    note.done_here = 0;
    question_ask(a->c.questions, 1, &m, &p);
    note.gone = true; /* who asked: nothing is done in the name of a host that was shut out */
    copy_answers(&answer);
    assert_int_equal(note.done_here, 0);
    note.gone = false;
    note.no_room = true;
    question_ask(a->c.questions, 1, &m, &p);
    assert_int_equal(note.done_here, 1);
    assert_int_equal(note.granted, 0);
    str_done(&answer);
}

static void copy_ends(void)
{
    struct str answer = STR_INIT;
    str_add(&answer, "x");
    copy_answers(&answer);
    str_done(&answer);
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

/* ---- tests ---- */

static void who_is_alone_has_copy_after_copy(void **state)
{
    struct asked *a = *state;
    for (int i = 0; i < 3; i++)
        ask(a, 1000);
    for (size_t i = 1; i <= 3; i++) {
        assert_int_equal(note.copies, i);
        copy_ends();
    }
    assert_int_equal(note.answered, 3);
}

static void with_others_about_a_copy_is_followed_by_a_rest(void **state)
{
    struct asked *a = *state;
    int64_t began = clock_monotonic_us();
    note.others = true;
    for (int i = 0; i < 3; i++)
        ask(a, 1000);
    for (size_t i = 1; i <= 3; i++) {
        while (note.copies < i)
            wait_us(a, 5000);
        assert_true(clock_monotonic_us() - began >= (int64_t)(i - 1) * 4 * TOOK_US);
        copy_ends();
    }
    assert_int_equal(note.answered, 3);
}

static void who_asks_in_the_rest_waits_too(void **state)
{
    struct asked *a = *state;
    int64_t began = clock_monotonic_us();
    note.others = true;
    ask(a, 1000);
    copy_ends();
    ask(a, 1001);
    while (note.copies < 2)
        wait_us(a, 5000);
    assert_true(clock_monotonic_us() - began >= (int64_t)4 * TOOK_US);
    copy_ends();
}

static void without_room_for_a_copy_the_loop_answers(void **state)
{
    struct asked *a = *state;
    note.no_room = true;
    ask(a, 1000);
    assert_int_equal(note.here, 1);
    assert_int_equal(note.answered, 1);
}

static void put(struct asked *a, struct request_line *l, uint32_t uid)
{
    struct msg_why why = {.ids = "1"};
    struct message m = {.kind = MSG_WHY, .seq = 1, .body = &why};
    struct peer p = {.uid = uid, .user = uid < NAMELESS ? "somebody" : NULL};
    request_line_add(l, kept_request_new(&a->c, uid, &m, &p));
}

static uint32_t taken(struct request_line *l, request_line_may may, void *ctx)
{
    struct kept_request *k = request_line_take(l, may, ctx);
    uint32_t uid = k ? k->peer.uid : 0;
    kept_request_free(k);
    return uid;
}

static bool may_not(void *ctx, const struct peer *peer)
{
    return peer->uid != *(const uint32_t *)ctx;
}

/* Two users who keep the line full are no reason for a third one to wait until it is empty. */
static void users_have_the_head_in_turn_however_many_flood(void **state)
{
    struct asked *a = *state;
    struct request_line l = {0};
    uint32_t not = 1;
    for (int i = 0; i < 50; i++) {
        put(a, &l, 1);
        put(a, &l, 2);
    }
    for (int i = 0; i < 10; i++)
        put(a, &l, taken(&l, NULL, NULL)); /* each asks again at once */
    for (int round = 0; round < 5; round++) {
        put(a, &l, 3);
        size_t before = 0;
        for (uint32_t uid; (uid = taken(&l, NULL, NULL)) != 3; before++)
            put(a, &l, uid);
        assert_in_range(before, 0, 3);
    }
    assert_int_equal(taken(&l, may_not, &not ), 2);
    for (not = 2; taken(&l, may_not, &not );)
        ;
    assert_int_equal(taken(&l, NULL, NULL), 2);
    request_line_drop(&l);
}

/* Whoever may have user namespaces is as many of them as he likes. */
static void users_without_a_name_have_the_turn_of_one(void **state)
{
    struct asked *a = *state;
    struct request_line l = {0};
    const struct peer nameless = {.uid = NAMELESS - 1}, named = {.uid = NAMELESS, .user = "ann"};
    for (uint32_t i = 0; i < 64; i++) {
        assert_false(request_line_is_full(&l, &nameless));
        put(a, &l, NAMELESS + i);
    }
    assert_true(request_line_is_full(&l, &nameless));
    assert_false(request_line_is_full(&l, &named));
    assert_int_equal(taken(&l, NULL, NULL), NAMELESS);
    put(a, &l, 3);
    put(a, &l, 4);
    assert_int_equal(taken(&l, NULL, NULL), 3);
    assert_int_equal(taken(&l, NULL, NULL), 4);
    assert_int_equal(taken(&l, NULL, NULL), NAMELESS + 1);
    request_line_drop(&l);
}

#define QUESTION(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        QUESTION(who_is_alone_has_copy_after_copy),
        QUESTION(with_others_about_a_copy_is_followed_by_a_rest),
        QUESTION(who_asks_in_the_rest_waits_too),
        QUESTION(without_room_for_a_copy_the_loop_answers),
        QUESTION(what_a_copy_found_is_done),
        QUESTION(users_have_the_head_in_turn_however_many_flood),
        QUESTION(users_without_a_name_have_the_turn_of_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
