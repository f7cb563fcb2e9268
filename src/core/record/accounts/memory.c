#include "core/record/accounts/memory.h"

#include <stdlib.h>
#include <string.h>

void *account_block_new(struct core *c, enum account_block_of of, size_t n, size_t size)
{
    struct account_block *b = &c->accounts.block[of];
    CHECK(!b->at);
    b->bytes = n * size;
    b->at = xcalloc(n, size);
    pages_take(b->at, b->bytes);
    return b->at;
}

static bool is_in(const struct account_block *b, const void *p)
{
    return (uintptr_t)p >= (uintptr_t)b->at && (uintptr_t)p < (uintptr_t)b->at + b->bytes;
}

void account_memory_free(struct core *c, void *p)
{
    for (size_t i = 0; i < ACCOUNT_BLOCKS; i++)
        if (is_in(&c->accounts.block[i], p))
            return;
    free(p);
}

bool limit_list_is_own(const struct core *c, const limit_list *list)
{
    return !list->v || !is_in(&c->accounts.block[BLOCK_LIMIT], list->v);
}

void limit_list_own(struct core *c, limit_list *list)
{
    if (limit_list_is_own(c, list))
        return;
    limit_list own = {0};
    vec_reserve(&own, list->n + 1);
    memcpy(own.v, list->v, list->n * sizeof own.v[0]);
    own.n = list->n;
    *list = own;
}

/* Numbers of associations have few gaps: the place is guessed. */
struct assocrec *assoc_in_block(const struct core *c, uint32_t id)
{
    const struct account_block *b = &c->accounts.block[BLOCK_ASSOC];
    struct assocrec *r = b->at;
    size_t n = b->bytes / sizeof *r;
    uint32_t at = n ? id - r[0].a.id : 0;
    return at < n && r[at].a.id == id ? &r[at] : NULL;
}

void accounts_blocks_free(struct core *c)
{
    for (size_t i = 0; i < ACCOUNT_BLOCKS; i++)
        free(c->accounts.block[i].at);
}
