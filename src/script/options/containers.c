/* Options for containers, spelt as those of the plug-in pyxis: srun runs its tasks in an image.
 * What they say is read by model/grammar/container.c. */
#include "script/options/values.h"

#include "base/alloc.h"

#define GIVE_SRUN                                                                                  \
    "the script itself runs on the node; give it to srun in the script: srun "                     \
    "--container-image=IMAGE program"

/* Any text but none: the grammar has the sentences, and needs all options together. */
JOB_SETTER(set_container_text)
{
    (void)env;
    if (text_empty(value))
        return value_refuse(row, value, ret_err, "it needs a value");
    *(const char **)((char *)o + row->at) = arena_strdup(a, value);
    return true;
}

/* YES or NO, as the row has it in `min`. */
JOB_SETTER(set_container_choice)
{
    (void)value;
    (void)env;
    (void)a;
    (void)ret_err;
    *(enum tristate *)((char *)o + row->at) = (enum tristate)row->min;
    return true;
}

/* srun has it, each component its own; sbatch and salloc refuse it. */
#define BOTH(name_, arg_, metavar_, doc_, ...)                                                     \
    {.name = name_,                                                                                \
     .arg = arg_,                                                                                  \
     .commands = CMD_SRUN,                                                                         \
     .metavar = metavar_,                                                                          \
     .doc = doc_,                                                                                  \
     .component = true,                                                                            \
     __VA_ARGS__},                                                                                 \
    {                                                                                              \
        .name = name_, .arg = arg_, .commands = CMD_ALLOC, .support = SUPPORT_REFUSED,             \
        .metavar = metavar_, .doc = doc_, .why = GIVE_SRUN, .hidden = true                         \
    }
#define CONTAINER_TEXT(name_, metavar_, doc_, member)                                              \
    BOTH(name_, ARG_REQUIRED, metavar_, doc_, .set = set_container_text,                           \
         .at = AT(launch.container.member))
#define CONTAINER_CHOICE(name_, other, doc_, member, choice)                                       \
    BOTH(name_, ARG_NONE, NULL, doc_, .set = set_container_choice,                                 \
         .at = AT(launch.container.member), .min = choice, .rival = other)
#define CONTAINER_REFUSED(name_, arg_, metavar_, doc_, why_)                                       \
    {                                                                                              \
        .name = name_, .arg = arg_, .commands = CMD_ALL, .support = SUPPORT_REFUSED,               \
        .metavar = metavar_, .doc = doc_, .why = why_, .hidden = true                              \
    }

// clang-format off
const struct option_row options_containers[] = {
    CONTAINER_CHOICE("container-entrypoint", "no-container-entrypoint", "run the image's entry point", entrypoint, YES),
    CONTAINER_REFUSED("container-entrypoint-log", ARG_NONE, NULL, "show the output of the entry point",
                      "what the entry point prints is the task's output already"),
    CONTAINER_TEXT("container-env", "names", "variables in which the job's value counts, and not the image's", env),
    CONTAINER_TEXT("container-image", "image", "run the tasks in this image: [USER@][REGISTRY#]IMAGE[:TAG], or a .sqsh, .sif or directory", image),
    CONTAINER_CHOICE("container-mount-home", "no-container-mount-home", "the home directory is seen inside", mount_home, YES),
    CONTAINER_TEXT("container-mounts", "list", "what of the node is seen inside: SRC[:DST[:FLAG+FLAG]],...", mounts),
    CONTAINER_TEXT("container-name", "name", "keep the container by this name as long as the job lasts", name),
    CONTAINER_CHOICE("container-readonly", "container-writable", "nothing can be written inside", writable, NO),
    CONTAINER_CHOICE("container-remap-root", "no-container-remap-root", "be root inside", remap_root, YES),
    CONTAINER_REFUSED("container-save", ARG_REQUIRED, "path", "save the container afterwards",
                      "containers are not saved; build the image beforehand, or write to a mounted directory"),
    CONTAINER_CHOICE("container-writable", "container-readonly", "what is written inside is there until the step ends", writable, YES),
    CONTAINER_TEXT("container-workdir", "path", "work directory inside", workdir),
    CONTAINER_CHOICE("no-container-entrypoint", "container-entrypoint", "do not run the image's entry point", entrypoint, NO),
    CONTAINER_CHOICE("no-container-mount-home", "container-mount-home", "no home directory inside", mount_home, NO),
    CONTAINER_CHOICE("no-container-remap-root", "container-remap-root", "be the same user inside", remap_root, NO),
};
// clang-format on
const size_t options_containers_n = ARRAY_LEN(options_containers);
