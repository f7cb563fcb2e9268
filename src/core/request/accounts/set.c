/* What every change of accounts does: lists of words, fields, names, limits. */
#include "base/duration.h"
#include "base/list.h"
#include "core/record/accounts/limit_book.h"
#include "core/record/record.h"
#include "core/request/accounts/change.h"
#include "core/request/accounts/may.h"
#include "model/grammar/time_windows.h"
#include "model/limits.h"

#include <string.h>

/* ---- lists of words ------------------------------------------------------------------------- */

const char *words_without(struct account_step *g, const char *list, const char *words)
{
    struct str out = STR_INIT;
    struct span rest = span_of(list ? list : ""), piece;
    while (span_next(&rest, ',', &piece)) {
        const char *word = arena_strndup(g->a, piece.data, piece.len);
        if (*word && !(words && list_has(words, word)))
            str_addf(&out, "%s%s", out.len ? "," : "", word);
    }
    const char *text = out.len ? arena_strdup(g->a, str_text(&out)) : NULL;
    str_done(&out);
    return text;
}

const char *words_with(struct account_step *g, const char *list, const char *words)
{
    const char *rest = words_without(g, words, list);
    if (!list || !rest)
        return rest ? rest : list;
    return arena_printf(g->a, "%s,%s", list, rest);
}

static const char *words_put(struct account_step *g, const char *list, const char *words)
{
    switch ((enum account_list)g->ch->list) {
    case LIST_SET: return words_without(g, words, NULL);
    case LIST_MORE: return words_with(g, list, words);
    case LIST_LESS: return words_without(g, list, words);
    }
    return list;
}

enum refusal change_qos_check(struct account_step *g, const char *list)
{
    struct span rest = span_of(list ? list : ""), piece;
    while (span_next(&rest, ',', &piece)) {
        const char *name = arena_strndup(g->a, piece.data, piece.len);
        if (*name && !qos_find(g->c, name))
            return change_refuse(g, REFUSE_QOS,
                                 "there is no QOS %s: add it first with sacctmgr add qos %s", name,
                                 name);
    }
    return REFUSE_NONE;
}

/* Access to QOS: a list of its own, or what is more and less than above it. */
static void assoc_qos_put(struct account_step *g, struct assoc *a, const char *words)
{
    words = words_without(g, words, NULL);
    if (g->ch->list == LIST_SET) {
        a->qos = words;
        a->qos_more = a->qos_less = NULL;
    } else if (a->qos) {
        a->qos = words_put(g, a->qos, words);
        if (!a->qos) /* the last one was taken: none, not those above */
            a->qos_less = words_with(g, a->qos_less, words);
    } else if (g->ch->list == LIST_MORE) {
        a->qos_more = words_with(g, a->qos_more, words);
        a->qos_less = words_without(g, a->qos_less, words);
    } else {
        a->qos_less = words_with(g, a->qos_less, words);
        a->qos_more = words_without(g, a->qos_more, words);
    }
}

/* ---- fields --------------------------------------------------------------------------------- */

bool change_is_none(const struct account_step *g, const struct fields *t, const void *record,
                    const void *former)
{
    return !change_unbound(g) && !g->ch->limits.n && !g->ch->no_usage && !g->ch->new_name &&
           record_equal(t, record, former);
}

static const char *const fixed[] = {"name",    "id",      "account",    "user",     "partition",
                                    "deleted", "made_us", "changed_us", "qos_more", "qos_less"};

/* A list of QOS, each once, of which all are there. */
static enum refusal qos_words(struct account_step *g, const struct field *f, const void *values,
                              const char **ret)
{
    *ret = list_once(*(const char *const *)field_ptr(f, values), 1, g->a);
    return change_qos_check(g, *ret);
}

/* Sets the fields that the change names; qos of an association apart. */
enum refusal change_fields(struct account_step *g, const struct fields *t, void *record,
                           const void *values)
{
    ASSERT(record != values && t->n <= 64);
    uint64_t named = 0;
    enum refusal refusal = REFUSE_NONE;
    struct span rest = span_of(g->ch->fields ? g->ch->fields : ""), piece;
    while (!refusal && span_next(&rest, ',', &piece)) {
        const char *words;
        if (!piece.len)
            continue;
        const char *name = arena_strndup(g->a, piece.data, piece.len);
        ptrdiff_t i = fields_find(t, name);
        bool wrong = i < 0;
        for (size_t k = 0; k < ARRAY_LEN(fixed); k++)
            wrong |= text_is(name, fixed[k]);
        if (wrong)
            return change_refuse(g, REFUSE_UPDATE, "\"%s\" of %s cannot be changed", name, t->name);
        if (named >> i & 1u)
            return change_refuse(g, REFUSE_UPDATE, "\"%s\" of %s is named twice; once is enough",
                                 name, t->name);
        named |= UINT64_C(1) << i;
        const struct field *f = &t->field[i];
        if (t == &assoc_fields && text_is(name, "qos")) {
            refusal = qos_words(g, f, values, &words);
            if (!refusal)
                assoc_qos_put(g, record, words);
        } else if (text_is(name, "preempt")) {
            const char **list = field_ptr(f, record);
            refusal = qos_words(g, f, values, &words);
            if (!refusal)
                *list = words_put(g, *list, words);
        } else if (text_is(name, "flags") && g->ch->list != LIST_SET) {
            uint32_t *bits = field_ptr(f, record), some = *(const uint32_t *)field_ptr(f, values);
            *bits = g->ch->list == LIST_MORE ? *bits | some : *bits & ~some;
        } else {
            field_copy(f, record, values);
        }
    }
    return refusal;
}

