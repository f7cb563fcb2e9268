#include "model/array.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "model/job.h"
#include "model/limits.h"

#include <stdlib.h>
#include <string.h>

bool array_parse(const char *text, uint32_t max_index, struct idset *ret_ids, uint32_t *ret_limit,
                 struct err *ret_err)
{
    const char *percent = text ? strchr(text, '%') : NULL;
    uint64_t limit = 0;
    if (percent && (!text_to_u64(percent + 1, UINT32_MAX, &limit) || limit == 0))
        return err_set(ret_err, ERR_INVALID,
                       "\"%.60s\": after %% comes how many elements may run at once, at least 1", text);
    char *indexes = xstrndup(text ? text : "", percent ? (size_t)(percent - text) : SIZE_MAX);
    bool ok = idset_parse(ret_ids, indexes, max_index, ret_err);
    free(indexes);
    if (ok)
        *ret_limit = (uint32_t)limit;
    return ok;
}

void array_format_pending(const struct idset *ids, uint32_t limit, struct str *out)
{
    bool brackets = ids->count != 1 || limit;
    if (brackets)
        str_addc(out, '[');
    idset_format(ids, out);
    if (limit) {
        str_addc(out, '%');
        str_add_u64(out, limit);
    }
    if (brackets)
        str_addc(out, ']');
}

static bool step_read(const char *text, int64_t *ret)
{
    if (text_is_nocase(text, "batch"))
        *ret = STEP_BATCH;
    else if (text_is_nocase(text, "extern"))
        *ret = STEP_EXTERN;
    else if (text_is_nocase(text, "interactive"))
        *ret = STEP_INTERACTIVE;
    else
        return text_to_i64(text, 0, INT32_MAX, ret);
    return true;
}

/* "7", "[1-3]", or "[1-3%2]" after the '_'. */
static bool tasks_read(const char *text, struct job_ref *ret, struct err *ret_err)
{
    uint64_t task;
    uint32_t limit;
    size_t len = strlen(text);
    if (text_to_u64(text, LIMIT_ARRAY_INDEX, &task)) {
        ret->task_id = (uint32_t)task;
        return true;
    }
    if (text[0] == '*' && len == 1)
        return true;
    if (text[0] == '[' && text[len - 1] == ']') {
        char *inside = xstrndup(text + 1, len - 2);
        bool ok = array_parse(inside, LIMIT_ARRAY_INDEX, &ret->tasks, &limit, ret_err);
        free(inside);
        return ok;
    }
    return false;
}

static bool ref_read(char *text, struct job_ref *ret, struct err *ret_err)
{
    uint64_t offset;
    char *bracket = strchr(text, ']');
    char *dot = strchr(bracket ? bracket : text, '.');
    if (dot) {
        *dot = '\0';
        ret->has_step = true;
        if (!step_read(dot + 1, &ret->step_id))
            return false;
    }
    char *plus = strchr(text, '+');
    if (plus) {
        *plus = '\0';
        if (!text_to_u64(plus + 1, INT32_MAX, &offset))
            return false;
        ret->het_offset = (int32_t)offset;
    }
    char *under = strchr(text, '_');
    if (under) {
        *under = '\0';
        if (!tasks_read(under + 1, ret, ret_err))
            return false;
    }
    return text_to_u64(text, UINT64_MAX, &ret->job_id) && ret->job_id > 0;
}

bool job_ref_parse(const char *text, struct job_ref *ret, struct err *ret_err)
{
    *ret = (struct job_ref){.task_id = NO_TASK, .het_offset = -1};
    char *copy = xstrdup(text ? text : "");
    struct err err = {0};
    bool ok = ref_read(copy, ret, &err);
    free(copy);
    if (ok)
        return true;
    job_ref_done(ret);
    if (err.code)
        return err_set(ret_err, err.code, "%s", err.text);
    return err_set(ret_err, ERR_INVALID,
                   "\"%.60s\" names no job: a job is written 42, 42_7 (array element), 42_[1-5], 42+1 "
                   "(component) or 42.0 (step)",
                   text ? text : "");
}

void job_ref_done(struct job_ref *r)
{
    idset_done(&r->tasks);
}
