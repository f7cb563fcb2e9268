/* Command lines and variables of all commands, read by the rows of their tables. */
#include "script/options/option.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

const struct option_row *option_row_at(const struct option_table *t, size_t index)
{
    for (size_t i = 0; i < t->themes; i++) {
        if (index < *t->theme[i].n)
            return &t->theme[i].row[index];
        index -= *t->theme[i].n;
    }
    return NULL;
}

size_t option_row_index(const struct option_table *t, const struct option_row *row)
{
    size_t base = 0;
    for (size_t i = 0; i < t->themes; i++) {
        const struct option_theme *theme = &t->theme[i];
        if (row >= theme->row && row < theme->row + *theme->n)
            return base + (size_t)(row - theme->row);
        base += *theme->n;
    }
    die("option row of no theme");
}

bool option_row_is_of(const struct option_table *t, const struct option_row *row)
{
    return !t->command || (row->commands & t->command);
}

/* ---- finding ---- */

/* The spellings of a row one after the other: start with *rest NULL. */
static bool spelling_next(const struct option_row *row, const char **rest, struct span *ret)
{
    if (!*rest) {
        *ret = span_of(row->name);
        *rest = row->alias ? row->alias : "";
        return true;
    }
    struct span left = span_of(**rest ? *rest : NULL);
    if (!span_next(&left, ' ', ret))
        return false;
    *rest = ret->data + ret->len;
    *rest += **rest == ' ';
    return true;
}

enum match { MATCH_NONE, MATCH_PREFIX, MATCH_EXACT };

static enum match name_match(struct span name, struct span asked)
{
    if (asked.len > name.len || memcmp(name.data, asked.data, asked.len) != 0)
        return MATCH_NONE;
    return asked.len == name.len ? MATCH_EXACT : MATCH_PREFIX;
}

