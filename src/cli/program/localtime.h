/* The time zone of this process (TZ, /etc/localtime), for base/calendar/civil.h. */
#ifndef REMUDA_CLI_PROGRAM_LOCALTIME_H
#define REMUDA_CLI_PROGRAM_LOCALTIME_H

#include "base/calendar/civil.h"

extern const struct civil_zone civil_local;

/* Wall clock, µs since 1970. */
int64_t time_now_us(void);

#endif
