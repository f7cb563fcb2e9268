#include "controller/query.h"

#include "base/alloc.h"
#include "controller/answer.h"
#include "controller/long_read.h"
#include "controller/past.h"
#include "controller/series_store.h"
#include "controller/session/session.h"
#include "controller/traffic.h"
#include "controller/turn.h"
#include "io/build.h"
#include "io/clock.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PART_JOBS       1000 /* looked at in one go: some milliseconds */
#define LARGE_PARTS     20   /* the memory of such an answer is given back */
#define PART_JOBS_HURRY 32   /* with others about: 0.2 ms */

const struct fields *query_record_fields(enum query_what what)
{
    switch (what) {
    case QUERY_JOBS:
    case QUERY_HISTORY: return &job_fields;
    case QUERY_NODES: return &node_fields;
    case QUERY_PARTITIONS: return &partition_fields;
    case QUERY_RESERVATIONS: return &reservation_fields;
    case QUERY_STEPS: return &step_fields;
    case QUERY_SETTINGS: return &meta_fields;
    case QUERY_STATUS: return &status_fields;
    case QUERY_PRIORITY: return &priority_fields;
    case QUERY_SHARES: return &usage_fields;
    case QUERY_DIAG: return &diag_fields;
    case QUERY_TOKENS: return &token_fields;
    case QUERY_HOSTS: return &host_fields;
    case QUERY_TRIGGERS: return &trigger_fields;
    case QUERY_ACCOUNTS: return &account_fields;
    case QUERY_ACCOUNT_USERS: return &account_user_fields;
    case QUERY_ASSOCS: return &assoc_fields;
    case QUERY_QOS: return &qos_fields;
    case QUERY_LIMITS: return &limit_fields;
    case QUERY_WCKEYS: return &wckey_fields;
    case QUERY_TRES: return &tres_fields;
    case QUERY_TRANSACTIONS: return &transaction_fields;
    case QUERY_USED: return &used_fields;
    case QUERY_NODE_SPELLS: return &node_spell_fields;
    case QUERY_PAST_RESERVATIONS: return &reservation_fields;
    case QUERY_LIMIT_USE: return &limit_use_fields;
    case QUERY_FAIR_SHARES: return &fair_share_fields;
    case QUERY_IN_USE: return &in_use_fields;
    }
    return NULL;
}

/* ---- settings
 * ----------------------------------------------------------------------------- */

static void settings_answer(struct controller *c, struct answer *a)
{
    struct str value = STR_INIT;
    for (size_t i = 0; i < setting_count; i++) {
        str_clear(&value);
        setting_format(&setting_table[i], core_settings(c->core), &value);
        struct meta row = {.key = setting_table[i].key, .value = str_text(&value)};
        answer_row(a, &row);
    }
    str_done(&value);
}

/* ---- status
 * ------------------------------------------------------------------------------- */

static int64_t rss_bytes(void)
{
    long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f)
        return 0;
    if (fscanf(f, "%*d %lld", &pages) != 1)
        pages = 0;
    fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

/* What its lines ask for and is not there; what is not missed is in the log alone. */
static const char *config_trouble(const struct config *c, struct arena *a)
{
    const char *first = NULL;
    size_t n = 0;
    for (size_t i = 0; i < c->nwarnings; i++) {
        if (c->weighs[i] == WEIGHS_NOTHING)
            continue;
        first = first ? first : c->warning[i];
        n++;
    }
    return n > 1 ? arena_printf(a, "%s (and %zu more: `remuda config check`)", first, n - 1)
                 : first;
}

static const char *trouble(struct controller *c, struct arena *a)
{
    const char *why;
    if (turns_store_away(c->turns, &why))
        return arena_printf(a, "the store is away: %s; changes wait, running jobs go on", why);
    if (c->past_damaged)
        return arena_printf(a, "the past cannot be read: %s", c->past_damaged);
    if (past_trouble(c->past))
        return past_trouble(c->past);
    if (series_store_trouble(c->series))
        return arena_printf(a, "samples of jobs are not kept: %s", series_store_trouble(c->series));
    return config_trouble(&c->config, a);
}

