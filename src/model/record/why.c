#include "model/record/why.h"

#include "base/alloc.h"

static const char *const blocker_kinds[] = {
    [BLOCKER_NEEDS] = "needs",       [BLOCKER_BUSY] = "busy",   [BLOCKER_OUT] = "out",
    [BLOCKER_AWAY] = "away",         [BLOCKER_KEPT] = "kept",   [BLOCKER_EXCLUDED] = "excluded",
    [BLOCKER_RESERVED] = "reserved", [BLOCKER_NEVER] = "never", [BLOCKER_LICENCE] = "licence",
    [BLOCKER_LIMIT] = "limit",
};
const struct enum_names blocker_kind_names = {blocker_kinds, ARRAY_LEN(blocker_kinds)};

static const char *const surenesses[] = {[SURE_NONE] = "none",
                                         [SURE_PROMISE] = "promise",
                                         [SURE_FORECAST] = "forecast",
                                         [SURE_ROUGH] = "rough"};
const struct enum_names sureness_names = {surenesses, ARRAY_LEN(surenesses)};

#define TABLE(tag, structure, macro)                                                               \
    static const struct field tag##_rows[] = {macro(ROW)};                                         \
    const struct fields tag##_fields = {#tag, sizeof(structure), tag##_rows, ARRAY_LEN(tag##_rows)};
#define ROW(type, name, aux, doc) FIELD_ROW_AT(STRUCTURE, , type, name, aux, doc)

#define STRUCTURE struct blocker
TABLE(blocker, struct blocker, BLOCKER_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct why_advice
TABLE(why_advice, struct why_advice, ADVICE_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct why
TABLE(why, struct why, WHY_FIELDS)
#undef STRUCTURE
