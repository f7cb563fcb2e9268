/* What a job has of its nodes: the holds, and the sums of its allocation that are shown. */
#include "core/record/record.h"

#include "base/amount.h"
#include "model/limits.h"

void alloc_sums(struct core *c, struct jobrec *r, const struct alloc *al)
{
    ASSERT(al->n <= INT32_MAX);
    struct str nodes = STR_INIT, gres = STR_INIT;
    struct hostlist names = HOSTLIST_INIT;
    r->j.alloc_nodes = (int32_t)al->n;
    int64_t cpus = 0, mem_mib = 0, tasks = 0; /* their fields hold less than all nodes may have */
    r->j.billing_plus1 = 0;
    for (size_t i = 0; i < al->n; i++) {
        hostlist_add(&names, al->node[i].node);
        cpus += al->node[i].cpu_count;
        mem_mib = amount_plus(mem_mib, al->node[i].mem_mib);
        tasks += al->node[i].tasks;
    }
    r->j.alloc_cpus = (int32_t)(cpus < INT32_MAX ? cpus : INT32_MAX);
    r->j.alloc_mem_mib = mem_mib < FIELD_MIB_MAX ? mem_mib : FIELD_MIB_MAX;
    r->j.alloc_tasks = (int32_t)(tasks < (int64_t)LIMIT_TASKS ? tasks : (int64_t)LIMIT_TASKS);
    hostlist_fold(&names, &nodes);
    text_set(c, &r->j.nodes, str_text(&nodes));
    text_set(c, &r->j.batch_host, al->n ? al->node[0].node : NULL);
    alloc_gres_text(al, &gres);
    text_set(c, &r->j.alloc_gres, str_text(&gres));
    hostlist_done(&names);
    str_done(&nodes);
    str_done(&gres);
}

void holds_add(struct core *c, struct jobrec *r, const struct alloc *al)
{
    vec_clear(&r->hold);
    for (size_t i = 0; i < al->n; i++) {
        struct noderec *n = node_find(c, al->node[i].node);
        CHECK(n);
        struct node_hold hold = {.node = node_index(c, n)};
        vec_push(&r->hold, hold);
        node_job_add(c, hold.node, r->j.id);
    }
}

static void rows_leaving(const struct core *c, struct jobrec *r, const struct alloc *from,
                         struct alloc *to)
{
    for (size_t i = 0; i < from->n; i++) {
        const struct noderec *n = node_find(c, from->node[i].node);
        const struct node_hold *h = n ? hold_find(r, n->index) : NULL;
        if (h && h->leaving && h->told && !h->released)
            to->node[to->n++] = from->node[i];
    }
}

void leaving_note(struct core *c, struct jobrec *r, const struct alloc *more)
{
    struct arena *a = arena_new();
    struct alloc had = {0};
    struct str text = STR_INIT;
    if (r->j.leaving && !alloc_parse(r->j.leaving, a, &had, NULL))
        had.n = 0;
    size_t most = had.n + (more ? more->n : 0);
    struct alloc left = {.node = arena_alloc(a, (most + 1) * sizeof *left.node)};
    rows_leaving(c, r, &had, &left);
    if (more)
        rows_leaving(c, r, more, &left);
    ASSERT(left.n <= most);
    if (left.n)
        alloc_format(&left, &text);
    text_set(c, &r->j.leaving, left.n ? str_text(&text) : NULL);
    str_done(&text);
    arena_free(a);
}

void alloc_shrink(struct core *c, struct jobrec *r)
{
    CHECK(r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED);
    struct arena *a = arena_new();
    struct alloc al = {0};
    size_t kept = 0;
    if (alloc_parse(r->j.alloc, a, &al, NULL)) {
        struct str text = STR_INIT;
        leaving_note(c, r, &al);
        had_nodes_note(c, r);
        for (size_t i = 0; i < al.n; i++) {
            const struct noderec *n = node_find(c, al.node[i].node);
            const struct node_hold *h = n ? hold_find(r, n->index) : NULL;
            if (!h || !h->leaving)
                al.node[kept++] = al.node[i];
        }
        al.n = kept;
        alloc_format(&al, &text);
        text_set(c, &r->j.alloc, str_text(&text));
        alloc_sums(c, r, &al);
        str_done(&text);
    }
    arena_free(a);
}

void hold_leave_again(struct core *c, struct jobrec *r, uint32_t node)
{
    ASSERT(node < c->node.n && !hold_find(r, node));
    struct node_hold hold = {.node = node, .told = true, .leaving = true};
    vec_push(&r->hold, hold);
    node_job_add(c, node, r->j.id);
}
