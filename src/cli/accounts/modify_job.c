/* sacctmgr modify job: which jobs the conditions name is asked of the history, as sacct does; what
 * is said of them is one request, done or refused as a whole. */
#include "base/calendar/civil.h"
#include "base/list.h"
#include "cli/accounts/accounts.h"
#include "cli/program/localtime.h"
#include "cli/program/program.h"
#include "cli/program/room.h"

#include <stdio.h>
#include <string.h>

struct job_change {
    struct sacctmgr *s;
    const struct specs *sp;
    struct msg_amend_jobs m;
    struct job values; /* the new ones */
    struct str fields, ids, said;
    uint64_t last; /* job; runs of one come one after another */
    size_t n;
};

/* ---- what is set ---------------------------------------------------------------------------- */

static void field_set(struct job_change *g, enum sacctmgr_key key, const char *field,
                      const char **value)
{
    const struct spec *one = specs_set(g->sp, key);
    if (!one)
        return;
    *value = one->value;
    str_addf(&g->fields, "%s%s", g->fields.len ? "," : "", field);
}

static bool exit_set(struct job_change *g)
{
    const struct spec *one = specs_set(g->sp, KEY_DERIVED_EXIT);
    int64_t n;
    if (!one)
        return true;
    if (!text_to_i64(one->value, 0, INT32_MAX, &n)) {
        sacctmgr_fail(g->s, "Invalid value for DerivedExitCode (%s)", one->value);
        return false;
    }
    g->values.derived_exit_status = (int32_t)n;
    str_addf(&g->fields, "%sderived_exit_status", g->fields.len ? "," : "");
    return true;
}

static bool values_read(struct job_change *g)
{
    field_set(g, KEY_JOB_COMMENT, "comment", &g->values.spec.comment);
    field_set(g, KEY_ADMIN_COMMENT, "admin_comment", &g->values.admin_comment);
    field_set(g, KEY_SYSTEM_COMMENT, "system_comment", &g->values.system_comment);
    field_set(g, KEY_EXTRA, "extra", &g->values.spec.extra);
    field_set(g, KEY_NEW_WCKEY, "wckey", &g->values.spec.wckey);
    bool ok = exit_set(g);
    g->m.fields = str_text(&g->fields);
    g->m.values = (struct record_list){&g->values, 1};
    return ok;
}

/* ---- which jobs ----------------------------------------------------------------------------- */

static bool time_read(struct job_change *g, enum sacctmgr_key key, int64_t *ret)
{
    const char *text = specs_where(g->sp, key, g->s->a);
    struct err e = {0};
    if (!text || civil_parse(text, time_now_us(), &civil_local, false, ret, &e))
        return true;
    sacctmgr_fail(g->s, "%s", e.text);
    return false;
}

/* Names or numbers of users as numbers. */
static bool users_read(struct job_change *g, const char **ret)
{
    const char *users = specs_where(g->sp, KEY_USERS, g->s->a);
    struct span rest = span_of(users ? users : ""), piece;
    struct str list = STR_INIT;
    bool ok = true;
    while (users && ok && span_next(&rest, ',', &piece)) {
        const char *name = arena_strndup(g->s->a, piece.data, piece.len);
        const struct passwd *pw = user_by_name(name);
        uint64_t uid = pw ? pw->pw_uid : 0;
        ok = pw || text_to_u64(name, UINT32_MAX, &uid);
        if (!ok)
            sacctmgr_fail(g->s, "there is no user %s", name);
        str_addf(&list, "%s%llu", list.len ? "," : "", (unsigned long long)uid);
    }
    *ret = users ? arena_strdup(g->s->a, str_text(&list)) : NULL;
    str_done(&list);
    return ok;
}

