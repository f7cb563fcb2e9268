/* sacctmgr dump and load: Slurm's flat file. A line is a record:
 *
 *   Cluster - 'c':Fairshare=1:QOS='normal'     the root of the tree
 *   Parent - 'root'                            what follows stands below this account
 *   Account - 'physics':Description='…':…
 *   User - 'ann':Partition='debug':DefaultAccount='physics':…
 *
 * Quotes keep ':' and '='. What is loaded is laid beside what is there; `clean` takes all accounts
 * and users away first, in the same request. */
#include "cli/accounts/accounts.h"
#include "cli/program/give_out.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char head[] =
    "# sacctmgr load FILE reads this. A line is a cluster, an account or a user; Parent names the\n"
    "# account that the lines below it belong to. What a line leaves out stays as it is.\n"
    "# Account - 'ai':Description='Machine "
    "learning':Organization='cs':GrpTRES=gres/gpu=8:MaxJobs=4\n"
    "# User - 'ann':DefaultAccount='ai':MaxJobs=2\n";

/* In the order Slurm writes them. */
static const struct {
    enum resource_limit limit;
    const char *word;
} dumped[] = {
    {LIMIT_GRP_TRES_MINS, "GrpTRESMins"},
    {LIMIT_GRP_TRES_RUN_MINS, "GrpTRESRunMins"},
    {LIMIT_GRP_TRES, "GrpTRES"},
    {LIMIT_GRP_JOBS, "GrpJobs"},
    {LIMIT_GRP_JOBS_ACCRUE, "GrpJobsAccrue"},
    {LIMIT_GRP_SUBMIT, "GrpSubmitJobs"},
    {LIMIT_GRP_WALL, "GrpWall"},
    {LIMIT_MAX_TRES_MINS, "MaxTRESMinsPerJob"},
    {LIMIT_MAX_TRES, "MaxTRESPerJob"},
    {LIMIT_MAX_TRES_PER_NODE, "MaxTRESPerNode"},
    {LIMIT_MAX_JOBS, "MaxJobs"},
    {LIMIT_MAX_JOBS_ACCRUE, "MaxJobsAccrue"},
    {LIMIT_MAX_SUBMIT, "MaxSubmitJobs"},
    {LIMIT_MAX_WALL, "MaxWallDurationPerJob"},
    {LIMIT_MIN_PRIO, "MinPrioThresh"},
};

/* A text between quotes; one of its own becomes a backtick, as in Slurm. */
static void quoted(struct str *out, const char *key, const char *value)
{
    str_addf(out, ":%s='", key);
    for (const char *p = value; *p; p++)
        str_addc(out, *p == '\'' ? '`' : *p == '\n' ? ' ' : *p);
    str_addc(out, '\'');
}

static void signed_words(struct str *out, char sign, const char *list)
{
    struct span rest = span_of(list ? list : ""), piece;
    while (span_next(&rest, ',', &piece))
        if (piece.len)
            str_addf(out, "%s%c%.*s", out->len ? "," : "", sign, (int)piece.len, piece.data);
}

static void limit_dump(const struct assoc_view *v, size_t i, struct str *line)
{
    struct str value = STR_INIT;
    const struct limit *l = owner_limit(&v->owner, dumped[i].limit, NULL);
    if (l && resource_limit_table[l->what].unit == UNIT_MINUTES)
        str_add_i64(&value, l->value);
    else
        owner_limit_say(&v->owner, dumped[i].limit, false, &value);
    if (strchr(str_text(&value), '@')) /* hours have colons */
        quoted(line, dumped[i].word, str_text(&value));
    else if (value.len)
        str_addf(line, ":%s=%s", dumped[i].word, str_text(&value));
    str_done(&value);
}

static void assoc_dump(const struct assoc_view *v, struct str *line)
{
    const struct assoc *a = v->a;
    struct str qos = STR_INIT;
    if (a->default_qos)
        quoted(line, "DefaultQOS", a->default_qos);
    if (a->shares == SHARES_PARENT)
        str_add(line, ":Fairshare=" PARENT_SHARES);
    else
        str_addf(line, ":Fairshare=%d", assoc_shares(a));
    for (size_t i = 0; i < sizeof dumped / sizeof dumped[0]; i++)
        limit_dump(v, i, line);
    if (a->priority_plus1)
        str_addf(line, ":Priority=%u", a->priority_plus1 - 1);
    struct arena *arena = arena_new();
    str_add(&qos, names_sorted(a->qos, arena));
    arena_free(arena);
    signed_words(&qos, '+', a->qos_more);
    signed_words(&qos, '-', a->qos_less);
    if (qos.len)
        quoted(line, "QOS", str_text(&qos));
    if (a->comment)
        quoted(line, "Comment", a->comment);
    str_done(&qos);
}

