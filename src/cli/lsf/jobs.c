/* Jobs as LSF shows them: the elements of an array that wait are one record, and a line each; what
 * ended lately is in the history. */
#include "cli/lsf/jobs.h"

#include "base/amount.h"
#include "base/hostlist.h"
#include "base/idset.h"
#include "base/list.h"
#include "cli/lsf/reasons.h"
#include "cli/program/localtime.h"
#include "cli/record/columns_job.h"
#include "cli/reports/efficiency.h"
#include "cli/table/listing.h"
#include "model/job/alloc.h"
#include "model/job/array.h"
#include "model/job/dependency.h"
#include "model/job/job_counts.h"
#include "wire/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLEAN_PERIOD    (3600 * USEC_PER_SEC) /* ended jobs stay in bjobs -a so long */
#define ELEMENTS_LISTED 100000

/* ---- reading ---- */

struct jobs_reading {
    const struct lsf_filter *f;
    struct arena *a;
    struct lsf_job_list *to;
    const struct job_ref *ref; /* of the id that is asked for; NULL = none */
    const char *name;          /* -J without its index */
    bool name_indexed;
    uint32_t name_index;
};

bool lsf_id_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct lsf_filter *f = to;
    if (!lsf_job_ref(word, a))
        return err_set(ret_err, ERR_VALUE, "%s: Illegal job ID.", word);
    vec_push(&f->ids, arena_strdup(a, word));
    return true;
}

void lsf_filter_done(struct lsf_filter *f)
{
    vec_done(&f->ids);
}

void lsf_job_list_done(struct lsf_job_list *l)
{
    vec_done(&l->job);
    vec_done(&l->part);
    vec_done(&l->missing);
    vec_done(&l->more);
    vec_done(&l->part_meant);
}

static int numbers_compare(const void *va, const void *vb)
{
    uint64_t a = *(const uint64_t *)va, b = *(const uint64_t *)vb;
    return (a > b) - (a < b);
}

bool lsf_job_list_is_part(const struct lsf_job_list *l, uint64_t number)
{
    return l->part_meant.n && bsearch(&number, l->part_meant.v, l->part_meant.n,
                                      sizeof l->part_meant.v[0], numbers_compare);
}

static bool index_is_meant(const struct jobs_reading *r, uint32_t index)
{
    const struct job_ref *ref = r->ref;
    if (r->name_indexed && index != r->name_index)
        return false;
    if (!ref || (ref->task_id == NO_TASK && ref->tasks.count == 0))
        return true;
    return ref->task_id == index || idset_has(&ref->tasks, index);
}

/* A group is a path; those below it are in it. "/" has every job that is in one. */
static bool in_group(const char *group, const char *asked)
{
    const char *path = asked[0] == '/' ? asked + 1 : asked;
    size_t len = strlen(path);
    if (text_empty(group))
        return false;
    len -= len && path[len - 1] == '/';
    return !len || (strncmp(group + 1, path, len) == 0 && strchr("/", group[1 + len]));
}

static bool is_meant(const struct jobs_reading *r, const struct job *j)
{
    const struct lsf_filter *f = r->f;
    return !f->none && (!f->queue || job_in_partitions(j, f->queue)) &&
           (!r->name || text_glob(r->name, j->spec.name ? j->spec.name : "")) &&
           (!f->group || in_group(j->spec.job_group, f->group)) &&
           (!f->project || text_is(f->project, j->spec.project ? j->spec.project : "default"));
}

