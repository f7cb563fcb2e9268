/* enroot: the image becomes a .sqsh file (`import`), which is unpacked under a name of the place's
 * (`create`); `start` runs a program in what was unpacked, in any number of tasks at once. What is
 * seen inside stands in a file for each task (--conf).
 *
 * An unpacked image begins in /etc/rc: into the image's work directory, then its entry point. To
 * have the one without the other, as pyxis does, that file is read out of the .sqsh, and one of
 * ours takes its place (--rc). */
#include "cli/container/container.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RC "image.rc"

extern char **environ;

/* Of all containers of the user, on all machines. */
static const char *name_of(const struct container *c, const char *place)
{
    return arena_printf(c->a, "remuda_%s_%s", c->host, place);
}

/* A file for this task. The place of a name is shared by steps, each of which has a task 0. */
static const char *of_task(const struct container *c, const char *what)
{
    return arena_printf(c->a, "%s.%s.%s", what, c->step, c->task);
}

/* ---- making ---- */

static bool image_import(struct container *c, const char *file, struct err *e)
{
    words_of_program w = {0};
    words_add(&w, c->path, "import", "--output", file, container_image_enroot(&c->wish.image, c->a),
              NULL);
    bool ok = tool_run(c, &w, NULL, e);
    vec_done(&w);
    return ok;
}

/* Without it (an old unsquashfs) the image starts as enroot starts it, entry point and all. */
static void rc_extract(struct container *c, const char *file)
{
    words_of_program w = {0};
    const char *program = tool_find("unsquashfs", c->a);
    words_add(&w, program, "-cat", file, "etc/rc", NULL);
    if (program && !tool_run(c, &w, RC, NULL))
        unlink(container_file(c, RC));
    vec_done(&w);
}

static bool make(struct container *c, struct err *e)
{
    words_of_program w = {0};
    bool fetched = !c->wish.image.path;
    const char *file = fetched ? container_file(c, "image.sqsh") : c->wish.image.path;
    if (fetched && !image_import(c, file, e))
        return false;
    rc_extract(c, file);
    words_add(&w, c->path, "create", "--force", "--name", name_of(c, c->place), file, NULL);
    bool ok = tool_run(c, &w, NULL, e);
    if (fetched)
        unlink(file);
    vec_done(&w);
    return ok;
}

static void forget(struct container *c, const char *place)
{
    words_of_program w = {0};
    words_add(&w, c->path, "remove", "--force", name_of(c, place), NULL);
    struct container of = *c;
    of.dir = arena_printf(c->a, "%s/%s", c->top, place);
    tool_run(&of, &w, NULL, NULL);
    vec_done(&w);
}

/* ---- the start script ---- */

/* The image's own, with another work directory; or only into that, and to the program. */
static const char *rc_write(struct container *c, const char *image, struct err *e)
{
    struct str out = STR_INIT;
    const char *name = of_task(c, "rc");
    struct span rest = span_of(image), line;
    bool entry = c->ask.entrypoint == YES;
    str_add(&out, "#!/bin/sh\n");
    if (c->ask.workdir)
        str_addf(&out, "cd '%s' || exit 1\n", c->ask.workdir);
    while (span_next(&rest, '\n', &line)) {
        bool enters = line.len > 3 && memcmp(line.data, "cd ", 3) == 0;
        bool makes = line.len > 6 && memcmp(line.data, "mkdir ", 6) == 0;
        if (enters || makes ? !c->ask.workdir : entry)
            str_addf(&out, "%.*s\n", (int)line.len, line.data);
    }
    if (!entry)
        str_add(&out, "exec \"$@\"\n");
    bool ok = container_file_write(c, name, str_text(&out), e) &&
              (chmod(container_file(c, name), 0700) == 0 ||
               err_set(e, ERR_UNAVAILABLE, "cannot make %s a program", container_file(c, name)));
    str_done(&out);
    return ok ? container_file(c, name) : NULL;
}

/* False: it could not be written. *ret NULL: the image's own does. */
static bool rc_choose(struct container *c, const char **ret, struct err *e)
{
    const char *image = container_text(c, RC);
    *ret = NULL;
    if (c->ask.entrypoint == YES && !c->ask.workdir)
        return true;
    if (!image[0] && !c->ask.workdir)
        return true;
    if (!image[0] && c->ask.entrypoint == YES)
        return err_set(e, ERR_UNSUPPORTED,
                       "--container-entrypoint with --container-workdir needs an unsquashfs that "
                       "can read a file out of an image (4.5 or later) on node %s",
                       c->host);
    *ret = rc_write(c, image, e);
    return *ret != NULL;
}

/* ---- what is seen inside ---- */

static void mount_add(struct str *out, const char *from, const char *to, const char *flags)
{
    str_addf(out, "%s %s none x-create=auto,%s\n", from, to, flags);
}

