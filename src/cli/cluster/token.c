/* remuda token and hosts: how other machines are let in and shut out. */
#include "base/alloc.h"
#include "base/civil.h"
#include "base/duration.h"
#include "base/str.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/localtime.h"
#include "cli/program/program.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "Usage: remuda token [--state DIR] [--host untrusted|login|trusted] [--user NAME] [--uses N] "
    "[--for "
    "TIME]\n"
    "       remuda token list | remuda token revoke ID…\n"
    "  Prints a token with which another machine joins:  remuda token | ssh MACHINE remuda join "
    "HOST\n"
    "  Good for one machine and one day, unless said otherwise. What the machine may do there is "
    "decided "
    "here:\n"
    "  --host untrusted  speaks for one user, who is no administrator there (--user NAME; of a "
    "cluster that "
    "an\n"
    "                    ordinary user started: that user, and it runs jobs). The default\n"
    "  --host login      its users submit, its root does not; it runs nothing\n"
    "  --host trusted    runs jobs, and is believed whoever it says is speaking: its root is root "
    "of the "
    "cluster\n"
    "  --uses N  for N machines    --for TIME  30 (minutes), 2:00:00, 7-0    --role login  runs no "
    "jobs\n";
static const char hosts_usage[] = "Usage: remuda hosts [--state DIR]\n"
                                  "       remuda hosts remove NAME…\n"
                                  "  Lists the machines that joined; shuts some out.\n";

/* Words of the command line that are not --state. */
struct words {
    const char *state_dir;
    const char *word[64];
    size_t n;
};

static bool words_read(int argc, char **argv, struct words *w, struct err *ret_err)
{
    for (int i = 1; i < argc;) {
        if (program_state_option(argc, argv, &i, &w->state_dir, ret_err)) {
            if (ret_err->code)
                return false;
        } else if (w->n == ARRAY_LEN(w->word)) {
            return err_set(ret_err, ERR_LIMIT, "more than %zu words", ARRAY_LEN(w->word));
        } else {
            w->word[w->n++] = argv[i++];
        }
    }
    return true;
}

static bool answer_take(const struct message *m, enum message_kind want, struct err *ret_err)
{
    const struct msg_done *done = m->body;
    if (m->kind == want && (want != MSG_DONE || done->refusal == REFUSE_NONE))
        return true;
    if (m->kind == MSG_DONE)
        return err_set(ret_err, ERR_DENIED, "%s: %s", refusal_text((enum refusal)done->refusal),
                       done->detail ? done->detail : "");
    return err_set(ret_err, ERR_INTERNAL, "the controller gave another answer");
}

/* ---- making ---- */

static bool option_take(struct words *w, size_t *i, const char *name, const char **ret)
{
    size_t len = strlen(name);
    if (strncmp(w->word[*i], name, len) != 0)
        return false;
    if (w->word[*i][len] == '=')
        *ret = w->word[*i] + len + 1;
    else if (w->word[*i][len] == '\0' && *i + 1 < w->n)
        *ret = w->word[++*i];
    else
        return false;
    return true;
}

static bool user_find(const char *name, uint32_t *ret, struct err *ret_err)
{
    int64_t n;
    const struct passwd *entry = getpwnam(name);
    if (!entry && !text_to_i64(name, 1, UINT32_MAX - 2, &n))
        return err_set(ret_err, ERR_INVALID, "--user: there is no user \"%s\" here", name);
    *ret = entry ? (uint32_t)entry->pw_uid : (uint32_t)n;
    return true;
}

static bool kind_find(const char *name, int32_t *ret, struct err *ret_err)
{
    for (int32_t i = HOST_UNTRUSTED; i < HOST_KINDS; i++)
        if (text_is(host_kind_names.name[i], name)) {
            *ret = i;
            return true;
        }
    return err_set(ret_err, ERR_INVALID, "--host is untrusted, login or trusted, not \"%s\"", name);
}

