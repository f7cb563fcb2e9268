/* sreport's sums over a tree of accounts (cli/reports/people.c), and which reservations, clusters
 * and sizes a report is about; the controller is the test's. */
#include "unit.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "cli/reports/sreport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOUR_US (INT64_C(3600) * USEC_PER_SEC)

/* ---- a controller that answers from here ---- */

static struct {
    VEC(struct assoc) assoc;
    VEC(struct used) used;
    VEC(struct reservation) resv;
    int64_t used_from_us, used_to_us; /* of the last question about use */
} there;

bool sreport_query(struct sreport *s, const struct msg_query *q, const struct fields *t,
                   void (*row)(void *ctx, const void *record), void *ctx)
{
    if (q->what == QUERY_USED) {
        there.used_from_us = q->from_us;
        there.used_to_us = q->to_us;
    }
    for (size_t i = 0; q->what == QUERY_ASSOCS && i < there.assoc.n; i++)
        row(ctx, &there.assoc.v[i]);
    for (size_t i = 0; q->what == QUERY_USED && i < there.used.n; i++)
        if (there.used.v[i].from_us >= q->from_us && there.used.v[i].from_us < q->to_us)
            row(ctx, &there.used.v[i]);
    static const struct tres tres[] = {{.id = 1, .type = "cpu"}, {.id = 2, .type = "mem"}};
    for (size_t i = 0; q->what == QUERY_TRES && i < ARRAY_LEN(tres); i++)
        row(ctx, &tres[i]);
    for (size_t i = 0; q->what == QUERY_PAST_RESERVATIONS && i < there.resv.n; i++)
        row(ctx, &there.resv.v[i]);
    return true;
}

static void there_done(void)
{
    vec_done(&there.assoc);
    vec_done(&there.used);
    vec_done(&there.resv);
    memset(&there, 0, sizeof there);
}

/* What the report prints with -T, its fields between '|'. */
static char *printed_of(const char *tres, void (*report)(struct sreport *s, int n, char **word),
                        int n, char **word, int *ret_rc)
{
    struct sreport s = {.a = arena_new(),
                        .cluster = "here",
                        .noheader = true,
                        .parsable = 'P',
                        .value = true,
                        .tres = tres};
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stdout);
    int kept = dup(STDOUT_FILENO);
    assert_true(kept >= 0 && dup2(fileno(file), STDOUT_FILENO) >= 0);
    report(&s, n, word);
    fflush(stdout);
    assert_true(dup2(kept, STDOUT_FILENO) >= 0);
    close(kept);
    long len = ftell(file);
    fseek(file, 0, SEEK_END);
    len = ftell(file);
    rewind(file);
    char *text = xcalloc(1, (size_t)len + 1);
    assert_int_equal(fread(text, 1, (size_t)len, file), len);
    fclose(file);
    arena_free(s.a);
    if (ret_rc)
        *ret_rc = s.rc;
    return text;
}

/* The same, of CPU seconds. */
static char *printed(void (*report)(struct sreport *s, int n, char **word), int n, char **word,
                     int *ret_rc)
{
    return printed_of(NULL, report, n, word, ret_rc);
}

/* ---- accounts ---- */

static const char *name_of(struct arena *a, size_t i)
{
    return i ? arena_printf(a, "a%05zu", i) : "root";
}

/* A tree of so many accounts, with a row of use of most, two of some: each account says what it and
 * those below it had, and each of its users. The accounts are many: who goes through all of them
 * for each of them does not come back. */
