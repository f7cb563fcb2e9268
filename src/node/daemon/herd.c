/* Notes come through a socket that says which process wrote them (notes_socket.h), whatever they
 * say. What was told while no daemon was there is in the state files, which the next reads first.
 * One may come twice, from both; the agent goes by the state of the step, so that does nothing. */
#include "node/daemon/herd.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "io/files.h"
#include "io/net/conn.h"
#include "io/process/spawn.h"
#include "node/cgroup/group.h"
#include "node/cgroup/pool.h"
#include "node/daemon/clear.h"
#include "node/daemon/herd_files.h"
#include "node/daemon/herd_waits.h"
#include "node/daemon/notes_in.h"
#include "node/step/dir.h"
#include "node/step/shortage.h"
#include "node/step/spare_dirs.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define RESTART_US INT64_C(200000)
#define TIDY_US    INT64_C(5000000) /* after a step was forgotten */

struct herd_link {
    struct loop *loop;
    struct log *log;
    char *dir, *program, *cgroups;
    struct herd_ops ops;
    void *ctx;
    int steps_fd;
    struct notes_in *notes;
    struct conn *plans; /* to the parent; NULL while there is none */
    struct spawn *parent;
    struct timer *restart, *tidy;
    bool tidy_due;
    struct waiting_plans *waiting;
    struct retries *retries;
    struct spare_dirs spares;
    struct group_pool *groups;
    struct clear_pace pace;
};

/* ---- notes ---- */

static void note_deliver(void *ctx, const struct note *n)
{
    struct herd_link *h = ctx;
    group_pool_note(h->groups, n);
    h->ops.note(h->ctx, n);
}

/* A state file speaks for the step whose directory it is in. */
struct kept_notes {
    struct herd_link *herd;
    const struct note *step;
};

static void kept_deliver(void *ctx, const struct note *n)
{
    const struct kept_notes *k = ctx;
    if (note_same_step(n, k->step))
        note_deliver(k->herd, n);
}

/* False: there was no room to read them. */
static bool kept_notes_deliver(struct herd_link *h, const struct note *step, const char *name)
{
    struct kept_notes k = {h, step};
    return step_dir_notes(h->steps_fd, name, kept_deliver, &k) || !shortage_is(errno);
}

static void gone_deliver(struct herd_link *h, const struct note *step)
{
    struct note gone = *step;
    gone.kind = NOTE_GONE;
    h->ops.note(h->ctx, &gone);
}

/* Its notes, if its shepherd is not alive (always: in any case), and then GONE. Who cannot be
 * looked at is not gone: that comes later. */
static void end_deliver(struct herd_link *h, const struct note *step, const char *name,
                        bool must_have_begun, bool always)
{
    pid_t pid = step_dir_shepherd(h->steps_fd, name);
    bool looked = pid >= 0 && ((pid > 0 && !always) || kept_notes_deliver(h, step, name));
    if (!looked)
        retries_add(h->retries, &(struct retry){.step = *step, .must_have_begun = must_have_begun});
    else if (pid == 0)
        gone_deliver(h, step);
}

static void look_after(struct herd_link *h, const struct note *step, bool must_have_begun,
                       bool always)
{
    ASSERT(step->job_id);
    struct str name = STR_INIT;
    herd_step_name(step, &name);
    bool begun = faccessat(h->steps_fd, str_text(&name), F_OK, 0) == 0;
    if (begun || (must_have_begun && !waiting_plan_has(h->waiting, step)))
        end_deliver(h, step, str_text(&name), must_have_begun, always);
    str_done(&name);
}

void herd_look_after(struct herd_link *h, const struct note *step, bool must_have_begun)
{
    look_after(h, step, must_have_begun, false);
}

/* Something is to be known of that step: what its files say. */
static void hint_take(struct herd_link *h, const struct note *step)
{
    struct str name = STR_INIT;
    herd_step_name(step, &name);
    kept_notes_deliver(h, step, str_text(&name));
    herd_look_after(h, step, false);
    str_done(&name);
}

