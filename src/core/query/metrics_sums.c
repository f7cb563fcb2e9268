/* Sums of jobs and nodes: of the cluster, and of each user, account and partition. */
#include "core/query/metrics.h"

#include "base/alloc.h"

#include <stddef.h>

const struct peer *metrics_reader(const struct metrics *m)
{
    static const struct peer operator_ = {.user = "root", .is_admin = true};
    return m->asked.operates ? &operator_ : NULL;
}

static void *sums_of(struct metrics *m, struct map_str *of, const char *name, size_t size)
{
    ASSERT(size > 0);
    const char *key;
    void **slot = map_str_slot(of, name, true, &key);
    if (!*slot)
        *slot = arena_alloc(m->arena, size);
    return *slot;
}

struct job_sums *metrics_sums(struct metrics *m, struct map_str *of, const char *name)
{
    return sums_of(m, of, name, sizeof(struct job_sums));
}

struct part_sums *metrics_part_sums(struct metrics *m, const char *name)
{
    return sums_of(m, m->partition, name, sizeof(struct part_sums));
}

static const struct sum_row job_sum_rows[] = {
#define X(member, suffix, help) {{suffix, false, help}, offsetof(struct job_sums, member)},
    JOB_SUMS(X)
#undef X
};

static const struct sum_row node_sum_rows[] = {
#define X(member, suffix, help) {{suffix, false, help}, offsetof(struct node_sums, member)},
    NODE_SUMS(X)
#undef X
};

/* Jobs first: where how nodes are is private, the others are left out. */
static const struct sum_row part_sum_rows[] = {
#define X(member, suffix, help) {{suffix, false, help}, offsetof(struct part_sums, jobs.member)},
    JOB_SUMS(X)
#undef X
#define X(member, suffix, help) {{suffix, false, help}, offsetof(struct part_sums, nodes.member)},
        NODE_SUMS(X)
#undef X
            {{"cpus", false, "CPUs of its nodes"}, offsetof(struct part_sums, cpus)},
    {{"gpus", false, "GPUs of its nodes"}, offsetof(struct part_sums, gpus)},
};

static int64_t sum_value(const struct sum_row *row, const void *sums)
{
    return *(const int64_t *)((const char *)sums + row->offset);
}

static void sum_all(struct metrics *m, const struct sum_row *rows, size_t n, const void *sums)
{
    for (size_t i = 0; i < n; i++) {
        metric_head(m, &m->head, "slurm_", &rows[i].metric);
        metric_name(&m->head, "slurm_", &rows[i].metric);
        str_addc(&m->head, ' ');
        str_add_i64(&m->head, sum_value(&rows[i], sums));
        str_addc(&m->head, '\n');
    }
}

void metrics_job_sums(struct metrics *m)
{
    sum_all(m, job_sum_rows, ARRAY_LEN(job_sum_rows), &m->jobs);
}

void metrics_node_sums(struct metrics *m)
{
    sum_all(m, node_sum_rows, ARRAY_LEN(node_sum_rows), &m->nodes);
}

/* ---- of each user, account, partition ------------------------------------------------------- */

struct metrics_table {
    const char *prefix, *label;
    const struct sum_row *row;
    size_t n;
};

/* One metric after another, each with the rows of all; m->index is the metric, m->walk who. */
static bool table_go(struct metrics *m, const struct map_str *of, const struct metrics_table *t,
                     size_t *most)
{
    struct str labels = STR_INIT;
    for (; m->index < t->n && *most; m->index++) {
        const struct sum_row *row = &t->row[m->index];
        if (m->tail.n <= m->tail_at) {
            vec_push(&m->tail, STR_INIT);
            metric_head(m, &m->tail.v[m->tail_at], t->prefix, &row->metric);
        }
        struct str *out = &m->tail.v[m->tail_at];
        while (*most && map_str_next(of, &m->walk)) {
            str_clear(&labels);
            label_add(&labels, t->label, m->walk.text);
            metric_name(out, t->prefix, &row->metric);
            str_addf(out, "{%s} ", str_text(&labels));
            str_add_i64(out, sum_value(row, m->walk.value));
            str_addc(out, '\n');
            --*most;
        }
        if (!*most)
            break;
        m->walk = (struct map_walk){0};
        m->tail_at++;
    }
    str_done(&labels);
    if (m->index < t->n)
        return true;
    m->index = 0;
    return false;
}

bool metrics_user_sums(struct metrics *m, size_t *most)
{
    static const struct metrics_table t = {"slurm_user_", "username", job_sum_rows,
                                           ARRAY_LEN(job_sum_rows)};
    return table_go(m, m->user, &t, most);
}

bool metrics_account_sums(struct metrics *m, size_t *most)
{
    static const struct metrics_table t = {"slurm_account_", "account", job_sum_rows,
                                           ARRAY_LEN(job_sum_rows)};
    return table_go(m, m->account, &t, most);
}

bool metrics_partition_sums(struct metrics *m, bool with_nodes, size_t *most)
{
    struct metrics_table t = {"slurm_partition_", "partition", part_sum_rows,
                              with_nodes ? ARRAY_LEN(part_sum_rows) : ARRAY_LEN(job_sum_rows)};
    return table_go(m, m->partition, &t, most);
}
