/* What srun and salloc do where the controller knows nothing any more of what they wait for, says
 * what it never should, or comes with a grant when they are told to end. */
#include "unit.h"

#include "base/alloc.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/program.h"
#include "cli/step/run_parts.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- a controller, and what is around the two files ---- */

#define LOST (-1) /* in place of a message: the connection breaks */

static struct message says[8];
static size_t nsays, said;
static enum message_kind answer_kind, sent;
static uint64_t seq;
static size_t cancels;
static int signo;
static char complaint[500];

static bool is_lost(const struct message *m)
{
    return (int)m->kind == LOST;
}

static void will_say(enum message_kind kind, uint64_t call, const void *body)
{
    says[nsays++] = (struct message){.kind = kind, .seq = call, .body = body};
}

enum client_got client_take(struct client *c, struct arena *a, struct message *ret, struct err *e)
{
    (void)c, (void)a, (void)e;
    if (said == nsays)
        return CLIENT_NOTHING;
    *ret = says[said++];
    return is_lost(ret) ? CLIENT_LOST : CLIENT_MESSAGE;
}

static struct client *the_client(void)
{
    static char one;
    return (struct client *)(void *)&one;
}

struct client *client_open(const char *state_dir, struct err *e)
{
    (void)state_dir, (void)e;
    return the_client();
}

struct client *program_connect(const char *command, const char *state_dir)
{
    (void)command, (void)state_dir;
    return the_client();
}

struct client *cluster_reach(const char *state_dir, struct err *e)
{
    (void)state_dir, (void)e;
    return the_client();
}

void client_close(struct client *c)
{
    (void)c;
}

int client_fd(const struct client *c)
{
    (void)c;
    return -1;
}

void client_keep_texts(struct client *c, bool exact)
{
    (void)c;
}

bool client_query(struct client *c, const struct msg_query *q, const struct fields *t,
                  struct arena *a, void (*row)(void *ctx, const void *record), void *ctx,
                  struct msg_done *ret_done, struct err *e)
{
    (void)c, (void)q, (void)t, (void)a, (void)row, (void)ctx, (void)ret_done, (void)e;
    return false;
}

bool client_send(struct client *c, enum message_kind kind, const void *body, uint64_t *ret_seq,
                 struct err *e)
{
    (void)c, (void)body, (void)e;
    sent = kind;
    seq++;
    if (ret_seq)
        *ret_seq = seq;
    return true;
}

bool client_call(struct client *c, enum message_kind kind, const void *body, int timeout_ms,
                 struct arena *a, struct message *ret, struct err *e)
{
    static const struct msg_submitted submitted = {.job_id = 7};
    static const struct msg_done done = {0};
    (void)c, (void)body, (void)timeout_ms, (void)a, (void)e;
    cancels += kind == MSG_CANCEL;
    *ret = kind == MSG_SUBMIT ? (struct message){.kind = answer_kind, .body = &submitted}
                              : (struct message){.kind = MSG_DONE, .body = &done};
    return true;
}

const char *state_down_path(const char *state_dir, struct arena *a)
{
    (void)state_dir, (void)a;
    return "/nonexistent";
}

struct command_signal command_signal_next(int fd)
{
    struct command_signal got = {.signo = signo};
    (void)fd;
    signo = 0;
    return got;
}

void program_error(const char *command, const char *format, ...)
{
    va_list args;
    (void)command;
    va_start(args, format);
    vsnprintf(complaint, sizeof complaint, format, args);
    va_end(args);
}

bool submit_is_busy(const struct submit_command *c, const struct message *answer, unsigned tries)
{
    (void)c, (void)answer, (void)tries;
    return false;
}

int submit_refused(const struct submit_command *c, const struct msg_done *done)
{
    (void)c, (void)done;
    return 3;
}

int submit_exit_error(void)
{
    return 4;
}

int submit_exit_immediate(void)
{
    return 5;
}

struct step_output *output_new(const struct output_ask *ask)
{
    (void)ask;
    return NULL;
}

void run_say(const struct srun_run *r, const char *format, ...)
{
    (void)r, (void)format;
}

void run_warn(const struct srun_run *r, const char *format, ...)
{
    (void)r, (void)format;
}

void run_tell(const struct srun_run *r, const char *format, ...)
{
    (void)r, (void)format;
}

const char *run_step_name(const struct srun_run *r, const struct one_step *s)
{
    (void)r, (void)s;
    return "7.0";
}

/* ---- an allocation ---- */

static struct arena *a;

static void world_begin(void)
{
    a = arena_new();
    nsays = said = cancels = 0;
    seq = 20;
    signo = 0;
    answer_kind = MSG_SUBMITTED;
    complaint[0] = 0;
}

