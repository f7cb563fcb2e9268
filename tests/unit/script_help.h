/* What the tests of script/ have in common: options from words, a script from lines. */
#ifndef TESTS_SCRIPT_HELP_H
#define TESTS_SCRIPT_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/vec.h"
#include "script/script.h"

#include <stdlib.h>
#include <string.h>

/* 2026-03-02 10:00:00 UTC, a Monday */
#define TEST_NOW (INT64_C(1772445600) * USEC_PER_SEC)

struct world {
    struct arena *a;
    struct option_env env;
    struct submit_options *comp;
    size_t ncomp;
    struct str warnings;
    struct err err;
};

static inline int world_setup(void **state)
{
    struct world *w = xcalloc(1, sizeof *w);
    w->a = arena_new();
    w->env = (struct option_env){.now_us = TEST_NOW, .zone = &civil_utc};
    w->comp = xcalloc(COMPONENTS_MAX, sizeof *w->comp);
    *state = w;
    return 0;
}

static inline int world_teardown(void **state)
{
    struct world *w = *state;
    str_done(&w->warnings);
    arena_free(w->a);
    free(w->comp);
    free(w);
    return 0;
}

/* Forgets all options, errors and warnings. */
static inline void world_clear(struct world *w)
{
    memset(w->comp, 0, COMPONENTS_MAX * sizeof *w->comp);
    memset(&w->err, 0, sizeof w->err);
    w->ncomp = 0;
    str_clear(&w->warnings);
}

/* A command line of blank-separated words, then options_finish. "" fails no test: no options. */
static inline bool options_of(struct world *w, unsigned command, const char *words)
{
    VEC(char *) argv = {0};
    char *text = arena_strdup(w->a, words), *save = NULL;
    vec_push(&argv, (char *)(uintptr_t) "command");
    for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
        vec_push(&argv, word);
    world_clear(w);
    int rest;
    bool ok = options_parse_argv(w->comp, command, (int)argv.n, argv.v, FROM_COMMAND_LINE, &w->env,
                                 w->a, &rest, &w->err) &&
              options_finish(w->comp, command, w->a, &w->warnings, &w->err);
    vec_done(&argv);
    return ok;
}

/* The same for sbatch; the options must be taken. */
static inline const struct job_spec *taken(struct world *w, const char *words)
{
    if (!options_of(w, CMD_SBATCH, words))
        fail_msg("\"%s\" was refused: %s", words, w->err.text);
    return &w->comp[0].spec;
}

/* The options must be refused, and the sentence must hold `part`. */
static inline void refused(struct world *w, const char *words, const char *part)
{
    if (options_of(w, CMD_SBATCH, words))
        fail_msg("\"%s\" was taken", words);
    if (!strstr(w->err.text, part) && !strstr(w->err.lead, part))
        fail_msg("\"%s\": \"%s\" does not say \"%s\"", words, w->err.text, part);
}

static inline bool script_of(struct world *w, const char *text, bool ignore_pbs)
{
    world_clear(w);
    return script_parse("job.sh", text, strlen(text), w->comp, COMPONENTS_MAX, &w->ncomp,
                        ignore_pbs, &w->env, w->a, &w->warnings, &w->err);
}

#endif
