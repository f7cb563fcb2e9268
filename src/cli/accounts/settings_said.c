/* What will be set of an association or a QOS, in Slurm's words. */
#include "base/duration.h"
#include "cli/accounts/settings.h"

static void say(struct str *out, int width, const char *key, const char *value)
{
    str_addf(out, "  %-*s = %s\n", width, key, value);
}

/* Slurm's names of what is set are the words, but of these. */
static const char *limit_label(enum resource_limit what)
{
    bool headed = what == LIMIT_MAX_TRES || what == LIMIT_MAX_TRES_MINS || what == LIMIT_MAX_WALL;
    return headed ? resource_limit_table[what].heading : resource_limit_table[what].word;
}

static void limits_say(struct taking *t, int width)
{
    for (int i = 0; i < RESOURCE_LIMIT_COUNT; i++) {
        struct sacctmgr_owner o = {0};
        struct str text = STR_INIT;
        for (size_t k = 0; k < t->limit.n; k++)
            if (t->limit.v[k].what == i)
                vec_push(&o.limit, &t->limit.v[k]);
        owner_limit_say(&o, (enum resource_limit)i, false, &text);
        if (text.len)
            say(&t->st->said, width, limit_label((enum resource_limit)i), str_text(&text));
        str_done(&text);
        vec_done(&o.limit);
    }
}

/* "+lo,-hi" */
static const char *more_and_less(struct taking *t)
{
    struct str text = STR_INIT;
    for (int less = 0; less < 2; less++) {
        const char *list = t->st->assoc_more[less].qos;
        struct span rest = span_of(list ? list : ""), piece;
        while (list && span_next(&rest, ',', &piece))
            str_addf(&text, "%s%c%.*s", text.len ? "," : "", less ? '-' : '+', (int)piece.len,
                     piece.data);
    }
    const char *said = text.len ? arena_strdup(t->s->a, str_text(&text)) : NULL;
    str_done(&text);
    return said;
}

void assoc_settings_say(struct taking *t, const struct specs *sp)
{
    bool new_account = sp->entity == ENTITY_ACCOUNT && sp->mode == SPECS_MIXED && sp->set.n;
    const struct assoc *a = &t->st->assoc;
    struct str *out = &t->st->said;
    if (a->shares)
        say(out, 13, "Fairshare",
            a->shares == SHARES_PARENT ? "parent" : arena_printf(t->s->a, "%d", assoc_shares(a)));
    limits_say(t, 13);
    if (a->parent || new_account)
        say(out, 13, "Parent", a->parent ? a->parent : "root");
    if (a->priority_plus1)
        say(out, 13, "Priority", arena_printf(t->s->a, "%u", a->priority_plus1 - 1));
    if (a->qos || more_and_less(t))
        say(out, 13, "QOS", a->qos ? names_sorted(a->qos, t->s->a) : more_and_less(t));
    if (a->default_qos)
        say(out, 13, "DefQOS", a->default_qos);
}

void qos_settings_say(struct taking *t)
{
    const struct qos *q = &t->st->qos;
    struct str *out = &t->st->said;
    const char *fields = str_text(&t->fields);
    if (q->grace_us)
        say(out, 24, "GraceTime",
            arena_printf(t->s->a, "%lld", (long long)(q->grace_us / USEC_PER_SEC)));
    if (q->gpu_idle)
        say(out, 24, "GpuIdle", q->gpu_idle);
    limits_say(t, 24);
    if (q->preempt)
        say(out, 24, "Preempt", q->preempt);
    if (q->preempt_mode)
        say(out, 24, "PreemptMode", enum_name(&preempt_mode_names, q->preempt_mode));
    if (*fields && specs_match(fields, "priority"))
        say(out, 24, "Priority", arena_printf(t->s->a, "%u", q->priority));
}
