/* What the owner of a step can say to its shepherd without end, and what processes of his can do
 * without end: the step ends when it is told to all the same, and its shepherd stays small. */
#include "shepherd_owner_help.h"

#include "base/alloc.h"
#include "wire/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <sys/wait.h>

#define PIECE_BYTES (1u << 20)
#define END_MS      8000
#define SMALL_KIB   (16 << 10)
#define FLOOD_S     20 /* whatever becomes of the step */
#define WRITERS     8
#define LONG_BYTES  (40u << 20)

static pid_t flooding;
static struct str piece; /* what it sends again and again */
static int64_t flood_most;

/* Fills it with as many of these as it holds. */
static void piece_fill(enum message_kind kind, const void *body)
{
    str_clear(&piece);
    while (piece.len < PIECE_BYTES)
        wire_encode(&(struct message){.kind = kind, .body = body}, &piece);
}

/* Sends the piece until it is killed, and reads nothing. */
static void flood_start(int fd)
{
    flooding = fork();
    if (flooding != 0)
        return;
    fcntl(fd, F_SETFL, 0);
    for (int64_t n = 0; n < flood_most; n++)
        for (size_t at = 0; at < piece.len;) {
            ssize_t sent = send(fd, piece.data + at, piece.len - at, MSG_NOSIGNAL);
            if (sent <= 0)
                _exit(0);
            at += (size_t)sent;
        }
    pause();
    _exit(0);
}

static int stream_fd;
static pid_t stream_pid; /* the shepherd */

static void stream_keep(int fd, pid_t pid)
{
    stream_fd = fd;
    stream_pid = pid;
}

static int floods_setup(void **state)
{
    flooding = 0;
    flood_most = INT64_MAX;
    setup(state);
    on_hello = stream_keep;
    return 0;
}

static int floods_teardown(void **state)
{
    if (flooding > 0) {
        kill(flooding, SIGKILL);
        waitpid(flooding, NULL, 0);
    }
    str_done(&piece);
    return teardown(state);
}

static void ends_in_time(pid_t shepherd)
{
    int64_t began = now_ms();
    world_command(&world, shepherd,
                  &(struct step_command){.op = COMMAND_TERMINATE, .kill_wait_ms = 100});
    world_wait(&world, NOTE_EXITED);
    assert_true(now_ms() - began < END_MS);
}

static long status_kib(pid_t pid, const char *which)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    const char *line = strstr(world_file(path), which);
    return line ? strtol(line + strlen(which), NULL, 10) : 0;
}

static long resident_kib(pid_t pid)
{
    return status_kib(pid, "VmRSS:");
}

/* ---- what is said ---- */

static void test_signals_without_end_do_not_keep_a_step(void **state)
{
    (void)state;
    struct msg_stream_signal winch = {.signal = SIGWINCH};
    launch("for i in $(seq 200); do sleep 1000 & done; wait");
    until(&started);
    pid_t shepherd = (pid_t)world_wait(&world, NOTE_STARTED).pid;
    piece_fill(MSG_STREAM_SIGNAL, &winch);
    flood_start(stream_fd);
    usleep(500000);
    ends_in_time(shepherd);
}

static int nice_of(pid_t pid)
{
    errno = 0;
    int value = getpriority(PRIO_PROCESS, (id_t)pid);
    assert_int_equal(errno, 0);
    return value;
}

/* Its time is nobody's, and may be that of another job. */
static void test_a_shepherd_that_is_kept_busy_gives_way_until_the_end(void **state)
{
    (void)state;
    struct msg_stream_signal winch = {.signal = SIGWINCH};
    launch("for i in $(seq 50); do sleep 1000 & done; wait");
    until(&started);
    pid_t shepherd = (pid_t)world_wait(&world, NOTE_STARTED).pid;
    int before = nice_of(shepherd);
    piece_fill(MSG_STREAM_SIGNAL, &winch);
    flood_start(stream_fd);
    for (int i = 0; i < 600 && nice_of(shepherd) == before; i++)
        usleep(100000);
    assert_int_equal(nice_of(shepherd), before < 10 ? before + 10 : 19);
    ends_in_time(shepherd);
}

