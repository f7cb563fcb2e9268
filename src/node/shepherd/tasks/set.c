/* Flow: output of a task is read only while the command's stream has room, so a slow reader stops
 * the writer. Input: input.c. */
#include "node/shepherd/tasks/set.h"

#include "base/alloc.h"
#include "base/idset.h"
#include "base/list.h"
#include "base/vec.h"
#include "node/shepherd/setup.h"
#include "node/shepherd/tasks/files.h"
#include "node/shepherd/tasks/input.h"
#include "node/shepherd/tasks/meet.h"
#include "node/shepherd/tasks/output_keep.h"
#include "wire/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define PIPE_BYTES       (1u << 20)
#define READ_BYTES       (256u << 10)
#define NOTICES_BYTES    (4u << 20)        /* a command that lags further hears no more of them */
#define TELL_TOGETHER_US INT64_C(100000)   /* tasks that end within this are told of as one */
#define FOLLOWER_BYTES   (4u << 20)        /* a sattach that lags further is let go */
#define CONNECT_US       INT64_C(20000000) /* for a command, however many addresses it names */
#define FOLLOW_US        INT64_C(5000000) /* for a sattach: the step's own matters wait meanwhile */

/* ---- the plan's tasks ---- */

static const char *word_or_null(struct arena *a, struct span word)
{
    return !word.len || span_is(word, "-") ? NULL : arena_strndup(a, word.data, word.len);
}

static void task_parse(struct task_set *t, struct span line)
{
    struct span word;
    struct task task = {.out_fd = -1, .err_fd = -1, .in_fd = -1, .file = {{.fd = -1}, {.fd = -1}}};
    span_next(&line, ' ', &word);
    task.id = (int32_t)strtol(word.data, NULL, 10);
    if (span_next(&line, ' ', &word))
        task.cpus = word_or_null(t->arena, word);
    if (span_next(&line, ' ', &word))
        task.gpus = word_or_null(t->arena, word);
    if (span_next(&line, ' ', &word))
        task.mem_nodes = word_or_null(t->arena, word);
    t->task = xrealloc(t->task, (t->n + 1) * sizeof *t->task);
    t->task[t->n++] = task;
}

bool task_set_open(struct task_set *t, char *why, size_t why_size)
{
    ASSERT(t->plan && !t->arena);
    struct span rest = span_of(t->plan->tasks), line;
    t->arena = arena_new();
    while (span_next(&rest, '\n', &line))
        if (line.len)
            task_parse(t, line);
    t->nstreams = 1;
    t->places_fd = -1;
    t->detached = t->plan->script.len > 0;
    t->stream[0].fd = -1;
    if (t->detached)
        return true;
    do
        if (stream_connect(&t->stream[0], t->plan, t->plan->address, t->plan->key, getpid(),
                           STREAM_FRAME_BYTES, CONNECT_US))
            return true;
    while (shortage_passes(&t->shortage));
    snprintf(why, why_size, "cannot reach the command at %s: %s", t->plan->address,
             strerror(errno));
    return false;
}

void task_set_follow(struct task_set *t, const char *address, const char *key)
{
    ASSERT(t->nstreams > 0);
    size_t i = 1;
    while (i < t->nstreams && t->stream[i].fd >= 0)
        i++;
    if (i == STREAMS_MAX) {
        stream_refuse(t->plan, address, key, FOLLOW_US);
        return;
    }
    if (i == t->nstreams)
        t->nstreams++;
    t->granted[i] = 0;
    stream_connect(&t->stream[i], t->plan, address, key, getpid(), FOLLOWER_FRAME_BYTES, FOLLOW_US);
}

/* ---- starting ---- */

void terminal_size_set(int fd, int32_t rows, int32_t columns)
{
    struct winsize w = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
    if (rows > 0 && columns > 0)
        ioctl(fd, TIOCSWINSZ, &w);
}

