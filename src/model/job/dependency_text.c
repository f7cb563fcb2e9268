/* What is known of a dependency: what the whole is worth, and how it is written. */
#include "base/alloc.h"
#include "base/duration.h"
#include "model/job/dependency.h"
#include "model/job/job.h"

#include <string.h>

bool dep_compares(enum dep_compare how, int64_t a, int64_t b)
{
    switch (how) {
    case DEP_EQ: return a == b;
    case DEP_NE: return a != b;
    case DEP_LT: return a < b;
    case DEP_LE: return a <= b;
    case DEP_GT: return a > b;
    case DEP_GE: return a >= b;
    }
    return false;
}

bool dep_counts(enum dep_kind kind)
{
    return kind >= DEP_NUMDONE && kind <= DEP_NUMHOLD;
}

bool dep_is_before(enum dep_kind kind)
{
    return kind >= DEP_BEFORE && kind <= DEP_BEFORENOTOK;
}

bool dep_pairs(const struct dependency *d)
{
    return d->each || (d->kind == DEP_AFTERCORR && d->task_id == NO_TASK);
}

enum dep_kind dep_after_of(enum dep_kind before)
{
    ASSERT(dep_is_before(before));
    return before == DEP_BEFORE      ? DEP_AFTER
           : before == DEP_BEFOREANY ? DEP_AFTERANY
           : before == DEP_BEFOREOK  ? DEP_AFTEROK
                                     : DEP_AFTERNOTOK;
}

/* ---- the whole ------------------------------------------------------------------------------ */

struct dependency_cursor {
    const struct dependency_list *list;
    const char *form;
    size_t i; /* the next condition */
};

static char form_next(struct dependency_cursor *at)
{
    if (at->form)
        return *at->form++;
    return at->i < at->list->n ? '.' : ')';
}

static struct dep_truth truth_of_one(const struct dependency *d)
{
    if (d->status == DEP_OPEN)
        return (struct dep_truth){.now = d->now};
    return (struct dep_truth){.now = d->status == DEP_SATISFIED, .final = true};
}

/* Of the group that has been opened. */
static struct dep_truth truth_of_group(struct dependency_cursor *at, bool any)
{
    struct dep_truth all = {.now = !any, .final = true};
    bool settled = false; /* by one of them, for ever */
    for (char c = form_next(at); c != ')'; c = form_next(at)) {
        struct dep_truth one =
            c == '.' ? truth_of_one(&at->list->v[at->i++]) : truth_of_group(at, c == '|');
        settled |= one.final && one.now == any;
        all.final &= one.final;
        all.now = any ? all.now || one.now : all.now && one.now;
    }
    all.final |= settled;
    return all;
}

struct dep_truth dependency_truth(const struct dependency_list *d)
{
    struct dependency_cursor at = {d, d->form ? d->form + 1 : NULL, 0};
    if (!d->n)
        return (struct dep_truth){true, true};
    return truth_of_group(&at, d->any);
}

/* ---- as text -------------------------------------------------------------------------------- */

struct dependency_writer {
    struct dependency_cursor at;
    const char *and, * or ;
    void (*one)(const struct dependency *d, struct str *out);
};

/* Returns whether the group is satisfied, and how many of its members were written. */
static bool group_write(struct dependency_writer *w, bool any, struct str *out, size_t *ret_shown)
{
    size_t satisfied = 0, members = 0, shown = 0, last = 0;
    struct str own = STR_INIT;
    for (char c = form_next(&w->at); c != ')'; c = form_next(&w->at), members++) {
        const char *between = !shown ? "" : any ? w->or : w->and;
        struct str part = STR_INIT;
        size_t inside = 1;
        bool done;
        if (c == '.') {
            const struct dependency *d = &w->at.list->v[w->at.i++];
            done = d->status == DEP_SATISFIED;
            if (!done) {
                str_add(&own, between);
                w->one(d, &own);
            }
        } else {
            done = group_write(w, c == '|', &part, &inside);
            if (!done)
                str_addf(&own, "%s%s%s%s", between, inside > 1 ? "(" : "", str_text(&part),
                         inside > 1 ? ")" : "");
        }
        satisfied += done;
        shown += !done;
        last = done ? last : inside;
        str_done(&part);
    }
    bool one_group = shown == 1 && last > 1; /* its parentheses are not needed */
    str_addn(out, str_text(&own) + one_group, own.len - 2 * one_group);
    str_done(&own);
    *ret_shown = one_group ? last : shown;
    return any ? satisfied > 0 : satisfied == members;
}

void dependency_write(const struct dependency_list *d, const char *and, const char * or,
                      void (*one)(const struct dependency *d, struct str *out), struct str *out)
{
    struct dependency_writer w = {{d, d->form ? d->form + 1 : NULL, 0}, and, or, one};
    size_t shown;
    group_write(&w, d->any, out, &shown);
}

