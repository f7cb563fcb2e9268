/* Threads beside the loop. The pool is libuv's (it starts with the first work, four threads, and
 * ends the process where one cannot be made: daemons have it start before there is much to lose); a
 * worker is a thread with a queue of its own and a list of what has run, which an async handle
 * makes the loop look at. On a machine that has no process left its works wait for one. */
#include "io/work.h"

#include "base/alloc.h"
#include "io/loop_uv.h"

#include <pthread.h>
#include <stdlib.h>

#define THREAD_AGAIN_US INT64_C(200000)

struct io_work {
    uv_work_t req;
    loop_fn run, done;
    void *ctx;
};

static void pool_run(uv_work_t *req)
{
    struct io_work *w = req->data;
    w->run(w->ctx);
}

static void pool_done(uv_work_t *req, int status)
{
    (void)status;
    struct io_work *w = req->data;
    w->done(w->ctx);
    free(w);
}

void work_start(struct loop *l, loop_fn run, loop_fn done, void *ctx)
{
    struct io_work *w = xcalloc(1, sizeof *w);
    w->run = run;
    w->done = done;
    w->ctx = ctx;
    w->req.data = w;
    CHECK(uv_queue_work(loop_uv(l), &w->req, pool_run, pool_done) == 0);
}

static void nothing(void *ctx)
{
    (void)ctx;
}

void work_prepare(struct loop *l)
{
    work_start(l, nothing, nothing, NULL);
}

/* ---- one thread with a queue
 * ---------------------------------------------------------------------------------------- */

struct work_task {
    loop_fn run, done;
    void *ctx;
    struct work_task *next;
};

struct worker {
    uv_thread_t thread;
    bool has_thread; /* else it is tried again */
    char *name;
    struct timer *again;
    uv_async_t async;
    uv_mutex_t lock;
    uv_cond_t work_came;
    struct work_task *first, **last; /* to run */
    struct work_task *done_first, **done_last;
    bool stop;
};

/* On the loop: calls the done() of everything that has run since. */
static void worker_done(uv_async_t *handle)
{
    struct worker *w = handle->data;
    uv_mutex_lock(&w->lock);
    struct work_task *t = w->done_first;
    w->done_first = NULL;
    w->done_last = &w->done_first;
    uv_mutex_unlock(&w->lock);
    while (t) {
        struct work_task *next = t->next;
        t->done(t->ctx);
        free(t);
        t = next;
    }
}

static struct work_task *worker_take(struct worker *w)
{
    uv_mutex_lock(&w->lock);
    while (!w->first && !w->stop)
        uv_cond_wait(&w->work_came, &w->lock);
    struct work_task *t = w->first;
    if (t && !(w->first = t->next))
        w->last = &w->first;
    uv_mutex_unlock(&w->lock);
    return t;
}

static void worker_thread(void *ctx)
{
    struct worker *w = ctx;
    struct work_task *t;
    while ((t = worker_take(w)) != NULL) {
        t->run(t->ctx);
        t->next = NULL;
        uv_mutex_lock(&w->lock);
        *w->done_last = t;
        w->done_last = &t->next;
        uv_mutex_unlock(&w->lock);
        uv_async_send(&w->async);
    }
}

static void thread_try(void *ctx)
{
    struct worker *w = ctx;
    if (!w->has_thread && uv_thread_create(&w->thread, worker_thread, w) == 0) {
        w->has_thread = true;
        pthread_setname_np(w->thread, w->name);
    }
    if (!w->has_thread)
        timer_set(w->again, THREAD_AGAIN_US);
}

struct worker *worker_new(struct loop *l, const char *name)
{
    struct worker *w = xcalloc(1, sizeof *w);
    w->last = &w->first;
    w->done_last = &w->done_first;
    uv_mutex_init(&w->lock);
    uv_cond_init(&w->work_came);
    CHECK(uv_async_init(loop_uv(l), &w->async, worker_done) == 0);
    w->async.data = w;
    w->name = xstrdup(name);
    w->again = timer_new(l, thread_try, w);
    thread_try(w);
    return w;
}

void worker_add(struct worker *w, loop_fn run, loop_fn done, void *ctx)
{
    struct work_task *t = xmalloc(sizeof *t);
    *t = (struct work_task){.run = run, .done = done, .ctx = ctx};
    uv_mutex_lock(&w->lock);
    *w->last = t;
    w->last = &t->next;
    uv_mutex_unlock(&w->lock);
    uv_cond_signal(&w->work_came); /* not while it would only wait for the lock */
}

static void worker_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void worker_free(struct worker *w)
{
    if (!w)
        return;
    uv_mutex_lock(&w->lock);
    w->stop = true;
    uv_cond_signal(&w->work_came);
    uv_mutex_unlock(&w->lock);
    if (w->has_thread)
        uv_thread_join(&w->thread);
    else
        worker_thread(w);
    worker_done(&w->async);
    timer_free(w->again);
    free(w->name);
    uv_cond_destroy(&w->work_came);
    uv_mutex_destroy(&w->lock);
    uv_close((uv_handle_t *)&w->async, worker_closed);
}
