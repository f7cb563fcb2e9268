/* Schedules against those of other simulators, to the second. */
#ifndef REMUDA_SIM_CHECK_H
#define REMUDA_SIM_CHECK_H

#include <stdbool.h>

struct exactness {
    unsigned n, failed; /* schedules compared; those that differ */
};

/* Compares a trace with a table of expected starts, or with the rows of reference.csv that are its
 * own; `only`: columns, comma-separated, NULL = all. Prints what differs. */
struct exactness exactness_of(const char *trace, const char *expected, bool reference,
                              const char *only);

#endif
