/* Times between which something was, as options of bhist and bacct take them. */
#ifndef REMUDA_CLI_LSF_INTERVAL_H
#define REMUDA_CLI_LSF_INTERVAL_H

#include "script/options/option.h"

#include <stdbool.h>
#include <stdint.h>

struct lsf_interval {
    bool given;
    int64_t from_us, to_us; /* 0 = open */
};

/* "2026/11/1,2026/11/23", "9:00,.", ".-2,": local time; one alone is that day, hour or month. A
 * time has [[[year/]month/]day/]hour:[minute], [[year/]month/]day, or a month and '/'; "." is now,
 * ".-2" two days ago, ".-2:" two hours. ERR_VALUE. */
bool lsf_interval_parse(const char *text, int64_t now_us, struct lsf_interval *ret,
                        struct err *ret_err);
/* Of an option: the row's `at` is an interval. */
SETTER(lsf_set_interval);
/* Its end is not of it; 0 (it never happened) is in none but the interval that was not given. */
bool lsf_interval_has(const struct lsf_interval *i, int64_t us);

#endif
