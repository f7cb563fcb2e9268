/* Who is let in as a host, and as what. */
#include "core_host_help.h"

#include "model/protocol.h"

#include <stdio.h>

static void test_only_administrators_make_tokens_and_see_them(void **state)
{
    make(a_token("t1"));
    assert_int_equal(refusal(), REFUSE_ACCESS_DENIED);
    am_root();
    make(a_token("t1"));
    assert_int_equal(sent(FX_REPLY, MSG_TOKEN_MADE), 1);
    assert_int_equal(count((struct msg_query){.what = QUERY_TOKENS}), 1);
    am_alice();
    join(a_host("h1", "n9"));
    assert_int_equal(sent(FX_REPLY, MSG_JOINED), 1);
    say(1, MSG_EXPEL, &(struct msg_expel){.names = "h1"});
    assert_int_equal(refusal(), REFUSE_ACCESS_DENIED);
    assert_non_null(core_host(w.c, "h1"));
}

/* Whoever holds connections looks again, though there are as many hosts and tokens as before. */
static void test_who_is_shut_out_is_counted(void **state)
{
    am_root();
    make(a_token("t1"));
    join(a_host("h1", "n9"));
    size_t there = core_hosts_count(w.c);
    uint64_t before = core_hosts_shut_out(w.c);
    make(a_token("t2"));
    assert_true(core_hosts_shut_out(w.c) == before);
    say(1, MSG_EXPEL, &(struct msg_expel){.names = "h1"});
    assert_int_equal(core_hosts_count(w.c), there);
    assert_true(core_hosts_shut_out(w.c) == before + 1);
}

/* Nobody joins by it any more: it is no reason to listen, nor to keep an authority. */
static void test_a_token_whose_time_is_over_is_not_counted(void **state)
{
    struct token t = a_token("t1");
    t.expires_us = MIN; /* from now */
    am_root();
    make(t);
    assert_int_equal(core_hosts_count(w.c), 1);
    pass(MIN);
    assert_int_equal(core_hosts_count(w.c), 0);
}

/* Whoever joins by another's name is not shut out in its place, nor it in his. */
static void test_hosts_of_one_name_are_shut_out_by_their_ids(void **state)
{
    struct token two = a_token("t1");
    struct host liar = a_host("h2", "n8");
    two.uses_left = 2;
    am_root();
    make(two);
    join(a_host("h1", "n9"));
    liar.name = "h1x";
    join(liar);
    liar = a_host("h3", "n7");
    make(a_token("t3"));
    liar.token = "t3";
    liar.name = "h1x";
    join(liar);
    say(1, MSG_EXPEL, &(struct msg_expel){.names = "h1x"});
    assert_int_equal(refusal(), REFUSE_INVALID_NODE);
    assert_non_null(strstr(answer()->detail, "h2"));
    assert_non_null(strstr(answer()->detail, "h3"));
    assert_true(core_host(w.c, "h2") && core_host(w.c, "h3"));
    say(1, MSG_EXPEL, &(struct msg_expel){.names = "h3"});
    assert_int_equal(refusal(), REFUSE_NONE);
    say(1, MSG_EXPEL, &(struct msg_expel){.names = "h1x"});
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_true(core_host(w.c, "h1") && !core_host(w.c, "h2") && !core_host(w.c, "h3"));
}

/* What a host calls itself proves nothing; what its token calls it is the administrator's word. */
static void test_a_token_names_its_host(void **state)
{
    struct host says = a_host("h1", NULL), lies = a_host("h2", NULL);
    struct token t = a_token("t1"), nameless = a_token("t2");
    t.kind = nameless.kind = HOST_LOGIN;
    t.name = "login1";
    lies.token = "t2";
    lies.name = "login1";
    lies.named = true;
    am_root();
    t.uses_left = 2;
    make(t);
    assert_int_equal(refusal(), REFUSE_UPDATE); /* one name, one host */
    t.uses_left = 1;
    make(t);
    make(nameless);
    join(says);
    join(lies);
    restart(CONF);
    assert_string_equal(core_host(w.c, "h1")->name, "login1");
    assert_true(core_host(w.c, "h1")->named);
    assert_string_equal(core_host(w.c, "h2")->name, "login1");
    assert_false(core_host(w.c, "h2")->named);
    t.name = "a,b";
    make(t);
    assert_int_equal(refusal(), REFUSE_UPDATE);
}

