/* bqueues, bhosts, lsid: what there is. A slot is a CPU. */
#include "base/alloc.h"
#include "base/idset.h"
#include "base/list.h"
#include "base/vec.h"
#include "cli/lsf/jobs.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/record/columns_job.h"
#include "cli/submit/host.h"
#include "cli/submit/site.h"
#include "cli/table/listing.h"

#include <stdio.h>
#include <string.h>

struct overview {
    const char *name;
    const char *words; /* queues or hosts asked for, parted by commas; NULL = all */
    bool wide, longer, noheader;
    struct arena *a;
    struct client *client;
    VEC(const struct partition *) queue;
    VEC(const struct node *) node;
    VEC(const struct job *) job;
    struct str out;
};

static bool word_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct overview *o = to;
    o->words = listing_join(o->words, word, a);
    return true;
}

#define AT(member) offsetof(struct overview, member)
#define COMMON                                                                                     \
    OPT_ACCEPTED("V", 0, ARG_NONE, "show the version"),                                            \
        {.name = "h", .alias = "help", .doc = "show this help", .set = set_nothing},               \
        {.name = "l", .doc = "everything about each", .set = set_flag, .at = AT(longer)},          \
        {.name = "noheader", .doc = "no headings", .set = set_flag, .at = AT(noheader)},           \
    {                                                                                              \
        .name = "w", .doc = "nothing cut", .set = set_flag, .at = AT(wide)                         \
    }
static const struct option_row queue_rows[] = {
    COMMON,
    OPT_REFUSED("m", 0, ARG_REQUIRED, "queues with this host", "bqueues -l names their hosts"),
    OPT_REFUSED("o", 0, ARG_REQUIRED, "columns by name", "sinfo -o has columns"),
    OPT_REFUSED("u", 0, ARG_REQUIRED, "queues a user may use", "remuda may shows them"),
};
static const struct option_row host_rows[] = {
    COMMON,
    OPT_REFUSED("R", 0, ARG_REQUIRED, "hosts with these resources", "sinfo -N -o has columns"),
    OPT_REFUSED("gpu", 0, ARG_NONE, "GPUs of each", "remuda gpus shows them"),
    OPT_REFUSED("o", 0, ARG_REQUIRED, "columns by name", "sinfo -N -o has columns"),
};
static const struct option_row id_rows[] = {
    OPT_ACCEPTED("V", 0, ARG_NONE, "show the version"),
    {.name = "h", .alias = "help", .doc = "show this help", .set = set_nothing},
};
OPTION_TABLE(bqueues_options, queue_rows, .usage = "bqueues [OPTIONS] [queue …]",
             .words = WORDS_MIXED, .word = word_take, .one_dash = true);
OPTION_TABLE(bhosts_options, host_rows, .usage = "bhosts [OPTIONS] [host …]", .words = WORDS_MIXED,
             .word = word_take, .one_dash = true);
OPTION_TABLE(lsid_options, id_rows, .usage = "lsid [OPTIONS]", .one_dash = true);

/* ---- reading ---- */

static void queue_keep(void *ctx, const void *record)
{
    struct overview *o = ctx;
    vec_push(&o->queue,
             (const struct partition *)arena_dup(o->a, record, sizeof(struct partition)));
}

static void node_keep(void *ctx, const void *record)
{
    struct overview *o = ctx;
    vec_push(&o->node, (const struct node *)arena_dup(o->a, record, sizeof(struct node)));
}

static void job_keep(void *ctx, const void *record)
{
    struct overview *o = ctx;
    vec_push(&o->job, (const struct job *)arena_dup(o->a, record, sizeof(struct job)));
}

static bool jobs_read(struct overview *o, struct err *e)
{
    struct msg_done done;
    struct msg_query q = {
        .what = QUERY_JOBS,
        .fields = "id,array_job_id,array_task_id,array_pending,array_size,state,priority,partition,"
                  "run_partition,ntasks,alloc_tasks,alloc_cpus,alloc,nodes,suspended_by"};
    return client_query(o->client, &q, &job_fields, o->a, job_keep, o, &done, e);
}

static int32_t slots(const struct job *j)
{
    return j->alloc_cpus > 0 && !lsf_job_is_pending(j) ? j->alloc_cpus : lsf_job_slots(j);
}

