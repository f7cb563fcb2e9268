/* Random expressions over random jobs, against a reading of them that knows nothing of the
 * machine's: after each step a job is free if what it waits for held after one of the steps so
 * far, and not before. Jobs and arrays run, fail, are held, suspended, cancelled and forgotten,
 * and the controller is killed and reads what it had stored. Nobody is sent back to the queue
 * here: what holds stays so then, which is told in core_depend_test.c. */
#include "base/rng.h"
#include "core_help.h"
#include "model/job/array.h"
#include "share.h"

#define WORLDS   25
#define EVENTS   70
#define JOBS     24
#define ELEMENTS 4
#define PARTS    3

enum life { WAITS, HELD, RUNS, RESTS, DONE, FAILED };

struct element {
    enum life life;
    int code;
    int64_t began_us;
    bool asked, free, never; /* of one that waits for others: what the machine said last */
    bool held_once;          /* by our own reading */
};

/* As it is written: operator and parts, or a condition. */
struct part {
    char op; /* ',' '?' '!'; '.' = a condition */
    struct part *in[PARTS];
    int n;
    const char *kind;
    int target;  /* in jobs */
    int task;    /* -1 = all, -2 = each */
    int minutes; /* of after */
    const char *compare;
    int number; /* -1 = all */
};

struct thing {
    uint64_t id;
    int n; /* elements; 0 = no array */
    struct element e[ELEMENTS];
    struct part *waits;
    bool pairs, delays;
};

static struct thing jobs[JOBS];
static int njobs;
static struct rng rng;
static uint64_t seed;

static int upto(int n)
{
    return (int)rng_below(&rng, (uint64_t)n);
}

/* ---- what there is, as everybody can see it ---- */

/* NULL: it has left memory. */
static const struct job *row_of(const struct thing *t, int i)
{
    const char *name =
        t->n ? arena_printf(w.a, "%llu_%d", (unsigned long long)t->id, i) : ids_of(t->id);
    struct rows r = ask((struct msg_query){.what = QUERY_JOBS, .ids = name, .states = "all"});
    const struct job *found = r.row.n == 1 ? r.row.v[0] : NULL;
    vec_done(&r.row);
    return found;
}

static enum life life_of(const struct job *j)
{
    if (job_state_over((enum job_state)j->state))
        return j->state == JOB_COMPLETED ? DONE : FAILED;
    if (j->state == JOB_PENDING)
        return j->spec.hold ? HELD : WAITS;
    return j->state == JOB_SUSPENDED ? RESTS : RUNS;
}

static int elements(const struct thing *t)
{
    return t->n ? t->n : 1;
}

static void look(struct thing *t)
{
    for (int i = 0; i < elements(t); i++) {
        struct element *e = &t->e[i];
        const struct job *j = row_of(t, i);
        if (!j && (e->life == WAITS || e->life == HELD)) {
            e->life = FAILED; /* cancelled before it could run, which nobody is shown */
            e->began_us = w.now;
        }
        if (!j)
            continue; /* forgotten: as it was */
        e->life = life_of(j);
        e->code = j->exit_status & 127 ? 128 + (j->exit_status & 127) : j->exit_status >> 8;
        e->began_us = j->start_us ? j->start_us : j->end_us;
        e->free = text_empty(j->spec.dependency);
        e->never = j->reason == REASON_DEPENDENCY_NEVER;
    }
}

/* ---- our own reading ---- */

static bool compares(const char *how, int a, int b)
{
    if (text_is(how, "=="))
        return a == b;
    if (text_is(how, "!="))
        return a != b;
    if (text_is(how, "<"))
        return a < b;
    if (text_is(how, "<="))
        return a <= b;
    return text_is(how, ">") ? a > b : a >= b;
}

