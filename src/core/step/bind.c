/* CpuBind of nodes and partitions: how the tasks of a step are bound where its command does not say
 * it. */
#include "core/step/step.h"

#include <string.h>

/* CpuBind of all nodes of the job, else of its partition; NULL = the partition says nothing, and
 * the nodes say nothing or differ. */
static const char *wanted_by(const struct core *c, const struct jobrec *r)
{
    const struct partrec *p = r->j.run_partition ? part_find(c, r->j.run_partition) : NULL;
    const char *first = r->hold.n ? c->node.v[r->hold.v[0].node]->n.cpu_bind : NULL;
    for (size_t i = 1; first && i < r->hold.n; i++)
        if (!text_is(c->node.v[r->hold.v[i].node]->n.cpu_bind, first))
            first = NULL;
    return first ? first : p ? p->p.cpu_bind : NULL;
}

/* Behind words that were asked it counts only if none of them is a binding ("verbose"). A list of
 * CPUs is one, and stays the last word. */
void step_bind_settle(const struct core *c, const struct jobrec *r, struct job_spec *spec,
                      struct arena *a)
{
    const char *wanted = wanted_by(c, r), *asked = spec->cpu_bind;
    if (wanted && text_empty(asked))
        spec->cpu_bind = arena_strdup(a, wanted);
    else if (wanted && !strchr(asked, ':'))
        spec->cpu_bind = arena_printf(a, "%s,%s", asked, wanted);
}
