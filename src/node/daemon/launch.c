#include "node/daemon/launch.h"

#include "base/alloc.h"
#include "base/idset.h"
#include "base/list.h"
#include "model/env/job_env.h"
#include "model/env/later_env.h"
#include "model/env/lsf_report.h"
#include "model/env/step_env.h"
#include "model/grammar/script_args.h"
#include "model/job/alloc.h"
#include "model/job/pattern.h"
#include "model/record/series.h"
#include "node/step/bind/bind.h"
#include "node/step/dir.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct plan_bytes bytes_keep(struct arena *a, struct str *text)
{
    struct plan_bytes b = {text->len ? arena_dup(a, text->data, text->len) : NULL, text->len};
    str_done(text);
    return b;
}

static const char *text_keep(struct arena *a, struct str *text)
{
    const char *kept = arena_strdup(a, str_text(text));
    str_done(text);
    return kept;
}

/* ---- files ---- */

static const char *expanded(const char *pattern, const struct pattern_env *env, struct arena *a)
{
    struct str path = STR_INIT;
    if (!pattern)
        return NULL;
    pattern_expand(pattern, env, &path);
    return text_keep(a, &path);
}

static void files_plan(const struct launch_site *site, const struct job *j, int64_t step_id,
                       const char *user, struct arena *a, struct step_plan *p)
{
    bool element = j->array_job_id != 0 && j->array_task_id != NO_TASK;
    struct pattern_env env = {
        .job_id = j->id,
        .array_job_id = element ? j->array_job_id : 0,
        .array_task_id = element ? j->array_task_id : NO_TASK,
        .step_id = step_id,
        .node = site->node,
        .user = user,
        .job_name = j->spec.name,
    };
    const char *standard = element ? "slurm-%A_%a.out" : "slurm-%j.out";
    p->work_dir = j->spec.work_dir;
    p->std_in = expanded(j->spec.std_in, &env, a);
    p->std_out = expanded(text_empty(j->spec.std_out) ? standard : j->spec.std_out, &env, a);
    p->std_err = expanded(j->spec.std_err, &env, a);
    switch ((enum open_mode)j->spec.open_mode) {
    case OPEN_UNSET:
    case OPEN_TRUNCATE: p->append = APPEND_NONE; break;
    case OPEN_APPEND: p->append = APPEND_BOTH; break;
    case OPEN_TRUNCATE_OUTPUT: p->append = APPEND_ERROR; break;
    case OPEN_TRUNCATE_ERROR: p->append = APPEND_OUTPUT; break;
    }
}

/* ---- resources ---- */

