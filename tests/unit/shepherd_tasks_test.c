/* Steps with tasks: real shepherds and processes, and a fake srun at the other end of the
 * stream. */
#include "unit.h"

#include "shepherd_world.h"

#include "base/str.h"
#include "cli/step/stream_hub.h"
#include "node/step/dir.h"
#include "node/step/multi_prog.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TASKS_MAX 8
#define WAIT_MS   15000

/* ---- a srun that writes down what it hears ---- */

struct fake_srun {
    struct stream_hub *hub;
    struct arena *arena;
    const char *key;
    struct msg_stream_tasks tasks;
    struct str out[TASKS_MAX], err[TASKS_MAX], notices;
    int32_t status[TASKS_MAX];
    bool ended[TASKS_MAX], out_end[TASKS_MAX];
    struct stream_peer *peer;
    int64_t credit, bytes;
    int started;
    bool done, gone, keep; /* keep: output is kept, not counted alone */
};

static struct herd_world world;
static struct fake_srun srun;

static void *hello(void *ctx, struct stream_peer *p, const struct msg_stream_hello *m)
{
    struct fake_srun *f = ctx;
    size_t half = strlen(f->key) / 2;
    assert_int_equal(strlen(m->key), half);
    assert_memory_equal(m->key, f->key, half);
    assert_string_equal(m->node, "n1");
    f->peer = p;
    f->tasks.proof = f->key + half;
    peer_send(p, MSG_STREAM_TASKS, &f->tasks);
    return f;
}

static int numbers_in(const char *text)
{
    int n = *text ? 1 : 0;
    for (; *text; text++)
        n += *text == ',';
    return n;
}

static void message(void *ctx, void *peer_ctx, struct stream_peer *p, const struct message *m)
{
    struct fake_srun *f = ctx;
    (void)peer_ctx;
    if (m->kind == MSG_STREAM_STARTED) {
        f->started = numbers_in(((const struct msg_stream_started *)m->body)->pids);
    } else if (m->kind == MSG_STREAM_DATA) {
        const struct msg_stream_data *d = m->body;
        int task = d->task_plus1 - 1;
        assert_in_range(task, 0, TASKS_MAX - 1);
        f->bytes += (int64_t)d->data.len;
        if (f->keep)
            str_addn(d->stream == STREAM_ERR ? &f->err[task] : &f->out[task], d->data.data,
                     d->data.len);
        if (d->stream == STREAM_OUT)
            f->out_end[task] |= d->end;
    } else if (m->kind == MSG_STREAM_CREDIT) {
        f->credit += ((const struct msg_stream_credit *)m->body)->bytes;
    } else if (m->kind == MSG_STREAM_EXIT) {
        const struct msg_stream_exit *e = m->body;
        for (int i = 0; i < TASKS_MAX; i++) {
            char number[8];
            snprintf(number, sizeof number, "%d", i);
            const char *at = strstr(e->tasks, number);
            const char *dash = strchr(e->tasks, '-');
            bool in = at || (dash && i >= atoi(e->tasks) && i <= atoi(dash + 1));
            if (in && !f->ended[i]) {
                f->ended[i] = true;
                f->status[i] = e->exit_status;
            }
        }
    } else if (m->kind == MSG_STREAM_NOTICE) {
        str_addf(&f->notices, "%s\n", ((const struct msg_stream_notice *)m->body)->text);
    } else if (m->kind == MSG_STREAM_DONE) {
        f->done = true;
        peer_close(p);
    }
}

static void gone(void *ctx, void *peer_ctx, struct stream_peer *p)
{
    struct fake_srun *f = ctx;
    (void)peer_ctx;
    (void)p;
    f->gone = true;
    f->peer = NULL;
}

static const struct hub_ops ops = {hello, message, gone};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void turn(int ms, bool paused)
{
    struct pollfd v[64];
    size_t n = hub_wait_for(srun.hub, v, paused);
    poll(v, n, ms);
    hub_serve(srun.hub, v, n);
}

/* Serves until the condition holds; fails after WAIT_MS. */
// clang-format off
#define UNTIL(condition)                                                                                     \
    do {                                                                                                     \
        for (int64_t end = now_ms() + WAIT_MS; !(condition);) {                                              \
            turn(50, false);                                                                                 \
            assert_true(now_ms() < end);                                                                     \
        }                                                                                                    \
    } while (0)
// clang-format on

