/* PMI as a node speaks it: commands taken apart, both versions; where tasks are; what tasks write
 * and read, how they meet, what is refused. */
#include "unit.h"

#include "agent/pmi.h"
#include "agent/pmi_map.h"
#include "agent/pmi_words.h"
#include "base/alloc.h"
#include "model/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 2

static const int32_t ranks[N] = {1, 3};
static struct str said[N], brought;
static int meetings, aborts, abort_code, abort_rank;
static char abort_why[64];

static void say(void *ctx, size_t place, const char *bytes, size_t len)
{
    (void)ctx;
    str_addn(&said[place], bytes, len);
}

static void meet(void *ctx, struct span data)
{
    (void)ctx;
    meetings++;
    str_clear(&brought);
    str_addn(&brought, data.data, data.len);
}

static void abort_take(void *ctx, int32_t rank, int32_t code, struct span why)
{
    (void)ctx;
    aborts++;
    abort_rank = rank;
    abort_code = code;
    snprintf(abort_why, sizeof abort_why, "%.*s", (int)why.len, why.len ? why.data : "");
}

static struct pmi *server(const char *map)
{
    static const struct pmi_ops ops = {say, meet, abort_take};
    const struct pmi_world w = {.name = "42.0", .map = map, .size = 4, .rank = ranks, .n = N};
    str_clear(&said[0]);
    str_clear(&said[1]);
    meetings = aborts = 0;
    return pmi_new(&w, &ops, NULL);
}

static bool tell(struct pmi *p, size_t place, const char *text)
{
    str_clear(&said[place]);
    return pmi_take(p, place, text, strlen(text));
}

#define EXPECT(p, place, text, answer)                                                             \
    do {                                                                                           \
        assert_true(tell(p, place, text));                                                         \
        assert_string_equal(str_text(&said[place]), answer);                                       \
    } while (0)

/* With its length before it. */
static const char *counted(const char *text)
{
    static char all[256];
    snprintf(all, sizeof all, "%-6zu%s", strlen(text), text);
    return all;
}

static void expect_counted(struct pmi *p, size_t place, const char *text, const char *answer)
{
    assert_true(tell(p, place, counted(text)));
    assert_string_equal(str_text(&said[place]), answer[0] ? counted(answer) : "");
}

static void done(struct pmi *p)
{
    pmi_free(p);
    str_done(&said[0]);
    str_done(&said[1]);
    str_done(&brought);
}

static void test_commands_are_taken_apart(void **state)
{
    (void)state;
    struct pmi_command c;
    char line[] = "cmd=put kvsname=42.0 key=a value=b=c\ncmd=";
    assert_int_equal(pmi_command_take(line, strlen(line), 1, &c), 37);
    assert_true(span_is(c.name, "put"));
    assert_true(span_is(pmi_value(&c, "value"), "b=c"));
    assert_null(pmi_value(&c, "other").data);
    assert_int_equal(pmi_command_take(line + 37, 4, 1, &c), 0);
    char spawn[] = "mcmd=spawn\nnprocs=2\nexecname=a b\nendcmd\nx";
    assert_int_equal(pmi_command_take(spawn, strlen(spawn), 1, &c), strlen(spawn) - 1);
    assert_true(span_is(c.name, "spawn"));
    char two[] = "21    cmd=kvs-put;key=a;;b;x";
    assert_int_equal(pmi_command_take(two, strlen(two), 2, &c), 27);
    assert_true(span_is(pmi_value(&c, "key"), "a;b"));
    assert_int_equal(pmi_command_take(two, 26, 2, &c), 0);
}

