#include "agent/pmi_map.h"
#include "base/alloc.h"
#include "pmix/server.h"
#include "wire/framed.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES 65536

/* ---- saying ---- */

static pthread_mutex_t saying = PTHREAD_MUTEX_INITIALIZER;

void say(const struct msg_stream_mpi *m)
{
    struct framed way = {0};
    struct span unsent;
    framed_put(&way, &(struct message){.kind = MSG_STREAM_MPI, .body = m});
    pthread_mutex_lock(&saying);
    while ((unsent = framed_unsent(&way)).len > 0) {
        ssize_t n = write(PMIX_FD, unsent.data, unsent.len);
        if (n < 0 && errno != EINTR)
            _exit(1); /* nobody is there any more */
        framed_went(&way, n > 0 ? (size_t)n : 0);
    }
    pthread_mutex_unlock(&saying);
    framed_done(&way);
}

void give_up(const char *what, pmix_status_t why)
{
    char text[256];
    snprintf(text, sizeof text, "%s: %s", what, PMIx_Error_string(why));
    say(&(struct msg_stream_mpi){.op = MPI_ABORT, .ranks = "start", .code = 1, .text = text});
    _exit(1);
}

/* ---- the world ---- */

/* Names of the map's nodes; components of one job may have the same node. */
static const char *const *hosts_of(const char *map, int32_t nodes, struct arena *a)
{
    const char **host = arena_alloc(a, (size_t)(nodes + 1) * sizeof *host);
    struct span rest = span_of(map), line, name;
    int32_t n = 0;
    while (n < nodes && span_next(&rest, '\n', &line)) {
        if (!span_next(&line, ' ', &name) || !name.len)
            continue;
        host[n] = arena_strndup(a, name.data, name.len);
        for (int32_t i = 0; i < n; i++)
            if (text_is(host[i], host[n])) {
                host[n] = arena_printf(a, "%s-%d", host[n], n);
                break;
            }
        n++;
    }
    return host;
}

static void world_begin(const struct msg_stream_tasks *t, struct arena *a)
{
    struct pmix_job *w = arena_alloc(a, sizeof *w);
    int32_t *node_of = NULL, nodes = 0;
    if (!t->mpi_map || !t->mpi_name || !t->work_dir ||
        !pmi_map_read(t->mpi_map, t->world, &node_of, &nodes) || t->first_node >= nodes)
        give_up("where the tasks are", PMIX_ERR_BAD_PARAM);
    *w = (struct pmix_job){.name = arena_strdup(a, t->mpi_name),
                           .dir = arena_strdup(a, t->work_dir),
                           .size = t->world,
                           .nodes = nodes,
                           .node = t->first_node,
                           .node_of = node_of,
                           .host = hosts_of(t->mpi_map, nodes, a)};
    if (mkdir(w->dir, 0700) != 0)
        give_up(w->dir, PMIX_ERR_NO_PERMISSIONS);
    meetings_begin(w);
    world_register(w, a);
    say(&(struct msg_stream_mpi){.op = MPI_MET, .ranks = "start"});
}

/* ---- the loop ---- */

static void frames_take(struct framed *way, struct arena *lasting, struct arena *passing)
{
    static bool begun;
    struct frame f;
    struct message m;
    while (framed_next(way, &f, NULL) > 0 && wire_decode(&f, passing, &m, NULL)) {
        if (m.kind == MSG_STREAM_TASKS && !begun) {
            begun = true;
            world_begin(m.body, lasting);
        } else if (m.kind == MSG_STREAM_MPI && begun) {
            meetings_take(m.body);
        }
        arena_reset(passing);
    }
}

static int serve(void)
{
    struct framed way = {0};
    struct arena *lasting = arena_new(), *passing = arena_new();
    sigset_t all;
    sigfillset(&all); /* what a user sends to the tasks of the step is not for their server */
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    for (;;) {
        ssize_t n = read(PMIX_FD, framed_room(&way, READ_BYTES), READ_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            _exit(0); /* threads of the library need not be told */
        framed_came(&way, (size_t)n);
        frames_take(&way, lasting, passing);
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "serve") == 0)
        return serve();
    fputs("remuda-pmix is started by remuda-shepherd, for srun --mpi=pmix\n", stderr);
    return 2;
}
