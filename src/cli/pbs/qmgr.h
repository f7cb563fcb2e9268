/* Inside cli/pbs/: qmgr. */
#ifndef REMUDA_CLI_PBS_QMGR_H
#define REMUDA_CLI_PBS_QMGR_H

#include "cli/pbs/nodes.h"
#include "cli/pbs/server.h"

#define QMGR_NAME "qmgr"

/* What qmgr ends with, by its manual page. */
enum qmgr_exit { QMGR_PARSE = 1, QMGR_FAILED = 2, QMGR_NO_SERVER = 3 };

enum qmgr_object { SERVER, QUEUE, NODE, OTHER };

struct qmgr {
    const char *directive; /* -c; NULL: lines of stdin */
    bool stop, silent, check;
    struct arena *a;    /* until the command ends */
    struct arena *look; /* of `seen` and `nodes`, until they are read anew */
    struct client *client;
    struct pbs_seen seen;
    struct pbs_nodes nodes;
    struct str out;
};

/* Both say it, but with -z, and return what to end with: a word is none of `known`; a thing is not
 * done here, and what does it instead. */
int qmgr_parse_failed(const struct qmgr *q, struct span word, const char *what, const char *known);
/* Says that `what` is not done here and what is to be done `instead`; returns what to end with. */
int qmgr_refused(const struct qmgr *q, const char *what, const char *instead);

/* Is it among the words "n1,n2", "n1@server", or are these "@default", "@active" or none? */
bool qmgr_is_named(const struct qmgr *q, struct span names, const char *name);
/* Says which of the names there are none of; 0: all are there. */
int qmgr_unknown_said(const struct qmgr *q, enum qmgr_object object, struct span names);

/* Reads q->seen and q->nodes anew, and what they had is gone; 0, or what to end with. */
int qmgr_look(struct qmgr *q);
/* "set", of what q->seen and q->nodes have: each "name = value" of `settings` for each of the
 * names. Returns 0, or what to end with; what was wrong is said. */
int qmgr_set(struct qmgr *q, enum qmgr_object object, struct span names, struct span settings);

#endif
