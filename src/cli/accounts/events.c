/* sacctmgr show event: when nodes were down or drained, and why. */
#include "base/calendar/civil.h"
#include "base/duration.h"
#include "cli/accounts/accounts.h"
#include "cli/program/localtime.h"
#include "cli/program/room.h"
#include "cli/table/listing.h"

#include <stdio.h>

#define CELL(name)                                                                                 \
    static void cell_##name(const struct cell_env *env, const void *record, struct str *out)
#define SPELL ((const struct node_spell *)record)

CELL(cluster)
{
    str_add(out, env->cluster);
}

CELL(node)
{
    str_add(out, SPELL->name);
}

CELL(start)
{
    cell_time(env, SPELL->start_us, "", out);
}

CELL(end)
{
    cell_time(env, SPELL->end_us, "Unknown", out);
}

/* Slurm's words of both at once: "DOWN+DRAIN". */
CELL(state)
{
    bool down = SPELL->state == NODE_DOWN;
    str_add(out, down ? "DOWN" : "");
    str_add(out, SPELL->drain ? (down ? "+DRAIN" : "DRAIN") : "");
}

CELL(reason)
{
    str_add(out, SPELL->reason ? SPELL->reason : "");
}

/* "root(0)"; the controller itself is no user. */
CELL(user)
{
    const struct passwd *pw = SPELL->reason_user ? user_by_name(SPELL->reason_user) : NULL;
    str_add(out, SPELL->reason_user ? SPELL->reason_user : "");
    if (pw)
        str_addf(out, "(%u)", (unsigned)pw->pw_uid);
}

CELL(duration)
{
    int64_t end = SPELL->end_us ? SPELL->end_us : env->now_us;
    duration_format((end - SPELL->start_us) / USEC_PER_SEC * USEC_PER_SEC, out);
}

CELL(event)
{
    str_add(out, "Node");
}

CELL(tres)
{
    str_addf(out, "billing=%d,cpu=%d,mem=%lldM,node=1", SPELL->cpus, SPELL->cpus,
             (long long)SPELL->memory_mib);
}

CELL(nothing)
{
}

static const struct column event_column[] = {
    {"Cluster", 0, NULL, 10, NULL, cell_cluster},
    {"ClusterNodes", 0, "Cluster Nodes", 20, NULL, cell_nothing},
    {"Duration", 0, NULL, 13, NULL, cell_duration},
    {"End", 0, "TimeEnd", 19, NULL, cell_end},
    {"Event", 0, NULL, 7, NULL, cell_event},
    {"NodeName", 0, NULL, -15, NULL, cell_node},
    {"Reason", 0, NULL, 30, NULL, cell_reason},
    {"Start", 0, "TimeStart", 19, NULL, cell_start},
    {"State", 0, NULL, 6, NULL, cell_state},
    {"TimeEnd", 0, NULL, 19, NULL, cell_end},
    {"TimeStart", 0, NULL, 19, NULL, cell_start},
    {"TRES", 0, NULL, 20, NULL, cell_tres},
    {"User", 0, NULL, 10, NULL, cell_user},
};
static const struct column_table event_table = {event_column, ARRAY_LEN(event_column), "event",
                                                NULL};

struct event_show {
    struct table_out t;
    const char *nodes, *states, *users;
    bool open; /* those that still are so */
};

static void event_row(void *ctx, const void *record)
{
    struct event_show *g = ctx;
    const struct node_spell *n = record;
    bool down = n->state == NODE_DOWN;
    if ((!down && !n->drain) || (g->open && n->end_us) || !specs_match(g->users, n->reason_user))
        return;
    if (g->nodes && !specs_match(g->nodes, n->name))
        return;
    if (!g->states || (down && specs_match(g->states, "down")) ||
        (n->drain && (specs_match(g->states, "drain") || specs_match(g->states, "drained"))))
        table_row(&g->t, n);
}

static bool event_time(struct sacctmgr *s, const char *text, int64_t *ret)
{
    struct err e = {0};
    if (!text || civil_parse(text, time_now_us(), &civil_local, false, ret, &e))
        return true;
    sacctmgr_fail(s, "%s", e.text);
    return false;
}

/* Since yesterday; with states those that are so now. */
static int64_t since(const struct event_show *g)
{
    struct civil c;
    if (g->states)
        return 0;
    civil_local.sec_to_local(time_now_us() / USEC_PER_SEC - 86400, &c);
    c = (struct civil){.year = c.year, .month = c.month, .day = c.day};
    return civil_local.local_to_sec(&c) * USEC_PER_SEC;
}

void events_show(struct sacctmgr *s, const struct specs *sp)
{
    const char *start = specs_where(sp, KEY_START, s->a), *end = specs_where(sp, KEY_END, s->a),
               *format = specs_where(sp, KEY_FORMAT, s->a);
    struct event_show g = {.nodes = specs_where(sp, KEY_NODES, s->a),
                           .states = specs_where(sp, KEY_STATES, s->a),
                           .users = specs_where(sp, KEY_USERS, s->a)};
    struct msg_query q = {.what = QUERY_NODE_SPELLS};
    bool all = specs_flag(sp, KEY_ALL_TIME);
    g.open = g.states && !start && !end && !all;
    q.from_us = all ? 0 : since(&g);
    if (!event_time(s, start, &q.from_us) || !event_time(s, end, &q.to_us) ||
        !sacctmgr_connect(s) ||
        !table_begin(&g.t, s, &event_table,
                     format ? format : "Cluster,NodeName,TimeStart,TimeEnd,State,Reason,User",
                     NULL))
        return;
    if (!sacctmgr_query(s, &q, &node_spell_fields, event_row, &g))
        str_cut(&g.t.out, 0); /* no headings above nothing */
    table_end(&g.t);
}
