/* Reports that the controller has not acknowledged yet, in the order they were made. Private to
 * agent/. */
#ifndef REMUDA_AGENT_REPORT_H
#define REMUDA_AGENT_REPORT_H

#include "agent/held.h"
#include "model/message.h"

#include <stdbool.h>
#include <stdint.h>

struct report {
    struct report *next;   /* in the order of their numbers */
    struct msg_report msg; /* msg.usage.v points to `usage`, msg.detail is owned */
    struct step usage;     /* of the step, as measured last */
    char *node;            /* of usage, owned */
    int64_t sent_us;       /* last time; 0 = not yet on this connection */
};

struct reports {
    struct report *first, *last;
    size_t n;          /* that are not acknowledged */
    uint64_t next_seq; /* number of the next */
};

/* 0 begins with 1: a sequence number is never 0 */
void reports_init(struct reports *r, uint64_t first_seq);
void reports_done(struct reports *r); /* with all that wait to be acknowledged */
/* Makes a report about s from its notes. `seq` 0 when it needs no acknowledgement: then the caller
 * frees it with report_free. */
struct report *report_make(enum report_kind kind, const struct held_step *s, const struct note *n,
                           const char *node, int64_t now_us);
void report_free(struct report *p); /* one that is in no list; NULL is allowed */
/* Numbers it and keeps it until acknowledged. */
void reports_add(struct reports *r, struct report *p);
/* Takes the report of that number out; NULL if it is not there (acknowledged before). The caller
 * frees it. */
struct report *reports_take(struct reports *r, uint64_t seq);

#endif
