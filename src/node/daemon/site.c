/* What the node says of itself, and what its launches find here: programs, control groups, limits
 * of the kernel. */
#include "base/list.h"
#include "io/build.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/process/release.h"
#include "model/grammar/gres.h"
#include "node/cgroup/base.h"
#include "node/cgroup/controllers.h"
#include "node/daemon/daemon.h"
#include "node/step/login_shell.h"
#include "node/step/shortage.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* A virtual node has whatever the configuration says; what it reports must not contradict that. */
struct node node_self(const struct node_daemon *d)
{
    const struct machine *m = &d->machine;
    struct node n = {
        .name = d->options.name,
        .addr = m->hostname,
        .hostname = m->hostname,
        .is_virtual = d->options.is_virtual,
        .arch = m->arch,
        .os = m->os,
        .version = build_name(),
        .isolation = d->isolation,
        .boot_us = m->boot_us,
        .life = d->life,
        .daemon_start_us = clock_now_us(),
    };
    if (d->options.is_virtual)
        return n;
    n.real_cpus = (int32_t)m->cpus;
    n.sockets = (int32_t)m->sockets;
    n.cores_per_socket = (int32_t)m->cores_per_socket;
    n.threads_per_core = (int32_t)m->threads_per_core;
    n.real_memory_mib = m->memory_mib;
    n.tmp_disk_mib = m->tmp_disk_mib;
    n.real_gres = m->gres;
    n.devices = m->devices;
    n.device_trouble = m->device_trouble;
    n.device_search = m->device_search;
    return n;
}

/* Where sbatch and the others are: DIR/bin of a staged tree, else beside this program. */
static const char *commands_dir(struct arena *a)
{
    const char *dir = release_dir(a);
    const char *bin = arena_printf(a, "%s/bin", dir);
    return access(arena_printf(a, "%s/sbatch", bin), X_OK) == 0 ? bin : dir;
}

/* A number in a file of /proc; 0 if it cannot be read. */
static int64_t kernel_number(const char *path)
{
    long long n = 0;
    FILE *f = shortage_fopen(path);
    if (f && fscanf(f, "%lld", &n) != 1)
        n = 0;
    if (f)
        fclose(f);
    return n;
}

static int64_t pids_possible(void)
{
    int64_t ids = kernel_number("/proc/sys/kernel/pid_max"),
            threads = kernel_number("/proc/sys/kernel/threads-max");
    return ids == 0 || (threads > 0 && threads < ids) ? threads : ids;
}

/* All files of GPUs that may have to be hidden from a job: "195:0 195:1". */
static const char *gpu_files(const struct machine *m, struct arena *a)
{
    struct str out = STR_INIT;
    struct span rest = span_of(m->device_files ? m->device_files : ""), one, number, file;
    while (span_next(&rest, ',', &one))
        if (span_next(&one, '=', &number))
            while (span_next(&one, '+', &file))
                str_addf(&out, "%s%.*s", out.len ? " " : "", (int)file.len, file.data);
    if (!text_empty(m->closed_files))
        str_addf(&out, "%s%s", out.len ? " " : "", m->closed_files);
    const char *text = arena_strdup(a, str_text(&out));
    str_done(&out);
    return text;
}

