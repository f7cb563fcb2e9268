/* The job at hand is kept until the next one begins: its steps follow it, and where the accounting
 * has several runs of it (sacct -D) the earlier ones become former runs. */
#include "cli/accounts/import/sacct_in.h"

#include "base/alloc.h"
#include "base/hostlist.h"
#include "model/limits.h"
#include "model/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOBODY 65534u

void sacct_in_done(struct sacct_in *in)
{
    free(in->step);
    arena_free(in->kept);
    str_done(&in->unknown);
    str_done(&in->missing);
}

static bool no_cell(struct err *ret_err, enum sacct_column column, const struct sacct_line *c)
{
    return err_set(ret_err, ERR_INVALID, "%s is \"%.60s\"", sacct_column_names[column],
                   c->of[column]);
}

/* NULL for nothing. */
static const char *word_of(struct sacct_in *in, const struct sacct_line *c,
                           enum sacct_column column, bool *ret_ok)
{
    const char *text = c->of[column];
    if (strlen(text) > LIMIT_TEXT_BYTES)
        *ret_ok = false;
    if (text_empty(text) || text_is(text, "Unknown") || text_is(text, "None assigned"))
        return NULL;
    return arena_strdup(in->kept, text);
}

static bool count_of(const struct sacct_line *c, enum sacct_column column, int64_t max,
                     int64_t *ret)
{
    *ret = 0;
    return text_empty(c->of[column]) || text_to_i64(c->of[column], 0, max, ret);
}

/* ---- a job ---------------------------------------------------------------------------------- */

static bool times_read(const struct sacct_in *in, const struct sacct_line *c, int64_t *ret_start,
                       int64_t *ret_end, int64_t *ret_suspended, struct err *ret_err)
{
    if (!sacct_time(c->of[COLUMN_START], in->zone, ret_start))
        return no_cell(ret_err, COLUMN_START, c);
    if (!sacct_time(c->of[COLUMN_END], in->zone, ret_end) || !*ret_end || *ret_end > in->now_us)
        return no_cell(ret_err, COLUMN_END, c);
    if (!sacct_span(c->of[COLUMN_SUSPENDED], ret_suspended))
        return no_cell(ret_err, COLUMN_SUSPENDED, c);
    return *ret_start <= *ret_end || err_set(ret_err, ERR_INVALID, "it ends before it starts");
}

static bool who_read(struct sacct_in *in, const struct sacct_line *c, struct job *j,
                     struct err *ret_err)
{
    int64_t n;
    j->user_id = j->group_id = NOBODY;
    if (!count_of(c, COLUMN_GID, UINT32_MAX - 1, &n))
        return no_cell(ret_err, COLUMN_GID, c);
    j->group_id = text_empty(c->of[COLUMN_GID]) ? NOBODY : (uint32_t)n;
    if (!count_of(c, COLUMN_UID, UINT32_MAX - 1, &n))
        return no_cell(ret_err, COLUMN_UID, c);
    if (j->user_name && in->uid_of(in->ctx, j->user_name, &j->user_id))
        return true;
    if (!text_empty(c->of[COLUMN_UID]))
        j->user_id = (uint32_t)n;
    else
        in->nobodys++;
    return true;
}

