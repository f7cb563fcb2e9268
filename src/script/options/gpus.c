/* Options for GPUs and other generic resources. */
#include "script/options/values.h"

#include "base/alloc.h"
#include "base/list.h"
#include "model/grammar/gres.h"
#include "model/limits.h"

#include <ctype.h>
#include <string.h>

#define EACH .min = 1, .max = LIMIT_CPUS_PER_NODE, .component = true

JOB_SETTER(set_gres)
{
    const char *asked = value;
    if (!gres_asked(&asked, a, ret_err)) {
        if (ret_err && !ret_err->lead[0])
            err_lead(ret_err, "error: Invalid generic resource (gres) specification");
        return err_prefix(ret_err, "--%s=%s", row->name, value);
    }
    return set_text(o, row, asked, env, a, ret_err);
}

JOB_SETTER(set_gpu_mem)
{
    struct option_row at_least_one = *row;
    at_least_one.min = 1;
    return set_mib(o, &at_least_one, value, env, a, ret_err);
}

/* A list of numbers, or of masks in hexadecimal, each with *COUNT behind it. */
static bool places_valid(const char *list, bool masks)
{
    const char *digits = masks ? "0123456789abcdefABCDEF" : "0123456789";
    struct span rest = span_of(list), one;
    bool ok = true;
    while (ok && span_next(&rest, ',', &one)) {
        size_t at = one.len > 2 && one.data[0] == '0' && (one.data[1] | 0x20) == 'x' ? 2 : 0,
               from = at;
        while (at < one.len && (strchr(digits, one.data[at]) || (at > from && one.data[at] == '-')))
            at++;
        ok = at > from;
        if (ok && at < one.len && one.data[at] == '*') { /* so often, once at least */
            for (ok = false, at++; at < one.len && isdigit((unsigned char)one.data[at]); at++)
                ok |= one.data[at] != '0';
        }
        ok = ok && at == one.len;
    }
    return ok;
}

static bool gpu_bind_valid(const char *type)
{
    static const char *const words[] = {"closest", "none"};
    static const char *const numbered[] = {"per_task:", "single:"};
    static const char *const listed[] = {"map_gpu:", "map:", "mask_gpu:", "mask:"};
    int64_t n;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (text_is_nocase(type, words[i]))
            return true;
    for (size_t i = 0; i < ARRAY_LEN(numbered); i++)
        if (text_starts_nocase(type, numbered[i]))
            return text_to_i64(type + strlen(numbered[i]), 1, LIMIT_DEVICES_PER_NODE, &n);
    for (size_t i = 0; i < ARRAY_LEN(listed); i++)
        if (text_starts_nocase(type, listed[i]))
            return places_valid(type + strlen(listed[i]),
                                listed[i][1] == 'a' && listed[i][2] == 's');
    return false;
}

/* [verbose,]TYPE */
JOB_SETTER(set_gpu_bind)
{
    const char *type = value;
    if (text_starts_nocase(type, "verbose,"))
        type += strlen("verbose,");
    else if (text_starts_nocase(type, "v,"))
        type += strlen("v,");
    if (gpu_bind_valid(type))
        return set_text(o, row, value, env, a, ret_err);
    return value_lead(row, value, ret_err,
                      "[verbose,] and one of closest, map_gpu:LIST, mask_gpu:LIST, none, "
                      "per_task:N and single:N are "
                      "allowed",
                      "Invalid --gpu-bind argument: gpu:%s", value);
}

JOB_SETTER(set_gres_flags)
{
    static const char *const flags[] = {"disable-binding", "enforce-binding",
                                        "one-task-per-sharing", "multiple-tasks-per-sharing",
                                        "allow-task-sharing"};
    struct span rest = span_of(value), word;
    while (span_next(&rest, ',', &word)) {
        size_t i = 0;
        while (i < ARRAY_LEN(flags) && !span_is_nocase(word, flags[i]))
            i++;
        if (i == ARRAY_LEN(flags))
            return value_refuse(row, value, ret_err,
                                "disable-binding, enforce-binding, one-task-per-sharing, "
                                "multiple-tasks-per-sharing and "
                                "allow-task-sharing are allowed");
    }
    return true;
}

/* One part of --tres-per-task: cpu:N or gres/gpu[:type]:N, with ':' or '=' before the number. GPUs
 * are gathered in `gpus`. */
static bool task_tres(struct submit_options *o, const struct option_row *row, struct span part,
                      const char *value, struct str *gpus, struct arena *a, struct err *e)
{
    char *text = arena_strndup(a, part.data, part.len);
    for (char *c = text; *c; c++)
        if (*c == '=')
            *c = ':';
    int64_t n;
    if (text_starts_nocase(text, "cpu:")) {
        if (!value_number(row, text + strlen("cpu:"), 1, LIMIT_CPUS_PER_NODE, &n, e))
            return false;
        o->spec.req.cpus_per_task = (int32_t)n;
        return true;
    }
    if (text_starts_nocase(text, "gres/gpu:")) {
        list_addf(gpus, "%s", text + strlen("gres/gpu:"));
        return true;
    }
    return value_refuse(
        row, value, e,
        "cpu:N and gres/gpu[:type]:N are supported; ask for others on each node with --gres");
}

