/* Options that choose among nodes and say how they are shared. */
#include "script/options/finish.h"
#include "script/options/values.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "model/limits.h"

#include <string.h>

JOB_SETTER(set_exclusive)
{
    static const struct {
        const char *name;
        int32_t value;
    } kinds[] = {{"user", EXCLUSIVE_USER}, {"topo", EXCLUSIVE_TOPO}};
    o->spec.req.oversubscribe = false;
    o->spec.req.exclusive = EXCLUSIVE_NODE;
    if (text_empty(value) || text_is_nocase(value, "exclusive") || text_is_nocase(value, "yes") ||
        text_is(value, "1"))
        return true;
    if (text_is_nocase(value, "mcs"))
        return err_set(ret_err, ERR_UNSUPPORTED,
                       "not supported yet: --exclusive=mcs (there are no MCS labels); "
                       "--exclusive=user shares nodes "
                       "among the jobs of one user");
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (text_is_nocase(value, kinds[i].name)) {
            o->spec.req.exclusive = kinds[i].value;
            return true;
        }
    }
    return value_refuse(row, value, ret_err,
                        "\"user\" and \"topo\" are allowed, attached: --exclusive=user");
}

JOB_SETTER(set_oversubscribe)
{
    o->spec.req.exclusive = EXCLUSIVE_UNSET;
    o->spec.req.oversubscribe = true;
    return true;
}

/* A name with a slash is a file that lists nodes. */
JOB_SETTER(set_nodelist)
{
    if (!strchr(value, '/')) {
        if (o->nodefile == o->nodelist_file)
            o->nodefile = NULL; /* -F's is weighed later */
        return set_hosts(o, row, value, env, a, ret_err);
    }
    o->nodefile = o->nodelist_file = arena_strdup(a, value);
    return true;
}

JOB_SETTER(set_exclude)
{
    bool of_file = strchr(value, '/') != NULL;
    o->exclude_file = of_file ? arena_strdup(a, value) : NULL;
    return of_file || set_hosts(o, row, value, env, a, ret_err);
}

JOB_SETTER(set_max_switch_wait)
{
    return duration_parse(value, &o->spec.req.switches_wait_us, ret_err) ||
           value_blame(row, value, ret_err);
}

/* COUNT[@LIMIT] */
JOB_SETTER(set_switches)
{
    const char *at = strchr(value, '@');
    int64_t n;
    if (!value_number(row, at ? arena_strndup(a, value, (size_t)(at - value)) : value, 1,
                      LIMIT_NODES, &n, ret_err))
        return false;
    o->spec.req.switches = (int32_t)n;
    return !at || set_max_switch_wait(o, row, at + 1, env, a, ret_err);
}

static bool distribution_word(struct span word, bool first)
{
    static const char *const nodes[] = {"*", "block", "cyclic", "arbitrary"};
    static const char *const sockets[] = {"*", "block", "cyclic", "fcyclic"};
    const char *const *names = first ? nodes : sockets;
    size_t n = first ? ARRAY_LEN(nodes) : ARRAY_LEN(sockets);
    for (size_t i = 0; i < n; i++)
        if (span_is_nocase(word, names[i]))
            return true;
    return false;
}

/* "plane=N" with an N of at least 1 */
static bool plane_valid(struct span spec)
{
    bool some = false;
    for (size_t i = 6; i < spec.len; i++) {
        if (spec.data[i] < '0' || spec.data[i] > '9')
            return false;
        some = some || spec.data[i] != '0';
    }
    return some;
}

static bool distribution_valid(struct span spec)
{
    struct span word;
    if (spec.len > 6 && strncasecmp(spec.data, "plane=", 6) == 0)
        return plane_valid(spec);
    for (int level = 0; span_next(&spec, ':', &word); level++)
        if (level > 2 || !distribution_word(word, level == 0))
            return false;
    return true;
}

static bool packing_word(struct span word)
{
    return span_is_nocase(word, "pack") || span_is_nocase(word, "nopack");
}

/* {*|block|cyclic|plane=N}[:{*|block|cyclic|fcyclic}[:…]][,Pack|NoPack], or one of the last two
 *   alone */
JOB_SETTER(set_distribution)
{
    struct span rest = span_of(value), word;
    bool ok = span_next(&rest, ',', &word) && (packing_word(word) || distribution_valid(word));
    while (ok && span_next(&rest, ',', &word))
        ok = packing_word(word);
    if (ok)
        return set_text(o, row, value, env, a, ret_err);
    err_set(ret_err, ERR_VALUE,
            "arbitrary, block, cyclic or plane=N, then :block, :cyclic or :fcyclic, then ,Pack or "
            ",NoPack "
            "are allowed");
    if (text_starts_nocase(value, "plane"))
        err_lead(ret_err, "error: Invalid plane size or size not specified");
    err_lead(ret_err, "error: Invalid --distribution specification");
    return value_blame(row, value, ret_err);
}

bool options_plane_reaches(const struct finishing *f, struct err *ret_err)
{
    ASSERT(f->q && f->command);
    const struct job_request *q = f->q;
    const char *how = f->command != CMD_SRUN && q->distribution ? q->distribution : "";
    int64_t size, tasks = q->ntasks ? q->ntasks : q->min_nodes * (int64_t)q->ntasks_per_node;
    tasks = tasks ? tasks : 1;
    if (!text_starts_nocase(how, "plane="))
        return true;
    if (!text_to_i64(arena_strndup(f->a, how + 6, strcspn(how + 6, ",")), 1, INT32_MAX, &size))
        size = INT32_MAX; /* it is a number (plane_valid) */
    if ((q->min_nodes - 1) * size < tasks)
        return true;
    err_set(ret_err, ERR_INVALID, "--distribution=%s: %lld task%s not reach %d nodes", how,
            (long long)tasks, tasks > 1 ? "s do" : " does", q->min_nodes);
    return err_lead(ret_err,
                    "error: Too few processes for the requested {plane,node} distribution");
}

