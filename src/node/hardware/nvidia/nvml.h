/* NVIDIA's management library, opened at run time: nothing is needed to build, and a fake library
 * with the same symbols serves tests (REMUDA_NVML names it). The declarations are NVML's ABI; of
 * functions that came in several versions the newest that the library has is taken. */
#ifndef REMUDA_NODE_HARDWARE_NVML_H
#define REMUDA_NODE_HARDWARE_NVML_H

#include "base/str.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void *nvml_device;

struct nvml_memory {
    unsigned long long total, free, used; /* bytes */
};
struct nvml_process {              /* of the versions 2 and 3 */
    unsigned pid;                  /* as this host numbers them */
    unsigned long long used_bytes; /* all ones: not known */
    unsigned gpu_instance, compute_instance;
};
struct nvml_pci {
    char legacy[16];
    unsigned domain, bus, device, pci_id, subsystem_id;
    char bus_id[32];
};
struct nvml_attributes { /* of a MIG instance */
    unsigned multiprocessors, copy_engines, decoders, encoders, jpegs, ofas, gpu_slices,
        compute_slices;
    unsigned long long memory_mib;
};
struct nvml_process_use { /* of the time since the sample before */
    unsigned pid;
    unsigned long long at_us;               /* wall clock */
    unsigned gpu, memory, encoder, decoder; /* percent */
};
struct nvml_use {
    unsigned gpu, memory; /* percent */
};
struct nvml_event {
    nvml_device device;
    unsigned long long type, data; /* bits */
    unsigned gpu_instance, compute_instance;
};

/* Activity of the parts of a GPU between two samples that are more than 100 ms apart. */
#define NVML_GPM_PLACES 333u /* of the newest header's array; only `n` are touched */
struct nvml_gpm_support {
    unsigned version, supported; /* version 1 */
};
struct nvml_gpm_metric {
    unsigned id;
    int answer; /* each its own */
    double value;
    char *names[3];
};
struct nvml_gpm {
    unsigned version, n; /* version 1 */
    void *older, *newer; /* two samples: the metric is between them */
    struct nvml_gpm_metric metric[NVML_GPM_PLACES];
};

struct nvml_field {
    unsigned id, scope;
    long long at_us, latency_us;
    unsigned type;
    int answer; /* each field's own */
    union {
        double real;
        unsigned number;
        unsigned long long large;
    } value;
};

/* The codes that are asked for by name; nvml_code.c has a row for each that there is. */
enum {
    NVML_OK = 0,
    NVML_UNINITIALISED = 1,
    NVML_NOT_SUPPORTED = 3,
    NVML_NOT_FOUND = 6,
    NVML_TOO_SMALL = 7,
    NVML_TIMEOUT = 10,
    NVML_LOST = 15
};
#define NVML_EVENT_DOUBLE_BIT UINT64_C(2)
#define NVML_EVENT_XID        UINT64_C(8)
#define NVML_DEVICES_MAX      256u /* more are not believed */
#define NVML_LINKS_MAX        36u  /* of one device */
#define NVML_FIELD_RECOVERY   230u /* what the driver wants done: 0 nothing, 1 a reset, … */
#define NVIDIA_MAJOR          195  /* of /dev/nvidia0, …: registered for it */
#define NVML_NO_INSTANCE      UINT32_MAX