enum refusal change_name_check(struct account_step *g, const char *what, const char *name)
{
    if (account_name_good(name))
        return REFUSE_NONE;
    return change_refuse(
        g, REFUSE_UPDATE,
        "a name of %s has from 1 to %u letters, digits and signs, without blanks, quotes, "
        "commas, = / : * ? and brackets",
        what, LIMIT_NAME_BYTES);
}

/* ---- limits --------------------------------------------------------------------------------- */

static bool tres_is_known(const struct core *c, const char *tres)
{
    struct map_walk w = {0};
    while (map_u64_next(c->accounts.tres, &w)) {
        if (tres_is(w.value, tres))
            return true;
    }
    return text_starts(tres, "license/");
}

static enum refusal limit_check(struct account_step *g, enum limit_owner owner,
                                const struct limit *l)
{
    const struct resource_limit_row *row = &resource_limit_table[l->what];
    bool of_tres = row->unit == UNIT_TRES || row->unit == UNIT_TRES_MINUTES;
    if ((l->tres && strlen(l->tres) > LIMIT_NAME_BYTES) ||
        (l->hours && strlen(l->hours) > LIMIT_NAME_BYTES))
        return change_refuse(g, REFUSE_TOO_LARGE,
                             "%s: a resource, and the hours when it holds, have at most %u bytes",
                             row->word, LIMIT_NAME_BYTES);
    if (row->unit == UNIT_MINUTES && l->value > FIELD_SPAN_MAX / USEC_PER_MIN)
        return change_refuse(
            g, REFUSE_TOO_LARGE, "%s: %lld minutes; at most %lld are allowed, or none is set (=-1)",
            row->word, (long long)l->value, (long long)(FIELD_SPAN_MAX / USEC_PER_MIN));
    if (!(row->owners >> owner & 1u))
        return change_refuse(g, REFUSE_UPDATE, "%s is no limit of %s", row->word,
                             owner == OWNER_QOS ? "a QOS" : "an association");
    if (of_tres != !text_empty(l->tres))
        return change_refuse(g, REFUSE_UPDATE,
                             of_tres ? "%s needs resources, as in %s=cpu=4"
                                     : "%s counts no resources",
                             row->word, row->word);
    if (of_tres && !tres_is_known(g->c, l->tres))
        return change_refuse(
            g, REFUSE_UPDATE,
            "%s: there is no resource \"%s\" here; sacctmgr show tres lists those there are",
            row->word, l->tres);
    struct time_windows hours;
    struct err e = {0};
    if (l->hours && !resource_limit_takes_hours((enum resource_limit)l->what))
        return change_refuse(g, REFUSE_UPDATE, "%s holds at all hours", row->word);
    if (l->hours && !time_hours_parse(l->hours, g->a, &hours, &e))
        return change_refuse(g, REFUSE_UPDATE, "%s: %s", row->word, e.text);
    return REFUSE_NONE;
}

/* "No limit" without hours means: at no hour. */
static void limits_of_hours_drop(struct account_step *g, enum limit_owner owner, uint32_t id,
                                 const struct limit *l)
{
    limit_list *of = limits_of(g->c, owner, id);
    for (size_t i = of ? of->n : 0; i-- > 0;)
        if (of->v[i].what == l->what && of->v[i].hours && text_is(of->v[i].tres, l->tres))
            limit_drop(g->c, &of->v[i]);
}

/* Room for one more of a key that is new. */
static enum refusal limit_room(struct account_step *g, const struct limit *l)
{
    const limit_list *of = limits_of(g->c, (enum limit_owner)l->owner, l->owner_id);
    enum refusal refusal = change_looks(g, of ? of->n : 0);
    if (refusal || !of || l->value < 0 || limit_find(g->c, l))
        return refusal;
    if (of->n >= LIMIT_LIMITS)
        return change_refuse(g, REFUSE_TOO_LARGE,
                             "%u limits are set on it, and more are not allowed, as each job is "
                             "held against all of them: take some back (=-1) first",
                             LIMIT_LIMITS);
    if (l->owner == OWNER_ASSOC)
        change_fuller(g, l->owner_id);
    return REFUSE_NONE;
}

enum refusal change_limits(struct account_step *g, enum limit_owner owner, uint32_t id,
                           bool *ret_any)
{
    ASSERT(id > 0);
    const struct limit *v = g->ch->limits.v;
    for (size_t i = 0; i < g->ch->limits.n; i++) {
        struct limit l = v[i];
        enum refusal refusal = limit_check(g, owner, &l);
        l.owner = owner;
        l.owner_id = id;
        if (!refusal)
            refusal = limit_room(g, &l);
        if (refusal)
            return refusal;
        if (l.value >= 0)
            accounts_put(g->c, TABLE_LIMIT, &l);
        else
            limit_drop(g->c, &l);
        if (l.value < 0 && !l.hours)
            limits_of_hours_drop(g, owner, id, &l);
        *ret_any = true;
    }
    return REFUSE_NONE;
}

void change_limits_lift(struct account_step *g, limit_list *list)
{
    while (list->n)
        limit_drop(g->c, &list->v[list->n - 1]);
}
