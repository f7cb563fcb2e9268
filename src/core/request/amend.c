/* amend_jobs: what `sacctmgr modify job` says of jobs afterwards. A job that memory knows is
 * changed there; of another the row that was read with the request takes the new values and is
 * stored as a whole, so that sums of use by workload key follow as they do with any row. */
#include "base/list.h"
#include "core/record/accounts/accounts.h"
#include "core/request/request.h"

#include <string.h>

#define TEXT_MOST (4 * LIMIT_NAME_BYTES)

struct amended {
    struct jobrec *r; /* NULL = memory does not know it */
    struct job row;   /* as it is; its texts are others' */
};

struct amending {
    struct core *c;
    const struct msg_amend_jobs *m;
    VEC(struct amended) job;
    const char *detail;
};

static enum refusal refuse(struct amending *g, enum refusal refusal, const char *why)
{
    g->detail = why;
    return refusal;
}

static bool job_of(const struct core *c, uint64_t id, struct amended *ret)
{
    const struct record_list *rows = c->turn.rows;
    const struct job *row = rows ? rows->v : NULL;
    *ret = (struct amended){.r = job_find(c, id)};
    if (ret->r)
        ret->row = ret->r->j;
    for (size_t i = 0; !ret->r && rows && i < rows->n; i++)
        if (row[i].id == id)
            ret->row = row[i];
    return ret->row.id != 0;
}

static enum refusal jobs_find(struct amending *g)
{
    struct span rest = span_of(g->m->ids ? g->m->ids : ""), piece;
    struct arena *a = g->c->turn.fx->arena;
    while (span_next(&rest, ',', &piece)) {
        const char *number = arena_strndup(a, piece.data, piece.len);
        struct amended one;
        uint64_t id;
        if (g->job.n == AMENDED_AT_ONCE)
            return refuse(g, REFUSE_TOO_LARGE, "at most 1,000 jobs at once: choose fewer");
        if (!text_to_u64(number, UINT64_MAX, &id) || !job_of(g->c, id, &one))
            return refuse(g, REFUSE_INVALID_JOB_ID, arena_printf(a, "there is no job %s", number));
        vec_push(&g->job, one);
    }
    return REFUSE_NONE;
}

static enum refusal values_check(struct amending *g)
{
    static const char *const known[] = {"comment", "admin_comment", "system_comment",
                                        "extra",   "wckey",         "derived_exit_status"};
    const struct msg_amend_jobs *m = g->m;
    const char *const texts[] = {m->comment, m->admin_comment, m->system_comment, m->extra,
                                 m->wckey};
    struct span rest = span_of(m->fields ? m->fields : ""), piece;
    while (span_next(&rest, ',', &piece)) {
        bool found = false;
        for (size_t i = 0; i < ARRAY_LEN(known); i++)
            found |= span_is(piece, known[i]);
        if (!found)
            return refuse(g, REFUSE_BAD_MESSAGE,
                          "what is said of jobs afterwards is comment, admin_comment, "
                          "system_comment, extra, wckey and derived_exit_status");
    }
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (texts[i] && strlen(texts[i]) > TEXT_MOST)
            return refuse(g, REFUSE_TOO_LARGE, "what is said of a job is at most 1024 bytes long");
    return REFUSE_NONE;
}

static bool may_amend(const struct amending *g, const struct amended *a)
{
    const struct peer *p = g->c->turn.peer;
    if (a->r)
        return may_manage(g->c, a->r);
    return p->uid == a->row.user_id || peer_operates(g->c, p) ||
           peer_coordinates(g->c, p, a->row.spec.req.account);
}

static enum refusal job_check(struct amending *g, const struct amended *a)
{
    struct arena *arena = g->c->turn.fx->arena;
    unsigned long long id = a->row.id;
    bool over = job_state_over((enum job_state)a->row.state);
    if (!may_amend(g, a))
        return refuse(g, REFUSE_ACCESS_DENIED,
                      arena_printf(arena,
                                   "job %llu is another user's: its owner, coordinators of "
                                   "its account and operators may say something of it",
                                   id));
    if (!over && list_has(g->m->fields, "wckey"))
        return refuse(g, REFUSE_UPDATE,
                      arena_printf(arena,
                                   "job %llu is not over: scontrol update JobId=%llu "
                                   "WCKey=… changes its workload key",
                                   id, id));
    if (!over && list_has(g->m->fields, "derived_exit_status"))
        return refuse(g, REFUSE_UPDATE,
                      arena_printf(arena, "job %llu is not over: how it ended is said then", id));
    return REFUSE_NONE;
}

