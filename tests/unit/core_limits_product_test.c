/* Each limit on what runs, on each that may carry it, for each kind of job, whatever is done
 * meanwhile: never more than allowed run, who waits is told Slurm's word, something runs whenever
 * it may, and in the end all have run. */
#include "core_carriers.h"
#include "share.h"

#include "core/record/state.h"

#include <stdio.h>

/* ---- the tables ----------------------------------------------------------------------------- */

#define NODES   "node"
#define LICENCE "license/matlab"
#define WORLD_OF(enforced)                                                                         \
    "ClusterName=test\nMinJobAge=300\nKillWait=30\nGresTypes=gpu\nLicenses=matlab:50\n"            \
    "NodeName=n[1-4] CPUs=8 RealMemory=8000 Gres=gpu:v100:8\n"                                     \
    "PartitionName=main Nodes=n[1-4] Default=YES MaxTime=2:00:00 State=UP\n"                       \
    "AccountingStorageEnforce=" enforced "\nPreemptType=preempt/qos\nPreemptMode=REQUEUE\n"        \
    "PriorityDecayHalfLife=0\n"

/* `unit`: what one job of one CPU, one GPU, 100 MiB, one licence and ten minutes takes of it. */
static const struct {
    const char *word, *tres;
    int64_t unit;
    bool on_assoc, on_qos;
} kinds[] = {
    {"GrpJobs", NULL, 1, true, true},
    {"GrpTRES", "cpu", 1, true, true},
    {"GrpTRES", "mem", 100, true, true},
    {"GrpTRES", "billing", 1, true, true},
    {"GrpTRES", NODES, 1, true, true},
    {"GrpTRES", "gres/gpu", 1, true, true},
    {"GrpTRES", "gres/gpu:v100", 1, true, true},
    {"GrpTRES", LICENCE, 1, true, true},
    {"GrpTRESRunMins", "cpu", 10, true, true},
    {"GrpTRESMins", "cpu", 10, true, true},
    {"GrpTRESMins", "billing", 10, true, true},
    {"GrpTRESMins", "gres/gpu:v100", 10, true, true},
    {"GrpWall", NULL, 10, true, true},
    {"MaxJobs", NULL, 1, true, false},
    {"MaxJobsPerUser", NULL, 1, false, true},
    {"MaxJobsPerAccount", NULL, 1, false, true},
    {"MaxTRESPerUser", "cpu", 1, false, true},
    {"MaxTRESPerUser", "mem", 100, false, true},
    {"MaxTRESPerUser", NODES, 1, false, true},
    {"MaxTRESPerUser", "gres/gpu:v100", 1, false, true},
    {"MaxTRESPerAccount", "cpu", 1, false, true},
    {"MaxTRESPerAccount", "gres/gpu", 1, false, true},
    {"MaxTRESRunMinsPerUser", "cpu", 10, false, true},
    {"MaxTRESRunMinsPerAccount", "cpu", 10, false, true},
};

enum shape { PLAIN, ARRAY, HET, SHAPES };

enum deed {
    NOTHING,
    HELD,
    REQUEUED,
    CANCELLED,
    UPDATED,
    RESTARTED,
    RAISED,
    LIFTED,
    SHRUNK,  /* the first, which has two nodes, gives one back */
    LOST,    /* the first's node */
    LOWERED, /* to nothing, and back */
    STOPPED, /* the first is suspended, and goes on */
    BEATEN,  /* the first gives way to another's QOS, and is requeued */
    MOVED,   /* what waits is given another account or QOS */
    DEEDS
};

static const char *const shape_name[SHAPES] = {"plain", "array", "het"};
static const char *const deed_name[DEEDS] = {
    "nothing", "held",   "requeued", "cancelled", "updated", "restarted", "raised",
    "lifted",  "shrunk", "lost",     "lowered",   "stopped", "beaten",    "moved"};

struct product {
    size_t kind;
    enum carrier carrier;
    enum shape shape;
    enum deed deed;
    size_t most; /* jobs, components each, that may run at once */
};

