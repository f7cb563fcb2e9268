/* The life of a shepherd.
 *
 * Happy path: make the step's directory (if another shepherd has it already, this one was superfluous and
 * ends), make the control groups, fork the step's process, say STARTED; wait; when the process has ended and
 * no descendant is left, write EXITED to the state file, then to the pipe.
 *
 * A step with tasks (srun) connects to its command first, and starts its tasks when that says what they run (shepherd_tasks.c).
 *
 * Everything happens in one poll: SIGCHLD and commands of the daemon (step_command.h) by a signalfd, the tasks' streams, and time (the
 * next sample, the end of the grace). As a subreaper the shepherd inherits every descendant whose parent
 * ends, so "no child left" means "no process of the step left", whoever daemonised or began a session. What
 * is left when the step's own process ends is killed; during a termination the others have the same grace.
 *
 * The EXITED note is in the state file before it is on the pipe: a daemon that misses the one finds the
 * other. If the shepherd itself is killed, its lock on the state file is gone and no EXITED is there: the
 * daemon then reports the step as lost. */
#include "base/alloc.h"
#include "node/memory_watch.h"
#include "node/oom.h"
#include "node/proc_tree.h"
#include "node/shepherd_tasks.h"
#include "node/step_command.h"
#include "node/step_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FIRST_SAMPLE_US INT64_C(100000)
#define CLEAR_WAIT_US                                                                                        \
    INT64_C(1000000) /* processes that outlive SIGKILL this long: EXITED is told first, CLEARED later */
#define KILL_AGAIN_US INT64_C(10000)
#define WATCH_GAP_US  INT64_C(1000000)
#define TELL_WAIT_MS  60000
#define NEVER         INT64_MAX
#define TREE_MAX      65536u
#define HOLD_PASSES   50

/* Bytes that a process read and wrote when it was seen last: processes take their counters with them. */
struct io_seen {
    pid_t pid;
    int64_t read_bytes, write_bytes;
};

struct shepherd {
    const struct herd *herd;
    const struct step_plan *plan;
    struct step_cgroup groups;
    int state_fd;
    struct task_set *tasks; /* NULL = a batch script */
    struct pollfd *fds;     /* what is waited for: the signals, then the tasks' */
    pid_t main_pid;
    bool main_ended; /* then `status` is its wait status */
    int status;
    bool over_memory;          /* used more than its limit, as a sample found */
    struct oom_victim largest; /* of the processes of the last sample that used most */
    bool exit_told;            /* EXITED was written, not clean */
    bool terminating;
    int64_t kill_at_us;   /* monotonic: SIGKILL to everything from then on */
    int64_t clear_by_us;  /* monotonic: tell EXITED by then, clean or not */
    int64_t sample_at_us; /* monotonic */
    int64_t sample_gap_us;
    int64_t stopped_us; /* monotonic: suspended since; 0 = is not */
    struct note note;   /* ids and usage so far */
    struct io_seen *io;
    size_t nio;
    int64_t io_gone_read, io_gone_write;
    pid_t *pids; /* room for a walk */
};

