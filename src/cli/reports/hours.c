/* Reports about the cluster's hours: cluster Utilization, reservation Utilization.
 *
 * Hour by hour what there was is parted: what jobs had; of the rest what was down, was kept for
 * maintenance, what jobs that could not start yet waited for, and what was idle. Each is at most
 * what is left; what jobs waited for beyond that is overcommitted. */
#include "base/alloc.h"
#include "base/calendar/civil.h"
#include "base/hostlist.h"
#include "cli/program/localtime.h"
#include "cli/program/program.h"
#include "cli/reports/sreport.h"

#include <stdio.h>
#include <string.h>

#define HOUR_US (INT64_C(3600) * USEC_PER_SEC)

typedef VEC(const struct reservation *) resv_vec;
struct hours {
    struct sreport *s;
    struct sreport_asked k;
    used_vec used; /* of each hour */
    spell_vec spells;
    resv_vec resv;
};

struct parts {
    int64_t allocated, down, planned_down, idle, planned, over, all, count;
};

/* ---- reservations --------------------------------------------------------------------------- */

struct resv_reading {
    struct sreport *s;
    resv_vec *to;
    const struct sreport_asked *k;
};

static void resv_row(void *ctx, const void *record)
{
    const struct resv_reading *r = ctx;
    const struct reservation *v = record;
    if (v->start_us < r->k->to_us && v->end_us > r->k->from_us && v->start_us < time_now_us())
        vec_push(r->to, arena_dup(r->s->a, v, sizeof *v));
}

/* Those that are over, and those that are there. */
static bool resvs_read(struct sreport *s, const struct sreport_asked *k, resv_vec *ret)
{
    struct msg_query past = {
        .what = QUERY_PAST_RESERVATIONS, .from_us = k->from_us, .to_us = k->to_us};
    struct msg_query now = {.what = QUERY_RESERVATIONS};
    struct resv_reading r = {s, ret, k};
    return sreport_query(s, &past, &reservation_fields, resv_row, &r) &&
           sreport_query(s, &now, &reservation_fields, resv_row, &r);
}

/* Of CPUs; other resources of nodes under maintenance are not told apart. */
static int64_t maintenance(const resv_vec *resv, const char *tres, int64_t from_us, int64_t to_us)
{
    int64_t sum = 0;
    for (size_t i = 0; i < resv->n; i++) {
        const struct reservation *v = resv->v[i];
        int64_t from = v->start_us > from_us ? v->start_us : from_us,
                to = v->end_us < to_us ? v->end_us : to_us;
        if ((v->flags & RESV_MAINT) && !(v->flags & RESV_IGNORE_JOBS) && to > from &&
            (text_is(tres, "cpu") || text_is(tres, "billing")))
            sum += v->cpu_count * (to / USEC_PER_SEC - from / USEC_PER_SEC);
    }
    return sum;
}

/* ---- the cluster ---------------------------------------------------------------------------- */

static int64_t at_most(int64_t amount, int64_t *left)
{
    int64_t taken = amount < *left ? amount : *left;
    *left -= taken;
    return taken;
}

static void hour_part(const struct hours *h, const char *tres, const struct used *u,
                      int64_t from_us, int64_t to_us, struct parts *p)
{
    struct capacity c = spells_capacity(&h->spells, tres, from_us, to_us);
    int64_t left = c.all, had = u ? used_amount(u, tres) : 0,
            waited = u && text_is(tres, "cpu") ? u->planned_cpu_s : 0;
    p->all += c.all;
    p->allocated += had;
    at_most(had, &left);
    p->down += at_most(c.down, &left);
    p->planned_down += at_most(c.future + maintenance(&h->resv, tres, from_us, to_us), &left);
    int64_t planned = at_most(waited, &left);
    p->planned += planned;
    p->over += waited - planned;
    p->idle += left;
}

/* Hours in which nothing was used are taken together where nothing else changes: until the next
 * that has a row. */
