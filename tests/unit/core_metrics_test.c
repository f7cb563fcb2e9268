/* Pages for those who watch by machine: which job is on them and when, what anybody may read, and
 * that they are well formed however they are made. */
#include "core/metrics.h"
#include "core_help.h"

#include <stdio.h>

#define GPUS                                                                                       \
    "ClusterName=test\nOperators=olga\nGresTypes=gpu\nMinJobAge=300\n"                             \
    "NodeName=n[1-4] CPUs=8 RealMemory=8000 Gres=gpu:a100_1g.5gb:4\n"                              \
    "PartitionName=main Nodes=n[1-4] Default=YES State=UP\n"                                       \
    "PartitionName=half Nodes=n[1-2] State=UP\n"

static char *page_of(struct metrics_asked asked, size_t most)
{
    asked.version = "1.0 (\"test\")";
    struct metrics *m = metrics_new(&asked);
    struct str *text, all = STR_INIT;
    while (metrics_part(m, w.c, w.now, most)) {
    }
    size_t n = metrics_texts(m, &text);
    for (size_t i = 0; i < n; i++)
        str_addn(&all, text[i].data, text[i].len);
    metrics_free(m);
    char *copy = arena_strdup(w.a, str_text(&all));
    str_done(&all);
    return copy;
}

static const char *page(unsigned sections, bool operates)
{
    return page_of((struct metrics_asked){.sections = sections, .operates = operates}, SIZE_MAX);
}

static size_t times(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, what)); at++)
        n++;
    return n;
}

/* The value of the line that begins so; fails if there is none. */
static int64_t value(const char *text, const char *begin)
{
    const char *line = arena_printf(w.a, "\n%s ", begin), *at = strstr(text, line);
    if (!at)
        fail_msg("no %s in\n%s", begin, text);
    return strtoll(at + strlen(line), NULL, 10);
}

/* n1, n2 … with four instances each. */
static void gpu_hello(int n)
{
    struct node node = {.name = arena_printf(w.a, "n%d", n),
                        .real_cpus = 8,
                        .real_memory_mib = 8000,
                        .real_gres = "gpu:a100_1g.5gb:4",
                        .version = "test"};
    struct str devices = STR_INIT;
    for (int i = 0; i < 4; i++)
        str_addf(&devices, "%sgpu:a100_1g.5gb:%d:5000::MIG-%d-%d", i ? ";" : "", i, n, i);
    node.devices = str_text(&devices);
    struct msg_node_hello m = {.node = {&node, 1}, .pid = 7, .devices_seq = 5};
    struct peer asks = w.peer;
    am_root();
    say(CONN_OF(n), MSG_NODE_HELLO, &m);
    w.peer = asks;
    str_done(&devices);
}

static int gpus_setup(void **unused)
{
    world_open(GPUS, 0);
    for (int n = 1; n <= 4; n++)
        gpu_hello(n);
    return 0;
}

static struct job_spec gpu_job(int gpus)
{
    struct job_spec s = a_job("short");
    s.req.gres = arena_printf(w.a, "gpu:%d", gpus);
    return s;
}

/* ---- well formed ---------------------------------------------------------------------------- */

struct families {
    struct map_str *seen;
    char *at; /* the one at hand */
};

static void family_take(struct families *f, const char *name)
{
    if (f->at && strcmp(f->at, name) == 0)
        return;
    if (map_str_get(f->seen, name))
        fail_msg("rows of %s are in two places", name);
    f->at = arena_strdup(w.a, name);
    map_str_put(f->seen, name, f->at);
}

/* name{key="value",…} number; the name, without what counters and histograms add. */
static char *row_check(char *line)
{
    size_t n = strspn(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    char *p = line + n, *end;
    assert_true(n > 0);
    if (*p == '{') {
        do {
            p++;
            size_t key = strspn(p, "abcdefghijklmnopqrstuvwxyz_");
            assert_true(key > 0 && p[key] == '=' && p[key + 1] == '"');
            for (p += key + 2; *p != '"'; p++) {
                assert_true((unsigned char)*p >= 0x20);
                if (*p == '\\')
                    assert_non_null(memchr("\\\"n", *++p, 3));
            }
            p++;
        } while (*p == ',');
        assert_int_equal(*p, '}');
        p++;
    }
    assert_int_equal(*p, ' ');
    strtod(p + 1, &end);
    assert_true(end > p + 1 && *end == 0);
    line[n] = 0;
    static const char *const ends[] = {"_total", "_bucket", "_count", "_sum"};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        size_t len = strlen(ends[i]);
        if (n > len && strcmp(line + n - len, ends[i]) == 0 &&
            (i == 0 || strncmp(line, "remuda_loop_", 12) == 0))
            line[n - len] = 0;
    }
    return line;
}