static int64_t clock_us(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t now_us(void)
{
    return clock_us(CLOCK_MONOTONIC);
}

/* ---- telling ---- */

static void state_write(struct shepherd *s, const struct note *n)
{
    struct str line = STR_INIT;
    note_format(n, &line);
    ssize_t written = write(s->state_fd, line.data, line.len);
    (void)written; /* a full disk: the pipe still takes the note, and the line that is cut does not count */
    str_done(&line);
}

static bool tell(struct shepherd *s, enum note_kind kind, int wait_ms)
{
    s->note.kind = kind;
    s->note.at_us = clock_us(CLOCK_REALTIME);
    return herd_tell(s->herd, &s->note, wait_ms);
}

/* A line for the people who wait for the step's output. */
static void line_say(struct shepherd *s, struct str *line)
{
    if (!s->tasks) {
        step_error_line(s->plan, str_text(line));
        return;
    }
    if (line->len && line->data[line->len - 1] == '\n')
        str_cut(line, line->len - 1);
    task_set_notice(s->tasks, str_text(line));
}

static void step_id_add(const struct shepherd *s, struct str *out)
{
    str_addf(out, "%lld.", (long long)s->plan->job_id);
    if (s->tasks)
        str_add_i64(out, s->plan->step_id);
    else
        str_add(out, "batch");
}

/* ---- usage
 * ----------------------------------------------------------------------------------------------------------
 */

static size_t tree(struct shepherd *s)
{
    if (!s->pids)
        s->pids = xmalloc(TREE_MAX * sizeof *s->pids);
    return proc_tree(getpid(), s->pids, TREE_MAX);
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
static void usage_of_ended(struct shepherd *s)
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

/* Without groups that hold them: whoever is stopped cannot fork, so all are stopped until no new one is found. */
static void hold_all(struct shepherd *s)
{
    size_t before = 0, n = tree(s);
    for (int pass = 0; pass < HOLD_PASSES && n != before && n < TREE_MAX; pass++) {
        for (size_t i = 0; i < n; i++)
            kill(s->pids[i], SIGSTOP);
        before = n;
        n = tree(s);
    }
}

static void kill_all(struct shepherd *s)
{
    if (!step_cgroup_kill(&s->groups))
        hold_all(s);
    for (size_t i = 0, n = tree(s); i < n; i++)
        kill(s->pids[i], SIGKILL);
}

/* A sentence for the job's records; the first counts. */
static void detail_keep(struct shepherd *s, const char *sentence)
{
    if (!s->note.detail[0])
        snprintf(s->note.detail, sizeof s->note.detail, "%s", sentence);
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
    struct str line = STR_INIT, sentence = STR_INIT;
    if (s->over_memory || !memory_watch(&w, s->plan, s->herd->steps_fd, s->pids, n, rss))
        return;
    s->over_memory = true;
    oom_sentence(w.used_bytes, w.limit_bytes, w.of_job, false, &s->largest, &sentence);
    str_addf(&line, "slurmstepd: error: Job %lld exceeded memory limit (%lld > %lld KiB), being killed\n",
             (long long)s->plan->job_id, (long long)(w.used_bytes >> 10), (long long)(w.limit_bytes >> 10));
    line_say(s, &line);
    str_clear(&line);
    str_add(&line, "slurmstepd: error: StepId=");
    step_id_add(s, &line);
    str_addf(&line, " %s\n", str_text(&sentence));
    line_say(s, &line);
    detail_keep(s, str_text(&sentence));
    str_done(&line);
    str_done(&sentence);
    kill_all(s);
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
    size_t n = tree(s), seen = 0;
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
    usage_of_ended(s);
    s->note.cpu_user_us += user;
    s->note.cpu_system_us += system;
    s->note.max_rss_bytes = max_of(s->note.max_rss_bytes, group_rss >= 0 ? group_rss : rss);
    s->note.max_vm_bytes = max_of(s->note.max_vm_bytes, vm);
    s->note.max_pages = max_of(s->note.max_pages, faults);
    io_note(s, io, seen);
}

static void suspension_count(struct shepherd *s)
{
    int64_t now = now_us();
    if (s->stopped_us)
        s->note.suspended_us += now - s->stopped_us;
    s->stopped_us = s->stopped_us ? now : 0;
}

/* Between two samples; 0 = there are none. Where only samples find out who uses too much, they come more often. */
static int64_t sample_gap_most(const struct shepherd *s)
{
    int64_t asked = s->plan->sample_us;
    return memory_is_watched(s) && (asked == 0 || asked > WATCH_GAP_US) ? WATCH_GAP_US : asked;
}

/* The first samples come soon, so that short jobs have figures too; then at the interval asked for. */
static void sample_due(struct shepherd *s)
{
    sample(s);
    if (s->tasks)
        task_set_singletons_check(s->tasks);
    suspension_count(s);
    if (!s->exit_told)
        tell(s, NOTE_USAGE, 0);
    int64_t most = sample_gap_most(s);
    s->sample_gap_us = 10 * s->sample_gap_us < most ? 10 * s->sample_gap_us : most;
    s->sample_at_us = most > 0 ? now_us() + s->sample_gap_us : NEVER;
}

/* ---- signals to the step ---- */

static void everyone(struct shepherd *s, int signo, bool but_main)
{
    if (signo == SIGKILL && !but_main) {
        kill_all(s);
        return;
    }
    for (size_t i = 0, n = tree(s); i < n; i++)
        if (!but_main || s->pids[i] != s->main_pid)
            kill(s->pids[i], signo);
}

static void why_text(struct shepherd *s, enum command_why why, struct str *out)
{
    static const char *const texts[] = {
#define X(code, text) text,
        COMMAND_WHYS(X)
#undef X
    };
    char path[320];
    if ((size_t)why < ARRAY_LEN(texts)) {
        str_add(out, texts[why]);
        return;
    }
    snprintf(path, sizeof path, "%s/why", s->plan->dir_name);
    small_file_read(s->herd->steps_fd, path, 1000, out);
}

/* The line that people and tools look for in the job's error file. */
static void cancel_line(struct shepherd *s, enum command_why why)
{
    struct str line = STR_INIT, text = STR_INIT;
    char when[32];
    time_t t = time(NULL);
    struct tm tm;
    localtime_r(&t, &tm);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &tm);
    why_text(s, why, &text);
    str_addf(&line, "slurmstepd: error: *** %s ", s->tasks ? "STEP" : "JOB");
    if (s->tasks)
        step_id_add(s, &line);
    else
        str_add_i64(&line, s->plan->job_id);
    str_addf(&line, " ON %s CANCELLED AT %s%s%s ***\n", s->plan->node, when, text.len ? " " : "",
             str_text(&text));
    line_say(s, &line);
    str_done(&text);
    str_done(&line);
}

static void terminate(struct shepherd *s, const struct command *c)
{
    int64_t kill_at = now_us() + c->kill_wait_ms * 1000;
    if (!s->terminating && !s->main_ended)
        cancel_line(s, c->why);
    if (!s->terminating || kill_at < s->kill_at_us)
        s->kill_at_us = kill_at;
    if (!s->terminating && c->kill_wait_ms > 0) {
        /* The stopped get SIGTERM when they go on. */
        everyone(s, SIGTERM, false);
        everyone(s, SIGCONT, false);
    }
    suspension_count(s);
    s->stopped_us = 0;
    s->terminating = true;
    if (s->tasks && !s->tasks->launched)
        s->tasks->owner_gone = true; /* none will ever start */
}

static void signal_step(struct shepherd *s, const struct command *c)
{
    if (c->batch) {
        if (!s->main_ended && !s->tasks)
            kill(s->main_pid, c->signal);
        return;
    }
    bool all = s->tasks || c->full || c->signal == SIGSTOP || c->signal == SIGCONT;
    everyone(s, c->signal, !all);
    if (c->signal == SIGSTOP && !s->stopped_us) {
        everyone(s, SIGSTOP, false); /* whoever was born meanwhile */
        s->stopped_us = now_us();
    } else if (c->signal == SIGCONT) {
        suspension_count(s);
        s->stopped_us = 0;
    }
}

/* The daemon left "ADDRESS KEY" in the step's directory. */
static void follow(struct shepherd *s)
{
    struct str text = STR_INIT;
    char path[320];
    snprintf(path, sizeof path, "%s/follow", s->plan->dir_name);
    if (s->tasks && small_file_read(s->herd->steps_fd, path, 4096, &text)) {
        char *key = strrchr(text.data, '\n');
        if (key) {
            *key++ = '\0';
            task_set_follow(s->tasks, text.data, key);
        }
    }
    str_done(&text);
}

/* A line of the node daemon's: to the job's error file, or to the command of the step. */
static void message_say(struct shepherd *s)
{
    char path[320];
    struct str text = STR_INIT, line = STR_INIT;
    snprintf(path, sizeof path, "%s/tell", s->plan->dir_name);
    if (small_file_read(s->herd->steps_fd, path, 1000, &text) && text.len > 0) {
        str_addf(&line, "slurmstepd: error: %s\n", str_text(&text));
        line_say(s, &line);
    }
    str_done(&text);
    str_done(&line);
}

static void command_carry_out(struct shepherd *s, const struct signalfd_siginfo *info)
{
    union sigval value = {.sival_ptr = (void *)(uintptr_t)info->ssi_ptr};
    struct command c = command_of_value(value);
    if (info->ssi_code != SI_QUEUE)
        return;
    switch (c.op) {
    case COMMAND_TERMINATE: terminate(s, &c); break;
    case COMMAND_KILL: signal_step(s, &c); break;
    case COMMAND_FOLLOW: follow(s); break;
    case COMMAND_TELL: message_say(s); break;
    }
}

/* What the command of a step with tasks wants. */
static void command_signals(void *ctx, int signo)
{
    everyone(ctx, signo, false);
}

static void command_gone(void *ctx)
{
    struct shepherd *s = ctx;
    struct command c = {.op = COMMAND_TERMINATE, .kill_wait_ms = s->plan->kill_wait_us / 1000};
    if (!s->main_ended)
        terminate(s, &c);
}

/* ---- the end ---- */

static void main_end(struct shepherd *s, int status)
{
    s->main_ended = true;
    s->status = status;
    if (!s->terminating)
        s->kill_at_us = 0;
    s->clear_by_us = max_of(s->terminating ? s->kill_at_us : 0, now_us()) + CLEAR_WAIT_US;
}

/* Reaps what has ended. True when no process of the step is left, nor will come. */
static bool reap(struct shepherd *s)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (s->tasks)
            task_set_reaped(s->tasks, pid, status);
        else if (pid == s->main_pid)
            main_end(s, status);
    }
    bool none_left = pid < 0 && errno == ECHILD;
    if (s->tasks) {
        task_set_tell_ends(s->tasks, s->over_memory || step_cgroup_oom_kills(&s->groups) > 0);
        if (!s->main_ended && task_set_over(s->tasks))
            main_end(s, task_set_status(s->tasks));
    }
    return none_left && s->main_ended;
}

