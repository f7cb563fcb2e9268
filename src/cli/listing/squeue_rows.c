/* How squeue's records become rows. The elements of a waiting array are one record; -r takes it
 * apart while printing, and not without end. */
#include "cli/listing/squeue.h"

#include "base/hostlist.h"
#include "base/list.h"
#include "base/map.h"
#include "cli/program/program.h"
#include "cli/record/columns_job.h"
#include "cli/table/listing.h"
#include "model/job/array.h"
#include "model/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Elements that -r lists of one array: more are nobody's to read. */
#define ELEMENTS_LISTED 1000000

/* ---- partitions ---- */

struct priorities {
    struct arena *a;
    VEC(const struct priority_row *) row;
};

static void priority_keep(void *ctx, const void *record)
{
    struct priorities *p = ctx;
    vec_push(&p->row, arena_dup(p->a, record, sizeof(struct priority_row)));
}

static int by_job(const void *va, const void *vb)
{
    const struct priority_row *a = *(const struct priority_row *const *)va,
                              *b = *(const struct priority_row *const *)vb;
    return (a->job_id > b->job_id) - (a->job_id < b->job_id);
}

static uint64_t priority_in(const struct priorities *p, const struct job *j, const char *partition)
{
    size_t low = 0, high = p->row.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->row.v[middle]->job_id < j->id)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < p->row.n && p->row.v[low]->job_id == j->id; low++)
        if (text_is(p->row.v[low]->partition, partition))
            return (uint64_t)p->row.v[low]->priority;
    return j->priority;
}

static void job_in_each(struct squeue *s, const struct priorities *p, const struct job *j)
{
    struct span rest = span_of(j->spec.req.partition), piece;
    while (span_next(&rest, ',', &piece)) {
        const char *name = arena_strndup(s->l.round, piece.data, piece.len);
        if (!listing_has(s->query.partitions, name))
            continue;
        struct job *one = arena_dup(s->l.round, j, sizeof *j);
        one->spec.req.partition = name;
        one->priority = j->priority ? priority_in(p, j, name) : 0;
        vec_push(&s->job, one);
    }
}

bool squeue_by_partition(struct squeue *s, struct client *c, struct err *ret_err)
{
    struct msg_query q = {.what = QUERY_PRIORITY};
    struct msg_done done = {0};
    struct priorities p = {.a = s->l.round};
    bool ok = client_query(c, &q, &priority_fields, s->l.round, priority_keep, &p, &done, ret_err);
    size_t n = s->job.n;
    if (p.row.n > 1)
        qsort(p.row.v, p.row.n, sizeof p.row.v[0], by_job);
    const struct job **was = arena_dup(s->l.round, s->job.v, n * sizeof *was);
    vec_clear(&s->job);
    for (size_t i = 0; ok && i < n; i++) {
        if (was[i]->state == JOB_PENDING && was[i]->spec.req.partition)
            job_in_each(s, &p, was[i]);
        else
            vec_push(&s->job, was[i]);
    }
    vec_done(&p.row);
    return ok;
}

/* ---- elements ---- */

/* Adds those of `pending` that the reference names; false: it means all of the array. */
static bool wanted_add(const struct job_ref *ref, const struct idset *pending, struct str *wanted)
{
    struct idset both = IDSET_INIT;
    if (ref->task_id == NO_TASK && ref->tasks.count == 0)
        return false;
    if (ref->task_id != NO_TASK && idset_has(pending, ref->task_id))
        idset_add(&both, ref->task_id);
    else if (ref->task_id == NO_TASK)
        idset_both(&both, pending, &ref->tasks);
    if (both.count) {
        str_add(wanted, wanted->len ? "," : "");
        idset_format(&both, wanted);
    }
    idset_done(&both);
    return true;
}

/* Those of `pending` that are asked for; false: all of the array is. A comma inside brackets parts
 * no references. */
static bool wanted_read(const char *ids, uint64_t array, const struct idset *pending,
                        struct str *wanted, struct arena *a)
{
    int depth = 0;
    bool parts = true, any = false;
    const char *start = ids;
    for (const char *at = ids; parts; at++) {
        depth += (*at == '[') - (*at == ']');
        if (*at && (*at != ',' || depth > 0))
            continue;
        struct job_ref ref = {0};
        if (job_ref_parse(arena_strndup(a, start, (size_t)(at - start)), &ref, NULL) &&
            ref.job_id == array) {
            parts = wanted_add(&ref, pending, wanted);
            any = true;
        }
        job_ref_done(&ref);
        if (!*at)
            break;
        start = at + 1;
    }
    return parts && any;
}

