/* bhosts, lsload, and DTU's nodestat: what hosts there are, how they are, and what they do. */
#include "base/alloc.h"
#include "base/idset.h"
#include "base/list.h"
#include "base/map.h"
#include "cli/lsf/names.h"
#include "cli/lsf/overview.h"
#include "cli/program/commands.h"
#include "model/grammar/gres.h"

#include <stdlib.h>
#include <string.h>

static const struct option_row host_rows[] = {
    LSF_OVERVIEW_OPTIONS,
    LSF_FORMAT_OPTIONS,
    LSF_SELECT_OPTION,
    OPT_REFUSED("a", 0, ARG_NONE, "hosts of other clusters", "there is one cluster"),
    {.name = "gpu", .doc = "each GPU; with -l its state, too", .set = set_flag, .at = LSF_AT(gpus)},
    OPT_REFUSED("s", 0, ARG_REQUIRED, "shared resources", "scontrol show licenses has them"),
};
static const struct option_row load_rows[] = {
    LSF_OVERVIEW_OPTIONS,
    OPT_ACCEPTED("E", 0, ARG_NONE, "load as it counts (always so)"),
    OPT_ACCEPTED("N", 0, ARG_NONE, "the same, by speed (all are equally fast)"),
    LSF_SELECT_OPTION,
    {.name = "gpu", .doc = "GPUs of each", .set = set_flag, .at = LSF_AT(gpus)},
    {.name = "noheader", .doc = "no headings", .set = set_flag, .at = LSF_AT(noheader)},
};
static const struct option_row node_rows[] = {
    {.name = "F", .doc = "model, memory and features, too", .set = set_flag, .at = LSF_AT(models)},
    {.name = "G", .doc = "each GPU", .set = set_flag, .at = LSF_AT(gpus_long)},
    OPT_ACCEPTED("V", 0, ARG_NONE, "show the version"),
    {.name = "g", .doc = "GPUs, too", .set = set_flag, .at = LSF_AT(gpus)},
    {.name = "h", .alias = "help", .doc = "show this help", .set = set_nothing},
};
OPTION_TABLE(bhosts_options, host_rows, .usage = "bhosts [OPTIONS] [host …]", .words = WORDS_MIXED,
             .word = lsf_overview_word, .one_dash = true);
OPTION_TABLE(lsload_options, load_rows, .usage = "lsload [OPTIONS] [host …]", .words = WORDS_MIXED,
             .word = lsf_overview_word, .one_dash = true);
OPTION_TABLE(nodestat_options, node_rows, .usage = "nodestat [OPTIONS] [queue …]",
             .words = WORDS_MIXED, .word = lsf_overview_word, .one_dash = true,
             .letters_attach = true);

/* ---- a host ---- */

struct host_row {
    const struct node *n;
    long running, system, user; /* slots of running and suspended jobs */
};

static const char *status_of(const struct node *n, bool detailed)
{
    if (n->state != NODE_UP)
        return n->state == NODE_DOWN ? "unavail" : "unreach";
    if (n->drain || n->fail)
        return detailed ? "closed_Adm" : "closed";
    if (n->alloc_cpus >= n->cpus)
        return detailed ? "closed_Full" : "closed";
    return "ok";
}

/* To the row of each host that the job is on, by name; `scratch` is of this call alone. */
static void job_add(const struct job *j, const struct map_str *rows, struct arena *scratch)
{
    const char *state = lsf_job_state(j);
    struct lsf_host *host;
    size_t hosts = lsf_job_hosts(j, scratch, &host);
    for (size_t k = 0; k < hosts; k++) {
        struct host_row *row = map_str_get(rows, host[k].name);
        if (!row)
            continue;
        row->running += text_is(state, "RUN") ? host[k].slots : 0;
        row->system += text_is(state, "SSUSP") ? host[k].slots : 0;
        row->user += text_is(state, "USUSP") ? host[k].slots : 0;
    }
    arena_reset(scratch);
}

/* ---- bhosts ---- */

#define FIELD_FN(name)                                                                             \
    static const char *name##_of(const struct host_row *h, struct arena *a);                       \
    static const char *name(const struct lsf_row *r, struct arena *a)                              \
    {                                                                                              \
        return name##_of(r->it, a);                                                                \
    }                                                                                              \
    static const char *name##_of(const struct host_row *h, struct arena *a)