static struct parts parts_of(const struct hours *h, const char *tres)
{
    struct parts p = {.count = spells_capacity(&h->spells, tres, h->k.from_us, h->k.to_us).count};
    int64_t at = h->k.from_us;
    for (size_t i = 0; i < h->used.n; i++) {
        const struct used *u = h->used.v[i];
        if (u->from_us > at)
            hour_part(h, tres, NULL, at, u->from_us, &p);
        hour_part(h, tres, u, u->from_us, u->from_us + HOUR_US, &p);
        at = u->from_us + HOUR_US;
    }
    if (at < h->k.to_us)
        hour_part(h, tres, NULL, at, h->k.to_us, &p);
    return p;
}

static void parts_add(struct hours *h, struct sreport_report *r, const char *tres)
{
    struct parts p = parts_of(h, tres);
    const struct {
        enum use_column column;
        int64_t amount;
    } uses[] = {{USE_ALLOCATED, p.allocated},
                {USE_DOWN, p.down},
                {USE_IDLE, p.idle},
                {USE_OVER, p.over},
                {USE_PLANNED_DOWN, p.planned_down},
                {USE_PLANNED, p.planned},
                {USE_REPORTED, p.all},
                {USE_ENERGY, 0}};
    struct report_row row = {0};
    for (size_t i = 0; i < ARRAY_LEN(uses); i++)
        row.cell[uses[i].column] = (struct report_cell){.amount = uses[i].amount, .of = p.all};
    row.cell[USE_CLUSTER].text = h->s->cluster;
    row.cell[USE_TRES_NAME].text = tres;
    row.cell[USE_TRES_COUNT].amount = p.count;
    report_add(r, &row);
}

static void no_nodes(struct sreport *s, struct sreport_asked *k)
{
    size_t kept = 0;
    for (size_t i = 0; i < k->tres.n; i++)
        if (!text_is(k->tres.v[i].name, "node"))
            k->tres.v[kept++] = k->tres.v[i];
    k->tres.n = kept;
    if (kept)
        return;
    fputs("sreport: fatal: TRES node usage is no longer reported in the Cluster Utilization "
          "report.  Please use TRES CPU instead.\n",
          stderr);
    s->rc = 1;
}

static void hours_done(struct hours *h)
{
    vec_done(&h->used);
    vec_done(&h->spells);
    vec_done(&h->resv);
    asked_done(&h->k);
}

void report_utilization(struct sreport *s, int n, char **word)
{
    struct hours h = {.s = s};
    struct sreport_report r;
    asked_read(s, 0, n, word, &h.k);
    bool ok = asked_tres(s, &h.k);
    if (ok)
        no_nodes(s, &h.k);
    if (ok && h.k.tres.n && used_read(s, &h.k, "", true, &h.used) &&
        spells_read(s, &h.k, &h.spells) && resvs_read(s, &h.k, &h.resv)) {
        report_init(&r, s, utilization_columns, USE_COLUMNS, h.k.value[COND_FORMAT],
                    h.k.one_tres
                        ? "cluster,allocated,down,planneddown,idle,planned,reported"
                        : "cluster,tresname,allocated,down,planneddown,idle,planned,reported");
        for (size_t i = 0; (h.used.n || h.spells.n) && i < h.k.tres.n; i++)
            parts_add(&h, &r, h.k.tres.v[i].name);
        report_print(&r, "Cluster Utilization", &h.k, false, NULL);
    }
    hours_done(&h);
}

/* ---- reservations --------------------------------------------------------------------------- */

static const char *iso(struct arena *a, int64_t us)
{
    struct str text = STR_INIT;
    civil_format_iso(us, &civil_local, &text);
    const char *kept = arena_strdup(a, str_text(&text));
    str_done(&text);
    return kept;
}

/* Has it one of the nodes? Of none that are named: yes. */
static bool resv_on(const struct reservation *v, const struct hostlist *nodes)
{
    bool any = nodes->n == 0;
    for (size_t i = 0; !any && i < nodes->n; i++)
        any = hostlist_text_has(v->nodes ? v->nodes : "", nodes->name[i]);
    return any;
}

/* What its jobs had of its CPUs, in the hours that from_us to to_us touch: it may have been made
 * again by its name, and one that comes each day is one a day. False after an error. */
