/* From the agent's effects to what they mean on this machine. */
#include "base/alloc.h"
#include "io/clock.h"
#include "node/daemon/daemon.h"
#include "node/daemon/visit_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURN_KEEP_BYTES (256u << 10)
#define FOLLOW_BYTES    4000u /* addresses and key */

/* ---- events in ---- */

static void wake_set(struct node_daemon *d)
{
    int64_t due = agent_wake_due(d->agent);
    if (due == INT64_MAX)
        timer_stop(d->wake);
    else
        timer_set(d->wake, due - clock_now_us());
}

static void step_once(struct node_daemon *d, const struct agent_event *ev)
{
    struct agent_event timed = *ev;
    clock_both(&timed.now_us, &timed.mono_us);
    d->turns++;
    agent_step(d->agent, &timed, &d->fx);
    for (size_t i = 0; i < d->fx.n; i++)
        node_carry_out(d, &d->fx.v[i]);
    agent_effects_reset(&d->fx);
}

static void input_add(struct node_daemon *d, const struct agent_event *ev)
{
    struct node_input in = {
        .kind = ev->kind, .note = *ev->note, .ok = ev->ok, .text = xstrdup(ev->text)};
    vec_push(&d->inputs, in);
}

/* One large environment must not stay in memory for ever. */
static void turn_empty(struct node_daemon *d)
{
    if (arena_used(d->turn) <= TURN_KEEP_BYTES) {
        arena_reset(d->turn);
        return;
    }
    arena_free(d->turn);
    d->turn = arena_new();
}

void node_event(struct node_daemon *d, const struct agent_event *ev)
{
    if (d->stepping) {
        CHECK(ev->note); /* messages and timers come from the loop only, never from an effect */
        input_add(d, ev);
        return;
    }
    d->stepping = true;
    step_once(d, ev);
    for (size_t i = 0; i < d->inputs.n; i++) {
        struct node_input in = d->inputs.v[i];
        struct agent_event next = {.kind = in.kind, .note = &in.note, .ok = in.ok, .text = in.text};
        step_once(d, &next);
        free(in.text);
    }
    vec_clear(&d->inputs);
    d->stepping = false;
    turn_empty(d);
    wake_set(d);
    node_devices_find_gone(d);
}

void node_note(struct node_daemon *d, const struct note *n)
{
    struct agent_event ev = {.kind = AGENT_NOTE, .note = n};
    node_event(d, &ev);
}

/* ---- starting ---- */

static struct note ids_of(const struct msg_launch *l)
{
    const struct job *j = l->job.v;
    return (struct note){.job_id = (int64_t)j->id, .attempt = j->attempt, .step_id = l->step_id};
}

static void start_failed(struct node_daemon *d, const struct msg_launch *l, const struct err *err)
{
    struct note n = ids_of(l);
    herd_gave_up(d->herd, &n);
    n.kind = NOTE_FAILED;
    n.at_us = clock_now_us();
    n.retry = err->code != ERR_INVALID;
    snprintf(n.detail, sizeof n.detail, "%.500s", err->text);
    node_note(d, &n);
}

/* Thousands may begin in one turn, when the prolog of their job has ended: what one's plan takes is
 * gone before the next. */
static void start_as(struct node_daemon *d, const struct msg_launch *l, const struct owner *owner)
{
    struct step_plan plan;
    struct err err = {0};
    struct arena *arena = arena_new();
    d->site.welcome = agent_welcome(d->agent);
    if (launch_plan(&d->site, l, owner, arena, &plan, &err))
        herd_start(d->herd, &plan);
    else
        start_failed(d, l, &err);
    arena_free(arena);
}

/* The job of launches that wait until its owner was looked up, as the latest of them has it: its
 * texts are kept once, not with each. */
struct waiting_job {
    struct waiting_job *next;
    struct arena *arena;
    struct record_list job;
    const void *from; /* what was copied, in which turn: it is the same for all that begin in one */
    uint64_t turn;
    size_t starts;
};

struct waiting_start {
    struct node_daemon *daemon;
    struct waiting_job *job; /* NULL: the launch has several components, and keeps them */
    struct arena *arena;
    struct msg_launch launch;
};

static const struct job *job_waiting(const struct waiting_job *w)
{
    return w->job.v;
}

static struct waiting_job *waiting_job_take(struct node_daemon *d, const struct msg_launch *l)
{
    const struct job *j = l->job.v;
    struct msg_launch of_job = {.job = l->job}, copy;
    struct waiting_job *w = d->starting;
    while (w && (job_waiting(w)->id != j->id || job_waiting(w)->attempt != j->attempt))
        w = w->next;
    if (!w) {
        w = xcalloc(1, sizeof *w);
        w->next = d->starting;
        d->starting = w;
    }
    w->starts++;
    if (w->from == j && w->turn == d->turns)
        return w;
    arena_free(w->arena);
    w->arena = arena_new();
    record_copy(message_fields(MSG_LAUNCH), &copy, &of_job, w->arena);
    w->job = copy.job;
    w->from = j;
    w->turn = d->turns;
    return w;
}

