#include "node/shepherd/tasks/files.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/rng.h"
#include "model/job/job.h"
#include "model/job/pattern.h"
#include "node/shepherd/setup.h"
#include "node/shepherd/tasks/file_writer.h"
#include "node/shepherd/tasks/input.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES (64u << 10) /* a longer one goes out in pieces */
#define PIECE_BYTES    4096u       /* what a pipe takes as a whole or not at all */

/* Processes of --label, which no limit of the job's counts. */
#define WRITERS_MAX      1024
#define WRITERS_MAX_TEXT "1,024"

#define TOO_MANY "-l writes " WRITERS_MAX_TEXT " files on a node at most; leave -l out"
#define NO_PLACE                                                                                   \
    "-l writes " FILE_WRITERS_TEXT                                                                 \
    " on a node at one time, of all steps; leave -l out, or wait until some have ended"

_Static_assert(PATTERN_NAME_MAX >= PATH_MAX, "a name that was cut must be none that opens");

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

static char *path_on(const struct task_set *t, const struct task *task, const char *pattern,
                     int32_t node)
{
    const struct step_plan *p = t->plan;
    struct str path = STR_INIT;
    struct pattern_env env = {
        .job_id = (uint64_t)p->job_id,
        .array_job_id = (uint64_t)p->array_job_id,
        .array_task_id = p->array_task_plus1 ? (uint32_t)(p->array_task_plus1 - 1) : NO_TASK,
        .step_id = p->step_id,
        .node_index = node + t->what.first_node,
        .task = task->id + t->what.first_task,
        .node = p->node,
        .user = p->user,
        .job_name = p->job_name,
    };
    pattern_expand(pattern, &env, &path);
    return str_take(&path);
}

char *task_path(const struct task_set *t, const struct task *task, const char *pattern)
{
    ASSERT(t->plan && pattern);
    return path_on(t, task, pattern, node_index(t));
}

/* A directory that no process can enter takes no file either (file_place_check). */
static void full_path(const struct task_set *t, const struct task *task, const char *pattern,
                      int32_t node, struct str *ret)
{
    char *name = path_on(t, task, pattern, node);
    const char *dir = t->what.work_dir;
    str_clear(ret);
    if (name[0] != '/' && dir && strnlen(dir, PATH_MAX) < PATH_MAX)
        str_add(ret, dir);
    if (name[0] != '/')
        str_addc(ret, '/');
    str_add(ret, name);
    free(name);
}

/* ---- who is first ----
 *
 * A file has a turn. With --label it is its writer's, and all tasks wait for what that says; else
 * the first task of a shared file has the writing end of a pipe until the file is open, or it is
 * gone; the others wait for the pipe's end. A task waits for ones before it alone, so none waits in
 * a circle.
 *
 * Paths have 8 KiB, and there may be 131,066 of them, outside the job's limits: a turn is found by
 * two hashes of its path, which only writers keep. */

struct file_turn {
    size_t first; /* task */
    size_t users; /* streams of tasks */
    int ends[2];  /* -1: nobody else has it, or no pipe could be made */
    struct file_writer *writer;
    char *path; /* owned; with --label alone */
    struct file_turn *next;
};

#define TURN_KEY_BYTES 33

static void turn_key(const struct str *path, char ret[TURN_KEY_BYTES])
{
    snprintf(ret, TURN_KEY_BYTES, "%016llx%016llx",
             (unsigned long long)hash_bytes(HASH_INIT, path->data, path->len),
             (unsigned long long)hash_quick(path->data, path->len));
}

static void turn_take(struct task_set *t, struct map_str *of_path, size_t i, struct task_file *f,
                      const struct str *path)
{
    char key[TURN_KEY_BYTES];
    turn_key(path, key);
    struct file_turn *turn = map_str_get(of_path, key);
    if (!turn) {
        turn = xcalloc(1, sizeof *turn);
        *turn = (struct file_turn){.first = i,
                                   .ends = {-1, -1},
                                   .path = t->what.label ? xstrdup(str_text(path)) : NULL,
                                   .next = t->turns};
        t->turns = turn;
        map_str_put(of_path, key, turn);
    } else if (!t->what.label && turn->first != i && turn->ends[0] < 0 &&
               pipe2(turn->ends, O_CLOEXEC) != 0) {
        turn->ends[0] = turn->ends[1] = -1;
    }
    turn->users++;
    f->turn = turn;
    f->turn_first = turn->first == i && !t->what.label;
}

