#include "model/job/job_counts.h"

#include "base/amount.h"
#include "base/arena.h"
#include "base/plain.h"
#include "base/str.h"
#include "model/grammar/gres.h"

#include <string.h>

int32_t job_nodes(const struct job *j)
{
    if (j->alloc_nodes)
        return j->alloc_nodes;
    int32_t n = j->spec.req.min_nodes;
    if (n < 1 && j->spec.req.ntasks > 0 && j->spec.req.ntasks_per_node > 0)
        n = (j->spec.req.ntasks + j->spec.req.ntasks_per_node - 1) / j->spec.req.ntasks_per_node;
    return n > 0 ? n : 1;
}

int32_t job_tasks(const struct job *j)
{
    const struct job_request *r = &j->spec.req;
    if (j->alloc_tasks)
        return j->alloc_tasks;
    if (r->ntasks)
        return r->ntasks;
    return amount_i32(amount_times(job_nodes(j), r->ntasks_per_node ? r->ntasks_per_node : 1));
}

int32_t job_cpus(const struct job *j)
{
    const struct job_request *r = &j->spec.req;
    if (j->alloc_cpus)
        return j->alloc_cpus;
    int32_t nodes = job_nodes(j), tasks = r->overcommit ? nodes : job_tasks(j);
    int32_t cpus = amount_i32(amount_times(tasks, r->cpus_per_task ? r->cpus_per_task : 1));
    return cpus > nodes ? cpus : nodes;
}

int64_t job_mem_mib(const struct job *j)
{
    const struct job_request *r = &j->spec.req;
    if (j->alloc_mem_mib)
        return j->alloc_mem_mib;
    return r->mem_per_cpu_mib > 0    ? amount_times(r->mem_per_cpu_mib, job_cpus(j))
           : r->mem_per_node_mib > 0 ? amount_times(r->mem_per_node_mib, job_nodes(j))
                                     : 0;
}

int32_t job_gpus_held(const char *gres)
{
    struct span rest = span_of(gres ? gres : ""), piece;
    int64_t sum = 0;
    while (span_next(&rest, ',', &piece)) {
        const char *equals = memchr(piece.data, '=', piece.len);
        char number[16] = "";
        int64_t count;
        size_t len = equals ? piece.len - (size_t)(equals + 1 - piece.data) : 0;
        bool gpu = piece.len > 3 && memcmp(piece.data, "gpu", 3) == 0 &&
                   (piece.data[3] == ':' || piece.data[3] == '=');
        if (!gpu || !equals || len >= sizeof number)
            continue;
        memcpy(number, equals + 1, len);
        if (text_to_i64(number, 0, INT32_MAX, &count))
            sum += count;
    }
    return sum > INT32_MAX ? INT32_MAX : (int32_t)sum;
}

/* "gpu" are those of all types; of "gpu:v100" what is asked for by that type. */
static int64_t count_in(const struct gres_list *list, const char *name)
{
    size_t kind = strcspn(name, ":");
    int64_t count = 0;
    for (size_t i = 0; i < list->n; i++) {
        const struct gres_item *item = &list->item[i];
        bool same = strlen(item->kind) == kind && strncmp(item->kind, name, kind) == 0 &&
                    (!name[kind] || text_is_nocase(item->type, name + kind + 1));
        count += same ? item->count : 0;
    }
    return count;
}

int64_t job_gres_asked(const struct job *j, const char *name)
{
    const struct job_request *r = &j->spec.req;
    bool gpus = strncmp(name, "gpu", 3) == 0 && (!name[3] || name[3] == ':');
    struct arena *a = arena_new();
    struct gres_list list;
    int64_t count = 0, sockets = r->sockets_per_node > 0 ? r->sockets_per_node : 1;
    if (gpus && r->gpus && gres_parse_gpus(r->gpus, a, &list, NULL))
        count = count_in(&list, name);
    else if (gpus && r->gpus_per_node && gres_parse_gpus(r->gpus_per_node, a, &list, NULL))
        count = amount_times(count_in(&list, name), job_nodes(j));
    else if (gpus && r->gpus_per_socket && gres_parse_gpus(r->gpus_per_socket, a, &list, NULL))
        count = amount_times(count_in(&list, name), amount_times(sockets, job_nodes(j)));
    else if (gpus && r->gpus_per_task && gres_parse_gpus(r->gpus_per_task, a, &list, NULL))
        count = amount_times(count_in(&list, name), job_tasks(j));
    else if (r->gres && gres_parse(r->gres, a, &list, NULL))
        count = amount_times(count_in(&list, name), job_nodes(j));
    arena_free(a);
    if (count == 0 && strcmp(name, "gpu") == 0 && r->ntasks_per_gpu > 0 && r->ntasks > 0)
        count = (r->ntasks - 1) / r->ntasks_per_gpu + 1;
    return count;
}

