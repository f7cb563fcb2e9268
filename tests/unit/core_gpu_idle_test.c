/* GpuIdle: what becomes of jobs that do not use their GPUs. A table of what nodes say, minute by
 * minute, and of what is then done; and the cases that no table has. */
#include "core_gpu_idle_help.h"

/* ---- a table ---- */

struct scene {
    const char *name;
    int from;    /* minute in which its devices become idle; -1 = they never are */
    int to;      /* … and are busy again; 0 = never */
    int minutes; /* looked at then */
    bool salloc; /* no script */
    const char *partition, *account;
    enum job_state state;
    uint64_t lines, mails;
};

static const struct scene scenes[] = {
    {"busy all the time", -1, 0, 300, false, "main", NULL, JOB_RUNNING, 0, 0},
    {"not long enough", 0, 0, 39, false, "main", NULL, JOB_RUNNING, 0, 0},
    {"warned", 0, 0, 41, false, "main", NULL, JOB_RUNNING, 1, 0},
    {"told by mail", 0, 0, 71, false, "main", NULL, JOB_RUNNING, 2, 1},
    {"not yet at its end", 0, 0, 129, false, "main", NULL, JOB_RUNNING, 2, 1},
    {"cancelled", 0, 0, 132, false, "main", NULL, JOB_COMPLETING, 2, 1},
    {"works again after the warning", 0, 45, 110, false, "main", NULL, JOB_RUNNING, 1, 0},
    {"works in the last minute", 0, 128, 140, false, "main", NULL, JOB_RUNNING, 2, 1},
    {"the count begins anew", 20, 0, 48, false, "main", NULL, JOB_RUNNING, 0, 0},
    {"idle late", 20, 0, 51, false, "main", NULL, JOB_RUNNING, 1, 0},
    {"salloc: each stage an hour later", 0, 0, 99, true, "main", NULL, JOB_RUNNING, 0, 0},
    {"salloc: warned then", 0, 0, 101, true, "main", NULL, JOB_RUNNING, 1, 0},
    {"salloc: cancelled in the end", 0, 0, 193, true, "main", NULL, JOB_CANCELLED, 2, 1},
    {"no policy", 0, 0, 300, false, "free", NULL, JOB_RUNNING, 0, 0},
    {"an account that is exempt", 0, 0, 300, false, "main", "spared", JOB_RUNNING, 0, 0},
    {"another account", 0, 0, 71, false, "main", "other", JOB_RUNNING, 2, 1},
    {"requeued", 0, 0, 62, false, "back", NULL, JOB_REQUEUED, 1, 0},
    {"salloc cannot be requeued", 0, 0, 122, true, "back", NULL, JOB_CANCELLED, 1, 0},
};

static void each_scene(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(scenes); i++) {
        const struct scene *s = &scenes[i];
        struct job_spec spec = gpu_job(2);
        spec.req.partition = s->partition;
        spec.req.account = s->account;
        spec.batch = !s->salloc;
        begin();
        all_are(s->from == 0 ? 0 : -1);
        uint64_t id = submit(spec);
        if (state(id) != JOB_RUNNING)
            fail_msg("%s: does not run", s->name);
        if (spec.batch)
            script_runs(id);
        for (int m = 1; m <= s->minutes; m++) {
            if (m == s->from)
                all_are(0);
            if (m == s->to)
                all_are(-1);
            minutes(1);
        }
        if (state(id) != s->state || lines != s->lines || idle_mails != s->mails)
            fail_msg("%s: %s with %llu lines and %llu mails", s->name,
                     enum_name(&job_state_names, state(id)), (unsigned long long)lines,
                     (unsigned long long)idle_mails);
        if (s->state == JOB_COMPLETING || s->state == JOB_CANCELLED) {
            assert_int_equal(job(id)->reason, REASON_GPU_IDLE);
            assert_non_null(strstr(job(id)->system_comment, "its 2 GPUs have done nothing for"));
        }
        am_root();
        cancel(ids_of(id));
        if (s->state == JOB_REQUEUED) {
            assert_non_null(strstr(job(id)->system_comment, "GpuIdle of partition back"));
        }
        for (int n = 1; n <= 4; n++)
            report(n,
                   (struct msg_report){
                       .kind = REPORT_RELEASED, .job_id = id, .attempt = 1, .step_id = STEP_BATCH});
        am_alice();
    }
}

int main(void)
{
#define IDLE_TEST(name) cmocka_unit_test_setup_teardown(name, idle_setup, teardown)
    const struct CMUnitTest tests[] = {
        IDLE_TEST(each_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
