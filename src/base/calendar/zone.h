/* Local time as a table: how far ahead of UTC a place is, from when on. Pure code takes it from the
 * shell, which knows the system's zone. */
#ifndef REMUDA_BASE_CALENDAR_ZONE_H
#define REMUDA_BASE_CALENDAR_ZONE_H

#include "base/arena.h"
#include "base/calendar/civil.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct zone_rule {
    int64_t from_sec; /* UTC seconds since 1970 */
    int32_t ahead_sec;
};
struct zone {
    /* Ascending; the first holds for all time before, too. None = UTC. */
    const struct zone_rule *rule;
    size_t n;
};

/* "0:3600 1774746000:7200": from:ahead, blank-separated. NULL and "" are UTC. The rules live in the
 * arena. */
bool zone_parse(const char *text, struct arena *a, struct zone *ret, struct err *ret_err);

void zone_local(const struct zone *z, int64_t us, struct civil *ret); /* with the weekday */
/* The µs of a local time. One that clocks skip is taken as if they had not; of two, it is the
 * first. */
int64_t zone_us(const struct zone *z, const struct civil *local);
/* The same local time of day, `days` later. */
int64_t zone_add_days(const struct zone *z, int64_t us, int days);

#endif
