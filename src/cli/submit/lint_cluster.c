/* What only the cluster knows of a script: its partitions and their limits, what its nodes have,
 * what a job gets that asks for nothing, and whether it would be taken: the job is sent as
 * sbatch --test-only sends it. */
#include "base/alloc.h"
#include "base/calendar/civil.h"
#include "base/duration.h"
#include "base/list.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/localtime.h"
#include "cli/submit/host.h"
#include "cli/submit/lint.h"
#include "io/client/client.h"
#include "model/grammar/gres.h"
#include "model/job/job.h"
#include "model/record/node.h"
#include "script/lines.h"

#include <string.h>
#include <unistd.h>

#define TYPES_SHOWN 200 /* bytes of a list of types */

struct lint_asking {
    struct lint *l;
    const struct lint_ask *ask;
    struct lint_cluster *to;
    struct client *client;
    VEC(struct partition) part;
    VEC(struct node) node;
    struct config conf;
};

static void part_keep(void *ctx, const void *record)
{
    struct lint_asking *k = ctx;
    vec_push(&k->part, *(const struct partition *)record);
}

static void node_keep(void *ctx, const void *record)
{
    struct lint_asking *k = ctx;
    vec_push(&k->node, *(const struct node *)record);
}

static void default_add(struct lint_asking *k, const char *what, const char *value,
                        const char *from)
{
    struct lint_default d = {what, value, from};
    vec_push(&k->to->defaults, d);
}

static const char *span_text(struct lint_asking *k, int64_t us)
{
    struct str text = STR_INIT;
    duration_format(us ? us : TIME_UNLIMITED, &text);
    const char *kept = arena_strdup(k->l->a, str_text(&text));
    str_done(&text);
    return kept;
}

static const char *size_text(struct lint_asking *k, int64_t mib)
{
    struct str text = STR_INIT;
    size_format_mib(mib, 0, &text);
    const char *kept = arena_strdup(k->l->a, str_text(&text));
    str_done(&text);
    return kept;
}

/* ---- partitions ---- */

static const struct partition *part_named(const struct lint_asking *k, struct span name)
{
    for (size_t i = 0; i < k->part.n; i++)
        if (name.data ? span_is(name, k->part.v[i].name) : k->part.v[i].is_default)
            return &k->part.v[i];
    return NULL;
}

static void unknown_find(struct lint_asking *k, struct span name)
{
    const char *names[64], *word = arena_strndup(k->l->a, name.data, name.len);
    struct str list = STR_INIT;
    size_t n = 0;
    for (size_t i = 0; i < k->part.n && n < ARRAY_LEN(names); i++) {
        names[n++] = k->part.v[i].name;
        if (list.len < TYPES_SHOWN)
            str_addf(&list, "%s%s", list.len ? ", " : "", k->part.v[i].name);
    }
    const char *near = text_nearest(word, names, n);
    lint_find(k->l, RULE_PARTITION, lint_line_of(k->l, "partition"), 0,
              "there is no partition %s%s%s%s; there are %s", word, near ? " (did you mean " : "",
              near ? near : "", near ? "?)" : "", str_text(&list));
    str_done(&list);
}

static void limits_look(struct lint_asking *k, const struct partition *p,
                        const struct job_request *q)
{
    struct lint *l = k->l;
    if (p->max_time_us && p->max_time_us != TIME_UNLIMITED && q->time_limit_us > p->max_time_us)
        lint_find(l, RULE_ABOVE_LIMIT, lint_line_of(l, "time"), lint_line_of(l, "partition"),
                  "%s is more than partition %s allows, which is %s",
                  span_text(k, q->time_limit_us), p->name, span_text(k, p->max_time_us));
    if (p->max_nodes && q->min_nodes > p->max_nodes)
        lint_find(l, RULE_ABOVE_LIMIT, lint_line_of(l, "nodes"), lint_line_of(l, "partition"),
                  "%d nodes are more than partition %s allows a job, which is %d", q->min_nodes,
                  p->name, p->max_nodes);
    if (p->total_nodes && q->min_nodes > p->total_nodes)
        lint_find(l, RULE_ABOVE_LIMIT, lint_line_of(l, "nodes"), lint_line_of(l, "partition"),
                  "partition %s has %d nodes, and %d are asked for", p->name, p->total_nodes,
                  q->min_nodes);
}

/* ---- GPUs ---- */

static bool node_is_of(const struct node *n, const struct partition *p)
{
    return !p || list_has(n->partitions, p->name);
}

