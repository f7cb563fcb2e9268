#include "model/job/owner.h"

#include "base/str.h"

#include <string.h>

/* "LAB\ada" and "ada@lab.org" are ada. */
static struct span without_domain(const char *name)
{
    const char *slash = strchr(name, '\\');
    struct span rest = span_of(slash ? slash + 1 : name);
    const char *at = memchr(rest.data, '@', rest.len);
    return at && at > rest.data ? (struct span){rest.data, (size_t)(at - rest.data)} : rest;
}

bool owner_same(const char *then, const char *now)
{
    if (text_empty(then) || text_empty(now) || text_is_nocase(then, now))
        return true;
    struct span former = without_domain(then);
    /* Where both name a domain, those are to agree, too. */
    return former.len == strlen(then) ? span_is_nocase(without_domain(now), then)
                                      : span_is_nocase(former, now);
}

bool job_owner_named(const struct job *j, const char *now)
{
    return owner_same(j->user_name, now) || (j->renamed && owner_same(j->renamed, now));
}

bool jobs_are_of_one(const struct job *a, const struct job *b)
{
    return a->user_id == b->user_id &&
           (job_owner_named(a, b->user_name) || job_owner_named(b, a->user_name) ||
            (a->renamed && b->renamed && owner_same(a->renamed, b->renamed)));
}

bool job_is_of(const struct job *j, uint32_t uid, const char *user)
{
    return j->user_id == uid && job_owner_named(j, user);
}

/* A list of names alone, ALL and NONE say nothing. */
void job_hide_values(struct job *copy)
{
    copy->spec.later_env = NULL;
    if (copy->spec.export_env && strchr(copy->spec.export_env, '='))
        copy->spec.export_env = NULL;
}
