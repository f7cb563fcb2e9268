#include "node/step/dir.h"

#include "base/alloc.h"
#include "io/fd.h"
#include "model/job/job.h"
#include "node/step/command.h"
#include "node/step/shortage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define STATE_MAX_BYTES (1u << 20)
/* of a state file from the beginning: what the disk gave once it does not refuse later */
#define STATE_BYTES 8192
/* of these, kept for how it ended: EXITED and CLEARED, or FAILED */
#define STATE_END_BYTES (2 * (off_t)NOTE_BYTES)

/* Written out here, not with step_label, so that the shepherd needs nothing of model's code. */
void step_dir_name(uint64_t job_id, uint32_t attempt, int64_t step_id, struct str *out)
{
    ASSERT(job_id);
    str_addf(out, "%llu.%u.", (unsigned long long)job_id, attempt);
    if (step_id == STEP_BATCH)
        str_add(out, "batch");
    else
        str_addf(out, "%lld", (long long)step_id);
}

bool step_dir_name_parse(const char *name, uint64_t *ret_job_id, uint32_t *ret_attempt,
                         int64_t *ret_step_id)
{
    struct span rest = span_of(name), piece[3];
    char text[3][24];
    uint64_t attempt;
    for (int i = 0; i < 3; i++) {
        if (!span_next(&rest, '.', &piece[i]) || piece[i].len == 0 ||
            piece[i].len >= sizeof text[i])
            return false;
        memcpy(text[i], piece[i].data, piece[i].len);
        text[i][piece[i].len] = '\0';
    }
    if (rest.len > 0)
        return false;
    if (!text_to_u64(text[0], UINT64_MAX, ret_job_id) || *ret_job_id == 0 ||
        !text_to_u64(text[1], UINT32_MAX, &attempt))
        return false;
    *ret_attempt = (uint32_t)attempt;
    if (text_is(text[2], "batch")) {
        *ret_step_id = STEP_BATCH;
        return true;
    }
    return text_to_i64(text[2], INT64_MIN, INT64_MAX, ret_step_id);
}

bool small_file_write(int dir_fd, const char *path, const void *data, size_t len, int mode)
{
    ASSERT(data || len == 0);
    int fd =
        openat(dir_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, (mode_t)mode);
    if (fd < 0)
        return false;
    bool ok = fd_write_all(fd, data, len);
    int saved = errno;
    close(fd);
    errno = saved;
    return ok;
}

