/* One change of accounts at work: what its files share. A deed returns why it was refused, with the
 * sentence in `detail`; what it did stands in `changed` and in the journal of the book. */
#ifndef REMUDA_CORE_REQUEST_ACCOUNTS_CHANGE_H
#define REMUDA_CORE_REQUEST_ACCOUNTS_CHANGE_H

#include "core/record/accounts/accounts.h"
#include "core/request/accounts/of_user.h"
#include "core/request/accounts/under.h"
#include "model/message.h"

#define ASKED_RECORDS 5 /* kinds of records that a change may bring */

struct account_step {
    struct core *c;                      /* the core of this turn */
    struct arena *a;                     /* of the turn */
    const struct account_change *ch;     /* the change at hand, of a request that may have many */
    size_t changes;                      /* that the request has */
    struct of_user of_user;              /* what each user has now */
    struct under under;                  /* what stands below which account now */
    size_t looks;                        /* associations and limits that were gone through */
    size_t bytes;                        /* of rows that the request leaves */
    struct map_str *coordinators;        /* at some time of the request; NULL: not known yet */
    struct map_u64 *fuller;              /* associations that got limits or another place */
    VEC(struct account_changed) changed; /* what the answer says was done */
    const char *detail;                  /* why it was refused; in `a`; NULL = it was not */
};

/* Returns `refusal`, with the sentence. */
enum refusal change_refuse(struct account_step *g, enum refusal refusal, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Nothing is counted or bounded for who asks: an operator. */
bool change_unbound(const struct account_step *g);
/* So many more were gone through; refused: too many for one request. */
enum refusal change_looks(struct account_step *g, size_t n);
/* What stands below it, itself among it; refused as change_looks does. Valid until the next
 * call. */
enum refusal change_under(struct account_step *g, struct assocrec *top, const assocrec_vec **ret);
/* No text of what is asked is too long and no name in it empty: before anything is made of it. */
enum refusal change_asked_check(struct account_step *g);
/* Counts what the change at hand leaves on the disk, with its transaction. */
void change_rows(struct account_step *g, const struct transaction *t);
/* May who asks leave so much? */
enum refusal change_rows_check(struct account_step *g);
/* The association of that number got limits or another place. */
void change_fuller(struct account_step *g, uint32_t assoc);
/* Of no association that got more are there too many, with those above it. At the end, which goes
 * through all once. */
enum refusal change_limits_check(struct account_step *g);
/* Notes what was done; `a` of what is about an association, else NULL. */
void change_did(struct account_step *g, enum account_verb verb, enum account_noun noun,
                const char *name, const struct assoc *a, bool asked);

/* Is the record as it was, so that nothing is to be written? Operators' requests are written down
 * whatever they change. */
bool change_is_none(const struct account_step *g, const struct fields *t, const void *record,
                    const void *former);

/* Comma lists, in the arena; NULL is an empty one. */
/* What `list` has and `words` has not, NULL if that is nothing; `list`, and behind it what `words`
 * has beside. */
const char *words_without(struct account_step *g, const char *list, const char *words);
/* The same with them; a word that is there is not put twice. */
const char *words_with(struct account_step *g, const char *list, const char *words);

/* Sets the fields that the change names. */
enum refusal change_fields(struct account_step *g, const struct fields *t, void *record,
                           const void *values);
/* No text of the record is too long. */
enum refusal change_texts_check(struct account_step *g, const struct fields *t, const void *record);
/* `what`: "an account", for the sentence. */
enum refusal change_name_check(struct account_step *g, const char *what, const char *name);
/* Each of the list is a QOS that is there. */
enum refusal change_qos_check(struct account_step *g, const char *list);
/* Sets, or takes back, the limits of the change. */
enum refusal change_limits(struct account_step *g, enum limit_owner owner, uint32_t id,
                           bool *ret_any);
/* Takes all of them back, with their rows: of what is removed. */
void change_limits_lift(struct account_step *g, limit_list *list);

/* The deeds: each does to one thing, which `asked` names, what g->ch says. */
enum refusal change_account_add(struct account_step *g, const struct account *asked);
/* refused: there is none of that name */
enum refusal change_account_modify(struct account_step *g, const struct account *asked);
/* With its place in the tree and all below it; root stays. */
enum refusal change_account_remove(struct account_step *g, const struct account *asked);
/* One that is there is left as it is. Refused: no account is to be his default, or it is none. */
enum refusal change_user_add(struct account_step *g, const struct account_user *asked);
/* Refused: there is none of that name, or the new default is no account of his. Renames, too. */
enum refusal change_user_modify(struct account_step *g, const struct account_user *asked);
/* The user `as`, who is there, has the name `to` from now on, wherever the name stands. */
enum refusal change_user_rename(struct account_step *g, const struct account_user *as,
                                const char *to);
/* With all his associations and what he coordinates; root stays. */
enum refusal change_user_remove(struct account_step *g, const struct account_user *asked);
/* What was removed before comes back under its old number, with what it used. */
enum refusal change_assoc_add(struct account_step *g, const struct assoc *asked);
/* refused: there is none */
enum refusal change_assoc_modify(struct account_step *g, const struct assoc *asked);
/* It and all below it. */
enum refusal change_assoc_remove(struct account_step *g, struct assocrec *top, bool check_default);
/* g->ch->verb says whether asked->user becomes one of asked->account or ceases to be */
enum refusal change_coordinator_change(struct account_step *g, const struct assoc *asked);
/* As change_assoc_add; one that is there is left as it is. */
enum refusal change_qos_add(struct account_step *g, const struct qos *asked);
/* Refused: there is none, or two would preempt each other in a circle. */
enum refusal change_qos_modify(struct account_step *g, const struct qos *asked);
/* Whoever's QOS the request changed may use what is his default now. */
enum refusal change_defaults_check(struct account_step *g, const struct msg_change_accounts *m);
/* It goes from whatever lists it stands in, with its limits; its number stays, for what is past. */
enum refusal change_qos_remove(struct account_step *g, const struct qos *asked);
/* added or removed; a key of that name and user that is there, or is not, is no error */
enum refusal change_wckey_change(struct account_step *g, const struct wckey *asked);

#endif
