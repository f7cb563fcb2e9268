/* A process's environment is memory of its own, and the kernel reads it only when nothing changes
 * that memory: who maps a file of a file system of his, and does not answer for it, keeps whoever
 * reads it for ever. So that is done on a thread, which is waited for shortly and then left to
 * itself, and its user's processes say nothing for some time. Nor do those of a user whose
 * environments come in time, but took too long together. */
#include "node/hardware/gpu_holders.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "io/process/groups.h"
#include "node/hardware/amd/bounded.h"
#include "node/step/dir.h"
#include "node/step/proc_environ.h"
#include "node/step/proc_step.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLACK_US   INT64_C(2000000) /* of the boot time, which is known in whole seconds */
#define FILE_BYTES (64u << 10)      /* of what the kernel says of a process */
/* Of what the process says; it is asked each second. In a longer environment its step may not be
 * found: then its groups tell that it is a job's. */
#define ENVIRON_BYTES    (1u << 20)
#define ENVIRON_WAIT_MS  1000
#define ENVIRONS_WAIT_MS 3000 /* for all of a round */
#define LATE_AGAIN_MS    10000
#define LATE_MAX         64 /* threads that may be left to themselves */

/* A user whose process did not let something be found out in time. */
struct late_user {
    struct bounded *thread; /* that asks for it, and is not back yet; NULL = it is */
    void *asked;            /* what it was given */
    uid_t uid;
    int64_t until_ms; /* his are not asked before */
};

/* How long a user's environments took in this round. */
struct slow_user {
    uid_t uid;
    int64_t ms;
};

struct gpu_holders {
    struct proc_steps *steps;
    struct map_u64 *known;  /* struct gpu_holder by its process */
    int64_t boot_us;        /* 0 = not read yet */
    struct bounded *thread; /* does nothing; NULL = there is none */
    VEC(struct late_user) late;
    VEC(struct slow_user) slow;
    int64_t wait_ms; /* for environments, in what is left of the round */
};

static bool file_read(pid_t pid, const char *name, struct str *out)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
    return small_file_read(AT_FDCWD, path, FILE_BYTES, out);
}

static int64_t boot_us(void)
{
    char line[256];
    long long seconds = 0;
    FILE *f = fopen("/proc/stat", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "btime %lld", &seconds) == 1)
            break;
    if (f)
        fclose(f);
    return seconds * 1000000;
}

/* A name may hold anything, a line's end too. What is no letter of ASCII is a '?'. */
static void name_take(struct gpu_holder *h, const char *name, int len)
{
    snprintf(h->name, sizeof h->name, "%.*s", len, name);
    for (char *c = h->name; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

/* Its name and when it started, from /proc/PID/stat: "PID (NAME) STATE …". */
static bool stat_read(struct gpu_holders *m, struct gpu_holder *h)
{
    struct str text = STR_INIT;
    long ticks = sysconf(_SC_CLK_TCK);
    unsigned long long start = 0;
    bool ok = file_read(h->pid, "stat", &text) && text.len > 0;
    const char *open = ok ? strchr(str_text(&text), '(') : NULL,
               *close = ok ? strrchr(str_text(&text), ')') : NULL;
    if (open && close && close > open) {
        name_take(h, open + 1, (int)(close - open - 1));
        const char *at = close;
        for (int field = 2; field < 22 && at; field++) /* the 22nd: ticks since the boot */
            at = strchr(at + 1, ' ');
        start = at ? strtoull(at, NULL, 10) : 0;
    }
    m->boot_us = m->boot_us ? m->boot_us : boot_us();
    if (start && ticks > 0)
        h->start_us = m->boot_us + (int64_t)(start / (unsigned long long)ticks) * 1000000;
    str_done(&text);
    return ok;
}

/* In a user namespace its numbers are its maker's, whatever /etc/subuid lets him have: of those
 * around the process the outermost one that is not root's says whose. */
static void owner_find(pid_t pid, uid_t *inout)
{
    char path[64];
    struct stat ours, its;
    uid_t owner, last = 0;
    snprintf(path, sizeof path, "/proc/%ld/ns/user", (long)pid);
    if (*inout == 0 || stat("/proc/self/ns/user", &ours) != 0 || stat(path, &its) != 0 ||
        its.st_ino == ours.st_ino)
        return;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fstat(fd, &its) == 0 && its.st_ino != ours.st_ino) {
        if (ioctl(fd, NS_GET_OWNER_UID, &owner) == 0 && owner != 0)
            last = owner;
        int up = ioctl(fd, NS_GET_PARENT);
        close(fd);
        fd = up;
    }
    if (fd >= 0 && last != 0) /* else it is not below ours */
        *inout = last;
    if (fd >= 0)
        close(fd);
}

bool gpu_holder_user(pid_t pid, uid_t *ret, unsigned *ret_threads)
{
    struct str text = STR_INIT;
    bool ok = file_read(pid, "status", &text);
    const char *user = ok ? strstr(str_text(&text), "\nUid:\t") : NULL,
               *threads = ok ? strstr(str_text(&text), "\nThreads:\t") : NULL;
    if (user)
        *ret = (uid_t)strtoul(user + strlen("\nUid:\t"), NULL, 10);
    *ret_threads = threads ? (unsigned)strtoul(threads + strlen("\nThreads:\t"), NULL, 10) : 0;
    str_done(&text);
    if (user)
        owner_find(pid, ret);
    return user != NULL;
}

/* Its owner may write there what he likes: what names no step is not repeated. */
static bool assignment_take(void *ctx, const char *assignment)
{
    struct gpu_holder *h = ctx;
    struct str step = STR_INIT;
    uint64_t job_id;
    uint32_t attempt;
    int64_t step_id;
    if (text_starts(assignment, "REMUDA_STEP_DIR=")) {
        const char *name = strrchr(assignment, '/');
        h->of_job = true;
        if (name && step_dir_name_parse(name + 1, &job_id, &attempt, &step_id))
            step_dir_name(job_id, attempt, step_id, &step);
        snprintf(h->step, sizeof h->step, "%s", str_text(&step));
    }
    if (text_starts(assignment, "SLURM_JOB_ID="))
        h->job_id = strtoll(assignment + strlen("SLURM_JOB_ID="), NULL, 10);
    str_done(&step);
    return !h->of_job || !h->job_id;
}

static void environ_run(void *ctx)
{
    struct gpu_holder *h = ctx;
    proc_environ_each(h->pid, ENVIRON_BYTES, assignment_take, h);
}

/* What is back by now, and whose time is over. */
static void late_look(struct gpu_holders *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->late.n; i++) {
        struct late_user *l = &m->late.v[i];
        if (l->thread && bounded_wait(l->thread, 0)) {
            bounded_free(l->thread);
            free(l->asked);
            l->thread = NULL;
        }
        if (l->thread || bounded_now_ms() < l->until_ms)
            m->late.v[n++] = *l;
    }
    m->late.n = n;
}

