/* `scontrol show assoc_mgr`: users, associations and QOS with each of their limits and, behind it,
 * what is in use of it; the layout of Slurm 22.05. */
#ifndef REMUDA_CLI_ACCOUNTS_ASSOC_MGR_H
#define REMUDA_CLI_ACCOUNTS_ASSOC_MGR_H

#include "base/arena.h"
#include "io/client/client.h"

/* What is shown; lists are comma-separated, NULL = all. */
struct assoc_mgr_ask {
    bool users, assocs, qos;
    const char *of_users, *of_accounts, *of_qos;
    bool oneliner;
    const char *cluster; /* its name */
};
/* `client` is connected. False after an error was printed. */
bool assoc_mgr_show(struct client *client, const struct assoc_mgr_ask *ask, struct arena *a);

#endif
