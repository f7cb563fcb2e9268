/* blaunch and pbs_tmrsh: what launchers of MPI call in the place of rsh. A command once on a host
 * of the job, or on several, as steps of srun beside whatever else runs there. */
#include "base/alloc.h"
#include "base/hostlist.h"
#include "base/list.h"
#include "cli/lsf/lsf.h"
#include "cli/pbs/pbs.h"
#include "cli/program/commands.h"
#include "io/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOST_FILE_SIZE (1 << 20)
#define GROUPS         128 /* components of a job at most */

struct remote_shell {
    const char *hosts; /* parted by commas, of -z and -u; NULL: the first word is one */
    const char *user;  /* pbs_tmrsh -l */
    bool no_input, no_shell, login_shell;
    struct arena *a;
    VEC(const char *) host;
};

/* ---- options ---- */

/* "h1 h2", as -z has them in one word, or with commas. */
static SETTER(set_host_words)
{
    struct remote_shell *r = to;
    struct str hosts = STR_INIT;
    const char *at = value;
    while (*(at += strspn(at, " ,\t\n"))) {
        size_t n = strcspn(at, " ,\t\n");
        list_addf(&hosts, "%.*s", (int)n, at);
        at += n;
    }
    r->hosts = hosts.len ? arena_strdup(a, str_text(&hosts)) : NULL;
    str_done(&hosts);
    return r->hosts || err_set(ret_err, ERR_VALUE, "no host is named");
}

static SETTER(set_host_file)
{
    struct str text = STR_INIT;
    bool ok = file_read(value, HOST_FILE_SIZE, &text, ret_err) &&
              set_host_words(to, row, str_text(&text), env, a, ret_err);
    str_done(&text);
    return ok || err_prefix(ret_err, "-u %.200s", value);
}

#define AT(member)                offsetof(struct remote_shell, member)
#define FLAG(name_, member, doc_) OPT_FLAG(name_, 0, doc_, AT(member))
static const struct option_row blaunch_rows[] = {
    OPT_ACCEPTED("V", 0, ARG_NONE, "show the version"),
    {.name = "h", .alias = "help", .doc = "show this help", .set = set_nothing},
    FLAG("n", no_input, "no input"),
    FLAG("no-shell", no_shell, "the words as they are, no shell"),
    {.name = "u",
     .arg = ARG_REQUIRED,
     .metavar = "file",
     .doc = "on the hosts that a file lists",
     .set = set_host_file},
    FLAG("use-login-shell", login_shell, "a login shell runs it"),
    {.name = "z",
     .arg = ARG_REQUIRED,
     .metavar = "hosts",
     .doc = "on these: \"h1 h2\"",
     .set = set_host_words},
};
static const struct option_row tmrsh_rows[] = {
    OPT_ACCEPTED("help", 0, ARG_NONE, "show this help"),
    {.name = "l",
     .arg = ARG_REQUIRED,
     .metavar = "user",
     .doc = "as this user, who is you",
     .set = set_text,
     .at = AT(user)},
    FLAG("n", no_input, "no input"),
    OPT_ACCEPTED("version", 0, ARG_NONE, "show the version"),
};
OPTION_TABLE(blaunch_options, blaunch_rows,
             .usage = "blaunch [OPTIONS] [-z \"host …\" | -u file | host] command [arguments]",
             .words = WORDS_END, .one_dash = true);
OPTION_TABLE(pbs_tmrsh_options, tmrsh_rows,
             .usage = "pbs_tmrsh host [-l user] [-n] command [arguments]", .words = WORDS_END,
             .one_dash = true);

/* ---- steps ---- */

/* Of a heterogeneous job the component that has the host: "1"; NULL: the job is none. */
static const char *group_of(const struct remote_shell *r, const char *host)
{
    const char *size = getenv("SLURM_HET_SIZE");
    int64_t groups = 0;
    if (!size || !text_to_i64(size, 1, GROUPS, &groups))
        return NULL;
    for (int64_t i = 0; i < groups; i++) {
        const char *name = arena_printf(r->a, "SLURM_JOB_NODELIST_HET_GROUP_%lld", (long long)i);
        const char *nodes = getenv(name);
        struct hostlist list = HOSTLIST_INIT;
        bool has = nodes && hostlist_parse(&list, nodes, NULL) && hostlist_has(&list, host);
        hostlist_done(&list);
        if (has)
            return arena_printf(r->a, "%lld", (long long)i);
    }
    return "0";
}

/* The words as rsh hands them over: one text for a shell. */
static const char *shell_text(const struct remote_shell *r, char *const *command)
{
    struct str text = STR_INIT;
    for (; *command; command++)
        str_addf(&text, "%s%s", text.len ? " " : "", *command);
    const char *made = arena_strdup(r->a, str_text(&text));
    str_done(&text);
    return made;
}

