#include "model/record/resource_limit.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/str.h"
#include "base/vec.h"
#include "model/grammar/time_windows.h"

#include <string.h>
#include <strings.h>

static const char *const owner_text[] = {[OWNER_ASSOC] = "assoc", [OWNER_QOS] = "qos"};
const struct enum_names limit_owner_names = {owner_text, ARRAY_LEN(owner_text)};

static const char *const limit_text[] = {
#define X(limit, word, ...) [LIMIT_##limit] = #limit,
    RESOURCE_LIMITS(X)
#undef X
};
const struct enum_names resource_limit_names = {limit_text, ARRAY_LEN(limit_text)};

const struct resource_limit_row resource_limit_table[RESOURCE_LIMIT_COUNT] = {
#define X(limit, word, others, owners, unit, scope, counts, heading, width, doc)                   \
    [LIMIT_##limit] = {word,    others, ON_##owners, UNIT_##unit, SCOPE_##scope, COUNTS_##counts,  \
                       heading, width,  doc},
    RESOURCE_LIMITS(X)
#undef X
};

#define ROW(type, name, aux, doc) FIELD_ROW_AT(struct limit, , type, name, aux, doc)
static const struct field limit_rows[] = {LIMIT_FIELDS(ROW)};
const struct fields limit_fields = {"limit", sizeof(struct limit), limit_rows,
                                    ARRAY_LEN(limit_rows)};

void limit_id_add(const struct limit *l, struct str *out)
{
    str_add(out, enum_name(&limit_owner_names, l->owner));
    str_add(out, "/");
    str_add_u64(out, l->owner_id);
    str_add(out, "/");
    str_add(out, enum_name(&resource_limit_names, l->what));
    if (l->tres) {
        str_add(out, "/");
        str_add(out, l->tres);
    }
    if (l->hours) {
        str_add(out, "@");
        str_add(out, l->hours);
    }
}

const char *limit_id(const struct limit *l, struct arena *a)
{
    struct str text = STR_INIT;
    limit_id_add(l, &text);
    const char *id = arena_strdup(a, str_text(&text));
    str_done(&text);
    return id;
}

/* ---- words ---------------------------------------------------------------------------------- */

/* The whole word, or its beginning. */
static bool word_is(struct span word, const char *asked, size_t least, bool whole)
{
    size_t len = strlen(asked);
    if (whole)
        return word.len == len && strncasecmp(word.data, asked, len) == 0;
    return len >= least && len < word.len && strncasecmp(word.data, asked, len) == 0;
}

static bool row_has(const struct resource_limit_row *row, const char *asked, size_t least,
                    bool whole)
{
    struct span rest = span_of(row->others), word;
    if (word_is(span_of(row->word), asked, least, whole))
        return true;
    while (span_next(&rest, ',', &word))
        if (word_is(word, asked, least, whole))
            return true;
    return false;
}

#define ACCRUE_LEAST 17

bool resource_limit_find(const char *word, enum limit_owner owner, size_t least,
                         enum resource_limit *ret)
{
    ASSERT((unsigned)owner < 32);
    for (int pass = 0; pass < 2; pass++) /* whole words first */
        for (int i = 0; i < RESOURCE_LIMIT_COUNT; i++) {
            bool accrues = i == LIMIT_MAX_JOBS_ACCRUE_PER_USER ||
                           i == LIMIT_MAX_JOBS_ACCRUE_PER_ACCOUNT; /* Slurm wants "…PerU" */
            if ((resource_limit_table[i].owners >> owner & 1u) &&
                row_has(&resource_limit_table[i], word, accrues ? ACCRUE_LEAST : least,
                        pass == 0)) {
                *ret = (enum resource_limit)i;
                return true;
            }
        }
    return false;
}

/* ---- values --------------------------------------------------------------------------------- */

static const char *const tres_order[] = {"cpu",     "mem",     "energy", "node",
                                         "billing", "fs/disk", "vmem",   "pages"};

static size_t tres_place(const char *tres)
{
    for (size_t i = 0; i < ARRAY_LEN(tres_order); i++)
        if (text_is(tres, tres_order[i]))
            return i;
    return ARRAY_LEN(tres_order);
}

