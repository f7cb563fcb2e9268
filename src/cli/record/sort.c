/* Keys with numbers behind them (ids, priorities, times) are compared as numbers, all others by the
 * text their column shows. */
#include "cli/record/sort.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "cli/program/localtime.h"
#include "cli/record/columns_job.h"
#include "cli/table/listing.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool sort_parse(const struct column_table *t, const char *text, struct sort *ret,
                struct err *ret_err)
{
    *ret = (struct sort){0};
    bool down = false;
    for (const char *at = text; *at; at++) {
        if (text_starts(at, "cluster")) { /* there is one */
            at += strlen("cluster") - 1;
            continue;
        }
        if (*at == ',' || *at == '+' || *at == ' ' || *at == '.' || *at == '#')
            continue;
        if (*at == '-') {
            down = true;
            continue;
        }
        struct sort_key key = {.down = down};
        for (size_t i = 0; i < t->n && !key.column; i++)
            if (t->column[i].letter == *at)
                key.column = &t->column[i];
        if (!key.column) {
            sort_done(ret);
            return err_set(ret_err, ERR_INVALID, "Invalid sort specification: %c", *at);
        }
        vec_push(&ret->key, key);
        down = false;
    }
    return true;
}

void sort_done(struct sort *s)
{
    vec_done(&s->key);
}

const char *sort_fields(const struct sort *s, const char *always, struct arena *a)
{
    const char *list = always;
    for (size_t i = 0; i < s->key.n; i++)
        list = listing_join(list, s->key.v[i].column->fields, a);
    return list;
}

static bool job_number(const void *record, char letter, int64_t now, int64_t *ret)
{
    const struct job *j = record;
    switch (letter) {
    case 'i':
    case 'A':
    case 'F': *ret = (int64_t)(j->array_job_id ? j->array_job_id : j->id); return true;
    case 'p':
    case 'Q': *ret = (int64_t)j->priority; return true;
    case 'S':
        *ret = j->start_us ? j->start_us : (j->planned_us ? j->planned_us : INT64_MAX);
        return true;
    case 'e': *ret = j->end_us; return true;
    case 'V': *ret = j->submit_us; return true;
    case 'M': *ret = job_elapsed_us(j, now); return true;
    case 'l': *ret = job_limit_us(j) ? job_limit_us(j) : TIME_UNLIMITED; return true;
    case 'L': *ret = job_limit_us(j) - job_elapsed_us(j, now); return true;
    case 'D': *ret = job_nodes(j); return true;
    case 'C': *ret = job_cpus(j); return true;
    case 'K': *ret = j->array_task_id; return true;
    case 'U': *ret = j->user_id; return true;
    case 'y': *ret = j->spec.nice; return true;
    }
    return false;
}

static bool step_number(const void *record, char letter, int64_t now, int64_t *ret)
{
    const struct step *s = record;
    switch (letter) {
    case 'i': *ret = (int64_t)s->job_id; return true;
    case 'S': *ret = s->start_us; return true;
    case 'M': *ret = (s->end_us ? s->end_us : now) - s->start_us - s->suspended_us; return true;
    case 'l': *ret = s->limit_us ? s->limit_us : TIME_UNLIMITED; return true;
    case 'A': *ret = s->ntasks; return true;
    case 'U': *ret = s->user_id; return true;
    }
    return false;
}

/* Within a job: 0, 1, 2, …, then those without a number. */
static int step_order(const struct step *a, const struct step *b)
{
    uint64_t na = (uint64_t)a->step_id, nb = (uint64_t)b->step_id;
    return (na > nb) - (na < nb);
}

typedef bool (*number_fn)(const void *record, char letter, int64_t now, int64_t *ret);

struct compare {
    const struct sort *sort;
    number_fn number;
    bool steps;
    struct cell_env env;
};

struct sort_entry {
    const void *record;
    size_t place;
};

static int text_compare(const struct column *c, const void *a, const void *b,
                        const struct cell_env *env)
{
    struct str ta = STR_INIT, tb = STR_INIT;
    c->print(env, a, &ta);
    c->print(env, b, &tb);
    int order = strcmp(str_text(&ta), str_text(&tb));
    str_done(&ta);
    str_done(&tb);
    return order;
}

static int key_compare(const struct compare *how, const struct sort_key *key, const void *a,
                       const void *b)
{
    int64_t na, nb;
    char letter = key->column->letter;
    int order =
        how->number(a, letter, how->env.now_us, &na) && how->number(b, letter, how->env.now_us, &nb)
            ? (na > nb) - (na < nb)
            : text_compare(key->column, a, b, &how->env);
    return order || !how->steps || letter != 'i' ? order : step_order(a, b);
}

static int entry_compare(const void *pa, const void *pb, void *ctx)
{
    const struct sort_entry *a = pa, *b = pb;
    const struct compare *how = ctx;
    for (size_t i = 0; i < how->sort->key.n; i++) {
        const struct sort_key *key = &how->sort->key.v[i];
        int order = key_compare(how, key, a->record, b->record);
        if (order)
            return key->down ? -order : order;
    }
    return (a->place > b->place) - (a->place < b->place);
}

static void records_sort(struct compare *how, const void **record, size_t n)
{
    ASSERT(how->sort && (record || n == 0));
    struct sort_entry *entries = xcalloc(n, sizeof *entries);
    for (size_t i = 0; i < n; i++)
        entries[i] = (struct sort_entry){record[i], i};
    if (how->sort->key.n)
        qsort_r(entries, n, sizeof *entries, entry_compare, how);
    for (size_t i = 0; i < n; i++)
        record[i] = entries[i].record;
    free(entries);
}

void sort_jobs(const struct sort *s, const struct job **job, size_t n)
{
    ASSERT(job || n == 0);
    struct compare how = {s, job_number, false, listing_env()};
    records_sort(&how, (const void **)job, n);
}

void sort_steps(const struct sort *s, const struct step **step, size_t n)
{
    ASSERT(step || n == 0);
    struct compare how = {s, step_number, true, listing_env()};
    records_sort(&how, (const void **)step, n);
}
