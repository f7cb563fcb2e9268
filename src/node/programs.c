#include "node/programs.h"

#include "base/alloc.h"
#include "base/str.h"
#include "io/spawn.h"

#include <stdlib.h>
#include <string.h>

#define OUTPUT_MAX 4096u
#define WORDS_MAX  300u

struct running {
    struct programs *programs;
    struct running *next;
    struct spawn *spawn;
    struct note step;
    bool is_epilog;
    char *path;
};

struct programs {
    struct loop *loop;
    void (*done)(void *ctx, const struct note *step, bool is_epilog, bool ok, const char *text);
    void *ctx;
    struct running *running;
};

struct programs *programs_new(struct loop *l,
                              void (*done)(void *ctx, const struct note *step, bool is_epilog, bool ok,
                                           const char *text),
                              void *ctx)
{
    struct programs *p = xcalloc(1, sizeof *p);
    *p = (struct programs){.loop = l, .done = done, .ctx = ctx};
    return p;
}

static void running_free(struct running *r)
{
    free(r->path);
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

static void ended(void *ctx, const struct spawn_result *result)
{
    struct running *r = ctx;
    struct programs *p = r->programs;
    struct str text = STR_INIT;
    bool ok = result->status == 0 && !result->timed_out;
    for (struct running **at = &p->running; *at; at = &(*at)->next) {
        if (*at == r) {
            *at = r->next;
            break;
        }
    }
    if (!ok) {
        str_addf(&text, "%s %s ", r->is_epilog ? "epilog" : "prolog", r->path);
        if (result->timed_out)
            str_add(&text, "took longer than PrologEpilogTimeout allows and was killed");
        else
            spawn_status_text(result->status, &text);
        last_words(result, &text);
    }
    p->done(p->ctx, &r->step, r->is_epilog, ok, ok ? NULL : str_text(&text));
    str_done(&text);
    running_free(r);
}

bool programs_run(struct programs *p, const struct note *step, bool is_epilog, const char *path,
                  struct plan_bytes env, int64_t timeout_us, struct err *ret_err)
{
    const char *argv[] = {path, NULL};
    char **list = plan_texts(env, 0, NULL);
    struct running *r = xcalloc(1, sizeof *r);
    struct spawn_options o = {
        .argv = argv,
        .env = (const char *const *)list,
        .dir = "/",
        .output_max = OUTPUT_MAX,
        .timeout_us = timeout_us,
    };
    *r = (struct running){.programs = p, .step = *step, .is_epilog = is_epilog, .path = xstrdup(path)};
    r->spawn = spawn_start(p->loop, &o, ended, r, ret_err);
    free(list);
    if (!r->spawn) {
        running_free(r);
        return err_prefix(ret_err, "%s %s", is_epilog ? "epilog" : "prolog", path);
    }
    r->next = p->running;
    p->running = r;
    return true;
}