/* Without either, the kernel would look for a file system of type "none". */
static bool binds(const char *flags)
{
    struct span rest = span_of(flags), flag;
    while (span_next(&rest, '+', &flag))
        if (span_is(flag, "bind") || span_is(flag, "rbind"))
            return true;
    return false;
}

static void mounts_write(struct container *c, struct str *out)
{
    const char *pmix = pmix_directory();
    for (size_t i = 0; i < c->wish.mounts; i++) {
        const struct container_mount *m = &c->wish.mount[i];
        struct str flags = STR_INIT;
        str_addf(&flags, "%s%s%s", m->read_only ? "ro" : "rw", binds(m->flags) ? "" : ",rbind",
                 m->flags ? "," : "");
        for (const char *f = m->flags; f && *f; f++)
            str_addc(&flags, *f == '+' ? ',' : *f);
        mount_add(out, mount_source(c, m), m->to, str_text(&flags));
        str_done(&flags);
    }
    if (pmix)
        mount_add(out, pmix, pmix, "rbind,rw");
}

/* What has lines cannot be told. */
static void variable_add(struct str *out, const char *assignment)
{
    if (!strchr(assignment, '\n') && strchr(assignment, '='))
        str_addf(out, "%s\n", assignment);
}

/* The job's variables, then the image's, then those of the job that count more. */
static bool conf_write(struct container *c, const char **ret, struct err *e)
{
    struct str out = STR_INIT;
    str_add(&out, "mounts() {\ncat <<'REMUDA_MOUNTS'\n");
    mounts_write(c, &out);
    str_addf(&out, "REMUDA_MOUNTS\n}\nenviron() {\ncat '%s'\n",
             container_file(c, of_task(c, "job")));
    str_addf(&out,
             "if [ -r \"${ENROOT_ROOTFS}/etc/environment\" ]; then\n"
             "cat \"${ENROOT_ROOTFS}/etc/environment\"\nfi\ncat '%s'\n}\n",
             container_file(c, of_task(c, "own")));
    const char *name = of_task(c, "conf");
    bool ok = container_file_write(c, name, str_text(&out), e);
    *ret = container_file(c, name);
    str_done(&out);
    return ok;
}

static bool variables_write(struct container *c, struct err *e)
{
    struct str job = STR_INIT, own = STR_INIT;
    /* Without a word of it the devices of NVIDIA's are not given to the container. */
    if (has_device("/dev/nvidiactl") && !getenv("NVIDIA_VISIBLE_DEVICES"))
        str_add(&job, "NVIDIA_VISIBLE_DEVICES=all\n");
    for (char **v = environ; *v; v++)
        variable_add(&job, *v);
    for (size_t i = 0; i < c->wish.variables; i++)
        if (getenv(c->wish.variable[i]))
            variable_add(&own, arena_printf(c->a, "%s=%s", c->wish.variable[i],
                                            getenv(c->wish.variable[i])));
    bool ok = container_file_write(c, of_task(c, "job"), str_text(&job), e) &&
              container_file_write(c, of_task(c, "own"), str_text(&own), e);
    str_done(&job);
    str_done(&own);
    return ok;
}

static void choice_set(const char *variable, enum tristate choice)
{
    if (choice != UNSET)
        setenv(variable, choice == YES ? "y" : "n", 1);
}

static const char *const task_files[] = {"rc", "job", "own", "conf"};

static bool run(struct container *c, int *ret_status, struct err *e)
{
    words_of_program w = {0};
    const char *rc, *conf;
    if (!rc_choose(c, &rc, e) || !variables_write(c, e) || !conf_write(c, &conf, e))
        return false;
    choice_set("ENROOT_MOUNT_HOME", c->ask.mount_home);
    choice_set("ENROOT_REMAP_ROOT", c->ask.remap_root);
    choice_set("ENROOT_ROOTFS_WRITABLE", c->ask.writable == NO ? NO : YES);
    words_add(&w, c->path, "start", "--conf", conf, NULL);
    if (rc)
        words_add(&w, "--rc", rc, NULL);
    if (c->ask.remap_root == YES)
        words_add(&w, "--root", NULL);
    if (c->ask.writable != NO)
        words_add(&w, "--rw", NULL);
    words_add(&w, name_of(c, c->place), NULL);
    words_program(&w, c);
    bool ok = task_program_run(&w, -1, ret_status, e);
    for (size_t i = 0; i < sizeof task_files / sizeof task_files[0]; i++)
        unlink(container_file(c, of_task(c, task_files[i])));
    vec_done(&w);
    return ok;
}

const struct container_runtime container_enroot = {
    .name = "enroot",
    .images = 1u << IMAGE_OF_REGISTRY | 1u << IMAGE_SQUASHFS,
    .names = true,
    .make = make,
    .run = run,
    .forget = forget,
};
