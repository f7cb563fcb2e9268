/* podman, without root: each task has a container of its own, on what the node's images are kept
 * in. It shares the node's network, processes and memory segments, and has the task's own streams
 * (the log driver "passthrough").
 *
 * Signals for a step reach each of its processes. podman and its monitor would pass them on, and
 * the program would have them three times, or the monitor would die of them: so podman starts the
 * container and goes (--detach), and the monitor is ended, too, as soon as the program runs. As
 * orphans come to us (PR_SET_CHILD_SUBREAPER), the program is then our own child.
 *
 * Control groups stay the step's: podman may make none (--cgroup-manager=cgroupfs, and a user may
 * not write in the step's). For root it would, elsewhere, and jobs of root's are refused. */
#include "cli/container/container.h"

#include "base/alloc.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TASK_FILE "task." /* and the task's number: it has begun a container */
#define PID_FILE  "pid."
#define OCI       "oci" /* which runtime podman has */
#define VARIABLES "image.env"
#define MESSAGES  "/dev/mqueue"

extern char **environ;

static const char *of_task(const struct container *c, const char *what)
{
    return arena_printf(c->a, "%s%s", what, c->task);
}

static const char *name_of(const struct container *c, const char *place, const char *task)
{
    return arena_printf(c->a, "remuda-%s-%s", place, task);
}

static void begin(words_of_program *w, const struct container *c)
{
    words_add(w, c->path, "--cgroup-manager=cgroupfs", NULL);
}

/* ---- making ---- */

static bool is_here(struct container *c, const char *reference)
{
    words_of_program w = {0};
    begin(&w, c);
    words_add(&w, "image", "exists", reference, NULL);
    bool here = tool_run(c, &w, NULL, NULL);
    vec_done(&w);
    return here;
}

static bool image_pull(struct container *c, struct err *e)
{
    words_of_program w = {0};
    const char *reference = container_image_reference(&c->wish.image, c->a);
    if (is_here(c, reference))
        return true;
    begin(&w, c);
    words_add(&w, "pull", "--quiet", reference, NULL);
    bool ok = tool_run(c, &w, NULL, e);
    vec_done(&w);
    return ok;
}

/* The image's own variables, a line each; those of a directory are none. */
static bool variables_ask(struct container *c, struct err *e)
{
    words_of_program w = {0};
    begin(&w, c);
    words_add(&w, "image", "inspect", "--format={{range .Config.Env}}{{println .}}{{end}}",
              container_image_reference(&c->wish.image, c->a), NULL);
    bool ok = tool_run(c, &w, VARIABLES, e);
    vec_done(&w);
    return ok;
}

static bool make(struct container *c, struct err *e)
{
    words_of_program w = {0};
    if (geteuid() == 0)
        return err_set(e, ERR_UNSUPPORTED,
                       "podman would start root's containers outside of the job's control groups: "
                       "submit the job as a user, or have apptainer on node %s",
                       c->host);
    begin(&w, c);
    words_add(&w, "info", "--format={{.Host.OCIRuntime.Name}}", NULL);
    bool ok = tool_run(c, &w, OCI, e);
    vec_done(&w);
    return ok && (c->wish.image.path || (image_pull(c, e) && variables_ask(c, e)));
}

static void container_remove(struct container *c, const char *name)
{
    words_of_program w = {0};
    begin(&w, c);
    words_add(&w, "rm", "--force", name, NULL);
    tool_run(c, &w, NULL, NULL);
    vec_done(&w);
}

static void forget(struct container *c, const char *place)
{
    struct container of = *c;
    of.dir = arena_printf(c->a, "%s/%s", c->top, place);
    DIR *d = opendir(of.dir);
    const struct dirent *entry;
    while (d && (entry = readdir(d)))
        if (text_starts(entry->d_name, TASK_FILE))
            container_remove(&of, name_of(c, place, entry->d_name + strlen(TASK_FILE)));
    if (d)
        closedir(d);
}

/* ---- what is seen inside ---- */

static void mounts_add(words_of_program *w, const struct container *c)
{
    const char *pmix = pmix_directory(), *home = getenv("HOME");
    for (size_t i = 0; i < c->wish.mounts; i++) {
        const struct container_mount *m = &c->wish.mount[i];
        struct str flags = STR_INIT;
        struct span rest = span_of(m->flags), flag;
        str_add(&flags, m->read_only ? "ro" : "rw");
        while (span_next(&rest, '+', &flag))
            if (flag.len && *flag.data != 'x') /* podman makes what is not there itself */
                str_addf(&flags, ",%.*s", (int)flag.len, flag.data);
        words_add(w, "--volume", NULL);
        word_addf(w, c->a, "%s:%s:%s", mount_source(c, m), m->to, str_text(&flags));
        str_done(&flags);
    }
    if (pmix)
        word_addf(w, c->a, "--volume=%s:%s", pmix, pmix);
    if (c->ask.mount_home == YES && home && !strchr(home, ':'))
        word_addf(w, c->a, "--volume=%s:%s", home, home);
}

