/* Where nodes are in a tree of switches. */
#include "unit.h"

#include "base/arena.h"
#include "base/str.h"
#include "model/settings/topology.h"

#include <stdio.h>
#include <time.h>

#define LEAVES 300
#define NODES  333 /* of a leaf */

/* Every connected node is told its address when the configuration is read again: each name of all
 * rows was written out for each of them, twice; ten thousand nodes took 8 s. */
static void test_addresses_of_very_many_nodes(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct topo_row row[LEAVES + 1];
    struct topology t = {.row = row, .n = LEAVES + 1};
    char node[32], address[64];
    for (int i = 0; i < LEAVES; i++)
        row[i] = (struct topo_row){
            .name = arena_printf(a, "s%d", i),
            .nodes = arena_printf(a, "n[%d-%d]", i * NODES, i * NODES + NODES - 1)};
    row[LEAVES] =
        (struct topo_row){.name = "top", .switches = arena_printf(a, "s[0-%d]", LEAVES - 1)};
    clock_t begin = clock();
    for (int n = 0; n < LEAVES * NODES; n += 50) {
        snprintf(node, sizeof node, "n%d", n);
        snprintf(address, sizeof address, "top.s%d.n%d", n / NODES, n);
        assert_string_equal(topology_address(&t, node, a), address);
        assert_string_equal(topology_pattern(&t, node, a), "switch.switch.node");
    }
    assert_in_range((clock() - begin) / CLOCKS_PER_SEC, 0, 4);
    assert_null(topology_address(&t, "n99900", a));
    assert_null(topology_address(&t, "n", a));
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses_of_very_many_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
