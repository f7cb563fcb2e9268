/* --export in every form.
 *
 *   ALL (or nothing)   the whole environment
 *   NONE               SLURM_* and SPANK_* only; the node makes a login environment underneath
 *   NIL                the same, and nothing underneath
 *   A,B=value          these and SLURM_*; login environment underneath
 *   ALL,B=value        everything, and B as given
 *
 * A name without a value that the environment lacks is passed over. Values may hold blanks and
 * quotes; one that holds a comma is put in quotes: B='x,y'. Variables of the command that describe
 * the job it runs in (SLURM_JOB_ID, SLURM_NTASKS …) stay behind: Slurm hands them on, and the new
 * job then believes in an array index or a memory limit that is not its own. What steers the
 * commands (SLURM_TIME_FORMAT, SLURM_CPU_BIND, SLURM_CONF …) goes along; not of root's to another's
 * job (`few`), for a token may be among it (SLURM_JWT). */
#include "cli/submit/env.h"

#include "base/vec.h"
#include "model/limits.h"

#include <string.h>
#include <sys/resource.h>

struct capture {
    struct span *v; /* VEC of "NAME=VALUE" */
    size_t n, cap;
    bool in_job;
    bool whole; /* the whole environment is in it */
};

/* Names (with '*': beginnings) that the batch environment of a job defines. */
static const char *const of_the_job[] = {
    "SLURM_JOB_*",
    "SLURM_JOBID",
    "SLURM_ARRAY_*",
    "SLURM_STEP_*",
    "SLURM_STEPID",
    "SLURM_HET_*",
    "SLURM_PACK_*",
    "SLURM_NODELIST",
    "SLURM_NODEID",
    "SLURM_NODE_ALIASES",
    "SLURM_NNODES",
    "SLURM_NTASKS*",
    "SLURM_NPROCS",
    "SLURM_TASKS_PER_NODE",
    "SLURM_TASK_PID",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_GTIDS",
    "SLURM_CPUS_*",
    "SLURM_MEM_PER_*",
    "SLURM_GPUS*",
    "SLURM_GPU_BIND",
    "SLURM_SHARDS_ON_NODE",
    "SLURM_TRES_PER_TASK",
    "SLURM_THREADS_PER_CORE",
    "SLURM_DIST_*",
    "SLURM_DISTRIBUTION",
    "SLURM_HINT",
    "SLURM_OVERCOMMIT",
    "SLURM_PROFILE",
    "SLURM_RESTART_COUNT",
    "SLURM_SUBMIT_*",
    "SLURM_PRIO_PROCESS",
    "SLURM_GET_USER_ENV",
    "SLURM_EXPORT_ENV",
    "SLURM_CLUSTER_NAME",
    "SLURM_TOPOLOGY_ADDR*",
    "SLURM_LAUNCH_NODE_IPADDR",
    "SLURM_SRUN_COMM_*",
    "SLURM_OOM_KILL_STEP",
    "SLURM_WORKING_CLUSTER",
    "SLURM_RESERVATION",
    "SLURM_OPEN_MODE",
    "SLURM_ACCTG_FREQ",
    "SLURM_CPU_FREQ_REQ",
    "SLURM_NETWORK",
    "SLURM_RLIMIT_*",
    "SLURMD_*",
    "LSB_JOBID",
    "LSB_JOBINDEX*",
    "LSB_JOBNAME",
    "LSB_BATCH_JID",
    "LSB_QUEUE",
    "LSB_HOSTS",
    "LSB_MCPU_HOSTS",
    "LSB_DJOB_*",
    "LSB_INTERACTIVE",
    "LSB_OUTPUTFILE",
    "LSB_ERRORFILE",
    "LSB_RESTART",
    "LSB_PROJECT_NAME",
    "PBS_JOBID",
    "PBS_JOBNAME",
    "PBS_QUEUE",
    "PBS_ENVIRONMENT",
    "PBS_NODEFILE",
    "PBS_ARRAY*",
    "PBS_O_*",
};

static bool name_is_one_of(struct span name, const char *const *patterns, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(patterns[i]);
        bool prefix = patterns[i][len - 1] == '*';
        len -= prefix ? 1 : 0;
        if ((prefix ? name.len >= len : name.len == len) &&
            memcmp(name.data, patterns[i], len) == 0)
            return true;
    }
    return false;
}

static struct span name_of(struct span entry)
{
    const char *equals = memchr(entry.data, '=', entry.len);
    return (struct span){entry.data, equals ? (size_t)(equals - entry.data) : entry.len};
}

static bool is_slurm(struct span name)
{
    return name.len > 6 &&
           (memcmp(name.data, "SLURM_", 6) == 0 || memcmp(name.data, "SPANK_", 6) == 0);
}

