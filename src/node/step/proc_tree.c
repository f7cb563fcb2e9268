#include "node/step/proc_tree.h"
#include "base/alloc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct list {
    const struct proc_list *to;
    pid_t top; /* of those that are added now; 0 = each is its own */
    size_t n;
};

static void list_add(struct list *l, pid_t pid)
{
    if (l->n == l->to->max)
        return;
    if (l->to->top)
        l->to->top[l->n] = l->top ? l->top : pid;
    l->to->pid[l->n++] = pid;
}

static ssize_t text_read(const char *path, char *buffer, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, buffer, size - 1);
    close(fd);
    if (n >= 0)
        buffer[n] = '\0';
    return n;
}

/* The file may be longer than the buffer: a number goes on in the next piece. */
static void children_file_add(struct list *l, const char *path)
{
    char buffer[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    long number = 0;
    bool in_number = false;
    ssize_t n;
    if (fd < 0)
        return;
    while ((n = read(fd, buffer, sizeof buffer)) > 0) {
        for (ssize_t i = 0; i < n; i++) {
            if (isdigit((unsigned char)buffer[i])) {
                number = 10 * number + (buffer[i] - '0');
                in_number = true;
            } else if (in_number) {
                list_add(l, (pid_t)number);
                number = 0;
                in_number = false;
            }
        }
    }
    close(fd);
}

/* Children belong to the thread that made them. */
static void children_add(struct list *l, pid_t pid)
{
    char path[96];
    struct dirent *e;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return;
    while ((e = readdir(tasks))) {
        if (!isdigit((unsigned char)e->d_name[0]))
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/children", (int)pid, e->d_name);
        children_file_add(l, path);
    }
    closedir(tasks);
}

static bool has_children_files(pid_t pid)
{
    char path[96];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    return access(path, R_OK) == 0;
}

/* The fields of /proc/PID/stat after the name in parentheses, which may hold anything; [0] is the
 * state, [1] the parent. */
#define STAT_FIELDS 24
static size_t stat_split(char *buffer, const char **field)
{
    char *at = strrchr(buffer, ')');
    size_t n = 0;
    char *save = NULL;
    for (char *word = at ? strtok_r(at + 1, " ", &save) : NULL; word && n < STAT_FIELDS;
         word = strtok_r(NULL, " ", &save))
        field[n++] = word;
    return n;
}

static bool stat_read(pid_t pid, char *buffer, size_t size)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    return text_read(path, buffer, size) > 0;
}

/* Its parent and when it began, in ticks since the boot: 0 = it has ended, all its threads. */
static bool birth_read(pid_t pid, pid_t *ret_parent, uint64_t *ret_start)
{
    char buffer[1024];
    const char *field[STAT_FIELDS];
    if (!stat_read(pid, buffer, sizeof buffer) || stat_split(buffer, field) < 20)
        return false;
    bool ended = strchr("ZX", field[0][0]) && strtol(field[17], NULL, 10) <= 1;
    *ret_parent = (pid_t)strtol(field[1], NULL, 10);
    *ret_start = ended ? 0 : strtoull(field[19], NULL, 10);
    return true;
}

/* ---- threads ---- */

/* What the kernel says of a thread. */
struct thread_stat {
    pid_t thread;
    char text[1024];
    const char *field[STAT_FIELDS];
};

static bool has_not_ended(const struct thread_stat *t)
{
    return !strchr("ZX", t->field[0][0]);
}

/* A thread gives its memory up before the rest, which may take long. */
static bool has_memory(const struct thread_stat *t)
{
    return strtoull(t->field[20], NULL, 10) > 0;
}

static bool thread_read(pid_t pid, pid_t thread, struct thread_stat *ret)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)thread);
    ret->thread = thread;
    return text_read(path, ret->text, sizeof ret->text) > 0 &&
           stat_split(ret->text, ret->field) >= 22;
}

