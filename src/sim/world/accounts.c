/* Accounts, QOS and limits in a world: they are made, change and go. The limits of accounts and
 * those of QOS are of different kinds, so that none takes another's place. */
#include "sim/world/inside.h"

#include <stdio.h>

static const char *const accounts[] = {"root", "a1", "a2"}, *const qos[] = {"q1", "q2"};

/* ---- changes -------------------------------------------------------------------------------- */

static bool change_all(struct sim_world *w, struct account_change *changes, size_t n)
{
    struct msg_change_accounts m = {.changes = {changes, n}};
    return world_request(w, MSG_CHANGE_ACCOUNTS, &m, NULL);
}

void world_accounts_make(struct sim_world *w)
{
    struct account account[2] = {{.name = "a1"}, {.name = "a2"}};
    struct assoc assoc[5] = {{.account = "a1"},
                             {.account = "a2", .parent = "a1"},
                             {.account = "a1", .user = "root"},
                             {.account = "a2", .user = "root"},
                             {.account = "root", .qos = "normal,q1,q2"}};
    bool decays = core_settings(w->core)->priority_decay_half_life_us != 0;
    struct qos q[2] = {{.name = "q1"},
                       {.name = "q2", .usage_factor_e6_plus1 = decays ? 0 : 2000001}};
    struct account_change v[9] = {
        {.noun = NOUN_ACCOUNT, .account = {&account[0], 1}},
        {.noun = NOUN_ACCOUNT, .account = {&account[1], 1}},
        {.noun = NOUN_ASSOC, .assoc = {&assoc[0], 1}},
        {.noun = NOUN_ASSOC, .assoc = {&assoc[1], 1}},
        {.noun = NOUN_ASSOC, .assoc = {&assoc[2], 1}},
        {.noun = NOUN_ASSOC, .assoc = {&assoc[3], 1}},
        {.noun = NOUN_QOS, .qos = {&q[0], 1}},
        {.noun = NOUN_QOS, .qos = {&q[1], 1}},
        {.noun = NOUN_ASSOC, .verb = VERB_MODIFY, .fields = "qos", .assoc = {&assoc[4], 1}}};
    if (!change_all(w, v, ARRAY_LEN(v)))
        world_broke(w, "accounts cannot be made");
}

struct kind {
    enum limit_owner owner;
    enum resource_limit what;
    const char *tres;
};
static const struct kind kinds[] = {{OWNER_ASSOC, LIMIT_GRP_TRES, "cpu"},
                                    {OWNER_ASSOC, LIMIT_GRP_TRES, "node"},
                                    {OWNER_ASSOC, LIMIT_GRP_TRES, "gres/gpu"},
                                    {OWNER_ASSOC, LIMIT_GRP_TRES, "license/lic"},
                                    {OWNER_QOS, LIMIT_GRP_JOBS, NULL},
                                    {OWNER_QOS, LIMIT_MAX_JOBS_PER_USER, NULL},
                                    {OWNER_QOS, LIMIT_MAX_JOBS_PER_ACCOUNT, NULL},
                                    {OWNER_QOS, LIMIT_MAX_TRES_PER_ACCOUNT, "cpu"},
                                    {OWNER_QOS, LIMIT_MAX_TRES_PER_USER, "gres/gpu"},
                                    {OWNER_ASSOC, LIMIT_GRP_TRES, "billing"},
                                    {OWNER_QOS, LIMIT_MAX_TRES_PER_USER, "billing"},
                                    /* Those have no hours: */
                                    {OWNER_QOS, LIMIT_MAX_TRES, "cpu"},
                                    {OWNER_QOS, LIMIT_MAX_TRES, "node"},
                                    {OWNER_QOS, LIMIT_MAX_TRES, "gres/gpu"},
                                    {OWNER_ASSOC, LIMIT_GRP_JOBS_ACCRUE, NULL},
                                    {OWNER_QOS, LIMIT_MAX_JOBS_ACCRUE_PER_USER, NULL},
                                    {OWNER_QOS, LIMIT_MAX_JOBS_ACCRUE_PER_ACCOUNT, NULL},
                                    /* In minutes: */
                                    {OWNER_ASSOC, LIMIT_GRP_TRES_MINS, "cpu"},
                                    {OWNER_ASSOC, LIMIT_GRP_WALL, NULL},
                                    {OWNER_ASSOC, LIMIT_GRP_TRES_RUN_MINS, "node"},
                                    {OWNER_QOS, LIMIT_GRP_TRES_MINS, "node"},
                                    {OWNER_QOS, LIMIT_GRP_TRES_RUN_MINS, "cpu"},
                                    {OWNER_ASSOC, LIMIT_GRP_TRES_MINS, "license/lic"},
                                    {OWNER_QOS, LIMIT_GRP_TRES_RUN_MINS, "license/lic"},
                                    {OWNER_QOS, LIMIT_MAX_TRES_RUN_MINS_PER_USER, "cpu"}};