/* What Slurm 25.05 does not have makes no prefix of its options ambiguous: it is named whole. */
static bool prefix_fits(const struct option_row *row, struct span name, struct span asked)
{
    bool foreign = row->support == SUPPORT_REFUSED && row->hidden;
    enum match m = name_match(name, asked);
    return m == MATCH_EXACT || (m == MATCH_PREFIX && !foreign);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* *ret: the spelling that fits best, of equal ones the first, as getopt has it. */
static enum match row_match(const struct option_row *row, struct span asked, struct span *ret)
{
    enum match best = MATCH_NONE;
    const char *rest = NULL;
    struct span name;
    while (best != MATCH_EXACT && spelling_next(row, &rest, &name)) {
        enum match m = name_match(name, asked);
        if (m > best && prefix_fits(row, name, asked)) {
            best = m;
            *ret = name;
        }
    }
    return best;
}

const struct option_row *option_row_named(const struct option_table *t, const char *name)
{
    const struct option_row *row;
    struct span spelt;
    for (size_t i = 0; (row = option_row_at(t, i)); i++)
        if (option_row_is_of(t, row) && (row->name[0] == name[0] || row->alias) &&
            row_match(row, span_of(name), &spelt) == MATCH_EXACT)
            return row;
    return NULL;
}

const struct option_row *option_row_letter(const struct option_table *t, char letter)
{
    const struct option_row *row;
    for (size_t i = 0; (row = option_row_at(t, i)); i++)
        if (option_row_is_of(t, row) && row->letter == letter)
            return row;
    return NULL;
}

/* `word`: as typed, with its --name=value, which getopt shows too. */
static void unknown_refuse(const struct option_table *t, struct span name, const char *word,
                           struct err *e)
{
    const char *names[2 * OPTION_MAX];
    const struct option_row *row;
    struct span spelt;
    size_t n = 0;
    struct arena *a = arena_new();
    for (size_t i = 0; (row = option_row_at(t, i)); i++) {
        const char *rest = NULL;
        while (option_row_is_of(t, row) && n < ARRAY_LEN(names) &&
               spelling_next(row, &rest, &spelt))
            names[n++] = arena_strndup(a, spelt.data, spelt.len);
    }
    const char *near = text_nearest(arena_strndup(a, name.data, name.len), names, n);
    if (near)
        err_set(e, ERR_USAGE, "unrecognized option '%s' (did you mean '%s%s'?)", word,
                t->one_dash ? "-" : "--", near);
    else
        err_set(e, ERR_USAGE, "unrecognized option '%s'", word);
    arena_free(a);
}

static void ambiguous_refuse(const struct option_table *t, struct span name, const char *word,
                             struct err *e)
{
    const char *names[2 * OPTION_MAX];
    struct str list = STR_INIT;
    const struct option_row *row;
    struct span spelt;
    size_t n = 0;
    struct arena *a = arena_new();
    for (size_t i = 0; (row = option_row_at(t, i)); i++) {
        const char *rest = NULL;
        while (option_row_is_of(t, row) && n < ARRAY_LEN(names) &&
               spelling_next(row, &rest, &spelt))
            if (prefix_fits(row, spelt, name) && !memchr(spelt.data, '_', spelt.len))
                names[n++] = arena_strndup(a, spelt.data, spelt.len);
    }
    if (t->command) /* one table of several commands, by themes */
        qsort(names, n, sizeof *names, by_name);
    for (size_t i = 0; i < n; i++)
        str_addf(&list, " '--%s'", names[i]);
    arena_free(a);
    err_set(e, ERR_USAGE, "option '%s' is ambiguous; possibilities:%s", word, str_text(&list));
    str_done(&list);
}

/* Exact, else a prefix that fits one row only. *ret: as it is spelt in full. */
static const struct option_row *row_find(const struct option_table *t, struct span name,
                                         const char *word, struct span *ret, struct err *e)
{
    const struct option_row *row, *found = NULL;
    struct span spelt = {0};
    size_t prefixes = 0;
    for (size_t i = 0; (row = option_row_at(t, i)); i++) {
        enum match m = option_row_is_of(t, row) ? row_match(row, name, &spelt) : MATCH_NONE;
        if (m != MATCH_NONE)
            *ret = spelt;
        if (m == MATCH_EXACT)
            return row;
        if (m == MATCH_PREFIX) {
            found = row;
            prefixes++;
        }
    }
    if (prefixes == 1)
        return found;
    if (prefixes > 1)
        ambiguous_refuse(t, name, word, e);
    else
        unknown_refuse(t, name, word, e);
    return NULL;
}

/* ---- command lines ---- */

struct option_reader {
    const struct option_table *table;
    int argc, at;
    char *const *argv;
    option_taker take;
    void *ctx;
};

static bool next_word(struct option_reader *r, const char **ret)
{
    if (r->at >= r->argc)
        return false;
    *ret = r->argv[r->at++];
    return true;
}

/* The value of an option that has none attached: the next word, if it is to have it. False: it is
 * missing. */
static bool value_behind(struct option_reader *r, const struct option_row *row, const char **ret)
{
    if (row->arg == ARG_REQUIRED)
        return next_word(r, ret);
    if (row->arg == ARG_NEXT && r->at < r->argc && (r->argv[r->at][0] != '-' || !r->argv[r->at][1]))
        *ret = r->argv[r->at++];
    return true;
}

static bool no_argument_refuse(const struct option_row *row, struct span spelt, const char *value,
                               struct err *e)
{
    if (text_is_nocase(value, row->newer))
        return err_set(e, ERR_USAGE,
                       "option '--%.*s' doesn't allow an argument (=%s is newer than Slurm 25.05)",
                       (int)spelt.len, spelt.data, row->newer);
    return err_set(e, ERR_USAGE, "option '--%.*s' doesn't allow an argument", (int)spelt.len,
                   spelt.data);
}

static bool long_take(struct option_reader *r, const char *word, struct err *e)
{
    const char *equals = strchr(word, '='), *value = equals ? equals + 1 : NULL;
    struct span name = {word + 2, equals ? (size_t)(equals - word - 2) : strlen(word + 2)},
                spelt = {0};
    const struct option_row *row = row_find(r->table, name, word, &spelt, e);
    if (!row)
        return false;
    if (row->arg == ARG_NONE && value)
        return no_argument_refuse(row, spelt, value, e);
    if (!value && !value_behind(r, row, &value))
        return err_set(e, ERR_USAGE, "option '--%.*s' requires an argument", (int)spelt.len,
                       spelt.data);
    return r->take(r->ctx, row, value, e);
}

/* "-Hn4": flags may be bundled; what follows a letter that takes a value is its value. */
static bool letters_take(struct option_reader *r, const char *letters, struct err *e)
{
    while (*letters) {
        const struct option_row *row = option_row_letter(r->table, *letters);
        if (!row)
            return err_set(e, ERR_USAGE, "invalid option -- '%c'", *letters);
        letters++;
        const char *value = NULL;
        if (row->arg != ARG_NONE && *letters) {
            bool equals = r->table->letters_equals && row->arg != ARG_REQUIRED && *letters == '=';
            value = letters + equals;
            letters = "";
        } else if (!value_behind(r, row, &value)) {
            return r->table->letters_named
                       ? err_set(e, ERR_USAGE, "option requires an argument -- '%c' (it is --%s)",
                                 row->letter, row->name)
                       : err_set(e, ERR_USAGE, "option requires an argument -- '%c'", row->letter);
        }
        if (!r->take(r->ctx, row, value, e))
            return false;
    }
    return true;
}

/* "-n4" is "-n 4", as people write it; of other values only the next word is one. */
static const struct option_row *attached_find(const struct option_table *t, const char *word,
                                              const char **ret_value)
{
    char letter[2] = {word[1], 0};
    bool may = t->letters_attach || (word[2] >= '0' && word[2] <= '9');
    const struct option_row *row = may && word[2] ? option_row_named(t, letter) : NULL;
    *ret_value = word + 2;
    return row && row->arg == ARG_REQUIRED ? row : NULL;
}

/* "-xf" is "-x -f" where letters are put together. */
static const struct option_row *bundled_find(const struct option_table *t, const char *word)
{
    char letter[2] = {word[1], 0};
    const struct option_row *row =
        t->letters_attach && word[2] ? option_row_named(t, letter) : NULL;
    return row && row->arg == ARG_NONE ? row : NULL;
}

/* "-J name", "-oo file", "-H"; two dashes are as good, for --help. */
static bool one_dash_take(struct option_reader *r, const char *word, struct err *e)
{
    const char *name = word[1] == '-' ? word + 2 : word + 1, *value = NULL;
    const struct option_row *row = option_row_named(r->table, name);
    if (!row && word[1] != '-' && (row = attached_find(r->table, word, &value)))
        return r->take(r->ctx, row, value, e);
    if (!row && word[1] != '-' && (row = bundled_find(r->table, word)))
        return r->take(r->ctx, row, NULL, e) && one_dash_take(r, word + 1, e);
    if (!row) {
        unknown_refuse(r->table, span_of(name), word, e);
        return false;
    }
    if (row->arg != ARG_NONE && !value_behind(r, row, &value))
        return err_set(e, ERR_USAGE, "option requires an argument -- '%s'", row->name);
    return r->take(r->ctx, row, value, e);
}

bool options_walk(const struct option_table *t, int argc, char *const argv[], option_taker take,
                  bool (*word_take)(void *ctx, const char *word, struct err *ret_err), void *ctx,
                  int *ret_rest, struct err *ret_err)
{
    struct option_reader r = {t, argc, 1, argv, take, ctx};
    bool only_words = false, ok = true, shows = false;
    while (ok && r.at < argc) {
        const char *word = argv[r.at];
        bool option = !only_words && word[0] == '-' && word[1];
        shows |= option && (text_is(word, "--help") || text_is(word, "--usage") ||
                            text_is(word, "--version") || text_is(word, "-V"));
        if (!option && t->words == WORDS_END)
            break;
        r.at++;
        if (!option && shows)
            continue; /* what is asked for is shown, whatever else stands there */
        if (!option)
            ok = t->words == WORDS_MIXED
                     ? word_take(ctx, word, ret_err)
                     : err_set(ret_err, ERR_INVALID, "Unrecognized option: %s", word);
        else if (text_is(word, "--"))
            only_words = true;
        else if (t->one_dash)
            ok = one_dash_take(&r, word, ret_err);
        else
            ok =
                word[1] == '-' ? long_take(&r, word, ret_err) : letters_take(&r, word + 1, ret_err);
    }
    if (ret_rest)
        *ret_rest = r.at;
    return ok;
}

/* ---- variables ---- */

/* sbatch(1): a flag's variable enables it when empty, "yes" or a number other than 0. */
static bool flag_enabled(const char *value)
{
    int64_t n;
    return !*value || text_is_nocase(value, "yes") ||
           (text_to_i64(value, INT64_MIN, INT64_MAX, &n) && n != 0);
}

/* SBATCH_DEBUG tells how often -v is meant. */
static bool level_take(const struct option_row *row, const char *value, option_taker take,
                       void *ctx, struct err *e)
{
    int64_t level = 0;
    text_to_i64(value, 0, 9, &level);
    for (; level > 0; level--)
        if (!take(ctx, row, NULL, e))
            return false;
    return true;
}

static bool variable_take(const struct option_table *t, const struct option_row *row,
                          const char *name, const char *value, option_taker take, void *ctx,
                          struct err *e)
{
    if (row->set == set_count)
        return level_take(row, value, take, ctx, e);
    if (t->variables_as_are)
        return take(ctx, row, row->arg == ARG_NONE ? NULL : value, e);
    if (row->arg == ARG_NONE && !flag_enabled(value))
        return true;
    if (row->arg == ARG_REQUIRED && !*value)
        return true;
    return take(ctx, row, row->arg == ARG_NONE || !*value ? NULL : value, e) ||
           err_prefix(e, "environment variable %s", name);
}

bool options_walk_variables(const struct option_table *t, char *(*get)(const char *name),
                            option_taker take, void *ctx, struct err *ret_err)
{
    const struct option_row *row;
    for (size_t i = 0; (row = option_row_at(t, i)); i++) {
        struct span rest = span_of(option_row_is_of(t, row) ? row->env[t->variables] : NULL), one;
        const char *value = NULL;
        char name[64] = "";
        while (!value && span_next(&rest, ' ', &one)) {
            CHECK(one.len < sizeof name);
            memcpy(name, one.data, one.len);
            name[one.len] = 0;
            value = get(name);
        }
        if (value && !variable_take(t, row, name, value, take, ctx, ret_err))
            return false;
    }
    return true;
}

/* ---- a command line into one struct ---- */

static bool row_set(struct option_line *l, const struct option_row *row, const char *value,
                    enum option_source source, struct err *e)
{
    size_t i = option_row_index(l->table, row);
    ASSERT(i < OPTION_MAX);
    if (!row->set)
        return err_set(e, ERR_UNSUPPORTED, "%s%s: %s", l->table->one_dash ? "-" : "--", row->name,
                       row->why);
    if (!row->set(l->to, row, value, l->env, l->a, e))
        return false;
    l->source[i] = source;
    l->given[i] = value ? arena_strdup(l->a, value) : "";
    return true;
}

static bool option_take(void *ctx, const struct option_row *row, const char *value,
                        struct err *ret_err)
{
    return row_set(ctx, row, value, FROM_COMMAND_LINE, ret_err);
}

static bool word_take(void *ctx, const char *word, struct err *ret_err)
{
    struct option_line *l = ctx;
    return l->table->word(l->to, word, l->a, ret_err);
}

bool option_line_read(struct option_line *l, int argc, char *const argv[], struct err *ret_err)
{
    return options_walk(l->table, argc, argv, option_take, word_take, l, &l->rest_at, ret_err);
}

static bool variable_counts(const struct option_line *l, const struct option_row *row,
                            const char *value)
{
    if (l->source[option_row_index(l->table, row)] != FROM_DEFAULT)
        return false;
    if (row->rival && option_line_has(l, row->rival))
        return false;
    return !l->variable_counts || l->variable_counts(l->to, row, value);
}

static bool stand_in_take(void *ctx, const struct option_row *row, const char *value,
                          struct err *ret_err)
{
    return !variable_counts(ctx, row, value) || row_set(ctx, row, value, FROM_ENVIRONMENT, ret_err);
}

bool option_line_read_variables(struct option_line *l, char *(*get)(const char *name),
                                struct err *ret_err)
{
    return options_walk_variables(l->table, get, stand_in_take, l, ret_err);
}

bool option_line_has(const struct option_line *l, const char *name)
{
    const struct option_row *row = option_row_named(l->table, name);
    return row && l->source[option_row_index(l->table, row)] == FROM_COMMAND_LINE;
}
