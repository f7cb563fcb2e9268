/* A listing asks the controller for no more than its columns say that they read: what a cell reads
 * beyond that is empty in a real one, and full in every test that has whole records. Each cell must
 * say the same of a whole record and of one that has only these fields. */
#include "unit.h"

#include "base/alloc.h"
#include "cli/record/columns_job.h"
#include "wire_random.h"

#include <string.h>

#define RECORDS 300u

static size_t size_of(enum field_type type)
{
    switch (type) {
    case FIELD_BOOL: return sizeof(bool);
    case FIELD_I32: return sizeof(int32_t);
    case FIELD_ENUM: return sizeof(int32_t);
    case FIELD_U32: return sizeof(uint32_t);
    case FIELD_I64:
    case FIELD_TIME:
    case FIELD_SPAN:
    case FIELD_MIB: return sizeof(int64_t);
    case FIELD_U64: return sizeof(uint64_t);
    case FIELD_TEXT: return sizeof(const char *);
    case FIELD_BLOB: return sizeof(struct blob);
    case FIELD_LIST: return sizeof(struct record_list);
    }
    return 0;
}

static void every_cell_reads_what_it_asks_for(const struct column_table *t, const struct fields *f)
{
    struct arena *a = arena_new();
    struct rng r = {20261128};
    size_t wrong = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct column *c = &t->column[i];
        bool told = false;
        for (size_t k = 0; k < RECORDS && !told; k++) {
            struct str whole = STR_INIT, part = STR_INIT;
            struct cell_env env = {.now_us = INT64_C(1700000000) * 1000000, .cluster = "c"};
            void *all = arena_alloc(a, f->size), *few = arena_alloc(a, f->size);
            memset(all, 0, f->size);
            memset(few, 0, f->size);
            record_random(f, all, &r, k % 2 ? 300 : 900, a);
            struct span rest = span_of(c->fields), name;
            while (span_next(&rest, ',', &name)) {
                ptrdiff_t at = fields_find(f, arena_strndup(a, name.data, name.len));
                if (at < 0)
                    fail_msg("%s reads %.*s, which there is not", c->name, (int)name.len,
                             name.data);
                memcpy((char *)few + f->field[at].offset, (char *)all + f->field[at].offset,
                       size_of(f->field[at].type));
            }
            c->print(&env, all, &whole);
            c->print(&env, few, &part);
            told = !text_is(str_text(&whole), str_text(&part));
            if (told)
                print_error("%s of a whole %s is \"%s\", of [%s] alone \"%s\"\n", c->name,
                            t->record, str_text(&whole), c->fields, str_text(&part));
            str_done(&whole);
            str_done(&part);
        }
        wrong += told;
    }
    arena_free(a);
    assert_int_equal(wrong, 0);
}

static void columns_of_jobs(void **state)
{
    every_cell_reads_what_it_asks_for(&job_columns, &job_fields);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_of_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
