/* The program in words: is it a character device? If not, yes. Then for each number of the list:
 * same major and same minor? Then no. At the end: yes.
 *
 * Version 1 takes a rule against a device in two ways. Where a group allows all, it becomes an
 * exception. Where a group has a list of what is allowed, which a container's or a service's has,
 * the rule takes the line off that is equal to it. From one with a wildcard nothing is taken, and
 * that is no error. So the list is read afterwards. */
#include "node/cgroup/device_filter.h"
#include "base/alloc.h"
#include "base/str.h"
#include "node/step/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PER_DEVICE 4
#define LIST_BYTES (256u << 10)

size_t device_numbers_parse(const char *text, struct device_number ret[DEVICE_DENY_MAX])
{
    size_t n = 0;
    while (*text) {
        char *end;
        unsigned long major = strtoul(text, &end, 10);
        if (end == text || *end != ':' || n == DEVICE_DENY_MAX)
            return SIZE_MAX;
        text = end + 1;
        unsigned long minor = strtoul(text, &end, 10);
        if (end == text || (*end != ' ' && *end != '\0'))
            return SIZE_MAX;
        ret[n++] = (struct device_number){(uint32_t)major, (uint32_t)minor};
        text = end + strspn(end, " ");
    }
    return n;
}

static struct bpf_insn insn(uint8_t code, uint8_t to, uint8_t from, int16_t offset, int32_t value)
{
    return (struct bpf_insn){
        .code = code, .dst_reg = to & 15, .src_reg = from & 15, .off = offset, .imm = value};
}

static struct bpf_insn load(uint8_t to, size_t offset)
{
    return insn(BPF_LDX | BPF_MEM | BPF_W, to, BPF_REG_1, (int16_t)offset, 0);
}

static struct bpf_insn unless(uint8_t reg, uint32_t is, size_t skip)
{
    return insn(BPF_JMP | BPF_JNE | BPF_K, reg, 0, (int16_t)skip, (int32_t)is);
}

static struct bpf_insn answer(int32_t value)
{
    return insn(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, value);
}

size_t device_filter_program(const struct device_number *deny, size_t n, struct bpf_insn *ret)
{
    ASSERT(n <= DEVICE_DENY_MAX);
    const struct bpf_insn exit = insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    size_t at = 0;
    ret[at++] = load(BPF_REG_2, offsetof(struct bpf_cgroup_dev_ctx, access_type));
    ret[at++] = insn(BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_2, 0, 0,
                     0xffff); /* the kind; above it: read, write, make */
    ret[at++] = unless(BPF_REG_2, BPF_DEVCG_DEV_CHAR, 2 + PER_DEVICE * n);
    ret[at++] = load(BPF_REG_3, offsetof(struct bpf_cgroup_dev_ctx, major));
    ret[at++] = load(BPF_REG_4, offsetof(struct bpf_cgroup_dev_ctx, minor));
    for (size_t i = 0; i < n; i++) {
        ret[at++] = unless(BPF_REG_3, deny[i].major, 3);
        ret[at++] = unless(BPF_REG_4, deny[i].minor, 2);
        ret[at++] = answer(0);
        ret[at++] = exit;
    }
    ret[at++] = answer(1);
    ret[at++] = exit;
    return at;
}

static int bpf(int command, union bpf_attr *attr)
{
    return (int)syscall(SYS_bpf, command, attr, sizeof *attr);
}

static int program_load(const struct device_number *deny, size_t n)
{
    struct bpf_insn *program = calloc(8 + PER_DEVICE * n, sizeof *program);
    if (!program)
        return -1;
    union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE};
    attr.insn_cnt = (uint32_t)device_filter_program(deny, n, program);
    attr.insns = (uint64_t)(uintptr_t)program;
    attr.license = (uint64_t)(uintptr_t) "Apache-2.0";
    int fd = bpf(BPF_PROG_LOAD, &attr);
    int saved = errno;
    free(program);
    errno = saved;
    return fd;
}

bool device_filter_attach(const char *dir, const struct device_number *deny, size_t n)
{
    ASSERT(dir[0] == '/' && n <= DEVICE_DENY_MAX);
    int group = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int program = group >= 0 ? program_load(deny, n) : -1;
    union bpf_attr attr = {.attach_type = BPF_CGROUP_DEVICE, .attach_flags = BPF_F_ALLOW_MULTI};
    attr.target_fd = (uint32_t)group;
    attr.attach_bpf_fd = (uint32_t)program;
    bool ok = program >= 0 && bpf(BPF_PROG_ATTACH, &attr) == 0;
    int saved = errno;
    if (program >= 0)
        close(program);
    if (group >= 0)
        close(group);
    errno = saved;
    return ok;
}

/* Of a line of devices.list, "c 195:* rwm". */
struct list_line {
    char kind, major[16], minor[16], access[8];
};

static bool line_read(struct span line, struct list_line *ret)
{
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)line.len, line.data);
    return sscanf(text, "%c %15[^:]:%15s %7s", &ret->kind, ret->major, ret->minor, ret->access) ==
           4;
}

static bool allows_all(const struct list_line *l)
{
    return l->kind == 'a' && text_is(l->major, "*") && text_is(l->minor, "*");
}

/* To open it: making its file alone opens nothing. */
static bool line_opens(const struct list_line *l, const struct device_number *number)
{
    return l->kind == 'c' && strpbrk(l->access, "rw") &&
           (text_is(l->major, "*") || strtoul(l->major, NULL, 10) == number->major) &&
           (text_is(l->minor, "*") || strtoul(l->minor, NULL, 10) == number->minor);
}

bool device_list_denies(const char *list, const struct device_number *deny, size_t n)
{
    struct span rest = span_of(list), one;
    struct list_line l;
    while (span_next(&rest, '\n', &one)) {
        if (!line_read(one, &l))
            continue;
        if (allows_all(&l))
            return true;
        for (size_t i = 0; i < n; i++)
            if (line_opens(&l, &deny[i]))
                return false;
    }
    return true;
}

bool device_list_takes_rules(const char *list, const struct device_number *deny, size_t n)
{
    struct span rest = span_of(list), one;
    struct list_line l;
    bool takes = true;
    while (span_next(&rest, '\n', &one)) {
        if (!line_read(one, &l))
            continue;
        if (allows_all(&l))
            return true;
        bool many = text_is(l.major, "*") || text_is(l.minor, "*");
        for (size_t i = 0; i < n && many; i++)
            takes &= !line_opens(&l, &deny[i]);
    }
    return takes;
}

bool device_list_read(const char *dir, struct str *out)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/devices.list", dir);
    return small_file_read(AT_FDCWD, path, LIST_BYTES, out);
}

bool device_filter_write(const char *dir, const struct device_number *deny, size_t n)
{
    ASSERT(dir[0] == '/' && n <= DEVICE_DENY_MAX);
    char path[PATH_MAX], rule[64];
    snprintf(path, sizeof path, "%s/devices.deny", dir);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0;
    for (size_t i = 0; ok && i < n; i++) {
        int len = snprintf(rule, sizeof rule, "c %u:%u rwm", deny[i].major, deny[i].minor);
        ok = write(fd, rule, (size_t)len) == len; /* a write is a rule */
    }
    int saved = errno;
    if (fd >= 0)
        close(fd);
    struct str list = STR_INIT;
    if (ok && n > 0 && !(ok = device_list_read(dir, &list)))
        saved = errno;
    if (ok && !(ok = device_list_denies(str_text(&list), deny, n)))
        saved = EPERM;
    str_done(&list);
    errno = saved;
    return ok;
}