/* How many jobs a record stands for. */
static uint32_t jobs_in(const struct job *j)
{
    struct idset waiting = IDSET_INIT;
    uint32_t n = 1;
    if (j->array_pending && idset_parse(&waiting, j->array_pending, UINT32_MAX, NULL))
        n = (uint32_t)waiting.count;
    idset_done(&waiting);
    return n;
}

/* ---- queues ---- */

struct loads {
    long pending, running, suspended;
};

static struct loads loads_of(const struct overview *o, const char *queue)
{
    struct loads n = {0};
    for (size_t i = 0; i < o->job.n; i++) {
        const struct job *j = o->job.v[i];
        long these = (long)slots(j) * jobs_in(j);
        if (!text_is(job_partition(j), queue) && !list_has(j->spec.req.partition, queue))
            continue;
        if (text_is(lsf_job_state(j), "PEND"))
            n.pending += these;
        else if (strstr(lsf_job_state(j), "SUSP"))
            n.suspended += these;
        else
            n.running += these;
    }
    return n;
}

static const char *queue_status(const struct partition *p)
{
    switch ((enum part_state)p->state) {
    case PART_UP: return "Open:Active";
    case PART_DOWN: return "Open:Inact";
    case PART_DRAIN: return "Closed:Active";
    case PART_INACTIVE: return "Closed:Inact";
    }
    return "";
}

static void queue_line(struct overview *o, const struct partition *p)
{
    struct loads n = loads_of(o, p->name);
    str_addf(&o->out, "%-15.*s %3d  %-14s %4s %4s %4s %4s %5ld %5ld %5ld %5ld\n",
             o->wide ? 4096 : 15, p->name, p->priority_tier, queue_status(p), "-", "-", "-", "-",
             n.pending + n.running + n.suspended, n.pending, n.running, n.suspended);
}

static void queue_long(struct overview *o, const struct partition *p)
{
    str_addf(&o->out, "\nQUEUE: %s\n", p->name);
    if (p->is_default)
        str_add(&o->out, "  -- This is the default queue.\n");
    str_add(&o->out, "\nPARAMETERS/STATISTICS\nPRIO NICE STATUS          MAX JL/U JL/P JL/H NJOBS  "
                     "PEND   RUN SSUSP USUSP  RSV\n");
    struct loads n = loads_of(o, p->name);
    str_addf(&o->out, "%3d    0  %-14s %4s %4s %4s %4s %5ld %5ld %5ld %5d %5ld    0\n",
             p->priority_tier, queue_status(p), "-", "-", "-", "-",
             n.pending + n.running + n.suspended, n.pending, n.running, 0, n.suspended);
    if (p->default_time_us > 0 && p->default_time_us != TIME_UNLIMITED)
        str_addf(&o->out, "\nDEFAULT LIMITS:\n RUNLIMIT\n %.1f min\n",
                 (double)p->default_time_us / (double)USEC_PER_MIN);
    if (p->max_time_us > 0 && p->max_time_us != TIME_UNLIMITED)
        str_addf(&o->out, "\nMAXIMUM LIMITS:\n RUNLIMIT\n %.1f min\n",
                 (double)p->max_time_us / (double)USEC_PER_MIN);
    str_addf(&o->out, "\nUSERS:  %s\nHOSTS:  %s\n", p->allow_groups ? p->allow_groups : "all",
             p->nodes ? p->nodes : "none");
}

static bool is_asked(const struct overview *o, const char *name)
{
    return !o->words || list_has(o->words, name);
}

static bool queues_show(struct overview *o, struct err *e)
{
    struct msg_query q = {.what = QUERY_PARTITIONS};
    struct msg_done done;
    size_t shown = 0;
    if (!client_query(o->client, &q, &partition_fields, o->a, queue_keep, o, &done, e) ||
        !jobs_read(o, e))
        return false;
    for (size_t i = 0; i < o->queue.n; i++) {
        if (!is_asked(o, o->queue.v[i]->name))
            continue;
        if (shown++ == 0 && !o->noheader && !o->longer)
            str_add(&o->out,
                    "QUEUE_NAME      PRIO STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   "
                    "RUN  SUSP \n");
        if (o->longer)
            queue_long(o, o->queue.v[i]);
        else
            queue_line(o, o->queue.v[i]);
    }
    return shown || err_set(e, ERR_NOT_FOUND, "%s: No such queue", o->words ? o->words : "none");
}

