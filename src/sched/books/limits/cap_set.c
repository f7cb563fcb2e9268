#include "sched/books/limits/cap_set.h"

#include "base/alloc.h"
#include "model/job/job_counts.h"
#include "sched/books/limits/caps.h"

#include <stdlib.h>
#include <string.h>

/* ---- what a job takes at least -------------------------------------------------------------- */

/* Of that licence in the list of a request, which licences_find has read: as it is written there,
 * with blanks around it and as many digits as one likes. */
static int64_t licences_in(const char *list, const char *name)
{
    struct span rest = span_of(list ? list : ""), piece;
    int64_t sum = 0;
    while (span_next(&rest, ',', &piece)) {
        struct span word;
        int64_t n = 1;
        piece = span_trim(piece);
        if (!span_next(&piece, ':', &word) || !span_is(word, name))
            continue;
        char *number = piece.data ? xstrndup(piece.data, piece.len) : NULL;
        sum += !number || text_to_i64(number, 1, INT32_MAX, &n) ? n : 1;
        free(number);
    }
    return sum;
}

/* Of a job that is nothing but its request. */
static int64_t cap_least(const struct cap_amount *cap, const struct job *j)
{
    if (!j || cap->each == CAP_EACH_NODE || cap->each == CAP_EACH_MINUTES)
        return 0; /* it depends on where, and on its limit there */
    switch (cap->counts) {
    case CAP_JOBS: return 1;
    case CAP_NODES: return job_nodes(j);
    case CAP_CPUS: return job_cpus(j);
    case CAP_MEM: return job_mem_mib(j) > 0 ? job_mem_mib(j) : 0;
    case CAP_LICENCES: return licences_in(j->spec.req.licenses, cap->gres);
    case CAP_BILLING: return 0; /* it depends on where */
    case CAP_GRES: break;
    }
    return job_gres_asked(j, cap->gres); /* of a type that is not asked for: it depends on where */
}

/* ---- the text ------------------------------------------------------------------------------- */

/* A number of a cap, or of nodes: overflow is that of whoever wrote it. */
static inline const char *number_read(const char *at, uint32_t *n)
{
    unsigned digit;
    for (*n = 0; (digit = (unsigned)*at - '0') <= 9; at++)
        *n = *n * 10 + digit;
    return at;
}

/* Behind its number: "+", ":-3", ":5@3+" */
static const char *apart_read(const char *at, struct cap_apart *ret)
{
    bool less = false;
    *ret = (struct cap_apart){0};
    if (*at == ':') {
        less = at[1] == '-';
        for (at += 1 + less; *at >= '0' && *at <= '9'; at++)
            ret->slack = ret->slack * 10 + (*at - '0');
    }
    if (*at == '@')
        at = number_read(at + 1, &ret->places);
    ret->slack = less ? -ret->slack : ret->slack;
    ret->above = *at == '+';
    return at + ret->above;
}

/* The place in the set of what is taken of that amount; `guess`: it may well be there. Caps of the
 * same resource take as much. */
static uint32_t need_find(const struct cluster *cl, struct cap_set *s, uint32_t amount,
                          uint32_t guess, const struct job *j)
{
    const struct cap_amount *of = &cl->lic.amount.v[amount];
    struct cap_need new = {.amount = amount, .like = (uint32_t)s->need.n};
    if (guess < s->need.n && s->need.v[guess].amount == amount)
        return guess;
    for (uint32_t i = 0; i < s->need.n; i++)
        if (s->need.v[i].amount == amount)
            return i;
    for (uint32_t i = new.like; i-- > 0;)
        if (cl->lic.amount.v[s->need.v[i].amount].like == of->like)
            new.like = i;
    new.count = new.like < s->need.n ? s->need.v[new.like].count : cap_least(of, j);
    vec_push(&s->need, new);
    return (uint32_t)s->need.n - 1;
}

#define REF_TEXT 5 /* letters that most have in the text */

void cap_set_read(const struct cluster *cl, const char *caps, const struct job_request *req,
                  struct cap_set *s)
{
    *s = (struct cap_set){0};
    if (!caps)
        return;
    /* Large: made once for all of them. */
    const struct job *job = req ? &(struct job){.spec = {.req = *req}} : NULL;
    uint32_t need = 0, id;
    vec_reserve(&s->ref, strlen(caps) / REF_TEXT + 1);
    for (const char *at = caps; *at >= '0' && *at <= '9'; at += *at == ',') {
        struct cap_apart apart;
        at = number_read(at, &id);
        bool is_apart = *at != ',' && *at;
        if (is_apart)
            at = apart_read(at, &apart);
        struct cap_place p = cap_place(cl, id);
        if (!p.plus1)
            continue;
        need = need_find(cl, s, p.amount, need + 1, job); /* those of one owner are together */
        vec_push(&s->ref, ((struct cap_ref){p.plus1 - 1, need | (is_apart ? CAP_APART : 0)}));
        if (is_apart)
            vec_push(&s->apart, apart);
    }
}

void cap_set_done(struct cap_set *s)
{
    vec_done(&s->ref);
    vec_done(&s->need);
    vec_done(&s->apart);
}

struct lic_use cap_set_use(const struct cap_set *s, const struct cap_ref *r,
                           const struct cap_apart *apart)
{
    ASSERT(!(r->need & CAP_APART) == !apart);
    struct lic_use use = {.lic = r->lic, .count = cap_need_of(s, r)->count};
    if (apart) {
        use.slack = apart->slack;
        use.places = apart->places;
        use.above = apart->above;
    }
    return use;
}

void cap_set_all(const struct cap_set *s, struct lic_use *to)
{
    const struct cap_apart *apart = s->apart.v;
    for (size_t i = 0; i < s->ref.n; i++)
        to[i] = cap_set_use(s, &s->ref.v[i], s->ref.v[i].need & CAP_APART ? apart++ : NULL);
}
