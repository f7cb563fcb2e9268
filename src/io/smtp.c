/* A small SMTP client: resolve, connect, then one command after another, each when the reply to the
 * former has come. A session carries one letter. Whatever goes wrong ends it with an outcome;
 * nobody waits for it longer than STEP_TIMEOUT_US a step. */
#include "io/smtp.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/str.h"
#include "io/loop_uv.h"
#include "io/name_lookup.h"

#include <stdlib.h>
#include <string.h>

#define STEP_TIMEOUT_US (30 * USEC_PER_SEC)
#define LOOKUP_WAIT_US  (15 * USEC_PER_SEC)
#define LINE_MAX_BYTES  998u /* RFC 5321 4.5.3.1.6, without the CRLF */
#define REPLY_MAX_BYTES (64u << 10)

enum phase {
    PHASE_GREETING,
    PHASE_EHLO,
    PHASE_HELO,
    PHASE_MAIL,
    PHASE_RCPT,
    PHASE_DATA,
    PHASE_BODY
};

struct smtp {
    struct loop *loop;
    struct name_lookup *lookup; /* under way */
    struct name_found found;
    size_t at_address; /* of found: the one being tried */
    uv_connect_t connect;
    uv_tcp_t tcp;
    uv_write_t write;
    struct timer *timeout;
    bool has_tcp, writing, over;
    enum phase phase;
    char *our_name, *from, *message;
    char **to;
    size_t nto, at_to, accepted;
    struct str out, in;
    char piece[2048];
    struct str refused; /* what the server said about recipients */
    void (*done)(void *ctx, enum smtp_outcome outcome, const char *why);
    void *ctx;
};

/* ---- text
 * --------------------------------------------------------------------------------- */

void smtp_data_add(struct str *out, const char *message)
{
    for (const char *line = message; *line;) {
        size_t len = strcspn(line, "\n");
        size_t part = len < LINE_MAX_BYTES - 1 ? len : LINE_MAX_BYTES - 1;
        if (*line == '.')
            str_addc(out, '.');
        for (size_t i = 0; i < part; i++)
            if (line[i] != '\r')
                str_addc(out, line[i]);
        str_add(out, "\r\n");
        line += part;
        if (part == len && *line == '\n')
            line++;
    }
    str_add(out, ".\r\n");
}

bool smtp_reply_take(struct str *in, int *ret_code, char **ret_text)
{
    for (size_t at = 0;;) {
        char *end = in->len > at ? memchr(in->data + at, '\n', in->len - at) : NULL;
        if (!end)
            return false;
        const char *line = in->data + at;
        size_t len = (size_t)(end - line);
        at += len + 1;
        if (len > 3 && line[3] == '-')
            continue;
        char *text = xstrndup(line, len && line[len - 1] == '\r' ? len - 1 : len);
        *ret_code = 0;
        for (size_t i = 0; i < 3 && text[i] >= '0' && text[i] <= '9'; i++)
            *ret_code = *ret_code * 10 + (text[i] - '0');
        *ret_text = text;
        memmove(in->data, in->data + at, in->len - at);
        str_cut(in, in->len - at);
        return true;
    }
}

void smtp_server_split(const char *server, char **ret_host, char **ret_port)
{
    const char *end = strchr(server, ']');
    const char *colon = strchr(end ? end : server, ':');
    bool bare_v6 = !end && colon && strchr(colon + 1, ':');
    if (bare_v6)
        colon = NULL;
    const char *stop = colon ? colon : server + strlen(server);
    if (end && *server == '[')
        *ret_host = xstrndup(server + 1, (size_t)(end - server - 1));
    else
        *ret_host = xstrndup(server, (size_t)(stop - server));
    *ret_port = xstrdup(colon && colon[1] ? colon + 1 : "25");
}

/* ---- life
 * --------------------------------------------------------------------------------- */

static void connect_next(struct smtp *s);

static void smtp_release(struct smtp *s)
{
    if (s->has_tcp)
        return;
    for (size_t i = 0; i < s->nto; i++)
        free(s->to[i]);
    free(s->to);
    free(s->our_name);
    free(s->from);
    free(s->message);
    str_done(&s->out);
    str_done(&s->in);
    str_done(&s->refused);
    free(s);
}