static void failure_find(void *ctx, const struct note *n)
{
    if (n->kind == NOTE_FAILED)
        *(struct note *)ctx = *n;
}

/* The step's process says in the state file why it could not be set up. */
static bool setup_failed(struct shepherd *s, struct note *ret)
{
    ret->kind = NOTE_STARTED;
    if (!WIFEXITED(s->status) || WEXITSTATUS(s->status) != SHEPHERD_SETUP_EXIT)
        return false;
    step_dir_own_notes(s->state_fd, failure_find, ret);
    return ret->kind == NOTE_FAILED;
}

/* The group below the node's own: "/remuda.n1.1234/42.1/42.1.0". */
static const char *group_of(const struct shepherd *s)
{
    const char *at = s->groups.memory ? strstr(s->groups.memory, "/remuda.") : NULL;
    return at ? at : s->groups.memory;
}

/* The kernel killed some: two lines, Slurm's and one that says who, at what, and what to do. The second is also what the job's records say. */
static void oom_tell(struct shepherd *s, int64_t kills)
{
    struct str line = STR_INIT, sentence = STR_INIT;
    struct oom_victim victim;
    bool of_job = false;
    int64_t step = s->plan->mem_limit_bytes, job = s->plan->job_mem_bytes, limit;
    if (!oom_log_look(group_of(s), &victim, &of_job))
        victim = s->largest;
    limit = of_job && job > 0 ? job : step;
    int64_t peak = of_job ? limit : step_cgroup_peak(&s->groups, limit);
    if (peak <= 0) /* what processes share with others does not count */
        peak = victim.rss_bytes < limit ? victim.rss_bytes : limit;
    oom_sentence(peak, limit, of_job && job != step, true, &victim, &sentence);
    str_addf(&line, "slurmstepd: error: Detected %lld oom_kill event%s in StepId=", (long long)kills,
             kills == 1 ? "" : "s");
    step_id_add(s, &line);
    str_add(&line, ". Some of the step tasks have been OOM Killed.\n");
    line_say(s, &line);
    str_clear(&line);
    str_add(&line, "slurmstepd: error: StepId=");
    step_id_add(s, &line);
    str_addf(&line, " %s\n", str_text(&sentence));
    line_say(s, &line);
    detail_keep(s, str_text(&sentence));
    str_done(&line);
    str_done(&sentence);
}

