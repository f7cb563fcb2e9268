/* Whose files are whose where gres.conf says what the node has: which device that was found a line
 * means, and which it means none of. Files are the truth of a line; of AMD's devices it names one
 * of two (/dev/kfd is all devices'), of any device perhaps the one for displays. */
#include "node/hardware/discover_gpus.h"
#include "node/hardware/sysfs.h"

#include "base/list.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DRM_FILES "226:"

static struct span first_file(const char *files)
{
    struct span rest = span_of(files), one = {0};
    span_next(&rest, '+', &one);
    return one;
}

static bool has_file(const char *files, struct span file)
{
    struct span rest = span_of(files), one;
    while (span_next(&rest, '+', &one))
        if (one.len == file.len && memcmp(one.data, file.data, one.len) == 0)
            return true;
    return false;
}

static bool has_all(const char *files, const char *others)
{
    struct span rest = span_of(others), one;
    while (span_next(&rest, '+', &one))
        if (!has_file(files, one))
            return false;
    return true;
}

/* Is one of them a file that the kernel's graphics made for the device at this address? */
static bool has_drm_of(const char *files, const char *pci)
{
    struct span rest = span_of(files), one;
    char path[640], link[PATH_MAX];
    while (pci && span_next(&rest, '+', &one)) {
        if (!text_starts(one.data, DRM_FILES))
            continue;
        snprintf(path, sizeof path, "%s/dev/char/%.*s/device", sysfs_root(), (int)one.len,
                 one.data);
        ssize_t n = readlink(path, link, sizeof link - 1);
        link[n > 0 ? n : 0] = '\0';
        const char *slash = strrchr(link, '/');
        if (text_is(slash ? slash + 1 : link, pci))
            return true;
    }
    return false;
}

/* By its own first file, or by one that the kernel's graphics made for its address, which parts of
 * a GPU have together. */
static bool means(const char *files, const struct gpu_row *row, bool by_address)
{
    return by_address ? has_drm_of(files, row->d.pci)
                      : !gpu_is_instance(&row->d) && has_file(files, first_file(row->files));
}

const struct gpu_row *gpu_of_files(const struct gpu_found *f, const char *files)
{
    const struct gpu_row *found = NULL;
    size_t n = 0;
    for (size_t i = 0; files && i < f->gpu.n; i++)
        if (text_is(f->gpu.v[i].files, files))
            return &f->gpu.v[i];
    for (int by_address = 0; files && by_address < 2 && n == 0; by_address++)
        for (size_t i = 0; i < f->gpu.n; i++)
            if (f->gpu.v[i].files && means(files, &f->gpu.v[i], by_address)) {
                found = &f->gpu.v[i];
                n++;
            }
    return n == 1 ? found : NULL;
}

const char *gpu_files_with(const char *files, const char *more, struct arena *a)
{
    struct str text = STR_INIT;
    struct span rest = span_of(more), one;
    str_add(&text, files);
    while (span_next(&rest, '+', &one))
        if (!has_file(str_text(&text), one))
            str_addf(&text, "+%.*s", (int)one.len, one.data);
    const char *result = arena_strdup(a, str_text(&text));
    str_done(&text);
    return result;
}

bool gpu_same_files(const struct gpu_row *row, const struct device *known, const char *files,
                    bool exactly)
{
    if (!row->files || !files)
        return false;
    return exactly ? text_is(row->files, files)
                   : !gpu_is_instance(&row->d) && !gpu_is_instance(known) &&
                         (has_all(row->files, files) || has_all(files, row->files));
}

static size_t so_many_there(const struct gpu_found *found, const char *pci)
{
    size_t n = 0;
    for (size_t i = 0; pci && i < found->gpu.n; i++)
        n += text_is(found->gpu.v[i].d.pci, pci);
    return n;
}

/* All its files, or that of the GPU alone: then its instances are the line's, too. By its address
 * only where nothing else has that. */
