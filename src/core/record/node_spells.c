/* A row for each time in which a node was up, down or drained with the resources it had: what
 * reports count a cluster's hours from. The last row of a node has no end, and gets one with the
 * row after it, in the same transaction as the node's own row. */
#include "base/str.h"
#include "core/record/record.h"

/* As in Slurm: while jobs have something of it, it is not drained yet. */
static bool is_drained(const struct noderec *n)
{
    return (n->n.drain || n->n.fail) && n->job.n == 0;
}

static bool is_so(const struct node_spell *s, const struct noderec *rec)
{
    const struct node *n = &rec->n;
    return s->start_us && s->state == n->state && s->drain == is_drained(rec) &&
           s->cpus == n->cpus && s->memory_mib == n->memory_mib && text_is(s->gres, n->gres);
}

void node_spell_end(struct core *c, struct noderec *n)
{
    if (!n->spell.start_us)
        return;
    n->spell.end_us = c->turn.now_us;
    if (n->spell.end_us > n->spell.start_us)
        fx_store(c, TABLE_NODE_SPELL, &n->spell);
    n->spell.start_us = n->spell.end_us = 0;
}

void node_spell_note(struct core *c, struct noderec *n)
{
    ASSERT(!text_empty(n->n.name));
    struct node_spell *s = &n->spell;
    if (is_so(s, n))
        return;
    node_spell_end(c, n);
    text_set(c, &s->name, n->n.name);
    text_set(c, &s->reason, n->n.reason);
    text_set(c, &s->reason_user, n->n.reason_user);
    text_set(c, &s->gres, n->n.gres);
    s->start_us = c->turn.now_us;
    s->state = n->n.state;
    s->drain = is_drained(n);
    s->cpus = n->n.cpus;
    s->memory_mib = n->n.memory_mib;
    fx_store(c, TABLE_NODE_SPELL, s);
}

void node_spell_load(struct core *c, const struct node_spell *row)
{
    struct noderec *n = node_find(c, row->name);
    if (!n || row->end_us || row->start_us <= n->spell.start_us)
        return;
    record_drop(c, &node_spell_fields, &n->spell);
    record_intern(c, &node_spell_fields, &n->spell, row);
}
