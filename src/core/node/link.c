/* What node daemons say. A hello names what the node holds; the machine compares it with what it
 * believes and mends the difference. Reports may come twice or late: a report of a start that is no
 * longer current changes nothing but is acknowledged, or the node would repeat it for ever. */
#include "core/node/node.h"
#include "model/job/job_counts.h"
#include "model/limits.h"
#include "model/protocol.h"
#include "model/record/series.h"
#include "model/settings/topology.h"

#include <string.h>

/* ---- hello ---------------------------------------------------------------------------------- */

static void facts_take(struct core *c, struct noderec *n, const struct node *said)
{
    text_set(c, &n->n.arch, said->arch ? said->arch : n->conf.arch);
    text_set(c, &n->n.os, said->os);
    text_set(c, &n->n.version, said->version);
    text_set(c, &n->n.isolation, said->isolation);
    text_set(c, &n->n.device_trouble, said->device_trouble);
    text_set(c, &n->n.device_search, said->device_search);
    text_set(c, &n->n.device_health, said->device_health);
    text_set(c, &n->n.real_gres, said->real_gres);
    if (!n->conf.devices)
        text_set(c, &n->n.devices, said->devices);
    n->n.real_cpus = said->real_cpus;
    n->n.real_memory_mib = said->real_memory_mib;
    n->n.boot_us = said->boot_us;
    if (said->life)
        text_set(c, &n->n.life, life_after(n->n.life, said->life, c->turn.fx->arena));
    n->n.daemon_start_us = said->daemon_start_us;
    n->n.load_centi = said->load_centi;
    n->n.free_mem_mib = said->free_mem_mib;
    node_capacity(c, n);
}

static void into_service(struct core *c, struct noderec *n)
{
    bool ours = node_is_silent(n);
    if (n->n.state == NODE_UNKNOWN || (ours && c->settings.return_to_service)) {
        n->n.state = NODE_UP;
        if (ours) {
            text_set(c, &n->n.reason, NULL);
            text_set(c, &n->n.reason_user, NULL);
            n->n.reason_us = 0;
        }
    }
}

/* A node that missed one is not silent yet: there are three within SlurmdTimeout at least, as many
 * as Slurm's controller asks for. */
static int64_t heartbeat_us(const struct settings *s)
{
    int64_t third = s->node_timeout_us / 3;
    return third > 0 && third < s->heartbeat_us ? third : s->heartbeat_us;
}

static struct msg_node_welcome welcome(struct core *c, const struct noderec *n)
{
    const struct settings *s = &c->settings;
    struct series_keep keep;
    return (struct msg_node_welcome){
        .heartbeat_us = heartbeat_us(s),
        .accounting_freq_us = s->accounting_freq_us,
        .kill_wait_us = s->kill_wait_us,
        .prolog = text_empty(s->prolog) ? NULL : s->prolog,
        .epilog = text_empty(s->epilog) ? NULL : s->epilog,
        .prolog_timeout_us = s->prolog_timeout_us,
        .task_prolog = text_empty(s->task_prolog) ? NULL : s->task_prolog,
        .task_epilog = text_empty(s->task_epilog) ? NULL : s->task_epilog,
        .constrain_cores = s->constrain_cores,
        .constrain_ram = s->constrain_ram,
        .constrain_devices = s->constrain_devices,
        .constrain_swap = s->constrain_swap,
        .over_memory_kill = s->word.over_memory_kill,
        .allowed_ram = s->allowed_ram,
        .allowed_swap = s->allowed_swap,
        .max_ram = s->max_ram,
        .max_swap = s->max_swap,
        .min_ram_mib = s->min_ram_mib,
        .swappiness_plus1 = s->memory_swappiness + 1,
        .pids_max = s->pids_max,
        .timeout_us = s->node_timeout_us,
        .unkillable_us = s->unkillable_timeout_us,
        .cluster_name = s->cluster_name,
        .protocol = PROTOCOL_NOW,
        .protocol_oldest = PROTOCOL_OLDEST,
        .version = REMUDA_VERSION,
        .series = series_keep_parse(s->job_series_keep, &keep, NULL) && keep.n > 0,
        .no_gpu_use = s->word.no_gpu_use,
        .frequencies = s->other_freqs,
        .devices_failed = node_devices_failed(c, n),
        .topology_addr =
            topology_address(cluster_topology(c->cluster), n->n.name, c->turn.fx->arena),
        .topology_pattern =
            topology_pattern(cluster_topology(c->cluster), n->n.name, c->turn.fx->arena),
    };
}