/* writer: 0 = not known (a shepherd of an earlier release): its word alone counts for nothing. */
static void line_take(void *ctx, struct span line, pid_t writer)
{
    struct herd_link *h = ctx;
    struct note n;
    if (line.len > 7 && memcmp(line.data, "series ", 7) == 0) {
        if (h->ops.series && writer != 0)
            h->ops.series(h->ctx, (struct span){line.data + 7, line.len - 7});
        return;
    }
    if (!note_parse(line, &n)) {
        log_warning(h->log, "a shepherd wrote something that is no note");
        return;
    }
    if (n.kind == NOTE_GONE) {
        herd_look_after(h, &n, true);
    } else if (writer == 0) {
        hint_take(h, &n);
    } else {
        n.pid = writer;
        note_deliver(h, &n);
    }
}

/* ---- the shepherds' parent ---- */

static void parent_frame(void *ctx, struct conn *c, const struct frame *f)
{
    (void)ctx;
    (void)f;
    conn_abort(c); /* the parent never speaks here */
}

static void parent_closed(void *ctx, struct conn *c, const struct err *why)
{
    struct herd_link *h = ctx;
    (void)why;
    if (!h)
        return; /* herd_free */
    if (h->plans == c)
        h->plans = NULL;
    timer_set(h->restart, RESTART_US);
}

static const struct conn_ops plans_ops = {.frame = parent_frame, .closed = parent_closed};

static void parent_done(void *ctx, const struct spawn_result *r)
{
    struct herd_link *h = ctx;
    struct str text = STR_INIT;
    spawn_status_text(r->status, &text);
    h->parent = NULL;
    log_warning(h->log, "the shepherds' parent %s; starting another", str_text(&text));
    str_done(&text);
    timer_set(h->restart, RESTART_US);
}

bool herd_serve_plans(struct herd_link *h, struct err *ret_err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return err_set(ret_err, ERR_UNAVAILABLE, "cannot make a socket: %s", strerror(errno));
    const char *argv[] = {h->program, h->dir, NULL};
    struct spawn_options o = {.argv = argv, .dir = "/", .fds = &pair[1], .nfds = 1, .detach = true};
    h->parent = spawn_start(h->loop, &o, parent_done, h, ret_err);
    close(pair[1]);
    if (!h->parent) {
        close(pair[0]);
        return false;
    }
    h->plans = conn_new(h->loop, pair[0], &plans_ops, h, ret_err);
    if (h->plans) /* many large plans of one user's are no reason to end the parent of all steps */
        conn_set_unsent_max(h->plans, SIZE_MAX);
    return h->plans != NULL;
}

static void parent_again(void *ctx)
{
    struct herd_link *h = ctx;
    struct err err = {0};
    if (h->plans || h->parent)
        return; /* one of the two is still ending; its callback sets the timer again */
    if (!herd_lock_wait(h->dir, &err) || !herd_serve_plans(h, &err)) {
        log_error(h->log, "%s", err.text);
        timer_set(h->restart, 10 * RESTART_US);
        return;
    }
    h->ops.parent_lost(h->ctx);
    waiting_plans_send(h->waiting, h->plans);
}

/* ---- control groups ---- */

static bool step_is_known(void *ctx, const char *name)
{
    const struct herd_link *h = ctx;
    int64_t group, part;
    if (step_cgroup_name_parse(name, &group, &part))
        return group_pool_has(h->groups, group, part);
    return faccessat(h->steps_fd, name, F_OK, 0) == 0;
}

void herd_groups_tidy(struct herd_link *h)
{
    step_cgroups_tidy(h->cgroups, step_is_known, h);
}

void herd_lost_end(struct herd_link *h)
{
    size_t n = step_cgroups_end(h->cgroups, step_is_known, h);
    if (n)
        log_warning(h->log, "%s was lost while steps ran: their %zu processes are ended", h->dir,
                    n);
}

static void tidy_soon(struct herd_link *h)
{
    if (!h->tidy_due)
        timer_set(h->tidy, TIDY_US);
    h->tidy_due = true;
}

static void tidy_again(void *ctx)
{
    struct herd_link *h = ctx;
    h->tidy_due = false;
    bool some_wait = group_pool_age(h->groups, false);
    herd_groups_tidy(h);
    if (some_wait)
        tidy_soon(h);
}

