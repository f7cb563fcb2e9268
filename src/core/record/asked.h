/* Lists of a request that are compared with each job. Only core/ includes this. */
#ifndef REMUDA_CORE_RECORD_ASKED_H
#define REMUDA_CORE_RECORD_ASKED_H

#include "core/record/state.h"

/* The words of a list, as list_has reads it; owned. `of` NULL (no list) = all will do. */
struct asked_words {
    struct map_str *of; /* NULL = everything is asked for */
};
struct asked_words asked_words_read(const char *list); /* NULL: no list */
/* The one word, commas and all, as a job's name is; NULL: no list. */
struct asked_words asked_words_one(const char *word);
/* nothing was asked for: everything is meant */
bool asked_words_have(const struct asked_words *w, const char *word);
void asked_words_done(struct asked_words *w); /* empty again */

/* User ids of a list, each with a value; to be freed. NULL for no list. */
struct map_u64 *asked_uids_read(const char *list);

/* Nodes of a list, to be ended by asked_words_done. ERR_LIMIT where names_fit says so, ERR_INVALID
 * where it cannot be read. */
bool asked_nodes_read(const struct core *c, const char *list, struct asked_words *ret,
                      struct err *ret_err);
/* Is or was the job on any of them? *looks: what it took is added, where it was more than usual. */
bool asked_nodes_fit(const struct asked_words *w, const struct jobrec *r, size_t *looks);

/* Does the list of nodes name no more than there are, and some twice? To multiply it out, and to
 * find each, would take long. ERR_LIMIT. */
bool names_fit(const struct core *c, const char *list, struct err *ret_err);

#endif
