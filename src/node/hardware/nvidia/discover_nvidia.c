/* NVIDIA's devices as NVML tells of them. A GPU in MIG mode with instances is as many devices as it
 * has instances, each of a type of its own ("a100_1g.5gb"); without instances it is none: nothing
 * can run on it. Numbers go through all devices in NVML's order.
 *
 * A device's files are what a job must be able to open for it: the GPU's own, and of an instance
 * also those of its capabilities, whose numbers the driver tells in
 * /proc/driver/nvidia/capabilities. NVLink connects GPUs directly, or all of them through
 * switches. */
#include "node/hardware/discover_gpus.h"
#include "node/hardware/gpu_sentences.h"
#include "node/hardware/nvidia/nvml.h"
#include "node/hardware/sysfs.h"

#include "base/alloc.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIG_MOST 8u

/* Folded numbers of the set bits. */
static void cpus_of(const unsigned long *set, size_t words, struct str *out)
{
    size_t bits = 8 * sizeof *set;
    for (size_t i = 0; i < words * bits; i++) {
        if (!(set[i / bits] >> i % bits & 1))
            continue;
        size_t last = i;
        while (last + 1 < words * bits && (set[(last + 1) / bits] >> (last + 1) % bits & 1))
            last++;
        str_addf(out, last > i ? "%s%zu-%zu" : "%s%zu", out->len ? "," : "", i, last);
        i = last;
    }
}

struct nvidia_looking {
    struct nvml nvml;
    struct gpu_found *found;
    struct arena *a;
    const char *version; /* of the library and the driver */
};

/* ---- one GPU ---- */

/* NVML writes domains with eight digits and letters large; the system with four and small. */
static const char *address_of(const struct nvml_pci *pci, struct arena *a)
{
    return arena_printf(a, "%04x:%02x:%02x.0", pci->domain, pci->bus, pci->device);
}

static void word_read(const char *path, char *ret, size_t size)
{
    FILE *f = fopen(path, "re");
    if (f && fgets(ret, (int)size, f))
        ret[strcspn(ret, "\n")] = '\0';
    if (f)
        fclose(f);
}

static const char *numa_of(const char *pci, struct arena *a)
{
    const char *path = arena_printf(a, "/sys/bus/pci/devices/%s/numa_node", pci);
    char line[32] = "";
    word_read(path, line, sizeof line);
    return isdigit((unsigned char)line[0]) ? arena_strdup(a, line) : NULL;
}

static void describe(struct nvidia_looking *l, nvml_device device, nvml_device parent,
                     struct gpu_row *row)
{
    char name[128] = "", uuid[96] = "", type[80];
    unsigned long near[16] = {0};
    struct nvml_memory memory = {0};
    struct nvml_pci pci = {0};
    struct str cpus = STR_INIT;
    l->nvml.name(device, name, sizeof name);
    l->nvml.uuid(device, uuid, sizeof uuid);
    l->nvml.memory(device, &memory);
    gpu_type_of(name, type, sizeof type);
    row->d.kind = "gpu";
    row->d.via = l->version;
    row->d.type = arena_strdup(l->a, type);
    row->d.uuid = uuid[0] ? arena_strdup(l->a, uuid) : NULL;
    row->d.mem_mib = (int64_t)(memory.total >> 20);
    if (l->nvml.affinity(parent, 16, near) == NVML_OK)
        cpus_of(near, 16, &cpus);
    row->d.cpus = cpus.len ? arena_strdup(l->a, str_text(&cpus)) : NULL;
    if (l->nvml.pci && l->nvml.pci(parent, &pci) == NVML_OK) {
        row->d.pci = address_of(&pci, l->a);
        row->d.numa = numa_of(row->d.pci, l->a);
    }
    str_done(&cpus);
}

/* ---- MIG ---- */

static const char *proc_dir(void)
{
    const char *dir = getenv("REMUDA_PROC"); /* of tests */
    return dir ? dir : "/proc";
}

/* The number that /proc/devices has for nvidia-caps. */
static bool caps_major(unsigned *ret, struct arena *a)
{
    char line[128], name[64];
    bool found = false;
    FILE *f = fopen(arena_printf(a, "%s/devices", proc_dir()), "re");
    while (f && !found && fgets(line, sizeof line, f))
        found = sscanf(line, "%u %63s", ret, name) == 2 && text_is(name, "nvidia-caps");
    if (f)
        fclose(f);
    return found;
}

static bool cap_minor(const char *path, unsigned *ret)
{
    char line[128];
    bool found = false;
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f))
        found = sscanf(line, "DeviceFileMinor: %u", ret) == 1;
    if (f)
        fclose(f);
    return found;
}

