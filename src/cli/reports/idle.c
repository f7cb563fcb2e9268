/* remuda report --idle: running jobs all of whose GPUs do nothing, those first that have done so
 * for longest. */
#include "cli/reports/idle.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/vec.h"
#include "cli/record/columns_job.h"
#include "model/grammar/gres.h"
#include "model/job/job.h"
#include "model/message.h"
#include "wire/json.h"

#include <stdio.h>
#include <stdlib.h>

#define FIELDS                                                                                     \
    "id,array_job_id,array_task_id,het_job_id,het_offset,user_name,user_id,account,partition,"     \
    "run_partition,qos,name,nodes,alloc_gres,start_us,state,gpu_idle_us,gpu_idle_next"

struct idle_jobs {
    VEC(const struct job *) v;
    struct arena *a;
};

static void job_keep(void *ctx, const void *record)
{
    struct idle_jobs *i = ctx;
    const struct job *j = record;
    struct job *copy;
    if (j->gpu_idle_us < USEC_PER_SEC)
        return;
    copy = arena_alloc(i->a, sizeof *copy);
    record_copy(&job_fields, copy, j, i->a);
    vec_push(&i->v, copy);
}

static int by_idle(const void *va, const void *vb)
{
    const struct job *a = *(const struct job *const *)va, *b = *(const struct job *const *)vb;
    if (a->gpu_idle_us != b->gpu_idle_us)
        return a->gpu_idle_us > b->gpu_idle_us ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static int64_t gpus_of(const struct job *j, struct arena *a)
{
    struct gres_list list;
    return gres_held_parse(j->alloc_gres, a, &list) ? gres_count(&list, "gpu") : 0;
}

static void table_print(const struct idle_jobs *i)
{
    struct str label = STR_INIT, idle = STR_INIT;
    printf("%-16s %-12s %-12s %-10s %4s %12s  %s\n", "JOB", "USER", "ACCOUNT", "PARTITION", "GPUS",
           "IDLE", "NODES");
    for (size_t k = 0; k < i->v.n; k++) {
        const struct job *j = i->v.v[k];
        str_clear(&label);
        str_clear(&idle);
        job_label(j, &label);
        duration_format(j->gpu_idle_us / USEC_PER_SEC * USEC_PER_SEC, &idle);
        printf("%-16s %-12s %-12s %-10s %4lld %12s  %s\n", str_text(&label),
               j->user_name ? j->user_name : "?", j->spec.req.account ? j->spec.req.account : "",
               j->run_partition ? j->run_partition : "", (long long)gpus_of(j, i->a),
               str_text(&idle), j->nodes ? j->nodes : "");
        if (!text_empty(j->gpu_idle_next))
            printf("%16s %s\n", "", j->gpu_idle_next);
    }
    str_done(&label);
    str_done(&idle);
}

static void json_print(const struct idle_jobs *i, enum json_form form)
{
    struct str text = STR_INIT;
    struct json_out o;
    json_begin(&o, &text, true);
    json_object(&o);
    json_key(&o, "jobs");
    json_array(&o);
    for (size_t k = 0; k < i->v.n; k++) {
        const struct job *j = i->v.v[k];
        json_object(&o);
        json_key_i64(&o, "job_id", (int64_t)j->id);
        json_key_text(&o, "user", j->user_name);
        json_key_text(&o, "account", j->spec.req.account);
        json_key_text(&o, "partition", j->run_partition);
        json_key_text(&o, "qos", j->spec.req.qos);
        json_key_text(&o, "name", j->spec.name);
        json_key_text(&o, "nodes", j->nodes);
        json_key_i64(&o, "gpus", gpus_of(j, i->a));
        json_key_i64(&o, "idle_s", j->gpu_idle_us / USEC_PER_SEC);
        json_key_text(&o, "next", j->gpu_idle_next);
        json_object_end(&o);
    }
    json_array_end(&o);
    json_object_end(&o);
    json_form_print(&text, form);
    str_done(&text);
}

bool idle_report(struct client *c, const struct msg_query *who, enum json_form form,
                 struct arena *a, struct err *ret_err)
{
    struct msg_query q = {.what = QUERY_JOBS,
                          .fields = FIELDS,
                          .states = "RUNNING",
                          .uids = who->uids,
                          .accounts = who->accounts};
    struct idle_jobs i = {.a = a};
    struct msg_done done;
    bool ok = client_query(c, &q, &job_fields, a, job_keep, &i, &done, ret_err);
    if (ok && i.v.n)
        qsort(i.v.v, i.v.n, sizeof i.v.v[0], by_idle);
    if (ok && form)
        json_print(&i, form);
    else if (ok && i.v.n)
        table_print(&i);
    else if (ok)
        puts("no running job has GPUs that are all known to do nothing");
    vec_done(&i.v);
    return ok;
}
