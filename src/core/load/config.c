/* The configuration, at start and at reconfigure. Nodes and partitions that are gone go when
 * nothing runs there; what scontrol changed (drain, reason, a partition's state) stays, and DRAIN
 * or FAIL that the file newly says comes to it; running jobs are not touched. */
#include "base/list.h"
#include "core/load/load.h"
#include "core/record/accounts/limits.h"
#include "core/record/accounts/use.h"

#include <string.h>

void part_save(struct core *c, struct partrec *p)
{
    p->changed = true;
    fx_store(c, TABLE_PARTITION, &p->p);
}

void set_fields_add(struct core *c, const char **to, const char *fields)
{
    struct span rest = span_of(fields ? fields : ""), piece;
    struct str all = STR_INIT;
    str_add(&all, *to ? *to : "");
    while (span_next(&rest, ',', &piece)) {
        char name[64] = "";
        memcpy(name, piece.data, piece.len < sizeof name ? piece.len : sizeof name - 1);
        if (*name && !list_has(str_text(&all), name))
            list_addf(&all, "%s", name);
    }
    text_set(c, to, str_text(&all));
    str_done(&all);
}

void part_load(struct core *c, const struct partition *row)
{
    struct partrec *p = part_find(c, row->name);
    struct partition merged = *row, taken;
    /* One that scontrol made, or a row of an older release, is taken whole. */
    bool whole = !p || !row->set_fields || list_has(row->set_fields, "all");
    if (!whole) {
        merged = p->p;
        merged.set_fields = row->set_fields;
        for (size_t i = 0; i < partition_fields.n; i++)
            if (list_has(row->set_fields, partition_fields.field[i].name))
                field_copy(&partition_fields.field[i], &merged, row);
    }
    record_intern(c, &partition_fields, &taken, &merged);
    if (!p) {
        p = xcalloc(1, sizeof *p);
        vec_push(&c->part, p);
    } else {
        record_drop(c, &partition_fields, &p->p);
    }
    p->p = taken;
    p->changed = true;
}

static void settings_take(struct core *c, const struct settings *s)
{
    struct arena *a = arena_new();
    c->settings = *s;
    c->marks.pairs_look = c->marks.pairs.n > 0; /* MaxJobCount may be larger */
    for (size_t i = 0; i < setting_count; i++)
        if (setting_table[i].type == SETTING_TEXT) {
            const char **text = (const char **)((char *)&c->settings + setting_table[i].offset);
            *text = arena_strdup(a, *text);
        }
    arena_free(c->settings_made.arena);
    c->settings_made.arena = a;
    cluster_set_policy(c->cluster, &c->settings);
}

static struct noderec *node_add(struct core *c, const struct node *conf)
{
    struct noderec *n = xcalloc(1, sizeof *n);
    record_intern(c, &node_fields, &n->n, conf);
    record_intern(c, &node_fields, &n->conf, conf);
    n->index = (uint32_t)c->node.n;
    vec_push(&c->node, n);
    map_str_put(c->node_index.by_name, conf->name, n);
    n->lost_us = c->turn.now_us;
    n->heard = c->store.loaded; /* nothing of an older life is there */
    if (c->store.loaded)
        node_watch(c, n);
    return n;
}

/* The configured part of a known node; its state, reason and reported facts stay. */
static void node_change(struct core *c, struct noderec *n, const struct node *conf)
{
    record_drop(c, &node_fields, &n->conf);
    record_intern(c, &node_fields, &n->conf, conf);
    text_set(c, &n->n.addr, conf->addr);
    text_set(c, &n->n.hostname, conf->hostname);
    text_set(c, &n->n.features, conf->features);
    text_set(c, &n->n.cpu_bind, conf->cpu_bind);
    text_set(c, &n->n.devices, conf->devices ? conf->devices : n->n.devices);
    n->n.is_virtual = conf->is_virtual;
    n->n.boards = conf->boards;
    n->n.sockets = conf->sockets;
    n->n.cores_per_socket = conf->cores_per_socket;
    n->n.threads_per_core = conf->threads_per_core;
    n->n.core_spec = conf->core_spec;
    n->n.memory_spec_mib = conf->memory_spec_mib;
    n->n.tmp_disk_mib = conf->tmp_disk_mib;
    n->n.weight = conf->weight;
    if (n->n.set_fields) { /* the file has been read again: it counts */
        text_set(c, &n->n.set_fields, NULL);
        text_set(c, &n->n.set_gres, NULL);
        node_save(c, n);
    }
    node_capacity(c, n);
    if (conf->state == NODE_FUTURE)
        n->n.state = NODE_FUTURE;
    else if (n->n.state == NODE_FUTURE)
        n->n.state = NODE_UNKNOWN;
}

