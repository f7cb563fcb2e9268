/* sprio: what the priority of each waiting job is made of. */
#include "base/alloc.h"
#include "cli/program/commands.h"
#include "cli/table/listing.h"
#include "cli/table/listing_command.h"
#include "model/settings/key.h"
#include "model/stored.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Weights as `scontrol show config` has them. */
struct weights {
    int64_t age, assoc, fair, size, part, qos;
    const char *tres;
};

struct sprio {
    struct listing l;
    struct msg_query query;
    const char *sort;
    bool norm, weights_only, basic;
    struct weights weights;
    VEC(const struct priority_row *) row;
};

/* ---- columns -------------------------------------------------------------------------------- */

#define CELL(name)                                                                                 \
    static void cell_##name(const struct cell_env *env, const void *record, struct str *out)
/* With -w there is no record: env->more has the weights. */
// clang-format off
#define WEIGHED(name, member, weight)                                                                                                      \
    CELL(name)                                                                                                                             \
    {                                                                                                                                      \
        const struct priority_row *r = record;                                                                                             \
        const struct weights *w = env->more;                                                                                               \
        str_add_i64(out, r ? r->member : w->weight);                                                                                       \
    }
// clang-format on
WEIGHED(age, age, age)
WEIGHED(assoc, assoc, assoc)
WEIGHED(fair, fairshare, fair)
WEIGHED(size, size, size)
WEIGHED(part, part, part)
WEIGHED(qos, qos_part, qos)

static void factor_add(int64_t factor, struct str *out)
{
    /* Ten millionths, rounded. */
    int64_t n = (factor * 10000000 + FACTOR_ONE / 2) / FACTOR_ONE;
    str_addf(out, "%lld.%07lld", (long long)(n / 10000000), (long long)(n % 10000000));
}
// clang-format off
#define FACTOR(name, member, weight)                                                                                                       \
    CELL(name)                                                                                                                             \
    {                                                                                                                                      \
        const struct priority_row *r = record;                                                                                             \
        const struct weights *w = env->more;                                                                                               \
        if (r)                                                                                                                             \
            factor_add(r->member, out);                                                                                                    \
        else                                                                                                                               \
            str_add_i64(out, w->weight);                                                                                                   \
    }
// clang-format on
FACTOR(age_norm, age_factor, age)
FACTOR(assoc_norm, assoc_factor, assoc)
FACTOR(fair_norm, fairshare_factor, fair)
FACTOR(size_norm, size_factor, size)
FACTOR(part_norm, part_factor, part)
FACTOR(qos_norm, qos_factor, qos)

CELL(id)
{
    const struct priority_row *r = record;
    if (r)
        str_add_u64(out, r->job_id);
    else
        str_add(out, "Weights");
}

CELL(cluster)
{
    (void)env;
    (void)record;
    str_add(out, "N/A");
}

CELL(nice)
{
    const struct priority_row *r = record;
    if (r)
        str_add_i64(out, r->nice);
}

CELL(partition)
{
    const struct priority_row *r = record;
    str_add(out, r ? r->partition : "");
}

CELL(site)
{
    const struct priority_row *r = record;
    str_add_i64(out, r ? r->site : 1);
}

CELL(tres)
{
    const struct priority_row *r = record;
    const struct weights *w = env->more;
    const char *text = r ? r->tres : w->tres;
    str_add(out, text ? text : r ? "" : "(null)");
}

CELL(tres_norm)
{
    const struct priority_row *r = record;
    const struct weights *w = env->more;
    const char *text = r ? r->tres_factors : w->tres;
    str_add(out, text ? text : "");
}

CELL(user)
{
    const struct priority_row *r = record;
    str_add(out, r && r->user_name ? r->user_name : "");
}

CELL(priority)
{
    const struct priority_row *r = record;
    if (r)
        str_add_u64(out, r->priority);
}

/* A share of the largest priority there is. */
CELL(priority_norm)
{
    const struct priority_row *r = record;
    if (!r)
        return;
    str_addf(out, "%.14f",
             (double)(r->priority < UINT32_MAX ? r->priority : UINT32_MAX) / UINT32_MAX);
}

