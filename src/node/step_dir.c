#include "node/step_dir.h"

#include "base/alloc.h"
#include "model/job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATE_MAX_BYTES (1u << 20)

/* Written out here, not with step_label, so that the shepherd needs nothing of model's code. */
void step_dir_name(uint64_t job_id, uint32_t attempt, int64_t step_id, struct str *out)
{
    str_addf(out, "%llu.%u.", (unsigned long long)job_id, attempt);
    if (step_id == STEP_BATCH)
        str_add(out, "batch");
    else
        str_addf(out, "%lld", (long long)step_id);
}

bool step_dir_name_parse(const char *name, uint64_t *ret_job_id, uint32_t *ret_attempt, int64_t *ret_step_id)
{
    struct span rest = span_of(name), piece[3];
    char text[3][24];
    uint64_t attempt;
    for (int i = 0; i < 3; i++) {
        if (!span_next(&rest, '.', &piece[i]) || piece[i].len == 0 || piece[i].len >= sizeof text[i])
            return false;
        memcpy(text[i], piece[i].data, piece[i].len);
        text[i][piece[i].len] = '\0';
    }
    if (rest.len > 0)
        return false;
    if (!text_to_u64(text[0], UINT64_MAX, ret_job_id) || !text_to_u64(text[1], UINT32_MAX, &attempt))
        return false;
    *ret_attempt = (uint32_t)attempt;
    if (text_is(text[2], "batch")) {
        *ret_step_id = STEP_BATCH;
        return true;
    }
    return text_to_i64(text[2], INT64_MIN, INT64_MAX, ret_step_id);
}

static bool write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        len -= (size_t)n;
    }
    return true;
}

bool small_file_write(int dir_fd, const char *path, const void *data, size_t len, int mode)
{
    int fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, (mode_t)mode);
    if (fd < 0)
        return false;
    bool ok = write_all(fd, data, len);
    int saved = errno;
    close(fd);
    errno = saved;
    return ok;
}

bool small_file_read(int dir_fd, const char *path, size_t max, struct str *out)
{
    char piece[4096];
    int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
    ssize_t n = 0;
    if (fd < 0)
        return false;
    while (out->len < max && (n = read(fd, piece, sizeof piece)) > 0)
        str_addn(out, piece, (size_t)n);
    close(fd);
    return n >= 0;
}

static bool script_write(int dir, const struct step_plan *p)
{
    int fd = openat(dir, "slurm_script", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    if (fd < 0)
        return false;
    bool ok = write_all(fd, p->script.data, p->script.len) &&
              (!p->switch_user || p->uid == 0 || fchown(fd, (uid_t)p->uid, (gid_t)p->gid) == 0);
    int saved = errno;
    close(fd);
    errno = saved;
    return ok;
}

static bool files_write(int dir, const struct step_plan *p, const struct note *first, int *ret_state)
{
    struct str line = STR_INIT;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET}; /* not inherited by the step's process */
    note_format(first, &line);
    *ret_state = openat(dir, "state", O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    bool ok = *ret_state >= 0 && fcntl(*ret_state, F_SETLK, &lock) == 0 &&
              write_all(*ret_state, line.data, line.len) && (p->address || script_write(dir, p)) &&
              (p->keep.len == 0 || small_file_write(dir, "job", p->keep.data, p->keep.len, 0600));
    int saved = errno;
    str_done(&line);
    errno = saved;
    return ok;
}

enum step_dir_result step_dir_make(int steps_fd, const struct step_plan *p, const struct note *first,
                                   int *ret_state)
{
    char making[32];
    snprintf(making, sizeof making, ".%ld", (long)getpid());
    *ret_state = -1;
    if (mkdirat(steps_fd, making, 0755) != 0 && errno != EEXIST)
        return STEP_DIR_FAILED;
    int dir = openat(steps_fd, making, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = dir >= 0 && files_write(dir, p, first, ret_state) &&
              renameat2(steps_fd, making, steps_fd, p->dir_name, RENAME_NOREPLACE) == 0;
    int saved = errno;
    if (dir >= 0)
        close(dir);
    if (ok)
        return STEP_DIR_MADE;
    if (*ret_state >= 0)
        close(*ret_state);
    step_dir_remove(steps_fd, making);
    errno = saved;
    return saved == EEXIST || saved == ENOTEMPTY ? STEP_DIR_TAKEN : STEP_DIR_FAILED;
}

bool step_dir_alive(int steps_fd, const char *name)
{
    char path[320];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    snprintf(path, sizeof path, "%s/state", name);
    int fd = openat(steps_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool held = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(fd);
    return held;
}

/* A line that a full disk cut short does not parse and is not counted. */
static bool notes_tell(const struct str *text, void (*fn)(void *ctx, const struct note *n), void *ctx)
{
    struct span rest = {text->data, text->len}, line;
    struct note note;
    bool any = false;
    while (span_next(&rest, '\n', &line)) {
        if (!note_parse(line, &note))
            continue;
        any = true;
        fn(ctx, &note);
    }
    return any;
}

bool step_dir_notes(int steps_fd, const char *name, void (*fn)(void *ctx, const struct note *n), void *ctx)
{
    char path[320];
    struct str text = STR_INIT;
    snprintf(path, sizeof path, "%s/state", name);
    bool any = small_file_read(steps_fd, path, STATE_MAX_BYTES, &text) && notes_tell(&text, fn, ctx);
    str_done(&text);
    return any;
}

bool step_dir_own_notes(int state_fd, void (*fn)(void *ctx, const struct note *n), void *ctx)
{
    char piece[4096];
    struct str text = STR_INIT;
    ssize_t n;
    while ((n = pread(state_fd, piece, sizeof piece, (off_t)text.len)) > 0)
        str_addn(&text, piece, (size_t)n);
    bool any = notes_tell(&text, fn, ctx);
    str_done(&text);
    return any;
}

void step_dir_remove(int steps_fd, const char *name)
{
    static const char *const files[] = {"state", "slurm_script", "job", "why"};
    int dir = openat(steps_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (dir < 0)
        return;
    unlinkat(dir, "state", 0);
    if (unlinkat(steps_fd, name, AT_REMOVEDIR) != 0) {
        for (size_t i = 1; i < ARRAY_LEN(files); i++)
            unlinkat(dir, files[i], 0);
        unlinkat(steps_fd, name, AT_REMOVEDIR);
    }
    close(dir);
}
