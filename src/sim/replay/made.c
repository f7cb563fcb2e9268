/* Users come back with what they ran before: a session is a width and a run time from the model,
 * submitted again some times with some noise, now and then as an array. Sessions do not look at
 * what they repeat, so widths and run times keep the model's distribution. Time passes by the
 * model's arrivals, stretched so that the work asked for is the load; nights and week-ends pass
 * faster. */
#include "sim/replay/made.h"

#include "base/alloc.h"
#include "base/str.h"
#include "sim/replay/lublin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HOUR INT64_C(3600)
#define DAY  (24 * HOUR)

/* ---- users and limits ---- */

int64_t made_user(struct rng *r, int64_t users)
{
    double sum = 0, at;
    for (int64_t k = 1; k <= users; k++)
        sum += 1 / (double)k;
    at = rng_unit(r) * sum;
    for (int64_t k = 1; k < users; k++)
        if ((at -= 1 / (double)k) < 0)
            return k;
    return users;
}

int64_t made_round(int64_t seconds)
{
    static const int64_t minutes[] = {5,   10,  15,  30,   60,   120,  180,  240, 360,
                                      480, 720, 960, 1440, 2160, 2880, 4320, 7200};
    for (size_t i = 0; i < ARRAY_LEN(minutes); i++)
        if (seconds <= minutes[i] * 60)
            return minutes[i] * 60;
    return 7 * DAY;
}

static int64_t habit(struct rng *r, int64_t user, int64_t run)
{
    static const int64_t always[] = {4 * HOUR, 12 * HOUR, DAY, 2 * DAY};
    switch (user % 4) {
    case 0: return always[user / 4 % 4];
    case 1: return made_round(run * 10);
    case 2: return rng_chance(r, 500) ? made_round(run * 10) : made_round(run * 2);
    default: return made_round(run + (int64_t)((double)run * 4 * rng_unit(r)));
    }
}

int64_t made_limit(const struct made_options *o, struct rng *r, int64_t user, int64_t run)
{
    int64_t limit = run;
    switch (o->limits) {
    case LIMITS_HABITS: limit = habit(r, user, run); break;
    case LIMITS_EXACT: break;
    case LIMITS_DAY: limit = DAY; break;
    /* Who runs short asks long, as far as that can be */
    case LIMITS_INVERSE: limit = run + DAY * HOUR / (run + HOUR); break;
    case LIMITS_WEEK: limit = rng_chance(r, 500) ? 7 * DAY : made_round(run * 2); break;
    }
    return limit;
}

void made_job(struct trace *t, int64_t submit, int64_t procs, int64_t run, int64_t limit,
              int64_t user, bool watched)
{
    run = run < limit ? run : limit;
    struct trace_job j = {.id = (int64_t)t->job.n + 1,
                          .submit = submit,
                          .run = run > 0 ? run : 1,
                          .estimate = limit,
                          .procs = procs,
                          .user = user,
                          .queue = watched,
                          .started = -1};
    vec_push(&t->job, j);
}

/* ---- sessions ---- */

struct made_session {
    int64_t procs, run;
    int64_t left; /* submissions to come */
};

typedef struct made_session (*session_new)(const struct made_options *o, struct rng *r);

static int64_t geometric(struct rng *r, double mean)
{
    return 1 + (int64_t)(log(rng_unit(r)) / log(1 - 1 / mean));
}

/* How often something is submitted; arrays come all at once. */
static int64_t copies(struct rng *r, int64_t procs)
{
    return procs <= 4 && rng_chance(r, 20) ? geometric(r, 40) : 1;
}

/* Moments at which jobs come, in units to be stretched. */
static double *arrivals(const struct lublin *l, struct rng *r, size_t n)
{
    double *at = xcalloc(n + 1, sizeof at[0]), sum = 0;
    for (size_t i = 0; i < n; i++)
        at[i] = sum += lublin_gap(l, r);
    return at;
}

/* Time by which `points` of arrivals are spent, where each half hour has its weight. */
struct week {
    double weight[LUBLIN_BUCKETS];
    double spent; /* of the half hour at hand */
    int64_t half; /* hours since the Monday at 0:00 on which it begins */
};