static void well_formed(const char *text)
{
    struct families f = {.seen = map_str_new()};
    char *copy = arena_strdup(w.a, text), *rest = copy, *line;
    const char *last = "";
    assert_true(strlen(text) >= 6 && strcmp(text + strlen(text) - 6, "# EOF\n") == 0);
    while ((line = strsep(&rest, "\n")) && rest) {
        assert_string_not_equal(last, "# EOF");
        last = line;
        if (strncmp(line, "# HELP ", 7) == 0 || strncmp(line, "# TYPE ", 7) == 0) {
            char *name = line + 7;
            name[strcspn(name, " ")] = 0;
            family_take(&f, name);
        } else if (strcmp(line, "# EOF") != 0) {
            family_take(&f, row_check(line));
        }
    }
    map_str_free(f.seen);
}

/* ---- jobs that come and go ------------------------------------------------------------------ */

static void seen_are_those_that_run(const uint64_t *live, size_t n, size_t gpus)
{
    const char *text = page(METRICS_RUNNING, true);
    for (size_t i = 0; i < n; i++) {
        const char *whose = arena_printf(w.a,
                                         "remuda_job_device{job_id=\"%llu\",user=\"alice\","
                                         "partition=\"main\",node=\"n",
                                         (unsigned long long)live[i]);
        assert_int_equal(times(text, whose), job(live[i])->spec.req.gres[4] - '0');
        assert_int_equal(times(text, arena_printf(w.a, "remuda_job_info{job_id=\"%llu\",",
                                                  (unsigned long long)live[i])),
                         1);
    }
    /* … and nobody else. */
    assert_int_equal(times(text, "remuda_job_info{"), n);
    assert_int_equal(times(text, "remuda_job_device{"), gpus);
    assert_int_equal(times(text, "type=\"a100_1g.5gb\",uuid=\"MIG-"), gpus);
}

/* Each is on the page at its start, for each of its devices, and on none after its end; each page
 * has the device of nobody twice. */
static void a_thousand_short_jobs(void **unused)
{
    uint64_t live[8] = {0}, started = 0;
    size_t n = 0, gpus = 0;
    for (int i = 0; i < 1000; i++) {
        if (n == 8 || (n > 0 && i % 3 == 0)) {
            uint64_t id = live[0];
            gpus -= (size_t)(job(id)->spec.req.gres[4] - '0');
            script_ends(id, 0);
            memmove(live, live + 1, --n * sizeof live[0]);
            seen_are_those_that_run(live, n, gpus);
        }
        int wants = 1 + i % 2;
        uint64_t id = submit(gpu_job(wants));
        assert_int_equal(state(id), JOB_RUNNING);
        live[n++] = id;
        gpus += (size_t)wants;
        started++;
        if (i % 10 == 0 || n == 8)
            seen_are_those_that_run(live, n, gpus);
        const char *text = page(METRICS_RUNNING, true);
        assert_int_equal(times(text, arena_printf(w.a, "remuda_job_device{job_id=\"%llu\"",
                                                  (unsigned long long)id)),
                         wants);
        if (i % 50 == 49)
            pass(400 * SEC); /* those that are over leave memory */
    }
    assert_int_equal(started, 1000);
    for (size_t i = 0; i < n; i++)
        script_ends(live[i], 0);
    assert_int_equal(times(page(METRICS_RUNNING, true), "job_id="), 0);
}

