#include "model/past.h"

#include "base/alloc.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {
#define X(kind, word, age, archive) [PAST_##kind] = word,
    PASTS(X)
#undef X
};
const struct enum_names past_names = {names, ARRAY_LEN(names)};

void past_rules(const struct settings *s, struct past_rule ret[PAST_COUNT])
{
    /* Settings are checked as they are read. */
#define X(kind, word, after, to_file)                                                              \
    ret[PAST_##kind] = (struct past_rule){.archive = s->to_file};                                  \
    age_parse(s->after, &ret[PAST_##kind].age, NULL);
    PASTS(X)
#undef X
}

static bool kind_find(struct span word, enum past_kind *ret, struct err *ret_err)
{
    for (int i = 0; i < PAST_COUNT; i++)
        if (span_is(word, names[i])) {
            *ret = (enum past_kind)i;
            return true;
        }
    return err_set(ret_err, ERR_INVALID,
                   "\"%.*s\" is no kind of the past; jobs, steps, events, resvs, txn and usage are",
                   SPAN_QUOTED(word));
}

bool past_rules_change(struct past_rule rule[PAST_COUNT], const char *purge, const char *archive,
                       struct err *ret_err)
{
    struct span rest = span_of(purge ? purge : ""), piece;
    enum past_kind kind = PAST_JOBS;
    while (span_next(&rest, ',', &piece)) {
        char text[64] = "", *equals;
        if (!piece.len)
            continue;
        snprintf(text, sizeof text, "%.*s", (int)piece.len, piece.data);
        equals = strchr(text, '=');
        if (equals)
            *equals = '\0';
        if (!kind_find(span_of(text), &kind, ret_err) ||
            !age_parse(equals ? equals + 1 : "", &rule[kind].age, ret_err))
            return false;
    }
    rest = span_of(archive ? archive : "");
    while (span_next(&rest, ',', &piece)) {
        if (!piece.len)
            continue;
        if (!kind_find(piece, &kind, ret_err))
            return false;
        rule[kind].archive = true;
    }
    return true;
}

struct past_key past_key_of(enum store_table table, const void *record, struct arena *texts,
                            int64_t *ret_at_us)
{
    struct past_key k = {.table = table};
    const struct job *j = record;
    const struct step *s = record;
    const struct node_spell *n = record;
    const struct reservation *v = record;
    *ret_at_us = 0;
    if (table == TABLE_STEP) {
        k.id = s->job_id;
        k.attempt = s->attempt;
        k.second = s->step_id;
        *ret_at_us = s->end_us;
    } else if (table == TABLE_PAYLOAD) {
        k.id = ((const struct payload *)record)->job_id;
    } else if (table == TABLE_NODE_SPELL) {
        k.name = arena_strdup(texts, n->name);
        k.second = n->start_us;
        *ret_at_us = n->end_us;
    } else if (table == TABLE_PAST_RESERVATION) {
        k.name = arena_strdup(texts, v->name);
        k.second = v->start_us;
        *ret_at_us = v->end_us;
    } else if (table == TABLE_TRANSACTION) {
        k.id = ((const struct transaction *)record)->id;
        *ret_at_us = ((const struct transaction *)record)->at_us;
    } else {
        k.id = j->id;
        k.attempt = j->attempt;
        k.second = j->start_us;
        k.array_job_id = j->array_job_id;
        k.het_job_id = j->het_job_id;
        *ret_at_us = j->end_us;
    }
    return k;
}