/* One that there is no room to give now comes later, and who must not overtake it behind it. */
static bool command_try(struct herd_link *h, const struct retry *r)
{
    struct retry later = *r;
    struct str name = STR_INIT;
    herd_step_name(&r->step, &name);
    bool waits = retries_have_command(h->retries, &r->step, r->command.op), told = false;
    pid_t pid = r->step.pid;
    pid = pid > 0 && !waits ? step_dir_shepherd(h->steps_fd, str_text(&name)) : pid;
    if (!waits && pid > 0)
        told = herd_command_give(h->steps_fd, str_text(&name), &r->command, r->text,
                                 later.tries++ >= COMMAND_TRIES);
    waits |= pid < 0 || (pid > 0 && !told && shortage_is(errno));
    if (pid == 0)
        herd_look_after(h, &r->step, true);
    else if (!told && !(waits && retries_add(h->retries, &later)))
        log_error(h->log, "cannot reach the shepherd of step %s, process %lld: %s", str_text(&name),
                  (long long)pid, strerror(errno));
    str_done(&name);
    return told;
}

/* What there was no room for. */
static void try_again(void *ctx, const struct retry *r)
{
    if (r->is_command)
        command_try(ctx, r);
    else
        look_after(ctx, &r->step, r->must_have_begun, true);
}

/* ---- beginning and end ---- */

struct herd_link *herd_new(struct loop *l, struct log *log, const char *node_dir,
                           const char *shepherd_program, const char *cgroups,
                           const struct herd_ops *ops, void *ctx, struct err *ret_err)
{
    struct herd_link *h = xcalloc(1, sizeof *h);
    h->loop = l;
    h->log = log;
    h->dir = xstrdup(node_dir);
    h->program = xstrdup(shepherd_program);
    h->cgroups = xstrdup(cgroups);
    h->groups = group_pool_new(time(NULL));
    h->ops = *ops;
    h->ctx = ctx;
    h->restart = timer_new(l, parent_again, h);
    h->tidy = timer_new(l, tidy_again, h);
    h->waiting = waiting_plans_new();
    h->retries = retries_new(l, try_again, h);
    h->steps_fd = herd_steps_open(node_dir, ret_err);
    if (h->steps_fd >= 0 && herd_lock_wait(node_dir, ret_err))
        h->notes = notes_in_new(l, log, h->steps_fd, line_take, h, ret_err);
    if (h->notes)
        return h;
    herd_free(h);
    return NULL;
}

void herd_free(struct herd_link *h)
{
    if (!h)
        return;
    timer_free(h->restart);
    timer_free(h->tidy);
    retries_free(h->retries);
    group_pool_age(h->groups, true);
    if (h->tidy_due)
        herd_groups_tidy(h);
    group_pool_free(h->groups);
    notes_in_free(h->notes);
    waiting_plans_free(h->waiting);
    if (h->plans) {
        conn_set_ctx(h->plans, NULL);
        conn_abort(h->plans);
    }
    if (h->parent)
        spawn_free(h->parent);
    spare_dirs_done(&h->spares, h->steps_fd);
    if (h->steps_fd >= 0)
        close(h->steps_fd);
    free(h->dir);
    free(h->program);
    free(h->cgroups);
    free(h);
}

/* ---- steps ---- */

/* A directory that never got its name belongs to a shepherd that died while making it. */
static void name_scan(struct herd_link *h, const char *name,
                      void (*found)(void *ctx, const struct note *ids))
{
    struct note ids = {0};
    uint64_t job_id;
    uint32_t attempt;
    if (!step_dir_name_parse(name, &job_id, &attempt, &ids.step_id)) {
        step_dir_remove(h->steps_fd, name);
        return;
    }
    ids.job_id = (int64_t)job_id;
    ids.attempt = attempt;
    found(h->ctx, &ids);
    end_deliver(h, &ids, name, false, true);
}

