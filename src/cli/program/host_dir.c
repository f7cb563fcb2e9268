#include "cli/program/host_dir.h"

#include "base/str.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/daemons.h"
#include "cli/program/program.h"
#include "cli/program/room.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define START_TIMEOUT_MS 15000
#define STOP_TIMEOUT_MS  15000
#define STEP_MS          20

static void step_sleep(void)
{
    struct timespec t = {.tv_nsec = STEP_MS * 1000000L};
    nanosleep(&t, NULL);
}

bool host_dir_read(const char *state_dir, struct arena *a, struct host_dir *ret)
{
    char line[4096];
    FILE *from = file_if_there(arena_printf(a, "%s/host.conf", state_dir));
    if (!from)
        return false;
    *ret = (struct host_dir){0};
    while (fgets(line, sizeof line, from)) {
        line[strcspn(line, "\n")] = '\0';
        if (text_starts(line, "Controller="))
            ret->controller = arena_strdup(a, line + strlen("Controller="));
        else if (text_starts(line, "ClusterName="))
            ret->cluster = arena_strdup(a, line + strlen("ClusterName="));
        else if (text_starts(line, "Id="))
            ret->id = arena_strdup(a, line + strlen("Id="));
        else if (text_starts(line, "NodeName="))
            ret->node = arena_strdup(a, line + strlen("NodeName="));
    }
    fclose(from);
    return ret->controller && ret->id;
}

const char *relay_pid_path(const char *state_dir, struct arena *a)
{
    return arena_printf(a, "%s/relay.pid", state_dir);
}

static bool answers(const char *state_dir, struct arena *a, struct err *ret_err)
{
    struct client *c = client_open(state_dir, ret_err);
    struct msg_daemon ping = {.action = DAEMON_PING};
    struct message answer;
    bool ok = c && client_call(c, MSG_DAEMON, &ping, 2000, a, &answer, ret_err);
    client_close(c);
    const struct msg_done *done = ok ? answer.body : NULL;
    if (done && done->refusal != REFUSE_NONE)
        ok = err_set(ret_err, ERR_DENIED, "%s: %s", refusal_text((enum refusal)done->refusal),
                     done->detail ? done->detail : "");
    return ok;
}

static bool part_ensure(const char *pid_file, const char *role, const char *state_dir,
                        const char *node, struct arena *a, struct err *ret_err)
{
    char *argv[] = {(char *)(uintptr_t)program_sibling("remudad", a),
                    (char *)(uintptr_t)role,
                    "--state",
                    (char *)(uintptr_t)state_dir,
                    node ? "--name" : NULL,
                    (char *)(uintptr_t)node,
                    NULL};
    bool started = false;
    return daemon_ensure(argv, pid_file, arena_printf(a, "%s/log", state_dir), &started, ret_err);
}

bool host_start(const char *state_dir, const struct host_dir *h, struct arena *a,
                struct err *ret_err)
{
    if (!part_ensure(relay_pid_path(state_dir, a), "relay", state_dir, NULL, a, ret_err) ||
        (h->node && !part_ensure(node_pid_path(state_dir, h->node, a), "node", state_dir, h->node,
                                 a, ret_err)))
        return false;
    for (int waited = 0; waited < START_TIMEOUT_MS; waited += STEP_MS) {
        struct err why = {0};
        if (answers(state_dir, a, &why))
            return true;
        *ret_err = why;
        if (why.code == ERR_DENIED)
            return false;
        step_sleep();
    }
    return false;
}

static bool stopped(const char *pid_path, int *count, int *budget_ms)
{
    long pid = program_daemon_pid(pid_path);
    if (!pid)
        return true;
    ++*count;
    kill((pid_t)pid, SIGTERM);
    while (program_daemon_pid(pid_path) && *budget_ms > 0) {
        step_sleep();
        *budget_ms -= STEP_MS;
    }
    return !program_daemon_pid(pid_path);
}

bool host_stop(const char *state_dir, const struct host_dir *h, struct arena *a, int *ret_count)
{
    int budget_ms = STOP_TIMEOUT_MS;
    bool ok = !h->node || stopped(node_pid_path(state_dir, h->node, a), ret_count, &budget_ms);
    return stopped(relay_pid_path(state_dir, a), ret_count, &budget_ms) && ok;
}