static const char *number(struct arena *a, long long n)
{
    return arena_printf(a, "%lld", n);
}

FIELD_FN(host_name)
{
    return h->n->name;
}

FIELD_FN(host_status)
{
    return status_of(h->n, true);
}

FIELD_FN(nothing)
{
    return NULL;
}

FIELD_FN(factor)
{
    return "1.0";
}

FIELD_FN(slots_most)
{
    return number(a, h->n->cpus);
}

FIELD_FN(slots_taken)
{
    return number(a, h->running + h->system + h->user);
}

FIELD_FN(slots_running)
{
    return number(a, h->running);
}

FIELD_FN(slots_system)
{
    return number(a, h->system);
}

FIELD_FN(slots_user)
{
    return number(a, h->user);
}

FIELD_FN(slots_reserved)
{
    return "0";
}

FIELD_FN(slots_free)
{
    return number(a, h->n->cpus - h->n->alloc_cpus);
}

FIELD_FN(model)
{
    return lsf_host_model(h->n, a);
}

FIELD_FN(type)
{
    return h->n->arch;
}

FIELD_FN(memory_all)
{
    return lsf_host_size(h->n->memory_mib, a);
}

FIELD_FN(memory_free)
{
    return lsf_host_size(h->n->memory_mib - h->n->alloc_mem_mib, a);
}

FIELD_FN(gpu_count)
{
    return number(a, lsf_gpus_of(h->n, a));
}

FIELD_FN(gpu_free)
{
    struct idset used = IDSET_INIT;
    lsf_gpus_used(h->n, &used);
    long long n = (long long)lsf_gpus_of(h->n, a) - (long long)used.count;
    idset_done(&used);
    return number(a, n > 0 ? n : 0);
}

FIELD_FN(gpu_used)
{
    struct idset used = IDSET_INIT;
    lsf_gpus_used(h->n, &used);
    long long n = (long long)used.count;
    idset_done(&used);
    return number(a, n);
}

FIELD_FN(comment)
{
    return h->n->reason ? h->n->reason : h->n->comment;
}

static const struct lsf_field fields[] = {
    {"host_name", "hname name", 20, host_name, false, false},
    {"status", "stat", 15, host_status, false, false},
    {"cpuf", "", 10, factor, false, false},
    {"jl_u", "jlu", 8, nothing, false, false},
    {"max", "", 8, slots_most, false, false},
    {"njobs", "", 8, slots_taken, false, false},
    {"run", "", 8, slots_running, false, false},
    {"ssusp", "", 8, slots_system, false, false},
    {"ususp", "", 8, slots_user, false, false},
    {"rsv", "", 8, slots_reserved, false, false},
    {"dispatch_window", "dispwin", 50, nothing, false, false},
    {"comments", "", 50, comment, false, false},
    {"available_slots", "aslots", 15, slots_free, false, false},
    {"ncpus", "", 8, slots_most, false, false},
    {"type", "", 10, type, false, false},
    {"model", "", 15, model, false, false},
    {"maxmem", "", 10, memory_all, false, false},
    {"mem", "", 10, memory_free, false, false},
    {"ngpus", "ng", 5, gpu_count, false, false},
    {"ngpus_alloc", "ngu", 5, gpu_used, false, false},
    {"ngpus_excl_alloc", "ngx", 5, gpu_used, false, false},
    {"ngpus_shared_alloc", "ngs", 5, slots_reserved, false, false},
    {"ngpus_avail", "ngfree", 5, gpu_free, false, false},
};
static const struct lsf_fields row_fields = {fields, ARRAY_LEN(fields)};

static void host_line(struct lsf_overview *o, const struct host_row *h)
{
    const struct node *n = h->n;
    if (o->wide)
        str_addf(&o->out, "%-18s %-14.14s", n->name, status_of(n, true));
    else
        str_addf(&o->out, "%-18.18s %-11.11s", n->name, status_of(n, false));
    str_addf(&o->out, " %5s %6d %6ld %6ld %6ld %6ld %6d \n", "-", n->cpus,
             h->running + h->system + h->user, h->running, h->system, h->user, 0);
}