static bool has_read(struct sacct_in *in, const struct sacct_line *c, struct job *j,
                     struct err *ret_err)
{
    struct sacct_tres had, asked;
    struct hostlist nodes = HOSTLIST_INIT;
    int64_t cpus, more_cpus, nnodes, more_nodes, asked_cpus;
    if (!sacct_tres(c->of[COLUMN_ALLOC_TRES], in->kept, &had))
        return no_cell(ret_err, COLUMN_ALLOC_TRES, c);
    if (!sacct_tres(c->of[COLUMN_REQ_TRES], in->kept, &asked))
        return no_cell(ret_err, COLUMN_REQ_TRES, c);
    if (!count_of(c, COLUMN_ALLOC_CPUS, INT32_MAX, &cpus))
        return no_cell(ret_err, COLUMN_ALLOC_CPUS, c);
    if (!count_of(c, COLUMN_NCPUS, INT32_MAX, &more_cpus))
        return no_cell(ret_err, COLUMN_NCPUS, c);
    if (!count_of(c, COLUMN_REQ_CPUS, INT32_MAX, &asked_cpus))
        return no_cell(ret_err, COLUMN_REQ_CPUS, c);
    if (!count_of(c, COLUMN_ALLOC_NODES, LIMIT_NODES, &nnodes))
        return no_cell(ret_err, COLUMN_ALLOC_NODES, c);
    if (!count_of(c, COLUMN_NNODES, LIMIT_NODES, &more_nodes))
        return no_cell(ret_err, COLUMN_NNODES, c);
    if (j->nodes && !hostlist_parse(&nodes, j->nodes, NULL))
        return no_cell(ret_err, COLUMN_NODE_LIST, c);
    int64_t listed = (int64_t)nodes.n;
    hostlist_done(&nodes);
    if (had.node > LIMIT_NODES || asked.node > LIMIT_NODES || listed > LIMIT_NODES)
        return err_set(ret_err, ERR_INVALID, "more than %u nodes", LIMIT_NODES);
    j->alloc_cpus = (int32_t)(had.cpu ? had.cpu : cpus ? cpus : j->start_us ? more_cpus : 0);
    j->alloc_nodes = (int32_t)(had.node ? had.node : nnodes ? nnodes : j->start_us ? listed : 0);
    j->alloc_mem_mib = had.mem_mib;
    j->alloc_gres = had.gres;
    j->billing_plus1 = had.billing_plus1;
    j->billing_asked_plus1 = asked.billing_plus1;
    j->spec.req.min_nodes = (int32_t)(asked.node ? asked.node : more_nodes);
    asked_cpus = asked_cpus ? asked_cpus : asked.cpu;
    if (asked_cpus > LIMIT_TASKS)
        return no_cell(ret_err, COLUMN_REQ_CPUS, c);
    j->spec.req.ntasks = (int32_t)asked_cpus;
    if (asked.mem_mib)
        j->spec.req.mem_per_node_mib =
            asked.mem_mib / (j->spec.req.min_nodes ? j->spec.req.min_nodes : 1);
    return true;
}

static bool limit_read(const struct sacct_line *c, struct job *j, struct err *ret_err)
{
    int64_t minutes;
    if (!sacct_span(c->of[COLUMN_TIMELIMIT], &j->limit_us))
        return no_cell(ret_err, COLUMN_TIMELIMIT, c);
    if (!j->limit_us && text_to_i64(c->of[COLUMN_TIMELIMIT_RAW], 1, UINT32_MAX, &minutes))
        j->limit_us = minutes * USEC_PER_MIN;
    j->spec.req.time_limit_us = j->limit_us;
    return true;
}

static bool cpu_read(const struct sacct_line *c, int64_t *ret_user, int64_t *ret_system,
                     struct err *ret_err)
{
    int64_t total;
    if (!sacct_span(c->of[COLUMN_USER_CPU], ret_user))
        return no_cell(ret_err, COLUMN_USER_CPU, c);
    if (!sacct_span(c->of[COLUMN_SYSTEM_CPU], ret_system))
        return no_cell(ret_err, COLUMN_SYSTEM_CPU, c);
    if (!sacct_span(c->of[COLUMN_TOTAL_CPU], &total))
        return no_cell(ret_err, COLUMN_TOTAL_CPU, c);
    if (!*ret_user && !*ret_system)
        *ret_user = total;
    return true;
}

