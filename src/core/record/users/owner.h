/* Names that users have now, against those that their jobs were submitted under. Only core/
 * includes this. */
#ifndef REMUDA_CORE_RECORD_USERS_OWNER_H
#define REMUDA_CORE_RECORD_USERS_OWNER_H

#include "core/record/state.h"

/* What name services say. True: of some it is another thing than they said last, and all jobs are
 * to be looked at. */
bool owners_told(struct core *c, const struct owner_name *v, size_t n);
/* Who submits has that name now: what was told of his number before, and differs, is forgotten. */
void owner_came(struct core *c, uint32_t uid, const char *name);
/* Of a job that waits: it is held, as by an administrator, if its number is somebody else's now. */
void owner_look(struct core *c, struct jobrec *r);
/* Its owner had a name, and name services know none of his number any more. */
bool owner_gone(const struct core *c, const struct jobrec *r);
/* An operator lets the job go: whoever has the number now is its owner. */
void owner_accept(struct core *c, struct jobrec *r);
/* At the end of the controller. */
void names_now_free(struct core *c);

#endif