static void host_long(struct lsf_overview *o, const struct host_row *h)
{
    const struct node *n = h->n;
    const char *mem = lsf_host_size(n->memory_mib - n->alloc_mem_mib, o->a);
    const char *held = lsf_host_size(n->alloc_mem_mib, o->a);
    str_addf(&o->out,
             "HOST  %s\n"
             "STATUS           CPUF  JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV "
             "DISPATCH_WINDOW\n"
             "%-16s %5.2f %5s %6d %6ld %6ld %6ld %6ld %6d      -\n",
             n->name, status_of(n, true), 1.0, "-", n->cpus, h->running + h->system + h->user,
             h->running, h->system, h->user, 0);
    str_addf(&o->out,
             "\n CURRENT LOAD USED FOR SCHEDULING:\n"
             "                r15s   r1m  r15m    ut    pg    io   ls    it   tmp   swp   mem  "
             "slots\n"
             " Total             - %5.1f     -     -     -     -    -     -     -     - %5s  %5d\n"
             " Reserved          -     -     -     -     -     -    -     -     -     - %5s      -"
             "\n",
             n->load_centi / 100.0, mem ? mem : "-", n->cpus - n->alloc_cpus, held ? held : "-");
    str_add(&o->out,
            "\n LOAD THRESHOLD USED FOR SCHEDULING:\n"
            "           r15s   r1m  r15m   ut      pg    io   ls    it    tmp    swp    mem\n"
            " loadSched   -     -     -     -       -     -    -     -     -      -      -  \n"
            " loadStop    -     -     -     -       -     -    -     -     -      -      -  \n");
    if (n->reason)
        str_addf(&o->out, "\n ADMIN ACTION COMMENT: \"%s\"\n", n->reason);
    str_addc(&o->out, '\n');
}

static void hosts_print(struct lsf_overview *o, const void *const *row, size_t n)
{
    if (o->format_text) {
        lsf_overview_format(o, "HOSTS", row, n);
        return;
    }
    if (o->gpus && n)
        lsf_gpu_head(o);
    else if (!o->noheader && !o->longer && n)
        str_addf(&o->out,
                 "HOST_NAME          STATUS    %s   JL/U    MAX  NJOBS    RUN  SSUSP  "
                 "USUSP    RSV \n",
                 o->wide ? "   " : "");
    for (size_t i = 0; i < n; i++) {
        const struct host_row *h = row[i];
        if (o->gpus)
            lsf_gpus_add(o, h->n);
        else if (o->longer)
            host_long(o, h);
        else
            host_line(o, h);
    }
}

static bool hosts_show(struct lsf_overview *o, struct err *e)
{
    VEC(const void *) row = {0};
    if (!lsf_nodes_read(o, e) || !lsf_running_read(o, e))
        return false;
    struct map_str *rows = map_str_new();
    struct arena *scratch = arena_new();
    for (size_t i = 0; i < o->node.n; i++) {
        struct host_row h = {.n = o->node.v[i]};
        if (!lsf_host_asked(o, h.n))
            continue;
        struct host_row *kept = arena_dup(o->a, &h, sizeof h);
        vec_push(&row, (const void *)kept);
        map_str_put(rows, h.n->name, kept);
    }
    for (size_t i = 0; i < o->job.n; i++)
        job_add(o->job.v[i], rows, scratch);
    arena_free(scratch);
    map_str_free(rows);
    size_t shown = row.n;
    hosts_print(o, row.v, row.n);
    vec_done(&row);
    return lsf_hosts_known(o, shown, e);
}

/* ---- lsload ---- */

static void load_line(struct lsf_overview *o, const struct node *n)
{
    const char *status = n->state != NODE_UP ? "unavail" : n->drain || n->fail ? "lockU" : "ok";
    const char *mem = lsf_host_size(n->free_mem_mib, o->a),
               *tmp = lsf_host_size(n->tmp_disk_mib, o->a);
    bool up = n->state == NODE_UP;
    str_addf(&o->out, o->wide ? "%-24s %8s" : "%-15.15s %6s", n->name, status);
    if (o->gpus)
        str_addf(&o->out, " %5lld", (long long)lsf_gpus_of(n, o->a));
    else if (up)
        str_addf(&o->out, " %5s %5.1f %5s %4s %5s %3s %5s %5s %5s %5s", "-", n->load_centi / 100.0,
                 "-", "-", "-", "-", "-", tmp ? tmp : "-", "-", mem ? mem : "-");
    str_addc(&o->out, '\n');
}

