/* "0-3,8": numbers folded as CPU and device lists are. */
#ifndef REMUDA_SCHED_BOOKS_RANGES_H
#define REMUDA_SCHED_BOOKS_RANGES_H

#include "base/str.h"

/* Begins as {0}. Whoever has it ends the text with str_done. */
struct ranges {
    struct str text;     /* whole only after ranges_flush */
    int64_t first, last; /* the run at hand, which is not in the text yet … */
    bool open;           /* … if there is one */
};

/* Ends the run at hand: after the last number, before the text is read. Nothing if none is. */
static inline void ranges_flush(struct ranges *r)
{
    if (!r->open)
        return;
    if (r->text.len)
        str_addc(&r->text, ',');
    str_add_i64(&r->text, r->first);
    if (r->last > r->first) {
        str_addc(&r->text, '-');
        str_add_i64(&r->text, r->last);
    }
    r->open = false;
}

/* Numbers come ascending, each once; in any other order they are not folded. */
static inline void ranges_add(struct ranges *r, int64_t n)
{
    if (r->open && n == r->last + 1) {
        r->last = n;
        return;
    }
    ranges_flush(r);
    r->first = r->last = n;
    r->open = true;
}

#endif
