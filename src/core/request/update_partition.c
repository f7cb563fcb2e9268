/* update_partition: make, change and remove partitions. What is changed here is stored and survives
 * restarts. Values are tried on a copy that the planner must accept before the record takes
 * them. */
#include "base/list.h"
#include "core/record/accounts/limits.h"
#include "core/request/request.h"
#include "model/grammar/gpu_idle.h"

static const char *const fixed[] = {"name", "set_fields", "total_nodes", "total_cpus", "tres"};

static bool used(const struct core *c, const char *name)
{
    struct map_walk w = {0};
    while (map_u64_next(c->jobs.by_id, &w)) {
        const struct jobrec *r = w.value;
        if (job_live(r) &&
            (text_is(r->j.run_partition, name) || list_has(r->j.spec.req.partition, name)))
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
    live_sums_forget(c);
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

/* ---- changing ------------------------------------------------------------------------------- */

static const char *field_wrong(const struct msg_update_partition *m, struct arena *a)
{
    struct span rest = span_of(m->fields), piece;
    while (m->fields && span_next(&rest, ',', &piece)) {
        const char *name = arena_strndup(a, piece.data, piece.len);
        bool wrong = fields_find(&partition_fields, name) < 0;
        for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
            wrong |= text_is(name, fixed[i]);
        if (wrong)
            return name;
    }
    return NULL;
}

/* "ALL" and ranges in any order, as the names of nodes that are there, folded. */
static enum refusal nodes_read(struct core *c, const char *text, const char **ret,
                               const char **detail)
{
    struct hostlist names = HOSTLIST_INIT;
    struct str folded = STR_INIT;
    struct err err = {0};
    enum refusal refusal = REFUSE_NONE;
    if (text_is_nocase(text, "ALL"))
        for (size_t i = 0; i < c->node.n; i++)
            hostlist_add(&names, c->node.v[i]->n.name);
    else if (text && !hostlist_parse(&names, text, &err))
        refusal = REFUSE_INVALID_NODE;
    for (size_t i = 0; !refusal && i < names.n; i++)
        if (!node_find(c, names.name[i])) {
            err_set(&err, ERR_NOT_FOUND, "there is no node %s", names.name[i]);
            refusal = REFUSE_INVALID_NODE;
        }
    if (refusal)
        *detail = arena_strdup(c->turn.fx->arena, err.text);
    hostlist_uniq(&names);
    hostlist_fold(&names, &folded);
    *ret = arena_strdup(c->turn.fx->arena, str_text(&folded));
    str_done(&folded);
    hostlist_done(&names);
    return refusal;
}

static enum refusal trial_make(struct core *c, const struct msg_update_partition *m,
                               struct partition *trial, const char **detail)
{
    const struct partition *values = m->values.n ? m->values.v : NULL;
    const char *wrong = field_wrong(m, c->turn.fx->arena);
    if (wrong || (!text_empty(m->fields) && !values)) {
        *detail = wrong ? arena_printf(c->turn.fx->arena, "\"%s\" of a partition cannot be changed",
                                       wrong)
                        : "fields are named, but no values are given";
        return wrong ? REFUSE_UPDATE : REFUSE_BAD_MESSAGE;
    }
    for (size_t i = 0; values && i < partition_fields.n; i++) {
        const struct field *f = &partition_fields.field[i];
        if (list_has(m->fields, f->name))
            field_copy(f, trial, values);
    }
    if (values && text_unfit(&partition_fields, m->fields, values)) {
        *detail = "no line's end and no quotation mark may be in it";
        return REFUSE_UPDATE;
    }
    struct gpu_idle idle;
    struct err err = {0};
    if (!gpu_idle_parse(trial->gpu_idle, &idle, &err)) {
        *detail = arena_strdup(c->turn.fx->arena, err.text);
        return REFUSE_UPDATE;
    }
    if (values && list_has(m->fields, "nodes"))
        return nodes_read(c, values->nodes, &trial->nodes, detail);
    return REFUSE_NONE;
}

/* There is one default: the partition that was it stays a change of ours too, or a restart would
 * bring it back. */
static void default_take(struct core *c, const struct partrec *p)
{
    for (size_t i = 0; i < c->part.n; i++) {
        struct partrec *other = c->part.v[i];
        if (other == p || !other->p.is_default)
            continue;
        other->p.is_default = false;
        set_fields_add(c, &other->p.set_fields, "is_default");
        cluster_put_partition(c->cluster, &other->p, NULL);
        part_save(c, other);
    }
}

static enum refusal partition_change(struct core *c, struct partrec *p,
                                     const struct msg_update_partition *m, const char **detail)
{
    struct partition trial = p->p, taken;
    struct err err = {0};
    enum refusal refusal = trial_make(c, m, &trial, detail);
    if (refusal)
        return refusal;
    if (!cluster_put_partition(c->cluster, &trial, &err)) {
        *detail = arena_strdup(c->turn.fx->arena, err.text);
        return REFUSE_INVALID_NODE;
    }
    record_intern(c, &partition_fields, &taken, &trial);
    record_drop(c, &partition_fields, &p->p);
    p->p = taken;
    live_sums_forget(c);
    set_fields_add(c, &p->p.set_fields, m->fields);
    if (p->p.is_default)
        default_take(c, p);
    part_save(c, p);
    limits_anew(c);
    plan_soon(c);
    return REFUSE_NONE;
}

/* As a PartitionName line has it, as which `scontrol write config` writes it: DEFAULT says what
 * those after it begin with, and '#' begins a comment. */
static bool name_fits(const char *name)
{
    return record_name_fits(name) && !strchr(name, '#') && !text_is_nocase(name, "DEFAULT");
}

static enum refusal partition_create(struct core *c, const struct msg_update_partition *m,
                                     const char **detail)
{
    if (!name_fits(m->name)) {
        *detail =
            "a partition's name has from 1 to 256 letters, digits and the like; no blanks, commas, "
            "quotes, brackets or #, and it is not DEFAULT";
        return REFUSE_INVALID_PARTITION;
    }
    if (c->part.n >= LIMIT_PARTITIONS) {
        *detail = "there are as many partitions as are allowed";
        return REFUSE_TOO_LARGE;
    }
    struct partrec *p = xcalloc(1, sizeof *p);
    text_set(c, &p->p.name, m->name);
    text_set(c, &p->p.set_fields, "all");
    p->p.priority_tier = p->p.priority_job_factor = p->p.min_nodes = 1;
    enum refusal refusal = partition_change(c, p, m, detail);
    if (refusal) {
        record_drop(c, &partition_fields, &p->p);
        free(p);
    } else {
        vec_push(&c->part, p);
        live_sums_forget(c); /* jobs that name it are in it from now on */
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
        refusal = REFUSE_INVALID_PARTITION;
    } else if (m->create) {
        refusal = partition_create(c, m, &detail);
    } else if (!p) {
        refusal = REFUSE_INVALID_PARTITION;
        detail = arena_printf(c->turn.fx->arena, "there is no partition %s",
                              m->name ? m->name : "without a name");
    } else if (m->remove) {
        refusal = partition_remove(c, p, &detail);
    } else {
        refusal = partition_change(c, p, m, &detail);
    }
    reply_done(c, refusal, detail);
}
