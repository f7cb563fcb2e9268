/* Lines of a log that one party may cause: so many at once, then one now and then. The log stands
 * on the disk on which the store is; what others say would fill it otherwise. */
#ifndef REMUDA_BASE_LINE_SHARE_H
#define REMUDA_BASE_LINE_SHARE_H

#include "base/duration.h"

#include <stdbool.h>
#include <stdint.h>

#define LINES_AT_ONCE 64
#define LINE_EVERY_US (10 * USEC_PER_SEC)
#define LINE_BYTES    2048u /* of a line that others have a part in */

/* All zero at first. */
struct line_share {
    int64_t paid_us;  /* until when the lines are paid that there were */
    uint64_t missing; /* lines since the last that there was */
};

/* May there be one more? If not it is counted as missing; who writes one says how many are, and
 * sets that to zero. Of lines that come one after the other each is due so much later than the one
 * before. */
static inline bool line_share_take(struct line_share *s, int64_t now_us)
{
    int64_t last = now_us + LINES_AT_ONCE * LINE_EVERY_US;
    if (s->paid_us < now_us)
        s->paid_us = now_us;
    if (s->paid_us > last) /* the clock was set */
        s->paid_us = last;
    if (s->paid_us + LINE_EVERY_US > last) {
        s->missing++;
        return false;
    }
    s->paid_us += LINE_EVERY_US;
    return true;
}

#endif
