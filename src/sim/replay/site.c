#include "sim/replay/site.h"

#include "base/alloc.h"
#include "model/grammar/gres.h"
#include "model/settings/settings.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *site_include(void *ctx, const char *path, struct arena *a, struct err *ret_err)
{
    const char *file = ctx, *slash = strrchr(file, '/');
    size_t len;
    if (path[0] != '/' && slash)
        path = arena_printf(a, "%.*s/%s", (int)(slash - file), file, path);
    char *text = file_text(path, &len, ret_err);
    const char *kept = arena_strdup(a, text);
    free(text);
    return kept;
}

/* Nodes of hosts that joined lie beside the configuration. */
static bool joined_there(const char *path)
{
    struct str name = STR_INIT;
    const char *slash = strrchr(path, '/');
    str_addn(&name, path, slash ? (size_t)(slash - path) + 1 : 0);
    str_add(&name, "joined.conf");
    bool there = access(str_text(&name), R_OK) == 0;
    str_done(&name);
    return there;
}

static void machine_count(const struct config *c, struct replay_machine *m)
{
    struct arena *a = arena_new();
    for (size_t i = 0; i < c->nnodes; i++) {
        struct gres_list gres = {0};
        m->procs += c->node[i].cpus > 0 ? c->node[i].cpus : 1;
        if (c->node[i].gres && gres_parse(c->node[i].gres, a, &gres, NULL))
            m->gpus += gres_count(&gres, "gpu");
    }
    arena_free(a);
}

bool site_read(const char *path, struct site *site, struct replay_machine *ret,
               size_t *ret_warnings, struct err *ret_err)
{
    struct config c;
    size_t len;
    *site = (struct site){.path = xstrdup(path), .text = file_text(path, &len, ret_err)};
    if (site->text && joined_there(path)) {
        struct arena *a = arena_new();
        char *alone = site->text;
        site->text = xstrdup(config_with_joined(alone, a));
        free(alone);
        arena_free(a);
    }
    if (!site->text || !config_parse(site->text, path, site_include, site->path, &c, ret_err)) {
        site_done(site);
        return false;
    }
    *ret = (struct replay_machine){.config = site->text, .path = site->path};
    machine_count(&c, ret);
    if (ret_warnings)
        *ret_warnings = c.nwarnings;
    bool whole = c.nnodes > 0 && c.nparts > 0;
    config_done(&c);
    if (!whole) {
        err_set(ret_err, ERR_INVALID,
                "%s: a configuration to replay on describes nodes (NodeName=…) and partitions "
                "(PartitionName=…)",
                path);
        site_done(site);
    }
    return whole;
}

void site_done(struct site *s)
{
    free(s->path);
    free(s->text);
    *s = (struct site){0};
}
