#include "model/job/mail_type.h"

#include "base/alloc.h"
#include "base/list.h"
#include "model/job/job.h"

static const struct mail_word {
    const char *word;
    uint32_t bits;
} words[] = {
    {"ARRAY_TASKS", MAIL_ARRAY_TASKS},
    {"INVALID_DEPEND", MAIL_INVALID_DEPEND},
    {"BEGIN", MAIL_BEGIN},
    {"END", MAIL_END},
    {"FAIL", MAIL_FAIL},
    {"REQUEUE", MAIL_REQUEUE},
    {"STAGE_OUT", MAIL_STAGE_OUT},
    {"TIME_LIMIT_50", MAIL_TIME_LIMIT_50},
    {"TIME_LIMIT_80", MAIL_TIME_LIMIT_80},
    {"TIME_LIMIT_90", MAIL_TIME_LIMIT_90},
    {"TIME_LIMIT", MAIL_TIME_LIMIT},
    /* The rest is only read. */
    {"NONE", 0},
    {"ALL",
     MAIL_BEGIN | MAIL_END | MAIL_FAIL | MAIL_INVALID_DEPEND | MAIL_REQUEUE | MAIL_STAGE_OUT},
};
#define WORDS_SHOWN (ARRAY_LEN(words) - 2)

bool mail_types_parse(const char *text, uint32_t *ret)
{
    struct span rest = span_of(text), word;
    bool none = false;
    *ret = 0;
    while (span_next(&rest, ',', &word)) {
        size_t i = 0;
        while (i < ARRAY_LEN(words) && !span_is_nocase(span_trim(word), words[i].word))
            i++;
        if (i == ARRAY_LEN(words))
            return false;
        none = none || !words[i].bits;
        *ret |= words[i].bits;
    }
    if (none)
        *ret = 0;
    return true;
}

void mail_types_format(uint32_t types, struct str *out)
{
    for (size_t i = 0; i < WORDS_SHOWN; i++)
        if (types & words[i].bits)
            list_addf(out, "%s", words[i].word);
}