/* The groups of earlier starts are in NODE_DIR/cgroups: steps may still be in them. */
static const char *cgroups_make(struct node_daemon *d, const char *node_dir)
{
    struct cgroup_system here = cgroup_system_here();
    here.pids = pids_possible() / 4 * 3;
    struct str known = STR_INIT;
    struct err err = {0};
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    const char *path = arena_printf(d->arena, "%s/cgroups", node_dir);
    /* There may be thousands of these. */
    here.has_systemd = here.has_systemd && !d->options.is_virtual;
    here.is_virtual = d->options.is_virtual;
    here.devices = gpu_files(&d->machine, d->arena);
    const char *former = file_read_text(path, 1 << 20, d->arena, NULL);
    for (const char *c = node_dir; *c; c++)
        hash = (hash ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
    cgroup_bases_make(
        &d->groups, &here,
        arena_printf(d->arena, "%s.%08x", d->options.name, (unsigned)(hash ^ hash >> 32)), former);
    cgroup_bases_known(&d->groups, former, &known);
    if (!file_write_atomic(path, str_text(&known), known.len, 0600, &err))
        log_error(d->log, "%s", err.text);
    d->known_groups = arena_strdup(d->arena, str_text(&known));
    str_done(&known);
    d->isolation = arena_printf(
        d->arena, "%s%s",
        d->options.is_virtual ? "virtual: jobs are kept to no cores, and no devices are hidden; "
                              : "",
        str_text(&d->groups.said));
    if (d->groups.complete)
        log_info(d->log, "%s", d->isolation);
    else
        log_warning(d->log, "%s", d->isolation);
    return arena_strdup(d->arena, str_text(&d->groups.text));
}

/* Without it login shells find no commands of ours, as anywhere else. */
static void login_path_write(const struct node_daemon *d)
{
    struct str text = STR_INIT;
    struct err err = {0};
    login_path_text(d->site.bin_dir, &text);
    const char *path = arena_printf(d->arena, "%s/" LOGIN_PATH_FILE, d->site.node_dir);
    if (!file_write_atomic(path, text.data, text.len, 0644, &err))
        log_warning(d->log, "%s", err.text);
    str_done(&text);
}

/* What was drawn for the directory, and its number there: a copy of the directory, beside which the
 * first may live on, has another and draws anew. NULL with the reason in ret_err. */
static const char *directory_name(struct node_daemon *d, const char *node_dir, struct err *ret_err)
{
    struct err unread = {0};
    struct stat dir;
    uint64_t drawn;
    const char *path = arena_printf(d->arena, "%s/life", node_dir);
    const char *text = file_read_text(path, 128, d->arena, &unread);
    if (!text && unread.code != ERR_NOT_FOUND) {
        *ret_err = unread;
        return NULL;
    }
    if (stat(node_dir, &dir) != 0 || getrandom(&drawn, sizeof drawn, 0) != sizeof drawn) {
        err_set(ret_err, ERR_UNAVAILABLE, "%s: %s", node_dir, strerror(errno));
        return NULL;
    }
    const char *place = arena_printf(d->arena, " %llu\n", (unsigned long long)dir.st_ino);
    size_t n = text ? strcspn(text, " \n") : 0;
    bool is_copy = n > 0 && text[n] == ' ' && strcmp(text + n, place) != 0;
    if (n > 0 && !is_copy)
        return arena_printf(d->arena, "%.*s", (int)n, text);
    const char *name = arena_printf(d->arena, "%016llx", (unsigned long long)drawn);
    const char *line = arena_printf(d->arena, "%s%s", name, place);
    if (!file_write_atomic(path, line, strlen(line), 0644, ret_err))
        return NULL;
    d->life_is_new = !is_copy;
    return name;
}

/* "BOOT DIRECTORY": the kernel draws one at each boot, the other is drawn for a directory that has
 * none. `-` for the one that cannot be had, as on a disk that is full at the first start, or one
 * that cannot be read now: nothing is concluded from that. */
static const char *life_name(struct node_daemon *d, const char *node_dir)
{
    struct err err = {0};
    const char *boot = file_read_text("/proc/sys/kernel/random/boot_id", 128, d->arena, NULL);
    const char *dir = directory_name(d, node_dir, &err);
    if (!dir)
        log_warning(d->log, "a directory that is lost would not be noticed: %s", err.text);
    if (text_empty(boot))
        boot = "-";
    return arena_printf(d->arena, "%.*s %s", (int)strcspn(boot, "\n"), boot, dir ? dir : "-");
}

void node_site_fill(struct node_daemon *d, const char *node_dir)
{
    const struct machine *m = &d->machine;
    d->site = (struct launch_site){
        .node = d->options.name,
        .hostname = m->hostname ? m->hostname : d->options.name,
        .state_dir = d->options.state_dir,
        .node_dir = node_dir,
        .bin_dir = commands_dir(d->arena),
        .cgroups = cgroups_make(d, node_dir),
        .cpu_numbers = d->options.is_virtual ? NULL : m->cpu_numbers,
        .threads_per_core = (int32_t)m->threads_per_core,
        .cores_per_socket = (int32_t)m->cores_per_socket,
        .limits = {.memory_mib = m->memory_mib, .pids_max = pids_possible()},
        .is_root = geteuid() == 0,
    };
    d->life = life_name(d, node_dir);
    login_path_write(d);
    node_site_devices(d);
}

void node_site_devices(struct node_daemon *d)
{
    const struct machine *m = &d->machine;
    struct arena *a = arena_new();
    bool hides =
        !d->options.is_virtual && cgroup_bases_hide(&d->groups, geteuid() == 0, gpu_files(m, a));
    arena_free(a);
    d->site.has_gpus = m->gres && strstr(m->gres, "gpu");
    d->site.devices = m->devices;
    if (d->series)
        series_feed_devices(d->series, m->devices);
    d->site.names_all = m->names_all;
    d->site.names_alone = m->names_alone;
    d->site.device_files = hides ? m->device_files : NULL;
    d->site.closed_files = m->closed_files;
}
