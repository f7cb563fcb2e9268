/* jsrun of LSF's machines with CSM: resource sets (so many tasks, CPUs and GPUs together) become
 * the tasks of a step of srun. A task has its part of the set's CPUs; GPUs are a task's own, or of
 * all tasks of a host, so sets of several tasks that share GPUs need a host each. */
#include "base/alloc.h"
#include "base/vec.h"
#include "cli/program/commands.h"
#include "cli/program/program.h"
#include "script/options/option.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME         "jsrun"
#define JSRUN_FAILED 255
#define MOST         1000000 /* sets, tasks, CPUs */

struct jsrun {
    int32_t sets, tasks, cpus, gpus, sets_per_host, np, memory_mb, bad_exit; /* 0: not said */
    bool all_hosts, alone;                                                   /* -n ALL_HOSTS; -D */
    const char *distribution, *bind, *mode, *out, *error, *input, *directory;
    VEC(const char *) env; /* of -E */
    struct arena *a;
};

#define AT(member) offsetof(struct jsrun, member)

static SETTER(set_sets)
{
    struct jsrun *j = to;
    int64_t n;
    j->all_hosts = text_is(value, "ALL_HOSTS");
    if (!j->all_hosts && !text_to_i64(value, 1, MOST, &n))
        return err_set(ret_err, ERR_VALUE,
                       "-n takes a number of resource sets or ALL_HOSTS, not %s", value);
    j->sets = j->all_hosts ? 0 : (int32_t)n;
    return true;
}

static SETTER(set_environment)
{
    struct jsrun *j = to;
    vec_push(&j->env, arena_strdup(a, value));
    return true;
}

static SETTER(set_distribution)
{
    struct jsrun *j = to;
    int64_t n;
    if (text_is(value, "packed"))
        j->distribution = "block";
    else if (text_is(value, "cyclic"))
        j->distribution = "cyclic";
    else if (text_starts(value, "plane:") && text_to_i64(value + 6, 1, MOST, &n))
        j->distribution = arena_printf(a, "plane=%lld", (long long)n);
    else
        return err_set(ret_err, ERR_VALUE, "-d takes packed, cyclic or plane:N, not %s", value);
    return true;
}

static SETTER(set_bind)
{
    struct jsrun *j = to;
    int64_t n;
    bool packed = text_is(value, "packed") ||
                  (text_starts(value, "packed:") && text_to_i64(value + 7, 1, MOST, &n));
    if (!packed && !text_is(value, "none") && !text_is(value, "rs"))
        return err_set(ret_err, ERR_VALUE, "-b takes none, rs or packed:N, not %s", value);
    j->bind = text_is(value, "none") ? "none" : packed ? "cores" : NULL;
    return true;
}

static SETTER(set_mode)
{
    struct jsrun *j = to;
    j->mode = arena_strdup(a, value);
    return text_is(value, "individual") || text_is(value, "collected") ||
           text_is(value, "prepended") ||
           err_set(ret_err, ERR_VALUE, "-e takes individual, collected or prepended, not %s",
                   value);
}

static SETTER(set_bad_exit)
{
    struct jsrun *j = to;
    j->bad_exit = text_is(value, "0") ? 0 : 1;
    return text_is(value, "0") || text_is(value, "1") ||
           err_set(ret_err, ERR_VALUE, "-X takes 0 or 1, not %s", value);
}

// clang-format off
#define COUNT(name_, letter_, member, doc_)                                                                  \
    {.name = name_, .letter = letter_, .arg = ARG_REQUIRED, .metavar = "n", .doc = doc_, .set = set_i32, .at = AT(member), .min = 0, .max = MOST}
