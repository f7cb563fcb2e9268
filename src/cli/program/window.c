#include "cli/program/window.h"

#include "base/alloc.h"
#include "base/str.h"

#include <langinfo.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int bounded(int n, int least, int most)
{
    ASSERT(least <= most);
    return n < least ? least : n > most ? most : n;
}

static int told(const char *name, int otherwise)
{
    int64_t n;
    const char *text = getenv(name);
    return text && text_to_i64(text, 1, 10000, &n) ? (int)n : otherwise;
}

int window_width(int otherwise)
{
    struct winsize w;
    bool is = ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col;
    return bounded(is ? w.ws_col : told("COLUMNS", otherwise), 40, 400);
}

int window_height(int otherwise)
{
    struct winsize w;
    bool is = ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row;
    return bounded(is ? w.ws_row : told("LINES", otherwise), 5, 400);
}

bool window_has_colour(void)
{
    const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && text_empty(none) && !text_empty(term) && !text_is(term, "dumb");
}

bool window_has_utf8(void)
{
    return text_is(nl_langinfo(CODESET), "UTF-8");
}
