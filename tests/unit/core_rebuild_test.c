/* What a kill at any instant leaves: worlds of random events, each cut many times. At a cut a
 * second machine is made from the stored rows alone, and must show what the first one shows. Now
 * and then the first one is thrown away and the second goes on, and with it a lost turn's
 * messages. */
#include "core_rebuild_help.h"
#include "share.h"

/* ---- looking ---- */

struct pictures {
    enum query_what what;
    VEC(void *) row;
};

static void picture_take(void *ctx, const void *record)
{
    struct pictures *p = ctx;
    const struct fields *t = row_fields[p->what];
    void *copy = arena_alloc(w.a, t->size);
    record_copy(t, copy, record, w.a);
    vec_push(&p->row, copy);
}

/* What a restart may lawfully not know: what the planner thought, and what only a connected node
 * says. */
static bool job_normal(struct job *j)
{
    enum job_reason r = (enum job_reason)j->reason;
    bool kept = r == REASON_DEPENDENCY || r == REASON_DEPENDENCY_NEVER || r == REASON_BEGIN_TIME ||
                r == REASON_HELD_USER || r == REASON_HELD_ADMIN || r == REASON_MAX_REQUEUE ||
                r == REASON_LAUNCH_FAILED_HELD || r == REASON_REQUEUED_HELD ||
                (r == REASON_ARRAY_TASK_LIMIT && !j->attempt); /* else former runs come first */
    j->planned_us = j->evaluated_us = 0;
    j->planned_nodes = j->away_nodes = NULL;
    if (j->state == JOB_PENDING) {
        j->priority = 0;
        j->end_us = 0;  /* as planned */
        if (j->attempt) /* a node that is connected may still have its former run */
            j->eligible_us = j->changed_us = 0;
        if (!kept) {
            j->reason = REASON_NONE;
            j->reason_detail = NULL;
        }
    }
    return !job_state_over((enum job_state)j->state) || j->end_us + 300 * SEC > w.now;
}

static void node_normal(struct node *n)
{
    if (n->state == NODE_UP)
        n->state = NODE_UNKNOWN;
    n->responding = n->planned = false;
    n->last_seen_us = n->last_busy_us = 0;
    n->load_centi = 0;
    n->free_mem_mib = 0;
}

static bool normal(enum query_what what, void *row)
{
    if (what == QUERY_JOBS)
        return job_normal(row);
    if (what == QUERY_NODES)
        node_normal(row);
    return true;
}

static int job_order(const void *a, const void *b)
{
    const struct job *x = *(const struct job *const *)a, *y = *(const struct job *const *)b;
    return (x->id > y->id) - (x->id < y->id);
}

static int step_order(const void *a, const void *b)
{
    const struct step *x = *(const struct step *const *)a, *y = *(const struct step *const *)b;
    return (x->job_id > y->job_id) - (x->job_id < y->job_id);
}

static struct pictures look(const struct core *c, enum query_what what)
{
    struct pictures all = {.what = what}, p = {.what = what};
    struct msg_query q = {.what = (int32_t)what, .states = what == QUERY_JOBS ? "all" : NULL};
    struct view view = {picture_take, &all};
    struct str detail = STR_INIT;
    assert_int_equal(core_query(c, &q, &w.peer, w.now, &view, &detail), REFUSE_NONE);
    str_done(&detail);
    for (size_t i = 0; i < all.row.n; i++)
        if (normal(what, all.row.v[i]))
            vec_push(&p.row, all.row.v[i]);
    vec_done(&all.row);
    if ((what == QUERY_JOBS || what == QUERY_STEPS) && p.row.n)
        qsort(p.row.v, p.row.n, sizeof p.row.v[0], what == QUERY_JOBS ? job_order : step_order);
    return p;
}

static const char *value_text(const struct field *f, const void *row)
{
    if (f->type == FIELD_TEXT) {
        const char *t = *(const char *const *)field_ptr(f, row);
        return t ? t : "(null)";
    }
    if (f->type == FIELD_BOOL)
        return *(const bool *)field_ptr(f, row) ? "yes" : "no";
    if (f->type == FIELD_I32 || f->type == FIELD_ENUM || f->type == FIELD_U32)
        return arena_printf(w.a, "%d", *(const int32_t *)field_ptr(f, row));
    return arena_printf(w.a, "%lld", (long long)*(const int64_t *)field_ptr(f, row));
}

