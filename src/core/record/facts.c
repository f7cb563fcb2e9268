/* What the records say: look-ups that change nothing, for all rooms. Who does something asks here
 * and not the file of another deed. */
#include "base/list.h"
#include "core/record/accounts/accounts.h"
#include "core/record/record.h"
#include "model/job/job_attributes.h"
#include "model/job/owner.h"
#include "model/job/pattern.h"

#include <string.h>

/* The default is that of the series, not a word of the site's about memory: there is Slurm's. */
#define GAP_OF_SERIES_US (2 * USEC_PER_SEC)
#define GAP_OF_SLURM_US  (30 * USEC_PER_SEC)

bool peer_operates(const struct core *c, const struct peer *peer)
{
    return peer && !peer->is_plain &&
           (peer->is_admin || (peer->user && (list_has(c->settings.operators, peer->user) ||
                                              account_level(c, peer->user) >= ADMIN_OPERATOR)));
}

bool peer_administers(const struct core *c, const struct peer *peer)
{
    return peer && !peer->is_plain &&
           (peer->is_admin || (peer->user && account_level(c, peer->user) == ADMIN_ADMINISTRATOR));
}

bool may_control(const struct core *c, const struct jobrec *r)
{
    const struct peer *peer = c->turn.peer;
    return peer && (job_is_of(&r->j, peer->uid, peer->user) || peer_operates(c, peer));
}

bool may_act_as(const struct core *c, const struct jobrec *r)
{
    const struct peer *peer = c->turn.peer;
    return peer && (job_is_of(&r->j, peer->uid, peer->user) || (peer->is_admin && !peer->is_plain));
}

bool peer_coordinates(const struct core *c, const struct peer *peer, const char *account)
{
    return peer && !peer->is_plain && peer->user && !text_empty(account) &&
           account_coordinates(c, peer->user, account);
}

bool peer_directs(const struct core *c, const struct jobrec *r)
{
    return peer_operates(c, c->turn.peer) ||
           peer_coordinates(c, c->turn.peer, r->j.spec.req.account);
}

bool may_manage(const struct core *c, const struct jobrec *r)
{
    return may_control(c, r) || peer_directs(c, r);
}

struct jobrec *job_find(const struct core *c, uint64_t id)
{
    return map_u64_get(c->jobs.by_id, id);
}

bool job_is_array(const struct jobrec *r)
{
    return r->j.array_job_id == r->j.id && r->j.array_task_id == NO_TASK;
}

bool job_waits(const struct jobrec *r)
{
    return r->j.state == JOB_PENDING || r->j.state == JOB_SPECIAL_EXIT;
}

bool job_live(const struct jobrec *r)
{
    return !job_state_over(r->j.state);
}

struct arrayrec *array_of(const struct core *c, uint64_t array_id)
{
    return map_u64_get(c->jobs.array, array_id);
}

bool array_over(const struct core *c, uint64_t array_id)
{
    const struct arrayrec *array = array_of(c, array_id);
    const struct jobrec *rest = job_find(c, array_id);
    return (!array || !array->live) && !(rest && job_is_array(rest) && job_live(rest));
}

uint64_t leader_of(const struct jobrec *r)
{
    return r->j.het_job_id ? r->j.het_job_id : r->j.id;
}

void components_find(const struct core *c, uint64_t leader, jobrec_vec *out)
{
    struct jobrec *r = job_find(c, leader);
    if (r)
        vec_push(out, r);
    for (uint64_t id = leader + 1;
         r && r->j.het_job_id && (r = job_find(c, id)) && r->j.het_job_id == leader; id++)
        vec_push(out, r);
}

bool job_has_script(const struct jobrec *r)
{
    return r->j.spec.batch && leader_of(r) == r->j.id;
}

bool job_may_requeue(const struct core *c, const struct jobrec *r)
{
    if (!r->j.spec.batch)
        return false;
    return r->j.spec.requeue == YES || (r->j.spec.requeue == UNSET && c->settings.job_requeue);
}

struct node_hold *hold_find(struct jobrec *r, uint32_t node)
{
    for (size_t i = 0; i < r->hold.n; i++)
        if (r->hold.v[i].node == node)
            return &r->hold.v[i];
    return NULL;
}

bool hold_leaving(struct jobrec *r, uint32_t node)
{
    ASSERT(node != UINT32_MAX);
    const struct node_hold *h = hold_find(r, node);
    return h && h->leaving && !h->released;
}

