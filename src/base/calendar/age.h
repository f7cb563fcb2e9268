/* How old something is, in whole hours, days or months of a calendar: "48hours", "30days",
 * "12months" or "12". */
#ifndef REMUDA_BASE_CALENDAR_AGE_H
#define REMUDA_BASE_CALENDAR_AGE_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum age_unit { AGE_MONTHS, AGE_DAYS, AGE_HOURS };
struct age {
    enum age_unit unit;
    int32_t n; /* 0 = never so old */
};
#define AGE_MAX 100000

/* Any letter case, a unit may be cut short; empty, NONE and 0 are never. ERR_INVALID says what is
 * allowed. */
bool age_parse(const char *text, struct age *ret, struct err *ret_err);

#endif
