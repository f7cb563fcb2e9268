/* A shepherd is told by its name ("rm-42") and its user, and its step by the state file that it has
 * open as long as it lives (step/dir.h): STEPS/42.1.0/state. */
#include "node/step/proc_step.h"

#include "base/alloc.h"
#include "base/str.h"
#include "node/step/dir.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANCESTORS_MAX 1000 /* however deep somebody nests his processes */
#define STATUS_BYTES  (64u << 10)
#define SHEPHERD_NAME "Name:\trm-"

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

static bool shepherd_step(pid_t pid, struct proc_step *ret)
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
    }
    if (fds)
        closedir(fds);
    return found;
}

bool proc_step_find(pid_t pid, uid_t keeper, struct proc_step *ret)
{
    ASSERT(pid > 0);
    uid_t uid;
    bool named;
    pid_t parent;
    for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++, pid = parent) {
        if (!status_read(pid, &parent, &uid, &named))
            return false;
        if (named && uid == keeper && shepherd_step(pid, ret))
            return true;
    }
    return false;
}
