/* The machine: events are dispatched to the file of their request or phase; a wake fires what is
 * due and plans. */
#include "core/record/accounts/accrue.h"
#include "core/record/accounts/limits.h"
#include "core/record/accounts/minutes.h"
#include "core/record/accounts/usage.h"
#include "core/record/accounts/use.h"
#include "core/record/triggers/triggers.h"
#include "core/turn.h"

#define PLAN_HELD_US (USEC_PER_SEC / 5)

struct core *core_new(uint64_t seed, const char *host)
{
    struct core *c = xcalloc(1, sizeof *c);
    c->rng.state = seed;
    c->host = xstrdup(host);
    c->pool = intern_new();
    settings_default(&c->settings);
    c->settings_made.arena = arena_new();
    c->cluster = cluster_new();
    c->plan = plan_new();
    c->jobs.by_id = map_u64_new();
    c->jobs.array = map_u64_new();
    c->jobs.dependents = map_u64_new();
    c->jobs.singleton = map_str_new();
    c->usage.row = map_str_new();
    c->usage.strange = map_u64_new();
    uses_init(c);
    c->node_index.by_name = map_str_new();
    c->node_index.by_conn = map_u64_new();
    c->node_index.by_rival = map_u64_new();
    c->joined.token = map_str_new();
    c->joined.host = map_str_new();
    answered_begin(c);
    c->users.crontab = map_u64_new();
    c->users.room = map_u64_new();
    c->users.named = map_u64_new();
    accounts_init(c);
    c->jobs.next_id = 1;
    return c;
}

static void id_lists_free(struct map_u64 *lists)
{
    struct map_walk w = {0};
    while (map_u64_next(lists, &w)) {
        id_list_free(w.value);
    }
    map_u64_free(lists);
}

static void jobs_free(struct core *c)
{
    struct map_walk w = {0};
    while (map_u64_next(c->jobs.by_id, &w)) {
        struct jobrec *r = w.value;
        steps_drop(c, r);
        free(r->deps.v);
        free(r->deps.form);
        idset_done(&r->pending);
        vec_done(&r->step);
        vec_done(&r->wish);
        vec_done(&r->hold);
        free(r);
    }
    map_u64_free(c->jobs.by_id);
    w = (struct map_walk){0};
    while (map_u64_next(c->jobs.array, &w)) {
        struct arrayrec *array = w.value;
        array_free(array);
    }
    map_u64_free(c->jobs.array);
}

void core_free(struct core *c)
{
    if (!c)
        return;
    struct map_walk w = {0};
    jobs_free(c);
    id_lists_free(c->jobs.dependents);
    while (map_str_next(c->jobs.singleton, &w))
        namesakes_free(w.value);
    map_str_free(c->jobs.singleton);
    for (size_t i = 0; i < c->node.n; i++) {
        vec_done(&c->node.v[i]->job);
        vec_done(&c->node.v[i]->former);
        free(c->node.v[i]->gpus.v);
        free(c->node.v[i]);
    }
    for (size_t i = 0; i < c->part.n; i++)
        free(c->part.v[i]);
    vec_done(&c->node);
    vec_done(&c->part);
    for (size_t i = 0; i < c->resv.n; i++)
        free(c->resv.v[i]);
    vec_done(&c->resv);
    vec_done(&c->calls.waiter);
    vec_done(&c->calls.output.v);
    vec_done(&c->timers.heap);
    vec_done(&c->marks.woken);
    vec_done(&c->marks.never);
    vec_done(&c->marks.steps);
    vec_done(&c->marks.steps_left);
    vec_done(&c->marks.unsaved);
    vec_done(&c->marks.again);
    vec_done(&c->marks.pairs);
    vec_done(&c->marks.looking);
    sweeps_free(c);
    vec_done(&c->left_out.row);
    arena_free(c->left_out.arena);
    steps_gathered_done(c);
    usage_free(c);
    minutes_free(c);
    accrue_free(c);
    accounts_free(c);
    limits_free(c);
    map_str_free(c->node_index.by_name);
    map_u64_free(c->node_index.by_conn);
    map_u64_free(c->node_index.by_rival);
    host_records_free(c);
    answered_free(c);
    crontabs_free(c);
    names_now_free(c);
    user_rooms_free(c);
    triggers_free(c);
    plan_free(c->plan);
    cluster_free(c->cluster);
    arena_free(c->settings_made.arena);
    intern_free(c->pool);
    free(c->host);
    free(c->jobs.firsts);
    free(c);
}

