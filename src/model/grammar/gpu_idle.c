#include "model/grammar/gpu_idle.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/list.h"

#include <string.h>

static const char *const stage_word[] = {
#define X(stage, word, doc) word,
    GPU_IDLE_STAGES(X)
#undef X
};

const char *gpu_idle_word(enum gpu_idle_stage_number stage)
{
    return stage < GPU_IDLE_STAGE_COUNT ? stage_word[stage] : "";
}

enum gpu_idle_stage_number gpu_idle_end(const struct gpu_idle *p)
{
    for (int i = GPU_IDLE_NUMBER_REQUEUE; i < GPU_IDLE_STAGE_COUNT; i++)
        if (p->stages >> i & 1)
            return (enum gpu_idle_stage_number)i;
    return GPU_IDLE_STAGE_COUNT;
}

/* "30m": with a unit, so that nobody takes minutes for seconds. 0 needs none. */
static bool time_read(struct span text, int64_t *ret_us)
{
    static const struct {
        char letter;
        int64_t us;
    } unit[] = {
        {'s', USEC_PER_SEC}, {'m', USEC_PER_MIN}, {'h', USEC_PER_HOUR}, {'d', 24 * USEC_PER_HOUR}};
    char number[8] = "";
    int64_t n;
    if (span_is(text, "0")) {
        *ret_us = 0;
        return true;
    }
    if (text.len < 2 || text.len > sizeof number)
        return false;
    memcpy(number, text.data, text.len - 1);
    for (size_t i = 0; i < ARRAY_LEN(unit); i++)
        if (text.data[text.len - 1] == unit[i].letter && text_to_i64(number, 0, 999999, &n)) {
            *ret_us = n * unit[i].us;
            return true;
        }
    return false;
}

static bool time_take(struct gpu_idle *p, struct span word, struct span value, bool *ret_known)
{
    int64_t us;
    for (size_t i = 0; i < ARRAY_LEN(stage_word); i++)
        if (span_is(word, stage_word[i])) {
            *ret_known = true;
            p->stages |= 1u << i;
            return time_read(value, &p->after_us[i]) && p->after_us[i] > 0;
        }
#define X(member, text, standard, doc)                                                             \
    if (span_is(word, text)) {                                                                     \
        *ret_known = true;                                                                         \
        return time_read(value, &us) && (p->member = us) >= 0;                                     \
    }
    GPU_IDLE_TIMES(X)
#undef X
    return false;
}

static bool word_take(struct gpu_idle *p, struct span one, struct err *ret_err)
{
    static const char words[] = "exempt"
#define X(stage, word, doc) "," word
        GPU_IDLE_STAGES(X)
#undef X
#define X(member, word, standard, doc) "," word
            GPU_IDLE_TIMES(X)
#undef X
        ;
    struct span value = span_trim(one), word;
    bool known = false, has_value = memchr(value.data, ':', value.len) != NULL;
    if (has_value && span_next(&value, ':', &word)) {
        if (span_is(word, "exempt") && value.len > 0) {
            if (p->nexempt == ARRAY_LEN(p->exempt))
                return err_set(ret_err, ERR_INVALID, "GpuIdle exempts at most %zu accounts",
                               ARRAY_LEN(p->exempt));
            p->exempt[p->nexempt++] = value;
            return true;
        }
        if (time_take(p, word, value, &known))
            return true;
    }
    if (known)
        return err_set(ret_err, ERR_INVALID,
                       "\"%.*s\": a number of at most six digits with the unit s, m, h or d is "
                       "expected after %.*s:, as 30m",
                       SPAN_QUOTED(one), (int)word.len, word.data);
    return err_set(ret_err, ERR_INVALID,
                   "\"%.*s\" is no word of GpuIdle: warn, notify, requeue, cancel, grace and "
                   "interactive with a time, and exempt with an account are, as in "
                   "warn:30m,notify:1h,cancel:2h",
                   (int)(one.len < 60 ? one.len : 60), one.data ? one.data : "") ||
           list_suggest(words, has_value ? word : value, ret_err);
}

static bool order_check(const struct gpu_idle *p, struct err *ret_err)
{
    enum gpu_idle_stage_number end = gpu_idle_end(p);
    int64_t before = 0;
    if ((p->stages & GPU_IDLE_ENDS) == GPU_IDLE_ENDS)
        return err_set(ret_err, ERR_INVALID, "of requeue and cancel GpuIdle can have one");
    if (!p->stages)
        return err_set(ret_err, ERR_INVALID,
                       "GpuIdle says when nothing is done: warn, notify, requeue or cancel with a "
                       "time is needed, or none");
    if (end != GPU_IDLE_STAGE_COUNT && !(p->stages & ~GPU_IDLE_ENDS))
        return err_set(ret_err, ERR_INVALID,
                       "GpuIdle ends no job whose user was not told: warn or notify with a shorter "
                       "time than that of %s is needed",
                       stage_word[end]);
    for (int i = 0; i < GPU_IDLE_STAGE_COUNT; i++) {
        if (!(p->stages >> i & 1))
            continue;
        if (p->after_us[i] <= before)
            return err_set(ret_err, ERR_INVALID,
                           "the times of warn, notify and the end are each longer than the one "
                           "before, as in warn:30m,notify:1h,cancel:2h");
        before = p->after_us[i];
    }
    return true;
}

bool gpu_idle_parse(const char *text, struct gpu_idle *ret, struct err *ret_err)
{
    struct span rest = span_of(text), one;
    *ret = (struct gpu_idle){0};
#define X(member, word, standard, doc) ret->member = standard;
    GPU_IDLE_TIMES(X)
#undef X
    if (text_empty(text) || text_is_nocase(text, "none"))
        return true;
    while (span_next(&rest, ',', &one))
        if (!word_take(ret, one, ret_err))
            return false;
    return order_check(ret, ret_err);
}