static int setup(void **state)
{
    struct err e = {0};
    (void)state;
    world_begin(&world);
    memset(&srun, 0, sizeof srun);
    srun.arena = arena_new();
    srun.key = hub_key_new(srun.arena);
    srun.keep = true;
    srun.hub = hub_new(true, NULL, NULL, &ops, &srun, &e);
    assert_non_null(srun.hub);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    hub_free(srun.hub);
    for (int i = 0; i < TASKS_MAX; i++) {
        str_done(&srun.out[i]);
        str_done(&srun.err[i]);
    }
    str_done(&srun.notices);
    arena_free(srun.arena);
    world_end(&world);
    return 0;
}

/* The step 7.0 with those tasks ("0 - - -\n…"), each running sh -c command. */
static void launch_with(const char *rows, const char *command, const char *address, bool pty)
{
    static char name[64];
    static const char env[] = "SLURM_NODEID=0\0SLURM_NTASKS=2";
    struct step_plan p = world_plan(&world, 7, "");
    struct str dir = STR_INIT, args = STR_INIT;
    step_dir_name(7, 1, 0, &dir);
    snprintf(name, sizeof name, "%s", str_text(&dir));
    str_addn(&args, "sh\0-c", 6);
    str_addn(&args, command, strlen(command) + 1);
    srun.tasks.args = (struct blob){arena_dup(srun.arena, args.data, args.len), args.len};
    srun.tasks.env = (struct blob){"PATH=/usr/bin:/bin\0RANK_IS=mine\0SLURM_NTASKS=99", 48};
    srun.tasks.work_dir = world.dir;
    p.step_id = 0;
    p.dir_name = name;
    p.address = address;
    p.key = srun.key;
    p.tasks = rows;
    p.world = 2;
    p.rendezvous = 1;
    p.master_addr = "n1";
    p.master_port = "20001";
    p.kill_wait_us = 500000;
    p.pty = pty;
    p.std_out = NULL;
    p.script = (struct plan_bytes){0};
    p.env = (struct plan_bytes){env, sizeof env};
    world_send(&world, &p);
    str_done(&dir);
    str_done(&args);
}

#define TWO "0 - - -\n1 - - -\n"

static void launch(const char *rows, const char *command)
{
    launch_with(rows, command, hub_address(srun.hub), false);
}

/* ---- the tests ---- */

static void test_tasks_run_with_their_numbers(void **state)
{
    (void)state;
    launch(TWO,
           "echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NTASKS $RANK $WORLD_SIZE $LOCAL_WORLD_SIZE "
           "$MASTER_ADDR:$MASTER_PORT $RANK_IS; echo oops >&2; exit $SLURM_PROCID");
    UNTIL(srun.done);
    assert_int_equal(srun.started, 2);
    assert_string_equal(str_text(&srun.out[0]), "0 0 2 0 2 2 n1:20001 mine\n");
    assert_string_equal(str_text(&srun.out[1]), "1 1 2 1 2 2 n1:20001 mine\n");
    assert_string_equal(str_text(&srun.err[1]), "oops\n");
    assert_int_equal(srun.status[0], 0);
    assert_int_equal(srun.status[1], 1 << 8);
    struct note end = world_wait(&world, NOTE_EXITED);
    assert_int_equal(end.step_id, 0);
    assert_int_equal(end.status, 1 << 8);
    assert_true(end.clean);
}

static void test_over_tcp(void **state)
{
    (void)state;
    const char *tcp = strchr(hub_address(srun.hub), ' ');
    assert_non_null(tcp);
    launch_with("0 - - -\n", "echo far", tcp + 1, false);
    UNTIL(srun.done);
    assert_string_equal(str_text(&srun.out[0]), "far\n");
}

static void test_a_program_that_is_not_there(void **state)
{
    (void)state;
    launch("0 - - -\n", "exec /no/such/program");
    UNTIL(srun.done);
    assert_int_equal(srun.status[0], 127 << 8);
    srun.done = false;
}

static void input_send(const char *text, bool end)
{
    struct msg_stream_data m = {.stream = STREAM_IN, .data = {text, strlen(text)}, .end = end};
    peer_send(srun.peer, MSG_STREAM_DATA, &m);
}

static void test_input_goes_to_all(void **state)
{
    (void)state;
    launch(TWO, "tr a-z A-Z");
    UNTIL(srun.credit > 0);
    input_send("hello ", false);
    input_send("world", true);
    UNTIL(srun.done);
    assert_string_equal(str_text(&srun.out[0]), "HELLO WORLD");
    assert_string_equal(str_text(&srun.out[1]), "HELLO WORLD");
}