/* The job ends between two parts of a page that had begun with it. */
static void a_page_goes_on_without_a_job_that_ended(void **unused)
{
    struct job_spec wide = gpu_job(4);
    wide.req.min_nodes = 4;
    wide.req.ntasks = 4;
    wide.req.ntasks_per_node = 1;
    uint64_t id = submit(wide);
    assert_int_equal(state(id), JOB_RUNNING);
    for (size_t parts = 1; parts < 12; parts++) {
        struct metrics_asked asked = {.sections = METRICS_ALL, .operates = true};
        struct metrics *m = metrics_new(&asked);
        for (size_t i = 0; i < parts; i++)
            metrics_part(m, w.c, w.now, 1);
        if (parts == 6) {
            am_root();
            script_ends(id, 0);
            configure("ClusterName=test\nGresTypes=gpu\n"
                      "NodeName=n1 CPUs=8 RealMemory=8000 Gres=gpu:a100_1g.5gb:4\n"
                      "PartitionName=main Nodes=n1 Default=YES State=UP\n");
            am_alice();
        }
        while (metrics_part(m, w.c, w.now, 1)) {
        }
        metrics_free(m);
    }
    well_formed(page(METRICS_ALL, true));
}

static const char *device_labels(const char *format, int device)
{
    struct str text = STR_INIT;
    for (const char *at = format; *at; at++) {
        bool number = at[0] == '%' && at[1] == 'd';
        if (number)
            str_addf(&text, "%d", device);
        else
            str_addc(&text, *at);
        at += number;
    }
    const char *labels = arena_strdup(w.a, str_text(&text));
    str_done(&text);
    return labels;
}

/* What each of its devices does, by the node's word; of what is not told there is no row. */
static void each_device_has_its_load(void **unused)
{
    am_root();
    configure("ClusterName=test\nOperators=olga\nGresTypes=gpu\n"
              "NodeName=n1 CPUs=8 RealMemory=8000 Gres=gpu:a100_1g.5gb:4\n"
              "PartitionName=main Nodes=n1 Default=YES State=UP\n");
    gpu_hello(1);
    am_alice();
    struct job_spec s = gpu_job(2);
    s.req.account = "astro";
    uint64_t id = submit(s);
    assert_int_equal(state(id), JOB_RUNNING);
    struct msg_heartbeat m = {.gpu_use = "0:47:1024:210:-;1:-:5:-:90;2:1:1:1:1;3:1:1:1:1"};
    am_root();
    say(CONN_OF(1), MSG_HEARTBEAT, &m);
    am_alice();
    const char *text = page(METRICS_RUNNING, true);
    well_formed(text);
    const char *who = arena_printf(w.a,
                                   "{job_id=\"%llu\",user=\"alice\",account=\"astro\",partition="
                                   "\"main\",node=\"n1\",kind=\"gpu\",index=\"%%d\",type="
                                   "\"a100_1g.5gb\",uuid=\"MIG-1-%%d\"}",
                                   (unsigned long long)id);
#define OF(name, device)                                                                           \
    arena_printf(w.a, "remuda_job_device_" name "%s", device_labels(who, device))
    assert_int_equal(value(text, OF("busy_percent", 0)), 47);
    assert_int_equal(value(text, OF("memory_bytes", 0)), INT64_C(1) << 30);
    assert_int_equal(value(text, OF("power_watts", 0)), 210);
    assert_int_equal(value(text, OF("idle_seconds", 0)), 0);
    assert_int_equal(value(text, OF("idle_seconds", 1)), 90);
    assert_int_equal(value(text, OF("memory_bytes", 1)), 5 << 20);
    assert_int_equal(times(text, "remuda_job_device_busy_percent{"), 1);
    assert_int_equal(times(text, "remuda_job_device_power_watts{"), 1);
    assert_int_equal(times(text, "remuda_job_device_memory_bytes{"), 2);
    script_ends(id, 0);
    assert_int_equal(times(page(METRICS_RUNNING, true), "remuda_job_device_idle_seconds{"), 0);
}

/* ---- sums ----------------------------------------------------------------------------------- */

