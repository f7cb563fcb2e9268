/* sacctmgr --json: the records of what is shown, with every member that Slurm's data parser v0.0.43
 * names, each of its type. Limits stand in trees there, which are rows here: a path and what stands
 * at its end. */
#include "cli/accounts/accounts.h"
#include "cli/table/json_slurm.h"

#include <string.h>

void json_list_begin(struct json_list *l, struct sacctmgr *s, const struct book *b, const char *key)
{
    *l = (struct json_list){.s = s, .book = b, .text = STR_INIT};
    json_slurm_begin(&l->out, &l->text, "sacctmgr");
    json_key(&l->out, key);
    json_array(&l->out);
}

void json_list_end(struct json_list *l)
{
    json_array_end(&l->out);
    json_slurm_end(&l->out, l->s->json);
}

/* ---- resources ------------------------------------------------------------------------------ */

void tres_json(struct json_list *l, const struct tres *t, int64_t count)
{
    json_object(&l->out);
    json_key_text(&l->out, "type", t->type);
    json_key_text(&l->out, "name", t->name);
    json_key_i64(&l->out, "id", t->id);
    json_key_i64(&l->out, "count", count);
    json_object_end(&l->out);
}

/* "gres/gpu:v100" under the number it has in the book. */
static void tres_limit_json(void *ctx, const struct limit *limit)
{
    struct json_list *l = ctx;
    const char *slash = strchr(limit->tres, '/');
    struct tres t = {.type = limit->tres};
    if (slash) {
        t.type = arena_strndup(l->s->a, limit->tres, (size_t)(slash - limit->tres));
        t.name = arena_strdup(l->s->a, slash + 1);
    }
    for (size_t i = 0; i < l->book->tres.n; i++) {
        const struct tres *known = l->book->tres.v[i];
        if (text_is(known->type, t.type) && text_is(known->name, t.name))
            t.id = known->id;
    }
    if (!limit->hours) /* those of some hours have no place in Slurm's tree */
        tres_json(l, &t, limit->value);
}

/* ---- limits --------------------------------------------------------------------------------- */

struct limit_leaf {
    const char *path;
    enum resource_limit what;
};

/* Leaves of one branch stand together. */
static const struct limit_leaf assoc_leaves[] = {
    {"max/jobs/per/count", LIMIT_GRP_JOBS},
    {"max/jobs/per/accruing", LIMIT_GRP_JOBS_ACCRUE},
    {"max/jobs/per/submitted", LIMIT_GRP_SUBMIT},
    {"max/jobs/per/wall_clock", LIMIT_MAX_WALL},
    {"max/jobs/active", LIMIT_MAX_JOBS},
    {"max/jobs/accruing", LIMIT_MAX_JOBS_ACCRUE},
    {"max/jobs/total", LIMIT_MAX_SUBMIT},
    {"max/tres/total", LIMIT_GRP_TRES},
    {"max/tres/group/minutes", LIMIT_GRP_TRES_MINS},
    {"max/tres/group/active", LIMIT_GRP_TRES_RUN_MINS},
    {"max/tres/minutes/total", LIMIT_MAX_TRES_RUN_MINS_PER_USER}, /* of QOS alone: empty */
    {"max/tres/minutes/per/job", LIMIT_MAX_TRES_MINS},
    {"max/tres/per/job", LIMIT_MAX_TRES},
    {"max/tres/per/node", LIMIT_MAX_TRES_PER_NODE},
    {"max/per/account/wall_clock", LIMIT_GRP_WALL},
    {"min/priority_threshold", LIMIT_MIN_PRIO},
};
static const struct limit_leaf qos_max_leaves[] = {
    {"max/active_jobs/accruing", LIMIT_GRP_JOBS_ACCRUE},
    {"max/active_jobs/count", LIMIT_GRP_JOBS},
    {"max/jobs/count", LIMIT_GRP_SUBMIT},
    {"max/jobs/active_jobs/per/account", LIMIT_MAX_JOBS_PER_ACCOUNT},
    {"max/jobs/active_jobs/per/user", LIMIT_MAX_JOBS_PER_USER},
    {"max/jobs/per/account", LIMIT_MAX_SUBMIT_PER_ACCOUNT},
    {"max/jobs/per/user", LIMIT_MAX_SUBMIT_PER_USER},
    {"max/accruing/per/account", LIMIT_MAX_JOBS_ACCRUE_PER_ACCOUNT},
    {"max/accruing/per/user", LIMIT_MAX_JOBS_ACCRUE_PER_USER},
    {"max/tres/total", LIMIT_GRP_TRES},
    {"max/tres/minutes/total", LIMIT_GRP_TRES_MINS},
    {"max/tres/minutes/per/qos", LIMIT_GRP_TRES_RUN_MINS},
    {"max/tres/minutes/per/job", LIMIT_MAX_TRES_MINS},
    {"max/tres/minutes/per/account", LIMIT_MAX_TRES_RUN_MINS_PER_ACCOUNT},
    {"max/tres/minutes/per/user", LIMIT_MAX_TRES_RUN_MINS_PER_USER},
    {"max/tres/per/account", LIMIT_MAX_TRES_PER_ACCOUNT},
    {"max/tres/per/job", LIMIT_MAX_TRES},
    {"max/tres/per/node", LIMIT_MAX_TRES_PER_NODE},
    {"max/tres/per/user", LIMIT_MAX_TRES_PER_USER},
    {"max/wall_clock/per/qos", LIMIT_GRP_WALL},
    {"max/wall_clock/per/job", LIMIT_MAX_WALL},
};
static const struct limit_leaf qos_min_leaves[] = {
    {"min/priority_threshold", LIMIT_MIN_PRIO},
    {"min/tres/per/job", LIMIT_MIN_TRES},
};

