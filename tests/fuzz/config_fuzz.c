/* Any configuration: read or refused with a place. What was read holds together: names are there
 * and not twice, shapes multiply, partitions hold known nodes. */
#include "fuzz.h"

#include "base/alloc.h"
#include "base/hostlist.h"
#include "base/map.h"
#include "model/limits.h"
#include "model/settings/settings.h"
#include "model/settings/topology.h"

#include <stdlib.h>
#include <string.h>

const char *const fuzz_words[] = {
    "NodeName=",
    "n[1-4]",
    "DEFAULT",
    " CPUs=4",
    " Sockets=2",
    " CoresPerSocket=2",
    " RealMemory=8G",
    " Gres=gpu:v100:2",
    " State=DRAIN",
    " Reason=\"x y\"",
    "PartitionName=",
    "main",
    " Nodes=",
    "ALL",
    " Default=YES",
    " MaxTime=1-0",
    " OverSubscribe=FORCE:2",
    " PreemptMode=SUSPEND,GANG",
    "\n",
    "\\\n",
    "#",
    "\"",
    "NodeSet=s",
    " Feature=a",
    "DownNodes=",
    "Include again",
    "KillWait=30",
    "ClusterName=",
    "PreemptType=preempt/none",
    "SlurmdPort=1",
    "Nonsense=1",
    "SwitchName=s[0-3]",
    "SwitchName=s1 Switches=s[2-3],s2\n",
    "SwitchName=s2 Nodes=n[1-2]\n",
    " Switches=s1,s1",
    "BlockName=b1 Nodes=n1\n",
    "BlockSizes=1,2",
    "TopologyPlugin=topology/tree\n",
    "ClusterName=c\nNodeName=n[1-4]\nPartitionName=p Nodes=ALL\n",
    NULL,
};

/* Whatever is included is the first line of the text itself: it may include itself, and ends at the
 * limit. */
static const char *again(void *ctx, const char *path, struct arena *a, struct err *ret_err)
{
    const char *text = ctx;
    return arena_strndup(a, text, strcspn(text, "\n"));
}

static void nodes_check(const struct config *c, struct map_str *seen)
{
    for (size_t i = 0; i < c->nnodes; i++) {
        struct node *n = &c->node[i];
        int64_t cores = (int64_t)n->sockets * n->cores_per_socket,
                threads = cores * n->threads_per_core;
        CHECK(n->name && n->name[0] && strlen(n->name) < LIMIT_NAME_BYTES &&
              !map_str_get(seen, n->name));
        CHECK(n->cpus == n->sockets || n->cpus == cores || n->cpus == threads);
        CHECK(n->cpus > 0 && threads <= LIMIT_CPUS_PER_NODE && n->weight > 0);
        map_str_put(seen, n->name, n);
    }
}

static void parts_check(const struct config *c, const struct map_str *nodes)
{
    struct map_str *seen = map_str_new();
    size_t defaults = 0;
    for (size_t i = 0; i < c->nparts; i++) {
        struct partition *p = &c->part[i];
        struct hostlist names = HOSTLIST_INIT;
        CHECK(p->name && p->name[0] && !map_str_get(seen, p->name));
        map_str_put(seen, p->name, p);
        defaults += p->is_default;
        CHECK(!p->nodes || hostlist_parse(&names, p->nodes, NULL));
        for (size_t n = 0; n < names.n; n++)
            CHECK(map_str_get(nodes, names.name[n]));
        hostlist_done(&names);
    }
    CHECK(defaults <= 1);
    map_str_free(seen);
}

/* What was taken can be walked over: levels are counted, names found, addresses written. */
static void topology_checks(const struct config *c)
{
    const struct topology *t = &c->topology;
    struct arena *a = arena_new();
    for (size_t i = 0; i < t->n; i++) {
        struct str below = STR_INIT;
        int level = topology_level(t, &t->row[i]);
        topology_nodes(t, &t->row[i], &below);
        CHECK(level >= 0 && level < 16 && topology_find(t, t->row[i].name) == &t->row[i]);
        str_done(&below);
    }
    for (size_t i = 0; i < c->nnodes && t->n > 0; i++) {
        const char *address = topology_address(t, c->node[i].name, a);
        CHECK(!address || strstr(address, c->node[i].name));
    }
    arena_free(a);
}

static void config_check(const struct config *c)
{
    struct map_str *nodes = map_str_new();
    nodes_check(c, nodes);
    parts_check(c, nodes);
    topology_checks(c);
    for (size_t i = 0; i < c->nwarnings; i++)
        CHECK(strchr(c->warning[i], ':'));
    for (size_t i = 0; i < setting_count; i++) {
        struct str shown = STR_INIT;
        setting_format(&setting_table[i], &c->settings, &shown);
        CHECK(shown.len);
        str_done(&shown);
    }
    map_str_free(nodes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = xstrndup((const char *)data, size);
    struct config c;
    struct err e = {0};
    if (config_parse(text, "f", again, text, &c, &e)) {
        config_check(&c);
        config_done(&c);
    } else {
        CHECK(e.code != ERR_NONE && strchr(e.text, ':'));
    }
    free(text);
    return 0;
}
