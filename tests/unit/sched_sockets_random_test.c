/* --gpus-per-socket on random nodes: which devices are chosen, against a choice that counts all anew
 * for each socket. Where devices lie, against the lists of CPUs that they came with. */
#include "base/rng.h"
#include "sched/books/settle.h"
#include "sched/request/demand.h"
#include "sched_help.h"

static bool is_near(const struct group *g, size_t d, int32_t socket)
{
    int32_t each = (g->slots + g->spec_slots) / g->sockets;
    if (!g->dev[d].near)
        return true;
    for (int32_t s = socket * each; s < (socket + 1) * each && s < g->slots; s++)
        if (g->dev[d].near[s])
            return true;
    return false;
}

static int32_t reach_of(const struct group *g, size_t d)
{
    int32_t n = 0;
    for (int32_t k = 0; k < g->sockets; k++)
        n += is_near(g, d, k);
    return n;
}

/* So many on the socket, or none. Those that are near few sockets come first. */
static bool socket_gives(const struct group *g, uint32_t dim, int32_t socket, int64_t want,
                         const uint64_t *taken, char *chosen)
{
    size_t here[64], n = 0;
    for (int32_t reach = 1; reach <= g->sockets; reach++)
        for (size_t d = 0; d < g->ndev && (int64_t)n < want; d++)
            if (g->dev[d].dim == dim && !taken[d] && !chosen[d] && is_near(g, d, socket) &&
                reach_of(g, d) == reach)
                here[n++] = d;
    for (size_t i = 0; (int64_t)n == want && i < n; i++)
        chosen[here[i]] = 1;
    return (int64_t)n == want;
}

static bool chosen_slowly(const struct group *g, uint32_t dim, int64_t count, int64_t per,
                          const uint64_t *taken, char *chosen)
{
    bool gave[8] = {false};
    for (int round = 0; round < 2; round++)
        for (int32_t k = 0; k < g->sockets && count > 0; k++) {
            int64_t want = count < per ? count : per;
            if (gave[k] || !socket_gives(g, dim, k, want, taken, chosen))
                continue;
            gave[k] = true;
            count -= want;
        }
    return count <= 0;
}

/* A list of CPUs, or none; whole sockets, or any. */
static void add_near(struct rng *r, struct str *s, int32_t cpus, int32_t each)
{
    const char *comma = "";
    for (int32_t c = 0; rng_chance(r, 800) && c < cpus; c += each)
        if (rng_chance(r, 350)) {
            int32_t last = rng_chance(r, 500) ? c + each - 1 : c;
            str_addf(s, last > c ? "%s%d-%d" : "%s%d", comma, c, last);
            comma = ",";
        }
}

static struct cluster *random_node(struct rng *r)
{
    struct cluster *cl = cluster_new();
    struct str devices = STR_INIT;
    struct node n = a_node("n1");
    n.sockets = (int32_t)rng_range(r, 1, 6);
    n.cores_per_socket = (int32_t)rng_range(r, 1, 3);
    n.cpus = n.sockets * n.cores_per_socket;
    n.core_spec = rng_chance(r, 200) ? 1 : 0;
    n.gres = "gpu:a:5,gpu:b:5";
    for (int i = 0; i < 10; i++) {
        str_addf(&devices, "%sgpu:%s:%d:16384:", i ? ";" : "", rng_chance(r, 500) ? "a" : "b", i);
        add_near(r, &devices, n.cpus, n.cores_per_socket);
        str_add(&devices, ":");
    }
    n.devices = str_text(&devices);
    struct partition p = a_part("main", "ALL");
    put_node(cl, &n);
    put_part(cl, &p);
    cluster_settle(cl);
    str_done(&devices);
    return cl;
}

static void the_devices_that_counting_anew_chooses(void **state)
{
    (void)state;
    struct rng r = {.state = 7};
    size_t given = 0, none = 0;
    for (int i = 0; i < 4000; i++) {
        struct cluster *cl = random_node(&r);
        const struct group *g = cl->group.v[0];
        assert_in_range(g->ndev, 1, 10);
        uint64_t taken[10] = {0};
        for (size_t d = 0; d < g->ndev; d++)
            taken[d] = rng_chance(&r, 200);
        uint32_t dim = g->dev[rng_below(&r, g->ndev)].dim;
        int64_t count = rng_range(&r, 1, 6), per = rng_range(&r, 1, 3);
        char slow[10] = {0}, fast[10] = {0};
        bool ok = chosen_slowly(g, dim, count, per, taken, slow);
        assert_int_equal(demand_devices_by_socket(g, dim, count, per, taken, fast), ok);
        if (ok)
            assert_memory_equal(slow, fast, sizeof slow);
        given += ok;
        none += !ok;
        cluster_free(cl);
    }
    assert_true(given > 1000 && none > 500);
}

static void where_devices_lie(void **state)
{
    (void)state;
    struct rng r = {.state = 8};
    for (int i = 0; i < 1000; i++) {
        struct cluster *cl = random_node(&r);
        const struct group *g = cl->group.v[0];
        for (size_t d = 0; d < g->ndev; d++) {
            assert_int_equal(g->dev[d].reach, reach_of(g, d));
            size_t first = 0;
            while (!g->dev[first].near != !g->dev[d].near ||
                   (g->dev[d].near &&
                    memcmp(g->dev[first].near, g->dev[d].near, (size_t)g->slots) != 0))
                first++;
            assert_int_equal(g->dev[d].place, first);
        }
        cluster_free(cl);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_devices_that_counting_anew_chooses),
        cmocka_unit_test(where_devices_lie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
