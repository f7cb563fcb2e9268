/* /metrics and its kin over HTTP, for those who watch the cluster by machine: at MetricsAddress for
 * everybody who can connect, at metrics.sock in the state directory for the controller's user. */
#ifndef REMUDA_CONTROLLER_METRICS_PORT_H
#define REMUDA_CONTROLLER_METRICS_PORT_H

#include "controller/controller.h"

struct metrics_port; /* opaque */

/* Closed until it is told an address. */
struct metrics_port *metrics_port_new(struct controller *c);
/* As the settings in force say: opens and closes. What cannot be opened is logged, and tried again;
 * the cluster works on. */
void metrics_port_configure(struct metrics_port *p);
void metrics_port_free(struct metrics_port *p); /* NULL is fine */

#endif
