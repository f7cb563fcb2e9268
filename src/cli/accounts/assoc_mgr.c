#include "cli/accounts/assoc_mgr.h"
#include "base/list.h"
#include "base/map.h"
#include "cli/accounts/accounts.h"
#include "cli/program/room.h"
#include "model/message.h"
#include "model/record/partition.h"
#include "model/record/priority.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct assoc_mgr_show {
    struct sacctmgr s;
    const struct assoc_mgr_ask *ask;
    struct book book;
    VEC(const struct in_use *) use;
    struct map_u64 *use_of;   /* of an association or QOS as a whole: owner and number → in_use */
    struct map_u64 *share_of; /* number of the association → fair_share */
    struct map_u64 *level;    /* number of one above → shares of those below it */
    struct str out;
    struct arena *a;
};

static uint64_t owner_key(int32_t owner, uint32_t id)
{
    return (uint64_t)owner << 32 | id;
}

static void use_keep(void *ctx, const void *record)
{
    struct assoc_mgr_show *w = ctx;
    struct in_use *u = arena_dup(w->a, record, sizeof *u);
    if (u->user || u->account)
        vec_push(&w->use, u);
    else
        map_u64_put(w->use_of, owner_key(u->owner, u->id), u);
}

static void share_keep(void *ctx, const void *record)
{
    struct assoc_mgr_show *w = ctx;
    struct fair_share *f = arena_dup(w->a, record, sizeof *f);
    map_u64_put(w->share_of, f->assoc_id, f);
}

/* What has and used nothing. */
static const struct in_use nothing;

static const struct in_use *use_of(const struct assoc_mgr_show *w, enum limit_owner owner,
                                   uint32_t id)
{
    const struct in_use *u = map_u64_get(w->use_of, owner_key((int32_t)owner, id));
    return u ? u : &nothing;
}

/* ---- pieces --------------------------------------------------------------------------------- */

/* The next line of a record. */
static void line(struct assoc_mgr_show *w)
{
    str_add(&w->out, w->ask->oneliner ? " " : "\n    ");
}

static void tres_name(const struct tres *t, struct str *out)
{
    str_clear(out);
    str_addf(out, "%s%s%s", t->type, t->name ? "/" : "", t->name ? t->name : "");
}

/* Of "cpu=4,mem=100". */
static int64_t amount_in(const char *list, const char *tres)
{
    struct span rest = span_of(list ? list : ""), piece;
    size_t len = strlen(tres);
    while (span_next(&rest, ',', &piece))
        if (piece.len > len && piece.data[len] == '=' && memcmp(piece.data, tres, len) == 0)
            return strtoll(piece.data + len + 1, NULL, 10);
    return 0;
}

/* Its own, or, of those that are passed down, the nearest above. Hours are for sacctmgr to show. */
static const struct limit *limit_of(const struct sacctmgr_owner *o, enum resource_limit what,
                                    const char *tres)
{
    bool down = resource_limit_table[what].scope != SCOPE_GROUP;
    for (; o; o = down ? o->up : NULL)
        for (size_t i = 0; i < o->limit.n; i++)
            if ((enum resource_limit)o->limit.v[i]->what == what && !o->limit.v[i]->hours &&
                text_is(o->limit.v[i]->tres, tres))
                return o->limit.v[i];
    return NULL;
}

/* "4(1)", "N(1)": the limit, and what is in use. */
static void pair(struct assoc_mgr_show *w, const struct limit *l, int64_t used)
{
    if (l)
        str_add_i64(&w->out, l->value);
    else
        str_addc(&w->out, 'N');
    str_addf(&w->out, "(%lld)", (long long)used);
}

static void count(struct assoc_mgr_show *w, const char *word, const struct sacctmgr_owner *o,
                  enum resource_limit what, int64_t used)
{
    str_addf(&w->out, "%s=", word);
    pair(w, limit_of(o, what, NULL), used);
}

/* The same, and nothing where there is no limit. */
static void count_if(struct assoc_mgr_show *w, const char *word, const struct sacctmgr_owner *o,
                     enum resource_limit what, int64_t used)
{
    const struct limit *l = limit_of(o, what, NULL);
    str_addf(&w->out, "%s=", word);
    if (l)
        pair(w, l, used);
}

