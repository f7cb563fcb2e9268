/* remuda version: ours, and the Slurm release whose commands we answer as. */
#include "cli/program/commands.h"
#include "cli/program/own_line.h"
#include "cli/program/program.h"
#include "io/build.h"

#include <stdio.h>

static const struct option_row rows[] = {OWN_HELP};
OPTION_TABLE(
    version_options, rows, .usage = "remuda version [OPTIONS]",
    .about = "  The version of this release, and the Slurm whose commands it answers as.\n",
    .words = WORDS_MIXED, .word = own_word_refuse);

int cmd_version(int argc, char **argv)
{
    struct arena *a = arena_new();
    struct option_line line = {.table = &version_options, .a = a};
    int status;
    if (own_line_read("remuda version", &line, argc, argv, &status))
        printf("remuda %s; commands as %s\n", build_name(), SLURM_VERSION_TEXT);
    arena_free(a);
    return status;
}