static void test_what_is_none_is_refused(void **state)
{
    (void)state;
    struct pmi_command c;
    char *const none[] = {(char[]){"hello\n"}, (char[]){"key=a\n"}};
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        assert_int_equal(pmi_command_take(none[i], strlen(none[i]), 1, &c), -1);
    char *const none2[] = {(char[]){"abc   cmd=x;"}, (char[]){"0     "}, (char[]){"999999cmd="},
                           (char[]){"4     cmd="}};
    for (size_t i = 0; i < ARRAY_LEN(none2); i++)
        assert_int_equal(pmi_command_take(none2[i], strlen(none2[i]), 2, &c), -1);
    char nul[] = "cmd=get key=a\0b\n";
    assert_int_equal(pmi_command_take(nul, sizeof nul - 1, 1, &c), -1);
    char *longest = xcalloc(1, PMI_COMMAND_BYTES);
    memset(longest, 'a', PMI_COMMAND_BYTES);
    assert_int_equal(pmi_command_take(longest, PMI_COMMAND_BYTES - 1, 1, &c), 0);
    assert_int_equal(pmi_command_take(longest, PMI_COMMAND_BYTES, 1, &c), -1);
    memcpy(longest, "mcmd=spawn\n", 11);
    for (size_t i = 11; i + 4 <= PMI_COMMAND_BYTES; i += 4)
        memcpy(longest + i, "a=b\n", 4);
    assert_int_equal(pmi_command_take(longest, PMI_COMMAND_BYTES - 1, 1, &c), 0);
    assert_int_equal(pmi_command_take(longest, PMI_COMMAND_BYTES, 1, &c), -1);
    free(longest);
}

static void vector_is(const char *map, int32_t size, const char *vector)
{
    int32_t *node_of, nodes;
    struct str out = STR_INIT;
    assert_true(pmi_map_read(map, size, &node_of, &nodes));
    pmi_map_vector(node_of, size, &out);
    assert_string_equal(str_text(&out), vector);
    str_done(&out);
    free(node_of);
}