static void sums_are_what_is_there(void **unused)
{
    struct job_spec held = a_job("held");
    held.hold = true;
    uint64_t a = submit(gpu_job(2)), b = submit(gpu_job(1));
    am_bob();
    submit(held);
    struct job_spec large = gpu_job(4);
    large.req.min_nodes = 4;
    large.req.ntasks = 4;
    submit(large); /* waits */
    script_ends(a, status_of_code(3));
    const char *text = page(METRICS_ALL, true);
    assert_int_equal(value(text, "slurm_jobs"), 4);
    assert_int_equal(value(text, "slurm_jobs_running"), 1);
    assert_int_equal(value(text, "slurm_jobs_failed"), 1);
    assert_int_equal(value(text, "slurm_jobs_pending"), 2);
    assert_int_equal(value(text, "slurm_jobs_hold"), 1);
    assert_int_equal(value(text, "slurm_jobs_gpus_alloc"), 1);
    assert_int_equal(value(text, "slurm_jobs_cpus_alloc"), job(b)->alloc_cpus);
    assert_int_equal(value(text, "slurm_jobs_memory_alloc"), 100 << 20);
    assert_int_equal(value(text, "slurm_user_jobs_pending{username=\"bob\"}"), 2);
    assert_int_equal(value(text, "slurm_user_jobs_running{username=\"alice\"}"), 1);
    assert_int_equal(value(text, "slurm_partition_jobs{partition=\"main\"}"), 4);
    assert_int_equal(value(text, "slurm_partition_jobs{partition=\"half\"}"), 0);
    assert_int_equal(value(text, "slurm_partition_nodes{partition=\"half\"}"), 2);
    assert_int_equal(value(text, "slurm_partition_gpus{partition=\"half\"}"), 8);
    assert_int_equal(value(text, "slurm_partitions"), 2);
    assert_int_equal(value(text, "slurm_nodes"), 4);
    assert_int_equal(value(text, "slurm_nodes_idle") + value(text, "slurm_nodes_mixed"), 4);
    assert_int_equal(value(text, "remuda_gpus{type=\"a100_1g.5gb\",state=\"allocated\"}"), 1);
    assert_int_equal(value(text, "remuda_gpus{type=\"a100_1g.5gb\",state=\"idle\"}"), 15);
    assert_int_equal(value(text, "remuda_queue_jobs{state=\"PENDING\",reason=\"JobHeldUser\"}"), 1);
    assert_int_equal(value(text, "remuda_queue_jobs{state=\"RUNNING\",reason=\"None\"}"), 1);
    well_formed(text);
}

static void a_drained_node_is_away_and_a_broken_gpu_broken(void **unused)
{
    struct msg_heartbeat m = {.devices_seq = 6,
                              .devices_out = "gpu:1:failed:7000000:XID 79",
                              .device_health = "gpu:1:failed:7000000:XID 79"};
    am_root();
    say(CONN_OF(1), MSG_HEARTBEAT, &m);
    struct msg_update_node u = {.names = "n2", .state = "DRAIN", .reason = "cable"};
    say(1, MSG_UPDATE_NODE, &u);
    const char *text = page(METRICS_ALL, false);
    assert_int_equal(value(text, "remuda_gpus{type=\"a100_1g.5gb\",state=\"broken\"}"), 1);
    assert_int_equal(value(text, "remuda_gpus{type=\"a100_1g.5gb\",state=\"away\"}"), 4);
    assert_int_equal(value(text, "remuda_gpus{type=\"a100_1g.5gb\",state=\"idle\"}"), 11);
    assert_int_equal(value(text, "slurm_nodes_drained"), 1);
    assert_non_null(strstr(text, "remuda_device_health{node=\"n1\",kind=\"gpu\",index=\"1\",type="
                                 "\"a100_1g.5gb\",uuid=\"MIG-1-1\",health=\"failed\"} 1\n"));
}

static void elements_count_one_each(void **unused)
{
    struct job_spec s = a_job("sweep");
    s.array = "0-99";
    s.hold = true;
    assert_int_not_equal(submit(s), 0);
    const char *text = page(METRICS_ALL, true);
    assert_int_equal(value(text, "slurm_jobs_pending"), 100);
    assert_int_equal(value(text, "slurm_jobs_hold"), 100);
    assert_int_equal(value(text, "slurm_user_jobs{username=\"alice\"}"), 100);
}

/* ---- made in whatever parts ----------------------------------------------------------------- */

