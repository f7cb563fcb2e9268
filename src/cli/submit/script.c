#include "cli/submit/script.h"

#include "base/alloc.h"
#include "base/str.h"
#include "model/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *submit_read_fd(int fd, size_t max, struct arena *a, size_t *ret_len,
                           struct err *ret_err)
{
    ASSERT(fd >= 0 && max > 0);
    struct stat st;
    bool sized =
        fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= 0 && (size_t)st.st_size <= max;
    size_t cap = sized ? (size_t)st.st_size + 2 : 65536, len = 0;
    char *text = arena_alloc(a, cap);
    while (len <= max) {
        if (len + 1 == cap) {
            char *more = arena_alloc(a, 2 * cap);
            memcpy(more, text, len);
            text = more;
            cap *= 2;
        }
        ssize_t n = read(fd, text + len, cap - 1 - len);
        if (n == 0)
            break;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            err_set(ret_err, errno == EISDIR ? ERR_INVALID : ERR_UNAVAILABLE, "%s",
                    strerror(errno));
            return NULL;
        }
        len += (size_t)n;
    }
    text[len] = 0;
    *ret_len = len;
    return text;
}

/* A readable regular file, pipe or device (snakemake submits /dev/stdin); no directory. */
static int script_open(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        close(fd);
        errno = EISDIR;
        return -1;
    }
    return fd;
}

static const char *joined(struct arena *a, const char *dir, const char *name)
{
    return arena_printf(a, "%s/%s", text_is(dir, "/") ? "" : dir, name);
}

static int open_through_path(const char *word, struct arena *a, const char **ret_path)
{
    const char *path = getenv("PATH");
    struct span rest = span_of(path), dir;
    while (!strchr(word, '/') && span_next(&rest, ':', &dir)) {
        if (dir.len == 0)
            continue;
        *ret_path = joined(a, arena_strndup(a, dir.data, dir.len), word);
        int fd = script_open(*ret_path);
        if (fd >= 0)
            return fd;
    }
    return -1;
}

static int script_find(const char *word, const char *dir, const char *cwd, struct arena *a,
                       const char **ret_path)
{
    if (word[0] == '/') {
        *ret_path = word;
        return script_open(word);
    }
    const char *places[] = {dir, cwd};
    int why = ENOENT;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        if (!places[i])
            continue;
        *ret_path = joined(a, places[i], text_starts(word, "./") ? word + 2 : word);
        int fd = script_open(*ret_path);
        if (fd >= 0)
            return fd;
        why = errno;
    }
    int fd = open_through_path(word, a, ret_path);
    if (fd < 0)
        errno = why;
    return fd;
}

bool submit_script_file(const char *word, const char *dir, const char *cwd, struct arena *a,
                        struct submit_script *ret, struct err *ret_err)
{
    const char *path = word;
    int fd = script_find(word, dir, cwd, a, &path);
    if (fd < 0) {
        err_set(ret_err, ERR_NOT_FOUND, "%s: %s", word, strerror(errno));
        return err_lead(ret_err, "error: Unable to open file %s", word);
    }
    const char *slash = strrchr(path, '/');
    *ret = (struct submit_script){.path = path, .name = word, .job_name = slash ? slash + 1 : path};
    ret->text = submit_read_fd(fd, LIMIT_SCRIPT_BYTES, a, &ret->len, ret_err);
    close(fd);
    return ret->text || err_prefix(ret_err, "Unable to read file %s", word);
}

bool submit_script_stdin(struct arena *a, struct submit_script *ret, struct err *ret_err)
{
    *ret = (struct submit_script){.name = "the script on standard input", .job_name = "sbatch"};
    ret->text = submit_read_fd(STDIN_FILENO, LIMIT_SCRIPT_BYTES, a, &ret->len, ret_err);
    return ret->text || err_prefix(ret_err, "Unable to read standard input");
}

void submit_script_wrap(const char *command, struct arena *a, struct submit_script *ret)
{
    *ret = (struct submit_script){.name = "--wrap", .job_name = "wrap"};
    ret->text = arena_printf(a, "#!/bin/sh\n# made by sbatch --wrap\n\n%s\n", command);
    ret->len = strlen(ret->text);
}
