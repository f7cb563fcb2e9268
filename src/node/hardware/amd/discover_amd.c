/* AMD's devices as a node's. A job opens a device by its render node, and all of them by /dev/kfd,
 * which so belongs to every device's files: a job without a device does not get it. For displays
 * the kernel makes another file of a device, card0 …, by which members of the group "video" may
 * reach it, too. */
#include "node/hardware/amd/amd.h"
#include "node/hardware/discover_gpus.h"
#include "node/hardware/gpu_sentences.h"
#include "node/hardware/sysfs.h"

#include "base/alloc.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static const char *kfd_number(struct arena *a)
{
    struct stat st;
    if (stat(amd_kfd_path(), &st) != 0 || !S_ISCHR(st.st_mode))
        return NULL;
    return arena_printf(a, "%u:%u", major(st.st_rdev), minor(st.st_rdev));
}

/* "+226:1": of the file that the device with this render node has for displays; "" if none. */
static const char *card_number(uint32_t render, struct arena *a)
{
    char dir[512], path[800], number[32];
    const char *found = "";
    const struct dirent *e;
    snprintf(dir, sizeof dir, "%s/dev/char/%d:%" PRIu32 "/device/drm", sysfs_root(), DRM_MAJOR,
             render);
    DIR *drm = opendir(dir);
    while (drm && (e = readdir(drm))) {
        snprintf(path, sizeof path, "%s/%s/dev", dir, e->d_name);
        if (text_starts(e->d_name, "card") && sysfs_line(path, number, sizeof number) == 0 &&
            strspn(number, "0123456789:") == strlen(number))
            found = arena_printf(a, "+%s", number);
    }
    if (drm)
        closedir(drm);
    return found;
}

static const char *text_or_null(const char *text, struct arena *a)
{
    return text[0] ? arena_strdup(a, text) : NULL;
}

static void gpu_add(const struct amd *amd, uint32_t at, struct gpu_found *found, struct arena *a)
{
    ASSERT(at < amd->n);
    const struct amd_device *d = &amd->device[at];
    struct gpu_row *row = gpu_found_add(found);
    const char *kfd = kfd_number(a);
    row->vendor_index = at;
    row->d.kind = "gpu";
    row->d.type = arena_strdup(a, d->type);
    row->d.uuid = text_or_null(d->uuid, a);
    row->d.pci = text_or_null(d->pci, a);
    row->d.mem_mib = (int64_t)(d->bytes >> 20);
    row->d.cpus = text_or_null(d->cpus, a);
    if (d->numa >= 0)
        row->d.numa = arena_printf(a, "%" PRId32, d->numa);
    if (d->has_render && kfd)
        row->files = arena_printf(a, "%d:%" PRIu32 "+%s%s", DRM_MAJOR, d->render, kfd,
                                  card_number(d->render, a));
    for (uint32_t i = 0; i < amd->n && row->npeers < GPU_PEERS_MAX; i++)
        if (d->links >> i & 1)
            row->peer[row->npeers++] = arena_strdup(a, amd->device[i].pci);
}

void discover_amd(struct gpu_found *found, struct arena *a, struct str *trouble, struct str *search)
{
    struct str why = STR_INIT;
    struct amd *amd = amd_open(&why);
    if (why.len)
        remark_add(trouble, str_text(&why));
    else if (!amd)
        remark_add(search, arena_printf(a, SAY_AMD_NO_DRIVER, amd_kfd_path()));
    for (uint32_t i = 0, place = 0; amd && i < amd->n; i++, place++) {
        for (; place < amd->device[i].place; place++)
            gpu_found_add(found)->is_hole = true;
        gpu_add(amd, i, found, a);
    }
    amd_close(amd);
    str_done(&why);
}
