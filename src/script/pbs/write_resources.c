/* What stands behind -l. */
#include "base/alloc.h"
#include "base/amount.h"
#include "base/duration.h"
#include "script/pbs/write.h"

#include <string.h>

#define WRITER(name) void pbs_write_##name(struct writing *w, struct str *out)
#define WORDS_MAX    32

static int64_t part_of(int64_t whole, int64_t parts)
{
    return (whole + parts - 1) / parts;
}

static bool asks_for_gpus(const struct job_request *q)
{
    return q->gpus || q->gpus_per_node || q->gpus_per_task || q->gres;
}

/* One task with memory for each CPU: a select would give it to the chunk. */
static bool is_plain(const struct writing *w)
{
    const struct job_request *q = &w->j->req;
    return w->size.tasks == 1 && q->mem_per_cpu_mib > 0 && !q->ntasks_per_node && !q->constraint &&
           !q->nodelist && !q->exclusive && !asks_for_gpus(q);
}

static bool is_scattered(const struct writing *w)
{
    return w->size.nodes > 1 || (w->size.nodes == 1 && w->j->req.ntasks_per_node);
}

struct chunks {
    int64_t n, procs, cpus; /* how many; tasks in each; CPUs of each */
    bool whole;             /* each has a node, or the one there is */
};

static struct chunks chunks_of(const struct writing *w)
{
    const struct writing_size *s = &w->size;
    struct chunks c = {.n = s->tasks, .procs = 1};
    if (s->nodes) {
        c.n = s->nodes;
        c.procs = s->nodes == 1 ? s->tasks : s->per_node;
    }
    c.cpus = c.procs * s->cpus;
    c.whole = s->nodes > 0 || c.n == 1;
    return c;
}

/* ---- the parts of a chunk ---- */

static void memory_add(struct writing *w, const struct chunks *c, struct str *out)
{
    const struct job_request *q = &w->j->req;
    const char *option =
        q->mem_per_cpu_mib || writing_given(w, "mem-per-cpu") ? "mem-per-cpu" : "mem";
    int64_t mib = q->mem_per_node_mib;
    if (mib == MEM_ALL)
        return writing_lost(w, option, "all memory of the node has no word in PBS");
    if (!mib && !q->mem_per_cpu_mib)
        return;
    writing_said(w, option);
    if (mib && !c->whole) {
        mib = part_of(mib, c->n);
        writing_lost(w, "mem", "memory of each node is written as %lld MB of each chunk",
                     (long long)mib);
    } else if (!mib) {
        mib = amount_times(q->mem_per_cpu_mib, c->cpus);
        if (c->whole)
            writing_lost(w, "mem-per-cpu", "memory of each CPU is written as that of each chunk");
    }
    str_addf(out, ":mem=%lldmb", (long long)mib);
}

static void gpus_add(struct writing *w, const struct chunks *c, struct str *out)
{
    const char *type = NULL, *option = NULL;
    int64_t count = 0;
    enum writing_gpus kind = writing_gpus_of(w, &type, &count, &option);
    if (kind == GPUS_NONE || kind == GPUS_OTHER || count <= 0)
        return;
    writing_said(w, option);
    if (kind == GPUS_OF_JOB && count % c->n == 0) {
        writing_lost(w, option, "the %lld GPUs of the job are written as those of each chunk",
                     (long long)count);
        count /= c->n;
    } else if (kind == GPUS_OF_JOB || (kind == GPUS_PER_NODE && !c->whole)) {
        return writing_lost(w, option, "ngpus is of a chunk, and the chunks are not %s",
                            kind == GPUS_OF_JOB ? "as many as GPUs can be shared among"
                                                : "nodes; ask for a number of nodes");
    } else if (kind == GPUS_PER_TASK && c->whole && w->size.tasks > 1) {
        writing_lost(w, option, "GPUs of each task are written as those of each chunk");
        count = amount_times(count, c->procs);
    }
    if (type)
        writing_lost(w, option, "ngpus has no types; the type %s is left out", type);
    str_addf(out, ":ngpus=%lld", (long long)count);
}

