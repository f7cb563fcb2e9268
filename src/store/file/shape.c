#include "store/file/shape.h"

#include "base/str.h"

#include <string.h>

#define TIME_LIKELY INT64_C(1000000000000000) /* 2001 */

static bool is_key(const struct field *const *key, size_t nkey, const struct field *f)
{
    for (size_t i = 0; i < nkey; i++)
        if (key[i] == f)
            return true;
    return false;
}

/* SQLite stores the columns of a key of several, or of a text, first. */
static void shape_set(struct shape *s, const struct field *const *declared, size_t n)
{
    const struct field *key[KEY_FIELDS_MAX];
    size_t nkey = table_key(s->table, key);
    s->rowid = nkey == 1 && key[0]->type != FIELD_TEXT;
    s->keys = s->rowid ? 0 : nkey;
    s->n = 0;
    for (size_t i = 0; i < s->keys; i++)
        s->column[s->n++] = key[i];
    for (size_t i = 0; i < n; i++)
        if (s->rowid || !is_key(key, nkey, declared[i]))
            s->column[s->n++] = declared[i];
}

void shape_init(struct shape *s, enum store_table table)
{
    ASSERT(table < STORE_TABLE_COUNT);
    const struct fields *t = store_table_rows[table].fields;
    const struct field *declared[VALUES_MAX];
    CHECK(t->n <= VALUES_MAX);
    for (size_t i = 0; i < t->n; i++)
        declared[i] = &t->field[i];
    s->table = table;
    shape_set(s, declared, t->n);
}

static const struct field *field_called(const struct fields *t, struct span name)
{
    for (size_t i = 0; i < t->n; i++)
        if (span_is(name, t->field[i].name))
            return &t->field[i];
    return NULL;
}

static bool is_name(const char *at, const char *end)
{
    for (const char *c = at; c < end; c++)
        if (!(*c >= 'a' && *c <= 'z') && !(*c >= '0' && *c <= '9') && *c != '_')
            return false;
    return end > at;
}

/* One column: "name" and its type. NULL: it is none. */
static const char *column_read(const struct fields *t, const char *at, const struct field **ret)
{
    static const char *const types[] = {"INTEGER PRIMARY KEY", "INTEGER", "TEXT", "BLOB"};
    const char *end = strchr(at + 1, '"');
    if (!end || !is_name(at + 1, end) || end[1] != ' ')
        return NULL;
    *ret = field_called(t, (struct span){at + 1, (size_t)(end - at - 1)});
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (text_starts(end + 2, types[i]))
            return end + 2 + strlen(types[i]);
    return NULL;
}

/* CREATE TABLE "job" ("id" INTEGER PRIMARY KEY, "name" TEXT, …): what stands in quotes after the
 * parenthesis, up to the constraints, is a column. A text that is damaged anywhere would have each
 * row read as another. */
bool shape_from_sql(struct shape *s, const char *sql)
{
    const struct field *declared[VALUES_MAX], *key[KEY_FIELDS_MAX];
    const struct fields *t = store_table_rows[s->table].fields;
    size_t n = 0, found = 0, nkey = table_key(s->table, key);
    const char *at = strchr(sql, '(');
    for (at = at ? at + 1 : NULL; at; n++) {
        at += strspn(at, "\n ");
        if (*at != '"')
            break;
        at = n < VALUES_MAX ? column_read(t, at, &declared[n]) : NULL;
        found += at && is_key(key, nkey, declared[n]);
        at = at && (*at == ',' || *at == ')') ? at + (*at == ',') : NULL;
    }
    if (!at || found != nkey || (*at != ')' && !text_starts(at, "PRIMARY KEY (")))
        return false;
    shape_set(s, declared, n);
    return true;
}

/* ---- rows ---- */

static bool text_read(const struct value *v, struct arena *a, const char **ret)
{
    if (v->type != VALUE_TEXT || memchr(v->data, '\0', v->len))
        return false;
    *ret = arena_strndup(a, (const char *)v->data, v->len);
    return true;
}

static bool enum_read(const struct field *f, const struct value *v, struct arena *a, int32_t *ret)
{
    const char *text;
    int64_t number = v->number;
    if (v->type != VALUE_INT && !text_read(v, a, &text))
        return false;
    if (v->type != VALUE_INT &&
        (enum_value(f->aux, text, ret) || !text_to_i64(text, INT32_MIN, INT32_MAX, &number)))
        return enum_value(f->aux, text, ret);
    *ret = (int32_t)number;
    return number == *ret;
}

static bool number_fits(const struct field *f, int64_t n)
{
    switch (f->type) {
    case FIELD_BOOL: return n == 0 || n == 1;
    case FIELD_I32: return n >= INT32_MIN && n <= INT32_MAX;
    case FIELD_U32: return n >= 0 && n <= UINT32_MAX;
    case FIELD_I64:
    case FIELD_U64:
    case FIELD_TIME:
    case FIELD_SPAN:
    case FIELD_MIB: return true;
    case FIELD_TEXT:
    case FIELD_ENUM:
    case FIELD_BLOB:
    case FIELD_LIST: break;
    }
    return false;
}

static void number_set(const struct field *f, int64_t n, void *to)
{
    if (f->type == FIELD_BOOL)
        *(bool *)to = n != 0;
    else if (f->type == FIELD_I32)
        *(int32_t *)to = (int32_t)n;
    else if (f->type == FIELD_U32)
        *(uint32_t *)to = (uint32_t)n;
    else
        *(int64_t *)to = n;
}

static bool value_read(const struct field *f, const struct value *v, struct arena *a, void *record)
{
    void *to = field_ptr(f, record);
    if (v->type == VALUE_NULL)
        return true;
    if (f->type == FIELD_TEXT)
        return text_read(v, a, to);
    if (f->type == FIELD_ENUM)
        return enum_read(f, v, a, to);
    if (f->type == FIELD_BLOB) {
        *(struct blob *)to = (struct blob){v->data, v->len};
        return v->type == VALUE_BLOB;
    }
    if (v->type != VALUE_INT || !number_fits(f, v->number))
        return false;
    number_set(f, v->number, to);
    return true;
}

/* A small number in a key is none. */
static bool time_likely(const struct field *f, const struct value *v)
{
    return f->type != FIELD_TIME || v->number == 0 || v->number > TIME_LIKELY;
}

bool shape_read(const struct shape *s, const struct cell *c, bool sure, struct arena *a,
                void *record)
{
    const struct field *key[KEY_FIELDS_MAX];
    const struct field *id = table_key(s->table, key) && s->rowid ? key[0] : NULL;
    /* Rows from before a column was added are shorter. */
    if (c->n > s->n || c->n < s->keys || (!sure && 2 * c->n <= s->n))
        return false;
    for (size_t i = 0; i < s->keys; i++)
        if (c->value[i].type == VALUE_NULL || (!sure && !time_likely(s->column[i], &c->value[i])))
            return false;
    for (size_t i = 0; i < c->n; i++) {
        bool number = id && s->column[i] == id;
        if (number && c->value[i].type != VALUE_NULL)
            return false;
        if (s->column[i] && !value_read(s->column[i], &c->value[i], a, record))
            return false;
    }
    if (id)
        number_set(id, c->rowid, field_ptr(id, record));
    return !id || number_fits(id, c->rowid);
}
