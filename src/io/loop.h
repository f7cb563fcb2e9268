/* The event loop (libuv inside; nobody else sees it): timers, signals, a hook before each sleep,
 * work handed over from other threads.
 *
 * Everything here and in conn.h, listen.h, link.h, spawn.h and mail.h belongs to the thread that
 * runs the loop, and all callbacks come on it; only loop_post may be called from anywhere.
 * Callbacks are never called from inside the function that started the thing, and every callback
 * may free or close the thing it is called for. An idle loop sleeps: nothing here polls. */
#ifndef REMUDA_IO_LOOP_H
#define REMUDA_IO_LOOP_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct loop; /* opaque */

typedef void (*loop_fn)(void *ctx);

/* NULL = the system gives no more of what it needs; ret_err says what. */
struct loop *loop_new(struct err *ret_err);
/* Everything made on the loop must be freed or closed first; what is still closing is waited for.
 * Work of threads that takes longer than 3 s has no end (a name service that hangs): the process
 * ends at once, with 0. NULL is fine. */
void loop_free(struct loop *l);
/* Runs until loop_stop. SIGPIPE is ignored in the whole process. */
void loop_run(struct loop *l);
/* loop_run returns after the round at hand. */
void loop_stop(struct loop *l);

/* Called each time before the loop goes to sleep: after a round of inputs (frames, timers, signals,
 * posts), before waiting for the next. One hook a loop; NULL takes it away. The place for a turn:
 * what the round's callbacks gathered is worked off at once. */
void loop_on_turn(struct loop *l, loop_fn fn, void *ctx);

/* Rounds so far, and how long the loop was busy in the longest of them and in all: for so long
 * nobody is heard. And how many there were of each length, in processor time of the loop's thread,
 * so that a busy machine makes no round longer: of[i] of at most loop_length_us[i], the last of
 * them longer. */
#define LOOP_LENGTHS 14
extern const int64_t loop_length_us[LOOP_LENGTHS - 1];
struct loop_rounds {
    uint64_t n;                /* since the start, or since they were reset */
    int64_t max_us, sum_us;    /* from its first callback to its last */
    uint64_t of[LOOP_LENGTHS]; /* by length */
};
/* Since the start, or since they were reset. */
struct loop_rounds loop_rounds(const struct loop *l);
void loop_rounds_reset(struct loop *l); /* counts anew */

/* A clock that stands still while the loop's thread is ready to run and has no processor: of the
 * time that it counts the loop could have used all. Never goes back. Where the kernel does not say
 * for how long threads wait it is clock_monotonic_us. From the loop's thread. */
int64_t loop_served_us(struct loop *l);

/* From any thread: fn(ctx) is called on the loop, in the order of the posts. */
void loop_post(struct loop *l, loop_fn fn, void *ctx);

/* fn(ctx) whenever the process gets the signal (as often as the kernel tells, never inside a signal
 * handler). One fn a signal; it stays until the loop is freed. SIGCHLD is the loop's own: use
 * spawn.h or pid_watch. */
bool loop_on_signal(struct loop *l, int signo, loop_fn fn, void *ctx, struct err *ret_err);

/* ---- timers --------------------------------------------------------------------------------- */

struct timer; /* opaque; fires once for each time it is set */

/* Not set yet; never NULL. */
struct timer *timer_new(struct loop *l, loop_fn fn, void *ctx);
void timer_free(struct timer *t); /* NULL is fine */
/* In that time; replaces an earlier setting. Rounded up to whole milliseconds; ≤ 0 = in the next
 * round. */
void timer_set(struct timer *t, int64_t after_us);
/* At that time of the wall clock, also when the clock is set or the machine sleeps meanwhile.
 * INT64_MAX = never (as timer_stop). */
void timer_set_at(struct timer *t, int64_t at_us);
/* It does not fire any more, even if it is due; it can be set again. */
void timer_stop(struct timer *t);

/* ---- processes that are not spawn.h's ------------------------------------------------------- */

struct pid_watch; /* opaque */

/* exited(ctx, status, cpu_us) once when process `pid` is gone: any process, child or not (a pidfd).
 * The status is its wait status if it was our child and nobody else has waited for it (it is reaped
 * then), else -1; cpu_us the processor time that it used, else 0. A process that is gone already is
 * told likewise, in the next round. The watch frees itself after the callback; pid_watch_free
 * before that cancels it. */
struct pid_watch *pid_watch_new(struct loop *l, pid_t pid,
                                void (*exited)(void *ctx, int status, int64_t cpu_us), void *ctx,
                                struct err *ret_err);
/* Its callback is not called any more. NULL is fine. */
void pid_watch_free(struct pid_watch *w);

/* ---- file descriptors of others (inotify, a pipe, a shepherd's socket) ---------------------- */

struct fd_watch; /* opaque */

/* readable(ctx) whenever fd has something to read or is at its end (level-triggered: read until
 * EAGAIN). The fd stays the caller's; free the watch before closing it. */
struct fd_watch *fd_watch_new(struct loop *l, int fd, loop_fn readable, void *ctx,
                              struct err *ret_err);
/* Before the descriptor is closed, which stays the caller's. NULL is fine. */
void fd_watch_free(struct fd_watch *w);

#endif
