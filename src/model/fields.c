#include "model/fields.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "base/str.h"

#include <string.h>

ptrdiff_t fields_find(const struct fields *t, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < t->n; i++)
        if (t->field[i].name[0] == name[0] && strncmp(t->field[i].name, name, len + 1) == 0)
            return (ptrdiff_t)i;
    return -1;
}

const char *enum_name(const struct enum_names *names, int32_t value)
{
    bool named = value >= 0 && (size_t)value < names->n && names->name[value];
    return named ? names->name[value] : "?";
}

bool enum_value(const struct enum_names *names, const char *name, int32_t *ret)
{
    for (size_t i = 0; i < names->n; i++)
        if (names->name[i] && text_is_nocase(names->name[i], name)) {
            *ret = (int32_t)i;
            return true;
        }
    return false;
}

static size_t type_size(enum field_type type)
{
    switch (type) {
    case FIELD_BOOL: return sizeof(bool);
    case FIELD_I32:
    case FIELD_U32:
    case FIELD_ENUM: return sizeof(int32_t);
    case FIELD_I64:
    case FIELD_U64:
    case FIELD_TIME:
    case FIELD_SPAN:
    case FIELD_MIB: return sizeof(int64_t);
    case FIELD_TEXT: return sizeof(const char *);
    case FIELD_BLOB: return sizeof(struct blob);
    case FIELD_LIST: return sizeof(struct record_list);
    }
    return 0;
}

static void list_copy(const struct fields *t, struct record_list *to,
                      const struct record_list *from, struct arena *a)
{
    to->n = from->n;
    to->v = from->n ? arena_alloc(a, from->n * t->size) : NULL;
    for (size_t i = 0; i < from->n; i++)
        record_copy(t, (char *)to->v + i * t->size, (const char *)from->v + i * t->size, a);
}

void record_copy(const struct fields *t, void *to, const void *from, struct arena *a)
{
    memcpy(to, from, t->size);
    for (size_t i = 0; i < t->n; i++) {
        const struct field *f = &t->field[i];
        void *at = field_ptr(f, to);
        if (f->type == FIELD_TEXT) {
            const char **text = at;
            *text = arena_strdup(a, *text);
        } else if (f->type == FIELD_BLOB) {
            struct blob *blob = at;
            blob->data = blob->len ? arena_dup(a, blob->data, blob->len) : NULL;
        } else if (f->type == FIELD_LIST) {
            list_copy(f->aux, at, field_ptr(f, from), a);
        }
    }
}

static bool list_equal(const struct fields *t, const struct record_list *a,
                       const struct record_list *b)
{
    bool equal = a->n == b->n;
    for (size_t i = 0; equal && i < a->n; i++)
        equal = record_equal(t, (const char *)a->v + i * t->size, (const char *)b->v + i * t->size);
    return equal;
}

static bool field_equal(const struct field *f, const void *a, const void *b)
{
    const void *pa = field_ptr(f, a), *pb = field_ptr(f, b);
    if (f->type == FIELD_TEXT)
        return text_is(*(const char *const *)pa, *(const char *const *)pb);
    if (f->type == FIELD_BLOB) {
        const struct blob *ba = pa, *bb = pb;
        return ba->len == bb->len && (ba->len == 0 || memcmp(ba->data, bb->data, ba->len) == 0);
    }
    if (f->type == FIELD_LIST)
        return list_equal(f->aux, pa, pb);
    return memcmp(pa, pb, type_size(f->type)) == 0;
}

bool record_equal(const struct fields *t, const void *a, const void *b)
{
    for (size_t i = 0; i < t->n; i++)
        if (!field_equal(&t->field[i], a, b))
            return false;
    return true;
}

uint64_t record_hash(const struct fields *t, const void *record, uint64_t hash)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct field *f = &t->field[i];
        const void *at = field_ptr(f, record);
        if (f->type == FIELD_TEXT) {
            hash = hash_text(hash, *(const char *const *)at);
        } else if (f->type == FIELD_BLOB) {
            const struct blob *blob = at;
            hash = hash_bytes(hash, blob->data, blob->len);
        } else if (f->type == FIELD_LIST) {
            const struct record_list *list = at;
            const struct fields *of = f->aux;
            for (size_t k = 0; k < list->n; k++)
                hash = record_hash(of, (const char *)list->v + k * of->size, hash);
        } else {
            hash = hash_bytes(hash, at, type_size(f->type));
        }
    }
    return hash;
}

size_t record_bytes(const struct fields *t, const void *record)
{
    size_t bytes = t->size;
    for (size_t i = 0; i < t->n; i++) {
        const struct field *f = &t->field[i];
        const void *at = field_ptr(f, record);
        if (f->type == FIELD_TEXT) {
            const char *text = *(const char *const *)at;
            bytes += text ? strlen(text) + 1 : 0;
        } else if (f->type == FIELD_BLOB) {
            bytes += ((const struct blob *)at)->len;
        } else if (f->type == FIELD_LIST) {
            const struct record_list *list = at;
            const struct fields *of = f->aux;
            for (size_t k = 0; k < list->n; k++)
                bytes += record_bytes(of, (const char *)list->v + k * of->size);
        }
    }
    return bytes;
}
