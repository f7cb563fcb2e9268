/* remuda join and leave: this machine becomes a host of a cluster that runs elsewhere, and stops
 * being one. */
#include "base/alloc.h"
#include "base/str.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/daemons.h"
#include "cli/program/host_dir.h"
#include "cli/program/own_line.h"
#include "cli/program/program.h"
#include "cli/program/state_file.h"
#include "io/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define JOBS_SAID_BYTES 80
#define ENDS_WAIT_MS    5000

struct join_line {
    const char *state_dir, *name, *controller, *token_file;
    const char *token;
};

static bool join_word_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct join_line *o = to;
    if (o->token)
        return own_word_refuse(to, word, a, ret_err);
    *(o->controller ? &o->token : &o->controller) = word;
    return true;
}

static const struct option_row join_rows[] = {
    OPT_VALUE("name", 0, "node", "the node's name; else this host's", set_any_text,
              offsetof(struct join_line, name)),
    OWN_STATE(struct join_line),
    OPT_VALUE("token-file", 0, "file", "the token is its first line; -: that of the input",
              set_any_text, offsetof(struct join_line, token_file)),
    OWN_HELP,
};
OPTION_TABLE(join_options, join_rows, .usage = "remuda join [OPTIONS] HOST[:PORT]",
             .about =
                 "  Makes this machine a host of the cluster whose controller runs on HOST, and "
                 "starts its daemons. The\n"
                 "  token comes from a file, or from the input:  remuda token | ssh MACHINE "
                 "remuda join HOST\n",
             .words = WORDS_MIXED, .word = join_word_take);

struct leave_line {
    const char *state_dir;
    bool force;
};

static const struct option_row leave_rows[] = {
    OPT_FLAG("force", 0, "end what jobs run here", offsetof(struct leave_line, force)),
    OWN_STATE(struct leave_line), OWN_HELP};
OPTION_TABLE(leave_options, leave_rows, .usage = "remuda leave [OPTIONS]",
             .about = "  Takes this machine out of the cluster it joined and stops its daemons. "
                      "Not while jobs run here:\n"
                      "  drain the node first.\n",
             .words = WORDS_MIXED, .word = own_word_refuse);

/* A token that is a word of the command line is kept, and is no longer to be read in the list of
 * processes. */
static void token_hide(struct join_line *o, int argc, char **argv, struct arena *a)
{
    for (int i = 1; i < argc; i++)
        if (argv[i] == o->token) {
            o->token = arena_strdup(a, argv[i]);
            memset(argv[i], 'x', strlen(argv[i]));
        }
}

/* The first line of the file, or of the input. */
static const char *token_read(const char *path, struct arena *a, struct err *ret_err)
{
    char line[512];
    FILE *from = text_is(path, "-") ? stdin : fopen(path, "re");
    if (!from) {
        err_set(ret_err, ERR_NOT_FOUND, "cannot read the token from %s: %s", path, strerror(errno));
        return NULL;
    }
    const char *got = fgets(line, sizeof line, from);
    if (from != stdin)
        fclose(from);
    line[got ? strcspn(line, " \t\r\n") : 0] = '\0';
    const char *token = arena_strdup(a, line);
    explicit_bzero(line, sizeof line);
    if (!text_empty(token))
        return token;
    err_set(ret_err, ERR_INVALID, "%s has no token in its first line",
            text_is(path, "-") ? "the input" : path);
    return NULL;
}

static bool token_find(struct join_line *o, struct arena *a, struct err *ret_err)
{
    if (o->token) {
        fprintf(
            stderr,
            "remuda join: warning: every user of this machine could read the token in the list of "
            "processes; give it with --token-file FILE, or on the input\n");
        return true;
    }
    if (!o->token_file && isatty(STDIN_FILENO))
        return err_set(
            ret_err, ERR_INVALID,
            "the token is missing: --token-file FILE, or on the input; `remuda token` on the "
            "controller's host prints one");
    o->token = token_read(o->token_file ? o->token_file : "-", a, ret_err);
    return o->token != NULL;
}

/* remudad reads the token from its input: a pipe that nobody else has. */
static bool token_hand(const char *token, struct err *ret_err)
{
    int end[2];
    size_t len = strlen(token);
    if (pipe2(end, O_CLOEXEC) != 0)
        return err_set(ret_err, ERR_INTERNAL, "cannot make a pipe: %s", strerror(errno));
    bool ok =
        write(end[1], token, len) == (ssize_t)len && dup2(end[0], STDIN_FILENO) == STDIN_FILENO;
    close(end[0]);
    close(end[1]);
    return ok ? true
              : err_set(ret_err, ERR_INTERNAL, "cannot hand the token on: %s", strerror(errno));
}

