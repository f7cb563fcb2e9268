/* One function a cell. A line without nodes (a partition that has none that fit) shows zeros and
 * "n/a", as Slurm does. */
#include "cli/record/columns_node.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "cli/program/program.h"
#include "cli/record/node_words.h"
#include "cli/record/sinfo_rows.h"

#include <string.h>

// clang-format off
#define CELL(name)                                                                                           \
    static void name##_print(const struct cell_env *env, const struct sinfo_row *r, struct str *out);        \
    static void cell_##name(const struct cell_env *env, const void *record, struct str *out)                 \
    {                                                                                                        \
        name##_print(env, record, out);                                                                      \
    }                                                                                                        \
    static void name##_print(const struct cell_env *env, const struct sinfo_row *r, struct str *out)
/* Text of the line's first node. */
#define NODE_CELL(name, member, if_empty)                                                                    \
    CELL(name)                                                                                               \
    {                                                                                                        \
        (void)env;                                                                                           \
        cell_text(r->node ? r->node->member : NULL, if_empty, out);                                          \
    }
#define PART_TEXT_CELL(name, member, if_empty)                                                               \
    CELL(name)                                                                                               \
    {                                                                                                        \
        (void)env;                                                                                           \
        cell_text(r->part->member, if_empty, out);                                                           \
    }
// clang-format on
/* "4" or "4+" */
#define EXTENT_CELL(name, member, scaled)                                                          \
    CELL(name)                                                                                     \
    {                                                                                              \
        extent_add(&r->member, scaled && !env->noconvert, out);                                    \
    }
// clang-format off
#define TALLY_CELL(name, member)                                                                             \
    CELL(name)                                                                                               \
    {                                                                                                        \
        (void)env;                                                                                           \
        str_addf(out, "%lld/%lld/%lld/%lld", (long long)r->member.alloc, (long long)r->member.idle,          \
                 (long long)r->member.other, (long long)r->member.total);                                    \
    }
#define FOLD_CELL(name, member)                                                                              \
    CELL(name)                                                                                               \
    {                                                                                                        \
        (void)env;                                                                                           \
        hostlist_fold(&r->member, out);                                                                      \
    }
// clang-format on

/* Counts of 1024 and its multiples are shown with a suffix, as Slurm does for CPUs and their
 * parts. */
static void count_add(int64_t n, bool scaled, struct str *out)
{
    static const char suffix[] = "\0KMGT";
    size_t power = 0;
    while (scaled && n >= 1024 && n % 1024 == 0 && power < 4) {
        n /= 1024;
        power++;
    }
    str_add_i64(out, n);
    if (power)
        str_addc(out, suffix[power]);
}

static void extent_add(const struct extent *e, bool scaled, struct str *out)
{
    count_add(e->min, scaled, out);
    if (e->max > e->min)
        str_addc(out, '+');
}

EXTENT_CELL(cpus, cpus, true)
EXTENT_CELL(sockets, sockets, true)
EXTENT_CELL(cores, cores, true)
EXTENT_CELL(threads, threads, true)
EXTENT_CELL(memory, memory, false)
EXTENT_CELL(disk, disk, false)
EXTENT_CELL(weight, weight, false)
TALLY_CELL(cpus_state, cpu)
TALLY_CELL(nodes_aiot, nodes)
FOLD_CELL(names, names)
FOLD_CELL(hosts, hosts)
FOLD_CELL(addrs, addrs)
NODE_CELL(features, features, "(null)")
NODE_CELL(gres, gres, "(null)")
NODE_CELL(reason, reason, "none")
NODE_CELL(reservation, reservation, "")
/* Slurm's release that is spoken, as far as a daemon has said that it runs; its own is in `remuda
 * status`. */
CELL(version)
{
    (void)env;
    bool known = r->node && !text_empty(r->node->version);
    cell_text(known ? strchr(SLURM_VERSION_TEXT, ' ') + 1 : NULL, "N/A", out);
}

