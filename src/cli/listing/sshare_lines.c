/* The lines of sshare: associations, or, where nobody keeps accounts, what jobs named after -A,
 * with equal shares. */
#include "base/alloc.h"
#include "base/list.h"
#include "cli/listing/sshare.h"
#include "cli/program/room.h"
#include "io/client/client.h"

#include <string.h>
#include <unistd.h>

/* ---- without accounts ----------------------------------------------------------------------- */

/* The account root is the root of the tree: what was used under its name is added to its users'. */
static void usage_keep(void *ctx, const void *record)
{
    struct sshare *s = ctx;
    struct usage *u = arena_dup(s->l.a, record, sizeof *u);
    if (text_is(u->account, "root"))
        u->account = NULL;
    for (size_t i = 0; !u->account && i < s->usage.n; i++)
        if (!s->usage.v[i]->account && s->usage.v[i]->user_id == u->user_id) {
            s->usage.v[i]->usage += u->usage;
            s->usage.v[i]->norm_usage += u->norm_usage;
            return;
        }
    vec_push(&s->usage, u);
}

static int64_t part_of(int64_t part, int64_t whole)
{
    while (whole > INT64_C(1) << 40) {
        part >>= 1;
        whole >>= 1;
    }
    return whole > 0 ? part * FACTOR_ONE / whole : 0;
}

/* Equal shares: normalised share over effective use, in millionths. */
static int64_t level_of(int64_t norm, int64_t effective)
{
    return effective > 0 ? norm * 1000000 / effective : LEVEL_INFINITE;
}

/* From FACTOR_ONE-ths. */
static int64_t finer(int64_t part)
{
    return part * (SHARE_ONE / 1000000) / FACTOR_ONE * 1000000 +
           part * (SHARE_ONE / 1000000) % FACTOR_ONE * 1000000 / FACTOR_ONE;
}

static bool same_account(const struct usage *a, const struct usage *b)
{
    return a->account && b->account && strcmp(a->account, b->account) == 0;
}

struct share_sums {
    int64_t usage;
    size_t siblings, members;
};

/* An account is what somebody wrote after -A: that it was used makes it one. A job that only named
 * it does not. */
static bool is_account(const struct usage *u)
{
    return !u->account || u->usage > 0;
}

static struct share_sums sums_of(const struct sshare *s, const struct usage *of)
{
    struct share_sums sums = {0};
    const struct usage *last = NULL; /* rows come by account */
    for (size_t i = 0; i < s->usage.n; i++) {
        const struct usage *u = s->usage.v[i];
        if (!is_account(u))
            continue;
        sums.siblings += !last || !same_account(u, last);
        last = u;
        if (!of || same_account(u, of)) {
            sums.usage += u->usage;
            sums.members++;
        }
    }
    return sums;
}

/* Users are named, or given by their numbers. */
static bool user_wanted(const struct sshare *s, const char *name, bool known, uint32_t uid)
{
    struct span rest = span_of(s->users ? s->users : ""), piece;
    if (text_empty(s->users))
        return s->all || (known ? uid == getuid() : text_is(s->own, name));
    while (span_next(&rest, ',', &piece)) {
        char text[256] = "";
        uint64_t number;
        piece = span_trim(piece);
        memcpy(text, piece.data, piece.len < sizeof text ? piece.len : sizeof text - 1);
        if (text_is(text, name))
            return true;
        const struct passwd *of = text_to_u64(text, UINT32_MAX, &number)
                                      ? user_by_uid((uid_t)number)
                                  : known ? user_by_name(text)
                                          : NULL;
        if (of && (known ? of->pw_uid == uid : text_is(of->pw_name, name)))
            return true;
    }
    return false;
}

