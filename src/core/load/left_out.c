/* Rows that cannot be lived with. A machine that takes in a number out of its range, a state that
 * there is not or a running job without an allocation would stop at the next invariant or never
 * come to an end, and as the row is stored, so would each start after it. Such a row is left out
 * instead. It stays where it is, for whoever wants to mend it; table left_out says what is wrong
 * and what it holds, the log and `remuda status` say that there are some. */
#include "base/hostlist.h"
#include "core/load/load.h"
#include "model/grammar/cron.h"
#include "model/past.h"

#include <string.h>

static bool holds_nodes(const struct job *j)
{
    return j->state == JOB_RUNNING || j->state == JOB_SUSPENDED || j->state == JOB_COMPLETING ||
           j->state == JOB_REQUEUED;
}

static bool wrong(struct err *ret_err, const char *why)
{
    return err_set(ret_err, ERR_INVALID, "%s", why);
}

static bool run_sound(const struct job *j, struct err *ret_err)
{
    struct arena *a = arena_new();
    struct alloc al = {0};
    bool ok = j->start_us && j->attempt && !text_empty(j->run_partition) && !text_empty(j->alloc);
    if (!ok)
        wrong(ret_err, "it runs, but not since when, where and on what");
    else if (!(ok = alloc_parse(j->alloc, a, &al, ret_err)))
        err_prefix(ret_err, "alloc");
    arena_free(a);
    return ok;
}

static bool array_sound(const struct job *j, struct err *ret_err)
{
    struct idset pending = IDSET_INIT;
    bool master = j->array_job_id == j->id && j->array_task_id == NO_TASK;
    bool ok = true;
    if (!j->array_job_id && (j->array_task_id != NO_TASK || j->array_pending))
        return wrong(ret_err, "it is an element of no array");
    if (j->array_job_id && !master && j->array_task_id == NO_TASK)
        return wrong(ret_err, "it is of an array, but neither its record nor an element");
    if (master)
        ok = idset_parse(&pending, j->array_pending ? j->array_pending : "", LIMIT_ARRAY_INDEX,
                         ret_err) &&
             (pending.count || wrong(ret_err, "an array without elements that wait"));
    idset_done(&pending);
    return ok;
}

/* What is counted on, and moments: a number beyond these would be the last, or turn all times over.
 * Moments are microseconds, from long before any clock until the year 9999. */
#define MOMENT_MOST INT64_C(253402300799000000)
static const struct counted {
    const char *key;
    int64_t least, most;
} counted[] = {
    {"epoch", 0, LIMIT_COUNTED},          {"seq", 0, LIMIT_COUNTED},
    {"next_job_id", 1, LIMIT_COUNTED},    {"last_trigger", 0, LIMIT_TRIGGER_ID},
    {"usage_at", 0, MOMENT_MOST},         {META_USED_SINCE, 0, MOMENT_MOST},
    {"clock", -MOMENT_MOST, MOMENT_MOST}, /* behind the name of a boot */
};

static bool meta_sound(const struct meta *m, struct err *ret_err)
{
    const char *value = m->value ? m->value : "", *last = strrchr(value, ' ');
    int64_t n;
    for (size_t i = 0; i < ARRAY_LEN(counted); i++)
        if (text_is(m->key, counted[i].key) &&
            !text_to_i64(last ? last + 1 : value, counted[i].least, counted[i].most, &n))
            return err_set(ret_err, ERR_INVALID, "it is %.40s, and may be %lld to %lld", value,
                           (long long)counted[i].least, (long long)counted[i].most);
    return true;
}

/* What is over only stands in lists. */
static bool job_sound(const struct job *j, struct err *ret_err)
{
    bool ending = j->state == JOB_COMPLETING || j->state == JOB_REQUEUED;
    if (!j->id || j->id >= LIMIT_COUNTED)
        return wrong(ret_err, "a job has a number, and none comes so far");
    if (!array_sound(j, ret_err))
        return false;
    if (j->cron && !cron_parse(j->cron, &(struct cron){0}, NULL, ret_err))
        return err_prefix(ret_err, "cron");
    if (job_state_over((enum job_state)j->state))
        return j->end_us || wrong(ret_err, "it is over, but not since when");
    if (ending != (j->end_state != JOB_PENDING))
        return wrong(ret_err, "how its run ended does not fit its state");
    if (j->state == JOB_PENDING && (j->start_us || j->nodes))
        return wrong(ret_err, "it waits and has nodes");
    if (j->het_job_id && (j->id != j->het_job_id + j->het_offset || !j->het_set))
        return wrong(ret_err, "it is a component of no job");
    return !holds_nodes(j) || run_sound(j, ret_err);
}

static bool resv_sound(const struct reservation *r, struct err *ret_err)
{
    struct hostlist names = HOSTLIST_INIT;
    bool ok = text_empty(r->nodes) || hostlist_parse(&names, r->nodes, ret_err);
    hostlist_done(&names);
    if (!ok)
        return err_prefix(ret_err, "nodes");
    return r->start_us < r->end_us ? resv_recurs_one_way(r->flags) ||
                                         wrong(ret_err, "it comes again in two ways at once")
                                   : wrong(ret_err, "it ends before it begins");
}

