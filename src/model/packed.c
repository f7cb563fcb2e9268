/* Eight-byte words throughout: magic, signature, numbers of texts and their bytes, tables; the
 * texts one after another, each with its NUL; of each table its number and its rows, of each column
 * the least value, the width, and the values less the least; at the end the sum of all before it. A
 * column in which all values are equal has no values: most are that.
 *
 * The signature is of all that could make the same bytes mean something else: names and types of
 * the fields, words of enumerations. */
#include "model/packed.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/rng.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* "RUDAPKD1", which another byte order reads otherwise */
#define MAGIC      UINT64_C(0x31444b5041445552)
#define HEAD_WORDS 5u
#define SLICE_ROWS 128u

struct packed_rows {
    enum store_table table;
    size_t n;
    VEC(int64_t) value; /* n of each row's fields, one row after another */
};

struct packer {
    struct map_str *text; /* → its place, plus 1 */
    VEC(const char *) texts;
    size_t text_bytes;
    struct packed_rows rows[PACKED_TABLES_MAX];
    size_t nrows;
};

/* ---- both ways ------------------------------------------------------------------------------ */

static uint64_t fields_hash(const struct fields *t, uint64_t hash)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct field *f = &t->field[i];
        const struct enum_names *names = f->type == FIELD_ENUM ? f->aux : NULL;
        hash = hash_text(hash, f->name);
        hash = hash_bytes(hash, &f->type, sizeof f->type);
        for (size_t k = 0; names && k < names->n; k++)
            hash = hash_text(hash, names->name[k] ? names->name[k] : "");
    }
    return hash;
}

static uint64_t signature(void)
{
    uint64_t hash = HASH_INIT;
    for (size_t i = 0; i < STORE_TABLE_COUNT; i++)
        hash = fields_hash(store_table_rows[i].fields, hash_text(hash, store_table_rows[i].name));
    return hash;
}