/* Of each resource: the limit, and what is in use by `list`. */
static void amounts(struct assoc_mgr_show *w, const char *word, const struct sacctmgr_owner *o,
                    enum resource_limit what, const char *list)
{
    struct str name = STR_INIT;
    str_addf(&w->out, "%s=", word);
    for (size_t i = 0; i < w->book.tres.n; i++) {
        tres_name(w->book.tres.v[i], &name);
        str_addf(&w->out, "%s%s=", i ? "," : "", str_text(&name));
        pair(w, limit_of(o, what, str_text(&name)), amount_in(list, str_text(&name)));
    }
    str_done(&name);
}

/* The limits alone. */
static void values(struct assoc_mgr_show *w, const char *word, const struct sacctmgr_owner *o,
                   enum resource_limit what)
{
    struct str name = STR_INIT;
    bool any = false;
    str_addf(&w->out, "%s=", word);
    for (size_t i = 0; i < w->book.tres.n; i++) {
        tres_name(w->book.tres.v[i], &name);
        const struct limit *l = limit_of(o, what, str_text(&name));
        if (l)
            str_addf(&w->out, "%s%s=%lld", any ? "," : "", str_text(&name), (long long)l->value);
        any |= l != NULL;
    }
    str_done(&name);
}

static void value(struct assoc_mgr_show *w, const char *word, const struct sacctmgr_owner *o,
                  enum resource_limit what)
{
    const struct limit *l = limit_of(o, what, NULL);
    str_addf(&w->out, "%s=", word);
    if (l)
        str_add_i64(&w->out, l->value);
}

static void groups(struct assoc_mgr_show *w, const struct sacctmgr_owner *o, const struct in_use *u)
{
    line(w);
    amounts(w, "GrpTRES", o, LIMIT_GRP_TRES, u->has);
    line(w);
    amounts(w, "GrpTRESMins", o, LIMIT_GRP_TRES_MINS, u->used);
    line(w);
    amounts(w, "GrpTRESRunMins", o, LIMIT_GRP_TRES_RUN_MINS, u->promised);
}

static void wall(struct assoc_mgr_show *w, const struct sacctmgr_owner *o, const struct in_use *u)
{
    const struct limit *l = limit_of(o, LIMIT_GRP_WALL, NULL);
    str_add(&w->out, " GrpWall=");
    if (l)
        str_add_i64(&w->out, l->value);
    str_addf(&w->out, "%s(%lld.%02lld)", l ? "" : "N", (long long)(u->wall_ms / 60000),
             (long long)(u->wall_ms % 60000 / 600));
}

static void of_a_job(struct assoc_mgr_show *w, const struct sacctmgr_owner *o)
{
    line(w);
    values(w, "MaxTRESPJ", o, LIMIT_MAX_TRES);
    line(w);
    values(w, "MaxTRESPN", o, LIMIT_MAX_TRES_PER_NODE);
    line(w);
    values(w, "MaxTRESMinsPJ", o, LIMIT_MAX_TRES_MINS);
    line(w);
    value(w, "MinPrioThresh", o, LIMIT_MIN_PRIO);
}

/* Before the first record of a kind. */
static void title(struct assoc_mgr_show *w, bool *any, const char *text)
{
    if (!*any)
        str_addf(&w->out, w->ask->oneliner ? "%s\n" : "\n%s\n\n", text);
    *any = true;
}

static void none(struct assoc_mgr_show *w, bool any, const char *what)
{
    if (!any)
        str_addf(&w->out,
                 w->ask->oneliner ? "No %s currently cached in Slurm.\n"
                                  : "\nNo %s currently cached in Slurm.\n\n",
                 what);
}

static uint32_t uid_of(const char *name)
{
    const struct passwd *pw = user_by_name(name);
    return pw ? pw->pw_uid : UINT32_MAX;
}

/* "alice(1001)" */
static void user_say(struct assoc_mgr_show *w, const char *name)
{
    str_addf(&w->out, "%s(%u)", name, uid_of(name));
}

/* ---- users ---------------------------------------------------------------------------------- */

