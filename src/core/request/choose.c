/* Which account and QOS a job is of, and whether it may: at submission, and when they are
 * changed. A refusal names what was asked, what this user may use, and what would do. */
#include "core/record/accounts/limits.h"
#include "core/record/accounts/minutes.h"
#include "core/record/record.h"
#include "core/request/request.h"

#include <string.h>

#define NAMES_SAID 12

/* The accounts of a user, the default first. */
static void accounts_say(const struct core *c, const char *user, struct str *out)
{
    const char *first = account_default(c, user);
    struct map_walk w = {0};
    size_t n = 0;
    if (first) {
        str_addf(out, "%s (default)", first);
        n++;
    }
    while (map_u64_next(c->accounts.assoc, &w)) {
        const struct assoc *a = &((const struct assocrec *)w.value)->a;
        if (a->deleted || !text_is(a->user, user) || text_is(a->account, first))
            continue;
        if (n++ >= NAMES_SAID)
            continue;
        str_addf(out, "%s%s", out->len ? ", " : "", a->account);
        if (a->partition)
            str_addf(out, " (in partition %s)", a->partition);
    }
    if (n > NAMES_SAID)
        str_addf(out, " and %zu more", n - NAMES_SAID);
}

/* Account names are often written in capitals. */
static const char *account_meant(struct core *c, const char *name)
{
    if (text_empty(name) || account_find(c, name))
        return name;
    char *lower = arena_strdup(c->turn.fx->arena, name);
    for (char *p = lower; *p; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p - 'A' + 'a');
    return account_find(c, lower) ? lower : name;
}

/* The association in the first of the partitions that there is one for. */
static const struct assocrec *assoc_in_any(struct core *c, const char *account, const char *user,
                                           const char *partitions)
{
    struct span rest = span_of(partitions ? partitions : ""), piece;
    const struct assocrec *r = assoc_find(c, account, user, NULL);
    while (!r && span_next(&rest, ',', &piece))
        r = assoc_find(c, account, user, arena_strndup(c->turn.fx->arena, piece.data, piece.len));
    return r;
}

static enum refusal account_refuse(struct core *c, const char *user, const char *account,
                                   struct str *detail)
{
    struct str names = STR_INIT;
    accounts_say(c, user, &names);
    if (text_empty(account))
        str_addf(detail, "a job needs an account here (--account)");
    else
        str_addf(detail,
                 account_find(c, account) ? "the account %s is not for you"
                                          : "there is no account %s",
                 account);
    if (names.len)
        str_addf(detail, "; your accounts: %s", str_text(&names));
    else
        str_addf(detail, "; %s is in no account: ask an administrator or coordinator",
                 user ? user : "this user");
    str_done(&names);
    return REFUSE_ACCOUNT;
}

static enum refusal qos_refuse(struct core *c, const struct assocrec *r, const char *qos,
                               struct str *detail)
{
    const char *names = assoc_qos_list(c, r, c->turn.fx->arena);
    if (text_empty(qos))
        str_add(detail, "a job needs a QOS here (--qos)");
    else
        str_addf(detail,
                 qos_find(c, qos) ? "the QOS %s is not for you with account %s"
                                  : "there is no QOS %s",
                 qos, r->a.account);
    str_addf(detail, "; %s%s", *names ? "you may use: " : "you may use none", *names ? names : "");
    return REFUSE_QOS;
}

enum refusal account_choose(struct core *c, struct job_request *req, const char *user,
                            struct str *detail)
{
    const struct assocrec *r;
    if (text_empty(req->account))
        req->account = account_default(c, user);
    else
        req->account = account_meant(c, req->account);
    r = assoc_in_any(c, req->account, user, req->partition);
    if (!r && enforces_associations(c))
        return account_refuse(c, user, req->account, detail);
    if (text_empty(req->qos)) {
        const char *own = r ? assoc_default_qos(r) : NULL;
        req->qos = own && assoc_has_qos(c, r, own) ? own : NORMAL_QOS;
    }
    if (r && enforces_qos(c) && !assoc_has_qos(c, r, req->qos))
        return qos_refuse(c, r, req->qos, detail);
    const struct qosrec *q = qos_find(c, req->qos);
    if (q && (q->q.flags & QOS_REQUIRES_RESV) && text_empty(req->reservation)) {
        str_addf(detail, "jobs of QOS %s run in a reservation (--reservation)", q->q.name);
        return REFUSE_QOS;
    }
    return REFUSE_NONE;
}

/* ---- workload keys -------------------------------------------------------------------------- */

static bool wckey_owned(const struct core *c, const char *name, const char *user)
{
    const struct wckey *k = wckey_ever(c, name, user);
    return k && !k->deleted;
}

