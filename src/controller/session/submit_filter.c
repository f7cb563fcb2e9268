/* The filter is started once for each request: it reads the question on its standard input, writes
 * the answer on its standard output (wire/submit_filter.h), and ends with 0. Another status
 * refuses, in the words that it wrote there. Its standard error is for the administrators: LOG.
 * What it writes there may follow from what users ask, so neither one run of it nor all of them
 * fill the disk. */
#include "controller/session/submit_filter.h"

#include "base/alloc.h"
#include "base/line_share.h"
#include "base/plain.h"
#include "controller/session/kept_request.h"
#include "controller/session/questions.h"
#include "controller/session/session.h"
#include "controller/turn.h"
#include "io/clock.h"
#include "io/process/site_env.h"
#include "io/process/spawn_patient.h"
#include "io/work.h"
#include "wire/submit_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN_MAX_US  (10 * USEC_PER_SEC)
#define AT_ONCE     4
#define ANSWER_MOST (1u << 20)
#define ERRORS_MOST (64u << 10) /* of one run */
#define LOG_MOST    (16 << 20)  /* then it is moved to LOG.old */
#define SAID_MOST   1000        /* bytes of its words that a user is told */
#define LOG         "log/submit-filter.log"

struct filtering {
    struct submit_filters *owner;
    struct kept_request *k;
    struct str question;
    struct spawn_patient *spawn; /* NULL: the question is being written */
    struct filtering *next;
};

struct submit_filters {
    struct controller *c;
    struct request_line line;
    struct filtering *running;
    size_t n;
    struct line_share lines; /* of the log, that the filter is broken */
};

static void next_begin(struct submit_filters *f);

struct submit_filters *submit_filters_new(struct controller *c)
{
    struct submit_filters *f = xcalloc(1, sizeof *f);
    f->c = c;
    return f;
}

static void filtering_leave(struct filtering *x)
{
    struct filtering **at = &x->owner->running;
    while (*at != x)
        at = &(*at)->next;
    *at = x->next;
    x->owner->n--;
    x->owner = NULL;
}

static void filtering_free(struct filtering *x)
{
    ASSERT(!x->owner);
    str_done(&x->question);
    kept_request_free(x->k);
    free(x);
}

static void filtering_end(struct filtering *x)
{
    filtering_leave(x);
    filtering_free(x);
}

void submit_filters_free(struct submit_filters *f)
{
    while (f && f->running) {
        struct filtering *x = f->running;
        filtering_leave(x); /* whose question is being written is freed when that is done */
        if (x->spawn) {
            spawn_patient_free(x->spawn);
            filtering_free(x);
        }
    }
    if (f)
        request_line_drop(&f->line);
    free(f);
}

bool submit_filters_want(const struct controller *c, const struct message *m)
{
    return submit_filter_asks(m->kind) && !text_empty(c->config.settings.submit_filter);
}

/* ---- what comes of an answer ---------------------------------------------------------------- */

/* Words of the filter, as a user may be shown them; in the arena. */
static const char *words(const char *text, struct arena *a)
{
    struct str plain = STR_INIT;
    char *cut = arena_strndup(a, text, SAID_MOST);
    for (size_t len = strlen(cut); len && (cut[len - 1] == '\n' || cut[len - 1] == ' '); len--)
        cut[len - 1] = '\0';
    str_add_plain(&plain, cut);
    const char *kept = arena_strdup(a, str_text(&plain));
    str_done(&plain);
    return kept;
}

static void broken(const struct kept_request *k, const char *how)
{
    struct line_share *lines = &k->c->submit_filters->lines;
    if (line_share_take(lines, clock_monotonic_us())) {
        log_warning(k->c->log, "SubmitFilter=%s: %s; what user %u asked was refused",
                    k->c->config.settings.submit_filter, how, (unsigned)k->peer.uid);
        if (lines->missing)
            log_warning(k->c->log, "SubmitFilter: %llu such lines before are missing",
                        (unsigned long long)lines->missing);
        lines->missing = 0;
    }
    kept_request_refuse(k, REFUSE_SUBMIT_FILTER,
                        arena_printf(k->arena,
                                     "the site's submit filter is broken (%s): nothing was "
                                     "changed; tell the administrators, or try again later",
                                     how));
}

static void go_on(struct kept_request *k, const char *remark)
{
    struct controller *c = k->c;
    if (!turns_admit(c->turns, false)) {
        kept_request_refuse(k, REFUSE_STORE, "the store is away; nothing was changed");
    } else if (core_asks_much(c->core, &k->m)) {
        question_ask(c->questions, k->session, &k->m, &k->peer);
    } else {
        struct event ev = kept_request_event(k);
        ev.hurry = session_hurry(c->sessions, k->session);
        ev.remark = remark;
        turns_step(c->turns, &ev);
        session_answered(c->sessions, k->session, NULL);
    }
}

static void answered(struct kept_request *k, const struct spawn_result *r)
{
    size_t n;
    struct job_spec **spec = submit_filter_specs(&k->m, k->arena, &n);
    struct filter_answer answer;
    struct err err = {0};
    if (r->output_len > ANSWER_MOST) {
        broken(k, "its answer: more than a MiB");
        return;
    }
    if (!submit_filter_read(r->output, r->output_len, spec, n, k->arena, &answer, &err)) {
        broken(k, arena_printf(k->arena, "its answer: %s", words(err.text, k->arena)));
    } else if (answer.refuse) {
        kept_request_refuse(k, REFUSE_SUBMIT_FILTER, words(answer.refuse, k->arena));
    } else {
        go_on(k, text_empty(answer.message) ? NULL : words(answer.message, k->arena));
    }
}

