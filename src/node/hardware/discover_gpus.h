/* What the makers' libraries tell of a machine's GPUs, before it is written as text. In the child
 * that looks (machine.h). */
#ifndef REMUDA_NODE_HARDWARE_DISCOVER_GPUS_H
#define REMUDA_NODE_HARDWARE_DISCOVER_GPUS_H

#include "base/arena.h"
#include "base/idset.h"
#include "base/str.h"
#include "base/vec.h"
#include "model/grammar/gres.h"
#include "model/settings/gres_conf.h"

#define GPU_PEERS_MAX 32u

struct gpu_row {
    /* Index and links are filled by gpus_finish; cpus are the system's numbers until then. */
    struct device d;
    uint32_t vendor_index; /* its place in its maker's list; UINT32_MAX = not known, or none */
    const char *files;     /* "195:0", "195:0+241:12+241:13"; NULL = not known */
    /* PCI addresses at the other ends of its links: of GPUs, or of switches. */
    const char *peer[GPU_PEERS_MAX];
    size_t npeers;
    bool said_links; /* gres.conf says d.links */
    bool is_hole;    /* no device: one that cannot be read, whose number nobody else gets */
};

struct gpu_found {
    VEC(struct gpu_row) gpu;
    bool by_lines;      /* gres.conf says which GPUs there are */
    const char *closed; /* files of GPUs that gres.conf does not name: "195:0 241:7"; NULL = none */
};

struct gpu_row *gpu_found_add(struct gpu_found *f);     /* valid until the next */
void remark_add(struct str *remarks, const char *text); /* "; " between remarks */
bool gpu_is_instance(const struct device *d);           /* of a GPU of NVIDIA's */

/* CPUs near a device, "0-3,6", in the arena; NULL = none. Without steps ("0-6:2"), whose ':' stands
 * between the parts of a device. */
const char *gpu_cpus_text(const struct idset *cpus, struct arena *a);

/* ---- discover_files.c ---- */

/* The device that a line with these files ("195:0+241:7") means: the one whose files they are, else
 * the only one whose own file, or file for displays, is among them. NULL: none, or several. */
const struct gpu_row *gpu_of_files(const struct gpu_found *f, const char *files);
/* Those of `more` that are not among them added; in the arena. */
const char *gpu_files_with(const char *files, const char *more, struct arena *a);
/* Is the row the device that was known with these files (NULL = not known)? exactly: they are the
 * same, else of a whole GPU all of the one are among the other, as who looks without the maker's
 * library finds fewer. */
bool gpu_same_files(const struct gpu_row *row, const struct device *known, const char *files,
                    bool exactly);
/* Files of what was found, or stands in the driver's list, and that none of `made` names: "195:0
 * 241:7", those of an instance with its GPU's; NULL = none. */
const char *gpus_closed(const struct gpu_found *found, const struct gpu_found *driver,
                        const struct gpu_found *made, struct arena *a);
/* What must be called otherwise than by its number, "0=GPU-a,1=GPU-b,2=0": instances, and the
 * others where numbers are not those that the makers' runtimes count. alone: a job sees its own
 * only, and counts these. NULL = nothing. */
const char *gpus_names(const struct gpu_found *f, bool alone, struct arena *a);

/* gres.conf over what was found and numbered, beside what the driver lists: `found` becomes what
 * the node has; `counted` gets what has no devices ("nic:2"). False with an error that names file
 * and line. */
bool gres_conf_apply(struct gpu_found *found, const struct gpu_found *driver,
                     const struct gres_conf *conf, const char *path, int32_t threads_per_core,
                     struct arena *a, struct str *counted, struct err *ret_err);
/* Numbers them, and drops what is a hole. Those of `known` (as model/grammar/gres.h writes devices;
 * NULL = none) that are still there keep the numbers they have there, also what the makers'
 * libraries did not know then, by `known_files` (device_files of machine.h; NULL = not known);
 * others get numbers that are none of these. `cpu_numbers` are the system's numbers of the node's
 * CPUs (machine.h): near CPUs are from now on said as the node numbers them. */
void gpus_number(struct gpu_found *f, const char *known, const char *known_files,
                 const char *cpu_numbers, struct arena *a);
/* The same for what gres_conf_apply made of lines of gpu, if it did: what was known keeps its
 * number wherever its line stands now; the others are numbered as their lines stand. Links= of
 * lines are said by these numbers. */
void gpus_number_lines(struct gpu_found *f, const char *known, const char *known_files,
                       struct arena *a);
/* Says of each which others it is linked with, by the numbers they have now. */
void gpus_link(struct gpu_found *f, struct arena *a);

/* One maker's devices each. `trouble` gets what keeps devices from being used; `search`, if there
 * is none of that and no device either, what was looked for. */
void discover_nvidia(struct gpu_found *f, struct arena *a, struct str *trouble, struct str *search);
/* The GPUs that NVIDIA's driver lists itself, whose library is not asked: address, type, file,
 * place. */
void nvidia_listed(struct gpu_found *f, struct arena *a);
/* Adds them, holes for places without one. trouble: why some that are there cannot be used; search:
 * why there are none. */
void discover_amd(struct gpu_found *f, struct arena *a, struct str *trouble, struct str *search);

/* "NVIDIA A100-SXM4-40GB MIG 1g.5gb" → "a100_1g.5gb", "Aqua Vanjaram [Instinct MI300X]" → "mi300x";
 * "gpu" if the name has no model. */
void gpu_type_of(const char *name, char *ret, size_t size);
/* The type of an AMD accelerator by its PCI device number, 0x74a1 → "mi300x"; NULL: not one that is
 * known here. */
const char *amd_type_of_device(uint32_t device);

#endif
