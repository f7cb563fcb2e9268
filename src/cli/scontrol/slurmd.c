/* scontrol show slurmd: what a node's daemon says of its host, as the controller last heard it.
 * Without a name: the nodes of this host. */
#include "base/vec.h"
#include "cli/program/program.h"
#include "cli/scontrol/scontrol.h"
#include "cli/submit/host.h"
#include "cli/table/columns.h"
#include "cli/table/listing.h"
#include "model/record/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct slurmd_found {
    struct arena *a;
    const char *name, *host;
    VEC(const struct node *) node;
};

static void node_keep(void *ctx, const void *record)
{
    struct slurmd_found *f = ctx;
    const struct node *n = record;
    bool here =
        text_is(n->name, f->host) || text_is(n->hostname, f->host) || text_is(n->addr, f->host);
    if (f->name ? text_is(n->name, f->name) : here)
        vec_push(&f->node, arena_dup(f->a, n, sizeof *n));
}

static void slurmd_print(const struct node *n, const struct cell_env *env, struct arena *a)
{
    int32_t cpus = n->real_cpus ? n->real_cpus : n->cpus;
    printf("Active Steps             = %s\n", n->alloc_cpus ? "see `scontrol listpids`" : "NONE");
    printf("Actual CPUs              = %d\n", (int)cpus);
    printf("Actual Boards            = %d\n", (int)n->boards);
    printf("Actual sockets           = %d\n", (int)n->sockets);
    printf("Actual cores             = %d\n", (int)n->cores_per_socket);
    printf("Actual threads per core  = %d\n", (int)n->threads_per_core);
    printf("Actual real memory       = %lld MB\n",
           (long long)(n->real_memory_mib ? n->real_memory_mib : n->memory_mib));
    printf("Actual temp disk space   = %lld MB\n", (long long)n->tmp_disk_mib);
    printf("Boot time                = %s\n", cell_time_text(env, n->boot_us, "N/A", a));
    printf("Hostname                 = %s\n", n->name);
    printf("Last slurmctld msg time  = %s\n", cell_time_text(env, n->last_seen_us, "NONE", a));
    printf("Slurmd Debug             = 3\n");
    printf("Slurmd Logfile           = (null)\n");
    printf("Version                  = %s\n", strchr(SLURM_VERSION_TEXT, ' ') + 1);
}

void scontrol_show_slurmd(struct scontrol *s, const char *name)
{
    char host[256] = "";
    const char *self = getenv("SLURMD_NODENAME");
    struct slurmd_found f = {.a = s->a, .name = name ? name : self, .host = host};
    struct msg_query q = {.what = QUERY_NODES};
    struct msg_done done = {0};
    struct err err = {0};
    struct cell_env env = listing_env();
    struct client *c = scontrol_connect(s, "slurm_load_slurmd_status");
    gethostname(host, sizeof host - 1);
    if (!c)
        return;
    if (!client_query(c, &q, &node_fields, s->a, node_keep, &f, &done, &err))
        scontrol_fail(s, "slurm_load_slurmd_status: %s", err.text);
    else if (!f.node.n)
        program_error("scontrol", "slurm_slurmd_info: Connection refused");
    if (!f.node.n && !err.text[0])
        scontrol_refuse(s, "slurm_load_slurmd_status: Connection refused");
    for (size_t i = 0; i < f.node.n; i++)
        slurmd_print(f.node.v[i], &env, s->a);
    vec_done(&f.node);
}