#define EXPECT(p, what, ...)                                                                       \
    do {                                                                                           \
        if (!(what))                                                                               \
            fail_msg("%s=%s on %s (%d), %s, %s: %s", kinds[(p)->kind].word,                        \
                     kinds[(p)->kind].tres ? kinds[(p)->kind].tres : "", carrier[(p)->carrier],    \
                     (int)(p)->carrier, shape_name[(p)->shape], deed_name[(p)->deed],              \
                     arena_printf(w.a, __VA_ARGS__));                                              \
    } while (0)

/* ---- what is there -------------------------------------------------------------------------- */

/* Of limits on what is used in the end (by `safe` on what may be used, too). */
static bool spends(const struct product *p)
{
    return text_is(kinds[p->kind].word, "GrpTRESMins") || text_is(kinds[p->kind].word, "GrpWall");
}

static const char *world_of(const struct product *p)
{
    return spends(p) ? WORLD_OF("safe,qos") : WORLD_OF("limits,qos");
}

static size_t jobs_in(enum job_state wanted)
{
    struct map_walk walk = {0};
    size_t n = 0;
    while (map_u64_next(w.c->jobs.by_id, &walk)) {
        const struct jobrec *r = walk.value;
        n += r->j.state == (int32_t)wanted;
    }
    return n;
}

/* What was used is forgotten, everywhere. */
static void use_forgotten(void)
{
    static const char *const qos[] = {"normal", "test"};
    struct account_change *ch = change(VERB_MODIFY, NOUN_ASSOC);
    ch->no_usage = true;
    ch->assoc = (struct record_list){KEEP(struct assoc, .account = "root"), 1};
    for (size_t i = 0; i < ARRAY_LEN(qos); i++) {
        ch = change(VERB_MODIFY, NOUN_QOS);
        ch->no_usage = true;
        ch->qos = (struct record_list){KEEP(struct qos, .name = qos[i]), 1};
    }
    assert_int_equal(changed(false), REFUSE_NONE);
}

/* Never too many, and something where anything may. */
static void books_look(const struct product *p, const char *when)
{
    if (spends(p) && !jobs_in(JOB_RUNNING)) { /* the next needs what was used before */
        use_forgotten();
        am_alice();
        pass(SEC);
    }
    size_t running = jobs_in(JOB_RUNNING), waiting = jobs_in(JOB_PENDING);
    EXPECT(p, running <= p->most, "%s %zu run, %zu may", when, running, p->most);
    EXPECT(p, running || !waiting, "%s nothing runs, %zu wait", when, waiting);
    core_check(w.c);
}

/* The first that runs ends; false: none does. */
static bool one_ends(void)
{
    struct map_walk walk = {0};
    while (map_u64_next(w.c->jobs.by_id, &walk)) {
        const struct jobrec *r = walk.value;
        if (r->j.state != JOB_RUNNING || (r->j.het_job_id && r->j.het_job_id != r->j.id))
            continue;
        report(r->j.batch_host[1] - '0', (struct msg_report){.kind = REPORT_EXITED,
                                                             .job_id = r->j.id,
                                                             .attempt = r->j.attempt,
                                                             .step_id = STEP_BATCH,
                                                             .clean = true});
        return true;
    }
    return false;
}

static void hello_of(int n, struct held *held, size_t nheld)
{
    struct node node = {.name = arena_printf(w.a, "n%d", n),
                        .real_cpus = 8,
                        .real_memory_mib = 8000,
                        .real_gres = "gpu:v100:8",
                        .version = "test"};
    struct msg_node_hello m = {.node = {&node, 1}, .held = {held, nheld}, .pid = 7};
    am_root();
    say(CONN_OF(n), MSG_NODE_HELLO, &m);
}

