#include "model/record/diag.h"

#include "base/alloc.h"

#define ROW(type, name, aux, doc) FIELD_ROW_AT(struct diag, , type, name, aux, doc)
static const struct field rows[] = {DIAG_FIELDS(ROW)};
const struct fields diag_fields = {"diag", sizeof(struct diag), rows, ARRAY_LEN(rows)};

void rpc_counts_add(struct str *list, const struct rpc_count *one)
{
    str_addf(list, "%s%s %llu %llu %llu", list->len ? ";" : "", one->name,
             (unsigned long long)one->number, (unsigned long long)one->count,
             (unsigned long long)one->us);
}

bool rpc_counts_next(struct span *rest, struct arena *a, struct rpc_count *ret)
{
    struct span piece, word;
    uint64_t *const number[] = {&ret->number, &ret->count, &ret->us};
    *ret = (struct rpc_count){0};
    if (!span_next(rest, ';', &piece) || !span_next(&piece, ' ', &word))
        return false;
    ret->name = arena_strndup(a, word.data, word.len);
    for (size_t i = 0; i < ARRAY_LEN(number) && span_next(&piece, ' ', &word); i++)
        text_to_u64(arena_strndup(a, word.data, word.len), UINT64_MAX, number[i]);
    return true;
}
