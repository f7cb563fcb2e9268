#include "io/lines.h"

#include "base/alloc.h"

#include <errno.h>
#include <string.h>

bool file_line(FILE *f, size_t most, struct str *line, struct err *ret_err)
{
    ASSERT(most > 0);
    char piece[4096];
    size_t n = 0;
    int c;
    str_clear(line);
    *ret_err = (struct err){0};
    while ((c = getc_unlocked(f)) != EOF && c != '\n') {
        piece[n++] = (char)c;
        if (n < sizeof piece)
            continue;
        str_addn(line, piece, n);
        n = 0;
        if (line->len > most)
            return err_set(ret_err, ERR_LIMIT, "a line of more than %zu bytes", most);
    }
    str_addn(line, piece, n);
    if (ferror(f))
        return err_set(ret_err, ERR_UNAVAILABLE, "%s", strerror(errno));
    if (line->len > most)
        return err_set(ret_err, ERR_LIMIT, "a line of more than %zu bytes", most);
    return c != EOF || line->len > 0;
}
