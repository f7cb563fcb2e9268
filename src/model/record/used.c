#include "model/record/used.h"

#include "base/alloc.h"

#define STRUCTURE                 struct used
#define ROW(type, name, aux, doc) FIELD_ROW_AT(STRUCTURE, , type, name, aux, doc)
static const struct field used_rows[] = {USED_BY_FIELDS(ROW) USED_FIELDS(ROW)};
const struct fields used_fields = {"used", sizeof(struct used), used_rows, ARRAY_LEN(used_rows)};
#undef STRUCTURE
#define STRUCTURE struct node_spell
static const struct field node_spell_rows[] = {NODE_SPELL_FIELDS(ROW)};
const struct fields node_spell_fields = {"node_spell", sizeof(struct node_spell), node_spell_rows,
                                         ARRAY_LEN(node_spell_rows)};
