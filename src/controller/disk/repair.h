/* `remudad repair`: a new store of what can be read of a damaged one. */
#ifndef REMUDA_CONTROLLER_REPAIR_H
#define REMUDA_CONTROLLER_REPAIR_H

/* --state DIR; the exit status. The controller must not run. The damaged store stays beside, as
 * remuda.db.damaged. */
int repair_main(int argc, char **argv);

#endif