static bool resv_used(struct hours *h, const struct reservation *v, int64_t from_us, int64_t to_us,
                      int64_t *ret)
{
    struct sreport_asked asked = {.from_us = from_us / HOUR_US * HOUR_US,
                                  .to_us = (to_us + HOUR_US - 1) / HOUR_US * HOUR_US};
    h->used.n = 0;
    if (!used_read(h->s, &asked, "reservation", false, &h->used))
        return false;
    *ret = 0;
    for (size_t i = 0; i < h->used.n; i++)
        if (text_is(h->used.v[i]->reservation, v->name))
            *ret += h->used.v[i]->cpu_s;
    return true;
}

/* Of the time asked about. False after an error. */
static bool resv_add(struct hours *h, struct sreport_report *r, const struct reservation *v)
{
    int64_t now_us = time_now_us(), had = 0;
    int64_t end = v->end_us < now_us ? v->end_us : now_us;
    int64_t from = v->start_us > h->k.from_us ? v->start_us : h->k.from_us,
            to = end < h->k.to_us ? end : h->k.to_us;
    int64_t all = to > from ? v->cpu_count * (to / USEC_PER_SEC - from / USEC_PER_SEC) : 0;
    if (all && !resv_used(h, v, from, to, &had))
        return false;
    struct report_row row = {0};
    struct str flags = STR_INIT;
    resv_flags_format(v, &flags);
    row.cell[RESV_COL_FLAGS].text = arena_strdup(h->s->a, str_text(&flags));
    str_done(&flags);
    row.cell[RESV_COL_CLUSTER].text = h->s->cluster;
    row.cell[RESV_COL_NAME].text = v->name;
    row.cell[RESV_COL_NODES].text = v->nodes;
    row.cell[RESV_COL_START].text = iso(h->s->a, v->start_us);
    row.cell[RESV_COL_END].text = iso(h->s->a, end);
    row.cell[RESV_COL_TRES_NAME].text = "cpu";
    row.cell[RESV_COL_TRES_COUNT].amount = v->cpu_count;
    row.cell[RESV_COL_ALLOCATED] = (struct report_cell){.amount = had < all ? had : all, .of = all};
    row.cell[RESV_COL_IDLE] = (struct report_cell){.amount = had < all ? all - had : 0, .of = all};
    row.cell[RESV_COL_TOTAL] = (struct report_cell){.amount = all, .of = all};
    report_add(r, &row);
    return true;
}

/* Reservations are counted by their CPUs, which is said where others were asked for; false where
 * CPUs were not. */
static bool only_cpus(struct hours *h)
{
    bool cpus = false;
    for (size_t i = 0; i < h->k.tres.n; i++)
        cpus |= text_is(h->k.tres.v[i].name, "cpu");
    if (!cpus || h->k.tres.n > 1)
        program_error("sreport", "reservation utilization counts CPUs; of other resources "
                                 "`sreport cluster utilization -T` tells the whole cluster's");
    if (!cpus)
        h->s->rc = 1;
    return cpus;
}

/* The nodes of nodes=; false after an error was printed. */
static bool nodes_asked(struct hours *h, struct hostlist *ret)
{
    const char *nodes = h->k.value[COND_NODES];
    struct err e = {0};
    if (hostlist_parse(ret, nodes ? nodes : "", &e))
        return true;
    program_error("sreport", "nodes=: %s", e.text);
    h->s->rc = 1;
    return false;
}

void report_reservations(struct sreport *s, int n, char **word)
{
    struct hours h = {.s = s};
    struct sreport_report r;
    struct hostlist nodes = HOSTLIST_INIT;
    asked_read(s, 1u << COND_NAMES | 1u << COND_NODES, n, word, &h.k);
    bool ok = asked_tres(s, &h.k) && only_cpus(&h) && nodes_asked(&h, &nodes) &&
              resvs_read(s, &h.k, &h.resv);
    if (ok) {
        report_init(&r, s, resv_columns, RESV_COLUMNS, h.k.value[COND_FORMAT],
                    "cluster,name,start,end,tresname,allocated,idle");
        for (size_t i = 0; ok && i < h.resv.n; i++)
            if (asked_has(&h.k, COND_NAMES, h.resv.v[i]->name) && resv_on(h.resv.v[i], &nodes))
                ok = resv_add(&h, &r, h.resv.v[i]);
        if (ok)
            report_print(&r, "Reservation Utilization", &h.k, false, NULL);
        else
            vec_done(&r.row);
    }
    hostlist_done(&nodes);
    hours_done(&h);
}