static bool is_late(const struct gpu_holders *m, uid_t uid)
{
    bool late = false;
    size_t threads = 0;
    for (size_t i = 0; i < m->late.n && !late; i++) {
        late = m->late.v[i].uid == uid;
        threads += m->late.v[i].thread != NULL;
    }
    return late || threads >= LATE_MAX;
}

/* Whoever lets each of his come just in time would have the round's time for himself. */
static void slow_count(struct gpu_holders *m, uid_t uid, int64_t ms)
{
    size_t i = 0;
    while (i < m->slow.n && m->slow.v[i].uid != uid)
        i++;
    if (i == m->slow.n)
        vec_push(&m->slow, ((struct slow_user){.uid = uid}));
    m->slow.v[i].ms += ms;
    if (m->slow.v[i].ms > ENVIRON_WAIT_MS)
        vec_push(&m->late,
                 ((struct late_user){.uid = uid, .until_ms = bounded_now_ms() + LATE_AGAIN_MS}));
}

bool gpu_holders_ask(struct gpu_holders *m, uid_t uid, int64_t until_ms, void (*fn)(void *ctx),
                     void *ctx)
{
    bool began = false;
    late_look(m);
    if (!is_late(m, uid)) {
        m->thread = m->thread ? m->thread : bounded_new();
        began = bounded_begin(m->thread, fn, ctx);
    }
    if (began && bounded_wait(m->thread, until_ms))
        return true;
    if (!began) {
        free(ctx);
        return false;
    }
    vec_push(&m->late, ((struct late_user){m->thread, ctx, uid, bounded_now_ms() + LATE_AGAIN_MS}));
    m->thread = NULL;
    return false;
}

static void environ_take(struct gpu_holders *m, struct gpu_holder *h)
{
    if (m->wait_ms <= 0)
        return;
    struct gpu_holder *said = xmalloc(sizeof *said);
    *said = *h;
    int64_t begin_ms = bounded_now_ms();
    int64_t wait_ms = m->wait_ms < ENVIRON_WAIT_MS ? m->wait_ms : ENVIRON_WAIT_MS;
    bool in_time = gpu_holders_ask(m, h->uid, begin_ms + wait_ms, environ_run, said);
    int64_t took_ms = bounded_now_ms() - begin_ms;
    m->wait_ms -= took_ms;
    if (!in_time)
        return;
    slow_count(m, h->uid, took_ms);
    *h = *said;
    free(said);
}

/* The kernel knows whose child it is. What it says of itself counts where it is no shepherd's: a
 * session that was put into a job's groups, or what was left when a shepherd was killed. */
