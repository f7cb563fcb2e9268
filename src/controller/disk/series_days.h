/* The files of series as days: STATE/series/2026-11-23.db, 2026-11-22.10s.db. */
#ifndef REMUDA_CONTROLLER_SERIES_DAYS_H
#define REMUDA_CONTROLLER_SERIES_DAYS_H

#include "base/arena.h"
#include "base/err.h"
#include "model/record/series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERIES_DAY_US INT64_C(86400000000)

struct series_day_file {
    const char *name, *path;
    int64_t day_us; /* its begin, UTC */
    int64_t gap_us; /* as its name says; 0 = as the samples came */
};

/* In the order of days, the coarser first; none if the directory is not there. Other files are left
 * out. In the arena. */
void series_days_list(const char *dir, struct arena *a, struct series_day_file **ret,
                      size_t *ret_n);
/* Path of the file for samples that come of the day of that time. */
const char *series_day_path(const char *dir, int64_t at_us, struct arena *a);

/* The first day with something to be done by that time: whose files are all too old, or of which
 * there is a finer file than its age has. False: there is none. */
bool series_days_due(const char *dir, const struct series_keep *keep, int64_t now_us,
                     int64_t *ret_day_us);
/* Does it. What is written gets its name when it is whole, before what it was made of goes. */
bool series_day_thin(const char *dir, const struct series_keep *keep, int64_t now_us,
                     int64_t day_us, struct err *ret_err);

#endif