/* With as much as its texts may grow by. */
static enum refusal room_check(struct amending *g, uint32_t uid)
{
    struct str why = STR_INIT;
    bool fits = user_room_disk_fits(g->c, uid, g->job.n * 5 * TEXT_MOST, &why);
    if (!fits)
        g->detail = arena_strdup(g->c->turn.fx->arena, str_text(&why));
    str_done(&why);
    return fits ? REFUSE_NONE : REFUSE_TOO_LARGE;
}

static enum refusal amend_check(struct amending *g)
{
    bool of_operators =
        list_has(g->m->fields, "admin_comment") || list_has(g->m->fields, "system_comment");
    enum refusal refusal = values_check(g);
    if (!refusal && of_operators && !peer_operates(g->c, g->c->turn.peer))
        refusal = refuse(g, REFUSE_ACCESS_DENIED,
                         "only operators may set AdminComment and SystemComment; Comment and "
                         "Extra are its owner's");
    if (!refusal)
        refusal = jobs_find(g);
    for (size_t i = 0; i < g->job.n && !refusal; i++)
        refusal = job_check(g, &g->job.v[i]);
    if (!refusal && g->job.n && !peer_operates(g->c, g->c->turn.peer))
        refusal = room_check(g, g->c->turn.peer->uid);
    return refusal;
}

/* ---- the change ----------------------------------------------------------------------------- */

static bool set(const struct amending *g, const char *field)
{
    return list_has(g->m->fields, field);
}

static void known_amend(struct amending *g, struct jobrec *r)
{
    const struct msg_amend_jobs *m = g->m;
    const struct {
        const char *field, *value;
        const char **at;
    } text[] = {{"comment", m->comment, &r->j.spec.comment},
                {"admin_comment", m->admin_comment, &r->j.admin_comment},
                {"system_comment", m->system_comment, &r->j.system_comment},
                {"extra", m->extra, &r->j.spec.extra},
                {"wckey", m->wckey, &r->j.spec.wckey}};
    for (size_t i = 0; i < ARRAY_LEN(text); i++)
        if (set(g, text[i].field))
            text_set(g->c, text[i].at, text_empty(text[i].value) ? NULL : text[i].value);
    if (set(g, "derived_exit_status"))
        r->j.derived_exit_status = m->derived_exit_status;
    user_room_texts(g->c, r);
    job_save(g->c, r);
}

static void row_amend(struct amending *g, struct job *j)
{
    const struct msg_amend_jobs *m = g->m;
    j->spec.comment = set(g, "comment") ? m->comment : j->spec.comment;
    j->admin_comment = set(g, "admin_comment") ? m->admin_comment : j->admin_comment;
    j->system_comment = set(g, "system_comment") ? m->system_comment : j->system_comment;
    j->spec.extra = set(g, "extra") ? m->extra : j->spec.extra;
    j->spec.wckey = set(g, "wckey") ? m->wckey : j->spec.wckey;
    if (set(g, "derived_exit_status"))
        j->derived_exit_status = m->derived_exit_status;
    fx_store(g->c, TABLE_JOB, j);
}

static void transaction_note(const struct amending *g, const struct job *j)
{
    struct str target = STR_INIT;
    str_addf(&target, "%llu", (unsigned long long)j->id);
    struct transaction t = {.actor = g->c->turn.peer->user ? g->c->turn.peer->user : "nobody",
                            .action = "Modify Job",
                            .target = str_text(&target),
                            .info = g->m->fields,
                            .accounts = j->spec.req.account,
                            .users = j->user_name};
    transaction_put(g->c, &t);
    str_done(&target);
}

void req_amend_jobs(struct core *c, const struct msg_amend_jobs *m)
{
    ASSERT(c->turn.peer);
    struct amending g = {.c = c, .m = m};
    enum refusal refusal = amend_check(&g);
    for (size_t i = 0; i < g.job.n && !refusal && !m->test_only; i++) {
        struct amended *a = &g.job.v[i];
        if (a->r)
            known_amend(&g, a->r);
        else
            row_amend(&g, &a->row);
        transaction_note(&g, &a->row);
    }
    if (!refusal && !m->test_only && g.job.n && !peer_operates(c, c->turn.peer))
        user_room_disk(c, c->turn.peer->uid, g.job.n * 5 * TEXT_MOST);
    vec_done(&g.job);
    reply_done(c, refusal, g.detail);
}
