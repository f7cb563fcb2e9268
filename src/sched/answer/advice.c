/* What would let a job start sooner. Each kind of change has a row in the table at the end; a row
 * tries what it knows, by what-if passes, and adds what helps. Amounts (time, memory, CPUs, nodes,
 * devices) are searched for the largest that starts now: the least is tried first, and when even
 * that does not start, the row is done after one pass. Rows that need one pass each come first, so
 * that a bound on work cuts the searches. */
#include "sched/answer/advice.h"

#include "base/list.h"
#include "sched/answer/advice_trial.h"

#include <stdlib.h>
#include <string.h>

/* sched_check works a request out against every group. */
#define CHECK_COST 4000

/* When it would start with this request, which is completed as a submission would be; INT64_MAX =
 * never, as far as is known. */
static int64_t trial_start(struct trial *t, struct job_request *req, bool anew)
{
    enum job_reason pend = REASON_NONE;
    t->w.cost += CHECK_COST + t->w.cl->group.n * 16;
    t->w.anew = anew;
    vec_clear(&t->w.stops);
    if (whatif_spent(&t->w)) {
        t->ret->cut = true;
        return INT64_MAX;
    }
    /* The other components would be new, too: not what is tried here */
    if (anew && t->w.job->lane->het)
        return INT64_MAX;
    if (sched_check(t->w.cl, req, t->w.job->w.uid, t->groups, &pend, NULL) != REFUSE_NONE ||
        pend != REASON_NONE)
        return INT64_MAX;
    return whatif_start(&t->w, req);
}

bool trial_starts_now(struct trial *t, struct job_request req, bool anew)
{
    return trial_start(t, &req, anew) == t->w.now_us && t->w.stops.n == 0;
}

#define STOPS_SAID 5

/* "job 7 is requeued, job 8 is cancelled" */
static const char *stops_text(const struct trial *t)
{
    static const char *const words[] = {[PREEMPT_CANCEL] = "cancelled",
                                        [PREEMPT_REQUEUE] = "requeued",
                                        [PREEMPT_SUSPEND] = "suspended"};
    struct str s = STR_INIT;
    for (size_t i = 0; i < t->w.stops.n && i < STOPS_SAID; i++) {
        const struct plan_preempt *one = &t->w.stops.v[i];
        const char *word = (size_t)one->mode < ARRAY_LEN(words) ? words[one->mode] : NULL;
        str_addf(&s, "%sjob %llu is %s", i ? ", " : "", (unsigned long long)one->victim,
                 word ? word : "stopped");
    }
    if (t->w.stops.n > STOPS_SAID)
        str_addf(&s, " and %zu more", t->w.stops.n - STOPS_SAID);
    const char *text = s.len ? arena_strdup(t->a, str_text(&s)) : NULL;
    str_done(&s);
    return text;
}

void trial_advise(struct trial *t, const struct job_request *req, int64_t start_us,
                  const char *option, const char *update)
{
    ASSERT(start_us >= t->w.now_us);
    struct advice one = {.option = option, .update = update, .start_us = start_us};
    record_copy(&job_request_fields, &one.req, req, t->a);
    vec_push(&t->ret->v, one);
}

/* Sooner by so little is not worth a change. */
static bool much_sooner(const struct trial *t, int64_t at)
{
    if (at == INT64_MAX || t->ret->start_us == INT64_MAX)
        return at != INT64_MAX;
    int64_t gain = t->ret->start_us - at;
    return gain >= USEC_PER_MIN && gain >= (t->ret->start_us - t->w.now_us) / 10;
}

/* A change that is tried once. */
void trial_once(struct trial *t, struct job_request req, const char *option, const char *update)
{
    int64_t at = trial_start(t, &req, !update);
    if (t->w.stops.n > 0) {
        trial_advise(t, &req, t->w.now_us, option, update);
        t->ret->v.v[t->ret->v.n - 1].stops = stops_text(t);
    } else if (at == t->w.now_us || much_sooner(t, at)) {
        trial_advise(t, &req, at, option, update);
    }
}

