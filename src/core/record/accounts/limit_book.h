/* Limits in memory: each lies in the list of its owner alone, without the text of its key, which
 * its other fields make (limit_id). */
#ifndef REMUDA_CORE_RECORD_LIMIT_BOOK_H
#define REMUDA_CORE_RECORD_LIMIT_BOOK_H

#include "core/record/accounts/accounts.h"

/* Of the association or QOS of that number; NULL = there is none. */
limit_list *limits_of(const struct core *c, enum limit_owner owner, uint32_t id);
/* The one with the key of `l`; NULL = it is not set. */
struct limit *limit_find(const struct core *c, const struct limit *l);
/* In the place of the one of its key, or beside the others; its texts are interned. Of an owner
 * that is not there: nothing. */
void limit_keep(struct core *c, const struct limit *l);
/* Takes out, and frees, the limit of that key; nothing where there is none. */
void limit_remove(struct core *c, const struct limit *l);
/* With its limits, whose texts are given back; the list is empty then. */
void limit_list_free(struct core *c, limit_list *list);
/* Is any set that is counted so? */
bool limits_any(const struct core *c, enum limit_counts counts);
/* The limit that is set on it itself; NULL = none. `tres` NULL for limits that count none. */
const struct limit *limit_own(const limit_list *l, enum resource_limit what, const char *tres);

/* `struct limit_walk w = {0}; while ((list = limits_next(c, &w)))`: the lists of all associations,
 * then of all QOS. */
struct limit_walk {
    struct map_walk owner; /* of associations, then of QOS */
    bool of_qos;
};
/* Those of associations, then of QOS, each list once; NULL = that was all. `w` is zeroed before the
 * first call. */
const limit_list *limits_next(const struct core *c, struct limit_walk *w);

#endif
