/* update_reservation: make, change and remove reservations. A change is tried on a copy, for which
 * the planner chooses nodes, before the record takes it. */
#include "base/list.h"
#include "core/request/request.h"

#include <string.h>

#define LONGEST_US (365 * USEC_PER_DAY) /* what "unlimited" means, as in Slurm */

static const char *const fixed[] = {"name",    "holds",   "core_count", "cpu_count",
                                    "made_us", "idle_us", "active",     "day_second"};

/* These say which nodes it has: chosen anew when one of them, or its time, changes. */
static const char *const choosing[] = {"nodes",     "node_count",  "core_counts", "gres",
                                       "partition", "features",    "licenses",    "start_us",
                                       "end_us",    "duration_us", "flags"};

static bool any_given(const struct msg_update_reservation *m, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list_has(m->fields, names[i]))
            return true;
    return false;
}

static enum refusal fields_take(struct core *c, const struct msg_update_reservation *m,
                                struct reservation *trial, const char **detail)
{
    const struct reservation *values = m->values.n ? m->values.v : NULL;
    struct span rest = span_of(m->fields), piece;
    while (m->fields && span_next(&rest, ',', &piece)) {
        const char *name = arena_strndup(c->turn.fx->arena, piece.data, piece.len);
        ptrdiff_t i = fields_find(&reservation_fields, name);
        bool wrong = i < 0 || !values;
        for (size_t k = 0; k < ARRAY_LEN(fixed); k++)
            wrong |= text_is(name, fixed[k]);
        if (wrong) {
            *detail =
                arena_printf(c->turn.fx->arena, "\"%s\" of a reservation cannot be changed", name);
            return REFUSE_UPDATE;
        }
        field_copy(&reservation_fields.field[i], trial, values);
    }
    return REFUSE_NONE;
}

/* Start, end and length from what was given of them. */
static enum refusal times_settle(struct core *c, const struct msg_update_reservation *m,
                                 struct reservation *r, const struct reservation *old,
                                 const char **detail)
{
    bool start = list_has(m->fields, "start_us"), end = list_has(m->fields, "end_us");
    bool length = list_has(m->fields, "duration_us");
    if (m->create && (!start || (!end && !length))) {
        *detail = "a reservation needs StartTime=, and EndTime= or Duration=";
        return REFUSE_BEGIN_TIME;
    }
    if (old && start && old->start_us != r->start_us && resv_is_on(old, c->turn.now_us)) {
        *detail = "it has begun: its start can no longer be changed";
        return REFUSE_BEGIN_TIME;
    }
    if (m->create && r->start_us < c->turn.now_us && !(r->flags & RESV_RECURRING)) {
        if (r->start_us < c->turn.now_us - USEC_PER_MIN) {
            *detail = "it would begin in the past";
            return REFUSE_INVALID_TIME;
        }
        r->start_us = c->turn.now_us;
    }
    if (length && r->duration_us > LONGEST_US)
        r->duration_us = LONGEST_US;
    if (!end || (length && m->create))
        r->end_us = time_add(r->start_us,
                             length || (old && start) ? r->duration_us : r->end_us - r->start_us);
    if (r->end_us > time_add(r->start_us, LONGEST_US))
        r->end_us = time_add(r->start_us, LONGEST_US);
    r->duration_us = r->end_us - r->start_us;
    if (start)
        r->day_second = resv_day_second(r->start_us, cluster_zone(c->cluster));
    int64_t next = resv_next_start(r, r->start_us, cluster_zone(c->cluster));
    if (r->duration_us <= 0 || next < r->end_us) {
        *detail = r->duration_us <= 0 ? "it would end before it begins"
                                      : "it is longer than the time until it comes again";
        return REFUSE_INVALID_TIME;
    }
    while (r->end_us <= c->turn.now_us && (r->flags & RESV_RECURRING)) {
        r->start_us = resv_next_start(r, r->start_us, cluster_zone(c->cluster));
        r->end_us = time_add(r->start_us, r->duration_us);
    }
    return REFUSE_NONE;
}

/* "," names nobody. */
static bool names_somebody(const char *list)
{
    return !text_empty(list) && list[strspn(list, ", +-")];
}

