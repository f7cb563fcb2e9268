#include "model/settings/settings.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/list.h"
#include "base/str.h"
#include "model/grammar/gpu_idle.h"
#include "model/record/priority.h"
#include "model/record/series.h"
#include "model/settings/settings_value.h"

#include <string.h>

#define ANY                                                                                        \
    {                                                                                              \
        0                                                                                          \
    }
#define RANGE(least, most)                                                                         \
    {                                                                                              \
        .min = (least), .max = (most)                                                              \
    }
#define ONE_WORD                                                                                   \
    {                                                                                              \
        .form = FORM_WORD                                                                          \
    }
#define WORDS                                                                                      \
    {                                                                                              \
        .form = FORM_WORDS                                                                         \
    }
#define PORT_RANGE                                                                                 \
    {                                                                                              \
        .form = FORM_PORTS                                                                         \
    }
#define TRES_WEIGHTS                                                                               \
    {                                                                                              \
        .form = FORM_WEIGHTS                                                                       \
    }
#define LICENCES                                                                                   \
    {                                                                                              \
        .form = FORM_LICENCES                                                                      \
    }
#define FREQUENCIES                                                                                \
    {                                                                                              \
        .form = FORM_FREQUENCIES                                                                   \
    }
#define SERIES_AGES                                                                                \
    {                                                                                              \
        .form = FORM_SERIES_AGES                                                                   \
    }
#define GPU_IDLE                                                                                   \
    {                                                                                              \
        .form = FORM_GPU_IDLE                                                                      \
    }
#define AGE                                                                                        \
    {                                                                                              \
        .form = FORM_AGE                                                                           \
    }
#define SLURM_WRITES(theirs, own)                                                                  \
    {                                                                                              \
        .slurm = (theirs), .ours = (own)                                                           \
    }

const struct setting setting_table[] = {
#define X(type, member, key, standard, unit, allowed, effect, doc)                                 \
    {#key,                                                                                         \
     SETTING_##type,                                                                               \
     offsetof(struct settings, member),                                                            \
     standard,                                                                                     \
     unit,                                                                                         \
     allowed,                                                                                      \
     EFFECT_##effect,                                                                              \
     doc},
    SETTINGS(X)
#undef X
};
const size_t setting_count = ARRAY_LEN(setting_table);

bool setting_parse_bool(const char *text, bool *ret, struct err *ret_err)
{
    static const char *const yes[] = {"YES", "TRUE", "ON", "1"}, *const no[] = {"NO", "FALSE",
                                                                                "OFF", "0"};
    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        if (text_is_nocase(text, yes[i]) || text_is_nocase(text, no[i])) {
            *ret = text_is_nocase(text, yes[i]);
            return true;
        }
    return err_set(ret_err, ERR_INVALID, "YES or NO is expected, not \"%.60s\"", text) ||
           list_suggest("YES,TRUE,FALSE", span_of(text), ret_err);
}

bool setting_parse_mib(const char *text, int64_t *ret, struct err *ret_err)
{
    if (!text_is_nocase(text, "UNLIMITED") && !text_is_nocase(text, "INFINITE"))
        return size_parse_mib(text, ret, ret_err);
    *ret = 0;
    return true;
}

bool setting_parse_policy(const char *text, int32_t *ret, struct err *ret_err)
{
    if (enum_value(&limit_policy_names, text, ret))
        return true;
    if (text_is_nocase(text, "ANY") || text_is_nocase(text, "YES"))
        *ret = LIMITS_REFUSE;
    else if (text_is_nocase(text, "NO"))
        *ret = LIMITS_PEND;
    else
        return err_set(ret_err, ERR_INVALID,
                       "REFUSE, PEND or CLAMP (or Slurm's ALL, ANY, NO) is expected, not \"%.60s\"",
                       text) ||
               list_suggest("REFUSE,PEND,CLAMP,ALL,ANY", span_of(text), ret_err);
    return true;
}

/* Slurm writes spans as a number of the key's unit; day-hour forms ("7-0", "1:00:00") are times as
 * --time has them. */
bool setting_parse_span(const char *text, const char *unit, int64_t *ret_us, struct err *ret_err)
{
    int64_t number,
        scale = text_is(unit, "min") || text_is(unit, "time") ? USEC_PER_MIN : USEC_PER_SEC;
    if (text_to_i64(text, 0, INT64_MAX / USEC_PER_MIN, &number)) {
        *ret_us = number * scale;
        return true;
    }
    if (strcspn(text, ":-") == strlen(text) && !text_is_nocase(text, "UNLIMITED") &&
        !text_is_nocase(text, "INFINITE"))
        return err_set(ret_err, ERR_INVALID, "a number of %s is expected, not \"%.60s\"",
                       scale == USEC_PER_MIN ? "minutes" : "seconds", text);
    return duration_parse(text, ret_us, ret_err);
}