/* The settings once more, to this one, which is connected. */
static void welcome_again(struct core *c, struct noderec *n)
{
    ASSERT(n->conn);
    struct msg_node_welcome m = welcome(c, n);
    fx_send(c, n->conn, MSG_NODE_WELCOME, &m, 0);
}

void nodes_welcome(struct core *c)
{
    for (size_t i = 0; i < c->node.n; i++)
        if (c->node.v[i]->conn)
            welcome_again(c, c->node.v[i]);
}

static const struct held *held_find(const struct msg_node_hello *m, const struct jobrec *r,
                                    bool batch)
{
    size_t n;
    const struct held *held = held_of(m, r, &n);
    for (size_t i = 0; i < n; i++)
        if (!batch || held[i].step_id == STEP_BATCH)
            return &held[i];
    return NULL;
}

/* A step of it, which may have ended, other than that. */
static bool holds_but(const struct msg_node_hello *m, const struct jobrec *r, int64_t step_id)
{
    size_t n;
    const struct held *held = held_of(m, r, &n);
    for (size_t i = 0; i < n; i++)
        if (held[i].step_id != step_id)
            return true;
    return false;
}

/* The batch script of a job that runs, on its host. Of a former life of the node nobody knows
 * whether it has begun: it is not launched again. */
static void script_compare(struct core *c, struct noderec *n, struct jobrec *r,
                           const struct held *held, bool anew)
{
    bool doubtful = r->j.restored;
    if (held && doubtful)
        doubt_end(c, r);
    if (held && !r->started && !held->unbegun) {
        r->started = true;
        step_save(c, batch_step(c, r));
    } else if (!held && !r->started && !doubtful && !anew) {
        /* It was lost on its way: the same start again, which the node takes at most once. */
        launch_send(c, r);
    } else if (!held) {
        job_node_lost(c, r, n->index);
    }
}

/* A job the machine believes to hold this node, which may have been started anew, or be another
 * machine, since it was last heard of. */
static void believed_check(struct core *c, struct noderec *n, struct jobrec *r,
                           const struct msg_node_hello *m, bool anew)
{
    bool ending = r->j.state == JOB_COMPLETING || r->j.state == JOB_REQUEUED;
    if (!ending && hold_leaving(r, n->index)) {
        if (held_find(m, r, false)) {
            hold_terminate(c, r, hold_find(r, n->index));
        } else {
            steps_node_gone(c, r, n->index, false);
            node_released(c, r, n->index);
        }
        return;
    }
    if (ending && held_find(m, r, false)) {
        steps_reconcile(c, n, r, m);
        terminate_send(c, r, c->settings.kill_wait_us, NULL);
        suspend_repeat(c, r, n);
        return;
    }
    if (ending) {
        node_released(c, r, n->index);
        return;
    }
    /* Also where a controller that died had something launched; of the script it is known. */
    if (holds_but(m, r, STEP_BATCH))
        hold_find(r, n->index)->told = true;
    /* Not merely that it has been there, and has yet to have its epilog. */
    if (anew && !holds_but(m, r, STEP_EXTERN)) {
        if (held_find(m, r, false))
            job_node_visited(c, r, n->index);
        else
            job_node_lost(c, r, n->index);
        return;
    }
    steps_reconcile(c, n, r, m);
    if (held_find(m, r, false))
        suspend_repeat(c, r, n);
    if (job_has_script(r) && text_is(n->n.name, r->j.batch_host))
        script_compare(c, n, r, held_find(m, r, true), anew);
    steps_retry_soon(c, r);
}

