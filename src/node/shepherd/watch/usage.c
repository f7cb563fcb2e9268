#include "node/shepherd/watch/usage.h"

#include "base/alloc.h"
#include "node/shepherd/apart.h"
#include "node/shepherd/processes.h"
#include "node/shepherd/say.h"
#include "node/shepherd/signals.h"
#include "node/shepherd/watch/energy.h"
#include "node/shepherd/watch/memory_watch.h"
#include "node/shepherd/watch/series.h"
#include "node/step/proc_tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define WATCH_GAP_US  INT64_C(1000000)
#define SERIES_GAP_US INT64_C(2000000)
#define IO_WAIT_MS    500
#define TELL_GAP_US   INT64_C(4500000)

static int64_t max_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t timeval_us(struct timeval t)
{
    return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

static int32_t task_id(const void *ctx, size_t i)
{
    const struct shepherd *s = ctx;
    return s->tasks ? s->tasks->task[i].id : 0;
}

/* The step's sums: those that ended and were waited for, by us or by their parents. Not the
 * kernel's sum of our children (getrusage), in which those of an earlier step may be. */
void shepherd_usage_of_ended(struct shepherd *s)
{
    s->note.cpu_user_us = s->ended_user_us;
    s->note.cpu_system_us = s->ended_system_us;
    account_note(&s->account, task_id, s, &s->note);
    /* Of one task its control group knows more than its processes, which share memory. */
    if (s->account.n == 1 && s->group_rss > 0)
        s->note.max_rss_bytes = s->note.ave_rss_bytes = max_of(s->group_rss, s->ended_rss_bytes);
    s->note.max_vm_bytes = max_of(s->note.max_vm_bytes, s->note.max_rss_bytes);
}

/* ---- whose processes they are ---- */

static bool task_find(const struct shepherd *s, pid_t top, size_t *ret)
{
    *ret = 0;
    if (!s->tasks)
        return true;
    for (size_t i = 0; i < s->tasks->n; i++)
        if (s->tasks->task[i].pid == top) {
            *ret = i;
            return true;
        }
    return false;
}

static size_t task_of(const struct shepherd *s, pid_t top)
{
    size_t task;
    return task_find(s, top, &task) ? task : account_task_of(&s->account, top);
}

pid_t shepherd_wait(struct shepherd *s, int *ret_status)
{
    siginfo_t info = {0};
    struct proc_usage u = {0};
    struct rusage r;
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return -1;
    if (info.si_pid == 0)
        return 0;
    proc_io(info.si_pid, &u.read_bytes, &u.write_bytes); /* the rest wait4 tells */
    pid_t pid = wait4(info.si_pid, ret_status, 0, &r);
    if (pid > 0 && !(s->tasks && task_set_writer_is(s->tasks, pid))) {
        account_ended(&s->account, task_of(s, pid), &r, &u);
        s->ended_user_us += timeval_us(r.ru_utime);
        s->ended_system_us += timeval_us(r.ru_stime);
        s->ended_rss_bytes = max_of(s->ended_rss_bytes, (int64_t)r.ru_maxrss * 1024);
    }
    return pid;
}

/* Nothing but the samples finds out that the step is over its memory. */
static bool memory_is_watched(const struct shepherd *s)
{
    const struct step_plan *p = s->plan;
    return (p->mem_limit_bytes > 0 || p->job_mem_bytes > 0) &&
           (!s->groups.limits_memory || p->over_memory_kill);
}

static void memory_enforce(struct shepherd *s, size_t n, int64_t rss)
{
    struct memory_watch w;
    const struct memory_processes of = {s->pids, s->starts, n, rss, &s->shares};
    if (s->over_memory || !memory_watch(&w, s->plan, s->herd->steps_fd, &of))
        return;
    s->over_memory = true;
    shepherd_over_memory_say(s, w.used_bytes, w.limit_bytes, w.of_job);
    shepherd_kill_all(s);
}

/* Its name, as the kernel has it. */
static void largest_keep(struct shepherd *s, pid_t pid, int64_t rss_bytes)
{
    char path[48];
    struct str name = STR_INIT;
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    if (small_file_read(AT_FDCWD, path, sizeof s->largest.name - 1, &name)) {
        s->largest = (struct oom_victim){.pid = pid, .rss_bytes = rss_bytes};
        snprintf(s->largest.name, sizeof s->largest.name, "%.*s",
                 (int)strcspn(str_text(&name), "\n"), str_text(&name));
    }
    str_done(&name);
}

/* Children of ours that are no task: each with the task it is counted to, and so are those that its
 * parents leave to us. A process is a child of its task until those between are gone, so all that
 * is seen is remembered. */
static void owners_remember(struct shepherd *s, size_t n)
{
    struct account_child *child = xcalloc(n + 1, sizeof *child);
    for (size_t i = 0; i < n; i++)
        child[i] = (struct account_child){s->pids[i], task_of(s, s->tops[i])};
    account_remember(&s->account, child, n);
    free(child);
}

struct io_question {
    const pid_t *pids;
    int64_t *wrote; /* by whoever is asked, of whom it was last asked what he read */
};

/* Two numbers for each process: what it read, then what it wrote. */
static int64_t io_of(const void *ctx, size_t i)
{
    const struct io_question *q = ctx;
    int64_t read = 0;
    if (i % 2)
        return *q->wrote;
    proc_io(q->pids[i / 2], &read, q->wrote);
    return read;
}

/* What the processes read and wrote, two numbers each, owned by the caller. A process that executes
 * a program may keep whoever asks for this. Who is not known by then has 0, and is counted with
 * another sample: what was found before stays. */
static int64_t *ios_ask(const pid_t *pids, size_t n)
{
    int64_t *io = xcalloc(2 * n + 1, sizeof *io), wrote = 0;
    const struct io_question q = {pids, &wrote};
    int left_ms = IO_WAIT_MS;
    size_t next = 0;
    if (n > 0)
        ask_apart_each(io_of, &q, 2 * n, NULL, &left_ms, &next, io);
    return io;
}

static void processes_add(struct shepherd *s, size_t n)
{
    int64_t *io = ios_ask(s->pids, n);
    struct proc_usage u;
    int64_t largest_rss = 0, user = 0, system = 0;
    pid_t largest = 0;
    s->rss_now = 0;
    account_begin(&s->account);
    for (size_t i = 0; i < n; i++) {
        if (!proc_usage(s->pids[i], &u))
            continue;
        u.read_bytes = io[2 * i];
        u.write_bytes = io[2 * i + 1];
        account_add(&s->account, task_of(s, s->tops[i]), &u);
        s->rss_now += u.rss_bytes;
        user += u.cpu_user_us;
        system += u.cpu_system_us;
        if (u.rss_bytes > largest_rss) {
            largest = s->pids[i];
            largest_rss = u.rss_bytes;
        }
    }
    account_end(&s->account);
    free(io);
    if (largest)
        largest_keep(s, largest, largest_rss);
    s->live_user_us = user;
    s->live_system_us = system;
}

/* Returns how many processes there are. */
static size_t sample(struct shepherd *s)
{
    size_t n = shepherd_tree(s);
    processes_add(s, n);
    s->group_rss = max_of(s->group_rss, step_cgroup_rss(&s->groups));
    if (memory_is_watched(s))
        memory_enforce(s, n, s->rss_now);
    owners_remember(s, n);
    shepherd_usage_of_ended(s);
    s->note.cpu_user_us += s->live_user_us;
    s->note.cpu_system_us += s->live_system_us;
    shepherd_energy_sample(s);
    return n;
}

void shepherd_suspension_count(struct shepherd *s)
{
    int64_t now = shepherd_now_us();
    if (s->stopped_us)
        s->note.suspended_us += now - s->stopped_us;
    s->stopped_us = s->stopped_us ? now : 0;
}

/* Between two samples; 0 = there are none. Where only samples find out who uses too much, they come
 * more often. */
int64_t shepherd_sample_gap(const struct shepherd *s)
{
    int64_t asked = s->plan->sample_us;
    return memory_is_watched(s) && (asked == 0 || asked > WATCH_GAP_US) ? WATCH_GAP_US : asked;
}

/* The controller hears of the sums more seldom than the series, unless somebody asked for less. */
static int64_t tell_gap(const struct shepherd *s)
{
    int64_t asked = s->plan->sample_us;
    return asked < SERIES_GAP_US || asked > TELL_GAP_US || s->sample_gap_us < WATCH_GAP_US
               ? 0
               : TELL_GAP_US;
}

/* The first samples come soon, so that short jobs have figures too; then at the interval asked
 * for. */
void shepherd_sample_due(struct shepherd *s)
{
    size_t n = sample(s);
    shepherd_series_sample(s, n);
    if (s->tasks)
        task_set_singletons_check(s->tasks);
    shepherd_suspension_count(s);
    if (!s->exit_told && shepherd_now_us() >= s->usage_at_us) {
        shepherd_tell(s, NOTE_USAGE, 0);
        s->usage_at_us = shepherd_now_us() + tell_gap(s);
    }
    int64_t most = shepherd_sample_gap(s);
    s->sample_gap_us = 10 * s->sample_gap_us < most ? 10 * s->sample_gap_us : most;
    s->sample_at_us = most > 0 ? shepherd_now_us() + s->sample_gap_us : SHEPHERD_NEVER;
}
