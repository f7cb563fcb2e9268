#include "node/daemon/output_ask.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/str.h"
#include "io/process/spawn.h"
#include "node/step/output_end.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT_ONCE    8
#define TIMEOUT_US (INT64_C(10) * USEC_PER_SEC)

struct output_asking {
    struct output_asker *asker;
    struct output_asking *next;
    struct spawn *spawn;
    struct link *link; /* NULL = it is gone */
    uint64_t number;
};

struct output_asker {
    struct loop *loop;
    const char *program;
    struct output_asking *first;
    size_t n;
};

struct output_asker *output_asker_new(struct loop *l, const char *program)
{
    struct output_asker *o = xcalloc(1, sizeof *o);
    *o = (struct output_asker){.loop = l, .program = program};
    return o;
}

void output_asker_free(struct output_asker *o)
{
    if (!o)
        return;
    for (struct output_asking *a = o->first, *next; a; a = next) {
        next = a->next;
        spawn_free(a->spawn);
        free(a);
    }
    free(o);
}

void output_asker_link_down(struct output_asker *o)
{
    for (struct output_asking *a = o->first; a; a = a->next)
        a->link = NULL;
}

static void answer(struct link *k, struct msg_output_read *m)
{
    if (k)
        link_send(k, &(struct message){.kind = MSG_OUTPUT_READ, .body = m});
}

/* What is not as it should be is not believed. */
static void printed_take(const struct spawn_result *r, struct msg_output_read *m)
{
    struct output_end_head head;
    if (r->timed_out || r->status != 0 || r->output_len < sizeof head)
        return;
    memcpy(&head, r->output, sizeof head);
    if (head.out > OUTPUT_END_BYTES || head.err > OUTPUT_END_BYTES ||
        r->output_len != sizeof head + head.out + head.err)
        return;
    m->out.data = r->output + sizeof head;
    m->out.len = head.out;
    m->err.data = r->output + sizeof head + head.out;
    m->err.len = head.err;
}

static void read_ended(void *ctx, const struct spawn_result *r)
{
    struct output_asking *a = ctx, **at = &a->asker->first;
    struct msg_output_read m = {.number = a->number};
    printed_take(r, &m);
    answer(a->link, &m);
    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    a->asker->n--;
    free(a);
}

void output_asked(struct output_asker *o, struct link *k, const struct msg_read_output *m)
{
    static const char *const no_env[] = {NULL};
    bool root = geteuid() == 0;
    struct output_asking *a = NULL;
    if (o->n < AT_ONCE && !text_empty(m->out) && (root || m->uid == geteuid())) {
        char *since = xasprintf("%lld", (long long)(m->since_us / USEC_PER_SEC));
        char *uid = xasprintf("%u", m->uid), *gid = xasprintf("%u", m->gid);
        const char *const argv[] = {o->program,
                                    OUTPUT_END_WORD,
                                    uid,
                                    gid,
                                    since,
                                    m->out,
                                    text_empty(m->err) ? NULL : m->err,
                                    NULL};
        a = xcalloc(1, sizeof *a);
        *a = (struct output_asking){.asker = o, .next = o->first, .link = k, .number = m->number};
        a->spawn =
            spawn_start(o->loop,
                        &(struct spawn_options){.argv = argv,
                                                .env = no_env,
                                                .dir = "/",
                                                .output_max = 2 * OUTPUT_END_BYTES +
                                                              sizeof(struct output_end_head) + 1,
                                                .timeout_us = TIMEOUT_US},
                        read_ended, a, NULL);
        free(since);
        free(uid);
        free(gid);
    }
    if (a && a->spawn) {
        o->first = a;
        o->n++;
        return;
    }
    free(a);
    answer(k, &(struct msg_output_read){.number = m->number});
}