static bool dirs_make(const char *state_dir, struct arena *a, struct err *ret_err)
{
    char *copy = arena_strdup(a, state_dir);
    for (char *at = copy + 1; *at; at++)
        if (*at == '/') {
            *at = '\0';
            mkdir(copy, 0755);
            *at = '/';
        }
    if (mkdir(copy, geteuid() == 0 ? 0755 : 0700) == 0 || errno == EEXIST)
        return true;
    return err_set(ret_err, ERR_UNAVAILABLE, "cannot make the directory %s: %s", state_dir,
                   strerror(errno));
}

static bool join(struct join_line *o, struct arena *a, struct err *ret_err)
{
    struct host_dir h;
    const char *dir = state_dir_own(o->state_dir, a);
    if (access(arena_printf(a, "%s/remuda.conf", dir), F_OK) == 0)
        return err_set(ret_err, ERR_EXISTS,
                       "%s holds a cluster of its own; choose another directory with --state", dir);
    if (host_dir_read(dir, a, &h))
        return err_set(
            ret_err, ERR_EXISTS,
            "this machine is a host of cluster \"%s\" already (%s): `remuda up` starts what of it "
            "does not run, `remuda leave` takes it out; or choose another directory with --state",
            h.cluster ? h.cluster : "", dir);
    if (!dirs_make(dir, a, ret_err))
        return false;
    char *argv[] = {(char *)(uintptr_t)program_sibling("remudad", a),
                    "join",
                    "--state",
                    (char *)(uintptr_t)dir,
                    (char *)(uintptr_t)o->controller,
                    o->name ? "--name" : NULL,
                    (char *)(uintptr_t)o->name,
                    NULL};
    if (!token_find(o, a, ret_err) || !token_hand(o->token, ret_err) ||
        program_run(argv, ret_err) != 0)
        return false; /* it has said why */
    if (!host_dir_read(dir, a, &h) || !host_start(dir, &h, a, ret_err))
        return ret_err->code ? false
                             : err_set(ret_err, ERR_INTERNAL, "%s/host.conf was not written", dir);
    printf("To use it here:  eval \"$(%s/remuda env%s%s)\"\n", program_dir(a),
           o->state_dir ? " --state " : "", o->state_dir ? dir : "");
    return true;
}

int cmd_join(int argc, char **argv)
{
    struct join_line o = {0};
    struct err err = {0};
    struct arena *a = arena_new();
    struct option_line line = {.table = &join_options, .to = &o, .a = a};
    int status;
    bool read = own_line_read("remuda join", &line, argc, argv, &status);
    token_hide(&o, argc, argv, a);
    if (read && !o.controller) {
        program_error("remuda join", "HOST[:PORT] is needed, and a token, which `remuda token` "
                                     "prints there: remuda token | ssh MACHINE remuda join HOST");
        status = 2;
    } else if (read && !join(&o, a, &err)) {
        status = 1;
    }
    if (err.code)
        program_error("remuda join", "%s", err.text);
    arena_free(a);
    return status;
}

/* The controller does not know yet: remudad goes on trying, and the key stays until it has
 * heard. */
static bool leave_later(const char *dir, const struct host_dir *h, struct arena *a,
                        struct err *ret_err)
{
    char *argv[] = {(char *)(uintptr_t)program_sibling("remudad", a),
                    "leave",
                    "--until-told",
                    "--state",
                    (char *)(uintptr_t)dir,
                    NULL};
    FILE *mark = state_file(dir, "leaving");
    if (mark)
        fclose(mark);
    if (program_run(argv, ret_err) != 0)
        return false;
    fprintf(stderr,
            "remuda leave: warning: the controller at %s cannot be reached. The daemons here are "
            "stopped, "
            "and the "
            "controller is told as soon as it answers (after a restart of this machine: remuda "
            "leave). If "
            "only this "
            "machine is cut off, `remuda hosts remove %s` on the controller's does the same; if "
            "the cluster "
            "is gone "
            "for good, remove %s\n",
            h->controller, h->id, dir);
    printf("This machine is leaving cluster \"%s\".\n", h->cluster ? h->cluster : "");
    return true;
}

/* The jobs of which the node has a directory, in the arena; "" = none: steps are named
 * JOB.ATTEMPT.STEP as long as the cluster has not heard of their end, and other names are none.
 * alive: of them those that somebody stands over. */