NODE_CELL(comment, comment, "(null)")
NODE_CELL(extra, extra, "(null)")
PART_TEXT_CELL(partition_name, name, "n/a")
PART_TEXT_CELL(groups, allow_groups, "all")
PART_TEXT_CELL(alloc_nodes, alloc_nodes, "all")

CELL(cluster)
{
    (void)r;
    str_add(out, env->cluster ? env->cluster : "N/A");
}

/* Nodes are reached through their own connections: there are no ports. */
CELL(port)
{
    (void)env;
    (void)r;
    str_addc(out, '0');
}

CELL(partition)
{
    (void)env;
    cell_text(r->part->name, "n/a", out);
    if (r->part->is_default)
        str_addc(out, '*');
}

CELL(available)
{
    static const char *const words[] = {
        [PART_UP] = "up", [PART_DOWN] = "down", [PART_DRAIN] = "drain", [PART_INACTIVE] = "inact"};
    (void)env;
    str_add(out, (size_t)r->part->state < ARRAY_LEN(words) ? words[r->part->state] : "n/a");
}

CELL(nodes_ai)
{
    (void)env;
    str_addf(out, "%lld/%lld", (long long)r->nodes.alloc, (long long)r->nodes.idle);
}

CELL(nodes)
{
    count_add(r->nodes.total, !env->noconvert, out);
}

CELL(max_cpus)
{
    (void)env;
    if (r->part->max_cpus_per_node)
        str_add_i64(out, r->part->max_cpus_per_node);
    else
        str_add(out, "UNLIMITED");
}

/* A machine that reported has some memory free. */
static bool never_reported(const struct sinfo_row *r)
{
    return r->node && (r->node->last_seen_us == 0 || r->node->free_mem_mib == 0);
}

CELL(free_mem)
{
    (void)env;
    if (never_reported(r))
        str_add(out, "N/A");
    else if (r->free_mem.max > r->free_mem.min)
        str_addf(out, "%lld-%lld", (long long)r->free_mem.min, (long long)r->free_mem.max);
    else
        str_add_i64(out, r->free_mem.min);
}

static void hundredths(int64_t n, struct str *out)
{
    str_addf(out, "%lld.%02lld", (long long)(n / 100), (long long)(n % 100));
}

CELL(load)
{
    (void)env;
    if (never_reported(r)) {
        str_add(out, "N/A");
        return;
    }
    hundredths(r->load.min, out);
    if (r->load.max > r->load.min) {
        str_addc(out, '-');
        hundredths(r->load.max, out);
    }
}

CELL(share)
{
    (void)env;
    partition_share_word(r->part, out);
}

CELL(timestamp)
{
    cell_time(env, r->node ? r->node->reason_us : 0, "Unknown", out);
}

static bool has_reason(const struct sinfo_row *r)
{
    return r->node && r->node->reason_us;
}

CELL(user)
{
    (void)env;
    cell_text(has_reason(r) ? r->node->reason_user : NULL, "Unknown", out);
}

CELL(user_long)
{
    (void)env;
    cell_text(has_reason(r) ? r->node->reason_user : NULL, "Unknown", out);
    if (has_reason(r))
        str_addf(out, "(%u)", r->node->reason_uid);
}

CELL(job_factor)
{
    (void)env;
    str_add_i64(out, r->part->priority_job_factor);
}

CELL(tier)
{
    (void)env;
    str_add_i64(out, r->part->priority_tier);
}

CELL(limit)
{
    (void)env;
    if (r->part->max_time_us && r->part->max_time_us != TIME_UNLIMITED)
        duration_format_short(r->part->max_time_us, out);
    else
        str_add(out, "infinite");
}

CELL(default_time)
{
    (void)env;
    if (!r->part->default_time_us)
        str_add(out, "n/a");
    else if (r->part->default_time_us == TIME_UNLIMITED)
        str_add(out, "infinite");
    else
        duration_format_short(r->part->default_time_us, out);
}