static void comes_back(const struct product *p)
{
    restart(world_of(p));
    for (int n = 1; n <= 4; n++) {
        struct map_walk walk = {0};
        struct held held[8];
        size_t nheld = 0;
        while (map_u64_next(w.c->jobs.by_id, &walk)) {
            const struct jobrec *r = walk.value;
            if (r->j.state == JOB_RUNNING && r->j.batch_host && r->j.batch_host[1] - '0' == n)
                held[nheld++] = (struct held){
                    .job_id = r->j.id, .attempt = r->j.attempt, .step_id = STEP_BATCH};
        }
        hello_of(n, held, nheld);
    }
    am_alice();
    pass(SEC);
}

/* ---- what is done --------------------------------------------------------------------------- */

static enum refusal limited(const struct product *p, int64_t jobs)
{
    int64_t value = jobs < 0 ? -1 : jobs * kinds[p->kind].unit;
    const char *tres = kinds[p->kind].tres;
    return limit_set(carrier[p->carrier],
                     arena_printf(w.a, "%s=%s%s%lld", kinds[p->kind].word, tres ? tres : "",
                                  tres ? "=" : "", (long long)value));
}

static struct job_spec spec_of(const struct product *p)
{
    bool of_test = p->carrier == ON_JOB_QOS || p->carrier == ON_QOS_OVER;
    struct job_spec s = job_of(1, "physics", of_test ? "test" : "normal");
    s.req.gres = "gpu:v100:1";
    s.req.licenses = "matlab:1";
    if (text_is(kinds[p->kind].tres, NODES)) /* one that several share counts once */
        s.req.exclusive = EXCLUSIVE_NODE;
    return s;
}

static uint64_t submitted(const struct product *p, bool first)
{
    struct job_spec s[2] = {spec_of(p), spec_of(p)};
    if (p->shape == ARRAY && !first)
        s[0].array = "1-3";
    if (p->deed == SHRUNK && first)
        s[0].req.min_nodes = s[0].req.max_nodes = s[0].req.ntasks = 2;
    return submit_all(s, p->shape == HET ? 2 : 1);
}

static const struct blocker *blocker_of(const struct why *y, const char *limit)
{
    const struct blocker *b = y->blockers.v;
    for (size_t i = 0; i < y->blockers.n; i++)
        if (b[i].kind == BLOCKER_LIMIT && text_starts(b[i].what, limit))
            return &b[i];
    return NULL;
}

/* Slurm's word; and which limit, how much of it is in use, whose it is and when that ends. What
 * components are billed is known where each is placed: they are told that there is no room. */
static void told_why(const struct product *p, uint64_t first, uint64_t second)
{
    const char *tres = kinds[p->kind].tres;
    if (p->shape == HET && text_is(tres, "billing"))
        return;
    enum resource_limit what;
    enum limit_owner owner = is_of_qos(p->carrier) ? OWNER_QOS : OWNER_ASSOC;
    assert_true(resource_limit_find(kinds[p->kind].word, owner, 100, &what));
    const char *word = enum_name(&job_reason_names, resource_limit_reason(owner, what, tres));
    EXPECT(p, text_is(reason(second), word), "it waits for %s, not for %s", reason(second), word);
    const char *limit = arena_printf(w.a, "%s=%s", kinds[p->kind].word, tres ? tres : "");
    const struct blocker *b = blocker_of(why(ids_of(second))->jobs.v, limit);
    EXPECT(p, b, "why does not tell of %s", limit);
    const char *told = spends(p)               ? "minutes are used"
                       : strstr(limit, "Mins") ? "may still use"
                                               : "in use";
    EXPECT(p, strstr(b->what, told), "why tells no use: %s", b->what);
    EXPECT(p, text_starts(b->jobs, ids_of(first)), "why tells of the jobs %s", b->jobs);
    EXPECT(p, text_is(b->users, "alice"), "why tells of the users %s", b->users);
    if (spends(p)) /* what is used then nobody knows */
        return;
    EXPECT(p, b->first_us > w.now && b->first_us <= job(first)->start_us + 11 * MIN,
           "why tells of %lld", (long long)b->first_us);
}

