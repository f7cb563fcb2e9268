/* amend_jobs: what `sacctmgr modify job` says of jobs afterwards. A job that memory knows is
 * changed there; of another the row that was read with the request takes the new values and is
 * stored as a whole, so that sums of use by workload key follow as they do with any row.
 *
 * A user writes the request: what he names again and again, jobs or fields, is looked at once. */
#include "base/list.h"
#include "base/map.h"
#include "core/record/accounts/accounts.h"
#include "core/request/request.h"
#include "model/job/owner.h"

#include <string.h>

#define TEXT_MOST LIMIT_JOB_NAME_BYTES

/* What may be said: texts of a job, and a number. */
enum amended_text { COMMENT, ADMIN_COMMENT, SYSTEM_COMMENT, EXTRA, WCKEY, TEXTS };
static const struct {
    const char *name;
    size_t at; /* in struct job */
} text_field[TEXTS] = {
    [COMMENT] = {"comment", offsetof(struct job, spec.comment)},
    [ADMIN_COMMENT] = {"admin_comment", offsetof(struct job, admin_comment)},
    [SYSTEM_COMMENT] = {"system_comment", offsetof(struct job, system_comment)},
    [EXTRA] = {"extra", offsetof(struct job, spec.extra)},
    [WCKEY] = {"wckey", offsetof(struct job, spec.wckey)},
};
#define SAID(text)               (1u << (text))
#define SAID_DERIVED_EXIT_STATUS SAID(TEXTS)

struct amended {
    struct jobrec *r;  /* NULL = memory does not know it */
    struct job row;    /* as it is; its texts are others' */
    const char *wckey; /* that it gets, if one is said */
};

struct amending {
    struct core *c;
    const struct msg_amend_jobs *m;
    const struct job *values;
    uint32_t said;      /* bits: SAID of each amended_text, SAID_DERIVED_EXIT_STATUS */
    const char *fields; /* the same as words; in the arena of the turn */
    VEC(struct amended) job;
    const char *detail;
};

static const char *field_name(size_t i)
{
    return i < TEXTS ? text_field[i].name : "derived_exit_status";
}

static const char **text_at(struct job *j, size_t i)
{
    return (const char **)((char *)j + text_field[i].at);
}

static const char *new_text(const struct amending *g, size_t i)
{
    return *(const char *const *)((const char *)g->values + text_field[i].at);
}

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
    struct map_u64 *seen = map_u64_new();
    enum refusal refusal = REFUSE_NONE;
    for (size_t n = 0; !refusal && span_next(&rest, ',', &piece); n++) {
        const char *number = arena_strndup(a, piece.data, piece.len);
        struct amended one;
        uint64_t id;
        if (n == AMENDED_AT_ONCE) {
            refusal = refuse(g, REFUSE_TOO_LARGE, "at most 1,000 jobs at once: choose fewer");
        } else if (!text_to_u64(number, UINT64_MAX, &id) || !job_of(g->c, id, &one)) {
            refusal =
                refuse(g, REFUSE_INVALID_JOB_ID, arena_printf(a, "there is no job %s", number));
        } else if (!map_u64_get(seen, id)) {
            map_u64_put(seen, id, g);
            vec_push(&g->job, one);
        }
    }
    map_u64_free(seen);
    return refusal;
}

/* False: a word is none of them. */
static bool fields_read(struct amending *g)
{
    struct span rest = span_of(g->m->fields ? g->m->fields : ""), piece;
    struct str words = STR_INIT;
    while (span_next(&rest, ',', &piece)) {
        size_t i = 0;
        while (i <= TEXTS && !span_is(piece, field_name(i)))
            i++;
        if (i > TEXTS)
            return false;
        g->said |= SAID(i);
    }
    for (size_t i = 0; i <= TEXTS; i++)
        if (g->said & SAID(i))
            list_addf(&words, "%s", field_name(i));
    g->fields = arena_strdup(g->c->turn.fx->arena, str_text(&words));
    str_done(&words);
    return true;
}

static enum refusal values_check(struct amending *g)
{
    if (!g->values)
        return refuse(g, REFUSE_BAD_MESSAGE, "no new values");
    if (!fields_read(g))
        return refuse(g, REFUSE_BAD_MESSAGE,
                      "what is said of jobs afterwards is comment, admin_comment, system_comment, "
                      "extra, wckey and derived_exit_status");
    for (size_t i = 0; i < TEXTS; i++)
        if (g->said & SAID(i) && new_text(g, i) && strlen(new_text(g, i)) > TEXT_MOST)
            return refuse(g, REFUSE_TOO_LARGE, "what is said of a job is at most 1024 bytes long");
    return REFUSE_NONE;
}

static bool may_amend(const struct amending *g, const struct amended *a)
{
    const struct peer *p = g->c->turn.peer;
    if (a->r)
        return may_manage(g->c, a->r);
    return job_is_of(&a->row, p->uid, p->user) || peer_operates(g->c, p) ||
           peer_coordinates(g->c, p, a->row.spec.req.account);
}