struct status_view {
    struct controller *c;
    const struct peer *peer;
    struct answer *answer;
    struct arena *arena;
};

/* The core tells what it knows of the controller; the shell adds what belongs to the process. */
static void status_row(void *ctx, const void *record)
{
    struct status_view *v = ctx;
    struct daemon_status s = *(const struct daemon_status *)record;
    if (text_is(s.role, "controller")) {
        const char *ours = trouble(v->c, v->arena);
        s.name = s.name ? s.name : v->c->host;
        s.pid = getpid();
        s.start_us = v->c->start_us;
        s.version = build_name();
        s.state_dir = v->c->state_dir;
        s.store = arena_printf(v->arena, "SQLite %s/remuda.db", v->c->state_dir);
        s.trouble = ours ? ours : s.trouble;
        s.rss_bytes = rss_bytes();
        s.turns = turns_count(v->c->turns);
        struct plan_times times = turns_plan_times(v->c->turns);
        s.last_plan_us = times.last_us;
        s.mean_plan_us = times.n ? times.sum_us / (int64_t)times.n : 0;
        s.round_max_us = loop_rounds(v->c->loop).max_us;
    }
    answer_row(v->answer, &s);
}

static void lengths_fill(struct diag *d, const struct loop_rounds *rounds)
{
    uint64_t *const of[] = {&d->rounds_100us, &d->rounds_200us, &d->rounds_500us, &d->rounds_1ms,
                            &d->rounds_2ms,   &d->rounds_5ms,   &d->rounds_10ms,  &d->rounds_20ms,
                            &d->rounds_50ms,  &d->rounds_100ms, &d->rounds_200ms, &d->rounds_500ms,
                            &d->rounds_1s,    &d->rounds_longer};
    static_assert(ARRAY_LEN(of) == LOOP_LENGTHS, "a column for each length");
    for (size_t i = 0; i < LOOP_LENGTHS; i++)
        *of[i] = rounds->of[i];
}

void diag_complete(struct controller *c, struct diag *d)
{
    struct plan_times times = turns_plan_times(c->turns);
    struct loop_rounds rounds = loop_rounds(c->loop);
    d->start_us = c->start_us;
    d->reset_us = d->reset_us > d->start_us ? d->reset_us : d->start_us;
    d->connections = sessions_count(c->sessions);
    d->plan_last_us = times.last_us;
    d->plan_max_us = times.max_us;
    d->plan_sum_us = times.sum_us;
    d->turns = turns_count(c->turns);
    d->rounds = rounds.n;
    d->round_max_us = rounds.max_us;
    d->round_sum_us = rounds.sum_us;
    lengths_fill(d, &rounds);
}

static void diag_row(void *ctx, const void *record)
{
    struct status_view *v = ctx;
    struct diag d = *(const struct diag *)record;
    diag_complete(v->c, &d);
    d.trouble = trouble(v->c, v->arena);
    traffic_show(v->c->traffic, v->arena, &d);
    struct core_sight sight;
    core_sight_of(v->c->core, v->peer, v->arena, &sight);
    if (!sight.users)
        d.rpc_users = NULL;
    answer_row(v->answer, &d);
}

/* ---- live ----------------------------------------------------------------------------------- */

/* A part; false: it was the last, and the reading is gone. */
static bool long_read_go(struct long_read *r)
{
    struct answer *a = r->answer;
    struct sessions *sessions = r->c->sessions;
    uint64_t session = r->session;
    struct view view = {.row = answer_row_callback, .ctx = a};
    struct str detail = STR_INIT;
    size_t most = session_hurry(sessions, session) ? PART_JOBS_HURRY : PART_JOBS;
    enum refusal refusal = core_query_part(r->c->core, &r->query, &r->peer, clock_now_us(), &view,
                                           &detail, &r->at, most);
    if (!r->at.more)
        answer_end(a, refusal, detail.len > 0 ? str_text(&detail) : NULL);
    str_done(&detail);
    if (r->at.more)
        return true;
    r->answer = NULL;
    session_reading(sessions, session, NULL);
    long_read_free(r);
    session_answer(sessions, session, a);
    return false;
}

