#include "model/stored.h"

#include "base/alloc.h"
#include "base/list.h"
#include "model/limits.h"

/* A record and its table from its X-macro. */
#define TABLE(tag, structure, macro)                                                               \
    static const struct field tag##_rows[] = {macro(ROW)};                                         \
    const struct fields tag##_fields = {#tag, sizeof(structure), tag##_rows, ARRAY_LEN(tag##_rows)};

#define ROW(type, name, aux, doc) FIELD_ROW_AT(STRUCTURE, , type, name, aux, doc)
#define STRUCTURE                 struct payload
TABLE(payload, struct payload, PAYLOAD_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct answered
TABLE(answered, struct answered, ANSWERED_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct crontab
TABLE(crontab, struct crontab, CRONTAB_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct meta
TABLE(meta, struct meta, META_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct left_out
TABLE(left_out, struct left_out, LEFT_OUT_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct queued_step
#define QUEUED_REQ_ROW(type, name, aux, doc)                                                       \
    FIELD_ROW_AT(STRUCTURE, spec.req., type, name, aux, doc)
#define QUEUED_SPEC_ROW(type, name, aux, doc) FIELD_ROW_AT(STRUCTURE, spec., type, name, aux, doc)
static const struct field queued_step_rows[] = {
    JOB_REQUEST_FIELDS(QUEUED_REQ_ROW) JOB_SPEC_FIELDS(QUEUED_SPEC_ROW) QUEUED_STEP_FIELDS(ROW)};
const struct fields queued_step_fields = {"queued_step", sizeof(struct queued_step),
                                          queued_step_rows, ARRAY_LEN(queued_step_rows)};
#undef STRUCTURE

const struct store_table_row store_table_rows[STORE_TABLE_COUNT] = {
#define X(table, name, fields, key, doc) [TABLE_##table] = {name, &fields, key, doc},
    STORE_TABLES(X)
#undef X
};

static const struct needed {
    enum store_table table;
    const char *fields;
    uint32_t most; /* of numbers */
} needed[] = {
    {TABLE_NODE, "name", 0},
    {TABLE_PARTITION, "name", 0},
    {TABLE_RESERVATION, "name", 0},
    {TABLE_TOKEN, "id", 0},
    {TABLE_HOST, "id", 0},
    {TABLE_ACCOUNT, "name", 0},
    {TABLE_ACCOUNT_USER, "name", 0},
    {TABLE_ASSOC, "id,account", LIMIT_BOOK_ID},
    {TABLE_QOS, "id,name", LIMIT_BOOK_ID},
    {TABLE_WCKEY, "id,name,user", LIMIT_BOOK_ID},
    {TABLE_TRES, "id,type", LIMIT_BOOK_ID},
    {TABLE_TRIGGER, "id,events,program", LIMIT_TRIGGER_ID},
};

static bool is_said(const struct needed *n, const struct field *f, const void *record,
                    struct err *ret_err)
{
    const void *p = field_ptr(f, record);
    bool text = f->type == FIELD_TEXT;
    if (text ? text_empty(*(const char *const *)p) : *(const uint32_t *)p == 0)
        return err_set(ret_err, ERR_INVALID, "it has no %s", f->name);
    return text || *(const uint32_t *)p <= n->most ||
           err_set(ret_err, ERR_INVALID, "no %s's number comes so far as %u",
                   store_table_rows[n->table].name, *(const uint32_t *)p);
}

bool store_row_whole(enum store_table table, const void *record, struct err *ret_err)
{
    ASSERT(table < STORE_TABLE_COUNT && record);
    const struct fields *t = store_table_rows[table].fields;
    for (size_t i = 0; i < ARRAY_LEN(needed); i++)
        for (size_t k = 0; needed[i].table == table && k < t->n; k++)
            if (list_has(needed[i].fields, t->field[k].name) &&
                !is_said(&needed[i], &t->field[k], record, ret_err))
                return false;
    return true;
}