/* NULL if the driver does not tell. */
static const char *mig_files(struct nvidia_looking *l, nvml_device mig, unsigned gpu_minor)
{
    unsigned gi, ci, major, gi_minor, ci_minor;
    if (!l->nvml.gpu_instance || !l->nvml.compute_instance ||
        l->nvml.gpu_instance(mig, &gi) != NVML_OK || l->nvml.compute_instance(mig, &ci) != NVML_OK)
        return NULL;
    const char *dir = arena_printf(l->a, "%s/driver/nvidia/capabilities/gpu%u/mig/gi%u", proc_dir(),
                                   gpu_minor, gi);
    if (!caps_major(&major, l->a) || !cap_minor(arena_printf(l->a, "%s/access", dir), &gi_minor) ||
        !cap_minor(arena_printf(l->a, "%s/ci%u/access", dir, ci), &ci_minor))
        return NULL;
    return arena_printf(l->a, "%d:%u+%u:%u+%u:%u", NVIDIA_MAJOR, gpu_minor, major, gi_minor, major,
                        ci_minor);
}

static bool is_mig(struct nvidia_looking *l, nvml_device gpu)
{
    unsigned now = 0, pending = 0;
    return l->nvml.mig_mode && l->nvml.mig_device &&
           l->nvml.mig_mode(gpu, &now, &pending) == NVML_OK && now == 1;
}

static void instances_add(struct nvidia_looking *l, nvml_device gpu, bool has_minor, unsigned minor)
{
    unsigned most = MIG_MOST;
    if (l->nvml.mig_most)
        l->nvml.mig_most(gpu, &most);
    for (unsigned i = 0; i < most; i++) {
        nvml_device mig;
        if (l->nvml.mig_device(gpu, i, &mig) != NVML_OK)
            continue;
        struct gpu_row *row = gpu_found_add(l->found);
        describe(l, mig, gpu, row);
        row->files = has_minor ? mig_files(l, mig, minor) : NULL;
        row->vendor_index = UINT32_MAX;
    }
}

/* ---- NVLink ---- */

/* Through switches every GPU reaches every other that has such links. */
static void links_find(struct nvidia_looking *l, nvml_device gpu, struct gpu_row *row)
{
    for (unsigned i = 0; l->nvml.link_state && l->nvml.link_peer && i < NVML_LINKS_MAX; i++) {
        unsigned active = 0;
        struct nvml_pci peer = {0};
        if (l->nvml.link_state(gpu, i, &active) != NVML_OK || !active ||
            l->nvml.link_peer(gpu, i, &peer) != NVML_OK)
            continue;
        const char *address = address_of(&peer, l->a);
        bool known = false;
        for (size_t k = 0; k < row->npeers; k++)
            known |= text_is(row->peer[k], address);
        if (!known && row->npeers < GPU_PEERS_MAX)
            row->peer[row->npeers++] = address;
    }
}

static bool gpu_add(struct nvidia_looking *l, unsigned index)
{
    nvml_device gpu;
    unsigned minor = 0;
    char name[8];
    if (l->nvml.by_index(index, &gpu) != NVML_OK)
        return false;
    bool has_minor = l->nvml.minor && l->nvml.minor(gpu, &minor) == NVML_OK;
    if (is_mig(l, gpu)) {
        instances_add(l, gpu, has_minor, minor);
        return true;
    }
    int answer = l->nvml.name(gpu, name, sizeof name);
    if (answer != NVML_OK && answer != NVML_TOO_SMALL)
        return false;
    struct gpu_row *row = gpu_found_add(l->found);
    describe(l, gpu, gpu, row);
    row->vendor_index = index;
    row->files = has_minor ? arena_printf(l->a, "%d:%u", NVIDIA_MAJOR, minor) : NULL;
    links_find(l, gpu, row);
    return true;
}

/* ---- a GPU that does not answer ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The addresses that the driver has GPUs at, in NVML's order. */
static size_t addresses_read(struct nvidia_looking *l, const char **ret, size_t most)
{
    ASSERT(most > 0);
    struct dirent *e;
    size_t n = 0;
    DIR *d = opendir(arena_printf(l->a, "%s/driver/nvidia/gpus", proc_dir()));
    while (d && (e = readdir(d)))
        if (isxdigit((unsigned char)e->d_name[0]) && n < most)
            ret[n++] = arena_strdup(l->a, e->d_name);
    if (d)
        closedir(d);
    qsort(ret, n, sizeof *ret, by_name);
    return n;
}