static bool token_ask(struct words *w, struct token *t, struct err *ret_err)
{
    for (size_t i = 0; i < w->n; i++) {
        const char *value;
        int64_t n;
        if (option_take(w, &i, "--role", &value)) {
            if (!text_is(value, "node") && !text_is(value, "login"))
                return err_set(ret_err, ERR_INVALID, "--role is node or login, not \"%s\"", value);
            t->role = text_is(value, "login") ? ROLE_LOGIN : ROLE_NODE;
        } else if (option_take(w, &i, "--host", &value)) {
            if (!kind_find(value, &t->kind, ret_err))
                return false;
        } else if (option_take(w, &i, "--user", &value)) {
            if (!user_find(value, &t->uid, ret_err))
                return false;
        } else if (option_take(w, &i, "--uses", &value)) {
            if (!text_to_i64(value, 1, 65536, &n))
                return err_set(ret_err, ERR_INVALID,
                               "--uses is a number from 1 to 65536, not \"%s\"", value);
            t->uses_left = (int32_t)n;
        } else if (option_take(w, &i, "--for", &value)) {
            if (!duration_parse(value, &t->expires_us, ret_err) || t->expires_us <= 0 ||
                t->expires_us == TIME_UNLIMITED)
                return err_set(ret_err, ERR_INVALID,
                               "--for is a time as --time of sbatch, and has an end; not \"%s\"",
                               value);
        } else {
            return err_set(ret_err, ERR_INVALID,
                           "unknown word \"%s\"; `remuda token --help` lists the options",
                           w->word[i]);
        }
    }
    if (t->kind == HOST_KIND_UNSET)
        t->kind = t->role == ROLE_LOGIN && !t->uid ? HOST_LOGIN : HOST_UNTRUSTED;
    return t->uid && t->kind != HOST_UNTRUSTED
               ? err_set(ret_err, ERR_INVALID,
                         "--user is of an untrusted host: others speak for several")
               : true;
}

static bool token_make(struct client *c, struct words *w, struct arena *a, struct err *ret_err)
{
    struct token t = {0};
    struct msg_make_token ask = {.token = {.v = &t, .n = 1}};
    struct message answer;
    if (!token_ask(w, &t, ret_err) ||
        !client_call(c, MSG_MAKE_TOKEN, &ask, 0, a, &answer, ret_err) ||
        !answer_take(&answer, MSG_TOKEN_MADE, ret_err))
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
    printf("%-10s %-6s %-9s %5d  %-19s  %s\n", t->id, host_role_names.name[t->role],
           host_kind_names.name[t->kind], (int)t->uses_left, time_text(t->expires_us, ctx),
           t->created_by ? t->created_by : "");
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

static bool expel(struct client *c, const struct words *w, struct arena *a, struct err *ret_err)
{
    struct str names = STR_INIT;
    struct message answer;
    for (size_t i = 1; i < w->n; i++)
        str_addf(&names, "%s%s", i > 1 ? "," : "", w->word[i]);
    struct msg_expel ask = {.names = str_text(&names)};
    bool ok = w->n > 1 ? client_call(c, MSG_EXPEL, &ask, 0, a, &answer, ret_err) &&
                             answer_take(&answer, MSG_DONE, ret_err)
                       : err_set(ret_err, ERR_INVALID,
                                 "which? `remuda token list` and `remuda hosts` show the names");
    str_done(&names);
    return ok;
}

static bool token_run(struct client *c, struct words *w, struct arena *a, struct err *ret_err)
{
    if (w->n > 0 && text_is(w->word[0], "revoke"))
        return expel(c, w, a, ret_err);
    if (w->n == 1 && text_is(w->word[0], "list"))
        return list(c, QUERY_TOKENS, a, ret_err);
    return token_make(c, w, a, ret_err);
}

static bool hosts_run(struct client *c, struct words *w, struct arena *a, struct err *ret_err)
{
    if (w->n > 0 && text_is(w->word[0], "remove"))
        return expel(c, w, a, ret_err);
    if (w->n == 0 || (w->n == 1 && text_is(w->word[0], "list")))
        return list(c, QUERY_HOSTS, a, ret_err);
    return err_set(ret_err, ERR_INVALID,
                   "unknown word \"%s\"; `remuda hosts --help` lists what there is", w->word[0]);
}

static int run(int argc, char **argv, const char *name, const char *help,
               bool (*what)(struct client *c, struct words *w, struct arena *a,
                            struct err *ret_err))
{
    struct words w = {0};
    struct err err = {0};
    if (argc > 1 && (text_is(argv[1], "--help") || text_is(argv[1], "-h"))) {
        fputs(help, stdout);
        return 0;
    }
    struct arena *a = arena_new();
    bool ok = words_read(argc, argv, &w, &err);
    struct client *c = ok ? cluster_reach(state_dir_find(w.state_dir, a), &err) : NULL;
    ok = c && what(c, &w, a, &err);
    client_close(c);
    if (!ok)
        program_error(name, "%s", err.text);
    arena_free(a);
    return ok ? 0 : 1;
}

int cmd_token(int argc, char **argv)
{
    return run(argc, argv, "remuda token", usage, token_run);
}

int cmd_hosts(int argc, char **argv)
{
    return run(argc, argv, "remuda hosts", hosts_usage, hosts_run);
}
