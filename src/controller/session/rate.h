/* How many requests a user may make (SlurmctldParameters=rl_enable): each has a bucket of so many,
 * from which every request takes one, and which fills up again, some each period. Who finds it
 * empty is told when there will be one. */
#ifndef REMUDA_CONTROLLER_RATE_H
#define REMUDA_CONTROLLER_RATE_H

#include "model/settings/settings_words.h"

#include <stdbool.h>
#include <stdint.h>

struct rates; /* opaque */

struct rates *rates_new(void);    /* nobody has asked */
void rates_free(struct rates *r); /* NULL is allowed */

/* Takes one of the user's: 0. Else in how many microseconds there is one again; *ret_say: that is
 * to be logged (rl_log_freq). `now_us` is a clock that is never set back. */
int64_t rate_take(struct rates *r, const struct setting_words *w, uint32_t uid, int64_t now_us,
                  bool *ret_say);

#endif
