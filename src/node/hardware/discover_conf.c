/* gres.conf over what was found. Lines of gpu, if there are any for this node, are the truth: the
 * node has these, in their order. What a line does not say of a device (memory, uuid, PCI address,
 * cores, links) is taken from what was found with the same device file. Without such lines the node
 * has what was found. Other kinds are as the lines say. */
#include "node/hardware/discover_gpus.h"

#include "base/hostlist.h"
#include "base/idset.h"
#include "base/list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

struct applying {
    const struct gpu_found *found, *driver; /* driver: what it lists itself */
    struct gpu_found *made;
    const struct gres_conf *conf;
    const char *path;
    int32_t threads_per_core;
    struct arena *a;
    struct err *err;
};

/* "195:0" of a device file; NULL with an error if it is none. */
static const char *file_number(const struct applying *p, const struct gres_conf_row *row,
                               const char *file)
{
    struct stat st;
    if (stat(file, &st) == 0 && S_ISCHR(st.st_mode))
        return arena_printf(p->a, "%u:%u", major(st.st_rdev), minor(st.st_rdev));
    err_set(p->err, ERR_INVALID, "%s:%d: File=%s is no device file on this machine", p->path,
            row->line, file);
    return NULL;
}

/* Cores as the CPUs of the node. */
static const char *cores_as_cpus(const struct applying *p, const char *cores)
{
    struct idset set = IDSET_INIT, cpus = IDSET_INIT;
    uint32_t core, each = p->threads_per_core > 1 ? (uint32_t)p->threads_per_core : 1;
    if (idset_parse(&set, cores, INT32_MAX, NULL))
        for (bool more = idset_first(&set, &core); more; more = idset_next(&set, core, &core))
            for (uint32_t t = 0; t < each; t++)
                idset_add(&cpus, core * each + t);
    const char *result = gpu_cpus_text(&cpus, p->a);
    idset_done(&set);
    idset_done(&cpus);
    return result;
}

/* As places among the lines, "1+3"; the devices have no numbers yet that stay. */
static const char *links_as_places(const struct applying *p, const char *links)
{
    struct span rest = span_of(links), one;
    struct str text = STR_INIT;
    for (int place = 0; span_next(&rest, ',', &one); place++)
        if (strtol(one.data, NULL, 10) > 0)
            str_addf(&text, "%s%d", text.len ? "+" : "", place);
    const char *result = text.len ? arena_strdup(p->a, str_text(&text)) : NULL;
    str_done(&text);
    return result;
}

/* One device of a line; `files` are its numbers, NULL = not known. */
static void device_make(struct applying *p, const struct gres_conf_row *row, const char *files,
                        int32_t index)
{
    bool is_gpu = text_is(row->name, "gpu");
    const struct gpu_row *known = is_gpu ? gpu_of_files(p->found, files) : NULL,
                         *listed = is_gpu && !known ? gpu_of_files(p->driver, files) : NULL;
    struct gpu_row *g = gpu_found_add(p->made);
    g->vendor_index = listed ? listed->vendor_index : UINT32_MAX;
    if (known)
        *g = *known;
    g->d.kind = row->name;
    g->d.index = index;
    g->d.type = row->type ? row->type : g->d.type;
    g->d.cpus = row->cores ? cores_as_cpus(p, row->cores) : g->d.cpus;
    g->said_links = row->links != NULL;
    g->d.links = row->links ? links_as_places(p, row->links) : NULL;
    g->files = known ? gpu_files_with(files, known->files, p->a) : files;
}

static int32_t next_index(const struct applying *p, const char *kind)
{
    int32_t n = 0;
    for (size_t i = 0; i < p->made->gpu.n; i++)
        n += text_is(p->made->gpu.v[i].d.kind, kind);
    return n;
}

static bool row_apply(struct applying *p, const struct gres_conf_row *row, struct str *counted)
{
    struct str all = STR_INIT;
    if (row->nfiles == 0 && (!text_is(row->name, "gpu") || row->count_only)) {
        list_addf(counted, "%s%s%s:%lld", row->name, row->type ? ":" : "",
                  row->type ? row->type : "", (long long)(row->count ? row->count : 1));
        return true;
    }
    for (int64_t i = 0; row->nfiles == 0 && i < (row->count ? row->count : 1); i++)
        device_make(p, row, NULL, next_index(p, row->name));
    for (size_t i = 0; i < row->nfiles; i++) {
        const char *number = file_number(p, row, row->file[i]);
        if (!number) {
            str_done(&all);
            return false;
        }
        str_addf(&all, "%s%s", all.len ? "+" : "", number);
        if (!row->one_device)
            device_make(p, row, number, next_index(p, row->name));
    }
    if (row->one_device && row->nfiles)
        device_make(p, row, arena_strdup(p->a, str_text(&all)), next_index(p, row->name));
    str_done(&all);
    return true;
}

bool gres_conf_apply(struct gpu_found *found, const struct gpu_found *driver,
                     const struct gres_conf *conf, const char *path, int32_t threads_per_core,
                     struct arena *a, struct str *counted, struct err *ret_err)
{
    struct gpu_found made = {0};
    struct applying p = {found, driver, &made, conf, path, threads_per_core, a, ret_err};
    bool gpus = false, files = true, ok = true;
    for (size_t i = 0; i < conf->n; i++)
        if (text_is(conf->row[i].name, "gpu")) {
            gpus = true;
            files &= conf->row[i].nfiles > 0; /* which are not named is known by files alone */
        }
    for (size_t i = 0; !gpus && i < found->gpu.n; i++) {
        struct gpu_row *g = gpu_found_add(&made);
        *g = found->gpu.v[i];
    }
    for (size_t i = 0; ok && i < conf->n; i++)
        ok = row_apply(&p, &conf->row[i], counted);
    made.by_lines = gpus;
    if (gpus && files && ok)
        made.closed = gpus_closed(found, driver, &made, a);
    vec_done(&found->gpu);
    *found = made;
    return ok;
}
