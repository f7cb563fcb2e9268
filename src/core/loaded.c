/* Loading: rows come table by table, then core_loaded builds the indexes and tells the planner what
 * runs and what waits. A job that was RUNNING stays RUNNING until its node says what became of
 * it. */
#include "base/list.h"
#include "core/record/accounts/accounts.h"
#include "core/record/accounts/accrue.h"
#include "core/record/accounts/bulk.h"
#include "core/record/accounts/minutes.h"
#include "core/record/accounts/usage.h"
#include "core/record/accounts/use.h"
#include "core/record/triggers/triggers.h"
#include "core/turn.h"

/* Older releases let a job name one again and again. */
static void resvs_load(struct core *c, struct jobrec *r)
{
    struct arena *a = arena_new();
    text_set(c, &r->j.spec.req.reservation, list_once(r->j.spec.req.reservation, 1, a));
    arena_free(a);
}

static void job_load(struct core *c, const struct job *row)
{
    struct jobrec *r = job_new(c, row->id);
    record_intern(c, &job_fields, &r->j, row);
    resvs_load(c, r);
    hold_load(r);
    if (row->array_pending && row->array_task_id == NO_TASK)
        idset_parse(&r->pending, row->array_pending, LIMIT_ARRAY_INDEX, NULL);
    user_room_count(c, r);
    if (row->cron && job_live(r))
        cron_join(c, r);
    /* It had run, and its next time was still to be found. */
    if (row->cron && !job_live(r) && r->j.start_us && !r->j.killed_by_uid_plus1 &&
        r->j.state != JOB_DEADLINE) {
        cron_join(c, r);
        vec_push(&c->marks.again, r->j.id);
    }
    if (row->array_job_id) {
        struct arrayrec *array = array_ensure(c, row->array_job_id);
        if (row->array_task_id != NO_TASK)
            map_u64_put(array->element, row->array_task_id, r);
    }
    ids_raise(c, row->id + 1);
}

/* What scontrol and the nodes had changed; the configuration, which came first, keeps the rest. */
static void node_load(struct core *c, const struct node *row)
{
    struct noderec *n = node_find(c, row->name);
    if (!n)
        return;
    if (n->n.state == NODE_UNKNOWN || row->state == NODE_DOWN)
        n->n.state = row->state == NODE_DOWN ? NODE_DOWN : NODE_UNKNOWN;
    n->n.drain |= row->drain;
    n->n.fail |= row->fail;
    text_set(c, &n->n.reason, row->reason);
    text_set(c, &n->n.reason_user, row->reason_user);
    n->n.reason_uid = row->reason_uid;
    n->n.reason_us = row->reason_us;
    text_set(c, &n->n.arch, row->arch);
    text_set(c, &n->n.os, row->os);
    text_set(c, &n->n.version, row->version);
    if (!n->conf.devices)
        text_set(c, &n->n.devices, row->devices);
    text_set(c, &n->n.real_gres, row->real_gres);
    text_set(c, &n->n.complaint, row->complaint);
    text_set(c, &n->n.devices_out, row->devices_out);
    text_set(c, &n->n.device_trouble, row->device_trouble);
    text_set(c, &n->n.device_search, row->device_search);
    text_set(c, &n->n.device_health, row->device_health);
    n->n.devices_retry = row->devices_retry;
    text_set(c, &n->n.comment, row->comment);
    text_set(c, &n->n.extra, row->extra);
    text_set(c, &n->n.set_fields, row->set_fields);
    text_set(c, &n->n.set_gres, row->set_gres);
    if (list_has(row->set_fields, "weight"))
        n->n.weight = n->conf.weight = row->weight;
    if (list_has(row->set_fields, "features"))
        text_set(c, &n->n.features, row->features);
    if (list_has(row->set_fields, "cpu_bind"))
        text_set(c, &n->n.cpu_bind, row->cpu_bind);
    if (list_has(row->set_fields, "gres"))
        text_set(c, &n->conf.gres, row->set_gres);
    if (list_has(row->set_fields, "addr"))
        text_set(c, &n->n.addr, row->addr);
    if (list_has(row->set_fields, "hostname"))
        text_set(c, &n->n.hostname, row->hostname);
    n->n.real_cpus = row->real_cpus;
    n->n.real_memory_mib = row->real_memory_mib;
    n->n.boot_us = row->boot_us;
    text_set(c, &n->n.life, row->life);
    n->n.last_busy_us = row->last_busy_us;
}

