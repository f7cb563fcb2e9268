/* AMD's management library (ROCm SMI), opened at run time; REMUDA_RSMI names another, for tests.
 * The declarations are its ABI. Its calls take locks in shared memory that any user can hold: they
 * may wait, or answer that it is busy. */
#ifndef REMUDA_NODE_HARDWARE_RSMI_H
#define REMUDA_NODE_HARDWARE_RSMI_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RSMI_VRAM        0 /* kind of memory */
#define RSMI_LINK_XGMI   2
#define RSMI_DEVICES_MAX 256u /* more are not believed */
#define RSMI_BLOCKS      19u  /* that count errors, a bit each: UMC, SDMA, GFX, MMHUB, … */

struct rsmi_process {
    uint32_t pid, pasid;
    uint64_t vram_bytes, sdma_usage; /* not of `processes` */
    uint32_t cu_occupancy;
};
struct rsmi_errors {
    uint64_t correctable, uncorrectable; /* of memory, since the driver came up */
};

/* X(member, must, symbol, parameters); all answer 0 for success. */
// clang-format off
#define RSMI_FUNCTIONS(X)                                                                                    \
    X(init, true, "rsmi_init", (uint64_t))                                                                   \
    X(shut_down, true, "rsmi_shut_down", (void))                                                             \
    X(count, true, "rsmi_num_monitor_devices", (uint32_t *))                                                 \
    X(name, true, "rsmi_dev_name_get", (uint32_t, char *, size_t))                                           \
    X(unique_id, true, "rsmi_dev_unique_id_get", (uint32_t, uint64_t *))                                     \
    X(memory_total, true, "rsmi_dev_memory_total_get", (uint32_t, int, uint64_t *))                          \
    X(memory_used, true, "rsmi_dev_memory_usage_get", (uint32_t, int, uint64_t *))                           \
    X(pci, true, "rsmi_dev_pci_id_get", (uint32_t, uint64_t *))                                              \
    X(device_id, false, "rsmi_dev_id_get", (uint32_t, uint16_t *))                                           \
    X(render_minor, false, "rsmi_dev_drm_render_minor_get", (uint32_t, uint32_t *))                          \
    X(link_type, false, "rsmi_topo_get_link_type", (uint32_t, uint32_t, uint64_t *, int *))                  \
    X(processes, false, "rsmi_compute_process_info_get", (struct rsmi_process *, uint32_t *))                \
    X(process_on, false, "rsmi_compute_process_info_by_device_get",                                          \
      (uint32_t, uint32_t, struct rsmi_process *))                                                           \
    X(process_gpus, false, "rsmi_compute_process_gpus_get", (uint32_t, uint32_t *, uint32_t *))              \
    X(busy, false, "rsmi_dev_busy_percent_get", (uint32_t, uint32_t *))                                      \
    X(memory_busy, false, "rsmi_dev_memory_busy_percent_get", (uint32_t, uint32_t *))                        \
    X(power, false, "rsmi_dev_power_get", (uint32_t, uint64_t *, int *))                                     \
    X(power_average, false, "rsmi_dev_power_ave_get", (uint32_t, uint32_t, uint64_t *))                      \
    X(temperature, false, "rsmi_dev_temp_metric_get", (uint32_t, uint32_t, int, int64_t *))                  \
    X(table, false, "rsmi_dev_gpu_metrics_info_get", (uint32_t, void *))                                     \
    X(ecc, false, "rsmi_dev_ecc_count_get", (uint32_t, uint64_t, struct rsmi_errors *))
// clang-format on

struct rsmi {
    void *library;  /* NULL = it is not there */
    char path[256]; /* of it */
#define X(member, must, symbol, parameters) int(*member) parameters;
    RSMI_FUNCTIONS(X)
#undef X
};

/* False, with why, if there is no such library, or it cannot be used. */
bool rsmi_open(struct rsmi *r, struct str *why);
void rsmi_close(struct rsmi *r); /* nothing where it was never opened */

#endif
