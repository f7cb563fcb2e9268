#include "model/record/account.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/str.h"

#include <string.h>

static const char *const admin_text[] = {
    [ADMIN_NONE] = "None", [ADMIN_OPERATOR] = "Operator", [ADMIN_ADMINISTRATOR] = "Administrator"};
const struct enum_names admin_level_names = {admin_text, ARRAY_LEN(admin_text)};

static const char *const noun_text[] = {
    [NOUN_ACCOUNT] = "account", [NOUN_USER] = "user",   [NOUN_ASSOC] = "assoc",
    [NOUN_QOS] = "qos",         [NOUN_WCKEY] = "wckey", [NOUN_COORDINATOR] = "coordinator"};
const struct enum_names account_noun_names = {noun_text, ARRAY_LEN(noun_text)};

static const char *const verb_text[] = {
    [VERB_ADD] = "add", [VERB_MODIFY] = "modify", [VERB_REMOVE] = "remove"};
const struct enum_names account_verb_names = {verb_text, ARRAY_LEN(verb_text)};

static const char *const list_text[] = {
    [LIST_SET] = "set", [LIST_MORE] = "more", [LIST_LESS] = "less"};
const struct enum_names account_list_names = {list_text, ARRAY_LEN(list_text)};

const struct flag_word qos_flag_words[QOS_FLAG_COUNT] = {
#define X(flag, word, doc) [QOS_BIT_##flag] = {word, doc},
    QOS_FLAGS(X)
#undef X
};
const struct flag_word account_flag_words[ACCOUNT_FLAG_COUNT] = {
#define X(flag, word, doc) [ACCOUNT_BIT_##flag] = {word, doc},
    ACCOUNT_FLAGS(X)
#undef X
};

static bool flag_word_find(const struct flag_word *words, size_t n, struct span word, uint32_t *ret)
{
    ASSERT(n <= 32);
    for (size_t i = 0; i < n; i++)
        if (span_is_nocase(word, words[i].word)) {
            *ret |= UINT32_C(1) << i;
            return true;
        }
    return false;
}

bool flag_words_parse(const struct flag_word *words, size_t n, const char *text, uint32_t *ret,
                      struct err *ret_err)
{
    ASSERT(n > 0 && n <= 32);
    struct span rest = span_of(text), word;
    uint32_t bits = 0;
    while (span_next(&rest, ',', &word)) {
        word = span_trim(word);
        if (!word.len || flag_word_find(words, n, word, &bits))
            continue;
        struct str known = STR_INIT;
        for (size_t i = 0; i < n; i++)
            str_addf(&known, "%s%s", i ? ", " : "", words[i].word);
        err_set(ret_err, ERR_INVALID, "there is no flag \"%.*s\"; there are %s", (int)word.len,
                word.data, str_text(&known));
        str_done(&known);
        return false;
    }
    *ret = bits;
    return true;
}

#define TABLE(tag, macro)                                                                          \
    static const struct field tag##_rows[] = {macro(ROW)};                                         \
    const struct fields tag##_fields = {#tag, sizeof(struct tag), tag##_rows,                      \
                                        ARRAY_LEN(tag##_rows)};
#define ROW(type, name, aux, doc) FIELD_ROW_AT(STRUCTURE, , type, name, aux, doc)
#define STRUCTURE                 struct account
TABLE(account, ACCOUNT_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct account_user
TABLE(account_user, ACCOUNT_USER_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct assoc
TABLE(assoc, ASSOC_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct qos
TABLE(qos, QOS_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct wckey
TABLE(wckey, WCKEY_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct tres
TABLE(tres, TRES_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct transaction
TABLE(transaction, TRANSACTION_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct account_change
TABLE(account_change, ACCOUNT_CHANGE_FIELDS)
#undef STRUCTURE
#define STRUCTURE struct account_changed
TABLE(account_changed, ACCOUNT_CHANGED_FIELDS)
#undef STRUCTURE
#undef ROW
#undef TABLE

bool tres_is(const struct tres *t, const char *text)
{
    size_t len = strlen(t->type);
    return t->name ? strncmp(text, t->type, len) == 0 && text[len] == '/' &&
                         text_is_nocase(text + len + 1, t->name)
                   : text_is(text, t->type);
}