static enum refusal sense_check(const struct reservation *r, const char **detail)
{
    bool nodes = r->nodes || r->node_count > 0 || r->core_counts || r->gres || r->partition;
    *detail = NULL;
    if (!names_somebody(r->users) && !names_somebody(r->accounts) && !names_somebody(r->groups))
        *detail = "a reservation is for somebody: give Users=, Groups= or Accounts=";
    else if (!text_empty(r->users) && !text_empty(r->groups))
        *detail = "Users= and Groups= cannot both be given";
    else if (!nodes && text_empty(r->licenses))
        *detail = "nothing is reserved: give Nodes=, NodeCnt=, CoreCnt=, TRES=, PartitionName= or "
                  "Licenses=";
    else if ((r->flags & RESV_PART_NODES) && (!r->partition || r->core_counts || r->gres))
        *detail = "Flags=PART_NODES goes with PartitionName= and Nodes=ALL";
    else if ((r->flags & (RESV_REPLACE | RESV_REPLACE_DOWN)) && (r->flags & RESV_SPEC_NODES))
        *detail = "Flags=REPLACE and REPLACE_DOWN go with NodeCnt=, not with named nodes";
    else if (!resv_recurs_one_way(r->flags))
        *detail = "only one of HOURLY, DAILY, WEEKDAY, WEEKEND and WEEKLY can be given";
    return *detail ? REFUSE_RESERVATION : REFUSE_NONE;
}

static enum refusal trial_choose(struct core *c, struct reservation *r, const char **detail)
{
    struct str why = STR_INIT;
    enum refusal refusal = sched_reserve(c->cluster, r, c->turn.now_us, c->turn.fx->arena, &why);
    if (refusal)
        *detail = arena_strdup(c->turn.fx->arena, str_text(&why));
    str_done(&why);
    return refusal;
}

static void users_wake(struct core *c, const char *name)
{
    struct map_walk w = {0};
    while (map_u64_next(c->jobs.by_id, &w)) {
        struct jobrec *r = w.value;
        if (r->j.state == JOB_PENDING && r->j.spec.req.reservation &&
            list_has(r->j.spec.req.reservation, name))
            eligible_update(c, r);
        if (r->j.state == JOB_RUNNING && text_is(r->j.run_reservation, name))
            resv_end_tell(c, r);
    }
}

static enum refusal resv_change(struct core *c, struct resvrec *v,
                                const struct msg_update_reservation *m, const char **detail)
{
    struct reservation trial = v->r, taken;
    const struct reservation *old = m->create ? NULL : &v->r;
    enum refusal refusal = fields_take(c, m, &trial, detail);
    if (!refusal && (any_given(m, choosing, 4) || list_has(m->fields, "flags")))
        trial.flags |= old ? old->flags & (RESV_SPEC_NODES | RESV_ALL_NODES) : 0;
    if (list_has(m->fields, "nodes") || (list_has(m->fields, "node_count") && !trial.nodes))
        trial.flags &= ~(uint32_t)(RESV_SPEC_NODES | RESV_ALL_NODES);
    if (!refusal && list_has(m->fields, "node_count") && old && !list_has(m->fields, "nodes"))
        trial.nodes = NULL, trial.flags &= ~(uint32_t)(RESV_SPEC_NODES | RESV_ALL_NODES);
    if (!refusal && list_has(m->fields, "nodes") && trial.nodes &&
        !list_has(m->fields, "node_count"))
        trial.node_count = 0;
    if (!refusal)
        refusal = times_settle(c, m, &trial, old, detail);
    if (trial.flags & RESV_ANY_NODES)
        trial.node_count = 0; /* as in Slurm: a number of nodes means none of them */
    if (!refusal)
        refusal = sense_check(&trial, detail);
    if (!refusal && any_given(m, choosing, ARRAY_LEN(choosing)))
        refusal = trial_choose(c, &trial, detail);
    if (refusal)
        return refusal;
    record_intern(c, &reservation_fields, &taken, &trial);
    record_drop(c, &reservation_fields, &v->r);
    v->r = taken;
    v->look_us = 0;
    resv_save(c, v);
    resv_tell(c, v);
    return REFUSE_NONE;
}

