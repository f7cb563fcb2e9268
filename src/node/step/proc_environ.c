#include "node/step/proc_environ.h"

#include "base/alloc.h"
#include "base/str.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE_BYTES (128u << 10) /* as long as one assignment may be */

/* The whole assignments in `text`; what is left is the beginning of one. False: no more are
 * wanted. */
static bool all_take(struct str *text, bool (*fn)(void *ctx, const char *assignment), void *ctx)
{
    size_t at = 0;
    const char *end;
    bool more = true;
    while (more && (end = memchr(text->data + at, '\0', text->len - at))) {
        more = end == text->data + at || fn(ctx, text->data + at);
        at = (size_t)(end + 1 - text->data);
    }
    memmove(text->data, text->data + at, text->len - at);
    str_cut(text, text->len - at);
    return more;
}

void proc_environ_each(pid_t pid, size_t max, bool (*fn)(void *ctx, const char *assignment),
                       void *ctx)
{
    ASSERT(pid > 0);
    char path[32];
    struct str text = STR_INIT;
    ssize_t n = -1;
    snprintf(path, sizeof path, "/proc/%ld/environ", (long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool more = fd >= 0;
    char *piece = more ? xmalloc(PIECE_BYTES) : NULL;
    while (more && max > 0 && (n = read(fd, piece, max < PIECE_BYTES ? max : PIECE_BYTES)) > 0) {
        max -= (size_t)n;
        str_addn(&text, piece, (size_t)n);
        more = text.len <= 2 * PIECE_BYTES && all_take(&text, fn, ctx);
    }
    if (more && n == 0 && text.len > 0) { /* its owner may have cut its last byte off */
        str_addc(&text, '\0');
        all_take(&text, fn, ctx);
    }
    if (fd >= 0)
        close(fd);
    free(piece);
    str_done(&text);
}
