/* Who may ask what: every kind of message there is, from everybody there is. The table below says
 * again, by hand, what model/message.h says of each kind and what handlers say of single jobs and
 * fields; a kind without a case fails, so that no request is added without one. What is refused
 * changes nothing. */
#include "core_help.h"

#define GUEST (UINT32_MAX - 1)

enum from {
    STRANGER,     /* nobody knows who */
    BYSTANDER,    /* bob, another user */
    OWNER,        /* alice, whose job 1 waits and whose job 2 runs */
    OPERATOR,     /* olga */
    SLURM_USER,   /* an administrator who is no daemon */
    ROOT,         /* of this host, or of a trusted one; its node daemons too */
    FAR_OWNER,    /* alice, by a login or untrusted host */
    FAR_OPERATOR, /* olga, the same */
    FAR_ROOT,     /* root of such a host */
    FROM_COUNT,
};

#define NOBODY   0u
#define OWNERS   (1u << OWNER | 1u << FAR_OWNER)
#define ADMINS   (1u << SLURM_USER | 1u << ROOT)
#define OPERATES (1u << OPERATOR | ADMINS)
#define ANYONE   ((1u << FROM_COUNT) - 1 - (1u << STRANGER))

static const char *const from_names[] = {"a stranger",
                                         "another user",
                                         "the owner",
                                         "an operator",
                                         "SlurmUser",
                                         "root",
                                         "the owner, from a login host",
                                         "an operator, from a login host",
                                         "root of a login host"};

static void am_from(enum from who)
{
    switch (who) {
    case BYSTANDER: am_bob(); break;
    case OWNER: am_alice(); break;
    case OPERATOR: am_olga(); break;
    case SLURM_USER: am(64030, "slurm", true); break;
    case ROOT:
        am_root();
        w.peer.is_daemon = true;
        break;
    case FAR_OWNER: am_alice(); break;
    case FAR_OPERATOR: am_olga(); break;
    case STRANGER:
    case FAR_ROOT:
    case FROM_COUNT: am(GUEST, NULL, false); break;
    }
    w.peer.is_plain = who >= FAR_OWNER;
}

struct request_case {
    enum message_kind kind;
    const char *what;
    const void *body;
    unsigned may; /* bits of enum from */
};

