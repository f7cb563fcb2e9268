#include "node/task_files.h"

#include "base/alloc.h"
#include "model/job.h"
#include "model/pattern.h"
#include "node/shepherd_setup.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#define GROUPS_MAX     65536
#define LINE_MAX_BYTES (64u << 10) /* a longer one goes out in pieces */

static int32_t node_index(const struct task_set *t)
{
    size_t n;
    char **env = plan_texts(t->plan->env, 0, &n);
    int32_t index = 0;
    for (size_t i = 0; i < n; i++)
        if (text_starts(env[i], "SLURM_NODEID="))
            index = (int32_t)strtol(env[i] + strlen("SLURM_NODEID="), NULL, 10);
    free(env);
    return index;
}

char *task_path(const struct task_set *t, const struct task *task, const char *pattern)
{
    const struct step_plan *p = t->plan;
    struct str path = STR_INIT;
    struct pattern_env env = {
        .job_id = (uint64_t)p->job_id,
        .array_job_id = (uint64_t)p->array_job_id,
        .array_task_id = p->array_task_plus1 ? (uint32_t)(p->array_task_plus1 - 1) : NO_TASK,
        .step_id = p->step_id,
        .node_index = node_index(t) + t->what.first_node,
        .task = task->id + t->what.first_task,
        .node = p->node,
        .user = p->user,
        .job_name = p->job_name,
    };
    pattern_expand(pattern, &env, &path);
    return str_take(&path);
}

/* ---- opening ---- */

/* What the kernel asks when files are opened, and nothing else, becomes the owner's. False: it did not. */
static bool files_as_owner(const struct step_plan *p)
{
    static const gid_t none;
    if (!p->switch_user)
        return true;
    if (setgroups(p->groups.len / sizeof(gid_t), p->groups.len ? p->groups.data : &none) != 0)
        return false;
    setfsgid((gid_t)p->gid);
    setfsuid((uid_t)p->uid);
    return setfsuid((uid_t)-1) == (int)p->uid && setfsgid((gid_t)-1) == (int)p->gid;
}

static void files_as_before(const struct step_plan *p, const gid_t *groups, int n)
{
    if (!p->switch_user)
        return;
    setfsuid(geteuid());
    setfsgid(getegid());
    setgroups((size_t)(n > 0 ? n : 0), groups);
}

/* Those before it may have the same file. */
static int file_of_others(const struct task_set *t, size_t i, const char *path)
{
    for (size_t k = 0; k <= i; k++)
        for (size_t s = 0; s < 2; s++)
            if (text_is(t->task[k].file[s].path, path) && t->task[k].file[s].fd >= 0)
                return fcntl(t->task[k].file[s].fd, F_DUPFD_CLOEXEC, 0);
    return -1;
}

static void file_open(struct task_set *t, size_t i, size_t stream, const char *pattern)
{
    struct task_file *f = &t->task[i].file[stream];
    if (text_empty(pattern))
        return;
    char *name = task_path(t, &t->task[i], pattern);
    const char *path = name[0] == '/'
                           ? arena_strdup(t->arena, name)
                           : arena_printf(t->arena, "%s/%s", t->what.work_dir ? t->what.work_dir : "", name);
    free(name);
    f->fd = file_of_others(t, i, path);
    if (f->fd <
        0) /* a named pipe that nobody reads must not stop the shepherd: the task waits for its reader then */
        f->fd = output_open(path, O_CLOEXEC | O_NONBLOCK | (t->what.append ? 0 : O_TRUNC));
    if (f->fd >= 0)
        fcntl(f->fd, F_SETFL, fcntl(f->fd, F_GETFL) & ~O_NONBLOCK);
    f->path = path;
}

void task_files_open(struct task_set *t)
{
    if (text_empty(t->what.std_out) && text_empty(t->what.std_err))
        return;
    gid_t *groups = xcalloc(GROUPS_MAX, sizeof *groups);
    int n = getgroups(GROUPS_MAX, groups);
    mode_t before = t->what.umask_plus1 ? umask((mode_t)(t->what.umask_plus1 - 1)) : 0;
    bool may = files_as_owner(t->plan);
    for (size_t i = 0; may && i < t->n; i++) {
        file_open(t, i, 0, t->what.std_out);
        file_open(t, i, 1, t->what.std_err);
    }
    files_as_before(t->plan, groups, n);
    free(groups);
    if (t->what.umask_plus1)
        umask(before);
}

/* ---- lines with numbers ---- */

bool task_file_is_labelled(const struct task_set *t, const struct task *task, enum stream_name stream)
{
    return t->what.label && task->file[stream == STREAM_ERR].fd >= 0;
}

static void bytes_write(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return; /* a full disk: as for a task that writes itself, what follows is lost */
        bytes += n;
        len -= (size_t)n;
    }
}

/* In one write: lines of several tasks do not mix. */
static void line_write(const struct task_set *t, const struct task *task, struct task_file *f,
                       const char *bytes, size_t len, bool cut)
{
    struct str line = STR_INIT;
    int width = snprintf(NULL, 0, "%lld", (long long)(t->what.world ? t->what.world : t->plan->world) - 1);
    str_addf(&line, "%*d: ", width, task->id + t->what.first_task);
    str_addn(&line, str_text(&f->begun), f->begun.len);
    str_addn(&line, bytes, len);
    if (cut)
        str_addc(&line, '\n');
    bytes_write(f->fd, line.data, line.len);
    str_clear(&f->begun);
    str_done(&line);
}

void task_file_write(struct task_set *t, struct task *task, enum stream_name stream, const char *bytes,
                     size_t len, bool end)
{
    struct task_file *f = &task->file[stream == STREAM_ERR];
    while (len > 0) {
        const char *newline = memchr(bytes, '\n', len);
        size_t n = newline ? (size_t)(newline - bytes) + 1 : len;
        if (!newline && f->begun.len + len < LINE_MAX_BYTES)
            break;
        line_write(t, task, f, bytes, n, false);
        bytes += n;
        len -= n;
    }
    str_addn(&f->begun, bytes, len);
    if (end && f->begun.len)
        line_write(t, task, f, "", 0, true);
}
