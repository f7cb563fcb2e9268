/* remuda env: lines for the shell's eval. */
#include "base/str.h"
#include "cli/program/commands.h"
#include "cli/program/own_line.h"
#include "cli/program/program.h"

#include <stdio.h>
#include <stdlib.h>

/* 'text' as one word of a POSIX shell. */
static void quoted_print(const char *text)
{
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*text);
    }
    putchar('\'');
}

struct env_line {
    const char *state_dir;
};

static const struct option_row rows[] = {OWN_STATE(struct env_line), OWN_HELP};
OPTION_TABLE(env_options, rows, .usage = "remuda env [OPTIONS]",
             .about =
                 "  Lines for the shell: eval \"$(remuda env)\" puts the commands on PATH and, "
                 "with\n  --state, chooses the cluster in that directory.\n",
             .words = WORDS_MIXED, .word = own_word_refuse);

static void env_print(const char *state_dir, struct arena *a)
{
    fputs("PATH=", stdout);
    quoted_print(program_bin_dir(a));
    fputs(":\"$PATH\"; export PATH\n", stdout);
    if (!state_dir)
        state_dir = getenv("REMUDA_STATE");
    if (!text_empty(state_dir)) {
        char *full = realpath(state_dir, NULL);
        fputs("REMUDA_STATE=", stdout);
        quoted_print(full ? full : state_dir);
        fputs("; export REMUDA_STATE\n", stdout);
        free(full);
    }
}

int cmd_env(int argc, char **argv)
{
    struct env_line o = {0};
    struct arena *a = arena_new();
    struct option_line line = {.table = &env_options, .to = &o, .a = a};
    int status;
    if (own_line_read("remuda env", &line, argc, argv, &status))
        env_print(o.state_dir, a);
    arena_free(a);
    return status;
}
