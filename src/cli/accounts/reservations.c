/* sacctmgr show reservation: those that there were and are, and what of their time nobody used. */
#include "base/calendar/civil.h"
#include "base/hostlist.h"
#include "cli/accounts/accounts.h"
#include "cli/program/localtime.h"
#include "cli/table/listing.h"

#include <stdlib.h>

#define HOUR_US (3600 * USEC_PER_SEC)

struct resv_shown {
    struct reservation r;
    int64_t unused_s;
};

#define CELL(name)                                                                                 \
    static void cell_##name(const struct cell_env *env, const void *record, struct str *out)
#define SHOWN ((const struct resv_shown *)record)

CELL(cluster)
{
    (void)record;
    str_add(out, env->cluster);
}

CELL(name)
{
    (void)env;
    str_add(out, SHOWN->r.name);
}

CELL(start)
{
    cell_time(env, SHOWN->r.start_us, "", out);
}

CELL(end)
{
    cell_time(env, SHOWN->r.end_us, "", out);
}

CELL(flags)
{
    (void)env;
    resv_flags_format(&SHOWN->r, out);
}

CELL(nodes)
{
    (void)env;
    str_add(out, SHOWN->r.nodes ? SHOWN->r.nodes : "");
}

CELL(tres)
{
    (void)env;
    str_addf(out, "cpu=%d", SHOWN->r.cpu_count);
}

CELL(unused)
{
    (void)env;
    str_addf(out, "%lld.000000", (long long)SHOWN->unused_s);
}

/* Slurm has numbers here: those of associations that may use it, and its own. */
CELL(nothing)
{
    (void)env;
    (void)record;
    (void)out;
}

static const struct column reservation_column[] = {
    {"Associations", 0, "Assocs", 10, NULL, cell_nothing},
    {"Cluster", 0, NULL, 10, NULL, cell_cluster},
    {"End", 0, "TimeEnd", 19, NULL, cell_end},
    {"Flags", 0, NULL, 20, NULL, cell_flags},
    {"ID", 0, NULL, 6, NULL, cell_nothing},
    {"Name", 0, NULL, 15, NULL, cell_name},
    {"NodeNames", 0, "NodeName", -15, NULL, cell_nodes},
    {"Start", 0, "TimeStart", 19, NULL, cell_start},
    {"TimeEnd", 0, NULL, 19, NULL, cell_end},
    {"TimeStart", 0, NULL, 19, NULL, cell_start},
    {"TRES", 0, NULL, 30, NULL, cell_tres},
    {"UnusedWall", 0, NULL, 10, NULL, cell_unused},
};
static const struct column_table reservation_table = {
    reservation_column, ARRAY_LEN(reservation_column), "reservation", NULL};

struct resv_show {
    struct sacctmgr *s;
    const char *names;
    struct hostlist nodes; /* one of which it has; none = any */
    int64_t from_us, to_us;
    VEC(struct resv_shown) found;
};

static bool has_node_of(const struct reservation *r, const struct hostlist *nodes)
{
    struct hostlist has = HOSTLIST_INIT;
    bool any = nodes->n == 0;
    for (size_t i = 0; !any && hostlist_parse(&has, r->nodes ? r->nodes : "", NULL) && i < has.n;
         i++)
        any = hostlist_has(nodes, has.name[i]);
    hostlist_done(&has);
    return any;
}

static void resv_row(void *ctx, const void *record)
{
    struct resv_show *g = ctx;
    struct resv_shown row = {0};
    const struct reservation *r = record;
    if (!specs_match(g->names, r->name) || r->end_us <= g->from_us ||
        (g->to_us && r->start_us >= g->to_us) || !has_node_of(r, &g->nodes))
        return;
    record_copy(&reservation_fields, &row.r, r, g->s->a);
    vec_push(&g->found, row);
}

struct resv_use {
    const struct reservation *r;
    int64_t cpu_s;
};