/* How many there are; of --label one more than WRITERS_MAX at most. */
static size_t turns_take(struct task_set *t)
{
    struct map_str *of_path = map_str_new();
    const char *const pattern[] = {t->what.std_out, t->what.std_err};
    int32_t node = node_index(t);
    struct str path = STR_INIT;
    size_t most = t->what.label ? WRITERS_MAX : SIZE_MAX;
    for (size_t i = 0; i < t->n && map_str_count(of_path) <= most; i++)
        for (size_t s = 0; s < ARRAY_LEN(pattern); s++)
            if (!text_empty(pattern[s])) {
                full_path(t, &t->task[i], pattern[s], node, &path);
                turn_take(t, of_path, i, &t->task[i].file[s], &path);
            }
    size_t n = map_str_count(of_path);
    str_done(&path);
    map_str_free(of_path);
    return n;
}

void task_files_begun(struct task_set *t)
{
    while (t->turns) {
        struct file_turn *turn = t->turns;
        t->turns = turn->next;
        fd_close(&turn->ends[0]);
        fd_close(&turn->ends[1]);
        free(turn->path);
        free(turn);
    }
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

int task_file_opened(const struct task_file *f, int its_pipe)
{
    errno = file_writer_opened(task_file_turn_fd(f));
    return errno ? -1 : its_pipe;
}

/* ---- writers ---- */

static void writers_start(struct task_set *t)
{
    for (struct file_turn *turn = t->turns; turn; turn = turn->next) {
        turn->writer = file_writer_start(t, turn->path, turn->users);
        if (turn->writer)
            turn->ends[0] = turn->writer->said;
    }
    for (size_t i = 0; i < t->n; i++)
        for (size_t s = 0; s < 2; s++) {
            struct task_file *f = &t->task[i].file[s];
            f->is_labelled = f->turn && f->turn->writer;
            if (f->is_labelled)
                f->fd = fcntl(f->turn->writer->lines, F_DUPFD_CLOEXEC, 0);
        }
    for (const struct file_turn *turn = t->turns; turn; turn = turn->next)
        if (turn->writer)
            fd_close(&turn->writer->lines);
}

bool task_files_open(struct task_set *t, struct str *ret_why)
{
    if (text_empty(t->what.std_out) && text_empty(t->what.std_err))
        return true;
    size_t n = turns_take(t);
    if (!t->what.label)
        return true;
    if (n > WRITERS_MAX) {
        str_add(ret_why, TOO_MANY);
        return false;
    }
    if (!file_writers_reserve(t, n)) {
        if (errno == EAGAIN)
            str_add(ret_why, NO_PLACE);
        else
            str_addf(ret_why,
                     "-l: places for processes that write files cannot be counted on %s: %s",
                     t->plan->node, strerror(errno));
        return false;
    }
    writers_start(t);
    return true;
}

/* ---- lines with numbers ---- */

bool task_file_is_labelled(const struct task_set *t, const struct task *task,
                           enum stream_name stream)
{
    (void)t;
    return task->file[stream == STREAM_ERR].is_labelled;
}

/* As many whole lines as go out together, so that lines of several tasks do not mix in a pipe; at
 * least one. */
size_t task_file_piece(const char *bytes, size_t len)
{
    ASSERT(bytes && len > 0);
    const char *end = len > PIECE_BYTES ? memrchr(bytes, '\n', PIECE_BYTES) : bytes + len - 1;
    if (!end)
        end = memchr(bytes, '\n', len);
    return end ? (size_t)(end - bytes) + 1 : len;
}

/* A writer that is gone: what follows is lost. */
static void late_write(struct task_set *t, struct task_file *f)
{
    size_t done = 0;
    while (done < f->late.len) {
        const char *at = f->late.data + done;
        ssize_t n = write(f->fd, at, task_file_piece(at, f->late.len - done));
        if (n < 0 && errno == EAGAIN)
            break;
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            done = f->late.len;
    }
    t->writers_took += done;
    f->late.len -= done;
    memmove(f->late.data, f->late.data + done, f->late.len);
}

bool task_file_is_late(const struct task_file *f)
{
    return f->fd >= 0 && f->late.len > 0;
}

void task_file_flush(struct task_set *t, struct task_file *f)
{
    if (task_file_is_late(f))
        late_write(t, f);
    if (f->is_over && !task_file_is_late(f))
        fd_close(&f->fd);
}

void task_file_end(struct task_set *t, struct task_file *f)
{
    f->is_over = true;
    task_file_flush(t, f);
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
    f->is_over |= end;
    task_file_flush(t, f);
}
