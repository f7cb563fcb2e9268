#include "model/stored.h"

#include "base/alloc.h"

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
