/* A step's control groups: limits, memory, groups handed back. */
#include "cgroup_help.h"

#include <dlfcn.h>

static int births_refused; /* errno of clone3(2); 0: it is the kernel's own */

long syscall(long number, ...)
{
    static long (*kernel)(long, ...);
    long v[6];
    va_list args;
    va_start(args, number);
    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        v[i] = va_arg(args, long);
    va_end(args);
    if (number == SYS_clone3 && births_refused) {
        errno = births_refused;
        return -1;
    }
    if (!kernel)
        *(void **)&kernel = dlsym(RTLD_NEXT, "syscall");
    return kernel(number, v[0], v[1], v[2], v[3], v[4], v[5]);
}

static void crowd_make(size_t i);
static size_t crowd_once_in; /* crowds[] whose counts a new process finds, plus 1; 0 = as it was */
pid_t fork(void)
{
    static pid_t (*libc_fork)(void);
    if (!libc_fork)
        *(void **)&libc_fork = dlsym(RTLD_NEXT, "fork");
    pid_t pid = libc_fork();
    if (pid == 0 && crowd_once_in)
        crowd_make(crowd_once_in - 1);
    return pid;
}

/* ---- a step's ---- */

static bool is_known(void *ctx, const char *name)
{
    return strcmp(ctx, name) == 0;
}

static void test_limits_of_job_and_step(void **state)
{
    (void)state;
    struct cgroup_bases b = bases_of(false, NULL);
    struct step_cgroup c, other;
    const struct cgroup_limits l = {.job_mem_bytes = 4000,
                                    .step_mem_bytes = 1000,
                                    .job_swap_bytes_plus1 = 1,
                                    .step_swap_bytes_plus1 = 101,
                                    .pids = 50,
                                    .cpus = "0-1"};
    assert_true(step_cgroup_make(&c, str_text(&b.text), "42.1.0", &l));
    assert_true(c.limits_memory && c.v2 == c.memory);
    assert_string_equal(file_text(in_tree("user/me/remuda.n1.1/42.1"), "memory.max"), "4000");
    assert_string_equal(file_text(in_tree("user/me/remuda.n1.1/42.1"), "memory.swap.max"), "0");
    assert_string_equal(file_text(in_tree("user/me/remuda.n1.1/42.1"), "pids.max"), "50");
    assert_string_equal(file_text(in_tree("user/me/remuda.n1.1/42.1/42.1.0"), "memory.max"),
                        "1000");
    assert_string_equal(file_text(in_tree("user/me/remuda.n1.1/42.1/42.1.0"), "memory.swap.max"),
                        "100");
    assert_string_equal(file_text(in_tree("user/me/remuda.n1.1/42.1/42.1.0"), "cpuset.cpus"),
                        "0-1");
    int why = -1, status = -1;
    pid_t pid = step_cgroup_fork(&c, &why); /* no kernel's group: nobody can be born there */
    if (pid == 0)
        _exit(why);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_string_equal(file_text(in_tree("user/me/remuda.n1.1/42.1/42.1.0"), "cgroup.procs"), "0");
    assert_true(step_cgroup_kill(&c));
    assert_string_equal(file_text(in_tree("user/me/remuda.n1.1/42.1/42.1.0"), "cgroup.kill"), "1");
    file_fill(in_tree("user/me/remuda.n1.1/42.1/42.1.0"), "cgroup.procs", "");
    assert_true(step_cgroup_make(&other, str_text(&b.text), "42.1.batch", &l));
    step_cgroup_remove(&c);
    assert_int_equal(access(in_tree("user/me/remuda.n1.1/42.1"), F_OK),
                     0); /* the other step is there */
    step_cgroup_remove(&other);
    assert_int_equal(access(in_tree("user/me/remuda.n1.1/42.1"), F_OK),
                     0); /* the next step may come */
    step_cgroups_tidy(str_text(&b.text), is_known, "nobody");
    assert_int_not_equal(access(in_tree("user/me/remuda.n1.1/42.1"), F_OK), 0);
    cgroup_bases_done(&b);
}

static void refuse(const char *end, int why, int times)
{
    refusal.end = end;
    refusal.why = why;
    refusal.times = times;
}

