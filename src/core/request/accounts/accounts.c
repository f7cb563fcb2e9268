/* change_accounts: all of its changes in their order, or none. Each is done in the book, whose
 * journal undoes all of them when one is refused, when it was only a trial, or when something that
 * runs would lose its ground. Then the rows are stored in the turn, with a transaction for each
 * change, and what follows for jobs is marked. */
#include "base/list.h"
#include "core/record/accounts/limit_view.h"
#include "core/record/accounts/minutes.h"
#include "core/record/accounts/usage.h"
#include "core/record/accounts/use.h"
#include "core/record/record.h"
#include "core/record/users/user_room.h"
#include "core/request/accounts/change.h"
#include "core/request/accounts/may.h"
#include "core/request/request.h"

#define CHANGES_MAX 100000
#define INFO_MAX    2000 /* of a transaction */

/* ---- one change ----------------------------------------------------------------------------- */

static enum refusal assoc_verb(struct account_step *g, const struct assoc *a)
{
    struct assocrec *r;
    switch ((enum account_verb)g->ch->verb) {
    case VERB_ADD: return change_assoc_add(g, a);
    case VERB_MODIFY: return change_assoc_modify(g, a);
    case VERB_REMOVE: break;
    }
    r = assoc_find(g->c, a->account, a->user, a->partition);
    if (!r)
        return change_refuse(g, REFUSE_NO_SUCH_ACCOUNT, "there is no such association");
    if (!a->user)
        return change_refuse(g, REFUSE_UPDATE, "an account's association goes with the account");
    return change_assoc_remove(g, r, true);
}

#define DEED(noun, list, tag)                                                                      \
    case NOUN_##noun: {                                                                            \
        const struct tag *v = ch->list.v;                                                          \
        return ch->list.n != 1 ? change_refuse(g, REFUSE_BAD_MESSAGE, "a change is of one " #list) \
               : ch->verb == VERB_ADD    ? change_##list##_add(g, v)                               \
               : ch->verb == VERB_MODIFY ? change_##list##_modify(g, v)                            \
                                         : change_##list##_remove(g, v);                           \
    }

static enum refusal change_do(struct account_step *g)
{
    const struct account_change *ch = g->ch;
    switch ((enum account_noun)ch->noun) {
        DEED(ACCOUNT, account, account)
        DEED(USER, user, account_user)
        DEED(QOS, qos, qos)
    case NOUN_ASSOC:
    case NOUN_COORDINATOR:
        if (ch->assoc.n != 1 || text_empty(((const struct assoc *)ch->assoc.v)->account))
            return change_refuse(g, REFUSE_BAD_MESSAGE, "a change is of one association");
        return ch->noun == NOUN_ASSOC ? assoc_verb(g, ch->assoc.v)
                                      : change_coordinator_change(g, ch->assoc.v);
    case NOUN_WCKEY:
        return ch->wckey.n == 1
                   ? change_wckey_change(g, ch->wckey.v)
                   : change_refuse(g, REFUSE_BAD_MESSAGE, "a change is of one workload key");
    }
    return change_refuse(g, REFUSE_BAD_MESSAGE, "there is no such change");
}

/* ---- transactions --------------------------------------------------------------------------- */

/* At a letter's end. */
static void info_cut(struct str *info)
{
    size_t len = INFO_MAX;
    if (info->len <= len)
        return;
    while (len > 0 && ((unsigned char)info->data[len] & 0xc0) == 0x80)
        len--;
    str_cut(info, len);
}

static void name_add(struct str *out, const char *name)
{
    if (name && !list_has(str_text(out), name))
        str_addf(out, "%s%s", out->len ? "," : "", name);
}

static void values_say(const struct fields *t, const void *record, struct str *out)
{
    static const char *const apart[] = {"made_us", "changed_us", "id"};
    for (size_t i = 0; i < t->n && out->len < INFO_MAX; i++) {
        const struct field *f = &t->field[i];
        const void *p = field_ptr(f, record);
        bool skip = false;
        for (size_t k = 0; k < ARRAY_LEN(apart); k++)
            skip |= text_is(f->name, apart[k]);
        if (!skip && f->type == FIELD_TEXT && *(const char *const *)p)
            str_addf(out, "%s%s='%s'", out->len ? "," : "", f->name, *(const char *const *)p);
        else if (!skip && (f->type == FIELD_U32 || f->type == FIELD_I32) && *(const uint32_t *)p)
            str_addf(out, "%s%s=%d", out->len ? "," : "", f->name, *(const int32_t *)p);
    }
}

