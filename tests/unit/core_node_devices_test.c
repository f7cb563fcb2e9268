/* What a node says of its devices, beside what is configured: never planned with more than there
 * is, and what is missing is said. */
#include "core_help.h"

#define GPU_CONF(gres)                                                                             \
    "ClusterName=test\nOperators=olga\nGresTypes=gpu\n"                                            \
    "NodeName=n1 CPUs=8 RealMemory=8000 " gres                                                     \
    "\nPartitionName=main Nodes=n1 Default=YES State=UP\n"

#define NOT_STARTED                                                                                \
    "NVIDIA's management library could not be started: NVML_ERROR_DRIVER_NOT_LOADED (9); its "     \
    "devices are "                                                                                 \
    "not used"

/* The node n1, which the row describes further. */
static struct node self_with(struct node n)
{
    n.name = "n1";
    n.real_cpus = 8;
    n.real_memory_mib = 8000;
    n.version = "test";
    return n;
}

static void begin_with(const char *conf, struct node n)
{
    struct node self = self_with(n);
    struct msg_node_hello m = {.node = {&self, 1}, .pid = 9, .devices_seq = 5};
    world_close();
    world_open(conf, 0);
    am_root();
    say(CONN_OF(1), MSG_NODE_HELLO, &m);
    am_alice();
}

static void beat(struct msg_heartbeat m)
{
    am_root();
    say(CONN_OF(1), MSG_HEARTBEAT, &m);
    am_alice();
}

static uint64_t wants(const char *gres)
{
    struct job_spec s = a_job("gpus");
    s.req.gres = gres;
    uint64_t id = submit(s);
    if (!id)
        fail_msg("refused: %s", answer()->detail);
    return id;
}

static void says(const char *complaint)
{
    if (complaint)
        assert_string_equal(node("n1")->complaint, complaint);
    else
        assert_null(node("n1")->complaint);
}

/* What of its devices is in the way of a job that waits. */
static const char *why_of(uint64_t id)
{
    struct msg_why m = {.ids = ids_of(id)};
    const char *text = "";
    say(1, MSG_WHY, &m);
    assert_int_equal(w.fx.v[0].msg.kind, MSG_EXPLAINED);
    const struct msg_explained *e = w.fx.v[0].msg.body;
    const struct why *y = e->jobs.v;
    const struct blocker *b = y->blockers.v;
    for (size_t i = 0; i < y->blockers.n; i++)
        if (b[i].kind == BLOCKER_OUT)
            text = arena_strdup(w.a, b[i].what);
    return text;
}

static void a_node_whose_driver_fails_is_planned_with_no_gpu(void **unused)
{
    begin_with(GPU_CONF("Gres=gpu:4"), (struct node){.device_trouble = NOT_STARTED});
    says("n1 has 0 gpu, configured are 4: it works with what it has");
    uint64_t waits = wants("gpu:1"), runs = submit(a_job("none"));
    assert_int_equal(state(waits), JOB_PENDING);
    assert_int_equal(state(runs), JOB_RUNNING);
    assert_non_null(strstr(
        why_of(waits), "gpu is configured and not there: NVIDIA's management library could not"));
    /* The driver is there again. */
    struct node self = self_with(
        (struct node){.real_gres = "gpu:a100:4",
                      .devices = "gpu:a100:0:::;gpu:a100:1:::;gpu:a100:2:::;gpu:a100:3:::"});
    beat((struct msg_heartbeat){.devices_seq = 6, .node = {&self, 1}});
    says(NULL);
    assert_null(node("n1")->device_trouble);
    assert_int_equal(state(waits), JOB_RUNNING);
    assert_string_equal(job(waits)->nodes, "n1");
    /* And gone: what runs keeps what it has. */
    self = self_with(
        (struct node){.device_search = "NVIDIA: no device of NVIDIA's is on the PCI bus"});
    beat((struct msg_heartbeat){.devices_seq = 7, .node = {&self, 1}});
    says("n1 has 0 gpu, configured are 4: it works with what it has");
    assert_int_equal(state(waits), JOB_RUNNING);
    assert_int_equal(state(wants("gpu:1")), JOB_PENDING);
}

