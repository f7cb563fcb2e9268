/* sinfo: partitions and nodes. The controller answers with whole records; filters, grouping,
 * sorting and repeating (-i) are done here. */
#include "base/alloc.h"
#include "cli/program/commands.h"
#include "cli/record/columns_node.h"
#include "cli/record/node_json.h"
#include "cli/record/node_words.h"
#include "cli/record/reservation_words.h"
#include "cli/record/sinfo_rows.h"
#include "cli/table/json_slurm.h"
#include "cli/table/listing.h"
#include "cli/table/listing_command.h"
#include "model/env/device_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* '#' stands for the width of the longest name. */
#define FORMAT_DEFAULT      "%#P %.5a %.10l %.6D %.6t %N"
#define FORMAT_SUMMARY      "%#P %.5a %.10l %.16F %N"
#define FORMAT_LONG         "%#P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %.11i %N"
#define FORMAT_NODE         "%#N %.6D %.#P %6t"
#define FORMAT_NODE_LONG    "%#N %.6D %.#P %.11T %4c %.8z %.6m %.8d %.6w %.8f %20E"
#define FORMAT_REASONS      "%20E %9u %19H %N"
#define FORMAT_REASONS_LONG "%20E %12U %19H %6t %N"
#define STATES_WITH_REASON  "DOWN,DRAIN,FAIL"
#define SORT_DEFAULT        "#P,-t"
#define SORT_NODE           "N"
// clang-format off
#define NODE_FIELDS_ASKED                                                                                    \
    "name,addr,hostname,state,drain,fail,responding,reason,reason_uid,reason_user,reason_us,cpus,boards,"    \
    "sockets,cores_per_socket,threads_per_core,"                                                             \
    "memory_mib,memory_spec_mib,core_spec,tmp_disk_mib,weight,features,gres,devices,devices_out,partitions,version,last_seen_"   \
    "us,load_centi,free_mem_mib,alloc_cpus,"                                                                 \
    "alloc_mem_mib,alloc_gres,jobs,jobs_cleaning,planned,reserved,maint,reservation,comment,extra,complaint,device_trouble,daemon_start_us"
// clang-format on

struct sinfo {
    struct listing l;
    VEC(struct reservation *) resv;
    const char *sort, *partitions, *states, *nodes;
    bool all, dead, exact, future, reasons, only_reasons, by_node, reservation, responding, summary;
    struct hostlist wanted; /* of -n */
    VEC(const struct partition *) part;
    VEC(const struct node *) node;
};

/* A variable with columns is for listings whose columns nothing else says. */
static bool variable_counts(void *ctx, const struct option_row *row, const char *value)
{
    const struct sinfo *s = ctx;
    const struct listing *l = &s->l;
    return row->set != listing_set_format ||
           !(l->format_text || l->long_text || l->longer || s->summary || s->reasons || s->by_node);
}

#define AT(member) offsetof(struct sinfo, member)
static const struct option_row option_rows[] = {
    OPT_FLAG("all", 'a', "hidden partitions too", AT(all), .env = {"SINFO_ALL"}),
    LISTING_CLUSTERS,
    OPT_FLAG("dead", 'd', "only nodes that do not respond", AT(dead)),
    OPT_FLAG("exact", 'e', "no ranges: nodes that differ have lines of their own", AT(exact)),
    LISTING_FEDERATION("federation"),
    OPT_VALUE("format", 'o', "columns", "columns by letter: \"%P %.6D %t %N\"", listing_set_format,
              0, .env = {"SINFO_FORMAT"}),
    OPT_VALUE("Format", 'O', "columns", "columns by name: NodeList:20,StateLong",
              listing_set_long_format, 0),
    OPT_FLAG("future", 'F', "nodes in state FUTURE too", AT(future)),
    LISTING_HELP(0),
    {.name = "hide", .doc = "no hidden partitions (the default)", .set = unset_flag, .at = AT(all)},
    LISTING_ITERATE,
    LISTING_JSON,
    OPT_FLAG("list-reasons", 'R', "why nodes are down, drained or failing, and devices out of use",
             AT(reasons)),
    LISTING_LOCAL,
    LISTING_LONG("more columns"),
    LISTING_NOCONVERT("numbers in their own unit"),
    OPT_FLAG("Node", 'N', "a line for each node and partition", AT(by_node)),
    OPT_VALUE("nodes", 'n', "nodes", "these nodes: gpu[1-4],login", set_any_text, AT(nodes)),
    LISTING_NOHEADER('h', "no header line"),
    OPT_VALUE("partition", 'p', "partitions", "these partitions", set_any_text, AT(partitions),
              .env = {"SINFO_PARTITION"}),
    OPT_FLAG("reservation", 'T', "reservations", AT(reservation)),
    OPT_FLAG("responding", 'r', "only nodes that respond", AT(responding)),
    OPT_VALUE("sort", 'S', "letters", "sort by letters of -o, '-' before one turns it round",
              set_any_text, AT(sort), .env = {"SINFO_SORT"}),
    OPT_VALUE("states", 't', "states", "nodes in these states: idle,mix; idle&drain; ~down",
              set_any_text, AT(states)),
    OPT_FLAG("summarize", 's', "a line for each partition, with counts by state", AT(summary)),
    LISTING_USAGE,
    LISTING_VERBOSE,
    LISTING_VERSION,
    LISTING_YAML,
};