/* What the kernel has no room for comes again; then the step must not run without. */
static void test_groups_that_cannot_be_made_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *end;
        int why;
        bool made;
    } rows[] = {
        {"/42.1", ENOMEM, false},
        {"/42.1/42.1.0", EAGAIN, false},
        {"/42.1/42.1.0", EROFS, false},
        {"/42.1/pids.max", EMFILE, false},
        {"/42.1/memory.max", ENOMEM, false},
        {"/42.1/cgroup.subtree_control", ENFILE, false},
        {"/42.1.0/memory.max", ENOMEM, false},
        {"/42.1.0/cpuset.cpus", ENFILE, false},
        {"/42.1.0/memory.max", EINVAL, true},  /* samples do it then */
        {"/42.1.0/cpuset.cpus", EINVAL, true}, /* affinity does */
    };
    struct cgroup_bases b = bases_of(false, NULL);
    const struct cgroup_limits l = {
        .job_mem_bytes = 4000, .step_mem_bytes = 1000, .pids = 50, .cpus = "0-1"};
    struct step_cgroup c;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        refuse(rows[i].end, rows[i].why, 1000);
        bool made = step_cgroup_make(&c, str_text(&b.text), "42.1.0", &l);
        int why = errno;
        assert_int_equal(made, rows[i].made);
        if (!made) {
            assert_int_equal(why, rows[i].why);
            assert_int_equal(c.n, 0);
            assert_int_not_equal(access(in_tree("user/me/remuda.n1.1/42.1/42.1.0"), F_OK), 0);
        }
        step_cgroup_remove(&c);
        refuse(NULL, 0, 0);
        assert_true(step_cgroup_make(&c, str_text(&b.text), "42.1.0", &l));
        assert_true(c.limits_memory);
        step_cgroup_remove(&c);
        step_cgroups_tidy(str_text(&b.text), is_known, "nobody");
    }
    cgroup_bases_done(&b);
}

