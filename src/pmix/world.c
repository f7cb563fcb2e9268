/* What the library is told: of the job, and of each rank where it is. Everything is copied by
 * it. */
#include "base/alloc.h"
#include "base/list.h"
#include "pmix/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef PMIX_PROC_INFO_ARRAY
#define OF_A_RANK PMIX_PROC_INFO_ARRAY
#else
#define OF_A_RANK PMIX_PROC_DATA
#endif

#define JOB_FACTS  24
#define RANK_FACTS 8

struct facts {
    pmix_info_t *v;
    size_t n, max;
};

static struct facts facts_new(size_t max)
{
    struct facts f = {.max = max};
    PMIX_INFO_CREATE(f.v, max);
    CHECK(f.v);
    return f;
}

static void fact(struct facts *f, const char *key, const void *value, pmix_data_type_t type)
{
    CHECK(f->n < f->max);
    PMIX_INFO_LOAD(&f->v[f->n], key, value, type);
    f->n++;
}

static void number(struct facts *f, const char *key, int32_t value)
{
    uint32_t n = (uint32_t)value;
    fact(f, key, &n, PMIX_UINT32);
}

static void rank_of(struct facts *f, const char *key, int32_t value)
{
    pmix_rank_t n = (pmix_rank_t)value;
    fact(f, key, &n, PMIX_PROC_RANK);
}

static void small(struct facts *f, const char *key, int32_t value)
{
    uint16_t n = (uint16_t)value;
    fact(f, key, &n, PMIX_UINT16);
}

/* ---- each rank ---- */

static void one_rank(struct facts *job, const struct pmix_job *w, int32_t rank, int32_t local)
{
    struct facts f = facts_new(RANK_FACTS);
    rank_of(&f, PMIX_RANK, rank);
    number(&f, PMIX_APPNUM, 0);
    rank_of(&f, PMIX_GLOBAL_RANK, rank);
    rank_of(&f, PMIX_APP_RANK, rank);
    small(&f, PMIX_LOCAL_RANK, local);
    small(&f, PMIX_NODE_RANK, local);
    number(&f, PMIX_NODEID, w->node_of[rank]);
    fact(&f, PMIX_HOSTNAME, w->host[w->node_of[rank]], PMIX_STRING);
    pmix_data_array_t array = {.type = PMIX_INFO, .size = f.n, .array = f.v};
    fact(job, OF_A_RANK, &array, PMIX_DATA_ARRAY);
    PMIX_INFO_FREE(f.v, f.max);
}

static void all_ranks(struct facts *job, const struct pmix_job *w)
{
    int32_t *next = xcalloc((size_t)w->nodes, sizeof *next);
    for (int32_t rank = 0; rank < w->size; rank++)
        one_rank(job, w, rank, next[w->node_of[rank]]++);
    free(next);
}

/* ---- the job ---- */

/* "0,1;2,3": the ranks of each node. */
static void places_add(const struct pmix_job *w, struct str *all, struct str *here)
{
    struct str *of = xcalloc((size_t)w->nodes, sizeof *of);
    for (int32_t rank = 0; rank < w->size; rank++)
        list_addf(&of[w->node_of[rank]], "%d", rank);
    for (int32_t i = 0; i < w->nodes; i++) {
        str_addf(all, "%s%s", i ? ";" : "", str_text(&of[i]));
        if (i == w->node)
            str_add(here, str_text(&of[i]));
        str_done(&of[i]);
    }
    free(of);
}

static void maps_add(struct facts *f, const struct pmix_job *w, const char *places)
{
    struct str names = STR_INIT;
    char *folded = NULL;
    pmix_status_t rc;
    for (int32_t i = 0; i < w->nodes; i++)
        list_addf(&names, "%s", w->host[i]);
    if ((rc = PMIx_generate_regex(str_text(&names), &folded)) != PMIX_SUCCESS)
        give_up("the names of the nodes", rc);
    fact(f, PMIX_NODE_MAP, folded, PMIX_REGEX);
    if ((rc = PMIx_generate_ppn(places, &folded)) != PMIX_SUCCESS)
        give_up("the ranks of the nodes", rc);
    fact(f, PMIX_PROC_MAP, folded, PMIX_REGEX);
    str_done(&names);
}