static bool exit_tell(struct shepherd *s, bool clean)
{
    usage_of_ended(s);
    suspension_count(s);
    s->note.kind = NOTE_EXITED;
    s->note.status = s->status;
    s->note.clean = clean;
    int64_t kills = step_cgroup_oom_kills(&s->groups);
    s->note.oom = s->over_memory || kills > 0;
    s->note.at_us = clock_us(CLOCK_REALTIME);
    if (kills > 0 && !s->over_memory)
        oom_tell(s, kills);
    state_write(s, &s->note);
    s->exit_told = true;
    return herd_tell(s->herd, &s->note, TELL_WAIT_MS);
}

/* Everything is gone. */
static bool finish(struct shepherd *s)
{
    struct note failure;
    bool told;
    if (s->exit_told) {
        s->note.kind = NOTE_CLEARED;
        s->note.at_us = clock_us(CLOCK_REALTIME);
        state_write(s, &s->note);
        told = herd_tell(s->herd, &s->note, TELL_WAIT_MS);
    } else if (setup_failed(s, &failure)) {
        told = herd_tell(s->herd, &failure, TELL_WAIT_MS);
    } else {
        told = exit_tell(s, true);
    }
    step_cgroup_remove(&s->groups);
    if (s->tasks)
        task_set_finish(s->tasks);
    return told;
}