/* At the end, or when the next address is to be tried. */
static void tcp_closed(uv_handle_t *handle)
{
    struct smtp *s = handle->data;
    s->has_tcp = false;
    if (s->over)
        smtp_release(s);
    else
        connect_next(s);
}

static void smtp_end(struct smtp *s)
{
    if (s->over)
        return;
    s->over = true;
    timer_free(s->timeout);
    s->timeout = NULL;
    name_lookup_free(s->lookup);
    s->lookup = NULL;
    if (s->has_tcp && !uv_is_closing((uv_handle_t *)&s->tcp))
        uv_close((uv_handle_t *)&s->tcp, tcp_closed);
    smtp_release(s);
}

static void smtp_finish(struct smtp *s, enum smtp_outcome outcome, const char *why)
{
    if (s->over)
        return;
    s->done(s->ctx, outcome, why);
    smtp_end(s);
}

static void smtp_timed_out(void *ctx)
{
    smtp_finish(ctx, SMTP_LATER, "the server does not answer");
}

void smtp_free(struct smtp *s)
{
    if (s)
        smtp_end(s);
}

/* ---- talk
 * --------------------------------------------------------------------------------- */

static void reply_take(struct smtp *s);

static void written(uv_write_t *write, int status)
{
    struct smtp *s = write->data;
    s->writing = false;
    if (status < 0 && status != UV_ECANCELED)
        smtp_finish(s, SMTP_LATER, uv_strerror(status));
    else if (!s->over)
        reply_take(s);
}

/* Sends what is in s->out and awaits the reply in that phase. */
static void say(struct smtp *s, enum phase phase)
{
    s->phase = phase;
    s->write.data = s;
    uv_buf_t buf = uv_buf_init(s->out.data, (unsigned)s->out.len);
    timer_set(s->timeout, STEP_TIMEOUT_US);
    int rc = s->writing ? UV_EPROTO : uv_write(&s->write, (uv_stream_t *)&s->tcp, &buf, 1, written);
    if (rc != 0)
        smtp_finish(s, SMTP_LATER, uv_strerror(rc));
    else
        s->writing = true;
}

static void say_line(struct smtp *s, enum phase phase, const char *before, const char *text,
                     const char *after)
{
    str_clear(&s->out);
    str_addf(&s->out, "%s%s%s\r\n", before, text, after);
    say(s, phase);
}

static void say_recipient(struct smtp *s)
{
    say_line(s, PHASE_RCPT, "RCPT TO:<", s->to[s->at_to++], ">");
}

static void recipient_answered(struct smtp *s, int code, const char *text)
{
    if (code / 100 == 2)
        s->accepted++;
    else
        str_addf(&s->refused, "%s%s: %s", s->refused.len ? "; " : "", s->to[s->at_to - 1], text);
    if (s->at_to < s->nto)
        say_recipient(s);
    else if (s->accepted > 0)
        say_line(s, PHASE_DATA, "DATA", "", "");
    else
        smtp_finish(s, code / 100 == 4 ? SMTP_LATER : SMTP_NEVER, str_text(&s->refused));
}

/* The server has the letter; it is told goodbye, but its answer to that is not waited for. */
static void message_accepted(struct smtp *s)
{
    uv_buf_t quit = uv_buf_init((char[]){'Q', 'U', 'I', 'T', '\r', '\n'}, 6);
    uv_try_write((uv_stream_t *)&s->tcp, &quit, 1);
    smtp_finish(s, SMTP_SENT, str_text(&s->refused));
}

/* What to do on a positive reply, by phase. */
static void advance(struct smtp *s, int code, const char *text)
{
    switch (s->phase) {
    case PHASE_GREETING: say_line(s, PHASE_EHLO, "EHLO ", s->our_name, ""); return;
    case PHASE_EHLO:
    case PHASE_HELO: say_line(s, PHASE_MAIL, "MAIL FROM:<", s->from, ">"); return;
    case PHASE_MAIL: say_recipient(s); return;
    case PHASE_RCPT: recipient_answered(s, code, text); return;
    case PHASE_DATA:
        str_clear(&s->out);
        smtp_data_add(&s->out, s->message);
        say(s, PHASE_BODY);
        return;
    case PHASE_BODY: message_accepted(s); return;
    }
}

