#include "node/shepherd/tasks/files.h"

#include "base/alloc.h"
#include "base/map.h"
#include "model/job/job.h"
#include "model/job/pattern.h"
#include "node/shepherd/as_owner.h"
#include "node/shepherd/setup.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GROUPS_MAX     65536
#define LINE_MAX_BYTES (64u << 10) /* a longer one goes out in pieces */
#define PIECE_BYTES    4096u       /* what a pipe takes as a whole or not at all */

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
    ASSERT(t->plan && pattern);
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

static const char *full_path(const struct task_set *t, size_t i, const char *pattern)
{
    char *name = task_path(t, &t->task[i], pattern);
    const char *path =
        name[0] == '/'
            ? arena_strdup(t->arena, name)
            : arena_printf(t->arena, "%s/%s", t->what.work_dir ? t->what.work_dir : "", name);
    free(name);
    return path;
}

/* ---- who is first ----
 *
 * The first task of a shared file has the writing end of a pipe until the file is open, or it is
 * gone; the others wait for the pipe's end. A task waits for ones before it alone, so none waits in
 * a circle. */

struct file_turn {
    size_t first; /* task */
    int ends[2];  /* -1: nobody else has it, or no pipe could be made */
    struct file_turn *next;
};

static void turn_take(struct task_set *t, struct map_str *of_path, size_t i, size_t stream,
                      const char *pattern)
{
    struct task_file *f = &t->task[i].file[stream];
    if (text_empty(pattern))
        return;
    f->path = full_path(t, i, pattern);
    struct file_turn *turn = map_str_get(of_path, f->path);
    if (!turn) {
        turn = arena_alloc(t->arena, sizeof *turn);
        *turn = (struct file_turn){.first = i, .ends = {-1, -1}, .next = t->turns};
        t->turns = turn;
        map_str_put(of_path, f->path, turn);
    } else if (turn->first != i && turn->ends[0] < 0 && pipe2(turn->ends, O_CLOEXEC) != 0) {
        turn->ends[0] = turn->ends[1] = -1;
    }
    f->turn = turn;
    f->turn_first = turn->first == i;
}

static void turns_take(struct task_set *t)
{
    struct map_str *of_path = map_str_new();
    for (size_t i = 0; i < t->n; i++) {
        turn_take(t, of_path, i, 0, t->what.std_out);
        turn_take(t, of_path, i, 1, t->what.std_err);
    }
    map_str_free(of_path);
}

void task_files_begun(struct task_set *t)
{
    for (const struct file_turn *turn = t->turns; turn; turn = turn->next)
        for (size_t end = 0; end < 2; end++)
            if (turn->ends[end] >= 0)
                close(turn->ends[end]);
    t->turns = NULL;
    for (size_t i = 0; i < t->n; i++)
        t->task[i].file[0].turn = t->task[i].file[1].turn = NULL;
}

int task_file_turn_fd(const struct task_file *f)
{
    return f->turn ? f->turn->ends[f->turn_first] : -1;
}

int task_file_open_own(const struct task_file *f, const char *path, bool append)
{
    int fd, turn = task_file_turn_fd(f);
    char none;
    if (turn >= 0 && !f->turn_first)
        while (read(turn, &none, 1) < 0 && errno == EINTR)
            ;
    fd = output_open(path, append || (f->turn && !f->turn_first) ? 0 : O_TRUNC);
    int why = errno;
    if (turn >= 0)
        close(turn);
    errno = why;
    return fd;
}

/* ---- opening ---- */

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
    const char *path = full_path(t, i, pattern);
    f->fd = file_of_others(t, i, path);
    /* a named pipe that nobody reads must not stop the shepherd: its task waits for the reader */
    if (f->fd < 0)
        f->fd = output_open(path, O_CLOEXEC | O_NONBLOCK | (t->what.append ? 0 : O_TRUNC));
    f->path = path;
}