bool small_file_read(int dir_fd, const char *path, size_t max, struct str *out)
{
    ASSERT(max > 0);
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

/* ---- making ---- */

/* To cut a file is as dear as to make one: what is there is written over. */

/* A script of the same owner's earlier step is written over; whatever else lies there is replaced.
 * Only its owner could have it open or have linked it. It is `len` bytes long at most
 * afterwards. */
static int script_open(int dir, uid_t uid, gid_t gid, size_t len)
{
    struct stat st;
    int fd = openat(dir, "slurm_script", O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_mode == (S_IFREG | 0700) && st.st_nlink == 1 &&
        st.st_uid == uid && st.st_gid == gid && (st.st_size <= (off_t)len || ftruncate(fd, 0) == 0))
        return fd;
    if (fd >= 0)
        close(fd);
    if (fd >= 0 || errno != ENOENT)
        unlinkat(dir, "slurm_script", 0);
    fd = openat(dir, "slurm_script", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    if (fd >= 0 && (uid != geteuid() || gid != getegid()) && fchown(fd, uid, gid) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool script_write(int dir, const struct step_plan *p)
{
    bool other = p->switch_user && p->uid != 0;
    int fd = script_open(dir, other ? (uid_t)p->uid : geteuid(), other ? (gid_t)p->gid : getegid(),
                         p->script.len);
    if (fd < 0)
        return false;
    bool ok = fd_write_all(fd, p->script.data, p->script.len);
    int saved = errno;
    close(fd);
    errno = saved;
    return ok;
}

/* The first note, and over the notes of an earlier step zeros, which are no lines. */
static bool state_begin(int fd, const struct note *first)
{
    static const char zeros[STATE_BYTES];
    struct stat st;
    struct str text = STR_INIT;
    note_format(first, &text);
    CHECK(text.len <= STATE_BYTES);
    struct iovec piece[] = {{text.data, text.len}, {(char *)zeros, STATE_BYTES - text.len}};
    bool ok = fstat(fd, &st) == 0 && (st.st_size <= STATE_BYTES || ftruncate(fd, 0) == 0);
    ssize_t written = ok ? writev(fd, piece, 2) : -1;
    if (written >= 0 && written < STATE_BYTES)
        errno = ENOSPC;
    ok = written == STATE_BYTES && lseek(fd, (off_t)text.len, SEEK_SET) >= 0;
    int saved = errno;
    str_done(&text);
    errno = saved;
    return ok;
}

void step_dir_note(int state_fd, const struct note *n)
{
    ASSERT(state_fd >= 0);
    off_t at = lseek(state_fd, 0, SEEK_CUR);
    struct str line = STR_INIT;
    note_format(n, &line);
    if (n->kind != NOTE_STUCK || at + (off_t)line.len + STATE_END_BYTES <= STATE_BYTES) {
        ssize_t written = write(state_fd, line.data, line.len);
        /* It has its room; a disk that is broken is told of by whom the node daemon asks. */
        (void)written;
    }
    str_done(&line);
}

static bool files_write(int dir, const struct step_plan *p, const struct note *first,
                        int *ret_state)
{
    /* Not inherited by the step's process. */
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    *ret_state = openat(dir, "state", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return *ret_state >= 0 && fcntl(*ret_state, F_SETLK, &lock) == 0 &&
           state_begin(*ret_state, first) && (p->address || script_write(dir, p)) &&
           (p->keep.len == 0 || small_file_write(dir, "job", p->keep.data, p->keep.len, 0600)) &&
           (p->hosts.len == 0 || small_file_write(dir, "hosts", p->hosts.data, p->hosts.len, 0644));
}

/* In the directory `making`, which nobody else uses; it is gone if this fails. */
static enum step_dir_result make_in(int steps_fd, const char *making, const struct step_plan *p,
                                    const struct note *first, int *ret_state)
{
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
    *ret_state = -1;
    step_dir_remove(steps_fd, making);
    errno = saved;
    return saved == EEXIST || saved == ENOTEMPTY ? STEP_DIR_TAKEN : STEP_DIR_FAILED;
}

/* A directory that was removed still knows the one above it. */
bool steps_dir_keep(int steps_fd)
{
    ASSERT(steps_fd >= 0);
    struct stat st;
    if (fstat(steps_fd, &st) != 0 || st.st_nlink > 0 ||
        (mkdirat(steps_fd, "../steps", 0755) != 0 && errno != EEXIST))
        return false;
    int fd = openat(steps_fd, "../steps", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool ok = fd >= 0 && dup3(fd, steps_fd, O_CLOEXEC) >= 0;
    if (fd >= 0)
        close(fd);
    return ok;
}

enum step_dir_result step_dir_make(int steps_fd, const struct step_plan *p,
                                   const struct note *first, int *ret_state)
{
    ASSERT(steps_fd >= 0);
    steps_dir_keep(steps_fd);
    char making[32];
    enum step_dir_result made = STEP_DIR_FAILED;
    *ret_state = -1;
    if (p->spare_dir)
        made = make_in(steps_fd, p->spare_dir, p, first, ret_state);
    if (made != STEP_DIR_FAILED)
        return made;
    snprintf(making, sizeof making, ".%ld", (long)getpid());
    if (mkdirat(steps_fd, making, 0755) != 0 && errno != EEXIST)
        return STEP_DIR_FAILED;
    return make_in(steps_fd, making, p, first, ret_state);
}

pid_t step_dir_shepherd(int steps_fd, const char *name)
{
    ASSERT(name[0] != '/');
    char path[320];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    snprintf(path, sizeof path, "%s/state", name);
    int fd = openat(steps_fd, path, O_RDONLY | O_CLOEXEC);
    bool asked = fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0;
    int why = errno;
    if (fd >= 0)
        close(fd);
    errno = why;
    if (!asked)
        return shortage_is(why) ? -1 : 0;
    return lock.l_type != F_UNLCK ? lock.l_pid : 0;
}

bool step_dir_alive(int steps_fd, const char *name)
{
    return step_dir_shepherd(steps_fd, name) != 0;
}

int32_t step_dir_tag(const char *name)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (const char *c = name; *c; c++)
        h = (h ^ (unsigned char)*c) * 16777619u;
    h &= INT32_MAX;
    return h ? (int32_t)h : 1;
}

static bool signal_by(int pidfd, union sigval value, int32_t tag)
{
    siginfo_t info = {0};
    info.si_signo = COMMAND_SIGNAL;
    info.si_code = SI_QUEUE;
    info.si_errno = tag;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value = value;
    return syscall(SYS_pidfd_send_signal, pidfd, COMMAND_SIGNAL, &info, 0) == 0;
}

/* A process that still holds the lock after it was taken hold of is the one that held it before. */
bool step_dir_signal(int steps_fd, const char *name, union sigval value)
{
    ASSERT(name[0] != '/');
    pid_t pid = step_dir_shepherd(steps_fd, name);
    int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    if (pid > 0 && fd < 0 && errno == ENOSYS) /* kernels before 5.3 */
        return sigqueue(pid, COMMAND_SIGNAL, value) == 0;
    pid_t after = fd >= 0 ? step_dir_shepherd(steps_fd, name) : 0;
    bool ok = after > 0 && after == pid && signal_by(fd, value, step_dir_tag(name));
    if (ok) /* one that was stopped hears it, too */
        syscall(SYS_pidfd_send_signal, fd, SIGCONT, NULL, 0);
    bool is_other = pid == 0 || (fd >= 0 && after >= 0 && after != pid);
    int saved = is_other ? ESRCH : errno;
    if (fd >= 0)
        close(fd);
    errno = saved;
    return ok;
}

/* A line without an end was cut short (by a full disk, under an earlier release) and is not
 * counted. */
static bool notes_tell(const struct str *text, void (*fn)(void *ctx, const struct note *n),
                       void *ctx)
{
    const char *end = text->len ? memrchr(text->data, '\n', text->len) : NULL;
    struct span rest = {text->data, end ? (size_t)(end - text->data) : 0}, line;
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

bool step_dir_notes(int steps_fd, const char *name, void (*fn)(void *ctx, const struct note *n),
                    void *ctx)
{
    char path[320];
    struct str text = STR_INIT;
    snprintf(path, sizeof path, "%s/state", name);
    errno = 0;
    bool any =
        small_file_read(steps_fd, path, STATE_MAX_BYTES, &text) && notes_tell(&text, fn, ctx);
    int why = errno;
    str_done(&text);
    errno = why;
    return any;
}

/* ---- the end ---- */

static const char *const files[] = {"state",
                                    "slurm_script",
                                    "job",
                                    "why",
                                    "tell",
                                    "follow",
                                    "memory",
                                    "hosts",
                                    "why" STEP_DIR_MAKING,
                                    "tell" STEP_DIR_MAKING,
                                    "follow" STEP_DIR_MAKING};
#define FILES_KEPT 2 /* of them, in a spare directory */

void step_dir_remove(int steps_fd, const char *name)
{
    ASSERT(!strchr(name, '/'));
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

static bool is_kept(const char *name)
{
    bool kept = text_is(name, ".") || text_is(name, "..");
    for (size_t i = 0; !kept && i < FILES_KEPT; i++)
        kept = text_is(name, files[i]);
    return kept;
}

/* Hardly a step has other files: to look which there are costs less than to remove each that there
 * might be. */
static bool others_remove(int dir)
{
    char room[2048] __attribute__((aligned(8)));
    long n;
    while ((n = syscall(SYS_getdents64, dir, room, sizeof room)) > 0)
        for (long at = 0; at < n;) {
            const struct dirent64 *e = (const struct dirent64 *)(room + at);
            if (!is_kept(e->d_name) && unlinkat(dir, e->d_name, 0) != 0)
                return false;
            at += e->d_reclen;
        }
    return n == 0;
}

bool step_dir_retire(int steps_fd, const char *name, const char *spare)
{
    ASSERT(!strchr(name, '/') && !strchr(spare, '/'));
    int dir = openat(steps_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (dir < 0)
        return false;
    bool ok = others_remove(dir);
    close(dir);
    return ok && renameat2(steps_fd, name, steps_fd, spare, RENAME_NOREPLACE) == 0;
}
