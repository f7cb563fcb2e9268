#include "cli/program/options.h"

#include "base/alloc.h"
#include "base/help.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef bool (*set_fn)(void *ctx, int id, const char *value, struct err *ret_err);

struct parser {
    const struct cli_options *table;
    int argc, at;
    char **argv;
    set_fn set;
    void *ctx;
};

static void name_unknown(const struct cli_options *t, const char *name, const char *word, struct err *ret_err)
{
    const char **names = xcalloc(t->n, sizeof *names);
    for (size_t i = 0; i < t->n; i++)
        names[i] = t->option[i].name;
    const char *near = text_nearest(name, names, t->n);
    free(names);
    if (near)
        err_set(ret_err, ERR_USAGE, "unrecognized option '%s' (did you mean '--%s'?)", word, near);
    else
        err_set(ret_err, ERR_USAGE, "unrecognized option '%s'", word);
}

static void name_ambiguous(const struct cli_options *t, const char *name, size_t len, const char *word,
                           struct err *ret_err)
{
    struct str list = STR_INIT;
    for (size_t i = 0; i < t->n; i++)
        if (t->option[i].name && strncmp(t->option[i].name, name, len) == 0)
            str_addf(&list, " '--%s'", t->option[i].name);
    err_set(ret_err, ERR_USAGE, "option '%s' is ambiguous; possibilities:%s", word, str_text(&list));
    str_done(&list);
}

/* Exact, else a prefix that fits options of one id only. `word`: as typed. */
static const struct cli_option *by_name(const struct cli_options *t, const char *name, size_t len,
                                        const char *word, struct err *ret_err)
{
    const struct cli_option *found = NULL;
    char shown[64];
    snprintf(shown, sizeof shown, "%.*s", (int)(len < 60 ? len : 60), name);
    for (size_t i = 0; i < t->n; i++) {
        const struct cli_option *o = &t->option[i];
        if (!o->name || strncmp(o->name, name, len) != 0)
            continue;
        if (strlen(o->name) == len)
            return o;
        if (found && found->id != o->id) {
            name_ambiguous(t, name, len, word, ret_err);
            return NULL;
        }
        found = o;
    }
    if (!found || len == 0)
        name_unknown(t, shown, word, ret_err);
    return len ? found : NULL;
}

static const struct cli_option *by_letter(const struct cli_options *t, char letter)
{
    for (size_t i = 0; i < t->n; i++)
        if (letter && t->option[i].letter == letter)
            return &t->option[i];
    return NULL;
}

static bool next_word(struct parser *p, const char **ret)
{
    if (p->at >= p->argc)
        return false;
    *ret = p->argv[p->at++];
    return true;
}

static bool long_take(struct parser *p, const char *word, struct err *ret_err)
{
    const char *equals = strchr(word + 2, '='), *value = NULL;
    size_t len = equals ? (size_t)(equals - word - 2) : strlen(word + 2);
    const struct cli_option *o = by_name(p->table, word + 2, len, word, ret_err);
    if (!o)
        return false;
    if (equals && o->arg == CLI_NONE)
        return err_set(ret_err, ERR_USAGE, "option '--%s' doesn't allow an argument", o->name);
    if (equals)
        value = equals + 1;
    else if (o->arg == CLI_VALUE && !next_word(p, &value))
        return err_set(ret_err, ERR_USAGE, "option '--%s' requires an argument", o->name);
    return p->set(p->ctx, o->id, value, ret_err);
}

static bool letters_take(struct parser *p, const char *word, struct err *ret_err)
{
    for (const char *at = word + 1; *at; at++) {
        const struct cli_option *o = by_letter(p->table, *at);
        const char *value = NULL;
        if (!o)
            return err_set(ret_err, ERR_USAGE, "invalid option -- '%c'", *at);
        if (o->arg != CLI_NONE && at[1])
            value = at[1] == '=' && o->arg == CLI_ATTACHED ? at + 2 : at + 1;
        else if (o->arg == CLI_VALUE && !next_word(p, &value))
            return err_set(ret_err, ERR_USAGE, "option requires an argument -- '%c'", *at);
        if (!p->set(p->ctx, o->id, value, ret_err))
            return false;
        if (value)
            break;
    }
    return true;
}

