#include "core/record/accounts/limit_view.h"
#include "core/record/accounts/accrue.h"
#include "core/record/accounts/minutes.h"
#include "core/record/accounts/private.h"
#include "core/record/record.h"

bool limit_does(const struct limit *l)
{
    return limit_holds(l) || minutes_hold(l);
}

int64_t limit_used(const struct core *c, const struct live_sums *sums,
                   const struct limit_subject *who, const struct limit_hit *h)
{
    struct str key = STR_INIT;
    int64_t used;
    enum limit_counts counts = resource_limit_table[h->l->what].counts;
    if (counts == COUNTS_LIVE)
        return (int64_t)live_sums_of(sums, who, h);
    if (!enforces_limits(c))
        return -1;
    switch (counts) {
    case COUNTS_ACCRUING:
        limit_key(c, who, h, &key);
        used = accrue_count(c, str_text(&key));
        str_done(&key);
        return used;
    case COUNTS_USED:
    case COUNTS_PROMISED: return minutes_hold(h->l) ? minutes_in_use(c, who, h) : -1;
    case COUNTS_RUNNING: return limit_capped(c, who, h);
    case COUNTS_LIVE:
    case COUNTS_ASKED:
    case COUNTS_LEAST:
    case COUNTS_PRIORITY: break;
    }
    return -1;
}

bool limit_use_seen(const struct core *c, const struct peer *peer, const struct limit_subject *who,
                    const struct limit_hit *h)
{
    ASSERT((h->qos != NULL) != (h->assoc != NULL));
    enum limit_scope scope = resource_limit_table[h->l->what].scope;
    const char *user = scope == SCOPE_USER ? who->user : h->assoc ? h->assoc->a.user : NULL;
    return may_see_usage(c, peer, user,
                         h->assoc                 ? h->assoc->a.account
                         : scope == SCOPE_ACCOUNT ? who->account
                                                  : NULL);
}
