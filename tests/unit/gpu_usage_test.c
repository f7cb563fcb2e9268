/* What is made of the samples that NVML has of a device's processes. */
#include "unit.h"

#include "base/alloc.h"
#include "node/hardware/gpu_holders.h"
#include "node/hardware/gpu_usage.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000)

/* What the library has, and says. */
static struct {
    unsigned long long at_us[4], since_us;
    unsigned n;
    int answer; /* where samples are newer than asked for */
    pid_t pid;  /* that is on the device; 0 = this one */
} library;

static int memory(nvml_device device, struct nvml_memory *ret)
{
    (void)device;
    *ret = (struct nvml_memory){.total = 1000, .used = 10};
    return NVML_OK;
}

static int processes(nvml_device device, unsigned *n, struct nvml_process *ret)
{
    (void)device;
    *n = 1;
    *ret = (struct nvml_process){.pid = (unsigned)(library.pid ? library.pid : getpid()),
                                 .used_bytes = 1000};
    return NVML_OK;
}

static int process_use(nvml_device device, struct nvml_process_use *ret, unsigned *n,
                       unsigned long long since_us)
{
    (void)device;
    *n = 0;
    library.since_us = since_us;
    for (unsigned i = 0; i < library.n; i++)
        if (library.at_us[i] > since_us)
            ret[(*n)++] = (struct nvml_process_use){
                .pid = (unsigned)getpid(), .at_us = library.at_us[i], .gpu = 50};
    return *n ? library.answer : NVML_NOT_FOUND;
}

/* What is asked from the next time. */
static unsigned long long next_since(unsigned long long since_us)
{
    const struct nvml n = {
        .memory = memory, .compute_processes = processes, .process_use = process_use};
    const struct gpu_asked asked = {.activity = -1, .now_ms = 1000};
    struct gpu_usage u = {.holders = gpu_holders_new()};
    struct gpu_meter m = {.since_us = since_us};
    gpu_usage_nvidia(&u, &n, NULL, &asked, &m);
    gpu_holders_free(u.holders);
    vec_done(&u.step);
    vec_done(&u.gpu);
    assert_int_equal(library.since_us, since_us);
    return m.since_us;
}

static void test_samples_are_asked_for_from_a_time_that_is_over(void **state)
{
    (void)state;
    unsigned long long now = (unsigned long long)time(NULL) * SECOND;
    const struct {
        unsigned long long at_us[4];
        unsigned n;
        int answer;
        unsigned long long since_us, next_us; /* next_us 0: a second or so ago */
    } cases[] = {
        {{0}, 0, NVML_OK, now - 5 * SECOND, now - 5 * SECOND},
        {{now - 3 * SECOND, now - 2 * SECOND}, 2, NVML_OK, now - 5 * SECOND, now - 2 * SECOND},
        {{now - 2 * SECOND, now - 3 * SECOND}, 2, NVML_OK, now - 5 * SECOND, now - 2 * SECOND},
        {{now - 3 * SECOND, UINT64_MAX, now - 2 * SECOND}, 3, NVML_OK, 7, now - 2 * SECOND},
        {{now + 3600 * SECOND}, 1, NVML_OK, now - 5 * SECOND, now - 5 * SECOND},
        {{now - SECOND}, 1, NVML_OK, now + 3600 * SECOND, 0}, /* the clock was set back */
        {{now - SECOND}, 1, NVML_OK, UINT64_MAX, 0},
        {{now - SECOND}, 1, NVML_TOO_SMALL, now - 5 * SECOND, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        memcpy(library.at_us, cases[i].at_us, sizeof library.at_us);
        library.n = cases[i].n;
        library.answer = cases[i].answer;
        unsigned long long next = next_since(cases[i].since_us);
        if (cases[i].next_us)
            assert_int_equal(next, cases[i].next_us);
        else
            assert_in_range(next, now - 2 * SECOND, now + 60 * SECOND);
    }
}

/* A process of another number than its job's, below what the kernel shows as a step's shepherd. */
static pid_t mapped_below_shepherd(const char *state, pid_t *ret_shepherd)
{
    int ends[2];
    pid_t child = 0;
    assert_int_equal(pipe(ends), 0);
    *ret_shepherd = fork();
    if (*ret_shepherd == 0) {
        alarm(60);
        if (prctl(PR_SET_NAME, "rm-7") != 0 || open(state, O_RDWR | O_CREAT | O_CLOEXEC, 0600) < 0)
            _exit(1);
        child = fork();
        if (child == 0) {
            child = getpid();
            if (setresuid(100999, 100999, 100999) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
                (void)!write(ends[1], &child, sizeof child);
        }
        close(ends[1]);
        pause();
        _exit(0);
    }
    close(ends[1]);
    bool ok = read(ends[0], &child, sizeof child) == sizeof child;
    close(ends[0]);
    return ok ? child : 0;
}

static void test_use_below_a_shepherd_is_its_steps(void **state)
{
    (void)state;
    const struct nvml n = {.memory = memory, .compute_processes = processes};
    const struct gpu_asked asked = {.activity = -1, .now_ms = 1000};
    char top[] = "/tmp/usage-XXXXXX", steps[64], dir[96], path[128];
    struct str said = STR_INIT;
    pid_t shepherd;
    if (geteuid() != 0)
        skip();
    assert_non_null(mkdtemp(top));
    snprintf(steps, sizeof steps, "%s/steps", top);
    snprintf(dir, sizeof dir, "%s/7.1.batch", steps);
    snprintf(path, sizeof path, "%s/state", dir);
    assert_int_equal(mkdir(steps, 0700) | mkdir(dir, 0700), 0);
    library.pid = mapped_below_shepherd(path, &shepherd);
    struct gpu_usage u = {.holders = gpu_holders_new()};
    struct gpu_meter m = {0};
    if (library.pid)
        gpu_usage_nvidia(&u, &n, NULL, &asked, &m);
    gpu_usage_say(&u, &said);
    library.pid = 0;
    kill(shepherd, SIGKILL);
    waitpid(shepherd, NULL, 0);
    unlink(path);
    rmdir(dir);
    rmdir(steps);
    rmdir(top);
    gpu_holders_free(u.holders);
    vec_done(&u.step);
    vec_done(&u.gpu);
    bool of_root = text_starts(str_text(&said), "used 7.1.batch 0 1000 0 0\n");
    str_done(&said);
    assert_true(of_root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_use_below_a_shepherd_is_its_steps),
        cmocka_unit_test(test_samples_are_asked_for_from_a_time_that_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
