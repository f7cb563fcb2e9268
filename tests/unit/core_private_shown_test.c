/* What PrivateData hides shows in nothing else: how nodes and partitions are in what one may use
 * oneself and in why one's own job waits, jobs and reservations in how nodes are. Who asks: an
 * ordinary user and an operator; with the word and without. */
#include "core_help.h"

#include "wire/frame.h"
#include "wire/json.h"

#include <stdio.h>

#define BASE                                                                                       \
    "ClusterName=test\nOperators=olga\nGresTypes=gpu\n"                                            \
    "NodeName=n[1-2] CPUs=8 RealMemory=8000 Gres=gpu:2\n"                                          \
    "PartitionName=main Nodes=n[1-2] Default=YES State=UP\n"                                       \
    "PartitionName=shut Nodes=n1 State=INACTIVE QOS=nobodys\n"
#define OUT                                                                                        \
    "gpu:0:unproven:1790000000000000:process 4711 (secret) of user 7 still holds it;"              \
    "gpu:1:failed:1790000000000000:XID 79;"                                                        \
    "process:4712:unproven:1790000000000000:job 9 step 0: process 4712 (secret) cannot be killed"
#define HEALTH "gpu:0:in use:1790000000000000:job 9;gpu:1:broken:1790000000000000:XID 79"

static struct node self_of(const char *name)
{
    return (struct node){.name = name,
                         .real_cpus = 8,
                         .real_memory_mib = 8000,
                         .real_gres = "gpu:2",
                         .version = "test"};
}

/* n1's devices are out, n2 is drained; bob is in a reservation of n1, which is on. */
static uint64_t begin(const char *word)
{
    char conf[1000];
    struct node self[] = {self_of("n1"), self_of("n2")};
    snprintf(conf, sizeof conf, "%sPrivateData=%s\n", BASE, word);
    world_open(conf, 0);
    am_root();
    for (int i = 0; i < 2; i++)
        say(CONN_OF(i + 1), MSG_NODE_HELLO,
            &(struct msg_node_hello){.node = {&self[i], 1}, .pid = 9, .devices_seq = 5});
    say(CONN_OF(1), MSG_HEARTBEAT,
        &(struct msg_heartbeat){.devices_seq = 6, .devices_out = OUT, .device_health = HEALTH});
    say(1, MSG_UPDATE_NODE,
        &(struct msg_update_node){.names = "n2", .state = "DRAIN", .reason = "smells of smoke"});
    struct reservation r = {
        .users = "bob", .nodes = "n1", .start_us = w.now, .duration_us = 600 * SEC};
    say(1, MSG_UPDATE_RESERVATION,
        &(struct msg_update_reservation){.name = "his",
                                         .create = true,
                                         .fields = "users,nodes,start_us,duration_us",
                                         .values = {&r, 1}});
    assert_int_equal(refusal(), REFUSE_NONE);
    am_alice();
    struct job_spec s = a_job("waits");
    s.req.gres = "gpu:2";
    uint64_t id = submit(s);
    assert_true(id);
    pass(SEC);
    return id;
}

enum way { STATUS, NODES, OWN_JOB, WHY, WHY_ALL, MAY, WAYS };

static void rows_told(enum query_what what, struct str *out)
{
    struct rows r = ask((struct msg_query){.what = (int32_t)what});
    for (size_t i = 0; i < r.row.n; i++) {
        struct json_out j;
        json_begin(&j, out, false);
        json_record(&j, row_fields[what], r.row.v[i]);
    }
    vec_done(&r.row);
}

static void answer_told(enum message_kind kind, const void *body, struct str *out)
{
    say(50, kind, body);
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_REPLY)
            wire_encode(&w.fx.v[i].msg, out);
}

/* All that is told in that way, as it travels. */
static const char *told(enum way way, uint64_t id)
{
    struct str all = STR_INIT;
    switch (way) {
    case STATUS: rows_told(QUERY_STATUS, &all); break;
    case NODES: rows_told(QUERY_NODES, &all); break;
    case OWN_JOB: rows_told(QUERY_JOBS, &all); break;
    case WHY: answer_told(MSG_WHY, &(struct msg_why){.ids = ids_of(id)}, &all); break;
    case WHY_ALL: answer_told(MSG_WHY, &(struct msg_why){0}, &all); break;
    case MAY: answer_told(MSG_MAY, &(struct msg_may){0}, &all); break;
    case WAYS: break;
    }
    char *text = arena_dup(w.a, str_text(&all), all.len + 1);
    for (size_t i = 0; i < all.len; i++) /* a frame begins with numbers */
        text[i] = text[i] ? text[i] : ' ';
    str_done(&all);
    return text;
}

static const struct {
    enum way way;
    const char *what, *word; /* is told, but with this word to operators alone */
} secrets[] = {
    {STATUS, "nobodys", "partitions"},
    {STATUS, "secret", "jobs"},
    {STATUS, "secret", "nodes"},
    {NODES, "secret", "jobs"},
    {NODES, "job 9", "jobs"},
    {NODES, "\"his\"", "reservations"},
    {OWN_JOB, "smoke", "nodes"},
    {WHY, "smoke", "nodes"},
    {WHY, "n2", "nodes"},
    {WHY_ALL, "smoke", "nodes"},
    {MAY, "\"nodes\"", "nodes"},
    {MAY, "gpus", "nodes"},
    {MAY, "shut", "partitions"},
};

static void what_is_hidden_shows_in_nothing_else(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < 2 * ARRAY_LEN(secrets); i++) {
        bool hides = i % 2;
        uint64_t id = begin(hides ? secrets[i / 2].word : "none");
        for (int operates = 0; operates < 2; operates++) {
            operates ? am_olga() : am_alice();
            const char *text = told(secrets[i / 2].way, id);
            bool is_told = strstr(text, secrets[i / 2].what) != NULL;
            if (is_told != (operates || !hides))
                fail_msg("PrivateData=%s: %s %s \"%s\", way %d: %s",
                         hides ? secrets[i / 2].word : "none", operates ? "olga" : "alice",
                         is_told ? "is told" : "is not told", secrets[i / 2].what,
                         (int)secrets[i / 2].way, text);
        }
        teardown(NULL);
    }
}

/* What a broken device says is of the device: it stays. */
static void what_is_broken_is_told(void **unused)
{
    (void)unused;
    begin("jobs");
    const char *nodes = told(NODES, 0);
    assert_non_null(strstr(nodes, "gpu:1:failed:1790000000000000:XID 79"));
    assert_non_null(strstr(nodes, "gpu:1:broken:1790000000000000:XID 79"));
    assert_non_null(strstr(nodes, "gpu:0:unproven:1790000000000000:something still has it"));
    assert_non_null(strstr(nodes, "gpu:0:in use:1790000000000000:"));
    teardown(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_hidden_shows_in_nothing_else),
        cmocka_unit_test(what_is_broken_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
