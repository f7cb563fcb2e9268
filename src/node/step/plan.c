#include "node/step/plan.h"

#include "base/alloc.h"

#include <string.h>

/* Each member that is not 0 is a head {number, length} and its bytes; texts and bytes get a NUL
 * after them, so that the decoded texts can point into the message. */
struct plan_head {
    uint32_t number, len;
};

enum plan_type { PLAN_I64, PLAN_TEXT, PLAN_BYTES };

struct plan_row {
    enum plan_type type;
    size_t offset;
};

static const struct plan_row rows[] = {
#define X(type, member, doc) {PLAN_##type, offsetof(struct step_plan, member)},
    STEP_PLAN(X)
#undef X
};

static void piece_add(struct str *out, size_t number, const void *data, size_t len)
{
    struct plan_head h = {(uint32_t)number, (uint32_t)len};
    str_addn(out, (const char *)&h, sizeof h);
    str_addn(out, data, len);
    str_addc(out, '\0');
}

static void row_add(struct str *out, size_t number, const char *at)
{
    switch (rows[number].type) {
    case PLAN_I64:
        if (*(const int64_t *)(const void *)at != 0)
            piece_add(out, number, at, sizeof(int64_t));
        break;
    case PLAN_TEXT: {
        const char *text = *(const char *const *)(const void *)at;
        if (text)
            piece_add(out, number, text, strlen(text));
        break;
    }
    case PLAN_BYTES: {
        const struct plan_bytes *b = (const void *)at;
        if (b->len > 0)
            piece_add(out, number, b->data, b->len);
        break;
    }
    }
}

static size_t row_size(size_t number, const char *at)
{
    const char *text;
    const struct plan_bytes *b;
    size_t len = 0;
    switch (rows[number].type) {
    case PLAN_I64:
        if (*(const int64_t *)(const void *)at == 0)
            return 0;
        len = sizeof(int64_t);
        break;
    case PLAN_TEXT:
        text = *(const char *const *)(const void *)at;
        if (!text)
            return 0;
        len = strlen(text);
        break;
    case PLAN_BYTES:
        b = (const void *)at;
        if (b->len == 0)
            return 0;
        len = b->len;
        break;
    }
    return sizeof(struct plan_head) + len + 1;
}

size_t step_plan_size(const struct step_plan *p)
{
    size_t size = 0;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        size += row_size(i, (const char *)p + rows[i].offset);
    return size;
}

void step_plan_encode(const struct step_plan *p, struct str *out)
{
    ASSERT(p->job_id);
    size_t start = out->len;
    uint32_t len = 0;
    str_addn(out, (const char *)&len, sizeof len);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        row_add(out, i, (const char *)p + rows[i].offset);
    len = (uint32_t)(out->len - start - sizeof len);
    memcpy(out->data + start, &len, sizeof len);
}

uint32_t step_plan_length(const void *four_bytes)
{
    uint32_t len;
    memcpy(&len, four_bytes, sizeof len);
    return len;
}

bool step_plan_decode(const void *data, size_t len, struct step_plan *ret)
{
    const char *at = data, *end = at + len;
    memset(ret, 0, sizeof *ret);
    while (at < end) {
        struct plan_head h;
        if ((size_t)(end - at) < sizeof h + 1)
            return false;
        memcpy(&h, at, sizeof h);
        at += sizeof h;
        if (h.number >= ARRAY_LEN(rows) || h.len >= (size_t)(end - at) || at[h.len] != '\0')
            return false;
        char *to = (char *)ret + rows[h.number].offset;
        switch (rows[h.number].type) {
        case PLAN_I64:
            if (h.len != sizeof(int64_t))
                return false;
            memcpy(to, at, sizeof(int64_t));
            break;
        case PLAN_TEXT: *(const char **)(void *)to = at; break;
        case PLAN_BYTES: *(struct plan_bytes *)(void *)to = (struct plan_bytes){at, h.len}; break;
        }
        at += h.len + 1;
    }
    return true;
}

char **plan_texts(struct plan_bytes b, size_t room, size_t *ret_n)
{
    const char *text;
    size_t n = 0;
    for (struct span rest = {b.data, b.len}; text_next(&rest, &text);)
        n++;
    char **list = xcalloc(n + room + 1, sizeof *list);
    n = 0;
    for (struct span rest = {b.data, b.len}; text_next(&rest, &text);)
        list[n++] = (char *)text;
    if (ret_n)
        *ret_n = n;
    return list;
}
