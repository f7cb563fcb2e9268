/* Records of job steps: the row as it is stored, and what the machine must know of each of its
 * nodes. Usage is kept a node: the row shows the sum over nodes (largest, least and mean values
 * over all tasks); of a step on several nodes only what is final is stored, so that a restarted
 * controller can go on adding. */
#include "core/step/step.h"

#define ENDED_KEPT 128

__extension__ typedef __int128 wide;

struct steprec *step_new(struct core *c, struct jobrec *r, int64_t step_id)
{
    ASSERT(!job_waits(r) && r->j.attempt > 0 && step_id >= STEP_INTERACTIVE);
    struct steprec *st = xcalloc(1, sizeof *st);
    st->s.job_id = r->j.id;
    st->s.attempt = r->j.attempt;
    st->s.step_id = step_id;
    st->s.state = JOB_RUNNING;
    st->s.start_us = c->turn.now_us;
    st->s.suspended_before_us = r->j.suspended_us;
    vec_push(&r->step, st);
    return st;
}

/* The script has what its job holds on its own node. */
static void batch_share(struct core *c, const struct jobrec *r, struct steprec *st)
{
    struct arena *a = arena_new();
    struct alloc al = {0};
    struct str gres = STR_INIT;
    st->s.cpus = r->j.alloc_cpus;
    str_add(&gres, r->j.alloc_gres ? r->j.alloc_gres : "");
    if (r->j.alloc_nodes > 1 && r->j.alloc && alloc_parse(r->j.alloc, a, &al, NULL) && al.n) {
        al.n = 1; /* the first is the batch host */
        st->s.cpus = al.node[0].cpu_count;
        str_clear(&gres);
        alloc_gres_text(&al, &gres);
    }
    text_set(c, &st->s.gres, str_text(&gres));
    str_done(&gres);
    arena_free(a);
}

struct steprec *batch_step(struct core *c, struct jobrec *r)
{
    ASSERT(r->j.start_us);
    struct steprec *st = step_find(r, STEP_BATCH);
    if (st)
        return st;
    st = step_new(c, r, STEP_BATCH);
    st->s.node_count = 1;
    st->s.ntasks = 1;
    batch_share(c, r, st);
    st->s.start_us = r->j.start_us;
    st->s.suspended_before_us = 0;
    text_set(c, &st->s.step_name, "batch");
    text_set(c, &st->s.nodes, r->j.batch_host);
    return st;
}

size_t steps_asked_bytes(const struct core *c)
{
    struct map_walk w = {0};
    size_t bytes = 0;
    while (map_u64_next(c->jobs.by_id, &w)) {
        const struct jobrec *r = w.value;
        for (size_t i = 0; i < r->step.n; i++) {
            const struct steprec *st = r->step.v[i];
            size_t there = st->asked ? record_bytes(&msg_create_step_fields, st->asked) : 0;
            CHECK(there == st->asked_bytes);
            bytes += there;
        }
        for (size_t i = 0; i < r->wish.n; i++) {
            CHECK(record_bytes(&msg_create_step_fields, r->wish.v[i]->m) == r->wish.v[i]->bytes);
            bytes += r->wish.v[i]->bytes;
        }
        bytes += step_queue_asked_bytes(r);
    }
    return bytes;
}

static void scratch_free(struct core *c, const struct jobrec *r, struct steprec *st)
{
    user_room_asked(c, job_payer(&r->j), st->asked_bytes, -1);
    st->asked_bytes = 0;
    arena_free(st->arena);
    st->arena = NULL;
    st->layout = (struct alloc){0};
    st->asked = NULL;
}

void steprec_free(struct core *c, const struct jobrec *r, struct steprec *st)
{
    ASSERT(st->s.job_id);
    text_set(c, &st->detail, NULL);
    record_drop(c, &step_fields, &st->s);
    scratch_free(c, r, st);
    vec_done(&st->part);
    free(st);
}