/* What was asked, not what it brought with it. */
static void info_say(const struct account_change *ch, struct str *out)
{
    const struct limit *l = ch->limits.v;
    if (ch->verb == VERB_REMOVE)
        return;
    if (ch->account.n)
        values_say(&account_fields, ch->account.v, out);
    if (ch->user.n)
        values_say(&account_user_fields, ch->user.v, out);
    if (ch->assoc.n)
        values_say(&assoc_fields, ch->assoc.v, out);
    if (ch->qos.n)
        values_say(&qos_fields, ch->qos.v, out);
    if (ch->wckey.n)
        values_say(&wckey_fields, ch->wckey.v, out);
    for (size_t i = 0; i < ch->limits.n && out->len < INFO_MAX; i++)
        str_addf(out, "%s%s=%s%s%lld", out->len ? "," : "", resource_limit_table[l[i].what].word,
                 l[i].tres ? l[i].tres : "", l[i].tres ? "=" : "", (long long)l[i].value);
    if (ch->no_usage)
        str_addf(out, "%sRawUsage=0", out->len ? "," : "");
    if (ch->new_name)
        str_addf(out, "%sNewName='%s'", out->len ? "," : "", ch->new_name);
    info_cut(out);
}

static void transaction_note(struct account_step *g, size_t first)
{
    static const char *const verbs[] = {
        [VERB_ADD] = "Add", [VERB_MODIFY] = "Modify", [VERB_REMOVE] = "Remove"};
    static const char *const nouns[] = {
        [NOUN_ACCOUNT] = "Accounts", [NOUN_USER] = "Users",   [NOUN_ASSOC] = "Associations",
        [NOUN_QOS] = "QOS",          [NOUN_WCKEY] = "WCKeys", [NOUN_COORDINATOR] = "Account Coord"};
    struct str info = STR_INIT, target = STR_INIT, accounts = STR_INIT, users = STR_INIT;
    struct core *c = g->c;
    struct transaction t = {0};
    if (g->changed.n == first)
        return;
    for (size_t i = first; i < g->changed.n && target.len < INFO_MAX && accounts.len < INFO_MAX &&
                           users.len < INFO_MAX;
         i++) {
        const struct account_changed *v = &g->changed.v[i];
        name_add(&target, v->name ? v->name : v->user ? v->user : v->account);
        name_add(&accounts, v->noun == NOUN_ACCOUNT ? v->name : v->account);
        name_add(&users, v->noun == NOUN_USER ? v->name : v->user);
    }
    info_say(g->ch, &info);
    t.actor =
        c->turn.peer->user ? c->turn.peer->user : arena_printf(g->a, "uid %u", c->turn.peer->uid);
    t.action = arena_printf(
        g->a, "%s %s%s", verbs[g->ch->verb], nouns[g->ch->noun],
        g->ch->noun == NOUN_COORDINATOR && g->ch->verb == VERB_REMOVE ? "s" : ""); /* Slurm's */
    t.target = str_text(&target);
    t.info = info.len ? str_text(&info) : NULL;
    t.accounts = accounts.len ? str_text(&accounts) : NULL;
    t.users = users.len ? str_text(&users) : NULL;
    transaction_put(c, &t);
    change_rows(g, &t);
    str_done(&info);
    str_done(&target);
    str_done(&accounts);
    str_done(&users);
}

/* ---- the request ---------------------------------------------------------------------------- */

/* What the request removed. */
struct lost {
    struct map_str *assoc; /* "user account": in names are no blanks */
    struct map_str *qos;
};

static void lost_read(const struct account_step *g, struct lost *lost)
{
    struct str key = STR_INIT;
    for (size_t i = 0; i < g->changed.n; i++) {
        const struct account_changed *v = &g->changed.v[i];
        if (v->verb != VERB_REMOVE)
            continue;
        str_clear(&key);
        if (v->noun == NOUN_ASSOC && v->user) {
            str_addf(&key, "%s %s", v->user, v->account);
            map_str_put(lost->assoc, str_text(&key), lost);
        } else if (v->noun == NOUN_QOS) {
            map_str_put(lost->qos, v->name, lost);
        }
    }
    str_done(&key);
}

/* Is it of an association where it runs, or in one of the partitions for which it waits? */
static bool has_assoc(const struct account_step *g, const struct job *j)
{
    const char *in = j->run_partition ? j->run_partition : j->spec.req.partition;
    struct span rest = span_of(in ? in : ""), piece;
    bool has = false;
    while (!has && span_next(&rest, ',', &piece))
        has = assoc_for(g->c, j->spec.req.account, j->user_name,
                        arena_strndup(g->a, piece.data, piece.len));
    return has;
}

