#include "agent_world.h"

#include "agent/inside.h"

#include <stdio.h>
#include <string.h>

struct agent *agent;
static struct agent_effects fx;
struct str said, visits_said;
char last_health[1024];
int64_t now_us;
int64_t last_from_us;
uint32_t last_uid;
char last_users[64], last_apart[64];
struct msg_node_welcome settings;
size_t effects_of[AGENT_FIND + 1];

int setup(void **state)
{
    (void)state;
    struct node self = {.name = "n1", .real_cpus = 4};
    now_us = 1000000;
    memset(effects_of, 0, sizeof effects_of);
    settings = (struct msg_node_welcome){.heartbeat_us = 20000000, .cluster_name = "c"};
    agent = agent_new(&self, 77, 100);
    agent_effects_init(&fx);
    said = visits_said = STR_INIT;
    return 0;
}

int teardown(void **state)
{
    (void)state;
    agent_check(agent);
    agent_free(agent);
    agent_effects_done(&fx);
    str_done(&said);
    str_done(&visits_said);
    return 0;
}

/* ---- effects as text ---- */

static void ids_say(const struct note *n)
{
    str_addf(&said, " %lld.%lld", (long long)n->job_id, (long long)n->attempt);
    if (n->pid)
        str_addf(&said, " pid=%lld", (long long)n->pid);
}

/* "gpu:1:unproven" of each. */
static void outs_say(const char *text)
{
    struct span rest = span_of(text ? text : ""), one;
    while (span_next(&rest, ';', &one)) {
        size_t colons = 0, len = 0;
        while (len < one.len && (colons += one.data[len] == ':') < 3)
            len++;
        if (len > 0)
            str_addf(&said, " out=%.*s", (int)len, one.data);
    }
}

static void health_keep(const char *text)
{
    if (text)
        snprintf(last_health, sizeof last_health, "%s", text);
}

static void report_say(const struct msg_report *m)
{
    str_addf(&said, " %s %llu.%u", enum_name(&report_kind_names, m->kind),
             (unsigned long long)m->job_id, m->attempt);
    if (m->seq)
        str_addf(&said, " #%llu", (unsigned long long)m->seq);
    if (m->exit_status)
        str_addf(&said, " status=%d", m->exit_status);
    str_add(&said, m->clean ? " clean" : "");
    str_add(&said, m->oom ? " oom" : "");
    str_add(&said, m->retry ? " retry" : "");
    str_add(&said, m->gone ? " gone" : "");
    str_add(&said, m->had ? " had" : "");
    if (m->detail)
        str_addf(&said, " \"%s\"", m->detail);
    const struct step *u = m->usage.n ? m->usage.v : NULL;
    if (u && u->gpu_samples)
        str_addf(&said, " gpus=%lld util=%d/%d of %lld mem=%lld/%lld", (long long)u->gpu_samples,
                 u->gpu_util_max, u->gpu_util_ave, (long long)u->gpu_util_samples,
                 (long long)(u->gpu_mem_max_bytes >> 20), (long long)(u->gpu_mem_ave_bytes >> 20));
    if (u && u->energy_mj)
        str_addf(&said, " energy=%lld", (long long)u->energy_mj);
    outs_say(m->devices_out);
    health_keep(m->device_health);
}

static void hello_say(const struct msg_node_hello *m)
{
    const struct node *n = m->node.v;
    const struct held *held = m->held.v;
    str_addf(&said, " %s pid=%lld", n->name, (long long)m->pid);
    for (size_t i = 0; i < m->held.n; i++)
        str_addf(&said, " %llu.%u%s", (unsigned long long)held[i].job_id, held[i].attempt,
                 held[i].ended     ? "(ended)"
                 : held[i].unbegun ? "(unbegun)"
                                   : "");
    outs_say(n->devices_out);
    health_keep(n->device_health);
}

static void heartbeat_say(const struct msg_heartbeat *m)
{
    str_add(&said, m->node.n ? " node" : "");
    if (m->gpu_use)
        str_addf(&said, " use=%s", m->gpu_use);
    outs_say(m->devices_out);
    health_keep(m->device_health);
}

/* "+7.1?": its visit is kept, and its prolog has yet to end; "=": it has; "-": nothing is kept. */
static bool visit_say(const struct agent_effect *e)
{
    char what = e->kind == AGENT_VISIT_KEEP    ? '+'
                : e->kind == AGENT_VISIT_READY ? '='
                : e->kind == AGENT_VISIT_END   ? '-'
                                               : '\0';
    if (!what)
        return false;
    str_addf(&visits_said, "%s%c%lld.%lld", visits_said.len ? " " : "", what,
             (long long)e->note.job_id, (long long)e->note.attempt);
    if (what == '+') {
        assert_int_equal(e->job->id, e->note.job_id);
        str_add(&visits_said, e->prepared ? "" : "?");
    }
    return true;
}

