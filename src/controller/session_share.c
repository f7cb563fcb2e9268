/* What a session may have of the controller: its user's share of time, and room for messages that are not whole yet. */
#include "base/duration.h"
#include "controller/session_inside.h"
#include "io/clock.h"

#define HALF_US  (30 * USEC_PER_SEC) /* for the rest of a message that began */
#define SWEEP_US (5 * USEC_PER_SEC)

static void session_rested(void *ctx)
{
    struct session *s = ctx;
    s->resting = false;
    session_gate(s);
}

bool session_ready(void *ctx, struct conn *conn)
{
    struct session *s = ctx;
    (void)conn;
    if (!s->share || s->trusted || share_may(s->share))
        return true;
    s->resting = true;
    share_wait(s->share, &s->waiting, session_rested, s);
    return false;
}

int64_t session_spent(struct sessions *all, uint64_t id, int64_t us)
{
    struct session *s = map_u64_get(all->by_id, id);
    if (!s || !s->share || s->trusted)
        return 0;
    share_spent(s->share, us);
    return share_pause(s->share);
}

void session_kept(void *ctx, struct conn *conn, ptrdiff_t more)
{
    struct session *s = ctx;
    s->kept += (size_t)more;
    if (more > 0 && !s->owner->sweeping) {
        s->owner->sweeping = true;
        timer_set(s->owner->sweep, SWEEP_US);
    }
    if (!s->share || share_bytes(s->share, more) || s->trusted)
        return;
    session_refuse(s, 0, REFUSE_TOO_LARGE,
                   "your unfinished messages to the controller have too many bytes together");
    conn_close(conn);
}

/* Whoever begins a message and does not end it holds memory that others may need. */
void halves_sweep(void *ctx)
{
    struct sessions *all = ctx;
    struct map_walk at = {0};
    int64_t before = clock_monotonic_us() - HALF_US;
    all->sweeping = false;
    while (map_u64_next(all->by_id, &at)) {
        struct session *s = at.value;
        int64_t since = conn_half_since(s->conn);
        all->sweeping |= since != 0;
        if (!since || since > before || s->trusted || conn_is_closing(s->conn))
            continue;
        session_refuse(s, 0, REFUSE_BAD_MESSAGE, "half of a message came, and not its rest");
        conn_close(s->conn);
    }
    if (all->sweeping)
        timer_set(all->sweep, SWEEP_US);
}
