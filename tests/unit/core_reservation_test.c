/* Reservations, as the controller keeps them. */
#include "core_help.h"

#include "base/list.h"
#include "model/limits.h"

#define DAY (24 * USEC_PER_HOUR)

static const struct reservation *resv(void)
{
    return the(QUERY_RESERVATIONS, "r");
}

static enum refusal asked(bool create, struct reservation r, const char *fields)
{
    am_root();
    say(1, MSG_UPDATE_RESERVATION,
        &(struct msg_update_reservation){
            .name = "r", .create = create, .fields = fields, .values = {&r, 1}});
    return refusal();
}

static void change(bool create, struct reservation r, const char *fields)
{
    assert_int_equal(asked(create, r, fields), REFUSE_NONE);
}

/* In the second night clocks skip the hour in which it begins. Whatever is changed of it on that
 * day, but its start, the days after have the time that was asked for; a start that is set is its
 * time from then on. */
static void a_change_of_a_night_that_is_skipped_keeps_the_time(void **unused)
{
    static const struct {
        const char *fields;
        int64_t third; /* begins, after the first */
    } rows[] = {{"comment", 2 * DAY - USEC_PER_HOUR},
                {"duration_us", 2 * DAY - USEC_PER_HOUR},
                {"users", 2 * DAY - USEC_PER_HOUR},
                {"start_us,duration_us", 2 * DAY}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        world_open(CONF, 4);
        int64_t first = w.now + 4 * USEC_PER_HOUR; /* at 02:13 */
        w.config.zone =
            arena_printf(w.a, "0:0 %lld:3600", (long long)((first + DAY) / USEC_PER_SEC - 600));
        step((struct event){.kind = EV_CONFIG, .config = &w.config});
        struct reservation r = {.users = "bob",
                                .nodes = "n1",
                                .start_us = first,
                                .duration_us = 30 * MIN,
                                .flags = RESV_DAILY};
        change(true, r, "users,nodes,start_us,duration_us,flags");
        pass(5 * USEC_PER_HOUR);
        assert_int_equal(resv()->start_us, first + DAY);
        r = (struct reservation){.users = "alice",
                                 .comment = "longer",
                                 .start_us = first + DAY,
                                 .duration_us = 40 * MIN};
        change(false, r, rows[i].fields);
        assert_int_equal(resv()->start_us, first + DAY);
        pass(DAY);
        assert_int_equal(resv()->start_us, first + rows[i].third);
        world_close();
    }
}

/* Commands say so themselves; a frame that somebody wrote was taken, and the reservation lost when
 * the controller started again. */
static void it_recurs_in_one_way(void **unused)
{
    world_open(CONF, 4);
    struct reservation r = {.users = "bob",
                            .nodes = "n1",
                            .start_us = w.now + USEC_PER_HOUR,
                            .duration_us = 30 * MIN,
                            .flags = RESV_HOURLY | RESV_DAILY};
    assert_int_equal(asked(true, r, "users,nodes,start_us,duration_us,flags"), REFUSE_RESERVATION);
    r.flags = RESV_DAILY;
    change(true, r, "users,nodes,start_us,duration_us,flags");
    r.flags = RESV_DAILY | RESV_WEEKLY;
    assert_int_equal(asked(false, r, "flags"), REFUSE_RESERVATION);
    assert_int_equal(resv()->flags & RESV_RECURRING, RESV_DAILY);
    world_close();
}

/* ---- whom it is for ---- */

#define OF_ALICE ((struct reservation){.users = "alice"})

static void for_alice(void)
{
    world_open(CONF, 4);
    struct reservation r = OF_ALICE;
    r.nodes = "n[1-2]";
    r.start_us = w.now;
    r.duration_us = DAY;
    change(true, r, "users,nodes,start_us,duration_us");
    am_alice();
}

static struct job_spec inside(const char *name)
{
    struct job_spec s = a_wide_job(name);
    s.req.reservation = "r";
    return s;
}

