/* remuda gpus: what GPUs the nodes have, through which library they were found, how each is and
 * why, who has it. `release` and `resume` are for the administrator on the node itself: they say by
 * a file and a signal to the node's daemon that it must not have the devices open
 * (node/daemon/gpu_release.c). */
#include "base/calendar/civil.h"
#include "base/idset.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/daemons.h"
#include "cli/program/localtime.h"
#include "cli/program/own_line.h"
#include "cli/program/program.h"
#include "cli/program/room.h"
#include "cli/program/state_file.h"
#include "model/env/device_out.h"
#include "model/grammar/gres.h"
#include "model/job/alloc.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LET_GO_MS 20000

struct cluster_gpus {
    struct arena *a;
    const char *state_dir;
    const char *deed;        /* release or resume; NULL = show */
    VEC(const char *) names; /* of nodes; none: all */
    VEC(const struct node *) node;
    VEC(const struct job *) job;
};

static bool word_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct cluster_gpus *g = to;
    if (!g->deed && g->names.n == 0 && (text_is(word, "release") || text_is(word, "resume")))
        g->deed = word;
    else
        vec_push(&g->names, word);
    return true;
}

static const struct option_row rows[] = {OWN_STATE(struct cluster_gpus), OWN_HELP};
OPTION_TABLE(gpus_options, rows, .usage = "remuda gpus [OPTIONS] [release|resume] [NODE...]",
             .about =
                 "  What GPUs there are, through which library they were found, how each is and "
                 "why, and who has it.\n"
                 "  release: the node's daemon closes them, and nobody is given them, until "
                 "resume: for nvidia-smi -r,\n"
                 "  and for changes of MIG instances. resume: it takes them up again, and finds "
                 "what is there now.\n"
                 "  Both on the node itself, as who runs its daemon.\n",
             .words = WORDS_MIXED, .word = word_take);

static bool is_asked(const struct cluster_gpus *g, const char *name)
{
    bool asked = g->names.n == 0;
    for (size_t i = 0; i < g->names.n && !asked; i++)
        asked = text_is(g->names.v[i], name);
    return asked;
}

static void node_keep(void *ctx, const void *record)
{
    struct cluster_gpus *g = ctx;
    struct node *copy = arena_alloc(g->a, sizeof *copy);
    record_copy(&node_fields, copy, record, g->a);
    if (is_asked(g, copy->name))
        vec_push(&g->node, copy);
}

static void job_keep(void *ctx, const void *record)
{
    struct cluster_gpus *g = ctx;
    struct job *copy = arena_alloc(g->a, sizeof *copy);
    record_copy(&job_fields, copy, record, g->a);
    vec_push(&g->job, copy);
}

static bool rows_read(const char *state_dir, struct cluster_gpus *g, struct err *ret_err)
{
    struct client *c = client_open(state_dir, ret_err);
    struct msg_query
        nodes = {.what = QUERY_NODES,
                 .fields = "name,is_virtual,devices,devices_out,device_trouble,device_search,"
                           "device_health,gres,complaint,responding"},
        jobs = {.what = QUERY_JOBS,
                .fields = "id,user_id,user_name,alloc",
                .states = "RUNNING,SUSPENDED,COMPLETING"};
    struct msg_done done = {0};
    if (!c)
        return false;
    bool ok = client_query(c, &nodes, &node_fields, g->a, node_keep, g, &done, ret_err) &&
              client_query(c, &jobs, &job_fields, g->a, job_keep, g, &done, ret_err);
    client_close(c);
    return ok;
}

/* ---- one device ---- */

static bool job_has(const struct job *j, const char *node, int32_t index, struct arena *a)
{
    struct alloc al = {0};
    const struct alloc_node *here =
        text_empty(j->alloc) || !alloc_parse(j->alloc, a, &al, NULL) ? NULL : alloc_find(&al, node);
    bool has = false;
    for (size_t i = 0; here && i < here->ngres && !has; i++) {
        struct idset set = IDSET_INIT;
        if (text_is(here->gres[i].kind, "gpu") && here->gres[i].devices &&
            idset_parse(&set, here->gres[i].devices, INT32_MAX, NULL))
            has = idset_has(&set, (uint32_t)index);
        idset_done(&set);
    }
    return has;
}

static void holders_print(const struct cluster_gpus *g, const char *node, int32_t index)
{
    bool first = true;
    for (size_t i = 0; i < g->job.n; i++)
        if (job_has(g->job.v[i], node, index, g->a)) {
            printf("%s job %llu of %s", first ? "; given to" : ",",
                   (unsigned long long)g->job.v[i]->id,
                   text_empty(g->job.v[i]->user_name) ? "a user" : g->job.v[i]->user_name);
            first = false;
        }
}

