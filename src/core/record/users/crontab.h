/* Users' tables for scrontab, and their jobs. Only core/ includes this. */
#ifndef REMUDA_CORE_RECORD_USERS_CRONTAB_H
#define REMUDA_CORE_RECORD_USERS_CRONTAB_H

#include "core/record/state.h"

/* At the start; its jobs come as all jobs do, and join. */
void crontab_load(struct core *c, const struct crontab *row);
/* The tables and their lists; the texts are the pool's. */
void crontabs_free(struct core *c);
struct crontabrec *crontab_find(const struct core *c, uint32_t uid); /* NULL = there is none */
/* In place of the one that there is; NULL = none any more. */
void crontab_put(struct core *c, uint32_t uid, const char *text);
/* The job is of its user's table, and is due by it. */
void cron_join(struct core *c, struct jobrec *r);
/* It is no more, and goes on, or ends, as any job. */
void cron_leave(struct core *c, struct jobrec *r);
/* A job of a table is over: it waits for its next time when the event ends; who ended it for good
 * has its lines in the table marked. */
void cron_over(struct core *c, struct jobrec *r);
/* At the start, when all is loaded: those that are over and whose entry is gone, or another's, are
 * no more of a table. An older release lost such jobs, and their tables were written anew without
 * them. */
void crons_restore(struct core *c);
/* Has run, and is to wait: its begin time is the next. */
void cron_wait(struct core *c, struct jobrec *r);
/* The clock was set, or the time zone: those that wait, wait for the time that is next now. */
void crons_look(struct core *c);

#endif
