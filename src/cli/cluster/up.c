/* remuda up: from nothing to a running cluster on this machine.
 *
 * The state directory is made, a configuration is written if there is none (this machine as it is,
 * or N virtual nodes), and whatever does not run yet is started: the controller, then a node daemon
 * for each node of this host. Running it again starts only what is missing, so it is also the way
 * to mend a cluster after a crash. The daemons belong to the directory: several clusters run side
 * by side. */
#include "cli/cluster/up.h"

#include "base/alloc.h"
#include "base/hostlist.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/daemons.h"
#include "cli/program/host_dir.h"
#include "cli/program/own_line.h"
#include "cli/program/program.h"
#include "io/build.h"
#include "io/process/program_list.h"
#include "model/grammar/gres.h"
#include "model/limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define START_TIMEOUT_MS 15000
#define LOOK_AGAIN_MS    1000
#define LOCK_AGAIN_MS    100
#define READY_LOOKS      4 /* 20 ms apart: what was killed holds its lock until it is gone */

static SETTER(set_up_gres)
{
    struct gres_list gres;
    return gres_parse_node(value, a, &gres, ret_err) &&
           set_any_text(to, row, value, env, a, ret_err);
}

static const struct option_row rows[] = {
    OPT_VALUE("cpus", 0, "n", "CPUs of each node", set_own_number, offsetof(struct up_line, cpus),
              .min = 1, .max = LIMIT_CPUS_PER_NODE),
    OPT_VALUE("gres", 0, "list", "generic resources of each node: gpu:v100:2", set_up_gres,
              offsetof(struct up_line, gres)),
    OPT_VALUE("mem", 0, "size", "memory of each node: 4G, 512M", set_mib,
              offsetof(struct up_line, mem_mib), .min = 1),
    OPT_VALUE("name", 0, "cluster", "the cluster's name; else remuda", set_any_text,
              offsetof(struct up_line, cluster_name)),
    OPT_VALUE("nodes", 0, "n", "virtual nodes on this machine, each with its own node daemon",
              set_own_number, offsetof(struct up_line, nodes), .min = 1, .max = 4096),
    OPT_FLAG("quiet", 'q', "say only what is wrong", offsetof(struct up_line, quiet)),
    OPT_FLAG("restart", 0,
             "stop the daemons that run before, so that all are of this build; jobs run on",
             offsetof(struct up_line, restart)),
    OWN_STATE(struct up_line),
    OPT_FLAG("verbose", 'v', "tell of each setting that has no effect",
             offsetof(struct up_line, verbose)),
    OWN_HELP,
};
OPTION_TABLE(up_options, rows, .usage = "remuda up [OPTIONS]",
             .about = "  Starts a cluster on this machine, or what of it does not run. Without "
                      "--nodes: this machine as it is.\n",
             .words = WORDS_MIXED, .word = own_word_refuse);

static bool shape_is_given(const struct option_line *line)
{
    return option_line_has(line, "nodes") || option_line_has(line, "cpus") ||
           option_line_has(line, "mem") || option_line_has(line, "gres");
}

/* ---- daemons -------------------------------------------------------------------------------- */

static bool dir_make(const char *path, mode_t mode, struct err *ret_err)
{
    char *copy = xstrdup(path);
    bool ok = true;
    for (char *at = copy + 1; ok && *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        ok = mkdir(copy, 0755) == 0 || errno == EEXIST;
        *at = '/';
    }
    ok = ok && (mkdir(copy, mode) == 0 || errno == EEXIST);
    if (!ok)
        err_set(ret_err, ERR_UNAVAILABLE, "cannot make the directory %s: %s", path,
                strerror(errno));
    free(copy);
    return ok;
}

