/* Lines of nodes in a configuration. */
#include "model_config_help.h"

/* ---- nodes ---- */

static void test_a_node_with_every_key(void **state)
{
    const struct config *c =
        read("NodeName=n1 NodeAddr=10.0.0.1 NodeHostname=host1 CPUs=32 Boards=1 "
             "Sockets=2 CoresPerSocket=8 ThreadsPerCore=2 CoreSpecCount=1"
             " RealMemory=64000 MemSpecLimit=512 TmpDisk=1000 Weight=7 Feature=a,b "
             "Gres=gpu:v100:2 Devices=gpu:v100:0:16384:0-7:u"
             " Virtual=YES Arch=x86_64 State=DRAIN Reason=test\n");
    const struct node *n = &c->node[0];
    assert_no_warnings();
    assert_string_equal(n->name, "n1");
    assert_string_equal(n->addr, "10.0.0.1");
    assert_string_equal(n->hostname, "host1");
    assert_true(n->cpus == 32 && n->boards == 1 && n->sockets == 2 && n->cores_per_socket == 8 &&
                n->threads_per_core == 2 && n->core_spec == 1);
    assert_true(n->memory_mib == 64000 && n->memory_spec_mib == 512 && n->tmp_disk_mib == 1000 &&
                n->weight == 7);
    assert_string_equal(n->features, "a,b");
    assert_string_equal(n->gres, "gpu:v100:2");
    assert_string_equal(n->devices, "gpu:v100:0:16384:0-7:u");
    assert_string_equal(n->arch, "x86_64");
    assert_string_equal(n->reason, "test");
    assert_true(n->is_virtual && n->drain && n->state == NODE_UNKNOWN);
}

static void test_ranges_make_one_node_each(void **state)
{
    const struct config *c =
        read("NodeName=gpu[08-10],login NodeAddr=10.0.0.[8-10],10.0.1.1 NodeHostname=box CPUs=2\n");
    static const char *const names[] = {"gpu08", "gpu09", "gpu10", "login"};
    static const char *const addresses[] = {"10.0.0.8", "10.0.0.9", "10.0.0.10", "10.0.1.1"};
    assert_int_equal(c->nnodes, ARRAY_LEN(names));
    for (size_t i = 0; i < c->nnodes; i++) {
        assert_string_equal(c->node[i].name, names[i]);
        assert_string_equal(c->node[i].addr, addresses[i]);
        assert_string_equal(c->node[i].hostname, "box");
    }
    assert_error("NodeName=n[1-3] NodeAddr=a[1-2]\n", "remuda.conf:1: NodeName: NodeAddr",
                 "2 values for 3 nodes");
}

static void assert_shape(const char *line, int32_t cpus, int32_t sockets, int32_t cores,
                         int32_t threads)
{
    const struct node *n = read(line)->node;
    if (n->cpus != cpus || n->sockets != sockets || n->cores_per_socket != cores ||
        n->threads_per_core != threads)
        fail_msg("%s: CPUs=%d %d:%d:%d", line, n->cpus, n->sockets, n->cores_per_socket,
                 n->threads_per_core);
}

static void test_cpus_sockets_cores_and_threads_follow_from_each_other(void **state)
{
    assert_shape("NodeName=n", 1, 1, 1, 1);
    assert_shape("NodeName=n CPUs=8", 8, 8, 1, 1);
    assert_shape("NodeName=n Procs=8", 8, 8, 1, 1);
    assert_shape("NodeName=n Sockets=2 CoresPerSocket=8 ThreadsPerCore=2", 32, 2, 8, 2);
    assert_shape("NodeName=n CPUs=16 CoresPerSocket=8", 16, 2, 8, 1);
    assert_shape("NodeName=n SocketsPerBoard=2 Boards=2 CoresPerSocket=4", 16, 4, 4, 1);
    assert_shape("NodeName=n CPUs=16 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2", 16, 2, 8, 2);
    assert_no_warnings();
    assert_shape("NodeName=n CPUs=7 Sockets=2 CoresPerSocket=2", 4, 2, 2, 1);
    assert_true(text_starts(config.warning[0], "remuda.conf:1: CPUs=7 "));
    assert_error("NodeName=n Sockets=1024 CoresPerSocket=1025\n", "remuda.conf:1: ", "1048576");
}

static void test_default_lines_hold_for_what_follows_and_add_up(void **state)
{
    const struct config *c =
        read("NodeName=a\nNodeName=DEFAULT CPUs=4 RealMemory=100\nNodeName=b\nNodeName=default "
             "RealMemory=200\nNodeName=c Weight=2\n");
    assert_true(c->node[0].cpus == 1 && c->node[0].memory_mib == 0);
    assert_true(c->node[1].cpus == 4 && c->node[1].memory_mib == 100);
    assert_true(c->node[2].cpus == 4 && c->node[2].memory_mib == 200 && c->node[2].weight == 2);
    assert_int_equal(c->nnodes, 3);
}

static void test_a_node_is_described_once(void **state)
{
    assert_error("NodeName=n[1-3]\nNodeName=n2\n",
                 "remuda.conf:2: NodeName: ", "n2 is described twice");
    assert_error("NodeName= CPUs=3\n", "remuda.conf:1", "NodeName has no value");
    assert_error("NodeName=\"\"\n", "remuda.conf:1: NodeName: ", "missing");
}

