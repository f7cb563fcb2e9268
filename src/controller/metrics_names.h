/* By which names the port of the metrics may be asked for. A browser sends the name that it asked
 * name services for: one that some server's owner has had point here is none of them, and his page
 * is told nothing. */
#ifndef REMUDA_CONTROLLER_METRICS_NAMES_H
#define REMUDA_CONTROLLER_METRICS_NAMES_H

#include "base/arena.h"

#include <stdbool.h>

/* MetricsAddress is HOST:PORT, and behind it, with commas, further names; * = any. The first of
 * them, in the arena; "" if the setting is empty. */
const char *metrics_address_of(const char *setting, struct arena *a);
/* `host`: as the request has it (Host: NAME[:PORT]); NULL = it names none, as no browser's does.
 * True for numbers, for localhost, for this machine's name (`own`) and the first part of it, for
 * the names in the two settings; letters of either case. */
bool metrics_name_is_ours(const char *host, const char *own, const char *setting,
                          const char *slurmctld_host);

#endif
