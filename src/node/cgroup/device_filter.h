/* Which device files a step may open: all but those of GPUs that are not its own. Version 1 of
 * control groups takes rules as text; version 2 runs a small program for each open, which is
 * generated here (pure) and handed to the kernel. */
#ifndef REMUDA_NODE_CGROUP_DEVICE_FILTER_H
#define REMUDA_NODE_CGROUP_DEVICE_FILTER_H

#include "base/str.h"

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEVICE_DENY_MAX 1024

struct device_number {
    uint32_t major, minor;
};

/* Reads "195:0 195:3"; how many, at most DEVICE_DENY_MAX; SIZE_MAX if it is no such list. */
size_t device_numbers_parse(const char *text, struct device_number ret[DEVICE_DENY_MAX]);
/* The program: 0 (no) for character devices of that list, else 1 (yes). Returns its length; `ret`
 * holds 8 + 4 n instructions. */
size_t device_filter_program(const struct device_number *deny, size_t n, struct bpf_insn *ret);
/* Version 2: loads the program and ties it to the group at `dir`, with those of its parents still
 * in force. False with errno. */
bool device_filter_attach(const char *dir, const struct device_number *deny, size_t n);
/* Version 1: writes the rules into the group, and looks whether they hold. False with errno; EPERM:
 * the group's list allows such devices by a wildcard, and no rule changes that. */
bool device_filter_write(const char *dir, const struct device_number *deny, size_t n);
/* Version 1: what the group at `dir` allows, a line each; false with errno. */
bool device_list_read(const char *dir, struct str *out);
/* Pure: after the rules were written, can none of these be opened? */
bool device_list_denies(const char *list, const struct device_number *deny, size_t n);
/* Pure: will rules against these hold? Against a line that allows one of them by a wildcard none
 * does. What the list allows of other devices does not matter. */
bool device_list_takes_rules(const char *list, const struct device_number *deny, size_t n);

#endif
