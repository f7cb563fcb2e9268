/* AccountingStorageEnforce=wckeys: a job has a workload key of its user, given or his default. */
#include "core_tree.h"

#define KEYS CONF "AccountingStorageEnforce=wckeys\n"

static void key(enum account_verb verb, const char *name, const char *user)
{
    change(verb, NOUN_WCKEY)->wckey =
        (struct record_list){KEEP(struct wckey, .name = name, .user = user), 1};
    assert_int_equal(changed(false), REFUSE_NONE);
}

static void first_key(const char *user, const char *name)
{
    struct account_change *ch = change(VERB_MODIFY, NOUN_USER);
    ch->fields = "default_wckey";
    ch->user =
        (struct record_list){KEEP(struct account_user, .name = user, .default_wckey = name), 1};
    assert_int_equal(changed(false), REFUSE_NONE);
}

/* alice has go (default) and chess, bob has poker and no default. */
static void opens(const char *conf)
{
    world_open(conf, 4);
    the_tree();
    key(VERB_ADD, "go", "alice");
    key(VERB_ADD, "chess", "alice");
    key(VERB_ADD, "poker", "bob");
    first_key("alice", "go");
    am_alice();
}

static uint64_t with_key(const char *name, const char *array, size_t components)
{
    struct job_spec s = job_of(1, NULL, NULL), specs[2];
    s.wckey = name;
    s.array = array;
    specs[0] = specs[1] = s;
    return submit_all(specs, components);
}

static void taken(const char *name, const char *kept)
{
    static const char *const array[] = {NULL, "1-3", NULL};
    for (size_t i = 0; i < ARRAY_LEN(array); i++) {
        uint64_t id = with_key(name, array[i], i == 2 ? 2 : 1);
        assert_int_not_equal(id, 0);
        assert_string_equal(job(id)->spec.wckey, kept);
        if (i == 2)
            assert_string_equal(job(id + 1)->spec.wckey, kept);
    }
}

static void refused(const char *name, const char *told)
{
    static const char *const array[] = {NULL, "1-3", NULL};
    for (size_t i = 0; i < ARRAY_LEN(array); i++) {
        assert_int_equal(with_key(name, array[i], i == 2 ? 2 : 1), 0);
        assert_int_equal(refusal(), REFUSE_WCKEY);
        assert_string_equal(answer()->detail, told);
    }
}

static void a_key_is_ones_own(void **unused)
{
    (void)unused;
    opens(KEYS);
    taken("chess", "chess");
    taken("go", "go");
    taken(NULL, "*go");
    taken("", "*go");
    refused("nosuch", "the workload key nosuch is not yours; yours: go (default), chess");
    refused("poker", "the workload key poker is not yours; yours: go (default), chess");
    am(901, "bob", false);
    taken("poker", "poker");
    refused(NULL, "a job needs a workload key here (--wckey); yours: poker");
    world_close();
}

static void one_that_is_gone_is_no_more(void **unused)
{
    (void)unused;
    opens(KEYS);
    uint64_t before = with_key("chess", NULL, 1);
    key(VERB_REMOVE, "chess", "alice");
    am_alice();
    refused("chess", "the workload key chess is not yours; yours: go (default)");
    restart(KEYS);
    am_alice();
    refused("chess", "the workload key chess is not yours; yours: go (default)");
    assert_string_equal(job(before)->spec.wckey, "chess");
    taken(NULL, "*go");
    key(VERB_REMOVE, "go", "alice");
    am_alice();
    refused(NULL, "a job needs a workload key here (--wckey); you have none: ask an administrator");
    key(VERB_ADD, "chess", "alice");
    am_alice();
    taken("chess", "chess");
    world_close();
}

static void roots_may_be_empty(void **unused)
{
    (void)unused;
    opens(KEYS);
    am_root();
    taken(NULL, "*");
    refused("chess", "the workload key chess is not yours; you have none: ask an administrator");
    world_close();
}

static enum refusal rekeyed(uint64_t id, const char *name)
{
    struct job_spec to = {.wckey = name};
    struct msg_update_job m = {.ids = ids_of(id), .fields = "wckey", .values = {&to, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    return refusal();
}

/* The job's user's keys, whoever changes it; waiting or running. */
static void it_is_changed_to_another_of_ones_own(void **unused)
{
    (void)unused;
    opens(KEYS);
    for (int running = 0; running < 2; running++) {
        struct job_spec s = job_of(1, NULL, NULL);
        s.hold = !running;
        uint64_t id = submit(s);
        assert_int_equal(state(id), running ? JOB_RUNNING : JOB_PENDING);
        assert_int_equal(rekeyed(id, "nosuch"), REFUSE_WCKEY);
        assert_string_equal(job(id)->spec.wckey, "*go");
        assert_int_equal(rekeyed(id, "chess"), REFUSE_NONE);
        assert_string_equal(job(id)->spec.wckey, "chess");
        am_root();
        assert_int_equal(rekeyed(id, "poker"), REFUSE_WCKEY);
        assert_int_equal(rekeyed(id, ""), REFUSE_NONE);
        assert_string_equal(job(id)->spec.wckey, "*go");
        am_alice();
    }
    world_close();
}

/* sacctmgr modify job: else what is charged to keys were whatever users say afterwards. */
static void it_is_ones_own_afterwards_too(void **unused)
{
    (void)unused;
    struct job past = {.id = 7,
                       .user_id = ALICE,
                       .user_name = "alice",
                       .state = JOB_COMPLETED,
                       .spec = {.name = "past", .wckey = "go"}};
    const struct record_list rows = {&past, 1};
    struct job values = {0};
    struct msg_amend_jobs m = {.ids = "7", .fields = "wckey", .values = {&values, 1}};
    struct message msg = {.kind = MSG_AMEND_JOBS, .seq = 4711, .body = &m};
    static const struct {
        const char *key, *becomes;
    } cases[] = {{"poker", NULL}, {"nosuch", NULL}, {"chess", "chess"}, {"", "*go"}};
    opens(KEYS);
    for (size_t i = 0; i < 2 * ARRAY_LEN(cases); i++) {
        if (i == ARRAY_LEN(cases))
            am_root();
        values.spec.wckey = cases[i % ARRAY_LEN(cases)].key;
        const char *becomes = cases[i % ARRAY_LEN(cases)].becomes;
        msg.seq++;
        effects_reset(&w.fx);
        step((struct event){
            .kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &msg, .rows = &rows});
        assert_int_equal(refusal(), becomes ? REFUSE_NONE : REFUSE_WCKEY);
        for (size_t k = 0; k < w.fx.n; k++)
            if (w.fx.v[k].kind == FX_STORE && w.fx.v[k].table == TABLE_JOB)
                assert_string_equal(((const struct job *)w.fx.v[k].record)->spec.wckey, becomes);
    }
    world_close();
}

static void without_it_any_will_do(void **unused)
{
    (void)unused;
    opens(ENFORCED);
    taken("nosuch", "nosuch");
    uint64_t id = with_key(NULL, NULL, 1);
    assert_null(job(id)->spec.wckey);
    assert_int_equal(rekeyed(id, "poker"), REFUSE_NONE);
    world_close();
    opens(CONF "AccountingStorageEnforce=all\n");
    refused("nosuch", "the workload key nosuch is not yours; yours: go (default), chess");
    world_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_ones_own),
        cmocka_unit_test(one_that_is_gone_is_no_more),
        cmocka_unit_test(roots_may_be_empty),
        cmocka_unit_test(it_is_changed_to_another_of_ones_own),
        cmocka_unit_test(it_is_ones_own_afterwards_too),
        cmocka_unit_test(without_it_any_will_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