int tres_compare(const char *a, const char *b)
{
    size_t pa = tres_place(a), pb = tres_place(b);
    if (pa != pb)
        return pa < pb ? -1 : 1;
    return strcmp(a, b);
}

static bool value_parse(enum resource_limit what, const char *tres, const char *text, int64_t *ret,
                        struct err *ret_err)
{
    ASSERT(what < RESOURCE_LIMIT_COUNT);
    const struct resource_limit_row *row = &resource_limit_table[what];
    if (text_is(text, "-1")) {
        *ret = -1;
        return true;
    }
    if (tres && (text_is(tres, "mem") || text_is(tres, "vmem")))
        return size_parse_mib(text, ret, ret_err);
    if (text_to_i64(text, 0, INT64_MAX / 4, ret))
        return true;
    return err_set(ret_err, ERR_INVALID, "%s%s%s=%s: a whole number, or -1 for no limit", row->word,
                   tres ? "=" : "", tres ? tres : "", text);
}

static bool minutes_parse(const char *word, const char *text, int64_t *ret, struct err *ret_err)
{
    int64_t us = 0;
    if (text_is(text, "-1")) {
        *ret = -1;
        return true;
    }
    if (!duration_parse(text, &us, ret_err))
        return false;
    if (us == TIME_UNLIMITED) {
        *ret = -1;
        return true;
    }
    if (us < 0)
        return err_set(ret_err, ERR_INVALID, "%s=%s: a time, or -1 for no limit", word, text);
    *ret = (us + USEC_PER_MIN - 1) / USEC_PER_MIN;
    return true;
}

bool resource_limit_takes_hours(enum resource_limit what)
{
    ASSERT(what < RESOURCE_LIMIT_COUNT);
    return resource_limit_table[what].counts == COUNTS_RUNNING;
}

/* "2@mon-fri:8-18": cuts the hours off. */
static bool hours_take(struct limit *l, char *text, struct arena *a, struct err *ret_err)
{
    char *at = strchr(text, '@');
    if (!at)
        return true;
    *at = '\0';
    if (!resource_limit_takes_hours((enum resource_limit)l->what))
        return err_set(ret_err, ERR_INVALID,
                       "%s holds at all hours; limits on what runs at once (GrpJobs, GrpTRES, "
                       "MaxJobs, MaxJobsPerUser, MaxTRESPerUser …) can have hours",
                       resource_limit_table[l->what].word);
    l->hours = time_hours_of(at + 1, a, ret_err);
    return l->hours != NULL;
}

typedef VEC(struct limit) limit_vec;

/* Of the same the last counts. */
static void limit_push(limit_vec *out, const struct limit *l)
{
    for (size_t i = 0; i < out->n; i++)
        if (text_is(out->v[i].tres, l->tres) && text_is(out->v[i].hours, l->hours)) {
            out->v[i] = *l;
            return;
        }
    vec_push(out, *l);
}

/* One "name=value" of a list of resources. */
static bool piece_take(enum resource_limit what, struct span piece, tres_known known, void *ctx,
                       struct arena *a, limit_vec *out, struct err *ret_err)
{
    struct limit l = {.what = what};
    const char *equals = memchr(piece.data, '=', piece.len);
    if (!equals)
        return err_set(ret_err, ERR_INVALID, "%s=%.*s: a resource and how much of it, as in cpu=4",
                       resource_limit_table[what].word, (int)piece.len, piece.data);
    char *tres = arena_strndup(a, piece.data, (size_t)(equals - piece.data));
    char *value = arena_strndup(a, equals + 1, piece.len - (size_t)(equals - piece.data) - 1);
    for (char *p = tres; *p && *p != ':'; p++) /* types keep their letters */
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p - 'A' + 'a');
    l.tres = tres;
    if (known && !known(ctx, tres))
        return err_set(ret_err, ERR_INVALID, "%s: there is no resource \"%s\"",
                       resource_limit_table[what].word, tres);
    if (!hours_take(&l, value, a, ret_err) || !value_parse(what, tres, value, &l.value, ret_err))
        return false;
    limit_push(out, &l);
    return true;
}

