/* Merge sort from below: runs of one, two, four … items are merged pair by pair, from one of two
 * places into the other and back. */
#include "base/merge.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static size_t at_most(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void pair_open(struct merge_sort *m, size_t low)
{
    m->low = low;
    m->left = low;
    m->right = at_most(low + m->width, m->n);
}

void merge_begin(struct merge_sort *m, void *v, size_t n, size_t size,
                 int (*order)(const void *, const void *))
{
    ASSERT(size > 0 && order && (v || n == 0));
    *m = (struct merge_sort){.from = v, .v = v, .n = n, .size = size, .width = 1, .order = order};
    m->to = n > 1 ? xmalloc(n * size) : NULL; /* `v` is as long */
    pair_open(m, 0);
}

/* One item of the pair goes over; false: there is none left. */
static bool item_take(struct merge_sort *m)
{
    size_t middle = at_most(m->low + m->width, m->n), end = at_most(m->low + 2 * m->width, m->n);
    size_t at = m->low + (m->left - m->low) + (m->right - middle);
    if (m->left == middle && m->right == end)
        return false;
    bool right =
        m->left == middle ||
        (m->right < end && m->order(m->from + m->left * m->size, m->from + m->right * m->size) > 0);
    size_t *next = right ? &m->right : &m->left;
    memcpy(m->to + at * m->size, m->from + (*next)++ * m->size, m->size);
    return true;
}

static void pass_end(struct merge_sort *m)
{
    char *from = m->from;
    m->from = m->to;
    m->to = from;
    m->width *= 2;
    pair_open(m, 0);
}

bool merge_go(struct merge_sort *m, size_t *most)
{
    while (m->width < m->n) {
        while (*most && item_take(m))
            --*most;
        if (!*most)
            return false;
        if (m->low + 2 * m->width < m->n)
            pair_open(m, m->low + 2 * m->width);
        else
            pass_end(m);
    }
    if (m->from != (char *)m->v) {
        memcpy(m->v, m->from, m->n * m->size);
        m->to = m->from;
        m->from = m->v;
    }
    return true;
}

void merge_done(struct merge_sort *m)
{
    if (m->n > 1)
        free(m->from == (char *)m->v ? m->to : m->from);
    *m = (struct merge_sort){0};
}