static const char *jobs_here(const char *dir, const struct host_dir *h, bool alive, struct arena *a)
{
    const char **names, *last = "";
    size_t n = 0;
    struct str jobs = STR_INIT;
    const char *steps = arena_printf(a, "%s/nodes/%s/steps", dir, h->node ? h->node : "");
    if (!h->node || !dir_list(steps, a, &names, &n, NULL))
        n = 0;
    for (size_t i = 0; i < n && jobs.len < JOBS_SAID_BYTES; i++) {
        size_t len = strspn(names[i], "0123456789");
        if (len == 0 || names[i][len] != '.' || strncmp(names[i], last, len + 1) == 0 ||
            (alive && !program_daemon_pid(arena_printf(a, "%s/%s/state", steps, names[i]))))
            continue;
        last = names[i];
        str_addf(&jobs, "%s%.*s", jobs.len ? ", " : "", (int)len, names[i]);
    }
    const char *text = arena_strdup(a, str_text(&jobs));
    str_done(&jobs);
    return text;
}

/* The ends of jobs are told while the daemons are there and the cluster listens. */
static void ends_wait(const char *dir, const struct host_dir *h, struct arena *a)
{
    for (int ms = 0; ms < ENDS_WAIT_MS && *jobs_here(dir, h, false, a); ms += 100)
        nanosleep(&(struct timespec){.tv_nsec = 100 * 1000000L}, NULL);
    const char *jobs = jobs_here(dir, h, false, a);
    if (*jobs)
        fprintf(stderr,
                "remuda leave: warning: the cluster has not heard how jobs %s ended here: it "
                "requeues them, or calls them lost, after SlurmdTimeout\n",
                jobs);
}

/* Elsewhere the cluster begins them anew, after SlurmdTimeout: nothing of them may go on here. */
static bool jobs_end(const char *dir, const struct host_dir *h, struct arena *a,
                     struct err *ret_err)
{
    const char *jobs = jobs_here(dir, h, true, a);
    char *argv[] = {(char *)(uintptr_t)program_sibling("remudad", a), "end-steps",
                    (char *)(uintptr_t)dir, (char *)(uintptr_t)h->node, NULL};
    if (!*jobs)
        return true;
    fprintf(stderr, "remuda leave: ending what runs here of jobs %s\n", jobs);
    return program_run(argv, ret_err) == 0;
}

static bool leave(const char *dir, bool force, struct arena *a, struct err *ret_err)
{
    /* The last says that there is something to do. */
    static const char *const files[] = {"tls/host.key",    "tls/host.crt", "tls/authority.crt",
                                        "tls/joining.key", "tls",          "leaving",
                                        "host.conf"};
    struct host_dir h;
    int count = 0;
    if (!host_dir_read(dir, a, &h))
        return err_set(ret_err, ERR_NOT_FOUND,
                       "%s is not the state directory of a host that joined a cluster", dir);
    if (program_daemon_pid(arena_printf(a, "%s/leave.pid", dir)))
        return err_set(
            ret_err, ERR_EXISTS,
            "this machine is leaving already; it is waited for the controller at %s to hear of it",
            h.controller);
    const char *jobs = jobs_here(dir, &h, true, a);
    if (*jobs && !force)
        return err_set(
            ret_err, ERR_EXISTS,
            "jobs %s run here. Drain the node first "
            "(`scontrol update nodename=%s state=drain reason=leaving`) and leave when they are "
            "over; `remuda leave --force` ends them, and the cluster requeues them or calls them "
            "lost after SlurmdTimeout",
            jobs, h.node);
    if (!*jobs && h.node && program_daemon_pid(node_pid_path(dir, h.node, a)))
        ends_wait(dir, &h, a);
    char *argv[] = {(char *)(uintptr_t)program_sibling("remudad", a), "leave", "--state",
                    (char *)(uintptr_t)dir, NULL};
    bool told = program_run(argv, ret_err) == 0;
    if (!host_stop(dir, &h, a, &count))
        return err_set(ret_err, ERR_UNAVAILABLE, "some daemons do not end; see %s/log", dir);
    if (!jobs_end(dir, &h, a, ret_err))
        return false;
    if (!told)
        return leave_later(dir, &h, a, ret_err);
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        remove(arena_printf(a, "%s/%s", dir, files[i]));
    printf("This machine left cluster \"%s\".\n", h.cluster ? h.cluster : "");
    return true;
}

int cmd_leave(int argc, char **argv)
{
    struct leave_line o = {0};
    struct err err = {0};
    struct arena *a = arena_new();
    struct option_line line = {.table = &leave_options, .to = &o, .a = a};
    int status;
    if (own_line_read("remuda leave", &line, argc, argv, &status) &&
        !leave(state_dir_own(o.state_dir, a), o.force, a, &err))
        status = 1;
    if (err.code)
        program_error("remuda leave", "%s", err.text);
    arena_free(a);
    return status;
}