void core_set_order(struct core *c, const struct order_hook *hook)
{
    cluster_set_hook(c->cluster, hook);
    c->planning.needed = true;
}

const struct settings *core_settings(const struct core *c)
{
    return &c->settings;
}

/* ---- events --------------------------------------------------------------------------------- */

static bool allowed(const struct core *c, const struct event *ev)
{
    switch (message_table[ev->msg->kind].who) {
    case WHO_ANYONE:
    case WHO_OWNER: return ev->peer != NULL;
    case WHO_OPERATOR: return peer_operates(c, ev->peer);
    case WHO_ADMIN: return peer_administers(c, ev->peer);
    case WHO_NODE: return ev->peer && (ev->peer->is_admin || ev->peer->is_daemon);
    case WHO_CONTROLLER:
    case WHO_STREAM: break;
    }
    return false;
}

static void refuse_stranger(struct core *c, enum message_kind kind)
{
    static const char *const may[] = {
        [WHO_ANYONE] = "known users",
        [WHO_OWNER] = "known users",
        [WHO_OPERATOR] = "operators (Operators= in remuda.conf) and administrators",
        [WHO_ADMIN] = "administrators",
        [WHO_NODE] = "node daemons",
        [WHO_CONTROLLER] = "the controller",
        [WHO_STREAM] = "commands and shepherds, among themselves,",
    };
    const char *plain = c->turn.peer && c->turn.peer->is_plain
                            ? arena_printf(c->turn.fx->arena,
                                           ", and nobody speaks as such from host %s, whose token "
                                           "was not for a trusted host",
                                           c->turn.peer->host)
                            : "";
    reply_done(c, REFUSE_ACCESS_DENIED,
               arena_printf(c->turn.fx->arena, "only %s may %s%s", may[message_table[kind].who],
                            message_table[kind].doc, plain));
}

