/* Options for services that a cluster of Remuda does not have: burst buffers, federations,
 * OCI bundles, power management. */
#include "script/options/values.h"

#include "base/alloc.h"

#define BUFFERS "there are no burst buffers; copy files in the script"
#define OCI                                                                                        \
    "bundles of OCI are not started; srun --container-image=IMAGE runs a program in an image, by " \
    "enroot, "                                                                                     \
    "apptainer or podman"
#define NEWER      "it is newer than Slurm 25.05, whose options are taken here"
#define FEDERATION "there is one cluster and no federation"
#define X11        "X11 is not forwarded; ssh -X to the node works where the site allows it"

#define ABSENT(name_, arg_, commands_, metavar_, doc_, why_)                                       \
    {                                                                                              \
        .name = name_, .arg = arg_, .commands = commands_, .support = SUPPORT_REFUSED,             \
        .metavar = metavar_, .doc = doc_, .why = why_                                              \
    }

/* Of no release of Slurm up to 25.05: its own prefixes stay what they are. */
#define FOREIGN(name_, arg_, commands_, metavar_, doc_, why_)                                      \
    {                                                                                              \
        .name = name_, .arg = arg_, .commands = commands_, .support = SUPPORT_REFUSED,             \
        .metavar = metavar_, .doc = doc_, .why = why_, .hidden = true                              \
    }

const struct option_row options_absent[] = {
    {.name = "batch",
     .arg = ARG_REQUIRED,
     .commands = CMD_SBATCH,
     .support = SUPPORT_REFUSED,
     .env = {"SBATCH_BATCH"},
     .metavar = "list",
     .doc = "features of the node that runs the script",
     .why = "the script runs on the first node of the job; --constraint holds for all nodes"},
    {.name = "bb",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .support = SUPPORT_REFUSED,
     .env = {"SBATCH_BURST_BUFFER", "SALLOC_BURST_BUFFER", "SLURM_BURST_BUFFER"},
     .metavar = "spec",
     .doc = "burst buffers",
     .why = BUFFERS},
    ABSENT("bbf", ARG_REQUIRED, CMD_ALL, "file", "burst buffers, described in a file", BUFFERS),
    {.name = "cluster-constraint",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .support = SUPPORT_REFUSED,
     .env = ENV3("CLUSTER_CONSTRAINT"),
     .metavar = "list",
     .doc = "features of clusters in a federation",
     .why = FEDERATION},
    {.name = "container",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .support = SUPPORT_REFUSED,
     .env = {"SBATCH_CONTAINER", "SALLOC_CONTAINER", "SRUN_CONTAINER"},
     .metavar = "path",
     .doc = "OCI container to run in",
     .why = OCI},
    {.name = "container-id",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .support = SUPPORT_REFUSED,
     .env = {"SBATCH_CONTAINER_ID", "SALLOC_CONTAINER_ID", "SRUN_CONTAINER_ID"},
     .metavar = "id",
     .doc = "name of the OCI container",
     .why = OCI},
    ABSENT("mcs-label", ARG_REQUIRED, CMD_ALL, "label", "security label",
           "there are no MCS labels; --exclusive=user keeps other users away"),
    FOREIGN("mem-update", ARG_REQUIRED, CMD_ALL, "size", "memory the job goes on with", NEWER),
    FOREIGN("resources", ARG_REQUIRED, CMD_ALL, "list", "sets of resources to choose from", NEWER),
    FOREIGN("running-over", ARG_REQUIRED, CMD_ALL, "list", "steps told by what runs longer", NEWER),
    FOREIGN("runtime", ARG_REQUIRED, CMD_ALL, "limit", "expected run time", NEWER),
    {.name = "power",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .support = SUPPORT_REFUSED,
     .env = ENV3("POWER"),
     .metavar = "flags",
     .doc = "power management",
     .why = "Slurm dropped it in 24.05"},
    {.name = "x11",
     .arg = ARG_OPTIONAL,
     .commands = CMD_ALL,
     .support = SUPPORT_REFUSED,
     .metavar = "all|first|last",
     .doc = "forward X11",
     .why = X11},
};
const size_t options_absent_n = ARRAY_LEN(options_absent);
