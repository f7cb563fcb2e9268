/* Rates are between two samples: the first has none. What a kernel or a control group does not tell
 * is left out of the line, and so is what is to be sampled less often (--acctg-freq=network=30). */
#include "node/shepherd/watch/series.h"

#include "base/alloc.h"
#include "base/idset.h"
#include "model/record/series.h"
#include "node/cgroup/measure.h"
#include "node/step/counters.h"
#include "node/step/dir.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 15000u      /* one write of that much is never cut in two */
#define WAITING_MAX    (48u << 10) /* bytes of lines for the next daemon */
#define SHORTEST_US    200000      /* rates over less are noise; of a step as short they are all */
#define STAT_BYTES     (256u << 10)
#define CORES_MAX      1024u
#define TASKS_MAX      128u
#define FIRST_SAMPLES  3u

/* Something that only grows, in the units of its value per second. */
struct counter {
    int64_t before, at_us; /* 0: none yet */
};

struct core_time {
    uint64_t busy, all;
};

/* Sampled at a gap of its own. */
struct pace {
    int64_t gap_us, due_us;
};

struct shepherd_series {
    struct pace task, energy, network, filesystem;
    unsigned samples; /* the first come sooner */
    struct counter cpu, read, write, net_rx, net_tx, ib_rx, ib_tx, psi[3];
    struct idset cores;
    struct core_time *core;   /* one a member of `cores` */
    struct counters *net;     /* of the node's interfaces */
    struct counter *task_cpu; /* of each task of a step of several */
    struct str text;
    struct str waiting; /* whole lines that were not taken */
};

/* ---- a line ---- */

static void point(struct shepherd_series *q, int id, int64_t value)
{
    str_addf(&q->text, " %d:%lld", id, (long long)value);
}

/* `scale`: of what was counted in a second, how much is 1. */
static void rate(struct shepherd_series *q, struct counter *c, int id, int64_t now_us,
                 int64_t count, int64_t scale)
{
    int64_t passed = now_us - c->at_us;
    if (count < 0)
        return;
    if (c->at_us && (passed <= 0 || (passed < SHORTEST_US && q->samples > 1)))
        return;
    if (c->at_us && count >= c->before)
        point(q, id,
              (int64_t)((double)(count - c->before) * 1e6 / (double)passed / (double)scale + 0.5));
    *c = (struct counter){count, now_us};
}

static bool is_due(const struct shepherd_series *q, struct pace *p, int64_t now_us)
{
    int64_t slack_us = q->task.gap_us / 4;
    if (p->gap_us <= 0 || (now_us + slack_us < p->due_us && q->samples >= FIRST_SAMPLES))
        return false;
    p->due_us = now_us + p->gap_us;
    return true;
}

/* ---- what is told ---- */

static void cpu_say(struct shepherd *s, int64_t now_us)
{
    rate(s->series, &s->series->cpu, SERIES_CPU, now_us,
         s->note.cpu_user_us + s->note.cpu_system_us, 10000);
}

static void files_say(struct shepherd *s, int64_t now_us)
{
    int64_t read = 0, write = 0;
    for (size_t i = 0; i < s->account.n; i++) {
        read += s->account.use[i].most.read_bytes;
        write += s->account.use[i].most.write_bytes;
    }
    rate(s->series, &s->series->read, SERIES_READ, now_us, read, 1024);
    rate(s->series, &s->series->write, SERIES_WRITE, now_us, write, 1024);
}

static int64_t tenths_of_mib(int64_t bytes)
{
    return (bytes * 10 + (1 << 19)) >> 20;
}

static void memory_say(struct shepherd *s)
{
    struct group_memory m;
    group_memory_read(&s->groups, &m);
    point(s->series, SERIES_RSS, tenths_of_mib(m.rss_bytes >= 0 ? m.rss_bytes : s->rss_now));
    if (m.cache_bytes >= 0)
        point(s->series, SERIES_CACHE, tenths_of_mib(m.cache_bytes));
    if (m.swap_bytes >= 0)
        point(s->series, SERIES_SWAP, tenths_of_mib(m.swap_bytes));
}

