/* The option tables of all commands, in the order of commands.h: what manual pages, the page of
 * compatibility and completion are made from. */
#ifndef REMUDA_CLI_PROGRAM_TABLES_H
#define REMUDA_CLI_PROGRAM_TABLES_H

#include "script/options/option.h"

struct command_table {
    const char *command;              /* "squeue", "remuda why" */
    const char *doc;                  /* one line */
    bool own;                         /* of remuda: "remuda NAME" */
    const struct option_table *table; /* NULL: sbatch, salloc or srun, whose rows are shared */
    unsigned submit;                  /* which of those: enum command */
};

/* NULL past the last. */
const struct command_table *command_table_at(size_t i);
/* By the name that is typed: "squeue", "why"; NULL = there is none. */
const struct command_table *command_table_of(const char *name);
/* The i-th option of the command, refused ones among them; NULL past the last. */
const struct option_row *command_row(const struct command_table *t, size_t i);

#endif