/* Other words are passed over, as Slurm's sinfo does. */
static bool word_pass_over(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    return true;
}

OPTION_TABLE(sinfo_options, option_rows, .usage = "sinfo [OPTIONS]", .words = WORDS_MIXED,
             .word = word_pass_over, .variables_as_are = true);

/* What was given is made whole and checked. */
static bool settle(struct sinfo *s, struct err *ret_err)
{
    if (!s->sort)
        s->sort = s->by_node ? SORT_NODE : SORT_DEFAULT;
    if (s->partitions && text_is_nocase(s->partitions, "all"))
        s->partitions = NULL;
    if (s->states && text_is_nocase(s->states, "all")) {
        s->states = NULL;
        s->future = true;
    }
    s->only_reasons = s->reasons && !s->states;
    if (s->by_node && !s->l.format_text && !s->l.long_text)
        s->reasons = false; /* -R -N: the columns of -N, of nodes that have a reason */
    if (s->nodes && !hostlist_parse(&s->wanted, s->nodes, ret_err))
        return false;
    return sinfo_sort_check(s->sort, ret_err) &&
           (!s->states || node_states_check(s->states, ret_err));
}

/* ---- reading -------------------------------------------------------------------------------- */

static void partition_keep(void *ctx, const void *record)
{
    struct sinfo *s = ctx;
    const struct partition *p = arena_dup(s->l.round, record, sizeof *p);
    if (s->partitions ? listing_has(s->partitions, p->name) : s->all || !p->hidden)
        vec_push(&s->part, p);
}

static bool node_fits(const struct sinfo *s, const struct node *n)
{
    bool future = n->state == NODE_FUTURE;
    if (future && !s->future && !(s->states && node_states_match(n, s->states)))
        return false;
    if ((s->dead && n->responding) || (s->responding && !n->responding))
        return false;
    if (s->nodes && !hostlist_has(&s->wanted, n->name))
        return false;
    return !s->states || node_states_match(n, s->states);
}

static void reason_add(struct sinfo *s, const struct node *n, const char *reason, int64_t since_us)
{
    struct node *copy = arena_dup(s->l.round, n, sizeof *n);
    copy->reason = arena_strdup(s->l.round, reason);
    copy->reason_us = since_us;
    copy->reason_user = "remuda";
    copy->reason_uid = 0;
    vec_push(&s->node, copy);
}

/* -R: a line for the node, if it has a reason of its own, one for what it has less of than
 * configured, one for each of its devices that is out of use, and one for those that could not even
 * be found. */
static void reasons_keep(struct sinfo *s, const struct node *n)
{
    struct device_outs outs = {0};
    device_outs_parse(n->devices_out, s->l.round, &outs);
    if (!s->only_reasons || node_states_match(n, STATES_WITH_REASON))
        vec_push(&s->node, n);
    if (!text_empty(n->complaint))
        reason_add(s, n, n->complaint, n->daemon_start_us);
    for (size_t i = 0; i < outs.n; i++) {
        struct str reason = STR_INIT;
        device_out_reason(&outs.v[i], &reason);
        reason_add(s, n, str_text(&reason), outs.v[i].since_us);
        str_done(&reason);
    }
    if (!text_empty(n->device_trouble))
        reason_add(s, n, n->device_trouble, n->daemon_start_us);
}

