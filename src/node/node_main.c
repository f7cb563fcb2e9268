/* The node daemon: start, connection, heartbeats, end.
 *
 * Start: find out what the machine has (in a child), make the control groups, wait until no shepherds' parent of an earlier daemon can start
 * anything, tell the agent what is in the steps' directory, start a parent of shepherds, connect. From then on everything is an event of
 * the agent. Between heartbeats an idle daemon sleeps. */
#include "base/alloc.h"
#include "base/str.h"
#include "io/client.h"
#include "io/clock.h"
#include "io/daemon.h"
#include "io/files.h"
#include "model/gres.h"
#include "node/cgroup_base.h"
#include "node/node.h"
#include "node/node_daemon.h"
#include "wire/frame.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OWNER_MAX_AGE_US (10 * USEC_PER_MIN)

static const char usage[] =
    "Usage: remudad node --state DIR --name NAME [--virtual] [--foreground] [--verbose]\n"
    "       remudad node --print-config [--state DIR [--name NAME]]\n";

/* ---- options ---- */

static bool value_take(int argc, char **argv, int *i, const char *name, const char **ret, struct err *ret_err)
{
    size_t len = strlen(name);
    if (strncmp(argv[*i], name, len) != 0 || (argv[*i][len] != '\0' && argv[*i][len] != '='))
        return false;
    if (argv[*i][len] == '=')
        *ret = argv[*i] + len + 1;
    else if (*i + 1 < argc)
        *ret = argv[++*i];
    else
        err_set(ret_err, ERR_INVALID, "%s needs a value", name);
    return true;
}

static bool options_read(int argc, char **argv, struct node_options *o, struct err *ret_err)
{
    for (int i = 1; i < argc && !ret_err->code; i++) {
        if (value_take(argc, argv, &i, "--state", &o->state_dir, ret_err) ||
            value_take(argc, argv, &i, "--name", &o->name, ret_err))
            continue;
        if (text_is(argv[i], "--virtual"))
            o->is_virtual = true;
        else if (text_is(argv[i], "--foreground"))
            o->foreground = true;
        else if (text_is(argv[i], "--verbose"))
            o->verbose = true;
        else if (text_is(argv[i], "--print-config"))
            o->print_config = true;
        else if (text_is(argv[i], "--watch-gpus"))
            o->watch_gpus = true;
        else
            err_set(ret_err, ERR_INVALID, "unknown word \"%s\"", argv[i]);
    }
    if (ret_err->code || o->print_config || o->watch_gpus)
        return !ret_err->code;
    if (!o->state_dir)
        return err_set(ret_err, ERR_INVALID, "--state DIR is missing: the state directory of the cluster");
    if (!o->name || !*o->name || strchr(o->name, '/') || o->name[0] == '.')
        return err_set(ret_err, ERR_INVALID, "--name NAME is missing: the node's name in remuda.conf");
    return true;
}

/* A line for each device: what is known of it, as a comment that a configuration may keep. */
static void devices_print(const struct machine *m, struct arena *a)
{
    struct device_list list = {0};
    if (m->devices)
        devices_parse(m->devices, a, &list, NULL);
    for (size_t i = 0; i < list.n; i++) {
        const struct device *d = &list.v[i];
        printf("# %s %d: %s", d->kind, d->index, d->type ? d->type : "of no type");
        if (d->mem_mib)
            printf(", %lld MiB", (long long)d->mem_mib);
        if (d->uuid)
            printf(", %s", d->uuid);
        if (d->pci)
            printf(", PCI %s", d->pci);
        if (d->numa)
            printf(", NUMA node %s", d->numa);
        if (d->cpus)
            printf(", near CPUs %s", d->cpus);
        if (d->links)
            printf(", linked with %s", d->links);
        putchar('\n');
    }
}

static const char *gres_conf_of(const struct node_options *o, struct arena *a)
{
    return o->state_dir ? arena_printf(a, "%s/gres.conf", o->state_dir) : NULL;
}

static int config_print(const struct node_options *o)
{
    struct arena *a = arena_new();
    struct machine m;
    struct str line = STR_INIT;
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    host[strcspn(host, ".")] = '\0';
    machine_discover(&m, &(struct machine_ask){gres_conf_of(o, a), o->name ? o->name : host}, a);
    machine_config_line(&m, &line);
    puts(str_text(&line));
    devices_print(&m, a);
    if (m.remarks)
        fprintf(stderr, "remudad node: %s\n", m.remarks);
    if (m.error)
        fprintf(stderr, "remudad node: %s\n", m.error);
    int status = m.error ? 1 : 0;
    str_done(&line);
    arena_free(a);
    return status;
}

/* ---- what the node says of itself ---- */