static void long_read_part(void *ctx)
{
    struct long_read *r = ctx;
    struct sessions *sessions = r->c->sessions;
    uint64_t session = r->session;
    int64_t began = clock_thread_ns(), pause = session_spent(sessions, session, 0);
    int parts = ++r->parts;
    struct turns *turns = r->c->turns;
    bool more = pause > 0 || long_read_go(r);
    if (!more && parts >= LARGE_PARTS)
        turns_trim_soon(turns);
    if (pause == 0)
        pause = session_spent(sessions, session, clock_thread_ns() - began);
    if (more)
        timer_set(r->next, pause);
}

static void long_read_begin(struct controller *c, uint64_t session, struct answer *a,
                            const struct msg_query *q, const struct peer *peer)
{
    struct long_read *r = xcalloc(1, sizeof *r);
    *r = (struct long_read){.c = c, .session = session, .answer = a, .arena = arena_new()};
    record_copy(message_fields(MSG_QUERY), &r->query, q, r->arena);
    r->peer = *peer; /* what it may not, too */
    r->peer.user = arena_strdup(r->arena, peer->user);
    r->peer.group = arena_strdup(r->arena, peer->group);
    r->peer.groups = arena_strdup(r->arena, peer->groups);
    r->peer.host = arena_strdup(r->arena, peer->host);
    r->at.taken = answer_taken(a);
    r->next = timer_new(c->loop, long_read_part, r);
    session_reading(c->sessions, session, r);
    if (long_read_go(r)) /* this part is charged with the frame */
        timer_set(r->next, 0);
}

static void live_answer(struct controller *c, struct answer *a, const struct msg_query *q,
                        const struct peer *peer)
{
    struct str detail = STR_INIT;
    struct status_view status = {.c = c, .peer = peer, .answer = a, .arena = arena_new()};
    struct view view = {.row = answer_row_callback, .ctx = a};
    if (q->what == QUERY_STATUS)
        view = (struct view){.row = status_row, .ctx = &status};
    if (q->what == QUERY_DIAG)
        view = (struct view){.row = diag_row, .ctx = &status};
    enum refusal refusal = core_query(c->core, q, peer, clock_now_us(), &view, &detail);
    answer_end(a, refusal, detail.len > 0 ? str_text(&detail) : NULL);
    arena_free(status.arena);
    str_done(&detail);
}

static bool is_long(const struct msg_query *q)
{
    bool of_jobs = q->what == QUERY_JOBS || q->what == QUERY_STEPS || q->what == QUERY_PRIORITY;
    return of_jobs || q->what == QUERY_NODES || q->what == QUERY_IN_USE ||
           q->what == QUERY_LIMIT_USE || q->what == QUERY_SHARES || q->what == QUERY_FAIR_SHARES ||
           q->what == QUERY_PARTITIONS || q->what == QUERY_ASSOCS || q->what == QUERY_LIMITS ||
           q->what == QUERY_ACCOUNTS || q->what == QUERY_ACCOUNT_USERS || q->what == QUERY_WCKEYS;
}

static bool of_the_past(const struct msg_query *q)
{
    return q->what == QUERY_HISTORY || q->what == QUERY_TRANSACTIONS || q->what == QUERY_USED ||
           q->what == QUERY_NODE_SPELLS || q->what == QUERY_PAST_RESERVATIONS ||
           (q->what == QUERY_STEPS && q->history);
}

void query_run(struct controller *c, uint64_t id, uint64_t seq, const struct msg_query *q,
               const struct peer *peer)
{
    if (of_the_past(q)) {
        history_run(c, id, seq, q, peer);
        return;
    }
    struct answer *a =
        answer_new(c->state_dir, seq, query_record_fields((enum query_what)q->what), q->fields);
    answer_of(a, c->answers, peer);
    if (q->what == QUERY_SETTINGS) {
        settings_answer(c, a);
        answer_end(a, REFUSE_NONE, NULL);
    } else if (is_long(q)) {
        long_read_begin(c, id, a, q, peer);
        return;
    } else {
        live_answer(c, a, q, peer);
    }
    session_answer(c->sessions, id, a);
}