static bool terminal_open(struct task_set *t, struct task *task, struct task_ends *ends)
{
    static char name[64];
    int master;
    do {
        master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (master < 0 && errno == ENOSPC)
            errno = EAGAIN; /* others have all that kernel.pty.max lets there be */
    } while (master < 0 && shortage_passes(&t->shortage));
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0 ||
        ptsname_r(master, name, sizeof name) != 0)
        return false;
    terminal_size_set(master, t->what.rows, t->what.columns);
    fcntl(master, F_SETFL, O_NONBLOCK);
    task->out_fd = master;
    do
        task->in_fd = fcntl(master, F_DUPFD_CLOEXEC, 0);
    while (task->in_fd < 0 && shortage_passes(&t->shortage));
    t->is_pty = true;
    ends->terminal = name;
    return true;
}

/* A pipe whose end `ours` (0 reads, 1 writes) does not block. */
static bool pipe_open(struct task_set *t, int ours, int *ret_ours, int *ret_its)
{
    int ends[2];
    if (!shortage_pipe(&t->shortage, ends))
        return false;
    fcntl(ends[ours], F_SETFL, O_NONBLOCK);
    fcntl(ends[ours], F_SETPIPE_SZ, PIPE_BYTES);
    *ret_ours = ends[ours];
    *ret_its = ends[1 - ours];
    return true;
}

static bool reads_input(const struct task_set *t, const struct task *task)
{
    int32_t only = t->what.stdin_task_plus1;
    return !t->what.std_in && only >= 0 && (only == 0 || only - 1 == task->id);
}

/* A file of its own, or the stream; errors that go with the output need none. */
static bool output_end_open(struct task_set *t, struct task *task, enum stream_name stream,
                            struct task_ends *ends)
{
    bool err = stream == STREAM_ERR;
    int *its = err ? &ends->err : &ends->out, *ours = err ? &task->err_fd : &task->out_fd;
    bool to_file = err ? t->what.std_err || (t->what.std_out && !t->what.errors_apart)
                       : t->what.std_out != NULL;
    if (to_file && !task_file_is_labelled(t, task, stream))
        return true;
    return pipe_open(t, 0, ours, its);
}

static bool ends_open(struct task_set *t, struct task *task, struct task_ends *ends)
{
    *ends = (struct task_ends){-1, -1, -1, -1, NULL};
    if (!meet_end_open(t, (size_t)(task - t->task), &ends->meet))
        return false;
    if (t->plan->pty && task->id == 0)
        return terminal_open(t, task, ends);
    if (t->plan->pty)
        return true;
    return (!reads_input(t, task) || pipe_open(t, 1, &task->in_fd, &ends->in)) &&
           output_end_open(t, task, STREAM_OUT, ends) && output_end_open(t, task, STREAM_ERR, ends);
}

/* `why`: an errno; 0 = it has been told. */
/* Where there is no command the records say it. */
static void failure_tell(struct task_set *t, const char *why)
{
    struct str line = STR_INIT;
    str_addf(&line, "slurmstepd: error: %s", why);
    if (t->detached)
        setup_odd(t->failure_fd, why);
    else
        task_set_notice(t, str_text(&line));
    str_done(&line);
}

static void start_failed(struct task_set *t, struct task *task, int why)
{
    struct str line = STR_INIT;
    str_addf(&line, "cannot start task %d on %s: %s", task->id, t->plan->node, strerror(why));
    task->ended = true;
    task->status = 1 << 8;
    if (why)
        failure_tell(t, str_text(&line));
    str_done(&line);
}

static void task_start(struct task_set *t, size_t i)
{
    struct task *task = &t->task[i];
    struct task_ends ends;
    int groups_why;
    bool opened = ends_open(t, task, &ends);
    do
        task->pid = opened ? step_cgroup_fork(t->groups, &groups_why) : -1;
    while (opened && task->pid < 0 && shortage_passes(&t->shortage));
    int why = errno;
    if (task->pid == 0)
        task_exec(t, task, i, &ends, groups_why);
    fd_close(&ends.in);
    fd_close(&ends.out);
    fd_close(&ends.err);
    fd_close(&ends.meet);
    if (task->out_fd < 0)
        task_file_end(t, &task->file[0]);
    if (task->err_fd < 0)
        task_file_end(t, &task->file[1]);
    if (task->pid < 0)
        start_failed(t, task, why);
}