static bool is_named(const struct gpu_row *row, const struct gpu_found *made,
                     const struct gpu_found *found)
{
    bool alone = so_many_there(found, row->d.pci) < 2;
    for (size_t i = 0; i < made->gpu.n; i++) {
        const char *files = made->gpu.v[i].files;
        if (files && (has_all(files, row->files) || has_all(row->files, files) ||
                      (alone && has_drm_of(files, row->d.pci))))
            return true;
    }
    return false;
}

static bool is_found(const struct gpu_found *found, struct span file)
{
    for (size_t i = 0; i < found->gpu.n; i++)
        if (found->gpu.v[i].files && has_file(found->gpu.v[i].files, file))
            return true;
    return false;
}

static void closed_add(const struct gpu_row *row, struct gpu_found *closed, struct str *out)
{
    struct span rest = span_of(row->files), one;
    while (span_next(&rest, '+', &one))
        if (!is_found(closed, one))
            str_addf(out, "%s%.*s", out->len ? " " : "", (int)one.len, one.data);
    *gpu_found_add(closed) = *row;
}

const char *gpus_closed(const struct gpu_found *found, const struct gpu_found *driver,
                        const struct gpu_found *made, struct arena *a)
{
    struct gpu_found closed = {0};
    struct str text = STR_INIT;
    for (size_t i = 0; i < found->gpu.n; i++)
        if (found->gpu.v[i].files && !is_named(&found->gpu.v[i], made, found))
            closed_add(&found->gpu.v[i], &closed, &text);
    for (size_t i = 0; i < driver->gpu.n; i++) {
        const struct gpu_row *row = &driver->gpu.v[i];
        if (row->files && !is_found(found, first_file(row->files)) &&
            !is_found(made, first_file(row->files)) && !is_named(row, made, driver))
            closed_add(row, &closed, &text);
    }
    const char *result = text.len ? arena_strdup(a, str_text(&text)) : NULL;
    vec_done(&closed.gpu);
    str_done(&text);
    return result;
}

/* ---- names ---- */

static bool is_whole(const struct gpu_row *row)
{
    return text_is(row->d.kind, "gpu") && !gpu_is_instance(&row->d) &&
           row->vendor_index != UINT32_MAX;
}

/* Each maker counts its own. */
static bool are_of_one_maker(const struct gpu_row *x, const struct gpu_row *y)
{
    return x->files && y->files && strcspn(x->files, ":") == strcspn(y->files, ":") &&
           memcmp(x->files, y->files, strcspn(x->files, ":")) == 0;
}

static bool numbers_do(const struct gpu_found *f, bool alone)
{
    for (size_t i = 0; i < f->gpu.n; i++) {
        const struct gpu_row *x = &f->gpu.v[i];
        if (!is_whole(x))
            continue;
        if (!alone && (int64_t)x->vendor_index != x->d.index)
            return false;
        for (size_t k = 0; alone && k < i; k++) {
            const struct gpu_row *y = &f->gpu.v[k];
            if (is_whole(y) && are_of_one_maker(x, y) &&
                (x->d.index < y->d.index) != (x->vendor_index < y->vendor_index))
                return false;
        }
    }
    return true;
}

const char *gpus_names(const struct gpu_found *f, bool alone, struct arena *a)
{
    struct str text = STR_INIT;
    bool by_number = numbers_do(f, alone);
    for (size_t i = 0; i < f->gpu.n; i++) {
        const struct gpu_row *row = &f->gpu.v[i];
        if (!text_is(row->d.kind, "gpu") || (by_number && !gpu_is_instance(&row->d)))
            continue;
        if (row->d.uuid)
            list_addf(&text, "%d=%s", row->d.index, row->d.uuid);
        else if (!alone && row->vendor_index != UINT32_MAX)
            list_addf(&text, "%d=%u", row->d.index, row->vendor_index);
    }
    const char *result = text.len ? arena_strdup(a, str_text(&text)) : NULL;
    str_done(&text);
    return result;
}
