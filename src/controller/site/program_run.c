/* A program gets little: a PATH with the commands of this cluster in front, HOME, USER and SHELL of
 * whom it runs as, where the cluster's state and configuration are, and its trigger's number. What
 * it writes goes to the log when it fails. After five minutes it is killed, with all it has
 * started, as in Slurm.
 *
 * A controller that is not root cannot become anybody: there all run as its own user. */
#include "controller/site/program_run.h"

#include "base/alloc.h"
#include "base/plain.h"
#include "base/str.h"
#include "controller/turn.h"
#include "io/process/site_env.h"
#include "io/process/spawn_patient.h"
#include "io/users.h"
#include "model/job/owner.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUN_MAX_US  (5 * USEC_PER_MIN)
#define WORDS_MAX   256
#define OUTPUT_KEPT 500

struct program_running {
    struct program_runs *runs;
    struct arena *a;
    const char *line, *argument, *user;
    uint32_t uid, gid, trigger;
    struct spawn_patient *spawn;
    struct program_running *next;
};

struct program_runs {
    struct controller *c;
    struct program_running *first;
};

struct program_runs *program_runs_new(struct controller *c)
{
    struct program_runs *p = xcalloc(1, sizeof *p);
    p->c = c;
    return p;
}

static void one_free(struct program_running *o)
{
    struct program_running **at = &o->runs->first;
    while (*at != o)
        at = &(*at)->next;
    *at = o->next;
    arena_free(o->a);
    free(o);
}

void program_runs_free(struct program_runs *p)
{
    while (p && p->first) {
        struct program_running *o = p->first;
        users_cancel(p->c->users, o->uid, GID_OF_USER, o);
        if (o->spawn)
            spawn_patient_free(o->spawn);
        one_free(o);
    }
    free(p);
}

static void over(struct program_running *o)
{
    struct controller *c = o->runs->c;
    one_free(o);
    if (!c->stopping)
        turns_step(c->turns, &(struct event){.kind = EV_PROGRAM_OVER});
}

static void failed(const struct program_running *o, const char *how, const char *output)
{
    struct str text = STR_INIT;
    str_addf(&text, "the program of trigger %u, ", o->trigger);
    str_add_plain(&text, o->line);
    str_addf(&text, ", %s", how);
    if (!text_empty(output))
        str_add(&text, ": ");
    str_add_plain(&text, output);
    log_warning(o->runs->c->log, "%s", str_text(&text));
    str_done(&text);
}

static void ended(void *ctx, const struct spawn_result *r)
{
    struct program_running *o = ctx;
    struct str how = STR_INIT;
    o->spawn = NULL;
    spawn_status_text(r->status, &how);
    if (r->failed)
        failed(o, "could not be started", r->failed);
    else if (r->timed_out)
        failed(o, "was killed: it ran for more than five minutes", r->output);
    else if (r->status)
        failed(o, str_text(&how), r->output);
    str_done(&how);
    over(o);
}

/* Path and arguments, with blanks between, as in Slurm, and what happened to. */
static const char *const *words(struct program_running *o)
{
    const char **argv = arena_alloc(o->a, (WORDS_MAX + 2) * sizeof *argv);
    size_t n = 0;
    for (const char *at = o->line; *at && n < WORDS_MAX;) {
        size_t len = strcspn(at, " \t");
        if (len)
            argv[n++] = arena_strndup(o->a, at, len);
        at += len + strspn(at + len, " \t");
    }
    argv[n++] = o->argument;
    argv[n] = NULL;
    return argv;
}

/* Where strigger and the others are: DIR/bin of a staged tree, else beside this program. NULL: not
 * known. */
static const char *commands_dir(struct arena *a)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    char *slash = n > 0 ? memrchr(path, '/', (size_t)n) : NULL;
    if (!slash)
        return NULL;
    const char *dir = arena_strndup(a, path, (size_t)(slash - path));
    const char *bin = arena_printf(a, "%s/bin", dir);
    return access(arena_printf(a, "%s/sbatch", bin), X_OK) == 0 ? bin : dir;
}

static const char *const *env(struct program_running *o, const struct user *user)
{
    const char *more[3], *own = getenv("SLURM_CONF");
    size_t n = 0;
    struct site_user as = {.uid = o->uid};
    if (user)
        as = (struct site_user){o->uid, user->name, user->home, user->shell};
    more[n++] = arena_printf(o->a, "REMUDA_STATE=%s", o->runs->c->state_dir);
    more[n++] = arena_printf(o->a, "SLURM_TRIGGER_ID=%u", o->trigger);
    if (own)
        more[n++] = arena_printf(o->a, "SLURM_CONF=%s", own);
    return site_env(o->a, &as, commands_dir(o->a), more, n);
}

static void start(void *ctx)
{
    struct program_running *o = ctx;
    struct controller *c = o->runs->c;
    const struct user *user = users_cached(c->users, o->uid, GID_OF_USER);
    bool root = geteuid() == 0;
    struct err err = {0};
    if (root && user && !owner_same(o->user, user->name)) {
        failed(o,
               arena_printf(o->a, "is not run: uid %u was %s and is %s now", o->uid, o->user,
                            user->name),
               NULL);
        over(o);
        return;
    }
    const struct spawn_options options = {
        .argv = words(o),
        .env = env(o, user),
        .dir = "/",
        .output_max = OUTPUT_KEPT,
        .timeout_us = RUN_MAX_US,
        .as_user = root && o->uid != 0,
        .uid = o->uid,
        .gid = o->gid,
    };
    o->spawn = spawn_patiently(c->loop, &options, ended, o, &err);
    if (o->spawn)
        return;
    failed(o, "could not be started", err.text);
    over(o);
}

void program_run(struct program_runs *p, const struct program_run *what)
{
    struct program_running *o = xcalloc(1, sizeof *o);
    o->runs = p;
    o->a = arena_new();
    o->line = arena_strdup(o->a, what->line);
    o->argument = arena_strdup(o->a, what->argument);
    o->user = arena_strdup(o->a, what->user);
    o->uid = geteuid() == 0 ? what->uid : geteuid();
    o->gid = what->gid;
    o->trigger = what->trigger;
    o->next = p->first;
    p->first = o;
    users_ask(p->c->users, o->uid, GID_OF_USER, start, o);
}
