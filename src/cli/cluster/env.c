/* remuda env: lines for the shell's eval.
 *
 * Slurm's names stand before what PATH has. Those of LSF and PBS do so, too, where PATH has none of
 * them: a machine with an LSF of its own keeps its bsub, unless --dialects names lsf. Each family
 * has a directory of links for that; the one with all of them is put on PATH where none is left
 * out. */
#include "base/list.h"
#include "base/plain.h"
#include "base/str.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/lsf_dir.h"
#include "cli/program/own_line.h"
#include "cli/program/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void quoted_print(const char *text)
{
    struct str word = STR_INIT;
    str_add_shell_word(&word, text);
    fputs(str_text(&word), stdout);
    str_done(&word);
}

struct env_line {
    const char *state_dir, *dialects;
};

static SETTER(set_dialects)
{
    struct env_line *o = to;
    struct span rest = span_of(value), one;
    while (span_next(&rest, ',', &one)) {
        bool known = span_is(span_trim(one), "all");
        for (int f = SLURM; f < COMMAND_FAMILIES; f++)
            known = known || span_is(span_trim(one), command_family_name(f));
        if (!known)
            return err_set(ret_err, ERR_VALUE,
                           "--dialects takes slurm, lsf, pbs (with commas) or all, not \"%.*s\"",
                           (int)one.len, one.data);
    }
    o->dialects = arena_strdup(a, value);
    return true;
}

static const struct option_row rows[] = {
    OPT_VALUE(
        "dialects", 0, "list",
        "commands of these systems alone: slurm, lsf, pbs, all; default: those that PATH does "
        "not have",
        set_dialects, offsetof(struct env_line, dialects)),
    OWN_STATE(struct env_line),
    OWN_HELP,
};
OPTION_TABLE(env_options, rows, .usage = "remuda env [OPTIONS]",
             .about =
                 "  Lines for the shell: eval \"$(remuda env)\" puts the commands on PATH and, "
                 "with\n  --state, chooses the cluster in that directory.\n",
             .words = WORDS_MIXED, .word = own_word_refuse);

/* ---- PATH ---- */

static const char *family_dir(enum command_family f, struct arena *a)
{
    const char *dir = program_dir(a), *name = command_family_name(f);
    const char *beside = arena_printf(a, "%s/libexec/remuda/%s", dir, name);
    const char *above = arena_printf(a, "%s/../libexec/remuda/%s", dir, name);
    return access(beside, X_OK) == 0 ? beside : access(above, X_OK) == 0 ? above : NULL;
}

/* Is the directory one of ours? */
static bool is_ours(const char *dir, struct arena *a)
{
    char *found = realpath(arena_printf(a, "%s/remuda", dir), NULL),
         *self = realpath("/proc/self/exe", NULL);
    bool ours = found && self && text_is(found, self);
    free(found);
    free(self);
    return ours;
}

static bool dir_has(const char *dir, enum command_family f, struct arena *a)
{
    const char *name;
    for (size_t i = 0; (name = command_link_at(f, i)); i++)
        if (access(arena_printf(a, "%s/%s", dir, name), X_OK) == 0)
            return true;
    return false;
}

/* Has PATH commands of the family, of somebody else? */
static bool path_has(enum command_family f, struct arena *a)
{
    const char *path = getenv("PATH");
    struct span rest = span_of(path ? path : ""), one;
    while (span_next(&rest, ':', &one)) {
        const char *dir = one.len ? arena_strndup(a, one.data, one.len) : ".";
        if (!is_ours(dir, a) && dir_has(dir, f, a))
            return true;
    }
    return false;
}

/* Before PATH, behind it, or nowhere. */
enum env_place { NOWHERE, BEFORE, BEHIND };

static void path_print(const struct env_line *o, struct arena *a)
{
    enum env_place place[COMMAND_FAMILIES] = {0};
    bool all = true;
    for (int f = SLURM; f < COMMAND_FAMILIES; f++) {
        bool named = list_has(o->dialects, command_family_name(f)) || list_has(o->dialects, "all");
        if (o->dialects)
            place[f] = named ? BEFORE : NOWHERE;
        else
            place[f] = f != SLURM && path_has(f, a) ? BEHIND : BEFORE;
        all = all && place[f] == BEFORE;
    }
    fputs("PATH=", stdout);
    if (all || !family_dir(SLURM, a)) {
        quoted_print(program_bin_dir(a));
        fputs(":\"$PATH\"; export PATH\n", stdout);
        return;
    }
    for (int f = SLURM; f < COMMAND_FAMILIES; f++)
        if (place[f] == BEFORE) {
            quoted_print(family_dir(f, a));
            putchar(':');
        }
    fputs("\"$PATH\"", stdout);
    for (int f = SLURM; f < COMMAND_FAMILIES; f++)
        if (place[f] == BEHIND) {
            putchar(':');
            quoted_print(family_dir(f, a));
        }
    fputs("; export PATH\n", stdout);
}

/* Programs for LSF look into these directories; all that there is lies in two. */
static void lsf_print(const struct env_line *o, struct arena *a)
{
    static const char *const bin[] = {"LSF_BINDIR", "LSF_SERVERDIR", "LSF_LIBDIR"};
    struct err e = {0};
    bool named = list_has(o->dialects, "lsf") || list_has(o->dialects, "all");
    const char *dir = named ? lsf_dir_make(state_dir_find(o->state_dir, a), a, &e) : NULL;
    if (named && !dir)
        fprintf(stderr, "remuda env: LSF_ENVDIR is not set: %s\n", e.text);
    if (!dir)
        return;
    fputs("LSF_ENVDIR=", stdout);
    quoted_print(dir);
    fputs("; export LSF_ENVDIR\n", stdout);
    for (size_t i = 0; i < sizeof bin / sizeof bin[0]; i++) {
        printf("%s=", bin[i]);
        quoted_print(program_bin_dir(a));
        printf("; export %s\n", bin[i]);
    }
}

/* Of an interactive bash, where it is installed: bash looks beside commands for it, but of old
 * releases in the system's directories alone. */
static void completion_print(struct arena *a)
{
    const char *file =
        arena_printf(a, "%s/../share/bash-completion/completions/remuda", program_dir(a));
    char *full = realpath(file, NULL);
    if (full) {
        fputs("[ -z \"${BASH_VERSION-}\" ] || [ -z \"${PS1-}\" ] || . ", stdout);
        quoted_print(full);
        putchar('\n');
    }
    free(full);
}

static void env_print(const struct env_line *o, struct arena *a)
{
    const char *state_dir = o->state_dir;
    path_print(o, a);
    lsf_print(o, a);
    if (!state_dir)
        state_dir = getenv("REMUDA_STATE");
    if (!text_empty(state_dir)) {
        char *full = realpath(state_dir, NULL);
        fputs("REMUDA_STATE=", stdout);
        quoted_print(full ? full : state_dir);
        fputs("; export REMUDA_STATE\n", stdout);
        free(full);
    }
    completion_print(a);
}

int cmd_env(int argc, char **argv)
{
    struct env_line o = {0};
    struct arena *a = arena_new();
    struct option_line line = {.table = &env_options, .to = &o, .a = a};
    int status;
    if (own_line_read("remuda env", &line, argc, argv, &status))
        env_print(&o, a);
    arena_free(a);
    return status;
}
