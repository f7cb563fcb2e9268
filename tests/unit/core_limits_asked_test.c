/* Each limit on one job, and on how many may be there, on each that may carry it, for each kind of
 * job, whatever is done meanwhile: it holds, says so in Slurm's word, and lets go. */
#include "core_carriers.h"
#include "share.h"

#include "core/record/state.h"

#include <stdio.h>

#define WORLD                                                                                      \
    "ClusterName=test\nMinJobAge=300\nKillWait=30\nGresTypes=gpu\n"                                \
    "NodeName=n[1-4] CPUs=8 RealMemory=8000 Gres=gpu:v100:8\n"                                     \
    "PartitionName=main Nodes=n[1-4] Default=YES MaxTime=2:00:00 State=UP\n"                       \
    "AccountingStorageEnforce=limits,qos\n"

enum shape { PLAIN, ARRAY, HET, SHAPES };
static const char *const shape_name[SHAPES] = {"plain", "array", "het"};

#define EXPECT(what, ...)                                                                          \
    do {                                                                                           \
        if (!(what))                                                                               \
            fail_msg("%s on %s (%d), %s, %s: %s", t.limit, carrier[t.on], (int)t.on,               \
                     shape_name[t.shape], t.deed, arena_printf(w.a, __VA_ARGS__));                 \
    } while (0)

/* What is tried now. */
static struct tried {
    const char *limit, *deed;
    enum carrier on;
    enum shape shape;
} t;

static void hello_all(void)
{
    for (int n = 1; n <= 4; n++) {
        struct map_walk walk = {0};
        struct held held[16];
        size_t nheld = 0;
        while (map_u64_next(w.c->jobs.by_id, &walk)) {
            const struct jobrec *r = walk.value;
            if (r->j.state == JOB_RUNNING && r->j.batch_host && r->j.batch_host[1] - '0' == n)
                held[nheld++] = (struct held){.job_id = r->j.id, .attempt = r->j.attempt};
        }
        struct node node = {.name = arena_printf(w.a, "n%d", n),
                            .real_cpus = 8,
                            .real_memory_mib = 8000,
                            .real_gres = "gpu:v100:8",
                            .version = "test"};
        struct msg_node_hello m = {.node = {&node, 1}, .held = {held, nheld}, .pid = 7};
        am_root();
        say(CONN_OF(n), MSG_NODE_HELLO, &m);
    }
    am_alice();
}

static void opens(bool with_nodes)
{
    world_open(WORLD, 0);
    if (with_nodes)
        hello_all();
    the_tree();
    carrier_make(t.on);
    am_alice();
}

static void comes_back(bool with_nodes)
{
    restart(WORLD);
    if (with_nodes)
        hello_all();
    am_alice();
    pass(SEC);
}

static void limited(const char *tres, int64_t value)
{
    assert_int_equal(
        limit_set(carrier[t.on], arena_printf(w.a, "%s=%s%s%lld", t.limit, tres ? tres : "",
                                              tres ? "=" : "", (long long)value)),
        REFUSE_NONE);
    am_alice();
}

/* The job's QOS refuses what by itself exceeds a limit. */
static void deny_on_limit(void)
{
    bool of_test = t.on == ON_JOB_QOS || t.on == ON_QOS_OVER;
    struct account_change *ch = change(VERB_MODIFY, NOUN_QOS);
    ch->fields = "flags";
    ch->qos = (struct record_list){
        KEEP(struct qos, .name = of_test ? "test" : "normal",
             .flags = QOS_DENY_ON_LIMIT | (t.on == ON_QOS_OVER ? QOS_OVER_PART_QOS : 0)),
        1};
    assert_int_equal(changed(false), REFUSE_NONE);
    am_alice();
}

static uint64_t submitted(struct job_spec s)
{
    struct job_spec specs[2] = {s, s};
    if (t.shape == ARRAY)
        specs[0].array = "1-3";
    return submit_all(specs, t.shape == HET ? 2 : 1);
}

static const char *detail(void)
{
    const struct msg_done *d = answer();
    return d && d->detail ? d->detail : "";
}

static bool all_are(enum job_state wanted)
{
    struct map_walk walk = {0};
    while (map_u64_next(w.c->jobs.by_id, &walk)) {
        const struct jobrec *r = walk.value;
        if (r->j.state != (int32_t)wanted)
            return false;
    }
    return true;
}

/* ---- on one job ----------------------------------------------------------------------------- */

/* `asks`: what the job below asks for of it; `beyond`, a limit that it exceeds by itself. */
static const struct {
    const char *word, *tres;
    int64_t asks, beyond;
} of_a_job[] = {
    {"MaxTRESPerJob", "cpu", 4, 2},         {"MaxTRESPerJob", "mem", 200, 100},
    {"MaxTRESPerJob", "node", 2, 1},        {"MaxTRESPerJob", "billing", 4, 2},
    {"MaxTRESPerJob", "gres/gpu", 4, 2},    {"MaxTRESPerJob", "gres/gpu:v100", 4, 2},
    {"MaxTRESPerNode", "cpu", 2, 1},        {"MaxTRESPerNode", "gres/gpu", 2, 1},
    {"MaxTRESMinsPerJob", "cpu", 40, 20},   {"MaxTRESMinsPerJob", "gres/gpu", 40, 20},
    {"MaxWallDurationPerJob", NULL, 10, 5}, {"MinTRESPerJob", "cpu", 4, 8},
    {"MinTRESPerJob", "gres/gpu", 4, 8},
};