static void waiting_job_leave(struct node_daemon *d, struct waiting_job *w)
{
    struct waiting_job **at = &d->starting;
    if (--w->starts > 0)
        return;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    arena_free(w->arena);
    free(w);
}

static void owner_found(void *ctx)
{
    struct waiting_start *w = ctx;
    if (w->job)
        w->launch.job = w->job->job;
    const struct job *j = w->launch.job.v;
    start_as(w->daemon, &w->launch, owners_cached(w->daemon->owners, j->user_id, j->group_id));
    if (w->job)
        waiting_job_leave(w->daemon, w->job);
    arena_free(w->arena);
    free(w);
}

static void start(struct node_daemon *d, const struct msg_launch *l)
{
    const struct job *j = l->job.v;
    const struct owner *owner = owners_recent(d->owners, j->user_id, j->group_id);
    if (owner) {
        start_as(d, l, owner);
        return;
    }
    struct waiting_start *w = xcalloc(1, sizeof *w);
    struct msg_launch own = *l;
    w->daemon = d;
    if (l->job.n == 1) {
        own.job = (struct record_list){0};
        w->job = waiting_job_take(d, l);
    }
    w->arena = arena_new();
    record_copy(message_fields(MSG_LAUNCH), &w->launch, &own, w->arena);
    const struct note ids = ids_of(l);
    herd_expect(d->herd, &ids);
    owners_ask(d->owners, j->user_id, j->group_id, owner_found, w);
}

/* ---- ending ---- */

