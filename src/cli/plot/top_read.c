#include "cli/plot/top.h"

#include "base/idset.h"
#include "cli/plot/fetch.h"
#include "cli/program/localtime.h"
#include "model/env/device_out.h"
#include "model/grammar/gres.h"
#include "model/job/alloc.h"
#include "model/message.h"
#include "model/record/diag.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES_S 30 /* so old a sample says how busy a GPU is */
#define GPUS_MOST 256u
#define BUSY_MOST 100000u

struct top_read_seen {
    int64_t at_ms;
    double busy;
};

static void busy_forget(struct top *t)
{
    struct map_walk w = {0};
    while (t->busy && map_str_next(t->busy, &w))
        free(w.value);
    map_str_free(t->busy);
    t->busy = NULL;
}

static void look_end(struct top *t)
{
    for (size_t i = 0; i < t->node.n; i++)
        vec_done(&t->node.v[i]->job);
    vec_clear(&t->node);
    vec_clear(&t->job);
    arena_free(t->a);
    t->a = NULL;
}

bool top_takes_jobs(const struct node *n)
{
    return n->state == NODE_UP && n->responding && !n->drain && !n->fail;
}

void top_done(struct top *t)
{
    look_end(t);
    vec_done(&t->node);
    vec_done(&t->job);
    busy_forget(t);
}

/* ---- asking ---- */

static void node_keep(void *ctx, const void *record)
{
    struct top *t = ctx;
    struct node *n = arena_alloc(t->a, sizeof *n);
    struct top_node *node = arena_alloc(t->a, sizeof *node);
    record_copy(&node_fields, n, record, t->a);
    *node = (struct top_node){.n = n};
    vec_push(&t->node, node);
}

static void job_keep(void *ctx, const void *record)
{
    struct top *t = ctx;
    struct job *j = arena_alloc(t->a, sizeof *j);
    struct top_job *job = arena_alloc(t->a, sizeof *job);
    record_copy(&job_fields, j, record, t->a);
    *job = (struct top_job){.j = j};
    vec_push(&t->job, job);
}

static void diag_keep(void *ctx, const void *record)
{
    ((struct top *)ctx)->waiting = ((const struct diag *)record)->jobs_pending;
}

static bool records_read(struct top *t, struct client *c, struct err *ret_err)
{
    const struct msg_query nodes = {.what = QUERY_NODES,
                                    .fields = "name,state,drain,fail,responding,cpus,alloc_cpus,"
                                              "load_centi,memory_mib,alloc_mem_mib,devices,"
                                              "devices_out,gres,alloc_gres,jobs,jobs_cleaning,"
                                              "planned,reserved,maint,reservation"},
                           jobs = {.what = QUERY_JOBS,
                                   .states = "RUNNING,SUSPENDED,COMPLETING",
                                   .fields = "id,array_job_id,array_task_id,het_job_id,het_offset,"
                                             "user_id,user_name,name,state,start_us,attempt,"
                                             "alloc_cpus,alloc_nodes,alloc,alloc_gres,nodes,"
                                             "suspended_us,end_us"},
                           diag = {.what = QUERY_DIAG};
    struct msg_done done = {0};
    return client_query(c, &nodes, &node_fields, t->a, node_keep, t, &done, ret_err) &&
           client_query(c, &jobs, &job_fields, t->a, job_keep, t, &done, ret_err) &&
           client_query(c, &diag, &diag_fields, t->a, diag_keep, t, &done, ret_err);
}

/* ---- whose is which ---- */

