#include "cli/container/container.h"

#include "base/alloc.h"
#include "cli/program/commands.h"
#include "cli/program/give_out.h"
#include "cli/program/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATUS_NONE 127 /* as of a program that is not there */

/* In the order in which they are tried. */
static const struct container_runtime *const runtimes[] = {
    &container_enroot, &container_apptainer, &container_singularity, &container_podman};

/* ---- which runtime ---- */

static bool may_run(const struct container *c, const struct container_runtime *r)
{
    const struct container_image *i = &c->wish.image;
    bool has_image = i->name || i->path;
    return (!has_image || (r->images & 1u << i->kind)) && (!c->wish.name || r->names);
}

static const char *kind_words(const struct container *c)
{
    static const char *const words[] = {[IMAGE_OF_REGISTRY] = "images of registries",
                                        [IMAGE_SQUASHFS] = ".sqsh files",
                                        [IMAGE_SIF] = ".sif files",
                                        [IMAGE_DIRECTORY] = "directories"};
    return words[c->wish.image.kind];
}

static bool runtime_refuse(const struct container *c, const char *name, struct err *e)
{
    const struct container_runtime *r = NULL;
    for (size_t i = 0; i < ARRAY_LEN(runtimes); i++)
        if (text_is(runtimes[i]->name, name))
            r = runtimes[i];
    if (r && c->wish.name && !r->names)
        return err_set(e, ERR_UNSUPPORTED,
                       "--container-name: %s's containers end with their task; enroot or apptainer "
                       "on node %s would keep them",
                       name, c->host);
    if (r)
        return err_set(e, ERR_UNSUPPORTED, "--container-image=%s: %s does not run %s", c->ask.image,
                       name, kind_words(c));
    return err_set(e, ERR_UNSUPPORTED,
                   "REMUDA_CONTAINER_RUNTIME=%s: enroot, apptainer, singularity and podman are "
                   "known, or the path of one",
                   name);
}

/* REMUDA_CONTAINER_RUNTIME: a name, or a path that ends in one. */
static bool runtime_named(struct container *c, const char *asked, struct err *e)
{
    const char *slash = strrchr(asked, '/'), *name = slash ? slash + 1 : asked;
    for (size_t i = 0; i < ARRAY_LEN(runtimes); i++) {
        if (!text_is(runtimes[i]->name, name) || !may_run(c, runtimes[i]))
            continue;
        c->runtime = runtimes[i];
        c->path = slash ? asked : tool_find(name, c->a);
        if (c->path && access(c->path, X_OK) == 0)
            return true;
        return err_set(e, ERR_NOT_FOUND, "node %s has no %s", c->host, asked);
    }
    return runtime_refuse(c, name, e);
}

static bool runtime_find(struct container *c, const char *name, struct err *ret_err)
{
    const char *other = NULL;
    if (!text_empty(name))
        return runtime_named(c, name, ret_err);
    for (size_t i = 0; i < ARRAY_LEN(runtimes); i++) {
        const char *path = tool_find(runtimes[i]->name, c->a);
        if (path && may_run(c, runtimes[i])) {
            c->runtime = runtimes[i];
            c->path = path;
            return true;
        }
        other = path && !other ? runtimes[i]->name : other;
    }
    if (other)
        return runtime_refuse(c, other, ret_err);
    return err_set(ret_err, ERR_NOT_FOUND,
                   "node %s has nothing that runs containers: install enroot, apptainer or podman",
                   c->host);
}

/* ---- the order of things ---- */

/* What can be seen before anything is fetched. */
static bool sources_check(const struct container *c, struct err *e)
{
    const char *image = c->wish.image.path;
    struct stat st;
    if (image && stat(image, &st) != 0)
        return err_set(e, ERR_NOT_FOUND, "--container-image=%s: there is none on node %s", image,
                       c->host);
    if (image && c->wish.image.kind == IMAGE_DIRECTORY && !S_ISDIR(st.st_mode))
        return err_set(e, ERR_INVALID,
                       "--container-image=%s: a file that is an image ends in .sqsh or .sif",
                       image);
    for (size_t i = 0; i < c->wish.mounts; i++) {
        const char *from = mount_source(c, &c->wish.mount[i]);
        if (strpbrk(from, " \t\r\n\"'\\`$,:"))
            return err_set(e, ERR_INVALID,
                           "--container-mounts=%s: the work directory's name has blanks, quotes, "
                           "commas or colons: give the whole path of another",
                           c->wish.mount[i].from);
        if (stat(from, &st) != 0)
            return err_set(e, ERR_NOT_FOUND, "--container-mounts=%s: it is not there on node %s",
                           from, c->host);
    }
    return true;
}

static bool task_run(struct container *c, int *ret_status, struct err *e)
{
    if (!sources_check(c, e) || !container_top_open(c, e) ||
        !runtime_find(c, getenv("REMUDA_CONTAINER_RUNTIME"), e))
        return false;
    container_leftovers_remove(c);
    if (!container_place_enter(c, e))
        return false;
    bool ok = c->runtime->run(c, ret_status, e);
    container_place_leave(c);
    return ok;
}

int cmd_container(int argc, char **argv)
{
    struct arena *a = arena_new();
    struct container *c = arena_alloc(a, sizeof *c);
    struct err e = {0};
    int status;
    c->a = a;
    c->use_fd = -1;
    c->runtime_find = runtime_find;
    if (container_line_read(c, argc, argv, &status)) {
        if (task_run(c, &status, &e))
            task_end_as(status);
        program_error(CONTAINER_COMMAND, "%s", e.text);
        status = STATUS_NONE;
    }
    arena_free(a);
    return status;
}
