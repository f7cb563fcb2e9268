/* remuda token and hosts: how other machines are let in and shut out. */
#include "base/alloc.h"
#include "base/calendar/civil.h"
#include "base/duration.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/localtime.h"
#include "cli/program/own_line.h"
#include "cli/program/program.h"
#include "cli/program/room.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct token_line {
    const char *state_dir;
    struct token token; /* what is asked for */
    VEC(const char *) word;
};

static bool word_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct token_line *o = to;
    vec_push(&o->word, word);
    return true;
}

/* ---- options -------------------------------------------------------------------------------- */

static SETTER(set_role)
{
    struct token *t = &((struct token_line *)to)->token;
    if (!text_is(value, "node") && !text_is(value, "login"))
        return err_set(ret_err, ERR_INVALID, "--role is node or login, not \"%s\"", value);
    t->role = text_is(value, "login") ? ROLE_LOGIN : ROLE_NODE;
    return true;
}

static SETTER(set_kind)
{
    for (int32_t i = HOST_UNTRUSTED; i < HOST_KINDS; i++)
        if (text_is(host_kind_names.name[i], value)) {
            ((struct token_line *)to)->token.kind = i;
            return true;
        }
    return err_set(ret_err, ERR_INVALID, "--host is untrusted, login or trusted, not \"%s\"",
                   value);
}

static SETTER(set_user)
{
    int64_t n;
    const struct passwd *entry = user_by_name(value);
    if (!entry && !text_to_i64(value, 1, UINT32_MAX - 2, &n))
        return err_set(ret_err, ERR_INVALID, "--user: there is no user \"%s\" here", value);
    ((struct token_line *)to)->token.uid = entry ? (uint32_t)entry->pw_uid : (uint32_t)n;
    ((struct token_line *)to)->token.user = entry ? value : NULL;
    return true;
}

static SETTER(set_uses)
{
    int64_t n;
    if (!text_to_i64(value, row->min, row->max, &n))
        return err_set(ret_err, ERR_INVALID, "--uses is a number from %lld to %lld, not \"%s\"",
                       (long long)row->min, (long long)row->max, value);
    ((struct token_line *)to)->token.uses_left = (int32_t)n;
    return true;
}

static SETTER(set_name)
{
    ((struct token_line *)to)->token.name = value;
    return true;
}

static SETTER(set_for)
{
    int64_t *us = &((struct token_line *)to)->token.expires_us;
    if (duration_parse(value, us, ret_err) && *us > 0 && *us != TIME_UNLIMITED)
        return true;
    return err_set(ret_err, ERR_INVALID,
                   "--for is a time as --time of sbatch, and has an end; not \"%s\"", value);
}

static const struct option_row token_rows[] = {
    OPT_VALUE("for", 0, "time", "how long it is good: 30 (minutes), 2:00:00, 7-0; else one day",
              set_for, 0),
    OPT_VALUE("host", 0, "untrusted|login|trusted", "what the machine may do here; see above",
              set_kind, 0),
    OPT_VALUE("name", 0, "name", "what the machine is called here (AllocNodes=); else as it does",
              set_name, 0),
    OPT_VALUE("role", 0, "node|login", "login: it runs no jobs", set_role, 0),
    OWN_STATE(struct token_line),
    OPT_VALUE("user", 0, "name", "whom an untrusted host speaks for", set_user, 0),
    OPT_VALUE("uses", 0, "n", "for so many machines; else one", set_uses, 0, .min = 1,
              .max = 65536),
    OWN_HELP,
};
OPTION_TABLE(
    token_options, token_rows, .usage = "remuda token [OPTIONS] [list | revoke ID...]",
    .about =
        "  Prints a token with which another machine joins:  remuda token | ssh MACHINE remuda "
        "join HOST\n"
        "  Good for one machine and one day, unless said otherwise. What the machine may do there "
        "is decided here:\n"
        "  --host untrusted  speaks for one user, who is no administrator there (--user NAME; of a "
        "cluster that an\n"
        "                    ordinary user started: that user, and it runs jobs). The default\n"
        "  --host login      its users submit, its root does not; it runs nothing\n"
        "  --host trusted    runs jobs, and is believed whoever it says is speaking: its root is "
        "root of the cluster\n"
        "  list shows the tokens that are good still, revoke takes some back.\n",
    .words = WORDS_MIXED, .word = word_take);

static const struct option_row hosts_rows[] = {OWN_STATE(struct token_line), OWN_HELP};
OPTION_TABLE(hosts_options, hosts_rows, .usage = "remuda hosts [OPTIONS] [remove NAME...]",
             .about = "  Lists the machines that joined; shuts some out.\n", .words = WORDS_MIXED,
             .word = word_take);

/* ---- making ---- */

static bool token_check(struct token *t, struct err *ret_err)
{
    if (t->kind == HOST_KIND_UNSET)
        t->kind = t->role == ROLE_LOGIN && !t->uid ? HOST_LOGIN : HOST_UNTRUSTED;
    return t->uid && t->kind != HOST_UNTRUSTED
               ? err_set(ret_err, ERR_INVALID,
                         "--user is of an untrusted host: others speak for several")
               : true;
}

static bool token_make(struct client *c, struct token *t, struct arena *a, struct err *ret_err)
{
    struct msg_make_token ask = {.token = {.v = t, .n = 1}};
    struct message answer;
    if (!token_check(t, ret_err) ||
        !cluster_ask(c, MSG_MAKE_TOKEN, &ask, MSG_TOKEN_MADE, a, &answer, ret_err))
        return false;
    puts(((const struct msg_token_made *)answer.body)->text);
    return true;
}

