/* What the owner of a step can make its shepherd do, which is root's: open files for him, wait for
 * him. The other end of the stream is a fake srun. */
#include "shepherd_owner_help.h"

#include "base/alloc.h"
#include "node/daemon/herd_files.h"
#include "node/shepherd/tasks/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <sys/wait.h>

#define DOMAIN "/proc/sys/kernel/domainname"

static pid_t envious; /* who envies the shepherd its rights */

/* As the owner, until it is killed or has done the shepherd something; ready when this returns. */
static void envious_start(int fd, pid_t shepherd)
{
    (void)fd;
    const struct sched_param none = {0};
    int ready[2];
    char c = 0;
    assert_int_equal(pipe(ready), 0);
    envious = fork();
    if (envious == 0) {
        if (setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
            setresuid(NOBODY, NOBODY, NOBODY) != 0 || write(ready[1], &c, 1) != 1)
            _exit(255);
        for (;;) {
            if (setpriority(PRIO_PROCESS, (id_t)shepherd, 19) == 0 ||
                sched_setscheduler(shepherd, SCHED_IDLE, &none) == 0 ||
                kill(shepherd, SIGSTOP) == 0 || ptrace(PTRACE_SEIZE, shepherd, NULL, NULL) == 0)
                _exit(1);
        }
    }
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    close(ready[1]);
}

/* ---- files that only root may write ---- */

static void domain_set(const char *name)
{
    int fd = open(DOMAIN, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0 && write(fd, name, strlen(name)) == (ssize_t)strlen(name));
    close(fd);
}

/* Below /proc/sys the effective user counts, not that of the file system: a shepherd that changed
 * this one alone opened them for anybody. In a namespace of our own. */
static void output_to_the_kernel(bool label)
{
    char link[96];
    if (geteuid() != 0 || unshare(CLONE_NEWUTS) != 0 || access(DOMAIN, W_OK) != 0)
        skip();
    world_stop_serving(&world);
    world_serve(&world); /* in the namespace, too */
    domain_set("before");
    snprintf(link, sizeof link, "%s/link0", world.dir);
    assert_int_equal(symlink(DOMAIN, link), 0);
    tasks.std_out = "link%t";
    tasks.label = label;
    launch("echo owned");
    until(&done);
    assert_string_equal(world_file(DOMAIN), "before\n");
    assert_non_null(strstr(world_wait(&world, NOTE_FAILED).detail, "Permission denied"));
}

static void test_its_output_does_not_go_to_the_kernel(void **state)
{
    (void)state;
    output_to_the_kernel(false);
}

static void test_nor_with_labels(void **state)
{
    (void)state;
    output_to_the_kernel(true);
}

static void test_a_labelled_file_is_the_owners(void **state)
{
    char path[96];
    struct stat st;
    (void)state;
    snprintf(path, sizeof path, "%s/file0", world.dir);
    tasks.std_out = "file%t";
    tasks.label = true;
    tasks.umask_plus1 = 0137 + 1;
    launch("echo one; echo two");
    until(&done);
    assert_string_equal(world_file(path), "0: one\n0: two\n");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_uid, geteuid() == 0 ? NOBODY : geteuid());
    assert_int_equal(st.st_mode & 0777, 0640);
}

/* Whoever the owner's address belongs to must not take it for root. */
static void test_it_connects_as_the_owner(void **state)
{
    (void)state;
    came_as = 0;
    launch("true");
    until(&done);
    assert_int_equal(came_as, geteuid() == 0 ? NOBODY : geteuid());
}

/* ---- while it has his effective user ---- */

/* The kernel would let him set its priority then, were it not for the capabilities that it may take
 * up again: a shepherd that gave them away to open his files would be at his mercy. */

#define LINKS 30
#define TURNS 700

/* A name whose look-up takes long: each link goes there and back through a directory. */
static void long_way_make(const char *last)
{
    char name[96], at[64 + TURNS * 5 + 32];
    snprintf(name, sizeof name, "%s/d", world.dir);
    assert_int_equal(mkdir(name, 0777), 0);
    for (int i = 0; i < LINKS; i++) {
        size_t n = 0;
        for (int k = 0; k < TURNS; k++)
            n += (size_t)snprintf(at + n, sizeof at - n, "d/../");
        if (i + 1 < LINKS)
            snprintf(at + n, sizeof at - n, "link%d", i + 1);
        else
            snprintf(at + n, sizeof at - n, "%s", last);
        snprintf(name, sizeof name, "%s/link%d", world.dir, i);
        assert_int_equal(symlink(at, name), 0);
    }
}