JOB_SETTER(set_segment)
{
    int64_t n;
    (void)o;
    (void)env;
    (void)a;
    return value_number(row, value, 1, INT32_MAX, &n, ret_err);
}

JOB_SETTER(set_wait_all_nodes)
{
    int64_t n;
    if (!value_number(row, value, 0, INT32_MAX, &n, ret_err))
        return false;
    return n <= 1 || value_refuse(row, value, ret_err, "0 and 1 are allowed");
}

const struct option_row options_placement[] = {
    {.name = "constraint",
     .letter = 'C',
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = ENV3("CONSTRAINT"),
     .metavar = "list",
     .doc = "nodes with these features: a&b, a|b, [x*2&y*1]",
     .set = set_text,
     .at = AT(spec.req.constraint),
     .component = true},
    {.name = "contiguous",
     .arg = ARG_NONE,
     .commands = CMD_ALL,
     .doc = "neighbouring nodes",
     .set = set_flag,
     .at = AT(spec.req.contiguous),
     .component = true},
    {.name = "distribution",
     .letter = 'm',
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = {"SBATCH_DISTRIBUTION", NULL, "SLURM_DISTRIBUTION"},
     .metavar = "type",
     .doc = "how srun lays out tasks: block, cyclic, plane=N, arbitrary (SLURM_HOSTFILE or "
            "--nodelist has a "
            "node for each)",
     .set = set_distribution,
     .at = AT(spec.req.distribution),
     .component = true},
    {.name = "exclude",
     .letter = 'x',
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .metavar = "nodes",
     .doc = "never on these nodes",
     .set = set_exclude,
     .at = AT(spec.req.exclude),
     .component = true},
    {.name = "exclusive",
     .arg = ARG_OPTIONAL,
     .commands = CMD_ALL,
     .env = ENV3("EXCLUSIVE"),
     .metavar = "user|topo",
     .doc = "share the nodes with no job (of another user)",
     .set = set_exclusive,
     .rival = "oversubscribe",
     .component = true},
    {.name = "nodefile",
     .letter = 'F',
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .metavar = "file",
     .doc = "on the nodes this file lists",
     .set = set_text,
     .at = AT(nodefile),
     .component = true},
    {.name = "nodelist",
     .letter = 'w',
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .metavar = "nodes",
     .doc = "on these nodes (at least)",
     .set = set_nodelist,
     .at = AT(spec.req.nodelist),
     .component = true},
    {.name = "oversubscribe",
     .alias = "share",
     .letter = 's',
     .arg = ARG_NONE,
     .commands = CMD_ALL,
     .doc = "may share cores with jobs that say so too",
     .set = set_oversubscribe,
     .rival = "exclusive",
     .component = true},
    {.name = "prefer",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .metavar = "list",
     .doc = "features liked, not required",
     .set = set_text,
     .at = AT(spec.req.prefer),
     .component = true},
    {.name = "segment",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .support = SUPPORT_NO_EFFECT,
     .env = ENV3("SEGMENT_SIZE"),
     .metavar = "n",
     .doc = "nodes of a block that stay together",
     .why = "there is no topology of blocks",
     .set = set_segment,
     .component = true},
    {.name = "consolidate-segments",
     .arg = ARG_NONE,
     .commands = CMD_ALL,
     .support = SUPPORT_NO_EFFECT,
     .doc = "segments in as few blocks as possible",
     .why = "there is no topology of blocks",
     .set = set_nothing,
     .component = true},
    {.name = "spread-segments",
     .arg = ARG_NONE,
     .commands = CMD_ALL,
     .support = SUPPORT_NO_EFFECT,
     .doc = "each segment in another block",
     .why = "there is no topology of blocks",
     .set = set_nothing,
     .component = true},
    {.name = "spread-job",
     .arg = ARG_NONE,
     .commands = CMD_ALL,
     .env = ENV3("SPREAD_JOB"),
     .doc = "over as many nodes as possible",
     .set = set_flag,
     .at = AT(spec.req.spread_job),
     .component = true},
    {.name = "switches",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = ENV3("REQ_SWITCH"),
     .metavar = "n[@limit]",
     .doc = "under n leaf switches at most; wait so long for it",
     .set = set_switches,
     .component = true},
    {.name = "switch-wait",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = ENV3("WAIT4SWITCH"),
     .metavar = "limit",
     .doc = "how long to wait for so few switches",
     .set = set_max_switch_wait,
     .component = true},
    {.name = "use-min-nodes",
     .arg = ARG_NONE,
     .commands = CMD_ALL,
     .env = ENV3("USE_MIN_NODES"),
     .doc = "of a range of nodes rather the smaller number",
     .set = set_flag,
     .at = AT(spec.req.use_min_nodes),
     .component = true},
    {.name = "wait-all-nodes",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALLOC,
     .env = ENV3("WAIT_ALL_NODES"),
     .metavar = "0|1",
     .doc = "start when all nodes are ready",
     .why = "a job starts only when all its nodes are ready",
     .set = set_wait_all_nodes},
};
const size_t options_placement_n = ARRAY_LEN(options_placement);
