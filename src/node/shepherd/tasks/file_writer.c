#include "node/shepherd/tasks/file_writer.h"

#include "base/alloc.h"
#include "node/shepherd/places.h"
#include "node/shepherd/setup.h"
#include "node/shepherd/tasks/files.h"
#include "node/shepherd/tasks/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOM_BYTES (128u << 10)

/* ---- in its own process ---- */

static void opened_say(int said, int why, size_t readers)
{
    for (size_t i = 0; i < readers; i++)
        if (write(said, &why, sizeof why) < 0 && errno == EPIPE)
            return; /* all of them are gone */
}

/* A full disk: as for a task that writes itself, what follows is lost. */
static void all_write(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, task_file_piece(bytes, len));
        if (n == 0 || (n < 0 && errno != EINTR))
            return;
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        }
    }
}

/* Whole lines, as they came, unless one is longer than the room. */
static void lines_carry(int from, int to)
{
    static char room[ROOM_BYTES];
    size_t have = 0;
    for (;;) {
        ssize_t n = read(from, room + have, sizeof room - have);
        if (n < 0 && errno == EINTR)
            continue;
        have += n > 0 ? (size_t)n : 0;
        const char *last = memrchr(room, '\n', have);
        size_t out = n <= 0 || have == sizeof room ? have : last ? (size_t)(last - room) + 1 : 0;
        if (last && have == sizeof room)
            out = (size_t)(last - room) + 1;
        all_write(to, room, out);
        have -= out;
        memmove(room, room + out, have);
        if (n <= 0)
            return;
    }
}

static _Noreturn void writer_run(const struct task_set *t, const char *path, int lines, int said,
                                 size_t readers)
{
    struct setup setup = {.herd = t->herd, .plan = t->plan, .failure_fd = t->failure_fd};
    setsid();
    prctl(PR_SET_NAME, "rm-output");
    if (t->plan->cpus)
        affinity_set(t->plan->cpus); /* it works for the job alone */
    owner_become(&setup, t->what.rlimits, (const int[]){lines, said}, 2);
    if (t->what.umask_plus1)
        umask((mode_t)(t->what.umask_plus1 - 1));
    int fd = output_open(path, t->what.append ? 0 : O_TRUNC);
    opened_say(said, fd < 0 ? errno : 0, readers);
    close(said);
    if (fd >= 0)
        lines_carry(lines, fd);
    _exit(0);
}

/* ---- in the shepherd ---- */

static bool places_of(struct task_set *t, int64_t n, int64_t of_user, int64_t of_node)
{
    const int64_t node = (UINT32_MAX + INT64_C(1)) * FILE_WRITERS_OF_USER; /* behind all users' */
    int fd = places_open(t->herd, "writers");
    if (fd < 0)
        return false;
    if (places_take(fd, t->plan->uid * FILE_WRITERS_OF_USER, of_user, n) &&
        places_take(fd, node, of_node, n)) {
        t->places_fd = fd;
        return true;
    }
    int why = errno;
    close(fd);
    errno = why;
    return false;
}

bool file_writers_reserve(struct task_set *t, size_t n)
{
    struct shortage shortage = {0}; /* what is begun afterwards has its own time */
    ASSERT(t->places_fd < 0);
    do
        if (places_of(t, (int64_t)n, FILE_WRITERS_FEW, FILE_WRITERS_OF_NODE) ||
            places_of(t, (int64_t)n, FILE_WRITERS_OF_USER, FILE_WRITERS_OF_MANY))
            return true;
    while (shortage_passes(&shortage));
    return false;
}

static void both_close(int ends[2])
{
    close(ends[0]);
    close(ends[1]);
}

struct file_writer *file_writer_start(struct task_set *t, const char *path, size_t readers)
{
    ASSERT(path && readers > 0);
    int lines[2], said[2];
    if (!shortage_pipe(&t->shortage, lines))
        return NULL;
    if (!shortage_pipe(&t->shortage, said)) {
        both_close(lines);
        return NULL;
    }
    fcntl(lines[1], F_SETFL, O_NONBLOCK);
    pid_t pid = shortage_fork(&t->shortage);
    if (pid == 0)
        writer_run(t, path, lines[0], said[1], readers);
    close(lines[0]);
    close(said[1]);
    if (pid < 0) {
        close(lines[1]);
        close(said[0]);
        return NULL;
    }
    struct file_writer *w = arena_alloc(t->arena, sizeof *w);
    *w = (struct file_writer){.pid = pid, .lines = lines[1], .said = said[0], .next = t->writers};
    t->writers = w;
    return w;
}

int file_writer_opened(int said)
{
    int why;
    ssize_t n;
    while ((n = read(said, &why, sizeof why)) < 0 && errno == EINTR)
        ;
    return n == (ssize_t)sizeof why ? why : ECANCELED;
}

/* ---- their ends ---- */

bool task_set_writer_is(const struct task_set *t, pid_t pid)
{
    for (const struct file_writer *w = t->writers; w; w = w->next)
        if (w->pid == pid)
            return true;
    return false;
}

bool task_set_writer_reaped(struct task_set *t, pid_t pid)
{
    for (struct file_writer *w = t->writers; w; w = w->next)
        if (w->pid == pid) {
            w->pid = 0;
            if (!task_set_writes(t))
                fd_close(&t->places_fd);
            return true;
        }
    return false;
}

bool task_set_writes(const struct task_set *t)
{
    for (const struct file_writer *w = t->writers; w; w = w->next)
        if (w->pid > 0)
            return true;
    return false;
}

bool task_set_writers_moved(struct task_set *t)
{
    bool moved = t->writers_took > 0;
    t->writers_took = 0;
    return moved;
}
