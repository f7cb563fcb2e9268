/* What users used, for fair share. Every PriorityCalcPeriod, and when a run ends, running work is
 * charged: billing units (CPUs, or TRESBillingWeights of the partition) × seconds. What was charged
 * decays with the half life, by whole periods for all alike, in integers, so that every machine
 * with the same history has the same numbers.
 *
 * Durable: a row a user and account, written in the step that changes it, and the time up to which
 * all running work is charged ("usage_at"). A controller that starts again decays each row from its
 * own time to that one, and goes on charging from there.
 *
 * Shares are equal until accounts say otherwise: among the accounts that are named, and users who
 * name none, and within an account among its users. The factor is the rank in that tree (fair
 * tree), or 2^−(use/share) with NO_FAIR_TREE. */
#include "core/record/accounts/usage.h"
#include "core/record/accounts/minutes.h"
#include "core/record/accounts/use.h"
#include "core/record/record.h"
#include "core/record/users/run_times.h"

#include "model/job/job_counts.h"

#include <stdlib.h>
#include <string.h>

#define FEW_ROWS     1000 /* of users in accounts: all are worked out anew for one that comes */
#define STRANGE_MOST 200  /* accounts of a user's that nobody made, told apart */

struct usagerec {
    struct usage u; /* texts interned */
    bool unsaved;
};

/* ---- records -------------------------------------------------------------------------------- */

static void who_write(struct str *who, uint32_t uid, const char *account)
{
    str_clear(who);
    str_add_u64(who, uid);
    if (account)
        str_addc(who, '/');
    str_add(who, account);
}

/* Where accounts are not insisted on a job names any. Nobody without a name is in one. */
static bool is_strange(const struct core *c, const char *account, const char *user)
{
    return account && (!user || !account_find(c, account));
}

/* Of all users without a name together: one who has user namespaces is 65,536 of them. */
static uint64_t strange_key(uint32_t uid, const char *user)
{
    return user ? uid + UINT64_C(1) : 0;
}

static size_t strange_of(const struct core *c, uint32_t uid, const char *user)
{
    return (uintptr_t)map_u64_get(c->usage.strange, strange_key(uid, user));
}

const char *usage_account(const struct core *c, uint32_t uid, const char *account, const char *user)
{
    struct str who = STR_INIT;
    if (!is_strange(c, account, user))
        return account;
    who_write(&who, uid, account);
    const char *same = map_str_get(c->usage.row, str_text(&who)) ? account : NULL;
    str_done(&who);
    return same;
}

static void strange_count(struct core *c, const struct usagerec *u)
{
    uint32_t uid = u->u.user_id;
    const char *user = u->u.user_name;
    if (is_strange(c, u->u.account, user))
        map_u64_put(c->usage.strange, strange_key(uid, user),
                    (void *)(uintptr_t)(strange_of(c, uid, user) + 1));
}

static struct usagerec *row_of(struct core *c, uint32_t uid, const char *account, const char *user)
{
    struct str who = STR_INIT;
    who_write(&who, uid, account);
    struct usagerec *u = map_str_get(c->usage.row, str_text(&who));
    if (!u) {
        u = xcalloc(1, sizeof *u);
        u->u.user_id = uid;
        u->u.at_us = c->usage.at_us;
        text_set(c, &u->u.who, str_text(&who));
        text_set(c, &u->u.account, account);
        text_set(c, &u->u.user_name, user);
        map_str_put(c->usage.row, u->u.who, u);
        if (c->store.loaded)
            strange_count(c, u);
    }
    str_done(&who);
    return u;
}

static struct usagerec *usage_of(struct core *c, uint32_t uid, const char *account,
                                 const char *user)
{
    bool room = strange_of(c, uid, user) < STRANGE_MOST;
    return row_of(c, uid, room ? account : usage_account(c, uid, account, user), user);
}

/* The planner hears how long jobs are expected to run. */
static void run_times_tell(struct core *c, const struct usagerec *u)
{
    struct run_times t;
    run_times_parse(u->u.run_times, &t);
    for (size_t i = 0; i < t.n; i++)
        cluster_set_expected(c->cluster, u->u.user_id, u->u.account, t.v[i].limit_s * USEC_PER_SEC,
                             run_time_expected(&t.v[i]) * USEC_PER_SEC);
}

void usage_load(struct core *c, const struct usage *row)
{
    struct usagerec *u = row_of(c, row->user_id, row->account, row->user_name);
    u->u.usage = row->usage;
    u->u.at_us = row->at_us;
    text_set(c, &u->u.run_times, row->run_times);
    run_times_tell(c, u);
}

static void unsave(struct core *c, struct usagerec *u)
{
    if (!u->unsaved)
        vec_push(&c->usage.unsaved, u);
    u->unsaved = true;
}

