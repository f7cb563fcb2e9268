/* What a step of the machine has done: effects, in order. */
#include "agent/inside.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <string.h>

struct agent_effect *turn_effect(struct turn *t, enum agent_effect_kind kind)
{
    ASSERT(t->fx->n <= t->fx->cap);
    struct agent_effects *fx = t->fx;
    if (fx->n == fx->cap) {
        fx->cap = fx->cap ? 2 * fx->cap : 16;
        fx->v = xrealloc(fx->v, fx->cap * sizeof fx->v[0]);
    }
    struct agent_effect *e = &fx->v[fx->n++];
    memset(e, 0, sizeof *e);
    e->kind = kind;
    return e;
}

struct agent_effect *turn_effect_about(struct turn *t, enum agent_effect_kind kind,
                                       const struct held_step *s)
{
    ASSERT(s->job_id);
    struct agent_effect *e = turn_effect(t, kind);
    e->note.job_id = (int64_t)s->job_id;
    e->note.attempt = s->attempt;
    e->note.step_id = s->step_id;
    e->note.pid = s->pid;
    e->uid_plus1 = s->uid_plus1;
    return e;
}

void turn_send(struct turn *t, enum message_kind kind, const void *body)
{
    ASSERT(kind < MESSAGE_COUNT && body);
    struct agent_effect *e = turn_effect(t, AGENT_SEND);
    const struct fields *fields = message_fields(kind);
    void *copy = arena_alloc(t->fx->arena, fields->size);
    record_copy(fields, copy, body, t->fx->arena);
    e->msg = (struct message){.kind = kind, .body = copy};
}

void turn_log(struct turn *t, bool is_error, const char *format, ...)
{
    struct str text = STR_INIT;
    va_list args;
    va_start(args, format);
    str_addv(&text, format, args);
    va_end(args);
    struct agent_effect *e = turn_effect(t, AGENT_LOG);
    e->is_error = is_error;
    e->text = arena_strdup(t->fx->arena, str_text(&text));
    str_done(&text);
}
