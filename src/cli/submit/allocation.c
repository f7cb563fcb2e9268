#include "cli/submit/allocation.h"

#include "base/alloc.h"
#include "base/vec.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/command_signals.h"
#include "cli/program/program.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RETRY_MS      500
#define PUT_OFF_MS    2000
#define AT_ONCE_US    INT64_C(1000000) /* --immediate without a number: never called queued */
#define SAY_QUEUED_MS 100 /* an allocation that is there at once is not called queued */

int64_t allocation_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void allocation_line_say(const char *name, const char *end, const char *format, va_list args)
{
    struct str line = STR_INIT;
    str_addf(&line, "%s: ", name);
    str_addv(&line, format, args);
    str_add(&line, end);
    fputs(str_text(&line), stderr);
    str_done(&line);
}

static void say(const struct allocation *al, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void say(const struct allocation *al, const char *format, ...)
{
    va_list args;
    if (al->quiet)
        return;
    va_start(args, format);
    allocation_line_say(al->name, "\n", format, args);
    va_end(args);
}

/* ---- the connection ---- */

void allocation_lost(struct allocation *al)
{
    client_close(al->client);
    al->client = NULL;
    al->attach_call = 0;
    al->retry_at_ms = allocation_now_ms() + RETRY_MS;
}

/* The controller is there and its store is not: what was asked is asked again in a while. */
static void put_off(struct allocation *al)
{
    allocation_lost(al);
    al->retry_at_ms = allocation_now_ms() + PUT_OFF_MS;
}

bool allocation_connected(struct allocation *al, bool *ret_again)
{
    struct err e = {0};
    *ret_again = false;
    if (al->client)
        return true;
    if (allocation_now_ms() < al->retry_at_ms)
        return false;
    al->client = client_open(al->state_dir, &e);
    struct msg_attach m = {.job_id = al->job_id, .hold = al->ours};
    if (!al->client ||
        (al->job_id && !client_send(al->client, MSG_ATTACH, &m, &al->attach_call, &e))) {
        allocation_lost(al);
        return false;
    }
    *ret_again = true;
    return true;
}

/* ---- making ---- */

/* A controller that says what it never should ends what waits for it, with a sentence. */
static void unread_say(struct allocation *al, const char *name)
{
    program_error(name, "the controller's answer cannot be read");
    al->over = true;
    al->end_state = JOB_FAILED;
}

static void jobs_take(struct allocation *al, const struct msg_allocated *m)
{
    if (!m->jobs.n) {
        unread_say(al, al->name);
        return;
    }
    struct job *copy = arena_alloc(al->a, m->jobs.n * sizeof *copy);
    for (size_t i = 0; i < m->jobs.n; i++)
        record_copy(&job_fields, &copy[i], (const struct job *)m->jobs.v + i, al->a);
    al->job = copy;
    al->njobs = m->jobs.n;
}

static bool is_store_away(const struct message *m)
{
    const struct msg_done *d = m->body;
    return m->kind == MSG_DONE && d->refusal == REFUSE_STORE;
}

/* Who was away for longer than its job had, and than the controller remembers jobs. */
static bool is_forgotten(const struct allocation *al, const struct message *m)
{
    const struct msg_done *d = m->body;
    return m->kind == MSG_DONE && al->attach_call && m->seq == al->attach_call &&
           (d->refusal == REFUSE_INVALID_JOB_ID || d->refusal == REFUSE_ALREADY_DONE);
}

bool allocation_hear(struct allocation *al, const struct message *m)
{
    if (m->kind == MSG_ALLOCATED) {
        jobs_take(al, m->body);
        return true;
    }
    if (m->kind == MSG_JOB_ENDED) {
        const struct msg_job_ended *end = m->body;
        al->over = true;
        al->end_state = (enum job_state)end->state;
        return true;
    }
    if (is_store_away(m)) {
        put_off(al);
        return true;
    }
    if (is_forgotten(al, m)) {
        al->over = true;
        al->end_state = JOB_CANCELLED;
        return true;
    }
    return false;
}

/* Sends the submission; its answer. False: refused or not to be had (said). */
static bool submitted(struct allocation *al, const struct submit_command *c,
                      const struct msg_submit *m, struct msg_submitted *ret, int *ret_status)
{
    struct err e = {0};
    struct message answer;
    *ret_status = submit_exit_error();
    for (unsigned tries = 1;; tries++) {
        if (!client_call(al->client, MSG_SUBMIT, m, 0, al->a, &answer, &e)) {
            program_error(c->name, "Unable to allocate resources: %s", e.text);
            return false;
        }
        if (!submit_is_busy(c, &answer, tries))
            break;
        sleep(tries);
    }
    if (answer.kind == MSG_DONE) {
        *ret_status = submit_refused(c, answer.body);
        return false;
    }
    if (answer.kind != MSG_SUBMITTED) {
        unread_say(al, c->name);
        return false;
    }
    *ret = *(const struct msg_submitted *)answer.body;
    if (!text_empty(ret->warning))
        say(al, "%s", ret->warning);
    return true;
}

static void cancel(struct allocation *al)
{
    struct msg_cancel m = {.ids = arena_printf(al->a, "%llu", (unsigned long long)al->job_id)};
    struct message answer;
    if (al->client)
        client_call(al->client, MSG_CANCEL, &m, 5000, al->a, &answer, NULL);
}

/* What the controller said since; false if the connection broke. */
static bool messages_take(struct allocation *al)
{
    struct message m;
    struct err e = {0};
    enum client_got got;
    while ((got = client_take(al->client, al->a, &m, &e)) == CLIENT_MESSAGE)
        if (allocation_hear(al, &m) && !al->client)
            return true;
    return got != CLIENT_LOST;
}

static bool revoked(struct allocation *al, int *ret_status)
{
    if (al->told) {
        *ret_status = al->told->over(al->told->ctx, al->job_id);
        return false;
    }
    program_error(al->name, "Job allocation %llu has been revoked", (unsigned long long)al->job_id);
    if (al->end_state != JOB_CANCELLED)
        program_error(al->name, "it ended as %s before it could start",
                      enum_name(&job_state_names, (int32_t)al->end_state));
    *ret_status = submit_exit_error();
    return false;
}

static bool given_up(struct allocation *al, int *ret_status)
{
    cancel(al);
    if (al->told) {
        *ret_status = al->told->over(al->told->ctx, al->job_id);
        return false;
    }
    program_error(al->name, "Job allocation %llu has been revoked", (unsigned long long)al->job_id);
    *ret_status = submit_exit_error();
    return false;
}

/* --immediate */
static bool too_late(struct allocation *al, int *ret_status)
{
    cancel(al);
    program_error(al->name, "Unable to allocate resources: Requested nodes are busy");
    *ret_status = submit_exit_immediate();
    return false;
}

static void wait_a_while(struct allocation *al, int64_t until_ms)
{
    struct pollfd v[2] = {{.fd = al->signal_fd, .events = POLLIN},
                          {.fd = al->client ? client_fd(al->client) : -1, .events = POLLIN}};
    int64_t ms = until_ms == INT64_MAX ? -1 : until_ms - allocation_now_ms();
    if (!al->client && (ms < 0 || ms > RETRY_MS))
        ms = RETRY_MS;
    poll(v, 2, ms < -1 ? 0 : ms > 1 << 30 ? 1 << 30 : (int)ms);
}

/* Was the command told to end? Before what the controller says is looked at: an allocation that
 * comes at the same time is not taken up. */
static bool is_told_to_end(const struct allocation *al)
{
    for (int signo; (signo = command_signal_next(al->signal_fd).signo) != 0;)
        if (signo == SIGINT || signo == SIGTERM || signo == SIGHUP || signo == SIGQUIT)
            return true;
    return false;
}

static bool runs(struct allocation *al, int64_t timeout_us, int *ret_status)
{
    int64_t begin = allocation_now_ms(),
            give_up = timeout_us ? begin + timeout_us / 1000 : INT64_MAX;
    bool said = false, again, at_once = timeout_us && timeout_us <= AT_ONCE_US;
    for (;;) {
        bool end = is_told_to_end(al);
        if (allocation_connected(al, &again) && !messages_take(al))
            allocation_lost(al);
        if (end && !al->over)
            return given_up(al, ret_status);
        if (al->job)
            break;
        if (al->over)
            return revoked(al, ret_status);
        int64_t now = allocation_now_ms();
        if (now >= give_up)
            return too_late(al, ret_status);
        if (!said && !at_once && now >= begin + SAY_QUEUED_MS) {
            say(al,
                al->name[1] == 'a' ? "Pending job allocation %llu"
                                   : "job %llu queued and waiting for resources",
                (unsigned long long)al->job_id);
            if (al->name[1] == 'a')
                say(al, "job %llu queued and waiting for resources",
                    (unsigned long long)al->job_id);
            said = true;
        }
        wait_a_while(al, said || at_once ? give_up : begin + SAY_QUEUED_MS);
    }
    if (said)
        say(al, "job %llu has been allocated resources", (unsigned long long)al->job_id);
    return true;
}

bool allocation_make(struct allocation *al, const struct submit_command *c,
                     const struct msg_submit *m, int64_t timeout_us, int *ret_status)
{
    struct msg_submitted answer;
    al->client = program_connect(al->name, al->state_dir);
    *ret_status = submit_exit_error();
    if (!al->client || !submitted(al, c, m, &answer, ret_status))
        return false;
    al->job_id = answer.job_id;
    al->ours = true;
    if (al->told)
        al->told->submitted(al->told->ctx, al->job_id);
    return runs(al, timeout_us, ret_status);
}

/* ---- finding ---- */

struct allocation_found {
    struct arena *a;
    VEC(struct job *) job;
};

static void job_add(void *ctx, const void *record)
{
    struct allocation_found *f = ctx;
    struct job *copy = arena_alloc(f->a, sizeof *copy);
    record_copy(&job_fields, copy, record, f->a);
    vec_push(&f->job, copy);
}

static bool jobs_ask(struct allocation *al, const char *ids, struct allocation_found *f,
                     struct err *e)
{
    struct msg_query q = {.what = QUERY_JOBS, .ids = ids, .states = "all", .exact = true};
    struct msg_done done = {0};
    client_keep_texts(al->client, true); /* they become the environment of tasks, and paths */
    if (!client_query(al->client, &q, &job_fields, al->a, job_add, f, &done, e))
        return false;
    if (done.refusal)
        return err_set(e, ERR_NOT_FOUND, "%s", refusal_text((enum refusal)done.refusal));
    return true;
}

static bool found_check(struct allocation *al, const struct allocation_found *f, struct err *e)
{
    if (!f->job.n)
        return err_set(e, ERR_NOT_FOUND, "Invalid job id specified");
    al->job_id = f->job.v[0]->id;
    enum job_state state = (enum job_state)f->job.v[0]->state;
    if (state == JOB_PENDING)
        return err_set(e, ERR_UNAVAILABLE, "%s", refusal_text(REFUSE_JOB_PENDING));
    if (state != JOB_RUNNING && state != JOB_SUSPENDED)
        return err_set(e, ERR_NOT_FOUND, "Job/step already completing or completed");
    struct job *copy = arena_alloc(al->a, f->job.n * sizeof *copy);
    for (size_t i = 0; i < f->job.n; i++)
        copy[i] = *f->job.v[i];
    al->job = copy;
    al->njobs = f->job.n;
    return true;
}

/* The leader's number stands for the whole job. */
static void components_add(struct allocation *al, struct allocation_found *f)
{
    const struct job *leader = f->job.v[0];
    for (uint64_t i = 1; i < COMPONENTS_MAX; i++) {
        struct allocation_found one = {.a = al->a};
        bool is_one =
            jobs_ask(al, arena_printf(al->a, "%llu", (unsigned long long)(leader->id + i)), &one,
                     NULL) &&
            one.job.n && text_is(one.job.v[0]->het_set, leader->het_set);
        if (is_one)
            vec_push(&f->job, one.job.v[0]);
        vec_done(&one.job);
        if (!is_one)
            return;
    }
}

bool allocation_find(struct allocation *al, const char *ref, struct err *ret_err)
{
    struct allocation_found f = {.a = al->a};
    bool ok = (al->client || (al->client = cluster_reach(al->state_dir, ret_err))) &&
              jobs_ask(al, ref, &f, ret_err);
    if (ok && f.job.n && !strchr(ref, '+') && f.job.v[0]->het_job_id == f.job.v[0]->id &&
        !text_empty(f.job.v[0]->het_set))
        components_add(al, &f);
    ok = ok && found_check(al, &f, ret_err);
    vec_done(&f.job);
    return ok;
}

/* ---- the end ---- */

void allocation_finish(struct allocation *al, int32_t wait_status)
{
    struct msg_finish_job m = {.job_id = al->job_id, .exit_status = wait_status};
    struct message answer;
    bool again;
    for (int tries = 0; al->ours && !al->over && al->job_id && tries < 20; tries++) {
        if (allocation_connected(al, &again) &&
            client_call(al->client, MSG_FINISH_JOB, &m, 0, al->a, &answer, NULL) &&
            !is_store_away(&answer))
            break;
        allocation_lost(al);
        if (access(state_down_path(al->state_dir, al->a), F_OK) == 0)
            break; /* stopped on purpose: an allocation that nobody holds ends when it is back */
        usleep(RETRY_MS * 1000);
    }
    client_close(al->client);
    al->client = NULL;
}
