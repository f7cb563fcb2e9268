#include "cli/program/give_out.h"

#include "base/alloc.h"
#include "base/plain.h"
#include "base/str.h"
#include "cli/program/program.h"
#include "io/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A TAB moves a terminal's cursor no further than blanks do. NUL ends a text, and is dropped. */
static void piece_add(struct str *out, const char *bytes, size_t len)
{
    struct str piece = STR_INIT;
    for (size_t i = 0; i <= len; i++) {
        if (i < len && bytes[i] != '\t' && bytes[i]) {
            str_addc(&piece, bytes[i]);
            continue;
        }
        str_add_plain_lines(out, str_text(&piece));
        str_clear(&piece);
        if (i < len && bytes[i] == '\t')
            str_addc(out, '\t');
    }
    str_done(&piece);
}

bool foreign_out(const char *bytes, size_t len)
{
    struct str plain = STR_INIT;
    if (!isatty(STDOUT_FILENO))
        return fwrite(bytes, 1, len, stdout) == len;
    piece_add(&plain, bytes, len);
    bool ok = fwrite(str_text(&plain), 1, plain.len, stdout) == plain.len;
    str_done(&plain);
    return ok;
}

bool file_out(int fd, bool own, int *ret_why)
{
    char piece[65536];
    ssize_t n;
    *ret_why = 0;
    while ((n = read(fd, piece, sizeof piece)) > 0)
        if (own ? fwrite(piece, 1, (size_t)n, stdout) != (size_t)n : !foreign_out(piece, (size_t)n))
            return false;
    if (n < 0)
        *ret_why = errno;
    return n == 0;
}

int output_finish(const char *program, const char *word, int status)
{
    ASSERT(program);
    int why;
    if (standard_output_written(&why))
        return status;
    program_error(program, "%s%scannot write all of the output%s%s", word ? word : "",
                  word ? ": " : "", why ? ": " : "", why ? strerror(why) : "");
    return status ? status : 1;
}

void plain_linev(const char *format, va_list args)
{
    struct str text = STR_INIT, plain = STR_INIT;
    str_addv(&text, format, args);
    str_add_plain_lines(&plain, str_text(&text));
    fprintf(stderr, "%s\n", str_text(&plain));
    str_done(&plain);
    str_done(&text);
}

void plain_line(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    plain_linev(format, args);
    va_end(args);
}

/* What is looked at is what is opened: the first descriptor holds it, and opens nothing. */
int foreign_open(const char *path)
{
    char held[40];
    struct stat st;
    int at = open(path, O_PATH | O_CLOEXEC);
    if (at < 0)
        return -1;
    snprintf(held, sizeof held, "/proc/self/fd/%d", at);
    bool ordinary = fstat(at, &st) == 0 && S_ISREG(st.st_mode);
    int fd = ordinary ? open(held, O_RDONLY | O_CLOEXEC) : -1;
    int why = ordinary ? errno : EMEDIUMTYPE;
    close(at);
    errno = why;
    return fd;
}

static bool is_ours(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1;
}

/* -1 with errno. What is there is not changed yet. */
static int foreseen_open(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0666);
    if (fd < 0)
        errno = errno == ELOOP || errno == ENXIO ? EEXIST : errno;
    if (fd < 0 || is_ours(fd))
        return fd;
    close(fd);
    errno = EEXIST;
    return -1;
}

FILE *foreseen_file(const char *path)
{
    int fd = foreseen_open(path);
    FILE *file = fd >= 0 && ftruncate(fd, 0) == 0 ? fdopen(fd, "w") : NULL;
    if (fd >= 0 && !file) {
        int why = errno;
        close(fd);
        errno = why;
    }
    return file;
}

/* Room for all of it before a byte is changed, so that a full disk leaves what there was. Where the
 * file system cannot say, it is tried. */
static bool has_room_for(int fd, size_t len, off_t size)
{
    if (!len || fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)len) == 0 ||
        (errno != ENOSPC && errno != EDQUOT && errno != EFBIG))
        return true;
    int why = errno;
    bool given_back = ftruncate(fd, size) == 0;
    errno = given_back ? why : errno;
    return false;
}

bool file_rewrite(const char *path, bool named, const void *data, size_t len)
{
    struct stat st;
    int fd = named ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : foreseen_open(path);
    if (fd < 0)
        return false;
    bool file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    bool ok = (!file || has_room_for(fd, len, st.st_size)) && fd_write_all(fd, data, len) &&
              (!file || ftruncate(fd, (off_t)len) == 0);
    int why = errno;
    if (close(fd) != 0 && ok)
        return false;
    errno = why;
    return ok;
}
