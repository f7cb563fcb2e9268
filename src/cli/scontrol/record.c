#include "cli/scontrol/scontrol.h"

#include <stdarg.h>
#include <stdio.h>

void record_begin(struct record_text *r, bool oneliner)
{
    *r = (struct record_text){.oneliner = oneliner, .fresh = true};
}

void record_break(struct record_text *r)
{
    if (r->oneliner)
        return;
    str_add(&r->text, "\n   ");
    r->fresh = true;
}

void record_add(struct record_text *r, const char *key, const char *value)
{
    if (!r->fresh)
        str_addc(&r->text, ' ');
    r->fresh = false;
    str_addf(&r->text, "%s=%s", key, value ? value : "(null)");
}

void record_addf(struct record_text *r, const char *key, const char *format, ...)
{
    struct str value = STR_INIT;
    va_list args;
    va_start(args, format);
    str_addv(&value, format, args);
    va_end(args);
    record_add(r, key, str_text(&value));
    str_done(&value);
}

void record_print(struct record_text *r)
{
    printf("%s\n%s", str_text(&r->text), r->oneliner ? "" : "\n");
    str_done(&r->text);
}
