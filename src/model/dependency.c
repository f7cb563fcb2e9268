#include "model/dependency.h"

#include "base/duration.h"
#include "base/vec.h"
#include "model/job.h"
#include "model/limits.h"

#define DEPENDENCY_HELP                                                                            \
    "a dependency is TYPE:JOB[:JOB…] with TYPE after, afterany, afterok, afternotok or "         \
    "aftercorr, or "                                                                               \
    "singleton; "                                                                                  \
    "several are joined by ',' (all) or '?' (any)"

#define QUOTE_MAX 80 /* bytes of a wrong text repeated in a message */

static const char *const kind_words[] = {
    [DEP_AFTER] = "after",           [DEP_AFTERANY] = "afterany",   [DEP_AFTEROK] = "afterok",
    [DEP_AFTERNOTOK] = "afternotok", [DEP_AFTERCORR] = "aftercorr", [DEP_SINGLETON] = "singleton",
};

typedef VEC(struct dependency) dependency_vec;

static int quote_len(struct span s)
{
    return s.len < QUOTE_MAX ? (int)s.len : QUOTE_MAX;
}

static bool digits_read(struct span text, uint64_t max, uint64_t *ret)
{
    char copy[24];
    if (!text.len || text.len >= sizeof copy)
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    return text_to_u64(copy, max, ret);
}

/* Takes the part of *text after the first `mark` off it; an empty span without data if there is no
 * mark. */
static struct span tail_take(struct span *text, char mark)
{
    const char *at = memchr(text->data, mark, text->len);
    if (!at)
        return (struct span){0};
    struct span tail = {at + 1, text->len - (size_t)(at + 1 - text->data)};
    text->len = (size_t)(at - text->data);
    return tail;
}

/* Takes "(unfulfilled)" or "(failed)" off the end, as dependency_format writes them. */
static enum dep_status status_take(struct span *text)
{
    static const char *const words[] = {[DEP_OPEN] = "(unfulfilled)", [DEP_FAILED] = "(failed)"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        size_t len = words[i] ? strlen(words[i]) : 0;
        if (len && text->len > len && memcmp(text->data + text->len - len, words[i], len) == 0) {
            text->len -= len;
            return (enum dep_status)i;
        }
    }
    return DEP_OPEN;
}

/* ID, ID_TASK or ID_*; for `after` with +MINUTES. */
static bool target_parse(struct span text, enum dep_kind kind, struct dependency *ret,
                         struct err *ret_err)
{
    enum dep_status status = status_take(&text);
    struct span id = text;
    struct span minutes = tail_take(&id, '+');
    struct span task = tail_take(&id, '_');
    uint64_t number;
    *ret = (struct dependency){.kind = kind, .task_id = NO_TASK, .status = status};
    if (!digits_read(id, UINT64_MAX, &ret->job_id) || !ret->job_id)
        return err_set(ret_err, ERR_INVALID,
                       "\"%.*s\" in the dependency is no job id: " DEPENDENCY_HELP, quote_len(text),
                       text.data);
    if (task.data && !span_is(task, "*")) {
        if (!digits_read(task, LIMIT_ARRAY_INDEX, &number))
            return err_set(ret_err, ERR_INVALID,
                           "\"%.*s\" in the dependency: after '_' comes one array index or '*'",
                           quote_len(text), text.data);
        ret->task_id = (uint32_t)number;
    }
    if (!minutes.data)
        return true;
    if (kind != DEP_AFTER || !digits_read(minutes, INT32_MAX, &number))
        return err_set(ret_err, ERR_INVALID,
                       "\"%.*s\" in the dependency: +MINUTES is for after:JOB+MINUTES",
                       quote_len(text), text.data);
    ret->delay_us = (int64_t)number * USEC_PER_MIN;
    return true;
}

static bool targets_parse(struct span rest, enum dep_kind kind, dependency_vec *list,
                          struct err *ret_err)
{
    struct span piece;
    while (span_next(&rest, ':', &piece)) {
        struct dependency d;
        if (!target_parse(span_trim(piece), kind, &d, ret_err))
            return false;
        if (list->n == LIMIT_DEPENDENCIES)
            return err_set(
                ret_err, ERR_LIMIT,
                "a job may have %u dependencies at most; a job between can collect some of them",
                LIMIT_DEPENDENCIES);
        vec_push(list, d);
    }
    return true;
}

