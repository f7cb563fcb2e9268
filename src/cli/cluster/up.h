/* remuda up: what was asked for (cluster/up.c), and the configuration of a new cluster
 * (up_conf.c). */
#ifndef REMUDA_CLI_CLUSTER_UP_H
#define REMUDA_CLI_CLUSTER_UP_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct up_line {
    const char *state_dir;        /* NULL = the usual place */
    const char *cluster_name;     /* NULL = the configuration's */
    int64_t nodes;                /* 0 = this machine as it is */
    int64_t cpus;                 /* of each virtual node; 0 = all of the machine */
    int64_t mem_mib;              /* of each virtual node; 0 = the machine's share */
    const char *gres;             /* of virtual nodes */
    bool shape_given;             /* any of --nodes --cpus --mem --gres */
    bool quiet, verbose, restart; /* of options without a value */
};

/* Writes the configuration where there is none; refuses to where one is and a new cluster was
 * described. */
bool up_conf_ensure(const struct up_line *o, struct arena *a, struct err *ret_err);

#endif
