/* What is large goes in pieces: answers of many rows, and a look at all jobs after a change. */
#include "core_tree.h"

#include "core/record/accounts/limit_view.h"
#include "core/record/record.h"

#define MANY 4500

/* ---- answers -------------------------------------------------------------------------------- */

struct rows_seen {
    uint64_t id[400];
    size_t n;
};

static void row_see(void *ctx, const void *record)
{
    struct rows_seen *s = ctx;
    assert_true(s->n < ARRAY_LEN(s->id));
    s->id[s->n++] = record_hash(&account_fields, record, 0);
}

static void accounts_make(int from, int to)
{
    for (int i = from; i < to; i++)
        add_account(arena_printf(w.a, "acc%d", i));
    assert_int_equal(changed(false), REFUSE_NONE);
}

/* Each row once, though others come in between. */
static void test_accounts_are_told_in_parts(void **state)
{
    struct rows_seen whole = {0}, parts = {0};
    struct msg_query q = {.what = QUERY_ACCOUNTS};
    struct view all = {row_see, &whole}, some = {row_see, &parts};
    struct str detail = STR_INIT;
    struct query_at at = {0};
    size_t calls = 0, most = 0;
    accounts_make(0, 50);
    am_root();
    assert_int_equal(core_query(w.c, &q, &w.peer, w.now, &all, &detail), REFUSE_NONE);
    do {
        size_t before = parts.n;
        assert_int_equal(core_query_part(w.c, &q, &w.peer, w.now, &some, &detail, &at, 7),
                         REFUSE_NONE);
        most = parts.n - before > most ? parts.n - before : most;
        if (++calls == 3)
            accounts_make(50, 60);
    } while (at.more);
    core_query_end(&at);
    assert_true(most <= 7 && calls > 6);
    assert_int_equal(parts.n, whole.n + 10);
    assert_memory_equal(parts.id, whole.id, whole.n * sizeof whole.id[0]);
    str_done(&detail);
}

static void assoc_see(void *ctx, const void *record)
{
    struct rows_seen *s = ctx;
    s->id[s->n++] = ((const struct assoc *)record)->id;
}

static void test_associations_are_told_in_parts(void **state)
{
    struct rows_seen parts = {0};
    struct msg_query q = {.what = QUERY_ASSOCS};
    struct view some = {assoc_see, &parts};
    struct str detail = STR_INIT;
    struct query_at at = {0};
    accounts_make(0, 50);
    am_root();
    do {
        core_query_part(w.c, &q, &w.peer, w.now, &some, &detail, &at, 9);
    } while (at.more);
    core_query_end(&at);
    assert_true(parts.n >= 54);
    for (size_t i = 1; i < parts.n; i++)
        assert_true(parts.id[i] > parts.id[i - 1]);
    str_done(&detail);
}

/* ---- shares --------------------------------------------------------------------------------- */

struct shares_seen {
    struct fair_share row[400];
    size_t n;
};

static void share_see(void *ctx, const void *record)
{
    struct shares_seen *s = ctx;
    const struct fair_share *r = record;
    assert_true(s->n < ARRAY_LEN(s->row));
    s->row[s->n++] = (struct fair_share){.assoc_id = r->assoc_id,
                                         .depth = r->depth,
                                         .norm_shares = r->norm_shares,
                                         .norm_usage = r->norm_usage,
                                         .effective = r->effective,
                                         .level_e6 = r->level_e6,
                                         .factor = r->factor};
}

/* In parts of `most`; the most rows of one part. */
static size_t shares_ask(enum query_what what, size_t most, struct view *v, const size_t *rows,
                         size_t *calls)
{
    struct msg_query q = {.what = (int32_t)what};
    struct str detail = STR_INIT;
    struct query_at at = {0};
    size_t longest = 0;
    *calls = 0;
    do {
        size_t before = *rows;
        assert_int_equal(core_query_part(w.c, &q, &w.peer, w.now, v, &detail, &at, most),
                         REFUSE_NONE);
        longest = *rows - before > longest ? *rows - before : longest;
        ++*calls;
    } while (at.more);
    core_query_end(&at);
    str_done(&detail);
    return longest;
}

