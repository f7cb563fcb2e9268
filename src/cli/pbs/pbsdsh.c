/* pbsdsh: a command once for each line of PBS_NODEFILE, which is each task of the job: srun's. */
#include "base/alloc.h"
#include "base/vec.h"
#include "cli/pbs/pbs.h"
#include "cli/program/commands.h"
#include "script/dialect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME "pbsdsh"

struct pbsdsh {
    int32_t copies, node; /* -c; -n plus 1 */
    bool one_by_one, verbose, each_node;
    const char *host;
    struct arena *a;
};

static SETTER(set_node)
{
    struct pbsdsh *p = to;
    int64_t n;
    if (!text_to_i64(value, 0, 999999, &n))
        return err_set(ret_err, ERR_VALUE, "-n takes the number of a line of PBS_NODEFILE, from 0");
    p->node = (int32_t)n + 1;
    return true;
}

#define AT(member)                offsetof(struct pbsdsh, member)
#define FLAG(name_, member, doc_) OPT_FLAG(name_, 0, doc_, AT(member))
static const struct option_row rows[] = {
    OPT_ACCEPTED("E", 0, ARG_NONE, "the environment as it is here (always so)"),
    {.name = "c",
     .arg = ARG_REQUIRED,
     .metavar = "n",
     .doc = "on the first n lines",
     .set = set_i32,
     .at = AT(copies),
     .min = 1,
     .max = 999999},
    {.name = "h",
     .arg = ARG_REQUIRED,
     .metavar = "host",
     .doc = "on this node, once",
     .set = set_text,
     .at = AT(host)},
    OPT_ACCEPTED("help", 0, ARG_NONE, "show this help"),
    {.name = "n",
     .arg = ARG_REQUIRED,
     .metavar = "i",
     .doc = "on the node of that line alone, from 0",
     .set = set_node},
    OPT_ACCEPTED("o", 0, ARG_NONE, "without waiting for output (it is waited for)"),
    FLAG("s", one_by_one, "one after the other"),
    FLAG("u", each_node, "once on each node"),
    FLAG("v", verbose, "say what is run"),
    OPT_ACCEPTED("version", 0, ARG_NONE, "show the version"),
};
OPTION_TABLE(pbsdsh_options, rows, .usage = "pbsdsh [OPTIONS] [--] command [arguments]",
             .words = WORDS_END, .one_dash = true);

/* ---- the lines ---- */

typedef VEC(const char *) lines;

static bool lines_read(struct arena *a, lines *ret)
{
    const char *path = getenv("PBS_NODEFILE");
    FILE *f = path ? fopen(path, "r") : NULL;
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    while (f && ret->n < 1000000 && (n = getline(&line, &cap, f)) > 0) {
        if (line[n - 1] == '\n')
            line[--n] = 0;
        if (n)
            vec_push(ret, arena_strdup(a, line));
    }
    free(line);
    if (f)
        fclose(f);
    return ret->n > 0;
}

/* Of a task: what its line is numbered. */
static const char told[] = "export PBS_TASKNUM=$((SLURM_PROCID + 1)) PBS_NODENUM=$SLURM_NODEID "
                           "PBS_VNODENUM=$SLURM_PROCID; exec \"$@\"";

static int64_t number_of(const char *name)
{
    const char *text = getenv(name);
    int64_t n;
    return text && text_to_i64(text, 0, INT32_MAX, &n) ? n : 0;
}

/* Of a heterogeneous job: the component whose task the line is. */
static int64_t group_of(struct pbsdsh *p, size_t at)
{
    int64_t groups = number_of("SLURM_HET_SIZE"), line = (int64_t)at;
    for (int64_t i = 0; i < groups; i++) {
        int64_t tasks = number_of(arena_printf(p->a, "SLURM_NTASKS_HET_GROUP_%lld", (long long)i));
        if (line < tasks)
            return i;
        line -= tasks;
    }
    return 0;
}

static int run(struct pbsdsh *p, const char *tasks, const char *host, bool one_node,
               const char *groups, char *const *command)
{
    dialect_words argv = {0};
    const char *before[] = {"srun", "--overlap", "--kill-on-bad-exit=0"};
    const char *shell[] = {"sh", "-c", told, "sh"};
    for (size_t i = 0; i < ARRAY_LEN(before); i++)
        vec_push(&argv, arena_strdup(p->a, before[i]));
    if (groups)
        vec_push(&argv, arena_printf(p->a, "--het-group=%s", groups));
    if (tasks)
        vec_push(&argv, arena_printf(p->a, "--ntasks=%s", tasks));
    if (one_node)
        vec_push(&argv, arena_strdup(p->a, "--nodes=1"));
    if (p->each_node && !host) {
        vec_push(&argv, arena_strdup(p->a, "--ntasks-per-node=1"));
        vec_push(&argv, arena_printf(p->a, "--nodes=%s", tasks));
    }
    if (host)
        vec_push(&argv, arena_printf(p->a, "--nodelist=%s", host));
    for (size_t i = 0; i < ARRAY_LEN(shell); i++)
        vec_push(&argv, arena_strdup(p->a, shell[i]));
    for (; *command; command++)
        vec_push(&argv, arena_strdup(p->a, *command));
    if (p->verbose)
        fprintf(stderr, NAME ": %s task(s)%s%s\n", tasks ? tasks : "all", host ? " on " : "",
                host ? host : "");
    int argc = (int)argv.n;
    vec_push(&argv, NULL);
    int status = cmd_srun(argc, argv.v);
    vec_done(&argv);
    return status;
}

