/* remuda plot: what was asked for, as options.c reads it. */
#ifndef REMUDA_CLI_PLOT_PLOT_H
#define REMUDA_CLI_PLOT_PLOT_H

#include "cli/table/json_form.h"

#include <stdbool.h>
#include <stdint.h>

struct plot_line {
    /* as typed; NULL = not given */
    const char *state_dir, *job, *step, *values, *gpus, *from, *to, *theme;
    int64_t attempt, height; /* 0 = the last run; height: lines, 0 = as it fits */
    enum json_form json;
    bool watch, csv, csv_bare, svg, png, all, each; /* of options without a value */
};

#endif