static void replied(struct smtp *s, int code, const char *text)
{
    bool good = code / 100 == (s->phase == PHASE_DATA ? 3 : 2);
    if (good || s->phase == PHASE_RCPT)
        advance(s, code, text);
    else if (s->phase == PHASE_EHLO && code / 100 == 5)
        say_line(s, PHASE_HELO, "HELO ", s->our_name, "");
    else
        smtp_finish(s, code / 100 == 5 ? SMTP_NEVER : SMTP_LATER, text);
}

/* Works off one reply, if a whole one is there. */
static void reply_take(struct smtp *s)
{
    int code;
    char *text;
    if (!smtp_reply_take(&s->in, &code, &text))
        return;
    replied(s, code, text);
    free(text);
}

static void room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    (void)suggested;
    struct smtp *s = handle->data;
    *ret = uv_buf_init(s->piece, sizeof s->piece);
}

static void came(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct smtp *s = stream->data;
    if (n < 0) {
        smtp_finish(s, SMTP_LATER,
                    n == UV_EOF ? "the server closed the connection" : uv_strerror((int)n));
        return;
    }
    str_addn(&s->in, buf->base, (size_t)n);
    if (s->in.len > REPLY_MAX_BYTES)
        smtp_finish(s, SMTP_LATER, "the server's reply is too long");
    else if (!s->writing) /* a reply before its question was sent is worked off when it was */
        reply_take(s);
}

/* ---- connect
 * ------------------------------------------------------------------------------ */

static void connect_failed(struct smtp *s, int status)
{
    if (++s->at_address < s->found.n)
        uv_close((uv_handle_t *)&s->tcp, tcp_closed);
    else
        smtp_finish(s, SMTP_LATER, uv_strerror(status));
}

static void connected(uv_connect_t *connect, int status)
{
    struct smtp *s = connect->data;
    if (status == UV_ECANCELED || s->over)
        return;
    if (status < 0) {
        connect_failed(s, status);
        return;
    }
    timer_set(s->timeout, STEP_TIMEOUT_US);
    uv_read_start((uv_stream_t *)&s->tcp, room, came);
}

static void connect_next(struct smtp *s)
{
    uv_tcp_init(loop_uv(s->loop), &s->tcp);
    s->has_tcp = true;
    s->tcp.data = s->connect.data = s;
    int rc = uv_tcp_connect(&s->connect, &s->tcp,
                            (const struct sockaddr *)&s->found.address[s->at_address].address,
                            connected);
    if (rc != 0)
        connect_failed(s, rc);
}

static void resolved(void *ctx, const struct name_found *found)
{
    struct smtp *s = ctx;
    s->lookup = NULL;
    s->found = *found;
    if (found->n == 0)
        smtp_finish(s, SMTP_LATER, s->found.why.text);
    else
        connect_next(s);
}

static void letter_copy(struct smtp *s, const struct smtp_letter *letter)
{
    s->from = xstrdup(letter->from);
    s->message = xstrdup(letter->message);
    s->nto = letter->nto;
    s->to = xcalloc(s->nto, sizeof *s->to);
    for (size_t i = 0; i < s->nto; i++)
        s->to[i] = xstrdup(letter->to[i]);
}

struct smtp *smtp_start(struct loop *l, const char *server, const char *our_name,
                        const struct smtp_letter *letter,
                        void (*done)(void *ctx, enum smtp_outcome outcome, const char *why),
                        void *ctx)
{
    struct smtp *s = xcalloc(1, sizeof *s);
    s->loop = l;
    s->done = done;
    s->ctx = ctx;
    s->our_name = xstrdup(our_name);
    letter_copy(s, letter);
    s->timeout = timer_new(l, smtp_timed_out, s);
    timer_set(s->timeout, STEP_TIMEOUT_US);
    char *host, *port;
    smtp_server_split(server, &host, &port);
    int64_t number = 0;
    if (text_to_i64(port, 1, 65535, &number))
        s->lookup = name_lookup_new(l, host, (int)number, LOOKUP_WAIT_US, resolved, s, NULL);
    if (!s->lookup) /* what cannot be a port, or no thread is to be had */
        timer_set(s->timeout, 0);
    free(host);
    free(port);
    return s;
}
