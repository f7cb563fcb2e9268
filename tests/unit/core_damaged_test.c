/* A store that somebody has changed by hand, or that was got out of a damaged file: a text of a row
 * that names another names itself, nothing, or one in a circle. A controller starts from it, says
 * what is wrong, and goes on with the rest. */
#include "core_damaged_help.h"

#include "share.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_SEC 60 /* for one world, which takes some milliseconds */

/* ---- damage --------------------------------------------------------------------------------- */

static const char *key_text(const struct kept *k)
{
    const struct fields *t = store_table_rows[k->table].fields;
    const void *p = field_ptr(&t->field[0], k->record);
    if (t->field[0].type == FIELD_TEXT)
        return *(const char *const *)p;
    return arena_printf(w.a, "%u", *(const uint32_t *)p);
}

static const char *const texts[] = {NULL,
                                    "nothing",
                                    "([,-:%=\n\033[",
                                    "999999999999999999999",
                                    "-1",
                                    " ",
                                    "nova",
                                    "physics",
                                    "alice",
                                    "high",
                                    "opp"};
static const uint64_t numbers[] = {0, 1, 2, 3, 99, INT32_MAX, INT64_MAX, UINT64_MAX, 1u << 31};

#define ITSELF ARRAY_LEN(texts)
#define WAYS   (ITSELF + 2)

static const char *text_of(const struct kept *k, size_t way)
{
    const char *own = key_text(k);
    if (way < ITSELF)
        return texts[way];
    return way == ITSELF ? own
                         : arena_printf(w.a, "nothing,%s,,%s", own ? own : "", own ? own : "");
}

/* False: there is no such way. */
static bool damage(struct kept *k, const struct field *f, size_t way)
{
    void *p = field_ptr(f, k->record);
    bool number = f->type != FIELD_TEXT && f->type != FIELD_BOOL && f->type != FIELD_BLOB;
    bool wide = f->type != FIELD_ENUM && f->type != FIELD_I32 && f->type != FIELD_U32;
    if (f->type == FIELD_BLOB || (number && way >= ARRAY_LEN(numbers)) ||
        (f->type == FIELD_BOOL && way > 0))
        return false;
    if (f->type == FIELD_TEXT)
        *(const char **)p = text_of(k, way);
    else if (f->type == FIELD_BOOL)
        *(bool *)p ^= true;
    else if (wide)
        *(uint64_t *)p = numbers[way];
    else
        *(uint32_t *)p = (uint32_t)numbers[way];
    return true;
}

/* The row once more, under another key. */
static void twin_add(const struct kept *k)
{
    struct kept twin = *k;
    const struct fields *t = store_table_rows[k->table].fields;
    twin.record = arena_dup(w.a, k->record, t->size);
    void *p = field_ptr(&t->field[0], twin.record);
    if (t->field[0].type == FIELD_TEXT)
        *(const char **)p = arena_printf(w.a, "%s2", *(const char **)p);
    else
        *(uint32_t *)p += 50;
    twin.key = key_hash(twin.table, twin.record);
    vec_push(&w.store, twin);
}

/* ---- one of them after another --------------------------------------------------------------- */

#define TWIN SIZE_MAX

/* In a process of its own: one that dies, or never ends, is named. */
static void world_of(size_t row, size_t field, size_t way)
{
    alarm(PATIENCE_SEC);
    begin();
    struct kept *k = &w.store.v[row];
    const struct fields *t = store_table_rows[k->table].fields;
    bool damaged = field == TWIN;
    if (damaged)
        twin_add(k);
    else
        damaged = damage(k, &t->field[field], way);
    if (damaged)
        live_on();
    world_close();
}

static void lives(size_t row, size_t field, size_t way)
{
    int status;
    const struct kept *k = &w.store.v[row];
    const struct store_table_row *t = &store_table_rows[k->table];
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        world_of(row, field, way);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status != 0)
        fail_msg("%s %s, %s, way %zu: %s", t->name, key_text(k),
                 field == TWIN ? "twice" : t->fields->field[field].name, way,
                 WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "it never ends" : "it died");
}

/* What jobs and steps say they say twice: unit core_hostile has theirs. */
static bool is_tried(const struct kept *k)
{
    return k->table != TABLE_JOB && k->table != TABLE_STEP && k->table != TABLE_QUEUED_STEP;
}

static void every_reference_of_every_record(void **unused)
{
    (void)unused;
    size_t nth = 0;
    begin();
    for (size_t i = 0; i < w.store.n; i++) {
        const struct fields *t = store_table_rows[w.store.v[i].table].fields;
        if (!is_tried(&w.store.v[i]))
            continue;
        lives(i, TWIN, 0);
        for (size_t f = 0; f < t->n; f++)
            for (size_t way = 0; way < WAYS; way++)
                if (in_share(nth++, 67))
                    lives(i, f, way);
    }
    world_close();
}

/* ---- what is said ---------------------------------------------------------------------------- */

static struct assoc *stored_assoc(const char *account, const char *user)
{
    for (size_t i = 0; i < w.store.n; i++) {
        struct assoc *a = w.store.v[i].record;
        if (w.store.v[i].table == TABLE_ASSOC && text_is(a->account, account) &&
            text_is(a->user ? a->user : "", user ? user : ""))
            return a;
    }
    fail_msg("no association of %s", account);
    return NULL;
}

