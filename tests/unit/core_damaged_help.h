/* A world that has something of each kind in its store, and a life that asks about all of it. */
#ifndef REMUDA_TESTS_CORE_DAMAGED_HELP_H
#define REMUDA_TESTS_CORE_DAMAGED_HELP_H

#include "core_accounts_help.h"

#include <stdlib.h>

static const char *const conf =
    CONF "AccountingStorageEnforce=associations,limits,qos\nPriorityType=priority/multifactor\n"
         "PriorityWeightFairshare=1000\nPreemptType=preempt/qos\nPreemptMode=REQUEUE\n"
         "GresTypes=gpu\n";

/* ---- a world with something of each kind ---------------------------------------------------- */

static uint64_t runs;

static inline void people_begin(void)
{
    tree();
    qos(VERB_ADD, NULL, (struct qos){.name = "high", .preempt = "opp,normal"});
    struct assoc nova = {.account = "nova", .qos = "normal,opp,high", .default_qos = "normal"};
    limited(assoc(VERB_MODIFY, "qos,default_qos", nova), LIMIT_GRP_JOBS, "50");
    limited(qos(VERB_MODIFY, "priority", (struct qos){.name = "opp", .priority = 3}),
            LIMIT_MAX_JOBS_PER_USER, "40");
    sent_well();
}

static inline struct job_spec of_nova(const char *name)
{
    struct job_spec s = a_job(name);
    s.req.account = "nova";
    return s;
}

static inline void jobs_begin(void)
{
    am_alice();
    runs = submit(of_nova("runs"));
    report(1, (struct msg_report){
                  .kind = REPORT_STARTED, .job_id = runs, .attempt = 1, .step_id = STEP_BATCH});
    struct job_spec after = of_nova("after"), many = of_nova("many"), later = of_nova("later");
    after.dependency = arena_printf(w.a, "afterok:%llu", (unsigned long long)runs);
    assert_true(submit(after));
    many.array = "0-5%2";
    assert_true(submit(many));
    later.begin_us = w.now + 600 * MIN;
    assert_true(submit(later));
    struct job_spec two[] = {a_wide_job("a"), a_wide_job("b")};
    two[0].req.account = two[1].req.account = "nova";
    assert_true(submit_all(two, 2));
    struct job_spec alloc = of_nova("alloc"), step = {.name = "s", .req.ntasks = 1};
    alloc.batch = false;
    uint64_t id = submit(alloc);
    say(7001, MSG_CREATE_STEP,
        &(struct msg_create_step){.job_id = id, .spec = {&step, 1}, .address = "@x"});
    say(7002, MSG_CREATE_STEP,
        &(struct msg_create_step){
            .job_id = id, .spec = {&step, 1}, .async = true, .tasks = {"tasks", 5}});
}

static inline void rest_begin(void)
{
    am_root();
    struct reservation r = {
        .users = "alice", .start_us = w.now + 60 * MIN, .duration_us = 60 * MIN, .nodes = "n3"};
    say(1, MSG_UPDATE_RESERVATION,
        &(struct msg_update_reservation){.name = "resv",
                                         .create = true,
                                         .values = {&r, 1},
                                         .fields = "users,start_us,"
                                                   "duration_us,nodes"});
    assert_int_equal(refusal(), REFUSE_NONE);
    struct partition p = {.nodes = "n[1-2]"};
    say(1, MSG_UPDATE_PARTITION,
        &(struct msg_update_partition){
            .name = "fresh", .create = true, .values = {&p, 1}, .fields = "nodes"});
    assert_int_equal(refusal(), REFUSE_NONE);
    say(1, MSG_SET_TRIGGER,
        &(struct msg_set_trigger){
            .events = TRIGGER_BIT(FINI), .job = ids_of(runs), .program = "/bin/tell"});
    say(1, MSG_SET_TRIGGER,
        &(struct msg_set_trigger){
            .events = TRIGGER_BIT(DOWN), .nodes = "n[1-2]", .program = "/bin/tell"});
    struct token t = {.id = "t1", .secret_hash = "5ecre7", .role = ROLE_NODE, .uses_left = 2};
    say(1, MSG_MAKE_TOKEN, &(struct msg_make_token){.token = {.v = &t, .n = 1}, .text = "t"});
    struct host h = {.id = "h1", .name = "h1", .nodes = "n9", .token = "t1", .key_hash = "k"};
    say(2, MSG_JOIN,
        &(struct msg_join){
            .text = "5ecre7", .host = {.v = &h, .n = 1}, .config = "NodeName=n9 CPUs=1"});
    am_alice();
    struct job_spec *spec = arena_dup(w.a, &(struct job_spec){0}, sizeof *spec);
    *spec = of_nova("cron");
    struct cron_entry entry = {.cron = "5 * * * *",
                               .first = 1,
                               .last = 1,
                               .script = {"#!/bin/sh\n", 10},
                               .spec = {spec, 1}};
    say(1, MSG_SET_CRONTAB,
        &(struct msg_set_crontab){.text = "5 * * * * true\n", .entries = {&entry, 1}});
    am_root();
    struct node drained = {.drain = true, .reason = "test"};
    say(1, MSG_UPDATE_NODE,
        &(struct msg_update_node){
            .names = "n4", .values = {&drained, 1}, .fields = "drain,reason"});
}