static struct job_spec wide(void)
{
    bool of_test = t.on == ON_JOB_QOS || t.on == ON_QOS_OVER;
    struct job_spec s = job_of(4, "physics", of_test ? "test" : "normal");
    s.req.gres = "gpu:v100:2";
    s.req.min_nodes = s.req.max_nodes = 2;
    s.req.ntasks_per_node = 2;
    return s;
}

static void waits(uint64_t id, size_t kind, const char *when)
{
    enum resource_limit what;
    enum limit_owner owner = is_of_qos(t.on) ? OWNER_QOS : OWNER_ASSOC;
    assert_true(resource_limit_find(t.limit, owner, 100, &what));
    const char *word =
        enum_name(&job_reason_names, resource_limit_reason(owner, what, of_a_job[kind].tres));
    EXPECT(state(id) == JOB_PENDING, "%s it does not wait", when);
    EXPECT(text_is(reason(id), word), "%s it waits for %s, not for %s", when, reason(id), word);
    const struct why *y = why(ids_of(id))->jobs.v;
    const struct blocker *b = y->blockers.v;
    bool told = y->because && strstr(y->because, t.limit);
    for (size_t i = 0; i < y->blockers.n; i++)
        told |= b[i].kind == BLOCKER_LIMIT && text_starts(b[i].what, t.limit);
    EXPECT(told, "%s why does not tell of it, but of %s", when,
           y->because ? y->because : "nothing");
    core_check(w.c);
}

enum deed { NOTHING, RESTARTED, RAISED, LIFTED, MOVED, SHORTER, LOWERED, DENIED, DEEDS };
static const char *const deed_name[DEEDS] = {"nothing", "restarted", "raised",  "lifted",
                                             "moved",   "shorter",   "lowered", "denied"};

static void updated(uint64_t id, const char *field, struct job_request to)
{
    struct job_spec spec = {.req = to};
    struct msg_update_job m = {.ids = ids_of(id), .fields = field, .values = {&spec, 1}};
    am_root();
    say(1, MSG_UPDATE_JOB, &m);
    EXPECT(refusal() == REFUSE_NONE, "the change of %s is refused: %s", field, detail());
    am_alice();
    pass(SEC);
}

/* What ran before the limit was lowered goes on; requeued, it waits. */
static void lowered(size_t kind)
{
    uint64_t id = submitted(wide());
    EXPECT(id && state(id) == JOB_RUNNING, "it does not run");
    limited(of_a_job[kind].tres, of_a_job[kind].beyond);
    pass(SEC);
    EXPECT(all_are(JOB_RUNNING), "what runs does not go on");
    core_check(w.c);
    if (t.shape != PLAIN)
        return;
    EXPECT(control(ids_of(id), ACTION_REQUEUE) == REFUSE_NONE, "it is not requeued: %s", detail());
    script_ends(id, 15);
    pass(3 * MIN);
    waits(id, kind, "requeued");
}

static void refused_at_once(size_t kind)
{
    deny_on_limit();
    limited(of_a_job[kind].tres, of_a_job[kind].beyond);
    EXPECT(!submitted(wide()), "it is taken");
    EXPECT(strstr(detail(), t.limit), "what it is told does not name the limit: %s", detail());
    limited(of_a_job[kind].tres, of_a_job[kind].asks);
    EXPECT(submitted(wide()), "within the limit it is refused: %s", detail());
}

static void job_limit_tried(size_t kind, enum deed deed)
{
    const char *tres = of_a_job[kind].tres;
    opens(true);
    if (deed == DENIED) {
        refused_at_once(kind);
    } else if (deed == LOWERED) {
        lowered(kind);
    } else {
        limited(tres, of_a_job[kind].beyond);
        uint64_t id = submitted(wide());
        EXPECT(id, "it is refused: %s", detail());
        waits(id, kind, "at first");
        if (deed == RESTARTED) {
            comes_back(true);
            waits(id, kind, "after a restart");
        } else if (deed == RAISED || deed == LIFTED) {
            limited(tres, deed == LIFTED ? -1 : of_a_job[kind].asks);
            pass(SEC);
        } else if (deed == MOVED) {
            updated(id, is_of_qos(t.on) ? "qos" : "account",
                    (struct job_request){.account = "chem", .qos = "normal"});
        } else if (deed == SHORTER) {
            updated(id, "time_limit_us", (struct job_request){.time_limit_us = 5 * MIN});
        }
        if (deed != NOTHING && deed != RESTARTED)
            EXPECT(all_are(JOB_RUNNING), "it does not start: %s", reason(id));
    }
    core_check(w.c);
    world_close();
}

