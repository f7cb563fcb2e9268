#include "cli/accounts/import/sacct_in.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/idset.h"
#include "model/limits.h"
#include "model/state.h"

#include <string.h>

#define SECONDS_MAX (INT64_C(1) << 37)
#define COUNT_MAX   INT32_MAX
#define GRES_MAX    32

static bool is_nothing(const char *cell)
{
    static const char *const none[] = {"",     "Unknown", "None",         "N/A",
                                       "NONE", "(null)",  "None assigned"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        if (text_is(cell, none[i]))
            return true;
    return false;
}

/* So many digits, and what follows them. */
static bool digits(const char **at, size_t count, char then, int *ret)
{
    int n = 0;
    for (size_t i = 0; i < count; i++, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        n = 10 * n + (**at - '0');
    }
    *ret = n;
    return then ? *(*at)++ == then : **at == '\0';
}

bool sacct_time(const char *cell, const struct civil_zone *zone, int64_t *ret_us)
{
    struct civil c = {0};
    int64_t s;
    *ret_us = 0;
    if (is_nothing(cell))
        return true;
    if (text_to_i64(cell, 0, SECONDS_MAX, &s)) {
        *ret_us = s * USEC_PER_SEC;
        return true;
    }
    if (!digits(&cell, 4, '-', &c.year) || !digits(&cell, 2, '-', &c.month) ||
        !digits(&cell, 2, 'T', &c.day) || !digits(&cell, 2, ':', &c.hour) ||
        !digits(&cell, 2, ':', &c.minute) || !digits(&cell, 2, '\0', &c.second) || c.year < 1970 ||
        c.month < 1 || c.month > 12 || c.day < 1 || c.day > 31 || c.hour > 23 || c.minute > 59 ||
        c.second > 60)
        return false;
    *ret_us = zone->local_to_sec(&c) * USEC_PER_SEC;
    return *ret_us > 0;
}

bool sacct_span(const char *cell, int64_t *ret_us)
{
    *ret_us = 0;
    if (is_nothing(cell) || text_is_nocase(cell, "Partition_Limit") ||
        text_is_nocase(cell, "INVALID"))
        return true;
    if (text_is_nocase(cell, "UNLIMITED")) {
        *ret_us = TIME_UNLIMITED;
        return true;
    }
    const char *dash = strchr(cell, '-'), *clock = dash ? dash + 1 : cell;
    int64_t days = 0, seconds = 0, micro = 0;
    char part[24];
    if (dash) {
        size_t len = (size_t)(dash - cell);
        if (len >= sizeof part)
            return false;
        memcpy(part, cell, len);
        part[len] = '\0';
        if (!text_to_i64(part, 0, 1 << 20, &days))
            return false;
    }
    const char *dot = strchr(clock, '.');
    if (dot) {
        char fraction[7] = "000000";
        size_t len = strspn(dot + 1, "0123456789");
        if (dot[1 + len] || !len || len > 6)
            return false;
        memcpy(fraction, dot + 1, len);
        text_to_i64(fraction, 0, 999999, &micro);
    }
    struct span rest = {clock, dot ? (size_t)(dot - clock) : strlen(clock)}, piece;
    int pieces = 0;
    while (span_next(&rest, ':', &piece)) {
        int64_t n;
        if (piece.len == 0 || piece.len >= sizeof part || ++pieces > 3)
            return false;
        memcpy(part, piece.data, piece.len);
        part[piece.len] = '\0';
        if (!text_to_i64(part, 0, 1 << 24, &n))
            return false;
        seconds = 60 * seconds + n;
    }
    if (pieces < 2)
        return false;
    *ret_us = (days * 86400 + seconds) * USEC_PER_SEC + micro;
    return *ret_us <= FIELD_SPAN_MAX;
}

bool sacct_exit(const char *cell, int32_t *ret)
{
    const char *colon = strchr(cell, ':');
    char first[8] = "";
    int64_t code = 0, signal = 0;
    *ret = 0;
    if (is_nothing(cell))
        return true;
    size_t len = colon ? (size_t)(colon - cell) : strlen(cell);
    if (len >= sizeof first)
        return false;
    memcpy(first, cell, len);
    if (!text_to_i64(first, 0, 255, &code) || (colon && !text_to_i64(colon + 1, 0, 127, &signal)))
        return false;
    *ret = (int32_t)(code << 8 | signal);
    return true;
}

bool sacct_state(const char *cell, int32_t *ret, uint32_t *ret_by_plus1)
{
    char word[40] = "";
    size_t len = strcspn(cell, " +");
    uint64_t uid;
    *ret = -1;
    if (len == 0 || len >= sizeof word)
        return false;
    memcpy(word, cell, len);
    if (text_starts(cell + len, " by ") && text_to_u64(cell + len + 4, UINT32_MAX - 1, &uid))
        *ret_by_plus1 = (uint32_t)uid + 1;
    return job_state_parse(word, ret);
}

/* A number with a part behind the dot and a unit, in thousandths of `unit_of_none`. */
static bool amount(const char *cell, size_t len, int64_t unit_of_none, int64_t *ret)
{
    static const char units[] = "BKMGTP";
    char number[32] = "";
    int64_t whole = 0, part = 0, unit = unit_of_none;
    const char *letter = len ? strchr(units, cell[len - 1]) : NULL;
    *ret = 0;
    if (letter && *letter) {
        unit = INT64_C(1) << (10 * (letter - units));
        len--;
    }
    const char *dot = memchr(cell, '.', len);
    size_t digits_len = dot ? (size_t)(dot - cell) : len;
    if (digits_len == 0 || digits_len > 15)
        return false;
    memcpy(number, cell, digits_len);
    if (!text_to_i64(number, 0, INT64_C(1) << 50, &whole))
        return false;
    if (dot) {
        char hundredths[3] = "00";
        size_t n = len - digits_len - 1;
        if (n == 0 || n > 6 || strspn(dot + 1, "0123456789") < n)
            return false;
        memcpy(hundredths, dot + 1, n < 2 ? n : 2);
        text_to_i64(hundredths, 0, 99, &part);
    }
    if (whole > (INT64_C(1) << 60) / unit)
        return false;
    *ret = whole * unit + part * unit / 100;
    return true;
}

bool sacct_bytes(const char *cell, int64_t *ret)
{
    *ret = 0;
    return is_nothing(cell) || amount(cell, strlen(cell), 1, ret);
}

/* ---- resources ------------------------------------------------------------------------------ */

struct cells_gres_sum {
    struct span name; /* "gpu", "gpu:v100" */
    int64_t count;
};

static bool gres_say(const struct cells_gres_sum *g, size_t n, struct arena *a, const char **ret)
{
    struct str out = STR_INIT;
    for (size_t i = 0; i < n; i++) {
        int64_t count = g[i].count;
        bool typed = memchr(g[i].name.data, ':', g[i].name.len) != NULL;
        for (size_t k = 0; k < n && !typed; k++) /* what its types have is said by them */
            if (g[k].name.len > g[i].name.len && g[k].name.data[g[i].name.len] == ':' &&
                memcmp(g[k].name.data, g[i].name.data, g[i].name.len) == 0)
                count -= g[k].count;
        if (count > 0)
            str_addf(&out, "%s%.*s=%lld", out.len ? "," : "", (int)g[i].name.len, g[i].name.data,
                     (long long)count);
    }
    *ret = out.len ? arena_strdup(a, str_text(&out)) : NULL;
    str_done(&out);
    return true;
}

static bool name_is_plain(struct span name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:",
                    name.data[i]))
            return false;
    return name.len > 0 && name.len < 64;
}

