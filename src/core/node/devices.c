/* Devices of a node that nobody may be given, as the node says in its hello, heartbeats and
 * reports. Its words are numbered, since they may overtake each other; the number of a later daemon
 * of the node is higher. What is stored stands until the node says something newer, also over a
 * restart of the controller.
 *
 * A broken device is remembered here, since a new daemon of the node cannot know of an error that
 * was reported to its predecessor: it is told with the welcome. An operator's RESUME makes it
 * unproven; the node looks at it again and says what it is. That it is asked to may be lost with
 * the connection: until a word of the node has no broken device, each hello that has one is
 * answered by asking again. */
#include "core/node/node.h"
#include "model/env/device_out.h"
#include "model/limits.h"

static void outs_log(struct core *c, struct noderec *n, const char *before)
{
    struct arena *a = arena_new();
    struct device_outs was = {0}, now = {0};
    device_outs_parse(before, a, &was);
    device_outs_parse(n->n.devices_out, a, &now);
    for (size_t i = 0; i < now.n; i++) {
        const struct device_out *known = device_outs_find(&was, now.v[i].kind, now.v[i].index);
        if (now.v[i].failed && (!known || !known->failed))
            node_log(c, n, LEVEL_WARNING, "%s: %s %d is broken and out of use: %s", n->n.name,
                     now.v[i].kind, now.v[i].index, now.v[i].why);
        if (!known && device_out_is_process(&now.v[i]))
            node_log(c, n, LEVEL_WARNING, "%s: a process cannot be killed: %s", n->n.name,
                     now.v[i].why);
    }
    arena_free(a);
}

static bool any_failed(const struct device_outs *outs)
{
    for (size_t i = 0; i < outs->n; i++)
        if (outs->v[i].failed)
            return true;
    return false;
}

static void outs_set(struct core *c, struct noderec *n, const char *out)
{
    char *before = xstrdup(n->n.devices_out);
    text_set(c, &n->n.devices_out, text_empty(out) ? NULL : out);
    outs_log(c, n, before);
    free(before);
}

static void retry_ask(struct core *c, const struct noderec *n)
{
    struct msg_devices_retry m = {.devices_seq = n->devices_seq};
    if (n->conn)
        fx_send(c, n->conn, MSG_DEVICES_RETRY, &m, 0);
}

/* A node that tries again says first that nothing of it is broken any more. */
static void retry_confirm(struct core *c, struct noderec *n, const char *out)
{
    struct device_outs said = {0};
    if (!n->n.devices_retry)
        return;
    device_outs_parse(out, c->turn.fx->arena, &said);
    n->n.devices_retry = any_failed(&said);
    if (!n->n.devices_retry)
        node_save(c, n);
}

void node_devices_set(struct core *c, struct noderec *n, uint64_t seq, const char *out,
                      const char *health)
{
    ASSERT(c->node.v[n->index] == n);
    if (!seq || seq <= n->devices_seq || node_says_too_many(out) || node_says_too_many(health))
        return;
    n->devices_seq = seq;
    text_set(c, &n->n.device_health, health); /* for people: it is not worth a row of the store */
    retry_confirm(c, n, out);
    if (text_is(text_empty(out) ? NULL : out, n->n.devices_out))
        return;
    outs_set(c, n, out);
    node_save(c, n);
    node_plan_update(c, n);
    for (size_t i = 0; i < n->job.n; i++) { /* steps may wait for what came back */
        struct jobrec *r = job_find(c, n->job.v[i]);
        if (r)
            steps_retry_soon(c, r);
    }
}

/* What is known to be broken is broken, whatever a daemon says that has not heard of it yet. There
 * is an end to it, or hellos with ever-new names would all be remembered. A new
 * connection's first word is the node's latest, however it is numbered: a daemon that was started
 * after its clock was set back begins below its predecessor. */
void node_devices_hello(struct core *c, struct noderec *n, uint64_t seq, const char *out)
{
    ASSERT(n->conn && c->node.v[n->index] == n);
    struct arena *a = c->turn.fx->arena;
    struct device_outs known = {0}, said = {0};
    struct str text = STR_INIT;
    size_t count = 0;
    if (!seq)
        return;
    n->devices_seq = seq;
    device_outs_parse(n->n.devices_out, a, &known);
    device_outs_parse(out, a, &said);
    retry_confirm(c, n, out);
    if (n->n.devices_retry)
        retry_ask(c, n);
    for (size_t i = 0; i < known.n; i++)
        count += known.v[i].failed;
    for (size_t i = 0; i < said.n; i++) {
        said.v[i].failed &= !n->n.devices_retry;
        const struct device_out *k = device_outs_find(&known, said.v[i].kind, said.v[i].index);
        bool is_known = k && k->failed;
        if (is_known || count++ < LIMIT_DEVICES_PER_NODE)
            device_out_format(is_known ? k : &said.v[i], &text);
    }
    for (size_t i = 0; i < known.n; i++)
        if (known.v[i].failed && !device_outs_find(&said, known.v[i].kind, known.v[i].index))
            device_out_format(&known.v[i], &text);
    outs_set(c, n, str_text(&text));
    str_done(&text);
}

const char *node_devices_failed(const struct core *c, const struct noderec *n)
{
    struct device_outs known = {0};
    struct str text = STR_INIT;
    device_outs_parse(n->n.devices_out, c->turn.fx->arena, &known);
    for (size_t i = 0; i < known.n; i++)
        if (known.v[i].failed)
            device_out_format(&known.v[i], &text);
    const char *result = text.len ? arena_strdup(c->turn.fx->arena, str_text(&text)) : NULL;
    str_done(&text);
    return result;
}

void node_devices_retry(struct core *c, struct noderec *n)
{
    ASSERT(c->node.v[n->index] == n);
    struct device_outs known = {0};
    struct str text = STR_INIT;
    bool any = false;
    device_outs_parse(n->n.devices_out, c->turn.fx->arena, &known);
    for (size_t i = 0; i < known.n; i++) {
        any |= known.v[i].failed;
        known.v[i].failed = false;
        device_out_format(&known.v[i], &text);
    }
    if (any) {
        n->n.devices_retry = true;
        outs_set(c, n, str_text(&text));
    }
    /* It looks for others, too. */
    if (any || n->n.devices || n->n.device_trouble || n->n.device_search)
        retry_ask(c, n);
    str_done(&text);
}