CELL(preempt_mode)
{
    (void)env;
    str_add(out, enum_name(&preempt_mode_names, r->part->preempt_mode));
}

CELL(root)
{
    (void)env;
    str_add(out, r->part->root_only ? "yes" : "no");
}

CELL(size)
{
    int32_t min = r->part->min_nodes > 0 ? r->part->min_nodes : 1;
    (void)env;
    if (!r->part->max_nodes)
        str_addf(out, "%d-infinite", min);
    else if (r->part->max_nodes == min)
        str_add_i64(out, min);
    else
        str_addf(out, "%d-%d", min, r->part->max_nodes);
}

static void state_add(const struct sinfo_row *r, enum node_word form, struct str *out)
{
    ASSERT(form <= NODE_WORD_COMPACT);
    if (r->node)
        node_state_word(r->node, form, out);
    else
        str_add(out, "n/a");
}

CELL(state)
{
    (void)env;
    state_add(r, NODE_WORD_COMPACT, out);
}

CELL(state_long)
{
    (void)env;
    state_add(r, NODE_WORD_LONG, out);
}

/* "idle+drain": scontrol's words in small letters. */
CELL(state_complete)
{
    size_t from = out->len;
    (void)env;
    state_add(r, NODE_WORD_CONTROL, out);
    for (size_t i = from; i < out->len; i++)
        if (out->data[i] >= 'A' && out->data[i] <= 'Z')
            out->data[i] = (char)(out->data[i] - 'A' + 'a');
}

CELL(sct)
{
    extent_add(&r->sockets, !env->noconvert, out);
    str_addc(out, ':');
    extent_add(&r->cores, !env->noconvert, out);
    str_addc(out, ':');
    extent_add(&r->threads, !env->noconvert, out);
}

CELL(alloc_mem)
{
    (void)env;
    str_add_i64(out, r->node ? r->node->alloc_mem_mib : 0);
}

CELL(gres_used)
{
    (void)env;
    if (r->node)
        node_gres_used(r->node, out);
    else
        str_add(out, "(null)");
}

CELL(gres_drain)
{
    (void)env;
    if (r->node)
        node_gres_drained(r->node, out);
    else
        str_add(out, "(null)");
}