static void shares_make(int accounts)
{
    for (int i = 0; i < accounts; i += 50)
        accounts_make(i, i + 50);
    for (int i = 0; i < 40; i++) {
        const char *account = i % 2 ? "acc3" : "acc4", *user = arena_printf(w.a, "user%d", i);
        add_user(user, account);
        assert_int_equal(changed(false), REFUSE_NONE);
        if (i % 3 == 0)
            assert_int_equal(
                limit_set(arena_printf(w.a, "%s/%s", account, user), "GrpTRESMins=cpu=9"),
                REFUSE_NONE);
    }
}

/* A part looks at so many, whatever the tree is; the rows are the same ones. */
static void test_shares_are_worked_out_in_parts(void **state)
{
    struct shares_seen whole = {0}, parts = {0};
    struct view all = {share_see, &whole}, some = {share_see, &parts};
    size_t calls;
    shares_make(100);
    am_root();
    size_t longest = shares_ask(QUERY_FAIR_SHARES, SIZE_MAX, &all, &whole.n, &calls);
    assert_true(longest == whole.n && calls == 1);
    assert_true(whole.n > 140);
    assert_true(shares_ask(QUERY_FAIR_SHARES, 3, &some, &parts.n, &calls) <= 3);
    size_t rounds = 0; /* of a sort */
    for (size_t width = 1; width < whole.n; width *= 2)
        rounds++;
    /* Each is gathered, sorted, placed, sorted by its rank and told: 16 looks a row. */
    assert_true(calls >= whole.n / 3 + (2 * rounds + 3) * whole.n / (3 * 16));
    assert_int_equal(parts.n, whole.n);
    assert_memory_equal(parts.row, whole.row, whole.n * sizeof whole.row[0]);
}

/* Associations come, move and go between two parts: nothing is shown twice. */
static void test_shares_of_a_tree_that_changes_meanwhile(void **state)
{
    struct shares_seen parts = {0};
    struct view some = {share_see, &parts};
    struct msg_query q = {.what = QUERY_FAIR_SHARES};
    struct str detail = STR_INIT;
    for (int when = 0; when < 60; when += 3) {
        struct query_at at = {0};
        parts.n = 0;
        int calls = 0;
        if (when == 0)
            shares_make(50);
        am_root();
        do {
            core_query_part(w.c, &q, &w.peer, w.now, &some, &detail, &at, 2);
            if (calls++ == when) {
                add_account(arena_printf(w.a, "more%d", when));
                assert_int_equal(changed(false), REFUSE_NONE);
            }
        } while (at.more);
        core_query_end(&at);
        for (size_t i = 0; i < parts.n; i++)
            for (size_t k = 0; k < i; k++)
                assert_int_not_equal(parts.row[i].assoc_id, parts.row[k].assoc_id);
        assert_true(parts.n > 90);
    }
    str_done(&detail);
}

static void row_count(void *ctx, const void *record)
{
    (void)record;
    ++*(size_t *)ctx;
}

/* What is in use and what of limits: no part tells more than it may. */
static void test_use_is_told_in_parts(void **state)
{
    static const enum query_what what[] = {QUERY_IN_USE, QUERY_LIMIT_USE, QUERY_SHARES};
    shares_make(50);
    for (int i = 0; i < 30; i++) {
        if (i % 3)
            am_alice();
        else
            am_bob();
        assert_int_not_equal(submit(job_of(1, "physics", NULL)), 0);
    }
    wake();
    am_root();
    for (size_t i = 0; i < ARRAY_LEN(what); i++) {
        size_t whole = 0, parts = 0, calls;
        struct view all = {row_count, &whole}, some = {row_count, &parts};
        shares_ask(what[i], SIZE_MAX, &all, &whole, &calls);
        assert_int_equal(calls, 1);
        shares_ask(what[i], 1, &some, &parts, &calls);
        assert_int_equal(parts, whole);
        assert_true(calls > whole);
        if (what[i] == QUERY_SHARES) /* gathered, sorted and told */
            assert_true(whole > 1 && calls >= 3 * whole);
    }
}