static double half_weight(const struct week *w)
{
    bool weekend = w->half / LUBLIN_BUCKETS % 7 >= 5;
    return w->weight[w->half % LUBLIN_BUCKETS] * (weekend ? 0.5 : 1.2);
}

static int64_t week_pass(struct week *w, double points)
{
    points += w->spent;
    while (points > half_weight(w) * 1800) {
        points -= half_weight(w) * 1800;
        w->half++;
    }
    w->spent = points;
    return w->half * 1800 + (int64_t)(points / half_weight(w));
}

static void sessions_fill(const struct made_options *o, struct rng *r, const struct lublin *l,
                          session_new begin, struct trace *t)
{
    struct made_session *of = xcalloc((size_t)o->users + 1, sizeof of[0]);
    double *at = arrivals(l, r, (size_t)o->jobs), area = 0;
    struct week week = {0};
    size_t n = 0;
    while ((int64_t)t->job.n < o->jobs) {
        int64_t user = made_user(r, o->users);
        struct made_session *s = &of[user];
        if (s->left == 0) {
            *s = begin(o, r);
            s->left = geometric(r, 3);
        }
        s->left--;
        int64_t times = copies(r, s->procs);
        for (; times > 0 && (int64_t)t->job.n < o->jobs; times--) {
            int64_t run = (int64_t)((double)s->run * exp(0.25 * rng_normal(r)));
            made_job(t, (int64_t)n, s->procs, run > 0 ? run : 1, 0, user, false);
            struct trace_job *j = &t->job.v[t->job.n - 1];
            j->run = run > 0 ? run : 1;
            j->estimate = made_limit(o, r, user, j->run);
            j->run = j->run < j->estimate ? j->run : j->estimate;
            area += (double)j->run * (double)j->procs;
        }
        n++;
    }
    /* submit is the number of the submission so far */
    double stretch = area / (double)o->procs / o->load / at[n - 1], before = 0;
    int64_t now = 0;
    lublin_day(l, week.weight);
    for (size_t i = 0, k = 0; i < t->job.n; i++) {
        for (; (int64_t)k <= t->job.v[i].submit; k++) {
            now = week_pass(&week, (at[k] - before) * stretch);
            before = at[k];
        }
        t->job.v[i].submit = now;
    }
    free(at);
    free(of);
}

static struct made_session batch_session(const struct made_options *o, struct rng *r)
{
    int64_t procs = lublin_width(&lublin_batch, r, o->procs);
    return (struct made_session){procs, lublin_run(&lublin_batch, r, procs), 0};
}

static struct made_session all_session(const struct made_options *o, struct rng *r)
{
    int64_t procs = lublin_width(&lublin_all, r, o->procs);
    return (struct made_session){procs, lublin_run(&lublin_all, r, procs), 0};
}

/* Most take one GPU and fail or end soon; few take many for days. */
static struct made_session gpu_session(const struct made_options *o, struct rng *r)
{
    static const int64_t wide[] = {2, 4, 8, 8, 16, 32, 64};
    int64_t procs = rng_chance(r, 700) ? 1 : wide[rng_below(r, ARRAY_LEN(wide))];
    double seconds = exp(6.4 + 2.1 * rng_normal(r)) * (procs > 4 ? 3 : 1);
    int64_t run = seconds > 7.0 * DAY ? 7 * DAY : (int64_t)seconds + 1;
    return (struct made_session){procs < o->procs ? procs : o->procs, run, 0};
}

static void batch_fill(const struct made_options *o, struct rng *r, struct trace *t)
{
    sessions_fill(o, r, &lublin_batch, batch_session, t);
}

static void all_fill(const struct made_options *o, struct rng *r, struct trace *t)
{
    sessions_fill(o, r, &lublin_all, all_session, t);
}

static void gpu_fill(const struct made_options *o, struct rng *r, struct trace *t)
{
    sessions_fill(o, r, &lublin_all, gpu_session, t);
}

