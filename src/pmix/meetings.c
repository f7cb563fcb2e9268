/* The library calls from a thread of its own; the shepherd is heard in the first one. What waits
 * for others stands in lists under one lock; nothing of the library's is called with it held. */
#include "base/alloc.h"
#include "base/idset.h"
#include "pmix/server.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct pmix_meeting {
    struct pmix_meeting *next;
    char *ranks; /* NULL = all */
    struct str data;
    pmix_modex_cbfunc_t done;
    void *ctx;
};

struct question {
    struct question *next;
    int32_t rank;
    pmix_modex_cbfunc_t done;
    void *ctx;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pmix_meeting *meetings;
static struct question *questions;
static const struct pmix_job *world;

void meetings_begin(const struct pmix_job *w)
{
    world = w;
}

/* ---- meeting ---- */

/* NULL = all tasks are among them; else folded; the caller frees it. */
static char *ranks_of(const pmix_proc_t *procs, size_t n)
{
    struct idset set = IDSET_INIT;
    struct str text = STR_INIT;
    bool all = n == 0;
    for (size_t i = 0; i < n; i++) {
        all |= procs[i].rank == PMIX_RANK_WILDCARD;
        if (procs[i].rank < (pmix_rank_t)world->size)
            idset_add(&set, procs[i].rank);
    }
    all |= set.count == (uint64_t)world->size;
    idset_format(&set, &text);
    idset_done(&set);
    if (!all)
        return str_take(&text);
    str_done(&text);
    return NULL;
}

/* With the lock. */
static struct pmix_meeting *meeting_of(const char *ranks)
{
    struct pmix_meeting *m = meetings;
    while (m && !text_is(m->ranks, ranks))
        m = m->next;
    if (m)
        return m;
    m = xcalloc(1, sizeof *m);
    *m = (struct pmix_meeting){.next = meetings, .ranks = ranks ? xstrdup(ranks) : NULL};
    meetings = m;
    return m;
}

static pmix_status_t fence(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                           size_t ninfo, char *data, size_t ndata, pmix_modex_cbfunc_t done,
                           void *ctx)
{
    char *ranks = ranks_of(procs, nprocs);
    (void)info, (void)ninfo;
    pthread_mutex_lock(&lock);
    struct pmix_meeting *m = meeting_of(ranks);
    bool twice = m->done != NULL;
    if (!twice) {
        m->done = done;
        m->ctx = ctx;
        str_addn(&m->data, ndata ? data : "", ndata);
    }
    pthread_mutex_unlock(&lock);
    if (!twice)
        say(&(struct msg_stream_mpi){.op = MPI_MEET, .ranks = ranks, .data = {data, ndata}});
    free(ranks);
    return twice ? PMIX_ERR_RESOURCE_BUSY : PMIX_SUCCESS;
}

static void brought(const struct msg_stream_mpi *m)
{
    pthread_mutex_lock(&lock);
    if (m->data.len)
        str_addn(&meeting_of(m->ranks)->data, m->data.data, m->data.len);
    pthread_mutex_unlock(&lock);
}

static void met(const struct msg_stream_mpi *said)
{
    struct pmix_meeting *m = NULL;
    pthread_mutex_lock(&lock);
    for (struct pmix_meeting **at = &meetings; *at && !m; at = &(*at)->next)
        if (text_is((*at)->ranks, said->ranks) && (*at)->done) {
            m = *at;
            *at = m->next;
            break;
        }
    pthread_mutex_unlock(&lock);
    if (!m)
        return;
    size_t len = m->data.len;
    char *data = str_take(&m->data);
    m->done(PMIX_SUCCESS, data, len, m->ctx, free, data);
    free(m->ranks);
    free(m);
}

/* ---- what one rank has put ---- */

static pmix_status_t ask(const pmix_proc_t *proc, const pmix_info_t info[], size_t ninfo,
                         pmix_modex_cbfunc_t done, void *ctx)
{
    struct question *q;
    (void)info, (void)ninfo;
    if (proc->rank >= (pmix_rank_t)world->size)
        return PMIX_ERR_NOT_FOUND;
    q = xcalloc(1, sizeof *q);
    *q = (struct question){.rank = (int32_t)proc->rank, .done = done, .ctx = ctx};
    pthread_mutex_lock(&lock);
    q->next = questions;
    questions = q;
    pthread_mutex_unlock(&lock);
    say(&(struct msg_stream_mpi){.op = MPI_ASK, .rank = (int32_t)proc->rank});
    return PMIX_SUCCESS;
}

static struct question *question_take(int32_t rank)
{
    struct question *q = NULL;
    pthread_mutex_lock(&lock);
    for (struct question **at = &questions; *at && !q; at = &(*at)->next)
        if ((*at)->rank == rank) {
            q = *at;
            *at = q->next;
            break;
        }
    pthread_mutex_unlock(&lock);
    return q;
}

/* One answer for each question. */
static void answered(const struct msg_stream_mpi *m)
{
    struct question *q = question_take(m->rank);
    if (!q)
        return;
    char *data = m->data.len ? xcalloc(1, m->data.len) : NULL;
    if (data)
        memcpy(data, m->data.data, m->data.len);
    q->done(m->code ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS, data, m->data.len, q->ctx, free, data);
    free(q);
}

struct pmix_asked {
    int32_t rank;
    char *whom; /* as the command said */
};

static void found(pmix_status_t status, char *data, size_t len, void *ctx)
{
    struct pmix_asked *a = ctx;
    bool ok = status == PMIX_SUCCESS;
    say(&(struct msg_stream_mpi){.op = MPI_ANSWER,
                                 .rank = a->rank,
                                 .code = !ok,
                                 .text = a->whom,
                                 .data = {ok ? data : NULL, ok ? len : 0}});
    free(a->whom);
    free(a);
}

static void asked(const struct msg_stream_mpi *m)
{
    pmix_proc_t proc;
    struct pmix_asked *a = xcalloc(1, sizeof *a);
    *a = (struct pmix_asked){m->rank, xstrdup(m->text ? m->text : "")};
    PMIX_LOAD_PROCID(&proc, world->name, (pmix_rank_t)m->rank);
    pmix_status_t rc = PMIx_server_dmodex_request(&proc, found, a);
    if (rc != PMIX_SUCCESS)
        found(rc, NULL, 0, a);
}

void meetings_take(const struct msg_stream_mpi *m)
{
    switch ((enum mpi_op)m->op) {
    case MPI_MEET: brought(m); break;
    case MPI_MET: met(m); break;
    case MPI_ASK: asked(m); break;
    case MPI_ANSWER: answered(m); break;
    case MPI_ABORT: break; /* the shepherd ends everybody */
    }
}

/* ---- the rest ---- */

static pmix_status_t aborts(const pmix_proc_t *proc, void *object, int status, const char msg[],
                            pmix_proc_t procs[], size_t nprocs, pmix_op_cbfunc_t done, void *ctx)
{
    (void)object, (void)procs, (void)nprocs;
    say(&(struct msg_stream_mpi){
        .op = MPI_ABORT, .rank = (int32_t)proc->rank, .code = status, .text = msg});
    done(PMIX_SUCCESS, ctx);
    return PMIX_SUCCESS;
}

/* What the library has to say of clients is that one's connection broke: who ends in order has
 * finalized before. The others may wait for it for ever (a fence, a message), so all end, as with
 * Slurm's plugin; 137: of SIGKILL. */
static void event(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                  size_t ninfo, pmix_info_t results[], size_t nresults,
                  pmix_event_notification_cbfunc_fn_t done, void *ctx)
{
    (void)id, (void)info, (void)ninfo, (void)results, (void)nresults;
    if (status == PMIX_ERR_LOST_CONNECTION && source &&
        PMIX_CHECK_NSPACE(source->nspace, world->name))
        say(&(struct msg_stream_mpi){
            .op = MPI_ABORT, .ranks = "left", .rank = (int32_t)source->rank, .code = 137});
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, ctx);
}

void meetings_watch(void)
{
    PMIx_Register_event_handler(NULL, 0, NULL, 0, event, NULL, NULL);
}

static pmix_status_t noted(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done, void *ctx)
{
    (void)proc, (void)object;
    if (done)
        done(PMIX_SUCCESS, ctx);
    return PMIX_SUCCESS;
}

pmix_server_module_t meetings_module = {.client_connected = noted,
                                        .client_finalized = noted,
                                        .abort = aborts,
                                        .fence_nb = fence,
                                        .direct_modex = ask};