static void one_format(const struct dependency *d, struct str *out)
{
    str_add(out, d->negated ? "!" : NULL);
    str_add(out, dep_kind_words[d->kind]);
    if (d->kind != DEP_SINGLETON)
        str_addc(out, ':');
    if (d->kind == DEP_ON)
        str_add_i64(out, d->number);
    else if (d->kind != DEP_SINGLETON)
        str_add_u64(out, d->job_id);
    if (d->each && d->kind != DEP_AFTERCORR)
        str_add(out, "_each");
    else if (d->task_id != NO_TASK)
        str_addf(out, "_%u", d->task_id);
    else if (d->whole)
        str_add(out, "_*");
    if (d->delay_us)
        str_addf(out, "+%lld", (long long)(d->delay_us / USEC_PER_MIN));
    if (d->kind == DEP_EXIT || dep_counts((enum dep_kind)d->kind))
        str_add(out, dep_compare_words[d->compare]);
    if (dep_counts((enum dep_kind)d->kind) && d->number == DEP_ALL)
        str_add(out, "all");
    else if (d->kind == DEP_EXIT || dep_counts((enum dep_kind)d->kind))
        str_addf(out, "%d", d->number);
    str_add(out, d->status == DEP_FAILED ? "(failed)" : "(unfulfilled)");
}

void dependency_format(const struct dependency_list *d, struct str *out)
{
    dependency_write(d, ",", "?", one_format, out);
}

/* ---- in words ------------------------------------------------------------------------------- */

static void job_say(const struct dependency *d, struct str *out)
{
    if (dep_pairs(d))
        str_addf(out, "its own element of job %llu", (unsigned long long)d->job_id);
    else if (d->task_id != NO_TASK)
        str_addf(out, "job %llu_%u", (unsigned long long)d->job_id, d->task_id);
    else
        str_addf(out, "job %llu", (unsigned long long)d->job_id);
}

static const char *const compare_says[] = {
    [DEP_EQ] = "exactly", [DEP_NE] = "a number other than", [DEP_LT] = "fewer than",
    [DEP_LE] = "at most", [DEP_GT] = "more than",           [DEP_GE] = "at least"};
static const char *const code_says[] = {
    [DEP_EQ] = "",       [DEP_NE] = "other than ", [DEP_LT] = "below ", [DEP_LE] = "of at most ",
    [DEP_GT] = "above ", [DEP_GE] = "of at least "};
static const char *const count_says[] = {
    [DEP_NUMDONE] = "have ended well", [DEP_NUMENDED] = "have ended", [DEP_NUMEXIT] = "have failed",
    [DEP_NUMSTART] = "have started",   [DEP_NUMRUN] = "be running",   [DEP_NUMPEND] = "be pending",
    [DEP_NUMHOLD] = "be held",
};

static void count_say(const struct dependency *d, struct str *out)
{
    if (d->number == DEP_ALL && (d->compare == DEP_EQ || d->compare == DEP_GE))
        str_add(out, "all");
    else if (d->number == DEP_ALL)
        str_addf(out, "%s all", compare_says[d->compare]);
    else
        str_addf(out, "%s %d", compare_says[d->compare], d->number);
    str_addf(out, " elements of job %llu %sto %s", (unsigned long long)d->job_id,
             d->negated ? "not " : "", count_says[d->kind]);
}

static const char *deed(const struct dependency *d)
{
    switch ((enum dep_kind)d->kind) {
    case DEP_AFTER: return d->negated ? "have started" : "start";
    case DEP_AFTERANY: return d->negated ? "have ended" : "end";
    case DEP_AFTEROK:
    case DEP_AFTERCORR: return d->negated ? "have ended well" : "end well";
    case DEP_AFTERNOTOK: return d->negated ? "have failed" : "fail";
    case DEP_EXIT: return d->negated ? "have failed with an exit code" : "fail with an exit code";
    case DEP_BEFORE:
    case DEP_BEFOREANY:
    case DEP_BEFOREOK:
    case DEP_BEFORENOTOK:
    case DEP_SINGLETON:
    case DEP_ON:
    case DEP_NUMDONE:
    case DEP_NUMENDED:
    case DEP_NUMEXIT:
    case DEP_NUMSTART:
    case DEP_NUMRUN:
    case DEP_NUMPEND:
    case DEP_NUMHOLD: break;
    }
    return "";
}

static void one_say(const struct dependency *d, struct str *out)
{
    if (d->kind == DEP_SINGLETON) {
        str_add(out, "all earlier jobs of its name and user to end");
    } else if (d->kind == DEP_ON) {
        str_addf(out, "%d more job%s to name it with before…", d->number, d->number > 1 ? "s" : "");
    } else if (dep_counts((enum dep_kind)d->kind)) {
        count_say(d, out);
    } else {
        job_say(d, out);
        str_addf(out, " %sto %s", d->negated ? "not " : "", deed(d));
        if (d->delay_us)
            str_addf(out, " and %lld minute%s to pass then",
                     (long long)(d->delay_us / USEC_PER_MIN),
                     d->delay_us == USEC_PER_MIN ? "" : "s");
        if (d->kind == DEP_EXIT)
            str_addf(out, " %s%d", code_says[d->compare], d->number);
    }
    if (d->status == DEP_FAILED)
        str_add(out, ", which can no longer be");
}

void dependency_say(const struct dependency_list *d, struct str *out)
{
    dependency_write(d, ", and ", ", or ", one_say, out);
}