/* X(name, letter, header, may nodes that differ share a line, cell) */
// clang-format off
#define COLUMNS(X)                                                                                           \
    X("Available", 'a', "AVAIL", NEVER, available)                                                           \
    X("NodeAI", 'A', "NODES(A/I)", ALWAYS, nodes_ai)                                                         \
    X("features_act", 'b', "ACTIVE_FEATURES", NEVER, features)                                               \
    X("MaxCPUsPerNode", 'B', "MAX_CPUS_PER_NODE", NEVER, max_cpus)                                           \
    X("CPUs", 'c', "CPUS", RANGE, cpus)                                                                      \
    X("CPUsState", 'C', "CPUS(A/I/O/T)", ALWAYS, cpus_state)                                                 \
    X("Disk", 'd', "TMP_DISK", RANGE, disk)                                                                  \
    X("Nodes", 'D', "NODES", ALWAYS, nodes)                                                                  \
    X("FreeMem", 'e', "FREE_MEM", RANGE, free_mem)                                                           \
    X("Reason", 'E', "REASON", NEVER, reason)                                                                \
    X("Features", 'f', "AVAIL_FEATURES", NEVER, features)                                                    \
    X("NodeAIOT", 'F', "NODES(A/I/O/T)", ALWAYS, nodes_aiot)                                                 \
    X("Groups", 'g', "GROUPS", NEVER, groups)                                                                \
    X("Gres", 'G', "GRES", NEVER, gres)                                                                      \
    X("OverSubscribe", 'h', "OVERSUBSCRIBE", NEVER, share)                                                   \
    X("TimeStamp", 'H', "TIMESTAMP", NEVER, timestamp)                                                       \
    X("Reservation", 'i', "RESERVATION", NEVER, reservation)                                                       \
    X("PriorityJobFactor", 'I', "PRIO_JOB_FACTOR", NEVER, job_factor)                                        \
    X("Time", 'l', "TIMELIMIT", NEVER, limit)                                                                \
    X("DefaultTime", 'L', "DEFAULTTIME", NEVER, default_time)                                                \
    X("Memory", 'm', "MEMORY", RANGE, memory)                                                                \
    X("PreemptMode", 'M', "PREEMPT_MODE", NEVER, preempt_mode)                                               \
    X("NodeHost", 'n', "HOSTNAMES", NEVER, hosts)                                                            \
    X("NodeList", 'N', "NODELIST", ALWAYS, names)                                                            \
    X("NodeAddr", 'o', "NODE_ADDR", NEVER, addrs)                                                            \
    X("CPUsLoad", 'O', "CPU_LOAD", RANGE, load)                                                              \
    X("PriorityTier", 'p', "PRIO_TIER", NEVER, tier)                                                         \
    X("Partition", 'P', "PARTITION", NEVER, partition)                                                       \
    X("Root", 'r', "ROOT", NEVER, root)                                                                      \
    X("PartitionName", 'R', "PARTITION", NEVER, partition_name)                                              \
    X("Size", 's', "JOB_SIZE", NEVER, size)                                                                  \
    X("AllocNodes", 'S', "ALLOCNODES", NEVER, alloc_nodes)                                                   \
    X("StateCompact", 't', "STATE", NEVER, state)                                                            \
    X("StateLong", 'T', "STATE", NEVER, state_long)                                                          \
    X("User", 'u', "USER", NEVER, user)                                                                      \
    X("UserLong", 'U', "USER", NEVER, user_long)                                                             \
    X("Version", 'v', "VERSION", NEVER, version)                                                             \
    X("Cluster", 'V', "CLUSTER", ALWAYS, cluster)                                                            \
    X("Weight", 'w', "WEIGHT", RANGE, weight)                                                                \
    X("Sockets", 'X', "SOCKETS", RANGE, sockets)                                                             \
    X("Cores", 'Y', "CORES", RANGE, cores)                                                                   \
    X("Threads", 'Z', "THREADS", RANGE, threads)                                                             \
    X("SocketCoreThread", 'z', "S:C:T", RANGE, sct)                                                          \
    X("AllocMem", 0, "ALLOCMEM", NEVER, alloc_mem)                                                           \
    X("Comment", 0, "COMMENT", NEVER, comment)                                                               \
    X("Extra", 0, "EXTRA", NEVER, extra)                                                                     \
    X("GresDrain", 0, "GRES_DRAIN", NEVER, gres_drain)                                                       \
    X("GresUsed", 0, "GRES_USED", NEVER, gres_used)                                                          \
    X("Port", 0, "PORT", ALWAYS, port)                                                                       \
    X("Priority", 0, "PRIO_TIER", NEVER, tier)                                                               \
    X("StateComplete", 0, "STATECOMPLETE", NEVER, state_complete)
// clang-format on

static const struct column columns[] = {
#define X(name, letter, header, merge, cell) {name, letter, header, 0, "", cell_##cell},
    COLUMNS(X)
#undef X
};
static const enum merge merges[] = {
#define X(name, letter, header, merge, cell) MERGE_##merge,
    COLUMNS(X)
#undef X
};
const struct column_table node_columns = {columns, ARRAY_LEN(columns), "node", NULL};

enum merge node_column_merge(const struct column *c)
{
    ASSERT(c >= columns && c < columns + ARRAY_LEN(merges));
    return merges[c - columns];
}

bool node_column_names_partition(const struct column *c)
{
    return c->letter == 'P' || c->letter == 'R';
}
