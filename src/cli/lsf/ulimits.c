/* They are written into the record of the job, not set in this process: with so little memory as a
 * job may ask for bsub itself could not go on. */
#include "cli/lsf/ulimits.h"

#include "base/alloc.h"
#include "base/str.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

static const struct lsf_ulimit *ulimit_named(const struct lsf_request *r, struct span name)
{
    static const struct {
        const char *name;
        int resource;
    } names[] = {{"CORE", RLIMIT_CORE},
                 {"STACK", RLIMIT_STACK},
                 {"DATA", RLIMIT_DATA},
                 {"FSIZE", RLIMIT_FSIZE}};
    for (size_t i = 0; i < r->nulimit; i++)
        for (size_t k = 0; k < ARRAY_LEN(names); k++)
            if (names[k].resource == r->ulimit[i].resource && span_is(name, names[k].name))
                return &r->ulimit[i];
    return NULL;
}

void lsf_ulimits_replace(const struct lsf_request *r, struct job_spec *spec, struct arena *a)
{
    struct str out = STR_INIT;
    struct span rest = span_of(spec->rlimits), one;
    if (!r->nulimit)
        return;
    while (rest.data && span_next(&rest, ',', &one)) {
        const char *equals = memchr(one.data, '=', one.len);
        struct span name = {one.data, equals ? (size_t)(equals - one.data) : one.len};
        const struct lsf_ulimit *u = ulimit_named(r, name);
        str_add(&out, out.len ? "," : "");
        if (u)
            str_addf(&out, "%.*s=%lld", (int)name.len, name.data, (long long)u->bytes);
        else
            str_addn(&out, one.data, one.len);
    }
    spec->rlimits = arena_strdup(a, str_text(&out));
    str_done(&out);
}

bool lsf_ulimits_check(const struct lsf_request *r, struct err *ret_err)
{
    for (size_t i = 0; i < r->nulimit; i++) {
        const struct lsf_ulimit *u = &r->ulimit[i];
        struct rlimit now;
        if (getrlimit((__rlimit_resource_t)u->resource, &now) != 0)
            return err_set(ret_err, ERR_INTERNAL, "getrlimit: %s", strerror(errno));
        if ((rlim_t)u->bytes > now.rlim_max)
            return err_set(ret_err, ERR_INVALID,
                           "the hard limit here is %llu KB: a limit of -C, -S, -D or -F is at most "
                           "that",
                           (unsigned long long)now.rlim_max / 1024);
    }
    return true;
}