static void message_take(struct core *c, const struct message *m)
{
    switch (m->kind) {
    case MSG_SUBMIT: req_submit(c, m->body); return;
    case MSG_JOB_CONTROL: req_job_control(c, m->body); return;
    case MSG_CANCEL: req_cancel(c, m->body); return;
    case MSG_UPDATE_JOB: req_update_job(c, m->body); return;
    case MSG_AMEND_JOBS: req_amend_jobs(c, m->body); return;
    case MSG_EXTEND: req_extend(c, m->body); return;
    case MSG_UPDATE_NODE: req_update_node(c, m->body); return;
    case MSG_UPDATE_PARTITION: req_update_partition(c, m->body); return;
    case MSG_UPDATE_RESERVATION: req_update_reservation(c, m->body); return;
    case MSG_CHANGE_ACCOUNTS: req_change_accounts(c, m->body); return;
    case MSG_SET_CRONTAB: req_set_crontab(c, m->body); return;
    case MSG_GET_CRONTAB: req_get_crontab(c, m->body); return;
    case MSG_SET_TRIGGER: req_set_trigger(c, m->body); return;
    case MSG_CLEAR_TRIGGER: req_clear_trigger(c, m->body); return;
    case MSG_WAIT_JOB: req_wait_job(c, m->body); return;
    case MSG_ATTACH: req_attach(c, m->body); return;
    case MSG_CREATE_STEP: req_create_step(c, m->body); return;
    case MSG_ATTACH_STEP: req_attach_step(c, m->body); return;
    case MSG_FINISH_JOB: req_finish_job(c, m->body); return;
    case MSG_GET_OUTPUT: req_get_output(c, m->body); return;
    case MSG_OUTPUT_READ: req_output_read(c, m->body); return;
    case MSG_GET_SCRIPT: req_get_script(c, m->body); return;
    case MSG_WHY: req_why(c, m->body); return;
    case MSG_MAY: req_may(c, m->body); return;
    case MSG_DAEMON: req_daemon(c, m->body); return;
    case MSG_NODE_HELLO: req_node_hello(c, m->body); return;
    case MSG_HEARTBEAT: req_heartbeat(c, m->body); return;
    case MSG_REPORT: req_report(c, m->body); return;
    case MSG_MAKE_TOKEN: req_make_token(c, m->body); return;
    case MSG_ARCHIVE: req_archive(c, m->body); return;
    case MSG_ADD_PAST: req_add_past(c, m->body); return;
    case MSG_JOIN: req_join(c, m->body); return;
    case MSG_EXPEL: req_expel(c, m->body); return;
    case MSG_RENEW: /* the shell's */
    case MSG_VOUCH:
    case MSG_TOKEN_MADE:
    case MSG_JOINED:
    case MSG_QUERY:  /* the shell asks core_query */
    case MSG_SERIES: /* the shell's: nothing is decided by it */
    case MSG_GET_SERIES:
    case MSG_SERIES_KEPT:
    case MSG_SERIES_PART:
    case MSG_READ_OUTPUT:
    case MSG_OUTPUT:
    case MSG_ARCHIVED:
    case MSG_ACCOUNTS_CHANGED:
    case MSG_CRONTAB:
    case MSG_SUBMITTED:
    case MSG_SCRIPT:
    case MSG_EXPLAINED:
    case MSG_ALLOWED:
    case MSG_DONE:
    case MSG_JOB_ENDED:
    case MSG_NODE_WELCOME:
    case MSG_LAUNCH:
    case MSG_TERMINATE:
    case MSG_SIGNAL:
    case MSG_REPORT_ACK:
    case MSG_DEVICES_RETRY:
    case MSG_ALLOCATED:
    case MSG_STEP_PENDING:
    case MSG_STEP_CREATED:
    case MSG_STEP_ENDED:
    case MSG_STREAM_TO:
    case MSG_STREAM_HELLO:
    case MSG_STREAM_TASKS:
    case MSG_STREAM_STARTED:
    case MSG_STREAM_DATA:
    case MSG_STREAM_CREDIT:
    case MSG_STREAM_EXIT:
    case MSG_STREAM_WINDOW:
    case MSG_STREAM_SIGNAL:
    case MSG_STREAM_NOTICE:
    case MSG_STREAM_MPI:
    case MSG_STREAM_DONE:
    case MESSAGE_COUNT: break;
    }
    reply_done(c, REFUSE_BAD_MESSAGE, "the controller does not take this message");
}

/* While many jobs are being ended, each slice would be planned for: now and then is enough. */
static bool plan_held(const struct core *c)
{
    int64_t since = c->turn.now_us - c->planning.made_us;
    return c->planning.rests || c->slices.anew.on ||
           ((c->slices.sweeps.list.n || settle_goes_on(c)) && since >= 0 && since < PLAN_HELD_US);
}

static void wake(struct core *c, enum wake_part part)
{
    if (part == WAKE_SLICE) {
        sweeps_go(c);
        return;
    }
    steps_gathered(c);
    if (c->slices.anew.on)
        limits_look_on(c);
    if (part == WAKE_WHOLE)
        sweeps_go(c);
    answered_expire(c);
    c->turn.work = 0; /* a slice is bounded by itself: who asks for many keeps no timer waiting */
    steps_go_on(c);
    timers_fire(c);
    if (triggers_due(c) <= c->turn.now_us && !c->store.away)
        triggers_run(c);
    if (usage_due(c) <= c->turn.now_us && !c->store.away)
        usage_tick(c);
    if (minutes_due(c) && !c->store.away)
        minutes_look(c);
    if (c->timers.gang_due_us && c->timers.gang_due_us <= c->turn.now_us && !c->store.away)
        gang_turn(c, true);
    resvs_fire(c);
    if (!plan_held(c) &&
        (c->planning.needed || (c->planning.due_us && c->planning.due_us <= c->turn.now_us))) {
        c->planning.made_us = c->turn.now_us;
        starts_apply(c);
    }
}

