/* The life of a shepherd.
 *
 * Happy path: make the step's directory (if another shepherd has it already, this one was
 * superfluous and ends), make the control groups, fork the step's process, say STARTED; wait; when
 * the process has ended and no descendant is left, write EXITED to the state file, then to the
 * pipe.
 *
 * A step with tasks (srun) connects to its command first, and starts its tasks when that says what
 * they run (shepherd/tasks/set.c).
 *
 * Everything happens in one poll: SIGCHLD and commands of the daemon (step/command.h) by a
 * signalfd, the tasks' streams, and time (the next sample, the end of the grace). As a subreaper
 * the shepherd inherits every descendant whose parent ends, so "no child left" means "no process of
 * the step left", whoever daemonised or began a session. What is left when the step's own process
 * ends is killed; during a termination the others have the same grace.
 *
 * A shepherd whose short step ended clean may have another (shepherd/again.h).
 *
 * The EXITED note is in the state file before it is on the pipe: a daemon that misses the one finds
 * the other. If the shepherd itself is killed, its lock on the state file is gone and no EXITED is
 * there: the daemon then reports the step as lost. */
#include "node/shepherd/step.h"

#include "base/alloc.h"
#include "io/process/keyring.h"
#include "node/shepherd/again.h"
#include "node/shepherd/processes.h"
#include "node/shepherd/report.h"
#include "node/shepherd/say.h"
#include "node/shepherd/setup.h"
#include "node/shepherd/signals.h"
#include "node/shepherd/watch/energy.h"
#include "node/shepherd/watch/series.h"
#include "node/shepherd/watch/usage.h"
#include "node/step/shortage.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FIRST_SAMPLE_US INT64_C(100000)
#define REAP_MOST       256 /* at a time: others may end as fast as they are reaped */
#define STEPS_MAX       200 /* of one shepherd: who knows what a process gathers */
/* Processes that outlive SIGKILL this long: EXITED is told first, CLEARED later. */
#define CLEAR_WAIT_US INT64_C(1000000)
/* Who writes files of --label may stand still this long when the tasks have ended. */
#define WRITERS_WAIT_US INT64_C(10000000)
#define KILL_AGAIN_US   INT64_C(10000)
#define STUCK_AGAIN_US  INT64_C(60000000)
#define EARLY_AGAIN_US  INT64_C(20000) /* between looks whether the script's files are open */
#define THAW_AGAIN_US   INT64_C(100000)
#define TELL_WAIT_MS    60000

static int64_t max_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t min_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- the end ---- */

static void main_end(struct shepherd *s, int status)
{
    s->main_ended = true;
    s->status = status;
    shepherd_hurry(s);
    if (!s->terminating)
        s->kill_at_us = 0;
    s->clear_by_us = max_of(s->terminating ? s->kill_at_us : 0, shepherd_now_us()) + CLEAR_WAIT_US;
    s->writers_by_us = shepherd_now_us() + WRITERS_WAIT_US;
}

/* Reaps what has ended, or some of it. True when no process of the step is left, nor will come. */
static bool reap(struct shepherd *s)
{
    int status;
    pid_t pid = 0;
    bool any = false;
    for (size_t n = 0; n < REAP_MOST && (pid = shepherd_wait(s, &status)) > 0; n++) {
        any = true;
        if (s->tasks && !task_set_writer_reaped(s->tasks, pid))
            task_set_reaped(s->tasks, pid, status);
        else if (!s->tasks && pid == s->main_pid)
            main_end(s, status);
    }
    bool none_left = pid < 0 && errno == ECHILD;
    s->reap_more = pid > 0;
    if (s->tasks) {
        bool children = s->tasks->what.wait_children && !none_left && !s->terminating;
        if (!children && (any || s->tasks->tell_at_us))
            task_set_tell_ends(s->tasks, s->over_memory || step_cgroup_oom_kills(&s->groups) > 0,
                               shepherd_now_us());
        if (!children && !s->main_ended && task_set_over(s->tasks))
            main_end(s, task_set_status(s->tasks));
    }
    return none_left && s->main_ended;
}

