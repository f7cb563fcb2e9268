/* What steps that run and calls that wait were asked with, as it counts for their user. */
#include "core/step/step.h"

bool step_asked_fits(const struct core *c, const struct jobrec *r, const struct msg_create_step *m,
                     struct str *why)
{
    return user_room_asked_fits(c, job_payer(&r->j), record_bytes(&msg_create_step_fields, m), why);
}

void step_asked_keep(struct core *c, const struct jobrec *r, struct steprec *st,
                     struct msg_create_step *asked)
{
    ASSERT(step_live(st) && st->arena && !st->asked && !st->asked_bytes);
    st->asked = asked;
    st->asked_bytes = record_bytes(&msg_create_step_fields, asked);
    user_room_asked(c, job_payer(&r->j), st->asked_bytes, +1);
}

void step_wish_free(struct core *c, const struct jobrec *r, struct stepwish *w)
{
    user_room_asked(c, job_payer(&r->j), w->bytes, -1);
    arena_free(w->arena);
    free(w);
}
