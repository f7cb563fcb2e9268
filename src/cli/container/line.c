#include "cli/container/container.h"

#include "base/alloc.h"
#include "cli/program/commands.h"
#include "cli/program/own_line.h"
#include "cli/program/program.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_UNREADABLE 2

/* YES or NO, as the row has it in `min`. */
static SETTER(set_choice)
{
    (void)value;
    (void)env;
    (void)a;
    (void)ret_err;
    *(enum tristate *)(void *)((char *)to + row->at) = (enum tristate)row->min;
    return true;
}

#define AT(member) offsetof(struct container_ask, member)
#define TEXT(name_, metavar_, doc_, member)                                                        \
    OPT_VALUE(name_, 0, metavar_, doc_, set_any_text, AT(member))
#define CHOICE(name_, doc_, member, choice)                                                        \
    {                                                                                              \
        .name = name_, .doc = doc_, .set = set_choice, .at = AT(member), .min = (choice)           \
    }

/* As srun's own (script/options/containers.c), which hands them on. */
static const struct option_row rows[] = {
    CHOICE("container-entrypoint", "run the image's entry point", entrypoint, YES),
    TEXT("container-env", "names", "variables in which the job's value counts", env),
    TEXT("container-image", "image", "the image", image),
    CHOICE("container-mount-home", "the home directory is seen inside", mount_home, YES),
    TEXT("container-mounts", "list", "what of the node is seen inside", mounts),
    TEXT("container-name", "name", "keep the container as long as the job lasts", name),
    CHOICE("container-readonly", "nothing can be written inside", writable, NO),
    CHOICE("container-remap-root", "be root inside", remap_root, YES),
    TEXT("container-workdir", "path", "work directory inside", workdir),
    CHOICE("container-writable", "what is written inside stays until the step ends", writable, YES),
    CHOICE("no-container-entrypoint", "not the image's entry point", entrypoint, NO),
    CHOICE("no-container-mount-home", "no home directory inside", mount_home, NO),
    CHOICE("no-container-remap-root", "be the same user inside", remap_root, NO),
    OWN_HELP,
};
OPTION_TABLE(container_options, rows, .usage = "remuda container [OPTIONS] -- PROGRAM [ARGUMENTS]",
             .about = "  What the tasks of srun --container-image=IMAGE run on their node.\n",
             .words = WORDS_END);

static const char *number_of(const char *variable)
{
    const char *text = getenv(variable);
    uint64_t n;
    return text && text_to_u64(text, UINT64_MAX, &n) ? text : NULL;
}

/* The step that this process is a task of. */
static bool task_take(struct container *c, struct err *e)
{
    const char *job = number_of("SLURM_JOB_ID"), *start = number_of("SLURM_JOB_START_TIME"),
               *restarts = number_of("SLURM_RESTART_COUNT");
    char host[HOST_NAME_MAX + 1] = "";
    c->step = number_of("SLURM_STEP_ID");
    c->task = number_of("SLURM_PROCID");
    if (!job || !c->step || !c->task)
        return err_set(e, ERR_INVALID,
                       "this runs as a task of srun --container-image, and this is none: "
                       "SLURM_JOB_ID, SLURM_STEP_ID and SLURM_PROCID say nothing");
    c->job = arena_printf(c->a, "%s-%s.%s", job, start ? start : "0", restarts ? restarts : "0");
    if (gethostname(host, sizeof host - 1) != 0 || !host[0] || strchr(host, '/'))
        snprintf(host, sizeof host, "localhost");
    c->host = arena_strdup(c->a, host);
    return true;
}

bool container_line_read(struct container *c, int argc, char *const argv[], int *ret_status)
{
    struct err e = {0};
    struct option_line line = {.table = &container_options, .to = &c->ask, .a = c->a};
    if (!own_line_read(CONTAINER_COMMAND, &line, argc, argv, ret_status))
        return false;
    if (line.rest_at >= argc) {
        program_error(CONTAINER_COMMAND, "give the program behind the options");
        *ret_status = STATUS_UNREADABLE;
        return false;
    }
    c->program = argv + line.rest_at;
    if (container_ask_read(&c->ask, c->a, &c->wish, &e) && task_take(c, &e))
        return true;
    *ret_status = own_line_failed(CONTAINER_COMMAND, &e);
    return false;
}
