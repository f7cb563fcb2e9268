/* What one request, and one user, may make of the book, and how it is refused: who is no operator
 * is bounded in what his requests have gone through and in the rows that they leave. */
#include "core/record/accounts/limit_book.h"
#include "core/record/record.h"
#include "core/record/users/user_room.h"
#include "core/request/accounts/change.h"
#include "model/limits.h"

#include <string.h>

#define TEXT_MAX            4096    /* of descriptions and lists */
#define LOOKS_MOST          2000000 /* of a few ns each */
#define LOOKS_MOST_OPERATOR 50000000
#define FIELDS_BYTES        1024 /* all names of fields are shorter together */
#define ROW_BYTES           200  /* of a row, but for its texts */

bool change_unbound(const struct account_step *g)
{
    return peer_operates(g->c, g->c->turn.peer);
}

/* ---- what is said ---------------------------------------------------------------------------- */

enum refusal change_refuse(struct account_step *g, enum refusal refusal, const char *format, ...)
{
    ASSERT(refusal != REFUSE_NONE && refusal < REFUSAL_COUNT);
    struct str text = STR_INIT;
    va_list args;
    va_start(args, format);
    str_addv(&text, format, args);
    va_end(args);
    g->detail = arena_strdup(g->a, str_text(&text));
    str_done(&text);
    return refusal;
}

void change_did(struct account_step *g, enum account_verb verb, enum account_noun noun,
                const char *name, const struct assoc *a, bool asked)
{
    struct account_changed row = {
        .verb = verb, .noun = noun, .name = arena_strdup(g->a, name), .asked = asked};
    if (a) {
        row.account = arena_strdup(g->a, a->account);
        row.user = arena_strdup(g->a, a->user);
        row.partition = arena_strdup(g->a, a->partition);
        row.parent = arena_strdup(g->a, a->parent);
    }
    vec_push(&g->changed, row);
}

/* ---- time ----------------------------------------------------------------------------------- */

enum refusal change_looks(struct account_step *g, size_t n)
{
    g->looks += n;
    if (g->looks <= (change_unbound(g) ? LOOKS_MOST_OPERATOR : LOOKS_MOST))
        return REFUSE_NONE;
    return change_refuse(g, REFUSE_TOO_LARGE,
                         "these %zu changes would go through %zu associations and limits and "
                         "more; a request may go through %d: ask for fewer at once",
                         g->changes, g->looks,
                         change_unbound(g) ? LOOKS_MOST_OPERATOR : LOOKS_MOST);
}

enum refusal change_under(struct account_step *g, struct assocrec *top, const assocrec_vec **ret)
{
    *ret = under_all(&g->under, g->c, top);
    return change_looks(g, g->under.of ? (*ret)->n : map_u64_count(g->c->accounts.assoc));
}

/* ---- texts ---------------------------------------------------------------------------------- */

enum refusal change_texts_check(struct account_step *g, const struct fields *t, const void *record)
{
    for (size_t i = 0; i < t->n; i++) {
        const char *text = t->field[i].type == FIELD_TEXT
                               ? *(const char *const *)field_ptr(&t->field[i], record)
                               : NULL;
        if (text && strlen(text) > TEXT_MAX)
            return change_refuse(g, REFUSE_TOO_LARGE, "%s has %zu bytes; at most %d are allowed",
                                 t->field[i].name, strlen(text), TEXT_MAX);
    }
    return REFUSE_NONE;
}

static const void *asked_record(const struct account_change *ch, size_t i,
                                const struct fields **ret)
{
    const struct record_list *const lists[] = {&ch->account, &ch->user, &ch->assoc, &ch->qos,
                                               &ch->wckey};
    static const struct fields *const of[] = {&account_fields, &account_user_fields, &assoc_fields,
                                              &qos_fields, &wckey_fields};
    _Static_assert(ARRAY_LEN(lists) == ASKED_RECORDS && ARRAY_LEN(of) == ASKED_RECORDS,
                   "what a change has records of");
    *ret = of[i];
    return lists[i]->n ? lists[i]->v : NULL;
}

/* Of what a record is known by. An index takes "" for none, so that "a user's association" of no
 * user would be the account's own, in other hands than who may was asked for. */
