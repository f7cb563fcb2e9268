#include "base/alloc.h"
#include "store/store_ops.h"

#include <stdlib.h>

struct batch *batch_new(void)
{
    struct batch *b = xcalloc(1, sizeof *b);
    b->arena = arena_new();
    return b;
}

void batch_free(struct batch *b)
{
    if (!b)
        return;
    arena_free(b->arena);
    free(b->row);
    free(b);
}

/* A key is never "not given". */
static void check_key(enum store_table table, const void *record)
{
    const struct field *key[KEY_FIELDS_MAX];
    size_t n = table_key(table, key);
    for (size_t i = 0; i < n; i++)
        CHECK(key[i]->type != FIELD_TEXT || *(const char *const *)field_ptr(key[i], record));
}

void batch_add(struct batch *b, enum row_op op, enum store_table table, const void *record)
{
    ASSERT(table < STORE_TABLE_COUNT && (op == ROW_PUT || op == ROW_ADD || op == ROW_DELETE));
    const struct fields *t = store_table_rows[table].fields;
    check_key(table, record);
    void *copy = arena_alloc(b->arena, t->size);
    record_copy(t, copy, record, b->arena);
    if (b->n == b->cap) {
        b->cap = b->cap ? 2 * b->cap : 16;
        b->row = xrealloc(b->row, b->cap * sizeof b->row[0]);
    }
    b->row[b->n++] = (struct row){.op = op, .table = table, .record = copy};
}

bool batch_may_follow(const struct batch *b, uint64_t epoch, uint64_t seq, struct err *ret_err)
{
    ASSERT(b->n <= b->cap);
    if (epoch > b->epoch)
        return err_set(ret_err, ERR_DENIED,
                       "another controller has taken over the store (its epoch %llu, ours %llu)",
                       (unsigned long long)epoch, (unsigned long long)b->epoch);
    if (b->seq != seq + b->gap + 1)
        return err_set(ret_err, ERR_INVALID, "batch %llu cannot follow batch %llu",
                       (unsigned long long)b->seq, (unsigned long long)seq);
    return true;
}