static void job_keep(void *ctx, const void *record)
{
    struct jobs_reading *r = ctx;
    struct job named = *(const struct job *)record;
    const struct job *j = &named;
    struct idset waiting = IDSET_INIT;
    uint32_t index;
    size_t listed = 0;
    if (!is_meant(r, j)) {
        vec_push(&r->to->part_meant, lsf_job_number(j));
        return;
    }
    if (r->name_indexed || r->f->host) /* whom the controller left out is not seen here */
        vec_push(&r->to->part_meant, lsf_job_number(j));
    if (!named.user_name) /* nobody has that number, or not any more */
        named.user_name = arena_printf(r->a, "%u", named.user_id);
    bool elements = j->array_pending && idset_parse(&waiting, j->array_pending, UINT32_MAX, NULL);
    if (!elements && index_is_meant(r, j->array_task_id))
        vec_push(&r->to->job, (const struct job *)arena_dup(r->a, j, sizeof *j));
    bool more = elements && idset_first(&waiting, &index);
    for (; more && listed < ELEMENTS_LISTED; more = idset_next(&waiting, index, &index)) {
        if (!index_is_meant(r, index))
            continue;
        struct job *one = arena_dup(r->a, j, sizeof *j);
        one->array_task_id = index;
        one->array_pending = NULL;
        if (!one->array_job_id)
            one->array_job_id = one->id;
        vec_push(&r->to->job, (const struct job *)one);
        listed++;
    }
    struct lsf_more others = {j, 0};
    for (; more; more = idset_next(&waiting, index, &index))
        others.n += index_is_meant(r, index);
    if (others.n) {
        others.job = arena_dup(r->a, j, sizeof *j);
        vec_push(&r->to->more, others);
    }
    idset_done(&waiting);
}

static bool query(struct client *c, struct jobs_reading *r, struct msg_query *q, struct err *e)
{
    struct msg_done done = {0};
    return client_query(c, q, &job_fields, r->a, job_keep, r, &done, e);
}

/* Of one id: the job as it is, or as it was. */
static bool id_read(struct client *c, struct jobs_reading *r, const char *id, struct err *e)
{
    struct job_ref ref;
    struct msg_query q = {.what = QUERY_JOBS, .ids = lsf_job_ref(id, r->a), .states = "all"};
    size_t before = r->to->job.n;
    q.duplicates = r->f->runs;
    job_ref_parse(q.ids, &ref, NULL);
    r->ref = &ref;
    bool ok = r->f->past || query(c, r, &q, e);
    if (ok && r->to->job.n == before) {
        q.what = QUERY_HISTORY;
        ok = query(c, r, &q, e);
    }
    job_ref_done(&ref);
    r->ref = NULL;
    if (ok && r->to->job.n == before)
        vec_push(&r->to->missing, id);
    return ok;
}

static int by_number(const void *va, const void *vb)
{
    const struct job *a = *(const struct job *const *)va, *b = *(const struct job *const *)vb;
    uint64_t x = lsf_job_number(a), y = lsf_job_number(b);
    if (x != y)
        return x < y ? -1 : 1;
    int order = (a->array_task_id > b->array_task_id) - (a->array_task_id < b->array_task_id);
    return order ? order : (a->attempt > b->attempt) - (a->attempt < b->attempt);
}

static bool users_read(const struct lsf_filter *f, struct arena *a, const char **ret, struct err *e)
{
    *ret = NULL;
    if (!f->users)
        *ret = arena_printf(a, "%u", (unsigned)getuid());
    return !f->users || text_is(f->users, "all") || listing_uids(f->users, a, ret, e);
}

/* "NAME[3]" */
static void name_take(struct jobs_reading *r)
{
    const char *open = r->f->name ? strrchr(r->f->name, '[') : NULL;
    size_t digits = open ? strspn(open + 1, "0123456789") : 0;
    uint64_t index;
    r->name = r->f->name;
    if (!digits || !text_is(open + 1 + digits, "]") ||
        !text_to_u64(arena_strndup(r->a, open + 1, digits), UINT32_MAX, &index))
        return;
    r->name_indexed = true;
    r->name_index = (uint32_t)index;
    r->name = arena_strndup(r->a, r->f->name, (size_t)(open - r->f->name));
}

static const char *joined(const char *a, const char *b, const char *between, struct arena *to)
{
    return text_empty(a) ? b : text_empty(b) ? a : arena_printf(to, "%s%s%s", a, between, b);
}

