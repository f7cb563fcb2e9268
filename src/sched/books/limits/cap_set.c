#include "sched/books/limits/cap_set.h"

#include "model/job/job_counts.h"
#include "sched/books/limits/caps.h"

#include <string.h>

/* ---- what a job takes at least -------------------------------------------------------------- */

/* Of that licence in the list of a request. */
static int64_t licences_in(const char *list, const char *name)
{
    struct span rest = span_of(list ? list : ""), piece;
    int64_t sum = 0;
    while (span_next(&rest, ',', &piece)) {
        const char *colon = memchr(piece.data, ':', piece.len);
        size_t len = colon ? (size_t)(colon - piece.data) : piece.len;
        int64_t n = 1;
        char number[16] = "1";
        if (len != strlen(name) || strncmp(piece.data, name, len) != 0)
            continue;
        if (colon && piece.len - len - 1 < sizeof number) {
            memcpy(number, colon + 1, piece.len - len - 1);
            number[piece.len - len - 1] = '\0';
        }
        sum += text_to_i64(number, 1, INT32_MAX, &n) ? n : 1;
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
    case CAP_CPUS: return j->spec.req.overcommit ? 1 : job_cpus(j);
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

static void *grown(struct arena *a, const void *v, size_t size, size_t n, size_t *room)
{
    void *more = arena_alloc(a, 2 * *room * size);
    memcpy(more, v, n * size);
    *room *= 2;
    return more;
}

static void apart_push(struct cap_set *s, struct cap_apart apart, struct arena *a)
{
    /* Full at each power of two. */
    size_t room = s->naparts;
    if (!s->apart)
        s->apart = arena_alloc(a, sizeof s->apart[0]);
    else if ((room & (room - 1)) == 0)
        s->apart = grown(a, s->apart, sizeof s->apart[0], room, &room);
    s->apart[s->naparts++] = apart;
    s->ref[s->n - 1].need |= CAP_APART;
}

/* The set while it is read: most are small, and then lie here. */
struct set_read {
    const struct cluster *cl;
    struct arena *a;
    const struct job *job; /* nothing but its request; NULL = no counts are wanted */
    struct cap_set set;
    size_t refs_room, needs_room;
    struct cap_ref ref[64];
    struct cap_need need[16];
};

static void need_push(struct set_read *r, uint32_t amount)
{
    struct cap_set *s = &r->set;
    const struct cap_amount *of = &r->cl->lic.amount.v[amount];
    struct cap_need new = {.amount = amount, .like = (uint32_t)s->nneeds};
    for (uint32_t i = new.like; i-- > 0;)
        if (r->cl->lic.amount.v[s->need[i].amount].like == of->like)
            new.like = i;
    new.count = new.like < s->nneeds ? s->need[new.like].count : cap_least(of, r->job);
    if (s->nneeds == r->needs_room)
        s->need = grown(r->a, s->need, sizeof new, s->nneeds, &r->needs_room);
    s->need[s->nneeds++] = new;
}

/* The place in the set of what is taken of that amount; `guess`: it may well be there. Caps of the
 * same resource take as much. */
static inline uint32_t need_find(struct set_read *r, uint32_t amount, uint32_t guess)
{
    const struct cap_set *s = &r->set;
    if (guess < s->nneeds && s->need[guess].amount == amount)
        return guess;
    for (uint32_t i = 0; i < s->nneeds; i++)
        if (s->need[i].amount == amount)
            return i;
    need_push(r, amount);
    return (uint32_t)s->nneeds - 1;
}

static void refs_read(struct set_read *r, const char *at)
{
    struct cap_set *s = &r->set;
    uint32_t need = 0, id;
    while (*at >= '0' && *at <= '9') {
        struct cap_apart apart;
        at = number_read(at, &id);
        bool is_apart = *at != ',' && *at;
        if (is_apart)
            at = apart_read(at, &apart);
        at += *at == ',';
        struct cap_place p = cap_place(r->cl, id);
        if (!p.plus1)
            continue;
        if (s->n == r->refs_room)
            s->ref = grown(r->a, s->ref, sizeof s->ref[0], s->n, &r->refs_room);
        need = need_find(r, p.amount, need + 1); /* limits of one owner follow each other */
        s->ref[s->n++] = (struct cap_ref){p.plus1 - 1, need};
        if (is_apart)
            apart_push(s, apart, r->a);
    }
}

struct cap_set cap_set_read(const struct cluster *cl, const char *caps,
                            const struct job_request *req, struct arena *a)
{
    struct set_read r; /* not zeroed: it is large */
    r.cl = cl;
    r.a = a;
    r.job = req ? &(struct job){.spec = {.req = *req}} : NULL;
    r.set = (struct cap_set){.ref = r.ref, .need = r.need};
    r.refs_room = ARRAY_LEN(r.ref);
    r.needs_room = ARRAY_LEN(r.need);
    if (caps)
        refs_read(&r, caps);
    if (r.set.ref == r.ref)
        r.set.ref = arena_dup(a, r.ref, r.set.n * sizeof r.ref[0]);
    if (r.set.need == r.need)
        r.set.need = arena_dup(a, r.need, r.set.nneeds * sizeof r.need[0]);
    return r.set;
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
    const struct cap_apart *apart = s->apart;
    for (size_t i = 0; i < s->n; i++)
        to[i] = cap_set_use(s, &s->ref[i], s->ref[i].need & CAP_APART ? apart++ : NULL);
}