static bool stays_behind(const struct capture *c, struct span name)
{
    bool may =
        name.len > 5 && (memcmp(name.data, "SLURM", 5) == 0 || memcmp(name.data, "LSB_", 4) == 0 ||
                         memcmp(name.data, "PBS_", 4) == 0);
    return c->in_job && may && name_is_one_of(name, of_the_job, ARRAY_LEN(of_the_job));
}

/* A later value of a name takes the place of the earlier. */
static void put(struct capture *c, struct span entry)
{
    struct span name = name_of(entry);
    if (name.len == 0 || name.len == entry.len)
        return;
    for (size_t i = 0; i < c->n; i++) {
        if (c->v[i].len > name.len && c->v[i].data[name.len] == '=' &&
            memcmp(c->v[i].data, name.data, name.len) == 0) {
            c->v[i] = entry;
            return;
        }
    }
    vec_push(c, entry);
}

static void take_environ(struct capture *c, char *const *environ, bool only_slurm)
{
    bool fresh = c->n == 0; /* names in an environment differ already: no need to look for them */
    c->whole = c->whole || !only_slurm;
    for (; *environ; environ++) {
        struct span entry = span_of(*environ), name = name_of(entry);
        if (name.len == 0 || name.len == entry.len || stays_behind(c, name) ||
            (only_slurm && !is_slurm(name)))
            continue;
        if (fresh)
            vec_push(c, entry);
        else
            put(c, entry);
    }
}

static void take_file(struct capture *c, struct span file)
{
    struct span entry;
    while (span_next(&file, '\0', &entry))
        put(c, entry);
}

static void take_name(struct capture *c, char *const *environ, struct span name)
{
    for (; *environ; environ++) {
        if (strncmp(*environ, name.data, name.len) == 0 && (*environ)[name.len] == '=') {
            put(c, span_of(*environ));
            return;
        }
    }
}

/* ---- lists of names
 * ----------------------------------------------------------------------- */

/* Where a quote that opens at `from` closes so that the item ends behind it; 0 = it is an ordinary
 * character. */
static size_t quote_end(struct span list, size_t from)
{
    for (size_t i = from + 1; i < list.len; i++)
        if (list.data[i] == list.data[from] && (i + 1 == list.len || list.data[i + 1] == ','))
            return i;
    return 0;
}

/* Takes one item off the list; a value in quotes may hold commas. *ret_value is the value without
 * them, data NULL = none. */
static bool item_next(struct span *rest, struct span *ret_name, struct span *ret_value)
{
    if (rest->len == 0)
        return false;
    size_t i = 0, end;
    while (i < rest->len && rest->data[i] != ',' && rest->data[i] != '=')
        i++;
    *ret_name = (struct span){rest->data, i};
    *ret_value = (struct span){0};
    if (i < rest->len && rest->data[i] == '=') {
        size_t from = i + 1;
        bool quoted = from < rest->len && strchr("'\"", rest->data[from]) && rest->data[from];
        if (quoted && (end = quote_end(*rest, from))) {
            *ret_value = (struct span){rest->data + from + 1, end - from - 1};
            i = end + 1;
        } else {
            for (i = from; i < rest->len && rest->data[i] != ',';)
                i++;
            *ret_value = (struct span){rest->data + from, i - from};
        }
    }
    size_t used = i < rest->len ? i + 1 : i;
    *rest = (struct span){rest->data + used, rest->len - used};
    return true;
}

/* NONE and NIL before names take nothing more; beside ALL they say the contrary. */
static bool take_list(struct capture *c, const struct env_ask *ask, struct str *made, struct err *e)
{
    struct span rest = span_of(ask->export_env), name, value;
    bool all = false, none = false;
    str_reserve(made, 2 * rest.len + 2); /* entries point into it: it must not move */
    while (item_next(&rest, &name, &value)) {
        name = span_trim(name);
        if (!value.data) {
            bool of_all = span_is_nocase(name, "ALL");
            bool of_none = span_is_nocase(name, "NONE") || span_is_nocase(name, "NIL");
            all |= of_all;
            none |= of_none;
            if (all && none)
                return err_set(e, ERR_INVALID,
                               "Invalid --export specification \"%s\": ALL and NONE or NIL are not "
                               "in one list",
                               ask->export_env);
            if (of_all)
                take_environ(c, ask->environ, false);
            else if (!of_none)
                take_name(c, ask->environ, name);
            continue;
        }
        if (name.len == 0)
            return err_set(e, ERR_INVALID,
                           "Invalid --export specification \"%s\": a value without a name",
                           ask->export_env);
        size_t from = made->len;
        str_addn(made, name.data, name.len);
        str_addc(made, '=');
        str_addn(made, value.data, value.len);
        put(c, (struct span){made->data + from, made->len - from});
    }
    return true;
}