/* ---- lists ---- */

static const char *time_text(int64_t us, struct arena *a)
{
    struct str text = STR_INIT;
    civil_format_iso(us, &civil_local, &text);
    const char *kept = arena_strdup(a, str_text(&text));
    str_done(&text);
    return kept;
}

static void token_row(void *ctx, const void *record)
{
    const struct token *t = record;
    printf("%-10s %-6s %-9s %5d  %-19s  %s%s%s\n", t->id, host_role_names.name[t->role],
           host_kind_names.name[t->kind], (int)t->uses_left, time_text(t->expires_us, ctx),
           t->created_by ? t->created_by : "", t->name ? " for " : "", t->name ? t->name : "");
}

static void host_row(void *ctx, const void *record)
{
    const struct host *h = record;
    const struct host_kind_row *kind = &host_kinds[host_kind_of(h)];
    char uid[32];
    snprintf(uid, sizeof uid, "%s", kind->vouches);
    if (kind->speaks == SPEAKS_FOR_ONE)
        snprintf(uid, sizeof uid, "uid %u", (unsigned)h->uid);
    printf("%-10s %-16s %-6s %-16s %-10s %-19s  %s\n", h->id, h->name,
           host_role_names.name[h->role], h->nodes ? h->nodes : "-", uid,
           time_text(h->joined_us, ctx), h->address ? h->address : "");
}

static bool list(struct client *c, enum query_what what, struct arena *a, struct err *ret_err)
{
    struct msg_query q = {.what = (int32_t)what};
    struct msg_done done = {0};
    bool tokens = what == QUERY_TOKENS;
    puts(tokens ? "TOKEN      ROLE   HOST       USES  EXPIRES              MADE BY"
                : "HOST       NAME             ROLE   NODE             VOUCHES    JOINED           "
                  "    FROM");
    if (!client_query(c, &q, tokens ? &token_fields : &host_fields, a,
                      tokens ? token_row : host_row, a, &done, ret_err))
        return false;
    return done.refusal == REFUSE_NONE
               ? true
               : err_set(ret_err, ERR_DENIED, "%s: %s", refusal_text((enum refusal)done.refusal),
                         done.detail ? done.detail : "");
}

static bool expel(struct client *c, const struct token_line *o, struct arena *a,
                  struct err *ret_err)
{
    struct str names = STR_INIT;
    struct message answer;
    for (size_t i = 1; i < o->word.n; i++)
        str_addf(&names, "%s%s", i > 1 ? "," : "", o->word.v[i]);
    struct msg_expel ask = {.names = str_text(&names)};
    bool ok = o->word.n > 1 ? cluster_ask(c, MSG_EXPEL, &ask, MSG_DONE, a, &answer, ret_err)
                            : err_set(ret_err, ERR_INVALID,
                                      "which? `remuda token list` and `remuda hosts` show the "
                                      "names");
    str_done(&names);
    const struct msg_done *done = ok ? answer.body : NULL;
    if (done && !text_empty(done->detail))
        fprintf(stderr, "remuda: warning: %s\n", done->detail);
    return ok;
}

static bool first_word_is(const struct token_line *o, const char *word)
{
    return o->word.n > 0 && text_is(o->word.v[0], word);
}

static bool token_run(struct client *c, struct token_line *o, struct arena *a, struct err *ret_err)
{
    if (first_word_is(o, "revoke"))
        return expel(c, o, a, ret_err);
    if (first_word_is(o, "list") && o->word.n == 1)
        return list(c, QUERY_TOKENS, a, ret_err);
    if (o->word.n > 0)
        return own_word_refuse(o, o->word.v[0], a, ret_err);
    return token_make(c, &o->token, a, ret_err);
}

static bool hosts_run(struct client *c, struct token_line *o, struct arena *a, struct err *ret_err)
{
    if (first_word_is(o, "remove"))
        return expel(c, o, a, ret_err);
    if (o->word.n == 0 || (first_word_is(o, "list") && o->word.n == 1))
        return list(c, QUERY_HOSTS, a, ret_err);
    return own_word_refuse(o, o->word.v[0], a, ret_err);
}

static bool ask(struct token_line *o,
                bool (*what)(struct client *c, struct token_line *o, struct arena *a,
                             struct err *ret_err),
                struct arena *a, struct err *ret_err)
{
    struct client *c = cluster_reach(state_dir_find(o->state_dir, a), ret_err);
    bool ok = c && what(c, o, a, ret_err);
    client_close(c);
    return ok;
}

static int run(int argc, char **argv, const char *name, const struct option_table *table,
               bool (*what)(struct client *c, struct token_line *o, struct arena *a,
                            struct err *ret_err))
{
    struct token_line o = {0};
    struct err err = {0};
    struct arena *a = arena_new();
    struct option_line line = {.table = table, .to = &o, .a = a};
    int status;
    if (own_line_read(name, &line, argc, argv, &status) && !ask(&o, what, a, &err))
        status = own_line_failed(name, &err);
    vec_done(&o.word);
    arena_free(a);
    return status;
}

int cmd_token(int argc, char **argv)
{
    return run(argc, argv, "remuda token", &token_options, token_run);
}

int cmd_hosts(int argc, char **argv)
{
    return run(argc, argv, "remuda hosts", &hosts_options, hosts_run);
}
