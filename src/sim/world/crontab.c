/* A user's table for scrontab in a world: it is set, changed and removed, and its jobs are
 * cancelled, sent back, stopped. */
#include "sim/world/inside.h"

#include <stdio.h>

#define ENTRIES 3

/* With the table its jobs that wait are cancelled. */
static void ends_note(struct sim_world *w)
{
    struct map_walk walk = {0};
    while (map_u64_next(w->cron, &walk))
        map_u64_put(w->to_end, walk.key, w);
}

static void set(struct sim_world *w, struct rng *rng)
{
    static const char *const times[] = {"* * * * *", "*/2 * * * *", "0-59/3 0-23 * * *", "@hourly"};
    struct job_spec spec[ENTRIES];
    struct cron_entry entry[ENTRIES];
    char comment[ENTRIES][64];
    size_t n = (size_t)rng_range(rng, 1, ENTRIES);
    for (size_t i = 0; i < n; i++) {
        snprintf(comment[i], sizeof comment[i], "runs=%lld exit=%d",
                 (long long)rng_range(rng, 1, 90 * USEC_PER_SEC), rng_chance(rng, 200) ? 1 : 0);
        spec[i] = (struct job_spec){.name = "cron",
                                    .batch = true,
                                    .work_dir = "/tmp",
                                    .comment = comment[i],
                                    .requeue = rng_chance(rng, 300) ? NO : UNSET};
        spec[i].req.ntasks = 1;
        spec[i].req.mem_per_node_mib = 10;
        spec[i].req.time_limit_us = rng_range(rng, 1, 2) * USEC_PER_MIN;
        entry[i] = (struct cron_entry){.cron = times[rng_below(rng, ARRAY_LEN(times))],
                                       .first = (uint32_t)i + 1,
                                       .last = (uint32_t)i + 1,
                                       .spec = {&spec[i], 1},
                                       .script = {"#!/bin/sh\n", 10}};
    }
    struct msg_set_crontab m = {.text = "a\nb\nc\n", .entries = {entry, n}};
    ends_note(w);
    world_request(w, MSG_SET_CRONTAB, &m, NULL);
}

static void remove_table(struct sim_world *w)
{
    struct msg_set_crontab none = {0};
    ends_note(w);
    world_request(w, MSG_SET_CRONTAB, &none, NULL);
}

void world_cron_end(struct sim_world *w)
{
    struct map_walk walk = {0};
    char text[32];
    remove_table(w);
    while (map_u64_next(w->cron, &walk)) {
        struct msg_job_control m = {.action = ACTION_RESUME, .ids = text};
        snprintf(text, sizeof text, "%llu", (unsigned long long)walk.key);
        world_request(w, MSG_JOB_CONTROL, &m, NULL);
        m.action = ACTION_RELEASE;
        world_request(w, MSG_JOB_CONTROL, &m, NULL);
    }
}

/* Any that ever was. */
static const char *any_job(const struct sim_world *w, struct rng *rng, char *text, size_t size)
{
    struct map_walk walk = {0};
    size_t n = map_u64_count(w->cron), wanted = n ? rng_below(rng, n) : 0;
    snprintf(text, size, "1");
    while (map_u64_next(w->cron, &walk))
        if (wanted-- == 0) {
            snprintf(text, size, "%llu", (unsigned long long)walk.key);
            break;
        }
    return text;
}

void world_cron_change(struct sim_world *w, struct rng *rng)
{
    static const enum job_action actions[] = {ACTION_REQUEUE, ACTION_HOLD, ACTION_RELEASE,
                                              ACTION_SUSPEND, ACTION_RESUME};
    char text[32];
    uint64_t dice = rng_below(rng, 10);
    const char *ids = any_job(w, rng, text, sizeof text);
    if (dice < 3) {
        set(w, rng);
    } else if (dice < 4) {
        remove_table(w);
    } else if (dice < 6) {
        world_request(w, MSG_CANCEL, &(struct msg_cancel){.ids = ids}, NULL);
    } else {
        struct msg_job_control m = {.action = actions[rng_below(rng, ARRAY_LEN(actions))],
                                    .ids = ids};
        world_request(w, MSG_JOB_CONTROL, &m, NULL);
    }
}