struct noderec *node_find(const struct core *c, const char *name)
{
    return name ? map_str_get(c->node_index.by_name, name) : NULL;
}

uint32_t node_index(const struct core *c, const struct noderec *n)
{
    (void)c;
    return n->index;
}

struct partrec *part_find(const struct core *c, const char *name)
{
    for (size_t i = 0; i < c->part.n; i++)
        if (text_is(c->part.v[i]->p.name, name))
            return c->part.v[i];
    return NULL;
}

const struct partrec *part_first(const struct core *c, const char *names)
{
    char name[LIMIT_NAME_BYTES + 1];
    struct span rest = span_of(names), piece;
    while (names && span_next(&rest, ',', &piece)) {
        if (!piece.len || piece.len > LIMIT_NAME_BYTES)
            continue;
        memcpy(name, piece.data, piece.len);
        name[piece.len] = '\0';
        const struct partrec *p = part_find(c, name);
        if (p)
            return p;
    }
    return NULL;
}

struct resvrec *resv_find(const struct core *c, const char *name)
{
    for (size_t i = 0; i < c->resv.n; i++)
        if (text_is(c->resv.v[i]->r.name, name))
            return c->resv.v[i];
    return NULL;
}

int64_t resv_job_end(const struct core *c, const struct jobrec *r)
{
    const struct resvrec *v = r->j.run_reservation ? resv_find(c, r->j.run_reservation) : NULL;
    if (!v || (v->r.flags & RESV_FLEX) || c->settings.resv_over_run_us == TIME_UNLIMITED)
        return INT64_MAX;
    return time_add(v->r.end_us, c->settings.resv_over_run_us);
}

bool resv_there(const struct core *c, const char *names)
{
    for (size_t i = 0; i < c->resv.n; i++)
        if (list_has(names, c->resv.v[i]->r.name))
            return true;
    return false;
}

const struct resvrec *resv_closed(const struct core *c, const char *names, const char *user,
                                  const char *account)
{
    for (size_t i = 0; i < c->resv.n; i++) {
        struct reservation v = c->resv.v[i]->r;
        v.groups = NULL;
        if (list_has(names, v.name) && !resv_admits(&v, user, NULL, account))
            return c->resv.v[i];
    }
    return NULL;
}

const char *resv_partition(const struct core *c, const char *names)
{
    struct span rest = span_of(names), piece;
    for (size_t n = 0; n < LIMIT_JOB_RESERVATIONS && span_next(&rest, ',', &piece); n++)
        for (size_t i = 0; i < c->resv.n; i++)
            if (span_is(span_trim(piece), c->resv.v[i]->r.name) && c->resv.v[i]->r.partition)
                return c->resv.v[i]->r.partition;
    return NULL;
}

int64_t job_run_end(const struct jobrec *r)
{
    if (!r->j.limit_us || r->j.limit_us == TIME_UNLIMITED)
        return INT64_MAX;
    return time_add(time_add(r->j.start_us, r->j.limit_us), r->j.suspended_us);
}

int64_t job_limit_end(const struct core *c, const struct jobrec *r)
{
    (void)c;
    return r->j.state == JOB_SUSPENDED ? INT64_MAX : job_run_end(r);
}

int64_t job_ran_until(const struct core *c, const struct jobrec *r)
{
    return r->j.state == JOB_SUSPENDED ? r->j.suspend_us : c->turn.now_us;
}

int64_t job_over_time(const struct core *c, const struct jobrec *r)
{
    const struct partrec *p = r->j.run_partition ? part_find(c, r->j.run_partition) : NULL;
    return p && p->p.over_time_limit_us ? p->p.over_time_limit_us : c->settings.over_time_limit_us;
}

/* ended steps of one job that stay in memory */

bool step_live(const struct steprec *st)
{
    return st->s.end_us == 0;
}

struct steprec *step_find(const struct jobrec *r, int64_t step_id)
{
    for (size_t i = r->step.n; i-- > 0;)
        if (r->step.v[i]->s.step_id == step_id)
            return r->step.v[i];
    return NULL;
}

/* Each of a thousand nodes reports, so its part is not searched for one after another. */
struct steppart *step_part(struct steprec *st, uint32_t node)
{
    size_t low = 0, high = st->part.n;
    while (st->part_ordered && low < high) {
        size_t middle = (low + high) / 2;
        if (st->part.v[middle].node < node)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i < st->part.n; i++)
        if (st->part.v[i].node == node)
            return &st->part.v[i];
        else if (st->part_ordered)
            break;
    return NULL;
}

