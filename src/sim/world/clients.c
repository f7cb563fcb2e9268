/* What comes to a world from outside: requests of clients. */
#include "sim/world/inside.h"

#include "wire/frame.h"

#include <stdio.h>

uint64_t callers_next(const struct sim_world *w)
{
    return CLIENT + w->answer_seq + 1;
}

#define AGAIN_US (2 * USEC_PER_SEC) /* between two tries of a command whose controller is away */

void world_ask_as(struct sim_world *w, uint32_t uid)
{
    w->client_uid = uid;
}

/* One delivery of a request; false: no answer came. */
static bool deliver(struct sim_world *w, struct happening *carried)
{
    struct message read;
    w->answered = false;
    w->answered_id = 0;
    if (!w->core)
        return false;
    w->client_conn = CLIENT + w->answer_seq;
    if (world_message_read(w, carried, &read)) {
        char name[16];
        snprintf(name, sizeof name, "u%u", carried->uid);
        struct peer user = {
            .uid = carried->uid, .gid = carried->uid, .user = name, .group = name, .host = "sim"};
        controller_event(w, (struct event){.kind = EV_MESSAGE,
                                           .conn = w->client_conn,
                                           .peer = carried->uid ? &user : &world_daemon,
                                           .msg = &read});
        controller_turn_end(w);
    }
    return w->answered;
}

static bool call(struct sim_world *w, enum message_kind kind, const void *body, bool stays,
                 enum refusal *ret_refusal)
{
    struct message m = {.kind = kind, .seq = ++w->answer_seq, .body = body};
    struct happening carried = {.what = H_ASK_AGAIN, .uid = w->client_uid};
    bool again = kind == MSG_SUBMIT && !stays;
    if (kind == MSG_CANCEL)
        world_cancel_note(w, body);
    if (kind == MSG_JOB_CONTROL || kind == MSG_UPDATE_JOB)
        world_doubt_end(w);
    if (again)
        m.request = w->answer_seq;
    if (stays && w->core)
        callers_add(&w->callers, CLIENT + w->answer_seq);
    wire_encode(&m, &carried.bytes);
    bool answered = deliver(w, &carried);
    if (again && !answered)
        world_plan(w, AGAIN_US, carried);
    else
        str_done(&carried.bytes);
    if (ret_refusal)
        *ret_refusal = w->refusal;
    return answered;
}

void world_ask_again(struct sim_world *w, const struct happening *h)
{
    struct happening next = {.what = H_ASK_AGAIN, .uid = h->uid};
    ++w->answer_seq;
    str_addn(&next.bytes, h->bytes.data, h->bytes.len);
    bool answered = deliver(w, &next);
    if (answered && w->answered_id)
        map_u64_put(w->acknowledged, w->answered_id, w);
    if (answered)
        str_done(&next.bytes);
    else
        world_plan(w, AGAIN_US, next);
}

bool world_request(struct sim_world *w, enum message_kind kind, const void *body,
                   enum refusal *ret_refusal)
{
    return call(w, kind, body, false, ret_refusal);
}

void world_call(struct sim_world *w, enum message_kind kind, const void *body)
{
    call(w, kind, body, true, NULL);
}

void world_call_once(struct sim_world *w, enum message_kind kind, const void *body)
{
    call(w, kind, body, false, NULL);
}

static const char *comment_of(const struct behaviour *b, struct str *text)
{
    str_addf(text, "runs=%lld exit=%d stuck=%lld%s%s", (long long)b->runs_us, b->exit_status,
             (long long)b->stuck_us, b->stubborn ? " stubborn" : "", b->oom ? " oom" : "");
    if (b->steps)
        str_addf(text, " steps=%d each=%lld lanes=%d%s%s%s%s", b->steps, (long long)b->step_runs_us,
                 b->lanes, b->queues ? " queues" : "", b->exact ? " exact" : "",
                 b->overlap ? " overlap" : "", b->requeues ? " requeues" : "");
    return str_text(text);
}

static uint64_t submitted(struct sim_world *w, const struct msg_submit *m, bool stays,
                          enum refusal *ret_refusal)
{
    bool answered = call(w, MSG_SUBMIT, m, stays, ret_refusal);
    if (!answered || !w->answered_id)
        return 0;
    map_u64_put(w->acknowledged, w->answered_id, w);
    return w->answered_id;
}

uint64_t world_submit_het(struct sim_world *w, const struct job_spec *specs, size_t n,
                          const struct behaviour *b, enum refusal *ret_refusal)
{
    struct job_spec *copy = xcalloc(n, sizeof copy[0]);
    struct str comment = STR_INIT, line = STR_INIT;
    static const char script[] = "#!/bin/sh\n";
    comment_of(b, &comment);
    /* The number the request will have */
    str_addf(&line, "%llu", (unsigned long long)w->answer_seq + 1);
    for (size_t i = 0; i < n; i++) {
        copy[i] = specs[i];
        copy[i].comment = str_text(&comment);
        copy[i].submit_line = str_text(&line);
        copy[i].batch = true;
        if (!copy[i].work_dir)
            copy[i].work_dir = "/tmp";
    }
    struct msg_submit m = {.specs = {copy, n}, .script = {script, sizeof script - 1}};
    uint64_t id = submitted(w, &m, false, ret_refusal);
    str_done(&comment);
    str_done(&line);
    free(copy);
    return id;
}

uint64_t world_submit(struct sim_world *w, const struct job_spec *spec, const struct behaviour *b,
                      enum refusal *ret_refusal)
{
    return world_submit_het(w, spec, 1, b, ret_refusal);
}

uint64_t world_allocate(struct sim_world *w, const struct job_spec *specs, size_t n,
                        enum refusal *ret_refusal)
{
    struct job_spec copy[WORLD_COMPONENTS_MAX];
    ASSERT(n > 0 && n <= WORLD_COMPONENTS_MAX);
    for (size_t i = 0; i < n; i++) {
        copy[i] = specs[i];
        copy[i].batch = false;
        copy[i].attached = true;
        copy[i].work_dir = "/tmp";
    }
    struct msg_submit m = {.specs = {copy, n}, .attach = true};
    return submitted(w, &m, true, ret_refusal);
}

bool world_step(struct sim_world *w, const struct msg_create_step *m, const struct behaviour *b,
                enum refusal *ret_refusal)
{
    struct msg_create_step copy = *m;
    struct job_spec spec = *(const struct job_spec *)m->spec.v;
    struct str comment = STR_INIT;
    spec.comment = comment_of(b, &comment);
    copy.spec.v = &spec;
    if (copy.async)
        copy.tasks = (struct blob){"tasks", 5};
    bool answered = call(w, MSG_CREATE_STEP, &copy, !copy.async, ret_refusal);
    str_done(&comment);
    return answered;
}

void world_hang_up(struct sim_world *w, size_t n)
{
    uint64_t conn = callers_hang_up(&w->callers, n);
    if (!w->core || !conn)
        return;
    controller_event(w, (struct event){.kind = EV_CLOSED, .conn = conn});
    controller_turn_end(w);
}

size_t world_callers(const struct sim_world *w)
{
    return w->callers.v.n;
}
