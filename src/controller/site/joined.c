#include "controller/site/joined.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/str.h"
#include "io/files.h"
#include "model/limits.h"

#include <string.h>

#define HEAD                                                                                       \
    "# Nodes of hosts that joined, as they found themselves; read after remuda.conf, whose own "   \
    "lines "                                                                                       \
    "count. "                                                                                      \
    "Yours to edit.\n"

#define OF_HOST " # host " /* and its id: behind a line */

/* "" where there is none yet; false where it cannot be read. */
static bool lines_read(struct controller *c, struct str *ret, struct err *ret_err)
{
    struct err err = {0};
    const char *path = controller_path(c, "joined.conf");
    if (file_read(path, LIMIT_CONFIG_BYTES, ret, &err) || err.code == ERR_NOT_FOUND)
        return true;
    *ret_err = err;
    return false;
}

static bool lines_write(struct controller *c, const struct str *text, struct err *ret_err)
{
    return file_write_atomic(controller_path(c, "joined.conf"), text->data, text->len, 0644,
                             ret_err);
}

/* Logged, for whoever asked may be gone. */
static bool stays(struct controller *c, const char *node, const struct err *why)
{
    log_error(c->log, "the configuration of node %s stays as it was: %s", node, why->text);
    return false;
}

static bool is_line_of(struct span line, const char *start)
{
    return line.len >= strlen(start) && strncmp(line.data, start, strlen(start)) == 0;
}

static bool describes(const struct config *config, const char *node)
{
    for (size_t i = 0; i < config->nnodes; i++)
        if (text_is(config->node[i].name, node))
            return true;
    return false;
}

static void line_append(struct str *text, const struct host *h)
{
    if (text->len == 0)
        str_add(text, HEAD);
    else if (text->data[text->len - 1] != '\n') /* whoever edited it left the last line open */
        str_addc(text, '\n');
    str_addf(text, "%s" OF_HOST "%s\n", h->line, h->id);
}

bool joined_add(struct controller *c, const struct host *h, struct err *ret_err)
{
    struct str text = STR_INIT;
    bool ok = true;
    if (!text_empty(h->line) && !describes(&c->config, h->nodes)) {
        ok = lines_read(c, &text, ret_err);
        if (ok) {
            line_append(&text, h);
            ok = lines_write(c, &text, ret_err);
        }
    }
    str_done(&text);
    return ok || stays(c, h->nodes, ret_err);
}

bool joined_remove(struct controller *c, const char *node, struct err *ret_err)
{
    struct str text = STR_INIT, kept = STR_INIT;
    struct arena *a = arena_new();
    bool ok = !node || lines_read(c, &text, ret_err);
    if (ok && node) {
        const char *start = arena_printf(a, "NodeName=%s ", node);
        struct span rest = span_of(str_text(&text)), line;
        while (span_next(&rest, '\n', &line))
            if (line.len && !is_line_of(line, start))
                str_addf(&kept, "%.*s\n", (int)line.len, line.data);
        if (kept.len < text.len)
            ok = lines_write(c, &kept, ret_err);
    }
    arena_free(a);
    str_done(&text);
    str_done(&kept);
    return ok || stays(c, node, ret_err);
}

/* ---- what was left half done ---- */

struct settling {
    const struct config *config;
    struct str text;
    bool changed;
};

/* NULL: the site's own. */
static const char *host_of_line(struct span line, struct arena *a)
{
    const char *text = arena_strndup(a, line.data, line.len), *at = strstr(text, OF_HOST);
    return at ? at + strlen(OF_HOST) : NULL;
}

static void line_add(void *ctx, const void *record)
{
    const struct host *h = record;
    struct settling *s = ctx;
    if (text_empty(h->line) || describes(s->config, h->nodes))
        return;
    line_append(&s->text, h);
    s->changed = true;
}

static void lines_keep(struct controller *c, const struct str *text, struct settling *s)
{
    struct arena *a = arena_new();
    struct span rest = span_of(str_text(text)), line;
    while (span_next(&rest, '\n', &line)) {
        const char *id = host_of_line(line, a);
        if (id && !core_host(c->core, id))
            s->changed = true;
        else if (line.len)
            str_addf(&s->text, "%.*s\n", (int)line.len, line.data);
    }
    arena_free(a);
}

bool joined_settle(struct controller *c, const struct config *config)
{
    struct str text = STR_INIT;
    struct settling s = {.config = config, .text = STR_INIT};
    struct err err = {0};
    bool ok = lines_read(c, &text, &err);
    if (ok) {
        lines_keep(c, &text, &s);
        core_hosts(c->core, &(struct view){line_add, &s});
        ok = !s.changed || lines_write(c, &s.text, &err);
    }
    if (!ok)
        log_error(c->log, "nodes of hosts that joined or left stay as they were: %s", err.text);
    else if (s.changed)
        log_info(c->log, "joined.conf has the nodes of the hosts that are joined now");
    str_done(&text);
    str_done(&s.text);
    return ok && s.changed;
}