/* ---- sums of live jobs ---------------------------------------------------------------------- */

/* By a look at each kind of jobs. */
static uint64_t counted(const struct limit_subject *who, const struct limit_hit *h)
{
    struct limit_subject n;
    struct map_walk walk = {0};
    uint64_t sum = 0;
    enum limit_scope scope = resource_limit_table[h->l->what].scope;
    while (limits_next_subject(w.c, &walk, &n)) {
        const struct partrec *part = limits_counted_in(w.c, &n);
        const struct assocrec *leaf = assoc_for(w.c, n.account, n.user, part ? part->p.name : NULL);
        bool of_it = (scope != SCOPE_USER || text_is(n.user, who->user)) &&
                     (scope != SCOPE_ACCOUNT || text_is(n.account, who->account));
        if (h->qos)
            of_it &=
                text_is(n.qos, h->qos->q.name) || (part && text_is(part->p.qos, h->qos->q.name));
        else
            of_it &= scope == SCOPE_USER ? text_is(n.account, who->account)
                                         : leaf && assoc_is_under(leaf, h->assoc);
        sum += of_it ? ((const struct live_count *)walk.value)->jobs : 0;
    }
    return sum;
}

static size_t sums_compare(void)
{
    struct live_sums *sums = live_sums_new();
    struct map_walk walk = {0};
    size_t all = SIZE_MAX;
    struct limit_subject who;
    size_t n = 0;
    assert_true(live_sums_go(sums, w.c, &walk, &all));
    walk = (struct map_walk){0};
    while (limits_next_subject(w.c, &walk, &who)) {
        limit_hits hits = {0};
        limits_collect(w.c, &who, COUNTS_LIVE, &hits);
        for (size_t i = 0; i < hits.n; i++, n++) {
            assert_int_equal(live_sums_of(sums, &who, &hits.v[i]), counted(&who, &hits.v[i]));
            assert_int_equal(live_sums_of(live_sums_known(w.c), &who, &hits.v[i]),
                             counted(&who, &hits.v[i]));
        }
        vec_done(&hits);
    }
    live_sums_free(sums);
    return n;
}

static void test_sums_are_what_counting_gives(void **state)
{
    static const char *const limits[][2] = {{"physics", "GrpSubmitJobs=100"},
                                            {"physics", "MaxSubmitJobs=50"},
                                            {"chem", "MaxSubmitJobs=30"},
                                            {"physics/alice", "MaxSubmit=20"},
                                            {"root", "GrpSubmitJobs=500"},
                                            {"qos test", "GrpSubmit=90"},
                                            {"qos test", "MaxSubmitJobsPerUser=80"},
                                            {"qos test", "MaxSubmitJobsPerAccount=70"},
                                            {"qos normal", "MaxSubmitJobsPerUser=300"},
                                            {"physics", "GrpJobs=9"}};
    static const char *const accounts[] = {"physics", "chem"}, *const qos[] = {"test", "normal"};
    for (size_t i = 0; i < ARRAY_LEN(limits); i++)
        assert_int_equal(limit_set(limits[i][0], limits[i][1]), REFUSE_NONE);
    for (int i = 0; i < 24; i++) {
        bool bob = i % 3 == 0;
        if (bob)
            am_bob();
        else
            am_alice();
        struct job_spec s = job_of(1 + i % 4, bob ? "physics" : accounts[i % 2], qos[i / 2 % 2]);
        s.hold = i % 5 == 0;
        s.array = i % 7 == 0 ? "1-3" : NULL;
        s.req.partition = i % 4 == 0 ? "small" : "main";
        assert_true(submit(s) != 0);
    }
    assert_true(sums_compare() > 20);
}

/* ---- a change with very many jobs ----------------------------------------------------------- */

