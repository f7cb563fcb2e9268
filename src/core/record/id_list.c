#include "core/record/marks.h"

#include "base/alloc.h"

#include <stdlib.h>

void id_list_add(struct map_u64 *lists, uint64_t key, uint64_t id)
{
    ASSERT(key && id);
    struct id_list *list = map_u64_get(lists, key);
    if (!list) {
        list = xcalloc(1, sizeof *list);
        map_u64_put(lists, key, list);
    }
    vec_push(&list->id, id);
}

void id_list_remove_at(struct id_list *list, size_t i)
{
    ASSERT(i < list->id.n);
    list->went += list->id.v[i] != 0;
    list->id.v[i] = 0;
    while (list->from < list->id.n && !list->id.v[list->from])
        list->from++;
}

/* From both ends: most that go are the first or came last. */
size_t id_list_remove(struct id_list *list, uint64_t id)
{
    ASSERT(id);
    size_t first = list->from, last = list->id.n;
    while (first < last && list->id.v[first] != id && list->id.v[last - 1] != id) {
        first++;
        last -= last > first;
    }
    size_t looks = 2 * (first - list->from + 1);
    if (first < last)
        id_list_remove_at(list, list->id.v[first] == id ? first : last - 1);
    return looks;
}

void id_list_pack(struct id_list *list)
{
    size_t kept = 0;
    for (size_t i = list->from; i < list->id.n; i++)
        if (list->id.v[i])
            list->id.v[kept++] = list->id.v[i];
    list->id.n = kept;
    list->from = list->went = 0;
}

void id_list_free(struct id_list *list)
{
    if (list)
        vec_done(&list->id);
    free(list);
}
