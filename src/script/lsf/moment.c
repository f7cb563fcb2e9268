#include "script/lsf/lsf.h"

#include "base/duration.h"

/* The next time of day, day, month that is so, as far as it is given. */
static int64_t begin_next(const int64_t *f, int n, const struct option_env *env)
{
    struct civil now, c;
    env->zone->sec_to_local(civil_sec(env->now_us), &now);
    c = now;
    c.second = 0;
    c.minute = (int)f[n - 1];
    c.hour = (int)f[n - 2];
    c.day = n > 2 ? (int)f[n - 3] : now.day;
    c.month = n > 3 ? (int)f[n - 4] : now.month;
    c.year = n > 4 ? (int)f[n - 5] : now.year;
    int64_t sec = env->zone->local_to_sec(&c);
    if (sec >= civil_sec(env->now_us) || n > 4)
        return sec;
    c.day += n == 2;
    c.month += n == 3;
    c.year += n == 4;
    if (c.month > 12) {
        c.month = 1;
        c.year++;
    }
    return n == 2 ? sec + 24 * 3600 : env->zone->local_to_sec(&c);
}

bool lsf_moment_read(const char *value, const struct option_env *env, struct arena *a, int64_t *ret)
{
    static const int64_t most[] = {9999, 12, 31, 23, 59};
    struct span rest = span_of(value), one;
    int64_t f[5];
    int n = 0;
    bool ok = true;
    while (ok && span_next(&rest, ':', &one)) {
        ok = n < 5 && one.len && one.len <= 4 &&
             text_to_i64(arena_strndup(a, one.data, one.len), 0, 9999, &f[n]);
        n += ok;
    }
    for (int i = 0; ok && i < n; i++)
        ok = f[i] <= most[5 - n + i] && (f[i] > 0 || 5 - n + i > 2);
    if (!ok || n < 2)
        return false;
    int64_t sec = begin_next(f, n, env);
    *ret = (sec < 1 ? 1 : sec) * USEC_PER_SEC;
    return true;
}
