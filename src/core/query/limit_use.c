/* How much of each limit is in use: for everybody whose jobs there are, by the limits that count
 * them. A limit that nobody counts against has no row. */
#include "base/alloc.h"
#include "core/query/query.h"
#include "core/record/accounts/limit_view.h"

#include <stdlib.h>

struct use_walk {
    const struct core *c;
    const struct peer *peer;
    const struct view *v;
    struct map_str *told; /* "limit, for whom" */
    const struct live_sums *sums;
};

static void use_show(const struct use_walk *k, const struct limit_subject *who,
                     const struct limit_hit *h)
{
    const struct resource_limit_row *row = &resource_limit_table[h->l->what];
    bool of_user = row->scope == SCOPE_USER,
         of_account = row->scope == SCOPE_ACCOUNT || (of_user && h->assoc);
    struct str id = STR_INIT, key = STR_INIT;
    limit_id_add(h->l, &id);
    struct limit_use use = {.id = str_text(&id),
                            .user = of_user ? who->user : NULL,
                            .account = of_account ? who->account : NULL};
    str_addf(&key, "%s\n%s\n%s", use.id, use.user ? use.user : "", use.account ? use.account : "");
    bool told = map_str_get(k->told, str_text(&key)) != NULL;
    if (!told)
        map_str_put(k->told, str_text(&key), (void *)(uintptr_t)1);
    str_done(&key);
    use.used = told ? -1 : limit_used(k->c, k->sums, who, h);
    if (use.used >= 0 && limit_use_seen(k->c, k->peer, who, h))
        k->v->row(k->v->ctx, &use);
    str_done(&id);
}

static void subject_show(const struct use_walk *k, const struct limit_subject *all)
{
    static const enum limit_counts kinds[] = {COUNTS_RUNNING, COUNTS_LIVE, COUNTS_USED,
                                              COUNTS_PROMISED, COUNTS_ACCRUING};
    struct span rest = span_of(all->partition ? all->partition : ""), piece;
    struct arena *a = arena_new();
    while (span_next(&rest, ',', &piece)) {
        struct limit_subject who = *all;
        who.partition = arena_strndup(a, piece.data, piece.len);
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
            limit_hits hits = {0};
            limits_collect(k->c, &who, kinds[i], &hits);
            for (size_t n = 0; n < hits.n; n++)
                use_show(k, &who, &hits.v[n]);
            vec_done(&hits);
        }
    }
    arena_free(a);
}

struct use_reading {
    struct map_walk summed, told;
    bool sums_known;
    struct live_sums *sums;
    struct map_str *seen; /* "limit, for whom": told already */
};

static void use_reading_drop(void *kept)
{
    struct use_reading *u = kept;
    live_sums_free(u->sums);
    map_str_free(u->seen);
    free(u);
}

static struct use_reading *use_reading_new(void)
{
    struct use_reading *u = xcalloc(1, sizeof *u);
    u->sums = live_sums_new();
    u->seen = map_str_new();
    return u;
}

enum refusal query_limit_use(const struct core *c, const struct peer *peer, const struct view *v,
                             struct query_at *at, size_t most)
{
    ASSERT(most > 0);
    struct limit_subject who;
    if (!at->kept) {
        at->kept = use_reading_new();
        at->drop = use_reading_drop;
    }
    struct use_reading *u = at->kept;
    struct use_walk k = {c, peer, v, u->seen, u->sums};
    if (!u->sums_known)
        u->sums_known = live_sums_go(u->sums, c, &u->summed, &most);
    for (at->more = true; u->sums_known && at->more && most; most--)
        if ((at->more = limits_next_subject(c, &u->told, &who)))
            subject_show(&k, &who);
    return REFUSE_NONE;
}
