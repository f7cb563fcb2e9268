#include "cli/submit/scrontab.h"

#include "base/str.h"
#include "cli/submit/script.h"
#include "io/fd.h"
#include "model/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *scrontab_read_fd(int fd, const char *name, struct arena *a, struct err *ret_err)
{
    size_t len;
    const char *text = submit_read_fd(fd, LIMIT_TEXT_BYTES, a, &len, ret_err);
    if (!text) {
        err_prefix(ret_err, "%s", name);
        return NULL;
    }
    if (len > LIMIT_TEXT_BYTES) {
        err_set(ret_err, ERR_LIMIT, "%s: a table has at most 64 KiB", name);
        return NULL;
    }
    if (memchr(text, 0, len)) {
        err_set(ret_err, ERR_INVALID, "%s has a NUL byte in it: it is no table", name);
        return NULL;
    }
    return text;
}

const char *scrontab_file_make(const char *text, struct arena *a, struct err *ret_err)
{
    const char *dir = getenv("TMPDIR");
    char *path = arena_printf(a, "%s/scrontab.XXXXXX", text_empty(dir) ? "/tmp" : dir);
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0 && fd_write_all(fd, text, strlen(text)) && close(fd) == 0)
        return path;
    err_set(ret_err, ERR_UNAVAILABLE, "a file to edit cannot be written (%s: %s)", path,
            strerror(errno));
    return NULL;
}

/* As cron's: the shell reads the variable, which may hold options. Keys that end programs are the
 * editor's meanwhile. */
static bool editor_run(const char *editor, const char *path, struct err *e)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, intr, quit;
    int status = 0;
    sigaction(SIGINT, &ignore, &intr);
    sigaction(SIGQUIT, &ignore, &quit);
    pid_t pid = fork();
    if (pid == 0) {
        sigaction(SIGINT, &intr, NULL);
        sigaction(SIGQUIT, &quit, NULL);
        execl("/bin/sh", "sh", "-c", "exec $0 \"$1\"", editor, path, (char *)NULL);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    sigaction(SIGINT, &intr, NULL);
    sigaction(SIGQUIT, &quit, NULL);
    if (pid < 0)
        return err_set(e, ERR_UNAVAILABLE, "the editor cannot be started: %s", strerror(errno));
    return (WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
           err_set(e, ERR_INVALID,
                   "the editor \"%s\" did not end well (VISUAL, else EDITOR names it)", editor);
}

const char *scrontab_file_edit(const char *path, struct arena *a, struct err *ret_err)
{
    const char *editor = getenv("VISUAL");
    editor = text_empty(editor) ? getenv("EDITOR") : editor;
    if (!editor_run(text_empty(editor) ? "vi" : editor, path, ret_err))
        return NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        err_set(ret_err, ERR_NOT_FOUND, "%s is gone: %s", path, strerror(errno));
        return NULL;
    }
    const char *text = scrontab_read_fd(fd, path, a, ret_err);
    close(fd);
    return text;
}