static void coordinator_dump(const struct book *b, const char *user, struct str *line)
{
    struct str of = STR_INIT;
    for (size_t i = 0; i < b->account.n; i++)
        if (!b->account.v[i]->deleted && !text_empty(b->account.v[i]->coordinators) &&
            specs_match(b->account.v[i]->coordinators, user))
            str_addf(&of, "%s%s", of.len ? "," : "", b->account.v[i]->name);
    if (of.len)
        quoted(line, "Coordinator", str_text(&of));
    str_done(&of);
}

static void user_dump(const struct book *b, const struct assoc_view *v, struct str *line)
{
    const struct account_user *u = book_user(b, v->a->user);
    str_addf(line, "User - '%s'", v->a->user);
    if (v->a->partition)
        quoted(line, "Partition", v->a->partition);
    if (u && u->default_account)
        quoted(line, "DefaultAccount", u->default_account);
    if (u && u->default_wckey)
        quoted(line, "DefaultWCKey", u->default_wckey);
    if (u && u->admin_level)
        quoted(line, "AdminLevel", enum_name(&admin_level_names, u->admin_level));
    if (u)
        coordinator_dump(b, u->name, line);
    assoc_dump(v, line);
}

static void account_dump(const struct book *b, const struct assoc_view *v, struct str *line)
{
    const struct account *a = book_account(b, v->a->account);
    str_addf(line, "Account - '%s'", v->a->account);
    if (a && a->description)
        quoted(line, "Description", a->description);
    if (a && a->organization)
        quoted(line, "Organization", a->organization);
    assoc_dump(v, line);
}

static void below_dump(const struct book *b, const struct assoc_view *parent, struct str *out)
{
    bool any = false;
    for (size_t i = 0; i < b->assoc.n; i++) {
        const struct assoc_view *v = b->assoc.v[i];
        if (v->up != parent || v->a->deleted)
            continue;
        if (!any)
            str_addf(out, "Parent - '%s'\n", parent->a->account);
        any = true;
        if (v->a->user)
            user_dump(b, v, out);
        else
            account_dump(b, v, out);
        str_addc(out, '\n');
    }
}

static void tree_dump(struct sacctmgr *s, const struct book *b, struct str *out)
{
    str_addf(out, "%sCluster - '%s'", head, s->cluster);
    for (size_t i = 0; i < b->assoc.n; i++) {
        const struct assoc_view *v = b->assoc.v[i];
        if (v->a->deleted || v->a->user)
            continue;
        if (!v->up) {
            assoc_dump(v, out);
            str_addc(out, '\n');
        }
        below_dump(b, v, out);
    }
}

static bool file_write(struct sacctmgr *s, const char *path, bool named, const struct str *text)
{
    bool ok = file_rewrite(path, named, text->data, text->len);
    if (!ok)
        sacctmgr_fail(s, "%s: %s", path, strerror(errno));
    return ok;
}

/* As Slurm shows what it writes. */
static void lines_say(const char *text)
{
    struct span rest = span_of(text), line;
    while (span_next(&rest, '\n', &line))
        if (line.len)
            plain_line("sacctmgr: %.*s", (int)line.len, line.data);
}

void accounts_dump(struct sacctmgr *s, int n, char **word)
{
    const char *cluster = NULL, *path = NULL;
    struct book b = {0};
    struct str text = STR_INIT;
    for (int i = 0; i < n; i++) {
        const char *file = spec_value(word[i], "file"), *named = spec_value(word[i], "clusters");
        path = file ? file : path;
        if (named || !file)
            cluster = named ? named : word[i];
    }
    if (!cluster) {
        sacctmgr_refuse(s, " We need a cluster to dump.");
        return;
    }
    if (sacctmgr_connect(s) && !text_is_nocase(cluster, s->cluster))
        sacctmgr_fail(s, "there is no cluster %s; this one is %s", cluster, s->cluster);
    else if (s->client && !sacctmgr_operates(s))
        sacctmgr_refuse(s, " Your user does not have sufficient privileges to dump clusters.");
    else if (s->client && book_read(s, &b)) {
        const char *own = arena_printf(s->a, "./%s.cfg", s->cluster);
        tree_dump(s, &b, &text);
        if (file_write(s, path ? path : own, path != NULL, &text) && !s->quiet)
            lines_say(str_text(&text) + sizeof head - 1);
    }
    str_done(&text);
    book_done(&b);
}