static void test_its_owner_does_not_slow_it_down(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    int status, nice = getpriority(PRIO_PROCESS, (id_t)world.parent),
                policy = sched_getscheduler(world.parent);
    long_way_make("file");
    tasks.std_out = "link%t";
    on_hello = envious_start;
    launch("echo one; exec sleep 100");
    until(&started);
    pid_t shepherd = (pid_t)world_wait(&world, NOTE_STARTED).pid;
    assert_true(envious > 0);
    kill(envious, SIGKILL);
    assert_int_equal(waitpid(envious, &status, 0), envious);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(getpriority(PRIO_PROCESS, (id_t)shepherd), nice);
    assert_int_equal(sched_getscheduler(shepherd), policy);
    struct step_command end = {.op = COMMAND_TERMINATE, .kill_wait_ms = 500};
    world_command(&world, shepherd, &end);
    until(&done);
}

/* ---- waiting ---- */

static void pipe_fill_await(int fd)
{
    int n = 0, before = -1;
    for (int same = 0; same < 5; usleep(20000)) {
        ioctl(fd, FIONREAD, &n);
        same = n > 4096 && n == before ? same + 1 : 0;
        before = n;
    }
}

/* Somebody has the pipe open and does not read: the task waits, not the shepherd. */
static void test_a_labelled_pipe_that_is_full_holds_the_task_only(void **state)
{
    char path[96];
    (void)state;
    snprintf(path, sizeof path, "%s/pipe0", world.dir);
    assert_int_equal(mkfifo(path, 0666), 0);
    chmod(path, 0666);
    int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    tasks.std_out = "pipe%t";
    tasks.label = true;
    launch("yes 'a line of some length, so that it is soon full'");
    until(&started);
    pid_t shepherd = (pid_t)world_wait(&world, NOTE_STARTED).pid;
    pipe_fill_await(reader);
    world_command(&world, shepherd, &(struct step_command){.op = COMMAND_TERMINATE});
    world_wait(&world, NOTE_EXITED);
    close(reader);
}

/* All that was written arrives, whole lines, however slowly it is read. */
static void test_a_labelled_pipe_loses_nothing(void **state)
{
    char path[96], piece[1000];
    struct str all = STR_INIT, line = STR_INIT;
    (void)state;
    snprintf(path, sizeof path, "%s/pipe0", world.dir);
    assert_int_equal(mkfifo(path, 0666), 0);
    chmod(path, 0666);
    int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    tasks.std_out = "pipe%t";
    tasks.label = true;
    launch("i=0; while [ $i -lt 20000 ]; do echo number $i; i=$((i+1)); done");
    until(&started);
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end;) {
        struct pollfd p = {.fd = reader, .events = POLLIN};
        poll(&p, 1, 1000);
        ssize_t n = read(reader, piece, sizeof piece);
        if (n == 0 && all.len)
            break;
        if (n > 0)
            str_addn(&all, piece, (size_t)n);
    }
    const char *at = str_text(&all);
    for (int i = 0; i < 20000; i++) {
        str_clear(&line);
        str_addf(&line, "0: number %d\n", i);
        assert_memory_equal(at, str_text(&line), line.len);
        at += line.len;
    }
    close(reader);
    str_done(&all);
    str_done(&line);
}

/* The file that goes with the command may be written anew just when it is read. */
static void test_who_follows_may_have_left_no_word(void **state)
{
    static const char *const texts[] = {"", "no key", "\n"};
    (void)state;
    launch("read none");
    until(&started);
    struct note n = world_wait(&world, NOTE_STARTED);
    struct step_command follow = {.op = COMMAND_FOLLOW}, end = {.op = COMMAND_TERMINATE};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        assert_true(
            small_file_write(world.steps, "7.1.0/follow", texts[i], strlen(texts[i]), 0600));
        world_command(&world, (pid_t)n.pid, &follow);
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    world_command(&world, (pid_t)n.pid, &end);
    until(&done);
    assert_int_equal(world_wait(&world, NOTE_EXITED).job_id, 7);
}

/* ---- who attaches ---- */

enum { ATTACHED = 8 };

/* A command that listens, as sattach does; its text for the file is "ADDRESS\nKEY". */
static int listener(struct str *text)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t len = sizeof name.sun_family; /* the kernel chooses an abstract name */
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&name, len), 0);
    assert_int_equal(listen(fd, 1), 0);
    len = sizeof name;
    assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &len), 0);
    str_addc(text, '@');
    str_addn(text, name.sun_path + 1, len - offsetof(struct sockaddr_un, sun_path) - 1);
    str_addf(text, "\n%s", key);
    return fd;
}

static int taken(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&p, 1, WAIT_MS), 1);
    int came = accept(fd, NULL, NULL);
    assert_true(came >= 0);
    close(fd);
    return came;
}