static const struct job *narrowed(struct squeue *s, const struct job *j)
{
    struct idset pending = IDSET_INIT, both = IDSET_INIT;
    struct str wanted = STR_INIT, text = STR_INIT;
    struct job *one = arena_dup(s->l.round, j, sizeof *j);
    if (idset_parse(&pending, j->array_pending, LIMIT_ARRAY_INDEX, NULL) &&
        wanted_read(s->query.ids, j->array_job_id, &pending, &wanted, s->l.round) &&
        idset_parse(&both, str_text(&wanted), LIMIT_ARRAY_INDEX, NULL)) {
        idset_format(&both, &text);
        one->array_pending = arena_strdup(s->l.round, str_text(&text));
        one->array_limit = 0;
    }
    idset_done(&pending);
    idset_done(&both);
    str_done(&wanted);
    str_done(&text);
    return one;
}

void squeue_narrow_arrays(struct squeue *s)
{
    for (size_t i = 0; s->query.ids && i < s->job.n; i++) {
        const struct job *j = s->job.v[i];
        if (j->array_job_id && j->array_task_id == NO_TASK && !text_empty(j->array_pending))
            s->job.v[i] = narrowed(s, j);
    }
}

/* A pending array as its elements: the same record with each index in turn. */
static void array_rows(struct squeue *s, const struct job *j)
{
    struct idset ids = IDSET_INIT;
    struct job element = *j;
    uint32_t id;
    uint64_t listed = 0;
    if (!idset_parse(&ids, j->array_pending, LIMIT_ARRAY_INDEX, NULL))
        return;
    for (bool more = idset_first(&ids, &id); more && listed < ELEMENTS_LISTED;
         more = idset_next(&ids, id, &id)) {
        element.array_task_id = id;
        listing_row(&s->l, &element);
        listed++;
    }
    if (listed < ids.count)
        program_error("squeue", "%llu further elements of %llu wait and are not listed",
                      (unsigned long long)(ids.count - listed),
                      (unsigned long long)j->array_job_id);
    idset_done(&ids);
}

/* ---- nodes ---- */

struct node_names {
    struct squeue *s;
    VEC(const struct node *) node;
};

static void node_keep(void *ctx, const void *record)
{
    struct node_names *n = ctx;
    vec_push(&n->node, arena_dup(n->s->l.round, record, sizeof(struct node)));
}

/* What is asked for, by the name it has here. */
static const char *wanted_name(struct squeue *s, const char *wanted)
{
    char host[256] = "";
    if (!text_is(wanted, "localhost") || gethostname(host, sizeof host - 1) != 0)
        return wanted;
    host[strcspn(host, ".")] = '\0';
    return arena_strdup(s->l.round, host);
}

static bool mark_found(struct map_str *wanted, const char *name)
{
    const char *own;
    void **slot = name ? map_str_slot(wanted, name, false, &own) : NULL;
    if (slot)
        *slot = wanted;
    return slot != NULL;
}

/* Nodes whose name or host is asked for: each list is gone through once. */
static bool nodes_choose(struct squeue *s, const struct node_names *all,
                         const struct hostlist *names, struct err *ret_err)
{
    struct map_str *wanted = map_str_new();
    struct str list = STR_INIT;
    bool ok = true;
    for (size_t i = 0; i < names->n; i++)
        map_str_put(wanted, wanted_name(s, names->name[i]), NULL);
    for (size_t i = 0; i < all->node.n; i++) {
        bool by_name = mark_found(wanted, all->node.v[i]->name);
        if (mark_found(wanted, all->node.v[i]->hostname) || by_name)
            list_addf(&list, "%s", all->node.v[i]->name);
    }
    for (size_t i = 0; ok && i < names->n; i++)
        ok = map_str_get(wanted, wanted_name(s, names->name[i])) ||
             err_set(ret_err, ERR_INVALID, "Invalid node name %s", names->name[i]);
    if (ok)
        s->query.nodes = arena_strdup(s->l.round, str_text(&list));
    str_done(&list);
    map_str_free(wanted);
    return ok;
}

bool squeue_nodes_resolve(struct squeue *s, struct client *c, struct err *ret_err)
{
    struct node_names all = {.s = s};
    struct msg_query q = {.what = QUERY_NODES, .fields = "name,hostname"};
    struct msg_done done = {0};
    struct hostlist wanted = HOSTLIST_INIT;
    struct err why = {0};
    bool ok = hostlist_parse(&wanted, s->nodes, &why) ||
              err_set(ret_err, ERR_INVALID, "Invalid node name %s: %s", s->nodes, why.text);
    ok = ok && client_query(c, &q, &node_fields, s->l.round, node_keep, &all, &done, ret_err) &&
         nodes_choose(s, &all, &wanted, ret_err);
    hostlist_done(&wanted);
    vec_done(&all.node);
    return ok;
}

/* ---- printing ---- */

static void job_rows(struct squeue *s, const struct job *j)
{
    if (s->array && j->array_pending && j->array_task_id == NO_TASK)
        array_rows(s, j);
    else
        listing_row(&s->l, j);
}

void squeue_rows_print(struct squeue *s)
{
    listing_begin(&s->l);
    for (size_t i = 0; i < s->job.n; i++)
        job_rows(s, s->job.v[i]);
    for (size_t i = 0; i < s->step.n; i++)
        listing_row(&s->l, s->step.v[i]);
    listing_end(&s->l);
}