static const struct option_row rows[] = {
    OPT_VALUE("bind", 'b', "how", "none; rs: to the set's CPUs; packed:N", set_bind, 0),
    OPT_VALUE("chdir", 'h', "directory", "where the tasks start", set_text, AT(directory)),
    COUNT("cpu_per_rs", 'c', cpus, "CPUs of each set; 1"),
    OPT_VALUE("env", 'E', "name[=value]", "a variable of the tasks", set_environment, 0),
    OPT_REFUSED("env_eval", 'F', ARG_REQUIRED, "a variable that is evaluated there", "sh -c in the place of the command does that"),
    OPT_FLAG("env_no_propagate", 'D', "only variables that -E names", AT(alone)),
    OPT_REFUSED("erf_input", 'U', ARG_REQUIRED, "explicit sets of a file", "srun --multi-prog, or one jsrun for each kind of set"),
    OPT_VALUE("exit_on_error", 'X', "0|1", "a task that fails ends all (1)", set_bad_exit, 0),
    COUNT("gpu_per_rs", 'g', gpus, "GPUs of each set; 0"),
    {.name = "help", .doc = "show this help", .set = set_nothing},
    OPT_REFUSED("immediate", 'i', ARG_NONE, "fail instead of waiting", "srun --immediate"),
    OPT_VALUE("launch_distribution", 'd', "how", "packed, cyclic, plane:N", set_distribution, 0),
    OPT_ACCEPTED("latency_priority", 'l', ARG_REQUIRED, "what is near what (hosts choose)"),
    COUNT("memory_per_rs", 'm', memory_mb, "memory of each set, in MB"),
    COUNT("np", 'p', np, "so many sets of one task"),
    OPT_VALUE("nrs", 'n', "n", "resource sets, or ALL_HOSTS; one for each host of the job, or as many as -r says", set_sets, 0),
    COUNT("rs_per_host", 'r', sets_per_host, "sets on each host"),
    OPT_REFUSED("save_resources", 'S', ARG_REQUIRED, "keep the sets for later", "name them again"),
    OPT_ACCEPTED("smpiargs", 'M', ARG_REQUIRED, "words for Spectrum MPI"),
    OPT_VALUE("stdio_input", 't', "file", "input from this file", set_text, AT(input)),
    OPT_VALUE("stdio_mode", 'e', "mode", "individual: a file for each task; collected; prepended: with its number", set_mode, 0),
    OPT_VALUE("stdio_stderr", 'k', "file", "errors to this file", set_text, AT(error)),
    OPT_VALUE("stdio_stdout", 'o', "file", "output to this file", set_text, AT(out)),
    COUNT("tasks_per_rs", 'a', tasks, "tasks of each set; 1"),
    OPT_ACCEPTED("use_spindle", 'L', ARG_REQUIRED, "spindle (programs are loaded from where they are)"),
    {.name = "version", .letter = 'V', .doc = "show the version", .set = set_nothing},
    OPT_REFUSED("appfile", 'f', ARG_REQUIRED, "programs that differ, of a file", "srun --multi-prog"),
};
// clang-format on
OPTION_TABLE(jsrun_options, rows, .usage = "jsrun -n SETS -a TASKS -c CPUS -g GPUS command",
             .words = WORDS_END);

/* ---- sets ---- */

static int32_t or_else(int32_t n, int32_t otherwise)
{
    return n > 0 ? n : otherwise;
}

/* Hosts of the job. */
static int32_t hosts(void)
{
    const char *text = getenv("SLURM_JOB_NUM_NODES");
    int64_t n;
    return text && text_to_i64(text, 1, MOST, &n) ? (int32_t)n : 1;
}

static int64_t sets_of(const struct jsrun *j)
{
    if (j->np > 0)
        return j->np;
    if (j->sets > 0)
        return j->sets;
    return (int64_t)hosts() * (j->all_hosts ? 1 : or_else(j->sets_per_host, 1));
}

/* Sets on each host; 0: as they fit. As many sets as hosts that share GPUs have one each. */
static int64_t sets_per_host(const struct jsrun *j)
{
    bool shares = or_else(j->tasks, 1) > 1 && j->gpus > 0;
    if (j->all_hosts || (shares && !j->sets_per_host && sets_of(j) == hosts()))
        return 1;
    return j->sets_per_host;
}

static bool check(const struct jsrun *j, struct err *ret_err)
{
    int32_t tasks = or_else(j->tasks, 1), gpus = j->gpus;
    bool host_each = sets_per_host(j) == 1;
    if (j->np > 0 && (j->sets || j->tasks || j->all_hosts))
        return err_set(ret_err, ERR_USAGE, "-p is sets of one task; -n and -a say other ones");
    if (sets_of(j) * tasks > MOST)
        return err_set(ret_err, ERR_LIMIT, "%lld sets of %d tasks: at most %d tasks",
                       (long long)sets_of(j), tasks, MOST);
    if (tasks > 1 && gpus > 0 && !host_each)
        return err_set(ret_err, ERR_UNSUPPORTED,
                       "%d tasks that share %d GPU%s, several such sets on a host: here GPUs are "
                       "one task's (-a 1) or of all tasks of a host (-r 1)",
                       tasks, gpus, gpus == 1 ? "" : "s");
    return true;
}

/* ---- srun's words ---- */

typedef VEC(char *) words;

static void word_add(const struct jsrun *j, words *w, const char *format, const char *value)
{
    if (value)
        vec_push(w, arena_printf(j->a, "%s%s", format, value));
}

static void number_add(const struct jsrun *j, words *w, const char *name, int64_t n)
{
    if (n > 0)
        vec_push(w, arena_printf(j->a, "%s%lld", name, (long long)n));
}

/* "out" of each task is "out.3". */
static const char *file_of(const struct jsrun *j, const char *file)
{
    return file && text_is(j->mode, "individual") ? arena_printf(j->a, "%s.%%t", file) : file;
}

