/* Accounts as the controller has them, put together: limits with who carries them, associations in
 * a tree. */
#include "cli/accounts/accounts.h"

#include "base/amount.h"
#include "base/duration.h"
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

/* ---- reading -------------------------------------------------------------------------------- */

/* What is not removed, by name; each is made when it is first asked for. */
struct book_index {
    struct map_str *account, *user;
    struct map_str *assoc; /* account, user and partition, a line each */
};

struct book_reading {
    struct sacctmgr *s;
    struct book *b;
    VEC(struct assoc_view *) unsorted;
};

#define KEEP(name, list, tag)                                                                      \
    static void name(void *ctx, const void *record)                                                \
    {                                                                                              \
        struct book_reading *r = ctx;                                                              \
        vec_push(&r->b->list, arena_dup(r->s->a, record, sizeof(struct tag)));                     \
    }
KEEP(account_keep, account, account)
KEEP(user_keep, user, account_user)
KEEP(wckey_keep, wckey, wckey)
KEEP(tres_keep, tres, tres)

static void assoc_keep(void *ctx, const void *record)
{
    struct book_reading *r = ctx;
    struct assoc_view *v = arena_alloc(r->s->a, sizeof *v);
    v->a = arena_dup(r->s->a, record, sizeof(struct assoc));
    vec_push(&r->unsorted, v);
}

static void qos_keep(void *ctx, const void *record)
{
    struct book_reading *r = ctx;
    struct qos_view *v = arena_alloc(r->s->a, sizeof *v);
    v->q = arena_dup(r->s->a, record, sizeof(struct qos));
    vec_push(&r->b->qos, v);
}

static void limit_keep(void *ctx, const void *record)
{
    struct book_reading *r = ctx;
    const struct limit *l = arena_dup(r->s->a, record, sizeof *l);
    if (l->owner == OWNER_QOS) {
        for (size_t i = 0; i < r->b->qos.n; i++)
            if (r->b->qos.v[i]->q->id == l->owner_id)
                vec_push(&r->b->qos.v[i]->owner.limit, l);
        return;
    }
    for (size_t low = 0, high = r->unsorted.n; low < high;) { /* by number */
        size_t middle = (low + high) / 2;
        struct assoc_view *v = r->unsorted.v[middle];
        if (v->a->id == l->owner_id) {
            vec_push(&v->owner.limit, l);
            return;
        }
        if (v->a->id < l->owner_id)
            low = middle + 1;
        else
            high = middle;
    }
}

/* Only what is shown of it: of 100,000 each byte counts. */
static bool ask(struct book_reading *r, uint32_t what, const char *wanted, const struct fields *t,
                void (*row)(void *ctx, const void *record))
{
    struct msg_query q = {.what = (int32_t)what, .fields = wanted};
    return sacctmgr_query(r->s, &q, t, row, r);
}

/* ---- the tree ------------------------------------------------------------------------------- */

static int id_compare(const void *pa, const void *pb)
{
    const struct assoc_view *a = *(struct assoc_view *const *)pa,
                            *b = *(struct assoc_view *const *)pb;
    return (a->a->id > b->a->id) - (a->a->id < b->a->id);
}

/* Those of one account stand together: users first, then accounts, by name; what is removed stands
 * beside what is there. */
static int sibling_compare(const void *pa, const void *pb)
{
    const struct assoc *a = (*(struct assoc_view *const *)pa)->a,
                       *b = (*(struct assoc_view *const *)pb)->a;
    const char *above_a = a->user     ? a->account
                          : a->parent ? a->parent
                                      : "",
               *above_b = b->user     ? b->account
                          : b->parent ? b->parent
                                      : "";
    int by = strcmp(above_a, above_b);
    if (by)
        return by;
    if (!a->user != !b->user)
        return a->user ? -1 : 1;
    by = strcmp(a->user ? a->user : a->account, b->user ? b->user : b->account);
    return by ? by : strcmp(a->partition ? a->partition : "", b->partition ? b->partition : "");
}

