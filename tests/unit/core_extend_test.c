/* `remuda extend`: more time for a running job, as much as delays nobody. */
#include "core_help.h"

#include "model/extension.h"

#define HOUR USEC_PER_HOUR

static const char roomy[] =
    "ClusterName=test\nOperators=olga\nMinJobAge=300\nKillWait=30\n"
    "NodeName=n[1-4] CPUs=8 RealMemory=8000\n"
    "PartitionName=main Nodes=n[1-4] Default=YES MaxTime=12:00:00 State=UP\n"
    "PartitionName=day Nodes=n[1-4] MaxTime=UNLIMITED State=UP\n";

static int open_roomy(void **unused)
{
    world_open(roomy, 4);
    return 0;
}

static enum refusal extend_by(struct msg_extend m)
{
    say(1, MSG_EXTEND, &m);
    return refusal();
}

static enum refusal extend(uint64_t id, int64_t us)
{
    return extend_by((struct msg_extend){.id = ids_of(id), .add_us = us});
}

static struct job_spec sized(int nodes, int64_t limit_us)
{
    struct job_spec s = a_job("sized");
    s.req.ntasks = 8 * nodes;
    s.req.min_nodes = s.req.max_nodes = nodes;
    s.req.time_limit_us = limit_us;
    return s;
}

static void says(const char *text)
{
    assert_non_null(answer());
    if (!answer()->detail || !strstr(answer()->detail, text))
        fail_msg("\"%s\" is not in \"%s\"", text, answer()->detail ? answer()->detail : "");
}

static void nobody_waits_and_all_is_granted(void **unused)
{
    uint64_t id = submit(sized(1, HOUR));
    assert_int_equal(extend(id, 2 * HOUR), REFUSE_NONE);
    assert_int_equal(answer()->count, 7200);
    says("2 h granted");
    assert_int_equal(job(id)->limit_us, 3 * HOUR);
    assert_int_equal(job(id)->extended_us, 2 * HOUR);
    pass(2 * HOUR);
    assert_int_equal(state(id), JOB_RUNNING);
    pass(HOUR + 10 * MIN);
    assert_int_not_equal(state(id), JOB_RUNNING);
}

/* Three nodes run for two hours, one for one; the whole cluster is promised from two hours on. */
static void as_much_as_delays_nobody(void **unused)
{
    uint64_t two = submit(sized(3, 2 * HOUR)), one = submit(sized(1, HOUR));
    uint64_t all = submit(sized(4, HOUR));
    int64_t promised = why_one(all)->planned_us;
    assert_int_equal(promised, w.now + 2 * HOUR);
    assert_int_equal(extend(two, MIN), REFUSE_TIME_LIMIT);
    says("nothing granted; 1 min would delay job");
    assert_int_equal(extend(one, 3 * HOUR), REFUSE_NONE);
    assert_int_equal(answer()->count, 3600);
    says(
        arena_printf(w.a, "1 h granted; 3 h would delay job %llu by 2 h", (unsigned long long)all));
    assert_int_equal(job(one)->limit_us, 2 * HOUR);
    assert_int_equal(why_one(all)->planned_us, promised);
    assert_int_equal(extend(one, 3 * HOUR), REFUSE_TIME_LIMIT);
    script_ends(two, 0);
    assert_int_equal(state(all), JOB_PENDING);
    pass(2 * HOUR + MIN);
    assert_int_not_equal(state(one), JOB_RUNNING);
}

