/* Accounts, users, associations, limits and workload keys at a start, all of them at once: records
 * lie in one block for each kind, texts are interned once, indexes are made with room for all. What
 * is removed later stays in its block until the end. */
#include "core/record/accounts/bulk.h"

#include "core/record/accounts/assoc_index.h"
#include "core/record/accounts/limit_book.h"
#include "core/record/accounts/memory.h"
#include "core/record/record.h"

#include <stdlib.h>
#include <string.h>

struct bulk {
    struct core *c;
    const struct packed *p;
    const char **text; /* as p->text, interned */
    uint32_t *uses;
};

/* NULL = there are none. */
static void *records_of(struct bulk *b, enum store_table table, enum account_block_of of,
                        size_t size, size_t *ret_n)
{
    const struct packed_table *t = packed_find(b->p, table);
    *ret_n = t ? t->n : 0;
    if (!t)
        return NULL;
    void *records = account_block_new(b->c, of, t->n, size);
    packed_records(b->p, t, records, size, b->text, b->uses);
    return records;
}

static void accounts_take(struct bulk *b)
{
    size_t n;
    struct account *r = records_of(b, TABLE_ACCOUNT, BLOCK_ACCOUNT, sizeof(struct account), &n);
    map_str_reserve(b->c->accounts.account, n);
    for (size_t i = 0; i < n; i++) {
        map_str_put(b->c->accounts.account, r[i].name, &r[i]);
        b->c->accounts.accounts += !r[i].deleted && !text_is(r[i].name, ROOT_ACCOUNT);
    }
}

static void users_take(struct bulk *b)
{
    size_t n;
    struct account_user *r =
        records_of(b, TABLE_ACCOUNT_USER, BLOCK_USER, sizeof(struct account_user), &n);
    map_str_reserve(b->c->accounts.user, n);
    for (size_t i = 0; i < n; i++)
        map_str_put(b->c->accounts.user, r[i].name, &r[i]);
}

static void assocs_take(struct bulk *b)
{
    size_t n;
    struct assocrec *r = records_of(b, TABLE_ASSOC, BLOCK_ASSOC, sizeof(struct assocrec), &n);
    map_u64_reserve(b->c->accounts.assoc, n);
    assoc_index_reserve(b->c, n);
    for (size_t i = 0; i < n; i++) {
        b->c->accounts.prioritized += r[i].a.priority_plus1 > 0;
        map_u64_put(b->c->accounts.assoc, r[i].a.id, &r[i]);
        assoc_index(b->c, &r[i]);
    }
    for (size_t i = 0; i < n; i++)
        if (i && r[i].a.user && r[i - 1].a.user && r[i].a.account == r[i - 1].a.account)
            r[i].up = r[i - 1].up;
        else
            assoc_hang(b->c, &r[i]);
}

static void wckeys_take(struct bulk *b)
{
    size_t n;
    struct wckey *r = records_of(b, TABLE_WCKEY, BLOCK_WCKEY, sizeof(struct wckey), &n);
    map_u64_reserve(b->c->accounts.wckey, n);
    map_str_reserve(b->c->accounts.wckey_of, n);
    for (size_t i = 0; i < n; i++) {
        map_u64_put(b->c->accounts.wckey, r[i].id, &r[i]);
        wckey_index(b->c, &r[i]);
        if (r[i].id > b->c->accounts.last_wckey)
            b->c->accounts.last_wckey = r[i].id;
    }
}

static limit_list *list_of(struct core *c, const struct limit *l)
{
    struct assocrec *r = l->owner == OWNER_ASSOC ? assoc_in_block(c, l->owner_id) : NULL;
    return r ? &r->limit : limits_of(c, (enum limit_owner)l->owner, l->owner_id);
}

static bool same_owner(const struct limit *a, const struct limit *b)
{
    return a->owner == b->owner && a->owner_id == b->owner_id;
}

/* Those of one owner follow each other, for so are their keys ordered. Where they do not, or some
 * are there already, each is kept as any other. */
static void limits_take(struct bulk *b)
{
    size_t n;
    struct limit *r = records_of(b, TABLE_LIMIT, BLOCK_LIMIT, sizeof(struct limit), &n);
    for (size_t i = 0, end; i < n; i = end) {
        limit_list *of = list_of(b->c, &r[i]);
        for (end = i + 1; end < n && same_owner(&r[i], &r[end]);)
            end++;
        if (of && !of->n)
            *of = (limit_list){r + i, (uint32_t)(end - i), (uint32_t)(end - i)};
        for (size_t k = i; of && k < end; k++)
            if (of->v == r + i)
                b->c->accounts.limits[r[k].what]++;
            else
                limit_keep(b->c, &r[k]);
    }
}

void accounts_load_packed(struct core *c, const struct packed *p)
{
    struct bulk b = {.c = c, .p = p};
    ASSERT(!map_u64_count(c->accounts.assoc));
    b.text = xcalloc(p->ntext + 1, sizeof b.text[0]);
    b.uses = xcalloc(p->ntext + 1, sizeof b.uses[0]);
    for (size_t i = 0; i < p->ntext; i++)
        b.text[i] = intern_take(c->pool, p->text[i]);
    accounts_take(&b);
    users_take(&b);
    assocs_take(&b);
    wckeys_take(&b);
    limits_take(&b);
    for (size_t i = 0; i < p->ntext; i++) {
        intern_more(b.text[i], b.uses[i]);
        intern_drop(c->pool, b.text[i]);
    }
    free(b.text);
    free(b.uses);
}