static const struct column sprio_column[] = {
    {"AgeFactor", 'a', "AGE", 0, "", cell_age_norm},
    {"Age", 'A', "AGE", 0, "", cell_age},
    {"AssocFactor", 'b', "ASSOC", 0, "", cell_assoc_norm},
    {"Assoc", 'B', "ASSOC", 0, "", cell_assoc},
    {"Cluster", 'c', "CLUSTER", 0, "", cell_cluster},
    {"FairshareFactor", 'f', "FAIRSHARE", 0, "", cell_fair_norm},
    {"Fairshare", 'F', "FAIRSHARE", 0, "", cell_fair},
    {"JobID", 'i', "JOBID", 0, "", cell_id},
    {"SizeFactor", 'j', "JOBSIZE", 0, "", cell_size_norm},
    {"Size", 'J', "JOBSIZE", 0, "", cell_size},
    {"Nice", 'N', "NICE", 0, "", cell_nice},
    {"PartitionFactor", 'p', "PARTITION", 0, "", cell_part_norm},
    {"PartitionPart", 'P', "PARTITION", 0, "", cell_part},
    {"QosFactor", 'q', "QOS", 0, "", cell_qos_norm},
    {"Qos", 'Q', "QOS", 0, "", cell_qos},
    {"Partition", 'r', "PARTITION", 0, "", cell_partition},
    {"Site", 'S', "SITE", 0, "", cell_site},
    {"TresFactors", 't', "TRES", 0, "", cell_tres_norm},
    {"Tres", 'T', "TRES", 0, "", cell_tres},
    {"User", 'u', "USER", 0, "", cell_user},
    {"PriorityFactor", 'y', "PRIORITY", 0, "", cell_priority_norm},
    {"Priority", 'Y', "PRIORITY", 0, "", cell_priority},
};
static const struct column_table sprio_columns = {sprio_column, ARRAY_LEN(sprio_column), "job",
                                                  NULL};

/* ---- options -------------------------------------------------------------------------------- */

static SETTER(set_jobs)
{
    struct sprio *s = to;
    struct span rest = span_of(value), piece;
    uint64_t id;
    while (span_next(&rest, ',', &piece)) {
        /* A component's offset is read over, as Slurm does. */
        const char *word = arena_strndup(a, piece.data, piece.len);
        word = arena_strndup(a, word, strcspn(word, "+"));
        if (piece.len && (!text_to_u64(word, INT64_MAX, &id) || !id))
            return err_set(ret_err, ERR_INVALID, "Invalid job id: %s", word);
    }
    if (value)
        s->query.ids = listing_join(s->query.ids, value, a);
    return true;
}

static SETTER(set_users)
{
    struct sprio *s = to;
    s->query.uids = listing_uids_known("sprio", value, a);
    return true;
}

#define NO_JSON                                                                                    \
    "not supported: Slurm's sprio has no such output; -h -o prints what a program can read, "      \
    "squeue --json "                                                                               \
    "has each job's priority"
#define AT(member) offsetof(struct sprio, member)
static const struct option_row option_rows[] = {
    LISTING_CLUSTERS,
    LISTING_FEDERATION("federation"),
    OPT_VALUE("format", 'o', "columns", "columns by letter: \"%.15i %9r %.10Y %.10A\"",
              listing_set_format, 0, .env = {"SPRIO_FORMAT"}),
    LISTING_HELP(0),
    {.name = "jobs",
     .letter = 'j',
     .arg = ARG_NEXT,
     .metavar = "jobs",
     .doc = "these jobs: -j42,43",
     .set = set_jobs},
    LISTING_NO_JSON("json", NO_JSON),
    LISTING_LOCAL,
    LISTING_LONG("all factors, users too"),
    LISTING_NOHEADER('h', "no header line"),
    OPT_FLAG("norm", 'n', "factors from 0 to 1 instead of what they add", AT(norm)),
    OPT_VALUE("partition", 'p', "partitions", "these partitions", set_any_text,
              AT(query.partitions)),
    LISTING_FEDERATION("sibling"),
    OPT_VALUE("sort", 'S', "letters", "sort by letters of -o, '-' before one turns it round",
              set_any_text, AT(sort)),
    LISTING_USAGE,
    OPT_VALUE("user", 'u', "users", "jobs of these users", set_users, 0, .alias = "users"),
    LISTING_VERBOSE,
    LISTING_VERSION,
    OPT_FLAG("weights", 'w', "the weights that are configured", AT(weights_only)),
    LISTING_NO_JSON("yaml", NO_JSON),
};
OPTION_TABLE(sprio_options, option_rows, .usage = "sprio [OPTIONS]", .letters_equals = true,
             .variables_as_are = true);

