#include "model/grammar/script_args.h"

void script_args_add(struct str *out, const char *arg)
{
    for (; *arg; arg++) {
        if (*arg == '\n')
            str_add(out, "\\n");
        else if (*arg == '\\')
            str_add(out, "\\\\");
        else
            str_addc(out, *arg);
    }
    str_addc(out, '\n');
}

size_t script_args_unpack(const char *text, struct str *out)
{
    size_t n = 0;
    for (; text && *text; text++) {
        if (*text == '\n') {
            str_addc(out, '\0');
            n++;
        } else if (*text == '\\' && text[1]) {
            text++;
            if (*text == 'n')
                str_addc(out, '\n');
            else
                str_addc(out, *text);
        } else {
            str_addc(out, *text);
        }
    }
    return n;
}
