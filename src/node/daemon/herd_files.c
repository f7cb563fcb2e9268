#include "node/daemon/herd_files.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/str.h"
#include "io/files.h"
#include "node/step/dir.h"
#include "node/step/proc_tree.h"
#include "node/step/shortage.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define LOCK_WAIT_MS 15000

int herd_steps_open(const char *node_dir, struct err *ret_err)
{
    struct str path = STR_INIT;
    int fd = -1;
    str_addf(&path, "%s/steps", node_dir);
    if (dir_make(str_text(&path), 0755, ret_err)) {
        fd = open(str_text(&path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
            err_set(ret_err, ERR_UNAVAILABLE, "cannot open %s: %s", str_text(&path),
                    strerror(errno));
    }
    str_done(&path);
    return fd;
}

bool herd_lock_wait(const char *node_dir, struct err *ret_err)
{
    struct str path = STR_INIT;
    str_addf(&path, "%s/shepherds.lock", node_dir);
    int fd = open(str_text(&path), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    bool ok = fd >= 0;
    for (int waited = 0; ok && flock(fd, LOCK_EX | LOCK_NB) != 0; waited += 5) {
        if (waited > LOCK_WAIT_MS)
            ok = false;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    if (fd >= 0)
        close(fd);
    str_done(&path);
    return ok || err_set(ret_err, ERR_UNAVAILABLE,
                         "%s/shepherds.lock: an earlier daemon's shepherds' parent does not end",
                         node_dir);
}

void herd_step_name(const struct note *step, struct str *out)
{
    step_dir_name((uint64_t)step->job_id, (uint32_t)step->attempt, step->step_id, out);
}

struct note herd_plan_ids(const struct step_plan *p)
{
    return (struct note){.job_id = p->job_id, .attempt = p->attempt, .step_id = p->step_id};
}

/* The file that goes with a command, where one does. */
static const char *file_of(const struct step_command *c)
{
    switch (c->op) {
    case COMMAND_FOLLOW: return "follow";
    case COMMAND_TELL: return "tell";
    case COMMAND_TERMINATE: return c->why == WHY_FILE ? "why" : NULL;
    case COMMAND_KILL: break;
    }
    return NULL;
}

bool herd_kept_read(int steps_fd, const struct note *step, struct str *out)
{
    struct str path = STR_INIT;
    herd_step_name(step, &path);
    str_add(&path, "/job");
    bool ok = small_file_read(steps_fd, str_text(&path), 1 << 20, out);
    str_done(&path);
    return ok;
}

/* Whole or not at all: the shepherd may be reading what came with an earlier command. Without
 * `replace` one that is there stays: EAGAIN. */
static bool file_put(int steps_fd, const char *path, const char *text, bool replace)
{
    struct str making = STR_INIT;
    str_addf(&making, "%s" STEP_DIR_MAKING, path);
    bool ok = small_file_write(steps_fd, str_text(&making), text, strlen(text), 0600);
    if (ok && !replace) {
        ok = renameat2(steps_fd, str_text(&making), steps_fd, path, RENAME_NOREPLACE) == 0;
        ok |= replace = !ok && (errno == EINVAL || errno == ENOSYS); /* this file system cannot */
    }
    if (ok && replace)
        ok = renameat(steps_fd, str_text(&making), steps_fd, path) == 0;
    int why = !ok && errno == EEXIST ? EAGAIN : errno;
    if (!ok)
        unlinkat(steps_fd, str_text(&making), 0);
    str_done(&making);
    errno = why;
    return ok;
}

bool herd_command_give(int steps_fd, const char *name, const struct step_command *c,
                       const char *text, bool replace)
{
    struct str path = STR_INIT;
    const char *file = file_of(c);
    bool ok = true, turn = command_has_turn(c->op);
    str_addf(&path, "%s/%s", name, file ? file : "");
    if (file)
        ok = file_put(steps_fd, str_text(&path), text, replace || !turn) ||
             !shortage_is(errno); /* without its text, for another reason */
    bool told = ok && step_dir_signal(steps_fd, name, command_value(c));
    int why = errno;
    if (ok && !told && turn)
        unlinkat(steps_fd, str_text(&path), 0); /* nobody reads it */
    str_done(&path);
    errno = why;
    return told;
}

bool herd_shepherd_rouse(pid_t pid, bool ends, struct note *ret)
{
    ASSERT(pid > 0);
    uint64_t start = proc_start(pid);
    char state = proc_state(pid);
    bool stopped = state == 'T' || state == 't';
    if (!start || !(stopped || state == 'D'))
        return false;
    if (stopped)
        proc_signal(pid, start, ends ? SIGKILL : SIGCONT, NULL);
    ret->kind = NOTE_STUCK;
    ret->pid = ret->status = pid;
    ret->at_us = (int64_t)time(NULL) * USEC_PER_SEC;
    snprintf(ret->detail, sizeof ret->detail,
             "its shepherd, process %d, stands still, in state %c%s", (int)pid, state,
             stopped && ends ? ", and was killed" : "");
    return true;
}
