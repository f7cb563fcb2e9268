/* Comma lists, as users and configurations write them: "a, b,c". They mean the same everywhere: a
 * word counts as a whole, in its letter case; the blanks and tabs around it are not part of it.
 * NULL is a list without words; "" and "a,,b" have an empty one, which is what NULL as a word
 * means (jobs without an account are asked for with "").
 *
 * Lists whose words mean more than themselves (hosts, "name:count", "-name") have parsers of their
 * own. */
#ifndef REMUDA_BASE_LIST_H
#define REMUDA_BASE_LIST_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>

/* Is the word in the list? */
bool list_has(const char *list, const char *word);
bool list_has_span(const char *list, struct span word); /* as list_has */
/* The same, whatever its letter case. */
bool list_has_nocase(const char *list, const char *word);
/* Have both lists a word in common? The empty one is none. */
bool list_shares(const char *a, const char *b);

/* The list with each word once, the first of them, made in `a`; the list itself where it has at
 * most `few` words. */
const char *list_once(const char *list, size_t few, struct arena *a);
/* Its first `most` words; the list itself where it has no more. */
const char *list_first(const char *list, size_t most, struct arena *a);
size_t list_count(const char *list); /* its words, empty ones, too; NULL and "" have none */

/* Adds "; did you mean WORD?" to an error that is set, where one of the list is near to what was
 * given, and none is the same. Returns false. */
bool list_suggest(const char *known, struct span given, struct err *e);

/* Writes one more word: a comma before it where `list` has something already. */
void list_addf(struct str *list, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
