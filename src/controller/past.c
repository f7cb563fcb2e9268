/* A run goes through the kinds. Of each it reads a page on a thread of its own, writes it to a file
 * that is on the disk, and only then has the core remove those rows, PIECE_ROWS a turn; the next
 * piece waits until the one before is stored. Killed at any moment, all that is not in a file is in
 * the store. What is in both is written once more by the next run: who loads both files gets it
 * once.
 *
 * What stops a run (a full disk, a program that fails) is told and tried again at the next look. */
#include "controller/past.h"

#include "base/alloc.h"
#include "base/str.h"
#include "base/vec.h"
#include "controller/disk/archive.h"
#include "controller/disk/reader.h"
#include "controller/past_page.h"
#include "controller/reads.h"
#include "controller/session/session.h"
#include "controller/turn.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/process/spawn_patient.h"
#include "io/work.h"

#include <stdlib.h>
#include <time.h>

#define FIRST_LOOK_US USEC_PER_MIN
#define LOOK_US       USEC_PER_HOUR
#define PAGE_JOBS     20000 /* of a file */
#define PIECE_ROWS    40    /* removed in a turn: a few milliseconds of the writer */
#define PIECE_US      5000  /* between two looks whether it is stored */
#define AWAY_US       USEC_PER_SEC
#define SCRIPT_MAX_US (24 * USEC_PER_HOUR)

struct past_run {
    struct arena *arena;
    struct past_rule rule[PAST_COUNT];
    int64_t before_us[PAST_COUNT];
    const char *dir, *script; /* script NULL = files */
    const char *cluster;
    uint64_t session, seq; /* session 0 = nobody asked */
    struct str told;       /* a line each */
    struct past_page page; /* the one at hand */
    size_t gone;           /* of its rows */
    uint64_t turn;         /* as the last piece was given to the core */
};

struct past {
    struct controller *c;
    struct timer *look, *piece, *held;
    struct worker *worker; /* NULL until needed */
    struct reader reader;  /* the worker's */
    struct spawn_patient *program;
    struct past_run *run; /* NULL = none */
    uint64_t runs;        /* past_runs */
    /* Steps of jobs, and of former runs, that ended before are gone, as far as is known. */
    int64_t steps_until_us, run_steps_until_us;
    char *trouble;
};

static void look_due(void *ctx);
static void piece_due(void *ctx);
static void page_begin(struct past *p);
static void held_over(void *ctx);

struct past *past_new(struct controller *c, const char *store_path, struct writer *writer)
{
    struct past *p = xcalloc(1, sizeof *p);
    p->c = c;
    p->reader = (struct reader){.path = store_path, .writer = writer};
    p->look = timer_new(c->loop, look_due, p);
    p->piece = timer_new(c->loop, piece_due, p);
    p->held = timer_new(c->loop, held_over, p);
    return p;
}

void past_begin(struct past *p)
{
    timer_set(p->look, FIRST_LOOK_US);
}

static void run_free(struct past_run *r)
{
    if (!r)
        return;
    past_page_done(&r->page);
    arena_free(r->arena);
    str_done(&r->told);
    free(r);
}

void past_free(struct past *p)
{
    if (!p)
        return;
    if (p->worker)
        worker_free(p->worker);
    if (p->program)
        spawn_patient_free(p->program);
    run_free(p->run);
    reader_done(&p->reader);
    timer_free(p->look);
    timer_free(p->piece);
    timer_free(p->held);
    free(p->trouble);
    free(p);
}

const char *past_trouble(const struct past *p)
{
    return p->trouble;
}

uint64_t past_runs(const struct past *p)
{
    return p->runs;
}

/* ---- the end of a run ----------------------------------------------------------------------- */

