/* From a request of LSF to options of sbatch.
 *
 * A slot is a task of one CPU, or of as many as affinity[core(N)] says. Memory is what rusage[mem]
 * reserves, of each host, slot or of the job, as the site or the request says; where it is not
 * given, -M is taken, which is of each process and so of each slot. */
#include "script/lsf/lsf.h"

#include "base/alloc.h"

#include <string.h>

static int64_t mib_up(int64_t kib)
{
    return (kib + 1023) / 1024;
}

static int32_t slots_of(const struct lsf_request *r)
{
    return r->slots > 0 ? r->slots : 1;
}

static int32_t hosts_of(const struct lsf_request *r)
{
    if (r->whole_hosts)
        return r->whole_hosts;
    if (r->ptile)
        return (int32_t)(((int64_t)slots_of(r) + r->ptile - 1) / r->ptile);
    return r->one_host ? 1 : 0;
}

/* ---- memory ---- */

static bool memory_give(struct dialect_out *d, const char *from, const char *option, int64_t mib,
                        struct err *e)
{
    return dialect_give(d, from, option, arena_printf(d->a, "%lldM", (long long)(mib ? mib : 1)),
                        e);
}

static bool slot_memory_give(const struct lsf_request *r, struct dialect_out *d, const char *from,
                             int64_t kib, struct err *e)
{
    int64_t cores = r->cores > 0 ? r->cores : 1;
    return memory_give(d, from, "mem-per-cpu", mib_up((kib + cores - 1) / cores), e);
}

/* Where the number of hosts is known, each has its part; else each slot. */
static bool job_memory_give(const struct lsf_request *r, struct dialect_out *d, const char *from,
                            int64_t kib, struct err *e)
{
    int32_t hosts = hosts_of(r);
    if (hosts)
        return memory_give(d, from, "mem", mib_up((kib + hosts - 1) / hosts), e);
    return slot_memory_give(r, d, from, (kib + slots_of(r) - 1) / slots_of(r), e);
}

static bool memory_finish(const struct lsf_request *r, struct dialect_out *d, struct err *e)
{
    enum lsf_mem_per per = r->mem_per;
    if (per == LSF_MEM_OF_SITE)
        per = r->site->lsf_mem_per_slot ? LSF_MEM_SLOT : LSF_MEM_HOST;
    if (r->mem_kib && per == LSF_MEM_HOST)
        return memory_give(d, "-R rusage[mem]", "mem", mib_up(r->mem_kib), e);
    if (r->mem_kib && per == LSF_MEM_SLOT)
        return slot_memory_give(r, d, "-R rusage[mem]", r->mem_kib, e);
    if (r->mem_kib)
        return job_memory_give(r, d, "-R rusage[mem]", r->mem_kib, e);
    if (r->limit_kib && r->site->lsf_mem_of_job)
        return job_memory_give(r, d, "-M", r->limit_kib, e);
    return !r->limit_kib || slot_memory_give(r, d, "-M", r->limit_kib, e);
}

/* ---- size ---- */

static bool size_finish(const struct lsf_request *r, struct dialect_out *d, struct err *e)
{
    bool spread = r->whole_hosts && !r->slots;
    return dialect_give_number(d, "-n", "ntasks", spread ? 0 : slots_of(r), e) &&
           dialect_give_number(d,
                               r->whole_hosts ? "-nnodes"
                               : r->ptile     ? "-R span[ptile]"
                                              : "-R span[hosts]",
                               "nodes", hosts_of(r), e) &&
           dialect_give_number(d, "-R span[ptile]", "ntasks-per-node", r->ptile, e) &&
           dialect_give(d, r->plane ? "-R span[block]" : "-R span[stripe]", "distribution",
                        r->plane    ? arena_printf(d->a, "plane=%d", r->plane)
                        : r->cyclic ? "cyclic"
                                    : NULL,
                        e) &&
           dialect_give_number(d, "-R affinity[]", "cpus-per-task", r->cores, e) &&
           dialect_give_number(d, "-R select[ncpus]", "mincpus", r->min_cpus, e) &&
           dialect_give_number(d, "-R cu[maxcus]", "switches", r->max_switches, e) &&
           dialect_give(d, "-R tmp", "tmp",
                        r->tmp_mib ? arena_printf(d->a, "%lldM", (long long)r->tmp_mib) : NULL,
                        e) &&
           dialect_give(d, "-R rusage[]", "licenses", r->licences, e) &&
           dialect_give_flag(d, "-x", "exclusive", r->exclusive || r->whole_hosts, e);
}

