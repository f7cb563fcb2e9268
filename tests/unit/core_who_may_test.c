/* Who may, where a check has two halves of which the other one is tried elsewhere: tokens as the
 * store has them, whose host a job's is, what counts as much, what an update brings to the disk. */
#include "core_help.h"

/* ---- tokens ---- */

static void token_make(const char *id, enum host_kind kind, bool trusted)
{
    struct token t = {.id = id,
                      .secret_hash = "5ecre7",
                      .kind = (int32_t)kind,
                      .trusted = trusted,
                      .uses_left = 5};
    am_root();
    say(1, MSG_MAKE_TOKEN,
        &(struct msg_make_token){.token = {.v = &t, .n = 1}, .text = "the token"});
    assert_int_equal(refusal(), REFUSE_NONE);
}

/* The kind alone decides; what else a request says of it is nothing. */
static void a_token_is_as_trusted_as_its_kind(void **unused)
{
    static const struct {
        const char *id;
        enum host_kind kind;
        bool says;
    } rows[] = {{"a", HOST_TRUSTED, false},   {"b", HOST_TRUSTED, true},
                {"c", HOST_LOGIN, true},      {"d", HOST_LOGIN, false},
                {"e", HOST_UNTRUSTED, true},  {"f", HOST_UNTRUSTED, false},
                {"g", HOST_KIND_UNSET, true}, {"h", HOST_KIND_UNSET, false}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        token_make(rows[i].id, rows[i].kind, rows[i].says);
    struct rows r = ask((struct msg_query){.what = QUERY_TOKENS});
    assert_int_equal(r.row.n, ARRAY_LEN(rows));
    for (size_t i = 0; i < r.row.n; i++) {
        const struct token *t = r.row.v[i];
        assert_int_equal(t->trusted, rows[t->id[0] - 'a'].kind == HOST_TRUSTED);
    }
    vec_done(&r.row);
}

/* One of a kind that this release does not know, or that an older one did not write down. */
static void a_token_without_a_kind_lets_nobody_in(void **unused)
{
    static const int32_t kinds[] = {HOST_TRUSTED, HOST_KIND_UNSET, HOST_KINDS, -1};
    struct token *row = NULL;
    token_make("t1", HOST_TRUSTED, true);
    for (size_t i = 0; i < w.store.n; i++)
        if (w.store.v[i].table == TABLE_TOKEN)
            row = w.store.v[i].record;
    assert_non_null(row);
    for (size_t i = ARRAY_LEN(kinds); i-- > 0;) {
        row->kind = kinds[i];
        restart(CONF);
        struct host h = {.id = "h1", .name = "h1", .nodes = "n9", .token = "t1"};
        w.peer = (struct peer){.uid = UINT32_MAX, .gid = UINT32_MAX, .host = "10.0.0.2"};
        say(2, MSG_JOIN, &(struct msg_join){.text = "5ecre7", .host = {.v = &h, .n = 1}});
        am_root();
        assert_int_equal(sent(FX_REPLY, MSG_JOINED), kinds[i] == HOST_TRUSTED);
        assert_int_equal(core_host(w.c, "h1") != NULL, kinds[i] == HOST_TRUSTED);
    }
}

/* ---- jobs ---- */

/* A partition takes jobs from its hosts only: of operators it is not asked, nor where the partition
 * stays. */
static void where_a_job_comes_from_is_asked_of_owners_who_move_it(void **unused)
{
    configure(CONF "PartitionName=closed Nodes=n1 AllocNodes=elsewhere State=UP\n");
    struct job_spec s = a_job("j"), to = {.req.partition = "closed"}, name = {.name = "k"};
    s.hold = true;
    uint64_t id = submit(s);
    struct msg_update_job m = {.ids = ids_of(id), .fields = "partition", .values = {&to, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_not_equal(refusal(), REFUSE_NONE);
    assert_string_equal(job(id)->spec.req.partition, "main");
    am_olga();
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_string_equal(job(id)->spec.req.partition, "closed");
    am_alice();
    m.fields = "name";
    m.values.v = &name;
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    struct job_spec longer = {.req.time_limit_us = 20 * MIN};
    m.fields = "time_limit_us";
    m.values.v = &longer;
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_int_equal(job(id)->spec.req.time_limit_us, 20 * MIN);
}

/* Texts that grow by an update are new rows on the disk, as often as they grow. */
static void what_updates_bring_to_the_disk_counts(void **unused)
{
    configure(CONF "MaxUserScripts=1\n");
    static char text[30001];
    memset(text, 'x', sizeof text - 1);
    struct job_spec s = a_job("j"), with = {.comment = text}, without = {.comment = ""};
    s.hold = true;
    uint64_t id = submit(s);
    size_t n = 0;
    for (; n < 100; n++) {
        struct msg_update_job m = {.ids = ids_of(id), .fields = "comment", .values = {&with, 1}};
        say(1, MSG_UPDATE_JOB, &m);
        if (refusal())
            break;
        m.values.v = &without;
        say(1, MSG_UPDATE_JOB, &m);
        assert_int_equal(refusal(), REFUSE_NONE);
    }
    assert_int_equal(refusal(), REFUSE_TOO_LARGE);
    assert_non_null(strstr(answer()->detail, "MaxUserScripts allows 1 a day"));
    assert_in_range(n, 30, 36);
}

static enum refusal changed(struct msg_update_job m)
{
    say(1, MSG_UPDATE_JOB, &m);
    return refusal();
}

static enum refusal change(uint64_t id, const char *fields, struct job_spec values)
{
    return changed(
        (struct msg_update_job){.ids = ids_of(id), .fields = fields, .values = {&values, 1}});
}

/* Of components together as of each by itself; nor does it show how many there are. */
static void nobody_else_changes_components(void **unused)
{
    struct job_spec both[] = {a_job("one"), a_job("two")}, to[2] = {{.shell = "/tmp/mine"}};
    both[0].hold = both[1].hold = true;
    uint64_t id = submit_all(both, 2), before;
    struct msg_update_job m = {.ids = ids_of(id), .fields = "shell;", .values = {to, 2}};
    static const char *const fields[] = {
        "shell;", ";shell", "comment;comment", "later_env;work_dir", "time_limit_us;", ";"};
    am_bob();
    before = core_hash(w.c);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        for (size_t n = 2; n < 4; n++) {
            struct job_spec more[3] = {to[0]};
            m.fields = fields[i];
            m.values = (typeof(m.values)){more, n};
            assert_int_equal(changed(m), REFUSE_ACCESS_DENIED);
            assert_null(answer()->detail);
        }
    assert_true(core_hash(w.c) == before);
    am_alice();
    m.fields = "shell;";
    m.values = (typeof(m.values)){to, 2};
    assert_int_equal(changed(m), REFUSE_NONE);
    assert_string_equal(job(id)->spec.shell, "/tmp/mine");
}

/* An operator, or a coordinator, is not everybody. */
static void what_runs_in_its_owners_name_is_its_owners_to_say(void **unused)
{
    static const char *const fields[] = {
        "shell",   "later_env", "script_args", "work_dir",  "std_in",     "std_out",
        "std_err", "open_mode", "export_env",  "mail_user", "mail_types", "comment,work_dir"};
    struct job_spec held = a_job("one");
    held.hold = true;
    uint64_t id = submit(held);
    struct job_spec v = {.shell = "/bin/x",
                         .later_env = "A=1\n",
                         .script_args = "a\n",
                         .work_dir = "/tmp/x",
                         .std_in = "/tmp/in",
                         .std_out = "/tmp/out",
                         .std_err = "/tmp/err",
                         .export_env = "ALL",
                         .mail_user = "a@example.org"};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        am_olga();
        assert_int_equal(change(id, fields[i], v), REFUSE_ACCESS_DENIED);
        assert_non_null(answer()->detail);
        am_alice();
        assert_int_equal(change(id, fields[i], v), REFUSE_NONE);
        am_root();
        assert_int_equal(change(id, fields[i], v), REFUSE_NONE);
    }
}

/* %x in the name of a file stands for it. */
static void a_name_that_is_a_path_is_its_owners_to_give(void **unused)
{
    struct job_spec held = a_job("one"), to = {.name = "../up"}, plain = {.name = "new"};
    held.hold = true;
    uint64_t id = submit(held);
    am_olga();
    assert_int_equal(change(id, "name", to), REFUSE_ACCESS_DENIED);
    assert_int_equal(change(id, "name", plain), REFUSE_NONE);
    am_alice();
    assert_int_equal(change(id, "name", to), REFUSE_NONE);
}

/* What was given later may be a secret, as all of the environment. */
static void later_variables_are_shown_to_their_owner(void **unused)
{
    static const struct {
        void (*who)(void);
        bool sees;
    } rows[] = {{am_alice, true}, {am_olga, true}, {am_root, true}, {am_bob, false}};
    struct job_spec s = a_job("one");
    s.hold = true;
    s.later_env = "KEY=secret\n";
    s.export_env = "NONE,KEY=secret";
    uint64_t id = submit(s);
    s.export_env = "ALL,HOME,KEY";
    uint64_t named = submit(s);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        rows[i].who();
        struct rows r = ask((struct msg_query){.what = QUERY_JOBS, .ids = ids_of(id)});
        assert_int_equal(r.row.n, 1);
        const struct job_spec *shown = &((const struct job *)r.row.v[0])->spec;
        assert_int_equal(shown->later_env != NULL, rows[i].sees);
        assert_int_equal(shown->export_env != NULL, rows[i].sees);
        vec_done(&r.row);
        /* the same in the past, which is read beside the core */
        struct core_sight sight;
        core_sight_of(w.c, &w.peer, w.a, &sight);
        assert_int_equal(sight.operates || rows[i].who == am_alice, rows[i].sees);
        r = ask((struct msg_query){.what = QUERY_JOBS, .ids = ids_of(named)});
        shown = &((const struct job *)r.row.v[0])->spec;
        assert_string_equal(shown->export_env, "ALL,HOME,KEY");
        vec_done(&r.row);
    }
}

/* Limits of a partition are looked for by its name, so that a blank is no way around them. */
static void blanks_around_a_partition_are_not_its_name(void **unused)
{
    static const char *const names[] = {" main", "main ", "\tmain", " main , main "};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct job_spec s = a_job("j"), to = {.req.partition = names[i]};
        s.hold = true;
        s.req.partition = names[i];
        uint64_t id = submit(s);
        assert_string_equal(job(id)->spec.req.partition, "main");
        assert_int_equal(change(id, "partition", to), REFUSE_NONE);
        assert_string_equal(job(id)->spec.req.partition, "main");
        to.req.partition = " ";
        assert_int_not_equal(change(id, "partition", to), REFUSE_NONE);
        assert_string_equal(job(id)->spec.req.partition, "main");
    }
}