static void lines_make(struct sshare *s)
{
    struct share_sums root = sums_of(s, NULL);
    struct share_line top = {.account = "root",
                             .is_root = true,
                             .usage = root.usage,
                             .effective = SHARE_ONE,
                             .fair = -1};
    if (!s->users_only && (!s->query.accounts || list_has_nocase(s->query.accounts, "root")))
        vec_push(&s->line, top);
    for (size_t i = 0; i < s->usage.n; i++) {
        const struct usage *u = s->usage.v[i];
        struct share_sums own = u->account
                                    ? sums_of(s, u)
                                    : (struct share_sums){root.usage, root.siblings, root.siblings};
        int64_t share = root.siblings ? FACTOR_ONE / (int64_t)root.siblings : 0;
        if (u->account && is_account(u) && !s->users_only &&
            (i == 0 || !same_account(u, s->usage.v[i - 1]))) {
            int64_t used = part_of(own.usage, root.usage);
            struct share_line account = {.account = u->account,
                                         .depth = 1,
                                         .shares = 1,
                                         .usage = own.usage,
                                         .norm = finer(share),
                                         .norm_usage = finer(used),
                                         .effective = finer(used),
                                         .level_e6 = level_of(share, used),
                                         .fair = -1};
            vec_push(&s->line, account);
        }
        if (!user_wanted(s, u->user_name ? u->user_name : "", true, u->user_id) || !is_account(u))
            continue;
        struct share_line one = {.account = u->account ? u->account : "root",
                                 .user = u->user_name ? u->user_name : u->who,
                                 .depth = u->account ? 2 : 1,
                                 .shares = 1,
                                 .usage = u->usage,
                                 .fair = finer(u->fairshare)};
        int64_t norm = FACTOR_ONE / (int64_t)own.members, effective = part_of(u->usage, own.usage);
        one.norm = finer(norm);
        one.norm_usage = finer(u->norm_usage);
        one.effective = finer(effective);
        one.level_e6 = level_of(norm, effective);
        one.depth = s->users_only ? 0 : one.depth;
        vec_push(&s->line, one);
    }
}

/* ---- associations --------------------------------------------------------------------------- */

#define DEPTH_MOST 64

struct share_tree {
    struct sshare *s;
    int shown[DEPTH_MOST + 1]; /* by depth: accounts that have a line, on the way here */
    bool any;
};

/* Once, not for each of a hundred thousand associations. */
static void own_find(struct sshare *s)
{
    const struct passwd *own = user_by_uid(getuid());
    s->own = own ? arena_strdup(s->l.a, own->pw_name) : "";
}

static void assoc_keep(void *ctx, const void *record)
{
    struct share_tree *t = ctx;
    struct sshare *s = t->s;
    const struct fair_share *f = record;
    uint32_t depth = f->depth < DEPTH_MOST ? f->depth : DEPTH_MOST - 1;
    bool wanted = !s->query.accounts || list_has_nocase(s->query.accounts, f->account);
    if (!t->any)
        own_find(s);
    t->any = true;
    if (f->depth == 0)
        s->classic = f->factor >= 0;
    wanted &= f->user ? user_wanted(s, f->user, false, 0) : !s->users_only;
    t->shown[depth + 1] = t->shown[depth] + (wanted && !f->user);
    if (!wanted)
        return;
    struct share_line one = {.account = arena_strdup(s->l.a, f->account),
                             .user = arena_strdup(s->l.a, f->user),
                             .partition = arena_strdup(s->l.a, f->partition),
                             .parent = arena_strdup(s->l.a, f->parent),
                             .id = f->assoc_id,
                             .depth = t->shown[depth],
                             .is_root = f->depth == 0,
                             .shares = f->shares,
                             .usage = f->usage,
                             .norm = f->norm_shares,
                             .norm_usage = f->norm_usage,
                             .effective = f->effective,
                             .fair = f->factor,
                             .level_e6 = f->level_e6,
                             .limits = arena_strdup(s->l.a, f->limits),
                             .used = arena_strdup(s->l.a, f->used),
                             .promised = arena_strdup(s->l.a, f->promised)};
    vec_push(&s->line, one);
}

bool share_lines_make(struct sshare *s, struct client *c, struct err *ret_err)
{
    struct msg_done done = {0};
    struct share_tree t = {.s = s};
    struct msg_query q = {.what = QUERY_FAIR_SHARES};
    if (!client_query(c, &q, &fair_share_fields, s->l.a, assoc_keep, &t, &done, ret_err))
        return false;
    if (t.any)
        return true;
    s->query.what = QUERY_SHARES;
    if (!client_query(c, &s->query, &usage_fields, s->l.a, usage_keep, s, &done, ret_err))
        return false;
    lines_make(s);
    return true;
}
