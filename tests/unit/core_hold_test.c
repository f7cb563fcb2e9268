/* Who may let a held job go: every sequence of two deeds of its owner, an operator and root, of one
 * of the owner and of his release, on a job that waits and on one that runs. What has to come out
 * is foretold here, as a real Slurm 22.05 did it. */
#include "core_help.h"
#include "model/job/job_counts.h"

enum strength { FREE, HELD_BY_USER, HELD_BY_ADMIN };

enum deed { HOLD, UHOLD, PRIORITY_0, RELEASE, UNHOLD, NICE, REQUEUE, REQUEUE_HOLD, AGAIN, DEEDS };
static const char *const deed_text[] = {[HOLD] = "hold",
                                        [UHOLD] = "uhold",
                                        [PRIORITY_0] = "Priority=0",
                                        [RELEASE] = "release",
                                        [UNHOLD] = "Priority=5",
                                        [NICE] = "Nice=10",
                                        [REQUEUE] = "requeue",
                                        [REQUEUE_HOLD] = "requeuehold",
                                        [AGAIN] = "restart of the controller"};

enum actor { OWNER, OPERATOR, ROOT, ACTORS };
static const char *const actor_text[] = {"owner", "operator", "root"};

static void act_as(enum actor who)
{
    if (who == OWNER)
        am_alice();
    else if (who == OPERATOR)
        am_olga();
    else
        am_root();
}

