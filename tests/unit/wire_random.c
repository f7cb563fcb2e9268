#include "wire_random.h"

#include <string.h>

static const char *random_text(struct rng *r, struct arena *a)
{
    static const char *const pieces[] = {
        "train",
        "\"",
        "\\",
        "/home/x",
        "\n\t\b\f\r",
        "\x01\x1f\x7f",
        "\xc3\xa9",
        "\xe2\x82\xac",
        "\xf0\x9f\x90\xb4",
        "\xff",
        "\xc3",
        "\xed\xb2\x80",
        " ",
        "'",
        "",
    };
    char *text = arena_strdup(a, "");
    for (uint64_t n = rng_below(r, 6); n; n--)
        text =
            arena_printf(a, "%s%s", text, pieces[rng_below(r, sizeof pieces / sizeof pieces[0])]);
    return text;
}

static int64_t random_i64(struct rng *r)
{
    static const int64_t edges[] = {
        0, 1, -1, INT64_MAX, INT64_MIN, INT32_MAX, INT64_C(1700000000000000)};
    return rng_chance(r, 300) ? edges[rng_below(r, 7)] : (int64_t)(rng_next(r) >> rng_below(r, 64));
}

/* Within the range of the field, its ends among them. */
static int64_t random_number(const struct field *f, struct rng *r)
{
    const struct int_range *range = field_range(f);
    bool is_signed = f->type != FIELD_U32 && f->type != FIELD_U64;
    int64_t n = random_i64(r);
    if (rng_chance(r, 200))
        return rng_chance(r, 500) ? range->min : (int64_t)range->max;
    if (is_signed ? n >= range->min && (n < 0 || (uint64_t)n <= range->max)
                  : (uint64_t)n <= range->max)
        return n;
    return range->min + (int64_t)((uint64_t)n % (range->max / 2 + 1));
}

static struct blob random_blob(struct rng *r, struct arena *a)
{
    struct blob b = {.len = rng_below(r, 300)};
    char *data = arena_alloc(a, b.len + 1);
    for (size_t i = 0; i < b.len; i++)
        data[i] = (char)rng_next(r);
    b.data = b.len ? data : NULL;
    return b;
}

static struct record_list random_list(const struct fields *t, struct rng *r, uint32_t permille,
                                      struct arena *a)
{
    struct record_list list = {.n = rng_below(r, 4)};
    list.v = list.n ? arena_alloc(a, list.n * t->size) : NULL;
    for (size_t i = 0; i < list.n; i++)
        record_random(t, (char *)list.v + i * t->size, r, permille, a);
    return list;
}

static void field_random(const struct field *f, void *record, struct rng *r, uint32_t permille,
                         struct arena *a)
{
    void *p = field_ptr(f, record);
    switch (f->type) {
    case FIELD_BOOL: *(bool *)p = rng_chance(r, 500); break;
    case FIELD_I32:
    case FIELD_U32: *(int32_t *)p = (int32_t)random_number(f, r); break;
    case FIELD_I64:
    case FIELD_U64:
    case FIELD_TIME:
    case FIELD_SPAN:
    case FIELD_MIB: *(int64_t *)p = random_number(f, r); break;
    case FIELD_TEXT: *(const char **)p = random_text(r, a); break;
    case FIELD_ENUM:
        *(int32_t *)p = (int32_t)rng_below(r, ((const struct enum_names *)f->aux)->n);
        break;
    case FIELD_BLOB: *(struct blob *)p = random_blob(r, a); break;
    case FIELD_LIST: *(struct record_list *)p = random_list(f->aux, r, permille, a); break;
    }
}

void record_random(const struct fields *t, void *record, struct rng *r, uint32_t permille,
                   struct arena *a)
{
    for (size_t i = 0; i < t->n; i++)
        if (rng_chance(r, permille))
            field_random(&t->field[i], record, r, permille, a);
}
