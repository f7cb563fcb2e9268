/* Command lines of remuda's own commands (up, status, gpus …): read by the same tables as those of
 * Slurm's (script/options/option.h), and said alike by all of them where they cannot be read. */
#ifndef REMUDA_CLI_PROGRAM_OWN_LINE_H
#define REMUDA_CLI_PROGRAM_OWN_LINE_H

#include "script/options/option.h"

#include <stdbool.h>

/* Rows that most of them have. `type`: what the table fills; it has a member state_dir. */
#define OWN_STATE(type)                                                                            \
    OPT_VALUE("state", 0, "dir",                                                                   \
              "where the cluster lives; else /var/lib/remuda for root, ~/.local/state/remuda for " \
              "users",                                                                             \
              set_any_text, offsetof(type, state_dir), .env = {"REMUDA_STATE"})
#define OWN_HELP                                                                                   \
    OPT_ACCEPTED("help", 'h', ARG_NONE, "show this help"),                                         \
        OPT_ACCEPTED("usage", 0, ARG_NONE, "all options in a few lines")

/* A whole number of row->min … row->max into an int64_t. */
SETTER(set_own_number);

/* For option_table.word: no word is taken. ERR_USAGE. */
bool own_word_refuse(void *to, const char *word, struct arena *a, struct err *ret_err);

/* Says on stderr why "remuda NAME" did not do it; 2 where its words were not understood, with where
 * the options are listed, else 1: the status it ends with. */
int own_line_failed(const char *name, const struct err *e);

/* Reads the command line of "remuda NAME" into line->to. True: the command is to be done. False: it
 * is over with *ret_status: 0 after the help that was asked for, 2 where the line cannot be read,
 * which is said on stderr. A value that is not allowed is such a line. */
bool own_line_read(const char *name, struct option_line *line, int argc, char *const argv[],
                   int *ret_status);

#endif
