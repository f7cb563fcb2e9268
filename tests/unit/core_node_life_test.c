/* A node that comes back as another: its machine was started anew, or is another of that name, or
 * the directory of its daemon was lost. What it had and has not any more is over, whether anybody
 * heard that it had begun or not; nothing of it runs for ever, and nothing twice. */
#include "core_step_help.h"

#define DISK_LOST   "boot1 disk2"
#define BOOT_ANEW   "boot2 disk1"
#define ALL_ANEW    "boot2 disk2"
#define LIFE_BEFORE "boot1 disk1"

#define DISK_UNREAD "boot1 -"
#define BOOT_UNREAD "- disk1"
#define ALL_UNREAD  "- -"
#define BOOT_ALONE  "boot2 -"
#define DISK_ALONE  "- disk2"

static const char *const lives[] = {DISK_LOST, BOOT_ANEW, ALL_ANEW};

static int open_lives(void **unused)
{
    (void)unused;
    world_open(CONF, 4);
    for (int n = 1; n <= 4; n++)
        hello_living(n, LIFE_BEFORE, NULL, 0);
    return 0;
}

/* A node that comes and goes as fast as it can writes nothing, as long as it says nothing new. */
static void who_flaps_writes_nothing(void **unused)
{
    (void)unused;
    size_t rows = 0;
    for (int k = 0; k < 3; k++) {
        step((struct event){.kind = EV_CLOSED, .conn = CONN_OF(2)});
        w.now += SEC;
        effects_reset(&w.fx);
        hello_living(2, k == 2 ? BOOT_ANEW : LIFE_BEFORE, NULL, 0);
        for (size_t i = 0; i < w.fx.n; i++)
            rows += w.fx.v[i].kind == FX_STORE;
        assert_int_equal(rows, k == 2);
    }
}

static int host_of(uint64_t id)
{
    return job(id)->batch_host[1] - '0';
}

static void begun(uint64_t id)
{
    report(host_of(id), (struct msg_report){.kind = REPORT_STARTED,
                                            .job_id = id,
                                            .attempt = job(id)->attempt,
                                            .step_id = STEP_BATCH});
}

/* The node goes and comes back, with the controller away meanwhile or not. */
static void comes_back(int n, const char *life, bool controller_restarts)
{
    gone(n);
    if (controller_restarts)
        restart(CONF);
    pass(9 * USEC_PER_SEC);
    hello_living(n, life, NULL, 0);
}

/* × whether its begin was heard of, whether it may run again, whether the controller was away. */
static void a_script_is_lost_with_its_node(void **unused)
{
    for (unsigned i = 0; i < ARRAY_LEN(lives) * 8; i++) {
        bool heard_of = i & 1, again = i & 2, away = i & 4;
        struct job_spec s = a_job("one");
        s.requeue = again ? YES : NO;
        uint64_t id = submit(s);
        int n = host_of(id);
        if (heard_of)
            begun(id);
        comes_back(n, lives[i / 8], away);
        assert_int_equal(job(id)->attempt, again ? 2 : 1);
        if (!again)
            assert_int_equal(state(id), JOB_NODE_FAIL);
        assert_int_equal(sent(FX_SEND, MSG_LAUNCH), again ? 1 : 0);
        world_close();
        open_lives(unused);
    }
}

/* One lost on its way is sent again by that alone, as before. */
static void the_same_life_loses_nothing(void **unused)
{
    (void)unused;
    for (int away = 0; away < 2; away++) {
        uint64_t id = submit(a_job("one"));
        comes_back(host_of(id), LIFE_BEFORE, away);
        assert_int_equal(sent(FX_SEND, MSG_LAUNCH), 1);
        assert_int_equal(job(id)->attempt, 1);
        script_ends(id, 0);
    }
}

/* A release that does not tell: nothing is concluded, and what was known stays. */
static void who_does_not_say_is_not_judged(void **unused)
{
    (void)unused;
    uint64_t id = submit(a_job("one"));
    int n = host_of(id);
    comes_back(n, NULL, false);
    assert_int_equal(job(id)->attempt, 1);
    assert_int_equal(sent(FX_SEND, MSG_LAUNCH), 1);
    comes_back(n, BOOT_ANEW, true);
    assert_int_equal(job(id)->attempt, 2);
}