static void started_tell(struct task_set *t)
{
    struct idset ids = IDSET_INIT;
    struct str tasks = STR_INIT, pids = STR_INIT;
    for (size_t i = 0; i < t->n; i++) {
        if (t->task[i].pid <= 0)
            continue;
        idset_add(&ids, (uint32_t)t->task[i].id);
        list_addf(&pids, "%ld", (long)t->task[i].pid);
    }
    idset_format(&ids, &tasks);
    struct msg_stream_started m = {.tasks = str_text(&tasks), .pids = str_text(&pids)};
    stream_send(&t->stream[0], MSG_STREAM_STARTED, &m);
    input_grant(t);
    idset_done(&ids);
    str_done(&tasks);
    str_done(&pids);
}

void tasks_start(struct task_set *t)
{
    ASSERT(!t->launched);
    t->launched = true;
    struct str why = STR_INIT;
    bool may_run = task_files_open(t, &why);
    if (!may_run)
        failure_tell(t, str_text(&why));
    str_done(&why);
    for (size_t i = 0; i < t->n; i++)
        if (may_run)
            task_start(t, i);
        else
            start_failed(t, &t->task[i], 0);
    task_files_begun(t);
    started_tell(t);
    tasks_tell_ends(t, false);
}

void tasks_launch(struct task_set *t, const struct msg_stream_tasks *m)
{
    if (t->asked)
        return;
    t->asked = true;
    record_copy(message_fields(MSG_STREAM_TASKS), &t->what, m, t->arena);
    if (meet_open(t) && !t->launched)
        tasks_start(t);
}

void task_set_launch(struct task_set *t)
{
    struct frame f;
    struct message m;
    struct arena *a = arena_new();
    if (!t->detached)
        return;
    if (frame_take(t->plan->script.data, t->plan->script.len, &f, NULL) > 0 &&
        wire_decode(&f, a, &m, NULL) && m.kind == MSG_STREAM_TASKS)
        tasks_launch(t, m.body);
    else
        t->owner_gone = true;
    arena_free(a);
}

/* ---- output ---- */

bool tasks_full(const struct task_set *t)
{
    return stream_unsent(&t->stream[0]) > STREAM_HIGH_BYTES;
}

static void data_send(struct task_set *t, const struct msg_stream_data *m)
{
    if (!t->kept)
        t->kept = output_keep_new();
    output_keep_add(t->kept, m);
    for (size_t i = 0; i < t->nstreams; i++) {
        if (i > 0 && stream_unsent(&t->stream[i]) > FOLLOWER_BYTES)
            stream_close(&t->stream[i]);
        if (i == 0 || t->stream[i].proved)
            stream_send(&t->stream[i], MSG_STREAM_DATA, m);
    }
}

size_t task_output_read(struct task_set *t, struct task *task, enum stream_name stream)
{
    ASSERT(stream == STREAM_OUT || stream == STREAM_ERR);
    static char bytes[READ_BYTES];
    int *fd = stream == STREAM_OUT ? &task->out_fd : &task->err_fd;
    if (*fd < 0 || task_file_is_late(&task->file[stream == STREAM_ERR]))
        return 0;
    ssize_t n = read(*fd, bytes, sizeof bytes);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    struct msg_stream_data m = {.stream = (int32_t)stream,
                                .task_plus1 = task->id + 1,
                                .data = {bytes, n > 0 ? (size_t)n : 0},
                                .end = n <= 0};
    if (task_file_is_labelled(t, task, stream))
        task_file_write(t, task, stream, bytes, m.data.len, m.end);
    else
        data_send(t, &m);
    if (n <= 0)
        fd_close(fd);
    return n > 0 ? (size_t)n : 0;
}

