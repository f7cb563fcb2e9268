/* Files of the state directory that are nobody else's to read. */
#ifndef REMUDA_CONTROLLER_SITE_PRIVATE_FILES_H
#define REMUDA_CONTROLLER_SITE_PRIVATE_FILES_H

#include "controller/controller.h"

/* Takes the store, copies of it beside it and the authority's key away from everybody else, and
 * says so where they were readable: what was restored or copied has the mode that the copying gave
 * it. */
void private_files_mend(struct controller *c);

#endif
