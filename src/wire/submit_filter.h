/* What the site's submit filter (SubmitFilter=) is told of a submission, and what it answers, as
 * JSON; docs/submit-filter.md has both for those who write one. */
#ifndef REMUDA_WIRE_SUBMIT_FILTER_H
#define REMUDA_WIRE_SUBMIT_FILTER_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "model/job/job.h"
#include "model/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who asks, as the controller knows it. */
struct filter_user {
    uint32_t uid, gid;
    const char *name, *group, *groups, *host; /* NULL: not known */
    bool is_admin;
};

/* The requests that a filter is asked about. */
bool submit_filter_asks(enum message_kind kind);

/* The jobs of such a request, for the answer to change in place; n = how many. In the arena. */
struct job_spec **submit_filter_specs(const struct message *m, struct arena *a, size_t *ret_n);

/* Appends the question: one JSON object and a newline. */
void submit_filter_write(struct str *out, const struct message *m, const struct filter_user *who);

struct filter_answer {
    const char *refuse;  /* the sentence with which it is refused; NULL = it is not */
    const char *message; /* for the user; NULL = nothing */
};

/* Reads an answer; nothing but blanks says that all stays as it is. What its "jobs" name is set in
 * the specs, first to first. Texts are in the arena. False: it cannot be read, names what no job
 * has, a value out of its range, or has more jobs than there are; the specs may be half changed. */
bool submit_filter_read(const char *text, size_t len, struct job_spec *const *specs, size_t n,
                        struct arena *a, struct filter_answer *ret, struct err *ret_err);

#endif