static void users_take(const struct agent_effect *e)
{
    int n = 0;
    last_users[0] = last_apart[0] = '\0';
    for (size_t i = 0; i < e->nlook; i++)
        if (e->look[i].apart)
            n += snprintf(last_apart + n, sizeof last_apart - (size_t)n, "%d ", e->look[i].index);
    n = 0;
    for (size_t i = 0; i < e->nusers; i++)
        n += snprintf(last_users + n, sizeof last_users - (size_t)n, "%u ", e->users[i]);
}

static void effect_say(const struct agent_effect *e)
{
    static const char *const names[] = {
        "send",  "prolog", "start", "terminate", "signal", "follow", "clear", "rouse", "epilog",
        "visit", "ready",  "leave", "forget",    "log",    "look",   "tell",  "find"};
    if (visit_say(e))
        return;
    if (said.len)
        str_add(&said, "; ");
    if (e->kind == AGENT_SEND) {
        str_add(&said, message_table[e->msg.kind].name);
        if (e->msg.kind == MSG_REPORT)
            report_say(e->msg.body);
        if (e->msg.kind == MSG_NODE_HELLO)
            hello_say(e->msg.body);
        if (e->msg.kind == MSG_HEARTBEAT)
            heartbeat_say(e->msg.body);
        return;
    }
    str_add(&said, names[e->kind]);
    for (size_t i = 0; i < e->nlook; i++) {
        last_from_us = e->look[i].from_us;
        last_uid = e->look[i].uid;
        str_addf(&said, " %d/%llu", e->look[i].index, (unsigned long long)e->look[i].use);
        for (uint32_t k = 0; k < e->look[i].nsteps; k++) {
            const struct look_step *s = &e->look[i].step[k];
            str_addf(&said, "(%llu.%u.", (unsigned long long)s->job_id, s->attempt);
            if (s->step_id == LOOK_ALL_STEPS)
                str_add(&said, "*)");
            else
                str_addf(&said, "%lld)", (long long)s->step_id);
        }
    }
    if (e->kind == AGENT_LOOK)
        users_take(e);
    if (e->kind == AGENT_FIND)
        str_addf(&said, "%s%s%s", e->accepts ? " all" : "", e->text ? " gone=" : "",
                 e->text ? e->text : "");
    if (e->kind == AGENT_LOOK || e->kind == AGENT_FIND)
        return;
    if (e->kind == AGENT_LOG) {
        str_addf(&said, " \"%s\"", e->text);
        return;
    }
    ids_say(&e->note);
    if (e->kind == AGENT_TELL)
        str_addf(&said, " \"%s\"", e->text);
    if (e->kind == AGENT_ROUSE && e->gives_up)
        str_add(&said, " gives_up");
    if (e->kind == AGENT_TERMINATE)
        str_addf(&said, " wait=%lld why=%s", (long long)e->kill_wait_us, e->why ? e->why : "");
    if (e->kind == AGENT_SIGNAL)
        str_addf(&said, " signal=%d%s%s", e->signal, e->batch ? " batch" : "",
                 e->of_job ? " of_job" : "");
    if (e->kind == AGENT_START || e->kind == AGENT_PROLOG) {
        const struct job *j = e->launch->job.v;
        assert_int_equal(j->id, e->note.job_id);
        assert_int_equal(e->launch->script.len, 4);
        assert_memory_equal(e->launch->script.data, "true", 4);
    }
    if (e->kind == AGENT_EPILOG)
        str_add(&said, e->job ? " job" : " kept");
}

void step(struct agent_event ev)
{
    ev.now_us = ++now_us;
    agent_step(agent, &ev, &fx);
    for (size_t i = 0; i < fx.n; i++)
        effect_say(&fx.v[i]);
    agent_effects_reset(&fx);
    agent_check(agent);
}

void step_of_many(struct agent_event ev)
{
    ev.now_us = ++now_us;
    agent_step(agent, &ev, &fx);
    for (size_t i = 0; i < fx.n; i++) {
        const struct agent_effect *e = &fx.v[i];
        effects_of[e->kind]++;
        if (e->launch)
            assert_int_equal(((const struct job *)e->launch->job.v)->id, e->note.job_id);
    }
    agent_effects_reset(&fx);
}

/* ---- events ---- */

void message(enum message_kind kind, const void *body)
{
    struct message m = {.kind = kind, .body = body};
    step((struct agent_event){.kind = AGENT_MESSAGE, .msg = &m});
}

void up(void)
{
    step((struct agent_event){.kind = AGENT_UP});
}

void down(void)
{
    step((struct agent_event){.kind = AGENT_DOWN});
}

void welcome(void)
{
    message(MSG_NODE_WELCOME, &settings);
}

void launch(uint64_t id, uint32_t attempt)
{
    struct job j = {.id = id, .attempt = attempt};
    struct msg_launch m = {.job = {&j, 1}, .step_id = STEP_BATCH, .script = {"true", 4}};
    message(MSG_LAUNCH, &m);
}