static void a_node_without_any_is_planned_with_none(void **unused)
{
    begin_with(GPU_CONF("Gres=gpu:a100:2,nic:1"),
               (struct node){.device_search = "NVIDIA: no device of NVIDIA's is on the PCI bus"});
    says("n1 has 0 gpu:a100, configured are 2: it works with what it has");
    assert_string_equal(node("n1")->gres, "gpu:a100:2,nic:1");
    assert_int_equal(state(wants("gpu:1")), JOB_PENDING);
}

/* Nothing is given to anybody in place of a type that was written wrongly. */
static void a_type_that_is_not_there_is_no_other(void **unused)
{
    struct node two = {.real_gres = "gpu:a100:2", .devices = "gpu:a100:0:::;gpu:a100:1:::"};
    begin_with(GPU_CONF("Gres=gpu:h100:2"), two);
    says("n1 has 0 gpu:h100, configured are 2: it works with what it has");
    assert_int_equal(state(wants("gpu:1")), JOB_PENDING);
    begin_with(GPU_CONF("Gres=gpu:a100:1,gpu:h100:1"), two);
    says("n1 has 0 gpu:h100, configured are 1: it works with what it has");
    uint64_t first = wants("gpu:1");
    assert_int_equal(state(first), JOB_RUNNING);
    assert_int_equal(state(wants("gpu:1")), JOB_PENDING);
}

/* What is configured is taken of what is there by its type, not by its place in the list. */
static void more_than_is_configured_is_not_used(void **unused)
{
    struct node four = {
        .real_gres = "gpu:a100_1g.5gb:2,gpu:a100:2",
        .devices =
            "gpu:a100_1g.5gb:0:::MIG-1;gpu:a100_1g.5gb:1:::MIG-2;gpu:a100:2:::;gpu:a100:3:::"};
    begin_with(GPU_CONF("Gres=gpu:a100:1"), four);
    says(NULL);
    uint64_t id = wants("gpu:1");
    assert_non_null(strstr(job(id)->alloc, "gpu:a100=2"));
    assert_int_equal(state(wants("gpu:1")), JOB_PENDING);
    /* Without a word of the configuration all are. */
    begin_with(GPU_CONF(""), four);
    assert_string_equal(node("n1")->gres, "gpu:a100_1g.5gb:2,gpu:a100:2");
    assert_int_equal(state(wants("gpu:a100:2")), JOB_RUNNING);
}

static void who_does_not_look_has_what_is_configured(void **unused)
{
    begin_with(GPU_CONF("Gres=gpu:2"),
               (struct node){0}); /* a daemon of a release that does not say what it looked for */
    says(NULL);
    assert_int_equal(state(wants("gpu:2")), JOB_RUNNING);
    begin_with(GPU_CONF("Gres=gpu:2 Virtual=YES"), (struct node){.device_trouble = NOT_STARTED});
    says(NULL);
    assert_int_equal(state(wants("gpu:2")), JOB_RUNNING);
}

static void how_each_is_is_no_row_of_the_store(void **unused)
{
    begin_with(GPU_CONF("Gres=gpu:1"), (struct node){.real_gres = "gpu:1",
                                                     .devices = "gpu::0:::",
                                                     .device_health = "gpu:0:clean:7000000:"});
    assert_string_equal(node("n1")->device_health, "gpu:0:clean:7000000:");
    beat((struct msg_heartbeat){.devices_seq = 6, .device_health = "gpu:0:in use:8000000:job 3"});
    assert_string_equal(node("n1")->device_health, "gpu:0:in use:8000000:job 3");
    assert_int_equal(sent(FX_STORE, MESSAGE_COUNT), 0);
    beat((struct msg_heartbeat){.devices_seq = 5,
                                .device_health = "gpu:0:clean:7000000:"}); /* overtaken */
    assert_string_equal(node("n1")->device_health, "gpu:0:in use:8000000:job 3");
}