static bool trigger_sound(const struct trigger *t, struct err *ret_err)
{
    if (!t->job_id && (t->events & TRIGGER_JOB_BITS))
        return wrong(ret_err, "it is of a job, but of none");
    return t->due_us || text_empty(t->what) ||
           wrong(ret_err, "it has something to tell, and no time to tell it");
}

bool core_row_sound(enum store_table table, const void *record, struct err *ret_err)
{
    ASSERT(table < STORE_TABLE_COUNT && record);
    if (!record_check(store_table_rows[table].fields, record, ret_err) ||
        !store_row_whole(table, record, ret_err))
        return false;
    if (table == TABLE_JOB)
        return job_sound(record, ret_err);
    if (table == TABLE_META)
        return meta_sound(record, ret_err);
    if (table == TABLE_TRIGGER)
        return trigger_sound(record, ret_err);
    return table != TABLE_RESERVATION || resv_sound(record, ret_err);
}

/* ---- keeping it ---- */

static void value_add(const struct field *f, const void *p, struct str *out)
{
    switch (f->type) {
    case FIELD_BOOL: str_addf(out, "%d", *(const bool *)p); break;
    case FIELD_I32: str_add_i64(out, *(const int32_t *)p); break;
    case FIELD_U32: str_add_u64(out, *(const uint32_t *)p); break;
    case FIELD_U64: str_add_u64(out, *(const uint64_t *)p); break;
    case FIELD_I64:
    case FIELD_TIME:
    case FIELD_SPAN:
    case FIELD_MIB: str_add_i64(out, *(const int64_t *)p); break;
    case FIELD_ENUM:
        str_addf(out, "%s (%d)", enum_name(f->aux, *(const int32_t *)p), *(const int32_t *)p);
        break;
    case FIELD_TEXT:
    case FIELD_BLOB:
    case FIELD_LIST: break;
    }
}

/* name=value of all that is given, a line each; of bytes only how many. */
static void row_words(const struct fields *t, const void *record, struct str *out)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct field *f = &t->field[i];
        const void *p = field_ptr(f, record);
        const char *text = f->type == FIELD_TEXT ? *(const char *const *)p : NULL;
        struct str value = STR_INIT;
        if (f->type == FIELD_BLOB)
            str_addf(&value, "(%zu bytes)", ((const struct blob *)p)->len);
        else if (text)
            str_add(&value, text);
        else if (f->type != FIELD_ENUM || *(const int32_t *)p)
            value_add(f, p, &value);
        if (value.len && !text_is(str_text(&value), "0"))
            str_addf(out, "%s=%s\n", f->name, str_text(&value));
        str_done(&value);
    }
}

/* "job 42", "step 42,1,-1". */
static void row_name(enum store_table table, const void *record, struct str *out)
{
    const struct store_table_row *row = &store_table_rows[table];
    struct span rest = span_of(row->key), name;
    char before = ' ';
    str_add(out, row->name);
    while (span_next(&rest, ',', &name))
        for (size_t i = 0; i < row->fields->n; i++) {
            const struct field *f = &row->fields->field[i];
            if (!span_is(name, f->name))
                continue;
            str_addc(out, before);
            const char *text =
                f->type == FIELD_TEXT ? *(const char *const *)field_ptr(f, record) : NULL;
            if (f->type == FIELD_TEXT)
                str_add(out, text ? text : "");
            else
                value_add(f, field_ptr(f, record), out);
            before = ',';
        }
}

void row_leave_out(struct core *c, enum store_table table, const void *record, const char *why)
{
    ASSERT(table < STORE_TABLE_COUNT && why);
    struct str name = STR_INIT, words = STR_INIT;
    if (!c->left_out.arena)
        c->left_out.arena = arena_new();
    row_name(table, record, &name);
    row_words(store_table_rows[table].fields, record, &words);
    struct left_out one = {.name = arena_strdup(c->left_out.arena, str_text(&name)),
                           .why = arena_strdup(c->left_out.arena, why),
                           .record = arena_strdup(c->left_out.arena, str_text(&words))};
    vec_push(&c->left_out.row, one);
    str_done(&name);
    str_done(&words);
}

void rows_left_out(struct core *c)
{
    for (size_t i = 0; i < c->left_out.row.n; i++) {
        struct left_out *one = &c->left_out.row.v[i];
        one->at_us = c->turn.now_us;
        fx_store(c, TABLE_LEFT_OUT, one);
        fx_log(
            c, LEVEL_ERROR,
            "%s of the store cannot be: %s. It is left out, and nothing is done with it; what it "
            "holds "
            "stands "
            "in table left_out of remuda.db (sqlite3 -readonly remuda.db 'SELECT * FROM left_out')",
            one->name, one->why);
    }
    c->left_out.count = c->left_out.row.n;
    vec_done(&c->left_out.row);
    arena_free(c->left_out.arena);
    c->left_out.arena = NULL;
}

const char *left_out_said(const struct core *c, struct arena *a)
{
    if (!c->left_out.count)
        return NULL;
    return arena_printf(a, "%zu row%s of the store cannot be and %s left out: the log names %s",
                        c->left_out.count, c->left_out.count == 1 ? "" : "s",
                        c->left_out.count == 1 ? "is" : "are",
                        c->left_out.count == 1 ? "it" : "them");
}
