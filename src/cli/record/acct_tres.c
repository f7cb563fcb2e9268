/* The resources of sacct's lines, for their columns and for --json alike. */
#include "base/arena.h"
#include "base/hostlist.h"
#include "cli/record/columns_acct.h"
#include "cli/record/columns_job.h"
#include "model/job/alloc.h"

/* What the job has on the nodes of a step that does not say its own; 0 = it is not known. */
static int64_t step_share_mib(const struct step *s, const struct job *j)
{
    struct arena *a = arena_new();
    struct alloc job = {0};
    struct hostlist nodes = HOSTLIST_INIT;
    int64_t mem = s->node_count == j->alloc_nodes ? j->alloc_mem_mib : 0;
    if (!mem && j->alloc && s->nodes && alloc_parse(j->alloc, a, &job, NULL) &&
        hostlist_parse(&nodes, s->nodes, NULL))
        for (size_t i = 0; i < nodes.n; i++) {
            const struct alloc_node *n = alloc_find(&job, nodes.name[i]);
            mem += n ? n->mem_mib : 0;
        }
    hostlist_done(&nodes);
    arena_free(a);
    return mem;
}

void acct_tres_allocated(const struct acct_row *row, char unit, struct str *out)
{
    if (row->step)
        step_cell_tres(row->step, step_share_mib(row->step, row->job), unit, out);
    else if (row->job->alloc_nodes)
        job_cell_tres(row->job, unit, out);
}

void acct_tres_requested(const struct acct_row *row, char unit, struct str *out)
{
    if (row->step)
        return;
    struct job asked = *row->job; /* what was asked, not what was given */
    asked.alloc_nodes = asked.alloc_cpus = asked.alloc_tasks = 0;
    asked.alloc_gres = NULL;
    job_cell_tres(&asked, unit, out);
}