static const char *level_say(int32_t level)
{
    switch ((enum admin_level)level) {
    case ADMIN_OPERATOR: return "Operator";
    case ADMIN_ADMINISTRATOR: return "Administrator";
    case ADMIN_NONE: break;
    }
    return "Not Set";
}

/* In the order in which they were added. */
static int by_age(const void *a, const void *b)
{
    const struct account_user *x = *(const struct account_user *const *)a,
                              *y = *(const struct account_user *const *)b;
    return x->made_us != y->made_us ? (x->made_us > y->made_us) - (x->made_us < y->made_us)
                                    : strcmp(x->name, y->name);
}

static void users_show(struct assoc_mgr_show *w)
{
    bool any = false;
    if (w->book.user.n)
        qsort(w->book.user.v, w->book.user.n, sizeof w->book.user.v[0], by_age);
    for (size_t i = 0; i < w->book.user.n; i++) {
        const struct account_user *u = w->book.user.v[i];
        if (u->deleted || (w->ask->of_users && !list_has_nocase(w->ask->of_users, u->name)))
            continue;
        title(w, &any, "User Records");
        str_add(&w->out, "UserName=");
        user_say(w, u->name);
        str_addf(&w->out, " DefAccount=%s DefWckey=%s AdminLevel=%s\n",
                 u->default_account ? u->default_account : "(null)",
                 u->default_wckey           ? u->default_wckey
                 : text_is(u->name, "root") ? ""
                                            : "(null)",
                 level_say(u->admin_level));
    }
    none(w, any, "users");
}

/* ---- associations --------------------------------------------------------------------------- */

static void hundredths(struct str *out, int64_t part)
{
    int64_t n = (part + SHARE_ONE / 200) / (SHARE_ONE / 100);
    str_addf(out, "%lld.%02lld", (long long)(n / 100), (long long)(n % 100));
}

/* Shares of all its siblings together, which are summed when the first is shown. */
static void levels_sum(struct assoc_mgr_show *w)
{
    for (size_t i = 0; i < w->book.assoc.n; i++) {
        const struct assoc_view *v = w->book.assoc.v[i];
        uint64_t above = v->up ? v->up->a->id : 0;
        int64_t sum = (int64_t)(uintptr_t)map_u64_get(w->level, above);
        if (!v->a->deleted && assoc_shares(v->a) > 0)
            map_u64_put(w->level, above, (void *)(uintptr_t)(sum + assoc_shares(v->a)));
    }
}

static int64_t level_of(const struct assoc_mgr_show *w, const struct assoc_view *v)
{
    return (int64_t)(uintptr_t)map_u64_get(w->level, v->up ? v->up->a->id : 0);
}

static void shares_say(struct assoc_mgr_show *w, const struct assoc_view *v, const struct in_use *u)
{
    static const struct fair_share none;
    const struct fair_share *f = map_u64_get(w->share_of, v->a->id);
    int32_t shares = assoc_shares(v->a);
    f = f ? f : &none;
    str_add(&w->out, "SharesRaw/Norm/Level/Factor=");
    if (shares < 0)
        str_add(&w->out, "parent");
    else
        str_add_i64(&w->out, shares);
    str_addc(&w->out, '/');
    hundredths(&w->out, f->norm_shares);
    str_addf(&w->out, "/%lld/", (long long)level_of(w, v));
    hundredths(&w->out, f->factor > 0 ? f->factor : 0);
    line(w);
    str_addf(&w->out, "UsageRaw/Norm/Efctv=%lld.%02lld/", (long long)(u->usage / 1000),
             (long long)(u->usage % 1000 / 10));
    if (v->up)
        hundredths(&w->out, f->norm_usage);
    else
        str_add(&w->out, "1.00"); /* all of what was used, if only nothing */
    str_addc(&w->out, '/');
    hundredths(&w->out, f->effective > 0 ? f->effective : 0);
}

