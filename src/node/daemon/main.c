/* The node daemon: start, connection, heartbeats, end.
 *
 * Start: find out what the machine has (in a child), make the control groups, wait until no
 * shepherds' parent of an earlier daemon can start anything, tell the agent what is in the steps'
 * directory, start a parent of shepherds, connect. From then on everything is an event of the
 * agent. Between heartbeats an idle daemon sleeps. */
#include "base/alloc.h"
#include "base/str.h"
#include "io/client/client.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/process/daemon.h"
#include "io/process/last_words.h"
#include "io/process/release.h"
#include "io/work.h"
#include "node/daemon/daemon.h"
#include "node/daemon/program_files.h"
#include "node/daemon/visit_files.h"
#include "node/hardware/gpu_time.h"
#include "node/node.h"
#include "wire/frame.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OWNER_MAX_AGE_US (10 * USEC_PER_MIN)
#define REFUSED_REST_US  (60 * USEC_PER_SEC)
#define LOOK_EVERY_US    (10 * USEC_PER_SEC) /* at what may be given to nobody yet */

static const char usage[] =
    "Usage: remudad node --state DIR --name NAME [--virtual] [--foreground] [--verbose]\n"
    "       remudad node --print-config [--state DIR [--name NAME]]\n";

/* ---- what the node says of itself ---- */

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
    struct agent_event ev = {.kind = AGENT_UP};
    (void)k;
    log_info(d->log, "connected to the controller");
    node_event(d, &ev);
}

static void link_down(void *ctx, struct link *k, const struct err *why)
{
    struct node_daemon *d = ctx;
    struct agent_event ev = {.kind = AGENT_DOWN};
    (void)k;
    series_feed_link(d->series, NULL);
    output_asker_link_down(d->outputs);
    log_warning(d->log, "no connection to the controller%s%s; trying again",
                why->text[0] ? ": " : "", why->text);
    node_event(d, &ev);
}

/* That this host was shut out, say: it joins again, which begins anew, or it never comes back. */
static void refusal_heed(struct link *k, const struct message *m)
{
    const struct msg_done *done = m->body;
    if (m->kind == MSG_DONE && done->refusal == REFUSE_ACCESS_DENIED)
        link_rest(k, REFUSED_REST_US);
}

static void link_frame(void *ctx, struct link *k, const struct frame *f)
{
    struct node_daemon *d = ctx;
    struct message m;
    struct err err = {0};
    struct arena *a = arena_new();
    if (!wire_decode(f, a, &m, &err)) {
        log_error(d->log, "a message of the controller cannot be read: %s", err.text);
    } else if (m.kind == MSG_SERIES_KEPT) {
        series_feed_kept(d->series, ((const struct msg_series_kept *)m.body)->number);
    } else if (m.kind == MSG_READ_OUTPUT) {
        output_asked(d->outputs, k, m.body);
    } else {
        struct agent_event ev = {.kind = AGENT_MESSAGE, .msg = &m};
        refusal_heed(k, &m);
        node_event(d, &ev);
        if (m.kind == MSG_NODE_WELCOME)
            series_feed_link(d->series,
                             ((const struct msg_node_welcome *)m.body)->series ? k : NULL);
    }
    arena_free(a);
}

static const struct link_ops link_events = {.up = link_up, .frame = link_frame, .down = link_down};

static void shepherd_note(void *ctx, const struct note *n)
{
    node_note(ctx, n);
}

static void step_sampled(void *ctx, struct span line)
{
    struct node_daemon *d = ctx;
    const struct msg_node_welcome *w = agent_welcome(d->agent);
    series_feed_line(d->series, line, !w || !w->no_gpu_use);
}

static void gpu_sampled(void *ctx, int32_t index, struct span values)
{
    struct node_daemon *d = ctx;
    series_feed_sampled(d->series, index, values);
}

static void step_found(void *ctx, const struct note *ids)
{
    struct node_daemon *d = ctx;
    struct agent_event ev = {.kind = AGENT_FOUND, .note = ids};
    log_info(d->log, "found step %lld of job %lld, attempt %lld", (long long)ids->step_id,
             (long long)ids->job_id, (long long)ids->attempt);
    node_event(d, &ev);
}