static void part_add(struct job *to, const struct job *part, struct arena *a)
{
    to->alloc_cpus = amount_i32((int64_t)job_cpus(to) + job_cpus(part));
    to->alloc_tasks = amount_i32((int64_t)lsf_job_slots(to) + lsf_job_slots(part));
    to->alloc_mem_mib += part->alloc_mem_mib;
    to->alloc = joined(to->alloc, part->alloc, "; ", a);
    to->alloc_gres = joined(to->alloc_gres, part->alloc_gres, ",", a);
    to->nodes = joined(to->nodes, part->nodes, ",", a);
    to->cpu_user_us += part->cpu_user_us;
    to->cpu_system_us += part->cpu_system_us;
}

/* Components of a heterogeneous job are one job, where its first is among them. */
static void parts_fold(struct lsf_job_list *l, struct arena *a)
{
    struct job *leader = NULL;
    size_t kept = 0;
    for (size_t i = 0; i < l->job.n; i++) {
        const struct job *j = l->job.v[i];
        if (leader && j->het_job_id == leader->id && j->id != leader->id) {
            part_add(leader, j, a);
            vec_push(&l->part, j);
            continue;
        }
        leader = j->het_job_id && j->het_job_id == j->id ? arena_dup(a, j, sizeof *j) : NULL;
        if (leader)
            vec_push(&l->part, j);
        l->job.v[kept++] = leader ? leader : j;
    }
    l->job.n = kept;
}

bool lsf_jobs_read(struct client *c, const struct lsf_filter *f, struct arena *a,
                   struct lsf_job_list *ret, struct err *ret_err)
{
    struct jobs_reading r = {.f = f, .a = a, .to = ret};
    struct msg_query q = {.what = f->all ? QUERY_HISTORY : QUERY_JOBS, .nodes = f->host};
    bool ok = users_read(f, a, &q.uids, ret_err);
    name_take(&r);
    for (size_t i = 0; ok && i < f->ids.n; i++)
        ok = id_read(c, &r, f->ids.v[i], ret_err);
    if (f->all) {
        q.states = "all";
        q.from_us = time_now_us() - CLEAN_PERIOD;
    }
    if (f->past) {
        q = (struct msg_query){.what = QUERY_HISTORY, .uids = q.uids, .states = "all"};
        q.nodes = f->host;
        q.from_us = f->from_us;
        q.to_us = f->to_us;
        q.duplicates = f->runs;
    }
    if (ok && !f->ids.n)
        ok = query(c, &r, &q, ret_err);
    if (ok && (f->all || f->past))
        ok = lsf_reasons_read(c, ret, a, ret_err);
    if (ret->job.n > 1)
        qsort(ret->job.v, ret->job.n, sizeof ret->job.v[0], by_number);
    if (ret->part_meant.n > 1)
        qsort(ret->part_meant.v, ret->part_meant.n, sizeof ret->part_meant.v[0], numbers_compare);
    parts_fold(ret, a);
    return ok;
}

bool lsf_past_read(struct client *c, const struct lsf_job_list *l, struct arena *a,
                   struct past_jobs *ret, struct err *ret_err)
{
    struct str ids = STR_INIT;
    for (size_t i = 0; i < l->job.n; i++)
        if (!lsf_job_is_pending(l->job.v[i]))
            list_addf(&ids, "%llu", (unsigned long long)l->job.v[i]->id);
    struct msg_query q = {.ids = str_text(&ids)};
    *ret = (struct past_jobs){0};
    bool ok = !ids.len || past_read(c, &q, a, ret, ret_err);
    str_done(&ids);
    return ok;
}

/* ---- showing ---- */

const char *lsf_suspend_reason(const struct job *j)
{
    return j->suspended_by == SUSPENDER_PERSON || j->state == JOB_RUNNING
               ? "The job was suspended by the user"
               : "The job gave way to another";
}