/* ---- all together
 * ------------------------------------------------------------------------- */

static bool takes_all(const char *export_env)
{
    return text_empty(export_env) || text_is_nocase(export_env, "ALL");
}

static bool takes_none(const char *export_env)
{
    return text_is_nocase(export_env, "NONE") || text_is_nocase(export_env, "NIL");
}

bool submit_env_wants_login(const char *export_env)
{
    if (takes_all(export_env) || text_is_nocase(export_env, "NIL"))
        return false;
    struct span rest = span_of(export_env), name, value;
    while (item_next(&rest, &name, &value))
        if (!value.data && span_is_nocase(span_trim(name), "ALL"))
            return false;
    return true;
}

static bool in_job(char *const *environ)
{
    for (; *environ; environ++)
        if (text_starts(*environ, "SLURM_JOB_ID="))
            return true;
    return false;
}

/* What a program needs to be found and to write. */
#define FEW "PATH,TERM,LANG"

static bool gather(struct capture *c, const struct env_ask *ask, struct str *made, struct err *e)
{
    struct env_ask of = *ask;
    if (ask->few && text_empty(ask->export_env))
        of.export_env = ask->file.data ? "NIL" : FEW;
    if (ask->file.data)
        take_file(c, ask->file);
    bool listed = !takes_all(of.export_env) && !takes_none(of.export_env);
    if (takes_all(of.export_env) && !ask->file.data)
        take_environ(c, ask->environ, false);
    else if (listed && !take_list(c, &of, made, e))
        return false;
    if (!c->whole && !ask->few)
        take_environ(c, ask->environ, true);
    for (const char *const *extra = ask->extra; extra && *extra; extra++)
        put(c, span_of(*extra));
    return true;
}

static void entries_add(const struct capture *c, struct str *out)
{
    for (size_t i = 0; i < c->n; i++) {
        str_addn(out, c->v[i].data, c->v[i].len);
        str_addc(out, '\0');
    }
}

bool submit_env_named(const char *list, char *const *environ, struct str *out, struct err *ret_err)
{
    struct capture c = {0};
    struct str made = STR_INIT;
    struct env_ask ask = {.environ = environ, .export_env = list};
    bool ok = take_list(&c, &ask, &made, ret_err);
    if (ok)
        entries_add(&c, out);
    vec_done(&c);
    str_done(&made);
    return ok;
}

bool submit_env_capture(const struct env_ask *ask, struct str *out, struct err *ret_err)
{
    struct capture c = {.in_job = !ask->keep_job && in_job(ask->environ)};
    struct str made = STR_INIT;
    bool ok = gather(&c, ask, &made, ret_err);
    size_t from = out->len;
    if (ok)
        entries_add(&c, out);
    vec_done(&c);
    str_done(&made);
    if (ok && out->len - from > LIMIT_ENV_BYTES)
        return err_set(ret_err, ERR_LIMIT,
                       "the environment has %zu bytes; a job's has at most %u: name what it needs "
                       "with --export=NAME,…",
                       out->len - from, LIMIT_ENV_BYTES);
    return ok;
}

/* ---- options that the job's programs read ---- */

static const char *given_text(const struct submit_options *o, const char *name, unsigned command)
{
    return option_source_of(o, name, command) == FROM_DEFAULT
               ? NULL
               : o->given[option_index(option_named(name, command))];
}

size_t submit_env_options(const struct submit_options *o, unsigned command, struct arena *a,
                          const char **ret)
{
    /* What is of one of the job's files only says nothing of its steps. */
    const char *const mode[] = {
        [OPEN_APPEND] = "a", [OPEN_TRUNCATE] = "t", [OPEN_TRUNCATE_ERROR] = NULL};
    bool job = command != CMD_SRUN;
    const struct {
        const char *name, *value;
    } all[SUBMIT_ENV_OPTIONS] = {
        {"SLURM_OPEN_MODE", job ? mode[o->spec.open_mode] : NULL},
        {"SLURM_ACCTG_FREQ", job ? o->acctg_freq : NULL},
        {"SLURM_LABELIO", !job && o->launch.label ? "1" : NULL},
        {"SLURM_NETWORK", job ? given_text(o, "network", command) : NULL},
        {"SLURM_CPU_FREQ_REQ", o->cpu_freq},
        {"SLURM_JOB_DEPENDENCY",
         command == CMD_SALLOC || o->launch.job_id ? NULL : o->spec.dependency},
    };
    size_t n = 0;
    for (size_t i = 0; i < SUBMIT_ENV_OPTIONS; i++)
        if (all[i].value)
            ret[n++] = arena_printf(a, "%s=%s", all[i].name, all[i].value);
    ret[n] = NULL;
    return n;
}

int submit_nice(void)
{
    return getpriority(PRIO_PROCESS, 0);
}