/* ---- hosts ---- */

static const char *host_status(const struct overview *o, const struct node *n)
{
    bool detailed = o->wide || o->longer;
    if (n->state != NODE_UP)
        return n->state == NODE_DOWN ? "unavail" : "unreach";
    if (n->drain || n->fail)
        return detailed ? "closed_Adm" : "closed";
    if (n->alloc_cpus >= n->cpus)
        return detailed ? "closed_Full" : "closed";
    return "ok";
}

static void host_line(struct overview *o, const struct node *n)
{
    struct lsf_host *host;
    long running = 0, system = 0, user = 0;
    for (size_t i = 0; i < o->job.n; i++) {
        const struct job *j = o->job.v[i];
        size_t hosts = lsf_job_hosts(j, o->a, &host);
        for (size_t k = 0; k < hosts; k++) {
            if (!text_is(host[k].name, n->name))
                continue;
            running += text_is(lsf_job_state(j), "RUN") ? host[k].slots : 0;
            system += text_is(lsf_job_state(j), "SSUSP") ? host[k].slots : 0;
            user += text_is(lsf_job_state(j), "USUSP") ? host[k].slots : 0;
        }
    }
    if (o->wide)
        str_addf(&o->out, "%-18s %-14.14s", n->name, host_status(o, n));
    else
        str_addf(&o->out, "%-18.18s %-11.11s", n->name, host_status(o, n));
    str_addf(&o->out, " %5s %6d %6ld %6ld %6ld %6ld %6d \n", "-", n->cpus, running + system + user,
             running, system, user, 0);
}

static bool hosts_show(struct overview *o, struct err *e)
{
    struct msg_query q = {.what = QUERY_NODES};
    struct msg_done done;
    size_t shown = 0;
    if (!client_query(o->client, &q, &node_fields, o->a, node_keep, o, &done, e) ||
        !jobs_read(o, e))
        return false;
    for (size_t i = 0; i < o->node.n; i++) {
        if (!is_asked(o, o->node.v[i]->name))
            continue;
        if (shown++ == 0 && !o->noheader)
            str_addf(&o->out,
                     "HOST_NAME          STATUS    %s   JL/U    MAX  NJOBS    RUN  SSUSP  "
                     "USUSP    RSV \n",
                     o->wide ? "   " : "");
        host_line(o, o->node.v[i]);
    }
    return shown || err_set(e, ERR_NOT_FOUND, "%s: Bad host name", o->words ? o->words : "none");
}

/* ---- the cluster ---- */

static bool id_show(struct overview *o, struct err *e)
{
    struct dialect_site site = submit_site(state_dir_find(NULL, o->a), o->a);
    str_addf(&o->out, LSF_VERSION_TEXT "\n\nMy cluster name is %s\nMy master name is %s\n",
             site.cluster ? site.cluster : "unknown", submit_hostname(o->a));
    return true;
}

/* ---- the commands ---- */

static int command_run(const char *name, const struct option_table *t,
                       bool (*show)(struct overview *o, struct err *e), int argc, char **argv)
{
    struct overview o = {.name = name, .a = arena_new()};
    struct err e = {0};
    int status;
    if (lsf_line_read(name, t, &o, o.a, argc, argv, &status)) {
        o.client = lsf_connect(name, state_dir_find(NULL, o.a));
        if (!o.client)
            status = LSF_EXIT;
        else if (!show(&o, &e)) {
            fprintf(stderr, "%s\n", e.text);
            status = LSF_EXIT;
        }
        listing_flush(&o.out);
    }
    if (o.client)
        client_close(o.client);
    vec_done(&o.queue);
    vec_done(&o.node);
    vec_done(&o.job);
    str_done(&o.out);
    arena_free(o.a);
    return status;
}

#define COMMAND(name, show)                                                                        \
    int cmd_##name(int argc, char **argv)                                                          \
    {                                                                                              \
        return command_run(#name, &name##_options, show, argc, argv);                              \
    }
COMMAND(bqueues, queues_show)
COMMAND(bhosts, hosts_show)
COMMAND(lsid, id_show)
