/* What is sampled of running jobs: the values, each with the number that it has in files and on the
 * wire for ever. Two kinds of sources: a step on a node, and a device that a job has on a node. */
#ifndef REMUDA_MODEL_SERIES_H
#define REMUDA_MODEL_SERIES_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERIES_ABSENT     INT64_MIN   /* in a column: not told at that moment */
#define SERIES_OF_STEP    INT32_C(-1) /* in place of a device's number */
#define SERIES_VALUES_MAX 1200u       /* of one sample: each core is one, and each task */
#define SERIES_NODE_BYTES 64u
#define SERIES_NAME_BYTES 96u

/* How several samples become one. */
enum series_join { SERIES_MEAN, SERIES_MOST, SERIES_LAST, SERIES_BITS };
enum series_source { SERIES_STEP, SERIES_DEVICE };

/* X(number, MEMBER, word, source, unit, scale, join, title, doc): what is stored, divided by the
 * scale, is in the unit. The title is nvidia-smi's where it has the value. Numbers are never used
 * again. */
// clang-format off
#define SERIES_VALUES(X)                                                                                                     \
    X(1, GPU_UTIL, "util", DEVICE, "%", 1, MEAN, "utilization.gpu [%]", "part of the time in which the GPU did anything")    \
    X(2, GPU_MEM_UTIL, "membw", DEVICE, "%", 1, MEAN, "utilization.memory [%]", "part of the time in which its memory was read or written") \
    X(3, GPU_MEM, "mem", DEVICE, "MiB", 1, MOST, "memory.used [MiB]", "memory in use")                                       \
    X(4, GPU_MEM_TOTAL, "memtotal", DEVICE, "MiB", 1, MOST, "memory.total [MiB]", "memory it has")                           \
    X(5, GPU_POWER, "power", DEVICE, "W", 10, MEAN, "power.draw [W]", "electric power")                                      \
    X(6, GPU_TEMP, "temp", DEVICE, "C", 1, MEAN, "temperature.gpu", "temperature")                                           \
    X(7, GPU_MEM_TEMP, "memtemp", DEVICE, "C", 1, MEAN, "temperature.memory", "temperature of its memory")                   \
    X(8, GPU_SM_CLOCK, "smclock", DEVICE, "MHz", 1, MEAN, "clocks.current.sm [MHz]", "clock of the processors")              \
    X(9, GPU_MEM_CLOCK, "memclock", DEVICE, "MHz", 1, MEAN, "clocks.current.memory [MHz]", "clock of the memory")            \
    X(10, GPU_THROTTLE, "throttle", DEVICE, "bits", 1, BITS, "clocks_event_reasons.active", "why its clock is lower than it could be, NVML's bits") \
    X(11, GPU_PCIE_TX, "pcietx", DEVICE, "KiB/s", 1, MEAN, "pcie.tx [KiB/s]", "bytes it sends over PCIe")                    \
    X(12, GPU_PCIE_RX, "pcierx", DEVICE, "KiB/s", 1, MEAN, "pcie.rx [KiB/s]", "bytes it receives over PCIe")                 \
    X(13, GPU_NVLINK_TX, "nvlinktx", DEVICE, "KiB/s", 1, MEAN, "nvlink.tx [KiB/s]", "bytes it sends over NVLink")            \
    X(14, GPU_NVLINK_RX, "nvlinkrx", DEVICE, "KiB/s", 1, MEAN, "nvlink.rx [KiB/s]", "bytes it receives over NVLink")         \
    X(15, GPU_ENCODER, "enc", DEVICE, "%", 1, MEAN, "utilization.encoder [%]", "video encoder")                              \
    X(16, GPU_DECODER, "dec", DEVICE, "%", 1, MEAN, "utilization.decoder [%]", "video decoder")                              \
    X(17, GPU_ECC, "ecc", DEVICE, "", 1, LAST, "ecc.errors.uncorrected.volatile.total", "memory errors that could not be corrected, since the driver was loaded") \
    X(18, GPU_XID, "xid", DEVICE, "", 1, LAST, "xid.count", "XIDs (errors that the driver names by a number) since the node's daemon was started") \
    X(20, GPU_SM, "sm", DEVICE, "%", 10, MEAN, "sm_activity [%]", "processors (SMs) that had work, of all and all the time: near 0 where util is 100 means it waits, as in a collective") \
    X(21, GPU_OCCUPANCY, "occupancy", DEVICE, "%", 10, MEAN, "sm_occupancy [%]", "warps at work, of those that could be")    \
    X(22, GPU_TENSOR, "tensor", DEVICE, "%", 10, MEAN, "tensor_activity [%]", "tensor cores")                                \
    X(23, GPU_DRAM, "dram", DEVICE, "%", 10, MEAN, "dram_activity [%]", "bandwidth of its memory, of the most there is")     \
    X(24, GPU_FP64, "fp64", DEVICE, "%", 10, MEAN, "fp64_activity [%]", "units for numbers of 64 bits")                      \
    X(25, GPU_FP32, "fp32", DEVICE, "%", 10, MEAN, "fp32_activity [%]", "units for numbers of 32 bits")                      \
    X(26, GPU_FP16, "fp16", DEVICE, "%", 10, MEAN, "fp16_activity [%]", "units for numbers of 16 bits")                      \
    X(40, CPU, "cpu", STEP, "%", 1, MEAN, "cpu [%]", "CPU time of its processes; 100 = one CPU all the time")                \
    X(41, CORE, "core", STEP, "%", 1, MEAN, "core [%]", "each CPU that the step has, by whomever it is used")                \
    X(42, RSS, "rss", STEP, "MiB", 10, MOST, "memory.rss [MiB]", "memory of its processes, page cache not counted")          \
    X(43, CACHE, "cache", STEP, "MiB", 10, MOST, "memory.cache [MiB]", "page cache that is charged to it")                   \
    X(44, SWAP, "swap", STEP, "MiB", 10, MOST, "memory.swap [MiB]", "swapped out")                                           \
    X(45, READ, "read", STEP, "KiB/s", 1, MEAN, "read [KiB/s]", "read through system calls, cached or not")                  \
    X(46, WRITE, "write", STEP, "KiB/s", 1, MEAN, "write [KiB/s]", "written through system calls")                           \
    X(47, NET_RX, "netrx", STEP, "KiB/s", 1, MEAN, "node.network.rx [KiB/s]", "received by the network interfaces of the node, for whomever") \
    X(48, NET_TX, "nettx", STEP, "KiB/s", 1, MEAN, "node.network.tx [KiB/s]", "sent by them")                                \
    X(49, IB_RX, "ibrx", STEP, "KiB/s", 1, MEAN, "node.infiniband.rx [KiB/s]", "received by the node's InfiniBand ports")    \
    X(50, IB_TX, "ibtx", STEP, "KiB/s", 1, MEAN, "node.infiniband.tx [KiB/s]", "sent by them")                               \
    X(51, TASKS, "tasks", STEP, "", 1, MOST, "processes", "processes")                                                       \
    X(52, PSI_CPU, "psicpu", STEP, "%", 10, MEAN, "pressure.cpu [%]", "part of the time in which some of it waited for a CPU") \
    X(53, PSI_MEM, "psimem", STEP, "%", 10, MEAN, "pressure.memory [%]", "part of the time in which some of it waited for memory") \
    X(54, PSI_IO, "psiio", STEP, "%", 10, MEAN, "pressure.io [%]", "part of the time in which some of it waited for disks") \
    X(55, TASK_CPU, "taskcpu", STEP, "%", 1, MEAN, "task.cpu [%]", "CPU time of each task (rank) of a step of several, 128 a node at most; 100 = one CPU all the time")