static const char *nth_number(const char *list, int64_t n)
{
    ASSERT(n >= 0);
    for (; n > 0 && list; n--) {
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    return list;
}

/* The node's CPU numbers (folded) as the system's. NULL if one of them is not there: then the job
 * is not kept to any. */
static const char *cpus_plan(const struct launch_site *site, const struct alloc_node *here,
                             struct arena *a)
{
    struct idset set = IDSET_INIT;
    struct str out = STR_INIT;
    uint32_t id;
    bool ok = site->cpu_numbers && site->welcome->constrain_cores && here &&
              idset_parse(&set, here->cpus, UINT32_MAX, NULL) && idset_first(&set, &id);
    for (bool more = ok; ok && more; more = idset_next(&set, id, &id)) {
        const char *number = nth_number(site->cpu_numbers, id);
        ok = number != NULL;
        if (ok)
            list_addf(&out, "%.*s", (int)strcspn(number, ","), number);
    }
    idset_done(&set);
    const char *text = text_keep(a, &out);
    return ok && *text ? text : NULL;
}

static void owner_plan(const struct launch_site *site, const struct job *j, const struct owner *o,
                       struct step_plan *p)
{
    p->switch_user = site->is_root;
    p->uid = j->user_id;
    p->gid = j->group_id;
    p->groups = (struct plan_bytes){o->groups, o->ngroups * sizeof *o->groups};
    p->user = o->name ? o->name : j->user_name;
    p->home = o->home;
    p->shell = o->shell;
    p->login_env = j->spec.get_user_env;
    p->rlimits = j->spec.rlimits;
    p->umask_plus1 = j->spec.umask_plus1;
}

static struct job_env env_of(const struct launch_site *site, const struct job *j,
                             const struct alloc *al)
{
    return (struct job_env){
        .job = j,
        .alloc = al,
        .node = site->node,
        .hostname = site->hostname,
        .cluster_name = site->welcome->cluster_name,
        .topology_addr = site->welcome->topology_addr,
        .topology_pattern = site->welcome->topology_pattern,
        .state_dir = site->state_dir,
        .bin_dir = site->bin_dir,
        .has_gpus = site->has_gpus,
        .gpus_hidden = launch_gpus_hidden(site),
        .gpu_names = launch_gpu_names(site),
        .user = j->user_name,
        .group = j->group_name,
    };
}

struct plan_bytes launch_program_env(const struct launch_site *site, const struct job *j,
                                     const char *context, struct arena *a)
{
    struct alloc al = {0};
    struct str out = STR_INIT;
    if (j->alloc)
        alloc_parse(j->alloc, a, &al, NULL);
    struct job_env e = env_of(site, j, &al);
    job_env_program(&e, context, &out);
    return bytes_keep(a, &out);
}

static struct plan_bytes env_plan(const struct launch_site *site, const struct msg_launch *l,
                                  const struct alloc *al, const struct owner *o,
                                  const char *dir_name, struct arena *a)
{
    const struct job *j = l->job.v;
    struct job_env e = env_of(site, j, al);
    struct str out = STR_INIT;
    e.step_dir = arena_printf(a, "%s/steps/%s", site->node_dir, dir_name);
    e.user = o->name ? o->name : j->user_name;
    e.group = o->group ? o->group : j->group_name;
    e.home = o->home;
    e.shell = o->shell;
    e.exported = later_env_over(l->env, j->spec.later_env, a);
    job_env_parts(&e, l->job.v, l->job.n, a);
    job_env_batch(&e, &out);
    job_env_components(&e, l->job.v, l->job.n, a, &out);
    return bytes_keep(a, &out);
}

/* ---- what batch scripts and tasks have alike ---- */

/* What the step asked for, else its job, else the cluster's. */
static int64_t sample_gap(const struct launch_site *site, const struct msg_launch *l)
{
    const struct msg_create_step *asked = l->create.n ? l->create.v : NULL;
    const struct job_spec *step = asked && asked->spec.n ? asked->spec.v : NULL;
    const struct job *j = l->job.v;
    int32_t plus1 = step && step->sample_s_plus1 ? step->sample_s_plus1 : j->spec.sample_s_plus1;
    return plus1 ? (plus1 - 1) * USEC_PER_SEC : site->welcome->accounting_freq_us;
}

static void gaps_plan(const struct launch_site *site, const struct msg_launch *l,
                      struct step_plan *ret)
{
    const struct msg_create_step *asked = l->create.n ? l->create.v : NULL;
    const struct job_spec *step = asked && asked->spec.n ? asked->spec.v : NULL;
    const struct job *j = l->job.v;
    struct series_gaps gaps = SERIES_GAPS_INIT;
    int64_t task = 0;
    series_gaps_read(site->welcome->frequencies, &task, &gaps, NULL);
    series_gaps_read(j->spec.sample_others, &task, &gaps, NULL);
    series_gaps_read(step ? step->sample_others : NULL, &task, &gaps, NULL);
    ret->sample_us = sample_gap(site, l);
    ret->series = site->welcome->series;
    ret->energy_us = gaps.energy_us < 0 ? ret->sample_us : gaps.energy_us;
    ret->network_us = gaps.network_us < 0 ? ret->sample_us : gaps.network_us;
    ret->filesystem_us = gaps.filesystem_us < 0 ? ret->sample_us : gaps.filesystem_us;
}

static bool common_plan(const struct launch_site *site, const struct msg_launch *l,
                        const struct owner *owner, const struct alloc_node *of_job,
                        const struct alloc_node *here, struct arena *a, struct step_plan *ret,
                        struct err *ret_err)
{
    const struct job *j = l->job.v;
    struct str name = STR_INIT;
    if (!site->is_root && j->user_id != getuid())
        return err_set(
            ret_err, ERR_DENIED,
            "node %s runs jobs of user %u only, as that user started it; job %llu is of user %u",
            site->node, (unsigned)getuid(), (unsigned long long)j->id, j->user_id);
    step_dir_name(j->id, j->attempt, l->step_id, &name);
    ret->job_id = (int64_t)j->id;
    ret->attempt = j->attempt;
    ret->step_id = l->step_id;
    ret->dir_name = text_keep(a, &name);
    ret->node = site->node;
    owner_plan(site, j, owner, ret);
    ret->cpus = cpus_plan(site, here, a);
    limits_plan(site->welcome, &site->limits, of_job, here, ret);
    ret->mem_asked_mib = of_job ? of_job->mem_mib : 0;
    gaps_plan(site, l, ret);
    ret->kill_wait_us = site->welcome->kill_wait_us;
    ret->cgroups = site->cgroups;
    ret->unkillable_us = site->welcome->unkillable_us;
    launch_gpus(site, here, a, ret);
    ret->bin_dir = site->bin_dir;
    ret->task_prolog = site->welcome->task_prolog;
    ret->task_epilog = site->welcome->task_epilog;
    if (!text_empty(site->welcome->epilog))
        ret->keep = launch_program_env(site, j, "epilog_slurmd", a);
    return true;
}

/* ---- the batch script ---- */

static bool hosts_plan(const struct launch_site *site, const struct msg_launch *l,
                       const struct alloc *al, struct arena *a, struct step_plan *ret,
                       struct err *ret_err)
{
    struct job_env e = env_of(site, l->job.v, al);
    struct str hosts = STR_INIT;
    job_env_parts(&e, l->job.v, l->job.n, a);
    if (!job_env_hosts(&e, &hosts))
        return err_set(ret_err, ERR_INVALID,
                       "job %llu has too many tasks: its file of hosts, a line for each, would "
                       "have more than %u MiB",
                       (unsigned long long)e.job->id, JOB_HOSTS_MAX >> 20);
    ret->hosts = bytes_keep(a, &hosts);
    return true;
}

/* What jobs of LSF and PBS have beside their environment. */
static void dialect_plan(const struct launch_site *site, const struct msg_launch *l,
                         const struct alloc *al, const struct owner *o, struct arena *a,
                         struct step_plan *ret)
{
    const struct job *j = l->job.v;
    struct job_env e = env_of(site, j, al);
    struct str report = STR_INIT;
    e.home = o->home;
    e.user = o->name ? o->name : j->user_name;
    job_env_parts(&e, l->job.v, l->job.n, a);
    if (j->spec.dialect == DIALECT_LSF)
        lsf_report_begin(&e, &report);
    if (report.len)
        ret->report = text_keep(a, &report);
    str_done(&report);
}

/* With another first line, where the job was given another shell since. */
static struct plan_bytes script_plan(const struct msg_launch *l, struct arena *a)
{
    const struct job *j = l->job.v;
    const char *shell = j->spec.shell;
    struct str text = STR_INIT;
    if (text_empty(shell))
        return (struct plan_bytes){l->script.data, l->script.len};
    str_addf(&text, "#!%s\n", shell);
    str_addn(&text, l->script.data, l->script.len);
    return bytes_keep(a, &text);
}

static bool batch_plan(const struct launch_site *site, const struct msg_launch *l,
                       const struct owner *owner, const struct alloc *al, struct arena *a,
                       struct step_plan *ret, struct err *ret_err)
{
    const struct job *j = l->job.v;
    struct str args = STR_INIT;
    const struct alloc_node *here = alloc_find(al, site->node);
    if (!common_plan(site, l, owner, here, here, a, ret, ret_err))
        return false;
    files_plan(site, j, l->step_id, ret->user, a, ret);
    ret->script = script_plan(l, a);
    script_args_unpack(j->spec.script_args, &args);
    ret->args = bytes_keep(a, &args);
    ret->env = env_plan(site, l, al, owner, ret->dir_name, a);
    dialect_plan(site, l, al, owner, a, ret);
    return hosts_plan(site, l, al, a, ret, ret_err);
}

/* ---- a step's tasks ---- */

static void tasks_bind(const struct launch_site *site, const struct job_spec *spec,
                       const struct alloc_node *here, struct arena *a, struct step_plan *p,
                       struct bind_result *ret)
{
    struct bind_ask ask = {
        .here = here,
        .spec = spec,
        .cpu_numbers = p->cpus ? site->cpu_numbers : NULL,
        .threads_per_core = site->threads_per_core,
        .cores_per_socket = site->cores_per_socket,
        .gpus_hidden = launch_gpus_hidden(site),
        .gpu_names = launch_gpu_names(site),
        .devices = site->devices,
    };
    bind_tasks(&ask, a, ret);
    p->tasks = ret->tasks;
    p->bind_report = ret->verbose ? ret->type : NULL;
}

static struct plan_bytes step_env_plan(const struct launch_site *site, const struct msg_launch *l,
                                       const struct alloc *al, const struct alloc *layout,
                                       const struct owner *o, const struct bind_result *bound,
                                       const char *dir_name, struct arena *a)
{
    struct str out = STR_INIT;
    struct step_env e = {.job = env_of(site, l->job.v, al),
                         .step = l->step.v,
                         .asked = l->create.v,
                         .layout = layout,
                         .cpu_bind = bound->type};
    e.job.user = o->name ? o->name : e.job.user;
    e.job.group = o->group ? o->group : e.job.group;
    e.job.step_dir = arena_printf(a, "%s/steps/%s", site->node_dir, dir_name);
    e.job.home = o->home;
    e.job.interactive = l->step_id == STEP_INTERACTIVE;
    job_env_parts(&e.job, l->job.v, l->job.n, a);
    step_env_shared(&e, &out);
    return bytes_keep(a, &out);
}

static bool tasks_plan(const struct launch_site *site, const struct msg_launch *l,
                       const struct owner *owner, const struct alloc *al, struct arena *a,
                       struct step_plan *ret, struct err *ret_err)
{
    const struct job *j = l->job.v;
    const struct step *step = l->step.v;
    const struct msg_create_step *asked = l->create.n ? l->create.v : NULL;
    struct alloc layout = {0};
    struct bind_result bound;
    if (!asked || !asked->spec.n ||
        !alloc_parse(step->layout ? step->layout : "", a, &layout, ret_err) ||
        !alloc_find(&layout, site->node))
        return err_set(ret_err, ERR_INVALID,
                       "the launch of step %llu.%lld does not say what node %s has to do",
                       (unsigned long long)j->id, (long long)l->step_id, site->node);
    const struct alloc_node *here = alloc_find(&layout, site->node),
                            *of_job = alloc_find(al, site->node);
    if (!common_plan(site, l, owner, of_job, here, a, ret, ret_err))
        return false;
    tasks_bind(site, asked->spec.v, here, a, ret, &bound);
    ret->address = asked->address ? asked->address : "";
    ret->script = (struct plan_bytes){l->script.data, l->script.len};
    ret->key = asked->key;
    ret->world = step->ntasks;
    ret->pty = asked->pty;
    ret->rendezvous = !asked->no_rendezvous && step->master_port > 0;
    ret->master_addr = step->master_addr;
    ret->master_port = arena_printf(a, "%d", step->master_port);
    ret->job_name = j->spec.name;
    if (j->array_job_id && j->array_task_id != NO_TASK) {
        ret->array_job_id = (int64_t)j->array_job_id;
        ret->array_task_plus1 = (int64_t)j->array_task_id + 1;
    }
    ret->env = step_env_plan(site, l, al, &layout, owner, &bound, ret->dir_name, a);
    return l->step_id != STEP_INTERACTIVE || hosts_plan(site, l, al, a, ret, ret_err);
}

/* What the herd adds to a plan: a directory's name and numbers of groups. */
#define ADDED_BYTES 1024u

/* The shepherds' parent, who starts the steps of all, takes none that is longer. */
static bool plan_fits(const struct step_plan *p, struct err *ret_err)
{
    size_t size = step_plan_size(p) + ADDED_BYTES;
    struct str label = STR_INIT;
    if (size <= STEP_PLAN_MAX)
        return true;
    step_label(p->step_id, &label);
    err_set(ret_err, ERR_INVALID,
            "step %lld.%s is too large to start on %s: its script, arguments, environment and "
            "what its tasks are bound to are %zu MiB, and may be %u",
            (long long)p->job_id, str_text(&label), p->node, size >> 20, STEP_PLAN_MAX >> 20);
    str_done(&label);
    return false;
}

bool launch_plan(const struct launch_site *site, const struct msg_launch *l,
                 const struct owner *owner, struct arena *a, struct step_plan *ret,
                 struct err *ret_err)
{
    ASSERT(l->job.n > 0);
    const struct job *j = l->job.v;
    struct alloc al = {0};
    memset(ret, 0, sizeof *ret);
    if (j->alloc && !alloc_parse(j->alloc, a, &al, ret_err))
        return err_prefix(ret_err, "the allocation of job %llu cannot be read",
                          (unsigned long long)j->id);
    return (l->step.n ? tasks_plan(site, l, owner, &al, a, ret, ret_err)
                      : batch_plan(site, l, owner, &al, a, ret, ret_err)) &&
           plan_fits(ret, ret_err);
}