static void test_input_goes_to_one(void **state)
{
    (void)state;
    srun.tasks.stdin_task_plus1 = 2;
    launch(TWO, "cat");
    UNTIL(srun.credit > 0);
    input_send("mine", true);
    UNTIL(srun.done);
    assert_string_equal(str_text(&srun.out[0]), "");
    assert_string_equal(str_text(&srun.out[1]), "mine");
}

/* A gigabyte would take long here under the sanitizers; what matters is that more than all buffers
 * together passes, whole, with a reader that pauses. */
static void test_much_output_with_a_slow_reader(void **state)
{
    int64_t wanted = INT64_C(64) << 20, before;
    (void)state;
    srun.keep = false;
    launch("0 - - -\n", "head -c 67108864 /dev/zero");
    UNTIL(srun.bytes > 0);
    before = srun.bytes;
    for (int i = 0; i < 5; i++)
        turn(100, true); /* it does not read: the task waits, nothing is lost */
    assert_true(srun.bytes == before);
    assert_false(srun.ended[0]);
    UNTIL(srun.done);
    assert_true(srun.bytes == wanted);
    assert_int_equal(srun.status[0], 0);
}

static void test_credit_comes_back_as_input_is_read(void **state)
{
    char piece[4097];
    int64_t sent = 0, wanted = 2 << 20;
    (void)state;
    memset(piece, 'x', sizeof piece - 1);
    piece[sizeof piece - 1] = '\0';
    launch("0 - - -\n", "wc -c");
    UNTIL(srun.credit > 0);
    while (sent < wanted) {
        UNTIL(srun.credit >= 4096);
        input_send(piece, false);
        srun.credit -= 4096;
        sent += 4096;
    }
    input_send("", true);
    UNTIL(srun.done);
    assert_int_equal(atoll(str_text(&srun.out[0])), wanted);
}

static void test_a_signal_reaches_all(void **state)
{
    struct msg_stream_signal m = {.signal = SIGUSR1};
    (void)state;
    launch(TWO, "trap 'echo got; exit 4' USR1; echo ready; while :; do sleep 0.05; done");
    UNTIL(srun.out[0].len && srun.out[1].len);
    peer_send(srun.peer, MSG_STREAM_SIGNAL, &m);
    UNTIL(srun.done);
    assert_int_equal(srun.status[0], 4 << 8);
    assert_int_equal(srun.status[1], 4 << 8);
}

static void test_without_its_command_a_step_ends(void **state)
{
    (void)state;
    launch(TWO, "echo ready; sleep 1000");
    UNTIL(srun.out[0].len && srun.out[1].len);
    hub_free(srun.hub);
    struct err e = {0};
    srun.hub = hub_new(false, NULL, NULL, &ops, &srun, &e);
    struct note end = world_wait(&world, NOTE_EXITED);
    assert_true(end.status == SIGTERM || end.status == SIGKILL);
}

static void test_nobody_there(void **state)
{
    (void)state;
    launch_with("0 - - -\n", "true", "@no-such-command-anywhere", false);
    struct note failed = world_wait(&world, NOTE_FAILED);
    assert_non_null(strstr(failed.detail, "cannot reach the command"));
}

/* Whoever took over the address does not know the second half of the secret: nothing runs. */
static void test_an_impostor_runs_nothing(void **state)
{
    char *wrong = arena_strdup(srun.arena, srun.key);
    (void)state;
    launch("0 - - -\n", "touch ran; echo ran");
    wrong[HUB_KEY_CHARS - 1] = wrong[HUB_KEY_CHARS - 1] == 'a' ? 'b' : 'a';
    srun.key = wrong;
    UNTIL(srun.gone);
    world_wait(&world, NOTE_EXITED);
    char path[128];
    snprintf(path, sizeof path, "%s/ran", world.dir);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(srun.started, 0);
}

static void test_terminal(void **state)
{
    (void)state;
    srun.tasks.rows = 41;
    srun.tasks.columns = 97;
    srun.tasks.term = "vt100";
    launch_with("0 - - -\n1 - - -\n",
                "[ -t 0 ] && [ -t 1 ] && stty size && tty && echo $TERM; [ $SLURM_PROCID = 1 ] && "
                "! [ -t 0 ] "
                "&& exit 5",
                hub_address(srun.hub), true);
    UNTIL(srun.done);
    assert_non_null(strstr(str_text(&srun.out[0]), "41 97\r\n/dev/pts/"));
    assert_non_null(strstr(str_text(&srun.out[0]), "vt100\r\n"));
    assert_int_equal(srun.status[1], 5 << 8);
}

