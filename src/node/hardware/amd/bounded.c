#include "node/hardware/amd/bounded.h"

#include "base/alloc.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct bounded {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool has_thread, busy, ending;
    void (*fn)(void *ctx); /* to be called; NULL while there is nothing */
    void *ctx;
};

int64_t bounded_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

static void *thread_run(void *data)
{
    struct bounded *b = data;
    pthread_mutex_lock(&b->lock);
    while (!b->ending) {
        void (*fn)(void *) = b->fn;
        if (!fn) {
            pthread_cond_wait(&b->changed, &b->lock);
            continue;
        }
        b->fn = NULL;
        pthread_mutex_unlock(&b->lock);
        fn(b->ctx);
        pthread_mutex_lock(&b->lock);
        b->busy = false;
        pthread_cond_broadcast(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

struct bounded *bounded_new(void)
{
    struct bounded *b = xcalloc(1, sizeof *b);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&b->changed, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&b->lock, NULL);
    return b;
}

void bounded_free(struct bounded *b)
{
    if (!b)
        return;
    pthread_mutex_lock(&b->lock);
    bool stuck = b->busy, has_thread = b->has_thread;
    b->ending = true;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    if (stuck) {
        pthread_detach(b->thread);
        return;
    }
    if (has_thread)
        pthread_join(b->thread, NULL);
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

bool bounded_begin(struct bounded *b, void (*fn)(void *ctx), void *ctx)
{
    ASSERT(fn);
    pthread_mutex_lock(&b->lock);
    if (!b->has_thread)
        b->has_thread = pthread_create(&b->thread, NULL, thread_run, b) == 0;
    bool ok = b->has_thread && !b->busy;
    if (ok) {
        b->busy = true;
        b->fn = fn;
        b->ctx = ctx;
        pthread_cond_broadcast(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
    return ok;
}

bool bounded_wait(struct bounded *b, int64_t until_ms)
{
    struct timespec until = {.tv_sec = until_ms / 1000, .tv_nsec = until_ms % 1000 * 1000000};
    pthread_mutex_lock(&b->lock);
    while (b->busy && bounded_now_ms() < until_ms)
        pthread_cond_timedwait(&b->changed, &b->lock, &until);
    bool ok = !b->busy;
    pthread_mutex_unlock(&b->lock);
    return ok;
}
