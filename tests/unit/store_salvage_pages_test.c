/* Each page of a store in turn is lost or spoilt, in a store that has rows in every table: what is
 * got out lacks no more than the rows that stood on that page, and none is as it never was. */
#include "share.h"
#include "store_salvage_help.h"

#include "store/store_ops.h"

#define ROWS     120u
#define EPOCH_US 1700000000000000

/* ---- rows of every table ---- */

static bool is_key(const struct field *const *key, size_t nkey, const struct field *f, size_t *at)
{
    for (*at = 0; *at < nkey; ++*at)
        if (key[*at] == f)
            return true;
    return false;
}

static int64_t number_in(const struct field *f, int64_t n)
{
    const struct int_range *r = field_range(f);
    int64_t least = r && r->min > 0 ? r->min : 0;
    return r && (uint64_t)(least + n) > r->max ? least : least + n;
}

static void number_set(const struct field *f, void *to, int64_t n)
{
    if (f->type == FIELD_I32 || f->type == FIELD_U32)
        *(int32_t *)to = (int32_t)number_in(f, n);
    else
        *(int64_t *)to = f->type == FIELD_TIME ? EPOCH_US + n : number_in(f, n);
}

static void enum_set(const struct field *f, void *to, uint32_t i)
{
    const struct enum_names *names = f->aux;
    int32_t value = (int32_t)(i % names->n), back;
    bool own = names->name[value] && enum_value(names, names->name[value], &back) && back == value;
    *(int32_t *)to = own ? value : 0;
}

static void blob_set(void *to, uint32_t i, struct arena *a)
{
    size_t len = i % 7 ? 20 : 6000;
    char *data = arena_alloc(a, len);
    memset(data, 'a' + (int)(i % 26), len);
    *(struct blob *)to = (struct blob){data, len};
}

/* Other fields than those of its key: every third is given. */
static void field_set(const struct field *f, void *to, uint32_t i, struct arena *a)
{
    switch (f->type) {
    case FIELD_TEXT: *(const char **)to = arena_printf(a, "%s of %u", f->name, i); break;
    case FIELD_ENUM: enum_set(f, to, i); break;
    case FIELD_BOOL: *(bool *)to = i & 1; break;
    case FIELD_BLOB: blob_set(to, i, a); break;
    case FIELD_LIST: break;
    case FIELD_I32:
    case FIELD_U32:
    case FIELD_I64:
    case FIELD_U64:
    case FIELD_TIME:
    case FIELD_SPAN:
    case FIELD_MIB: number_set(f, to, i); break;
    }
}

static void *row_make(enum store_table table, uint32_t i, struct arena *a)
{
    const struct fields *t = store_table_rows[table].fields;
    const struct field *key[KEY_FIELDS_MAX];
    size_t nkey = table_key(table, key), at;
    char *record = arena_alloc(a, t->size);
    if (table == TABLE_JOB) {
        *(struct job *)record = job_of(i, true, a);
        return record;
    }
    for (size_t k = 0; k < t->n; k++) {
        const struct field *f = &t->field[k];
        void *to = field_ptr(f, record);
        if (is_key(key, nkey, f, &at) && f->type == FIELD_TEXT)
            *(const char **)to = arena_printf(a, "key-%05u", i);
        else if (is_key(key, nkey, f, &at))
            number_set(f, to, at == 0 || f->type == FIELD_TIME ? i : 1);
        else if ((k + i) % 3 == 0 || text_is(f->name, "state"))
            field_set(f, to, i, a);
    }
    return record;
}

static void rows_make(const char *path)
{
    struct store *s = store_open_sqlite(path, false, NULL);
    struct err e = {0};
    uint64_t epoch, seq;
    assert_true(store_take_epoch(s, &epoch, &seq, NULL));
    for (size_t t = 0; t < STORE_TABLE_COUNT; t++) {
        struct arena *a = arena_new();
        struct batch *b = batch_new();
        for (uint32_t i = 1; i <= ROWS; i++)
            batch_add(b, ROW_PUT, (enum store_table)t, row_make((enum store_table)t, i, a));
        b->seq = ++seq;
        b->epoch = epoch;
        if (!store_commit(s, b, &e))
            fail_msg("%s", e.text);
        batch_free(b);
        arena_free(a);
    }
    store_close(s);
}

/* ---- looking ---- */

struct pages_look {
    enum store_table table;
    struct arena *a;
    const char *harm;
    bool exact;
    unsigned rows;
};

static uint32_t number_of(enum store_table table, const void *record)
{
    const struct field *key[KEY_FIELDS_MAX];
    uint64_t n = 0;
    table_key(table, key);
    const void *at = field_ptr(key[0], record);
    if (key[0]->type == FIELD_TEXT) {
        const char *text = *(const char *const *)at;
        return text && strncmp(text, "key-", 4) == 0 && text_to_u64(text + 4, ROWS, &n)
                   ? (uint32_t)n
                   : 0;
    }
    if (key[0]->type == FIELD_U32)
        return *(const uint32_t *)at;
    return (uint32_t)(*(const int64_t *)at - (key[0]->type == FIELD_TIME ? EPOCH_US : 0));
}