/* The job goes on without this node, which it gave back or lost, maybe in an earlier life of the
 * controller. */
static bool node_left(struct jobrec *r, uint32_t node)
{
    const struct node_hold *h = hold_find(r, node);
    return !h || h->released;
}

static void anew_say(struct core *c, struct noderec *n, const char *life)
{
    bool same_boot = !life_is_another_boot(n->n.life, life);
    node_log(c, n, LEVEL_WARNING,
             "node %s is not what it was: %s; what ran there and is not there any more is lost (of "
             "%zu jobs)",
             n->n.name,
             same_boot ? "the directory of its daemon was lost or replaced"
                       : "its machine was started anew, or is another",
             n->job.n);
}

static void reconcile(struct core *c, struct noderec *n, const struct msg_node_hello *m, bool anew)
{
    const struct held *held = m->held.v;
    uint64_t *ids = n->job.n ? xmemdup(n->job.v, n->job.n * sizeof *ids) : NULL;
    size_t count = n->job.n;
    for (size_t i = 0; i < count; i++) {
        struct jobrec *r = job_find(c, ids[i]);
        if (r)
            believed_check(c, n, r, m, anew);
    }
    free(ids);
    held_beyond(c, n, m);
    for (size_t i = 0; i < m->held.n; i++) {
        struct jobrec *r = job_find(c, held[i].job_id);
        bool current = r && r->j.attempt == held[i].attempt &&
                       !job_state_over((enum job_state)r->j.state) && r->j.state != JOB_PENDING &&
                       !node_left(r, n->index);
        struct msg_terminate end = {.job_id = held[i].job_id, .attempt = held[i].attempt};
        if (current || held[i].ended)
            continue;
        fx_send(c, c->turn.conn, MSG_TERMINATE, &end, 0);
        former_run_keep(c, n, held[i].job_id, held[i].attempt);
    }
}

/* A daemon of a release that cannot be worked with stays connected and unheard; it says hello again
 * when either end was upgraded. */
static bool speaks_our_protocol(struct core *c, struct noderec *n, const struct node *said,
                                const struct msg_node_hello *m)
{
    const char *who = arena_printf(c->turn.fx->arena, "node %s", n->n.name);
    const struct protocol_peer peer = {who, said->version, m->protocol, m->protocol_oldest};
    const char *fault = protocol_fault(&peer, "this controller", REMUDA_VERSION, c->turn.fx->arena);
    if (!fault)
        return true;
    node_log(c, n, LEVEL_ERROR, "%s", fault);
    reply_done(c, REFUSE_BAD_MESSAGE, fault);
    return false;
}

/* Another by that name is connected. Whether it is really there shows when something is sent to
 * it. */
static bool rival_waits(struct core *c, struct noderec *n, const struct msg_node_hello *m)
{
    bool first = !n->rival;
    if (!node_rival_waits(c, n, m))
        return false;
    if (first && n->rival)
        welcome_again(c, n);
    return true;
}

void req_node_hello(struct core *c, const struct msg_node_hello *m)
{
    ASSERT(c->turn.conn);
    const struct node *said = m->node.n ? m->node.v : NULL;
    struct noderec *n = said ? node_find(c, said->name) : NULL;
    if (!n) {
        reply_done(
            c, REFUSE_INVALID_NODE,
            "no NodeName line of the configuration describes this node: add one and run `scontrol "
            "reconfigure`");
        return;
    }
    if (!speaks_our_protocol(c, n, said, m) || rival_waits(c, n, m))
        return;
    const struct node taken = node_said(c, n, said);
    if (n->conn && n->conn != c->turn.conn) {
        map_u64_del(c->node_index.by_conn, n->conn);
        effect_add(c->turn.fx, FX_CLOSE)->conn = n->conn;
    }
    former_runs_forget(c, n);
    node_gpus_forget(n);
    n->conn = c->turn.conn;
    n->pid = m->pid;
    n->lost_us = 0;
    n->n.responding = true;
    n->n.last_seen_us = c->turn.now_us;
    map_u64_put(c->node_index.by_conn, c->turn.conn, n);
    bool anew = life_is_another(n->n.life, taken.life);
    if (anew)
        anew_say(c, n, taken.life);
    node_devices_hello(c, n, m->devices_seq, taken.devices_out);
    facts_take(c, n, &taken);
    into_service(c, n);
    node_save_changed(c, n);
    node_plan_update(c, n);
    struct msg_node_welcome answer = welcome(c, n);
    fx_reply(c, c->turn.conn, c->turn.seq, MSG_NODE_WELCOME, &answer);
    node_watch(c, n);
    const struct msg_node_hello sorted = held_sorted(m, c->turn.fx->arena);
    reconcile(c, n, &sorted, anew);
}