/* The first of a process's threads may end before the others, and then has neither a state nor
 * memory, which they have. False: none of them is such a one. */
static bool thread_find(pid_t pid, bool (*is_such)(const struct thread_stat *t),
                        struct thread_stat *ret)
{
    char path[40];
    const struct dirent *e;
    bool found = thread_read(pid, pid, ret) && is_such(ret);
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = found ? NULL : opendir(path);
    while (tasks && !found && (e = readdir(tasks)))
        found = isdigit((unsigned char)e->d_name[0]) &&
                thread_read(pid, (pid_t)strtol(e->d_name, NULL, 10), ret) && is_such(ret);
    if (tasks)
        closedir(tasks);
    return found;
}

pid_t proc_thread(pid_t pid)
{
    ASSERT(pid > 0);
    struct thread_stat t;
    return thread_find(pid, has_not_ended, &t) ? t.thread : 0;
}

char proc_state(pid_t pid)
{
    ASSERT(pid > 0);
    struct thread_stat t;
    return thread_find(pid, has_not_ended, &t) || thread_read(pid, pid, &t) ? t.field[0][0] : '?';
}

bool proc_goes_on(pid_t pid)
{
    return !strchr("TtZX?", proc_state(pid));
}

uint64_t proc_start(pid_t pid)
{
    pid_t parent;
    uint64_t start;
    return birth_read(pid, &parent, &start) ? start : 0;
}

/* For kernels without children files: all processes whose parent it is. */
static void scan_add(struct list *l, pid_t parent)
{
    struct dirent *e;
    pid_t of;
    uint64_t start;
    DIR *proc = opendir("/proc");
    if (!proc)
        return;
    while ((e = readdir(proc))) {
        pid_t pid = isdigit((unsigned char)e->d_name[0]) ? (pid_t)strtol(e->d_name, NULL, 10) : 0;
        if (pid > 0 && birth_read(pid, &of, &start) && of == parent)
            list_add(l, pid);
    }
    closedir(proc);
}

static void entry_move(const struct proc_list *l, size_t from, size_t to)
{
    l->pid[to] = l->pid[from];
    l->start[to] = l->start[from];
    if (l->top)
        l->top[to] = l->top[from];
}

/* Those that were added from `from` on: are they the children of that process, or of root, who
 * inherits them? If it has ended since it was put into the list, its number may be another's, with
 * children of its own. */
static void children_keep(struct list *l, size_t from, pid_t parent, uint64_t start, pid_t root)
{
    const struct proc_list *to = l->to;
    size_t kept = from;
    pid_t of;
    for (size_t i = from; i < l->n; i++) {
        if (!birth_read(to->pid[i], &of, &to->start[i]) || (of != parent && of != root))
            continue;
        entry_move(to, i, kept);
        to->pid[kept++] *= of == root ? 1 : -1; /* as long as it is not known */
    }
    bool same = parent == root || kept == from || proc_start(parent) == start;
    l->n = from;
    for (size_t i = from; i < kept; i++) {
        if (to->pid[i] < 0 && !same)
            continue;
        entry_move(to, i, l->n);
        if (to->pid[l->n] < 0)
            to->pid[l->n] = -to->pid[l->n];
        l->n++;
    }
}

size_t proc_tree(pid_t root, const struct proc_list *ret)
{
    ASSERT(ret->max > 0 && ret->pid && ret->start);
    struct list l = {.to = ret};
    void (*add)(struct list *, pid_t) = has_children_files(root) ? children_add : scan_add;
    add(&l, root);
    children_keep(&l, 0, root, 0, root);
    for (size_t i = 0; i < l.n && l.n < ret->max; i++) {
        size_t from = l.n;
        if (!ret->start[i])
            continue;
        l.top = ret->top ? ret->top[i] : 0;
        add(&l, ret->pid[i]);
        children_keep(&l, from, ret->pid[i], ret->start[i], root);
    }
    return l.n;
}