/* One of both words cannot be read, as on a disk that fails when the machine starts: the other says
 * enough, and what was known is not forgotten over it. */
static void a_word_that_cannot_be_read_says_nothing(void **unused)
{
    static const struct {
        const char *told[2];
        bool lost[2];
    } rows[] = {
        {{DISK_UNREAD, LIFE_BEFORE}, {false, false}}, {{DISK_UNREAD, DISK_LOST}, {false, true}},
        {{BOOT_UNREAD, BOOT_ANEW}, {false, true}},    {{ALL_UNREAD, LIFE_BEFORE}, {false, false}},
        {{ALL_UNREAD, ALL_ANEW}, {false, true}},      {{BOOT_ALONE, BOOT_ANEW}, {true, false}},
        {{BOOT_ALONE, ALL_ANEW}, {true, true}},       {{DISK_ALONE, DISK_LOST}, {true, false}},
        {{DISK_ALONE, LIFE_BEFORE}, {true, true}},
    };
    for (unsigned i = 0; i < ARRAY_LEN(rows) * 2; i++) {
        uint64_t id = salloc(2);
        for (int k = 0; k < 2; k++) {
            comes_back(1, rows[i / 2].told[k], i & 1);
            for (int n = 2; n <= 4; n++)
                hello_living(n, LIFE_BEFORE, NULL, 0);
            if (rows[i / 2].lost[k] != (state(id) == JOB_NODE_FAIL))
                fail_msg("row %u, %s: is %d", i / 2, rows[i / 2].told[k], state(id));
            if (!rows[i / 2].lost[k])
                continue;
            report(2, (struct msg_report){.kind = REPORT_RELEASED, .job_id = id, .attempt = 1});
            id = salloc(2);
            pass(1);
            assert_int_equal(state(id), JOB_RUNNING);
        }
        world_close();
        open_lives(unused);
    }
}

/* Of two daemons by one name the one that has what runs comes a moment later, to a controller that
 * has started or after a cut: it is waited for. */
static void who_has_what_runs_is_waited_for(void **unused)
{
    for (unsigned i = 0; i < ARRAY_LEN(lives) * 4; i++) {
        bool away = i & 1, comes = i & 2;
        uint64_t id = salloc(2);
        gone(1);
        if (away)
            restart(CONF);
        for (int k = 0; k < 3; k++) {
            hello_living(1, lives[i / 4], NULL, 0);
            assert_int_equal(sent(FX_CLOSE, 0), 1);
            assert_int_equal(state(id), JOB_RUNNING);
            pass(USEC_PER_SEC);
        }
        if (!comes)
            pass(8 * USEC_PER_SEC);
        hello_living(1, comes ? LIFE_BEFORE : lives[i / 4], NULL, 0);
        assert_int_equal(state(id), comes ? JOB_RUNNING : JOB_NODE_FAIL);
        world_close();
        open_lives(unused);
    }
}

static enum refusal daemon_comes(uint64_t conn, int64_t pid, int64_t start_us, const char *life)
{
    struct node self = {.name = "n1",
                        .life = life,
                        .real_cpus = 8,
                        .real_memory_mib = 8000,
                        .version = "test",
                        .daemon_start_us = start_us};
    struct msg_node_hello m = {.node = {&self, 1}, .pid = pid};
    am_root();
    say(conn, MSG_NODE_HELLO, &m);
    return refusal();
}

/* Only one daemon can hold a directory: who comes from there later is its successor, though the
 * connection of the former is not known to have ended. */
static void a_successor_has_the_place_at_once(void **unused)
{
    (void)unused;
    enum { FIRST = 300 };
    gone(1);
    assert_int_equal(daemon_comes(FIRST, 17, 1000, LIFE_BEFORE), REFUSE_NONE);
    assert_int_equal(daemon_comes(FIRST + 1, 18, 2000, DISK_LOST), REFUSE_BUSY);
    assert_int_equal(daemon_comes(FIRST + 1, 18, 2000, DISK_UNREAD), REFUSE_BUSY);
    assert_int_equal(daemon_comes(FIRST + 2, 19, 2000, LIFE_BEFORE), REFUSE_NONE);
    assert_int_equal(daemon_comes(FIRST + 1, 17, 1000, LIFE_BEFORE), REFUSE_BUSY);
    assert_true(node("n1")->responding);
}

