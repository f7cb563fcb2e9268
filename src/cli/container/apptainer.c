/* Apptainer, and Singularity, which has the same words. A task's program is started with `exec`;
 * an image of a registry is fetched once into the place. With --container-name the image is
 * unpacked there, so that what is written stays; without, each task writes into memory of its own
 * on top of the image. */
#include "cli/container/container.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

static const char *source_of(const struct container *c)
{
    const struct container_image *i = &c->wish.image;
    return i->path ? i->path
                   : arena_printf(c->a, "docker://%s", container_image_reference(i, c->a));
}

static bool make(struct container *c, struct err *e)
{
    words_of_program w = {0};
    bool ok = true;
    words_add(&w, c->path, NULL);
    if (c->wish.name)
        words_add(&w, "build", "--sandbox", container_file(c, "root"), source_of(c), NULL);
    else
        words_add(&w, "pull", container_file(c, "image.sif"), source_of(c), NULL);
    if (c->wish.name || !c->wish.image.path)
        ok = tool_run(c, &w, NULL, e);
    vec_done(&w);
    return ok;
}

static void choices_add(words_of_program *w, const struct container *c)
{
    const struct container_ask *ask = &c->ask;
    if (has_device("/dev/nvidiactl"))
        words_add(w, "--nv", NULL);
    if (has_device("/dev/kfd"))
        words_add(w, "--rocm", NULL);
    if (ask->mount_home == NO)
        words_add(w, "--no-home", NULL);
    if (ask->mount_home == YES && getenv("HOME"))
        words_add(w, "--home", getenv("HOME"), NULL);
    if (ask->remap_root == YES)
        words_add(w, "--fakeroot", NULL);
    if (ask->writable != NO)
        words_add(w, c->wish.name ? "--writable" : "--writable-tmpfs", NULL);
    if (ask->workdir)
        words_add(w, "--pwd", ask->workdir, NULL);
}

static void mounts_add(words_of_program *w, const struct container *c)
{
    const char *pmix = pmix_directory();
    for (size_t i = 0; i < c->wish.mounts; i++) {
        const struct container_mount *m = &c->wish.mount[i];
        words_add(w, "--bind", NULL);
        word_addf(w, c->a, "%s:%s%s", mount_source(c, m), m->to, m->read_only ? ":ro" : "");
    }
    if (pmix)
        words_add(w, "--bind", pmix, NULL);
}

/* The image's value counts but where the job's was asked for. */
static void variables_set(const struct container *c)
{
    static const char *const prefixes[] = {"APPTAINERENV_", "SINGULARITYENV_"};
    for (size_t i = 0; i < c->wish.variables; i++) {
        const char *value = getenv(c->wish.variable[i]);
        for (size_t k = 0; value && k < sizeof prefixes / sizeof prefixes[0]; k++)
            setenv(arena_printf(c->a, "%s%s", prefixes[k], c->wish.variable[i]), value, 1);
    }
}

static const char *image_of(const struct container *c)
{
    if (c->wish.name)
        return container_file(c, "root");
    return c->wish.image.path ? c->wish.image.path : container_file(c, "image.sif");
}

static bool run(struct container *c, int *ret_status, struct err *e)
{
    words_of_program w = {0};
    variables_set(c);
    words_add(&w, c->path, c->ask.entrypoint == YES ? "run" : "exec", NULL);
    choices_add(&w, c);
    mounts_add(&w, c);
    words_add(&w, image_of(c), NULL);
    words_program(&w, c);
    bool ok = task_program_run(&w, -1, ret_status, e);
    vec_done(&w);
    return ok;
}

#define IMAGES                                                                                     \
    (1u << IMAGE_OF_REGISTRY | 1u << IMAGE_SIF | 1u << IMAGE_SQUASHFS | 1u << IMAGE_DIRECTORY)

const struct container_runtime container_apptainer = {
    .name = "apptainer", .images = IMAGES, .names = true, .make = make, .run = run};
const struct container_runtime container_singularity = {
    .name = "singularity", .images = IMAGES, .names = true, .make = make, .run = run};
