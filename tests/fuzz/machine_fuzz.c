/* Requests as a hostile command writes them, one JSON text a line, to the controller's machine:
 * read by the wire, carried out, every invariant checked after each. The first character of a line
 * says who asks: a user, another, an operator, root, a node. What texts of users mean (constraints,
 * licences, distributions, dependencies, references of jobs) is read in there. */
#include "fuzz.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "core/core.h"
#include "wire/frame.h"

#include <stdlib.h>
#include <string.h>

#define NOW INT64_C(1790000000000000)
#define CONF                                                                                       \
    "ClusterName=test\nOperators=olga\nLicenses=lic:4\nGresTypes=gpu\n"                            \
    "NodeName=n[1-4] CPUs=8 RealMemory=8000 Feature=a,b Gres=gpu:v100:2\n"                         \
    "PartitionName=main Nodes=n[1-4] Default=YES MaxTime=2:00:00 State=UP\n"

const char *const fuzz_words[] = {
    "u{\"type\":\"submit\",\"call\":1,\"specs\":[{\"batch\":true,\"work_dir\":\"/\",",
    "u{\"type\":\"submit\",\"specs\":[{\"ntasks\":1}],\"attach\":true}\n",
    "\"}]}\n",
    "}]}\n",
    "}\n",
    ",\"constraint\":\"",
    ",\"licenses\":\"lic:2",
    ",\"gres\":\"gpu:v100:1",
    ",\"distribution\":\"",
    ",\"array\":\"1-3%2",
    ",\"dependency\":\"afterok:1",
    ",\"nodelist\":\"n[1-2]",
    ",\"exclude\":\"n3",
    ",\"ntasks\":2",
    "[a*2&b*1]",
    "a|b&(a)",
    "plane=2",
    "u{\"type\":\"cancel\",\"ids\":\"",
    "u{\"type\":\"update_job\",\"ids\":\"1\",\"fields\":\"constraint,ntasks\",\"values\":[{"
    "\"ntasks\":3",
    "o{\"type\":\"update_node\",\"names\":\"n[1-2]\",\"state\":\"DRAIN\",\"reason\":\"x\"}\n",
    "r{\"type\":\"update_reservation\",\"create\":true,\"fields\":\"users,nodes,start_us,duration_"
    "us\","
    "\"values\":[{\"users\":\"",
    "n{\"type\":\"report\",\"kind\":\"exited\",\"job_id\":1,\"attempt\":1,\"step_id\":-1,\"clean\":"
    "true}\n",
    "u{\"type\":\"create_step\",\"job_id\":1,\"spec\":[{\"ntasks\":1",
    "}],\"task_nodes\":\"n1,n1\"}\n",
    "b{\"type\":\"job_control\",\"action\":\"requeue\",\"ids\":\"1_[1-2]\"}\n",
    "u{\"type\":\"submit\",\"specs\":[{\"batch\":true,\"work_dir\":\"/"
    "\",\"name\":\"a\",\"array\":\"0-7:2%2\"}],\"script\":{\"bytes\":0}}\n",
    "u{\"type\":\"submit\",\"specs\":[{\"batch\":true,\"work_dir\":\"/"
    "\",\"hold\":true,\"dependency\":\"singleton,afterany:1:2\"}]}\n",
    "u{\"type\":\"submit\",\"specs\":[{\"batch\":true,\"work_dir\":\"/"
    "\"},{\"batch\":true,\"work_dir\":\"/\"}]}\n",
    "u{\"type\":\"submit\",\"specs\":[{\"batch\":true,\"work_dir\":\"/"
    "\",\"ntasks\":2,\"gpus\":\"v100:2\",\"time_limit_us\":60000000}]}\n",
    "b{\"type\":\"job_control\",\"action\":\"hold\",\"ids\":\"1\"}\n",
    "o{\"type\":\"job_control\",\"action\":\"suspend\",\"ids\":\"1\"}\n",
    "o{\"type\":\"update_job\",\"ids\":\"1\",\"fields\":\"priority\",\"values\":[{\"priority\":9}]}"
    "\n",
    "u{\"type\":\"amend_jobs\",\"ids\":\"1\",\"fields\":\"comment\",\"values\":[{\"comment\":\"x\"}"
    "]}\n",
    "u{\"type\":\"extend\",\"id\":\"1\",\"add_us\":60000000}\n",
    "u{\"type\":\"cancel\",\"uids\":\"1000\",\"states\":\"PENDING\"}\n",
    "u{\"type\":\"why\",\"ids\":\"1\"}\n",
    "u{\"type\":\"may\"}\n",
    "u{\"type\":\"query\",\"what\":\"jobs\",\"ids\":\"1_[0-7],2.0\",\"states\":\"R,PD\"}\n",
    "u{\"type\":\"query\",\"what\":\"nodes\",\"names\":\"n[1-2]\"}\n",
    "o{\"type\":\"query\",\"what\":\"limit_use\"}\n",
    "u{\"type\":\"query\",\"what\":\"shares\",\"accounts\":\"a\"}\n",
    "o{\"type\":\"change_accounts\",\"changes\":[{\"verb\":\"add\",\"noun\":\"account\","
    "\"account\":[{\"name\":\"a\"}]}]}\n",
    "o{\"type\":\"change_accounts\",\"changes\":[{\"verb\":\"add\",\"noun\":\"user\",\"user\":[{"
    "\"name\":\"alice\"}],\"assoc\":[{\"account\":\"a\",\"user\":\"alice\"}]}]}\n",
    "o{\"type\":\"change_accounts\",\"changes\":[{\"verb\":\"modify\",\"noun\":\"assoc\",\"assoc\":"
    "[{\"account\":\"a\"}],\"limits\":[{\"what\":\"GRP_TRES\",\"tres\":\"cpu\",\"value\":4}]}]}\n",
    "o{\"type\":\"change_accounts\",\"changes\":[{\"verb\":\"remove\",\"noun\":\"account\","
    "\"account\":[{\"name\":\"a\"}]}]}\n",
    "r{\"type\":\"update_partition\",\"name\":\"p\",\"create\":true,\"fields\":\"nodes\","
    "\"values\":[{\"nodes\":\"n[1-2]\"}]}\n",
    "r{\"type\":\"update_partition\",\"name\":\"main\",\"fields\":\"state\",\"values\":[{\"state\":"
    "\"DOWN\"}]}\n",
    "o{\"type\":\"update_reservation\",\"create\":true,\"name\":\"r\",\"fields\":\"users,nodes,"
    "start_us,duration_us,flags\",\"values\":[{\"users\":\"alice\",\"nodes\":\"n1\",\"start_us\":"
    "1790000060000000,\"duration_us\":3600000000,\"flags\":16}]}\n",
    "o{\"type\":\"update_reservation\",\"remove\":true,\"name\":\"r\"}\n",
    "u{\"type\":\"set_crontab\",\"text\":\"x\",\"entries\":[{\"cron\":\"*/5 * * * "
    "*\",\"first\":1,\"last\":1,\"spec\":[{\"batch\":true,\"work_dir\":\"/\"}]}]}\n",
    "u{\"type\":\"set_trigger\",\"events\":2,\"nodes\":\"n[1-4]\",\"program\":\"/bin/true\"}\n",
    "n{\"type\":\"heartbeat\"}\n",
    NULL,
};

