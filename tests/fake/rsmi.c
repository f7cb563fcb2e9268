/* A fake of AMD's management library for tests: two MI250X that are linked (XGMI) and an MI210,
 * render nodes 128 to 130. REMUDA_FAKE_AMD names a file of what happens, read anew each time:
 * "process GPU PID MIB", "used GPU MIB", "ecc GPU COUNT BLOCK", "rate GPU PERCENT", what is not
 * told without such a line: "membusy GPU PERCENT", "milliwatts GPU N", "celsius GPU EDGE MEMORY",
 * "table GPU ENGINES MHZ" (gpu_metrics 1.3), "slowed GPU BITS"; what it lies: "count 0 N" devices,
 * "listed 0 N" processes, of which it fills none, "total GPU MIB" of memory; and of any call
 * what it answers in place of that: "rsmi_dev_busy_percent_get GPU 16"; code 9999: it does not come
 * back while the line is there. As in the real one, what fails leaves alone what it was to fill,
 * and the list of processes has numbers only. Built with LACKS_PROCESSES it has none of the
 * functions that are newer. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, INVALID = 1, NOT_SUPPORTED = 2, NOT_FOUND = 10, TOO_SMALL = 11, HANGS = 9999 };
#define GPUS 3u

struct process {
    uint32_t pid, pasid;
    uint64_t vram, sdma;
    uint32_t occupancy;
};
struct errors {
    uint64_t correctable, uncorrectable;
};

/* The n-th line with that word, about that device (UINT32_MAX: about any). */
static int fact(const char *word, uint32_t gpu, uint32_t n, uint32_t *which, unsigned long long *a,
                unsigned long long *b)
{
    const char *path = getenv("REMUDA_FAKE_AMD");
    char line[256], first[64];
    int found = 0;
    FILE *f = path ? fopen(path, "re") : NULL;
    while (f && !found && fgets(line, sizeof line, f)) {
        *a = *b = 0;
        if (sscanf(line, "%63s %u %llu %llu", first, which, a, b) >= 2 &&
            strcmp(first, word) == 0 && (gpu == UINT32_MAX || *which == gpu))
            found = n-- == 0;
    }
    if (f)
        fclose(f);
    return found;
}

/* What the call answers in place of what is asked. */
static int told(const char *call, uint32_t gpu)
{
    uint32_t which;
    unsigned long long code, b;
    while (fact(call, gpu, 0, &which, &code, &b)) {
        if (code != HANGS)
            return (int)(uint32_t)code;
        usleep(10000);
    }
    return OK;
}
#define ANSWER(gpu)                                                                                \
    do {                                                                                           \
        int code = told(__func__, gpu);                                                            \
        if (code)                                                                                  \
            return code;                                                                           \
    } while (0)
#define ANSWER_OF(gpu)                                                                             \
    do {                                                                                           \
        ANSWER(gpu);                                                                               \
        if ((gpu) >= GPUS)                                                                         \
            return INVALID;                                                                        \
    } while (0)

