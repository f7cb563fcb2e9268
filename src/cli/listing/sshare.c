/* sshare: who used how much, and what fair share makes of it. Until accounts are managed, an
 * account is what jobs named; shares are equal. */
#include "base/alloc.h"
#include "cli/program/commands.h"
#include "cli/table/json_slurm.h"
#include "cli/table/listing.h"
#include "cli/table/listing_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A line: the root, an account, or a user below one of them. */
struct share_line {
    const char *account, *user; /* user NULL = the account itself */
    int depth;
    int64_t shares, usage, norm, norm_usage, effective, level,
        fair; /* parts in FACTOR_ONE-ths; fair < 0: accounts have none; level < 0: no use */
};

struct sshare {
    struct listing l;
    struct msg_query query;
    bool all, users_only, partitions;
    const char *uids;
    VEC(struct usage *) usage;
    VEC(struct share_line) line;
};

/* ---- columns -------------------------------------------------------------------------------- */

#define CELL(name)                                                                                 \
    static void cell_##name(const struct cell_env *env, const void *record, struct str *out)

static void part_add(int64_t factor, struct str *out)
{
    int64_t millionths = (factor * 1000000 + FACTOR_ONE / 2) / FACTOR_ONE;
    str_addf(out, "%lld.%06lld", (long long)(millionths / 1000000),
             (long long)(millionths % 1000000));
}

CELL(account)
{
    const struct share_line *l = record;
    str_addf(out, "%*s%s", l->depth, "", l->account);
}

CELL(user)
{
    const struct share_line *l = record;
    str_add(out, l->user ? l->user : "");
}

CELL(raw_shares)
{
    const struct share_line *l = record;
    if (l->shares)
        str_add_i64(out, l->shares);
}

CELL(norm_shares)
{
    const struct share_line *l = record;
    part_add(l->norm, out);
}

CELL(raw_usage)
{
    const struct share_line *l = record;
    str_add_i64(out, l->usage / 1000);
}

CELL(norm_usage)
{
    const struct share_line *l = record;
    if (l->shares)
        part_add(l->norm_usage, out);
}

CELL(effective)
{
    const struct share_line *l = record;
    part_add(l->effective, out);
}

CELL(fairshare)
{
    const struct share_line *l = record;
    if (l->fair >= 0)
        part_add(l->fair, out);
}

CELL(level)
{
    const struct share_line *l = record;
    if (!l->shares)
        return;
    if (l->level < 0)
        str_add(out, "inf");
    else
        part_add(l->level, out);
}

CELL(nothing)
{
    (void)env;
    (void)record;
    (void)out;
}

CELL(cluster)
{
    (void)record;
    str_add(out, env->cluster ? env->cluster : "");
}

// clang-format off
static const struct column share_column[] = {
    {"Account", 0, NULL, -20, "", cell_account},        {"Cluster", 0, NULL, 10, "", cell_cluster},      {"EffectvUsage", 0, NULL, 13, "", cell_effective},
    {"FairShare", 0, NULL, 10, "", cell_fairshare},     {"GrpTRESMins", 0, NULL, 30, "", cell_nothing},  {"GrpTRESRaw", 0, NULL, 30, "", cell_nothing},
    {"ID", 0, NULL, 6, "", cell_nothing},               {"LevelFS", 0, NULL, 10, "", cell_level},        {"NormShares", 0, NULL, 11, "", cell_norm_shares},
    {"NormUsage", 0, NULL, 11, "", cell_norm_usage},    {"Partition", 0, NULL, 12, "", cell_nothing},    {"RawShares", 0, NULL, 10, "", cell_raw_shares},
    {"RawUsage", 0, NULL, 11, "", cell_raw_usage},      {"TRESRunMins", 0, NULL, 30, "", cell_nothing},  {"User", 0, NULL, 10, "", cell_user},
};
// clang-format on
static const struct column_table share_columns = {share_column, ARRAY_LEN(share_column), "share",
                                                  NULL};

