#include "sim/report/streams.h"

#include "base/alloc.h"

#include <string.h>

#define HOUR_S 3600.0

const struct made_against made_against[] = {
    {STREAM_HEADS, "made:full-width"}, {STREAM_HEADS, "made:half-width"},
    {STREAM_HEADS, "made:gangs"},      {STREAM_HEADS, "made:long"},
    {STREAM_OTHERS, "made:array"},     {STREAM_OTHERS, "made:late-array"},
    {STREAM_OTHERS, "made:flood"},     {STREAM_OTHERS, "made:wide-flood"},
    {STREAM_OTHERS, "made:liar"},      {STREAM_WHOLE, "made:backlog"}};
const size_t made_against_count = ARRAY_LEN(made_against);

const struct made_against *made_against_of(const char *path)
{
    for (size_t i = 0; i < made_against_count; i++) {
        size_t n = strlen(made_against[i].path);
        if (strncmp(path, made_against[i].path, n) == 0 && (path[n] == '\0' || path[n] == ','))
            return &made_against[i];
    }
    return NULL;
}

void made_outcome(const struct trace *t, const struct replay_machine *m,
                  const struct replay_result *r, struct made_outcome *ret)
{
    double n = 0;
    *ret = (struct made_outcome){0};
    metrics_of(t, m, r, &ret->all);
    for (size_t i = 0; i < t->job.n; i++) {
        double wait = (double)(r->job[i].start - t->job.v[i].submit);
        if (t->job.v[i].queue != 1)
            continue;
        ret->watched_mean += wait;
        ret->watched_max = wait > ret->watched_max ? wait : ret->watched_max;
        n++;
    }
    ret->watched_mean /= n > 0 ? n : 1;
}

void watched_keep(struct trace *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->job.n; i++)
        if (t->job.v[i].queue == 1)
            t->job.v[kept++] = t->job.v[i];
    t->job.n = kept;
}

struct stream_gate stream_gate(enum of_stream kind, const struct made_outcome *ours,
                               const struct made_outcome *easy, const struct made_outcome *alone)
{
    switch (kind) {
    case STREAM_HEADS:
        return (struct stream_gate){"longest of them, s", ours->watched_max,
                                    2 * easy->watched_max + HOUR_S};
    case STREAM_OTHERS:
        return (struct stream_gate){"their mean, s", ours->watched_mean,
                                    2 * alone->watched_mean + HOUR_S};
    case STREAM_WHOLE: break;
    }
    return (struct stream_gate){"slowdown of all", ours->all.bsld.mean / easy->all.bsld.mean, 0.9};
}
