/* Lines that describe nodes and partitions: NodeName, PartitionName, NodeSet, DownNodes,
 * FrontendName. */
#include "base/alloc.h"
#include "base/hostlist.h"
#include "base/list.h"
#include "base/plain.h"
#include "base/str.h"
#include "model/limits.h"
#include "model/settings/config_parser.h"

#include <string.h>

/* ---- keys of a line ---- */

static const struct line_key *key_find(const struct line_keys *keys, const char *key)
{
    for (size_t i = 0; i < keys->n; i++)
        if (text_is_nocase(keys->key[i].key, key))
            return &keys->key[i];
    return NULL;
}

static void warn_unknown_key(struct parser *p, const struct line_keys *keys, const char *key,
                             const char *start)
{
    VEC(const char *) names = {0};
    for (size_t i = 0; i < keys->n; i++)
        vec_push(&names, keys->key[i].key);
    config_warn_unknown(p, key, arena_printf(p->a, " on a %s line", start), names.v, names.n);
    vec_done(&names);
}

/* Reads all words but the first into the record. */
static bool keys_take(struct parser *p, const struct line *line, const struct line_keys *keys,
                      void *record, struct err *ret_err)
{
    const char *start = line->word[0].key;
    for (size_t i = 1; i < line->n; i++) {
        const struct word *w = &line->word[i];
        const struct line_key *k = key_find(keys, w->key);
        if (!k)
            warn_unknown_key(p, keys, w->key, start);
        else if (!k->set)
            config_warn(p, k->missed ? WEIGHS_MEANING : WEIGHS_NOTHING,
                        "%s on a %s line is known to Slurm but has no effect in Remuda: %s", k->key,
                        start, k->doc);
        else if (!k->set(record, w->value, p->a, ret_err))
            return config_error_at(&p->at, k->key, ret_err);
        else if (keys == &partition_keys)
            config_warn_value(p, k->key, w->value);
    }
    return true;
}

/* ---- NodeName ---- */

/* What was not said follows from what was, as in Slurm: CPUs is the product of sockets, cores and
 * threads; with CPUs alone each is a socket of one core. CPUs may count threads, cores or
 * sockets. */
static bool node_complete(struct parser *p, struct node_draft *d, struct err *ret_err)
{
    struct node *n = &d->node;
    n->boards = n->boards ? n->boards : 1;
    n->cores_per_socket = n->cores_per_socket ? n->cores_per_socket : 1;
    n->threads_per_core = n->threads_per_core ? n->threads_per_core : 1;
    n->weight = n->weight ? n->weight : 1;
    int64_t sockets = d->sockets_per_board ? (int64_t)n->boards * d->sockets_per_board : n->sockets;
    if (!sockets)
        sockets = n->cpus / n->cores_per_socket / n->threads_per_core;
    if (!sockets)
        sockets = 1;
    int64_t cores = sockets * n->cores_per_socket, threads = cores * n->threads_per_core;
    if (threads > LIMIT_CPUS_PER_NODE)
        return err_set(ret_err, ERR_LIMIT, "%lld CPUs on a node; %u is the limit",
                       (long long)threads, LIMIT_CPUS_PER_NODE);
    n->sockets = (int32_t)sockets;
    if (n->cpus && n->cpus != sockets && n->cpus != cores && n->cpus != threads) {
        config_warn(p, WEIGHS_MEANING,
                    "CPUs=%d is none of %lld sockets, %lld cores and %lld threads; %lld is used",
                    n->cpus, (long long)sockets, (long long)cores, (long long)threads,
                    (long long)threads);
        n->cpus = 0;
    }
    if (!n->cpus)
        n->cpus = (int32_t)threads;
    return true;
}

/* NodeAddr or NodeHostname beside the names: one for each name, or one for all. */
static bool beside_parse(const char *key, const char *text, size_t n, struct hostlist *ret,
                         struct err *ret_err)
{
    ASSERT(n > 0);
    if (text && !hostlist_parse(ret, text, ret_err))
        return err_prefix(ret_err, "%s", key);
    if (!text || ret->n == n || ret->n == 1)
        return true;
    return err_set(ret_err, ERR_INVALID,
                   "%s gives %zu values for %zu nodes; one for each or one for all is expected",
                   key, ret->n, n);
}

static const char *beside(struct parser *p, const struct hostlist *list, size_t i)
{
    ASSERT(list->n <= 1 || i < list->n);
    return list->n ? arena_strdup(p->a, list->name[list->n == 1 ? 0 : i]) : NULL;
}

