/* Texts live once in the pool: a record takes a share of each of its texts and gives it back when
 * it changes or goes. */
#include "core/record/record.h"

#include <string.h>

void text_set(struct core *c, const char **to, const char *text)
{
    const char *former = *to;
    *to = intern_take(c->pool, text_empty(text) ? NULL : text);
    intern_drop(c->pool, former);
}

void record_intern(struct core *c, const struct fields *t, void *to, const void *from)
{
    memmove(to, from, t->size);
    for (size_t i = 0; i < t->n; i++)
        if (t->field[i].type == FIELD_TEXT) {
            const char **text = field_ptr(&t->field[i], to);
            *text = intern_take(c->pool, text_empty(*text) ? NULL : *text);
        }
}

void record_drop(struct core *c, const struct fields *t, void *record)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->field[i].type == FIELD_TEXT) {
            const char **text = field_ptr(&t->field[i], record);
            intern_drop(c->pool, *text);
            *text = NULL;
        }
}

void field_copy(const struct field *f, void *to, const void *from)
{
    size_t size = 0;
    switch (f->type) {
    case FIELD_BOOL: size = sizeof(bool); break;
    case FIELD_I32:
    case FIELD_U32:
    case FIELD_ENUM: size = sizeof(int32_t); break;
    case FIELD_I64:
    case FIELD_U64:
    case FIELD_TIME:
    case FIELD_SPAN:
    case FIELD_MIB: size = sizeof(int64_t); break;
    case FIELD_TEXT: size = sizeof(const char *); break;
    case FIELD_BLOB: size = sizeof(struct blob); break;
    case FIELD_LIST: size = sizeof(struct record_list); break;
    }
    memcpy(field_ptr(f, to), field_ptr(f, from), size);
}
