/* remuda status: what runs, since when, with what. `--pid controller|node[NAME]` prints just that
 *   process id. */
#include "base/calendar/civil.h"
#include "base/duration.h"
#include "base/hostlist.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/daemons.h"
#include "cli/program/localtime.h"
#include "cli/program/own_line.h"
#include "cli/program/program.h"
#include "cli/program/room.h"
#include "io/build.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct status_line {
    const char *state_dir, *pid_of;
};

static const struct option_row option_rows[] = {
    OPT_VALUE("pid", 0, "daemon", "only the process id of controller or of node[NAME]",
              set_any_text, offsetof(struct status_line, pid_of)),
    OWN_STATE(struct status_line),
    OWN_HELP,
};
OPTION_TABLE(status_options, option_rows, .usage = "remuda status [OPTIONS]",
             .about = "  What runs of the cluster, since when, with what.\n", .words = WORDS_MIXED,
             .word = own_word_refuse);

struct status_rows {
    VEC(struct daemon_status) daemon;
};

static void row_keep(void *ctx, const void *record)
{
    struct status_rows *rows = ctx;
    vec_push(&rows->daemon, *(const struct daemon_status *)record);
}

static bool rows_read(const char *state_dir, struct status_rows *rows, struct arena *a,
                      struct err *ret_err)
{
    struct client *c = client_open(state_dir, ret_err);
    struct msg_query q = {.what = QUERY_STATUS};
    struct msg_done done = {0};
    if (!c)
        return false;
    bool ok = client_query(c, &q, &status_fields, a, row_keep, rows, &done, ret_err);
    client_close(c);
    if (ok && done.refusal != REFUSE_NONE)
        return err_set(ret_err, ERR_DENIED, "%s. %s", refusal_text(done.refusal),
                       done.detail ? done.detail : "");
    return ok;
}

/* Resident memory of a process of this host; 0 if it cannot be read. */
static int64_t rss_of(int64_t pid)
{
    char path[64];
    long long pages = 0;
    snprintf(path, sizeof path, "/proc/%lld/statm", (long long)pid);
    FILE *from = file_if_there(path);
    if (!from)
        return 0;
    if (fscanf(from, "%*s %lld", &pages) != 1)
        pages = 0;
    fclose(from);
    return pages * sysconf(_SC_PAGESIZE);
}

static void daemon_print(const struct daemon_status *d, int64_t now)
{
    struct str since = STR_INIT, age = STR_INIT;
    const char *shown = text_is(d->role, "controller") ? "controller" : d->name;
    if (d->pid) {
        civil_format_iso(d->start_us, &civil_local, &since);
        duration_format_short(now - d->start_us, &age);
        int64_t rss = d->rss_bytes ? d->rss_bytes : rss_of(d->pid);
        printf("%-12s pid %-8lld since %s (%s)", shown, (long long)d->pid, str_text(&since),
               str_text(&age));
        if (rss)
            printf(", %.1f MB", (double)rss / 1e6);
        putchar('\n');
    } else {
        printf("%-12s not running\n", shown);
    }
    if (!text_empty(d->trouble))
        printf("%-12s trouble: %s\n", "", d->trouble);
    str_done(&since);
    str_done(&age);
}

static void controller_more_print(const struct daemon_status *d)
{
    printf("%-12s %llu running, %llu waiting; %llu turns, %llu planner passes (last %.1f ms over "
           "%llu jobs); "
           "heard nobody for %.1f ms "
           "at most\n",
           "", (unsigned long long)d->jobs_running, (unsigned long long)d->jobs_pending,
           (unsigned long long)d->turns, (unsigned long long)d->plans,
           (double)d->last_plan_us / 1e3, (unsigned long long)d->queue_considered,
           (double)d->round_max_us / 1e3);
    printf("%-12s store: %s\n", "", d->store ? d->store : "");
}

/* Once for all nodes of which the same is said. */
static void isolation_print(const struct status_rows *rows)
{
    for (size_t i = 0; i < rows->daemon.n; i++) {
        const char *said = rows->daemon.v[i].isolation;
        struct hostlist names = HOSTLIST_INIT;
        struct str folded = STR_INIT;
        bool before = text_empty(said);
        for (size_t k = 0; k < i && !before; k++)
            before = text_is(rows->daemon.v[k].isolation, said);
        for (size_t k = i; k < rows->daemon.n && !before; k++)
            if (text_is(rows->daemon.v[k].isolation, said))
                hostlist_add(&names, rows->daemon.v[k].name);
        hostlist_fold(&names, &folded);
        if (!before)
            printf("%-12s %s: %s\n", "isolation", str_text(&folded), said);
        hostlist_done(&names);
        str_done(&folded);
    }
}

