#include "controller/site/joined.h"

#include "base/str.h"
#include "io/files.h"
#include "model/limits.h"

#include <string.h>

#define HEAD                                                                                       \
    "# Nodes of hosts that joined, as they found themselves; read after remuda.conf, whose own "   \
    "lines "                                                                                       \
    "count. "                                                                                      \
    "Yours to edit.\n"

/* "" where there is none yet; false where it cannot be read. */
static bool lines_read(struct controller *c, struct str *ret)
{
    struct err err = {0};
    const char *path = controller_path(c, "joined.conf");
    if (file_read(path, LIMIT_CONFIG_BYTES, ret, &err) || err.code == ERR_NOT_FOUND)
        return true;
    log_error(c->log, "%s", err.text);
    return false;
}

static void lines_write(struct controller *c, const struct str *text, const char *node)
{
    struct err err = {0};
    if (!file_write_atomic(controller_path(c, "joined.conf"), text->data, text->len, 0644, &err))
        log_error(c->log, "the configuration of node %s stays as it was: %s", node, err.text);
}

static bool is_line_of(struct span line, const char *start)
{
    return line.len >= strlen(start) && strncmp(line.data, start, strlen(start)) == 0;
}

static bool site_describes(const struct controller *c, const char *node)
{
    for (size_t i = 0; i < c->config.nnodes; i++)
        if (text_is(c->config.node[i].name, node))
            return true;
    return false;
}

void joined_add(struct controller *c, const char *node, const char *line)
{
    struct str text = STR_INIT;
    if (!text_empty(line) && !site_describes(c, node) && lines_read(c, &text)) {
        if (text.len == 0)
            str_add(&text, HEAD);
        else if (text.data[text.len - 1] != '\n') /* whoever edited it left the last line open */
            str_addc(&text, '\n');
        str_addf(&text, "%s\n", line);
        lines_write(c, &text, node);
    }
    str_done(&text);
}

void joined_remove(struct controller *c, const char *node)
{
    struct str text = STR_INIT, kept = STR_INIT;
    struct arena *a = arena_new();
    if (node && lines_read(c, &text)) {
        const char *start = arena_printf(a, "NodeName=%s ", node);
        struct span rest = span_of(str_text(&text)), line;
        while (span_next(&rest, '\n', &line))
            if (line.len && !is_line_of(line, start))
                str_addf(&kept, "%.*s\n", (int)line.len, line.data);
        if (kept.len < text.len)
            lines_write(c, &kept, node);
    }
    arena_free(a);
    str_done(&text);
    str_done(&kept);
}
