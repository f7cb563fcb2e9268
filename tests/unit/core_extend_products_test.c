/* `remuda extend`, in products: what runs × what bounds it × whether starts are promised × what
 * happens then. Of two hours that are asked for each bound leaves forty minutes; they are granted,
 * to those that are meant and to nobody else, are in the store, are there after whatever happens
 * next, and nobody who waits is planned later. */
#include "core_extend_help.h"

#include <stdio.h>

enum shape { PLAIN, ELEMENT, HET, LEADER, COMPONENT, SHAPES };
static const size_t jobs_of[SHAPES] = {1, 2, 2, 2, 2};  /* that run */
static const size_t asked_of[SHAPES] = {1, 1, 2, 1, 1}; /* of these, so many get more */
static const size_t first_asked[SHAPES] = {0, 1, 0, 0, 1};

enum bound {
    NOTHING,
    PARTITION,
    QOS_WALL,
    QOS_WALL_DENY,
    ACCOUNT_WALL,
    USER_WALL,
    GRP_MINS,
    GRP_RUN_MINS,
    GRP_WALL,
    OWN_RESV,
    OTHERS_RESV,
    MAINT_RESV,
    CORES_RESV,
    LICENCES_RESV,
    DEADLINE,
    WAITS_BOB,
    BOUNDS
};
static const char *const says_of[BOUNDS] = {
    [PARTITION] = "MaxTime of partition main",
    [QOS_WALL] = "MaxWallDurationPerJob=01:40:00 of QOS test",
    [QOS_WALL_DENY] = "MaxWallDurationPerJob=01:40:00 of QOS test",
    [ACCOUNT_WALL] = "MaxWallDurationPerJob=01:40:00 of account physics",
    [USER_WALL] = "MaxWallDurationPerJob=01:40:00 of",
    [GRP_MINS] = "GrpTRESMins=cpu=",
    [GRP_RUN_MINS] = "GrpTRESRunMins=cpu=",
    [GRP_WALL] = "GrpWall=",
    [OWN_RESV] = "its reservation mine ends then",
    [OTHERS_RESV] = "reservation theirs begins then",
    [MAINT_RESV] = "reservation theirs begins then",
    [CORES_RESV] = "reservation theirs begins then",
    [LICENCES_RESV] = "reservation theirs begins then",
    [DEADLINE] = "its deadline is then",
    [WAITS_BOB] = "would delay a job of somebody else",
};

enum then { RESTARTED, NODE_AWAY, AGAIN, ANOTHER_ASKS, LOWERED, SUSPENDED, THENS };

struct product {
    enum shape shape;
    enum bound bound;
    enum then then;
    int promising;
};

static const char *const promising[] = {"", "SchedulerParameters=promises=aged,age_bound=60\n",
                                        "SchedulerParameters=promises=all\n"};

static struct {
    uint64_t array, id[2], waits;
    int64_t planned_us, began_us;
    char conf[1024];
} at;

/* ---- what there is ---- */

/* The component with the script goes on for longer where the other one alone is asked about. */
static int64_t limit_of(const struct product *p, size_t i)
{
    return p->shape == COMPONENT && i == 0 ? 100 * MIN : HOUR;
}

static int64_t granted_to(const struct product *p)
{
    return p->bound == NOTHING && p->shape != COMPONENT ? 2 * HOUR : 40 * MIN;
}

static void conf_make(const struct product *p)
{
    snprintf(at.conf, sizeof at.conf,
             "ClusterName=test\nOperators=olga\nMinJobAge=300\nKillWait=30\nLicenses=lab:4\n%s"
             "PrivateData=jobs\nPriorityDecayHalfLife=0\nPriorityCalcPeriod=1\n"
             "AccountingStorageEnforce=safe,qos\nNodeName=n[1-4] CPUs=8 RealMemory=8000\n"
             "PartitionName=main Nodes=n[1-4] Default=YES MaxTime=%s State=UP\n",
             promising[p->promising], p->bound == PARTITION ? "1:40:00" : "UNLIMITED");
}

