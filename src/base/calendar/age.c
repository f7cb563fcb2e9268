#include "base/calendar/age.h"

#include <string.h>

bool age_parse(const char *text, struct age *ret, struct err *ret_err)
{
    static const char *const units[] = {
        [AGE_MONTHS] = "months", [AGE_DAYS] = "days", [AGE_HOURS] = "hours"};
    char number[12] = "";
    int64_t n;
    *ret = (struct age){0};
    if (text_empty(text) || text_is_nocase(text, "none") || text_is_nocase(text, "never"))
        return true;
    size_t digits = strspn(text, "0123456789");
    const char *unit = text + digits + strspn(text + digits, " ");
    memcpy(number, text, digits < sizeof number ? digits : 0);
    if (!text_to_i64(number, 0, AGE_MAX, &n))
        return err_set(ret_err, ERR_INVALID,
                       "an age as 12months, 30days or 48hours is expected, not \"%.60s\"", text);
    ret->n = (int32_t)n;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (text_starts_nocase(units[i], unit)) {
            ret->unit = (enum age_unit)i;
            return true;
        }
    *ret = (struct age){0};
    return err_set(ret_err, ERR_INVALID,
                   "Invalid purge unit '%.60s', valid options are hours, days, or months", unit);
}