static bool kind_parse(struct span word, enum dep_kind *ret, struct err *ret_err)
{
    for (size_t i = 0; i < ARRAY_LEN(kind_words); i++)
        if (span_is_nocase(word, kind_words[i])) {
            *ret = (enum dep_kind)i;
            return true;
        }
    if (span_is_nocase(word, "afterburstbuffer"))
        return err_set(
            ret_err, ERR_UNSUPPORTED,
            "not supported yet: afterburstbuffer, for there are no burst buffers; afterany "
            "waits for the end of the job");
    if (span_is_nocase(word, "expand"))
        return err_set(
            ret_err, ERR_UNSUPPORTED,
            "not supported yet: expand, for a running job keeps its size; submit a larger job");
    return err_set(ret_err, ERR_INVALID, "\"%.*s\" is no type of dependency: " DEPENDENCY_HELP,
                   quote_len(word), word.data);
}

/* One piece between separators. A number without a type is afterany, as in Slurm. */
static bool piece_parse(struct span piece, dependency_vec *list, struct err *ret_err)
{
    enum dep_kind kind = DEP_AFTERANY;
    if (piece.len && piece.data[0] >= '0' && piece.data[0] <= '9')
        return targets_parse(piece, kind, list, ret_err);
    struct span word = piece, targets = tail_take(&word, ':');
    if (!targets.data)
        status_take(&word);
    if (!kind_parse(word, &kind, ret_err))
        return false;
    if (kind != DEP_SINGLETON) {
        if (targets.data)
            return targets_parse(targets, kind, list, ret_err);
        return err_set(ret_err, ERR_INVALID, "\"%.*s\" names no job: " DEPENDENCY_HELP,
                       quote_len(piece), piece.data);
    }
    if (targets.data)
        return err_set(
            ret_err, ERR_INVALID,
            "singleton takes no job: it waits for all earlier jobs of the same name and user");
    vec_push(list, ((struct dependency){.kind = DEP_SINGLETON, .task_id = NO_TASK}));
    return true;
}

bool dependency_parse(const char *text, struct arena *a, struct dependency_list *ret,
                      struct err *ret_err)
{
    struct span rest = span_trim(span_of(text)), piece;
    dependency_vec list = {0};
    bool ok = true, any = rest.len && memchr(rest.data, '?', rest.len);
    if (any && memchr(rest.data, ',', rest.len))
        return err_set(
            ret_err, ERR_INVALID,
            "a dependency has either ',' (all must hold) or '?' (any one suffices), not both");
    /* `scontrol update Dependency=0` takes them away. */
    if (!rest.len || span_is(rest, "0"))
        rest = (struct span){0};
    while (ok && span_next(&rest, any ? '?' : ',', &piece))
        ok = piece_parse(span_trim(piece), &list, ret_err);
    if (ok)
        *ret =
            (struct dependency_list){arena_dup(a, list.v, list.n * sizeof list.v[0]), list.n, any};
    vec_done(&list);
    return ok;
}

static void one_format(const struct dependency *d, struct str *out)
{
    str_add(out, kind_words[d->kind]);
    if (d->kind != DEP_SINGLETON) {
        str_addc(out, ':');
        str_add_u64(out, d->job_id);
    }
    if (d->task_id != NO_TASK) {
        str_addc(out, '_');
        str_add_u64(out, d->task_id);
    }
    if (d->delay_us) {
        str_addc(out, '+');
        str_add_i64(out, d->delay_us / USEC_PER_MIN);
    }
    str_add(out, d->status == DEP_FAILED ? "(failed)" : "(unfulfilled)");
}

void dependency_format(const struct dependency_list *d, struct str *out)
{
    size_t shown = 0;
    for (size_t i = 0; i < d->n; i++) {
        if (d->v[i].status == DEP_SATISFIED)
            continue;
        if (shown++)
            str_addc(out, d->any ? '?' : ',');
        one_format(&d->v[i], out);
    }
}