static bool words_read(struct sacct_in *in, const struct sacct_line *c, struct job *j,
                       struct err *ret_err)
{
    bool ok = true;
    j->spec.name = word_of(in, c, COLUMN_NAME, &ok);
    j->user_name = word_of(in, c, COLUMN_USER, &ok);
    j->group_name = word_of(in, c, COLUMN_GROUP, &ok);
    j->spec.req.account = word_of(in, c, COLUMN_ACCOUNT, &ok);
    j->run_partition = j->spec.req.partition = word_of(in, c, COLUMN_PARTITION, &ok);
    j->spec.req.qos = word_of(in, c, COLUMN_QOS, &ok);
    j->spec.wckey = word_of(in, c, COLUMN_WCKEY, &ok);
    j->run_reservation = j->spec.req.reservation = word_of(in, c, COLUMN_RESERVATION, &ok);
    j->nodes = word_of(in, c, COLUMN_NODE_LIST, &ok);
    j->spec.comment = word_of(in, c, COLUMN_COMMENT, &ok);
    j->admin_comment = word_of(in, c, COLUMN_ADMIN_COMMENT, &ok);
    j->spec.work_dir = word_of(in, c, COLUMN_WORK_DIR, &ok);
    j->spec.submit_line = word_of(in, c, COLUMN_SUBMIT_LINE, &ok);
    j->spec.req.constraint = word_of(in, c, COLUMN_CONSTRAINTS, &ok);
    return ok || err_set(ret_err, ERR_LIMIT, "a text of more than %u bytes", LIMIT_TEXT_BYTES);
}

static bool company_read(const struct sacct_id *id, uint64_t raw, struct job *j,
                         struct err *ret_err)
{
    j->array_task_id = NO_TASK;
    j->id = raw ? raw : id->id;
    if (!raw && (id->is_element || (id->is_component && id->component)))
        return err_set(ret_err, ERR_INVALID,
                       "an element of an array or of a heterogeneous job has its own number in the "
                       "column JobIDRaw, which is missing");
    if (id->is_element || id->waiting) {
        j->array_job_id = id->id;
        j->array_task_id = id->is_element ? id->element : NO_TASK;
        j->array_pending = id->waiting;
        if (id->waiting)
            j->id = id->id;
    }
    if (id->is_component) {
        j->het_job_id = id->id;
        j->het_offset = id->component;
    }
    return true;
}

static bool job_read(struct sacct_in *in, const struct sacct_line *c, const struct sacct_id *id,
                     uint64_t raw, struct job *j, struct err *ret_err)
{
    int64_t priority;
    if (!company_read(id, raw, j, ret_err) || !words_read(in, c, j, ret_err) ||
        !times_read(in, c, &j->start_us, &j->end_us, &j->suspended_us, ret_err))
        return false;
    if (!sacct_time(c->of[COLUMN_SUBMIT], in->zone, &j->submit_us))
        return no_cell(ret_err, COLUMN_SUBMIT, c);
    if (!sacct_time(c->of[COLUMN_ELIGIBLE], in->zone, &j->eligible_us))
        return no_cell(ret_err, COLUMN_ELIGIBLE, c);
    if (!sacct_exit(c->of[COLUMN_EXIT], &j->exit_status))
        return no_cell(ret_err, COLUMN_EXIT, c);
    if (!sacct_exit(c->of[COLUMN_DERIVED_EXIT], &j->derived_exit_status))
        return no_cell(ret_err, COLUMN_DERIVED_EXIT, c);
    if (j->state == JOB_CANCELLED && !j->nodes && sacct_has_column(in, COLUMN_NODE_LIST))
        j->start_us = 0; /* it never ran */
    if (!j->submit_us)
        j->submit_us = j->eligible_us ? j->eligible_us : j->start_us ? j->start_us : j->end_us;
    j->attempt = j->start_us ? 1 : 0;
    j->changed_us = j->end_us;
    if (text_to_i64(c->of[COLUMN_PRIORITY], 0, UINT32_MAX, &priority))
        j->priority = (uint64_t)priority;
    return who_read(in, c, j, ret_err) && has_read(in, c, j, ret_err) &&
           limit_read(c, j, ret_err) && cpu_read(c, &j->cpu_user_us, &j->cpu_system_us, ret_err);
}

/* ---- giving what is whole ------------------------------------------------------------------- */

static bool steps_give(struct sacct_in *in)
{
    for (size_t i = 0; i < in->nstep; i++) {
        in->step[i].attempt = in->job.attempt;
        if (!in->row(in->ctx, TABLE_STEP, &in->step[i]))
            return false;
    }
    in->nstep = 0;
    return true;
}

