/* What a start takes in at once (store.h, model/packed.h). Made from the rows themselves, in one
 * transaction with them; a row that a start would leave out makes there be none. */
#include "base/alloc.h"
#include "model/packed.h"
#include "store/packed_tables.h"
#include "store/store_ops.h"

#define ROWS_MIN 2000u /* fewer are read as fast one by one */

const enum store_table packed_tables[PACKED_TABLES] = {TABLE_ACCOUNT, TABLE_ACCOUNT_USER,
                                                       TABLE_ASSOC, TABLE_LIMIT, TABLE_WCKEY};

struct rows_packing {
    struct packer *packer;
    enum store_table table;
    size_t n;
    bool sound;
};

/* The key of a limit is made from its other fields, and would be a text of its own in each. */
static void row_pack(void *ctx, const void *record)
{
    struct rows_packing *p = ctx;
    struct limit limit;
    p->sound = p->sound && record_check(store_table_rows[p->table].fields, record, NULL) &&
               store_row_whole(p->table, record, NULL);
    if (!p->sound)
        return;
    if (p->table == TABLE_LIMIT) {
        limit = *(const struct limit *)record;
        limit.id = NULL;
        record = &limit;
    }
    packer_add(p->packer, p->table, record);
    p->n++;
}

static void is_there(void *ctx, const void *bytes, size_t len)
{
    *(bool *)ctx = bytes && len;
}

bool packed_rows_make(struct store *s, size_t least, struct str *out, struct err *ret_err)
{
    struct rows_packing p = {.packer = packer_new(), .sound = true};
    bool ok = true;
    for (size_t i = 0; ok && i < PACKED_TABLES; i++) {
        p.table = packed_tables[i];
        ok = store_load(s, p.table, false, 0, row_pack, &p, ret_err);
    }
    if (ok && p.sound && p.n >= least)
        packer_end(p.packer, out);
    packer_free(p.packer);
    return ok;
}

bool store_pack(struct store *s, struct err *ret_err)
{
    bool there = false;
    if (!s->ops->packed_put)
        return true;
    if (!s->ops->packed_get(s, is_there, &there, ret_err) || there)
        return there;
    struct str bytes = STR_INIT;
    if (!s->ops->hold(s, true, ret_err))
        return false;
    bool ok = packed_rows_make(s, ROWS_MIN, &bytes, ret_err) &&
              (!bytes.len || s->ops->packed_put(s, &bytes, ret_err));
    str_done(&bytes);
    return s->ops->hold(s, false, ok ? ret_err : NULL) && ok;
}

struct opening {
    store_packed_fn fn;
    void *ctx;
    bool taken;
};

static void bytes_open(void *ctx, const void *bytes, size_t len)
{
    struct opening *o = ctx;
    struct arena *a = arena_new();
    struct packed p;
    if (packed_open(bytes, len, a, &p, NULL)) {
        o->fn(o->ctx, &p);
        o->taken = true;
    }
    arena_free(a);
}

bool store_load_packed(struct store *s, store_packed_fn fn, void *ctx, bool *ret_taken,
                       struct err *ret_err)
{
    ASSERT(fn);
    struct opening o = {.fn = fn, .ctx = ctx};
    bool ok = !s->ops->packed_get || s->ops->packed_get(s, bytes_open, &o, ret_err);
    *ret_taken = o.taken;
    return ok;
}

bool store_is_packed(enum store_table table)
{
    ASSERT(table < STORE_TABLE_COUNT);
    for (size_t i = 0; i < PACKED_TABLES; i++)
        if (packed_tables[i] == table)
            return true;
    return false;
}