/* NAME=VALUE as --export takes it, whose list ends a value at a comma but in quotes. */
static const char *quoted(const char *entry, struct arena *a)
{
    const char *equals = strchr(entry, '=');
    const char *quote = equals && strstr(equals, "\",") ? "'" : "\"";
    return equals ? arena_printf(a, "%.*s=%s%s%s", (int)(equals - entry), entry, quote, equals + 1,
                                 quote)
                  : entry;
}

static const char *export_of(const struct jsrun *j)
{
    struct str names = STR_INIT;
    str_add(&names, j->alone ? "NONE" : "ALL");
    for (size_t i = 0; i < j->env.n; i++)
        if (!j->alone || strchr(j->env.v[i], '='))
            str_addf(&names, ",%s", quoted(j->env.v[i], j->a));
    const char *made = arena_strdup(j->a, str_text(&names));
    str_done(&names);
    return j->alone || j->env.n ? made : NULL;
}

/* A task knows its place by JSM's names. */
static const char told[] = "export JSM_NAMESPACE_RANK=$SLURM_PROCID "
                           "JSM_NAMESPACE_LOCAL_RANK=$SLURM_LOCALID "
                           "JSM_NAMESPACE_SIZE=$SLURM_NTASKS; exec \"$@\"";

static void words_make(const struct jsrun *j, words *w)
{
    int32_t tasks = or_else(j->tasks, 1), cpus = or_else(j->cpus, 1);
    int64_t sets = sets_of(j), per_host = sets_per_host(j);
    int64_t each = cpus / tasks > 0 ? cpus / tasks : 1;
    word_add(j, w, "", "srun");
    number_add(j, w, "--ntasks=", sets * tasks);
    number_add(j, w, "--cpus-per-task=", each);
    number_add(j, w, "--ntasks-per-node=", per_host * tasks);
    if (per_host > 0)
        number_add(j, w, "--nodes=", (sets + per_host - 1) / per_host);
    else if (sets * tasks < hosts())
        number_add(j, w, "--nodes=", sets * tasks);
    number_add(j, w, tasks == 1 ? "--gpus-per-task=" : "--gpus-per-node=", j->gpus);
    if (j->memory_mb > 0)
        number_add(j, w, "--mem-per-cpu=", or_else((int32_t)(j->memory_mb / (each * tasks)), 1));
    word_add(j, w, "--distribution=", j->distribution);
    word_add(j, w, "--cpu-bind=", j->bind);
    word_add(j, w, "--output=", file_of(j, j->out));
    word_add(j, w, "--error=", file_of(j, j->error));
    word_add(j, w, "--input=", j->input);
    word_add(j, w, "--chdir=", j->directory);
    word_add(j, w, "--export=", export_of(j));
    if (text_is(j->mode, "prepended"))
        word_add(j, w, "", "--label");
    word_add(j, w, "--kill-on-bad-exit=", j->bad_exit ? "1" : "0");
}

static int step_run(const struct jsrun *j, char *const *command)
{
    words w = {0};
    const char *shell[] = {"sh", "-c", told, "sh"};
    words_make(j, &w);
    for (size_t i = 0; i < ARRAY_LEN(shell); i++)
        word_add(j, &w, "", shell[i]);
    for (; *command; command++)
        word_add(j, &w, "", *command);
    int argc = (int)w.n;
    vec_push(&w, NULL);
    int status = cmd_srun(argc, w.v);
    vec_done(&w);
    return status;
}

/* ---- the command ---- */

static int failed(const struct err *e)
{
    fprintf(stderr, NAME ": %s\n", e->text);
    return JSRUN_FAILED;
}

int cmd_jsrun(int argc, char **argv)
{
    struct jsrun j = {.bad_exit = 1, .a = arena_new()};
    struct option_line line = {.table = &jsrun_options, .to = &j, .a = j.a};
    struct str help = STR_INIT;
    struct err e = {0};
    int status = 0;
    if (!option_line_read(&line, argc, argv, &e) || !check(&j, &e))
        status = failed(&e);
    else if (option_line_has(&line, "help"))
        option_table_write_help(&jsrun_options, &help);
    else if (option_line_has(&line, "version"))
        str_add(&help, NAME " (commands of Remuda)\n");
    else if (line.rest_at >= argc)
        status =
            failed((err_set(&e, ERR_USAGE, "which command? usage: %s", jsrun_options.usage), &e));
    else if (!getenv("SLURM_JOB_ID"))
        status = failed(
            (err_set(&e, ERR_USAGE, "this is no job: it runs inside one, on its hosts"), &e));
    else
        status = step_run(&j, argv + line.rest_at);
    fputs(str_text(&help), stdout);
    str_done(&help);
    vec_done(&j.env);
    arena_free(j.a);
    return status;
}