/* The step's process says why it could not be set up. */
static bool setup_failed(struct shepherd *s, struct note *ret)
{
    *ret = s->note;
    if (!WIFEXITED(s->status) || WEXITSTATUS(s->status) != SHEPHERD_SETUP_EXIT)
        return false;
    ret->unfit = shepherd_setup_word(s, SETUP_UNFIT, ret->detail);
    ret->retry = ret->unfit || shepherd_setup_word(s, SETUP_FULL, ret->detail);
    if (!ret->retry && !shepherd_setup_word(s, SETUP_FAILED, ret->detail))
        return false;
    ret->kind = NOTE_FAILED;
    ret->at_us = shepherd_clock_us(CLOCK_REALTIME);
    step_dir_note(s->state_fd, ret);
    return true;
}

static struct cgroup_limits limits_of(const struct step_plan *p)
{
    return (struct cgroup_limits){
        .job_mem_bytes = p->job_mem_bytes,
        .step_mem_bytes = p->mem_limit_bytes,
        .job_swap_bytes_plus1 = p->job_swap_bytes_plus1,
        .step_swap_bytes_plus1 = p->swap_bytes_plus1,
        .swappiness_plus1 = p->swappiness_plus1,
        .pids = p->pids_max,
        .cpus = p->cpus,
        .deny = p->deny,
    };
}

/* False with errno: the step must not run, as nothing would limit it. */
static bool groups_make(struct shepherd *s, struct shortage *shortage)
{
    const struct step_plan *p = s->plan;
    const struct cgroup_limits limits = limits_of(p);
    char name[CGROUP_NAME_BYTES];
    step_cgroup_name(p->group, p->group_part, name);
    bool made =
        p->group_ready && step_cgroup_take(&s->groups, &s->kept->groups, p->cgroups, name, &limits);
    step_cgroup_close(&s->kept->groups); /* others than these */
    while (!made && !(made = step_cgroup_make(&s->groups, p->cgroups, p->group ? name : p->dir_name,
                                              &limits)))
        if (!shortage_passes(shortage))
            return false;
    return true;
}

/* Told with the end, for the next step may have them from then on. */
static void groups_hand_back(struct shepherd *s)
{
    const struct cgroup_limits limits = limits_of(s->plan);
    if (s->plan->group && !s->groups_used_up && !s->terminating && !s->over_memory)
        s->note.group_back = step_cgroup_hand_back(&s->groups, &limits, &s->kept->groups);
}

/* Sessions of ssh that were put into the step's groups (remuda adopt) are no children of ours, and
 * end with it. */
#define ADOPTED_LOOKS  100
#define ADOPTED_NAP_NS 20000000

static void adopted_end(struct shepherd *s)
{
    for (int i = 0; i < ADOPTED_LOOKS && step_cgroup_has_process(&s->groups); i++) {
        step_cgroup_kill(&s->groups);
        nanosleep(&(struct timespec){.tv_nsec = ADOPTED_NAP_NS}, NULL);
    }
}

static bool exit_tell(struct shepherd *s, bool clean)
{
    shepherd_early_say(s);
    shepherd_usage_of_ended(s);
    shepherd_suspension_count(s);
    shepherd_energy_end(s);
    shepherd_series_end(s);
    s->note.kind = NOTE_EXITED;
    s->note.status = s->status;
    s->note.clean = clean;
    int64_t kills = step_cgroup_oom_kills(&s->groups);
    s->note.oom = s->over_memory || kills > 0;
    s->note.at_us = shepherd_clock_us(CLOCK_REALTIME);
    if (kills > 0 && !s->over_memory)
        shepherd_oom_say(s, kills);
    char odd[NOTE_DETAIL_BYTES];
    if (shepherd_setup_word(s, SETUP_ODD, odd) && !s->note.detail[0])
        memcpy(s->note.detail, odd, sizeof odd);
    if (clean && kills == 0)
        groups_hand_back(s);
    if (clean && s->note.group_back == GROUP_KEPT)
        adopted_end(s);
    if (s->plan->report)
        shepherd_report_write(s);
    step_dir_note(s->state_fd, &s->note);
    s->exit_told = true;
    if (herd_tell(s->herd, &s->note, 0))
        return true;
    if (s->tasks)
        task_set_let_go(s->tasks);
    return herd_tell(s->herd, &s->note, TELL_WAIT_MS);
}

