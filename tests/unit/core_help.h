/* What stories of the controller's machine (core_world.h) ask of it, and how one begins and ends. */
#ifndef REMUDA_TESTS_CORE_HELP_H
#define REMUDA_TESTS_CORE_HELP_H

#include "core_world.h"

/* ---- what is there ---- */

struct rows {
    enum query_what what;
    VEC(void *) row;
    enum refusal refusal;
    const char *detail;
};

static const struct fields *const row_fields[] = {
    [QUERY_JOBS] = &job_fields,
    [QUERY_NODES] = &node_fields,
    [QUERY_PARTITIONS] = &partition_fields,
    [QUERY_STEPS] = &step_fields,
    [QUERY_STATUS] = &status_fields,
    [QUERY_RESERVATIONS] = &reservation_fields,
    [QUERY_PRIORITY] = &priority_fields,
    [QUERY_SHARES] = &usage_fields,
    [QUERY_DIAG] = &diag_fields,
    [QUERY_TOKENS] = &token_fields,
    [QUERY_HOSTS] = &host_fields,
    [QUERY_ACCOUNTS] = &account_fields,
    [QUERY_ACCOUNT_USERS] = &account_user_fields,
    [QUERY_ASSOCS] = &assoc_fields,
    [QUERY_QOS] = &qos_fields,
    [QUERY_LIMITS] = &limit_fields,
    [QUERY_WCKEYS] = &wckey_fields,
    [QUERY_TRES] = &tres_fields,
    [QUERY_LIMIT_USE] = &limit_use_fields,
    [QUERY_FAIR_SHARES] = &fair_share_fields,
    [QUERY_IN_USE] = &in_use_fields,
    [QUERY_TRIGGERS] = &trigger_fields,
};

static inline void row_take(void *ctx, const void *record)
{
    struct rows *r = ctx;
    void *copy = arena_alloc(w.a, row_fields[r->what]->size);
    record_copy(row_fields[r->what], copy, record, w.a);
    vec_push(&r->row, copy);
}

/* Rows live as long as the world; `rows_done` frees their list. */
static inline struct rows ask(struct msg_query q)
{
    struct rows r = {.what = (enum query_what)q.what};
    struct view view = {row_take, &r};
    struct str detail = STR_INIT;
    r.refusal = core_query(w.c, &q, &w.peer, w.now, &view, &detail);
    r.detail = arena_strdup(w.a, str_text(&detail));
    str_done(&detail);
    return r;
}

static inline size_t count(struct msg_query q)
{
    struct rows r = ask(q);
    size_t n = r.row.n;
    assert_int_equal(r.refusal, REFUSE_NONE);
    vec_done(&r.row);
    return n;
}

/* The one row of that kind and id or name; fails if there is none or several. */
static inline const void *the(enum query_what what, const char *which)
{
    struct rows r = ask((struct msg_query){.what = (int32_t)what,
                                           .ids = what == QUERY_JOBS ? which : NULL,
                                           .names = what == QUERY_JOBS ? NULL : which});
    assert_int_equal(r.row.n, 1);
    const void *row = r.row.v[0];
    vec_done(&r.row);
    return row;
}

/* The last element of an array has the array's number, which asks for all of it. */
static inline const struct job *job(uint64_t id)
{
    struct rows r = ask((struct msg_query){.what = QUERY_JOBS, .ids = ids_of(id)});
    const struct job *found = NULL;
    for (size_t i = 0; i < r.row.n; i++)
        if (((const struct job *)r.row.v[i])->id == id)
            found = r.row.v[i];
    assert_non_null(found);
    vec_done(&r.row);
    return found;
}

static inline const struct job *job_named(const char *ref)
{
    return the(QUERY_JOBS, ref);
}
static inline const struct node *node(const char *name)
{
    return the(QUERY_NODES, name);
}
static inline const struct partition *part(const char *name)
{
    return the(QUERY_PARTITIONS, name);
}
static inline enum job_state state(uint64_t id)
{
    return (enum job_state)job(id)->state;
}

/* The batch script of a running job ends with a wait status. */
static inline void script_ends(uint64_t id, int32_t status)
{
    const struct job *j = job(id);
    report(j->batch_host[1] - '0', (struct msg_report){.kind = REPORT_EXITED,
                                                       .job_id = id,
                                                       .attempt = j->attempt,
                                                       .step_id = STEP_BATCH,
                                                       .exit_status = status,
                                                       .clean = true});
}

static inline size_t sent(enum effect_kind kind, enum message_kind message)
{
    size_t n = 0;
    for (size_t i = 0; i < w.fx.n; i++)
        n += w.fx.v[i].kind == kind &&
             ((kind != FX_SEND && kind != FX_REPLY) || w.fx.v[i].msg.kind == message);
    return n;
}

static inline size_t mails(void)
{
    return sent(FX_MAIL, MESSAGE_COUNT);
}

static inline const struct mail *mail(size_t k)
{
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_MAIL && k-- == 0)
            return &w.fx.v[i].mail;
    fail_msg("no such mail");
    return NULL;
}

/* ---- life of a world ---- */

static inline void configure(const char *text)
{
    struct err err = {0};
    config_done(&w.config);
    if (!config_parse(text, "test", NULL, NULL, &w.config, &err))
        fail_msg("%s", err.text);
    effects_reset(&w.fx);
    step((struct event){.kind = EV_CONFIG, .config = &w.config});
}

static inline void load(enum store_table table)
{
    for (size_t i = 0; i < w.store.n; i++)
        if (w.store.v[i].table == table)
            core_load(w.c, table, w.store.v[i].record);
}

static inline void start_controller(const char *conf)
{
    w.c = core_new(1, "ctl");
    configure(conf);
    load(TABLE_META);
    load(TABLE_USAGE);
    load(TABLE_PARTITION);
    load(TABLE_NODE);
    load(TABLE_RESERVATION);
    load(TABLE_ACCOUNT);
    load(TABLE_ACCOUNT_USER);
    load(TABLE_ASSOC);
    load(TABLE_QOS);
    load(TABLE_LIMIT);
    load(TABLE_WCKEY);
    load(TABLE_TRES);
    load(TABLE_USE);
    load(TABLE_TOKEN);
    load(TABLE_HOST);
    load(TABLE_CRONTAB);
    load(TABLE_TRIGGER);
    load(TABLE_ANSWERED);
    load(TABLE_JOB);
    load(TABLE_STEP);
    load(TABLE_QUEUED_STEP);
    core_loaded(w.c, w.now, &w.fx);
    core_check(w.c);
    settle(0);
}

/* The controller stops and comes back with what the store has. */
static inline void restart(const char *conf)
{
    core_free(w.c);
    effects_reset(&w.fx);
    start_controller(conf);
}

static inline void world_open(const char *conf, int nodes)
{
    memset(&w, 0, sizeof w);
    w.a = arena_new();
    w.now = INT64_C(1700000000) * SEC;
    effects_init(&w.fx);
    start_controller(conf);
    for (int i = 1; i <= nodes; i++)
        hello(i);
    am_alice();
}

static inline void world_close(void)
{
    core_check(w.c);
    core_free(w.c);
    config_done(&w.config);
    effects_done(&w.fx);
    vec_done(&w.store);
    arena_free(w.a);
}

static inline int setup(void **unused)
{
    world_open(CONF, 4);
    return 0;
}

static inline int teardown(void **unused)
{
    world_close();
    return 0;
}

#define STORY(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

#endif