static void count_found(void *ctx, const struct limit *l)
{
    const struct limit **found = ctx;
    if (!l->hours)
        *found = l;
}

static void leaf_json(struct json_list *l, const struct account_row *r, const char *key,
                      enum resource_limit what)
{
    const struct resource_limit_row *row = &resource_limit_table[what];
    bool inherited = r->assoc && !r->own_limits && row->scope != SCOPE_GROUP;
    if (row->unit == UNIT_TRES || row->unit == UNIT_TRES_MINUTES) {
        json_key(&l->out, key);
        json_array(&l->out);
        owner_limit_each(r->owner, what, inherited, tres_limit_json, l);
        json_array_end(&l->out);
    } else {
        const struct limit *found = NULL;
        owner_limit_each(r->owner, what, inherited, count_found, &found);
        json_key_number(&l->out, key, found, found ? found->value : 0);
    }
}

/* How much of the path `to` the branch that is open, `from`, has in common with it. */
static size_t branch_common(const char *from, const char *to)
{
    size_t common = 0;
    for (size_t i = 0; from[i] && from[i] == to[i]; i++)
        if (from[i] == '/')
            common = i + 1;
    return common;
}

static void branches_close(struct json_list *l, const char *path)
{
    for (; (path = strchr(path, '/')); path++)
        json_object_end(&l->out);
}

static void leaves_json(struct json_list *l, const struct account_row *r,
                        const struct limit_leaf *leaf, size_t n)
{
    const char *open = "";
    for (size_t i = 0; i < n; i++) {
        size_t common = branch_common(open, leaf[i].path);
        const char *rest = leaf[i].path + common, *slash;
        branches_close(l, open + common);
        for (; (slash = strchr(rest, '/')); rest = slash + 1) {
            json_key(&l->out, arena_strndup(l->s->a, rest, (size_t)(slash - rest)));
            json_object(&l->out);
        }
        leaf_json(l, r, rest, leaf[i].what);
        open = leaf[i].path;
    }
    branches_close(l, open);
}

/* ---- records -------------------------------------------------------------------------------- */

static void empty_list(struct json_list *l, const char *key)
{
    json_key_list(&l->out, key, NULL);
}

/* "A,B" of the bits, and DELETED; NULL = none. */
static const char *flag_list(uint32_t flags, const char *const *words, int n, bool deleted,
                             struct arena *a)
{
    const char *list = deleted ? "DELETED" : NULL;
    for (int i = 0; i < n; i++)
        if (flags >> i & 1u)
            list = list ? arena_printf(a, "%s,%s", list, words[i]) : words[i];
    return list;
}

static void deleted_flag(struct json_list *l, bool deleted)
{
    json_key_list(&l->out, "flags", deleted ? "DELETED" : NULL);
}

void assoc_short_json(struct json_list *l, const struct assoc *a)
{
    json_object(&l->out);
    json_key_text(&l->out, "account", a->account);
    json_key_text(&l->out, "cluster", l->s->cluster);
    json_key_text(&l->out, "partition", a->partition);
    json_key_text(&l->out, "user", a->user);
    json_key_i64(&l->out, "id", a->id);
    json_object_end(&l->out);
}

/* "/physics/theory/0-alice/" */
static const char *lineage(const struct assoc_view *v, struct arena *a)
{
    const char *below = "/";
    if (!text_empty(v->a->user)) {
        if (!text_empty(v->a->partition))
            below = arena_printf(a, "/%s/", v->a->partition);
        below = arena_printf(a, "/0-%s%s", v->a->user, below);
        v = v->up;
    }
    for (; v && v->up; v = v->up)
        below = arena_printf(a, "/%s%s", v->a->account, below);
    return below;
}