/* Of several runs the earlier ones are former runs. */
static bool job_give(struct sacct_in *in, bool former)
{
    if (!in->has_job)
        return true;
    in->has_job = false;
    if (!former && in->job.state == JOB_REQUEUED) { /* it waits again */
        in->alive++;
        in->jobs--;
        in->steps -= in->nstep;
        return true;
    }
    if (former)
        in->job.state = JOB_REQUEUED;
    return steps_give(in) && in->row(in->ctx, former ? TABLE_JOB_RUN : TABLE_JOB, &in->job);
}

bool sacct_in_end(struct sacct_in *in)
{
    return job_give(in, false);
}

static bool job_line(struct sacct_in *in, const struct sacct_line *c, const struct sacct_id *id,
                     uint64_t raw, int32_t state, uint32_t by_plus1, struct err *ret_err)
{
    uint64_t number = raw && !id->waiting ? raw : id->id;
    uint32_t attempt = in->job.attempt;
    bool again = in->has_job && in->job.id == number && in->job.start_us;
    if (!job_give(in, again))
        return false;
    in->nstep = 0;
    arena_reset(in->kept);
    in->job = (struct job){0};
    if (state < 0 || (!job_state_over((enum job_state)state) && state != JOB_REQUEUED)) {
        in->alive++;
        return true;
    }
    in->job.state = state;
    in->job.killed_by_uid_plus1 = by_plus1;
    if (!job_read(in, c, id, raw, &in->job, ret_err))
        return false;
    in->job.array_pending = id->waiting ? arena_strdup(in->kept, id->waiting) : NULL;
    in->job.attempt += again && in->job.start_us ? attempt : 0;
    in->job.restarts = in->job.attempt ? in->job.attempt - 1 : 0;
    in->has_job = true;
    in->jobs++;
    return true;
}

/* ---- a step --------------------------------------------------------------------------------- */

static struct step *step_new(struct sacct_in *in)
{
    if (in->nstep == in->cap)
        in->step = xrealloc(in->step, (in->cap = 2 * in->cap + 8) * sizeof *in->step);
    in->step[in->nstep] = (struct step){0};
    return &in->step[in->nstep++];
}

static bool step_used_read(struct sacct_in *in, const struct sacct_line *c, struct step *s,
                           struct err *ret_err)
{
    static const struct {
        enum sacct_column column;
        size_t at;
    } bytes[] = {{COLUMN_MAX_RSS, offsetof(struct step, max_rss_bytes)},
                 {COLUMN_AVE_RSS, offsetof(struct step, ave_rss_bytes)},
                 {COLUMN_MAX_VM, offsetof(struct step, max_vm_bytes)},
                 {COLUMN_MAX_READ, offsetof(struct step, read_max_bytes)},
                 {COLUMN_MAX_WRITE, offsetof(struct step, write_max_bytes)}};
    struct sacct_tres had;
    int64_t cpus, ntasks, nnodes;
    for (size_t i = 0; i < ARRAY_LEN(bytes); i++)
        if (!sacct_bytes(c->of[bytes[i].column], (int64_t *)(void *)((char *)s + bytes[i].at)))
            return no_cell(ret_err, bytes[i].column, c);
    if (!sacct_tres(c->of[COLUMN_ALLOC_TRES], in->kept, &had))
        return no_cell(ret_err, COLUMN_ALLOC_TRES, c);
    if (!count_of(c, COLUMN_ALLOC_CPUS, INT32_MAX, &cpus))
        return no_cell(ret_err, COLUMN_ALLOC_CPUS, c);
    if (!count_of(c, COLUMN_NTASKS, LIMIT_TASKS, &ntasks))
        return no_cell(ret_err, COLUMN_NTASKS, c);
    if (!count_of(c, COLUMN_NNODES, LIMIT_NODES, &nnodes) || had.node > LIMIT_NODES)
        return no_cell(ret_err, COLUMN_NNODES, c);
    s->cpus = (int32_t)(had.cpu ? had.cpu : cpus);
    s->gres = had.gres;
    s->ntasks = (int32_t)ntasks;
    s->node_count = (int32_t)(had.node ? had.node : nnodes);
    return cpu_read(c, &s->cpu_user_us, &s->cpu_system_us, ret_err);
}