/* The most GPUs of that type (NULL = any) that a node has. */
static int64_t most_of_type(struct lint_asking *k, const struct partition *p, const char *type)
{
    int64_t most = 0;
    for (size_t i = 0; i < k->node.n; i++) {
        struct gres_list has = {0};
        int64_t here = 0;
        if (!node_is_of(&k->node.v[i], p) ||
            !gres_parse(k->node.v[i].gres ? k->node.v[i].gres : "", k->l->a, &has, NULL))
            continue;
        for (size_t g = 0; g < has.n; g++)
            if (text_is(has.item[g].kind, "gpu") &&
                (!type || gres_type_matches(type, has.item[g].type)))
                here += has.item[g].count;
        most = here > most ? here : most;
    }
    return most;
}

static const char *types_there(struct lint_asking *k, const struct partition *p)
{
    struct str list = STR_INIT;
    for (size_t i = 0; i < k->node.n && list.len < TYPES_SHOWN; i++) {
        struct gres_list has = {0};
        if (!node_is_of(&k->node.v[i], p) ||
            !gres_parse(k->node.v[i].gres ? k->node.v[i].gres : "", k->l->a, &has, NULL))
            continue;
        for (size_t g = 0; g < has.n; g++) {
            const char *type = has.item[g].type ? has.item[g].type : "GPUs without a type";
            if (text_is(has.item[g].kind, "gpu") && !strstr(str_text(&list), type))
                str_addf(&list, "%s%s", list.len ? ", " : "", type);
        }
    }
    const char *kept = arena_strdup(k->l->a, list.len ? str_text(&list) : "no GPUs");
    str_done(&list);
    return kept;
}

static void gpu_find(struct lint_asking *k, const struct partition *p, const char *option,
                     const struct gres_item *item, bool of_node)
{
    int64_t most = most_of_type(k, p, item->type);
    unsigned line = lint_line_of(k->l, option), other = lint_line_of(k->l, "partition");
    const char *where = p ? arena_printf(k->l->a, "of partition %s", p->name) : "of this cluster";
    if (item->count <= 0)
        return;
    if (!most)
        lint_find(k->l, RULE_GPU_TYPE, line, other, "no node %s has %s%s; they have %s", where,
                  item->type ? "a GPU of type " : "GPUs", item->type ? item->type : "",
                  types_there(k, p));
    else if (of_node && item->count > most)
        lint_find(k->l, RULE_GPU_TYPE, line, other,
                  "no node %s has %lld GPUs%s%s; the most is %lld", where, (long long)item->count,
                  item->type ? " of type " : "", item->type ? item->type : "", (long long)most);
}

static void gpus_look(struct lint_asking *k, const struct partition *p, const struct job_request *q)
{
    const struct {
        const char *option, *text;
        bool gres, of_node;
    } lists[] = {{"gres", q->gres, true, true},
                 {"gpus", q->gpus, false, false},
                 {"gpus-per-node", q->gpus_per_node, false, true},
                 {"gpus-per-task", q->gpus_per_task, false, true}};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct gres_list list = {0};
        if (text_empty(lists[i].text) ||
            !(lists[i].gres ? gres_parse : gres_parse_gpus)(lists[i].text, k->l->a, &list, NULL))
            continue;
        for (size_t g = 0; g < list.n; g++)
            if (text_is(list.item[g].kind, "gpu"))
                gpu_find(k, p, lists[i].option, &list.item[g], lists[i].of_node);
    }
}

/* ---- what it gets without asking ---- */

static void memory_default(struct lint_asking *k, const struct partition *p,
                           const struct job_request *q)
{
    const struct settings *s = &k->conf.settings;
    bool gpus =
        q->gpus || q->gpus_per_node || q->gpus_per_task || (q->gres && strstr(q->gres, "gpu"));
    const struct {
        bool holds;
        int64_t mib;
        const char *each, *from;
    } kinds[] = {
        {gpus, p->def_mem_per_gpu_mib, "a GPU", "DefMemPerGPU of the partition"},
        {true, p->def_mem_per_cpu_mib, "a CPU", "DefMemPerCPU of the partition"},
        {!p->def_mem_per_node_mib, s->def_mem_per_cpu_mib, "a CPU", "DefMemPerCPU of the cluster"},
        {true, p->def_mem_per_node_mib, "a node", "DefMemPerNode of the partition"},
        {true, s->def_mem_per_node_mib, "a node", "DefMemPerNode of the cluster"},
    };
    if (q->mem_per_node_mib || q->mem_per_cpu_mib || q->mem_per_gpu_mib)
        return;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (kinds[i].holds && kinds[i].mib > 0) {
            default_add(k, "memory",
                        arena_printf(k->l->a, "%s %s", size_text(k, kinds[i].mib), kinds[i].each),
                        kinds[i].from);
            return;
        }
    default_add(k, "memory", "as much of the node as it has CPUs of it", "no default is set");
}

