/* scontrol show topology, from the configuration. */
#include "model/settings/topology.h"
#include "base/hostlist.h"
#include "base/str.h"
#include "cli/program/cluster_dir.h"
#include "cli/scontrol/scontrol.h"
#include "model/settings/settings.h"

#include <stdio.h>

static const char *nodes_below(const struct topology *t, const struct topo_row *row,
                               struct arena *a)
{
    struct str s = STR_INIT;
    topology_nodes(t, row, &s);
    const char *text = arena_strdup(a, str_text(&s));
    str_done(&s);
    return text;
}

static bool names_it(const struct topology *t, const struct topo_row *row, const char *name,
                     struct arena *a)
{
    struct hostlist h = HOSTLIST_INIT;
    bool found = text_is(row->name, name) ||
                 (hostlist_parse(&h, nodes_below(t, row, a), NULL) && hostlist_has(&h, name));
    hostlist_done(&h);
    return found;
}

static void row_print(struct scontrol *s, const struct topology *t, const struct topo_row *row)
{
    struct record_text r;
    record_begin(&r, true);
    if (row->block) {
        record_add(&r, "BlockName", row->name);
        record_addf(&r, "BlockIndex", "%d", (int)(row - t->row));
        record_add(&r, "Nodes", row->nodes);
        if (t->block_sizes)
            record_add(&r, "BlockSize", t->block_sizes);
    } else {
        record_add(&r, "SwitchName", row->name);
        record_addf(&r, "Level", "%d", topology_level(t, row));
        record_add(&r, "LinkSpeed", "1");
        record_add(&r, "Nodes", nodes_below(t, row, s->a));
        if (row->switches)
            record_add(&r, "Switches", row->switches);
    }
    record_print(&r);
}

void scontrol_show_topology(struct scontrol *s, const char *name)
{
    struct config config;
    struct err err = {0};
    size_t shown = 0;
    if (!cluster_conf_read(state_dir_find(NULL, s->a), &config, &err)) {
        scontrol_fail(s, "slurm_load_topo error: %s", err.text);
        return;
    }
    const struct topology *t = &config.topology;
    for (size_t i = 0; i < t->n; i++)
        if (!name || names_it(t, &t->row[i], name, s->a)) {
            row_print(s, t, &t->row[i]);
            shown++;
        }
    if (!shown && name)
        scontrol_fail(s, "Topology information contains no switch, block or node named %s", name);
    else if (!shown)
        fputs("scontrol: error: No topology information available\n", stderr);
    config_done(&config);
}
