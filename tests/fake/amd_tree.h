/* A machine's AMD GPUs as the kernel's files tell of them: /sys/class/kfd and the devices on the
 * bus, below a directory of a test's own. */
#ifndef REMUDA_TESTS_AMD_TREE_H
#define REMUDA_TESTS_AMD_TREE_H

#include <stddef.h>
#include <stdint.h>

struct amd_tree_gpu {
    const char *model;      /* "mi300x" */
    uint32_t device;        /* its number on the bus: 0x74a1 */
    uint32_t gfx;           /* 90402 */
    unsigned long long gib; /* of memory */
};

/* GPU i: gpu_id 1000 + i, bus 0x41 + i, render node 128 + i, unique id 0xabc0 + i; those of one
 * model are linked. */
void amd_tree_make(const char *root, const struct amd_tree_gpu *gpu, size_t n);
/* NULL: no such model is known here. */
const struct amd_tree_gpu *amd_tree_model(const char *name);
/* Writes a file below root, and the directories that lead to it. The text may be formatted; len 0:
 * it is text. */
void amd_tree_write(const char *root, const char *path, const void *data, size_t len);
void amd_tree_say(const char *root, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
