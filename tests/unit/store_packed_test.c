/* Many rows taken in at once: the same records as one by one, never those of before a change, and
 * never more than the bytes that are there. */
#include "store_help.h"

#include "base/rng.h"
#include "base/str.h"
#include "model/packed.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define ACCOUNTS 30u
#define ROWS     3000u

static void rows_write(struct world *w)
{
    struct batch *b = world_batch(w);
    for (uint32_t i = 0; i < ACCOUNTS; i++) {
        struct account a = {.name = arena_printf(w->arena, "acc%u", i), .deleted = i == 3};
        batch_add(b, ROW_PUT, TABLE_ACCOUNT, &a);
    }
    for (uint32_t i = 1; i <= ROWS; i++) {
        struct assoc a = {.id = i,
                          .account = arena_printf(w->arena, "acc%u", i % ACCOUNTS),
                          .user = i > ACCOUNTS ? arena_printf(w->arena, "u%u", i) : NULL,
                          .partition = i % 500 ? NULL : "gpu",
                          .shares = i % 7 ? (int32_t)i % 5 : -1,
                          .made_us = 1700000000000000 + i,
                          .changed_us = 1700000000000000,
                          .deleted = i % 100 == 0};
        struct limit l = {.owner = OWNER_ASSOC,
                          .owner_id = i,
                          .what = i % 2 ? LIMIT_MAX_JOBS : LIMIT_GRP_TRES,
                          .tres = i % 2 ? NULL : "gres/gpu:v100",
                          .value = i % 3 ? (int64_t)i : INT64_C(1) << 40};
        l.id = limit_id(&l, w->arena);
        batch_add(b, ROW_PUT, TABLE_ASSOC, &a);
        batch_add(b, ROW_PUT, TABLE_LIMIT, &l);
    }
    struct err e = {0};
    if (!world_commit(w, b, &e))
        fail_msg("%s", e.text);
}

struct taken {
    struct world *w;
    size_t n;
};

static void table_compare(struct world *w, const struct packed *p, enum store_table table)
{
    const struct fields *t = store_table_rows[table].fields;
    struct rows rows = {.world = w, .t = t};
    const struct packed_table *of = packed_find(p, table);
    assert_true(store_load(w->store, table, false, 0, rows_add, &rows, NULL));
    if (!of) {
        assert_int_equal(rows.v.n, 0);
        return;
    }
    assert_int_equal(of->n, rows.v.n);
    char *at = xcalloc(of->n, t->size);
    uint32_t *uses = xcalloc(p->ntext, sizeof *uses);
    packed_records(p, of, at, t->size, p->text, uses);
    for (size_t i = 0; i < of->n; i++) {
        struct limit l = *(const struct limit *)rows.v.v[i];
        l.id = NULL;
        assert_true(record_equal(t, at + i * t->size,
                                 table == TABLE_LIMIT ? (const void *)&l : rows.v.v[i]));
    }
    vec_done(&rows.v);
    free(uses);
    free(at);
}

static void all_compare(void *ctx, const struct packed *p)
{
    struct taken *t = ctx;
    static const enum store_table tables[] = {TABLE_ACCOUNT, TABLE_ACCOUNT_USER, TABLE_ASSOC,
                                              TABLE_LIMIT, TABLE_WCKEY};
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        table_compare(t->w, p, tables[i]);
    t->n++;
}

static bool is_packed(struct world *w)
{
    struct taken t = {.w = w};
    bool taken = false;
    assert_true(store_load_packed(w->store, all_compare, &t, &taken, NULL));
    assert_int_equal(t.n, taken);
    return taken;
}

static void test_packed_rows_are_the_rows(void **unused)
{
    (void)unused;
    struct world w = {0};
    world_open_memory(&w);
    assert_false(is_packed(&w));
    rows_write(&w);
    assert_true(is_packed(&w)); /* the twin packs when it is asked */
    world_close(&w);
}

