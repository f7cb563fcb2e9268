/* The option table of sbatch, salloc and srun put together from its themes, and the three ways into
 * it: a command line, the environment, a directive (which is a command line found in a script).
 *
 * Every value goes through option_set, which knows who gave the value before; so a command line
 * beats the environment, and that beats the script, whatever the order of the calls. Options that
 * exclude each other (--mem, --mem-per-cpu) are sorted out by their sources in finish.c. */
#include "script/options/options.h"

#include "base/alloc.h"
#include "script/options/values.h"

#include <string.h>

static const struct option_theme themes[] = {
#define X(theme, title, heading) {title, heading, options_##theme, &options_##theme##_n},
    OPTION_THEMES(X)
#undef X
};

#define TABLE(command_, variables_)                                                                \
    {                                                                                              \
        .theme = themes, .themes = ARRAY_LEN(themes), .command = command_,                         \
        .variables = variables_, .words = WORDS_END, .letters_named = true                         \
    }
static const struct option_table all = TABLE(0, 0), sbatch = TABLE(CMD_SBATCH, 0),
                                 salloc = TABLE(CMD_SALLOC, 1), srun = TABLE(CMD_SRUN, 2);

static const struct option_table *table_of(unsigned command)
{
    return command == CMD_SBATCH ? &sbatch : command == CMD_SALLOC ? &salloc : &srun;
}

const char *option_theme(size_t theme, const struct option_row **ret_rows, size_t *ret_n)
{
    if (theme >= ARRAY_LEN(themes))
        return NULL;
    *ret_rows = themes[theme].row;
    *ret_n = *themes[theme].n;
    return themes[theme].title;
}

const char *option_heading(size_t theme)
{
    return theme < ARRAY_LEN(themes) ? themes[theme].heading : NULL;
}

size_t option_count(void)
{
    size_t count = 0;
    for (size_t t = 0; t < ARRAY_LEN(themes); t++)
        count += *themes[t].n;
    return count;
}

const struct option_row *option_at(size_t index)
{
    return option_row_at(&all, index);
}

size_t option_index(const struct option_row *row)
{
    ASSERT(row);
    return option_row_index(&all, row);
}

const struct option_row *option_named(const char *name, unsigned command)
{
    struct option_table some = all;
    some.command = command;
    return option_row_named(&some, name);
}

enum option_source option_source_of(const struct submit_options *o, const char *name,
                                    unsigned command)
{
    const struct option_row *row = option_named(name, command);
    return row ? o->source[option_index(row)] : FROM_DEFAULT;
}

/* ---- setting ---- */

void note_no_effect(struct submit_options *o, struct arena *a, const char *what, const char *why)
{
    if (o->no_effect && strstr(o->no_effect, what))
        return;
    o->no_effect = o->no_effect ? arena_printf(a, "%s; %s: %s", o->no_effect, what, why)
                                : arena_printf(a, "%s: %s", what, why);
}

static bool rival_is_stronger(const struct submit_options *o, const struct option_row *row,
                              enum option_source source)
{
    return row->rival && option_source_of(o, row->rival, row->commands) > source;
}

bool option_set(struct submit_options *o, const struct option_row *row, const char *value,
                enum option_source source, const struct option_env *env, struct arena *a,
                struct err *ret_err)
{
    ASSERT(source > FROM_DEFAULT);
    if (row->support == SUPPORT_REFUSED)
        return err_set(ret_err, ERR_UNSUPPORTED, "not supported yet: --%s (%s)", row->name,
                       row->why);
    size_t i = option_index(row);
    if (source < o->source[i] || rival_is_stronger(o, row, source))
        return true;
    if (row->values && text_is_nocase(value, "help")) {
        o->values_asked = row;
        return true;
    }
    if (!row->set(o, row, value, env, a, ret_err))
        return false;
    o->source[i] = source;
    o->given[i] = value ? arena_strdup(a, value) : "";
    if (row->support == SUPPORT_NO_EFFECT)
        note_no_effect(o, a, arena_printf(a, "--%s", row->name), row->why);
    return true;
}

/* ---- command lines and variables ---- */

struct option_taker {
    struct submit_options *o;
    enum option_source source;
    const struct option_env *env;
    struct arena *a;
};

static bool option_take(void *ctx, const struct option_row *row, const char *value,
                        struct err *ret_err)
{
    const struct option_taker *t = ctx;
    bool ok = option_set(t->o, row, value, t->source, t->env, t->a, ret_err);
    return option_watched(t->env, row, value, ok, ret_err);
}

bool options_parse_argv(struct submit_options *o, unsigned command, int argc, char *const argv[],
                        enum option_source source, const struct option_env *env, struct arena *a,
                        int *ret_rest, struct err *ret_err)
{
    struct option_taker t = {o, source, env, a};
    return options_walk(table_of(command), argc, argv, option_take, NULL, &t, ret_rest, ret_err);
}

bool options_parse_env(struct submit_options *o, unsigned command, char *(*get)(const char *name),
                       const struct option_env *env, struct arena *a, struct err *ret_err)
{
    struct option_taker t = {o, FROM_ENVIRONMENT, env, a};
    return options_walk_variables(table_of(command), get, option_take, &t, ret_err);
}

bool options_carry_over(struct submit_options *o, const struct submit_options *before,
                        const struct option_env *env, struct arena *a, struct err *ret_err)
{
    const struct option_row *row;
    for (size_t i = 0; (row = option_at(i)); i++) {
        if (row->component || before->source[i] == FROM_DEFAULT || o->source[i] != FROM_DEFAULT)
            continue;
        const char *value = row->arg == ARG_NONE || !*before->given[i] ? NULL : before->given[i];
        if (row->arg == ARG_REQUIRED && !value)
            continue;
        if (!option_set(o, row, value, FROM_COMPONENT, env, a, ret_err))
            return false;
    }
    return true;
}