static void status_refuse(struct kept_request *k, const struct spawn_result *r)
{
    struct str how = STR_INIT;
    const char *said = words(r->output, k->arena);
    spawn_status_text(r->status, &how);
    if (r->failed)
        broken(k, arena_strdup(k->arena, r->failed));
    else if (r->timed_out)
        broken(k, "it did not answer within 10 seconds");
    else if (text_empty(said))
        broken(k, arena_strdup(k->arena, str_text(&how)));
    else
        kept_request_refuse(k, REFUSE_SUBMIT_FILTER, said);
    str_done(&how);
}

static void errors_keep(const struct kept_request *k, const char *errors)
{
    struct str plain = STR_INIT;
    struct stat st;
    const char *path = arena_printf(k->arena, "%s/" LOG, k->c->state_dir);
    if (text_empty(errors))
        return;
    str_add_plain_lines(&plain, errors);
    if (stat(path, &st) == 0 && st.st_size >= LOG_MOST)
        (void)rename(path, arena_printf(k->arena, "%s.old", path));
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || write(fd, plain.data, plain.len) != (ssize_t)plain.len)
        log_warning(k->c->log, "%s: what the filter said cannot be kept: %s", path,
                    strerror(errno));
    if (fd >= 0)
        close(fd);
    str_done(&plain);
}

static void ended(void *ctx, const struct spawn_result *r)
{
    struct filtering *x = ctx;
    struct submit_filters *f = x->owner;
    errors_keep(x->k, r->errors);
    if (session_is_there(f->c->sessions, x->k->session)) {
        if (r->timed_out || r->status)
            status_refuse(x->k, r);
        else
            answered(x->k, r);
    }
    filtering_end(x);
    next_begin(f);
}

/* ---- asking --------------------------------------------------------------------------------- */

/* On another thread: of a script of four MiB the question has 24 MiB. It reads what nobody else
 * touches meanwhile. */
static void question_write(void *ctx)
{
    struct filtering *x = ctx;
    const struct kept_request *k = x->k;
    const struct filter_user who = {.uid = k->peer.uid,
                                    .gid = k->peer.gid,
                                    .name = k->peer.user,
                                    .group = k->peer.group,
                                    .groups = k->peer.groups,
                                    .host = k->peer.host,
                                    .is_admin = k->peer.is_admin};
    submit_filter_write(&x->question, &k->m, &who);
}

static struct spawn_patient *filter_start(struct filtering *x, struct err *ret_err)
{
    struct kept_request *k = x->k;
    struct controller *c = k->c;
    struct site_user own = {0};
    const char *argv[] = {c->config.settings.submit_filter, NULL};
    const char *more[] = {arena_printf(k->arena, "REMUDA_STATE=%s", c->state_dir),
                          arena_printf(k->arena, "SLURM_CONF=%s", c->config_path)};
    site_user_own(k->arena, &own);
    size_t len = x->question.len;
    const struct spawn_options options = {
        .argv = argv,
        .env = site_env(k->arena, &own, NULL, more, ARRAY_LEN(more)),
        .dir = "/",
        .input = str_take(&x->question),
        .input_len = len,
        .input_given = true,
        .output_max = ANSWER_MOST + 1,
        .error_max = ERRORS_MOST,
        .timeout_us = RUN_MAX_US,
    };
    return spawn_patiently(c->loop, &options, ended, x, ret_err);
}

static void question_written(void *ctx)
{
    struct filtering *x = ctx;
    struct submit_filters *f = x->owner;
    struct err err = {0};
    if (!f) {
        filtering_free(x);
        return;
    }
    bool waits = session_is_there(f->c->sessions, x->k->session);
    x->spawn = waits ? filter_start(x, &err) : NULL;
    if (x->spawn)
        return;
    if (waits)
        broken(x->k, err.text);
    filtering_end(x);
    next_begin(f);
}

static void one_begin(struct submit_filters *f, struct kept_request *k)
{
    struct filtering *x = xcalloc(1, sizeof *x);
    *x = (struct filtering){.owner = f, .k = k, .next = f->running};
    f->running = x;
    f->n++;
    work_start(f->c->loop, question_write, question_written, x);
}

/* How long the filter takes may follow from what a user sends, up to RUN_MAX_US: the last place is
 * for one of whom no other is asked about. */
static bool has_place(void *ctx, const struct peer *peer)
{
    const struct submit_filters *f = ctx;
    const struct filtering *x = f->running;
    while (x && !peers_are_one(&x->k->peer, peer))
        x = x->next;
    return !x || f->n + 1 < AT_ONCE;
}

static void next_begin(struct submit_filters *f)
{
    struct kept_request *k;
    while (f->n < AT_ONCE && (k = request_line_take(&f->line, has_place, f)))
        one_begin(f, k);
}

void submit_filter_ask(struct submit_filters *f, uint64_t session, const struct message *m,
                       const struct peer *peer)
{
    struct kept_request *k = kept_request_new(f->c, session, m, peer);
    if (request_line_is_full(&f->line, peer)) {
        kept_request_refuse(k, REFUSE_BUSY,
                            "64 of your requests wait for the site's submit filter; wait for one");
        kept_request_free(k);
        return;
    }
    request_line_add(&f->line, k);
    next_begin(f);
}
