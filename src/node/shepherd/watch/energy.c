/* The counters are of the whole machine. What they counted since the last sample is divided by CPU
 * time: a step has the part that its CPU time is of everybody's. So a job that has the machine to
 * itself has all that its processors took while it worked, steps of a job add up, and nobody pays
 * for his neighbour. What the kernel counts in ticks is coarse: more than all is not believed. */
#include "node/shepherd/watch/energy.h"

#include "base/alloc.h"
#include "base/idset.h"
#include "node/step/cpu_energy.h"

#include <stdlib.h>

#define CLOCKS_AT_ONCE 4u /* each is a word with another CPU */

struct shepherd_energy {
    struct cpu_energy *cpu;
    int64_t busy_us, own_us; /* at the last sample */
    struct idset cpus;       /* that the step has; none = not known */
    uint32_t at;             /* the CPU whose clock was read last */
    int64_t made_khz;
    double clock_sum, clock_weight;
};

static int64_t own_us(const struct shepherd *s)
{
    return s->note.cpu_user_us + s->note.cpu_system_us;
}

static struct shepherd_energy *energy_new(struct shepherd *s)
{
    struct shepherd_energy *e = xcalloc(1, sizeof *e);
    if (s->plan->energy_us > 0)
        e->cpu = cpu_energy_new();
    if (s->plan->cpus)
        idset_parse(&e->cpus, s->plan->cpus, UINT16_MAX, NULL);
    e->busy_us = e->cpu ? cpu_busy_us() : -1;
    e->made_khz = cpu_made_for_khz();
    return e;
}

static int64_t clock_khz(struct shepherd_energy *e)
{
    int64_t sum = 0, n = 0;
    uint32_t most = e->cpus.count < CLOCKS_AT_ONCE ? (uint32_t)e->cpus.count : CLOCKS_AT_ONCE;
    for (uint32_t i = 0; i < most; i++) {
        if (!idset_next(&e->cpus, e->at, &e->at))
            idset_first(&e->cpus, &e->at);
        int64_t khz = cpu_clock_khz(e->at);
        sum += khz;
        n += khz > 0;
    }
    return n ? sum / n : e->made_khz;
}

/* A clock counts as long as the step worked with it. */
static void clocks_sample(struct shepherd *s, int64_t worked_us)
{
    struct shepherd_energy *e = s->energy;
    int64_t khz = worked_us > 0 ? clock_khz(e) : 0;
    if (khz <= 0)
        return;
    e->clock_sum += (double)khz * (double)worked_us;
    e->clock_weight += (double)worked_us;
    s->note.cpu_khz = (int64_t)(e->clock_sum / e->clock_weight);
}

static void energy_sample(struct shepherd *s, int64_t worked_us)
{
    struct shepherd_energy *e = s->energy;
    int64_t mj = cpu_energy_read(e->cpu), busy_us = cpu_busy_us();
    int64_t all_us = busy_us - e->busy_us;
    bool known = busy_us >= 0 && e->busy_us >= 0;
    e->busy_us = busy_us;
    if (!known || mj <= 0 || worked_us <= 0)
        return;
    all_us = all_us > worked_us ? all_us : worked_us;
    s->note.energy_mj += (int64_t)((double)mj * (double)worked_us / (double)all_us);
}

void shepherd_energy_sample(struct shepherd *s)
{
    if (s->plan->sample_us <= 0)
        return;
    if (!s->energy)
        s->energy = energy_new(s);
    int64_t own = own_us(s), worked_us = own - s->energy->own_us;
    s->energy->own_us = own;
    clocks_sample(s, worked_us);
    if (s->energy->cpu)
        energy_sample(s, worked_us);
}

void shepherd_energy_end(struct shepherd *s)
{
    if (!s->energy)
        return;
    shepherd_energy_sample(s);
    cpu_energy_free(s->energy->cpu);
    idset_done(&s->energy->cpus);
    free(s->energy);
    s->energy = NULL;
}
