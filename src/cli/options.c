#include "cli/options.h"

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

static bool name_unknown(const struct cli_options *t, const char *name, struct err *ret_err)
{
    const char **names = xcalloc(t->n, sizeof *names);
    for (size_t i = 0; i < t->n; i++)
        names[i] = t->option[i].name;
    const char *near = text_nearest(name, names, t->n);
    free(names);
    if (near)
        return err_set(ret_err, ERR_INVALID, "unrecognized option '--%s'; did you mean --%s?", name, near);
    return err_set(ret_err, ERR_INVALID, "unrecognized option '--%s'; --help lists the options", name);
}

/* Exact, else a prefix that fits options of one id only. */
static const struct cli_option *by_name(const struct cli_options *t, const char *name, size_t len,
                                        struct err *ret_err)
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
            err_set(ret_err, ERR_INVALID, "option '--%s' is ambiguous: --%s or --%s", shown, found->name,
                    o->name);
            return NULL;
        }
        found = o;
    }
    if (!found || len == 0)
        name_unknown(t, shown, ret_err);
    return len ? found : NULL;
}

static const struct cli_option *by_letter(const struct cli_options *t, char letter)
{
    for (size_t i = 0; i < t->n; i++)
        if (letter && t->option[i].letter == letter)
            return &t->option[i];
    return NULL;
}

static bool next_word(struct parser *p, const char *shown, const char **ret, struct err *ret_err)
{
    if (p->at >= p->argc)
        return err_set(ret_err, ERR_INVALID, "option '%s' needs a value", shown);
    *ret = p->argv[p->at++];
    return true;
}

static bool long_take(struct parser *p, const char *word, struct err *ret_err)
{
    const char *equals = strchr(word + 2, '='), *value = NULL;
    size_t len = equals ? (size_t)(equals - word - 2) : strlen(word + 2);
    const struct cli_option *o = by_name(p->table, word + 2, len, ret_err);
    if (!o)
        return false;
    if (equals && o->arg == CLI_NONE)
        return err_set(ret_err, ERR_INVALID, "option '--%s' takes no value", o->name);
    if (equals)
        value = equals + 1;
    else if (o->arg == CLI_VALUE && !next_word(p, word, &value, ret_err))
        return false;
    return p->set(p->ctx, o->id, value, ret_err);
}

static bool letters_take(struct parser *p, const char *word, struct err *ret_err)
{
    for (const char *at = word + 1; *at; at++) {
        const struct cli_option *o = by_letter(p->table, *at);
        const char *value = NULL;
        char shown[3] = {'-', *at, '\0'};
        if (!o)
            return err_set(ret_err, ERR_INVALID, "invalid option -- '%c'; --help lists the options", *at);
        if (o->arg != CLI_NONE && at[1])
            value = at[1] == '=' && o->arg == CLI_ATTACHED ? at + 2 : at + 1;
        else if (o->arg == CLI_VALUE && !next_word(p, shown, &value, ret_err))
            return false;
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

void cli_help_print(const struct cli_options *table, const char *usage)
{
    printf("Usage: %s\n", usage);
    for (size_t i = 0; i < table->n; i++) {
        const struct cli_option *o = &table->option[i];
        char names[64];
        if (!o->doc)
            continue;
        if (o->letter && o->name)
            snprintf(names, sizeof names, "-%c, --%s", o->letter, o->name);
        else if (o->name)
            snprintf(names, sizeof names, "    --%s", o->name);
        else
            snprintf(names, sizeof names, "-%c", o->letter);
        printf("  %-26s %s\n", names, o->doc);
    }
}
