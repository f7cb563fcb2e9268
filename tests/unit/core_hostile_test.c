/* Whatever number a stranger puts into a message: it is refused by the wire with field, value and
 * range, or what follows comes to an end, every invariant holds, and a controller that starts from
 * what was stored is as sound. Each number of each message a controller takes is tried at the ends
 * of its range, beyond them, and at the ends of what 64 bits hold; then several at once. */
#include "core_hostile_help.h"
#include "share.h"

#define PATIENCE_SEC 60 /* for one world, which takes some milliseconds */
#define MIXED_ROUNDS 24

static const char *const conf =
    CONF "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n"
         "PartitionName=high Nodes=n[1-4] PriorityTier=9 GraceTime=60\n";

/* ---- a world in which each of them meets something ------------------------------------------ */

static void begin(void)
{
    world_open(conf, 3);
    submit(a_wide_job("runs"));
    report(1, (struct msg_report){
                  .kind = REPORT_STARTED, .job_id = RUNS, .attempt = 1, .step_id = STEP_BATCH});
    struct job_spec waits = a_wide_job("waits");
    waits.req.nodelist = "n1";
    submit(waits);
    am_root();
    struct draft d = draft(4);
    ((struct msg_update_reservation *)d.body)->name = "resv";
    say(1, d.kind, d.body);
}

/* Time passes, the machine starts again from its rows, and more time passes. */
static void live_on(void)
{
    pass(MIN);
    pass(61 * MIN);
    restart(conf);
    for (int n = 1; n <= 3; n++)
        hello(n);
    pass(61 * MIN);
    pass(INT64_C(400) * 24 * 60 * MIN);
}

/* ---- numbers in them ---- */

typedef VEC(struct number) number_vec;

static void numbers_of(const struct fields *t, void *record, number_vec *out)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct field *f = &t->field[i];
        struct record_list *list = field_ptr(f, record);
        if (field_range(f))
            vec_push(out, ((struct number){f, record}));
        else if (f->type == FIELD_LIST && list->n)
            numbers_of(f->aux, list->v, out);
    }
}

static bool is_signed(const struct field *f)
{
    return f->type != FIELD_U32 && f->type != FIELD_U64;
}

static bool is_wide(const struct field *f)
{
    return f->type != FIELD_I32 && f->type != FIELD_U32;
}

/* False: the number has no room in the member, so that nothing but a frame by hand could hold
 * it. */
static bool number_set(const struct number *n, uint64_t value)
{
    void *p = field_ptr(n->f, n->record);
    if (is_wide(n->f)) {
        *(uint64_t *)p = value;
        return true;
    }
    *(uint32_t *)p = (uint32_t)value;
    return is_signed(n->f) ? (int64_t)value == *(int32_t *)p : value == *(uint32_t *)p;
}

static bool allowed(const struct field *f, uint64_t value)
{
    const struct int_range *r = field_range(f);
    int64_t n = (int64_t)value;
    if (!is_signed(f))
        return value >= (uint64_t)r->min && value <= r->max;
    return (r->endless && n == TIME_UNLIMITED) || (n >= r->min && (n < 0 || value <= r->max));
}

/* ---- one message, through the wire ---- */

static void hear(uint64_t conn, const struct message *m)
{
    if (m->kind == MSG_QUERY)
        return;
    effects_reset(&w.fx);
    step((struct event){.kind = EV_MESSAGE, .conn = conn, .peer = &w.peer, .msg = m});
    settle(0);
}

/* Returns whether the wire let it in; *why is what it said. */
static bool deliver(const struct draft *d, struct err *why)
{
    struct str bytes = STR_INIT;
    struct frame f;
    struct message m;
    bool node = message_table[d->kind].who == WHO_NODE;
    wire_encode(&(struct message){.kind = d->kind, .seq = ++w.seq, .body = d->body}, &bytes);
    assert_true(frame_take(bytes.data, bytes.len, &f, why) > 0);
    bool taken = wire_decode(&f, w.a, &m, why);
    if (taken)
        hear(node ? CONN_OF(1) : 1, &m);
    str_done(&bytes);
    return taken;
}
static struct which *playing; /* shared with the process that plays */

/* Worlds live in a process of their own: one that dies, or never ends, is named. */
static void apart(void (*play)(int message), int message)
{
    int status;
    playing =
        mmap(NULL, sizeof *playing, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(playing != MAP_FAILED);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        play(message);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status != 0)
        fail_msg("message %d, number %zu, edge %d, %s: %s", playing->message, playing->number,
                 playing->edge, playing->as_alice ? "alice" : "root",
                 WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "it never ends" : "it died");
    munmap(playing, sizeof *playing);
}

static void playing_now(struct which which)
{
    alarm(PATIENCE_SEC);
    *playing = which;
}

