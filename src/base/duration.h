/* Time limits and memory sizes as people write them. */
#ifndef REMUDA_BASE_DURATION_H
#define REMUDA_BASE_DURATION_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define USEC_PER_SEC  INT64_C(1000000)
#define USEC_PER_MIN  (60 * USEC_PER_SEC)
#define USEC_PER_HOUR (60 * USEC_PER_MIN)
#define USEC_PER_DAY  (24 * USEC_PER_HOUR)

#define TIME_UNLIMITED INT64_MAX /* "UNLIMITED", "INFINITE", -1 */

/* A time and a span, or two spans, together: what has no end stays without end, and what would not
 * fit is the end of what fits. The one way to add times. */
static inline int64_t time_add(int64_t at_us, int64_t span_us)
{
    int64_t sum;
    if (at_us == TIME_UNLIMITED || span_us == TIME_UNLIMITED)
        return TIME_UNLIMITED;
    if (__builtin_add_overflow(at_us, span_us, &sum))
        return span_us > 0 ? TIME_UNLIMITED : INT64_MIN;
    return sum;
}

/* A limit as sbatch(1) --time: minutes, minutes:seconds, hours:minutes:seconds, days-hours,
 * days-hours:minutes, days-hours:minutes:seconds, UNLIMITED, INFINITE, -1. Seconds are kept (Slurm
 * rounds up to minutes; callers that want that do it). */
bool duration_parse(const char *text, int64_t *ret_us, struct err *ret_err);
/* The same, and 2h, 90m, 1d12h30m: days, hours, minutes, seconds in this order, each at most
 * once. */
bool duration_parse_units(const char *text, int64_t *ret_us, struct err *ret_err);
/* LSF's -W: minutes or hours:minutes. */
bool duration_parse_lsf(const char *text, int64_t *ret_us, struct err *ret_err);
/* "[days-]HH:MM:SS" (sacct, scontrol); TIME_UNLIMITED is "UNLIMITED". */
void duration_format(int64_t us, struct str *out);
/* squeue's shorter form: "M:SS", "H:MM:SS", "D-HH:MM:SS"; TIME_UNLIMITED is "UNLIMITED". */
void duration_format_short(int64_t us, struct str *out);

/* As one says it: "2 h", "1 d 2 h 30 min", "45 s"; what is left under a minute goes, but of less
 * than that. TIME_UNLIMITED is "unlimited". */
void duration_say(int64_t us, struct str *out);

/* A memory size with optional suffix K M G T (any case, optional B: "1GB", "4g"); no suffix means
 * MiB. Result in MiB, K rounded up. */
bool size_parse_mib(const char *text, int64_t *ret_mib, struct err *ret_err);
/* Slurm's rendering with the largest suffix that divides exactly ("16G", "1500M"); `unit` one of
 * "KMGTP" forces it, 0 chooses. */
void size_format_mib(int64_t mib, char unit, struct str *out);
/* sacct's MaxRSS and the like: bytes in K, M, G with up to two decimals ("1024K", "1.50G"); `unit`
 * as above, 0 chooses. */
void size_format_bytes(int64_t bytes, char unit, struct str *out);
/* A count with optional suffix K (1024) M G T, as --gres and licences accept. */
bool count_parse(const char *text, int64_t *ret_count, struct err *ret_err);

#endif
