/* A submission with qsub, between qsub.c and qsub_files.c. */
#ifndef REMUDA_CLI_PBS_QSUB_H
#define REMUDA_CLI_PBS_QSUB_H

#include "cli/pbs/pbs.h"
#include "cli/submit/batch.h"
#include "script/pbs/pbs.h"

struct qsub {
    struct submit_batch b;
    struct dialect_site site;
    struct pbs_request request;
    struct client *client;
    struct str warnings;
    const char *home, *login_shell;
};

/* Where the job's streams go, once its name is known. */
void qsub_files_set(struct qsub *s);

#endif
