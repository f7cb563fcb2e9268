/* A picture of runs over time: what is busy, and how many jobs wait. */
#ifndef REMUDA_SIM_SVG_H
#define REMUDA_SIM_SVG_H

#include "sim/report/report.h"

/* Each run is a column, with the same scales; A machine with GPUs gets a row for them. False with a
 * message if it cannot be written. */
bool svg_write(const char *path, const struct trace *t, const struct report_run *const *run,
               size_t runs, struct err *ret_err);

#endif