/* Where nothing runs nobody is waited for. */
static void an_idle_node_is_not_waited_for(void **unused)
{
    (void)unused;
    gone(1);
    hello_living(1, ALL_ANEW, NULL, 0);
    assert_true(node("n1")->responding);
}

/* An allocation in which nothing ran: its prolog's work, its files, its place are gone with the
 * machine. */
static void allocations_end(void **unused)
{
    for (unsigned i = 0; i < ARRAY_LEN(lives) * 2; i++) {
        uint64_t id = salloc(2), other = salloc(1);
        comes_back(1, lives[i / 2], i & 1);
        assert_int_equal(state(id), JOB_NODE_FAIL);
        assert_int_equal(state(other), JOB_RUNNING);
        world_close();
        open_lives(unused);
    }
}

/* The epilog of an allocation in which nothing runs has yet to come: whether the node was away when
 * it ended, or had told a controller that died of its only step. A machine that was started anew has
 * nothing of it but that. */
static void who_has_been_there_has_its_epilog(void **unused)
{
    (void)unused;
    for (int anew = 0; anew < 2; anew++) {
        uint64_t id = salloc(2);
        struct held visit = {.job_id = id, .attempt = 1, .step_id = STEP_EXTERN};
        struct msg_report gone_from_1 = {
            .kind = REPORT_RELEASED, .job_id = id, .attempt = 1, .step_id = STEP_EXTERN};
        gone(1);
        restart(CONF);
        pass(9 * USEC_PER_SEC);
        hello_living(2, LIFE_BEFORE, NULL, 0);
        hello_living(1, anew ? BOOT_ANEW : LIFE_BEFORE, &visit, 1);
        assert_int_equal(state(id), anew ? JOB_COMPLETING : JOB_RUNNING);
        if (!anew)
            cancel(ids_of(id));
        assert_true(sent(FX_SEND, MSG_TERMINATE) > 0);
        assert_int_equal(state(id), JOB_COMPLETING);
        report(1, gone_from_1);
        assert_int_equal(state(id), anew ? JOB_NODE_FAIL : JOB_CANCELLED);
        world_close();
        open_lives(unused);
    }
    uint64_t id = salloc(2);
    struct held visit = {.job_id = id, .attempt = 1, .step_id = STEP_EXTERN};
    gone(1);
    cancel(ids_of(id));
    hello_living(1, LIFE_BEFORE, &visit, 1);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 1);
}

/* What clears away what a job had on a machine clears away what the next has there. With --no-kill
 * the job goes on elsewhere meanwhile. */
static void nobody_begins_beside_an_epilog_of_before(void **unused)
{
    for (int no_kill = 0; no_kill < 2; no_kill++) {
        struct job_spec s = a_job("two"), next = a_job("next");
        s.no_kill = no_kill;
        s.requeue = NO;
        s.req.min_nodes = s.req.max_nodes = s.req.ntasks = 2;
        uint64_t id = submit(s);
        begun(id);
        int other = host_of(id) == 1 ? 2 : 1;
        struct held visit = {.job_id = id, .attempt = 1, .step_id = STEP_EXTERN};
        gone(other);
        pass(9 * USEC_PER_SEC);
        hello_living(other, BOOT_ANEW, &visit, 1);
        assert_int_equal(state(id), no_kill ? JOB_RUNNING : JOB_COMPLETING);
        assert_int_equal(sent(FX_SEND, MSG_TERMINATE), no_kill ? 1 : 2);
        next.req.exclusive = EXCLUSIVE_NODE;
        next.req.nodelist = arena_printf(w.a, "n%d", other);
        uint64_t after = submit(next);
        assert_int_equal(state(after), JOB_PENDING);
        report(other,
               (struct msg_report){
                   .kind = REPORT_RELEASED, .job_id = id, .attempt = 1, .step_id = STEP_EXTERN});
        assert_int_equal(state(id), no_kill ? JOB_RUNNING : JOB_COMPLETING);
        pass(2 * USEC_PER_SEC);
        assert_int_equal(state(after), JOB_RUNNING);
        world_close();
        open_lives(unused);
    }
}