const char *lsf_cut(const char *text, size_t width, struct arena *a)
{
    size_t len = strlen(text), all = utf8_width(text, len);
    if (all > width)
        return arena_printf(a, "*%s", text + utf8_bytes(text, len, all - width + 1));
    return lsf_fill(text, width, a);
}

const char *lsf_fill(const char *text, size_t width, struct arena *a)
{
    size_t all = utf8_width(text, strlen(text));
    return arena_printf(a, "%s%*s", text, (int)(all < width ? width - all : 0), "");
}

bool lsf_job_is_pending(const struct job *j)
{
    return j->state == JOB_PENDING || j->state == JOB_REQUEUED || j->state == JOB_SPECIAL_EXIT;
}

bool lsf_job_is_over(const struct job *j)
{
    return job_state_over((enum job_state)j->state);
}

bool lsf_job_is_suspended(const struct job *j)
{
    return j->state == JOB_SUSPENDED || (j->state == JOB_RUNNING && j->stopped_us);
}

/* In the history what waits has no priority, held or not: the reason tells. */
static bool is_held(const struct job *j)
{
    return j->reason == REASON_HELD_USER || j->reason == REASON_HELD_ADMIN ||
           j->reason == REASON_LAUNCH_FAILED_HELD || j->reason == REASON_REQUEUED_HELD;
}

const char *lsf_job_state(const struct job *j)
{
    if (lsf_job_is_pending(j))
        return is_held(j) ? "PSUSP" : "PEND";
    if (j->state == JOB_SUSPENDED)
        return j->suspended_by == SUSPENDER_PERSON ? "USUSP" : "SSUSP";
    if (j->state == JOB_RUNNING && j->stopped_us)
        return "USUSP";
    if (j->state == JOB_COMPLETED)
        return "DONE";
    return lsf_job_is_over(j) ? "EXIT" : "RUN";
}

static const struct {
    enum job_state state;
    int code;
    const char *term;
} ends[] = {
    {JOB_CANCELLED, 130, "TERM_OWNER: job killed by owner."},
    {JOB_TIMEOUT, 140, "TERM_RUNLIMIT: job killed after reaching LSF run time limit."},
    {JOB_OUT_OF_MEMORY, 137, "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit."},
    {JOB_PREEMPTED, 130, "TERM_PREEMPT: job killed after preemption."},
    {JOB_DEADLINE, 130, "TERM_DEADLINE: job killed after deadline."},
    {JOB_NODE_FAIL, 130, "TERM_UNKNOWN: LSF cannot determine a termination reason."},
};

const char *lsf_job_term(const struct job *j)
{
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        if (ends[i].state == (enum job_state)j->state)
            return j->killed_by_uid_plus1 && j->killed_by_uid_plus1 != j->user_id + 1 &&
                           j->state == JOB_CANCELLED
                       ? "TERM_ADMIN: job killed by root or LSF administrator."
                       : ends[i].term;
    return NULL;
}

int lsf_job_exit_code(const struct job *j)
{
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        if (ends[i].state == (enum job_state)j->state)
            return ends[i].code;
    int signo = status_signal(j->exit_status);
    return signo ? 128 + signo : status_code(j->exit_status);
}

const char *lsf_job_name(const struct job *j, struct arena *a)
{
    const char *name = j->spec.name ? j->spec.name : "";
    return j->array_job_id && j->array_task_id != NO_TASK
               ? arena_printf(a, "%s[%u]", name, j->array_task_id)
               : name;
}

const char *lsf_time(int64_t us, struct arena *a)
{
    struct str text = STR_INIT;
    if (us <= 0)
        return "-";
    civil_format(us, us, "%b %e %H:%M", &civil_local, &text);
    const char *kept = arena_strdup(a, str_text(&text));
    str_done(&text);
    return kept;
}