JOB_SETTER(set_tres_per_task)
{
    struct span rest = span_of(value), part;
    struct str gpus = STR_INIT;
    bool ok = true;
    while (ok && span_next(&rest, ',', &part))
        ok = task_tres(o, row, span_trim(part), value, &gpus, a, ret_err);
    if (ok && gpus.len)
        ok = set_gpus(o, row, str_text(&gpus), env, a, ret_err);
    str_done(&gpus);
    return ok;
}

/* gres/NAME:BINDING, joined with '+'. That of GPUs is --gpu-bind; of others every task has all that
 * its step has. */
JOB_SETTER(set_tres_bind)
{
    const char *gpu = "gres/gpu:";
    struct span rest = span_of(value), one;
    if (!*value)
        return value_refuse(row, value, ret_err, "gres/NAME:BINDING is needed");
    while (span_next(&rest, '+', &one)) {
        const char *part = arena_strndup(a, one.data, one.len), *binding = strchr(part, ':');
        if (text_starts_nocase(part, gpu)) {
            if (!set_gpu_bind(o, row, part + strlen(gpu), env, a, ret_err))
                return false;
        } else if (!text_starts_nocase(part, "gres/") || !binding ||
                   !text_is_nocase(binding + 1, "none")) {
            return value_refuse(
                row, value, ret_err,
                "gres/gpu:BINDING as of --gpu-bind and gres/NAME:none are allowed, joined with +");
        }
    }
    return true;
}

const struct option_row options_gpus[] = {
    {.name = "cpus-per-gpu",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = ENV3("CPUS_PER_GPU"),
     .metavar = "n",
     .doc = "CPUs for each GPU",
     .set = set_i32,
     .at = AT(spec.req.cpus_per_gpu),
     EACH},
    {.name = "gpu-bind",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = ENV3("GPU_BIND"),
     .metavar = "type",
     .doc = "which GPUs each task of a step sees",
     .set = set_gpu_bind,
     .at = AT(spec.gpu_bind),
     .component = true},
    {.name = "gpu-mem",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .metavar = "size",
     .doc = "GPUs with so much memory or more: 40G (Remuda's own)",
     .set = set_gpu_mem,
     .at = AT(spec.req.gpu_mem_mib),
     .component = true},
    {.name = "gpus",
     .letter = 'G',
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = ENV3("GPUS"),
     .metavar = "[type:]n",
     .doc = "GPUs of the whole job; A100|A40:2 = either type (Remuda's own)",
     .set = set_gpus,
     .at = AT(spec.req.gpus),
     .component = true},
    {.name = "gpus-per-node",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = ENV3("GPUS_PER_NODE"),
     .metavar = "[type:]n",
     .doc = "GPUs on each node",
     .set = set_gpus,
     .at = AT(spec.req.gpus_per_node),
     .component = true},
    {.name = "gpus-per-socket",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = ENV3("GPUS_PER_SOCKET"),
     .metavar = "[type:]n",
     .doc = "GPUs on each socket",
     .set = set_gpus,
     .at = AT(spec.req.gpus_per_socket),
     .component = true},
    {.name = "gpus-per-task",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = ENV3("GPUS_PER_TASK"),
     .metavar = "[type:]n",
     .doc = "GPUs for each task",
     .set = set_gpus,
     .at = AT(spec.req.gpus_per_task),
     .component = true},
    {.name = "gres",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = {"SBATCH_GRES", "SALLOC_GRES", "SLURM_STEP_GRES SLURM_GRES"},
     .metavar = "list",
     .doc = "generic resources on each node: gpu:v100:2,nic",
     .values = "Valid gres options are:\n"
               "gpu[[:type]:count]\n"
               "name[[:type]:count], where sinfo -o \"%N %G\" shows that name",
     .set = set_gres,
     .at = AT(spec.req.gres),
     .component = true},
    {.name = "gres-flags",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .support = SUPPORT_NO_EFFECT,
     .env = ENV3("GRES_FLAGS"),
     .metavar = "flags",
     .doc = "how GPUs and CPUs go together",
     .why = "CPUs near the job's GPUs are preferred anyway, and never enforced",
     .set = set_gres_flags,
     .component = true},
    {.name = "mem-per-gpu",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = ENV3("MEM_PER_GPU"),
     .metavar = "size",
     .doc = "memory for each GPU",
     .set = set_mib,
     .at = AT(spec.req.mem_per_gpu_mib),
     .component = true},
    {.name = "ntasks-per-gpu",
     .alias = "ntasks-per-tres",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = {NULL, NULL, "SLURM_NTASKS_PER_GPU SLURM_NTASKS_PER_TRES"},
     .metavar = "n",
     .doc = "tasks for each GPU",
     .set = set_i32,
     .at = AT(spec.req.ntasks_per_gpu),
     EACH},
    {.name = "tres-bind",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = ENV3("TRES_BIND"),
     .metavar = "list",
     .doc = "gres/gpu:BINDING[+…]: --gpu-bind",
     .set = set_tres_bind,
     .at = AT(spec.gpu_bind),
     .component = true},
    {.name = "tres-per-task",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = ENV3("TRES_PER_TASK"),
     .metavar = "list",
     .doc = "cpu:N,gres/gpu:N for each task",
     .set = set_tres_per_task,
     .at = AT(spec.req.gpus_per_task),
     .component = true},
};
const size_t options_gpus_n = ARRAY_LEN(options_gpus);
