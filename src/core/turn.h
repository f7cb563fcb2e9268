/* The turn of the machine itself: its clock, its timers, the end of an event. Only files of core/
 * include this. */
#ifndef REMUDA_CORE_TURN_H
#define REMUDA_CORE_TURN_H

#include "core/query/query.h"

/* ---- settle.c ---- */
void settle(struct core *c); /* does all that is marked, of very much a part */
/* Is there something left of it, for the next wake? */
bool settle_goes_on(const struct core *c);

/* ---- timers.c ---- */
void timers_fire(struct core *c);

/* ---- clock.c: a wall clock that is set ---- */
void clock_look(struct core *c, const struct event *ev); /* was it? */
/* Of which boot the times are; NULL = not known, and what was known stays. */
void clock_boot(struct core *c, const char *boot);
void clock_load(struct core *c, const char *value); /* the meta row "clock" */
void clock_restore(struct core *c);                 /* when all rows are loaded */

#endif
