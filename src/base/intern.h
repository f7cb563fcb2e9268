/* Texts stored once and counted: a hundred thousand jobs share one copy of their work directory. Equal texts give equal
 * pointers, so interned texts may be compared with ==. */
#ifndef REMUDA_BASE_INTERN_H
#define REMUDA_BASE_INTERN_H

#include <stddef.h>

struct intern; /* opaque */

struct intern *intern_new(void);
void intern_free(struct intern *pool);                          /* all texts are gone */
const char *intern_take(struct intern *pool, const char *text); /* one more user of it; NULL gives NULL */
void intern_drop(struct intern *pool,
                 const char *text); /* one user less; `text` must be what intern_take gave, or NULL */
size_t intern_count(const struct intern *pool);

#endif
