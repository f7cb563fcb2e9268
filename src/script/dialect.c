#include "script/dialect.h"

#include "base/alloc.h"
#include "script/options/values.h"

#include <string.h>

static int64_t unit_kib(const char *unit)
{
    static const char units[] = "KMGT";
    const char *at = text_empty(unit) ? units : strchr(units, unit[0]);
    return INT64_C(1) << (10 * (at ? at - units : 0));
}

struct dialect_site dialect_site_of(const struct settings *s)
{
    struct dialect_site site = {
        .lsf_limit_kib = unit_kib(s->lsf_unit_for_limits),
        .lsf_mem_per_slot = text_is_nocase(s->lsf_reserve_per, "slot"),
        .lsf_mem_of_job = text_is_nocase(s->lsf_mem_limit, "job"),
        .lsf_parse_script = text_is_nocase(s->lsf_stdin, "script"),
        .torque = text_is_nocase(s->pbs_flavour, "torque"),
    };
    site.lsf_resource_kib = site.lsf_limit_kib > 1 ? site.lsf_limit_kib : 1024;
    return site;
}

struct dialect_site dialect_site_standard(void)
{
    struct settings s;
    settings_default(&s);
    return dialect_site_of(&s);
}

/* Who looks on is told what was given. */
static bool given(const struct dialect_out *d, const char *from, const struct option_row *row,
                  const char *value, bool ok, struct err *e)
{
    if (ok && d->env && d->env->watch)
        d->env->watch->became(d->env->watch->ctx, from, row, value);
    return option_watched_line(d->env, ok, e);
}

bool dialect_give(struct dialect_out *d, const char *from, const char *option, const char *value,
                  struct err *ret_err)
{
    const struct option_row *row = option_named(option, CMD_SBATCH);
    CHECK(row);
    if (!value)
        return true;
    bool ok = option_set(d->o, row, value, d->source, d->env, d->a, ret_err);
    if (!ok && ret_err) {
        ret_err->lead[0] = 0; /* Slurm's words are of no use to users of others */
        ret_err->code = ERR_VALUE;
    }
    return given(d, from, row, value, ok || err_prefix(ret_err, "%s", from), ret_err);
}

bool dialect_give_number(struct dialect_out *d, const char *from, const char *option, int64_t value,
                         struct err *ret_err)
{
    return !value ||
           dialect_give(d, from, option, arena_printf(d->a, "%lld", (long long)value), ret_err);
}

bool dialect_give_flag(struct dialect_out *d, const char *from, const char *option, bool set,
                       struct err *ret_err)
{
    const struct option_row *row = option_named(option, CMD_SBATCH);
    CHECK(row && row->arg != ARG_REQUIRED);
    if (!set)
        return true;
    bool ok = option_set(d->o, row, NULL, d->source, d->env, d->a, ret_err) ||
              err_prefix(ret_err, "%s", from);
    return given(d, from, row, NULL, ok, ret_err);
}

bool dialect_refuse(struct err *e, const char *option, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    err_setv(e, ERR_UNSUPPORTED, format, args);
    va_end(args);
    return err_prefix(e, "%s is not supported", option);
}

bool dialect_blame(struct err *e, const char *option, const char *value, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    err_setv(e, ERR_VALUE, format, args);
    va_end(args);
    return err_prefix(e, "%s %.200s", option, value);
}

bool dialect_blame_row(struct err *e, const struct option_row *row, const char *value,
                       const char *allowed)
{
    err_set(e, ERR_VALUE, "%s", allowed);
    return err_prefix(e, "-%s %.200s", row->name, value);
}

/* Is there a | at the level of no parenthesis? */
static bool is_either(const char *features)
{
    int depth = 0;
    for (; *features && (depth > 0 || *features != '|'); features++)
        depth += (strchr("([", *features) != NULL) - (strchr(")]", *features) != NULL);
    return *features;
}

const char *dialect_features_join(const char *had, const char *more, struct arena *a)
{
    if (!had)
        return more;
    return arena_printf(a, "%s&%s", is_either(had) ? arena_printf(a, "(%s)", had) : had,
                        is_either(more) ? arena_printf(a, "(%s)", more) : more);
}