static size_t devices_add(words_of_program *w, const struct container *c, const char *pattern)
{
    glob_t found;
    size_t n = 0;
    if (glob(pattern, 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc; i++)
        if (has_device(found.gl_pathv[i]) && access(found.gl_pathv[i], R_OK | W_OK) == 0) {
            word_addf(w, c->a, "--device=%s", found.gl_pathv[i]);
            n++;
        }
    globfree(&found);
    return n;
}

static bool is_described(const char *pattern)
{
    glob_t found;
    bool ok = glob(pattern, 0, NULL, &found) == 0;
    if (ok)
        globfree(&found);
    return ok;
}

/* All of them: which ones the task may open is the step's control group's to say, and which it
 * counts on stands in CUDA_VISIBLE_DEVICES, as outside. Where they are described (CDI), libraries
 * of the driver come with them. */
static void gpus_add(words_of_program *w, const struct container *c)
{
    if (has_device("/dev/nvidiactl") &&
        (is_described("/etc/cdi/nvidia*") || is_described("/var/run/cdi/nvidia*")))
        words_add(w, "--device=nvidia.com/gpu=all", NULL);
    else
        devices_add(w, c, "/dev/nvidia*");
    if (devices_add(w, c, "/dev/kfd"))
        devices_add(w, c, "/dev/dri/render*");
}

/* The descriptor over which MPI's tasks meet; -1 = none. */
static int meeting_fd(void)
{
    int64_t fd;
    const char *text = getenv("PMI_FD");
    return text && text_to_i64(text, 3, INT32_MAX, &fd) ? (int)fd : -1;
}

static bool has_variable(const char *lines, struct span name)
{
    struct span rest = span_of(lines), line;
    while (span_next(&rest, '\n', &line))
        if (line.len > name.len && line.data[name.len] == '=' &&
            memcmp(line.data, name.data, name.len) == 0)
            return true;
    return false;
}

/* podman reads more than names in what is no name: "A*" is all that begin with A. */
static bool is_name(struct span name)
{
    bool ok = name.len > 0 && (name.data[0] < '0' || name.data[0] > '9');
    for (size_t i = 0; ok && i < name.len; i++)
        ok = name.data[i] == '_' || (name.data[i] >= '0' && name.data[i] <= '9') ||
             ((name.data[i] | 32) >= 'a' && (name.data[i] | 32) <= 'z');
    return ok;
}

/* Names alone: podman takes the values from its environment, which is the job's. */
static void variables_add(words_of_program *w, const struct container *c)
{
    const char *image = container_text(c, VARIABLES);
    for (char **v = environ; *v; v++) {
        const char *equals = strchr(*v, '=');
        struct span name = {*v, equals ? (size_t)(equals - *v) : 0};
        if (is_name(name) && !has_variable(image, name))
            word_addf(w, c->a, "--env=%.*s", (int)name.len, name.data);
    }
    for (size_t i = 0; i < c->wish.variables; i++)
        if (getenv(c->wish.variable[i]))
            word_addf(w, c->a, "--env=%s", c->wish.variable[i]);
    if (meeting_fd() >= 0)
        words_add(w, "--preserve-fds=1", "--env=PMI_FD=3", NULL);
}

static void node_add(words_of_program *w, const struct container *c)
{
    words_add(w, "--network=host", "--pid=host", "--ulimit=host", "--security-opt=label=disable",
              NULL);
    if (access(MESSAGES, F_OK) == 0)
        words_add(w, "--ipc=host", NULL);
    else /* podman would refuse; memory that tasks share is what is wanted */
        words_add(w, "--ipc=private", "--volume=/dev/shm:/dev/shm", NULL);
    if (text_is(container_line(c, c->place, OCI), "crun")) /* no other can */
        words_add(w, "--group-add=keep-groups", NULL);
}

static void choices_add(words_of_program *w, const struct container *c)
{
    const struct container_ask *ask = &c->ask;
    if (ask->remap_root == YES)
        words_add(w, "--user=0:0", NULL);
    else
        words_add(w, "--userns=keep-id", NULL);
    if (ask->writable == NO)
        words_add(w, "--read-only", NULL);
    if (ask->workdir)
        words_add(w, "--workdir", ask->workdir, NULL);
    if (ask->entrypoint != YES)
        words_add(w, "--entrypoint=", NULL);
}

static void image_add(words_of_program *w, const struct container *c)
{
    if (!c->wish.image.path) {
        words_add(w, "--pull=never", container_image_reference(&c->wish.image, c->a), NULL);
        return;
    }
    words_add(w, "--rootfs", NULL);
    word_addf(w, c->a, "%s%s", c->wish.image.path, c->ask.writable == NO ? "" : ":O");
}

/* ---- the task ---- */

static pid_t parent_of(pid_t pid)
{
    char path[64], text[512];
    long parent = -1;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = '\0';
    const char *end = strrchr(text, ')'); /* of the name, which may have any letters */
    if (end && strlen(end) > 4)
        parent = strtol(end + 4, NULL, 10);
    return (pid_t)parent;
}

/* The program has ended, and its monitor was the one who saw it. */
static bool exit_ask(struct container *c, const char *name, int *ret_status, struct err *e)
{
    words_of_program w = {0};
    begin(&w, c);
    words_add(&w, "wait", name, NULL);
    bool ok = tool_run(c, &w, of_task(c, "exit."), e);
    long code = ok ? container_number(c, of_task(c, "exit.")) : -1;
    vec_done(&w);
    if (ok && code < 0)
        return err_set(e, ERR_UNAVAILABLE, "podman does not say how %s ended", name);
    *ret_status = code > 128 && code <= 128 + SIGRTMAX ? (int)code - 128 : (int)(code & 255) << 8;
    return ok;
}

static void wait_for(pid_t pid, int *ret_status, int how)
{
    while (waitpid(pid, ret_status, how) < 0 && errno == EINTR)
        ;
}

/* The monitor is stopped to see whether it has seen the program's end: only if it has not, it can
 * go, and the program is ours. */
static bool program_wait(struct container *c, const char *name, int *ret_status, struct err *e)
{
    pid_t program = (pid_t)container_number(c, of_task(c, PID_FILE));
    pid_t monitor = (pid_t)container_number(c, of_task(c, "monitor."));
    int status = 0;
    if (program <= 0 || monitor <= 0 || parent_of(monitor) != getpid())
        return exit_ask(c, name, ret_status, e);
    kill(monitor, SIGSTOP);
    wait_for(monitor, &status, WUNTRACED);
    bool unseen = WIFSTOPPED(status) && parent_of(program) == monitor;
    if (WIFSTOPPED(status)) {
        kill(monitor, unseen ? SIGKILL : SIGCONT);
        wait_for(monitor, &status, 0);
    }
    if (!unseen || parent_of(program) != getpid())
        return exit_ask(c, name, ret_status, e);
    /* Its own orphans are ours, too. */
    pid_t ended;
    do
        ended = waitpid(-1, ret_status, 0);
    while (ended != program && (ended > 0 || errno == EINTR));
    return ended == program || err_set(e, ERR_UNAVAILABLE, "%s is lost", name);
}

static bool run(struct container *c, int *ret_status, struct err *e)
{
    words_of_program w = {0};
    const char *name = name_of(c, c->place, c->task);
    bool terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    /* Before there is one: whoever finds it, if we are killed, takes the container away. */
    if (!container_file_write(c, of_task(c, TASK_FILE), "", e))
        return false;
    begin(&w, c);
    words_add(&w, "run", "--interactive", "--name", name, "--pidfile",
              container_file(c, of_task(c, PID_FILE)), "--conmon-pidfile",
              container_file(c, of_task(c, "monitor.")), NULL);
    if (terminal)
        words_add(&w, "--tty", NULL);
    else
        words_add(&w, "--detach", "--log-driver=passthrough", NULL);
    node_add(&w, c);
    choices_add(&w, c);
    mounts_add(&w, c);
    gpus_add(&w, c);
    variables_add(&w, c);
    image_add(&w, c);
    words_program(&w, c);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    bool ok = task_program_run(&w, meeting_fd(), ret_status, e);
    if (ok && !terminal && *ret_status == 0)
        ok = program_wait(c, name, ret_status, e);
    container_remove(c, name);
    unlink(container_file(c, of_task(c, PID_FILE)));
    unlink(container_file(c, of_task(c, TASK_FILE)));
    vec_done(&w);
    return ok;
}

const struct container_runtime container_podman = {
    .name = "podman",
    .images = 1u << IMAGE_OF_REGISTRY | 1u << IMAGE_DIRECTORY,
    .names = false,
    .make = make,
    .run = run,
    .forget = forget,
};
