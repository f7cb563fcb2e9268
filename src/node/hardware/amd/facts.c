/* What a device is called and where it is, from files that are the same whoever found it. */
#include "node/hardware/amd/amd.h"
#include "node/hardware/discover_gpus.h"
#include "node/hardware/sysfs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

/* "\t740f  Aldebaran/MI200 [Instinct MI210]" below "1002  Advanced Micro Devices, Inc.
 * [AMD/ATI]". */
static bool name_in(FILE *f, uint32_t device, char *to, size_t size)
{
    char line[512], wanted[16];
    bool ours = false;
    snprintf(wanted, sizeof wanted, "\t%04" PRIx32 "  ", device);
    while (fgets(line, sizeof line, f)) {
        if (line[0] != '\t' && line[0] != '#')
            ours = strncmp(line, "1002 ", 5) == 0;
        if (ours && strncmp(line, wanted, 7) == 0) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(to, size, "%.200s", line + 7);
            return true;
        }
    }
    return false;
}

static bool name_listed(uint32_t device, char *to, size_t size)
{
    static const char *const lists[] = {"/usr/share/hwdata/pci.ids", "/usr/share/misc/pci.ids",
                                        "/usr/share/pci.ids"};
    bool found = false;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0] && !found; i++) {
        FILE *f = fopen(lists[i], "re");
        found = f && name_in(f, device, to, size);
        if (f)
            fclose(f);
    }
    return found;
}

/* 90402 → "gfx942", 90010 → "gfx90a" */
static void gfx_name(uint32_t version, char *to, size_t size)
{
    if (version)
        snprintf(to, size, "gfx%" PRIu32 "%" PRIx32 "%" PRIx32, version / 10000,
                 version / 100 % 100, version % 100);
    else
        snprintf(to, size, "gpu");
}

void amd_type_find(struct amd_device *d, uint32_t pci_device, uint32_t gfx_version)
{
    char path[256], name[256];
    const char *type = amd_type_of_device(pci_device);
    snprintf(path, sizeof path, "%s/bus/pci/devices/%s/product_name", sysfs_root(), d->pci);
    snprintf(d->type, sizeof d->type, "%s", type ? type : "gpu");
    if (!type && sysfs_line(path, name, sizeof name) == 0)
        gpu_type_of(name, d->type, sizeof d->type);
    if (text_is(d->type, "gpu") && name_listed(pci_device, name, sizeof name))
        gpu_type_of(name, d->type, sizeof d->type);
    if (text_is(d->type, "gpu"))
        gfx_name(gfx_version, d->type, sizeof d->type);
}

/* ---- place ---- */

void amd_place_find(struct amd_device *d)
{
    char path[256], text[32];
    snprintf(path, sizeof path, "%s/bus/pci/devices/%s/numa_node", sysfs_root(), d->pci);
    if (sysfs_line(path, text, sizeof text) == 0 && text[0] != '-')
        d->numa = (int32_t)strtol(text, NULL, 10);
    if (d->numa < 0)
        return; /* its near CPUs would be all */
    snprintf(path, sizeof path, "%s/bus/pci/devices/%s/local_cpulist", sysfs_root(), d->pci);
    if (sysfs_line(path, d->cpus, sizeof d->cpus) == 0)
        return;
    d->cpus[0] = '\0';
    snprintf(path, sizeof path, "%s/devices/system/node/node%" PRId32 "/cpulist", sysfs_root(),
             d->numa);
    if (sysfs_line(path, d->cpus, sizeof d->cpus) != 0)
        d->cpus[0] = '\0';
}