/* Builds other than that of this program, each with the daemons that run it. */
static void builds_print(const struct status_rows *rows)
{
    bool others = false;
    for (size_t i = 0; i < rows->daemon.n; i++) {
        const char *build = rows->daemon.v[i].version;
        struct hostlist names = HOSTLIST_INIT;
        struct str folded = STR_INIT;
        bool done = text_empty(build) || text_is(build, build_name());
        for (size_t k = 0; k < i && !done; k++)
            done = text_is(rows->daemon.v[k].version, build);
        for (size_t k = i; k < rows->daemon.n && !done; k++)
            if (text_is(rows->daemon.v[k].version, build))
                hostlist_add(&names, text_is(rows->daemon.v[k].role, "controller")
                                         ? "controller"
                                         : rows->daemon.v[k].name);
        hostlist_fold(&names, &folded);
        if (!done)
            printf("%-12s %s: %s\n", "build", str_text(&folded), build);
        others |= !done;
        hostlist_done(&names);
        str_done(&folded);
    }
    if (others)
        printf("%-12s `remuda up --restart` puts these programs in their place; jobs run on\n", "");
}

static void status_print(const char *state_dir, const struct status_rows *rows)
{
    int64_t now = time_now_us();
    printf("Remuda %s, state in %s\n", build_name(), state_dir);
    builds_print(rows);
    for (size_t i = 0; i < rows->daemon.n; i++) {
        daemon_print(&rows->daemon.v[i], now);
        if (text_is(rows->daemon.v[i].role, "controller"))
            controller_more_print(&rows->daemon.v[i]);
    }
    isolation_print(rows);
    for (size_t i = 0; i < rows->daemon.n; i++)
        if (!text_empty(rows->daemon.v[i].device_trouble))
            printf("%-12s %s: %s\n", "devices", rows->daemon.v[i].name,
                   rows->daemon.v[i].device_trouble);
}

/* Works without a controller, from the pid files. */
static int pid_print(const char *state_dir, const char *who, struct arena *a)
{
    const char *path = NULL;
    size_t len = strlen(who);
    if (text_is(who, "controller"))
        path = controller_pid_path(state_dir, a);
    else if (text_starts(who, "node[") && who[len - 1] == ']')
        path = node_pid_path(state_dir, arena_strndup(a, who + 5, len - 6), a);
    else if (text_starts(who, "node:") || text_starts(who, "node="))
        path = node_pid_path(state_dir, who + 5, a);
    if (!path) {
        program_error("remuda status", "--pid takes controller or node[NAME], not \"%s\"", who);
        return 2;
    }
    long pid = program_daemon_pid(path);
    if (!pid) {
        program_error("remuda status", "%s is not running (%s)", who, path);
        return 1;
    }
    printf("%ld\n", pid);
    return 0;
}

static int down_print(const char *state_dir, const struct err *err, struct arena *a)
{
    struct config config;
    char hostname[256] = "";
    printf("Remuda %s, state in %s\n", build_name(), state_dir);
    printf("controller   %s\n", err->text);
    gethostname(hostname, sizeof hostname - 1);
    if (!cluster_conf_read(state_dir, &config, NULL))
        return 1;
    for (size_t i = 0; i < config.nnodes; i++) {
        long pid = node_is_here(&config.node[i], hostname)
                       ? program_daemon_pid(node_pid_path(state_dir, config.node[i].name, a))
                       : 0;
        if (pid)
            printf("%-12s pid %ld\n", config.node[i].name, pid);
        else
            printf("%-12s not running\n", config.node[i].name);
    }
    config_done(&config);
    return 1;
}

static int status(const char *state_dir, struct arena *a)
{
    struct status_rows rows = {0};
    struct err err = {0};
    bool ok = rows_read(state_dir, &rows, a, &err);
    if (!ok)
        program_deed(controller_pid_path(state_dir, a), &err);
    if (ok)
        status_print(state_dir, &rows);
    vec_done(&rows.daemon);
    return ok ? 0 : down_print(state_dir, &err, a);
}

int cmd_status(int argc, char **argv)
{
    struct status_line o = {0};
    struct arena *a = arena_new();
    struct option_line line = {.table = &status_options, .to = &o, .a = a};
    int rc;
    if (own_line_read("remuda status", &line, argc, argv, &rc)) {
        const char *state_dir = state_dir_find(o.state_dir, a);
        rc = o.pid_of ? pid_print(state_dir, o.pid_of, a) : status(state_dir, a);
    }
    arena_free(a);
    return rc;
}
