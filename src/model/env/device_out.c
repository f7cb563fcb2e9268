#include "model/env/device_out.h"

#include "base/vec.h"
#include "model/limits.h"

#include <string.h>

static bool entry_parse(struct span text, struct arena *a, struct device_entry *ret)
{
    struct span rest = text, part[4];
    int64_t index;
    for (size_t i = 0; i < 4; i++)
        if (!span_next(&rest, ':', &part[i]))
            return false;
    *ret = (struct device_entry){.kind = arena_strndup(a, part[0].data, part[0].len),
                                 .word = arena_strndup(a, part[2].data, part[2].len),
                                 .why = rest.data ? arena_strndup(a, rest.data, rest.len) : ""};
    if (!part[0].len || part[0].len > LIMIT_NAME_BYTES ||
        !text_to_i64(arena_strndup(a, part[1].data, part[1].len), 0, INT32_MAX, &index) ||
        !text_to_i64(arena_strndup(a, part[3].data, part[3].len), 0, INT64_MAX, &ret->since_us))
        return false;
    ret->index = (int32_t)index;
    return true;
}

bool device_entries_parse(const char *text, struct arena *a, struct device_entries *ret)
{
    struct span rest = span_of(text), piece;
    VEC(struct device_entry) list = {0};
    bool ok = true;
    while (ok && text && span_next(&rest, ';', &piece)) {
        struct device_entry d;
        if (!piece.len)
            continue;
        ok = entry_parse(piece, a, &d);
        vec_push(&list, d);
    }
    *ret = (struct device_entries){0};
    if (ok) {
        ret->v = arena_dup(a, list.v, list.n * sizeof list.v[0]);
        ret->n = list.n;
    }
    vec_done(&list);
    return ok;
}

bool device_outs_parse(const char *text, struct arena *a, struct device_outs *ret)
{
    struct device_entries list;
    bool ok = device_entries_parse(text, a, &list);
    *ret = (struct device_outs){.v = arena_alloc(a, (list.n + 1) * sizeof *ret->v)};
    for (size_t i = 0; i < list.n && ok; i++) {
        const struct device_entry *d = &list.v[i];
        bool failed = text_is(d->word, "failed");
        ok = failed || text_is(d->word, "unproven");
        ret->v[ret->n++] = (struct device_out){d->kind, d->index, failed, d->since_us, d->why};
    }
    ret->n = ok ? ret->n : 0;
    return ok;
}

void device_entry_format(const struct device_entry *d, struct str *out)
{
    str_addf(out, "%s%s:%d:%s:%lld:", out->len ? ";" : "", d->kind, d->index, d->word,
             (long long)d->since_us);
    for (size_t i = 0; d->why && d->why[i] && i < DEVICE_WHY_BYTES;
         i++) { /* one line, and no end of an entry */
        char c = d->why[i];
        if (c == ';')
            c = ',';
        else if ((unsigned char)c < ' ')
            c = ' ';
        str_addc(out, c);
    }
}

void device_out_format(const struct device_out *d, struct str *out)
{
    struct device_entry e = {.kind = d->kind,
                             .word = d->failed ? "failed" : "unproven",
                             .why = d->why,
                             .index = d->index,
                             .since_us = d->since_us};
    device_entry_format(&e, out);
}

bool device_out_is_process(const struct device_out *d)
{
    return text_is(d->kind, "process");
}

const struct device_entry *device_entries_find(const struct device_entries *list, const char *kind,
                                               int32_t index)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i].index == index && text_is(list->v[i].kind, kind))
            return &list->v[i];
    return NULL;
}

const struct device_out *device_outs_find(const struct device_outs *list, const char *kind,
                                          int32_t index)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i].index == index && text_is(list->v[i].kind, kind))
            return &list->v[i];
    return NULL;
}

void device_outs_say(const struct device_outs *list, bool failed_only, struct str *out)
{
    bool first = true;
    for (size_t i = 0; i < list->n; i++) {
        const struct device_out *d = &list->v[i];
        if (failed_only && !d->failed)
            continue;
        str_addf(out, "%s%s %d %s: %s", first ? "" : "; ", d->kind, d->index,
                 device_out_is_process(d) ? "cannot be killed" : "is not used", d->why);
        first = false;
    }
}
