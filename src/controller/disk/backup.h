/* `remudad backup` and `remudad restore`: the cluster of a state directory to a file, and back. */
#ifndef REMUDA_CONTROLLER_BACKUP_H
#define REMUDA_CONTROLLER_BACKUP_H

/* --state DIR FILE; the exit status. The controller may run. */
int backup_main(int argc, char **argv);
/* --state DIR FILE; the exit status. The controller must not run; what is replaced is kept beside,
 * with the ending ".before". */
int restore_main(int argc, char **argv);

#endif