/* The task has a pipe of 1 MiB for its input, and the command leave to send 256 KiB more. */
static void test_input_that_nobody_asked_for_is_not_kept(void **state)
{
    static char zeros[64 << 10];
    (void)state;
    struct msg_stream_data data = {.data = {zeros, sizeof zeros}};
    launch("exec sleep 1000");
    until(&started);
    pid_t shepherd = (pid_t)world_wait(&world, NOTE_STARTED).pid;
    long before = resident_kib(shepherd);
    piece_fill(MSG_STREAM_DATA, &data);
    flood_most = 100;
    flood_start(stream_fd);
    for (int64_t end = now_ms() + 2000; now_ms() < end; usleep(50000))
        assert_true(resident_kib(shepherd) < before + SMALL_KIB);
    world_wait(&world, NOTE_EXITED); /* that command is let go, and the step with it */
}

/* Who sends a byte at a time is told of each that was read; he does not read that. */
static void test_leave_to_send_that_nobody_reads_is_not_kept(void **state)
{
    (void)state;
    struct msg_stream_data data = {.data = {"x", 1}};
    launch("exec cat >/dev/null");
    until(&started);
    pid_t shepherd = (pid_t)world_wait(&world, NOTE_STARTED).pid;
    long before = resident_kib(shepherd);
    piece_fill(MSG_STREAM_DATA, &data);
    flood_start(stream_fd);
    for (int64_t end = now_ms() + 4000; now_ms() < end; usleep(50000))
        assert_true(resident_kib(shepherd) < before + SMALL_KIB);
    ends_in_time(shepherd);
}

/* Until the shepherd reads no more, or lets him go. */
static void send_all(int fd, const struct str *bytes)
{
    fcntl(fd, F_SETFL, 0);
    for (size_t at = 0; at < bytes->len;) {
        ssize_t sent = send(fd, bytes->data + at, bytes->len - at, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        at += (size_t)sent;
    }
}

static void serve_for(int ms)
{
    struct pollfd v[16];
    for (int64_t end = now_ms() + ms; now_ms() < end;) {
        size_t n = hub_wait_for(hub, v, false);
        poll(v, n, 20);
        hub_serve(hub, v, n);
    }
}

/* A byte for this task, a byte for that: the task reads neither, and its pipe is full. */
static void test_input_in_very_many_pieces_is_not_kept(void **state)
{
    static char zeros[64 << 10];
    (void)state;
    struct msg_stream_data all = {.data = {zeros, sizeof zeros}};
    launch("exec sleep 1000");
    until(&started);
    int64_t began = now_ms();
    for (int i = 0; i < 17; i++) {
        str_clear(&piece);
        wire_encode(&(struct message){.kind = MSG_STREAM_DATA, .body = &all}, &piece);
        send_all(stream_fd, &piece);
        serve_for(50);
    }
    str_clear(&piece);
    for (int i = 0; i < 40000; i++) {
        struct msg_stream_data one = {.task_plus1 = 1 + i % 2, .data = {"x", 1}};
        wire_encode(&(struct message){.kind = MSG_STREAM_DATA, .body = &one}, &piece);
    }
    send_all(stream_fd, &piece);
    world_wait(&world, NOTE_EXITED); /* that command is let go, and the step with it */
    assert_true(now_ms() - began < END_MS);
}

/* ---- who attaches ---- */

/* As the daemon does for a sattach; its connection. */
static int follower(pid_t shepherd, const char *its_key)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t len = sizeof name.sun_family; /* the kernel chooses an abstract name */
    struct str text = STR_INIT, path = STR_INIT;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&name, len), 0);
    assert_int_equal(listen(fd, 1), 0);
    len = sizeof name;
    assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &len), 0);
    str_addc(&text, '@');
    str_addn(&text, name.sun_path + 1, len - offsetof(struct sockaddr_un, sun_path) - 1);
    str_addf(&text, "\n%s", its_key);
    step_dir_name(7, 1, 0, &path);
    str_add(&path, "/follow");
    assert_true(small_file_write(world.steps, str_text(&path), str_text(&text), text.len, 0600));
    world_command(&world, shepherd, &(struct step_command){.op = COMMAND_FOLLOW});
    struct pollfd p = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&p, 1, WAIT_MS), 1);
    int came = accept(fd, NULL, NULL);
    assert_true(came >= 0);
    close(fd);
    str_done(&text);
    str_done(&path);
    return came;
}