static void since_print(int64_t since_us, const char *why)
{
    struct str since = STR_INIT;
    civil_format_iso(since_us, &civil_local, &since);
    printf(" since %s", str_text(&since));
    if (!text_empty(why))
        printf(": %s", why);
    str_done(&since);
}

/* Of a node of an older release, which says only of whom nobody may be given. */
static void out_print(const struct device_out *out)
{
    if (!out) {
        fputs(" not out of use", stdout);
        return;
    }
    fputs(out->failed ? " broken" : " given to nobody", stdout);
    since_print(out->since_us, out->why);
}

static void health_print(const struct cluster_gpus *g, const struct node *n, int32_t index)
{
    struct device_outs outs = {0};
    struct device_entries all = {0};
    device_outs_parse(n->devices_out, g->a, &outs);
    device_entries_parse(n->device_health, g->a, &all);
    const struct device_out *out = device_outs_find(&outs, "gpu", index);
    const struct device_entry *how = device_entries_find(&all, "gpu", index);
    if (!n->responding)
        fputs(" not known, the node does not respond; it was", stdout);
    if (how) {
        printf(" %s", how->word);
        since_print(how->since_us, how->why);
    } else {
        out_print(out);
    }
    holders_print(g, n->name, index);
    putchar('\n');
    if (out && out->failed)
        printf("         when it is mended: scontrol update nodename=%s state=resume\n", n->name);
}

static void device_print(const struct cluster_gpus *g, const struct node *n, const struct device *d)
{
    bool instance = d->uuid && text_starts(d->uuid, "MIG-");
    printf("  gpu %-3d %s", d->index, text_empty(d->type) ? "(no type)" : d->type);
    if (d->mem_mib)
        printf(", %lld MiB", (long long)d->mem_mib);
    if (!text_empty(d->uuid))
        printf(", %s", d->uuid);
    if (!text_empty(d->pci))
        printf(instance ? ", an instance of the GPU at PCI %s" : ", PCI %s", d->pci);
    if (!text_empty(d->links))
        printf(", linked with %s", d->links);
    putchar(':');
    health_print(g, n, d->index);
}

/* Which libraries told of them: each once. */
static void libraries_print(const struct device_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        bool said = !list->v[i].via;
        for (size_t k = 0; k < i && !said; k++)
            said = text_is(list->v[k].via, list->v[i].via);
        if (!said)
            printf(", found through %s", list->v[i].via);
    }
}

static void node_print(const struct cluster_gpus *g, const struct node *n)
{
    struct device_list list = {0};
    size_t gpus = 0;
    if (n->devices)
        devices_parse(n->devices, g->a, &list, NULL);
    for (size_t i = 0; i < list.n; i++)
        gpus += text_is(list.v[i].kind, "gpu");
    printf("%s: %zu GPU%s", n->name, gpus, gpus == 1 ? "" : "s");
    libraries_print(&list);
    putchar('\n');
    for (size_t i = 0; i < list.n; i++)
        if (text_is(list.v[i].kind, "gpu"))
            device_print(g, n, &list.v[i]);
    if (gpus == 0 && n->is_virtual)
        printf("  it is virtual: no library was asked, it has what the configuration says (%s)\n",
               text_empty(n->gres) ? "nothing" : n->gres);
    if (gpus == 0 && !text_empty(n->device_search))
        printf("  %s\n", n->device_search);
    if (!text_empty(n->device_trouble))
        printf("  %s\n", n->device_trouble);
    if (!text_empty(n->complaint))
        printf("  %s\n", n->complaint);
}

static int show(const char *state_dir, struct cluster_gpus *g)
{
    struct err err = {0};
    int status = 0;
    if (!rows_read(state_dir, g, &err)) {
        program_error("remuda gpus", "%s", err.text);
        status = 1;
    }
    for (size_t i = 0; i < g->node.n; i++)
        node_print(g, g->node.v[i]);
    if (!status && g->names.n > 0 && g->node.n == 0) {
        program_error("remuda gpus", "there is no node %s; `sinfo -N` lists them", g->names.v[0]);
        status = 1;
    }
    vec_done(&g->node);
    vec_done(&g->job);
    return status;
}

/* ---- release and resume ---- */

/* The node that is meant: the one named, else the only one whose daemon runs here. NULL with an
 * error. */
