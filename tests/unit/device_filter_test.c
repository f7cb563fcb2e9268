/* The program that version 2 of control groups runs for each open, run here by a small interpreter
 * of the instructions it uses. */
#include "unit.h"

#include "base/alloc.h"
#include "node/cgroup/device_filter.h"

#include <stdio.h>
#include <string.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices_of_the_list_are_refused_and_no_others),
        cmocka_unit_test(test_the_longest_list),
        cmocka_unit_test(test_what_is_no_list_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