static void bound_limit(const struct product *p)
{
    int64_t runs = (int64_t)jobs_of[p->shape], asks = (int64_t)asked_of[p->shape];
    int64_t wall = runs * 60 + asks * 40 + (p->shape == COMPONENT ? 40 : 0);
    switch (p->bound) {
    case QOS_WALL_DENY:
        change(VERB_MODIFY, NOUN_QOS)->qos =
            (struct record_list){KEEP(struct qos, .name = "test", .flags = QOS_DENY_ON_LIMIT), 1};
        changes[nchanges - 1].fields = "flags";
        assert_int_equal(changed(false), REFUSE_NONE);
        assert_int_equal(limit_set("qos test", "MaxWall=100"), REFUSE_NONE);
        return;
    case QOS_WALL: assert_int_equal(limit_set("qos test", "MaxWall=100"), REFUSE_NONE); return;
    case ACCOUNT_WALL: assert_int_equal(limit_set("physics", "MaxWall=100"), REFUSE_NONE); return;
    case USER_WALL:
        assert_int_equal(limit_set("physics/alice", "MaxWall=100"), REFUSE_NONE);
        return;
    case GRP_MINS:
    case GRP_RUN_MINS:
        assert_int_equal(limit_set("physics", arena_printf(w.a, "%s=cpu=%lld",
                                                           p->bound == GRP_MINS ? "GrpTRESMins"
                                                                                : "GrpTRESRunMins",
                                                           (long long)wall * 8)),
                         REFUSE_NONE);
        return;
    case GRP_WALL:
        assert_int_equal(limit_set("qos test", arena_printf(w.a, "GrpWall=%lld", (long long)wall)),
                         REFUSE_NONE);
        return;
    case NOTHING:
    case PARTITION:
    case OWN_RESV:
    case OTHERS_RESV:
    case MAINT_RESV:
    case CORES_RESV:
    case LICENCES_RESV:
    case DEADLINE:
    case WAITS_BOB:
    case BOUNDS: return;
    }
}

static void bound_reservation(const struct product *p, bool before)
{
    struct reservation r = {
        .users = "bob", .start_us = w.now + 100 * MIN, .duration_us = HOUR, .nodes = "n[1-4]"};
    if (before && p->bound == OWN_RESV) {
        r.users = "alice";
        r.start_us = w.now;
        r.duration_us = 100 * MIN;
        reserve("mine", r, "users,nodes,start_us,duration_us");
    } else if (!before && (p->bound == OTHERS_RESV || p->bound == MAINT_RESV)) {
        r.flags = p->bound == MAINT_RESV ? RESV_MAINT : 0;
        reserve("theirs", r, "users,nodes,start_us,duration_us,flags");
    } else if (!before && p->bound == LICENCES_RESV) {
        r.flags = RESV_ANY_NODES;
        r.licenses = "lab:4";
        reserve("theirs", r, "users,licenses,start_us,duration_us,flags");
    } else if (!before && p->bound == CORES_RESV) {
        r.core_counts = "1,1,1,1";
        reserve("theirs", r, "users,nodes,core_counts,start_us,duration_us");
    }
}

static struct job_spec spec_of(const struct product *p)
{
    struct job_spec s = sized(1, HOUR);
    s.requeue = YES;
    s.req.account = "physics";
    s.req.qos = "test";
    s.req.licenses = p->bound == LICENCES_RESV ? "lab:1" : NULL;
    s.req.reservation = p->bound == OWN_RESV ? "mine" : NULL;
    s.deadline_us = p->bound == DEADLINE ? w.now + 100 * MIN : 0;
    return s;
}

/* The rest of the cluster runs for a hundred minutes, and all of it is planned for bob then. */
static void bob_waits(const struct product *p)
{
    am_bob();
    struct job_spec s = sized(4 - (int)jobs_of[p->shape], 100 * MIN);
    s.req.account = "physics";
    assert_int_not_equal(submit(s), 0);
    s = sized(4, HOUR);
    s.req.account = "physics";
    at.waits = submit(s);
    pass(2 * MIN); /* old enough to be promised its start */
    am_olga();
    at.planned_us = why_one(at.waits)->planned_us;
    assert_int_equal(at.planned_us, at.began_us + 100 * MIN);
    am_alice();
}

