/* One fault world as it is played, between worlds.c, which has the faults, and requests.c, which
 * has what users do meanwhile. */
#ifndef REMUDA_SIM_WORLD_PLAY_H
#define REMUDA_SIM_WORLD_PLAY_H

#include "base/rng.h"
#include "base/vec.h"
#include "sim/world/world.h"

struct play {
    struct sim_world *w;
    struct rng rng;
    bool commands;    /* salloc and srun too */
    bool hostile;     /* and a user who writes frames by hand */
    bool accounts;    /* and jobs are of accounts and QOS, whose limits hold and change */
    bool minutes;     /* and some limits are in minutes; what was used does not decay */
    bool cron;        /* and there is a table for scrontab */
    bool disasters;   /* and shepherds are killed, the power fails, backups are restored */
    VEC(uint64_t) id; /* acknowledged submissions */
    size_t keys;      /* given to steps */
};

/* More than nothing, and that at most. */
int64_t play_some_time(struct play *p, int64_t most_us);
/* A job that was acknowledged; "1" before there is one. */
const char *play_any_id(struct play *p, char *text, size_t size);

void play_submit(struct play *p);  /* of random shape */
void play_command(struct play *p); /* salloc, srun, or the end of one */
void play_control(struct play *p); /* hold, requeue, suspend, … */
void play_cancel(struct play *p);  /* one, an element, a step; sometimes with a signal */
void play_update(struct play *p);  /* another time limit */
void play_extend(struct play *p);  /* remuda extend: time added, or tried */

#endif
