/* The file is opened as whoever runs this, never blocks (a FIFO has no writer any more), and has to
 * be the owner's own: a link to somebody else's that he may read is not shown, as a mail may go to
 * others. */
#include "cli/reports/last_lines.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/plain.h"
#include "cli/record/columns_job.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLOCK_SLACK_S 60 /* of a file server */

/* ---- what is shown of bytes ---- */

/* Behind an escape sequence (ECMA-48): "\e[31m", "\e]0;title\a", "\eM". */
static size_t escape_length(const char *at, size_t len)
{
    size_t n = 2;
    if (len < 2)
        return len;
    if (at[1] == '[')
        while (n < len && (at[n] < '@' || at[n] > '~') && at[n] != '\n')
            n++;
    else if (at[1] == ']')
        while (n < len && at[n] != '\a' && at[n] != '\033' && at[n] != '\n')
            n++;
    else
        return 2;
    return n < len && at[n] != '\n' && at[n] != '\033' ? n + 1 : n;
}

static void line_clean(const char *at, size_t len, struct str *out)
{
    struct str kept = STR_INIT;
    while (len && at[len - 1] == '\r')
        len--;
    const char *over = memrchr(at, '\r', len);
    size_t i = over ? (size_t)(over + 1 - at) : 0;
    while (i < len && kept.len < LAST_LINE_BYTES) {
        if (at[i] == '\033') {
            i += escape_length(at + i, len - i);
        } else if (at[i] == '\t' || !at[i]) {
            str_addc(&kept, ' ');
            i++;
        } else {
            str_addc(&kept, at[i++]);
        }
    }
    bool cut = i < len;
    while (cut && kept.len && ((unsigned char)kept.data[kept.len - 1] & 0xc0) == 0x80)
        str_cut(&kept, kept.len - 1);
    if (cut && kept.len && (unsigned char)kept.data[kept.len - 1] >= 0xc0)
        str_cut(&kept, kept.len - 1);
    str_add(out, "| ");
    str_add_plain(out, str_text(&kept));
    str_add(out, cut ? " …\n" : "\n");
    str_done(&kept);
}

void last_lines_clean(const char *bytes, size_t len, bool begun, struct str *out)
{
    size_t from = len, lines = 0;
    while (len && (bytes[len - 1] == '\n' || bytes[len - 1] == '\r'))
        len--;
    for (from = len; from > 0; from--)
        if (bytes[from - 1] == '\n' && ++lines == LAST_LINES)
            break;
    if (from == 0 && !begun && lines) /* what was cut off its beginning is not known */
        from = (size_t)((const char *)memchr(bytes, '\n', len) + 1 - bytes);
    while (from < len) {
        const char *end = memchr(bytes + from, '\n', len - from);
        size_t n = end ? (size_t)(end - bytes) - from : len - from;
        line_clean(bytes + from, n, out);
        from += n + 1;
    }
}

/* ---- the file ---- */

static bool is_his(int fd, const struct job *j, struct stat *ret)
{
    return fstat(fd, ret) == 0 && S_ISREG(ret->st_mode) && ret->st_uid == j->user_id &&
           ret->st_mtime >= j->start_us / USEC_PER_SEC - CLOCK_SLACK_S;
}

static void file_add(const struct job *j, const char *path, const char *what, struct str *out)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return;
    if (is_his(fd, j, &st) && st.st_size > 0) {
        char *bytes = xmalloc(LAST_LINES_BYTES);
        off_t from = st.st_size > (off_t)LAST_LINES_BYTES ? st.st_size - LAST_LINES_BYTES : 0;
        ssize_t n = pread(fd, bytes, LAST_LINES_BYTES, from);
        struct str lines = STR_INIT;
        if (n > 0)
            last_lines_clean(bytes, (size_t)n, from == 0, &lines);
        if (lines.len) {
            str_addf(out, "\nThe end of its %s, ", what);
            str_add_plain(out, path);
            str_addf(out, ":\n%s", str_text(&lines));
        }
        str_done(&lines);
        free(bytes);
    }
    close(fd);
}

void last_lines_add(const struct job *j, struct str *out)
{
    struct str path = STR_INIT, error = STR_INIT;
    if (!j->spec.batch || !j->start_us || j->user_id != geteuid())
        return;
    job_cell_path(j, j->spec.std_out, &path);
    file_add(j, str_text(&path), "output", out);
    if (!text_empty(j->spec.std_err)) {
        job_cell_path(j, j->spec.std_err, &error);
        if (!text_is(str_text(&error), str_text(&path)))
            file_add(j, str_text(&error), "error output", out);
    }
    str_done(&path);
    str_done(&error);
}
