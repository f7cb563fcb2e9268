/* As a program (AMD_TREE_PROGRAM): amd_tree DIRECTORY MODEL… */
#include "amd_tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Numbers from pci.ids, versions from the runtime's list. */
static const struct amd_tree_gpu models[] = {
    {"mi100", 0x738c, 90008, 32},  {"mi210", 0x740f, 90010, 64},   {"mi250", 0x740c, 90010, 64},
    {"mi250x", 0x7408, 90010, 64}, {"mi300x", 0x74a1, 90402, 192}, {"w7900", 0x7448, 110000, 48},
};

const struct amd_tree_gpu *amd_tree_model(const char *name)
{
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        if (strcmp(models[i].model, name) == 0)
            return &models[i];
    return NULL;
}

void amd_tree_write(const char *root, const char *path, const void *data, size_t len)
{
    char full[1024];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *at = strchr(full + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(full, 0755);
        *at = '/';
    }
    FILE *f = fopen(full, "we");
    if (!f || fwrite(data, 1, len, f) != len || fclose(f) != 0)
        abort();
}

void amd_tree_say(const char *root, const char *path, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    amd_tree_write(root, path, text, (size_t)len);
}

static void node_make(const char *root, const struct amd_tree_gpu *gpu, size_t n, size_t i)
{
    char dir[128], path[256];
    size_t links = 0;
    snprintf(dir, sizeof dir, "class/kfd/kfd/topology/nodes/%zu", i + 1);
    snprintf(path, sizeof path, "%s/gpu_id", dir);
    amd_tree_say(root, path, "%zu\n", 1000 + i);
    snprintf(path, sizeof path, "%s/name", dir);
    amd_tree_say(root, path, "ip discovery\n");
    snprintf(path, sizeof path, "%s/properties", dir);
    amd_tree_say(
        root, path,
        "cpu_cores_count 0\nsimd_count 1216\nmem_banks_count 1\ncaches_count 500\nio_links_count "
        "%zu\n"
        "gfx_target_version %u\nvendor_id 4098\ndevice_id %u\nlocation_id %zu\ndomain 0\n"
        "drm_render_minor %zu\nhive_id 12345\nlocal_mem_size 0\nfw_version 166\ncapability 2\n"
        "unique_id %zu\nnum_xcc 8\n",
        n, gpu[i].gfx, gpu[i].device, (0x41 + i) << 8, 128 + i, 0xabc0 + i);
    snprintf(path, sizeof path, "%s/mem_banks/0/properties", dir);
    amd_tree_say(root, path,
                 "heap_type 1\nsize_in_bytes %llu\nflags 0\nwidth 8192\nmem_clk_max 1300\n",
                 gpu[i].gib << 30);
    snprintf(path, sizeof path, "%s/io_links/%zu/properties", dir, links++);
    amd_tree_say(root, path, "type 2\nversion_major 0\nnode_from %zu\nnode_to 0\nweight 20\n",
                 i + 1);
    for (size_t k = 0; k < n; k++) {
        if (k == i || gpu[k].device != gpu[i].device)
            continue;
        snprintf(path, sizeof path, "%s/io_links/%zu/properties", dir, links++);
        amd_tree_say(root, path,
                     "type 11\nversion_major 0\nnode_from %zu\nnode_to %zu\nweight 15\n", i + 1,
                     k + 1);
    }
}

static void device_make(const char *root, const struct amd_tree_gpu *gpu, size_t i)
{
    static const char *const blocks[] = {"umc", "sdma", "gfx", "mmhub", "xgmi_wafl"};
    static const unsigned char registers[64] = {0x02, 0x10, 0xa1, 0x74};
    char dir[128], path[256];
    snprintf(dir, sizeof dir, "bus/pci/devices/0000:%02zx:00.0", 0x41 + i);
#define SAY(file, ...)                                                                             \
    do {                                                                                           \
        snprintf(path, sizeof path, "%s/" file, dir);                                              \
        amd_tree_say(root, path, __VA_ARGS__);                                                     \
    } while (0)
    SAY("vendor", "0x1002\n");
    SAY("device", "0x%04x\n", gpu->device);
    SAY("numa_node", "0\n");
    SAY("local_cpulist", "0\n");
    SAY("gpu_busy_percent", "0\n");
    SAY("mem_info_vram_total", "%llu\n", gpu->gib << 30);
    SAY("mem_info_vram_used", "%llu\n", 10ULL << 20);
    SAY("power/runtime_status", "active\n");
#undef SAY
    for (size_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++) {
        snprintf(path, sizeof path, "%s/ras/%s_err_count", dir, blocks[b]);
        amd_tree_say(root, path, "ue: 0\nce: 0\nde: 0\n");
    }
    snprintf(path, sizeof path, "dev/char/226:%zu/device/drm/card%zu/dev", 128 + i, i + 1);
    amd_tree_say(root, path, "226:%zu\n", i + 1);
    snprintf(path, sizeof path, "dev/char/226:%zu/device/drm/renderD%zu/dev", 128 + i, 128 + i);
    amd_tree_say(root, path, "226:%zu\n", 128 + i);
    snprintf(path, sizeof path, "%s/ras/features", dir);
    amd_tree_say(root, path, "feature mask: 0x3fff\n");
    snprintf(path, sizeof path, "%s/config", dir);
    amd_tree_write(root, path, registers, sizeof registers);
}

void amd_tree_make(const char *root, const struct amd_tree_gpu *gpu, size_t n)
{
    amd_tree_say(root, "class/kfd/kfd/topology/nodes/0/gpu_id", "0\n");
    amd_tree_say(root, "class/kfd/kfd/topology/nodes/0/properties",
                 "cpu_cores_count 96\nvendor_id 4098\n");
    amd_tree_say(root, "class/kfd/kfd/proc/.keep", "\n");
    for (size_t i = 0; i < n; i++) {
        node_make(root, gpu, n, i);
        device_make(root, &gpu[i], i);
    }
}

#ifdef AMD_TREE_PROGRAM
int main(int argc, char **argv)
{
    struct amd_tree_gpu gpu[16];
    size_t n = 0;
    for (int i = 2; i < argc && n < 16; i++) {
        const struct amd_tree_gpu *model = amd_tree_model(argv[i]);
        if (!model)
            return 1;
        gpu[n++] = *model;
    }
    if (n)
        amd_tree_make(argv[1], gpu, n);
    return n ? 0 : 1;
}
#endif