int64_t job_gpus_asked(const struct job *j)
{
    return job_gres_asked(j, "gpu");
}

/* ---- billing ---- */

int64_t job_billing(const struct job *j)
{
    if (j->alloc_cpus)
        return j->billing_plus1 ? j->billing_plus1 - 1 : j->alloc_cpus;
    return j->billing_asked_plus1 ? j->billing_asked_plus1 - 1 : job_cpus(j);
}

int64_t job_suspended_us(const struct job *j, int64_t now_us)
{
    int64_t now = j->state == JOB_SUSPENDED && j->suspend_us ? now_us - j->suspend_us : 0;
    return time_add(j->suspended_us, now > 0 ? now : 0);
}

int64_t job_part_suspended_us(const struct job *j, int64_t now_us)
{
    return job_suspended_us(j, now_us) - j->resize_suspended_us;
}

/* suspend_us is when it was stopped or went on last: both leave the time that it ran before. */
int64_t job_before_suspension_us(const struct job *j)
{
    int64_t ran = j->suspend_us ? j->suspend_us - j->start_us - j->suspended_us : 0;
    return ran > 0 ? ran : 0;
}

int64_t step_suspended_us(const struct step *s, const struct job *j, int64_t now_us)
{
    if (s->end_us || !s->start_us)
        return s->suspended_us;
    int64_t us = job_suspended_us(j, now_us) - s->suspended_before_us;
    return us > 0 ? us : 0;
}

int64_t job_accrue_us(const struct job *j)
{
    if (!j->eligible_us || j->accrue_us == ACCRUES_NOT)
        return 0;
    return j->accrue_us ? j->accrue_us : j->eligible_us;
}

int64_t job_first_submit_us(const struct job *j)
{
    return j->first_submit_us ? j->first_submit_us : j->submit_us;
}

int64_t job_limit_asked(const struct job_request *req)
{
    int64_t limit_us = req->time_limit_us;
    return limit_us <= 0 || limit_us == TIME_UNLIMITED ? 0 : limit_us - limit_us % USEC_PER_SEC;
}

/* Of what it holds; kind, or kind:type. */
static int64_t gres_held(const struct job *j, const char *name)
{
    struct span rest = span_of(j->alloc_gres ? j->alloc_gres : ""), piece;
    int64_t sum = 0;
    size_t len = strlen(name);
    while (span_next(&rest, ',', &piece)) {
        const char *equals = memchr(piece.data, '=', piece.len);
        if (!equals || piece.len < len || memcmp(piece.data, name, len) != 0 ||
            (piece.data[len] != '=' && piece.data[len] != ':'))
            continue;
        int64_t n = 0;
        for (const char *d = equals + 1; d < piece.data + piece.len && *d >= '0' && *d <= '9'; d++)
            n = n * 10 + (*d - '0');
        sum += n;
    }
    return sum;
}

static int64_t count_of(const struct job *j, const struct tres_weight *t)
{
    switch (t->kind) {
    case TRES_CPU: return job_cpus(j);
    case TRES_MEM: return job_mem_mib(j);
    case TRES_NODE: return job_nodes(j);
    case TRES_GRES:
        return j->alloc_nodes                ? gres_held(j, t->name)
               : strcmp(t->name, "gpu") == 0 ? job_gpus_asked(j)
                                             : 0;
    }
    return 0;
}

int64_t job_billing_milli(const struct job *j, const struct tres_weights *w, bool largest)
{
    int64_t sum = 0, most = 0;
    for (size_t i = 0; i < w->n; i++) {
        int64_t milli = w->v[i].milli, count = count_of(j, &w->v[i]);
        int64_t one = amount_times(milli < 0 ? -milli : milli, count) / w->v[i].per;
        one = milli < 0 ? -one : one;
        sum += one;
        most = one > most ? one : most;
    }
    int64_t milli = largest ? most : sum;
    return milli > 0 ? milli : 0;
}
