/* How much of the controller's disk a node may fill with samples of jobs: so much at once, as after
 * a night without the controller, and beyond that what a day of the largest node brings many times
 * over. What is too much is not acknowledged, so an honest node keeps it and sends it later. */
#ifndef REMUDA_CONTROLLER_SERIES_SHARE_H
#define REMUDA_CONTROLLER_SERIES_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERIES_SHARE_AT_ONCE (INT64_C(64) << 20) /* bytes */
#define SERIES_SHARE_A_DAY   (INT64_C(1) << 30)

struct series_share; /* opaque */

struct series_share *series_share_new(void);    /* nobody has sent anything */
void series_share_free(struct series_share *s); /* NULL is allowed */
/* Takes the bytes from what the node has left. False: it has not so many; *ret_say: that is to be
 * logged, which is once until it has had room for an hour. `now_us` is monotonic. */
bool series_share_take(struct series_share *s, const char *node, size_t bytes, int64_t now_us,
                       bool *ret_say);
/* The node said what it may not (series/intake.h). True: that is to be logged, which is once until
 * it has said nothing of the kind for an hour. */
bool series_share_odd(struct series_share *s, const char *node, int64_t now_us);

#endif