static void test_alloc_nodes_are_no_names_of_ones_own(void **state)
{
    struct job_spec s = a_job("there");
    configure(CONF "PartitionName=closed Nodes=n1 AllocNodes=login State=UP\n");
    s.req.partition = "closed";
    am_alice();
    assert_int_not_equal(submit(s), 0);
    w.peer.host_unsure = true;
    assert_int_equal(submit(s), 0);
    assert_int_equal(refusal(), REFUSE_PARTITION_ACCESS);
    assert_non_null(strstr(answer()->detail, "remuda token --name login"));
    s.req.partition = "main";
    assert_int_not_equal(submit(s), 0);
}

static void test_a_token_lets_in_once_and_a_restart_does_not_forget(void **state)
{
    am_root();
    make(a_token("t1"));
    restart(CONF);
    join(a_host("h1", "n9"));
    assert_int_equal(sent(FX_REPLY, MSG_JOINED), 1);
    assert_int_equal(sent(FX_RECONFIGURE, MESSAGE_COUNT), 1); /* a node that is new */
    restart(CONF);
    assert_string_equal(core_host(w.c, "h1")->nodes, "n9");
    assert_true(core_host(w.c, "h1")->trusted);
    join(a_host("h2", "n8"));
    refused("used up");
    assert_null(core_host(w.c, "h2"));
}

static void test_a_token_for_several_ends_with_its_uses_or_its_time(void **state)
{
    struct token t = a_token("t1");
    am_root();
    t.uses_left = 3;
    t.expires_us = 600 * SEC;
    make(t);
    join(a_host("h1", "n7"));
    join(a_host("h2", "n8"));
    assert_non_null(core_host(w.c, "h2"));
    pass(600 * SEC);
    join(a_host("h3", "n9"));
    refused("expired");
    make(a_token("t2")); /* what is over is not kept */
    assert_int_equal(count((struct msg_query){.what = QUERY_TOKENS}), 1);
}

/* As many as were said, over a restart between any two; one unless said; never less than one. */
static void test_a_token_lets_in_as_many_as_were_said(void **state)
{
    struct token t = a_token("t1");
    char name[8];
    am_root();
    t.uses_left = -1;
    make(t);
    assert_int_equal(refusal(), REFUSE_UPDATE);
    for (int32_t uses = 0; uses <= 3; uses++) {
        int let_in = 0;
        t.uses_left = uses;
        make(t);
        assert_int_equal(((const struct token *)the(QUERY_TOKENS, NULL))->uses_left,
                         uses ? uses : 1);
        for (int i = 0; i < 5; i++) {
            snprintf(name, sizeof name, "h%d%d", uses, i);
            join(a_host(name, name));
            let_in += core_host(w.c, name) != NULL;
            restart(CONF);
        }
        assert_int_equal(let_in, uses ? uses : 1);
        assert_int_equal(count((struct msg_query){.what = QUERY_TOKENS}), 0);
    }
}

/* What a host calls itself is stored with each job of its users, and shown to everybody. */
static void test_names_of_hosts_are_names(void **state)
{
    char *long_name = arena_alloc(w.a, 60001);
    const char *names[] = {"",        "a b",   "a,b", "x\nNodeName=n9",
                           "\x1b[2J", "$(id)", "a/b", long_name};
    struct token t = a_token("t1"), login = a_token("t2");
    memset(long_name, 'x', 60000);
    long_name[60000] = '\0';
    t.uses_left = 99;
    login.kind = HOST_LOGIN;
    login.uses_left = 99;
    am_root();
    make(t);
    make(login);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct host h = a_host("h1", "n9");
        h.name = names[i];
        join(h);
        refused("name");
        h.token = "t2";
        join(h);
        refused("name");
        h = a_host("h1", names[i]);
        join(h);
        refused("one node");
    }
    struct host fine = a_host("h1", "n_9.x-y");
    fine.name = "Gpu_9.example-site.org";
    join(fine);
    assert_non_null(core_host(w.c, "h1"));
}

