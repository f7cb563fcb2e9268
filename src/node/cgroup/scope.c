/* Why not the group of the daemon's own service, with Delegate=yes: jobs outlive the daemon, so at
 * its next start their groups are still there, and a version 2 group that has such groups takes no
 * process. systemd then cannot start the service (status=219/CGROUP; since systemd 254
 * DelegateSubgroup= would help). A scope is not started again.
 *
 * A scope is there as long as a process is in it: `sleep infinity`, in a leaf beside the groups of
 * the jobs. It is also what tells that the scope is ours: at a later start the scope is found by
 * its name and gets another sleeper if it lost its own. */
#include "node/cgroup/scope.h"

#include "base/alloc.h"
#include "node/cgroup/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define SLEEPERS_LEAF "remuda-scope"
#define STEP_MS       10
#define STEP_NS       10000000
#define MAKE_MS       20000 /* systemd answers at once, but a machine that boots is busy */
#define END_MS        2000

static void wait_a_step(void)
{
    nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
}

/* Processes in it or in groups below. */
static bool populated(const char *dir)
{
    char text[256];
    return cgroup_get(dir, "cgroup.events", text, sizeof text) &&
           cgroup_number(text, "populated") == 1;
}

static bool gone_in_time(const char *dir)
{
    for (int ms = 0; ms < END_MS; ms += STEP_MS) {
        if (access(dir, F_OK) != 0)
            return true;
        wait_a_step();
    }
    return false;
}

/* Without streams, in a session of its own. 0 = it cannot be started. */
static pid_t program_start(char *const argv[])
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none;
    pid_t pid = 0;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&how);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    for (int fd = 0; fd < 3; fd++)
        posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
    int rc = posix_spawnp(&pid, argv[0], &files, &how, argv, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    errno = rc;
    return rc == 0 ? pid : 0;
}

static bool leaf_enter(const char *dir, pid_t pid)
{
    char leaf[PATH_MAX];
    snprintf(leaf, sizeof leaf, "%.4000s/" SLEEPERS_LEAF, dir);
    return cgroup_make(leaf) && cgroup_put_number(leaf, "cgroup.procs", pid);
}

static bool scope_make(const char *dir, const char *key, char *why, size_t why_size)
{
    char unit[300], text[64];
    snprintf(unit, sizeof unit, "--unit=remuda-%.200s", key);
    char *argv[] = {"systemd-run",
                    "--scope",
                    "--quiet",
                    "--collect",
                    "--slice=system.slice",
                    unit,
                    "--description=Jobs of Remuda",
                    "--property=Delegate=yes",
                    "--property=TasksMax=infinity",
                    "sleep",
                    "infinity",
                    NULL};
    pid_t pid = program_start(argv);
    if (!pid) {
        snprintf(why, why_size, "systemd-run cannot be started: %s", strerror(errno));
        return false;
    }
    for (int ms = 0; ms < MAKE_MS; ms += STEP_MS) {
        if (cgroup_get(dir, "cgroup.procs", text, sizeof text) && *text)
            return leaf_enter(dir, pid);
        if (waitpid(pid, NULL, WNOHANG) == pid) {
            snprintf(why, why_size, "systemd-run made no scope");
            return false;
        }
        wait_a_step();
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    snprintf(why, why_size, "systemd does not answer");
    return false;
}

/* Jobs of an earlier daemon keep it there; when they have gone it shall still be. */
static bool scope_hold(const char *dir)
{
    char leaf[PATH_MAX];
    snprintf(leaf, sizeof leaf, "%.4000s/" SLEEPERS_LEAF, dir);
    if (populated(leaf))
        return true;
    char *argv[] = {"sleep", "infinity", NULL};
    pid_t pid = program_start(argv);
    if (!pid)
        return false;
    if (leaf_enter(dir, pid))
        return true;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return false;
}

bool cgroup_scope_take(const char *point, const char *key, char *dir, size_t size, char *why,
                       size_t why_size)
{
    ASSERT(size > 0 && why_size > 0);
    if ((size_t)snprintf(dir, size, "%s/system.slice/remuda-%s.scope", point, key) >= size)
        return false;
    if (access(dir, F_OK) == 0) {
        if (populated(dir) && scope_hold(dir))
            return true;
        if (!gone_in_time(dir)) {
            snprintf(why, why_size, "the scope of an earlier start does not end");
            return false;
        }
    }
    return scope_make(dir, key, why, why_size);
}

void cgroup_scope_end(const char *dir)
{
    ASSERT(dir[0] == '/');
    char leaf[PATH_MAX];
    snprintf(leaf, sizeof leaf, "%.4000s/" SLEEPERS_LEAF, dir);
    cgroup_kill_each(leaf);
    gone_in_time(dir);
}