/* Columns for the factors that have a weight. */
static const char *format_default(const struct sprio *s)
{
    const struct weights *w = &s->weights;
    if (s->l.longer)
        return s->norm
                   ? "%.15i %9r %.8u %10y %10a %10b %10f %10j %10p %10q %20t"
                   : "%.15i %9r %.8u %.10Y %.10S %.10A %.10B %.10F %.10J %.10P %.10Q %.11N %.20T";
    struct str f = STR_INIT;
    str_addf(&f, "%%.15i %%9r%s %s", s->query.uids ? " %.8u" : "",
             s->norm ? "%10y" : "%.10Y %.10S");
    const struct {
        bool wanted;
        const char *norm, *weighed;
    } columns[] = {
        {w->age != 0, " %10a", " %.10A"},    {w->assoc != 0, " %10b", " %.10B"},
        {w->fair != 0, " %10f", " %.10F"},   {w->size != 0, " %10j", " %.10J"},
        {w->part != 0, " %10p", " %.10P"},   {w->qos != 0, " %10q", " %.10Q"},
        {w->tres != NULL, " %20t", " %20T"},
    };
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        if (columns[i].wanted)
            str_add(&f, s->norm ? columns[i].norm : columns[i].weighed);
    const char *text = arena_strdup(s->l.a, str_text(&f));
    str_done(&f);
    return text;
}

/* ---- reading and sorting -------------------------------------------------------------------- */

static void setting_note(void *ctx, const void *record)
{
    struct sprio *s = ctx;
    const struct meta *m = record;
    s->basic |= text_is(m->key, SETTING_KEY(PriorityType)) && text_is(m->value, "priority/basic");
    const struct {
        const char *key;
        int64_t *to;
    } numbers[] = {
        {SETTING_KEY(PriorityWeightAge), &s->weights.age},
        {SETTING_KEY(PriorityWeightAssoc), &s->weights.assoc},
        {SETTING_KEY(PriorityWeightFairshare), &s->weights.fair},
        {SETTING_KEY(PriorityWeightJobSize), &s->weights.size},
        {SETTING_KEY(PriorityWeightPartition), &s->weights.part},
        {SETTING_KEY(PriorityWeightQOS), &s->weights.qos},
    };
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (text_is(m->key, numbers[i].key))
            text_to_i64(m->value, INT64_MIN, INT64_MAX, numbers[i].to);
    if (text_is(m->key, SETTING_KEY(PriorityWeightTRES)) && !text_is(m->value, "(null)"))
        s->weights.tres = m->value;
}

static void row_keep(void *ctx, const void *record)
{
    struct sprio *s = ctx;
    vec_push(&s->row, arena_dup(s->l.a, record, sizeof(struct priority_row)));
}

static int64_t number_of(const struct priority_row *r, char letter)
{
    switch (letter) {
    case 'a':
    case 'A': return r->age_factor;
    case 'b':
    case 'B': return r->assoc_factor;
    case 'f':
    case 'F': return r->fairshare_factor;
    case 'j':
    case 'J': return r->size_factor;
    case 'p':
    case 'P': return r->part_factor;
    case 'q':
    case 'Q': return r->qos_factor;
    case 't':
    case 'T': return r->tres_sum;
    case 'N': return r->nice;
    case 'S': return r->site;
    case 'y':
    case 'Y': return (int64_t)r->priority;
    default: return (int64_t)r->job_id;
    }
}

