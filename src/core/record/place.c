/* Places in the order that went from one job to another (scontrol top), in the record as
 * "job:submitted:since:limit:width:nice". */
#include "core/record/record.h"

#include <string.h>

enum { ID, SUBMIT, SINCE, LIMIT, WIDTH, NICE, NUMBERS };

static bool numbers_read(const char *text, int64_t n[NUMBERS])
{
    struct span rest = span_of(text), piece;
    for (size_t i = 0; i < NUMBERS; i++) {
        char digits[24] = "";
        if (!span_next(&rest, ':', &piece) || piece.len >= sizeof digits)
            return false;
        memcpy(digits, piece.data, piece.len);
        if (!text_to_i64(digits, INT64_MIN, INT64_MAX, &n[i]))
            return false;
    }
    return n[NICE] >= INT32_MIN && n[NICE] <= INT32_MAX;
}

struct order_place place_taken(const struct jobrec *r)
{
    int64_t n[NUMBERS];
    if (!r->j.place || !numbers_read(r->j.place, n))
        return (struct order_place){0};
    return (struct order_place){.job_id = (uint64_t)n[ID],
                                .submit_us = n[SUBMIT],
                                .since_us = n[SINCE],
                                .limit_us = n[LIMIT],
                                .width = n[WIDTH],
                                .nice = (int32_t)n[NICE]};
}

void place_give(struct core *c, struct jobrec *r, const struct order_place *place)
{
    ASSERT(place->job_id);
    struct str s = STR_INIT;
    str_addf(&s, "%lld:%lld:%lld:%lld:%lld:%d", (long long)place->job_id,
             (long long)place->submit_us, (long long)place->since_us, (long long)place->limit_us,
             (long long)place->width, (int)place->nice);
    text_set(c, &r->j.place, place->job_id == r->j.id ? NULL : str_text(&s));
    str_done(&s);
}

void place_nice(struct core *c, struct jobrec *r, int32_t nice)
{
    struct order_place place = place_taken(r);
    if (!place.job_id)
        return;
    place.nice = nice;
    place_give(c, r, &place);
}