static bool step_cells_read(struct sacct_in *in, const struct sacct_line *c, struct step *s,
                            struct err *ret_err)
{
    bool ok = true;
    s->step_name = word_of(in, c, COLUMN_NAME, &ok);
    s->nodes = word_of(in, c, COLUMN_NODE_LIST, &ok);
    s->submit_line = word_of(in, c, COLUMN_SUBMIT_LINE, &ok);
    s->max_rss_node = word_of(in, c, COLUMN_MAX_RSS_NODE, &ok);
    if (!ok)
        return err_set(ret_err, ERR_LIMIT, "a text of more than %u bytes", LIMIT_TEXT_BYTES);
    if (!sacct_exit(c->of[COLUMN_EXIT], &s->exit_status))
        return no_cell(ret_err, COLUMN_EXIT, c);
    return times_read(in, c, &s->start_us, &s->end_us, &s->suspended_us, ret_err) &&
           step_used_read(in, c, s, ret_err);
}

static bool step_line(struct sacct_in *in, const struct sacct_line *c, const struct sacct_id *id,
                      int32_t state, uint32_t by_plus1, struct err *ret_err)
{
    if (!in->has_job) /* of one that is not over */
        return true;
    if (state < 0 || !job_state_over((enum job_state)state))
        return no_cell(ret_err, COLUMN_STATE, c);
    struct step *s = step_new(in);
    s->job_id = in->job.id;
    s->step_id = id->step;
    s->state = state;
    s->killed_by_uid_plus1 = by_plus1;
    if (!step_cells_read(in, c, s, ret_err)) {
        in->nstep--;
        return false;
    }
    in->job.spec.batch |= s->step_id == STEP_BATCH;
    in->steps++;
    return true;
}

/* ---- a line --------------------------------------------------------------------------------- */

static bool id_read(const struct sacct_line *c, struct arena *a, struct sacct_id *ret,
                    uint64_t *ret_raw, struct err *ret_err)
{
    struct sacct_id raw = {0};
    *ret_raw = 0;
    if (*c->of[COLUMN_RAW]) {
        if (!sacct_id(c->of[COLUMN_RAW], a, &raw))
            return no_cell(ret_err, COLUMN_RAW, c);
        *ret_raw = raw.id;
        *ret = raw;
    }
    if (*c->of[COLUMN_JOB_ID] || !*ret_raw)
        return sacct_id(c->of[COLUMN_JOB_ID], a, ret) || no_cell(ret_err, COLUMN_JOB_ID, c);
    return true;
}

static bool cluster_is_one(struct sacct_in *in, const struct sacct_line *c, struct err *ret_err)
{
    const char *name = c->of[COLUMN_CLUSTER];
    if (*in->cluster && *name && strncmp(in->cluster, name, sizeof in->cluster - 1) != 0)
        return err_set(ret_err, ERR_INVALID,
                       "it is of cluster %.60s, and those before of %.60s, which has jobs of the "
                       "same numbers: one cluster a file (sacct -M)",
                       name, in->cluster);
    if (!*in->cluster)
        snprintf(in->cluster, sizeof in->cluster, "%s", name);
    return true;
}

bool sacct_in_line(struct sacct_in *in, const char *line, struct err *ret_err)
{
    struct arena *a = arena_new();
    struct sacct_line c;
    struct sacct_id id;
    uint64_t raw;
    int32_t state = -1;
    uint32_t by_plus1 = 0;
    bool ok =
        sacct_line_cut(in, line, a, &c, ret_err) && cluster_is_one(in, &c, ret_err) &&
        id_read(&c, a, &id, &raw, ret_err) &&
        (sacct_state(c.of[COLUMN_STATE], &state, &by_plus1) || no_cell(ret_err, COLUMN_STATE, &c));
    if (ok)
        ok = id.is_step ? step_line(in, &c, &id, state, by_plus1, ret_err)
                        : job_line(in, &c, &id, raw, state, by_plus1, ret_err);
    arena_free(a);
    return ok;
}
