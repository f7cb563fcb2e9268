#include "base/help.h"

#include <string.h>

#define DOC_COLUMN 30
#define LINE_MAX_  79

static const char *meta(const struct help_option *o)
{
    return o->metavar ? o->metavar : "value";
}

void help_spell(const struct help_option *o, struct str *out)
{
    if (o->name && o->one_dash) {
        str_addf(out, "-%s%s%s", o->name, o->value ? " " : "", o->value ? meta(o) : "");
        return;
    }
    if (!o->name) {
        str_addf(out, "-%c%s%s", o->letter, o->value ? " " : "", o->value ? meta(o) : "");
        return;
    }
    str_addf(out, "--%s", o->name);
    if (o->value == HELP_OPTIONAL)
        str_addf(out, "[=%s]", meta(o));
    else if (o->value == HELP_REQUIRED)
        str_addf(out, "=%s", meta(o));
}

void help_row(const struct help_option *o, struct str *out)
{
    size_t start = out->len;
    if (o->letter && o->name)
        str_addf(out, "  -%c, ", o->letter);
    else
        str_add(out, o->name && !o->one_dash ? "      " : "  ");
    help_spell(o, out);
    if (out->len - start >= DOC_COLUMN) {
        str_addc(out, '\n');
        start = out->len;
    }
    while (out->len - start < DOC_COLUMN)
        str_addc(out, ' ');
    str_addf(out, "%s\n", o->doc ? o->doc : "");
}

struct wrap {
    struct str *out;
    size_t line, indent; /* where the line began; how far the next is moved in */
};

static void word_add(struct wrap *w, const char *word)
{
    if (w->out->len - w->line + 1 + strlen(word) > LINE_MAX_) {
        str_addc(w->out, '\n');
        w->line = w->out->len;
        for (size_t i = 0; i < w->indent; i++)
            str_addc(w->out, ' ');
    }
    str_addf(w->out, " %s", word);
}

static void flags_add(struct wrap *w, const struct help_option *o, size_t n)
{
    struct str flags = STR_INIT;
    for (size_t i = 0; i < n; i++)
        if (o[i].letter && !o[i].value)
            str_addc(&flags, o[i].letter);
    if (flags.len) {
        struct str word = STR_INIT;
        str_addf(&word, "[-%s]", str_text(&flags));
        word_add(w, str_text(&word));
        str_done(&word);
    }
    str_done(&flags);
}

static void option_add(struct wrap *w, const struct help_option *o)
{
    struct str word = STR_INIT;
    if (o->letter && !o->value)
        return;
    str_addc(&word, '[');
    if (o->letter && o->value == HELP_REQUIRED)
        str_addf(&word, "-%c %s", o->letter, meta(o));
    else
        help_spell(o, &word);
    str_addc(&word, ']');
    word_add(w, str_text(&word));
    str_done(&word);
}

void help_usage(const char *command, const struct help_option *o, size_t n, const char *words,
                struct str *out)
{
    struct wrap w = {out, out->len, 0};
    str_addf(out, "Usage: %s", command);
    w.indent = out->len - w.line;
    flags_add(&w, o, n);
    for (size_t i = 0; i < n; i++)
        option_add(&w, &o[i]);
    if (words && *words)
        word_add(&w, words);
    str_addc(out, '\n');
}