#define KINDS_RUNNING (ARRAY_LEN(kinds) - 8) /* the others are in minutes */

static void limit_change(struct sim_world *w, const struct kind *k, const char *owner,
                         int64_t value, const char *hours)
{
    struct limit l = {.what = k->what, .tres = k->tres, .value = value, .hours = hours};
    struct assoc a = {.account = owner};
    struct qos q = {.name = owner};
    struct account_change ch = {.verb = VERB_MODIFY, .limits = {&l, 1}};
    if (k->owner == OWNER_ASSOC) {
        ch.noun = NOUN_ASSOC;
        ch.assoc = (struct record_list){&a, 1};
    } else {
        ch.noun = NOUN_QOS;
        ch.qos = (struct record_list){&q, 1};
    }
    change_all(w, &ch, 1);
}

/* An account of nobody's comes or goes; sometimes with a change that is refused, so that all is
 * undone. */
static void account_change(struct sim_world *w, struct rng *rng)
{
    struct account account = {.name = "a3"};
    struct assoc assoc = {.account = "a3", .parent = rng_chance(rng, 500) ? "a1" : "a2"},
                 none = {.account = "nowhere", .user = "root"};
    bool add = rng_chance(rng, 500);
    struct account_change v[3] = {
        {.noun = NOUN_ACCOUNT, .verb = add ? VERB_ADD : VERB_REMOVE, .account = {&account, 1}},
        {.noun = NOUN_ASSOC, .assoc = {&assoc, 1}},
        {.noun = NOUN_ASSOC, .assoc = {&none, 1}}};
    change_all(w, v, add ? 2 + rng_chance(rng, 300) : 1);
}

/* Some minutes from now on, or that are just over. */
static const char *some_hours(const struct sim_world *w, struct rng *rng, char *text, size_t size)
{
    int64_t minute = world_wall(w) / USEC_PER_MIN % (24 * 60),
            from = (minute + 24 * 60 - 3 + (int64_t)rng_below(rng, 6)) % (24 * 60),
            to = (from + 1 + (int64_t)rng_below(rng, 5)) % (24 * 60);
    snprintf(text, size, "daily %02d:%02d-%02d:%02d", (int)(from / 60), (int)(from % 60),
             (int)(to / 60), (int)(to % 60));
    return text;
}

