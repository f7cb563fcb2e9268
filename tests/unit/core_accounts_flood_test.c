/* What people who are no operators can make of the book of accounts, and how long one request of
 * theirs can take: bounded, however they ask. */
#include "core_accounts_help.h"

#include "core/record/accounts/limits.h"
#include "core/record/record.h"
#include "model/limits.h"
#include <time.h>

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Without what the world checks after each step, which takes longer than what is measured. */
static enum refusal send_fast(void)
{
    struct msg_change_accounts m = {.changes = {list.v, list.n}};
    struct message asks = {.kind = MSG_CHANGE_ACCOUNTS, .seq = ++w.seq, .body = &m};
    effects_reset(&w.fx);
    w.fills = true;
    step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &asks});
    w.fills = false;
    vec_clear(&list);
    return refusal();
}

static const struct transaction *transaction(size_t number)
{
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_STORE && w.fx.v[i].table == TABLE_TRANSACTION && number-- == 0)
            return w.fx.v[i].record;
    return NULL;
}

static const char *letters(size_t n)
{
    char *text = arena_alloc(w.a, n + 1);
    for (size_t i = 0; i < n; i++)
        text[i] = 'x';
    return text;
}

static void wants_key(const char *key)
{
    struct account_user u = {.name = "alice", .default_wckey = key};
    more(NOUN_USER, VERB_MODIFY, "default_wckey")->user = (struct record_list){KEEP(u), 1};
}

/* ---- rows on the disk ------------------------------------------------------------------------ */

static void what_changes_nothing_leaves_no_row(void **unused)
{
    (void)unused;
    tree();
    am_alice();
    user(VERB_MODIFY, "alice", "nova"); /* as it is */
    sent_well();
    assert_null(transaction(0));
    assert_int_equal(told()->changed.n, 1);
    am_bob();
    assoc(VERB_MODIFY, "comment", nova("alice"));
    sent_well();
    assert_null(transaction(0));
    am_root(); /* who is heard of asking, too */
    user(VERB_MODIFY, "alice", "nova");
    sent_well();
    assert_non_null(transaction(0));
}

static void a_default_key_is_a_name_of_one(void **unused)
{
    (void)unused;
    tree();
    am_alice();
    static const char *const wrong[] = {"two words", "a,b", "*", "\x1b[2J"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        wants_key(wrong[i]);
        assert_int_equal(send(), REFUSE_UPDATE);
    }
    wants_key(letters(4000));
    assert_int_equal(send(), REFUSE_UPDATE);
    wants_key("k");
    sent_well();
    wants_key(NULL);
    sent_well();
    am_root();
    struct account_user u = {.name = "new", .default_account = "nova", .default_wckey = "a b"};
    more(NOUN_USER, VERB_ADD, NULL)->user = (struct record_list){KEEP(u), 1};
    assert_int_equal(send(), REFUSE_UPDATE);
}

/* 256 changes a request, of which each says something else. */
static size_t requests_until_refused(size_t most)
{
    size_t n = 0;
    enum refusal r = REFUSE_NONE;
    for (; n < most && !r; n++) {
        for (int i = 0; i < 256; i++)
            wants_key(i % 2 ? "k" : "l");
        r = send();
        if (r)
            assert_int_equal(r, REFUSE_TOO_LARGE);
    }
    return n;
}

static void rows_of_changes_count_as_the_users(void **unused)
{
    (void)unused;
    configure(CONF "MaxUserScripts=1\n");
    tree();
    am_alice();
    assert_in_range(requests_until_refused(100), 3, 30);
    assert_non_null(strstr(answer()->detail, "MaxUserScripts"));
    assert_null(transaction(0));
    assert_int_equal(submit(a_job("next")) != 0, true); /* one more row still fits */
    am_root();
    wants_key("k");
    sent_well(); /* operators are not bound */
    w.now += 24 * 60 * MIN;
    am_alice();
    assert_true(requests_until_refused(100) > 2);
    w.now += 24 * 60 * MIN;
    am_bob();
    struct account_change *ch = assoc(VERB_MODIFY, NULL, nova("alice"));
    limited(ch, LIMIT_MAX_JOBS, "3");
    sent_well(); /* another's room is his own */
}

