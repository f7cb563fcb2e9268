/* Texts stored once and counted: a hundred thousand jobs share one copy of their work directory.
 * Equal texts give equal pointers, so interned texts may be compared with ==. */
#ifndef REMUDA_BASE_INTERN_H
#define REMUDA_BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

struct intern; /* opaque */

struct intern *intern_new(void);       /* of no texts */
void intern_free(struct intern *pool); /* all texts are gone */
/* One more user of it; NULL gives NULL. */
const char *intern_take(struct intern *pool, const char *text);
/* So many more users of a text that is the pool's own. */
void intern_more(const char *text, uint32_t users);
/* The pool's own, if it is there; else NULL. It is no user of it. */
const char *intern_find(const struct intern *pool, const char *text);
/* One user less; `text` must be what intern_take gave, or NULL. */
void intern_drop(struct intern *pool, const char *text);
/* Texts that somebody has a share of: 0 at the end, or one was not given back. */
size_t intern_count(const struct intern *pool);

#endif
