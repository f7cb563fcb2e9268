/* Setters of the option table that many rows share. Each knows its target by the row's offset; the
 * words of its refusals are Slurm's ("Invalid --time specification"), with what is allowed behind
 * them. */
#include "script/options/values.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/hostlist.h"
#include "model/grammar/gres.h"

#include <stdio.h>
#include <string.h>

static void *target(void *to, const struct option_row *row)
{
    return (char *)to + row->at;
}

bool value_refuse(const struct option_row *row, const char *value, struct err *e,
                  const char *format, ...)
{
    va_list args;
    va_start(args, format);
    err_setv(e, ERR_VALUE, format, args);
    va_end(args);
    return value_blame(row, value, e);
}

bool value_blame(const struct option_row *row, const char *value, struct err *e)
{
    if (e && !e->lead[0])
        err_lead(e, "error: Invalid --%s specification", row->name);
    if (e && e->code == ERR_INVALID)
        e->code = ERR_VALUE;
    return err_prefix(e, "--%s=%s", row->name, value);
}

bool value_lead(const struct option_row *row, const char *value, struct err *e,
                const char *sentence, const char *lead, ...)
{
    char text[ERR_LEAD_MAX];
    va_list args;
    va_start(args, lead);
    vsnprintf(text, sizeof text, lead, args);
    va_end(args);
    err_set(e, ERR_VALUE, "%s", sentence);
    err_lead(e, "error: %s", text);
    return value_blame(row, value, e);
}

bool value_refused(const struct option_row *row, const char *value, struct err *e,
                   const char *slurm)
{
    err_lead(e, "refused: %s", slurm);
    return err_prefix(e, "--%s=%s", row->name, value);
}

bool value_number(const struct option_row *row, const char *value, int64_t min, int64_t max,
                  int64_t *ret, struct err *e)
{
    ASSERT(min <= max);
    const char *digits = value + strspn(value, " \t"); /* `wc -l` puts some before its number */
    digits += digits[0] == '+';
    if (text_to_i64(digits, min, max, ret))
        return true;
    err_set(e, ERR_INVALID, "--%s: a whole number from %lld to %lld is allowed", row->name,
            (long long)min, (long long)max);
    return err_lead(e, "error: Invalid numeric value \"%s\" for --%s.", value, row->name);
}

bool value_count(const struct option_row *row, struct span text, const char *value, int64_t max,
                 int64_t *ret, struct err *e)
{
    ASSERT(max > 0);
    char digits[24];
    int64_t factor = 1;
    if (text.len && strchr("kK", text.data[text.len - 1]))
        factor = 1024;
    else if (text.len && strchr("mM", text.data[text.len - 1]))
        factor = INT64_C(1024) * 1024;
    if (factor > 1)
        text.len--;
    if (text.len && text.len < sizeof digits) {
        memcpy(digits, text.data, text.len);
        digits[text.len] = 0;
        if (text_to_i64(digits, 0, max / factor, ret)) {
            *ret *= factor;
            return true;
        }
    }
    return value_refuse(row, value, e, "a number up to %lld is allowed in each place (k = 1024)",
                        (long long)max);
}

SETTER(set_text)
{
    *(const char **)target(to, row) = text_empty(value) ? NULL : arena_strdup(a, value);
    return true;
}

SETTER(set_any_text)
{
    *(const char **)target(to, row) = arena_strdup(a, value);
    return true;
}

SETTER(set_path)
{
    return set_text(to, row, text_is_nocase(value, "none") ? "/dev/null" : value, env, a, ret_err);
}

SETTER(set_flag)
{
    *(bool *)target(to, row) = true;
    return true;
}

SETTER(unset_flag)
{
    *(bool *)target(to, row) = false;
    return true;
}

SETTER(set_count)
{
    ++*(int *)target(to, row);
    return true;
}

SETTER(set_i32)
{
    int64_t n;
    if (!value_number(row, value, row->min, row->max, &n, ret_err))
        return false;
    *(int32_t *)target(to, row) = (int32_t)n;
    return true;
}

SETTER(set_mib)
{
    int64_t mib;
    if (strpbrk(value, "pP")) /* a petabyte is no unit of Slurm's here */
        return value_refuse(row, value, ret_err, "K, M, G or T is allowed");
    if (!size_parse_mib(value + strspn(value, " \t"), &mib, ret_err))
        return value_blame(row, value, ret_err);
    if (mib < row->min)
        return value_refuse(row, value, ret_err, "at least %lld MiB is needed",
                            (long long)row->min);
    *(int64_t *)target(to, row) = mib;
    return true;
}

SETTER(set_span)
{
    int64_t us;
    if (!duration_parse(value, &us, ret_err))
        return value_blame(row, value, ret_err);
    if (us == 0 && row->min == 0)
        us = TIME_UNLIMITED;
    *(int64_t *)target(to, row) = us;
    return true;
}

SETTER(set_minutes)
{
    int64_t minutes;
    if (!value_number(row, value, 0, INT32_MAX, &minutes, ret_err))
        return false;
    *(int64_t *)target(to, row) = minutes * USEC_PER_MIN;
    return true;
}

SETTER(set_time)
{
    int64_t us;
    if (!civil_parse(value, env->now_us, env->zone, true, &us, ret_err)) {
        err_lead(ret_err, "error: Invalid --%s specification", row->name);
        return value_blame(row, value, ret_err);
    }
    *(int64_t *)target(to, row) = us;
    return true;
}

SETTER(set_hosts)
{
    struct hostlist hosts = HOSTLIST_INIT;
    bool ok = hostlist_parse(&hosts, value, ret_err);
    hostlist_done(&hosts);
    return ok ? set_text(to, row, value, env, a, ret_err)
              : value_refused(row, value, ret_err, "Invalid node name specified");
}

SETTER(set_gpus)
{
    if (!gres_last_counts(&value, "gpu", a, ret_err)) {
        if (ret_err && !ret_err->lead[0])
            err_lead(ret_err, "error: Invalid generic resource (gres) specification");
        return err_prefix(ret_err, "--%s=%s", row->name, value);
    }
    return set_text(to, row, value, env, a, ret_err);
}

SETTER(set_nothing)
{
    return true;
}

SETTER(set_yes_no)
{
    bool yes = text_is_nocase(value, "yes");
    if (!yes && !text_is_nocase(value, "no"))
        return value_refuse(row, value, ret_err, "yes and no are allowed");
    *(int32_t *)target(to, row) = yes ? YES : NO;
    return true;
}