/* Where those below that account begin; those below an account of "" are the root. */
static size_t first_below(const struct book_reading *r, const char *account)
{
    size_t low = 0, high = r->unsorted.n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct assoc *a = r->unsorted.v[middle]->a;
        const char *above = a->user ? a->account : a->parent ? a->parent : "";
        if (strcmp(above, account) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Depth first, without calls into itself: who knows how deep a tree is. */
static void tree_make(struct book_reading *r)
{
    struct level {
        size_t next;
        struct assoc_view *of;
    };
    VEC(struct level) level = {0};
    vec_push(&level, ((struct level){first_below(r, ""), NULL}));
    while (level.n) {
        struct level *top = &level.v[level.n - 1];
        const char *above = top->of ? top->of->a->account : "";
        struct assoc_view *v = top->next < r->unsorted.n ? r->unsorted.v[top->next] : NULL;
        const char *own = !v           ? NULL
                          : v->a->user ? v->a->account
                                       : (v->a->parent ? v->a->parent : "");
        if (!v || !text_is(own, above)) {
            level.n--;
            continue;
        }
        top->next++;
        v->up = top->of;
        v->owner.up = top->of ? &top->of->owner : NULL;
        v->depth = (int)level.n - 1;
        vec_push(&r->b->assoc, v);
        if (!v->a->user && !v->a->deleted)
            vec_push(&level, ((struct level){first_below(r, v->a->account), v}));
    }
    vec_done(&level);
}

static int name_compare(const void *pa, const void *pb)
{
    /* of accounts and users the name stands first */
    return strcmp(**(const char *const *const *)pa, **(const char *const *const *)pb);
}

static int qos_compare(const void *pa, const void *pb)
{
    const struct qos *a = (*(struct qos_view *const *)pa)->q,
                     *b = (*(struct qos_view *const *)pb)->q;
    return (a->id > b->id) - (a->id < b->id);
}

static int tres_id_compare(const void *pa, const void *pb)
{
    const struct tres *a = *(const struct tres *const *)pa, *b = *(const struct tres *const *)pb;
    return (a->id > b->id) - (a->id < b->id);
}

static int wckey_compare(const void *pa, const void *pb)
{
    const struct wckey *a = *(const struct wckey *const *)pa, *b = *(const struct wckey *const *)pb;
    int order = strcmp(a->name, b->name);
    return order ? order : strcmp(a->user, b->user);
}

#define SORT(list, compare)                                                                        \
    if ((list).n)                                                                                  \
    qsort((list).v, (list).n, sizeof(list).v[0], compare)

bool book_read(struct sacctmgr *s, struct book *b)
{
    struct book_reading r = {.s = s, .b = b};
    bool ok = ask(&r, QUERY_ACCOUNTS, NULL, &account_fields, account_keep) &&
              ask(&r, QUERY_ACCOUNT_USERS, NULL, &account_user_fields, user_keep) &&
              ask(&r, QUERY_ASSOCS,
                  "id,account,user,partition,parent,shares,priority_plus1,qos,qos_more,qos_less,"
                  "default_qos,comment,deleted",
                  &assoc_fields, assoc_keep) &&
              ask(&r, QUERY_QOS, NULL, &qos_fields, qos_keep);
    SORT(r.unsorted, id_compare);
    ok = ok &&
         ask(&r, QUERY_LIMITS, b->limit_ids ? NULL : "owner,owner_id,what,tres,hours,value",
             &limit_fields, limit_keep) &&
         ask(&r, QUERY_WCKEYS, NULL, &wckey_fields, wckey_keep) &&
         ask(&r, QUERY_TRES, NULL, &tres_fields, tres_keep);
    SORT(b->account, name_compare);
    SORT(b->user, name_compare);
    SORT(b->qos, qos_compare);
    SORT(b->tres, tres_id_compare);
    SORT(b->wckey, wckey_compare);
    SORT(r.unsorted, sibling_compare);
    if (ok)
        tree_make(&r);
    b->index = arena_alloc(s->a, sizeof *b->index);
    vec_done(&r.unsorted);
    return ok;
}

void book_done(struct book *b)
{
    for (size_t i = 0; i < b->assoc.n; i++)
        vec_done(&b->assoc.v[i]->owner.limit);
    for (size_t i = 0; i < b->qos.n; i++)
        vec_done(&b->qos.v[i]->owner.limit);
    vec_done(&b->account);
    vec_done(&b->user);
    vec_done(&b->assoc);
    vec_done(&b->qos);
    vec_done(&b->wckey);
    vec_done(&b->tres);
    if (!b->index)
        return;
    map_str_free(b->index->account);
    map_str_free(b->index->user);
    map_str_free(b->index->assoc);
}

/* ---- by name -------------------------------------------------------------------------------- */

static const char *assoc_key(struct str *out, const char *account, const char *user,
                             const char *partition)
{
    str_clear(out);
    str_addf(out, "%s\n%s\n%s", account ? account : "", user ? user : "",
             partition ? partition : "");
    return str_text(out);
}

/* Of two of a name the first counts. */
static void named_put(struct map_str *m, const char *name, const void *record)
{
    const char *kept;
    void **slot = map_str_slot(m, name, true, &kept);
    if (!*slot)
        *slot = (void *)record;
}

const struct account *book_account(const struct book *b, const char *name)
{
    struct book_index *x = b->index;
    if (!name || !x)
        return NULL;
    if (!x->account) {
        x->account = map_str_new();
        for (size_t i = 0; i < b->account.n; i++)
            if (!b->account.v[i]->deleted)
                named_put(x->account, b->account.v[i]->name, b->account.v[i]);
    }
    return map_str_get(x->account, name);
}

const struct account_user *book_user(const struct book *b, const char *name)
{
    struct book_index *x = b->index;
    if (!name || !x)
        return NULL;
    if (!x->user) {
        x->user = map_str_new();
        for (size_t i = 0; i < b->user.n; i++)
            if (!b->user.v[i]->deleted)
                named_put(x->user, b->user.v[i]->name, b->user.v[i]);
    }
    return map_str_get(x->user, name);
}

struct assoc_view *book_assoc(const struct book *b, const char *account, const char *user,
                              const char *partition)
{
    struct book_index *x = b->index;
    struct str key = STR_INIT;
    if (!x)
        return NULL;
    if (!x->assoc) {
        x->assoc = map_str_new();
        for (size_t i = 0; i < b->assoc.n; i++) {
            const struct assoc *a = b->assoc.v[i]->a;
            if (!a->deleted)
                named_put(x->assoc, assoc_key(&key, a->account, a->user, a->partition),
                          b->assoc.v[i]);
        }
    }
    struct assoc_view *v = map_str_get(x->assoc, assoc_key(&key, account, user, partition));
    str_done(&key);
    return v;
}

struct qos_view *book_qos(const struct book *b, const char *name)
{
    for (size_t i = 0; i < b->qos.n; i++)
        if (!b->qos.v[i]->q->deleted && text_is(b->qos.v[i]->q->name, name))
            return b->qos.v[i];
    return NULL;
}

bool book_has_tres(void *book, const char *tres)
{
    const struct book *b = book;
    for (size_t i = 0; i < b->tres.n; i++)
        if (tres_is(b->tres.v[i], tres))
            return true;
    return text_starts(tres, "license/");
}

static bool has_qos(const struct assoc_view *v, const char *qos)
{
    for (; v; v = v->up) {
        if (v->a->qos)
            return specs_match(v->a->qos, qos);
        if (v->a->qos_less && specs_match(v->a->qos_less, qos))
            return false;
        if (v->a->qos_more && specs_match(v->a->qos_more, qos))
            return true;
    }
    return false;
}

const char *assoc_view_qos(const struct book *b, const struct assoc_view *v, struct arena *a)
{
    struct str out = STR_INIT;
    for (size_t i = 0; i < b->qos.n; i++)
        if (!b->qos.v[i]->q->deleted && has_qos(v, b->qos.v[i]->q->name))
            str_addf(&out, "%s%s", out.len ? "," : "", b->qos.v[i]->q->name);
    const char *text = names_sorted(str_text(&out), a);
    str_done(&out);
    return text;
}

static int name_order(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *names_sorted(const char *list, struct arena *a)
{
    struct span rest = span_of(list ? list : ""), piece;
    VEC(const char *) name = {0};
    struct str out = STR_INIT;
    while (span_next(&rest, ',', &piece))
        vec_push(&name, arena_strndup(a, piece.data, piece.len));
    if (name.n)
        qsort(name.v, name.n, sizeof name.v[0], name_order);
    for (size_t i = 0; i < name.n; i++)
        str_addf(&out, "%s%s", i ? "," : "", name.v[i]);
    const char *text = arena_strdup(a, str_text(&out));
    vec_done(&name);
    str_done(&out);
    return text;
}

const struct limit *owner_limit(const struct sacctmgr_owner *o, enum resource_limit what,
                                const char *tres)
{
    for (size_t i = 0; i < o->limit.n; i++)
        if ((enum resource_limit)o->limit.v[i]->what == what && !o->limit.v[i]->hours &&
            text_is(o->limit.v[i]->tres, tres))
            return o->limit.v[i];
    return NULL;
}

static void value_say(const struct resource_limit_row *row, const struct limit *l, struct str *out)
{
    str_add(out, out->len ? "," : "");
    if (l->tres)
        str_addf(out, "%s=", l->tres);
    if (l->value < 0)
        str_add(out, "NONE"); /* of what is to be set: taken back */
    else if (row->unit == UNIT_MINUTES)
        duration_format(amount_times(l->value, USEC_PER_MIN), out);
    else if (l->tres && (text_is(l->tres, "mem") || text_is(l->tres, "vmem")))
        size_format_mib(l->value, 0, out);
    else
        str_add_i64(out, l->value);
    if (l->hours) { /* "mon-fri 08:00-18:00" */
        size_t days = strcspn(l->hours, " ");
        str_addf(out, "@%.*s:%s", (int)days, l->hours, l->hours[days] ? l->hours + days + 1 : "");
    }
}

static int limit_compare(const void *pa, const void *pb)
{
    const struct limit *a = *(const struct limit *const *)pa, *b = *(const struct limit *const *)pb;
    int order = a->tres && b->tres ? tres_compare(a->tres, b->tres) : 0;
    return order ? order : strcmp(a->hours ? a->hours : "", b->hours ? b->hours : "");
}

void owner_limit_each(const struct sacctmgr_owner *o, enum resource_limit what, bool inherited,
                      void (*each)(void *ctx, const struct limit *l), void *ctx)
{
    VEC(const struct limit *) found = {0};
    for (; o; o = inherited ? o->up : NULL)
        for (size_t i = 0; i < o->limit.n; i++) {
            const struct limit *l = o->limit.v[i];
            bool known = (enum resource_limit)l->what != what;
            for (size_t k = 0; k < found.n && !known; k++)
                known = text_is(found.v[k]->tres, l->tres) && text_is(found.v[k]->hours, l->hours);
            if (!known)
                vec_push(&found, l);
        }
    SORT(found, limit_compare);
    for (size_t i = 0; i < found.n; i++)
        each(ctx, found.v[i]);
    vec_done(&found);
}

static void limit_said(void *ctx, const struct limit *l)
{
    value_say(&resource_limit_table[l->what], l, ctx);
}

void owner_limit_say(const struct sacctmgr_owner *o, enum resource_limit what, bool inherited,
                     struct str *out)
{
    struct str text = STR_INIT;
    owner_limit_each(o, what, inherited, limit_said, &text);
    str_add(out, str_text(&text));
    str_done(&text);
}

bool book_coordinates(const struct book *b, const char *user, const char *account)
{
    for (const struct assoc_view *v = book_assoc(b, account, NULL, NULL); v; v = v->up) {
        const struct account *a = book_account(b, v->a->account);
        if (!a)
            continue;
        if (!text_empty(a->coordinators) && specs_match(a->coordinators, user))
            return true;
        if ((a->flags >> ACCOUNT_BIT_USERS_ARE_COORDS & 1u) && book_assoc(b, a->name, user, NULL))
            return true;
    }
    return false;
}

bool book_wckey(const struct book *b, const char *user, const char *name)
{
    for (size_t i = 0; i < b->wckey.n; i++) {
        const struct wckey *k = b->wckey.v[i];
        if (!k->deleted && text_is(k->user, user) && text_is(k->name, name))
            return true;
    }
    return false;
}
