/* Lists of host names in Slurm's notation: "gpu[1-3,07],login" and back. The order given is kept.
 * Grammar as scontrol(1) "show hostnames" documents: brackets hold numbers and ranges, padded with
 * zeros as the lower end is written; several brackets in one name multiply (a[1-2]b[1-2]), eight
 * at most. */
#ifndef REMUDA_BASE_HOSTLIST_H
#define REMUDA_BASE_HOSTLIST_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct hostlist {
    char **name; /* owned */
    size_t n;    /* names, in the order they were added until sorted */
    size_t cap;
};

#define HOSTLIST_INIT ((struct hostlist){0})
#define HOSTLIST_MAX  (1u << 17) /* names in one list; more is refused */

void hostlist_done(struct hostlist *h); /* names too; empty again */
/* Adds every name of `text` (expressions separated by commas or blanks; "" adds none). ERR_INVALID
 * names the place; ERR_LIMIT above HOSTLIST_MAX or eight brackets; on error h is unchanged. */
bool hostlist_parse(struct hostlist *h, const char *text, struct err *ret_err);
/* How many names `text` has, at most `most` + 1; of what cannot be read any number. It is read, not
 * multiplied out. */
size_t hostlist_count(const char *text, size_t most);
/* Has the text that name? It is read, not multiplied out. Of what cannot be read, either. */
bool hostlist_text_has(const char *text, const char *name);
void hostlist_add(struct hostlist *h, const char *name); /* one name as it is, no pattern; copied */
/* one by one */
bool hostlist_has(const struct hostlist *h, const char *name);
ptrdiff_t hostlist_find(const struct hostlist *h, const char *name); /* index or -1 */
/* By prefix, then number as a number. */
void hostlist_sort(struct hostlist *h);
void hostlist_uniq(struct hostlist *h); /* drops repeated names, keeps the first */
/* Appends the folded form, order kept: neighbours with equal prefix, equal padding and consecutive
 * numbers share brackets. One host is never bracketed. */
void hostlist_fold(const struct hostlist *h, struct str *out);

#endif