/* One "number" or "number@hours" of a list of them. */
static bool count_take(enum resource_limit what, struct span piece, struct arena *a, limit_vec *out,
                       struct err *ret_err)
{
    struct limit l = {.what = what};
    char *text = arena_strndup(a, piece.data, piece.len);
    if (!hours_take(&l, text, a, ret_err) || !value_parse(what, NULL, text, &l.value, ret_err))
        return false;
    limit_push(out, &l);
    return true;
}

bool limits_parse(enum resource_limit what, const char *text, tres_known known, void *ctx,
                  struct arena *a, struct record_list *ret, struct err *ret_err)
{
    ASSERT(what < RESOURCE_LIMIT_COUNT);
    const struct resource_limit_row *row = &resource_limit_table[what];
    limit_vec v = {0};
    bool ok = true;
    if (row->unit == UNIT_TRES || row->unit == UNIT_TRES_MINUTES) {
        struct span rest = span_of(text), piece;
        while (ok && span_next(&rest, ',', &piece))
            ok = !span_trim(piece).len ||
                 piece_take(what, span_trim(piece), known, ctx, a, &v, ret_err);
    } else if (row->unit == UNIT_COUNT && strchr(text, '@')) {
        struct span rest = span_of(text), piece;
        while (ok && span_next(&rest, ',', &piece))
            ok = count_take(what, span_trim(piece), a, &v, ret_err);
    } else {
        struct limit l = {.what = what};
        ok = row->unit == UNIT_MINUTES ? minutes_parse(row->word, text, &l.value, ret_err)
                                       : value_parse(what, NULL, text, &l.value, ret_err);
        vec_push(&v, l);
    }
    ret->n = ok ? v.n : 0;
    ret->v = NULL;
    if (ret->n) {
        ret->v = arena_alloc(a, v.n * sizeof v.v[0]);
        memcpy(ret->v, v.v, v.n * sizeof v.v[0]);
    }
    vec_done(&v);
    return ok;
}

/* ---- reasons -------------------------------------------------------------------------------- */