static enum refusal change(const char *ids, const char *fields, struct job_spec values)
{
    struct msg_update_job m = {.ids = ids, .fields = fields, .values = {&values, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    return refusal();
}

static void nodes_come(uint64_t running)
{
    for (int n = 1; n <= 4; n++) {
        struct held held = {.job_id = running, .attempt = 1, .step_id = STEP_BATCH};
        bool here = running && text_is(job(running)->batch_host, arena_printf(w.a, "n%d", n));
        hello_holding(n, &held, here);
    }
}

static enum refusal act(uint64_t id, enum deed what, bool runs)
{
    const char *ids = ids_of(id);
    switch (what) {
    case HOLD: return control(ids, ACTION_HOLD);
    case UHOLD: return control(ids, ACTION_UHOLD);
    case RELEASE: return control(ids, ACTION_RELEASE);
    case REQUEUE: return runs ? REFUSE_NONE : control(ids, ACTION_REQUEUE);
    case REQUEUE_HOLD: return runs ? REFUSE_NONE : control(ids, ACTION_REQUEUE_HOLD);
    case PRIORITY_0: return change(ids, "hold,priority_asked", (struct job_spec){.hold = true});
    case UNHOLD: return change(ids, "hold,priority_asked", (struct job_spec){.priority_asked = 5});
    case NICE: return change(ids, "nice", (struct job_spec){.nice = 10});
    case AGAIN: {
        struct peer asks = w.peer;
        restart(CONF);
        nodes_come(runs ? id : 0);
        w.peer = asks;
        return REFUSE_NONE;
    }
    case DEEDS: break;
    }
    return REFUSE_NONE;
}

static enum strength foretell(enum strength now, enum actor who, enum deed what)
{
    bool admin = who != OWNER;
    switch (what) {
    case HOLD:
    case PRIORITY_0: return admin ? HELD_BY_ADMIN : now == FREE ? HELD_BY_USER : now;
    case UHOLD: return admin || now == FREE ? HELD_BY_USER : now;
    case RELEASE: return now == HELD_BY_ADMIN && !admin ? now : FREE;
    case UNHOLD:
    case NICE:
    case REQUEUE: /* of a job that waits: refused */
    case REQUEUE_HOLD:
    case AGAIN:
    case DEEDS: break;
    }
    return now;
}

static enum strength strength_of(uint64_t id)
{
    const struct job *j = job(id);
    if (!j->spec.hold)
        return FREE;
    return j->reason == REASON_HELD_ADMIN ? HELD_BY_ADMIN : HELD_BY_USER;
}

static uint64_t submit_later(void)
{
    struct job_spec s = a_job("one");
    am_alice();
    s.begin_us = w.now + 60 * MIN;
    return submit(s);
}

struct deed_of {
    enum actor who;
    enum deed what;
};

/* Four deeds; the last is the owner's release. */
static void the_sequence(const struct deed_of deed[4], bool runs)
{
    enum strength want = FREE;
    uint64_t id = runs ? (am_alice(), submit(a_job("one"))) : submit_later();
    for (int i = 0; i < 4; i++) {
        act_as(deed[i].who);
        act(id, deed[i].what, runs);
        want = foretell(want, deed[i].who, deed[i].what);
    }
    if (runs) { /* its hold is seen when it is back */
        am_alice();
        assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
        script_ends(id, 15);
    }
    if (strength_of(id) != want)
        fail_msg("%s: after %s %s, %s %s, %s %s, owner release: strength %d, not %d",
                 runs ? "running" : "waiting", actor_text[deed[0].who], deed_text[deed[0].what],
                 actor_text[deed[1].who], deed_text[deed[1].what], actor_text[deed[2].who],
                 deed_text[deed[2].what], (int)strength_of(id), (int)want);
    am_root();
    cancel(ids_of(id));
    if (state(id) != JOB_CANCELLED)
        script_ends(id, 15);
}

static void every_sequence(bool runs)
{
    static const struct deed_of first[] = {
        {OWNER, HOLD},     {OWNER, PRIORITY_0}, {OWNER, RELEASE},   {OPERATOR, HOLD},
        {OPERATOR, UHOLD}, {OPERATOR, RELEASE}, {ROOT, PRIORITY_0}, {ROOT, AGAIN}};
    for (size_t a = 0; a < ARRAY_LEN(first); a++) {
        world_close(); /* jobs that are over stay in the store, and make it slow */
        world_open(CONF, 4);
        for (size_t b = 0; b < ARRAY_LEN(first); b++)
            for (int c = 0; c < AGAIN; c++)
                the_sequence(
                    (const struct deed_of[]){
                        first[a], first[b], {OWNER, (enum deed)c}, {OWNER, RELEASE}},
                    runs);
    }
}

static void of_a_waiting_job(void **unused)
{
    every_sequence(false);
}

static void of_a_running_job(void **unused)
{
    every_sequence(true);
}

static void an_element_is_held_as_its_array_is(void **unused)
{
    struct job_spec s = a_job("many");
    s.array = "0-3";
    s.begin_us = w.now + 60 * MIN;
    uint64_t id = submit(s);
    const char *one = arena_printf(w.a, "%llu_1", (unsigned long long)id);
    am_olga();
    assert_int_equal(control(ids_of(id), ACTION_HOLD), REFUSE_NONE);
    am_alice();
    assert_int_equal(control(one, ACTION_HOLD), REFUSE_NONE);
    assert_int_equal(control(one, ACTION_RELEASE), REFUSE_ACCESS_DENIED);
    assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_ACCESS_DENIED);
    am_olga();
    assert_int_equal(control(one, ACTION_RELEASE), REFUSE_NONE);
}

static void a_held_job_that_ended_and_goes_back_is_held(void **unused)
{
    uint64_t id = submit(a_job("one"));
    am_olga();
    assert_int_equal(control(ids_of(id), ACTION_HOLD), REFUSE_NONE);
    script_ends(id, 1 << 8);
    am_alice();
    assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
    assert_int_equal(strength_of(id), HELD_BY_ADMIN);
}

/* Its end is on its way when the owner asks for another run. */
static void a_held_job_that_is_completing_goes_back_held(void **unused)
{
    uint64_t id = submit(a_job("one"));
    int host = job(id)->batch_host[1] - '0';
    am_olga();
    assert_int_equal(control(ids_of(id), ACTION_HOLD), REFUSE_NONE);
    report(host, (struct msg_report){
                     .kind = REPORT_EXITED, .job_id = id, .attempt = 1, .step_id = STEP_BATCH});
    assert_int_equal(state(id), JOB_COMPLETING);
    am_alice();
    assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
    report(host, (struct msg_report){.kind = REPORT_RELEASED, .job_id = id, .attempt = 1});
    assert_int_equal(state(id), JOB_PENDING);
    assert_int_equal(strength_of(id), HELD_BY_ADMIN);
}

/* What an operator suspended does not go on because its owner, or a node, sends it back; only who
 * may suspend lets it go. */
static void a_suspended_job_that_goes_back_is_held(void **unused)
{
    enum { BY_OWNER, BY_OWNER_HELD, BY_OPERATOR, BY_OPERATOR_HELD, BY_NODE, WAYS };
    for (int way = 0; way < WAYS; way++) {
        am_alice();
        uint64_t id = submit(a_job("one"));
        int host = job(id)->batch_host[1] - '0';
        am_olga();
        assert_int_equal(control(ids_of(id), ACTION_SUSPEND), REFUSE_NONE);
        if (way < BY_OPERATOR)
            am_alice();
        bool held = way == BY_OWNER_HELD || way == BY_OPERATOR_HELD;
        if (way != BY_NODE)
            assert_int_equal(control(ids_of(id), held ? ACTION_REQUEUE_HOLD : ACTION_REQUEUE),
                             REFUSE_NONE);
        report(host, (struct msg_report){.kind = way == BY_NODE ? REPORT_LOST : REPORT_EXITED,
                                         .job_id = id,
                                         .attempt = 1,
                                         .step_id = STEP_BATCH});
        report(host, (struct msg_report){.kind = REPORT_RELEASED, .job_id = id, .attempt = 1});
        assert_int_equal(state(id), JOB_PENDING);
        assert_int_equal(job(id)->reason,
                         way == BY_OPERATOR_HELD ? REASON_REQUEUED_HELD : REASON_HELD_ADMIN);
        am_alice();
        assert_int_equal(control(ids_of(id), ACTION_RELEASE),
                         way == BY_OPERATOR_HELD ? REFUSE_NONE : REFUSE_ACCESS_DENIED);
        am_olga();
        assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_NONE);
        settle(0);
        assert_int_equal(state(id), JOB_RUNNING);
        cancel(ids_of(id));
        settle(0);
    }
}

