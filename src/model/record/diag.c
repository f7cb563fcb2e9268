#include "model/record/diag.h"

#include "base/alloc.h"

#define ROW(type, name, aux, doc) FIELD_ROW_AT(struct diag, , type, name, aux, doc)
static const struct field rows[] = {DIAG_FIELDS(ROW)};
const struct fields diag_fields = {"diag", sizeof(struct diag), rows, ARRAY_LEN(rows)};
