/* Which jobs a query means. Its lists are read once, however many parts the answer has: a list of
 * sixteen thousand names must not be gone through for each job. */
#include "base/alloc.h"
#include "base/list.h"
#include "core/query/query.h"
#include "core/record/asked.h"
#include "model/job/stopped.h"
#include "model/limits.h"

#include <stdlib.h>

struct filter {
    struct msg_query q; /* texts in `a` */
    struct arena *a;
    struct map_u64 *uid;      /* NULL = anybody's */
    struct asked_words nodes; /* jobs on any of these */
    struct asked_words name, account, qos, partition;
    uint32_t states; /* bit a state */
    bool stopped;    /* running ones that SIGSTOP stopped, too */
    job_ref_vec ref;
    struct refs_at at;
    struct part_nodes part_nodes;
};

/* ---- reading -------------------------------------------------------------------------------- */

static enum refusal states_read(struct filter *f, struct str *detail)
{
    struct span rest = span_of(f->q.states), piece;
    int32_t state;
    if (!f->q.states) {
        for (int s = 0; s < JOB_STATE_COUNT; s++)
            f->states |= job_state_over((enum job_state)s) ? 0 : 1u << s;
        return REFUSE_NONE;
    }
    if (text_is_nocase(f->q.states, "all")) {
        f->states = UINT32_MAX;
        return REFUSE_NONE;
    }
    while (span_next(&rest, ',', &piece)) {
        const char *word = arena_strndup(f->a, piece.data, piece.len);
        if (text_is(word, "NONE"))
            continue;
        if (!job_state_parse(word, &state)) {
            str_addf(detail, "\"%s\" is no state of a job", word);
            return REFUSE_BAD_MESSAGE;
        }
        f->stopped |= state_word_is_stopped(word);
        if (state >= 0)
            f->states |= 1u << state;
    }
    return REFUSE_NONE;
}

static enum refusal refs_read(struct filter *f, struct str *detail)
{
    struct err err = {0};
    uint64_t room = LIMIT_REF_RANGES;
    int depth = 0;
    const char *start = f->q.ids;
    for (const char *at = start; at; at++) {
        depth += (*at == '[') - (*at == ']');
        if (*at && (*at != ',' || depth > 0))
            continue;
        if (at > start) {
            struct job_ref ref;
            bool known = job_ref_parse_within(arena_strndup(f->a, start, (size_t)(at - start)),
                                              &room, &ref, &err);
            if (!known && f->q.what != QUERY_PRIORITY) { /* sprio finds nothing by such a name */
                str_add(detail, err.text);
                return REFUSE_INVALID_JOB_ID;
            }
            ref.exact = f->q.exact;
            if (known)
                vec_push(&f->ref, ref);
        }
        if (!*at)
            break;
        start = at + 1;
    }
    return REFUSE_NONE;
}

static void filter_drop(void *kept)
{
    struct filter *f = kept;
    for (size_t i = 0; i < f->ref.n; i++)
        job_ref_done(&f->ref.v[i]);
    vec_done(&f->ref);
    map_u64_free(f->at.shown);
    map_u64_free(f->at.told);
    map_u64_free(f->uid);
    asked_words_done(&f->nodes);
    asked_words_done(&f->name);
    asked_words_done(&f->account);
    asked_words_done(&f->qos);
    asked_words_done(&f->partition);
    part_nodes_done(&f->part_nodes);
    arena_free(f->a);
    free(f);
}

enum refusal filter_open(const struct core *c, const struct msg_query *q, struct query_at *at,
                         struct str *detail)
{
    ASSERT(!at->kept);
    struct err err = {0};
    struct filter *f = xcalloc(1, sizeof *f);
    f->a = arena_new();
    record_copy(message_fields(MSG_QUERY), &f->q, q, f->a);
    at->kept = f;
    at->drop = filter_drop;
    f->name = asked_words_read(f->q.names);
    f->account = asked_words_read(f->q.accounts);
    f->qos = asked_words_read(f->q.qos);
    f->partition = asked_words_read(f->q.partitions);
    f->uid = asked_uids_read(f->q.uids);
    if (!asked_nodes_read(c, f->q.nodes, &f->nodes, &err)) {
        str_add(detail, err.text);
        return REFUSE_INVALID_NODE;
    }
    enum refusal refusal = states_read(f, detail);
    /* A job asked for by its id is shown as long as it is in memory. */
    if (f->q.ids && !f->q.states)
        f->states = UINT32_MAX;
    return refusal ? refusal : refs_read(f, detail);
}

const job_ref_vec *filter_refs(const struct filter *f)
{
    return &f->ref;
}

struct part_nodes *filter_part_nodes(struct filter *f)
{
    return &f->part_nodes;
}

const struct asked_words *filter_partitions(const struct filter *f)
{
    return &f->partition;
}

struct refs_at *filter_refs_at(struct filter *f)
{
    return &f->at;
}

/* ---- does a job fit? ------------------------------------------------------------------------ */

/* The empty word is none, as in list_shares. */
static bool any_wanted(const struct filter *f, const char *partitions)
{
    struct span rest = span_of(partitions ? partitions : ""), word;
    bool any = false;
    while (!any && span_next(&rest, ',', &word)) {
        word = span_trim(word);
        char *name = word.len ? xstrndup(word.data, word.len) : NULL;
        any = name && asked_words_have(&f->partition, name);
        free(name);
    }
    return any;
}

static bool partition_fits(const struct filter *f, const struct jobrec *r)
{
    return !f->partition.of ||
           (r->j.run_partition && asked_words_have(&f->partition, r->j.run_partition)) ||
           (r->j.state == JOB_PENDING && any_wanted(f, r->j.spec.req.partition));
}

static bool state_fits(const struct filter *f, const struct job *j)
{
    return (f->states >> j->state & 1) || (f->stopped && job_is_stopped(j));
}

bool filter_fits(const struct filter *f, const struct jobrec *r, size_t *looks)
{
    const struct job_spec *s = &r->j.spec;
    return state_fits(f, &r->j) && (!f->uid || map_u64_get(f->uid, r->j.user_id)) &&
           asked_words_have(&f->name, s->name) && asked_words_have(&f->account, s->req.account) &&
           asked_words_have(&f->qos, s->req.qos) && partition_fits(f, r) &&
           asked_nodes_fit(&f->nodes, r, looks);
}