/* Resumed before it goes back it is not held, nor one that gave way and was not stopped by anybody. */
static void a_resumed_job_that_goes_back_is_not_held(void **unused)
{
    uint64_t id = submit(a_job("one"));
    int host = job(id)->batch_host[1] - '0';
    am_olga();
    control(ids_of(id), ACTION_SUSPEND);
    control(ids_of(id), ACTION_RESUME);
    am_alice();
    assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
    report(host, (struct msg_report){.kind = REPORT_RELEASED, .job_id = id, .attempt = 1});
    settle(0);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(job(id)->attempt, 2);
}

/* Sent back and cancelled on its way, it has no hold that came with the way; one that somebody gave
 * it stays, whenever its owner has it run again. */
static void what_is_cancelled_on_its_way_is_not_held_later(void **unused)
{
    enum { BY_PROLOG, BY_HAND, HELD_BEFORE, HELD_BY_OPERATOR, WAYS };
    static const enum strength later[] = {
        [HELD_BEFORE] = HELD_BY_USER, [HELD_BY_OPERATOR] = HELD_BY_ADMIN, [BY_HAND] = FREE};
    for (int way = 0; way < 2 * WAYS; way++) {
        int how = way % WAYS;
        bool at_once = way >= WAYS;
        am_alice();
        uint64_t id = submit(a_job("one"));
        int host = job(id)->batch_host[1] - '0';
        if (how == HELD_BY_OPERATOR)
            am_olga();
        if (how == HELD_BEFORE || how == HELD_BY_OPERATOR)
            assert_int_equal(control(ids_of(id), ACTION_HOLD), REFUSE_NONE);
        am_alice();
        bool by_hand = how == BY_HAND || how == HELD_BY_OPERATOR;
        if (how != BY_PROLOG)
            assert_int_equal(control(ids_of(id), by_hand ? ACTION_REQUEUE_HOLD : ACTION_REQUEUE),
                             REFUSE_NONE);
        report(host, (struct msg_report){.kind = how == BY_PROLOG ? REPORT_FAILED : REPORT_EXITED,
                                         .job_id = id,
                                         .attempt = 1,
                                         .step_id = STEP_BATCH,
                                         .retry = true,
                                         .prolog = true});
        assert_int_equal(state(id), JOB_REQUEUED);
        assert_int_equal(cancel(ids_of(id)), REFUSE_NONE);
        assert_int_equal(state(id), JOB_COMPLETING);
        if (at_once)
            assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
        report(host, (struct msg_report){.kind = REPORT_RELEASED, .job_id = id, .attempt = 1});
        if (!at_once)
            assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
        assert_int_equal(strength_of(id), later[how]);
        am_root();
        cancel(ids_of(id));
        settle(0);
    }
}

/* As in Slurm it is submitted anew; the planner and other dialects know when it first was. */
static void who_goes_back_is_submitted_then(void **unused)
{
    uint64_t id = submit(a_job("one"));
    int64_t first = job(id)->submit_us;
    for (uint32_t attempt = 1; attempt <= 2; attempt++) {
        int host = job(id)->batch_host[1] - '0';
        assert_true(job_first_submit_us(job(id)) == first);
        w.now += 10 * USEC_PER_SEC;
        assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
        report(host,
               (struct msg_report){.kind = REPORT_RELEASED, .job_id = id, .attempt = attempt});
        assert_true(job(id)->submit_us >= first + (int64_t)attempt * 10 * USEC_PER_SEC);
        assert_true(job(id)->eligible_us >= job(id)->submit_us);
        restart(CONF);
        nodes_come(0);
        settle(0);
    }
    assert_true(job_first_submit_us(job(id)) == first);
    int64_t kept[2] = {0};
    size_t n = 0;
    for (size_t i = 0; i < w.store.n; i++)
        if (w.store.v[i].table == TABLE_JOB_RUN && n < 2)
            kept[n++] = ((const struct job *)w.store.v[i].record)->submit_us;
    assert_int_equal(n, 2);
    assert_true(kept[0] == first && kept[1] > first && kept[1] < job(id)->submit_us);
}

static void a_store_that_knew_reasons_alone_is_understood(void **unused)
{
    uint64_t id = submit_later();
    am_olga();
    control(ids_of(id), ACTION_HOLD);
    for (size_t i = 0; i < w.store.n; i++)
        if (w.store.v[i].table == TABLE_JOB)
            ((struct job *)w.store.v[i].record)->admin_hold = false;
    restart(CONF);
    am_alice();
    control(ids_of(id), ACTION_HOLD);
    assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_ACCESS_DENIED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(of_a_waiting_job),
        STORY(of_a_running_job),
        STORY(an_element_is_held_as_its_array_is),
        STORY(a_held_job_that_ended_and_goes_back_is_held),
        STORY(a_held_job_that_is_completing_goes_back_held),
        STORY(a_suspended_job_that_goes_back_is_held),
        STORY(a_resumed_job_that_goes_back_is_not_held),
        STORY(what_is_cancelled_on_its_way_is_not_held_later),
        STORY(who_goes_back_is_submitted_then),
        STORY(a_store_that_knew_reasons_alone_is_understood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