/* ---- amounts ---- */

/* The largest of least, 2 × least, … below `most` with which it starts now; 0 = none. What is
 * returned was itself tried. */
int64_t trial_largest(struct trial *t, int64_t least, int64_t most, bool anew, amount_set set,
                      void *ctx)
{
    ASSERT(least > 0);
    /* In units of `least`: low starts, high is as it was */
    int64_t low = 1, high = (most - 1) / least + 1;
    struct job_request req = *t->req;
    if (least >= most)
        return 0;
    set(&req, least, ctx, t->a);
    if (!trial_starts_now(t, req, anew))
        return 0;
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        req = *t->req;
        set(&req, middle * least, ctx, t->a);
        if (trial_starts_now(t, req, anew))
            low = middle;
        else
            high = middle;
    }
    return low * least;
}

/* Searches and advises. `option` and `update` are printf formats of the value as text. */
static void try_amount(struct trial *t, int64_t least, int64_t most, amount_set set, void *ctx,
                       const char *(*word)(int64_t value, struct arena *a), const char *option,
                       const char *update)
{
    int64_t value = trial_largest(t, least, most, !update, set, ctx);
    if (value == 0)
        return;
    struct job_request req = *t->req;
    set(&req, value, ctx, t->a);
    const char *text = word(value, t->a);
    trial_advise(t, &req, t->w.now_us, arena_printf(t->a, "%s=%s", option, text),
                 update ? arena_printf(t->a, "%s=%s", update, text) : NULL);
}

static const char *word_count(int64_t n, struct arena *a)
{
    return arena_printf(a, "%lld", (long long)n);
}

static const char *word_size(int64_t mib, struct arena *a)
{
    struct str s = STR_INIT;
    size_format_mib(mib, 0, &s);
    const char *text = arena_strdup(a, str_text(&s));
    str_done(&s);
    return text;
}

static const char *word_time(int64_t us, struct arena *a)
{
    struct str s = STR_INIT;
    duration_format_short(us, &s);
    const char *text = arena_strdup(a, str_text(&s));
    str_done(&s);
    return text;
}

/* ---- partitions ---- */

#define PARTITIONS_TRIED 12

static void try_partitions(struct trial *t)
{
    const struct cluster *cl = t->w.cl;
    int tried = 0;
    for (size_t i = 0; i < cl->part.n && tried < PARTITIONS_TRIED; i++) {
        const struct partition *p = &cl->part.v[i]->p;
        bool closed =
            !t->groups && !text_empty(p->allow_groups) && !text_is_nocase(p->allow_groups, "ALL");
        if (cl->part.v[i]->gone || closed || p->hidden || list_has(t->req->partition, p->name))
            continue;
        struct job_request req = *t->req;
        req.partition = p->name;
        bool cut = p->max_time_us > 0 && t->o->limit_us > p->max_time_us;
        if (cut)
            req.time_limit_us = p->max_time_us;
        const char *time = cut ? word_time(p->max_time_us, t->a) : "";
        trial_once(t, req,
                   arena_printf(t->a, "--partition=%s%s%s", p->name, cut ? " --time=" : "", time),
                   arena_printf(t->a, "Partition=%s%s%s", p->name, cut ? " TimeLimit=" : "", time));
        tried++;
    }
}

/* ---- conditions that could be given up ---- */

static void try_conditions(struct trial *t)
{
    struct job_request req = *t->req;
    if (!text_empty(req.constraint)) {
        req.constraint = NULL;
        trial_once(t, req, arena_printf(t->a, "no --constraint=%s", t->req->constraint), NULL);
    }
    req = *t->req;
    if (!text_empty(req.exclude)) {
        req.exclude = NULL;
        trial_once(t, req, arena_printf(t->a, "no --exclude=%s", t->req->exclude), "ExcNodeList=");
    }
    req = *t->req;
    if (!text_empty(req.nodelist)) {
        req.nodelist = NULL;
        trial_once(t, req, arena_printf(t->a, "no --nodelist=%s", t->req->nodelist),
                   "ReqNodeList=");
    }
    req = *t->req;
    if (req.contiguous) {
        req.contiguous = false;
        trial_once(t, req, "no --contiguous", "Contiguous=no");
    }
    req = *t->req;
    if (req.exclusive != EXCLUSIVE_UNSET) {
        req.exclusive = EXCLUSIVE_UNSET;
        trial_once(t, req, "no --exclusive", NULL);
    }
    req = *t->req;
    if (!text_empty(req.licenses)) {
        req.licenses = NULL;
        trial_once(t, req, arena_printf(t->a, "no --licenses=%s", t->req->licenses), NULL);
    }
}

