/* The system's time zone as base/calendar/zone.h writes it. */
#ifndef REMUDA_CONTROLLER_SITE_LOCAL_ZONE_H
#define REMUDA_CONTROLLER_SITE_LOCAL_ZONE_H

#include "base/arena.h"

/* From a year ago to some years ahead; NULL = UTC. */
const char *local_zone(struct arena *a);

#endif
