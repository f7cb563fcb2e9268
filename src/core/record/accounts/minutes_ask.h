/* One limit in minutes, asked about: what is used of it, what running jobs may still use, and what
 * a job needs. Only core/record includes this. */
#ifndef REMUDA_CORE_RECORD_MINUTES_ASK_H
#define REMUDA_CORE_RECORD_MINUTES_ASK_H

#include "core/record/accounts/limits.h"

struct minutes_ask {
    const struct core *c;
    const struct limit_hit *h;
    const struct limit_subject *who;
    int64_t unit;                 /* a resource × minute, in units of use.h */
    int64_t most, used, promised; /* in units of use.h, as `used` and `promised` */
    bool counts_used, safe;
};

/* `sum`: sums over running jobs that were made before and are still good, by limit and whom it is
 * counted for → int64_t, owned; NULL = none are kept. */
struct minutes_ask minutes_ask_of(const struct core *c, const struct limit_subject *who,
                                  const struct limit_hit *h, struct map_str *sum);
/* What the job needs of it, with what it has (t->j.alloc_…) and so long. */
int64_t minutes_need(const struct minutes_ask *q, const struct jobrec *t, int64_t us);
/* Do limits hold beforehand, what running jobs may use included (AccountingStorageEnforce=safe)? */
bool minutes_safe(const struct core *c);
/* Is there room for so much more, in the units of use.h? Of what is only counted as used, a job
 * that begins below the limit may (unless AccountingStorageEnforce=safe). */
bool minutes_fit(const struct minutes_ask *q, int64_t need);
/* "GrpTRESMins=cpu=100 of account physics: 80 of 100 minutes are used …" */
void minutes_say(const struct minutes_ask *q, int64_t need, struct str *out);

/* Does the run count against the limit, for whom it is counted? */
bool minutes_count_against(const struct core *c, const struct jobrec *r,
                           const struct limit_subject *who, const struct limit_hit *h);
/* What a run may still use of what the limit is about; `us` gets until when, USE_LONG = no end is
 * known. */
int64_t minutes_left(const struct core *c, const struct jobrec *r, const struct limit_hit *h,
                     int64_t *us);

/* The limits that hold a waiting job there, one after the other; `from` begins with 0. */
bool minutes_held_from(const struct core *c, const struct jobrec *r, const char *partition,
                       size_t *from, struct limit_hit *ret, int64_t *ret_need);
/* What runs of those that a limit is counted for, and when there is room for how much: by limit and
 * whom it is counted for, good as long as the sums. NULL: there are no limits in minutes. */
struct minutes_room {
    void (*drop)(struct minutes_room *room); /* frees it, with what stands behind it */
};
/* By the key of the limit, what is left; NULL where nothing is counted. The book's, until the next
 * change. */
struct map_str *minutes_rooms(const struct core *c);

#endif
