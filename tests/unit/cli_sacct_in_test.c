/* What sacct of a Slurm prints, read: rows, and what is none. */
#include "unit.h"

#include "cli/accounts/import/sacct_in.h"
#include "model/limits.h"
#include "model/stored.h"

#include <string.h>

#define NOW (INT64_C(1800000000) * USEC_PER_SEC)
#define HEAD                                                                                       \
    "JobID|JobIDRaw|JobName|User|UID|Account|Partition|QOS|Submit|Eligible|Start|End|State|"       \
    "ExitCode|AllocTRES|ReqTRES|Timelimit|NodeList|NTasks|MaxRSS|TotalCPU"
#define TIMES "2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T00:00:10|2026-01-01T01:00:10"

static struct {
    struct sacct_in in;
    struct job job[8];
    size_t njob;
    enum store_table job_table[8];
    struct step step[8];
    size_t nstep;
    struct arena *a;
    char order[32]; /* j, r, s */
} t;

static bool uid_find(void *ctx, const char *user, uint32_t *ret)
{
    *ret = 1000;
    return strcmp(user, "ann") == 0;
}

static bool row_take(void *ctx, enum store_table table, const void *record)
{
    struct err e = {0};
    assert_true(record_check(store_table_rows[table].fields, record, &e));
    strcat(t.order, table == TABLE_STEP ? "s" : table == TABLE_JOB ? "j" : "r");
    if (table == TABLE_STEP) {
        record_copy(&step_fields, &t.step[t.nstep++], record, t.a);
    } else {
        t.job_table[t.njob] = table;
        record_copy(&job_fields, &t.job[t.njob++], record, t.a);
    }
    return true;
}

static void begin(const char *head)
{
    struct err e = {0};
    memset(&t, 0, sizeof t);
    t.a = arena_new();
    t.in =
        (struct sacct_in){.zone = &civil_utc, .now_us = NOW, .uid_of = uid_find, .row = row_take};
    if (!sacct_in_head(&t.in, head, &e))
        fail_msg("%s", e.text);
}

static void line(const char *text)
{
    struct err e = {0};
    if (!sacct_in_line(&t.in, text, &e))
        fail_msg("%s: %s", text, e.text);
}

static void end(void)
{
    assert_true(sacct_in_end(&t.in));
}

static void done(void)
{
    sacct_in_done(&t.in);
    arena_free(t.a);
}

static void test_a_job_with_its_steps(void **state)
{
    begin(HEAD);
    line("7|7|train|ann|1000|ai|gpu|normal|" TIMES "|COMPLETED|0:0|"
         "billing=12,cpu=8,energy=5,gres/gpu=4,gres/gpu:v100=3,gres/nic=1,mem=8.50G,node=2|"
         "cpu=4,mem=8G,node=2|1-00:00:00|n[1-2]||1024|00:01.500");
    line("7.batch|7.batch|batch|||ai|||" TIMES
         "|COMPLETED|0:0|cpu=4,mem=4G,node=1|||n1|1|20M|00:00.500");
    line("7.0|7.0|python|||ai|||" TIMES
         "|FAILED|3:0|cpu=8,gres/gpu:v100=2,mem=8G,node=2|||n[1-2]|8|"
         "1.50G|01:02:03");
    end();
    const struct job *j = &t.job[0];
    assert_string_equal(t.order, "ssj");
    assert_int_equal(j->id, 7);
    assert_int_equal(j->state, JOB_COMPLETED);
    assert_int_equal(j->user_id, 1000);
    assert_int_equal(j->alloc_cpus, 8);
    assert_int_equal(j->alloc_nodes, 2);
    assert_int_equal(j->alloc_mem_mib, 8704);
    assert_string_equal(j->alloc_gres, "gpu=1,gpu:v100=3,nic=1");
    assert_int_equal(j->billing_plus1, 13);
    assert_int_equal(j->limit_us, 24 * USEC_PER_HOUR);
    assert_int_equal(j->end_us - j->start_us, USEC_PER_HOUR);
    assert_int_equal(j->start_us - j->submit_us, 10 * USEC_PER_SEC);
    assert_int_equal(j->cpu_user_us, 1500000);
    assert_true(j->spec.batch && j->attempt == 1 && j->array_task_id == NO_TASK);
    assert_int_equal(t.step[0].step_id, STEP_BATCH);
    assert_int_equal(t.step[1].exit_status, 3 << 8);
    assert_int_equal(t.step[1].max_rss_bytes, 3 * (INT64_C(1) << 29));
    assert_int_equal(t.step[1].ntasks, 8);
    assert_int_equal(t.step[1].cpu_user_us, 3723 * USEC_PER_SEC);
    assert_int_equal(t.step[1].attempt, 1);
    done();
}

