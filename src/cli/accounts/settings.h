/* What is being read of an association's or QOS's settings, between settings.c and
 * settings_said.c. */
#ifndef REMUDA_CLI_ACCOUNTS_SETTINGS_H
#define REMUDA_CLI_ACCOUNTS_SETTINGS_H

#include "cli/accounts/accounts.h"

struct taking {
    struct sacctmgr *s;        /* for messages */
    const struct book *b;      /* what there is: names are looked up in it */
    struct sacctmgr_given *st; /* what was read so far goes there; texts live in s->a */
    bool of_qos;               /* else of an association */
    VEC(struct limit) limit;   /* that are set, or taken away */
    struct str fields;         /* names of the fields that are given, each once, comma-separated */
};

/* Adds to st->said what will be set, in Slurm's words. */
void assoc_settings_say(struct taking *t, const struct specs *sp);
/* What a QOS is to get, in Slurm's lines, into st->said. */
void qos_settings_say(struct taking *t);

#endif