static inline void begin(void)
{
    world_open(conf, 4);
    people_begin();
    jobs_begin();
    rest_begin();
    pass(MIN);
    pass(10 * MIN);
}

/* ---- life goes on --------------------------------------------------------------------------- */

static inline void all_asked(void)
{
    static const enum query_what what[] = {
        QUERY_JOBS,         QUERY_NODES,    QUERY_PARTITIONS,    QUERY_STEPS,     QUERY_STATUS,
        QUERY_RESERVATIONS, QUERY_PRIORITY, QUERY_SHARES,        QUERY_DIAG,      QUERY_TOKENS,
        QUERY_HOSTS,        QUERY_ACCOUNTS, QUERY_ACCOUNT_USERS, QUERY_ASSOCS,    QUERY_QOS,
        QUERY_LIMITS,       QUERY_WCKEYS,   QUERY_TRES,          QUERY_LIMIT_USE, QUERY_FAIR_SHARES,
        QUERY_IN_USE,       QUERY_TRIGGERS};
    for (size_t i = 0; i < ARRAY_LEN(what); i++) {
        struct rows r = ask((struct msg_query){.what = (int32_t)what[i]});
        vec_done(&r.row);
    }
    why(NULL);
}

static inline void people_change(void)
{
    am_root();
    assoc(VERB_MODIFY, "qos", (struct assoc){.account = "nova", .qos = "normal,opp"});
    send();
    user(VERB_ADD, "carol", "physics");
    assoc(VERB_ADD, NULL, (struct assoc){.account = "physics", .user = "carol"});
    send();
    account(VERB_ADD, "new");
    assoc(VERB_ADD, NULL, (struct assoc){.account = "new", .parent = "nova"});
    send();
    assoc(VERB_MODIFY, "parent", (struct assoc){.account = "nova", .parent = "root"});
    send();
    am_bob();
    assoc(VERB_MODIFY, "shares", (struct assoc){.account = "nova", .user = "alice", .shares = 3});
    send();
}

static inline void people_go(void)
{
    am_root();
    qos(VERB_REMOVE, NULL, (struct qos){.name = "opp"});
    send();
    user(VERB_REMOVE, "alice", NULL);
    send();
    account(VERB_REMOVE, "nova");
    assoc(VERB_REMOVE, NULL, (struct assoc){.account = "nova"});
    send();
    account(VERB_REMOVE, "physics");
    assoc(VERB_REMOVE, NULL, (struct assoc){.account = "physics"});
    send();
}

static inline void nodes_back(void)
{
    for (int n = 1; n <= 4; n++)
        hello(n);
}

static inline int by_key(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;
    const struct field *f = &store_table_rows[x->table].fields->field[0];
    if (x->table != y->table || f->type != FIELD_U32)
        return (int)x->table - (int)y->table;
    uint32_t m = *(const uint32_t *)field_ptr(f, x->record),
             n = *(const uint32_t *)field_ptr(f, y->record);
    return (m > n) - (m < n);
}

/* Rows come from a store in the order of their keys. */
static inline void start_again(void)
{
    qsort(w.store.v, w.store.n, sizeof w.store.v[0], by_key);
    restart(conf);
}

static inline void live_on(void)
{
    start_again();
    all_asked();
    nodes_back();
    am_alice();
    struct job_spec s = of_nova("fresh");
    s.req.qos = "high";
    submit(s);
    submit(a_wide_job("any"));
    submit(of_nova("one"));
    all_asked();
    pass(61 * MIN);
    people_change();
    pass(61 * MIN);
    all_asked();
    start_again();
    nodes_back();
    am_root();
    struct msg_cancel all = {.uids = "1000"};
    say(1, MSG_CANCEL, &all);
    pass(61 * MIN);
    people_go();
    all_asked();
    pass(INT64_C(400) * 24 * 60 * MIN);
    all_asked();
}

#endif
