#include "model/job/array.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "model/job/job.h"
#include "model/limits.h"

#include <stdlib.h>
#include <string.h>

/* room: NULL = its own. */
static bool array_read(const char *text, uint32_t max_index, uint64_t *room, struct idset *ret_ids,
                       uint32_t *ret_limit, struct err *ret_err)
{
    const char *percent = text ? strchr(text, '%') : NULL;
    uint64_t limit = 0;
    if (percent && (!text_to_u64(percent + 1, UINT32_MAX, &limit) || limit == 0))
        return err_set(ret_err, ERR_INVALID,
                       "\"%.60s\": after %% comes how many elements may run at once, at least 1",
                       text);
    char *indexes = xstrndup(text ? text : "", percent ? (size_t)(percent - text) : SIZE_MAX);
    bool ok = room ? idset_parse_within(ret_ids, indexes, max_index, room, ret_err)
                   : idset_parse(ret_ids, indexes, max_index, ret_err);
    free(indexes);
    if (ok)
        *ret_limit = (uint32_t)limit;
    return ok;
}

bool array_parse(const char *text, uint32_t max_index, struct idset *ret_ids, uint32_t *ret_limit,
                 struct err *ret_err)
{
    return array_read(text, max_index, NULL, ret_ids, ret_limit, ret_err);
}

#define TASKS_LISTED 4096 /* sets with more members are not taken apart */
#define SPAN_OF_STEP 10   /* shorter spans are lists, whatever their step */

/* The distance between all members, if it is the same and not 1; else 0. */
static uint32_t regular_step(const struct idset *ids)
{
    uint32_t first = 0, at = 0, next = 0, step = 0;
    if (!idset_first(ids, &first) || idset_last(ids) - first <= SPAN_OF_STEP)
        return 0;
    for (at = first; idset_next(ids, at, &next); at = next) {
        if (step && next - at != step)
            return 0;
        step = next - at;
    }
    return step > 1 ? step : 0;
}

static void run_add(uint32_t first, uint32_t last, struct str *out)
{
    if (out->len)
        str_addc(out, ',');
    str_add_u64(out, first);
    if (last > first)
        str_addf(out, "-%u", last);
}

static void runs_add(const struct idset *ids, struct str *out)
{
    uint32_t first = 0, last = 0, next = 0;
    if (!idset_first(ids, &first))
        return;
    for (last = first; idset_next(ids, last, &next); last = next) {
        if (next == last + 1)
            continue;
        run_add(first, last, out);
        first = next;
    }
    run_add(first, last, out);
}

void array_format_tasks(const struct idset *ids, struct str *out)
{
    struct str text = STR_INIT;
    uint32_t first = 0, step = ids->count <= TASKS_LISTED ? regular_step(ids) : 0;
    if (ids->count > TASKS_LISTED)
        idset_format(ids, &text);
    else if (step && idset_first(ids, &first))
        str_addf(&text, "%u-%u:%u", first, idset_last(ids), step);
    else
        runs_add(ids, &text);
    str_addn(out, str_text(&text), text.len);
    str_done(&text);
}

void array_format_pending(const struct idset *ids, uint32_t limit, bool all, struct str *out)
{
    bool brackets = all || ids->count != 1;
    if (brackets)
        str_addc(out, '[');
    array_format_tasks(ids, out);
    if (limit && brackets) {
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
static bool tasks_read(const char *text, uint64_t *room, struct job_ref *ret, struct err *ret_err)
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
        bool ok = array_read(inside, LIMIT_ARRAY_INDEX, room, &ret->tasks, &limit, ret_err);
        free(inside);
        return ok;
    }
    return false;
}

static bool ref_read(char *text, uint64_t *room, struct job_ref *ret, struct err *ret_err)
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
        if (!tasks_read(under + 1, room, ret, ret_err))
            return false;
    }
    return text_to_u64(text, UINT64_MAX, &ret->job_id) && ret->job_id > 0;
}

bool job_ref_parse(const char *text, struct job_ref *ret, struct err *ret_err)
{
    return job_ref_parse_within(text, NULL, ret, ret_err);
}

bool job_ref_parse_within(const char *text, uint64_t *room, struct job_ref *ret,
                          struct err *ret_err)
{
    *ret = (struct job_ref){.task_id = NO_TASK, .het_offset = -1};
    char *copy = xstrdup(text ? text : "");
    struct err err = {0};
    bool ok = ref_read(copy, room, ret, &err);
    free(copy);
    if (ok)
        return true;
    job_ref_done(ret);
    if (err.code)
        return err_set(ret_err, err.code, "%s", err.text);
    return err_set(
        ret_err, ERR_INVALID,
        "\"%.60s\" names no job: a job is written 42, 42_7 (array element), 42_[1-5], 42+1 "
        "(component) or 42.0 (step)",
        text ? text : "");
}

void job_ref_done(struct job_ref *r)
{
    idset_done(&r->tasks);
}
