/* By which names the port of the metrics may be asked for. */
#include "unit.h"

#include "controller/metrics_names.h"

static const char address[] = "10.0.0.1:6821,metrics.example.org,m2:9000";

static bool ours(const char *host)
{
    return metrics_name_is_ours(host, "head.cluster", address, "ctl(10.1.1.1)");
}

static void numbers_and_names_of_its_own_are(void **state)
{
    (void)state;
    assert_true(ours(NULL));
    assert_true(ours("127.0.0.1:6821"));
    assert_true(ours("192.168.7.7"));
    assert_true(ours("[::1]:6821"));
    assert_true(ours("[fe80::1]"));
    assert_true(ours("localhost:6821"));
    assert_true(ours("LocalHost."));
    assert_true(ours("a.localhost"));
    assert_true(ours("head.cluster:6821"));
    assert_true(ours("Head"));
    assert_true(ours("ctl:6821"));
    assert_true(ours("METRICS.example.org:6821"));
    assert_true(ours("m2"));
}

static void names_of_others_are_not(void **state)
{
    (void)state;
    assert_false(ours(""));
    assert_false(ours(":6821"));
    assert_false(ours("evil.example"));
    assert_false(ours("head.evil.example"));
    assert_false(ours("127.0.0.1.evil.example"));
    assert_false(ours("localhost.evil.example:6821"));
    assert_false(ours("notlocalhost"));
    assert_false(ours(".localhost.evil"));
    assert_false(ours("head.cluster.evil.example"));
    assert_false(ours("example.org"));
    assert_false(ours("*"));
    assert_false(ours("[evil.example]"));
    assert_false(ours("0x7f000001"));
    assert_false(metrics_name_is_ours("x", "", "", NULL));
    assert_false(metrics_name_is_ours("x", "head", "*:6821", ""));
}

static void any_name_is_where_the_site_says_so(void **state)
{
    (void)state;
    assert_true(metrics_name_is_ours("x.y", "head", "*:6821,*", ""));
    struct arena *a = arena_new();
    assert_string_equal(metrics_address_of("*:6821,*", a), "*:6821");
    assert_string_equal(metrics_address_of("[::1]:1", a), "[::1]:1");
    assert_string_equal(metrics_address_of(NULL, a), "");
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_names_of_its_own_are),
        cmocka_unit_test(names_of_others_are_not),
        cmocka_unit_test(any_name_is_where_the_site_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
