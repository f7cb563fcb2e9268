/* Help texts of commands: how one option is written, and lines of options that are wrapped. */
#ifndef REMUDA_BASE_HELP_H
#define REMUDA_BASE_HELP_H

#include "base/str.h"

#include <stdbool.h>

/* How an option takes its value. */
enum help_value { HELP_NONE, HELP_REQUIRED, HELP_OPTIONAL };

/* One option, as both --help and --usage show it. */
struct help_option {
    const char *name; /* long name without --; NULL = only the letter */
    char letter;      /* 0 = none */
    enum help_value value;
    const char *metavar; /* NULL = "value" */
    const char *doc;
    bool one_dash; /* "-name metavar": words behind one dash, as LSF has them */
};

/* "--name=metavar", "--name[=metavar]" or "--name"; "-x metavar" where there is no long name. */
void help_spell(const struct help_option *o, struct str *out);
/* "  -x, --name=metavar    doc", the doc in a column of its own, below where the name is too
 * long. */
void help_row(const struct help_option *o, struct str *out);
/* "Usage: COMMAND [-abc] [-x metavar] [--name=metavar] … WORDS", wrapped, with the letters of flags
 * in one bracket. */
void help_usage(const char *command, const struct help_option *o, size_t n, const char *words,
                struct str *out);

#endif
