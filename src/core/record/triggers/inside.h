/* Triggers, between book.c, which has them, nodes.c, what nodes pull, and triggers.c. */
#ifndef REMUDA_CORE_RECORD_TRIGGERS_INSIDE_H
#define REMUDA_CORE_RECORD_TRIGGERS_INSIDE_H

#include "core/record/triggers/triggers.h"

static inline bool trigger_has(const struct trigger *t, enum trigger_event event)
{
    return t->events >> event & 1;
}

/* A record of it among those there are, its texts copied. */
struct triggerrec *trigger_keep(struct core *c, const struct trigger *row);
/* What happened stands in the record: due when its offset has passed, `collect_us` from now at the
 * soonest. The row is saved. */
void trigger_pull(struct core *c, struct triggerrec *t, int64_t collect_us);
/* The same at once, with a word of what happened, which is told once. */
void trigger_pull_word(struct core *c, struct triggerrec *t, const char *word);
/* Its row as it is now, with what has happened so far. */
void trigger_save(struct core *c, struct triggerrec *t);
/* Appends what its program is told. */
void trigger_what_add(const struct core *c, const struct triggerrec *t, struct str *out);

/* When it is due by nodes that stay idle, as far as it was not told of them; INT64_MAX = never. */
int64_t trigger_idle_due(const struct core *c, const struct trigger *t);
/* The time has passed already: it runs now. */
void trigger_idle_pull(struct core *c, struct triggerrec *t);

#endif