static void run_end(struct past *p)
{
    struct past_run *r = p->run;
    struct msg_archived archived = {.text = str_text(&r->told)};
    struct msg_done refused = {.refusal = REFUSE_STORE, .detail = r->page.err.text};
    bool failed = r->page.err.code != ERR_NONE;
    struct message m = {.kind = failed ? MSG_DONE : MSG_ARCHIVED,
                        .seq = r->seq,
                        .body = failed ? (const void *)&refused : &archived};
    free(p->trouble);
    p->trouble = NULL;
    if (failed) {
        p->trouble = xasprintf("the past is kept though it should go: %s", r->page.err.text);
        log_error(p->c->log, "%s", p->trouble);
    }
    if (r->session)
        session_send(p->c->sessions, r->session, &m, 0);
    p->run = NULL;
    p->runs++;
    run_free(r);
}

static void page_run(void *ctx)
{
    struct past *p = ctx;
    struct past_run *r = p->run;
    struct store *s = reader_begin(&p->reader, &r->page.err);
    bool archive = r->rule[r->page.kind].archive && !r->script;
    if (s)
        past_page_read(&r->page, s, archive ? r->dir : NULL, r->cluster);
    reader_end(&p->reader);
}

/* ---- removing it, on the loop --------------------------------------------------------------- */

static void page_tell(struct past *p)
{
    struct past_run *r = p->run;
    struct str line = STR_INIT;
    uint64_t n = r->page.kind == PAST_USAGE ? r->page.slots : r->page.records;
    str_addf(&line, "%s: %llu removed", enum_name(&past_names, (int32_t)r->page.kind),
             (unsigned long long)n);
    if (r->page.path)
        str_addf(&line, ", written to %s before", r->page.path);
    log_info(p->c->log, "%s", str_text(&line));
    str_addf(&r->told, "%s\n", str_text(&line));
    str_done(&line);
}

/* Is the last piece stored? */
static bool piece_is_stored(const struct past *p)
{
    return turns_idle(p->c->turns) || turns_count(p->c->turns) > p->run->turn + 1;
}

static void piece_remove(struct past *p)
{
    struct past_run *r = p->run;
    size_t n = r->page.key.n - r->gone < PIECE_ROWS ? r->page.key.n - r->gone : PIECE_ROWS;
    struct past_rows rows = {.v = r->page.key.v + r->gone, .n = n};
    if (r->page.kind == PAST_USAGE)
        rows.used_before_us = r->page.query.before_us;
    r->gone += n;
    r->page.slots -= r->page.slots < PAST_SLOTS_AT_ONCE ? r->page.slots : PAST_SLOTS_AT_ONCE;
    r->turn = turns_count(p->c->turns);
    turns_step(p->c->turns, &(struct event){.kind = EV_PAST, .past = &rows});
}

static void piece_due(void *ctx)
{
    struct past *p = ctx;
    struct past_run *r = p->run;
    if (turns_store_away(p->c->turns, NULL)) {
        timer_set(p->piece, AWAY_US);
        return;
    }
    if (!piece_is_stored(p)) {
        timer_set(p->piece, PIECE_US);
        return;
    }
    if (r->gone < r->page.key.n || r->page.slots) {
        piece_remove(p);
        timer_set(p->piece, PIECE_US);
        return;
    }
    if (r->page.kind == PAST_STEPS) {
        p->steps_until_us = r->page.query.at.end_us;
        p->run_steps_until_us = r->page.query.run_at.end_us;
    }
    past_page_clear(&r->page);
    r->gone = 0;
    if (!r->page.query.more) {
        r->page.kind++;
        r->page.query = (struct past_query){0};
    }
    page_begin(p);
}

static void page_done(void *ctx)
{
    struct past *p = ctx;
    struct past_run *r = p->run;
    if (r->page.err.code != ERR_NONE) {
        run_end(p);
        return;
    }
    if (r->page.key.n || r->page.slots)
        page_tell(p);
    r->turn = turns_count(p->c->turns);
    piece_due(p);
}