static void node_keep(void *ctx, const void *record)
{
    struct sinfo *s = ctx;
    struct node *n = arena_dup(s->l.round, record, sizeof *n);
    if (!node_fits(s, n))
        return;
    if (s->reasons && !s->l.json) {
        reasons_keep(s, n);
        return;
    }
    node_reason_fill(n, s->l.round);
    if (!s->only_reasons || n->devices_out || n->device_trouble || !text_empty(n->complaint) ||
        node_states_match(n, STATES_WITH_REASON))
        vec_push(&s->node, n);
}

static bool rows_read(struct sinfo *s, struct client *c, struct err *ret_err)
{
    struct msg_query parts = {.what = QUERY_PARTITIONS},
                     nodes = {.what = QUERY_NODES, .fields = NODE_FIELDS_ASKED};
    struct msg_done done = {0};
    vec_clear(&s->part);
    vec_clear(&s->node);
    return client_query(c, &parts, &partition_fields, s->l.round, partition_keep, s, &done,
                        ret_err) &&
           client_query(c, &nodes, &node_fields, s->l.round, node_keep, s, &done, ret_err);
}

/* ---- showing -------------------------------------------------------------------------------- */

/* Nodes in the order of their names, numbers compared as numbers. */
struct named_node {
    const char *name;
    const struct node *node;
};

static int named_compare(const void *pa, const void *pb)
{
    return strcmp(((const struct named_node *)pa)->name, ((const struct named_node *)pb)->name);
}

static const struct node **nodes_sorted(const struct sinfo *s)
{
    struct named_node *byname = arena_alloc(s->l.round, s->node.n * sizeof *byname);
    const struct node **sorted = arena_alloc(s->l.round, s->node.n * sizeof(struct node *));
    struct hostlist order = HOSTLIST_INIT;
    for (size_t i = 0; i < s->node.n; i++) {
        byname[i] = (struct named_node){s->node.v[i]->name, s->node.v[i]};
        hostlist_add(&order, byname[i].name);
    }
    hostlist_sort(&order);
    qsort(byname, s->node.n, sizeof *byname, named_compare);
    size_t same = 0; /* a node may be there several times (-R) */
    for (size_t i = 0; i < order.n; i++) {
        struct named_node key = {order.name[i], NULL};
        const struct named_node *found =
            bsearch(&key, byname, s->node.n, sizeof *byname, named_compare);
        while (found > byname && named_compare(found - 1, &key) == 0)
            found--;
        same = i > 0 && text_is(order.name[i], order.name[i - 1]) ? same + 1 : 0;
        sorted[i] = found[same].node;
    }
    hostlist_done(&order);
    return sorted;
}

static const char *format_standard(const struct sinfo *s)
{
    if (s->summary)
        return FORMAT_SUMMARY;
    if (s->reasons)
        return s->l.longer ? FORMAT_REASONS_LONG : FORMAT_REASONS;
    if (s->by_node)
        return s->l.longer ? FORMAT_NODE_LONG : FORMAT_NODE;
    return s->l.longer ? FORMAT_LONG : FORMAT_DEFAULT;
}

/* "%#P" → "%12P": as wide as the longest name (of partitions with room for a '*'), and at least
 * 9. */
static const char *format_fit(const struct sinfo *s, const char *text)
{
    size_t part = 9, node = 9;
    struct str fitted = STR_INIT;
    for (size_t i = 0; i < s->part.n; i++) {
        size_t len = strlen(s->part.v[i]->name) + s->part.v[i]->is_default;
        part = len > part ? len : part;
    }
    for (size_t i = 0; i < s->node.n; i++) {
        size_t len = strlen(s->node.v[i]->name);
        node = len > node ? len : node;
    }
    for (const char *at = text; *at; at++) {
        if (*at == '#')
            str_addf(&fitted, "%zu", at[1] == 'P' ? part : node);
        else
            str_addc(&fitted, *at);
    }
    const char *kept = arena_strdup(s->l.round, str_text(&fitted));
    str_done(&fitted);
    return kept;
}

static void format_choose(struct sinfo *s)
{
    struct listing *l = &s->l;
    format_done(&l->format);
    if (l->long_text && !text_is_nocase(l->long_text, "all"))
        format_parse_long(&node_columns, l->long_text, l->round, &l->format);
    else
        format_parse_short(&node_columns,
                           l->long_text     ? "%all"
                           : l->format_text ? l->format_text
                                            : format_fit(s, format_standard(s)),
                           l->round, &l->format);
}

