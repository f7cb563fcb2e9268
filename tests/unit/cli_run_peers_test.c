/* What srun does with what nodes say that lie: how much input they have room for, who meets. */
#include "unit.h"

#include "cli/program/program.h"
#include "cli/step/run_parts.h"
#include "cli/step/terminal.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what is around the two files ---- */

static size_t sent, unsent, kills, told;
static unsigned wrote; /* tasks, a bit each */

void peer_send(struct stream_peer *p, enum message_kind kind, const void *body)
{
    (void)p;
    told += kind == MSG_STREAM_MPI;
    if (kind == MSG_STREAM_DATA)
        sent += ((const struct msg_stream_data *)body)->data.len;
}

size_t peer_unsent(const struct stream_peer *p)
{
    (void)p;
    return unsent;
}

void peer_close(struct stream_peer *p)
{
    (void)p;
}

const char *hub_key_new(struct arena *a)
{
    (void)a;
    return "";
}

void output_put(struct step_output *o, enum stream_name stream, int32_t task, const void *data,
                size_t len, bool end)
{
    (void)o, (void)stream, (void)data, (void)len, (void)end;
    wrote |= 1u << task;
}

void run_tell(const struct srun_run *r, const char *format, ...)
{
    (void)r, (void)format;
}

const char *run_step_name(const struct srun_run *r, const struct one_step *s)
{
    (void)r, (void)s;
    return "1.0";
}

void run_each_node(struct srun_run *r, node_fn fn, void *arg)
{
    for (size_t i = 0; i < r->step[0].nnodes; i++)
        fn(r, &r->step[0].node[i], arg);
}

void run_kill(struct srun_run *r, const char *why, bool gently)
{
    (void)why, (void)gently;
    kills++;
    r->killed = true;
}

void run_aborted_say(struct srun_run *r)
{
    (void)r;
}

int64_t allocation_now_ms(void)
{
    return 1;
}

void program_error(const char *command, const char *format, ...)
{
    (void)command, (void)format;
}

void terminal_size(int32_t *ret_rows, int32_t *ret_columns)
{
    (void)ret_rows, (void)ret_columns;
}

bool terminal_may_read(void)
{
    return true;
}

/* ---- a step of two nodes ---- */

struct world {
    struct allocation al;
    struct step_run_ask ask;
    struct step_node node[2];
    struct one_step step;
    struct step_output *output;
    struct srun_run run;
};

static void world_begin(struct world *w)
{
    static struct alloc_node nodes[] = {{.node = "n1", .task_ids = "0-1"},
                                        {.node = "n2", .task_ids = "2-3"}};
    *w = (struct world){.al = {.name = "srun"}};
    w->ask = (struct step_run_ask){.in_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC), .in_task = -1};
    w->step = (struct one_step){.node = w->node, .nnodes = 2};
    w->step.tasks = tasks_new(&(struct alloc){.node = nodes, .n = 2}, 4, 0);
    for (size_t i = 0; i < 2; i++)
        w->node[i] = (struct step_node){.step = &w->step,
                                        .name = nodes[i].node,
                                        .task_ids = nodes[i].task_ids,
                                        .peer = (struct stream_peer *)&w->node[i],
                                        .came = true};
    w->run = (struct srun_run){.ask = &w->ask,
                               .al = &w->al,
                               .output = &w->output,
                               .step = &w->step,
                               .nsteps = 1,
                               .ntasks = 4};
    sent = unsent = kills = told = wrote = 0;
}

static void world_end(struct world *w)
{
    run_mpi_done(&w->run);
    tasks_free(w->step.tasks);
    close(w->ask.in_fd);
}

static void says(struct world *w, size_t node, enum message_kind kind, const void *body)
{
    const struct message m = {.kind = kind, .body = body};
    run_hub_ops.message(&w->run, &w->node[node], w->node[node].peer, &m);
}

static void has_room(struct world *w, size_t node, int64_t bytes)
{
    says(w, node, MSG_STREAM_CREDIT, &(struct msg_stream_credit){.bytes = bytes});
}