static uint64_t word_at(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static uint64_t sum_of(const uint8_t *at, size_t words)
{
    uint64_t sum = HASH_INIT;
    for (size_t i = 0; i < words; i++) {
        sum = (sum ^ word_at(at + 8 * i)) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    return sum;
}

static size_t padded(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

/* ---- making it ------------------------------------------------------------------------------ */

struct packer *packer_new(void)
{
    struct packer *p = xcalloc(1, sizeof *p);
    p->text = map_str_new();
    return p;
}

void packer_free(struct packer *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->nrows; i++)
        vec_done(&p->rows[i].value);
    vec_done(&p->texts);
    map_str_free(p->text);
    free(p);
}

static int64_t text_place(struct packer *p, const char *text)
{
    const char *kept;
    if (text_empty(text))
        return 0;
    void **slot = map_str_slot(p->text, text, true, &kept);
    if (!*slot) {
        vec_push(&p->texts, kept);
        p->text_bytes += strlen(kept) + 1;
        *slot = (void *)(uintptr_t)p->texts.n;
    }
    return (int64_t)(uintptr_t)*slot;
}

static int64_t value_of(struct packer *p, const struct field *f, const void *record)
{
    const void *at = field_ptr(f, record);
    switch (f->type) {
    case FIELD_BOOL: return *(const bool *)at;
    case FIELD_I32:
    case FIELD_ENUM: return *(const int32_t *)at;
    case FIELD_U32: return *(const uint32_t *)at;
    case FIELD_I64:
    case FIELD_U64:
    case FIELD_TIME:
    case FIELD_SPAN:
    case FIELD_MIB: return *(const int64_t *)at;
    case FIELD_TEXT: return text_place(p, *(const char *const *)at);
    case FIELD_BLOB:
    case FIELD_LIST: break;
    }
    die("bytes or a list among rows that are packed");
}

void packer_add(struct packer *p, enum store_table table, const void *record)
{
    const struct fields *t = store_table_rows[table].fields;
    ASSERT(t->n <= PACKED_FIELDS_MAX);
    if (!p->nrows || p->rows[p->nrows - 1].table != table) {
        CHECK(p->nrows < PACKED_TABLES_MAX);
        p->rows[p->nrows++].table = table;
    }
    struct packed_rows *r = &p->rows[p->nrows - 1];
    for (size_t i = 0; i < t->n; i++)
        vec_push(&r->value, value_of(p, &t->field[i], record));
    r->n++;
}

static void add_word(struct str *out, uint64_t word)
{
    str_addn(out, (const char *)&word, sizeof word);
}

static void add_padding(struct str *out, size_t bytes)
{
    static const char zero[8];
    str_addn(out, zero, padded(bytes) - bytes);
}

static uint32_t width_for(uint64_t most)
{
    return !most ? 0 : most <= UINT8_MAX ? 1 : most <= UINT16_MAX ? 2 : most <= UINT32_MAX ? 4 : 8;
}

static void column_add(const struct packed_rows *r, size_t field, size_t nfields, struct str *out)
{
    ASSERT(r->n > 0 && field < nfields && r->value.n == r->n * nfields);
    int64_t least = r->value.v[field], most = least;
    for (size_t i = 0; i < r->n; i++) {
        int64_t v = r->value.v[i * nfields + field];
        least = v < least ? v : least;
        most = v > most ? v : most;
    }
    uint32_t width = width_for((uint64_t)most - (uint64_t)least);
    add_word(out, (uint64_t)least);
    add_word(out, width);
    for (size_t i = 0; width && i < r->n; i++) {
        uint64_t v = (uint64_t)r->value.v[i * nfields + field] - (uint64_t)least;
        uint8_t bytes[8];
        for (uint32_t k = 0; k < width; k++)
            bytes[k] = (uint8_t)(v >> 8 * k);
        str_addn(out, (const char *)bytes, width);
    }
    add_padding(out, r->n * width);
}

void packer_end(struct packer *p, struct str *out)
{
    size_t from = out->len;
    add_word(out, MAGIC);
    add_word(out, signature());
    add_word(out, p->texts.n);
    add_word(out, p->text_bytes);
    add_word(out, p->nrows);
    for (size_t i = 0; i < p->texts.n; i++)
        str_addn(out, p->texts.v[i], strlen(p->texts.v[i]) + 1);
    add_padding(out, p->text_bytes);
    for (size_t i = 0; i < p->nrows; i++) {
        const struct packed_rows *r = &p->rows[i];
        size_t nfields = store_table_rows[r->table].fields->n;
        add_word(out, (uint64_t)r->table);
        add_word(out, r->n);
        for (size_t k = 0; k < nfields; k++)
            column_add(r, k, nfields, out);
    }
    add_word(out, sum_of((const uint8_t *)out->data + from, (out->len - from) / 8));
}

/* ---- taking it apart ------------------------------------------------------------------------ */

struct rest {
    const uint8_t *at;
    size_t len; /* whole words */
};

static bool take_word(struct rest *r, uint64_t *ret)
{
    if (r->len < 8)
        return false;
    *ret = word_at(r->at);
    r->at += 8;
    r->len -= 8;
    return true;
}

static bool take_bytes(struct rest *r, uint64_t n, const uint8_t **ret)
{
    if (n > r->len || padded((size_t)n) > r->len)
        return false;
    *ret = r->at;
    r->at += padded((size_t)n);
    r->len -= padded((size_t)n);
    return true;
}

static bool take_texts(struct rest *r, uint64_t n, uint64_t bytes, struct arena *a,
                       struct packed *p)
{
    const uint8_t *at;
    if (n > bytes || !take_bytes(r, bytes, &at))
        return false;
    const char *text = (const char *)at, *end = text + bytes;
    const char **list = arena_alloc(a, ((size_t)n + 1) * sizeof *list);
    for (uint64_t i = 0; i < n; i++) {
        const char *nul = memchr(text, '\0', (size_t)(end - text));
        if (!nul)
            return false;
        list[i] = text;
        text = nul + 1;
    }
    p->text = list;
    p->ntext = (size_t)n;
    return text == end;
}

static bool take_column(struct rest *r, size_t rows, struct packed_column *ret)
{
    uint64_t base, width;
    if (!take_word(r, &base) || !take_word(r, &width) || width > 8 || (width & (width - 1)) ||
        (width && rows > SIZE_MAX / 16 / width))
        return false;
    ret->base = (int64_t)base;
    ret->width = (uint32_t)width;
    return take_bytes(r, width * rows, &ret->at);
}

static bool take_table(struct rest *r, struct packed_table *ret)
{
    uint64_t table, n;
    if (!take_word(r, &table) || !take_word(r, &n) || table >= STORE_TABLE_COUNT || n > UINT32_MAX)
        return false;
    const struct fields *t = store_table_rows[table].fields;
    if (t->n > PACKED_FIELDS_MAX)
        return false;
    ret->table = (enum store_table)table;
    ret->n = (size_t)n;
    for (size_t i = 0; i < t->n; i++)
        if (t->field[i].type == FIELD_BLOB || t->field[i].type == FIELD_LIST ||
            !take_column(r, ret->n, &ret->column[i]))
            return false;
    return true;
}

bool packed_open(const void *bytes, size_t len, struct arena *a, struct packed *ret,
                 struct err *ret_err)
{
    struct rest r = {bytes, len - 8};
    uint64_t head[HEAD_WORDS] = {0};
    *ret = (struct packed){0};
    if (len < 8 * (HEAD_WORDS + 1) || len % 8 ||
        sum_of(bytes, len / 8 - 1) != word_at((const uint8_t *)bytes + len - 8))
        return err_set(ret_err, ERR_INVALID, "packed rows: the bytes are damaged");
    for (size_t i = 0; i < HEAD_WORDS; i++)
        take_word(&r, &head[i]);
    if (head[0] != MAGIC || head[1] != signature())
        return err_set(ret_err, ERR_INVALID, "packed rows: of another release");
    bool ok = head[4] <= PACKED_TABLES_MAX && take_texts(&r, head[2], head[3], a, ret);
    for (; ok && ret->ntable < head[4]; ret->ntable++)
        ok = take_table(&r, &ret->table[ret->ntable]);
    return (ok && !r.len) || err_set(ret_err, ERR_INVALID, "packed rows: they make no sense");
}

const struct packed_table *packed_find(const struct packed *p, enum store_table table)
{
    for (size_t i = 0; i < p->ntable; i++)
        if (p->table[i].table == table)
            return &p->table[i];
    return NULL;
}

static uint64_t less_base(const struct packed_column *c, size_t i)
{
    uint64_t v = 0;
    for (uint32_t k = 0; k < c->width; k++)
        v |= (uint64_t)c->at[i * c->width + k] << 8 * k;
    return v;
}

/* Written out for the widths that are common: a loop over bytes takes thrice the time. */
static int64_t value_at(const struct packed_column *c, size_t i)
{
    uint32_t four;
    uint64_t v;
    if (c->width == 4) {
        memcpy(&four, c->at + 4 * i, sizeof four);
        v = four;
    } else if (c->width == 8) {
        memcpy(&v, c->at + 8 * i, sizeof v);
    } else {
        v = less_base(c, i);
    }
    return (int64_t)((uint64_t)c->base + v);
}

/* Rows from the first on, before the last. */
struct packed_slice {
    size_t first, last, stride;
    char *at; /* the first one's */
};

static void texts_put(const struct packed *p, const struct packed_column *c, struct packed_slice s,
                      const char *const *text, uint32_t *uses)
{
    char *at = s.at;
    for (size_t i = s.first; i < s.last; i++, at += s.stride) {
        uint64_t place = (uint64_t)value_at(c, i);
        if (!place || place > p->ntext)
            continue;
        *(const char **)at = text[place - 1];
        uses[place - 1]++;
    }
}

static void numbers_put(const struct field *f, const struct packed_column *c, struct packed_slice s)
{
    char *at = s.at;
    bool wide = f->type == FIELD_I64 || f->type == FIELD_U64 || f->type == FIELD_TIME ||
                f->type == FIELD_SPAN || f->type == FIELD_MIB;
    for (size_t i = s.first; i < s.last; i++, at += s.stride) {
        int64_t v = value_at(c, i);
        if (wide)
            *(int64_t *)at = v;
        else if (f->type == FIELD_BOOL)
            *(bool *)at = v != 0;
        else
            *(uint32_t *)at = (uint32_t)v;
    }
}

static void slice_put(const struct packed *p, const struct packed_table *t, struct packed_slice s,
                      const char *const *text, uint32_t *uses)
{
    const struct fields *fields = store_table_rows[t->table].fields;
    for (size_t i = 0; i < fields->n; i++) {
        const struct field *f = &fields->field[i];
        const struct packed_column *c = &t->column[i];
        struct packed_slice of_field = s;
        of_field.at += f->offset;
        if (!c->width && !c->base)
            continue;
        if (f->type == FIELD_TEXT)
            texts_put(p, c, of_field, text, uses);
        else
            numbers_put(f, c, of_field);
    }
}

/* So many rows at a time stay in the processor's cache while their columns are put. */
void packed_records(const struct packed *p, const struct packed_table *t, void *at, size_t stride,
                    const char *const *text, uint32_t *uses)
{
    ASSERT(stride >= store_table_rows[t->table].fields->size);
    for (size_t i = 0; i < t->n; i += SLICE_ROWS) {
        size_t last = i + SLICE_ROWS < t->n ? i + SLICE_ROWS : t->n;
        slice_put(p, t, (struct packed_slice){i, last, stride, (char *)at + i * stride}, text,
                  uses);
    }
}
