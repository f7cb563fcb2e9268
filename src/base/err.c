/* A sentence goes to a terminal or a log as one line, whatever text of a user it quotes. */
#include "base/err.h"

#include "base/plain.h"

#include <stdio.h>
#include <string.h>

bool err_setv(struct err *e, enum err_code code, const char *format, va_list args)
{
    if (e) {
        e->code = code;
        e->lead[0] = '\0';
        vsnprintf(e->text, sizeof e->text, format, args);
        text_blank(e->text);
    }
    return false;
}

bool err_set(struct err *e, enum err_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    err_setv(e, code, format, args);
    va_end(args);
    return false;
}

bool err_lead(struct err *e, const char *format, ...)
{
    if (!e)
        return false;
    size_t len = strlen(e->lead);
    if (len && len + 1 < sizeof e->lead)
        e->lead[len++] = '\n';
    va_list args;
    va_start(args, format);
    vsnprintf(e->lead + len, sizeof e->lead - len, format, args);
    va_end(args);
    text_blank(e->lead + len);
    return false;
}

bool err_prefix(struct err *e, const char *format, ...)
{
    if (!e)
        return false;
    char former[ERR_TEXT_MAX];
    memcpy(former, e->text, sizeof former);
    va_list args;
    va_start(args, format);
    vsnprintf(e->text, sizeof e->text, format, args);
    va_end(args);
    size_t len = strlen(e->text);
    snprintf(e->text + len, sizeof e->text - len, ": %s", former);
    text_blank(e->text);
    return false;
}
