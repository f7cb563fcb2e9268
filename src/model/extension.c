#include "model/extension.h"

#include "base/duration.h"

#include <string.h>

void extensions_add(const char *former, const struct extension_row *row, struct str *out)
{
    size_t n = 0;
    for (const char *p = former; p && *p; p++)
        n += *p == ',' || !p[1];
    for (; n >= EXTENSIONS_KEPT && former; n--) {
        const char *comma = strchr(former, ',');
        former = comma ? comma + 1 : NULL;
    }
    str_addf(out, "%s%s%lld+%lld:", former ? former : "", text_empty(former) ? "" : ",",
             (long long)(row->at_us / USEC_PER_SEC), (long long)(row->add_us / USEC_PER_SEC));
    for (const char *p = row->user ? row->user : "?"; *p; p++)
        str_addc(out, *p == ',' ? '_' : *p);
}

bool extensions_next(struct span *rest, struct arena *a, struct extension_row *ret)
{
    struct span piece, at, add;
    int64_t at_s, add_s;
    if (!span_next(rest, ',', &piece) || !span_next(&piece, '+', &at) ||
        !span_next(&piece, ':', &add))
        return false;
    if (!text_to_i64(arena_strndup(a, at.data, at.len), 0, INT64_MAX / USEC_PER_SEC, &at_s) ||
        !text_to_i64(arena_strndup(a, add.data, add.len), 0, INT64_MAX / USEC_PER_SEC, &add_s))
        return false;
    *ret = (struct extension_row){.at_us = at_s * USEC_PER_SEC,
                                  .add_us = add_s * USEC_PER_SEC,
                                  .user = arena_strndup(a, piece.data, piece.len)};
    return true;
}