static void all_open(struct task_set *t)
{
    mode_t before = t->what.umask_plus1 ? umask((mode_t)(t->what.umask_plus1 - 1)) : 0;
    for (size_t i = 0; i < t->n; i++) {
        file_open(t, i, 0, t->what.std_out);
        file_open(t, i, 1, t->what.std_err);
    }
    if (t->what.umask_plus1)
        umask(before);
}

void task_files_open(struct task_set *t)
{
    static const gid_t none;
    const struct step_plan *p = t->plan;
    if (text_empty(t->what.std_out) && text_empty(t->what.std_err))
        return;
    if (!t->what.label) {
        turns_take(t);
        return;
    }
    struct own_ids own;
    gid_t *groups = xcalloc(GROUPS_MAX, sizeof *groups);
    int n = p->switch_user ? getgroups(GROUPS_MAX, groups) : 0;
    if (!p->switch_user ||
        setgroups(p->groups.len / sizeof(gid_t), p->groups.len ? p->groups.data : &none) == 0) {
        if (as_owner(p, &own))
            all_open(t);
        as_before(p, &own);
    }
    if (p->switch_user)
        setgroups((size_t)(n > 0 ? n : 0), groups);
    free(groups);
}

/* ---- lines with numbers ---- */

bool task_file_is_labelled(const struct task_set *t, const struct task *task,
                           enum stream_name stream)
{
    return t->what.label && task->file[stream == STREAM_ERR].fd >= 0;
}

/* As many whole lines as go out together, so that lines of several tasks do not mix in a pipe; at
 * least one. */
static size_t piece_of(const char *bytes, size_t len)
{
    const char *end = len > PIECE_BYTES ? memrchr(bytes, '\n', PIECE_BYTES) : bytes + len - 1;
    if (!end)
        end = memchr(bytes, '\n', len);
    return end ? (size_t)(end - bytes) + 1 : len;
}

/* A full disk: as for a task that writes itself, what follows is lost. */
static void late_write(struct task_file *f)
{
    size_t done = 0;
    while (done < f->late.len) {
        const char *at = f->late.data + done;
        ssize_t n = write(f->fd, at, piece_of(at, f->late.len - done));
        if (n < 0 && errno == EAGAIN)
            break;
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            done = f->late.len;
    }
    f->late.len -= done;
    memmove(f->late.data, f->late.data + done, f->late.len);
}

bool task_file_is_late(const struct task_file *f)
{
    return f->fd >= 0 && f->late.len > 0;
}

void task_file_flush(struct task_set *t, struct task_file *f)
{
    struct own_ids own;
    if (!task_file_is_late(f))
        return;
    if (as_owner(t->plan, &own))
        late_write(f);
    as_before(t->plan, &own);
}

/* Lines of several tasks do not mix as long as each goes out in one write. */
static void line_add(const struct task_set *t, const struct task *task, struct task_file *f,
                     const char *bytes, size_t len, bool cut)
{
    struct str *line = &f->late;
    int width =
        snprintf(NULL, 0, "%lld", (long long)(t->what.world ? t->what.world : t->plan->world) - 1);
    str_addf(line, "%*d: ", width, task->id + t->what.first_task);
    str_addn(line, str_text(&f->begun), f->begun.len);
    str_addn(line, bytes, len);
    if (cut)
        str_addc(line, '\n');
    str_clear(&f->begun);
}

void task_file_write(struct task_set *t, struct task *task, enum stream_name stream,
                     const char *bytes, size_t len, bool end)
{
    ASSERT(stream == STREAM_OUT || stream == STREAM_ERR);
    struct task_file *f = &task->file[stream == STREAM_ERR];
    while (len > 0) {
        const char *newline = memchr(bytes, '\n', len);
        size_t n = newline ? (size_t)(newline - bytes) + 1 : len;
        if (!newline && f->begun.len + len < LINE_MAX_BYTES)
            break;
        line_add(t, task, f, bytes, n, false);
        bytes += n;
        len -= n;
    }
    str_addn(&f->begun, bytes, len);
    if (end && f->begun.len)
        line_add(t, task, f, "", 0, true);
    task_file_flush(t, f);
}