static void row_look(void *ctx, const void *record)
{
    struct pages_look *l = ctx;
    const struct store_table_row *row = &store_table_rows[l->table];
    uint32_t i = number_of(l->table, record);
    if (i == 0 && l->table == TABLE_META) /* the store's own facts */
        return;
    l->rows++;
    if (l->exact &&
        (i == 0 || i > ROWS || !record_equal(row->fields, record, row_make(l->table, i, l->a))))
        fail_msg("%s: a row of %s is as it never was", l->harm, row->name);
}

/* Rows that are not there any more; the words say of which tables. */
static unsigned rows_gone(const char *path, const char *harm, bool exact, struct str *words)
{
    unsigned gone = 0;
    struct err e = {0};
    struct store *s = store_open_sqlite(path, true, &e);
    if (!s)
        fail_msg("%s", e.text);
    for (size_t t = 0; t < STORE_TABLE_COUNT; t++) {
        struct pages_look l = {.table = (enum store_table)t, .harm = harm, .exact = exact};
        l.a = arena_new();
        if (!store_load(s, l.table, false, 0, row_look, &l, &e))
            fail_msg("%s", e.text);
        arena_free(l.a);
        if (l.rows < ROWS)
            str_addf(words, " %u of %s", ROWS - l.rows, store_table_rows[t].name);
        gone += l.rows < ROWS ? ROWS - l.rows : 0;
    }
    store_close(s);
    return gone;
}

/* ---- harm ---- */

/* What stood on each page that has rows. */
static unsigned cells_of(const char *path, uint32_t number)
{
    struct pages *p = pages_open(path, false, NULL);
    uint8_t *data = xmalloc(PAGE_SIZE_MAX);
    struct tree_page page = {0};
    bool rows = page_read(p, number, data) && tree_page_parse(p, number, data, &page) &&
                page.kind != PAGE_TABLE_INNER;
    free(data);
    pages_close(p);
    return rows ? page.cells : 1; /* else perhaps the end of one that is long */
}

static const struct {
    const char *name;
    size_t at, len; /* at: PAGE = anywhere */
    bool noise, exact;
} kinds[] = {
    {"is zero", 0, PAGE, false, true},
    {"is noise", 0, PAGE, true, false},
    {"has noise at its beginning", 0, 64, true, false},
    {"has noise somewhere", PAGE, 64, true, false},
    {"has a byte of noise somewhere", PAGE, 1, true, false},
};

static bool sound(enum store_table table, const void *record, struct err *ret_err)
{
    return record_check(store_table_rows[table].fields, record, ret_err);
}

static unsigned page_try(const char *good, uint32_t number, size_t kind, struct rng *r)
{
    char *path = in_dir("harmed"), *to = in_dir("new");
    struct salvage s = {.sound = sound};
    struct str words = STR_INIT;
    struct err e = {0};
    size_t at = kinds[kind].at < PAGE ? 0 : (size_t)rng_below(r, PAGE - kinds[kind].len);
    char *harm = xasprintf("page %u %s", number, kinds[kind].name);
    unlink(to);
    copy(good, path);
    bytes_set(path, (off_t)(number - 1) * PAGE + (off_t)at, kinds[kind].len,
              kinds[kind].noise ? r : NULL);
    if (!store_salvage(path, to, &s, &e))
        fail_msg("%s: %s", harm, e.text);
    unsigned gone = rows_gone(to, harm, kinds[kind].exact, &words), had = cells_of(good, number);
    bool bad = gone > had;
    if (bad)
        print_message("%s, which had %u rows:%s\n", harm, had, str_text(&words));
    idset_done(&s.jobs_lost_ids);
    str_done(&words);
    free(harm);
    free(path);
    free(to);
    return bad;
}

static void test_a_page_costs_what_stood_on_it(void **state)
{
    struct rng r = {20261128};
    char *good = in_dir("good");
    unsigned bad = 0;
    (void)state;
    rows_make(good);
    uint32_t pages = (uint32_t)(size_of(good) / PAGE);
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        for (uint32_t n = 1; n <= pages; n++)
            if (share_times() > 1 || n <= 4 || rng_below(&r, 40) == 0)
                bad += page_try(good, n, k, &r);
    assert_int_equal(bad, 0);
    free(good);
}

static int setup(void **state)
{
    (void)state;
    /* Thousands of stores are made: where there is no disk, if there is such a place. */
    snprintf(dir, sizeof dir, "%s/store-pages-test-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(dir));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return scratch_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_page_costs_what_stood_on_it, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
