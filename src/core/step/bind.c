/* CpuBind of nodes and partitions: how the tasks of a step are bound where its command does not say
 * it. */
#include "core/step/step.h"

#include <string.h>

/* CpuBind of all nodes of the job, else of its partition; NULL = the partition says nothing, and
 * the nodes say nothing or differ. */
static const char *wanted_by(const struct core *c, const struct jobrec *r)
{
    const struct partrec *p = r->j.run_partition ? part_find(c, r->j.run_partition) : NULL;
    const char *all = NULL;
    bool differ = false, any = false;
    for (size_t i = 0; i < r->hold.n; i++) {
        const struct node_hold *h = &r->hold.v[i];
        const char *one = c->node.v[h->node]->n.cpu_bind;
        if (h->released || h->leaving) /* given back: no step comes there */
            continue;
        differ |= any && !text_is(one, all);
        all = one;
        any = true;
    }
    return all && !differ ? all : p ? p->p.cpu_bind : NULL;
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
