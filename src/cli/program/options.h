/* Command lines of the listing commands (squeue, sinfo, sacct, scancel, …): a table a command, GNU style. Letters bundle and take attached values,
 * long names may be cut short, options and words may be mixed, "--" ends the options. */
#ifndef REMUDA_CLI_PROGRAM_OPTIONS_H
#define REMUDA_CLI_PROGRAM_OPTIONS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>

enum cli_arg { CLI_NONE, CLI_VALUE, CLI_ATTACHED /* value only after '=' or attached to the letter */ };

struct cli_option {
    const char *name; /* long name without --; NULL = only a letter */
    char letter;      /* 0 = none */
    enum cli_arg arg;
    int id; /* what the callback gets */
    /* For --help; NULL = hidden (an alias). A word in back quotes is what the value is called: "jobs of these `users`". */
    const char *doc;
};

struct cli_options {
    const struct cli_option *option;
    size_t n;
    bool words_allowed; /* other words go to the callback with id CLI_WORD */
};
#define CLI_WORD 0

/* Calls set(ctx, id, value) for each option in order; value is NULL where none was given. A false result of set ends with its error. */
bool cli_parse(const struct cli_options *table, int argc, char **argv,
               bool (*set)(void *ctx, int id, const char *value, struct err *ret_err), void *ctx,
               struct err *ret_err);
/* A line for each option. The shape follows `usage`: "squeue [OPTIONS] WORDS" has --help and --usage under a heading of their own, "sacct [<OPTION>]" and
 * "sshare [OPTION]" call theirs the valid ones. */
void cli_help_print(const struct cli_options *table, const char *usage);
/* A few lines with all options; of "[<OPTION>]" and "[OPTION]" as short, where the whole help is long. */
void cli_usage_print(const struct cli_options *table, const char *usage);

#endif
