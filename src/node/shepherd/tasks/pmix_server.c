#include "node/shepherd/tasks/pmix_server.h"

#include "base/alloc.h"
#include "wire/framed.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROGRAM       "remuda-pmix"
#define SERVER_FD     3
#define READ_BYTES    (64u << 10)
#define CLEAR_WAIT_MS 5000
#define CLEAR_POLL_MS 5
#define OPEN_FILES    16 /* of the walk that removes */

struct pmix_server {
    struct task_set *t;
    int fd; /* -1 = gone */
    struct framed way;
    struct arena *arena; /* of the message at hand */
    char program[512], dir[160];
};

/* ---- starting ---- */

/* Beside the shepherd. */
static bool program_find(char *path, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", path, size - 1);
    if (n <= 0)
        return false;
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash || (size_t)(slash - path) + sizeof PROGRAM + 1 > size)
        return false;
    strcpy(slash + 1, PROGRAM);
    return access(path, X_OK) == 0;
}

/* A name that nobody guesses; the server makes it, and ends if it is there. */
static bool dir_name(struct pmix_server *s)
{
    uint64_t n;
    if (getrandom(&n, sizeof n, 0) != sizeof n)
        return false;
    snprintf(s->dir, sizeof s->dir, "/tmp/remuda-pmix.%s.%016llx", s->t->plan->dir_name,
             (unsigned long long)n);
    return true;
}

/* The owner's settings of the library, which its clients read as well. */
static char **env_of(const struct task_set *t)
{
    size_t n, kept = 0;
    char **all = plan_texts((struct plan_bytes){t->what.env.data, t->what.env.len}, 0, &n);
    for (size_t i = 0; i < n; i++)
        if (text_starts(all[i], "PMIX_MCA_"))
            all[kept++] = all[i];
    all[kept] = NULL;
    return all;
}

/* This process is the owner's then, with `fd` alone; -1 is none. */
static bool owner_is(const struct pmix_server *s, int fd)
{
    int null = open("/dev/null", O_RDWR);
    setsid();
    for (int i = 0; i <= STDERR_FILENO; i++)
        dup2(null, i);
    return identity_become(s->t->plan, &fd, 1);
}

/* Does not return. */
static _Noreturn void program_exec(const struct pmix_server *s, int fd)
{
    char *argv[] = {(char *)PROGRAM, (char *)"serve", NULL};
    char **env = env_of(s->t);
    if (s->t->plan->cpus)
        affinity_set(s->t->plan->cpus);
    if (!owner_is(s, fd))
        _exit(1);
    dup2(fd, SERVER_FD);
    fcntl(SERVER_FD, F_SETFD, 0);
    execve(s->program, argv, env);
    _exit(127);
}

static void begin(struct pmix_server *s, const struct pmix_world *w)
{
    struct msg_stream_tasks m = {.mpi_name = w->name,
                                 .mpi_map = w->map,
                                 .world = w->size,
                                 .first_node = w->node,
                                 .work_dir = s->dir};
    framed_put(&s->way, &(struct message){.kind = MSG_STREAM_TASKS, .body = &m});
}

static bool pair_open(struct task_set *t, int ends[2])
{
    while (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        if (!shortage_passes(&t->shortage))
            return false;
    return true;
}

struct pmix_server *pmix_server_start(struct task_set *t, const struct pmix_world *w, char *why,
                                      size_t why_size)
{
    struct pmix_server *s = xcalloc(1, sizeof *s);
    int ends[2], groups_why;
    s->t = t;
    s->fd = -1;
    if (!program_find(s->program, sizeof s->program)) {
        snprintf(why, why_size,
                 PROGRAM " is not there: it is built where libpmix is (libpmix-dev), and needs "
                         "libpmix2 on each node");
        free(s);
        return NULL;
    }
    if (!dir_name(s) || !pair_open(t, ends)) {
        snprintf(why, why_size, PROGRAM " cannot be started: %s", strerror(errno));
        free(s);
        return NULL;
    }
    pid_t pid;
    do
        pid = step_cgroup_fork(t->groups, &groups_why);
    while (pid < 0 && shortage_passes(&t->shortage));
    if (pid == 0 && groups_why)
        _exit(1);
    if (pid == 0)
        program_exec(s, ends[1]);
    close(ends[1]);
    s->fd = ends[0];
    fcntl(s->fd, F_SETFL, O_NONBLOCK);
    s->arena = arena_new();
    begin(s, w);
    return s;
}

/* ---- speaking ---- */

void pmix_server_close(struct pmix_server *s)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    framed_done(&s->way);
}

