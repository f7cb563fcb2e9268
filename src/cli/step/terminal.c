#include "cli/step/terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* The one terminal of this process, as atexit needs it. */
static struct termios before;
static bool is_raw;

void terminal_restore(void)
{
    if (is_raw)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    is_raw = false;
}

bool terminal_raw(void)
{
    struct termios raw;
    if (is_raw || tcgetattr(STDIN_FILENO, &before) != 0)
        return is_raw;
    raw = before;
    cfmakeraw(&raw);
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) != 0)
        return false;
    is_raw = true;
    atexit(terminal_restore);
    return true;
}

void terminal_size(int32_t *ret_rows, int32_t *ret_columns)
{
    struct winsize w = {0};
    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &w) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0)
        w = (struct winsize){0};
    *ret_rows = w.ws_row ? w.ws_row : 24;
    *ret_columns = w.ws_col ? w.ws_col : 80;
}

bool terminal_may_read(void)
{
    pid_t foreground = tcgetpgrp(STDIN_FILENO);
    return foreground < 0 || foreground == getpgrp();
}
