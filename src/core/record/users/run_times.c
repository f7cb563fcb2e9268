#include "core/record/users/run_times.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/list.h"

#include <stdbool.h>
#include <string.h>

#define SECONDS_MAX INT32_MAX

static bool number_next(struct span *rest, int64_t most, int64_t *ret)
{
    struct span piece;
    char digits[24];
    if (!span_next(rest, ':', &piece) || piece.len == 0 || piece.len >= sizeof digits)
        return false;
    memcpy(digits, piece.data, piece.len);
    digits[piece.len] = '\0';
    return text_to_i64(digits, 0, most, ret);
}

void run_times_parse(const char *text, struct run_times *ret)
{
    struct span rest = span_of(text ? text : ""), piece;
    ret->n = 0;
    while (ret->n < RUN_TIMES_MOST && span_next(&rest, ',', &piece)) {
        struct run_time one = {0};
        if (!number_next(&piece, INT64_MAX / USEC_PER_SEC, &one.limit_s) ||
            !number_next(&piece, SECONDS_MAX, &one.last_s) || !one.last_s)
            continue;
        if (!number_next(&piece, SECONDS_MAX, &one.before_last_s))
            one.before_last_s = 0;
        ret->v[ret->n++] = one;
    }
}

void run_times_format(const struct run_times *t, struct str *out)
{
    ASSERT(t->n <= RUN_TIMES_MOST);
    for (size_t i = 0; i < t->n; i++) {
        const struct run_time *one = &t->v[i];
        if (out->len > 0)
            str_addc(out, ',');
        str_add_i64(out, one->limit_s);
        str_addc(out, ':');
        str_add_i64(out, one->last_s);
        if (one->before_last_s) {
            str_addc(out, ':');
            str_add_i64(out, one->before_last_s);
        }
    }
}

int64_t run_times_learn(struct run_times *t, int64_t limit_s, int64_t ran_s)
{
    ASSERT(t->n <= RUN_TIMES_MOST && limit_s >= 0);
    size_t at = 0;
    int64_t forgotten = -1;
    struct run_time one = {.limit_s = limit_s};
    ran_s = ran_s < 1 ? 1 : ran_s > SECONDS_MAX ? SECONDS_MAX : ran_s;
    while (at < t->n && t->v[at].limit_s != limit_s)
        at++;
    if (at < t->n) {
        one = t->v[at];
    } else if (t->n < RUN_TIMES_MOST) {
        t->n++;
    } else {
        at = t->n - 1;
        forgotten = t->v[at].limit_s;
    }
    memmove(&t->v[1], &t->v[0], at * sizeof t->v[0]);
    t->v[0] = (struct run_time){.limit_s = limit_s, .last_s = ran_s, .before_last_s = one.last_s};
    return forgotten;
}

int64_t run_time_expected(const struct run_time *one)
{
    int64_t mean = one->before_last_s ? (one->last_s + one->before_last_s) / 2 : one->last_s;
    return mean < 1 ? 1 : mean;
}
