/* When something runs again and again, as cron(8) and scrontab(1) write it: five fields (minute,
 * hour, day of the month, month, day of the week), or a word for some of them (@hourly). A field
 * is a list of numbers, ranges and '*', each with a step ("0-30/5,45"); months and days of the
 * week have names; 7 is Sunday, too. Where both days are restricted, either will do.
 *
 * Local time has hours that come twice and hours that never come. A table that says "each hour"
 * or "each minute" (its minute or hour begins with '*') goes by the time that passes: it runs in
 * both of two equal hours, and not in one that is skipped. Any other names times of the day: it
 * runs in the first of two, and for one that is skipped at the moment when the clocks have
 * jumped. */
#ifndef REMUDA_MODEL_CRON_H
#define REMUDA_MODEL_CRON_H

#include "base/calendar/zone.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cron {
    uint64_t minutes;          /* bit n: minute n */
    uint32_t hours;            /* bit n: hour n */
    uint32_t days;             /* bit n: the n-th of the month, from 1 */
    uint32_t months;           /* bit n: the n-th month, from 1 */
    uint32_t weekdays;         /* bit n: 0 = Sunday */
    bool any_day, any_weekday; /* the field begins with '*': the other decides */
    bool passing;              /* by the time that passes, not by the time of the day */
};

/* Reads the five fields, or the word, at the beginning of a line; blanks may stand before it.
 * *ret_used: bytes read, NULL = nothing but blanks may follow. ERR_INVALID: which field, what is
 * allowed; also for a day that no month has. */
bool cron_parse(const char *text, struct cron *ret, size_t *ret_used, struct err *ret_err);
/* The first time it is due after that one, µs, on a whole minute of local time. What cron_parse has
 * read is due within forty years; INT64_MAX = what it has not is never. */
int64_t cron_next(const struct cron *cron, int64_t after_us, const struct zone *z);

#endif
