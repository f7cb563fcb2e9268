/* The programs of a site that a setting names: one path, or a pattern (glob(7)), as every file of
 * /etc/slurm/prolog.d. */
#ifndef REMUDA_IO_PROGRAM_LIST_H
#define REMUDA_IO_PROGRAM_LIST_H

#include "base/err.h"
#include "model/settings/settings.h"

#include <stdbool.h>
#include <stddef.h>

struct program_list {
    char **path; /* owned, each */
    size_t n;
};

/* The paths that match, last name first, as Slurm runs them; a word that is no pattern is itself.
 * False where a pattern matches nothing. program_list_done frees them. */
bool program_list_find(const char *pattern, struct program_list *ret, struct err *ret_err);
void program_list_done(struct program_list *l); /* empty again */

/* Prolog=, Epilog= and SubmitFilter= as this host has them: say(ctx, sentence) for each that it
 * could not run. */
void program_settings_check(const struct settings *s, void (*say)(void *ctx, const char *sentence),
                            void *ctx);
/* True: each of them is there and may be run. The error names the first that is not. */
bool program_list_check(const char *pattern, struct err *ret_err);

#endif