/* What may be asked, and by which names. */
#define ASKS(KIND, name, tag, who, does, doc) "u{\"type\":\"" name "\",\"call\":1",
#define NAMES(kind, name, arg, doc)           ",\"" #name "\":",
const char *const fuzz_names[] = {
    MESSAGES(ASKS) MSG_SUBMIT_FIELDS(NAMES) MSG_QUERY_FIELDS(NAMES) MSG_JOB_CONTROL_FIELDS(NAMES)
        MSG_CANCEL_FIELDS(NAMES) MSG_UPDATE_JOB_FIELDS(NAMES) MSG_UPDATE_RESERVATION_FIELDS(NAMES)
            MSG_CHANGE_ACCOUNTS_FIELDS(NAMES) MSG_SET_CRONTAB_FIELDS(NAMES) JOB_SPEC_FIELDS(NAMES)
                JOB_REQUEST_FIELDS(NAMES) STEP_FIELDS(NAMES) RESERVATION_FIELDS(NAMES)
                    PARTITION_FIELDS(NAMES) NODE_FIELDS(NAMES) ACCOUNT_CHANGE_FIELDS(NAMES)
                        ACCOUNT_FIELDS(NAMES) ASSOC_FIELDS(NAMES) QOS_FIELDS(NAMES)
                            LIMIT_FIELDS(NAMES) TRIGGER_FIELDS(NAMES) CRON_ENTRY_FIELDS(NAMES)
                                MSG_REPORT_FIELDS(NAMES) MSG_NODE_HELLO_FIELDS(NAMES) "[{",
    "}]",
    "true",
    "-1",
    "9223372036854775807",
    "\"alice\"",
    "\"1000\"",
    "\"n[1-4]\"",
    "\"all\"",
    "\"add\"",
    "\"modify\"",
    "\"remove\"",
    "\"account\"",
    "\"assoc\"",
    "\"jobs\"",
    "\"hold\"",
    "o{\"type\":\"",
    "r{\"type\":\"",
    "n{\"type\":\"",
    NULL,
};