/* Behind a promised job another has a planned start; it counts as much. */
static void planned_starts_count_like_promises(void **unused)
{
    uint64_t a = submit(sized(2, HOUR)), b = submit(sized(2, 4 * HOUR));
    uint64_t head = submit(sized(2, HOUR)), next = submit(sized(2, 30 * MIN));
    uint64_t wide = submit(sized(4, HOUR));
    int64_t planned[] = {why_one(head)->planned_us, why_one(next)->planned_us,
                         why_one(wide)->planned_us};
    assert_int_equal(extend(a, HOUR), REFUSE_TIME_LIMIT);
    enum refusal r = extend(b, 2 * HOUR);
    assert_true(r == REFUSE_NONE || r == REFUSE_TIME_LIMIT);
    assert_true(why_one(head)->planned_us <= planned[0]);
    assert_true(why_one(next)->planned_us <= planned[1]);
    assert_true(why_one(wide)->planned_us <= planned[2]);
}

static void all_or_nothing_and_only_asked(void **unused)
{
    uint64_t two = submit(sized(3, 2 * HOUR)), one = submit(sized(1, HOUR));
    assert_int_not_equal(submit(sized(4, HOUR)), 0);
    assert_int_equal(
        extend_by((struct msg_extend){.id = ids_of(one), .add_us = 3 * HOUR, .all = true}),
        REFUSE_TIME_LIMIT);
    assert_int_equal(job(one)->limit_us, HOUR);
    assert_int_equal(
        extend_by((struct msg_extend){.id = ids_of(one), .add_us = 3 * HOUR, .test_only = true}),
        REFUSE_NONE);
    assert_int_equal(answer()->count, 3600);
    says("1 h would be granted");
    assert_int_equal(job(one)->limit_us, HOUR);
    assert_null(job(one)->extensions);
    assert_int_equal(job(two)->limit_us, 2 * HOUR);
}

static void the_partition_bounds_it(void **unused)
{
    uint64_t id = submit(sized(1, 10 * HOUR));
    assert_int_equal(extend(id, 6 * HOUR), REFUSE_NONE);
    assert_int_equal(answer()->count, 7200);
    says("MaxTime of partition main");
    assert_int_equal(extend(id, HOUR), REFUSE_TIME_LIMIT);
    says("nothing granted");
}

static void a_reservation_of_bob(void)
{
    uint64_t id = submit(sized(1, HOUR));
    struct reservation r = {
        .users = "bob", .nodes = job(id)->nodes, .start_us = w.now + 90 * MIN, .duration_us = HOUR};
    am_root();
    say(1, MSG_UPDATE_RESERVATION,
        &(struct msg_update_reservation){.name = "later",
                                         .create = true,
                                         .fields = "users,nodes,start_us,duration_us",
                                         .values = {&r, 1}});
    assert_int_equal(refusal(), REFUSE_NONE);
    am_alice();
    assert_int_equal(extend(id, 2 * HOUR), REFUSE_NONE);
    assert_int_equal(answer()->count, 30 * 60);
}

static void a_reservation_bounds_it(void **unused)
{
    a_reservation_of_bob();
    says("reservation later begins then");
}

static void a_private_reservation_is_not_named(void **unused)
{
    configure(arena_printf(w.a, "PrivateData=reservations\n%s", roomy));
    a_reservation_of_bob();
    says("a reservation begins then");
    assert_null(strstr(answer()->detail, "later"));
    am_olga();
    assert_int_equal(extend(1, 2 * HOUR), REFUSE_TIME_LIMIT);
    says("reservation later begins then");
}

static void a_deadline_bounds_it(void **unused)
{
    struct job_spec s = sized(1, HOUR);
    s.deadline_us = w.now + 80 * MIN;
    uint64_t id = submit(s);
    assert_int_equal(extend(id, HOUR), REFUSE_NONE);
    assert_int_equal(answer()->count, 20 * 60);
    says("its deadline");
}

/* ---- who, and in which state ---- */

static void who_may(void **unused)
{
    uint64_t id = submit(sized(1, HOUR));
    am_bob();
    assert_int_equal(extend(id, HOUR), REFUSE_ACCESS_DENIED);
    am_olga();
    assert_int_equal(extend(id, HOUR), REFUSE_NONE);
    am_alice();
    assert_int_equal(extend(id, HOUR), REFUSE_NONE);
    assert_int_equal(job(id)->extended_us, 2 * HOUR);
    assert_non_null(strstr(job(id)->extensions, "+3600:olga,"));
    assert_non_null(strstr(job(id)->extensions, "+3600:alice"));
    assert_non_null(strstr(why_one(id)->because, "2 h (olga: 1 h, alice: 1 h)"));
}