static const struct made_kind kinds[] = {
    {"batch",
     "batch jobs of the Lublin-Feitelson model",
     {.procs = 128, .jobs = 5000, .seed = 1, .users = 40, .load = 0.8},
     batch_fill},
    {"all",
     "batch and interactive jobs of the same",
     {.procs = 128, .jobs = 5000, .seed = 1, .users = 40, .load = 0.8},
     all_fill},
    {"gpu",
     "a mix as GPU clusters have it",
     {.procs = 256, .jobs = 5000, .seed = 1, .users = 60, .load = 0.85},
     gpu_fill},
    {0},
};

/* ---- names ---- */

#define PREFIX "made:"

static const struct made_kind *kind_named(struct span name)
{
    const struct made_kind *tables[] = {kinds, made_streams};
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        for (const struct made_kind *k = tables[i]; k->name; k++)
            if (span_is(name, k->name))
                return k;
    return NULL;
}

bool made_named(const char *path)
{
    return path && strncmp(path, PREFIX, strlen(PREFIX)) == 0;
}

static const char *const limit_words[] = {[LIMITS_HABITS] = "habits",
                                          [LIMITS_EXACT] = "exact",
                                          [LIMITS_DAY] = "day",
                                          [LIMITS_INVERSE] = "inverse",
                                          [LIMITS_WEEK] = "week"};

static bool limits_take(struct made_options *o, const char *text)
{
    for (size_t i = 0; i < ARRAY_LEN(limit_words); i++)
        if (text_is(text, limit_words[i])) {
            o->limits = (enum made_limits)i;
            return true;
        }
    return false;
}

static bool key_take(struct made_options *o, const char *key, const char *value)
{
    const struct {
        const char *key;
        int64_t *to, least, most;
    } numbers[] = {{"procs", &o->procs, 1, 1 << 20},
                   {"jobs", &o->jobs, 1, 1000000},
                   {"seed", &o->seed, 0, INT64_C(1) << 40},
                   {"users", &o->users, 1, 10000}};
    char *end;
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (text_is(key, numbers[i].key))
            return text_to_i64(value, numbers[i].least, numbers[i].most, numbers[i].to);
    if (text_is(key, "limits"))
        return limits_take(o, value);
    if (!text_is(key, "load"))
        return false;
    o->load = strtod(value, &end);
    return end != value && !*end && o->load >= 0.01 && o->load <= 10;
}

static bool option_read(struct made_options *o, struct span piece, struct err *ret_err)
{
    char *text = xstrndup(piece.data, piece.len), *value = strchr(text, '=');
    if (value)
        *value++ = '\0';
    bool ok = value && key_take(o, text, value);
    if (!ok)
        err_set(ret_err, ERR_INVALID,
                "'%.*s' of a made workload: procs=N, jobs=N, users=N, seed=N, load=0.8 or "
                "limits=habits|exact|day|inverse|week",
                (int)piece.len, piece.data);
    free(text);
    return ok;
}

bool made_read(const char *path, struct trace *ret, struct err *ret_err)
{
    struct span rest = span_of(path + strlen(PREFIX)), piece;
    const struct made_kind *kind = span_next(&rest, ',', &piece) ? kind_named(piece) : NULL;
    *ret = (struct trace){0};
    if (!kind)
        return err_set(ret_err, ERR_NOT_FOUND,
                       "%s: there is no such made workload; remuda-sim run --help names them",
                       path);
    struct made_options o = kind->usual;
    while (span_next(&rest, ',', &piece))
        if (!option_read(&o, piece, ret_err))
            return err_prefix(ret_err, "%s", path);
    struct rng r = {(uint64_t)o.seed};
    ret->name = xstrdup(path);
    ret->max_procs = o.procs;
    kind->fill(&o, &r, ret);
    trace_sort(ret);
    for (size_t i = 0; i < ret->job.n; i++)
        ret->job.v[i].id = (int64_t)i + 1;
    return true;
}

void made_help(FILE *to)
{
    const struct made_kind *tables[] = {kinds, made_streams};
    fputs("  " PREFIX "KIND[,key=value]…      made: procs=N jobs=N users=N seed=N load=0.8\n"
          "                             limits=habits|exact|day|inverse|week. Kinds:\n",
          to);
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        for (const struct made_kind *k = tables[i]; k->name; k++)
            fprintf(to, "                               %-10s %s\n", k->name, k->doc);
}
