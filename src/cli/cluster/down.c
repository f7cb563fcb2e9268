/* remuda down: stops the daemons of a cluster. Jobs that run go on under their shepherds and report
 * when the cluster is up again. */
#include "base/hostlist.h"
#include "base/str.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/daemons.h"
#include "cli/program/host_dir.h"
#include "cli/program/own_line.h"
#include "cli/program/program.h"
#include "cli/program/room.h"
#include "cli/program/state_file.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STOP_TIMEOUT_MS 15000

struct down_line {
    const char *state_dir;
    bool quiet;
};

static const struct option_row rows[] = {
    OPT_FLAG("quiet", 'q', "say only what is wrong", offsetof(struct down_line, quiet)),
    OWN_STATE(struct down_line), OWN_HELP};
OPTION_TABLE(down_options, rows, .usage = "remuda down [OPTIONS]",
             .about = "  Stops the daemons on this machine. Running jobs go on; nothing is lost. "
                      "`remuda up` continues.\n",
             .words = WORDS_MIXED, .word = own_word_refuse);

static void row_count(void *ctx, const void *record)
{
    (void)record;
    ++*(uint64_t *)ctx;
}

static uint64_t jobs_running(const char *state_dir, struct arena *a)
{
    struct client *c = client_open(state_dir, NULL);
    struct msg_query q = {
        .what = QUERY_JOBS, .fields = "id", .states = "RUNNING,SUSPENDED,COMPLETING"};
    struct msg_done done = {0};
    uint64_t count = 0;
    if (c) {
        client_query(c, &q, &job_fields, a, row_count, &count, &done, NULL);
        client_close(c);
    }
    return count;
}

/* Until the process `pid` (0 = none) has let go of it. */
static bool stopped_wait(const char *pid_file, long pid, int *budget_ms)
{
    struct timespec nap = {.tv_nsec = 10 * 1000000};
    while (pid && program_daemon_pid(pid_file) == pid) {
        if (*budget_ms <= 0)
            return false;
        nanosleep(&nap, NULL);
        *budget_ms -= 10;
    }
    return true;
}

/* Asks the process of a pid file to end: its number, 0 if there was none. */
static long daemon_stop(const char *pid_file)
{
    long pid = program_daemon_pid(pid_file);
    return pid > 0 && kill((pid_t)pid, SIGTERM) == 0 ? pid : 0;
}

/* Commands do not wait for what was stopped on purpose. */
static void down_mark(const char *state_dir)
{
    FILE *mark = state_file(state_dir, STATE_DOWN);
    if (mark)
        fclose(mark);
}

static int host_down(const char *state_dir, const struct host_dir *h, bool quiet, struct arena *a)
{
    int count = 0;
    down_mark(state_dir);
    if (!host_stop(state_dir, h, a, &count)) {
        program_error("remuda down", "some daemons of this host do not end; see %s/log", state_dir);
        return 1;
    }
    if (!quiet)
        printf(count ? "Host %s is down; its jobs go on. `remuda up` continues.\n"
                     : "Host %s was not running.\n",
               h->id);
    return 0;
}

static bool is_elsewhere(const struct config *config, const char *node, const char *hostname)
{
    for (size_t i = 0; config && i < config->nnodes; i++)
        if (text_is(config->node[i].name, node))
            return !node_is_here(&config->node[i], hostname);
    return false;
}

/* The machine may have had another name when it was started. */
static bool runs_here(const char *state_dir, const char *node, struct arena *a)
{
    return program_is_node(program_daemon_pid(node_pid_path(state_dir, node, a)), node);
}

/* The nodes whose daemons were started here: each has a directory with its pid file. The
 * configuration may no longer know them, or may no longer be one (NULL). */
