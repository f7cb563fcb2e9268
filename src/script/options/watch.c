#include "base/alloc.h"
#include "script/options/option.h"

#include <string.h>

void option_watch_line(const struct option_env *env, unsigned line)
{
    if (env && env->watch)
        env->watch->line = line;
}

bool option_watched(const struct option_env *env, const struct option_row *row, const char *value,
                    bool ok, struct err *e)
{
    struct option_watch *w = env ? env->watch : NULL;
    if (!w)
        return ok;
    w->option(w->ctx, w->line, row, value, ok ? NULL : e);
    if (!ok)
        memset(e, 0, sizeof *e);
    return true;
}

bool option_watched_line(const struct option_env *env, bool ok, struct err *e)
{
    struct option_watch *w = env ? env->watch : NULL;
    if (!w || ok)
        return ok;
    w->failed(w->ctx, w->line, e);
    memset(e, 0, sizeof *e);
    return true;
}