static bool is_default(const struct book *b, const struct assoc *a)
{
    const struct account_user *u = text_empty(a->user) ? NULL : book_user(b, a->user);
    return u && text_is(u->default_account, a->account);
}

static void assoc_json(struct json_list *l, const struct account_row *r)
{
    const struct assoc *a = r->assoc->a;
    struct json_out *j = &l->out;
    json_object(j);
    empty_list(l, "accounting");
    json_key_text(j, "account", a->account);
    json_key_text(j, "cluster", l->s->cluster);
    json_key_text(j, "comment", a->comment);
    json_key(j, "default");
    json_object(j);
    json_key_text(j, "qos", a->default_qos);
    json_object_end(j);
    deleted_flag(l, a->deleted);
    leaves_json(l, r, assoc_leaves, ARRAY_LEN(assoc_leaves));
    json_key_i64(j, "id", a->id);
    json_key_bool(j, "is_default", is_default(l->book, a));
    json_key_text(j, "lineage", lineage(r->assoc, l->s->a));
    json_key_text(j, "parent_account", a->parent);
    json_key_text(j, "partition", a->partition);
    json_key_number(j, "priority", a->priority_plus1,
                    a->priority_plus1 ? (int64_t)a->priority_plus1 - 1 : 0);
    json_key_list(j, "qos", assoc_view_qos(r->book, r->assoc, l->s->a));
    json_key_i64(j, "shares_raw", assoc_shares(a));
    json_key_text(j, "user", a->user);
    json_object_end(j);
}

/* Is `name` one of the list itself? Else it coordinates by an account above. */
static void coordinators_json(struct json_list *l, const char *names, const char *direct)
{
    struct span rest = span_of(names ? names : ""), piece;
    json_key(&l->out, "coordinators");
    json_array(&l->out);
    while (span_next(&rest, ',', &piece)) {
        const char *name = arena_strndup(l->s->a, piece.data, piece.len);
        if (!*name)
            continue;
        json_object(&l->out);
        json_key_text(&l->out, "name", name);
        json_key_bool(&l->out, "direct", !direct || specs_match(direct, name));
        json_object_end(&l->out);
    }
    json_array_end(&l->out);
}

/* Of the rows of one account or user, which WithAssoc makes of it: n of them. */
static void associations_json(struct json_list *l, const struct account_row *r, size_t n)
{
    json_key(&l->out, "associations");
    json_array(&l->out);
    for (size_t i = 0; i < n; i++)
        if (r[i].assoc)
            assoc_short_json(l, r[i].assoc->a);
    json_array_end(&l->out);
}

static void account_json(struct json_list *l, const struct account_row *r, size_t n)
{
    const struct account *a = r->account;
    json_object(&l->out);
    associations_json(l, r, n);
    coordinators_json(l, r->coordinators ? r->coordinators : a->coordinators,
                      a->coordinators ? a->coordinators : "");
    json_key_text(&l->out, "description", a->description);
    json_key_text(&l->out, "name", a->name);
    json_key_text(&l->out, "organization", a->organization);
    const char *words[ACCOUNT_FLAG_COUNT];
    for (int i = 0; i < ACCOUNT_FLAG_COUNT; i++)
        words[i] = account_flag_words[i].word;
    json_key_list(&l->out, "flags",
                  flag_list(a->flags, words, ACCOUNT_FLAG_COUNT, a->deleted, l->s->a));
    json_object_end(&l->out);
}

static void user_json(struct json_list *l, const struct account_row *r, size_t n)
{
    const struct account_user *u = r->user;
    struct json_out *j = &l->out;
    json_object(j);
    json_key_words(j, "administrator_level", enum_name(&admin_level_names, u->admin_level), NULL);
    associations_json(l, r, n);
    coordinators_json(l, r->coordinators, NULL);
    json_key(j, "default");
    json_object(j);
    json_key_text(j, "account", u->default_account);
    json_key_text(j, "wckey", u->default_wckey);
    json_object_end(j);
    deleted_flag(l, u->deleted);
    json_key_text(j, "name", u->name);
    json_key_text(j, "old_name", "");
    json_key(j, "wckeys");
    json_array(j);
    for (size_t i = 0; i < l->book->wckey.n; i++)
        if (!l->book->wckey.v[i]->deleted && text_is(l->book->wckey.v[i]->user, u->name))
            wckey_json(l, l->book->wckey.v[i]);
    json_array_end(j);
    json_object_end(j);
}

