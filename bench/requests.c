/* How long the worst that an ordinary user may ask holds the controller's loop: each request with
 * its worst arguments, on a large cluster with everything private. What is answered in parts counts
 * by its longest part, what a copy works out (core_asks_much) not at all.
 * Usage: requests [PART OF A ROW'S NAME]. Prints "name | figure unit | goal". */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/duration.h"
#include "base/vec.h"
#include "core/core.h"
#include "model/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NODES      10000
#define PARTITIONS 50
#define RUNNING    8000
#define WIDE       1000 /* nodes of a job of his own */
#define WAITING    50000
#define ACCOUNTS   2000
#define USERS      20 /* of each account */
#define RESVS      200
#define PART       32 /* records in a part (controller/query.c), where others wait */
#define MALLORY    66000u
#define NOW0       (INT64_C(1700000000) * USEC_PER_SEC)

static struct core *core;
static struct effects fx;
static struct arena *arena;
static int64_t now_us = NOW0;
static const char *only;
static uint64_t array_id, held_id, running_id, over_array, wide_id;

/* Processor time: what else the machine does is not its time. */
static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- saying things -------------------------------------------------------------------------- */

static struct peer root = {.user = "root", .group = "root", .groups = "root", .is_admin = true};
static struct peer mallory = {.uid = MALLORY,
                              .gid = MALLORY,
                              .user = "mallory",
                              .group = "mallory",
                              .groups = "mallory",
                              .host = "login"};

static void step(struct event ev)
{
    ev.now_us = now_us;
    core_step(core, &ev, &fx);
}

static void say(uint64_t conn, const struct peer *peer, enum message_kind kind, const void *body)
{
    static uint64_t seq;
    struct message m = {.kind = kind, .seq = ++seq, .body = body};
    effects_reset(&fx);
    step((struct event){.kind = EV_MESSAGE, .conn = conn, .peer = peer, .msg = &m, .hurry = true});
}

static const struct msg_done *answer(void)
{
    for (size_t i = 0; i < fx.n; i++)
        if (fx.v[i].kind == FX_REPLY && fx.v[i].msg.kind == MSG_DONE)
            return fx.v[i].msg.body;
    return NULL;
}

static uint64_t submitted(void)
{
    for (size_t i = 0; i < fx.n; i++)
        if (fx.v[i].kind == FX_REPLY && fx.v[i].msg.kind == MSG_SUBMITTED)
            return ((const struct msg_submitted *)fx.v[i].msg.body)->job_id;
    return 0;
}

static void wakes(int most)
{
    for (int i = 0; i < most && core_wake_due(core) <= now_us; i++) {
        effects_reset(&fx);
        step((struct event){.kind = EV_WAKE});
    }
}

static struct job_spec a_job(void)
{
    return (struct job_spec){.name = "job",
                             .batch = true,
                             .work_dir = "/tmp",
                             .req = {.ntasks = 8,
                                     .min_nodes = 1,
                                     .max_nodes = 1,
                                     .mem_per_node_mib = 64000,
                                     .gres = "gpu:8",
                                     .time_limit_us = USEC_PER_HOUR}};
}

static uint64_t submit(const struct peer *peer, struct job_spec *s, size_t n)
{
    struct msg_submit m = {.specs = {s, n}, .script = {"#!/bin/sh\n", 10}};
    say(1, peer, MSG_SUBMIT, &m);
    return submitted();
}

/* ---- the cluster ---------------------------------------------------------------------------- */

static char *configuration(void)
{
    struct str s = STR_INIT;
    str_addf(&s,
             "ClusterName=large\nGresTypes=gpu\nMaxJobCount=400000\nJobAcctGatherFrequency=0\n"
             "AccountingStorageEnforce=limits\n"
             "PrivateData=accounts,events,jobs,reservations,usage,users\n"
             "NodeName=n[1-%d] CPUs=64 RealMemory=512000 Gres=gpu:h100:8\n",
             NODES);
    for (int i = 0; i < PARTITIONS; i++)
        str_addf(&s, "PartitionName=p%d Nodes=n[1-%d] %s State=UP\n", i, NODES,
                 i ? "" : "Default=YES");
    return str_take(&s);
}