static void test_a_wrong_secret_is_nothing(void **state)
{
    am_root();
    make(a_token("t1"));
    join_with(a_host("h1", "n9"), "5ecre8");
    refused("not known");
    join_with(a_host("h1", "n9"), NULL);
    refused("not known");
    say(1, MSG_EXPEL, &(struct msg_expel){.names = "t1"});
    join(a_host("h1", "n9"));
    refused("not known");
}

static void test_a_node_is_spoken_for_once(void **state)
{
    struct token t = a_token("t1");
    am_root();
    t.uses_left = 9;
    make(t);
    join(a_host("h1", "n1")); /* connected already */
    refused("is there already");
    join(a_host("h1", "n9"));
    join(a_host("h2", "n9"));
    refused("belongs to host h1");
    join(a_host("h2", "n[7-8]"));
    refused("one node");
    say(1, MSG_EXPEL, &(struct msg_expel){.names = "n9"});
    assert_int_equal(answer()->count, 1);
    join(a_host("h2", "n9"));
    assert_int_equal(sent(FX_REPLY, MSG_JOINED), 1);
}

/* Made for a host that `uid` joins; the joiner says it is `says`. */
static const struct host *joined_as(enum host_kind kind, uint32_t uid, uint32_t says)
{
    struct token t = a_token("t1");
    struct host h = a_host("h1", "n9");
    am_root();
    t.kind = (int32_t)kind;
    t.uid = uid;
    make(t);
    h.uid = says;
    h.trusted = true;
    h.kind = HOST_TRUSTED;
    h.role = ROLE_NODE;
    join(h);
    const struct host *is = core_host(w.c, "h1");
    return is;
}

static void test_what_a_joiner_says_of_itself_gives_it_nothing(void **state)
{
    const struct host *h = joined_as(HOST_UNTRUSTED, 1000, 1000);
    assert_int_equal(h->kind, HOST_UNTRUSTED);
    assert_false(h->trusted);
    assert_int_equal(h->uid, 1000);
}

static void test_a_token_that_says_nothing_is_the_least(void **state)
{
    assert_int_equal(joined_as(HOST_KIND_UNSET, 0, 0)->kind, HOST_UNTRUSTED);
}

static void test_a_login_token_makes_a_login_host(void **state)
{
    const struct host *h = joined_as(HOST_LOGIN, 0, 0);
    assert_int_equal(h->kind, HOST_LOGIN);
    assert_int_equal(h->role, ROLE_LOGIN);
    assert_null(h->nodes);
}

static void test_a_token_for_one_user_is_no_good_for_another(void **state)
{
    assert_null(joined_as(HOST_UNTRUSTED, 1000, 1001));
    refused("uid 1001");
    am_root();
    say(1, MSG_EXPEL, &(struct msg_expel){.names = "t1"});
    assert_null(joined_as(HOST_TRUSTED, 0, 1000));
}

static void test_a_token_of_a_kind_that_there_is_not(void **state)
{
    struct token t = a_token("t1");
    am_root();
    t.kind = HOST_KINDS;
    make(t);
    assert_int_equal(refusal(), REFUSE_UPDATE);
    t.kind = -1;
    make(t);
    assert_int_equal(refusal(), REFUSE_UPDATE);
}