/* ---- time ---- */

/* A job that ends before promised work begins may pass it; half a minute is left to whoever follows
 * the advice. */
#define TIME_SLACK  (USEC_PER_MIN / 2)
#define TIMES_TRIED 6

static int longest_first(const void *va, const void *vb)
{
    int64_t a = *(const int64_t *)va, b = *(const int64_t *)vb;
    return (a < b) - (a > b);
}

static void try_time(struct trial *t)
{
    VEC(int64_t) limit = {0};
    int64_t last = t->o->limit_us;
    int tried = 0;
    if (t->o->part->p.max_time_us > 0)
        vec_push(&limit, t->o->part->p.max_time_us);
    for (size_t i = 0; i < t->w.promised_us.n; i++)
        vec_push(&limit,
                 (t->w.promised_us.v[i] - t->w.now_us - TIME_SLACK) / USEC_PER_MIN * USEC_PER_MIN);
    if (limit.n > 1)
        qsort(limit.v, limit.n, sizeof limit.v[0], longest_first);
    for (size_t i = 0; i < limit.n && tried < TIMES_TRIED; i++) {
        if (limit.v[i] >= last || limit.v[i] < USEC_PER_MIN)
            continue;
        last = limit.v[i];
        tried++;
        struct job_request req = *t->req;
        req.time_limit_us = last;
        if (req.time_min_us >= last)
            req.time_min_us = 0;
        if (!trial_starts_now(t, req, false))
            continue;
        const char *text = word_time(last, t->a);
        trial_advise(t, &req, t->w.now_us, arena_printf(t->a, "--time=%s", text),
                     arena_printf(t->a, "TimeLimit=%s", text));
        break;
    }
    vec_done(&limit);
}

/* ---- memory, CPUs, tasks, nodes ---- */

#define MEMORY_STEPS 16

static void set_mem_node(struct job_request *req, int64_t value, void *ctx, struct arena *a)
{
    (void)ctx, (void)a;
    req->mem_per_cpu_mib = req->mem_per_gpu_mib = 0;
    req->mem_per_node_mib = value;
}
static void set_mem_cpu(struct job_request *req, int64_t value, void *ctx, struct arena *a)
{
    (void)ctx, (void)a;
    req->mem_per_cpu_mib = value;
}
static void set_mem_gpu(struct job_request *req, int64_t value, void *ctx, struct arena *a)
{
    (void)ctx, (void)a;
    req->mem_per_gpu_mib = value;
}
static void set_cpus(struct job_request *req, int64_t value, void *ctx, struct arena *a)
{
    (void)ctx, (void)a;
    req->cpus_per_task = (int32_t)value;
}
static void set_tasks(struct job_request *req, int64_t value, void *ctx, struct arena *a)
{
    (void)ctx, (void)a;
    req->ntasks = (int32_t)value;
}
static void set_nodes(struct job_request *req, int64_t value, void *ctx, struct arena *a)
{
    (void)ctx, (void)a;
    if (req->max_nodes == req->min_nodes)
        req->max_nodes = (int32_t)value;
    req->min_nodes = (int32_t)value;
}

static int64_t memory_step(int64_t most)
{
    return most / MEMORY_STEPS > 0 ? most / MEMORY_STEPS : 1;
}