static void gone_await(int fd)
{
    char room[4096];
    for (ssize_t n = 1; n > 0;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        assert_int_equal(poll(&p, 1, WAIT_MS), 1);
        n = recv(fd, room, sizeof room, 0);
    }
    close(fd);
}

/* He does not know the secret, and says much instead, again and again. */
static void test_what_who_attaches_says_is_not_kept(void **state)
{
    (void)state;
    launch("exec sleep 1000");
    until(&started);
    pid_t shepherd = (pid_t)world_wait(&world, NOTE_STARTED).pid;
    long before = resident_kib(shepherd);
    char *text = xcalloc(1, LONG_BYTES + 1);
    memset(text, 'x', LONG_BYTES);
    struct msg_stream_tasks m = {.proof = "no", .work_dir = text};
    wire_encode(&(struct message){.kind = MSG_STREAM_TASKS, .body = &m}, &piece);
    free(text);
    for (int i = 0; i < 4; i++) {
        int fd = follower(shepherd, key);
        send_all(fd, &piece);
        gone_await(fd);
        assert_true(resident_kib(shepherd) < before + SMALL_KIB);
    }
    ends_in_time(shepherd);
}

/* He asks for what came before a thousand times, and reads none of it. */
static void test_who_attaches_hears_once_what_came_before(void **state)
{
    (void)state;
    launch("head -c 4194304 /dev/zero; exec sleep 1000");
    until(&started);
    serve_for(500);
    pid_t shepherd = (pid_t)world_wait(&world, NOTE_STARTED).pid;
    long before = resident_kib(shepherd);
    struct msg_stream_tasks m = {.proof = key + strlen(key) / 2};
    while (piece.len < 100000)
        wire_encode(&(struct message){.kind = MSG_STREAM_TASKS, .body = &m}, &piece);
    int fd = follower(shepherd, key);
    send_all(fd, &piece);
    for (int64_t end = now_ms() + 1000; now_ms() < end; usleep(50000))
        assert_true(resident_kib(shepherd) < before + SMALL_KIB);
    close(fd);
    ends_in_time(shepherd);
}

/* ---- what processes do ---- */

static pid_t first_child(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    return (pid_t)strtol(world_file(path), NULL, 10);
}

/* Somebody outside of the step got the task's output, and writes to it for ever. */
static void test_who_has_a_tasks_output_does_not_keep_its_shepherd(void **state)
{
    char path[64];
    (void)state;
    launch("exec sleep 1");
    until(&started);
    pid_t shepherd = (pid_t)world_wait(&world, NOTE_STARTED).pid;
    snprintf(path, sizeof path, "/proc/%d/fd/1", (int)first_child(shepherd));
    usleep(300000); /* until it is the task's */
    int out = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(out >= 0);
    while (piece.len < PIECE_BYTES)
        str_add(&piece, "a line of another's\n");
    flooding = fork();
    for (int i = 1; flooding == 0 && i < WRITERS && fork() > 0; i++)
        ;
    if (flooding == 0)
        alarm(FLOOD_S);
    while (flooding == 0 && write(out, piece.data, piece.len) > 0)
        ;
    if (flooding == 0)
        _exit(0);
    close(out);
    /* More than is read has always come. */
    for (int64_t end = now_ms() + WAIT_MS; !done; usleep(5000)) {
        struct pollfd v[16];
        size_t n = hub_wait_for(hub, v, false);
        poll(v, n, 50);
        hub_serve(hub, v, n);
        assert_true(now_ms() < end);
    }
}

/* ---- what its tasks are many of ---- */

/* Under ASan what was freed is kept: what a shepherd had at most says nothing there. */
#ifdef __SANITIZE_ADDRESS__
#define MEMORY_IS_ITS_OWN false
#else
#define MEMORY_IS_ITS_OWN true
#endif

