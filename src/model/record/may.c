#include "model/record/may.h"

#include "base/alloc.h"

#define TABLE(tag, structure, macro)                                                               \
    static const struct field tag##_rows[] = {macro(ROW)};                                         \
    const struct fields tag##_fields = {#tag, sizeof(structure), tag##_rows, ARRAY_LEN(tag##_rows)};
#define ROW(type, name, aux, doc) FIELD_ROW_AT(STRUCTURE, , type, name, aux, doc)

#define STRUCTURE struct may_limit
TABLE(may_limit, struct may_limit, MAY_LIMIT_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct may_gpu
TABLE(may_gpu, struct may_gpu, MAY_GPU_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct may_choice
TABLE(may_choice, struct may_choice, MAY_CHOICE_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct may_partition
TABLE(may_partition, struct may_partition, MAY_PARTITION_FIELDS)
#undef STRUCTURE