void req_heartbeat(struct core *c, const struct msg_heartbeat *m)
{
    ASSERT(c->turn.conn);
    struct noderec *n = map_u64_get(c->node_index.by_conn, c->turn.conn);
    if (!n)
        return;
    n->n.last_seen_us = c->turn.now_us;
    n->n.load_centi = m->load_centi;
    n->n.free_mem_mib = m->free_mem_mib;
    if (node_says_too_many(m->gpu_use))
        return;
    if (m->node.n) {
        const struct node taken = node_said(c, n, m->node.v);
        facts_take(c, n, &taken);
        node_save(c, n);
        node_plan_update(c, n);
    }
    node_devices_set(c, n, m->devices_seq, m->devices_out, m->device_health);
    node_gpus_set(c, n, m->gpu_use);
    gpu_idle_look(c, n);
}

/* ---- reports -------------------------------------------------------------------------------- */

/* What the node measured of the batch script, into our row of it. */
static struct steprec *usage_take(struct core *c, struct jobrec *r, const struct msg_report *m)
{
    struct steprec *st = batch_step(c, r);
    const struct step *u = m->usage.n ? m->usage.v : NULL;
    if (u) {
        step_usage_said(&st->s, u);
        const char *host = u->max_rss_node ? u->max_rss_node : st->s.nodes;
        text_set(c, &st->s.max_rss_node, text_head(c->turn.fx->arena, host, LIMIT_NAME_BYTES));
    }
    step_usage_sum(c, r, st);
    return st;
}

static void script_end(struct core *c, struct jobrec *r, const struct msg_report *m)
{
    struct step *s = &usage_take(c, r, m)->s;
    if (s->end_us)
        return;
    s->end_us = clock_end(c, s->start_us);
    s->exit_status = m->oom ? STATUS_OOM : m->exit_status;
    s->oom = m->oom;
    s->suspended_us = job_suspended_us(&r->j, c->turn.now_us);
    if (m->oom)
        s->state = JOB_OUT_OF_MEMORY;
    else if (m->kind == REPORT_LOST)
        s->state = JOB_NODE_FAIL;
    else /* told to end or not, it left by itself */
        s->state = status_state(m->exit_status);
    fx_store(c, TABLE_STEP, s);
}

/* The node is there and the script is not: its shepherd was killed, or all processes with the
 * machine. For the job that is a node that failed. */
static void lost(struct core *c, struct jobrec *r, const struct noderec *n,
                 const struct msg_report *m)
{
    script_end(c, r, m);
    r->script_ended = true;
    if (r->j.state != JOB_RUNNING && r->j.state != JOB_SUSPENDED) {
        terminate_send(c, r, c->settings.kill_wait_us, NULL);
        return;
    }
    struct str why = STR_INIT;
    str_addf(
        &why,
        "its processes on node %s were lost: the machine went down, or remuda-shepherd was killed",
        n->n.name);
    text_set(c, &r->j.reason_detail, m->detail ? m->detail : str_text(&why));
    str_done(&why);
    text_set(c, &r->j.failed_node, n->n.name);
    if (job_may_requeue(c, r))
        requeue_failed(c, r);
    job_end(c, r, JOB_NODE_FAIL, REASON_NODE_DOWN, c->settings.kill_wait_us, "DUE TO NODE FAILURE");
}

