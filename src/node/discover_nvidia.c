/* NVIDIA's devices as NVML tells of them. */
#include "node/machine.h"
#include "node/nvml.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define NVIDIA_MAJOR 195 /* of /dev/nvidia0, …: registered for it */

/* "NVIDIA A100-SXM4-40GB" → "a100", "Tesla V100-SXM2-16GB" → "v100", "NVIDIA GeForce RTX 3090" → "rtx3090", "NVIDIA H200" → "h200": the first
 * word with a digit, up to a dash; letters before a lone number stay with it. */
static void type_of(const char *name, char *ret, size_t size)
{
    char words[128], before[32] = "", *save = NULL;
    snprintf(words, sizeof words, "%.127s", name);
    snprintf(ret, size, "gpu");
    for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        word[strcspn(word, "-")] = '\0';
        if (strpbrk(word, "0123456789")) {
            snprintf(ret, size, "%s%s", isdigit((unsigned char)word[0]) ? before : "", word);
            break;
        }
        snprintf(before, sizeof before, "%.31s", word);
    }
    for (char *c = ret; *c; c++)
        *c = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '_';
}

/* Folded numbers of the set bits. */
static void cpus_of(const unsigned long *set, size_t words, struct str *out)
{
    size_t bits = 8 * sizeof *set;
    bool first = true;
    for (size_t i = 0; i < words * bits; i++) {
        if (!(set[i / bits] >> i % bits & 1))
            continue;
        size_t last = i;
        while (last + 1 < words * bits && (set[(last + 1) / bits] >> (last + 1) % bits & 1))
            last++;
        str_addf(out, last > i ? "%s%zu-%zu" : "%s%zu", first ? "" : ",", i, last);
        first = false;
        i = last;
    }
}

static bool device_add(const struct nvml *n, unsigned index, struct str *devices, struct str *files, bool *files_known)
{
    unsigned minor;
    void *device;
    char name[96] = "", uuid[96] = "", type[64];
    struct nvml_memory memory = {0};
    unsigned long near[16] = {0};
    if (n->by_index(index, &device) != 0 || n->name(device, name, sizeof name) != 0)
        return false;
    n->uuid(device, uuid, sizeof uuid);
    n->memory(device, &memory);
    type_of(name, type, sizeof type);
    str_addf(devices, "gpu:%s:%u:%llu:", type, index, memory.total >> 20);
    if (n->affinity(device, 16, near) == 0)
        cpus_of(near, 16, devices);
    str_addf(devices, ":%s;", uuid);
    if (n->minor && n->minor(device, &minor) == 0)
        str_addf(files, "%u=%u:%u,", index, NVIDIA_MAJOR, minor);
    else
        *files_known = false;
    return true;
}

static void remark(struct str *remarks, const char *text)
{
    if (remarks->len)
        str_add(remarks, "; ");
    str_add(remarks, text);
}

void discover_nvidia(struct str *devices, struct str *files, struct str *remarks)
{
    bool files_known = true;
    struct nvml n;
    unsigned count = 0;
    switch (nvml_open(&n)) {
    case NVML_ABSENT:
        return;
    case NVML_UNFIT:
        remark(remarks, "NVIDIA's management library lacks functions that are needed; its devices are not used");
        return;
    case NVML_NO_DRIVER:
        remark(remarks, "NVIDIA's management library could not be started (no driver loaded?); its devices are not used");
        return;
    case NVML_OPENED:
        break;
    }
    n.count(&count);
    for (unsigned i = 0; i < count; i++)
        if (!device_add(&n, i, devices, files, &files_known))
            remark(remarks, "an NVIDIA device does not answer and is not used");
    nvml_close(&n);
    if (count > 0 && !files_known) {
        str_clear(files);
        remark(remarks, "NVIDIA's library does not tell the device files: devices of other jobs are not hidden");
    }
}