static bool is_made(struct allocation *al, int *ret_status)
{
    static const struct submit_command c = {.name = "salloc"};
    static const struct msg_submit m;
    *al = (struct allocation){.name = "salloc", .a = a, .signal_fd = -1, .quiet = true};
    return allocation_make(al, &c, &m, 0, ret_status);
}

static const struct job job = {.id = 7};
static const struct msg_allocated granted = {.jobs = {(struct job *)(uintptr_t)&job, 1}};
static const struct msg_done unknown = {.refusal = REFUSE_INVALID_JOB_ID};
static const struct msg_done later = {.refusal = REFUSE_RATE_LIMITED};

/* It waited for ever, and never said that it was revoked. */
static void a_job_that_nobody_remembers_is_over(void **state)
{
    struct allocation al;
    int status;
    (void)state;
    world_begin();
    will_say((enum message_kind)LOST, 0, NULL);
    will_say(MSG_DONE, 3, &unknown); /* of another call */
    will_say(MSG_DONE, 21, &unknown);
    assert_false(is_made(&al, &status));
    assert_int_equal(sent, MSG_ATTACH);
    assert_true(al.over);
    assert_int_equal(status, 4);
    assert_non_null(strstr(complaint, "allocation 7 has been revoked"));
    arena_free(a);
}

static void who_is_told_to_end_takes_no_allocation(void **state)
{
    struct allocation al;
    int status;
    (void)state;
    world_begin();
    will_say(MSG_ALLOCATED, 1, &granted);
    assert_true(is_made(&al, &status));
    arena_free(a);
    world_begin();
    will_say(MSG_ALLOCATED, 1, &granted);
    signo = SIGINT;
    assert_false(is_made(&al, &status));
    assert_int_equal(cancels, 1);
    arena_free(a);
}

static void answers_that_are_none_end_the_wait(void **state)
{
    static const struct msg_allocated nothing = {0};
    struct allocation al;
    int status;
    (void)state;
    world_begin();
    will_say(MSG_ALLOCATED, 1, &nothing);
    assert_false(is_made(&al, &status));
    assert_int_equal(status, 4);
    arena_free(a);
    world_begin();
    answer_kind = MSG_ALLOCATED;
    assert_false(is_made(&al, &status));
    assert_int_equal(status, 4);
    assert_non_null(strstr(complaint, "cannot be read"));
    arena_free(a);
}

/* ---- steps ---- */

static struct allocation al;
static struct step_node node[2];
static struct one_step step;
static struct srun_run run;

static void step_begin(enum phase phase)
{
    static const struct step_run_ask ask;
    world_begin();
    al = (struct allocation){.name = "srun", .a = a, .client = the_client()};
    step = (struct one_step){.phase = phase, .call = 9, .node = node, .nnodes = 2};
    node[0] = node[1] = (struct step_node){.step = &step, .came = true};
    run = (struct srun_run){.ask = &ask, .al = &al, .a = a, .step = &step, .nsteps = 1};
}

static void hears(enum message_kind kind, const void *body)
{
    will_say(kind, 9, body);
    run_controller_read(&run);
}

static void a_step_that_nobody_remembers_is_over(void **state)
{
    (void)state;
    step_begin(STEP_MADE);
    hears(MSG_DONE, &later);
    assert_int_equal(step.phase, STEP_MADE);
    hears(MSG_DONE, &unknown);
    assert_int_equal(step.phase, STEP_OVER);
    assert_int_equal(step.ended_state, JOB_FAILED);
    assert_true(step.ended_at_ms > 0);
    assert_string_equal(complaint, "StepId=7.0: Invalid job id specified");
    arena_free(a);
    /* How its tasks ended is known. */
    step_begin(STEP_MADE);
    node[0].done = node[1].done = true;
    hears(MSG_DONE, &unknown);
    assert_int_equal(step.phase, STEP_OVER);
    assert_int_equal(step.ended_state, JOB_COMPLETED);
    assert_string_equal(complaint, "");
    arena_free(a);
}

static void a_step_of_none_or_of_no_tasks_is_an_error(void **state)
{
    const struct step made[] = {{.ntasks = -1}, {.ntasks = INT32_MAX}, {.ntasks = 0}, {0}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(made); i++) {
        struct msg_step_created m = {.step = {(struct step *)(uintptr_t)&made[i], i < 3}};
        step_begin(STEP_ASKED);
        hears(MSG_STEP_CREATED, &m);
        assert_true(run.refused);
        assert_non_null(strstr(complaint, "cannot be read"));
        arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_nobody_remembers_is_over),
        cmocka_unit_test(who_is_told_to_end_takes_no_allocation),
        cmocka_unit_test(answers_that_are_none_end_the_wait),
        cmocka_unit_test(a_step_that_nobody_remembers_is_over),
        cmocka_unit_test(a_step_of_none_or_of_no_tasks_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
