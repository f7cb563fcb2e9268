/* AMD's GPUs as the kernel tells of them. The driver's list, /sys/class/kfd/kfd/topology/nodes, has
 * a directory for each device (and for each package of CPUs: their gpu_id is 0), in the order in
 * which the runtime numbers them; proc/PID beside it what each process has; the device's directory
 * on the bus the rest. These files are stable, everybody can read them, and no locks of users' are
 * in the way.
 *
 * The driver's counters (memory in use) answer even when the device does not. Whether it does is
 * asked of the device itself: its PCI registers, and how busy it is, which its firmware answers. */
#include "node/hardware/amd/amd.h"
#include "node/hardware/gpu_sentences.h"
#include "node/hardware/sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_SIZE      320
#define VENDOR_AMD     0x1002
#define LINK_XGMI      11
#define NODES_MAX      256u
#define PROPERTIES_MAX 4096
#define PROCESSES_MAX  4096u

/* A file below the driver's own directory. */
#define kfd_path(to, ...)                                                                          \
    do {                                                                                           \
        int kfd_len = snprintf(to, PATH_SIZE, "%s/class/kfd/kfd/", sysfs_root());                  \
        snprintf((to) + kfd_len, PATH_SIZE - (size_t)kfd_len, __VA_ARGS__);                        \
    } while (0)

static void pci_path(const struct amd_device *d, const char *file, char *to)
{
    snprintf(to, PATH_SIZE, "%s/bus/pci/devices/%s/%s", sysfs_root(), d->pci, file);
}

/* ---- finding ---- */

/* Of a part of a GPU the highest bits number it, or the function does, which then is none of the
 * bus. */
static void address_find(struct amd_device *d, uint64_t domain, uint64_t location)
{
    char path[PATH_SIZE], text[32];
    unsigned function = (unsigned)(location & 7);
    for (int i = 0; i < 2; i++, function = 0) {
        snprintf(d->pci, sizeof d->pci, "%04x:%02x:%02x.%x", (unsigned)domain & 0xffff,
                 (unsigned)(location >> 8 & 0xff), (unsigned)(location >> 3 & 0x1f), function);
        pci_path(d, "vendor", path);
        if (sysfs_read(path, text, sizeof text, NULL) == 0)
            return;
    }
}

static uint64_t banks_bytes(uint32_t node, uint64_t banks)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < banks && i < 8; i++) {
        char path[PATH_SIZE], text[PROPERTIES_MAX];
        uint64_t heap, size;
        kfd_path(path, "topology/nodes/%" PRIu32 "/mem_banks/%" PRIu64 "/properties", node, i);
        if (sysfs_read(path, text, sizeof text, NULL) == 0 &&
            sysfs_property(text, "heap_type", &heap) && (heap == 1 || heap == 2) &&
            sysfs_property(text, "size_in_bytes", &size) && size < UINT64_C(1) << 50)
            sum += size; /* memory of its own, with and without a window for the CPUs */
    }
    return sum;
}

static void memory_find(struct amd_device *d, const char *properties)
{
    char path[PATH_SIZE];
    uint64_t banks = 0, bytes = 0;
    if (sysfs_property(properties, "mem_banks_count", &banks))
        d->bytes = banks_bytes(d->node, banks);
    pci_path(d, "mem_info_vram_total", path);
    if (!d->bytes && sysfs_number(path, &bytes) == 0 && bytes < UINT64_C(1) << 50)
        d->bytes = bytes;
}

/* False if it is no GPU of AMD's. */
static bool device_describe(struct amd_device *d, const char *properties)
{
    uint64_t vendor = 0, device = 0, domain = 0, location = 0, unique = 0, render = 0, gfx = 0;
    if (!sysfs_property(properties, "vendor_id", &vendor) || vendor != VENDOR_AMD)
        return false;
    sysfs_property(properties, "device_id", &device);
    sysfs_property(properties, "domain", &domain);
    sysfs_property(properties, "gfx_target_version", &gfx);
    if (sysfs_property(properties, "location_id", &location))
        address_find(d, domain, location);
    if (sysfs_property(properties, "unique_id", &unique) && unique)
        snprintf(d->uuid, sizeof d->uuid, "GPU-%016" PRIx64, unique);
    d->has_render =
        sysfs_property(properties, "drm_render_minor", &render) && render > 0 && render <= 0xfffff;
    d->render = (uint32_t)render;
    memory_find(d, properties);
    amd_type_find(d, (uint32_t)device, (uint32_t)gfx);
    amd_place_find(d);
    return true;
}

/* 0, or why there is none. What cannot be read keeps its place; what is hidden is not counted by
 * the runtime either. */