static void node_hello(int n)
{
    char name[16];
    snprintf(name, sizeof name, "n%d", n);
    struct node node = {.name = name,
                        .real_cpus = 64,
                        .real_memory_mib = 512000,
                        .real_gres = "gpu:h100:8",
                        .version = "bench"};
    struct msg_node_hello m = {.node = {&node, 1}, .pid = 1};
    say(100 + (uint64_t)n, &root, MSG_NODE_HELLO, &m);
}

#define KEEP(type, ...) arena_dup(arena, &(type){__VA_ARGS__}, sizeof(type))

typedef VEC(struct account_change) change_vec;

static struct account_change *change(change_vec *v, enum account_noun noun)
{
    vec_push(v, ((struct account_change){.verb = VERB_ADD, .noun = (int32_t)noun}));
    return &v->v[v->n - 1];
}

static void changes_send(change_vec *v)
{
    struct msg_change_accounts m = {.changes = {v->v, v->n}};
    say(1, &root, MSG_CHANGE_ACCOUNTS, &m);
    if (answer() && answer()->refusal) {
        fprintf(stderr, "accounts: %s\n", answer()->detail);
        exit(1);
    }
    v->n = 0;
}

static void user_add(change_vec *v, const char *user, const char *account)
{
    change(v, NOUN_USER)->user = (struct record_list){
        KEEP(struct account_user, .name = user, .default_account = account), 1};
    change(v, NOUN_ASSOC)->assoc =
        (struct record_list){KEEP(struct assoc, .account = account, .user = user), 1};
}

static void accounts_make(void)
{
    change_vec v = {0};
    for (int i = 0; i < ACCOUNTS; i++) {
        const char *name = arena_printf(arena, "a%d", i);
        change(&v, NOUN_ACCOUNT)->account =
            (struct record_list){KEEP(struct account, .name = name), 1};
        change(&v, NOUN_ASSOC)->assoc =
            (struct record_list){KEEP(struct assoc, .account = name), 1};
        for (int u = 0; u < USERS; u++)
            user_add(&v, arena_printf(arena, "user%d", i * USERS + u), name);
        if (v.n > 1000)
            changes_send(&v);
    }
    user_add(&v, "mallory", "a7");
    changes_send(&v);
    vec_done(&v);
}

static void reservations_make(void)
{
    for (int i = 0; i < RESVS; i++) {
        struct reservation r = {.name = arena_printf(arena, "r%d", i),
                                .start_us = now_us + 300 * USEC_PER_DAY,
                                .duration_us = USEC_PER_HOUR,
                                .nodes = arena_printf(arena, "n%d", i + 1),
                                .accounts = "a1,a2,a3"};
        struct msg_update_reservation m = {.name = r.name,
                                           .create = true,
                                           .fields = "start_us,duration_us,nodes,accounts",
                                           .values = {&r, 1}};
        say(1, &root, MSG_UPDATE_RESERVATION, &m);
        if (answer()->refusal && !i)
            fprintf(stderr, "reservation: %s\n", answer()->detail);
    }
}

static void crowd_submit(int i)
{
    int u = i % 500;
    const char *name = arena_printf(arena, "user%d", u);
    struct peer user = {
        .uid = 10000 + (uint32_t)u, .user = name, .group = name, .groups = name, .host = "login"};
    struct job_spec s = a_job();
    submit(&user, &s, 1);
}

/* His own: an array of which very many elements have records, one that is over, a job that runs. */
static void mallorys_make(void)
{
    struct job_spec s = a_job();
    running_id = submit(&mallory, &s, 1);
    s.req.min_nodes = s.req.max_nodes = WIDE;
    s.req.ntasks = WIDE * 8;
    wide_id = submit(&mallory, &s, 1);
    wakes(20);
    s = a_job();
    s.hold = true;
    held_id = submit(&mallory, &s, 1);
    s.array = "0-39999";
    array_id = submit(&mallory, &s, 1);
    over_array = submit(&mallory, &s, 1);
    for (int i = 0; i < 4; i++) {
        struct job_spec values = {.comment = "mine"};
        struct msg_update_job m = {.ids = arena_printf(arena, "%llu_[%d-%d]",
                                                       (unsigned long long)array_id, i * 10000,
                                                       i * 10000 + 9999),
                                   .fields = "comment",
                                   .values = {&values, 1}};
        say(1, &mallory, MSG_UPDATE_JOB, &m);
        wakes(1000);
    }
}

