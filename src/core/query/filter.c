/* Which jobs a query means. Its lists are read once, however many parts the answer has: a list of
 * sixteen thousand names must not be gone through for each job. */
#include "base/alloc.h"
#include "base/list.h"
#include "core/query/query.h"
#include "model/job/stopped.h"

#include <stdlib.h>

#define HOSTS_A_LOOK 32 /* of a job, compared with those asked for */

/* Words of a list, as list_has reads it; NULL = all will do. */
struct filter_words {
    struct map_str *of;
};

struct filter {
    struct msg_query q; /* texts in `a` */
    struct arena *a;
    struct map_u64 *uid;   /* NULL = anybody's */
    struct map_str *nodes; /* jobs on any of these; NULL = wherever */
    struct filter_words name, account, qos, partition;
    uint32_t states; /* bit a state */
    bool stopped;    /* running ones that SIGSTOP stopped, too */
    job_ref_vec ref;
};

/* ---- reading -------------------------------------------------------------------------------- */

static void *const in = (void *)1;

static struct filter_words words_read(const char *list, struct arena *a)
{
    struct filter_words w = {list ? map_str_new() : NULL};
    struct span rest = span_of(list ? list : ""), piece;
    while (list && span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        map_str_put(w.of, arena_strndup(a, piece.data, piece.len), in);
    }
    return w;
}

static bool words_have(const struct filter_words *w, const char *word)
{
    return !w->of || map_str_get(w->of, word ? word : "");
}

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
    int depth = 0;
    const char *start = f->q.ids;
    for (const char *at = start; at; at++) {
        depth += (*at == '[') - (*at == ']');
        if (*at && (*at != ',' || depth > 0))
            continue;
        if (at > start) {
            struct job_ref ref;
            bool known =
                job_ref_parse(arena_strndup(f->a, start, (size_t)(at - start)), &ref, &err);
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

static void uids_read(struct filter *f)
{
    struct span rest = span_of(f->q.uids), piece;
    f->uid = f->q.uids ? map_u64_new() : NULL;
    while (f->q.uids && span_next(&rest, ',', &piece)) {
        uint64_t uid;
        if (text_to_u64(arena_strndup(f->a, piece.data, piece.len), UINT32_MAX, &uid))
            map_u64_put(f->uid, uid, in);
    }
}

static enum refusal nodes_read(struct filter *f, struct str *detail)
{
    struct hostlist names = HOSTLIST_INIT;
    struct err err = {0};
    if (!f->q.nodes)
        return REFUSE_NONE;
    bool ok = hostlist_parse(&names, f->q.nodes, &err);
    f->nodes = map_str_new();
    for (size_t i = 0; i < names.n; i++)
        map_str_put(f->nodes, names.name[i], in);
    hostlist_done(&names);
    if (!ok)
        str_add(detail, err.text);
    return ok ? REFUSE_NONE : REFUSE_INVALID_NODE;
}

static void filter_drop(void *kept)
{
    struct filter *f = kept;
    for (size_t i = 0; i < f->ref.n; i++)
        job_ref_done(&f->ref.v[i]);
    vec_done(&f->ref);
    map_u64_free(f->uid);
    map_str_free(f->nodes);
    map_str_free(f->name.of);
    map_str_free(f->account.of);
    map_str_free(f->qos.of);
    map_str_free(f->partition.of);
    arena_free(f->a);
    free(f);
}

enum refusal filter_open(const struct msg_query *q, struct query_at *at, struct str *detail)
{
    ASSERT(!at->kept);
    struct filter *f = xcalloc(1, sizeof *f);
    f->a = arena_new();
    record_copy(message_table[MSG_QUERY].fields, &f->q, q, f->a);
    at->kept = f;
    at->drop = filter_drop;
    f->name = words_read(f->q.names, f->a);
    f->account = words_read(f->q.accounts, f->a);
    f->qos = words_read(f->q.qos, f->a);
    f->partition = words_read(f->q.partitions, f->a);
    uids_read(f);
    enum refusal refusal = nodes_read(f, detail);
    if (!refusal)
        refusal = states_read(f, detail);
    /* A job asked for by its id is shown as long as it is in memory. */
    if (f->q.ids && !f->q.states)
        f->states = UINT32_MAX;
    return refusal ? refusal : refs_read(f, detail);
}

const job_ref_vec *filter_refs(const struct filter *f)
{
    return &f->ref;
}

/* ---- does a job fit? ------------------------------------------------------------------------ */

static bool nodes_fit(const struct filter *f, const struct jobrec *r, size_t *looks)
{
    struct hostlist names = HOSTLIST_INIT;
    bool found = false;
    if (!f->nodes)
        return true;
    if (r->j.nodes && hostlist_parse(&names, r->j.nodes, NULL)) {
        *looks += names.n / HOSTS_A_LOOK;
        for (size_t i = 0; i < names.n && !found; i++)
            found = map_str_get(f->nodes, names.name[i]);
    }
    hostlist_done(&names);
    return found;
}

/* The empty word is none, as in list_shares. */
static bool any_wanted(const struct filter *f, const char *partitions)
{
    struct span rest = span_of(partitions ? partitions : ""), word;
    bool any = false;
    while (!any && span_next(&rest, ',', &word)) {
        word = span_trim(word);
        char *name = word.len ? xstrndup(word.data, word.len) : NULL;
        any = name && words_have(&f->partition, name);
        free(name);
    }
    return any;
}

static bool partition_fits(const struct filter *f, const struct jobrec *r)
{
    return !f->partition.of ||
           (r->j.run_partition && words_have(&f->partition, r->j.run_partition)) ||
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
           words_have(&f->name, s->name) && words_have(&f->account, s->req.account) &&
           words_have(&f->qos, s->req.qos) && partition_fits(f, r) && nodes_fit(f, r, looks);
}