/* Everything is gone. */
static bool finish(struct shepherd *s)
{
    struct note failure;
    bool told;
    if (s->exit_told) {
        s->note.kind = NOTE_CLEARED;
        s->note.at_us = shepherd_clock_us(CLOCK_REALTIME);
        step_dir_note(s->state_fd, &s->note);
        told = herd_tell(s->herd, &s->note, TELL_WAIT_MS);
    } else if (setup_failed(s, &failure)) {
        told = herd_tell(s->herd, &failure, TELL_WAIT_MS);
    } else {
        told = exit_tell(s, true);
    }
    if (s->tasks)
        task_set_finish(s->tasks);
    step_cgroup_remove(&s->groups); /* nobody waits for that */
    return told;
}

static bool writers_are_awaited(const struct shepherd *s)
{
    return s->main_ended && s->tasks && !s->writers_given_up && task_set_writes(s->tasks);
}

static void writers_look(struct shepherd *s, int64_t now)
{
    if (!writers_are_awaited(s) || now < s->writers_by_us)
        return;
    s->writers_by_us = now + WRITERS_WAIT_US;
    if (task_set_writers_moved(s->tasks))
        return;
    s->writers_given_up = true;
    s->kill_at_us = now;
    s->stuck_at_us = s->plan->unkillable_us > 0 ? now + s->plan->unkillable_us : 0;
}

static int64_t next_due(const struct shepherd *s)
{
    int64_t due = s->sample_at_us;
    if (s->reap_more || (s->tasks && task_set_has_more(s->tasks)))
        return 0;
    if (s->tasks && s->tasks->tell_at_us && s->tasks->tell_at_us < due)
        due = s->tasks->tell_at_us;
    if (s->early.len || s->tell_due)
        due = min_of(due, shepherd_now_us() + EARLY_AGAIN_US);
    if (s->frozen && !s->stopped_us)
        due = min_of(due, shepherd_now_us() + THAW_AGAIN_US);
    if (s->terminating || s->main_ended)
        due = s->kill_at_us < due ? s->kill_at_us : due;
    if (writers_are_awaited(s) && s->writers_by_us < due)
        due = s->writers_by_us;
    if (s->main_ended && !s->exit_told)
        due = s->clear_by_us < due ? s->clear_by_us : due;
    if (s->stuck_at_us)
        due = s->stuck_at_us < due ? s->stuck_at_us : due;
    return due;
}

static void due_carry_out(struct shepherd *s)
{
    int64_t now = shepherd_now_us();
    shepherd_early_say(s);
    writers_look(s, now);
    if (!s->stopped_us)
        shepherd_thaw(s);
    if ((s->terminating || s->main_ended) && now >= s->kill_at_us) {
        shepherd_signal_all(s, SIGKILL, SIGNAL_PLAIN);
        s->kill_at_us = now + KILL_AGAIN_US;
        if (!s->stuck_at_us && s->plan->unkillable_us > 0)
            s->stuck_at_us = now + s->plan->unkillable_us;
    }
    if (s->stuck_at_us && now >= s->stuck_at_us) {
        shepherd_stuck_tell(s);
        s->stuck_at_us = now + STUCK_AGAIN_US;
    }
    if (now >= s->sample_at_us)
        shepherd_sample_due(s);
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
            shepherd_command(s, &info);
    }
    shepherd_commands_later(s);
    return gone;
}

