/* What the commands have in common: their messages on stderr, their connection, the directory they
 * were started from. */
#ifndef REMUDA_CLI_PROGRAM_PROGRAM_H
#define REMUDA_CLI_PROGRAM_PROGRAM_H

#include "base/arena.h"
#include "base/err.h"
#include "io/client/client.h"
#include "script/options/option.h"

#include <stdbool.h>

/* The version Slurm's tools are told: two words, numeric (spec/clients.md edge 13). */
#define SLURM_VERSION_TEXT "slurm 25.05.0"

/* "NAME: error: sentence" on stderr. */
void program_error(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What is wrong with a command line: of ERR_USAGE Slurm's two lines (what getopt says, where help
 * is), then our hint; else as program_error. */
void program_usage_error(const char *name, const struct err *e);

/* --version, --help or --usage of a command line that was read: prints it; true if it was one. */
bool program_information(const struct option_line *l);

/* Directory of this executable, and the one with the links (bin/ beside it in a source tree, else
 * the same). In the arena. */
const char *program_dir(struct arena *a);
/* Where sbatch and its like lie, beside this program or in bin/ there; in the arena. */
const char *program_bin_dir(struct arena *a);
/* Path of another program of the release: "remudad", "remuda-shepherd". In the arena. */
const char *program_sibling(const char *name, struct arena *a);

/* Opens the controller's connection for a command called `name`; on failure prints Slurm's line and
 * ours and returns NULL. */
struct client *program_connect(const char *name, const char *state_dir);
/* The same; Slurm's line begins with `first`, what was asked for; NULL = as the command's always
 * does. */
struct client *program_connect_for(const char *name, const char *state_dir, const char *first);

/* From now on SIGTERM waits for what is being done, two seconds at most: a command that ends its
 * own job hears the answer before it goes with it. SIGINT ends it at once, and says that the
 * controller goes on with what it was asked. */
void program_finish_first(void);

/* Takes "--state DIR" or "--state=DIR" at argv[*i]; returns true if it was that (and moves *i past
 * it). ret_err is set if the value is missing. */
bool program_state_option(int argc, char **argv, int *i, const char **state_dir,
                          struct err *ret_err);

/* The words of a line typed at a prompt, in the arena: at blanks; quotes anywhere in a word keep
 * blanks (Reason="bad disk"), and go. Returns how many; what is beyond `max` is left out. */
int words_split(struct arena *a, const char *line, char **word, int max);

#endif
