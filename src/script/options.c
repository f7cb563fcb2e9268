/* The option table put together from its themes, and the three ways into it: a command line, the environment,
 * a directive (which is a command line found in a script).
 *
 * Every value goes through option_set, which knows who gave the value before; so a command line beats the
 * environment, and that beats the script, whatever the order of the calls. Options that exclude each other
 * (--mem, --mem-per-cpu) are sorted out by their sources in options_finish.c. */
#include "script/options.h"

#include "base/alloc.h"
#include "script/option_values.h"

#include <string.h>

struct theme {
    const char *title, *heading;
    const struct option_row *rows;
    const size_t *n;
};

static const struct theme themes[] = {
#define X(theme, title, heading) {title, heading, options_##theme, &options_##theme##_n},
    OPTION_THEMES(X)
#undef X
};

const char *option_theme(size_t theme, const struct option_row **ret_rows, size_t *ret_n)
{
    if (theme >= ARRAY_LEN(themes))
        return NULL;
    *ret_rows = themes[theme].rows;
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
    for (size_t t = 0; t < ARRAY_LEN(themes); t++) {
        if (index < *themes[t].n)
            return &themes[t].rows[index];
        index -= *themes[t].n;
    }
    return NULL;
}

size_t option_index(const struct option_row *row)
{
    size_t base = 0;
    for (size_t t = 0; t < ARRAY_LEN(themes); t++) {
        if (row >= themes[t].rows && row < themes[t].rows + *themes[t].n)
            return base + (size_t)(row - themes[t].rows);
        base += *themes[t].n;
    }
    die("option row of no theme");
}

/* ---- finding
 * ------------------------------------------------------------------------------------------------------------------
 */

enum match { MATCH_NONE, MATCH_PREFIX, MATCH_EXACT };

static enum match name_match(struct span name, const char *asked)
{
    size_t len = strlen(asked);
    if (len > name.len || memcmp(name.data, asked, len) != 0)
        return MATCH_NONE;
    return len == name.len ? MATCH_EXACT : MATCH_PREFIX;
}

static enum match row_match(const struct option_row *row, const char *asked)
{
    enum match best = name_match(span_of(row->name), asked);
    struct span rest = span_of(row->alias), alias;
    while (best != MATCH_EXACT && span_next(&rest, ' ', &alias)) {
        enum match m = name_match(alias, asked);
        best = m > best ? m : best;
    }
    return best;
}

static bool row_is_named(const struct option_row *row, const char *name)
{
    struct span rest = span_of(row->alias), alias;
    bool found = text_is(row->name, name);
    while (!found && span_next(&rest, ' ', &alias))
        found = span_is(alias, name);
    return found;
}

const struct option_row *option_named(const char *name, unsigned command)
{
    const struct option_row *row;
    for (size_t i = 0; (row = option_at(i)); i++)
        if ((row->commands & command) && (row->name[0] == name[0] || row->alias) && row_is_named(row, name))
            return row;
    return NULL;
}

const struct option_row *option_letter(char letter, unsigned command)
{
    const struct option_row *row;
    for (size_t i = 0; (row = option_at(i)); i++)
        if ((row->commands & command) && row->letter == letter)
            return row;
    return NULL;
}

/* `word`: as typed, with its =value, which getopt shows too. */
static void unknown_refuse(const char *name, const char *word, unsigned command, struct err *e)
{
    const char *names[OPTION_MAX];
    size_t n = 0;
    const struct option_row *row;
    for (size_t i = 0; (row = option_at(i)) && n < OPTION_MAX; i++)
        if (row->commands & command)
            names[n++] = row->name;
    const char *near = text_nearest(name, names, n);
    if (near)
        err_set(e, ERR_USAGE, "unrecognized option '--%s' (did you mean '--%s'?)", word, near);
    else
        err_set(e, ERR_USAGE, "unrecognized option '--%s'", word);
}

static void ambiguous_refuse(const char *name, const char *word, unsigned command, struct err *e)
{
    struct str list = STR_INIT;
    const struct option_row *row;
    for (size_t i = 0; (row = option_at(i)); i++)
        if ((row->commands & command) && row_match(row, name) != MATCH_NONE)
            str_addf(&list, " '--%s'", row->name);
    err_set(e, ERR_USAGE, "option '--%s' is ambiguous; possibilities:%s", word, str_text(&list));
    str_done(&list);
}

const struct option_row *option_find(const char *name, const char *word, unsigned command,
                                     struct err *ret_err)
{
    const struct option_row *row, *found = NULL;
    size_t prefixes = 0;
    for (size_t i = 0; (row = option_at(i)); i++) {
        enum match m = row->commands & command ? row_match(row, name) : MATCH_NONE;
        if (m == MATCH_EXACT)
            return row;
        if (m == MATCH_PREFIX) {
            found = row;
            prefixes++;
        }
    }
    if (prefixes == 1)
        return found;
    if (prefixes == 0)
        unknown_refuse(name, word, command, ret_err);
    else
        ambiguous_refuse(name, word, command, ret_err);
    return NULL;
}

enum option_source option_source_of(const struct submit_options *o, const char *name, unsigned command)
{
    const struct option_row *row = option_named(name, command);
    return row ? o->source[option_index(row)] : FROM_DEFAULT;
}

/* ---- setting
 * ------------------------------------------------------------------------------------------------------------------
 */

static bool rival_is_stronger(const struct submit_options *o, const struct option_row *row,
                              enum option_source source)
{
    return row->rival && option_source_of(o, row->rival, row->commands) > source;
}

