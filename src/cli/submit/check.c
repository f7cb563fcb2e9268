#include "cli/submit/check.h"

#include "base/str.h"
#include "model/limits.h"
#include "wire/utf8.h"

#include <string.h>

static bool is_utf8(const char *text, size_t len)
{
    size_t at = 0;
    while (at < len) {
        size_t n = (unsigned char)text[at] < 0x80 ? 1 : utf8_take(text + at, len - at);
        if (n == 0)
            return false;
        at += n;
    }
    return true;
}

static bool text_check(const struct field *f, const char *text, struct err *e)
{
    size_t len = strlen(text);
    if (text_is(f->name, "submit_line"))
        return true;
    if (len > LIMIT_TEXT_BYTES)
        return err_set(e, ERR_LIMIT,
                       "%s has %zu bytes; at most %u are allowed (put long lists into a file that "
                       "the script reads)",
                       f->name, len, LIMIT_TEXT_BYTES);
    if (!is_utf8(text, len))
        return err_set(e, ERR_INVALID, "%s is no UTF-8 text, which it must be: %.100s", f->name,
                       text);
    return true;
}

bool submit_spec_check(const struct job_spec *spec, struct err *ret_err)
{
    for (size_t i = 0; i < job_spec_fields.n; i++) {
        const struct field *f = &job_spec_fields.field[i];
        if (f->type != FIELD_TEXT)
            continue;
        const char *text = *(const char *const *)field_ptr(f, spec);
        if (text && !text_check(f, text, ret_err))
            return false;
    }
    return true;
}