static void room_tell(struct past *p)
{
    struct err err = {0};
    int64_t bytes = 0, unused = 0;
    struct store *s = reader_begin(&p->reader, &err);
    if (s && store_space(s, &bytes, &unused, &err))
        str_addf(&p->run->told,
                 "The store has %lld MiB, of which %lld MiB are free for new rows.\n",
                 (long long)(bytes >> 20), (long long)(unused >> 20));
    reader_end(&p->reader);
}

static void room_run(void *ctx)
{
    room_tell(ctx);
}

static void room_done(void *ctx)
{
    run_end(ctx);
}

static void page_begin(struct past *p)
{
    struct past_run *r = p->run;
    if (writer_holds(p->reader.writer)) {
        timer_set(p->held, AWAY_US);
        return;
    }
    while (r->page.kind < PAST_COUNT && !r->rule[r->page.kind].age.n)
        r->page.kind++;
    if (r->page.kind == PAST_COUNT) {
        worker_add(p->worker, room_run, room_done, p);
        return;
    }
    if (!r->page.query.most)
        r->page.query = (struct past_query){
            .kind = r->page.kind, .before_us = r->before_us[r->page.kind], .most = PAGE_JOBS};
    if (r->page.kind == PAST_STEPS && !r->page.query.at.end_us)
        r->page.query.at.end_us = p->steps_until_us;
    if (r->page.kind == PAST_STEPS && !r->page.query.run_at.end_us)
        r->page.query.run_at.end_us = p->run_steps_until_us;
    worker_add(p->worker, page_run, page_done, p);
}

static void held_over(void *ctx)
{
    struct past *p = ctx;
    reads_look(p->c->reads);
    page_begin(p);
}

/* ---- beginning ------------------------------------------------------------------------------ */

/* Whole hours, days or months before now, as Slurm counts them, by local time. */
static int64_t age_before_us(const struct age *age, int64_t now_us)
{
    time_t t = (time_t)(now_us / USEC_PER_SEC);
    struct tm tm = {0};
    if (!localtime_r(&t, &tm))
        return 0;
    tm.tm_sec = tm.tm_min = 0;
    tm.tm_isdst = -1;
    switch (age->unit) {
    case AGE_HOURS: tm.tm_hour -= age->n; break;
    case AGE_DAYS:
        tm.tm_hour = 0;
        tm.tm_mday -= age->n;
        break;
    case AGE_MONTHS:
        tm.tm_hour = 0;
        tm.tm_mday = 1;
        tm.tm_mon -= age->n;
        break;
    }
    time_t cut = mktime(&tm);
    return cut > 0 ? (int64_t)cut * USEC_PER_SEC : 0;
}

static bool run_is_due(const struct past_run *r)
{
    for (int i = 0; i < PAST_COUNT; i++)
        if (r->rule[i].age.n)
            return true;
    return false;
}

static struct past_run *run_new(struct past *p, const struct msg_archive *m, struct err *ret_err)
{
    const struct settings *s = core_settings(p->c->core);
    struct past_run *r = xcalloc(1, sizeof *r);
    int64_t now = clock_now_us(), recent = now - s->min_job_age_us - USEC_PER_MIN;
    r->arena = arena_new();
    r->page.names = arena_new();
    past_rules(s, r->rule);
    if (m && !past_rules_change(r->rule, m->purge, m->archive, ret_err)) {
        run_free(r);
        return NULL;
    }
    for (int i = 0; i < PAST_COUNT; i++) {
        r->before_us[i] = age_before_us(&r->rule[i].age, now);
        r->before_us[i] = r->before_us[i] < recent ? r->before_us[i] : recent;
    }
    const char *dir = m && m->directory ? m->directory : s->archive_dir,
               *script = m && m->script ? m->script : s->archive_script;
    r->dir = text_empty(dir) ? arena_printf(r->arena, "%s/archive", p->c->state_dir)
                             : arena_strdup(r->arena, dir);
    r->script = text_empty(script) ? NULL : arena_strdup(r->arena, script);
    r->cluster = arena_strdup(r->arena, s->cluster_name);
    if (text_empty(dir))
        dir_make(r->dir, 0700, &r->page.err);
    return r;
}

