#include "node/cgroup/files.h"

#include "node/cgroup/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const char *const memory_files[CGROUP_FILE_KINDS][2] = {
    [CGROUP_KILLS] = {"memory.oom_control", "memory.events"},
    [CGROUP_KILLS_JOB] = {"../memory.oom_control", "../memory.events"},
    [CGROUP_CHARGED] = {"memory.usage_in_bytes", "memory.current"},
    [CGROUP_CHARGED_JOB] = {"../memory.usage_in_bytes", "../memory.current"},
    [CGROUP_SWAP] = {"memory.memsw.usage_in_bytes", "memory.swap.current"},
    [CGROUP_SWAP_JOB] = {"../memory.memsw.usage_in_bytes", "../memory.swap.current"},
    [CGROUP_PEAK] = {"memory.max_usage_in_bytes", "memory.peak"},
    [CGROUP_PEAK_JOB] = {"../memory.max_usage_in_bytes", "../memory.peak"},
};

static int open_once(int *plus1, int dir_fd, const char *file, int flags)
{
    if (!*plus1)
        *plus1 = openat(dir_fd, file, flags | O_CLOEXEC) + 1;
    return *plus1 - 1;
}

static bool text_get(int fd, char *buffer, size_t size)
{
    ssize_t n = fd < 0 ? -1 : pread(fd, buffer, size - 1, 0);
    if (n < 0)
        return false;
    buffer[n] = '\0';
    return true;
}

bool cgroup_file_get(struct cgroup_files *f, enum cgroup_file which, int dir_fd, bool v2,
                     char *buffer, size_t size)
{
    return text_get(open_once(&f->memory[which], dir_fd, memory_files[which][v2], O_RDONLY), buffer,
                    size);
}

bool cgroup_file_put(struct cgroup_files *f, enum cgroup_file which, int dir_fd, bool v2,
                     const char *text)
{
    int fd = open_once(&f->memory[which], dir_fd, memory_files[which][v2], O_WRONLY);
    return fd >= 0 && pwrite(fd, text, strlen(text), 0) == (ssize_t)strlen(text);
}

void cgroup_files_tasks(struct cgroup_files *f, size_t i, int dir_fd)
{
    open_once(&f->tasks[i], dir_fd, "tasks", O_WRONLY);
}

bool cgroup_files_enter(const struct cgroup_files *f, size_t i, int dir_fd)
{
    return f->tasks[i] ? pwrite(f->tasks[i] - 1, "0", 1, 0) == 1
                       : cgroup_put_at(dir_fd, "tasks", "0");
}

/* Version 1 keeps the list that an open file gave once for a second. */
bool cgroup_files_no_process(struct cgroup_files *f, int dir_fd, bool v2)
{
    char text[16];
    bool known =
        v2 ? text_get(open_once(&f->procs, dir_fd, "cgroup.procs", O_RDONLY), text, sizeof text)
           : cgroup_get_at(dir_fd, "cgroup.procs", text, sizeof text);
    return known && !*text;
}

static void close_plus1(int *plus1)
{
    if (*plus1)
        close(*plus1 - 1);
    *plus1 = 0;
}

void cgroup_files_close(struct cgroup_files *f)
{
    for (size_t i = 0; i < CGROUP_FILE_KINDS; i++)
        close_plus1(&f->memory[i]);
    for (size_t i = 0; i < CGROUP_FILES_MAX; i++)
        close_plus1(&f->tasks[i]);
    close_plus1(&f->procs);
}
