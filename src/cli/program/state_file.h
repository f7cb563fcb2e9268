/* Files that commands leave in a state directory for its daemons. */
#ifndef REMUDA_CLI_PROGRAM_STATE_FILE_H
#define REMUDA_CLI_PROGRAM_STATE_FILE_H

#include <stdio.h>

/* For writing, empty; `name` is below the directory, and no link in its place is followed. Where
 * the directory is somebody else's, as where root stops a user's cluster, none on the way there is,
 * and what is there already is taken only if it is an ordinary file of theirs or ours with no other
 * name. NULL with errno. */
FILE *state_file(const char *state_dir, const char *name);

#endif