static void an_operators_resume_has_the_node_look_again(void **unused)
{
    struct msg_update_node m = {.names = "n1", .state = "RESUME"};
    begin_with(GPU_CONF(""), (struct node){.device_search = "nothing was found"});
    am_olga();
    say(1, MSG_UPDATE_NODE, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_int_equal(sent(FX_SEND, MSG_DEVICES_RETRY), 1);
}

/* Two jobs want one GPU each. One that was there twice was given to both, and the controller ended
 * over it, and again at each start. */
static void no_device_of_a_node_is_there_twice(void **unused)
{
    static const char *const gres[] = {
        "gpu:a:2",      "gpu:2",           "gres:gpu:a:2", " gpu:a:2",       "gres/gpu:a:2",
        "gpu:a:1,gpu:", "gpu:a:1,gpu:A:1", NULL,           "gpu:a:2(S:0-1)", "gpu:a b:2",
    };
    static const struct {
        const char *text;
        size_t n; /* 0: none can be used */
    } devices[] = {
        {"gpu:a:0:::;gpu:a:0:::", 0}, {"gpu:a:0:::;gpu:b:0:::", 0},
        {"gpu:A:0:::;gpu:a:0:::", 0}, {"gpu:a:0:::", 1},
        {"gpu:a:0:::;gpu:a:1:x:", 0}, {"gpu:a:1:::;gpu:a:0:::", 2},
    };
    for (size_t g = 0; g < ARRAY_LEN(gres); g++)
        for (size_t d = 0; d < ARRAY_LEN(devices); d++) {
            size_t fit = devices[d].n, run = 0;
            begin_with(GPU_CONF(""),
                       (struct node){.real_gres = gres[g], .devices = devices[d].text});
            for (int i = 0; i < 2; i++) {
                struct job_spec s = a_job("gpus");
                s.req.gres = "gpu:1";
                uint64_t id = submit(s);
                pass(1);
                run += id && state(id) == JOB_RUNNING;
            }
            if (run != fit || !fit != !text_empty(node("n1")->device_trouble))
                fail_msg("%s, %s: %zu jobs have one; %s", gres[g], devices[d].text, run,
                         node("n1")->device_trouble);
        }
}

/* Of a daemon of an older release, whose gres.conf has it: its devices were all taken away. */
static void a_type_that_nobody_can_ask_for(void **unused)
{
    static const char *const type[] = {"Tesla V100", "a b", "a\tb", ".a"};
    static const char *const conf[] = {GPU_CONF(""), GPU_CONF("Gres=gpu:2")};
    static const char *const search[] = {NULL, "AMD: there is none"};
    struct arena *a = arena_new();
    for (size_t t = 0; t < ARRAY_LEN(type); t++)
        for (size_t k = 0; k < 4; k++) {
            struct node n = {.real_gres = arena_printf(a, "gpu:%s:2", type[t]),
                             .devices =
                                 arena_printf(a, "gpu:%s:0:::;gpu:%s:1:::", type[t], type[t]),
                             .device_search = search[k / 2]};
            begin_with(conf[k % 2], n);
            says(NULL);
            assert_null(node("n1")->device_trouble);
            assert_int_equal(state(wants("gpu:1")), JOB_RUNNING);
            assert_int_equal(state(wants("gpu:1")), JOB_RUNNING);
            assert_int_equal(state(wants("gpu:1")), JOB_PENDING);
        }
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(no_device_of_a_node_is_there_twice),
        STORY(a_type_that_nobody_can_ask_for),
        STORY(a_node_whose_driver_fails_is_planned_with_no_gpu),
        STORY(a_node_without_any_is_planned_with_none),
        STORY(a_type_that_is_not_there_is_no_other),
        STORY(more_than_is_configured_is_not_used),
        STORY(who_does_not_look_has_what_is_configured),
        STORY(how_each_is_is_no_row_of_the_store),
        STORY(an_operators_resume_has_the_node_look_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
