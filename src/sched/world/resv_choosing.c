/* What both ways of choosing ask: what a node has left over all times of the reservation, and what
 * is said where that is not enough. */
#include "sched/world/resv_choosing.h"

#include "base/hostlist.h"

enum refusal choosing_refuse(struct choosing *k, enum refusal r, const char *text)
{
    str_add(k->detail, text);
    return r;
}

const int64_t *choosing_room(struct choosing *k, const struct resv_candidate *c)
{
    struct viewpoint v = k->view;
    v.over_work |= c->had && k->view.but && !(k->r->flags & RESV_REPLACE);
    for (size_t i = 0; i < k->nwin; i++) {
        int64_t from = k->win[i].start_us > k->w->now_us ? k->win[i].start_us : k->w->now_us;
        const int64_t *row = view_row_of(k->w, &v, c->node, from, k->win[i].end_us);
        for (size_t d = 0; d < k->cl->dim.n; d++)
            k->row[d] = i == 0 || row[d] < k->row[d] ? row[d] : k->row[d];
    }
    return k->row;
}

bool choosing_whole_free(struct choosing *k, const struct resv_candidate *c)
{
    const struct group *g = k->cl->node.v[c->node]->group;
    const int64_t *row = choosing_room(k, c);
    return row[DIM_JOBS] >= JOBS_ALL && row[DIM_CPU] >= g->total[DIM_CPU];
}

void choosing_add(struct choosing *k, uint32_t node, int64_t cpus)
{
    const struct group *g = k->cl->node.v[node]->group;
    vec_push(&k->chosen, node);
    k->cpu_sum += cpus;
    k->core_sum += cpus / (g->threads_per_core > 0 ? g->threads_per_core : 1);
}

static void candidates_text(struct choosing *k, const u32_vec *nodes)
{
    struct hostlist h = HOSTLIST_INIT;
    for (size_t i = 0; i < nodes->n; i++)
        hostlist_add(&h, k->cl->node.v[nodes->v[i]]->name);
    hostlist_sort(&h);
    hostlist_fold(&h, k->detail);
    hostlist_done(&h);
}

/* Is it another reservation, and not jobs, that has one of them? Looked at as if no job ran: what
 * is not free then, a reservation has. */
static bool reserved(struct choosing *k, const u32_vec *nodes)
{
    bool over_work = k->view.over_work, found = false;
    k->view.over_work = true;
    for (size_t i = 0; i < nodes->n && !found; i++)
        found = !choosing_whole_free(k, &(struct resv_candidate){.node = nodes->v[i]});
    k->view.over_work = over_work;
    return found;
}

enum refusal choosing_busy(struct choosing *k, const u32_vec *nodes)
{
    bool others = reserved(k, nodes);
    candidates_text(k, nodes);
    str_add(k->detail, nodes->n == 1 ? " is" : " are");
    str_add(k->detail, " in use or reserved in that time");
    if (!(k->r->flags & RESV_IGNORE_JOBS))
        str_add(k->detail, "; Flags=IGNORE_JOBS reserves over running jobs");
    if (!k->view.over_all)
        str_add(k->detail, "; Flags=OVERLAP, or MAINT, over other reservations");
    return others ? REFUSE_RESERVATION_OVERLAP : REFUSE_UNAVAILABLE;
}

enum refusal choosing_too_few(struct choosing *k, const char *what, int64_t asked, int64_t found)
{
    str_addf(k->detail, "%lld %s were asked for; %lld can be reserved in that time",
             (long long)asked, what, (long long)found);
    if (!k->view.over_work)
        str_add(k->detail, "; Flags=IGNORE_JOBS does not mind running jobs");
    return REFUSE_UNAVAILABLE;
}
