#include "node/shepherd_usage.h"

#include "base/alloc.h"
#include "node/memory_watch.h"
#include "node/proc_tree.h"
#include "node/shepherd_say.h"
#include "node/shepherd_signals.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define WATCH_GAP_US INT64_C(1000000)

size_t shepherd_tree(struct shepherd *s)
{
    if (!s->pids)
        s->pids = xmalloc(SHEPHERD_TREE_MAX * sizeof *s->pids);
    return proc_tree(getpid(), s->pids, SHEPHERD_TREE_MAX);
}

static int64_t max_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t timeval_us(struct timeval t)
{
    return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

/* Those that ended and were waited for, by us or by their parents: the kernel has summed them up. */
void shepherd_usage_of_ended(struct shepherd *s)
{
    struct rusage r;
    getrusage(RUSAGE_CHILDREN, &r);
    s->note.cpu_user_us = timeval_us(r.ru_utime);
    s->note.cpu_system_us = timeval_us(r.ru_stime);
    s->note.max_rss_bytes = max_of(s->note.max_rss_bytes, (int64_t)r.ru_maxrss * 1024);
    s->note.max_pages = max_of(s->note.max_pages, r.ru_majflt);
    s->note.read_bytes = max_of(s->note.read_bytes, (int64_t)r.ru_inblock * 512);
    s->note.write_bytes = max_of(s->note.write_bytes, (int64_t)r.ru_oublock * 512);
}

static void io_note(struct shepherd *s, struct io_seen *now, size_t n)
{
    int64_t read_bytes = 0, write_bytes = 0;
    for (size_t i = 0; i < s->nio; i++) {
        bool there = false;
        for (size_t k = 0; k < n && !there; k++)
            there = now[k].pid == s->io[i].pid;
        if (!there) {
            s->io_gone_read += s->io[i].read_bytes;
            s->io_gone_write += s->io[i].write_bytes;
        }
    }
    for (size_t i = 0; i < n; i++) {
        read_bytes += now[i].read_bytes;
        write_bytes += now[i].write_bytes;
    }
    s->note.read_bytes = max_of(s->note.read_bytes, s->io_gone_read + read_bytes);
    s->note.write_bytes = max_of(s->note.write_bytes, s->io_gone_write + write_bytes);
    free(s->io);
    s->io = now;
    s->nio = n;
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
    if (s->over_memory || !memory_watch(&w, s->plan, s->herd->steps_fd, s->pids, n, rss))
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
        snprintf(s->largest.name, sizeof s->largest.name, "%.*s", (int)strcspn(str_text(&name), "\n"),
                 str_text(&name));
    }
    str_done(&name);
}

static void sample(struct shepherd *s)
{
    struct proc_usage u;
    int64_t rss = 0, vm = 0, faults = 0, user = 0, system = 0, largest_rss = 0;
    pid_t largest = 0;
    size_t n = shepherd_tree(s), seen = 0;
    struct io_seen *io = xcalloc(n, sizeof *io);
    for (size_t i = 0; i < n; i++) {
        if (!proc_usage(s->pids[i], &u))
            continue;
        rss += u.rss_bytes;
        if (u.rss_bytes > largest_rss) {
            largest = s->pids[i];
            largest_rss = u.rss_bytes;
        }
        vm += u.vm_bytes;
        faults += u.major_faults;
        user += u.cpu_user_us;
        system += u.cpu_system_us;
        io[seen++] = (struct io_seen){s->pids[i], u.read_bytes, u.write_bytes};
    }
    int64_t group_rss = step_cgroup_rss(&s->groups);
    if (largest)
        largest_keep(s, largest, largest_rss);
    if (memory_is_watched(s))
        memory_enforce(s, n, rss);
    shepherd_usage_of_ended(s);
    s->note.cpu_user_us += user;
    s->note.cpu_system_us += system;
    s->note.max_rss_bytes = max_of(s->note.max_rss_bytes, group_rss >= 0 ? group_rss : rss);
    s->note.max_vm_bytes = max_of(s->note.max_vm_bytes, vm);
    s->note.max_pages = max_of(s->note.max_pages, faults);
    io_note(s, io, seen);
}

void shepherd_suspension_count(struct shepherd *s)
{
    int64_t now = shepherd_now_us();
    if (s->stopped_us)
        s->note.suspended_us += now - s->stopped_us;
    s->stopped_us = s->stopped_us ? now : 0;
}

/* Between two samples; 0 = there are none. Where only samples find out who uses too much, they come more often. */
int64_t shepherd_sample_gap(const struct shepherd *s)
{
    int64_t asked = s->plan->sample_us;
    return memory_is_watched(s) && (asked == 0 || asked > WATCH_GAP_US) ? WATCH_GAP_US : asked;
}

/* The first samples come soon, so that short jobs have figures too; then at the interval asked for. */
void shepherd_sample_due(struct shepherd *s)
{
    sample(s);
    if (s->tasks)
        task_set_singletons_check(s->tasks);
    shepherd_suspension_count(s);
    if (!s->exit_told)
        shepherd_tell(s, NOTE_USAGE, 0);
    int64_t most = shepherd_sample_gap(s);
    s->sample_gap_us = 10 * s->sample_gap_us < most ? 10 * s->sample_gap_us : most;
    s->sample_at_us = most > 0 ? shepherd_now_us() + s->sample_gap_us : SHEPHERD_NEVER;
}