static bool loses(const struct account_step *g, const struct lost *lost, const struct jobrec *r)
{
    const struct job_request *req = &r->j.spec.req;
    struct str key = STR_INIT;
    if (!job_live(r))
        return false;
    if (req->qos && map_str_get(lost->qos, req->qos))
        return true;
    if (!req->account || !r->j.user_name || !map_str_count(lost->assoc))
        return false;
    str_addf(&key, "%s %s", r->j.user_name, req->account);
    bool gone = map_str_get(lost->assoc, str_text(&key));
    str_done(&key);
    return gone && !has_assoc(g, &r->j);
}

/* Nothing that waits or runs may lose the association or QOS that it is of. */
static enum refusal jobs_check(struct account_step *g)
{
    struct map_walk w = {0};
    struct lost lost = {map_str_new(), map_str_new()};
    const struct jobrec *busy = NULL;
    lost_read(g, &lost);
    bool any = map_str_count(lost.assoc) || map_str_count(lost.qos);
    while (!busy && any && map_u64_next(g->c->jobs.by_id, &w))
        busy = loses(g, &lost, w.value) ? w.value : NULL;
    map_str_free(lost.assoc);
    map_str_free(lost.qos);
    if (!busy)
        return REFUSE_NONE;
    const struct job_request *req = &busy->j.spec.req;
    return change_refuse(g, REFUSE_ASSOC_BUSY,
                         "job %llu of %s (account %s, QOS %s) is not over: cancel it, or give it "
                         "another with scontrol update",
                         (unsigned long long)busy->j.id,
                         busy->j.user_name ? busy->j.user_name : "?",
                         req->account ? req->account : "none", req->qos ? req->qos : "none");
}

/* RawUsage=0 */
static void forgotten_read(struct core *c, const struct account_change *ch, struct map_u64 *out)
{
    const struct assoc *a = ch->assoc.v;
    const struct qos *q = ch->qos.v;
    const struct assocrec *r = ch->noun == NOUN_ASSOC && ch->assoc.n
                                   ? assoc_find(c, a->account, a->user, a->partition)
                                   : NULL;
    const struct qosrec *of = ch->noun == NOUN_QOS && ch->qos.n ? qos_find(c, q->name) : NULL;
    if (r)
        map_u64_put(out, use_key(OWNER_ASSOC, r->a.id), out);
    if (of)
        map_u64_put(out, use_key(OWNER_QOS, of->q.id), out);
}

/* Jobs are looked at anew with what is allowed now. */
static void accounts_follow(struct core *c, const struct msg_change_accounts *m)
{
    const struct account_change *v = m->changes.v;
    struct map_u64 *forgotten = map_u64_new();
    for (size_t i = 0; i < m->changes.n; i++)
        if (v[i].no_usage && v[i].verb != VERB_REMOVE)
            forgotten_read(c, &v[i], forgotten);
    if (map_u64_count(forgotten))
        uses_forget(c, forgotten);
    map_u64_free(forgotten);
    uses_sum(c);
    usage_factors(c);
    limits_anew(c);
    plan_soon(c);
}

static enum refusal changes_do(struct account_step *g, const struct msg_change_accounts *m)
{
    const struct account_change *v = m->changes.v;
    struct changes_asked asked = {.all = m, .of_user = &g->of_user, .looks = &g->looks};
    enum refusal refusal = REFUSE_NONE;
    if (m->changes.n > CHANGES_MAX)
        return change_refuse(g, REFUSE_TOO_LARGE, "%zu changes at once; at most %d are allowed",
                             m->changes.n, CHANGES_MAX);
    g->changes = m->changes.n;
    for (size_t i = 0; i < m->changes.n && !refusal; i++) {
        size_t first = g->changed.n, journaled = accounts_journaled(g->c);
        g->ch = &v[i];
        if ((refusal = change_asked_check(g)) != REFUSE_NONE)
            break;
        bool renames = v[i].new_name && (v[i].noun != NOUN_USER || v[i].verb != VERB_MODIFY);
        if (!account_change_allowed(g->c, &asked, g->ch, &g->detail))
            refusal = REFUSE_ACCESS_DENIED;
        else if (renames)
            refusal = change_refuse(g, REFUSE_UPDATE, "a user that is there gets a new name");
        else
            refusal = change_looks(g, 0);
        if (!refusal)
            refusal = change_do(g);
        bool none = accounts_journaled(g->c) == journaled && !v[i].no_usage && !change_unbound(g);
        if (!refusal && !m->test_only && !none)
            transaction_note(g, first);
    }
    changes_asked_done(&asked);
    if (!refusal)
        refusal = change_rows_check(g);
    if (!refusal)
        refusal = change_limits_check(g);
    return refusal ? refusal : jobs_check(g);
}