/* "12.0" is a step of job 12, which is meant: Slurm's words. */
static const char *ids_read(struct job_change *g)
{
    const char *ids = specs_where(g->sp, KEY_JOB_IDS, g->s->a);
    struct span rest = span_of(ids ? ids : ""), piece;
    struct str list = STR_INIT;
    while (ids && span_next(&rest, ',', &piece)) {
        size_t len = 0;
        while (len < piece.len && piece.data[len] != '.')
            len++;
        str_addf(&list, "%s%.*s", list.len ? "," : "", (int)len, piece.data);
    }
    const char *kept = ids ? arena_strdup(g->s->a, str_text(&list)) : NULL;
    str_done(&list);
    return kept;
}

static void job_take(void *ctx, const void *record)
{
    struct job_change *g = ctx;
    const struct job *j = record;
    const char *wckey = specs_where(g->sp, KEY_OLD_WCKEY, g->s->a);
    if (j->id == g->last || (wckey && !specs_match(wckey, j->spec.wckey)))
        return;
    g->last = j->id;
    g->n++;
    str_addf(&g->ids, "%s%llu", g->ids.len ? "," : "", (unsigned long long)j->id);
    str_addf(&g->said, "  %llu submitted at ", (unsigned long long)j->id);
    civil_format_iso(j->submit_us, &civil_local, &g->said);
    str_addc(&g->said, '\n');
}

static bool jobs_read(struct job_change *g)
{
    const char *clusters = specs_where(g->sp, KEY_CLUSTERS, g->s->a);
    struct msg_query q = {.what = QUERY_HISTORY, .fields = "id,submit_us,wckey"};
    q.ids = ids_read(g);
    if (!time_read(g, KEY_START, &q.from_us) || !time_read(g, KEY_END, &q.to_us) ||
        !users_read(g, &q.uids))
        return false;
    if (specs_match(clusters, g->s->cluster) && !sacctmgr_query(g->s, &q, &job_fields, job_take, g))
        return false;
    if (!g->n) {
        puts(" Nothing modified");
        g->s->rc = 1;
    }
    return g->n > 0;
}

/* ---- the change ----------------------------------------------------------------------------- */

static bool send(struct job_change *g, bool test_only)
{
    struct sacctmgr *s = g->s;
    struct message answer = {0};
    struct err e = {0};
    g->m.ids = str_text(&g->ids);
    g->m.test_only = test_only;
    if (!client_call(s->client, MSG_AMEND_JOBS, &g->m, 0, s->a, &answer, &e)) {
        sacctmgr_fail(s, "%s", e.text);
        return false;
    }
    const struct msg_done *done = answer.kind == MSG_DONE ? answer.body : NULL;
    enum refusal refusal = done ? (enum refusal)done->refusal : REFUSE_BAD_MESSAGE;
    if (refusal == REFUSE_NONE)
        return true;
    sacctmgr_refuse(s, " Error with request: %s", refusal_text(refusal));
    if (done && done->detail)
        sacctmgr_fail(s, "%s", done->detail);
    return false;
}

static bool any_condition(const struct specs *sp)
{
    for (size_t i = 0; i < sp->where.n; i++)
        if (sp->where.v[i].key != KEY_CLUSTERS)
            return true;
    return false;
}

static void change(struct job_change *g)
{
    struct sacctmgr *s = g->s;
    if (!values_read(g) || !jobs_read(g) || !send(g, !s->immediate))
        return;
    printf(" Modified jobs...\n%s", str_text(&g->said));
    if (s->immediate)
        return;
    if (sacctmgr_ask(s, "Would you like to commit changes?"))
        send(g, false);
    else
        puts(" Changes Discarded");
}

void jobs_modify(struct sacctmgr *s, const struct specs *sp)
{
    struct job_change g = {.s = s, .sp = sp};
    if (any_condition(sp) ||
        sacctmgr_ask(s, " You didn't set any conditions with 'WHERE'.\nAre you sure you want to "
                        "continue?"))
        change(&g);
    str_done(&g.fields);
    str_done(&g.ids);
    str_done(&g.said);
}