/* Of a step of one task its sum says the same. */
static void tasks_say(struct shepherd *s, int64_t now_us)
{
    struct shepherd_series *q = s->series;
    size_t n = s->account.n < TASKS_MAX ? s->account.n : TASKS_MAX;
    if (!s->tasks || s->plan->world < 2)
        return;
    if (!q->task_cpu)
        q->task_cpu = xcalloc(n + 1, sizeof *q->task_cpu);
    for (size_t i = 0; i < n; i++) {
        struct counter *c = &q->task_cpu[i];
        int64_t used = s->account.use[i].most.cpu_us, passed = now_us - c->at_us;
        if (c->at_us && passed < SHORTEST_US)
            continue;
        if (c->at_us && used >= c->before)
            str_addf(&q->text, " %d.%d:%lld", SERIES_TASK_CPU, s->tasks->task[i].id,
                     (long long)(100 * (used - c->before) / passed));
        *c = (struct counter){used, now_us};
    }
}

/* Microseconds in which some waited: 1000 of a second's are a thousandth. */
static void pressure_say(struct shepherd *s, int64_t now_us)
{
    static const char *const file[] = {"cpu.pressure", "memory.pressure", "io.pressure"};
    static const int id[] = {SERIES_PSI_CPU, SERIES_PSI_MEM, SERIES_PSI_IO};
    for (size_t i = 0; i < 3; i++)
        rate(s->series, &s->series->psi[i], id[i], now_us, group_pressure_us(&s->groups, file[i]),
             1000);
}

static void network_say(struct shepherd_series *q, int64_t now_us)
{
    struct counters_now c;
    counters_read(q->net, &c);
    rate(q, &q->net_rx, SERIES_NET_RX, now_us, c.net_rx, 1024);
    rate(q, &q->net_tx, SERIES_NET_TX, now_us, c.net_tx, 1024);
    rate(q, &q->ib_rx, SERIES_IB_RX, now_us, c.ib_rx, 1024);
    rate(q, &q->ib_tx, SERIES_IB_TX, now_us, c.ib_tx, 1024);
}

/* "cpu7 user nice system idle iowait irq softirq steal …" */
static bool core_read(const char *line, uint32_t *ret_core, struct core_time *ret)
{
    unsigned long long n[8] = {0};
    int got = sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", ret_core, &n[0], &n[1],
                     &n[2], &n[3], &n[4], &n[5], &n[6], &n[7]);
    uint64_t idle = n[3] + n[4], all = 0;
    for (size_t i = 0; i < 8; i++)
        all += n[i];
    *ret = (struct core_time){all - idle, all};
    return got >= 5;
}

static void core_say(struct shepherd_series *q, size_t at, uint32_t core, struct core_time now)
{
    struct core_time *was = &q->core[at];
    if (was->all && now.all > was->all && now.busy >= was->busy)
        str_addf(&q->text, " %d.%u:%llu", SERIES_CORE, core,
                 (unsigned long long)((100 * (now.busy - was->busy) + (now.all - was->all) / 2) /
                                      (now.all - was->all)));
    *was = now;
}

/* The kernel lists them in order. */
static void cores_say(struct shepherd_series *q)
{
    struct str text = STR_INIT;
    uint32_t wanted = 0, core;
    size_t at = 0;
    struct core_time now;
    bool more = q->core && idset_first(&q->cores, &wanted) &&
                small_file_read(AT_FDCWD, "/proc/stat", STAT_BYTES, &text);
    struct span rest = span_of(more ? str_text(&text) : NULL), line;
    while (more && q->text.len < LINE_MAX_BYTES - 32 && span_next(&rest, '\n', &line) &&
           line.len > 3 && memcmp(line.data, "cpu", 3) == 0) {
        if (line.data[3] == ' ' || !core_read(line.data, &core, &now))
            continue;
        while (more && wanted < core && at + 1 < q->cores.count) {
            more = idset_next(&q->cores, wanted, &wanted);
            at++;
        }
        if (more && wanted == core)
            core_say(q, at, core, now);
    }
    str_done(&text);
}