/* From a host that is not trusted nobody is an operator, whatever the name. */
static void test_who_comes_from_elsewhere_has_no_powers(void **state)
{
    uint64_t id = (am_alice(), submit(a_job("one")));
    am_olga();
    w.peer.is_plain = true;
    assert_int_equal(cancel(ids_of(id)), REFUSE_ACCESS_DENIED);
    am_root();
    w.peer.is_admin = false;
    w.peer.is_plain = true;
    make(a_token("t1"));
    assert_int_equal(refusal(), REFUSE_ACCESS_DENIED);
    assert_non_null(strstr(answer()->detail, "host login"));
    am_olga();
    assert_int_equal(cancel(ids_of(id)), REFUSE_NONE);
}

/* The table, whole: what a change of it would give away. */
static void test_each_kind_of_host_and_each_kind_of_request(void **state)
{
    static const char may[HOST_KINDS][WHO_STREAM + 2] = {[HOST_KIND_UNSET] = ".......",
                                                         [HOST_UNTRUSTED] = "yy..y..",
                                                         [HOST_LOGIN] = "yy.....",
                                                         [HOST_TRUSTED] = "yyyyy.."};
    for (int kind = 0; kind < HOST_KINDS; kind++)
        for (int who = 0; who <= WHO_STREAM; who++)
            assert_int_equal(host_may_send((enum host_kind)kind, who), may[kind][who] == 'y');
    assert_false(host_may_send((enum host_kind)HOST_KINDS, WHO_ANYONE));
    assert_false(host_may_send((enum host_kind) - 1, WHO_ANYONE));
    for (int kind = HOST_KIND_UNSET; kind < HOST_TRUSTED; kind++) {
        assert_false(host_kinds[kind].groups);
        assert_int_not_equal(host_kinds[kind].speaks, SPEAKS_FOR_ALL);
    }
}

/* Hosts of a store without kinds stay what they were; what a login host's root could do, it can no
 * longer. */
static void test_hosts_that_joined_before_there_were_kinds(void **state)
{
    const struct host node = {.role = ROLE_NODE, .trusted = true},
                      mine = {.role = ROLE_NODE, .uid = 7},
                      login = {.role = ROLE_LOGIN, .trusted = true};
    assert_int_equal(host_kind_of(&node), HOST_TRUSTED);
    assert_int_equal(host_kind_of(&mine), HOST_UNTRUSTED);
    assert_int_equal(host_kind_of(&login), HOST_LOGIN);
}

static void test_a_login_host_has_no_node(void **state)
{
    struct token t = a_token("t1");
    am_root();
    t.kind = HOST_UNTRUSTED;
    t.role = ROLE_LOGIN;
    make(t);
    join(a_host("h1", "n9"));
    assert_int_equal(core_host(w.c, "h1")->role, ROLE_LOGIN);
    assert_null(core_host(w.c, "h1")->nodes);
    assert_int_equal(sent(FX_RECONFIGURE, MESSAGE_COUNT), 0);
}

#define CONF_WITHOUT_N1                                                                            \
    "ClusterName=test\nNodeName=n[2-4] CPUs=8 RealMemory=8000\n"                                   \
    "PartitionName=main Nodes=n[2-4] Default=YES MaxTime=2:00:00 State=UP\n"

static size_t nodes_shown(void)
{
    return count((struct msg_query){.what = QUERY_NODES});
}

static void test_a_node_withdrawn_goes_with_its_last_job_and_may_come_back(void **state)
{
    struct job_spec s = a_job("one");
    s.req.nodelist = "n1";
    uint64_t id = (am_alice(), submit(s));
    configure(CONF_WITHOUT_N1);
    bool removed = false;
    for (size_t i = 0; i < w.fx.n; i++)
        removed |= w.fx.v[i].kind == FX_STORE && w.fx.v[i].table == TABLE_NODE && w.fx.v[i].remove;
    assert_true(removed);
    assert_int_equal(nodes_shown(), 4);
    assert_true(node("n1")->drain);
    script_ends(id, 0);
    assert_int_equal(nodes_shown(), 3);
    configure(CONF);
    assert_int_equal(nodes_shown(), 4);
    assert_false(node("n1")->drain);
    assert_null(node("n1")->reason);
}