/* ---- what a copy of the controller answers ---- */

static void what_plans_for_one_is_much_where_there_is_much(void **unused)
{
    struct job_spec s = a_job("j");
    struct msg_submit submits = {.specs = {&s, 1}}, tries = {.specs = {&s, 1}, .test_only = true};
    struct msg_extend more = {.id = "1", .add_us = MIN};
    struct msg_cancel ends = {.ids = "1"};
    struct msg_query asks = {.what = QUERY_JOBS};
    const struct {
        enum message_kind kind;
        const void *body;
        bool much;
    } rows[] = {{MSG_WHY, &(struct msg_why){0}, true},
                {MSG_MAY, &(struct msg_may){0}, true},
                {MSG_EXTEND, &more, true},
                {MSG_SUBMIT, &tries, true},
                {MSG_SUBMIT, &submits, false},
                {MSG_CANCEL, &ends, false},
                {MSG_QUERY, &asks, false}};
    for (int large = 0; large < 2; large++) {
        if (large)
            configure(CONF "NodeName=far[1-200] CPUs=1\n");
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            struct message m = {.kind = rows[i].kind, .body = rows[i].body};
            assert_int_equal(core_asks_much(w.c, &m), large && rows[i].much);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(a_token_is_as_trusted_as_its_kind),
        STORY(a_token_without_a_kind_lets_nobody_in),
        STORY(where_a_job_comes_from_is_asked_of_owners_who_move_it),
        STORY(what_updates_bring_to_the_disk_counts),
        STORY(nobody_else_changes_components),
        STORY(blanks_around_a_partition_are_not_its_name),
        STORY(later_variables_are_shown_to_their_owner),
        STORY(a_name_that_is_a_path_is_its_owners_to_give),
        STORY(what_runs_in_its_owners_name_is_its_owners_to_say),
        STORY(what_plans_for_one_is_much_where_there_is_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