static void test_arrays_components_and_what_is_not_over(void **state)
{
    begin(HEAD);
    line("9_1|10|a|ann|1000|ai|p|q|" TIMES "|CANCELLED by 1001|0:15|cpu=1|||n1|||");
    line("9_[2-5%2]|9|a|ann|1000|ai|p|q|2026-01-01T00:00:00|Unknown|Unknown|2026-01-01T00:00:10|"
         "CANCELLED|0:0||||None assigned|||");
    line("20+0|20|h|ann|1000|ai|p|q|" TIMES "|COMPLETED|0:0|cpu=1|||n1|||");
    line("20+1|21|h|bob|7|ai|p|q|" TIMES "|NODE_FAIL|1:0|cpu=1|||n1|||");
    line("30|30|r|ann|1000|ai|p|q|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T00:00:10|"
         "Unknown|RUNNING|0:0|cpu=1|||n1|||");
    line("30.0|30.0|r||||||2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T00:00:10|Unknown|"
         "RUNNING|0:0|cpu=1|||n1|||");
    end();
    assert_string_equal(t.order, "jjjj");
    assert_int_equal(t.in.alive, 1);
    assert_int_equal(t.job[0].id, 10);
    assert_int_equal(t.job[0].array_job_id, 9);
    assert_int_equal(t.job[0].array_task_id, 1);
    assert_int_equal(t.job[0].killed_by_uid_plus1, 1002);
    assert_int_equal(t.job[1].id, 9);
    assert_string_equal(t.job[1].array_pending, "2-5");
    assert_int_equal(t.job[1].start_us, 0);
    assert_int_equal(t.job[1].attempt, 0);
    assert_int_equal(t.job[3].id, 21);
    assert_int_equal(t.job[3].het_job_id, 20);
    assert_int_equal(t.job[3].het_offset, 1);
    assert_int_equal(t.job[3].user_id, 7);
    done();
}

static void test_runs_of_one_job(void **state)
{
    begin(HEAD);
    line("7|7|x|ann|1000|ai|p|q|" TIMES "|REQUEUED|0:0|cpu=2|||n1|||");
    line("7.batch|7.batch|batch|||ai|||" TIMES "|CANCELLED|0:15|cpu=2|||n1|||");
    line("7|7|x|ann|1000|ai|p|q|2026-01-01T02:00:00|2026-01-01T02:00:00|2026-01-01T02:00:10|"
         "2026-01-01T03:00:10|COMPLETED|0:0|cpu=2|||n1|||");
    line("7.batch|7.batch|batch|||ai|||" TIMES "|COMPLETED|0:0|cpu=2|||n1|||");
    line("8|8|x|ann|1000|ai|p|q|" TIMES "|REQUEUED|0:0|cpu=2|||n1|||");
    end();
    assert_string_equal(t.order, "srsj");
    assert_int_equal(t.job_table[0], TABLE_JOB_RUN);
    assert_int_equal(t.job[0].attempt, 1);
    assert_int_equal(t.job[1].attempt, 2);
    assert_int_equal(t.step[1].attempt, 2);
    assert_int_equal(t.in.alive, 1); /* 8 waits again */
    done();
}

static void test_other_columns_and_separators(void **state)
{
    begin("jobid%20;state;elapsed;end;start;allocCPUs;nodelist;");
    line("7;TIMEOUT;01:00:00;1767229200;1767225600;4;n[1-3];");
    end();
    assert_int_equal(t.job[0].alloc_cpus, 4);
    assert_int_equal(t.job[0].alloc_nodes, 3);
    assert_int_equal(t.job[0].user_id, 65534);
    assert_int_equal(t.job[0].submit_us, t.job[0].start_us);
    assert_string_equal(str_text(&t.in.unknown), "elapsed");
    assert_non_null(strstr(str_text(&t.in.missing), "AllocTRES"));
    done();
}