/* The first fills the nodes; what is behind it waits. Each looks anew when it is about to start. */
static void who_is_let_in_no_more_does_not_start(void **unused)
{
    static const struct {
        const char *users, *accounts, *fields;
    } rows[] = {{"bob", NULL, "users"},
                {"-alice", NULL, "users"},
                {NULL, "other", "users,accounts"},
                {NULL, "-mine", "users,accounts"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for_alice();
        struct job_spec s = inside("j"), array = inside("array"),
                        both[] = {inside("a"), inside("b")};
        s.req.account = array.req.account = both[0].req.account = both[1].req.account = "mine";
        array.array = "0-3";
        s.req.ntasks = 16;
        s.req.min_nodes = s.req.max_nodes = 2;
        uint64_t first = submit(s), plain = submit(s), many = submit(array),
                 het = submit_all(both, 2);
        assert_true(first && plain && many && het);
        assert_int_equal(state(first), JOB_RUNNING);
        change(false, (struct reservation){.users = rows[i].users, .accounts = rows[i].accounts},
               rows[i].fields);
        assert_int_equal(state(first), JOB_RUNNING); /* what runs goes on */
        script_ends(first, 0);
        pass(MIN);
        const uint64_t waiting[] = {plain, many, het, het + 1};
        for (size_t k = 0; k < ARRAY_LEN(waiting); k++) {
            assert_int_equal(state(waiting[k]), JOB_PENDING);
            assert_int_equal(job(waiting[k])->reason, REASON_RESERVATION);
        }
        assert_non_null(strstr(why_one(plain)->because, "no longer, for its user"));
        change(false, (struct reservation){.users = "alice"}, "users,accounts");
        pass(MIN);
        size_t free = 0;
        for (size_t k = 0; k < ARRAY_LEN(waiting); k++)
            free += job(waiting[k])->reason != REASON_RESERVATION;
        assert_int_equal(free, ARRAY_LEN(waiting));
        assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .states = "RUNNING"}) > 0, 1);
        world_close();
    }
}

/* An account let it in: with another it is refused, whatever else is asked for. */
static void with_another_account_it_does_not_stay(void **unused)
{
    for_alice();
    change(false, (struct reservation){.accounts = "mine"}, "users,accounts");
    am_alice();
    struct job_spec s = inside("j"), to = {.req = {.account = "other", .time_limit_us = 5 * MIN}};
    s.req.account = "mine";
    s.hold = true;
    uint64_t id = submit(s);
    assert_int_not_equal(id, 0);
    static const char *const fields[] = {"account", "account,time_limit_us"};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        struct msg_update_job m = {.ids = ids_of(id), .fields = fields[i], .values = {&to, 1}};
        am_alice();
        say(1, MSG_UPDATE_JOB, &m);
        assert_int_equal(refusal(), REFUSE_RESERVATION_ACCESS);
        am_olga();
        say(1, MSG_UPDATE_JOB, &m);
        assert_int_equal(refusal(), REFUSE_RESERVATION_ACCESS);
    }
    assert_string_equal(job(id)->spec.req.account, "mine");
    am_alice();
    struct msg_update_job m = {
        .ids = ids_of(id), .fields = "account,reservation", .values = {&to, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_string_equal(job(id)->spec.req.account, "other");
    world_close();
}

/* Groups are not asked again: of a job only one of its owner's is known. */
static void groups_are_asked_once(void **unused)
{
    for_alice();
    change(false, (struct reservation){.groups = "lab"}, "users,groups");
    am_alice();
    w.peer.groups = "alice,lab";
    struct job_spec s = inside("j"), to = {.req.account = "other"};
    s.hold = true;
    uint64_t id = submit(s);
    assert_int_not_equal(id, 0);
    am_olga();
    say(1, MSG_UPDATE_JOB,
        &(struct msg_update_job){.ids = ids_of(id), .fields = "account", .values = {&to, 1}});
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_NONE);
    pass(MIN);
    assert_int_equal(state(id), JOB_RUNNING);
    world_close();
}

static void drop(void)
{
    am_root();
    say(1, MSG_UPDATE_RESERVATION, &(struct msg_update_reservation){.name = "r", .remove = true});
    assert_int_equal(refusal(), REFUSE_NONE);
}

static void back(uint64_t id, bool special)
{
    am_alice();
    say(1, MSG_JOB_CONTROL,
        &(struct msg_job_control){.ids = ids_of(id),
                                  .action = special ? ACTION_REQUEUE_HOLD : ACTION_REQUEUE,
                                  .special_exit = special});
    assert_int_equal(refusal(), REFUSE_NONE);
}

/* It goes from the request of whoever might wait for it once more, and the next may be for groups,
 * of which nobody asks when he starts: he is held, and runs elsewhere when he is let go. */