static bool is(const struct element *e, const char *kind)
{
    bool over = e->life == DONE || e->life == FAILED, waits = e->life == WAITS || e->life == HELD;
    if (text_is(kind, "numdone"))
        return e->life == DONE;
    if (text_is(kind, "numexit"))
        return e->life == FAILED;
    if (text_is(kind, "numended"))
        return over;
    if (text_is(kind, "numstart"))
        return !waits;
    if (text_is(kind, "numrun"))
        return e->life == RUNS;
    return e->life == (text_is(kind, "numpend") ? WAITS : HELD);
}

static bool holds_of(const struct part *p, const struct element *e, int n)
{
    int done = 0, failed = 0, counted = 0, coded = 0;
    bool begun = true, ripe = true;
    for (int i = 0; i < n; i++) {
        done += e[i].life == DONE;
        failed += e[i].life == FAILED;
        counted += text_starts(p->kind, "num") && is(&e[i], p->kind);
        begun &= is(&e[i], "numstart");
        ripe &= e[i].began_us + p->minutes * MIN <= w.now;
        if (text_is(p->kind, "exit"))
            coded += e[i].life == FAILED && compares(p->compare, e[i].code, p->number);
    }
    if (text_is(p->kind, "after"))
        return begun && ripe;
    if (text_is(p->kind, "afterany"))
        return done + failed == n;
    if (text_is(p->kind, "afterok"))
        return done == n;
    if (text_is(p->kind, "afternotok"))
        return done + failed == n && failed;
    if (text_is(p->kind, "exit"))
        return coded == n;
    return compares(p->compare, counted, p->number < 0 ? n : p->number);
}

/* For one element of who waits. */
static bool holds(const struct part *p, int own)
{
    bool all = true, any = false;
    const struct thing *t = &jobs[p->target];
    if (p->op == '!')
        return !holds(p->in[0], own);
    if (p->op == '.' && p->task == -1)
        return holds_of(p, t->e, elements(t));
    if (p->op == '.')
        return holds_of(p, &t->e[p->task == -2 ? own : p->task], 1);
    for (int i = 0; i < p->n; i++) {
        bool one = holds(p->in[i], own);
        all &= one;
        any |= one;
    }
    return p->op == ',' ? all : any;
}

static bool settled(const struct part *p)
{
    bool over = true;
    const struct thing *t = &jobs[p->target];
    for (int i = 0; i < p->n; i++)
        over &= settled(p->in[i]);
    for (int i = 0; p->op == '.' && i < elements(t); i++)
        over &= t->e[i].life == DONE || t->e[i].life == FAILED;
    return over;
}

static void write(const struct part *p, struct str *out)
{
    if (p->op == '.') {
        str_addf(out, "%s:%llu", p->kind, (unsigned long long)jobs[p->target].id);
        if (p->task == -2)
            str_add(out, "_each");
        else if (p->task >= 0)
            str_addf(out, "_%d", p->task);
        if (p->minutes)
            str_addf(out, "+%d", p->minutes);
        if (p->compare && p->number < 0)
            str_addf(out, "%sall", p->compare);
        else if (p->compare)
            str_addf(out, "%s%d", p->compare, p->number);
        return;
    }
    if (p->op == '!')
        str_addc(out, '!');
    str_addc(out, '(');
    for (int i = 0; i < p->n; i++) {
        if (i)
            str_addc(out, p->op);
        write(p->in[i], out);
    }
    str_addc(out, ')');
}

static const char *written(const struct part *p)
{
    struct str out = STR_INIT;
    write(p, &out);
    const char *text = arena_strdup(w.a, str_text(&out));
    str_done(&out);
    return text;
}