// clang-format on

enum series_id {
#define X(number, member, word, source, unit, scale, join, title, doc) SERIES_##member = number,
    SERIES_VALUES(X)
#undef X
};

struct series_value {
    uint16_t id;               /* in files; never given another meaning */
    enum series_source source; /* whose value it is: node, GPU, job, step */
    enum series_join join;     /* how those of a stretch become one */
    int32_t scale;
    const char *word, *unit, *title, *doc; /* names for options, axes, headings, pages */
};
extern const struct series_value series_values[];
extern const size_t series_values_n;
/* NULL = none of that number (of a later release), or word. */
const struct series_value *series_value_of(uint32_t id);
/* By its word, whatever the letter case; NULL = there is none. */
const struct series_value *series_value_named(struct span word);

/* One value of a sample. */
struct series_point {
    uint16_t id;
    uint32_t index; /* of a core, else 0 */
    int64_t value;  /* in the value's stored unit */
};

/* "1:50 41.7:100": NUMBER:VALUE, or NUMBER.INDEX:VALUE, at most `max` of them; what is no value
 * that there is, or is beyond any figure, is left out. */
size_t series_points_read(struct span text, struct series_point *ret, size_t max);

/* What is sampled at a gap of its own: 0 = it is not sampled, SERIES_WITH_TASK = as the task is. */
struct series_gaps {
    int64_t energy_us, network_us, filesystem_us;
};
#define SERIES_WITH_TASK INT64_C(-1)
#define SERIES_GAPS_INIT                                                                           \
    {                                                                                              \
        SERIES_WITH_TASK, SERIES_WITH_TASK, SERIES_WITH_TASK                                       \
    }
/* "30", "task=30,energy=60,network=0": seconds. What the text does not name, or names before a text
 * that is not as it should be goes on, stays as it is. NULL names nothing. */
bool series_gaps_read(const char *text, int64_t *task_us, struct series_gaps *gaps,
                      struct err *ret_err);

/* How long which resolution is kept. */
struct series_keep {
    struct {
        int64_t gap_us, age_us; /* samples are so far apart until they are so old */
    } level[4];                 /* finer before coarser, each with a greater age */
    size_t n;                   /* 0 = no series are kept */
};
/* "2s:1d,10s:30d,1m:365d" (units s m h d); "none". */
bool series_keep_parse(const char *text, struct series_keep *ret, struct err *ret_err);

#endif