static const struct peer
    alice = {.uid = 1000, .gid = 1000, .user = "alice", .groups = "alice", .host = "h"},
    bob = {.uid = 1001, .gid = 1001, .user = "bob", .groups = "bob", .host = "h"},
    olga = {.uid = 900, .gid = 900, .user = "olga", .groups = "olga", .host = "h"},
    root = {.user = "root", .host = "h", .is_admin = true, .is_daemon = true};

static void step(struct core *c, struct effects *fx, struct event ev, int64_t now)
{
    ev.now_us = now;
    effects_reset(fx);
    core_step(c, &ev, fx);
    core_check(c);
}

static void wake(struct core *c, struct effects *fx, int64_t now)
{
    for (int i = 0; core_wake_due(c) <= now; i++) {
        CHECK(i < 1000);
        step(c, fx, (struct event){.kind = EV_WAKE}, now);
    }
}

static void nodes_come(struct core *c, struct effects *fx)
{
    static const char *const names[] = {"n1", "n2", "n3", "n4"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct node n = {.name = names[i],
                         .real_cpus = 8,
                         .real_memory_mib = 8000,
                         .gres = "gpu:v100:2",
                         .version = "test"};
        struct msg_node_hello hello = {.node = {&n, 1}, .pid = 7};
        struct message m = {.kind = MSG_NODE_HELLO, .body = &hello};
        step(c, fx, (struct event){.kind = EV_MESSAGE, .conn = 100 + i, .peer = &root, .msg = &m},
             NOW);
    }
}

static void row_drop(void *ctx, const void *record)
{
    CHECK(record);
    ++*(size_t *)ctx;
}

static void query(struct core *c, const struct msg_query *q, const struct peer *peer, int64_t now)
{
    size_t rows = 0;
    struct view view = {row_drop, &rows};
    struct str detail = STR_INIT;
    if (core_query(c, q, peer, now, &view, &detail) != REFUSE_NONE)
        CHECK(rows == 0);
    str_done(&detail);
}

static void line_take(struct core *c, struct effects *fx, struct span line, struct arena *a,
                      int64_t now)
{
    struct message m;
    struct frame f = {.json = line.data + 1, .json_len = line.len - 1};
    if (!line.len || !wire_decode(&f, a, &m, NULL))
        return;
    struct event ev = {.kind = EV_MESSAGE, .conn = 1, .peer = &alice, .msg = &m};
    switch (line.data[0]) {
    case 'b': ev.peer = &bob; break;
    case 'o': ev.peer = &olga; break;
    case 'r': ev.peer = &root; break;
    case 'n':
        ev.peer = &root;
        ev.conn = 100;
        break;
    default: break;
    }
    if (m.kind == MSG_QUERY) {
        query(c, m.body, ev.peer, now);
        return;
    }
    step(c, fx, ev, now);
    wake(c, fx, now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct effects fx = {0};
    struct config config = {0};
    struct arena *a = arena_new();
    struct span rest = {(const char *)data, size}, line;
    int64_t now = NOW;
    struct core *c = core_new(1, "ctl");
    effects_init(&fx);
    CHECK(config_parse(CONF, "test", NULL, NULL, &config, NULL));
    step(c, &fx, (struct event){.kind = EV_CONFIG, .config = &config}, now);
    core_loaded(c, now, &fx);
    nodes_come(c, &fx);
    for (int n = 0; n < 16 && span_next(&rest, '\n', &line); n++)
        line_take(c, &fx, line, a, now += USEC_PER_SEC);
    core_free(c);
    effects_done(&fx);
    config_done(&config);
    arena_free(a);
    return 0;
}