/* joined.conf is read last by whoever reads the configuration. */
static void test_a_host_that_joined_may_be_described_by_the_site_too(void **state)
{
    static const char *const files[] = {
        "joined.conf", "NodeName=n2 CPUs=8\nNodeName=n9 CPUs=9\nNodeName=n9 CPUs=1\n", "mine.conf",
        "NodeName=n2 CPUs=8\n", NULL};
    const struct config *c = read_with("NodeName=n[1-3] CPUs=4\nInclude joined.conf\n", files);
    assert_int_equal(c->nnodes, 4);
    assert_true(text_is(c->node[1].name, "n2") && c->node[1].cpus == 4);
    assert_true(text_is(c->node[3].name, "n9") && c->node[3].cpus == 9);
    assert_error_with("NodeName=n[1-3]\nInclude mine.conf\n", files,
                      "mine.conf:1: NodeName: ", "n2 is described twice");
    assert_error_with("Include joined.conf\nNodeName=n9\n", files,
                      "remuda.conf:2: NodeName: ", "n9 is described twice");
}

/* After a '\\' at the end the file was a word of that line, and its nodes were not there. */
static void test_hosts_that_joined_are_there_whatever_the_text_ends_with(void **state)
{
    static const char *const files[] = {"joined.conf", "NodeName=n9 CPUs=9\n", NULL};
    static const char *const end[] = {"",     "\n",     "\\",        "\\\n",           "\\\r\n",
                                      "# \\", "# \\\n", "CPUs=4 \\", "CPUs=4 \\\n\\\n"};
    struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(end); i++) {
        const char *text = arena_printf(a, "NodeName=n1 %s", end[i]);
        if (read_with(config_with_joined(text, a), files)->nnodes != 2)
            fail_msg("%s", text);
    }
    arena_free(a);
}

/* What such a host says of itself keeps nobody from starting: a line that cannot be read is left
 * out, and said. */
static void test_a_line_of_a_host_that_joined_may_be_wrong(void **state)
{
    static const char *const wrong[] = {
        "NodeName=n9 CPUs=99999999999",
        "NodeName=n9 CPUs=1 Gres=gpu:1::::",
        "NodeName=n9 State=UP",
        "NodeName=n9 CPUs=1 Virtual=YES",
        "NodeName=n[9-9999999999] CPUs=1",
        "NodeName=n9 CPUs=\"1",
        "NodeName=",
        "= = =",
        "Include nowhere.conf",
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        char text[200];
        snprintf(text, sizeof text, "NodeName=n7 CPUs=7\n%s\nNodeName=n8 CPUs=8\n", wrong[i]);
        const char *const files[] = {"joined.conf", text, "mine.conf", text, NULL};
        const struct config *c = read_with("NodeName=n1\nInclude joined.conf\n", files);
        assert_int_equal(c->nnodes, 3);
        assert_true(text_is(c->node[1].name, "n7") && text_is(c->node[2].name, "n8"));
        bool said = false;
        for (size_t k = 0; k < c->nwarnings; k++)
            said |= strstr(c->warning[k], "joined.conf:2: the line is left out: ") != NULL;
        assert_true(said);
        /* The site's own lines are another matter. */
        if (!strstr(wrong[i], "Virtual"))
            assert_error_with("NodeName=n1\nInclude mine.conf\n", files, "mine.conf:2: ", "");
    }
}

static void test_down_nodes(void **state)
{
    const struct config *c =
        read("DownNodes=n[1-2] State=DRAIN Reason=\"new fans\"\nDownNodes=n3\nNodeName=n[1-4]\n");
    assert_true(c->node[0].drain && c->node[1].drain && c->node[2].state == NODE_DOWN);
    assert_true(!c->node[3].drain && c->node[3].state == NODE_UNKNOWN && !c->node[3].reason);
    assert_string_equal(c->node[1].reason, "new fans");
    assert_error("NodeName=n1\nDownNodes=n2\n", "remuda.conf:2: DownNodes: ", "n2");
    assert_error("DownNodes=n2 State=SAD\n", "remuda.conf:1: State: ", "SAD");
}

/* "a|b" is what a job asks for: either. */
static void test_a_type_of_a_node_is_one_that_can_be_asked_for(void **state)
{
    assert_error("NodeName=n1 Gres=nic:1,gpu:a|b:2\n", "remuda.conf:1: Gres: ", "a|b");
    read("NodeName=n1 Gres=gpu:a100-40.x:2,nic\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_node_with_every_key),
        cmocka_unit_test(test_ranges_make_one_node_each),
        cmocka_unit_test(test_cpus_sockets_cores_and_threads_follow_from_each_other),
        cmocka_unit_test(test_default_lines_hold_for_what_follows_and_add_up),
        cmocka_unit_test(test_a_node_is_described_once),
        cmocka_unit_test(test_a_host_that_joined_may_be_described_by_the_site_too),
        cmocka_unit_test(test_hosts_that_joined_are_there_whatever_the_text_ends_with),
        cmocka_unit_test(test_a_line_of_a_host_that_joined_may_be_wrong),
        cmocka_unit_test(test_down_nodes),
        cmocka_unit_test(test_a_type_of_a_node_is_one_that_can_be_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
