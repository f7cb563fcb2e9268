/* Changes: gathered, tried, said, asked about, sent as one request. */
#include "base/plain.h"
#include "cli/accounts/accounts.h"

#include <stdio.h>
#include <string.h>

static struct account_change *change_new(struct changes *c, enum account_noun noun,
                                         enum account_verb verb, const char *fields)
{
    struct account_change ch = {.verb = verb, .noun = noun, .fields = fields};
    vec_push(&c->change, ch);
    return &c->change.v[c->change.n - 1];
}

static struct record_list one_of(struct changes *c, const void *record, size_t size)
{
    return (struct record_list){arena_dup(c->s->a, record, size), 1};
}

void change_account(struct changes *c, enum account_verb verb, const char *fields,
                    const struct account *a)
{
    change_new(c, NOUN_ACCOUNT, verb, fields)->account = one_of(c, a, sizeof *a);
}

void change_user(struct changes *c, enum account_verb verb, const char *fields,
                 const struct account_user *u)
{
    change_new(c, NOUN_USER, verb, fields)->user = one_of(c, u, sizeof *u);
}

void change_wckey(struct changes *c, enum account_verb verb, const struct wckey *k)
{
    change_new(c, NOUN_WCKEY, verb, NULL)->wckey = one_of(c, k, sizeof *k);
}

struct account_change *change_assoc(struct changes *c, enum account_noun noun,
                                    enum account_verb verb, const char *fields,
                                    const struct assoc *a)
{
    struct account_change *ch = change_new(c, noun, verb, fields);
    ch->assoc = one_of(c, a, sizeof *a);
    return ch;
}

struct account_change *change_qos(struct changes *c, enum account_verb verb, const char *fields,
                                  const struct qos *q)
{
    struct account_change *ch = change_new(c, NOUN_QOS, verb, fields);
    ch->qos = one_of(c, q, sizeof *q);
    return ch;
}

void changes_done(struct changes *c)
{
    vec_done(&c->change);
    str_done(&c->said);
}

/* Slurm's word of what could not be added; NULL = something was to be changed. */
static const char *added_word(const struct account_change *ch)
{
    const struct assoc *a = ch->assoc.v;
    if (ch->verb != VERB_ADD)
        return NULL;
    switch ((enum account_noun)ch->noun) {
    case NOUN_ACCOUNT: return "accounts";
    case NOUN_USER: return "users";
    case NOUN_ASSOC: return ch->assoc.n && a->user ? "users" : "accounts";
    case NOUN_QOS: return "QOS";
    case NOUN_COORDINATOR: return "coordinator";
    case NOUN_WCKEY: return "users";
    }
    return NULL;
}

static bool refused(struct sacctmgr *s, const struct account_change *ch,
                    const struct msg_done *done)
{
    const char *added = added_word(ch);
    const char *text = refusal_text((enum refusal)done->refusal);
    if (!added && done->refusal == REFUSE_ACCESS_DENIED)
        sacctmgr_fail(s, "Your user doesn't have privilege to perform this action");
    if (!added && done->refusal == REFUSE_QOS_LOOP)
        sacctmgr_fail(s, "%s", text);
    if (added)
        sacctmgr_refuse(s, " Problem adding %s: %s", added, text);
    else
        sacctmgr_refuse(s, " Error with request: %s", text);
    if (done->detail)
        sacctmgr_fail(s, "%s", done->detail);
    return false;
}

static bool send_some(struct changes *c, size_t first, size_t n, bool test_only)
{
    struct sacctmgr *s = c->s;
    struct client *client = sacctmgr_connect(s);
    struct message *answer = arena_alloc(s->a, sizeof *answer);
    struct msg_change_accounts m = {.changes = {c->change.v + first, n}, .test_only = test_only};
    struct err e = {0};
    if (!client)
        return false;
    if (!client_call(client, MSG_CHANGE_ACCOUNTS, &m, 0, s->a, answer, &e)) {
        sacctmgr_fail(s, "%s", e.text);
        return false;
    }
    if (answer->kind == MSG_DONE)
        return refused(s, m.changes.v, answer->body);
    const struct msg_accounts_changed *changed = answer->body;
    if (changed->warning && !test_only && !s->quiet && !text_is(c->warned, changed->warning))
        fprintf(stderr, "sacctmgr: %s\n", changed->warning);
    c->warned = changed->warning;
    return true;
}

/* What a centre of a hundred thousand users loads is too much for one request. */
#define CHANGES_AT_ONCE 50000
#define CHANGES_A_PIECE 20000

static bool send(struct changes *c, bool test_only)
{
    struct sacctmgr *s = c->s;
    size_t n = c->change.n, done = 0;
    if (n <= CHANGES_AT_ONCE)
        return send_some(c, 0, n, test_only);
    if (test_only) {
        sacctmgr_fail(s,
                      "%zu changes are too many to be tried as one (%d at most): with -i they are "
                      "made in pieces of %d, each of which is done or not",
                      n, CHANGES_AT_ONCE, CHANGES_A_PIECE);
        return false;
    }
    while (done < n) {
        size_t piece = n - done < CHANGES_A_PIECE ? n - done : CHANGES_A_PIECE;
        if (!send_some(c, done, piece, false)) {
            sacctmgr_fail(s, "%zu of %zu changes were made before it; the same command goes on",
                          done, n);
            return false;
        }
        done += piece;
    }
    return true;
}

bool sacctmgr_operates(struct sacctmgr *s)
{
    struct changes c = {.s = s};
    struct message *answer = arena_alloc(s->a, sizeof *answer);
    const struct qos normal = {.name = "normal"};
    struct client *client = sacctmgr_connect(s);
    change_qos(&c, VERB_MODIFY, "", &normal);
    struct msg_change_accounts m = {.changes = {c.change.v, c.change.n}, .test_only = true};
    struct err e = {0};
    bool well = client && client_call(client, MSG_CHANGE_ACCOUNTS, &m, 0, s->a, answer, &e);
    bool refuses = well && answer->kind == MSG_DONE &&
                   ((const struct msg_done *)answer->body)->refusal == REFUSE_ACCESS_DENIED;
    changes_done(&c);
    return !refuses; /* what else is wrong is said by whatever comes next */
}

/* Tried with what only operators may: a change of a QOS that changes nothing. False after it was
 * said. */
static bool may_look(struct changes *c)
{
    const struct qos normal = {.name = "normal"};
    change_qos(c, VERB_MODIFY, "", &normal);
    bool may = send_some(c, 0, 1, true);
    c->change.n = 0;
    return may;
}

void changes_commit(struct changes *c, const char *none)
{
    struct sacctmgr *s = c->s;
    if (s->rc)
        return;
    if (!c->change.n) {
        if (c->guarded && !may_look(c))
            return;
        puts(none);
        s->rc = 1;
        return;
    }
    if (s->readonly) {
        sacctmgr_refuse(s, "Can't run this command in readonly mode.");
        return;
    }
    if (!send(c, !s->immediate || s->trial) || s->trial)
        return;
    struct str plain = STR_INIT;
    str_add_plain_lines(&plain, str_text(&c->said));
    fputs(str_text(&plain), stdout);
    str_done(&plain);
    if (s->immediate)
        return;
    if (sacctmgr_ask(s, "Would you like to commit changes?"))
        send(c, false);
    else
        puts(" Changes Discarded");
}
