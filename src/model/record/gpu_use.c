#include "model/record/gpu_use.h"

#include "base/alloc.h"

#include <string.h>

#define INDEX_MAX 1023
#define MEM_MAX   (INT64_C(1) << 30)
#define WATTS_MAX 100000
#define IDLE_MAX  (INT64_C(10) * 366 * 86400)

static void number_add(int64_t n, struct str *out)
{
    str_addc(out, ':');
    if (n < 0)
        str_addc(out, '-');
    else
        str_add_i64(out, n);
}

void gpu_use_format(const struct gpu_use *u, struct str *out)
{
    str_addf(out, "%s%d", out->len ? ";" : "", u->index);
    number_add(u->util, out);
    number_add(u->mem_mib, out);
    number_add(u->watts, out);
    number_add(u->idle_s, out);
}

static bool number_read(struct span *entry, int64_t max, int64_t *ret)
{
    ASSERT(max >= 0);
    struct span piece;
    char text[16];
    if (!span_next(entry, ':', &piece) || piece.len == 0 || piece.len >= sizeof text)
        return false;
    memcpy(text, piece.data, piece.len);
    text[piece.len] = '\0';
    *ret = -1;
    return text_is(text, "-") || text_to_i64(text, 0, max, ret);
}

static bool entry_read(struct span entry, struct gpu_use *ret)
{
    int64_t index, util, watts;
    if (!number_read(&entry, INDEX_MAX, &index) || index < 0 || !number_read(&entry, 100, &util) ||
        !number_read(&entry, MEM_MAX, &ret->mem_mib) || !number_read(&entry, WATTS_MAX, &watts) ||
        !number_read(&entry, IDLE_MAX, &ret->idle_s))
        return false;
    ret->index = (int32_t)index;
    ret->util = (int32_t)util;
    ret->watts = (int32_t)watts;
    return true;
}

size_t gpu_use_read(const char *text, struct gpu_use *ret, size_t max)
{
    ASSERT(max > 0);
    struct span rest = span_of(text), entry;
    size_t n = 0;
    while (text && n < max && span_next(&rest, ';', &entry))
        n += entry_read(entry, &ret[n]);
    return n;
}