bool ports_parse(const char *text, int32_t *ret_first, int32_t *ret_last, struct err *ret_err)
{
    const char *dash = strchr(text, '-');
    char low[8] = "";
    int64_t first, last;
    size_t len = dash ? (size_t)(dash - text) : sizeof low;
    if (len < sizeof low)
        memcpy(low, text, len);
    if (len >= sizeof low || !text_to_i64(low, 1, 65535, &first) ||
        !text_to_i64(dash + 1, first, 65535, &last))
        return err_set(ret_err, ERR_INVALID,
                       "a range of ports as 20000-29999 is expected, not \"%.60s\"", text);
    *ret_first = (int32_t)first;
    *ret_last = (int32_t)last;
    return true;
}

/* ---- what a key accepts beyond its type ---- */

static bool number_parse(const struct setting *k, const char *text, int64_t max, int64_t *ret,
                         struct err *ret_err)
{
    bool ranged = k->allowed.min || k->allowed.max;
    int64_t min = ranged ? k->allowed.min : 0;
    max = ranged ? k->allowed.max : max;
    ASSERT(min <= max);
    return text_to_i64(text, min, max, ret) ||
           err_set(ret_err, ERR_INVALID, "a number from %lld to %lld is expected, not \"%.60s\"",
                   (long long)min, (long long)max, text);
}

/* JobAcctGatherFrequency may be a list, "task=30,energy=60": a number without a name is the
 * task's. */
static bool frequency_parse(const char *text, struct settings *s, int64_t *ret_us,
                            struct err *ret_err)
{
    struct series_gaps gaps = SERIES_GAPS_INIT;
    int64_t us = *ret_us;
    bool list = strchr(text, '=') || strchr(text, ',');
    if (!(list ? series_gaps_read(text, &us, &gaps, ret_err)
               : setting_parse_span(text, "sec", &us, ret_err)))
        return false;
    s->other_freqs = strchr(text, '=') ? text : NULL;
    *ret_us = us;
    return true;
}

/* "101.5", in hundredths. */
static bool percent_parse(const char *text, int32_t *ret, struct err *ret_err)
{
    char whole[8] = "", part[3] = "00";
    size_t len = strcspn(text, "."), digits = text[len] ? strspn(text + len + 1, "0123456789") : 0;
    int64_t n = 0, hundredths = 0;
    if (len < sizeof whole)
        memcpy(whole, text, len);
    memcpy(part, digits ? text + len + 1 : part, digits < 2 ? digits : 2);
    if (len >= sizeof whole || (text[len] && text[len + 1 + digits]) ||
        !text_to_i64(whole, 0, 100000, &n) || !text_to_i64(part, 0, 99, &hundredths))
        return err_set(ret_err, ERR_INVALID,
                       "a percentage as 100 or 101.5 is expected, not \"%.60s\"", text);
    *ret = (int32_t)(100 * n + hundredths);
    return true;
}

static bool interval_parse(const struct setting *k, const char *text, int64_t *ret_us,
                           struct err *ret_err)
{
    int64_t us = 0;
    if (!setting_parse_span(text, k->unit, &us, ret_err))
        return false;
    if (us < k->allowed.min)
        return err_set(ret_err, ERR_INVALID, "%s or more is expected, not \"%.60s\"",
                       k->allowed.min == USEC_PER_SEC ? "a second" : "a longer time", text);
    *ret_us = us;
    return true;
}

/* "name:count,…"; without a count there is one. */
static bool licences_check(const char *text, struct err *ret_err)
{
    struct span rest = span_of(text), piece;
    while (span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        const char *colon = piece.len ? memchr(piece.data, ':', piece.len) : NULL;
        char digits[16] = "1";
        size_t len = colon ? (size_t)(piece.data + piece.len - colon - 1) : 1;
        int64_t count;
        if (colon && len < sizeof digits) {
            memcpy(digits, colon + 1, len);
            digits[len] = '\0';
        }
        if (len >= sizeof digits || colon == piece.data ||
            !text_to_i64(digits, 0, INT32_MAX, &count))
            return err_set(ret_err, ERR_INVALID, "name:count is expected, not \"%.*s\"",
                           SPAN_QUOTED(piece));
    }
    return true;
}

/* `lenient`: the text is of a controller that may know more words than this program. */
static bool text_set(const struct setting *k, struct settings *s, const char *text, bool lenient,
                     struct err *ret_err)
{
    struct tres_weights w;
    struct age age;
    struct series_keep keep;
    struct gpu_idle idle;
    int32_t first, last;
    bool may_be_empty = text_empty(k->standard) || k->allowed.form != FORM_WORD;
    switch (text_empty(text) && may_be_empty ? FORM_ANY : k->allowed.form) {
    case FORM_ANY:
    case FORM_FREQUENCIES: break;
    case FORM_WORD:
    case FORM_WORDS:
        if (!setting_words_parse(k->key, text, k->allowed.form == FORM_WORDS, lenient, &s->word,
                                 &text, ret_err))
            return false;
        break;
    case FORM_PORTS:
        if (!ports_parse(text, &first, &last, ret_err))
            return false;
        break;
    case FORM_WEIGHTS:
        if (!tres_weights_parse(text, &w, ret_err))
            return false;
        break;
    case FORM_LICENCES:
        if (!licences_check(text, ret_err))
            return false;
        break;
    case FORM_SERIES_AGES:
        if (!series_keep_parse(text, &keep, ret_err))
            return false;
        break;
    case FORM_GPU_IDLE:
        if (!gpu_idle_parse(text, &idle, ret_err))
            return false;
        break;
    case FORM_AGE:
        if (!age_parse(text, &age, ret_err))
            return false;
        break;
    }
    if (text_empty(text) && k->allowed.form == FORM_WORDS)
        setting_words_parse(k->key, "", true, true, &s->word, NULL, NULL);
    *(const char **)((char *)s + k->offset) = text;
    return true;
}

