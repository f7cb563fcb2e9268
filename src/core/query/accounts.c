/* Accounts, users, associations, QOS and their limits as they are, those that were removed among
 * them (`deleted`): who asks filters. In the order of their numbers, or in which they came. */
#include "core/record/accounts.h"
#include "core/query/query.h"

enum refusal query_accounts(const struct core *c, const struct msg_query *q, const struct view *v)
{
    const struct account_book *b = &c->accounts;
    const struct map_str *by_name = q->what == QUERY_ACCOUNTS        ? b->account
                                    : q->what == QUERY_ACCOUNT_USERS ? b->user
                                    : q->what == QUERY_LIMITS        ? b->limit
                                                                     : NULL;
    const struct map_u64 *by_id = q->what == QUERY_ASSOCS   ? b->assoc
                                  : q->what == QUERY_QOS    ? b->qos
                                  : q->what == QUERY_WCKEYS ? b->wckey
                                                            : b->tres;
    struct map_walk w = {0};
    if (by_name) {
        while (map_str_next(by_name, &w))
            v->row(v->ctx, w.value);
        return REFUSE_NONE;
    }
    while (map_u64_next(by_id, &w)) /* of associations and QOS the record stands first */
        v->row(v->ctx, w.value);
    return REFUSE_NONE;
}