/* The line is of one component, if the job has several. */
static int line_run(struct pbsdsh *p, const lines *l, size_t at, char *const *command)
{
    const char *group =
        getenv("SLURM_HET_SIZE") ? arena_printf(p->a, "%lld", (long long)group_of(p, at)) : NULL;
    return run(p, "1", l->v[at], true, group, command);
}

/* The component that has the host. */
static int host_run(struct pbsdsh *p, const lines *l, char *const *command)
{
    for (size_t i = 0; i < l->n; i++)
        if (text_is(l->v[i], p->host))
            return line_run(p, l, i, command);
    return run(p, "1", p->host, true, NULL, command);
}

/* In a process of its own: srun leaves variables of its step behind. */
static int line_run_apart(struct pbsdsh *p, const lines *l, size_t at, char *const *command)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        exit(line_run(p, l, at, command));
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return child < 0 ? 1 : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static size_t nodes_in(const lines *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        bool before = false;
        for (size_t k = 0; k < i && !before; k++)
            before = text_is(l->v[k], l->v[i]);
        n += !before;
    }
    return n;
}

static int lines_run(struct pbsdsh *p, const lines *l, char *const *command)
{
    size_t n = p->copies && (size_t)p->copies < l->n ? (size_t)p->copies : l->n;
    int status = 0;
    if (p->node && (size_t)p->node > l->n) {
        fprintf(stderr, NAME ": line %d of PBS_NODEFILE is asked for, which has %zu, from 0\n",
                p->node - 1, l->n);
        return 1;
    }
    if (p->host)
        return host_run(p, l, command);
    if (p->node)
        return line_run(p, l, (size_t)p->node - 1, command);
    int64_t groups = number_of("SLURM_HET_SIZE");
    if (groups && p->each_node) {
        fputs(NAME ": -u takes a job of equal chunks; without it the command runs once for each "
                   "line of PBS_NODEFILE\n",
              stderr);
        return PBS_REFUSED;
    }
    if (groups && !p->one_by_one && n == l->n)
        return run(p, NULL, NULL, false, arena_printf(p->a, "0-%lld", (long long)groups - 1),
                   command);
    if (p->each_node)
        return run(p, arena_printf(p->a, "%zu", nodes_in(l)), NULL, false, NULL, command);
    if (!p->one_by_one && !groups)
        return run(p, arena_printf(p->a, "%zu", n), NULL, false, NULL, command);
    for (size_t i = 0; i < n; i++) {
        int one = line_run_apart(p, l, i, command);
        status = one ? one : status;
    }
    return status;
}

/* Up to the command; what stands there is `*ret`. */
static bool line_read(struct pbsdsh *p, int argc, char **argv, int *ret, int *ret_status)
{
    int at = 1;
    while (at < argc && argv[at][0] == '-' && argv[at][1] && !text_is(argv[at], "--")) {
        const struct option_row *row = option_row_named(&pbsdsh_options, argv[at] + 1);
        at += row && row->arg == ARG_REQUIRED ? 2 : 1;
    }
    int options = at < argc ? at : argc;
    *ret = options + (options < argc && text_is(argv[options], "--"));
    return pbs_line_read(NAME, &pbsdsh_options, p, p->a, options, argv, ret_status);
}

int cmd_pbsdsh(int argc, char **argv)
{
    struct pbsdsh p = {.a = arena_new()};
    lines l = {0};
    int status, at;
    if (line_read(&p, argc, argv, &at, &status)) {
        if (at >= argc) {
            fprintf(stderr, "usage: %s\n", pbsdsh_options.usage);
            status = PBS_USAGE;
        } else if (!lines_read(p.a, &l)) {
            fputs(NAME ": there is no PBS_NODEFILE: it runs inside a job of qsub\n", stderr);
            status = 1;
        } else {
            status = lines_run(&p, &l, argv + at);
        }
    }
    vec_done(&l);
    arena_free(p.a);
    return status;
}
