/* A shepherd is told by its name ("rm-42") and its user, and its step by the state file that it has
 * open as long as it lives (step/dir.h): STEPS/42.1.0/state. */
#include "node/step/proc_step.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/str.h"
#include "node/step/dir.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANCESTORS_MAX 1000 /* however deep somebody nests his processes */
#define STATUS_BYTES  (64u << 10)
#define SHEPHERD_NAME "Name:\trm-"

/* What was read of a process. */
struct ancestor {
    pid_t parent;
    bool is_shepherd;
    struct proc_step step; /* of a shepherd */
};

struct proc_steps {
    uid_t keeper;
    struct map_u64 *known; /* by process */
    char *dir;             /* of this node's steps; owned; NULL = not said */
};

/* Of /proc/PID/status: its parent, its user, and whether it has a shepherd's name. A name has its
 * line's ends escaped there. */
static bool status_read(pid_t pid, pid_t *ret_parent, uid_t *ret_uid, bool *ret_named)
{
    char path[64];
    struct str text = STR_INIT;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    bool ok = small_file_read(AT_FDCWD, path, STATUS_BYTES, &text) && text.len > 0;
    const char *parent = ok ? strstr(str_text(&text), "\nPPid:\t") : NULL,
               *uid = ok ? strstr(str_text(&text), "\nUid:\t") : NULL;
    *ret_parent = parent ? (pid_t)strtol(parent + strlen("\nPPid:\t"), NULL, 10) : 0;
    *ret_uid = uid ? (uid_t)strtoul(uid + strlen("\nUid:\t"), NULL, 10) : (uid_t)-1;
    *ret_named = ok && text_starts(str_text(&text), SHEPHERD_NAME);
    str_done(&text);
    return ok;
}

/* "/x/steps/42.1.0/state" */
static bool state_path_take(char *path, struct proc_step *ret)
{
    char *file = strrchr(path, '/');
    if (!file || strcmp(file, "/state") != 0)
        return false;
    *file = '\0';
    const char *name = strrchr(path, '/');
    return name && (size_t)(name - path) >= strlen("/steps") &&
           strncmp(name - strlen("/steps"), "/steps", strlen("/steps")) == 0 &&
           step_dir_name_parse(name + 1, &ret->job_id, &ret->attempt, &ret->step_id);
}

/* Not by its name: a daemon that was started anew may see it by another. */
static bool is_elsewhere(const struct proc_steps *s, int fds, const char *fd,
                         const struct proc_step *step)
{
    struct stat its, ours;
    struct str path = STR_INIT;
    if (!s->dir || fstatat(fds, fd, &its, 0) != 0)
        return false;
    str_addf(&path, "%s/", s->dir);
    step_dir_name(step->job_id, step->attempt, step->step_id, &path);
    str_add(&path, "/state");
    bool is_there = stat(str_text(&path), &ours) == 0;
    bool other =
        is_there ? its.st_dev != ours.st_dev || its.st_ino != ours.st_ino : errno == ENOENT;
    str_done(&path);
    return other;
}

static bool shepherd_step(const struct proc_steps *s, pid_t pid, struct proc_step *ret)
{
    char path[PATH_MAX];
    const struct dirent *e;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
    DIR *fds = opendir(path);
    while (fds && !found && (e = readdir(fds))) {
        ssize_t n = isdigit((unsigned char)e->d_name[0])
                        ? readlinkat(dirfd(fds), e->d_name, path, sizeof path - 1)
                        : -1;
        path[n > 0 ? n : 0] = '\0';
        found = state_path_take(path, ret);
        if (found)
            ret->elsewhere = is_elsewhere(s, dirfd(fds), e->d_name, ret);
    }
    if (fds)
        closedir(fds);
    return found;
}

/* NULL if there is no such process. */
static const struct ancestor *ancestor_of(struct proc_steps *s, pid_t pid)
{
    struct ancestor *found = map_u64_get(s->known, (uint64_t)pid), read = {0};
    uid_t uid;
    bool named;
    if (found || !status_read(pid, &read.parent, &uid, &named))
        return found;
    read.is_shepherd = named && uid == s->keeper && shepherd_step(s, pid, &read.step);
    found = xmalloc(sizeof *found);
    *found = read;
    map_u64_put(s->known, (uint64_t)pid, found);
    return found;
}

bool proc_steps_find(struct proc_steps *s, pid_t pid, struct proc_step *ret)
{
    ASSERT(pid > 0);
    const struct ancestor *a = NULL;
    bool found = false;
    for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++, pid = a->parent) {
        a = ancestor_of(s, pid);
        if (!a)
            return found;
        if (a->is_shepherd) {
            *ret = a->step;
            found = true;
        }
        if (found && !ret->elsewhere) /* else that daemon may be of a step of ours */
            return true;
    }
    return found;
}

struct proc_steps *proc_steps_new(uid_t keeper)
{
    struct proc_steps *s = xcalloc(1, sizeof *s);
    *s = (struct proc_steps){.keeper = keeper, .known = map_u64_new()};
    return s;
}

void proc_steps_at(struct proc_steps *s, const char *dir)
{
    ASSERT(dir);
    free(s->dir);
    s->dir = xstrdup(dir);
}

void proc_steps_forget(struct proc_steps *s)
{
    struct map_walk w = {0};
    while (map_u64_next(s->known, &w))
        free(w.value);
    map_u64_free(s->known);
    s->known = map_u64_new();
}

void proc_steps_free(struct proc_steps *s)
{
    if (!s)
        return;
    proc_steps_forget(s);
    map_u64_free(s->known);
    free(s->dir);
    free(s);
}
