/* The end of a job's output, asked of its node: who may, what is told to whom, and what holds up
 * nobody. */
#include "core_help.h"

#define STAFF 4711u

static size_t told(enum effect_kind how, uint64_t conn, enum message_kind kind, const void **ret)
{
    size_t n = 0;
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == how && w.fx.v[i].conn == conn && w.fx.v[i].msg.kind == kind) {
            n++;
            *ret = w.fx.v[i].msg.body;
        }
    return n;
}

/* The number of the question that n1 gets; 0 = none. */
static uint64_t asked(uint64_t conn, uint64_t id)
{
    const void *body = NULL;
    say(conn, MSG_GET_OUTPUT,
        &(struct msg_get_output){.job_id = id, .attempt = 1, .out = "/d/o", .err = "/d/e"});
    if (!told(FX_SEND, CONN_OF(1), MSG_READ_OUTPUT, &body))
        return 0;
    const struct msg_read_output *m = body;
    assert_int_equal(m->uid, ALICE);
    assert_int_equal(m->gid, STAFF); /* which is neither root's nor named as she is */
    assert_string_equal(m->out, "/d/o");
    assert_string_equal(m->err, "/d/e");
    return m->number;
}

static void answers(int node, uint64_t number)
{
    struct peer asks = w.peer;
    am_root();
    say(CONN_OF(node), MSG_OUTPUT_READ,
        &(struct msg_output_read){.number = number, .out = {.data = "x\n", .len = 2}});
    w.peer = asks;
}

static uint64_t running(void)
{
    struct job_spec s = a_job("a");
    s.req.nodelist = "n1";
    w.peer.gid = STAFF;
    uint64_t id = submit(s);
    assert_int_equal(job(id)->group_id, STAFF);
    assert_int_equal(state(id), JOB_RUNNING);
    return id;
}

static void who_asks_gets_what_the_node_says(void **state_)
{
    uint64_t id = running(), first = asked(7, id), second = asked(8, id);
    const void *body = NULL;
    (void)state_;
    assert_true(first && second && first != second);
    assert_null(answer());
    answers(2, first); /* not its question */
    assert_int_equal(told(FX_REPLY, 7, MSG_OUTPUT, &body), 0);
    answers(1, second);
    assert_int_equal(told(FX_REPLY, 7, MSG_OUTPUT, &body), 0);
    assert_int_equal(told(FX_REPLY, 8, MSG_OUTPUT, &body), 1);
    assert_int_equal(((const struct msg_output *)body)->out.len, 2);
    answers(1, second); /* once */
    assert_int_equal(told(FX_REPLY, 8, MSG_OUTPUT, &body), 0);
    step((struct event){.kind = EV_CLOSED, .conn = 7});
    answers(1, first); /* nobody is there */
    assert_int_equal(told(FX_REPLY, 7, MSG_OUTPUT, &body), 0);
}

static void only_the_owner_asks_and_only_about_this_run(void **state_)
{
    uint64_t id = running();
    (void)state_;
    am_bob();
    assert_int_equal(asked(7, id), 0);
    assert_int_equal(refusal(), REFUSE_ACCESS_DENIED);
    am_olga();
    assert_int_equal(asked(7, id), 0);
    am_root();
    assert_int_equal(asked(7, id), 0);
    am_alice();
    assert_int_equal(asked(7, id + 1), 0);
    assert_int_equal(refusal(), REFUSE_INVALID_JOB_ID);
    say(7, MSG_GET_OUTPUT, &(struct msg_get_output){.job_id = id, .attempt = 2, .out = "/d/o"});
    assert_int_equal(refusal(), REFUSE_INVALID_JOB_ID);
    assert_true(asked(7, id) != 0);
}

static void a_node_that_goes_or_says_nothing_holds_up_nobody(void **state_)
{
    uint64_t id = running();
    (void)state_;
    for (uint64_t conn = 10; conn < 14; conn++)
        assert_true(asked(conn, id) != 0);
    assert_int_equal(asked(14, id), 0); /* four of a user */
    assert_int_equal(refusal(), REFUSE_BUSY);
    pass(61 * SEC);
    const void *body = NULL;
    assert_true(asked(15, id) != 0);
    assert_int_equal(told(FX_REPLY, 10, MSG_DONE, &body), 1);
    gone(1);
    assert_int_equal(told(FX_REPLY, 15, MSG_DONE, &body), 1);
    assert_int_equal(((const struct msg_done *)body)->refusal, REFUSE_BUSY);
    assert_int_equal(asked(16, id), 0);
    assert_int_equal(refusal(), REFUSE_BUSY);
    hello_holding(1, (struct held[]){{.job_id = id, .attempt = 1, .step_id = STEP_BATCH}}, 1);
    assert_true(asked(17, id) != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(who_asks_gets_what_the_node_says),
        STORY(only_the_owner_asks_and_only_about_this_run),
        STORY(a_node_that_goes_or_says_nothing_holds_up_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