static void differ(const char *when, const struct fields *t, const void *a, const void *b)
{
    struct str text = STR_INIT;
    for (size_t i = 0; i < t->n; i++) {
        struct fields one = {t->name, t->size, &t->field[i], 1};
        if (!record_equal(&one, a, b) || text_is(t->field[i].name, "id") ||
            text_is(t->field[i].name, "name") || text_is(t->field[i].name, "state"))
            str_addf(&text, "%s: %s | %s; ", t->field[i].name, value_text(&t->field[i], a),
                     value_text(&t->field[i], b));
    }
    print_message("%s, %s: %s\n", when, t->name, str_text(&text));
    str_done(&text);
    fail_msg("the rebuilt machine differs");
}

static void compare(const char *when, const struct core *one, const struct core *two)
{
    static const enum query_what whats[] = {QUERY_JOBS, QUERY_NODES, QUERY_PARTITIONS, QUERY_STEPS,
                                            QUERY_RESERVATIONS};
    for (size_t k = 0; k < ARRAY_LEN(whats); k++) {
        struct pictures a = look(one, whats[k]), b = look(two, whats[k]);
        for (size_t i = 0; i < a.row.n && i < b.row.n; i++)
            if (whats[k] == QUERY_JOBS &&
                ((struct job *)a.row.v[i])->id != ((struct job *)b.row.v[i])->id)
                differ(when, &job_fields, a.row.v[i], b.row.v[i]);
            else if (!record_equal(row_fields[whats[k]], a.row.v[i], b.row.v[i]))
                differ(when, row_fields[whats[k]], a.row.v[i], b.row.v[i]);
        if (a.row.n != b.row.n)
            fail_msg("%s, %s: %zu rows, rebuilt %zu", when, row_fields[whats[k]]->name, a.row.n,
                     b.row.n);
        vec_done(&a.row);
        vec_done(&b.row);
    }
}

static void load_live(struct core *c, enum store_table table)
{
    for (size_t i = 0; i < w.store.n; i++) {
        const struct kept *row = &w.store.v[i];
        const struct job *j = row->record;
        if (row->table == table &&
            (table != TABLE_JOB || !job_state_over((enum job_state)j->state) ||
             j->end_us >= w.now - 300 * SEC))
            core_load(c, table, row->record);
    }
}

static struct core *rebuilt(void)
{
    struct core *c = core_new(1, "ctl");
    static const enum store_table order[] = {TABLE_META, TABLE_USAGE,       TABLE_PARTITION,
                                             TABLE_NODE, TABLE_RESERVATION, TABLE_JOB,
                                             TABLE_STEP};
    struct effects fx;
    effects_init(&fx);
    core_step(c, &(struct event){.kind = EV_CONFIG, .now_us = w.now, .config = &w.config}, &fx);
    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        load_live(c, order[i]);
    core_loaded(c, w.now, &fx);
    core_check(c);
    effects_done(&fx);
    return c;
}

static void cut(const char *when, bool killed)
{
    struct core *twin = rebuilt();
    compare(when, w.c, twin);
    core_free(killed ? w.c : twin);
    if (!killed)
        return;
    w.c = twin;
    for (size_t i = 0; i < NODES; i++) {
        fakes[i].connected = false;
        vec_clear(&fakes[i].inbox);
    }
}

static void world_play(uint64_t seed, unsigned events)
{
    world_open(CONF, 0);
    memset(fakes, 0, sizeof fakes);
    rng.state = seed;
    next_conn = 1000;
    next_report = last_id = 0;
    for (size_t i = 0; i < NODES; i++)
        fake_connects(i);
    for (unsigned i = 0; i < events; i++) {
        something();
        if (i % 4 == 0)
            cut(arena_printf(w.a, "seed %llu, event %u", (unsigned long long)seed, i),
                upto(25) == 0);
    }
    for (size_t i = 0; i < NODES; i++) {
        vec_done(&fakes[i].inbox);
        vec_done(&fakes[i].held);
        vec_done(&fakes[i].unacknowledged);
    }
    world_close();
}

static void what_was_stored_makes_the_same_machine(void **unused)
{
    const char *first = getenv("SEED");
    if (first)
        world_play(strtoull(first, NULL, 10), 600);
    else
        for (uint64_t seed = 1; seed <= worlds_of(8); seed++)
            world_play(seed, 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_stored_makes_the_same_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