static void begin(const struct product *p)
{
    memset(&at, 0, sizeof at);
    conf_make(p);
    world_open(at.conf, 4);
    the_tree();
    bound_limit(p);
    bound_reservation(p, true);
    am_alice();
    struct job_spec s[2] = {spec_of(p), spec_of(p)};
    s[0].req.time_limit_us = limit_of(p, 0);
    if (p->shape == ELEMENT)
        s[0].array = "0-1";
    at.began_us = w.now;
    uint64_t id = submit_all(s, p->shape >= HET ? 2 : 1);
    assert_int_not_equal(id, 0);
    at.array = id;
    for (size_t i = 0; i < jobs_of[p->shape]; i++)
        at.id[i] = p->shape == ELEMENT
                       ? job_named(arena_printf(w.a, "%llu_%zu", (unsigned long long)id, i))->id
                       : id + i;
    for (size_t i = 0; i < jobs_of[p->shape]; i++)
        assert_int_equal(state(at.id[i]), JOB_RUNNING);
    bound_reservation(p, false);
    if (p->bound == WAITS_BOB)
        bob_waits(p);
}

/* ---- what is asked, and what must be ---- */

static const char *ref_of(const struct product *p)
{
    unsigned long long id = at.id[0];
    if (p->shape == LEADER || p->shape == COMPONENT)
        return arena_printf(w.a, "%llu+%d", id, p->shape == COMPONENT);
    if (p->shape == ELEMENT)
        return arena_printf(w.a, "%llu_1", (unsigned long long)at.array);
    return ids_of(id);
}

static enum refusal ask_more(const struct product *p)
{
    return extend_by((struct msg_extend){.id = ref_of(p), .add_us = 2 * HOUR});
}

static bool gets(const struct product *p, size_t i)
{
    return i >= first_asked[p->shape] && i < first_asked[p->shape] + asked_of[p->shape];
}

/* What the store has of it. */
static const struct job *stored(uint64_t id)
{
    for (size_t i = 0; i < w.store.n; i++)
        if (w.store.v[i].table == TABLE_JOB && ((const struct job *)w.store.v[i].record)->id == id)
            return w.store.v[i].record;
    fail_msg("job %llu is not in the store", (unsigned long long)id);
    return NULL;
}

static void limits_are(const struct product *p, int64_t granted_us)
{
    for (size_t i = 0; i < jobs_of[p->shape]; i++) {
        int64_t more = gets(p, i) ? granted_us : 0;
        const struct job *j = job(at.id[i]), *kept = stored(at.id[i]);
        if (j->limit_us != limit_of(p, i) + more || kept->limit_us != j->limit_us)
            fail_msg("shape %d, bound %d, then %d: job %zu has %lld min, the store %lld", p->shape,
                     p->bound, p->then, i, (long long)(j->limit_us / MIN),
                     (long long)(kept->limit_us / MIN));
        if (j->extended_us != more || kept->extended_us != more)
            fail_msg("shape %d, bound %d, then %d: of job %zu %lld min were granted", p->shape,
                     p->bound, p->then, i, (long long)(j->extended_us / MIN));
        assert_int_equal(more != 0, j->extensions != NULL);
    }
}

static void nobody_is_later(const struct product *p)
{
    struct peer asks = w.peer;
    if (!at.waits)
        return;
    am_olga();
    int64_t planned = why_one(at.waits)->planned_us;
    if (planned > at.planned_us + SEC) /* for as long as a job was suspended it goes on longer */
        fail_msg("shape %d, promising %d, then %d: %lld s later", p->shape, p->promising, p->then,
                 (long long)((planned - at.planned_us) / SEC));
    w.peer = asks;
}

/* ---- and then ---- */

static void comes_back(int n)
{
    struct rows all = ask((struct msg_query){.what = QUERY_JOBS});
    struct held held[4] = {0};
    size_t k = 0;
    for (size_t i = 0; i < all.row.n; i++) {
        const struct job *j = all.row.v[i];
        if (j->state == JOB_RUNNING && j->batch_host && j->batch_host[1] - '0' == n)
            held[k++] =
                (struct held){.job_id = j->id, .attempt = j->attempt, .step_id = STEP_BATCH};
    }
    hello_holding(n, held, k);
    vec_done(&all.row);
}