static bool loads_show(struct lsf_overview *o, struct err *e)
{
    size_t shown = 0;
    if (!lsf_nodes_read(o, e))
        return false;
    for (size_t i = 0; i < o->node.n; i++) {
        if (!lsf_host_asked(o, o->node.v[i]))
            continue;
        if (shown++ == 0 && !o->noheader)
            str_addf(&o->out, "%s %s\n",
                     o->wide ? "HOST_NAME                  status" : "HOST_NAME       status",
                     o->gpus ? "ngpus"
                             : " r15s   r1m  r15m   ut    pg  ls    it   tmp   swp   mem");
        load_line(o, o->node.v[i]);
    }
    return lsf_hosts_known(o, shown, e);
}

/* ---- nodestat ---- */

static bool in_queue(const struct lsf_overview *o, const struct node *n)
{
    return !o->words || list_shares(n->partitions, o->words);
}

static const char *state_of(const struct node *n)
{
    if (n->state != NODE_UP)
        return "Down";
    if (n->drain || n->fail)
        return "Drain";
    return n->alloc_cpus <= 0 ? "Idle" : n->alloc_cpus < n->cpus ? "Running" : "Busy";
}

static void node_line(struct lsf_overview *o, const struct node *n)
{
    const char *mem = lsf_host_size(n->memory_mib, o->a), *model = lsf_host_model(n, o->a);
    struct host_row h = {.n = n};
    str_addf(&o->out, "%-18s %-8s %4d:%-4d %6.2f", n->name, state_of(n), n->cpus - n->alloc_cpus,
             n->cpus, n->load_centi / 100.0);
    if (o->gpus)
        str_addf(&o->out, " %4s:%-4s", gpu_free_of(&h, o->a), gpu_count_of(&h, o->a));
    if (o->models)
        str_addf(&o->out, " %-16s %8s  %s", model ? model : "-", mem ? mem : "-",
                 text_empty(n->features) ? "-" : n->features);
    str_addc(&o->out, '\n');
}

/* By its nodes, or without any. */
static bool is_queue(const struct lsf_overview *o, const char *word)
{
    if (lsf_is_queue(o, word))
        return true;
    for (size_t i = 0; i < o->node.n; i++)
        if (list_has(o->node.v[i]->partitions, word))
            return true;
    return false;
}

/* From whom partitions are hidden (PrivateData), the nodes alone tell. */
static bool queues_known(struct lsf_overview *o, struct err *e)
{
    struct err hidden = {0};
    if (o->words)
        lsf_queues_read(o, &hidden);
    return lsf_words_known(o, is_queue, "No such queue", e);
}

static bool nodes_show(struct lsf_overview *o, struct err *e)
{
    size_t shown = 0;
    if (!lsf_nodes_read(o, e))
        return false;
    for (size_t i = 0; i < o->node.n; i++) {
        if (!in_queue(o, o->node.v[i]))
            continue;
        if (shown++ == 0 && o->gpus_long)
            lsf_gpu_head(o);
        else if (shown == 1)
            str_addf(&o->out, "Node               State      Procs     Load%s%s\n",
                     o->gpus ? "   GPUs    " : "",
                     o->models ? " Model              Memory  Feature" : "");
        if (o->gpus_long)
            lsf_gpus_add(o, o->node.v[i]);
        else
            node_line(o, o->node.v[i]);
    }
    return queues_known(o, e) &&
           (shown || o->words || err_set(e, ERR_NOT_FOUND, "none: No such queue"));
}

/* ---- the commands ---- */

int cmd_bhosts(int argc, char **argv)
{
    return lsf_overview_run("bhosts", &bhosts_options, &row_fields, hosts_show, argc, argv);
}

int cmd_lsload(int argc, char **argv)
{
    return lsf_overview_run("lsload", &lsload_options, NULL, loads_show, argc, argv);
}

int cmd_nodestat(int argc, char **argv)
{
    return lsf_overview_run("nodestat", &nodestat_options, NULL, nodes_show, argc, argv);
}
