/* What of a running job changes beside its nodes: licences, the reservation it is in, and a hold,
 * which is seen while it runs. */
#include "core_help.h"

#define HOUR USEC_PER_HOUR

static enum refusal change(uint64_t id, const char *fields, struct job_request to)
{
    struct job_spec values = {.req = to};
    struct msg_update_job m = {.ids = ids_of(id), .fields = fields, .values = {&values, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    enum refusal r = refusal();
    settle(0);
    core_check(w.c);
    return r;
}

static enum refusal licences(uint64_t id, const char *list)
{
    return change(id, "licenses", (struct job_request){.licenses = list});
}

static enum refusal moved(uint64_t id, const char *name)
{
    return change(id, "reservation", (struct job_request){.reservation = name});
}

static uint64_t with_licences(const char *list)
{
    struct job_spec s = a_job("one");
    s.req.licenses = list;
    return submit(s);
}

static enum refusal reserve(const char *name, struct reservation r, const char *fields)
{
    struct peer asks = w.peer;
    am_root();
    r.duration_us = r.duration_us ? r.duration_us : HOUR;
    say(1, MSG_UPDATE_RESERVATION,
        &(struct msg_update_reservation){.name = name,
                                         .create = true,
                                         .fields = arena_printf(w.a, "%s,duration_us", fields),
                                         .values = {&r, 1}});
    w.peer = asks;
    return refusal();
}

/* ---- licences ------------------------------------------------------------------------------- */

#define LICENCES "Licenses=lab:4,mat:2\n"

static void licences_come_free_at_once(void **unused)
{
    configure(LICENCES CONF);
    am_alice();
    uint64_t a = with_licences("lab:3"), b = with_licences("lab:2");
    assert_int_equal(state(a), JOB_RUNNING);
    assert_int_equal(state(b), JOB_PENDING);
    assert_int_equal(licences(a, "lab:2"), REFUSE_NONE);
    assert_string_equal(job(a)->spec.req.licenses, "lab:2");
    assert_int_equal(state(b), JOB_RUNNING);
    assert_int_equal(state(with_licences("lab")), JOB_PENDING);
}

static void its_owner_only_gives_some_back(void **unused)
{
    configure(LICENCES CONF);
    am_alice();
    uint64_t a = with_licences("lab:2");
    assert_int_equal(licences(a, "lab:3"), REFUSE_ACCESS_DENIED);
    assert_int_equal(licences(a, "lab:1,mat"), REFUSE_ACCESS_DENIED);
    assert_int_equal(licences(a, "nosuch"), REFUSE_LICENSES);
    assert_string_equal(job(a)->spec.req.licenses, "lab:2");
    am_bob();
    assert_int_equal(licences(a, "lab:1"), REFUSE_ACCESS_DENIED);
    am_alice();
    assert_int_equal(licences(a, "lab:1"), REFUSE_NONE);
    assert_int_equal(licences(a, NULL), REFUSE_NONE);
    assert_int_equal(state(with_licences("lab:4")), JOB_RUNNING);
}

/* More than is free is what the job really uses: nobody else gets one until enough came back. */
static void an_operator_gives_more_than_is_free(void **unused)
{
    configure(LICENCES CONF);
    am_alice();
    uint64_t a = with_licences("lab:2"), b = with_licences("lab:2");
    am_olga();
    assert_int_equal(licences(a, "lab:5"), REFUSE_LICENSES);
    assert_int_equal(licences(a, "lab:4"), REFUSE_NONE);
    am_alice();
    uint64_t c = with_licences("lab:1");
    script_ends(b, 0);
    settle(0);
    assert_int_equal(state(c), JOB_PENDING);
    restart(LICENCES CONF);
    for (int n = 1; n <= 4; n++) {
        struct held held = {.job_id = a, .attempt = 1, .step_id = STEP_BATCH};
        hello_holding(n, &held, text_is(job(a)->batch_host, arena_printf(w.a, "n%d", n)));
    }
    settle(0);
    assert_int_equal(state(c), JOB_PENDING);
    assert_int_equal(licences(a, "lab:3"), REFUSE_NONE);
    assert_int_equal(state(c), JOB_RUNNING);
}

static void a_suspended_job_keeps_its_licences(void **unused)
{
    configure(LICENCES CONF);
    am_alice();
    uint64_t a = with_licences("lab:4"), b = with_licences("lab:4");
    am_olga();
    assert_int_equal(control(ids_of(a), ACTION_SUSPEND), REFUSE_NONE);
    assert_int_equal(state(b), JOB_PENDING);
    assert_int_equal(licences(a, NULL), REFUSE_NONE);
    assert_int_equal(state(b), JOB_RUNNING);
    assert_int_equal(control(ids_of(a), ACTION_RESUME), REFUSE_NONE);
    assert_int_equal(state(a), JOB_RUNNING);
}

/* ---- reservations --------------------------------------------------------------------------- */

static void a_job_is_moved_and_ends_with_it(void **unused)
{
    am_alice();
    struct job_spec s = a_job("one");
    s.req.nodelist = "n1";
    s.req.time_limit_us = 50 * MIN;
    uint64_t id = submit(s);
    assert_int_equal(reserve("mine",
                             (struct reservation){.users = "alice",
                                                  .nodes = "n1",
                                                  .start_us = w.now + 10 * MIN,
                                                  .duration_us = 10 * MIN,
                                                  .flags = RESV_IGNORE_JOBS},
                             "users,nodes,start_us,flags"),
                     REFUSE_NONE);
    assert_int_equal(moved(id, "mine"), REFUSE_NONE);
    assert_string_equal(job(id)->run_reservation, "mine");
    pass(15 * MIN);
    assert_int_equal(state(id), JOB_RUNNING);
    pass(6 * MIN);
    assert_int_not_equal(state(id), JOB_RUNNING);
}

/* Its limit was cut by the reservation, behind which others may have been promised the node: who
 * leaves goes on to that limit, and an operator who takes him out gives him all he asked for. */
static void a_job_leaves(void (*who)(void), bool goes_on)
{
    am_alice();
    struct job_spec s = a_job("one");
    assert_int_equal(
        reserve("mine",
                (struct reservation){
                    .users = "alice", .nodes = "n1", .start_us = w.now, .duration_us = 10 * MIN},
                "users,nodes,start_us"),
        REFUSE_NONE);
    s.req.reservation = "mine";
    s.req.time_limit_us = 50 * MIN;
    uint64_t id = submit(s);
    assert_string_equal(job(id)->run_reservation, "mine");
    who();
    assert_int_equal(moved(id, ""), REFUSE_NONE);
    am_alice();
    assert_null(job(id)->run_reservation);
    assert_int_equal(job(id)->limit_us, (goes_on ? 50 : 10) * MIN);
    pass(9 * MIN);
    assert_int_equal(state(id), JOB_RUNNING);
    pass(3 * MIN);
    assert_int_equal(state(id) == JOB_RUNNING, goes_on);
    assert_int_equal(count((struct msg_query){.what = QUERY_RESERVATIONS}), 0);
}

static void its_owner_takes_it_out(void **unused)
{
    (void)unused;
    a_job_leaves(am_alice, false);
}

static void an_operator_takes_it_out(void **unused)
{
    (void)unused;
    a_job_leaves(am_olga, true);
}

static void where_it_does_not_belong_it_does_not_come(void **unused)
{
    am_alice();
    struct job_spec s = a_job("one");
    s.req.nodelist = "n1";
    uint64_t id = submit(s);
    static const struct {
        const char *name, *users, *nodes;
        uint32_t flags;
        enum refusal refusal;
    } rows[] = {{"bobs", "bob", "n1", RESV_IGNORE_JOBS | RESV_OVERLAP, REFUSE_RESERVATION_ACCESS},
                {"away", "alice", "n2", 0, REFUSE_RESERVATION},
                {"flex", "alice", "n3", RESV_FLEX, REFUSE_NONE},
                {"here", "alice", "n[1-2]", RESV_IGNORE_JOBS | RESV_OVERLAP, REFUSE_NONE}};
    assert_int_equal(moved(id, "nosuch"), REFUSE_RESERVATION);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(reserve(rows[i].name,
                                 (struct reservation){.users = rows[i].users,
                                                      .nodes = rows[i].nodes,
                                                      .start_us = w.now + HOUR,
                                                      .flags = rows[i].flags},
                                 "users,nodes,start_us,flags"),
                         REFUSE_NONE);
        if (moved(id, rows[i].name) != rows[i].refusal)
            fail_msg("%s: %d", rows[i].name, (int)refusal());
    }
    assert_int_equal(moved(id, "flex,here"), REFUSE_RESERVATION);
    assert_string_equal(job(id)->run_reservation, "here");
    /* As a list of a waiting job may have them, and no name of a reservation has. */
    static const char *const blanks[] = {" flex", "here ", "\tflex\t", "  here"};
    for (size_t i = 0; i < ARRAY_LEN(blanks); i++) {
        assert_int_equal(moved(id, blanks[i]), REFUSE_NONE);
        assert_string_equal(job(id)->run_reservation, i % 2 ? "here" : "flex");
        assert_string_equal(job(id)->spec.req.reservation, i % 2 ? "here" : "flex");
    }
    assert_int_equal(moved(id, " nosuch "), REFUSE_RESERVATION);
    assert_int_equal(moved(id, " "), REFUSE_RESERVATION);
    assert_int_equal(moved(id, ","), REFUSE_RESERVATION);
    assert_string_equal(job(id)->run_reservation, "here");
}

/* ---- nodes, holds --------------------------------------------------------------------------- */

static void nodes_are_kept_by_one_number(void **unused)
{
    am_alice();
    struct job_spec s = a_wide_job("wide");
    s.req.min_nodes = s.req.max_nodes = 3;
    s.req.ntasks = 3;
    uint64_t id = submit(s);
    const char *fields = "min_nodes,max_nodes,node_sizes";
    assert_int_equal(change(id, fields, (struct job_request){.min_nodes = 1, .max_nodes = 2}),
                     REFUSE_NOT_PENDING);
    assert_int_equal(change(id, fields, (struct job_request){.min_nodes = 3, .max_nodes = 2}),
                     REFUSE_NOT_PENDING);
    assert_int_equal(job(id)->alloc_nodes, 3);
    assert_int_equal(change(id, fields, (struct job_request){.min_nodes = 2, .max_nodes = 2}),
                     REFUSE_NONE);
    assert_int_equal(job(id)->alloc_nodes, 2);
}

static void a_hold_is_seen_while_it_runs(void **unused)
{
    am_alice();
    uint64_t id = submit(a_job("one")), had = job(id)->priority;
    assert_true(had > 0);
    static const struct {
        void (*who)(void);
        enum job_action deed;
        enum job_reason reason;
    } rows[] = {{am_alice, ACTION_HOLD, REASON_HELD_USER},
                {am_olga, ACTION_HOLD, REASON_HELD_ADMIN},
                {am_olga, ACTION_UHOLD, REASON_HELD_USER}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        rows[i].who();
        assert_int_equal(control(ids_of(id), rows[i].deed), REFUSE_NONE);
        assert_int_equal(job(id)->priority, 0);
        assert_int_equal(job(id)->reason, rows[i].reason);
    }
    struct job_spec five = {.priority_asked = 5}, none = {.hold = true};
    struct msg_update_job m = {
        .ids = ids_of(id), .fields = "priority_asked,hold", .values = {&five, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_HELD);
    m.values.v = &none;
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_NONE);
    assert_int_equal(job(id)->priority, had);
    assert_int_equal(job(id)->reason, REASON_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(licences_come_free_at_once),
        STORY(its_owner_only_gives_some_back),
        STORY(an_operator_gives_more_than_is_free),
        STORY(a_suspended_job_keeps_its_licences),
        STORY(a_job_is_moved_and_ends_with_it),
        STORY(its_owner_takes_it_out),
        STORY(an_operator_takes_it_out),
        STORY(where_it_does_not_belong_it_does_not_come),
        STORY(nodes_are_kept_by_one_number),
        STORY(a_hold_is_seen_while_it_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