#define CONTROL(act, may)                                                                          \
    {                                                                                              \
        MSG_JOB_CONTROL, #act,                                                                     \
            &(const struct msg_job_control){.action = ACTION_##act, .ids = "1"}, may               \
    }
#define RUNNING(act, may)                                                                          \
    {                                                                                              \
        MSG_JOB_CONTROL, #act,                                                                     \
            &(const struct msg_job_control){.action = ACTION_##act, .ids = "2", .text = "x"}, may  \
    }
#define UPDATE(what, may, field, ...)                                                              \
    {                                                                                              \
        MSG_UPDATE_JOB, what,                                                                      \
            &(const struct msg_update_job){                                                        \
                .ids = "1", .fields = field, .values = {&(struct job_spec){__VA_ARGS__}, 1}},      \
            may                                                                                    \
    }

static struct job_spec new_job = {.name = "new",
                                  .batch = true,
                                  .work_dir = "/tmp",
                                  .req = {.ntasks = 1, .time_limit_us = 10 * MIN}};
static struct job_spec new_step = {.name = "step", .req = {.ntasks = 1}};
static struct node node_values = {.weight = 7};
static struct partition part_values = {.max_nodes = 2};
static struct reservation resv_values = {
    .users = "bob", .nodes = "n4", .start_us = 5000 * SEC, .duration_us = 600 * SEC};
static struct token old_token = {.id = "t9", .secret_hash = "5ecre7", .kind = HOST_TRUSTED},
                    new_token = {.id = "t8", .secret_hash = "5ecre8", .kind = HOST_TRUSTED};
static struct host new_host = {.id = "h9", .name = "h9", .nodes = "n9", .token = "t9"};
static struct qos qos_values = {.name = "opp"};
static struct account_change new_qos = {
    .noun = NOUN_QOS, .verb = VERB_ADD, .qos = {&qos_values, 1}};

static const struct request_case cases[] = {
    {MSG_SUBMIT, "a job",
     &(const struct msg_submit){.specs = {&new_job, 1}, .script = {"#!/bin/sh\n", 10}}, ANYONE},
    {MSG_WHY, "why", &(const struct msg_why){.ids = "1"}, ANYONE},
    {MSG_MAY, "oneself", &(const struct msg_may){0}, ANYONE & ~(1u << FAR_ROOT)},
    {MSG_MAY, "another user", &(const struct msg_may){.user = "zoe"}, ANYONE},
    {MSG_WAIT_JOB, "the end", &(const struct msg_wait_job){.job_id = 1}, ANYONE},
    CONTROL(HOLD, OWNERS | OPERATES),
    CONTROL(UHOLD, OWNERS | OPERATES),
    CONTROL(RELEASE, OWNERS | OPERATES),
    CONTROL(TOP, OWNERS | OPERATES),
    RUNNING(REQUEUE, OWNERS | OPERATES),
    RUNNING(REQUEUE_HOLD, OWNERS | OPERATES),
    RUNNING(NOTIFY, OWNERS | OPERATES),
    RUNNING(SUSPEND, OPERATES),
    RUNNING(RESUME, OPERATES),
    {MSG_CANCEL, "by its number", &(const struct msg_cancel){.ids = "1"}, OWNERS | OPERATES},
    {MSG_CANCEL, "a signal", &(const struct msg_cancel){.ids = "2", .signal = 10},
     OWNERS | OPERATES},
    UPDATE("a comment", OWNERS | OPERATES, "comment", .comment = "mine"),
    UPDATE("a nice value above 0", OWNERS | OPERATES, "nice", .nice = 5),
    UPDATE("a nice value below 0", OPERATES, "nice", .nice = -5),
    UPDATE("a priority", OPERATES, "priority_asked", .priority_asked = 4000000),
    UPDATE("the site's factor", OPERATES, "site_factor", .site_factor = 4),
    {MSG_UPDATE_JOB, "AdminComment",
     &(const struct msg_update_job){.ids = "1", .admin_comment = "theirs"}, OPERATES},
    {MSG_UPDATE_JOB, "a longer limit while it runs",
     &(const struct msg_update_job){.ids = "2", .time_limit_add_us = 10 * MIN}, OPERATES},
    {MSG_AMEND_JOBS, "a comment",
     &(const struct msg_amend_jobs){
         .ids = "1", .fields = "comment", .values = {&(struct job){.spec.comment = "mine"}, 1}},
     OWNERS | OPERATES},
    {MSG_AMEND_JOBS, "AdminComment",
     &(const struct msg_amend_jobs){
         .ids = "1", .fields = "admin_comment", .values = {&(struct job){.admin_comment = "x"}, 1}},
     OPERATES},
    {MSG_EXTEND, "more time", &(const struct msg_extend){.id = "2", .add_us = 10 * MIN},
     OWNERS | OPERATES},
    {MSG_UPDATE_NODE, "drain",
     &(const struct msg_update_node){.names = "n1", .state = "DRAIN", .reason = "x"}, OPERATES},
    {MSG_UPDATE_NODE, "weight",
     &(const struct msg_update_node){
         .names = "n1", .fields = "weight", .values = {&node_values, 1}},
     OPERATES},
    {MSG_UPDATE_PARTITION, "change",
     &(const struct msg_update_partition){
         .name = "main", .fields = "max_nodes", .values = {&part_values, 1}},
     ADMINS},
    {MSG_UPDATE_PARTITION, "remove",
     &(const struct msg_update_partition){.name = "small", .remove = true}, ADMINS},
    {MSG_UPDATE_RESERVATION, "make",
     &(const struct msg_update_reservation){.name = "r",
                                            .create = true,
                                            .fields = "users,nodes,start_us,duration_us",
                                            .values = {&resv_values, 1}},
     OPERATES},
    {MSG_CHANGE_ACCOUNTS, "a QOS", &(const struct msg_change_accounts){.changes = {&new_qos, 1}},
     OPERATES},
    {MSG_ATTACH, "hold", &(const struct msg_attach){.job_id = 3, .hold = true}, OWNERS | OPERATES},
    {MSG_FINISH_JOB, "give back", &(const struct msg_finish_job){.job_id = 3}, OWNERS | OPERATES},
    {MSG_CREATE_STEP, "in another's job",
     &(const struct msg_create_step){
         .job_id = 2, .spec = {&new_step, 1}, .address = "@x", .key = "kk"},
     OWNERS | ADMINS},
    {MSG_CREATE_STEP, "by itself",
     &(const struct msg_create_step){
         .job_id = 2, .spec = {&new_step, 1}, .async = true, .tasks = {"{}", 2}, .key = "kk"},
     OWNERS | ADMINS},
    {MSG_ATTACH_STEP, "streams",
     &(const struct msg_attach_step){
         .job_id = 3, .step_id = 0, .address = "@x", .key = "kk", .hold = true},
     OWNERS | ADMINS},
    {MSG_GET_OUTPUT, "the end of the output",
     &(const struct msg_get_output){.job_id = 2, .attempt = 1, .out = "/tmp/out"}, OWNERS},
    {MSG_GET_SCRIPT, "script", &(const struct msg_get_script){.job_id = 1}, OWNERS | OPERATES},
    {MSG_SET_CRONTAB, "one's own", &(const struct msg_set_crontab){0}, ANYONE},
    {MSG_SET_TRIGGER, "of nodes",
     &(const struct msg_set_trigger){.events = TRIGGER_BIT(DOWN), .program = "/bin/true"}, ADMINS},
    {MSG_CLEAR_TRIGGER, "none there", &(const struct msg_clear_trigger){.id = 7}, ANYONE},
    {MSG_GET_CRONTAB, "one's own", &(const struct msg_get_crontab){0}, ANYONE},
    {MSG_GET_CRONTAB, "of alice", &(const struct msg_get_crontab){.user_plus1 = ALICE + 1},
     OWNERS | OPERATES},
    {MSG_DAEMON, "ping", &(const struct msg_daemon){.action = DAEMON_PING}, ANYONE},
    {MSG_DAEMON, "reconfigure", &(const struct msg_daemon){.action = DAEMON_RECONFIGURE}, ADMINS},
    {MSG_DAEMON, "shut down", &(const struct msg_daemon){.action = DAEMON_SHUTDOWN}, ADMINS},
    {MSG_DAEMON, "dampen", &(const struct msg_daemon){.action = DAEMON_DAMPENING, .factor = 2},
     ADMINS},
    {MSG_DAEMON, "reset", &(const struct msg_daemon){.action = DAEMON_RESET_DIAG}, ADMINS},
    {MSG_MAKE_TOKEN, "a token",
     &(const struct msg_make_token){.token = {&new_token, 1}, .text = "t"}, ADMINS},
    {MSG_ARCHIVE, "what is old", &(const struct msg_archive){.purge = "jobs=12months"}, ADMINS},
    {MSG_ARCHIVE, "with a program", &(const struct msg_archive){.script = "/bin/true"}, ADMINS},
    {MSG_ADD_PAST, "nothing", &(const struct msg_add_past){.jobs = {0}}, ADMINS},
    {MSG_EXPEL, "a host", &(const struct msg_expel){.names = "h1"}, ADMINS},
    {MSG_JOIN, "without a token", &(const struct msg_join){.text = "wrong", .host = {&new_host, 1}},
     NOBODY},
    {MSG_NODE_HELLO, "as n1",
     &(const struct msg_node_hello){.node = {&(struct node){.name = "n1", .real_cpus = 8}, 1}},
     ADMINS},
    {MSG_HEARTBEAT, "as a node", &(const struct msg_heartbeat){.load_centi = 1}, ADMINS},
    {MSG_OUTPUT_READ, "what nobody asked for", &(const struct msg_output_read){.number = 9},
     ADMINS},
    {MSG_REPORT, "an end",
     &(const struct msg_report){
         .seq = 9, .kind = REPORT_EXITED, .job_id = 2, .attempt = 1, .step_id = STEP_BATCH},
     ADMINS},
};

/* Job 1 of alice waits, 2 runs, 3 is an allocation with a step. */
static void begin(void)
{
    struct job_spec held = a_job("held"), attached = a_job("allocation");
    for (int n = 1; n <= 4; n++)
        hello(n);
    am_root();
    say(1, MSG_MAKE_TOKEN, &(struct msg_make_token){.token = {&old_token, 1}, .text = "t"});
    struct host h1 = {.id = "h1", .name = "h1", .role = ROLE_LOGIN, .token = "t9"};
    say(1, MSG_JOIN, &(struct msg_join){.text = "5ecre7", .host = {&h1, 1}});
    am_alice();
    held.hold = true;
    assert_int_equal(submit(held), 1);
    assert_int_equal(submit(a_job("runs")), 2);
    attached.batch = false;
    assert_int_equal(submit(attached), 3);
    assert_int_equal(state(2), JOB_RUNNING);
    assert_int_equal(state(3), JOB_RUNNING);
    say(7, MSG_CREATE_STEP,
        &(struct msg_create_step){
            .job_id = 3, .spec = {&new_step, 1}, .address = "@x", .key = "first"});
    assert_int_equal(sent(FX_REPLY, MSG_STEP_CREATED), 1);
}

/* Nothing but the answer left the machine. */
static bool nothing_done(void)
{
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind != FX_REPLY &&
            !(w.fx.v[i].kind == FX_STORE && w.fx.v[i].table == TABLE_ANSWERED))
            return false;
    return true;
}

static bool refused(void)
{
    return refusal() == REFUSE_ACCESS_DENIED || refusal() == REFUSE_BAD_MESSAGE;
}

static void ask_as(enum from who, enum message_kind kind, const void *body)
{
    struct message m = {.kind = kind, .seq = ++w.seq, .body = body};
    am_from(who);
    effects_reset(&w.fx);
    step((struct event){
        .kind = EV_MESSAGE, .conn = 1, .peer = who == STRANGER ? NULL : &w.peer, .msg = &m});
}

static void one_case(const struct request_case *x, enum from who)
{
    bool may = x->may >> who & 1u;
    ask_as(who, x->kind, x->body);
    if (may && refused())
        fail_msg("%s (%s) by %s was refused: %s", message_table[x->kind].name, x->what,
                 from_names[who], answer()->detail ? answer()->detail : "");
    if (!may && !refused())
        fail_msg("%s (%s) by %s was not refused", message_table[x->kind].name, x->what,
                 from_names[who]);
    if (!may && !nothing_done())
        fail_msg("%s (%s) by %s was refused, and did something", message_table[x->kind].name,
                 x->what, from_names[who]);
}

static void each_case_from_everybody(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (enum from who = 0; who < FROM_COUNT; who++) {
            begin();
            one_case(&cases[i], who);
            teardown(state);
            setup(state);
        }
}

/* By filters nothing is named that could be refused: jobs of others are passed over. */
static void filters_do_not_reach_others(void **state)
{
    static const enum from others[] = {STRANGER, BYSTANDER, FAR_OPERATOR, FAR_ROOT};
    (void)state;
    begin();
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        ask_as(others[i], MSG_CANCEL, &(struct msg_cancel){.uids = "1000"});
        assert_true(nothing_done());
        ask_as(others[i], MSG_JOB_CONTROL,
               &(struct msg_job_control){.action = ACTION_RELEASE, .ids = "name=held"});
        assert_true(nothing_done());
    }
}