static void assoc_show(struct assoc_mgr_show *w, const struct assoc_view *v, int left)
{
    const struct sacctmgr_owner *o = &v->owner;
    const struct assoc *a = v->a;
    const struct in_use *u = use_of(w, OWNER_ASSOC, a->id);
    const struct account_user *user = a->user ? book_user(&w->book, a->user) : NULL;
    bool own = user && text_is(user->default_account, a->account);
    str_addf(&w->out, "ClusterName=%s Account=%s UserName=", w->ask->cluster ? w->ask->cluster : "",
             a->account);
    if (a->user)
        user_say(w, a->user);
    str_addf(&w->out, " Partition=%s Priority=%u ID=%u", a->partition ? a->partition : "",
             a->priority_plus1 ? a->priority_plus1 - 1 : 0, a->id);
    line(w);
    shares_say(w, v, u);
    line(w);
    str_add(&w->out, "ParentAccount=");
    if (!a->user && v->up)
        str_addf(&w->out, "%s(%u)", v->up->a->account, v->up->a->id);
    str_addf(&w->out, " Lft=%d DefAssoc=%s", left, own ? "Yes" : "No");
    line(w);
    count(w, "GrpJobs", o, LIMIT_GRP_JOBS, u->jobs);
    count(w, " GrpJobsAccrue", o, LIMIT_GRP_JOBS_ACCRUE, u->accruing);
    line(w);
    count(w, "GrpSubmitJobs", o, LIMIT_GRP_SUBMIT, u->submitted);
    wall(w, o, u);
    groups(w, o, u);
    line(w);
    count_if(w, "MaxJobs", o, LIMIT_MAX_JOBS, u->jobs);
    count_if(w, " MaxJobsAccrue", o, LIMIT_MAX_JOBS_ACCRUE, u->accruing);
    count_if(w, " MaxSubmitJobs", o, LIMIT_MAX_SUBMIT, u->submitted);
    value(w, " MaxWallPJ", o, LIMIT_MAX_WALL);
    of_a_job(w, o);
    str_addc(&w->out, '\n');
}

static void assocs_show(struct assoc_mgr_show *w)
{
    bool any = false;
    levels_sum(w);
    for (size_t i = 0; i < w->book.assoc.n; i++) {
        const struct assoc *a = w->book.assoc.v[i]->a;
        if (a->deleted ||
            (w->ask->of_accounts && !list_has_nocase(w->ask->of_accounts, a->account)) ||
            (w->ask->of_users && a->user && !list_has_nocase(w->ask->of_users, a->user)))
            continue;
        title(w, &any, "Association Records");
        assoc_show(w, w->book.assoc.v[i], (int)(2 * i + 1));
    }
    none(w, any, "associations");
}

/* ---- QOS ------------------------------------------------------------------------------------ */

static const struct {
    const char *title, *none, *jobs, *accruing, *submitted, *tres;
    enum resource_limit max_jobs, max_accrue, max_submit, max_tres;
} parts[] = {{"Account Limits", "No Accounts", "MaxJobsPA", "MaxJobsAccruePA", "MaxSubmitJobsPA",
              "MaxTRESPA", LIMIT_MAX_JOBS_PER_ACCOUNT, LIMIT_MAX_JOBS_ACCRUE_PER_ACCOUNT,
              LIMIT_MAX_SUBMIT_PER_ACCOUNT, LIMIT_MAX_TRES_PER_ACCOUNT},
             {"User Limits", "No Users", "MaxJobsPU", "MaxJobsAccruePU", "MaxSubmitJobsPU",
              "MaxTRESPU", LIMIT_MAX_JOBS_PER_USER, LIMIT_MAX_JOBS_ACCRUE_PER_USER,
              LIMIT_MAX_SUBMIT_PER_USER, LIMIT_MAX_TRES_PER_USER}};