void core_step(struct core *c, const struct event *ev, struct effects *fx)
{
    c->turn.now_us = ev->now_us;
    c->turn.fx = fx;
    c->turn.conn = ev->conn;
    c->turn.peer = ev->peer;
    c->turn.seq = ev->msg ? ev->msg->seq : 0;
    c->turn.request = ev->msg ? ev->msg->request : 0;
    c->turn.hurry = ev->hurry;
    c->turn.work = 0;
    c->turn.aside = ev->aside;
    c->turn.worked = ev->worked;
    limits_components_forget(c);
    c->turn.remark = ev->remark;
    c->turn.rows = ev->rows;
    clock_look(c, ev);
    size_t from = fx->n;
    switch (ev->kind) {
    case EV_MESSAGE:
        if (message_table[ev->msg->kind].who != WHO_NODE)
            sweeps_heed(c, ev->peer);
        if (!allowed(c, ev))
            refuse_stranger(c, ev->msg->kind);
        else if (waiters_full(c, ev->msg))
            reply_done(c, REFUSE_BUSY,
                       "you have 4096 calls open that are answered later; no more are allowed");
        else if (!answered_again(c, ev->msg) && !sweep_again(c, ev->msg))
            message_take(c, ev->msg);
        break;
    case EV_CLOSED:
        node_closed(c, ev->conn);
        outputs_closed(c, ev->conn);
        waiters_closed(c, ev->conn);
        break;
    case EV_WAKE:
        if (ev->part != WAKE_SLICE) {
            c->planning.rests = ev->plan_rests;
            c->planning.foresees = ev->foresees;
        }
        wake(c, ev->part);
        break;
    case EV_CONFIG:
        clock_boot(c, ev->text);
        config_apply(c, ev->config);
        hosts_described(c);
        if (c->store.loaded)
            triggers_site(c, TRIGGER_BIT(RECONFIG));
        c->settings_made.mail_fault =
            ev->mail_fault ? arena_strdup(c->settings_made.arena, ev->mail_fault) : NULL;
        break;
    case EV_STORE_AWAY:
        c->store.away = true;
        triggers_store_away(c);
        break;
    case EV_STORE_BACK:
        c->store.away = false;
        c->store.back_us = c->turn.now_us;
        triggers_site(c, TRIGGER_BIT(ACCOUNTING_OPERATION) | TRIGGER_BIT(DATABASE_OPERATION));
        plan_soon(c);
        break;
    case EV_FORESEEN: foreseen_adopt(c, ev->foreseen); break;
    case EV_PAST: past_remove(c, ev->past); break;
    case EV_OWNERS:
        if (owners_told(c, ev->owners, ev->nowners))
            jobs_anew(c);
        break;
    case EV_PROGRAM_OVER: triggers_over(c); break;
    }
    settle(c);
    if (ev->kind == EV_MESSAGE)
        answered_keep(c, from);
    c->turn.fx = NULL;
    c->turn.peer = NULL;
}

int64_t core_wake_due(const struct core *c)
{
    bool held = plan_held(c);
    if (((c->planning.needed && !held) || c->gather.step.n || c->gather.ack.n || minutes_due(c) ||
         c->slices.anew.on || settle_goes_on(c) || steps_go_on_due(c)) &&
        !c->store.away)
        return 0;
    int64_t due = timers_due(c), turn = resvs_due(c);
    due = turn < due ? turn : due;
    due = sweeps_due(c) < due ? sweeps_due(c) : due;
    due = answered_due(c) < due ? answered_due(c) : due;
    if (c->timers.gang_due_us && c->timers.gang_due_us < due && !c->store.away)
        due = c->timers.gang_due_us;
    if (usage_due(c) < due && !c->store.away)
        due = usage_due(c);
    if (triggers_due(c) < due && !c->store.away)
        due = triggers_due(c);
    return c->planning.due_us && c->planning.due_us < due && !held ? c->planning.due_us : due;
}
