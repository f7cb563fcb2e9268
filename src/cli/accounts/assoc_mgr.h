/* `scontrol show assoc_mgr`: users, associations and QOS with each of their limits and, behind it,
 * what is in use of it; the layout of Slurm 22.05. */
#ifndef REMUDA_CLI_ACCOUNTS_ASSOC_MGR_H
#define REMUDA_CLI_ACCOUNTS_ASSOC_MGR_H

#include "base/arena.h"
#include "io/client/client.h"

/* What is shown; lists are comma-separated, NULL = all. */
struct assoc_mgr_ask {
    bool users, assocs, qos;                     /* which parts are shown; all, if none was named */
    const char *of_users, *of_accounts, *of_qos; /* comma lists; NULL = all */
    bool oneliner;                               /* each record on a line */
    const char *cluster;                         /* its name */
};
/* `client` is connected. False after an error was printed. */
bool assoc_mgr_show(struct client *client, const struct assoc_mgr_ask *ask, struct arena *a);

#endif
