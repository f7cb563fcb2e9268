/* remuda complete COMMAND WORDS…: for the completion of shells (shells/). */
#ifndef REMUDA_CLI_PROGRAM_COMPLETE_H
#define REMUDA_CLI_PROGRAM_COMPLETE_H

/* argv[1]: the command's name, for remuda's own "remuda" and the name behind it; then the words so
 * far, the last of which is being written and may be empty. Prints what may stand there, a line
 * each, with what it is behind a tab; a line that is a tab alone: the name of a file. Always 0. */
int cmd_complete(int argc, char **argv);

#endif
