/* Limits on who waits, on each that may carry them, for each kind of job, whatever is done meanwhile:
 * how many gain priority by age, and how much of it a job needs for a start to be kept for it. */
#include "core_carriers.h"

#define AGEING                                                                                     \
    ENFORCED "PriorityType=priority/multifactor\nPriorityWeightAge=604800\nPriorityMaxAge=7-0\n"   \
             "PriorityWeightPartition=0\n"

#define WEIGHED ENFORCED "PriorityType=priority/multifactor\n"

enum shape { PLAIN, ARRAY, HET, SHAPES };
static const char *const shape_name[SHAPES] = {"plain", "array", "het"};

/* What is tried now. */
static struct tried {
    const char *limit, *deed;
    enum carrier on;
    enum shape shape;
} t;

#define EXPECT(what, ...)                                                                          \
    do {                                                                                           \
        if (!(what))                                                                               \
            fail_msg("%s on %s (%d), %s, %s: %s", t.limit, carrier[t.on], (int)t.on,               \
                     shape_name[t.shape], t.deed, arena_printf(w.a, __VA_ARGS__));                 \
    } while (0)

static uint64_t filler[4];

static void opens(const char *conf, size_t fillers)
{
    world_open(conf, 4);
    the_tree();
    carrier_make(t.on);
    am_root();
    for (size_t i = 0; i < fillers; i++) {
        struct job_spec s = job_of(8, "root", "normal");
        s.req.time_limit_us = 60 * MIN;
        filler[i] = submit(s);
        assert_int_equal(state(filler[i]), JOB_RUNNING);
    }
    am_alice();
}

static void limited(const char *value)
{
    assert_int_equal(limit_set(carrier[t.on], arena_printf(w.a, "%s=%s", t.limit, value)),
                     REFUSE_NONE);
    am_alice();
}

/* Within an account and a QOS that the carrier is of. */
static struct job_spec concerned(int32_t cpus)
{
    bool of_test = t.on == ON_JOB_QOS || t.on == ON_QOS_OVER;
    return job_of(cpus, "physics", of_test ? "test" : "normal");
}

static uint64_t submitted(struct job_spec s)
{
    struct job_spec specs[2] = {s, s};
    if (t.shape == ARRAY)
        specs[0].array = "1-3";
    return submit_all(specs, t.shape == HET ? 2 : 1);
}

/* The controller is another, and its nodes have what they had. */
static void comes_back(const char *conf)
{
    struct held held[4] = {{0}};
    struct rows r = ask((struct msg_query){.what = QUERY_JOBS, .states = "RUNNING"});
    for (size_t i = 0; i < r.row.n; i++) {
        const struct job *j = r.row.v[i];
        held[j->batch_host[1] - '1'] = (struct held){.job_id = j->id, .attempt = j->attempt};
    }
    vec_done(&r.row);
    restart(conf);
    for (int n = 1; n <= 4; n++)
        hello_holding(n, &held[n - 1], held[n - 1].job_id ? 1 : 0);
    am_alice();
}

/* ---- how many gain by age ------------------------------------------------------------------- */

/* In minutes, of its components the oldest, of an array the element that starts next; −1: it does
 * not wait. */
static int64_t age(uint64_t id)
{
    struct rows r = ask((struct msg_query){.what = QUERY_PRIORITY});
    int64_t found = -1;
    for (size_t i = 0; i < r.row.n; i++) {
        const struct priority_row *row = r.row.v[i];
        int64_t minutes = (row->age + 30) / 60;
        if ((row->job_id == id || (t.shape == HET && row->job_id == id + 1)) && minutes > found)
            found = minutes;
    }
    vec_done(&r.row);
    return found;
}

static void one_gains(uint64_t id, uint64_t other, const char *when)
{
    int64_t before = age(id), others = age(other);
    pass(10 * MIN);
    EXPECT(age(id) == before + 10, "%s it gains %lld of 10 minutes", when,
           (long long)(age(id) - before));
    EXPECT(age(other) <= others || others < 0, "%s the other gains, too", when);
    core_check(w.c);
}

static void moved(uint64_t id)
{
    struct job_spec to = {.req = {.account = "chem", .qos = "normal"}};
    struct msg_update_job m = {
        .ids = ids_of(id), .fields = is_of_qos(t.on) ? "qos" : "account", .values = {&to, 1}};
    am_root();
    say(1, MSG_UPDATE_JOB, &m);
    EXPECT(refusal() == REFUSE_NONE, "the change is refused");
    am_alice();
}

enum deed { STARTED, CANCELLED, HELD, LIFTED, RAISED, RESTARTED, LOWERED, MOVED, DEEDS };
static const char *const deed_name[DEEDS] = {"started", "cancelled", "held",    "lifted",
                                             "raised",  "restarted", "lowered", "moved"};