/* It found what it had: it will tell what became of that. */
static void what_it_still_has_is_heard_of(void **unused)
{
    (void)unused;
    struct job_spec s = a_job("one");
    s.requeue = NO;
    uint64_t id = submit(s);
    int n = host_of(id);
    begun(id);
    struct held held = {.job_id = id, .attempt = 1, .step_id = STEP_BATCH};
    gone(n);
    pass(9 * USEC_PER_SEC);
    hello_living(n, BOOT_ANEW, &held, 1);
    assert_int_equal(state(id), JOB_RUNNING);
    report(n, (struct msg_report){
                  .kind = REPORT_LOST, .job_id = id, .attempt = 1, .step_id = STEP_BATCH});
    report(n, (struct msg_report){.kind = REPORT_RELEASED, .job_id = id, .attempt = 1});
    assert_int_equal(state(id), JOB_NODE_FAIL);
}

/* A step is enough: the node that began anew has not lost what it holds. */
static void a_step_that_is_there_keeps_its_job(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(lives); i++) {
        struct job_spec s = a_job("two"), step = {.req = {.ntasks = 2}};
        s.req.min_nodes = s.req.max_nodes = s.req.ntasks = 2;
        s.requeue = NO;
        uint64_t id = submit(s);
        begun(id);
        say(1, MSG_CREATE_STEP,
            &(struct msg_create_step){.job_id = id, .spec = {&step, 1}, .overlap = true});
        assert_int_equal(sent(FX_REPLY, MSG_DONE), 0);
        int other = host_of(id) == 1 ? 2 : 1;
        struct held held = {.job_id = id, .attempt = 1, .step_id = 0};
        gone(other);
        hello_living(other, lives[i], &held, 1);
        assert_int_equal(state(id), JOB_RUNNING);
        world_close();
        open_lives(unused);
    }
}

/* --no-kill goes on without the node, where that was not its script's. */
static void no_kill_goes_on(void **unused)
{
    (void)unused;
    struct job_spec s = a_job("two");
    s.no_kill = true;
    s.req.min_nodes = s.req.max_nodes = 2;
    s.req.ntasks = 2;
    uint64_t id = submit(s);
    begun(id);
    int other = host_of(id) == 1 ? 2 : 1;
    comes_back(other, BOOT_ANEW, false);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(job(id)->alloc_nodes, 1);
}

/* What ended already and was only being cleaned up is over. */
static void who_was_ending_is_over(void **unused)
{
    (void)unused;
    uint64_t id = submit(a_job("one"));
    int n = host_of(id);
    begun(id);
    report(n, (struct msg_report){
                  .kind = REPORT_EXITED, .job_id = id, .attempt = 1, .step_id = STEP_BATCH});
    assert_int_equal(state(id), JOB_COMPLETING);
    comes_back(n, ALL_ANEW, false);
    assert_int_equal(state(id), JOB_COMPLETED);
}

static int close_lives(void **unused)
{
    (void)unused;
    world_close();
    return 0;
}

int main(void)
{
#define LIFE(name) cmocka_unit_test_setup_teardown(name, open_lives, close_lives)
    const struct CMUnitTest tests[] = {
        LIFE(a_script_is_lost_with_its_node),
        LIFE(the_same_life_loses_nothing),
        LIFE(who_flaps_writes_nothing),
        LIFE(who_does_not_say_is_not_judged),
        LIFE(allocations_end),
        LIFE(who_has_been_there_has_its_epilog),
        LIFE(nobody_begins_beside_an_epilog_of_before),
        LIFE(what_it_still_has_is_heard_of),
        LIFE(no_kill_goes_on),
        LIFE(who_was_ending_is_over),
        LIFE(a_word_that_cannot_be_read_says_nothing),
        LIFE(who_has_what_runs_is_waited_for),
        LIFE(an_idle_node_is_not_waited_for),
        LIFE(a_step_that_is_there_keeps_its_job),
        LIFE(a_successor_has_the_place_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
