/* joined.conf beside remuda.conf: a NodeName= line for each host that joined and that the site has
 * not described itself. */
#ifndef REMUDA_CONTROLLER_SITE_JOINED_H
#define REMUDA_CONTROLLER_SITE_JOINED_H

#include "controller/controller.h"

/* Adds the node's line, unless it is described already. NULL or "" is no line. What cannot be
 * written is logged. */
void joined_add(struct controller *c, const char *node, const char *line);
/* Takes the line of that node out, if it is there. NULL: nothing. */
void joined_remove(struct controller *c, const char *node);

#endif