static int by_index(const void *a, const void *b)
{
    const struct top_gpu *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

/* Of a node that did not look for its devices (a virtual one) there is what its configuration
 * says. */
static void gpus_counted(struct top *t, struct top_node *n)
{
    struct gres_list list = {0};
    if (!n->n->gres || !gres_parse(n->n->gres, t->a, &list, NULL))
        return;
    int64_t has = gres_count(&list, "gpu");
    n->ngpus = has < 0 ? 0 : has < GPUS_MOST ? (size_t)has : GPUS_MOST;
    n->gpu = arena_alloc(t->a, (n->ngpus + 1) * sizeof *n->gpu);
    for (size_t i = 0; i < n->ngpus; i++)
        n->gpu[i] = (struct top_gpu){.index = (int32_t)i, .busy = TOP_NOT_KNOWN};
}

static void gpus_of(struct top *t, struct top_node *n)
{
    struct device_list list = {0};
    struct device_outs outs = {0};
    if (n->n->devices)
        devices_parse(n->n->devices, t->a, &list, NULL);
    device_outs_parse(n->n->devices_out, t->a, &outs);
    n->gpu = arena_alloc(t->a, (list.n + 1) * sizeof *n->gpu);
    for (size_t i = 0; i < list.n && n->ngpus < GPUS_MOST; i++)
        if (text_is(list.v[i].kind, "gpu"))
            n->gpu[n->ngpus++] =
                (struct top_gpu){.index = list.v[i].index,
                                 .busy = TOP_NOT_KNOWN,
                                 .out = device_outs_find(&outs, "gpu", list.v[i].index) != NULL};
    if (n->ngpus)
        qsort(n->gpu, n->ngpus, sizeof *n->gpu, by_index);
    else
        gpus_counted(t, n);
}

static void job_on_node(struct top_job *job, struct top_node *n, const struct alloc_node *has)
{
    vec_push(&n->job, job);
    for (size_t i = 0; i < has->ngres; i++) {
        struct idset set = IDSET_INIT;
        if (!text_is(has->gres[i].kind, "gpu") || !has->gres[i].devices ||
            !idset_parse(&set, has->gres[i].devices, INT32_MAX, NULL))
            continue;
        for (size_t k = 0; k < n->ngpus; k++)
            if (n->gpu[k].index >= 0 && idset_has(&set, (uint32_t)n->gpu[k].index)) {
                n->gpu[k].job = job->j;
                n->gpu[k].taken = true;
                job->gpus++;
            }
        idset_done(&set);
    }
}

/* "gpu:v100:2(IDX:0-1),gpu:h100:1(IDX:3)": of jobs that are not shown, too. */
static void taken_of(struct top_node *n)
{
    const char *at = n->n->alloc_gres;
    while (at && (at = strstr(at, "gpu:")) != NULL) {
        const char *open = strstr(at, "(IDX:"), *close = open ? strchr(open, ')') : NULL;
        struct idset set = IDSET_INIT;
        char text[256];
        size_t len = close ? (size_t)(close - open) - 5 : sizeof text;
        if (len < sizeof text) {
            memcpy(text, open + 5, len);
            text[len] = '\0';
            for (size_t i = 0; idset_parse(&set, text, INT32_MAX, NULL) && i < n->ngpus; i++)
                n->gpu[i].taken = n->gpu[i].taken || (n->gpu[i].index >= 0 &&
                                                      idset_has(&set, (uint32_t)n->gpu[i].index));
        }
        idset_done(&set);
        at = close ? close : at + 4;
    }
}

static void placed(struct top *t)
{
    struct map_str *by_name = map_str_new();
    for (size_t i = 0; i < t->node.n; i++) {
        gpus_of(t, t->node.v[i]);
        map_str_put(by_name, t->node.v[i]->n->name, t->node.v[i]);
    }
    for (size_t i = 0; i < t->job.n; i++) {
        struct alloc al = {0};
        if (!t->job.v[i]->j->alloc || !alloc_parse(t->job.v[i]->j->alloc, t->a, &al, NULL))
            continue;
        for (size_t k = 0; k < al.n; k++) {
            struct top_node *n = map_str_get(by_name, al.node[k].node);
            if (n)
                job_on_node(t->job.v[i], n, &al.node[k]);
        }
    }
    for (size_t i = 0; i < t->node.n; i++) {
        struct top_node *n = t->node.v[i];
        taken_of(n);
        for (size_t k = 0; k < n->ngpus; k++) {
            struct top_gpu *g = &n->gpu[k];
            g->away = !g->taken && !top_takes_jobs(n->n);
            n->taken += g->taken;
            n->free += !g->taken && !g->away && !g->out;
        }
    }
    map_str_free(by_name);
}

/* ---- how busy ---- */

static bool is_busy_value(const struct series_value *v)
{
    return v->id == SERIES_GPU_UTIL || v->id == SERIES_GPU_SM;
}

/* Of an instance there is the activity of its processors alone. */
static void busy_keep(struct top *t, const struct curve *c)
{
    char key[SERIES_NODE_BYTES + 16];
    const struct moment *last = c->at.n ? &c->at.v[c->at.n - 1] : NULL;
    if (!last || map_str_count(t->busy) > BUSY_MOST)
        return;
    snprintf(key, sizeof key, "%s/%d", c->key.node, c->key.device);
    struct top_read_seen *s = map_str_get(t->busy, key);
    if (s && s->at_ms >= last->at_ms && c->value->id == SERIES_GPU_SM)
        return;
    if (!s) {
        s = xcalloc(1, sizeof *s);
        map_str_put(t->busy, key, s);
    }
    *s = (struct top_read_seen){last->at_ms, last->v};
}

static void job_ask(struct top *t, struct client *c, struct top_job *job)
{
    struct curves curves = {.wants = is_busy_value};
    struct err ignored = {0};
    const struct msg_get_series get = {.job_id = job->j->id,
                                       .attempt = job->j->attempt,
                                       .from_us = time_now_us() - SAMPLES_S * INT64_C(1000000)};
    job->asked = true;
    if (curves_fetch(&curves, c, &get, &ignored))
        for (size_t i = 0; i < curves.v.n; i++)
            busy_keep(t, curves.v.v[i]);
    curves_done(&curves);
}

static void samples_read(struct top *t, struct client *c, size_t most)
{
    size_t asked = 0;
    for (size_t i = 0; i < t->job.n && asked < most; i++)
        if (t->job.v[i]->gpus && t->job.v[i]->first) {
            job_ask(t, c, t->job.v[i]);
            asked++;
        }
    for (size_t i = 0; i < t->job.n && asked < most; i++) {
        struct top_job *j = t->job.v[(t->next + i) % t->job.n];
        if (j->gpus && !j->asked) {
            job_ask(t, c, j);
            asked++;
            t->next = (t->next + i + 1) % t->job.n;
        }
    }
}

static void busy_set(struct top *t)
{
    int64_t now_ms = time_now_us() / 1000;
    struct map_u64 *by_id = map_u64_new();
    for (size_t i = 0; i < t->job.n; i++)
        map_u64_put(by_id, t->job.v[i]->j->id, t->job.v[i]);
    for (size_t i = 0; i < t->node.n; i++) {
        struct top_node *n = t->node.v[i];
        for (size_t k = 0; k < n->ngpus; k++) {
            char key[SERIES_NODE_BYTES + 16];
            snprintf(key, sizeof key, "%s/%d", n->n->name, n->gpu[k].index);
            const struct top_read_seen *s = map_str_get(t->busy, key);
            struct top_job *job = n->gpu[k].job ? map_u64_get(by_id, n->gpu[k].job->id) : NULL;
            if (!s || !job || now_ms - s->at_ms > SAMPLES_S * 1000)
                continue;
            n->gpu[k].busy = s->busy;
            n->busy += s->busy;
            n->known++;
            job->busy += s->busy;
            job->known++;
        }
    }
    map_u64_free(by_id);
}

bool top_read(struct top *t, struct client *c, size_t most,
              void (*choose)(void *ctx, struct top *t), void *ctx, struct err *ret_err)
{
    look_end(t);
    t->a = arena_new();
    if (!t->busy || map_str_count(t->busy) > BUSY_MOST) {
        busy_forget(t);
        t->busy = map_str_new();
    }
    if (!records_read(t, c, ret_err))
        return false;
    placed(t);
    if (choose)
        choose(ctx, t);
    samples_read(t, c, most);
    busy_set(t);
    return true;
}