static void test_where_tasks_are(void **state)
{
    (void)state;
    int32_t *node_of, nodes;
    vector_is("a 0-3\n", 4, "(vector,(0,1,4))");
    vector_is("a 0-1\nb 2-3\n", 4, "(vector,(0,2,2))");
    vector_is("a 0-1\nb 2-3\nc 4", 5, "(vector,(0,2,2),(2,1,1))");
    vector_is("a 0,2\nb 1,3\n", 4, "(vector,(0,2,1),(0,2,1))");
    const char *const bad[] = {"",        "a",         "a 0-2\n", "a 0-3\nb 3\n",
                               "a 0-4\n", "a 0-2,x\n", " 0-3\n"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(pmi_map_read(bad[i], 4, &node_of, &nodes));
    assert_false(pmi_map_read("a 0\n", 0, &node_of, &nodes));
    assert_false(pmi_map_read("a 0\n", PMI_RANKS_MAX + 1, &node_of, &nodes));
}

static void test_version_1(void **state)
{
    (void)state;
    struct pmi *p = server("a 0,2\nb 1,3\n");
    EXPECT(p, 0, "cmd=init pmi_version=1 pmi_subversion=1\n",
           "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n");
    EXPECT(p, 0, "cmd=get_maxes\n",
           "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024\n");
    EXPECT(p, 0, "cmd=get_appnum\n", "cmd=appnum rc=0 appnum=0\n");
    EXPECT(p, 0, "cmd=get_my_kvsname\n", "cmd=my_kvsname rc=0 kvsname=42.0\n");
    EXPECT(p, 0, "cmd=get_universe_size\n", "cmd=universe_size rc=0 size=4\n");
    EXPECT(p, 0, "cmd=get kvsname=42.0 key=PMI_process_mapping\n",
           "cmd=get_result rc=0 msg=success value=(vector,(0,2,1),(0,2,1))\n");
    EXPECT(p, 0, "cmd=put kvsname=42.0 key=k value=v\n", "cmd=put_result rc=0 msg=success\n");
    EXPECT(p, 0, "cmd=put kvsname=other key=k value=v\n",
           "cmd=put_result rc=-1 msg=no_such_space\n");
    EXPECT(p, 0, "cmd=get kvsname=42.0 key=far\n",
           "cmd=get_result rc=-1 msg=not_found value=unknown\n");
    EXPECT(p, 0, "cmd=barrier_in\n", "");
    assert_int_equal(meetings, 0); /* the other of this node is not there yet */
    EXPECT(p, 1, "cmd=barrier_in\n", "");
    assert_int_equal(meetings, 1);
    assert_memory_equal(brought.data, "k\0v", 4);
    pmi_learn(p, (struct span){"far\0away", 9});
    pmi_met(p);
    assert_string_equal(str_text(&said[0]), "cmd=barrier_out rc=0\n");
    assert_string_equal(str_text(&said[1]), "cmd=barrier_out rc=0\n");
    EXPECT(p, 1, "cmd=get kvsname=42.0 key=far\n", "cmd=get_result rc=0 msg=success value=away\n");
    EXPECT(p, 0, "mcmd=spawn\nnprocs=2\nendcmd\n", "cmd=spawn_result rc=-1 msg=not_served\n");
    EXPECT(p, 0, "cmd=lookup_name service=x\n", "cmd=lookup_result rc=-1 msg=not_served\n");
    EXPECT(p, 0, "cmd=finalize\n", "cmd=finalize_ack rc=0\n");
    assert_true(tell(p, 1, "cmd=abort exitcode=42\n"));
    assert_int_equal(aborts, 1);
    assert_int_equal(abort_rank, 3);
    assert_int_equal(abort_code, 42);
    done(p);
}

static struct pmi *second(void)
{
    struct pmi *p = server("a 0,2\nb 1,3\n");
    for (size_t i = 0; i < N; i++)
        EXPECT(p, i, "cmd=init pmi_version=2 pmi_subversion=0\n",
               "cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n");
    return p;
}

static void test_version_2(void **state)
{
    (void)state;
    struct pmi *p = second();
    expect_counted(p, 1, "cmd=fullinit;pmirank=3;threaded=FALSE;",
                   "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=3;size=4;"
                   "appnum=0;debugged=FALSE;pmiverbose=0;");
    expect_counted(p, 0, "cmd=job-getid;thrid=7;",
                   "cmd=job-getid-response;thrid=7;rc=0;jobid=42.0;");
    expect_counted(p, 0, "cmd=info-getjobattr;key=PMI_process_mapping;",
                   "cmd=info-getjobattr-response;rc=0;flag=TRUE;value=(vector,(0,2,1),(0,2,1));");
    expect_counted(p, 0, "cmd=info-getjobattr;key=universeSize;",
                   "cmd=info-getjobattr-response;rc=0;flag=TRUE;value=4;");
    expect_counted(p, 0, "cmd=info-getjobattr;key=hasNameServ;",
                   "cmd=info-getjobattr-response;rc=0;flag=FALSE;");
    expect_counted(p, 0, "cmd=kvs-put;key=k;value=a;;b;", "cmd=kvs-put-response;rc=0;");
    expect_counted(p, 1, "cmd=kvs-fence;thrid=9;", "");
    expect_counted(p, 0, "cmd=kvs-fence;", "");
    assert_int_equal(meetings, 1);
    str_clear(&said[0]);
    str_clear(&said[1]);
    pmi_met(p);
    assert_string_equal(str_text(&said[0]), counted("cmd=kvs-fence-response;rc=0;"));
    assert_string_equal(str_text(&said[1]), counted("cmd=kvs-fence-response;thrid=9;rc=0;"));
    expect_counted(p, 1, "cmd=kvs-get;key=k;", "cmd=kvs-get-response;rc=0;flag=TRUE;value=a;;b;");
    expect_counted(p, 1, "cmd=spawn;ncmds=1;",
                   "cmd=spawn-response;rc=1;errmsg=not served: this program's tasks are those of "
                   "its step;");
    assert_true(tell(p, 0, counted("cmd=abort;isworld=TRUE;msg=enough;")));
    assert_int_equal(abort_code, 1);
    assert_string_equal(abort_why, "enough");
    done(p);
}

static void test_an_attribute_of_the_node_is_waited_for(void **state)
{
    (void)state;
    struct pmi *p = second();
    expect_counted(p, 0, "cmd=info-getnodeattr;key=shm;wait=FALSE;",
                   "cmd=info-getnodeattr-response;rc=0;flag=FALSE;");
    expect_counted(p, 0, "cmd=info-getnodeattr;key=shm;wait=TRUE;thrid=2;", "");
    expect_counted(p, 0, "cmd=info-getnodeattr;key=b;wait=TRUE;",
                   "cmd=info-getnodeattr-response;rc=1;errmsg=a task waits for one attribute at a "
                   "time;");
    str_clear(&said[0]);
    expect_counted(p, 1, "cmd=info-putnodeattr;key=shm;value=/x;",
                   "cmd=info-putnodeattr-response;rc=0;");
    assert_string_equal(str_text(&said[0]),
                        counted("cmd=info-getnodeattr-response;thrid=2;rc=0;flag=TRUE;value=/x;"));
    done(p);
}

static void test_nobody_waits_here_for_who_ended(void **state)
{
    (void)state;
    struct pmi *p = server("a 0,2\nb 1,3\n");
    assert_true(tell(p, 0, "cmd=barrier_in\n"));
    assert_int_equal(meetings, 0);
    pmi_ended(p, 1);
    assert_int_equal(meetings, 1); /* the others find out who is missing */
    done(p);
    p = server("a 0,2\nb 1,3\n");
    pmi_ended(p, 0);
    pmi_ended(p, 1);
    assert_int_equal(meetings, 0);
    done(p);
}

static void test_room_is_bounded_and_nonsense_ends_it(void **state)
{
    (void)state;
    struct pmi *p = server("nowhere\n");
    struct str line = STR_INIT;
    EXPECT(p, 0, "cmd=get kvsname=42.0 key=PMI_process_mapping\n",
           "cmd=get_result rc=-1 msg=not_found value=unknown\n");
    str_add(&line, "cmd=put kvsname=42.0 key=k value=");
    for (int i = 0; i < 5000; i++)
        str_addc(&line, 'v');
    str_addc(&line, '\n');
    EXPECT(p, 0, str_text(&line), "cmd=put_result rc=-1 msg=no_room\n");
    str_done(&line);
    assert_false(tell(p, 0, "GET / HTTP/1.1\n"));
    assert_false(tell(p, 0, "cmd=get_maxes\n"));
    EXPECT(p, 1, "cmd=get_appnum\n", "cmd=appnum rc=0 appnum=0\n");
    pmi_learn(p, (struct span){"key without value", 17});
    pmi_met(p); /* nobody waits */
    done(p);
}

/* A task that writes the same again and again, and never meets anybody, has no more to bring. */
static void test_what_is_written_again_is_brought_once(void **state)
{
    (void)state;
    struct pmi *p = server("a 0,2\nb 1,3\n");
    static const char put[] = "cmd=put_result rc=0 msg=success\n";
    EXPECT(p, 0, "cmd=put kvsname=42.0 key=k value=a\n", put);
    EXPECT(p, 0, "cmd=put kvsname=42.0 key=other value=\n", put);
    EXPECT(p, 0, "cmd=put kvsname=42.0 key=k value=b\n", put);
    assert_true(tell(p, 0, "cmd=barrier_in\n"));
    assert_true(tell(p, 1, "cmd=barrier_in\n"));
    assert_int_equal(brought.len, 11);
    assert_memory_equal(brought.data, "k\0b\0other\0", 11);
    pmi_met(p);
    assert_true(tell(p, 0, "cmd=barrier_in\n"));
    assert_true(tell(p, 1, "cmd=barrier_in\n"));
    assert_int_equal(brought.len, 0);
    done(p);
}

static void all_meet(struct pmi *p)
{
    assert_true(tell(p, 0, "cmd=barrier_in\n"));
    assert_true(tell(p, 1, "cmd=barrier_in\n"));
    pmi_met(p);
}

/* Each costs memory beside its bytes. */
static void test_very_many_short_keys_have_no_room(void **state)
{
    (void)state;
    struct pmi *p = server("a 0,2\nb 1,3\n");
    char line[64];
    size_t n = 0, most = PMI_SPACE_BYTES / 32;
    do {
        snprintf(line, sizeof line, "cmd=put kvsname=42.0 key=%zx value=\n", n++);
        assert_true(tell(p, 0, line));
    } while (strstr(str_text(&said[0]), "rc=0") && n < most);
    assert_string_equal(str_text(&said[0]), "cmd=put_result rc=-1 msg=no_room\n");
    done(p);
}

/* Of all keys and values of a program. One that is written over again and again takes no more. */
static void test_a_program_has_so_much_room(void **state)
{
    (void)state;
    struct pmi *p = server("a 0,2\nb 1,3\n");
    char value[4001], line[4096];
    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    size_t most = PMI_SPACE_BYTES / sizeof value;
    for (size_t i = 0; i < 2 * most; i++) {
        snprintf(line, sizeof line, "cmd=put kvsname=42.0 key=k value=%s\n", value);
        EXPECT(p, 0, line, "cmd=put_result rc=0 msg=success\n");
    }
    size_t n = 0;
    do {
        if (n % 1000 == 999) {
            all_meet(p);
            assert_in_range(brought.len, 1, 1001 * sizeof line);
        }
        snprintf(line, sizeof line, "cmd=put kvsname=42.0 key=k%zu value=%s\n", n++, value);
        assert_true(tell(p, 0, line));
    } while (strstr(str_text(&said[0]), "rc=0") && n < 2 * most);
    assert_string_equal(str_text(&said[0]), "cmd=put_result rc=-1 msg=no_room\n");
    assert_in_range(n, most - 100, most);
    done(p);
}

/* What goes out in one frame: more than fits one ended the step as if its node had failed. */
static void test_what_is_brought_to_a_meeting_fits_a_frame(void **state)
{
    (void)state;
    struct pmi *p = server("a 0,2\nb 1,3\n");
    char value[4001], line[4096];
    unsigned seed = 7;
    for (int round = 0; round < 4; round++) {
        size_t n = 0, most = 3 * PMI_MEET_BYTES / sizeof value;
        do {
            seed = seed * 1103515245u + 12345u;
            size_t len = 1000 + (seed >> 16) % 3000, again = (seed >> 8) % 3;
            memset(value, 'v', len);
            value[len] = '\0';
            snprintf(line, sizeof line, "cmd=put kvsname=42.0 key=k%zu value=%s\n",
                     again || !n ? n : n - 1, value);
            n++;
            assert_true(tell(p, 0, line));
        } while (strstr(str_text(&said[0]), "rc=0") && n < most);
        assert_string_equal(str_text(&said[0]), "cmd=put_result rc=-1 msg=no_room\n");
        all_meet(p);
        assert_in_range(brought.len, PMI_MEET_BYTES - sizeof line, LIMIT_FRAME_DATA_BYTES);
    }
    done(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands_are_taken_apart),
        cmocka_unit_test(test_what_is_none_is_refused),
        cmocka_unit_test(test_where_tasks_are),
        cmocka_unit_test(test_version_1),
        cmocka_unit_test(test_version_2),
        cmocka_unit_test(test_an_attribute_of_the_node_is_waited_for),
        cmocka_unit_test(test_nobody_waits_here_for_who_ended),
        cmocka_unit_test(test_room_is_bounded_and_nonsense_ends_it),
        cmocka_unit_test(test_what_is_written_again_is_brought_once),
        cmocka_unit_test(test_very_many_short_keys_have_no_room),
        cmocka_unit_test(test_a_program_has_so_much_room),
        cmocka_unit_test(test_what_is_brought_to_a_meeting_fits_a_frame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