static void defaults_take(struct lint_asking *k, const struct partition *p,
                          const struct job_request *q)
{
    if (!q->partition)
        default_add(k, "partition", p->name, "the default of the cluster");
    if (!q->time_limit_us)
        default_add(
            k, "time limit", span_text(k, p->default_time_us ? p->default_time_us : p->max_time_us),
            p->default_time_us ? "DefaultTime of the partition" : "MaxTime of the partition");
    memory_default(k, p, q);
    if (p->def_cpu_per_gpu && !q->cpus_per_task && !q->cpus_per_gpu &&
        (q->gpus || q->gpus_per_node || q->gpus_per_task))
        default_add(k, "CPUs", arena_printf(k->l->a, "%d a GPU", p->def_cpu_per_gpu),
                    "DefCpuPerGPU of the partition");
}

/* Without a cluster as well. */
static void own_defaults(struct lint_asking *k)
{
    const struct job_spec *j = &k->l->comp[0].spec;
    enum dialect d = k->l->by_sbatch ? DIALECT_SLURM : k->l->dialect;
    if (d == DIALECT_SLURM && !j->std_out)
        default_add(k, "output", j->array ? "slurm-%A_%a.out" : "slurm-%j.out",
                    "in the work directory");
    if (!j->work_dir)
        default_add(k, "work directory",
                    d == DIALECT_PBS ? "the home directory" : "where it is submitted",
                    d == DIALECT_PBS ? "as with PBS" : "--chdir names another");
    if (!j->export_env || (d == DIALECT_PBS && text_is(j->export_env, "NONE")))
        default_add(k, "environment",
                    d == DIALECT_PBS ? "a login shell's, and PBS_O_*" : "that of the submission",
                    d == DIALECT_PBS ? "-V takes all of it along" : "all of it is exported");
}

/* ---- would it be taken ---- */

static const struct {
    enum refusal refusal;
    const char *option;
} refused_options[] = {
    {REFUSE_INVALID_PARTITION, "partition"},
    {REFUSE_PARTITION_ACCESS, "partition"},
    {REFUSE_PARTITION_DOWN, "partition"},
    {REFUSE_INVALID_NODE, "nodelist"},
    {REFUSE_INVALID_NODE_COUNT, "nodes"},
    {REFUSE_INVALID_TASK_COUNT, "ntasks"},
    {REFUSE_INVALID_CPU_COUNT, "cpus-per-task"},
    {REFUSE_GRES, "gpus-per-task"},
    {REFUSE_GRES, "gpus-per-node"},
    {REFUSE_GRES, "gpus"},
    {REFUSE_GRES, "gres"},
    {REFUSE_TIME_LIMIT, "time"},
    {REFUSE_INVALID_ARRAY, "array"},
    {REFUSE_DEPENDENCY, "dependency"},
    {REFUSE_FEATURE, "constraint"},
    {REFUSE_ACCOUNT, "account"},
    {REFUSE_QOS, "qos"},
    {REFUSE_WCKEY, "wckey"},
    {REFUSE_LICENSES, "licenses"},
    {REFUSE_RESERVATION, "reservation"},
    {REFUSE_BEGIN_TIME, "begin"},
    {REFUSE_MEMORY, "mem"},
};

static void refused_find(struct lint_asking *k, const struct msg_done *m)
{
    const char *words = refusal_text((enum refusal)m->refusal);
    unsigned line = 0;
    for (size_t i = 0; i < ARRAY_LEN(refused_options); i++)
        if (refused_options[i].refusal == (enum refusal)m->refusal && !line)
            line = lint_line_of(k->l, refused_options[i].option);
    for (size_t i = 0; i < k->l->finding.n; i++)
        if (k->l->finding.v[i].rule == RULE_PARTITION && k->l->finding.v[i].line == line &&
            m->refusal == REFUSE_INVALID_PARTITION)
            return;
    lint_find(k->l, RULE_REFUSED, line, 0, "%s would be refused: %s%s%s",
              script_command(k->l->by_sbatch ? DIALECT_SLURM : k->l->dialect), words,
              text_empty(m->detail) ? "" : ": ", text_empty(m->detail) ? "" : m->detail);
}

