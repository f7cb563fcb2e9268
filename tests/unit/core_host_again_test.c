/* Hosts that ask again, and that come back: what was half done, and what was there before. */
#include "core_host_help.h"

/* ---- whoever did not hear that it was let in asks again ---- */

static struct host with_key(const char *id, const char *node, const char *key)
{
    struct host h = a_host(id, node);
    h.key_hash = key;
    return h;
}

static size_t hosts(void)
{
    return count((struct msg_query){.what = QUERY_HOSTS});
}

static void test_a_join_that_was_not_heard_is_done_again(void **state)
{
    am_root();
    make(a_token("t1"));
    join(with_key("h1", "n9", "k1"));
    restart(CONF);
    assert_string_equal(core_host_joined(w.c, "t1", "k1")->id, "h1");
    join(with_key("h1", "n9", "k1"));
    assert_int_equal(sent(FX_REPLY, MSG_JOINED), 1);
    assert_int_equal(sent(FX_RECONFIGURE, MESSAGE_COUNT), 1); /* it is not there yet */
    assert_int_equal(hosts(), 1);
    /* It is used up for all others, and is in no list. */
    assert_null(core_host_joined(w.c, "t1", "k2"));
    assert_null(core_host_joined(w.c, "t1", NULL));
    join(with_key("h2", "n8", "k2"));
    refused("used up");
    join(a_host("h3", "n8"));
    refused("used up");
    assert_int_equal(count((struct msg_query){.what = QUERY_TOKENS}), 0);
    assert_int_equal(core_hosts_count(w.c), 1);
    am_root();
    say(1, MSG_EXPEL, &(struct msg_expel){.names = "t1"});
    assert_int_equal(refusal(), REFUSE_INVALID_NODE);
}

static void test_who_asks_again_knows_the_secret_and_says_the_same(void **state)
{
    struct host other = with_key("h1", "n8", "k1");
    am_root();
    make(a_token("t1"));
    join(with_key("h1", "n9", "k1"));
    join_with(with_key("h1", "n9", "k1"), "wr0ng");
    refused("not known");
    join(other);
    refused("joined with that token already, by uid 0 as node n9");
    other = with_key("h1", "n9", "k1");
    other.uid = 7;
    join(other);
    refused("joined with that token already");
    assert_string_equal(core_host(w.c, "h1")->nodes, "n9");
}

/* Neither counts it twice nor lets in anybody that was shut out. */
static void test_asking_again_gives_nothing_more(void **state)
{
    struct token two = a_token("t1");
    two.uses_left = 2;
    two.expires_us = 600 * SEC;
    am_root();
    make(two);
    join(with_key("h1", "n9", "k1"));
    join(with_key("h1", "n9", "k1"));
    assert_int_equal(((const struct token *)the(QUERY_TOKENS, NULL))->uses_left, 1);
    join(with_key("h2", "n8", "k2"));
    assert_int_equal(hosts(), 2);
    say(1, MSG_EXPEL, &(struct msg_expel){.names = "h1"});
    join(with_key("h1", "n9", "k1"));
    refused("used up");
    join(with_key("h2", "n8", "k2"));
    assert_int_equal(sent(FX_REPLY, MSG_JOINED), 1);
    pass(600 * SEC);
    join(with_key("h2", "n8", "k2"));
    refused("expired");
    assert_int_equal(hosts(), 1);
    join(with_key("h3", "n7", "k3"));
    refused("expired");
}

/* The line of its node waits in the store until the configuration has the node. */
static void test_a_line_waits_until_it_is_written(void **state)
{
    struct host h = with_key("h1", "n9", "k1"), described = with_key("h2", "n4", "k2");
    struct msg_join m = {
        .text = "5ecre7", .host = {.v = &h, .n = 1}, .config = "NodeName=n9 CPUs=1"};
    am_root();
    make(a_token("t1"));
    w.peer = (struct peer){.uid = UINT32_MAX, .gid = UINT32_MAX, .host = "10.0.0.2"};
    say(2, MSG_JOIN, &m);
    assert_string_equal(core_host(w.c, "h1")->line, m.config);
    configure(CONF); /* it could not be written */
    restart(CONF);
    assert_string_equal(core_host(w.c, "h1")->line, m.config);
    configure(CONF "NodeName=n9 CPUs=1\n");
    settle(0);
    assert_null(core_host(w.c, "h1")->line);
    restart(CONF); /* somebody took it out by hand */
    assert_null(core_host(w.c, "h1")->line);
    gone(4);
    am_root();
    make(a_token("t2"));
    described.token = "t2";
    m.host.v = &described;
    say(2, MSG_JOIN, &m);
    assert_null(core_host(w.c, "h2")->line);
}

/* ---- who left and comes back ---- */

#define CONF_WITHOUT_N1                                                                            \
    "ClusterName=test\nNodeName=n[2-4] CPUs=8 RealMemory=8000\n"                                   \
    "PartitionName=main Nodes=n[2-4] Default=YES MaxTime=2:00:00 State=UP\n"

/* It left, was not heard of for SlurmdTimeout, and another machine joins by its name. */
static void test_a_node_that_left_long_ago_begins_anew(void **state)
{
    configure(CONF_WITHOUT_N1);
    gone(1);
    pass(4000 * SEC);
    configure(CONF);
    assert_int_not_equal(node("n1")->state, NODE_DOWN);
    assert_null(node("n1")->reason);
    hello(1);
    assert_int_equal(node("n1")->state, NODE_UP);
}

/* An administrator's word about the node stays. */
static void test_a_node_that_was_set_down_is_so_when_it_is_back(void **state)
{
    am_root();
    say(1, MSG_UPDATE_NODE,
        &(struct msg_update_node){.names = "n1", .state = "DOWN", .reason = "smoke"});
    configure(CONF_WITHOUT_N1);
    gone(1);
    pass(4000 * SEC);
    configure(CONF);
    hello(1);
    assert_int_equal(node("n1")->state, NODE_DOWN);
    assert_string_equal(node("n1")->reason, "smoke");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(test_a_join_that_was_not_heard_is_done_again),
        STORY(test_who_asks_again_knows_the_secret_and_says_the_same),
        STORY(test_asking_again_gives_nothing_more),
        STORY(test_a_line_waits_until_it_is_written),
        STORY(test_a_node_that_left_long_ago_begins_anew),
        STORY(test_a_node_that_was_set_down_is_so_when_it_is_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
