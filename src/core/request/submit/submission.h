/* A submission while it is looked at, between check.c, which refuses it or not, and
 * submit.c, which keeps it. */
#ifndef REMUDA_CORE_REQUEST_SUBMIT_SUBMISSION_H
#define REMUDA_CORE_REQUEST_SUBMIT_SUBMISSION_H

#include "core/request/request.h"

/* A job that may come of it, or an array. */
struct draft {
    struct job_spec spec; /* texts of the request, or of the arena */
    struct idset ids;     /* of an array: its indexes */
    uint32_t limit;       /* of an array: how many may run at once */
};

struct submission {
    const struct msg_submit *m; /* borrowed until it is closed */
    struct draft *draft;
    size_t n;           /* components, 1 of a plain job */
    struct str warning; /* for the user */
    struct str detail;  /* why not */
};

/* Sets `detail` and returns the refusal. */
enum refusal submission_refuse(struct submission *s, enum refusal refusal, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds a sentence; NULL and "" add none. */
void submission_say(struct str *to, const char *sentence);
/* Its jobs as they would be kept, numbers among them; owned by the caller. */
struct jobrec *submission_trials(const struct core *c, const struct submission *s);
/* Bytes on the disk of its long texts, of each element, and of the list of elements. */
uint64_t submission_texts(const struct job_spec *spec, const struct idset *ids);

#endif
