/* Streams made against an order: what an adversary, or an ordinary site, may submit. The jobs that
 * a stream is about are watched (queue 1). */
#include "sim/replay/lublin.h"
#include "sim/replay/made.h"

#include "base/alloc.h"

#include <math.h>

#define MINUTE INT64_C(60)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

struct made_stream {
    int64_t from, until;
    double load;
    int64_t procs_most, run_least, run_most;
    int64_t users, first_user;
    bool watched;
};

/* Small jobs, Poisson, with limits of at most twice the longest run. */
static void stream_fill(const struct made_options *o, struct rng *r, const struct made_stream *s,
                        struct trace *t)
{
    double now = (double)s->from,
           area = (double)(s->run_least + s->run_most) / 2 * (double)(1 + s->procs_most) / 2,
           gap = area / ((double)o->procs * s->load);
    while ((now += -log(rng_unit(r)) * gap) < (double)s->until) {
        int64_t run = rng_range(r, s->run_least, s->run_most);
        made_job(t, (int64_t)now, rng_range(r, 1, s->procs_most), run, made_round(run),
                 s->first_user + made_user(r, s->users), s->watched);
    }
}

static void full_width(const struct made_options *o, struct rng *r, struct trace *t)
{
    struct made_stream small = {0,           3 * DAY,  o->load, 1,    5 * MINUTE,
                                20 * MINUTE, o->users, 0,       false};
    stream_fill(o, r, &small, t);
    made_job(t, 12 * HOUR, o->procs, HOUR, HOUR, 1000, true);
}

static void half_width(const struct made_options *o, struct rng *r, struct trace *t)
{
    struct made_stream small = {0, 6 * DAY, o->load - 4.0 / 12 / 2, 4, 10 * MINUTE, HOUR, o->users,
                                0, false};
    stream_fill(o, r, &small, t);
    for (int64_t at = 6 * HOUR; at < 6 * DAY; at += 12 * HOUR)
        made_job(t, at, (o->procs + 1) / 2, 4 * HOUR, 4 * HOUR, 1000, true);
}

static void gangs(const struct made_options *o, struct rng *r, struct trace *t)
{
    struct made_stream small = {0, 4 * DAY, o->load - 0.5 / 6, 2, 2 * MINUTE, 2 * HOUR, o->users,
                                0, false};
    stream_fill(o, r, &small, t);
    for (int64_t at = 3 * HOUR; at < 4 * DAY; at += 6 * HOUR)
        made_job(t, at, o->procs, HOUR / 2, HOUR / 2, 1000 + at / (6 * HOUR) % 3, true);
}

/* A job that asks a week among jobs of minutes. */
static void long_job(const struct made_options *o, struct rng *r, struct trace *t)
{
    struct made_stream small = {0,           4 * DAY,  o->load, 4,    2 * MINUTE,
                                10 * MINUTE, o->users, 0,       false};
    stream_fill(o, r, &small, t);
    for (int64_t k = 0; k < 4; k++)
        made_job(t, (12 + 12 * k) * HOUR, 4, 6 * HOUR, 7 * DAY, 1000 + k, true);
}

static void array_at(const struct made_options *o, struct rng *r, struct trace *t, int64_t at)
{
    struct made_stream others = {0, 4 * DAY, o->load, 8, HOUR / 2, 2 * HOUR, o->users, 0, true};
    stream_fill(o, r, &others, t);
    for (int64_t k = 0; k < o->jobs; k++)
        made_job(t, at, 1, HOUR - rng_range(r, 0, 10 * MINUTE), HOUR, 1000, false);
}

static void array(const struct made_options *o, struct rng *r, struct trace *t)
{
    array_at(o, r, t, HOUR);
}

/* By then all others have used the machine, and who submits it has not. */
static void late_array(const struct made_options *o, struct rng *r, struct trace *t)
{
    array_at(o, r, t, 2 * DAY);
}