/* Memory of the largest node: what a job that asks for all, or for its share, may hold. */
static int64_t memory_most(const struct cluster *cl)
{
    int64_t most = 1;
    for (size_t g = 0; g < cl->group.n; g++)
        most = cl->group.v[g]->mem_mib > most ? cl->group.v[g]->mem_mib : most;
    return most;
}

static void try_memory(struct trial *t)
{
    const struct job_request *r = t->req;
    if (t->o->mem == MEM_NONE)
        return;
    if (r->mem_per_cpu_mib > 0) {
        try_amount(t, memory_step(r->mem_per_cpu_mib), r->mem_per_cpu_mib, set_mem_cpu, NULL,
                   word_size, "--mem-per-cpu", "MinMemoryCPU");
    } else if (r->mem_per_gpu_mib > 0) {
        try_amount(t, memory_step(r->mem_per_gpu_mib), r->mem_per_gpu_mib, set_mem_gpu, NULL,
                   word_size, "--mem-per-gpu", NULL);
    } else {
        int64_t most = r->mem_per_node_mib > 0 ? r->mem_per_node_mib : memory_most(t->w.cl);
        try_amount(t, memory_step(most), most, set_mem_node, NULL, word_size, "--mem",
                   "MinMemoryNode");
    }
}

static void try_cpus(struct trial *t)
{
    try_amount(t, 1, t->req->cpus_per_task, set_cpus, NULL, word_count, "--cpus-per-task",
               "CpusPerTask");
    try_amount(t, 1, t->req->ntasks, set_tasks, NULL, word_count, "--ntasks", "NumTasks");
}

static void try_nodes(struct trial *t)
{
    if (t->req->max_nodes == 0 || t->req->max_nodes == t->req->min_nodes)
        try_amount(t, 1, t->req->min_nodes, set_nodes, NULL, word_count, "--nodes", "NumNodes");
}

/* ---- all of them ---- */

static void (*const tries[])(struct trial *t) = {
    try_partitions, advise_gpu_types, try_time, try_conditions,
    try_nodes,      try_memory,       try_cpus, advise_fewer_gpus,
};

/* What stops nobody goes first. */
static bool better(const struct advice *a, const struct advice *b)
{
    return a->start_us != b->start_us ? a->start_us < b->start_us : !a->stops && b->stops;
}

static void now_first(struct advices *v)
{
    for (size_t i = 1; i < v->v.n; i++)
        for (size_t k = i; k > 0 && better(&v->v.v[k], &v->v.v[k - 1]); k--) {
            struct advice swap = v->v.v[k];
            v->v.v[k] = v->v.v[k - 1];
            v->v.v[k - 1] = swap;
        }
}

/* A forecast that costs more than this is not made for an advice: then only what starts now, or
 * gets a promise, is known. */
#define FORECAST_COST 150000

void sched_advise(struct cluster *cl, const struct plan *p, uint64_t job_id,
                  const char *user_groups, int64_t now_us, uint64_t cost_max, struct arena *a,
                  struct advices *ret)
{
    struct trial t = {.groups = user_groups, .a = a, .ret = ret};
    *ret = (struct advices){.start_us = INT64_MAX};
    if (!whatif_init(&t.w, cl, p, job_id, now_us, cost_max))
        return;
    const struct compiled *c = demand_of(t.w.cl, t.w.job->lane->klass);
    t.req = t.w.job->w.req;
    t.o = c->n > 0 ? &c->option[0] : NULL;
    t.w.forecast = p->priv->forecast_cost < FORECAST_COST;
    ret->start_us = t.o ? whatif_start(&t.w, t.req) : INT64_MAX;
    const struct planned *f = map_u64_get(p->priv->planned, job_id);
    if (ret->start_us == INT64_MAX && f)
        ret->start_us = f->start_us > now_us ? f->start_us : now_us + 1;
    for (size_t i = 0; t.o && ret->start_us != now_us && i < ARRAY_LEN(tries); i++)
        tries[i](&t);
    now_first(ret);
    ret->cost = t.w.cost;
    whatif_done(&t.w);
}

void advices_done(struct advices *v)
{
    vec_done(&v->v);
}