static int why_not_entered(const struct step_cgroup *c)
{
    int why = -1, status = -1;
    pid_t pid = step_cgroup_fork(c, &why);
    if (pid == 0)
        _exit(why);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

static void test_who_cannot_enter_for_want_of_room_tries_again(void **state)
{
    (void)state;
    struct cgroup_bases b = bases_of(false, NULL);
    struct step_cgroup c;
    assert_true(step_cgroup_make(&c, str_text(&b.text), "42.1.0", &(struct cgroup_limits){0}));
    refuse("cgroup.procs", EMFILE, 2);
    assert_int_equal(why_not_entered(&c), 0);
    assert_string_equal(file_text(in_tree("user/me/remuda.n1.1/42.1/42.1.0"), "cgroup.procs"), "0");
    refuse("cgroup.procs", EROFS, 1000);
    assert_int_equal(why_not_entered(&c), EROFS);
    file_fill(in_tree("user/me/remuda.n1.1/42.1/42.1.0"), "cgroup.procs", "");
    step_cgroup_remove(&c);
    step_cgroups_tidy(str_text(&b.text), is_known, "nobody");
    cgroup_bases_done(&b);
}

/* A step of many tasks was born outside where the kernel did not let it be born inside, and moved
 * in, at which the kernel looks at no limit. */
static void test_nobody_is_born_outside_for_want_of_room_inside(void **state)
{
    (void)state;
    struct cgroup_bases b = bases_of(false, NULL);
    struct step_cgroup c;
    const int wants[] = {EAGAIN, ENOMEM};
    const int cannot[] = {ENOSYS, EINVAL, EBADF, EOPNOTSUPP, EPERM};
    int why = 0;
    assert_true(step_cgroup_make(&c, str_text(&b.text), "42.1.0", &(struct cgroup_limits){0}));
    for (size_t i = 0; i < ARRAY_LEN(wants); i++) {
        births_refused = wants[i];
        pid_t pid = step_cgroup_fork(&c, &why);
        int told = errno;
        if (pid == 0)
            _exit(0);
        assert_int_equal(pid, -1);
        assert_int_equal(told, wants[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(cannot); i++) {
        births_refused = cannot[i];
        assert_int_equal(why_not_entered(&c), 0);
    }
    births_refused = 0;
    file_fill(in_tree("user/me/remuda.n1.1/42.1/42.1.0"), "cgroup.procs", "");
    step_cgroup_remove(&c);
    step_cgroups_tidy(str_text(&b.text), is_known, "nobody");
    cgroup_bases_done(&b);
}

static struct {
    const char *job_max, *job, *node_max, *node;
    int64_t left; /* how many more may come; below 0: so many too many */
} const crowds[] = {
    {"50", "50", "300", "300", 0},       {"50", "49", "300", "49", 1},
    {"50", "51", "300", "51", -1},       {"50", "9", "300", "299", 1},
    {"50", "9", "300", "300", 0},        {"50", "9", "300", "301", -1},
    {"300", "200", "max", "70000", 100}, {"300", "236", "max", "70000", 64},
    {"300", "237", "max", "70000", 63},  {"max", "70000", "max", "70000", INT64_MAX},
    {"50", "50", "max", "70000", 0},     {"0", "1", "max", "1", -1},
    {"50", "", "300", "", INT64_MAX},    {"", "70000", "", "70000", INT64_MAX},
};

static void crowd_make(size_t i)
{
    char job[4200], node[4200];
    snprintf(node, sizeof node, "%s", in_tree("user/me/remuda.n1.1"));
    snprintf(job, sizeof job, "%s", in_tree("user/me/remuda.n1.1/42.1"));
    file_fill(job, "pids.max", crowds[i].job_max);
    file_fill(job, "pids.current", crowds[i].job);
    file_fill(node, "pids.max", crowds[i].node_max);
    file_fill(node, "pids.current", crowds[i].node);
}

/* Who moves in, as all do with version 1, is counted, but not kept out: each of a step of many
 * tasks was born all the same, and stayed until all had been. */
static void test_who_would_be_one_too_many_is_not_born(void **state)
{
    (void)state;
    struct cgroup_bases b = bases_of(false, NULL);
    struct step_cgroup c;
    int why = 0;
    assert_true(
        step_cgroup_make(&c, str_text(&b.text), "42.1.0", &(struct cgroup_limits){.pids = 50}));
    char *v2 = c.v2;
    for (size_t i = 0; i < 3 * ARRAY_LEN(crowds); i++) {
        bool may = crowds[i / 3].left > 0;
        crowd_make(i / 3);
        c.v2 = i % 3 == 0 ? NULL : v2;           /* as with version 1 */
        births_refused = i % 3 == 1 ? EPERM : 0; /* nobody can be born there, this kernel says */
        if (may) {
            assert_int_equal(why_not_entered(&c), 0);
        } else {
            pid_t pid = step_cgroup_fork(&c, &why);
            int told = errno;
            if (pid == 0)
                _exit(0);
            assert_int_equal(pid, -1);
            assert_int_equal(told, EAGAIN);
        }
        assert_int_equal(step_cgroup_pids_short(&c), crowds[i / 3].left < STEP_CGROUP_PIDS_NEAR);
    }
    births_refused = 0;
    file_fill(in_tree("user/me/remuda.n1.1/42.1/42.1.0"), "cgroup.procs", "");
    c.v2 = v2;
    step_cgroup_remove(&c);
    step_cgroups_tidy(str_text(&b.text), is_known, "nobody");
    cgroup_bases_done(&b);
}

/* Others came meanwhile: the counts are those that are found once it is in. */
static void test_who_is_one_too_many_is_told(void **state)
{
    (void)state;
    struct cgroup_bases b = bases_of(false, NULL);
    struct step_cgroup c;
    assert_true(
        step_cgroup_make(&c, str_text(&b.text), "42.1.0", &(struct cgroup_limits){.pids = 50}));
    for (size_t i = 0; i < ARRAY_LEN(crowds); i++) {
        crowd_make(1);
        crowd_once_in = i + 1;
        births_refused = EPERM;
        assert_int_equal(why_not_entered(&c), crowds[i].left < 0 ? (uint8_t)STEP_CGROUP_FULL : 0);
    }
    crowd_once_in = 0;
    births_refused = 0;
    file_fill(in_tree("user/me/remuda.n1.1/42.1/42.1.0"), "cgroup.procs", "");
    step_cgroup_remove(&c);
    step_cgroups_tidy(str_text(&b.text), is_known, "nobody");
    cgroup_bases_done(&b);
}

static void test_all_in_them_stand_still(void **state)
{
    (void)state;
    struct cgroup_bases b = bases_of(false, NULL);
    struct step_cgroup c, none = {0};
    assert_true(step_cgroup_make(&c, str_text(&b.text), "42.1.0", &(struct cgroup_limits){0}));
    assert_true(step_cgroup_freeze(&c, true));
    assert_string_equal(file_text(in_tree("user/me/remuda.n1.1/42.1/42.1.0"), "cgroup.freeze"),
                        "1");
    assert_true(step_cgroup_freeze(&c, false));
    assert_string_equal(file_text(in_tree("user/me/remuda.n1.1/42.1/42.1.0"), "cgroup.freeze"),
                        "0");
    assert_false(step_cgroup_freeze(&none, true));
    step_cgroup_remove(&c);
    step_cgroups_tidy(str_text(&b.text), is_known, "nobody");
    cgroup_bases_done(&b);
}

static void test_what_counts_as_memory(void **state)
{
    (void)state;
    struct cgroup_bases b = bases_of(false, NULL);
    struct step_cgroup c;
    step_cgroup_make(&c, str_text(&b.text), "42.1.0",
                     &(struct cgroup_limits){.step_mem_bytes = 1000});
    file_fill(c.memory, "memory.stat", "anon 300\nfile 900\nshmem 20\n");
    assert_int_equal(step_cgroup_rss(&c), 320); /* not the page cache */
    assert_int_equal(step_cgroup_oom_kills(&c), 0);
    file_fill(c.memory, "memory.events",
              "low 0\nhigh 0\nmax 9\noom 2\noom_kill 2\noom_group_kill 0\n");
    assert_int_equal(step_cgroup_oom_kills(&c), 2);
    file_fill(c.memory, "memory.peak", "5000\n");
    assert_int_equal(step_cgroup_peak(&c, 1000), 1000);
    step_cgroup_remove(&c);
    cgroup_bases_done(&b);
}

#define EVENTS "low 0\nhigh 0\nmax %d\noom %d\noom_kill %d\n"

/* As a kernel has them after a step that used next to nothing. */
static void step_ended(const char *job, const char *current, int kills)
{
    char text[128];
    snprintf(text, sizeof text, EVENTS, kills, kills, kills);
    file_fill(job, "memory.current", current);
    file_fill(job, "memory.events", text);
}

static void test_clean_groups_are_handed_back_and_taken(void **state)
{
    (void)state;
    struct cgroup_bases b = bases_of(false, NULL);
    const struct cgroup_limits l = {
        .job_mem_bytes = 64 << 20, .step_mem_bytes = 32 << 20, .pids = 50, .cpus = "0-1"};
    char name[CGROUP_NAME_BYTES], job[4200], part[4300], deeper[4400];
    int64_t group, number;
    struct step_cgroup c, kept = {0};
    step_cgroup_name(17, 3, name);
    assert_true(step_cgroup_name_parse(name, &group, &number) && group == 17 && number == 3);
    assert_false(step_cgroup_name_parse("42.1.batch", &group, &number));
    snprintf(job, sizeof job, "%s", in_tree("user/me/remuda.n1.1/g17"));
    snprintf(part, sizeof part, "%s/g17.3", job);
    snprintf(deeper, sizeof deeper, "%s/inner", part);
    assert_false(step_cgroup_take(&c, &kept, str_text(&b.text), name, &l)); /* not there */
    assert_true(step_cgroup_make(&c, str_text(&b.text), name, &l));

    step_ended(job, "4096\n", 0);
    step_ended(part, "4096\n", 0);
    file_fill(part, "cgroup.procs", "77\n");
    assert_int_equal(step_cgroup_hand_back(&c, &l, &kept), GROUP_KEPT); /* a process is in it */
    file_fill(part, "cgroup.procs", "");
    assert_int_equal(mkdir(deeper, 0755), 0);
    assert_int_equal(step_cgroup_hand_back(&c, &l, &kept), GROUP_KEPT); /* a group is */
    assert_int_equal(rmdir(deeper), 0);
    step_ended(part, "9000000\n", 0);
    assert_int_equal(step_cgroup_hand_back(&c, &l, &kept),
                     GROUP_KEPT); /* memory is charged: nobody says what it is */
    file_fill(part, "memory.stat", "anon 0\nfile 9000000\nshmem 2000000\n");
    assert_int_equal(step_cgroup_hand_back(&c, &l, &kept), GROUP_KEPT); /* a file in /dev/shm */
    file_fill(part, "memory.stat", "anon 0\nfile 9000000\nshmem 0\n");
    file_fill(part, "memory.swap.current", "2000000\n");
    assert_int_equal(step_cgroup_hand_back(&c, &l, &kept), GROUP_KEPT); /* the same, swapped out */
    step_ended(part, "4096\n", 0);
    assert_int_equal(step_cgroup_hand_back(&c, &l, &kept), GROUP_KEPT); /* all of it */
    file_fill(part, "memory.swap.current", "0\n");
    step_ended(part, "9000000\n", 1);
    assert_int_equal(step_cgroup_hand_back(&c, &l, &kept),
                     GROUP_KEPT); /* memory was short in the step */

    static const struct {
        const char *job, *part;
        int kills;
        enum group_back back;
        const char *kinds; /* memory.stat of the job */
    } left[] = {
        {"4096\n", "4096\n", 0, GROUP_TO_ANY, ""},
        {"3000000\n", "4096\n", 0,
         /* What processors have in stock is nobody's. */
         GROUP_TO_ANY, "anon 0\nfile 4096\nkernel 300000\n"},
        {"3000000\n", "4096\n", 0, GROUP_TO_OWN_JOB, "anon 0\nfile 2900000\nkernel 4096\n"},
        {"3000000\n", "4096\n", 0, GROUP_TO_OWN_JOB, "anon 2000000\nfile 0\nkernel 4096\n"},
        {"3000000\n", "4096\n", 0, GROUP_TO_OWN_JOB, "anon 0\nfile 0\nkernel 2000000\n"},
        /* A kernel that does not say what it has itself. */
        {"3000000\n", "4096\n", 0, GROUP_TO_OWN_JOB, "anon 0\nfile 0\n"},
        {"9000000\n", "9000000\n", 0,
         /* Files that were read: the kernel takes them back. */
         GROUP_TO_OWN_JOB, ""},
        /* The job's script, or another step, is large. */
        {"9000000\n", "4096\n", 0, GROUP_TO_OWN_JOB, ""},
        /* Somebody was killed for the job's memory. */
        {"4096\n", "4096\n", 1, GROUP_TO_OWN_JOB, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(left); i++) {
        step_ended(job, left[i].job, left[i].kills);
        file_fill(job, "memory.stat", left[i].kinds);
        step_ended(part, left[i].part, 0);
        assert_int_equal(step_cgroup_hand_back(&c, &l, &kept), left[i].back);
        assert_int_equal(c.n, 0);
        assert_true(step_cgroup_take(&c, &kept, str_text(&b.text), name, &l));
    }
    assert_int_equal(kept.n, 0);
    step_ended(job, "4096\n", 0);
    step_ended(part, "4096\n", 0);
    file_fill(job, "memory.swap.current", "2000000\n"); /* another step's file in /dev/shm */
    assert_int_equal(step_cgroup_hand_back(&c, &l, &kept), GROUP_TO_OWN_JOB);
    assert_true(step_cgroup_take(&c, &kept, str_text(&b.text), name, &l));
    file_fill(job, "memory.swap.current", "4096\n");
    assert_int_equal(step_cgroup_hand_back(&c, &l, &kept), GROUP_TO_ANY);
    assert_true(kept.n > 0);
    /* What is open of other groups is none of these. */
    assert_false(step_cgroup_take(&c, &kept, str_text(&b.text), "g17.4", &l));
    assert_int_equal(kept.n, 0);
    assert_true(step_cgroup_take(&c, &kept, str_text(&b.text), name, &l));
    assert_true(c.limits_memory && c.memory == c.v2);
    assert_string_equal(c.memory, part);
    assert_string_equal(file_text(part, "memory.max"), "33554432");
    c.limits_memory = false; /* as if they could not be set when it was made */
    assert_int_equal(step_cgroup_hand_back(&c, &l, &kept), GROUP_KEPT);
    step_cgroup_remove(&c);
    step_cgroups_tidy(str_text(&b.text), is_known, "nobody");
    cgroup_bases_done(&b);
}

/* The devices were not hidden: nobody else must take that for done. */
static void test_groups_that_do_not_hide_what_they_should_are_not_handed_back(void **state)
{
    (void)state;
    struct cgroup_bases b = bases_of(false, NULL);
    struct cgroup_limits l = {.step_mem_bytes = 32 << 20};
    struct step_cgroup c, kept = {0};
    assert_true(step_cgroup_make(&c, str_text(&b.text), "g1.1", &l));
    step_ended(in_tree("user/me/remuda.n1.1/g1"), "0\n", 0);
    l.deny = "195:1";
    assert_int_equal(step_cgroup_hand_back(&c, &l, &kept), GROUP_KEPT);
    step_cgroup_remove(&c);
    step_cgroups_tidy(str_text(&b.text), is_known, "nobody");
    cgroup_bases_done(&b);
}

static void test_groups_of_forgotten_steps_are_tidied(void **state)
{
    (void)state;
    struct cgroup_bases b = bases_of(false, NULL);
    struct step_cgroup known, lost;
    assert_true(step_cgroup_make(&known, str_text(&b.text), "42.1.0", &(struct cgroup_limits){0}));
    assert_true(
        step_cgroup_make(&lost, str_text(&b.text), "41.1.batch", &(struct cgroup_limits){0}));
    char name[] = "42.1.0";
    step_cgroups_tidy(str_text(&b.text), is_known, name);
    assert_int_equal(access(in_tree("user/me/remuda.n1.1/42.1/42.1.0"), F_OK), 0);
    assert_int_not_equal(access(in_tree("user/me/remuda.n1.1/41.1"), F_OK), 0);
    step_cgroup_remove(&known);
    step_cgroup_remove(&lost);
    cgroup_bases_done(&b);
}

static void test_a_process_is_of_a_job(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is, left;
    } cases[] = {
        {"0::/user.slice/user-7.slice/user@7.service/app.slice/run-r1.scope\n", false, true},
        {"0::/user.slice/user-7.slice/user@7.service/a/remuda.n.1/g2/g2.1\n", true, false},
        {"7:devices:/remuda.n.1/g2/g2.1\n0::/u/user@7.service/run-r1.scope\n", true, false},
        {"0::/user.slice/remuda.node1.fc1da104/g17/g17.3\n", true, false},
        {"0::/remuda.node1.fc1da104/g17\n", true, false},
        {"7:memory:/a/remuda.n.1/g2/g2.1\n0::/\n", true, false},
        {"0::/system.slice/remuda.service\n", false, false}, /* the daemon */
        {"0::/remuda.node1.fc1da104\n3:cpu:/g1\n", false, false},
        {"0::/remuda.slice/group\n", false, false},
        {"0::/user.slice\n", false, false},
        {"", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(groups_are_of_job(cases[i].text), cases[i].is);
        assert_int_equal(groups_left_job(cases[i].text), cases[i].left);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(limits_of_job_and_step),
        TEST(groups_that_cannot_be_made_are_told),
        TEST(who_cannot_enter_for_want_of_room_tries_again),
        TEST(nobody_is_born_outside_for_want_of_room_inside),
        TEST(who_would_be_one_too_many_is_not_born),
        TEST(who_is_one_too_many_is_told),
        TEST(all_in_them_stand_still),
        TEST(what_counts_as_memory),
        TEST(clean_groups_are_handed_back_and_taken),
        TEST(groups_that_do_not_hide_what_they_should_are_not_handed_back),
        TEST(groups_of_forgotten_steps_are_tidied),
        TEST(a_process_is_of_a_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