static void nodes_find(const char *state_dir, const struct config *config, struct hostlist *ret,
                       struct arena *a)
{
    char hostname[256] = "";
    DIR *nodes = dir_if_there(arena_printf(a, "%s/nodes", state_dir));
    gethostname(hostname, sizeof hostname - 1);
    for (struct dirent *e; nodes && (e = readdir(nodes));)
        if (e->d_name[0] != '.' &&
            (!is_elsewhere(config, e->d_name, hostname) || runs_here(state_dir, e->d_name, a)))
            hostlist_add(ret, e->d_name);
    if (nodes)
        closedir(nodes);
}

static void summary_print(const char *name, size_t stopped, uint64_t running)
{
    if (!stopped)
        printf("Cluster \"%s\" was not running.\n", name);
    else if (running)
        printf("Cluster \"%s\" is down; %llu job%s go%s on. `remuda up` continues.\n", name,
               (unsigned long long)running, running == 1 ? "" : "s", running == 1 ? "es" : "");
    else
        printf("Cluster \"%s\" is down. `remuda up` continues.\n", name);
}

int cluster_down(const char *state_dir, bool quiet, struct arena *a)
{
    int budget = STOP_TIMEOUT_MS;
    struct host_dir host;
    struct config config;
    struct err err = {0};
    struct hostlist nodes = HOSTLIST_INIT;
    const char *owner = state_dir_owner(state_dir, a);
    if (owner) {
        program_error("remuda down", "the cluster in %s is %s's, who alone may stop it", state_dir,
                      owner);
        return 1;
    }
    if (host_dir_read(state_dir, a, &host))
        return host_down(state_dir, &host, quiet, a);
    if (access(cluster_conf_path(state_dir, a), F_OK) != 0 &&
        !program_daemon_pid(controller_pid_path(state_dir, a))) {
        program_error("remuda down", "no cluster in %s: there is no remuda.conf", state_dir);
        return 1;
    }
    if (program_deed(controller_pid_path(state_dir, a), &err)) {
        program_error("remuda down", "%s; nothing was stopped", err.text);
        return 1;
    }
    /* What is wrong with the configuration stops nothing. */
    bool known = cluster_conf_read(state_dir, &config, &err);
    if (!known)
        fprintf(stderr, "remuda down: warning: the configuration cannot be read: %s\n", err.text);
    const char *name = known ? arena_strdup(a, config.settings.cluster_name) : state_dir;
    nodes_find(state_dir, known ? &config : NULL, &nodes, a);
    if (known)
        config_done(&config);
    uint64_t running = jobs_running(state_dir, a);
    const char *controller = controller_pid_path(state_dir, a);
    down_mark(state_dir);
    long *pid = arena_alloc(a, (nodes.n + 1) * sizeof *pid);
    size_t stopped = (pid[nodes.n] = daemon_stop(controller)) != 0;
    for (size_t i = 0; i < nodes.n; i++)
        stopped += (pid[i] = daemon_stop(node_pid_path(state_dir, nodes.name[i], a))) != 0;
    bool late = !stopped_wait(controller, pid[nodes.n], &budget);
    for (size_t i = 0; i < nodes.n; i++)
        late |= !stopped_wait(node_pid_path(state_dir, nodes.name[i], a), pid[i], &budget);
    hostlist_done(&nodes);
    long again = late ? 0 : program_daemon_pid(controller);
    if (again)
        program_error("remuda down",
                      "it was stopped, and somebody started it again meanwhile (process %ld)",
                      again);
    else if (late)
        program_error("remuda down",
                      "some daemons did not stop within %d s; `remuda status` shows which",
                      STOP_TIMEOUT_MS / 1000);
    else if (!quiet)
        summary_print(name, stopped, running);
    return late || again ? 1 : 0;
}

int cmd_down(int argc, char **argv)
{
    struct down_line o = {0};
    struct arena *a = arena_new();
    struct option_line line = {.table = &down_options, .to = &o, .a = a};
    int status;
    if (own_line_read("remuda down", &line, argc, argv, &status))
        status = cluster_down(state_dir_find(o.state_dir, a), o.quiet, a);
    arena_free(a);
    return status;
}
