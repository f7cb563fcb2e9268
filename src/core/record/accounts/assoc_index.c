#include "core/record/accounts/assoc_index.h"

#include "core/record/record.h"

/* Texts of the book are interned: equal ones have one address, and the key of an association is
 * its three addresses. In the index they are mixed to a number; who has the same is a chain. */
static uint64_t assoc_key(const char *account, const char *user, const char *partition)
{
    uint64_t key = (uintptr_t)account;
    key = key * UINT64_C(0xbf58476d1ce4e5b9) ^ (uintptr_t)user;
    key = key * UINT64_C(0x94d049bb133111eb) ^ (uintptr_t)partition;
    return key ^ key >> 29;
}

/* Of interned texts. */
static struct assocrec *assoc_in(const struct core *c, const char *account, const char *user,
                                 const char *partition)
{
    struct assocrec *r = map_u64_get(c->accounts.assoc_of, assoc_key(account, user, partition));
    while (r && (r->a.account != account || r->a.user != user || r->a.partition != partition))
        r = r->same;
    return r;
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

void assoc_index(struct core *c, struct assocrec *r)
{
    ASSERT(r->a.id);
    uint64_t key = assoc_key(r->a.account, r->a.user, r->a.partition);
    void **first = map_u64_slot(c->accounts.assoc_of, key);
    r->same = *first;
    *first = r;
    if (r->a.id > c->accounts.last_assoc)
        c->accounts.last_assoc = r->a.id;
}

void assoc_unindex(struct core *c, const struct assocrec *r)
{
    struct map_u64 *of = c->accounts.assoc_of;
    uint64_t key = assoc_key(r->a.account, r->a.user, r->a.partition);
    struct assocrec *first = map_u64_get(of, key);
    for (struct assocrec *other = first; other; other = other->same)
        if (other->same == r)
            other->same = r->same;
    if (first == r && r->same)
        map_u64_put(of, key, r->same);
    else if (first == r)
        map_u64_del(of, key);
}

void assoc_hang(const struct core *c, struct assocrec *r)
{
    ASSERT(r->a.id);
    r->up = r->a.user     ? assoc_in(c, r->a.account, NULL, NULL)
            : r->a.parent ? assoc_in(c, r->a.parent, NULL, NULL)
                          : NULL;
}
