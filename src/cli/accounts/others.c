/* sacctmgr show: resources, workload keys, transactions, the cluster, and what Slurm keeps that is
 * never there or stands elsewhere here. */
#include "base/calendar/civil.h"
#include "cli/accounts/accounts.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/localtime.h"
#include "cli/program/program.h"
#include "cli/table/listing.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CELL(name)                                                                                 \
    static void cell_##name(const struct cell_env *env, const void *record, struct str *out)

CELL(cluster)
{
    (void)record;
    str_add(out, env->cluster);
}

CELL(nothing)
{
    (void)env;
    (void)record;
    (void)out;
}

#define TEXT_CELL(name, tag, member)                                                               \
    CELL(name)                                                                                     \
    {                                                                                              \
        (void)env;                                                                                 \
        str_add(out, ((const struct tag *)record)->member);                                        \
    }
#define ID_CELL(name, tag)                                                                         \
    CELL(name)                                                                                     \
    {                                                                                              \
        (void)env;                                                                                 \
        str_add_u64(out, ((const struct tag *)record)->id);                                        \
    }
TEXT_CELL(tres_type, tres, type)
TEXT_CELL(tres_name, tres, name)
ID_CELL(tres_id, tres)
TEXT_CELL(wckey_name, wckey, name)
TEXT_CELL(wckey_user, wckey, user)
ID_CELL(wckey_id, wckey)
TEXT_CELL(action, transaction, action)
TEXT_CELL(actor, transaction, actor)
TEXT_CELL(target, transaction, target)
TEXT_CELL(info, transaction, info)
TEXT_CELL(txn_accounts, transaction, accounts)
TEXT_CELL(txn_users, transaction, users)
ID_CELL(txn_id, transaction)

CELL(at)
{
    cell_time(env, ((const struct transaction *)record)->at_us, "", out);
}

/* ---- the cluster ---------------------------------------------------------------------------- */

struct cluster_row {
    const char *host;
    int64_t port;
    const char *tres, *nodes;
    int64_t node_count;
    struct account_row root;
};

#define RPC_VERSION 11008 /* of Slurm 25.05 */

TEXT_CELL(host, cluster_row, host)
TEXT_CELL(cluster_tres, cluster_row, tres)
TEXT_CELL(cluster_nodes, cluster_row, nodes)

CELL(port)
{
    str_add_i64(out, ((const struct cluster_row *)record)->port);
}

CELL(rpc)
{
    (void)record;
    str_add_i64(out, RPC_VERSION);
}

CELL(node_count)
{
    str_add_i64(out, ((const struct cluster_row *)record)->node_count);
}

/* What the cluster's tree gives to all that is below it stands on its root. */
static void root_cell(const char *column, const struct cell_env *env, const void *record,
                      struct str *out)
{
    struct arena *a = arena_new();
    const struct column_table *t = account_columns(ENTITY_ASSOC, a);
    for (size_t i = 0; i < t->n; i++)
        if (text_is_nocase(t->column[i].name, column)) {
            t->column[i].print(env, &((const struct cluster_row *)record)->root, out);
            break;
        }
    arena_free(a);
}

// clang-format off
#define ROOT_CELLS(X)                                                                                        \
    X(share, "Share", "Share", 9) X(fairshare, "FairShare", "Share", 9) X(grp_jobs, "GrpJobs", "GrpJobs", 7) \
    X(grp_tres, "GrpTRES", "GrpTRES", 13) X(grp_submit, "GrpSubmit", "GrpSubmit", 9)                         \
    X(max_jobs, "MaxJobs", "MaxJobs", 7) X(max_tres, "MaxTRES", "MaxTRES", 13)                               \
    X(max_submit, "MaxSubmit", "MaxSubmit", 9) X(max_wall, "MaxWall", "MaxWall", 11)                         \
    X(qos, "QOS", "QOS", 20) X(default_qos, "DefaultQOS", "Def QOS", 9)