static enum command_why why_code(const char *text)
{
    static const char *const texts[] = {
#define X(code, words) words,
        COMMAND_WHYS(X)
#undef X
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (text_is(text ? text : "", texts[i]))
            return (enum command_why)i;
    return WHY_FILE;
}

static void terminate(struct node_daemon *d, const struct agent_effect *e)
{
    int64_t wait_ms = e->kill_wait_us / 1000;
    struct step_command c = {.op = COMMAND_TERMINATE, .why = why_code(e->why), .of_job = e->of_job};
    c.kill_wait_ms = wait_ms < 0 ? 0 : wait_ms > UINT32_MAX ? UINT32_MAX : wait_ms;
    herd_command(d->herd, &e->note, &c, e->why);
}

static void signal_step(struct node_daemon *d, const struct agent_effect *e)
{
    struct step_command c = {
        .op = COMMAND_KILL, .signal = e->signal, .batch = e->batch, .of_job = e->of_job};
    herd_command(d->herd, &e->note, &c, NULL);
}

/* Where somebody listens, and the key: several may wait. No command's own are so long. */
static void follow(struct node_daemon *d, const struct agent_effect *e)
{
    struct step_command c = {.op = COMMAND_FOLLOW};
    if (e->text && e->why && strlen(e->text) + strlen(e->why) <= FOLLOW_BYTES)
        herd_command(d->herd, &e->note, &c, arena_printf(d->turn, "%s\n%s", e->text, e->why));
}

static void tell(struct node_daemon *d, const struct agent_effect *e)
{
    struct step_command c = {.op = COMMAND_TELL};
    struct str text = STR_INIT;
    if (e->streams & NOTIFY_OUTPUT)
        str_addc(&text, (char)(TELL_MARK | (e->streams & (NOTIFY_ERROR | NOTIFY_OUTPUT))));
    str_add(&text, e->text);
    herd_command(d->herd, &e->note, &c, str_text(&text));
    str_done(&text);
}

/* A step that has just been begun has not said yet what is hidden from it; where nothing is any
 * more it may have everything. */
static void look(struct node_daemon *d, const struct agent_effect *e)
{
    const struct gpu_apart apart = {e->users, e->nusers};
    const struct msg_node_welcome *w = agent_welcome(d->agent);
    bool hides = d->site.device_files && (!w || w->constrain_devices);
    gpu_watch_look(d->gpus, e->look, e->nlook, hides ? &apart : NULL);
}

/* ---- prolog and epilog ---- */

static void program_run(struct node_daemon *d, const struct agent_effect *e, bool is_epilog,
                        struct plan_bytes env)
{
    const struct msg_node_welcome *w = agent_welcome(d->agent);
    struct err err = {0};
    if (programs_run(d->programs, &e->note, is_epilog, is_epilog ? w->epilog : w->prolog, env,
                     w->prolog_timeout_us, &err))
        return;
    struct agent_event ev = {.kind = is_epilog ? AGENT_EPILOG_DONE : AGENT_PROLOG_DONE,
                             .note = &e->note,
                             .text = err.text};
    node_event(d, &ev);
}

static void prolog(struct node_daemon *d, const struct agent_effect *e)
{
    d->site.welcome = agent_welcome(d->agent);
    program_run(d, e, false,
                launch_program_env(&d->site, e->launch->job.v, "prolog_slurmd", d->turn));
}

/* With the visit, whole; of what an older release began, with its step. Empty: nothing is kept.
 * False: what is kept cannot be read. */
static bool env_kept(struct node_daemon *d, const struct note *ids, struct str *out,
                     struct err *ret_err)
{
    if (!visit_file_read(d->site.node_dir, ids, out, ret_err))
        return false;
    if (out->len == 0 && !herd_kept(d->herd, ids, out))
        str_clear(out); /* a part is worse than nothing */
    return true;
}

/* The agent knows the job of a step of its own. What was here before this daemon has kept the
 * environment. */
static bool epilog_env(struct node_daemon *d, const struct agent_effect *e, struct plan_bytes *ret,
                       struct err *ret_err)
{
    struct str kept = STR_INIT;
    bool ok = true;
    d->site.welcome = agent_welcome(d->agent);
    if (e->job)
        *ret = launch_program_env(&d->site, e->job, "epilog_slurmd", d->turn);
    else
        ok = env_kept(d, &e->note, &kept, ret_err);
    if (ok && kept.len > 0)
        *ret = (struct plan_bytes){arena_dup(d->turn, kept.data, kept.len), kept.len};
    str_done(&kept);
    return ok;
}

/* A program that does not know its job is not run: where it clears away what the job had by its
 * number, it would clear away what all have. */
static void epilog(struct node_daemon *d, const struct agent_effect *e)
{
    struct plan_bytes env = {0};
    struct err err = {0};
    bool known = epilog_env(d, e, &env, &err);
    if (env.len > 0) {
        program_run(d, e, true, env);
        return;
    }
    if (known)
        log_warning(d->log,
                    "job %lld has no epilog here: nothing of it is kept that one could be told",
                    (long long)e->note.job_id);
    struct agent_event ev = {
        .kind = AGENT_EPILOG_DONE, .note = &e->note, .ok = known, .text = err.text};
    node_event(d, &ev);
}

static void visit_keep(struct node_daemon *d, const struct agent_effect *e)
{
    struct err err = {0};
    d->site.welcome = agent_welcome(d->agent);
    if (!visit_file_write(d->site.node_dir, &e->note, e->prepared,
                          launch_program_env(&d->site, e->job, "epilog_slurmd", d->turn), &err))
        log_error(d->log, "job %lld has no Epilog if this daemon ends before it: %s",
                  (long long)e->note.job_id, err.text);
}

static void visit_ready(struct node_daemon *d, const struct agent_effect *e)
{
    struct err err = {0};
    if (!visit_file_ready(d->site.node_dir, &e->note, &err))
        log_error(d->log, "job %lld has its Prolog run again if this daemon ends before it: %s",
                  (long long)e->note.job_id, err.text);
}

/* ---- the effects ---- */

void node_carry_out(struct node_daemon *d, const struct agent_effect *e)
{
    ASSERT(d->agent);
    switch (e->kind) {
    case AGENT_SEND: link_send(d->link, &e->msg); break;
    case AGENT_PROLOG: prolog(d, e); break;
    case AGENT_START: start(d, e->launch); break;
    case AGENT_TERMINATE: terminate(d, e); break;
    case AGENT_SIGNAL: signal_step(d, e); break;
    case AGENT_FOLLOW: follow(d, e); break;
    case AGENT_CLEAR: herd_clear(d->herd, &e->note, e->uid_plus1); break;
    case AGENT_ROUSE: herd_rouse(d->herd, &e->note, e->gives_up, e->uid_plus1); break;
    case AGENT_EPILOG: epilog(d, e); break;
    case AGENT_VISIT_KEEP: visit_keep(d, e); break;
    case AGENT_VISIT_READY: visit_ready(d, e); break;
    case AGENT_VISIT_END: visit_file_remove(d->site.node_dir, &e->note); break;
    case AGENT_FORGET: herd_forget(d->herd, &e->note); break;
    case AGENT_LOOK: look(d, e); break;
    case AGENT_TELL: tell(d, e); break;
    case AGENT_FIND: node_devices_find(d, e->accepts, e->text); break;
    case AGENT_LOG:
        log_write(d->log, e->is_error ? LOG_IS_ERROR : LOG_IS_INFO, "%s", e->text);
        break;
    }
}