/* Whom it may stop, how its work gives way, what its jobs may exceed. */
static void qos_change(struct sim_world *w, struct rng *rng)
{
    static const char *const preempt[] = {NULL, "normal", "q1", "q2", "normal,q1"};
    static const enum preempt_mode mode[] = {PREEMPT_UNSET, PREEMPT_OFF, PREEMPT_CANCEL,
                                             PREEMPT_REQUEUE, PREEMPT_SUSPEND};
    static const uint32_t flag[] = {0, QOS_NO_RESERVE, QOS_PART_TIME_LIMIT, QOS_PART_MAX_NODES};
    static const char *const field[] = {"preempt",  "preempt_mode", "preempt_exempt_us",
                                        "grace_us", "flags",        "limit_factor_e6_plus1"};
    struct qos q = {.name = qos[rng_below(rng, ARRAY_LEN(qos))],
                    .preempt = preempt[rng_below(rng, ARRAY_LEN(preempt))],
                    .preempt_mode = mode[rng_below(rng, ARRAY_LEN(mode))],
                    .preempt_exempt_us = (int64_t)rng_below(rng, 10) * USEC_PER_SEC,
                    .grace_us = (int64_t)rng_below(rng, 10) * USEC_PER_SEC,
                    .flags = flag[rng_below(rng, ARRAY_LEN(flag))],
                    .limit_factor_e6_plus1 = (int64_t)rng_below(rng, 5) * 500000 + 1};
    struct account_change ch = {.noun = NOUN_QOS,
                                .verb = VERB_MODIFY,
                                .fields = field[rng_below(rng, ARRAY_LEN(field))],
                                .qos = {&q, 1}};
    change_all(w, &ch, 1);
}

/* RawUsage=0 */
static void use_forget(struct sim_world *w, bool of_qos, const char *name)
{
    struct assoc assoc = {.account = name};
    struct qos of = {.name = name};
    struct account_change ch = {.verb = VERB_MODIFY, .no_usage = true};
    if (!w->core || w->away)
        return;
    ch.noun = of_qos ? NOUN_QOS : NOUN_ASSOC;
    if (of_qos)
        ch.qos = (struct record_list){&of, 1};
    else
        ch.assoc = (struct record_list){&assoc, 1};
    world_use_forgets(w, of_qos, name);
    change_all(w, &ch, 1);
    world_use_forgot(w);
}

static void minutes_change(struct sim_world *w, struct rng *rng)
{
    const struct kind *k = &kinds[KINDS_RUNNING + rng_below(rng, ARRAY_LEN(kinds) - KINDS_RUNNING)];
    bool of_qos = k->owner == OWNER_QOS;
    const char *owner = of_qos ? qos[rng_below(rng, ARRAY_LEN(qos))]
                               : accounts[rng_below(rng, ARRAY_LEN(accounts))];
    if (rng_chance(rng, 150))
        use_forget(w, of_qos, owner);
    else
        limit_change(w, k, owner, rng_chance(rng, 300) ? -1 : rng_range(rng, 0, 40), NULL);
}

void world_accounts_change(struct sim_world *w, struct rng *rng, bool minutes)
{
    char hours[40];
    if (minutes && rng_chance(rng, 500)) {
        minutes_change(w, rng);
        return;
    }
    const struct kind *k = &kinds[rng_below(rng, KINDS_RUNNING)];
    if (rng_chance(rng, 150)) {
        account_change(w, rng);
        return;
    }
    if (rng_chance(rng, 300)) {
        qos_change(w, rng);
        return;
    }
    const char *owner = k->owner == OWNER_ASSOC ? accounts[rng_below(rng, ARRAY_LEN(accounts))]
                                                : qos[rng_below(rng, ARRAY_LEN(qos))];
    int64_t value = rng_chance(rng, 300) ? -1 : rng_range(rng, 0, 4);
    limit_change(w, k, owner, value,
                 value >= 0 && resource_limit_takes_hours(k->what) && rng_chance(rng, 250)
                     ? some_hours(w, rng, hours, sizeof hours)
                     : NULL);
}

void world_accounts_open(struct sim_world *w)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        for (size_t k = 0; k < ARRAY_LEN(accounts); k++)
            if (kinds[i].owner == OWNER_ASSOC)
                limit_change(w, &kinds[i], accounts[k], -1, NULL);
            else if (k < ARRAY_LEN(qos))
                limit_change(w, &kinds[i], qos[k], -1, NULL);
}

const char *world_account_of(struct rng *rng)
{
    return accounts[rng_below(rng, ARRAY_LEN(accounts))];
}

const char *world_qos_of(struct rng *rng)
{
    return rng_chance(rng, 300) ? NULL : qos[rng_below(rng, ARRAY_LEN(qos))];
}