/* By a handle the kernel sends to that process or to nobody. */
static bool signal_by(int handle, int signo, const union sigval *value)
{
    siginfo_t info = {0};
    if (value) {
        info.si_signo = signo;
        info.si_code = SI_QUEUE;
        info.si_pid = getpid();
        info.si_uid = getuid();
        info.si_value = *value;
    }
    return syscall(SYS_pidfd_send_signal, handle, signo, value ? &info : NULL, 0) == 0;
}

/* Without handles (before Linux 5.3, or there are too many open) the moment remains in which it may
 * end. */
bool proc_signal(pid_t pid, uint64_t start, int signo, const union sigval *value)
{
    ASSERT(pid > 0);
    int handle = start ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    bool same = start && proc_start(pid) == start, ok = false;
    if (same && handle >= 0)
        ok = signal_by(handle, signo, value);
    else if (same)
        ok = value ? sigqueue(pid, signo, *value) == 0 : kill(pid, signo) == 0;
    else
        errno = ESRCH;
    int why = errno;
    if (handle >= 0)
        close(handle);
    errno = why;
    return ok;
}

static int64_t number_after(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? strtoll(at + strlen(key), NULL, 10) : 0;
}

void proc_io(pid_t pid, int64_t *ret_read_bytes, int64_t *ret_write_bytes)
{
    ASSERT(pid > 0);
    char buffer[1024], path[40];
    snprintf(path, sizeof path, "/proc/%d/io", (int)pid);
    bool known = text_read(path, buffer, sizeof buffer) > 0;
    *ret_read_bytes = known ? number_after(buffer, "rchar: ") : 0;
    *ret_write_bytes = known ? number_after(buffer, "wchar: ") : 0;
}

/* Nothing a kernel says is larger; what is can be added and multiplied all the same. */
static int64_t number_of(const char *text)
{
    int64_t n = strtoll(text, NULL, 10), most = INT64_C(1) << 48;
    return n < 0 ? 0 : n < most ? n : most;
}

static void usage_of(const char *const *field, struct proc_usage *ret)
{
    int64_t tick_us = 1000000 / sysconf(_SC_CLK_TCK);
    *ret = (struct proc_usage){
        .major_faults = number_of(field[9]),
        .cpu_user_us = (number_of(field[11]) + number_of(field[13])) * tick_us,
        .cpu_system_us = (number_of(field[12]) + number_of(field[14])) * tick_us,
        .vm_bytes = number_of(field[20]),
        .rss_bytes = number_of(field[21]) * sysconf(_SC_PAGESIZE),
    };
}

bool proc_usage_parse(char *stat, struct proc_usage *ret)
{
    const char *field[STAT_FIELDS];
    bool ok = stat_split(stat, field) >= 22;
    if (ok)
        usage_of(field, ret);
    return ok;
}

bool proc_usage(pid_t pid, struct proc_usage *ret)
{
    ASSERT(pid > 0);
    char buffer[1024];
    struct thread_stat t;
    struct proc_usage of_thread;
    bool ok = stat_read(pid, buffer, sizeof buffer) && proc_usage_parse(buffer, ret);
    if (ok && ret->vm_bytes == 0 && thread_find(pid, has_memory, &t)) {
        usage_of(t.field, &of_thread);
        ret->vm_bytes = of_thread.vm_bytes;
        ret->rss_bytes = of_thread.rss_bytes;
    }
    return ok;
}

int64_t proc_share_bytes(pid_t pid)
{
    ASSERT(pid > 0);
    char buffer[2048], path[64];
    struct thread_stat t;
    if (!thread_find(pid, has_memory, &t))
        return -1;
    snprintf(path, sizeof path, "/proc/%d/task/%d/smaps_rollup", (int)pid, (int)t.thread);
    if (text_read(path, buffer, sizeof buffer) <= 0 || !strstr(buffer, "Pss:"))
        return -1;
    return number_after(buffer, "\nPss:") * 1024;
}
