#include "cli/lsf/changed.h"

#include "base/list.h"

#include <string.h>

static size_t size_of(const struct field *f)
{
    switch (f->type) {
    case FIELD_BOOL: return sizeof(bool);
    case FIELD_I32:
    case FIELD_U32:
    case FIELD_ENUM: return sizeof(int32_t);
    case FIELD_I64:
    case FIELD_U64:
    case FIELD_TIME:
    case FIELD_SPAN:
    case FIELD_MIB: return sizeof(int64_t);
    case FIELD_TEXT:
    case FIELD_BLOB:
    case FIELD_LIST: break;
    }
    return 0;
}

static bool is_equal(const struct field *f, const struct job_spec *a, const struct job_spec *b)
{
    const char *x = (const char *)a + f->offset, *y = (const char *)b + f->offset;
    if (f->type == FIELD_TEXT)
        return text_is(*(const char *const *)x, *(const char *const *)y);
    return memcmp(x, y, size_of(f)) == 0;
}

const char *changed_fields(const struct job_spec *before, const struct job_spec *after,
                           const char *also, struct arena *a)
{
    struct str list = STR_INIT;
    str_add(&list, also);
    for (size_t i = 0; i < job_spec_fields.n; i++)
        if (!is_equal(&job_spec_fields.field[i], before, after) &&
            !list_has(also, job_spec_fields.field[i].name))
            list_addf(&list, "%s", job_spec_fields.field[i].name);
    const char *kept = arena_strdup(a, str_text(&list));
    str_done(&list);
    return kept;
}