/* With what it waits for. */
static const char *awaited(const char *words, const struct job *j, struct arena *a)
{
    struct dependency_list list;
    struct str text = STR_INIT;
    if (text_empty(j->spec.dependency) || !dependency_parse(j->spec.dependency, a, &list, NULL))
        return words;
    dependency_say(&list, &text);
    words = arena_printf(a, "%s: waits for %s", words, str_text(&text));
    str_done(&text);
    return words;
}

const char *lsf_pending_reason(const struct job *j, struct arena *a)
{
    const char *words = NULL;
    switch (j->reason) {
    case REASON_NONE: words = "New job is waiting for scheduling"; break;
    case REASON_DEPENDENCY: words = "Job dependency condition not satisfied"; break;
    case REASON_DEPENDENCY_NEVER: words = "Dependency condition invalid or never satisfied"; break;
    case REASON_BEGIN_TIME: words = "The specified begin time has not been reached"; break;
    case REASON_PRIORITY: words = "New job is waiting for scheduling"; break;
    case REASON_REQUEUED_HELD:
    case REASON_HELD_USER: words = "The job was suspended by the user while pending"; break;
    case REASON_HELD_ADMIN:
        words = "The job was suspended by LSF admin or root while pending";
        break;
    case REASON_PARTITION_DOWN: words = "The queue is inactivated by the administrator"; break;
    case REASON_RESOURCES: words = "Not enough job slot(s)"; break;
    default: break;
    }
    const char *name = enum_name(&job_reason_names, j->reason);
    if (j->reason == REASON_DEPENDENCY || j->reason == REASON_DEPENDENCY_NEVER)
        return awaited(words, j, a);
    if (text_empty(j->reason_detail))
        return words ? words : name;
    return words ? arena_printf(a, "%s: %s", words, j->reason_detail) : j->reason_detail;
}

/* ---- hosts ---- */

size_t lsf_job_hosts(const struct job *j, struct arena *a, struct lsf_host **ret)
{
    return lsf_job_is_pending(j) ? 0 : lsf_run_hosts(j, a, ret);
}

size_t lsf_run_hosts(const struct job *j, struct arena *a, struct lsf_host **ret)
{
    struct alloc al = {0};
    struct hostlist names = HOSTLIST_INIT;
    size_t n = 0;
    if (j->alloc && alloc_parse(j->alloc, a, &al, NULL)) {
        *ret = arena_alloc(a, (al.n + 1) * sizeof **ret);
        for (; n < al.n; n++) {
            const struct alloc_node *at = &al.node[n];
            (*ret)[n] = (struct lsf_host){at->node, at->tasks > 0 ? at->tasks : at->cpu_count,
                                          at->cpu_count, at->mem_mib, 0};
            for (size_t g = 0; g < at->ngres; g++)
                (*ret)[n].gpus += text_is(at->gres[g].kind, "gpu") ? at->gres[g].count : 0;
        }
        return n;
    }
    if (j->nodes && hostlist_parse(&names, j->nodes, NULL)) {
        *ret = arena_alloc(a, (names.n + 1) * sizeof **ret);
        for (; n < names.n; n++)
            (*ret)[n] = (struct lsf_host){arena_strdup(a, names.name[n]), 1, 1, 0, 0};
    }
    hostlist_done(&names);
    return n;
}

const char *lsf_exec_host(const struct job *j, struct arena *a)
{
    struct lsf_host *host;
    struct str text = STR_INIT;
    size_t n = lsf_job_hosts(j, a, &host);
    for (size_t i = 0; i < n; i++)
        if (host[i].slots > 1)
            str_addf(&text, "%s%d*%s", i ? ":" : "", host[i].slots, host[i].name);
        else
            str_addf(&text, "%s%s", i ? ":" : "", host[i].name);
    const char *kept = n ? arena_strdup(a, str_text(&text)) : "-";
    str_done(&text);
    return kept;
}

int32_t lsf_job_slots(const struct job *j)
{
    if (j->alloc_tasks > 0)
        return j->alloc_tasks;
    return j->spec.req.ntasks > 0 ? j->spec.req.ntasks : 1;
}