static void let_go(enum deed deed, uint64_t first, uint64_t second)
{
    switch (deed) {
    case RESTARTED:
        comes_back(AGEING);
        one_gains(first, second, "after a restart");
        script_ends(filler[0], 0);
        break;
    case STARTED: script_ends(filler[0], 0); break;
    case CANCELLED: assert_int_equal(cancel(ids_of(first)), REFUSE_NONE); break;
    case HELD: assert_int_equal(control(ids_of(first), ACTION_HOLD), REFUSE_NONE); break;
    case LIFTED: limited("-1"); break;
    case RAISED: limited("2"); break;
    case LOWERED: /* who gains goes on; then there is room for two */
        limited("0");
        pass(10 * MIN);
        EXPECT(age(second) == 0, "below a limit of nothing another gains");
        limited("2");
        break;
    case MOVED: moved(first); break;
    case DEEDS: break;
    }
    am_alice();
}

static void accrual_tried(enum deed deed)
{
    t.deed = deed_name[deed];
    opens(AGEING, 4);
    limited("1");
    uint64_t first = submit(concerned(8)), second = submitted(concerned(8));
    EXPECT(first && second, "it is refused");
    one_gains(first, second, "at first");
    EXPECT(age(second) == 0, "it has an age of %lld", (long long)age(second));
    let_go(deed, first, second);
    int64_t before = age(second);
    pass(10 * MIN);
    EXPECT(age(second) > before, "it does not gain when there is room");
    core_check(w.c);
    world_close();
}

static void each_limit_on_who_gains(void **unused)
{
    (void)unused;
    size_t tried = 0;
    for (int what = 0; what < RESOURCE_LIMIT_COUNT; what++)
        for (enum carrier on = 0; on < CARRIERS; on++)
            for (enum shape shape = 0; shape < SHAPES; shape++) {
                const struct resource_limit_row *row = &resource_limit_table[what];
                if (!strstr(row->word, "JobsAccrue") ||
                    !(row->owners & (is_of_qos(on) ? ON_QOS : ON_ASSOC)))
                    continue;
                t = (struct tried){row->word, "", on, shape};
                for (enum deed deed = 0; deed < DEEDS; deed++, tried++)
                    if (deed != MOVED || (on != ON_PARENT && on != ON_PART_QOS))
                        accrual_tried(deed);
            }
    assert_true(tried > 0);
}

/* ---- for whom a start is kept --------------------------------------------------------------- */

/* Of the wide job that is blocked nothing is kept: a long narrow one of somebody else passes. */
static void narrow_passes(bool passes, const char *when)
{
    am_root();
    struct job_spec s = job_of(8, "root", "normal");
    s.req.time_limit_us = 115 * MIN;
    s.nice = 100000000; /* behind the wide one */
    uint64_t narrow = submit(s);
    EXPECT((state(narrow) == JOB_RUNNING) == passes, "%s a narrow one %s", when,
           passes ? "does not pass" : "passes");
    assert_int_equal(cancel(ids_of(narrow)), REFUSE_NONE);
    if (passes)
        script_ends(narrow, 15);
    am_alice();
    pass(SEC);
    core_check(w.c);
}

static void threshold_tried(bool restarted)
{
    t.deed = restarted ? "restarted" : "lifted and set";
    opens(WEIGHED, 3);
    if (t.on == ON_QOS_OVER) /* it would hold the wide one, and no start be kept for it anyway */
        assert_int_equal(limit_set("qos normal", "GrpTRES=cpu=-1"), REFUSE_NONE);
    am_alice();
    struct job_spec wide = concerned(t.shape == HET ? 16 : 32);
    wide.req.min_nodes = wide.req.max_nodes = t.shape == HET ? 2 : 4;
    uint64_t id = submitted(wide);
    EXPECT(state(id) == JOB_PENDING, "it does not wait");
    narrow_passes(false, "before");
    limited("4000000");
    pass(SEC);
    narrow_passes(true, "below the threshold");
    if (restarted) {
        comes_back(WEIGHED);
        narrow_passes(true, "after a restart");
    }
    limited("-1");
    pass(SEC);
    narrow_passes(false, "without a threshold");
    limited("2");
    pass(SEC);
    narrow_passes(false, "above the threshold");
    limited("4000000");
    pass(SEC);
    narrow_passes(true, "below it again");
    world_close();
}

static void a_threshold_for_kept_starts(void **unused)
{
    (void)unused;
    for (enum carrier on = 0; on < CARRIERS; on++)
        for (enum shape shape = 0; shape < SHAPES; shape++)
            for (int restarted = 0; restarted < 2; restarted++) {
                t = (struct tried){"MinPrioThreshold", "", on, shape};
                threshold_tried(restarted);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_limit_on_who_gains),
                                       cmocka_unit_test(a_threshold_for_kept_starts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