static int rows_compare(const struct priority_row *a, const struct priority_row *b, char letter)
{
    if (letter == 'u' || letter == 'r') {
        const char *x = letter == 'u' ? a->user_name : a->partition,
                   *y = letter == 'u' ? b->user_name : b->partition;
        return strcmp(x ? x : "", y ? y : "");
    }
    int64_t x = number_of(a, letter), y = number_of(b, letter);
    return (x > y) - (x < y);
}

static bool before(const struct priority_row *a, const struct priority_row *b, const char *sort)
{
    for (const char *at = sort; *at; at++) {
        bool down = *at == '-';
        at += *at == '-' || *at == '+';
        if (!*at)
            break;
        int order = *at == ',' ? 0 : rows_compare(a, b, *at);
        if (order)
            return down ? order > 0 : order < 0;
    }
    return false;
}

/* Stable. */
static void rows_sort(struct sprio *s, const char *sort)
{
    for (size_t width = 1; width < s->row.n; width *= 2) {
        const struct priority_row **to = arena_alloc(s->l.a, s->row.n * sizeof *to);
        for (size_t low = 0; low < s->row.n; low += 2 * width) {
            size_t middle = low + width < s->row.n ? low + width : s->row.n,
                   high = low + 2 * width < s->row.n ? low + 2 * width : s->row.n;
            for (size_t i = low, k = middle, n = low; n < high; n++)
                to[n] = k >= high || (i < middle && !before(s->row.v[k], s->row.v[i], sort))
                            ? s->row.v[i++]
                            : s->row.v[k++];
        }
        memcpy(s->row.v, to, s->row.n * sizeof *to);
    }
}

static bool prepare(void *ctx, struct err *ret_err)
{
    struct sprio *s = ctx;
    if (option_line_has(&s->l.line, "format") && option_line_has(&s->l.line, "long")) {
        fputs("sprio: fatal: Options -o(--format) and -l(--long) are mutually exclusive. Please "
              "remove one and retry.\n",
              stderr);
        return false;
    }
    for (const char *at = s->sort ? s->sort : ""; *at; at++)
        if (!strchr("+-,aAbBfFijJNpPqQrStTuyYc", *at))
            return err_set(ret_err, ERR_INVALID, "Invalid sort specification: %s", at);
    return true;
}

static bool show(void *ctx, struct client *c, struct err *ret_err)
{
    struct sprio *s = ctx;
    struct listing *l = &s->l;
    struct msg_done done = {0};
    struct msg_query settings = {.what = QUERY_SETTINGS};
    s->query.what = QUERY_PRIORITY;
    if (!client_query(c, &settings, &meta_fields, l->a, setting_note, s, &done, ret_err))
        return false;
    if (s->basic) {
        fputs("You are not running a supported priority plugin\n(priority/basic).\n"
              "Only 'priority/multifactor' is supported.\n",
              stderr);
        return false;
    }
    if (((!s->weights_only || s->query.ids) &&
         !client_query(c, &s->query, &priority_fields, l->a, row_keep, s, &done, ret_err)))
        return false;
    format_parse_short(&sprio_columns, l->format_text ? l->format_text : format_default(s), l->a,
                       &l->format);
    if (s->query.ids && !s->row.n) {
        puts("Unable to find jobs matching user/id(s) specified");
        return true;
    }
    rows_sort(s, "i");
    if (s->sort)
        rows_sort(s, s->sort);
    if (s->weights_only || !option_line_has(&l->line, "clusters"))
        l->clusters = NULL; /* as Slurm's: -M alone heads it, and never weights */
    l->env.more = &s->weights;
    listing_begin(l);
    if (s->weights_only)
        listing_row(l, NULL);
    for (size_t i = 0; i < s->row.n && !s->weights_only; i++)
        listing_row(l, s->row.v[i]);
    listing_end(l);
    return true;
}

static const struct listing_command command = {
    .name = "sprio",
    .options = &sprio_options,
    .away = 255,
    .echoes = true,
    .prepare = prepare,
    .show = show,
};

int cmd_sprio(int argc, char **argv)
{
    struct sprio s = {0};
    int status = listing_main(&s.l, &command, &s, argc, argv);
    vec_done(&s.row);
    listing_done(&s.l);
    return status;
}