/* X(member, must, symbols separated by spaces, parameters) */
// clang-format off
#define NVML_FUNCTIONS(X)                                                                                    \
    X(init, true, "nvmlInit_v2", (void))                                                                     \
    X(shutdown, true, "nvmlShutdown", (void))                                                                \
    X(count, true, "nvmlDeviceGetCount_v2", (unsigned *))                                                    \
    X(by_index, true, "nvmlDeviceGetHandleByIndex_v2", (unsigned, nvml_device *))                            \
    X(name, true, "nvmlDeviceGetName", (nvml_device, char *, unsigned))                                      \
    X(uuid, true, "nvmlDeviceGetUUID", (nvml_device, char *, unsigned))                                      \
    X(memory, true, "nvmlDeviceGetMemoryInfo", (nvml_device, struct nvml_memory *))                          \
    X(affinity, true, "nvmlDeviceGetCpuAffinity", (nvml_device, unsigned, unsigned long *))                  \
    X(minor, false, "nvmlDeviceGetMinorNumber", (nvml_device, unsigned *))                                   \
    X(by_uuid, false, "nvmlDeviceGetHandleByUUID", (const char *, nvml_device *))                            \
    X(by_pci, false, "nvmlDeviceGetHandleByPciBusId_v2", (const char *, nvml_device *))                      \
    X(driver_version, false, "nvmlSystemGetDriverVersion", (char *, unsigned))                               \
    X(library_version, false, "nvmlSystemGetNVMLVersion", (char *, unsigned))                                \
    X(pci, false, "nvmlDeviceGetPciInfo_v3 nvmlDeviceGetPciInfo_v2", (nvml_device, struct nvml_pci *))       \
    X(link_state, false, "nvmlDeviceGetNvLinkState", (nvml_device, unsigned, unsigned *))                    \
    X(link_peer, false, "nvmlDeviceGetNvLinkRemotePciInfo_v2", (nvml_device, unsigned, struct nvml_pci *))   \
    X(mig_mode, false, "nvmlDeviceGetMigMode", (nvml_device, unsigned *, unsigned *))                        \
    X(mig_most, false, "nvmlDeviceGetMaxMigDeviceCount", (nvml_device, unsigned *))                          \
    X(mig_device, false, "nvmlDeviceGetMigDeviceHandleByIndex", (nvml_device, unsigned, nvml_device *))      \
    X(mig_parent, false, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle", (nvml_device, nvml_device *))       \
    X(mig_attributes, false, "nvmlDeviceGetAttributes_v2", (nvml_device, struct nvml_attributes *))          \
    X(gpu_instance, false, "nvmlDeviceGetGpuInstanceId", (nvml_device, unsigned *))                          \
    X(compute_instance, false, "nvmlDeviceGetComputeInstanceId", (nvml_device, unsigned *))                  \
    X(compute_processes, false,                                                                              \
      "nvmlDeviceGetComputeRunningProcesses_v3 nvmlDeviceGetComputeRunningProcesses_v2",                     \
      (nvml_device, unsigned *, struct nvml_process *))                                                      \
    X(graphics_processes, false,                                                                             \
      "nvmlDeviceGetGraphicsRunningProcesses_v3 nvmlDeviceGetGraphicsRunningProcesses_v2",                   \
      (nvml_device, unsigned *, struct nvml_process *))                                                      \
    X(mps_processes, false,                                                                                  \
      "nvmlDeviceGetMPSComputeRunningProcesses_v3 nvmlDeviceGetMPSComputeRunningProcesses_v2",               \
      (nvml_device, unsigned *, struct nvml_process *))                                                      \
    X(process_use, false, "nvmlDeviceGetProcessUtilization",                                                 \
      (nvml_device, struct nvml_process_use *, unsigned *, unsigned long long))                              \
    X(use, false, "nvmlDeviceGetUtilizationRates", (nvml_device, struct nvml_use *))                         \
    X(ecc_total, false, "nvmlDeviceGetTotalEccErrors", (nvml_device, int, int, unsigned long long *))        \
    X(remapped, false, "nvmlDeviceGetRemappedRows",                                                          \
      (nvml_device, unsigned *, unsigned *, unsigned *, unsigned *))                                         \
    X(fields, false, "nvmlDeviceGetFieldValues", (nvml_device, int, struct nvml_field *))                    \
    X(numa_node, false, "nvmlDeviceGetNumaNodeId", (nvml_device, unsigned *))                                \
    X(persistence, false, "nvmlDeviceGetPersistenceMode", (nvml_device, unsigned *))                         \
    X(power, false, "nvmlDeviceGetPowerUsage", (nvml_device, unsigned *))                                    \
    X(energy, false, "nvmlDeviceGetTotalEnergyConsumption", (nvml_device, unsigned long long *))             \
    X(temperature, false, "nvmlDeviceGetTemperature", (nvml_device, int, unsigned *))                        \
    X(clock, false, "nvmlDeviceGetClockInfo", (nvml_device, int, unsigned *))                                \
    X(clock_reasons, false,                                                                                  \
      "nvmlDeviceGetCurrentClocksEventReasons nvmlDeviceGetCurrentClocksThrottleReasons",                    \
      (nvml_device, unsigned long long *))                                                                   \
    X(encoder, false, "nvmlDeviceGetEncoderUtilization", (nvml_device, unsigned *, unsigned *))              \
    X(decoder, false, "nvmlDeviceGetDecoderUtilization", (nvml_device, unsigned *, unsigned *))              \
    X(gpm_support, false, "nvmlGpmQueryDeviceSupport", (nvml_device, struct nvml_gpm_support *))             \
    X(gpm_alloc, false, "nvmlGpmSampleAlloc", (void **))                                                     \
    X(gpm_free, false, "nvmlGpmSampleFree", (void *))                                                        \
    X(gpm_sample, false, "nvmlGpmSampleGet", (nvml_device, void *))                                          \
    X(gpm_mig_sample, false, "nvmlGpmMigSampleGet", (nvml_device, unsigned, void *))                         \
    X(gpm_metrics, false, "nvmlGpmMetricsGet", (struct nvml_gpm *))                                          \
    X(event_free, false, "nvmlEventSetFree", (void *))                                                       \
    X(event_types, false, "nvmlDeviceGetSupportedEventTypes", (nvml_device, unsigned long long *))           \
    X(event_set, false, "nvmlEventSetCreate", (void **))                                                     \
    X(event_register, false, "nvmlDeviceRegisterEvents", (nvml_device, unsigned long long, void *))          \
    X(event_wait, false, "nvmlEventSetWait_v2 nvmlEventSetWait", (void *, struct nvml_event *, unsigned))
// clang-format on

struct nvml {
    void *library;
#define X(member, must, symbols, parameters) int(*member) parameters;
    NVML_FUNCTIONS(X)
#undef X
};

enum nvml_opened {
    NVML_OPENED,
    NVML_ABSENT,
    NVML_UNFIT /* it lacks what is needed */,
    NVML_NO_DRIVER
};
/* `why`, if it is not NULL, gets a sentence that says what is wrong and what helps. */
enum nvml_opened nvml_open(struct nvml *n, struct str *why);
/* The library stays loaded, as it is opened once a process. */
void nvml_close(struct nvml *n);
/* "NVML 12.560.35.03, driver 560.35.03", appended. */
void nvml_version_say(const struct nvml *n, struct str *out);
/* The handle of an instance is a place in its GPU, where another may stand after a change: is what
 * it leads to called so? */
bool nvml_is_called(const struct nvml *n, nvml_device d, const char *uuid);

typedef int (*nvml_list_fn)(nvml_device, unsigned *, struct nvml_process *);
struct nvml_processes {
    VEC(struct nvml_process) v;
};
/* A list of processes whole, however long it is and in whichever of its two layouts the driver
 * writes it. `list` empties first; NVML's code. NULL function: not supported. */
int nvml_processes_read(nvml_list_fn fn, nvml_device device, struct nvml_processes *list);

#endif
