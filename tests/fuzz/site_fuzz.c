/* What a node reads of its kernel and its site: the kernel's log about memory, lists of devices,
 * names of groups, gres.conf, windows of time; and what a controller reads of its site's submit
 * filter. */
#include "fuzz.h"

#include "base/alloc.h"
#include "base/str.h"
#include "model/grammar/time_windows.h"
#include "model/settings/gres_conf.h"
#include "node/cgroup/device_filter.h"
#include "node/cgroup/group.h"
#include "node/shepherd/watch/oom.h"
#include "wire/submit_filter.h"

#include <stdlib.h>
#include <string.h>

const char *const fuzz_words[] = {
    "6,101,1,-;oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=",
    "/remuda.n1.1/7.1/7.1.batch",
    ",task_memcg=",
    ",task=py (x),pid=77,uid=0\n",
    "3,103,1,-;Memory cgroup out of memory: Killed process 77 (",
    ") total-vm:9kB, anon-rss:",
    "kB, file-rss:0kB",
    "\n",
    "195:0 ",
    "group_",
    "task_",
    "Name=gpu ",
    "Type=v100 ",
    "File=/dev/nvidia[0-3] ",
    "Cores=0-15 ",
    "Links=-1,16 ",
    "Count=4G ",
    "NodeName=n[1-4] ",
    "AutoDetect=nvml ",
    "Flags=CountOnly ",
    "MultipleFiles=",
    "Mon-Fri",
    "09:00-17:00",
    "MaxTime=1-0",
    "MaxNodes=2",
    "{\"refuse\":\"",
    "{\"message\":\"",
    "{\"jobs\":[{\"partition\":\"",
    "\"ntasks\":",
    "},{",
    "\"}]}",
    ";",
    NULL,
};

static void kernel_check(const char *text)
{
    struct oom_victim v;
    enum oom_limit limit;
    struct device_number numbers[DEVICE_DENY_MAX];
    struct bpf_insn program[8 + 4 * DEVICE_DENY_MAX];
    struct str said = STR_INIT;
    int64_t group, part;
    if (oom_log_find(text, "/remuda.n1.1/7.1/7.1.batch", &v, &limit)) {
        CHECK(memchr(v.name, '\0', sizeof v.name));
        oom_sentence(v.rss_bytes, v.rss_bytes, limit == OOM_OF_JOB, true, &v, &said);
        CHECK(said.len);
    }
    str_done(&said);
    size_t n = device_numbers_parse(text, numbers);
    CHECK(n == SIZE_MAX || n <= DEVICE_DENY_MAX);
    if (n <= DEVICE_DENY_MAX)
        CHECK(device_filter_program(numbers, n, program) <= sizeof program / sizeof program[0]);
    step_cgroup_name_parse(text, &group, &part);
}

static void windows_check(const char *text, struct arena *a)
{
    static const int64_t now_us = INT64_C(1795377698000000);
    static const struct zone utc;
    struct time_windows w;
    struct time_window least;
    struct err e = {0};
    if (!time_windows_parse(text, a, &w, &e)) {
        CHECK(e.text[0]);
        return;
    }
    CHECK(time_windows_next(&w, now_us, &utc) > now_us);
    time_windows_at(&w, now_us, &utc, &least);
}

static void filter_check(const char *text, struct arena *a)
{
    struct job_spec one = {0}, other = {0}, *const both[] = {&one, &other};
    struct filter_answer answer;
    struct err e = {0};
    if (!submit_filter_read(text, strlen(text), both, 2, a, &answer, &e))
        CHECK(e.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = xstrndup((const char *)data, size);
    struct arena *a = arena_new();
    struct gres_conf conf;
    struct err e = {0};
    kernel_check(text);
    if (!gres_conf_parse(text, "gres.conf", "n1", a, &conf, &e))
        CHECK(e.text[0]);
    windows_check(text, a);
    filter_check(text, a);
    arena_free(a);
    free(text);
    return 0;
}
