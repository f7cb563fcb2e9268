/* SwitchName, BlockName and BlockSizes lines: of topology.conf beside the configuration, or of the
 * configuration itself. */
#include "base/str.h"
#include "model/settings/config_parser.h"

#include <string.h>

static bool range_add(struct parser *p, struct topo_row row, const char *names, struct err *ret_err)
{
    if (text_empty(names)) {
        err_set(ret_err, ERR_INVALID, "a name is expected");
        return config_error_at(&p->at, row.block ? "BlockName" : "SwitchName", ret_err);
    }
    row.name = names;
    vec_push(&p->topo, row);
    vec_push(&p->topo_at, p->at);
    return true;
}

static bool row_take(struct parser *p, const struct line *line, bool block, struct err *ret_err)
{
    struct topo_row row = {.block = block};
    for (size_t i = 1; i < line->n; i++) {
        const struct word *w = &line->word[i];
        if (text_is_nocase(w->key, "Nodes"))
            row.nodes = text_empty(w->value) ? NULL : w->value;
        else if (text_is_nocase(w->key, "Switches") && !block)
            row.switches = text_empty(w->value) ? NULL : w->value;
        else if (text_is_nocase(w->key, "BlockSizes"))
            p->block_sizes = w->value;
        else if (text_is_nocase(w->key, "LinkSpeed"))
            config_warn(p, WEIGHS_NOTHING,
                        "LinkSpeed is known to Slurm but has no effect in Remuda");
        else
            config_warn(p, WEIGHS_UNKNOWN, "unknown key \"%.60s\" of a %s line; it has no effect",
                        w->key, block ? "BlockName" : "SwitchName");
    }
    return range_add(p, row, line->word[0].value, ret_err);
}

bool config_switch_line(struct parser *p, const struct line *line, struct err *ret_err)
{
    return row_take(p, line, false, ret_err);
}

bool config_block_line(struct parser *p, const struct line *line, struct err *ret_err)
{
    return row_take(p, line, true, ret_err);
}

bool config_block_sizes(struct parser *p, const struct line *line, struct err *ret_err)
{
    (void)ret_err;
    p->block_sizes = line->word[0].value;
    return true;
}

static bool plugin_is(const char *plugin, const char *name)
{
    const char *slash = strchr(plugin, '/');
    return text_is_nocase(slash ? slash + 1 : plugin, name);
}

static bool file_find(struct parser *p, struct err *ret_err)
{
    struct err err = {0};
    const char *text =
        p->topo.n == 0 && p->reader ? p->reader(p->reader_ctx, "topology.conf", p->a, &err) : NULL;
    if (text)
        return config_file_parse(p, text, "topology.conf", ret_err);
    if (p->topo.n == 0 && p->reader && err.code != ERR_NOT_FOUND)
        return err_set(ret_err, err.code, "%s", err.text);
    return true;
}

bool config_topology_finish(struct parser *p, struct config *ret, struct err *ret_err)
{
    const char *plugin = p->settings->topology_plugin ? p->settings->topology_plugin : "";
    if (plugin_is(plugin, "flat") || plugin_is(plugin, "default") || plugin_is(plugin, "none"))
        return true;
    if (!text_empty(plugin) && !plugin_is(plugin, "tree") && !plugin_is(plugin, "block"))
        return err_set(ret_err, ERR_UNSUPPORTED,
                       "TopologyPlugin: topology/tree, topology/block or topology/flat is "
                       "expected, not \"%.60s\"",
                       plugin);
    if (!file_find(p, ret_err))
        return false;
    struct topology t = {.n = p->topo.n, .block_sizes = p->block_sizes};
    t.row = arena_dup(p->a, p->topo.v, p->topo.n * sizeof p->topo.v[0]);
    size_t wrong;
    if (!topology_check(&t, &wrong, ret_err))
        return config_error_at(&p->topo_at.v[wrong],
                               t.row[wrong].block ? "BlockName" : "SwitchName", ret_err);
    ret->topology = t;
    return true;
}
