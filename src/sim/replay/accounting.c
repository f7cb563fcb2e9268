/* What cells of sacct and squeue mean. */
#include "sim/replay/accounting.h"

#include "base/alloc.h"
#include "base/duration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TIME_MAX   (INT64_C(1) << 36) /* seconds: the year 4147 */
#define AMOUNT_MAX INT32_MAX

static int64_t clip(int64_t amount)
{
    return amount < AMOUNT_MAX ? amount : AMOUNT_MAX;
}

bool site_time(const char *cell, int64_t *ret_s, struct err *ret_err)
{
    static const char *const none[] = {"", "Unknown", "None", "N/A", "NONE"};
    struct tm tm = {.tm_isdst = -1};
    *ret_s = -1;
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        if (text_is(cell, none[i]))
            return true;
    if (text_to_i64(cell, 0, TIME_MAX, ret_s))
        return true;
    int used = 0, n = sscanf(cell, "%d-%d-%dT%d:%d:%d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
                             &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &used);
    if (n != 6 || cell[used] || tm.tm_year < 1970 || tm.tm_year > 9999 || tm.tm_mon < 1 ||
        tm.tm_mon > 12)
        return err_set(ret_err, ERR_INVALID,
                       "'%s' is no time such as 2026-11-21T05:06:01 or seconds since 1970", cell);
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    *ret_s = mktime(&tm);
    return true;
}

static bool name_matches(struct span key, const char *name)
{
    size_t n = strlen(name);
    return key.len >= n && strncmp(key.data, name, n) == 0 && (key.len == n || key.data[n] == ':');
}

static int64_t amount_of(struct span value)
{
    char text[40] = "";
    int64_t n = 0;
    if (value.len)
        memcpy(text, value.data, value.len < sizeof text ? value.len : sizeof text - 1);
    if (text_to_i64(text, 0, INT64_MAX, &n) || size_parse_mib(text, &n, NULL))
        return clip(n);
    char *end;
    double v = strtod(text, &end);
    double unit = *end == 'T' ? 1048576 : *end == 'G' ? 1024 : 1;
    return v > 0 && v < 1e9 ? clip((int64_t)(v * unit)) : 0;
}

int64_t site_tres(const char *cell, const char *name)
{
    struct span rest = span_of(cell), item, key;
    int64_t whole = 0, typed = 0;
    while (span_next(&rest, ',', &item)) {
        if (!span_next(&item, '=', &key) || !name_matches(key, name))
            continue;
        if (key.len == strlen(name))
            whole = amount_of(item);
        else
            typed = clip(typed + amount_of(item));
    }
    return clip(whole ? whole : typed);
}

const char *site_gpu_type(const char *cell, struct arena *a)
{
    struct span rest = span_of(cell), item, key;
    while (span_next(&rest, ',', &item))
        if (span_next(&item, '=', &key) && key.len > 9 && strncmp(key.data, "gres/gpu:", 9) == 0)
            return arena_strndup(a, key.data + 9, key.len - 9);
    return NULL;
}

int64_t site_memory(const char *cell, int64_t cpus, int64_t nodes)
{
    size_t n = strlen(cell);
    int64_t times = 1;
    if (n > 0 && (cell[n - 1] == 'c' || cell[n - 1] == 'n')) {
        times = cell[n - 1] == 'c' ? cpus : nodes;
        n--;
    }
    int64_t mib = amount_of((struct span){cell, n});
    return mib * (times > 0 ? times : 1);
}
