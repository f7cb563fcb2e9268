/* What stands behind -l of Torque, which has no chunks: nodes=N:ppn=P, or procs=N where any nodes
 * do. Processors are all there is of tasks and their CPUs. */
#include "base/alloc.h"
#include "base/amount.h"
#include "script/pbs/write.h"

#include <string.h>

#define WRITER(name) void pbs_write_##name(struct writing *w, struct str *out)
#define WORDS_MAX    32

/* Any nodes do; one task is on one. */
static bool is_anywhere(const struct writing *w)
{
    return !w->size.nodes && w->size.tasks > 1;
}

static int64_t nodes_of(const struct writing *w)
{
    return w->size.nodes ? w->size.nodes : 1;
}

static int64_t tasks_each(const struct writing *w)
{
    return w->size.nodes > 1 || w->j->req.ntasks_per_node ? w->size.per_node : w->size.tasks;
}

static void cpus_note(struct writing *w)
{
    if (w->size.cpus <= 1)
        return;
    writing_lost(w, "cpus-per-task", "Torque counts processors");
    writing_lost(w, "ntasks", "a task of %d CPUs is so many processors to Torque", w->size.cpus);
}

/* ---- GPUs ---- */

/* -1: they are not written, and if there are any that is told. */
static int64_t gpus_each(struct writing *w)
{
    const char *type = NULL, *option = NULL;
    int64_t count = 0, nodes = nodes_of(w);
    enum writing_gpus kind = writing_gpus_of(w, &type, &count, &option);
    bool all = is_anywhere(w);
    if (kind == GPUS_NONE || kind == GPUS_OTHER || count <= 0)
        return -1;
    writing_said(w, option);
    if (type)
        writing_lost(w, option, "gpus= has no types; the type %s is left out", type);
    if (kind == GPUS_PER_TASK) {
        writing_lost(w, option, "GPUs of each task are written as those of %s",
                     all ? "the job" : "each node");
        return amount_times(count, all ? w->size.tasks : tasks_each(w));
    }
    if (all ? kind == GPUS_OF_JOB : kind == GPUS_PER_NODE)
        return count;
    if (all || count % nodes) {
        writing_lost(w, option, "gpus= is %s",
                     all ? "of the job where any nodes do; ask for a number of nodes"
                         : "of each node, and they are not as many on each");
        return -1;
    }
    writing_lost(w, option, "the %lld GPUs of the job are written as those of each node",
                 (long long)count);
    return count / nodes;
}

/* ---- nodes ---- */

/* What stands there as a property is one, and no way to use GPUs, no number, no setting. */
static bool is_property(struct span s)
{
    static const char *const others[] = {"shared", "default", "exclusive_process",
                                         "exclusive_thread", "reseterr"};
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (span_is(s, others[i]))
            return false;
    return true;
}

static void properties_add(struct writing *w, struct str *out)
{
    struct span word[WORDS_MAX];
    const char *text = w->j->req.constraint;
    size_t n = 0;
    if (text_empty(text))
        return;
    bool ok = !is_anywhere(w) && writing_words(w, text, '&', "_.-", word, WORDS_MAX, &n);
    for (size_t i = 0; ok && i < n; i++)
        ok = is_property(word[i]);
    if (!ok)
        return writing_lost(w, "constraint", "properties are those of nodes=, all of them: %s",
                            text);
    writing_said(w, "constraint");
    for (size_t i = 0; i < n; i++)
        str_addf(out, ":%.*s", (int)word[i].len, word[i].data);
}

/* A host in the place of their number; NULL: the number. */
static const char *host_of(struct writing *w)
{
    const char *nodes = w->j->req.nodelist;
    if (text_empty(nodes))
        return NULL;
    bool one = !is_anywhere(w) && nodes_of(w) == 1 && !strpbrk(nodes, ",[ :+=") &&
               strspn(nodes, "0123456789") != strlen(nodes);
    if (one)
        writing_said(w, "nodelist");
    else
        writing_lost(w, "nodelist", "one host stands in the place of nodes=1: %s", nodes);
    return one ? nodes : NULL;
}

WRITER(nodes)
{
    int64_t nodes = nodes_of(w), each = tasks_each(w);
    if (!w->site->torque)
        return;
    pbs_size_said(w);
    cpus_note(w);
    const char *host = host_of(w);
    if (!is_anywhere(w)) {
        if (host)
            str_add(out, host);
        else
            str_addf(out, "%lld", (long long)nodes);
        str_addf(out, ":ppn=%lld", (long long)amount_times(each, w->size.cpus));
        if (nodes * each != w->size.tasks)
            writing_lost(w, "ntasks", "%lld on each of %lld nodes are not %d", (long long)each,
                         (long long)nodes, w->size.tasks);
        int64_t gpus = gpus_each(w);
        if (gpus >= 0)
            str_addf(out, ":gpus=%lld", (long long)gpus);
    }
    properties_add(w, out);
}

WRITER(procs)
{
    if (w->site->torque && is_anywhere(w))
        str_addf(out, "%lld", (long long)amount_times(w->size.tasks, w->size.cpus));
}

WRITER(gpus)
{
    int64_t gpus = w->site->torque && is_anywhere(w) ? gpus_each(w) : -1;
    if (gpus >= 0)
        str_addf(out, "%lld", (long long)gpus);
}

/* ---- memory ---- */

/* Of the whole job. */
WRITER(mem)
{
    int64_t mib = w->j->req.mem_per_node_mib;
    if (!w->site->torque || !mib)
        return;
    if (mib == MEM_ALL)
        return writing_lost(w, writing_given(w, "mem") ? "mem" : "mem-per-cpu",
                            "all memory of the node has no word in PBS");
    if (is_anywhere(w))
        return writing_lost(w, "mem", "mem= is of the job, and any number of nodes does");
    writing_said(w, "mem");
    str_addf(out, "%lldmb", (long long)amount_times(mib, nodes_of(w)));
}

void pbs_write_torque_pmem(struct writing *w, struct str *out)
{
    if (!w->j->req.mem_per_cpu_mib || w->j->req.mem_per_node_mib)
        return;
    writing_said(w, "mem-per-cpu");
    str_addf(out, "%lldmb", (long long)w->j->req.mem_per_cpu_mib);
}

/* ---- nodes for itself ---- */

void pbs_write_exclusive(struct writing *w, const struct option_row *row)
{
    int32_t kind = w->j->req.exclusive;
    if (!w->site->torque || kind == EXCLUSIVE_UNSET)
        return;
    if (kind != EXCLUSIVE_NODE)
        return writing_lost(w, "exclusive", "-n keeps all other jobs away");
    writing_said(w, "exclusive");
    writing_line(w, row->name, NULL);
}