static int node_take(struct amd *a, uint32_t node, uint32_t *place)
{
    char path[PATH_SIZE], text[PROPERTIES_MAX];
    uint64_t id = 0;
    struct amd_device d = {.node = node, .place = *place, .numa = -1};
    kfd_path(path, "topology/nodes/%" PRIu32 "/gpu_id", node);
    int error = sysfs_number(path, &id);
    if (!error && id == 0)
        return 0;
    kfd_path(path, "topology/nodes/%" PRIu32 "/properties", node);
    error = error ? error : sysfs_read(path, text, sizeof text, NULL);
    d.id = (uint32_t)id;
    bool is_hidden = error == EPERM || error == EACCES,
         is_gpu = error && error != ENOENT && !is_hidden;
    if (!error && a->n < AMD_DEVICES_MAX && device_describe(&d, text)) {
        a->device[a->n++] = d;
        is_gpu = true;
    }
    *place += is_gpu;
    return error;
}

static void links_find(struct amd *a, struct amd_device *d)
{
    for (uint32_t i = 0; i < AMD_DEVICES_MAX; i++) {
        char path[PATH_SIZE], text[PROPERTIES_MAX];
        uint64_t type, to;
        kfd_path(path, "topology/nodes/%" PRIu32 "/io_links/%" PRIu32 "/properties", d->node, i);
        if (sysfs_read(path, text, sizeof text, NULL) != 0)
            return;
        if (!sysfs_property(text, "type", &type) || type != LINK_XGMI ||
            !sysfs_property(text, "node_to", &to))
            continue;
        for (uint32_t k = 0; k < a->n; k++)
            if (a->device[k].node == to)
                d->links |= UINT64_C(1) << k;
    }
}

static bool is_listed(const char *path)
{
    DIR *dir = opendir(path);
    if (dir)
        closedir(dir);
    return dir != NULL;
}

static void kernel_find(struct amd *a, struct str *why)
{
    char path[PATH_SIZE];
    uint32_t hidden = 0, failed = 0, place = 0;
    kfd_path(path, "topology/nodes");
    if (!is_listed(path)) {
        str_addf(why, SAY_AMD_NO_LIST, path, strerror(errno));
        return;
    }
    for (uint32_t node = 0; node < NODES_MAX; node++) {
        int error = node_take(a, node, &place);
        if (error == ENOENT)
            break;
        hidden += error == EPERM || error == EACCES;
        failed += error && error != EPERM && error != EACCES;
    }
    for (uint32_t i = 0; i < a->n; i++)
        links_find(a, &a->device[i]);
    if (failed)
        str_addf(why, SAY_AMD_UNREADABLE, failed, path);
    str_add(why, !a->n && hidden && failed ? "; " : "");
    if (!a->n && hidden)
        str_addf(why, SAY_AMD_HIDDEN, hidden, path);
    else if (!a->n && !failed)
        str_addf(why, SAY_AMD_NONE, path);
}

/* ---- how it is ---- */

static bool listed_at(const struct amd_device *d, uint32_t node, int *ret_error)
{
    char path[PATH_SIZE];
    uint64_t id = 0;
    kfd_path(path, "topology/nodes/%" PRIu32 "/gpu_id", node);
    *ret_error = sysfs_number(path, &id);
    return *ret_error == 0 && id == d->id;
}

/* The list is made anew when devices come and go: it may stand at another place. */
static void listed_read(const struct amd_device *d, struct amd_now *ret)
{
    char path[PATH_SIZE], text[32];
    int error;
    if (listed_at(d, d->node, &error))
        return;
    if (error && error != ENOENT && error != EBADMSG) {
        amd_note(ret, amd_answer_of_errno(error), "the driver's list of GPUs", strerror(error));
        return;
    }
    for (uint32_t node = 0; node < NODES_MAX; node++) {
        if (listed_at(d, node, &error))
            return;
        if (error == ENOENT)
            break;
    }
    pci_path(d, "vendor", path);
    bool on_bus = d->pci[0] && sysfs_read(path, text, sizeof text, NULL) == 0;
    amd_note(ret, AMD_ABSENT, NULL,
             on_bus ? "its driver does not list it any more"
                    : "it is not there any more, neither on its bus nor in its driver's list");
}

static bool figure_read(const struct amd_device *d, const char *file, struct amd_now *now,
                        uint64_t *ret)
{
    char path[PATH_SIZE];
    pci_path(d, file, path);
    int error = sysfs_number(path, ret);
    if (error)
        amd_note(now, amd_answer_of_errno(error), file, strerror(error));
    return error == 0;
}

/* "ue: 2\nce: 0\n"; while the device is reset a sentence. */
static bool block_read(const char *path, uint64_t *sum)
{
    char text[256];
    const char *at;
    if (sysfs_read(path, text, sizeof text, NULL) != 0 || !(at = strstr(text, "ue: ")))
        return false;
    char *end;
    uint64_t count = strtoull(at + 4, &end, 10);
    if (end == at + 4 || count > UINT32_MAX)
        return false;
    *sum += count;
    return true;
}