static void use_row(void *ctx, const void *record)
{
    struct resv_use *use = ctx;
    const struct used *u = record;
    if (text_is(u->reservation, use->r->name))
        use->cpu_s += u->cpu_s;
}

/* How long it has been, less what its jobs had of its CPUs. */
static bool unused_find(struct sacctmgr *s, struct resv_shown *row)
{
    struct resv_use use = {.r = &row->r};
    int64_t now_us = time_now_us(), end_us = row->r.end_us < now_us ? row->r.end_us : now_us;
    struct msg_query q = {.what = QUERY_USED,
                          .from_us = row->r.start_us / HOUR_US * HOUR_US,
                          .to_us = (end_us / HOUR_US + 1) * HOUR_US,
                          .fields = "reservation,cpu_s"};
    if (row->r.start_us >= now_us || row->r.cpu_count <= 0)
        return true;
    if (!sacctmgr_query(s, &q, &used_fields, use_row, &use))
        return false;
    row->unused_s =
        end_us / USEC_PER_SEC - row->r.start_us / USEC_PER_SEC - use.cpu_s / row->r.cpu_count;
    row->unused_s = row->unused_s > 0 ? row->unused_s : 0;
    return true;
}

static int latest_first(const void *a, const void *b)
{
    int64_t x = ((const struct resv_shown *)a)->r.start_us,
            y = ((const struct resv_shown *)b)->r.start_us;
    return (x < y) - (x > y);
}

static bool time_asked(struct sacctmgr *s, const char *text, int64_t *ret)
{
    struct err e = {0};
    if (!text || civil_parse(text, time_now_us(), &civil_local, false, ret, &e))
        return true;
    sacctmgr_fail(s, "%s", e.text);
    return false;
}

/* Without a time: since yesterday, and those to come; with its begin alone, until now. */
static bool asked_read(struct resv_show *g, const struct specs *sp)
{
    struct sacctmgr *s = g->s;
    const char *start = specs_where(sp, KEY_START, s->a), *end = specs_where(sp, KEY_END, s->a),
               *nodes = specs_where(sp, KEY_NODES, s->a);
    struct err e = {0};
    g->names = specs_where(sp, KEY_NAMES, s->a);
    g->from_us = start || end ? 0 : time_now_us() - 24 * HOUR_US;
    g->to_us = start && !end ? time_now_us() : 0;
    if (!time_asked(s, start, &g->from_us) || !time_asked(s, end, &g->to_us))
        return false;
    if (hostlist_parse(&g->nodes, nodes ? nodes : "", &e))
        return true;
    sacctmgr_fail(s, "nodes=: %s", e.text);
    return false;
}

void reservations_show(struct sacctmgr *s, const struct specs *sp)
{
    struct resv_show g = {.s = s};
    struct table_out t;
    const char *format = specs_where(sp, KEY_FORMAT, s->a);
    struct msg_query now = {.what = QUERY_RESERVATIONS};
    bool ok = asked_read(&g, sp) && sacctmgr_connect(s) &&
              table_begin(&t, s, &reservation_table,
                          format ? format : "Cluster,Name%15,TRES%30,Start,End,UnusedWall", NULL);
    struct msg_query past = {
        .what = QUERY_PAST_RESERVATIONS, .from_us = g.from_us, .to_us = g.to_us};
    if (ok) {
        ok = sacctmgr_query(s, &past, &reservation_fields, resv_row, &g) &&
             sacctmgr_query(s, &now, &reservation_fields, resv_row, &g);
        if (g.found.n)
            qsort(g.found.v, g.found.n, sizeof g.found.v[0], latest_first);
        for (size_t i = 0; ok && i < g.found.n; i++) {
            ok = unused_find(s, &g.found.v[i]);
            table_row(&t, &g.found.v[i]);
        }
        if (!ok)
            str_cut(&t.out, 0);
        table_end(&t);
    }
    vec_done(&g.found);
    hostlist_done(&g.nodes);
}
