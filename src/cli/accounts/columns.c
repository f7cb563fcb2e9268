/* Columns of accounts, users, associations and QOS. Those of limits are made from the table of
 * limits; a column has a row for each of its names. */
#include "cli/accounts/accounts.h"

#include "base/duration.h"
#include "base/list.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define CELL(name)                                                                                 \
    static void cell_##name(const struct cell_env *env, const void *record, struct str *out)
#define ROW const struct account_row *r = record

CELL(account)
{
    ROW;
    str_addf(out, "%*s", r->depth, "");
    str_add(out, r->assoc ? r->assoc->a->account : r->account ? r->account->name : "");
}

CELL(cluster)
{
    ROW;
    if (r->assoc)
        str_add(out, env->cluster);
}

CELL(user)
{
    ROW;
    str_add(out, r->assoc ? r->assoc->a->user : r->user ? r->user->name : NULL);
}

CELL(partition)
{
    ROW;
    str_add(out, r->assoc ? r->assoc->a->partition : NULL);
}

CELL(share)
{
    ROW;
    if (r->assoc && r->assoc->a->shares == SHARES_PARENT)
        str_add(out, "parent");
    else if (r->assoc)
        str_add_i64(out, assoc_shares(r->assoc->a));
}

CELL(priority)
{
    ROW;
    const struct assoc_view *v = r->assoc;
    if (r->qos) {
        str_add_i64(out, r->qos->q->priority);
        return;
    }
    while (v && !v->a->priority_plus1)
        v = r->own_limits ? NULL : v->up;
    if (v)
        str_add_i64(out, (int64_t)v->a->priority_plus1 - 1);
}

static void names_add(const char *list, struct str *out)
{
    struct arena *a = arena_new();
    str_add(out, names_sorted(list, a));
    arena_free(a);
}

CELL(qos)
{
    ROW;
    if (!r->assoc)
        return;
    if (!r->own_qos) {
        struct arena *a = arena_new();
        str_add(out, assoc_view_qos(r->book, r->assoc, a));
        arena_free(a);
        return;
    }
    const struct assoc *a = r->assoc->a;
    names_add(a->qos, out);
    if (!text_empty(a->qos_more))
        str_addf(out, "%s+%s", out->len ? "," : "", a->qos_more);
    if (!text_empty(a->qos_less))
        str_addf(out, "%s-%s", out->len ? "," : "", a->qos_less);
}

static int id_compare(const void *pa, const void *pb)
{
    uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
    return (a > b) - (a < b);
}

/* The numbers of the QOS that the column of names shows, the lowest first; those that are added or
 * taken off have their sign and stand before. */
CELL(qos_raw)
{
    ROW;
    struct arena *a = arena_new();
    struct str names = STR_INIT, ids = STR_INIT;
    VEC(uint64_t) id = {0};
    cell_qos(env, record, &names);
    struct span rest = span_of(str_text(&names)), name;
    while (names.len && span_next(&rest, ',', &name)) {
        const char *text = arena_strndup(a, name.data, name.len);
        bool sign = *text == '+' || *text == '-';
        const struct qos_view *q = book_qos(r->book, text + sign);
        if (q && sign)
            list_addf(&ids, "%c%llu", *text, (unsigned long long)q->q->id);
        else if (q)
            vec_push(&id, q->q->id);
    }
    if (id.n)
        qsort(id.v, id.n, sizeof *id.v, id_compare);
    for (size_t i = 0; i < id.n; i++)
        list_addf(&ids, "%llu", (unsigned long long)id.v[i]);
    str_add(out, str_text(&ids));
    vec_done(&id);
    str_done(&names);
    str_done(&ids);
    arena_free(a);
}

CELL(default_qos)
{
    ROW;
    const struct assoc_view *v = r->assoc;
    while (v && !v->a->default_qos)
        v = r->own_limits ? NULL : v->up;
    if (v)
        str_add(out, v->a->default_qos);
}

CELL(assoc_id)
{
    ROW;
    if (r->assoc || r->qos)
        str_add_u64(out, r->assoc ? r->assoc->a->id : r->qos->q->id);
}

CELL(parent_name)
{
    ROW;
    str_add(out, r->assoc && !r->assoc->a->user ? r->assoc->a->parent : NULL);
}

