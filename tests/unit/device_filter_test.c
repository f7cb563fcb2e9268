/* The program that version 2 of control groups runs for each open, run here by a small interpreter
 * of the instructions it uses. */
#include "unit.h"

#include "base/alloc.h"
#include "node/cgroup/device_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the kernel would answer; -1: an instruction that is not known here, or an end that is
 * none. */
static int64_t run(const struct bpf_insn *program, size_t n, const struct bpf_cgroup_dev_ctx *ctx)
{
    uint64_t reg[11] = {0};
    reg[1] = (uint64_t)(uintptr_t)ctx;
    for (size_t at = 0; at < n; at++) {
        const struct bpf_insn *i = &program[at];
        uint32_t word;
        switch (i->code) {
        case BPF_LDX | BPF_MEM | BPF_W:
            assert_int_equal(reg[i->src_reg], (uint64_t)(uintptr_t)ctx);
            assert_true(i->off >= 0 && (size_t)i->off + 4 <= sizeof *ctx);
            memcpy(&word, (const char *)ctx + i->off, 4);
            reg[i->dst_reg] = word;
            break;
        case BPF_ALU64 | BPF_AND | BPF_K: reg[i->dst_reg] &= (uint64_t)(int64_t)i->imm; break;
        case BPF_ALU64 | BPF_MOV | BPF_K: reg[i->dst_reg] = (uint64_t)(int64_t)i->imm; break;
        case BPF_JMP | BPF_JNE | BPF_K:
            if (reg[i->dst_reg] != (uint64_t)(int64_t)i->imm)
                at += (size_t)i->off;
            break;
        case BPF_JMP | BPF_EXIT: return (int64_t)reg[0];
        default: return -1;
        }
    }
    return -1;
}

static int64_t asked(const char *deny, uint32_t kind, uint32_t major, uint32_t minor)
{
    static struct device_number number[DEVICE_DENY_MAX];
    static struct bpf_insn program[8 + 4 * DEVICE_DENY_MAX];
    size_t n = device_numbers_parse(deny, number);
    assert_true(n <= DEVICE_DENY_MAX);
    size_t len = device_filter_program(number, n, program);
    assert_true(len <= 8 + 4 * n);
    struct bpf_cgroup_dev_ctx ctx = {
        .access_type = BPF_DEVCG_ACC_READ << 16 | kind, .major = major, .minor = minor};
    return run(program, len, &ctx);
}

static void test_devices_of_the_list_are_refused_and_no_others(void **state)
{
    for (uint32_t minor = 0; minor < 8; minor++)
        assert_int_equal(asked("195:1 195:3 195:7", BPF_DEVCG_DEV_CHAR, 195, minor),
                         minor != 1 && minor != 3 && minor != 7);
    assert_int_equal(asked("195:1", BPF_DEVCG_DEV_CHAR, 1, 1), 1);     /* another major */
    assert_int_equal(asked("195:1", BPF_DEVCG_DEV_CHAR, 195, 255), 1); /* nvidiactl */
    assert_int_equal(asked("195:1", BPF_DEVCG_DEV_BLOCK, 195, 1), 1);
    assert_int_equal(asked("", BPF_DEVCG_DEV_CHAR, 195, 1), 1);
}

static void test_the_longest_list(void **state)
{
    char text[DEVICE_DENY_MAX * 10];
    size_t len = 0;
    for (int i = 0; i < DEVICE_DENY_MAX; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s195:%d", i ? " " : "", 2 * i);
    assert_int_equal(asked(text, BPF_DEVCG_DEV_CHAR, 195, 2 * (DEVICE_DENY_MAX - 1)), 0);
    assert_int_equal(asked(text, BPF_DEVCG_DEV_CHAR, 195, 3), 1);
    assert_int_equal(asked(text, BPF_DEVCG_DEV_BLOCK, 195, 2), 1); /* the longest jump */
}

static void test_what_is_no_list_is_refused(void **state)
{
    static const char *const bad[] = {"195", "195:", "x", "195:1,195:2", "195:1 7"};
    struct device_number number[DEVICE_DENY_MAX];
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(device_numbers_parse(bad[i], number), SIZE_MAX);
    assert_int_equal(device_numbers_parse("195:1 510:22", number), 2);
    assert_int_equal(number[1].major, 510);
    assert_int_equal(number[1].minor, 22);
}

/* ---- version 1 ---- */

static const struct device_number gpus[] = {{195, 1}, {226, 129}};

static void test_a_list_with_a_wildcard_denies_nothing_below_it(void **state)
{
    static const struct {
        const char *list;
        bool denies, takes;
    } cases[] = {
        {"a *:* rwm\n", true, true}, /* exceptions are not shown */
        {"", true, true},
        {"c 1:3 rwm\nc 1:5 rwm\nb *:* rw\n", true, true},
        {"c *:* m\nb *:* m\nc 136:* rwm\nc 10:200 rwm\n", true, true}, /* as LXC has it */
        {"c *:* m\nc 195:* rwm\n", false, false},
        {"c 195:* m\n", true, true},
        {"c 195:* r\n", false, false},
        {"c 195:0 rwm\nc 195:1 rwm\nc 226:129 rwm\nc 510:* rwm\n", false,
         true}, /* beside nvidia-uvm */
        {"c 226:* w\n", false, false},
        {"c *:* rwm\n", false, false},
        {"c *:129 rwm\n", false, false},
        {"c 195:1 rw\n", false, true}, /* it is taken off by the rule */
        {"c 195:0 rwm\n", true, true},
        {"c 1951:* rwm\n", true, true},
        {"c 511:* rwm\n", true, true},
        {"garbage\nc 195:1\nc :1 rwm\n", true, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(device_list_denies(cases[i].list, gpus, ARRAY_LEN(gpus)), cases[i].denies);
        assert_int_equal(device_list_takes_rules(cases[i].list, gpus, ARRAY_LEN(gpus)),
                         cases[i].takes);
    }
}

/* In groups of the kernel's, where this machine has such and lets them be made. */
static void test_the_kernel_takes_no_rule_against_a_wildcard(void **state)
{
    static const struct {
        const char *allow;
        bool holds;
    } cases[] = {{NULL, true},         {"c 195:1 rwm", true}, {"c 195:* rwm", false},
                 {"c *:* rwm", false}, {"c *:* m", true},     {"c 195:* m", true},
                 {"c 226:* r", false}};
    const char *top = "/sys/fs/cgroup/devices/remuda-unit-XXXXXX";
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char dir[64], path[96];
        snprintf(dir, sizeof dir, "%s", top);
        if (!mkdtemp(dir))
            skip();
        bool made = true;
        for (int k = 0; k < 2 && cases[i].allow; k++) {
            const char *rule = k ? cases[i].allow : "a";
            snprintf(path, sizeof path, "%s/devices.%s", dir, k ? "allow" : "deny");
            int fd = open(path, O_WRONLY | O_CLOEXEC);
            made &= write(fd, rule, strlen(rule)) == (ssize_t)strlen(rule);
            close(fd);
        }
        bool holds = device_filter_write(dir, gpus, ARRAY_LEN(gpus));
        int why = errno;
        rmdir(dir);
        if (!made)
            skip();
        assert_int_equal(holds, cases[i].holds);
        assert_true(holds || why == EPERM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices_of_the_list_are_refused_and_no_others),
        cmocka_unit_test(test_the_longest_list),
        cmocka_unit_test(test_what_is_no_list_is_refused),
        cmocka_unit_test(test_a_list_with_a_wildcard_denies_nothing_below_it),
        cmocka_unit_test(test_the_kernel_takes_no_rule_against_a_wildcard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