/* 131,066 of 8 KiB would be a gigabyte of root's, twice while they are compared. */
static void test_paths_of_tasks_are_not_kept(void **state)
{
    (void)state;
    enum { TASKS = MEMORY_IS_ITS_OWN ? 1500 : 60, LONG = 4000 };
    static char out[LONG + 8], err[LONG + 8];
    for (int i = 0; i < LONG; i++)
        out[i] = err[i] = i % 2 ? '/' : '.';
    memcpy(out + LONG, "f%t", 4);
    memcpy(err + LONG, "e%t", 4);
    tasks.std_out = out;
    tasks.std_err = err;
    launch_many(TASKS, "exec sleep 1000");
    until(&started);
    pid_t shepherd = (pid_t)world_wait(&world, NOTE_STARTED).pid;
    long most = status_kib(shepherd, "VmHWM:");
    assert_true(most > 0 && (most < SMALL_KIB || !MEMORY_IS_ITS_OWN));
    ends_in_time(shepherd);
}

/* Shepherds of a place where remuda-pmix, the owner's process, says what `frames` has. */
static char place[64];

static int place_setup(void **state)
{
    char command[1024], path[96];
    strcpy(place, "/tmp/shepherd-place-XXXXXX");
    assert_non_null(mkdtemp(place));
    snprintf(path, sizeof path, "%s/remuda-shepherd", place);
    snprintf(command, sizeof command,
             "chmod 755 %s && cp \"${REMUDA_SHEPHERD:-$(dirname $(readlink /proc/%d/exe))"
             "/../../src/node/remuda-shepherd}\" %s && "
             "printf '#!/bin/sh\\ncat %s/frames >&3\\nexec sleep 1000\\n' >%s/remuda-pmix && "
             "chmod 755 %s/remuda-pmix",
             place, (int)getpid(), path, place, place, place);
    assert_int_equal(system(command), 0);
    setenv("REMUDA_SHEPHERD", path, 1);
    return floods_setup(state);
}

static int place_teardown(void **state)
{
    char command[128];
    unsetenv("REMUDA_SHEPHERD");
    snprintf(command, sizeof command, "rm -rf %s", place);
    int failed = floods_teardown(state);
    return failed | system(command);
}

static void test_variables_of_pmix_are_not_kept_without_end(void **state)
{
    (void)state;
    enum { TASKS = 800 };
    static char value[60 << 10];
    char path[128];
    memset(value, 'x', sizeof value - 1);
    memcpy(value, "PMIX_X=", 7);
    for (int i = 0; i < TASKS; i++) {
        struct msg_stream_mpi m = {
            .op = MPI_ANSWER, .ranks = "start", .rank = i, .data = {value, sizeof value}};
        wire_encode(&(struct message){.kind = MSG_STREAM_MPI, .body = &m}, &piece);
    }
    struct msg_stream_mpi all = {.op = MPI_MET, .ranks = "start"};
    wire_encode(&(struct message){.kind = MSG_STREAM_MPI, .body = &all}, &piece);
    snprintf(path, sizeof path, "%s/frames", place);
    FILE *f = fopen(path, "w");
    assert_true(f && fwrite(piece.data, 1, piece.len, f) == piece.len && fclose(f) == 0);
    tasks.mpi = "pmix";
    tasks.mpi_name = "7.0";
    tasks.mpi_map = "n1 0-799";
    launch_many(TASKS, ":");
    until(&met);
    long most = status_kib(stream_pid, "VmHWM:");
    assert_true(most > 0 && (most < SMALL_KIB || !MEMORY_IS_ITS_OWN));
    ends_in_time(stream_pid);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, floods_setup, floods_teardown)

int main(void)
{
    const struct CMUnitTest tests_all[] = {
        TEST(signals_without_end_do_not_keep_a_step),
        TEST(a_shepherd_that_is_kept_busy_gives_way_until_the_end),
        TEST(input_that_nobody_asked_for_is_not_kept),
        TEST(leave_to_send_that_nobody_reads_is_not_kept),
        TEST(input_in_very_many_pieces_is_not_kept),
        TEST(what_who_attaches_says_is_not_kept),
        TEST(who_attaches_hears_once_what_came_before),
        TEST(who_has_a_tasks_output_does_not_keep_its_shepherd),
        TEST(paths_of_tasks_are_not_kept),
        cmocka_unit_test_setup_teardown(test_variables_of_pmix_are_not_kept_without_end,
                                        place_setup, place_teardown),
    };
    return cmocka_run_group_tests(tests_all, NULL, NULL);
}