static void test_files_on_the_node(void **state)
{
    char path[128];
    (void)state;
    srun.tasks.std_out = "out_%j_%s_%n_%t";
    launch(TWO, "echo task $SLURM_PROCID; echo bad >&2");
    UNTIL(srun.done);
    snprintf(path, sizeof path, "%s/out_7_0_0_1", world.dir);
    assert_string_equal(world_file(path), "task 1\nbad\n");
    assert_int_equal(srun.bytes, 0);
}

static void test_another_program_for_each(void **state)
{
    static const char text[] = "# programs\n0 echo first %t %o\n* sh -c \"echo rest %t '%t'\"\n";
    (void)state;
    launch(TWO, "unused");
    srun.tasks.multi_prog = (struct blob){text, sizeof text - 1};
    srun.tasks.args = (struct blob){"more", sizeof "more"};
    UNTIL(srun.done);
    assert_string_equal(str_text(&srun.out[0]), "first 0 0 more\n");
    assert_string_equal(str_text(&srun.out[1]), "rest 1 1\n");
}

/* A list that was cut at 256 bytes had other tasks, who ran another line's program, or none. */
static void test_long_lists_name_their_tasks(void **state)
{
    (void)state;
    for (int step = 2; step < 7; step++) {
        struct str text = STR_INIT, wanted = STR_INIT, words = STR_INIT;
        for (int line = 0; line < step; line++) {
            for (int i = line; i < 3000; i += step)
                str_addf(&text, "%s%d", i > line ? "," : "", i);
            str_addf(&text, " ./line%d %%o\n", line);
        }
        for (int task = 0; task < 3000; task++) {
            str_clear(&words);
            str_clear(&wanted);
            assert_true(multi_prog_words((struct span){text.data, text.len}, task, &words));
            str_addf(&wanted, "./line%d%c%d%c", task % step, 0, task / step, 0);
            assert_int_equal(words.len, wanted.len);
            assert_memory_equal(words.data, wanted.data, words.len);
        }
        str_done(&text);
        str_done(&wanted);
        str_done(&words);
    }
}

static void test_task_prolog_and_epilog(void **state)
{
    char prolog[128], epilog[128], mark[128];
    (void)state;
    snprintf(prolog, sizeof prolog, "%s/prolog", world.dir);
    snprintf(epilog, sizeof epilog, "%s/epilog", world.dir);
    snprintf(mark, sizeof mark, "%s/after", world.dir);
    FILE *f = fopen(prolog, "w");
    fputs("#!/bin/sh\necho export COLOUR=green\necho print hello from the prolog\necho unset "
          "RANK_IS\n",
          f);
    fclose(f);
    f = fopen(epilog, "w");
    fprintf(f, "#!/bin/sh\necho done > %s\n", mark);
    fclose(f);
    chmod(prolog, 0755);
    chmod(epilog, 0755);
    srun.tasks.task_prolog = prolog;
    srun.tasks.task_epilog = epilog;
    launch("0 - - -\n", "echo $COLOUR-$RANK_IS-; exit 6");
    UNTIL(srun.done);
    assert_string_equal(str_text(&srun.out[0]), "hello from the prolog\ngreen--\n");
    assert_int_equal(srun.status[0], 6 << 8);
    assert_string_equal(world_file(mark), "done\n");
}

static void test_what_daemonised_is_killed(void **state)
{
    (void)state;
    launch("0 - - -\n", "setsid sleep 1000 >/dev/null 2>&1 & echo $!");
    UNTIL(srun.done);
    assert_true(atoi(str_text(&srun.out[0])) > 0);
    assert_int_not_equal(kill(atoi(str_text(&srun.out[0])), 0), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(tasks_run_with_their_numbers),
        TEST(over_tcp),
        TEST(a_program_that_is_not_there),
        TEST(input_goes_to_all),
        TEST(input_goes_to_one),
        TEST(much_output_with_a_slow_reader),
        TEST(credit_comes_back_as_input_is_read),
        TEST(a_signal_reaches_all),
        TEST(without_its_command_a_step_ends),
        TEST(nobody_there),
        TEST(an_impostor_runs_nothing),
        TEST(terminal),
        TEST(files_on_the_node),
        TEST(another_program_for_each),
        TEST(long_lists_name_their_tasks),
        TEST(task_prolog_and_epilog),
        TEST(what_daemonised_is_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
