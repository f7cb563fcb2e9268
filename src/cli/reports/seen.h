/* What a job did, as its series say it (reading/reading.h): fetched and read. */
#ifndef REMUDA_CLI_REPORTS_SEEN_H
#define REMUDA_CLI_REPORTS_SEEN_H

#include "io/client/client.h"
#include "model/job/job.h"
#include "reading/reading.h"

struct seen {
    struct curves curves;   /* joined */
    struct reading reading; /* what was found in them */
    bool fetched;           /* false: a controller that keeps none, or is of an earlier release */
};

/* Of shorter ones there are too few samples. */
bool seen_is_worth(const struct job *j);
/* Of that run of it, 0 = the one that the record is of. */
void seen_read(struct seen *s, struct client *c, const struct job *j, uint32_t attempt);
void seen_done(struct seen *s); /* what reading and curves hold */
/* A line for each finding, broken between words so that none is wider. Appended. */
void seen_lines_add(const struct seen *s, int indent, int width, struct str *out);
/* The same, broken between words at the width of the terminal, or 100. */
void seen_print_lines(const struct seen *s, int indent);

#endif