static void test_a_host_that_goes_takes_what_it_said_of_its_node_with_it(void **state)
{
    am_root();
    make(a_token("t1"));
    join(a_host("h1", "n9"));
    say(1, MSG_EXPEL, &(struct msg_expel){.names = "h1"});
    assert_int_equal(sent(FX_RECONFIGURE, MESSAGE_COUNT), 1);
    for (size_t i = 0; i < w.fx.n; i++)
        assert_true(w.fx.v[i].kind != FX_RECONFIGURE || text_is(w.fx.v[i].text, "n9"));
    gone(1); /* a node that left may come back, though it is remembered */
    configure(CONF_WITHOUT_N1);
    make(a_token("t1"));
    join(a_host("h2", "n1"));
    assert_int_equal(sent(FX_RECONFIGURE, MESSAGE_COUNT), 1);
}

static void hello_of(int32_t protocol, int32_t oldest)
{
    struct node node = {.name = "n1", .version = "9.9"};
    struct msg_node_hello m = {
        .node = {&node, 1}, .pid = 7, .protocol = protocol, .protocol_oldest = oldest};
    am_root();
    say(CONN_OF(1), MSG_NODE_HELLO, &m);
}

static void test_a_node_of_another_release_is_heard_if_it_can_be_understood(void **state)
{
    hello_of(PROTOCOL_NOW + 1, PROTOCOL_NOW); /* one release newer: it still speaks as we do */
    assert_int_equal(sent(FX_REPLY, MSG_NODE_WELCOME), 1);
    hello_of(0, 0); /* release 0 did not say */
    assert_int_equal(sent(FX_REPLY, MSG_NODE_WELCOME), 1);
    hello_of(PROTOCOL_NOW + 2, PROTOCOL_NOW + 1);
    assert_int_equal(sent(FX_REPLY, MSG_NODE_WELCOME), 0);
    assert_int_equal(refusal(), REFUSE_BAD_MESSAGE);
    assert_non_null(
        strstr(answer()->detail, "node n1 runs Remuda 9.9, which is too new for this controller"));
    hello_of(PROTOCOL_OLDEST - 1, PROTOCOL_OLDEST - 1);
    assert_int_equal(refusal(), REFUSE_BAD_MESSAGE);
    assert_non_null(strstr(answer()->detail, "too old"));
    assert_non_null(strstr(answer()->detail, "upgrade it"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_only_administrators_make_tokens_and_see_them, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_token_names_its_host, setup, teardown),
        cmocka_unit_test_setup_teardown(test_alloc_nodes_are_no_names_of_ones_own, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_token_lets_in_once_and_a_restart_does_not_forget,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_token_for_several_ends_with_its_uses_or_its_time,
                                        setup, teardown),
        STORY(test_a_token_lets_in_as_many_as_were_said),
        STORY(test_names_of_hosts_are_names),
        cmocka_unit_test_setup_teardown(test_a_wrong_secret_is_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_node_is_spoken_for_once, setup, teardown),
        STORY(test_what_a_joiner_says_of_itself_gives_it_nothing),
        STORY(test_a_token_that_says_nothing_is_the_least),
        STORY(test_who_is_shut_out_is_counted),
        STORY(test_a_token_whose_time_is_over_is_not_counted),
        STORY(test_hosts_of_one_name_are_shut_out_by_their_ids),
        STORY(test_a_login_token_makes_a_login_host),
        STORY(test_a_token_for_one_user_is_no_good_for_another),
        STORY(test_a_token_of_a_kind_that_there_is_not),
        STORY(test_who_comes_from_elsewhere_has_no_powers),
        STORY(test_each_kind_of_host_and_each_kind_of_request),
        STORY(test_hosts_that_joined_before_there_were_kinds),
        STORY(test_a_node_withdrawn_goes_with_its_last_job_and_may_come_back),
        STORY(test_a_host_that_goes_takes_what_it_said_of_its_node_with_it),
        cmocka_unit_test_setup_teardown(test_a_login_host_has_no_node, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_a_node_of_another_release_is_heard_if_it_can_be_understood, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