void usage_know(struct core *c, uint32_t uid, const char *account, const char *user)
{
    size_t before = map_str_count(c->usage.row);
    struct usagerec *u = usage_of(c, uid, account, user);
    if (map_str_count(c->usage.row) == before)
        return;
    unsave(c, u);
    if (before < FEW_ROWS) {
        usage_factors(c);
        return;
    }
    /* Until the period ends it stands in the middle, and others where they did. */
    u->u.fairshare = FACTOR_ONE / 2;
    cluster_set_fairshare(c->cluster, u->u.user_id, u->u.account, u->u.fairshare);
}

void usage_save(struct core *c)
{
    uses_save(c);
    for (size_t i = 0; i < c->usage.unsaved.n; i++) {
        fx_store(c, TABLE_USAGE, &c->usage.unsaved.v[i]->u);
        c->usage.unsaved.v[i]->unsaved = false;
    }
    vec_clear(&c->usage.unsaved);
}

void usage_free(struct core *c)
{
    struct map_walk w = {0};
    while (map_str_next(c->usage.row, &w))
        free(w.value);
    vec_done(&c->usage.unsaved);
    map_str_free(c->usage.row);
    map_u64_free(c->usage.strange);
    uses_free(c);
}

/* ---- charging ------------------------------------------------------------------------------- */

/* How long the run has run; stopped time is free. */
static int64_t run_time(const struct jobrec *r, int64_t now_us)
{
    int64_t end = r->j.state == JOB_SUSPENDED                   ? r->j.suspend_us
                  : r->j.end_us && !(r->j.state == JOB_RUNNING) ? r->j.end_us
                                                                : now_us;
    int64_t time = end - r->j.start_us - r->j.suspended_us;
    return time > 0 ? time : 0;
}

/* What a restored run was charged: until all running work was last, or until it was stopped, went
 * on or became smaller since, when it was charged by itself. */
static int64_t charged_by(const struct core *c, const struct jobrec *r)
{
    int64_t at = c->usage.at_us;
    at = r->j.suspend_us > at ? r->j.suspend_us : at;
    at = r->j.resize_us > at ? r->j.resize_us : at;
    /* Stopped for no time, it counts as stopped for a microsecond (suspension_count). */
    bool no_time = r->j.state == JOB_RUNNING && r->j.suspended_us == 1 && at == r->j.suspend_us;
    return run_time(r, at) + no_time;
}

void usage_charge(struct core *c, struct jobrec *r)
{
    int64_t ran = run_time(r, c->turn.now_us),
            seconds = ran / USEC_PER_SEC - r->charged_us / USEC_PER_SEC;
    if (seconds <= 0)
        return;
    r->charged_us = ran;
    struct usagerec *u = usage_of(c, r->j.user_id, r->j.spec.req.account, r->j.user_name);
    u->u.usage += usage_billing_milli(c, r) * seconds;
    unsave(c, u);
    c->usage.any = true;
    uses_charge(c, r, seconds);
    minutes_changed(c);
}

/* Of a job that came to an end of its own, or reached its limit: others cut it short otherwise. */
static bool run_tells(const struct jobrec *r, enum job_state how)
{
    bool own =
        how == JOB_COMPLETED || how == JOB_FAILED || how == JOB_TIMEOUT || how == JOB_OUT_OF_MEMORY;
    return own && r->j.reason != REASON_LAUNCH_FAILED && !r->j.requeue_pending;
}

void usage_learn(struct core *c, const struct jobrec *r, enum job_state how)
{
    const struct job_request *req = &r->j.spec.req;
    struct run_times t;
    struct str text = STR_INIT;
    if (!run_tells(r, how))
        return;
    struct usagerec *u = usage_of(c, r->j.user_id, req->account, r->j.user_name);
    int64_t limit_us = job_limit_asked(req);
    run_times_parse(u->u.run_times, &t);
    int64_t forgotten =
        run_times_learn(&t, limit_us / USEC_PER_SEC, run_time(r, c->turn.now_us) / USEC_PER_SEC);
    if (forgotten >= 0)
        cluster_set_expected(c->cluster, r->j.user_id, u->u.account, forgotten * USEC_PER_SEC, 0);
    run_times_format(&t, &text);
    text_set(c, &u->u.run_times, str_text(&text));
    str_done(&text);
    unsave(c, u);
    run_times_tell(c, u);
}

