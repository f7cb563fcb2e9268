/* What the reports ask the controller. */
#include "cli/program/cluster_dir.h"
#include "cli/program/program.h"
#include "cli/reports/sreport.h"

struct client *sreport_connect(struct sreport *s)
{
    const char *dir = state_dir_find(NULL, s->a);
    if (!s->client)
        s->client = program_connect("sreport", dir);
    if (!s->client)
        s->rc = 1;
    else if (!s->cluster)
        s->cluster = cluster_name(dir, s->a);
    return s->client;
}

bool sreport_query(struct sreport *s, const struct msg_query *q, const struct fields *t,
                   void (*row)(void *ctx, const void *record), void *ctx)
{
    struct client *c = sreport_connect(s);
    struct msg_done done = {0};
    struct err e = {0};
    if (!c)
        return false;
    bool ok = client_query(c, q, t, s->a, row, ctx, &done, &e);
    if (ok && done.refusal == REFUSE_NONE)
        return true;
    s->rc = 1;
    program_error("sreport", "%s",
                  !ok           ? e.text
                  : done.detail ? done.detail
                                : refusal_text((enum refusal)done.refusal));
    return false;
}
