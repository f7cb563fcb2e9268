/* sshare: who used how much, and what fair share makes of it. */
#include "cli/listing/sshare.h"
#include "base/alloc.h"
#include "base/duration.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/table/json_slurm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- columns -------------------------------------------------------------------------------- */

#define CELL(name)                                                                                 \
    static void cell_##name(const struct cell_env *env, const void *record, struct str *out)

static void millionths_add(int64_t millionths, struct str *out)
{
    str_addf(out, "%lld.%06lld", (long long)(millionths / 1000000),
             (long long)(millionths % 1000000));
}

static void part_add(int64_t part, struct str *out)
{
    millionths_add((part + SHARE_ONE / 2000000) / (SHARE_ONE / 1000000), out);
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
    if (l->shares < 0)
        str_add(out, "parent");
    else if (!l->is_root)
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
    if (!l->is_root)
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
    bool of_tree = l->fair < 0; /* without the tree the root has a factor, too */
    if ((l->is_root && of_tree) || l->level_e6 == LEVEL_NONE)
        return;
    if (l->level_e6 == LEVEL_INFINITE)
        str_add(out, "inf");
    else
        millionths_add(l->level_e6, out);
}

CELL(partition)
{
    str_add(out, ((const struct share_line *)record)->partition);
}

CELL(id)
{
    const struct share_line *l = record;
    if (l->id)
        str_addf(out, "%u", l->id);
}

CELL(limits)
{
    str_add(out, ((const struct share_line *)record)->limits);
}

CELL(used)
{
    str_add(out, ((const struct share_line *)record)->used);
}

CELL(promised)
{
    str_add(out, ((const struct share_line *)record)->promised);
}

CELL(cluster)
{
    (void)record;
    str_add(out, env->cluster ? env->cluster : "");
}

// clang-format off
static const struct column share_column[] = {
    {"Account", 0, NULL, -20, "", cell_account},        {"Cluster", 0, NULL, 10, "", cell_cluster},      {"EffectvUsage", CUT_EXPONENT, NULL, 13, "", cell_effective},
    {"FairShare", CUT_EXPONENT, NULL, 10, "", cell_fairshare},     {"GrpTRESMins", 0, NULL, 30, "", cell_limits},  {"GrpTRESRaw", 0, NULL, 30, "", cell_used},
    {"ID", CUT_NEVER, NULL, 6, "", cell_id},               {"LevelFS", CUT_EXPONENT, NULL, 10, "", cell_level},        {"NormShares", CUT_EXPONENT, NULL, 11, "", cell_norm_shares},
    {"NormUsage", CUT_EXPONENT, NULL, 11, "", cell_norm_usage},    {"Partition", 0, NULL, 12, "", cell_partition},    {"RawShares", CUT_NEVER, NULL, 10, "", cell_raw_shares},
    {"RawUsage", CUT_NEVER, NULL, 11, "", cell_raw_usage},      {"TRESRunMins", 0, NULL, 30, "", cell_promised},  {"User", 0, NULL, 10, "", cell_user},
};
// clang-format on
static const struct column_table share_columns = {share_column, ARRAY_LEN(share_column), "share",
                                                  NULL};

#define FORMAT_DEFAULT "Account,User,RawShares,NormShares,RawUsage,EffectvUsage,FairShare"
#define FORMAT_LONG                                                                                \
    "Account,User,RawShares,NormShares,RawUsage,NormUsage,EffectvUsage,FairShare,LevelFS,"         \
    "GrpTRESMins,"                                                                                 \
    "TRESRunMins"
#define FORMAT_LONG_CLASSIC                                                                        \
    "Account,User,RawShares,NormShares,RawUsage,NormUsage,EffectvUsage,FairShare,GrpTRESMins,"     \
    "TRESRunMins"

/* ---- options -------------------------------------------------------------------------------- */

#define AT(member) offsetof(struct sshare, member)
static const struct option_row option_rows[] = {
    OPT_VALUE("accounts", 'A', "accounts", "these accounts", set_any_text, AT(query.accounts)),
    OPT_FLAG("all", 'a', "all users, not only yourself", AT(all)),
    LISTING_CLUSTERS_GIVEN(.env = {NULL}),
    OPT_VALUE("format", 'o', "columns", "columns by name: account%-30,user,fairshare",
              listing_set_format, 0),
    LISTING_HELP(0),
    OPT_ACCEPTED("helpformat", 'e', ARG_NONE, "the names of the columns"),
    LISTING_JSON,
    LISTING_LONG("more columns"),
    {.name = "no-header",
     .letter = 'h',
     .doc = "the same as -n",
     .set = set_flag,
     .at = offsetof(struct sshare, l.noheader),
     .hidden = true},
    LISTING_NOHEADER('n', "no header lines"),
    LISTING_PARSABLE("cells between '|', with one at the end"),
    LISTING_PARSABLE2("cells between '|'"),
    OPT_FLAG("partition", 'm', "the partition of associations that are of one", AT(partitions)),
    LISTING_USAGE,
    OPT_VALUE("users", 'u', "users", "these users", set_any_text, AT(users)),
    OPT_FLAG("Users", 'U', "users only, not their accounts", AT(users_only)),
    LISTING_VERBOSE,
    LISTING_VERSION,
    LISTING_YAML,
};
OPTION_TABLE(sshare_options, option_rows, .usage = "sshare [OPTION]", .variables_as_are = true);

