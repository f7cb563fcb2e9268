/* Nodes as who asks may see them. How a node is names others' things beside: a reservation it is
 * in, jobs and processes that keep its devices. Where those are private they have no names. */
#include "base/list.h"
#include "core/query/query.h"
#include "core/record/accounts/private.h"
#include "model/env/device_out.h"

struct node_sight node_sight_open(const struct core *c, const struct peer *peer)
{
    return (struct node_sight){.c = c,
                               .resv = resv_sight_open(c, peer),
                               .jobs = !c->settings.word.private_jobs || peer_operates(c, peer)};
}

void node_sight_close(struct node_sight *s)
{
    resv_sight_close(&s->resv);
}

/* What a device that is broken says is of the device, else of who has it. */
static const char *outs_hidden(const char *text, struct arena *a)
{
    struct device_outs outs = {0};
    struct str out = STR_INIT;
    device_outs_parse(text, a, &outs);
    for (size_t i = 0; i < outs.n; i++) {
        struct device_out one = outs.v[i];
        if (device_out_is_process(&one))
            one.why = "a process of a job";
        else if (!one.failed)
            one.why = "something still has it";
        device_out_format(&one, &out);
    }
    const char *hidden = arena_strdup(a, str_text(&out));
    str_done(&out);
    return hidden;
}

static const char *health_hidden(const char *text, struct arena *a)
{
    struct device_entries all = {0};
    struct str out = STR_INIT;
    device_entries_parse(text, a, &all);
    for (size_t i = 0; i < all.n; i++) {
        struct device_entry one = all.v[i];
        if (list_has("in use,held,unknown", one.word))
            one.why = "";
        device_entry_format(&one, &out);
    }
    const char *hidden = arena_strdup(a, str_text(&out));
    str_done(&out);
    return hidden;
}

void node_hide(const struct node_sight *s, struct node *n, struct arena *a)
{
    const struct resvrec *r = n->reservation ? resv_find(s->c, n->reservation) : NULL;
    if (n->reservation && !s->resv.all && !(r && may_see_reservation(&s->resv, &r->r)))
        n->reservation = NULL;
    if (s->jobs)
        return;
    if (n->devices_out)
        n->devices_out = outs_hidden(n->devices_out, a);
    if (n->device_health)
        n->device_health = health_hidden(n->device_health, a);
}