static void accounts_have_what_is_below_them(void **state)
{
    enum { ACCOUNTS = 20000 };
    struct arena *a = arena_new();
    struct rng r = {20261130};
    size_t *up = xcalloc(ACCOUNTS, sizeof *up);
    int64_t *sum = xcalloc(ACCOUNTS, sizeof *sum);
    char *words[] = {"start=2026-01-01", "end=2026-01-02"};
    struct str wanted = STR_INIT;
    (void)state;
    for (size_t i = 1; i < ACCOUNTS; i++) {
        up[i] = rng_below(&r, (uint32_t)i);
        vec_push(&there.assoc,
                 ((struct assoc){.account = name_of(a, i), .parent = name_of(a, up[i])}));
    }
    for (size_t i = 0; i < ACCOUNTS; i++)
        for (uint32_t k = rng_below(&r, 3); k > 0; k--) {
            int64_t had = 1 + rng_below(&r, 1000);
            vec_push(&there.used, ((struct used){.account = name_of(a, i),
                                                 .user_name = k == 1 ? "u1" : "u2",
                                                 .from_us = INT64_C(1767229200) * USEC_PER_SEC,
                                                 .cpu_s = had}));
            for (size_t at = i;; at = up[at]) {
                sum[at] += had;
                if (!at)
                    break;
            }
        }
    char *text = printed(report_account_by_user, 2, words, NULL);
    size_t lines = there.used.n;
    for (size_t i = 0; i < ACCOUNTS; i++) {
        lines += sum[i] > 0;
        str_clear(&wanted);
        str_addf(&wanted, "here|%s|||%lld|0\n", name_of(a, i), (long long)sum[i]);
        if (i < 50 || i % 97 == 0)
            assert_int_equal(strstr(text, str_text(&wanted)) != NULL, sum[i] > 0);
    }
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines--;
    assert_int_equal(lines, 0);
    free(text);
    free(up);
    free(sum);
    str_done(&wanted);
    arena_free(a);
    there_done();
}

/* `user top group`: a user of many accounts is a line that names them. */
static void a_users_accounts_are_named_together(void **state)
{
    struct arena *a = arena_new();
    char *words[] = {"start=2026-01-01", "end=2026-01-02", "group"};
    struct str wanted = STR_INIT;
    (void)state;
    str_add(&wanted, "here|u1||");
    for (size_t i = 1; i <= 20000; i++) {
        vec_push(&there.used, ((struct used){.account = name_of(a, i),
                                             .user_name = "u1",
                                             .from_us = INT64_C(1767229200) * USEC_PER_SEC,
                                             .gres = i % 2 ? "gpu=2,gpu:a=2" : "gpu=1,gpu:b=1",
                                             .cpu_s = 3}));
        str_addf(&wanted, "%s%s", i > 1 ? ", " : "", name_of(a, i));
    }
    str_add(&wanted, "|60000|0\n");
    char *text = printed(report_top, 3, words, NULL);
    assert_string_equal(text, str_text(&wanted));
    free(text);
    str_done(&wanted);
    arena_free(a);
    there_done();
}

/* Rows come in the order of users: a key that two have used has one line and then theirs, even where
 * one has others, too, or ran jobs without. */
static void a_keys_users_stand_together(void **state)
{
    static const struct {
        const char *user, *wckey;
        int64_t cpu_s;
    } had[] = {{"u1", "w1", 1},    {"u1", "w2", 10},    {"u2", NULL, 100},
               {"u2", "w1", 1000}, {"u2", "w2", 10000}, {"u3", "w1", 100000}};
    char *words[] = {"start=2026-01-01", "end=2026-01-02"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(had); i++)
        vec_push(&there.used, ((struct used){.user_name = had[i].user,
                                             .wckey = had[i].wckey,
                                             .from_us = INT64_C(1767229200) * USEC_PER_SEC,
                                             .cpu_s = had[i].cpu_s}));
    char *text = printed(report_wckey_by_user, 2, words, NULL);
    assert_string_equal(text, "here|w1|||101001\nhere|w1|u1||1\nhere|w1|u2||1000\n"
                              "here|w1|u3||100000\nhere|w2|||10010\nhere|w2|u1||10\n"
                              "here|w2|u2||10000\n");
    free(text);
    there_done();
}

/* ---- reservations ---- */

static int64_t at_hour(int hour)
{
    return INT64_C(1767225600) * USEC_PER_SEC + hour * HOUR_US; /* of 2026-01-01, UTC */
}