static void room_beyond_numbers_is_much_room(void **state)
{
    struct world w;
    (void)state;
    world_begin(&w);
    for (size_t i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            has_room(&w, i, INT64_MAX);
    assert_true(run_input_wanted(&w.run));
    run_input_read(&w.run);
    assert_true(sent > 0);
    world_end(&w);
}

/* Who asks for all of it and takes nothing: it would all be in srun's memory. */
static void what_a_node_does_not_take_is_not_read(void **state)
{
    struct world w;
    (void)state;
    world_begin(&w);
    has_room(&w, 0, INT64_MAX);
    has_room(&w, 1, INT64_MAX);
    while (run_input_wanted(&w.run) && sent < (1u << 30)) {
        run_input_read(&w.run);
        unsent = sent / 2;
    }
    assert_true(sent < (64u << 20));
    unsent = 0;
    assert_true(run_input_wanted(&w.run));
    world_end(&w);
}

static void input_has_so_many_bytes(void **state)
{
    struct world w;
    const int64_t bytes = 100000;
    (void)state;
    world_begin(&w);
    w.ask.in_bytes = &bytes;
    has_room(&w, 0, INT64_MAX);
    has_room(&w, 1, INT64_MAX);
    for (int i = 0; i < 10 && run_input_wanted(&w.run); i++)
        run_input_read(&w.run);
    assert_int_equal(sent, 2 * bytes);
    assert_true(w.run.input_over);
    world_end(&w);
}

static void meet(struct world *w, size_t node, const char *ranks)
{
    says(w, node, MSG_STREAM_MPI, &(struct msg_stream_mpi){.op = MPI_MEET, .ranks = ranks});
}

static void meetings_are_bounded(void **state)
{
    struct world w;
    char ranks[32];
    (void)state;
    world_begin(&w);
    meet(&w, 0, "0,2");
    meet(&w, 1, "0,2");
    assert_int_equal(kills, 0);
    for (int i = 0; i < 20000; i++) {
        snprintf(ranks, sizeof ranks, "0-3,%d", 10 + i);
        meet(&w, 0, ranks);
    }
    assert_int_equal(kills, 1);
    assert_true(w.run.nmeetings < 5000);
    world_end(&w);
}

static void names_of_who_meets_are_bounded(void **state)
{
    struct world w;
    const size_t len = 8u << 20;
    char *ranks = malloc(len + 1);
    (void)state;
    world_begin(&w);
    memset(ranks, '0', len);
    ranks[len] = '\0';
    for (int i = 0; i < 20; i++) {
        ranks[0] = (char)('a' + i); /* no numbers: all meet */
        meet(&w, 0, ranks);
    }
    assert_int_equal(kills, 1);
    assert_true(w.run.nmeetings <= 8);
    free(ranks);
    world_end(&w);
}

static void asks(struct world *w, size_t node, int32_t rank)
{
    says(w, node, MSG_STREAM_MPI, &(struct msg_stream_mpi){.op = MPI_ASK, .rank = rank});
}

static void who_asks_and_does_not_read_ends_the_step(void **state)
{
    struct world w;
    (void)state;
    world_begin(&w);
    asks(&w, 0, 2);  /* the other node is asked */
    asks(&w, 0, 99); /* nobody has it */
    assert_int_equal(told, 2);
    unsent = 1u << 30;
    for (int i = 0; i < 3; i++) {
        asks(&w, 0, 2);
        asks(&w, 0, 99);
        says(&w, 1, MSG_STREAM_MPI,
             &(struct msg_stream_mpi){.op = MPI_ANSWER, .rank = 2, .text = "0"});
    }
    assert_int_equal(told, 2);
    assert_int_equal(kills, 1);
    world_end(&w);
}

static void nobody_writes_in_anothers_name(void **state)
{
    struct world w;
    (void)state;
    world_begin(&w);
    for (int32_t task = 0; task < 6; task++)
        says(&w, 1, MSG_STREAM_DATA,
             &(struct msg_stream_data){
                 .stream = STREAM_OUT, .task_plus1 = task, .data = {"x\n", 2}});
    assert_int_equal(wrote, 1u << 2 | 1u << 3);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(room_beyond_numbers_is_much_room),
        cmocka_unit_test(what_a_node_does_not_take_is_not_read),
        cmocka_unit_test(input_has_so_many_bytes),
        cmocka_unit_test(meetings_are_bounded),
        cmocka_unit_test(names_of_who_meets_are_bounded),
        cmocka_unit_test(nobody_writes_in_anothers_name),
        cmocka_unit_test(who_asks_and_does_not_read_ends_the_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
