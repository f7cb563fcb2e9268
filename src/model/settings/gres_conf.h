/* gres.conf: devices of nodes as an operator describes them, in Slurm's grammar. Pure: the text
 * comes from the shell. */
#ifndef REMUDA_MODEL_GRES_CONF_H
#define REMUDA_MODEL_GRES_CONF_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gres_detect { DETECT_UNSET, DETECT_OFF, DETECT_NVML, DETECT_RSMI };

/* A line that names a resource. Texts live in the arena. */
struct gres_conf_row {
    int line;                /* from 1 */
    const char *name, *type; /* "gpu", "v100"; type NULL = what is found */
    const char **file;       /* each file of File= or MultipleFiles=, ranges written out */
    size_t nfiles;           /* of `files` */
    bool one_device;         /* MultipleFiles: all of them are files of one device */
    bool count_only;         /* Flags=CountOnly */
    int64_t count;           /* 0 = as many as files */
    const char *cores;       /* core numbers, folded; NULL = what is found */
    /* "-1,16,0": links to each device of the node, -1 = itself; NULL = what is found. */
    const char *links;
};

struct gres_conf {
    enum gres_detect detect; /* for this node */
    struct gres_conf_row *row;
    size_t n;
    const char *remarks; /* what has no effect, sentences separated by "; "; NULL = nothing */
};

/* What the text says about the node. False with an error that names file, line and key, and what is
 * allowed. */
bool gres_conf_parse(const char *text, const char *file, const char *node, struct arena *a,
                     struct gres_conf *ret, struct err *ret_err);

#endif