/* What goes with a command that the shepherd has not been told of: a stopped shepherd is no way to
 * get there, as each command continues it. */
static void unread_put(const char *path, const char *text)
{
    assert_true(small_file_write(world.steps, path, text, strlen(text), 0600));
}

/* As herd.c does, half a second apart there. */
static void give(const struct step_command *c, const char *text)
{
    for (int n = 0; !herd_command_give(world.steps, "7.1.0", c, text, false); n++) {
        assert_int_equal(errno, EAGAIN);
        assert_true(n < 1500);
        usleep(10000);
    }
}

/* The second took the place of the first, who waited until the step's end; the ninth did. */
static void test_all_who_attach_at_once_are_heard(void **state)
{
    (void)state;
    const struct step_command follow = {.op = COMMAND_FOLLOW}, end = {.op = COMMAND_TERMINATE};
    struct str texts[ATTACHED + 1] = {{0}}, all = STR_INIT;
    int fds[ATTACHED + 1];
    launch("read none");
    until(&started);
    pid_t shepherd = (pid_t)world_wait(&world, NOTE_STARTED).pid;
    for (int i = 0; i <= ATTACHED; i++)
        fds[i] = listener(&texts[i]);
    unread_put("7.1.0/follow", str_text(&texts[0]));
    assert_false(herd_command_give(world.steps, "7.1.0", &follow, str_text(&texts[1]), false));
    assert_int_equal(errno, EAGAIN);
    world_command(&world, shepherd, &follow); /* the word of the first comes later than its file */
    for (int i = 1; i <= ATTACHED; i++)
        give(&follow, str_text(&texts[i]));
    for (int i = 0; i <= ATTACHED; i++)
        fds[i] = taken(fds[i]);
    char bytes[4096];
    for (ssize_t n; (n = recv(fds[ATTACHED], bytes, sizeof bytes, 0)) > 0;)
        str_addn(&all, bytes, (size_t)n);
    assert_non_null(memmem(all.data, all.len, "attached to this step already", 29));
    for (int i = 0; i <= ATTACHED; i++) {
        close(fds[i]);
        str_done(&texts[i]);
    }
    str_done(&all);
    world_command(&world, shepherd, &end);
    until(&done);
}

/* Of a shepherd of an earlier release the file stays. */
static void test_a_word_that_nobody_reads_is_replaced_in_the_end(void **state)
{
    (void)state;
    const struct step_command tell = {.op = COMMAND_TELL}, end = {.op = COMMAND_TERMINATE};
    launch("read none");
    until(&started);
    pid_t shepherd = (pid_t)world_wait(&world, NOTE_STARTED).pid;
    unread_put("7.1.0/tell", "lost");
    assert_false(herd_command_give(world.steps, "7.1.0", &tell, "told", false));
    assert_true(herd_command_give(world.steps, "7.1.0", &tell, "told", true));
    give(&tell, "again");
    give(&tell, "and again");
    world_command(&world, shepherd, &end);
    until(&done);
    const char *at = str_text(&notices);
    at = strstr(at, "slurmstepd: error: told\nslurmstepd: error: again\n");
    assert_non_null(at);
    assert_null(strstr(str_text(&notices), "lost"));
}

/* A thousand addresses, all of somebody who takes the call and says nothing: all of them together
 * have the time that one gets. */
static void test_addresses_that_say_nothing(void **state)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof name;
    struct str addresses = STR_INIT;
    struct stream s;
    struct step_plan p = world_plan(&world, 7, "");
    (void)state;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(listen(fd, 4096), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &len), 0);
    for (int i = 0; i < 1000; i++)
        str_addf(&addresses, "%stls:127.0.0.1:%u", i ? " " : "", (unsigned)ntohs(name.sin_port));
    int64_t began = now_ms();
    assert_false(
        stream_connect(&s, &p, str_text(&addresses), key, getpid(), STREAM_FRAME_BYTES, 300000));
    assert_true(now_ms() - began < 60000); /* not 1,000 times 5 s */
    str_done(&addresses);
    close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests_all[] = {
        TEST(its_output_does_not_go_to_the_kernel),
        TEST(nor_with_labels),
        TEST(a_labelled_file_is_the_owners),
        TEST(it_connects_as_the_owner),
        TEST(its_owner_does_not_slow_it_down),
        TEST(a_labelled_pipe_that_is_full_holds_the_task_only),
        TEST(a_labelled_pipe_loses_nothing),
        TEST(who_follows_may_have_left_no_word),
        TEST(all_who_attach_at_once_are_heard),
        TEST(a_word_that_nobody_reads_is_replaced_in_the_end),
        TEST(addresses_that_say_nothing),
    };
    return cmocka_run_group_tests(tests_all, NULL, NULL);
}
