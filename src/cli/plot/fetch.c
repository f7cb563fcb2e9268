#include "cli/plot/fetch.h"

#include "model/message.h"

#include <stdlib.h>

#define PARTS_MAX 100000u

static bool part_take(struct curves *c, const struct message *m, struct err *ret_err)
{
    const struct msg_done *done = m->body;
    const struct msg_series_part *part = m->body;
    if (m->kind == MSG_DONE)
        return err_set(ret_err, ERR_INVALID, "%s",
                       done->detail ? done->detail : refusal_text((enum refusal)done->refusal));
    if (m->kind != MSG_SERIES_PART)
        return err_set(ret_err, ERR_INTERNAL, "the controller answers with something else");
    if (part->warning) {
        free(c->warning);
        c->warning = xstrdup(part->warning);
    }
    curves_take(c, part->blocks.data, part->blocks.len);
    return true;
}

bool curves_fetch(struct curves *c, struct client *client, const struct msg_get_series *get,
                  struct err *ret_err)
{
    struct msg_get_series ask = *get;
    struct str next = STR_INIT;
    bool ok = true, more = true;
    for (unsigned parts = 0; ok && more && parts < PARTS_MAX; parts++) {
        struct arena *a = arena_new();
        struct message m;
        ok = client_call(client, MSG_GET_SERIES, &ask, 0, a, &m, ret_err) &&
             part_take(c, &m, ret_err);
        const char *said = ok ? ((const struct msg_series_part *)m.body)->next : NULL;
        more = said != NULL;
        str_clear(&next);
        str_add(&next, said);
        ask.after = more ? str_text(&next) : NULL;
        arena_free(a);
    }
    str_done(&next);
    curves_order(c);
    return ok;
}
