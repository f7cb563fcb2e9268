/* Each has a place of its own, which its watch points to. A device is given up when a process hung
 * at it twice, so there are not many: where there are, the rest are not waited for.
 *
 * What a process had asked for it may stay in the kernel when it is gone itself. Nobody tells when
 * that ends, for it was no child of ours: it is looked for by its group. */
#include "node/hardware/gpu_killed.h"

#include "base/alloc.h"
#include "base/vec.h"
#include "node/step/proc_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#define KILLED_MAX 256
#define AGAIN_US   INT64_C(2000000)
#define LED_US     INT64_C(200000)

struct killed {
    struct gpu_killed *of;
    pid_t pid;
    pid_t led;               /* it is gone, this one of its group is not; 0 = not so */
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

static bool is_led(pid_t pid, pid_t leader)
{
    return pid > 0 && getpgid(pid) == leader && proc_thread(pid) != 0;
}

/* A process of the group that this one led, which has not ended; 0 = there is none. */
static pid_t led_by(pid_t leader)
{
    pid_t found = 0;
    const struct dirent *e;
    DIR *proc = kill(-leader, 0) == 0 ? opendir("/proc") : NULL;
    while (proc && !found && (e = readdir(proc))) {
        pid_t pid = isdigit((unsigned char)e->d_name[0]) ? (pid_t)strtol(e->d_name, NULL, 10) : 0;
        found = is_led(pid, leader) ? pid : 0;
    }
    if (proc)
        closedir(proc);
    return found;
}

static void forget(struct killed *p)
{
    struct gpu_killed *k = p->of;
    size_t n = 0;
    for (size_t i = 0; i < k->process.n; i++)
        if (k->process.v[i] != p)
            k->process.v[n++] = k->process.v[i];
    k->process.n = n;
    free(p);
    if (n == 0 && k->none)
        k->none(k->ctx);
}

/* It is gone itself. */
static void led_look(struct killed *p)
{
    if (!is_led(p->led, p->pid))
        p->led = led_by(p->pid);
    if (p->led)
        timer_set(p->of->again, LED_US);
    else
        forget(p);
}

static void gone(void *ctx, int status, int64_t cpu_us)
{
    struct killed *p = ctx;
    (void)status;
    (void)cpu_us;
    p->watch = NULL;
    led_look(p);
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
    for (size_t i = k->process.n; i-- > 0;) { /* one that is forgotten leaves those before it */
        struct killed *p = k->process.v[i];
        if (p->led)
            led_look(p);
        else if (!p->watch)
            watch_try(p);
    }
}

struct gpu_killed *gpu_killed_new(struct loop *l)
{
    struct gpu_killed *k = xcalloc(1, sizeof *k);
    k->loop = l;
    k->again = timer_new(l, again, k);
    return k;
}

/* NULL: they are too many. */
static struct killed *place(struct gpu_killed *k, pid_t pid, pid_t led)
{
    if (k->process.n == KILLED_MAX)
        return NULL;
    struct killed *p = xcalloc(1, sizeof *p);
    *p = (struct killed){.of = k, .pid = pid, .led = led};
    vec_push(&k->process, p);
    return p;
}

void gpu_killed_add(struct gpu_killed *k, pid_t pid)
{
    ASSERT(pid > 0);
    struct killed *p = place(k, pid, 0);
    if (p)
        watch_try(p);
}

void gpu_killed_led(struct gpu_killed *k, pid_t pid)
{
    ASSERT(pid > 0);
    pid_t led = led_by(pid);
    struct killed *p = led ? place(k, pid, led) : NULL;
    if (p)
        led_look(p);
}

size_t gpu_killed_left(const struct gpu_killed *k)
{
    return k->process.n;
}

size_t gpu_killed_pids(const struct gpu_killed *k, pid_t *ret, size_t max)
{
    size_t n = k->process.n < max ? k->process.n : max;
    for (size_t i = 0; i < n; i++)
        ret[i] = k->process.v[i]->led ? k->process.v[i]->led : k->process.v[i]->pid;
    return n;
}

void gpu_killed_on_none(struct gpu_killed *k, loop_fn fn, void *ctx)
{
    k->none = fn;
    k->ctx = ctx;
}
