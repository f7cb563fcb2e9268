/* Each has a place of its own, which its watch points to. A device is given up when a process hung
 * at it twice, so there are not many: where there are, the rest are not waited for. */
#include "node/hardware/gpu_killed.h"

#include "base/alloc.h"
#include "base/vec.h"

#include <stdlib.h>

#define KILLED_MAX 256
#define AGAIN_US   INT64_C(2000000)

struct killed {
    struct gpu_killed *of;
    pid_t pid;
    struct pid_watch *watch; /* NULL = there is none to be had: it is tried again */
};

struct gpu_killed {
    struct loop *loop;
    VEC(struct killed *) process;
    struct timer *again;
    loop_fn none;
    void *ctx;
};

void gpu_killed_free(struct gpu_killed *k)
{
    if (!k)
        return;
    for (size_t i = 0; i < k->process.n; i++) {
        pid_watch_free(k->process.v[i]->watch);
        free(k->process.v[i]);
    }
    vec_done(&k->process);
    timer_free(k->again);
    free(k);
}

static void gone(void *ctx, int status, int64_t cpu_us)
{
    struct killed *p = ctx;
    struct gpu_killed *k = p->of;
    size_t n = 0;
    (void)status;
    (void)cpu_us;
    for (size_t i = 0; i < k->process.n; i++)
        if (k->process.v[i] != p)
            k->process.v[n++] = k->process.v[i];
    k->process.n = n;
    free(p);
    if (n == 0 && k->none)
        k->none(k->ctx);
}

static void watch_try(struct killed *p)
{
    struct err err = {0};
    p->watch = pid_watch_new(p->of->loop, p->pid, gone, p, &err);
    if (!p->watch)
        timer_set(p->of->again, AGAIN_US);
}

static void again(void *ctx)
{
    struct gpu_killed *k = ctx;
    for (size_t i = 0; i < k->process.n; i++)
        if (!k->process.v[i]->watch)
            watch_try(k->process.v[i]);
}

struct gpu_killed *gpu_killed_new(struct loop *l)
{
    struct gpu_killed *k = xcalloc(1, sizeof *k);
    k->loop = l;
    k->again = timer_new(l, again, k);
    return k;
}

void gpu_killed_add(struct gpu_killed *k, pid_t pid)
{
    ASSERT(pid > 0);
    if (k->process.n == KILLED_MAX)
        return;
    struct killed *p = xcalloc(1, sizeof *p);
    *p = (struct killed){.of = k, .pid = pid};
    vec_push(&k->process, p);
    watch_try(p);
}

size_t gpu_killed_left(const struct gpu_killed *k)
{
    return k->process.n;
}

size_t gpu_killed_pids(const struct gpu_killed *k, pid_t *ret, size_t max)
{
    size_t n = k->process.n < max ? k->process.n : max;
    for (size_t i = 0; i < n; i++)
        ret[i] = k->process.v[i]->pid;
    return n;
}

void gpu_killed_on_none(struct gpu_killed *k, loop_fn fn, void *ctx)
{
    k->none = fn;
    k->ctx = ctx;
}
