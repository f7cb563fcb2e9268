/* remuda version: ours, and the Slurm release whose commands we answer as. */
#include "cli/program/commands.h"
#include "cli/program/program.h"

#include <stdio.h>

int cmd_version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    printf("remuda %s (commands as %s)\n", REMUDA_VERSION, SLURM_VERSION_TEXT);
    return 0;
}