bool cli_parse(const struct cli_options *table, int argc, char **argv, set_fn set, void *ctx,
               struct err *ret_err)
{
    struct parser p = {.table = table, .argc = argc, .at = 1, .argv = argv, .set = set, .ctx = ctx};
    bool only_words = false;
    while (p.at < argc) {
        const char *word = argv[p.at++];
        bool ok;
        if (!only_words && text_is(word, "--")) {
            only_words = true;
            continue;
        }
        if (!only_words && text_starts(word, "--"))
            ok = long_take(&p, word, ret_err);
        else if (!only_words && word[0] == '-' && word[1])
            ok = letters_take(&p, word, ret_err);
        else if (table->words_allowed)
            ok = set(ctx, CLI_WORD, word, ret_err);
        else
            ok = err_set(ret_err, ERR_INVALID, "Unrecognized option: %s", word);
        if (!ok)
            return false;
    }
    return true;
}

/* ---- help ---- */

static enum help_value value_kind(enum cli_arg arg)
{
    switch (arg) {
    case CLI_NONE: return HELP_NONE;
    case CLI_VALUE: return HELP_REQUIRED;
    case CLI_ATTACHED: return HELP_OPTIONAL;
    }
    return HELP_NONE;
}

/* The doc without its back quotes; what stood between them is the name of the value. */
static struct help_option help_of(const struct cli_option *o, struct arena *a)
{
    const char *from = strchr(o->doc, '`'), *to = from ? strchr(from + 1, '`') : NULL;
    struct help_option h = {o->name, o->letter, value_kind(o->arg), NULL, o->doc};
    if (to) {
        h.metavar = arena_strndup(a, from + 1, (size_t)(to - from - 1));
        h.doc = arena_printf(a, "%.*s%s%s", (int)(from - o->doc), o->doc, h.metavar, to + 1);
    }
    return h;
}

static bool of_help(const struct cli_option *o)
{
    return text_is(o->name, "help") || text_is(o->name, "usage");
}

static void rows_add(const struct cli_options *table, bool want, bool both, struct str *out)
{
    struct arena *a = arena_new();
    for (size_t i = 0; i < table->n; i++) {
        if (!table->option[i].doc || (!both && of_help(&table->option[i]) != want))
            continue;
        struct help_option h = help_of(&table->option[i], a);
        help_row(&h, out);
    }
    arena_free(a);
}

void cli_help_print(const struct cli_options *table, const char *usage)
{
    struct str text = STR_INIT;
    bool valid = strstr(usage, "[<OPTION>]") != NULL, sshare = strstr(usage, "[OPTION]") != NULL;
    str_addf(&text, "%s%s\n", valid ? "" : "Usage: ", usage);
    if (valid || sshare) {
        str_add(&text, valid ? "    Valid <OPTION> values are:\n" : "  Valid OPTIONs are:\n");
        rows_add(table, false, true, &text);
    } else {
        rows_add(table, false, false, &text);
        str_add(&text, "\nHelp options:\n");
        rows_add(table, true, false, &text);
    }
    fputs(str_text(&text), stdout);
    str_done(&text);
}

void cli_usage_print(const struct cli_options *table, const char *usage)
{
    struct str text = STR_INIT;
    struct arena *a = arena_new();
    size_t name = strcspn(usage, " "), n = 0;
    const char *words = strchr(usage, ']');
    if (strstr(usage, "OPTION>]") || strstr(usage, "OPTION]")) {
        printf("Usage: %.*s [options]%s\n\tUse --help for all of them\n", (int)name, usage, words + 1);
    } else {
        struct help_option *o = arena_alloc(a, (table->n + 1) * sizeof *o);
        for (size_t i = 0; i < table->n; i++)
            if (table->option[i].doc)
                o[n++] = help_of(&table->option[i], a);
        help_usage(arena_strndup(a, usage, name), o, n, words ? words + 1 + (words[1] == ' ') : "", &text);
        fputs(str_text(&text), stdout);
    }
    arena_free(a);
    str_done(&text);
}
