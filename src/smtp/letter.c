#include "smtp/letter.h"

#include "base/alloc.h"
#include "base/str.h"

#include <string.h>

#define LINE_MAX_BYTES 998u

static bool tls_read(const char *word, enum letter_tls *ret)
{
    static const char *const words[] = {"no", "try", "require"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcmp(word, words[i]) == 0) {
            *ret = (enum letter_tls)i;
            return true;
        }
    return false;
}

static bool line_take(struct letter *l, const char *key, const char *value)
{
    const struct {
        const char *key;
        const char **at;
    } rows[] = {
        {"server", &l->server}, {"name", &l->name}, {"from", &l->from}, {"login", &l->login}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strcmp(key, rows[i].key) == 0) {
            *rows[i].at = value;
            return true;
        }
    if (strcmp(key, "to") == 0) {
        vec_push(&l->to, value);
        return true;
    }
    return strcmp(key, "tls") == 0 && tls_read(value, &l->tls);
}

static bool head_read(const char **at, struct arena *a, struct letter *l, struct err *ret_err)
{
    while (**at && **at != '\n') {
        size_t len = strcspn(*at, "\n");
        char *line = arena_strndup(a, *at, len);
        char *value = strchr(line, ' ');
        if (value)
            *value++ = '\0';
        if (!value || !line_take(l, line, value))
            return err_set(ret_err, ERR_INVALID, "no line of a letter: %s", line);
        *at += len + ((*at)[len] == '\n');
    }
    if (**at != '\n')
        return err_set(ret_err, ERR_INVALID, "a letter without a message");
    (*at)++;
    return true;
}

bool letter_read(const char *text, struct arena *a, struct letter *ret, struct err *ret_err)
{
    *ret = (struct letter){.tls = LETTER_TLS_TRY};
    bool whole = head_read(&text, a, ret, ret_err);
    if (whole && (!ret->server || !ret->name || !ret->from || ret->to.n == 0))
        whole = err_set(ret_err, ERR_INVALID, "a letter without server, name, from or to");
    ret->message = text;
    if (!whole)
        letter_done(ret);
    return whole;
}

void letter_done(struct letter *l)
{
    vec_done(&l->to);
}

/* Nothing that would be another part of a URL. */
static bool host_is_plain(const char *host)
{
    return *host && host[strcspn(host, "/?#@ %\\")] == '\0';
}

const char *letter_url(const struct letter *l, struct arena *a)
{
    bool hidden = text_starts(l->server, "smtps://");
    const char *host = l->server;
    if (hidden || text_starts(host, "smtp://"))
        host = strstr(host, "://") + 3;
    if (!host_is_plain(host) || !host_is_plain(l->name))
        return NULL;
    const char *end = strchr(host, ']');
    const char *colon = strchr(end ? end : host, ':');
    bool bare_v6 = !end && colon && strchr(colon + 1, ':');
    int64_t port = hidden ? 465 : 25;
    if (!bare_v6 && colon && !text_to_i64(colon + 1, 1, 65535, &port))
        return NULL;
    size_t len = bare_v6 || !colon ? strlen(host) : (size_t)(colon - host);
    return arena_printf(a, "smtp%s://%s%.*s%s:%d/%s", hidden ? "s" : "", bare_v6 ? "[" : "",
                        (int)len, host, bare_v6 ? "]" : "", (int)port, l->name);
}

void letter_lines_add(struct str *out, const char *message)
{
    for (const char *line = message; *line;) {
        size_t len = strcspn(line, "\n");
        size_t part = len < LINE_MAX_BYTES ? len : LINE_MAX_BYTES;
        for (size_t i = 0; i < part; i++)
            if (line[i] != '\r')
                str_addc(out, line[i]);
        str_add(out, "\r\n");
        line += part;
        if (part == len && *line == '\n')
            line++;
    }
}