static void compare(struct thing *t, int i)
{
    struct element *e = &t->e[i];
    if (e->held_once || !e->asked || e->life == DONE || e->life == FAILED)
        return;
    bool now = holds(t->waits, i);
    if (now && !e->free && core_wake_due(w.c) <= w.now)
        return; /* minutes have passed, and the machine is not told yet */
    if (now != e->free)
        fail_msg("seed %llu: job %llu_%d, which waits for %s, is %s, and that %s",
                 (unsigned long long)seed, (unsigned long long)t->id, i, written(t->waits),
                 e->free ? "free" : "not free", now ? "holds" : "does not hold");
    e->held_once |= now;
    if (e->free)
        return;
    bool can_never = settled(t->waits) && !t->delays;
    if (can_never && !e->never && e->life == WAITS)
        fail_msg("seed %llu: job %llu_%d can never run by %s, and that is not said",
                 (unsigned long long)seed, (unsigned long long)t->id, i, written(t->waits));
}

static void all_look(void)
{
    for (int i = 0; i < njobs; i++)
        look(&jobs[i]);
}

static void all_compare(void)
{
    all_look();
    for (int i = 0; i < njobs; i++)
        for (int k = 0; jobs[i].waits && k < elements(&jobs[i]); k++)
            compare(&jobs[i], k);
}

/* ---- what happens ---- */

static bool known(const struct thing *t)
{
    for (int i = 0; i < elements(t); i++)
        if (!row_of(t, i))
            return false;
    return true;
}

static const char *const comparisons[] = {"==", "!=", "<", "<=", ">", ">="};
static const char *const counts[] = {"numdone", "numended", "numexit", "numstart",
                                     "numrun",  "numpend",  "numhold"};
static const char *const plain[] = {"after", "afterany", "afterok", "afternotok", "exit"};

static bool condition_make(struct part *p, struct thing *of, bool negated)
{
    p->op = '.';
    p->target = upto(njobs);
    const struct thing *t = &jobs[p->target];
    if (!known(t))
        return false;
    p->task = t->n && upto(2) ? upto(t->n) : -1;
    if (t->n && t->n == of->n && !negated && !upto(3)) {
        p->task = -2;
        of->pairs = true;
    }
    p->kind =
        p->task == -1 && upto(2) ? counts[upto(ARRAY_LEN(counts))] : plain[upto(ARRAY_LEN(plain))];
    bool number = text_starts(p->kind, "num") || text_is(p->kind, "exit");
    p->compare = number ? comparisons[upto(ARRAY_LEN(comparisons))] : NULL;
    p->number = upto(ELEMENTS + 1);
    if (text_starts(p->kind, "num") && !upto(4))
        p->number = -1;
    p->minutes = text_is(p->kind, "after") && !upto(3) ? 1 + upto(3) : 0;
    of->delays |= p->minutes > 0;
    return true;
}

static struct part *expression_make(struct thing *of, int depth, bool negated)
{
    struct part *p = arena_alloc(w.a, sizeof *p);
    int dice = depth ? upto(10) : 0;
    if (dice < 4)
        return condition_make(p, of, negated) ? p : NULL;
    p->op = dice < 6 ? '!' : dice < 8 ? ',' : '?';
    p->n = p->op == '!' ? 1 : 2 + upto(PARTS - 1);
    for (int i = 0; i < p->n; i++)
        if (!(p->in[i] = expression_make(of, depth - 1, negated || p->op == '!')))
            return NULL;
    return p;
}