/* ---- telling ---- */

static void line_begin(struct shepherd *s, bool power, bool end)
{
    const struct step_plan *p = s->plan;
    str_clear(&s->series->text);
    str_addf(&s->series->text, "series %lld %lld %lld %lld %lld %llu %d %d", (long long)p->job_id,
             (long long)p->attempt, (long long)p->step_id,
             (long long)(shepherd_clock_us(CLOCK_REALTIME) / 1000),
             (long long)(p->sample_us / 1000), (unsigned long long)p->gpus, power, end);
}

/* What waits longest goes when there is too much. */
static void waiting_add(struct shepherd_series *q)
{
    str_addn(&q->waiting, q->text.data, q->text.len);
    while (q->waiting.len > WAITING_MAX) {
        const char *end = memchr(q->waiting.data, '\n', q->waiting.len);
        size_t len = (size_t)(end - q->waiting.data) + 1;
        memmove(q->waiting.data, q->waiting.data + len, q->waiting.len - len);
        str_cut(&q->waiting, q->waiting.len - len);
    }
}

static void line_tell(struct shepherd *s)
{
    struct shepherd_series *q = s->series;
    str_addc(&q->text, '\n');
    waiting_add(q);
    while (q->waiting.len > 0) {
        const char *end = memchr(q->waiting.data, '\n', q->waiting.len);
        size_t len = (size_t)(end - q->waiting.data) + 1;
        if (!herd_say(s->herd, q->waiting.data, len, 0))
            return;
        memmove(q->waiting.data, q->waiting.data + len, q->waiting.len - len);
        str_cut(&q->waiting, q->waiting.len - len);
    }
}

static struct shepherd_series *series_new(const struct step_plan *p)
{
    struct shepherd_series *q = xcalloc(1, sizeof *q);
    q->task.gap_us = p->sample_us;
    q->energy.gap_us = p->energy_us;
    q->network.gap_us = p->network_us;
    q->filesystem.gap_us = p->filesystem_us;
    if (p->network_us > 0)
        q->net = counters_new();
    if (p->cpus && idset_parse(&q->cores, p->cpus, UINT16_MAX, NULL) && q->cores.count <= CORES_MAX)
        q->core = xcalloc(q->cores.count + 1, sizeof *q->core);
    return q;
}

void shepherd_series_sample(struct shepherd *s, size_t n)
{
    if (!s->plan->series || s->plan->sample_us <= 0 || s->exit_told)
        return;
    if (!s->series)
        s->series = series_new(s->plan);
    struct shepherd_series *q = s->series;
    int64_t now = shepherd_now_us();
    if (!is_due(q, &q->task, now))
        return;
    line_begin(s, is_due(q, &q->energy, now), false);
    cpu_say(s, now);
    memory_say(s);
    point(q, SERIES_TASKS, (int64_t)n);
    if (is_due(q, &q->filesystem, now))
        files_say(s, now);
    if (q->net && is_due(q, &q->network, now))
        network_say(q, now);
    pressure_say(s, now);
    tasks_say(s, now);
    cores_say(q);
    line_tell(s);
    q->samples++;
}

void shepherd_series_end(struct shepherd *s)
{
    struct shepherd_series *q = s->series;
    if (!q)
        return;
    int64_t now = shepherd_now_us();
    line_begin(s, true, true);
    cpu_say(s, now);
    if (q->filesystem.gap_us > 0)
        files_say(s, now);
    line_tell(s);
    counters_free(q->net);
    idset_done(&q->cores);
    free(q->core);
    free(q->task_cpu);
    str_done(&q->text);
    str_done(&q->waiting);
    free(q);
    s->series = NULL;
}