static bool value_set(const struct setting *k, struct settings *s, const char *text, bool lenient,
                      struct err *ret_err)
{
    int64_t number;
    void *to = (char *)s + k->offset;
    if (k->allowed.slurm && text_is_nocase(k->allowed.slurm, text))
        text = k->allowed.ours;
    switch (k->type) {
    case SETTING_TEXT: return text_set(k, s, text, lenient, ret_err);
    case SETTING_I32:
        if (!number_parse(k, text, INT32_MAX, &number, ret_err))
            return false;
        *(int32_t *)to = (int32_t)number;
        return true;
    case SETTING_I64: return number_parse(k, text, INT64_MAX, to, ret_err);
    case SETTING_BOOL: return setting_parse_bool(text, to, ret_err);
    case SETTING_SPAN:
        if (k->allowed.form == FORM_FREQUENCIES)
            return frequency_parse(text, s, to, ret_err);
        return interval_parse(k, text, to, ret_err);
    case SETTING_MIB: return setting_parse_mib(text, to, ret_err);
    case SETTING_PERCENT: return percent_parse(text, to, ret_err);
    case SETTING_POLICY: return setting_parse_policy(text, to, ret_err);
    }
    return false;
}

bool setting_set(const struct setting *k, struct settings *s, const char *text, struct err *ret_err)
{
    ASSERT(k >= setting_table && k < setting_table + setting_count);
    return value_set(k, s, text, false, ret_err);
}

void settings_default(struct settings *s)
{
    memset(s, 0, sizeof *s);
    setting_words_default(&s->word);
    for (size_t i = 0; i < setting_count; i++)
        CHECK(setting_set(&setting_table[i], s, setting_table[i].standard, NULL));
}

void setting_format(const struct setting *k, const struct settings *s, struct str *out)
{
    const void *from = (const char *)s + k->offset;
    switch (k->type) {
    case SETTING_TEXT: {
        const char *text = *(const char *const *)from;
        str_add(out, text_empty(text) ? "(null)" : text);
        break;
    }
    case SETTING_I32: str_add_i64(out, *(const int32_t *)from); break;
    case SETTING_I64: str_add_i64(out, *(const int64_t *)from); break;
    case SETTING_BOOL: str_add(out, *(const bool *)from ? "Yes" : "No"); break;
    case SETTING_SPAN: {
        int64_t us = *(const int64_t *)from;
        if (us == TIME_UNLIMITED)
            str_add(out, "UNLIMITED");
        else if (k->allowed.form == FORM_FREQUENCIES && s->other_freqs)
            str_addf(out, "%s sec", s->other_freqs);
        else if (text_is(k->unit, "time"))
            duration_format(us, out);
        else
            str_addf(out, "%lld %s",
                     (long long)(us / (text_is(k->unit, "min") ? USEC_PER_MIN : USEC_PER_SEC)),
                     k->unit);
        break;
    }
    case SETTING_MIB: {
        int64_t mib = *(const int64_t *)from;
        if (mib)
            str_add_i64(out, mib);
        else
            str_add(out, "UNLIMITED");
        break;
    }
    case SETTING_PERCENT: {
        int32_t hundredths = *(const int32_t *)from;
        str_addf(out, "%d.%02d%%", hundredths / 100, hundredths % 100);
        break;
    }
    case SETTING_POLICY:
        str_add(out, enum_name(&limit_policy_names, *(const int32_t *)from));
        break;
    }
}

bool setting_read_shown(const struct setting *k, struct settings *s, const char *shown,
                        struct arena *a)
{
    static const char *const units[] = {" sec", " min", "%"};
    struct err ignored = {0};
    const char *text = text_is(shown, "(null)") ? "" : shown;
    size_t len = strlen(text);
    for (size_t i = 0; i < ARRAY_LEN(units) && k->type != SETTING_TEXT; i++)
        if (len > strlen(units[i]) && text_is(text + len - strlen(units[i]), units[i]))
            text = arena_strndup(a, text, len - strlen(units[i]));
    return value_set(k, s, text, true, &ignored);
}

const struct setting *setting_find(const char *key)
{
    for (size_t i = 0; i < setting_count; i++)
        if (text_is_nocase(setting_table[i].key, key))
            return &setting_table[i];
    return NULL;
}
