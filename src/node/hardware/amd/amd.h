/* AMD's GPUs: what there is, how they are, who is on them. Told by the kernel's files (kfd.c);
 * only where those name no GPU by ROCm SMI (amd_rsmi.c), which reads the same files, but takes
 * locks that any user can hold. No call here waits longer than AMD_WAIT_MS for a driver or a
 * library: what does not answer by then is blind. Used by one thread. */
#ifndef REMUDA_NODE_HARDWARE_AMD_H
#define REMUDA_NODE_HARDWARE_AMD_H

#include "base/str.h"
#include "base/vec.h"
#include "node/hardware/amd/answer.h"
#include "node/hardware/amd/bounded.h"
#include "node/hardware/amd/rsmi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DRM_MAJOR       226 /* of devices' files */
#define AMD_DEVICES_MAX 64u
#define AMD_WAIT_MS     INT64_C(5000)
#define AMD_ONES_MOST   10u /* looks in a row that find a device's registers all ones: it is lost */

/* What does not change while the driver is loaded. */
struct amd_device {
    uint32_t id;    /* the driver's own number of it; ROCm SMI: its index */
    uint32_t node;  /* its place in the driver's list */
    uint32_t place; /* its place among GPUs, those that cannot be read counted */
    char uuid[32];  /* as ROCR_VISIBLE_DEVICES takes it; "" = it has none of its own */
    char pci[16];   /* "" = not known */
    char type[64];  /* "mi300x" */
    uint64_t bytes; /* of its memory; 0 = not known */
    int32_t numa;   /* -1 = not known */
    char cpus[256]; /* that are near, the system's numbers; "" = not known */
    bool has_render;
    uint32_t render; /* its file's minor number */
    uint64_t links;  /* bit i: XGMI to the i-th device */
    /* Of a GPU that is several devices: figures of the whole do not count for it. */
    bool is_part;
};

#define AMD_TABLE_BYTES 8192u
/* What the driver's table of figures tells; all zero: nothing. */
struct amd_table {
    bool has_engines, has_slowed, has_links;
    uint32_t engines_percent; /* of video: encoders and decoders are one there */
    uint32_t slowed;          /* why its clock is lower than it could be, in NVML's bits */
    uint32_t clock_mhz, memory_clock_mhz; /* 0 = not told */
    uint64_t links_tx_kib, links_rx_kib;  /* over XGMI, since the driver was loaded */
};

/* How it is at one moment. */
struct amd_now {
    enum amd_answer answer;
    char why[200]; /* the evidence if it is not AMD_OK: "gpu_busy_percent: Input/output error" */
    bool all_ones; /* its registers read so */
    bool has_memory, has_errors, has_busy;
    uint64_t memory_total, memory_used; /* bytes */
    /* Memory errors since the driver was loaded, or the device reset. */
    uint64_t uncorrectable;
    uint32_t busy_percent;
    struct amd_table table;
    char sensors[240]; /* " NUMBER:VALUE" of model/record/series.h each; "" = none are told */
};

struct amd_process {
    uint32_t device; /* its place here */
    pid_t pid;
    bool has_bytes;
    uint64_t bytes; /* of memory of the device */
};
typedef VEC(struct amd_process) amd_process_vec;

struct amd;

struct amd_source {
    const char *name; /* "the kernel" */
    /* Fills a->device. What stands in the way is added to `why`, a sentence without an end. */
    void (*find)(struct amd *a, struct str *why);
    void (*read)(const struct amd *a, const struct amd_device *d, bool errors_too,
                 struct amd_now *ret);
    bool (*processes)(const struct amd *a, amd_process_vec *ret); /* false: they cannot be told */
};
extern const struct amd_source amd_by_kernel, amd_by_rsmi;

/* A device and what is asked of it on a thread of its own. */
struct amd_asked {
    const struct amd *amd;
    uint32_t at; /* which of the devices */
    bool errors_too;
    struct amd_now fresh; /* of the thread, while it is busy */
    struct amd_now now;
    uint32_t ones; /* looks in a row that found its registers all ones */
    struct bounded *thread;
};

struct amd {
    const struct amd_source *source;
    struct rsmi rsmi; /* of amd_by_rsmi */
    struct amd_device device[AMD_DEVICES_MAX];
    uint32_t n;              /* of `device` */
    struct amd_asked *asked; /* one a device */
    struct bounded *thread;  /* for what is asked of all */
    struct str why;          /* of `find` */
    amd_process_vec fresh, process;
    bool fresh_ok;
    int64_t wait_ms; /* how long a call may take */
};

/* The file that is there where the driver is. */
const char *amd_kfd_path(void);
/* NULL if this machine has no driver of AMD's (no /dev/kfd), or no GPU can be used; then `why` says
 * what is wrong, if anything is. */
struct amd *amd_open(struct str *why);
/* NULL is fine. False: a call has not come back; what it was given is left behind. */
bool amd_close(struct amd *a);
/* Its place, by its UUID or, if that is "-", by the minor number of its file; UINT32_MAX: it is not
 * there. */
uint32_t amd_find(const struct amd *a, const char *uuid, uint32_t render);
/* "the kernel (/sys/class/kfd), driver amdgpu 6.8.5", appended. */
void amd_version(const struct amd *a, struct str *out);
#define AMD_ALL UINT64_MAX
/* Asks these devices (bit i: the i-th), at the same time. */
void amd_look(struct amd *a, uint64_t devices, bool errors_too);
/* Of the last look. */
const struct amd_now *amd_now(const struct amd *a, uint32_t device);
/* Processes that compute or have memory on devices; valid until the next call. False: they cannot
 * be told now. */
bool amd_processes(struct amd *a, const amd_process_vec **ret);

/* ---- for the sources ---- */

/* The answer that stands for the device is the worst; the first of those is the evidence. */
void amd_note(struct amd_now *now, enum amd_answer answer, const char *what, const char *said);
/* Its sensors, by the driver's files: ret->sensors. Nothing of a part of a GPU, or of one whose
 * address is not known. */
void amd_sensors_read(const struct amd_device *d, struct amd_now *ret);
/* Believes nothing in it. */
void amd_table_read(const char *bytes, size_t len, struct amd_table *ret);
/* " NUMBER:VALUE" of model/record/series.h each. Its counters are not among them. */
void amd_table_say(const struct amd_table *t, bool clocks_too, struct str *out);
/* Is it on its bus? Asks the device itself: its first register. */
void amd_bus_read(const struct amd_device *d, struct amd_now *ret);
/* Type by number, by the board's own name, by pci.ids. */
void amd_type_find(struct amd_device *d, uint32_t pci_device, uint32_t gfx_version);
/* NUMA node, near CPUs, by its address. */
void amd_place_find(struct amd_device *d);

#endif