/* "alice_3": the first user or account, and a number. */
static const char *name_make(struct core *c, const struct msg_update_reservation *m)
{
    const struct reservation *r = m->values.n ? m->values.v : NULL;
    const char *whose = r && r->users      ? r->users
                        : r && r->accounts ? r->accounts
                        : r && r->groups   ? r->groups
                                           : "resv";
    whose += whose[0] == '-';
    for (int i = 1;; i++) {
        const char *name =
            arena_printf(c->turn.fx->arena, "%.*s_%d", (int)strcspn(whose, ","), whose, i);
        if (!resv_find(c, name))
            return name;
    }
}

static enum refusal resv_create(struct core *c, const struct msg_update_reservation *m,
                                const char *name, const char **detail)
{
    if (!record_name_fits(name)) {
        *detail = "a reservation's name has from 1 to 256 letters, digits and the like; no blanks, "
                  "commas, "
                  "quotes or brackets";
        return REFUSE_RESERVATION;
    }
    if (c->resv.n >= LIMIT_RESERVATIONS) {
        *detail = "there are as many reservations as are allowed";
        return REFUSE_TOO_LARGE;
    }
    struct resvrec *v = xcalloc(1, sizeof *v);
    text_set(c, &v->r.name, name);
    v->r.made_us = c->turn.now_us;
    enum refusal refusal = resv_change(c, v, m, detail);
    if (refusal) {
        record_drop(c, &reservation_fields, &v->r);
        free(v);
        return refusal;
    }
    resv_insert(c, v);
    users_wake(c, name);
    return REFUSE_NONE;
}

static enum refusal resv_skip(struct core *c, struct resvrec *v, const char **detail)
{
    int64_t length = v->r.end_us - v->r.start_us;
    if (!(v->r.flags & RESV_RECURRING)) {
        *detail = "it does not come again: there is nothing to skip to";
        return REFUSE_RESERVATION_SKIP;
    }
    if (resv_jobs(c, v->r.name, true) > 0) {
        *detail = "jobs run in it: end them first";
        return REFUSE_RESERVATION_BUSY;
    }
    v->r.start_us = resv_next_start(&v->r, v->r.start_us, cluster_zone(c->cluster));
    v->r.end_us = time_add(v->r.start_us, length);
    resv_save(c, v);
    resv_tell(c, v);
    return REFUSE_NONE;
}

static enum refusal resv_remove(struct core *c, struct resvrec *v, const char **detail)
{
    size_t running = resv_jobs(c, v->r.name, true);
    if (running > 0) {
        *detail = arena_printf(
            c->turn.fx->arena, "%zu job%s run%s in it: end %s first, or set EndTime=now", running,
            running == 1 ? "" : "s", running == 1 ? "s" : "", running == 1 ? "it" : "them");
        return REFUSE_RESERVATION_BUSY;
    }
    resv_drop(c, v);
    return REFUSE_NONE;
}

void req_update_reservation(struct core *c, const struct msg_update_reservation *m)
{
    const char *name = m->create && text_empty(m->name) ? name_make(c, m) : m->name;
    struct resvrec *v = name ? resv_find(c, name) : NULL;
    const char *detail = NULL;
    enum refusal refusal;
    if (m->create && v) {
        detail = "there is a reservation of this name already";
        refusal = REFUSE_RESERVATION_NAME;
    } else if (m->create) {
        refusal = resv_create(c, m, name, &detail);
        if (!refusal)
            detail = arena_printf(c->turn.fx->arena, "Reservation created: %s", name);
    } else if (!v) {
        refusal = REFUSE_RESERVATION;
        detail = arena_printf(c->turn.fx->arena, "there is no reservation %s",
                              name ? name : "without a name");
    } else if (m->remove) {
        refusal = resv_remove(c, v, &detail);
    } else if (m->skip) {
        refusal = resv_skip(c, v, &detail);
    } else {
        refusal = resv_change(c, v, m, &detail);
        if (!refusal)
            users_wake(c, v->r.name);
    }
    reply_done(c, refusal, detail);
}
