/* scontrol: how it asks the controller for a change, and says what was refused: Slurm's own line
 * first, which tools look for, then our sentence. */
#include "cli/program/cluster_dir.h"
#include "cli/program/give_out.h"
#include "cli/program/program.h"
#include "cli/scontrol/scontrol.h"
#include "model/refusal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* `first`: the line of Slurm's where no controller answers. */
static struct client *reach(struct scontrol *s, const char *first)
{
    struct err err = {0};
    if (!s->client)
        s->client = cluster_reach(state_dir_find(NULL, s->a), &err);
    if (!s->client) {
        scontrol_refuse(s, "%s", first);
        scontrol_fail(s, "%s", err.text);
    } else if (s->json) {
        client_keep_texts(s->client, true);
    }
    return s->client;
}

struct client *scontrol_connect(struct scontrol *s, const char *what)
{
    return reach(s, arena_printf(s->a, "%s: %s", what, refusal_text(REFUSE_NO_CONTROLLER)));
}

void scontrol_fail(struct scontrol *s, const char *format, ...)
{
    struct str text = STR_INIT;
    va_list args;
    va_start(args, format);
    str_addv(&text, format, args);
    va_end(args);
    s->rc = 1;
    /* Tools match Slurm's "slurm_load_jobs error: …" at the start of the line. */
    if (!s->quiet)
        plain_line("%s%s", text_starts(str_text(&text), "slurm_") ? "" : "scontrol: error: ",
                   str_text(&text));
    str_done(&text);
}

void scontrol_refuse(struct scontrol *s, const char *format, ...)
{
    struct str text = STR_INIT;
    va_list args;
    va_start(args, format);
    str_addv(&text, format, args);
    va_end(args);
    s->rc = 1;
    if (!s->quiet)
        plain_line("%s", str_text(&text));
    str_done(&text);
}

/* The answer to a change; false: there was none, and why was said. */
static const struct msg_done *change_send(struct scontrol *s, enum message_kind kind,
                                          const void *body, const char *what, const char *away)
{
    struct client *c = away ? reach(s, away) : scontrol_connect(s, what);
    struct message *answer = arena_alloc(s->a, sizeof *answer);
    struct err err = {0};
    if (!c)
        return NULL;
    if (!client_call(c, kind, body, 0, s->a, answer, &err)) {
        scontrol_fail(s, "%s error: %s", what, err.text);
        return NULL;
    }
    return answer->body;
}

bool scontrol_change(struct scontrol *s, enum message_kind kind, const void *body, const char *what)
{
    const struct msg_done *done = change_send(s, kind, body, what, NULL);
    if (!done)
        return false;
    if (done->refusal != REFUSE_NONE) {
        scontrol_refuse(s, "%s: %s", what, refusal_text((enum refusal)done->refusal));
        if (done->detail)
            scontrol_fail(s, "%s", done->detail);
    }
    if (done->warning)
        fprintf(stderr, "scontrol: %s\n", done->warning);
    return done->refusal == REFUSE_NONE;
}

/* ---- changes of jobs ------------------------------------------------------------------------ */

static bool same(const struct result *a, const struct result *b)
{
    return a->refusal == b->refusal && text_is(a->ref, b->ref) && text_is(a->elements, b->elements);
}

/* "42_0-3: Job has already finished" of elements, "… for job 42" of all else. Was the last of them
 * about elements? */
static bool results_say(struct scontrol *s, const struct result *r, size_t n)
{
    bool of_elements = false;
    for (size_t i = 0; i < n; i++) {
        const char *reason = refusal_text((enum refusal)r[i].refusal), *ref = r[i].ref;
        size_t id = ref ? strcspn(ref, "_") : 0;
        if (i && same(&r[i], &r[i - 1]))
            continue;
        const char *which = r[i].elements ? r[i].elements : ref && ref[id] ? ref + id + 1 : NULL;
        of_elements = which != NULL;
        if (!of_elements) {
            scontrol_refuse(s, "%s for job %s", reason, ref);
            continue;
        }
        which += *which == '[';
        size_t bare = strcspn(which, "]");
        scontrol_refuse(s, "%.*s_%.*s%s: %s", (int)id, ref, (int)bare, which,
                        which[bare] ? which + bare + 1 : "", reason);
    }
    return of_elements;
}

static void details_say(struct scontrol *s, const struct result *r, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (r[i].detail && !(i && text_is(r[i].detail, r[i - 1].detail)))
            scontrol_fail(s, "%s", r[i].detail);
}

bool scontrol_change_jobs(struct scontrol *s, enum message_kind kind, const void *body,
                          const char *ids, const char *what)
{
    const char *away = arena_printf(s->a, "%s for job %s", refusal_text(REFUSE_NO_CONTROLLER), ids);
    const struct msg_done *done = change_send(s, kind, body, what ? what : "slurm_update", away);
    if (!done)
        return false;
    struct result whole = {.ref = ids, .refusal = done->refusal, .detail = done->detail};
    const struct result *result = done->results.n ? done->results.v : &whole;
    size_t n = done->results.n ? done->results.n : done->refusal != REFUSE_NONE;
    bool of_elements = results_say(s, result, n);
    if (n && what && !of_elements)
        scontrol_refuse(s, "%s error: %s", what, refusal_text((enum refusal)result[n - 1].refusal));
    details_say(s, result, n);
    if (done->warning)
        fprintf(stderr, "scontrol: %s\n", done->warning);
    return n == 0;
}