size_t task_output_left(int fd)
{
    int room = fd < 0 ? -1 : fcntl(fd, F_GETPIPE_SZ);
    return room > 0 ? (size_t)room : PIPE_BYTES;
}

static void output_drain(struct task_set *t, struct task *task, enum stream_name stream)
{
    size_t left = task_output_left(stream == STREAM_OUT ? task->out_fd : task->err_fd), n;
    while (!tasks_full(t) && left > 0 && (n = task_output_read(t, task, stream)) > 0)
        left -= n < left ? n : left;
}

static void task_drain(struct task_set *t, struct task *task)
{
    output_drain(t, task, STREAM_OUT);
    output_drain(t, task, STREAM_ERR);
}

/* ---- ends ---- */

bool task_set_reaped(struct task_set *t, pid_t pid, int status)
{
    ASSERT(pid > 0);
    for (size_t i = 0; i < t->n; i++)
        if (t->task[i].pid == pid && !t->task[i].ended) {
            t->task[i].ended = true;
            t->task[i].status = status;
            meet_ended(t, i);
            return true;
        }
    return false;
}

static void end_tell(struct task_set *t, size_t from, bool oom)
{
    struct idset ids = IDSET_INIT;
    struct str text = STR_INIT;
    int status = t->task[from].status;
    for (size_t i = from; i < t->n; i++) {
        struct task *task = &t->task[i];
        if (!task->ended || task->told || task->status != status)
            continue;
        task->told = true;
        task_drain(t, task);
        idset_add(&ids, (uint32_t)task->id);
    }
    idset_format(&ids, &text);
    struct msg_stream_exit m = {.tasks = str_text(&text),
                                .exit_status = oom && status ? STATUS_OOM : status & 0xffff,
                                .oom = oom};
    for (size_t i = 0; i < t->nstreams; i++)
        if (i == 0 || t->stream[i].proved)
            stream_send(&t->stream[i], MSG_STREAM_EXIT, &m);
    idset_done(&ids);
    str_done(&text);
}

static bool any_untold(const struct task_set *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->task[i].ended && !t->task[i].told)
            return true;
    return false;
}

void tasks_tell_ends(struct task_set *t, bool oom)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->task[i].ended && !t->task[i].told)
            end_tell(t, i, oom);
    t->tell_at_us = 0;
    meet_ends_told(t);
}

void task_set_tell_ends(struct task_set *t, bool oom, int64_t now_us)
{
    if (!any_untold(t))
        return;
    if (task_set_over(t) || (t->tell_at_us && now_us >= t->tell_at_us))
        tasks_tell_ends(t, oom);
    else if (!t->tell_at_us)
        t->tell_at_us = now_us + TELL_TOGETHER_US;
}

bool task_set_over(const struct task_set *t)
{
    if (!t->launched)
        return t->owner_gone;
    for (size_t i = 0; i < t->n; i++)
        if (!t->task[i].ended)
            return false;
    return true;
}

int task_set_status(const struct task_set *t)
{
    int code = 0, signo = t->launched ? 0 : SIGKILL;
    if (t->aborted_code)
        return t->aborted_code << 8;
    for (size_t i = 0; i < t->n; i++) {
        int status = t->task[i].status;
        if (!t->task[i].ended)
            continue;
        if (WIFSIGNALED(status) && WTERMSIG(status) > signo)
            signo = WTERMSIG(status);
        if (WIFEXITED(status) && WEXITSTATUS(status) > code)
            code = WEXITSTATUS(status);
    }
    return signo ? signo : code << 8;
}

bool task_set_notice(struct task_set *t, const char *line)
{
    struct msg_stream_notice m = {.text = line, .ends = t->ends};
    if (t->stream[0].fd < 0 || stream_unsent(&t->stream[0]) > NOTICES_BYTES)
        return false;
    stream_send(&t->stream[0], MSG_STREAM_NOTICE, &m);
    return true;
}