static void time_limit_set(uint64_t id)
{
    struct job_spec to = {.req = {.time_limit_us = 9 * MIN}};
    struct msg_update_job m = {.ids = ids_of(id), .fields = "time_limit_us", .values = {&to, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
}

static void gives_a_node_back(uint64_t id)
{
    struct job_spec to = {.req = {.min_nodes = 1}};
    struct msg_update_job m = {.ids = ids_of(id), .fields = "min_nodes", .values = {&to, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
}

/* Whether it makes sense: components keep their nodes, and jobs and licences are not of nodes; who
 * beats another is not held by the same limit; and a partition's QOS is the job's everywhere. */
static bool makes_sense(const struct product *p)
{
    const char *tres = kinds[p->kind].tres;
    bool may = is_of_qos(p->carrier) ? kinds[p->kind].on_qos : kinds[p->kind].on_assoc;
    if (p->deed == BEATEN)
        return may && p->carrier != ON_PARENT && p->carrier != ON_PART_QOS;
    if (p->deed == MOVED)
        return may && p->carrier != ON_PARENT && p->carrier != ON_PART_QOS && p->shape != HET;
    return may && (p->deed != SHRUNK || (p->shape != HET && tres && !text_is(tres, LICENCE)));
}

/* Nothing may run now, and what runs goes on. */
static void lowered_and_back(const struct product *p, uint64_t first)
{
    assert_int_equal(limited(p, 0), REFUSE_NONE);
    EXPECT(p, state(first) == JOB_RUNNING, "what runs is stopped");
    am_alice();
    one_ends();
    EXPECT(p, !jobs_in(JOB_RUNNING), "something starts below a limit of nothing");
    core_check(w.c);
    assert_int_equal(limited(p, (int64_t)p->most), REFUSE_NONE);
}

/* Who is suspended has what he has: nobody else starts, and he goes on. */
static void stopped_and_on(const struct product *p, uint64_t first)
{
    am_root();
    assert_int_equal(control(ids_of(first), ACTION_SUSPEND), REFUSE_NONE);
    pass(SEC);
    size_t held = jobs_in(JOB_SUSPENDED), running = jobs_in(JOB_RUNNING);
    EXPECT(p, held + running <= p->most, "%zu are suspended, %zu run, %zu may", held, running,
           p->most);
    assert_int_equal(control(ids_of(first), ACTION_RESUME), REFUSE_NONE);
    pass(SEC);
    EXPECT(p, state(first) == JOB_RUNNING, "it does not go on");
}

/* carol's job of all nodes, of a QOS that may stop those of all others. */
static void beaten_by_another(const struct product *p, uint64_t first)
{
    add_account("urgent");
    add_user("carol", "urgent");
    change(VERB_ADD, NOUN_QOS)->qos = (struct record_list){
        KEEP(struct qos, .name = "high", .preempt = "normal,test", .priority = 1000), 1};
    struct account_change *ch = change(VERB_MODIFY, NOUN_ASSOC);
    ch->fields = "qos";
    ch->list = LIST_MORE;
    ch->assoc = (struct record_list){KEEP(struct assoc, .account = "root", .qos = "high"), 1};
    assert_int_equal(changed(false), REFUSE_NONE);
    am(901, "carol", false);
    struct job_spec all = job_of(4, "urgent", "high");
    all.req.min_nodes = all.req.max_nodes = 4;
    all.req.exclusive = EXCLUSIVE_NODE;
    uint64_t of_carol = submit(all);
    am_alice();
    script_ends(first, 15);
    pass(SEC);
    EXPECT(p, state(of_carol) == JOB_RUNNING, "it does not beat what runs: it waits for %s",
           reason(of_carol));
    EXPECT(p, state(first) == JOB_PENDING, "who gave way does not wait");
    script_ends(of_carol, 0);
    pass(3 * MIN);
}

/* Elsewhere what waits is held by nothing, and starts; it counts there from then on. */
static void moved_elsewhere(const struct product *p, uint64_t second)
{
    struct job_spec to = {.req = {.account = "chem", .qos = "normal"}};
    struct msg_update_job m = {.ids = ids_of(second),
                               .fields = is_of_qos(p->carrier) ? "qos" : "account",
                               .values = {&to, 1}};
    am_root();
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    pass(SEC);
    EXPECT(p, !jobs_in(JOB_PENDING), "what is held by nothing waits: for %s", reason(second));
}

static void done(struct product *p, uint64_t first, uint64_t second)
{
    switch (p->deed) {
    case NOTHING: break;
    case HELD:
        assert_int_equal(control(ids_of(second), ACTION_HOLD), REFUSE_NONE);
        one_ends();
        EXPECT(p, !jobs_in(JOB_RUNNING), "what is held starts");
        assert_int_equal(control(ids_of(second), ACTION_RELEASE), REFUSE_NONE);
        break;
    case REQUEUED:
    case CANCELLED:
        assert_int_equal(p->deed == CANCELLED ? cancel(ids_of(first))
                                              : control(ids_of(first), ACTION_REQUEUE),
                         REFUSE_NONE);
        EXPECT(p, !jobs_in(JOB_RUNNING) || spends(p) || strstr(kinds[p->kind].word, "RunMins"),
               "another starts before that is over"); /* who is ending may use no more minutes */
        script_ends(first, 15);
        pass(3 * MIN);
        break;
    case UPDATED: time_limit_set(second); break;
    case RESTARTED: comes_back(p); break;
    case RAISED:
        p->most *= 2;
        assert_int_equal(limited(p, (int64_t)p->most), REFUSE_NONE);
        EXPECT(p, jobs_in(JOB_RUNNING) == p->most, "%zu run, %zu may", jobs_in(JOB_RUNNING),
               p->most);
        break;
    case LIFTED:
        p->most = 99;
        assert_int_equal(limited(p, -1), REFUSE_NONE);
        EXPECT(p, !jobs_in(JOB_PENDING), "something waits still");
        break;
    case SHRUNK:
        gives_a_node_back(first);
        EXPECT(p, jobs_in(JOB_RUNNING) == 2, "what it gave back is not had by another");
        break;
    case LOWERED: lowered_and_back(p, first); break;
    case STOPPED: stopped_and_on(p, first); break;
    case BEATEN: beaten_by_another(p, first); break;
    case MOVED:
        moved_elsewhere(p, second);
        p->most = 99;
        break;
    case LOST:
        gone(job(first)->batch_host[1] - '0');
        pass_awake(6 * MIN);
        EXPECT(p, state(first) != JOB_RUNNING || job(first)->restarts, "it runs on a lost node");
        break;
    case DEEDS: break;
    }
    am_alice();
}

static void product_run(struct product p)
{
    world_open(world_of(&p), 0);
    for (int n = 1; n <= 4; n++)
        hello_of(n, NULL, 0);
    the_tree();
    carrier_make(p.carrier);
    p.most = p.shape == HET || p.deed == SHRUNK ? 2 : 1;
    assert_int_equal(limited(&p, (int64_t)p.most), REFUSE_NONE);
    am_alice();
    uint64_t first = submitted(&p, true), second = submitted(&p, false);
    EXPECT(&p, first && second, "it is refused");
    EXPECT(&p, state(first) == JOB_RUNNING && state(second) == JOB_PENDING, "it does not hold");
    told_why(&p, first, second);
    books_look(&p, "at first");
    done(&p, first, second);
    books_look(&p, "then");
    for (int i = 0; i < 12 && one_ends(); i++)
        books_look(&p, "as one ends");
    EXPECT(&p, !jobs_in(JOB_PENDING) && !jobs_in(JOB_RUNNING), "some never ran");
    world_close();
}

static void each_limit_on_each_carrier(void **unused)
{
    (void)unused;
    size_t made = 0;
    for (size_t kind = 0; kind < ARRAY_LEN(kinds); kind++)
        for (enum carrier c = 0; c < CARRIERS; c++)
            for (enum shape s = 0; s < SHAPES; s++)
                for (enum deed d = 0; d < DEEDS; d++) {
                    struct product p = {kind, c, s, d, 0};
                    if (makes_sense(&p) && in_share(made++, 11))
                        product_run(p);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_limit_on_each_carrier)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
