/* srun --async: the step is handed to the controller with all that it runs, its number is printed,
 * and srun is done. Its output goes to files that the nodes write, always appending: its tasks may
 * share one, and a requeued job numbers its steps anew. */
#include "base/alloc.h"
#include "cli/program/program.h"
#include "cli/step/srun_parts.h"
#include "cli/step/stream_hub.h"
#include "wire/frame.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME            "srun"
#define OUTPUT_DEFAULT  "slurm-%j.%s.out"
#define RECONNECT_PAUSE 1
#define TRIES           60 /* of a controller that is away */

/* What srun itself does while a step runs, nobody does for this one. */
bool srun_async_check(const struct launch *l, struct err *e)
{
    const struct launch_options *o = &l->line.comp[0].launch;
    const struct {
        bool given;
        const char *what, *instead;
    } refused[] = {
        {l->line.ncomp > 1, "several components", "start a step for each"},
        {!o->job_id, "no allocation",
         "sbatch --wrap=COMMAND queues a job; in it, or with --jobid, srun queues a step"},
        {o->pty || o->interactive, "--pty", "a terminal needs an srun that stays"},
        {o->prolog || o->epilog, "--prolog and --epilog",
         "--task-prolog and --task-epilog run on the nodes"},
        {o->wait_given && o->wait_us, "--wait", "--time limits the step"},
        {o->kill_on_bad_exit == YES, "--kill-on-bad-exit",
         "start a step for each task, or end the step in the program"},
        {l->line.comp[0].test_only, "--test-only", "leave one of them out"},
    };
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        if (refused[i].given)
            return err_set(e, ERR_UNSUPPORTED, "--async: not supported with %s: %s",
                           refused[i].what, refused[i].instead);
    return true;
}

void srun_async_streams(const struct submit_options *o, struct msg_stream_tasks *t)
{
    t->std_in = o->spec.std_in;
    t->std_out = text_empty(o->spec.std_out)        ? OUTPUT_DEFAULT
                 : text_is(o->spec.std_out, "none") ? "/dev/null"
                                                    : o->spec.std_out;
    t->std_err = o->spec.std_err;
    t->append = true;
    t->stdin_task_plus1 = -1;
    if (text_is(t->std_in, "none") || text_is(t->std_in, "all"))
        t->std_in = NULL;
}

/* The call is repeated with the same key if the controller goes away: the step is not made
 * twice. */
static bool call(struct launch *l, const struct msg_create_step *m, struct message *answer,
                 struct err *e)
{
    for (int tries = 0; tries < TRIES; tries++) {
        if (!l->al.client)
            l->al.client = client_open(l->al.state_dir, e);
        if (l->al.client && client_call(l->al.client, MSG_CREATE_STEP, m, 0, l->line.a, answer, e))
            return true;
        if (l->al.client)
            client_close(l->al.client);
        l->al.client = NULL;
        sleep(RECONNECT_PAUSE);
    }
    return false;
}

static int refused_print(const struct msg_create_step *m, const struct msg_done *done)
{
    program_error(NAME, "Unable to create step for job %llu: %s", (unsigned long long)m->job_id,
                  refusal_text((enum refusal)done->refusal));
    if (!text_empty(done->detail))
        program_error(NAME, "%s", done->detail);
    return done->refusal == REFUSE_UNAVAILABLE ? submit_exit_immediate() : submit_exit_error();
}

/* Tasks of MPI meet through an srun that stays; those of one node need none. */
static bool mpi_check(const struct launch *l, struct err *e)
{
    const struct submit_options *o = &l->line.comp[0];
    const struct job_request *r = &o->spec.req;
    const char *nodes = l->al.job[0].nodes;
    bool alone = (nodes && !strpbrk(nodes, ",[")) || r->max_nodes == 1 || r->ntasks == 1;
    return alone || text_empty(o->launch.mpi) || text_is(o->launch.mpi, "none") ||
           err_set(e, ERR_UNSUPPORTED,
                   "--async: not supported with --mpi=%s on several nodes: its tasks meet through "
                   "an srun that stays; -N1, or leave --async out",
                   o->launch.mpi);
}

int srun_async(struct launch *l)
{
    struct msg_create_step *m = &l->step[0].create;
    struct message tasks = {.kind = MSG_STREAM_TASKS, .body = &l->step[0].tasks}, answer;
    struct str frame = STR_INIT;
    struct err e = {0};
    int status = submit_exit_error();
    if (!mpi_check(l, &e)) {
        program_error(NAME, "%s", e.text);
        return status;
    }
    wire_encode(&tasks, &frame);
    m->async = true;
    m->key = hub_key_new(l->line.a);
    m->tasks = (struct blob){frame.data, frame.len};
    if (!call(l, m, &answer, &e)) {
        program_error(NAME, "Unable to create step for job %llu: %s", (unsigned long long)m->job_id,
                      e.text);
    } else if (answer.kind == MSG_STEP_CREATED &&
               ((const struct msg_step_created *)answer.body)->step.n) {
        const struct step *s = ((const struct msg_step_created *)answer.body)->step.v;
        if (l->line.comp[0].parsable || !l->line.comp[0].quiet)
            printf("%s%llu.%lld\n", l->line.comp[0].parsable ? "" : "Submitted job step ",
                   (unsigned long long)s->job_id, (long long)s->step_id);
        status = 0;
    } else if (answer.kind == MSG_DONE) {
        status = refused_print(m, answer.body);
    }
    str_done(&frame);
    return status;
}