CELL(parent_id)
{
    ROW;
    if (r->assoc && r->assoc->up)
        str_add_u64(out, r->assoc->up->a->id);
}

CELL(lineage)
{
    ROW;
    const char *above[64];
    size_t n = 0;
    for (const struct assoc_view *v = r->assoc; v && n < 64; v = v->up)
        if (!v->a->user && !text_is(v->a->account, "root"))
            above[n++] = v->a->account;
    str_add(out, r->assoc ? "/" : NULL);
    while (n)
        str_addf(out, "%s/", above[--n]);
    if (r->assoc && r->assoc->a->user)
        str_addf(out, "0-%s/", r->assoc->a->user);
    if (r->assoc && r->assoc->a->partition)
        str_addf(out, "%s/", r->assoc->a->partition);
}

CELL(comment)
{
    ROW;
    str_add(out, r->assoc ? r->assoc->a->comment : NULL);
}

CELL(nothing)
{
    (void)env;
    (void)record;
    (void)out;
}

CELL(descr)
{
    ROW;
    str_add(out, r->qos ? r->qos->q->description : r->account ? r->account->description : NULL);
}

CELL(org)
{
    ROW;
    str_add(out, r->account ? r->account->organization : NULL);
}

CELL(coordinators)
{
    ROW;
    str_add(out, r->coordinators);
}

static void flags_say(const struct flag_word *words, size_t n, uint32_t flags, struct str *out)
{
    bool any = false;
    for (size_t i = 0; i < n; i++)
        if (flags >> i & 1u) {
            str_addf(out, "%s%s", any ? "," : "", words[i].word);
            any = true;
        }
}

CELL(flags)
{
    ROW;
    if (r->qos)
        flags_say(qos_flag_words, QOS_FLAG_COUNT, r->qos->q->flags, out);
    else if (r->account)
        flags_say(account_flag_words, ACCOUNT_FLAG_COUNT, r->account->flags, out);
}

CELL(default_account)
{
    ROW;
    str_add(out, r->user ? r->user->default_account : NULL);
}

CELL(default_wckey)
{
    ROW;
    str_add(out, r->user ? r->user->default_wckey : NULL);
}

CELL(wckeys)
{
    ROW;
    bool any = false;
    for (size_t i = 0; r->user && i < r->book->wckey.n; i++) {
        const struct wckey *k = r->book->wckey.v[i];
        if (k->deleted || !text_is(k->user, r->user->name))
            continue;
        str_addf(out, "%s%s", any ? "," : "", k->name);
        any = true;
    }
}

CELL(admin)
{
    ROW;
    if (r->user)
        str_add(out, enum_name(&admin_level_names, r->user->admin_level));
}

CELL(qos_name)
{
    ROW;
    str_add(out, r->qos->q->name);
}

CELL(grace)
{
    ROW;
    duration_format(r->qos->q->grace_us, out);
}

CELL(gpu_idle)
{
    ROW;
    str_add(out, r->qos->q->gpu_idle);
}

CELL(exempt)
{
    ROW;
    if (r->qos->q->preempt_exempt_us)
        duration_format(r->qos->q->preempt_exempt_us, out);
}

CELL(preempt)
{
    ROW;
    names_add(r->qos->q->preempt, out);
}

CELL(preempt_mode)
{
    ROW;
    static const char *const word[] = {"cluster", "off", "cancel", "requeue", "suspend"};
    size_t mode = (size_t)r->qos->q->preempt_mode;
    str_add(out, mode < ARRAY_LEN(word) ? word[mode] : "cluster");
}

static void factor_say(int64_t e6_plus1, const char *none, struct str *out)
{
    int64_t e6 = e6_plus1 - 1;
    if (e6_plus1)
        str_addf(out, "%lld.%06lld", (long long)(e6 / 1000000), (long long)(e6 % 1000000));
    else
        str_add(out, none);
}

CELL(usage_factor)
{
    ROW;
    factor_say(r->qos->q->usage_factor_e6_plus1, "1.000000", out);
}

CELL(usage_threshold)
{
    ROW;
    factor_say(r->qos->q->usage_threshold_e6_plus1, "", out);
}

CELL(limit_factor)
{
    ROW;
    factor_say(r->qos->q->limit_factor_e6_plus1, "", out);
}

