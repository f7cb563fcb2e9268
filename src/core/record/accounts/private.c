#include "core/record/accounts/private.h"
#include "base/list.h"
#include "core/record/record.h"
#include "model/job/owner.h"

static bool is_self(const struct peer *peer, const char *user)
{
    return peer && peer->user && user && text_is(peer->user, user);
}

bool may_see_job(const struct core *c, const struct peer *peer, const struct job *j)
{
    return !c->settings.word.private_jobs || (peer && job_is_of(j, peer->uid, peer->user)) ||
           peer_operates(c, peer) || peer_coordinates(c, peer, j->spec.req.account);
}

bool may_see_nodes(const struct core *c, const struct peer *peer)
{
    return !c->settings.word.private_nodes || peer_operates(c, peer);
}

bool may_see_partitions(const struct core *c, const struct peer *peer)
{
    return !c->settings.word.private_partitions || peer_operates(c, peer);
}

/* Does one of the user's accounts fit? */
static bool any_account(const struct core *c, const char *user,
                        bool (*fits)(const struct core *c, const void *ctx, const char *account),
                        const void *ctx)
{
    struct map_walk w = {0};
    while (user && map_u64_next(c->accounts.assoc, &w)) {
        const struct assoc *a = &((const struct assocrec *)w.value)->a;
        if (!a->deleted && a->user && text_is(a->user, user) && fits(c, ctx, a->account))
            return true;
    }
    return false;
}

/* A user's accounts are looked for once, and not for each of a thousand reservations. */
struct resv_sight resv_sight_open(const struct core *c, const struct peer *peer)
{
    struct resv_sight s = {.peer = peer,
                           .all = !c->settings.word.private_reservations || peer_operates(c, peer)};
    struct map_walk w = {0};
    while (!s.all && peer && peer->user && map_u64_next(c->accounts.assoc, &w)) {
        const struct assoc *a = &((const struct assocrec *)w.value)->a;
        if (!a->deleted && a->user && text_is(a->user, peer->user))
            vec_push(&s.account, a->account);
    }
    return s;
}

void resv_sight_close(struct resv_sight *s)
{
    vec_done(&s->account);
}

bool may_see_reservation(const struct resv_sight *s, const struct reservation *r)
{
    const struct peer *peer = s->peer;
    bool sees = s->all || (peer && resv_admits(r, peer->user, peer->groups, NULL));
    for (size_t i = 0; i < s->account.n && !sees; i++)
        sees = resv_admits(r, peer->user, peer->groups, s->account.v[i]);
    return sees;
}

static bool coordinated(const struct core *c, const void *ctx, const char *account)
{
    return peer_coordinates(c, ctx, account);
}

bool may_see_user(const struct core *c, const struct peer *peer, const char *user,
                  const char *account)
{
    if (!c->settings.word.private_users || is_self(peer, user) || peer_operates(c, peer))
        return true;
    return account ? peer_coordinates(c, peer, account) : any_account(c, user, coordinated, peer);
}

/* Members know their account and those above it. */
static bool below(const struct core *c, const void *ctx, const char *account)
{
    const struct assocrec *r = assoc_find(c, account, NULL, NULL),
                          *above = assoc_find(c, ctx, NULL, NULL);
    return r && above && assoc_is_under(r, above);
}

bool may_see_account(const struct core *c, const struct peer *peer, const char *account)
{
    if (!c->settings.word.private_accounts || peer_operates(c, peer) ||
        peer_coordinates(c, peer, account))
        return true;
    return peer && any_account(c, peer->user, below, account);
}

bool may_see_usage(const struct core *c, const struct peer *peer, const char *user,
                   const char *account)
{
    return !c->settings.word.private_usage || is_self(peer, user) || peer_operates(c, peer) ||
           peer_coordinates(c, peer, account);
}

bool may_see_rights(const struct core *c, const struct peer *peer, const char *user)
{
    bool private = c->settings.word.private_users || c->settings.word.private_accounts;
    return !private || is_self(peer, user) || peer_operates(c, peer) ||
           any_account(c, user, coordinated, peer);
}

bool may_see_transactions(const struct core *c, const struct peer *peer)
{
    return (!c->settings.word.private_users && !c->settings.word.private_accounts) ||
           peer_operates(c, peer);
}

/* ---- for the shell -------------------------------------------------------------------------- */

static const char *coordinated_accounts(const struct core *c, const struct peer *peer,
                                        struct arena *a)
{
    struct map_walk w = {0};
    struct str names = STR_INIT;
    while (map_str_next(c->accounts.account, &w)) {
        const struct account *account = w.value;
        if (peer_coordinates(c, peer, account->name))
            list_addf(&names, "%s", account->name);
    }
    const char *text = names.len ? arena_strdup(a, str_text(&names)) : NULL;
    str_done(&names);
    return text;
}

void core_sight_of(const struct core *c, const struct peer *peer, struct arena *a,
                   struct core_sight *ret)
{
    const struct setting_words *word = &c->settings.word;
    bool operates = peer_operates(c, peer);
    *ret = (struct core_sight){.operates = operates,
                               .jobs = operates || !word->private_jobs,
                               .usage = operates || !word->private_usage,
                               .transactions = may_see_transactions(c, peer),
                               .events = operates || !word->private_events,
                               .past_reservations = operates || !word->private_reservations,
                               .users = operates || !word->private_users};
    if (!ret->jobs || !ret->usage)
        ret->accounts = coordinated_accounts(c, peer, a);
}