static bool node_add(struct parser *p, const struct node *n, struct err *ret_err)
{
    if (p->joined && n->is_virtual)
        return err_set(ret_err, ERR_INVALID,
                       "%s is the node of a host that joined, and none of this machine's (Virtual)",
                       n->name);
    if (strlen(n->name) >= LIMIT_NAME_BYTES)
        return err_set(ret_err, ERR_LIMIT, "%.40s… is longer than %u bytes", n->name,
                       LIMIT_NAME_BYTES - 1);
    if (p->node.n == LIMIT_NODES)
        return err_set(ret_err, ERR_LIMIT, "%s would be one more than %u nodes", n->name,
                       LIMIT_NODES);
    if (map_str_get(p->node_index, n->name)) /* the site's own line of a host that joined counts */
        return p->joined || err_set(ret_err, ERR_EXISTS, "%s is described twice", n->name);
    map_str_put(p->node_index, n->name, arena_dup(p->a, &p->node.n, sizeof p->node.n));
    vec_push(&p->node, *n);
    return true;
}

static bool nodes_add(struct parser *p, const struct hostlist *names, const struct node *like,
                      struct err *ret_err)
{
    struct hostlist addr = HOSTLIST_INIT, host = HOSTLIST_INIT;
    bool ok = (names->n || err_set(ret_err, ERR_INVALID, "the name is missing")) &&
              beside_parse("NodeAddr", like->addr, names->n, &addr, ret_err) &&
              beside_parse("NodeHostname", like->hostname, names->n, &host, ret_err);
    for (size_t i = 0; ok && i < names->n; i++) {
        struct node n = *like;
        n.name = arena_strdup(p->a, names->name[i]);
        n.addr = beside(p, &addr, i);
        n.hostname = beside(p, &host, i);
        ok = node_add(p, &n, ret_err);
    }
    hostlist_done(&addr);
    hostlist_done(&host);
    return ok;
}

static bool node_line(struct parser *p, const struct line *line, struct err *ret_err)
{
    struct node_draft d = p->default_node;
    struct hostlist names = HOSTLIST_INIT;
    if (!keys_take(p, line, &node_keys, &d, ret_err))
        return false;
    if (text_is_nocase(line->word[0].value, "DEFAULT")) {
        p->default_node = d;
        return true;
    }
    bool ok = hostlist_parse(&names, line->word[0].value, ret_err) &&
              node_complete(p, &d, ret_err) && nodes_add(p, &names, &d.node, ret_err);
    hostlist_done(&names);
    return ok || config_error_at(&p->at, "NodeName", ret_err);
}

/* ---- PartitionName ---- */

/* Slurm's rule: the partition that says Default=YES last is the one. */
static void default_take_over(struct parser *p, const struct partition *part)
{
    for (size_t i = 0; part->is_default && i < p->part.n; i++) {
        if (!p->part.v[i].is_default)
            continue;
        config_warn(p, WEIGHS_MEANING, "Default=YES of partition %s takes the place of that of %s",
                    part->name, p->part.v[i].name);
        p->part.v[i].is_default = false;
    }
}

static bool part_add(struct parser *p, const struct partition *part, struct err *ret_err)
{
    size_t len = strlen(part->name);
    if (!len || strcspn(part->name, " \t") != len)
        return err_set(ret_err, ERR_INVALID, "\"%.60s\" is no name for a partition", part->name);
    if (!text_is_plain(part->name)) /* all users' listings carry it */
        return err_set(ret_err, ERR_INVALID, "a name of a partition holds no control characters");
    if (len >= LIMIT_NAME_BYTES)
        return err_set(ret_err, ERR_LIMIT, "%.40s… is longer than %u bytes", part->name,
                       LIMIT_NAME_BYTES - 1);
    if (p->part.n == LIMIT_PARTITIONS)
        return err_set(ret_err, ERR_LIMIT, "%s would be one more than %u partitions", part->name,
                       LIMIT_PARTITIONS);
    if (map_str_get(p->part_seen, part->name))
        return err_set(ret_err, ERR_EXISTS, "%s is described twice", part->name);
    default_take_over(p, part);
    map_str_put(p->part_seen, part->name, p);
    vec_push(&p->part, *part);
    vec_push(&p->part_at, p->at);
    return true;
}

