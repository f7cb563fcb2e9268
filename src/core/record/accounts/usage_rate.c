/* What a run costs, and what time makes of it. */
#include "base/calendar/civil.h"
#include "core/record/accounts/usage.h"
#include "core/record/accounts/use.h"
#include "core/record/record.h"
#include "model/job/job_counts.h"

/* ---- billing -------------------------------------------------------------------------------- */

/* The weights that a partition charges by; false: it has none. */
static bool weights_of(const struct partrec *p, struct tres_weights *ret)
{
    return p && p->p.billing_weights && tres_weights_parse(p->p.billing_weights, ret, NULL);
}

int64_t usage_billing_milli(const struct core *c, const struct jobrec *r)
{
    const struct partrec *p = r->j.run_partition ? part_find(c, r->j.run_partition) : NULL;
    struct tres_weights w;
    return weights_of(p, &w) ? job_billing_milli(&r->j, &w, c->settings.word.max_tres)
                             : (int64_t)r->j.alloc_cpus * 1000;
}

void usage_billing_note(const struct core *c, struct job *j)
{
    struct tres_weights w;
    struct job asked = *j;
    const struct partrec *p = j->run_partition ? part_find(c, j->run_partition) : NULL;
    j->billing_asked_plus1 = 0;
    if (j->alloc_cpus && !j->billing_plus1)
        j->billing_plus1 = weights_of(p, &w)
                               ? job_billing_milli(j, &w, c->settings.word.max_tres) / 1000 + 1
                               : (int64_t)j->alloc_cpus + 1;
    asked.alloc_nodes = asked.alloc_cpus = asked.alloc_tasks = 0;
    asked.alloc_mem_mib = 0;
    asked.alloc_gres = NULL;
    if (weights_of(part_first(c, j->spec.req.partition), &w))
        j->billing_asked_plus1 =
            job_billing_milli(&asked, &w, c->settings.word.max_tres) / 1000 + 1;
}

/* ---- time passes ---------------------------------------------------------------------------- */

/* Number of the period that a time lies in; use is forgotten when it changes. */
static int64_t reset_period(const struct core *c, int64_t at_us)
{
    const struct setting_words *every = &c->settings.word;
    int64_t days = civil_sec(at_us) / (24 * 3600);
    struct civil date;
    if (every->usage_reset_daily)
        return days;
    if (every->usage_reset_weekly) /* from Sunday on; 1 January 1970 was a Thursday */
        return (days + 4) / 7;
    if (!every->usage_reset_monthly && !every->usage_reset_quarterly &&
        !every->usage_reset_yearly) /* mostly; a date is dear */
        return 0;
    civil_from_sec(civil_sec(at_us), &date);
    if (every->usage_reset_monthly)
        return date.year * 12 + date.month;
    if (every->usage_reset_quarterly)
        return date.year * 4 + (date.month - 1) / 3;
    return date.year;
}

int64_t usage_decayed(const struct core *c, int64_t amount, int64_t from_us, int64_t until_us)
{
    int64_t half = c->settings.priority_decay_half_life_us;
    if (amount == 0 || reset_period(c, from_us) != reset_period(c, until_us))
        return 0;
    if (half <= 0 || half == TIME_UNLIMITED || until_us <= from_us)
        return amount;
    return scale32(amount, exp2_neg((until_us - from_us) / USEC_PER_SEC,
                                    half / USEC_PER_SEC > 0 ? half / USEC_PER_SEC : 1));
}

static int64_t period(const struct core *c)
{
    return c->settings.priority_calc_period_us >= USEC_PER_SEC ? c->settings.priority_calc_period_us
                                                               : 5 * USEC_PER_MIN;
}

int64_t usage_due(const struct core *c)
{
    /* Nobody used anything, nobody does. */
    if (!map_str_count(c->usage.row) || (!c->jobs.running && !c->usage.any))
        return INT64_MAX;
    return time_add(c->usage.at_us, period(c));
}