static void firsts_load(struct core *c, const char *firsts)
{
    free(c->jobs.firsts);
    c->jobs.firsts = xstrdup(firsts);
}

static void meta_load(struct core *c, const struct meta *row)
{
    uint64_t n;
    if (text_is(row->key, "usage_at") && text_to_u64(row->value, INT64_MAX, &n))
        c->usage.at_us = (int64_t)n;
    else if (text_is(row->key, "clock"))
        clock_load(c, row->value);
    else if (text_is(row->key, "heads"))
        firsts_load(c, row->value);
    else if (text_is(row->key, "next_job_id"))
        text_to_u64(row->value, LIMIT_COUNTED, &c->jobs.said_id);
    else if (text_is(row->key, "last_trigger") && text_to_u64(row->value, UINT32_MAX, &n) &&
             n > c->triggers.last)
        c->triggers.last = (uint32_t)n;
}

/* The file beside the store says after each commit how far ids went, and rows say it of what they
 * are: a number far beyond both was never given. */
static void ids_settle(struct core *c)
{
    if (!c->jobs.given_id || !ids_far_beyond(c, c->jobs.said_id)) {
        ids_raise(c, c->jobs.said_id);
        return;
    }
    struct str value = STR_INIT, why = STR_INIT;
    str_add_u64(&value, c->jobs.said_id);
    str_addf(&why, "by the rows of jobs, and by what was given out, ids are at %llu",
             (unsigned long long)c->jobs.next_id);
    row_leave_out(c, TABLE_META, &(struct meta){"next_job_id", str_text(&value)}, str_text(&why));
    str_done(&value);
    str_done(&why);
}

void core_load(struct core *c, enum store_table table, const void *record)
{
    struct err err = {0};
    if (!core_row_sound(table, record, &err)) {
        row_leave_out(c, table, record, err.text);
        return;
    }
    switch (table) {
    case TABLE_JOB: job_load(c, record); break;
    case TABLE_STEP: step_load(c, record); break;
    case TABLE_QUEUED_STEP: step_queue_load(c, record); break;
    case TABLE_NODE: node_load(c, record); break;
    case TABLE_NODE_SPELL: node_spell_load(c, record); break;
    case TABLE_PARTITION: part_load(c, record); break;
    case TABLE_RESERVATION: resv_load(c, record); break;
    case TABLE_META: meta_load(c, record); break;
    case TABLE_USAGE: usage_load(c, record); break;
    case TABLE_USE: uses_load(c, record); break;
    case TABLE_TOKEN: token_load(c, record); break;
    case TABLE_HOST: host_load(c, record); break;
    case TABLE_CRONTAB: crontab_load(c, record); break;
    case TABLE_TRIGGER: triggers_load(c, record); break;
    case TABLE_ANSWERED: answered_load(c, record); break;
    case TABLE_ACCOUNT:
    case TABLE_ACCOUNT_USER:
    case TABLE_ASSOC:
    case TABLE_QOS:
    case TABLE_LIMIT:
    case TABLE_WCKEY:
    case TABLE_TRES: accounts_load(c, table, record); break;
    case TABLE_TRANSACTION:
    case TABLE_PAST_RESERVATION:
    case TABLE_USED_HOUR:
    case TABLE_JOB_RUN:
    case TABLE_JOB_PART:
    case TABLE_PAYLOAD:
    case TABLE_LEFT_OUT:
    case STORE_TABLE_COUNT: break;
    }
}

void core_load_packed(struct core *c, const struct packed *p)
{
    accounts_load_packed(c, p);
}