static bool is_resource(struct span s)
{
    static const char *const names[] = {"ncpus", "mpiprocs", "ompthreads", "ngpus",
                                        "mem",   "host",     "vnode"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (span_is(s, names[i]))
            return true;
    return false;
}

static void features_add(struct writing *w, struct str *out)
{
    struct span word[WORDS_MAX];
    const char *text = w->j->req.constraint;
    size_t n;
    if (text_empty(text))
        return;
    bool ok = writing_words(w, text, '&', "_.-", word, WORDS_MAX, &n);
    for (size_t i = 0; ok && i < n; i++)
        ok = !is_resource(word[i]);
    if (!ok)
        return writing_lost(w, "constraint", "a chunk has features that are all there: %s", text);
    writing_said(w, "constraint");
    for (size_t i = 0; i < n; i++)
        str_addf(out, ":%.*s=true", (int)word[i].len, word[i].data);
}

static void host_add(struct writing *w, const struct chunks *c, struct str *out)
{
    const char *nodes = w->j->req.nodelist;
    if (text_empty(nodes))
        return;
    if (c->n != 1 || strpbrk(nodes, ",[ "))
        return writing_lost(w, "nodelist", "a chunk names one host: %s", nodes);
    writing_said(w, "nodelist");
    str_addf(out, ":host=%s", nodes);
}

void pbs_size_said(struct writing *w)
{
    static const char *const options[] = {"nodes", "ntasks", "ntasks-per-node", "cpus-per-task"};
    for (size_t i = 0; i < ARRAY_LEN(options); i++)
        if (writing_given(w, options[i]))
            writing_said(w, options[i]);
}

WRITER(select)
{
    struct chunks c = chunks_of(w);
    if (w->site->torque)
        return;
    pbs_size_said(w);
    if (is_plain(w))
        return;
    str_addf(out, "%lld:ncpus=%lld", (long long)c.n, (long long)c.cpus);
    if (c.procs > 1)
        str_addf(out, ":mpiprocs=%lld", (long long)c.procs);
    if (c.n * c.procs != w->size.tasks)
        writing_lost(w, "ntasks", "%lld chunks of %lld tasks are %lld, not %d", (long long)c.n,
                     (long long)c.procs, (long long)(c.n * c.procs), w->size.tasks);
    if (w->j->req.ntasks_per_node && w->size.nodes == 1 &&
        w->j->req.ntasks_per_node != w->size.tasks)
        writing_lost(w, "ntasks-per-node", "as many as there are tasks");
    memory_add(w, &c, out);
    gpus_add(w, &c, out);
    features_add(w, out);
    host_add(w, &c, out);
}

WRITER(place)
{
    int32_t kind = w->j->req.exclusive;
    if (w->site->torque || is_plain(w))
        return;
    if (is_scattered(w))
        str_add(out, "scatter");
    if (kind == EXCLUSIVE_NODE) {
        writing_said(w, "exclusive");
        str_addf(out, "%sexcl", out->len ? ":" : "");
    } else if (kind != EXCLUSIVE_UNSET) {
        writing_lost(w, "exclusive", "place=excl keeps all other jobs away");
    }
}

WRITER(ncpus)
{
    if (!w->site->torque && is_plain(w))
        str_addf(out, "%d", w->size.cpus);
}

WRITER(pmem)
{
    if (w->site->torque)
        return pbs_write_torque_pmem(w, out);
    if (!is_plain(w))
        return;
    writing_said(w, "mem-per-cpu");
    str_addf(out, "%lldmb", (long long)w->j->req.mem_per_cpu_mib);
}

/* ---- the job's ---- */

WRITER(walltime)
{
    int64_t us = w->j->req.time_limit_us, s = us / USEC_PER_SEC + (us % USEC_PER_SEC != 0);
    if (!w->j->req.time_limit_us)
        return;
    if (w->j->req.time_limit_us == TIME_UNLIMITED)
        return writing_lost(w, "time",
                            "without end: the queue's limit holds where there is no "
                            "walltime");
    writing_said(w, "time");
    str_addf(out, "%lld:%02lld:%02lld", (long long)(s / 3600), (long long)(s / 60 % 60),
             (long long)(s % 60));
}

WRITER(file)
{
    if (!w->j->req.tmp_disk_mib)
        return;
    writing_said(w, "tmp");
    str_addf(out, "%lldmb", (long long)w->j->req.tmp_disk_mib);
}

static void text_add(struct writing *w, const char *option, const char *value, struct str *out)
{
    if (text_empty(value))
        return;
    if (strpbrk(value, ", \t\"'"))
        return writing_lost(w, option, "-l has one word for it: %s", value);
    writing_said(w, option);
    str_add(out, value);
}

WRITER(qos)
{
    text_add(w, "qos", w->j->req.qos, out);
}

WRITER(software)
{
    text_add(w, "licenses", w->j->req.licenses, out);
}
