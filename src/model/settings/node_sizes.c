#include "model/settings/node_sizes.h"

#include "base/str.h"
#include "model/limits.h"

#include <string.h>

static bool number_read(struct span text, int64_t *ret)
{
    char digits[16];
    size_t len = text.len;
    bool k = len > 0 && (text.data[len - 1] == 'k' || text.data[len - 1] == 'K');
    len -= k;
    if (len == 0 || len >= sizeof digits)
        return false;
    memcpy(digits, text.data, len);
    digits[len] = '\0';
    if (!text_to_i64(digits, 1, LIMIT_NODES, ret))
        return false;
    *ret *= k ? 1024 : 1;
    return *ret <= LIMIT_NODES;
}

/* Joins it with what it touches; false if there is no room for one more. */
static bool range_add(struct node_sizes *s, int32_t low, int32_t high)
{
    size_t at = 0, last;
    while (at < s->n && s->range[at].high + 1 < low)
        at++;
    for (last = at; last < s->n && s->range[last].low <= high + 1; last++) {
        low = s->range[last].low < low ? s->range[last].low : low;
        high = s->range[last].high > high ? s->range[last].high : high;
    }
    if (last == at && s->n == NODE_SIZES_MAX)
        return false;
    memmove(&s->range[at + 1], &s->range[last], (s->n - last) * sizeof s->range[0]);
    s->range[at] = (struct node_size){low, high};
    s->n = s->n - (last - at) + 1;
    return true;
}

/* The last of n, n + step, … that the range with n in it covers. */
static int32_t covered_last(const struct node_sizes *s, int32_t n, int32_t step)
{
    for (size_t i = 0; i < s->n && s->range[i].low <= n; i++)
        if (n <= s->range[i].high)
            return n + (s->range[i].high - n) / step * step;
    return n;
}

/* Ranges that others cover are no more ranges, so that these do not bound what is counted: `left`
 * does, for the whole text. What a range covers at once is one step. */
static bool steps_add(struct node_sizes *s, struct node_size r, int32_t step, int32_t *left,
                      const char **what)
{
    for (int32_t n = r.low; n <= r.high; n += step) {
        if ((*left)-- <= 0) {
            *what = "MIN-MAX:STEP are counted one by one; they come to 1024 numbers at most";
            return false;
        }
        if (!range_add(s, n, n))
            return false;
        n = covered_last(s, n, step);
    }
    return true;
}

static bool piece_take(struct node_sizes *s, struct span piece, int32_t *left, const char **what)
{
    struct span rest = piece, range, low_text;
    int64_t low, high, step = 1;
    span_next(&rest, ':', &range);
    bool stepped = range.len < piece.len;
    struct span high_text = range;
    span_next(&high_text, '-', &low_text);
    bool both = low_text.len < range.len;
    *what = "N, MIN-MAX and MIN-MAX:STEP are allowed, between commas";
    if (!number_read(low_text, &low) || (both && !number_read(high_text, &high)) ||
        (stepped && (!both || !number_read(rest, &step))))
        return false;
    high = both ? high : low;
    *what = "the smaller number comes first";
    if (high < low)
        return false;
    *what = "it comes to too many numbers apart from each other; 64 ranges are allowed";
    struct node_size all = {(int32_t)low, (int32_t)high};
    return step == 1 ? range_add(s, all.low, all.high)
                     : steps_add(s, all, (int32_t)step, left, what);
}

bool node_sizes_parse(const char *text, struct node_sizes *ret, struct err *ret_err)
{
    struct span rest = span_of(text), piece;
    const char *what = "it is empty";
    int32_t left = NODE_SIZES_STEPS_MAX;
    ret->n = 0;
    while (span_next(&rest, ',', &piece))
        if (!piece_take(ret, span_trim(piece), &left, &what))
            return err_set(ret_err, ERR_INVALID, "%s", what);
    return ret->n > 0 || err_set(ret_err, ERR_INVALID, "%s", what);
}

int32_t node_sizes_largest(const struct node_sizes *s, int32_t most)
{
    for (size_t i = s->n; i > 0; i--)
        if (s->range[i - 1].low <= most)
            return s->range[i - 1].high < most ? s->range[i - 1].high : most;
    return 0;
}