bool option_set(struct submit_options *o, const struct option_row *row, const char *value,
                enum option_source source, const struct option_env *env, struct arena *a, struct err *ret_err)
{
    if (row->support == SUPPORT_REFUSED)
        return err_set(ret_err, ERR_UNSUPPORTED, "not supported yet: --%s (%s)", row->name, row->why);
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

/* ---- command lines
 * ------------------------------------------------------------------------------------------------------------
 */

struct argv_reader {
    struct submit_options *o;
    unsigned command;
    int argc, at;
    char *const *argv;
    enum option_source source;
    const struct option_env *env;
    struct arena *a;
};

static bool long_option(struct argv_reader *r, const char *word, struct err *e)
{
    const char *equals = strchr(word, '=');
    const char *value = equals ? equals + 1 : NULL;
    char *name = arena_strndup(r->a, word, equals ? (size_t)(equals - word) : strlen(word));
    const struct option_row *row = option_find(name, word, r->command, e);
    if (!row)
        return false;
    if (row->arg == ARG_NONE && value)
        return err_set(e, ERR_USAGE, "option '--%s' doesn't allow an argument%s", row->name,
                       text_is_nocase(value, row->newer)
                           ? arena_printf(r->a, " (=%s is newer than Slurm 25.05)", row->newer)
                           : "");
    if (row->arg == ARG_REQUIRED && !value) {
        if (r->at >= r->argc)
            return err_set(e, ERR_USAGE, "option '--%s' requires an argument", row->name);
        value = r->argv[r->at++];
    }
    return option_set(r->o, row, value, r->source, r->env, r->a, e);
}

/* "-Hn4": flags may be bundled; what follows a letter that takes a value is its value. */
static bool short_options(struct argv_reader *r, const char *letters, struct err *e)
{
    while (*letters) {
        const struct option_row *row = option_letter(*letters, r->command);
        if (!row)
            return err_set(e, ERR_USAGE, "invalid option -- '%c'", *letters);
        letters++;
        const char *value = NULL;
        if (row->arg != ARG_NONE && *letters) {
            value = letters;
            letters += strlen(letters);
        } else if (row->arg == ARG_REQUIRED) {
            if (r->at >= r->argc)
                return err_set(e, ERR_USAGE, "option requires an argument -- '%c' (it is --%s)", row->letter,
                               row->name);
            value = r->argv[r->at++];
        }
        if (!option_set(r->o, row, value, r->source, r->env, r->a, e))
            return false;
    }
    return true;
}

bool options_parse_argv(struct submit_options *o, unsigned command, int argc, char *const argv[],
                        enum option_source source, const struct option_env *env, struct arena *a,
                        int *ret_rest, struct err *ret_err)
{
    struct argv_reader r = {o, command, argc, 1, argv, source, env, a};
    while (r.at < argc) {
        const char *word = argv[r.at];
        if (word[0] != '-' || !word[1])
            break;
        r.at++;
        if (text_is(word, "--"))
            break;
        bool ok = word[1] == '-' ? long_option(&r, word + 2, ret_err) : short_options(&r, word + 1, ret_err);
        if (!ok)
            return false;
    }
    *ret_rest = r.at;
    return true;
}

/* ---- environment
 * --------------------------------------------------------------------------------------------------------------
 */

static int command_number(unsigned command)
{
    return command == CMD_SBATCH ? 0 : command == CMD_SALLOC ? 1 : 2;
}

/* sbatch(1): a flag's variable enables it when empty, "yes" or a number other than 0. */
static bool flag_enabled(const char *value)
{
    int64_t n;
    return !*value || text_is_nocase(value, "yes") ||
           (text_to_i64(value, INT64_MIN, INT64_MAX, &n) && n != 0);
}

/* SBATCH_DEBUG tells how often -v is meant. */
static bool level_set(struct submit_options *o, const struct option_row *row, const char *value,
                      const struct option_env *env, struct arena *a, struct err *e)
{
    int64_t level = 0;
    text_to_i64(value, 0, 9, &level);
    for (; level > 0; level--)
        if (!option_set(o, row, NULL, FROM_ENVIRONMENT, env, a, e))
            return false;
    return true;
}

static bool variable_set(struct submit_options *o, const struct option_row *row, const char *name,
                         const char *value, const struct option_env *env, struct arena *a, struct err *e)
{
    if (text_is(row->name, "verbose"))
        return level_set(o, row, value, env, a, e);
    if (row->arg == ARG_NONE && !flag_enabled(value))
        return true;
    if (row->arg == ARG_REQUIRED && !*value)
        return true;
    const char *text = row->arg == ARG_NONE || !*value ? NULL : value;
    return option_set(o, row, text, FROM_ENVIRONMENT, env, a, e) ||
           err_prefix(e, "environment variable %s", name);
}

bool options_parse_env(struct submit_options *o, unsigned command, char *(*get)(const char *name),
                       const struct option_env *env, struct arena *a, struct err *ret_err)
{
    const struct option_row *row;
    for (size_t i = 0; (row = option_at(i)); i++) {
        const char *names = row->commands & command ? row->env[command_number(command)] : NULL;
        struct span rest = span_of(names), one;
        while (span_next(&rest, ' ', &one)) {
            char name[64];
            CHECK(one.len < sizeof name);
            memcpy(name, one.data, one.len);
            name[one.len] = 0;
            const char *value = get(name);
            if (!value)
                continue;
            if (!variable_set(o, row, name, value, env, a, ret_err))
                return false;
            break;
        }
    }
    return true;
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
