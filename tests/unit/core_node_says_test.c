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

/* ---- devices that are broken ---- */

/* So many, of names that begin so. */
static const char *broken(const char *name, size_t n)
{
    struct str text = STR_INIT;
    for (size_t i = 0; i < n; i++)
        str_addf(&text, "%s:%zu:failed:1:XID 79;", name, i);
    const char *all = arena_strdup(w.a, str_text(&text));
    str_done(&text);
    return all;
}

static size_t broken_known(void)
{
    size_t n = 0;
    for (const char *at = node("n1")->devices_out; at && (at = strstr(at, "failed")); at++)
        n++;
    return n;
}

static void hello_says_out(const char *out)
{
    struct node self = {.name = "n1",
                        .real_cpus = 8,
                        .real_memory_mib = 8000,
                        .version = "test",
                        .devices_out = out};
    struct msg_node_hello m = {.node = {&self, 1}, .pid = 9, .devices_seq = ++seq};
    am_root();
    say(CONN_OF(1), MSG_NODE_HELLO, &m);
}

/* What is broken is remembered until an operator says otherwise. Each hello named others, and all
 * were remembered: a thousand hellos were a million, compared with each of the next. */
static void what_is_remembered_as_broken_has_an_end(void **unused)
{
    hello_says_out(broken("gpu", 2));
    for (int i = 0; i < 4; i++)
        hello_says_out(broken(arena_printf(w.a, "x%d", i), LIMIT_DEVICES_PER_NODE - 1));
    assert_int_equal(broken_known(), LIMIT_DEVICES_PER_NODE);
    assert_non_null(strstr(node("n1")->devices_out, "gpu:0:failed"));
    assert_non_null(strstr(node("n1")->devices_out, "gpu:1:failed"));
    char *kind = xmalloc(LIMIT_NAME_BYTES + 2); /* a name of a MiB was a device's, too */
    memset(kind, 'x', LIMIT_NAME_BYTES + 1);
    kind[LIMIT_NAME_BYTES + 1] = '\0';
    hello_says_out(arena_printf(w.a, "%s:0:failed:1:XID 79", kind));
    assert_null(strstr(node("n1")->devices_out, kind));
    free(kind);
}

/* Two reports with eighty thousand each, every one looked for among the others: 30 s. */
static void a_report_names_so_many_broken_devices(void **unused)
{
    hello_says_out(broken("gpu", 2));
    report(1, (struct msg_report){.kind = REPORT_RELEASED,
                                  .job_id = 1000000,
                                  .devices_seq = ++seq,
                                  .devices_out = broken("gpu", LIMIT_DEVICES_PER_NODE + 1)});
    assert_int_equal(broken_known(), 2);
    report(1, (struct msg_report){.kind = REPORT_RELEASED,
                                  .job_id = 1000000,
                                  .devices_seq = ++seq,
                                  .devices_out = broken("gpu", LIMIT_DEVICES_PER_NODE)});
    assert_int_equal(broken_known(), LIMIT_DEVICES_PER_NODE);
}

/* ---- two daemons ---- */

#define OTHER 90 /* connections that the helpers do not use */

static void daemon_says_hello(uint64_t conn, int64_t pid)
{
    struct node self = {.name = "n1",
                        .real_cpus = 8,
                        .real_memory_mib = 8000,
                        .version = "test",
                        .daemon_start_us = 1000 + pid};
    struct msg_node_hello m = {.node = {&self, 1}, .pid = pid, .devices_seq = ++seq};
    am_root();
    say(conn, MSG_NODE_HELLO, &m);
}

static size_t effects_of(enum effect_kind kind, uint64_t conn)
{
    size_t n = 0;
    for (size_t i = 0; i < w.fx.n; i++)
        n += w.fx.v[i].kind == kind && w.fx.v[i].conn == conn;
    return n;
}

static void closes(uint64_t conn)
{
    effects_reset(&w.fx);
    step((struct event){.kind = EV_CLOSED, .conn = conn});
    settle(0);
}

/* One that was started twice took the other's place, as often as it could connect, and with it what
 * ran there. */
static void who_is_there_stays(void **unused)
{
    gone(1);
    daemon_says_hello(OTHER, 17);
    am_alice();
    uint64_t id = submit(a_job("a"));
    pass(1);
    assert_int_equal(job(id)->state, JOB_RUNNING);
    for (int i = 0; i < 3; i++) {
        daemon_says_hello(OTHER + 1, 18);
        assert_int_equal(refusal(), REFUSE_BUSY);
        assert_non_null(strstr(answer()->detail, "pid 17, is node n1"));
        /* is the first one there? */
        assert_int_equal(effects_of(FX_SEND, OTHER), i == 0);
        assert_int_equal(effects_of(FX_STORE, 0), 0);
        assert_int_equal(effects_of(FX_CLOSE, OTHER) + effects_of(FX_CLOSE, OTHER + 1), 0);
        assert_non_null(strstr(node("n1")->complaint, "two daemons say that they are n1"));
    }
    assert_int_equal(job(id)->state, JOB_RUNNING);
    daemon_says_hello(OTHER + 2, 19);
    assert_int_equal(effects_of(FX_CLOSE, OTHER + 2), 1);
    closes(OTHER + 2);
    assert_non_null(node("n1")->complaint);
    closes(OTHER + 1);
    assert_null(node("n1")->complaint);
    assert_true(node("n1")->responding);
}