static void what_cannot_be_extended(void **unused)
{
    uint64_t runs = submit(sized(4, HOUR)), waits = submit(sized(1, HOUR));
    assert_int_equal(extend(waits, HOUR), REFUSE_NOT_RUNNING);
    assert_int_equal(extend(9999, HOUR), REFUSE_INVALID_JOB_ID);
    assert_int_equal(extend(runs, 0), REFUSE_TIME_LIMIT);
    am_root();
    assert_int_equal(control(ids_of(runs), ACTION_SUSPEND), REFUSE_NONE);
    am_alice();
    assert_int_equal(extend(runs, HOUR), REFUSE_NOT_RUNNING);
    says("it is suspended");
    am_root();
    assert_int_equal(control(ids_of(runs), ACTION_RESUME), REFUSE_NONE);
    am_alice();
    assert_int_equal(cancel(ids_of(runs)), REFUSE_NONE);
    assert_int_equal(extend(runs, HOUR), REFUSE_ALREADY_DONE);
    struct job_spec endless = sized(1, TIME_UNLIMITED);
    endless.req.partition = "day";
    uint64_t id = submit(endless);
    pass(10 * SEC);
    if (state(id) == JOB_RUNNING) {
        assert_int_equal(extend(id, HOUR), REFUSE_TIME_LIMIT);
        says("no time limit");
    }
}

static void one_element_at_a_time(void **unused)
{
    struct job_spec s = sized(1, HOUR);
    s.array = "0-2";
    uint64_t id = submit(s);
    am_bob();
    assert_int_equal(extend(id, HOUR), REFUSE_ACCESS_DENIED);
    am_alice();
    assert_int_equal(extend(id, HOUR), REFUSE_INVALID_ARRAY);
    assert_int_equal(
        extend_by((struct msg_extend){.id = arena_printf(w.a, "%llu_1", (unsigned long long)id),
                                      .add_us = HOUR}),
        REFUSE_NONE);
    assert_int_equal(job_named(arena_printf(w.a, "%llu_1", (unsigned long long)id))->limit_us,
                     2 * HOUR);
    assert_int_equal(job_named(arena_printf(w.a, "%llu_0", (unsigned long long)id))->limit_us,
                     HOUR);
}

static void all_components_or_the_one_that_is_named(void **unused)
{
    struct job_spec s[] = {sized(1, HOUR), sized(2, HOUR)};
    uint64_t id = submit_all(s, 2);
    assert_int_equal(state(id + 1), JOB_RUNNING);
    assert_int_equal(extend(id, HOUR), REFUSE_NONE);
    assert_int_equal(job(id)->limit_us, 2 * HOUR);
    assert_int_equal(job(id + 1)->limit_us, 2 * HOUR);
    const char *first = arena_printf(w.a, "%llu+0", (unsigned long long)id);
    const char *second = arena_printf(w.a, "%llu+1", (unsigned long long)id);
    assert_int_equal(extend_by((struct msg_extend){.id = second, .add_us = HOUR}),
                     REFUSE_TIME_LIMIT);
    says("the limit of the component with the script is then");
    assert_int_equal(extend_by((struct msg_extend){.id = first, .add_us = HOUR}), REFUSE_NONE);
    assert_int_equal(job(id)->limit_us, 3 * HOUR);
    assert_int_equal(job(id + 1)->limit_us, 2 * HOUR);
    assert_int_equal(extend_by((struct msg_extend){.id = second, .add_us = 2 * HOUR}), REFUSE_NONE);
    assert_int_equal(job(id + 1)->limit_us, 3 * HOUR);
}