#define REASON_GONE "no longer configured"

/* It takes no new jobs, and is shown until those it has are over. Its row in the store goes: should
 * it come back after a restart, it begins anew. */
static void node_withdraw(struct core *c, struct noderec *n)
{
    if (n->withdrawn)
        return;
    fx_log(c, LEVEL_WARNING, "node %s is no longer configured: it takes no new jobs", n->n.name);
    n->withdrawn = true;
    n->was_drained = n->n.drain;
    n->n.drain = true;
    if (!n->was_drained && n->n.state != NODE_DOWN)
        text_set(c, &n->n.reason, REASON_GONE);
    fx_remove(c, TABLE_NODE, &n->n);
    node_spell_end(c, n);
    node_plan_update(c, n);
}

/* Room for what a job has there, as no line says what there is. */
static void node_room(struct core *c, struct noderec *n, const struct alloc_node *has)
{
    struct idset cpus = IDSET_INIT;
    idset_parse(&cpus, has->cpus, INT32_MAX - 1, NULL);
    int32_t count = cpus.count ? (int32_t)idset_last(&cpus) + 1 : 1;
    idset_done(&cpus);
    if (count > n->conf.cpus)
        n->conf.cpus = n->conf.cores_per_socket = n->n.cores_per_socket = count;
    if (has->mem_mib > 0)
        n->conf.memory_mib = time_add(n->conf.memory_mib, has->mem_mib);
    node_capacity(c, n);
    node_plan_update(c, n);
}

void node_of_job(struct core *c, const struct alloc_node *has)
{
    struct noderec *n = node_find(c, has->node);
    if (n && !n->withdrawn)
        return;
    if (!n) {
        const struct node conf = {
            .name = has->node, .cpus = 1, .boards = 1, .sockets = 1, .threads_per_core = 1};
        n = node_add(c, &conf);
        node_withdraw(c, n);
        node_watch(c, n);
    }
    node_room(c, n, has);
}

/* That nothing was heard of it meanwhile is no news of the machine that has its name now. */
static void node_is_back(struct core *c, struct noderec *n)
{
    if (!n->withdrawn)
        return;
    bool silent = node_is_silent(n);
    n->withdrawn = false;
    n->n.drain = n->was_drained;
    if (silent)
        n->n.state = n->conn ? NODE_UP : NODE_UNKNOWN;
    if (!n->was_drained && (silent || text_is(n->n.reason, REASON_GONE)))
        text_set(c, &n->n.reason, NULL);
    node_save(c, n);
}

/* What State= or DownNodes= says newly of a node that was there: DRAIN and FAIL are added, as in
 * Slurm, an operator's reason stays. */
static void node_state_said(struct core *c, struct noderec *n, const struct node *conf, bool drain,
                            bool fail, bool down)
{
    if (down && n->n.state != NODE_DOWN)
        fx_log(c, LEVEL_WARNING,
               "node %s: State=DOWN counts when the controller starts; `scontrol update` does it "
               "now",
               n->n.name);
    if (!(drain && !n->n.drain) && !(fail && !n->n.fail))
        return;
    n->n.drain |= drain;
    n->n.fail |= fail;
    if (text_empty(n->n.reason) && conf->reason) {
        text_set(c, &n->n.reason, conf->reason);
        text_set(c, &n->n.reason_user, NULL);
        n->n.reason_uid = 0;
        n->n.reason_us = c->turn.now_us;
    }
    node_save(c, n);
}

bool node_shown(const struct noderec *n)
{
    return !n->withdrawn || n->job.n > 0;
}

