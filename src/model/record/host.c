#include "model/record/host.h"

#include "base/alloc.h"
#include "model/message.h"

#define MAY(who) (1u << WHO_##who)

static const char *const kind_text[] = {[HOST_KIND_UNSET] = "",
                                        [HOST_UNTRUSTED] = "untrusted",
                                        [HOST_LOGIN] = "login",
                                        [HOST_TRUSTED] = "trusted"};
const struct enum_names host_kind_names = {kind_text, ARRAY_LEN(kind_text)};

/* clang-format off */
const struct host_kind_row host_kinds[HOST_KINDS] = {
    [HOST_KIND_UNSET] = {SPEAKS_FOR_ONE,   0,                                                                     false, "nobody"},
    [HOST_UNTRUSTED]  = {SPEAKS_FOR_ONE,   MAY(ANYONE) | MAY(OWNER) | MAY(NODE),                                  false, "one user"},
    [HOST_LOGIN]      = {SPEAKS_FOR_USERS, MAY(ANYONE) | MAY(OWNER),                                              false, "users"},
    [HOST_TRUSTED]    = {SPEAKS_FOR_ALL,   MAY(ANYONE) | MAY(OWNER) | MAY(OPERATOR) | MAY(ADMIN) | MAY(NODE),      true, "all users"},
};
/* clang-format on */

bool host_may_send(enum host_kind kind, int who)
{
    return kind < HOST_KINDS && who >= 0 && who <= WHO_STREAM &&
           (host_kinds[kind].sends >> who & 1u);
}

enum host_kind host_kind_of(const struct host *h)
{
    if (h->kind < 0 || h->kind >= HOST_KINDS) /* of a later release */
        return HOST_UNTRUSTED;
    if (h->kind != HOST_KIND_UNSET)
        return (enum host_kind)h->kind;
    if (h->role == ROLE_LOGIN)
        return h->trusted ? HOST_LOGIN : HOST_UNTRUSTED;
    return h->trusted ? HOST_TRUSTED : HOST_UNTRUSTED;
}