bool steps_on_node(const struct jobrec *r, uint32_t node)
{
    for (size_t i = 0; i < r->step.n; i++) {
        const struct steppart *part =
            step_live(r->step.v[i]) ? step_part(r->step.v[i], node) : NULL;
        if (part && !part->over)
            return true;
    }
    return false;
}

bool record_name_fits(const char *name)
{
    size_t len = name ? strlen(name) : 0;
    return len > 0 && len <= LIMIT_NAME_BYTES && len == strcspn(name, ", \t\r\n\"'=[]");
}

const char *text_unfit(const struct fields *t, const char *named, const void *values)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct field *f = &t->field[i];
        const char *text =
            f->type == FIELD_TEXT ? *(const char *const *)field_ptr(f, values) : NULL;
        if (text && strpbrk(text, "\n\"") && list_has(named, f->name))
            return f->name;
    }
    return NULL;
}

bool spec_names_fit(const struct job_spec *s)
{
    const char *const names[] = {s->name, s->req.account, s->req.qos,
#define X(member, ...) s->member,
                                 JOB_ATTRIBUTES(X)
#undef X
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (names[i] && strlen(names[i]) > LIMIT_JOB_NAME_BYTES)
            return false;
    return true;
}

const char *spec_path_long(const struct job_spec *s)
{
    const struct {
        const char *what, *path;
    } rows[] = {{"the name of the output file", s->std_out},
                {"the name of the error file", s->std_err},
                {"the name of the input file", s->std_in},
                {"the path of the work directory", s->work_dir}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].path && strnlen(rows[i].path, PATTERN_NAME_MAX) == PATTERN_NAME_MAX)
            return rows[i].what;
    return NULL;
}

int64_t sampled_gap_most(const struct core *c)
{
    int64_t gap = c->settings.accounting_freq_us;
    return gap == GAP_OF_SERIES_US ? GAP_OF_SLURM_US : gap;
}

bool sampled_too_seldom(const struct core *c, const struct job_spec *asked,
                        const struct job_request *memory)
{
    int64_t gap = (asked->sample_s_plus1 - 1) * USEC_PER_SEC, most = sampled_gap_most(c);
    if (!asked->sample_s_plus1 || !most ||
        (memory->mem_per_node_mib <= 0 && memory->mem_per_cpu_mib <= 0))
        return false;
    return gap == 0 || gap > most;
}

int64_t clock_end(const struct core *c, int64_t start_us)
{
    return c->turn.now_us > start_us ? c->turn.now_us : start_us;
}

struct facts_gres_sum {
    const char *kind, *type;
    int64_t count;
};

/* "gpu:v100=4,nic=2": each kind and type over all nodes, in order of appearance. */
void alloc_gres_text(const struct alloc *al, struct str *out)
{
    VEC(struct facts_gres_sum) sums = {0};
    for (size_t i = 0; i < al->n; i++)
        for (size_t g = 0; g < al->node[i].ngres; g++) {
            const struct alloc_gres *one = &al->node[i].gres[g];
            size_t k = 0;
            while (k < sums.n &&
                   !(text_is(sums.v[k].kind, one->kind) && text_is(sums.v[k].type, one->type)))
                k++;
            if (k == sums.n)
                vec_push(&sums, ((struct facts_gres_sum){one->kind, one->type, 0}));
            sums.v[k].count += one->count;
        }
    for (size_t k = 0; k < sums.n; k++)
        str_addf(out, "%s%s%s%s=%lld", k ? "," : "", sums.v[k].kind, sums.v[k].type ? ":" : "",
                 sums.v[k].type ? sums.v[k].type : "", (long long)sums.v[k].count);
    vec_done(&sums);
}

int64_t lonely_since(const struct core *c, int64_t stored_us)
{
    ASSERT(stored_us >= 0);
    int64_t grace = c->settings.attach_grace_us, least = c->turn.now_us - grace + grace / 4;
    if (!stored_us || stored_us > c->turn.now_us)
        return c->turn.now_us;
    return stored_us > least ? stored_us : least;
}

int64_t grace_end(const struct core *c, int64_t lonely_us)
{
    if (!lonely_us)
        return INT64_MAX;
    int64_t from = lonely_us > c->store.back_us ? lonely_us : c->store.back_us;
    return time_add(c->store.away ? c->turn.now_us : from, c->settings.attach_grace_us);
}

int64_t allocation_due(const struct core *c, const struct jobrec *r)
{
    return grace_end(c, r->j.lonely_us);
}