static void sleep_ms(long ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static bool controller_answers(const char *state_dir)
{
    struct arena *a = arena_new();
    struct client *c = client_open(state_dir, NULL);
    struct msg_daemon ping = {.action = DAEMON_PING};
    struct message answer;
    bool ok = c && client_call(c, MSG_DAEMON, &ping, 1000, a, &answer, NULL);
    if (c)
        client_close(c);
    arena_free(a);
    return ok;
}

static bool controller_start(const char *state_dir, struct arena *a, bool *ret_started,
                             struct err *ret_err)
{
    if (controller_answers(state_dir))
        return true;
    const char *log = controller_log_path(state_dir, a);
    char *argv[] = {(char *)(uintptr_t)program_sibling("remudad", a), "controller", "--state",
                    (char *)(uintptr_t)state_dir, NULL};
    /* What was just killed holds its lock until the kernel has cleaned up after it. */
    struct err deed = {0};
    bool busy = false;
    for (int waited = 0; waited <= START_TIMEOUT_MS; waited += 20) {
        if (waited % LOCK_AGAIN_MS == 0)
            busy = program_deed(controller_pid_path(state_dir, a), &deed);
        if (waited % LOCK_AGAIN_MS == 0 && !busy &&
            !daemon_ensure(argv, controller_pid_path(state_dir, a), log, ret_started, ret_err))
            return false;
        if (controller_answers(state_dir))
            return true;
        sleep_ms(20);
    }
    if (busy)
        return err_set(ret_err, deed.code, "%s; nothing starts before", deed.text);
    return err_set(ret_err, ERR_UNAVAILABLE, "the controller does not answer; see %s", log);
}

static bool node_start(const char *state_dir, const struct node *n, struct arena *a,
                       bool *ret_started, struct err *ret_err)
{
    char *argv[] = {(char *)(uintptr_t)program_sibling("remudad", a),
                    "node",
                    "--state",
                    (char *)(uintptr_t)state_dir,
                    "--name",
                    (char *)(uintptr_t)n->name,
                    n->is_virtual ? "--virtual" : NULL,
                    NULL};
    return daemon_ensure(argv, node_pid_path(state_dir, n->name, a),
                         node_log_path(state_dir, n->name, a), ret_started, ret_err);
}

struct node_count {
    struct arena *a; /* of the texts */
    size_t all, ready;
    struct hostlist silent;          /* have not reported */
    const char *complaint, *trouble; /* of one of them */
};

static void node_count_row(void *ctx, const void *record)
{
    struct node_count *count = ctx;
    const struct node *n = record;
    count->all++;
    count->ready += n->responding && n->state == NODE_UP;
    if (!n->responding)
        hostlist_add(&count->silent, n->name);
    if (!text_empty(n->complaint))
        count->complaint = n->complaint;
    if (!text_empty(n->device_trouble))
        count->trouble = arena_printf(count->a, "node %s: %s", n->name, n->device_trouble);
}

static struct node_count nodes_count(const char *state_dir, struct arena *a)
{
    struct node_count count = {.a = a, .silent = HOSTLIST_INIT};
    struct client *c = client_open(state_dir, NULL);
    struct msg_query q = {.what = QUERY_NODES,
                          .fields = "name,state,responding,complaint,device_trouble"};
    struct msg_done done;
    if (c) {
        client_query(c, &q, &node_fields, a, node_count_row, &count, &done, NULL);
        client_close(c);
    }
    return count;
}

static bool nodes_start(const struct up_line *o, const struct config *config, struct arena *a,
                        size_t *ret_here, bool *ret_started, struct err *ret_err)
{
    char hostname[256] = "";
    gethostname(hostname, sizeof hostname - 1);
    for (size_t i = 0; i < config->nnodes; i++) {
        if (!node_is_here(&config->node[i], hostname))
            continue;
        ++*ret_here;
        if (!node_start(o->state_dir, &config->node[i], a, ret_started, ret_err))
            return false;
    }
    return true;
}

/* Waits until `here` nodes have reported. A daemon that was killed a moment ago may have seemed to
 * run, also to the controller, and the controller to us: what is gone meanwhile is started. */
static struct node_count nodes_wait(const struct up_line *o, const struct config *config,
                                    size_t here, struct arena *a)
{
    struct node_count count = {.silent = HOSTLIST_INIT};
    int ready_looks = 0;
    for (int waited = 0; waited < START_TIMEOUT_MS; waited += 20) {
        size_t again = 0;
        bool started = false;
        hostlist_done(&count.silent);
        count = nodes_count(o->state_dir, a);
        bool ready = count.ready >= here;
        if (ready || waited % LOOK_AGAIN_MS == 0) {
            controller_start(o->state_dir, a, &started, NULL);
            nodes_start(o, config, a, &again, &started, NULL);
        }
        ready_looks = ready && !started ? ready_looks + 1 : 0;
        if (ready_looks == READY_LOOKS)
            break;
        sleep_ms(20);
    }
    return count;
}

static void program_warn(void *ctx, const char *sentence)
{
    (void)ctx;
    fprintf(stderr, "remuda: warning: %s\n", sentence);
}

/* A node that ran in this directory, and is none of this machine by the name that it has now. */
static void renamed_say(const struct up_line *o, const struct config *config,
                        const struct node_count *count, const char *hostname, struct arena *a)
{
    for (size_t i = 0; i < config->nnodes; i++) {
        const struct node *n = &config->node[i];
        const char *life = arena_printf(a, "%s/nodes/%s/life", o->state_dir, n->name);
        if (node_is_here(n, hostname) || !hostlist_has(&count->silent, n->name) ||
            access(life, F_OK) != 0)
            continue;
        fprintf(stderr,
                "remuda: warning: node %s ran here while this machine was called %s, which is %s "
                "now: NodeHostname=%s on its line of %s lets it run again, as does its former "
                "name\n",
                n->name, n->hostname ? n->hostname : n->name, hostname, hostname,
                cluster_conf_path(o->state_dir, a));
    }
}

#define NAMES_SAID 200 /* bytes */

/* Nodes of other machines come when these have joined. */
static void others_print(const struct config *config, const struct node_count *count)
{
    char hostname[256] = "";
    struct hostlist names = HOSTLIST_INIT;
    struct str folded = STR_INIT;
    gethostname(hostname, sizeof hostname - 1);
    for (size_t i = 0; i < config->nnodes; i++)
        if (!node_is_here(&config->node[i], hostname) &&
            hostlist_has(&count->silent, config->node[i].name))
            hostlist_add(&names, config->node[i].name);
    hostlist_fold(&names, &folded);
    if (names.n > 0)
        printf("%zu node%s of other machines %s not reported (%.*s). A machine joins with `remuda "
               "token --host trusted` here and `remuda join %s` there; `remuda hosts` lists those "
               "that have.\n",
               names.n, names.n == 1 ? "" : "s", names.n == 1 ? "has" : "have", NAMES_SAID,
               str_text(&folded), hostname);
    str_done(&folded);
    hostlist_done(&names);
}

static void summary_print(const struct up_line *o, const struct config *config,
                          const struct node_count *count, bool started, bool chosen,
                          struct arena *a)
{
    config_warnings_say(config, o->verbose, "`remuda config check -v`", program_warn, NULL);
    program_settings_check(&config->settings, program_warn, NULL);
    if (count->complaint)
        fprintf(stderr, "remuda: warning: %s\n", count->complaint);
    if (count->trouble)
        fprintf(stderr, "remuda: warning: %s\n", count->trouble);
    char hostname[256] = "";
    gethostname(hostname, sizeof hostname - 1);
    renamed_say(o, config, count, hostname, a);
    if (o->quiet)
        return;
    printf("Cluster \"%s\" %s: %zu of %zu node%s ready. State in %s\n",
           config->settings.cluster_name, started ? "is up" : "was up already", count->ready,
           count->all, count->all == 1 ? "" : "s", o->state_dir);
    others_print(config, count);
    printf("To use it here:  eval \"$(%s/remuda env%s%s)\"\n", program_dir(a),
           chosen ? " --state " : "", chosen ? o->state_dir : "");
}

/* A machine that joined a cluster elsewhere: its relay and its node daemon. */
static bool host_up(const struct up_line *o, const struct host_dir *h, struct arena *a,
                    struct err *ret_err)
{
    if (o->shape_given || o->cluster_name)
        return err_set(
            ret_err, ERR_EXISTS,
            "this machine is a host of cluster \"%s\", whose configuration is on %s: --nodes, "
            "--cpus, --mem, "
            "--gres and --name shape a new cluster; choose another directory with --state",
            h->cluster ? h->cluster : "", h->controller);
    if (access(arena_printf(a, "%s/leaving", o->state_dir), F_OK) == 0)
        return err_set(
            ret_err, ERR_EXISTS,
            "this machine is leaving cluster \"%s\": `remuda leave` tells the controller at %s, "
            "and it can then join again",
            h->cluster ? h->cluster : "", h->controller);
    if (!host_start(o->state_dir, h, a, ret_err))
        return false;
    if (!o->quiet)
        printf("Host %s of cluster \"%s\" (controller %s) is up. State in %s\n", h->id,
               h->cluster ? h->cluster : "", h->controller, o->state_dir);
    return true;
}

static bool may_start(const struct up_line *o, struct arena *a, struct err *ret_err)
{
    const char *owner = state_dir_owner(o->state_dir, a);
    return !owner || err_set(ret_err, ERR_DENIED,
                             "the cluster in %s is %s's, who alone may start it; choose another "
                             "directory with --state for one of your own",
                             o->state_dir, owner);
}

/* What runs of another build than this program goes on as it is; who has put new programs in place
 * is told. */
static void builds_hint(const struct up_line *o, bool chosen, struct arena *a)
{
    const char *build;
    size_t n = cluster_other_builds(o->state_dir, &build, a);
    if (n > 0)
        fprintf(stderr,
                "remuda: warning: %zu daemon%s of another build, %s, where this is %s; `remuda up "
                "--restart%s%s` puts this one in %s place, and jobs run on\n",
                n, n == 1 ? " is" : "s are", build, build_name(), chosen ? " --state " : "",
                chosen ? o->state_dir : "", n == 1 ? "its" : "their");
}

/* A cluster of one's own is what commands speak to from then on. */
static void machine_hint(const char *state_dir)
{
    const char *machine = getenv("REMUDA_STATE") ? NULL : state_dir_machine(state_dir);
    if (machine)
        printf("This machine has a cluster of its own in %s. From now on your commands speak to "
               "yours; REMUDA_STATE=%s in the environment chooses the machine's.\n",
               machine, machine);
}

/* What would keep the cluster from starting again is found while it still runs. */
static bool restart_begin(const struct up_line *o, struct arena *a, struct err *ret_err)
{
    struct host_dir host;
    struct config config;
    struct err e = {0};
    if (!host_dir_read(o->state_dir, a, &host)) {
        if (cluster_conf_read(o->state_dir, &config, &e))
            config_done(&config);
        else if (e.code != ERR_NOT_FOUND)
            return err_set(ret_err, e.code, "%s; the daemons that run go on", e.text);
    }
    return cluster_down(o->state_dir, true, a) == 0 ||
           err_set(ret_err, ERR_UNAVAILABLE, "nothing was started");
}

static bool up(struct up_line *o, struct arena *a, struct err *ret_err)
{
    struct config config;
    bool started = false;
    size_t here = 0;
    bool chosen = o->state_dir != NULL;
    struct host_dir host;
    o->state_dir = state_dir_own(o->state_dir, a);
    if (!may_start(o, a, ret_err))
        return false;
    if (o->restart && !restart_begin(o, a, ret_err))
        return false;
    if (host_dir_read(o->state_dir, a, &host))
        return host_up(o, &host, a, ret_err);
    mode_t mode = geteuid() == 0 ? 0755 : 0700;
    if (!dir_make(o->state_dir, mode, ret_err) ||
        !dir_make(arena_printf(a, "%s/log", o->state_dir), mode, ret_err) ||
        !dir_make(arena_printf(a, "%s/nodes", o->state_dir), 0755, ret_err))
        return false;
    char *full = realpath(o->state_dir, NULL);
    if (full)
        o->state_dir = arena_strdup(a, full);
    free(full);
    /* The configuration that holds may not have its place yet. */
    if (state_dir_half_restored(o->state_dir, a) &&
        !controller_start(o->state_dir, a, &started, ret_err))
        return false;
    if (!up_conf_ensure(o, a, ret_err) || !cluster_conf_read(o->state_dir, &config, ret_err))
        return false;
    bool ok = controller_start(o->state_dir, a, &started, ret_err) &&
              nodes_start(o, &config, a, &here, &started, ret_err);
    if (ok) {
        struct node_count count = nodes_wait(o, &config, here, a);
        summary_print(o, &config, &count, started, chosen, a);
        builds_hint(o, chosen, a);
        if (!o->quiet && !chosen)
            machine_hint(o->state_dir);
        hostlist_done(&count.silent);
        if (count.ready < here)
            ok = err_set(ret_err, ERR_UNAVAILABLE,
                         "%zu of this machine's %zu nodes have not reported; see %s/log",
                         here - count.ready, here, o->state_dir);
    }
    config_done(&config);
    return ok;
}

int cmd_up(int argc, char **argv)
{
    struct up_line o = {0};
    struct err err = {0};
    struct arena *a = arena_new();
    struct option_line line = {.table = &up_options, .to = &o, .a = a};
    int status;
    bool read = own_line_read("remuda up", &line, argc, argv, &status);
    o.shape_given = shape_is_given(&line);
    if (read && !up(&o, a, &err))
        status = own_line_failed("remuda up", &err);
    arena_free(a);
    return status;
}
