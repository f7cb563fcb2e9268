/* Where a job runs, as PBS writes it. A chunk of PBS Pro is a task with its CPUs, or all tasks of a
 * host where the job asked for hosts, or for one; of Torque a host has one place. */
#include "base/alloc.h"
#include "base/map.h"
#include "cli/pbs/qstat.h"

#include <string.h>

struct chunk_place {
    const char *host;
    int32_t at, cpus; /* the first of its slots there: a chunk's of Pro, a CPU of Torque */
    int64_t mem_mib, gpus;
};

struct chunk_places {
    VEC(struct chunk_place) v;
    struct map_str *taken; /* slots of each host, as a number */
};

bool qstat_chunk_is_node(const struct job_request *r)
{
    return r->min_nodes > 0 && (r->ntasks_per_node > 0 || r->max_nodes == 1);
}

/* How many chunks of one size a host has. */
static int32_t chunks_on(const struct job *j, const struct lsf_host *h)
{
    bool split = !qstat_chunk_is_node(&j->spec.req) && h->slots > 0 && h->cpus % h->slots == 0;
    return split ? h->slots : 1;
}

/* The first free slot of the host, of which `chunks` are taken: other components may have it,
 * too. */
static int32_t slots_take(struct chunk_places *p, const char *host, int32_t chunks)
{
    const char *kept;
    void **taken = map_str_slot(p->taken, host, true, &kept);
    int32_t first = (int32_t)(intptr_t)*taken;
    *taken = (void *)((intptr_t)first + chunks);
    return first;
}

static void places_add(struct chunk_places *p, const struct job *j, bool torque, struct arena *a)
{
    struct lsf_host *host;
    size_t n = lsf_job_hosts(j, a, &host);
    for (size_t i = 0; i < n; i++) {
        int32_t chunks = torque ? 1 : chunks_on(j, &host[i]);
        int32_t first = torque ? 0 : slots_take(p, host[i].name, chunks);
        for (int32_t k = 0; k < chunks; k++) {
            struct chunk_place one = {host[i].name, first + k, host[i].cpus / chunks,
                                      host[i].mem_mib / chunks, host[i].gpus / chunks};
            vec_push(&p->v, one);
        }
    }
}

static struct chunk_places places_of(const struct lsf_job_list *list, const struct job *j,
                                     bool torque, struct arena *a)
{
    struct chunk_places p = {.taken = map_str_new()};
    for (size_t i = 0; list && j->het_job_id && i < list->part.n; i++)
        if (list->part.v[i]->het_job_id == j->id)
            places_add(&p, list->part.v[i], torque, a);
    if (!p.v.n)
        places_add(&p, j, torque, a);
    return p;
}

static const char *text_done(struct chunk_places *p, struct str *text, struct arena *a)
{
    const char *kept = p->v.n ? arena_strdup(a, str_text(text)) : NULL;
    vec_done(&p->v);
    map_str_free(p->taken);
    str_done(text);
    return kept;
}

const char *qstat_exec_host(const struct lsf_job_list *list, const struct job *j,
                            const struct dialect_site *site, struct arena *a)
{
    struct chunk_places p = places_of(list, j, site->torque, a);
    struct str text = STR_INIT;
    for (size_t i = 0; i < p.v.n; i++) {
        const struct chunk_place *at = &p.v.v[i];
        str_addf(&text, "%s%s/%d", i ? "+" : "", at->host, at->at);
        if (at->cpus > 1 && site->torque)
            str_addf(&text, "-%d", at->cpus - 1);
        else if (at->cpus > 1)
            str_addf(&text, "*%d", at->cpus);
    }
    return text_done(&p, &text, a);
}

const char *qstat_exec_vnode(const struct lsf_job_list *list, const struct job *j, struct arena *a)
{
    struct chunk_places p = places_of(list, j, false, a);
    struct str text = STR_INIT;
    for (size_t i = 0; i < p.v.n; i++) {
        const struct chunk_place *at = &p.v.v[i];
        str_addf(&text, "%s(%s:ncpus=%d", i ? "+" : "", at->host, at->cpus);
        if (at->mem_mib > 0)
            str_addf(&text, ":mem=%lldkb", (long long)at->mem_mib * 1024);
        if (at->gpus > 0)
            str_addf(&text, ":ngpus=%lld", (long long)at->gpus);
        str_addc(&text, ')');
    }
    return text_done(&p, &text, a);
}