void steps_drop(struct core *c, struct jobrec *r)
{
    for (size_t i = 0; i < r->step.n; i++)
        steprec_free(c, r, r->step.v[i]);
    for (size_t i = 0; i < r->wish.n; i++)
        step_wish_free(c, r, r->wish.v[i]);
    step_queue_free(c, r);
    vec_clear(&r->step);
    vec_clear(&r->wish);
    r->next_step = 0;
}

/* The batch script's stays: what it used is the job's. */
void steps_trim(struct core *c, struct jobrec *r)
{
    ASSERT(r->next_step >= 0);
    size_t ended = 0, kept = 0;
    for (size_t i = 0; i < r->step.n; i++) {
        struct steprec *st = r->step.v[i];
        ended += !step_live(st);
        if (!step_live(st))
            scratch_free(c, r, st);
    }
    for (size_t i = 0; i < r->step.n; i++) {
        struct steprec *st = r->step.v[i];
        if (ended <= ENDED_KEPT || step_live(st) || st->s.step_id == STEP_BATCH) {
            r->step.v[kept++] = st;
            continue;
        }
        ended--;
        step_queue_gone(r, &st->s);
        steprec_free(c, r, st);
    }
    r->step.n = kept;
}

/* ---- usage ---------------------------------------------------------------------------------- */