/* The keys of a user, the default first. */
static void wckeys_say(const struct core *c, const char *user, const char *first, struct str *out)
{
    struct map_walk w = {0};
    size_t n = 0;
    if (first) {
        str_addf(out, "%s (default)", first);
        n++;
    }
    while (map_u64_next(c->accounts.wckey, &w)) {
        const struct wckey *k = w.value;
        if (k->deleted || !text_is(k->user, user) || text_is(k->name, first))
            continue;
        if (n++ < NAMES_SAID)
            str_addf(out, "%s%s", out->len ? ", " : "", k->name);
    }
    if (n > NAMES_SAID)
        str_addf(out, " and %zu more", n - NAMES_SAID);
}

static enum refusal wckey_refuse(const struct core *c, const char *key, const char *user,
                                 const char *first, struct str *detail)
{
    struct str names = STR_INIT;
    wckeys_say(c, user, first, &names);
    if (text_empty(key))
        str_add(detail, "a job needs a workload key here (--wckey)");
    else
        str_addf(detail, "the workload key %s is not yours", key);
    str_addf(detail, names.len ? "; yours: %s" : "; you have none: ask an administrator",
             str_text(&names));
    str_done(&names);
    return REFUSE_WCKEY;
}

enum refusal wckey_choose(struct core *c, struct job_spec *spec, const char *user,
                          struct str *detail)
{
    if (!enforces_wckeys(c))
        return REFUSE_NONE;
    if (!user) /* whose name the controller does not know has no keys */
        user = "";
    const struct account_user *u = account_user_find(c, user);
    const char *first = u && !text_empty(u->default_wckey) ? u->default_wckey : NULL;
    if (text_empty(spec->wckey)) {
        if (!(first && wckey_owned(c, first, user)) && !text_is(user, "root"))
            return wckey_refuse(c, NULL, user, NULL, detail);
        spec->wckey = arena_printf(c->turn.fx->arena, "*%s", first ? first : "");
        return REFUSE_NONE;
    }
    return wckey_owned(c, spec->wckey, user) ? REFUSE_NONE
                                             : wckey_refuse(c, spec->wckey, user, first, detail);
}

/* What it exceeds by itself in each of its partitions that are open to it. */
static enum job_reason alone_bar(struct core *c, const struct jobrec *r, struct str *detail)
{
    const char *open = limits_open(c, r, c->turn.fx->arena);
    struct span rest = span_of(open ? open : ""), piece;
    enum job_reason bar = REASON_NONE;
    while (span_next(&rest, ',', &piece)) {
        const char *name = arena_strndup(c->turn.fx->arena, piece.data, piece.len);
        bar = limits_alone(c, r, name, detail);
        if (bar == REASON_NONE)
            bar = minutes_alone(c, r, name, detail);
        if (bar == REASON_NONE)
            return REASON_NONE;
    }
    return bar;
}

enum refusal limits_deny_check(struct core *c, struct job_spec *spec, const char *user,
                               struct str *detail, struct str *warning)
{
    struct jobrec trial = {.j = {.spec = *spec, .user_name = user}};
    int64_t wall_us = limits_wall_given_us(c, &trial, limits_open(c, &trial, c->turn.fx->arena));
    if (wall_us) /* for all to see; whatever changes it is given no more */
        trial.j.spec.req.time_limit_us = spec->req.time_limit_us = wall_us;
    struct str why = STR_INIT;
    enum job_reason bar = limits_bar(c, &trial, &why);
    if (bar == REASON_NONE)
        bar = alone_bar(c, &trial, &why);
    const struct qosrec *q = qos_find(c, spec->req.qos);
    bool deny = bar != REASON_NONE && q && (q->q.flags & QOS_DENY_ON_LIMIT);
    if (bar != REASON_NONE)
        str_addf(deny ? detail : warning, "%s%s", deny ? "" : "it will wait: ", str_text(&why));
    str_done(&why);
    return deny ? REFUSE_PARTITION_LIMIT : REFUSE_NONE;
}

enum refusal limits_check(struct core *c, struct job_spec *spec, uint64_t elements,
                          struct str *detail, struct str *warning)
{
    ASSERT(c->turn.peer && elements > 0);
    const char *user = c->turn.peer->user;
    struct limit_subject who = {user, spec->req.account, spec->req.qos, spec->req.partition};
    const struct partrec *part = limits_counted_in(c, &who);
    who.partition = part ? part->p.name : NULL;
    if (!enforces_limits(c))
        return REFUSE_NONE;
    return limits_room(c, &who, elements, detail)
               ? limits_deny_check(c, spec, user, detail, warning)
               : REFUSE_PARTITION_LIMIT;
}