/* Jobs that the planner no longer has, for they may not run. */
static size_t barred_count(void)
{
    struct map_walk walk = {0};
    size_t n = 0;
    while (map_u64_next(w.c->jobs.by_id, &walk))
        n += !((const struct jobrec *)walk.value)->waiting;
    return n;
}

/* The same job over and over, as the store might have them. */
static void jobs_make(uint64_t id)
{
    const struct job *from = job(id);
    for (uint64_t i = 1; i < MANY; i++) {
        struct job *copy = arena_alloc(w.a, sizeof *copy);
        *copy = *from;
        copy->id = id + i;
        struct kept row = {TABLE_JOB, key_hash(TABLE_JOB, copy), copy};
        vec_push(&w.store, row);
    }
    restart(ENFORCED);
}

static void test_a_change_looks_at_all_jobs_slice_by_slice(void **state)
{
    struct account_change ch = {.verb = VERB_MODIFY, .noun = NOUN_QOS, .fields = "flags"};
    struct qos test = {.name = "test", .flags = QOS_REQUIRES_RESV};
    ch.qos = (struct record_list){&test, 1};
    struct msg_change_accounts m = {.changes = {&ch, 1}};
    struct message msg = {.kind = MSG_CHANGE_ACCOUNTS, .seq = 99, .body = &m};
    struct peer root = {.user = "root", .is_admin = true};
    struct event ev = {.kind = EV_MESSAGE, .now_us = w.now, .conn = 1, .peer = &root, .msg = &msg};
    size_t wakes = 0, before = 0;
    jobs_make(submit(job_of(1, "physics", "test")));
    assert_int_equal(barred_count(), 0);
    effects_reset(&w.fx);
    core_step(w.c, &ev, &w.fx);
    before = barred_count();
    assert_true(before > 0 && before < MANY);
    while (core_wake_due(w.c) <= w.now && wakes < 20) {
        size_t plans = 0;
        core_step(w.c, &(struct event){.kind = EV_WAKE, .now_us = w.now}, &w.fx);
        for (size_t i = 0; i < w.fx.n; i++)
            plans += w.fx.v[i].kind == FX_SEND;
        assert_int_equal(plans, 0); /* nothing starts by what was allowed before */
        wakes++;
        size_t now = barred_count();
        assert_true(now >= before && now - before < MANY / 2);
        before = now;
    }
    assert_true(wakes >= 2 && wakes < 20);
    assert_int_equal(before, MANY);
    core_check(w.c);
}

static int no_nodes(void **unused)
{
    world_open(ENFORCED, 0);
    the_tree();
    return 0;
}

/* Of a job on many large nodes the sums stay within what their fields hold. */
static void test_sums_of_an_allocation_fit(void **unused)
{
    struct jobrec sums = {0};
    struct alloc_node *node = arena_alloc(w.a, 3000 * sizeof *node);
    for (size_t i = 0; i < 3000; i++)
        node[i] = (struct alloc_node){.node = "n1",
                                      .cpus = "",
                                      .cpu_count = LIMIT_CPUS_PER_NODE,
                                      .mem_mib = FIELD_MIB_MAX,
                                      .tasks = LIMIT_TASKS};
    alloc_sums(w.c, &sums, &(struct alloc){node, 3000});
    assert_int_equal(sums.j.alloc_tasks, LIMIT_TASKS);
    assert_int_equal(sums.j.alloc_cpus, INT32_MAX);
    assert_int_equal(sums.j.alloc_mem_mib, FIELD_MIB_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_STORY(test_accounts_are_told_in_parts),
        TREE_STORY(test_associations_are_told_in_parts),
        TREE_STORY(test_shares_are_worked_out_in_parts),
        TREE_STORY(test_shares_of_a_tree_that_changes_meanwhile),
        TREE_STORY(test_use_is_told_in_parts),
        TREE_STORY(test_sums_are_what_counting_gives),
        TREE_STORY(test_sums_of_an_allocation_fit),
        cmocka_unit_test_setup_teardown(test_a_change_looks_at_all_jobs_slice_by_slice, no_nodes,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