static void part_show(struct assoc_mgr_show *w, const struct qos_view *v, size_t part)
{
    bool any = false, of_users = part == 1;
    line(w);
    str_add(&w->out, parts[part].title);
    for (size_t i = 0; i < w->use.n; i++) {
        const struct in_use *u = w->use.v[i];
        const char *who = of_users ? u->user : u->account;
        const struct passwd *pw = who && of_users ? user_by_name(who) : NULL;
        if (u->owner != OWNER_QOS || u->id != v->q->id || !who)
            continue;
        str_add(&w->out, w->ask->oneliner ? any ? " " : "=" : "\n      ");
        any = true;
        if (pw) /* Slurm names users by number here */
            str_addf(&w->out, "%u", (unsigned)pw->pw_uid);
        else
            str_add(&w->out, who);
        str_add(&w->out, w->ask->oneliner ? " " : "\n        ");
        count(w, parts[part].jobs, &v->owner, parts[part].max_jobs, u->jobs);
        str_addc(&w->out, ' ');
        count(w, parts[part].accruing, &v->owner, parts[part].max_accrue, u->accruing);
        str_addc(&w->out, ' ');
        count(w, parts[part].submitted, &v->owner, parts[part].max_submit, u->submitted);
        str_add(&w->out, w->ask->oneliner ? " " : "\n        ");
        amounts(w, parts[part].tres, &v->owner, parts[part].max_tres, u->has);
    }
    if (!any)
        str_addf(&w->out, "%s%s", w->ask->oneliner ? "=" : "\n        ", parts[part].none);
}

static void one_qos_show(struct assoc_mgr_show *w, const struct qos_view *v)
{
    const struct sacctmgr_owner *o = &v->owner;
    const struct in_use *u = use_of(w, OWNER_QOS, v->q->id);
    const char *mode = v->q->preempt_mode == PREEMPT_UNSET
                           ? "OFF"
                           : enum_name(&preempt_mode_names, v->q->preempt_mode);
    str_addf(&w->out, "QOS=%s(%u)", v->q->name, v->q->id);
    line(w);
    str_addf(&w->out, "UsageRaw=%lld.%06lld", (long long)(u->usage / 1000),
             (long long)(u->usage % 1000 * 1000));
    line(w);
    count(w, "GrpJobs", o, LIMIT_GRP_JOBS, u->jobs);
    count(w, " GrpJobsAccrue", o, LIMIT_GRP_JOBS_ACCRUE, u->accruing);
    count(w, " GrpSubmitJobs", o, LIMIT_GRP_SUBMIT, u->submitted);
    wall(w, o, u);
    groups(w, o, u);
    line(w);
    value(w, "MaxWallPJ", o, LIMIT_MAX_WALL);
    of_a_job(w, o);
    str_addc(&w->out, ' ');
    line(w);
    values(w, "MinTRESPJ", o, LIMIT_MIN_TRES);
    line(w);
    str_addf(&w->out, "PreemptMode=%s", mode);
    line(w);
    str_addf(&w->out, "Priority=%u", v->q->priority);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        part_show(w, v, i);
    str_addc(&w->out, '\n');
}

static void qos_show(struct assoc_mgr_show *w)
{
    bool any = false;
    for (size_t i = 0; i < w->book.qos.n; i++) {
        const struct qos *q = w->book.qos.v[i]->q;
        if (q->deleted || (w->ask->of_qos && !list_has_nocase(w->ask->of_qos, q->name)))
            continue;
        title(w, &any, "QOS Records");
        one_qos_show(w, w->book.qos.v[i]);
    }
    none(w, any, "QOS");
}

bool assoc_mgr_show(struct client *client, const struct assoc_mgr_ask *ask, struct arena *a)
{
    struct assoc_mgr_show w = {
        .s = {.a = a, .called = "scontrol", .client = client}, .ask = ask, .a = a};
    struct msg_query use = {.what = QUERY_IN_USE}, shares = {.what = QUERY_FAIR_SHARES};
    w.use_of = map_u64_new();
    w.share_of = map_u64_new();
    w.level = map_u64_new();
    bool well = book_read(&w.s, &w.book) &&
                sacctmgr_query(&w.s, &use, &in_use_fields, use_keep, &w) &&
                sacctmgr_query(&w.s, &shares, &fair_share_fields, share_keep, &w);
    if (well) {
        str_add(&w.out, "Current Association Manager state\n");
        if (ask->users)
            users_show(&w);
        if (ask->assocs)
            assocs_show(&w);
        if (ask->qos)
            qos_show(&w);
        fputs(str_text(&w.out), stdout);
    }
    book_done(&w.book);
    vec_done(&w.use);
    map_u64_free(w.use_of);
    map_u64_free(w.share_of);
    map_u64_free(w.level);
    str_done(&w.out);
    return well;
}
