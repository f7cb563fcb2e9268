/* The loop over libuv.
 *
 * A round: libuv polls, callbacks run, then the `prepare` handle runs just before it would sleep
 * again. There the later-list is worked off (what must not be called from inside its starter), what
 * the connections gathered is written, the turn hook is called, and what that gathered is written
 * too; if new later-calls are left, an idle handle keeps the next poll from sleeping. Posts from
 * other threads go through a mutex-protected list and one async handle. */
#include "io/loop.h"

#include "base/alloc.h"
#include "io/clock.h"
#include "io/loop_uv.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define LAST_WORK_MS    3000 /* of threads, at the end of a loop */
#define OWN_DESCRIPTORS 16   /* more than libuv takes for itself */

struct post {
    loop_fn fn;
    void *ctx;
    struct post *next;
};

struct signal_watch {
    uv_signal_t handle;
    loop_fn fn;
    void *ctx;
    struct signal_watch *next;
};

/* Asked of the kernel once a round; within it the clock goes on by processor time. */
struct served {
    int fd;         /* of the thread's schedstat, with what it waited; -1 = there is none */
    bool open;      /* it was looked for */
    uint64_t asked; /* in which round, + 1; 0 = not yet */
    int64_t us;     /* the clock then */
    int64_t cpu_ns; /* the thread's processor time then */
};

struct loop {
    uv_loop_t uv;
    uv_prepare_t prepare;
    uv_idle_t awake; /* runs while later-calls wait, so that the poll does not sleep */
    uv_async_t async;
    uv_mutex_t lock; /* of the posts */
    struct post *first_post, **last_post;
    struct later later, flush; /* heads of rings */
    char *scratch;
    struct signal_watch *signals;
    loop_fn turn;
    void *turn_ctx;
    struct loop_rounds rounds;
    uint64_t round_ns,
        idle_ns;    /* when the last round ended, and for how long the loop had slept until then */
    int64_t cpu_ns; /* the thread's processor time then */
    uint64_t round; /* never reset */
    struct served served;
};

const int64_t loop_length_us[LOOP_LENGTHS - 1] = {
    100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000, 1000000};

uv_loop_t *loop_uv(struct loop *l)
{
    return &l->uv;
}

bool loop_error(struct err *ret_err, int uv_code, const char *what)
{
    enum err_code code = ERR_UNAVAILABLE;
    if (uv_code == UV_ENOENT)
        code = ERR_NOT_FOUND;
    else if (uv_code == UV_EACCES || uv_code == UV_EPERM)
        code = ERR_DENIED;
    return err_set(ret_err, code, "%s: %s", what, uv_strerror(uv_code));
}

/* ---- posts
 * -------------------------------------------------------------------------------- */

static void posts_run(uv_async_t *handle)
{
    struct loop *l = handle->data;
    uv_mutex_lock(&l->lock);
    struct post *p = l->first_post;
    l->first_post = NULL;
    l->last_post = &l->first_post;
    uv_mutex_unlock(&l->lock);
    while (p) {
        struct post *next = p->next;
        p->fn(p->ctx);
        free(p);
        p = next;
    }
}

void loop_post(struct loop *l, loop_fn fn, void *ctx)
{
    struct post *p = xmalloc(sizeof *p);
    *p = (struct post){.fn = fn, .ctx = ctx};
    uv_mutex_lock(&l->lock);
    *l->last_post = p;
    l->last_post = &p->next;
    uv_mutex_unlock(&l->lock);
    uv_async_send(&l->async);
}

/* ---- later
 * -------------------------------------------------------------------------------- */

static void awake_run(uv_idle_t *handle)
{
    (void)handle;
}

static void ring_add(struct later *ring, struct later *one, loop_fn fn, void *ctx)
{
    *one = (struct later){.fn = fn, .ctx = ctx, .next = ring, .prev = ring->prev};
    ring->prev->next = one;
    ring->prev = one;
}

static void ring_remove(struct later *one)
{
    one->prev->next = one->next;
    one->next->prev = one->prev;
    one->fn = NULL;
}

static bool ring_empty(const struct later *ring)
{
    return ring->next == ring;
}

static void mark_run(void *ctx)
{
    (void)ctx;
}

