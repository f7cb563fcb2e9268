/* Dates. Nothing here knows the time zone or reads a clock: the caller passes `now` and how local
 * time maps to UTC. */
#ifndef REMUDA_BASE_CALENDAR_CIVIL_H
#define REMUDA_BASE_CALENDAR_CIVIL_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct civil {
    int year, month, day; /* 2026, 1–12, 1–31 */
    int hour, minute, second;
    int weekday; /* 0 = Sunday; ignored on input */
};

/* Proleptic Gregorian, UTC, seconds since 1970. Algorithms: H. Hinnant, "chrono-Compatible
 * Low-Level Date Algorithms". */
int64_t civil_to_sec(const struct civil *c);
int64_t civil_sec(int64_t us); /* whole seconds, rounded down */
/* Days of the proleptic Gregorian calendar, before 1970 too; weekday: 0 = Sunday. */
void civil_from_sec(int64_t sec, struct civil *ret);

/* How a place maps local time to UTC. `local_to_sec` and `sec_to_local` must not be NULL. civil_utc
 * below is one. */
struct civil_zone {
    /* of a time that there is twice the first */
    int64_t (*local_to_sec)(const struct civil *local);
    /* seconds of the epoch → what clocks show */
    void (*sec_to_local)(int64_t sec, struct civil *ret_local);
};
extern const struct civil_zone civil_utc;

/* A point in time as sbatch(1) --begin and sacct(1) -S take it: HH:MM[:SS] [AM|PM] (today, or
 *   tomorrow if `future` and past),
 * midnight, noon, elevenses, fika, teatime, today, tomorrow, yesterday, now,
 *   now+count[seconds|minutes|hours|days|weeks], now-count…, MMDD[YY],
 * MM/DD[/YY], MM.DD[.YY], YYYY-MM-DD[THH:MM[:SS]] (also "YYYY-MM-DD-HH:MM:SS"), and uts seconds
 * ("uts=N", "utsN" or plain ≥ 9 digits). A day and a time of day combine in either order with a
 * blank or - between, or T after a date ("12/25 16:00", "noon-tomorrow", "16:00-12/25"); a day
 * alone is its midnight. A day without a year is the next such day if `future`, else the last. The
 * answer is a whole second; a day before 1970 is the first second of that year. The lead of an
 * error is Slurm's line. */
bool civil_parse(const char *text, int64_t now_us, const struct civil_zone *zone, bool future,
                 int64_t *ret_us, struct err *ret_err);

/* "2026-11-21T05:06:01" */
void civil_format_iso(int64_t us, const struct civil_zone *zone, struct str *out);
/* SLURM_TIME_FORMAT: "standard" or NULL → ISO; "relative" → "Today"-like short forms as squeue(1)
 * describes; otherwise a strftime(3) format, in the C locale; %Z is the offset, and what is no
 * conversion is copied. One without a % says nothing: ISO. */
void civil_format(int64_t us, int64_t now_us, const char *format, const struct civil_zone *zone,
                  struct str *out);

#endif