/* gtile: so many GPUs of each socket, and so of as many sockets as make them all. */
static int32_t sockets_of(const struct lsf_request *r)
{
    int32_t tile = r->gpus_per_socket;
    return tile > 0 ? (r->gpus + tile - 1) / tile : 0;
}

static bool gpus_finish(const struct lsf_request *r, struct dialect_out *d, struct err *e)
{
    if (!r->gpus || r->mig_slices) /* of instances the type is asked of the hosts */
        return true;
    const char *count = r->gpu_type ? arena_printf(d->a, "%s:%d", r->gpu_type, r->gpus)
                                    : arena_printf(d->a, "%d", r->gpus);
    return dialect_give(d, "-gpu num", r->gpus_per_task ? "gpus-per-task" : "gpus-per-node", count,
                        e) &&
           dialect_give_number(d, "-gpu gtile", "gpus-per-socket", r->gpus_per_socket, e) &&
           dialect_give_number(d, "-gpu gtile", "sockets-per-node", sockets_of(r), e) &&
           dialect_give(
               d, "-gpu gmem", "gpu-mem",
               r->gpu_mem_mib ? arena_printf(d->a, "%lldM", (long long)r->gpu_mem_mib) : NULL, e);
}

/* ---- files ---- */

/* Of an element %J is the array, %I the index; of other jobs %I is 0. What sbatch would replace
 * stays as it is. */
static const char *pattern_of(const struct lsf_request *r, const char *file, struct arena *a)
{
    struct str out = STR_INIT;
    if (file && r->out_dir && file[0] != '/')
        str_addf(&out, "%s/", r->out_dir);
    for (const char *c = file ? file : ""; *c; c++) {
        if (c[0] == '%' && c[1] == 'J')
            str_add(&out, "%A");
        else if (c[0] == '%' && c[1] == 'I')
            str_add(&out, r->array ? "%a" : "0");
        else if (*c == '%')
            str_add(&out, "%%");
        else
            str_addc(&out, *c);
        c += c[0] == '%' && (c[1] == 'J' || c[1] == 'I');
    }
    const char *text = file ? arena_strdup(a, str_text(&out)) : NULL;
    str_done(&out);
    return text;
}

/* A directory gets ID.out, or ID.err, in it. */
static const char *file_of(const struct lsf_request *r, const char *file, const char *ending,
                           struct arena *a)
{
    const char *standard = arena_printf(a, r->array ? "%%J.%%I.%s" : "%%J.%s", ending);
    size_t len = file ? strlen(file) : 0;
    bool dir = len && file[len - 1] == '/';
    return pattern_of(r, dir ? arena_printf(a, "%s%s", file, standard) : file ? file : standard, a);
}

/* -o and -e go on with their files, -oo and -eo begin them anew. */
static const char *open_mode_of(const struct lsf_request *r, bool two_files)
{
    bool out = r->out ? r->out_anew : r->err_anew, err = two_files ? r->err_anew : out;
    return out ? err ? "truncate" : "truncate-output" : err ? "truncate-error" : "append";
}

static bool files_finish(const struct lsf_request *r, struct dialect_out *d, struct err *e)
{
    const char *out = file_of(r, r->out, "out", d->a);
    const char *err = r->err_file ? file_of(r, r->err_file, "err", d->a) : NULL;
    struct lsf_request here = *r; /* -outdir is of output alone */
    here.out_dir = NULL;
    if (!r->out && r->keep_output)
        return dialect_give(d, "-e", "error", err, e);
    if (!r->out && r->interactive == LSF_BATCH)
        str_addf(d->warnings, "without -o the output goes to %s in the directory of the job\n",
                 r->array ? "ID.INDEX.out" : "ID.out");
    if (text_is(err, out))
        err = NULL; /* joined */
    return dialect_give(d, "-o", "output", out, e) && dialect_give(d, "-e", "error", err, e) &&
           dialect_give(d, "-i", "input", pattern_of(&here, r->in, d->a), e) &&
           dialect_give(d, "-o", "open-mode", open_mode_of(r, err != NULL), e);
}

/* ---- the rest ---- */

static bool mail_finish(const struct lsf_request *r, struct dialect_out *d, struct err *e)
{
    const char *types = arena_printf(d->a, "%s%s%s", r->mail_begin ? ",BEGIN" : "",
                                     r->mail_end ? ",END" : "", r->mail_fail ? ",FAIL" : "");
    return dialect_give(d, "-N", "mail-type", *types ? types + 1 : NULL, e) &&
           dialect_give(d, "-u", "mail-user", r->mail_to, e);
}