/* Only those that wait now: what they add is left for the next time. */
static void ring_run(struct later *ring)
{
    struct later *mark = xcalloc(1, sizeof *mark);
    ring_add(ring, mark, mark_run, NULL);
    while (ring->next != mark) {
        struct later *one = ring->next;
        loop_fn fn = one->fn;
        void *ctx = one->ctx;
        ring_remove(one);
        CHECK(fn);
        fn(ctx);
    }
    ring_remove(mark);
    free(mark);
}

void loop_later(struct loop *l, struct later *one, loop_fn fn, void *ctx)
{
    if (one->fn)
        return;
    ring_add(&l->later, one, fn, ctx);
    uv_idle_start(&l->awake, awake_run);
}

void loop_flush(struct loop *l, struct later *one, loop_fn fn, void *ctx)
{
    if (!one->fn)
        ring_add(&l->flush, one, fn, ctx);
}

void loop_later_cancel(struct loop *l, struct later *one)
{
    (void)l;
    if (one->fn)
        ring_remove(one);
}

struct loop_rounds loop_rounds(const struct loop *l)
{
    return l->rounds;
}

void loop_rounds_reset(struct loop *l)
{
    l->rounds = (struct loop_rounds){0};
}

/* For how long the thread was ready and did not run, in ns, all in all: the second number. */
static int64_t waited_ns(struct served *s)
{
    char text[96];
    long long ran, waited;
    if (!s->open)
        s->fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    s->open = true;
    ssize_t n = s->fd >= 0 ? pread(s->fd, text, sizeof text - 1, 0) : 0;
    text[n > 0 ? n : 0] = '\0';
    return sscanf(text, "%lld %lld", &ran, &waited) == 2 && waited > 0 ? waited : 0;
}

int64_t loop_served_us(struct loop *l)
{
    struct served *s = &l->served;
    int64_t cpu_ns = clock_thread_ns(), now_us = s->us + (cpu_ns - s->cpu_ns) / 1000;
    if (s->asked == l->round + 1)
        return now_us;
    int64_t us = clock_monotonic_us();
    us -= waited_ns(s) / 1000;
    s->us = s->asked && us < now_us ? now_us : us;
    s->asked = l->round + 1;
    s->cpu_ns = cpu_ns;
    return s->us;
}

static size_t length_of(int64_t us)
{
    size_t i = 0;
    while (i < LOOP_LENGTHS - 1 && us > loop_length_us[i])
        i++;
    return i;
}

/* libuv says for how long it slept in the poll; the rest since the last round was this one's. */
static void round_ended(struct loop *l)
{
    uint64_t now = uv_hrtime(), idle = uv_metrics_idle_time(&l->uv);
    int64_t cpu_ns = clock_thread_ns();
    l->round++;
    if (l->round_ns) {
        int64_t us = (int64_t)(now - l->round_ns - (idle - l->idle_ns)) / 1000;
        l->rounds.n++;
        l->rounds.sum_us += us;
        l->rounds.max_us = us > l->rounds.max_us ? us : l->rounds.max_us;
        l->rounds.of[length_of((cpu_ns - l->cpu_ns) / 1000)]++;
    }
    l->round_ns = now;
    l->idle_ns = idle;
    l->cpu_ns = cpu_ns;
}

static void prepare_run(uv_prepare_t *handle)
{
    struct loop *l = handle->data;
    ring_run(&l->later);
    ring_run(&l->flush);
    if (l->turn)
        l->turn(l->turn_ctx);
    ring_run(&l->flush);
    if (ring_empty(&l->later) && ring_empty(&l->flush))
        uv_idle_stop(&l->awake);
    else
        uv_idle_start(&l->awake, awake_run);
    round_ended(l);
}

char *loop_scratch(struct loop *l)
{
    if (!l->scratch)
        l->scratch = xmalloc(LOOP_SCRATCH_BYTES);
    return l->scratch;
}

/* ---- life
 * --------------------------------------------------------------------------------- */

/* libuv ends a process that has none for its own. The error of libuv's that says so; 0: there
 * are. */
