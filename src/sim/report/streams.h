/* What must hold of each stream that is made against an order, and what came of a run of it. The
 * scoreboard and stories ask. */
#ifndef REMUDA_SIM_STREAMS_H
#define REMUDA_SIM_STREAMS_H

#include "sim/report/metrics.h"

/* HEADS: whom a stream is about wait at most twice what they wait under EASY by arrival, and an
 * hour. OTHERS: twice what they would wait if they were alone, and an hour, in the mean. WHOLE: the
 * slowdown of all is at most nine tenths of EASY's. */
enum of_stream { STREAM_HEADS, STREAM_OTHERS, STREAM_WHOLE };

struct made_against {
    enum of_stream kind;
    const char *path; /* made:KIND */
};
extern const struct made_against made_against[];
extern const size_t made_against_count;

/* Is it a stream that is made against an order, of whatever seed and size? NULL: no. */
const struct made_against *made_against_of(const char *path);

struct made_outcome {
    struct sim_metrics all;
    double watched_mean, watched_max; /* seconds that those waited whom it is about */
};
/* What a run came to: its waits and slowdowns, and the waits of those whom the stream is about. */
void made_outcome(const struct trace *t, const struct replay_machine *m,
                  const struct replay_result *r, struct made_outcome *ret);

/* Leaves only those whom the stream is about. */
void watched_keep(struct trace *t);

struct stream_gate {
    const char *name; /* of the figure, with its unit */
    double got, most;
};
/* `alone` is looked at for OTHERS only. */
struct stream_gate stream_gate(enum of_stream kind, const struct made_outcome *ours,
                               const struct made_outcome *easy, const struct made_outcome *alone);

#endif
