#include "agent/pmi_words.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

/* ---- reading ---- */

static void pair_add(struct pmi_command *c, struct span name, struct span value)
{
    if (span_is(name, "cmd") || span_is(name, "mcmd")) {
        if (!c->name.data)
            c->name = value;
        return;
    }
    if (c->n < PMI_PAIRS_MAX)
        c->pair[c->n++] = (struct pmi_pair){name, value};
}

static void word_take(struct pmi_command *c, struct span word)
{
    struct span name;
    if (!memchr(word.data, '=', word.len))
        return;
    span_next(&word, '=', &name);
    pair_add(c, name, word);
}

static bool starts(const char *bytes, size_t len, const char *word)
{
    size_t n = strlen(word);
    return len >= n && memcmp(bytes, word, n) == 0;
}

/* Until the line "endcmd"; a pair a line. */
static ssize_t lines_take(const char *bytes, size_t len, struct pmi_command *ret)
{
    struct span rest = {bytes, len}, line;
    while (memchr(rest.data, '\n', rest.len)) {
        span_next(&rest, '\n', &line);
        if (span_is(line, "endcmd"))
            return rest.data - bytes;
        word_take(ret, line);
    }
    return len < PMI_COMMAND_BYTES ? 0 : -1;
}

static ssize_t line_take(const char *bytes, size_t len, struct pmi_command *ret)
{
    const char *end = memchr(bytes, '\n', len);
    struct span line, word;
    if (starts(bytes, len, "mcmd="))
        return lines_take(bytes, len, ret);
    if (!end)
        return len < PMI_COMMAND_BYTES ? 0 : -1;
    line = (struct span){bytes, (size_t)(end - bytes)};
    while (span_next(&line, ' ', &word))
        word_take(ret, word);
    return ret->name.data ? end + 1 - bytes : -1;
}

/* Up to a single semicolon; of two one is left. *at is moved behind it. False: there is no end. */
static bool piece_take(char **at, const char *end, struct span *ret)
{
    char *from = *at, *to = *at, *c = *at;
    for (; c < end; c++) {
        if (*c == ';' && (c + 1 == end || c[1] != ';')) {
            *ret = (struct span){from, (size_t)(to - from)};
            *at = c + 1;
            return true;
        }
        if (*c == ';')
            c++;
        *to++ = *c;
    }
    return false;
}

static bool length_read(const char *bytes, size_t *ret)
{
    char text[PMI_LENGTH_CHARS + 1];
    uint64_t n;
    memcpy(text, bytes, PMI_LENGTH_CHARS);
    text[PMI_LENGTH_CHARS] = '\0';
    char *first = text + strspn(text, " ");
    first[strcspn(first, " ")] = '\0';
    if (!text_to_u64(first, PMI_COMMAND_BYTES - PMI_LENGTH_CHARS, &n) || n == 0)
        return false;
    *ret = (size_t)n;
    return true;
}

static ssize_t counted_take(char *bytes, size_t len, struct pmi_command *ret)
{
    size_t n;
    struct span piece;
    if (len < PMI_LENGTH_CHARS)
        return 0;
    if (!length_read(bytes, &n))
        return -1;
    if (len - PMI_LENGTH_CHARS < n)
        return 0;
    char *at = bytes + PMI_LENGTH_CHARS, *end = at + n;
    while (piece_take(&at, end, &piece))
        word_take(ret, piece);
    return ret->name.data ? end - bytes : -1;
}

ssize_t pmi_command_take(char *bytes, size_t len, int version, struct pmi_command *ret)
{
    *ret = (struct pmi_command){0};
    if (len == 0)
        return 0;
    ssize_t n = version == 2 ? counted_take(bytes, len, ret) : line_take(bytes, len, ret);
    bool ok = n == 0 || (n > 0 && (size_t)n <= PMI_COMMAND_BYTES && ret->name.data &&
                         !memchr(bytes, '\0', (size_t)n));
    return ok ? n : -1;
}

struct span pmi_value(const struct pmi_command *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++)
        if (span_is(c->pair[i].name, name))
            return c->pair[i].value;
    return (struct span){NULL, 0};
}

/* ---- answering ---- */

void pmi_answer_begin(struct str *out, const char *name, struct span thread)
{
    str_clear(out);
    str_addf(out, "%*s", PMI_LENGTH_CHARS, "");
    str_addf(out, "cmd=%s-response;", name);
    if (thread.data)
        pmi_answer_pair(out, "thrid", thread);
}

void pmi_answer_pair(struct str *out, const char *name, struct span value)
{
    str_addf(out, "%s=", name);
    for (size_t i = 0; i < value.len; i++) {
        str_addc(out, value.data[i]);
        if (value.data[i] == ';')
            str_addc(out, ';');
    }
    str_addc(out, ';');
}

void pmi_answer_end(struct str *out)
{
    char length[24];
    ASSERT(out->len >= PMI_LENGTH_CHARS);
    int n = snprintf(length, sizeof length, "%-*zu", PMI_LENGTH_CHARS, out->len - PMI_LENGTH_CHARS);
    CHECK(n == PMI_LENGTH_CHARS);
    memcpy(out->data, length, PMI_LENGTH_CHARS);
}