void step_usage_copy(struct step *to, const struct step *from)
{
    to->cpu_user_us = from->cpu_user_us;
    to->cpu_system_us = from->cpu_system_us;
    to->max_rss_bytes = from->max_rss_bytes;
    to->max_rss_task = from->max_rss_task;
    to->ave_rss_bytes = from->ave_rss_bytes;
    to->max_vm_bytes = from->max_vm_bytes;
    to->max_vm_task = from->max_vm_task;
    to->ave_vm_bytes = from->ave_vm_bytes;
    to->max_pages = from->max_pages;
    to->max_pages_task = from->max_pages_task;
    to->ave_pages = from->ave_pages;
    to->read_bytes = from->read_bytes;
    to->write_bytes = from->write_bytes;
    to->read_max_bytes = from->read_max_bytes;
    to->read_max_task = from->read_max_task;
    to->write_max_bytes = from->write_max_bytes;
    to->write_max_task = from->write_max_task;
    to->min_cpu_us = from->min_cpu_us;
    to->min_cpu_task = from->min_cpu_task;
    to->ave_cpu_us = from->ave_cpu_us;
    to->gpu_samples = from->gpu_samples;
    to->gpu_util_samples = from->gpu_util_samples;
    to->gpu_util_max = from->gpu_util_max;
    to->gpu_util_ave = from->gpu_util_ave;
    to->gpu_util_tot = from->gpu_util_tot;
    to->gpu_mem_max_bytes = from->gpu_mem_max_bytes;
    to->gpu_mem_ave_bytes = from->gpu_mem_ave_bytes;
    to->gpu_mem_tot_bytes = from->gpu_mem_tot_bytes;
    to->gpu_util_min = from->gpu_util_min;
    to->gpu_mem_min_bytes = from->gpu_mem_min_bytes;
    to->energy_mj = from->energy_mj;
    to->cpu_khz = from->cpu_khz;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Counters that broke, and hosts that lie, say any number: sums of them are to be numbers that a
 * row may have. */
static struct step usage_bounded(const struct step *said)
{
    struct step use = {0}; /* which has nothing but use: neither a number nor a limit of the step */
    step_usage_copy(&use, said);
    for (size_t i = 0; i < step_fields.n; i++) {
        const struct field *f = &step_fields.field[i];
        int64_t *used = f->type == FIELD_I64 || f->type == FIELD_SPAN ? field_ptr(f, &use) : NULL;
        if (used && (*used < 0 || *used > USED_MOST))
            *used = USED_MOST;
    }
    return use;
}

void step_usage_said(struct step *to, const struct step *said)
{
    const struct step was = *to, use = usage_bounded(said), *from = &use;
    step_usage_copy(to, from);
    to->energy_mj = larger(was.energy_mj, from->energy_mj);
    to->gpu_util_max = (int32_t)larger(was.gpu_util_max, from->gpu_util_max);
    to->gpu_mem_max_bytes = larger(was.gpu_mem_max_bytes, from->gpu_mem_max_bytes);
    to->gpu_mem_tot_bytes = larger(was.gpu_mem_tot_bytes, from->gpu_mem_tot_bytes);
    to->gpu_mem_min_bytes = larger(was.gpu_mem_min_bytes, from->gpu_mem_min_bytes);
    if (was.gpu_util_samples > from->gpu_util_samples) {
        to->gpu_util_samples = was.gpu_util_samples;
        to->gpu_util_ave = was.gpu_util_ave;
        to->gpu_util_tot = was.gpu_util_tot;
        to->gpu_util_min = was.gpu_util_min;
    }
    if (was.gpu_samples > from->gpu_samples) {
        to->gpu_samples = was.gpu_samples;
        to->gpu_mem_ave_bytes = was.gpu_mem_ave_bytes;
    }
}

/* The larger of both, and whose it is; with none before, b's. */
static void larger_take(int64_t *a, int32_t *task, int64_t b, int32_t b_task, bool first)
{
    if (!first && b <= *a)
        return;
    *a = b;
    *task = b_task;
}

static int64_t mean(int64_t a, int32_t an, int64_t b, int32_t bn)
{
    return an + bn > 0 ? (a / (an + bn)) * an + (b / (an + bn)) * bn +
                             (a % (an + bn) * an + b % (an + bn) * bn) / (an + bn)
                       : 0;
}

static int64_t weighed(int64_t a, int64_t an, int64_t b, int64_t bn)
{
    return an + bn > 0 ? (int64_t)(((wide)a * an + (wide)b * bn) / ((wide)an + bn)) : 0;
}

static void gpu_usage_add(struct step *a, const struct step *b)
{
    int64_t util = used_plus(a->gpu_util_tot, b->gpu_util_tot);
    a->gpu_util_ave = (int32_t)weighed(a->gpu_util_ave, a->gpu_util_samples, b->gpu_util_ave,
                                       b->gpu_util_samples);
    a->gpu_mem_ave_bytes =
        weighed(a->gpu_mem_ave_bytes, a->gpu_samples, b->gpu_mem_ave_bytes, b->gpu_samples);
    if (b->gpu_samples && (!a->gpu_samples || b->gpu_mem_min_bytes < a->gpu_mem_min_bytes))
        a->gpu_mem_min_bytes = b->gpu_mem_min_bytes;
    if (b->gpu_util_samples && (!a->gpu_util_samples || b->gpu_util_min < a->gpu_util_min))
        a->gpu_util_min = b->gpu_util_min;
    a->gpu_samples = used_plus(a->gpu_samples, b->gpu_samples);
    a->gpu_util_samples = used_plus(a->gpu_util_samples, b->gpu_util_samples);
    a->gpu_util_max = b->gpu_util_max > a->gpu_util_max ? b->gpu_util_max : a->gpu_util_max;
    a->gpu_util_tot = util < INT32_MAX ? (int32_t)util : INT32_MAX;
    a->gpu_mem_max_bytes = larger(a->gpu_mem_max_bytes, b->gpu_mem_max_bytes);
    a->gpu_mem_tot_bytes = used_plus(a->gpu_mem_tot_bytes, b->gpu_mem_tot_bytes);
}

/* Clocks count as long as the CPUs worked with them. */
static void energy_add(struct step *a, const struct step *b)
{
    int64_t a_ms = (a->cpu_user_us + a->cpu_system_us) / 1000,
            b_ms = (b->cpu_user_us + b->cpu_system_us) / 1000;
    a->energy_mj = used_plus(a->energy_mj, b->energy_mj);
    if (b->cpu_khz)
        a->cpu_khz = a->cpu_khz ? weighed(a->cpu_khz, a_ms + 1, b->cpu_khz, b_ms + 1) : b->cpu_khz;
}

/* Adds what `bn` tasks on `node` used to what `an` tasks elsewhere did. */
static void usage_add(struct step *a, int32_t an, const struct step *b, int32_t bn,
                      const char *node)
{
    energy_add(a, b);
    a->cpu_user_us = used_plus(a->cpu_user_us, b->cpu_user_us);
    a->cpu_system_us = used_plus(a->cpu_system_us, b->cpu_system_us);
    if (b->max_rss_bytes > a->max_rss_bytes || !a->max_rss_node) {
        a->max_rss_bytes = b->max_rss_bytes;
        a->max_rss_task = b->max_rss_task;
        a->max_rss_node = node;
    }
    a->ave_rss_bytes = mean(a->ave_rss_bytes, an, b->ave_rss_bytes, bn);
    larger_take(&a->max_vm_bytes, &a->max_vm_task, b->max_vm_bytes, b->max_vm_task, an == 0);
    a->ave_vm_bytes = mean(a->ave_vm_bytes, an, b->ave_vm_bytes, bn);
    larger_take(&a->max_pages, &a->max_pages_task, b->max_pages, b->max_pages_task, an == 0);
    a->ave_pages = mean(a->ave_pages, an, b->ave_pages, bn);
    a->read_bytes = used_plus(a->read_bytes, b->read_bytes);
    a->write_bytes = used_plus(a->write_bytes, b->write_bytes);
    larger_take(&a->read_max_bytes, &a->read_max_task, b->read_max_bytes, b->read_max_task,
                an == 0);
    larger_take(&a->write_max_bytes, &a->write_max_task, b->write_max_bytes, b->write_max_task,
                an == 0);
    if (an == 0 || b->min_cpu_us < a->min_cpu_us) {
        a->min_cpu_us = b->min_cpu_us;
        a->min_cpu_task = b->min_cpu_task;
    }
    a->ave_cpu_us = mean(a->ave_cpu_us, an, b->ave_cpu_us, bn);
    gpu_usage_add(a, b);
}

void step_usage_end(struct core *c, struct steprec *st, const struct steppart *part)
{
    ASSERT(part->node < c->node.n && part->tasks >= 0);
    usage_add(&st->ended_use, st->ended_tasks, &part->used, part->tasks,
              c->node.v[part->node]->n.name);
    st->ended_tasks += part->tasks;
}

static void job_usage_sum(struct jobrec *r)
{
    const struct gone_use *gone = step_queue_gone_use(r);
    r->j.cpu_user_us = gone ? gone->user_us : 0;
    r->j.cpu_system_us = gone ? gone->system_us : 0;
    r->j.energy_mj = gone ? gone->energy_mj : 0;
    for (size_t i = 0; i < r->step.n; i++) {
        const struct step *s = &r->step.v[i]->s;
        r->j.cpu_user_us = used_plus(r->j.cpu_user_us, s->cpu_user_us);
        r->j.cpu_system_us = used_plus(r->j.cpu_system_us, s->cpu_system_us);
        r->j.energy_mj = used_plus(r->j.energy_mj, s->energy_mj);
    }
}

void step_usage_sum(struct core *c, struct jobrec *r, struct steprec *st)
{
    struct step sum = st->ended_use;
    int32_t tasks = st->ended_tasks;
    for (size_t i = 0; i < st->part.n; i++) {
        const struct steppart *part = &st->part.v[i];
        if (part->over)
            continue;
        usage_add(&sum, tasks, &part->used, part->tasks, c->node.v[part->node]->n.name);
        tasks += part->tasks;
    }
    if (st->part.n) {
        step_usage_copy(&st->s, &sum);
        text_set(c, &st->s.max_rss_node, sum.max_rss_bytes ? sum.max_rss_node : NULL);
    }
    job_usage_sum(r);
}

void step_save(struct core *c, const struct steprec *st)
{
    struct step row = st->s;
    if (st->part.n > 1 && step_live(st)) {
        step_usage_copy(&row, &st->ended_use);
        row.max_rss_node = st->ended_use.max_rss_node;
    }
    fx_store(c, TABLE_STEP, &row);
}

/* ---- loading -------------------------------------------------------------------------------- */

void step_layout_parse(struct core *c, struct steprec *st)
{
    ASSERT(!st->layout.n);
    if (!st->arena)
        st->arena = arena_new();
    struct err err = {0};
    if (!st->s.layout)
        return;
    if (!alloc_parse(st->s.layout, st->arena, &st->layout, &err)) {
        fx_log(c, LEVEL_ERROR, "step %llu.%lld: its layout cannot be read: %s",
               (unsigned long long)st->s.job_id, (long long)st->s.step_id, err.text);
        return;
    }
    st->part_ordered = true;
    for (size_t i = 0; i < st->layout.n; i++) {
        const struct noderec *n = node_find(c, st->layout.node[i].node);
        if (!n)
            continue;
        st->part_ordered &= st->part.n == 0 || st->part.v[st->part.n - 1].node < n->index;
        vec_push(&st->part,
                 ((struct steppart){.node = n->index, .tasks = st->layout.node[i].tasks}));
    }
}

static void ended_mark(struct core *c, struct steprec *st)
{
    struct hostlist names = HOSTLIST_INIT;
    if (st->s.ended_nodes)
        hostlist_parse(&names, st->s.ended_nodes, NULL);
    for (size_t i = 0; i < st->part.n; i++)
        if (!step_live(st) || hostlist_has(&names, c->node.v[st->part.v[i].node]->n.name)) {
            st->part.v[i].over = true;
            st->ended_tasks += st->part.v[i].tasks;
        }
    /* Its row has what that one node said, over which it says more. */
    if (st->part.n == 1 && !st->part.v[0].over)
        step_usage_copy(&st->part.v[0].used, &st->s);
    if (names.n) {
        step_usage_copy(&st->ended_use, &st->s);
        const struct noderec *n = node_find(c, st->s.max_rss_node);
        st->ended_use.max_rss_node = n ? n->n.name : NULL;
    }
    hostlist_done(&names);
}

void step_load(struct core *c, const struct step *row)
{
    struct jobrec *r = job_find(c, row->job_id);
    if (!r || r->j.attempt != row->attempt || r->j.state == JOB_PENDING ||
        r->j.state == JOB_SPECIAL_EXIT)
        return;
    step_number_taken(r, row->step_id);
    if (row->state == JOB_PENDING) /* it waits: step_queue_load */
        return;
    struct steprec *st = xcalloc(1, sizeof *st);
    record_intern(c, &step_fields, &st->s, row);
    vec_push(&r->step, st);
    if (row->step_id == STEP_BATCH) {
        r->started = true;
        r->script_ended = row->end_us != 0;
    }
}

void step_limit_set(struct core *c, struct jobrec *r, struct steprec *st, int64_t limit_us)
{
    ASSERT(step_live(st) && (limit_us == TIME_UNLIMITED || limit_us >= 0));
    st->s.limit_us = limit_us == TIME_UNLIMITED ? 0 : limit_us;
    step_save(c, st);
    timer_arm(c, r);
}

void steps_restore(struct core *c, struct jobrec *r)
{
    bool ending = r->j.state == JOB_COMPLETING || r->j.state == JOB_REQUEUED;
    for (size_t i = 0; i < r->step.n; i++) {
        struct steprec *st = r->step.v[i];
        step_layout_parse(c, st);
        ended_mark(c, st);
        for (size_t k = 0; k < r->hold.n; k++)
            r->hold.v[k].told |= step_part(st, r->hold.v[k].node) != NULL;
        for (size_t k = 0; k < st->part.n && step_live(st); k++)
            if (!st->part.v[k].over && !hold_find(r, st->part.v[k].node))
                hold_leave_again(c, r, st->part.v[k].node);
        st->s.lonely_us = step_live(st) && st->s.step_id != STEP_BATCH && !st->s.detached
                              ? lonely_since(c, st->s.lonely_us)
                              : 0;
        if (ending && step_live(st)) {
            st->ending = st->own_end = true;
            st->end_as = JOB_CANCELLED;
        }
    }
    steps_trim(c, r);
    if (r->step.n)
        job_usage_sum(r);
}