/* What stands after "Key:" in the driver's file about it; NULL: nothing. */
static const char *information(struct nvidia_looking *l, const char *address, const char *key)
{
    char line[256];
    const char *found = NULL;
    FILE *f = fopen(arena_printf(l->a, "%s/driver/nvidia/gpus/%s/information", proc_dir(), address),
                    "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        char *value = strchr(line, ':');
        if (!value || !text_starts(line, key))
            continue;
        value += 1 + strspn(value + 1, " \t");
        value[strcspn(value, "\n")] = '\0';
        found = arena_strdup(l->a, value);
    }
    if (f)
        fclose(f);
    return found;
}

static bool listed_add(struct nvidia_looking *l, const char *address, unsigned index)
{
    char type[80];
    const char *model = information(l, address, "Model"),
               *minor = information(l, address, "Device Minor"),
               *uuid = information(l, address, "GPU UUID");
    if (!model)
        return false;
    struct gpu_row *row = gpu_found_add(l->found);
    gpu_type_of(model, type, sizeof type);
    row->d.kind = "gpu";
    row->d.via = l->version;
    row->d.type = arena_strdup(l->a, type);
    row->d.uuid = uuid && !strchr(uuid, '?') ? uuid : NULL;
    row->d.pci = address;
    row->d.numa = numa_of(address, l->a);
    row->vendor_index = index;
    row->files = minor ? arena_printf(l->a, "%d:%s", NVIDIA_MAJOR, minor) : NULL;
    return true;
}

/* It keeps its place, so that the numbers of the others stay what they were: what the driver's own
 * list says of it has to do. */
static bool silent_add(struct nvidia_looking *l, unsigned index, unsigned count)
{
    const char *address[NVML_DEVICES_MAX];
    return addresses_read(l, address, NVML_DEVICES_MAX) == count &&
           listed_add(l, address[index], index);
}

void nvidia_listed(struct gpu_found *found, struct arena *a)
{
    struct nvidia_looking l = {.found = found, .a = a};
    const char *address[NVML_DEVICES_MAX];
    size_t n = addresses_read(&l, address, NVML_DEVICES_MAX);
    for (size_t i = 0; i < n; i++)
        listed_add(&l, address[i], (unsigned)i);
}

/* Has the machine a display or compute device of NVIDIA's? */
static bool is_on_bus(void)
{
    struct dirent *e;
    bool found = false;
    char bus[256], path[640];
    snprintf(bus, sizeof bus, "%s/bus/pci/devices", sysfs_root());
    DIR *d = opendir(bus);
    while (d && !found && (e = readdir(d))) {
        char vendor[16] = "", class[16] = "";
        snprintf(path, sizeof path, "%s/%s/vendor", bus, e->d_name);
        word_read(path, vendor, sizeof vendor);
        snprintf(path, sizeof path, "%s/%s/class", bus, e->d_name);
        word_read(path, class, sizeof class);
        found = text_is(vendor, "0x10de") && text_starts(class, "0x03");
    }
    if (d)
        closedir(d);
    return found;
}

/* Why there is no library, which may be as it should be. */
static void unopened_say(struct nvidia_looking *l, enum nvml_opened opened, const char *why,
                         struct str *trouble, struct str *search)
{
    if (opened == NVML_ABSENT && !is_on_bus())
        remark_add(search, arena_printf(l->a, SAY_NVML_NOTHING, why));
    else
        remark_add(trouble,
                   arena_printf(l->a, "%s%s%s", why, opened == NVML_ABSENT ? SAY_NVML_ON_BUS : "",
                                SAY_NVML_NOT_USED));
}

static void devices_add(struct nvidia_looking *l, struct str *trouble, struct str *search)
{
    unsigned count = 0;
    size_t before = l->found->gpu.n;
    if (l->nvml.count(&count) != NVML_OK || count > NVML_DEVICES_MAX) {
        remark_add(trouble, SAY_NVML_COUNT);
        return;
    }
    for (unsigned i = 0; i < count; i++)
        if (!gpu_add(l, i) && !silent_add(l, i, count)) {
            gpu_found_add(l->found)->is_hole = true;
            remark_add(trouble, SAY_NVML_SILENT);
        }
    if (l->found->gpu.n == before)
        remark_add(search, arena_printf(l->a, SAY_NVML_NONE, l->version));
}

void discover_nvidia(struct gpu_found *found, struct arena *a, struct str *trouble,
                     struct str *search)
{
    struct nvidia_looking l = {.found = found, .a = a};
    struct str text = STR_INIT;
    enum nvml_opened opened = nvml_open(&l.nvml, &text);
    if (opened == NVML_OPENED) {
        nvml_version_say(&l.nvml, &text);
        l.version = arena_strdup(a, str_text(&text));
        devices_add(&l, trouble, search);
        nvml_close(&l.nvml);
    } else {
        unopened_say(&l, opened, str_text(&text), trouble, search);
    }
    str_done(&text);
}
