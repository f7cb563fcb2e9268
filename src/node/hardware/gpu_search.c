/* What stands against giving a device to somebody else. Where steps of a job go on with a device
 * that another had, their processes are passed over, and their memory is taken off as far as the
 * library tells it. Memory of processes that do not count (an X server) is not asked back. */
#include "node/hardware/gpu_parts.h"

#include <unistd.h>

#define MEMORY_SLACK (UINT64_C(256) << 20) /* above the base */
/* In use while the base is not known; or 1/32 of the device, if that is more. */
#define MEMORY_UNKNOWN (UINT64_C(1) << 30)

static void holder_say(struct gpu_search *s, const struct gpu_holder *h)
{
    if (s->why.len > 0)
        return;
    str_addf(&s->why, "process %ld (%s)", (long)h->pid, h->name);
    if (h->job_id)
        str_addf(&s->why, " of job %lld", (long long)h->job_id);
    else if (h->of_job)
        str_add(&s->why, " of a job");
    else
        str_addf(&s->why, " of user %u", (unsigned)h->uid);
    str_add(&s->why, " still holds it");
}

static struct gpu_known *known_of(const struct gpu_search *s, pid_t pid)
{
    for (size_t i = 0; i < s->known.n; i++)
        if (s->known.v[i].pid == pid)
            return &s->known.v[i];
    return NULL;
}

void gpu_search_memory(struct gpu_search *s, pid_t pid, uint64_t bytes)
{
    struct gpu_known *known = known_of(s, pid);
    if (bytes == UINT64_MAX)
        return;
    if (!known)
        vec_push(&s->known, ((struct gpu_known){pid, bytes}));
    else if (known->bytes < bytes) /* it stands in several lists, each with all of it */
        known->bytes = bytes;
}

uint64_t gpu_search_innocent(const struct gpu_search *s)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < s->known.n; i++)
        sum += s->known.v[i].bytes;
    return sum;
}

void gpu_search_weigh(void *search, const struct gpu_holder *h)
{
    struct gpu_search *s = search;
    if (h->pid == getpid() || !gpu_holder_counts(h, s->use, s->how, geteuid() == 0))
        return;
    if (!gpu_holder_goes_on(h, s->use, s->steps)) {
        holder_say(s, h);
        return;
    }
    s->shared = true;
    s->memory_hidden |= !known_of(s, h->pid);
}

void gpu_search_memory_weigh(struct gpu *g, struct gpu_search *s, const struct gpu_memory *m)
{
    uint64_t innocent = gpu_search_innocent(s);
    uint64_t used = m->used_bytes > innocent ? m->used_bytes - innocent : 0;
    uint64_t most = m->total_bytes / 32 > MEMORY_UNKNOWN ? m->total_bytes / 32 : MEMORY_UNKNOWN;
    most = g->has_base ? g->base_bytes + MEMORY_SLACK : most;
    if (used > most) {
        str_addf(&s->why,
                 "%llu MiB of its memory are in use, though no process is known to hold them",
                 (unsigned long long)(used >> 20));
        return;
    }
    if (!g->has_base || (!innocent && used < g->base_bytes))
        g->base_bytes = used;
    g->has_base = true;
}