static struct qos *stored_qos(const char *name)
{
    for (size_t i = 0; i < w.store.n; i++)
        if (w.store.v[i].table == TABLE_QOS &&
            text_is(((struct qos *)w.store.v[i].record)->name, name))
            return w.store.v[i].record;
    fail_msg("no QOS %s", name);
    return NULL;
}

static void row_lose(enum store_table table, const char *key)
{
    for (size_t i = w.store.n; i-- > 0;)
        if (w.store.v[i].table == table && text_is(key_text(&w.store.v[i]), key))
            vec_remove(&w.store, i);
}

static void circle(void)
{
    stored_assoc("physics", NULL)->parent = "nova";
}
static void self(void)
{
    stored_assoc("nova", NULL)->parent = "nova";
}
static void nowhere(void)
{
    stored_assoc("nova", NULL)->parent = "nothing";
}
static void root_below(void)
{
    stored_assoc("root", NULL)->parent = "nova";
}
static void account_lost(void)
{
    row_lose(TABLE_ACCOUNT, "nova");
}
static void place_lost(void)
{
    row_lose(TABLE_ASSOC, arena_printf(w.a, "%u", stored_assoc("nova", NULL)->id));
}
static void user_lost(void)
{
    row_lose(TABLE_ACCOUNT_USER, "alice");
}
static void root_lost(void)
{
    row_lose(TABLE_ASSOC, "1");
    row_lose(TABLE_ACCOUNT, "root");
    row_lose(TABLE_ACCOUNT_USER, "root");
}
static void stops_itself(void)
{
    stored_qos("high")->preempt = "opp,high";
}
static void stop_each_other(void)
{
    stored_qos("opp")->preempt = "high";
}
static void assoc_twice(void)
{
    for (size_t i = w.store.n; i-- > 0;)
        if (w.store.v[i].record == stored_assoc("nova", "alice"))
            twin_add(&w.store.v[i]);
}
static void qos_twice(void)
{
    struct qos *q = stored_qos("high");
    for (size_t i = 0; i < w.store.n; i++)
        if (w.store.v[i].record == q) {
            twin_add(&w.store.v[i]);
            return;
        }
}
static void trigger_of_nothing(void)
{
    for (size_t i = 0; i < w.store.n; i++)
        if (w.store.v[i].table == TABLE_TRIGGER)
            ((struct trigger *)w.store.v[i].record)->job_id = 0;
}
static void reservation_of_noise(void)
{
    for (size_t i = 0; i < w.store.n; i++)
        if (w.store.v[i].table == TABLE_RESERVATION)
            ((struct reservation *)w.store.v[i].record)->nodes = "n[1";
}

static bool is_said(const char *words)
{
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_LOG && strstr(w.fx.v[i].text, words))
            return true;
    return false;
}

static const struct {
    void (*damage)(void);
    const char *said;
    bool alice; /* her job is taken */
} damages[] = {
    {circle, "account physics stands below nova, which stands below it in the end", true},
    {self, "account nova stands below nova, which stands below it in the end", true},
    {nowhere, "account nova stands below nothing, which is not there", true},
    {root_below, NULL, true},
    {account_lost, "is of account nova, which is not there: `sacctmgr add account nova`", true},
    {place_lost, "is of account nova, which is not there: `sacctmgr add account nova`", true},
    {user_lost, "is of user alice, who is not there: `sacctmgr add user alice account=nova`", true},
    {root_lost, "table assoc of the store had no row of root's: it is made anew", true},
    {stops_itself, "QOS high may stop high, which may stop it in the end", true},
    {stop_each_other, "QOS opp may stop high, which may stop it in the end", true},
    {assoc_twice, "of the store cannot be: it is the same as number 5", true},
    {qos_twice, "of the store cannot be: it has the name of number ", true},
    {trigger_of_nothing, "of the store cannot be: it is of a job, but of none", true},
    {reservation_of_noise, "of the store cannot be: nodes: ", true},
};

static void what_is_wrong_is_said_and_the_rest_goes_on(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(damages); i++) {
        alarm(PATIENCE_SEC);
        begin();
        damages[i].damage();
        start_again();
        if (damages[i].said && !is_said(damages[i].said)) {
            for (size_t k = 0; k < w.fx.n; k++)
                if (w.fx.v[k].kind == FX_LOG)
                    print_message("%s\n", w.fx.v[k].text);
            fail_msg("not said: %s", damages[i].said);
        }
        nodes_back();
        am_alice();
        assert_int_equal(submit(of_nova("goes on")) != 0, damages[i].alice);
        all_asked();
        live_on();
        world_close();
    }
    alarm(0);
}

/* It is said once, and does not come again. */
static void what_was_mended_stays_so(void **unused)
{
    (void)unused;
    begin();
    circle();
    stops_itself();
    start_again();
    assert_true(is_said("stands below") && is_said("may stop"));
    start_again();
    assert_false(is_said("stands below") || is_said("may stop"));
    assert_string_equal(stored_assoc("nova", NULL)->parent, "physics");
    assert_string_equal(stored_assoc("physics", NULL)->parent, "root");
    assert_string_equal(stored_qos("high")->preempt, "opp");
    world_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wrong_is_said_and_the_rest_goes_on),
        cmocka_unit_test(what_was_mended_stays_so),
        cmocka_unit_test(every_reference_of_every_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
