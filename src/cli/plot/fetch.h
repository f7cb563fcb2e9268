/* The series of a job, asked of the controller. */
#ifndef REMUDA_CLI_PLOT_FETCH_H
#define REMUDA_CLI_PLOT_FETCH_H

#include "io/client/client.h"
#include "reading/curves.h"

/* Adds what there is of that run (0 = the last) after from_us; asks again until all has come. */
bool curves_fetch(struct curves *c, struct client *client, const struct msg_get_series *get,
                  struct err *ret_err);

#endif
