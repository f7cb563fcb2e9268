#include "node/hardware/gpu_holders.h"

#include "base/alloc.h"
#include "base/str.h"
#include "io/process/groups.h"
#include "node/step/dir.h"
#include "node/step/proc_environ.h"
#include "node/step/proc_step.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLACK_US   INT64_C(2000000) /* of the boot time, which is known in whole seconds */
#define FILE_BYTES (64u << 10)      /* of what the kernel says of a process */
/* Of what the process says; it is asked each second. In a longer environment its step may not be
 * found: then its groups tell that it is a job's. */
#define ENVIRON_BYTES (1u << 20)

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
static bool stat_read(struct gpu_holder *h)
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
    if (start && ticks > 0)
        h->start_us = boot_us() + (int64_t)(start / (unsigned long long)ticks) * 1000000;
    str_done(&text);
    return ok;
}

/* Whose it is: the directory is root's in /proc where its owner closed its memory to others. */
static bool owner_read(struct gpu_holder *h)
{
    struct str text = STR_INIT;
    const char *line =
        file_read(h->pid, "status", &text) ? strstr(str_text(&text), "\nUid:\t") : NULL;
    if (line)
        h->uid = (uid_t)strtoul(line + strlen("\nUid:\t"), NULL, 10);
    str_done(&text);
    return line != NULL;
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

/* The kernel knows whose child it is. What it says of itself counts where it is no shepherd's: a
 * session that was put into a job's groups, or what was left when a shepherd was killed. */
static void job_read(struct gpu_holder *h)
{
    struct proc_step found;
    struct str text = STR_INIT;
    if (proc_step_find(h->pid, geteuid(), &found)) {
        step_dir_name(found.job_id, found.attempt, found.step_id, &text);
        snprintf(h->step, sizeof h->step, "%s", str_text(&text));
        h->job_id = (int64_t)found.job_id;
        h->of_job = true;
        str_done(&text);
        return;
    }
    proc_environ_each(h->pid, ENVIRON_BYTES, assignment_take, h);
    bool in_group =
        file_read(h->pid, "cgroup", &text) && text.len > 0 && groups_are_of_job(str_text(&text));
    h->only_says = h->of_job && !in_group;
    h->of_job |= in_group;
    str_done(&text);
}

bool gpu_holder_find(pid_t pid, struct gpu_holder *ret)
{
    *ret = (struct gpu_holder){.pid = pid};
    if (!stat_read(ret) || !owner_read(ret))
        return false;
    job_read(ret);
    return true;
}

bool gpu_holder_counts(const struct gpu_holder *h, const struct gpu_held_use *use, bool computes,
                       bool many_users)
{
    bool newer = !h->start_us || h->start_us + SLACK_US >= use->from_us;
    bool of_it = h->of_job && h->job_id == (int64_t)use->job_id;
    if (!computes) /* a library may open the files of all devices it can see */
        return use->from_us &&
               (of_it || ((!h->of_job || h->only_says) && h->uid == use->uid && newer));
    if (h->of_job)
        return true;
    if (use->from_us == 0)
        return many_users && h->uid != 0;
    return newer && (h->uid != 0 || use->uid == 0);
}

bool gpu_holder_goes_on(const struct gpu_holder *h, const struct gpu_held_use *use,
                        const char *steps)
{
    struct span rest = span_of(steps), one, name;
    char job[24];
    bool of_these = false;
    if (!*steps)
        return false;
    if (!h->of_job)
        return h->uid == use->uid;
    snprintf(job, sizeof job, "%lld.", (long long)h->job_id);
    while (span_next(&rest, '+', &one)) {
        span_next(&one, '@', &name);
        if (one.len && h->uid != 0 && h->uid != (uid_t)strtoul(one.data, NULL, 10))
            continue; /* what it says of itself is not true */
        if (h->step[0] && span_is(name, h->step))
            return true;
        of_these |= text_starts(name.data, job);
    }
    return !h->step[0] && of_these;
}

/* Marks those of the files that the process has open. Other files of its, which may be millions and
 * on file systems that do not answer, are not asked for anew. */
static bool open_files(pid_t pid, const struct device_number *files, size_t n, bool *ret_open)
{
    ASSERT(n > 0);
    char path[64];
    struct dirent *e;
    bool any = false;
    snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
    DIR *fds = opendir(path);
    memset(ret_open, 0, n * sizeof *ret_open);
    while (fds && (e = readdir(fds))) {
        struct statx st;
        if (!isdigit((unsigned char)e->d_name[0]) ||
            statx(dirfd(fds), e->d_name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &st) !=
                0 ||
            !S_ISCHR(st.stx_mode))
            continue;
        for (size_t i = 0; i < n; i++)
            if (st.stx_rdev_major == files[i].major && st.stx_rdev_minor == files[i].minor)
                any = ret_open[i] = true;
    }
    if (fds)
        closedir(fds);
    return any;
}

static bool is_one_of(uid_t uid, const uid_t *users, size_t n)
{
    bool found = uid == 0;
    for (size_t i = 0; i < n && !found; i++)
        found = users[i] == uid;
    return found;
}

void gpu_holders_each(const struct gpu_holders_ask *ask,
                      void (*fn)(void *ctx, const struct gpu_holder *h,
                                 const struct device_number *file),
                      void *ctx)
{
    bool is_open[GPU_FILES_MAX];
    struct dirent *e;
    size_t n = ask->n < GPU_FILES_MAX ? ask->n : GPU_FILES_MAX;
    DIR *proc = n > 0 ? opendir("/proc") : NULL;
    while (proc && (e = readdir(proc))) {
        struct gpu_holder h = {
            .pid = isdigit((unsigned char)e->d_name[0]) ? (pid_t)strtol(e->d_name, NULL, 10) : 0};
        if (h.pid <= 0 || h.pid == getpid() || !owner_read(&h) ||
            !is_one_of(h.uid, ask->users, ask->nusers) ||
            !open_files(h.pid, ask->files, n, is_open) || !gpu_holder_find(h.pid, &h))
            continue;
        for (size_t i = 0; i < n; i++)
            if (is_open[i])
                fn(ctx, &h, &ask->files[i]);
    }
    if (proc)
        closedir(proc);
}