static void wait_until(struct shepherd *s, int64_t due, size_t n)
{
    int64_t wait = due == SHEPHERD_NEVER ? 0 : max_of(due - shepherd_now_us(), 0);
    struct timespec timeout = {.tv_sec = wait / 1000000, .tv_nsec = wait % 1000000 * 1000};
    if (ppoll(s->fds, n, due == SHEPHERD_NEVER ? NULL : &timeout, NULL) <= 0)
        for (size_t i = 0; i < n; i++)
            s->fds[i].revents = 0;
}

static void watch(struct shepherd *s)
{
    int fd = s->signals_fd;
    s->fds = xcalloc(1 + (s->tasks ? task_set_wait_max(s->tasks) : 0), sizeof *s->fds);
    if (reap(s))
        return;
    for (;;) {
        size_t n = 1 + (s->tasks ? task_set_wait_for(s->tasks, s->fds + 1) : 0);
        s->fds[0] = (struct pollfd){.fd = fd, .events = POLLIN};
        wait_until(s, next_due(s), n);
        shepherd_time_look(s);
        if (s->tasks)
            task_set_serve(s->tasks, s->fds + 1, n - 1);
        if (signals_take(s, fd) || ((s->reap_more || (s->tasks && !s->main_ended)) && reap(s)))
            return;
        due_carry_out(s);
    }
}

/* ---- the beginning ---- */

static void failed_exit(struct shepherd *s, const char *what)
{
    int why = errno;
    snprintf(s->note.detail, sizeof s->note.detail, "%s on %s: %s", what, s->plan->node,
             strerror(why));
    s->note.retry = 1;
    s->note.unfit = why != EAGAIN || !step_cgroup_pids_short(&s->groups); /* not a job's doing */
    bool told = shepherd_tell(s, NOTE_FAILED, TELL_WAIT_MS);
    if (s->state_fd >= 0)
        step_dir_note(s->state_fd, &s->note);
    step_cgroup_remove(&s->groups);
    _exit(told ? 0 : 1);
}

/* The command is reached before anything is said to run. */
static void tasks_begin(struct shepherd *s)
{
    static const struct task_set_ops ops = {shepherd_owner_signals, shepherd_owner_gone};
    struct task_set *t = xcalloc(1, sizeof *t);
    *t = (struct task_set){.herd = s->herd,
                           .plan = s->plan,
                           .groups = &s->groups,
                           .failure_fd = s->failure_fd[1],
                           .ops = &ops,
                           .ctx = s};
    s->tasks = t;
    if (!task_set_open(t, s->note.detail, sizeof s->note.detail)) {
        s->note.retry = 0;
        bool told = shepherd_tell(s, NOTE_FAILED, TELL_WAIT_MS);
        step_dir_note(s->state_fd, &s->note);
        step_cgroup_remove(&s->groups);
        _exit(told ? 0 : 1);
    }
    shepherd_tell(s, NOTE_STARTED, 1000);
    task_set_launch(t);
}

static bool kept_open(struct shepherd_kept *k)
{
    if (k->signals_fd < 0)
        k->signals_fd = signals_open();
    return k->signals_fd >= 0 &&
           (k->failure_fd[0] >= 0 || pipe2(k->failure_fd, O_CLOEXEC | O_NONBLOCK) == 0);
}

static enum step_dir_result dir_make(struct shepherd *s, struct shortage *shortage)
{
    enum step_dir_result made;
    do
        made = step_dir_make(s->herd->steps_fd, s->plan, &s->note, &s->state_fd);
    while (made == STEP_DIR_FAILED && shortage_passes(shortage));
    return made;
}

