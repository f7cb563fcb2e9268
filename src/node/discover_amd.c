/* AMD's devices as ROCm SMI tells of them. A job opens a device by its render node, and all of them by /dev/kfd, which so belongs to every device's files: a job without a device does
 * not get it. */
#include "node/discover_gpus.h"
#include "node/rsmi.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define DRM_MAJOR 226

static const char *kfd_number(struct arena *a)
{
    const char *path = getenv("REMUDA_KFD"); /* of tests */
    struct stat st;
    if (stat(path ? path : "/dev/kfd", &st) != 0 || !S_ISCHR(st.st_mode))
        return NULL;
    return arena_printf(a, "%u:%u", major(st.st_rdev), minor(st.st_rdev));
}

/* Near CPUs as the system numbers them; the list is in its own grammar, which is ours. */
static const char *cpus_of_numa(int32_t numa, struct arena *a)
{
    char line[1024] = "";
    FILE *f = fopen(arena_printf(a, "/sys/devices/system/node/node%" PRId32 "/cpulist", numa), "re");
    if (f && fgets(line, sizeof line, f))
        line[strcspn(line, "\n")] = '\0';
    if (f)
        fclose(f);
    return line[0] ? arena_strdup(a, line) : NULL;
}

/* (domain << 32) | (bus << 8) | (device << 3) | function */
static const char *address_of(uint64_t id, struct arena *a)
{
    return arena_printf(a, "%04x:%02x:%02x.%x", (unsigned)(id >> 32), (unsigned)(id >> 8 & 0xff),
                        (unsigned)(id >> 3 & 0x1f), (unsigned)(id & 7));
}

static void links_find(const struct rsmi *r, uint32_t device, uint32_t count, struct gpu_row *row,
                       struct arena *a)
{
    for (uint32_t other = 0; r->link_type && other < count && row->npeers < GPU_PEERS_MAX; other++) {
        uint64_t hops, id;
        int type = 0;
        if (other != device && r->link_type(device, other, &hops, &type) == 0 && type == RSMI_LINK_XGMI &&
            r->pci(other, &id) == 0)
            row->peer[row->npeers++] = address_of(id, a);
    }
}

static bool gpu_add(const struct rsmi *r, uint32_t device, uint32_t count, struct gpu_found *found,
                    struct arena *a)
{
    char name[128] = "", uuid[32] = "", type[64];
    uint64_t bytes = 0, id;
    uint32_t render;
    int32_t numa = -1;
    const char *kfd = kfd_number(a);
    if (r->name(device, name, sizeof name) != 0)
        return false;
    struct gpu_row *row = gpu_found_add(found);
    gpu_type_of(name, type, sizeof type);
    row->vendor_index = device;
    row->d.kind = "gpu";
    row->d.type = arena_strdup(a, type);
    row->d.uuid = rsmi_uuid(r, device, uuid) ? arena_strdup(a, uuid) : NULL;
    if (r->memory_total(device, RSMI_VRAM, &bytes) == 0)
        row->d.mem_mib = (int64_t)(bytes >> 20);
    if (r->pci(device, &id) == 0)
        row->d.pci = address_of(id, a);
    if (r->numa && r->numa(device, &numa) == 0 && numa >= 0) {
        row->d.numa = arena_printf(a, "%" PRId32, numa);
        row->d.cpus = cpus_of_numa(numa, a);
    }
    if (r->render_minor && r->render_minor(device, &render) == 0 && kfd)
        row->files = arena_printf(a, "%d:%" PRIu32 "+%s", DRM_MAJOR, render, kfd);
    links_find(r, device, count, row, a);
    return true;
}

void discover_amd(struct gpu_found *found, struct arena *a, struct str *remarks)
{
    struct rsmi r;
    uint32_t count = 0;
    bool unfit;
    if (!rsmi_open(&r, &unfit)) {
        if (unfit)
            remark_add(remarks,
                       "AMD's management library lacks functions that are needed; its devices are not used");
        return;
    }
    if (r.count(&count) != 0 || count > RSMI_DEVICES_MAX) {
        remark_add(remarks,
                   "AMD's management library does not say how many devices there are; none are used");
        count = 0;
    }
    for (uint32_t i = 0; i < count; i++)
        if (!gpu_add(&r, i, count, found, a))
            remark_add(remarks, "an AMD device does not answer and is not used");
    rsmi_close(&r);
}
