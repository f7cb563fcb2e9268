/* Which triggers there are, and that they are pulled. */
#include "base/list.h"
#include "core/record/triggers/inside.h"

#define SAVE_ALL 64 /* so many nodes of an event are stored one by one, more as they double */

/* ---- which there are ---- */

static void counts_add(struct core *c, const struct trigger *t, int by)
{
    c->triggers.of_jobs += (uint32_t)(by * (t->job_id != 0));
    c->triggers.of_nodes += (uint32_t)(by * ((t->events & TRIGGER_NODE_BITS) != 0));
    c->triggers.timed += (uint32_t)(by * trigger_has(t, TRIGGER_EVENT_TIME));
    c->triggers.changed = true;
}

struct triggerrec *trigger_keep(struct core *c, const struct trigger *row)
{
    struct triggerrec *t = xcalloc(1, sizeof *t);
    record_intern(c, &trigger_fields, &t->t, row);
    vec_push(&c->triggers.of, t);
    counts_add(c, &t->t, 1);
    return t;
}

static void rec_free(struct triggerrec *t)
{
    idset_done(&t->hit);
    free(t);
}

void triggers_free(struct core *c)
{
    for (size_t i = 0; i < c->triggers.of.n; i++)
        rec_free(c->triggers.of.v[i]);
    vec_done(&c->triggers.of);
    vec_done(&c->triggers.ended);
}

/* The nodes it was pulled by are known by number again; all else stays a word. */
static void hits_read(struct core *c, struct triggerrec *t)
{
    struct hostlist list = HOSTLIST_INIT;
    struct str words = STR_INIT;
    if (t->t.what && hostlist_parse(&list, t->t.what, NULL)) {
        for (size_t i = 0; i < list.n; i++) {
            const struct noderec *n = node_find(c, list.name[i]);
            if (n)
                idset_add(&t->hit, n->index);
            else
                str_addf(&words, "%s%s", words.len ? "," : "", list.name[i]);
        }
        text_set(c, &t->t.what, str_text(&words));
    }
    str_done(&words);
    hostlist_done(&list);
}

void triggers_load(struct core *c, const struct trigger *row)
{
    hits_read(c, trigger_keep(c, row));
    if (row->id > c->triggers.last)
        c->triggers.last = row->id;
}

void trigger_what_add(const struct core *c, const struct triggerrec *t, struct str *out)
{
    struct hostlist list = HOSTLIST_INIT;
    uint32_t node;
    str_add(out, t->t.what ? t->t.what : "");
    for (bool more = idset_first(&t->hit, &node); more; more = idset_next(&t->hit, node, &node))
        hostlist_add(&list, c->node.v[node]->n.name);
    hostlist_sort(&list);
    if (out->len && list.n)
        str_addc(out, ',');
    hostlist_fold(&list, out);
    hostlist_done(&list);
}

void trigger_save(struct core *c, struct triggerrec *t)
{
    struct trigger row = t->t;
    struct str what = STR_INIT;
    trigger_what_add(c, t, &what);
    row.what = what.len ? str_text(&what) : NULL;
    fx_store(c, TABLE_TRIGGER, &row);
    t->saved = (uint32_t)t->hit.count;
    str_done(&what);
}

void trigger_remove(struct core *c, struct triggerrec *t)
{
    ASSERT(t->t.id);
    fx_remove(c, TABLE_TRIGGER, &t->t);
    counts_add(c, &t->t, -1);
    for (size_t i = 0; i < c->triggers.of.n; i++)
        if (c->triggers.of.v[i] == t) {
            vec_remove(&c->triggers.of, i);
            break;
        }
    record_drop(c, &trigger_fields, &t->t);
    rec_free(t);
}

bool trigger_of_job(const struct trigger *t, const struct jobrec *r)
{
    if (!t->job_id)
        return false;
    if (t->task_plus1)
        return r->j.array_job_id == t->job_id && r->j.array_task_id == t->task_plus1 - 1;
    return r->j.id == t->job_id || r->j.array_job_id == t->job_id || r->j.het_job_id == t->job_id;
}

/* ---- being pulled ---- */

void trigger_pull(struct core *c, struct triggerrec *t, int64_t collect_us)
{
    int64_t after = t->t.offset > 0 ? t->t.offset * USEC_PER_SEC : 0;
    c->triggers.changed = true;
    if (!t->t.due_us)
        t->t.due_us = time_add(c->turn.now_us, after > collect_us ? after : collect_us);
    else if (t->hit.count > SAVE_ALL && t->hit.count < 2 * t->saved)
        return;
    trigger_save(c, t);
}

void trigger_pull_word(struct core *c, struct triggerrec *t, const char *word)
{
    struct str words = STR_INIT;
    if (!list_has(t->t.what, word)) {
        str_addf(&words, "%s%s%s", t->t.what ? t->t.what : "", text_empty(t->t.what) ? "" : ",",
                 word);
        text_set(c, &t->t.what, str_text(&words));
    }
    str_done(&words);
    trigger_pull(c, t, 0);
}