#define FORMAT_DEFAULT "Account,User,RawShares,NormShares,RawUsage,EffectvUsage,FairShare"
#define FORMAT_LONG                                                                                \
    "Account,User,RawShares,NormShares,RawUsage,NormUsage,EffectvUsage,FairShare,LevelFS,"         \
    "GrpTRESMins,"                                                                                 \
    "TRESRunMins"

/* ---- options -------------------------------------------------------------------------------- */

static SETTER(set_users)
{
    struct sshare *s = to;
    struct err unknown = {0};
    if (!listing_uids(value, a, &s->uids, &unknown))
        s->uids = ""; /* nobody's, as in Slurm */
    return true;
}

#define AT(member) offsetof(struct sshare, member)
static const struct option_row option_rows[] = {
    OPT_VALUE("accounts", 'A', "accounts", "these accounts", set_any_text, AT(query.accounts)),
    OPT_FLAG("all", 'a', "all users, not only yourself", AT(all)),
    LISTING_CLUSTERS_GIVEN(.env = {NULL}),
    OPT_VALUE("format", 'o', "columns", "columns by name: account%-30,user,fairshare",
              listing_set_format, 0),
    LISTING_HELP('h'),
    OPT_ACCEPTED("helpformat", 'e', ARG_NONE, "the names of the columns"),
    LISTING_JSON,
    LISTING_LONG("more columns"),
    LISTING_NOHEADER('n', "no header lines"),
    LISTING_PARSABLE("cells between '|', with one at the end"),
    LISTING_PARSABLE2("cells between '|'"),
    OPT_FLAG("partition", 'm', "associations of partitions: there are none", AT(partitions)),
    LISTING_USAGE,
    OPT_VALUE("users", 'u', "users", "these users", set_users, 0),
    OPT_FLAG("Users", 'U', "users only, not their accounts", AT(users_only)),
    LISTING_VERBOSE,
    LISTING_VERSION,
    LISTING_YAML,
};
OPTION_TABLE(sshare_options, option_rows, .usage = "sshare [OPTION]", .variables_as_are = true);

/* ---- the tree ------------------------------------------------------------------------------- */

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

/* Equal shares: normalised share over effective use. */
static int64_t level_of(int64_t norm, int64_t effective)
{
    return effective > 0 ? norm * FACTOR_ONE / effective : -1;
}

static bool same_account(const struct usage *a, const struct usage *b)
{
    return a->account && b->account && strcmp(a->account, b->account) == 0;
}

struct sums {
    int64_t usage;
    size_t siblings, members;
};

/* An account is what somebody wrote after -A: that it was used makes it one. A job that only named
 * it does not. */
static bool is_account(const struct usage *u)
{
    return !u->account || u->usage > 0;
}

