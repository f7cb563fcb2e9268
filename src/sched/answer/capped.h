/* Caps that hold a waiting job, for sentences. Only sched/ includes this. */
#ifndef REMUDA_SCHED_ANSWER_CAPPED_H
#define REMUDA_SCHED_ANSWER_CAPPED_H

#include "model/record/why.h"
#include "sched/books/state.h"
#include "sched/pass/pass.h"

/* Does it hold the class now: by what the class takes of it at least, or, as the last pass found
 * (`note`, may be NULL), by what it would take where it would start? `takes` gets how much. */
bool capped_by(const struct cluster *cl, const struct class_note *note, const struct lic_use *use,
               int64_t now_us, int64_t *takes);
/* Who has of it, those with most first, and when enough is expected to come free. */
void capped_users(const struct cluster *cl, const struct lic_use *use, int64_t takes,
                  int64_t now_us, struct arena *a, struct blocker *b);

#endif
