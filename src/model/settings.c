#include "model/settings.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/str.h"
#include "model/settings_value.h"

#include <string.h>

const struct setting setting_table[] = {
#define X(type, member, key, standard, unit, doc)                                                            \
    {#key, SETTING_##type, offsetof(struct settings, member), standard, unit, doc},
    SETTINGS(X)
#undef X
};
const size_t setting_count = ARRAY_LEN(setting_table);

static void *at(const struct setting *k, const struct settings *s)
{
    return (char *)(uintptr_t)s + k->offset;
}

static bool bool_parse(const char *text, bool *ret)
{
    bool yes = text_is_nocase(text, "YES") || text_is_nocase(text, "TRUE") || text_is(text, "1") ||
               text_is_nocase(text, "ON");
    bool no = text_is_nocase(text, "NO") || text_is_nocase(text, "FALSE") || text_is(text, "0") ||
              text_is_nocase(text, "OFF");
    *ret = yes;
    return yes || no;
}

bool setting_parse_bool(const char *text, bool *ret, struct err *ret_err)
{
    return bool_parse(text, ret) ||
           err_set(ret_err, ERR_INVALID, "YES or NO is expected, not \"%.60s\"", text);
}

bool setting_parse_policy(const char *text, int32_t *ret, struct err *ret_err)
{
    if (enum_value(&limit_policy_names, text, ret))
        return true;
    if (text_is_nocase(text, "ALL") || text_is_nocase(text, "ANY") || text_is_nocase(text, "YES"))
        *ret = LIMITS_REFUSE;
    else if (text_is_nocase(text, "NO"))
        *ret = LIMITS_PEND;
    else
        return err_set(ret_err, ERR_INVALID,
                       "REFUSE, PEND or CLAMP (or Slurm's ALL, ANY, NO) is expected, not \"%.60s\"", text);
    return true;
}

/* Slurm writes spans as a number of the key's unit; day-hour forms ("7-0", "1:00:00") are times as --time has
 * them. */
bool setting_parse_span(const char *text, const char *unit, int64_t *ret_us, struct err *ret_err)
{
    int64_t number, scale = text_is(unit, "min") ? USEC_PER_MIN : USEC_PER_SEC;
    if (text_to_i64(text, 0, INT64_MAX / USEC_PER_MIN, &number)) {
        *ret_us = number * scale;
        return true;
    }
    if (strcspn(text, ":-") == strlen(text) && !text_is_nocase(text, "UNLIMITED") &&
        !text_is_nocase(text, "INFINITE"))
        return err_set(ret_err, ERR_INVALID, "a number of %s is expected, not \"%.60s\"",
                       text_is(unit, "min") ? "minutes" : "seconds", text);
    return duration_parse(text, ret_us, ret_err);
}

bool setting_set(const struct setting *k, struct settings *s, const char *text, struct err *ret_err)
{
    int64_t number;
    void *to = at(k, s);
    switch (k->type) {
    case SETTING_TEXT:
        *(const char **)to = text;
        return true;
    case SETTING_I32:
        if (!text_to_i64(text, INT32_MIN, INT32_MAX, &number))
            return err_set(ret_err, ERR_INVALID, "a number is expected, not \"%.60s\"", text);
        *(int32_t *)to = (int32_t)number;
        return true;
    case SETTING_I64:
        return text_to_i64(text, INT64_MIN, INT64_MAX, to) ||
               err_set(ret_err, ERR_INVALID, "a number is expected, not \"%.60s\"", text);
    case SETTING_BOOL:
        return setting_parse_bool(text, to, ret_err);
    case SETTING_SPAN:
        return setting_parse_span(text, k->unit, to, ret_err);
    case SETTING_MIB:
        return size_parse_mib(text, to, ret_err);
    case SETTING_POLICY:
        return setting_parse_policy(text, to, ret_err);
    }
    return false;
}

void settings_default(struct settings *s)
{
    memset(s, 0, sizeof *s);
    for (size_t i = 0; i < setting_count; i++)
        CHECK(setting_set(&setting_table[i], s, setting_table[i].standard, NULL));
}

void setting_format(const struct setting *k, const struct settings *s, struct str *out)
{
    const void *from = at(k, s);
    switch (k->type) {
    case SETTING_TEXT: {
        const char *text = *(const char *const *)from;
        str_add(out, text_empty(text) ? "(null)" : text);
        break;
    }
    case SETTING_I32:
        str_add_i64(out, *(const int32_t *)from);
        break;
    case SETTING_I64:
        str_add_i64(out, *(const int64_t *)from);
        break;
    case SETTING_BOOL:
        str_add(out, *(const bool *)from ? "Yes" : "No");
        break;
    case SETTING_SPAN: {
        int64_t us = *(const int64_t *)from;
        if (us == TIME_UNLIMITED)
            str_add(out, "UNLIMITED");
        else
            str_addf(out, "%lld %s",
                     (long long)(us / (text_is(k->unit, "min") ? USEC_PER_MIN : USEC_PER_SEC)), k->unit);
        break;
    }
    case SETTING_MIB: {
        int64_t mib = *(const int64_t *)from;
        if (mib)
            str_add_i64(out, mib);
        else
            str_add(out, "UNLIMITED");
        break;
    }
    case SETTING_POLICY:
        str_add(out, enum_name(&limit_policy_names, *(const int32_t *)from));
        break;
    }
}