static void cluster_make(struct config *config)
{
    struct err err = {0};
    char *text = configuration();
    core = core_new(1, "bench");
    effects_init(&fx);
    arena = arena_new();
    if (!config_parse(text, "bench", NULL, NULL, config, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    free(text);
    step((struct event){.kind = EV_CONFIG, .config = config});
    core_loaded(core, now_us, &fx);
    for (int n = 1; n <= NODES; n++)
        node_hello(n);
    accounts_make();
    mallorys_make();
    for (int i = 0; i < RUNNING; i++)
        crowd_submit(i);
    wakes(50);
    for (int i = 0; i < WAITING; i++)
        crowd_submit(i);
    wakes(50);
    reservations_make();
    wakes(50);
}

/* ---- the rows ------------------------------------------------------------------------------- */

static void tell(const char *name, double ms, const char *note)
{
    printf("request %s | %.4f ms | <= 10%s%s\n", name, ms, note ? "  # " : "", note ? note : "");
    fflush(stdout);
}

static bool wanted(const char *name)
{
    return !only || strstr(name, only);
}

static size_t rows_seen;
static void row(void *ctx, const void *record)
{
    (void)ctx;
    (void)record;
    rows_seen++;
}

static void query_as(const struct peer *peer, const char *name, struct msg_query q)
{
    struct query_at at = {0};
    struct view view = {.row = row};
    struct str detail = STR_INIT;
    double longest = 0, all = 0;
    enum refusal refusal;
    if (!wanted(name))
        return;
    rows_seen = 0;
    do {
        double began = now_ms();
        refusal = core_query_part(core, &q, peer, now_us, &view, &detail, &at, PART);
        double took = now_ms() - began;
        longest = took > longest ? took : longest;
        all += took;
    } while (at.more);
    core_query_end(&at);
    tell(name, longest,
         arena_printf(arena, "%zu rows, %.0f ms in all%s%s", rows_seen, all,
                      refusal ? "; refused: " : "",
                      refusal ? arena_printf(arena, "%.60s", str_text(&detail)) : ""));
    str_done(&detail);
}

static void query(const char *name, struct msg_query q)
{
    query_as(&mallory, name, q);
}

/* Where nothing is private everybody sees what an administrator sees. */
static void query_all(const char *name, struct msg_query q)
{
    query_as(&root, name, q);
}

/* The request's own step; what it leaves to later wakes is sliced there (core_sweep). */
static void ask(const char *name, enum message_kind kind, const void *body)
{
    struct message m = {.kind = kind, .seq = 1, .body = body};
    if (!wanted(name))
        return;
    if (core_asks_much(core, &m)) {
        tell(name, 0, "in a copy");
        return;
    }
    double began = now_ms();
    say(1, &mallory, kind, body);
    double took = now_ms() - began;
    const struct msg_done *d = answer();
    const char *said =
        d && d->refusal ? d->detail ? arena_printf(arena, "refused: %.60s", d->detail) : "refused"
        : submitted()   ? "taken"
                        : NULL;
    began = now_ms();
    if (core_wake_due(core) <= now_us) {
        effects_reset(&fx);
        step((struct event){.kind = EV_WAKE});
        said = arena_printf(arena, "%s; the wake after it %.1f ms", said ? said : "done",
                            now_ms() - began);
    }
    tell(name, took, said);
}

static char *repeated(const char *piece, size_t most)
{
    struct str s = STR_INIT;
    while (s.len + strlen(piece) + 1 < most)
        str_addf(&s, "%s%s", s.len ? "," : "", piece);
    return str_take(&s);
}

static char *numbers(uint64_t from, size_t n, const char *between)
{
    struct str s = STR_INIT;
    for (size_t i = 0; i < n; i++)
        str_addf(&s, "%s%llu", i ? between : "", (unsigned long long)(from + i));
    return str_take(&s);
}

static void queries(void)
{
    char *ids = numbers(100, 10000, ","),
         *again =
             repeated(arena_printf(arena, "%llu", (unsigned long long)array_id), LIMIT_TEXT_BYTES);
    char *names = repeated("xyz", LIMIT_TEXT_BYTES),
         *uids = repeated("4000000000", LIMIT_TEXT_BYTES);
    char *one = repeated("n1", LIMIT_TEXT_BYTES), *every = repeated("n[1-10000]", LIMIT_TEXT_BYTES);
    char *thirteen = repeated("n[1-10000]", 13 * 11 + 1); /* 130,000 of 131,072 names */
    char *sets = repeated(arena_printf(arena, "%llu_[0-130000000:4099,0-130000000:4111]",
                                       (unsigned long long)array_id),
                          LIMIT_REQUEST_JSON_BYTES - 4096);
    query("squeue", (struct msg_query){.what = QUERY_JOBS});
    char *fields = repeated("xyz", LIMIT_TEXT_BYTES);
    query_all("squeue, 16,000 fields", (struct msg_query){.what = QUERY_JOBS, .fields = fields});
    free(fields);
    query("squeue -j, 10,000 ids", (struct msg_query){.what = QUERY_JOBS, .ids = ids});
    query("squeue -j, an array again and again",
          (struct msg_query){.what = QUERY_JOBS, .ids = again});
    query("squeue -j, sets of elements that interleave",
          (struct msg_query){.what = QUERY_JOBS, .ids = sets});
    query("squeue -n, 16,000 names",
          (struct msg_query){.what = QUERY_JOBS, .names = names, .states = "all"});
    query("squeue -u, 6,000 numbers", (struct msg_query){.what = QUERY_JOBS, .uids = uids});
    query("squeue -p -A -q, 16,000 each",
          (struct msg_query){
              .what = QUERY_JOBS, .partitions = names, .accounts = names, .qos = names});
    query("squeue -w, a node again and again",
          (struct msg_query){.what = QUERY_JOBS, .nodes = one});
    query("squeue -w, all nodes", (struct msg_query){.what = QUERY_JOBS, .nodes = "n[1-10000]"});
    query("squeue -w, all nodes thirteen times",
          (struct msg_query){.what = QUERY_JOBS, .nodes = thirteen});
    query("squeue -w, all nodes again and again",
          (struct msg_query){.what = QUERY_JOBS, .nodes = every});
    query("squeue -s", (struct msg_query){.what = QUERY_STEPS});
    query("squeue -s -j, 10,000 ids", (struct msg_query){.what = QUERY_STEPS, .ids = ids});
    query("sprio", (struct msg_query){.what = QUERY_PRIORITY});
    query("sprio -j, 10,000 ids", (struct msg_query){.what = QUERY_PRIORITY, .ids = ids});
    query("sinfo, nodes", (struct msg_query){.what = QUERY_NODES});
    query("sinfo, nodes by name", (struct msg_query){.what = QUERY_NODES, .names = every});
    query("sinfo, nodes by name, thirteen times",
          (struct msg_query){.what = QUERY_NODES, .names = thirteen});
    query("sinfo, partitions", (struct msg_query){.what = QUERY_PARTITIONS});
    query("sinfo -p, 16,000 names", (struct msg_query){.what = QUERY_PARTITIONS, .names = names});
    query("sinfo -T", (struct msg_query){.what = QUERY_RESERVATIONS});
    query("remuda status", (struct msg_query){.what = QUERY_STATUS});
    query("remuda hosts", (struct msg_query){.what = QUERY_HOSTS});
    query("sdiag", (struct msg_query){.what = QUERY_DIAG});
    query("sshare", (struct msg_query){.what = QUERY_SHARES});
    query("sshare, fair shares", (struct msg_query){.what = QUERY_FAIR_SHARES});
    query("sacctmgr show account", (struct msg_query){.what = QUERY_ACCOUNTS});
    query("sacctmgr show user", (struct msg_query){.what = QUERY_ACCOUNT_USERS});
    query("sacctmgr show assoc", (struct msg_query){.what = QUERY_ASSOCS});
    query("sacctmgr, limits", (struct msg_query){.what = QUERY_LIMITS});
    query("sacctmgr show qos", (struct msg_query){.what = QUERY_QOS});
    query("sacctmgr show wckey", (struct msg_query){.what = QUERY_WCKEYS});
    query("scontrol show assoc, limits", (struct msg_query){.what = QUERY_LIMIT_USE});
    query("scontrol show assoc, in use", (struct msg_query){.what = QUERY_IN_USE});
    query("strigger --get", (struct msg_query){.what = QUERY_TRIGGERS});
    query_all("sshare, nothing private", (struct msg_query){.what = QUERY_SHARES});
    query_all("sshare, fair shares, nothing private",
              (struct msg_query){.what = QUERY_FAIR_SHARES});
    query_all("scontrol show assoc, limits, nothing private",
              (struct msg_query){.what = QUERY_LIMIT_USE});
    query_all("scontrol show assoc, in use, nothing private",
              (struct msg_query){.what = QUERY_IN_USE});
    query_all("squeue, nothing private", (struct msg_query){.what = QUERY_JOBS});
    query_all("squeue -j, an array's records, nothing private",
              (struct msg_query){.what = QUERY_JOBS,
                                 .ids = arena_printf(arena, "%llu", (unsigned long long)array_id)});
    query_all("remuda status, nothing private", (struct msg_query){.what = QUERY_STATUS});
    query_all("sacctmgr show assoc, nothing private", (struct msg_query){.what = QUERY_ASSOCS});
    free(ids);
    free(again);
    free(sets);
    free(names);
    free(uids);
    free(one);
    free(every);
    free(thirteen);
}

static char *dependency(const char *kind, uint64_t id, size_t n)
{
    struct str s = STR_INIT;
    str_add(&s, kind);
    for (size_t i = 0; i < n; i++)
        str_addf(&s, ":%llu", (unsigned long long)id);
    return str_take(&s);
}

static void submissions(void)
{
    struct job_spec s[128];
    char *many = dependency("afterany", held_id, 4096), *each = numbers(array_id + 2, 4096, ":");
    char *arrays = dependency("afterok", over_array, 4096);
    const char *others = arena_printf(arena, "after:%s", each);
    struct msg_submit m = {.specs = {s, 1}, .script = {"#!/bin/sh\n", 10}};
    const struct {
        const char *name, *dependency, *array;
        size_t n;
    } rows[] = {
        {"sbatch", NULL, NULL, 1},
        {"sbatch, 4,096 conditions", others, NULL, 1},
        {"sbatch, 128 components", NULL, NULL, 128},
        {"sbatch, 128 components x 4,096 conditions", others, NULL, 128},
        {"sbatch, 128 components x 4,096 times one job", many, NULL, 128},
        {"sbatch, 128 components x 4,096 times an array", arrays, NULL, 128},
        {"sbatch, array x 4,096 conditions", others, "0-1000000", 1},
        {"sbatch, array of 16,000 pieces", NULL, "0-32800000:4099,0-32800000:4111", 1},
        {"sbatch, array of a million pieces", NULL, "0-2147483647:4099,0-2147483647:4111", 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (size_t k = 0; k < rows[i].n; k++) {
            s[k] = a_job();
            s[k].hold = true;
            s[k].dependency = rows[i].dependency;
            s[k].array = rows[i].array;
        }
        m.specs.n = rows[i].n;
        ask(rows[i].name, MSG_SUBMIT, &m);
    }
    char *features = repeated("a&b|c", 60000), *nodes = repeated("n[1-10000]", 60000),
         *commas = repeated("n1", 60000);
    s[0] = a_job();
    m.specs.n = 1;
    s[0].req.constraint = features;
    ask("sbatch -C, 60,000 bytes", MSG_SUBMIT, &m);
    s[0].req.constraint = NULL;
    s[0].req.nodelist = nodes;
    ask("sbatch -w, all nodes again and again", MSG_SUBMIT, &m);
    char *thirteen = repeated("n[1-10000]", 13 * 11 + 1);
    s[0].req.nodelist = thirteen;
    ask("sbatch -w, all nodes thirteen times", MSG_SUBMIT, &m);
    s[0].req.nodelist = NULL;
    s[0].req.exclude = thirteen;
    ask("sbatch -x, all nodes thirteen times", MSG_SUBMIT, &m);
    free(thirteen);
    s[0].req.exclude = commas;
    ask("sbatch -x, a node again and again", MSG_SUBMIT, &m);
    s[0].req.exclude = NULL;
    char *parts = repeated("p1", 60000), *every = numbers(0, PARTITIONS, ",p");
    s[0].req.partition = parts;
    ask("sbatch -p, a partition again and again", MSG_SUBMIT, &m);
    s[0].req.partition = arena_printf(arena, "p%s", every);
    ask("sbatch -p, all partitions", MSG_SUBMIT, &m);
    char *list = repeated(s[0].req.partition, 60000);
    s[0].req.partition = list;
    ask("sbatch -p, all partitions again and again", MSG_SUBMIT, &m);
    free(list);
    s[0].req.partition = NULL;
    char *licenses = repeated("a:1", 60000), *gres = repeated("gpu:1", 60000);
    s[0].req.licenses = licenses;
    ask("sbatch -L, 60,000 bytes", MSG_SUBMIT, &m);
    s[0].req.licenses = NULL;
    s[0].req.gres = gres;
    ask("sbatch --gres, 60,000 bytes", MSG_SUBMIT, &m);
    struct str types = STR_INIT;
    for (int i = 0; types.len < 60000; i++)
        str_addf(&types, "%sgpu:t%d:1", i ? "," : "", i);
    s[0].req.gres = str_text(&types);
    ask("sbatch --gres, 5,000 types", MSG_SUBMIT, &m);
    str_done(&types);
    types = STR_INIT;
    for (int i = 0; i < 256; i++)
        str_addf(&types, "%sgpu:t%d:1", i ? "," : "", i);
    s[0].req.gres = str_text(&types);
    ask("sbatch --gres, 256 types", MSG_SUBMIT, &m);
    str_done(&types);
    s[0].req.gres = "gpu:8";
    s[0].req.node_sizes = "1-9999:2";
    s[0].req.max_nodes = 9999;
    ask("sbatch -N, 5,000 sizes", MSG_SUBMIT, &m);
    free(many);
    free(each);
    free(arrays);
    free(features);
    free(nodes);
    free(commas);
    free(parts);
    free(every);
    free(licenses);
    free(gres);
}

static void others(void)
{
    char *again =
             repeated(arena_printf(arena, "%llu", (unsigned long long)array_id), LIMIT_TEXT_BYTES),
         *ids = numbers(100, 10000, ",");
    char *steps =
        repeated(arena_printf(arena, "%llu.0", (unsigned long long)running_id), LIMIT_TEXT_BYTES);
    const char *array = arena_printf(arena, "%llu", (unsigned long long)array_id),
               *all = arena_printf(arena, "%s_[0-39999]", array);
    struct job_spec values = {.comment = "c", .dependency = "afterok:5"};
    ask("remuda why", MSG_WHY, &(struct msg_why){0});
    ask("remuda may", MSG_MAY, &(struct msg_may){0});
    ask("remuda may, of another", MSG_MAY, &(struct msg_may){.user = "user77", .uid = 10077});
    ask("remuda extend", MSG_EXTEND,
        &(struct msg_extend){.id = arena_printf(arena, "%llu", (unsigned long long)running_id),
                             .add_us = USEC_PER_HOUR,
                             .test_only = true});
    ask("scontrol update, TimeLimit=+", MSG_UPDATE_JOB,
        &(struct msg_update_job){.ids = arena_printf(arena, "%llu", (unsigned long long)running_id),
                                 .values = {&values, 1},
                                 .time_limit_add_us = USEC_PER_MIN});
    ask("scontrol hold, an array again and again", MSG_JOB_CONTROL,
        &(struct msg_job_control){.action = ACTION_HOLD, .ids = again});
    ask("scontrol hold, others' 10,000", MSG_JOB_CONTROL,
        &(struct msg_job_control){.action = ACTION_HOLD, .ids = ids});
    ask("scontrol hold name=", MSG_JOB_CONTROL,
        &(struct msg_job_control){.action = ACTION_HOLD, .ids = "name=job"});
    ask("scontrol top, an array", MSG_JOB_CONTROL,
        &(struct msg_job_control){.action = ACTION_TOP, .ids = array});
    ask("scontrol top, an array's elements", MSG_JOB_CONTROL,
        &(struct msg_job_control){.action = ACTION_TOP, .ids = all});
    ask("scontrol suspend, an array", MSG_JOB_CONTROL,
        &(struct msg_job_control){.action = ACTION_SUSPEND, .ids = array});
    ask("scontrol update, an array's elements", MSG_UPDATE_JOB,
        &(struct msg_update_job){.ids = all, .fields = "comment", .values = {&values, 1}});
    ask("scontrol update, an array again and again", MSG_UPDATE_JOB,
        &(struct msg_update_job){.ids = again, .fields = "comment", .values = {&values, 1}});
    char *said = repeated("comment", 60000);
    ask("scontrol update, a field again and again", MSG_UPDATE_JOB,
        &(struct msg_update_job){.ids = arena_printf(arena, "%s_[0-16000]", array),
                                 .fields = said,
                                 .values = {&values, 1}});
    ask("scontrol update Dependency=, an array", MSG_UPDATE_JOB,
        &(struct msg_update_job){.ids = array, .fields = "dependency", .values = {&values, 1}});
    ask("scancel, others' 10,000", MSG_CANCEL, &(struct msg_cancel){.ids = ids});
    ask("scancel, a step again and again", MSG_CANCEL,
        &(struct msg_cancel){.ids = steps, .signal = 10});
    ask("scancel -u of another", MSG_CANCEL, &(struct msg_cancel){.uids = "10001"});
    ask("scancel --name, nobody's", MSG_CANCEL, &(struct msg_cancel){.names = "x"});
    char *names = repeated("xyz", LIMIT_TEXT_BYTES),
         *uids = repeated("4000000000", LIMIT_TEXT_BYTES);
    ask("scancel --name, 16,000 names", MSG_CANCEL, &(struct msg_cancel){.names = names});
    ask("scancel -u, 6,000 numbers", MSG_CANCEL, &(struct msg_cancel){.uids = uids});
    ask("scancel -w, nodes of nobody's", MSG_CANCEL,
        &(struct msg_cancel){.names = "job", .nodes = "n[9000-10000],n[9000-10000]"});
    free(names);
    free(uids);
    char *jobs = repeated(array, 1000 * (strlen(array) + 1));
    ask("sacctmgr modify job, one again and again", MSG_AMEND_JOBS,
        &(struct msg_amend_jobs){
            .ids = jobs, .fields = said, .values = {&(struct job){.spec = values}, 1}});
    free(jobs);
    free(said);
    ask("strigger --clear", MSG_CLEAR_TRIGGER, &(struct msg_clear_trigger){.user_plus1 = 1});
    free(again);
    free(ids);
    free(steps);
}

static void step_ask(const char *name, uint64_t job, struct job_spec *s, const char *task_nodes)
{
    struct msg_create_step m = {.job_id = job,
                                .spec = {s, 1},
                                .task_nodes = task_nodes,
                                .overlap = true,
                                .address = "@bench",
                                .key = name};
    ask(name, MSG_CREATE_STEP, &m);
}

/* As many conditions as there may be, in jobs that wait for one that is cancelled. */
static void conditions(void)
{
    struct job_spec s = a_job();
    s.hold = true;
    uint64_t one = submit(&mallory, &s, 1);
    if (!wanted("scancel of a job, all conditions there may be on it"))
        return;
    s = a_job();
    char *text = dependency("afterany", one, 4000);
    s.dependency = text;
    size_t n = 0;
    while (submit(&mallory, &s, 1))
        n++;
    free(text);
    wakes(50);
    ask("scancel of a job, all conditions there may be on it", MSG_CANCEL,
        &(struct msg_cancel){.ids = arena_printf(arena, "%llu", (unsigned long long)one)});
    printf("# %zu jobs waited for it\n", n);
}

static void steps(void)
{
    struct job_spec s = {.name = "step"};
    char *every = repeated("n1", LIMIT_TEXT_BYTES), *numbers_of = numbers(0, 12000, ",");
    s.req.ntasks = 1;
    step_ask("srun", running_id, &s, NULL);
    s.req.overcommit = true;
    s.req.ntasks = 65533;
    step_ask("srun -O, 65,533 tasks on a node", running_id, &s, NULL);
    step_ask("srun -O, 65,533 tasks on 1,000 nodes", wide_id, &s, NULL);
    s.req.distribution = "cyclic:cyclic";
    step_ask("srun -O -m cyclic, the same", wide_id, &s, NULL);
    s.req.distribution = "plane=3";
    step_ask("srun -O -m plane, the same", wide_id, &s, NULL);
    s.req.ntasks = 8000;
    s.req.distribution = "arbitrary";
    step_ask("srun -m arbitrary, 20,000 names", running_id, &s, every);
    step_ask("srun -m arbitrary, 20,000 names, 1,000 nodes", wide_id, &s, every);
    s.req.distribution = NULL;
    s.cpu_bind = arena_printf(arena, "map_cpu:%s", numbers_of);
    step_ask("srun --cpu-bind=map_cpu, 12,000 numbers", wide_id, &s, NULL);
    free(every);
    free(numbers_of);
}

static void accounting(void)
{
    change_vec v = {0};
    for (int i = 0; i < 10000; i++) {
        struct account_change *ch = change(&v, NOUN_ASSOC);
        ch->verb = VERB_MODIFY;
        ch->fields = "default_qos";
        ch->assoc = (struct record_list){KEEP(struct assoc,
                                              .account = arena_printf(arena, "a%d", i % ACCOUNTS),
                                              .default_qos = "normal"),
                                         1};
    }
    ask("sacctmgr, 10,000 changes, denied", MSG_CHANGE_ACCOUNTS,
        &(struct msg_change_accounts){.changes = {v.v, v.n}});
    ask("sacctmgr, 10,000 changes, tried", MSG_CHANGE_ACCOUNTS,
        &(struct msg_change_accounts){.changes = {v.v, v.n}, .test_only = true});
    vec_done(&v);
}

static void crontabs(void)
{
    struct job_spec s[200];
    struct cron_entry e[200];
    for (size_t i = 0; i < 200; i++) {
        s[i] = a_job();
        e[i] = (struct cron_entry){.cron = "0 0 29 2 *",
                                   .first = 1,
                                   .last = 1,
                                   .spec = {&s[i], 1},
                                   .script = {"#!/bin/sh\n", 10}};
    }
    ask("scrontab, 200 entries", MSG_SET_CRONTAB,
        &(struct msg_set_crontab){.text = "x", .entries = {e, 200}});
    ask("scrontab, again", MSG_SET_CRONTAB,
        &(struct msg_set_crontab){.text = "y", .entries = {e, 200}});
}

/* Twenty reservations of all nodes whose time is now. */
static void maintenance(void)
{
    for (int i = 0; i < 20; i++) {
        struct reservation r = {.name = arena_printf(arena, "now%d", i),
                                .start_us = now_us,
                                .duration_us = USEC_PER_HOUR,
                                .nodes = "ALL",
                                .users = "root",
                                .flags = RESV_MAINT | RESV_IGNORE_JOBS | RESV_OVERLAP};
        struct msg_update_reservation m = {.name = r.name,
                                           .create = true,
                                           .fields = "start_us,duration_us,nodes,users,flags",
                                           .values = {&r, 1}};
        say(1, &root, MSG_UPDATE_RESERVATION, &m);
        if (answer() && answer()->refusal && !i)
            fprintf(stderr, "maintenance: %s\n", answer()->detail);
    }
    query_all("sinfo, nodes, during maintenance", (struct msg_query){.what = QUERY_NODES});
    query_all("sinfo, nodes, the next", (struct msg_query){.what = QUERY_NODES});
}

int main(int argc, char **argv)
{
    struct config config = {0};
    only = argc > 1 ? argv[1] : NULL;
    cluster_make(&config);
    queries();
    submissions();
    others();
    conditions();
    steps();
    accounting();
    crontabs();
    maintenance();
    core_free(core);
    config_done(&config);
    effects_done(&fx);
    arena_free(arena);
    return 0;
}