/* What it gave back and has not left yet is nobody else's: the planner hears of it, too. */
static void leaving_restore(struct core *c, struct jobrec *r, struct arena *a, struct alloc *al)
{
    struct alloc left = {0};
    if (!r->j.leaving || !alloc_parse(r->j.leaving, a, &left, NULL))
        return;
    struct alloc_node *all = arena_alloc(a, (al->n + left.n) * sizeof *all);
    for (size_t i = 0; i < al->n; i++)
        all[i] = al->node[i];
    for (size_t i = 0; i < left.n; i++) {
        const struct noderec *n = node_find(c, left.node[i].node);
        if (!n || hold_find(r, n->index))
            continue;
        hold_leave_again(c, r, n->index);
        all[al->n++] = left.node[i];
    }
    al->node = all;
}

static void holds_restore(struct core *c, struct jobrec *r, struct arena *a)
{
    struct alloc al = {0};
    struct err err = {0};
    if (!alloc_parse(r->j.alloc, a, &al, &err)) {
        fx_log(c, LEVEL_ERROR, "job %llu: its allocation cannot be read: %s",
               (unsigned long long)r->j.id, err.text);
        return;
    }
    size_t known = 0;
    bool ending = r->j.state == JOB_COMPLETING || r->j.state == JOB_REQUEUED;
    struct hostlist released = HOSTLIST_INIT; /* others may have these now */
    if (r->j.released)
        hostlist_parse(&released, r->j.released, NULL);
    for (size_t i = 0; i < al.n; i++) {
        bool given_back = hostlist_has(&released, al.node[i].node);
        if (!given_back)
            node_of_job(c, &al.node[i]);
        struct noderec *n = node_find(c, al.node[i].node);
        /* Kept, so that it is not forgotten when the next one is given back. */
        if (given_back && n) {
            struct node_hold hold = {.node = node_index(c, n), .released = true};
            vec_push(&r->hold, hold);
        }
        if (given_back)
            continue;
        struct node_hold hold = {.node = node_index(c, n),
                                 .told = job_has_script(r) &&
                                         text_is(al.node[i].node, r->j.batch_host)};
        vec_push(&r->hold, hold);
        node_job_add(c, hold.node, r->j.id);
        al.node[known++] = al.node[i];
    }
    al.n = known;
    leaving_restore(c, r, a, &al);
    hostlist_done(&released);
    int64_t end = job_limit_end(c, r);
    cluster_start(c->cluster, r->j.id, &r->j.spec.req, r->j.user_id, r->j.run_partition, &al,
                  r->j.start_us, end == INT64_MAX ? TIME_UNLIMITED : end);
    cluster_run_inside(c->cluster, r->j.id, r->j.run_reservation);
    cluster_run_het(c->cluster, r->j.id, r->j.het_job_id);
    limits_running(c, r);
    if (r->j.suspended_us) { /* its CPUs may have been lent to others, which still have them */
        cluster_suspend(c->cluster, r->j.id, true);
        cluster_suspend(c->cluster, r->j.id, false);
    }
    if (r->j.state == JOB_SUSPENDED)
        suspend_tell_planner(c, r);
    if (ending || r->j.preempt_us)
        cluster_ending(c->cluster, r->j.id, r->j.preempt_for,
                       time_add(ending || r->j.preempt_end_us < c->turn.now_us
                                    ? c->turn.now_us
                                    : r->j.preempt_end_us,
                                c->settings.kill_wait_us));
}

static bool holds_nodes(const struct jobrec *r)
{
    return r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED ||
           r->j.state == JOB_COMPLETING || r->j.state == JOB_REQUEUED;
}

/* What was due before the last moment that an earlier life is known to have seen was sent then; and
 * it saw a job that is suspended be stopped. */
static void mails_know(const struct core *c, struct jobrec *r)
{
    int64_t seen_us = r->j.state == JOB_SUSPENDED ? r->j.suspend_us : c->usage.at_us;
    for (size_t i = 0; i < LIMIT_MAILS; i++)
        if (due_mail(r, &limit_mails[i]) <= seen_us)
            r->mailed |= limit_mails[i].type;
}

/* What it waits for may be a text that cannot be read: then it is held and says why, and does not
 * start as if it had waited for nothing. */