static void parts_make_the_same_page(void **unused)
{
    for (int i = 0; i < 20; i++)
        submit(gpu_job(1 + i % 3));
    for (unsigned sections = 1; sections <= METRICS_ALL; sections++) {
        struct metrics_asked asked = {.sections = sections, .operates = sections % 2};
        const char *whole = page_of(asked, SIZE_MAX);
        well_formed(whole);
        assert_string_equal(page_of(asked, 1), whole);
        assert_string_equal(page_of(asked, 3), whole);
    }
}

/* The former format names counters in their heads as in their rows. */
static void the_former_format(void **unused)
{
    const char *text =
        page_of((struct metrics_asked){.sections = METRICS_SCHEDULER, .plain = true}, SIZE_MAX);
    assert_non_null(strstr(text, "# TYPE remuda_plans_total counter\nremuda_plans_total "));
    text = page(METRICS_SCHEDULER, false);
    assert_non_null(strstr(text, "# TYPE remuda_plans counter\nremuda_plans_total "));
}

/* ---- whose names they are ------------------------------------------------------------------- */

static void names_are_escaped(void **unused)
{
    am(1234, "e\"vil\\ {x=\"1\"} 5\n# EOF\x1b[2J\xff", false);
    assert_int_not_equal(submit(gpu_job(1)), 0);
    const char *text = page(METRICS_ALL, true);
    well_formed(text);
    assert_int_equal(times(text, "# EOF"), 1 + times(text, "\\\\n# EOF"));
    assert_non_null(
        strstr(text, "user=\"e\\\"vil\\\\ {x=\\\"1\\\"} 5\\\\n# EOF\\\\x1b[2J\\\\xff\""));
}

/* What the word takes from a reader who is nobody in particular; who operates sees it. */
static const struct {
    const char *word, *hidden;
} private_data[] = {
    {"jobs", "job_id="},
    {"jobs", "slurm_user_jobs{"},
    {"jobs", "slurm_account_jobs{"},
    {"usage", "slurm_user_jobs{"},
    {"usage", "slurm_account_jobs{"},
    {"users", "slurm_user_jobs{"},
    {"users", "user=\"alice\""},
    {"accounts", "slurm_account_jobs{"},
    {"accounts", "account=\"chem\""},
    {"nodes", "slurm_node_cpus{"},
    {"nodes", "slurm_nodes"},
    {"nodes", "slurm_partition_nodes"},
    {"nodes", "remuda_gpus{"},
    {"nodes", "remuda_device_health{"},
    {"partitions", "slurm_partition"},
};

static void private_data_holds_for_who_just_connects(void **unused)
{
    struct job_spec s = gpu_job(1);
    s.req.account = "chem";
    assert_int_not_equal(submit(s), 0);
    am_root();
    say(CONN_OF(1), MSG_HEARTBEAT,
        &(struct msg_heartbeat){.devices_seq = 6, .device_health = "gpu:0:clean:7000000:"});
    for (size_t i = 0; i < ARRAY_LEN(private_data); i++) {
        const char *hidden = private_data[i].hidden;
        configure(GPUS);
        if (!strstr(page(METRICS_ALL, false), hidden))
            fail_msg("without PrivateData there is no %s", hidden);
        configure(arena_printf(w.a, GPUS "PrivateData=%s\n", private_data[i].word));
        const char *text = page(METRICS_ALL, false);
        well_formed(text);
        if (strstr(text, hidden))
            fail_msg("PrivateData=%s shows %s", private_data[i].word, hidden);
        if (!strstr(page(METRICS_ALL, true), hidden))
            fail_msg("PrivateData=%s hides %s from operators", private_data[i].word, hidden);
    }
}

#define GPU_STORY(function) cmocka_unit_test_setup_teardown(function, gpus_setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GPU_STORY(a_thousand_short_jobs),
        GPU_STORY(each_device_has_its_load),
        GPU_STORY(a_page_goes_on_without_a_job_that_ended),
        GPU_STORY(sums_are_what_is_there),
        GPU_STORY(a_drained_node_is_away_and_a_broken_gpu_broken),
        GPU_STORY(elements_count_one_each),
        GPU_STORY(parts_make_the_same_page),
        GPU_STORY(the_former_format),
        GPU_STORY(names_are_escaped),
        GPU_STORY(private_data_holds_for_who_just_connects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