static void node_was_away(int n)
{
    gone(n);
    comes_back(n);
}

static void nothing_is_left(const struct product *p, int64_t granted_us)
{
    if (p->bound == NOTHING && p->shape != COMPONENT)
        return;
    assert_int_equal(ask_more(p), REFUSE_TIME_LIMIT);
    says("nothing granted");
    limits_are(p, granted_us);
}

static void and_then(const struct product *p, int64_t granted_us)
{
    switch (p->then) {
    case RESTARTED:
        am_olga();
        restart(at.conf);
        for (int n = 1; n <= 4; n++)
            comes_back(n);
        am_alice();
        break;
    case NODE_AWAY:
        am_olga();
        node_was_away(job(at.id[0])->nodes[1] - '0');
        am_alice();
        break;
    case AGAIN: nothing_is_left(p, granted_us); break;
    case ANOTHER_ASKS:
        am_bob();
        assert_int_equal(ask_more(p), REFUSE_ACCESS_DENIED);
        am_olga();
        nothing_is_left(p, granted_us);
        am_alice();
        break;
    case LOWERED:
        assert_int_equal(limit_add(ref_of(p), -10 * MIN), REFUSE_NONE);
        limits_are(p, granted_us - 10 * MIN);
        nobody_is_later(p);
        return;
    case SUSPENDED:
        am_root();
        assert_int_equal(control(ids_of(at.id[0]), ACTION_SUSPEND), REFUSE_NONE);
        assert_int_equal(control(ids_of(at.id[0]), ACTION_RESUME), REFUSE_NONE);
        am_alice();
        break;
    case THENS: break;
    }
    limits_are(p, granted_us);
    nobody_is_later(p);
}

static void it_ends_by_its_limit(const struct product *p, int64_t granted_us)
{
    uint64_t id = at.id[first_asked[p->shape]];
    int64_t limit = HOUR + granted_us - (p->then == LOWERED ? 10 * MIN : 0);
    pass(at.began_us + limit - SEC - w.now);
    enum job_state before = state(id);
    pass(3 * SEC);
    if (before != JOB_RUNNING || state(id) == JOB_RUNNING)
        fail_msg("shape %d, bound %d, then %d: before its limit %d, behind it %d", p->shape,
                 p->bound, p->then, before, state(id));
}

static void one(const struct product *p)
{
    int64_t granted = granted_to(p);
    begin(p);
    if (ask_more(p) != REFUSE_NONE || answer()->count != (uint64_t)(granted / SEC))
        fail_msg("shape %d, bound %d, promising %d: %llu min, \"%s\"", p->shape, p->bound,
                 p->promising, (unsigned long long)answer()->count / 60,
                 answer()->detail ? answer()->detail : "");
    if (p->shape == COMPONENT)
        says("at most 40 min");
    else if (says_of[p->bound])
        says(says_of[p->bound]);
    limits_are(p, granted);
    nobody_is_later(p);
    and_then(p, granted);
    it_ends_by_its_limit(p, granted);
    world_close();
}

/* Promises matter where somebody waits. */
static void all_of(enum shape shape)
{
    for (int bound = 0; bound < BOUNDS; bound++)
        for (int then = 0; then < THENS; then++)
            for (int k = 0; k < (bound == WAITS_BOB ? 3 : 1); k++)
                one(&(struct product){shape, (enum bound)bound, (enum then)then, k});
}

static void a_plain_job(void **unused)
{
    all_of(PLAIN);
}
static void an_element(void **unused)
{
    all_of(ELEMENT);
}
static void all_components(void **unused)
{
    all_of(HET);
}
static void a_leader_alone(void **unused)
{
    all_of(LEADER);
}
static void a_component_alone(void **unused)
{
    all_of(COMPONENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_job),       cmocka_unit_test(an_element),
        cmocka_unit_test(all_components),    cmocka_unit_test(a_leader_alone),
        cmocka_unit_test(a_component_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