/* ---- showing -------------------------------------------------------------------------------- */

/* Of millionths. */
static void json_part(struct json_out *j, const char *key, bool set, int64_t millionths)
{
    json_key(j, key);
    json_object(j);
    json_key_bool(j, "set", set);
    json_key_bool(j, "infinite", false);
    json_key(j, "number");
    json_double(j, set ? (double)millionths / 1000000 : 0);
    json_object_end(j);
}

/* "cpu=100,gres/gpu=2" as a list of {name, value}; of decayed use the value is a plain number. */
static void json_tres(struct json_out *j, const char *key, const char *list, int64_t times,
                      bool plain, struct arena *a)
{
    struct span rest = span_of(list ? list : ""), piece;
    json_key(j, key);
    json_array(j);
    while (span_next(&rest, ',', &piece)) {
        const char *name = arena_strndup(a, piece.data, piece.len);
        const char *equals = strchr(name, '=');
        int64_t value = 0;
        if (!equals || (!text_to_i64(equals + 1, 0, INT64_MAX / 60, &value) &&
                        !size_parse_mib(equals + 1, &value, NULL)))
            continue;
        json_object(j);
        json_key_text(j, "name", arena_strndup(a, name, (size_t)(equals - name)));
        if (plain)
            json_key_i64(j, "value", value);
        else
            json_key_number(j, "value", true, value * times);
        json_object_end(j);
    }
    json_array_end(j);
}

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
        json_key_text(&j, "cluster", cluster_name(state_dir_find(NULL, s->l.a), s->l.a));
        json_key_text(&j, "name", l->user ? l->user : l->account);
        json_key_text(&j, "parent", l->user ? l->account : l->parent ? l->parent : "");
        json_key_i64(&j, "id", l->id);
        json_key_text(&j, "partition", l->partition ? l->partition : "");
        json_key_words(&j, "type", l->user ? "USER" : "ASSOCIATION", NULL);
        json_key_number(&j, "shares", l->shares >= 0 && !l->is_root, l->shares);
        json_part(&j, "shares_normalized", true, l->norm / (SHARE_ONE / 1000000));
        json_key_i64(&j, "usage", l->usage / 1000);
        json_part(&j, "usage_normalized", !l->is_root, l->norm_usage / (SHARE_ONE / 1000000));
        json_part(&j, "effective_usage", true, l->effective / (SHARE_ONE / 1000000));
        json_key(&j, "fairshare");
        json_object(&j);
        json_part(&j, "factor", l->fair >= 0, l->fair / (SHARE_ONE / 1000000));
        json_part(&j, "level", !l->is_root && l->level_e6 >= 0, l->level_e6);
        json_object_end(&j);
        json_key(&j, "tres");
        json_object(&j);
        json_tres(&j, "run_seconds", l->promised, 60, false, s->l.a);
        json_tres(&j, "group_minutes", l->limits, 1, false, s->l.a);
        json_tres(&j, "usage", l->used, 1, true, s->l.a);
        json_object_end(&j);
        json_object_end(&j);
    }
    json_array_end(&j);
    json_key_i64(&j, "total_shares", (int64_t)s->line.n);
    json_object_end(&j);
    json_slurm_end(&j, s->l.json);
}

static bool format_take(struct sshare *s, struct err *ret_err)
{
    struct listing *l = &s->l;
    const char *text = l->format_text            ? l->format_text
                       : l->longer && s->classic ? FORMAT_LONG_CLASSIC
                       : l->longer               ? FORMAT_LONG
                                                 : FORMAT_DEFAULT;
    if (s->partitions && !l->format_text)
        text = arena_printf(l->a, "Account,User,Partition%s", text + strlen("Account,User"));
    vec_clear(&l->format.item); /* it may be the second time */
    return format_parse_fields(&share_columns, text, l->a, &l->format, ret_err);
}

static bool prepare(void *ctx, struct err *ret_err)
{
    return format_take(ctx, ret_err);
}

static bool show(void *ctx, struct client *c, struct err *ret_err)
{
    struct sshare *s = ctx;
    if (!share_lines_make(s, c, ret_err))
        return false;
    if (s->classic && s->l.longer && !format_take(s, ret_err))
        return false;
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
