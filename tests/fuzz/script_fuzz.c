/* Fuzzes scripts and command lines: nothing a user writes may crash sbatch. The first byte chooses; a command
 * line is the rest, words ended by newlines. After either, the options are finished and the tables of the
 * help are walked. */
#include "base/alloc.h"
#include "script/script.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_MAX  64
#define COMPONENTS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void script_run(struct submit_options *comp, const char *text, size_t len,
                       const struct option_env *env, struct arena *a)
{
    struct str warnings = STR_INIT;
    struct err e;
    size_t n = 0;
    (void)script_check(text, len, "fuzz", &e);
    if (script_parse(text, len, comp, COMPONENTS, &n, len % 2, env, a, &warnings, &e))
        for (size_t i = 0; i < n; i++)
            if (i == 0 || options_carry_over(&comp[i], &comp[i - 1], env, a, &e))
                (void)options_finish(&comp[i], CMD_SBATCH, a, &warnings, &e);
    str_done(&warnings);
}

static void words_run(struct submit_options *o, char *text, unsigned command, const struct option_env *env,
                      struct arena *a)
{
    static char name[] = "command";
    char *argv[WORDS_MAX + 1] = {name}, *save = NULL;
    int argc = 1, rest;
    struct err e;
    for (char *word = strtok_r(text, "\n", &save); word && argc < WORDS_MAX;
         word = strtok_r(NULL, "\n", &save))
        argv[argc++] = word;
    struct str warnings = STR_INIT;
    if (options_parse_argv(o, command, argc, argv, FROM_COMMAND_LINE, env, a, &rest, &e)) {
        CHECK(rest >= 1 && rest <= argc);
        (void)options_finish(o, command, a, &warnings, &e);
    }
    str_done(&warnings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned commands[] = {CMD_SBATCH, CMD_SALLOC, CMD_SRUN};
    struct option_env env = {INT64_C(1772445600000000), &civil_utc};
    if (size == 0)
        return 0;
    struct arena *a = arena_new();
    struct submit_options *comp = xcalloc(COMPONENTS, sizeof *comp);
    char *text = xcalloc(1, size);
    memcpy(text, data + 1, size - 1);
    unsigned kind = data[0] % 4;
    if (kind == 3)
        script_run(comp, text, size - 1, &env, a);
    else
        words_run(comp, text, commands[kind], &env, a);
    free(text);
    free(comp);
    arena_free(a);
    return 0;
}