int rsmi_init(uint64_t flags)
{
    ANSWER(0);
    return flags ? INVALID : OK;
}
int rsmi_shut_down(void)
{
    return OK;
}
int rsmi_num_monitor_devices(uint32_t *n)
{
    uint32_t which;
    unsigned long long a, b;
    ANSWER(0);
    *n = fact("count", 0, 0, &which, &a, &b) ? (uint32_t)a : GPUS;
    return OK;
}
int rsmi_dev_id_get(uint32_t d, uint16_t *id)
{
    ANSWER_OF(d);
    *id = d < 2 ? 0x7408 : 0x740f;
    return OK;
}
int rsmi_dev_name_get(uint32_t d, char *to, size_t n)
{
    ANSWER_OF(d);
    snprintf(to, n, "%s",
             d < 2 ? "Aldebaran/MI200 [Instinct MI250X]" : "Aldebaran/MI200 [Instinct MI210]");
    return OK;
}
int rsmi_dev_unique_id_get(uint32_t d, uint64_t *id)
{
    ANSWER_OF(d);
    *id = UINT64_C(0xabc0) + d;
    return OK;
}
int rsmi_dev_memory_total_get(uint32_t d, int kind, uint64_t *bytes)
{
    uint32_t which;
    unsigned long long a, b;
    (void)kind;
    ANSWER_OF(d);
    *bytes = (fact("total", d, 0, &which, &a, &b) ? (uint64_t)a : 64 << 10) << 20;
    return OK;
}
int rsmi_dev_memory_usage_get(uint32_t d, int kind, uint64_t *bytes)
{
    uint32_t which;
    unsigned long long a, b;
    (void)kind;
    ANSWER_OF(d);
    *bytes = (fact("used", d, 0, &which, &a, &b) ? a : 10) << 20;
    return OK;
}
int rsmi_dev_pci_id_get(uint32_t d, uint64_t *id)
{
    ANSWER_OF(d);
    *id = (uint64_t)(0x40 + d) << 8;
    return OK;
}
int rsmi_dev_drm_render_minor_get(uint32_t d, uint32_t *minor)
{
    ANSWER_OF(d);
    *minor = 128 + d;
    return OK;
}
int rsmi_topo_get_link_type(uint32_t from, uint32_t to, uint64_t *hops, int *type)
{
    ANSWER_OF(from);
    *hops = 1;
    *type = from < 2 && to < 2 ? 2 : 1;
    return OK;
}
int rsmi_dev_busy_percent_get(uint32_t d, uint32_t *percent)
{
    uint32_t which;
    unsigned long long a, b;
    ANSWER_OF(d);
    *percent = fact("rate", d, 0, &which, &a, &b) ? (uint32_t)a : 0;
    return OK;
}
int rsmi_dev_memory_busy_percent_get(uint32_t d, uint32_t *percent)
{
    uint32_t which;
    unsigned long long a, b;
    ANSWER_OF(d);
    if (!fact("membusy", d, 0, &which, &a, &b))
        return NOT_SUPPORTED;
    *percent = (uint32_t)a;
    return OK;
}
/* As of MI200 and older: the newer call answers only on MI300. */
int rsmi_dev_power_get(uint32_t d, uint64_t *uw, int *kind)
{
    (void)uw;
    (void)kind;
    ANSWER_OF(d);
    return NOT_SUPPORTED;
}
int rsmi_dev_power_ave_get(uint32_t d, uint32_t sensor, uint64_t *uw)
{
    uint32_t which;
    unsigned long long a, b;
    ANSWER_OF(d);
    if (sensor || !fact("milliwatts", d, 0, &which, &a, &b))
        return NOT_SUPPORTED;
    *uw = a * 1000;
    return OK;
}
int rsmi_dev_temp_metric_get(uint32_t d, uint32_t sensor, int metric, int64_t *milli)
{
    uint32_t which;
    unsigned long long edge, memory;
    ANSWER_OF(d);
    if (metric || (sensor != 0 && sensor != 2) || !fact("celsius", d, 0, &which, &edge, &memory))
        return NOT_SUPPORTED;
    *milli = (int64_t)(sensor ? memory : edge) * 1000;
    return OK;
}
int rsmi_dev_gpu_metrics_info_get(uint32_t d, unsigned char *table)
{
    uint32_t which;
    unsigned long long engines, mhz, bits = 0, b;
    ANSWER_OF(d);
    if (!fact("table", d, 0, &which, &engines, &mhz))
        return NOT_SUPPORTED;
    fact("slowed", d, 0, &which, &bits, &b);
    memset(table, 0xff, 120);
    memcpy(table, (const unsigned char[]){120, 0, 1, 3}, 4);
    table[20] = (unsigned char)engines;
    table[21] = (unsigned char)(engines >> 8);
    table[54] = (unsigned char)mhz;
    table[55] = (unsigned char)(mhz >> 8);
    for (int i = 0; i < 8; i++)
        table[112 + i] = (unsigned char)(bits >> 8 * i);
    return OK;
}
/* Blocks are bits, of a type of 8 bytes; half of them do not count. */
int rsmi_dev_ecc_count_get(uint32_t d, uint64_t block, struct errors *e)
{
    uint32_t which;
    unsigned long long count, in;
    ANSWER_OF(d);
    if (!block || block & (block - 1) || block > UINT64_C(1) << 18)
        return INVALID;
    if (block & UINT64_C(0x55550))
        return NOT_SUPPORTED;
    *e = (struct errors){0};
    for (uint32_t i = 0; fact("ecc", d, i, &which, &count, &in); i++)
        if (block == (in ? in : 1))
            e->uncorrectable = count;
    return OK;
}

#ifndef LACKS_PROCESSES
/* Each process once, in the order of the lines. */
static uint32_t pids(uint32_t *to, uint32_t most)
{
    uint32_t n = 0, which;
    unsigned long long pid, b;
    for (uint32_t i = 0; fact("process", UINT32_MAX, i, &which, &pid, &b); i++) {
        uint32_t k = 0;
        while (k < n && k < most && to[k] != pid)
            k++;
        if (k == n && n < most)
            to[n] = (uint32_t)pid;
        n += k == n;
    }
    return n;
}
int rsmi_compute_process_info_get(struct process *p, uint32_t *n)
{
    static uint32_t pid[4096];
    uint32_t which;
    unsigned long long a, b;
    ANSWER(0);
    if (fact("listed", 0, 0, &which, &a, &b)) {
        *n = (uint32_t)a;
        return OK;
    }
    uint32_t count = pids(pid, 4096), room = *n;
    *n = count;
    for (uint32_t i = 0; p && i < count && i < room; i++) {
        p[i].pid = pid[i];
        p[i].pasid = 0x8000 + i;
    }
    return p && count > room ? TOO_SMALL : OK;
}
int rsmi_compute_process_info_by_device_get(uint32_t pid, uint32_t d, struct process *p)
{
    uint32_t which;
    unsigned long long a, mib;
    ANSWER_OF(d);
    for (uint32_t i = 0; fact("process", d, i, &which, &a, &mib); i++)
        if (a == pid) {
            p->pid = pid;
            p->vram = mib << 20;
            p->sdma = 0;
            p->occupancy = UINT32_MAX;
            return OK;
        }
    return NOT_FOUND;
}
int rsmi_compute_process_gpus_get(uint32_t pid, uint32_t *gpus, uint32_t *n)
{
    uint32_t most = *n, which;
    unsigned long long a, b;
    ANSWER(0);
    *n = 0;
    for (uint32_t i = 0; fact("process", UINT32_MAX, i, &which, &a, &b); i++)
        if (a == pid && *n < most)
            gpus[(*n)++] = which;
    return OK;
}
#endif