static void pages_begin(struct past *p)
{
    if (!p->worker)
        p->worker = worker_new(p->c->loop, "past");
    page_begin(p);
}

static void program_done(void *ctx, const struct spawn_result *result)
{
    struct past *p = ctx;
    struct past_run *r = p->run;
    p->program = NULL;
    if (result->status == 0) {
        str_addf(&r->told, "%s has kept it\n", r->script);
        pages_begin(p);
        return;
    }
    struct str how = STR_INIT;
    spawn_status_text(result->status, &how);
    err_set(&r->page.err, ERR_UNAVAILABLE, "%s %s", r->script,
            result->failed      ? result->failed
            : result->timed_out ? "took too long"
                                : str_text(&how));
    str_done(&how);
    run_end(p);
}

/* In the words of slurmdbd.conf(5). */
static bool program_start(struct past *p)
{
    static const struct {
        enum past_kind kind;
        const char *is, *last;
    } words[] = {{PAST_EVENTS, "EVENTS", "EVENT"}, {PAST_JOBS, "JOBS", "JOB"},
                 {PAST_RESVS, "RESVS", "RESV"},    {PAST_STEPS, "STEPS", "STEP"},
                 {PAST_TXN, "TXN", "TXN"},         {PAST_USAGE, "USAGE", "USAGE"}};
    struct past_run *r = p->run;
    const char *env[2 * ARRAY_LEN(words) + 3], *argv[] = {r->script, NULL};
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        const struct past_rule *rule = &r->rule[words[i].kind];
        env[n++] = arena_printf(r->arena, "SLURM_ARCHIVE_%s=%d", words[i].is,
                                rule->age.n && rule->archive);
        env[n++] = arena_printf(r->arena, "SLURM_ARCHIVE_LAST_%s=%lld", words[i].last,
                                (long long)(r->before_us[words[i].kind] / USEC_PER_SEC));
    }
    env[n++] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    env[n++] = arena_printf(r->arena, "REMUDA_STATE=%s", p->c->state_dir);
    env[n] = NULL;
    const struct spawn_options o = {
        .argv = argv, .env = env, .dir = "/", .timeout_us = SCRIPT_MAX_US};
    p->program = spawn_patiently(p->c->loop, &o, program_done, p, &r->page.err);
    return p->program != NULL;
}

static void run_begin(struct past *p, struct past_run *r)
{
    p->run = r;
    p->runs++;
    if (r->page.err.code != ERR_NONE)
        run_end(p);
    else if (!run_is_due(r)) {
        str_add(&r->told, "Nothing goes: no Purge…After is set.\n");
        run_end(p);
    } else if (!r->script)
        pages_begin(p);
    else if (!program_start(p))
        run_end(p);
}

static void look_due(void *ctx)
{
    struct past *p = ctx;
    struct err err = {0};
    timer_set(p->look, LOOK_US);
    if (p->run || p->c->stopping || turns_store_away(p->c->turns, NULL))
        return;
    struct past_run *r = run_new(p, NULL, &err);
    if (r && run_is_due(r))
        run_begin(p, r);
    else
        run_free(r);
}

void past_ask(struct past *p, uint64_t session, uint64_t seq, const struct msg_archive *m)
{
    struct err err = {0};
    struct msg_done refused = {.refusal = REFUSE_BUSY,
                               .detail = "the past is being removed already; try again later"};
    struct message answer = {.kind = MSG_DONE, .seq = seq, .body = &refused};
    struct past_run *r = p->run ? NULL : run_new(p, m, &err);
    if (!r) {
        if (err.code != ERR_NONE)
            refused = (struct msg_done){.refusal = REFUSE_UPDATE, .detail = err.text};
        session_send(p->c->sessions, session, &answer, 0);
        return;
    }
    r->session = session;
    r->seq = seq;
    run_begin(p, r);
}
