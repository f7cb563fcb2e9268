/* update_partition: make, change and remove partitions. What is changed here is stored and beats the configuration from then on. */
#include "core/inside.h"

#include <string.h>

static bool used(const struct core *c, const char *name)
{
    struct map_walk w = {0};
    while (map_u64_next(c->job, &w)) {
        const struct jobrec *r = w.value;
        if (job_live(r) && (text_is(r->j.run_partition, name) || list_has(r->j.spec.req.partition, name)))
            return true;
    }
    return false;
}

static enum refusal partition_remove(struct core *c, struct partrec *p, const char **detail)
{
    if (used(c, p->p.name)) {
        *detail = "jobs wait or run in it: cancel or move them first, or set State=DRAIN and wait";
        return REFUSE_DISABLED;
    }
    cluster_remove_partition(c->cluster, p->p.name);
    fx_remove(c, TABLE_PARTITION, &p->p);
    for (size_t i = 0; i < c->part.n; i++)
        if (c->part.v[i] == p) {
            vec_remove(&c->part, i);
            break;
        }
    record_drop(c, &partition_fields, &p->p);
    free(p);
    return REFUSE_NONE;
}

static void value_set(struct core *c, const struct field *f, struct partition *to, const struct partition *from)
{
    if (f->type == FIELD_TEXT)
        text_set(c, field_ptr(f, to), *(const char *const *) field_ptr(f, from));
    else if (f->type == FIELD_BOOL)
        *(bool *) field_ptr(f, to) = *(const bool *) field_ptr(f, from);
    else if (f->type == FIELD_I32 || f->type == FIELD_ENUM)
        memcpy(field_ptr(f, to), field_ptr(f, from), sizeof(int32_t));
    else
        memcpy(field_ptr(f, to), field_ptr(f, from), sizeof(int64_t));
}

static enum refusal partition_change(struct core *c, struct partrec *p, const struct msg_update_partition *m, const char **detail)
{
    const struct partition *values = m->values.n ? m->values.v : NULL;
    struct partition trial = p->p;
    struct err err = {0};
    for (size_t i = 0; values && i < partition_fields.n; i++)
        if (list_has(m->fields, partition_fields.field[i].name) && partition_fields.field[i].type != FIELD_TEXT)
            value_set(c, &partition_fields.field[i], &trial, values);
    if (values && list_has(m->fields, "nodes"))
        trial.nodes = values->nodes;
    if (!cluster_put_partition(c->cluster, &trial, &err)) {
        *detail = arena_strdup(c->fx->arena, err.text);
        return REFUSE_INVALID_NODE;
    }
    for (size_t i = 0; values && i < partition_fields.n; i++)
        if (list_has(m->fields, partition_fields.field[i].name) && !text_is(partition_fields.field[i].name, "name"))
            value_set(c, &partition_fields.field[i], &p->p, values);
    if (p->p.is_default)
        for (size_t i = 0; i < c->part.n; i++)
            if (c->part.v[i] != p)
                c->part.v[i]->p.is_default = false;
    cluster_put_partition(c->cluster, &p->p, NULL);
    part_save(c, p);
    plan_soon(c);
    return REFUSE_NONE;
}

static enum refusal partition_create(struct core *c, const struct msg_update_partition *m, const char **detail)
{
    if (c->part.n >= LIMIT_PARTITIONS) {
        *detail = "there are as many partitions as are allowed";
        return REFUSE_TOO_LARGE;
    }
    struct partrec *p = xcalloc(1, sizeof *p);
    text_set(c, &p->p.name, m->name);
    p->p.priority_tier = p->p.priority_job_factor = 1;
    enum refusal refusal = partition_change(c, p, m, detail);
    if (refusal) {
        record_drop(c, &partition_fields, &p->p);
        free(p);
    } else {
        vec_push(&c->part, p);
    }
    return refusal;
}

void req_update_partition(struct core *c, const struct msg_update_partition *m)
{
    struct partrec *p = m->name ? part_find(c, m->name) : NULL;
    const char *detail = NULL;
    enum refusal refusal;
    if (m->create && p) {
        detail = "there is a partition of this name already";
        refusal = REFUSE_UPDATE;
    } else if (m->create && !text_empty(m->name)) {
        refusal = partition_create(c, m, &detail);
    } else if (!p) {
        refusal = REFUSE_INVALID_PARTITION;
    } else if (m->remove) {
        refusal = partition_remove(c, p, &detail);
    } else {
        refusal = partition_change(c, p, m, &detail);
    }
    reply_done(c, refusal, detail);
}