static const char *moment_of(int64_t us, struct dialect_out *d)
{
    struct str text = STR_INIT;
    if (!us)
        return NULL;
    civil_format_iso(us, d->env->zone, &text);
    const char *kept = arena_strdup(d->a, str_text(&text));
    str_done(&text);
    return kept;
}

/* The time of -t comes before the end of -W: then all there is until it is the limit. */
static bool end_comes_first(const struct lsf_request *r, const struct option_env *env)
{
    int64_t minutes;
    return r->end_by_us && r->run_limit && text_to_i64(r->run_limit, 0, INT32_MAX, &minutes) &&
           env->now_us + minutes * USEC_PER_MIN > r->end_by_us;
}

static bool order_finish(const struct lsf_request *r, struct dialect_out *d, struct err *e)
{
    const char *signal = NULL;
    if (r->warn_signal || r->warn_before_s)
        signal = arena_printf(d->a, "B:%s@%lld", r->warn_signal ? r->warn_signal : "URG",
                              (long long)(r->warn_before_s ? r->warn_before_s : 60));
    return dialect_give(d, "-b", "begin", moment_of(r->begin_us, d), e) &&
           dialect_give(d, "-wa", "signal", signal, e) &&
           dialect_give_flag(d, "-H", "hold", r->hold, e) &&
           dialect_give(d, "-ti", "kill-on-invalid-dep",
                        r->depend.n ? r->orphan_ends ? "yes" : "no" : NULL, e);
}

static bool place_finish(const struct lsf_request *r, struct dialect_out *d, struct err *e)
{
    return dialect_give(d, "-q", "partition", r->queues, e) &&
           dialect_give(d, "-R select[]", "constraint", r->features, e) &&
           dialect_give(d, "-R select[hname]", "exclude", r->excluded, e) &&
           dialect_give(d, "-U", "reservation", r->reservation, e);
}

static bool texts_finish(const struct lsf_request *r, struct dialect_out *d, struct err *e)
{
    const char *env = text_is_nocase(r->export_env, "none")  ? "NONE"
                      : text_is_nocase(r->export_env, "all") ? "ALL"
                                                             : r->export_env;
    if (r->login_shell)
        d->o->spec.get_user_env = true;
    return dialect_give(d, "-J", "array", r->array, e) &&
           dialect_give(d, "-Jd", "comment", r->description, e) &&
           dialect_give(d, "-env", "export", env, e);
}

/* What is of each component. */
static bool each_finish(const struct lsf_request *r, struct dialect_out *d, struct err *e)
{
    const char *account = r->group ? r->group : r->project;
    const char *limit = end_comes_first(r, d->env) ? NULL : r->run_limit;
    d->o->spec.project = r->project;
    d->o->spec.job_group = r->job_group;
    return dialect_give(d, "-W", "time", limit, e) &&
           dialect_give(d, "-t", "deadline", moment_of(r->end_by_us, d), e) &&
           dialect_give_flag(d, "-r", "requeue", r->rerun == YES, e) &&
           dialect_give_flag(d, "-rn", "no-requeue", r->rerun == NO, e) &&
           dialect_give(d, "-J", "job-name", r->name, e) &&
           dialect_give(d, r->group ? "-G" : "-P", "account", account, e) &&
           dialect_give(d, "-cwd", "chdir", r->work_dir, e);
}

static bool whole_finish(const struct lsf_request *r, struct dialect_out *d, struct err *e)
{
    return files_finish(r, d, e) && mail_finish(r, d, e) && order_finish(r, d, e) &&
           texts_finish(r, d, e);
}

bool lsf_finish(const struct lsf_request *r, struct dialect_out *d, struct err *ret_err)
{
    if (r->nparts)
        return dialect_refuse(ret_err, "-R with {}",
                              "only bsub takes parts that differ, when a job is submitted");
    if (r->slots_max > r->slots)
        str_addf(d->warnings, "-n: %d slots are taken; that it could use %d is not used\n",
                 r->slots, r->slots_max);
    if (r->no_effect)
        d->o->no_effect = d->o->no_effect
                              ? arena_printf(d->a, "%s; %s", d->o->no_effect, r->no_effect)
                              : r->no_effect;
    return size_finish(r, d, ret_err) && memory_finish(r, d, ret_err) &&
           gpus_finish(r, d, ret_err) && place_finish(r, d, ret_err) &&
           each_finish(r, d, ret_err) && (r->goes_along || whole_finish(r, d, ret_err));
}
