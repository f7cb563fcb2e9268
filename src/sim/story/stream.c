/* The policy is played in a world: the controller's machine with its store, which may die, nodes,
 * and what is said between them. What it is compared with, EASY by arrival and those whom the
 * stream is about alone, is replayed on the same nodes without all that (sim/replay). */
#include "sim/story/stream.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "model/job/job.h"
#include "sim/replay/made.h"
#include "sim/report/streams.h"
#include "sim/story/words.h"
#include "sim/world/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CRASHES_MAX 16
#define AWAY_US     (30 * USEC_PER_SEC)
#define UID_FIRST   1000 /* of user 0 of a workload */
#define TIME_MOST   (400 * USEC_PER_DAY)

struct story_stream {
    const char *config;
    const struct made_against *against;
    struct trace t;
    struct str name, parameters; /* as people know it; SchedulerParameters */
    int64_t crash_us[CRASHES_MAX];
    size_t ncrashes;
    int64_t most_us; /* 0: the stream's own gate */
    bool as_array;
    struct err *err;
};

/* ---- the line ---- */

static bool crashes_read(struct story_stream *s, const char *text)
{
    struct span rest = span_of(text), piece;
    bool ok = true;
    while (ok && span_next(&rest, ',', &piece)) {
        char *time = xstrndup(piece.data, piece.len);
        ok = s->ncrashes < CRASHES_MAX && duration_parse(time, &s->crash_us[s->ncrashes++], NULL);
        free(time);
    }
    return ok;
}

static bool word_read(struct story_stream *s, const char *word)
{
    const char *v;
    str_addf(&s->name, " %s", word);
    if ((v = story_value(word, "crash")))
        return crashes_read(s, v);
    if ((v = story_value(word, "most")))
        return duration_parse(v, &s->most_us, NULL);
    if (text_is(word, "as-array")) {
        s->as_array = true;
        return true;
    }
    str_addf(&s->parameters, "%s%s", s->parameters.len ? "," : "", word);
    return strchr(word, '=') != NULL;
}

static bool line_read(struct story_stream *s, char *const *word, size_t n)
{
    struct str path = STR_INIT;
    if (n < 2)
        return err_set(s->err, ERR_INVALID, "stream KIND: remuda-sim run --help names them");
    str_addf(&path, "made:%s", word[1]);
    str_add(&s->name, word[1]);
    s->against = made_against_of(str_text(&path));
    bool ok = s->against ? made_read(str_text(&path), &s->t, s->err)
                         : err_set(s->err, ERR_INVALID, "%s is no stream", word[1]);
    for (size_t i = 2; ok && i < n; i++)
        ok = word_read(s, word[i]) || err_set(s->err, ERR_INVALID, "%s cannot be read", word[i]);
    str_done(&path);
    return ok;
}

/* ---- in a world ---- */

static bool same_array(const struct trace_job *a, const struct trace_job *b)
{
    return a->submit == b->submit && a->user == b->user && a->procs == b->procs &&
           a->estimate == b->estimate;
}

/* Job i of the workload and as many behind it as are of its array; returns how many. */
static size_t job_submit(const struct story_stream *s, struct sim_world *w, size_t i)
{
    const struct trace_job *j = &s->t.job.v[i];
    char name[32], array[32];
    size_t n = 1;
    while (s->as_array && i + n < s->t.job.n && same_array(j, &s->t.job.v[i + n]))
        n++;
    snprintf(name, sizeof name, "%zu", i);
    snprintf(array, sizeof array, "0-%zu", n - 1);
    struct job_spec spec = {.name = name,
                            .array = n > 1 ? array : NULL,
                            .req = {.ntasks = (int32_t)j->procs,
                                    .mem_per_node_mib = 1,
                                    .time_limit_us = j->estimate * USEC_PER_SEC}};
    struct behaviour b = {.runs_us = j->run * USEC_PER_SEC};
    enum refusal refusal = REFUSE_NONE;
    world_ask_as(w, (uint32_t)(UID_FIRST + j->user));
    world_submit(w, &spec, &b, &refusal);
    world_ask_as(w, 0);
    if (refusal)
        err_set(s->err, ERR_INVALID, "job %zu of the stream: %s", i, refusal_text(refusal));
    return n;
}

/* Everything until then, deaths of the controller among it. */
static void stream_run(struct sim_world *w, const struct story_stream *s, size_t *crash,
                       int64_t until_us)
{
    for (; *crash < s->ncrashes && s->crash_us[*crash] <= until_us; ++*crash) {
        world_run(w, s->crash_us[*crash]);
        world_crash_controller(w, CRASH_NOW, AWAY_US);
    }
    world_run(w, until_us);
}

struct stream_rows {
    const struct trace *t;
    struct replay_result *r;
    int64_t zero_us; /* second 0 of the workload by the clock of the rows */
    size_t over;
};

static void stream_row(void *ctx, const void *record)
{
    struct stream_rows *rows = ctx;
    const struct job *j = record;
    int64_t i = story_number(j->spec.name) + (j->array_task_id == NO_TASK ? 0 : j->array_task_id);
    if (!job_state_over((enum job_state)j->state) || i < 0 || (size_t)i >= rows->t->job.n)
        return;
    rows->r->job[i].start = (j->start_us - rows->zero_us) / USEC_PER_SEC;
    rows->r->job[i].end = (j->end_us - rows->zero_us) / USEC_PER_SEC;
    rows->over++;
}

static void world_config(const struct story_stream *s, struct str *out)
{
    str_add(out, s->config);
    str_add(out, "PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED\n");
    if (s->parameters.len)
        str_addf(out, "SchedulerParameters=%s\n", str_text(&s->parameters));
}