static void say_failed(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
static void say_failed(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    _exit(1);
}

static void one_number(struct which which)
{
    int e = which.edge;
    size_t i = which.number;
    playing_now(which);
    begin();
    struct draft d = draft(which.message);
    number_vec all = {0};
    struct err why = {0};
    numbers_of(message_fields(d.kind), d.body, &all);
    assert_true(i < all.n);
    const struct field *f = all.v[i].f;
    uint64_t value = edge(field_range(f), e);
    if (number_set(&all.v[i], value)) {
        if (d.fields)
            *d.fields = *d.fields ? arena_printf(w.a, "%s,%s", *d.fields, f->name) : f->name;
        if (which.as_alice)
            am_alice();
        else
            am_root();
        bool taken = deliver(&d, &why), may = value == 0 || allowed(f, value);
        if (taken != may)
            say_failed("%s.%s = %lld: %s (%s)\n", message_table[d.kind].name, f->name,
                       (long long)value, taken ? "taken" : "refused", why.text);
        if (!taken && (!strstr(why.text, f->name) || !strstr(why.text, " is out of range, ")))
            say_failed("%s: %s\n", f->name, why.text);
        if (taken)
            live_on();
    }
    vec_done(&all);
    world_close();
}

static void every_number(int which)
{
    begin();
    struct draft d = draft(which);
    number_vec all = {0};
    numbers_of(message_fields(d.kind), d.body, &all);
    size_t n = all.n;
    bool node = message_table[d.kind].who == WHO_NODE;
    vec_done(&all);
    world_close();
    for (size_t i = 0; i < n; i++)
        for (int e = 0; e < EDGES; e++)
            if (in_share(i * EDGES + (size_t)e, 4))
                one_number((struct which){which, i, e, !node && (i + (size_t)e) % 2});
}

static void test_every_number_of_every_message(void **state)
{
    (void)state;
    for (int which = 0; which < DRAFTS; which++)
        apart(every_number, which);
}

/* Which are allowed together: sums and products of them meet. */
static void many_numbers(uint64_t seed)
{
    struct rng rng = {seed};
    playing_now((struct which){.number = seed});
    begin();
    for (int k = 0; k < 4; k++) {
        struct draft d = draft(rng_chance(&rng, 400) ? 0 : (int)rng_below(&rng, DRAFTS));
        number_vec all = {0};
        struct err why = {0};
        numbers_of(message_fields(d.kind), d.body, &all);
        for (uint64_t n = 1 + rng_below(&rng, 6); n && all.n; n--) {
            const struct number *one = &all.v[rng_below(&rng, all.n)];
            const struct int_range *r = field_range(one->f);
            uint64_t value = rng_chance(&rng, 500)   ? r->max
                             : rng_chance(&rng, 300) ? 1
                                                     : (uint64_t)r->min;
            if (r->endless && rng_chance(&rng, 200))
                value = (uint64_t)TIME_UNLIMITED;
            number_set(one, value);
            if (d.fields)
                *d.fields =
                    *d.fields ? arena_printf(w.a, "%s,%s", *d.fields, one->f->name) : one->f->name;
        }
        am_root();
        if (!deliver(&d, &why))
            say_failed("%s\n", why.text);
        vec_done(&all);
    }
    live_on();
    world_close();
}

static void many_worlds(int unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= worlds_of(MIXED_ROUNDS); seed++)
        many_numbers(seed);
}

static void test_many_numbers_at_once(void **state)
{
    (void)state;
    apart(many_worlds, 0);
}

/* ---- rows ---- */

static struct job *stored_job(uint64_t id)
{
    for (size_t i = 0; i < w.store.n; i++)
        if (w.store.v[i].table == TABLE_JOB && ((struct job *)w.store.v[i].record)->id == id)
            return w.store.v[i].record;
    return NULL;
}

static const struct left_out *stored_out(void)
{
    for (size_t i = 0; i < w.store.n; i++)
        if (w.store.v[i].table == TABLE_LEFT_OUT)
            return w.store.v[i].record;
    return NULL;
}

static void poison_deadline(struct job *j)
{
    j->spec.deadline_us = INT64_MAX;
    j->spec.req.time_limit_us = TIME_UNLIMITED;
}
static void poison_state(struct job *j)
{
    j->state = 99;
}
static void poison_run(struct job *j)
{
    j->alloc = "n1 cpus=x";
}
static void poison_array(struct job *j)
{
    j->array_job_id = j->id;
    j->array_pending = "1-";
}

static void test_a_row_that_cannot_be_is_left_out(void **state)
{
    static const struct {
        void (*poison)(struct job *j);
        uint64_t id;
        const char *why;
    } rows[] = {{poison_deadline, WAITS, "deadline_us: 9223372036854775807 is out of range, 0 to"},
                {poison_state, WAITS, "state: there is no value 99"},
                {poison_run, RUNS, "alloc: "},
                {poison_array, WAITS, "1-"}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        begin();
        rows[i].poison(stored_job(rows[i].id));
        restart(conf);
        am_alice();
        assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .ids = "1,2"}), 1);
        assert_int_equal(job(RUNS + WAITS - rows[i].id)->id, RUNS + WAITS - rows[i].id);
        const struct left_out *out = stored_out();
        assert_non_null(out);
        assert_string_equal(out->name, rows[i].id == RUNS ? "job 1" : "job 2");
        if (!strstr(out->why, rows[i].why))
            fail_msg("%s", out->why);
        assert_non_null(strstr(out->record, "name="));
        const struct daemon_status *s = NULL;
        struct rows status = ask((struct msg_query){.what = QUERY_STATUS});
        s = status.row.v[0];
        assert_non_null(strstr(s->trouble, "1 row of the store cannot be"));
        vec_done(&status.row);
        live_on();
        assert_non_null(stored_job(rows[i].id));
        world_close();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_number_of_every_message),
        cmocka_unit_test(test_many_numbers_at_once),
        cmocka_unit_test(test_a_row_that_cannot_be_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