static void the_name_of_one_that_is_gone_lets_nobody_into_the_next(void **unused)
{
    static const enum job_state are[] = {JOB_FAILED, JOB_SPECIAL_EXIT, JOB_COMPLETING};
    static const struct {
        struct reservation r;
        const char *fields;
    } next[] = {{{.users = "bob"}, "users,nodes,start_us,duration_us"},
                {{.accounts = "other"}, "accounts,nodes,start_us,duration_us"},
                {{.groups = "physics"}, "groups,nodes,start_us,duration_us"}};
    for (size_t i = 0; i < ARRAY_LEN(are) * ARRAY_LEN(next); i++) {
        enum job_state is = are[i % ARRAY_LEN(are)];
        for_alice();
        uint64_t id = submit(inside("j"));
        assert_int_equal(state(id), JOB_RUNNING);
        if (is == JOB_COMPLETING)
            assert_int_equal(cancel(ids_of(id)), REFUSE_NONE);
        else
            script_ends(id, 0x100);
        if (is == JOB_SPECIAL_EXIT)
            back(id, true);
        assert_int_equal(state(id), is);
        drop();
        assert_null(job(id)->spec.req.reservation);
        struct reservation r = next[i / ARRAY_LEN(are)].r;
        r.nodes = "n2"; /* the other may be on its way back still */
        r.start_us = w.now;
        r.duration_us = DAY;
        change(true, r, next[i / ARRAY_LEN(are)].fields);
        if (is != JOB_SPECIAL_EXIT)
            back(id, false);
        if (is == JOB_COMPLETING)
            script_ends(id, 0x100);
        pass(130 * SEC);
        assert_int_equal(state(id), is == JOB_SPECIAL_EXIT ? is : JOB_PENDING);
        assert_true(job(id)->spec.hold);
        am_alice();
        assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_NONE);
        pass(MIN);
        assert_int_equal(state(id), JOB_RUNNING);
        assert_false(text_is(job(id)->nodes, "n2"));
        world_close();
    }
}

/* So many names, each with its number or all the same, and a comma between two. */
static const char *names(const char *name, size_t n, bool numbered)
{
    struct str text = STR_INIT;
    for (size_t i = 0; i < n; i++) {
        list_addf(&text, "%s", name);
        if (numbered)
            str_add_u64(&text, i);
    }
    const char *kept = arena_strdup(w.a, str_text(&text));
    str_done(&text);
    return kept;
}

static struct job_spec within(const char *reservations)
{
    struct job_spec s = a_job("names");
    s.req.reservation = reservations;
    s.hold = true;
    return s;
}