void herd_scan(struct herd_link *h, void (*found)(void *ctx, const struct note *ids))
{
    struct arena *a = arena_new();
    struct err err = {0};
    const char **names;
    size_t n = 0;
    if (dir_list(arena_printf(a, "%s/steps", h->dir), a, &names, &n, &err))
        for (size_t i = 0; i < n; i++)
            name_scan(h, names[i], found);
    else
        log_error(h->log, "%s", err.text);
    if (n == 0)
        notes_in_end_pipe(h->steps_fd);
    arena_free(a);
}

void herd_expect(struct herd_link *h, const struct note *step)
{
    waiting_plan_expect(h->waiting, step);
}

void herd_gave_up(struct herd_link *h, const struct note *step)
{
    waiting_plan_gave_up(h->waiting, step);
}

void herd_dir_keep(struct herd_link *h)
{
    if (steps_dir_keep(h->steps_fd))
        log_warning(h->log, "%s/steps was removed: it is there again, without what steps had there",
                    h->dir);
}

void herd_start(struct herd_link *h, const struct step_plan *asked)
{
    ASSERT(asked->job_id);
    herd_dir_keep(h);
    struct note ids = herd_plan_ids(asked);
    herd_gave_up(h, &ids);
    struct str plan = STR_INIT;
    struct step_plan with = *asked, *p = &with;
    char spare[SPARE_DIRS_NAME_BYTES];
    if (spare_dirs_take(&h->spares, spare_kind_of(p->step_id), spare))
        p->spare_dir = spare;
    group_pool_give(h->groups, p);
    step_plan_encode(p, &plan);
    if (h->plans) {
        conn_send(h->plans, plan.data, plan.len);
        if (h->parent) /* one that was stopped hears it, too */
            kill(spawn_pid(h->parent), SIGCONT);
        str_done(&plan);
        return;
    }
    waiting_plan_add(h->waiting, &ids, &plan);
}

bool herd_command(struct herd_link *h, const struct note *step, const struct step_command *c,
                  const char *why_text)
{
    ASSERT(step->job_id);
    struct retry r = {.step = *step, .is_command = true, .command = *c, .text = why_text};
    return command_try(h, &r);
}

void herd_clear(struct herd_link *h, const struct note *step, int64_t uid_plus1)
{
    ASSERT(step->job_id);
    struct str name = STR_INIT, tag = STR_INIT;
    herd_step_name(step, &name);
    str_addf(&tag, "REMUDA_STEP_DIR=%s/steps/%s", h->dir, str_text(&name));
    char groups[CGROUP_NAME_BYTES] = "";
    int64_t group, part;
    if (group_pool_find(h->groups, step, &group, &part))
        step_cgroup_name(group, part, groups);
    log_warning(h->log, "the shepherd of step %s was lost; what was left of the step is killed",
                str_text(&name));
    clear_step(&h->pace, h->log, str_text(&name), h->cgroups, *groups ? groups : str_text(&name),
               str_text(&tag), uid_plus1);
    str_done(&name);
    str_done(&tag);
}

void herd_rouse(struct herd_link *h, const struct note *step, bool ends, int64_t uid_plus1)
{
    ASSERT(step->job_id);
    struct note stuck = *step;
    struct str name = STR_INIT;
    herd_step_name(step, &name);
    pid_t pid = step_dir_shepherd(h->steps_fd, str_text(&name));
    if (pid == 0) {
        herd_look_after(h, step, true);
    } else if (pid > 0 && herd_shepherd_rouse(pid, ends, &stuck)) {
        if (ends) {
            log_error(h->log, "step %s: %s", str_text(&name), stuck.detail);
            herd_clear(h, step, uid_plus1);
        }
        note_deliver(h, &stuck);
    }
    str_done(&name);
}

void herd_forget(struct herd_link *h, const struct note *step)
{
    ASSERT(step->job_id);
    struct str name = STR_INIT;
    herd_step_name(step, &name);
    spare_dirs_put(&h->spares, h->steps_fd, str_text(&name), spare_kind_of(step->step_id));
    str_done(&name);
    group_pool_forget(h->groups, step);
    tidy_soon(h);
}

bool herd_kept(struct herd_link *h, const struct note *step, struct str *out)
{
    return herd_kept_read(h->steps_fd, step, out);
}

const char *herd_node_dir(const struct herd_link *h)
{
    return h->dir;
}