/* ---- what becomes of it ---- */

static void it_survives_a_restart_and_is_asked_for_after_a_requeue(void **unused)
{
    struct job_spec s = sized(1, HOUR);
    s.requeue = YES;
    uint64_t id = submit(s);
    assert_int_equal(extend(id, HOUR), REFUSE_NONE);
    restart(roomy);
    for (int n = 1; n <= 4; n++)
        hello_holding(n, &(struct held){.job_id = id, .attempt = 1, .step_id = STEP_BATCH},
                      n == job(id)->batch_host[1] - '0');
    assert_int_equal(job(id)->limit_us, 2 * HOUR);
    assert_int_equal(job(id)->extended_us, HOUR);
    assert_int_equal(job(id)->spec.req.time_limit_us, 2 * HOUR);
    assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
    pass(10 * SEC);
    assert_int_equal(job(id)->spec.req.time_limit_us, 2 * HOUR);
}

static void a_limit_cut_by_time_min_grows_to_what_was_asked(void **unused)
{
    uint64_t all = submit(sized(3, 2 * HOUR)), after = submit(sized(4, HOUR));
    struct job_spec s = sized(1, 6 * HOUR);
    s.req.time_min_us = HOUR;
    uint64_t id = submit(s);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(job(id)->limit_us, 2 * HOUR);
    assert_int_equal(extend(id, HOUR), REFUSE_TIME_LIMIT);
    assert_int_equal(cancel(ids_of(after)), REFUSE_NONE);
    assert_int_equal(extend(id, HOUR), REFUSE_NONE);
    assert_int_equal(job(id)->limit_us, 3 * HOUR);
    assert_int_equal(job(id)->spec.req.time_limit_us, 6 * HOUR);
    assert_int_equal(state(all), JOB_RUNNING);
}

/* ---- the site's word ---- */

static enum refusal update_add(uint64_t id, int64_t us)
{
    struct msg_update_job m = {.ids = ids_of(id), .time_limit_add_us = us};
    say(1, MSG_UPDATE_JOB, &m);
    return refusal();
}

static void the_site_says_who_may(void **unused)
{
    static const struct {
        const char *word;
        enum refusal extends, updates;
    } row[] = {{"", REFUSE_NONE, REFUSE_ACCESS_DENIED},
               {"OwnerExtends=command\n", REFUSE_NONE, REFUSE_ACCESS_DENIED},
               {"OwnerExtends=no\n", REFUSE_DISABLED, REFUSE_ACCESS_DENIED},
               {"OwnerExtends=update\n", REFUSE_NONE, REFUSE_NONE}};
    for (size_t i = 0; i < ARRAY_LEN(row); i++) {
        am_alice();
        configure(arena_printf(w.a, "%s%s", row[i].word, roomy));
        uint64_t id = submit(sized(1, HOUR));
        assert_int_equal(extend(id, 10 * MIN), row[i].extends);
        assert_int_equal(update_add(id, 10 * MIN), row[i].updates);
        am_olga();
        assert_int_equal(extend(id, 10 * MIN), REFUSE_NONE);
        am_alice();
        assert_int_equal(cancel(ids_of(id)), REFUSE_NONE);
        pass(MIN);
    }
}

static void an_update_is_all_or_nothing(void **unused)
{
    configure(arena_printf(w.a, "OwnerExtends=update\n%s", roomy));
    uint64_t two = submit(sized(3, 2 * HOUR)), one = submit(sized(1, HOUR));
    assert_int_not_equal(submit(sized(4, HOUR)), 0);
    assert_int_equal(update_add(one, 3 * HOUR), REFUSE_TIME_LIMIT);
    assert_int_equal(job(one)->limit_us, HOUR);
    assert_int_equal(update_add(one, HOUR), REFUSE_NONE);
    assert_int_equal(job(one)->limit_us, 2 * HOUR);
    assert_int_equal(job(one)->extended_us, HOUR);
    assert_int_equal(job(two)->extended_us, 0);
}