/* Of the batch script: its host speaks of it, and no other node. */
static bool is_its_script(const struct noderec *n, const struct jobrec *r)
{
    return job_has_script(r) && text_is(n->n.name, r->j.batch_host);
}

static void script_report(struct core *c, struct noderec *n, struct jobrec *r,
                          const struct msg_report *m)
{
    switch ((enum report_kind)m->kind) {
    case REPORT_STARTED:
        r->started = true;
        step_save(c, batch_step(c, r));
        break;
    case REPORT_USAGE: step_save(c, usage_take(c, r, m)); break;
    case REPORT_EXITED:
        r->started = true;
        script_end(c, r, m);
        batch_exited(c, r, m);
        break;
    case REPORT_RELEASED: break;
    case REPORT_FAILED: launch_failed(c, r, m); break;
    case REPORT_LOST: lost(c, r, n, m); break;
    }
}

/* Nothing of a job is there, which is not told to end: the report of why is on its way, or more
 * will be launched. */
static void hold_untell(struct jobrec *r, uint32_t node)
{
    for (size_t i = 0; i < r->hold.n; i++)
        if (r->hold.v[i].node == node && !steps_on_node(r, node))
            r->hold.v[i].told = false;
}

static void report_act(struct core *c, struct noderec *n, struct jobrec *r,
                       const struct msg_report *m)
{
    bool ending = r->j.state == JOB_COMPLETING || r->j.state == JOB_REQUEUED;
    if (m->kind == REPORT_STARTED)
        suspend_repeat(c, r, n); /* a signal that came before its shepherd did is lost */
    if (m->kind == REPORT_RELEASED && !ending && hold_leaving(r, n->index))
        steps_node_gone(c, r, n->index, false);
    if (m->kind == REPORT_RELEASED && (ending || hold_leaving(r, n->index)))
        node_released(c, r, n->index);
    else if (m->kind == REPORT_RELEASED)
        hold_untell(r, n->index);
    else if (m->step_id != STEP_BATCH)
        step_report(c, n, r, m);
    else if (is_its_script(n, r))
        script_report(c, n, r, m);
}

void req_report(struct core *c, const struct msg_report *said)
{
    ASSERT(c->turn.conn);
    struct msg_report cut = *said;
    const struct msg_report *m = &cut;
    cut.detail = text_head(c->turn.fx->arena, said->detail, LIMIT_NODE_SENTENCE_BYTES);
    struct noderec *n = map_u64_get(c->node_index.by_conn, c->turn.conn);
    struct jobrec *r = job_find(c, m->job_id);
    if (!n)
        return;
    n->n.last_seen_us = c->turn.now_us;
    node_devices_set(c, n, m->devices_seq, m->devices_out,
                     m->device_health); /* before what it gives back is free */
    bool current = r && r->j.attempt == m->attempt && r->j.state != JOB_PENDING &&
                   r->j.state != JOB_SPECIAL_EXIT && !job_state_over((enum job_state)r->j.state);
    if (m->kind == REPORT_FAILED && m->prolog)
        node_program_failed(c, n, SITE_PROLOG, m->detail);
    bool runs = current && (r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED);
    /* A shepherd of a job that was told to end may have been ended with it. */
    bool told_again = m->seq && m->seq == n->unfit_seq;
    if (m->kind == REPORT_FAILED && (m->unfit || (m->gone && runs)) && !told_again) {
        n->unfit_seq = m->seq;
        node_launch_failed(c, n, m->detail);
    }
    if (m->kind == REPORT_STARTED)
        n->unfit = 0;
    if (m->kind == REPORT_RELEASED && m->detail) /* of its epilog; nothing else is said then */
        node_program_failed(c, n, SITE_EPILOG, m->detail);
    if (current)
        report_act(c, n, r, m);
    if (m->kind == REPORT_RELEASED || (m->kind == REPORT_EXITED && m->clean))
        former_run_over(c, n, m->job_id, m->attempt);
    if (m->seq)
        report_ack(c, current ? r : NULL, m);
}