static int32_t first_here(const struct pmix_job *w, int32_t *ret_n)
{
    int32_t first = -1;
    *ret_n = 0;
    for (int32_t rank = 0; rank < w->size; rank++)
        if (w->node_of[rank] == w->node && (*ret_n)++ == 0)
            first = rank;
    return first;
}

static struct facts job_facts(const struct pmix_job *w, int32_t here, int32_t first)
{
    struct facts f = facts_new((size_t)w->size + JOB_FACTS);
    struct str places = STR_INIT, peers = STR_INIT;
    places_add(w, &places, &peers);
    fact(&f, PMIX_JOBID, w->name, PMIX_STRING);
    fact(&f, PMIX_TMPDIR, w->dir, PMIX_STRING);
    fact(&f, PMIX_NSDIR, w->dir, PMIX_STRING);
    number(&f, PMIX_UNIV_SIZE, w->size);
    number(&f, PMIX_JOB_SIZE, w->size);
    number(&f, PMIX_MAX_PROCS, w->size);
    number(&f, PMIX_APP_SIZE, w->size);
    number(&f, PMIX_JOB_NUM_APPS, 1);
    number(&f, PMIX_APPNUM, 0);
    rank_of(&f, PMIX_APPLDR, 0);
    number(&f, PMIX_NUM_NODES, w->nodes);
    number(&f, PMIX_NODE_SIZE, here);
    number(&f, PMIX_LOCAL_SIZE, here);
    number(&f, PMIX_NODEID, w->node);
    rank_of(&f, PMIX_LOCALLDR, first);
    fact(&f, PMIX_LOCAL_PEERS, str_text(&peers), PMIX_STRING);
    maps_add(&f, w, str_text(&places));
    all_ranks(&f, w);
    str_done(&places);
    str_done(&peers);
    return f;
}

/* ---- beginning ---- */

static void library_start(const struct pmix_job *w)
{
    struct facts f = facts_new(8);
    char own[PMIX_MAX_NSLEN];
    bool no = false;
    snprintf(own, sizeof own, "%s.server", w->name);
    fact(&f, PMIX_SERVER_TMPDIR, w->dir, PMIX_STRING);
    fact(&f, PMIX_SYSTEM_TMPDIR, w->dir, PMIX_STRING);
    fact(&f, PMIX_SERVER_NSPACE, own, PMIX_STRING);
    rank_of(&f, PMIX_SERVER_RANK, w->node);
    fact(&f, PMIX_HOSTNAME, w->host[w->node], PMIX_STRING);
    fact(&f, PMIX_SERVER_TOOL_SUPPORT, &no, PMIX_BOOL);
    pmix_status_t rc = PMIx_server_init(&meetings_module, f.v, f.n);
    if (rc != PMIX_SUCCESS)
        give_up("PMIx's server does not start", rc);
    PMIX_INFO_FREE(f.v, f.max);
    meetings_watch();
}

/* Its variables, each ended by NUL. */
static void client_add(const struct pmix_job *w, int32_t rank)
{
    pmix_proc_t proc;
    char **env = NULL;
    struct str text = STR_INIT;
    PMIX_LOAD_PROCID(&proc, w->name, (pmix_rank_t)rank);
    pmix_status_t rc = PMIx_server_register_client(&proc, geteuid(), getegid(), NULL, NULL, NULL);
    if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED)
        give_up("PMIx does not take a task", rc);
    if ((rc = PMIx_server_setup_fork(&proc, &env)) != PMIX_SUCCESS)
        give_up("PMIx has no variables for a task", rc);
    for (size_t i = 0; env && env[i]; i++)
        str_addn(&text, env[i], strlen(env[i]) + 1);
    say(&(struct msg_stream_mpi){
        .op = MPI_ANSWER, .rank = rank, .data = {text.data, text.len}, .ranks = "start"});
    str_done(&text);
}

void world_register(const struct pmix_job *w, struct arena *a)
{
    int32_t here, first = first_here(w, &here);
    pmix_nspace_t name;
    (void)a;
    library_start(w);
    struct facts f = job_facts(w, here, first);
    PMIX_LOAD_NSPACE(name, w->name);
    pmix_status_t rc = PMIx_server_register_nspace(name, here, f.v, f.n, NULL, NULL);
    if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED)
        give_up("PMIx does not take the job", rc);
    PMIX_INFO_FREE(f.v, f.max);
    for (int32_t rank = 0; rank < w->size; rank++)
        if (w->node_of[rank] == w->node)
            client_add(w, rank);
}
