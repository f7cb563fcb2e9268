#include "model/record/series.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/list.h"

#include <stdio.h>
#include <string.h>

const struct series_value series_values[] = {
#define X(number, member, word, source, unit, scale, join, title, doc)                             \
    {number, SERIES_##source, SERIES_##join, scale, word, unit, title, doc},
    SERIES_VALUES(X)
#undef X
};
const size_t series_values_n = sizeof series_values / sizeof series_values[0];

const struct series_value *series_value_of(uint32_t id)
{
    for (size_t i = 0; i < series_values_n; i++)
        if (series_values[i].id == id)
            return &series_values[i];
    return NULL;
}

const struct series_value *series_value_named(struct span word)
{
    for (size_t i = 0; i < series_values_n; i++)
        if (span_is_nocase(word, series_values[i].word))
            return &series_values[i];
    return NULL;
}

size_t series_points_read(struct span text, struct series_point *ret, size_t max)
{
    ASSERT(max > 0);
    struct span one;
    size_t n = 0;
    while (n < max && span_next(&text, ' ', &one)) {
        char word[64];
        unsigned id, index = 0;
        long long value;
        if (one.len == 0 || one.len >= sizeof word)
            continue;
        memcpy(word, one.data, one.len);
        word[one.len] = '\0';
        if ((sscanf(word, "%5u:%18lld", &id, &value) == 2 ||
             sscanf(word, "%5u.%9u:%18lld", &id, &index, &value) == 3) &&
            series_value_of(id) && value > -(INT64_C(1) << 48) && value < INT64_C(1) << 48)
            ret[n++] = (struct series_point){(uint16_t)id, index, value};
    }
    return n;
}

/* ---- how often ---- */

bool series_gaps_read(const char *text, int64_t *task_us, struct series_gaps *gaps,
                      struct err *ret_err)
{
    static const char *const types[] = {"task", "energy", "network", "filesystem"};
    int64_t *const gap[4] = {task_us, &gaps->energy_us, &gaps->network_us, &gaps->filesystem_us};
    struct span rest = span_of(text_empty(text) ? NULL : text), word;
    while (span_next(&rest, ',', &word)) {
        struct span number = span_trim(word), type = {"task", 4};
        char digits[16] = "";
        int64_t s;
        size_t i = 0;
        if (memchr(number.data, '=', number.len))
            span_next(&number, '=', &type);
        while (i < 4 && !span_is_nocase(type, types[i]))
            i++;
        if (number.len < sizeof digits)
            memcpy(digits, number.data ? number.data : "", number.len);
        if (i == 4 || !text_to_i64(digits, 0, INT32_MAX - 1, &s))
            return err_set(ret_err, ERR_INVALID,
                           "seconds, or task=, energy=, network= and filesystem= with seconds, are "
                           "expected, not \"%.*s\"",
                           (int)(word.len < 60 ? word.len : 60), word.data ? word.data : "") ||
                   (i == 4 && list_suggest("task,energy,network,filesystem", type, ret_err));
        *gap[i] = s * USEC_PER_SEC;
    }
    return true;
}

/* ---- how long they are kept ---- */

static bool time_read(struct span text, int64_t *ret_us)
{
    static const struct {
        char letter;
        int64_t us;
    } unit[] = {{'s', USEC_PER_SEC},
                {'m', 60 * USEC_PER_SEC},
                {'h', 3600 * USEC_PER_SEC},
                {'d', 86400 * USEC_PER_SEC}};
    char number[12] = "";
    int64_t n;
    if (text.len < 2 || text.len > sizeof number)
        return false;
    memcpy(number, text.data, text.len - 1);
    for (size_t i = 0; i < sizeof unit / sizeof unit[0]; i++)
        if (text.data[text.len - 1] == unit[i].letter && text_to_i64(number, 1, 36500, &n)) {
            *ret_us = n * unit[i].us;
            return true;
        }
    return false;
}

bool series_keep_parse(const char *text, struct series_keep *ret, struct err *ret_err)
{
    struct span rest = span_of(text), one, gap, age;
    *ret = (struct series_keep){0};
    if (text_is_nocase(text, "none"))
        return true;
    while (span_next(&rest, ',', &one)) {
        age = span_trim(one);
        size_t i = ret->n;
        bool room = i < sizeof ret->level / sizeof ret->level[0];
        if (!room || !memchr(age.data, ':', age.len) || !span_next(&age, ':', &gap) ||
            !time_read(gap, &ret->level[i].gap_us) || !time_read(age, &ret->level[i].age_us))
            return err_set(ret_err, ERR_INVALID,
                           "up to four of GAP:AGE with the units s, m, h and d are expected, as "
                           "2s:1d,10s:30d,1m:365d, or none; not \"%.60s\"",
                           text);
        if (i && (ret->level[i].gap_us <= ret->level[i - 1].gap_us ||
                  ret->level[i].age_us <= ret->level[i - 1].age_us))
            return err_set(ret_err, ERR_INVALID,
                           "each GAP:AGE is coarser and older than the one before, not \"%.60s\"",
                           text);
        ret->n++;
    }
    return ret->n > 0 || err_set(ret_err, ERR_INVALID, "2s:1d,10s:30d,1m:365d, or none");
}