/* ---- the text ---- */

static void the_last_few_are_kept(void **unused)
{
    struct str text = STR_INIT, next = STR_INIT;
    for (int i = 1; i <= 2 * EXTENSIONS_KEPT; i++) {
        struct extension_row row = {i * SEC, i * MIN, "a,b"};
        str_clear(&next);
        extensions_add(text.len ? str_text(&text) : NULL, &row, &next);
        str_clear(&text);
        str_add(&text, str_text(&next));
    }
    struct span rest = span_of(str_text(&text));
    struct extension_row row;
    int n = 0;
    for (; extensions_next(&rest, w.a, &row); n++) {
        assert_int_equal(row.at_us, (EXTENSIONS_KEPT + 1 + n) * SEC);
        assert_string_equal(row.user, "a_b");
    }
    assert_int_equal(n, EXTENSIONS_KEPT);
    str_done(&text);
    str_done(&next);
}

/* ---- products: what runs × what waits × how much, and nobody's planned start moves ---- */

static uint64_t started[64];
static size_t nstarted;

static void product(size_t a, int first, int64_t add, bool of_first)
{
    static const int64_t limits[] = {30 * MIN, HOUR, 3 * HOUR};
    nstarted = 0;
    uint64_t x = submit(sized(2, limits[a])), y = submit(sized(2, 2 * HOUR));
    for (int i = 0; i < 4; i++)
        started[nstarted++] = submit(sized((first + i) % 4 + 1, limits[(a + (size_t)i) % 3]));
    int64_t planned[8];
    for (size_t i = 0; i < nstarted; i++)
        planned[i] = why_one(started[i])->planned_us;
    enum refusal r = extend(of_first ? x : y, add);
    assert_true(r == REFUSE_NONE || r == REFUSE_TIME_LIMIT);
    for (size_t i = 0; i < nstarted; i++)
        if (state(started[i]) == JOB_PENDING)
            assert_true(why_one(started[i])->planned_us <= planned[i]);
    for (size_t i = 0; i < nstarted; i++)
        cancel(ids_of(started[i]));
    script_ends(x, 0);
    script_ends(y, 0);
    pass(MIN);
}

static void products(void **unused)
{
    static const char *const promising[] = {"", "SchedulerParameters=promises=all\n",
                                            "SchedulerParameters=promises=aged,age_bound=60\n"};
    static const int64_t adds[] = {MIN, 45 * MIN, 5 * HOUR};
    for (size_t p = 0; p < ARRAY_LEN(promising); p++) {
        configure(arena_printf(w.a, "%s%s", promising[p], roomy));
        for (size_t a = 0; a < 3; a++)
            for (int first = 0; first < 4; first++)
                for (size_t k = 0; k < ARRAY_LEN(adds); k++)
                    product(a, first, adds[k], k % 2);
    }
}

#define ROOMY(function) cmocka_unit_test_setup_teardown(function, open_roomy, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOMY(nobody_waits_and_all_is_granted),
        ROOMY(as_much_as_delays_nobody),
        ROOMY(planned_starts_count_like_promises),
        ROOMY(all_or_nothing_and_only_asked),
        ROOMY(the_partition_bounds_it),
        ROOMY(a_reservation_bounds_it),
        ROOMY(a_private_reservation_is_not_named),
        ROOMY(a_deadline_bounds_it),
        ROOMY(who_may),
        ROOMY(what_cannot_be_extended),
        ROOMY(one_element_at_a_time),
        ROOMY(all_components_or_the_one_that_is_named),
        ROOMY(it_survives_a_restart_and_is_asked_for_after_a_requeue),
        ROOMY(a_limit_cut_by_time_min_grows_to_what_was_asked),
        ROOMY(the_site_says_who_may),
        ROOMY(an_update_is_all_or_nothing),
        ROOMY(the_last_few_are_kept),
        ROOMY(products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
