#include "cli/program/daemons.h"

#include "base/str.h"
#include "cli/program/room.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WRITTEN_LOOKS 10

extern char **environ;

/* Its standard error is ours, or that file. */
static int run(char *const argv[], int standard_error, struct err *ret_err)
{
    pid_t pid;
    int status = 0;
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    if (standard_error >= 0)
        posix_spawn_file_actions_adddup2(&files, standard_error, STDERR_FILENO);
    int rc = posix_spawn(&pid, argv[0], &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    if (rc != 0) {
        err_set(ret_err, ERR_INTERNAL, "cannot start %s: %s", argv[0], strerror(rc));
        return 127;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int program_run(char *const argv[], struct err *ret_err)
{
    return run(argv, -1, ret_err);
}

struct holder {
    long pid; /* 0 = nobody */
    char deed[16];
};

static bool is_ours(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_uid == geteuid();
}

/* False: who holds it has not written there yet. */
static bool holder_look(int fd, struct holder *ret)
{
    char text[64] = {0};
    long written = 0;
    *ret = (struct holder){0};
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    if (n > 0)
        sscanf(text, "%ld %15s", &written, ret->deed);
    /* Who stands against reading writes, and that only the daemon may: others may lock it, too. */
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    bool held = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    bool seen = held && lock.l_pid > 0;
    /* Of a lock that is of no process the number is what somebody wrote: he may name anybody's. */
    ret->pid = seen ? lock.l_pid : held && is_ours(fd) ? written : 0;
    if (!seen || lock.l_pid == written)
        return true;
    ret->deed[0] = '\0';
    return false;
}

static struct holder holder_of(const char *pid_file)
{
    struct holder h = {0};
    int fd = open(pid_file, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        room_check(pid_file);
        return h;
    }
    /* A full disk may have no room for the number. */
    for (int i = 0; !holder_look(fd, &h) && i < WRITTEN_LOOKS; i++)
        nanosleep(&(struct timespec){.tv_nsec = 5 * 1000000}, NULL);
    close(fd);
    return h;
}

long program_daemon_pid(const char *pid_file)
{
    struct holder h = holder_of(pid_file);
    return h.deed[0] ? 0 : h.pid;
}

bool program_is_node(long pid, const char *node)
{
    char path[48], line[PATH_MAX + 1024] = "";
    snprintf(path, sizeof path, "/proc/%ld/cmdline", pid);
    int fd = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t n = fd < 0 ? 0 : read(fd, line, sizeof line - 1);
    if (fd >= 0)
        close(fd);
    const char *slash = strrchr(line, '/'), *end = line + (n > 0 ? n : 0);
    bool ours = text_is(slash ? slash + 1 : line, "remudad"), named = false;
    for (const char *word = line; ours && !named && word < end; word += strlen(word) + 1) {
        const char *next = word + strlen(word) + 1;
        named = text_is(word, "--name") && next < end && text_is(next, node);
    }
    return named;
}

bool program_deed(const char *pid_file, struct err *ret_err)
{
    struct holder h = holder_of(pid_file);
    if (!h.pid || !h.deed[0])
        return false;
    err_set(ret_err, ERR_UNAVAILABLE,
            "`remuda %s` is at work in that directory, as process %ld, and ends by itself", h.deed,
            h.pid);
    return true;
}

static void pass_on(int said)
{
    char text[4096];
    ssize_t n;
    off_t at = 0;
    for (; (n = pread(said, text, sizeof text, at)) > 0; at += n)
        fwrite(text, 1, (size_t)n, stderr);
}

bool daemon_ensure(char *const argv[], const char *pid_file, const char *log, bool *ret_started,
                   struct err *ret_err)
{
    struct err err = {0};
    if (program_daemon_pid(pid_file))
        return true;
    int said = memfd_create("said", MFD_CLOEXEC);
    bool ours = run(argv, said, &err) == 0;
    bool runs = ours || program_daemon_pid(pid_file);
    if (said >= 0 && (ours || !runs))
        pass_on(said);
    if (said >= 0)
        close(said);
    *ret_started |= ours;
    if (!runs && err.code)
        return err_set(ret_err, err.code, "%s", err.text);
    return runs ||
           err_set(ret_err, ERR_UNAVAILABLE, "remudad %s did not start; see %s", argv[1], log);
}