static void new_job(void)
{
    struct job_spec spec = a_job("one");
    struct thing t = {.n = upto(2) ? 2 + upto(ELEMENTS - 1) : 0};
    if (njobs == JOBS)
        return;
    if (njobs && upto(2))
        t.waits = expression_make(&t, 3, false);
    spec.req.time_limit_us = 100 * MIN;
    spec.hold = !upto(5);
    spec.array = t.n ? arena_printf(w.a, "0-%d", t.n - 1) : NULL;
    spec.dependency = t.waits ? written(t.waits) : NULL;
    for (int i = 0; i < elements(&t); i++) {
        t.e[i].asked = t.waits != NULL;
        t.e[i].held_once = t.waits && holds(t.waits, i);
    }
    jobs[njobs] = t;
    /* It is not among those that are looked at before it has its number. */
    void (*after_step)(void) = w.after_step;
    w.after_step = NULL;
    jobs[njobs].id = submit(spec);
    w.after_step = after_step;
    if (!jobs[njobs].id)
        fail_msg("seed %llu: %s was refused: %s", (unsigned long long)seed, spec.dependency,
                 answer() ? answer()->detail : "");
    struct thing *made = &jobs[njobs++];
    look(made);
    for (int i = 0; made->waits && i < elements(made); i++)
        if (made->e[i].held_once != made->e[i].free)
            fail_msg("seed %llu: job %llu_%d, which came with %s, is %s", (unsigned long long)seed,
                     (unsigned long long)made->id, i, spec.dependency,
                     made->e[i].free ? "free" : "not free");
    all_compare();
}

static struct thing *any_job(int *ret_element)
{
    struct thing *t = njobs ? &jobs[upto(njobs)] : NULL;
    *ret_element = t ? upto(elements(t)) : 0;
    return t;
}

static const char *name_of(const struct thing *t, int i)
{
    return t->n && upto(3) ? arena_printf(w.a, "%llu_%d", (unsigned long long)t->id, i)
                           : ids_of(t->id);
}

static void an_end(void)
{
    int i;
    const struct thing *t = any_job(&i);
    const struct job *j = t ? row_of(t, i) : NULL;
    if (j && j->batch_host && !job_state_over((enum job_state)j->state) && j->state != JOB_PENDING)
        script_ends(j->id, upto(3) ? status_of_code(upto(5)) : 0);
}

static void a_request(void)
{
    static const enum job_action actions[] = {ACTION_HOLD, ACTION_RELEASE, ACTION_SUSPEND,
                                              ACTION_RESUME};
    int i;
    const struct thing *t = any_job(&i);
    if (!t)
        return;
    struct msg_job_control m = {.action = actions[upto(ARRAY_LEN(actions))], .ids = name_of(t, i)};
    am_root();
    say(1, MSG_JOB_CONTROL, &m);
    am_alice();
}

static void a_restart(void)
{
    w.after_step = NULL;
    restart(CONF);
    for (int n = 1; n <= 4; n++) {
        struct held held[JOBS * ELEMENTS];
        size_t nheld = 0;
        for (int i = 0; i < njobs; i++)
            for (int k = 0; k < elements(&jobs[i]); k++) {
                const struct job *j = row_of(&jobs[i], k);
                if (j && (j->state == JOB_RUNNING || j->state == JOB_SUSPENDED) &&
                    text_is(j->batch_host, arena_printf(w.a, "n%d", n)))
                    held[nheld++] = (struct held){
                        .job_id = j->id, .attempt = j->attempt, .step_id = STEP_BATCH};
            }
        w.after_step = n == 4 ? all_compare : all_look; /* else not all nodes are there */
        hello_holding(n, held, nheld);
    }
    am_alice();
}

static void something(void)
{
    int dice = upto(100), i;
    const struct thing *t = any_job(&i);
    if (dice < 20)
        new_job();
    else if (dice < 60)
        an_end();
    else if (dice < 80)
        a_request();
    else if (dice < 85 && t)
        cancel(name_of(t, i));
    else if (dice < 95)
        pass((1 + upto(120)) * SEC);
    else if (dice < 97)
        pass(400 * SEC); /* ended ones leave memory */
    else
        a_restart();
}

static void what_holds_is_free_and_nothing_else(void **state)
{
    for (seed = 1; seed <= worlds_of(WORLDS); seed++) {
        rng = (struct rng){seed * 977};
        njobs = 0;
        memset(jobs, 0, sizeof jobs);
        w.after_step = all_compare;
        for (int i = 0; i < EVENTS; i++)
            something();
        w.after_step = NULL;
        teardown(state);
        setup(state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {STORY(what_holds_is_free_and_nothing_else)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
