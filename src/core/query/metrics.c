/* A page of figures, made a part at a time.
 *
 * Jobs are walked over first, then nodes, then the nodes of each partition: sums gather in maps,
 * rows of single nodes, jobs and devices at once in a text for each metric, as the rows of one must
 * stand together. At the end the sums are written, also a part at a time, and the texts handed over
 * as they are; nothing is copied into one. Between two parts the cluster goes on: a job is counted
 * as it was when its part came. */
#include "core/query/metrics.h"
#include "core/record/accounts/private.h"

#include "base/alloc.h"

#include <stdlib.h>

struct metrics *metrics_new(const struct metrics_asked *asked)
{
    struct metrics *m = xcalloc(1, sizeof *m);
    m->asked = *asked;
    m->arena = arena_new();
    m->user = map_str_new();
    m->account = map_str_new();
    m->partition = map_str_new();
    m->gpu_type = map_str_new();
    return m;
}

void metrics_free(struct metrics *m)
{
    if (!m)
        return;
    job_at_done(&m->job);
    map_str_free(m->user);
    map_str_free(m->account);
    map_str_free(m->partition);
    map_str_free(m->gpu_type);
    vec_done(&m->node);
    hostlist_done(&m->members);
    str_done(&m->head);
    for (int i = 0; i < ROW_METRIC_COUNT; i++)
        str_done(&m->row[i]);
    for (size_t i = 0; i < m->tail.n; i++)
        str_done(&m->tail.v[i]);
    vec_done(&m->tail);
    for (size_t i = 0; i < m->done.n; i++)
        str_done(&m->done.v[i]);
    vec_done(&m->done);
    arena_free(m->arena);
    free(m);
}

/* ---- what is looked at ---------------------------------------------------------------------- */

static bool sees_nodes(const struct metrics *m, const struct core *c)
{
    return may_see_nodes(c, metrics_reader(m));
}

static bool sees_partitions(const struct metrics *m, const struct core *c)
{
    return metrics_want(m, METRICS_PARTITIONS) && may_see_partitions(c, metrics_reader(m));
}

static bool jobs_go(struct metrics *m, const struct core *c, int64_t now_us, size_t *most)
{
    if (!metrics_want(m, METRICS_ALL & ~(unsigned)METRICS_NODES))
        return false;
    for (; *most; --*most) {
        if (m->job.id) {
            metrics_job_node(m, c);
            continue;
        }
        if (!map_u64_next(c->jobs.by_id, &m->walk))
            return false;
        metrics_job(m, c, m->walk.value, now_us);
    }
    return true;
}

static bool nodes_go(struct metrics *m, const struct core *c, int64_t now_us, size_t *most)
{
    unsigned of = METRICS_NODES | METRICS_PARTITIONS | METRICS_SCHEDULER;
    if (!metrics_want(m, of) || !sees_nodes(m, c))
        return false;
    for (; m->index < c->node.n && *most; m->index++, --*most)
        if (node_shown(c->node.v[m->index]))
            metrics_node(m, c, c->node.v[m->index], now_us);
    return m->index < c->node.n;
}

static bool partitions_go(struct metrics *m, const struct core *c, size_t *most)
{
    if (!sees_partitions(m, c))
        return false;
    for (; m->index < c->part.n && *most; m->index++)
        if (metrics_partition(m, c, &c->part.v[m->index]->p, most))
            return true;
    m->partitions = (int64_t)c->part.n;
    return m->index < c->part.n;
}

/* ---- what is written ------------------------------------------------------------------------ */

static void totals_write(struct metrics *m, const struct core *c)
{
    static const struct metric_row partitions = {"slurm_partitions", false, "Partitions"};
    if (metrics_want(m, METRICS_JOBS))
        metrics_job_sums(m);
    if (metrics_want(m, METRICS_NODES) && sees_nodes(m, c))
        metrics_node_sums(m);
    if (sees_partitions(m, c))
        metric_one(m, &m->head, &partitions, m->partitions);
    if (metrics_want(m, METRICS_SCHEDULER))
        metrics_scheduler(m, sees_nodes(m, c));
}

static void text_done(struct metrics *m, struct str *text)
{
    if (text->len)
        vec_push(&m->done, *text);
    *text = STR_INIT;
}

/* Heads were not written before it was known what there is. */
static void end_write(struct metrics *m, const struct core *c)
{
    struct str end = STR_INIT;
    text_done(m, &m->head);
    for (int i = 0; i < ROW_METRIC_COUNT; i++) {
        bool of_nodes = i < ROW_JOB_INFO;
        struct str head = STR_INIT;
        if (of_nodes ? !metrics_want(m, METRICS_NODES) || !sees_nodes(m, c)
                     : !metrics_want(m, METRICS_RUNNING))
            continue;
        metric_head(m, &head, "", &row_metrics[i]);
        text_done(m, &head);
        text_done(m, &m->row[i]);
    }
    for (size_t i = 0; i < m->tail.n; i++)
        text_done(m, &m->tail.v[i]);
    str_add(&end, "# EOF\n");
    text_done(m, &end);
}

static bool stage_go(struct metrics *m, const struct core *c, int64_t now_us, size_t *most)
{
    bool users = metrics_want(m, METRICS_JOBS_USERS_ACCTS);
    switch (m->stage) {
    case STAGE_JOBS: return jobs_go(m, c, now_us, most);
    case STAGE_NODES: return nodes_go(m, c, now_us, most);
    case STAGE_PARTITIONS: return partitions_go(m, c, most);
    case STAGE_TOTALS: totals_write(m, c); return false;
    case STAGE_USERS: return users && metrics_user_sums(m, most);
    case STAGE_ACCOUNTS: return users && metrics_account_sums(m, most);
    case STAGE_PARTITION_ROWS:
        return sees_partitions(m, c) && metrics_partition_sums(m, sees_nodes(m, c), most);
    case STAGE_END: end_write(m, c); return false;
    case STAGE_DONE: break;
    }
    return false;
}

bool metrics_part(struct metrics *m, const struct core *c, int64_t now_us, size_t most)
{
    ASSERT(most > 0 && m->stage <= STAGE_DONE);
    while (m->stage != STAGE_DONE && most)
        if (!stage_go(m, c, now_us, &most)) {
            m->stage++;
            m->index = 0;
            m->walk = (struct map_walk){0};
        }
    return m->stage != STAGE_DONE;
}

size_t metrics_texts(struct metrics *m, struct str **ret)
{
    *ret = m->done.v;
    return m->done.n;
}