static void test_nonsense(void **state)
{
    static const char *const lines[] = {
        "",
        "x|7|x|ann|1000|ai|p|q|" TIMES "|COMPLETED|0:0|cpu=2|||n1|||",
        "0|0|x|ann|1000|ai|p|q|" TIMES "|COMPLETED|0:0|cpu=2|||n1|||",
        "7|7|x|ann|1000|ai|p|q|" TIMES "|COMPLETED|0:0|cpu=2|||n1||",
        "7|7|x|ann|1000|ai|p|q|" TIMES "|COMPLETED|0:0|cpu=2|||n1||||x",
        "7|7|x|ann|1000|ai|p|q|" TIMES "|DONE|0:0|cpu=2|||n1|||",
        "7|7|x|ann|1000|ai|p|q|" TIMES "|COMPLETED|300:0|cpu=2|||n1|||",
        "7|7|x|ann|1000|ai|p|q|" TIMES "|COMPLETED|0:0|cpu=many|||n1|||",
        "7|7|x|ann|1000|ai|p|q|" TIMES "|COMPLETED|0:0|cpu=99999999999|||n1|||",
        "7|7|x|ann|1000|ai|p|q|" TIMES "|COMPLETED|0:0|gres/gpu,x=1|||n1|||",
        "7|7|x|ann|1000|ai|p|q|" TIMES "|COMPLETED|0:0|cpu=2||soon|n1|||",
        "7|7|x|ann|1000|ai|p|q|" TIMES "|COMPLETED|0:0|cpu=2|||n[1-|||",
        "7|7|x|ann|-3|ai|p|q|" TIMES "|COMPLETED|0:0|cpu=2|||n1|||",
        "7|7|x|ann|1|ai|p|q|2026-13-01T00:00:00|Unknown|Unknown|2026-01-01T00:00:10|COMPLETED|0:0||"
        "|"
        "|n1|||",
        "7|7|x|ann|1|ai|p|q|Unknown|Unknown|Unknown|Unknown|COMPLETED|0:0||||n1|||",
        "7|7|x|ann|1|ai|p|q|Unknown|Unknown|2026-01-01T00:00:11|2026-01-01T00:00:10|FAILED|0:0||||"
        "n1"
        "|||",
        "7|7|x|ann|1|ai|p|q|Unknown|Unknown|Unknown|2100-01-01T00:00:10|FAILED|0:0||||n1|||",
        "7_[5-|7|x|ann|1000|ai|p|q|" TIMES "|COMPLETED|0:0|cpu=2|||n1|||",
        "7_9|x|x|ann|1000|ai|p|q|" TIMES "|COMPLETED|0:0|cpu=2|||n1|||",
    };
    struct err e = {0};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        begin(HEAD);
        if (sacct_in_line(&t.in, lines[i], &e) || !*e.text)
            fail_msg("this was taken: %s", lines[i]);
        assert_int_equal(t.njob, 0);
        done();
    }
    memset(&t, 0, sizeof t);
    t.in = (struct sacct_in){.zone = &civil_utc, .now_us = NOW};
    assert_false(sacct_in_head(&t.in, "JobID|State|Elapsed", &e));
    sacct_in_done(&t.in);
}

static void test_one_cluster_a_file(void **state)
{
    struct err e = {0};
    begin("JobID|State|End|Cluster");
    line("7|COMPLETED|2026-01-01T00:00:10|one");
    assert_false(sacct_in_line(&t.in, "8|COMPLETED|2026-01-01T00:00:10|two", &e));
    assert_non_null(strstr(e.text, "sacct -M"));
    done();
}

static void test_an_element_needs_its_own_number(void **state)
{
    struct err e = {0};
    begin("JobID|State|End");
    assert_false(sacct_in_line(&t.in, "7_3|COMPLETED|2026-01-01T00:00:10", &e));
    assert_non_null(strstr(e.text, "JobIDRaw"));
    done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_job_with_its_steps),
        cmocka_unit_test(test_arrays_components_and_what_is_not_over),
        cmocka_unit_test(test_runs_of_one_job),
        cmocka_unit_test(test_other_columns_and_separators),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_one_cluster_a_file),
        cmocka_unit_test(test_an_element_needs_its_own_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
