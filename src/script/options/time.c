/* Options about when: limits, start, end, order, signals. */
#include "script/options/values.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "model/grammar/signals.h"
#include "model/job/dependency.h"
#include "model/job/step_dependency.h"
#include "model/refusal.h"

#include <string.h>

#define SIGNAL_BEFORE_DEFAULT 60
#define SIGNAL_BEFORE_MAX     65535

/* A bare list of jobs means afterany, as sbatch(1) says. */
JOB_SETTER(set_dependency)
{
    const char *text = value;
    if (value[0] >= '0' && value[0] <= '9')
        text = arena_printf(a, "afterany:%s", value);
    struct dependency_list list;
    struct step_dependency_list steps;
    if (step_dependency_is(value))
        return step_dependency_parse(value, a, &steps, ret_err)
                   ? set_text(o, row, value, env, a, ret_err)
                   : value_blame(row, value, ret_err);
    if (!dependency_parse(text, a, &list, ret_err))
        return value_refused(row, value, ret_err,
                             refusal_text(ret_err->code == ERR_UNSUPPORTED ? REFUSE_UNSUPPORTED
                                                                           : REFUSE_DEPENDENCY));
    return set_text(o, row, text, env, a, ret_err);
}

/* The letters before the colon, B once. Returns the rest, or NULL. */
static const char *signal_flags(const char *value, bool *ret_batch, bool *ret_reservation)
{
    const char *colon = strchr(value, ':');
    if (!colon)
        return value;
    for (const char *c = value; c < colon; c++) {
        if ((*c == 'B' || *c == 'b') && !*ret_batch)
            *ret_batch = true;
        else if (*c == 'R' || *c == 'r')
            *ret_reservation = true;
        else
            return NULL;
    }
    return colon + 1;
}

/* [R][B:]SIG[@seconds] */
JOB_SETTER(set_signal)
{
    bool batch = false, reservation = false;
    const char *rest = signal_flags(value, &batch, &reservation);
    if (!rest)
        return value_refuse(row, value, ret_err,
                            "only B: (the batch shell) and R: may stand before the signal");
    const char *at = strchr(rest, '@');
    int64_t before = SIGNAL_BEFORE_DEFAULT;
    if (at && !value_number(row, at + 1, 0, SIGNAL_BEFORE_MAX, &before, ret_err))
        return value_refuse(row, value, ret_err, "at most %d seconds before the limit are allowed",
                            SIGNAL_BEFORE_MAX);
    int signo;
    if (!signal_parse(at ? arena_strndup(a, rest, (size_t)(at - rest)) : rest, &signo) ||
        signo <= 0)
        return value_refuse(
            row, value, ret_err,
            "a signal name or number, and @seconds before the limit, are allowed: B:USR1@60");
    o->spec.signal = signo;
    o->spec.signal_before_us = before * USEC_PER_SEC;
    o->spec.signal_batch = batch;
    if (reservation)
        note_no_effect(o, a, "--signal=R:", "reservations never start late here");
    return true;
}

/* Minutes, or any time limit. */
JOB_SETTER(set_delay)
{
    return duration_parse(value, &o->spec.delay_boot_us, ret_err) ||
           value_blame(row, value, ret_err);
}

JOB_SETTER(set_immediate)
{
    int64_t seconds = 0;
    if (value && !value_number(row, value, 0, INT32_MAX, &seconds, ret_err))
        return false;
    o->immediate = true;
    o->immediate_us = seconds * USEC_PER_SEC;
    return true;
}

const struct option_row options_time[] = {
    {.name = "begin",
     .letter = 'b',
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .metavar = "time",
     .doc = "not before: 16:00, now+1hour, 2026-01-31T12:00",
     .set = set_time,
     .at = AT(spec.begin_us)},
    {.name = "deadline",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .metavar = "time",
     .doc = "remove the job when it can no longer end before",
     .set = set_time,
     .at = AT(spec.deadline_us)},
    {.name = "delay-boot",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .support = SUPPORT_NO_EFFECT,
     .env = ENV3("DELAY_BOOT"),
     .metavar = "minutes",
     .doc = "wait so long before nodes are rebooted for their features",
     .why = "no node is rebooted for a job",
     .set = set_delay,
     .at = AT(spec.delay_boot_us)},
    {.name = "dependency",
     .letter = 'd',
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = {NULL, NULL, "SLURM_DEPENDENCY"},
     .metavar = "list",
     .doc = "wait for others: afterok:12:13,singleton",
     .set = set_dependency,
     .at = AT(spec.dependency)},
    {.name = "immediate",
     .letter = 'I',
     .arg = ARG_OPTIONAL,
     .commands = CMD_STEP,
     .env = {NULL, "SALLOC_IMMEDIATE", "SLURM_IMMEDIATE"},
     .metavar = "seconds",
     .doc = "give up when it cannot start at once",
     .set = set_immediate},
    {.name = "kill-on-invalid-dep",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALLOC,
     .metavar = "yes|no",
     .doc = "cancel the job when a dependency can never be satisfied",
     .set = set_yes_no,
     .at = AT(spec.kill_on_invalid_dep)},
    {.name = "signal",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = ENV3("SIGNAL"),
     .metavar = "[B:]sig[@s]",
     .doc = "send a signal s seconds (60) before the limit; B: to the batch shell only",
     .set = set_signal},
    {.name = "time",
     .letter = 't',
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = ENV3("TIMELIMIT"),
     .metavar = "limit",
     .doc = "time limit: minutes, M:S, H:M:S, D-H, D-H:M, D-H:M:S",
     .set = set_span,
     .at = AT(spec.req.time_limit_us)},
    {.name = "time-min",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .metavar = "limit",
     .doc = "the limit may be lowered to this to start sooner",
     .set = set_span,
     .at = AT(spec.req.time_min_us)},
};
const size_t options_time_n = ARRAY_LEN(options_time);
