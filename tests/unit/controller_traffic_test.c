/* Who is seen in `sdiag` where there are more users than are counted one by one. */
#include "unit.h"

#include "base/arena.h"
#include "controller/traffic.h"
#include "model/record/diag.h"

#include <string.h>

static void asks(struct traffic *t, uint32_t uid, const char *name, int64_t us)
{
    const struct message ping = {.kind = MSG_DAEMON};
    traffic_count(t, &ping, uid, name, us);
}

/* Of that user; count 0: not seen. *ret_n: so many are. */
static struct rpc_count seen(struct traffic *t, struct arena *a, const char *name, size_t *ret_n)
{
    struct diag d = {0};
    struct rpc_count one, found = {0};
    traffic_show(t, a, &d);
    struct span rest = span_of(d.rpc_users);
    for (*ret_n = 0; rpc_counts_next(&rest, a, &one); ++*ret_n)
        if (strcmp(one.name, name) == 0)
            found = one;
    return found;
}

/* Whoever may have user namespaces comes with 65,536 numbers first. */
static void who_has_much_is_seen_whoever_came_first(void **unused)
{
    enum { MADE_UP = 65536 };
    (void)unused;
    struct traffic *t = traffic_new();
    struct arena *a = arena_new();
    size_t n;
    asks(t, 7, "early", 5000);
    for (uint32_t i = 0; i < MADE_UP; i++)
        asks(t, 100000 + i, NULL, 10);
    asks(t, 8, "late", 4000);
    for (uint32_t i = 0; i < MADE_UP; i++)
        asks(t, 300000 + i, NULL, 10);
    assert_int_equal(seen(t, a, "early", &n).us, 5000);
    assert_in_range(n, 2, 1001);
    assert_int_equal(seen(t, a, "late", &n).us, 4000);
    /* Nothing is lost of what is counted together. */
    struct rpc_count others = seen(t, a, "others", &n);
    assert_int_equal(others.us, 10 * others.count);
    assert_int_equal(others.count + n - 3, 2 * MADE_UP);
    traffic_reset(t);
    assert_int_equal(seen(t, a, "early", &n).count, 0);
    arena_free(a);
    traffic_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_has_much_is_seen_whoever_came_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
