/* How much of each limit is in use: for everybody whose jobs there are, by the limits that count
 * them. A limit that nobody counts against has no row. */
#include "core/query/query.h"
#include "core/record/accounts/limit_view.h"
#include "core/record/accounts/private.h"

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
    const char *account = h->assoc ? h->assoc->a.account : use.account;
    if (use.used >= 0 && may_see_usage(k->c, k->peer, use.user, account))
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

enum refusal query_limit_use(const struct core *c, const struct peer *peer, const struct view *v)
{
    struct live_sums *sums = live_sums_new(c);
    struct use_walk k = {c, peer, v, map_str_new(), sums};
    struct map_walk w = {0};
    struct limit_subject who;
    while (limits_next_subject(c, &w, &who))
        subject_show(&k, &who);
    map_str_free(k.told);
    live_sums_free(sums);
    return REFUSE_NONE;
}
