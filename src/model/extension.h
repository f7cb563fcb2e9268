/* Who had the time limit of a running job raised, when and by how much: job.extensions, as
 * "1700000000+7200:alice,…", times in seconds, the last few of them. */
#ifndef REMUDA_MODEL_EXTENSION_H
#define REMUDA_MODEL_EXTENSION_H

#include "base/arena.h"
#include "base/list.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define EXTENSIONS_KEPT 8

struct extension_row {
    int64_t at_us, add_us; /* when, and by how much */
    const char *user;
};

/* The list with one more at its end; `former` may be NULL. */
void extensions_add(const char *former, const struct extension_row *row, struct str *out);
/* The next of the list; its user lives in the arena. False: there is none, or it is no such
 * list. */
bool extensions_next(struct span *rest, struct arena *a, struct extension_row *ret);

#endif
