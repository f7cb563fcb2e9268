/* An update of one job, in two halves: it is checked, and it is taken. */
#ifndef REMUDA_CORE_REQUEST_UPDATE_JOB_H
#define REMUDA_CORE_REQUEST_UPDATE_JOB_H

#include "core/request/request.h"

struct update {
    const struct msg_update_job *m; /* the request at hand */
    const struct job_spec *values;  /* NULL if none are given */
    const char *fields;             /* which of them are meant, comma-separated; NULL = none */
    bool beside; /* other components change with it: what all ask for together is looked at then */
    /* of the job at hand */
    struct job_spec trial;
    bool asks;       /* it waits, and asks for something else */
    bool limit;      /* the time limit changes, to trial.req.time_limit_us */
    int64_t extends; /* it is its owner's to raise it by so much, as nobody is delayed */
};

/* ---- update_fields.c: fields of job_spec, by name; lists of them are parted by commas ---- */
/* May who asks (c->turn.peer) change the job, and in it what is named? Every way to a change asks
 * this. */
enum refusal update_who_check(const struct core *c, const struct jobrec *r, const struct update *u,
                              const char **detail);
/* The first that is not there or never changes, in the arena; NULL = all are fine. */
const char *update_field_wrong(const char *fields, struct arena *a);
/* Does it run, maybe suspended? */
bool update_of_a_run(const struct jobrec *r);
/* May all of them change of such a job, which has started, or mean its nodes? */
bool update_any_time(const struct jobrec *r, const char *fields);
/* Not simply taken: the nodes of a running job, and a hold, which is somebody's. */
bool update_is_taken_apart(const struct jobrec *r, const char *name);

/* ---- update_job.c ---- */
/* May the peer change that, and could the job run as it would be then? Nothing is changed; `u` has
 * what update_take needs. */
enum refusal update_check(struct core *c, struct jobrec *r, struct update *u, const char **detail);
bool update_given(const struct update *u, const char *field); /* is it one of those named? */
/* Would it change which nodes a running job has? */
bool update_resizes(const struct update *u);
/* So many bytes more on the disk, where each element that waits gets a row. */
uint64_t update_disk_more(const struct jobrec *r, const struct job_spec *to);

/* ---- update_limits.c ---- */
/* Behind update_check of each: may there be so many in the accounts, QOS and partitions that they
 * would have, and such ones? Operators may move any. Nothing is changed. */
enum refusal update_limits_check(struct core *c, struct jobrec *const *of, const struct update *u,
                                 size_t n, const char **detail);

/* ---- update_take.c ---- */
/* Behind update_check. Refused, with nothing changed: nodes that a running job cannot give back, a
 * dependency that is none. */
enum refusal update_take(struct core *c, struct jobrec *r, const struct update *u,
                         const char **detail);

#endif
