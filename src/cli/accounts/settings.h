/* What is being read of an association's or QOS's settings, between settings.c and
 * settings_said.c. */
#ifndef REMUDA_CLI_ACCOUNTS_SETTINGS_H
#define REMUDA_CLI_ACCOUNTS_SETTINGS_H

#include "cli/accounts/accounts.h"

struct taking {
    struct sacctmgr *s;
    const struct book *b;
    struct sacctmgr_given *st;
    bool of_qos;
    VEC(struct limit) limit;
    struct str fields;
};

/* Adds to st->said what will be set, in Slurm's words. */
void assoc_settings_say(struct taking *t, const struct specs *sp);
void qos_settings_say(struct taking *t);

#endif