static bool part_line(struct parser *p, const struct line *line, struct err *ret_err)
{
    struct partition part = p->default_part;
    struct span rest = span_of(line->word[0].value), piece;
    if (!keys_take(p, line, &partition_keys, &part, ret_err))
        return false;
    if (span_is_nocase(rest, "DEFAULT")) {
        p->default_part = part;
        return true;
    }
    while (span_next(&rest, ',', &piece)) {
        part.name = arena_strndup(p->a, piece.data, piece.len);
        if (!part_add(p, &part, ret_err))
            return config_error_at(&p->at, "PartitionName", ret_err);
    }
    return true;
}

/* ---- lines that are kept until all nodes are known ------------------------------------------ */

static bool set_set_nodes(void *record, const char *value, struct arena *a, struct err *ret_err)
{
    ((struct node_set *)record)->nodes = value;
    return true;
}

static bool set_set_feature(void *record, const char *value, struct arena *a, struct err *ret_err)
{
    ((struct node_set *)record)->feature = value;
    return true;
}

static bool set_line(struct parser *p, const struct line *line, struct err *ret_err)
{
    static const struct line_key keys[] = {
        {"Nodes", set_set_nodes, "names", "none", "nodes of the set", false},
        {"Feature", set_set_feature, "word", "none", "nodes that have the feature are of the set",
         false}};
    struct node_set set = {.at = p->at, .name = line->word[0].value};
    if (!keys_take(p, line, &(struct line_keys){keys, ARRAY_LEN(keys)}, &set, ret_err))
        return false;
    vec_push(&p->set, set);
    return true;
}

static bool down_set_state(void *record, const char *value, struct arena *a, struct err *ret_err)
{
    struct node scratch = {0};
    ((struct down_nodes *)record)->state = value;
    return node_state_set(&scratch, value, ret_err);
}

static bool down_set_reason(void *record, const char *value, struct arena *a, struct err *ret_err)
{
    ((struct down_nodes *)record)->reason = value;
    return true;
}

static bool down_line(struct parser *p, const struct line *line, struct err *ret_err)
{
    static const struct line_key keys[] = {{"State", down_set_state, "DOWN, DRAIN, FAIL, FUTURE",
                                            "DOWN", "how these nodes begin", false},
                                           {"Reason", down_set_reason, "text", "", "why", false}};
    struct down_nodes down = {.at = p->at, .names = line->word[0].value, .state = "DOWN"};
    if (!keys_take(p, line, &(struct line_keys){keys, ARRAY_LEN(keys)}, &down, ret_err))
        return false;
    vec_push(&p->down, down);
    return true;
}

static bool frontend_line(struct parser *p, const struct line *line, struct err *ret_err)
{
    config_warn(p, WEIGHS_NOTHING, "FrontendName is known to Slurm but has no effect in Remuda");
    return true;
}

bool config_line_parse(struct parser *p, const struct line *line, bool *ret_mine,
                       struct err *ret_err)
{
    static const struct {
        const char *start;
        bool (*take)(struct parser *p, const struct line *line, struct err *ret_err);
    } kinds[] = {
        {"NodeName", node_line},
        {"PartitionName", part_line},
        {"NodeSet", set_line},
        {"DownNodes", down_line},
        {"FrontendName", frontend_line},
        {"SwitchName", config_switch_line},
        {"BlockName", config_block_line},
        {"BlockSizes", config_block_sizes},
    };
    *ret_mine = true;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (text_is_nocase(line->word[0].key, kinds[i].start))
            return kinds[i].take(p, line, ret_err);
    *ret_mine = false;
    return true;
}

/* ---- after the last line ---- */

static struct node *node_find(const struct parser *p, const char *name)
{
    const size_t *index = map_str_get(p->node_index, name);
    return index ? &p->node.v[*index] : NULL;
}

/* Adds all nodes, or all with the feature. */
static void all_add(const struct parser *p, const char *feature, struct hostlist *out)
{
    CHECK(p->node.v || !p->node.n);
    for (size_t i = 0; i < p->node.n; i++)
        if (!feature || list_has(p->node.v[i].features, feature))
            hostlist_add(out, p->node.v[i].name);
}

static bool names_resolve(const struct parser *p, const char *text, bool sets, struct hostlist *out,
                          struct err *ret_err);

/* Nodes of all NodeSet lines of that name; false, without an error, if there is none. */
static bool set_resolve(const struct parser *p, const char *name, struct hostlist *out,
                        bool *ret_ok, struct err *ret_err)
{
    bool found = false;
    *ret_ok = true;
    for (size_t i = 0; *ret_ok && i < p->set.n; i++) {
        const struct node_set *set = &p->set.v[i];
        if (!text_is(set->name, name))
            continue;
        found = true;
        if (set->feature)
            all_add(p, set->feature, out);
        if (set->nodes)
            *ret_ok = names_resolve(p, set->nodes, false, out, ret_err);
    }
    return found;
}