static void who_waits_comes_when_the_place_is_free(void **unused)
{
    gone(1);
    daemon_says_hello(OTHER, 17);
    daemon_says_hello(OTHER + 1, 18);
    closes(OTHER);
    assert_int_equal(effects_of(FX_CLOSE, OTHER + 1), 1);
    assert_null(node("n1")->complaint);
    closes(OTHER + 1);
    daemon_says_hello(OTHER + 2, 18);
    assert_int_equal(effects_of(FX_REPLY, OTHER + 2), 1);
    assert_true(node("n1")->responding);
    daemon_says_hello(OTHER + 3, 18); /* the same one: its old connection has not ended yet */
    assert_int_equal(effects_of(FX_CLOSE, OTHER + 2), 1);
    assert_null(node("n1")->complaint);
    daemon_says_hello(OTHER + 4, 20); /* one that is heard of no more */
    assert_int_equal(refusal(), REFUSE_BUSY);
    pass_awake(61 * USEC_PER_SEC);
    assert_false(node("n1")->responding);
    daemon_says_hello(OTHER + 4, 20);
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_true(node("n1")->responding);
}

/* By one connection for several nodes, too, as only who lies would. */
static void a_connection_waits_for_one_place(void **unused)
{
    struct node self = {.name = "n2", .real_cpus = 8, .real_memory_mib = 8000, .version = "test"};
    struct msg_node_hello m = {.node = {&self, 1}, .pid = 22};
    daemon_says_hello(OTHER + 2, 18);
    assert_non_null(node("n1")->complaint);
    say(OTHER + 2, MSG_NODE_HELLO, &m);
    assert_null(node("n1")->complaint);
    assert_non_null(node("n2")->complaint);
    closes(OTHER + 2);
    assert_null(node("n2")->complaint);
}

/* ---- the log ---- */

static size_t lines, longest;
static const char *last_line;

static void lines_count(void)
{
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_LOG) {
            size_t n = strlen(w.fx.v[i].text);
            longest = n > longest ? n : longest;
            last_line = arena_strdup(w.a, w.fx.v[i].text);
            lines++;
        }
}

/* Its words made lines of a MiB each, a thousand in a second, on the disk of the store. */
static void what_a_node_says_does_not_fill_the_log(void **unused)
{
    char *megabyte = xmalloc(LIMIT_NODE_TEXT_BYTES);
    memset(megabyte, 'x', LIMIT_NODE_TEXT_BYTES - 1);
    megabyte[LIMIT_NODE_TEXT_BYTES - 1] = '\0';
    lines = longest = 0;
    for (int i = 0; i < 100; i++) { /* another life, fewer CPUs, a broken device, a prolog */
        struct node self = {.name = "n1",
                            .real_cpus = 1 + i % 7,
                            .real_memory_mib = 8000,
                            .version = megabyte,
                            .life = arena_printf(w.a, "boot%d dir", i),
                            .devices = "gpu:x:0:::;"};
        struct msg_node_hello m = {.node = {&self, 1}, .pid = 9, .devices_seq = ++seq};
        am_root();
        say(CONN_OF(1), MSG_NODE_HELLO, &m);
        lines_count();
        report(1, (struct msg_report){.kind = REPORT_FAILED,
                                      .prolog = true,
                                      .job_id = 1000000,
                                      .detail = megabyte,
                                      .devices_seq = ++seq,
                                      .devices_out = arena_printf(w.a, "gpu:%d:failed:1:%s;", i,
                                                                  i % 10 ? "x" : megabyte)});
        lines_count();
    }
    assert_in_range(lines, 10, 70);
    assert_in_range(longest, 1000, 2100);
    assert_in_range(strlen(node("n1")->version), 4000, 4100);
    pass(60 * SEC);
    hello_living(1, "another life", NULL, 0);
    lines = 0;
    lines_count();
    assert_in_range(lines, 2, 3);
    hello_living(2, "boot dir", NULL, 0);
    hello_living(2, "boot dir2", NULL, 0); /* others are heard as ever */
    lines = 0;
    lines_count();
    assert_int_equal(lines, 1);
    assert_non_null(strstr(last_line, "node n2 is not what it was"));
    free(megabyte);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(a_node_names_so_many_devices_and_types),
        STORY(who_is_there_stays),
        STORY(who_waits_comes_when_the_place_is_free),
        STORY(a_connection_waits_for_one_place),
        STORY(what_a_node_says_does_not_fill_the_log),
        STORY(what_is_remembered_as_broken_has_an_end),
        STORY(a_report_names_so_many_broken_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