void terminate(uint64_t id, uint32_t attempt)
{
    struct msg_terminate m = {
        .job_id = id, .attempt = attempt, .kill_wait_us = 30, .why = "DUE TO TIME LIMIT"};
    message(MSG_TERMINATE, &m);
}

void ack(uint64_t seq)
{
    struct msg_report_ack m = {.seq = seq};
    message(MSG_REPORT_ACK, &m);
}

struct note ids(enum note_kind kind, int64_t id, int64_t attempt)
{
    return (struct note){
        .kind = kind, .job_id = id, .attempt = attempt, .step_id = STEP_BATCH, .pid = 1000 + id};
}

void note(struct note n)
{
    step((struct agent_event){.kind = AGENT_NOTE, .note = &n});
}

void started(int64_t id, int64_t attempt)
{
    note(ids(NOTE_STARTED, id, attempt));
}

void exited(int64_t id, int64_t attempt, int64_t status, bool clean)
{
    struct note n = ids(NOTE_EXITED, id, attempt);
    n.status = status;
    n.clean = clean;
    note(n);
}

void program_done(enum agent_event_kind kind, int64_t id, bool ok, const char *text)
{
    struct note n = ids(NOTE_STARTED, id, 1);
    step((struct agent_event){.kind = kind, .note = &n, .ok = ok, .text = text});
}

void begin(void)
{
    up();
    welcome();
    str_clear(&said);
}

int setup_gpus(void **state)
{
    struct node self = {
        .name = "n1", .real_cpus = 4, .devices = "gpu:v100:0:16000::GPU-a;gpu:v100:1:16000::GPU-b"};
    setup(state);
    agent_free(agent);
    agent = agent_new(&self, 77, 100);
    return 0;
}

void looked(int32_t index, uint64_t use, enum device_sign sign, const char *why)
{
    struct device_seen seen = {index, use, sign, why};
    step((struct agent_event){.kind = AGENT_LOOKED, .seen = &seen, .nseen = 1});
}

void both_clean(void)
{
    struct device_seen seen[] = {{0, 0, DEVICE_CLEAN, NULL}, {1, 0, DEVICE_CLEAN, NULL}};
    up();
    step((struct agent_event){.kind = AGENT_LOOKED, .seen = seen, .nseen = 2});
    welcome();
    str_clear(&said);
}

void launch_with(uint64_t id, const char *alloc)
{
    struct job j = {.id = id, .attempt = 1, .alloc = alloc};
    struct msg_launch m = {.job = {&j, 1}, .step_id = STEP_BATCH, .script = {"true", 4}};
    message(MSG_LAUNCH, &m);
}

void wait_us(int64_t us)
{
    now_us += us;
    step((struct agent_event){.kind = AGENT_WAKE});
}

void step_launch(uint64_t id, int64_t step_id, const char *alloc)
{
    struct job j = {.id = id, .attempt = 1, .alloc = alloc};
    struct step row = {.job_id = id, .step_id = step_id, .layout = alloc};
    struct msg_launch m = {
        .job = {&j, 1}, .step_id = step_id, .step = {&row, 1}, .script = {"true", 4}};
    message(MSG_LAUNCH, &m);
}

void step_note(enum note_kind kind, int64_t step_id)
{
    note((struct note){.kind = kind,
                       .job_id = 5,
                       .attempt = 1,
                       .step_id = step_id,
                       .pid = 9 + step_id,
                       .clean = kind == NOTE_EXITED});
}

void found(int64_t id)
{
    struct note n = ids(NOTE_STARTED, id, 1);
    step((struct agent_event){.kind = AGENT_FOUND, .note = &n});
}

/* ---- visits ---- */

size_t visits(void)
{
    return map_u64_count(agent->held.visit);
}

void site(const char *prolog, const char *epilog)
{
    settings.prolog = prolog;
    settings.epilog = epilog;
    begin();
}

void prolog_ends(int64_t id, uint32_t attempt, int64_t step_id, const char *why)
{
    struct note n = {.job_id = id, .attempt = attempt, .step_id = step_id};
    step((struct agent_event){
        .kind = AGENT_PROLOG_DONE, .note = &n, .ok = why == NULL, .text = why});
}

void prolog_ok(int64_t id, uint32_t attempt, int64_t step_id)
{
    prolog_ends(id, attempt, step_id, NULL);
}

void epilog_ok(int64_t id)
{
    struct note n = {.job_id = id, .attempt = 1, .step_id = STEP_EXTERN};
    step((struct agent_event){.kind = AGENT_EPILOG_DONE, .note = &n, .ok = true});
}

void visited(int64_t id, bool prepared)
{
    struct note n = {.job_id = id, .attempt = 1};
    step((struct agent_event){.kind = AGENT_VISITED, .note = &n, .ok = prepared});
}