static void rows_print(struct sinfo *s, const struct sinfo_rows *rows)
{
    listing_begin(&s->l);
    for (size_t i = 0; i < rows->row.n; i++)
        listing_row(&s->l, &rows->row.v[i]);
    listing_end(&s->l);
}

static void rows_json(const struct sinfo_rows *rows, enum json_form form)
{
    struct str out = STR_INIT;
    struct json_out o;
    json_slurm_begin(&o, &out, "sinfo");
    json_key(&o, "sinfo");
    json_array(&o);
    for (size_t i = 0; i < rows->row.n; i++)
        sinfo_row_json(&o, &rows->row.v[i]);
    json_array_end(&o);
    json_slurm_end(&o, form);
}

/* sinfo -T */
static void reservation_keep(void *ctx, const void *record)
{
    struct sinfo *s = ctx;
    struct reservation *copy = arena_alloc(s->l.round, sizeof *copy);
    record_copy(&reservation_fields, copy, record, s->l.round);
    vec_push(&s->resv, copy);
}

static void reservations_print(const struct sinfo *s)
{
    struct cell_env env = listing_env();
    int width = 9;
    for (size_t i = 0; i < s->resv.n; i++)
        if ((int)strlen(s->resv.v[i]->name) > width)
            width = (int)strlen(s->resv.v[i]->name);
    if (!s->l.noheader)
        printf("%-*s  %8s  %19s  %19s  %11s  %s\n", width, "RESV_NAME", "STATE", "START_TIME",
               "END_TIME", "DURATION", "NODELIST");
    for (size_t i = 0; i < s->resv.n; i++) {
        const struct reservation *r = s->resv.v[i];
        printf("%-*s  %8s  %19s  %19s  %11s  %s\n", width, r->name,
               r->active ? "ACTIVE" : "INACTIVE",
               cell_time_text(&env, r->start_us, "Unknown", s->l.round),
               cell_time_text(&env, r->end_us, "Unknown", s->l.round),
               resv_span(r->end_us - r->start_us, s->l.round), r->nodes ? r->nodes : "(null)");
    }
}

static bool reservations_list(struct sinfo *s, struct client *c, struct err *ret_err)
{
    struct msg_query q = {.what = QUERY_RESERVATIONS};
    struct msg_done done = {0};
    vec_clear(&s->resv);
    if (!client_query(c, &q, &reservation_fields, s->l.round, reservation_keep, s, &done, ret_err))
        return false;
    listing_date(&s->l);
    listing_flush(&s->l.out);
    if (s->resv.n > 0)
        reservations_print(s);
    else
        puts("No reservations in the system");
    return true;
}

static bool show(void *ctx, struct client *c, struct err *ret_err)
{
    struct sinfo *s = ctx;
    struct sinfo_rows rows;
    if (s->reservation)
        return reservations_list(s, c, ret_err);
    if (!rows_read(s, c, ret_err))
        return false;
    format_choose(s);
    struct sinfo_nodes nodes = {nodes_sorted(s), s->node.n};
    struct sinfo_wish wish = {.format = &s->l.format,
                              .sort = s->sort,
                              .by_node = s->by_node,
                              .exact = s->exact || s->l.json,
                              .keep_empty = !s->by_node && !s->reasons};
    sinfo_rows_make(s->part.v, s->part.n, &nodes, &wish, &rows);
    if (s->l.json)
        rows_json(&rows, s->l.json);
    else
        rows_print(s, &rows);
    sinfo_rows_done(&rows);
    return true;
}

static bool prepare(void *ctx, struct err *ret_err)
{
    struct sinfo *s = ctx;
    s->reservation = s->reservation && !s->l.json; /* --json shows nodes and partitions */
    s->l.asks = s->reservation ? "slurm_load_reservations" : NULL;
    if (!s->reservation && !settle(s, ret_err))
        return false;
    if (!s->reservation)
        format_choose(s);
    return true;
}

static const struct listing_command command = {
    .name = "sinfo",
    .options = &sinfo_options,
    .echoes = true,
    .plain_unknown = true,
    .cluster_if_asked = true,
    .dated = true,
    .variable_counts = variable_counts,
    .prepare = prepare,
    .show = show,
};

int cmd_sinfo(int argc, char **argv)
{
    struct sinfo s = {0};
    int status = listing_main(&s.l, &command, &s, argc, argv);
    hostlist_done(&s.wanted);
    vec_done(&s.resv);
    vec_done(&s.part);
    vec_done(&s.node);
    listing_done(&s.l);
    return status;
}
