/* sacctmgr: its connection, and what it says when something does not go. */
#include "cli/accounts/accounts.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/give_out.h"
#include "cli/program/program.h"

#include <stdarg.h>
#include <stdio.h>

struct client *sacctmgr_connect(struct sacctmgr *s)
{
    const char *dir = state_dir_find(s->state_dir, s->a);
    if (!s->client)
        s->client = program_connect(s->called ? s->called : "sacctmgr", dir);
    if (!s->client)
        s->rc = 1;
    else if (!s->cluster)
        s->cluster = cluster_name(dir, s->a);
    if (s->client)
        client_keep_texts(s->client, s->exact);
    return s->client;
}

void sacctmgr_fail(struct sacctmgr *s, const char *format, ...)
{
    struct str text = STR_INIT;
    va_list args;
    va_start(args, format);
    str_addv(&text, format, args);
    va_end(args);
    s->rc = 1;
    program_error(s->called ? s->called : "sacctmgr", "%s", str_text(&text));
    str_done(&text);
}

void sacctmgr_refuse(struct sacctmgr *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    plain_linev(format, args);
    va_end(args);
    s->rc = 1;
}

bool sacctmgr_query(struct sacctmgr *s, const struct msg_query *q, const struct fields *t,
                    void (*row)(void *ctx, const void *record), void *ctx)
{
    struct client *c = sacctmgr_connect(s);
    struct msg_done done = {0};
    struct err e = {0};
    if (!c)
        return false;
    if (!client_query(c, q, t, s->a, row, ctx, &done, &e)) {
        sacctmgr_fail(s, "%s", e.text);
        return false;
    }
    if (done.refusal == REFUSE_NONE)
        return true;
    sacctmgr_fail(s, "%s", done.detail ? done.detail : refusal_text((enum refusal)done.refusal));
    return false;
}

bool kept_from_strangers(struct sacctmgr *s, enum entity entity)
{
    const char *said =
        entity == ENTITY_WCKEY     ? "Your user doesn't have privilege to perform this action"
        : entity == ENTITY_PROBLEM ? refusal_text(REFUSE_ACCESS_DENIED)
        : entity == ENTITY_RUNAWAY ? "You must have an AdminLevel>=Operator to fix runaway jobs"
                                   : NULL;
    if (!said || sacctmgr_operates(s))
        return false;
    sacctmgr_fail(s, "%s", said);
    if (entity != ENTITY_RUNAWAY)
        sacctmgr_refuse(s, " Error with request: %s", refusal_text(REFUSE_ACCESS_DENIED));
    return true;
}