/* ---- limits --------------------------------------------------------------------------------- */

/* Those of users and jobs hold for everything below who carries them; sums are its own. */
static bool is_inherited(const struct account_row *r, enum resource_limit what)
{
    return r->assoc && !r->own_limits && resource_limit_table[what].scope != SCOPE_GROUP;
}

#define X(limit, ...)                                                                              \
    CELL(limit_##limit)                                                                            \
    {                                                                                              \
        ROW;                                                                                       \
        if (r->owner)                                                                              \
            owner_limit_say(r->owner, LIMIT_##limit, is_inherited(r, LIMIT_##limit), out);         \
    }
RESOURCE_LIMITS(X)
#undef X

/* Of one resource, the number alone. */
static void one_say(const struct account_row *r, enum resource_limit what, const char *tres,
                    struct str *out)
{
    bool inherited = is_inherited(r, what);
    for (const struct sacctmgr_owner *o = r->owner; o; o = inherited ? o->up : NULL) {
        const struct limit *l = owner_limit(o, what, tres);
        if (!l)
            continue;
        str_add_i64(out, l->value);
        return;
    }
}

/* X(NAME, column, width, limit, resource) */
// clang-format off
#define ONE_RESOURCE(X)                                                                                      \
    X(grp_cpus, "GrpCPUs", 8, GRP_TRES, "cpu")                                                               \
    X(grp_cpu_mins, "GrpCPUMins", 11, GRP_TRES_MINS, "cpu")                                                  \
    X(grp_cpu_run_mins, "GrpCPURunMins", 13, GRP_TRES_RUN_MINS, "cpu")                                       \
    X(grp_mem, "GrpMem", 7, GRP_TRES, "mem")                                                                 \
    X(grp_nodes, "GrpNodes", 8, GRP_TRES, "node")                                                            \
    X(max_cpus, "MaxCPUs", 8, MAX_TRES, "cpu")                                                               \
    X(max_cpu_mins, "MaxCPUMins", 11, MAX_TRES_MINS, "cpu")                                                  \
    X(max_nodes, "MaxNodes", 8, MAX_TRES, "node")                                                            \
    X(max_cpus_pu, "MaxCPUsPU", 9, MAX_TRES_PER_USER, "cpu")                                                 \
    X(max_nodes_pu, "MaxNodesPU", 10, MAX_TRES_PER_USER, "node")                                             \
    X(min_cpus, "MinCPUs", 8, MIN_TRES, "cpu")
// clang-format on
#define X(name, column, width, limit, tres)                                                        \
    CELL(name)                                                                                     \
    {                                                                                              \
        one_say(record, LIMIT_##limit, tres, out);                                                 \
    }
ONE_RESOURCE(X)
#undef X

/* ---- tables --------------------------------------------------------------------------------- */

struct column_row {
    const char *names, *header; /* names: comma-separated */
    int width;
    char cut; /* CUT_ */
    unsigned entities;
    void (*print)(const struct cell_env *env, const void *record, struct str *out);
};

// clang-format off
static const struct column_row rows[] = {
    {"Account", "Account", 10, 0, TREE, cell_account},
    {"AdminLevel", "Admin", 9, 0, ON(USER), cell_admin},
    {"Cluster", "Cluster", 10, 0, TREE, cell_cluster},
    {"Comment", "Comment", 20, 0, TREE, cell_comment},
    {"Coordinators", "Coord Accounts", 20, 0, ON(ACCOUNT) | ON(USER), cell_coordinators},
    {"DefaultAccount", "Def Acct", 10, 0, ON(USER), cell_default_account},
    {"DefaultQOS", "Def QOS", 9, 0, TREE, cell_default_qos},
    {"DefaultWCKey", "Def WCKey", 10, 0, ON(USER), cell_default_wckey},
    {"Description", "Descr", 20, 0, ON(ACCOUNT) | ON(QOS), cell_descr},
    {"FairShare,Share", "Share", 9, CUT_NEVER, TREE, cell_share},
    {"Flags", "Flags", 20, 0, ON(QOS) | ON(ACCOUNT), cell_flags},
    {"GpuIdle", "GpuIdle", 30, 0, ON(QOS), cell_gpu_idle},
    {"GraceTime", "GraceTime", 10, CUT_NEVER, ON(QOS), cell_grace},
    {"ID", "ID", 6, CUT_NEVER, TREE | ON(QOS), cell_assoc_id},
    {"LimitFactor", "LimitFactor", 11, CUT_EXPONENT, ON(QOS), cell_limit_factor},
    {"Lineage", "Lineage", -20, 0, TREE, cell_lineage},
    {"LFT", "LFT", 6, 0, TREE, cell_nothing},
    {"RGT", "RGT", 6, 0, TREE, cell_nothing},
    {"Name", "Name", 10, 0, ON(QOS), cell_qos_name},
    {"Name", "Account", 10, 0, ON(ACCOUNT), cell_account},
    {"Name", "User", 10, 0, ON(USER), cell_user},
    {"Organization", "Org", 20, 0, ON(ACCOUNT), cell_org},
    {"ParentID", "ParentID", 8, CUT_NEVER, TREE, cell_parent_id},
    {"ParentName", "ParentName", 10, 0, TREE, cell_parent_name},
    {"Partition", "Partition", 10, 0, TREE, cell_partition},
    {"Preempt", "Preempt", 10, 0, ON(QOS), cell_preempt},
    {"PreemptExemptTime", "PreemptExemptTime", 19, CUT_NEVER, ON(QOS), cell_exempt},
    {"PreemptMode", "PreemptMode", 11, 0, ON(QOS), cell_preempt_mode},
    {"Priority", "Priority", 10, CUT_NEVER, TREE | ON(QOS), cell_priority},
    {"QOSLevel,QOS", "QOS", 20, 0, TREE, cell_qos},
    {"QOSRAWLevel,QOSRAW", "QOS_RAW", 10, 0, TREE, cell_qos_raw},
    {"UsageFactor", "UsageFactor", 11, CUT_EXPONENT, ON(QOS), cell_usage_factor},
    {"UsageThreshold", "UsageThres", 10, CUT_EXPONENT, ON(QOS), cell_usage_threshold},
    {"User", "User", 10, 0, TREE, cell_user},
    {"WCKeys", "WCKeys", 20, 0, ON(USER), cell_wckeys},
};
// clang-format on

#define COLUMNS_MAX 160

static void column_add(struct column_table *t, struct arena *a, const struct column_row *row)
{
    struct column *v = (struct column *)t->column;
    struct span rest = span_of(row->names), name;
    while (span_next(&rest, ',', &name))
        if (name.len && t->n < COLUMNS_MAX)
            v[t->n++] = (struct column){.name = arena_strndup(a, name.data, name.len),
                                        .header = row->header,
                                        .width = row->width,
                                        .print = row->print,
                                        .letter = row->cut};
}

static void limit_columns(struct column_table *t, struct arena *a, bool of_qos)
{
    static void (*const print[])(const struct cell_env *, const void *, struct str *) = {
#define X(limit, ...) [LIMIT_##limit] = cell_limit_##limit,
        RESOURCE_LIMITS(X)
#undef X
    };
    for (int i = 0; i < RESOURCE_LIMIT_COUNT; i++) {
        const struct resource_limit_row *l = &resource_limit_table[i];
        bool number = l->unit == UNIT_COUNT || l->unit == UNIT_MINUTES;
        struct column_row row = {arena_printf(a, "%s,%s,%s", l->heading, l->word, l->others),
                                 l->heading,
                                 l->width,
                                 number ? CUT_NEVER : 0,
                                 0,
                                 print[i]};
        if (l->owners & (of_qos ? ON_QOS : ON_ASSOC))
            column_add(t, a, &row);
    }
    static const struct column_row ones[] = {
#define X(name, column, width, limit, tres) {column, column, width, CUT_NEVER, 0, cell_##name},
        ONE_RESOURCE(X)
#undef X
    };
    for (size_t i = 0; i < ARRAY_LEN(ones); i++)
        column_add(t, a, &ones[i]);
}

const struct column_table *account_columns(enum entity entity, struct arena *a)
{
    struct column_table *t = arena_alloc(a, sizeof *t);
    t->column = arena_alloc(a, COLUMNS_MAX * sizeof t->column[0]);
    t->record = "accounts";
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].entities >> entity & 1u)
            column_add(t, a, &rows[i]);
    limit_columns(t, a, entity == ENTITY_QOS);
    return t;
}