void usage_refund(struct core *c, const struct jobrec *r)
{
    int64_t before = r->j.resize_us > r->j.start_us
                         ? r->j.resize_us - r->j.start_us - r->j.resize_suspended_us
                         : 0,
            seconds = r->charged_us / USEC_PER_SEC - before / USEC_PER_SEC;
    if (!c->settings.refund_node_fail || seconds <= 0)
        return;
    struct str target = STR_INIT, info = STR_INIT;
    struct usagerec *u = usage_of(c, r->j.user_id, r->j.spec.req.account, r->j.user_name);
    int64_t back = uses_refund(c, r, seconds);
    u->u.usage = u->u.usage > back ? u->u.usage - back : 0;
    unsave(c, u);
    str_addf(&target, "%llu", (unsigned long long)r->j.id);
    str_addf(&info, "RawUsage-=%lld of a run of %lld seconds that a failed node ended",
             (long long)(back / 1000), (long long)seconds);
    struct transaction t = {.actor = "remuda",
                            .action = "Refund Job",
                            .target = str_text(&target),
                            .info = str_text(&info),
                            .accounts = r->j.spec.req.account,
                            .users = r->j.user_name};
    transaction_put(c, &t);
    str_done(&target);
    str_done(&info);
}

/* ---- factors -------------------------------------------------------------------------------- */

struct leaf {
    struct usagerec *u;
    int64_t group; /* use of its account, or its own */
};

static int leaf_order(const void *va, const void *vb)
{
    const struct leaf *a = va, *b = vb;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    int by_account =
        strcmp(a->u->u.account ? a->u->u.account : "", b->u->u.account ? b->u->u.account : "");
    if (by_account && a->group)
        return by_account;
    if (a->u->u.usage != b->u->u.usage)
        return a->u->u.usage < b->u->u.usage ? -1 : 1;
    return strcmp(a->u->u.who, b->u->u.who);
}

static bool leaf_equal(const struct leaf *a, const struct leaf *b)
{
    return a->group == b->group && a->u->u.usage == b->u->u.usage;
}

static int64_t classic(const struct core *c, int64_t usage, int64_t all, size_t users)
{
    int64_t damping = c->settings.fairshare_damping > 0 ? c->settings.fairshare_damping : 1;
    while (usage > INT64_C(1) << 40 || all > INT64_C(1) << 40) { /* room for the products */
        usage >>= 1;
        all >>= 1;
    }
    return all > 0 ? (int64_t)(exp2_neg(usage * (int64_t)users, all * damping) >> 12) : FACTOR_ONE;
}

static int64_t ratio20(int64_t part, int64_t whole)
{
    while (whole > INT64_C(1) << 40) {
        part >>= 1;
        whole >>= 1;
    }
    return whole > 0 ? part * FACTOR_ONE / whole : 0;
}

/* What was used in each account; there are as many as users can think of. */
static struct map_str *account_sums(const struct core *c)
{
    struct map_str *sum = map_str_new();
    struct map_walk w = {0};
    const char *name;
    while (map_str_next(c->usage.row, &w)) {
        const struct usagerec *u = w.value;
        void **slot = u->u.account ? map_str_slot(sum, u->u.account, true, &name) : NULL;
        if (slot)
            *slot = (void *)((intptr_t)*slot + (intptr_t)u->u.usage);
    }
    return sum;
}

static size_t leaves(const struct core *c, struct leaf **ret)
{
    struct map_str *sum = account_sums(c);
    struct map_walk w = {0};
    size_t n = 0;
    *ret = xcalloc(map_str_count(c->usage.row) + 1, sizeof **ret);
    while (map_str_next(c->usage.row, &w)) {
        struct usagerec *u = w.value;
        int64_t group = u->u.account ? (intptr_t)map_str_get(sum, u->u.account) : u->u.usage;
        (*ret)[n++] = (struct leaf){u, group};
    }
    map_str_free(sum);
    if (n > 1)
        qsort(*ret, n, sizeof **ret, leaf_order);
    return n;
}

/* Each user's part of all use, in whatever accounts. */
static void parts_tell(struct core *c, const struct leaf *leaf, size_t n, int64_t all)
{
    struct map_u64 *of = map_u64_new();
    for (size_t i = 0; i < n; i++) {
        uint64_t uid = leaf[i].u->u.user_id + UINT64_C(1);
        int64_t sum = leaf[i].u->u.usage + (int64_t)(intptr_t)map_u64_get(of, uid);
        map_u64_put(of, uid, (void *)(intptr_t)sum);
    }
    struct map_walk w = {0};
    while (map_u64_next(of, &w))
        cluster_set_use(c->cluster, (uint32_t)(w.key - 1), ratio20((intptr_t)w.value, all));
    map_u64_free(of);
}

