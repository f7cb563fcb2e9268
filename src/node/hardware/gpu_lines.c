#include "node/hardware/gpu_lines.h"

#include "node/step/dir.h"

#include <stdio.h>
#include <stdlib.h>

#define USED_MW_MAX    INT64_C(5000000)
#define USED_BYTES_MAX (INT64_C(1) << 50)

void gpu_look_say(const struct device_look *look, struct str *out)
{
    str_addf(out, "look %d %llu %llu %u %lld ", look->index, (unsigned long long)look->use,
             (unsigned long long)look->job_id, look->uid, (long long)look->from_us);
    for (uint32_t i = 0; i < look->nsteps; i++) {
        str_add(out, i ? "+" : "");
        if (look->step[i].step_id == LOOK_ALL_STEPS)
            str_addf(out, "%llu.%u.*", (unsigned long long)look->step[i].job_id,
                     look->step[i].attempt);
        else
            step_dir_name(look->step[i].job_id, look->step[i].attempt, look->step[i].step_id, out);
        if (look->step[i].uid_plus1)
            str_addf(out, "@%lld", (long long)look->step[i].uid_plus1 - 1);
    }
    str_add(out, look->nsteps ? "\n" : "-\n");
}

void gpu_apart_say(const struct device_look *look, size_t n, const uint32_t *users, size_t nusers,
                   struct str *out)
{
    size_t apart = 0;
    for (size_t i = 0; i < n; i++)
        if (look[i].apart)
            str_addf(out, apart++ ? " %d" : "apart %d", look[i].index);
    if (apart == 0)
        return;
    str_add(out, "\nusers");
    for (size_t i = 0; i < nusers; i++)
        str_addf(out, " %u", users[i]);
    str_addc(out, '\n');
}

int64_t gpu_number(struct span s)
{
    char text[24];
    snprintf(text, sizeof text, "%.*s", (int)s.len, s.data ? s.data : "");
    return strtoll(text, NULL, 10);
}

static int64_t bounded_of(struct span *line, int64_t most)
{
    struct span piece = {0};
    int64_t n = span_next(line, ' ', &piece) && piece.len ? gpu_number(piece) : -1;
    return n < 0 || n > most ? -1 : n;
}

bool gpu_used_parse(struct span line, struct gpu_used *ret)
{
    struct span step, util, bytes;
    char name[64];
    *ret = (struct gpu_used){0};
    if (!span_next(&line, ' ', &step) || !span_next(&line, ' ', &util) ||
        !span_next(&line, ' ', &bytes))
        return false;
    ret->energy_mj = bounded_of(&line, INT64_C(60) * USED_MW_MAX * GPU_USED_MAX);
    ret->energy_mj = ret->energy_mj < 0 ? 0 : ret->energy_mj;
    ret->uid = bounded_of(&line, UINT32_MAX);
    snprintf(name, sizeof name, "%.*s", (int)step.len, step.data);
    if (!step_dir_name_parse(name, &ret->job_id, &ret->attempt, &ret->step_id))
        return false;
    /* What a library says may be anything. */
    int64_t percent = gpu_number(util), mem = gpu_number(bytes);
    ret->util = (int32_t)(percent < 0                      ? 0
                          : percent > GPU_USED_PERCENT_MAX ? GPU_USED_PERCENT_MAX
                                                           : percent);
    ret->mem_bytes = mem < 0 || mem > USED_BYTES_MAX ? 0 : mem;
    return true;
}

bool gpu_now_parse(struct span line, struct gpu_now *ret)
{
    struct gpu_now g = {.index = (int32_t)bounded_of(&line, INT16_MAX)};
    struct span work = {0};
    g.util = (int32_t)bounded_of(&line, 100);
    g.mem_bytes = bounded_of(&line, USED_BYTES_MAX);
    g.power_mw = bounded_of(&line, USED_MW_MAX);
    g.energy_mj = bounded_of(&line, INT64_C(60) * USED_MW_MAX);
    g.energy_mj = g.energy_mj < 0 ? 0 : g.energy_mj;
    if (!span_next(&line, ' ', &work))
        return false;
    g.idle = span_is(work, "i");
    g.explained = bounded_of(&line, 1) == 1;
    g.own_bytes = bounded_of(&line, USED_BYTES_MAX);
    g.own_bytes = g.own_bytes < 0 ? 0 : g.own_bytes;
    *ret = g;
    return g.index >= 0;
}

/* What is no sign says nothing. */
static enum device_sign sign_of(struct span word)
{
    for (int i = 0; i < DEVICE_SIGNS_N; i++)
        if (span_is(word, device_sign_word((enum device_sign)i)))
            return (enum device_sign)i;
    return DEVICE_BLIND;
}

bool gpu_seen_parse(struct span line, bool has_use, struct arena *a, struct device_seen *ret)
{
    struct span index, use = {0}, sign;
    if (!span_next(&line, ' ', &index) || (has_use && !span_next(&line, ' ', &use)) ||
        !span_next(&line, ' ', &sign))
        return false;
    *ret = (struct device_seen){.index = (int32_t)gpu_number(index),
                                .use = (uint64_t)gpu_number(use),
                                .sign = sign_of(sign)};
    ret->why = arena_strndup(a, line.data ? line.data : "", line.len);
    return true;
}