/* Of a family the first whose resource begins so: the last takes all others. */
static const struct {
    enum limit_owner owner;
    enum resource_limit what;
    const char *tres;
    enum job_reason reason;
} reasons[] = {
    {OWNER_ASSOC, LIMIT_GRP_TRES, "cpu", REASON_ASSOC_GRP_CPU},
    {OWNER_ASSOC, LIMIT_GRP_TRES, "mem", REASON_ASSOC_GRP_MEM},
    {OWNER_ASSOC, LIMIT_GRP_TRES, "node", REASON_ASSOC_GRP_NODE},
    {OWNER_ASSOC, LIMIT_GRP_TRES, "gres/", REASON_ASSOC_GRP_GRES},
    {OWNER_ASSOC, LIMIT_GRP_TRES, "license/", REASON_ASSOC_GRP_LICENSE},
    {OWNER_ASSOC, LIMIT_GRP_TRES, "billing", REASON_ASSOC_GRP_BILLING},
    {OWNER_ASSOC, LIMIT_GRP_TRES, "", REASON_ASSOC_GRP_OTHER},
    {OWNER_ASSOC, LIMIT_MAX_TRES, "cpu", REASON_ASSOC_MAX_JOB_CPU},
    {OWNER_ASSOC, LIMIT_MAX_TRES, "mem", REASON_ASSOC_MAX_JOB_MEM},
    {OWNER_ASSOC, LIMIT_MAX_TRES, "node", REASON_ASSOC_MAX_JOB_NODE},
    {OWNER_ASSOC, LIMIT_MAX_TRES, "gres/", REASON_ASSOC_MAX_JOB_GRES},
    {OWNER_ASSOC, LIMIT_MAX_TRES, "license/", REASON_ASSOC_MAX_JOB_LICENSE},
    {OWNER_ASSOC, LIMIT_MAX_TRES, "billing", REASON_ASSOC_MAX_JOB_BILLING},
    {OWNER_ASSOC, LIMIT_MAX_TRES, "", REASON_ASSOC_MAX_JOB_OTHER},
    {OWNER_ASSOC, LIMIT_MAX_TRES_PER_NODE, "cpu", REASON_ASSOC_MAX_NODE_CPU},
    {OWNER_ASSOC, LIMIT_MAX_TRES_PER_NODE, "mem", REASON_ASSOC_MAX_NODE_MEM},
    {OWNER_ASSOC, LIMIT_MAX_TRES_PER_NODE, "node", REASON_ASSOC_MAX_NODE_NODE},
    {OWNER_ASSOC, LIMIT_MAX_TRES_PER_NODE, "gres/", REASON_ASSOC_MAX_NODE_GRES},
    {OWNER_ASSOC, LIMIT_MAX_TRES_PER_NODE, "license/", REASON_ASSOC_MAX_NODE_LICENSE},
    {OWNER_ASSOC, LIMIT_MAX_TRES_PER_NODE, "billing", REASON_ASSOC_MAX_NODE_BILLING},
    {OWNER_ASSOC, LIMIT_MAX_TRES_PER_NODE, "", REASON_ASSOC_MAX_NODE_OTHER},
    {OWNER_ASSOC, LIMIT_MAX_TRES_MINS, "cpu", REASON_ASSOC_MAX_MINS_CPU},
    {OWNER_ASSOC, LIMIT_MAX_TRES_MINS, "mem", REASON_ASSOC_MAX_MINS_MEM},
    {OWNER_ASSOC, LIMIT_MAX_TRES_MINS, "node", REASON_ASSOC_MAX_MINS_NODE},
    {OWNER_ASSOC, LIMIT_MAX_TRES_MINS, "gres/", REASON_ASSOC_MAX_MINS_GRES},
    {OWNER_ASSOC, LIMIT_MAX_TRES_MINS, "license/", REASON_ASSOC_MAX_MINS_LICENSE},
    {OWNER_ASSOC, LIMIT_MAX_TRES_MINS, "billing", REASON_ASSOC_MAX_MINS_BILLING},
    {OWNER_ASSOC, LIMIT_MAX_TRES_MINS, "", REASON_ASSOC_MAX_MINS_OTHER},
    {OWNER_QOS, LIMIT_GRP_TRES, "cpu", REASON_QOS_GRP_CPU},
    {OWNER_QOS, LIMIT_GRP_TRES, "mem", REASON_QOS_GRP_MEM},
    {OWNER_QOS, LIMIT_GRP_TRES, "node", REASON_QOS_GRP_NODE},
    {OWNER_QOS, LIMIT_GRP_TRES, "gres/", REASON_QOS_GRP_GRES},
    {OWNER_QOS, LIMIT_GRP_TRES, "license/", REASON_QOS_GRP_LICENSE},
    {OWNER_QOS, LIMIT_GRP_TRES, "billing", REASON_QOS_GRP_BILLING},
    {OWNER_QOS, LIMIT_GRP_TRES, "", REASON_QOS_GRP_OTHER},
    {OWNER_QOS, LIMIT_MAX_TRES_PER_USER, "cpu", REASON_QOS_MAX_USER_CPU},
    {OWNER_QOS, LIMIT_MAX_TRES_PER_USER, "mem", REASON_QOS_MAX_USER_MEM},
    {OWNER_QOS, LIMIT_MAX_TRES_PER_USER, "node", REASON_QOS_MAX_USER_NODE},
    {OWNER_QOS, LIMIT_MAX_TRES_PER_USER, "gres/", REASON_QOS_MAX_USER_GRES},
    {OWNER_QOS, LIMIT_MAX_TRES_PER_USER, "license/", REASON_QOS_MAX_USER_LICENSE},
    {OWNER_QOS, LIMIT_MAX_TRES_PER_USER, "billing", REASON_QOS_MAX_USER_BILLING},
    {OWNER_QOS, LIMIT_MAX_TRES_PER_USER, "", REASON_QOS_MAX_USER_OTHER},
    {OWNER_QOS, LIMIT_MAX_TRES_PER_ACCOUNT, "cpu", REASON_QOS_MAX_ACCOUNT_CPU},
    {OWNER_QOS, LIMIT_MAX_TRES_PER_ACCOUNT, "mem", REASON_QOS_MAX_ACCOUNT_MEM},
    {OWNER_QOS, LIMIT_MAX_TRES_PER_ACCOUNT, "node", REASON_QOS_MAX_ACCOUNT_NODE},
    {OWNER_QOS, LIMIT_MAX_TRES_PER_ACCOUNT, "gres/", REASON_QOS_MAX_ACCOUNT_GRES},
    {OWNER_QOS, LIMIT_MAX_TRES_PER_ACCOUNT, "license/", REASON_QOS_MAX_ACCOUNT_LICENSE},
    {OWNER_QOS, LIMIT_MAX_TRES_PER_ACCOUNT, "billing", REASON_QOS_MAX_ACCOUNT_BILLING},
    {OWNER_QOS, LIMIT_MAX_TRES_PER_ACCOUNT, "", REASON_QOS_MAX_ACCOUNT_OTHER},
    {OWNER_QOS, LIMIT_MAX_TRES, "cpu", REASON_QOS_MAX_JOB_CPU},
    {OWNER_QOS, LIMIT_MAX_TRES, "mem", REASON_QOS_MAX_JOB_MEM},
    {OWNER_QOS, LIMIT_MAX_TRES, "node", REASON_QOS_MAX_JOB_NODE},
    {OWNER_QOS, LIMIT_MAX_TRES, "gres/", REASON_QOS_MAX_JOB_GRES},
    {OWNER_QOS, LIMIT_MAX_TRES, "license/", REASON_QOS_MAX_JOB_LICENSE},
    {OWNER_QOS, LIMIT_MAX_TRES, "billing", REASON_QOS_MAX_JOB_BILLING},
    {OWNER_QOS, LIMIT_MAX_TRES, "", REASON_QOS_MAX_JOB_OTHER},
    {OWNER_QOS, LIMIT_MAX_TRES_PER_NODE, "cpu", REASON_QOS_MAX_NODE_CPU},
    {OWNER_QOS, LIMIT_MAX_TRES_PER_NODE, "mem", REASON_QOS_MAX_NODE_MEM},
    {OWNER_QOS, LIMIT_MAX_TRES_PER_NODE, "node", REASON_QOS_MAX_NODE_NODE},
    {OWNER_QOS, LIMIT_MAX_TRES_PER_NODE, "gres/", REASON_QOS_MAX_NODE_GRES},
    {OWNER_QOS, LIMIT_MAX_TRES_PER_NODE, "license/", REASON_QOS_MAX_NODE_LICENSE},
    {OWNER_QOS, LIMIT_MAX_TRES_PER_NODE, "billing", REASON_QOS_MAX_NODE_BILLING},
    {OWNER_QOS, LIMIT_MAX_TRES_PER_NODE, "", REASON_QOS_MAX_NODE_OTHER},
    {OWNER_QOS, LIMIT_MAX_TRES_MINS, "cpu", REASON_QOS_MAX_MINS_CPU},
    {OWNER_QOS, LIMIT_MAX_TRES_MINS, "mem", REASON_QOS_MAX_MINS_MEM},
    {OWNER_QOS, LIMIT_MAX_TRES_MINS, "node", REASON_QOS_MAX_MINS_NODE},
    {OWNER_QOS, LIMIT_MAX_TRES_MINS, "gres/", REASON_QOS_MAX_MINS_GRES},
    {OWNER_QOS, LIMIT_MAX_TRES_MINS, "license/", REASON_QOS_MAX_MINS_LICENSE},
    {OWNER_QOS, LIMIT_MAX_TRES_MINS, "billing", REASON_QOS_MAX_MINS_BILLING},
    {OWNER_QOS, LIMIT_MAX_TRES_MINS, "", REASON_QOS_MAX_MINS_OTHER},
    {OWNER_QOS, LIMIT_MIN_TRES, "cpu", REASON_QOS_MIN_CPU},
    {OWNER_QOS, LIMIT_MIN_TRES, "mem", REASON_QOS_MIN_MEM},
    {OWNER_QOS, LIMIT_MIN_TRES, "node", REASON_QOS_MIN_NODE},
    {OWNER_QOS, LIMIT_MIN_TRES, "gres/", REASON_QOS_MIN_GRES},
    {OWNER_QOS, LIMIT_MIN_TRES, "license/", REASON_QOS_MIN_LICENSE},
    {OWNER_QOS, LIMIT_MIN_TRES, "billing", REASON_QOS_MIN_BILLING},
    {OWNER_QOS, LIMIT_MIN_TRES, "", REASON_QOS_MIN_OTHER},
    {OWNER_ASSOC, LIMIT_MAX_JOBS, NULL, REASON_ASSOC_MAX_JOBS},
    {OWNER_ASSOC, LIMIT_MAX_WALL, NULL, REASON_ASSOC_MAX_WALL},
    {OWNER_QOS, LIMIT_GRP_JOBS, NULL, REASON_QOS_GRP_JOBS},
    {OWNER_QOS, LIMIT_MAX_JOBS_PER_ACCOUNT, NULL, REASON_QOS_MAX_JOBS_PER_ACCOUNT},
    {OWNER_QOS, LIMIT_MAX_WALL, NULL, REASON_QOS_MAX_WALL},
    {OWNER_ASSOC, LIMIT_GRP_JOBS, NULL, REASON_ASSOC_LIMIT},
    {OWNER_QOS, LIMIT_MAX_JOBS_PER_USER, NULL, REASON_QOS_MAX_JOBS_PER_USER},
    {OWNER_ASSOC, LIMIT_GRP_TRES_MINS, "cpu", REASON_ASSOC_GRP_MINS_CPU},
    {OWNER_ASSOC, LIMIT_GRP_TRES_RUN_MINS, "cpu", REASON_ASSOC_GRP_RUN_MINS_CPU},
    {OWNER_ASSOC, LIMIT_GRP_TRES_MINS, "mem", REASON_ASSOC_GRP_MINS_MEM},
    {OWNER_ASSOC, LIMIT_GRP_TRES_RUN_MINS, "mem", REASON_ASSOC_GRP_RUN_MINS_MEM},
    {OWNER_ASSOC, LIMIT_GRP_TRES_MINS, "node", REASON_ASSOC_GRP_MINS_NODE},
    {OWNER_ASSOC, LIMIT_GRP_TRES_RUN_MINS, "node", REASON_ASSOC_GRP_RUN_MINS_NODE},
    {OWNER_ASSOC, LIMIT_GRP_TRES_MINS, "gres/", REASON_ASSOC_GRP_MINS_GRES},
    {OWNER_ASSOC, LIMIT_GRP_TRES_RUN_MINS, "gres/", REASON_ASSOC_GRP_RUN_MINS_GRES},
    {OWNER_ASSOC, LIMIT_GRP_TRES_MINS, "license/", REASON_ASSOC_GRP_MINS_LICENSE},
    {OWNER_ASSOC, LIMIT_GRP_TRES_RUN_MINS, "license/", REASON_ASSOC_GRP_RUN_MINS_LICENSE},
    {OWNER_ASSOC, LIMIT_GRP_TRES_MINS, "billing", REASON_ASSOC_GRP_MINS_BILLING},
    {OWNER_ASSOC, LIMIT_GRP_TRES_RUN_MINS, "billing", REASON_ASSOC_GRP_RUN_MINS_BILLING},
    {OWNER_ASSOC, LIMIT_GRP_TRES_MINS, "", REASON_ASSOC_GRP_MINS_OTHER},
    {OWNER_ASSOC, LIMIT_GRP_TRES_RUN_MINS, "", REASON_ASSOC_GRP_RUN_MINS_OTHER},
    {OWNER_ASSOC, LIMIT_GRP_WALL, NULL, REASON_ASSOC_GRP_WALL},
    {OWNER_QOS, LIMIT_GRP_TRES_MINS, "cpu", REASON_QOS_GRP_MINS_CPU},
    {OWNER_QOS, LIMIT_GRP_TRES_RUN_MINS, "cpu", REASON_QOS_GRP_RUN_MINS_CPU},
    {OWNER_QOS, LIMIT_MAX_TRES_RUN_MINS_PER_USER, "cpu", REASON_QOS_GRP_RUN_MINS_CPU},
    {OWNER_QOS, LIMIT_MAX_TRES_RUN_MINS_PER_ACCOUNT, "cpu", REASON_QOS_GRP_RUN_MINS_CPU},
    {OWNER_QOS, LIMIT_GRP_TRES_MINS, "mem", REASON_QOS_GRP_MINS_MEM},
    {OWNER_QOS, LIMIT_GRP_TRES_RUN_MINS, "mem", REASON_QOS_GRP_RUN_MINS_MEM},
    {OWNER_QOS, LIMIT_MAX_TRES_RUN_MINS_PER_USER, "mem", REASON_QOS_GRP_RUN_MINS_MEM},
    {OWNER_QOS, LIMIT_MAX_TRES_RUN_MINS_PER_ACCOUNT, "mem", REASON_QOS_GRP_RUN_MINS_MEM},
    {OWNER_QOS, LIMIT_GRP_TRES_MINS, "node", REASON_QOS_GRP_MINS_NODE},
    {OWNER_QOS, LIMIT_GRP_TRES_RUN_MINS, "node", REASON_QOS_GRP_RUN_MINS_NODE},
    {OWNER_QOS, LIMIT_MAX_TRES_RUN_MINS_PER_USER, "node", REASON_QOS_GRP_RUN_MINS_NODE},
    {OWNER_QOS, LIMIT_MAX_TRES_RUN_MINS_PER_ACCOUNT, "node", REASON_QOS_GRP_RUN_MINS_NODE},
    {OWNER_QOS, LIMIT_GRP_TRES_MINS, "gres/", REASON_QOS_GRP_MINS_GRES},
    {OWNER_QOS, LIMIT_GRP_TRES_RUN_MINS, "gres/", REASON_QOS_GRP_RUN_MINS_GRES},
    {OWNER_QOS, LIMIT_MAX_TRES_RUN_MINS_PER_USER, "gres/", REASON_QOS_GRP_RUN_MINS_GRES},
    {OWNER_QOS, LIMIT_MAX_TRES_RUN_MINS_PER_ACCOUNT, "gres/", REASON_QOS_GRP_RUN_MINS_GRES},
    {OWNER_QOS, LIMIT_GRP_TRES_MINS, "license/", REASON_QOS_GRP_MINS_LICENSE},
    {OWNER_QOS, LIMIT_GRP_TRES_RUN_MINS, "license/", REASON_QOS_GRP_RUN_MINS_LICENSE},
    {OWNER_QOS, LIMIT_MAX_TRES_RUN_MINS_PER_USER, "license/", REASON_QOS_GRP_RUN_MINS_LICENSE},
    {OWNER_QOS, LIMIT_MAX_TRES_RUN_MINS_PER_ACCOUNT, "license/", REASON_QOS_GRP_RUN_MINS_LICENSE},
    {OWNER_QOS, LIMIT_GRP_TRES_MINS, "billing", REASON_QOS_GRP_MINS_BILLING},
    {OWNER_QOS, LIMIT_GRP_TRES_RUN_MINS, "billing", REASON_QOS_GRP_RUN_MINS_BILLING},
    {OWNER_QOS, LIMIT_MAX_TRES_RUN_MINS_PER_USER, "billing", REASON_QOS_GRP_RUN_MINS_BILLING},
    {OWNER_QOS, LIMIT_MAX_TRES_RUN_MINS_PER_ACCOUNT, "billing", REASON_QOS_GRP_RUN_MINS_BILLING},
    {OWNER_QOS, LIMIT_GRP_TRES_MINS, "", REASON_QOS_GRP_MINS_OTHER},
    {OWNER_QOS, LIMIT_GRP_TRES_RUN_MINS, "", REASON_QOS_GRP_RUN_MINS_OTHER},
    {OWNER_QOS, LIMIT_MAX_TRES_RUN_MINS_PER_USER, "", REASON_QOS_GRP_RUN_MINS_OTHER},
    {OWNER_QOS, LIMIT_MAX_TRES_RUN_MINS_PER_ACCOUNT, "", REASON_QOS_GRP_RUN_MINS_OTHER},
    {OWNER_QOS, LIMIT_GRP_WALL, NULL, REASON_QOS_GRP_WALL},
};

enum job_reason resource_limit_reason(enum limit_owner owner, enum resource_limit what,
                                      const char *tres)
{
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        if (reasons[i].owner == owner && reasons[i].what == what &&
            (!reasons[i].tres || (tres && text_starts(tres, reasons[i].tres))))
            return reasons[i].reason;
    return REASON_NONE;
}
