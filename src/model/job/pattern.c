#include "model/job/pattern.h"

#include "base/alloc.h"
#include "model/job/job.h"

#include <string.h>

#define WIDTH_MAX 10

static void text_add(struct str *out, const char *text)
{
    if (text)
        str_addn(out, text, strnlen(text, PATTERN_NAME_MAX));
}

static void number_add(struct str *out, uint64_t n, int width)
{
    ASSERT(width >= 0);
    str_addf(out, "%0*llu", width, (unsigned long long)n);
}

static void job_step_add(const struct pattern_env *env, int width, struct str *out)
{
    number_add(out, env->job_id, width);
    if (env->step_id != STEP_BATCH) {
        str_addc(out, '.');
        step_label(env->step_id, out);
    }
}

/* %a of a job that is no array element is Slurm's NO_VAL, 4294967294. */
static uint64_t task_number(const struct pattern_env *env)
{
    return env->array_task_id == NO_TASK ? UINT64_C(4294967294) : env->array_task_id;
}

static void step_add(int64_t step_id, int width, struct str *out)
{
    if (step_id >= 0)
        number_add(out, (uint64_t)step_id, width);
    else
        step_label(step_id, out);
}

/* False: no such conversion. */
static bool conversion_add(char letter, int width, const struct pattern_env *env, struct str *out)
{
    switch (letter) {
    case 'A':
        number_add(out, env->array_job_id ? env->array_job_id : env->job_id, width);
        return true;
    case 'a': number_add(out, task_number(env), width); return true;
    case 'b': number_add(out, task_number(env) % 10, width); return true;
    case 'J': job_step_add(env, width, out); return true;
    case 'j': number_add(out, env->job_id, width); return true;
    case 'N': text_add(out, env->node); return true;
    case 'n': number_add(out, (uint64_t)env->node_index, width); return true;
    case 's': step_add(env->step_id, width, out); return true;
    case 't': number_add(out, (uint64_t)env->task, width); return true;
    case 'u': text_add(out, env->user); return true;
    case 'x': text_add(out, env->job_name); return true;
    case '%': str_addc(out, '%'); return true;
    }
    return false;
}

/* Of a name where nothing is replaced: each backslash goes, of two one stays. */
static const char *plain_add(const char *pattern, struct str *out)
{
    pattern += *pattern == '\\';
    if (!*pattern)
        return pattern;
    str_addc(out, *pattern);
    return pattern + 1;
}

/* One character or one conversion. Returns what follows. */
static const char *piece_add(const char *pattern, const struct pattern_env *env, struct str *out)
{
    const char *at = pattern + 1;
    int width = 0;
    if (*pattern != '%') {
        str_addc(out, *pattern);
        return at;
    }
    for (; *at >= '0' && *at <= '9'; at++)
        width = width > WIDTH_MAX ? width : width * 10 + (*at - '0');
    if (width > WIDTH_MAX)
        width = WIDTH_MAX;
    if (*at && conversion_add(*at, width, env, out))
        return at + 1;
    str_addc(out, '%');
    return pattern + 1;
}

void pattern_expand(const char *pattern, const struct pattern_env *env, struct str *out)
{
    ASSERT(pattern);
    size_t most = out->len + PATTERN_NAME_MAX;
    bool is_plain = strchr(pattern, '\\') != NULL; /* it turns replacement off for the whole name */
    while (*pattern && out->len < most)
        pattern = is_plain ? plain_add(pattern, out) : piece_add(pattern, env, out);
    if (out->len > most)
        str_cut(out, most);
}

struct pattern_env pattern_env_of_job(const struct job *j)
{
    return (struct pattern_env){
        .job_id = j->id,
        .array_job_id = j->array_job_id,
        .array_task_id = j->array_task_id,
        .step_id = STEP_BATCH,
        .node = j->batch_host,
        .user = j->user_name,
        .job_name = j->spec.name,
    };
}

void pattern_add_name(struct str *pattern, const char *name)
{
    for (; *name; name++)
        if (*name == '%')
            str_add(pattern, "%%");
        else
            str_addc(pattern, *name);
}
