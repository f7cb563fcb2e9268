#include "sim/world/callers.h"

void callers_add(struct callers *c, uint64_t conn)
{
    vec_push(&c->v, ((struct caller){.conn = conn}));
}

static struct caller *caller_of(struct callers *c, uint64_t conn)
{
    for (size_t i = c->v.n; i-- > 0;)
        if (c->v.v[i].conn == conn)
            return &c->v.v[i];
    return NULL;
}

const char *callers_hear(struct callers *c, uint64_t conn, enum message_kind kind)
{
    struct caller *who = caller_of(c, conn);
    bool begins = kind == MSG_ALLOCATED || kind == MSG_STEP_CREATED,
         ends = kind == MSG_JOB_ENDED || kind == MSG_STEP_ENDED || kind == MSG_DONE;
    if (!who || who->gone || (!begins && !ends))
        return NULL;
    if (who->over)
        return "a command was answered again after the end";
    if (begins && who->began)
        return "a command heard twice that what it asked for is there";
    who->began |= begins;
    who->over |= ends;
    return NULL;
}

void callers_forget(struct callers *c, uint64_t conn)
{
    struct caller *who = caller_of(c, conn);
    if (who)
        who->gone = true;
}

uint64_t callers_hang_up(struct callers *c, size_t n)
{
    if (n >= c->v.n || c->v.v[n].gone)
        return 0;
    c->v.v[n].gone = true;
    return c->v.v[n].conn;
}

void callers_lose(struct callers *c)
{
    for (size_t i = 0; i < c->v.n; i++)
        c->v.v[i].gone = true;
}

const char *callers_audit(const struct callers *c)
{
    for (size_t i = 0; i < c->v.n; i++)
        if (!c->v.v[i].gone && !c->v.v[i].over)
            return c->v.v[i].began ? "a command was never told that its allocation or step is over"
                                   : "a command was never answered";
    return NULL;
}

void callers_done(struct callers *c)
{
    vec_done(&c->v);
}