static void job_read(struct gpu_holders *m, struct gpu_holder *h)
{
    struct proc_step found;
    struct str text = STR_INIT;
    bool has_groups = file_read(h->pid, "cgroup", &text) && text.len > 0;
    bool in_group = has_groups && groups_are_of_job(str_text(&text)),
         left_it = has_groups && groups_left_job(str_text(&text));
    str_done(&text);
    if (proc_steps_find(m->steps, h->pid, &found)) {
        if (found.elsewhere)
            return;
        step_dir_name(found.job_id, found.attempt, found.step_id, &text);
        snprintf(h->step, sizeof h->step, "%s", str_text(&text));
        h->job_id = (int64_t)found.job_id;
        h->of_job = h->below_shepherd = true;
        h->sees_all = left_it;
        str_done(&text);
        return;
    }
    environ_take(m, h);
    h->only_says = h->of_job && !in_group;
    h->of_job |= in_group;
}

bool gpu_holder_find(struct gpu_holders *m, pid_t pid, struct gpu_holder *ret)
{
    struct gpu_holder *known = map_u64_get(m->known, (uint64_t)pid);
    if (known) {
        *ret = *known;
        return true;
    }
    unsigned threads;
    *ret = (struct gpu_holder){.pid = pid};
    if (!stat_read(m, ret) || !gpu_holder_user(pid, &ret->uid, &threads))
        return false;
    job_read(m, ret);
    known = xmalloc(sizeof *known);
    *known = *ret;
    map_u64_put(m->known, (uint64_t)pid, known);
    return true;
}

struct gpu_holders *gpu_holders_new(void)
{
    struct gpu_holders *m = xcalloc(1, sizeof *m);
    m->steps = proc_steps_new(geteuid());
    m->known = map_u64_new();
    m->wait_ms = ENVIRONS_WAIT_MS;
    return m;
}

void gpu_holders_steps_at(struct gpu_holders *m, const char *dir)
{
    ASSERT(m);
    proc_steps_at(m->steps, dir);
}

static void known_free(struct gpu_holders *m)
{
    struct map_walk w = {0};
    while (map_u64_next(m->known, &w))
        free(w.value);
    map_u64_free(m->known);
}

void gpu_holders_forget(struct gpu_holders *m)
{
    proc_steps_forget(m->steps);
    known_free(m);
    m->known = map_u64_new();
    m->boot_us = 0;
}

void gpu_holders_round(struct gpu_holders *m)
{
    gpu_holders_forget(m);
    m->wait_ms = ENVIRONS_WAIT_MS;
    vec_clear(&m->slow);
}

void gpu_holders_free(struct gpu_holders *m)
{
    if (!m)
        return;
    late_look(m);
    for (size_t i = 0; i < m->late.n; i++)
        bounded_free(m->late.v[i].thread); /* what it was given is left to it */
    vec_done(&m->late);
    vec_done(&m->slow);
    bounded_free(m->thread);
    proc_steps_free(m->steps);
    known_free(m);
    free(m);
}

bool gpu_holder_counts(const struct gpu_holder *h, const struct gpu_held_use *use,
                       enum gpu_holding how, bool many_users)
{
    bool newer = !h->start_us || h->start_us + SLACK_US >= use->from_us;
    bool of_it = h->of_job && h->job_id == (int64_t)use->job_id;
    bool is_outside = !h->of_job || h->only_says || h->sees_all;
    if (how == GPU_OPEN_APART && !is_outside)
        return true;
    if (how != GPU_COMPUTES) /* a library may open the files of all devices it can see */
        return use->from_us && (of_it || (is_outside && h->uid == use->uid && newer));
    if (h->of_job)
        return true;
    if (use->from_us == 0)
        return many_users && h->uid != 0;
    return newer && (h->uid != 0 || use->uid == 0);
}

/* "7.1.*" are all steps of that run. */
static bool step_is_of(const char *step, struct span name)
{
    bool all = name.len > 0 && name.data[name.len - 1] == '*';
    return step[0] && (all ? strncmp(step, name.data, name.len - 1) == 0 : span_is(name, step));
}

bool gpu_holder_goes_on(const struct gpu_holder *h, const struct gpu_held_use *use,
                        const char *steps)
{
    struct span rest = span_of(steps), one, name;
    char job[24];
    bool of_these = false, is_known = h->job_id != 0 || h->step[0];
    bool only_numbered = !h->below_shepherd && !h->step[0]; /* by its environment */
    if (!*steps)
        return false;
    if (!h->of_job)
        return h->uid == use->uid;
    snprintf(job, sizeof job, "%lld.", (long long)h->job_id);
    while (span_next(&rest, '+', &one)) {
        span_next(&one, '@', &name);
        bool is_his = one.len && h->uid == (uid_t)strtoul(one.data, NULL, 10);
        if (one.len && !is_his && !h->below_shepherd && h->uid != 0)
            continue; /* what it says of itself is not true */
        if (step_is_of(h->step, name))
            return true;
        of_these |= !is_known || (only_numbered && is_his) || text_starts(name.data, job);
    }
    return !h->step[0] && of_these;
}