/* Of all its blocks; one that does not tell now must not make the sum smaller. */
static void errors_read(const struct amd_device *d, struct amd_now *ret)
{
    char path[PATH_SIZE];
    bool all = true;
    uint32_t blocks = 0;
    pci_path(d, "ras", path);
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        size_t len = strlen(e->d_name);
        char file[PATH_SIZE + 256];
        if (len < 10 || !text_is(e->d_name + len - 10, "_err_count"))
            continue;
        snprintf(file, sizeof file, "%s/%s", path, e->d_name);
        all &= block_read(file, &ret->uncorrectable);
        blocks++;
    }
    if (dir)
        closedir(dir);
    ret->has_errors = blocks > 0 && all;
}

/* One that saves power answers for itself only when it has been woken, which is not done for a
 * look. */
static bool is_asleep(const struct amd_device *d)
{
    char path[PATH_SIZE], text[32];
    pci_path(d, "power/runtime_status", path);
    return sysfs_line(path, text, sizeof text) == 0 &&
           (text_is(text, "suspended") || text_is(text, "suspending"));
}

static void firmware_ask(const struct amd_device *d, struct amd_now *ret)
{
    uint64_t busy = 0;
    amd_bus_read(d, ret);
    bool known = !ret->all_ones && figure_read(d, "gpu_busy_percent", ret, &busy) && busy <= 100;
    ret->busy_percent = known ? (uint32_t)busy : 0;
    ret->has_busy = known && !d->is_part;
}

static void kernel_read(const struct amd *a, const struct amd_device *d, bool errors_too,
                        struct amd_now *ret)
{
    (void)a;
    listed_read(d, ret);
    if (ret->answer == AMD_ABSENT || !d->pci[0])
        return;
    bool asleep = is_asleep(d);
    if (!asleep)
        firmware_ask(d, ret);
    if (ret->all_ones)
        return; /* the driver may wait long for such a device */
    ret->has_memory = figure_read(d, "mem_info_vram_total", ret, &ret->memory_total) &&
                      figure_read(d, "mem_info_vram_used", ret, &ret->memory_used) && !d->is_part &&
                      ret->memory_used <= ret->memory_total &&
                      ret->memory_total < UINT64_C(1) << 50;
    if (!asleep)
        amd_sensors_read(d, ret);
    if (errors_too && !asleep)
        errors_read(d, ret);
}

/* ---- processes ---- */

/* The devices that a process has queues on, as bits. */
static uint64_t queues_of(const struct amd *a, const char *process)
{
    char path[PATH_SIZE];
    uint64_t on = 0;
    kfd_path(path, "proc/%.20s/queues", process);
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        uint64_t id = 0;
        if (e->d_name[0] == '.')
            continue;
        kfd_path(path, "proc/%.20s/queues/%.20s/gpuid", process, e->d_name);
        for (uint32_t i = 0; sysfs_number(path, &id) == 0 && i < a->n; i++)
            on |= a->device[i].id == id ? UINT64_C(1) << i : 0;
    }
    if (dir)
        closedir(dir);
    return on;
}

static void process_take(const struct amd *a, const char *process, amd_process_vec *ret)
{
    uint64_t computes = queues_of(a, process);
    for (uint32_t i = 0; i < a->n; i++) {
        char path[PATH_SIZE];
        struct amd_process p = {.device = i, .pid = (pid_t)strtol(process, NULL, 10)};
        kfd_path(path, "proc/%.20s/vram_%" PRIu32, process, a->device[i].id);
        p.has_bytes = sysfs_number(path, &p.bytes) == 0 && p.bytes < UINT64_C(1) << 50;
        if ((computes >> i & 1) || (p.has_bytes && p.bytes > 0))
            vec_push(ret, p);
    }
}

/* False, too, if there are too many: a device would be given on which those not listed compute.
 * Kernels before 5.9 have no such list: then open files and memory in use are all that tells. */
static bool kernel_processes(const struct amd *a, amd_process_vec *ret)
{
    char path[PATH_SIZE];
    uint32_t seen = 0;
    kfd_path(path, "proc");
    DIR *dir = opendir(path);
    if (!dir)
        return errno == ENOENT;
    for (struct dirent *e; seen < PROCESSES_MAX && (e = readdir(dir));)
        if (strspn(e->d_name, "0123456789") == strlen(e->d_name)) {
            process_take(a, e->d_name, ret);
            seen++;
        }
    closedir(dir);
    return seen < PROCESSES_MAX;
}

const struct amd_source amd_by_kernel = {
    "the kernel (/sys/class/kfd)",
    kernel_find,
    kernel_read,
    kernel_processes,
};