// clang-format on
#define X(cell, column, header, width)                                                             \
    CELL(root_##cell)                                                                              \
    {                                                                                              \
        root_cell(column, env, record, out);                                                       \
    }
ROOT_CELLS(X)
#undef X

/* ---- tables --------------------------------------------------------------------------------- */

static const struct column tres_column[] = {
    {"Type", 0, NULL, 8, NULL, cell_tres_type},
    {"Name", 0, NULL, 15, NULL, cell_tres_name},
    {"ID", CUT_NEVER, NULL, 6, NULL, cell_tres_id},
};
static const struct column wckey_column[] = {
    {"WCKey", 0, NULL, 10, NULL, cell_wckey_name},
    {"Name", 0, "WCKey", 10, NULL, cell_wckey_name},
    {"Cluster", 0, NULL, 10, NULL, cell_cluster},
    {"User", 0, NULL, 10, NULL, cell_wckey_user},
    {"ID", CUT_NEVER, NULL, 6, NULL, cell_wckey_id},
};
static const struct column transaction_column[] = {
    {"Time", CUT_PLAIN, NULL, 19, NULL, cell_at},
    {"TimeStamp", CUT_PLAIN, "Time", 19, NULL, cell_at},
    {"Action", 0, NULL, 20, NULL, cell_action},
    {"Actor", 0, NULL, 10, NULL, cell_actor},
    {"Where", 0, NULL, 20, NULL, cell_target},
    {"Info", 0, NULL, 20, NULL, cell_info},
    {"ID", CUT_NEVER, NULL, 6, NULL, cell_txn_id},
    {"Cluster", 0, NULL, 20, NULL, cell_cluster},
    {"Account", 0, NULL, 20, NULL, cell_txn_accounts},
    {"User", 0, NULL, 20, NULL, cell_txn_users},
};
static const struct column cluster_column[] = {
    {"Cluster", 0, NULL, 10, NULL, cell_cluster},
    {"Name", 0, "Cluster", 10, NULL, cell_cluster},
    {"ControlHost", 0, NULL, 15, NULL, cell_host},
    {"ControlPort", 0, NULL, 12, NULL, cell_port},
    {"RPC", 0, NULL, 5, NULL, cell_rpc},
#define X(cell, column, header, width) {column, 0, header, width, NULL, cell_root_##cell},
    ROOT_CELLS(X)
#undef X
        {"TRES", 0, NULL, 20, NULL, cell_cluster_tres},
    {"ClusterNodes", 0, "Cluster Nodes", 20, NULL, cell_cluster_nodes},
    {"NodeCount", 0, NULL, 9, NULL, cell_node_count},
    {"Flags", 0, NULL, 20, NULL, cell_nothing},
    {"Classification", 0, "Class", 9, NULL, cell_nothing},
    {"ID", CUT_NEVER, NULL, 2, NULL, cell_nothing},
    {"Federation", 0, NULL, 10, NULL, cell_nothing},
    {"Features", 0, NULL, 20, NULL, cell_nothing},
    {"FedState", 0, NULL, 12, NULL, cell_nothing},
};

/* Nothing is ever in these. */
#define EMPTY(name, header, width)                                                                 \
    {                                                                                              \
        name, 0, header, width, NULL, cell_nothing                                                 \
    }
static const struct column resource_column[] = {EMPTY("Name", NULL, 10),
                                                EMPTY("Server", NULL, 10),
                                                EMPTY("Type", NULL, 8),
                                                EMPTY("Count", NULL, 6),
                                                EMPTY("Allocated", "% Allocated", 11),
                                                EMPTY("ServerType", NULL, 10),
                                                EMPTY("Cluster", NULL, 10),
                                                EMPTY("Allowed", "% Allowed", 10)};
static const struct column federation_column[] = {
    EMPTY("Federation", NULL, 10), EMPTY("Cluster", NULL, 10), EMPTY("ID", NULL, 2),
    EMPTY("Features", NULL, 20), EMPTY("FedState", NULL, 12)};
#undef EMPTY

#define TABLE(name)                                                                                \
    {                                                                                              \
        name##_column, ARRAY_LEN(name##_column), #name, NULL                                       \
    }
static const struct column_table tres_table = TABLE(tres), wckey_table = TABLE(wckey),
                                 transaction_table = TABLE(transaction),
                                 cluster_table = TABLE(cluster), resource_table = TABLE(resource),
                                 federation_table = TABLE(federation);

static const char *format_or(struct sacctmgr *s, const struct specs *sp, const char *otherwise)
{
    const char *format = specs_where(sp, KEY_FORMAT, s->a);
    return format ? format : otherwise;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void tres_show(struct sacctmgr *s, const struct specs *sp, const struct book *b)
{
    struct table_out t;
    struct json_list l;
    const char *type = specs_where(sp, KEY_TYPE, s->a), *names = specs_where(sp, KEY_NAMES, s->a),
               *ids = specs_where(sp, KEY_IDS, s->a);
    if (s->json)
        json_list_begin(&l, s, b, "TRES");
    else if (!table_begin(&t, s, &tres_table, format_or(s, sp, "Type,Name,ID"), NULL))
        return;
    for (size_t i = 0; i < b->tres.n; i++) {
        const struct tres *r = b->tres.v[i];
        if (specs_match(type, r->type) && (!names || specs_match(names, r->name)) &&
            specs_match(ids, arena_printf(s->a, "%u", r->id))) {
            if (s->json)
                tres_json(&l, r, 0);
            else
                table_row(&t, r);
        }
    }
    if (s->json)
        json_list_end(&l);
    else
        table_end(&t);
}

static void wckey_show(struct sacctmgr *s, const struct specs *sp, const struct book *b)
{
    struct table_out t;
    struct json_list l;
    const char *users = specs_where(sp, KEY_USERS, s->a), *names = specs_where(sp, KEY_NAMES, s->a),
               *keys = specs_where(sp, KEY_WCKEYS, s->a);
    if (s->json)
        json_list_begin(&l, s, b, "wckeys");
    else if (!table_begin(&t, s, &wckey_table, format_or(s, sp, "WCKey,Cluster,User"), NULL))
        return;
    for (size_t i = 0; i < b->wckey.n; i++) {
        const struct wckey *k = b->wckey.v[i];
        if ((!k->deleted || specs_flag(sp, KEY_WITH_DELETED)) && specs_match(users, k->user) &&
            specs_match(names ? names : keys, k->name)) {
            if (s->json)
                wckey_json(&l, k);
            else
                table_row(&t, k);
        }
    }
    if (s->json)
        json_list_end(&l);
    else
        table_end(&t);
}

struct transactions {
    struct table_out t;
    struct sacctmgr *s;
    const struct specs *sp;
};

static bool any_of(const char *list, const char *words, struct arena *a)
{
    struct span rest = span_of(words ? words : ""), piece;
    if (!list)
        return true;
    while (span_next(&rest, ',', &piece))
        if (piece.len && specs_match(list, arena_strndup(a, piece.data, piece.len)))
            return true;
    return false;
}

static void transaction_row(void *ctx, const void *record)
{
    struct transactions *g = ctx;
    const struct transaction *t = record;
    struct arena *a = g->s->a;
    const char *action = specs_where(g->sp, KEY_ACTION, a),
               *actor = specs_where(g->sp, KEY_ACTOR, a), *ids = specs_where(g->sp, KEY_IDS, a);
    bool meant = !action;
    struct span rest = span_of(action ? action : ""), piece;
    while (span_next(&rest, ',', &piece))
        meant |= span_is_nocase(span_trim(piece), t->action);
    if (meant && specs_match(specs_where(g->sp, KEY_CLUSTERS, a), g->s->cluster) &&
        specs_match(actor, t->actor) &&
        specs_match(ids, arena_printf(a, "%llu", (unsigned long long)t->id)) &&
        any_of(specs_where(g->sp, KEY_ACCOUNTS, a), t->accounts, a) &&
        any_of(specs_where(g->sp, KEY_USERS, a), t->users, a))
        table_row(&g->t, t);
}

static bool when(struct sacctmgr *s, const struct specs *sp, enum sacctmgr_key key, int64_t *ret)
{
    const char *text = specs_where(sp, key, s->a);
    struct err e = {0};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (!text || civil_parse(text, (int64_t)now.tv_sec * 1000000, &civil_local, false, ret, &e))
        return true;
    sacctmgr_fail(s, "%s", e.text);
    return false;
}

static void transactions_show(struct sacctmgr *s, const struct specs *sp)
{
    struct transactions g = {.s = s, .sp = sp};
    struct msg_query q = {.what = QUERY_TRANSACTIONS};
    const char *unasked = specs_flag(sp, KEY_WITH_ASSOC)
                              ? "Time,Action,Actor,Where,Info,User,Account,Cluster"
                              : "Time,Action,Actor,Where,Info";
    if (!actions_check(s, sp) || !when(s, sp, KEY_START, &q.from_us) ||
        !when(s, sp, KEY_END, &q.to_us) || !sacctmgr_connect(s) ||
        !table_begin(&g.t, s, &transaction_table, format_or(s, sp, unasked), NULL))
        return;
    if (!sacctmgr_query(s, &q, &transaction_fields, transaction_row, &g))
        str_cut(&g.t.out, 0); /* no headings above nothing */
    table_end(&g.t);
}

/* ---- cluster -------------------------------------------------------------------------------- */

struct nodes {
    struct str names;
    int64_t n, cpus, mem;
};

static void node_count(void *ctx, const void *record)
{
    struct nodes *g = ctx;
    const struct node *n = record;
    str_addf(&g->names, "%s%s", g->names.len ? "," : "", n->name);
    g->n++;
    g->cpus += n->cpus;
    g->mem += n->memory_mib;
}

static void cluster_json(struct sacctmgr *s, const struct cluster_row *row, const struct nodes *n,
                         bool meant)
{
    struct json_list l;
    struct json_out *j = &l.out;
    struct {
        struct tres tres;
        int64_t count;
    } has[] = {{{.id = 1, .type = "cpu"}, n->cpus},
               {{.id = 2, .type = "mem"}, n->mem},
               {{.id = 4, .type = "node"}, n->n},
               {{.id = 5, .type = "billing"}, n->cpus}};
    json_list_begin(&l, s, row->root.book, "clusters");
    if (meant) {
        json_object(j);
        json_key(j, "controller");
        json_object(j);
        json_key_text(j, "host", row->host);
        json_key_i64(j, "port", row->port);
        json_object_end(j);
        json_key_list(j, "flags", NULL);
        json_key_text(j, "name", s->cluster);
        json_key_text(j, "nodes", row->nodes);
        json_key_text(j, "select_plugin", "");
        json_key(j, "associations");
        json_object(j);
        json_key(j, "root");
        assoc_short_json(&l, row->root.assoc->a);
        json_object_end(j);
        json_key_i64(j, "rpc_version", RPC_VERSION);
        json_key(j, "tres");
        json_array(j);
        for (size_t i = 0; i < ARRAY_LEN(has); i++)
            tres_json(&l, &has[i].tres, has[i].count);
        json_array_end(j);
        json_object_end(j);
    }
    json_list_end(&l);
}

static void cluster_show(struct sacctmgr *s, const struct specs *sp, const struct book *b)
{
    struct table_out t;
    struct nodes nodes = {0};
    struct msg_query q = {.what = QUERY_NODES};
    const char *names = specs_where(sp, KEY_NAMES, s->a);
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    struct cluster_row row = {.host = host, .root = {.book = b}};
    row.root.assoc = book_assoc(b, "root", NULL, NULL);
    row.root.owner = row.root.assoc ? &row.root.assoc->owner : NULL;
    if (sacctmgr_query(s, &q, &node_fields, node_count, &nodes)) {
        row.node_count = nodes.n;
        row.nodes = arena_strdup(s->a, str_text(&nodes.names));
        row.tres =
            arena_printf(s->a, "billing=%lld,cpu=%lld,mem=%lldM,node=%lld", (long long)nodes.cpus,
                         (long long)nodes.cpus, (long long)nodes.mem, (long long)nodes.n);
        const char *unasked =
            specs_flag(sp, KEY_WITHOUT_LIMITS)
                ? "Cluster,ControlHost,ControlPort,RPC"
                : "Cluster,ControlHost,ControlPort,RPC,Share,GrpJobs,GrpTRES,GrpSubmit,MaxJobs,"
                  "MaxTRES,MaxSubmit,MaxWall,QOS,DefaultQOS";
        if (s->json)
            cluster_json(s, &row, &nodes, specs_match(names, s->cluster));
        else if (table_begin(&t, s, &cluster_table, format_or(s, sp, unasked), NULL)) {
            if (specs_match(names, s->cluster))
                table_row(&t, &row);
            table_end(&t);
        }
    }
    str_done(&nodes.names);
}

/* ---- what stands elsewhere ------------------------------------------------------------------ */

static void empty_show(struct sacctmgr *s, const struct specs *sp, const struct column_table *table,
                       const char *unasked)
{
    struct table_out t;
    if (sacctmgr_connect(s) && table_begin(&t, s, table, format_or(s, sp, unasked), NULL))
        table_end(&t);
}

static void configuration_show(struct sacctmgr *s)
{
    struct config c = {0};
    struct err e = {0};
    struct str now = STR_INIT;
    struct timespec at;
    if (!sacctmgr_connect(s))
        return;
    clock_gettime(CLOCK_REALTIME, &at);
    civil_format((int64_t)at.tv_sec * 1000000, 0, NULL, &civil_local, &now);
    printf("Configuration data as of %s\n", str_text(&now));
    str_done(&now);
    printf("AccountingStorageType  = accounting_storage/remuda\n");
    printf("SLURM_VERSION          = 25.05.0\n");
    if (!cluster_settings_read(state_dir_find(NULL, s->a), s->client, &c, &e))
        sacctmgr_fail(s, "%s", e.text);
    else
        printf("ClusterName            = %s\n", s->cluster);
    config_done(&c);
    fputs("\nThere is no slurmdbd: the controller keeps accounts itself; scontrol show config has "
          "all "
          "settings.\n",
          stdout);
}

void others_show(struct sacctmgr *s, const struct specs *sp)
{
    struct book b = {0};
    bool as_json =
        sp->entity == ENTITY_TRES || sp->entity == ENTITY_WCKEY || sp->entity == ENTITY_CLUSTER;
    if (s->json && !as_json) {
        sacctmgr_fail(
            s,
            "%s: no --json and no --yaml of these; of account, association, cluster, qos, "
            "tres, user and wckey there are. -P prints cells for programs",
            entity_word(sp->entity));
        return;
    }
    if (kept_from_strangers(s, sp->entity))
        return;
    switch ((int)sp->entity) {
    case ENTITY_TRES:
    case ENTITY_WCKEY:
    case ENTITY_CLUSTER:
        if (!book_read(s, &b))
            break;
        if (sp->entity == ENTITY_TRES)
            tres_show(s, sp, &b);
        else if (sp->entity == ENTITY_WCKEY)
            wckey_show(s, sp, &b);
        else
            cluster_show(s, sp, &b);
        break;
    case ENTITY_TRANSACTION: transactions_show(s, sp); break;
    case ENTITY_PROBLEM: problems_show(s, sp); break;
    case ENTITY_RESOURCE:
        empty_show(s, sp, &resource_table,
                   specs_flag(sp, KEY_WITH_CLUSTERS)
                       ? "Name,Server,Type,Count,Allocated,ServerType,Cluster,Allowed"
                       : "Name,Server,Type,Count,Allocated,ServerType");
        break;
    case ENTITY_FEDERATION:
        empty_show(s, sp, &federation_table, "Federation,Cluster,ID,Features,FedState");
        break;
    case ENTITY_RUNAWAY:
        if (sacctmgr_connect(s))
            printf("Runaway Jobs: No runaway jobs found on cluster %s\n", s->cluster);
        break;
    case ENTITY_CONFIGURATION: configuration_show(s); break;
    case ENTITY_RESERVATION: reservations_show(s, sp); break;
    case ENTITY_EVENT: events_show(s, sp); break;
    case ENTITY_STATS: stats_show(s); break;
    case ENTITY_INSTANCE:
        sacctmgr_fail(s, "instance: no instances of clouds are kept; sacctmgr show event has when "
                         "nodes went and came");
        break;
    default: break; /* shown by accounts_show */
    }
    book_done(&b);
}
