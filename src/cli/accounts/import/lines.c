#include "cli/accounts/import/lines.h"

#include "model/settings/settings.h"

#include <string.h>
#include <strings.h>

/* Lines are joined as the parser does (model/settings/config.c). */
void lines_find(struct taken *t)
{
    size_t at = 0;
    bool quoted = false;
    for (size_t i = 0; i < t->origin.n; i++) {
        struct origin *o = &t->origin.v[i];
        const char *from = t->text.data + at, *end = memchr(from, '\n', t->text.len - at);
        size_t len = config_comment_cut((struct span){from, (size_t)(end - from)}, &quoted).len;
        while (len && strchr(" \t", from[len - 1]))
            len--;
        bool joined = len && from[len - 1] == '\\' && i + 1 < t->origin.n;
        *o = (struct origin){o->file, o->line, at, joined ? len : 0, false};
        quoted = quoted && joined;
        at += (size_t)(end - from) + 1;
    }
}

/* The line in which that byte of the text is. */
static const struct origin *origin_of(const struct taken *t, size_t byte)
{
    size_t low = 0, high = t->origin.n;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        if (t->origin.v[mid].at <= byte)
            low = mid;
        else
            high = mid;
    }
    return &t->origin.v[low];
}

/* Does the line go on behind that backslash? */
static bool joins(const struct taken *t, const char *backslash)
{
    if (*backslash != '\\')
        return false;
    size_t byte = (size_t)(backslash - t->text.data);
    const struct origin *o = origin_of(t, byte);
    return o->joint && o->at + o->joint == byte + 1;
}

/* Bytes of what may stand around "=": blanks, and ends of lines that go on. Who asks passes over
 * them, or asks behind few words: a file may be nothing else. */
static size_t gap(const struct taken *t, const char *at)
{
    size_t n = strspn(at, " \t");
    while (joins(t, at + n)) {
        n += strcspn(at + n, "\n") + 1;
        n += strspn(at + n, " \t");
    }
    return n;
}

/* Another word in place of the value; lines stay as many. */
static const char *value_out(const struct taken *t, const char *at, struct str *out)
{
    bool quoted = false, ended = !*at || strchr(" \t\n#", *at);
    if (ended)
        return at;
    str_add(out, "withheld");
    while (*at && *at != '\n' && (quoted || (*at != ' ' && *at != '\t'))) {
        size_t more = joins(t, at) ? gap(t, at) : 0;
        quoted ^= *at == '"';
        if (more) {
            str_addn(out, at, more);
            at += more;
        } else {
            at++;
        }
    }
    return at;
}

void secrets_out(struct taken *t)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    struct str text = STR_INIT;
    lines_find(t);
    for (const char *at = str_text(&t->text); *at;) {
        size_t word = strspn(at, letters);
        bool secret = word >= 4 && strncasecmp(at + word - 4, "Pass", 4) == 0;
        size_t space = secret ? gap(t, at + word) : 0;
        if (secret && at[word + space] == '=') {
            size_t until = word + space + 1;
            until += gap(t, at + until);
            str_addn(&text, at, until);
            at = value_out(t, at + until, &text);
        } else {
            str_addn(&text, at, word ? word : 1);
            at += word ? word : 1;
        }
    }
    str_done(&t->text);
    t->text = text;
    lines_find(t);
}

const char *line_at(const struct taken *t, size_t line)
{
    return str_text(&t->text) + t->origin.v[line - 1].at;
}

size_t line_length(const struct taken *t, size_t line)
{
    size_t end = line < t->origin.n ? t->origin.v[line].at : t->text.len;
    return end - t->origin.v[line - 1].at - 1;
}

bool line_goes_on(const struct taken *t, size_t line)
{
    return t->origin.v[line - 1].joint > 0;
}

/* What a line goes on in that is marked was marked with it. */
void line_mark(struct taken *t, size_t line)
{
    bool more = true;
    for (; more && !t->origin.v[line - 1].out; line++) {
        more = line_goes_on(t, line);
        t->origin.v[line - 1].out = true;
    }
}

/* A comment goes on in no line: its backslash goes. */
void lines_out(struct taken *t)
{
    struct str text = STR_INIT;
    for (size_t line = 1; line <= t->origin.n; line++) {
        struct origin *o = &t->origin.v[line - 1];
        size_t cut = o->out ? o->joint : 0;
        const char *from = line_at(t, line);
        if (o->out)
            str_addc(&text, '#');
        if (cut)
            str_addn(&text, from, cut - 1);
        str_addn(&text, from + cut, line_length(t, line) - cut);
        str_addc(&text, '\n');
    }
    str_done(&t->text);
    t->text = text;
    lines_find(t);
}

/* Bytes to the next of the text's characters, or to where the line goes on. */
static size_t step(const struct taken *t, const char *at)
{
    if (*at != '\\')
        return 1;
    return joins(t, at) ? gap(t, at) : at[1] == '#' ? 2 : 1;
}

static bool key_begins(const struct taken *t, const char *at)
{
    size_t word = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    return word && at[word + gap(t, at + word)] == '=';
}

/* It ends at the second word, so that lines which go on in each other are not read again and again.
 */
bool line_has_one_pair(const struct taken *t, size_t line)
{
    const char *at = line_at(t, line);
    size_t pairs = 0;
    bool quoted = false, start = true;
    while (*at && *at != '\n' && (quoted || *at != '#')) {
        size_t word = start ? strcspn(at, "= \t\n#\"\\") : 0; /* whatever letters a key may have */
        if (word) {
            word += gap(t, at + word);
            if (at[word] != '=' || ++pairs > 1)
                return false;
            at += word + 1;
            size_t blank = gap(t, at);
            if (blank && key_begins(t, at + blank)) /* it has no value: the parser says so */
                return false;
            at += blank;
            start = false;
            continue;
        }
        quoted ^= *at == '"';
        start = !quoted && (*at == ' ' || *at == '\t' || joins(t, at));
        at += step(t, at);
    }
    return pairs == 1;
}

static bool is_key(const char *at, const char *key)
{
    size_t len = strlen(key);
    return strncasecmp(at, key, len) == 0 && at[len] && strchr(" \t=", at[len]);
}

bool line_key_is(const struct taken *t, size_t line, const char *key)
{
    const char *at = line_at(t, line);
    return is_key(at + strspn(at, " \t"), key);
}

bool line_has_key(const struct taken *t, size_t line, const char *key)
{
    const char *at = line_at(t, line);
    bool quoted = false, start = true;
    for (; *at && *at != '\n' && (quoted || *at != '#'); at++) {
        if (start && !quoted && is_key(at, key) &&
            at[gap(t, at + strlen(key)) + strlen(key)] == '=')
            return true;
        quoted ^= *at == '"';
        start = *at == ' ' || *at == '\t';
    }
    return false;
}