static struct sums sums_of(const struct sshare *s, const struct usage *of)
{
    struct sums sums = {0};
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

static bool user_wanted(const struct sshare *s, const struct usage *u)
{
    struct str uid = STR_INIT;
    str_addf(&uid, "%u", s->uids ? u->user_id : (unsigned)getuid());
    bool wanted = s->uids ? listing_has(s->uids, str_text(&uid)) : s->all || u->user_id == getuid();
    str_done(&uid);
    return wanted;
}

static void lines_make(struct sshare *s)
{
    struct sums root = sums_of(s, NULL);
    struct share_line top = {
        .account = "root", .usage = root.usage, .effective = FACTOR_ONE, .fair = -1};
    if (!s->users_only)
        vec_push(&s->line, top);
    for (size_t i = 0; i < s->usage.n; i++) {
        const struct usage *u = s->usage.v[i];
        struct sums own =
            u->account ? sums_of(s, u) : (struct sums){root.usage, root.siblings, root.siblings};
        int64_t share = root.siblings ? FACTOR_ONE / (int64_t)root.siblings : 0;
        if (u->account && is_account(u) && !s->users_only &&
            (i == 0 || !same_account(u, s->usage.v[i - 1]))) {
            int64_t used = part_of(own.usage, root.usage);
            struct share_line account = {.account = u->account,
                                         .depth = 1,
                                         .shares = 1,
                                         .usage = own.usage,
                                         .norm = share,
                                         .norm_usage = used,
                                         .effective = used,
                                         .level = level_of(share, used),
                                         .fair = -1};
            vec_push(&s->line, account);
        }
        if (!user_wanted(s, u) || !is_account(u))
            continue;
        struct share_line one = {.account = u->account ? u->account : "root",
                                 .user = u->user_name ? u->user_name : u->who,
                                 .depth = u->account ? 2 : 1,
                                 .shares = 1,
                                 .usage = u->usage,
                                 .fair = u->fairshare};
        one.norm = FACTOR_ONE / (int64_t)own.members;
        one.norm_usage = u->norm_usage;
        one.effective = part_of(u->usage, own.usage);
        one.level = level_of(one.norm, one.effective);
        one.depth = s->users_only ? 0 : one.depth;
        vec_push(&s->line, one);
    }
}

/* ---- showing -------------------------------------------------------------------------------- */

static void json_print(const struct sshare *s)
{
    struct json_out j;
    struct str out = STR_INIT;
    json_slurm_begin(&j, &out, "sshare");
    json_key(&j, "shares");
    json_object(&j);
    json_key(&j, "shares");
    json_array(&j);
    for (size_t i = 0; i < s->line.n; i++) {
        const struct share_line *l = &s->line.v[i];
        json_object(&j);
        json_key_text(&j, "name", l->user ? l->user : l->account);
        json_key_text(&j, "parent", l->user ? l->account : l->depth ? "root" : "");
        json_key_words(&j, "type", l->user ? "USER" : "ASSOCIATION", NULL);
        json_key_number(&j, "shares", l->shares > 0, l->shares);
        json_key_i64(&j, "usage", l->usage / 1000);
        json_object_end(&j);
    }
    json_array_end(&j);
    json_key_i64(&j, "total_shares", (int64_t)s->line.n);
    json_object_end(&j);
    json_slurm_end(&j);
}

static bool prepare(void *ctx, struct err *ret_err)
{
    struct listing *l = &((struct sshare *)ctx)->l;
    const char *text = l->format_text ? l->format_text : l->longer ? FORMAT_LONG : FORMAT_DEFAULT;
    if (((struct sshare *)ctx)->partitions && !l->format_text)
        text = arena_printf(l->a, "Account,User,Partition%s", text + strlen("Account,User"));
    return format_parse_fields(&share_columns, text, l->a, &l->format, ret_err);
}

static bool show(void *ctx, struct client *c, struct err *ret_err)
{
    struct sshare *s = ctx;
    struct msg_done done = {0};
    s->query.what = QUERY_SHARES;
    if (!client_query(c, &s->query, &usage_fields, s->l.a, usage_keep, s, &done, ret_err))
        return false;
    lines_make(s);
    if (s->l.json) {
        json_print(s);
        return true;
    }
    listing_begin(&s->l);
    for (size_t i = 0; i < s->line.n; i++)
        listing_row(&s->l, &s->line.v[i]);
    listing_end(&s->l);
    return true;
}

static void formats_print(void)
{
    for (size_t i = 0; i < ARRAY_LEN(share_column); i++)
        printf("%-17s%s", share_column[i].name,
               i % 4 == 3 || i + 1 == ARRAY_LEN(share_column) ? "\n" : " ");
}

static const struct listing_command command = {
    .name = "sshare",
    .options = &sshare_options,
    .away = 255,
    .ruled = true,
    .headed = true,
    .prepare = prepare,
    .show = show,
    .formats = formats_print,
};

int cmd_sshare(int argc, char **argv)
{
    struct sshare s = {0};
    int status = listing_main(&s.l, &command, &s, argc, argv);
    vec_done(&s.usage);
    vec_done(&s.line);
    listing_done(&s.l);
    return status;
}