static void nodes_apply(struct core *c, const struct config *config)
{
    for (size_t i = 0; i < c->node.n; i++)
        c->node.v[i]->mentioned = false;
    for (size_t i = 0; i < config->nnodes; i++) {
        const struct node *conf = &config->node[i];
        struct noderec *n = node_find(c, conf->name);
        bool drain = n && conf->drain && !n->conf.drain, fail = n && conf->fail && !n->conf.fail,
             down = n && conf->state == NODE_DOWN && n->conf.state != NODE_DOWN;
        if (n)
            node_change(c, n, conf);
        else
            n = node_add(c, conf);
        n->mentioned = true;
        node_is_back(c, n);
        node_state_said(c, n, conf, drain, fail, down);
        node_plan_update(c, n);
    }
    for (size_t i = 0; i < c->node.n; i++)
        if (!c->node.v[i]->mentioned && c->node.v[i]->n.state != NODE_FUTURE)
            node_withdraw(c, c->node.v[i]);
}

static void part_plan_update(struct core *c, struct partrec *p)
{
    struct err err = {0};
    if (!cluster_put_partition(c->cluster, &p->p, &err))
        fx_log(c, LEVEL_ERROR, "partition %s: %s", p->p.name, err.text);
}

static void part_take(struct core *c, const struct partition *conf)
{
    struct partrec *p = part_find(c, conf->name);
    bool was_changed = p && p->changed,
         keeps_state = was_changed && (!p->p.set_fields || list_has(p->p.set_fields, "state"));
    int32_t state = keeps_state ? p->p.state : conf->state;
    if (!p) {
        p = xcalloc(1, sizeof *p);
        vec_push(&c->part, p);
    } else {
        record_drop(c, &partition_fields, &p->p);
    }
    record_intern(c, &partition_fields, &p->p, conf);
    p->p.state = state;
    part_plan_update(c, p);
    if (!was_changed)
        return;
    /* The file has been read again: but for the state, what scontrol had set is no longer so, and a
     * restart must not bring it back. */
    p->changed = keeps_state;
    if (keeps_state) {
        text_set(c, &p->p.set_fields, "state");
        part_save(c, p);
    } else {
        fx_remove(c, TABLE_PARTITION, &p->p);
    }
}

static bool part_configured(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->nparts; i++)
        if (text_is(config->part[i].name, name))
            return true;
    return false;
}

static bool part_used(const struct core *c, const char *name)
{
    struct map_walk w = {0};
    while (map_u64_next(c->jobs.by_id, &w)) {
        const struct jobrec *r = w.value;
        if (job_live(r) &&
            (list_has(r->j.spec.req.partition, name) || text_is(r->j.run_partition, name)))
            return true;
    }
    return false;
}

static void parts_apply(struct core *c, const struct config *config)
{
    live_sums_forget(c);
    for (size_t i = 0; i < config->nparts; i++)
        part_take(c, &config->part[i]);
    for (size_t i = 0; i < c->part.n;) {
        struct partrec *p = c->part.v[i];
        if (part_configured(config, p->p.name) || p->changed) {
            i++;
        } else if (part_used(c, p->p.name)) {
            fx_log(c, LEVEL_WARNING,
                   "partition %s is no longer configured, but jobs use it: it stays, INACTIVE",
                   p->p.name);
            p->p.state = PART_INACTIVE;
            part_plan_update(c, p);
            i++;
        } else {
            cluster_remove_partition(c->cluster, p->p.name);
            record_drop(c, &partition_fields, &p->p);
            free(p);
            vec_remove(&c->part, i);
        }
    }
}

void config_apply(struct core *c, const struct config *config)
{
    bool enforced = enforces_associations(c);
    settings_take(c, &config->settings);
    cluster_set_zone(c->cluster, config->zone);
    cluster_set_topology(c->cluster, &config->topology);
    nodes_apply(c, config);
    parts_apply(c, config);
    if (c->jobs.next_id < (uint64_t)c->settings.first_job_id)
        c->jobs.next_id = (uint64_t)c->settings.first_job_id;
    if (c->store.loaded)
        nodes_welcome(c);
    if (c->store.loaded) {
        accounts_tres_note(c);
        uses_know_tres(c);
        limits_anew(c);
        if (enforced && !enforces_associations(c)) /* else that looks at all */
            jobs_anew(c);
        crons_look(c);
    }
    plan_soon(c);
}
