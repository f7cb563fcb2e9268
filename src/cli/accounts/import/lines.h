/* The lines of a file as it is taken over, by number, from 1. What is given is a line of it. */
#ifndef REMUDA_CLI_ACCOUNTS_IMPORT_LINES_H
#define REMUDA_CLI_ACCOUNTS_IMPORT_LINES_H

#include "cli/accounts/import/import.h"

/* After its text changed: where each line begins; none is to go any more. `origin` has each. */
void lines_find(struct taken *t);
/* Values of passwords go, in comments, too: what is taken over all may read. Then as lines_find. */
void secrets_out(struct taken *t);
/* Where it begins; the text goes on after it. Valid until the text changes. */
const char *line_at(const struct taken *t, size_t line);
size_t line_length(const struct taken *t, size_t line); /* bytes, without its newline */
/* Does it go on in the next, by a backslash at its end? Never the last. */
bool line_goes_on(const struct taken *t, size_t line);
/* It, and those it goes on in, are to become comments. */
void line_mark(struct taken *t, size_t line);
/* Those that are marked do; the text is another then. */
void lines_out(struct taken *t);
/* Has it, with those it goes on in, one Key=Value alone? Then all of it can be left out. */
bool line_has_one_pair(const struct taken *t, size_t line);
/* Is its first word that key, in whatever case? */
bool line_key_is(const struct taken *t, size_t line, const char *key);
/* Is the key of one of its pairs that? */
bool line_has_key(const struct taken *t, size_t line, const char *key);

#endif
