/* One change of accounts at work: what its files share. A deed returns why it was refused, with the
 * sentence in `detail`; what it did stands in `changed` and in the journal of the book. */
#ifndef REMUDA_CORE_REQUEST_ACCOUNTS_CHANGE_H
#define REMUDA_CORE_REQUEST_ACCOUNTS_CHANGE_H

#include "core/record/accounts/accounts.h"
#include "model/message.h"

struct change {
    struct core *c;
    struct arena *a; /* of the turn */
    const struct account_change *ch;
    VEC(struct account_changed) changed;
    const char *detail;
};

/* Returns `refusal`, with the sentence. */
enum refusal change_refuse(struct change *g, enum refusal refusal, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Notes what was done; `a` of what is about an association, else NULL. */
void change_did(struct change *g, enum account_verb verb, enum account_noun noun, const char *name,
                const struct assoc *a, bool asked);

/* Comma lists, in the arena; NULL is an empty one. */
const char *words_without(struct change *g, const char *list, const char *words);
const char *words_with(struct change *g, const char *list, const char *words);

/* Sets the fields that the change names. */
enum refusal change_fields(struct change *g, const struct fields *t, void *record,
                           const void *values);
/* No text of the record is too long. */
enum refusal change_texts_check(struct change *g, const struct fields *t, const void *record);
/* `what`: "an account", for the sentence. */
enum refusal change_name_check(struct change *g, const char *what, const char *name);
/* Each of the list is a QOS that is there. */
enum refusal change_qos_check(struct change *g, const char *list);
/* Sets, or takes back, the limits of the change. */
enum refusal change_limits(struct change *g, enum limit_owner owner, uint32_t id, bool *ret_any);
void change_limits_lift(struct change *g, limit_list *list);

enum refusal change_account_add(struct change *g, const struct account *asked);
enum refusal change_account_modify(struct change *g, const struct account *asked);
enum refusal change_account_remove(struct change *g, const struct account *asked);
enum refusal change_user_add(struct change *g, const struct account_user *asked);
enum refusal change_user_modify(struct change *g, const struct account_user *asked);
enum refusal change_user_remove(struct change *g, const struct account_user *asked);
enum refusal change_assoc_add(struct change *g, const struct assoc *asked);
enum refusal change_assoc_modify(struct change *g, const struct assoc *asked);
/* It and all below it. */
enum refusal change_assoc_remove(struct change *g, struct assocrec *top, bool check_default);
enum refusal change_coordinator_change(struct change *g, const struct assoc *asked);
enum refusal change_qos_add(struct change *g, const struct qos *asked);
enum refusal change_qos_modify(struct change *g, const struct qos *asked);
enum refusal change_qos_remove(struct change *g, const struct qos *asked);
enum refusal change_wckey_change(struct change *g, const struct wckey *asked);

#endif
