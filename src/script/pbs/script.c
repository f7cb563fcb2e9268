/* #PBS lines: before the first command; blanks may stand before them, and none need follow. */
#include "script/pbs/pbs.h"

#include "base/alloc.h"

#include <string.h>

struct pbs_script {
    struct pbs_request *r;
    const char *prefix;
    const struct option_env *env;
    struct arena *a;
    struct str *warnings;
    unsigned line, lines, dropped, foreign;
    bool commands;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static struct span blanks_off(struct span s)
{
    while (s.len && is_blank(s.data[0]))
        s = (struct span){s.data + 1, s.len - 1};
    while (s.len && is_blank(s.data[s.len - 1]))
        s.len--;
    return s;
}

static bool starts_with(struct span s, const char *prefix)
{
    size_t len = strlen(prefix);
    return s.len >= len && memcmp(s.data, prefix, len) == 0;
}

/* 1 with a word, 0 at the end, -1 with the error set. `word`: room for all that is left. */
static int word_take(const struct pbs_script *s, char *word, struct span *rest, char **ret,
                     struct err *e)
{
    size_t i = 0, n = 0;
    *rest = blanks_off(*rest);
    if (!rest->len)
        return 0;
    char quote = 0;
    for (; i < rest->len && (quote || !is_blank(rest->data[i])); i++) {
        char c = rest->data[i];
        if (c == '\\' && i + 1 < rest->len)
            word[n++] = rest->data[++i];
        else if (quote ? c == quote : c == '"' || c == '\'')
            quote = quote ? 0 : c;
        else
            word[n++] = c;
    }
    if (quote) {
        err_set(e, ERR_VALUE, "unmatched %c", quote);
        return -1;
    }
    *rest = (struct span){rest->data + i, rest->len - i};
    *ret = arena_strndup(s->a, word, n);
    return 1;
}

/* Torque passes over words that are none of its options; Pro refuses the line. */
static bool surplus_check(const struct pbs_script *s, const char *word, struct span line,
                          struct err *e)
{
    if (s->r->site->torque) {
        str_addf(s->warnings, "line %u: \"%.60s\" is no option\n", s->line, word);
        return true;
    }
    return err_set(e, ERR_VALUE, "directive error: %.*s", (int)(line.len < 200 ? line.len : 200),
                   line.data);
}

static bool words_read(struct pbs_script *s, struct span line, struct err *e)
{
    dialect_words words = {0};
    struct span rest = line = blanks_off(line);
    char name[] = "qsub", *word, *room = arena_alloc(s->a, rest.len + 1);
    int more, at = 0;
    vec_push(&words, name);
    while ((more = word_take(s, room, &rest, &word, e)) == 1)
        vec_push(&words, word);
    bool ok = more == 0, told = false;
    /* Behind a word that is none, Torque reads on. */
    for (size_t from = 0; ok && from < words.n; from += (size_t)at) {
        words.v[from] = name;
        ok = pbs_read_words(s->r, (int)(words.n - from), words.v + from, s->env, s->a, &at, e);
        if (ok && from + (size_t)at < words.n && !told)
            ok = told = surplus_check(s, words.v[from + (size_t)at], line, e);
    }
    vec_done(&words);
    return ok || err_prefix(e, "line %u", s->line);
}

static void other_note(struct pbs_script *s, struct span line)
{
    if (starts_with(line, s->prefix) && s->dropped++ == 0)
        str_addf(s->warnings,
                 "line %u: not read, because it stands after the first command: %.*s\n", s->line,
                 (int)(line.len < 100 ? line.len : 100), line.data);
    const char *other = starts_with(line, "#SBATCH ") ? "#SBATCH"
                        : starts_with(line, "#BSUB ") ? "#BSUB"
                        : starts_with(line, "#$ -")   ? "#$ (Grid Engine's)"
                                                      : NULL;
    if (other && !s->commands && s->foreign++ == 0)
        str_addf(s->warnings, "line %u: %s lines are not read; qsub reads %s\n", s->line, other,
                 s->prefix);
}

static bool line_read(struct pbs_script *s, struct span line, struct span *rest, struct err *e)
{
    struct span inner = blanks_off(line);
    if (s->commands || !starts_with(inner, s->prefix)) {
        other_note(s, inner);
        bool first = s->line == 1 && (starts_with(inner, "#!") || starts_with(inner, ":"));
        s->commands |= inner.len && inner.data[0] != '#' && !first;
        return true;
    }
    struct str whole = STR_INIT;
    unsigned first = s->line;
    size_t skip = strlen(s->prefix);
    str_addn(&whole, inner.data + skip, inner.len - skip);
    while (whole.len && whole.data[whole.len - 1] == '\\' && rest->len) {
        struct span next;
        span_next(rest, '\n', &next);
        s->line++;
        next = blanks_off(next);
        skip = starts_with(next, s->prefix) ? strlen(s->prefix) : 0;
        next = blanks_off((struct span){next.data + skip, next.len - skip});
        str_cut(&whole, whole.len - 1);
        str_addn(&whole, next.data, next.len);
    }
    struct span words = span_of(arena_strndup(s->a, str_text(&whole), whole.len));
    str_done(&whole);
    s->lines++;
    unsigned last = s->line;
    s->line = first;
    option_watch_line(s->env, first);
    bool ok = option_watched_line(s->env, words_read(s, words, e), e);
    option_watch_line(s->env, 0);
    s->line = last;
    return ok;
}

bool pbs_read_script(struct pbs_request *r, const char *text, size_t len,
                     const struct option_env *env, struct arena *a, struct str *warnings,
                     unsigned *ret_lines, struct err *ret_err)
{
    struct pbs_script s = {
        .r = r, .prefix = r->prefix ? r->prefix : "#PBS", .env = env, .a = a, .warnings = warnings};
    struct span rest = {text, len}, line;
    const char *prefix = r->prefix;
    bool ok = true;
    r->in_script = true;
    while (ok && *s.prefix && rest.len && span_next(&rest, '\n', &line)) {
        s.line++;
        ok = line_read(&s, line, &rest, ret_err);
        r->prefix = prefix; /* -C inside a script says nothing */
    }
    r->in_script = false;
    *ret_lines = s.lines;
    return ok;
}