static void a_transaction_is_short_whatever_was_asked(void **unused)
{
    enum { ACCOUNTS = 3000 };
    (void)unused;
    tree();
    struct account a = {.name = "nova", .description = letters(4096)};
    more(NOUN_ACCOUNT, VERB_MODIFY, "description")->account = (struct record_list){KEEP(a), 1};
    sent_well();
    assert_in_range(strlen(transaction(0)->info), 100, 2000);
    /* what is not named is not told at any length either */
    struct account_user u = {
        .name = "alice", .default_account = "nova", .default_wckey = letters(30000)};
    am_alice();
    more(NOUN_USER, VERB_MODIFY, "default_account")->user = (struct record_list){KEEP(u), 1};
    assert_int_equal(send(), REFUSE_TOO_LARGE);
    am_root();
    for (int i = 0; i < ACCOUNTS; i++) {
        const char *name = arena_printf(w.a, "account%d", i);
        account(VERB_ADD, name);
        assoc(VERB_ADD, NULL, (struct assoc){.account = name});
        assoc(VERB_ADD, NULL, (struct assoc){.account = name, .user = "alice"});
    }
    assert_int_equal(send_fast(), REFUSE_NONE);
    user(VERB_REMOVE, "alice", NULL);
    assert_int_equal(send_fast(), REFUSE_NONE);
    assert_in_range(strlen(transaction(0)->accounts), 1000, 2300);
    assert_string_equal(transaction(0)->users, "alice");
}

/* ---- limits ---------------------------------------------------------------------------------- */

static struct limit *licences(struct account_change *ch, size_t from, size_t n)
{
    struct limit *l = arena_alloc(w.a, (n + 1) * sizeof *l);
    for (size_t i = 0; i < n; i++)
        l[i] = (struct limit){
            .what = LIMIT_MAX_TRES, .tres = arena_printf(w.a, "license/%zu", from + i), .value = 1};
    ch->limits = (struct record_list){l, n};
    return l;
}

static void limits_of_an_association_are_bounded(void **unused)
{
    (void)unused;
    tree();
    uint64_t before = book();
    am_bob();
    double began = cpu_seconds();
    licences(assoc(VERB_MODIFY, NULL, nova(NULL)), 0, LIMIT_LIST_RECORDS);
    assert_int_equal(send_fast(), REFUSE_TOO_LARGE);
    assert_true(cpu_seconds() - began < 2);
    assert_int_equal(book(), before);
    licences(assoc(VERB_MODIFY, NULL, nova(NULL)), 0, LIMIT_LIMITS);
    sent_well();
    licences(assoc(VERB_MODIFY, NULL, nova(NULL)), LIMIT_LIMITS, 1);
    assert_int_equal(send(), REFUSE_TOO_LARGE);
    assert_non_null(strstr(answer()->detail, "256"));
    licences(assoc(VERB_MODIFY, NULL, nova(NULL)), 7, 1)->value = 3; /* that is there */
    sent_well();
    licences(assoc(VERB_MODIFY, NULL, nova(NULL)), 7, 1)->value = -1;
    sent_well();
    licences(assoc(VERB_MODIFY, NULL, nova(NULL)), LIMIT_LIMITS, 1);
    sent_well();
    am_root();
    licences(qos(VERB_MODIFY, NULL, (struct qos){.name = "opp"}), 0, LIMIT_LIMITS + 1);
    assert_int_equal(send(), REFUSE_TOO_LARGE);
    account(VERB_REMOVE, "nova");
    sent_well();
}

