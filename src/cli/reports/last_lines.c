#include "cli/reports/last_lines.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/plain.h"
#include "cli/record/columns_job.h"
#include "cli/reports/output_end.h"
#include "model/message.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ASK_MS 25000 /* a node has 20 s */

/* ---- what is shown of bytes ---- */

/* Behind an escape sequence (ECMA-48): "\e[31m", "\e]0;title\a", "\eM". */
static size_t escape_length(const char *at, size_t len)
{
    size_t n = 2;
    if (len < 2)
        return len;
    if (at[1] == '[')
        while (n < len && (at[n] < '@' || at[n] > '~') && at[n] != '\n')
            n++;
    else if (at[1] == ']')
        while (n < len && at[n] != '\a' && at[n] != '\033' && at[n] != '\n')
            n++;
    else
        return 2;
    return n < len && at[n] != '\n' && at[n] != '\033' ? n + 1 : n;
}

static void line_clean(const char *at, size_t len, struct str *out)
{
    struct str kept = STR_INIT;
    while (len && at[len - 1] == '\r')
        len--;
    const char *over = memrchr(at, '\r', len);
    size_t i = over ? (size_t)(over + 1 - at) : 0;
    while (i < len && kept.len < LAST_LINE_BYTES) {
        if (at[i] == '\033') {
            i += escape_length(at + i, len - i);
        } else if (at[i] == '\t' || !at[i]) {
            str_addc(&kept, ' ');
            i++;
        } else {
            str_addc(&kept, at[i++]);
        }
    }
    bool cut = i < len;
    while (cut && kept.len && ((unsigned char)kept.data[kept.len - 1] & 0xc0) == 0x80)
        str_cut(&kept, kept.len - 1);
    if (cut && kept.len && (unsigned char)kept.data[kept.len - 1] >= 0xc0)
        str_cut(&kept, kept.len - 1);
    str_add(out, "| ");
    str_add_plain(out, str_text(&kept));
    str_add(out, cut ? " …\n" : "\n");
    str_done(&kept);
}

void last_lines_clean(const char *bytes, size_t len, bool begun, struct str *out)
{
    size_t from = len, lines = 0;
    while (len && (bytes[len - 1] == '\n' || bytes[len - 1] == '\r'))
        len--;
    for (from = len; from > 0; from--)
        if (bytes[from - 1] == '\n' && ++lines == LAST_LINES)
            break;
    if (from == 0 && !begun && lines) /* what was cut off its beginning is not known */
        from = (size_t)((const char *)memchr(bytes, '\n', len) + 1 - bytes);
    while (from < len) {
        const char *end = memchr(bytes + from, '\n', len - from);
        size_t n = end ? (size_t)(end - bytes) - from : len - from;
        line_clean(bytes + from, n, out);
        from += n + 1;
    }
}

/* ---- of the node ---- */

static void bytes_take(struct output_end *e, const void *data, size_t len)
{
    if (e->known || len > sizeof e->bytes)
        return;
    memcpy(e->bytes, data ? data : "", len);
    e->len = len;
}

static void node_ask(struct client *c, const struct job *j, struct output_end *o,
                     struct output_end *e)
{
    const struct msg_get_output ask = {
        .job_id = j->id, .attempt = j->attempt, .out = o->path, .err = e->path};
    struct arena *a = arena_new();
    struct err ignored = {0};
    struct message m;
    if (client_call(c, MSG_GET_OUTPUT, &ask, ASK_MS, a, &m, &ignored) && m.kind == MSG_OUTPUT) {
        const struct msg_output *said = m.body;
        bytes_take(o, said->out.data, said->out.len);
        bytes_take(e, said->err.data, said->err.len);
    }
    arena_free(a);
}

/* ---- both ---- */

static void end_add(const struct job *j, const struct output_end *e, const char *what,
                    struct str *out)
{
    struct str lines = STR_INIT;
    if (e->path && e->len)
        last_lines_clean(e->bytes, e->len, e->len < sizeof e->bytes, &lines);
    if (lines.len) {
        str_addf(out, "\nThe end of its %s, ", what);
        str_add_plain(out, e->path);
        if (!e->known) {
            str_add(out, " on ");
            str_add_plain(out, j->batch_host);
        }
        str_addf(out, ":\n%s", str_text(&lines));
    }
    str_done(&lines);
}

static struct output_end *end_new(const struct job *j, const char *pattern)
{
    struct output_end *e = xcalloc(1, sizeof *e);
    struct str path = STR_INIT;
    job_cell_path(j, pattern, &path);
    e->path = xstrdup(str_text(&path));
    str_done(&path);
    return e;
}

static void end_free(struct output_end *e)
{
    free(e->path);
    free(e);
}

void last_lines_add(struct client *c, const struct job *j, struct str *out)
{
    if (!j->spec.batch || !j->start_us || j->user_id != geteuid())
        return;
    bool two = !text_empty(j->spec.std_err);
    struct output_end *o = end_new(j, j->spec.std_out),
                      *e = end_new(j, two ? j->spec.std_err : j->spec.std_out);
    if (text_is(o->path, e->path)) {
        free(e->path);
        e->path = NULL;
    }
    output_ends_read(j, o, e);
    if (!o->known || (e->path && !e->known))
        node_ask(c, j, o, e);
    end_add(j, o, "output", out);
    end_add(j, e, "error output", out);
    end_free(o);
    end_free(e);
}