static int64_t next_due(const struct shepherd *s)
{
    int64_t due = s->sample_at_us;
    if (s->terminating || s->main_ended)
        due = s->kill_at_us < due ? s->kill_at_us : due;
    if (s->main_ended && !s->exit_told)
        due = s->clear_by_us < due ? s->clear_by_us : due;
    return due;
}

static void due_carry_out(struct shepherd *s)
{
    int64_t now = now_us();
    if ((s->terminating || s->main_ended) && now >= s->kill_at_us) {
        everyone(s, SIGKILL, false);
        s->kill_at_us = now + KILL_AGAIN_US;
    }
    if (now >= s->sample_at_us)
        sample_due(s);
    if (s->main_ended && !s->exit_told && now >= s->clear_by_us)
        exit_tell(s, false);
}

static int signals_open(void)
{
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGCHLD);
    sigaddset(&wanted, COMMAND_SIGNAL);
    return signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* True when no process of the step is left. */
static bool signals_take(struct shepherd *s, int fd)
{
    struct signalfd_siginfo info;
    bool gone = false;
    while (read(fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            gone |= reap(s);
        else
            command_carry_out(s, &info);
    }
    return gone;
}

static void wait_until(struct shepherd *s, int64_t due, size_t n)
{
    int64_t wait = due == NEVER ? 0 : max_of(due - now_us(), 0);
    struct timespec timeout = {.tv_sec = wait / 1000000, .tv_nsec = wait % 1000000 * 1000};
    if (ppoll(s->fds, n, due == NEVER ? NULL : &timeout, NULL) <= 0)
        for (size_t i = 0; i < n; i++)
            s->fds[i].revents = 0;
}

static void watch(struct shepherd *s)
{
    int fd = signals_open();
    s->fds = xcalloc(1 + (s->tasks ? task_set_wait_max(s->tasks) : 0), sizeof *s->fds);
    if (reap(s))
        return;
    for (;;) {
        size_t n = 1 + (s->tasks ? task_set_wait_for(s->tasks, s->fds + 1) : 0);
        s->fds[0] = (struct pollfd){.fd = fd, .events = POLLIN};
        wait_until(s, next_due(s), n);
        if (s->tasks)
            task_set_serve(s->tasks, s->fds + 1, n - 1);
        if (signals_take(s, fd) || (s->tasks && !s->main_ended && reap(s)))
            return;
        due_carry_out(s);
    }
}

/* ---- the beginning ---- */

static void failed_exit(struct shepherd *s, const char *what)
{
    snprintf(s->note.detail, sizeof s->note.detail, "%s on %s: %s", what, s->plan->node, strerror(errno));
    s->note.retry = 1;
    bool told = tell(s, NOTE_FAILED, TELL_WAIT_MS);
    if (s->state_fd >= 0)
        state_write(s, &s->note);
    step_cgroup_remove(&s->groups);
    _exit(told ? 0 : 1);
}

/* The command is reached before anything is said to run. */
static void tasks_begin(struct shepherd *s)
{
    static const struct task_set_ops ops = {command_signals, command_gone};
    struct task_set *t = xcalloc(1, sizeof *t);
    *t = (struct task_set){.herd = s->herd,
                           .plan = s->plan,
                           .groups = &s->groups,
                           .ids = &s->note,
                           .state_fd = s->state_fd,
                           .ops = &ops,
                           .ctx = s};
    s->tasks = t;
    if (!task_set_open(t, s->note.detail, sizeof s->note.detail)) {
        s->note.retry = 0;
        bool told = tell(s, NOTE_FAILED, TELL_WAIT_MS);
        state_write(s, &s->note);
        step_cgroup_remove(&s->groups);
        _exit(told ? 0 : 1);
    }
    tell(s, NOTE_STARTED, 1000);
}

static void groups_make(struct shepherd *s)
{
    const struct step_plan *p = s->plan;
    const struct cgroup_limits limits = {
        .job_mem_bytes = p->job_mem_bytes,
        .step_mem_bytes = p->mem_limit_bytes,
        .job_swap_bytes_plus1 = p->job_swap_bytes_plus1,
        .step_swap_bytes_plus1 = p->swap_bytes_plus1,
        .swappiness_plus1 = p->swappiness_plus1,
        .pids = p->pids_max,
        .cpus = p->cpus,
        .deny = p->deny,
    };
    step_cgroup_make(&s->groups, p->cgroups, p->dir_name, &limits);
}

static void begin(struct shepherd *s)
{
    const struct step_plan *p = s->plan;
    char name[16];
    snprintf(name, sizeof name, "rm-%lld", (long long)p->job_id);
    setsid();
    prctl(PR_SET_NAME, name);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    s->note.start_us = s->note.at_us = clock_us(CLOCK_REALTIME);
    s->note.pid = getpid();
    enum step_dir_result made = step_dir_make(s->herd->steps_fd, p, &s->note, &s->state_fd);
    if (made == STEP_DIR_TAKEN)
        _exit(0); /* another shepherd has this step and tells about it */
    close(s->herd->lock_fd);
    if (made == STEP_DIR_FAILED)
        failed_exit(s, "cannot make the step's directory");
    groups_make(s);
    if (p->deny && !s->groups.hides)
        failed_exit(s, "cannot hide the devices of other jobs"); /* its own are numbered as if they were */
    if (p->address) {
        tasks_begin(s);
        return;
    }
    s->main_pid = fork();
    if (s->main_pid == 0)
        step_exec(s->herd, p, &s->groups, s->state_fd, &s->note);
    if (s->main_pid < 0)
        failed_exit(s, "cannot start a process");
    tell(s, NOTE_STARTED, 1000);
}

_Noreturn void shepherd_run(const struct herd *h, const struct step_plan *p)
{
    struct shepherd s = {.herd = h, .plan = p, .state_fd = -1, .sample_gap_us = FIRST_SAMPLE_US};
    s.note.job_id = p->job_id;
    s.note.attempt = p->attempt;
    s.note.step_id = p->step_id;
    s.kill_at_us = NEVER;
    begin(&s);
    s.sample_at_us = sample_gap_most(&s) > 0 ? now_us() + s.sample_gap_us : NEVER;
    watch(&s);
    _exit(finish(&s) ? 0 : 1);
}
