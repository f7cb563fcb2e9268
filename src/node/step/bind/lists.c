#include "node/step/bind/lists.h"

#include <stdlib.h>

/* -1: it is none. */
static int hex_digit(char c)
{
    return c >= '0' && c <= '9'                 ? c - '0'
           : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                : -1;
}

/* As Slurm reads it: 010 is ten. What is larger than any number of a CPU stays so. */
static uint32_t map_number(struct span word)
{
    bool hex = word.len > 2 && word.data[0] == '0' && (word.data[1] | 32) == 'x';
    uint64_t n = 0, base = hex ? 16 : 10;
    for (size_t i = hex ? 2 : 0; i < word.len; i++) {
        int digit = hex_digit(word.data[i]);
        if (digit < 0 || (uint64_t)digit >= base)
            break;
        if ((n = n * base + (uint64_t)digit) > UINT32_MAX)
            return UINT32_MAX;
    }
    return (uint32_t)n;
}

static struct idset map_element(struct span word, const struct idset *within)
{
    struct idset one = IDSET_INIT;
    if (word.len && hex_digit(word.data[0]) >= 0 && idset_has(within, map_number(word)))
        idset_add(&one, map_number(word));
    return one;
}

/* From the last digit on, which has the least CPUs, to the last CPU that there is. */
static struct idset mask_element(struct span word, const struct idset *within)
{
    struct idset bits = IDSET_INIT;
    size_t from = word.len > 1 && word.data[0] == '0' && (word.data[1] | 32) == 'x' ? 2 : 0;
    size_t end = from;
    while (end < word.len && hex_digit(word.data[end]) >= 0)
        end++;
    uint64_t last = idset_last(within);
    for (size_t i = 0; i < end - from && 4 * (uint64_t)i <= last; i++)
        for (uint32_t bit = 0; bit < 4; bit++)
            if (hex_digit(word.data[end - 1 - i]) >> bit & 1)
                idset_add(&bits, (uint32_t)(4 * i) + bit);
    idset_both(&bits, &bits, within);
    return bits;
}

/* How often the word stands there, `most` at most: of "0xf*4" it leaves "0xf". */
static size_t count_cut(struct span *word, size_t most)
{
    struct span rest = *word;
    size_t n = 0;
    span_next(&rest, '*', word);
    if (!rest.data) /* no star */
        return word->len ? 1 : 0;
    for (size_t i = 0; i < rest.len && rest.data[i] >= '0' && rest.data[i] <= '9' && n < most; i++)
        n = 10 * n + (size_t)(rest.data[i] - '0');
    return n < most ? n : most;
}

static void list_read(struct bind_list *list, struct span text, const struct idset *within,
                      size_t tasks, struct idset (*read)(struct span, const struct idset *))
{
    struct span word;
    while (list->turn.n < tasks && text.len && span_next(&text, ',', &word)) {
        size_t n = count_cut(&word, tasks - list->turn.n);
        if (n == 0)
            continue;
        vec_push(&list->element, read(word, within));
        for (size_t i = 0; i < n; i++)
            vec_push(&list->turn, (uint32_t)(list->element.n - 1));
    }
}

void bind_map_read(struct bind_list *list, struct span text, const struct idset *within,
                   size_t tasks)
{
    list_read(list, text, within, tasks, map_element);
}

void bind_mask_read(struct bind_list *list, struct span text, const struct idset *within,
                    size_t tasks)
{
    list_read(list, text, within, tasks, mask_element);
}

const struct idset *bind_list_of(const struct bind_list *list, size_t index)
{
    return list->turn.n ? &list->element.v[list->turn.v[index % list->turn.n]] : NULL;
}

void bind_list_done(struct bind_list *list)
{
    for (size_t i = 0; i < list->element.n; i++)
        idset_done(&list->element.v[i]);
    vec_done(&list->element);
    vec_done(&list->turn);
}

void bind_numbers_read(const char *list, bind_numbers *out)
{
    struct span rest = span_of(list), word;
    while (rest.len && span_next(&rest, ',', &word))
        vec_push(out, map_number(word));
}

void bind_numbers_of(const bind_numbers *number, const struct idset *index, struct idset *out)
{
    uint32_t id;
    for (bool more = idset_first(index, &id); more; more = idset_next(index, id, &id))
        if (id < number->n)
            idset_add(out, number->v[id]);
}