/* Answers, messages of the controller and of streams are for nobody to send here; nor is what the
 * shell alone handles. */
static void what_is_no_request_is_taken_from_nobody(void **state)
{
    (void)state;
    begin();
    for (int kind = 0; kind < MESSAGE_COUNT; kind++) {
        bool has_case = false;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
            has_case |= (int)cases[i].kind == kind;
        if (has_case)
            continue;
        enum who who = message_table[kind].who;
        if (who != WHO_CONTROLLER && who != WHO_STREAM && kind != MSG_QUERY && kind != MSG_RENEW &&
            kind != MSG_VOUCH && kind != MSG_SERIES && kind != MSG_GET_SERIES)
            fail_msg("%s has no case here: who may ask it?", message_table[kind].name);
        void *body = arena_alloc(w.a, message_fields(kind)->size);
        memset(body, 0, message_fields(kind)->size);
        for (enum from from = 0; from < FROM_COUNT; from++) {
            ask_as(from, (enum message_kind)kind, body);
            if (!refused() || !nothing_done())
                fail_msg("%s was taken from %s", message_table[kind].name, from_names[from]);
        }
    }
}

static void only_administrators_see_tokens(void **state)
{
    (void)state;
    begin();
    for (enum from who = 0; who < FROM_COUNT; who++) {
        am_from(who);
        struct rows r = ask((struct msg_query){.what = QUERY_TOKENS});
        assert_int_equal(r.refusal == REFUSE_NONE, ADMINS >> who & 1u);
        vec_done(&r.row);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(each_case_from_everybody),
        STORY(filters_do_not_reach_others),
        STORY(what_is_no_request_is_taken_from_nobody),
        STORY(only_administrators_see_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
