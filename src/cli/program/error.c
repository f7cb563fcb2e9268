#include "base/plain.h"
#include "base/str.h"
#include "cli/program/program.h"

#include <stdarg.h>
#include <stdio.h>

void program_error(const char *name, const char *format, ...)
{
    struct str text = STR_INIT, plain = STR_INIT;
    va_list args;
    va_start(args, format);
    str_addv(&text, format, args);
    va_end(args);
    str_add_plain_lines(&plain, str_text(&text)); /* what it quotes may be somebody else's */
    fprintf(stderr, "%s: error: %s\n", name, str_text(&plain));
    str_done(&plain);
    str_done(&text);
}
