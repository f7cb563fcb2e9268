/* remuda env: lines for the shell's eval. */
#include "base/str.h"
#include "cli/program/commands.h"
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

int cmd_env(int argc, char **argv)
{
    const char *state_dir = NULL;
    struct err err = {0};
    for (int i = 1; i < argc;) {
        if (text_is(argv[i], "--help") || text_is(argv[i], "-h")) {
            puts("Usage: eval \"$(remuda env [--state DIR])\"\n  Puts the commands on PATH and, "
                 "with "
                 "--state, chooses the cluster in DIR.");
            return 0;
        }
        if (!program_state_option(argc, argv, &i, &state_dir, &err))
            err_set(&err, ERR_INVALID, "unknown word \"%s\"", argv[i]);
        if (err.code) {
            program_error("remuda env", "%s", err.text);
            return 2;
        }
    }
    struct arena *a = arena_new();
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
    arena_free(a);
    return 0;
}