static bool name_resolve(const struct parser *p, const char *name, bool sets, struct hostlist *out,
                         struct err *ret_err)
{
    bool ok;
    if (node_find(p, name)) {
        hostlist_add(out, name);
        return true;
    }
    if (text_is_nocase(name, "ALL")) {
        all_add(p, NULL, out);
        return true;
    }
    if (sets && set_resolve(p, name, out, &ok, ret_err))
        return ok;
    return err_set(ret_err, ERR_NOT_FOUND, "%s is described by no NodeName line%s", name,
                   sets ? " and no NodeSet line" : "");
}

/* Adds the nodes that `text` names, each of which must be known: node names and ranges, ALL, and
 * names of node sets if `sets`. */
static bool names_resolve(const struct parser *p, const char *text, bool sets, struct hostlist *out,
                          struct err *ret_err)
{
    struct hostlist names = HOSTLIST_INIT;
    bool ok = hostlist_parse(&names, text, ret_err);
    for (size_t i = 0; ok && i < names.n; i++)
        ok = name_resolve(p, names.name[i], sets, out, ret_err);
    hostlist_done(&names);
    return ok;
}

static bool down_apply(const struct parser *p, const struct down_nodes *down, struct err *ret_err)
{
    struct hostlist names = HOSTLIST_INIT;
    bool ok = names_resolve(p, down->names, true, &names, ret_err);
    for (size_t i = 0; ok && i < names.n; i++) {
        struct node *n = node_find(p, names.name[i]);
        ok = node_state_set(n, down->state, ret_err);
        n->reason = down->reason ? down->reason : n->reason;
    }
    hostlist_done(&names);
    return ok || config_error_at(&down->at, "DownNodes", ret_err);
}

static bool part_resolve(const struct parser *p, struct partition *part, const struct place *at,
                         struct err *ret_err)
{
    struct hostlist names = HOSTLIST_INIT;
    struct str folded = STR_INIT;
    bool ok = !part->nodes || names_resolve(p, part->nodes, true, &names, ret_err);
    hostlist_uniq(&names);
    hostlist_fold(&names, &folded);
    part->nodes = folded.len ? arena_strdup(p->a, str_text(&folded)) : NULL;
    str_done(&folded);
    hostlist_done(&names);
    return ok || config_error_at(at, "Nodes", ret_err);
}

/* ---- what the cluster says for its partitions ---- */

static const char *const of_gpus[] = {"DefCpuPerGPU", "DefMemPerGPU", "JobDefaults"};

bool config_cluster_part_take(struct parser *p, const char *key, const char *value, bool *ret_is,
                              struct err *ret_err)
{
    for (size_t i = 0; i < ARRAY_LEN(of_gpus); i++) {
        if (!text_is_nocase(key, of_gpus[i]))
            continue;
        *ret_is = true;
        return key_find(&partition_keys, key)->set(&p->cluster_part, value, p->a, ret_err) ||
               config_error_at(&p->at, of_gpus[i], ret_err);
    }
    *ret_is = false;
    return true;
}

/* One number, or one type, of its own, and the cluster's do not count for that partition. */
static void cluster_part_apply(const struct partition *from, struct partition *to)
{
    if (!to->def_cpu_per_gpu && !to->def_cpu_per_gpu_types) {
        to->def_cpu_per_gpu = from->def_cpu_per_gpu;
        to->def_cpu_per_gpu_types = from->def_cpu_per_gpu_types;
    }
    if (!to->def_mem_per_gpu_mib && !to->def_mem_per_gpu_types) {
        to->def_mem_per_gpu_mib = from->def_mem_per_gpu_mib;
        to->def_mem_per_gpu_types = from->def_mem_per_gpu_types;
    }
}

bool config_lines_finish(struct parser *p, struct err *ret_err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < p->down.n; i++)
        ok = down_apply(p, &p->down.v[i], ret_err);
    for (size_t i = 0; i < p->part.n; i++)
        cluster_part_apply(&p->cluster_part, &p->part.v[i]);
    const char *gpus = partition_job_defaults(&p->cluster_part, p->a);
    if (gpus)
        p->settings->job_defaults = gpus;
    for (size_t i = 0; ok && i < p->part.n; i++)
        ok = part_resolve(p, &p->part.v[i], &p->part_at.v[i], ret_err);
    return ok;
}