static bool job_limit_makes_sense(size_t kind, enum deed deed)
{
    const char *word = of_a_job[kind].word;
    enum resource_limit what;
    if (!resource_limit_find(word, is_of_qos(t.on) ? OWNER_QOS : OWNER_ASSOC, 100, &what))
        return false;
    if (deed == SHORTER) /* of components each has its own time */
        return t.shape != HET && (strstr(word, "Mins") || strstr(word, "Wall"));
    if (deed == MOVED) /* everywhere the root and the QOS of the partition are */
        return t.shape != HET && t.on != ON_PARENT && t.on != ON_PART_QOS;
    return true;
}

static void each_limit_on_a_job(void **unused)
{
    (void)unused;
    for (size_t kind = 0; kind < ARRAY_LEN(of_a_job); kind++)
        for (enum carrier on = 0; on < CARRIERS; on++)
            for (enum shape shape = 0; shape < SHAPES; shape++)
                for (enum deed deed = 0; deed < DEEDS; deed++) {
                    t = (struct tried){of_a_job[kind].word, deed_name[deed], on, shape};
                    if (job_limit_makes_sense(kind, deed))
                        job_limit_tried(kind, deed);
                }
}

/* ---- how many may be there ------------------------------------------------------------------ */

static void refused_as_too_many(int64_t limit)
{
    bool of_test = t.on == ON_JOB_QOS || t.on == ON_QOS_OVER;
    EXPECT(!submitted(job_of(1, "physics", of_test ? "test" : "normal")), "one too many is taken");
    EXPECT(strstr(detail(), arena_printf(w.a, "%s=%lld", t.limit, (long long)limit)),
           "what it is told does not name the limit: %s", detail());
    core_check(w.c);
}

static void submit_limit_tried(const char *deed)
{
    int64_t each = t.shape == ARRAY ? 3 : t.shape == HET ? 2 : 1;
    t.deed = deed;
    opens(false); /* nothing runs */
    bool of_test = t.on == ON_JOB_QOS || t.on == ON_QOS_OVER;
    struct job_spec s = job_of(1, "physics", of_test ? "test" : "normal");
    limited(NULL, 2 * each);
    uint64_t first = submitted(s);
    EXPECT(first, "the first is refused: %s", detail());
    EXPECT(submitted(s), "the second is refused: %s", detail());
    refused_as_too_many(2 * each);
    if (text_is(deed, "restarted")) {
        comes_back(false);
        refused_as_too_many(2 * each);
    } else if (text_is(deed, "lowered")) {
        limited(NULL, 1);
        EXPECT(all_are(JOB_PENDING), "what is there does not stay");
        refused_as_too_many(1);
        limited(NULL, 2 * each);
        refused_as_too_many(2 * each);
    } else if (text_is(deed, "held")) {
        assert_int_equal(control(ids_of(first), ACTION_HOLD), REFUSE_NONE);
        refused_as_too_many(2 * each);
    }
    if (text_is(deed, "lifted"))
        limited(NULL, -1);
    else if (text_is(deed, "raised"))
        limited(NULL, 3 * each);
    else
        assert_int_equal(cancel(ids_of(first)), REFUSE_NONE);
    EXPECT(submitted(s), "there is room, and it is refused: %s", detail());
    core_check(w.c);
    world_close();
}

static void each_limit_on_how_many(void **unused)
{
    (void)unused;
    static const char *const deeds[] = {"cancelled", "restarted", "lowered",
                                        "held",      "raised",    "lifted"};
    size_t made = 0;
    for (int what = 0; what < RESOURCE_LIMIT_COUNT; what++)
        for (enum carrier on = 0; on < CARRIERS; on++)
            for (enum shape shape = 0; shape < SHAPES; shape++) {
                const struct resource_limit_row *row = &resource_limit_table[what];
                if (row->counts != COUNTS_LIVE ||
                    !(row->owners & (is_of_qos(on) ? ON_QOS : ON_ASSOC)))
                    continue;
                t = (struct tried){row->word, "", on, shape};
                for (size_t i = 0; i < ARRAY_LEN(deeds); i++)
                    if (in_share(made++, 23))
                        submit_limit_tried(deeds[i]);
            }
}

/* Each limit that there is, is in this product or in another one. */
static void none_is_left_out(void **unused)
{
    (void)unused;
    for (int what = 0; what < RESOURCE_LIMIT_COUNT; what++) {
        const struct resource_limit_row *row = &resource_limit_table[what];
        bool tried = row->counts != COUNTS_ASKED && row->counts != COUNTS_LEAST;
        for (size_t i = 0; i < ARRAY_LEN(of_a_job); i++)
            tried |= text_is(of_a_job[i].word, row->word);
        if (!tried)
            fail_msg("%s is tried nowhere", row->word);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_limit_on_a_job),
                                       cmocka_unit_test(each_limit_on_how_many),
                                       cmocka_unit_test(none_is_left_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