/* Fields of a QOS from which nothing follows yet, or only with a setting that is not set. */
static const struct {
    const char *field, *word;
    bool preempts;
} qos_kept[] = {{"preempt", "Preempt", true},
                {"preempt_mode", "PreemptMode", true},
                {"preempt_exempt_us", "PreemptExemptTime", true},
                {"grace_us", "GraceTime", true}};

static const char *kept_say(struct arena *a, const char *word)
{
    return arena_printf(a, "%s is kept and shown; nothing follows from it yet", word);
}

/* What nobody counts holds nobody. */
static const char *limit_kept_say(struct arena *a, const struct limit *l)
{
    const char *word = resource_limit_table[l->what].word;
    if (!l->tres)
        return kept_say(a, word);
    return arena_printf(
        a,
        "%s of %s is kept and shown, and holds nobody: %s; cpu, mem, node, billing, gres/… and "
        "license/… are counted",
        word, l->tres,
        text_is(l->tres, "energy") ? "what a job draws is known only when it has ended"
                                   : "how much of it a job has is not counted");
}

static const char *kept_only(const struct core *c, const struct account_change *ch, struct arena *a)
{
    const struct limit *l = ch->limits.v;
    const struct qos *q = ch->qos.n ? ch->qos.v : NULL;
    bool by_qos = c->settings.word.preempt_by_qos;
    for (size_t i = 0; i < ch->limits.n; i++)
        if (l[i].value >= 0 && !limit_does(&l[i]))
            return limit_kept_say(a, &l[i]);
    for (size_t i = 0; q && ch->verb == VERB_MODIFY && i < ARRAY_LEN(qos_kept); i++)
        if (list_has(ch->fields, qos_kept[i].field) && !(qos_kept[i].preempts && by_qos))
            return qos_kept[i].preempts
                       ? arena_printf(a, "%s acts with PreemptType=preempt/qos; here it is %s",
                                      qos_kept[i].word, c->settings.preempt_type)
                       : kept_say(a, qos_kept[i].word);
    return NULL;
}

/* Limits and lists of QOS are kept, and hold for nobody until the site says so. */
static const char *unheeded(const struct core *c, const struct msg_change_accounts *m,
                            struct arena *a)
{
    const struct account_change *v = m->changes.v;
    bool limits = false, qos = false;
    const char *kept = NULL;
    for (size_t i = 0; i < m->changes.n; i++) {
        const struct limit *l = v[i].limits.v;
        for (size_t k = 0; k < v[i].limits.n; k++)
            limits |= l[k].value >= 0;
        qos |= v[i].noun == NOUN_ASSOC && v[i].verb != VERB_REMOVE && v[i].assoc.n &&
               ((const struct assoc *)v[i].assoc.v)->qos;
        kept = kept ? kept : kept_only(c, &v[i], a);
    }
    if (limits && !enforces_limits(c))
        return "the limits are kept but do not hold: AccountingStorageEnforce has no limits";
    if (kept)
        return kept;
    return qos && !enforces_qos(c)
               ? "every QOS may be used by everybody: AccountingStorageEnforce has no qos"
               : NULL;
}

void req_change_accounts(struct core *c, const struct msg_change_accounts *m)
{
    struct account_step g = {.c = c, .a = c->turn.fx->arena};
    size_t effects = c->turn.fx->n;
    accounts_journal(c);
    enum refusal refusal = changes_do(&g, m);
    if (!refusal)
        refusal = change_defaults_check(&g, m);
    if (refusal || m->test_only) {
        c->turn.fx->n = effects; /* transactions of what is undone */
        accounts_undo(c);
    } else {
        user_room_disk(c, c->turn.peer->uid, change_unbound(&g) ? 0 : g.bytes);
        accounts_keep(c);
        accounts_follow(c, m);
    }
    struct msg_accounts_changed answer = {.changed = {.v = g.changed.v, .n = g.changed.n},
                                          .warning = unheeded(c, m, g.a)};
    if (refusal)
        reply_done(c, refusal, g.detail);
    else
        fx_reply(c, c->turn.conn, c->turn.seq, MSG_ACCOUNTS_CHANGED, &answer);
    vec_done(&g.changed);
    map_u64_free(g.fuller);
    map_str_free(g.coordinators);
    under_done(&g.under);
    of_user_done(&g.of_user);
}
