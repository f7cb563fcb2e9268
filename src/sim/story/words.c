#include "sim/story/words.h"

#include "base/duration.h"
#include "base/list.h"
#include "base/vec.h"

#include <stddef.h>
#include <string.h>

const char *story_value(const char *word, const char *key)
{
    size_t len = strlen(key);
    return strncmp(word, key, len) == 0 && word[len] == '=' ? word + len + 1 : NULL;
}

int64_t story_number(const char *text)
{
    int64_t n = 0;
    return text && text_to_i64(text, INT64_MIN, INT64_MAX, &n) ? n : 0;
}

struct resv_word {
    const char *key, *field;
    size_t offset;
};
static const struct resv_word resv_texts[] = {
    {"nodes", "nodes", offsetof(struct reservation, nodes)},
    {"cores", "core_counts", offsetof(struct reservation, core_counts)},
    {"gres", "gres", offsetof(struct reservation, gres)},
    {"licenses", "licenses", offsetof(struct reservation, licenses)},
    {"users", "users", offsetof(struct reservation, users)},
    {"partition", "partition", offsetof(struct reservation, partition)},
};

bool story_resv_word(struct reservation *r, struct str *fields, const char *word)
{
    const char *v, *field = NULL;
    bool ok = true;
    for (size_t i = 0; i < ARRAY_LEN(resv_texts); i++)
        if ((v = story_value(word, resv_texts[i].key))) {
            *(const char **)((char *)r + resv_texts[i].offset) = v;
            field = resv_texts[i].field;
        }
    if ((v = story_value(word, "start")))
        r->start_us = (INT64_C(1790000000) + story_number(v)) * USEC_PER_SEC, field = "start_us";
    else if ((v = story_value(word, "length")))
        ok = duration_parse(v, &r->duration_us, NULL), field = "duration_us";
    else if ((v = story_value(word, "count")))
        r->node_count = (int32_t)story_number(v), field = "node_count";
    else if ((v = story_value(word, "flags")))
        ok = resv_flags_parse(v, &r->flags, &r->purge_us, NULL), field = "flags,purge_us";
    if (field)
        list_addf(fields, "%s", field);
    return ok && field;
}
