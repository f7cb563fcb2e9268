#include "node/daemon/programs.h"

#include "base/alloc.h"
#include "base/str.h"
#include "io/process/program_list.h"
#include "io/process/spawn.h"
#include "node/daemon/program_files.h"
#include "node/step/proc_tree.h"
#include "node/step/shortage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OUTPUT_MAX 4096u
#define WORDS_MAX  300u

/* One visit: the programs of a pattern, one after another. */
struct running {
    struct programs *programs;
    struct running *next;
    struct spawn *spawn;      /* NULL: it waits for room to start one */
    pid_t pid;                /* of the one that runs */
    uint64_t start;           /* then: when it began; 0 = it was over at once */
    struct timer *again;      /* then it is tried again */
    struct shortage shortage; /* since the last that was started */
    struct note step;
    bool is_epilog;
    char *pattern;
    struct program_list list; /* empty: not looked for yet */
    size_t at;                /* of the program that runs */
    void *env;                /* copied */
    size_t env_len;
    int64_t timeout_us;
};

struct programs {
    struct loop *loop;
    char *node_dir, *life; /* owned */
    void (*done)(void *ctx, const struct note *step, bool is_epilog, bool ok, const char *text);
    void *ctx;
    struct running *running;
};

struct programs *programs_new(struct loop *l, const char *node_dir, const char *life,
                              void (*done)(void *ctx, const struct note *step, bool is_epilog,
                                           bool ok, const char *text),
                              void *ctx)
{
    struct programs *p = xcalloc(1, sizeof *p);
    *p = (struct programs){
        .loop = l, .node_dir = xstrdup(node_dir), .life = xstrdup(life), .done = done, .ctx = ctx};
    return p;
}

static void mark_remove(struct running *r)
{
    if (r->start)
        program_file_remove(r->programs->node_dir, r->pid, r->start);
    r->start = 0;
}

static void running_free(struct running *r)
{
    mark_remove(r);
    program_list_done(&r->list);
    timer_free(r->again);
    free(r->pattern);
    free(r->env);
    free(r);
}

void programs_free(struct programs *p)
{
    if (!p)
        return;
    for (struct running *r = p->running, *next; r; r = next) {
        next = r->next;
        spawn_free(r->spawn);
        running_free(r);
    }
    free(p->node_dir);
    free(p->life);
    free(p);
}

/* What it printed last, on one line. */
static void last_words(const struct spawn_result *r, struct str *out)
{
    size_t len = r->output_len;
    while (len > 0 && strchr(" \t\r\n", r->output[len - 1]))
        len--;
    size_t from = len > WORDS_MAX ? len - WORDS_MAX : 0;
    if (len > 0)
        str_add(out, ": ");
    for (size_t i = from; i < len; i++) {
        char c = r->output[i];
        str_addc(out, (char)(c == '\n' ? ' ' : c));
    }
}

static bool next_start(struct running *r, struct err *ret_err);

static void visit_over(struct running *r, bool ok, const char *text)
{
    struct programs *p = r->programs;
    for (struct running **at = &p->running; *at; at = &(*at)->next) {
        if (*at == r) {
            *at = r->next;
            break;
        }
    }
    p->done(p->ctx, &r->step, r->is_epilog, ok, text);
    running_free(r);
}

static const char *word_of(const struct running *r)
{
    return r->is_epilog ? "epilog" : "prolog";
}

/* The first that fails ends the visit, as in Slurm. */
static void ended(void *ctx, const struct spawn_result *result)
{
    struct running *r = ctx;
    struct str text = STR_INIT;
    struct err err = {0};
    bool ok = result->status == 0 && !result->timed_out;
    r->spawn = NULL;
    mark_remove(r);
    if (!ok) {
        str_addf(&text, "%s %s ", word_of(r), r->list.path[r->at]);
        if (result->timed_out)
            str_add(&text, "took longer than PrologEpilogTimeout allows and was killed");
        else
            spawn_status_text(result->status, &text);
        last_words(result, &text);
    } else if (++r->at < r->list.n) {
        if (next_start(r, &err))
            return;
        ok = false;
        str_add(&text, err.text);
    }
    visit_over(r, ok, ok ? NULL : str_text(&text));
    str_done(&text);
}

static bool list_find(struct running *r, struct err *ret_err)
{
    if (program_list_find(r->pattern, &r->list, ret_err))
        return true;
    int why = errno;
    err_prefix(ret_err, "%s", word_of(r));
    errno = why;
    return false;
}

static bool spawn_next(struct running *r, struct err *ret_err)
{
    const char *path = r->list.path[r->at];
    const char *argv[] = {path, NULL};
    char **env = plan_texts((struct plan_bytes){r->env, r->env_len}, 0, NULL);
    struct spawn_options o = {
        .argv = argv,
        .env = (const char *const *)env,
        .dir = "/",
        .output_max = OUTPUT_MAX,
        .timeout_us = r->timeout_us,
    };
    r->spawn = spawn_start(r->programs->loop, &o, ended, r, ret_err);
    int why = errno;
    free(env);
    if (!r->spawn)
        err_prefix(ret_err, "%s %s", word_of(r), path);
    else if ((r->start = proc_start(r->pid = spawn_pid(r->spawn))) > 0)
        program_file_put(r->programs->node_dir, r->programs->life, r->pid, r->start);
    errno = why;
    return r->spawn != NULL;
}

/* Without it the node would be drained for what passes. */
static bool next_start(struct running *r, struct err *ret_err)
{
    if (!(r->list.n > 0 || list_find(r, ret_err)) || !spawn_next(r, ret_err)) {
        int64_t nap = shortage_nap_us(&r->shortage);
        if (nap > 0)
            timer_set(r->again, nap);
        return nap > 0;
    }
    r->shortage = (struct shortage){0};
    return true;
}

static void try_again(void *ctx)
{
    struct running *r = ctx;
    struct err err = {0};
    if (!next_start(r, &err))
        visit_over(r, false, err.text);
}

bool programs_run(struct programs *p, const struct note *step, bool is_epilog, const char *pattern,
                  struct plan_bytes env, int64_t timeout_us, struct err *ret_err)
{
    ASSERT(timeout_us >= 0);
    struct running *r = xcalloc(1, sizeof *r);
    *r = (struct running){.programs = p,
                          .again = timer_new(p->loop, try_again, r),
                          .step = *step,
                          .is_epilog = is_epilog,
                          .pattern = xstrdup(pattern),
                          .env = xmalloc(env.len + 1),
                          .env_len = env.len,
                          .timeout_us = timeout_us};
    if (env.len)
        memcpy(r->env, env.data, env.len);
    if (!next_start(r, ret_err)) {
        running_free(r);
        return false;
    }
    r->next = p->running;
    p->running = r;
    return true;
}
