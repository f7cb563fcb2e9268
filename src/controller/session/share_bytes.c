/* What a user may have under way: connections, bytes of messages that are not whole, answers that
 * nobody reads. */
#include "base/alloc.h"
#include "controller/session/share_inside.h"
#include "model/limits.h"

#define BYTES_MAX  (64u << 20)
#define UNSENT_MAX (128u << 20)
#define LARGE_MAX  8 /* answers of some MiB at once */
/* Half of what is left of all connections, where a quarter is */
#define FAIR_PLENTY (LIMIT_CONNECTIONS / 8)

size_t share_count(const struct user_share *s)
{
    return s->connections;
}

size_t share_connections_most(const struct user_share *s, size_t fair)
{
    if (s && s->key == share_guests_mark(GUESTS_NEW) && fair >= FAIR_PLENTY)
        return LIMIT_CONNECTIONS;
    if (s && share_is_guests(s) && (s->key & BOUND))
        return fair; /* its host has a limit, of these and all others from there */
    return fair < LIMIT_CONNECTIONS_PER_USER ? fair : LIMIT_CONNECTIONS_PER_USER;
}

bool share_bytes(struct user_share *s, ptrdiff_t more)
{
    ASSERT(more >= 0 || s->bytes >= (size_t)-more);
    s->bytes += (size_t)more;
    return more <= 0 || s->bytes <= BYTES_MAX;
}

bool share_unsent(struct user_share *s, ptrdiff_t more)
{
    ASSERT(more >= 0 || s->unsent >= (size_t)-more);
    s->unsent += (size_t)more;
    return !share_unread(s);
}

bool share_unread(const struct user_share *s)
{
    return s->unsent > UNSENT_MAX;
}

bool share_large(struct user_share *s)
{
    ASSERT(s->connections > 0);
    if (s->large >= LARGE_MAX)
        return false;
    s->large++;
    return true;
}

void share_large_sent(struct user_share *s)
{
    CHECK(s->large > 0);
    s->large--;
}
