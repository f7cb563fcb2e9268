/* What a node may say of itself: so much and no more, for all that plan are to look at it. */
#include "core_help.h"

#include "model/limits.h"

static uint64_t seq;

/* n1 says hello; the devices are of so many types, which nobody named before. */
static void says_types(size_t types, size_t each)
{
    static unsigned told;
    struct str gres = STR_INIT, devices = STR_INIT;
    for (size_t i = 0; i < types; i++) {
        str_addf(&gres, "%sgpu:t%u:%zu", i ? "," : "", ++told, each);
        for (size_t k = 0; k < each; k++)
            str_addf(&devices, "gpu:t%u:%zu:::;", told, i * each + k);
    }
    struct node self = {.name = "n1",
                        .real_cpus = 8,
                        .real_memory_mib = 8000,
                        .version = "test",
                        .real_gres = str_text(&gres),
                        .devices = str_text(&devices)};
    struct msg_node_hello m = {.node = {&self, 1}, .pid = 9, .devices_seq = ++seq};
    am_root();
    say(CONN_OF(1), MSG_NODE_HELLO, &m);
    str_done(&gres);
    str_done(&devices);
}

/* It named six thousand in a text of 64 KiB, and might have in one of 64 MiB. */
static void a_node_names_so_many_devices_and_types(void **unused)
{
    says_types(LIMIT_NODE_TYPES, 1);
    pass(1);
    assert_null(node("n1")->device_trouble);
    assert_non_null(node("n1")->gres);
    says_types(LIMIT_NODE_TYPES + 1, 1);
    pass(1);
    assert_string_equal(
        node("n1")->device_trouble,
        "it says that it has devices of more than 64 kinds and types: none is used");
    assert_null(node("n1")->gres);
    says_types(1, LIMIT_DEVICES_PER_NODE + 1);
    pass(1);
    assert_string_equal(node("n1")->device_trouble,
                        "it says that it has more than 1024 devices: none is used");
    assert_null(node("n1")->gres);
    says_types(1, LIMIT_DEVICES_PER_NODE);
    assert_null(node("n1")->device_trouble);
    assert_non_null(node("n1")->gres);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(a_node_names_so_many_devices_and_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