/* A change to one of the tables, by whomever, takes them away; a job does not. */
static void test_a_change_unpacks(void **unused)
{
    (void)unused;
    struct world w = {0};
    world_open_sqlite(&w);
    assert_true(store_pack(w.store, NULL));
    assert_false(is_packed(&w)); /* too few rows */
    rows_write(&w);
    assert_false(is_packed(&w));
    assert_true(store_pack(w.store, NULL));
    assert_true(is_packed(&w));
    world_put_job(&w, &(struct job){.id = 1, .attempt = 1});
    world_reopen(&w);
    assert_true(is_packed(&w));
    struct assoc gone = {.id = 77};
    struct batch *b = world_batch(&w);
    batch_add(b, ROW_DELETE, TABLE_ASSOC, &gone);
    assert_true(world_commit(&w, b, &(struct err){0}));
    assert_false(is_packed(&w));
    assert_true(store_pack(w.store, NULL));
    assert_true(is_packed(&w));
    static const char *const deeds[] = {
        "UPDATE assoc SET shares=9 WHERE id=5",
        "INSERT INTO account_user (name) VALUES ('eve')",
        "INSERT OR REPLACE INTO account (name) VALUES ('acc1')",
        "DELETE FROM resource_limit WHERE owner_id=9",
    };
    for (size_t i = 0; i < ARRAY_LEN(deeds); i++) {
        sqlite3 *db = NULL;
        assert_int_equal(sqlite3_open_v2(w.path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, deeds[i], NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        assert_false(is_packed(&w));
        assert_true(store_pack(w.store, NULL));
        assert_true(is_packed(&w));
    }
    world_close(&w);
}

/* A row that a start would leave out is not hidden by packing it. */
static void test_an_unsound_row_is_not_packed(void **unused)
{
    (void)unused;
    struct world w = {0};
    sqlite3 *db = NULL;
    world_open_sqlite(&w);
    rows_write(&w);
    assert_int_equal(sqlite3_open_v2(w.path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "UPDATE assoc SET shares=-9 WHERE id=5", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    assert_true(store_pack(w.store, NULL));
    assert_false(is_packed(&w));
    world_close(&w);
}

/* ---- any bytes ------------------------------------------------------------------------------ */

static void packed_try(const uint8_t *bytes, size_t len)
{
    struct arena *a = arena_new();
    struct packed p;
    if (packed_open(bytes, len, a, &p, NULL))
        for (size_t i = 0; i < p.ntable; i++) {
            const struct packed_table *t = &p.table[i];
            size_t size = store_table_rows[t->table].fields->size;
            if (t->n > 100000)
                continue; /* of a column without values there may be as many as one says */
            char *at = xcalloc(t->n + 1, size);
            uint32_t *uses = xcalloc(p.ntext + 1, sizeof *uses);
            packed_records(&p, t, at, size, p.text, uses);
            free(uses);
            free(at);
        }
    arena_free(a);
}

/* As packed.c sums them. */
static void sum_mend(uint8_t *bytes, size_t len)
{
    uint64_t sum = HASH_INIT, word;
    for (size_t i = 0; i + 8 < len; i += 8) {
        memcpy(&word, bytes + i, 8);
        sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    memcpy(bytes + len - 8, &sum, 8);
}

static void test_any_bytes_will_do(void **unused)
{
    (void)unused;
    struct packer *packer = packer_new();
    struct str out = STR_INIT;
    struct rng r = {24100001};
    for (uint32_t i = 1; i < 40; i++) {
        struct assoc a = {.id = i, .account = i % 2 ? "a" : "b", .user = i % 3 ? "u" : NULL};
        packer_add(packer, TABLE_ASSOC, &a);
    }
    packer_add(packer, TABLE_LIMIT, &(struct limit){.owner_id = 4, .value = -5});
    packer_end(packer, &out);
    packer_free(packer);
    uint8_t *bytes = xmalloc(out.len);
    for (int i = 0; i < 20000; i++) {
        size_t len = rng_chance(&r, 100) ? rng_below(&r, out.len + 1) : out.len;
        memcpy(bytes, out.data, out.len);
        for (uint64_t k = rng_below(&r, 4); k > 0; k--)
            bytes[rng_below(&r, out.len)] = (uint8_t)(rng_chance(&r, 300) ? 0xff : rng_next(&r));
        if (len >= 8 && len % 8 == 0 && !rng_chance(&r, 50))
            sum_mend(bytes, len);
        uint8_t *exact = xmalloc(len ? len : 1); /* so that a byte beyond is seen */
        memcpy(exact, bytes, len);
        packed_try(exact, len);
        free(exact);
    }
    free(bytes);
    str_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packed_rows_are_the_rows),
        cmocka_unit_test(test_a_change_unpacks),
        cmocka_unit_test(test_an_unsound_row_is_not_packed),
        cmocka_unit_test(test_any_bytes_will_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