void usage_factors(struct core *c)
{
    struct leaf *leaf;
    size_t n = leaves(c, &leaf), first = 0;
    int64_t all = 0;
    bool tree = !c->settings.word.no_fair_tree && !c->settings.word.depth_oblivious;
    for (size_t i = 0; i < n; i++)
        all += leaf[i].u->u.usage;
    for (size_t i = 0; i < n; i++) {
        struct usage *u = &leaf[i].u->u;
        first = i && leaf_equal(&leaf[i], &leaf[i - 1]) ? first : i;
        u->raw_shares = 1;
        u->norm_shares = FACTOR_ONE / (int64_t)n;
        u->norm_usage = ratio20(u->usage, all);
        u->fairshare =
            tree ? (int64_t)(n - first) * FACTOR_ONE / (int64_t)n : classic(c, u->usage, all, n);
        cluster_set_fairshare(c->cluster, u->user_id, u->account, u->fairshare);
    }
    parts_tell(c, leaf, n, all);
    free(leaf);
    fairshare_update(c);
    minutes_changed(c);
}

/* ---- time passes ---------------------------------------------------------------------------- */

static void all_decay(struct core *c, int64_t until_us)
{
    struct map_walk w = {0};
    while (map_str_next(c->usage.row, &w)) {
        struct usagerec *u = w.value;
        u->u.usage = usage_decayed(c, u->u.usage, u->u.at_us, until_us);
        u->u.at_us = until_us;
    }
}

/* Stored from the first start on: else a controller that dies before its first tick would not know
 * which running work it has charged. */
static void at_save(struct core *c)
{
    struct str at = STR_INIT;
    str_add_i64(&at, c->usage.at_us);
    struct meta row = {.key = "usage_at", .value = str_text(&at)};
    fx_store(c, TABLE_META, &row);
    str_done(&at);
}

void usage_move(struct core *c, int64_t by_us)
{
    struct map_walk w = {0};
    if (!c->usage.at_us)
        return;
    c->usage.at_us += by_us;
    at_save(c);
    while (map_str_next(c->usage.row, &w)) {
        struct usagerec *u = w.value;
        u->u.at_us += by_us;
        unsave(c, u);
    }
    uses_move(c, by_us);
}

void usage_tick(struct core *c)
{
    struct map_walk w = {0};
    while (map_u64_next(c->jobs.by_id, &w)) {
        struct jobrec *r = w.value;
        if (r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED)
            usage_charge(c, r);
    }
    /* What is charged in a period decays with it, which is as if it had been used at its
     * beginning. */
    all_decay(c, c->turn.now_us);
    bool any = uses_decay(c, c->usage.at_us, c->turn.now_us);
    c->usage.at_us = c->turn.now_us;
    c->usage.any = any;
    for (w = (struct map_walk){0}; map_str_next(c->usage.row, &w);)
        c->usage.any |= ((struct usagerec *)w.value)->u.usage > 0;
    at_save(c);
    usage_factors(c);
    if (c->settings.priority_weight_fairshare)
        plan_soon(c);
}

/* Saved rows of accounts that nobody made, and of users without a name, which tell nothing: no use,
 * no run's time, of no job, whose row is that of no account where its own is not told apart. */
static void strange_forget(struct core *c)
{
    struct map_walk w = {0};
    struct map_str *live = map_str_new();
    struct str who = STR_INIT;
    while (map_u64_next(c->jobs.by_id, &w)) {
        const struct jobrec *r = w.value;
        for (int own = 0; own < 2 && job_live(r); own++) {
            who_write(&who, r->j.user_id, own ? r->j.spec.req.account : NULL);
            map_str_put(live, str_text(&who), live);
        }
    }
    str_done(&who);
    for (w = (struct map_walk){0}; map_str_next(c->usage.row, &w);) {
        struct usagerec *u = w.value;
        bool strange = !u->u.user_name || is_strange(c, u->u.account, u->u.user_name);
        if (strange && !u->unsaved && !u->u.usage && text_empty(u->u.run_times) &&
            !map_str_get(live, u->u.who)) {
            fx_remove(c, TABLE_USAGE, &u->u);
            map_str_del(c->usage.row, u->u.who);
            record_drop(c, &usage_fields, &u->u);
            free(u);
        } else {
            strange_count(c, u);
        }
    }
    map_str_free(live);
}

void usage_restore(struct core *c)
{
    struct map_walk w = {0};
    strange_forget(c);
    if (!c->usage.at_us) {
        c->usage.at_us = c->turn.now_us;
        at_save(c);
    }
    all_decay(c, c->usage.at_us);
    bool forget = c->settings.word.usage_reset_now;
    while (map_str_next(c->usage.row, &w)) {
        struct usagerec *u = w.value;
        if (forget) {
            u->u.usage = 0;
            unsave(c, u);
        }
        c->usage.any |= u->u.usage > 0;
    }
    for (w = (struct map_walk){0}; map_u64_next(c->jobs.by_id, &w);) {
        struct jobrec *r = w.value;
        if (r->j.start_us && (r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED))
            r->charged_us = charged_by(c, r);
    }
    uses_restore(c);
    usage_factors(c);
}