static void taken_say(struct lint_asking *k, const struct msg_submitted *m)
{
    struct str text = STR_INIT;
    str_add(&text, "submitted now it would start at ");
    civil_format_iso(m->planned_us, &civil_local, &text);
    str_addf(&text, " with %d CPU%s on %s in partition %s", m->cpus, m->cpus == 1 ? "" : "s",
             m->nodes ? m->nodes : "nodes not known yet", m->partition ? m->partition : "");
    k->to->start = arena_strdup(k->l->a, str_text(&text));
    str_done(&text);
}

static void test_send(struct lint_asking *k)
{
    struct lint *l = k->l;
    struct err e = {0};
    struct message answer;
    struct job_spec *specs = arena_alloc(l->a, l->ncomp * sizeof *specs);
    for (size_t i = 0; i < l->ncomp; i++) {
        specs[i] = l->comp[i].spec;
        specs[i].batch = true;
        specs[i].name = specs[i].name ? specs[i].name : k->ask->script.job_name;
        if (!specs[i].work_dir || specs[i].work_dir[0] != '/')
            specs[i].work_dir = k->ask->cwd;
        specs[i].alloc_host = submit_hostname(l->a);
        specs[i].umask_plus1 = submit_umask() + 1;
    }
    bool script = l->len > 2 && memcmp(l->text, "#!", 2) == 0;
    const char *text = script ? l->text : arena_printf(l->a, "#!/bin/sh\n%s", l->text);
    struct msg_submit m = {
        .specs = {specs, l->ncomp}, .script = {text, strlen(text)}, .test_only = true};
    if (!client_call(k->client, MSG_SUBMIT, &m, 0, l->a, &answer, &e))
        lint_find(l, RULE_NO_CLUSTER, 0, 0, "the cluster did not say whether it would take it: %s",
                  e.text);
    else if (answer.kind == MSG_SUBMITTED)
        taken_say(k, answer.body);
    else if (answer.kind == MSG_DONE)
        refused_find(k, answer.body);
}

/* ---- the whole ---- */

static void component_look(struct lint_asking *k, const struct job_request *q)
{
    struct span rest = span_of(q->partition), name;
    const struct partition *first = part_named(k, (struct span){0});
    bool known = true, any = false;
    while (rest.data && span_next(&rest, ',', &name)) {
        const struct partition *p = part_named(k, name);
        if (!p) {
            unknown_find(k, name);
            known = false;
        } else {
            first = any ? first : p;
            any = true;
        }
    }
    if (!first || !known)
        return;
    bool alone = !q->partition || !strchr(q->partition, ',');
    if (alone)
        limits_look(k, first, q);
    gpus_look(k, alone ? first : NULL, q);
    defaults_take(k, first, q);
}

static bool records_read(struct lint_asking *k, struct err *e)
{
    struct msg_query parts = {.what = QUERY_PARTITIONS},
                     nodes = {.what = QUERY_NODES, .fields = "name,gres,partitions"};
    struct msg_done done;
    return cluster_settings_read(k->ask->state_dir, k->client, &k->conf, e) &&
           client_query(k->client, &parts, &partition_fields, k->l->a, part_keep, k, &done, e) &&
           client_query(k->client, &nodes, &node_fields, k->l->a, node_keep, k, &done, e);
}

static void cluster_look(struct lint_asking *k)
{
    struct err e = {0};
    if (!records_read(k, &e)) {
        lint_find(k->l, RULE_NO_CLUSTER, 0, 0, "the cluster did not answer: %s", e.text);
        return;
    }
    k->to->name = arena_strdup(k->l->a, k->conf.settings.cluster_name);
    for (size_t i = 0; i < k->l->ncomp && k->l->readable; i++)
        component_look(k, &k->l->comp[i].spec.req);
    if (k->l->readable && !lint_count(k->l, LINT_ERROR))
        test_send(k);
}

void lint_cluster_ask(struct lint *l, const struct lint_ask *ask, struct lint_cluster *ret)
{
    struct lint_asking k = {.l = l, .ask = ask, .to = ret};
    struct err e = {0};
    if (ask->offline) {
        ret->why_not = "it was not to be asked (--offline)";
    } else if (!(k.client = client_open(ask->state_dir, &e))) {
        ret->why_not = arena_strdup(l->a, e.text);
    } else {
        cluster_look(&k);
        client_close(k.client);
    }
    if (ret->why_not)
        lint_find(l, RULE_NO_CLUSTER, 0, 0,
                  "no cluster was asked, so partitions, limits and GPUs are not checked: %s",
                  ret->why_not);
    own_defaults(&k);
    if (k.conf.settings.cluster_name)
        config_done(&k.conf);
    vec_done(&k.part);
    vec_done(&k.node);
    lint_sort(l);
}
