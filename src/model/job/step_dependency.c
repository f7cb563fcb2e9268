#include "model/job/step_dependency.h"

#include "base/alloc.h"
#include "base/str.h"
#include "model/job/array.h"
#include "model/limits.h"

#include <string.h>

bool step_dependency_is(const char *text)
{
    return text && strchr(text, '.') != NULL;
}

static bool kind_parse(struct span word, enum dep_kind *ret)
{
    static const struct {
        const char *name;
        enum dep_kind kind;
    } kinds[] = {{"after", DEP_AFTER},
                 {"afterany", DEP_AFTERANY},
                 {"afterok", DEP_AFTEROK},
                 {"afternotok", DEP_AFTERNOTOK}};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (span_is_nocase(word, kinds[i].name)) {
            *ret = kinds[i].kind;
            return true;
        }
    return false;
}

static bool step_add(struct step_dependency_list *to, enum dep_kind kind, const char *name,
                     struct err *ret_err)
{
    struct job_ref ref;
    if (to->n == LIMIT_DEPENDENCIES)
        return err_set(ret_err, ERR_LIMIT, "a step depends on at most %u others",
                       LIMIT_DEPENDENCIES);
    if (!job_ref_parse(name, &ref, NULL))
        return err_set(ret_err, ERR_INVALID,
                       "\"%s\" is no step: 42.3 is, the number that srun --async printed", name);
    bool ok = ref.has_step && ref.step_id >= 0 && ref.het_offset < 0;
    if (ok)
        to->v[to->n++] = (struct step_dependency){kind, ref.job_id, ref.task_id, ref.step_id};
    job_ref_done(&ref);
    return ok || err_set(ret_err, ERR_INVALID,
                         "\"%s\" is no step with a number: 42.3 is; all of them have to be", name);
}

bool step_dependency_parse(const char *text, struct arena *a, struct step_dependency_list *ret,
                           struct err *ret_err)
{
    struct span rest = span_of(text), one, word, step;
    ret->n = 0;
    ret->v = arena_alloc(a, (strlen(text) + 1) * sizeof *ret->v);
    if (strchr(text, '?'))
        return err_set(ret_err, ERR_UNSUPPORTED,
                       "steps wait for all they name: ',' stands between dependencies, not '?'");
    while (span_next(&rest, ',', &one)) {
        enum dep_kind kind;
        if (!span_next(&one, ':', &word) || !kind_parse(word, &kind) || !one.len)
            return err_set(
                ret_err, ERR_INVALID,
                "of steps after, afterany, afterok and afternotok are known: afterok:42.3:42.4");
        while (span_next(&one, ':', &step))
            if (!step_add(ret, kind, arena_strndup(a, step.data, step.len), ret_err))
                return false;
    }
    return ret->n > 0 || err_set(ret_err, ERR_INVALID, "it names no step");
}
