/* What will be set of an association or a QOS, in Slurm's words. */
#include "base/duration.h"
#include "cli/accounts/settings.h"

static void say(struct str *out, int width, const char *key, const char *value)
{
    str_addf(out, "  %-*s = %s\n", width, key, value);
}

/* Slurm's lines of limits, in its order; its own words for what is set, and as wide as it has each
 * of them. */
struct limit_line {
    enum resource_limit what;
    const char *label;
    int width; /* of the label, up to the sign */
};

// clang-format off
static const struct limit_line of_qos[] = {
    {LIMIT_GRP_JOBS, "GrpJobs", 25},
    {LIMIT_GRP_JOBS_ACCRUE, "GrpJobsAccrue", 25},
    {LIMIT_GRP_SUBMIT, "GrpSubmitJobs", 25},
    {LIMIT_GRP_TRES, "GrpTRES", 25},
    {LIMIT_GRP_TRES_MINS, "GrpTRESMins", 25},
    {LIMIT_GRP_TRES_RUN_MINS, "GrpTRESRunMins", 25},
    {LIMIT_GRP_WALL, "GrpWall", 25},
    {LIMIT_MAX_JOBS_ACCRUE_PER_ACCOUNT, "MaxJobsAccruePerAccount", 25},
    {LIMIT_MAX_JOBS_ACCRUE_PER_USER, "MaxJobsAccruePerUser", 25},
    {LIMIT_MAX_JOBS_PER_ACCOUNT, "MaxJobsPerAccount", 25},
    {LIMIT_MAX_JOBS_PER_USER, "MaxJobsPerUser", 15},
    {LIMIT_MAX_SUBMIT_PER_ACCOUNT, "MaxSubmitJobsPerAccount", 25},
    {LIMIT_MAX_SUBMIT_PER_USER, "MaxSubmitJobsPerUser", 25},
    {LIMIT_MAX_TRES_PER_ACCOUNT, "MaxTRESPerAccount", 25},
    {LIMIT_MAX_TRES, "MaxTRESPerJob", 25},
    {LIMIT_MAX_TRES_PER_NODE, "MaxTRESPerNode", 25},
    {LIMIT_MAX_TRES_PER_USER, "MaxTRESPerUser", 25},
    {LIMIT_MIN_PRIO, "MinPrioThresh", 25},
    {LIMIT_MIN_TRES, "MinTRESPerJob", 25},
    {LIMIT_MAX_TRES_MINS, "MaxTRESMins", 25},
    {LIMIT_MAX_TRES_RUN_MINS_PER_ACCOUNT, "MaxTRESRUNMinsPerAccount", 25},
    {LIMIT_MAX_TRES_RUN_MINS_PER_USER, "MaxTRESRUNMinsPerUser", 25},
    {LIMIT_MAX_WALL, "MaxWall", 25},
}, of_assoc[] = {
    {LIMIT_GRP_JOBS, "GrpJobs", 14},
    {LIMIT_GRP_JOBS_ACCRUE, "GrpJobsAccrue", 25},
    {LIMIT_GRP_SUBMIT, "GrpSubmitJobs", 14},
    {LIMIT_GRP_TRES, "GrpTRES", 14},
    {LIMIT_GRP_TRES_MINS, "GrpTRESMins", 14},
    {LIMIT_GRP_TRES_RUN_MINS, "GrpTRESRunMins", 14},
    {LIMIT_GRP_WALL, "GrpWall", 14},
    {LIMIT_MAX_JOBS, "MaxJobs", 14},
    {LIMIT_MAX_JOBS_ACCRUE, "MaxJobsPrioAcc", 14},
    {LIMIT_MAX_SUBMIT, "MaxSubmitJobs", 14},
    {LIMIT_MAX_TRES, "MaxTRES", 14},
    {LIMIT_MAX_TRES_PER_NODE, "MaxTRESPerNode", 14},
    {LIMIT_MAX_TRES_MINS, "MaxTRESMins", 14},
    {LIMIT_MAX_WALL, "MaxWall", 14},
    {LIMIT_MIN_PRIO, "MinPrioThresh", 14},
};
// clang-format on

static void limits_say(struct taking *t, const struct limit_line *line, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct sacctmgr_owner o = {0};
        struct str text = STR_INIT;
        for (size_t k = 0; k < t->limit.n; k++)
            if (t->limit.v[k].what == (int32_t)line[i].what)
                vec_push(&o.limit, &t->limit.v[k]);
        owner_limit_say(&o, line[i].what, false, &text);
        if (text.len)
            str_addf(&t->st->said, "  %-*s= %s\n", line[i].width, line[i].label, str_text(&text));
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
    limits_say(t, of_assoc, ARRAY_LEN(of_assoc));
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
    limits_say(t, of_qos, ARRAY_LEN(of_qos));
    if (q->preempt)
        say(out, 24, "Preempt", q->preempt);
    if (q->preempt_mode)
        say(out, 24, "PreemptMode", enum_name(&preempt_mode_names, q->preempt_mode));
    if (*fields && specs_match(fields, "priority"))
        say(out, 24, "Priority", arena_printf(t->s->a, "%u", q->priority));
}