static const char *node_here(const char *state_dir, struct cluster_gpus *g)
{
    struct config config;
    char hostname[256] = "";
    const char *found = NULL;
    size_t n = 0;
    gethostname(hostname, sizeof hostname - 1);
    if (g->names.n == 1)
        return g->names.v[0];
    if (!cluster_conf_read(state_dir, &config, NULL)) {
        program_error("remuda gpus", "which node? name it");
        return NULL;
    }
    for (size_t i = 0; i < config.nnodes; i++)
        if (node_is_here(&config.node[i], hostname)) {
            found = arena_strdup(g->a, config.node[i].name);
            n++;
        }
    config_done(&config);
    if (n != 1)
        program_error("remuda gpus", "%zu nodes are on this machine: name one", n);
    return n == 1 ? found : NULL;
}

/* Does a line begin so? The whole line. */
static bool file_says(const char *path, const char *line, char *ret, size_t size)
{
    bool says = false;
    FILE *f = file_if_there(path);
    while (f && !says && fgets(ret, (int)size, f))
        says = strncmp(ret, line, strlen(line)) == 0;
    if (f)
        fclose(f);
    ret[says ? strcspn(ret, "\n") : 0] = '\0';
    return says;
}

static bool file_make(const char *state_dir, const char *name)
{
    const struct passwd *user = user_by_uid(getuid());
    struct str now = STR_INIT;
    FILE *f = state_file(state_dir, name);
    civil_format_iso(time_now_us(), &civil_local, &now);
    if (f)
        fprintf(f, "by %.40s at %s\n", user ? user->pw_name : "somebody", str_text(&now));
    str_done(&now);
    return f && fclose(f) == 0;
}

static int let_go_wait(const char *path, const char *node)
{
    const struct timespec nap = {.tv_nsec = 50 * 1000000};
    char who[256] = "";
    for (int ms = 0; ms < LET_GO_MS; ms += 50) {
        if (file_says(path, "let go", who, sizeof who)) {
            printf("The daemon of %s has let go of the GPUs, and nobody is given them. Jobs that "
                   "run keep "
                   "theirs: "
                   "`remuda gpus %s` names them.\n",
                   node, node);
            return 0;
        }
        nanosleep(&nap, NULL);
    }
    program_error("remuda gpus", "the daemon of %s does not say that it has let go of the GPUs%s%s",
                  node, file_says(path, "process ", who, sizeof who) ? ": " : "", who);
    return 1;
}

/* A daemon of a release that did not know of this would be ended by the signal. */
static bool knows_release(const char *state_dir, const char *node, long pid, struct arena *a)
{
    long its_pid = 0;
    int protocol = 0;
    FILE *f = file_if_there(arena_printf(a, "%s/nodes/%s/protocol", state_dir, node));
    bool knows =
        f && fscanf(f, "%ld %d", &its_pid, &protocol) == 2 && its_pid == pid && protocol >= 1;
    if (f)
        fclose(f);
    if (!knows)
        program_error("remuda gpus",
                      "the daemon of %s (process %ld) is of an earlier release, which this would "
                      "end (it does "
                      "not say that it speaks protocol 1); start it anew first, jobs go on: remuda "
                      "down; remuda up",
                      node, pid);
    return knows;
}

static int hand_over(const char *state_dir, struct cluster_gpus *g, bool release)
{
    const char *node = node_here(state_dir, g);
    if (!node)
        return 2;
    long pid = program_daemon_pid(node_pid_path(state_dir, node, g->a));
    const char *name = arena_printf(g->a, "nodes/%s/gpus-released", node),
               *path = arena_printf(g->a, "%s/%s", state_dir, name);
    if (pid > 0 && !knows_release(state_dir, node, pid, g->a))
        return 1;
    bool done = release ? file_make(state_dir, name) : unlink(path) == 0;
    if (!done && !release) {
        program_error("remuda gpus", "the GPUs of %s were not released here", node);
        return 1;
    }
    if (!done) {
        program_error("remuda gpus",
                      "%s cannot be written: run this on the node, as who runs its daemon", path);
        return 1;
    }
    if (pid <= 0 || kill((pid_t)pid, SIGUSR1) != 0) {
        printf(
            "No daemon of %s runs here: it has the GPUs not open, and finds this when it starts.\n",
            node);
        return 0;
    }
    return release ? let_go_wait(path, node) : 0;
}

int cmd_gpus(int argc, char **argv)
{
    struct cluster_gpus g = {.a = arena_new()};
    struct option_line line = {.table = &gpus_options, .to = &g, .a = g.a};
    int status;
    if (own_line_read("remuda gpus", &line, argc, argv, &status)) {
        const char *state_dir = state_dir_find(g.state_dir, g.a);
        status =
            g.deed ? hand_over(state_dir, &g, text_is(g.deed, "release")) : show(state_dir, &g);
    }
    vec_done(&g.names);
    arena_free(g.a);
    return status;
}
