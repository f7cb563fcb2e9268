#include "cli/program/program.h"

#include "base/alloc.h"
#include "base/str.h"
#include "cli/program/cluster_dir.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void program_usage_error(const char *name, const struct err *e)
{
    if (e->code != ERR_USAGE) {
        program_error(name, "%s", e->text);
        return;
    }
    const char *hint = strstr(e->text, " (");
    int len = (int)(hint ? (size_t)(hint - e->text) : strlen(e->text));
    fprintf(stderr, "%s: %.*s\nTry \"%s --help\" for more information\n", name, len, e->text, name);
    if (hint)
        program_error(name, "%.*s", (int)strlen(hint + 3), hint + 2);
}

bool program_information(const struct option_line *l)
{
    struct str text = STR_INIT;
    bool version = option_line_has(l, "version"), help = option_line_has(l, "help");
    if (version)
        str_add(&text, SLURM_VERSION_TEXT "\n");
    else if (help)
        option_table_write_help(l->table, &text);
    else if (option_line_has(l, "usage"))
        option_table_write_usage(l->table, &text);
    bool asked = text.len > 0;
    fputs(str_text(&text), stdout);
    str_done(&text);
    return asked;
}

const char *program_dir(struct arena *a)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return ".";
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    return arena_strdup(a, path);
}

const char *program_bin_dir(struct arena *a)
{
    const char *dir = program_dir(a);
    const char *bin = arena_printf(a, "%s/bin", dir);
    return access(arena_printf(a, "%s/sbatch", bin), X_OK) == 0 ? bin : dir;
}

const char *program_sibling(const char *name, struct arena *a)
{
    return arena_printf(a, "%s/%s", program_dir(a), name);
}

/* What each of Slurm's commands says first where no controller answers; the listings without their
 * names. */
static void unreached_say(const char *name, const char *first)
{
    static const struct {
        const char *command, *first;
        bool named;
    } words[] = {
        {"squeue", "slurm_load_jobs error", false},
        {"sinfo", "slurm_load_partitions", false},
        {"sprio", "Couldn't get priority factors from controller", false},
        {"sshare", "Couldn't get shares from controller", false},
        {"sdiag", "slurm_get_statistics", false},
        {"sbatch", "Batch job submission failed", true},
        {"salloc", "Job submit/allocate failed", true},
        {"srun", "Unable to allocate resources", true},
        {"sattach", "Could not get job step info", true},
        {"sacct", "Problem talking to the database", true},
        {"sacctmgr", "Problem talking to the database", true},
    };
    const char *why = refusal_text(REFUSE_NO_CONTROLLER);
    if (first) {
        fprintf(stderr, "%s: %s\n", first, why);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (!text_is(name, words[i].command))
            continue;
        fprintf(stderr, "%s%s%s: %s\n", words[i].named ? name : "",
                words[i].named ? ": error: " : "", words[i].first, why);
        return;
    }
    program_error(name, "%s", why);
}

struct client *program_connect_for(const char *name, const char *state_dir, const char *first)
{
    struct err err = {0};
    struct client *c = cluster_reach(state_dir, &err);
    if (!c) {
        unreached_say(name, first);
        program_error(name, "%s", err.text);
    }
    return c;
}

struct client *program_connect(const char *name, const char *state_dir)
{
    return program_connect_for(name, state_dir, NULL);
}

bool program_state_option(int argc, char **argv, int *i, const char **state_dir,
                          struct err *ret_err)
{
    const char *arg = argv[*i];
    if (text_starts(arg, "--state=")) {
        *state_dir = arg + strlen("--state=");
    } else if (text_is(arg, "--state")) {
        if (*i + 1 >= argc) {
            err_set(ret_err, ERR_INVALID, "--state needs a directory");
            return true;
        }
        *state_dir = argv[++*i];
    } else {
        return false;
    }
    ++*i;
    return true;
}

/* ---- SIGTERM and SIGINT ---- */

#define FINISH_S 2

static void time_over(int signo)
{
    (void)signo;
    signal(SIGTERM, SIG_DFL);
    raise(SIGTERM);
}

static void told_to_end(int signo)
{
    (void)signo;
    alarm(FINISH_S);
}

/* What is asked about many jobs is done a few at a time; it does not end with who asked for it. */
static void interrupted(int signo)
{
    static const char text[] =
        ": interrupted; what the controller was asked already is done to its end\n";
    const char *name = program_invocation_short_name;
    bool said = write(STDERR_FILENO, name, strlen(name)) > 0 &&
                write(STDERR_FILENO, text, sizeof text - 1) > 0;
    (void)said;
    signal(signo, SIG_DFL);
    raise(signo);
}

void program_finish_first(void)
{
    struct sigaction end = {.sa_handler = told_to_end, .sa_flags = SA_RESTART},
                     over = {.sa_handler = time_over}, now = {.sa_handler = interrupted}, before;
    sigaction(SIGALRM, &over, NULL);
    sigaction(SIGTERM, &end, NULL);
    if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        sigaction(SIGINT, &now, NULL);
}

int words_split(struct arena *a, const char *line, char **word, int max)
{
    int n = 0;
    for (const char *at = line; n < max;) {
        struct str one = STR_INIT;
        char quote = '\0';
        at += strspn(at, " \t\r\n");
        if (!*at)
            break;
        for (; *at && (quote || !strchr(" \t\r\n", *at)); at++) {
            if (quote ? *at == quote : *at == '"' || *at == '\'')
                quote = (char)(quote ? '\0' : *at);
            else
                str_addc(&one, *at);
        }
        word[n++] = arena_strdup(a, str_text(&one));
        str_done(&one);
    }
    return n;
}