static enum refusal names_check(struct account_step *g, const struct fields *t, const void *record)
{
    static const char *const names[] = {"name", "account", "user", "partition"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        ptrdiff_t at = fields_find(t, names[i]);
        const char *name = at < 0 ? NULL : *(const char *const *)field_ptr(&t->field[at], record);
        if (name && !*name)
            return change_refuse(g, REFUSE_BAD_MESSAGE, "an empty %s of %s: give one, or none",
                                 names[i], t->name);
    }
    return REFUSE_NONE;
}

enum refusal change_asked_check(struct account_step *g)
{
    enum refusal refusal = REFUSE_NONE;
    for (size_t i = 0; i < ASKED_RECORDS && !refusal; i++) {
        const struct fields *t;
        const void *record = asked_record(g->ch, i, &t);
        refusal = record ? change_texts_check(g, t, record) : REFUSE_NONE;
        refusal = record && !refusal ? names_check(g, t, record) : refusal;
    }
    size_t len = g->ch->fields ? strlen(g->ch->fields) : 0;
    if (!refusal && len > FIELDS_BYTES)
        refusal = change_refuse(g, REFUSE_TOO_LARGE,
                                "names of fields of %zu bytes; each is named once, which takes "
                                "less than %d",
                                len, FIELDS_BYTES);
    return refusal;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static size_t text_bytes(const char *text)
{
    return text ? strlen(text) : 0;
}

static size_t texts_bytes(const struct fields *t, const void *record)
{
    size_t bytes = 0;
    for (size_t i = 0; i < t->n; i++)
        if (t->field[i].type == FIELD_TEXT)
            bytes += text_bytes(*(const char *const *)field_ptr(&t->field[i], record));
    return bytes;
}

/* The transaction, and what the change brought: that it took the place of something is not looked
 * at. */
void change_rows(struct account_step *g, const struct transaction *t)
{
    const struct limit *l = g->ch->limits.v;
    g->bytes += ROW_BYTES + texts_bytes(&transaction_fields, t);
    for (size_t i = 0; i < ASKED_RECORDS; i++) {
        const struct fields *of;
        const void *record = asked_record(g->ch, i, &of);
        g->bytes += record ? texts_bytes(of, record) : 0;
    }
    for (size_t i = 0; i < g->ch->limits.n; i++)
        g->bytes += ROW_BYTES + text_bytes(l[i].tres) + text_bytes(l[i].hours);
}

enum refusal change_rows_check(struct account_step *g)
{
    struct str why = STR_INIT;
    bool fit = user_room_disk_fits(g->c, g->c->turn.peer->uid, g->bytes, &why);
    str_done(&why);
    if (fit)
        return REFUSE_NONE;
    return change_refuse(g, REFUSE_TOO_LARGE,
                         "your jobs and changes of the last 24 hours brought as much as "
                         "MaxUserScripts allows (%d MiB a day), and each change leaves a row of "
                         "the transactions: ask for fewer, or later, or ask an operator",
                         g->c->settings.max_user_scripts);
}

/* ---- limits --------------------------------------------------------------------------------- */

void change_fuller(struct account_step *g, uint32_t assoc)
{
    if (!g->fuller)
        g->fuller = map_u64_new();
    map_u64_put(g->fuller, assoc, g);
}

/* Those that stand on the way from it to root; fuller: one of these has more than before. */
static size_t limits_on_way(const struct account_step *g, const struct assocrec *r, bool *fuller)
{
    size_t n = 0;
    for (; r; r = r->up) {
        n += r->limit.n;
        *fuller |= map_u64_get(g->fuller, r->a.id) != NULL;
    }
    return n;
}

enum refusal change_limits_check(struct account_step *g)
{
    struct map_walk w = {0};
    while (g->fuller && map_u64_next(g->c->accounts.assoc, &w)) {
        const struct assocrec *r = w.value;
        bool fuller = false;
        size_t n = r->a.deleted ? 0 : limits_on_way(g, r, &fuller);
        if (fuller && n > LIMIT_LIMITS)
            return change_refuse(
                g, REFUSE_TOO_LARGE,
                "%s%s%s and the accounts above would have %zu limits; at most %u are allowed, as "
                "each job is held against all of them: take some back (=-1) first",
                r->a.user ? r->a.user : "account ", r->a.user ? " with account " : "", r->a.account,
                n, LIMIT_LIMITS);
    }
    return REFUSE_NONE;
}
