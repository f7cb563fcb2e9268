/* Containers as people ask for them, in the words of pyxis: which image, what of the node is seen
 * in it, under which name it is kept. The texts are read by srun, before anything is asked of the
 * cluster, and once more on the node by what starts the container. */
#ifndef REMUDA_MODEL_CONTAINER_H
#define REMUDA_MODEL_CONTAINER_H

#include "base/arena.h"
#include "base/err.h"
#include "model/tristate.h"

#include <stdbool.h>
#include <stddef.h>

#define CONTAINER_MOUNTS_MAX    128u
#define CONTAINER_VARIABLES_MAX 256u
#define CONTAINER_NAME_MAX      64u   /* letters of --container-name */
#define CONTAINER_TEXT_MAX      4000u /* bytes of a path, or of an image's name */

/* What was asked for, as it was typed; NULL and UNSET: nothing was said. */
struct container_ask {
    const char *image;   /* "nvcr.io#nvidia/pytorch:24.01", "/images/a.sqsh" */
    const char *mounts;  /* "/data:/data:ro,/scratch" */
    const char *workdir; /* a path inside */
    const char *name;    /* "work", "work:create" */
    const char *env;     /* names of variables: "A,B" */
    enum tristate mount_home, remap_root, writable, entrypoint;
};

enum container_image_kind { IMAGE_OF_REGISTRY, IMAGE_SQUASHFS, IMAGE_SIF, IMAGE_DIRECTORY };

/* Of a registry: the parts of [docker://][USER@][REGISTRY#]IMAGE[:TAG|@DIGEST]; a first part of
 * IMAGE that can only be a host ("nvcr.io/", "host:5000/", "localhost/") is the registry, too. */
struct container_image {
    enum container_image_kind kind;
    const char *path;     /* of a file or directory as typed; else NULL */
    const char *user;     /* NULL = none */
    const char *registry; /* NULL = Docker Hub */
    const char *name;     /* "nvidia/pytorch" */
    const char *tag;      /* NULL = latest; */
    const char *digest;   /* "sha256:…"; NULL = none */
};

struct container_mount {
    const char *from; /* absolute, or beginning with "./" or "../" */
    const char *to;   /* absolute */
    bool read_only;
    const char *flags; /* the others, as typed, joined by '+'; NULL = none */
};

enum container_use {
    CONTAINER_AUTO,   /* the one of that name, or a new one */
    CONTAINER_CREATE, /* a new one, in place of what has the name */
    CONTAINER_EXEC,   /* the one of that name */
};

/* What was asked for, read. Everything is in the arena. */
struct container_wish {
    struct container_image image; /* name and path NULL: none was given */
    struct container_mount mount[CONTAINER_MOUNTS_MAX];
    size_t mounts;
    const char *variable[CONTAINER_VARIABLES_MAX];
    size_t variables;
    const char *name; /* NULL = none */
    enum container_use use;
};

/* Was anything asked for? */
bool container_ask_any(const struct container_ask *ask);
/* Reads all of it. False with a sentence that begins with the option's name: a text that is none,
 * options that do not go together, or a container option without an image. */
bool container_ask_read(const struct container_ask *ask, struct arena *a,
                        struct container_wish *ret, struct err *ret_err);

/* "nvcr.io/nvidia/pytorch:24.01", as podman and Apptainer are told it: the registry is always
 * there, "docker.io/library/" before a name alone. In the arena. */
const char *container_image_reference(const struct container_image *i, struct arena *a);
/* "docker://user@nvcr.io#nvidia/pytorch:24.01", as enroot is told it. In the arena. */
const char *container_image_enroot(const struct container_image *i, struct arena *a);

#endif
