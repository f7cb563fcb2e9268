#include "core/record/accounts/limit_book.h"

#include "base/amount.h"
#include "base/duration.h"
#include "core/record/accounts/limits.h"
#include "core/record/accounts/memory.h"
#include "core/record/record.h"

#include <stdlib.h>

limit_list *limits_of(const struct core *c, enum limit_owner owner, uint32_t id)
{
    struct assocrec *a = owner == OWNER_ASSOC ? map_u64_get(c->accounts.assoc, id) : NULL;
    struct qosrec *q = owner == OWNER_QOS ? map_u64_get(c->accounts.qos, id) : NULL;
    return a ? &a->limit : q ? &q->limit : NULL;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || text_is(a, b);
}

static bool same_key(const struct limit *a, const struct limit *b)
{
    return a->what == b->what && same_text(a->tres, b->tres) && same_text(a->hours, b->hours);
}

/* From the end: what takes all of them back, or undoes what was added, begins there. */
static struct limit *find_in(const limit_list *of, const struct limit *l)
{
    for (size_t i = of->n; i-- > 0;)
        if (same_key(&of->v[i], l))
            return &of->v[i];
    return NULL;
}

struct limit *limit_find(const struct core *c, const struct limit *l)
{
    limit_list *of = limits_of(c, (enum limit_owner)l->owner, l->owner_id);
    return of ? find_in(of, l) : NULL;
}

void limit_keep(struct core *c, const struct limit *l)
{
    ASSERT(l->what < RESOURCE_LIMIT_COUNT);
    limit_list *of = limits_of(c, (enum limit_owner)l->owner, l->owner_id);
    struct limit former, kept = *l;
    if (!of)
        return;
    kept.id = NULL;
    struct limit *at = find_in(of, l);
    if (!at) {
        limit_list_own(c, of);
        c->accounts.limits[l->what]++;
        vec_reserve(of, of->n + 1); /* most owners have one */
        vec_push(of, (struct limit){0});
        at = &of->v[of->n - 1];
    }
    former = *at;
    record_intern(c, &limit_fields, at, &kept);
    record_drop(c, &limit_fields, &former);
}

void limit_remove(struct core *c, const struct limit *l)
{
    limit_list *of = limits_of(c, (enum limit_owner)l->owner, l->owner_id);
    struct limit *at = of ? find_in(of, l) : NULL;
    if (!at)
        return;
    struct limit gone = *at; /* `l` may be the one in the list */
    vec_remove(of, (size_t)(at - of->v));
    c->accounts.limits[gone.what]--;
    record_drop(c, &limit_fields, &gone);
}

void limit_list_free(struct core *c, limit_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        c->accounts.limits[list->v[i].what]--;
    if (limit_list_is_own(c, list))
        free(list->v);
    *list = (limit_list){0};
}

bool limits_any(const struct core *c, enum limit_counts counts)
{
    for (size_t i = 0; i < RESOURCE_LIMIT_COUNT; i++)
        if (resource_limit_table[i].counts == counts && c->accounts.limits[i])
            return true;
    return false;
}

const struct limit *limit_own(const limit_list *l, enum resource_limit what, const char *tres)
{
    for (size_t i = 0; i < l->n; i++)
        if ((enum resource_limit)l->v[i].what == what && !l->v[i].hours &&
            same_text(l->v[i].tres, tres))
            return &l->v[i];
    return NULL;
}

const limit_list *limits_next(const struct core *c, struct limit_walk *w)
{
    if (!w->of_qos && map_u64_next(c->accounts.assoc, &w->owner))
        return &((const struct assocrec *)w->owner.value)->limit;
    if (!w->of_qos) {
        w->of_qos = true;
        w->owner = (struct map_walk){0};
    }
    return map_u64_next(c->accounts.qos, &w->owner)
               ? &((const struct qosrec *)w->owner.value)->limit
               : NULL;
}

/* ---- said ------------------------------------------------------------------------------- */

/* As people write it: a time and a size are no bare numbers. */
static void value_say(const struct limit_hit *h, struct str *out)
{
    enum limit_unit unit = resource_limit_table[h->l->what].unit;
    if (unit == UNIT_MINUTES)
        duration_format(amount_times(h->value, USEC_PER_MIN), out);
    else if (unit == UNIT_TRES && text_is(h->l->tres, "mem"))
        size_format_mib(h->value, 0, out);
    else
        str_add_i64(out, h->value);
}

void limit_say(const struct limit_hit *h, struct str *out)
{
    ASSERT(h->l->what < RESOURCE_LIMIT_COUNT);
    str_addf(out, "%s=%s%s", resource_limit_table[h->l->what].word, h->l->tres ? h->l->tres : "",
             h->l->tres ? "=" : "");
    value_say(h, out);
    str_addf(out, "%s%s of ", h->l->hours ? " at " : "", h->l->hours ? h->l->hours : "");
    if (h->qos)
        str_addf(out, "QOS %s", h->qos->q.name);
    if (h->qos && h->value != h->l->value)
        str_addf(out, " (%lld %% of what there is)", (long long)h->l->value);
    if (!h->qos)
        str_addf(out, "%s%s%s", h->assoc->a.user ? h->assoc->a.user : "account ",
                 h->assoc->a.user ? " in account " : "", h->assoc->a.account);
}