/* A job counts against those of all accounts above it together. */
static void limits_above_each_other_count_together(void **unused)
{
    (void)unused;
    tree();
    am_bob();
    licences(assoc(VERB_MODIFY, NULL, nova("alice")), 0, 200);
    sent_well();
    licences(assoc(VERB_MODIFY, NULL, nova(NULL)), 1000, 100);
    assert_int_equal(send(), REFUSE_TOO_LARGE);
    assert_non_null(strstr(answer()->detail, "alice"));
    licences(assoc(VERB_MODIFY, NULL, nova(NULL)), 1000, 56);
    sent_well();
    licences(assoc(VERB_MODIFY, NULL, nova("alice")), 200, 1);
    assert_int_equal(send(), REFUSE_TOO_LARGE);
    assoc(VERB_MODIFY, "shares", (struct assoc){.account = "nova", .user = "alice", .shares = 3});
    sent_well(); /* what adds none goes on */
    account(VERB_ADD, "other");
    licences(assoc(VERB_ADD, NULL, (struct assoc){.account = "other", .parent = "physics"}), 500,
             30);
    sent_well();
    assoc(VERB_MODIFY, "parent", (struct assoc){.account = "nova", .parent = "other"});
    assert_int_equal(send(), REFUSE_TOO_LARGE);
}

static void a_limits_texts_are_short(void **unused)
{
    (void)unused;
    tree();
    am_bob();
    struct limit *l = licences(assoc(VERB_MODIFY, NULL, nova(NULL)), 0, 1);
    l->tres = arena_printf(w.a, "license/%s", letters(300));
    assert_int_equal(send(), REFUSE_TOO_LARGE);
    l = licences(assoc(VERB_MODIFY, NULL, nova(NULL)), 0, 1);
    *l = (struct limit){.what = LIMIT_GRP_JOBS, .value = 1, .hours = letters(300)};
    assert_int_equal(send(), REFUSE_TOO_LARGE);
    assert_true(strlen(answer()->detail) < 300);
    *l = (struct limit){.what = LIMIT_GRP_JOBS, .value = 1, .hours = "weekdays 08:00-18:00"};
    licences(assoc(VERB_MODIFY, NULL, nova(NULL)), 0, 1)[0] = *l;
    sent_well();
}

/* Minutes that are more than time has. */
static void a_time_that_is_no_time_is_refused(void **unused)
{
    (void)unused;
    configure(CONF "AccountingStorageEnforce=limits\n");
    tree();
    am_bob();
    static const enum resource_limit times[] = {LIMIT_MAX_WALL, LIMIT_GRP_WALL};
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        struct limit *l = licences(assoc(VERB_MODIFY, NULL, nova(NULL)), 0, 1);
        *l = (struct limit){.what = (int32_t)times[i], .value = INT64_MAX / 4};
        assert_int_equal(send(), REFUSE_TOO_LARGE);
    }
    /* an older release's store has it: it holds nobody, and is said in words */
    struct limit old = {.owner = OWNER_ASSOC,
                        .owner_id = assoc_find(w.c, "nova", NULL, NULL)->a.id,
                        .what = LIMIT_MAX_WALL,
                        .value = INT64_MAX / 4};
    accounts_put(w.c, TABLE_LIMIT, &old);
    am_alice();
    struct job_spec s = a_job("long");
    s.req.account = "nova";
    s.req.time_limit_us = 30 * MIN;
    uint64_t id = submit(s);
    assert_true(id > 0);
    struct jobrec trial = *job_find(w.c, id);
    trial.j.spec.req.time_limit_us = 0;
    assert_int_equal(limits_wall_given_us(w.c, &trial, "main"), 0);
    assert_true(limits_wall_given_us(w.c, &trial, "small") > 365 * 24 * 60 * MIN);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static const char *again(const char *word, size_t n)
{
    struct str text = STR_INIT;
    for (size_t i = 0; i < n; i++)
        str_addf(&text, "%s%s", i ? "," : "", word);
    const char *kept = arena_strdup(w.a, str_text(&text));
    str_done(&text);
    return kept;
}

static const char *numbered(size_t n)
{
    struct str text = STR_INIT;
    for (size_t i = 0; i < n; i++)
        str_addf(&text, "%s%zu", i ? "," : "", i);
    const char *kept = arena_strdup(w.a, str_text(&text));
    str_done(&text);
    return kept;
}