static void flush(struct pmix_server *s)
{
    struct span unsent;
    while (s->fd >= 0 && (unsent = framed_unsent(&s->way)).len > 0) {
        ssize_t n = send(s->fd, unsent.data, unsent.len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return; /* it takes more later, or reading says that it is gone */
        framed_went(&s->way, (size_t)n);
    }
}

void pmix_server_tell(struct pmix_server *s, const struct msg_stream_mpi *m)
{
    if (s->fd < 0)
        return;
    framed_put(&s->way, &(struct message){.kind = MSG_STREAM_MPI, .body = m});
    flush(s);
}

bool pmix_server_is_behind(const struct pmix_server *s)
{
    return s->fd >= 0 && framed_unsent(&s->way).len > STREAM_HIGH_BYTES;
}

void pmix_server_wait_for(const struct pmix_server *s, bool paused, bool echoes, struct pollfd *v)
{
    bool more = s->fd >= 0 && framed_unsent(&s->way).len > 0;
    bool deaf = paused || (echoes && pmix_server_is_behind(s));
    *v =
        (struct pollfd){.fd = s->fd, .events = (short)((deaf ? 0 : POLLIN) | (more ? POLLOUT : 0))};
}

/* False: that was none. */
static bool frames_take(struct pmix_server *s,
                        void (*take)(struct task_set *t, const struct msg_stream_mpi *m))
{
    struct frame f;
    struct message m;
    ssize_t n = 0;
    while (s->fd >= 0 && framed_says(&s->way) <= STREAM_FRAME_BYTES &&
           (n = framed_next(&s->way, &f, NULL)) > 0) {
        if (!wire_decode(&f, s->arena, &m, NULL) || m.kind != MSG_STREAM_MPI)
            return false;
        take(s->t, m.body);
        arena_reset(s->arena);
    }
    return n >= 0 && framed_says(&s->way) <= STREAM_FRAME_BYTES;
}

bool pmix_server_serve(struct pmix_server *s, short revents,
                       void (*take)(struct task_set *t, const struct msg_stream_mpi *m))
{
    if (s->fd < 0 || !revents)
        return true;
    if (revents & POLLOUT)
        flush(s);
    if (!(revents & ~POLLOUT))
        return true;
    ssize_t n = recv(s->fd, framed_room(&s->way, READ_BYTES), READ_BYTES, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (n > 0)
        framed_came(&s->way, (size_t)n);
    if (n > 0 && frames_take(s, take))
        return true;
    pmix_server_close(s);
    return false;
}

/* ---- afterwards ---- */

static int one_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    remove(path);
    return 0;
}

/* Outside of the step's control groups, which are gone: so it executes no program, which other
 * processes of the owner's could take over. */
void pmix_server_clear(struct pmix_server *s)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(owner_is(s, -1) && nftw(s->dir, one_remove, OPEN_FILES, FTW_DEPTH | FTW_PHYS) == 0
                  ? 0
                  : 1);
    for (int waited = 0; pid > 0 && waited < CLEAR_WAIT_MS; waited += CLEAR_POLL_MS) {
        if (waitpid(pid, NULL, WNOHANG) != 0)
            return;
        nanosleep(&(struct timespec){.tv_nsec = CLEAR_POLL_MS * 1000000L}, NULL);
    }
    if (pid > 0) /* what he left there is his */
        kill(pid, SIGKILL);
}