bool sacct_tres(const char *cell, struct arena *a, struct sacct_tres *ret)
{
    struct cells_gres_sum g[GRES_MAX];
    size_t n = 0;
    struct span rest = span_of(cell), item, key;
    *ret = (struct sacct_tres){0};
    while (span_next(&rest, ',', &item)) {
        int64_t value;
        if (item.len == 0)
            continue;
        if (!span_next(&item, '=', &key) || !item.data)
            return false;
        bool mem = span_is(key, "mem"), gres = key.len > 5 && memcmp(key.data, "gres/", 5) == 0;
        if (!mem && !gres && !span_is(key, "cpu") && !span_is(key, "node") &&
            !span_is(key, "billing"))
            continue; /* energy, licences, file systems, … */
        if (!amount(item.data, item.len, mem ? 1 << 20 : 1, &value) || value < 0)
            return false;
        if (mem)
            ret->mem_mib = value >> 20;
        else if (value > COUNT_MAX)
            return false;
        else if (span_is(key, "cpu"))
            ret->cpu = value;
        else if (span_is(key, "node"))
            ret->node = value;
        else if (span_is(key, "billing"))
            ret->billing_plus1 = value + 1;
        else {
            struct span name = {key.data + 5, key.len - 5};
            if (!name_is_plain(name) || n == GRES_MAX)
                return false;
            g[n++] = (struct cells_gres_sum){name, value};
        }
    }
    return ret->mem_mib <= FIELD_MIB_MAX && gres_say(g, n, a, &ret->gres);
}

/* ---- numbers of jobs ------------------------------------------------------------------------ */

static bool step_read(const char *text, struct sacct_id *ret)
{
    static const struct {
        const char *word;
        int64_t step;
    } words[] = {{"batch", STEP_BATCH}, {"extern", STEP_EXTERN}, {"interactive", STEP_INTERACTIVE}};
    const char *plus = strchr(text, '+');
    char number[16] = "";
    ret->is_step = true;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (text_is(text, words[i].word)) {
            ret->step = words[i].step;
            return true;
        }
    size_t len = plus ? (size_t)(plus - text) : strlen(text);
    if (len >= sizeof number)
        return false;
    memcpy(number, text, len);
    return text_to_i64(number, 0, INT32_MAX, &ret->step);
}

static bool number_read(const char **at, uint64_t max, uint64_t *ret)
{
    char number[16] = "";
    size_t len = strspn(*at, "0123456789");
    if (len == 0 || len >= sizeof number)
        return false;
    memcpy(number, *at, len);
    *at += len;
    return text_to_u64(number, max, ret);
}

bool sacct_id(const char *cell, struct arena *a, struct sacct_id *ret)
{
    uint64_t n = 0;
    *ret = (struct sacct_id){0};
    if (!number_read(&cell, UINT32_MAX, &ret->id) || !ret->id)
        return false;
    if (text_starts(cell, "_[")) {
        struct idset set = IDSET_INIT;
        size_t len = strcspn(cell + 2, "%]");
        ret->waiting = arena_strndup(a, cell + 2, len);
        cell += 2 + len;
        cell += strcspn(cell, "]");
        bool ok =
            *cell == ']' && idset_parse(&set, ret->waiting, LIMIT_ARRAY_INDEX, NULL) && set.count;
        idset_done(&set);
        if (!ok)
            return false;
        cell++;
    } else if (*cell == '_') {
        cell++;
        if (!number_read(&cell, LIMIT_ARRAY_INDEX, &n))
            return false;
        ret->is_element = true;
        ret->element = (uint32_t)n;
    } else if (*cell == '+') {
        cell++;
        if (!number_read(&cell, 100000, &n))
            return false;
        ret->is_component = true;
        ret->component = (uint32_t)n;
    }
    return *cell == '\0' || (*cell == '.' && step_read(cell + 1, ret));
}