static void begin(struct shepherd *s)
{
    const struct step_plan *p = s->plan;
    char name[16];
    snprintf(name, sizeof name, "rm-%lld", (long long)p->job_id);
    prctl(PR_SET_NAME, name);
    s->note.start_us = s->note.at_us = shepherd_clock_us(CLOCK_REALTIME);
    s->note.pid = getpid();
    struct shortage shortage = {0};
    enum step_dir_result made = dir_make(s, &shortage);
    if (made == STEP_DIR_TAKEN)
        _exit(0); /* another shepherd has this step and tells about it */
    close(s->herd->lock_fd);
    keyring_leave(); /* what jobs put into theirs is not for each other */
    if (made == STEP_DIR_FAILED)
        failed_exit(s, "cannot make the step's directory");
    while (!kept_open(s->kept))
        if (!shortage_passes(&shortage))
            failed_exit(s, "cannot make a pipe");
    s->signals_fd = s->kept->signals_fd;
    memcpy(s->failure_fd, s->kept->failure_fd, sizeof s->failure_fd);
    if (!groups_make(s, &shortage))
        failed_exit(s, "cannot make the step's control groups");
    if (p->deny && !s->groups.hides) /* its own are numbered as if they were */
        failed_exit(s, "cannot hide the devices of other jobs");
    if (p->address) {
        tasks_begin(s);
        return;
    }
    int groups_why;
    do
        s->main_pid = step_cgroup_fork(&s->groups, &groups_why);
    while (s->main_pid < 0 && shortage_passes(&shortage));
    if (s->main_pid == 0)
        step_exec(s->herd, p, groups_why, s->failure_fd[1]);
    if (s->main_pid < 0)
        failed_exit(s, "cannot start a process");
    shepherd_tell(s, NOTE_STARTED, 1000);
}

/* Nothing of this step can reach another, and nothing happened that a process had better not
 * outlive. */
static bool may_have_another(struct shepherd *s)
{
    const struct step_plan *p = s->plan;
    char odd[NOTE_DETAIL_BYTES];
    return s->herd->again_fd >= 0 && !p->address && !p->report && s->note.clean && !s->commanded &&
           !s->terminating && !s->over_memory && !s->groups_used_up && !s->pids && !s->yields &&
           !shepherd_setup_word(s, SETUP_ODD, odd) && s->groups.n == 0 &&
           s->note.kind == NOTE_EXITED;
}

static void leave(struct shepherd *s)
{
    close(s->state_fd); /* with its lock */
    free(s->fds);
    account_close(&s->account);
    str_done(&s->setup_words);
    str_done(&s->early);
}

/* True: another step may follow. */
static bool step_serve(const struct herd *h, const struct step_plan *p, struct shepherd_kept *kept)
{
    struct shepherd s = {
        .herd = h, .plan = p, .kept = kept, .state_fd = -1, .sample_gap_us = FIRST_SAMPLE_US};
    s.note.job_id = p->job_id;
    s.note.attempt = p->attempt;
    s.note.gpus = p->gpus;
    s.note.hidden = p->hidden;
    s.note.step_id = p->step_id;
    s.note.uid_plus1 = p->uid + 1;
    s.note.group = p->group;
    s.note.group_part = p->group_part;
    s.kill_at_us = SHEPHERD_NEVER;
    begin(&s);
    account_open(&s.account, s.tasks && s.tasks->n ? s.tasks->n : 1);
    s.sample_at_us =
        shepherd_sample_gap(&s) > 0 ? shepherd_now_us() + s.sample_gap_us : SHEPHERD_NEVER;
    watch(&s);
    if (!finish(&s))
        _exit(1);
    if (!may_have_another(&s))
        return false;
    leave(&s);
    return true;
}

_Noreturn void shepherd_run(struct herd *h, struct plan_intake *in, struct step_plan *p)
{
    int steps = 1;
    struct shepherd_kept kept = {.signals_fd = -1, .failure_fd = {-1, -1}};
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    while (step_serve(h, p, &kept) && steps++ < STEPS_MAX && again_wait(h, in, p))
        ;
    _exit(0);
}