static void dependencies_look_over(struct core *c, struct jobrec *r)
{
    ASSERT(r->j.state == JOB_PENDING);
    struct arena *a = arena_new();
    struct dependency_list list = {0};
    struct err err = {0};
    struct str why = STR_INIT;
    bool sound = !r->j.spec.dependency || dependency_parse(r->j.spec.dependency, a, &list, &err);
    if (!sound) {
        unsigned long long id = r->j.id;
        str_addf(
            &why,
            "what it waits for cannot be read from the store (%s), so it is held: `scontrol "
            "update JobId=%llu Dependency=…` says it anew, and `scontrol release %llu` lets it "
            "start without",
            err.text, id, id);
        fx_log(c, LEVEL_ERROR, "job %llu: %s", id, str_text(&why));
        text_set(c, &r->j.reason_detail, str_text(&why));
        text_set(c, &r->j.system_comment, str_text(&why));
    }
    if (!sound && !r->j.spec.hold) {
        hold_write(c, r, true);
        r->j.reason = REASON_HELD_USER;
    }
    if (!sound)
        job_save(c, r);
    str_done(&why);
    arena_free(a);
}

static void job_restore(struct core *c, struct jobrec *r, struct arena *a)
{
    if (r->j.state == JOB_PENDING)
        dependencies_look_over(c, r);
    job_restore_state(c, r);
    if (holds_nodes(r)) {
        holds_restore(c, r, a);
        steps_restore(c, r);
        if (r->j.restored)
            step_numbers_skip(r);
        /* The warning before the limit may have been sent already: better twice than never is wrong
         * for programs that save and end; once the time has passed, it was. */
        r->warned = job_warning_at(r) < job_ran_until(c, r);
        mails_know(c, r);
        gang_restore(c, r);
    } else if (r->j.state == JOB_PENDING) {
        dependencies_restore(c, r);
    }
}

void core_loaded(struct core *c, int64_t now_us, struct effects *fx)
{
    struct map_walk w = {0};
    struct arena *a = arena_new();
    c->turn.now_us = now_us;
    c->turn.fx = fx;
    ids_settle(c);
    for (size_t i = 0; i < c->part.n; i++)
        if (c->part.v[i]->changed && !cluster_put_partition(c->cluster, &c->part.v[i]->p, NULL))
            fx_log(c, LEVEL_ERROR, "partition %s names unknown nodes", c->part.v[i]->p.name);
    for (size_t i = 0; i < c->node.n; i++) {
        node_capacity(c, c->node.v[i]);
        node_plan_update(c, c->node.v[i]);
        c->node.v[i]->lost_us = now_us;
        node_watch(c, c->node.v[i]);
    }
    resvs_restore(c);
    answered_restore(c);
    clock_restore(c);
    restored_mark(c);
    if (c->store.older)
        tokens_forget(c);
    tokens_expire(c);
    hosts_described(c);
    book_twins_leave(c);
    accounts_restore(c);
    book_mend(c);
    limits_priorities(c);
    minutes_know(c);
    accrue_know(c);
    while (map_u64_next(c->jobs.by_id, &w)) {
        job_restore(c, w.value, a);
        arena_reset(a);
    }
    c->store.loaded = true;
    c->diag.start_us = c->diag.reset_us = now_us;
    usage_restore(c);
    w = (struct map_walk){0};
    while (map_u64_next(c->jobs.by_id, &w)) {
        struct jobrec *r = w.value;
        if (r->j.state == JOB_PENDING) {
            aftercorr_begin(c, r); /* some may not have been let go for want of room */
            eligible_update(c, r);
        } else if ((r->j.state == JOB_COMPLETING || r->j.state == JOB_REQUEUED) && !r->hold.n)
            node_released(c, r, UINT32_MAX);
        allocation_restored(c, r);
    }
    arena_free(a);
    crons_restore(c);
    crons_look(c);
    triggers_restore(c);
    triggers_site(c, TRIGGER_BIT(CONTROLLER_OPERATION) | TRIGGER_BIT(CONTROLLER_CONTROL) |
                         (c->store.killed ? TRIGGER_BIT(CONTROLLER_FAILURE) : 0));
    settle(c);
    cluster_firsts_set(c->cluster, c->jobs.firsts);
    rows_left_out(c);
    plan_soon(c);
    c->turn.fx = NULL;
}
