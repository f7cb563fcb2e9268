/* A fake of AMD's management library for tests: two MI250X that are linked (XGMI) and an MI210, render nodes 128 to 130. REMUDA_FAKE_AMD names a file of what happens, read anew each
 * time: "process GPU PID MIB", "used GPU MIB", "ecc GPU COUNT", "lost GPU", "rate GPU PERCENT". */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, INVALID = 1, NO_DATA = 14 };
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
    char line[256], first[32];
    int found = 0;
    FILE *f = path ? fopen(path, "re") : NULL;
    while (f && !found && fgets(line, sizeof line, f)) {
        *a = *b = 0;
        if (sscanf(line, "%31s %u %llu %llu", first, which, a, b) >= 2 && strcmp(first, word) == 0 &&
            (gpu == UINT32_MAX || *which == gpu))
            found = n-- == 0;
    }
    if (f)
        fclose(f);
    return found;
}

int rsmi_init(uint64_t flags)
{
    return flags ? INVALID : OK;
}
int rsmi_shut_down(void)
{
    return OK;
}
int rsmi_num_monitor_devices(uint32_t *n)
{
    *n = GPUS;
    return OK;
}
int rsmi_dev_name_get(uint32_t d, char *to, size_t n)
{
    snprintf(to, n, "%s", d < 2 ? "AMD Instinct MI250X" : "AMD Instinct MI210");
    return OK;
}
int rsmi_dev_unique_id_get(uint32_t d, uint64_t *id)
{
    *id = UINT64_C(0xabc0) + d;
    return OK;
}
int rsmi_dev_memory_total_get(uint32_t d, int kind, uint64_t *bytes)
{
    (void)kind;
    *bytes = (uint64_t)64 << 30;
    return d < GPUS ? OK : INVALID;
}
int rsmi_dev_memory_usage_get(uint32_t d, int kind, uint64_t *bytes)
{
    uint32_t which;
    unsigned long long a, b;
    (void)kind;
    if (fact("lost", d, 0, &which, &a, &b))
        return NO_DATA;
    *bytes = (fact("used", d, 0, &which, &a, &b) ? a : 10) << 20;
    return OK;
}
int rsmi_dev_pci_id_get(uint32_t d, uint64_t *id)
{
    *id = (uint64_t)(0x40 + d) << 8;
    return OK;
}
int rsmi_dev_drm_render_minor_get(uint32_t d, uint32_t *minor)
{
    *minor = 128 + d;
    return OK;
}
int rsmi_topo_numa_affinity_get(uint32_t d, int32_t *numa)
{
    (void)d;
    *numa = 0;
    return OK;
}
int rsmi_topo_get_link_type(uint32_t from, uint32_t to, uint64_t *hops, int *type)
{
    *hops = 1;
    *type = from < 2 && to < 2 ? 2 : 1;
    return OK;
}
int rsmi_compute_process_info_get(struct process *p, uint32_t *n)
{
    uint32_t most = p ? *n : UINT32_MAX, which;
    unsigned long long pid, mib;
    for (*n = 0; *n < most && fact("process", UINT32_MAX, *n, &which, &pid, &mib); ++*n)
        if (p)
            p[*n] = (struct process){.pid = (uint32_t)pid, .vram = mib << 20};
    return OK;
}
int rsmi_compute_process_gpus_get(uint32_t pid, uint32_t *gpus, uint32_t *n)
{
    uint32_t most = *n, which;
    unsigned long long a, b;
    *n = 0;
    for (uint32_t i = 0; fact("process", UINT32_MAX, i, &which, &a, &b); i++)
        if (a == pid && *n < most)
            gpus[(*n)++] = which;
    return OK;
}
int rsmi_dev_busy_percent_get(uint32_t d, uint32_t *percent)
{
    uint32_t which;
    unsigned long long a, b;
    *percent = fact("rate", d, 0, &which, &a, &b) ? (uint32_t)a : 0;
    return d < GPUS ? OK : INVALID;
}
int rsmi_dev_ecc_count_get(uint32_t d, int block, struct errors *e)
{
    uint32_t which;
    unsigned long long a, b;
    *e = (struct errors){0};
    if (block != 1)
        return NO_DATA;
    if (fact("ecc", d, 0, &which, &a, &b))
        e->uncorrectable = a;
    return OK;
}
