#include "io/process/spawn_patient.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/duration.h"
#include "io/clock.h"

#include <errno.h>
#include <stdlib.h>

#define PATIENCE_US  (10 * USEC_PER_SEC)
#define NAP_FIRST_US INT64_C(10000)
#define NAP_MOST_US  INT64_C(500000)

struct spawn_patient {
    struct loop *loop;
    struct arena *arena; /* of `o`; NULL = it began at once */
    struct spawn_options o;
    void (*done)(void *ctx, const struct spawn_result *r);
    void *ctx;
    struct spawn *spawn;
    struct timer *again;
    int64_t until_us, nap_us;
    void *input; /* owned */
};

static bool is_short(int why)
{
    return why == EAGAIN || why == EMFILE || why == ENFILE || why == ENOMEM || why == ENOBUFS;
}

static void patient_drop(struct spawn_patient *p)
{
    timer_free(p->again);
    arena_free(p->arena);
    free(p->input);
    free(p);
}

static void over(void *ctx, const struct spawn_result *r)
{
    struct spawn_patient *p = ctx;
    p->spawn = NULL;
    p->done(p->ctx, r);
    patient_drop(p);
}

/* False with errno. */
static bool start(struct spawn_patient *p, const struct spawn_options *o, struct err *ret_err)
{
    struct spawn_options with = *o;
    with.input_given = false; /* it may be needed once more */
    p->spawn = spawn_start(p->loop, &with, over, p, ret_err);
    return p->spawn != NULL;
}

static void again(void *ctx)
{
    struct spawn_patient *p = ctx;
    struct err err = {0};
    if (start(p, &p->o, &err))
        return;
    if (is_short(errno) && clock_monotonic_us() < p->until_us) {
        p->nap_us = 2 * p->nap_us < NAP_MOST_US ? 2 * p->nap_us : NAP_MOST_US;
        timer_set(p->again, p->nap_us);
        return;
    }
    over(p, &(struct spawn_result){
                .status = 127 << 8, .output = "", .errors = "", .failed = err.text});
}

static const char *const *texts_copy(const char *const *v, struct arena *a)
{
    size_t n = 0;
    while (v && v[n])
        n++;
    const char **copy = v ? arena_alloc(a, (n + 1) * sizeof *copy) : NULL;
    for (size_t i = 0; copy && i < n; i++)
        copy[i] = arena_strdup(a, v[i]);
    if (copy)
        copy[n] = NULL;
    return copy;
}

static void wait_begin(struct spawn_patient *p, const struct spawn_options *o)
{
    p->arena = arena_new();
    p->o = *o;
    p->o.argv = texts_copy(o->argv, p->arena);
    p->o.env = texts_copy(o->env, p->arena);
    p->o.dir = o->dir ? arena_strdup(p->arena, o->dir) : NULL;
    if (o->input && !p->input)
        p->input = xmemdup(o->input, o->input_len);
    p->o.input = p->input;
    p->until_us = clock_monotonic_us() + PATIENCE_US;
    p->nap_us = NAP_FIRST_US;
    p->again = timer_new(p->loop, again, p);
    timer_set(p->again, p->nap_us);
}

struct spawn_patient *spawn_patiently(struct loop *l, const struct spawn_options *o,
                                      void (*done)(void *ctx, const struct spawn_result *r),
                                      void *ctx, struct err *ret_err)
{
    ASSERT(o->nfds == 0 && !o->detach);
    struct err err = {0};
    struct spawn_patient *p = xcalloc(1, sizeof *p);
    *p = (struct spawn_patient){.loop = l, .done = done, .ctx = ctx};
    if (o->input_given)
        p->input = (void *)(uintptr_t)o->input;
    if (start(p, o, &err))
        return p;
    if (is_short(errno)) {
        wait_begin(p, o);
        return p;
    }
    if (ret_err)
        *ret_err = err;
    patient_drop(p);
    return NULL;
}

void spawn_patient_free(struct spawn_patient *p)
{
    if (!p)
        return;
    spawn_free(p->spawn);
    patient_drop(p);
}