static void visit_found(void *ctx, const struct note *ids, bool prepared)
{
    struct node_daemon *d = ctx;
    struct agent_event ev = {.kind = AGENT_VISITED, .note = ids, .ok = prepared};
    log_info(d->log, "job %lld, attempt %lld, has been here, and has yet to be told to be gone",
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

/* Shepherds that went without a word; must_have_begun: also those that were asked for and will
 * never come. */
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

static void program_done(void *ctx, const struct note *step, bool is_epilog, bool ok,
                         const char *text)
{
    struct node_daemon *d = ctx;
    struct agent_event ev = {.kind = is_epilog ? AGENT_EPILOG_DONE : AGENT_PROLOG_DONE,
                             .note = step,
                             .ok = ok,
                             .text = text};
    if (!ok)
        log_error(d->log, "job %lld: %s", (long long)step->job_id, text);
    node_event(d, &ev);
}

static void devices_event(struct node_daemon *d, enum agent_event_kind kind,
                          const struct device_seen *seen, size_t n)
{
    struct agent_event ev = {.kind = kind, .seen = seen, .nseen = n};
    node_event(d, &ev);
}

static void devices_looked(void *ctx, const struct device_seen *seen, size_t n)
{
    devices_event(ctx, AGENT_LOOKED, seen, n);
}

static void gpus_used(void *ctx, const struct gpu_used *used, size_t n, const struct gpu_now *gpus,
                      size_t ngpus, bool util_known)
{
    struct agent_event ev = {.kind = AGENT_GPU_USED,
                             .used = used,
                             .nused = n,
                             .gpus = gpus,
                             .ngpus = ngpus,
                             .ok = util_known};
    node_event(ctx, &ev);
}

static void device_signed(void *ctx, const struct device_seen *seen)
{
    devices_event(ctx, AGENT_DEVICE_SIGN, seen, 1);
}

/* Whoever finds no lock would start another daemon of the node. Where nothing of the directory is
 * left, nothing that a shepherd leaves would be found. */
static void place_keep(struct node_daemon *d)
{
    struct err err = {0};
    if (pid_file_dir_gone(&d->pid_file)) {
        log_error(d->log, "the node's directory was removed, and what its steps had with it");
        loop_stop(d->loop);
    } else if (pid_file_keep(&d->pid_file, &err)) {
        log_warning(d->log, "%s was removed: it is there again", d->pid_file.path);
    } else if (err.code) {
        log_error(d->log, "%s", err.text);
    }
    herd_dir_keep(d->herd);
}

/* At the pace of heartbeats also the look at shepherds that might be gone, and at its place. */
static void woken(void *ctx)
{
    struct node_daemon *d = ctx;
    place_keep(d);
    struct agent_event ev = {
        .kind = AGENT_WAKE, .load_centi = load_centi(), .free_mem_mib = free_mem_mib()};
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

static bool loop_begin(struct node_daemon *d, const char *node_dir, struct err *ret_err)
{
    static const struct herd_ops herd_events = {
        .note = shepherd_note, .parent_lost = parent_lost, .series = step_sampled};
    static const struct gpu_watch_ops gpu_events = {
        .looked = devices_looked, .sign = device_signed, .used = gpus_used, .sampled = gpu_sampled};
    struct node self = node_self(d);
    d->loop = loop_new(ret_err);
    if (!d->loop)
        return false;
    agent_effects_init(&d->fx);
    d->turn = arena_new();
    d->agent = agent_new(&self, getpid(), (uint64_t)clock_now_us());
    agent_look_every(d->agent, gpu_time(LOOK_EVERY_US));
    d->wake = timer_new(d->loop, woken, d);
    d->owners = owners_new(d->loop, OWNER_MAX_AGE_US);
    d->gpus = gpu_watch_new(d->loop, d->log, self.devices, d->machine.device_files, &gpu_events, d);
    gpu_watch_steps_at(d->gpus, arena_printf(d->turn, "%s/steps", node_dir));
    d->series = series_feed_new(d->loop, d->log, d->options.name, node_dir, d->gpus);
    series_feed_devices(d->series, d->machine.devices);
    node_devices_watch(d);
    int left = programs_left_end(node_dir, d->life);
    if (left > 0)
        log_warning(d->log,
                    "a daemon that was killed had %d of the site's programs run: ended; "
                    "they run again for the jobs that are still here",
                    left);
    d->programs = programs_new(d->loop, node_dir, d->life, program_done, d);
    const char *shepherd = release_program("remuda-shepherd", "node", d->arena);
    d->outputs = output_asker_new(d->loop, shepherd);
    d->herd =
        herd_new(d->loop, d->log, node_dir, shepherd, d->known_groups, &herd_events, d, ret_err);
    if (!d->herd)
        return false;
    struct err unread = {0};
    if (!visit_files_scan(node_dir, visit_found, d, &unread))
        log_error(d->log, "%s", unread.text);
    herd_scan(d->herd, step_found);
    if (d->life_is_new && agent_held_count(d->agent) == 0)
        herd_lost_end(d->herd);
    herd_groups_tidy(d->herd);
    if (!herd_serve_plans(d->herd, ret_err) ||
        !loop_on_signal(d->loop, SIGTERM, stop_asked, d, ret_err) ||
        !loop_on_signal(d->loop, SIGINT, stop_asked, d, ret_err) ||
        !loop_on_signal(d->loop, SIGUSR1, node_gpus_release, d, ret_err) ||
        !loop_on_signal(d->loop, SIGHUP, log_rotated, d, ret_err))
        return false;
    node_gpus_releasable(d);
    node_gpus_release(d);
    d->link = link_new(d->loop, state_socket_path(d->options.state_dir, d->arena), &link_events, d);
    return true;
}

static void loop_end(struct node_daemon *d)
{
    link_free(d->link);
    herd_free(d->herd);
    programs_free(d->programs);
    output_asker_free(d->outputs);
    if (d->find)
        spawn_free(d->find);
    timer_free(d->find_timer);
    node_gpus_release_end(d);
    series_feed_free(d->series);
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
    last_words_prepare("remudad node", d->options.foreground ? NULL : log_path);
    struct machine_ask ask = {
        .gres_conf = d->options.is_virtual ? NULL : node_gres_conf(&d->options, d->arena),
        .node = d->options.name};
    if (!d->options.is_virtual)
        node_devices_known(d, node_dir, &ask);
    machine_discover(&d->machine, &ask, d->arena);
    if (d->machine.error)
        return err_set(ret_err, ERR_INVALID, "%s", d->machine.error);
    if (d->machine.remarks)
        log_warning(d->log, "%s", d->machine.remarks);
    node_devices_begin(d);
    if (d->machine.device_trouble)
        log_error(d->log, "%s", d->machine.device_trouble);
    node_site_fill(d, node_dir);
    if (!loop_begin(d, node_dir, ret_err))
        return false;
    log_info(d->log, "node %s runs as process %ld: %lld CPUs, %lld MiB, %s", d->options.name,
             (long)getpid(), (long long)d->machine.cpus, (long long)d->machine.memory_mib,
             d->machine.gres ? d->machine.gres : "no devices");
    return true;
}

static int run(struct node_daemon *d)
{
    struct err err = {0};
    char *state_dir = realpath(d->options.state_dir, NULL);
    if (state_dir)
        d->options.state_dir = arena_strdup(d->arena, state_dir);
    free(state_dir);
    const char *node_dir =
        arena_printf(d->arena, "%s/nodes/%s", d->options.state_dir, d->options.name);
    int ready = -1;
    bool ok = d->options.foreground || daemon_detach(&ready, &err);
    ok = ok && dir_make(node_dir, 0755, &err) &&
         pid_file_lock_dir(&d->pid_file, arena_printf(d->arena, "%s/node.pid", node_dir), &err) &&
         begin(d, node_dir, &err);
    if (ok) {
        work_prepare(d->loop);
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
    pid_file_drop(&d->pid_file);
    return ok ? 0 : 1;
}

int node_main(int argc, char **argv)
{
    struct node_daemon d = {.pid_file = {.fd = -1}};
    struct err err = {0};
    if (argc > 1 && (text_is(argv[1], "--help") || text_is(argv[1], "-h"))) {
        fputs(usage, stdout);
        return 0;
    }
    if (!node_options_read(argc, argv, &d.options, &err)) {
        fprintf(stderr, "remudad node: %s\n%s", err.text, usage);
        return 2;
    }
    if (d.options.print_config)
        return node_config_print(&d.options);
    if (d.options.watch_gpus)
        return gpu_watch_main();
    if (d.options.find)
        return node_devices_find_main(&d.options);
    d.arena = arena_new();
    int status = run(&d);
    arena_free(d.arena);
    return status;
}