static void a_field_is_named_once(void **unused)
{
    (void)unused;
    tree();
    uint64_t before = book();
    am_bob();
    double began = cpu_seconds();
    struct assoc less = {.account = "nova", .user = "alice", .qos = "normal"};
    for (int i = 0; i < 100; i++)
        assoc(VERB_MODIFY, again("qos", 200), less)->list = LIST_LESS;
    assert_int_equal(send_fast(), REFUSE_UPDATE);
    assoc(VERB_MODIFY, "shares,comment,shares", less);
    assert_int_equal(send_fast(), REFUSE_UPDATE);
    assert_non_null(strstr(answer()->detail, "shares"));
    assoc(VERB_MODIFY, again("qos", 16000), less)->list = LIST_LESS;
    assert_int_equal(send_fast(), REFUSE_TOO_LARGE);
    less.qos = numbered(12000);
    assoc(VERB_MODIFY, "qos", less)->list = LIST_LESS;
    assert_int_equal(send_fast(), REFUSE_TOO_LARGE);
    assert_true(cpu_seconds() - began < 1);
    assert_int_equal(book(), before);
}

static void what_is_taken_away_is_there(void **unused)
{
    (void)unused;
    tree();
    am_bob();
    struct assoc less = {.account = "nova", .user = "alice", .qos = "nosuch"};
    assoc(VERB_MODIFY, "qos", less)->list = LIST_LESS;
    assert_int_equal(send(), REFUSE_QOS);
    less.qos = again("normal", 500);
    assoc(VERB_MODIFY, "qos", less)->list = LIST_LESS;
    sent_well();
    assert_string_equal(assoc_find(w.c, "nova", "alice", NULL)->a.qos_less, "normal");
}

/* ---- what goes through all -------------------------------------------------------------------- */

/* physics ─ a, b, c with `n` users of a. */
static void crowd(int n)
{
    tree();
    static const char *const under[] = {"a", "b", "c"};
    for (size_t i = 0; i < ARRAY_LEN(under); i++) {
        account(VERB_ADD, under[i]);
        assoc(VERB_ADD, NULL, (struct assoc){.account = under[i], .parent = "physics"});
    }
    for (int i = 0; i < n; i++) {
        const char *name = arena_printf(w.a, "u%d", i);
        user(VERB_ADD, name, "a");
        assoc(VERB_ADD, NULL, (struct assoc){.account = "a", .user = name});
    }
    assert_int_equal(send_fast(), REFUSE_NONE);
}

static void moves_to(const char *parent)
{
    assoc(VERB_MODIFY, "parent", (struct assoc){.account = "a", .parent = parent});
}

static void a_request_goes_through_all_so_often(void **unused)
{
    (void)unused;
    crowd(10000);
    uint64_t before = book();
    am_bob();
    for (int i = 0; i < 20; i++)
        moves_to(i % 2 ? "b" : "c");
    assert_int_equal(send_fast(), REFUSE_NONE); /* as anybody might */
    assert_string_equal(assoc_find(w.c, "a", NULL, NULL)->up->a.account, "b");
    moves_to("physics");
    assert_int_equal(send_fast(), REFUSE_NONE);
    assert_int_equal(book(), before);
    double began = cpu_seconds();
    for (int i = 0; i < 60000; i++)
        moves_to(i % 2 ? "b" : "c");
    assert_int_equal(send_fast(), REFUSE_TOO_LARGE);
    assert_true(cpu_seconds() - began < 2);
    am_olga();
    for (int i = 0; i < 60000; i++)
        assoc(VERB_MODIFY, NULL, nova("alice"))->no_usage = true;
    assert_int_equal(send_fast(), REFUSE_NONE);
    assert_true(cpu_seconds() - began < 4);
    assert_int_equal(book(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(what_changes_nothing_leaves_no_row),
        STORY(a_default_key_is_a_name_of_one),
        STORY(rows_of_changes_count_as_the_users),
        STORY(a_transaction_is_short_whatever_was_asked),
        STORY(limits_of_an_association_are_bounded),
        STORY(limits_above_each_other_count_together),
        STORY(a_limits_texts_are_short),
        STORY(a_time_that_is_no_time_is_refused),
        STORY(a_field_is_named_once),
        STORY(what_is_taken_away_is_there),
        STORY(a_request_goes_through_all_so_often),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    vec_done(&list);
    return failed;
}