/* Each name is looked for whenever something happens to a job, and is an option of the planner. */
static void each_is_named_once(void **unused)
{
    for_alice();
    const char *often = names("r, r", 15000, false);
    struct job_spec to = within(often);
    uint64_t id = submit(to);
    assert_string_equal(job(id)->spec.req.reservation, "r");
    id = submit(within(NULL));
    struct msg_update_job m = {.ids = ids_of(id), .fields = "reservation", .values = {&to, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_string_equal(job(id)->spec.req.reservation, "r");
    static const char *const blanks[] = {",,", ",r", " ,r", "r,", "r,,r", "r, ,r", ",r,r"};
    for (size_t i = 0; i < ARRAY_LEN(blanks); i++) {
        assert_int_equal(submit(within(blanks[i])), 0);
        assert_int_equal(refusal(), REFUSE_RESERVATION);
    }
    world_close();
}

static void an_older_release_let_it_be_named_again_and_again(void **unused)
{
    for_alice();
    uint64_t id = submit(within("r"));
    for (size_t i = 0; i < w.store.n; i++)
        if (w.store.v[i].table == TABLE_JOB)
            ((struct job *)w.store.v[i].record)->spec.req.reservation = names("r, r", 15000, false);
    restart(CONF);
    assert_string_equal(job(id)->spec.req.reservation, "r");
    world_close();
}

static void reserved(bool create, const char *name, struct reservation r)
{
    am_root();
    say(1, MSG_UPDATE_RESERVATION,
        &(struct msg_update_reservation){.name = name,
                                         .create = create,
                                         .fields =
                                             create ? "users,nodes,start_us,duration_us" : "users",
                                         .values = {&r, 1}});
    assert_int_equal(refusal(), REFUSE_NONE);
}

static void so_many_are_named(void **unused)
{
    struct reservation r = OF_ALICE;
    world_open(CONF, 4);
    r.nodes = "n1";
    r.duration_us = 30 * MIN;
    for (size_t i = 0; i < LIMIT_JOB_RESERVATIONS + 1; i++) {
        r.start_us = w.now + (int64_t)(i + 1) * USEC_PER_HOUR;
        reserved(true, arena_printf(w.a, "r%zu", i), r);
    }
    am_alice();
    uint64_t id = submit(within(names("r", LIMIT_JOB_RESERVATIONS, true)));
    assert_int_not_equal(id, 0);
    struct job_spec many = within(names("r", LIMIT_JOB_RESERVATIONS + 1, true));
    assert_int_equal(submit(many), 0);
    assert_int_equal(refusal(), REFUSE_TOO_LARGE);
    assert_non_null(strstr(answer()->detail, "at most 32 reservations"));
    struct msg_update_job m = {.ids = ids_of(id), .fields = "reservation", .values = {&many, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_TOO_LARGE);
    world_close();
}

/* One of those it names is for others now, and begins first: it waits for the other, and does not
 * start there until it is let in again. */
static void of_several_it_runs_where_it_may(void **unused)
{
    static const char *const lists[] = {"soon,later", "later,soon"};
    for (size_t i = 0; i < 2 * ARRAY_LEN(lists); i++) {
        bool again = i >= ARRAY_LEN(lists);
        struct reservation r = OF_ALICE;
        world_open(CONF, 4);
        r.nodes = "n1";
        r.start_us = w.now + 10 * MIN;
        r.duration_us = DAY;
        reserved(true, "soon", r);
        r.nodes = "n2";
        r.start_us = w.now + 20 * MIN;
        reserved(true, "later", r);
        am_alice();
        struct job_spec s = a_job("either");
        s.req.time_limit_us = USEC_PER_HOUR;
        s.req.reservation = lists[i % ARRAY_LEN(lists)];
        uint64_t id = submit(s);
        reserved(false, "soon", (struct reservation){.users = "bob"});
        pass(15 * MIN);
        assert_int_equal(state(id), JOB_PENDING);
        if (again)
            reserved(false, "soon", (struct reservation){.users = "alice"});
        pass(MIN);
        assert_int_equal(state(id), again ? JOB_RUNNING : JOB_PENDING);
        pass(9 * MIN);
        assert_int_equal(state(id), JOB_RUNNING);
        assert_string_equal(job(id)->run_reservation, again ? "soon" : "later");
        assert_string_equal(job(id)->spec.req.reservation, lists[i % ARRAY_LEN(lists)]);
        world_close();
    }
}

/* Who is let in changes, and all that name it are looked at in one turn: what is made of each one's
 * names does not stay until the turn ends. */
static void a_turn_keeps_no_names_of_jobs(void **unused)
{
    enum { JOBS = 200, NAMED = 8, LONG = 200 };
    struct reservation r = OF_ALICE;
    char name[LONG + 1] = {0};
    world_open(CONF, 4);
    memset(name, 'r', LONG);
    r.nodes = "n1";
    r.duration_us = 30 * MIN;
    for (size_t i = 0; i < NAMED; i++) {
        r.start_us = w.now + (int64_t)(i + 1) * USEC_PER_HOUR;
        reserved(true, arena_printf(w.a, "%s%zu", name, i), r);
    }
    struct job_spec s = within(names(name, NAMED, true));
    s.hold = false;
    am_alice();
    for (int i = 0; i < JOBS; i++)
        assert_int_not_equal(submit(s), 0);
    reserved(false, arena_printf(w.a, "%s0", name), (struct reservation){.users = "bob"});
    assert_in_range(arena_used(w.fx.arena), 1, JOBS * LONG);
    world_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_recurs_in_one_way),
        cmocka_unit_test(who_is_let_in_no_more_does_not_start),
        cmocka_unit_test(with_another_account_it_does_not_stay),
        cmocka_unit_test(groups_are_asked_once),
        cmocka_unit_test(the_name_of_one_that_is_gone_lets_nobody_into_the_next),
        cmocka_unit_test(of_several_it_runs_where_it_may),
        cmocka_unit_test(each_is_named_once),
        cmocka_unit_test(an_older_release_let_it_be_named_again_and_again),
        cmocka_unit_test(so_many_are_named),
        cmocka_unit_test(a_turn_keeps_no_names_of_jobs),
        cmocka_unit_test(a_change_of_a_night_that_is_skipped_keeps_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
