#include "cli/mail_words.h"

#include "base/alloc.h"
#include "model/job.h"

static const struct mail_word {
    const char *word;
    uint32_t bits;
} words[] = {
    {"BEGIN", MAIL_BEGIN},
    {"END", MAIL_END},
    {"FAIL", MAIL_FAIL},
    {"REQUEUE", MAIL_REQUEUE},
    {"INVALID_DEPEND", MAIL_INVALID_DEPEND},
    {"STAGE_OUT", MAIL_STAGE_OUT},
    {"TIME_LIMIT", MAIL_TIME_LIMIT},
    {"TIME_LIMIT_90", MAIL_TIME_LIMIT_90},
    {"TIME_LIMIT_80", MAIL_TIME_LIMIT_80},
    {"TIME_LIMIT_50", MAIL_TIME_LIMIT_50},
    {"ARRAY_TASKS", MAIL_ARRAY_TASKS},
};
#define MAIL_ALL (MAIL_BEGIN | MAIL_END | MAIL_FAIL | MAIL_INVALID_DEPEND | MAIL_REQUEUE | MAIL_STAGE_OUT)

static bool word_take(struct span word, uint32_t *types)
{
    if (span_is_nocase(word, "ALL")) {
        *types |= MAIL_ALL;
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (span_is_nocase(word, words[i].word)) {
            *types |= words[i].bits;
            return true;
        }
    return false;
}

bool mail_types_parse(const char *text, uint32_t *ret, struct err *ret_err)
{
    struct span rest = span_of(text), word;
    uint32_t types = 0;
    *ret = 0;
    if (text_is_nocase(text, "NONE"))
        return true;
    while (span_next(&rest, ',', &word))
        if (!word_take(span_trim(word), &types))
            return err_set(ret_err, ERR_INVALID,
                           "Invalid MailType: %.60s; NONE, ALL or a list of BEGIN, END, FAIL, REQUEUE, "
                           "INVALID_DEPEND, STAGE_OUT, TIME_LIMIT, TIME_LIMIT_90, TIME_LIMIT_80, "
                           "TIME_LIMIT_50 and ARRAY_TASKS is expected",
                           text);
    *ret = types;
    return true;
}

void mail_types_format(uint32_t types, struct str *out)
{
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (types & words[i].bits)
            str_addf(out, "%s%s", out->len ? "," : "", words[i].word);
}