/* A virtual node has whatever the configuration says; what it reports must not contradict that. */
static struct node self_of(const struct node_daemon *d)
{
    const struct machine *m = &d->machine;
    struct node n = {
        .name = d->options.name,
        .addr = m->hostname,
        .hostname = m->hostname,
        .is_virtual = d->options.is_virtual,
        .arch = m->arch,
        .os = m->os,
        .version = REMUDA_VERSION,
        .isolation = d->isolation,
        .boot_us = m->boot_us,
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
    return n;
}

static int32_t load_centi(void)
{
    double load = 0;
    return getloadavg(&load, 1) == 1 ? (int32_t)(load * 100) : 0;
}

static int64_t free_mem_mib(void)
{
    char line[128];
    long long kib = 0;
    FILE *f = fopen("/proc/meminfo", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemFree: %lld", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib / 1024;
}

/* ---- events ---- */

static void link_up(void *ctx, struct link *k)
{
    struct node_daemon *d = ctx;
    struct agent_event ev = {.kind = AGENT_UP, .now_us = clock_now_us()};
    (void)k;
    log_info(d->log, "connected to the controller");
    node_event(d, &ev);
}

static void link_down(void *ctx, struct link *k, const struct err *why)
{
    struct node_daemon *d = ctx;
    struct agent_event ev = {.kind = AGENT_DOWN, .now_us = clock_now_us()};
    (void)k;
    log_warning(d->log, "no connection to the controller%s%s; trying again", why->text[0] ? ": " : "",
                why->text);
    node_event(d, &ev);
}

static void link_frame(void *ctx, struct link *k, const struct frame *f)
{
    struct node_daemon *d = ctx;
    struct message m;
    struct err err = {0};
    struct arena *a = arena_new();
    (void)k;
    if (wire_decode(f, a, &m, &err)) {
        struct agent_event ev = {.kind = AGENT_MESSAGE, .now_us = clock_now_us(), .msg = &m};
        node_event(d, &ev);
    } else {
        log_error(d->log, "a message of the controller cannot be read: %s", err.text);
    }
    arena_free(a);
}

static const struct link_ops link_events = {.up = link_up, .frame = link_frame, .down = link_down};

static void shepherd_note(void *ctx, const struct note *n)
{
    node_note(ctx, n);
}

static void step_found(void *ctx, const struct note *ids)
{
    struct node_daemon *d = ctx;
    struct agent_event ev = {.kind = AGENT_FOUND, .now_us = clock_now_us(), .note = ids};
    log_info(d->log, "found step %lld of job %lld, attempt %lld", (long long)ids->step_id,
             (long long)ids->job_id, (long long)ids->attempt);
    node_event(d, &ev);
}

struct running_list {
    VEC(struct note) notes;
};

static void running_add(void *ctx, const struct note *n)
{
    struct running_list *list = ctx;
    vec_push(&list->notes, *n);
}

/* Shepherds that went without a word; must_have_begun: also those that were asked for and will never come. */
static void steps_look_after(struct node_daemon *d, bool must_have_begun)
{
    struct running_list list = {0};
    agent_each_running(d->agent, running_add, &list);
    for (size_t i = 0; i < list.notes.n; i++)
        herd_look_after(d->herd, &list.notes.v[i], must_have_begun);
    vec_done(&list.notes);
}

static void parent_lost(void *ctx)
{
    steps_look_after(ctx, true);
}

static void program_done(void *ctx, const struct note *step, bool is_epilog, bool ok, const char *text)
{
    struct node_daemon *d = ctx;
    struct agent_event ev = {.kind = is_epilog ? AGENT_EPILOG_DONE : AGENT_PROLOG_DONE,
                             .now_us = clock_now_us(),
                             .note = step,
                             .ok = ok,
                             .text = text};
    if (!ok)
        log_error(d->log, "job %lld: %s", (long long)step->job_id, text);
    node_event(d, &ev);
}

static void devices_event(struct node_daemon *d, enum agent_event_kind kind, const struct device_seen *seen,
                          size_t n)
{
    struct agent_event ev = {.kind = kind, .now_us = clock_now_us(), .seen = seen, .nseen = n};
    node_event(d, &ev);
}

static void devices_looked(void *ctx, const struct device_seen *seen, size_t n)
{
    devices_event(ctx, AGENT_LOOKED, seen, n);
}

static void device_broke(void *ctx, const struct device_seen *seen)
{
    devices_event(ctx, AGENT_DEVICE_FAILED, seen, 1);
}

/* At the pace of heartbeats also the look at shepherds that might be gone. */
static void woken(void *ctx)
{
    struct node_daemon *d = ctx;
    struct agent_event ev = {.kind = AGENT_WAKE,
                             .now_us = clock_now_us(),
                             .load_centi = load_centi(),
                             .free_mem_mib = free_mem_mib()};
    node_event(d, &ev);
    steps_look_after(d, false);
}

static void stop_asked(void *ctx)
{
    struct node_daemon *d = ctx;
    log_info(d->log, "stopping; %zu steps go on under their shepherds", agent_held_count(d->agent));
    loop_stop(d->loop);
}

static void log_rotated(void *ctx)
{
    struct node_daemon *d = ctx;
    struct err err = {0};
    if (!log_reopen(d->log, &err))
        log_error(d->log, "%s", err.text);
}

/* ---- start and end ---- */

static const char *executable_dir(struct arena *a)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    return arena_strdup(a, n > 0 ? path : ".");
}

/* Beside this program when installed or staged; in its own folder of a build directory. */
static const char *shepherd_program(struct arena *a)
{
    const char *beside = arena_printf(a, "%s/remuda-shepherd", executable_dir(a));
    return access(beside, X_OK) == 0 ? beside
                                     : arena_printf(a, "%s/../node/remuda-shepherd", executable_dir(a));
}

/* Where sbatch and the others are: DIR/bin of a staged tree, else beside this program. */
static const char *commands_dir(struct arena *a)
{
    const char *dir = executable_dir(a);
    const char *bin = arena_printf(a, "%s/bin", dir);
    return access(arena_printf(a, "%s/sbatch", bin), X_OK) == 0 ? bin : dir;
}

/* A number in a file of /proc; 0 if it cannot be read. */
static int64_t kernel_number(const char *path)
{
    long long n = 0;
    FILE *f = fopen(path, "re");
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

/* The groups of earlier starts are in NODE_DIR/cgroups: steps may still be in them. */
static const char *cgroups_make(struct node_daemon *d, const char *node_dir)
{
    struct cgroup_system here = cgroup_system_here();
    struct str known = STR_INIT;
    struct err err = {0};
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    const char *path = arena_printf(d->arena, "%s/cgroups", node_dir);
    const char *former = file_read_text(path, 1 << 20, d->arena, NULL);
    for (const char *c = node_dir; *c; c++)
        hash = (hash ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
    cgroup_bases_make(&d->groups, &here,
                      arena_printf(d->arena, "%s.%08x", d->options.name, (unsigned)(hash ^ hash >> 32)),
                      former);
    cgroup_bases_known(&d->groups, former, &known);
    if (!file_write_atomic(path, str_text(&known), known.len, 0600, &err))
        log_error(d->log, "%s", err.text);
    d->known_groups = arena_strdup(d->arena, str_text(&known));
    str_done(&known);
    d->isolation = arena_printf(
        d->arena, "%s%s",
        d->options.is_virtual ? "virtual: jobs are kept to no cores, and no devices are hidden; " : "",
        str_text(&d->groups.said));
    if (d->groups.complete)
        log_info(d->log, "%s", d->isolation);
    else
        log_warning(d->log, "%s", d->isolation);
    return arena_strdup(d->arena, str_text(&d->groups.text));
}

/* Numbers do not name an instance of a GPU. */
static const char *gpu_names(const char *devices, struct arena *a)
{
    struct device_list list = {0};
    struct str text = STR_INIT;
    if (devices)
        devices_parse(devices, a, &list, NULL);
    for (size_t i = 0; i < list.n; i++)
        if (text_is(list.v[i].kind, "gpu") && list.v[i].uuid && text_starts(list.v[i].uuid, "MIG-"))
            str_addf(&text, "%s%d=%s", text.len ? "," : "", list.v[i].index, list.v[i].uuid);
    const char *result = text.len ? arena_strdup(a, str_text(&text)) : NULL;
    str_done(&text);
    return result;
}

static void site_fill(struct node_daemon *d, const char *node_dir)
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
        .has_gpus = m->gres && strstr(m->gres, "gpu"),
        .gpu_names = gpu_names(m->devices, d->arena),
    };
    if (!d->options.is_virtual && d->groups.hides_devices)
        d->site.device_files = m->device_files;
}

static bool loop_begin(struct node_daemon *d, const char *node_dir, struct err *ret_err)
{
    static const struct herd_ops herd_events = {.note = shepherd_note, .parent_lost = parent_lost};
    static const struct gpu_watch_ops gpu_events = {.looked = devices_looked, .broke = device_broke};
    struct node self = self_of(d);
    d->loop = loop_new(ret_err);
    if (!d->loop)
        return false;
    agent_effects_init(&d->fx);
    d->turn = arena_new();
    d->agent = agent_new(&self, getpid(), (uint64_t)clock_now_us());
    d->wake = timer_new(d->loop, woken, d);
    d->owners = owners_new(d->loop, OWNER_MAX_AGE_US);
    d->gpus = gpu_watch_new(d->loop, d->log, self.devices, d->machine.device_files, &gpu_events, d);
    d->programs = programs_new(d->loop, program_done, d);
    d->herd = herd_new(d->loop, d->log, node_dir, shepherd_program(d->arena), d->known_groups, &herd_events,
                       d, ret_err);
    if (!d->herd)
        return false;
    herd_scan(d->herd, step_found);
    herd_groups_tidy(d->herd);
    if (!herd_serve_plans(d->herd, ret_err) || !loop_on_signal(d->loop, SIGTERM, stop_asked, d, ret_err) ||
        !loop_on_signal(d->loop, SIGINT, stop_asked, d, ret_err) ||
        !loop_on_signal(d->loop, SIGHUP, log_rotated, d, ret_err))
        return false;
    d->link = link_new(d->loop, state_socket_path(d->options.state_dir, d->arena), &link_events, d);
    return true;
}

static void loop_end(struct node_daemon *d)
{
    link_free(d->link);
    herd_free(d->herd);
    programs_free(d->programs);
    gpu_watch_free(d->gpus);
    owners_free(d->owners);
    timer_free(d->wake);
    loop_free(d->loop);
    if (d->agent) {
        agent_effects_done(&d->fx);
        arena_free(d->turn);
    }
    agent_free(d->agent);
    vec_done(&d->inputs);
}

static bool begin(struct node_daemon *d, const char *node_dir, struct err *ret_err)
{
    const char *log_path =
        arena_printf(d->arena, "%s/log/node-%s.log", d->options.state_dir, d->options.name);
    if (!dir_make(arena_printf(d->arena, "%s/log", d->options.state_dir), 0755, ret_err))
        return false;
    d->log = log_open(d->options.foreground ? NULL : log_path,
                      d->options.verbose ? LOG_IS_DEBUG : LOG_IS_INFO, ret_err);
    if (!d->log)
        return false;
    machine_discover(&d->machine,
                     &(struct machine_ask){d->options.is_virtual ? NULL : gres_conf_of(&d->options, d->arena),
                                           d->options.name},
                     d->arena);
    if (d->machine.error)
        return err_set(ret_err, ERR_INVALID, "%s", d->machine.error);
    if (d->machine.remarks)
        log_warning(d->log, "%s", d->machine.remarks);
    site_fill(d, node_dir);
    if (!loop_begin(d, node_dir, ret_err))
        return false;
    log_info(d->log, "node %s runs as process %ld: %lld CPUs, %lld MiB, %s", d->options.name, (long)getpid(),
             (long long)d->machine.cpus, (long long)d->machine.memory_mib,
             d->machine.gres ? d->machine.gres : "no devices");
    return true;
}

static int run(struct node_daemon *d)
{
    struct err err = {0};
    struct pid_file pid_file = {.fd = -1};
    char *state_dir = realpath(d->options.state_dir, NULL);
    if (state_dir)
        d->options.state_dir = arena_strdup(d->arena, state_dir);
    free(state_dir);
    const char *node_dir = arena_printf(d->arena, "%s/nodes/%s", d->options.state_dir, d->options.name);
    int ready = -1;
    bool ok = d->options.foreground || daemon_detach(&ready, &err);
    ok = ok && dir_make(node_dir, 0755, &err) &&
         pid_file_take(&pid_file, arena_printf(d->arena, "%s/node.pid", node_dir), &err) &&
         begin(d, node_dir, &err);
    if (ok) {
        daemon_ready(ready);
        loop_run(d->loop);
    } else {
        fprintf(stderr, "remudad node: %s\n", err.text);
        if (d->log)
            log_error(d->log, "%s", err.text);
    }
    loop_end(d);
    cgroup_bases_done(&d->groups);
    log_close(d->log);
    pid_file_drop(&pid_file);
    return ok ? 0 : 1;
}

int node_main(int argc, char **argv)
{
    struct node_daemon d = {0};
    struct err err = {0};
    if (argc > 1 && (text_is(argv[1], "--help") || text_is(argv[1], "-h"))) {
        fputs(usage, stdout);
        return 0;
    }
    if (!options_read(argc, argv, &d.options, &err)) {
        fprintf(stderr, "remudad node: %s\n%s", err.text, usage);
        return 2;
    }
    if (d.options.print_config)
        return config_print(&d.options);
    if (d.options.watch_gpus)
        return gpu_watch_main();
    d.arena = arena_new();
    int status = run(&d);
    arena_free(d.arena);
    return status;
}
