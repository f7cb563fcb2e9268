/* AMD's GPUs by the kernel's files, which lie as real ones do: each lie in each file, and what
 * every question then gets. This test has the place of sysfs_read.c. */
#ifndef REMUDA_TESTS_AMD_KERNEL_HELP_H
#define REMUDA_TESTS_AMD_KERNEL_HELP_H

#include "unit.h"

#include "../fake/amd_tree.h"
#include "node/hardware/amd/amd.h"
#include "node/hardware/discover_gpus.h"
#include "node/hardware/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GPUS  3u
#define HANGS (-1)

#define KFD "class/kfd/kfd/"
#define BUS "bus/pci/devices/0000:42:00.0"

/* ---- reading, with one file that lies ---- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const char *file; /* below the tree; NULL: none lies */
    int error;        /* 0: `text` is in it; HANGS: until it does no more */
    const char *text;
} lie = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static inline void lie_set(const char *file, int error, const char *text)
{
    pthread_mutex_lock(&lie.lock);
    lie.file = file;
    lie.error = error;
    lie.text = text;
    pthread_cond_broadcast(&lie.changed);
    pthread_mutex_unlock(&lie.lock);
}

static inline int honest_read(const char *path, char *to, size_t size, size_t *ret_len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    ssize_t n = read(fd, to, size - 1);
    close(fd);
    to[n > 0 ? n : 0] = '\0';
    if (ret_len)
        *ret_len = n > 0 ? (size_t)n : 0;
    return 0;
}

int sysfs_read(const char *path, char *to, size_t size, size_t *ret_len)
{
    char below[512];
    pthread_mutex_lock(&lie.lock);
    snprintf(below, sizeof below, "%s", path + strlen(sysfs_root()) + 1);
    while (lie.file && text_is(below, lie.file) && lie.error == HANGS)
        pthread_cond_wait(&lie.changed, &lie.lock);
    bool lies = lie.file && text_is(below, lie.file);
    int error = lies ? lie.error : 0;
    if (lies && !error)
        snprintf(to, size, "%s", lie.text);
    if (lies && ret_len)
        *ret_len = error ? 0 : strlen(lie.text);
    pthread_mutex_unlock(&lie.lock);
    return lies ? error : honest_read(path, to, size, ret_len);
}

/* ---- a machine ---- */

static char top[] = "/tmp/remuda-amd-unit-XXXXXX";

static inline void tree_remove(const char *below)
{
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s/%s'", top, below);
    assert_int_equal(system(command), 0);
}

static inline void machine_make(const char *first, const char *second, const char *third)
{
    struct amd_tree_gpu gpu[GPUS] = {*amd_tree_model(first), *amd_tree_model(second),
                                     *amd_tree_model(third)};
    tree_remove("");
    amd_tree_make(top, gpu, GPUS);
    amd_tree_say(top, KFD "proc/4711/vram_1000", "1048576\n");
    amd_tree_say(top, KFD "proc/4711/vram_1001", "2097152\n");
    amd_tree_say(top, KFD "proc/4711/vram_1002", "0\n");
    amd_tree_say(top, KFD "proc/4711/queues/0/gpuid", "1001\n");
}

static inline struct amd *opened(void)
{
    struct str why = STR_INIT;
    struct amd *a = amd_open(&why);
    assert_non_null(a);
    assert_string_equal(str_text(&why), "");
    str_done(&why);
    a->wait_ms = 60000;
    return a;
}

static inline int begin(void **state)
{
    (void)state;
    setenv("REMUDA_SYS", top, 1);
    setenv("REMUDA_KFD", "/dev/null", 1);
    setenv("REMUDA_RSMI", "/nowhere/rsmi.so", 1); /* whatever this machine has */
    lie_set(NULL, 0, NULL);
    machine_make("mi250x", "mi250x", "mi210");
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    tree_remove("");
    return 0;
}

/* ---- how it is: each lie in each file ---- */

enum { MEMORY = 1, ERRORS = 2, BUSY = 4, BYTES = 8, ON = 16, ALL = 31 };

/* What a lie in a file costs: the answer for the device, and what is then not known of it. */
static const struct file {
    const char *path;
    bool of_device; /* it is one that a device, or its driver for it, answers */
    int costs;
} files[] = {
    {KFD "topology/nodes/2/gpu_id", true, 0},   {BUS "/config", true, 0},
    {BUS "/gpu_busy_percent", true, BUSY},      {BUS "/mem_info_vram_total", true, MEMORY},
    {BUS "/mem_info_vram_used", true, MEMORY},  {BUS "/ras/umc_err_count", false, ERRORS},
    {BUS "/power/runtime_status", false, 0},    {KFD "proc/4711/vram_1001", false, BYTES},
    {KFD "proc/4711/queues/0/gpuid", false, 0},
};

static const struct {
    int error;
    enum amd_answer answer;
} errors[] = {
    {EIO, AMD_DOUBT},     {EAGAIN, AMD_DOUBT},    {EBUSY, AMD_DOUBT},     {EPERM, AMD_DOUBT},
    {ETIME, AMD_DOUBT},   {ETIMEDOUT, AMD_DOUBT}, {EREMOTEIO, AMD_DOUBT}, {EFAULT, AMD_DOUBT},
    {ENODEV, AMD_ABSENT}, {ENXIO, AMD_ABSENT},    {ENOENT, AMD_OK},       {EACCES, AMD_OK},
    {EOPNOTSUPP, AMD_OK}, {EINVAL, AMD_OK},       {ENODATA, AMD_OK},      {EINTR, AMD_OK},
    {ENOMEM, AMD_OK},     {EMFILE, AMD_OK},       {EBADMSG, AMD_OK},
};

#endif