static int descriptors_look(void)
{
    int fd[OWN_DESCRIPTORS], n = 0, rc = 0;
    while (n < OWN_DESCRIPTORS && rc == 0) {
        fd[n] = eventfd(0, EFD_CLOEXEC);
        rc = fd[n] < 0 ? uv_translate_sys_error(errno) : 0;
        n += rc == 0;
    }
    while (n > 0)
        close(fd[--n]);
    return rc;
}

struct loop *loop_new(struct err *ret_err)
{
    struct loop *l = xcalloc(1, sizeof *l);
    int rc = descriptors_look();
    if (rc == 0)
        rc = uv_loop_init(&l->uv);
    if (rc == 0)
        rc = uv_async_init(&l->uv, &l->async, posts_run);
    if (rc == 0)
        rc = uv_loop_configure(&l->uv, UV_METRICS_IDLE_TIME);
    if (rc != 0) {
        loop_error(ret_err, rc, "cannot make the event loop");
        free(l);
        return NULL;
    }
    uv_prepare_init(&l->uv, &l->prepare);
    uv_idle_init(&l->uv, &l->awake);
    uv_mutex_init(&l->lock);
    l->async.data = l->prepare.data = l->awake.data = l;
    l->last_post = &l->first_post;
    l->later.next = l->later.prev = &l->later;
    l->flush.next = l->flush.prev = &l->flush;
    uv_prepare_start(&l->prepare, prepare_run);
    signal(SIGPIPE, SIG_IGN);
    return l;
}

static void signals_free(struct signal_watch *w)
{
    while (w) {
        struct signal_watch *next = w->next;
        free(w);
        w = next;
    }
}

/* What a thread asks of a name service, or of a file system, may have no end, and threads cannot be
 * ended: the process can. */
static void work_given_up(uv_timer_t *timer)
{
    (void)timer;
    _exit(EXIT_SUCCESS);
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    for (struct signal_watch *w = l->signals; w; w = w->next)
        uv_close((uv_handle_t *)&w->handle, NULL);
    l->turn = NULL;
    posts_run(&l->async);
    while (!ring_empty(&l->later) || !ring_empty(&l->flush)) {
        ring_run(&l->later);
        ring_run(&l->flush);
    }
    uv_close((uv_handle_t *)&l->prepare, NULL);
    uv_close((uv_handle_t *)&l->awake, NULL);
    uv_close((uv_handle_t *)&l->async, NULL);
    uv_timer_t patience;
    uv_update_time(&l->uv);
    uv_timer_init(&l->uv, &patience);
    uv_timer_start(&patience, work_given_up, LAST_WORK_MS, 0);
    uv_unref((uv_handle_t *)&patience);
    /* a loop_stop that nobody waited for ends a run early. */
    while (uv_run(&l->uv, UV_RUN_DEFAULT) != 0) {
    }
    uv_close((uv_handle_t *)&patience, NULL);
    uv_run(&l->uv, UV_RUN_DEFAULT);
    CHECK(uv_loop_close(&l->uv) == 0);
    signals_free(l->signals);
    uv_mutex_destroy(&l->lock);
    if (l->served.open && l->served.fd >= 0)
        close(l->served.fd);
    free(l->scratch);
    free(l);
}

void loop_run(struct loop *l)
{
    uv_run(&l->uv, UV_RUN_DEFAULT);
}

void loop_stop(struct loop *l)
{
    uv_stop(&l->uv);
}

void loop_on_turn(struct loop *l, loop_fn fn, void *ctx)
{
    l->turn = fn;
    l->turn_ctx = ctx;
}

/* ---- signals
 * ------------------------------------------------------------------------------ */

static void signal_run(uv_signal_t *handle, int signo)
{
    (void)signo;
    struct signal_watch *w = handle->data;
    w->fn(w->ctx);
}

bool loop_on_signal(struct loop *l, int signo, loop_fn fn, void *ctx, struct err *ret_err)
{
    struct signal_watch *w = xcalloc(1, sizeof *w);
    *w = (struct signal_watch){.fn = fn, .ctx = ctx, .next = l->signals};
    uv_signal_init(&l->uv, &w->handle);
    w->handle.data = w;
    l->signals = w;
    int rc = uv_signal_start(&w->handle, signal_run, signo);
    return rc == 0 || loop_error(ret_err, rc, "cannot watch for a signal");
}