void wckey_json(struct json_list *l, const struct wckey *k)
{
    json_object(&l->out);
    empty_list(l, "accounting");
    json_key_text(&l->out, "cluster", l->s->cluster);
    json_key_i64(&l->out, "id", k->id);
    json_key_text(&l->out, "name", k->name);
    json_key_text(&l->out, "user", k->user);
    deleted_flag(l, k->deleted);
    json_object_end(&l->out);
}

/* {set, infinite, number} of what is kept in millionths, plus 1. */
static void factor_json(struct json_out *j, const char *key, int64_t e6_plus1)
{
    json_key(j, key);
    json_object(j);
    json_key_bool(j, "set", e6_plus1);
    json_key_bool(j, "infinite", false);
    json_key(j, "number");
    json_double(j, e6_plus1 ? (double)(e6_plus1 - 1) / 1e6 : 0);
    json_object_end(j);
}

/* Slurm's documents have words of their own for these. */
static const char *const qos_flag_keys[QOS_FLAG_COUNT] = {
    [QOS_BIT_DENY_ON_LIMIT] = "DENY_LIMIT",
    [QOS_BIT_ENFORCE_USAGE_THRESHOLD] = "ENFORCE_USAGE_THRESHOLD",
    [QOS_BIT_NO_DECAY] = "NO_DECAY",
    [QOS_BIT_NO_RESERVE] = "NO_RESERVE",
    [QOS_BIT_OVER_PART_QOS] = "OVERRIDE_PARTITION_QOS",
    [QOS_BIT_PART_MAX_NODES] = "PARTITION_MAXIMUM_NODE",
    [QOS_BIT_PART_MIN_NODES] = "PARTITION_MINIMUM_NODE",
    [QOS_BIT_PART_TIME_LIMIT] = "PARTITION_TIME_LIMIT",
    [QOS_BIT_RELATIVE] = "RELATIVE",
    [QOS_BIT_REQUIRES_RESV] = "REQUIRED_RESERVATION",
    [QOS_BIT_USAGE_FACTOR_SAFE] = "USAGE_FACTOR_SAFE",
};

static void qos_json(struct json_list *l, const struct account_row *r)
{
    const struct qos *q = r->qos->q;
    struct json_out *j = &l->out;
    json_object(j);
    json_key_text(j, "description", q->description);
    json_key_list(j, "flags",
                  flag_list(q->flags, qos_flag_keys, QOS_FLAG_COUNT, q->deleted, l->s->a));
    json_key_i64(j, "id", q->id);
    json_key(j, "limits");
    json_object(j);
    json_key_i64(j, "grace_time", q->grace_us / USEC_PER_SEC);
    leaves_json(l, r, qos_max_leaves, ARRAY_LEN(qos_max_leaves));
    factor_json(j, "factor", q->limit_factor_e6_plus1);
    leaves_json(l, r, qos_min_leaves, ARRAY_LEN(qos_min_leaves));
    json_object_end(j);
    json_key_text(j, "name", q->name);
    json_key(j, "preempt");
    json_object(j);
    json_key_list(j, "list", q->preempt);
    json_key_words(j, "mode",
                   q->preempt_mode == PREEMPT_UNSET || q->preempt_mode == PREEMPT_OFF
                       ? "DISABLED"
                       : enum_name(&preempt_mode_names, q->preempt_mode),
                   NULL);
    json_key_number(j, "exempt_time", q->preempt_exempt_us, q->preempt_exempt_us / USEC_PER_SEC);
    json_object_end(j);
    json_key_number(j, "priority", true, q->priority);
    factor_json(j, "usage_factor", q->usage_factor_e6_plus1 ? q->usage_factor_e6_plus1 : 1000001);
    factor_json(j, "usage_threshold", q->usage_threshold_e6_plus1);
    json_object_end(j);
}

static bool is_same(const struct account_row *a, const struct account_row *b)
{
    return a->account == b->account && a->user == b->user && a->qos == b->qos;
}

void accounts_json(struct sacctmgr *s, const struct book *b, const struct account_row *row,
                   size_t n, enum entity entity)
{
    struct json_list l;
    json_list_begin(&l, s, b,
                    entity == ENTITY_ACCOUNT ? "accounts"
                    : entity == ENTITY_USER  ? "users"
                    : entity == ENTITY_QOS   ? "qos"
                                             : "associations");
    for (size_t i = 0, next; i < n; i = next) {
        next = i + 1;
        while (entity != ENTITY_ASSOC && next < n && is_same(&row[i], &row[next]))
            next++;
        if (entity == ENTITY_QOS)
            qos_json(&l, &row[i]);
        else if (entity == ENTITY_USER)
            user_json(&l, &row[i], next - i);
        else if (entity == ENTITY_ACCOUNT)
            account_json(&l, &row[i], next - i);
        else
            assoc_json(&l, &row[i]);
    }
    json_list_end(&l);
}
