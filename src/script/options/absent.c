/* Options for services that a cluster of Remuda does not have: burst buffers, federations,
 * container plug-ins, power management. */
#include "script/options/values.h"

#include "base/alloc.h"

#define BUFFERS "there are no burst buffers; copy files in the script"
#define OCI                                                                                        \
    "no OCI runtime is started for a job; start the container in the script: apptainer exec --nv " \
    "image.sif "                                                                                   \
    "program"
#define PYXIS                                                                                      \
    "it belongs to the SPANK plug-in pyxis, and there are no SPANK plug-ins; start the container " \
    "in the "                                                                                      \
    "script: apptainer exec --nv image.sif program"
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
    FOREIGN("container-entrypoint", ARG_NONE, CMD_ALL, NULL, "run the image's entry point", PYXIS),
    FOREIGN("container-entrypoint-log", ARG_NONE, CMD_ALL, NULL,
            "show the output of the entry point", PYXIS),
    FOREIGN("container-env", ARG_REQUIRED, CMD_ALL, "names",
            "variables kept from the job's environment", PYXIS),
    FOREIGN("container-image", ARG_REQUIRED, CMD_ALL, "image", "container image to run in", PYXIS),
    FOREIGN("container-mount-home", ARG_NONE, CMD_ALL, NULL, "home directory inside", PYXIS),
    FOREIGN("container-mounts", ARG_REQUIRED, CMD_ALL, "list", "directories inside", PYXIS),
    FOREIGN("container-name", ARG_REQUIRED, CMD_ALL, "name", "name to keep the container by",
            PYXIS),
    FOREIGN("container-readonly", ARG_NONE, CMD_ALL, NULL, "image cannot be written", PYXIS),
    FOREIGN("container-remap-root", ARG_NONE, CMD_ALL, NULL, "root inside", PYXIS),
    FOREIGN("container-save", ARG_REQUIRED, CMD_ALL, "path", "save the container afterwards",
            PYXIS),
    FOREIGN("container-workdir", ARG_REQUIRED, CMD_ALL, "path", "work directory inside", PYXIS),
    FOREIGN("container-writable", ARG_NONE, CMD_ALL, NULL, "image can be written", PYXIS),
    FOREIGN("no-container-entrypoint", ARG_NONE, CMD_ALL, NULL, "not the image's entry point",
            PYXIS),
    FOREIGN("no-container-mount-home", ARG_NONE, CMD_ALL, NULL, "no home directory inside", PYXIS),
    FOREIGN("no-container-remap-root", ARG_NONE, CMD_ALL, NULL, "same user inside", PYXIS),
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
