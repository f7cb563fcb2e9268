/* How long the jobs of a user ran, by the limit they had: the last two of each of the limits that
 * were used last. Kept as a text in the user's row of the table `usage`: "3600:130:125,86400:40" is
 * 130 s and before that 125 s of those that asked for an hour; the limit used last is first. */
#ifndef REMUDA_CORE_RECORD_USERS_RUN_TIMES_H
#define REMUDA_CORE_RECORD_USERS_RUN_TIMES_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

#define RUN_TIMES_MOST 16 /* limits of one user in one account */

struct run_time {
    int64_t limit_s;       /* asked for; 0 = none */
    int64_t last_s;        /* at least 1 */
    int64_t before_last_s; /* 0 = there was none */
};
struct run_times {
    struct run_time v[RUN_TIMES_MOST]; /* the shortest limit first */
    size_t n;
};

/* What makes no sense is left out; NULL = none. */
void run_times_parse(const char *text, struct run_times *ret);
/* "limit:last:before" in seconds, joined by commas */
void run_times_format(const struct run_times *t, struct str *out);
/* One more of that limit ran so long. The limit that was used longest ago goes where there is no
 * room: it is returned, else -1. */
int64_t run_times_learn(struct run_times *t, int64_t limit_s, int64_t ran_s);
/* The mean of the last two. */
int64_t run_time_expected(const struct run_time *one);

#endif
