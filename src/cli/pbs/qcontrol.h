/* Inside cli/pbs/: what is done to jobs, one after the other; silent where it works. */
#ifndef REMUDA_CLI_PBS_QCONTROL_H
#define REMUDA_CLI_PBS_QCONTROL_H

#include "cli/pbs/pbs.h"
#include "model/message.h"

struct qcontrol {
    const char *name;
    const struct dialect_site *site;
    struct client *client;
    struct arena *a;
    VEC(const char *) id; /* operands, as they were given */
    const char *first;    /* qmove: where to; qmsg: the text */
    bool takes_first;
    const char *signal;
    const char *elements;     /* -t of Torque: "1-3,7" of each array that is named; NULL = all */
    const char *hold;         /* -h: letters of u, o, s, p, n; NULL = not given */
    bool over;                /* qdel -x */
    bool pending;             /* the job in hand has not started */
    bool to_error, to_output; /* qmsg -E, -O */
};

typedef int (*qcontrol_deed)(const struct qcontrol *q, const char *id);

/* -t of Torque; false: value is no list of elements. For option_row.set in the same. */
SETTER(qcontrol_elements);
/* An operand. For option_table.word of what begins with a struct qcontrol. */
bool qcontrol_word(void *to, const char *word, struct arena *a, struct err *ret_err);
/* Reads the line into `to`, which begins with `q`, and does the deed to each job that there is and
 * that is not over; what to end with. The caller frees q->id. */
int qcontrol_line(struct qcontrol *q, const struct option_table *t, void *to, int argc, char **argv,
                  qcontrol_deed one);
/* "NAME: WORDS 12.server"; returns status. */
int qcontrol_problem(const struct qcontrol *q, const char *words, const char *id, int status);
/* Sends it; 0, or what to end with, said. */
int qcontrol_ask(const struct qcontrol *q, const char *id, enum message_kind kind,
                 const void *body);

#endif
