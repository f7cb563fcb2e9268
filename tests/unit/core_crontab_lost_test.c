/* Jobs of tables for scrontab in the store of a release that lost them. */
#include "core_crontab_help.h"

/* The rows as a release left them that ended between a job's end and its next time. */
static void row_is_over(uint64_t id)
{
    for (size_t i = 0; i < w.store.n; i++) {
        struct job *j = w.store.v[i].record;
        if (w.store.v[i].table != TABLE_JOB || j->id != id)
            continue;
        j->state = JOB_COMPLETED;
        j->reason = REASON_NONE;
        j->attempt = 1;
        j->killed_by_uid_plus1 = 0;
        j->submit_us = j->start_us = w.now - MIN;
        j->end_us = w.now;
        j->cron_first = 1;
        j->cron_last = 2;
        j->cron = "* * * * *";
    }
}

/* Its next time was still to be found; but whose lines are gone, or another's by now, would run
 * beside that, or of no table. */
static void a_job_that_was_lost_comes_back_where_its_lines_are_its_own(void **state_)
{
    enum { KEPT, GONE, SHORTER, REMARK, ANOTHERS, ANOTHERS_LOST, TABLES };
    static const char *const text[TABLES] = {[SHORTER] = "@hourly b\n",
                                             [REMARK] = "#SCRON -t 10\n# * * * * * a\n",
                                             [ANOTHERS] = TABLE,
                                             [ANOTHERS_LOST] = TABLE};
    uint64_t next = 1;
    for (int t = KEPT; t < TABLES; t++) {
        struct cron_entry one[] = {{.cron = "@hourly", .first = 1, .last = 1}};
        am_alice();
        assert_int_equal(set(NULL, NULL, 0), REFUSE_NONE);
        begin();
        uint64_t id = next;
        next += 2;
        if (t == GONE)
            assert_int_equal(set(NULL, NULL, 0), REFUSE_NONE);
        if (t == SHORTER)
            assert_int_equal(set(text[t], one, 1), REFUSE_NONE);
        next += t == SHORTER ? 1 : t >= ANOTHERS ? 2 : 0;
        if (t == REMARK)
            assert_int_equal(set(text[t], NULL, 0), REFUSE_NONE);
        if (t >= ANOTHERS)
            begin();
        row_is_over(id);
        if (t == ANOTHERS_LOST)
            row_is_over(id + 2);
        restart(CONF);
        am_alice();
        assert_int_equal(state(id), t == KEPT ? JOB_PENDING : JOB_COMPLETED);
        if (t == ANOTHERS_LOST)
            assert_int_equal(state(id + 2), JOB_PENDING);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(a_job_that_was_lost_comes_back_where_its_lines_are_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