static int step_run(const struct remote_shell *r, const char *hosts, size_t n, const char *group,
                    char *const *command)
{
    dialect_words argv = {0};
    const char *before[] = {"srun", "--overlap", "--kill-on-bad-exit=0", "--ntasks-per-node=1"};
    for (size_t i = 0; i < ARRAY_LEN(before); i++)
        vec_push(&argv, arena_strdup(r->a, before[i]));
    vec_push(&argv, arena_printf(r->a, "--nodelist=%s", hosts));
    vec_push(&argv, arena_printf(r->a, "--nodes=%zu", n));
    vec_push(&argv, arena_printf(r->a, "--ntasks=%zu", n));
    if (group)
        vec_push(&argv, arena_printf(r->a, "--het-group=%s", group));
    if (r->no_input)
        vec_push(&argv, arena_strdup(r->a, "--input=none"));
    if (!r->no_shell) {
        vec_push(&argv, arena_strdup(r->a, r->login_shell ? "bash" : "sh"));
        vec_push(&argv, arena_strdup(r->a, r->login_shell ? "-lc" : "-c"));
        vec_push(&argv, arena_strdup(r->a, shell_text(r, command)));
    }
    for (; r->no_shell && *command; command++)
        vec_push(&argv, arena_strdup(r->a, *command));
    int argc = (int)argv.n;
    vec_push(&argv, NULL);
    int status = cmd_srun(argc, argv.v);
    vec_done(&argv);
    return status;
}

/* The hosts of several components, each with a step of its own, all at once: srun leaves variables
 * of its step behind, so each has a process. */
static int steps_run(const struct remote_shell *r, char *const *command)
{
    int status = 0, one = 0;
    fflush(stdout);
    for (size_t i = 0; i < r->host.n; i++) {
        pid_t child = fork();
        if (child == 0)
            exit(step_run(r, r->host.v[i], 1, group_of(r, r->host.v[i]), command));
        if (child < 0)
            status = 1;
    }
    for (;;) {
        pid_t ended = wait(&one);
        if (ended < 0 && errno != EINTR)
            return status;
        if (ended > 0 && one)
            status = WIFSIGNALED(one) ? 128 + WTERMSIG(one) : WEXITSTATUS(one);
    }
}

static int hosts_run(struct remote_shell *r, char *const *command)
{
    struct span rest = span_of(r->hosts), one;
    struct str named = STR_INIT; /* each once, as LSB_HOSTS has a word for each slot */
    while (span_next(&rest, ',', &one)) {
        const char *host = arena_strndup(r->a, one.data, one.len);
        if (!one.len || list_has(str_text(&named), host))
            continue;
        list_addf(&named, "%s", host);
        vec_push(&r->host, host);
    }
    const char *hosts = arena_strdup(r->a, str_text(&named));
    str_done(&named);
    int status = r->host.n == 0 ? 1
                 : r->host.n > 1 && group_of(r, r->host.v[0])
                     ? steps_run(r, command)
                     : step_run(r, hosts, r->host.n, group_of(r, r->host.v[0]), command);
    vec_done(&r->host);
    return status;
}

/* ---- the commands ---- */

static int in_no_job(const char *name)
{
    fprintf(stderr, "%s: this is no job: it runs inside one, on its hosts\n", name);
    return 1;
}

static int usage(const struct option_table *t, int status)
{
    fprintf(stderr, "usage: %s\n", t->usage);
    return status;
}

/* Where the options end. */
static int options_end(const struct option_table *t, int argc, char **argv)
{
    int at = 1;
    while (at < argc && argv[at][0] == '-' && argv[at][1] && !text_is(argv[at], "--")) {
        const struct option_row *row = option_row_named(t, argv[at] + 1);
        at += row && row->arg == ARG_REQUIRED ? 2 : 1;
    }
    return at < argc ? at : argc;
}

int cmd_blaunch(int argc, char **argv)
{
    struct remote_shell r = {.a = arena_new()};
    int at = options_end(&blaunch_options, argc, argv), status;
    if (lsf_line_read("blaunch", &blaunch_options, &r, r.a, at, argv, &status)) {
        at += at < argc && text_is(argv[at], "--");
        if (!r.hosts && at < argc)
            r.hosts = argv[at++];
        status = !r.hosts || at >= argc   ? usage(&blaunch_options, LSF_EXIT)
                 : getenv("SLURM_JOB_ID") ? hosts_run(&r, argv + at)
                                          : in_no_job("blaunch");
    }
    arena_free(r.a);
    return status;
}

/* The host stands before the options. */
int cmd_pbs_tmrsh(int argc, char **argv)
{
    struct remote_shell r = {.a = arena_new()};
    const char *host = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;
    int from = host ? 1 : 0, at = from + options_end(&pbs_tmrsh_options, argc - from, argv + from);
    const char *me = getenv("USER");
    int status;
    if (pbs_line_read("pbs_tmrsh", &pbs_tmrsh_options, &r, r.a, at - from, argv + from, &status)) {
        r.hosts = host;
        if (r.user && me && !text_is(r.user, me)) {
            fprintf(stderr, "pbs_tmrsh: -l %s: a job's commands run as its user, %s\n", r.user, me);
            status = PBS_REFUSED;
        } else {
            status = !r.hosts || at >= argc   ? usage(&pbs_tmrsh_options, PBS_USAGE)
                     : getenv("SLURM_JOB_ID") ? hosts_run(&r, argv + at)
                                              : in_no_job("pbs_tmrsh");
        }
    }
    arena_free(r.a);
    return status;
}
