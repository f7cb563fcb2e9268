#include "core/record/accounts/assoc_index.h"

#include "base/alloc.h"
#include "core/record/accounts/memory.h"
#include "core/record/record.h"

#include <stdlib.h>

/* Texts of the book are interned: equal ones have one address, and the key of an association is its
 * three addresses. The index is a table of numbers, open addressing, as a centre has a hundred
 * thousand of them: four bytes a slot, and the record says the rest. Nothing walks over it, so that
 * it may hang on addresses. */
#define SLOTS_MIN 64

static size_t assoc_home(const struct assoc_table *t, const char *account, const char *user,
                         const char *partition)
{
    uint64_t key = (uintptr_t)account;
    key = key * UINT64_C(0xbf58476d1ce4e5b9) ^ (uintptr_t)user;
    key = key * UINT64_C(0x94d049bb133111eb) ^ (uintptr_t)partition;
    key *= UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(key ^ key >> 32) & (t->nslots - 1);
}

static size_t slot_next(const struct assoc_table *t, size_t at)
{
    return (at + 1) & (t->nslots - 1);
}

static struct assocrec *assoc_of_id(const struct core *c, uint32_t id)
{
    struct assocrec *r = assoc_in_block(c, id);
    return r ? r : map_u64_get(c->accounts.assoc, id);
}

/* The slot where that one is, or the empty one where it belongs; the table has slots. */
static size_t slot_find(const struct core *c, const char *account, const char *user,
                        const char *partition)
{
    const struct assoc_table *t = &c->accounts.assoc_of;
    size_t at = assoc_home(t, account, user, partition);
    for (; t->slot[at]; at = slot_next(t, at)) {
        const struct assocrec *r = assoc_of_id(c, t->slot[at]);
        if (r->a.account == account && r->a.user == user && r->a.partition == partition)
            break;
    }
    return at;
}

/* Of interned texts. */
static struct assocrec *assoc_in(const struct core *c, const char *account, const char *user,
                                 const char *partition)
{
    const struct assoc_table *t = &c->accounts.assoc_of;
    uint32_t id = t->nslots ? t->slot[slot_find(c, account, user, partition)] : 0;
    return id ? assoc_of_id(c, id) : NULL;
}

static size_t home_of(const struct core *c, uint32_t id)
{
    const struct assoc *a = &assoc_of_id(c, id)->a;
    return assoc_home(&c->accounts.assoc_of, a->account, a->user, a->partition);
}

struct assocrec *assoc_at(const struct core *c, const char *account, const char *user,
                          const char *partition)
{
    const char *in_account = intern_find(c->pool, account),
               *in_user = intern_find(c->pool, text_empty(user) ? NULL : user),
               *in_partition = intern_find(c->pool, text_empty(partition) ? NULL : partition);
    if (!in_account || (!in_user && !text_empty(user)) || (!in_partition && !text_empty(partition)))
        return NULL;
    return assoc_in(c, in_account, in_user, in_partition);
}

struct assocrec *assoc_ever(const struct core *c, const char *account, const char *user,
                            const char *partition)
{
    return text_empty(account) ? NULL : assoc_at(c, account, user, partition);
}

void assoc_index_reserve(struct core *c, size_t more)
{
    struct assoc_table *t = &c->accounts.assoc_of, former = *t;
    size_t wanted = t->nslots ? t->nslots : SLOTS_MIN;
    while (wanted < 2 * (t->n + more))
        wanted *= 2;
    if (wanted == t->nslots)
        return;
    t->slot = xcalloc(wanted, sizeof t->slot[0]);
    pages_take(t->slot, wanted * sizeof t->slot[0]);
    t->nslots = wanted;
    for (size_t i = 0; i < former.nslots; i++) {
        if (!former.slot[i])
            continue;
        size_t at = home_of(c, former.slot[i]);
        while (t->slot[at])
            at = slot_next(t, at);
        t->slot[at] = former.slot[i];
    }
    free(former.slot);
}

void assoc_index(struct core *c, const struct assocrec *r)
{
    ASSERT(r->a.id && assoc_of_id(c, r->a.id) == r);
    assoc_index_reserve(c, 1);
    struct assoc_table *t = &c->accounts.assoc_of;
    size_t at = slot_find(c, r->a.account, r->a.user, r->a.partition);
    t->n += !t->slot[at];
    t->slot[at] = r->a.id;
    if (r->a.id > c->accounts.last_assoc)
        c->accounts.last_assoc = r->a.id;
}

/* Those behind the hole that could not have their slot because of it move up. */
void assoc_unindex(struct core *c, const struct assocrec *r)
{
    struct assoc_table *t = &c->accounts.assoc_of;
    size_t hole = t->nslots ? slot_find(c, r->a.account, r->a.user, r->a.partition) : 0;
    if (!t->nslots || t->slot[hole] != r->a.id)
        return;
    t->slot[hole] = 0;
    t->n--;
    for (size_t at = slot_next(t, hole); t->slot[at]; at = slot_next(t, at)) {
        size_t home = home_of(c, t->slot[at]);
        if (((at - home) & (t->nslots - 1)) < ((at - hole) & (t->nslots - 1)))
            continue;
        t->slot[hole] = t->slot[at];
        t->slot[at] = 0;
        hole = at;
    }
}

void assoc_hang(const struct core *c, struct assocrec *r)
{
    ASSERT(r->a.id);
    bool is_root = !r->a.user && text_is(r->a.account, ROOT_ACCOUNT);
    r->up = is_root       ? NULL
            : r->a.user   ? assoc_in(c, r->a.account, NULL, NULL)
            : r->a.parent ? assoc_in(c, r->a.parent, NULL, NULL)
                          : NULL;
    if (!r->up && !is_root)
        r->up = assoc_at(c, ROOT_ACCOUNT, NULL, NULL);
}

/* ---- workload keys --------------------------------------------------------------------------- */

/* In names are no blanks. */
static const char *wckey_name(const char *name, const char *user, struct str *room)
{
    str_addf(room, "%s %s", name ? name : "", user ? user : "");
    return str_text(room);
}

struct wckey *wckey_ever(const struct core *c, const char *name, const char *user)
{
    struct str room = STR_INIT;
    struct wckey *k = map_str_count(c->accounts.wckey_of)
                          ? map_str_get(c->accounts.wckey_of, wckey_name(name, user, &room))
                          : NULL;
    str_done(&room);
    return k;
}

void wckey_index(struct core *c, struct wckey *k)
{
    struct str room = STR_INIT;
    const char *name = wckey_name(k->name, k->user, &room);
    const struct wckey *had = map_str_get(c->accounts.wckey_of, name);
    if (!had || had->deleted || !k->deleted) /* of a deleted one a name may be another's by now */
        map_str_put(c->accounts.wckey_of, name, k);
    str_done(&room);
}

void wckey_unindex(struct core *c, const struct wckey *k)
{
    struct str room = STR_INIT;
    const char *key = wckey_name(k->name, k->user, &room);
    if (map_str_get(c->accounts.wckey_of, key) == k)
        map_str_del(c->accounts.wckey_of, key);
    str_done(&room);
}