static bool stream_world(const struct story_stream *s, struct replay_result *ret)
{
    struct str config = STR_INIT;
    size_t crash = 0;
    world_config(s, &config);
    struct sim_world *w = simworld_new(1, str_text(&config), s->err);
    str_done(&config);
    if (!w)
        return false;
    int64_t begun_us = world_now(w);
    ret->job = xcalloc(s->t.job.n + 1, sizeof ret->job[0]);
    for (size_t i = 0; i < s->t.job.n && !world_broken(w) && !s->err->code;) {
        stream_run(w, s, &crash, begun_us + s->t.job.v[i].submit * USEC_PER_SEC);
        i += job_submit(s, w, i);
    }
    while (!world_broken(w) && !world_idle(w) && world_now(w) < TIME_MOST)
        stream_run(w, s, &crash, world_now(w) + USEC_PER_HOUR);
    struct stream_rows rows = {
        .t = &s->t, .r = ret, .zero_us = world_wall(w) - world_now(w) + begun_us};
    world_jobs(w, stream_row, &rows);
    if (world_broken(w))
        err_set(s->err, ERR_INVALID, "the oracle: %s", world_broken(w));
    else if (!s->err->code && rows.over != s->t.job.n)
        err_set(s->err, ERR_INVALID, "%zu of %zu jobs are over", rows.over, s->t.job.n);
    simworld_free(w);
    return !s->err->code;
}

/* ---- what it is compared with ---- */

/* Those lines of the story that name nodes. */
static void node_lines(const char *config, struct str *out)
{
    struct span rest = span_of(config), line;
    while (span_next(&rest, '\n', &line))
        if (line.len > 9 && strncmp(line.data, "NodeName=", 9) == 0)
            str_addf(out, "%.*s\n", (int)line.len, line.data);
}

static bool reference(const struct story_stream *s, const struct trace *t,
                      const struct replay_machine *m, const char *policy, struct made_outcome *ret)
{
    struct replay_setup setup = {
        .machine = *m, .policy = *ref_policy_named(policy), .rule = RULE_BATCH, .untimed = true};
    struct replay_result r;
    if (!replay_run(t, &setup, &r, s->err))
        return false;
    made_outcome(t, m, &r, ret);
    replay_done(&r);
    return true;
}

static bool alone_play(const struct story_stream *s, const struct replay_machine *m,
                       struct made_outcome *ret)
{
    struct trace t = {.max_procs = s->t.max_procs};
    for (size_t i = 0; i < s->t.job.n; i++)
        vec_push(&t.job, s->t.job.v[i]);
    watched_keep(&t);
    bool ok = reference(s, &t, m, "default", ret);
    trace_done(&t);
    return ok;
}

/* ---- in words ---- */

static const char *const asked[] = {
    [STREAM_HEADS] =
        "nobody it is about waits longer than twice what EASY has them wait and an hour",
    [STREAM_OTHERS] =
        "others wait no longer in the mean than twice what they wait alone and an hour",
    [STREAM_WHOLE] = "the slowdown of all is at most nine tenths of EASY's"};

static void seconds_say(double seconds, struct str *out)
{
    duration_format_short((int64_t)seconds * USEC_PER_SEC, out);
}

static void figure(const char *what, const struct made_outcome *o)
{
    struct str mean = STR_INIT, longest = STR_INIT;
    seconds_say(o->watched_mean, &mean);
    seconds_say(o->watched_max, &longest);
    printf("#   %-28s waits of them: mean %s, longest %s; slowdown of all %.2f\n", what,
           str_text(&mean), str_text(&longest), o->all.bsld.mean);
    str_done(&mean);
    str_done(&longest);
}

static void stream_say(const struct story_stream *s, const struct stream_gate *g, struct str *said)
{
    struct str most = STR_INIT;
    str_addf(said, "%s: ", str_text(&s->name));
    if (s->most_us) {
        duration_format_short(s->most_us, &most);
        str_addf(said, "%s %s", "those it is about wait no longer than", str_text(&most));
        str_done(&most);
    } else {
        str_add(said, asked[s->against->kind]);
    }
    str_add(said, g->got <= g->most ? ": holds\n" : ": does not hold\n");
}

static bool stream_play(struct story_stream *s, struct str *said)
{
    struct made_outcome ours, easy, alone = {0};
    struct replay_result r = {0};
    struct str lines = STR_INIT;
    node_lines(s->config, &lines);
    const struct replay_machine m = {.procs = s->t.max_procs, .lines = str_text(&lines)};
    bool ok = stream_world(s, &r) && reference(s, &s->t, &m, "easy", &easy) &&
              (s->against->kind != STREAM_OTHERS || alone_play(s, &m, &alone));
    if (ok) {
        made_outcome(&s->t, &m, &r, &ours);
        struct stream_gate g = stream_gate(s->against->kind, &ours, &easy, &alone);
        if (s->most_us)
            g.most = (double)(s->most_us / USEC_PER_SEC);
        printf("# %s: %zu jobs; %s %.2f, at most %.2f\n", str_text(&s->name), s->t.job.n, g.name,
               g.got, g.most);
        figure("so", &ours);
        figure("EASY by arrival", &easy);
        if (s->against->kind == STREAM_OTHERS)
            figure("alone", &alone);
        stream_say(s, &g, said);
    }
    replay_done(&r);
    str_done(&lines);
    return ok;
}

bool story_stream(const char *config, char *const *word, size_t n, struct str *said,
                  struct err *ret_err)
{
    struct story_stream s = {.config = config, .err = ret_err};
    bool ok = line_read(&s, word, n) && stream_play(&s, said);
    trace_done(&s.t);
    str_done(&s.name);
    str_done(&s.parameters);
    return ok;
}
