#include "base/list.h"

#include "base/alloc.h"
#include "base/map.h"

#include <string.h>
#include <strings.h>

typedef int (*comparer)(const char *a, const char *b, size_t n);

static bool has(const char *list, struct span word, comparer differ)
{
    struct span rest = span_of(list ? list : ""), piece;
    while (list && span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        if (piece.len == word.len && differ(piece.data, word.data, word.len) == 0)
            return true;
    }
    return false;
}

bool list_has_span(const char *list, struct span word)
{
    return has(list, word, strncmp);
}

bool list_has(const char *list, const char *word)
{
    return has(list, span_of(word ? word : ""), strncmp);
}

bool list_has_nocase(const char *list, const char *word)
{
    return has(list, span_of(word ? word : ""), strncasecmp);
}

bool list_shares(const char *a, const char *b)
{
    struct span rest = span_of(b ? b : ""), word;
    while (span_next(&rest, ',', &word)) {
        word = span_trim(word);
        if (word.len > 0 && list_has_span(a, word))
            return true;
    }
    return false;
}

size_t list_count(const char *list)
{
    size_t n = text_empty(list) ? 0 : 1;
    for (const char *at = list; at && (at = strchr(at, ',')); at++)
        n++;
    return n;
}

const char *list_first(const char *list, size_t most, struct arena *a)
{
    size_t len = 0;
    if (list_count(list) <= most)
        return list;
    for (size_t n = 0; n < most; n++)
        len += strcspn(list + len, ",") + (n + 1 < most);
    return arena_strndup(a, list, len);
}

const char *list_once(const char *list, size_t few, struct arena *a)
{
    if (list_count(list) <= few)
        return list;
    struct map_str *seen = map_str_new();
    struct span rest = span_of(list), piece;
    struct str once = STR_INIT;
    struct arena *words = arena_new();
    while (span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        const char *word = arena_strndup(words, piece.data, piece.len);
        void **slot = map_str_slot(seen, word, true, &word);
        if (!*slot)
            list_addf(&once, "%s", word);
        *slot = once.data;
    }
    const char *made = arena_strdup(a, str_text(&once));
    str_done(&once);
    arena_free(words);
    map_str_free(seen);
    return made;
}

#define SUGGEST_WORD 64 /* longer words are near to none */

bool list_suggest(const char *known, struct span given, struct err *e)
{
    char word[SUGGEST_WORD] = "", best[SUGGEST_WORD] = "", one[SUGGEST_WORD];
    const char *const both[] = {best, one};
    struct span rest = span_of(known), piece;
    if (!e || given.len == 0 || given.len >= sizeof word || has(known, given, strncasecmp))
        return false;
    memcpy(word, given.data, given.len);
    while (span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        if (piece.len >= sizeof one)
            continue;
        memset(one, 0, sizeof one);
        memcpy(one, piece.data, piece.len);
        const char *near = text_nearest(word, both, ARRAY_LEN(both));
        if (near == one)
            memcpy(best, one, sizeof best);
    }
    struct err said = *e;
    return *best ? err_set(e, said.code, "%s; did you mean %s?", said.text, best) : false;
}

void list_addf(struct str *list, const char *format, ...)
{
    va_list args;
    CHECK(list);
    if (list->len > 0)
        str_addc(list, ',');
    va_start(args, format);
    str_addv(list, format, args);
    va_end(args);
}