/* Of the same name each day, as DAILY ones are, a third on another node. */
static void a_reservation_has_what_its_own_time_had(void **state)
{
    static const struct {
        const char *words[3];
        const char *says;
    } rows[] = {
        {{"start=2026-01-01", "end=2026-01-04"},
         "r|2026-01-01T08:00:00|2026-01-01T10:00:00|10800|3600\n"
         "r|2026-01-02T08:00:00|2026-01-02T10:00:00|0|14400\n"
         "r|2026-01-03T08:00:00|2026-01-03T10:00:00|7200|7200\n"},
        /* an hour of the first */
        {{"start=2026-01-01T09:00", "end=2026-01-01T12:00"},
         "r|2026-01-01T08:00:00|2026-01-01T10:00:00|3600|3600\n"},
        {{"start=2026-01-01", "end=2026-01-04", "nodes=n2"},
         "r|2026-01-03T08:00:00|2026-01-03T10:00:00|7200|7200\n"},
        {{"start=2026-01-01", "end=2026-01-04", "nodes=n[3-4]"}, ""},
        /* a bare word is a reservation's name */
        {{"start=2026-01-01", "end=2026-01-02", "R"},
         "r|2026-01-01T08:00:00|2026-01-01T10:00:00|10800|3600\n"},
        {{"start=2026-01-01", "end=2026-01-02", "here"}, ""},
    };
    (void)state;
    for (int day = 0; day < 3; day++)
        vec_push(&there.resv, ((struct reservation){.name = "r",
                                                    .nodes = day < 2 ? "n1" : "n2",
                                                    .cpu_count = 2,
                                                    .start_us = at_hour(24 * day + 8),
                                                    .end_us = at_hour(24 * day + 10)}));
    static const struct {
        int hour;
        int64_t cpu_s;
    } had[] = {{8, 7200}, {9, 3600}, {24 * 2 + 8, 7200}, {12, 99}};
    for (size_t i = 0; i < ARRAY_LEN(had); i++)
        vec_push(&there.used, ((struct used){.reservation = had[i].hour == 12 ? "other" : "r",
                                             .from_us = at_hour(had[i].hour),
                                             .cpu_s = had[i].cpu_s}));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *words[4] = {"format=name,start,end,allocated,idle"};
        int n = 1;
        for (size_t k = 0; k < 3 && rows[i].words[k]; k++)
            words[n++] = (char *)rows[i].words[k];
        char *text = printed(report_reservations, n, words, NULL);
        assert_string_equal(text, rows[i].says);
        free(text);
    }
    /* Of what -T lists there are CPUs. */
    static const struct {
        const char *tres;
        bool cpus;
    } asked[] = {{"cpu", true}, {"cpu,mem", true}, {"ALL", true}, {"mem", false}};
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        char *words[] = {"format=name,tresname,allocated", "start=2026-01-01", "end=2026-01-02"};
        int rc;
        char *text = printed_of(asked[i].tres, report_reservations, 3, words, &rc);
        assert_string_equal(text, asked[i].cpus ? "r|cpu|10800\n" : "");
        assert_int_equal(rc, !asked[i].cpus);
        free(text);
    }
    there_done();
}

/* ---- clusters ---- */

static void of_other_clusters_nothing_is_said(void **state)
{
    static const struct {
        const char *word;
        bool here;
    } rows[] = {
        {"clusters=here", true},
        {"clusters=there", false},
        {"clusters=there,here", true},
        {"cluster=there", false},
        {"here", true},
        {"there", false},
        {"all_clusters", true},
    };
    (void)state;
    vec_push(
        &there.used,
        ((struct used){.account = "root", .user_name = "u1", .from_us = at_hour(1), .cpu_s = 3}));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *words[] = {"start=2026-01-01", "end=2026-01-02", (char *)rows[i].word};
        char *text = printed(report_account_by_user, 3, words, NULL);
        assert_int_equal(strstr(text, "here|root|u1||3|0") != NULL, rows[i].here);
        free(text);
    }
    there_done();
}

/* ---- sizes ---- */

/* Jobs of more sizes than a report has room for, of which one user's are two. */
static void groups_are_of_the_jobs_that_are_asked_about(void **state)
{
    char *words[] = {"start=2026-01-01", "end=2026-01-02", "grouping=individual", "users=u1"};
    int rc;
    (void)state;
    for (int i = 1; i <= 200; i++)
        vec_push(&there.used, ((struct used){.account = "root",
                                             .user_name = i == 7 || i == 9 ? "u1" : "u2",
                                             .from_us = at_hour(1),
                                             .job_cpus = (uint32_t)i,
                                             .cpu_s = i}));
    char *text = printed(report_sizes_by_account, 4, words, &rc);
    assert_int_equal(rc, 0);
    assert_string_equal(text, "here|root|7|9|100.00%\n");
    free(text);
    text = printed(report_sizes_by_account, 3, words, &rc);
    assert_int_equal(rc, 1);
    free(text);
    there_done();
}

int main(void)
{
    setenv("TZ", "UTC", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accounts_have_what_is_below_them),
        cmocka_unit_test(a_users_accounts_are_named_together),
        cmocka_unit_test(a_keys_users_stand_together),
        cmocka_unit_test(a_reservation_has_what_its_own_time_had),
        cmocka_unit_test(of_other_clusters_nothing_is_said),
        cmocka_unit_test(groups_are_of_the_jobs_that_are_asked_about),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
