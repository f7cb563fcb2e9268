/* #BSUB lines: at the start of a line, anywhere in the script. Words are parted by blanks, quotes
 * keep them together, a word that begins with '#' ends the line, and a backslash at its end goes on
 * in the next one. */
#include "script/lsf/lsf.h"

#include "base/alloc.h"

#include <string.h>

struct lsf_script {
    struct lsf_request *r;
    const struct option_env *env;
    struct arena *a;
    struct str *warnings;
    unsigned line, lines;
    unsigned foreign; /* lines of other systems */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static bool starts_with(struct span s, const char *prefix)
{
    size_t len = strlen(prefix);
    return s.len >= len && memcmp(s.data, prefix, len) == 0;
}

/* 1 with a word, 0 at the end, -1 with the error set. `word`: room for all that is left. */
static int word_take(const struct lsf_script *s, char *word, struct span *rest, char **ret,
                     struct err *e)
{
    size_t i = 0, n = 0;
    while (i < rest->len && is_blank(rest->data[i]))
        i++;
    if (i == rest->len || rest->data[i] == '#')
        return 0;
    char quote = 0;
    for (; i < rest->len && (quote || !is_blank(rest->data[i])); i++) {
        char c = rest->data[i];
        if (quote ? c == quote : c == '"' || c == '\'')
            quote = quote ? 0 : c;
        else
            word[n++] = c;
    }
    if (quote) {
        err_set(e, ERR_VALUE, "the quote is not closed");
        return -1;
    }
    *rest = (struct span){rest->data + i, rest->len - i};
    *ret = arena_strndup(s->a, word, n);
    return 1;
}

static bool words_read(struct lsf_script *s, struct span rest, struct err *e)
{
    dialect_words words = {0};
    char name[] = "bsub", *word, *room = arena_alloc(s->a, rest.len + 1);
    int more, at = 0;
    vec_push(&words, name);
    while ((more = word_take(s, room, &rest, &word, e)) == 1)
        vec_push(&words, word);
    bool ok =
        more == 0 && lsf_read_words(s->r, (int)words.n, words.v, s->env, s->a, &at, e) &&
        (at == (int)words.n ||
         err_set(e, ERR_VALUE, "\"%.100s\" is no option; a value with a blank in it is quoted",
                 words.v[at]));
    vec_done(&words);
    return ok || err_prefix(e, "line %u", s->line);
}

/* Takes the line; where it ends in a backslash with the next one's behind it. */
static struct span line_take(struct lsf_script *s, struct span *rest)
{
    struct span line = {rest->data, 0};
    const char *end = memchr(rest->data, '\n', rest->len);
    line.len = end ? (size_t)(end - rest->data) : rest->len;
    size_t used = end ? line.len + 1 : line.len;
    *rest = (struct span){rest->data + used, rest->len - used};
    s->line++;
    return line;
}

static bool directive_read(struct lsf_script *s, struct span line, struct span *rest, struct err *e)
{
    struct str whole = STR_INIT;
    unsigned first = s->line;
    str_addn(&whole, line.data + 5, line.len - 5);
    while (whole.len && whole.data[whole.len - 1] == '\\' && rest->len) {
        str_cut(&whole, whole.len - 1);
        struct span next = line_take(s, rest);
        size_t skip = starts_with(next, "#BSUB") ? 5 : 0;
        str_addn(&whole, next.data + skip, next.len - skip);
    }
    unsigned last = s->line;
    s->line = first;
    struct span words = span_of(arena_strndup(s->a, str_text(&whole), whole.len));
    str_done(&whole);
    s->lines++;
    option_watch_line(s->env, first);
    bool ok = option_watched_line(s->env, words_read(s, words, e), e);
    option_watch_line(s->env, 0);
    s->line = last;
    return ok;
}

static void other_note(struct lsf_script *s, struct span line)
{
    const char *other = starts_with(line, "#SBATCH ") ? "#SBATCH"
                        : starts_with(line, "#PBS ")  ? "#PBS"
                                                      : NULL;
    struct span inner = span_trim(line);
    if (other && s->foreign++ == 0)
        str_addf(s->warnings, "line %u: %s lines are not read; bsub reads #BSUB\n", s->line, other);
    if (inner.len && inner.data[0] == '#' && !other) {
        inner = span_trim((struct span){inner.data + 1, inner.len - 1});
        if (starts_with(inner, "BSUB -"))
            str_addf(s->warnings, "line %u: not read, because it does not begin with #BSUB: %.*s\n",
                     s->line, (int)(line.len < 100 ? line.len : 100), line.data);
    }
}

bool lsf_read_script(struct lsf_request *r, const char *text, size_t len,
                     const struct option_env *env, struct arena *a, struct str *warnings,
                     unsigned *ret_lines, struct err *ret_err)
{
    struct lsf_script s = {.r = r, .env = env, .a = a, .warnings = warnings};
    struct span rest = {text, len};
    bool ok = true;
    while (ok && rest.len) {
        struct span line = line_take(&s, &rest);
        if (line.len > 5 && starts_with(line, "#BSUB") && is_blank(line.data[5]))
            ok = directive_read(&s, line, &rest, ret_err);
        else
            other_note(&s, line);
    }
    *ret_lines = s.lines;
    return ok;
}