/* Jobs of a minute that ask for half a day, and then, of the same limit, what needs it. */
static void liar(const struct made_options *o, struct rng *r, struct trace *t)
{
    struct made_stream others = {0, 4 * DAY, o->load, 8, HOUR / 2, 4 * HOUR, o->users, 0, true};
    stream_fill(o, r, &others, t);
    for (int64_t k = 0; k < 30; k++)
        made_job(t, 12 * HOUR + k * 2 * MINUTE, 1, MINUTE, 12 * HOUR, 1000, false);
    for (int64_t k = 0; k < 2 * o->procs; k++)
        made_job(t, 14 * HOUR, 1, 12 * HOUR - 1, 12 * HOUR, 1000, false);
}

/* One user keeps the queue full of jobs of minutes, the others run hours. */
static void flood(const struct made_options *o, struct rng *r, struct trace *t)
{
    struct made_stream others = {0, 3 * DAY, o->load, 8, HOUR, 3 * HOUR, o->users, 0, true};
    struct made_stream one = {2 * HOUR, 2 * DAY, 0.8, 1, 2 * MINUTE, 6 * MINUTE, 1, 1000, false};
    stream_fill(o, r, &others, t);
    stream_fill(o, r, &one, t);
}

/* One user's wide short jobs, each as wide as half of the machine, all at once. */
static void wide_flood(const struct made_options *o, struct rng *r, struct trace *t)
{
    struct made_stream others = {0, 3 * DAY, o->load, 4, HOUR / 2, 2 * HOUR, o->users, 0, true};
    stream_fill(o, r, &others, t);
    for (int64_t k = 0; k < 100; k++)
        made_job(t, 6 * HOUR, (o->procs + 1) / 2, 30 * MINUTE, HOUR, 1000, false);
}

/* More than two days of work in wait, and then none too much. */
static void backlog(const struct made_options *o, struct rng *r, struct trace *t)
{
    struct made_stream much = {0, 7 * DAY, o->load, 16, 10 * MINUTE, 12 * HOUR, o->users, 0, false};
    struct made_stream less = {7 * DAY,   14 * DAY, 0.5, 16,   10 * MINUTE,
                               12 * HOUR, o->users, 0,   false};
    stream_fill(o, r, &much, t);
    stream_fill(o, r, &less, t);
}

const struct made_kind made_streams[] = {
    {"full-width",
     "a job as wide as the machine behind a stream of 1-CPU jobs",
     {.procs = 32, .seed = 1, .users = 20, .load = 0.98},
     full_width},
    {"half-width",
     "a job of half the machine for 4 h every 12 h beside small jobs",
     {.procs = 64, .seed = 1, .users = 20, .load = 0.87},
     half_width},
    {"gangs",
     "full-width jobs of half an hour every 6 h beside small jobs",
     {.procs = 32, .seed = 1, .users = 20, .load = 0.9},
     gangs},
    {"long",
     "jobs that ask a week behind jobs of minutes",
     {.procs = 32, .seed = 1, .users = 20, .load = 0.97},
     long_job},
    {"array",
     "others while one user's array of 5,000 one-hour jobs waits",
     {.procs = 128, .jobs = 5000, .seed = 1, .users = 20, .load = 0.5},
     array},
    {"late-array",
     "the same after two days in which that user used nothing",
     {.procs = 128, .jobs = 5000, .seed = 1, .users = 20, .load = 0.5},
     late_array},
    {"liar",
     "others while one user asks 12 h for jobs of a minute, and then needs them",
     {.procs = 64, .seed = 1, .users = 20, .load = 0.5},
     liar},
    {"flood",
     "others while one user keeps the queue full of jobs of minutes",
     {.procs = 64, .seed = 1, .users = 20, .load = 0.5},
     flood},
    {"wide-flood",
     "others while one user submits 100 jobs of half the machine",
     {.procs = 64, .seed = 1, .users = 20, .load = 0.5},
     wide_flood},
    {"backlog",
     "a week at more than the machine can do, then a week at half",
     {.procs = 128, .seed = 1, .users = 20, .load = 1.4},
     backlog},
    {0},
};