/* Where keys are insisted on they are so here, too: else work went to any key afterwards. */
static enum refusal wckey_check(struct amending *g, struct amended *a)
{
    struct job_spec trial = {.wckey = new_text(g, WCKEY)};
    struct str why = STR_INIT;
    enum refusal refusal = wckey_choose(g->c, &trial, a->row.user_name, &why);
    if (refusal)
        g->detail = arena_strdup(g->c->turn.fx->arena, str_text(&why));
    a->wckey = text_empty(trial.wckey) ? NULL : trial.wckey;
    str_done(&why);
    return refusal;
}

static enum refusal job_check(struct amending *g, struct amended *a)
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
    if (!over && g->said & SAID(WCKEY))
        return refuse(g, REFUSE_UPDATE,
                      arena_printf(arena,
                                   "job %llu is not over: scontrol update JobId=%llu "
                                   "WCKey=… changes its workload key",
                                   id, id));
    if (!over && g->said & SAID_DERIVED_EXIT_STATUS)
        return refuse(g, REFUSE_UPDATE,
                      arena_printf(arena, "job %llu is not over: how it ended is said then", id));
    return g->said & SAID(WCKEY) ? wckey_check(g, a) : REFUSE_NONE;
}

/* With as much as its texts may grow by. */
static enum refusal room_check(struct amending *g, uint32_t uid)
{
    struct str why = STR_INIT;
    bool fits = user_room_disk_fits(g->c, uid, g->job.n * TEXTS * TEXT_MOST, &why);
    if (!fits)
        g->detail = arena_strdup(g->c->turn.fx->arena, str_text(&why));
    str_done(&why);
    return fits ? REFUSE_NONE : REFUSE_TOO_LARGE;
}

static enum refusal amend_check(struct amending *g)
{
    enum refusal refusal = values_check(g);
    bool of_operators = g->said & (SAID(ADMIN_COMMENT) | SAID(SYSTEM_COMMENT));
    if (!refusal && of_operators && !peer_operates(g->c, g->c->turn.peer))
        refusal = refuse(g, REFUSE_ACCESS_DENIED,
                         "only operators may set AdminComment and SystemComment; Comment and "
                         "Extra are its owner's");
    if (!refusal)
        refusal = jobs_find(g);
    for (size_t i = 0; i < g->job.n && !refusal; i++)
        refusal = job_check(g, &g->job.v[i]);
    if (!refusal && !peer_operates(g->c, g->c->turn.peer))
        refusal = room_check(g, g->c->turn.peer->uid);
    return refusal;
}

/* ---- the change ----------------------------------------------------------------------------- */

/* What this job gets; NULL: nothing. Of keys it may have been given one that was not said. */
static const char *text_for(const struct amending *g, const struct amended *a, size_t i)
{
    const char *text = i == WCKEY ? a->wckey : new_text(g, i);
    return text_empty(text) ? NULL : text;
}

static void known_amend(struct amending *g, const struct amended *a)
{
    struct jobrec *r = a->r;
    for (size_t i = 0; i < TEXTS; i++)
        if (g->said & SAID(i))
            text_set(g->c, text_at(&r->j, i), text_for(g, a, i));
    if (g->said & SAID_DERIVED_EXIT_STATUS)
        r->j.derived_exit_status = g->values->derived_exit_status;
    user_room_count(g->c, r);
    job_save(g->c, r);
}

static void row_amend(struct amending *g, struct amended *a)
{
    for (size_t i = 0; i < TEXTS; i++)
        if (g->said & SAID(i))
            *text_at(&a->row, i) = text_for(g, a, i);
    if (g->said & SAID_DERIVED_EXIT_STATUS)
        a->row.derived_exit_status = g->values->derived_exit_status;
    fx_store(g->c, TABLE_JOB, &a->row);
}

static void transaction_note(const struct amending *g, const struct job *j)
{
    struct str target = STR_INIT;
    str_addf(&target, "%llu", (unsigned long long)j->id);
    struct transaction t = {.actor = g->c->turn.peer->user ? g->c->turn.peer->user : "nobody",
                            .action = "Modify Job",
                            .target = str_text(&target),
                            .info = g->fields,
                            .accounts = j->spec.req.account,
                            .users = j->user_name};
    transaction_put(g->c, &t);
    str_done(&target);
}

void req_amend_jobs(struct core *c, const struct msg_amend_jobs *m)
{
    ASSERT(c->turn.peer);
    struct amending g = {.c = c, .m = m, .values = m->values.n == 1 ? m->values.v : NULL};
    enum refusal refusal = amend_check(&g);
    for (size_t i = 0; i < g.job.n && !refusal && !m->test_only; i++) {
        struct amended *a = &g.job.v[i];
        if (a->r)
            known_amend(&g, a);
        else
            row_amend(&g, a);
        transaction_note(&g, &a->row);
    }
    if (!refusal && !m->test_only && !peer_operates(c, c->turn.peer))
        user_room_disk(c, c->turn.peer->uid, g.job.n * TEXTS * TEXT_MOST);
    vec_done(&g.job);
    reply_done(c, refusal, g.detail);
}
